"""MovieLens 25M: `ratings.csv` and `movies.csv` as GroupLens offers them."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.jit import announced, machine_code
from frugalbandits.errors import InputError
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
from frugalbandits.lab.ratings.scan import NOT_IN_TABLE, UNKNOWN, scan_ratings

__all__ = ["UNLABELLED", "read_movielens"]

UNLABELLED = "(no genres listed)"

_RATING_COLUMNS = ["userId", "movieId", "rating", "timestamp"]
_MOVIE_COLUMNS = ["movieId", "title", "genres"]
_HALF_STARS = 10
# A table of numbers up to here takes 64 MB at most; movies with higher numbers are looked up in plain Python.
_LARGEST_TABLE = 1 << 24
_UNCLEAR_AT_ONCE = 1 << 14
_WHOLE = re.compile(r"[0-9]+")
_LONGEST_NUMBER = 100
_STARS = re.compile(r"0*([0-5])(?:\.(5?)0*)?")


def read_movielens(
    ratings: str | os.PathLike[str],
    movies: str | os.PathLike[str],
    unlabelled: bool = True,
    progress: Progress | None = None,
    block: int = BLOCK,
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
    ratings_path, movies_path = Path(ratings), Path(movies)
    meter = Meter([movies_path, ratings_path], progress)
    catalogue, of_movies = _read_movies(movies_path, meter, block)
    counts, of_ratings = _read_ratings(ratings_path, catalogue, meter, block)
    names = sorted(catalogue.genres if unlabelled else catalogue.genres - {UNLABELLED})
    place = {name: number for number, name in enumerate(names)}
    pairs = [
        (place[name], movie)
        for movie, genres in enumerate(catalogue.of_movie)
        for name in genres
        if name in place
    ]
    by_genre = np.zeros((len(names), _HALF_STARS + 1), np.int64)
    if pairs:
        genre, movie = np.array(pairs).T
        np.add.at(by_genre, genre, counts[movie])
    values = [steps / 2 for steps in range(1, _HALF_STARS + 1)]
    return collect(names, values, by_genre[:, 1:], [of_movies, of_ratings])


class _Catalogue(NamedTuple):
    """The movies: the place of each number, and the genres at each place."""

    places: dict[int, int]
    of_movie: list[frozenset[str]]
    genres: set[str]


def _read_movies(path: Path, meter: Meter, block: int) -> tuple[_Catalogue, Source]:
    account = Account(path)
    catalogue = _Catalogue({}, [], set())
    sets: dict[str, frozenset[str]] = {}  # a few thousand serve all movies
    line = 0
    for data in _after_header(path, _MOVIE_COLUMNS, meter, block):
        # A line at a time, so that a stray quote spoils no more than its line.
        for text in data.removesuffix(b"\n").split(b"\n"):
            line += 1
            if not text.strip():
                continue
            try:
                movie, _, written = _fields(text, _MOVIE_COLUMNS)
                identity = _number("movieId", movie)
                if identity in catalogue.places:
                    raise Malformed(f"the movieId {identity} stands in an earlier line too")
                genres = sets.setdefault(
                    written, frozenset(part.strip() for part in written.split("|")) - {""}
                )
                if not genres:
                    raise Malformed(f"there are no genres in {shown(written)}")
            except Malformed as fault:
                account.fault(line, str(fault))
                continue
            catalogue.places[identity] = len(catalogue.of_movie)
            catalogue.of_movie.append(genres)
            catalogue.genres.update(genres)
            account.used += 1
    return catalogue, account.close()


def _read_ratings(
    path: Path, catalogue: _Catalogue, meter: Meter, block: int
) -> tuple[NDArray[np.int64], Source]:
    account = Account(path)
    table, beyond = _table(catalogue.places)
    counts = np.zeros((len(catalogue.of_movie), _HALF_STARS + 1), np.int64)
    unclear = np.empty((_UNCLEAR_AT_ONCE, 3), np.int64)
    with announced("the reader of ratings", (__name__,)):
        machine_code(scan_ratings)(np.frombuffer(b"", np.uint8), 0, table, beyond, counts, unclear)
    lines_before = 1
    for data in _after_header(path, _RATING_COLUMNS, meter, block):
        at = 0
        while at < len(data):
            at, lines, used, unknown, rows = machine_code(scan_ratings)(
                np.frombuffer(data, np.uint8), at, table, beyond, counts, unclear
            )
            account.used += used
            account.unknown_movies += unknown
            for line, start, stop in unclear[:rows].tolist():
                _count_rating(data[start:stop], lines_before + line, catalogue, counts, account)
            lines_before += lines
    return counts, account.close()


def _table(places: dict[int, int]) -> tuple[NDArray[np.int32], int]:
    """Return the place of each number, and what is to be thought of numbers past the end."""
    most = max(places, default=0) + 1
    table = np.full(min(most, _LARGEST_TABLE), UNKNOWN, np.int32)
    small = [identity for identity in places if identity < len(table)]
    table[small] = [places[identity] for identity in small]
    return table, UNKNOWN if most == len(table) else NOT_IN_TABLE


def _count_rating(
    text: bytes, line: int, catalogue: _Catalogue, counts: NDArray[np.int64], account: Account
) -> None:
    """Have the last word on a line that the compiled reader did not understand."""
    if not text.strip():
        return
    try:
        user, movie, stars, timestamp = _fields(text, _RATING_COLUMNS)
        _number("userId", user)
        identity = _number("movieId", movie)
        found = _STARS.fullmatch(stars)
        steps = 2 * int(found[1]) + (found[2] == "5") if found else 0
        if not 1 <= steps <= _HALF_STARS:
            raise Malformed(f"the rating {shown(stars)} is not one of 0.5, 1, ..., 5")
        _number("timestamp", timestamp)
    except Malformed as fault:
        account.fault(line, str(fault))
        return
    if identity in catalogue.places:
        counts[catalogue.places[identity], steps] += 1
        account.used += 1
    else:
        account.unknown_movies += 1


def _number(column: str, text: str) -> int:
    if len(text) > _LONGEST_NUMBER or not _WHOLE.fullmatch(text):
        raise Malformed(f"the {column} {shown(text)} is not a whole number")
    return int(text)


def _fields(text: bytes, columns: list[str]) -> list[str]:
    if len(text) > LONGEST:
        raise Malformed(f"the line is longer than {LONGEST:,} bytes")
    try:
        (fields,) = csv.reader([text.decode("utf-8")], strict=True)
    except UnicodeDecodeError:
        raise Malformed("the line is not UTF-8 text") from None
    except (csv.Error, ValueError) as error:
        raise Malformed(f"the line is not CSV ({error})") from None
    if len(fields) != len(columns):
        raise Malformed(f"the number of fields is {len(fields)} in place of {len(columns)}")
    return fields


def _after_header(path: Path, columns: list[str], meter: Meter, block: int) -> Iterator[bytes]:
    """Yield the blocks of a file with its header checked and made blank: lines keep their numbers."""
    headed = False
    for data in blocks(path, block, meter):
        if not headed:
            header = data.lstrip()
            if header:
                line, _, rest = header.partition(b"\n")
                _check_header(path, line, columns)
                headed = True
                data = b"\n" * (data.count(b"\n") - rest.count(b"\n")) + rest
        yield data


def _check_header(path: Path, line: bytes, columns: list[str]) -> None:
    try:
        fields = [field.strip() for field in _fields(line, columns)]
    except Malformed:
        fields = []
    if fields != columns:
        begins = shown(line.decode("utf-8", "replace").strip())
        raise InputError(
            f"{str(path)!r}: the first line must be {','.join(columns)!r}, but the file begins with {begins}"
        )
