"""The figures of the paper's experiments: from outcomes to pictures, with captions.

Each function takes outcomes of cells, which may hold more than it needs, and says which are missing.
What is drawn follows from the outcomes alone, so any scale gives the same figure with other numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogFormatterMathtext, LogLocator, NullLocator

from frugalbandits.errors import InputError
from frugalbandits.lab.bounds import least_regret
from frugalbandits.lab.figures.panels import LEAST, LEAST_LINE, REGRETS, Panel, plot_instance, plot_regret
from frugalbandits.lab.figures.style import INK, Look, blank, drawing, legend_below, looks
from frugalbandits.lab.instances.catalogue import instance
from frugalbandits.lab.paper.experiments import INSTANCES, experiment
from frugalbandits.lab.paper.figures import ablations, illustrations
from frugalbandits.lab.result import Result
from frugalbandits.lab.sweeps.cells import Outcome, Settings
from frugalbandits.lab.text import counted, readable, title

__all__ = [
    "Drawn",
    "draw",
    "plot_ablation_combining",
    "plot_ablation_exclusive",
    "plot_cost_biased",
    "plot_regret_vs_time",
    "plot_vary_alpha",
]

# How the paper writes the instances' names.
_NAMES = {"goodreads": "Goodreads", "movielens": "MovieLens"}
# The alpha of the instances' pictures: that of Fig. 3 (a) and (c).
_PICTURED = 0.3
# Share of an alpha column that holds marks, and of a policy's part of it.
_FILLED, _SPREAD = 0.88, 0.72
_GOLDEN = (math.sqrt(5) - 1) / 2
_BAND = "the band from the 20th to the 80th percentile"


class Drawn(NamedTuple):
    """A figure with the stem of its file name, a title and a caption that stands alone."""

    stem: str
    title: str
    caption: str
    figure: Figure


class _Chosen(NamedTuple):
    """The results that one figure shows: all combinations of these instances, alphas and policies."""

    results: dict[tuple[str, float, str], Result]
    instances: list[str]
    alphas: list[float]
    policies: list[str]

    def at(self, instance: str, alpha: float) -> list[Result]:
        """All policies on one problem."""
        return [self.results[instance, alpha, policy] for policy in self.policies]

    def absent(self, name: str) -> str:
        """Tell which policies of an experiment are not shown."""
        wanted = dict.fromkeys(cell.policy for cell in experiment(name).cells(Settings()))
        lacking = [title(policy) for policy in wanted if policy not in self.policies]
        return f" Not shown, for want of results: {', '.join(lacking)}." if lacking else ""

    @property
    def scale(self) -> str:
        """Runs and horizon in words."""
        runs = sorted({result.runs for result in self.results.values()})
        words = counted(runs[0]) if len(runs) == 1 else f"{runs[0]:,} to {runs[-1]:,} runs"
        return f"{words} of T = {next(iter(self.results.values())).horizon:,} pulls"


def _choose(name: str, outcomes: Sequence[Outcome], any_alpha: bool, any_policy: bool) -> _Chosen:
    """Choose an experiment's outcomes, or tell which are missing.

    Where any alpha or any policy will do, those that occur count, and each must occur in all combinations.
    """
    cells = experiment(name).cells(Settings())
    instances, alphas, policies = (
        list(dict.fromkeys(values))
        for values in zip(*((c.instance, c.alpha, c.policy) for c in cells), strict=True)
    )
    found: dict[tuple[str, float, str], Outcome] = {}
    for outcome in outcomes:
        cell = outcome.cell
        if cell.instance not in instances or cell.policy not in policies:
            continue
        if not any_alpha and cell.alpha not in alphas:
            continue
        earlier = found.setdefault((cell.instance, cell.alpha, cell.policy), outcome)
        if earlier.cell != cell:
            raise InputError(f"two results for one place in figure {name!r}: {earlier.cell} and {cell}")
    if found and any_alpha:
        alphas = sorted({alpha for _, alpha, _ in found})
    if found and any_policy:
        policies = [policy for policy in policies if any(policy == used for _, _, used in found)]
    needed = [(i, alpha, policy) for i in instances for alpha in alphas for policy in policies]
    missing = [
        f"{i}, alpha {alpha:g}, {policy}" for i, alpha, policy in needed if (i, alpha, policy) not in found
    ]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise InputError(f"figure {name!r} lacks results: {'; '.join(missing[:3])}{more}")
    horizons = sorted({found[key].result.horizon for key in needed})
    if len(horizons) > 1:
        raise InputError(f"figure {name!r} needs one horizon, but its results have {horizons}")
    return _Chosen({key: found[key].result for key in needed}, instances, alphas, policies)


def _over_time(outcomes: Sequence[Outcome]) -> _Chosen:
    return _choose("regret-vs-time", outcomes, any_alpha=False, any_policy=True)


def _over_alpha(outcomes: Sequence[Outcome]) -> _Chosen:
    return _choose("vary-alpha", outcomes, any_alpha=True, any_policy=True)


def _pair(name: str, outcomes: Sequence[Outcome]) -> _Chosen:
    return _choose(name, outcomes, any_alpha=False, any_policy=False)


def plot_regret_vs_time(outcomes: Sequence[Outcome]) -> Figure:
    """Draw summed regret against time on Goodreads and MovieLens: Fig. 3 (a) and (c) of the paper."""
    chosen = _over_time(outcomes)
    panels = [(_NAMES[i], chosen.at(i, a)) for i in chosen.instances for a in chosen.alphas]
    return plot_regret([Panel(name, results, least=_least(results[0])) for name, results in panels])


def _least(result: Result) -> float:
    """Return the least summed regret that the lower bounds together allow."""
    return least_regret(result.problem, result.horizon).value


def plot_vary_alpha(outcomes: Sequence[Outcome]) -> Figure:
    """Draw the summed regret of every run at the horizon against alpha: Fig. 3 (b) and (d) of the paper.

    Each alpha has a column, each policy a part of it, each run a mark, and the mean a short bar.
    """
    chosen = _over_alpha(outcomes)
    shown = looks(chosen.policies)
    with drawing():
        figure = blank(9.6, 3.6 * len(chosen.instances) + 0.5)
        panels = figure.subplots(len(chosen.instances), 1, squeeze=False)[:, 0]
        for axes, name in zip(panels, chosen.instances, strict=True):
            _draw_columns(axes, chosen, name, shown)
        panels[-1].set_xlabel(r"subsidy factor $\alpha$")
        marks = [
            Line2D([], [], linestyle="none", marker=look.mark, color=look.colour, markersize=7)
            for look in shown.values()
        ]
        lines = [Line2D([], [], color=INK, linewidth=1.6), Line2D([], [], **LEAST_LINE)]
        words = [*map(title, shown), "mean", LEAST]
        legend_below(figure, [*marks, *lines], words, handlelength=1.6, columnspacing=1.5)
    return figure


def _draw_columns(axes: Axes, chosen: _Chosen, name: str, shown: dict[str, Look]) -> None:
    ends = {key[1:]: result.summed_regret[:, -1] for key, result in chosen.results.items() if key[0] == name}
    every = np.concatenate(list(ends.values()))
    positive = every[every > 0]
    bounds = [_least(chosen.at(name, alpha)[0]) for alpha in chosen.alphas]
    limits = [bound if math.isfinite(bound) else 0.0 for bound in bounds]
    lowest = min([*positive.tolist(), *(limit for limit in limits if limit > 0)], default=1.0)
    # A logarithmic axis has no 0: runs without regret stand in a row of their own below all others.
    zero = 10.0 ** (math.floor(math.log10(lowest)) - 0.6)
    axes.set_yscale("log")
    part = _FILLED / len(shown)
    for place, (policy, look) in enumerate(shown.items()):
        middles = np.arange(len(chosen.alphas)) - _FILLED / 2 + part * (place + 0.5)
        xs, ys, means = [], [], []
        for middle, alpha in zip(middles, chosen.alphas, strict=True):
            regret = ends[alpha, policy]
            # Multiples of the golden ratio spread evenly, however many runs there are.
            jitter = (np.arange(1, regret.size + 1) * _GOLDEN) % 1 - 0.5
            xs.append(middle + jitter * part * _SPREAD)
            ys.append(np.where(regret > 0, regret, zero))
            means.append(regret.mean() if regret.any() else zero)
        # Few marks are larger and darker, for the bar of the mean not to hide them.
        size, opacity = (14, 0.4) if len(ys[0]) > 20 else (22, 0.5) if len(ys[0]) > 5 else (36, 0.8)
        axes.scatter(
            np.concatenate(xs),
            np.concatenate(ys),
            s=size,
            marker=look.mark,
            color=look.colour,
            alpha=opacity,
            linewidths=0,
            label=policy,
            zorder=3,
        )
        half = part * 0.48
        # Thin, so that marks which all lie on it are still seen around it.
        axes.hlines(means, middles - half, middles + half, color=INK, linewidth=1.4, zorder=4)
    for column, (alpha, limit) in enumerate(zip(chosen.alphas, limits, strict=True)):
        if limit > 0:
            across = column - 0.46, column + 0.46
            axes.plot(across, [limit, limit], **LEAST_LINE, label=f"{LEAST}, {alpha:g}", zorder=2.5)
    for column in range(0, len(chosen.alphas), 2):
        axes.axvspan(column - 0.5, column + 0.5, color="#f1f1f1", linewidth=0, zorder=0)
    axes.set_xlim(-0.5, len(chosen.alphas) - 0.5)
    axes.set_xticks(range(len(chosen.alphas)), [f"{alpha:.2f}" for alpha in chosen.alphas])
    axes.tick_params(axis="x", length=0)
    axes.grid(True, axis="y")
    axes.set_title(f"{_NAMES[name]}, {chosen.scale.replace(' of T', ', T').removesuffix(' pulls')}")
    axes.set_ylabel(REGRETS["summed"].replace(" and ", " and\n") + " at T")
    _decades(axes, lowest, max(float(every.max()), *limits), zero if positive.size < every.size else None)


def _decades(axes: Axes, lowest: float, highest: float, zero: float | None) -> None:
    """Tick the powers of ten, and the row of zeros if there is one."""
    axes.yaxis.set_major_locator(LogLocator(numticks=10))
    axes.set_ylim(lowest / 1.6, max(highest, lowest * 10) * 1.6)
    if zero is None:
        return
    first, last = math.floor(math.log10(lowest)), math.ceil(math.log10(max(highest, lowest)))
    step = max(1, math.ceil((last - first) / 7))
    power = LogFormatterMathtext()
    axes.yaxis.set_major_locator(FixedLocator([zero, *(10.0**k for k in range(first, last + 1, step))]))
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, place: "0" if value == zero else power(value, place))
    )
    axes.yaxis.set_minor_locator(NullLocator())
    axes.axhline(zero * 10**0.3, color="#999999", linewidth=0.9, linestyle=(0, (2, 2)), zorder=1)
    axes.set_ylim(bottom=zero / 10**0.3)
    axes.set_ylabel(f"{axes.get_ylabel()}\n(lowest row: none)")


def plot_ablation_exclusive(outcomes: Sequence[Outcome]) -> Figure:
    """Draw COF with and without exclusive sampling on nu1: panels (a) and (b) of the paper's ablations."""
    return ablations.plot(_ablated("ablation-exclusive", outcomes), *_WINDOWS["ablation-exclusive"])


