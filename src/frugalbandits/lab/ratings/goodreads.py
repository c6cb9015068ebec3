"""The Goodreads Book Graph: the files of reviews by genre as UCSD offers them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.jit import announced, machine_code
from frugalbandits.errors import InputError
from frugalbandits.lab.ratings import scan
from frugalbandits.lab.ratings.genres import GenreRatings, collect
from frugalbandits.lab.ratings.reading import (
    BLOCK,
    LONGEST,
    Account,
    Malformed,
    Meter,
    Progress,
    Source,
    blocks,
    shown,
)

__all__ = ["read_goodreads"]

_NAME = re.compile(r"goodreads_reviews_(.+?)\.json(?:\.gz)?")
# Files of the same collection that hold reviews of all genres.
_ALL_GENRES = ("dedup", "spoiler", "spoiler_raw")
_STARS = 5
_UNCLEAR_AT_ONCE = 1 << 14


def read_goodreads(
    folder: str | os.PathLike[str], progress: Progress | None = None, block: int = BLOCK
) -> GenreRatings:
    r"""Count the ratings of each genre of the Goodreads Book Graph.

    Read are all files `goodreads_reviews_GENRE.json` or `.json.gz` of the folder, but not those with the
    reviews of all genres ("dedup", "spoiler", "spoiler_raw"). A rating of 0 says that the review has none.
    A malformed line is counted and left out. It is an error if a file cannot be read or has no usable
    line, and if a genre has two files.

    Parameters
    ----------
    folder
        Where the files are.
    progress
        Called with a file's name, the bytes read so far and the bytes there are, packed ones if it is
        packed; 0 if that is not known.
    block
        Bytes to read at once; the result does not depend on it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for genre, rating in (("poetry", 4), ("romance", 5)):
    ...         path = pathlib.Path(folder, f"goodreads_reviews_{genre}.json")
    ...         _ = path.write_text('{"rating": %d}\n{"rating": 0, "review_text": "?"}\n' % rating)
    ...     found = read_goodreads(folder)
    >>> found.names, found.means.tolist(), found.sources[0].unrated
    (('poetry', 'romance'), [4.0, 5.0], 1)
    """
    files = _files(Path(folder))
    meter = Meter(list(files.values()), progress)
    counts = np.zeros((len(files), _STARS + 1), np.int64)
    sources = [_read_reviews(path, counts[place], meter, block) for place, path in enumerate(files.values())]
    return collect(list(files), range(1, _STARS + 1), counts[:, 1:], sources)


def _files(folder: Path) -> dict[str, Path]:
    """Return the file of each genre, by name."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise InputError(f"cannot read the folder {str(folder)!r}: {error.strerror}") from error
    files: dict[str, Path] = {}
    for path in paths:
        found = _NAME.fullmatch(path.name)
        if found is None or found[1] in _ALL_GENRES:
            continue
        if found[1] in files:
            raise InputError(
                f"the genre {found[1]!r} has two files in {str(folder)!r}: "
                f"{files[found[1]].name} and {path.name}"
            )
        files[found[1]] = path
    if not files:
        raise InputError(f"there is no file goodreads_reviews_GENRE.json or .json.gz in {str(folder)!r}")
    return dict(sorted(files.items()))


def _read_reviews(path: Path, counts: NDArray[np.int64], meter: Meter, block: int) -> Source:
    account = Account(path)
    unclear = np.empty((_UNCLEAR_AT_ONCE, 3), np.int64)
    with announced("the reader of reviews", (__name__,)):
        machine_code(scan.scan_reviews)(np.frombuffer(b"", np.uint8), 0, True, LONGEST, counts, unclear)
    lines_before = 1
    for data in blocks(path, block, meter):
        utf8 = _is_utf8(data)
        at = 0
        while at < len(data):
            at, lines, rows = machine_code(scan.scan_reviews)(
                np.frombuffer(data, np.uint8), at, utf8, LONGEST, counts, unclear
            )
            for line, start, stop in unclear[:rows].tolist():
                text = data[start:stop]
                if not text.strip():
                    continue
                try:
                    counts[_rating(text)] += 1
                except Malformed as fault:
                    account.fault(lines_before + line, str(fault))
            lines_before += lines
    account.unrated, account.used = int(counts[0]), int(counts[1:].sum())
    return account.close()


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _rating(text: bytes) -> int:
    """Have the last word on a line that the compiled reader did not understand."""
    if len(text) > LONGEST:
        raise Malformed(f"the line is longer than {LONGEST:,} bytes")
    try:
        review = json.loads(text.decode("utf-8"))
    except UnicodeDecodeError:
        raise Malformed("the line is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise Malformed(f"the line is not JSON ({error.msg}, column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        raise Malformed(f"the line is not JSON ({error})") from None
    if not isinstance(review, dict):
        raise Malformed("the line is not a JSON object")
    if "rating" not in review:
        raise Malformed("there is no field 'rating'")
    rating = review["rating"]
    # True and 4.0 are equal to whole numbers but are none.
    if type(rating) is not int or not 0 <= rating <= _STARS:
        raise Malformed(f"the rating {shown(rating)} is not a whole number from 0 to {_STARS}")
    return rating
