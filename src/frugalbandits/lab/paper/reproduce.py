"""From the names of experiments to a folder with figures, tables and a report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from frugalbandits.core.files import make_folder
from frugalbandits.lab.figures.panels import save
from frugalbandits.lab.paper.claims.checked import check_claims, paper_scale
from frugalbandits.lab.paper.experiments import cells_of, experiment, experiments
from frugalbandits.lab.paper.figures.plots import draw
from frugalbandits.lab.paper.report.page import Picture, Report, Reproduction, write_report
from frugalbandits.lab.sweeps.cells import Settings
from frugalbandits.lab.sweeps.cluster import check_address
from frugalbandits.lab.sweeps.progress import Progress
from frugalbandits.lab.sweeps.store import Store
from frugalbandits.lab.sweeps.sweep import sweep
from frugalbandits.lab.sweeps.tables import write_tables

__all__ = ["Made", "chosen", "reproduce"]

#: Folders within the one that a reproduction writes to.
CELLS, FIGURES, TABLES = "cells", "figures", "tables"


class Made(NamedTuple):
    """What a reproduction made."""

    reproduction: Reproduction
    report: Report
    tables: list[Path]


def chosen(names: Sequence[str]) -> list[str]:
    """Return the experiments that are meant, each once; "all" stands for all of them.

    Examples
    --------
    >>> chosen(["cost-biased", "all"])[:2]
    ['cost-biased', 'regret-vs-time']
    """
    meant = [each for name in names for each in (experiments() if name == "all" else (name,))]
    for name in meant:
        experiment(name)
    return list(dict.fromkeys(meant))


def reproduce(
    names: Sequence[str],
    folder: Path,
    settings: Settings | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Made:
    """Run experiments, or reuse what of them the folder has, and write figures, tables and a report.

    Parameters
    ----------
    names
        Experiments, or "all".
    folder
        Where everything goes. Results of single cells are kept there too, so that the same call skips what
        is done.
    settings
        Scale and seed; the paper's scale by default.
    workers, cluster, watch
        As in `sweep`.
    """
    wanted = chosen(names)
    told = settings or Settings()
    if cluster is not None:
        check_address(cluster)
    started = time.perf_counter()
    for part in (folder, folder / CELLS, folder / FIGURES, folder / TABLES):
        make_folder(part)
    outcomes = list(sweep(cells_of(wanted, told), Store(folder / CELLS), workers, cluster, watch).values())
    pictures = []
    for name in wanted:
        own = set(experiment(name).cells(told))
        for drawn in draw(name, [outcome for outcome in outcomes if outcome.cell in own]):
            png, vector = (folder / FIGURES / f"{drawn.stem}{suffix}" for suffix in (".png", ".svg"))
            save(drawn.figure, png)
            save(drawn.figure, vector)
            pictures.append(Picture(name, drawn.stem, drawn.title, drawn.caption, png, vector))
    tables = write_tables(folder / TABLES, outcomes) if outcomes else []
    claims = check_claims(outcomes, paper_scale())
    seconds = time.perf_counter() - started
    made = Reproduction(wanted, told, outcomes, pictures, claims, seconds)
    return Made(made, write_report(folder, made), tables)
