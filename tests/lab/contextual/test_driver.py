"""The driver: what it draws, hands on and writes down; laws have fixed seeds, false alarms are below 1e-4."""

from __future__ import annotations

import math
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import frugalbandits as fb
from frugalbandits.core.contextual.contract import Choice
from frugalbandits.errors import InputError
from frugalbandits.lab.contextual import running
from frugalbandits.lab.contextual.baselines import LinUCB
from frugalbandits.lab.contextual.driver import WANTED
from routing_harness import play, populations, small

FEW = 4.5  # standard errors: a false alarm in 150,000


def at_random(state, phi, costs, usable, rng, floors):
    return Choice(int(rng.integers(len(usable))), 1.0 / len(usable), True)


def ignore(state, phi, arm, propensity, reward, floors):
    pass


@given(
    problem=populations(),
    delay=st.integers(0, 12),
    feedback=st.sampled_from([0.3, 1.0]),
    seed=st.integers(0, 99),
)
def test_the_books_are_what_happened(problem, delay, feedback, seed):
    times = [1, 7, 20]
    played = play(problem, "squarecb", 20, seed, delay=delay, feedback=feedback, times=times)
    queries = [problem.encoded.tolist().index(list(asked.phi)) for asked in played.asked]
    for place, time in enumerate(times):
        asked = played.asked[:time]
        assert played.books.cost[place] == pytest.approx(sum(each.costs[each.arm] for each in asked))
        assert played.books.judged[place] == sum(told.decisions <= time for told in played.told)
        pulls = Counter(each.arm for each in asked)
        assert played.books.pulls[place].sum(axis=0).tolist() == [pulls[k] for k in range(problem.options)]
        by_segment = Counter(problem.segment[query] for query in queries[:time])
        rows = played.books.pulls[place].sum(axis=1)
        # Queries that look the same may differ in their segment only if there are none.
        assert rows.tolist() == [by_segment[s] for s in range(len(problem.segment_names))]


@given(problem=populations(), delay=st.integers(0, 12), feedback=st.sampled_from([0.3, 1.0]))
def test_feedback_is_of_its_own_decision_and_as_late_as_was_said(problem, delay, feedback):
    played = play(problem, "squarecb", 40, delay=delay, feedback=feedback)
    for told in played.told:
        asked = played.asked[told.decisions - 1 - delay]
        assert (told.phi, told.arm, told.propensity) == (asked.phi, asked.arm, asked.propensity)
    at = [told.decisions for told in played.told]
    assert at == sorted(set(at))
    if feedback == 1.0:
        assert at == list(range(delay + 1, 41))


@pytest.mark.parametrize("late", [0, 1, 40])
def test_no_weight_is_ever_above_1(late):
    """e_k / p_k of the option chosen, however late its reward is."""
    told = []

    def learn(state, phi, arm, propensity, reward, floors):
        told.append(floors[arm] / propensity)
        fb.DualCOF.learn(state, phi, arm, propensity, reward, floors)

    play(small(), "dual-cof", 400, delay=late, learn=learn)
    assert len(told) == 400 - late and max(told) <= 1.0 and min(told) > 0.0


def test_the_driver_hands_back_what_was_put_down():
    seen, back = [], []

    def choose(state, phi, costs, usable, rng, floors):
        floors[:] = rng.random(len(floors))
        seen.append(floors.copy())
        return Choice(0, 1.0, True)

    play(small(), "linucb", 60, delay=7, choose=choose, learn=lambda *given: back.append(given[5].copy()))
    np.testing.assert_array_equal(back, seen[:53])


