"""Property 6 of the design, feedback out of turn, explanations, and what a session refuses."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.registry import policies
from harness import COSTS, fresh, run_in_turn, state_of


@pytest.mark.parametrize("name", policies())
@settings(max_examples=30)
@given(data=st.data())
def test_any_order_of_tells_gives_the_same_state(name, data):
    count = data.draw(st.integers(1, 60))
    rewards = data.draw(st.lists(st.floats(0, 1), min_size=count, max_size=count))
    one, other = fresh(name), fresh(name)
    ids = [one.ask().id for _ in range(count)]
    assert [other.ask().id for _ in range(count)] == ids
    for id_ in ids:
        one.tell(id_, rewards[id_])
    for id_ in data.draw(st.permutations(ids)):
        other.tell(id_, rewards[id_])
    assert one.to_json() == other.to_json()
    assert [one.ask() for _ in range(30)] == [other.ask() for _ in range(30)]


@settings(max_examples=200)
@given(
    rewards=st.lists(st.one_of(st.floats(0, 1), st.floats(0, 1e-5), st.just(1.0)), max_size=300),
    seed=st.integers(0, 1000),
)
def test_sums_are_exact(rewards, seed):
    """The stored sum is the exact sum of what was told, rounded once, in any order."""
    from fractions import Fraction

    session = fb.Session([1, 2], 0.1, fb.ETCCS(budget=1.0), horizon=10_000)
    told = [reward for reward in rewards if reward == 0 or reward >= 2.0**-8]
    ids = [session.ask() for _ in range(2 * len(told))]
    first = [decision.id for decision in ids if decision.arm == "a1"]
    order = np.random.default_rng(seed).permutation(len(told))
    for i in order:
        session.tell(first[i], told[i])
    stored = state_of(session)["state"]["tally"]
    exact = sum(map(Fraction, told))
    assert Fraction(stored["sums"][0]) + Fraction(stored["carry"][0]) == exact
    assert stored["sums"][0] == float(exact)


@pytest.mark.parametrize("name", policies())
def test_ask_never_waits(name):
    """A thousand decisions without any feedback; then all of it, and the session goes on."""
    session = fresh(name)
    decisions = [session.ask() for _ in range(1_000)]
    assert len({decision.id for decision in decisions}) == 1_000
    assert session.explain().decision is None
    assert all(arm.mean is None for arm in session.explain().arms)
    for decision in reversed(decisions):
        session.tell(decision.id, 1.0)
    assert session.explain().to_dict()["arms"][0]["mean"] == 1.0
    session.tell(session.ask().id, 0.0)
    assert not session.pending


@pytest.mark.parametrize("name", ["cof", "cof-no-combine", "pe-cs", "etc-cs"])
def test_pending_pulls_count_towards_balance(name):
    """Without feedback nothing is known, so no option may get ahead of another by more than a round."""
    session = fb.Session([1, 2, 3, 4], 0.1, name, horizon=100_000)
    arms = [session.ask().arm for _ in range(400)]
    counts = np.array([arms.count(f"a{k}") for k in range(1, 5)])
    assert counts.max() - counts.min() <= 1


def test_late_feedback_is_folded_in():
    """Feedback five decisions late must not stop COF from settling on the right option."""
    session = fb.Session(COSTS, 0.1, fb.COF(delta=1e-3))
    rng = np.random.default_rng(1)
    late = []
    for _ in range(40_000):
        decision = session.ask()
        late.append(
            (decision.id, float(rng.random() < {"tiny": 0.3, "small": 0.9, "large": 0.92}[decision.arm]))
        )
        if len(late) > 5:
            session.tell(*late.pop(rng.integers(len(late))))
        if session.explain().decision:
            break
    explanation = session.explain()
    assert explanation.decision == "small"
    assert [event[1:] for event in explanation.events] == [("infeasible", "tiny"), ("optimal", "small")]


def test_forgotten_first_looks_are_asked_for_again():
    session = fresh()
    for _ in range(3):
        session.forget(session.ask().id)
    arms = {session.ask().arm for _ in range(3)}
    assert arms == set(COSTS)


def test_threads_share_a_session():
    session = fresh(horizon=50_000)
    seen, lock = [], threading.Lock()

    def work():
        for _ in range(500):
            decision = session.ask()
            with lock:
                seen.append(decision.id)
            session.tell(decision.id, 0.5)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(2_000))
    assert sum(arm.pulls for arm in session.explain().arms) == 2_000
    assert not session.pending


@pytest.mark.parametrize("name", policies())
def test_asking_past_the_horizon_goes_on(name):
    session = fresh(name, horizon=50)
    run_in_turn(session, 120)
    assert "past the horizon" in str(session.explain())


@pytest.mark.parametrize("name", policies())
def test_explanation_is_for_people_and_programs(name):
    session = fresh(name)
    before = str(session.explain())
    assert "not seen yet" in before
    run_in_turn(session, 1_500)
    explanation = session.explain()
    lines = str(explanation).splitlines()
    columns = [column for column in lines[4].split() if column != "evidence"]
    assert columns == ["option", "cost", "pulls", "pending", "spent", "mean", "lcb", "ucb", "status"]
    assert [line.split()[0] for line in lines[5:]] == ["tiny", "small", "large"]
    assert json.loads(json.dumps(explanation.to_dict()))["decisions"] == 1_500
    for arm in explanation.arms:
        assert arm.lcb is not None and arm.ucb is not None and arm.mean is not None
        # The posterior of Thompson sampling starts at one half, so its interval may leave out the mean.
        assert arm.lcb <= (arm.mean if name != "ts-cs" else arm.ucb) <= arm.ucb
        assert arm.pulls > 0 and arm.status
    assert sum(arm.pulls for arm in explanation.arms) == 1_500
    assert session.ask().reason


def test_cof_explains_its_verdicts():
    session = fb.Session(COSTS, 0.3, fb.COF(delta=0.01))
    run_in_turn(session, 20_000)
    explanation = session.explain()
    assert explanation.decision == explanation.candidate == "small"
    assert [arm.status for arm in explanation.arms] == ["infeasible", "optimal", "not needed"]
    assert str(explanation).startswith("Settled on 'small' after 20,000 decisions.")
    assert session.ask().reason.startswith("settled")


# Bad input: a clear error that names the value, and the state is as it was.


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.tell(0, 1.5), ["1.5", "decision 0"]),
        (lambda s: s.tell(0, -0.1), ["-0.1"]),
        (lambda s: s.tell(0, float("nan")), ["nan"]),
        (lambda s: s.tell(0, float("inf")), ["inf"]),
        (lambda s: s.tell(0, "good"), ["'good'"]),
        (lambda s: s.tell(0, None), ["None"]),
        (lambda s: s.tell(99, 0.5), ["99"]),
        (lambda s: s.tell(-1, 0.5), ["-1"]),
        (lambda s: s.tell("0", 0.5), ["'0'"]),
        (lambda s: s.tell(1, 0.5), ["decision 1", "told or forgotten before"]),
        (lambda s: s.forget(2), ["decision 2", "told or forgotten before"]),
        (lambda s: s.forget(99), ["99"]),
    ],
)
def test_bad_feedback_changes_nothing(call, words):
    session = fresh()
    for _ in range(5):
        session.ask()
    session.tell(1, 0.5)
    session.forget(2)
    before = session.to_json()
    with pytest.raises(fb.InputError) as caught:
        call(session)
    for word in words:
        assert word in str(caught.value)
    assert session.to_json() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"costs": {"a": 1.0}}, "at least two"),
        ({"costs": [1, float("nan")]}, "nan"),
        ({"costs": {"a": 1, "b": "x"}}, "x"),
        ({"costs": {"a": 1, "b": 2}, "names": ["c", "d"]}, "twice"),
        ({"costs": [1, 2], "names": ["c"]}, "1 names and 2"),
        ({"costs": [1, 2], "names": ["c", "c"]}, "'c'"),
        ({"alpha": 1.0}, "1.0"),
        ({"alpha": -0.1}, "-0.1"),
        ({"horizon": 3}, "3"),
        ({"horizon": 0}, "0"),
        ({"horizon": None, "policy": "cof"}, "COF needs a horizon or a delta.*horizon=100_000.*COF\\(delta"),
        ({"alpha": "0.1"}, "alpha must be a number, but it is '0.1'"),
        ({"alpha": True}, "alpha must be a number, but it is True"),
        ({"horizon": 10**400}, "horizon must be finite"),
        ({"horizon": None, "policy": "ucb-cs"}, "UCBCS needs a horizon"),
        ({"policy": "thompson"}, "'thompson'"),
        ({"policy": "ts-cs", "seed": -3}, "-3"),
    ],
)
def test_bad_sessions_are_refused(arguments, words):
    with pytest.raises(fb.InputError, match=words):
        fb.Session(**{"costs": COSTS, "alpha": 0.1, "horizon": 100, **arguments})
