"""The report of `frugal reproduce`: verdicts, figures, tables and settings, as one page and as Markdown."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import quote

from frugalbandits.core.files import check_writable, write_text
from frugalbandits.errors import InputError
from frugalbandits.lab.documents.html import to_html
from frugalbandits.lab.documents.markdown import to_markdown
from frugalbandits.lab.documents.parts import Block, Bullets, Document, Image, Listing, Paragraph, Section
from frugalbandits.lab.paper.claims.checked import VERDICTS, Claim
from frugalbandits.lab.paper.claims.evidence import CORRECT
from frugalbandits.lab.paper.experiments import cells_of, experiments
from frugalbandits.lab.paper.report.least import least_tables
from frugalbandits.lab.paper.report.screen import summary_table, terminal_table, verdict_counts, wanting
from frugalbandits.lab.paper.report.tables import (
    claims_table,
    event_table,
    regret_tables,
    right_arm_tables,
    runtime_table,
    settings_table,
    system_table,
)
from frugalbandits.lab.sweeps.cells import Cell, Outcome, Settings
from frugalbandits.lab.text import counted, listed, percent, seconds, title

__all__ = [
    "Picture",
    "Report",
    "Reproduction",
    "command",
    "document",
    "summary_table",
    "terminal_table",
    "write_report",
]

_TITLE = "Cost-Ordered Feasibility for bandits with cost subsidy: the paper's experiments, run again"


_Asked: TypeAlias = tuple[str, float, str]  # instance, alpha, policy


class Picture(NamedTuple):
    """A figure that is drawn already, as two files with the same picture."""

    name: str  # of the experiment
    stem: str
    title: str
    caption: str
    png: Path
    vector: Path


class Reproduction(NamedTuple):
    """All that a report tells."""

    names: Sequence[str]
    settings: Settings
    outcomes: Sequence[Outcome]
    pictures: Sequence[Picture]
    claims: Sequence[Claim]
    seconds_total: float


class Report(NamedTuple):
    """Where the report is."""

    html: Path
    markdown: Path


def write_report(folder: Path, reproduction: Reproduction) -> Report:
    """Write `report.html` and `report.md` into a folder, each whole or not at all.

    The page has its pictures inside; the Markdown links to them.
    """
    for picture in reproduction.pictures:
        if not picture.png.is_file():
            raise InputError(f"the figure {picture.stem!r} has no file {picture.png.name!r}")
    told = document(folder, reproduction)
    report = Report(check_writable(folder / "report.html"), check_writable(folder / "report.md"))
    texts = to_html(told), to_markdown(told)
    for path, text in zip(report, texts, strict=True):
        write_text(path, text)
    return report


def document(folder: Path, reproduction: Reproduction) -> Document:
    """Return the report as parts, with links to the pictures relative to the folder."""
    outcomes = reproduction.outcomes
    sections = [
        Section("claims", "The paper's claims", _claims(reproduction)),
        Section("figures", "Figures", _figures(folder, reproduction)),
        Section("regret", "Regret", _regret(outcomes)),
        Section("least", "Measured by the least possible", _least(outcomes)),
        Section("optimal-arm", "The right arm in the end", _right_arm(outcomes)),
        Section("events", "Ablations: when conclusions are drawn", _events(outcomes)),
        Section("run-time", "Run time", _run_time(reproduction)),
        Section("settings", "Settings", _settings(outcomes)),
        Section("scale", "The paper's scale and this one", _scale(reproduction)),
        Section("reproduce", "Run it again", _again(reproduction)),
    ]
    return Document(_TITLE, _lead(reproduction), tuple(each for each in sections if each.blocks))


def command(names: Sequence[str], settings: Settings) -> str:
    """Return the command line that makes this report.

    Examples
    --------
    >>> command(["regret-vs-time"], Settings(quick=True, seed=3))
    'frugal reproduce regret-vs-time --quick --seed 3'
    >>> command(experiments(), Settings(runs=5, horizon=1000))
    'frugal reproduce all --seed 0 --runs 5 --horizon 1000'
    """
    words = ["frugal", "reproduce", *(["all"] if set(names) == set(experiments()) else names)]
    words += ["--quick"] if settings.quick else []
    words += ["--seed", str(settings.seed)]
    for option, value in (("--runs", settings.runs), ("--horizon", settings.horizon)):
        words += [option, str(value)] if value is not None else []
    return shlex.join(words)


def _lead(reproduction: Reproduction) -> tuple[str, ...]:
    claims, outcomes = reproduction.claims, reproduction.outcomes
    told = [f"{verdict} {count}" for verdict, count in verdict_counts(claims).items()]
    lead = [
        f"{counted(len(claims), 'claim')} of the paper, checked against new runs of its experiments: "
        f"{', '.join(told)}. Each verdict is computed by the rule that stands beside it."
    ]
    if outcomes:
        decisions = sum(outcome.cell.runs * outcome.cell.horizon for outcome in outcomes)
        lead.append(
            f"Behind it are {counted(len(outcomes), 'cell')} (a policy on an instance with an alpha) and "
            f"{decisions:,} decisions."
        )
    if _other_scale(reproduction):
        lead.append(
            "This is not the paper's scale. The rules are the same; what they do not confirm with fewer "
            "pulls or runs than the paper's reads “not at this scale”, for it says nothing against the paper."
        )
    return tuple(lead)


def _claims(reproduction: Reproduction) -> tuple[Block, ...]:
    order = listed([f"“{verdict}”" for verdict in VERDICTS])
    intro = (
        "Regret is cost regret plus quality regret, the mean over runs at the horizon, unless said "
        f"otherwise. A verdict is one of {order}; “not tested” means that results are missing or "
        "cannot decide, “not at this scale” that there are too few pulls or runs to speak against it. The "
        "paper states its claims in words: the limits in the rules are ours, and some were chosen after a "
        "first look at results, so read a verdict together with the numbers beside it."
    )
    told = [claim for claim in reproduction.claims if not claim.wants]
    rest = wanting(reproduction.claims)
    table = [claims_table(told)] if told else []
    return Paragraph(intro), *table, *([Paragraph(rest)] if rest else [])


def _figures(folder: Path, reproduction: Reproduction) -> tuple[Block, ...]:
    order = list(reproduction.names)
    ranked = sorted(
        reproduction.pictures, key=lambda each: order.index(each.name) if each.name in order else len(order)
    )
    return tuple(
        Image(each.title, each.caption, _link(folder, each.png), each.png, each.vector) for each in ranked
    )


def _link(folder: Path, path: Path) -> str:
    return quote(Path(os.path.relpath(path, folder)).as_posix())


def _regret(outcomes: Sequence[Outcome]) -> tuple[Block, ...]:
    tables = regret_tables(outcomes)
    if not tables:
        return ()
    intro = (
        "The lowest regret of a row is bold. A ratio says how many times the regret of COF a policy has; "
        "where it is in italics, below 1, COF has more."
    )
    return Paragraph(intro), *tables


def _least(outcomes: Sequence[Outcome]) -> tuple[Block, ...]:
    tables = least_tables(outcomes)
    if not tables:
        return ()
    intro = (
        "The least possible is the least summed regret over all expected pulls that meet every lower bound "
        "of the paper, individual and joint, for Bernoulli rewards: a linear programme. The bounds hold for "
        "consistent policies in the limit of long horizons: a ratio below 1 (in italics) belongs to a policy "
        "that is not consistent, or to a horizon that is short for them. Where the bounds allow no regret, "
        "there is no ratio."
    )
    return Paragraph(intro), *tables


def _right_arm(outcomes: Sequence[Outcome]) -> tuple[Block, ...]:
    tables = right_arm_tables(outcomes)
    if not tables:
        return ()
    intro = (
        "Late pulls are those in the last fifth of the horizon. A run settles on an arm when it deems it "
        "optimal and pulls no other from then on; UCB-CS, TS-CS and ETC-CS never do. A share below "
        f"{percent(CORRECT)} is in italics."
    )
    return Paragraph(intro), *tables


def _events(outcomes: Sequence[Outcome]) -> tuple[Block, ...]:
    table = event_table(outcomes)
    if table is None:
        return ()
    intro = (
        "A time is the number of pulls made when the conclusion was drawn. A run without the event counts as "
        "the horizon."
    )
    return Paragraph(intro), table


def _run_time(reproduction: Reproduction) -> tuple[Block, ...]:
    if not reproduction.outcomes:
        return ()
    intro = (
        "A decision is one pull of one run; the seconds are wall-clock time of the cells, some of which may "
        f"have been computed earlier. This report took {seconds(reproduction.seconds_total)} seconds in all."
    )
    return Paragraph(intro), runtime_table(reproduction.outcomes)


def _settings(outcomes: Sequence[Outcome]) -> tuple[Block, ...]:
    system = system_table()
    return (settings_table(outcomes), system) if outcomes else (system,)


def _scale(reproduction: Reproduction) -> tuple[Block, ...]:
    differences = [*_other_scale(reproduction), *_missing(reproduction)]
    blocks: list[Block] = []
    if differences:
        blocks += [Paragraph("What differs from the paper:"), Bullets(tuple(differences))]
    elif reproduction.outcomes:
        blocks.append(Paragraph("Horizons, runs, policies and alphas are the paper's."))
    if any(outcome.cell.instance == "cost-biased" for outcome in reproduction.outcomes):
        ours = "For cost-biased sampling the paper gives no alpha, horizon or runs: these are ours."
        blocks.append(Paragraph(ours))
    return tuple(blocks)


def _other_scale(reproduction: Reproduction) -> list[str]:
    own, paper = _own_and_paper(reproduction)
    told: dict[str, None] = {}
    for asked, cell in paper.items():
        mine = own.get(asked, cell)
        parts = [
            f"{what} {got:,} instead of {want:,}"
            for what, got, want in (("horizon", mine.horizon, cell.horizon), ("runs", mine.runs, cell.runs))
            if got != want
        ]
        if parts:
            told[f"{title(cell.instance)}: {', '.join(parts)}."] = None
    return list(told)


def _missing(reproduction: Reproduction) -> list[str]:
    own, paper = _own_and_paper(reproduction)
    missing = sum(asked not in own for asked in paper)
    return [f"{missing:,} of {counted(len(paper), 'cell')} missing."] if missing else []


def _own_and_paper(reproduction: Reproduction) -> tuple[dict[_Asked, Cell], dict[_Asked, Cell]]:
    cells = [outcome.cell for outcome in reproduction.outcomes]
    wanted = cells_of(reproduction.names, Settings())
    own, paper = ({(c.instance, c.alpha, c.policy): c for c in each} for each in (cells, wanted))
    return own, paper


def _again(reproduction: Reproduction) -> tuple[Block, ...]:
    return (
        Paragraph("The same seed gives the same numbers, on any number of cores; only the times differ."),
        Listing(command(reproduction.names, reproduction.settings)),
    )
