r"""Pictures that explain the bounds: the reward line, one row per arm, the cheapest arm at the top.

Each is drawn from the numbers of a problem. Arms are called $a_1, \ldots, a_K$ in order of cost, as in the
paper. The bounds are those for Gaussian rewards of unit variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from frugalbandits.errors import InputError
from frugalbandits.lab.bounds import lower_pulls
from frugalbandits.lab.figures.style import BLUE, GREEN, INK, blank, drawing, legend_below, literal
from frugalbandits.lab.paper.figures.combining import GATING, Snapshot, epsilon, snapshot
from frugalbandits.lab.paper.figures.reward_line import (
    CHANGE,
    QUIET,
    Mark,
    arrow,
    beside,
    dot,
    flags,
    over,
    rows,
    span,
)
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.text import readable

__all__ = [
    "EXAMPLE",
    "GATING",
    "Snapshot",
    "all_of_them",
    "cheap_bound",
    "epsilon",
    "expensive_bound",
    "joint_bound",
    "snapshot",
]

#: Two cheap arms, a*, and three expensive ones; two arms can eliminate the better cheap arm.
EXAMPLE = Problem([0.38, 0.52, 0.68, 0.80, 0.61, 0.75], [1, 2, 3, 4, 5, 6], alpha=0.25)


_GAUSSIAN = " (for Gaussian rewards of unit variance)"


class _Change(NamedTuple):
    """How far an arm's mean would have to change, in words, and what follows for its pulls."""

    words: str
    bound: str


class _Picture(NamedTuple):
    """What one of the bounds shows: arms change to `target`, the end of the region beyond it."""

    heading: str
    changes: dict[int, _Change]
    target: float
    region: str
    tint: str
    marks: list[Mark]
    column: str
    names: list[str]
    inflated: int | None = None  # the arm whose mean over 1 - alpha is the target


def cheap_bound(problem: Problem = EXAMPLE) -> Figure:
    r"""Explain Theorem lb_low_cost: a cheap arm would be optimal if its mean were lifted to $\mu_{CS}$.

    The gap is $\Delta_{Q,k} = \mu_{CS} - \mu_k$, and $a_k$ is pulled at least
    $2 / \Delta_{Q,k}^2 \cdot \log T$ times.
    """
    star, means = _position(problem), _means(problem)
    if star == 0:
        raise InputError(f"there is no cheap arm to show: {_optimal(problem)!r}, a*, is the cheapest arm")
    gaps, rates = problem.threshold - means, _rates(problem)
    return _reward_line(
        problem,
        _Picture(
            r"A cheap arm $a_k$ is infeasible by the gap $\Delta_{Q,k} = \mu_{CS} - \mu_k$",
            {
                k: _Change(rf"$\Delta_{{Q,{k + 1}}}$ = {gaps[k]:.3g}", _times_log(rates[k]))
                for k in range(star)
            },
            problem.threshold,
            "feasible",
            GREEN,
            [
                Mark(problem.threshold, rf"$\mu_{{CS}} = (1-\alpha)\mu^*$ = {problem.threshold:.3g}"),
                Mark(float(means.max()), r"$\mu^*$", BLUE),
            ],
            "pulls, at least:\n" + r"$2\,/\,\Delta_{Q,k}^2 \cdot \log T$",
            _names(problem),
        ),
    )


def expensive_bound(problem: Problem = EXAMPLE) -> Figure:
    r"""Explain Theorem lb_high_cost: a* must be deemed feasible by each expensive arm.

    Were the mean of an expensive arm above $\mu_{a^*} / (1-\alpha)$, then $a^*$ would be infeasible. The
    gap is $\mu_{a^*} / (1-\alpha) - \mu_k$, and $a_k$ is pulled at least 2 over its square times log T times.
    """
    star, means = _position(problem), _means(problem)
    if star == problem.arms - 1:
        raise InputError(f"there is no expensive arm to show: {_optimal(problem)!r}, a*, is the last by cost")
    inflated = means[star] / (1 - problem.alpha)
    # An arm of mean exactly mu_CS may stand a hair below it in floating point.
    gaps, rates = np.maximum(inflated - means, 0.0), _rates(problem)
    return _reward_line(
        problem,
        _Picture(
            r"$a^*$ must be deemed feasible by each expensive arm $a_k$: gap $\mu_{a^*}/(1-\alpha) - \mu_k$",
            {
                k: _Change(
                    f"gap = {round(gaps[k], 9):.3g}",
                    _times_log(rates[k]),
                )
                for k in range(star + 1, problem.arms)
            },
            inflated,
            r"an arm here would make $a^*$ infeasible",
            CHANGE,
            [
                Mark(float(means[star]), r"$\mu_{a^*}$", GREEN),
                Mark(inflated, rf"$\mu_{{a^*}}/(1-\alpha)$ = {inflated:.3g}"),
            ],
            "pulls, at least:\n" + r"$2\,/\,\mathrm{gap}^2 \cdot \log T$",
            _names(problem),
            star,
        ),
    )


