"""The paper's experiments as data: which policy runs where, for how long and how often.

An experiment is a list of cells. Cells that two experiments share are one cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from frugalbandits.errors import unknown_name
from frugalbandits.lab.instances.catalogue import MAIN, instance
from frugalbandits.lab.sweeps.cells import Cell, Settings

__all__ = [
    "ALPHAS",
    "INSTANCES",
    "PAPER_POLICIES",
    "Experiment",
    "cells_of",
    "experiment",
    "experiments",
]

#: The policies of the paper's comparison.
PAPER_POLICIES = ("cof", "pe-cs", "ucb-cs", "ts-cs", "etc-cs")
#: The instances of the paper's comparison.
INSTANCES = MAIN
#: The subsidy factors of the paper's Fig. 3 (b) and (d).
ALPHAS = (0.01, *(round(0.05 * step, 2) for step in range(1, 13)))


class Experiment(NamedTuple):
    """One experiment of the paper."""

    name: str
    title: str
    place: str  # where it stands in the paper
    cells: Callable[[Settings], list[Cell]]


def _main(settings: Settings, alphas: Sequence[float]) -> list[Cell]:
    return [
        settings.cell(name, alpha, policy, full=(5_000_000, 50), quick=(100_000, 10), marks=200)
        for name in INSTANCES
        for alpha in alphas
        for policy in PAPER_POLICIES
    ]


def _ablation(
    settings: Settings, name: str, alpha: float, ablated: str, full: tuple[int, int], quick: tuple[int, int]
) -> list[Cell]:
    return [
        settings.cell(name, alpha, policy, full=full, quick=quick, marks=1000) for policy in ("cof", ablated)
    ]


def _cost_biased(settings: Settings) -> list[Cell]:
    # The paper gives neither alpha nor horizon: alpha is the instance file's.
    alpha = instance("cost-biased").alpha
    return [
        settings.cell("cost-biased", alpha, policy, full=(5_000_000, 50), quick=(200_000, 10), marks=200)
        for policy in ("cof", "cof-cost-biased")
    ]


_EXPERIMENTS = {
    each.name: each
    for each in (
        Experiment(
            "regret-vs-time",
            "Regret against time",
            "Fig. 3 (a), (c)",
            lambda settings: _main(settings, [0.3]),
        ),
        Experiment(
            "vary-alpha",
            "Terminal regret against the subsidy factor",
            "Fig. 3 (b), (d)",
            lambda settings: _main(settings, ALPHAS),
        ),
        Experiment("instances", "The two instances", "Appendix, instance figures", lambda settings: []),
        Experiment(
            "illustrations", "The bounds, explained", "Fig. 1, Fig. 2 and the appendix", lambda settings: []
        ),
        Experiment(
            "ablation-exclusive",
            "Without exclusive sampling",
            "Appendix, ablations (a), (b)",
            lambda settings: _ablation(
                settings, "nu1", 0.8, "cof-no-exclusive", (200_000, 1000), (200_000, 100)
            ),
        ),
        Experiment(
            "ablation-combining",
            "Without combining samples",
            "Appendix, ablations (c) to (e)",
            lambda settings: _ablation(
                settings, "nu2", 0.3, "cof-no-combine", (1_000_000, 1000), (1_000_000, 50)
            ),
        ),
        Experiment("cost-biased", "Cost-biased sampling", "Appendix, non-uniform sampling", _cost_biased),
    )
}


def experiments() -> tuple[str, ...]:
    """Return the names of the experiments.

    Examples
    --------
    >>> experiments()[:2]
    ('regret-vs-time', 'vary-alpha')
    """
    return tuple(_EXPERIMENTS)


def experiment(name: str) -> Experiment:
    """Return an experiment by name."""
    if name not in _EXPERIMENTS:
        raise unknown_name("experiment", name, _EXPERIMENTS)
    return _EXPERIMENTS[name]


def cells_of(names: Iterable[str], settings: Settings) -> list[Cell]:
    """Return the cells of some experiments, each once, in the order in which they are wanted.

    Examples
    --------
    >>> len(cells_of(["regret-vs-time", "vary-alpha"], Settings()))
    130
    """
    return list(dict.fromkeys(cell for name in names for cell in experiment(name).cells(settings)))
