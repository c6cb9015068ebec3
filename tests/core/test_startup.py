"""Start-up: what an import loads, what is compiled when, and the same results without the compiler."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import frugalbandits

PACKAGE = Path(frugalbandits.__file__).parent


def python(code, **environment):
    """Run code in a fresh process and return what it printed last, as JSON."""
    env = {**os.environ, **{key: str(value) for key, value in environment.items()}}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_import_loads_neither_matplotlib_nor_polars():
    code = "import sys, json, frugalbandits; print(json.dumps(sorted(sys.modules)))"
    modules, _ = python(code)
    assert not {"matplotlib", "polars", "pandas", "typer"} & set(modules)


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


def test_any_change_of_the_source_is_compiled_again(tmp_path):
    """A helper is changed that the compiled functions stand on, in a file that they do not stand in."""
    copy = tmp_path / "source" / "frugalbandits"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {"FRUGALBANDITS_CACHE_DIR": tmp_path / "cache", "PYTHONPATH": tmp_path / "source"}
    (_, misses, place), _ = python(SIMULATE, **environment)
    assert misses == 2
    assert Path(place).is_relative_to(tmp_path)
    with (copy / "core" / "contract.py").open("a") as file:
        file.write("\n# changed\n")
    (_, misses, _), _ = python(SIMULATE, **environment)
    assert misses == 2


FOLDER = """
import json, frugalbandits.core.jit as jit
print(json.dumps(str(jit.cache_folder(("frugalbandits.core.contract",)))))
"""


def test_an_unwritable_cache_is_no_obstacle(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert python(FOLDER, FRUGALBANDITS_CACHE_DIR=blocked)[0] == "None"


def test_what_other_versions_compiled_long_ago_is_removed(tmp_path):
    for name, age in (("compiled-old", 40), ("compiled-recent", 3), ("other", 40)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "code").write_text("x")
        then = time.time() - age * 24 * 3600
        os.utime(folder, (then, then))
    current = Path(python(FOLDER, FRUGALBANDITS_CACHE_DIR=tmp_path)[0])
    assert {path.name for path in tmp_path.iterdir()} == {"compiled-recent", "other", current.name}


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


def test_a_long_compilation_is_announced(capsys):
    from frugalbandits.core.jit import announced

    with announced("cof", after=0.05):
        time.sleep(0.3)
    assert "compiling cof" in capsys.readouterr().err
    with announced("cof", after=5):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "CONTRIBUTING.md",
        "docs/sessions.md",
        "docs/simulation.md",
        "docs/reproduce.md",
        "docs/theory.md",
    ],
)
def test_code_in_the_documents_runs(name, tmp_path):
    """Every block marked as python is run, in order, as one script."""
    text = (Path(__file__).parents[2] / name).read_text(encoding="utf-8")
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert blocks
    script = tmp_path / "document.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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
