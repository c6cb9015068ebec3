"""A figure of worlds: regret over time with what happened marked, and the traffic of each policy below."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from frugalbandits.errors import InputError
from frugalbandits.lab.figures.style import (
    INK,
    Look,
    bar_label,
    blank,
    drawing,
    literal,
    looks,
    readable_ticks,
    short_ticks,
)
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.text import counted, readable, shortened, title
from frugalbandits.lab.worlds.happenings import Drift, Outage, Price, decisions_at
from frugalbandits.lab.worlds.result import Happened, Kind, WorldResult

__all__ = ["areas_of", "plot_world"]

_REGRETS: dict[Kind, str] = {
    "scaled": "regret, costs scaled",
    "summed": "summed cost and quality regret",
    "cost": "cost regret",
    "quality": "quality regret",
}
# Okabe and Ito's colours; neighbours in a stack differ in lightness, and every second one is hatched.
_AREAS = ("#0072B2", "#E69F00", "#56B4E9", "#D55E00", "#009E73", "#F0E442", "#CC79A7")
_OTHERS = "#bdbdbd"
_LONGEST_NAME = 18
_FEWEST_PIXELS = 11.0  # between two labels side by side
_POINTS = 120  # of a stack at most: more only make it flicker
_DECADES = 1.5  # as in `panels`
_LONGEST_LINE = 95  # of a title
_MARK: dict[str, Any] = {"color": INK, "linestyle": (0, (2, 2)), "linewidth": 1.0, "zorder": 2.5}


def plot_world(name: str, results: Sequence[WorldResult], regret: Kind = "scaled") -> Figure:
    r"""Draw policies in one world: regret against time, and below it each policy's traffic.

    What happens in the world is marked in all panels. Of many options, those that are used most have areas
    of their own.

    Parameters
    ----------
    name
        What the problem is called.
    results
        Of the same world and horizon.
    regret
        Which regret.

    Examples
    --------
    >>> from frugalbandits import named_world, simulate
    >>> result = simulate(named_world("drift", "nu1"), "ucb-cs", horizon=1000, runs=2)
    >>> plot_world("nu1", [result]).axes[0].get_title()
    'nu1, $\\alpha$ = 0.8: 3 changes\nT = 1,000, 2 runs'
    """
    if not results:
        raise InputError("a figure of a world needs at least one result")
    first = results[0]
    if any(each.world != first.world or each.horizon != first.horizon for each in results):
        raise InputError("a figure of a world needs results of one world and one horizon")
    shown = looks(result.policy for result in results)
    with drawing():
        figure = blank(9.0, 4.0 + 1.25 * len(results) + 1.0)
        heights = [3.2, *[1.25] * len(results)]
        panels = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
        _draw_regret(panels[0], results, regret, shown)
        about = f"{literal(name)}, {bar_label(first.problem)}: {literal(first.world.about)}"
        lines = textwrap.wrap(about, _LONGEST_LINE, break_long_words=False)
        scale = f"T = {first.horizon:,}, {counted(first.runs)}"
        panels[0].set_title("\n".join([*lines, scale]), fontsize=11)
        used = np.sum([result.pulls[:, -1].mean(axis=0) for result in results], axis=0)
        areas = areas_of(first.problem, used)
        for axes, result in zip(panels[1:], results, strict=True):
            _draw_traffic(axes, result, areas)
        for axes in panels:
            _mark(axes, first, shaded=axes is panels[0])
        panels[-1].set_xlabel("decisions")
        panels[-1].set_xlim(0, first.horizon)
        panels[-1].xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]))
        panels[-1].xaxis.set_major_formatter(short_ticks())
        _legends(figure, shown, areas)
        _label_marks(figure, panels[0], first)
    return figure


def _draw_regret(axes: Axes, results: Sequence[WorldResult], regret: Kind, shown: dict[str, Look]) -> None:
    finals = [float(result.regret(regret)[:, -1].mean()) for result in results]
    positive = [value for value in finals if value > 0]
    logarithmic = len(positive) > 1 and math.log10(max(positive) / min(positive)) > _DECADES
    floor = min(positive) / 100 if logarithmic else 0.0
    for result in results:
        values = result.regret(regret)
        low, high = np.percentile(values, [20, 80], axis=0)
        curves = [np.maximum(curve, floor) for curve in (values.mean(axis=0), low, high)]
        times = result.times
        if not logarithmic:
            times = np.concatenate([[0], times])
            curves = [np.concatenate([[0.0], curve]) for curve in curves]
        look, place = shown[result.policy], list(shown).index(result.policy)
        every = max(1, len(times) // 6)
        start = min(len(times) - 1, every * (2 * place % 7 + 1) // 8)
        axes.fill_between(times, curves[1], curves[2], color=look.colour, alpha=0.16, linewidth=0, zorder=2)
        axes.plot(times, curves[0], **look.line, label=result.policy, markevery=(start, every), zorder=3)
    scale = ""
    if logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(bottom=floor)
        scale = "\n(logarithmic)"
    else:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(readable_ticks())
    axes.set_ylabel(_REGRETS[regret] + scale)
    axes.grid(True)


def areas_of(problem: Problem, used: NDArray[np.float64]) -> list[tuple[str, list[int], dict[str, Any]]]:
    """Return name, options and look of each area, the cheapest at the bottom; `used` are uses of each."""
    order = problem.order.tolist()
    room = len(_AREAS)
    most = order if len(order) <= room else sorted(order, key=lambda arm: -used[arm])[: room - 1]
    kept = [arm for arm in order if arm in most]
    found: list[tuple[str, list[int], dict[str, Any]]] = [
        (
            shortened(problem.names[arm], _LONGEST_NAME, "\N{HORIZONTAL ELLIPSIS}"),
            [arm],
            {"facecolor": _AREAS[place], "hatch": "////" if place % 2 else None},
        )
        for place, arm in enumerate(kept)
    ]
    others = [arm for arm in order if arm not in most]
    if others:
        found.append((f"{len(others)} others", others, {"facecolor": _OTHERS, "hatch": None}))
    return found


def _draw_traffic(
    axes: Axes, result: WorldResult, areas: Sequence[tuple[str, list[int], dict[str, Any]]]
) -> None:
    times, shares = _shares(result)
    bottom = np.zeros(len(times))
    for _, options, look in areas:
        top = bottom + shares[:, options].sum(axis=1)
        axes.fill_between(times, bottom, top, step="pre", edgecolor="white", linewidth=0.0, **look)
        bottom = top
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.yaxis.set_major_locator(MaxNLocator(2))
    axes.set_title(f"traffic of {literal(title(result.policy))}", loc="left", fontsize=10, pad=3)


def _shares(result: WorldResult) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the shares of the options in at most so many stretches; each ends at its time."""
    every = max(1, math.ceil(len(result.times) / _POINTS))
    kept = np.arange(len(result.times) - 1, -1, -every)[::-1]
    times = np.concatenate([[0], result.times[kept]])
    pulls = np.concatenate([np.zeros((1, result.problem.arms)), result.pulls.mean(axis=0)[kept]])
    shares = np.diff(pulls, axis=0) / np.diff(times)[:, None]
    return times, np.concatenate([shares[:1], shares])


