"""Plain until compiled, with numba installed: no decision waits for it, and none differs because of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

from frugalbandits.core import planner as module
from frugalbandits.core.planner import PATIENCE, Planner
from planner_harness import started
from process_harness import python


def test_machine_code_takes_over_without_a_word():
    """Decisions go on while it is made, and are those of a session that stays plain."""
    code = """
        import json, time, frugalbandits as fb
        def session():
            return fb.Session([1, 2, 3, 4], 0.1, "ucb-cs", 1_000_000, seed=1)
        live, plain = session(), session()
        plain._planner = type(live._planner)(live._planner._plain, patience=0)
        same, before, after = True, 0, 0
        deadline = time.monotonic() + 120
        while after < 200 and time.monotonic() < deadline:
            one, other = live.ask(), plain.ask()
            same = same and one == other
            # Late feedback, so that every decision is planned.
            if one.id >= 3:
                live.tell(one.id - 3, one.id % 3 / 2)
                plain.tell(one.id - 3, one.id % 3 / 2)
            before, after = before + (not live._planner.compiled), after + live._planner.compiled
            time.sleep(0.001)
        print(json.dumps([same, before > 0, after, live.to_json() == plain.to_json()]))
    """
    assert python(code) == ([True, True, 200, True], "")


def test_short_programs_do_not_pay_for_a_compiler(tmp_path):
    code = f"""
        import json, sys, threading, frugalbandits as fb
        session = fb.Session([1, 2], 0.1, "ucb-cs", 1_000)
        while session._planner._left > 1:
            session.ask()
        enough = session.decisions >= {PATIENCE} - 1
        print(json.dumps([enough, "numba" in sys.modules, threading.active_count()]))
    """
    assert python(code, FRUGALBANDITS_CACHE_DIR=tmp_path)[0] == [True, False, 1]


@pytest.fixture(scope="module")
def warmed(tmp_path_factory):
    """A folder that holds the machine code of UCB-CS."""
    folder = tmp_path_factory.mktemp("cache")
    code = """
        import json, frugalbandits as fb
        print(json.dumps(fb.warm_up("ucb-cs").warmed[0].how))
    """
    assert python(code, FRUGALBANDITS_CACHE_DIR=folder)[0] == "compiled"
    return folder


ONE_PLAN = """
    import json, sys, time, frugalbandits as fb
    session = fb.Session([1, 2], 0.1, "ucb-cs", 1_000)
    session.ask()
    until = time.monotonic() + SECONDS
    while not session._planner.compiled and time.monotonic() < until:
        time.sleep(0.01)
    other = fb.Session([1, 2, 3], 0.2, "ucb-cs", 5_000)
    print(json.dumps([session._planner.compiled, other._planner.compiled, "numba" in sys.modules]))
"""


def test_code_on_disk_is_loaded_from_the_first_plan_on(warmed, tmp_path):
    """One plan is enough, and a second session of the kind has it at once; without a cache nothing is."""
    loaded = ONE_PLAN.replace("SECONDS", "120")
    assert python(loaded, FRUGALBANDITS_CACHE_DIR=warmed) == ([True, True, True], "")
    nothing = ONE_PLAN.replace("SECONDS", "0.5")
    assert python(nothing, FRUGALBANDITS_CACHE_DIR=tmp_path) == ([False, False, False], "")


LOAD = """
    import json, sys, frugalbandits as fb
    from frugalbandits.core import planner
    session = fb.Session([1, 2], 0.1, "ucb-cs", 1_000)
    made = session.load_machine_code()
    hits = sum(planner.machine_code(type(session._policy).plan).stats.cache_hits.values()) if made else 0
    print(json.dumps([made, session._planner.compiled, hits]))