def plot_ablation_combining(outcomes: Sequence[Outcome]) -> Figure:
    """Draw COF with and without combining samples on nu2: panels (c) to (e) of the paper's ablations."""
    return ablations.plot(_ablated("ablation-combining", outcomes), *_WINDOWS["ablation-combining"])


_WINDOWS = {
    "ablation-exclusive": (
        r"$\nu_1$",
        [ablations.Event("a", 0, "infeasible"), ablations.Event("b", 1, "optimal")],
    ),
    "ablation-combining": (
        r"$\nu_2$",
        [ablations.Event(letter, arm, "infeasible") for arm, letter in enumerate("cde")],
    ),
}


def _ablated(name: str, outcomes: Sequence[Outcome]) -> list[Result]:
    chosen = _pair(name, outcomes)
    return chosen.at(chosen.instances[0], chosen.alphas[0])


def plot_cost_biased(outcomes: Sequence[Outcome]) -> Figure:
    """Draw cost and quality regret of COF with uniform and with cost-biased sampling."""
    chosen = _pair("cost-biased", outcomes)
    results = chosen.at(chosen.instances[0], chosen.alphas[0])
    return plot_regret([Panel("cost-biased", results, "cost"), Panel("cost-biased", results, "quality")])


def draw(name: str, outcomes: Sequence[Outcome]) -> list[Drawn]:
    """Draw all figures of an experiment from its outcomes.

    Examples
    --------
    >>> [drawn.stem for drawn in draw("instances", [])]
    ['instance-goodreads', 'instance-movielens']
    """
    heading = experiment(name).title
    return [
        Drawn(stem, words or heading, told, figure) for stem, words, told, figure in _DRAW[name](outcomes)
    ]


