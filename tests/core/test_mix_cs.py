"""MIX-CS: the cheapest mix, the policy beside its plain reference, and the average that it holds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.policies.mix_cs.hull import cheapest_pair
from frugalbandits.core.policies.mix_cs.rule import CHEAP, DEAR, debt_of
from frugalbandits.core.session.stored import checksum
from frugalbandits.core.tally import observe
from harness import MODES, cases, play, pull_from, setting_of
from reference import REFERENCES, mix_cs

MEANS = {"small": 0.6, "mid": 0.7, "large": 0.9}
COSTS = {"small": 0.2, "mid": 1.5, "large": 3.0}
BARS = ["relative-to-best:0.1", "relative-to:large:0.1", "at-least:0.8"]


def arms_of(size):
    level = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
    cost = st.one_of(st.floats(0, 10), st.integers(0, 4).map(float))
    return st.tuples(*(st.lists(each, min_size=size, max_size=size) for each in (level, cost)))


@given(arms=st.integers(1, 9).flatmap(arms_of), bar=st.floats(0, 1))
@example(arms=([0.2, 0.5, 0.5, 0.9], [1.0, 2.0, 2.0, 4.0]), bar=0.5)
@example(arms=([0.0, 0.25, 1.0], [0.0, 0.5, 1.0]), bar=0.25)  # an arm just at the bar, and above the hull
def test_the_cheapest_pair_is_the_cheapest_of_all(arms, bar):
    means, costs = arms
    pair = cheapest_pair(means, costs, [True] * len(means), bar)
    found = mix_cs.cheapest(means, costs, bar)
    assert pair.reached == (found is not None) == (max(means) >= bar)
    if found is None:
        assert means[pair.high] == max(means) and pair.low == pair.high
        return
    assert pair.cost == pytest.approx(found[0], rel=1e-9, abs=1e-9)
    mixed = (1 - pair.share) * costs[pair.low] + pair.share * costs[pair.high]
    assert mixed == pytest.approx(pair.cost, rel=1e-9, abs=1e-9)
    assert 0 <= pair.share <= 1 and means[pair.high] >= bar
    if pair.low != pair.high:
        # At the price of quality, no arm is a better deal than those of the mix.
        deal = costs[pair.high] - pair.slope * means[pair.high]
        assert means[pair.low] < bar and costs[pair.low] < costs[pair.high]
        steep = max(1.0, pair.slope)
        assert all(c - pair.slope * m >= deal - 1e-7 * steep for m, c in zip(means, costs, strict=True))


@given(arms=st.integers(2, 7).flatmap(arms_of), bar=st.floats(0, 1), data=st.data())
def test_what_is_not_usable_is_not_in_the_mix(arms, bar, data):
    means, costs = arms
    usable = data.draw(st.lists(st.booleans(), min_size=len(means), max_size=len(means)).filter(any))
    there = [k for k, each in enumerate(usable) if each]
    pair = cheapest_pair(means, costs, usable, bar)
    assert usable[pair.low] and usable[pair.high]
    alone = cheapest_pair([means[k] for k in there], [costs[k] for k in there], [True] * len(there), bar)
    assert pair.cost == pytest.approx(alone.cost) and pair.reached == alone.reached


@st.composite
def barred(draw):
    """Draw costs, a bar of any kind, horizon and rewards; the bar also as the reference takes it."""
    costs, alpha, horizon, table = draw(cases(horizons=(20, 500)))
    kind = draw(st.sampled_from(["best", "named", "level"]))
    if kind == "best":
        return costs, alpha, {}, alpha, horizon, table
    if kind == "named":
        arm = draw(st.integers(0, len(costs) - 1))
        return costs, fb.RelativeTo(f"a{arm + 1}", alpha), {"reference": arm}, alpha, horizon, table
    level = draw(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])))
    return costs, fb.AtLeast(level), {"level": level}, 0.0, horizon, table


@pytest.mark.parametrize("mode", MODES)
@given(case=barred(), seed=st.integers(0, 2**32 - 1))
def test_policy_equals_reference(mode, case, seed):
    """Pull for pull: both draw the same numbers in the same order."""
    costs, bar, options, alpha, horizon, table = case
    rng, again = (np.random.default_rng(seed) for _ in range(2))
    pulled = play("mix-cs", costs, bar, horizon, pull_from(table), rng=rng, mode=mode)
    expected = REFERENCES["mix-cs"](pull_from(table), costs, alpha, horizon, rng=again, **options)
    assert pulled == expected


def lived(bar, decisions, rng, session=None, judged=1.0, **more):
    """Ask and tell; return the session, and mean cost and true quality of its decisions."""
    session = session or fb.Session(COSTS, quality=bar, over="queries", seed=7, **more)
    asked = dict.fromkeys(COSTS, 0)
    for _ in range(decisions):
        decision = session.ask()
        asked[decision.option] += 1
        if rng.random() < judged:
            session.tell(decision.id, float(rng.random() < MEANS[decision.option]))
        else:
            session.forget(decision.id)
    quality = sum(asked[name] * MEANS[name] for name in asked) / decisions
    cost = sum(asked[name] * COSTS[name] for name in asked) / decisions
    return session, cost, quality


@pytest.mark.parametrize("judged", [1.0, 0.2])
@pytest.mark.parametrize("bar", BARS)
def test_the_average_is_at_the_bar_for_the_price_of_the_mix(bar, judged):
    """Over other seeds its standard deviation is 0.006, or 0.013: less than one false alarm in 100,000."""
    level = 0.81 if "relative" in bar else 0.8
    _, cost, quality = lived(bar, 4_000, np.random.default_rng(1), judged=judged)
    share = (level - 0.6) / 0.3
    mix = 0.2 + share * 2.8  # of small and large: mid is too dear for what it is
    assert abs(quality - level) < (0.03 if judged == 1 else 0.06)
    assert cost < 1.25 * mix < 3.0  # no single option below large is good enough


told = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 40), st.floats(0, 1)), min_size=2, max_size=5
)  # pulls, decisions without feedback, mean


@given(arms=told, bar=st.floats(0, 1))
def test_the_debt_is_what_decisions_lack_to_the_bar(arms, bar):
    """Those that were judged count as they were, the others as their arm's mean, unknown arms not at all."""
    pulls = [float(n) for n, _, _ in arms]
    decided = [float(n + more) for n, more, _ in arms]
    means = [mean for *_, mean in arms]
    rewards = sum((n + more) * mean for n, more, mean in arms if n)
    expected = bar * sum(n + more for n, more, _ in arms if n) - rewards
    assert debt_of(pulls, decided, means, bar) == pytest.approx(expected, abs=1e-9)