def _marked(result: WorldResult) -> list[Happened]:
    """Return what has a moment; what goes on all the time is said in the title."""
    whole = [
        each
        for each in result.happened
        if isinstance(each.happening, Drift)
        and decisions_at(each.happening.over, result.horizon) >= result.horizon
    ]
    return [each for each in result.happened if each not in whole]


def _mark(axes: Axes, result: WorldResult, shaded: bool) -> None:
    for each in _marked(result):
        if isinstance(each.happening, Outage):
            end = decisions_at(each.happening.end, result.horizon)
            if shaded:
                axes.axvspan(each.time, end, facecolor=INK, alpha=0.10, linewidth=0, zorder=1.5)
            else:
                axes.axvline(end, **_MARK)
        axes.axvline(each.time, **_MARK)


def _words(each: Happened) -> str:
    name = literal(shortened(each.option, _LONGEST_NAME, "\N{HORIZONTAL ELLIPSIS}"))
    if isinstance(each.happening, Drift):
        return f"{name}: mean {readable(round(each.happening.mean, 3))}"
    if isinstance(each.happening, Price):
        return f"{name}: costs {readable(each.happening.cost)}"
    return f"{name} {each.what}"


def _label_marks(figure: Figure, axes: Axes, result: WorldResult) -> None:
    """Write what happened along the marks, clear of one another; two at one moment share a label."""
    canvas: Any = figure.canvas
    canvas.draw()
    together: dict[int, list[str]] = {}
    for each in _marked(result):
        together.setdefault(each.time, []).append(_words(each))
    apart = _FEWEST_PIXELS * figure.dpi / 72
    last = -math.inf
    for time, words in together.items():
        x = float(axes.transData.transform((time, 1.0))[0])
        shift = max(0.0, last + apart - x)
        last = x + shift
        axes.annotate(
            ", ".join(words),
            (time, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(2.0 + shift * 72 / figure.dpi, -3.0),
            textcoords="offset points",
            rotation=90,
            ha="left",
            va="top",
            fontsize=8.5,
            color=INK,
            path_effects=[withStroke(linewidth=2.5, foreground="white", alpha=0.85)],
            zorder=5,
        )


def _legends(
    figure: Figure,
    shown: dict[str, Look],
    areas: Sequence[tuple[str, list[int], dict[str, Any]]],
) -> None:
    handles: list[Artist] = [Line2D([], [], **look.line) for look in shown.values()]
    labels = [literal(title(policy)) for policy in shown]
    if len(labels) > 1:
        figure.legend(
            handles, labels, loc="outside upper center", ncols=min(len(labels), 4), handlelength=3.4
        )
    patches = [Patch(edgecolor="white", linewidth=0.0, **look) for _, _, look in areas]
    names = [literal(name) for name, _, _ in areas]
    figure.legend(
        patches,
        names,
        loc="outside lower center",
        ncols=min(len(names), 4 if max(map(len, names)) > 10 else 8),
        fontsize=9.5,
        title="options, the cheapest first",
        title_fontsize=9.5,
    )
