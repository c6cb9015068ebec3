"""Figures of the bounds: pulls of each arm between them, and measured regret over the least."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import NDArray

from frugalbandits.errors import InputError
from frugalbandits.lab.bounds import Overview, least_regret
from frugalbandits.lab.figures.style import (
    BLUE,
    GREEN,
    INK,
    bar_label,
    blank,
    drawing,
    legend_below,
    literal,
    looks,
    short_ticks,
)
from frugalbandits.lab.result import Result
from frugalbandits.lab.text import counted, shortened, title

__all__ = ["Curve", "plot_bounds", "plot_ratio", "ratio_curve"]

_SPAN = "#b9c4cc"
_LOWER: dict[str, Any] = {"marker": "|", "color": INK, "markersize": 16, "markeredgewidth": 2.2}
_LEAST: dict[str, Any] = {
    "marker": "D",
    "color": "white",
    "markeredgecolor": INK,
    "markersize": 6.5,
    "markeredgewidth": 1.5,
}
_UPPER: dict[str, Any] = {"marker": "<", "color": INK, "markersize": 8, "markeredgecolor": "white"}
# How far below its row's bounds the marks of policies stand, and apart from each other.
_BELOW, _APART = 0.3, 0.2


def plot_bounds(shown: Overview, instance: str, results: Sequence[Result] = ()) -> Figure:
    r"""Draw, for each arm, its pulls between the lower bound and COF's upper bound.

    Examples
    --------
    >>> from frugalbandits import bounds, instance
    >>> figure = plot_bounds(bounds.overview(instance("nu1"), 10_000), "nu1")
    >>> figure.axes[0].get_title()
    'nu1: bounds on pulls\n$\\alpha$ = 0.8, T = 10,000'
    """
    problem = shown.problem
    with drawing():
        row = 0.3 + 0.07 * len(results)
        figure = blank(9.0, row * problem.arms + 2.7)
        axes = figure.add_subplot()
        low, high = _range(shown, results)
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        policies = looks(result.policy for result in results)
        for place, arm in enumerate(problem.order.tolist()):
            if arm != problem.optimal_arm:
                _draw_arm(axes, shown, arm, place, (low, high))
            for below, result in enumerate(results):
                mean = float(result.pulls[:, -1, arm].mean())
                look = policies[result.policy]
                # Below the bounds and below each other, for equal marks not to hide each other.
                beside = place + (_BELOW + _APART * below) / (1 + 0.25 * len(results))
                axes.plot(max(mean, low), beside, **{**look.line, "linestyle": "none"}, zorder=5)
        _rows(axes, shown)
        horizon = axes.axvline(shown.horizon, color=INK, linestyle=(0, (4, 3)), linewidth=1.2, zorder=1.5)
        axes.set_xlabel("expected pulls (logarithmic)")
        runs = f", {counted(results[0].runs)}" if results else ""
        axes.set_title(
            f"{literal(instance)}: bounds on pulls\n{bar_label(problem)}, T = {shown.horizon:,}{runs}"
        )
        entries: list[tuple[Artist, str]] = [
            (_key(_LOWER), "lower bound, any consistent policy"),
            (_key(_LEAST), "least regret that all lower bounds allow"),
            *((_key(policies[name].line), f"{literal(title(name))}, measured") for name in policies),
            *([] if shown.upper is None else [(_key(_UPPER), "COF's upper bound")]),
            (horizon, "T"),
        ]
        legend_below(figure, *_columns(entries))
    return figure


def _draw_arm(axes: Axes, shown: Overview, arm: int, place: int, limits: tuple[float, float]) -> None:
    low, high = limits
    lower = float(shown.lower["bernoulli"][arm])
    least = float(shown.least["bernoulli", "sum"].pulls[arm])
    upper = math.inf if shown.upper is None else float(shown.upper.pulls[arm])
    axes.plot([max(lower, low), min(upper, high)], [place] * 2, color=_SPAN, linewidth=3.2, zorder=2)
    for value, mark in ((upper, _UPPER), (lower, _LOWER), (least, _LEAST)):
        # What is 0 or infinite lies beyond the axis; the line runs to its end.
        if low <= value <= high:
            axes.plot(value, place, linestyle="none", zorder=4, **mark)


def _range(shown: Overview, results: Sequence[Result]) -> tuple[float, float]:
    others = np.arange(shown.problem.arms) != shown.problem.optimal_arm
    values = [shown.lower["bernoulli"], np.array([float(shown.horizon)])]
    if shown.upper is not None:
        values.append(shown.upper.pulls)
    values.append(shown.least["bernoulli", "sum"].pulls[others])
    values += [result.pulls[:, -1].mean(axis=0) for result in results]
    seen = np.concatenate(values)
    positive = seen[(seen > 0) & np.isfinite(seen)]
    # A bound far beyond the horizon says nothing, so the axis need not go there.
    most = min(float(positive.max()), 300.0 * shown.horizon)
    return max(float(positive.min()), 0.3) / 2, most * 2


def _rows(axes: Axes, shown: Overview) -> None:
    problem = shown.problem
    order = problem.order.tolist()
    names = [f"{literal(shortened(problem.names[arm], 34, '…'))} ({shown.roles.label(arm)})" for arm in order]
    axes.set_yticks(range(problem.arms), names)
    for text, arm in zip(axes.get_yticklabels(), order, strict=True):
        colour = {problem.best_arm: BLUE, problem.optimal_arm: GREEN}.get(arm, INK)
        text.set(color=colour, fontsize=10, fontweight="normal" if colour == INK else "bold")
    axes.set_ylim(problem.arms - 0.3, -0.7)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(LogLocator(numticks=12))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(short_ticks())
    axes.grid(True)


def _key(look: dict[str, Any]) -> Line2D:
    return Line2D([], [], **{**look, "linestyle": "none"})


def _columns(entries: Sequence[tuple[Artist, str]]) -> tuple[list[Artist], list[str]]:
    return [artist for artist, _ in entries], [label for _, label in entries]


class Curve(NamedTuple):
    """Measured regret over the least, at several horizons.

    Attributes
    ----------
    instance
        What the instance is called.
    policy
        The policy that was measured.
    horizons
        The horizons.
    ratios
        Summed regret of each run over the least summed regret: horizons x runs.
    """

    instance: str
    policy: str
    horizons: NDArray[np.float64]
    ratios: NDArray[np.float64]


def ratio_curve(instance: str, results: Sequence[Result]) -> Curve:
    """Return a policy's regret over the least, from runs at several horizons.

    Examples
    --------
    >>> from frugalbandits import instance, simulate
    >>> runs = [simulate(instance("nu1"), "etc-cs", T, runs=2, checkpoints=1) for T in (1000, 10_000)]
    >>> ratio_curve("nu1", runs).ratios.shape
    (2, 2)
    """
    if not results or len({result.runs for result in results}) > 1:
        raise InputError("a ratio needs results, all with the same number of runs")
    rows = [
        result.summed_regret[:, -1] / least_regret(result.problem, result.horizon).value for result in results
    ]
    horizons = np.array([float(result.horizon) for result in results])
    return Curve(instance, results[0].policy, horizons, np.array(rows))


def plot_ratio(curves: Sequence[Curve]) -> Figure:
    """Draw measured regret over the least against the horizon: it settles where a policy is of order log T.

    Examples
    --------
    >>> curve = Curve("tiny", "cof", np.array([1e3, 1e4]), np.array([[2.0, 3.0], [4.0, 5.0]]))
    >>> plot_ratio([curve]).axes[0].get_xlabel()
    'horizon T'
    """
    if not curves:
        raise InputError("a figure of ratios needs at least one curve")
    names = list(dict.fromkeys(curve.instance for curve in curves))
    shown = looks(curve.policy for curve in curves)
    with drawing():
        figure = blank(max(5.6, 4.6 * len(names)), 4.4)
        for place, name in enumerate(names):
            axes = figure.add_subplot(1, len(names), place + 1)
            for curve in curves:
                if curve.instance == name:
                    _draw_ratio(axes, curve, shown[curve.policy].line)
            axes.set_title(literal(name))
            axes.set_xscale("log")
            axes.set_xlabel("horizon T")
            axes.xaxis.set_major_formatter(short_ticks())
            axes.xaxis.set_minor_locator(NullLocator())
            axes.set_ylim(bottom=0)
            axes.grid(True)
            if place == 0:
                axes.set_ylabel("summed regret / least regret")
        one = Line2D([], [], color=INK, linestyle=(0, (4, 3)), linewidth=1.2)
        handles = [*(Line2D([], [], **look.line) for look in shown.values()), one]
        legend_below(figure, handles, [*map(title, shown), "1: the least that all lower bounds allow"])
    return figure


def _draw_ratio(axes: Axes, curve: Curve, line: dict[str, Any]) -> None:
    low, high = np.percentile(curve.ratios, [20, 80], axis=1)
    axes.fill_between(curve.horizons, low, high, color=line["color"], alpha=0.18, linewidth=0)
    axes.plot(curve.horizons, curve.ratios.mean(axis=1), **line, zorder=3)
    axes.axhline(1.0, color=INK, linestyle=(0, (4, 3)), linewidth=1.2)
    last = float(curve.ratios[-1].mean())
    if math.isfinite(last):
        axes.annotate(
            f"{last:.1f}",
            (curve.horizons[-1], last),
            xytext=(0, 9),
            textcoords="offset points",
            ha="right",
            color=line["color"],
            fontweight="bold",
        )
