"""A figure of routing: the plane of cost and quality, with the frontiers of the oracles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

from frugalbandits.core.contextual.registry import contextual_title
from frugalbandits.errors import InputError
from frugalbandits.lab.contextual.oracle import KINDS
from frugalbandits.lab.contextual.problem import ContextualProblem
from frugalbandits.lab.contextual.result import ContextualResult
from frugalbandits.lab.figures.style import (
    GREEN,
    INK,
    Look,
    blank,
    drawing,
    legend_below,
    literal,
    looks,
    readable_ticks,
)
from frugalbandits.lab.text import counted, shortened

__all__ = ["plot_routing"]

_GREY = "#8a8a8a"
_LONGEST_NAME = 22
_FAR_APART = 30.0  # as in `replay`
_NEAR = 0.08  # of the height
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "p", "<", ">", "h", "d")
_FRONTIERS: dict[str, tuple[str, Any]] = {
    "mix": ("oracle that mixes, whatever the query", (0, (1.5, 1.5))),
    "segments": ("oracle by segment", (0, (5, 2))),
    "linear": ("oracle of linear rules", "-"),
}


def plot_routing(results: Sequence[ContextualResult], name: str = "") -> Figure:
    """Draw where policies ended on the plane of mean cost and mean quality.

    With them are each single option, the bar, and the frontiers that the oracles could reach. A policy's mark
    is its mean over the runs; each run is a dot.

    Parameters
    ----------
    results
        Of the same problem.
    name
        What the problem is called.
    """
    if not results:
        raise InputError("a figure of routing needs at least one result")
    problem, first = results[0].problem, results[0]
    if any(each.problem is not problem or each.horizon != first.horizon for each in results):
        raise InputError("a figure of routing needs results of one problem and one horizon")
    shown = _looks(results)
    with drawing():
        figure = blank(8.8, 6.4)
        axes = figure.add_subplot()
        handles, labels = _frontiers(axes, problem)
        _options(axes, problem)
        axes.axhline(problem.bar, color=GREEN, linewidth=1.3, linestyle=(0, (6, 2)), zorder=1.5)
        for result in results:
            look = shown[result.policy]
            _ended(axes, result, look)
            handles.append(_mark(look.colour, look.mark, 9.0))
            labels.append(literal(contextual_title(result.policy)))
        _magnified(axes, problem, results, shown)
        handles += [_mark(_GREY, "o", 6.0), Line2D([], [], color=GREEN, linestyle=(0, (6, 2)), linewidth=1.3)]
        labels += ["always one option", "good enough"]
        costs = problem.option_cost
        if costs.min() > 0 and costs.max() / costs.min() > _FAR_APART:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(readable_ticks())
        axes.grid(True)
        axes.margins(x=0.08, y=0.08)
        axes.set_xlabel("mean cost a query")
        axes.set_ylabel("mean quality")
        called = f"{name}, " if name else ""
        bar = problem.quality.short.replace("alpha =", r"$\alpha$ =", 1)
        axes.set_title(f"{literal(called)}{bar}, T = {first.horizon:,}, {counted(first.runs)}")
        legend_below(figure, handles, labels, fontsize=9.5, handlelength=3.2)
    return figure


def _magnified(
    axes: Any, problem: ContextualProblem, results: Sequence[ContextualResult], shown: dict[str, Look]
) -> None:
    """Draw what ends near the bar once more, larger, where marks cover each other.

    The corner of high cost and low quality is empty: no rule is worse than the cheapest mix.
    """
    means = [(result.cost[:, -1].mean(), result.quality[:, -1].mean()) for result in results]
    rules = [(rule.cost, rule.quality) for rule in problem.oracle().rules if rule.reaches]
    low, high = axes.get_ylim()
    near = [place for place in (*means, *rules) if abs(place[1] - problem.bar) < _NEAR * (high - low)]
    if len(near) < 3:
        return
    costs, qualities = np.array(near).T
    inner = axes.inset_axes((0.5, 0.07, 0.47, 0.45))
    _frontiers(inner, problem)
    inner.axhline(problem.bar, color=GREEN, linewidth=1.3, linestyle=(0, (6, 2)), zorder=1.5)
    for result in results:
        _ended(inner, result, shown[result.policy])
    inner.set_xlim(0.85 * costs.min(), 1.15 * costs.max())
    margin = max(1.5 * float(np.ptp(qualities)), 0.01)
    inner.set_ylim(problem.bar - margin, problem.bar + margin)
    inner.xaxis.set_major_formatter(readable_ticks())
    inner.tick_params(labelsize=8)
    inner.grid(True)
    axes.indicate_inset_zoom(inner, edgecolor=_GREY)


def _looks(results: Sequence[ContextualResult]) -> dict[str, Look]:
    """Return the look of each policy, with marks that are full: most have no look of their own yet."""
    found = looks(result.policy for result in results)
    return {
        name: look._replace(mark=_MARKS[place % len(_MARKS)])
        for place, (name, look) in enumerate(found.items())
    }


def _frontiers(axes: Any, problem: ContextualProblem) -> tuple[list[Artist], list[str]]:
    """Draw what the best rules of each kind reach, and where they meet the bar."""
    handles: list[Artist] = []
    labels = []
    oracle = problem.oracle()
    for kind, rule in zip(KINDS, oracle.rules, strict=True):
        if kind == "segments" and not problem.segmented:
            continue
        words, dashes = _FRONTIERS[kind]
        path = problem.rules(kind)
        cost, quality = _rising(path.cost, path.quality)
        axes.plot(cost, quality, color=INK, linestyle=dashes, linewidth=1.4, zorder=2)
        if rule.reaches:
            # Above the policies: where one reaches an oracle, the star shows on its mark.
            axes.plot(
                [rule.cost], [rule.quality], "*", color=INK, markersize=11, markeredgecolor="white", zorder=6
            )
        handles.append(Line2D([], [], color=INK, linestyle=dashes, linewidth=1.4, marker="*", markersize=9))
        labels.append(words)
    return handles, labels


def _rising(
    cost: NDArray[np.float64], quality: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the points at which the quality is higher than ever before, with lines of mixes between them."""
    before = np.concatenate([[-np.inf], np.maximum.accumulate(quality)[:-1]])
    kept = quality > before
    # Straight in cost, curved on a logarithmic axis: so that mixes are drawn as what they are.
    costs, qualities = cost[kept], quality[kept]
    fine = np.unique(np.concatenate([costs, np.linspace(costs[0], costs[-1], 400)]))
    return fine, np.interp(fine, costs, qualities)


