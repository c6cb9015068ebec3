"""Stored sessions: nothing is lost, old ones are read for ever, damaged ones are refused."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.registry import policies, resolve
from frugalbandits.core.session.stored import checksum
from harness import MODES, fresh, planner, run_in_turn, state_of

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("name", policies())
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


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("session-v*.json")), ids=lambda path: path.stem)
def test_states_of_every_version_are_read_for_ever(path):
    """Written after 700 decisions, 3 of them outstanding, with the 40 options after them."""
    stored = json.loads(path.read_text())
    session = fb.Session.from_json(json.dumps(stored["session"]))
    assert session.decisions == 700
    assert len(session.pending) == 3
    assert [arm.pulls for arm in session.explain().arms] == stored["pulls"]
    for id_ in sorted(session.pending):
        session.tell(id_, 1.0)
    following = run_in_turn(session, 40, seed=9)
    if path.stem in ("session-v1-ts-cs", "session-v2-glr-cof", "session-v5-voi-cs-at-least-0.97"):
        # What it had drawn ahead has another form since version 2, and is drawn anew; GLR-COF has another
        # rule of sampling since version 3. VOI-CS did not try a third option under a level; now it does.
        assert len(following) == len(stored["next"])
        assert set(following) <= {arm.name for arm in session.explain().arms}
    else:
        assert following == stored["next"]


def test_every_kind_of_bar_has_a_golden_state():
    stored = [json.loads(path.read_text())["session"] for path in GOLDEN.glob("session-v[56]-*.json")]
    kinds = {(state["policy"]["kind"], state["quality"]["kind"]) for state in stored}
    for name in policies():
        policy = resolve(name)
        for kind in ("relative-to-best", *(("relative-to", "at-least") if policy.any_bar else ())):
            assert (type(policy).__name__, kind) in kinds


def test_every_kind_of_policy_has_a_golden_state():
    kinds = {type(resolve(name)).__name__ for name in policies()}
    stored = {
        json.loads(path.read_text())["session"]["policy"]["kind"] for path in GOLDEN.glob("session-*.json")
    }
    assert stored == kinds


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
    yield "later version", change(version=7), "version 7.*later release"
    yield "no version", change(version=None), "version"
    yield "missing key", signed({k: v for k, v in whole.items() if k != "events"}), "'events' is missing"
    yield "unsigned", json.dumps({**whole, "alpha": 0.2}), "checksum"
    yield "wrong type", change(costs="free"), "'free'"
    yield "bad alpha", inner("quality", "alpha", value=2), "alpha"
    yield "no quality", change(quality=None), "quality"
    yield "unknown quality", change(quality={"kind": "magic"}), "'magic'"
    yield "misnamed quality", change(quality={"kind": "at-least", "alpha": 0.1}), "at-least"
    yield "unknown reference", change(quality={"kind": "relative-to", "reference": "x", "alpha": 0}), "'x'"
    yield "unknown policy", inner("policy", "kind", value="Magic"), "'Magic'"
    yield "bad settings", inner("policy", "settings", value={"speed": 3}), "speed"
    yield "arrays missing", inner("state", "tally", value={}), "'tally.pulls'"
    yield "arrays too short", inner("state", "tally", "pulls", value=[1]), "'tally.pulls'.*shape"
    yield "impossible sums", inner("state", "tally", "sums", value=[99.0, 0, 0]), "99.0"
    yield "pending differs", change(pending=[]), "feedback"
    yield "unknown pending", change(pending=[[10**6, "tiny", None]]), "'pending' is 1000000"
    yield "unknown option", change(pending=[[30, "huge", None]]), "'pending' has the option 'huge'"
    yield "pending twice", change(pending=[[30, "tiny", None]] * 2), "decision 30 is pending twice"
    yield "bad batch", inner("batch", "options", value=[9]), "'batch' has the option 9"
    yield "null batch", inner("batch", "options", value=None), "options of 'batch'"
    yield "bad place", inner("batch", "at", value=10**12), "the place in 'batch' is 1000000000000"
    yield "bad repeats", inner("batch", "repeats", value=-1), "the repeats of 'batch' is -1"
    yield "bad event", change(events=[[1, "magic", "tiny"]]), "'magic'"
    yield "made-up event", change(events=[[1, "optimal", "tiny"]]), "not those of its journal"
    yield "null in carry", inner("state", "tally", "carry", value=[None, 0, 0]), "'tally.carry'.*None"
    yield "huge carry", inner("state", "tally", "carry", value=[0.5, 0, 0]), "more than rounding"
    yield "journal too long", inner("state", "journal", "length", value=[10**12]), "'journal.length'"
    yield "wild arm", inner("state", "stretch", "epoch", "arm", value=[10**12]), "'stretch.epoch.arm'"
    yield "truth for a number", inner("state", "tally", "pulls", value=[True, 0, 0]), "True"
    yield "asked too few", change(asked=[0, 0, 0]), "more feedback"
    yield "nested", '{"a":' * 100_000, "not a whole session state"
    deep = "[" * 900 + "]" * 900
    yield "deep and whole", f'{{"format": "frugalbandits-session", "version": 1, "x": {deep}}}', "checksum"
    yield "digits", '{"format": ' + "9" * 5_000 + "}", "not a whole session state"
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


OLD = json.loads((GOLDEN / "session-v2-cof.json").read_text())["session"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"alpha": None}, "alpha must be a number, but it is None"),
        ({"pending": [[1, 7]]}, "'pending' is 7"),
        ({"pending": [[1, "tiny"]]}, "'pending' is 'tiny'"),
        ({"events": [[1, 9, 0]]}, "a kind in 'events' is 9"),
        ({"batch": {"arms": [9], "at": 0, "repeats": 1}}, "an arm of 'batch' is 9"),
        ({"batch": None}, "'batch' is None"),
        ({"state": {}}, "'pulls'"),
    ],
)
def test_damaged_states_of_old_versions_are_refused(change, words):
    data = {key: value for key, value in {**OLD, **change}.items() if key != "checksum"}
    with pytest.raises(fb.StateFormatError, match=words):
        fb.Session.from_json(json.dumps({**data, "checksum": checksum(data)}))


def test_names_that_earlier_releases_let_in_are_read():
    data = json.loads(json.dumps(OLD).replace("small", "two\\nlines"))
    data.pop("checksum")
    session = fb.Session.from_json(json.dumps({**data, "checksum": checksum(data)}))
    assert "two\nlines" in {arm.name for arm in session.explain().arms}
    assert fb.Session.from_json(session.to_json()).to_json() == session.to_json()
    with pytest.raises(fb.InputError, match="line ends"):
        fb.Session({"two\nlines": 1.0, "large": 2.0}, 0.1)


WILD = st.one_of(
    st.sampled_from([0, 1, -1, 2, 7, 10**12, 2**62, -(2**63), 10**30, 0.5, -0.5, 1e-300, 1e300, -1e300]),
    st.integers(-5, 2_000),
    st.floats(0, 1),
    st.none(),
    st.booleans(),
    st.text(max_size=2),
)


def leaves(value, path=()):
    """Yield the paths of all values that are no list or dictionary."""
    if isinstance(value, dict | list) and value:
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))
    else:
        yield path


def signed_with(whole, changes):
    """Return a state with other values at some paths, and a checksum that fits."""
    data = json.loads(json.dumps(whole))
    data.pop("checksum")
    for path, value in changes:
        part = data
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value
    return json.dumps({**data, "checksum": checksum(data)})


@functools.cache
def fuzzed(name, lagging):
    session = fresh(name, horizon=5_000)
    run_in_turn(session, 400)
    for decision in [session.ask() for _ in range(5)][lagging:]:
        session.tell(decision.id, 1.0)
    whole = state_of(session)
    return whole, [path for path in leaves(whole) if path[0] in ("state", "batch", "asked", "decisions")]


@pytest.mark.parametrize("mode", MODES[:2])
@pytest.mark.parametrize("lagging", [0, 3])
@pytest.mark.parametrize(
    "name", ["cof", "cof-cost-biased", "glr-cof", "voi-cs", "pe-cs", "ucb-cs", "etc-cs", "ts-cs"]
)
@given(data=st.data())
def test_wild_values_are_refused_or_harmless(name, lagging, mode, data):
    """With a checksum that fits: a state is refused in words, or decisions go on, in compiled code too."""
    whole, paths = fuzzed(name, lagging)
    changes = data.draw(st.lists(st.tuples(st.sampled_from(paths), WILD), min_size=1, max_size=3))
    try:
        session = fb.Session.from_json(signed_with(whole, changes))
    except fb.StateFormatError:
        return
    session._planner = planner(name, mode)
    run_in_turn(session, 60)
    session.ask(20)
    str(session.explain())
    assert fb.Session.from_json(session.to_json()).to_json() == session.to_json()


def test_rows_are_stored_without_the_zeros_at_their_ends():
    session = fresh("voi-cs")
    whole = session.to_json()
    assert json.loads(whole)["state"]["past"]["counts"] == [[], [], []]
    run_in_turn(session, 300)
    kept = json.loads(session.to_json())["state"]["past"]
    assert all(row and row[-1] != 0 for row in kept["counts"] if any(row))
    again = fb.Session.from_json(session.to_json())
    assert (again._state.past.counts == session._state.past.counts).all()
    assert len(whole) < 3_500