def joint_bound(problem: Problem = EXAMPLE) -> Figure:
    r"""Explain Theorem lb_joint: diminish every arm in $\mathcal{A}^\dagger$, and $a_\dagger$ is feasible.

    $a_\dagger$ is the cheap arm of highest mean; $\mathcal{A}^\dagger$ are the arms with
    $\Delta_{k,\dagger} = (1-\alpha) \mu_k - \mu_\dagger > 0$; $\phi(i)$ is the arm of i-th highest mean.
    """
    star, means = _position(problem), _means(problem)
    if star == 0:
        raise InputError(f"there is no cheap arm to show: {_optimal(problem)!r}, a*, is the cheapest arm")
    dagger = int(np.argmax(means[:star]))
    inflated = means[dagger] / (1 - problem.alpha)
    gaps = (1 - problem.alpha) * means - means[dagger]
    ranks = np.empty(problem.arms, np.int64)
    ranks[np.argsort(-means, kind="stable")] = np.arange(1, problem.arms + 1)
    names = _names(problem, {k: [rf"a_{{\phi({rank})}}"] for k, rank in enumerate(ranks)})
    names[dagger] += r"$\,= a_\dagger$"
    return _reward_line(
        problem,
        _Picture(
            r"$a_\dagger$ would be feasible if every arm of $\mathcal{A}^\dagger$ were diminished: "
            r"$\sum_{a_i \in \mathcal{A}^\dagger} \Delta_{i,\dagger}^2\,\mathbb{E}[n_i(T)]"
            r" \geq 2(1-\alpha)^2 \log T$",
            {
                k: _Change(
                    rf"$\Delta_{{\phi({ranks[k]}),\dagger}}\,/\,(1-\alpha)$",
                    rf"$\Delta_{{\phi({ranks[k]}),\dagger}}$ = {gaps[k]:.3g}",
                )
                for k in range(problem.arms)
                if gaps[k] > 1e-12
            },
            inflated,
            r"$\mathcal{A}^\dagger$: can eliminate $a_\dagger$",
            BLUE,
            [
                Mark(float(means[dagger]), r"$\mu_\dagger$", CHANGE),
                Mark(inflated, rf"$\mu_\dagger/(1-\alpha)$ = {inflated:.3g}"),
            ],
            r"$\Delta_{k,\dagger} =$" + "\n" + r"$(1-\alpha)\mu_k - \mu_\dagger$",
            names,
            dagger,
        ),
    )


def _reward_line(problem: Problem, picture: _Picture) -> Figure:
    """Draw the arms on the reward line, what would have to change, and the numbers beside it."""
    means, star, best = _means(problem), _position(problem), _position(problem, problem.best_arm)
    with drawing():
        figure = blank(9.0, 0.5 * problem.arms + 2.0)
        figure.suptitle(picture.heading, fontsize=12)
        axes = figure.add_subplot()
        span(axes, [*means, *(mark.value for mark in picture.marks)])
        region = axes.axvspan(
            picture.target, axes.get_xlim()[1], color=picture.tint, alpha=0.09, linewidth=0, zorder=0
        )
        for k in range(problem.arms):
            colour = GREEN if k == star else BLUE if k == best else INK
            axes.plot(means[k], k, **dot(colour, star=k == star), label=f"mean {k}")
            if k in picture.changes:
                arrow(axes, means[k], picture.target, k)
                axes.plot(picture.target, k, **dot("white"), label=f"changed {k}")
                beside(axes, k, picture.changes[k].bound)
        if picture.inflated is not None:
            arrow(axes, means[picture.inflated], picture.target, picture.inflated, QUIET)
        rows(axes, picture.names)
        axes.set_ylabel("arms, cheapest first")
        axes.set_xlabel("mean reward")
        legend_below(
            figure,
            [Line2D([], [], **dot(INK)), Line2D([], [], **dot("white")), region],
            [r"mean $\mu_k$", r"mean $\mu_k'$ in the perturbed instance $\nu'$", picture.region],
            handlelength=1.6,
            fontsize=10,
        )
        flags(axes, picture.marks, picture.column)
        # Now that all else has its place.
        if picture.inflated is not None:
            row = picture.inflated
            over(axes, means[row], picture.target, row, r"divided by $1-\alpha$", QUIET)
        for k, change in picture.changes.items():
            over(axes, means[k], picture.target, k, change.words)
    return figure


