"""A figure of the promise: the share of runs that hold the bar against what they spend."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from frugalbandits.errors import InputError
from frugalbandits.lab.figures.style import (
    GREEN,
    INK,
    Look,
    bar_label,
    blank,
    drawing,
    literal,
    looks,
    readable_ticks,
)
from frugalbandits.lab.promise import ENOUGH, NEARLY_ALL
from frugalbandits.lab.result import Result
from frugalbandits.lab.text import counted, listed, percent, shortened, title

__all__ = ["PromisePanel", "PromisePoint", "plot_promise", "plot_promise_panels"]

_LONGEST_NAME = 34
# Ratios of spend that lie further apart than this are drawn by their logarithm.
_FAR_APART = 8.0
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 1.0)
# The axis shows this range at least.
_LOWEST, _LEAST_SPEND, _MOST_SPEND = 0.8, 0.9, 1.1
_ORACLE = "a* alone"


class PromisePoint(NamedTuple):
    """A policy: the share of runs in which it held the bar, and its spend over that of a*."""

    policy: str
    held: float
    spend: float


class PromisePanel(NamedTuple):
    """One panel of a figure: policies on the same problems."""

    title: str
    points: Sequence[PromisePoint]


class _Mark(NamedTuple):
    """A point and its label."""

    label: str
    spend: float
    held: float
    look: Look


def plot_promise(results: Sequence[Result], name: str = "") -> Figure:
    r"""Draw the share of runs that hold the bar at the horizon against spend over that of a*.

    Parameters
    ----------
    results
        A result per policy, of one problem and one horizon.
    name
        What the problem is called.

    Examples
    --------
    >>> from frugalbandits import instance, simulate
    >>> result = simulate(instance("goodreads", alpha=0.3), "etc-cs", horizon=1000, runs=2)
    >>> plot_promise([result], "goodreads").axes[0].get_title()
    'goodreads, $\\alpha$ = 0.3\nT = 1,000, 2 runs'
    """
    if not results:
        raise InputError("a figure of the promise needs at least one result")
    first = results[0]
    if any(each.problem != first.problem or each.horizon != first.horizon for each in results):
        raise InputError("a figure of the promise needs results of one problem and one horizon")
    called = f"{literal(name)}, " if name else ""
    heading = f"{called}{bar_label(first.problem)}\nT = {first.horizon:,}, {counted(first.runs)}"
    points = [
        PromisePoint(each.policy, float(each.held[-1]), float(each.spend_over_oracle[:, -1].mean()))
        for each in results
    ]
    return plot_promise_panels([PromisePanel(heading, points)])


def plot_promise_panels(panels: Sequence[PromisePanel]) -> Figure:
    """Draw panels side by side; a policy looks the same in all of them.

    A policy without a finite ratio of spend has no point. It is named below the title.
    """
    shown = looks(point.policy for panel in panels for point in panel.points)
    with drawing():
        figure = blank(max(8.0, 6.6 * len(panels)), 5.8)
        marks = []
        for place, panel in enumerate(panels):
            axes = figure.add_subplot(1, len(panels), place + 1)
            marks.append(_draw(axes, panel, shown))
            axes.set_xlabel("spend over that of a*")
            if place == 0:
                axes.set_ylabel(f"runs with at least {ENOUGH:g} of the bar")
        canvas: Any = figure.canvas
        # Labels find their places when the axes have theirs.
        canvas.draw()
        for axes, own in zip(figure.axes, marks, strict=True):
            _label(axes, canvas.get_renderer(), own)
    return figure


def _draw(axes: Axes, panel: PromisePanel, shown: dict[str, Look]) -> list[_Mark]:
    """Draw the points of a panel, the line of 95% and the oracle; return what is to be labelled."""
    drawn = [point for point in panel.points if math.isfinite(point.spend)]
    left_out = [title(point.policy) for point in panel.points if not math.isfinite(point.spend)]
    note = f"\nno finite ratio of spend: {literal(listed(left_out))}" if left_out else ""
    axes.set_title(f"{panel.title}{note}")
    _scale(axes, drawn)
    axes.axhspan(NEARLY_ALL, axes.get_ylim()[1], color=GREEN, alpha=0.08, linewidth=0, zorder=0)
    axes.axhline(NEARLY_ALL, color=GREEN, linewidth=1.4, linestyle=(0, (6, 2)), zorder=1.5)
    axes.axvline(1.0, color=INK, linewidth=1.0, linestyle=(0, (1, 2)), zorder=1.5)
    axes.grid(True)
    marks = [_Mark(_ORACLE, 1.0, 1.0, Look(GREEN, "-", "*"))]
    marks += [
        _Mark(
            shortened(title(point.policy), _LONGEST_NAME, "…"), point.spend, point.held, shown[point.policy]
        )
        for point in drawn
    ]
    for mark in marks:
        axes.plot(
            [mark.spend],
            [mark.held],
            linestyle="none",
            marker=mark.look.mark,
            color=mark.look.colour,
            markersize=15 if mark.label == _ORACLE else 10,
            # Marks that are signs are too thin for a white edge.
            markeredgecolor=mark.look.colour if "$" in str(mark.look.mark) else "white",
            markeredgewidth=0.8,
            # A policy as good as the oracle is drawn on the star, which is larger.
            zorder=3 if mark.label == _ORACLE else 4,
            label=mark.label,
        )
    return marks


def _scale(axes: Axes, points: Sequence[PromisePoint]) -> None:
    """Stretch the axis of held near 100%, where policies differ, and choose that of spend."""
    axes.set_yscale("function", functions=(_stretched, _shrunk))
    lowest = min([_LOWEST, *(point.held for point in points)])
    room = 0.07 * math.sqrt(1.0 - lowest)
    # Room for marks below the lowest point and above 100%.
    axes.set_ylim(max(1.0 - (math.sqrt(1.0 - lowest) + room) ** 2, -0.12), 1.0 + room**2)
    axes.yaxis.set_major_locator(FixedLocator([tick for tick in _TICKS if tick >= lowest - 0.1]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
    spends = [_LEAST_SPEND, _MOST_SPEND, *(point.spend for point in points)]
    least, most = min(spends), max(spends)
    if least > 0 and most / least > _FAR_APART:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(least / 1.3, most * 1.3)
    else:
        margin = 0.1 * (most - least)
        axes.set_xlim(least - margin, most + margin)
    axes.xaxis.set_major_formatter(readable_ticks())


def _stretched(held: NDArray[np.float64]) -> NDArray[np.float64]:
    missed = 1.0 - np.asarray(held, float)
    return np.asarray(-np.sign(missed) * np.sqrt(np.abs(missed)))


def _shrunk(place: NDArray[np.float64]) -> NDArray[np.float64]:
    missed = -np.asarray(place, float)
    return np.asarray(1.0 - np.sign(missed) * missed**2)


def _label(axes: Axes, renderer: Any, marks: Sequence[_Mark]) -> None:
    """Put each label near its mark, clear of marks and other labels; a line ties one that is further off."""
    points = axes.transData.transform([(mark.spend, mark.held) for mark in marks])
    reach = 6.0 * renderer.dpi / 72
    taken = [Bbox.from_extents(x - reach, y - reach, x + reach, y + reach) for x, y in points]
    frame = axes.get_window_extent(renderer)
    across, up = axes.transData.transform((1.0, NEARLY_ALL))
    taken.append(Bbox.from_extents(frame.x0, up - 2, frame.x1, up + 2))
    taken.append(Bbox.from_extents(across - 1, frame.y0, across + 1, frame.y1))
    for mark in marks:
        best: Any = None
        fewest = math.inf
        for dx, dy in _places():
            text = axes.annotate(
                literal(mark.label),
                (mark.spend, mark.held),
                (dx, dy),
                textcoords="offset points",
                ha="left" if dx > 2 else "right" if dx < -2 else "center",
                va="center" if abs(dy) < 6 else "bottom" if dy > 0 else "top",
                fontsize=9.5,
                color=mark.look.colour,
                arrowprops={"arrowstyle": "-", "color": mark.look.colour, "linewidth": 0.7, "shrinkB": 5}
                if math.hypot(dx, dy) > 20
                else None,
                path_effects=[withStroke(linewidth=2.5, foreground="white", alpha=0.9)],
                zorder=5,
            )
            text.set_in_layout(False)
            extent = Bbox.from_extents(*_bounds(text, renderer))
            outside = not (
                frame.x0 <= extent.x0
                and extent.x1 <= frame.x1
                and frame.y0 <= extent.y0
                and extent.y1 <= frame.y1
            )
            crossed = sum(bool(extent.overlaps(other)) for other in taken) + 2 * outside
            if crossed < fewest:
                if best is not None:
                    best.remove()
                best, fewest = text, crossed
            else:
                text.remove()
            if fewest == 0:
                break
        taken.append(Bbox.from_extents(*_bounds(best, renderer)))


def _bounds(text: Any, renderer: Any) -> tuple[float, float, float, float]:
    """Return where the words of a label are, its line left out."""
    text.update_positions(renderer)
    # The extent of an annotation includes its arrow; that of its words alone is the base class's.
    words = super(type(text), text).get_window_extent(renderer)
    return words.x0, words.y0, words.x1, words.y1


def _places() -> Iterator[tuple[float, float]]:
    """Yield offsets in points, the nearest first: right, left, below and above, then all around."""
    yield from ((10, 0), (-10, 0), (0, -9), (0, 9), (8, -8), (-8, -8), (8, 8), (-8, 8))
    for distance in (24, 36, 50, 66, 84, 104):
        for step in range(16):
            angle = math.pi * (step if step % 2 == 0 else -step) / 8
            yield distance * math.cos(angle), distance * math.sin(angle)
