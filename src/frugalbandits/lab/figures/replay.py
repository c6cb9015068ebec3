"""A figure of a replay: spend against quality, with intervals and the bar."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from frugalbandits.core.contextual.registry import contextual_title
from frugalbandits.lab.figures.style import (
    GREEN,
    INK,
    bar_label,
    blank,
    drawing,
    legend_below,
    literal,
    looks,
    readable_ticks,
)
from frugalbandits.lab.replay import Line, Replay
from frugalbandits.lab.text import counted, shortened, title

__all__ = ["plot_replay"]

_GREY = "#8a8a8a"
_LONGEST_NAME = 22
# From the least to the greatest spend; costs further apart than this are drawn by their logarithm.
_FAR_APART = 30.0
# Oracles that hold an average.
_RULES = {"oracle: mix": "P", "oracle: segments": "h", "oracle: linear": "d"}
# What often ends in the same place is drawn as rings of several sizes, so that none hides another: an option
# around the oracle that picks it, and rules around each other.
_RING = 14.0
_HOLLOW = frozenset({"oracle: mix", "oracle: segments", "oracle: linear"})
_SIZES = {"oracle": 11.0, "oracle: mix": 14.0, "oracle: segments": 15.0, "oracle: linear": 9.0}


def plot_replay(replay: Replay) -> Figure:
    r"""Draw spend against quality: policies, what happened, the oracle, and each option alone.

    Examples
    --------
    >>> from frugalbandits import replay
    >>> log = {"option": ["a", "b"] * 50, "reward": [0.5, 0.6] * 50, "cost": [1, 2] * 50}
    >>> plot_replay(replay(log, 0.1, ["etc-cs"], resamples=39)).axes[0].get_xlabel()
    'mean spend a request'
    """
    with drawing():
        figure = blank(8.6, 6.0)
        axes = figure.add_subplot()
        for line in replay.lines:
            if line.kind == "always":
                _point(axes, line, _GREY, "o", _RING)
                name = literal(shortened(line.option or "", _LONGEST_NAME, "…"))
                place = (line.spend.value, line.quality.value)
                axes.annotate(name, place, (7, 7), textcoords="offset points", fontsize=9, color=_GREY)
        handles: list[Artist] = []
        labels: list[str] = []
        styles = looks(line.name for line in replay.lines if line.kind == "policy")
        for line in replay.lines:
            if line.kind == "always":
                continue
            colour, mark = INK, "X"
            if line.kind == "oracle":
                colour, mark = GREEN, _RULES.get(line.name, "*")
            if line.kind == "policy":
                colour, mark = styles[line.name].colour, styles[line.name].mark
            size = _SIZES.get(line.name, 12.0 if mark == "*" else 8.5)
            _point(axes, line, colour, mark, size)
            handles.append(_handle(colour, mark, line.name in _HOLLOW, min(size, 10.0)))
            labels.append(_label(line))
        handles += [_handle(_GREY, "o", True), _bar(axes, replay)]
        labels += ["always one option", "good enough, 95%"]
        spends = [line.spend.value for line in replay.lines]
        if min(spends) > 0 and max(spends) / min(spends) > _FAR_APART:
            axes.set_xscale("log")
        axes.xaxis.set_major_formatter(readable_ticks())
        axes.grid(True)
        axes.margins(x=0.12, y=0.08)
        axes.set_xlabel("mean spend a request")
        axes.set_ylabel("mean quality")
        title_words = f"{bar_label(replay.problem)}, {counted(replay.horizon, 'request')}"
        unsure = "" if replay.identified else f"\n{replay.identification}"
        axes.set_title(f"{title_words}, estimator {replay.estimator}{unsure}")
        legend_below(figure, handles, labels)
    return figure


def _label(line: Line) -> str:
    if line.kind == "oracle" and line.option is not None:
        return literal(f"oracle: {shortened(line.option or '', _LONGEST_NAME, '…')}")
    known = title(line.name)
    return literal(known if known != line.name else contextual_title(line.name))


def _handle(colour: str, mark: str, hollow: bool = False, size: float = 8.0) -> Line2D:
    handle = Line2D([], [], color=colour, marker=mark, linestyle="none", markersize=size)
    if hollow:
        handle.set_markerfacecolor("none")
        handle.set_markeredgewidth(1.6)
    return handle


def _point(axes: Any, line: Line, colour: str, mark: str, size: float) -> None:
    spend, quality = line.spend, line.quality
    hollow = line.kind == "always" or line.name in _HOLLOW
    axes.errorbar(
        [spend.value],
        [quality.value],
        xerr=np.array([[spend.value - spend.low], [spend.high - spend.value]]),
        yerr=np.array([[quality.value - quality.low], [quality.high - quality.value]]),
        color=colour,
        marker=mark,
        markersize=size,
        markerfacecolor="none" if hollow else colour,
        markeredgecolor=colour if hollow else "white",
        markeredgewidth=1.6 if hollow else 0.8,
        elinewidth=1.1,
        capsize=2.5,
        alpha=0.75 if line.kind == "always" else 1.0,
        zorder={"always": 2.0, "oracle": 4.0}.get(line.kind, 3.0),
    )


def _bar(axes: Any, replay: Replay) -> Artist:
    bar = replay.bar
    axes.axhline(bar.value, color=GREEN, linewidth=1.4, linestyle=(0, (6, 2)), zorder=1.5)
    if bar.high > bar.low:
        axes.axhspan(bar.low, bar.high, color=GREEN, alpha=0.12, linewidth=0, zorder=1.0)
    return Patch(facecolor=GREEN, alpha=0.3)
