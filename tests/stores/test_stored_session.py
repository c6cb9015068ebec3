"""A session in a store: what a user of the library sees of it."""

from __future__ import annotations

import copy
import pickle
import threading
import time

import pytest

import frugalbandits as fb
from frugalbandits.stores import keeping, open_store
from frugalbandits.stores.session import StoredSession
from store_harness import told_again

COSTS = {"small": 0.2, "medium": 1.0, "large": 3.0}


def shop(store, **settings):
    return fb.Session(**{"costs": COSTS, "alpha": 0.1, "store": store, "name": "shop", **settings})


def until(true, seconds=20.0):
    """Wait until something is so; the test fails if it does not come."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.01)


def test_who_opens_it_again_goes_on_with_it(address):
    with shop(address) as session:
        for _ in range(20):
            session.tell(session.ask().id, 1.0, cost=0.3)
        last = session.ask()
        session.set_cost("large", 2.0)
        session.observe("medium", 0.5)
        before = session.explain()
    with shop(address, costs={**COSTS, "large": 2.0}) as session:
        assert isinstance(session, StoredSession) and isinstance(session, fb.Session)
        assert session.explain() == before
        assert [change.kind for change in session.changes()] == ["price"]
        session.tell(last.id, 0.0)
        assert session.explain().arms[0].pulls == 21
        assert session.option_of(last.id) == last.option
    assert repr(session) == f"Session('voi-cs', 3 options, 21 decisions, 'shop' in {address})"


def test_what_was_told_is_there_without_any_goodbye(address):
    session = shop(address)
    decision = session.ask()
    session.tell(decision.id, 1.0)
    # Nothing is closed: another one opens the same file.
    with shop(address) as other:
        assert other.explain().arms[0].pulls == 1
        assert other.decisions == 1
    session.close()


@pytest.mark.parametrize("snapshot", [False, True])
def test_the_same_again_is_the_same_and_another_is_a_conflict(address, snapshot):
    with shop(address) as session:
        one, two, three = session.ask(3, among=["small"])
        session.tell(one.id, 1.0, cost=0.5)
        session.forget(two.id)
        if snapshot:
            session.snapshot()
    with shop(address) as session:
        told_again(session, one.id, two.id, three.id, lambda: session.explain())
        with pytest.raises(fb.ToldBefore, match="stands twice"):
            session.tell_many([(three.id, 1.0), (three.id, 1.0)])
        session.tell_many({three.id: {"reward": 1.0, "cost": 0.1}})
        assert session.explain().spent == pytest.approx(0.2 + 0.5 + 0.1)


def test_another_session_of_the_name_is_a_conflict_that_names_what_differs(address):
    shop(address).close()
    with pytest.raises(fb.Conflict, match=r"'shop' exists, with quality .*0\.1.*, not .*0\.2"):
        shop(address, alpha=0.2)
    with pytest.raises(fb.Conflict, match="options"):
        shop(address, costs={**COSTS, "large": 4.0})
    shop(address, alpha=0.2, name="other").close()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"name": "../etc"}, "begins with a letter or a digit, but it is '../etc'"),
        ({"name": "x" * 10_000}, "of 10,002 characters"),
        ({"name": "<b>"}, "<b>"),
        ({"name": ""}, "''"),
        ({"name": 3}, "but it is 3"),
        ({"store": 3}, "an address or a store, but it is 3"),
        ({"store": "mysql://x"}, "mysql"),
        ({"alpha": 2.0}, "alpha"),
        ({"costs": {"a": 1.0}}, "two"),
    ],
)
def test_bad_input_is_named_and_leaves_nothing(address, settings, words):
    with pytest.raises(fb.InputError, match=words):
        shop(**{"store": address, **settings})
    with open_store(address) as store:
        assert "shop" not in store.sessions()


def test_a_policy_that_others_cannot_read_is_refused_before_anything_is_written(address):
    class Own(fb.UCBCS):
        """One that no registry knows."""

    with pytest.raises(fb.InputError, match="Own"):
        shop(address, policy=Own(), horizon=1_000, memory=None)
    with open_store(address) as store:
        assert "shop" not in store.sessions()


def test_it_is_not_copied_and_keeps_no_list_of_ids(address):
    with shop(address) as session:
        for make in (copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="open it again"):
                make(session)
        with pytest.raises(fb.InputError, match="explain"):
            _ = session.pending
        decision = session.ask(metadata={"customer": 7})
        assert session.metadata(decision.id) == {"customer": 7}
        with pytest.raises(fb.InputError, match="512 bytes"):
            session.ask(metadata="x" * 600)
        assert session.ask(after=decision.id).option == decision.option
        with pytest.raises(fb.UnknownDecision):
            session.ask(after=3)


def test_a_session_of_its_own_can_be_made_of_it_and_the_other_way_round(address):
    plain = fb.Session(COSTS, alpha=0.1, time_to_live=3_600)
    for decision in plain.ask(40):
        if decision.id % 3:
            plain.tell(decision.id, 1.0, cost=0.1 * (decision.id % 4))
    plain.set_cost("large", 2.5)
    with open_store(address) as store:
        session, new = StoredSession.create(store, "copied", plain)
        assert new
        assert session.explain().spent == pytest.approx(plain.explain().spent)
        assert [arm.always for arm in session.explain().arms] == pytest.approx(
            [arm.always for arm in plain.explain().arms]
        )
        assert sum(arm.pending for arm in session.explain().arms) == 0
        for _ in range(30):
            session.tell(session.ask().id, 1.0)
        back = fb.Session.from_json(session.to_json())
        assert back.decisions == 70
        assert back.explain().spent == pytest.approx(session.explain().spent)
        back.tell(back.ask().id, 1.0)
        session.close()
        keeping.keeper_of(store).close()


def test_two_that_do_not_know_of_each_other_learn_what_the_other_was_told(address):
    with shop(address) as one, shop(address) as two:
        for _ in range(10):
            two.tell(one.ask(among=["small"]).id, 1.0)
        until(lambda: one.explain().arms[0].pulls == 10)
        until(lambda: one.decisions == two.decisions == 10)
        one.pause("small")
        until(lambda: two.ask().option != "small")
        one.add("new", 0.1)
        decision = one.ask(among=["new"])
        two.tell(decision.id, 0.5)  # an option that it may not have heard of
        assert two.explain().arms[0].pulls == 1


def test_changes_that_exclude_each_other_are_not_both_made(address):
    with shop(address) as one, shop(address) as two:
        keeper = keeping.keeper_of(two.store)
        keeper.detach(two)  # it hears of nothing for a while
        one.retire("small")
        one.retire("medium")
        with pytest.raises(fb.InputError, match="last option"):
            two.settle(two.store.append("shop", two.draft_change("retire", "large")))
            two.catch_up()
            two.settle(two.store.append("shop", []))
            raise two._refused[max(two._refused)]
        assert [arm.name for arm in one.explain().arms] == ["large"]
        keeper.attach(two)


def test_a_change_that_changes_nothing_is_no_fact(address):
    with shop(address) as session:
        before = session.seen
        session.set_cost("large", 3.0)
        session.resume("small")
        assert session.seen == before
        with pytest.raises(fb.InputError, match="nobody"):
            session.pause("nobody")
        with pytest.raises(fb.InputError, match="-1"):
            session.set_cost("small", -1)
        assert session.seen == before


def test_after_its_time_to_live_a_decision_is_nobodys_and_is_forgotten(address, clock):
    with shop(address, time_to_live=100) as session:
        early, late = session.ask(2)
        assert early.expires == clock.now + 100
        session.flush()
        clock.now += 99
        session.tell(early.id, 1.0)
        clock.now += 2
        for call in (lambda: session.tell(late.id, 1.0), lambda: session.forget(early.id)):
            with pytest.raises(fb.Expired, match="handed out 101 s ago, and its time to live is 100 s"):
                call()
        assert session.explain().arms[0].pending == 1
        clock.now += 20
        session.observe("large", 1.0)  # the clock of the log goes on with facts
        report = session.explain().arms[0]
        assert (report.pending, report.pulls, report.decisions) == (0, 1, 2)


def test_memory_and_log_stay_small_with_a_time_to_live(address, clock):
    with shop(address, time_to_live=100) as session:
        for turn in range(300):
            session.set_cost("large", 3.0 + turn % 7)
            for decision in session.ask(5)[:2]:
                session.tell(decision.id, 1.0)
            session.flush()
            clock.now += 20
        session.snapshot()
        assert len(session._counts.cells) < 20
        assert len(session._money.epochs) < 30
        entries = session.store.read("shop")
        assert len([entry for entry in entries if entry.fact.kind != "change"]) < 100
        spent, decisions = session.explain().spent, session.decisions
    with shop(address, costs={**COSTS, "large": 3.0 + 299 % 7}, time_to_live=100) as session:
        assert (
            (session.explain().spent, session.decisions)
            == (pytest.approx(spent), 1_500)
            == (spent, decisions)
        )


def test_a_clock_that_jumps_back_loses_nothing(address, clock):
    with shop(address, time_to_live=100) as session:
        before = session.ask()
        clock.now -= 86_400
        after = session.ask()
        session.tell(before.id, 1.0)
        session.tell(after.id, 1.0)
        session.flush()
        assert session.explain().arms[0].pulls == 2
    with shop(address, time_to_live=100) as session:
        assert session.explain().arms[0].pulls == 2
        again = session.ask()
        session.tell(again.id, 1.0)
        assert session.explain().arms[0].pulls == 3


def test_a_worker_that_died_before_it_said_what_it_handed_out(address):
    session = shop(address)
    lost = session.ask(10, among=["small"])
    keeping.keeper_of(session.store).detach(session)  # killed: its counts are gone
    session.store.close()
    with shop(address) as other:
        assert other.decisions == 0
        for decision in lost[:4]:
            other.tell(decision.id, 1.0)
        assert other.decisions == 4
        assert other.explain().spent == pytest.approx(0.8)


def test_threads_tell_the_same_at_once_and_it_counts_once(address):
    with shop(address) as one, shop(address) as two:
        decisions = one.ask(50, among=["small"])
        errors = []

        def tell(session):
            try:
                for decision in decisions:
                    session.tell(decision.id, 1.0)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=tell, args=(session,)) for session in (one, two) * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        until(lambda: one.explain().arms[0].pulls == two.explain().arms[0].pulls == 50)


def test_what_is_noticed_by_several_is_one_line(address):
    with (
        shop(address, costs={"small": 0.2, "large": 3.0}) as one,
        shop(address, costs={"small": 0.2, "large": 3.0}) as two,
    ):
        for session in (one, two):
            keeping.keeper_of(session.store).detach(session)  # they read when told to, and at no other time
        for turn in range(1_200):
            session = (one, two)[turn % 2]
            good = turn < 600
            session.tell_many({decision.id: float(good) for decision in session.ask(1, among=["small"])})
            if turn % 10 == 0:
                one.catch_up()
                two.catch_up()
                one.ask()
                two.ask()
        for session in (one, two):
            session.flush()
        one.catch_up()
        two.catch_up()
        alarms = [change for change in one.changes() if change.kind == "alarm"]
        assert len(alarms) == 1 and alarms[0].option == "small"
        assert one.changes()[-1:] == two.changes()[-1:]


def test_a_worker_that_was_away_until_its_facts_had_gone_goes_on_from_a_snapshot(address, clock):
    with shop(address, time_to_live=100) as one, shop(address, time_to_live=100) as two:
        keeper = keeping.keeper_of(two.store)
        keeper.detach(two)  # it hears of nothing
        two.ask(3, among=["small"])
        two.flush()
        two.ask(2, among=["small"])
        for _ in range(20):
            one.tell_many({decision.id: 1.0 for decision in one.ask(3, among=["large"])})
            clock.now += 50
        one.flush()
        one.set_cost("medium", 0.9)
        one.snapshot()
        assert (
            one.store.read("shop", two.seen)[0].seq > two.seen + 1
        )  # what comes next is not there to be read
        two.catch_up()
        assert two.seen == one.seen
        assert two.explain().arms[-1].pulls == 60
        assert two.decisions == one.decisions + 2  # its own that it has not said yet
        two.flush()
        one.catch_up()
        assert two.decisions == one.decisions == 65
        keeper.attach(two)
        one.tell(two.ask(among=["small"]).id, 1.0)
        until(lambda: two.explain().arms[0].pulls == 1)


def test_sessions_that_nobody_has_open_keep_no_keeper_busy(address):
    with shop(address) as session, shop(address, name="other") as other:
        other.close()
        asked = 0
        inside = type(session.store).news

        def news(store, seen, timeout):
            nonlocal asked
            asked += 1
            return inside(store, seen, timeout)

        type(session.store).news = news
        try:
            time.sleep(1.0)
        finally:
            type(session.store).news = inside
        assert asked < 20