"""


def test_load_machine_code_loads_and_never_compiles(warmed, tmp_path):
    assert python(LOAD, FRUGALBANDITS_CACHE_DIR=warmed)[0] == [True, True, 1]
    assert python(LOAD, FRUGALBANDITS_CACHE_DIR=tmp_path)[0] == [False, False, 0]
    # Code of another compiler or processor: numba would compile it again.
    other = tmp_path / "other"
    shutil.copytree(warmed, other)
    (note,) = other.glob("compiled-*/kept-*")
    note.write_text("0.1 " + note.read_text())
    assert python(LOAD, FRUGALBANDITS_CACHE_DIR=other)[0] == [False, False, 0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_forked_after_the_load_may_compile(warmed):
    """Only a compiler that is at work when the process forks is lost to the child."""
    code = """
        import json, os, time, warnings, frugalbandits as fb
        from frugalbandits.core import planner
        warnings.simplefilter("ignore")  # forking beside threads
        session = fb.Session([1, 2, 3], 0.1, "ucb-cs", 100_000)
        session.ask()
        until = time.monotonic() + 120
        while planner._workshop.busy and time.monotonic() < until:
            time.sleep(0.01)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            other = fb.Session([1, 2, 3], 0.1, "etc-cs", 100_000)
            os.write(writer, json.dumps([session._planner.compiled, other._planner._left]).encode())
            os._exit(0)
        os.waitpid(child, 0)
        print(os.read(reader, 100).decode())
    """
    assert python(code, FRUGALBANDITS_CACHE_DIR=warmed)[0] == [True, PATIENCE]


@pytest.mark.parametrize("wait", [0.0, 0.3, 1.0, 2.0])
def test_a_program_that_ends_while_it_compiles_ends_well(tmp_path, wait):
    code = f"""
        import json, time, frugalbandits as fb
        session = fb.Session([1, 2, 3], 0.1, "pe-cs", 100_000)
        decisions = [session.ask() for _ in range(200)]
        time.sleep({wait})
        print(json.dumps(len(decisions)))
    """
    assert python(code, FRUGALBANDITS_CACHE_DIR=tmp_path) == (200, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_decides_too(tmp_path):
    """Forked in the middle of a compilation, whose lock the child can never get."""
    code = """
        import json, os, time, warnings, frugalbandits as fb
        warnings.simplefilter("ignore")  # forking beside threads
        session = fb.Session([1, 2, 3], 0.1, "pe-cs", 100_000)
        for _ in range(100):
            session.ask()
        time.sleep(1.0)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            other = fb.Session([1, 2, 3], 0.1, "ucb-cs", 100_000)
            told = [session.ask().id, len([other.ask() for _ in range(100)])]
            os.write(writer, json.dumps(told).encode())
            os._exit(0)
        os.waitpid(child, 0)
        print(os.read(reader, 100).decode())
    """
    assert python(code, FRUGALBANDITS_CACHE_DIR=tmp_path)[0] == [100, 100]


def test_what_cannot_be_compiled_stays_plain(caplog):
    policy, state, rng = started("ucb-cs")

    def plan(state, rng):
        return type(policy).plan(state, {"no": "compiler", "takes": 1})

    mine = Planner(plan)
    with caplog.at_level("WARNING", logger="frugalbandits"):
        batches = [mine(state, rng) for _ in range(PATIENCE + 5)]
        for _ in range(600):
            if caplog.records:
                break
            module.time.sleep(0.1)
    assert "stays plain Python" in caplog.text
    assert not mine.compiled and mine(state, rng).arms.tolist() == batches[0].arms.tolist()


def test_warm_up_compiles_once_and_says_where_it_is_kept(tmp_path):
    code = """
        import json, frugalbandits as fb
        made = fb.warm_up("ucb-cs")
        session = fb.Session([1, 2], 0.1, "ucb-cs", 1_000)
        session.ask()
        told = [made.warmed[0].how, made.trouble, str(made), session._planner.compiled]
        print(json.dumps(told))
    """
    (how, trouble, text, compiled), _ = python(code, FRUGALBANDITS_CACHE_DIR=tmp_path)
    assert (how, trouble, compiled) == ("compiled", None, True)
    assert "compiled" in text and f"kept below {str(tmp_path)!r}" in text
    (how, _, text, _), _ = python(code, FRUGALBANDITS_CACHE_DIR=tmp_path)
    assert how == "loaded from disk" and how in text


def test_warm_up_tells_the_truth_about_a_cache_that_cannot_be_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    code = """
        import json, frugalbandits as fb
        made = fb.warm_up("ucb-cs")
        print(json.dumps([made.trouble, str(made)]))
    """
    (trouble, text), _ = python(code, FRUGALBANDITS_CACHE_DIR=blocked)
    assert trouble == "Not a directory"
    assert f"kept nowhere: the folder {str(blocked)!r} cannot be written: Not a directory" in text


WARMED = """
    import json, frugalbandits as fb
    print(json.dumps(fb.warm_up("etc-cs").warmed[0].how))
"""
CALLED = """
    import json, numpy as np, frugalbandits as fb
    from frugalbandits.core.contract import Setting
    from frugalbandits.core.jit import machine_code
    code = machine_code(fb.ETCCS.plan)
    code(fb.ETCCS().begin(Setting.of(np.arange(1.0, 4.0), fb.RelativeToBest(0.1), 1_000, None)), None)
    print(json.dumps("loaded from disk" if code.stats.cache_hits else "compiled"))
"""


@pytest.mark.parametrize("code", [WARMED, CALLED], ids=["warmed", "called"])
def test_what_two_processes_want_at_once_one_of_them_compiles(tmp_path, code):
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda _: python(code, FRUGALBANDITS_CACHE_DIR=tmp_path)[0], range(2)))
    assert sorted(found) == ["compiled", "loaded from disk"]


def test_nobody_waits_for_ever(tmp_path):
    """One that is stopped while it compiles keeps no other from going on."""
    place = """
        import fcntl, json, time, frugalbandits as fb
        from frugalbandits.core import jit
        from frugalbandits.core.policies.etc_cs import ETCCS
        code = jit.machine_code(ETCCS.plan)
        lock = open(f"{code.stats.cache_path}/{code.__name__}.lock", "ab")
    """
    holding = f"""{place}
        fcntl.lockf(lock, fcntl.LOCK_EX)
        print(json.dumps("held"), flush=True)
        time.sleep(600)
    """
    waiting = f"""{place}
        jit._PATIENCE = 0.5
        held = not jit._taken(lock)
        print(json.dumps([held, fb.warm_up("etc-cs").warmed[0].how]))
    """
    environment = {**os.environ, "FRUGALBANDITS_CACHE_DIR": str(tmp_path)}
    arguments = [sys.executable, "-c", textwrap.dedent(holding)]
    with subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None and holder.stdout.readline() == '"held"\n'
            assert python(waiting, FRUGALBANDITS_CACHE_DIR=tmp_path)[0] == [True, "compiled"]
        finally:
            holder.kill()
