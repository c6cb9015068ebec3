"""Write the golden states of a format version, once, when that version is released: never again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import frugalbandits as fb


def main() -> None:
    from harness import fresh, run_in_turn

    version = 2
    folder = Path(__file__).parent / "golden"
    for name in ["cof", "cof-cost-biased", "glr-cof", "pe-cs", "ucb-cs", "ts-cs", "etc-cs"]:
        path = folder / f"session-v{version}-{name}.json"
        if path.exists():
            print(f"{path.name} exists: a golden file is never rewritten", file=sys.stderr)
            continue
        session = fresh(name)
        run_in_turn(session, 697)
        for _ in range(3):
            session.ask()
        text = session.to_json()
        pulls = [arm.pulls for arm in session.explain().arms]
        again = fb.Session.from_json(text)
        for id_ in sorted(again.pending):
            again.tell(id_, 1.0)
        kept = {"session": json.loads(text), "pulls": pulls, "next": run_in_turn(again, 40, seed=9)}
        path.write_text(json.dumps(kept) + "\n")


if __name__ == "__main__":
    main()
