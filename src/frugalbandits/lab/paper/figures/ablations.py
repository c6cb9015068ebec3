"""The figure of the ablations: windows of regret against time, with the times at which an arm was judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from frugalbandits.lab.figures.panels import REGRETS, Regret, regret_of
from frugalbandits.lab.figures.style import Look, blank, drawing, legend_below, looks, short_ticks
from frugalbandits.lab.result import Result
from frugalbandits.lab.text import counted, percent, readable, title

__all__ = ["Event", "Times", "caption", "plot", "times_of"]

_ROWS: tuple[Regret, ...] = ("cost", "quality")
_HATCHES = ("////", "\\\\\\\\")
# A rectangle is at least this share of its panel high.
_LEAST_HEIGHT = 0.05


class Event(NamedTuple):
    """What a panel is about: the conclusion about an arm (in order of cost), under the panel's letter."""

    letter: str
    arm: int
    kind: Literal["infeasible", "optimal"]

    @property
    def words(self) -> str:
        """The event in the paper's words."""
        return f"$a_{{{self.arm + 1}}}$ deemed {self.kind}"


class Times(NamedTuple):
    """When an event happened: mean and standard deviation over those runs in which it did."""

    mean: float
    deviation: float
    happened: int
    runs: int

    @property
    def words(self) -> str:
        """The times in words, with the runs that are left out."""
        if not self.happened:
            return f"not before T in {'the run' if self.runs == 1 else f'any of {counted(self.runs)}'}"
        spread = f"{readable(round(self.mean))} ± {readable(round(self.deviation))}"
        if self.happened == self.runs:
            return spread
        return f"{spread} ({self.happened:,} of {counted(self.runs)})"


def times_of(result: Result, event: Event) -> Times:
    """Return when the runs of a result came to a conclusion."""
    arm = int(result.problem.order[event.arm])
    events = result.events
    times = events["time"][(events["event"] == event.kind) & (events["arm"] == arm)]
    if not times.size:
        return Times(float("nan"), float("nan"), 0, result.runs)
    return Times(float(times.mean()), float(times.std()), int(times.size), result.runs)


def plot(results: Sequence[Result], name: str, events: Sequence[Event]) -> Figure:
    """Draw a column of panels per event: cost regret above quality regret, for each policy.

    A rectangle spans one standard deviation of the event's times to either side of their mean, and the
    regret that the policy's mean curve runs through meanwhile.
    """
    shown = looks(result.policy for result in results)
    first = results[0]
    with drawing():
        figure = blank(max(8.0, 3.3 * len(events)), 6.6)
        figure.suptitle(
            f"instance {name}, $\\alpha$ = {first.problem.alpha:g}, T = {first.horizon:,}, "
            f"{counted(first.runs)}",
            fontsize=12,
        )
        panels = figure.subplots(len(_ROWS), len(events), sharex="col", squeeze=False)
        for column, event in enumerate(events):
            times = [times_of(result, event) for result in results]
            for row, regret in enumerate(_ROWS):
                axes = panels[row, column]
                axes.set_xlim(*_window(times, first.horizon))
                _draw_window(axes, results, times, regret, shown)
                if column == 0:
                    axes.set_ylabel(REGRETS[regret])
            panels[-1, column].set_xlabel("t", style="italic")
            # Above the panel, where it covers no data.
            panels[0, column].legend(
                [_patch(look, hatch) for look, hatch in zip(shown.values(), _HATCHES, strict=True)],
                [each.words for each in times],
                title=f"({event.letter}) {event.words}",
                alignment="left",
                loc="lower left",
                bbox_to_anchor=(-0.04, 1.0),
                fontsize=9.5,
                title_fontsize=11,
                handlelength=1.8,
                borderaxespad=0.2,
            )
        figure.align_ylabels(panels[:, 0])
        handles: list[Artist] = [Line2D([], [], **look.line) for look in shown.values()]
        handles.append(Patch(facecolor="#dddddd", edgecolor="#555555", hatch=_HATCHES[0]))
        words = [
            *map(title, shown),
            "event: mean time ± one standard deviation,\nas high as the regret added meanwhile",
        ]
        legend_below(figure, handles, words, handlelength=3.0)
    return figure


