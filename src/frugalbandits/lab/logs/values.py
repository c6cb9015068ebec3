"""Numbers as logs write them: `$0.01`, `0,75`, `1,234.50`, `85%`, `True`, `thumbs up`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MISSING", "amounts", "is_blank", "ratings"]

#: Texts that mean that there is no value.
MISSING = ("", "null", "none", "nil", "na", "n/a", "nan", "<na>", "-", "\\n")

_GOOD = (
    "true", "t", "yes", "y", "up", "thumbs up", "thumb up", "thumbsup", "good", "like", "liked", "positive",
    "pass", "passed", "correct", "accept", "accepted", "success", "👍", "✅", "✔", "❤", "🙂", "😀",
)  # fmt: skip
_BAD = (
    "false", "f", "no", "n", "down", "thumbs down", "thumb down", "thumbsdown", "bad", "dislike", "disliked",
    "negative", "fail", "failed", "incorrect", "wrong", "reject", "rejected", "failure", "👎", "❌", "✖", "✘",
    "🙁", "😡",
)  # fmt: skip
_CURRENCY = r"(?:US\$|[$€£¥₹]|(?i:USD|EUR|GBP|CHF|JPY|INR))"
_DIGITS = r"[+-]?\d"
# A comma that cannot separate thousands, one that may, and those that must.
_DECIMAL_COMMA = r"^[+-]?(?:\d*,\d{1,2}|\d*,\d{4,}|0+,\d+|\d{4,},\d+|\d{1,3}(?:\.\d{3})+,\d+)$"
_EITHER_COMMA = r"^[+-]?[1-9]\d{0,2},\d{3}$"
_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(?:(?:,\d{3}){2,}(?:\.\d*)?|,\d{3}\.\d*)$"
_SKIN = "[\U0001f3fb-\U0001f3ff\ufe0f]"


def is_blank(text: pl.Series) -> pl.Series:
    """Tell which texts say that there is no value."""
    return text.is_null() | text.str.strip_chars().str.to_lowercase().is_in(list(MISSING))


def amounts(text: pl.Series) -> tuple[pl.Series, str]:
    """Return texts as numbers, null where one is none, and what to say of those.

    Currencies, percent signs and separators of thousands are understood. Whether a comma is a decimal comma
    is a matter of the whole column: `1,234` alone may be either, so it is not guessed.

    Examples
    --------
    >>> import polars as pl
    >>> amounts(pl.Series(["$0.01", "1,234.50 USD", "2", ""]))[0].to_list()
    [0.01, 1234.5, 2.0, None]
    >>> amounts(pl.Series(["0,75", "1,234", "1"]))[0].to_list()
    [0.75, 1.234, 1.0]
    >>> numbers, trouble = amounts(pl.Series(["1,234", "2"]))
    >>> numbers.to_list(), trouble[:24]
    ([None, 2.0], 'may have a decimal comma')
    """
    import polars as pl

    bare = text.str.strip_chars()
    plain = bare.cast(pl.Float64, strict=False)
    clean = (
        bare.str.replace(rf"^([+-]?)\s*{_CURRENCY}\s*", "$1")
        .str.replace(rf"\s*{_CURRENCY}$", "")
        .str.replace_all(r"(\d)[\u{a0}\u{202f}' ](\d{3})", "$1$2")
    )
    percent = clean.str.ends_with("%").fill_null(False)
    clean = clean.str.strip_suffix("%").str.strip_chars()
    comma = _any(clean, _DECIMAL_COMMA)
    point = _any(clean, _THOUSANDS) or _any(clean, rf"^{_DIGITS}*\.\d+$")
    either = _any(clean, _EITHER_COMMA)
    if comma and point:
        return (
            plain,
            "cannot be read: the column has decimal commas and decimal points",
        )
    if either and not comma and not point:
        return plain, "may have a decimal comma or a separator of thousands: nothing in the column says which"
    if comma:
        clean = clean.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    elif point:
        fits = clean.str.contains(rf"{_THOUSANDS}|{_EITHER_COMMA}").fill_null(False)
        without = clean.str.replace_all(",", "", literal=True)
        clean = pl.select(pl.when(fits).then(without).otherwise(clean)).to_series()
    numbers = clean.cast(pl.Float64, strict=False)
    found = pl.select(pl.when(percent).then(numbers / 100).otherwise(numbers)).to_series()
    return found.alias(text.name), "is no finite number"


def ratings(text: pl.Series) -> tuple[pl.Series, str]:
    """Return rewards as numbers: amounts, and words or signs for good (1) and bad (0).

    Examples
    --------
    >>> import polars as pl
    >>> ratings(pl.Series(["up", "Thumbs-Down", "0.5", "TRUE", "👍🏽", None, "meh"]))[0].to_list()
    [1.0, 0.0, 0.5, 1.0, 1.0, None, None]
    """
    import polars as pl

    numbers, trouble = amounts(text)
    words = (
        text.str.strip_chars()
        .str.strip_chars(":")
        .str.replace_all(_SKIN, "")
        .str.replace_all("[_-]", " ")
        .str.to_lowercase()
    )
    said = dict.fromkeys(_GOOD, 1.0) | dict.fromkeys(_BAD, 0.0)
    by_word = words.replace_strict(list(said), list(said.values()), default=None, return_dtype=pl.Float64)
    found = pl.select(pl.coalesce(numbers, by_word)).to_series()
    if trouble == "is no finite number":
        trouble = "is neither a number nor a word such as up, down, yes, no, good or bad"
    return found.alias(text.name), trouble


def _any(text: pl.Series, pattern: str) -> bool:
    return bool(text.str.contains(pattern).fill_null(False).any())
