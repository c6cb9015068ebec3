"""Run the tests of the core with every Python that the package is for and the machine has.

Each gets an environment of its own with numpy, pytest, its xdist, and hypothesis, kept between runs.

Example: python tests/pythons.py --only 3.12
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TOOLS = ("pytest", "pytest-xdist", "hypothesis")
ASK = "import ensurepip, sys; print(*sys.version_info[:3])"


def wanted() -> list[str]:
    """Return the versions that the package says it is tested with, such as "3.12"."""
    named = (
        re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line)
        for line in _project()["classifiers"]
    )
    return [match[1] for match in named if match]


def oldest() -> tuple[int, int]:
    """Return the oldest version that the package can be installed with."""
    major, minor = _project()["requires-python"].removeprefix(">=").split(".")
    return int(major), int(minor)


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def found() -> dict[str, Path]:
    """Return the newest Python of each version, on the path or in pyenv, that can make an environment."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders = [Path(each) for each in os.environ.get("PATH", "").split(os.pathsep) if each]
    folders += sorted(pyenv.glob("versions/*/bin"))
    best: dict[str, tuple[tuple[int, ...], Path]] = {}
    for path in (each for folder in folders for each in sorted(folder.glob("python3.*"))):
        if not re.fullmatch(r"python3\.\d+", path.name) or path.parent == pyenv / "shims":
            continue  # a shim is another name for one of the versions
        asked = subprocess.run([path, "-c", ASK], capture_output=True, text=True, check=False)
        if asked.returncode:
            continue  # without ensurepip it makes no environment
        version = tuple(map(int, asked.stdout.split()))
        name = f"{version[0]}.{version[1]}"
        if version[:2] >= oldest() and version > best.get(name, ((), path))[0]:
            best[name] = version, path
    return {name: best[name][1] for name in sorted(best, key=lambda name: best[name][0])}


def environment(name: str, python: Path) -> Path:
    """Make an environment, or return the one that was made for the same files; return its interpreter."""
    folder = ROOT / f".venv-{name}"
    inside = folder / "bin" / "python"
    stamp = folder / ".installed"
    parts = [(ROOT / file).read_bytes() for file in ("pyproject.toml", "constraints.txt")]
    digest = hashlib.sha256(b"".join([str(python).encode(), *parts])).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return inside
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
    pinned = subprocess.run([*pip, "-c", "constraints.txt", "-e", ".", *TOOLS], cwd=ROOT, check=False)
    if pinned.returncode:
        print(f"constraints.txt has versions without a wheel for Python {name}: now the newest", flush=True)
        subprocess.run([*pip, "-e", ".", *TOOLS], cwd=ROOT, check=True)
    stamp.write_text(digest)
    return inside


def tested(name: str, python: Path, more: list[str]) -> bool:
    """Run the tests of the core; tell whether they pass."""
    inside = environment(name, python)
    versions = (
        "import platform, numpy; print(f'Python {platform.python_version()}, numpy {numpy.__version__}')"
    )
    subprocess.run([inside, "-c", versions], check=True)
    # `frugalbandits` comes from the environment: whatever the caller's path says.
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [inside, "-m", "pytest", "-n", "2", "tests/core", *more], cwd=ROOT, env=clean, check=False
    )
    return done.returncode == 0


def main() -> int:
    description, _, example = (__doc__ or "").rpartition("\n\n")
    parser = argparse.ArgumentParser(description=description, epilog=example)
    parser.add_argument("--only", action="append", metavar="VERSION", help="such as 3.12; repeatable")
    parser.add_argument("--make-only", action="store_true", help="make the environments and run nothing")
    options, more = parser.parse_known_args()
    here = found()
    lines = []
    for name in dict.fromkeys([*wanted(), *here]):
        if options.only and name not in options.only:
            continue
        if name not in here:
            lines.append((name, "not found on this machine", True))
            continue
        if options.make_only:
            environment(name, here[name])
            continue
        print(f"\n== Python {name} ==", flush=True)
        began = time.perf_counter()
        passed = tested(name, here[name], more)
        word = "pass" if passed else "FAIL"
        more_words = "" if name in wanted() else " (a version that no classifier names)"
        lines.append((name, f"{word}{more_words}, {time.perf_counter() - began:.0f} s", passed))
    if options.make_only:
        return 0
    print("\nTests of the core, numpy alone:")
    for name, words, _ in lines:
        print(f"  Python {name}: {words}")
    return 0 if all(fine for *_, fine in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
