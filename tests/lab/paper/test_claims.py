"""The claims of the paper: each is given results for which it holds, partly holds and does not hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from frugalbandits.lab.instances.catalogue import instance
from frugalbandits.lab.paper.claims.checked import VERDICTS, check_claims, event_times, factors, paper_scale
from frugalbandits.lab.paper.claims.evidence import late_growth, steady_from
from frugalbandits.lab.paper.experiments import ALPHAS, INSTANCES, PAPER_POLICIES, cells_of, experiments
from frugalbandits.lab.sweeps.cells import Settings
from made_outcomes import (
    BIASED,
    FALLING,
    MARKS,
    NU1,
    NU1_WITHOUT,
    NU2,
    NU2_WITHOUT,
    RUNS,
    TIMES,
    UNBIASED,
    T,
    ablation,
    flat,
    late,
    linear,
    made,
    nu1_events,
    nu2_events,
    one_outlier,
    world,
    worst,
)

WORLD = world()
LOOSE = ALPHAS[2:]


def verdicts(found):
    return {claim.key: claim for claim in check_claims(list(found.values()))}


def everywhere(policy, regret, alphas=ALPHAS, names=INSTANCES, how=flat):
    """Give a policy this regret, a number or a function of alpha, at these places."""
    told = regret if callable(regret) else lambda alpha: regret
    keys = [(name, alpha, policy) for name in names for alpha in alphas]
    return {key: how(key, told(key[1])) for key in keys}


def straight(policy, places):
    return {(*place, policy): linear((*place, policy), 50_000) for place in places}


def wrong_arm(policy, places):
    """Runs that end on a wrong arm, though with little regret until then."""
    wrong = np.zeros((RUNS, MARKS))
    wrong[:, -2:] = [T // MARKS, 2 * T // MARKS]
    return {(*place, policy): made((*place, policy), wrong) for place in places}


def unsettled(policy, places):
    """Runs that pull a* only, without the conclusion."""
    return {(*place, policy): made((*place, policy), np.zeros((RUNS, MARKS)), events=()) for place in places}


def high_but_flat():
    """One run far above the others that does not grow any more."""
    wrong = np.full((RUNS, MARKS), 100)
    wrong[-1] = 5_000
    return made(("goodreads", 0.3, "ts-cs"), wrong)


GOODREADS = [("goodreads", alpha) for alpha in ALPHAS]
MOVIELENS = [("movielens", alpha) for alpha in ALPHAS]
NO_OUTLIERS = everywhere("ts-cs", lambda alpha: FALLING[alpha] / 10)
CALM = everywhere("ucb-cs", lambda alpha: FALLING[alpha] / 10)

CASES = [
    ("cof-below-etc-cs", "holds", everywhere("etc-cs", 10, [0.05], ["goodreads"])),
    ("cof-below-etc-cs", "partly", everywhere("etc-cs", 10, ALPHAS[:3])),
    ("cof-below-etc-cs", "does not hold", everywhere("etc-cs", 10)),
    ("cof-below-pe-cs", "holds", everywhere("pe-cs", 10, [0.1])),
    ("cof-below-pe-cs", "partly", everywhere("pe-cs", 1_000, [0.1, 0.15])),
    ("cof-below-pe-cs", "does not hold", everywhere("pe-cs", 10)),
    ("etc-cs-high", "partly", everywhere("etc-cs", 1_000, [0.01])),
    ("etc-cs-high", "partly", everywhere("etc-cs", 4_000, names=["goodreads"])),
    ("etc-cs-high", "does not hold", everywhere("etc-cs", lambda alpha: FALLING[alpha] / 3)),
    ("pe-cs-plateau", "partly", everywhere("pe-cs", lambda alpha: 2 * FALLING[alpha], LOOSE, ["goodreads"])),
    ("pe-cs-plateau", "does not hold", everywhere("pe-cs", lambda alpha: 2 * FALLING[alpha], LOOSE)),
    ("pe-cs-plateau", "does not hold", everywhere("pe-cs", 100, LOOSE)),  # a plateau, but not a high one
    ("cof-no-plateau", "partly", everywhere("cof", 9_000, [0.3])),
    ("cof-no-plateau", "does not hold", everywhere("cof", 9_000)),
    ("pe-cs-small-alpha", "partly", everywhere("pe-cs", 2_000, [0.01, 0.05])),
    ("pe-cs-small-alpha", "partly", everywhere("pe-cs", FALLING[0.05] / 1.6, [0.05], ["goodreads"])),
    ("pe-cs-small-alpha", "partly", everywhere("pe-cs", 25_000, [0.05])),
    ("pe-cs-small-alpha", "does not hold", everywhere("pe-cs", 25_000, [0.01, 0.05])),
    ("regret-flattens", "partly", straight("pe-cs", [("goodreads", 0.3)])),
    ("regret-flattens", "partly", everywhere("ucb-cs", 10, [0.3])),
    (
        "regret-flattens",
        "does not hold",
        straight("cof", [("goodreads", 0.3), ("movielens", 0.3)])
        | straight("pe-cs", [("goodreads", 0.3), ("movielens", 0.3)])
        | straight("etc-cs", [("goodreads", 0.3)]),
    ),
    ("principled-correct", "holds", wrong_arm("etc-cs", GOODREADS[:1])),
    ("principled-correct", "partly", wrong_arm("etc-cs", GOODREADS[:2])),
    (
        "principled-correct",
        "does not hold",
        wrong_arm("etc-cs", GOODREADS) | wrong_arm("cof", GOODREADS) | wrong_arm("pe-cs", GOODREADS),
    ),
    ("principled-correct", "holds", unsettled("cof", GOODREADS[:1]) | unsettled("etc-cs", GOODREADS)),
    ("principled-correct", "partly", unsettled("cof", GOODREADS[:2])),
    (
        "principled-correct",
        "partly",
        unsettled("cof", GOODREADS) | unsettled("pe-cs", GOODREADS),
    ),
    ("ucb-cs-linear-goodreads", "holds", straight("ucb-cs", [("goodreads", 0.05)])),
    ("ucb-cs-linear-goodreads", "partly", everywhere("ucb-cs", 10, [0.35])),
    ("ucb-cs-linear-goodreads", "does not hold", CALM),
    ("ucb-cs-linear-several", "partly", everywhere("ucb-cs", 10, names=["movielens"])),
    ("ucb-cs-linear-several", "does not hold", CALM),
    ("ts-cs-outliers", "partly", everywhere("ts-cs", 10, [0.35])),
    (
        "ts-cs-outliers",
        "partly",
        NO_OUTLIERS | {("movielens", 0.1, "ts-cs"): one_outlier(("movielens", 0.1, "ts-cs"), 500, 50)},
    ),
    ("ts-cs-outliers", "does not hold", NO_OUTLIERS),
    ("ts-cs-outliers", "does not hold", everywhere("ts-cs", 9_000, how=linear)),  # all alike: no outliers
    (
        "ts-cs-outliers",
        "does not hold",
        NO_OUTLIERS | {("movielens", 0.25, "ts-cs"): one_outlier(("movielens", 0.25, "ts-cs"), 500, 9)},
    ),
    ("ts-cs-outliers", "does not hold", NO_OUTLIERS | {("goodreads", 0.3, "ts-cs"): high_but_flat()}),
    ("large-alpha", "partly", straight("ts-cs", [("goodreads", 0.5)])),
    ("large-alpha", "partly", everywhere("ts-cs", 5, [0.4], how=linear)),  # below COF, but linear
    ("large-alpha", "partly", everywhere("ucb-cs", 5_000, [0.4])),
    ("large-alpha", "does not hold", straight("ts-cs", MOVIELENS) | everywhere("ucb-cs", 5_000)),
    ("others-below-cof", "partly", everywhere("ucb-cs", 40_000)),
    ("others-below-cof", "does not hold", everywhere("ucb-cs", 40_000) | everywhere("ts-cs", 40_000)),
    ("ucb-cs-late-growth", "partly", {("movielens", 0.3, "ucb-cs"): late(cheap=False)}),
    ("ucb-cs-late-growth", "partly", {("movielens", 0.3, "ucb-cs"): late(start=0)}),
    ("ucb-cs-late-growth", "does not hold", CALM),
    ("exclusive-regret", "partly", {NU1: ablation(NU1, 100_000, 400)}),
    ("exclusive-regret", "does not hold", {NU1: ablation(NU1, 180_000, 300)}),
    ("exclusive-time", "partly", {NU1: ablation(NU1, 100_000, 300, nu1_events(30_000, 74_500))}),
    ("exclusive-time", "does not hold", {NU1: ablation(NU1, 100_000, 300, nu1_events(30_000, 80_000))}),
    ("combining-regret", "partly", {NU2: ablation(NU2, 100_000, 3_000)}),
    ("combining-regret", "does not hold", {NU2: ablation(NU2, 150_000, 3_000)}),
    ("combining-time", "partly", {NU2: ablation(NU2, 1_000, 20, nu2_events(50_000, 200_000, 200_000))}),
    (
        "combining-time",
        "does not hold",
        {NU2: ablation(NU2, 1_000, 20, nu2_events(90_000, 200_000, 800_000))},
    ),
    ("cost-biased", "does not hold", {BIASED: ablation(BIASED, 500_000, 600)}),
]


@pytest.mark.parametrize("key", sorted(verdicts(WORLD)))
def test_every_claim_holds_in_the_papers_world(key):
    claim = verdicts(WORLD)[key]
    assert claim.verdict == "holds", claim.measured
    assert claim.rule
    assert claim.place
    assert any(character.isdigit() for character in claim.measured)


@pytest.mark.parametrize(("key", "verdict", "changes"), CASES)
def test_other_results_give_other_verdicts(key, verdict, changes):
    claim = verdicts(WORLD | changes)[key]
    assert claim.verdict == verdict, claim.measured


def test_every_claim_has_a_case_where_it_fails():
    assert {key for key, verdict, _ in CASES if verdict == "does not hold"} == set(verdicts(WORLD))


def test_cost_biased_sampling_holds_partly_when_the_sum_is_not_lower():
    # The variant saves 1,000 of cost regret and loses more in quality.
    changes = {BIASED: ablation(BIASED, 2_000, 2_300), UNBIASED: ablation(UNBIASED, 3_000, 500)}
    assert verdicts(WORLD | changes)["cost-biased"].verdict == "partly"


def test_a_small_scale_says_nothing_against_a_claim():
    """Few or short runs that do not confirm a claim are not at its scale; enough of them speak against it."""
    found = list((WORLD | everywhere("etc-cs", 10)).values())
    against = {claim.key: claim.verdict for claim in check_claims(found)}["cof-below-etc-cs"]
    assert against == "does not hold"
    for horizon, runs in ((T + 1, 1), (1, RUNS + 1)):
        larger = dict.fromkeys(paper_scale(), (horizon, runs))
        small = {claim.key: claim for claim in check_claims(found, larger)}
        assert small["cof-below-etc-cs"].verdict == "not at this scale"
        assert "have fewer pulls or runs than the paper's" in small["cof-below-etc-cs"].measured
        assert "holds" in {claim.verdict for claim in small.values()}
        assert not {"does not hold", "partly"} & {claim.verdict for claim in small.values()}
    same = dict.fromkeys(paper_scale(), (T, RUNS))
    assert {claim.key: claim.verdict for claim in check_claims(found, same)}["cof-below-etc-cs"] == against


def test_without_results_nothing_is_tested():
    assert {claim.verdict for claim in check_claims([])} == {"not tested"}
    assert factors([]) == []
    assert event_times([]) == []


@pytest.mark.parametrize("missing", [("goodreads", 0.3, "cof"), ("movielens", 0.25, "ts-cs"), NU2, BIASED])
def test_a_claim_that_lacks_a_cell_is_not_tested_and_the_others_are(missing):
    found = verdicts({key: outcome for key, outcome in WORLD.items() if key != missing})
    untested = {key for key, claim in found.items() if claim.verdict == "not tested"}
    expected = {
        ("goodreads", 0.3, "cof"): {
            "cof-below-etc-cs",
            "cof-below-pe-cs",
            "etc-cs-high",
            "pe-cs-plateau",
            "cof-no-plateau",
            "pe-cs-small-alpha",
            "regret-flattens",
            "principled-correct",
            "others-below-cof",
        },
        ("movielens", 0.25, "ts-cs"): {"ts-cs-outliers", "others-below-cof"},
        NU2: {"combining-regret", "combining-time"},
        BIASED: {"cost-biased"},
    }
    assert untested == expected[missing]
    for key in untested:
        assert "1 of the " in found[key].measured


def test_the_paper_runs_all_that_the_claims_need():
    cells = {(cell.instance, cell.alpha, cell.policy) for cell in cells_of(experiments(), Settings())}
    assert set(WORLD) == cells


def test_one_run_decides_nothing_that_needs_a_spread():
    alone = {
        key: made(key, np.zeros((1, MARKS)) + 100, events=[(0, 50_000, "optimal", 1)])
        for key in (NU1, NU1_WITHOUT, NU2, NU2_WITHOUT)
    }
    alone |= {("movielens", 0.25, "ts-cs"): flat(("movielens", 0.25, "ts-cs"), 100, runs=1)}
    found = verdicts(WORLD | alone)
    for key in ("exclusive-regret", "exclusive-time", "combining-regret", "combining-time", "ts-cs-outliers"):
        assert found[key].verdict == "not tested"
        assert "run" in found[key].measured
    assert math.isnan(event_times(list(alone.values()))[0].cof_error)


def test_two_checkpoints_show_no_slope():
    short = {("movielens", 0.3, "ucb-cs"): made(("movielens", 0.3, "ucb-cs"), np.full((RUNS, 2), 10))}
    found = verdicts(WORLD | short)
    assert found["regret-flattens"].verdict == found["ucb-cs-late-growth"].verdict == "not tested"
    assert found["ucb-cs-late-growth"].measured == "2 checkpoints are too few to see a slope."


@pytest.mark.parametrize("policy", PAPER_POLICIES)
def test_no_regret_at_all_is_no_error(policy):
    found = verdicts(WORLD | everywhere(policy, 0))
    assert all(claim.verdict in VERDICTS for claim in found.values())
    assert not any("nan" in claim.measured for claim in found.values())


def test_nobody_has_regret():
    found = verdicts({key: made(key, np.zeros((RUNS, MARKS))) for key in WORLD})
    assert found["cof-below-etc-cs"].verdict == "does not hold"
    assert found["combining-regret"].verdict == "does not hold"
    assert found["principled-correct"].verdict == "holds"


def test_late_pulls_and_settled_runs_are_told_apart():
    claim = verdicts(WORLD | unsettled("cof", GOODREADS[:2]))["principled-correct"]
    assert claim.measured == (
        "On a*: COF 100% of late pulls, 92% of runs settled (less than 95% at Goodreads 0.01, 0.05); "
        "PE-CS 100% of late pulls, 100% of runs settled; ETC-CS 100% of late pulls."
    )
    claim = verdicts(WORLD | wrong_arm("etc-cs", GOODREADS[:1]))["principled-correct"]
    assert "ETC-CS 96% of late pulls (less than 95% at Goodreads 0.01)." in claim.measured


def test_untested_claims_tell_which_experiment_they_want():
    found = check_claims([WORLD[BIASED], WORLD[UNBIASED]])
    wants = {claim.key: claim.wants for claim in found}
    assert wants["cost-biased"] == ""
    assert wants["principled-correct"] == "vary-alpha"
    assert wants["regret-flattens"] == "regret-vs-time"
    assert wants["exclusive-time"] == "ablation-exclusive"
    assert all(claim.wants for claim in found if claim.key != "cost-biased")


def test_exceptions_and_factors_are_named():
    found = verdicts(WORLD | everywhere("etc-cs", 10_000, [0.01, 0.05], ["goodreads"]))
    claim = found["cof-below-etc-cs"]
    assert claim.verdict == "holds"
    assert "24 of 26 places" in claim.measured
    assert "COF is not lower at Goodreads 0.01, 0.05." in claim.measured
    ratios = [10_000 / FALLING[alpha] for alpha in (0.01, 0.05)]
    ratios += [30_000 / FALLING[alpha] for alpha in (*ALPHAS[2:], *ALPHAS)]
    mean = math.exp(np.mean(np.log(ratios)))
    assert f"{mean:.1f} times that of COF (geometric mean)" in claim.measured


def test_the_late_growth_tells_its_time_and_its_arm():
    measured = verdicts(WORLD)["ucb-cs-late-growth"].measured
    assert "from t = 2,000,000, 40% of the horizon" in measured
    assert "not feasible and cheaper than a*" in measured
    dear = verdicts(WORLD | {("movielens", 0.3, "ucb-cs"): late(cheap=False)})["ucb-cs-late-growth"].measured
    assert "feasible and more expensive than a*" in dear


def test_outliers_are_counted():
    measured = verdicts(WORLD)["ts-cs-outliers"].measured
    assert "Goodreads 0.3: 1 of 4 runs (worst run 50.0 times the median; 1 linear)" in measured


def test_feasible_arms_are_checked():
    measured = verdicts(WORLD)["large-alpha"].measured
    assert "All arms are feasible from alpha 0.15 on Goodreads and 0.2 on MovieLens." in measured
    for name, alpha in (("goodreads", 0.15), ("movielens", 0.2)):
        assert instance(name, alpha).feasible.all()
        assert not instance(name, alpha - 0.05).feasible.all()


def test_a_run_without_the_event_counts_as_the_horizon():
    outcome = ablation(NU2_WITHOUT, 150_000, 3_000, nu2_events(80_000, 190_000, 700_000))
    result = outcome.result
    kept = result.events[~((result.events["run"] == 0) & (result.events["arm"] == 2))]
    object.__setattr__(result, "events", kept)
    found = WORLD | {NU2_WITHOUT: outcome}
    row = next(row for row in event_times(list(found.values())) if row.event == "a3 deemed infeasible")
    assert (row.cof_missing, row.variant_missing) == (0, 1)
    assert row.variant_mean == pytest.approx((T + 700_000 * (0.99 + 1.01 + 1.02)) / 4)
    measured = verdicts(found)["combining-time"].measured
    assert "1 run of COF (no combine) without it, counted as the horizon" in measured


def test_times_are_the_first_of_each_run():
    twice = nu1_events(30_000, 50_000) + nu1_events(60_000, 90_000)
    rows = event_times([ablation(NU1, 1, 1, twice), WORLD[NU1_WITHOUT]])
    assert [row.event for row in rows] == ["a1 deemed infeasible", "a2 deemed optimal"]
    assert [row.cof_mean for row in rows] == [30_000, 50_000]
    own = 50_000 * np.array([0.98, 0.99, 1.01, 1.02])
    other = 1.5 * own
    expected = (other.mean() - own.mean()) / math.hypot(own.std(ddof=1) / 2, other.std(ddof=1) / 2)
    assert rows[1].difference == pytest.approx(expected)


def test_factors_are_ratios_to_cof():
    rows = factors(list(WORLD.values()))
    assert [(row.instance, row.alpha) for row in rows] == GOODREADS + MOVIELENS
    first = rows[0]
    assert first.regrets["cof"] == pytest.approx(20_000, rel=1e-4)
    assert set(first.regrets) == set(PAPER_POLICIES)
    assert first.factors["pe-cs"] == pytest.approx(0.8, rel=1e-4)
    assert "cof" not in first.factors
    alone = factors([WORLD["goodreads", 0.3, "pe-cs"]])
    assert [(row.regrets.keys(), row.factors) for row in alone] == [({"pe-cs"}, {})]


def test_the_slope_of_a_line_is_one_and_of_a_plateau_is_zero():
    key = ("goodreads", 0.3, "cof")
    assert late_growth(linear(key, 50_000).result) == pytest.approx(1, rel=1e-3)
    assert late_growth(flat(key, 50_000).result) == pytest.approx(0)
    half = np.minimum(TIMES, T // 2) * (50_000 / worst(key) / T)
    half = half + TIMES * (10_000 / worst(key) / T)
    ratio = late_growth(made(key, np.tile(half, (RUNS, 1))).result)
    assert ratio == pytest.approx(10_000 / 35_000, rel=1e-3)


@pytest.mark.parametrize("start", [0, 2, 7])
def test_steady_growth_is_dated(start):
    assert steady_from(late(start).result) == (TIMES[start - 1] if start else 0)
