"""The compiled readers of lines: exact for lines of the usual form, and modest about all others.

Both functions go through a block of whole lines and count what they understand. A line that is not of
the usual form is not judged here: its place is noted in `unclear`, and plain Python has the last word.
So there is no second opinion on what a malformed line is, and what is rare need not be fast.

`unclear` has a row for each such line: its number within the block, where it begins and where it ends.
When its rows are used up the function returns early; it is called again from where it stopped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.jit import compiled, inlined, inner

__all__ = ["NOT_IN_TABLE", "UNKNOWN", "scan_ratings", "scan_reviews"]

# What a table of movies says about a number that is no movie's, and about one that it has no room for.
UNKNOWN, NOT_IN_TABLE = -1, -2

# More digits than this might not fit into 64 bits.
_MOST_DIGITS = 18
_TAB, _NEW_LINE, _RETURN, _BLANK, _QUOTE, _COMMA, _MINUS, _POINT = 9, 10, 13, 32, 34, 44, 45, 46
_0, _5, _9, _COLON, _BACKSLASH, _OPEN, _CLOSE = 48, 53, 57, 58, 92, 123, 125
_RATING = np.frombuffer(b"rating", np.uint8)
_U = 117
_ESCAPE = np.isin(np.arange(256), list(b'"\\/bfnrt'))
_HEXADECIMAL = np.isin(np.arange(256), list(b"0123456789abcdefABCDEF"))


@inlined
def _line_end(data: NDArray[np.uint8], at: int) -> int:
    while data[at] != _NEW_LINE:
        at += 1
    return at


@inlined
def _whole(data: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Read a number of 18 digits at most: it, and where it ends."""
    value, most = 0, at + _MOST_DIGITS
    while _0 <= data[at] <= _9 and at < most:
        value = 10 * value + int(data[at] - _0)
        at += 1
    return value, at


