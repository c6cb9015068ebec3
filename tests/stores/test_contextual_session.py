"""A contextual session in a store: what a user sees of it, and that it is the fold of its log."""

from __future__ import annotations

import copy
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import frugalbandits as fb
from contextual_harness import ROUTED, routed
from frugalbandits.core.contextual.stored import written
from frugalbandits.core.session.stored import checksum
from frugalbandits.stores import Fact, contextual_folding, following, keeping, open_store
from frugalbandits.stores.contextual_session import StoredContextualSession
from frugalbandits.stores.kinds import keep_session, open_session
from frugalbandits.stores.session import StoredSession
from store_harness import eventually, in_threads, told_again

CONTEXT = fb.Segments(["easy", "hard"]) + fb.Features(2)
QUERY = ("easy", [0.0, 1.0])
GOLDEN = Path(__file__).parents[1] / "golden"


def routes(store, **given):
    settled = {"costs": ROUTED, "alpha": 0.05, "context": CONTEXT, "store": store, "name": "routes", **given}
    return fb.ContextualSession(**settled)


def test_who_opens_it_again_goes_on_with_it(store):
    with routes(store, memory=50) as session:
        routed(session, 60, seed=1, told=0.7)
        last = session.ask(QUERY, metadata={"request": 17})
        session.set_cost("large", 2.0)
        session.add("huge", 9.0)
        session.pause("medium")
        session.observe(("hard", [0, 0]), "small", 0.5)
        before, dumped = session.explain(), session._dumped()
    with routes(store, memory=50, costs={**ROUTED, "large": 2.0, "huge": 9.0}) as session:
        assert isinstance(session, StoredContextualSession) and isinstance(session, fb.ContextualSession)
        assert (session._dumped(), session.explain()) == (dumped, before)
        assert [change.kind for change in session.changes()] == ["price", "added", "paused"]
        assert session.metadata(last.id) == {"request": 17}
        assert session.option_of(last.id) == last.option
        session.tell(last.id, 1.0)
        assert session.explain().told == before.told + 1 and session.explain().pending == before.pending - 1
        with pytest.raises(fb.ToldBefore, match="nothing is kept with it"):
            session.metadata(last.id)
        assert "'routes' in" in repr(session)


def test_it_decides_as_a_session_of_one_process_does(store):
    """The same draws, the same queries, and feedback at once: the same decisions and the same state."""
    plain = fb.ContextualSession(ROUTED, 0.05, CONTEXT, seed=3)
    with routes(store) as session:
        session._draws = np.random.default_rng(3)
        for each in (plain, session):  # so that no segment is new
            for segment in ("easy", "hard", "rare"):
                each.observe((segment, [0.0, 0.0]), "large", 1.0)
        assert routed(session, 150, seed=1) == routed(plain, 150, seed=1)
        left_out = ("random", "checksum", "waiting")
        one, other = json.loads(written(session)), json.loads(plain.to_json())
        for name in left_out:
            del one[name], other[name]
        assert one == other
        assert session.explain() == plain.explain()


