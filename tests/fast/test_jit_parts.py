"""What is called by compiled code alone becomes machine code once, as a part of the function at the root."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from numba.core import event

from frugalbandits.core import jit
from frugalbandits.core.contract import Setting
from frugalbandits.core.jit import compile_for, inner, machine_code, specialised
from frugalbandits.core.jit_parts import collected_rarely
from frugalbandits.core.quality import RelativeToBest
from frugalbandits.core.registry import resolve
from frugalbandits.lab import driver
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.rewards import Bernoulli


def arguments_for(policy):
    """Return what the simulator's driver is called with."""
    problem = Problem([0.5, 0.8], [1.0, 2.0], alpha=0.1)
    rng = np.random.default_rng(0)
    return (
        policy.begin(Setting.of(problem.costs, RelativeToBest(0.1), 100, None)),
        Bernoulli().draws(problem),
        rng if policy.randomised else None,
        rng,
        np.array([100]),
        np.zeros((1, 2), np.int64),
        np.zeros(8, np.int64),
        np.zeros(1, np.bool_),
    )


def compiled_by(make):
    """Return the functions of the package that a call compiles, and what numba made of each."""
    with event.install_recorder("numba:compile") as recorder:
        make()
    dispatchers = [each.data["dispatcher"] for _, each in recorder.buffer if each.is_end]
    ours = [each for each in dispatchers if each.py_func.__module__.startswith("frugalbandits")]
    return [(each.py_func.__qualname__, made) for each in ours for made in each.overloads.values()]


def has_machine_code(made):
    return made.library.get_pointer_to_function(made.fndesc.llvm_func_name) != 0


def compile_afresh(policy, monkeypatch, folder):
    """Compile the simulator's driver of a policy, with nothing on disk."""
    monkeypatch.setenv("FRUGALBANDITS_CACHE_DIR", str(folder))
    jit.cache_folder.cache_clear()
    try:
        kind = type(policy)
        drive = specialised(driver.drive, f"drive_{kind.__name__}_afresh", plan=kind.plan)
        return compiled_by(lambda: compile_for(drive, *arguments_for(policy)))
    finally:
        jit.cache_folder.cache_clear()


@pytest.mark.parametrize("name", ["etc-cs", "cof", "ts-cs"])
def test_machine_code_is_made_of_the_root_alone(name, monkeypatch, tmp_path):
    compiled = compile_afresh(resolve(name), monkeypatch, tmp_path)
    with_code = [function for function, made in compiled if has_machine_code(made)]
    assert with_code == [f"drive_{type(resolve(name)).__name__}_afresh"]


def test_a_function_is_compiled_once_for_all_drivers_of_a_process(monkeypatch, tmp_path):
    policy = resolve("pe-cs")
    compile_afresh(policy, monkeypatch, tmp_path / "first")
    again = compile_afresh(policy, monkeypatch, tmp_path / "again")
    assert [function for function, _ in again] == ["drive_PECS_afresh"]


def test_errors_of_parts_reach_the_caller():
    # A message that is put together takes what a part has no place for: numba looks it up in Python.
    @inner
    def refuse(number):
        raise ValueError("no number", number)

    @inner
    def ask(number):
        refuse(number)
        return number

    def root(number):
        return ask(number)

    with pytest.raises(ValueError, match="no number"):
        machine_code(root)(3)


def test_the_collector_is_as_before_when_the_last_compiler_is_done():
    before = gc.get_threshold()
    with collected_rarely():
        with collected_rarely():
            inside = gc.get_threshold()
        assert gc.get_threshold() == inside
    assert inside[0] > before[0]
    assert gc.get_threshold() == before


def test_a_collector_that_is_off_stays_off():
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with collected_rarely():
            assert gc.get_threshold()[0] == 0
        assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)
