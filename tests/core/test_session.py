"""Property 6 of the design, feedback out of turn, explanations, and what a session refuses."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.registry import policies
from harness import COSTS, fresh, run_in_turn, state_of


@pytest.mark.parametrize("name", policies())
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
        (lambda s: s.tell(0, 10**400), ["decision 0", "finite"]),
        (lambda s: s.tell(0, "0_1"), ["'0_1'"]),
        (lambda s: s.tell(0, b"1"), ["b'1'"]),
        (lambda s: s.tell(0, 0.5j), ["0.5j"]),
        (lambda s: s.tell(0, [1.0]), ["[1.0]"]),
        (lambda s: s.tell(False, 0.5), ["False"]),
        (lambda s: s.tell(0.0, 0.5), ["0.0"]),
        (lambda s: s.tell(None, 0.5), ["None"]),
        (lambda s: s.tell(10**400, 0.5), ["no decision has the id"]),
        (lambda s: s.tell_many({0: 0.5, 3: 2.0}), ["decision 3", "2.0"]),
        (lambda s: s.tell_many([(0, 0.5), (0, 0.5)]), ["decision 0", "twice"]),
        (lambda s: s.tell_many([(0, 0.5), (1, 0.5)]), ["decision 1", "told or forgotten before"]),
        (lambda s: s.metadata(99), ["99"]),
        (lambda s: s.ask(metadata={1, 2}), ["metadata", "set"]),
        (lambda s: s.ask(metadata=float("nan")), ["metadata"]),
        (lambda s: s.ask(-1), ["-1"]),
        (lambda s: s.ask(True), ["True"]),
        (lambda s: s.ask(2.5), ["2.5"]),
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
        ({"horizon": None, "policy": "cof"}, "cof needs a horizon or a delta.*horizon=100_000.*COF\\(delta"),
        ({"alpha": "0.1"}, "alpha must be a number, but it is '0.1'"),
        ({"alpha": True}, "alpha must be a number, but it is True"),
        ({"horizon": 10**400}, "horizon must be finite"),
        ({"horizon": None, "policy": "ucb-cs"}, "ucb-cs needs a horizon"),
        ({"policy": "thompson"}, "'thompson'"),
        ({"policy": "ts-cs", "seed": -3}, "-3"),
    ],
)
def test_bad_sessions_are_refused(arguments, words):
    with pytest.raises(fb.InputError, match=words):
        fb.Session(**{"costs": COSTS, "alpha": 0.1, "horizon": 100, **arguments})


@pytest.mark.parametrize("kind", [fb.UnknownDecision, fb.ToldBefore])
def test_kinds_of_wrong_ids_can_be_told_apart(kind):
    session = fresh()
    session.tell(session.ask().id, 1.0)
    with pytest.raises(kind):
        session.tell(0 if kind is fb.ToldBefore else 1, 1.0)


@pytest.mark.parametrize("id_", [0, np.int64(0), np.uint8(0)])
@pytest.mark.parametrize("reward", [1, 1.0, True, np.float32(1), np.bool_(True), np.int8(1)])
def test_ids_and_rewards_of_any_kind_of_number(id_, reward):
    session = fresh()
    session.ask()
    session.tell(id_, reward)
    assert session.explain().arms[0].mean == 1.0


@pytest.mark.parametrize("name", policies())
def test_many_at_once_are_the_same_as_one_by_one(name):
    one, many = fresh(name), fresh(name)
    rng = np.random.default_rng(3)
    for count in (1, 7, 40, 3):
        singly = [one.ask() for _ in range(count)]
        together = many.ask(count)
        assert together == singly
        rewards = rng.random(count).round(2).tolist()
        for decision, reward in zip(singly, rewards, strict=True):
            one.tell(decision.id, reward)
        many.tell_many({decision.id: reward for decision, reward in zip(together, rewards, strict=True)})
        assert one.to_json() == many.to_json()
    assert many.ask(0) == []


def test_metadata_stays_with_a_decision_until_its_feedback():
    session = fresh()
    given_in = {"request": [1, 2], "who": None}
    first, second = session.ask(metadata=given_in), session.ask()
    assert first.metadata == given_in and second.metadata is None
    given_in["request"].append(3)
    again = fb.Session.from_json(session.to_json())
    for each in (session, again):
        assert each.metadata(first.id) == {"request": [1, 2], "who": None}
        assert each.metadata(second.id) is None
        each.metadata(first.id)["request"].append(4)
        assert each.metadata(first.id)["request"] == [1, 2]
    session.tell(first.id, 1.0)
    with pytest.raises(fb.ToldBefore):
        session.metadata(first.id)
    assert "request" not in session.to_json()


@pytest.mark.parametrize("name", policies())
@pytest.mark.parametrize("copy_of", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_sessions_can_be_pickled_and_copied(name, copy_of):
    session = fresh(name)
    run_in_turn(session, 60)
    session.ask()
    other = copy_of(session)
    assert other.to_json() == session.to_json()
    assert run_in_turn(other, 40, seed=1) == run_in_turn(session, 40, seed=1)
    other.ask()
    assert other.decisions == session.decisions + 1


# A horizon that is too short for a conclusion.


@pytest.mark.parametrize(
    ("policy", "alpha", "horizon", "arms", "warns"),
    [
        ("cof", 0.1, 300, 3, True),
        ("cof", 0.05, 100_000, 11, True),
        ("cof", 0.3, 100_000, 3, False),
        ("cof:tolerance=0.2", 0.1, 3_000, 3, False),
        ("cof", 0.0, 10**9, 3, True),
        ("glr-cof:goal=conclusion", 0.01, 300, 3, True),
        ("glr-cof:goal=conclusion", 0.1, 300, 3, False),
        ("glr-cof", 0.01, 300, 3, False),
        ("ts-cs", 0.01, 300, 3, False),
    ],
)
def test_a_horizon_without_a_conclusion_is_said_at_the_start(policy, alpha, horizon, arms, warns):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        session = fb.Session(list(range(arms)), alpha, policy, horizon)
        copy.copy(session)
    assert [entry.category for entry in caught] == [fb.HorizonWarning] * warns
    for entry in caught:
        text = str(entry.message)
        assert f"within {horizon:,} decisions" in text and f"{arms} options" in text
        assert entry.filename == __file__


@pytest.mark.parametrize("name", ["cof", "glr-cof:goal=conclusion"])
@pytest.mark.parametrize("bar", [0.1, 0.3, "at-least:0.5", "at-least:0.9", "relative-to:b:0.2"])
def test_the_warning_is_right_for_perfect_options(name, bar):
    """With perfect options a conclusion comes just when the number in the warning says, or a little later."""
    costs = {"a": 1.0, "b": 2.0, "c": 3.0}
    told = {"alpha": bar} if isinstance(bar, float) else {"quality": bar}
    session = fb.Session(costs, policy=name, horizon=10**6, **told)
    needed = session._policy.decisions_to_conclude(session._setting)
    while session.explain().decision is None and session.decisions < 100 * needed:
        for decision in session.ask(max(1, int(needed / 20))):
            session.tell(decision.id, 1.0)
    assert needed / 2 < session.decisions <= 2.5 * needed + 20


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fb.COF(combine="no"), "combine must be True or False, but it is 'no'"),
        (lambda: fb.COF(exclusive=1), "exclusive must be True or False, but it is 1"),
        (lambda: fb.COF(delta="x"), "delta must be a number, but it is 'x'"),
        (lambda: fb.GLRCOF(delta=[0.1]), "delta must be a number"),
        (lambda: fb.COF(sampling=None), "sampling must be 'uniform' or 'cost-biased', but it is None"),
        (lambda: fb.PECS(kappa=True), "kappa must be a whole number"),
        (lambda: fb.ETCCS(budget="all"), "budget must be a number, but it is 'all'"),
    ],
)
def test_wrong_settings_of_policies_are_named(make, words):
    with pytest.raises(fb.InputError, match=words):
        make()


def test_settings_may_be_numbers_of_numpy():
    assert fb.COF(tolerance=np.float32(0.5), delta=np.float64(0.1), combine=np.bool_(False)) == fb.COF(
        tolerance=0.5, delta=0.1, combine=False
    )
    session = fb.Session([1, 2], 0.1, fb.GLRCOF(tolerance=np.float32(0.01)), 1_000)
    assert fb.Session.from_json(session.to_json()).to_json() == session.to_json()
    assert fb.PECS(kappa=np.int64(3)) == fb.PECS(kappa=3)


def test_the_best_policy_is_the_default():
    assert "voi-cs" in repr(fb.Session([1, 2], 0.1))
