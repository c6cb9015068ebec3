"""Property 6 of the design, feedback out of turn, explanations, stored states, and what a session refuses."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.policies import policies
from frugalbandits.session_state import checksum

COSTS = {"tiny": 0.1, "small": 0.4, "large": 3.0}
GOLDEN = Path(__file__).parent / "golden"


def fresh(name="cof", horizon=2_000, **more):
    return fb.Session(COSTS, 0.1, name, horizon, seed=5, **more)


def state_of(session):
    return json.loads(session.to_json())


def run_in_turn(session, steps, seed=0):
    rng = np.random.default_rng(seed)
    arms = []
    for _ in range(steps):
        decision = session.ask()
        arms.append(decision.arm)
        session.tell(decision.id, float(rng.random() < {"tiny": 0.2, "small": 0.8}.get(decision.arm, 0.85)))
    return arms


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
@settings(max_examples=20)
@given(data=st.data())
def test_json_at_any_point_changes_nothing_that_follows(name, data):
    """Random interleaving of ask, tell, forget and storing, against the session that is never stored."""
    live, stored = fresh(name, horizon=300), fresh(name, horizon=300)
    out = []
    for action in data.draw(
        st.lists(st.sampled_from(["ask", "ask", "tell", "forget", "store"]), max_size=120)
    ):
        if action == "ask":
            decision = live.ask()
            assert stored.ask() == decision
            out.append(decision.id)
        elif action == "store":
            text = stored.to_json()
            stored = fb.Session.from_json(text)
            assert stored.to_json() == text
        elif out:
            id_ = out.pop(data.draw(st.integers(0, len(out) - 1)))
            if action == "tell":
                reward = data.draw(st.floats(0, 1))
                live.tell(id_, reward)
                stored.tell(id_, reward)
            else:
                live.forget(id_)
                stored.forget(id_)
        assert live.to_json() == stored.to_json()
        assert sorted(live.pending) == sorted(out)
    assert str(live.explain()) == str(stored.explain())


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
    assert lines[3].split() == ["option", "cost", "pulls", "pending", "mean", "lcb", "ucb", "status"]
    assert [line.split()[0] for line in lines[4:]] == ["tiny", "small", "large"]
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


def test_settings_of_a_policy_are_stored():
    session = fb.Session([1, 2], 0.2, fb.COF(delta=0.05, combine=False))
    run = fb.Session.from_json(session.to_json())
    assert run.to_json() == session.to_json()
    assert "combine=False" in repr(run)


def test_save_and_load(tmp_path):
    session = fresh("ts-cs")
    run_in_turn(session, 50)
    session.save(tmp_path / "state.json")
    again = fb.Session.load(tmp_path / "state.json")
    assert run_in_turn(again, 50, seed=1) == run_in_turn(session, 50, seed=1)
    with pytest.raises(fb.InputError, match="nowhere"):
        fb.Session.load(tmp_path / "nowhere.json")


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("session-v1-*.json")), ids=lambda path: path.stem)
def test_states_of_version_1_are_read_for_ever(path):
    """Written by release 0.1.0 after 700 decisions, 3 of them outstanding, with the 40 options after them."""
    stored = json.loads(path.read_text())
    session = fb.Session.from_json(json.dumps(stored["session"]))
    assert session.decisions == 700
    assert len(session.pending) == 3
    assert [arm.pulls for arm in session.explain().arms] == stored["pulls"]
    for id_ in sorted(session.pending):
        session.tell(id_, 1.0)
    assert run_in_turn(session, 40, seed=9) == stored["next"]


def test_every_kind_of_policy_has_a_golden_state():
    kinds = {type(fb.policies.__globals__["_REGISTRY"][name]).__name__ for name in policies()}
    stored = {json.loads(path.read_text())["session"]["policy"]["kind"] for path in GOLDEN.glob("*.json")}
    assert stored == kinds


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
        ({"horizon": None}, "COF needs a horizon"),
        ({"horizon": None, "policy": "ucb-cs"}, "UCBCS needs a horizon"),
        ({"policy": "thompson"}, "'thompson'"),
        ({"policy": "ts-cs", "seed": -3}, "-3"),
    ],
)
def test_bad_sessions_are_refused(arguments, words):
    with pytest.raises(fb.InputError, match=words):
        fb.Session(**{"costs": COSTS, "alpha": 0.1, "horizon": 100, **arguments})


def damaged():
    session = fresh("ts-cs")
    run_in_turn(session, 30)
    session.ask()
    whole = json.loads(session.to_json())

    def signed(data):
        data.pop("checksum", None)
        return json.dumps({**data, "checksum": checksum(data)})

    def change(**more):
        return signed({**whole, **more})

    def inner(*path, value):
        copy = json.loads(session.to_json())
        part = copy
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value
        return signed(copy)

    yield "truncated", session.to_json()[:200], "not a whole session state"
    yield "empty", "", "not a whole session state"
    yield "not ours", "[1, 2]", "not a session state"
    yield "other format", change(format="other"), "not a session state"
    yield "later version", change(version=2), "version 2.*later release"
    yield "no version", change(version=None), "version"
    yield "missing key", signed({k: v for k, v in whole.items() if k != "events"}), "'events' is missing"
    yield "unsigned", json.dumps({**whole, "alpha": 0.2}), "checksum"
    yield "wrong type", change(costs="free"), "'free'"
    yield "bad alpha", change(alpha=2), "alpha"
    yield "unknown policy", inner("policy", "kind", value="Magic"), "'Magic'"
    yield "bad settings", inner("policy", "settings", value={"speed": 3}), "speed"
    yield "arrays missing", inner("state", "tally", value={}), "'pulls'"
    yield "arrays too short", inner("state", "tally", "pulls", value=[1]), "'pulls'.*shape"
    yield "impossible sums", inner("state", "tally", "sums", value=[99.0, 0, 0]), "99.0"
    yield "pending differs", change(pending=[]), "feedback"
    yield "unknown pending", change(pending=[[10**6, 0]]), "damaged"
    yield "arm out of range", change(pending=[[30, 7]]), "'pending'"
    yield "bad batch", inner("batch", "arms", value=[9]), "9"
    yield "bad generator", change(random={"bit_generator": "PCG64"}), "'random'"


JSON = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**6),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=3),
    st.lists(st.one_of(st.integers(-1, 5), st.text(max_size=2), st.none()), max_size=4),
    st.dictionaries(st.sampled_from(["arms", "at", "tally"]), st.integers(-1, 3), max_size=2),
)


@settings(max_examples=300)
@given(data=st.data())
def test_any_damage_is_noticed(data):
    """One value anywhere in a stored state is replaced by another."""
    session = fresh("ts-cs")
    run_in_turn(session, 30)
    session.ask()
    whole = state_of(session)
    part, key = whole, data.draw(st.sampled_from(sorted(whole)))
    while isinstance(part[key], dict | list) and part[key] and data.draw(st.booleans()):
        part = part[key]
        key = data.draw(st.sampled_from(sorted(part) if isinstance(part, dict) else range(len(part))))
    before = part[key]
    part[key] = data.draw(JSON)
    if part[key] == before:
        return
    with pytest.raises(fb.StateFormatError):
        fb.Session.from_json(json.dumps(whole))


def test_a_store_may_rewrite_the_text():
    """Another order of keys, other blanks, whole numbers without their point: some stores do that."""

    def rewritten(value):
        if isinstance(value, dict):
            return {key: rewritten(value[key]) for key in sorted(value)}
        if isinstance(value, list):
            return [rewritten(part) for part in value]
        return int(value) if isinstance(value, float) and value.is_integer() else value

    session = fresh("ts-cs")
    run_in_turn(session, 30)
    again = fb.Session.from_json(json.dumps(rewritten(state_of(session)), indent=2))
    assert again.to_json() == session.to_json()


@pytest.mark.parametrize(("text", "words"), [pytest.param(t, w, id=n) for n, t, w in damaged()])
def test_damaged_states_are_refused(text, words):
    with pytest.raises(fb.StateFormatError, match=words):
        fb.Session.from_json(text)
