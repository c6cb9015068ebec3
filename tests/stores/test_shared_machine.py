"""Several workers share a session: whatever they do, and whoever dies, they come to agree with the log."""

from __future__ import annotations

import time
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import frugalbandits as fb
from frugalbandits.stores import keeping, open_session, open_store
from frugalbandits.stores.following import SERVER
from frugalbandits.stores.session import StoredSession

REWARDS = st.sampled_from([0.0, 1.0, 0.1, 1 / 3, 0.7, 2.0**-12])
BILLS = st.sampled_from([0.0, 0.25, 0.1, 1.7])
PRICES = st.sampled_from([0.1, 0.2, 0.5, 1.0, 3.0])
WORKERS = st.integers(0, 2)


CLOCK = SimpleNamespace(now=1e9)


@pytest.fixture(autouse=True)
def _the_machine_says_when(monkeypatch):
    """Have time pass when the machine says so, and keepers say nothing by themselves."""
    clock = SimpleNamespace(time=lambda: CLOCK.now, monotonic=time.monotonic)
    for module in ("core.session.handing", "stores.session", "stores.following"):
        monkeypatch.setattr(f"frugalbandits.{module}.time", clock)
    monkeypatch.setattr(keeping, "EVERY", 1e6)


class Shared(RuleBasedStateMachine):
    """Three workers, a clock, and plain counts of what was told."""

    @initialize(
        lives=st.sampled_from([None, 60.0]),
        learns=st.booleans(),
        policy=st.sampled_from(["voi-cs", "glr-cof", "ts-cs"]),
    )
    def begin(self, lives, learns, policy):
        CLOCK.now = 1e9
        self.store = open_store("memory:")
        self.lives = lives
        self.settings = {
            "costs": {"a": 0.2, "b": 1.0, "c": 3.0},
            "alpha": 0.1,
            "policy": policy,
            "learn_costs": learns and policy == "voi-cs",
            "time_to_live": lives,
        }
        self.prices = {"a": 0.2, "b": 1.0, "c": 3.0}
        self.retired = set()
        self.paused = set()
        self.pulls, self.sums = Counter(), Counter()
        self.issued = {}  # id: option, price, time
        self.told, self.billed = {}, {}
        self.forgotten = set()
        self.extra = Fraction(0)
        self.observed = Counter()
        self.crashed = self.expired = False
        self.added = 0
        self.workers = [self.join() for _ in range(3)]

    def join(self):
        """Open the session with the price list of today; a list needs two options."""
        today = {name: price for name, price in self.prices.items() if name not in self.retired}
        if len(today) < 2:
            return open_session(self.store, "shop")
        return fb.Session(**{**self.settings, "costs": today}, store=self.store, name="shop")

    def teardown(self):
        for worker in getattr(self, "workers", ()):
            worker.close()
        if hasattr(self, "store"):
            keeping.keeper_of(self.store).close()
            self.store.close()

    def usable(self):
        return sorted(set(self.prices) - self.retired - self.paused)

    def fresh(self, id_):
        return self.lives is None or CLOCK.now - self.issued[id_][2] <= self.lives

    @rule(worker=WORKERS, count=st.integers(1, 5))
    def ask(self, worker, count):
        if not self.usable():
            with pytest.raises(fb.InputError):
                self.workers[worker].ask()
            return
        for decision in self.workers[worker].ask(count):
            assert decision.option in self.usable()
            self.issued[decision.id] = decision.option, self.prices[decision.option], CLOCK.now

    @precondition(lambda self: self.usable())
    @rule(worker=WORKERS, data=st.data())
    def ask_for_one(self, worker, data):
        option = data.draw(st.sampled_from(self.usable()))
        decision = self.workers[worker].ask(among=[option], metadata={"n": len(self.issued)})
        assert decision.option == option
        assert self.workers[(worker + 1) % 3].metadata(decision.id) == {"n": len(self.issued)}
        self.issued[decision.id] = option, self.prices[option], CLOCK.now

    @precondition(lambda self: self.issued)
    @rule(worker=WORKERS, data=st.data(), reward=st.none() | REWARDS, cost=st.none() | BILLS)
    def tell(self, worker, data, reward, cost):
        id_ = data.draw(st.sampled_from(sorted(self.issued)))
        option, _, _ = self.issued[id_]
        session = self.workers[worker]
        if reward is None and cost is None:
            with pytest.raises(fb.InputError):
                session.tell(id_)
            return
        if not self.fresh(id_):
            with pytest.raises(fb.Expired):
                session.tell(id_, reward, cost)
            return
        otherwise = (reward is not None and self.told.get(id_, reward) != reward) or (
            cost is not None and self.billed.get(id_, cost) != cost
        )
        if otherwise or (reward is not None and id_ in self.forgotten):
            with pytest.raises(fb.Conflict):
                session.tell(id_, reward, cost)
            return
        session.tell(id_, reward, cost)
        if reward is not None and id_ not in self.told:
            self.told[id_] = reward
            self.pulls[option] += 1
            self.sums[option] += Fraction(reward)
        if cost is not None:
            self.billed[id_] = cost

    @precondition(lambda self: self.issued)
    @rule(worker=WORKERS, data=st.data())
    def forget(self, worker, data):
        id_ = data.draw(st.sampled_from(sorted(self.issued)))
        if not self.fresh(id_):
            with pytest.raises(fb.Expired):
                self.workers[worker].forget(id_)
        elif id_ in self.told:
            with pytest.raises(fb.Conflict):
                self.workers[worker].forget(id_)
        else:
            self.workers[worker].forget(id_)
            self.forgotten.add(id_)

    @rule(worker=WORKERS, data=st.data(), reward=REWARDS, cost=st.none() | BILLS, twice=st.booleans())
    def observe(self, worker, data, reward, cost, twice):
        option = data.draw(st.sampled_from(sorted(self.prices)))
        name = f"{len(self.issued)}-{sum(self.observed.values())}" if twice else None
        for _ in range(1 + twice):
            self.workers[worker].observe(option, reward, cost, id=name)
        self.pulls[option] += 1
        self.observed[option] += 1
        self.sums[option] += Fraction(reward)
        self.extra += Fraction(cost or 0.0)

    @rule(worker=WORKERS, data=st.data(), price=PRICES)
    def set_cost(self, worker, data, price):
        option = data.draw(st.sampled_from(sorted(set(self.prices) - self.retired)))
        self.workers[worker].set_cost(option, price)
        self.prices[option] = price

    @precondition(lambda self: self.added < 3)
    @rule(worker=WORKERS, price=PRICES)
    def add(self, worker, price):
        self.added += 1
        self.workers[worker].add(f"new{self.added}", price)
        self.prices[f"new{self.added}"] = price

    @rule(worker=WORKERS, data=st.data(), pause=st.booleans())
    def pause_or_resume(self, worker, data, pause):
        option = data.draw(st.sampled_from(sorted(set(self.prices) - self.retired)))
        session = self.workers[worker]
        (session.pause if pause else session.resume)(option)
        (self.paused.add if pause else self.paused.discard)(option)

    @precondition(lambda self: len(set(self.prices) - self.retired) > 1)
    @rule(worker=WORKERS, data=st.data())
    def retire(self, worker, data):
        option = data.draw(st.sampled_from(sorted(set(self.prices) - self.retired)))
        self.workers[worker].retire(option)
        self.retired.add(option)

    @rule(seconds=st.sampled_from([0.5, 10.0, 70.0]))
    def wait(self, seconds):
        CLOCK.now += seconds

    @rule(worker=WORKERS)
    def flush(self, worker):
        self.workers[worker].flush()

    @rule(worker=WORKERS)
    def snapshot(self, worker):
        self.workers[worker].snapshot()

    @rule(worker=WORKERS)
    def crash(self, worker):
        """A worker is gone, with what it had not said yet, and another one takes its place."""
        self.crashed = self.crashed or bool(self.workers[worker]._unsent)
        keeping.keeper_of(self.store).detach(self.workers[worker])
        self.workers[worker] = self.join()

    @rule()
    def all_quiet(self):
        """Have everything said and read: all agree, bit for bit, and so does whoever comes anew."""
        for worker in self.workers:
            worker.flush()
        newcomer = self.join()
        first, *others = [*self.workers, newcomer]
        for other in others:
            assert other.seen == first.seen
            for option in range(len(first._names)):
                (one, rank), (two, place) = first._home(option), other._home(option)
                for part in range(len(one.tally)):
                    assert one.tally[part][rank] == two.tally[part][place]
            mine, yours = first.explain(), other.explain()
            assert (mine.decisions, mine.spent) == (yours.decisions, pytest.approx(yours.spent))
        newcomer.close()
        if not self.crashed:
            assert first.decisions == len(self.issued)
            unbilled = self.issued.keys() - self.billed.keys()
            by_price = sum(Fraction(self.issued[id_][1]) for id_ in unbilled)
            bills = sum(Fraction(cost) for cost in self.billed.values())
            assert first.explain().spent == pytest.approx(float(by_price + bills + self.extra))

    @invariant()
    def what_was_told_is_counted_once(self):
        for worker in getattr(self, "workers", ()):
            for option, name in enumerate(worker._names):
                state, rank = worker._home(option)
                tally = state.tally
                assert tally.pulls[rank] == self.pulls[name]
                assert tally.sums[rank] == float(self.sums[name])
                assert tally.pending[rank] >= 0 and tally.lost[rank] >= 0
                handed_out = worker._asked[option] + worker._observed[option]
                assert tally.pulls[rank] + tally.pending[rank] + tally.lost[rank] == handed_out
                assert tally.pending[rank] == worker._counts.waiting(option)

    @invariant()
    def a_session_of_its_own_has_the_same(self):
        for worker in getattr(self, "workers", ())[:1]:
            plain = fb.Session.from_json(worker.to_json())
            assert plain.explain().spent == pytest.approx(worker.explain().spent)
            assert plain.decisions == worker.decisions
            assert [arm.pulls for arm in plain.explain().arms] == [arm.pulls for arm in worker.explain().arms]


TestShared = Shared.TestCase
TestShared.settings = settings(stateful_step_count=20)


def test_the_log_of_the_server_is_no_session():
    store = open_store("memory:")
    with pytest.raises(fb.InputError, match=r"begins with a letter"):
        StoredSession.open(store, SERVER)
