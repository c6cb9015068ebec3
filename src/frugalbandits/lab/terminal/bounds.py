"""What `frugal bounds` prints: a row an arm, the regret that the bounds allow, and what policies do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from frugalbandits.lab.bounds import Overview
from frugalbandits.lab.bounds.divergence import Rewards
from frugalbandits.lab.bounds.side_by_side import OBJECTIVES
from frugalbandits.lab.result import Result
from frugalbandits.lab.terminal.widths import Column, Row, fitted, side_by_side
from frugalbandits.lab.text import printable, readable

__all__ = ["bounds_report", "short"]

_BOLD = Style(bold=True)
_DIM = Style(dim=True)
_OPTIMAL = Style(color="green", bold=True)
# Prior bounds, as the paper states them: orders, without constants.
_PRIOR = """\
Prior upper bounds, as orders:
ETC-CS  T^(2/3), because it explores for a fixed budget, whatever the gaps
PE-CS   log T, with 1/Delta_k^2 pulls of expensive arm k, Delta_k = mu* - mu_k"""


def short(value: float) -> str:
    """Write a number of pulls in at most five signs, or as a power of ten.

    Examples
    --------
    >>> [short(value) for value in (0, 0.31, 7.26, 412.8, 40937.8, 1.5e6, 3.2e11, 8e14, float("inf"))]
    ['0', '0.31', '7.3', '413', '40.9k', '1.5M', '320G', '8e+14', 'inf']
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")):
        if value >= 0.9995 * factor or factor == 1.0:
            part = value / factor
            digits = 0 if part >= 99.95 else 1 if part >= 0.9995 else 2
            text = f"{part:.{digits}f}{letter}"
            return text if len(text) <= 5 else f"{value:.0e}"
    raise AssertionError("the last factor takes every number")


def bounds_report(
    shown: Overview, title: str, results: Sequence[Result], width: int, ascii_only: bool = False
) -> Group:
    """Return everything that `frugal bounds` says about one problem.

    Parameters
    ----------
    shown
        The bounds.
    title
        What the instance is called.
    results
        Policies that were simulated on it, if any.
    width
        Columns of text. Where measured pulls do not fit beside the bounds, they get a table below.
    ascii_only
        Do without signs that are not ASCII.
    """
    problem = shown.problem
    heading = (
        f"{printable(title)}, {printable(problem.quality.short)}, T = {shown.horizon:,}: "
        f"a* is {printable(problem.names[problem.optimal_arm])} (threshold {readable(problem.threshold)})"
    )
    parts: list[RenderableType] = [Text(heading, _BOLD)]
    together = side_by_side(*_arms(shown, results, ascii_only), width, tight=True)
    if together is not None:
        parts.append(together)
    else:
        parts.append(fitted(*_arms(shown, [], ascii_only), width, tight=True))
        if results:
            parts += [Text(), fitted(*_measured(shown, results), width, tight=True)]
    parts.append(Text("\n".join(_legend(shown, results, ascii_only)), _DIM))
    parts += [Text(), fitted(*_regret(shown, results), width, tight=True)]
    parts.append(Text("\n".join(_notes(shown, ascii_only))))
    if shown.upper is not None:
        parts += [Text(), Text(_PRIOR, _DIM)]
    return Group(*parts)


_Told: TypeAlias = tuple[list[Column], list[Row]]


def _arms(shown: Overview, results: Sequence[Result], ascii_only: bool) -> _Told:
    heads = ["gap cost", "gap quality", "lower Gauss", "lower Bern.", "least regret"]
    upper = shown.upper
    if upper is not None:
        heads.append("COF at most")
    heads += [f"mean {printable(result.policy)}" for result in results]
    columns = [Column("arm", "name"), Column("role", "words"), *(Column(_two_lines(head)) for head in heads)]
    problem, least = shown.problem, shown.least["bernoulli", "sum"]
    rows: list[Row] = []
    for arm in problem.order.tolist():
        star = arm == problem.optimal_arm
        rows.append(
            (
                _name(shown, arm),
                _sign(shown.roles.label(arm), ascii_only),
                _gap(float(problem.cost_gaps[arm])),
                _gap(float(problem.quality_gaps[arm])),
                "-" if star else short(float(shown.lower["gaussian"][arm])),
                "-" if star else short(float(shown.lower["bernoulli"][arm])),
                "rest" if star else short(float(least.pulls[arm])),
                *([] if upper is None else ["T" if star else short(float(upper.pulls[arm]))]),
                *_means(results, arm),
            )
        )
    return columns, rows


