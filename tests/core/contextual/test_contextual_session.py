"""ContextualSession: what goes out, what comes in, what is kept."""

from __future__ import annotations

import copy
import json
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.session.stored import checksum

COSTS = {"small": 0.2, "medium": 1.0, "large": 3.0}
BOTH = fb.Segments(["easy", "hard"]) + fb.Features(2)
QUALITY = {"easy": (0.9, 0.92, 0.95), "hard": (0.3, 0.6, 0.9)}


def made(**settings):
    return fb.ContextualSession(COSTS, **{"alpha": 0.05, "context": BOTH, "seed": 1, **settings})


def fed(session, decisions, seed=0, told=1.0, start=0, fresh=True):
    """Ask and tell; a share `told` of decisions is judged. `fresh`: new segments turn up."""
    rng, seen = np.random.default_rng([seed, start]), []
    for t in range(start, start + decisions):
        segment = ("easy", "easy", "hard", f"new-{t // 100}" if fresh and t > 100 else "hard")[
            rng.integers(4)
        ]
        decision = session.ask((segment, rng.normal(size=2)))
        seen.append(decision.option)
        mean = QUALITY.get(segment, QUALITY["hard"])[list(COSTS).index(decision.option)]
        reward = float(rng.random() < mean)
        if rng.random() < told:
            session.tell(decision.id, reward)
    return seen


def test_hard_queries_go_to_the_option_that_can_do_them():
    session = made(quality="at-least:0.87", alpha=None)
    fed(session, 1_500, fresh=False)
    found = session.explain()
    easy, hard = (next(each for each in found.segments if each.name == name) for name in ("easy", "hard"))
    assert easy.spent / easy.decisions < 0.6 * hard.spent / hard.decisions
    assert easy.mostly != "large" == hard.mostly
    assert found.spent < 0.8 * found.always_reference
    # Four standard errors of 1,500 rewards: 0.035.
    assert found.reached > 0.87 - 0.035
    assert found.bar == 0.87 and found.judged == 1.0
    assert sum(each.decisions for each in found.options) == found.decisions == 1_500


def test_sparse_feedback_is_not_taken_for_bad_feedback():
    session = made()
    fed(session, 1_500, told=0.1)
    found = session.explain()
    assert 0.07 < found.judged < 0.13
    assert found.reached > 0.7
    assert found.pending == 1_500 - found.told


def test_a_stored_session_goes_on_exactly():
    session = made(time_to_live=1e6, memory=300)
    fed(session, 150, told=0.5)
    session.add("huge", 9.0)
    session.pause("medium")
    text = session.to_json()
    again = fb.ContextualSession.from_json(text)
    assert again.to_json() == text
    for other in (again, pickle.loads(pickle.dumps(session)), copy.copy(session)):
        assert fed(copy.copy(session), 120, start=150) == fed(other, 120, start=150)
    again.resume("medium")
    ids = list(again.pending)
    again.tell_many({ids[0]: 1.0, ids[1]: {"reward": 0.5, "cost": 7.0}})
    assert str(again.changes()).count("paused") == 1


def test_some_options_may_be_out_of_reach():
    session = made()
    query = ("easy", [0.0, 1.0])
    assert {session.ask(query, among=["large"]).option for _ in range(5)} == {"large"}
    assert "small" not in {session.ask(query, exclude=["small"]).option for _ in range(20)}
    session.pause("small")
    first = session.ask(query)
    assert session.ask(query, after=first).option == first.option
    assert session.ask(query, after=first.id).reason.startswith("kept")
    with pytest.raises(fb.InputError, match="no option is left to choose from"):
        session.ask(query, among=["small"])
    session.resume("small")
    session.retire("medium")
    assert "medium" not in {session.ask(query).option for _ in range(40)}
    with pytest.raises(fb.InputError, match="'medium' was retired"):
        session.observe(query, "medium", 1.0)


def test_costs_of_a_query_count_in_place_of_the_usual_ones():
    session = made()
    decision = session.ask(("easy", [0, 0]), among=["large"], costs={"large": 10.0})
    session.ask(("easy", [0, 0]), among=["large"], costs=[1.0, 1.0, 5.0])
    found = {each.name: each for each in session.explain().options}
    assert found["large"].spent == 15.0 and found["large"].always == 15.0 and found["small"].always == 1.2
    session.tell(decision.id, reward=1.0, cost=8.0)
    assert session.explain().spent == 13.0
    assert {session.ask(("easy", [0, 0]), costs=[1000.0, 1000.0, 0.0]).option for _ in range(30)} >= {"large"}


def test_feedback_of_a_retired_option_still_counts_in_what_was_reached():
    session = made()
    decision = session.ask(("easy", [0, 0]), among=["medium"])
    session.retire("medium")
    session.tell(decision.id, 1.0)
    assert session.explain().told == 1 and not session.pending


def test_what_has_outlived_its_time_is_given_up():
    session = made(time_to_live=60)
    now = [1_000.0]
    session._clock = lambda: now[0]
    decision = session.ask(("easy", [0, 0]))
    now[0] += 100
    with pytest.raises(fb.Expired, match="has expired"):
        session.tell(decision.id, 1.0)
    assert session.pending == {} and "1 times feedback" in str(session.explain())


