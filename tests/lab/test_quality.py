"""The three kinds of quality bar: what they mean for a problem, for results and for the bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.registry import policies, resolve


@st.composite
def arms(draw):
    count = draw(st.integers(2, 7))
    mean = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
    cost = st.integers(0, 4).map(float)
    return [draw(st.lists(each, min_size=count, max_size=count)) for each in (mean, cost)]


def plainly(means, costs, threshold):
    """Return a*, feasible arms and gaps, straight from the words of the definition."""
    feasible = [mean >= threshold or math.isclose(mean, threshold, rel_tol=1e-12) for mean in means]
    order = sorted(range(len(means)), key=lambda arm: costs[arm])
    star = next(arm for arm in order if feasible[arm])
    cost_gaps = [max(cost - costs[star], 0.0) for cost in costs]
    return star, feasible, cost_gaps, [max(threshold - mean, 0.0) for mean in means]


@given(case=arms(), alpha=st.floats(0, 0.9), data=st.data())
def test_relative_to_one_arm(case, alpha, data):
    means, costs = case
    reference = data.draw(st.integers(0, len(means) - 1))
    problem = fb.Problem(means, costs, quality=fb.RelativeTo(f"a{reference + 1}", alpha))
    star, feasible, cost_gaps, quality_gaps = plainly(means, costs, (1 - alpha) * means[reference])
    assert problem.reference == reference and problem.attainable
    assert problem.optimal_arm == star
    assert problem.feasible.tolist() == feasible and problem.feasible[reference]
    assert problem.cost_gaps.tolist() == cost_gaps
    assert problem.quality_gaps == pytest.approx(quality_gaps, abs=1e-12)


@given(case=arms(), level=st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])))
def test_a_fixed_level(case, level):
    means, costs = case
    problem = fb.Problem(means, costs, quality=fb.AtLeast(level))
    star, feasible, cost_gaps, quality_gaps = plainly(means, costs, min(level, max(means)))
    assert problem.attainable == (max(means) >= level or math.isclose(max(means), level, rel_tol=1e-12))
    assert problem.reference is None
    assert problem.optimal_arm == star
    assert problem.feasible.tolist() == feasible
    assert problem.cost_gaps.tolist() == cost_gaps
    assert problem.quality_gaps == pytest.approx(quality_gaps, abs=1e-12)
    if not problem.attainable:
        assert problem.optimal_arm == problem.best_arm


@given(case=arms(), alpha=st.floats(0, 0.9))
def test_alpha_is_short_for_the_bar_relative_to_the_best_arm(case, alpha):
    means, costs = case
    short = fb.Problem(means, costs, alpha)
    for quality in (fb.RelativeToBest(alpha), f"relative-to-best:{alpha!r}"):
        problem = fb.Problem(means, costs, quality=quality)
        assert problem == short and hash(problem) == hash(short) and problem.alpha == alpha
    assert short.with_quality(fb.AtLeast(0.5)).with_alpha(alpha) == short


def test_problems_with_other_bars_are_other_problems():
    bars = [fb.RelativeToBest(0.1), fb.RelativeTo("a1", 0.1), fb.RelativeTo("a2", 0.1), fb.AtLeast(0.1)]
    assert len({fb.Problem([0.5, 0.6], [1, 2], quality=bar) for bar in bars}) == 4


def test_a_problem_says_its_bar():
    assert "quality='at-least:0.8'" in repr(fb.Problem([0.5, 0.9], [1, 2], quality=fb.AtLeast(0.8)))
    with pytest.raises(fb.InputError, match=r"AtLeast\(level=0.8\)"):
        _ = fb.Problem([0.5, 0.9], [1, 2], quality="at-least:0.8").alpha


def test_an_unknown_reference_is_named():
    with pytest.raises(fb.InputError, match="no option is called 'larg'; did you mean 'large'"):
        fb.Problem([0.5, 0.9], [1, 2], names=["small", "large"], quality=fb.RelativeTo("larg", 0.1))
    with pytest.raises(fb.InputError, match="no option is called 'larg'"):
        fb.Session({"small": 1, "large": 2}, quality="relative-to:larg:0.1", horizon=100)


def test_instances_take_a_bar(tmp_path):
    problem = fb.instance("routerbench-mbpp", quality="at-least:0.6")
    assert problem.threshold == 0.6
    fb.write_instance(problem, tmp_path / "mbpp.csv")
    assert fb.read_instance(tmp_path / "mbpp.csv", quality=fb.AtLeast(0.6)) == problem
    with pytest.raises(fb.InputError, match=r"cannot carry .* AtLeast"):
        fb.write_instance(problem, tmp_path / "mbpp.txt")
    assert not (tmp_path / "mbpp.txt").exists()
    with pytest.raises(fb.InputError, match=r"alpha=0.1 is short for"):
        fb.instance("goodreads", 0.1, quality="at-least:0.6")
    observed = fb.Empirical({"small": [0, 1], "large": [1, 1]})
    assert observed.problem([1, 2], quality="relative-to:large:0.5").optimal_arm == 0


@pytest.mark.parametrize("name", [name for name in policies() if not resolve(name).any_bar])
def test_other_policies_refuse_other_bars(name):
    kind = resolve(name).called()
    words = f"{kind} knows a quality bar relative to the best option only.* AtLeast.*: cof, glr-cof"
    with pytest.raises(fb.InputError, match=words):
        fb.simulate(fb.Problem([0.5, 0.9], [1, 2], quality=fb.AtLeast(0.8)), name, 100)
    with pytest.raises(fb.InputError, match=words):
        fb.Session([1, 2], policy=name, horizon=100, quality=fb.AtLeast(0.8))
    # The bar of the paper in its long form is no other bar.
    fb.Session([1, 2], policy=name, horizon=100, quality=fb.RelativeToBest(0.1)).ask()


def test_tables_name_the_bar():
    for bar, alpha in ((fb.RelativeTo("a2", 0.1), 0.1), (fb.AtLeast(0.95), None)):
        result = fb.simulate(fb.Problem([0.5, 0.9], [1, 2], quality=bar), "cof", 3_000, runs=2, checkpoints=3)
        for table in ("regret", "pulls", "events"):
            frame = result.to_polars(table)
            assert frame["alpha"].unique().to_list() == [alpha]
            assert frame["quality"].unique().to_list() == [str(bar)]
    assert set(result.events["event"]) == {"infeasible", "unreachable", "optimal"}
    assert np.all(result.final_arm == 1)


# The lower bounds under each bar, against the words of the change of measure.

FOUR = fb.Problem([0.5, 0.8, 0.84, 0.9], [1, 2, 4, 9], 0.1, names=["tiny", "small", "large", "huge"])


HORIZON = 100_000


def needed(mean, bar):
    """Pulls that tell a coin of this mean from one with the mean `bar`."""
    return math.log(HORIZON) / (mean * math.log(mean / bar) + (1 - mean) * math.log((1 - mean) / (1 - bar)))


def test_lower_bounds_under_a_level_ask_for_cheap_arms_only():
    problem = FOUR.with_quality("at-least:0.82")
    assert fb.bounds.lower_pulls(problem, HORIZON) == pytest.approx(
        [needed(0.5, 0.82), needed(0.8, 0.82), 0, 0]
    )
    assert fb.bounds.joint(problem, HORIZON) is None and fb.bounds.joints(problem, HORIZON) == ()
    least = fb.bounds.least_regret(problem, HORIZON)
    assert least.value == pytest.approx(0.32 * needed(0.5, 0.82) + 0.02 * needed(0.8, 0.82))


def test_lower_bounds_under_a_level_that_is_not_reached_are_those_of_the_best_arm():
    beyond, best = FOUR.with_quality("at-least:0.95"), FOUR.with_alpha(0.0)
    assert np.array_equal(fb.bounds.lower_pulls(beyond, HORIZON), fb.bounds.lower_pulls(best, HORIZON))
    one, two = (fb.bounds.least_regret(each, HORIZON) for each in (beyond, best))
    assert one.value == two.value and one.tight == two.tight


def test_lower_bounds_relative_to_an_arm_hang_on_that_arm():
    problem = FOUR.with_quality("relative-to:large:0.1")  # a* is small, the bar 0.756
    lower = fb.bounds.lower_pulls(problem, HORIZON)
    assert lower == pytest.approx([needed(0.5, 0.756), 0, needed(0.84, 0.8 / 0.9), 0])
    bound = fb.bounds.joint(problem, HORIZON)
    assert bound.arm == 0 and bound.arms.tolist() == [2]
    assert bound.level / bound.weights[2] == pytest.approx(needed(0.84, 0.5 / 0.9))
    own = FOUR.with_quality("relative-to:large:0.02")  # a* is the reference: what it says is free
    assert fb.bounds.joint(own, HORIZON).free
    assert fb.bounds.lower_pulls(own, HORIZON)[2:].tolist() == [0, 0]


def test_relative_to_the_dearest_and_best_arm_the_bounds_are_the_papers_where_no_other_arm_counts():
    two = fb.Problem([0.5, 0.8], [1, 9], 0.1)
    by_name = two.with_quality("relative-to:a2:0.1")
    for family in ("bernoulli", "gaussian"):
        one, other = (fb.bounds.least_regret(each, HORIZON, family) for each in (two, by_name))
        assert one.value == other.value and one.pulls.tolist() == other.pulls.tolist()


@pytest.mark.parametrize(
    "bar", ["relative-to:huge:0.05", "relative-to:large:0.1", "at-least:0.7", "at-least:0.95"]
)
def test_glr_cof_comes_near_the_least_regret(bar):
    """At most 3 times the least at T = 5,000,000, and not below a third of it; fixed seeds.

    The least is that of the limit: relative to "large" the ratio rises from 0.32 at 100,000 pulls to 0.42
    here and 0.49 at 100,000,000. That no run has saved its regret by not looking is held against late pulls.
    """
    problem = FOUR.with_quality(bar)
    least = fb.bounds.least_regret(problem, 5_000_000).value
    result = fb.simulate(problem, "glr-cof", 5_000_000, runs=20)
    assert least / 3 < result.summary().mean < 3 * least
    assert result.late_share.min() > 0.99


def test_cof_s_upper_bound_is_refused_under_other_bars():
    problem = FOUR.with_quality("at-least:0.7")
    for bound in (fb.bounds.cof_upper, fb.bounds.rounds):
        with pytest.raises(fb.InputError, match=r"relative to the best arm only, but it is AtLeast"):
            bound(problem, HORIZON)
    assert fb.bounds.overview(problem, HORIZON).upper is None
