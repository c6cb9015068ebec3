"""A log that does not say why an option was chosen: what is said of it, and how wide intervals are."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

import frugalbandits as fb
from frugalbandits.lab.replay.confounding import NOT_IDENTIFIED, shifts_of
from frugalbandits.lab.replay.data import Log
from frugalbandits.lab.terminal import replay_table

FEW = {"policies": ["etc-cs"], "resamples": 39}


def confounded(rows: int = 6_000, seed: int = 0) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return a log in which the cheap option got the easy requests, and the true means on all requests.

    Half of the requests are easy; the cheap option got nine in ten of these, and one in ten of the hard ones.
    """
    rng = np.random.default_rng([19, seed])
    hard = rng.random(rows) < 0.5
    chance = np.where(hard, 0.1, 0.9)
    cheap = rng.random(rows) < chance
    means = {"small": (0.95, 0.55), "large": (0.97, 0.87)}
    good = np.where(cheap, np.where(hard, 0.55, 0.95), np.where(hard, 0.87, 0.97))
    log = {
        "option": np.where(cheap, "small", "large"),
        "reward": (rng.random(rows) < good).astype(float),
        "cost": np.where(cheap, 0.2, 3.0),
        "task": np.where(hard, "hard", "easy"),
        "chance": np.where(cheap, chance, 1 - chance),
    }
    return log, {name: sum(each) / 2 for name, each in means.items()}


def test_a_biased_log_says_so_beside_the_figure() -> None:
    log, true = confounded()
    found = fb.replay(log, 0.1, **FEW)
    small = found["always small"].quality
    # Wrong by sixteen points, and sure of it: hence the words.
    assert small.value - true["small"] > 0.1 and small.low > true["small"] + 0.1
    assert not found.identified and found.identification == NOT_IDENTIFIED
    shown = Console(file=io.StringIO(), width=120)
    shown.print(replay_table(found, 120))
    text = shown.file.getvalue()
    assert text.index(NOT_IDENTIFIED) < text.index("always small") < text.rindex(NOT_IDENTIFIED)
    assert NOT_IDENTIFIED in found._repr_html_()
    assert NOT_IDENTIFIED in found.plot().axes[0].get_title()
    assert found.to_polars()["identified"].to_list() == [False] * len(found.lines)


def test_what_the_log_says_without_assuming_anything_holds_the_truth() -> None:
    log, true = confounded()
    found = fb.replay(log, 0.1, **FEW)
    assert found.quality_bounds is not None
    for name, (low, high) in found.quality_bounds.items():
        assert low <= true[name] <= high and high - low > 0.4
    assert any("without assuming anything" in words for words in found.warnings)


def test_propensities_or_random_assignment_identify_it() -> None:
    log, true = confounded()
    weighed = fb.replay(log, 0.1, propensity="chance", **FEW)
    assert weighed.identified and weighed.identification == "" and weighed.quality_bounds is None
    assert weighed["always small"].quality.low <= true["small"] <= weighed["always small"].quality.high
    rng = np.random.default_rng(3)
    fair = log | {"option": np.where(rng.random(6_000) < 0.3, "small", "large")}
    said = fb.replay(fair, 0.1, random_assignment=True, strict=True, **FEW)
    assert said.identified and "assigned at random, as you say" in said.assumes
    with pytest.raises(fb.InputError, match="random_assignment is claimed, but what was chosen depends"):
        fb.replay(log, 0.1, random_assignment=True, context="task", **FEW)


def test_strict_refuses_a_log_that_identifies_nothing() -> None:
    log, _ = confounded(400)
    with pytest.raises(fb.InputError, match="not identified: assumes that options got like requests, and"):
        fb.replay(log, 0.1, strict=True, **FEW)
    fb.replay(log, 0.1, strict=True, propensity="chance", **FEW)


def test_intervals_are_wider_by_what_contexts_say() -> None:
    log, true = confounded()
    plain, by_task = (fb.replay(log, 0.1, context=task, **FEW) for task in (None, "task"))
    quality = by_task["always small"].quality
    # The adjustment finds the truth here; what is not seen may be as strong, and the bars tell.
    assert quality.low <= true["small"] <= quality.high
    assert (
        quality.high - quality.low
        > 0.2
        > plain["always small"].quality.high - plain["always small"].quality.low
    )
    assert not by_task.identified
    assert any("choices went with the context" in words for words in by_task.warnings)


def test_intervals_are_wider_by_what_time_says() -> None:
    rng = np.random.default_rng(4)
    late = np.arange(4_000) >= 2_000
    small = rng.random(4_000) < np.where(late, 0.2, 0.8)
    good = rng.random(4_000) < np.where(late, 0.5, 0.9)  # for either option: requests became harder
    log = {"option": np.where(small, "small", "large"), "reward": good, "cost": np.where(small, 1.0, 2.0)}
    found = fb.replay(log, 0.1, **FEW)
    for name in ("small", "large"):
        quality = found[f"always {name}"].quality
        assert quality.low <= 0.7 <= quality.high
    assert any("choices went with time" in words for words in found.warnings)


def test_a_random_log_is_hardly_ever_widened() -> None:
    """Of 100 logs, 4 means each, at most 0.27% of the shifts may pass: 8 of 400 once in 4,000 seeds."""
    widened = 0
    for seed in range(100):
        rng = np.random.default_rng([5, seed])
        choice, kind = rng.integers(0, 2, 1_000), rng.integers(0, 3, 1_000)
        rewards = (rng.random(1_000) < np.array([0.4, 0.6, 0.8])[kind]).astype(float)
        pairs = np.stack([rewards, rng.lognormal(0, 0.5, 1_000)], axis=1)
        shifts = shifts_of(Log(("a", "b"), choice, pairs, None, kind, ("x", "y", "z")))
        widened += int((shifts.by_context > 0).sum())
    assert widened < 8


@pytest.mark.parametrize("seed", range(4))
def test_no_interval_is_impossible(seed: int) -> None:
    """Few rows of options that are far apart: the bias is larger than the way to the end of the range."""
    rng = np.random.default_rng([6, seed])
    used = rng.integers(0, 3, 45)
    good = rng.random(45) < np.array([0.9, 0.95, 0.99])[used]
    names = np.array(["a", "b", "c"])
    log = {"option": names[used], "reward": good, "cost": np.array([0.001, 0.02, 1.0])[used]}
    found = fb.replay(log, 0.1, ["voi-cs", "etc-cs"], resamples=39)
    for line in found.lines:
        assert 0.001 - 1e-12 <= line.spend.low <= line.spend.value <= line.spend.high <= 1 + 1e-12
        assert 0 <= line.quality.low <= line.quality.value <= line.quality.high <= 1
        assert line.saving is None or line.saving.high <= 1
        assert line.over_bar is None or line.over_bar.low >= 0
    assert 0 <= found.bar.low <= found.bar.high <= 1
