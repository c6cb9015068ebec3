"""What values look like outside the command line: tables in notebooks, and the figure of a result."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence

from matplotlib.figure import Figure

from frugalbandits.core.contextual.registry import contextual_title
from frugalbandits.lab.advice import Advice, Expectation
from frugalbandits.lab.bounds import LeastRegret, Overview
from frugalbandits.lab.bounds.side_by_side import OBJECTIVES
from frugalbandits.lab.contextual import ContextualProblem, ContextualResult
from frugalbandits.lab.documents.html import fragment
from frugalbandits.lab.documents.parts import Cell, Mark, Table
from frugalbandits.lab.figures import Panel, plot_advice, plot_regret, plot_replay, plot_routing, plot_world
from frugalbandits.lab.figures.panels import Regret, regret_of
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.replay import Estimate, Replay
from frugalbandits.lab.result import Result
from frugalbandits.lab.terminal.promise import least_spender, promise_columns, promise_note, promise_title
from frugalbandits.lab.text import counted, percent, readable, role, title
from frugalbandits.lab.worlds.result import KINDS, Kind, WorldResult

__all__ = [
    "arms_table",
    "figure_of",
    "html_of",
    "plot_advice",
    "promise_html",
    "replay_figure_of",
    "routing_figure_of",
    "success",
    "world_figure_of",
]

_SHOWN: tuple[Regret, ...] = ("scaled", "summed", "cost", "quality")
# Rows of a table in a notebook; of more arms the cheapest are shown.
_MOST = 40


def figure_of(result: Result, regret: Regret = "summed") -> Figure:
    """Draw one result: its regret against time, the mean and a band over the runs."""
    # Checked before anything is drawn.
    regret_of(result, regret)
    return plot_regret([Panel(counted(result.problem.arms, "arm"), [result], regret)])


def world_figure_of(result: WorldResult, regret: Kind = "scaled") -> Figure:
    """Draw one result in a world: its regret against time, and the traffic of the options."""
    return plot_world(counted(result.problem.arms, "option"), [result], regret)


def replay_figure_of(replay: Replay) -> Figure:
    """Draw a replay: spend against quality."""
    return plot_replay(replay)


def routing_figure_of(result: ContextualResult) -> Figure:
    """Draw one result on queries: where its runs ended on the plane of cost and quality."""
    return plot_routing([result], counted(result.problem.options, "option"))


def success(result: Result) -> list[tuple[str, str]]:
    """Return how well a policy found the optimal arm, as heads and values of a table."""
    return [
        ("late on a*", percent(result.late_on_optimal)),
        ("settled on a*", percent(result.settled_on_optimal)),
    ]


def promise_html(results: Sequence[Result]) -> Table:
    """Return how policies kept the promise on one problem, as a table of a page."""
    first, best = results[0], least_spender(results)
    heads = ("policy", *(head for head, _ in promise_columns(first)))
    rows = tuple(
        _cells(
            [title(result.policy), *(value for _, value in promise_columns(result))],
            "strong" if result is best and len(results) > 1 else "",
        )
        for result in results
    )
    caption = f"{promise_title(first)}; {promise_note(first)}"
    return Table(caption[0].upper() + caption[1:], heads, "l" + "r" * (len(heads) - 1), rows)


@functools.singledispatch
def html_of(value: object) -> str:
    """Return a value as HTML for a notebook."""
    raise TypeError(f"there is no table of {value!r}")


@html_of.register
def _(problem: Problem) -> str:
    return fragment([arms_table(problem, _heading(problem), [])])


@html_of.register
def _(result: Result) -> str:
    problem = result.problem
    rows = []
    for kind in _SHOWN:
        summary = result.summary(kind)
        rows.append([f"{kind} regret", *map(readable, summary)])
    found = ", ".join(f"{head}: {value}" for head, value in success(result))
    scale = f"{counted(result.runs)} of {result.horizon:,} pulls"
    caption = f"{title(result.policy)}, {scale}, {problem.quality.short}; {found}"
    regret = _table(caption, ("at the horizon", "mean", "20th percentile", "80th percentile"), rows)
    pulls = [readable(count) for count in result.pulls[:, -1].mean(axis=0)]
    arms = arms_table(problem, _heading(problem), [("mean pulls", pulls)])
    return fragment([regret, promise_html([result]), arms])


@html_of.register
def _(result: WorldResult) -> str:
    rows = [[f"{kind} regret", *map(readable, result.summary(kind))] for kind in KINDS]
    scale = f"{counted(result.runs)} of {result.horizon:,} decisions"
    money = f"{percent(result.judged_share)} judged, {100 * result.saving:.1f}% saved"
    notes = "".join(f"; {note}" for note in result.notes)
    caption = f"{title(result.policy)}, {scale}, {result.world.about}: {money}{notes}"
    regret = _table(caption, ("at the horizon", "mean", "20th percentile", "80th percentile"), rows)
    uses = [readable(count) for count in result.pulls[:, -1].mean(axis=0)]
    start = f"At the start: {_heading(result.problem)}"
    return fragment([regret, arms_table(result.problem, start, [("mean uses", uses)])])


@html_of.register
def _(problem: ContextualProblem) -> str:
    return fragment(_routing_tables(problem))


@html_of.register
def _(result: ContextualResult) -> str:
    problem, told = result.problem, result.summary()
    heads = ("segment", *problem.names)
    rows = [
        [name, *map(percent, shares)]
        for name, shares in zip(problem.segment_names, result.shares.tolist(), strict=True)
    ]
    caption = (
        f"{contextual_title(result.policy)}, {counted(result.runs)} of {result.horizon:,} decisions: cost "
        f"{readable(told.cost)}, {told.over_single:.3g} of a*; quality {readable(told.quality)}, "
        f"{told.over_bar:.4g} of the bar, {told.worst:.4g} in the worst run. Who was asked:"
    )
    return fragment([_table(caption, heads, rows[:_MOST]), *_routing_tables(problem)])


def _routing_tables(problem: ContextualProblem) -> list[Table]:
    oracle = problem.oracle()
    rules = [(f"a*: {problem.names[problem.optimal_option]}", oracle.single)]
    rules += [(f"oracle: {rule.kind}", rule) for rule in oracle.rules]
    rows = [[name, *map(readable, (rule.cost, rule.quality, rule.price))] for name, rule in rules]
    caption = f"{problem.queries:,} queries, {problem.quality.short}: bar {readable(oracle.bar)}"
    return [_table(caption, ("rule", "cost", "quality", "lambda"), rows)]


@html_of.register
def _(advice: Advice) -> str:
    heads = (
        "plan",
        "spend",
        "10th percentile",
        "90th",
        "saving",
        "quality",
        "below the bar by",
        "days to know",
    )
    caption = f"{advice.verdict.words}; over {counted(advice.case.days, 'day')}, {counted(advice.runs)}"
    return fragment([_table(caption, heads, map(_plan_cells, advice.plans))])


def _plan_cells(row: Expectation) -> list[str]:
    days = "" if row.days_to_know is None else readable(row.days_to_know.middle)
    money = [*map(readable, row.spend), percent(row.saving)]
    return [row.plan, *money, readable(round(row.quality.middle, 4)), readable(row.lack), days]


@html_of.register
def _(replay: Replay) -> str:
    rows = [
        [
            line.name if line.kind != "oracle" else f"{line.name}: {line.option}",
            _band(line.spend),
            _band(line.quality),
            "" if line.saving is None else f"{100 * line.saving.value:.1f}%",
            percent(line.reaches),
        ]
        for line in replay.lines
    ]
    caption = (
        f"{replay.source}, {counted(replay.horizon, 'request')}, {replay.quality.short}, estimator "
        f"{replay.estimator}: mean [95% interval] a request, saving against {replay.against}"
        f"{'' if replay.identified else f' ({replay.identification})'}"
    )
    found = _table(caption, ("", "spend", "quality", "saving", "reaches the bar"), rows)
    doubts = _table("To mind", ("",), [[words] for words in replay.warnings])
    return fragment([found, doubts] if replay.warnings else [found])


@html_of.register
def _(least: LeastRegret) -> str:
    kind = "summed" if least.objective == "sum" else least.objective
    caption = (
        f"Least {kind} regret that the lower bounds allow at T = {least.horizon:,}: {readable(least.value)}"
    )
    pulls = [readable(count) for count in least.pulls]
    joint = [[bound] for bound in least.tight if bound.startswith("joint")]
    met = _table("Joint bounds that these pulls meet exactly", ("bound",), joint)
    return fragment([arms_table(least.problem, caption, [("expected pulls", pulls)]), met])


@html_of.register
def _(shown: Overview) -> str:
    problem = shown.problem
    star = problem.optimal_arm
    pulls = {
        "at least, Gaussian": shown.lower["gaussian"],
        "at least, Bernoulli": shown.lower["bernoulli"],
        "with least regret": shown.least["bernoulli", "sum"].pulls,
        **({} if shown.upper is None else {"COF at most": shown.upper.pulls}),
    }
    columns = [
        (
            head,
            [_none(arm == star and head.startswith("at least"), count) for arm, count in enumerate(counts)],
        )
        for head, counts in pulls.items()
    ]
    heading = f"Pulls that the bounds allow at T = {shown.horizon:,}; {_heading(problem)}"
    rows = [
        [
            f"least, {family.title()} rewards",
            *(readable(shown.least[family, kind].value) for kind in OBJECTIVES),
        ]
        for family in ("bernoulli", "gaussian")
    ]
    if shown.upper is not None:
        most = (shown.upper.cost_regret, shown.upper.quality_regret, shown.upper.summed_regret)
        rows.append(["COF at most", *map(readable, most)])
    regret = _table("Regret that the bounds allow", ("regret", *OBJECTIVES), rows)
    return fragment([arms_table(problem, heading, columns), regret])


def arms_table(problem: Problem, caption: str, columns: Sequence[tuple[str, Sequence[str]]]) -> Table:
    """Return a table with a row an arm, from the cheapest on; `columns` are further heads and values."""
    heads = ("arm", "role", "mean", "cost", "good enough", *(head for head, _ in columns))
    rows = []
    for arm in problem.order[:_MOST].tolist():
        values = [
            problem.names[arm],
            role(problem, arm),
            readable(problem.means[arm]),
            readable(problem.costs[arm]),
            "yes" if problem.feasible[arm] else "no",
            *(values[arm] for _, values in columns),
        ]
        rows.append(_cells(values, "strong" if arm == problem.optimal_arm else ""))
    left = problem.arms - len(rows)
    more = f"; the {_MOST} cheapest, {counted(left, 'arm')} not shown" if left else ""
    return Table(caption + more, heads, "ll" + "r" * (len(heads) - 2), tuple(rows))


def _band(estimate: Estimate) -> str:
    value, low, high = map(readable, estimate)
    return value if low == high else f"{value} [{low}, {high}]"


def _cells(values: Iterable[str], mark: Mark = "") -> tuple[Cell, ...]:
    return tuple(Cell(value, mark=mark) for value in values)


def _table(caption: str, heads: tuple[str, ...], rows: Iterable[Iterable[str]]) -> Table:
    return Table(caption, heads, "l" + "r" * (len(heads) - 1), tuple(map(_cells, rows)))


def _heading(problem: Problem) -> str:
    unmet = "" if problem.attainable else ", which no arm reaches"
    return (
        f"{counted(problem.arms, 'arm')}, {problem.quality.short}{unmet}: "
        f"threshold {readable(problem.threshold)}, a* is {problem.names[problem.optimal_arm]}"
    )


def _none(nothing: bool, count: float) -> str:
    return "" if nothing else "unbounded" if math.isinf(count) else readable(count)
