"""The picture of combining samples: how epsilon is calculated back, and why two arms do what neither can."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from frugalbandits.core.quality import check_alpha
from frugalbandits.errors import InputError
from frugalbandits.lab.figures.style import BLUE, GREEN, INK, blank, drawing, legend_below
from frugalbandits.lab.paper.figures.reward_line import (
    CHANGE,
    Mark,
    arrow,
    beside,
    dot,
    flags,
    interval,
    over,
    rows,
    span,
)
from frugalbandits.lab.problem import Problem

__all__ = ["GATING", "Snapshot", "epsilon", "snapshot"]

#: What `epsilon` shows by default: a candidate, and two arms that eliminate it together.
GATING = Problem([0.35, 0.90, 0.84], [1, 2, 3], alpha=0.25)

# The candidate and the two gating arms.
_COLOURS = (INK, BLUE, GREEN)


class Snapshot(NamedTuple):
    """An episode of COF at one moment: the candidate first, then two gating arms."""

    means: tuple[float, float, float]  # empirical
    pulls: tuple[int, int, int]
    alpha: float
    delta: float

    @property
    def radii(self) -> NDArray[np.float64]:
        r"""Confidence radii $\beta_k(\delta) = \sqrt{\log(1/\delta) / 2 n_k}$."""
        return np.sqrt(-math.log(self.delta) / (2 * np.array(self.pulls)))

    @property
    def level(self) -> float:
        r"""What a mean is compared with: $UCB_\ell / (1-\alpha)$."""
        return float((self.means[0] + self.radii[0]) / (1 - self.alpha))

    @property
    def epsilons(self) -> NDArray[np.float64]:
        r"""Expression eq:eps_def for both gating arms.

        $\epsilon_{k,\ell} = \exp(-2 n_k (\hat\mu_k - UCB_\ell/(1-\alpha))^2)$ where the mean is above
        $UCB_\ell/(1-\alpha)$, and 1 otherwise.
        """
        gaps = np.maximum(np.array(self.means[1:]) - self.level, 0.0)
        return np.asarray(np.exp(-2 * np.array(self.pulls[1:]) * gaps**2))


def snapshot(problem: Problem = GATING, delta: float = 0.05, seed: int = 136) -> Snapshot:
    """Pull a candidate and two gating arms in turn until the candidate is deemed infeasible (line 9).

    Examples
    --------
    >>> bool(np.prod(snapshot().epsilons) <= 0.05 < min(snapshot().epsilons))
    True
    """
    if problem.arms != 3 or problem.feasible[problem.order[0]]:
        raise InputError(
            "the picture of epsilon needs three arms, the cheapest of them infeasible, but the problem is "
            f"{problem!r}"
        )
    rng = np.random.default_rng(seed)
    sums = np.zeros(3)
    for pulls in itertools.count(1):
        sums += rng.random(3) < problem.means[problem.order]
        one, two, three = (sums / pulls).tolist()
        state = Snapshot((one, two, three), (pulls, pulls, pulls), problem.alpha, delta)
        if np.prod(state.epsilons) <= delta:
            return state
    raise AssertionError("an infeasible arm is deemed infeasible at last")


def epsilon(state: Snapshot | None = None) -> Figure:
    r"""Explain Expression eq:eps_def: two gating arms that eliminate the candidate together.

    For neither arm is $\hat\mu_k - UCB_\ell/(1-\alpha)$ as large as its radius $\beta_k(\delta)$. Calculated
    back, it is the radius $\beta_k(\epsilon_{k,\ell})$; and the product of the epsilons is at most delta.
    """
    state = state or snapshot()
    check_alpha(state.alpha)
    if not (np.prod(state.epsilons) <= state.delta < state.epsilons.min()):
        raise InputError(
            f"the two gating arms must eliminate the candidate together and neither alone, but with delta = "
            f"{state.delta:g} their epsilons are {state.epsilons.tolist()}"
        )
    with drawing():
        figure = blank(9.0, 5.9)
        figure.suptitle(
            r"Neither $a_p$ nor $a_k$ alone eliminates the candidate $a_\ell$; together they do", fontsize=12
        )
        line, evidence = figure.subplots(2, 1, height_ratios=[1.35, 1])
        _draw_radii(line, state)
        _draw_evidence(evidence, state)
        shown = {
            r"empirical mean $\hat\mu$": Line2D([], [], **dot(INK)),
            r"radius $\beta(\delta)$ to either side": Line2D([], [], **interval(INK)),
            r"$\hat\mu_k - UCB_\ell/(1-\alpha) = \beta_k(\epsilon_{k,\ell})$": Line2D(
                [], [], color=CHANGE, linewidth=3.5
            ),
        }
        legend_below(figure, list(shown.values()), list(shown), handlelength=2.2, fontsize=10)
        flags(line, [Mark(state.level, rf"$UCB_\ell/(1-\alpha)$ = {state.level:.3g}")], "radii")
        limit = -math.log(state.delta)
        flags(evidence, [Mark(limit, rf"$\log(1/\delta)$ = {limit:.2f}")], "error probabilities")
        upper = state.means[0] + float(state.radii[0])
        over(line, upper, state.level, 0, r"$UCB_\ell$ inflated")
    return figure


def _draw_radii(axes: Axes, state: Snapshot) -> None:
    """Draw the candidate's interval and its inflated end, and both radii of each gating arm."""
    means, radii = np.array(state.means), state.radii
    span(axes, [*(means - radii), *(means + radii), state.level])
    for row, colour in enumerate(_COLOURS):
        ends = [means[row] - radii[row], means[row] + radii[row]]
        axes.plot(ends, [row] * 2, **interval(colour), label=f"interval {row}")
        axes.plot(means[row], row, **dot(colour), label=f"mean {row}")
    arrow(axes, means[0] + radii[0], state.level, 0)
    for row, name in enumerate("pk", start=1):
        gap = means[row] - state.level
        below = [row + 0.25] * 2
        axes.plot([state.level, means[row]], below, color=CHANGE, linewidth=3.5, label=f"gap {row}")
        words = rf"$\beta_{name}(\delta)$ = {radii[row]:.3f}" + "\n"
        beside(axes, row + 0.1, words + rf"$\beta_{name}(\epsilon_{{{name},\ell}})$ = {gap:.3f}")
    rows(axes, [r"candidate $a_\ell$", "gating arm $a_p$", "gating arm $a_k$"])
    axes.set_xlabel("reward")


