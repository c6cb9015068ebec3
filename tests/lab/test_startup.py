"""Start-up of the lab: what is compiled when, the same results without the compiler, and the documents."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import frugalbandits
from process_harness import python

PACKAGE = Path(frugalbandits.__file__).parent


SIMULATE = """
import json, numpy as np, frugalbandits as fb
from frugalbandits.core.contract import Setting
from frugalbandits.core.jit import machine_code
from frugalbandits.lab.driver import drive_of
from frugalbandits.core.registry import resolve
result = fb.simulate(fb.instance("nu1"), "pe-cs", 2000, runs=2)
drive = drive_of(resolve("pe-cs"))
plan = machine_code(resolve("pe-cs").plan)
plan(resolve("pe-cs").begin(Setting.of(np.array([1.0, 2.0]), fb.RelativeToBest(0.1), 100, None)), None)
stats = [drive.stats, plan.stats]
print(json.dumps([sum(sum(s.cache_hits.values()) for s in stats),
                  sum(sum(s.cache_misses.values()) for s in stats), fb.__file__]))
"""


def test_a_second_process_does_not_compile_again(tmp_path):
    (hits, misses, _), _ = python(SIMULATE, FRUGALBANDITS_CACHE_DIR=tmp_path)
    assert (hits, misses) == (0, 2)
    (hits, misses, _), _ = python(SIMULATE, FRUGALBANDITS_CACHE_DIR=tmp_path)
    assert (hits, misses) == (2, 0)


def test_a_change_of_what_is_compiled_is_compiled_again_and_no_other(tmp_path):
    """A helper is changed that the compiled functions stand on, in a file that they do not stand in."""
    copy = tmp_path / "source" / "frugalbandits"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {"FRUGALBANDITS_CACHE_DIR": tmp_path / "cache", "PYTHONPATH": tmp_path / "source"}
    (_, misses, place), _ = python(SIMULATE, **environment)
    assert misses == 2
    assert Path(place).is_relative_to(tmp_path)
    # What compiled code does not stand on: another policy, the session, a figure, a reward model.
    for name in (
        "core/policies/ucb_cs.py",
        "core/session/online.py",
        "core/tables.py",
        "lab/figures/style.py",
        "lab/rewards.py",
    ):
        touch(copy / name)
    (hits, misses, _), _ = python(SIMULATE, **environment)
    assert (hits, misses) == (2, 0)
    touch(copy / "core" / "contract.py")
    (_, misses, _), _ = python(SIMULATE, **environment)
    assert misses == 2


def touch(path):
    with path.open("a") as file:
        file.write("\n# changed\n")


EVERYTHING = """
import json, frugalbandits as fb
from frugalbandits.core.registry import policies
out = {}
for name in policies():
    result = fb.simulate(fb.instance("nu1"), name, 400, runs=2, checkpoints=4)
    session = fb.Session([1, 2, 3], 0.1, name, 200, seed=1)
    arms = []
    for i in range(60):
        decision = session.ask()
        session.tell(decision.id, (i * 7 % 5) / 4)
        arms.append(decision.arm)
    out[name] = [result.pulls.tolist(), result.events.tolist(), arms]
print(json.dumps(out))
"""


def test_the_same_code_runs_uncompiled():
    plain, _ = python(EVERYTHING, NUMBA_DISABLE_JIT=1)
    compiled, _ = python(EVERYTHING)
    assert plain == compiled


ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# The page on raw data has a test of its own, which makes the files that it reads, and that on LLM calls one
# where LiteLLM is installed.
WITH_CODE = [
    path
    for path in PAGES
    if path.stem not in ("raw-data", "llm-routing") and "```python\n" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", WITH_CODE, ids=lambda path: path.stem)
def test_code_in_the_documents_runs(path, tmp_path):
    """Every block of python is run, in order, as one script; a block of text after it is its output."""
    text = path.read_text(encoding="utf-8")
    (tmp_path / "docs").symlink_to(ROOT / "docs")  # files that pages name
    script = tmp_path / "document.py"
    script.write_text("\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)), encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for shown in re.findall(r"```python\n[^`]*```\n+```text\n(.*?)```", text, re.DOTALL):
        assert shown in done.stdout


MINE = """
import dataclasses, json, sys
from typing import Any, ClassVar
import frugalbandits as fb
from frugalbandits.core.jit import compiled
from frugalbandits.core.contract import Batch, single

@compiled
def plan(state: Any, rng: Any) -> Batch:
    return Batch(single(ARM), 5)

@dataclasses.dataclass(frozen=True)
class Mine(fb.UCBCS):
    plan: ClassVar[Any] = staticmethod(plan)

print(json.dumps(fb.simulate(fb.instance("nu1"), Mine(), 100, runs=1).pulls[0, -1].tolist()))
"""


def test_a_policy_from_elsewhere_is_never_taken_from_a_stale_cache(tmp_path):
    """The same class and names in another process, with another plan."""
    for arm in (2, 5):
        pulls, _ = python(MINE.replace("ARM", str(arm)), FRUGALBANDITS_CACHE_DIR=tmp_path)
        assert pulls[arm] == 100
