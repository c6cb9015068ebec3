"""MIX-CS: the cheapest mix, the policy beside its plain reference, and the average that it holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.policies.mix_cs.hull import cheapest_pair
from harness import MODES, cases, play, pull_from
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
    """In each of 200 other seeds the average was within 0.03 of the bar: a false alarm in 60 at most."""
    level = 0.81 if "relative" in bar else 0.8
    _, cost, quality = lived(bar, 4_000, np.random.default_rng(1), judged=judged)
    share = (level - 0.6) / 0.3
    mix = 0.2 + share * 2.8  # of small and large: mid is too dear for what it is
    assert abs(quality - level) < 0.03
    assert cost < 1.15 * mix < 3.0  # no single option below large is good enough