@inlined
def _half_stars(data: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Read a rating such as 4.5, 4.0 or 4: half stars, 0 if it is no rating, and where it ends."""
    if not _0 <= data[at] <= _5:
        return 0, at
    steps = 2 * int(data[at] - _0)
    at += 1
    if data[at] == _POINT and (data[at + 1] == _0 or data[at + 1] == _5):
        steps += data[at + 1] == _5
        at += 2
    return (steps if steps <= 10 else 0), at


@inlined
def _rating_line(data: NDArray[np.uint8], start: int) -> tuple[int, int, int]:
    """Read a line of ratings: the movie's number, half stars, and where the line ends; or (0, 0, -1)."""
    # Each byte is looked at only if the one before it does not end the line, hence the data.
    _, at = _whole(data, start)
    if at == start or data[at] != _COMMA:
        return 0, 0, -1
    start = at + 1
    movie, at = _whole(data, start)
    if at == start or data[at] != _COMMA:
        return 0, 0, -1
    steps, at = _half_stars(data, at + 1)
    if steps == 0 or data[at] != _COMMA:
        return 0, 0, -1
    start = at + 1
    _, at = _whole(data, start)
    if at == start:
        return 0, 0, -1
    at += data[at] == _RETURN
    return (movie, steps, at) if data[at] == _NEW_LINE else (0, 0, -1)


@compiled
def scan_ratings(
    data: NDArray[np.uint8],
    at: int,
    table: NDArray[np.int32],
    beyond: int,
    counts: NDArray[np.int64],
    unclear: NDArray[np.int64],
) -> tuple[int, int, int, int, int]:
    """Count the ratings of each movie in lines `userId,movieId,rating,timestamp`.

    Parameters
    ----------
    data, at
        The block, which must end with the end of a line, and where to begin in it.
    table, beyond
        The place in `counts` of the movie with each number, or `UNKNOWN` or `NOT_IN_TABLE`; and the same
        for all numbers past the end of the table.
    counts
        Of each movie and number of half stars; added to.
    unclear
        Filled in; see above.

    Returns
    -------
    tuple
        Where it stopped, lines gone through, ratings counted, ratings of unknown movies, rows of `unclear`.
    """
    lines, used, unknown, rows = 0, 0, 0, 0
    while at < len(data) and rows < len(unclear):
        start = at
        movie, steps, at = _rating_line(data, start)
        place = NOT_IN_TABLE
        if at > 0:
            place = table[movie] if movie < len(table) else beyond
        if place >= 0:
            counts[place, steps] += 1
            used += 1
        elif place == UNKNOWN:
            unknown += 1
        else:
            at = _line_end(data, start)
            if at > start:
                unclear[rows, 0], unclear[rows, 1], unclear[rows, 2] = lines, start, at
                rows += 1
        lines += 1
        at += 1
    return at, lines, used, unknown, rows


@inlined
def _after_blanks(data: NDArray[np.uint8], at: int, stop: int) -> int:
    while at < stop and (data[at] == _BLANK or data[at] == _TAB or data[at] == _RETURN):
        at += 1
    return at


@inlined
def _after_string(data: NDArray[np.uint8], at: int, stop: int, utf8: bool, escapes: bool) -> int:
    """Find the end of a string whose first character is at `at`: the place after its quote, or -1."""
    while at < stop:
        byte = data[at]
        if byte == _QUOTE:
            return at + 1
        if byte == _BACKSLASH:
            at += 1
            if not escapes or at == stop:
                return -1
            if data[at] == _U:
                if at + 4 >= stop:
                    return -1
                for place in range(at + 1, at + 5):
                    if not _HEXADECIMAL[data[place]]:
                        return -1
                at += 4
            elif not _ESCAPE[data[at]]:
                return -1
        elif byte < _BLANK or (byte > 127 and not utf8):
            return -1
        at += 1
    return -1


@inlined
def _after_whole(data: NDArray[np.uint8], at: int, stop: int) -> int:
    """Find the end of a whole number in JSON, or -1."""
    at += data[at] == _MINUS
    start, most = at, min(stop, at + _MOST_DIGITS)
    while at < most and _0 <= data[at] <= _9:
        at += 1
    return -1 if at == start or (at > start + 1 and data[start] == _0) else at


@inner
def _rating(data: NDArray[np.uint8], at: int, stop: int, utf8: bool) -> int:
    """Read a flat JSON object of strings and whole numbers: its last field "rating", 0 to 5, or -1."""
    rating = -1
    at = _after_blanks(data, at, stop)
    if at >= stop or data[at] != _OPEN:
        return -1
    while True:
        key = _after_blanks(data, at + 1, stop) + 1
        if key >= stop or data[key - 1] != _QUOTE:
            return -1
        # A key with escapes could be another spelling of "rating".
        at = _after_string(data, key, stop, utf8, False)
        if at < 0:
            return -1
        is_rating = at - key == len(_RATING) + 1
        for place in range(len(_RATING)):
            is_rating = is_rating and data[key + place] == _RATING[place]
        at = _after_blanks(data, at, stop)
        if at >= stop or data[at] != _COLON:
            return -1
        at = _after_blanks(data, at + 1, stop)
        if at >= stop:
            return -1
        value = at
        at = (
            _after_string(data, at + 1, stop, utf8, True)
            if data[at] == _QUOTE
            else _after_whole(data, at, stop)
        )
        if at < 0:
            return -1
        if is_rating:
            if at != value + 1 or not _0 <= data[value] <= _5:
                return -1
            rating = int(data[value] - _0)
        at = _after_blanks(data, at, stop)
        if at < stop and data[at] == _CLOSE:
            return rating if _after_blanks(data, at + 1, stop) == stop else -1
        if at >= stop or data[at] != _COMMA:
            return -1


@compiled
def scan_reviews(
    data: NDArray[np.uint8],
    at: int,
    utf8: bool,
    longest: int,
    counts: NDArray[np.int64],
    unclear: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Count the ratings 0 to 5 of reviews, each a line with a flat JSON object.

    Parameters
    ----------
    data, at
        The block, which must end with the end of a line, and where to begin in it.
    utf8
        Whether the block is known to be valid UTF-8; if not, only lines in ASCII are understood.
    longest
        Lines of more bytes are unclear.
    counts
        Of each rating; added to.
    unclear
        Filled in; see above.

    Returns
    -------
    tuple
        Where it stopped, lines gone through, rows of `unclear`.
    """
    lines, rows = 0, 0
    while at < len(data) and rows < len(unclear):
        start = at
        at = _line_end(data, at)
        rating = _rating(data, start, at, utf8) if at - start <= longest else -1
        if rating >= 0:
            counts[rating] += 1
        elif _after_blanks(data, start, at) < at:
            unclear[rows, 0], unclear[rows, 1], unclear[rows, 2] = lines, start, at
            rows += 1
        lines += 1
        at += 1
    return at, lines, rows
