"""`frugal bounds`: what it prints and draws, and what it refuses."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rich.cells import cell_len

import frugalbandits as fb
from cli_harness import good, refused, rows
from frugalbandits.lab import bounds
from frugalbandits.lab.figures import bounds as figures_bounds
from frugalbandits.lab.terminal import bounds as report_bounds
from frugalbandits.lab.text import readable

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")

QUICK = ("--simulate", "--policy", "etc-cs", "--runs", "3", "--horizon", "2000", "--workers", "1")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_a_row_an_arm_with_the_numbers_of_the_library() -> None:
    problem = fb.instance("movielens", alpha=0.05)
    shown = bounds.overview(problem, 5e6)
    printed = good("bounds", "movielens", "--alpha", "0.05", "--horizon", "5e6")
    for arm, name in enumerate(problem.names):
        (line,) = rows(printed, name)
        star = arm == problem.optimal_arm
        pulls = [
            "-" if star else report_bounds.short(shown.lower["gaussian"][arm]),
            "-" if star else report_bounds.short(shown.lower["bernoulli"][arm]),
            "rest" if star else report_bounds.short(shown.least["bernoulli", "sum"].pulls[arm]),
            "T" if star else report_bounds.short(shown.upper.pulls[arm]),
        ]
        gaps = [f"{gap:.3g}" for gap in (problem.cost_gaps[arm], problem.quality_gaps[arm])]
        assert cells(line) == [name, shown.roles.label(arm), *gaps, *pulls]
    assert "The joint bound against a6 (a†) is shared by a15; it is tight." in printed
    assert "ETC-CS  T^(2/3)" in printed and "1/Delta_k^2" in printed


def test_regret_of_every_kind() -> None:
    problem = fb.instance("goodreads", alpha=0.05)
    printed = good("bounds", "goodreads", "--alpha", "0.05", "--horizon", "5e6", "--sigma", "0.5")
    families = {"bernoulli": "least, Bernoulli rewards", "gaussian": "least, Gaussian, sigma 0.5"}
    for family, words in families.items():
        values = [
            bounds.least_regret(problem, 5e6, family, objective, 0.5).value
            for objective in ("cost", "quality", "sum")
        ]
        assert f"{words} {'  '.join(map(readable, values))}" in squeezed(printed)
    upper = bounds.cof_upper(problem, 5e6)
    values = [upper.cost_regret, upper.quality_regret, upper.summed_regret]
    assert f"COF at most {'  '.join(map(readable, values))}" in squeezed(printed)
    assert "No arm is cheaper than a*: there is no joint bound." in printed


def squeezed(text: str) -> str:
    return "\n".join("  ".join(cells(line)).replace("  ", " ", 1) for line in text.splitlines())


def test_simulated_policies_stand_beside_the_bounds_with_their_ratio() -> None:
    problem = fb.instance("goodreads", alpha=0.3)
    printed = good("bounds", "goodreads", "--alpha", "0.3", *QUICK, "--seed", "4")
    result = fb.simulate(problem, "etc-cs", 2000, runs=3, seed=4, checkpoints=1)
    for arm, name in enumerate(problem.names):
        (line,) = rows(printed, name)
        assert cells(line)[-1] == report_bounds.short(result.pulls[:, -1, arm].mean())
    ratio = result.summary().mean / bounds.least_regret(problem, 2000).value
    assert f"{ratio:.3g}x" in printed
    assert "etc-cs, mean of 3" in printed


@pytest.mark.parametrize("instance", ["goodreads", "movielens", "swebench", "aider-polyglot", "nu2"])
@pytest.mark.parametrize("more", [(), QUICK, (*QUICK, "--policy", "ucb-cs")])
def test_eighty_columns_are_enough(
    instance: str, more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    printed = good("bounds", instance, *more)
    assert all(cell_len(line) <= 80 for line in printed.splitlines())
    # A row an arm in the table of bounds, whose name may go on below it; no number is broken.
    problem = fb.instance(instance)
    lines = iter(printed.splitlines())
    for who, arm in zip(roles_in_order(problem), problem.order.tolist(), strict=True):
        begins = problem.names[arm].split()[0][:5]
        assert any(line.startswith(begins) and who in line for line in lines), problem.names[arm]


def roles_in_order(problem: fb.Problem) -> list[str]:
    who = bounds.roles(problem)
    return [who.label(arm) for arm in problem.order.tolist()]


def test_odd_problems_are_told_in_words(tmp_path: Path) -> None:
    def shown(problem: fb.Problem, *more: str) -> str:
        path = tmp_path / "odd.txt"
        fb.write_instance(problem, path)
        return good("bounds", str(path), *more)

    zero = shown(fb.Problem([0.72, 0.8, 0.5], [1, 2, 3], alpha=0.1))
    assert "inf" in zero and "A gap is zero" in zero
    early = shown(fb.Problem([0.7, 0.705, 0.71], [1, 2, 3], alpha=0.01), "--horizon", "100")
    assert "T is too small for them" in early
    free = shown(fb.Problem([0.2, 0.8, 0.85], [1, 2, 3], alpha=0.1))
    assert "is met for free" in free


def test_refusals() -> None:
    assert "'cof'" in refused("bounds", "goodreads", "--policy", "cof")
    assert "--plot must end in" in refused("bounds", "goodreads", "--plot", "figure.txt")
    assert "delta must lie strictly between 0 and 1" in refused("bounds", "goodreads", "--delta", "2")
    assert "sigma must be a positive number" in refused("bounds", "goodreads", "--sigma", "-1")
    assert "nowhere" in refused("bounds", "nowhere")
    assert "nothing" in refused("bounds", "goodreads", "--simulate", "--policy", "nothing")
    assert "horizon must be greater" in refused("bounds", "goodreads", "--horizon", "5")


# The figures


def test_a_figure_is_written(tmp_path: Path) -> None:
    path = tmp_path / "bounds.svg"
    assert f"figure written to {path}" in good("bounds", "nu1", *QUICK, "--plot", str(path))
    assert path.read_text().startswith("<?xml")


def marks(figure: Figure, marker: str) -> dict[float, float]:
    """What a kind of mark says, by row."""
    (axes,) = figure.axes
    drawn = [line for line in axes.get_lines() if isinstance(line, Line2D) and line.get_marker() == marker]
    return {float(line.get_ydata()[0]): float(line.get_xdata()[0]) for line in drawn}


def test_the_figure_shows_the_bounds_and_what_was_measured() -> None:
    problem = fb.instance("goodreads", alpha=0.3)
    shown = bounds.overview(problem, 2000)
    result = fb.simulate(problem, "etc-cs", 2000, runs=2, checkpoints=1)
    figure = figures_bounds.plot_bounds(shown, "goodreads", [result])
    order = [arm for arm in problem.order.tolist() if arm != problem.optimal_arm]
    place = {arm: row for row, arm in enumerate(problem.order.tolist())}
    assert marks(figure, "|") == {place[arm]: shown.lower["bernoulli"][arm] for arm in order}
    assert marks(figure, "D") == {place[arm]: shown.least["bernoulli", "sum"].pulls[arm] for arm in order}
    assert marks(figure, "<") == {place[arm]: shown.upper.pulls[arm] for arm in order}
    measured = marks(figure, "v")
    # Just below the row of the arm.
    assert all(0 < row % 1 < 0.5 for row in measured)
    found = {int(row): pulls for row, pulls in measured.items()}
    assert found == {row: result.pulls[:, -1, arm].mean() for arm, row in place.items()}


@pytest.mark.parametrize("instance", ["goodreads", "movielens", "aider-polyglot", "nu1"])
def test_nothing_lies_outside_the_figure_or_over_a_label(instance: str) -> None:
    figure = figures_bounds.plot_bounds(bounds.overview(fb.instance(instance), 1e5), instance)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    (axes,) = figure.axes
    renderer = canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in axes.get_yticklabels()]
    assert all(box.x0 >= 0 for box in boxes)
    assert all(above.y0 >= below.y1 - 1 for above, below in itertools.pairwise(boxes))
    legend = figure.legends[0].get_window_extent(renderer)
    assert legend.x0 >= 0 and legend.x1 <= figure.bbox.width
    assert legend.y1 <= axes.get_window_extent(renderer).y0


def test_infinite_and_zero_bounds_are_drawn_without_marks() -> None:
    problem = fb.Problem([0.72, 0.8, 0.5], [1, 2, 3], alpha=0.1)
    figure = figures_bounds.plot_bounds(bounds.overview(problem, 1000), "odd")
    assert 1.0 not in marks(figure, "<") and 2.0 in marks(figure, "<")
    assert all(math.isfinite(limit) for limit in figure.axes[0].get_xlim())


def test_ratios_are_regret_over_the_least() -> None:
    problem = fb.instance("nu1")
    results = [fb.simulate(problem, "etc-cs", horizon, runs=3, checkpoints=1) for horizon in (500, 5000)]
    curve = figures_bounds.ratio_curve("nu1", results)
    assert curve.horizons.tolist() == [500, 5000]
    for row, result in zip(curve.ratios, results, strict=True):
        least = bounds.least_regret(problem, result.horizon).value
        assert row == pytest.approx(result.summed_regret[:, -1] / least)
    figure = figures_bounds.plot_ratio([curve, curve._replace(instance="other")])
    assert [axes.get_title() for axes in figure.axes] == ["nu1", "other"]
    drawn = figure.axes[0].get_lines()[0].get_ydata()
    assert np.asarray(drawn) == pytest.approx(curve.ratios.mean(axis=1))
    with pytest.raises(fb.InputError, match="at least one curve"):
        figures_bounds.plot_ratio([])
    with pytest.raises(fb.InputError, match="same number of runs"):
        figures_bounds.ratio_curve("nu1", [])