def test_in_debt_the_dear_option_is_taken_and_else_the_cheap_one():
    for surplus, what, option in ((-40.0, DEAR, 1), (40.0, CHEAP, 0)):
        state = fb.MixCS().begin(setting_of([1.0, 5.0], fb.AtLeast(0.7), None))
        observe(state, 0, 2_000, 0.5 * 2_000 + surplus)
        observe(state, 1, 2_000, 0.9 * 2_000)
        batch = fb.MixCS.plan(state, np.random.default_rng(0))
        assert (int(state.last[0]), batch.arms.tolist()) == (what, [option])


def test_uses_that_were_no_decisions_do_not_pay_the_debt():
    """Labels of the best option make it known, but the average is over what was decided."""
    rng = np.random.default_rng(3)
    session, _, _ = lived("at-least:0.8", 300, rng, memory=None)
    before = session.explain().mix
    for _ in range(5_000):
        session.observe("large", float(rng.random() < MEANS["large"]))
    after = session.explain().mix
    assert after.shares == before.shares
    assert sum(after.shares.values()) == pytest.approx(1)
    counted = {arm.name: arm.decisions * (0.8 - arm.mean) for arm in session.explain().arms}
    assert after.debt == pytest.approx(sum(counted.values()))
    _, _, quality = lived("at-least:0.8", 2_000, rng, session)
    assert quality > 0.75  # 5,000 rewards of 0.9 would pay for as many decisions for "small"
    again = fb.Session.from_json(session.to_json())
    assert again.explain() == session.explain()


def test_feedback_that_comes_late_is_waited_for_without_running_up_debt():
    rng = np.random.default_rng(4)
    session = fb.Session(COSTS, quality="at-least:0.8", over="queries", seed=2)
    out, asked = [], []
    for _ in range(4_000):
        decision = session.ask()
        out.append(decision)
        asked.append(MEANS[decision.option])
        if len(out) > 500:
            known = out.pop(0)
            session.tell(known.id, float(rng.random() < MEANS[known.option]))
    assert abs(np.mean(asked[1_000:]) - 0.8) < 0.05


def test_a_bar_that_no_option_reaches():
    session, _, quality = lived("at-least:0.97", 2_000, np.random.default_rng(5))
    explanation = session.explain()
    assert quality > 0.85
    assert not explanation.mix.reached and explanation.mix.dear == "large"
    assert "No option seems to reach 0.97: the best one, 'large', is used." in str(explanation)
    assert [arm.status for arm in explanation.arms] == ["looks poor", "looks poor", "best"]


def test_calls_without_the_best_option_are_made_up_for():
    """The bar stays that of all options, so what is lacking is owed."""
    rng = np.random.default_rng(6)
    session, _, _ = lived("relative-to-best:0.1", 2_000, rng, memory=None)
    for _ in range(300):
        decision = session.ask(exclude=["large"])
        assert decision.option != "large"
        session.tell(decision.id, float(rng.random() < MEANS[decision.option]))
    owed = session.explain().mix.debt
    assert owed > 300 * (0.81 - 0.7) / 2
    following = session.ask(50)
    assert sum(decision.option == "large" for decision in following) >= 45