def _window(times: Sequence[Times], horizon: int) -> tuple[float, float]:
    """From three standard deviations before the earliest event to three after the latest."""
    seen = [each for each in times if each.happened]
    if not seen:
        return 0.0, float(horizon)
    low = min(each.mean - 3 * each.deviation for each in seen)
    high = max(each.mean + 3 * each.deviation for each in seen)
    if high - low < 0.02 * horizon:
        low, high = low - 0.1 * horizon, high + 0.1 * horizon
    return max(0.0, low), min(float(horizon), high)


def _draw_window(
    axes: Axes, results: Sequence[Result], times: Sequence[Times], regret: Regret, shown: dict[str, Look]
) -> None:
    low, high = axes.get_xlim()
    tops, bottoms = [], []
    curves: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    for place, result in enumerate(results):
        look = shown[result.policy]
        values = regret_of(result, regret)
        xs = np.concatenate([[0.0], result.times])
        mean = np.concatenate([[0.0], values.mean(axis=0)])
        least, most = np.concatenate([[[0.0], [0.0]], np.percentile(values, [20, 80], axis=0)], axis=1)
        inside = np.flatnonzero((xs >= low) & (xs <= high))
        # About five marks within the window, those of the second curve between those of the first.
        every = max(1, len(inside) // 5)
        start = int(inside[0]) + every * (1 + 2 * place) // 4 if inside.size else 0
        axes.fill_between(xs, least, most, color=look.colour, alpha=0.1, linewidth=0, zorder=2)
        axes.plot(xs, mean, **look.line, label=result.policy, markevery=(start % every, every), zorder=3)
        ends = [low, high]
        bottoms.append(float(np.interp(ends, xs, least).min()))
        tops.append(float(np.interp(ends, xs, most).max()))
        curves.append((xs, mean))
    bottom, top = min(bottoms), max(tops)
    margin = 0.06 * (top - bottom) or 1.0
    axes.set_ylim(max(0.0, bottom - margin), top + margin)
    height = _LEAST_HEIGHT * (axes.get_ylim()[1] - axes.get_ylim()[0])
    for result, when, (xs, mean), hatch in zip(results, times, curves, _HATCHES, strict=True):
        if not when.happened:
            continue
        look = shown[result.policy]
        left, right = when.mean - when.deviation, when.mean + when.deviation
        floor, middle, ceiling = np.interp([left, when.mean, right], xs, mean).tolist()
        if ceiling - floor < height:
            floor, ceiling = middle - height / 2, middle + height / 2
        box = Rectangle((left, floor), right - left, ceiling - floor, **_box(look, hatch), zorder=4)
        box.set_label(result.policy)
        axes.add_patch(box)
        axes.plot(
            when.mean,
            middle,
            marker="|",
            markersize=13,
            markeredgewidth=2.6,
            color=look.colour,
            linestyle="none",
            label=f"{result.policy} mean",
            zorder=5,
        )
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(short_ticks())
    axes.yaxis.set_major_formatter(short_ticks())
    axes.grid(True)


def _box(look: Look, hatch: str) -> dict[str, Any]:

    return {
        "facecolor": to_rgba(look.colour, 0.16),
        "edgecolor": to_rgba(look.colour, 0.75),
        "hatch": hatch,
        "linewidth": 1.2,
        "linestyle": look.dashes,
    }


def _patch(look: Look, hatch: str) -> Patch:
    return Patch(**_box(look, hatch))


def caption(results: Sequence[Result], name: str, events: Sequence[Event]) -> str:
    """Tell what the figure shows, with the times of all events."""
    first = results[0]
    times = "; ".join(
        f"({event.letter}) a{event.arm + 1} deemed {event.kind}: "
        + ", ".join(f"{title(result.policy)} {times_of(result, event).words}" for result in results)
        for event in events
    )
    return (
        f"Cost and quality regret of {' and '.join(title(result.policy) for result in results)} on instance "
        f"{name} with alpha = {first.problem.alpha:g}, in windows of {counted(first.runs)} of T = "
        f"{first.horizon:,} pulls: means, with the band from the 20th to the 80th percentile. Rectangles "
        f"span one standard deviation to either side of the mean time of the event, and in height the regret "
        f"that the mean curve adds meanwhile, but at least {percent(_LEAST_HEIGHT)} of the panel. {times}."
    )
