"""What a replay says: its lines, estimators, drift, and intervals that hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstwobign

import frugalbandits as fb
from frugalbandits.lab.replay.data import Log, Table
from frugalbandits.lab.replay.drift import find_changes, kolmogorov
from frugalbandits.lab.replay.resampling import effective, weights_of
from replay_harness import KINDS, made, truth


def small_log(rows: int = 300, **columns: object) -> dict[str, object]:
    rng = np.random.default_rng(5)
    used = rng.integers(0, 3, rows)
    good = rng.random(rows) < np.array([0.5, 0.8, 0.85])[used]
    names = np.array(["small", "medium", "large"])
    return {"option": names[used], "reward": good, "cost": np.array([0.2, 1.0, 3.0])[used], **columns}


def test_lines_are_policies_what_happened_the_oracle_and_each_option() -> None:
    log = small_log()
    found = fb.replay(log, 0.1, ["etc-cs", "pe-cs"], resamples=39)
    names = ["etc-cs", "pe-cs", "what happened", "oracle", "always small", "always medium", "always large"]
    assert [line.name for line in found.lines] == names
    for option, rows in found.rows.items():
        own = np.asarray(log["option"]) == option
        line = found[f"always {option}"]
        assert rows == own.sum()
        assert line.quality.value == pytest.approx(np.asarray(log["reward"])[own].mean())
        assert line.spend.value == pytest.approx(np.asarray(log["cost"])[own].mean())
    assert found["what happened"].spend.value == pytest.approx(np.mean(log["cost"]))
    assert found["oracle"].option == found.problem.names[found.problem.optimal_arm] == "medium"
    assert found.against == "what happened"
    for line in found.lines:
        for estimate in (line.spend, line.quality):
            assert estimate.low <= estimate.value <= estimate.high
        if line.kind == "policy":
            assert 0.2 <= line.spend.value <= 3.0
            assert sum(line.uses.values()) == pytest.approx(300)
            assert line.saving is not None
            assert line.saving.value == pytest.approx(1 - line.spend.value / np.mean(log["cost"]))
    assert found.to_polars().height == len(names)
    assert "always medium" in found._repr_html_()
    with pytest.raises(fb.InputError, match="no line of this replay"):
        found["cof"]


def test_the_result_depends_on_the_seed_and_not_on_workers() -> None:
    results = [fb.replay(small_log(), 0.1, ["pe-cs"], resamples=39, workers=n).to_polars() for n in (1, 3)]
    assert results[0].equals(results[1])
    other = fb.replay(small_log(), 0.1, ["pe-cs"], resamples=39, seed=1).to_polars()
    assert not results[0].equals(other)


def test_a_full_table_says_what_was_exactly_so() -> None:
    table = made("full", 400, 1)
    found = fb.replay(table.columns, quality=table.problem.quality, policies=["etc-cs"], resamples=39)
    assert found.estimator == "full" and found.against.startswith("always ")
    assert found["etc-cs"].in_order is not None
    assert found[found.against].saving == pytest.approx((0, *found[found.against].saving[1:]))
    with_choice = table.columns | {"option": [table.problem.names[0]] * 400}
    told = fb.replay(with_choice, quality=table.problem.quality, policies=["etc-cs"], resamples=39)
    assert told.against == "what happened"
    assert told["what happened"].spend.value == pytest.approx(
        told[f"always {told.problem.names[0]}"].spend.value
    )


# Which estimator


def test_auto_takes_what_the_log_allows() -> None:
    log = small_log()
    assert fb.replay(log, 0.1, ["etc-cs"], resamples=39).estimator == "resample"
    chances = {"propensity": np.full(300, 1 / 3)}
    assert fb.replay(log | chances, 0.1, ["etc-cs"], resamples=39).estimator == "weights"
    rejected = fb.replay(log | chances, 0.1, ["etc-cs"], resamples=39, estimator="reject")
    assert rejected.horizon == int(100 - 3 * np.sqrt(600) / 3)
    longer = fb.replay(log, 0.1, ["etc-cs"], resamples=39, requests=1000)
    assert longer.horizon == 1000 and any("than the log holds" in words for words in longer.warnings)


@pytest.mark.parametrize(
    ("columns", "estimator", "words"),
    [
        ({}, "full", "one option a request"),
        ({}, "weights", "no column of propensities"),
        ({}, "guess", "no estimator is called 'guess'"),
        ({"propensity": np.full(300, 0.5)}, "reject", "is 0.5, and not 1/3"),
        ({"option": ["a"] * 200 + ["b"] * 100}, "reject", "options were used unequally often"),
        ({"option": ["a"] * 150 + ["b"] * 150}, "reject", "depends on what was chosen before"),
        (
            {"option": ["a", "b", "b", "a"] * 75, "context": ["x", "y", "y", "x"] * 75},
            "reject",
            "depends on",
        ),
    ],
)
def test_an_estimator_that_the_log_does_not_allow_is_refused(
    columns: dict[str, object], estimator: str, words: str
) -> None:
    with pytest.raises(fb.InputError, match=words):
        fb.replay(small_log(**columns), 0.1, ["etc-cs"], estimator=estimator)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"alpha": None}, "say what is good enough"),
        ({"alpha": 1.5}, "alpha is the share"),
        ({"policies": []}, "policies must be a list"),
        ({"policies": ["coff"]}, "no policy is called 'coff'"),
        ({"alpha": None, "quality": "relative-to:huge:0.1"}, "huge"),
        ({"resamples": 10}, "39 or more"),
        ({"requests": 2}, "more requests than options"),
    ],
)
def test_bad_settings_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(fb.InputError, match=words):
        fb.replay(small_log(), **({"alpha": 0.1, "policies": ["etc-cs"]} | given))


def test_weights_undo_a_choice_that_depends_on_the_request() -> None:
    log = made("weights", 40_000, 3)
    assert isinstance(log.past, Log)
    weights = weights_of(log.past)
    plain, right = [], []
    for option in range(log.problem.arms):
        own = log.past.choice == option
        plain.append(log.past.pairs[own, 0].mean())
        right.append(np.average(log.past.pairs[own, 0], weights=weights[own]))
    assert np.abs(right - log.problem.means).max() < 0.02 < np.abs(plain - log.problem.means).max()
    assert (effective(log.past, weights) <= log.past.counts + 1e-6).all()


def test_contexts_are_put_in_the_shares_that_all_requests_have() -> None:
    choice, context = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 0, 1, 1])
    log = Log(("a", "b"), choice, np.zeros((6, 2)), None, context, ("easy", "hard"))
    weights = weights_of(log)
    for option in (0, 1):
        for kind in (0, 1):
            own = weights[(choice == option) & (context == kind)].sum() / weights[choice == option].sum()
            assert own == pytest.approx(0.5)
    found = fb.replay(
        small_log(context=["x", "y"] * 150), 0.1, ["etc-cs"], resamples=39, estimator="resample"
    )
    assert "contexts in the shares" in found.method


def test_few_rows_and_small_effective_samples_are_named() -> None:
    log = {"option": ["a"] * 100 + ["b"] * 5, "reward": [0.5, 0.6, 0.7] * 35, "cost": [1.0] * 105}
    assert any("b (5 rows)" in words for words in fb.replay(log, 0.1, ["etc-cs"], resamples=39).warnings)
    rare = log | {"propensity": [0.95] * 99 + [0.0001] + [0.05] * 5}
    said = fb.replay(rare, 0.1, ["etc-cs"], resamples=39).warnings
    assert any("effective sample size" in words and "a (1.0" in words for words in said)


# Drift


def test_the_law_of_the_statistic_is_kolmogorovs() -> None:
    for level in (0.1, 0.3, 0.8, 1.0, 1.36, 2.0, 3.0):
        assert kolmogorov(level) == pytest.approx(kstwobign.sf(level), abs=1e-12)


def test_drift_has_no_more_false_alarms_than_are_stated() -> None:
    """At most 1% of logs may be alarmed: more than 10 of 300 by chance, once in 2,000 seeds."""
    alarms = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        rewards = (rng.random((4, 200)) < 0.7).astype(float)
        costs = rng.lognormal(0, 0.5, (4, 200))
        alarms += bool(find_changes(Table(("a", "b", "c", "d"), np.stack([rewards, costs], axis=2))))
    assert alarms <= 10


def test_drift_is_found_and_said() -> None:
    rng = np.random.default_rng(2)
    good = rng.random(600) < np.where(np.arange(600) < 300, 0.9, 0.5)
    log = {"option": ["a", "b"] * 300, "reward": good, "cost": [1.0, 2.0] * 300}
    found = fb.replay(log, 0.1, ["etc-cs"], resamples=39)
    assert {(change.option, change.of) for change in found.changes} == {("a", "reward"), ("b", "reward")}
    assert all(120 < change.after_rows < 180 and change.before > change.after for change in found.changes)
    assert any("not in these numbers" in words for words in found.warnings)
    assert fb.replay(small_log(), 0.1, ["etc-cs"], resamples=39).changes == ()


# Intervals


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_the_truth_of_the_world(kind: str) -> None:
    """Two intervals in each of 20 worlds miss at most 5% each: 7 of 20 by chance, once in 30,000 seeds."""
    missed = {"spend": 0, "quality": 0}
    for seed in range(20):
        world = made(kind, 1_200, 1_000 + seed)
        found = fb.replay(
            world.columns, quality=world.problem.quality, policies=["pe-cs"], resamples=39, estimator=kind
        )
        spend, quality = truth(world.problem, "pe-cs", found.horizon, 200, seed)
        line = found["pe-cs"]
        missed["spend"] += not line.spend.low <= spend <= line.spend.high
        missed["quality"] += not line.quality.low <= quality <= line.quality.high
    assert max(missed.values()) < 7, missed
