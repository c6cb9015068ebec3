"""Properties 1 to 3 of the design: step equals batch, session equals simulator, policy equals paper."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.registry import policies, resolve
from harness import DETERMINISTIC, LONGEST, MODES, cases, planner, play, pull_from
from reference import REFERENCES


def settled(policy, delta, tolerance=0.0):
    """Give a COF a delta with which short runs come to conclusions, and what counts as close enough."""
    resolved = resolve(policy)
    if isinstance(resolved, fb.COF | fb.GLRCOF):
        return dataclasses.replace(resolved, delta=delta, tolerance=tolerance)
    return resolved


# Often none, as in the paper.
TOLERANCES = st.one_of(st.just(0.0), st.floats(0.0, 0.3), st.sampled_from([0.01, 0.1, 1.0]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("coff:delta=0.1", "no policy is called 'coff'; did you mean 'cof'"),
        ("cof:", "written NAME:SETTING=VALUE,..., but this is 'cof:'"),
        ("cof:delta", "written NAME:SETTING=VALUE,..., but this is 'cof:delta'"),
        ("cof:detla=0.1", "no setting of cof is called 'detla'; did you mean 'delta'"),
        ("cof:delta=0.1,delta=0.2", "'delta' stands twice"),
        ("cof:delta=small", "delta must be a number, but in 'cof:delta=small' it is 'small'"),
        ("cof:delta=2", "delta must lie strictly between 0 and 1, but it is 2.0"),
        ("cof:combine=1", "combine must be true or false, .* it is '1'"),
        ("pe-cs:kappa=2.5", "kappa must be a whole number, .* it is '2.5'"),
        ("glr-cof:threshold=sure", "threshold must be .* but it is 'sure'"),
        ("ts-cs:speed=3", "ts-cs has no settings, but 'speed' is given"),
    ],
)
def test_bad_settings_after_a_name_are_named(text, words):
    with pytest.raises(fb.InputError, match=words):
        resolve(text)


def test_every_policy_has_a_reference():
    assert set(REFERENCES) == set(policies())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", DETERMINISTIC)
@given(case=cases(), delta=st.sampled_from([1e-4, 0.01, 0.2, 0.7]), tolerance=TOLERANCES)
def test_step_equals_batch(name, mode, case, delta, tolerance):
    costs, alpha, horizon, table = case
    policy = settled(name, delta, tolerance)
    batched = play(policy, costs, alpha, horizon, pull_from(table), mode=mode)
    stepped = play(policy, costs, alpha, horizon, pull_from(table), one_pass=True, mode=mode)
    assert batched == stepped


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", DETERMINISTIC)
@given(
    case=cases(horizons=(20, 1000)),
    delta=st.sampled_from([None, 1e-4, 0.01, 0.2, 0.7]),
    tolerance=TOLERANCES,
)
def test_policy_equals_reference(name, mode, case, delta, tolerance):
    costs, alpha, horizon, table = case
    horizon = min(horizon, LONGEST.get(name, horizon))
    options = {"delta": delta, "tolerance": tolerance} if "cof" in name else {}
    policy = settled(name, delta, tolerance)
    pulled, events = play(policy, costs, alpha, horizon, pull_from(table), mode=mode)
    expected, expected_events = REFERENCES[name](pull_from(table), costs, alpha, horizon, **options)
    assert pulled == expected
    assert events == expected_events


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", DETERMINISTIC)
@given(case=cases(horizons=(20, 400)))
def test_planning_twice_changes_nothing(name, mode, case):
    costs, alpha, horizon, table = case
    policy = resolve(name)

    def plan_again(state, batch, time):
        noted = int(state.journal.length[0])
        again = planner(policy, mode)(state, None)
        assert again.arms.tolist() == batch.arms.tolist()
        assert again.repeats == batch.repeats
        assert int(state.journal.length[0]) == noted

    play(policy, costs, alpha, horizon, pull_from(table), record=plan_again, mode=mode)


@pytest.mark.parametrize("name", policies())
@given(case=cases(horizons=(20, 500)), seed=st.integers(0, 2**32 - 1), data=st.data())
def test_a_session_decides_the_same_in_every_mode(name, case, seed, data):
    """Late feedback included: asks run ahead of tells by a random number of decisions."""
    costs, alpha, horizon, table = case
    lag = data.draw(st.integers(0, 20))
    ends = []
    for mode in MODES:
        session = fb.Session(costs, alpha, name, horizon, seed=seed)
        session._planner = planner(name, mode)
        pull, out, arms = pull_from(table), [], []
        for _ in range(horizon):
            decision = session.ask()
            out.append(decision)
            arms.append(decision.arm)
            if len(out) > lag:
                told = out.pop(0)
                session.tell(told.id, pull(int(told.arm[1:]) - 1))
        ends.append((arms, session.to_json(), str(session.explain())))
    assert all(end == ends[0] for end in ends)
