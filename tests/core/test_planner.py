"""Plain until compiled: no decision waits for a compiler, and none differs because of it."""

from __future__ import annotations

import numpy as np
import pytest

import frugalbandits as fb
from frugalbandits.core.jit import has_compiler
from frugalbandits.core.planner import PATIENCE, Planner, planner_of
from frugalbandits.core.registry import policies, resolve
from planner_harness import started
from process_harness import python


def test_a_first_decision_loads_no_compiler(tmp_path):
    code = """
        import json, sys, frugalbandits as fb
        session = fb.Session({"small": 0.2, "large": 3.0}, alpha=0.1)
        for _ in range(5):
            session.tell(session.ask().id, 1.0)
        str(session.explain())
        names = ("numba", "scipy", "polars", "matplotlib", "rich", "typer", "pandas")
        print(json.dumps([name for name in names if name in sys.modules]))
    """
    assert python(code, FRUGALBANDITS_CACHE_DIR=tmp_path) == ([], "")


def test_a_state_with_a_list_in_it_is_never_compiled():
    """Machine code would change a copy of the list."""
    policy, state, rng = started("ucb-cs")
    kind = type("Mine", (type(policy),), {"plan": staticmethod(lambda state, rng: None)})
    assert planner_of(kind(), state, rng)._left == (PATIENCE if has_compiler() else 0)
    assert planner_of(kind(), state._replace(width=[1.0]), rng)._left == 0


def test_sessions_of_a_kind_share_a_planner():
    assert planner_of(*started("cof")) is planner_of(*started("cof-no-combine", arms=7))
    assert planner_of(*started("cof")) is not planner_of(*started("glr-cof"))


def test_states_of_another_layout_have_a_planner_of_their_own():
    """Machine code looks at nothing but the numbers: it must not be handed an array with gaps."""
    policy, state, rng = started("voi-cs")
    fixed = state.costs.copy()
    fixed.setflags(write=False)
    usual = planner_of(policy, state, rng)
    for other in (np.repeat(state.costs, 2)[::2], fixed, state.costs.astype(np.float32)):
        assert planner_of(policy, state._replace(costs=other), rng) is not usual
    assert planner_of(policy, state._replace(costs=state.costs + 1), rng) is usual


def test_without_a_compiler_there_is_nothing_to_warm_up():
    code = """
        import json, frugalbandits as fb
        try:
            fb.warm_up()
        except ModuleNotFoundError as error:
            print(json.dumps(str(error)))
    """
    assert "pip install 'frugalbandits[fast]'" in python(code, NUMBA_DISABLE_JIT=1)[0]


def test_an_unknown_policy_cannot_be_warmed_up():
    with pytest.raises(fb.InputError, match="no policy is called 'coff'"):
        fb.warm_up("coff")


@pytest.mark.parametrize("name", policies())
def test_a_plain_plan_at_twenty_options_answers(name):
    """The form of a plan without a compiler, however long it takes: `make bench` has the times."""
    session = fb.Session(np.linspace(1, 3, 20).tolist(), 0.1, name, 10_000, seed=0)
    session._planner = Planner(type(resolve(name)).plan, patience=0)
    for step in range(300):
        session.tell(session.ask().id, step * 7 % 5 / 4)
    assert not session._planner.compiled and session.decisions == 300
