"""One copy of every word and number format: what tables, figures, pages and the command line write."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.cells import cell_len

from frugalbandits.core.registry import policy_title
from frugalbandits.core.tables import printable
from frugalbandits.lab.instances.catalogue import instance_title
from frugalbandits.lab.problem import Problem

__all__ = [
    "DASH",
    "counted",
    "listed",
    "percent",
    "printable",
    "readable",
    "role",
    "seconds",
    "shortened",
    "shown",
    "times",
    "title",
]

#: What stands where there is no number.
DASH = "\N{EN DASH}"


def readable(value: float) -> str:
    """Write a number with four significant digits and thousands separators.

    Examples
    --------
    >>> readable(48336.2), readable(86.79), readable(0.00014382), readable(0.0), readable(12.0)
    ('48,340', '86.79', '0.0001438', '0', '12')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    magnitude = math.floor(math.log10(abs(value)))
    if not -7 < magnitude < 15:
        return f"{value:.4g}"
    text = f"{round(value, 3 - magnitude):,.{max(0, 3 - magnitude)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def role(problem: Problem, arm: int) -> str:
    """Say what part an arm plays: a* (optimal), i* (best), ref (sets the bar), cheap or expensive beside a*.

    Examples
    --------
    >>> problem = Problem([0.2, 0.7, 0.8], [1, 2, 9], alpha=0.2)
    >>> [role(problem, arm) for arm in range(3)]
    ['cheap', 'a*', 'i* expensive']
    """
    parts = []
    if arm == problem.optimal_arm:
        parts.append("a*")
    if arm == problem.best_arm:
        parts.append("i*")
    if arm == problem.reference:
        parts.append("ref")
    gap = problem.costs[arm] - problem.costs[problem.optimal_arm]
    if arm != problem.optimal_arm:
        parts.append("cheap" if gap < 0 else "expensive" if gap > 0 else "same cost")
    return " ".join(parts)


def shortened(name: str, longest: int, cut: str) -> str:
    """Return a name that is at most so long, with a sign where something was cut out."""
    # From the middle: versions and settings, which tell names apart, stand at the end.
    if cell_len(name) <= longest:
        return name
    half = (longest - 1) // 2
    return name[: longest - 1 - half] + cut + name[-half:]


def times(value: float) -> str:
    """Write a ratio in words.

    Examples
    --------
    >>> times(12.345), times(math.inf), times(math.nan)
    ('12.3 times', '∞ times (no regret)', 'no ratio (no regret)')
    """
    if math.isnan(value):
        return "no ratio (no regret)"
    return f"{shown(value)} times" + (" (no regret)" if math.isinf(value) else "")


def shown(value: float) -> str:
    """Write a ratio with about three significant digits.

    Examples
    --------
    >>> [shown(value) for value in (1.0, 12.34, 1234.5, 0.00685, 0.0)]
    ['1.00', '12.3', '1,234', '0.0069', '0']
    """
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else "∞"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:#.2g}"


def percent(share: float | None, digits: int = 0) -> str:
    """Write a share, rounded so that only all is 100% and only none is 0%; a dash where there is none.

    Examples
    --------
    >>> percent(0.999), percent(1.0), percent(0.0001), percent(0.344)
    ('99%', '100%', '1%', '34%')
    >>> percent(0.9996, digits=1), percent(0.95, digits=1)
    ('99.9%', '95%')
    >>> percent(None) == DASH
    True
    """
    if share is None:
        return DASH
    rounded = round(100 * share, digits)
    if 0 < share < 1:
        least = 10.0**-digits
        rounded = min(max(rounded, least), 100 - least)
    text = f"{rounded:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}%"


def listed(items: Sequence[str]) -> str:
    """Join words with commas and an "and".

    Examples
    --------
    >>> listed(["a1", "a2", "a3"]), listed(["a1"]), listed([])
    ('a1, a2 and a3', 'a1', 'none')
    """
    if len(items) < 2:
        return items[0] if items else "none"
    return f"{', '.join(items[:-1])} and {items[-1]}"


def title(name: str) -> str:
    """Return how a policy or an instance is written; a name that is not known stays as it is.

    Examples
    --------
    >>> title("pe-cs"), title("movielens"), title("nu1"), title("glr-cof:tolerance=0.02")
    ('PE-CS', 'MovieLens', 'nu1', 'GLR-COF (tolerance 0.02)')
    """
    return instance_title(policy_title(name))


def counted(count: int, noun: str = "run") -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> counted(1, "run"), counted(1000, "run")
    ('1 run', '1,000 runs')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def seconds(spent: float) -> str:
    """Write a time in seconds.

    Examples
    --------
    >>> seconds(0.25), seconds(1234.5)
    ('0.25', '1,234')
    """
    return f"{spent:.2f}" if spent < 100 else f"{spent:,.0f}"
