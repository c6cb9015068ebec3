"""Illustrations: what they show follows from the problem by the paper's formulas, and no words overlap."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

import frugalbandits as fb
from frugalbandits.errors import InputError
from frugalbandits.lab.paper.figures import illustrations
from frugalbandits.lab.paper.figures.illustrations import EXAMPLE, Snapshot

BOUNDS = [illustrations.cheap_bound, illustrations.expensive_bound, illustrations.joint_bound]
# Arms in no order, with names, ties and wide gaps.
PROBLEMS = [
    EXAMPLE,
    fb.instance("nu1"),
    fb.instance("nu2"),
    fb.instance("cost-biased"),
    fb.instance("movielens", 0.1),
    fb.Problem([0.9, 0.5, 0.7, 0.4], [9, 2, 5, 1], 0.3, names=["largest", "worth $1", "$2 or $3", "small"]),
    fb.Problem([0.5, 0.8, 0.8, 0.79], [1, 2, 2, 3], 0.01),
    fb.Problem([0.2, 0.9, 0.9], [1, 2, 3], 0.0),
]


def drawn_at(axes: Axes, label: str) -> tuple[float, float]:
    line: Any = next(line for line in axes.get_lines() if line.get_label() == label)
    return float(line.get_xdata()[0]), float(line.get_ydata()[0])


def labels(axes: Axes) -> list[str]:
    return [str(line.get_label()) for line in axes.get_lines()]


def words(figure: Figure) -> list[Any]:
    """All visible texts of a figure."""
    texts = [figure._suptitle, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in figure.axes:
        texts += [*axes.texts, axes.xaxis.label, axes.yaxis.label, axes.title]
        low, high = axes.get_xlim()
        texts += [
            tick
            for place, tick in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
            if low <= place <= high
        ]
        texts += axes.get_yticklabels()
    return [text for text in texts if text is not None and text.get_text()]


def assert_no_words_overlap(figure: Figure) -> None:
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    boxes = []
    for text in words(figure):
        box = text.get_window_extent(renderer)
        boxes.append((Bbox.from_extents(box.x0 + 1, box.y0 + 1, box.x1 - 1, box.y1 - 1), text.get_text()))
        assert figure.bbox.x0 - 1 <= box.x0 and box.x1 <= figure.bbox.x1 + 1, f"cut off: {text.get_text()}"
        assert figure.bbox.y0 - 1 <= box.y0 and box.y1 <= figure.bbox.y1 + 1, f"cut off: {text.get_text()}"
    clashes = [(one, two) for (a, one), (b, two) in itertools.combinations(boxes, 2) if a.overlaps(b)]
    assert clashes == []


@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
@pytest.mark.parametrize("bound", BOUNDS)
def test_no_words_overlap_or_are_cut_off(bound: Callable[[fb.Problem], Figure], problem: fb.Problem) -> None:
    figure = bound(problem)
    assert_no_words_overlap(figure)
    (axes,) = figure.axes
    frame = axes.get_window_extent()
    for text in axes.texts:
        if text.get_transform() == axes.transData and text.get_text():
            # What is said of an arrow stays within the axes, clear of the column beside them.
            extent = text.get_window_extent()
            assert frame.x0 - 1 <= extent.x0 and extent.x1 <= frame.x1 + 1


@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
def test_cheap_arms_are_lifted_to_the_threshold(problem: fb.Problem) -> None:
    (axes,) = illustrations.cheap_bound(problem).axes
    star = problem.order.tolist().index(problem.optimal_arm)
    for k, arm in enumerate(problem.order.tolist()):
        assert drawn_at(axes, f"mean {k}") == (problem.means[arm], k)
        assert (f"changed {k}" in labels(axes)) == (k < star)
        if k < star:
            assert drawn_at(axes, f"changed {k}") == (pytest.approx(problem.threshold), k)
    texts = [text.get_text() for text in axes.texts]
    gap = problem.threshold - problem.means[problem.order[0]]
    assert rf"$\Delta_{{Q,1}}$ = {gap:.3g}" in texts
    low, high = axes.get_ylim()
    assert low > high, "the cheapest arm stands at the top"


def test_the_numbers_beside_cheap_arms_are_the_bounds() -> None:
    texts = [text.get_text() for text in illustrations.cheap_bound().axes[0].texts]
    # 2 / 0.22^2 and 2 / 0.08^2.
    assert [text for text in texts if text.endswith(r" $\log T$")] == [r"41.32 $\log T$", r"312.5 $\log T$"]


@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
def test_expensive_arms_are_lifted_to_the_inflated_mean_of_the_optimal_arm(problem: fb.Problem) -> None:
    (axes,) = illustrations.expensive_bound(problem).axes
    star = problem.order.tolist().index(problem.optimal_arm)
    target = problem.means[problem.optimal_arm] / (1 - problem.alpha)
    changed = [label for label in labels(axes) if label.startswith("changed")]
    assert changed == [f"changed {k}" for k in range(star + 1, problem.arms)]
    assert all(drawn_at(axes, label)[0] == pytest.approx(target) for label in changed)


def test_a_gap_of_nothing_has_an_infinite_bound() -> None:
    problem = fb.Problem([0.2, 0.9, 0.9], [1, 2, 3], 0.0)
    assert r"$\infty$" in [text.get_text() for text in illustrations.expensive_bound(problem).axes[0].texts]


@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
def test_the_joint_bound_diminishes_exactly_the_arms_that_can_eliminate_the_best_cheap_arm(
    problem: fb.Problem,
) -> None:
    (axes,) = illustrations.joint_bound(problem).axes
    order = problem.order.tolist()
    star = order.index(problem.optimal_arm)
    dagger = max(order[:star], key=lambda arm: problem.means[arm])
    target = problem.means[dagger] / (1 - problem.alpha)
    expected = [f"changed {k}" for k, arm in enumerate(order) if problem.means[arm] > target + 1e-12]
    assert [label for label in labels(axes) if label.startswith("changed")] == expected
    assert expected
    assert all(drawn_at(axes, label)[0] == pytest.approx(target) for label in expected)
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert [r"a_\dagger" in name for name in names] == [arm == dagger for arm in order]
    ranks = [int(name.split(r"\phi(")[1].split(")")[0]) for name in names]
    by_rank = [problem.means[order[ranks.index(i + 1)]] for i in range(problem.arms)]
    assert by_rank == sorted(problem.means, reverse=True)


def test_two_arms_of_the_example_are_diminished_and_the_third_is_not() -> None:
    (axes,) = illustrations.joint_bound().axes
    assert [label for label in labels(axes) if label.startswith("changed")] == ["changed 3", "changed 5"]
    texts = [text.get_text() for text in axes.texts]
    assert r"$\Delta_{\phi(1),\dagger}$ = 0.08" in texts
    assert r"$\Delta_{\phi(2),\dagger}$ = 0.0425" in texts


def test_a_problem_without_such_arms_is_refused() -> None:
    first = fb.Problem([0.9, 0.8], [1, 2], 0.1)
    last = fb.Problem([0.1, 0.8], [1, 2], 0.1, names=["x", "y"])
    for bound in (illustrations.cheap_bound, illustrations.joint_bound):
        with pytest.raises(InputError, match="no cheap arm to show: 'a1'"):
            bound(first)
    with pytest.raises(InputError, match="no expensive arm to show: 'y'"):
        illustrations.expensive_bound(last)


# Epsilon

UNEQUAL = Snapshot((0.31, 0.95, 0.86), (40, 22, 35), 0.2, 0.01)


def by_hand(state: Snapshot) -> tuple[float, list[float], list[float]]:
    beta = [math.sqrt(math.log(1 / state.delta) / (2 * n)) for n in state.pulls]
    level = (state.means[0] + beta[0]) / (1 - state.alpha)
    epsilons = [
        math.exp(-2 * n * (mean - level) ** 2) if mean > level else 1.0
        for mean, n in zip(state.means[1:], state.pulls[1:], strict=True)
    ]
    return level, beta, epsilons


@pytest.mark.parametrize("state", [illustrations.snapshot(), UNEQUAL], ids=["default", "unequal"])
def test_epsilon_is_drawn_by_its_formula(state: Snapshot) -> None:
    level, beta, epsilons = by_hand(state)
    np.testing.assert_allclose(state.epsilons, epsilons)
    figure = illustrations.epsilon(state)
    line, evidence = figure.axes
    for row in range(3):
        ends = next(x for x in line.get_lines() if x.get_label() == f"interval {row}").get_xdata()
        np.testing.assert_allclose(ends, [state.means[row] - beta[row], state.means[row] + beta[row]])
        assert drawn_at(line, f"mean {row}") == (state.means[row], row)
    for row in (1, 2):
        ends = next(x for x in line.get_lines() if x.get_label() == f"gap {row}").get_xdata()
        np.testing.assert_allclose(ends, [level, state.means[row]])
        # Calculated back: the distance is the radius for an error probability of epsilon.
        radius = math.sqrt(math.log(1 / epsilons[row - 1]) / (2 * state.pulls[row]))
        assert ends[1] - ends[0] == pytest.approx(radius)
        assert radius < beta[row]
    widths = [bar.get_width() for bar in evidence.patches]
    logs = [-math.log(epsilon) for epsilon in epsilons]
    np.testing.assert_allclose(widths, [logs[0], logs[0], logs[1], logs[1]])
    assert evidence.patches[3].get_x() == pytest.approx(logs[0])
    assert sum(logs) >= math.log(1 / state.delta) > max(logs)
    assert_no_words_overlap(figure)


def test_an_arm_below_the_level_says_nothing() -> None:
    np.testing.assert_array_equal(Snapshot((0.5, 0.6, 0.4), (5, 5, 5), 0.2, 0.1).epsilons, [1, 1])


def test_a_snapshot_is_taken_when_the_candidate_is_first_deemed_infeasible() -> None:
    for seed in range(5):
        state = illustrations.snapshot(seed=seed)
        assert math.prod(by_hand(state)[2]) <= state.delta
        assert all(
            mean * n == pytest.approx(round(mean * n))
            for mean, n in zip(state.means, state.pulls, strict=True)
        )
    assert illustrations.snapshot(seed=3) == illustrations.snapshot(seed=3)


def test_snapshots_that_do_not_show_it_are_refused() -> None:
    alone = Snapshot((0.1, 0.95, 0.9), (100, 100, 100), 0.2, 0.01)
    neither = Snapshot((0.5, 0.6, 0.6), (100, 100, 100), 0.2, 0.01)
    for state in (alone, neither):
        with pytest.raises(InputError, match="together and neither alone"):
            illustrations.epsilon(state)
    for problem in (EXAMPLE, fb.Problem([0.9, 0.8, 0.7], [1, 2, 3], 0.1)):
        with pytest.raises(InputError, match="three arms, the cheapest of them infeasible"):
            illustrations.snapshot(problem)