def test_the_quality_is_the_true_one_and_rewards_are_drawn_around_it():
    problem = small(queries=40)
    played = play(problem, "linucb", 4_000, choose=at_random, learn=ignore)
    rows = {tuple(phi): row for phi, row in zip(problem.encoded, problem.rewards, strict=True)}
    means = np.array([rows[asked.phi][asked.arm] for asked in played.asked])
    assert played.books.quality[-1] == pytest.approx(means.sum())
    rewards = np.array([told.reward for told in played.told])
    assert set(rewards) == {0.0, 1.0}
    error = math.sqrt((means * (1 - means)).sum())
    assert abs(rewards.sum() - means.sum()) < FEW * error


def test_realised_rewards_are_handed_out_as_they_are():
    problem = fb.ContextualProblem(
        [[1.0], [2.0]], None, [[0.25, 0.5], [0.75, 1.0]], [1, 2], "at-least:0.5", realised=True
    )
    for told in play(problem, "squarecb", 200).told:
        assert told.reward == problem.rewards[int(told.phi[1]) - 1, told.arm]


def test_queries_are_drawn_with_replacement_each_as_likely():
    problem = small(queries=50)
    played = play(problem, "linucb", 5_000, choose=at_random, learn=ignore)
    seen = Counter(asked.phi for asked in played.asked)
    counts = [seen[tuple(phi)] for phi in problem.encoded]
    assert stats.chisquare(counts).pvalue > 1e-5


def test_the_share_that_is_judged():
    problem = small()
    for share in (0.05, 0.5):
        played = play(problem, "linucb", 5_000, feedback=share, choose=at_random, learn=ignore)
        error = math.sqrt(5_000 * share * (1 - share))
        assert abs(len(played.told) - 5_000 * share) < FEW * error
        # Which decisions these are has nothing to do with what was chosen, or with what came of it.
        rows = {tuple(phi): row for phi, row in zip(problem.encoded, problem.rewards, strict=True)}
        means = np.array([rows[told.phi][told.arm] for told in played.told])
        missed = sum(told.reward for told in played.told) - means.sum()
        assert abs(missed) < FEW * math.sqrt((means * (1 - means)).sum())
        judged = Counter(told.arm for told in played.told)
        chosen = Counter(asked.arm for asked in played.asked)
        for arm, count in chosen.items():
            assert abs(judged[arm] - share * count) < FEW * math.sqrt(count * share * (1 - share)) + 1


def test_what_is_wanted_is_judged():
    count = 0

    def choose(state, phi, costs, usable, rng, floors):
        nonlocal count
        count += 1
        return Choice(count % 3, 1.0, count % 4 == 0)

    played = play(small(), "linucb", 100, feedback=WANTED, choose=choose)
    assert [told.decisions for told in played.told] == list(range(4, 101, 4))


def test_policies_meet_the_same_queries():
    one, other = (play(small(), name, 300, feedback=0.4) for name in ("linucb", "squarecb"))
    assert [asked.phi for asked in one.asked] == [asked.phi for asked in other.asked]
    assert [told.decisions for told in one.told] == [told.decisions for told in other.told]
    assert [asked.arm for asked in one.asked] != [asked.arm for asked in other.asked]


def test_costs_of_the_query_are_those_that_are_paid():
    rewards = np.full((3, 2), 0.5)
    costs = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    problem = fb.ContextualProblem([[0.0], [1.0], [2.0]], None, rewards, costs, "at-least:0.2")
    for asked in play(problem, "squarecb", 50).asked:
        assert list(asked.costs) == costs[int(asked.phi[1])].tolist()


def test_machine_code_does_as_plain_python_does():
    problem = small(4, queries=80)
    for delay, feedback in ((0, 1.0), (30, 0.5)):
        times = [10, 200, 400]
        result = fb.simulate(
            problem, "linucb", 400, 2, 7, times, progress=False, delay=delay, feedback=feedback
        )
        for run in range(2):
            books = play(problem, "linucb", 400, 7, run, delay, feedback, times).books
            assert np.array_equal(result.segment_pulls[run], books.pulls)
            assert np.array_equal(result.judged[run], books.judged)
            assert result.cost[run] == pytest.approx(books.cost / times)
            assert result.quality[run] == pytest.approx(books.quality / times)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ts-cs-linear", "virtual-queue", "squarecb"])
