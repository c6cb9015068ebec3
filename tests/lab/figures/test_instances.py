"""Figures of instances: every arm is labelled, and nothing overlaps or is cut off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Annotation

import frugalbandits as fb
from figure_harness import drawn, inside, overlapping
from frugalbandits.lab.figures import panels as figures


def labels(figure: Figure) -> list[Any]:
    """The arms' labels, whichever layout was chosen."""
    axes = figure.axes[0]
    if len(figure.axes) == 1:
        return [child for child in axes.get_children() if isinstance(child, Annotation)]
    return list(axes.get_yticklabels())


@pytest.mark.parametrize("name", fb.instances())
@pytest.mark.parametrize("alpha", [None, 0.0, 0.6])
def test_every_arm_is_labelled_and_no_label_overlaps_or_is_cut_off(name: str, alpha: float | None) -> None:
    problem = fb.instance(name, alpha)
    figure = figures.plot_instance(problem, name)
    renderer = drawn(figure)
    texts = [label.get_text().removesuffix(" (i*)").removesuffix(" (a*)") for label in labels(figure)]
    assert sorted(texts) == sorted(problem.names)
    boxes = [label.get_window_extent(renderer) for label in labels(figure)]
    assert overlapping(boxes) == []
    assert all(inside(figure, box) for box in boxes)
    (legend,) = figure.legends
    assert inside(figure, legend.get_window_extent(renderer))
    assert (
        overlapping([legend.get_window_extent(renderer), *(a.get_tightbbox(renderer) for a in figure.axes)])
        == []
    )


def test_threshold_feasible_region_and_the_two_special_arms_are_marked() -> None:
    problem = fb.instance("goodreads")
    (axes,) = figures.plot_instance(problem, "goodreads").axes
    assert axes.get_title() == "goodreads: 8 arms, $\\alpha$ = 0.05"
    (region,) = axes.patches
    extent = region.get_extents().transformed(axes.transData.inverted())
    assert extent.x0 == pytest.approx(problem.threshold)
    assert extent.x1 == pytest.approx(axes.get_xlim()[1])
    marks = {line.get_marker(): line for line in axes.get_lines()}
    assert marks["*"].get_xdata() == problem.means[problem.optimal_arm]
    assert marks["D"].get_ydata() == problem.costs[problem.best_arm]
    filled = {
        (float(line.get_xdata()[0]), float(line.get_ydata()[0])): to_hex(line.get_color()) != "#ffffff"
        for line in axes.get_lines()
        if line.get_marker() == "o"
    }
    expected = {
        (problem.means[arm], problem.costs[arm]): bool(problem.feasible[arm])
        for arm in range(8)
        if arm not in (problem.optimal_arm, problem.best_arm)
    }
    assert filled == expected
    words = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert words[-1] == "feasible"
    assert words[-2].endswith("0.6764")


def test_rows_where_names_are_long_and_points_where_they_fit() -> None:
    layouts = {name: len(figures.plot_instance(fb.instance(name), name).axes) for name in fb.instances()}
    assert [layouts[name] for name in ("goodreads", "movielens", "nu1", "nu2", "cost-biased")] == [1] * 5
    assert [layouts[name] for name in ("swebench", "aider-polyglot")] == [2, 2]


def test_rows_are_ordered_by_cost() -> None:
    problem = fb.instance("aider-polyglot")
    figure = figures.plot_instance(problem, "aider")
    names = [label.get_text() for label in labels(figure)]
    assert names[0] == problem.names[problem.order[0]]
    low, high = figure.axes[0].get_ylim()
    assert low > high, "the cheapest arm stands at the top"


def test_costs_that_spread_widely_get_a_logarithmic_axis() -> None:
    assert figures.plot_instance(fb.instance("cost-biased"), "x").axes[0].get_yscale() == "log"
    assert figures.plot_instance(fb.instance("goodreads"), "x").axes[0].get_yscale() == "linear"
    assert figures.plot_instance(fb.instance("aider-polyglot"), "x").axes[1].get_xscale() == "log"
    free = fb.Problem([0.5, 0.9, 0.9], [0, 1, 1000], alpha=0.1)
    assert figures.plot_instance(free, "x").axes[0].get_yscale() == "linear"


@pytest.mark.parametrize(
    "problem",
    [
        fb.Problem([0.5, 0.5], [1, 1], alpha=0),
        fb.Problem([0, 0], [0, 0], alpha=0.5),
        fb.Problem([0.2, 0.9], [-3, -1], alpha=0.1, names=["$5 and $6", "日本"]),
    ],
)
def test_odd_problems_can_be_drawn(problem: fb.Problem, tmp_path: Path) -> None:
    figure = figures.plot_instance(problem, "worth $1 or $2")
    figures.save(figure, tmp_path / "odd.png")
    assert (tmp_path / "odd.png").stat().st_size > 1000
