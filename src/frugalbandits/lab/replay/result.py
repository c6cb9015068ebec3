"""What a replay found: a line a policy, with intervals, what it stands on, and what is not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from frugalbandits.core.quality import Quality
from frugalbandits.errors import unknown_name
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.replay.drift import Change
from frugalbandits.lab.replay.estimating import Effort
from frugalbandits.lab.shown import Shown, replay_figure_of

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

__all__ = ["Estimate", "Kind", "Line", "Looked", "Replay"]

Kind = Literal["policy", "always", "happened", "oracle"]


class Estimate(NamedTuple):
    """A value with the ends of its 95% interval; both are the value itself where it is a fact."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Line:
    """One way to serve the requests.

    Attributes
    ----------
    name
        The policy, or what else it is.
    kind
        "policy"; "always": one option; "happened": what the log did; "oracle": the cheapest option that is
        good enough, if one knew it, or the cheapest rule that is so on average: a mix of options ("oracle:
        mix"), by segment ("oracle: segments"), or linear in what is known of a request ("oracle: linear").
    option
        The one option that is used; None where there are several.
    spend, quality
        Mean cost and mean reward of a request, as expected of requests like these.
    saving
        Share of the spend that is compared with; None where that is 0.
    reaches
        In which share of the resampled pasts the mean quality reaches the bar. For the oracle: in which share
        it is the same option. For a rule: in which share one of its kind reaches the bar.
    in_order
        Mean cost and mean reward in the very order of the log; None where the estimator knows no order.
    one_run
        The ranges, of spend and of quality, that 95% of single runs on this past fall into; None where there
        are no runs.
    uses
        Expected uses of each option; shares where there are no runs.
    over_bar
        Mean quality over the bar; None for a bar of 0.
    """

    name: str
    kind: Kind
    option: str | None
    spend: Estimate
    quality: Estimate
    saving: Estimate | None
    reaches: float
    in_order: tuple[float, float] | None
    one_run: tuple[tuple[float, float], tuple[float, float]] | None
    uses: dict[str, float]
    over_bar: Estimate | None


class Looked(NamedTuple):
    """What policies and oracles that look at the request were run on.

    `words` says what they know of a request, `requests` how many of these there are, `horizon` how many a run
    has, and `effort` what was run.
    """

    words: str
    requests: int
    horizon: int
    effort: Effort


@dataclass(frozen=True, eq=False)
class Replay(Shown):
    """What each policy would have spent and reached.

    Attributes
    ----------
    source
        What was replayed.
    requests, horizon
        Rows of the past, those that were not judged included, and requests of each run.
    estimator
        "full", "resample", "reject" or "weights".
    method, assumes, covers
        In words: how it estimates, what that stands on, and which uncertainty the intervals cover.
    problem
        The options with their mean rewards and costs in the past, and the bar.
    bar
        The quality that is good enough, with its interval.
    lines
        A line a policy, then what happened, the oracle and each option alone; also ``replay["voi-cs"]``.
    against
        The name of the line that savings are compared with.
    rows
        Rows of each option.
    changes
        What did not stay as it was.
    warnings
        What makes the numbers doubtful, and what is not known.
    effort
        Runs on the past, resampled pasts, and runs on each of these.
    looked
        What policies that look at the request were run on; None where there is nothing to look at.
    identified
        Whether the log says what an option would have given on the other requests: it is a full table, has
        propensities, or was assigned at random. If not, intervals cover the noise of the log alone.
    identification
        What to say of that beside the figures; empty where it is identified.
    quality_bounds
        Where it is not identified, what the log says of the mean quality of each option without any
        assumption: the least and the greatest.
    judged
        Rows that have a reward, or requests of a full table that do.
    """

    source: str
    requests: int
    horizon: int
    estimator: str
    method: str
    assumes: str
    covers: str
    problem: Problem
    bar: Estimate
    lines: tuple[Line, ...]
    against: str
    rows: dict[str, int]
    changes: tuple[Change, ...]
    warnings: tuple[str, ...]
    effort: Effort
    looked: Looked | None = None
    identified: bool = True
    identification: str = ""
    quality_bounds: dict[str, tuple[float, float]] | None = None
    judged: int = 0

    @property
    def quality(self) -> Quality:
        """What is good enough."""
        return self.problem.quality

    def __getitem__(self, name: str) -> Line:
        found = {line.name: line for line in self.lines}
        if name not in found:
            raise unknown_name("line of this replay", str(name), found)
        return found[name]

    def to_polars(self) -> pl.DataFrame:
        """Return a row a line."""
        import polars as pl

        rows = [_row(line) | {"identified": self.identified} for line in self.lines]
        return pl.DataFrame(rows, infer_schema_length=None)

    def plot(self) -> Figure:
        """Draw spend against quality, with intervals and the bar."""
        return replay_figure_of(self)


def _row(line: Line) -> dict[str, Any]:
    row: dict[str, Any] = {"name": line.name, "kind": line.kind, "option": line.option}
    bands = ("spend", "quality", "saving", "over_bar")
    for what, estimate in ((name, getattr(line, name)) for name in bands):
        for part in Estimate._fields:
            key = what if part == "value" else f"{what}_{part}"
            row[key] = None if estimate is None else getattr(estimate, part)
    row["reaches"] = line.reaches
    spend, quality = line.in_order or (None, None)
    row |= {"spend_in_order": spend, "quality_in_order": quality}
    low_high = line.one_run or ((None, None), (None, None))
    for what, (low, high) in zip(("spend", "quality"), low_high, strict=True):
        row |= {f"{what}_of_one_run_low": low, f"{what}_of_one_run_high": high}
    return row