def _measured(shown: Overview, results: Sequence[Result]) -> _Told:
    policies = [Column(f"mean\n{printable(result.policy)}") for result in results]
    rows: list[Row] = [(_name(shown, arm), *_means(results, arm)) for arm in shown.problem.order.tolist()]
    return [Column("arm", "name"), *policies], rows


def _means(results: Sequence[Result], arm: int) -> list[str]:
    return [short(float(result.pulls[:, -1, arm].mean())) for result in results]


def _regret(shown: Overview, results: Sequence[Result]) -> _Told:
    extra = ["against least"] if results else []
    columns = [Column("regret", "words"), *map(Column, ["cost", "quality", "sum", *extra])]
    words: dict[Rewards, str] = {
        "bernoulli": "least, Bernoulli rewards",
        "gaussian": f"least, Gaussian, sigma {shown.sigma:g}",
    }
    rows: list[Row] = []
    for family, what in words.items():
        least = [readable(shown.least[family, objective].value) for objective in OBJECTIVES]
        rows.append((Text(what, _BOLD), *least, *("" for _ in extra)))
    upper, yardstick = shown.upper, shown.least["bernoulli", "sum"].value
    above = []
    if upper is not None:
        above.append(("COF at most", (upper.cost_regret, upper.quality_regret, upper.summed_regret), _BOLD))
    for result in results:
        means = (result.summary("cost").mean, result.summary("quality").mean, result.summary().mean)
        above.append((f"{printable(result.policy)}, mean of {result.runs:,}", means, _OPTIMAL))
    for what, values, style in above:
        ratios = (_ratio(values[2], yardstick) for _ in extra)
        rows.append((Text(what, style), *map(readable, values), *ratios))
    return columns, rows


def _legend(shown: Overview, results: Sequence[Result], ascii_only: bool) -> list[str]:
    upper = shown.upper
    lines = [
        "pulls: 'lower' every consistent policy makes at least; 'least regret' those that meet all bounds "
        "with least summed regret"
        + ("" if upper is None else f"; 'COF at most' for delta = {upper.delta:.3g}"),
    ]
    if shown.roles.dagger is not None:
        lines.append(f"{_sign('a†', ascii_only)}: the cheap arm of highest mean, hardest to rule out")
    if results:
        lines.append(f"mean: of {results[0].runs:,} simulated runs with Bernoulli rewards")
    return lines


def _notes(shown: Overview, ascii_only: bool) -> list[str]:
    least = shown.least["bernoulli", "sum"]
    lines = [""]
    shared = shown.joint["bernoulli"]
    names = shown.problem.names
    if shared is None:
        why = "No arm is cheaper than a*" if shown.roles.dagger is None else "The level is known"
        lines.append(f"{why}: there is no joint bound.")
    else:
        against = f"against {names[shared.arm]} ({_sign('a†', ascii_only)})"
        helpers = " + ".join(names[arm] for arm in shown.problem.order.tolist() if shared.weights[arm] > 0)
        if shared.free:
            lines.append(f"The joint bound {against} is met for free: {helpers}.")
        else:
            met = "tight" if any(text.startswith("joint") for text in least.tight) else "slack"
            lines.append(f"The joint bound {against} is shared by {helpers}; it is {met}.")
        if shown.upper is not None:
            many = shown.upper.combined
            who = "i* alone" if many == 1 else f"the {many} arms of highest mean together"
            lines.append(f"COF's upper bound lets {who} rule it out.")
    if shown.upper is None:
        lines.append("COF's upper bound is proved for a bar relative to the best arm only.")
    if math.isinf(least.value):
        lines.append("A gap is zero: no constant times log T is enough.")
    elif least.too_early:
        lines.append("The bounds are asymptotic: these pulls exceed T, so T is too small for them.")
    return [printable(line) for line in lines]


def _name(shown: Overview, arm: int) -> Text:
    style = _OPTIMAL if arm == shown.problem.optimal_arm else _BOLD
    return Text(printable(shown.problem.names[arm]), style)


def _two_lines(head: str) -> str:
    return head.replace(" ", "\n", 1)


def _sign(text: str, ascii_only: bool) -> str:
    return text.replace("†", "^") if ascii_only else text


def _gap(value: float) -> str:
    return "0" if value == 0 else f"{value:.3g}"


def _ratio(value: float, least: float) -> str:
    return f"{value / least:.3g}x" if 0 < least < math.inf else "-"
