"""The benchmark: speed as ratios against baselines that are measured in the same run, on one core.

Example: python benchmarks/run.py --only simulation --only session --out bench.md
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import advise
import before
import bounds
import growth
import install
import many_options
import many_sessions
import moving
import online
import pending
import ratings
import replay
import service
import simulation
import startup
import waiting
from effort import FULL, QUICK, Effort

SECTIONS: dict[str, Callable[[Effort], str]] = {
    "simulation": simulation.section,
    "session": online.section,
    "waiting": waiting.section,
    "moving": moving.section,
    "growth": growth.section,
    "many-options": many_options.section,
    "startup": startup.section,
    "ratings": ratings.section,
    "bounds": bounds.section,
    "advise": advise.section,
    "service": service.section,
    "many-sessions": many_sessions.section,
    "pending": pending.section,
    "install": install.section,
    "before": before.section,
    "replay": replay.section,
}


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    effort = QUICK if options.quick else FULL
    parts = [_heading(options.quick)]
    print(parts[0], flush=True)
    began = time.perf_counter()
    # In the order of the list above, whatever the order of the options.
    for name in [name for name in SECTIONS if not options.only or name in options.only]:
        print(f"[{time.perf_counter() - began:4.0f} s] {name} ...", file=sys.stderr, flush=True)
        parts.append(SECTIONS[name](effort))
        print(parts[-1], flush=True)
        if options.out is not None:
            options.out.write_text("\n".join(parts), encoding="utf-8")
    print(f"[{time.perf_counter() - began:4.0f} s] done", file=sys.stderr, flush=True)


def _heading(quick: bool) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("frugalbandits", "numba", "numpy", "river"))
    what = "Benchmark (quick: a sanity run, its figures mean little)" if quick else "Benchmark"
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, of which one is used"
    return f"# {what}\n\nPython {platform.python_version()}, {packages}; {machine}.\n"


def _parser() -> argparse.ArgumentParser:
    description, example = (__doc__ or "").strip().split("\n\n")
    parser = argparse.ArgumentParser(description=description, epilog=example)
    parser.add_argument("--quick", action="store_true", help="a sanity run of about 30 s")
    parser.add_argument(
        "--only",
        action="append",
        choices=SECTIONS,
        metavar="NAME",
        help=f"one of: {', '.join(SECTIONS)}; repeatable",
    )
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="also write the tables to this file")
    return parser


if __name__ == "__main__":
    main()
