"""`frugal warm-up`: policies compiled ahead."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import frugalbandits as fb
from cli_harness import refused, started
from frugalbandits.core.registry import resolve
from frugalbandits.lab.driver import drive_of
from frugalbandits.lab.warming import warm_up_driver

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def warmed(cache: Path | str, *arguments: str) -> tuple[int, str, str]:
    environment = {**os.environ, "FRUGALBANDITS_CACHE_DIR": str(cache)}
    process = started("warm-up", *arguments, env=environment)
    out, error = process.communicate(timeout=240)
    return process.returncode, out, error


def test_the_first_time_compiles_and_the_second_one_loads(tmp_path: Path) -> None:
    cache = tmp_path / "new" / "cache"
    code, out, error = warmed(cache, "etc-cs")
    assert (code, error) == (0, "")
    for use, line in zip(("session", "simulator"), out.splitlines()[2:4], strict=True):
        policy, used, seconds, how = line.split()
        assert (policy, used, how) == ("etc-cs", use, "compiled")
        assert float(seconds) > 0
    assert out.splitlines()[-1] == f"kept in {cache}"
    assert any(cache.rglob("*.nbc"))
    code, out, error = warmed(cache, "etc-cs", "--json")
    found = json.loads(out)
    assert (code, error, found["folder"]) == (0, "", str(cache))
    for use, ready in zip(("session", "simulator"), found["policies"], strict=True):
        assert (ready["policy"], ready["use"], ready["how"]) == ("etc-cs", use, "loaded from disk")
        assert Path(ready["kept"]).is_relative_to(cache)


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    Path("file").touch()
    cache = tmp_path / "file" / "cache"
    said = f"compiled, but kept nowhere: the folder {str(cache)!r} cannot be written: Not a directory"
    code, out, error = warmed(cache, "etc-cs", "--json")
    assert (code, error) == (1, f"frugal: error: {said}\n")
    for ready in json.loads(out)["policies"]:
        assert (ready["how"], ready["kept"]) == ("compiled", None)


def test_without_a_compiler_there_is_nothing_to_do() -> None:
    process = started("warm-up", "etc-cs", env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert error.startswith("frugal: error: there is no compiler to warm up")
    assert error.endswith("pip install 'frugalbandits[fast]' (sessions run without)\n")


def test_an_unknown_policy_is_refused_before_anything_is_compiled() -> None:
    assert "no policy is called 'etcs'; did you mean 'etc-cs'" in refused("warm-up", "pe-cs", "etcs")


@pytest.mark.parametrize("name", ["etc-cs", "cof", "ts-cs"])
def test_what_is_compiled_serves_every_simulation(name: str) -> None:
    warm_up_driver(resolve(name))
    drive = drive_of(resolve(name))
    for rewards in ("bernoulli", "beta"):
        fb.simulate(fb.instance("nu1"), name, 100, runs=1, rewards=rewards)
    if resolve(name).any_bar:
        fb.simulate(fb.instance("nu1", quality="at-least:0.9"), name, 100, runs=1)
        fb.simulate(fb.instance("nu1", quality="relative-to:a7:0.1"), name, 100, runs=1)
    assert len(drive.signatures) == 1
