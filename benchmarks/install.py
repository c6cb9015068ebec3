"""Section 9: what an installation brings, and how long a new process takes to its first decision."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from effort import Effort
from report import ratio, table

__all__ = ["section"]

ROOT = Path(__file__).parents[1]

# What makes an environment, and is in each of them.
_TOOLS = ("pip", "setuptools", "wheel", "pkg_resources", "_distutils_hack", "distutils-precedence.pth")

TEXT = """\
## Installation

Each package alone in an empty environment, from its wheel and without extras; this one by `pip install .`.
Packages and megabytes are those of `site-packages` without pip and setuptools. The first decision is the time
from the start of `python -c` to the end of the process, which imports the package and asks for one decision
between two options, with an empty cache: median of {processes} processes, after one that reads the files into
the system's cache.
"""

_DECIDE = {
    "frugalbandits": (
        "import frugalbandits as fb; fb.Session({'a': 1.0, 'b': 2.0}, alpha=0.1, horizon=1000).ask()"
    ),
    "river": "from river import bandit; bandit.UCB(delta=1.0, seed=1).pull(['a', 'b'])",
    "mabwiser": (
        "from mabwiser.mab import MAB, LearningPolicy; "
        "bandit = MAB(['a', 'b'], LearningPolicy.UCB1()); bandit.fit(['a', 'b'], [0, 1]); bandit.predict()"
    ),
    "pybandits": (
        "from pybandits.smab import SmabBernoulliCC; "
        "SmabBernoulliCC.cold_start(action_ids_cost={'a': 1.0, 'b': 2.0}, subsidy_factor=0.1).predict()"
    ),
}

# The system's count of the highest memory may include that of the process that started this one.
_PEAK = """
try:
    with open("/proc/self/status") as status:
        print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")))
except OSError:
    import resource
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


class Installed(NamedTuple):
    """What one package came to."""

    name: str
    version: str
    packages: int
    megabytes: float
    seconds: float
    peak: float  # megabytes

    def row(self, first: Installed) -> list[str]:
        return [
            f"{self.name} {self.version}",
            str(self.packages),
            f"{self.megabytes:.0f}",
            ratio(self.megabytes / first.megabytes),
            f"{self.seconds:.2f}",
            ratio(self.seconds / first.seconds),
            f"{self.peak:.0f}",
        ]


def section(effort: Effort) -> str:
    names = ["frugalbandits", *effort.rivals]
    found = [_installed(name, effort.imports) for name in names]
    headers = ["package", "packages", "MB", "against us", "first decision, s", "against us", "peak MB"]
    ours = found[0]
    limits = (
        f"At most 80 MB: {_yes(ours.megabytes <= 80)}; "
        f"numpy the only dependency: {_yes(ours.packages == 2)}; "
        f"first decision within 0.5 s: {_yes(ours.seconds <= 0.5)}."
    )
    rows = [each.row(ours) for each in found]
    return f"{TEXT.format(processes=effort.imports)}\n{table(headers, rows)}\n\n{limits}\n"


def _yes(reached: bool) -> str:
    return "yes" if reached else "NO"


def _installed(name: str, processes: int) -> Installed:
    with tempfile.TemporaryDirectory(prefix="frugalbandits-bench-") as folder:
        python = Path(folder) / "environment" / "bin" / "python"
        _run([sys.executable, "-m", "venv", str(python.parents[1])])
        what = str(ROOT) if name == "frugalbandits" else name
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what])
        (packages,) = python.parents[1].glob("lib/python*/site-packages")
        brought = [path for path in packages.iterdir() if not path.name.startswith(_TOOLS)]
        size = sum(_bytes(path) for path in brought)
        number = sum(path.suffix == ".dist-info" for path in brought)
        asked = f"from importlib.metadata import version; print(version({name!r}))"
        version = _run([str(python), "-c", asked]).strip()
        times, peaks = zip(*_first_decisions(python, _DECIDE[name], processes), strict=True)
        return Installed(name, version, number, size / 1e6, median(times), median(peaks) / 1000)


def _bytes(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())


def _first_decisions(python: Path, code: str, processes: int) -> Iterator[tuple[float, float]]:
    """Yield seconds and peak memory in kilobytes of new processes, each with a home of its own."""
    for process in range(processes + 1):
        with tempfile.TemporaryDirectory(prefix="frugalbandits-home-") as home:
            clean = {"PATH": os.environ.get("PATH", ""), "HOME": home}
            began = time.perf_counter()
            printed = _run([str(python), "-c", code + _PEAK], clean)
            seconds = time.perf_counter() - began
        if process:
            yield seconds, json.loads(printed.splitlines()[-1])


def _run(command: list[str], environment: dict[str, str] | None = None) -> str:
    # Elsewhere, because `python -c` looks for modules in the folder that it is started in.
    done = subprocess.run(
        command, env=environment, cwd=tempfile.gettempdir(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"a benchmark process failed:\n{done.stderr}")
    return done.stdout
