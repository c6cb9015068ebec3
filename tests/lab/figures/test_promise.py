"""The plane of held and spend: a mark a policy, labels that overlap nothing, and what cannot be drawn."""

from __future__ import annotations

import math

import matplotlib.text
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import frugalbandits as fb
from figure_harness import drawn, inside, overlapping
from frugalbandits.lab.figures.promise import PromisePanel, PromisePoint, plot_promise, plot_promise_panels
from frugalbandits.lab.figures.style import looks

POLICIES = [*fb.policies(), "glr-cof:tolerance=0.02", "glr-cof:tolerance=0.02,goal=conclusion", "co$t"]


def marks(axes: Axes) -> dict[str, tuple[float, float]]:
    found = [line for line in axes.get_lines() if line.get_marker() != "None"]
    labels = {str(line.get_label()): (line.get_xdata()[0], line.get_ydata()[0]) for line in found}
    assert len(labels) == len(found)
    return labels


def words(figure: Figure, axes: Axes) -> list[matplotlib.text.Annotation]:
    return [text for text in axes.texts if isinstance(text, matplotlib.text.Annotation)]


def test_a_comparison_draws_a_mark_a_policy_and_the_oracle() -> None:
    problem = fb.Problem([0.2, 0.7, 0.8], [1, 2, 9], alpha=0.2)
    compared = fb.compare(problem, ["etc-cs", "pe-cs"], 2_000, runs=4, checkpoints=5, progress=False)
    figure = compared.plot_promise()
    (axes,) = figure.axes
    assert axes.get_title() == "problem, $\\alpha$ = 0.2\nT = 2,000, 4 runs"
    expected = {
        name: (result.spend_over_oracle[:, -1].mean(), result.held[-1])
        for name, result in zip(["ETC-CS", "PE-CS"], compared, strict=True)
    }
    assert marks(axes) == {"a* alone": (1.0, 1.0), **expected}
    colours = {line.get_label(): line.get_color() for line in axes.get_lines()}
    assert colours["PE-CS"] == looks(["pe-cs"])["pe-cs"].colour
    # The line of 95%.
    assert any(list(line.get_ydata()) == [0.95, 0.95] for line in axes.get_lines())


@pytest.mark.parametrize("seed", range(3))
def test_labels_overlap_neither_each_other_nor_marks(seed: int) -> None:
    draw = np.random.default_rng(seed)
    panels = [
        PromisePanel(
            f"panel {place}",
            [
                PromisePoint(name, float(held), float(spend))
                for name, held, spend in zip(
                    POLICIES,
                    draw.uniform(0.3, 1, len(POLICIES)),
                    np.exp(draw.normal(size=len(POLICIES)) * (1 + place)),
                    strict=True,
                )
            ],
        )
        for place in range(2)
    ]
    figure = plot_promise_panels(panels)
    renderer = drawn(figure)
    for axes in figure.axes:
        shown = words(figure, axes)
        assert len(shown) == len(POLICIES) + 1 == len(marks(axes))
        boxes = [matplotlib.text.Text.get_window_extent(text, renderer) for text in shown]
        assert overlapping(boxes) == []
        assert all(inside(figure, box) for box in boxes)
        for x, y in axes.transData.transform(list(marks(axes).values())):
            assert not any(box.contains(x, y) for box in boxes)


def test_policies_in_the_same_place_have_labels_of_their_own() -> None:
    points = [PromisePoint(name, 1.0, 1.0) for name in POLICIES]
    figure = plot_promise_panels([PromisePanel("all alike", points)])
    renderer = drawn(figure)
    boxes = [matplotlib.text.Text.get_window_extent(text, renderer) for text in words(figure, figure.axes[0])]
    assert len(boxes) == len(POLICIES) + 1 and overlapping(boxes) == []


def test_a_policy_without_a_ratio_of_spend_is_named_below_the_title() -> None:
    points = [PromisePoint("cof", 1.0, math.inf), PromisePoint("pe-cs", 0.9, math.nan)]
    (axes,) = plot_promise_panels([PromisePanel("free", points)]).axes
    assert axes.get_title() == "free\nno finite ratio of spend: COF and PE-CS"
    assert set(marks(axes)) == {"a* alone"}


def test_it_needs_results_of_one_problem() -> None:
    with pytest.raises(fb.InputError, match="needs at least one result"):
        plot_promise([])
    one, other = (fb.simulate(name, "etc-cs", 200, runs=1) for name in ("nu1", "nu2"))
    with pytest.raises(fb.InputError, match="of one problem and one horizon"):
        plot_promise([one, other])
