"""Stored sessions of a moving world: damage is refused in words, or harmless, also to compiled code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.registry import policies
from frugalbandits.core.session.stored import checksum
from harness import MODES, planner, state_of
from moving_harness import Clock, following, lived

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("name", policies())
def test_everything_is_stored(name):
    """What follows is the same, in every part."""
    clocks = [Clock(), Clock()]
    live, other = lived(name, clocks[0]), lived(name, clocks[1])
    text = other.to_json()
    stored = fb.Session.from_json(text)
    stored._clock = clocks[1]
    assert stored.to_json() == text
    assert str(live.explain()) == str(stored.explain()) and live.changes() == stored.changes()
    for step in range(60):
        for clock in clocks:
            clock.now += 3.0
        one, two = live.ask(), stored.ask()
        assert one == two
        for session in (live, stored):
            session.tell(one.id, float(step % 2))
            if step == 20:
                session.resume("tiny")
            if step == 40:
                session.set_cost("new", 5.0)
        assert live.to_json() == stored.to_json()


WILD = st.one_of(
    st.sampled_from([0, 1, -1, 2, 7, 10**12, 2**62, -(2**63), 10**30, 0.5, -0.5, 1e-300, 1e300, -1e300]),
    st.integers(-5, 2_000),
    st.floats(0, 1),
    st.none(),
    st.booleans(),
    st.sampled_from(["", "tiny", "small", "huge", "retired", "paused", "active", "ff", "-1", "auto"]),
)


def leaves(value, path=()):
    if isinstance(value, dict | list) and value:
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))
    else:
        yield path


def changed(whole, changes):
    data = json.loads(json.dumps(whole))
    data.pop("checksum")
    for path, value in changes:
        part = data
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value
    return json.dumps({**data, "checksum": checksum(data)})


SESSIONS = {}


def lived_once(name):
    if name not in SESSIONS:
        whole = state_of(lived(name))
        # What is there many times is drawn less often.
        paths: dict[tuple, list] = {}
        for path in leaves(whole):
            paths.setdefault(path[:3], []).append(path)
        SESSIONS[name] = whole, list(paths.values())
    return SESSIONS[name]


@pytest.mark.parametrize("mode", MODES[:2])
@pytest.mark.parametrize("name", ["voi-cs", "cof", "glr-cof", "ts-cs", "pe-cs"])
@given(data=st.data())
def test_wild_values_are_refused_or_harmless(name, mode, data):
    whole, places = lived_once(name)
    some = st.sampled_from(places).flatmap(st.sampled_from)
    changes = data.draw(st.lists(st.tuples(some, WILD), min_size=1, max_size=3))
    try:
        session = fb.Session.from_json(changed(whole, changes))
    except fb.StateFormatError:
        return
    session._clock = Clock(1_300.0)
    session._planner = planner(name, mode)
    if session._standing.count(0) == 0:
        return
    for step in range(40):
        decision = session.ask()
        if decision.id in session.pending:
            session.tell(decision.id, float(step % 2), 0.5)
    there = [arm.name for arm in session.explain().arms]
    session.set_cost(there[0], 0.3)
    session.add("newer", 0.4)
    session.ask(20, exclude=there[:1] if len(there) > 2 and session._standing.count(0) > 2 else None)
    str(session.explain())
    str(session.changes())
    assert fb.Session.from_json(session.to_json()).to_json() == session.to_json()


def damages():
    whole = state_of(lived("voi-cs"))

    def at(*path, value):
        return changed(whole, [(path, value)])

    moved = whole["moved"]
    yield "no moved", at("moved", value=None), "'moved' is None"
    yield "terms", at("moved", "terms", value={}), "'terms' is"
    yield "memory", at("moved", "terms", "memory", value=0), "memory must be"
    yield "standing", at("moved", "standing", 0, value="lost"), "'standing' has the entry 'lost'"
    yield "all retired", at("moved", "standing", value=["retired"] * 4), "'standing' is"
    yield "not retired", at("moved", "standing", 1, value="active"), "'left'"
    yield "observed", at("moved", "observed", 0, value=7), "less feedback on 'tiny'"
    yield "lost", at("state", "tally", "lost", 0, value=10**6), "more feedback"
    yield "bills", at("state", "bills", "sums", 1, value=1e9), "bills sum to"
    yield "usable", at("state", "usable", 0, value=True), "'usable' of the state"
    yield "negative bill", at("state", "bills", "sums", 0, value=-1.0), "bills.sums"
    yield "past", at("state", "past", "used", 0, value=999), "past.used"
    yield "unit", at("moved", "money", "units", 0, value=0.3), "'units'"
    yield "counted", at("moved", "money", "counted", 0, value=10**6), "counted"
    yield "price", at("moved", "money", "before", 2, value=[[1, None, 0, 0]]), "a price in 'before'"
    yield "owed", at("moved", "waiting", "owed", value=[[5, "huge"]]), "'owed' has the option 'huge'"
    yield "billed", at("moved", "waiting", "billed", value=[1]), "do not wait"
    yield "times", at("moved", "waiting", "live", value=[]), "has no time"
    yield "order", at("moved", "waiting", "live", value=moved["waiting"]["live"][::-1]), "'live'"
    yield "bits", at("moved", "waiting", "expired", 0, 4, value="xyz"), "'expired' has the entry"
    yield "too many bits", at("moved", "waiting", "expired", 0, 4, value="ffff"), "'expired' has the entry"
    yield "now", at("moved", "waiting", "now", value=-1.0), "'now' is"
    yield "change", at("moved", "changes", 0, 1, value="magic"), "'magic'"
    yield "words", at("moved", "changes", 0, 3, value="x" * 2_000), "the words"
    yield "total", at("moved", "changes_in_all", value=0), "changes_in_all"
    yield "kept", at("moved", "kept", value=5), "kept"
    yield "unconfirmed", at("moved", "unconfirmed", value=[["optimal", "tiny"]]), "not drawn"
    yield "retired in batch", at("batch", "options", value=["small"]), "retired"


@pytest.mark.parametrize(("text", "words"), [pytest.param(t, w, id=n) for n, t, w in damages()])
def test_damaged_parts_are_refused(text, words):
    with pytest.raises(fb.StateFormatError, match=words):
        fb.Session.from_json(text)


def test_the_bar_of_a_retired_option_is_refused():
    session = fb.Session({"a": 1.0, "b": 2.0, "c": 3.0}, quality="relative-to:b:0.1")
    session.retire("a")
    whole = state_of(session)
    with pytest.raises(fb.StateFormatError, match="sets the bar"):
        fb.Session.from_json(changed(whole, [(("quality", "reference"), "a")]))


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("moving-v*.json")), ids=lambda path: path.stem)
def test_sessions_of_a_moving_world_are_read_for_ever(path):
    """Written after all that can happen to one, with what was handed out after that."""
    kept = json.loads(path.read_text())
    session = fb.Session.from_json(json.dumps(kept["session"]))
    session._clock = Clock(kept["now"])
    assert str(session.changes()).splitlines() == kept["changes"]
    assert following(session) == kept["next"]


def test_policies_of_a_moving_world_have_golden_states():
    for version in (5, 6):
        stored = {path.stem for path in GOLDEN.glob(f"moving-v{version}-*.json")}
        assert stored == {f"moving-v{version}-cof", f"moving-v{version}-voi-cs"}