def _draw_over_time(outcomes: Sequence[Outcome]) -> Iterable[tuple[str, str, str, Figure]]:
    chosen = _over_time(outcomes)
    best = [
        f"{title(least.policy)} on {_NAMES[i]} ({readable(least.summary().mean)})"
        for i in chosen.instances
        for least in [min(chosen.at(i, chosen.alphas[0]), key=lambda result: result.summary().mean)]
    ]
    caption = (
        f"Summed cost and quality regret against time on Goodreads and MovieLens with alpha = "
        f"{chosen.alphas[0]:g}: the mean over {chosen.scale}, with {_BAND}. "
        f"At the horizon the lowest mean is that of {' and of '.join(best)}. The dotted line is the least "
        f"regret that the paper's lower bounds together allow.{chosen.absent('regret-vs-time')}"
    )
    yield "regret-vs-time", "", caption, plot_regret_vs_time(outcomes)


def _draw_over_alpha(outcomes: Sequence[Outcome]) -> Iterable[tuple[str, str, str, Figure]]:
    chosen = _over_alpha(outcomes)
    columns = [chosen.at(i, alpha) for i in chosen.instances for alpha in chosen.alphas]
    least = [min(column, key=lambda result: result.summary().mean).policy for column in columns]
    wins = [f"{title(p)} in {least.count(p)}" for p in chosen.policies if p in least]
    span = f"{chosen.alphas[0]:g}" + (f" to {chosen.alphas[-1]:g}" if len(chosen.alphas) > 1 else "")
    caption = (
        f"Summed cost and quality regret at the horizon on Goodreads and MovieLens for alpha = {span}, "
        f"over {chosen.scale}. Each run is a mark, each short bar a mean; policies stand side by side in the "
        f"order of the legend. A dotted line is the least regret that the lower bounds allow; where there is "
        f"none, they allow no regret at all. "
        f"Of the {len(columns)} columns of both panels, the lowest mean belongs to {', '.join(wins)}."
        f"{chosen.absent('vary-alpha')}"
    )
    yield "vary-alpha", "", caption, plot_vary_alpha(outcomes)


