"""The oracles against linear programmes and against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from scipy.optimize import linprog

import frugalbandits as fb
from frugalbandits.lab.contextual.oracle import KINDS, best_rule, walk
from routing_harness import populations

CLOSE = {"abs": 1e-7, "rel": 1e-7}


def programme(costs, means, weights, bar):
    """Least cost of choices by group whose mean quality reaches the bar; None where none does."""
    groups, options = costs.shape
    each = np.kron(np.eye(groups), np.ones(options))
    found = linprog(
        (costs * weights[:, None]).ravel(),
        A_ub=[-(means * weights[:, None]).ravel()],
        b_ub=[-bar],
        A_eq=each,
        b_eq=np.ones(groups),
        bounds=(0, 1),
        method="highs",
    )
    return found.fun if found.status == 0 else None


def averages(problem, groups):
    costs = np.broadcast_to(problem.costs, problem.rewards.shape)
    parts = [groups == each for each in np.unique(groups)]
    return (
        np.array([costs[part].mean(axis=0) for part in parts]),
        np.array([problem.rewards[part].mean(axis=0) for part in parts]),
        np.array([part.mean() for part in parts]),
    )


@given(problem=populations(queries=(1, 12)))
def test_the_mix_and_the_rule_by_segment_solve_the_linear_programme(problem):
    oracle = problem.oracle()
    for rule, groups in ((oracle.mix, np.zeros(problem.queries)), (oracle.segments, problem.segment)):
        costs, means, weights = averages(problem, groups)
        least = programme(costs, means, weights, problem.bar)
        assert rule.reaches == (least is not None)
        if least is not None:
            assert rule.cost == pytest.approx(least, **CLOSE)
            assert rule.quality >= problem.bar - 1e-9
        else:
            assert rule.quality == pytest.approx((means.max(axis=1) * weights).sum())


@given(problem=populations())
def test_the_linear_rule_is_the_best_of_all_lambdas(problem):
    """By brute force: every lambda at which some query changes, and the points between two of them."""
    costs = np.broadcast_to(problem.costs, problem.rewards.shape)
    fit = problem.encoded @ np.linalg.pinv(problem.encoded) @ problem.rewards
    fit = np.round(fit, 10)  # ties in the data are ties here too
    ratios = {0.0}
    for c, m in zip(costs, fit, strict=True):
        for i in range(problem.options):
            for j in range(problem.options):
                if m[j] > m[i] and c[j] >= c[i]:
                    ratios.add(round((c[j] - c[i]) / (m[j] - m[i]), 9))
    edges = sorted(ratios)
    between = [(a + b) / 2 for a, b in zip(edges, [*edges[1:], edges[-1] + 1.0], strict=True)]
    points = []
    for price in between:
        score = costs - price * fit
        # At such a lambda the only ties are between options that are the same to the rule.
        chosen = np.array([min(np.flatnonzero(row <= row.min() + 1e-9)) for row in score])
        rows = np.arange(problem.queries)
        points.append((costs[rows, chosen].mean(), problem.rewards[rows, chosen].mean()))
    same = any(
        len({(a, b) for a, b in zip(c.tolist(), m.tolist(), strict=True)}) < problem.options
        for c, m in zip(costs, fit, strict=True)
    )
    assume(not same)  # which of two such options is taken is not said
    weights = np.full(problem.queries, 1 / problem.queries)
    found = best_rule("linear", walk(costs, fit, problem.rewards, weights), problem.bar)
    at = next((k for k, (_, quality) in enumerate(points) if quality >= problem.bar - 1e-9), None)
    assert found.reaches == (at is not None)
    if at is not None:
        cost, quality = points[at]
        if at > 0:
            before_cost, before = points[at - 1]
            share = (problem.bar - before) / (quality - before)
            cost = before_cost + share * (cost - before_cost)
        assert found.cost == pytest.approx(cost, **CLOSE)


@given(problem=populations(queries=(1, 3)))
def test_a_fit_without_error_solves_the_programme_of_each_query(problem):
    """With a segment for each query nothing is left to fit."""
    own = fb.ContextualProblem(
        None,
        list(range(problem.queries)),
        problem.rewards,
        problem.costs[0] if len(problem.costs) == 1 else problem.costs,
        problem.quality,
    )
    costs = np.broadcast_to(own.costs, own.rewards.shape)
    weights = np.full(own.queries, 1 / own.queries)
    least = programme(costs, own.rewards, weights, own.bar)
    for rule in (own.oracle().linear, own.oracle().segments):
        assert rule.reaches == (least is not None)
        if least is not None:
            assert rule.cost == pytest.approx(least, **CLOSE)


@given(problem=populations(queries=(1, 12)))
def test_who_looks_at_more_pays_no_more(problem):
    oracle = problem.oracle()
    if oracle.single.reaches:
        assert oracle.mix.reaches and oracle.mix.cost <= oracle.single.cost + 1e-9
    if oracle.mix.reaches:
        assert oracle.segments.reaches and oracle.segments.cost <= oracle.mix.cost + 1e-9
    able = [rule.cost for rule in oracle.rules if rule.reaches]
    assert oracle.best.reaches == bool(able)
    assert not able or oracle.best.cost == min(able)


@given(problem=populations(queries=(1, 12)))
def test_walks_are_rules(problem):
    for kind in KINDS:
        path = problem.rules(kind)
        assert path.price[0] == 0 and (np.diff(path.price) > 0).all()
        assert (np.diff(path.cost) >= -1e-9).all()
        assert path.shares.min() >= -1e-9
        assert path.shares.sum(axis=1) == pytest.approx(1.0)
        if kind != "linear":
            assert (np.diff(path.quality) >= -1e-9).all()
        if len(problem.costs) == 1:
            assert path.cost == pytest.approx(path.shares @ problem.costs[0])


def test_the_price_is_what_a_little_more_quality_costs():
    problem = fb.synthetic_routing(3, queries=400, quality="at-least:0.75")
    for kind in KINDS:
        rule = getattr(problem.oracle(), kind)
        more = getattr(problem.with_quality(f"at-least:{0.75 + 1e-5}").oracle(), kind)
        assert rule.reaches and more.reaches
        slope = (more.cost - rule.cost) / 1e-5
        if kind != "linear":  # a fit may be off, and then so is its price
            assert slope == pytest.approx(rule.price, rel=1e-3)


def test_what_nobody_reaches():
    problem = fb.ContextualProblem(None, ["x", "y"], [[0.2, 0.4], [0.5, 0.1]], [1, 2], "at-least:0.9")
    oracle = problem.oracle()
    assert not any(rule.reaches for rule in (oracle.single, *oracle.rules))
    assert oracle.segments.quality == pytest.approx(0.45) == oracle.best.quality
    assert problem.names[problem.optimal_option] == "a1"  # the best single one


def test_a_kind_that_is_none():
    with pytest.raises(fb.InputError, match="kind must be 'mix', 'segments', 'linear', but it is 'greedy'"):
        fb.synthetic_routing(1, queries=10).rules("greedy")
