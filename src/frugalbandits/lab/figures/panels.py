"""Figures with matplotlib: an instance, and regret over time.

Figures are made with matplotlib's object interface and belong to the caller: nothing here touches
pyplot or its global state. Colours can be told apart by colour-blind readers, and every curve also has
its own dashes and marks, so that a print in grey loses nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogLocator, MaxNLocator
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from frugalbandits.core.quality import RelativeToBest
from frugalbandits.errors import InputError
from frugalbandits.lab.figures.style import (
    BLUE,
    GREEN,
    INK,
    SUFFIXES,
    Look,
    bar_label,
    blank,
    drawing,
    legend_below,
    literal,
    looks,
    readable_ticks,
    save,
    short_ticks,
)
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.result import Regret, Result
from frugalbandits.lab.text import counted, readable, role, title

__all__ = [
    "LEAST",
    "LEAST_LINE",
    "REGRETS",
    "SUFFIXES",
    "Panel",
    "Regret",
    "plot_instance",
    "plot_regret",
    "regret_of",
    "save",
]

#: The kinds of regret as axis labels.
REGRETS: dict[Regret, str] = {
    "summed": "summed cost and quality regret",
    "cost": "cost regret",
    "quality": "quality regret",
    "scaled": "scaled cost and quality regret",
}
#: How the least regret that lower bounds allow is called and drawn.
LEAST = "least regret by the lower bounds (large T)"
LEAST_LINE: dict[str, Any] = {"color": INK, "linestyle": (0, (1, 1)), "linewidth": 2.4}
# Final means that lie further apart than this, in powers of ten, need a logarithmic axis.
_DECADES = 1.5
# Costs that differ by more than this factor too.
_COST_RATIO = 60.0
# Beside its point, a longer name would lie among those of its neighbours.
_LONG_NAME = 14
# A longer title would run into that of the panel beside it.
_LONG_TITLE = 40


class Panel(NamedTuple):
    """One panel of a regret figure: the policies' results on one instance with one alpha.

    `least` is the least regret at the horizon that lower bounds allow, if it is to be shown; it grows with
    log t.
    """

    instance: str
    results: Sequence[Result]
    regret: Regret = "summed"
    least: float | None = None


def regret_of(result: Result, regret: Regret) -> NDArray[np.float64]:
    """Return one kind of regret: runs x checkpoints."""
    values: NDArray[np.float64] = getattr(result, f"{regret}_regret")
    return values


def plot_regret(panels: Sequence[Panel]) -> Figure:
    r"""Draw regret against time: means and 20-80 percentile bands over the runs.

    Parameters
    ----------
    panels
        Drawn row by row, at most three side by side. A policy looks the same in all of them.

    Examples
    --------
    >>> from frugalbandits import instance, simulate
    >>> result = simulate(instance("goodreads", alpha=0.3), "etc-cs", horizon=1000, runs=2)
    >>> figure = plot_regret([Panel("goodreads", [result])])
    >>> figure.axes[0].get_title()
    'goodreads, $\\alpha$ = 0.3\nT = 1,000, 2 runs'
    """
    if not panels or not all(panel.results for panel in panels):
        raise InputError("a regret figure needs at least one panel, and each panel at least one result")
    columns = len(panels) if len(panels) <= 3 else 2 if len(panels) == 4 else 3
    rows = math.ceil(len(panels) / columns)
    shown = looks(result.policy for panel in panels for result in panel.results)
    alike = len({panel.regret for panel in panels}) == 1
    # One kind of axis for all: side by side, a mixture would be read as one.
    logarithmic = any(map(_wide, panels))
    scale = "\n(logarithmic)" if logarithmic else ""
    with drawing():
        figure = blank(max(6.4, 4.6 * columns), 4.0 * rows + 0.6)
        for i, panel in enumerate(panels):
            axes = figure.add_subplot(rows, columns, i + 1)
            _draw_regret(axes, panel, shown, logarithmic)
            if i % columns == 0 or not alike:
                axes.set_ylabel(f"{REGRETS[panel.regret]}{scale}")
            # The lowest panel of each column.
            if i + columns >= len(panels):
                axes.set_xlabel("t", style="italic")
        handles = [Line2D([], [], **look.line) for look in shown.values()]
        labels = [literal(title(policy)) for policy in shown]
        if any(panel.least for panel in panels):
            handles.append(Line2D([], [], **LEAST_LINE))
            labels.append(LEAST)
        legend_below(figure, handles, labels, handlelength=3.6)
    return figure


def _draw_regret(axes: Axes, panel: Panel, shown: dict[str, Look], logarithmic: bool) -> None:
    first = panel.results[0]
    regrets = [regret_of(result, panel.regret) for result in panel.results]
    means = [regret.mean(axis=0) for regret in regrets]
    least = _least(panel)
    floor = 0.0
    if logarithmic:
        seen = np.concatenate(means if least is None else [*means, least[-1:]])
        # A panel without any regret has nothing to show but its axis.
        floor = max(float(seen[seen > 0].min(initial=np.inf)), float(seen.max()) * 1e-6)
        floor = floor if math.isfinite(floor) else 1.0
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(numticks=10))
    else:
        millions = max(float(mean[-1]) for mean in means) >= 1e6
        axes.yaxis.set_major_formatter(short_ticks() if millions else readable_ticks())
    for result, regret, mean in zip(panel.results, regrets, means, strict=True):
        place = list(shown).index(result.policy)
        low, high = np.percentile(regret, [20, 80], axis=0)
        # A run starts with no regret at all, which a logarithmic axis cannot show.
        times = result.times if logarithmic else np.concatenate([[0], result.times])
        curves = [curve if logarithmic else np.concatenate([[0.0], curve]) for curve in (mean, low, high)]
        mean, low, high = (np.maximum(curve, floor) for curve in curves)
        every = max(1, len(times) // 6)
        # Marks of different curves at different times, so that close curves do not hide them.
        start = min(len(times) - 1, every * (2 * place % 7 + 1) // 8)
        look = shown[result.policy]
        axes.fill_between(times, low, high, color=look.colour, alpha=0.18, linewidth=0, zorder=2)
        axes.plot(times, mean, **look.line, label=result.policy, markevery=(start, every), zorder=3)
    if least is not None:
        axes.plot(first.times, np.maximum(least, floor), **LEAST_LINE, label=LEAST, zorder=3.5)
    what = f"{literal(panel.instance)}, {bar_label(first.problem)}"
    if len(what) > _LONG_TITLE:
        what = what.replace(", ", "\n", 1)
    axes.set_title(f"{what}\nT = {first.horizon:,}, {counted(first.runs)}")
    axes.set_xlim(0, first.horizon)
    if logarithmic:
        axes.set_ylim(bottom=floor * 0.8)
    else:
        axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(short_ticks())
    axes.grid(True)


def _least(panel: Panel) -> NDArray[np.float64] | None:
    """Return the least regret at each checkpoint: a constant times log t."""
    if not panel.least:
        return None
    times = panel.results[0].times
    return np.asarray(panel.least * np.log(times) / np.log(times[-1]))


def _wide(panel: Panel) -> bool:
    """Tell whether the final means of a panel lie too far apart for a linear axis."""
    finals = [float(regret_of(result, panel.regret)[:, -1].mean()) for result in panel.results]
    positive = [value for value in [*finals, panel.least or 0.0] if value > 0]
    return len(positive) > 1 and math.log10(max(positive) / min(positive)) > _DECADES


def plot_instance(problem: Problem, title: str) -> Figure:
    r"""Draw the arms over the reward line: the threshold, the feasible region, a* and i*.

    Arms are labelled points, the higher the more expensive. Where names are long, or too many to keep
    clear of each other, each arm has a row of its own and a second panel shows the costs.

    Examples
    --------
    >>> problem = Problem([0.2, 0.7, 0.8], [1, 2, 9], alpha=0.2)
    >>> plot_instance(problem, "tiny").axes[0].get_title()
    'tiny: 3 arms, $\\alpha$ = 0.2'
    """
    heading = f"{literal(title)}: {problem.arms} arms, {bar_label(problem)}"
    with drawing():
        long = max(map(len, problem.names)) > _LONG_NAME
        return (None if long else _points(problem, heading)) or _rows(problem, heading)


def _points(problem: Problem, heading: str) -> Figure | None:
    """Draw arms at (mean, cost), or return None where a label finds no room."""
    figure = blank(8.0, 5.2)
    canvas: Any = figure.canvas
    axes = figure.add_subplot()
    axes.margins(x=0.08, y=0.1)
    if _spread(problem):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(readable_ticks())
    for arm in range(problem.arms):
        axes.plot(problem.means[arm], problem.costs[arm], **_mark(problem, arm))
    bottom = axes.get_ylim()[0] if _spread(problem) else min(0.0, float(problem.costs.min()))
    axes.set_ylim(bottom=bottom)
    # Stems tie each arm to its place on the reward line.
    axes.vlines(problem.means, bottom, problem.costs, color="#cccccc", linewidth=0.9, zorder=1)
    axes.set_ylabel(_cost_label(problem))
    axes.set_title(heading)
    _finish(figure, axes, problem)
    canvas.draw()
    return figure if _place_labels(axes, canvas, problem) else None


def _place_labels(axes: Axes, canvas: Any, problem: Problem) -> bool:
    """Put each label beside its point, clear of all else; tell whether that was possible."""
    renderer = canvas.get_renderer()
    frame = axes.get_window_extent(renderer)
    reach = 5.0 * renderer.dpi / 72
    points = axes.transData.transform(np.column_stack([problem.means, problem.costs]))
    taken = [Bbox.from_extents(x - reach, y - reach, x + reach, y + reach) for x, y in points]
    bar = float(axes.transData.transform((problem.threshold, problem.costs[0]))[0])
    taken.append(Bbox.from_extents(bar - 2, frame.y0, bar + 2, frame.y1))
    sides = [(7, 0), (-7, 0), (0, 7), (0, -7), (6, 6), (-6, 6), (6, -6), (-6, -6)]
    stars = (problem.optimal_arm, problem.best_arm)
    for arm in sorted(range(problem.arms), key=lambda arm: arm not in stars):
        for dx, dy in sides:
            text = axes.annotate(
                _label(problem, arm),
                (float(problem.means[arm]), float(problem.costs[arm])),
                xytext=(1.3 * dx, dy) if arm in stars else (dx, dy),
                textcoords="offset points",
                ha="left" if dx > 0 else "right" if dx < 0 else "center",
                va="bottom" if dy > 0 else "top" if dy < 0 else "center",
                **_lettering(problem, arm),
                path_effects=[withStroke(linewidth=2.5, foreground="white", alpha=0.8)],
                zorder=5,
            )
            extent = text.get_window_extent(renderer)
            inside = frame.x0 <= extent.x0 and extent.x1 <= frame.x1 and frame.y0 <= extent.y0
            if inside and not any(extent.overlaps(other) for other in taken):
                taken.append(extent)
                break
            text.remove()
        else:
            return False
    return True


def _rows(problem: Problem, heading: str) -> Figure:
    """Draw a row per arm, the cheapest at the top: its mean on the left, its cost on the right."""
    figure = blank(10.0, 0.24 * problem.arms + 2.2, ConstrainedLayoutEngine(wspace=0.06))
    figure.suptitle(heading, fontsize=13)
    rewards, prices = figure.subplots(1, 2, sharey=True, width_ratios=[3, 1.4])
    for place, arm in enumerate(problem.order.tolist()):
        rewards.plot(problem.means[arm], place, **_mark(problem, arm))
        prices.plot(problem.costs[arm], place, **_mark(problem, arm))
    rewards.set_yticks(range(problem.arms), [_label(problem, arm) for arm in problem.order.tolist()])
    for text, arm in zip(rewards.get_yticklabels(), problem.order.tolist(), strict=True):
        text.set(fontsize=10, **_lettering(problem, arm))
    rewards.set_ylim(problem.arms - 0.3, -0.7)
    for axes in (rewards, prices):
        axes.margins(x=0.05)
        axes.grid(True)
        axes.tick_params(axis="y", length=0)
    prices.tick_params(axis="y", labelleft=False)
    if _spread(problem):
        prices.set_xscale("log")
        prices.xaxis.set_major_formatter(readable_ticks())
    else:
        prices.xaxis.set_major_locator(MaxNLocator(3))
    prices.set_xlabel(_cost_label(problem))
    _finish(figure, rewards, problem)
    return figure


def _finish(figure: Figure, axes: Axes, problem: Problem) -> None:
    axes.set_xlabel(r"mean reward $\mu$")
    low, high = axes.get_xlim()
    line = axes.axvline(problem.threshold, color=INK, linestyle=(0, (4, 3)), linewidth=1.3, zorder=1.5)
    low = min(low, problem.threshold - 0.03 * (high - low))
    region = axes.axvspan(problem.threshold, high, color=GREEN, alpha=0.09, linewidth=0, zorder=0)
    axes.set_xlim(low, high)
    optimal, best = problem.optimal_arm, problem.best_arm
    entries: list[tuple[Artist, str]] = []
    if best == optimal:
        entries.append(
            (Line2D([], [], **_mark(problem, optimal)), "a* and i*: cheapest feasible, highest mean")
        )
    else:
        entries.append((Line2D([], [], **_mark(problem, optimal)), "a*: cheapest feasible arm"))
        entries.append((Line2D([], [], **_mark(problem, best)), "i*: highest mean"))
    entries.append((line, f"{_rule(problem)} = {readable(problem.threshold)}"))
    entries.append((region, "feasible"))
    figure.legend(*zip(*entries, strict=True), loc="outside lower center", ncols=len(entries), fontsize=10)


def _rule(problem: Problem) -> str:
    if not problem.attainable:
        return "level not reached; best mean"
    if isinstance(problem.quality, RelativeToBest):
        return r"$(1-\alpha)\,\max\,\mu$"
    return literal(problem.quality.rule).replace("alpha", r"$\alpha$", 1)


def _mark(problem: Problem, arm: int) -> dict[str, Any]:
    look: dict[str, Any] = {"linestyle": "none", "zorder": 4, "markeredgewidth": 1.3}
    if arm == problem.optimal_arm:
        return look | {
            "marker": "*",
            "markersize": 15,
            "color": GREEN,
            "markeredgecolor": "white",
            "zorder": 4.2,
        }
    if arm == problem.best_arm:
        return look | {
            "marker": "D",
            "markersize": 8,
            "color": BLUE,
            "markeredgecolor": "white",
            "zorder": 4.1,
        }
    filled = INK if problem.feasible[arm] else "white"
    return look | {"marker": "o", "markersize": 6.5, "color": filled, "markeredgecolor": INK}


def _lettering(problem: Problem, arm: int) -> dict[str, Any]:
    colour = {problem.best_arm: BLUE, problem.optimal_arm: "#00704f"}.get(arm, INK)
    return {"color": colour, "fontweight": "normal" if colour == INK else "bold"}


def _label(problem: Problem, arm: int) -> str:
    stars = [part for part in role(problem, arm).split() if part.endswith("*")]
    return " ".join([literal(problem.names[arm]), *(f"({star})" for star in stars)])


def _spread(problem: Problem) -> bool:
    least, most = float(problem.costs.min()), float(problem.costs.max())
    return least > 0 and most / least > _COST_RATIO


def _cost_label(problem: Problem) -> str:
    return "cost c (logarithmic)" if _spread(problem) else "cost c"
