"""Write the golden files of a format version, once, when that version is released: never again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import frugalbandits as fb


def main() -> None:
    from harness import fresh, run_in_turn

    version = 6
    folder = Path(__file__).parent / "golden"
    bars = ["relative-to:large:0.1", "at-least:0.7", "at-least:0.97"]
    # Version 6 changed how blocks of rewards are written, and nothing else: the default policy has them.
    wanted = [("voi-cs", None), *(("voi-cs", bar) for bar in bars)]
    for name, bar in wanted:
        suffix = "" if bar is None else f"-{bar.replace(':', '-')}"
        path = folder / f"session-v{version}-{name}{suffix}.json"
        if path.exists():
            print(f"{path.name} exists: a golden file is never rewritten", file=sys.stderr)
            continue
        session = fresh(name) if bar is None else fresh(name, alpha=None, quality=bar)
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
    for name in ("cof", "voi-cs"):
        _write_moving(folder / f"moving-v{version}-{name}.json", name)
    _write_result(folder / "result-v1.npz")
    for bar in ("relative-to-best:0.05", "relative-to:large:0.1", "at-least:0.8", "at-least:0.97"):
        _write_contextual(folder / f"contextual-v3-{bar.replace(':', '-')}.json", bar)


def _write_contextual(path: Path, bar: str) -> None:
    from contextual_harness import lived_by_segments, routed

    if path.exists():
        print(f"{path.name} exists: a golden file is never rewritten", file=sys.stderr)
        return
    session = lived_by_segments(bar)
    kept = {
        "session": json.loads(session.to_json()),
        "first": routed(lived_by_segments(bar, decisions=0), 400, seed=3),
        "next": routed(fb.ContextualSession.from_json(session.to_json()), 150, seed=7),
    }
    path.write_text(json.dumps(kept) + "\n")


def _write_moving(path: Path, name: str) -> None:
    from moving_harness import Clock, following, lived

    if path.exists():
        print(f"{path.name} exists: a golden file is never rewritten", file=sys.stderr)
        return
    clock = Clock()
    session = lived(name, clock)
    kept = {
        "session": json.loads(session.to_json()),
        "now": clock.now,
        "changes": str(session.changes()).splitlines(),
        "next": following(session),
    }
    path.write_text(json.dumps(kept) + "\n")


def _write_result(path: Path) -> None:
    if path.exists():
        print(f"{path.name} exists: a golden file is never rewritten", file=sys.stderr)
        return
    problem = fb.Problem([0.3, 0.6, 0.7], [1, 2, 3.5], names=["a", "b", "größer"], quality="at-least:0.55")
    result = fb.simulate(problem, "cof", 20_000, runs=2, seed=3, checkpoints=[7, 100, 2_999])
    result.save(path)
    kept = {
        "problem": repr(problem),
        "names": problem.names,
        "policy": result.policy,
        "seed": result.seed,
        "arrays": [array.tolist() for array in (result.times, result.pulls, result.plans)],
        "events": result.events.tolist(),
    }
    path.with_suffix(".json").write_text(json.dumps(kept) + "\n")


if __name__ == "__main__":
    main()