def test_machine_code_of_the_other_baselines_too(name):
    problem = small(5, queries=80)
    result = fb.simulate(problem, name, 600, 1, 3, 1, progress=False)
    books = play(problem, name, 600, 3).books
    assert np.array_equal(result.segment_pulls[0], books.pulls)


def test_a_result_depends_on_the_seed_and_the_run_alone():
    problem = small(6, queries=200)

    def ran(runs=4, seed=1, **others):
        return fb.simulate(problem, LinUCB(weight=0.02), 500, runs, seed, progress=False, **others)

    first = ran(checkpoints=5)
    for workers in (1, 2, 3):
        again = ran(checkpoints=5, workers=workers)
        assert np.array_equal(first.segment_pulls, again.segment_pulls)
        assert np.array_equal(first.cost, again.cost) and np.array_equal(first.quality, again.quality)
    assert np.array_equal(first.cost[:2], ran(runs=2, checkpoints=5).cost)
    assert np.array_equal(first.cost[:, -1], ran(checkpoints=[17, 500]).cost[:, -1])
    assert not np.array_equal(first.cost, ran(seed=2, checkpoints=5).cost)
    assert len({row.tobytes() for row in first.cost}) == 4


def test_a_policy_that_chooses_what_is_no_option_is_stopped():
    played = play(small(), "linucb", 10, choose=lambda *_: Choice(3, 1.0, True))
    assert played.made == 0 and not played.told


def test_and_that_is_said(monkeypatch):
    class Drive:
        signatures = ("made",)

        def __call__(self, *arguments):
            return 7

    monkeypatch.setattr(running, "drive_of", lambda policy: Drive())
    with pytest.raises(InputError, match="linucb chose what is no option in decision 8 of run 0"):
        fb.simulate(small(), "linucb", 100, 1, progress=False)


BAD = [
    ({"policy": "dual-cofs"}, "no contextual policy is called 'dual-cofs'"),
    ({"policy": fb.VOICS()}, "looks at no query: on a ContextualProblem, say for instance 'voi-cs'"),
    ({"policy": 3}, "a contextual policy is a registered name or a ContextualPolicy, but this is 3"),
    ({"horizon": 3}, "horizon must be greater than the number of arms, 3"),
    ({"horizon": 10.5}, "horizon must be a whole number of pulls, but it is 10.5"),
    ({"runs": 0}, "runs must be a whole number, 1 or more, but it is 0"),
    ({"seed": -1}, "seed must be a whole number, 0 or more, but it is -1"),
    ({"delay": -1}, "delay must be a whole number of decisions, 0 or more, but it is -1"),
    ({"delay": 1.5}, "delay must be a whole number of decisions, 0 or more, but it is 1.5"),
    ({"feedback": 0}, "feedback must be a share in (0, 1] or 'wanted', but it is 0"),
    ({"feedback": "some"}, "feedback must be a share in (0, 1] or 'wanted', but it is 'some'"),
    ({"feedback": float("nan")}, "feedback must be finite, but it is nan"),
    ({"rewards": "beta"}, "a ContextualProblem has its rewards, but rewards='beta' is given too"),
    ({"problem": "nu1", "delay": 5}, "delay=5 and feedback=1.0 are for a ContextualProblem"),
    (
        {"problem": "nu1", "policy": LinUCB()},
        "looks at queries: it needs a ContextualProblem, but this is 'nu1'",
    ),
]


@pytest.mark.parametrize(("given", "said"), BAD, ids=[said[:40] for _, said in BAD])
def test_what_is_refused(given, said):
    told = {"problem": small(), "policy": "linucb", "horizon": 100, "runs": 1, "progress": False, **given}
    with pytest.raises(InputError, match=re.escape(said)):
        fb.simulate(**told)