def _means(problem: Problem) -> NDArray[np.float64]:
    """Return the means in order of cost."""
    return problem.means[problem.order]


def _position(problem: Problem, arm: int | None = None) -> int:
    """Return the place of an arm, or of a*, in order of cost."""
    return int(np.flatnonzero(problem.order == (problem.optimal_arm if arm is None else arm))[0])


def _optimal(problem: Problem) -> str:
    return problem.names[problem.optimal_arm]


def _names(problem: Problem, further: dict[int, list[str]] | None = None) -> list[str]:
    """Name the arms in order of cost: the caller's name if there is one, the paper's, and others for it."""
    names = []
    for k, arm in enumerate(problem.order.tolist()):
        stars = ["a^*"] * (arm == problem.optimal_arm) + ["i^*"] * (arm == problem.best_arm)
        letters = " = ".join([f"a_{{{k + 1}}}", *stars, *(further or {}).get(k, [])])
        own = problem.names[arm]
        names.append(f"${letters}$" if own == f"a{k + 1}" else f"{literal(own)}: ${letters}$")
    return names


def _rates(problem: Problem) -> NDArray[np.float64]:
    """Return the lower bound on each arm's pulls over log T, cheapest first, for Gaussian rewards."""
    horizon = 10 * problem.arms
    bounds = lower_pulls(problem, horizon, rewards="gaussian")
    return np.asarray(bounds[problem.order] / math.log(horizon))


def _times_log(bound: float) -> str:
    return rf"{readable(bound)} $\log T$" if math.isfinite(bound) else r"$\infty$"


def all_of_them() -> Iterator[tuple[str, str, str, Figure]]:
    """Draw the four illustrations from their default numbers: stem, title, caption and figure of each."""
    means, alpha, star = _means(EXAMPLE), EXAMPLE.alpha, _position(EXAMPLE)
    least = float(means[:star].max())
    state = snapshot()
    yield (
        "illustration-cheap-bound",
        "Lower bound for cheap arms",
        f"Each cheap arm is infeasible by its gap to mu_CS = {EXAMPLE.threshold:.3g}. Were its mean lifted "
        f"to mu_CS, it would be optimal instead of a{star + 1}; to tell the two cases apart, a consistent "
        f"policy must pull it 2 / gap^2 * log T times or more in the long run{_GAUSSIAN}.",
        cheap_bound(),
    )
    yield (
        "illustration-expensive-bound",
        "Lower bound for expensive arms",
        f"The optimal arm a{star + 1} is feasible as long as no mean exceeds its own over 1 - alpha, "
        f"{means[star] / (1 - alpha):.3g}. To make sure of that, a consistent policy must pull each "
        "expensive arm 2 / gap^2 * log T times or more in the long run, by its gap to that value"
        f"{_GAUSSIAN}.",
        expensive_bound(),
    )
    yield (
        "illustration-joint-bound",
        "Joint lower bound",
        f"The best cheap arm, of mean {least:.3g}, would be feasible and hence optimal if every arm with a "
        f"mean above {least / (1 - alpha):.3g} were diminished to that value. phi numbers the arms from the "
        "highest mean down. The pulls of those arms count together, weighted by their squared gaps"
        f"{_GAUSSIAN}.",
        joint_bound(),
    )
    yield (
        "illustration-epsilon",
        "Combining samples",
        f"A candidate and two gating arms after {state.pulls[0]} pulls each, with alpha = {state.alpha:g} "
        f"and delta = {state.delta:g}. Neither gating arm's mean lies its whole radius above "
        "UCB / (1 - alpha) of the candidate, so neither eliminates it alone. Calculated back, these "
        "distances are the radii of larger error probabilities; their product is "
        f"{np.prod(state.epsilons):.3g}, which is at most delta.",
        epsilon(state),
    )
