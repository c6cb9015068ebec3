"""What makes the numbers of a replay doubtful, and what is not known, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frugalbandits.lab.replay.choosing import FEW, Chosen
from frugalbandits.lab.replay.data import Past, Table
from frugalbandits.lab.replay.drift import Change
from frugalbandits.lab.replay.estimating import Replays
from frugalbandits.lab.replay.result import Line
from frugalbandits.lab.text import counted, listed, readable

__all__ = ["change_words", "cut_short", "warnings_of"]


def warnings_of(
    past: Past,
    how: Chosen,
    found: Replays,
    lines: Sequence[Line],
    untried: Sequence[str],
    changes: Sequence[Change],
    bounds: Mapping[str, tuple[float, float]] | None,
) -> tuple[str, ...]:
    """Return a sentence for each reason for doubt."""
    said = list(how.warnings)
    if bounds is not None:
        said.append(_without_assuming(bounds))
    if untried:
        said.append(f"never tried in the log, so nothing is known of {listed(untried)}")
    few = [
        f"{name} ({counted(int(count), 'row')})"
        for name, count in zip(past.names, past.counts, strict=True)
        if count < FEW
    ]
    if few:
        said.append(f"fewer than {FEW} rows, so that its interval is not to be relied on: {listed(few)}")
    said += [change_words(change) for change in changes]
    if changes:
        said.append(_what_drift_means(how))
    if not isinstance(past, Table):
        said += _beyond(past, lines)
    return (*said, *cut_short(found, how.horizon))


def _without_assuming(bounds: Mapping[str, tuple[float, float]]) -> str:
    """Say what a log that does not identify quality says of it all the same."""
    each = [f"{name} {readable(low)} to {readable(high)}" for name, (low, high) in bounds.items()]
    return (
        "intervals cover the noise of the log, not that options may have got other requests; without "
        f"assuming anything, the quality of each on all requests is only known to be: {listed(each)}"
    )


def cut_short(found: Replays, horizon: int) -> tuple[str, ...]:
    """Say which share of the runs came to the end of the log too early."""
    short = (found.served < horizon).mean() if found.served.size else 0.0
    if not short:
        return ()
    return (
        f"{100 * short:.1f}% of the runs came to the end of the log before {horizon:,} requests; they count "
        "by what they served",
    )


def change_words(change: Change) -> str:
    """Say what has changed."""
    return (
        f"the {change.of} of {change.option} did not stay as it was (p = {change.p_value:.1g}): "
        f"{readable(change.before)} on average in its first {change.after_rows:,} rows, "
        f"{readable(change.after)} after that"
    )


def _what_drift_means(how: Chosen) -> str:
    if how.name == "full":
        return (
            "of what has changed, only the replay in order is true; expectations take the requests as one mix"
        )
    return f"what has changed is not in these numbers: estimator {how.name!r} takes each option as one mix"


def _beyond(past: Past, lines: Sequence[Line]) -> list[str]:
    """Name the options that some policy would use more often than the log has rows of them."""
    policies = [line for line in lines if line.kind == "policy"]
    most = {name: max((line.uses[name] for line in policies), default=0.0) for name in past.names}
    more = [
        f"{name} up to {readable(most[name])} times (rows: {count:,})"
        for name, count in zip(past.names, past.counts, strict=True)
        if most[name] > count
    ]
    if not more:
        return []
    return [
        f"policies would use more of an option than the log holds, so its rows count again: {listed(more)}"
    ]