@pytest.mark.parametrize("snapshot", [False, True])
def test_the_same_again_is_the_same_and_another_is_a_conflict(address, snapshot):
    with routes(address) as session:
        one, two, three = (session.ask(QUERY, among=["small"]) for _ in range(3))
        session.tell(one.id, 1.0, cost=0.5)
        session.forget(two.id)
        if snapshot:
            session.snapshot()
    with routes(address) as session:
        told_again(session, one.id, two.id, three.id, lambda: session._dumped())
        session.tell_many({three.id: {"reward": 1.0, "cost": 0.1}})
        found = session.explain()
        assert found.spent == pytest.approx(0.5 + 0.2 + 0.1) and found.told == 2 and found.pending == 0
        assert found.segments[0].spent == pytest.approx(0.8)
        # A bill that comes after the reward.
        late = session.ask(QUERY, among=["large"], costs={"large": 5.0})
        session.tell(late.id, 1.0)
        session.tell(late.id, cost=4.0)
        assert session.explain().spent == pytest.approx(4.8)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda s: s.ask(None), fb.InputError, "the context is missing"),
        (lambda s: s.ask(("new", [1.0])), fb.InputError, "must have 2 features, but it has 1"),
        (lambda s: s.ask(("new", [0, 0]), costs={"tiny": 1.0}), fb.InputError, "'tiny'"),
        (lambda s: s.ask(("new", [0, 0]), metadata="x" * 5_000), fb.InputError, "4,096 bytes"),
        (lambda s: s.ask(("new", [0, 0]), metadata={1}), fb.InputError, "JSON"),
        (lambda s: s.ask(("new", [0, 0]), among=[]), fb.InputError, "no option is left"),
        (lambda s: s.ask(("new", [0, 0]), after="abc"), fb.UnknownDecision, "abc"),
        (lambda s: s.tell("abc", 1.0), fb.UnknownDecision, "abc"),
        (lambda s: s.tell(3, 1.0), fb.UnknownDecision, "3"),
        (lambda s: s.tell(s.first.id, 1.5), fb.InputError, r"\[0, 1\]"),
        (lambda s: s.observe(("new", [0, 0]), "large", 2.0), fb.InputError, r"\[0, 1\]"),
        (lambda s: s.observe(("new", [0, 0]), "large", 1.0, id=""), fb.InputError, "1 to 200"),
        (lambda s: s.observe(("new", [0]), "large", 1.0), fb.InputError, "2 features"),
        (lambda s: s.pause("nobody"), fb.InputError, "nobody"),
        (lambda s: s.pending, fb.InputError, r"explain\(\) counts"),
        (copy.deepcopy, TypeError, "open it again"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(call, kind, words):
    with routes("memory:") as session:
        session.first = session.ask(QUERY)
        before = session._dumped()
        with pytest.raises(kind, match=words):
            call(session)
        assert session._dumped() == before and len(session.store.read("routes")) == 2


def test_a_session_of_another_kind_or_with_other_settings_is_a_conflict(address):
    routes(address).close()
    fb.Session(ROUTED, 0.05, store=address, name="plain").close()
    with pytest.raises(fb.Conflict, match="looks at queries: it is a ContextualSession"):
        fb.Session(ROUTED, 0.05, store=address, name="routes")
    with pytest.raises(fb.Conflict, match="looks at no query: it is a Session"):
        routes(address, name="plain")
    with pytest.raises(fb.Conflict, match=r"with context .*'features': 2.*, not .*'features': 3"):
        routes(address, context=fb.Segments(["easy", "hard"]) + fb.Features(3))
    with open_store(address) as store:
        kinds = {name: type(open_session(store, name)) for name in ("routes", "plain")}
        assert kinds == {"routes": StoredContextualSession, "plain": StoredSession}
        with pytest.raises(fb.UnknownSession, match="'nobody'"):
            open_session(store, "nobody")
        with pytest.raises(fb.Conflict, match="looks at queries"):
            StoredSession.open(store, "routes")


def test_a_policy_that_cannot_be_shared_is_refused_before_anything_is_written(address):
    class Own(fb.DualCOF):
        """One that no registry knows."""

    class Alone(Own):
        """One that cannot count what others decide."""

        count = None

    for policy, words in ((Own(), "Own"), (Alone(), "in one process only")):
        with pytest.raises(fb.InputError, match=words):
            routes(address, policy=policy)
    with open_store(address) as store:
        assert "routes" not in store.sessions()


def test_a_session_of_its_own_can_be_made_of_it_and_the_other_way_round(address):
    plain = fb.ContextualSession(ROUTED, 0.05, CONTEXT, seed=0, time_to_live=3_600)
    routed(plain, 40, seed=1, told=0.5)
    with open_store(address) as store:
        session, new = keep_session(store, "copied", plain)
        assert new and session.explain().pending == 0
        assert session.explain().spent == pytest.approx(plain.explain().spent)
        routed(session, 20, seed=2, told=0.5)
        back = fb.ContextualSession.from_json(session.to_json())
        assert back.decisions == 60 and back.pending == {}
        assert back.explain().options == session.explain().options
        session.close()
        keeping.keeper_of(store).close()


def test_after_its_time_to_live_a_decision_is_nobodys_and_is_forgotten(address, clock):
    with routes(address, time_to_live=100) as session:
        early, late = session.ask(QUERY), session.ask(QUERY)
        assert early.expires == clock.now + 100 and session.explain().pending == 2
        clock.now += 99
        session.tell(early.id, 1.0)
        # It was waited for until now, and learned from.
        assert session.explain().pending == 1 and session._state.gram[:, 0, 0].sum() == 1.0
        clock.now += 2
        for call in (lambda: session.tell(late.id, 1.0), lambda: session.forget(early.id)):
            with pytest.raises(fb.Expired, match="handed out 101 s ago, and its time to live is 100 s"):
                call()
        assert "2 times feedback came here" in str(session.explain())
        session.observe(QUERY, "large", 1.0)  # the clock of the log goes on with facts
        assert session.explain().pending == 1  # another worker's clock may be behind
        clock.now += following.AHEAD + 1
        session.observe(QUERY, "large", 1.0)
        assert (session.explain().pending, session.explain().told, session.decisions) == (0, 1, 2)


def test_memory_and_log_stay_small_with_a_time_to_live(address, clock):
    with routes(address, time_to_live=100) as session, routes(address, time_to_live=100) as away:
        keeping.keeper_of(away.store).detach(away)  # it hears of nothing
        for turn in range(120):
            decision = session.ask(QUERY)
            if turn % 2:
                session.tell(decision.id, 1.0)
            clock.now += 20
        session.snapshot()
        assert session.explain().pending < 10 and len(session._dumped()) < 20_000
        assert len(session.store.read("routes")) < 40
        away.catch_up()  # what it has missed has gone
        assert away._dumped() == session._dumped()
    with routes(address, time_to_live=100) as again:
        assert again._dumped() == session._dumped() and again.decisions == 120


def test_pending_decisions_are_in_the_log_and_not_in_memory(address, monkeypatch):
    """Feedback on a decision that left memory long ago teaches as much as any other."""
    monkeypatch.setattr(contextual_folding, "RECENT", 5)
    with routes(address) as session:
        first = [session.ask(QUERY, metadata={"n": number}) for number in range(8)]
        session.snapshot()
        size = len(session.store.latest("routes").state)
        drafts = [session.draft_ask(QUERY)[1][0] for _ in range(300)]
        session.store.append("routes", drafts)
        session.snapshot()
        assert session.explain().pending == 308
        assert len(session._recent) == 5 and not session._waiters and not session._pending
        assert len(session.store.latest("routes").state) < size + 400
        assert session.metadata(first[0].id) == {"n": 0}
        heard = session._state.gram[:, 0, 0].sum()
        session.tell(first[0].id, 1.0, cost=0.5)
        session.forget(first[1].id)
        assert session.explain().told == 1 and session.explain().pending == 306
        assert session._state.gram[:, 0, 0].sum() == heard + 1
        dumped = session._dumped()
    with routes(address) as again:
        assert again._dumped() == dumped
        again.tell(first[2].id, 1.0)
        assert again._state.gram[:, 0, 0].sum() == heard + 2


def test_accounts_of_segments_are_bounded(address):
    context = fb.Segments(["easy"], most=5)
    plain = fb.ContextualSession(ROUTED, 0.05, context, seed=0)
    with fb.ContextualSession(ROUTED, 0.05, context, store="memory:", name="many") as kept:
        for session in (plain, kept):
            for number in range(40):
                decision = session.ask(f"customer {number}")
                session.tell(decision.id, 1.0, cost=1.0)
            found = session.explain()
            assert len(found.segments) == 5 and sum(each.decisions for each in found.segments) == 40
            assert sum(each.told for each in found.segments) == 40
            assert sum(each.spent for each in found.segments) == pytest.approx(40.0)
            assert found.segments[0].name == "(all other segments)"
            again = fb.ContextualSession.from_json(session.to_json())
            assert again.explain().segments == found.segments
    # Earlier releases kept all of them: what is beyond the limit is added up when it is read.
    data = json.loads(plain.to_json())
    rest = next(row for row in data["by_segment"] if row[0] == "")
    data["by_segment"].remove(rest)
    one, two = list(rest[7].items())[:1][0], rest[1]
    assert one[1] <= two
    data["by_segment"] += [[f"old {n}", 1, 1, 1.0, 1.0, 0.0, 0, {one[0]: 1}] for n in range(two)]
    del data["checksum"]
    old = fb.ContextualSession.from_json(json.dumps({**data, "checksum": checksum(data)}))
    assert len(old._segments) == 5 and old._segments[""].decisions == two


def test_a_snapshot_of_format_1_is_read():
    golden = json.loads((GOLDEN / "contextual-replica-v1.json").read_text())
    with open_store("memory:") as store:
        store.append(following.SERVER, [Fact(*row) for row in golden["server"]])
        store.append("routes", [Fact(*row[1:]) for row in golden["log"]])
        store.snapshot("routes", golden["upto"], golden["snapshot"])
        session = open_session(store, "routes")
        found = json.loads(json.dumps(session.explain().to_dict()))
        assert {key: found[key] for key in golden["explained"]} == golden["explained"]
        for id_ in golden["waiting"]:
            assert "n" in session.metadata(id_)
            session.tell(id_, 1.0)
        assert session.explain().pending == 0
        assert json.loads(session.to_json())["state"] == golden["state"]
        session.close()
        keeping.keeper_of(store).close()


def test_a_snapshot_that_is_damaged_is_refused_in_words(address):
    with routes(address) as session:
        session.ask(QUERY)
        good = json.loads(session._dumped())
        for wrong, words in (
            ({**good, "format": "other"}, "is not of the format"),
            ({**good, "version": 9}, "written by a later release"),
            ({**good, "pending": {"open": [[0, -1]], "ended": 0}}, "damaged"),
            ({**good, "session": "{}"}, "not"),
        ):
            with pytest.raises(fb.StateFormatError, match=words):
                session._restore(json.dumps(wrong))


def test_threads_ask_and_tell_at_once_and_all_counts_once(address):
    with routes(address) as one, routes(address) as two:

        def work(place):
            session, other = (one, two) if place % 2 else (two, one)
            for _ in range(5):
                decision = session.ask(QUERY)
                other.tell(decision.id, 1.0)
                session.tell(decision.id, 1.0)

        assert in_threads(4, work) == [None] * 4
        for session in (one, two):
            session.catch_up()
        assert one._dumped() == two._dumped() and one.explain().told == one.decisions == 20


def test_two_that_do_not_know_of_each_other_hear_of_what_the_other_did(address):
    with routes(address) as one, routes(address) as two:
        decision = one.ask(QUERY)
        two.tell(decision.id, 1.0)
        eventually(lambda: one.explain().told == 1)
        one.add("new", 0.1)
        decision = one.ask(QUERY, among=["new"])
        assert two.option_of(decision.id) == "new"  # an option that it may not have heard of
        assert two.ask(QUERY, after=decision.id).option == "new"


OPERATIONS = st.sampled_from(
    ["ask"] * 6 + ["tell"] * 4 + ["bill", "forget", "observe", "change", "read", "read", "snapshot", "open"]
)
_numbers = itertools.count()


@settings(max_examples=20, deadline=None)
@given(
    data=st.data(), bar=st.sampled_from(["relative-to-best:0.05", "relative-to:large:0.1", "at-least:0.9"])
)
def test_whoever_has_read_as_far_has_the_same_state_to_the_last_bit(shared, data, bar):
    """Two workers that read now and then, and one that reads everything at the end."""
    name = f"fold-{next(_numbers)}"

    routes(shared, name=name, alpha=None, quality=bar, memory=40).close()

    def opened():
        found = open_session(shared, name)
        keeping.keeper_of(shared).detach(found)  # it reads when it is told to, and at no other time
        return found

    workers, ids, told = [opened(), opened()], [], {}
    rng = np.random.default_rng(data.draw(st.integers(0, 1_000)))
    for operation in data.draw(st.lists(OPERATIONS, min_size=10, max_size=60)):
        place = int(rng.integers(2))
        worker = workers[place]
        query = (("easy", "hard", "new", "newer")[rng.integers(4)], rng.normal(size=2))
        try:
            if operation == "ask":
                costs = {"large": float(rng.integers(1, 9))} if rng.random() < 0.3 else None
                ids.append(worker.ask(query, costs=costs, metadata={"n": len(ids)}).id)
            elif operation in ("tell", "bill", "forget") and ids:
                id_ = ids[rng.integers(len(ids))]
                if operation == "tell" and told.get(id_) != "forgotten":
                    worker.tell(id_, told.setdefault(id_, float(rng.random() < 0.5)))
                elif operation == "bill":
                    worker.tell(id_, cost=0.25)
                elif operation == "forget" and told.get(id_, "forgotten") == "forgotten":
                    worker.forget(id_)
                    told[id_] = "forgotten"
            elif operation == "observe":
                worker.observe(query, "large", 1.0)
            elif operation == "change":
                change = ("pause", "resume", "set_cost", "retire", "add")[rng.integers(5)]
                what = "extra" if change == "add" else "medium"
                getattr(worker, change)(
                    what, *([float(rng.integers(1, 5))] if "set" in change or "add" in change else [])
                )
            elif operation == "read":
                worker.catch_up()
            elif operation == "snapshot":
                worker.snapshot()
            elif operation == "open":
                workers[place] = opened()
        except fb.InputError as error:
            assert operation == "change" or "retired" in str(error), error
    for worker in workers:
        worker.catch_up()
    one, other = workers
    assert one._dumped() == other._dumped()
    assert one.decisions == len(ids)
    assert one.explain().told == sum(each != "forgotten" for each in told.values())
    with open_store("memory:") as fresh:
        for entry in shared.read(name):
            fresh.append(name, [entry.fact])
        assert open_session(fresh, name)._dumped() == one._dumped()
        keeping.keeper_of(fresh).close()
