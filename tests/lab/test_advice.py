"""Advice: what is believed, what is refused, what depends on what, and what is shown."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import frugalbandits as fb
from frugalbandits.lab.advice.beliefs import Logged, Range, logged
from frugalbandits.lab.advice.trial import moments
from frugalbandits.lab.figures import plot_advice

COSTS = {"small": 0.2, "mid": 1.0, "large": 3.0}
GUESSES = {"small": (0.6, 0.85), "large": 0.9}
QUICK = {"policies": ["etc-cs"], "runs": 24, "progress": False}


@pytest.fixture(scope="module")
def advice() -> fb.Advice:
    return fb.advise(COSTS, 100, 0.1, guesses=GUESSES, days=8, now="large", **QUICK)


def test_it_depends_on_the_seed_and_not_on_the_threads(advice: fb.Advice) -> None:
    for workers in (1, 3):
        again = fb.advise(COSTS, 100, 0.1, guesses=GUESSES, days=8, now="large", workers=workers, **QUICK)
        assert again.plans == advice.plans and again.verdict == advice.verdict
        assert np.array_equal(again.trials[0].pulls, advice.trials[0].pulls)
    longer = fb.advise(COSTS, 100, 0.1, guesses=GUESSES, days=8, now="large", **{**QUICK, "runs": 30})
    assert np.array_equal(longer.trials[0].pulls[:24], advice.trials[0].pulls)
    other = fb.advise(COSTS, 100, 0.1, guesses=GUESSES, days=8, now="large", seed=1, **QUICK)
    assert other.learned.quality != advice.learned.quality


def test_the_parts_agree(advice: fb.Advice) -> None:
    trial, case = advice.trials[0], advice.case
    assert trial.pulls.shape[2] == 3 and (trial.by_day.sum(axis=2) == 100).all()
    assert trial.spend == pytest.approx((trial.by_day @ case.costs).sum(axis=1))
    assert advice.learned.spend.middle == pytest.approx(trial.spend.mean())
    large, ideal = advice.plans[-2:]
    assert (large.plan, large.spend.middle, large.saving) == ("always large", pytest.approx(2400), 0.0)
    regret = [
        problem.regrets(pulls) for problem, pulls in zip(trial.problems, trial.pulls[:, -1], strict=True)
    ]
    lost = np.array(
        [cost + problem.worth * lack for (cost, lack), problem in zip(regret, trial.problems, strict=True)]
    )
    assert ideal.gain - advice.learned.gain == pytest.approx(lost.mean())
    assert ideal.lack == 0.0 and all(plan.gain <= ideal.gain for plan in advice.plans)
    assert sum(row.to_use for row in advice.standings) == pytest.approx(1.0)
    own = next(bar for bar in advice.bars if bar.quality == case.quality)
    assert own.cost * case.horizon == pytest.approx(ideal.spend.middle)


def test_a_price_of_judging_is_part_of_the_spend() -> None:
    plain = fb.advise(COSTS, 100, 0.1, guesses=GUESSES, days=8, feedback=0.5, **QUICK)
    priced = fb.advise(COSTS, 100, 0.1, guesses=GUESSES, days=8, feedback=0.5, judge_price=0.1, **QUICK)
    one, other = plain.trials[0], priced.trials[0]
    assert np.array_equal(one.pulls, other.pulls)  # this policy does not mind
    assert other.spend - one.spend == pytest.approx(0.1 * one.judged)
    assert plain.learned.gain - priced.learned.gain == pytest.approx(0.1 * one.judged.mean())
    assert priced.by_feedback[0].feedback == 0.5 and len(priced.by_feedback) == 5


def test_a_better_policy_is_advised_and_comes_first() -> None:
    """ETC-CS explores with 80% of all decisions, and is told that this is what it does."""
    poor = fb.ETCCS(budget=0.8)
    found = fb.advise(COSTS, 100, 0.1, guesses={"small": 0.85, "mid": 0.5, "large": 0.9},
                      policies=[poor, "etc-cs"], runs=24, progress=False)  # fmt: skip
    assert found.policy == "etc-cs" and found.trials[1].policy == repr(poor)
    assert found.trials[0].runs == found.trials[1].runs == 24
    assert found.plans[0].gain > found.plans[1].gain
    assert "policy='etc-cs', horizon=3_000" in found.session


def test_the_session_that_is_advised_can_be_made(advice: fb.Advice) -> None:
    made = eval(advice.session, {"fb": fb})
    assert made.ask().option in COSTS and made.quality == fb.RelativeToBest(0.1)
    level = fb.advise(COSTS, 50, quality="at-least:0.7", guesses=GUESSES, days=2, worth=4, judge_price=0.01,
                      policies=["voi-cs"], runs=3, progress=False)  # fmt: skip
    made = eval(level.session, {"fb": fb})
    assert made.quality == fb.AtLeast(0.7) and [bar.quality.level for bar in level.bars] == pytest.approx(
        [0.6, 0.65, 0.7, 0.75, 0.8]
    )


def test_huge_volumes_take_no_longer() -> None:
    """The cost of a run follows its plans: ten million decisions a day are no more than a thousand."""
    found = fb.advise(COSTS, 10_000_000, 0.1, guesses=GUESSES, **QUICK)
    assert found.trials[0].pulls[:, -1].sum(axis=1).tolist() == [300_000_000] * 24
    assert len(moments(found.case)) < 500


# What is believed


def test_an_option_without_a_guess_may_be_anything(advice: fb.Advice) -> None:
    small, mid, _ = advice.standings
    assert (mid.low, mid.high, mid.source) == (0.3, 0.95, "nothing known")
    assert (small.low, small.high, small.source) == (0.6, 0.85, "guess")
    drawn = np.array([problem.means for problem in advice.trials[0].problems])
    assert (drawn[:, 2] == 0.9).all()
    assert 0.6 <= drawn[:, 0].min() < drawn[:, 0].max() <= 0.85
    assert len(set(drawn[:, 1])) == 24


def test_what_a_log_tells_is_a_posterior() -> None:
    """Of 0s and 1s: Beta(1/2 + ones, 1/2 + zeros); false-alarm rate 1e-5."""
    known = logged({"a": np.array([1.0] * 7 + [0.0] * 3)})["a"]
    rng = np.random.default_rng(4)
    laws = [known.draw(rng) for _ in range(4_000)]
    means = [float(values @ chances) for values, chances in laws]
    assert stats.kstest(means, stats.beta(7.5, 3.5).cdf).pvalue > 1e-5
    assert known.mean == pytest.approx(7.5 / 11)
    assert known.deviation == pytest.approx(stats.beta(7.5, 3.5).std())


@given(st.lists(st.floats(0, 1), min_size=1, max_size=300))
def test_a_log_of_many_values_keeps_its_mean(rewards: list[float]) -> None:
    known = logged({"a": np.array(rewards)})["a"]
    assert isinstance(known, Logged) and known.rows == len(rewards) and len(known.values) <= 40
    assert known.counts @ known.values / known.rows == pytest.approx(np.mean(rewards))
    values, chances = known.draw(np.random.default_rng(0))
    assert chances.sum() == pytest.approx(1.0) and ((values >= 0) & (values <= 1)).all()
    assert 0.0 <= known.low <= known.mean <= known.high <= 1.0


def test_a_log_brings_costs_and_guesses_win(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = "".join(f"small,{i % 5 > 0:d},0.2\nlarge,{i % 10 > 0:d},3\n" for i in range(200))
    path.write_text(f"option,reward,cost\n{rows}")
    found = fb.advise(volume=100, alpha=0.2, log=path, days=8, guesses={"large": 0.9}, **QUICK)
    assert found.case.costs.tolist() == pytest.approx([0.2, 3.0])
    assert isinstance(found.case.beliefs[0], Logged) and found.case.beliefs[1] == Range(0.9, 0.9)
    assert found.standings[0].source == "log, 200 rows"
    other = fb.advise({"small": 1, "large": 2, "new": 3}, 100, 0.2, log=path, days=8, **QUICK)
    assert [row.source for row in other.standings] == ["log, 200 rows", "log, 200 rows", "nothing known"]
    with pytest.raises(fb.InputError, match=r"^the log uses 'large', but there is no cost of it$"):
        fb.advise({"small": 1, "new": 3}, 100, 0.2, log=path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"costs": None}, "give costs, or a log that has them"),
        ({"costs": [1, 2]}, "costs must be a mapping from option to cost, but it is [1, 2]"),
        ({"costs": {"a": 1}}, "at least two"),
        ({"costs": {"a": -1, "b": 2}}, "costs must not be negative, but that of 'a' is -1.0"),
        ({"costs": {"a": "x", "b": 2}}, "the cost of 'a' must be a number, but it is 'x'"),
        ({"alpha": None}, "say what is good enough"),
        ({"volume": 0}, "volume must be a whole number from 1 to"),
        ({"volume": 1.5}, "but it is 1.5"),
        ({"volume": 1, "days": 2}, "horizon must be greater than the number of arms"),
        ({"days": 4_000}, "days must be a whole number from 1 to 3,650, but it is 4000"),
        ({"guesses": {"tiny": 0.5}}, "'tiny'"),
        ({"guesses": {"small": 1.5}}, "the guess of 'small' must be a quality in [0, 1]"),
        ({"guesses": {"small": (0.8, 0.6)}}, "or (lowest, highest), but it is (0.8, 0.6)"),
        ({"guesses": {"small": (0.1, 0.2, 0.3)}}, "but it is (0.1, 0.2, 0.3)"),
        ({"guesses": {"small": True}}, "but it is True"),
        ({"guesses": {"small": "good"}}, "but it is 'good'"),
        ({"guesses": {"small": math.nan}}, "the guess of 'small' must be finite, but it is nan"),
        ({"now": "huge"}, "'huge'"),
        ({"feedback": 0}, "feedback must be a share in (0, 1] or 'wanted', but it is 0"),
        ({"feedback": True}, "but it is True"),
        ({"judge_price": -1}, "judge_price must not be negative, but it is -1"),
        ({"worth": 0}, "worth must be above 0, but it is 0"),
        ({"policies": []}, "policies must be a list of names or policies, but it is []"),
        ({"policies": ["voi"]}, "'voi'"),
        ({"alpha": None, "quality": "at-least:0.5"}, "etc-cs knows a quality bar relative to the best"),
        ({"runs": 0}, "runs must be a whole number, 1 or more, but it is 0"),
        ({"workers": 0}, "workers must be a whole number, 1 or more, but it is 0"),
        ({"seed": -1}, "seed must be a whole number, 0 or more, but it is -1"),
        ({"log": "no.csv"}, "no.csv"),
        ({"log": "no.xls"}, "a log must end in"),
    ],
)  # fmt: skip
def test_what_is_refused(change: dict[str, object], words: str) -> None:
    given: dict[str, object] = {"costs": COSTS, "volume": 100, "alpha": 0.1, **QUICK}
    with pytest.raises(fb.InputError) as raised:
        fb.advise(**{**given, **change})
    assert words in str(raised.value) and "\n" not in str(raised.value)


# What is shown


def test_tables(advice: fb.Advice) -> None:
    days = advice.to_polars()
    assert days.columns == [
        *("policy", "day", "spend", "spend_p10", "spend_p90"),
        *(f"share {name}" for name in COSTS),
    ]
    assert days.height == 8 and days["spend"].sum() == pytest.approx(advice.learned.spend.middle)
    shares = days.select("^share .*$").to_numpy()
    assert shares.sum(axis=1) == pytest.approx(np.ones(8))
    plans = advice.to_polars("plans")
    assert plans["plan"].to_list() == [each.plan for each in (*advice.plans, *advice.by_feedback)]
    with pytest.raises(fb.InputError, match="table must be 'days' or 'plans', but it is 'x'"):
        advice.to_polars("x")
    assert "always large" in advice._repr_html_() and "etc-cs" in repr(advice)


def test_the_figure(advice: fb.Advice) -> None:
    figure = advice.plot()
    above, below = figure.axes
    lines = {line.get_label(): line for line in above.get_lines()}
    assert list(lines) == ["ETC-CS", "always large (now)", "all known at once"]
    spend = (advice.trials[0].by_day @ advice.case.costs).mean(axis=0)
    assert lines["ETC-CS"].get_ydata().tolist() == pytest.approx([spend[0], *spend])
    assert set(lines["always large (now)"].get_ydata()) == {300.0}
    assert advice.verdict.words[:30] in above.get_title(loc="left")
    assert below.get_xlim() == (0, 8) and below.get_ylim() == (0, 1)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()][-3:] == list(COSTS)
    priced = fb.advise({"a$b$": 1, "c": 2}, 20, 0.1, days=2, **QUICK)
    plot_advice(priced).canvas.draw()