def _options(axes: Any, problem: ContextualProblem) -> None:
    for k, name in enumerate(problem.names):
        place = (problem.option_cost[k], problem.option_quality[k])
        axes.plot(*place, "o", color=_GREY, markersize=6, markeredgecolor="white", zorder=3)
        label = literal(shortened(name, _LONGEST_NAME, "…"))
        axes.annotate(
            label,
            place,
            # Below and to the right, away from the frontier; above it where the bar is there.
            (4, -13) if not 0 < place[1] - problem.bar < 0.05 else (-5, 7),
            textcoords="offset points",
            ha="left" if not 0 < place[1] - problem.bar < 0.05 else "right",
            fontsize=9,
            color=_GREY,
            path_effects=[withStroke(linewidth=2.5, foreground="white", alpha=0.85)],
            zorder=2.5,
        )


def _ended(axes: Any, result: ContextualResult, look: Look) -> None:
    cost, quality = result.cost[:, -1], result.quality[:, -1]
    if result.runs > 1:
        axes.plot(cost, quality, ".", color=look.colour, markersize=3.5, alpha=0.45, zorder=3.5)
    axes.plot(
        [cost.mean()],
        [quality.mean()],
        marker=look.mark,
        color=look.colour,
        markersize=10.5,
        markeredgecolor="white",
        markeredgewidth=0.8,
        zorder=5,
    )


def _mark(colour: str, mark: str, size: float) -> Line2D:
    return Line2D([], [], color=colour, marker=mark, linestyle="none", markersize=size)