def test_several_threads_share_a_session():
    session, errors = made(), []

    def work(seed):
        try:
            fed(session, 60, seed)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and session.decisions == 240 and session.explain().told == 240


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda s: s.ask("easy"), fb.InputError, "a pair of segment and features"),
        (lambda s: s.ask(("easy", [1, np.nan])), fb.InputError, r"features\[1\] is nan"),
        (lambda s: s.ask(None), fb.InputError, "the context is missing"),
        (lambda s: s.ask(("new", [0, 0]), costs={"tiny": 1.0}), fb.InputError, "'tiny'"),
        (lambda s: s.ask(("new", [0, 0]), costs=[1.0]), fb.InputError, "one for each of 3 options"),
        (lambda s: s.ask(("new", [0, 0]), costs={"small": -1}), fb.InputError, "0 or more"),
        (lambda s: s.ask(("new", [0, 0]), metadata={1, 2}), fb.InputError, "metadata"),
        (lambda s: s.ask(("new", [0, 0]), among=["tiny"]), fb.InputError, "'tiny'"),
        (lambda s: s.tell(0, 1.5), fb.InputError, r"\[0, 1\]"),
        (lambda s: s.tell(17, 1.0), fb.UnknownDecision, "17"),
        (lambda s: s.tell(1, 1.0), fb.ToldBefore, "told or forgotten before"),
        (lambda s: s.tell_many([(0, 1.0), (0, 1.0)]), fb.ToldBefore, "stands twice"),
        (lambda s: s.tell_many([(0, 1.0), (99, 1.0)]), fb.UnknownDecision, "99"),
        (lambda s: s.observe(("new", [0, 0]), "large", 2.0), fb.InputError, r"\[0, 1\]"),
        (lambda s: s.set_cost("large", float("inf")), fb.InputError, "finite"),
        (lambda s: s.add("large", 1.0), fb.InputError, "there already"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(call, kind, words):
    session = made()
    session.ask(("easy", [0, 0]))
    session.tell(session.ask(("hard", [0, 0])).id, 1.0)
    before = session.to_json()
    with pytest.raises(kind, match=words):
        call(session)
    assert session.to_json() == before


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"alpha": 1.0}, "alpha"),
        ({"context": None}, "context must be"),
        ({"policy": "dual-cop"}, "dual-cof"),
        ({"policy": 3}, "a contextual policy is a registered name"),
        ({"memory": "auto"}, "memory must be None or a number"),
        ({"memory": 0}, "memory"),
        ({"seed": -1}, "seed"),
        ({"time_to_live": 0}, "time_to_live"),
        ({"alpha": None}, "say what is good enough"),
        ({"alpha": None, "quality": "relative-to:tiny:0.1"}, "'tiny'"),
    ],
)
def test_settings_are_checked(settings, words):
    with pytest.raises(fb.InputError, match=words):
        made(**settings)


def test_an_explanation_can_be_read():
    session = made()
    fed(session, 300)
    text = str(session.explain())
    for words in ("on average over queries", "reached is", "alone would have cost", "segment", "easy"):
        assert words in text
    assert json.loads(json.dumps(session.explain().to_dict()))["quality"]["alpha"] == 0.05
    assert "<table" in session.explain()._repr_html_()
    assert "no reward was told yet" in str(made().explain())


def stored_texts():
    session = made(time_to_live=1e6)
    fed(session, 60, told=0.6)
    return json.loads(session.to_json())


STORED = stored_texts()


def places(value, path=()):
    """Return the paths of all values, a few of each list."""
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list) and value:
        for place in sorted({0, len(value) // 2, len(value) - 1}):
            yield from places(value[place], (*path, place))
    yield path


PLACES = [path for path in places(STORED) if path and path[0] not in ("checksum", "format", "version")]


@given(st.sampled_from(PLACES), st.sampled_from([None, -1, 1e308, 2**60, "x", [], {}, True, 0.5, 0, [[1.0]]]))
def test_a_damaged_state_is_refused_in_words_or_goes_on(path, value):
    data = json.loads(json.dumps(STORED))
    at = data
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    del data["checksum"]
    text = json.dumps({**data, "checksum": checksum(data)})
    try:
        session = fb.ContextualSession.from_json(text)
    except fb.StateFormatError as error:
        assert "\n" not in str(error)
        return
    for _ in range(3):
        decision = session.ask(("easy", [0.0, 1.0]))
        session.tell(decision.id, 1.0)
    session.explain()
    session.to_json()


def test_other_texts_are_no_sessions():
    for text in ("", "{}", made().to_json()[:-20], fb.Session(COSTS, 0.1).to_json()):
        with pytest.raises(fb.StateFormatError):
            fb.ContextualSession.from_json(text)
    later = made().to_json().replace('"version": 3', '"version": 4')
    with pytest.raises(fb.StateFormatError, match="reads up to 3"):
        fb.ContextualSession.from_json(later)


def test_a_file_keeps_a_session(tmp_path):
    session = made()
    fed(session, 20)
    session.save(tmp_path / "session.json")
    assert fb.ContextualSession.load(tmp_path / "session.json").to_json() == session.to_json()
    with pytest.raises(fb.InputError, match="cannot read"):
        fb.ContextualSession.load(tmp_path / "none.json")