def _draw_evidence(axes: Axes, state: Snapshot) -> None:
    """Draw the logarithms of the epsilons as bars: together they reach the limit."""
    logs = -np.log(state.epsilons)
    hatches = ("////", "\\\\\\\\")
    for place, name in enumerate("pk"):
        look = {"color": to_rgba(_COLOURS[place + 1], 0.35), "edgecolor": _COLOURS[place + 1]}
        bar: dict[str, Any] = {**look, "height": 0.5, "hatch": hatches[place], "linewidth": 1.2}
        axes.barh(place, logs[place], **bar, label=f"alone {name}")
        axes.barh(2, logs[place], left=logs[:place].sum(), **bar, label=f"together {name}")
        beside(axes, place, rf"$\epsilon_{{{name},\ell}}$ = {state.epsilons[place]:.3g} $> \delta$")
    product = float(np.prod(state.epsilons))
    beside(axes, 2, rf"$\epsilon_{{p,\ell}}\,\epsilon_{{k,\ell}}$ = {product:.3g} $\leq \delta$")
    axes.set_xlim(0, 1.12 * max(float(logs.sum()), -math.log(state.delta)))
    rows(axes, ["$a_p$ alone", "$a_k$ alone", "together"])
    axes.set_xlabel(r"evidence against $a_\ell$: $\log(1/\epsilon)$")
