"""A random life of a session, with every call there is, against a plain model; stored now and then."""

from __future__ import annotations

import json

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import frugalbandits as fb
from frugalbandits.core.registry import policies, resolve
from moving_harness import COSTS, Clock, Model, again, moving

REWARDS = st.sampled_from([0.0, 0.25, 0.5, 1.0])
BILLS = st.sampled_from([0.0, 0.125, 0.375, 1.5, 7.0])
PRICES = st.sampled_from([0.0625, 0.25, 0.5, 1.0, 4.0])


#: One of each kind: variants of COF differ in what they plan, not in what is counted.
KINDS = [name for name in policies() if not name.startswith("cof-no")]


class Life(RuleBasedStateMachine):
    """One session that lives on, and one that is stored and read back at every third call."""

    policy = "voi-cs"

    @initialize(
        ttl=st.sampled_from([None, 30.0]), learns=st.booleans(), memory=st.sampled_from(["auto", None])
    )
    def begin(self, ttl, learns, memory):
        learns = learns and resolve(self.policy).learns_costs
        self.clock, self.ttl = Clock(), ttl
        self.sessions = [
            moving(self.policy, clock=self.clock, time_to_live=ttl, learn_costs=learns, memory=memory)
            for _ in range(2)
        ]
        self.model = Model(COSTS, learns)
        self.names = self.calls = 0

    def both(self, call):
        self.calls += 1
        if self.calls % 3 == 0:
            self.sessions[1] = again(self.sessions[1])
        one, other = (call(session) for session in self.sessions)
        assert one == other
        assert self.sessions[0].to_json() == self.sessions[1].to_json()
        return one

    def refused(self, call, kind=fb.InputError):
        for session in self.sessions:
            before = session.to_json()
            with pytest.raises(kind) as caught:
                call(session)
            if caught.type is not fb.Expired:  # which is counted
                assert session.to_json() == before

    @rule(count=st.integers(1, 6))
    def ask(self, count):
        if not self.model.usable():
            self.refused(lambda s: s.ask())
            return
        for decision in self.both(lambda s: s.ask(count)):
            assert decision.option in self.model.usable()
            self.model.ask(decision.id, decision.option, self.clock.now)

    @rule(data=st.data(), outside=st.booleans())
    def ask_among(self, data, outside):
        some = data.draw(st.sets(st.sampled_from(sorted(self.model.prices))))
        wish = {"exclude": some} if outside else {"among": some}
        usable = self.model.usable(**wish)
        if not usable:
            self.refused(lambda s: s.ask(**wish))
            return
        decision = self.both(lambda s: s.ask(**wish))
        assert decision.option in usable and decision.reason
        self.model.ask(decision.id, decision.option, self.clock.now)

    @precondition(lambda self: self.model.option and self.model.usable())
    @rule(data=st.data())
    def ask_after(self, data):
        id_ = data.draw(st.sampled_from(sorted(self.model.option)))
        decision = self.both(lambda s: s.ask(after=id_))
        if self.model.pending.get(id_) in self.model.usable():
            assert decision.option == self.model.pending[id_]
        self.model.ask(decision.id, decision.option, self.clock.now)

    @precondition(lambda self: self.model.option)
    @rule(data=st.data(), reward=st.none() | REWARDS, cost=st.none() | BILLS)
    def tell(self, data, reward, cost):
        id_ = data.draw(st.sampled_from(sorted(self.model.option)))
        model = self.model

        def call(session):
            session.tell(id_, reward, cost)

        waits = reward is None or id_ in model.pending
        billable = cost is None or (id_ in model.pending and id_ not in model.billed) or id_ in model.owed
        if (reward is None and cost is None) or not (waits and billable):
            self.refused(call)
            return
        self.both(call)
        model.tell(id_, reward, cost)

    @precondition(lambda self: self.model.pending)
    @rule(data=st.data())
    def forget(self, data):
        id_ = data.draw(st.sampled_from(sorted(self.model.pending)))
        self.both(lambda s: s.forget(id_))
        self.model.lose(id_)
        self.refused(lambda s: s.forget(id_), fb.ToldBefore)

    @rule(data=st.data(), reward=REWARDS, cost=st.none() | BILLS)
    def observe(self, data, reward, cost):
        name = data.draw(st.sampled_from(sorted(self.model.prices)))
        self.both(lambda s: s.observe(name, reward, cost))
        self.model.rewards[name].append(reward)
        self.model.spent[name] += 0 if cost is None else cost

    @rule(data=st.data(), price=PRICES)
    def set_cost(self, data, price):
        name = data.draw(st.sampled_from(sorted(self.model.prices)))
        if self.model.standing[name] == "retired":
            self.refused(lambda s: s.set_cost(name, price))
            return
        self.both(lambda s: s.set_cost(name, price))
        self.model.prices[name] = price

    @precondition(lambda self: self.names < 4)
    @rule(price=PRICES)
    def add(self, price):
        self.names += 1
        self.both(lambda s: s.add(f"new{self.names}", price))
        self.model.add(f"new{self.names}", price)
        self.refused(lambda s: s.add(f"new{self.names}", price))

    @rule(data=st.data(), what=st.sampled_from(["pause", "resume", "retire"]))
    def stand(self, data, what):
        name = data.draw(st.sampled_from(sorted(self.model.prices)))
        standing = self.model.standing
        last = what == "retire" and list(standing.values()).count("retired") == len(standing) - 1
        if standing[name] == "retired" or last:
            self.refused(lambda s: getattr(s, what)(name))
            return
        self.both(lambda s: getattr(s, what)(name))
        standing[name] = {"pause": "paused", "resume": "active", "retire": "retired"}[what]

    @precondition(lambda self: self.ttl is not None)
    @rule(seconds=st.sampled_from([1.0, 10.0, 31.0]))
    def wait(self, seconds):
        self.clock.now += seconds
        for id_ in [id_ for id_ in self.model.born if self.clock.now - self.model.born[id_] > self.ttl]:
            if id_ in self.model.pending:
                self.model.lose(id_)
            self.model.owed.discard(id_)
        self.both(lambda s: s.pending)  # which sweeps

    @rule()
    def look(self):
        one, other = (session.explain() for session in self.sessions)
        assert str(one) == str(other) and json.loads(json.dumps(one.to_dict()))
        assert str(self.sessions[0].changes()) == str(self.sessions[1].changes())

    @invariant()
    def all_is_counted(self):
        if not hasattr(self, "model"):
            return
        session, model = self.sessions[0], self.model
        explanation = session.explain()
        # Whoever looks notices the time.
        assert session.pending == self.sessions[1].pending == model.pending
        reports = (*explanation.arms, *explanation.retired)
        assert sorted(report.name for report in reports) == sorted(model.prices)
        for report in reports:
            name = report.name
            assert report.standing == model.standing[name] and report.cost == model.prices[name]
            assert report.decisions == model.asked[name]
            assert report.pulls == len(model.rewards[name])
            assert report.pending == list(model.pending.values()).count(name)
            assert report.spent == pytest.approx(float(model.spent[name]), abs=1e-9)
        tally = session._state.tally
        by_name = {name: rank for rank, name in enumerate(session._by_rank)}
        for name, rank in by_name.items():
            assert tally.sums[rank] == float(sum(model.rewards[name]))
            assert tally.lost[rank] == model.lost[name]
        costs = [model.prices[name] for name in session._by_rank]
        assert costs == sorted(costs)
        if hasattr(session._state, "usable"):
            usable = [model.standing[name] == "active" for name in session._by_rank]
            assert session._state.usable.tolist() == usable


@pytest.mark.parametrize("name", KINDS)
def test_a_life_of_a_session(name):
    kind = type(f"Life{name}", (Life,), {"policy": name})
    run_state_machine_as_test(kind)


@pytest.mark.parametrize("name", KINDS)
def test_reasons_are_the_same_after_a_restart_when_one_option_is_left(name):
    session = moving(name, {"small": 0.5, "large": 3.0})
    session.retire("large")
    stored = again(session)
    for _ in range(5):
        assert session.ask() == stored.ask()
        stored = again(stored)