def _draw_instances(outcomes: Sequence[Outcome]) -> Iterable[tuple[str, str, str, Figure]]:
    for name in INSTANCES:
        problem = instance(name, _PICTURED)
        feasible = int(problem.feasible.sum())
        caption = (
            f"The {_NAMES[name]} instance: {problem.arms} arms by mean reward and cost. With alpha = "
            f"{problem.alpha:g} the threshold is {readable(problem.threshold)}, so "
            f"{'all' if feasible == problem.arms else feasible} arms are feasible; the cheapest of them, "
            f"{problem.names[problem.optimal_arm]}, is optimal."
        )
        figure = plot_instance(problem, _NAMES[name])
        yield f"instance-{name}", f"The {_NAMES[name]} instance", caption, figure


def _draw_ablation(name: str, outcomes: Sequence[Outcome]) -> Iterable[tuple[str, str, str, Figure]]:
    results = _ablated(name, outcomes)
    greek, events = _WINDOWS[name]
    caption = ablations.caption(results, greek.strip("$\\").replace("_", ""), events)
    yield name, "", caption, ablations.plot(results, greek, events)


def _draw_cost_biased(outcomes: Sequence[Outcome]) -> Iterable[tuple[str, str, str, Figure]]:
    chosen = _pair("cost-biased", outcomes)
    results = chosen.at(chosen.instances[0], chosen.alphas[0])
    costs = [f"{readable(result.summary('cost').mean)} for {title(result.policy)}" for result in results]
    caption = (
        f"Cost regret and quality regret of COF with uniform and with cost-biased sampling on the instance "
        f"cost-biased with alpha = {chosen.alphas[0]:g}: the mean over {chosen.scale}, with {_BAND}. "
        f"At the horizon the mean cost regret is {' and '.join(costs)}."
    )
    yield "cost-biased", "", caption, plot_cost_biased(outcomes)


_DRAW: dict[str, Callable[[Sequence[Outcome]], Iterable[tuple[str, str, str, Figure]]]] = {
    "regret-vs-time": _draw_over_time,
    "vary-alpha": _draw_over_alpha,
    "instances": _draw_instances,
    "illustrations": lambda outcomes: illustrations.all_of_them(),
    "ablation-exclusive": lambda outcomes: _draw_ablation("ablation-exclusive", outcomes),
    "ablation-combining": lambda outcomes: _draw_ablation("ablation-combining", outcomes),
    "cost-biased": _draw_cost_biased,
}
