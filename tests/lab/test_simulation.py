"""Properties 5, 7 and 8 of the design, checkpoints, reward models, and what simulate refuses."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.registry import policies
from frugalbandits.lab.draws import draw_sum

HORIZON = 3_000


def same(one, other):
    return (
        np.array_equal(one.pulls, other.pulls)
        and np.array_equal(one.events, other.events)
        and np.array_equal(one.times, other.times)
        and np.array_equal(one.plans, other.plans)
    )


@pytest.mark.parametrize("name", policies())
def test_seed_decides_and_workers_do_not(name):
    problem = fb.Problem([0.3, 0.6, 0.7], [1, 2, 3], alpha=0.3)
    one = fb.simulate(problem, name, HORIZON, runs=7, seed=3, workers=1)
    assert same(one, fb.simulate(problem, name, HORIZON, runs=7, seed=3, workers=2))
    assert same(one, fb.simulate(problem, name, HORIZON, runs=7, seed=3, workers=5))
    other = fb.simulate(problem, name, HORIZON, runs=7, seed=4)
    # Explore-then-commit pulls the same arms whatever it sees, here.
    assert name == "etc-cs" or not np.array_equal(one.pulls, other.pulls)


@pytest.mark.parametrize("name", policies())
def test_a_run_does_not_depend_on_how_many_there_are(name):
    problem = fb.instance("nu1")
    few = fb.simulate(problem, name, HORIZON, runs=3, seed=11)
    many = fb.simulate(problem, name, HORIZON, runs=9, seed=11)
    assert np.array_equal(few.pulls, many.pulls[:3])
    assert np.array_equal(few.events, many.events[many.events["run"] < 3])


@pytest.mark.parametrize("name", policies())
@given(data=st.data())
def test_permuting_arms_permutes_the_result(name, data):
    arms = data.draw(st.integers(2, 8))
    problem = fb.random_problem(arms, alpha=0.2, seed=data.draw(st.integers(0, 1000)))
    order = data.draw(st.permutations(range(arms)))
    shuffled = fb.Problem(problem.means[order], problem.costs[order], 0.2)
    one = fb.simulate(problem, name, HORIZON, runs=3)
    other = fb.simulate(shuffled, name, HORIZON, runs=3)
    assert np.array_equal(one.pulls[:, :, order], other.pulls)
    assert np.allclose(one.summed_regret, other.summed_regret)
    assert one.events["arm"].tolist() == [order[arm] for arm in other.events["arm"]]
    assert [order[arm] if arm >= 0 else -1 for arm in other.final_arm] == one.final_arm.tolist()
    assert other.late_share.tolist() == one.late_share.tolist()


@pytest.mark.parametrize("name", policies())
@pytest.mark.parametrize("checkpoints", [1, 7, 500, [1, 2, 3, 1000, 1001], HORIZON])
def test_regret_is_gaps_times_pulls_and_pulls_sum_to_the_time(name, checkpoints):
    problem = fb.instance("nu2")
    result = fb.simulate(problem, name, HORIZON, runs=4, checkpoints=checkpoints)
    assert result.times[-1] == HORIZON
    assert result.pulls.shape == (4, len(result.times), 12)
    assert (result.pulls.sum(axis=2) == result.times).all()
    assert (np.diff(result.pulls, axis=1) >= 0).all()
    cost = sum(result.pulls[:, :, k] * problem.cost_gaps[k] for k in range(12))
    quality = sum(result.pulls[:, :, k] * problem.quality_gaps[k] for k in range(12))
    assert np.allclose(result.cost_regret, cost, rtol=1e-12)
    assert np.allclose(result.quality_regret, quality, rtol=1e-12)
    assert np.allclose(result.summed_regret, cost + quality, rtol=1e-12)


@pytest.mark.parametrize("name", policies())
def test_checkpoints_do_not_change_the_run(name):
    problem = fb.instance("movielens", alpha=0.1)
    fine = fb.simulate(problem, name, HORIZON, runs=3, checkpoints=HORIZON)
    coarse = fb.simulate(problem, name, HORIZON, runs=3, checkpoints=[17, 400, 2999])
    assert coarse.times.tolist() == [17, 400, 2999, HORIZON]
    assert np.array_equal(fine.pulls[:, coarse.times - 1], coarse.pulls)
    assert (np.diff(fine.pulls, axis=1).sum(axis=2) == 1).all()


@pytest.mark.parametrize("name", ["cof", "cof-no-combine", "cof-no-exclusive", "cof-cost-biased", "pe-cs"])
def test_events_tell_the_story(name):
    problem = fb.Problem([0.1, 0.5, 0.9, 0.3], [1, 2, 3, 4], alpha=0.2)
    result = fb.simulate(problem, name, 100_000, runs=5)
    for run in range(5):
        story = result.events[result.events["run"] == run]
        assert story["event"].tolist() == ["infeasible", "infeasible", "optimal"]
        assert story["arm"].tolist() == [0, 1, 2]
        assert (np.diff(story["time"]) >= 0).all()
        after = result.times > story["time"][-1]
        assert (np.diff(result.pulls[run, after][:, 2]) == np.diff(result.times[after])).all()
    assert result.found_optimal == 1.0


def test_cost_biased_sampling_saves_most_of_the_cost():
    problem = fb.instance("cost-biased")
    uniform = fb.simulate(problem, "cof", 200_000, runs=20)
    biased = fb.simulate(problem, "cof-cost-biased", 200_000, runs=20)
    assert biased.cost_regret[:, -1].mean() < 0.25 * uniform.cost_regret[:, -1].mean()
    assert biased.quality_regret[:, -1].mean() < 1.3 * uniform.quality_regret[:, -1].mean()
    assert biased.late_on_optimal > uniform.late_on_optimal


def test_progress_is_told_run_by_run():
    seen = []
    fb.simulate(
        fb.instance("nu1"), "pe-cs", HORIZON, runs=6, progress=lambda done, all_: seen.append((done, all_))
    )
    assert seen == [(i, 6) for i in range(1, 7)]


def test_an_error_in_the_callback_stops_the_simulation():
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fb.simulate(fb.instance("nu1"), "cof", HORIZON, runs=20, progress=stop)


def test_runs_that_have_begun_are_stopped_too():
    """To the end, these runs would take a month."""
    problem = fb.instance("movielens", alpha=0.3)
    # Compiled before, so that what is interrupted are the runs.
    fb.simulate(problem, "ts-cs", 100, runs=1)

    def interrupt():
        time.sleep(1.0)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        fb.simulate(problem, "ts-cs", 10**12, runs=4, checkpoints=1)
    thread.join()


def test_streams_are_the_children_of_the_seed():
    """A run's stream is what SeedSequence(seed).spawn gives it."""
    spawned = np.random.SeedSequence(3).spawn(5)[4].generate_state(4)
    assert np.array_equal(np.random.SeedSequence(3, spawn_key=(4,)).generate_state(4), spawned)


