"""When it is worth it and when it is not: every kind of verdict, and where one ends and the next begins."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.lab.advice.verdict import Kind, judged_by

SURELY = {"small": 0.88, "large": 0.9}  # good enough, the cheap one too
QUICK = {"policies": ["voi-cs"], "runs": 24, "progress": False}
CASES: dict[str, dict[str, Any]] = {
    "worth it": {"costs": {"small": 0.2, "large": 3}, "guesses": SURELY},
    "same price": {"costs": {"small": 2, "large": 2}, "guesses": SURELY},
    "only one is good enough": {"costs": {"small": 0.2, "large": 3}, "guesses": {"small": 0.5, "large": 0.9}},
    "known already": {
        "costs": {"small": 0.2, "large": 3},
        "guesses": {"small": (0.87, 0.92), "large": (0.88, 0.92)},
    },
    "too little to gain": {"costs": {"small": 2.9, "large": 3}, "guesses": SURELY},
    "too few decisions": {"costs": {"small": 0.2, "large": 3}, "guesses": SURELY, "volume": 50, "days": 1},
    # Six options to try, of which five are poor, and the sixth saves little.
    "learning costs more": {
        "costs": {"a": 1, "b": 1.1, "c": 1.2, "d": 1.3, "e": 1.4, "small": 2.8, "large": 3},
        "guesses": {**dict.fromkeys("abcde", 0.2), "small": 0.85, "large": 0.9},
        "worth": 30,
        "volume": 50,
        "days": 5,
    },
}
MISSES = {
    # The cheap option is below a fixed level, and looks nearly as good: a fifth of the runs end on it.
    "costs": {"small": 0.2, "large": 3},
    "guesses": {"small": (0.6, 0.85), "large": (0.85, 0.95)},
    "volume": 100,
    "days": 4,
    "policies": ["etc-cs"],
}
CASES["misses your bar"] = MISSES
WORDS = {
    "misses your bar": "misses your bar: it saves ",
    "worth it": "worth it: it saves",
    "same price": "not worth it: every option costs 2, so there is nothing to save: use the best, large",
    "only one is good enough": "not worth it: large is the one to use: no cheaper option is good enough",
    "known already": "not worth it: what you told leaves little doubt: small is the one to use",
    "too little to gain": "not worth it: the options are too close: even if all were known at once",
    "too few decisions": "not worth it: 50 decisions in 1 day are too few to tell 2 options apart",
    "learning costs more": "not worth it: learning costs more than it gains over always large, by ",
}


def verdict(**given: Any) -> fb.Advice:
    return fb.advise(**{"alpha": 0.1, "volume": 500, "now": "large", **QUICK, **given})


def test_every_kind_is_tried_here() -> None:
    assert set(CASES) == set(WORDS) == set(get_args(Kind))


@pytest.mark.parametrize("kind", CASES)
def test_every_verdict(kind: str) -> None:
    found = verdict(**CASES[kind])
    assert found.verdict.kind == kind, found.verdict
    assert found.verdict.worth_it == (kind == "worth it")
    told = found.verdict.words.replace(", which you use now,", "")
    assert told.startswith(WORDS[kind]), told
    assert found.plans and found.standings and found.bars  # a no comes with its numbers too


@pytest.mark.parametrize("kind", ["too few decisions", "learning costs more"])
def test_more_decisions_make_it_worth_it(kind: str) -> None:
    found = verdict(**{**CASES[kind], "volume": 100_000, "days": 30})
    assert found.verdict.kind == "worth it"


def test_it_says_when_it_pays() -> None:
    """With four times the saving a few more days are enough, and the same period is worth it by then."""
    case = {**CASES["learning costs more"], "volume": 20, "days": 11}
    case["costs"] = {**CASES["learning costs more"]["costs"], "small": 2.2}
    found = verdict(**case)
    days = re.search(r"it pays after about (\d+) days", found.verdict.words)
    assert days is not None, found.verdict.words
    assert verdict(**{**case, "days": 3 * int(days[1])}).verdict.worth_it


def test_it_is_not_worth_it_where_the_bar_is_missed() -> None:
    """Quality below the bar is no saving: by how much, and what was simulated to hold it, are said."""
    found = verdict(**MISSES)
    assert found.learned.misses and found.learned.missing >= 0.01
    words = found.verdict.words
    assert not words.startswith("worth it") and ("too low" in words or "of good enough on average" in words)
    assert "what would hold it: " in words and "always large" in words
    case, learned, ideal = found.case, found.learned, found.plans[-1]
    assert judged_by(case, learned._replace(lack=0.0, bar=0.5), ideal, 1.0, None).kind == "worth it"
    below = learned._replace(lack=0.0, bar=learned.quality.middle + 0.02)
    told = judged_by(case, below, ideal, 1.0, None)
    assert told.kind == "misses your bar" and ": 0.02 too low" in told.words
    level = fb.advise(
        {"a": 1, "b": 3},
        100,
        quality="at-least:0.9",
        guesses={"a": (0.5, 0.8), "b": (0.6, 0.85)},
        now="b",
        days=4,
        policies=["voi-cs"],
        runs=24,
        progress=False,
    )
    assert not level.verdict.worth_it and level.learned.bar == 0.9 and level.learned.misses


def test_runs_that_do_not_know_by_then_are_too_few_decisions() -> None:
    """Told of what learning came to: it hangs on how many runs know, and on what was gained."""
    found = verdict(**CASES["worth it"])
    case, learned, ideal = found.case, found.learned, found.plans[-1]
    unsure = learned._replace(knows=0.3, gain=0.4 * ideal.gain)
    told = judged_by(case, unsure, ideal, 1.0, 45.0)
    assert told.kind == "too few decisions" and told.words.endswith("it pays after about 45 days")
    assert "30% of the runs know" in told.words and "40% of what there is to gain" in told.words
    assert judged_by(case, unsure._replace(gain=0.6 * ideal.gain), ideal, 1.0, None).worth_it
    assert judged_by(case, learned._replace(gain=-1.0), ideal, 1.0, None).kind == "learning costs more"


def test_what_is_used_now_counts() -> None:
    """Who uses the cheap one already has nothing to save; who uses one that is not good enough has."""
    assert verdict(**CASES["worth it"], now="small").verdict.kind == "only one is good enough"
    poor = {"costs": {"small": 0.2, "large": 3}, "guesses": {"small": 0.5, "large": 0.9}}
    found = verdict(**poor, now="small", volume=5_000, worth=30)
    assert found.verdict.worth_it
    assert "more than always small, which is good enough in 0% of the cases" in found.verdict.words
    assert found.learned.saving < 0 < found.learned.gain


def test_a_price_of_judging_can_eat_the_saving() -> None:
    found = verdict(**CASES["worth it"], judge_price=5.0)
    assert found.verdict.kind == "learning costs more"
    assert found.feedback != 1.0  # less feedback is advised


def test_single_numbers_are_a_question_of_what_if() -> None:
    """They leave no doubt by themselves, but the session that is simulated does not know them."""
    assert verdict(**CASES["worth it"]).case.certain
    assert verdict(**CASES["worth it"]).verdict.worth_it


@given(st.integers(0, 10_000))
def test_a_verdict_is_in_words_and_fits_its_numbers(seed: int) -> None:
    problem = fb.random_problem(3, alpha=0.1, seed=seed)
    costs = dict(zip(problem.names, problem.costs.tolist(), strict=True))
    guesses = dict(zip(problem.names, problem.means.tolist(), strict=True))
    found = fb.advise(costs, 50, 0.1, guesses=guesses, days=4, policies=["etc-cs"], runs=6, progress=False)
    kind = found.verdict.kind
    lead = kind if kind in ("worth it", "misses your bar") else "not worth it"
    assert found.verdict.words.startswith(f"{lead}: ") and found.verdict.worth_it == (kind == "worth it")
    assert "nan" not in found.verdict.words and "inf" not in found.verdict.words
    if found.verdict.kind == "worth it":
        assert found.learned.gain > 0
    if found.verdict.kind == "only one is good enough":
        assert problem.optimal_arm == found.case.anchor
