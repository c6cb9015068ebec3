"""What is good enough: three kinds of quality bar, each one value.

- `RelativeToBest`: at least 1 - alpha times the best option's quality. The paper's bar, and what plain
  ``alpha=`` is short for.
- `RelativeTo`: at least 1 - alpha times the quality of one option that is named.
- `AtLeast`: a fixed level. Where no option reaches it, the best one is what is left to want.

A bar also has a short written form, for the command line and for configuration files:
``relative-to-best:0.1``, ``relative-to:large:0.05``, ``at-least:0.8``.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from frugalbandits.errors import InputError, unknown_name

__all__ = [
    "AtLeast",
    "Quality",
    "RelativeTo",
    "RelativeToBest",
    "check_alpha",
    "check_quality",
    "finite_number",
    "quality_from_dict",
    "quality_to_dict",
]


@dataclass(frozen=True)
class RelativeToBest:
    """Good enough is a mean of at least (1 - alpha) times the highest mean.

    Parameters
    ----------
    alpha
        Share of the best quality that may be given up, in [0, 1).

    Examples
    --------
    >>> print(RelativeToBest(0.1))
    relative-to-best:0.1
    """

    kind: ClassVar[str] = "relative-to-best"

    alpha: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", check_alpha(self.alpha))

    @property
    def short(self) -> str:
        """The bar in a heading."""
        return f"alpha = {self.alpha:g}"

    @property
    def rule(self) -> str:
        """How the threshold comes about."""
        return "(1 - alpha) max(mean)"

    @property
    def wish(self) -> str:
        """The bar in a sentence on what is wanted."""
        return f"giving up at most {self.alpha:.3g} of the best quality"

    def __str__(self) -> str:
        return f"{self.kind}:{self.alpha!r}"


@dataclass(frozen=True)
class RelativeTo:
    """Good enough is a mean of at least (1 - alpha) times the mean of one named option.

    That option is good enough itself, so the ones that cost more are of no use.

    Parameters
    ----------
    reference
        Name of the option that sets the bar.
    alpha
        Share of its quality that may be given up, in [0, 1).

    Examples
    --------
    >>> print(RelativeTo("large", 0.05))
    relative-to:large:0.05
    """

    kind: ClassVar[str] = "relative-to"

    reference: str
    alpha: float

    def __post_init__(self) -> None:
        if not isinstance(self.reference, str) or not self.reference.strip():
            raise InputError(f"the reference must be the name of an option, but it is {self.reference!r}")
        object.__setattr__(self, "alpha", check_alpha(self.alpha))

    @property
    def short(self) -> str:
        """The bar in a heading."""
        return f"alpha = {self.alpha:g} of {self.reference}"

    @property
    def rule(self) -> str:
        """How the threshold comes about."""
        return f"(1 - alpha) mean of {self.reference}"

    @property
    def wish(self) -> str:
        """The bar in a sentence on what is wanted."""
        return f"giving up at most {self.alpha:.3g} of the quality of {self.reference!r}"

    def __str__(self) -> str:
        return f"{self.kind}:{self.reference}:{self.alpha!r}"


@dataclass(frozen=True)
class AtLeast:
    """Good enough is a mean of at least a fixed level.

    Where no option reaches the level, the best one is the one to settle on.

    Parameters
    ----------
    level
        The level, in [0, 1].

    Examples
    --------
    >>> print(AtLeast(0.8))
    at-least:0.8
    """

    kind: ClassVar[str] = "at-least"

    level: float

    def __post_init__(self) -> None:
        value = finite_number("level", self.level)
        if not 0.0 <= value <= 1.0:
            raise InputError(
                f"level is the quality that is good enough and must lie in [0, 1], but it is {self.level!r}"
            )
        object.__setattr__(self, "level", value)

    @property
    def short(self) -> str:
        """The bar in a heading."""
        return f"level = {self.level:g}"

    @property
    def rule(self) -> str:
        """How the threshold comes about."""
        return "level"

    @property
    def wish(self) -> str:
        """The bar in a sentence on what is wanted."""
        return f"asking for a quality of at least {self.level:.3g}"

    def __str__(self) -> str:
        return f"{self.kind}:{self.level!r}"


Quality = RelativeToBest | RelativeTo | AtLeast

_KINDS: dict[str, type[Any]] = {bar.kind: bar for bar in (RelativeToBest, RelativeTo, AtLeast)}
_FORMS = "relative-to-best:ALPHA, relative-to:NAME:ALPHA or at-least:LEVEL"


def check_quality(alpha: float | None, quality: Quality | str | None) -> Quality:
    """Return the bar that is meant by an alpha or by a bar, of which just one may be given.

    Examples
    --------
    >>> check_quality(0.1, None)
    RelativeToBest(alpha=0.1)
    >>> check_quality(None, "relative-to:large:0.05")
    RelativeTo(reference='large', alpha=0.05)
    """
    if alpha is not None and quality is not None:
        raise InputError(
            f"alpha={alpha!r} is short for quality=RelativeToBest({alpha!r}), but quality is given too: "
            f"{quality!r}"
        )
    if quality is None:
        if alpha is None:
            raise InputError("say what is good enough: give alpha, or quality such as AtLeast(0.8)")
        return RelativeToBest(alpha)
    if isinstance(quality, str):
        return _parsed(quality)
    if not isinstance(quality, Quality):
        raise InputError(
            f"quality must be RelativeToBest(alpha), RelativeTo(name, alpha) or AtLeast(level), but it is "
            f"{quality!r}"
        )
    return quality


def quality_to_dict(quality: Quality) -> dict[str, Any]:
    """Return a bar as plain values, for JSON.

    Examples
    --------
    >>> quality_to_dict(AtLeast(0.8))
    {'kind': 'at-least', 'level': 0.8}
    """
    return {"kind": quality.kind, **asdict(quality)}


def quality_from_dict(data: Any) -> Quality:
    """Return the bar that `quality_to_dict` described.

    Examples
    --------
    >>> quality_from_dict({"kind": "at-least", "level": 0.8})
    AtLeast(level=0.8)
    """
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        raise InputError(f"this describes no quality bar: {data!r}")
    settings = {key: value for key, value in data.items() if key != "kind"}
    if data["kind"] not in _KINDS:
        raise unknown_name("kind of quality bar", data["kind"], _KINDS)
    try:
        made: Quality = _KINDS[data["kind"]](**settings)
    except TypeError as error:
        raise InputError(f"this describes no quality bar: {data!r} ({error})") from None
    return made


def check_alpha(alpha: float) -> float:
    """Return alpha as a float in [0, 1)."""
    value = finite_number("alpha", alpha)
    if not 0.0 <= value < 1.0:
        raise InputError(
            f"alpha is the share of quality given up and must lie in [0, 1), but it is {alpha!r}"
        )
    return value


def finite_number(what: str, value: float) -> float:
    """Return a finite float; a text or a truth value is no number, whatever Python makes of it.

    Examples
    --------
    >>> finite_number("alpha", "0.1")
    Traceback (most recent call last):
    ...
    frugalbandits.errors.InputError: alpha must be a number, but it is '0.1'
    """
    if isinstance(value, str | bytes | bytearray | bool):
        raise InputError(f"{what} must be a number, but it is {value!r}")
    try:
        number = float(value)
    except OverflowError:
        # Python writes no number of thousands of digits.
        size = f"{value!r:.12}..." if abs(value) < 10**4000 else "a number of thousands of digits"
        raise InputError(f"{what} must be finite, but it is {size}, beyond the range of floats") from None
    except (TypeError, ValueError):
        raise InputError(f"{what} must be a number, but it is {value!r}") from None
    if not math.isfinite(number):
        raise InputError(f"{what} must be finite, but it is {value!r}")
    return number


def _parsed(text: str) -> Quality:
    kind, _, rest = text.strip().partition(":")
    if kind == RelativeToBest.kind and rest:
        return RelativeToBest(_written("alpha", rest, text))
    if kind == AtLeast.kind and rest:
        return AtLeast(_written("level", rest, text))
    name, _, alpha = rest.rpartition(":")
    if kind == RelativeTo.kind and name:
        return RelativeTo(name, _written("alpha", alpha, text))
    raise InputError(f"quality must be {_FORMS}, but it is {text!r}")


def _written(what: str, number: str, text: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise InputError(f"{what} must be a number, but in the quality {text!r} it is {number!r}") from None
