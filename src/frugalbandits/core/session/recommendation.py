"""One sentence on what a session recommends, in agreement with its table of options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Row", "concluded_words", "recommended_words", "unreachable_words"]

_SAME = 1e-12  # a mean this close to the bar reaches it: (1 - 0.1) * 0.8 is not 0.72


class Row(NamedTuple):
    """What the sentence needs of one option in the table."""

    name: str
    cost: float
    mean: float | None
    high: float | None  # upper end of its interval
    usable: bool

    def reaches(self, bar: float) -> bool:
        """Tell whether its mean is at the bar or above."""
        return self.mean is not None and self.mean >= bar - _SAME


def recommended_words(name: str, rows: Sequence[Row], bar: float | None, after: str) -> str:
    """Say which option is recommended, and why; "still checking" where the means so far do not support it."""
    if all(each.mean is None for each in rows):
        return f"No feedback yet {after}."
    row = next(each for each in rows if each.name == name)
    paused = "" if row.usable else ", paused at the moment"
    checking = f"Recommended: {name!r}{paused} (still checking) {after}"
    if row.mean is None:
        return f"{checking}: there is no feedback on it yet."
    if bar is None:
        return f"{checking}: the bar is not known yet."
    mean, least = _apart(row.mean, bar)
    cheaper = _cheapest([each for each in rows if each.cost < row.cost], bar)
    option = "option" if all(each.usable for each in rows) else "active option"
    if row.reaches(bar):
        if cheaper is not None:
            return (
                f"{checking}: its mean of {mean} reaches the bar of {least}; so does that of "
                f"{cheaper.name!r}, which costs less."
            )
        return (
            f"Recommended: {name!r}{paused} {after}: the cheapest {option} whose mean so far ({mean}) "
            f"reaches the bar ({least})."
        )
    words = f"{checking}: its mean of {mean} is below the bar of {least}"
    if row.high is not None and row.high >= bar:
        words += f", but its quality may be up to {row.high:.4f}"
    other = _cheapest(rows, bar)
    if other is None:
        return f"{words}; no mean reaches the bar so far."
    return f"{words}; the cheapest {option} whose mean reaches it is {other.name!r}."


def concluded_words(name: str, rows: Sequence[Row], bar: float | None, after: str) -> str:
    """Say on which option the policy has settled, and where the means no longer support it."""
    words = f"Settled on {name!r} {after}"
    row = next((each for each in rows if each.name == name), None)
    if row is None or row.mean is None or bar is None:
        return f"{words}."
    mean, least = _apart(row.mean, bar)
    if not row.reaches(bar):
        return f"{words}, but by now its mean of {mean} is below the bar of {least}."
    cheaper = _cheapest([each for each in rows if each.cost < row.cost], bar)
    if cheaper is not None:
        return f"{words}; by now the mean of {cheaper.name!r}, which costs less, reaches the bar too."
    return f"{words}."


def unreachable_words(name: str | None, rows: Sequence[Row], level: float, after: str) -> str:
    """Say that no option reaches a fixed level, and which one is used."""
    nothing = f"No option reaches {level:g}"
    reaching = [each for each in rows if each.reaches(level)]
    if reaching:
        best = max(reaching, key=lambda each: each.mean or 0.0)
        nothing = (
            f"Concluded that no option reaches {level:g}, though by now the mean of {best.name!r} "
            f"is {best.mean:.4f}"
        )
    if name is None:
        return f"{nothing}; {after} the best one is still being looked for."
    row = next((each for each in rows if each.name == name), None)
    better = [
        each
        for each in rows
        if row is not None and row.mean is not None and each.mean is not None and each.mean > row.mean + _SAME
    ]
    if better:
        best = max(better, key=lambda each: each.mean or 0.0)
        return f"{nothing}; settled on {name!r} {after}, though by now the mean of {best.name!r} is higher."
    return f"{nothing}; settled on {name!r}, the best one, {after}."


def _cheapest(rows: Sequence[Row], bar: float) -> Row | None:
    found = [each for each in rows if each.usable and each.reaches(bar)]
    return min(found, key=lambda each: each.cost, default=None)


def _apart(mean: float, bar: float) -> tuple[str, str]:
    """Write both with four decimals, or with as many as it takes to tell them apart."""
    for places in range(4, 13):
        one, other = f"{mean:.{places}f}", f"{bar:.{places}f}"
        if one != other:
            break
    else:
        one, other = f"{mean:.4f}", f"{bar:.4f}"
    return one, other