def test_another_price_is_another_mix():
    rng = np.random.default_rng(7)
    session, _, _ = lived("at-least:0.8", 3_000, rng, memory=None)
    assert {session.explain().mix.cheap, session.explain().mix.dear} == {"small", "large"}
    session.set_cost("mid", 0.2)
    session.set_cost("small", 0.19)
    assert {session.explain().mix.cheap, session.explain().mix.dear} == {"mid", "large"}
    session.pause("large")
    assert session.explain().mix.dear == "mid" and not session.explain().mix.reached
    assert session.ask().option != "large"


def test_costs_are_learned():
    rng = np.random.default_rng(8)
    session = fb.Session({"small": 1.0, "large": 1.0}, quality="at-least:0.8", over="queries",
                         seed=1, learn_costs=True)  # fmt: skip
    means, costs = {"small": 0.6, "large": 0.9}, {"small": 0.2, "large": 3.0}
    for _ in range(1_500):
        decision = session.ask()
        reward = float(rng.random() < means[decision.option])
        session.tell(decision.id, reward, cost=costs[decision.option] * rng.uniform(0.5, 1.5))
    mix = session.explain().mix
    assert (mix.cheap, mix.dear) == ("small", "large") and abs(mix.share - 2 / 3) < 0.15


def test_an_option_that_changes_is_noticed():
    rng = np.random.default_rng(9)
    session, _, _ = lived("at-least:0.8", 3_000, rng)
    assert not session.explain().changed
    worse = {**MEANS, "small": 0.2, "mid": 0.85}
    asked = []
    for _ in range(4_000):
        decision = session.ask()
        asked.append(worse[decision.option])
        session.tell(decision.id, float(rng.random() < worse[decision.option]))
    assert any("small" in each for each in session.explain().changed)
    assert np.mean(asked[-1_000:]) > 0.75


def test_feedback_is_wanted_until_an_option_is_known_well():
    state = fb.MixCS().begin(setting_of([1.0, 5.0], fb.AtLeast(0.7), None))
    rng = np.random.default_rng(0)
    for pulls, wanted in ((100, 1), (1_000_000, 0)):
        for arm, mean in ((0, 0.5), (1, 0.9)):
            observe(state, arm, pulls, mean * pulls)
        fb.MixCS.plan(state, rng)
        assert state.wanted[0] == wanted
    relative = fb.MixCS().begin(setting_of([1.0, 5.0], 0.1, None))
    fb.MixCS.plan(relative, rng)
    assert relative.wanted[0] == 1  # a first look


def test_what_an_explanation_says():
    session, _, _ = lived("relative-to:large:0.1", 3_000, np.random.default_rng(10))
    explanation = session.explain()
    mix = explanation.mix
    assert explanation.over == session.over == "queries"
    assert explanation.threshold == mix.bar and mix.low < mix.average < mix.high
    assert mix.debt == pytest.approx(3_000 * (mix.bar - mix.average), abs=1e-6)
    first = f"{mix.shares['large']:.0%} 'large', {mix.shares['small']:.0%} 'small'"
    assert explanation.headline.startswith(first)
    reached = mix.average / mix.bar * 0.9
    assert f": average {reached:.3g} of 'large' after 3,000 decisions." in explanation.headline
    assert "the cheapest mix at the bar." in str(explanation)
    plain = explanation.to_dict()
    assert plain["over"] == "queries" and plain["mix"]["cheap"] == "small"


@pytest.mark.parametrize(
    ("settings", "policy", "over"),
    [
        ({}, "voi-cs", "each"),
        ({"over": "each"}, "voi-cs", "each"),
        ({"over": "queries"}, "mix-cs", "queries"),
        ({"policy": "mix-cs"}, "mix-cs", "queries"),
        ({"policy": "glr-cof:tolerance=0.02", "over": "each"}, "glr-cof:tolerance=0.02", "each"),
    ],
)
def test_the_promise_and_the_policy_that_keeps_it(settings, policy, over):
    session = fb.Session(COSTS, 0.1, **settings)
    assert (session._label, session.over) == (policy, over)
    assert fb.Session.from_json(session.to_json()).over == over


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"policy": "voi-cs", "over": "queries"},
            "over='queries' promises .* voi-cs promises .* over='each'",
        ),
        ({"policy": fb.MixCS(), "over": "each"}, "over='each' promises .* mix-cs promises .* on average"),
        ({"over": "all"}, "no promise is called 'all'"),
        ({"over": 1}, "over must be 'each' or 'queries', but it is 1"),
    ],
)
def test_a_promise_that_the_policy_does_not_make_is_refused(settings, words):
    with pytest.raises(fb.InputError, match=words):
        fb.Session(COSTS, 0.1, **settings)


def test_a_stored_state_that_contradicts_itself_is_refused():
    session, _, _ = lived("at-least:0.8", 50, np.random.default_rng(0))
    data = json.loads(session.to_json())
    del data["checksum"]
    data["state"]["aside"][0] = 3
    damaged = json.dumps({**data, "checksum": checksum(data)})
    with pytest.raises(fb.StateFormatError, match="'aside' of 'small' is 3, but 'observed' is 0"):
        fb.Session.from_json(damaged)