def test_tables_are_tidy():
    problem = fb.Problem([0.2, 0.9], [1, 2], 0.1, names=["small", "large"])
    result = fb.simulate(problem, "cof", 5_000, runs=3, checkpoints=5)
    regret = result.to_polars()
    assert regret.columns == [
        "policy", "alpha", "quality", "run", "time", "cost_regret", "quality_regret", "summed_regret",
        "scaled_regret", "promise_regret", "delivered", "spend_over_oracle",
    ]  # fmt: skip
    assert regret.height == 15
    assert regret["summed_regret"].to_list() == result.summed_regret.ravel().tolist()
    assert regret["scaled_regret"].to_list() == result.scaled_regret.ravel().tolist()
    pulls = result.to_polars("pulls")
    assert pulls.height == 30
    assert pulls["pulls"].to_list() == result.pulls.ravel().tolist()
    assert pulls["arm"].to_list()[:2] == ["small", "large"]
    events = result.to_polars("events")
    assert events["event"].to_list()[:2] == ["infeasible", "optimal"]
    assert events["arm"].to_list()[:2] == ["small", "large"]
    empty = fb.simulate(problem, "ucb-cs", 100, runs=1).to_polars("events")
    assert empty.height == 0 and empty.columns == events.columns
    with pytest.raises(fb.InputError, match="'sums'"):
        result.to_polars("sums")


# Reward models.

PROBLEM = fb.Problem([0.3, 0.7, 0.5], [3, 1, 2], 0.2)


def sums_of(model, arm_rank, pulls, count=20_000, problem=PROBLEM):
    draws = model.draws(problem)
    rng = np.random.default_rng(5)
    return np.array([draw_sum(draws, arm_rank, pulls, rng) for _ in range(count)])


@pytest.mark.parametrize(
    ("model", "variance"),
    [
        (fb.Bernoulli(), lambda m: m * (1 - m)),
        (fb.TwoPoint(0.2, 0.9), lambda m: (m - 0.2) * (0.9 - m)),
        (fb.BetaRewards(3.0), lambda m: m * (1 - m) / 4.0),
    ],
)
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_sums_have_the_right_moments(model, variance, rank):
    """False alarm: each z is within 5 with probability above 1 - 1e-6 (means) and nearly so (variances)."""
    mean = PROBLEM.means[PROBLEM.order][rank]
    sums = sums_of(model, rank, 12)
    spread = 12 * variance(mean)
    assert abs(sums.mean() - 12 * mean) < 5 * np.sqrt(spread / sums.size)
    assert abs(sums.var() / spread - 1) < 5 * np.sqrt(2 / sums.size) * 1.5


