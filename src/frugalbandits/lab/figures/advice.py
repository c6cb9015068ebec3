"""A figure of advice: what each day costs beside the alternatives, and who gets the traffic."""

from __future__ import annotations

import textwrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from frugalbandits.lab.advice import Advice, feedback_words
from frugalbandits.lab.figures.style import BLUE, GREEN, INK, blank, drawing, literal, looks, readable_ticks
from frugalbandits.lab.figures.worlds import areas_of
from frugalbandits.lab.text import counted, shortened, title

__all__ = ["plot_advice"]

_LONGEST_LINE = 92
_LONGEST_NAME = 18
_MARKS = ("o", "s", "^", "D", "v")


def plot_advice(advice: Advice) -> Figure:
    """Draw the spend of each day with an 80% band, beside the alternatives, and the traffic below.

    Examples
    --------
    >>> from frugalbandits import advise
    >>> advice = advise({"a": 1, "b": 3}, 100, 0.1, policies=["etc-cs"], runs=10, days=5)
    >>> [axes.get_ylabel() for axes in plot_advice(advice).axes]
    ['spend a day', 'share of traffic']
    """
    case = advice.case
    with drawing():
        figure = blank(9.0, 6.4)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.4, 1.4])
        _draw_spend(above, advice)
        _draw_traffic(below, advice)
        words = textwrap.wrap(literal(advice.verdict.words), _LONGEST_LINE)
        asked = (
            f"{literal(case.quality.short)}, {case.volume:,} decisions a day, "
            f"{feedback_words(case.feedback)}, {counted(advice.runs)}"
        )
        above.set_title("\n".join([*words, asked]), fontsize=10.5, loc="left")
        below.set_xlabel("day")
        below.set_xlim(0, case.days)
        below.xaxis.set_major_locator(MaxNLocator(10, integer=True))
        figure.legend(loc="outside lower center", ncols=4, fontsize=9.5)
    return figure


def _draw_spend(axes: Axes, advice: Advice) -> None:
    case = advice.case
    edges = np.arange(case.days + 1)
    shown = looks(trial.policy for trial in advice.trials)
    for place, trial in enumerate(advice.trials):
        spend = trial.by_day @ case.costs
        look = shown[trial.policy]
        curve = _stepped(spend.mean(axis=0))
        axes.plot(
            edges,
            curve,
            color=look.colour,
            # The advised policy is one line; others are told from it, and from levels, by their marks.
            linestyle="-" if place == 0 else (0, (1, 1)),
            marker="" if place == 0 else _MARKS[place % len(_MARKS)],
            markevery=max(case.days // 10, 1),
            markersize=6,
            markeredgecolor="white",
            linewidth=2.4 if place == 0 else 1.4,
            drawstyle="steps-pre",
            label=literal(title(trial.policy)),
            zorder=3,
        )
        if place == 0:
            low, high = np.percentile(spend, [10, 90], axis=0)
            axes.fill_between(
                edges,
                _stepped(low),
                _stepped(high),
                step="pre",
                color=look.colour,
                alpha=0.13,
                linewidth=0.0,
                label="80% of the runs",
            )
    held = dict.fromkeys(each for each in (case.now, case.safe) if each is not None)
    for option, colour in zip(held, (INK, BLUE), strict=False):
        name = literal(shortened(case.names[option], _LONGEST_NAME, "\N{HORIZONTAL ELLIPSIS}"))
        used = " (now)" if option == case.now else ""
        axes.axhline(
            float(case.costs[option]) * case.volume,
            color=colour,
            linestyle=(0, (5, 2)),
            linewidth=1.6,
            label=f"always {name}{used}",
            zorder=2.5,
        )
    ideal = advice.plans[-1].spend.middle / case.days
    axes.axhline(
        ideal,
        color=GREEN,
        linestyle=(0, (6, 1.5, 1.2, 1.5)),
        linewidth=1.8,
        label="all known at once",
        zorder=2.6,
    )
    # Room above what is most expensive, so that no line lies on the frame.
    axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    axes.set_ylabel("spend a day")
    axes.yaxis.set_major_formatter(readable_ticks())
    axes.grid(True)


def _draw_traffic(axes: Axes, advice: Advice) -> None:
    case, trial = advice.case, advice.trials[0]
    shares = trial.by_day.mean(axis=0) / case.volume
    edges = np.arange(case.days + 1)
    bottom = np.zeros(case.days + 1)
    for name, options, look in areas_of(case.expected, trial.pulls[:, -1].mean(axis=0)):
        top = bottom + _stepped(shares[:, options].sum(axis=1))
        axes.fill_between(
            edges, bottom, top, step="pre", edgecolor="white", linewidth=0.0, label=literal(name), **look
        )
        bottom = top
    axes.set_ylim(0, 1)
    axes.set_ylabel("share of traffic")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.yaxis.set_major_locator(MaxNLocator(2))


def _stepped(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([values[:1], values])
