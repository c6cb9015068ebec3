"""The Goodreads Book Graph: the files of reviews by genre as UCSD offers them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np

from frugalbandits.errors import InputError
from frugalbandits.lab.ratings.genres import Counts, GenreRatings
from frugalbandits.lab.ratings.reading import Account, Files, Malformed, Progress, Source, shown

__all__ = ["read_goodreads"]

# Not those files of the same collection that hold reviews of all genres.
_NAME = re.compile(r"goodreads_reviews_(?!(?:dedup|spoiler|spoiler_raw)\.)(.+?)\.json(?:\.gz)?")
_STARS = 5


def read_goodreads(
    folder: str | os.PathLike[str], progress: Progress | None = None, block: int = 1 << 20
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
    paths = _paths(Path(folder))
    files = Files(list(paths.values()), progress, block)
    counts = {genre: np.zeros(_STARS + 1, np.int64) for genre in paths}
    sources = [_read_reviews(files, path, counts[genre]) for genre, path in paths.items()]
    return GenreRatings.of({genre: row[1:] for genre, row in counts.items()}, [1, 2, 3, 4, 5], *sources)


def _paths(folder: Path) -> dict[str, Path]:
    """Return the file of each genre, by name."""
    try:
        inside = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise InputError(f"cannot read the folder {str(folder)!r}: {error.strerror}") from error
    paths: dict[str, Path] = {}
    for path in inside:
        if found := _NAME.fullmatch(path.name):
            other = paths.setdefault(found[1], path)
            if other != path:
                two = f"{other.name} and {path.name}"
                raise InputError(f"the genre {found[1]!r} has two files in {str(folder)!r}: {two}")
    if not paths:
        raise InputError(f"there is no file goodreads_reviews_GENRE.json or .json.gz in {str(folder)!r}")
    return dict(sorted(paths.items()))


def _read_reviews(files: Files, path: Path, counts: Counts) -> Source:
    """Count the ratings 0 to 5 of a file."""
    account = Account(path)

    def use(text: str) -> None:
        counts[_rating(text)] += 1

    for line, data in files.blocks(account):
        ratings = _ratings(data)
        if ratings is None:
            account.judge(line, data, use)
        else:
            counts += np.bincount(ratings, minlength=len(counts))
    return account.close(int(counts[1:].sum()), unrated=int(counts[0]))


def _ratings(data: bytes) -> Counts | None:
    """Return the ratings of a block; None if there is a line in it that plain Python must judge."""
    import polars as pl

    try:
        # Polars unpacks what begins as packed data does, and is strict: 4.0, true and "4" are not whole.
        ratings = pl.read_ndjson(b"\n" + data, schema={"rating": pl.Int64})["rating"]
    except pl.exceptions.PolarsError:
        return None
    clear = not ratings.null_count() and ratings.is_between(0, _STARS).all()
    return ratings.to_numpy() if clear else None


def _rating(text: str) -> int:
    """Have the last word on a line of a block that polars did not take."""
    try:
        # Of two fields with one name polars takes the first.
        review = json.loads(text, object_pairs_hook=lambda pairs: dict(reversed(pairs)))
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
