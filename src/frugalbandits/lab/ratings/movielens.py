"""MovieLens 25M: `ratings.csv` and `movies.csv` as GroupLens offers them."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from frugalbandits.lab.ratings.genres import Counts, GenreRatings
from frugalbandits.lab.ratings.reading import Account, Files, Malformed, Progress, Source, fields, shown

if TYPE_CHECKING:
    import polars as pl

__all__ = ["UNLABELLED", "read_movielens"]

UNLABELLED = "(no genres listed)"

_MOVIE_COLUMNS = ["movieId", "title", "genres"]
_RATING_COLUMNS = ["userId", "movieId", "rating", "timestamp"]
_HALF_STARS = 10
# The usual spellings of ratings, and the place of each among the ten.
_SPELLINGS = [f"{steps / 2:.1f}" for steps in range(1, 11)] + list("12345")
_STEPS = np.array([*range(10), *range(1, 10, 2)])
# Movies with higher numbers are looked up in plain Python.
_LARGEST_TABLE = 1 << 24
_TOO_MANY = re.compile(rb"(?m)^(?:[^,\n]*,){4}.*")
_WHOLE = re.compile(r"[0-9]{1,100}")
_STARS = re.compile(r"0*([0-5])(?:\.(5?)0*)?")


def read_movielens(
    ratings: str | os.PathLike[str],
    movies: str | os.PathLike[str],
    unlabelled: bool = True,
    progress: Progress | None = None,
    block: int = 1 << 22,
) -> GenreRatings:
    r"""Count the ratings of each genre of MovieLens.

    A malformed line is counted and left out. It is an error if a file cannot be read, has another header or
    has no usable line.

    Parameters
    ----------
    ratings
        The file of ratings, with the columns userId, movieId, rating and timestamp; may be `.gz`.
    movies
        The file of movies, with the columns movieId, title and genres; may be `.gz`.
    unlabelled
        Whether "(no genres listed)" is a genre, as in the paper.
    progress
        Called with a file's name, the bytes read so far and the bytes there are; 0 if that is not known.
    block
        Bytes to read at once; the result does not depend on it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     movies, ratings = pathlib.Path(folder, "movies.csv"), pathlib.Path(folder, "ratings.csv")
    ...     _ = movies.write_text('movieId,title,genres\n1,"Heat, The (1995)",Crime|Drama\n7,Emma,Drama\n')
    ...     _ = ratings.write_text("userId,movieId,rating,timestamp\n1,1,4.5,9\n1,7,3.0,9\n2,7,five,9\n")
    ...     found = read_movielens(ratings, movies)
    >>> found.names, found.means.tolist()
    (('Crime', 'Drama'), [4.5, 3.75])
    >>> found.sources[1].faults
    (Fault(line=4, why="the rating 'five' is not one of 0.5, 1, ..., 5"),)
    """
    files = Files([Path(movies), Path(ratings)], progress, block)
    genres, of_movies = _read_movies(files, Path(movies))
    counts, of_ratings = _read_ratings(files, Path(ratings), list(genres))
    names = sorted({name for some in genres.values() for name in some if unlabelled or name != UNLABELLED})
    of_genre = {name: counts[[name in some for some in genres.values()]].sum(axis=0) for name in names}
    return GenreRatings.of(of_genre, [steps / 2 for steps in range(1, 11)], of_movies, of_ratings)


def _read_movies(files: Files, path: Path) -> tuple[dict[int, frozenset[str]], Source]:
    """Return the genres of each movie, by its number."""
    account, found = Account(path), dict[int, frozenset[str]]()

    def use(text: str) -> None:
        movie, _, written = fields(text, _MOVIE_COLUMNS)
        identity = _number("movieId", movie)
        if identity in found:
            raise Malformed(f"the movieId {identity} stands in an earlier line too")
        genres = frozenset(part.strip() for part in written.split("|")) - {""}
        if not genres:
            raise Malformed(f"there are no genres in {shown(written)}")
        found[identity] = genres

    # A line at a time, so that a stray quote spoils no more than its line.
    for line, data in files.blocks(account, _MOVIE_COLUMNS):
        account.judge(line, data, use)
    return found, account.close(len(found))


def _read_ratings(files: Files, path: Path, movies: list[int]) -> tuple[Counts, Source]:
    """Return how often each movie, in the order of `movies`, got 1 to 10 half stars."""
    # Place 0 is that of all unknown movies. Memory for numbers that do not occur is never touched.
    table = np.zeros(_LARGEST_TABLE, np.int64)
    places = {movie: place for place, movie in enumerate(movies, 1)}
    small = [movie for movie in movies if movie < _LARGEST_TABLE]
    table[small] = [places[movie] * _HALF_STARS for movie in small]
    counts = np.zeros((len(movies) + 1, _HALF_STARS), np.int64)

    def use(text: str) -> None:
        identity, steps = _rating(text)
        counts[places.get(identity, 0), steps - 1] += 1

    account = Account(path)
    for line, data in files.blocks(account, _RATING_COLUMNS):
        frame = _parsed(data)
        clear = frame.filter("clear")
        cells = table[clear["movieId"].to_numpy()] + _STEPS[clear["rating"].to_numpy()]
        counts += np.bincount(cells, minlength=counts.size).reshape(counts.shape)
        if clear.height < frame.height:
            account.judge(line, data, use, (~frame["clear"]).arg_true())
    return counts[1:], account.close(int(counts[1:].sum()), unknown=int(counts[0].sum()))


def _parsed(data: bytes) -> pl.DataFrame:
    """Return of each line the movie, the place of the rating in the spellings, and if all of it is clear."""
    import polars as pl

    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    # Polars reads numbers with blanks or a plus sign, too: a question mark makes plain Python judge the line.
    for lenient in b"\r\t +":
        data = data.replace(bytes([lenient]), b"?")
    source = ",".join(_RATING_COLUMNS).encode() + b"\n" + data
    schema = dict(zip(_RATING_COLUMNS, (pl.UInt32, pl.UInt32, pl.String, pl.UInt64), strict=True))
    read = partial(pl.read_csv, schema=schema, quote_char=None, ignore_errors=True)
    try:
        frame = read(source, encoding="utf8-lossy")
    except pl.exceptions.PolarsError:  # a line has too many fields
        frame = read(_TOO_MANY.sub(b"?", source), encoding="utf8-lossy")
    frame = frame.with_columns(pl.col("rating").cast(pl.Enum(_SPELLINGS), strict=False).to_physical())
    clear = pl.all_horizontal(pl.all().is_not_null(), pl.col("movieId") < _LARGEST_TABLE)
    return frame.select("movieId", "rating", clear=clear)


def _rating(text: str) -> tuple[int, int]:
    """Have the last word on a line: the movie's number, and half stars."""
    user, movie, stars, timestamp = fields(text, _RATING_COLUMNS)
    _number("userId", user)
    identity = _number("movieId", movie)
    found = _STARS.fullmatch(stars)
    steps = 2 * int(found[1]) + (found[2] == "5") if found else 0
    if not 1 <= steps <= _HALF_STARS:
        raise Malformed(f"the rating {shown(stars)} is not one of 0.5, 1, ..., 5")
    _number("timestamp", timestamp)
    return identity, steps


def _number(column: str, text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise Malformed(f"the {column} {shown(text)} is not a whole number")
    return int(text)
