"""Parts of the illustrations: rows on a reward line, arrows, marked values, and words that keep clear."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from frugalbandits.lab.figures.style import INK

__all__ = ["CHANGE", "QUIET", "Mark", "arrow", "beside", "dot", "flags", "interval", "over", "rows", "span"]

#: The colours of what would have to change, and of remarks.
CHANGE, QUIET = "#C04F00", "#6e6e6e"
# Points between the axes and a flag, and from one level of flags to the next.
_LIFT, _LEVEL = 5, 19


class Mark(NamedTuple):
    """A value that is marked across all rows, with its name above them."""

    value: float
    name: str
    colour: str = INK


def dot(colour: str, star: bool = False) -> dict[str, Any]:
    """Return the look of a mean; a white one is a mean that has been changed."""
    hollow = colour == "white"
    return {
        "marker": "*" if star else "o",
        "markersize": 16 if star else 9,
        "color": colour,
        "markeredgecolor": CHANGE if hollow else "white",
        "markeredgewidth": 1.8 if hollow else 0.8,
        "linestyle": "none",
        "zorder": 5,
    }


def interval(colour: str) -> dict[str, Any]:
    """Return the look of a confidence interval, drawn from end to end."""
    return {
        "color": colour,
        "linewidth": 2,
        "marker": "|",
        "markersize": 12,
        "markeredgewidth": 2,
        "zorder": 4,
    }


def span(axes: Axes, values: Sequence[float]) -> None:
    """Let the reward line hold the values, with a margin."""
    low, high = min(values), max(values)
    margin = 0.07 * (high - low) or 0.05
    axes.set_xlim(low - margin, high + margin)
    axes.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10]))


def rows(axes: Axes, names: Sequence[str]) -> None:
    """Give each name a row, the first at the top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.7)
    axes.tick_params(axis="y", length=0)
    axes.grid(True, axis="x")


def arrow(axes: Axes, start: float, end: float, row: float, colour: str = CHANGE) -> None:
    """Draw an arrow along a row."""
    style = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.8, "shrinkA": 5, "shrinkB": 5}
    axes.annotate("", (end, row), (start, row), arrowprops=style, zorder=4)


def beside(axes: Axes, row: float, words: str) -> None:
    """Write into the column to the right of the axes."""
    axes.text(1.02, row, words, transform=axes.get_yaxis_transform(), va="center", fontsize=10.5)


def flags(axes: Axes, marks: Sequence[Mark], column: str) -> None:
    """Mark values across the rows and name them, and the right column, above the axes.

    A name stands over its line, or to one side of it, or a level higher: wherever it is clear first.
    """
    head = axes.annotate(
        column,
        (1.02, 1),
        xycoords="axes fraction",
        xytext=(0, _LIFT),
        textcoords="offset points",
        va="bottom",
    )
    head.set(fontsize=10.5, color=QUIET)
    named = []
    for mark in marks:
        axes.axvline(mark.value, color=mark.colour, linestyle=(0, (4, 3)), linewidth=1.4, zorder=1.5)
        named.append(
            axes.annotate(
                mark.name,
                (mark.value, 1),
                xycoords=axes.get_xaxis_transform(),
                xytext=(0, _LIFT),
                textcoords="offset points",
                ha="center",
                va="bottom",
                color=mark.colour,
            )
        )
    # Whatever stands above the axes moves with them, so that one layout is enough to measure by.
    figure: Any = axes.get_figure(root=True)
    figure.draw_without_rendering()
    taken = [_extent(head)]
    for flag in named:
        for level, side in itertools.product(range(3), ("center", "right", "left")):
            flag.set(ha=side)
            flag.xyann = ({"center": 0, "right": 4, "left": -4}[side], _LIFT + level * _LEVEL)
            extent = _extent(flag)
            inside = figure.bbox.x0 <= extent.x0 and extent.x1 <= figure.bbox.x1
            if inside and not any(extent.padded(5).overlaps(other) for other in taken):
                break
        taken.append(_extent(flag))


def over(axes: Axes, start: float, end: float, row: float, words: str, colour: str = CHANGE) -> None:
    """Write over an arrow: in its middle, or from its tip back where the words are longer than it is.

    The layout must have been done.
    """
    text = axes.text(
        (start + end) / 2, row - 0.18, words, ha="center", va="bottom", fontsize=10, color=colour
    )
    text.set_path_effects([withStroke(linewidth=2.5, foreground="white", alpha=0.7)])
    ends = axes.transData.transform([(start, row), (end, row)])[:, 0]
    if _extent(text).width > abs(ends[1] - ends[0]) - 12:
        forward = start <= end
        # A little away from the line at the tip.
        figure: Any = axes.get_figure(root=True)
        away = 5 * figure.dpi / 72
        place = float(ends[1]) + (-away if forward else away)
        text.set(
            x=float(axes.transData.inverted().transform((place, 0))[0]), ha="right" if forward else "left"
        )
    extent, frame = _extent(text), axes.get_window_extent()
    if extent.x1 > frame.x1 or extent.x0 < frame.x0:
        right = extent.x1 > frame.x1
        text.set(x=axes.get_xlim()[1 if right else 0], ha="right" if right else "left")


def _extent(text: Text) -> Bbox:
    figure: Any = text.get_figure(root=True)
    return text.get_window_extent(figure.canvas.get_renderer())