def test_empirical_rewards_follow_their_table():
    """Chi-square of single draws at level 1e-6."""
    from scipy.stats import chisquare

    observed = {"x": [0, 0, 0.25, 1], "y": [1, 1, 1], "z": [0.5, 0.1, 0.1, 0.1, 0.9, 0.9]}
    model = fb.Empirical(observed)
    problem = model.problem(costs=[2, 3, 1], alpha=0.1)
    assert problem.names == ("x", "y", "z")
    sums = sums_of(model, 0, 1, problem=problem)  # rank 0 is the cheapest arm, "z"
    values, counts = np.unique(sums, return_counts=True)
    assert values.tolist() == [0.1, 0.5, 0.9]
    assert chisquare(counts, sums.size * np.array([3, 1, 2]) / 6).pvalue > 1e-6
    assert (sums_of(model, 2, 9, 10, problem=problem) == 9.0).all()
    result = fb.simulate(problem, "cof", 2_000, runs=3, rewards=model)
    assert (result.pulls[:, -1].sum(axis=1) == 2_000).all()


def test_rewards_by_name_and_by_model_agree():
    by_name = fb.simulate(PROBLEM, "cof", 1_000, runs=2, rewards="beta")
    by_model = fb.simulate(PROBLEM, "cof", 1_000, runs=2, rewards=fb.BetaRewards())
    assert same(by_name, by_model)
    assert not same(by_name, fb.simulate(PROBLEM, "cof", 1_000, runs=2))


# Bad input: the value is named, and nothing is simulated.


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"policy": "coff"}, ["'coff'", "did you mean 'cof'"]),
        ({"policy": 3}, ["3", "Policy"]),
        ({"horizon": 0}, ["horizon", "0"]),
        ({"horizon": 3}, ["horizon", "3"]),
        ({"horizon": 10.5}, ["10.5"]),
        ({"horizon": float("nan")}, ["nan"]),
        ({"horizon": "soon"}, ["'soon'"]),
        ({"runs": 0}, ["runs", "0"]),
        ({"runs": 2.5}, ["runs", "2.5"]),
        ({"runs": True}, ["runs", "True"]),
        ({"workers": 0}, ["workers", "0"]),
        ({"seed": -1}, ["seed", "-1"]),
        ({"seed": "x"}, ["seed", "'x'"]),
        ({"checkpoints": 0}, ["checkpoints", "0"]),
        ({"checkpoints": []}, ["checkpoints"]),
        ({"checkpoints": [0, 5]}, ["0"]),
        ({"checkpoints": [5, 200]}, ["200", "100"]),
        ({"checkpoints": [1.5]}, ["1.5"]),
        ({"rewards": "gamma"}, ["'gamma'", "bernoulli"]),
        ({"rewards": 1}, ["1"]),
        ({"rewards": fb.TwoPoint(0.4, 0.9)}, ["0.3", "'a1'"]),
        ({"rewards": fb.Empirical([[0.3], [0.7]])}, ["2", "3 arms"]),
        ({"rewards": fb.Empirical([[0.3], [0.7], [0.6]])}, ["'a3'", "0.6", "0.5"]),
    ],
)
def test_bad_input_is_named(change, words):
    arguments = {"problem": PROBLEM, "policy": "cof", "horizon": 100, "runs": 2, **change}
    with pytest.raises(fb.InputError) as caught:
        fb.simulate(**arguments)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fb.COF(delta=0), "0"),
        (lambda: fb.COF(delta=1.0), "1.0"),
        (lambda: fb.COF(sampling="greedy"), "'greedy'"),
        (lambda: fb.PECS(kappa=-1), "-1"),
        (lambda: fb.PECS(kappa=1.5), "1.5"),
        (lambda: fb.ETCCS(budget=0), "0"),
        (lambda: fb.ETCCS(budget=1.5), "1.5"),
        (lambda: fb.TwoPoint(0.5, 0.5), "0.5"),
        (lambda: fb.BetaRewards(0), "0"),
        (lambda: fb.BetaRewards(2).draws(fb.Problem([0, 0.5], [1, 2], 0.1)), "'a1'"),
        (lambda: fb.Empirical([[0.5], [1.5]]), "1.5"),
        (lambda: fb.Empirical([[0.5], []]), "arm 1"),
        (lambda: fb.register("cof", fb.COF()), "'cof'"),
        (lambda: fb.register("mine", "cof"), "'cof'"),
    ],
)
def test_bad_settings_are_named(make, words):
    with pytest.raises(fb.InputError, match=words):
        make()
