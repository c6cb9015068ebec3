"""Shared parts of the tests of raw rating data."""

from __future__ import annotations

from collections import Counter

from frugalbandits.lab.ratings import UNLABELLED, read_goodreads, read_movielens

HEADER = b"userId,movieId,rating,timestamp\n"
MOVIES = {1: "Comedy|Drama", 22: "Drama", 333: UNLABELLED, 2**24 + 5: "War", 10**30: "Comedy|Comedy"}


def write_movies(path, movies):
    lines = [f'{movie},"The {movie}, a ""film""",{genres}\n' for movie, genres in movies.items()]
    path.write_text("".join(["movieId,title,genres\n", *lines]), encoding="utf-8")


def movielens_of(folder, data, movies=None, **options):
    """Read ratings given as bytes, of the movies above by default."""
    if movies is not None or not (folder / "movies.csv").exists():
        write_movies(folder / "movies.csv", movies or MOVIES)
    (folder / "ratings.csv").write_bytes(data)
    return read_movielens(folder / "ratings.csv", folder / "movies.csv", **options)


def goodreads_of(folder, data, **options):
    """Read the reviews of one genre, given as bytes, beside another genre that has a rating."""
    (folder / "goodreads_reviews_poetry.json").write_bytes(data)
    return read_goodreads(folder, **options)


def as_counters(found):
    """Ratings by genre, as plain Python."""
    return {
        name: Counter({float(v): int(n) for v, n in zip(found.values, row, strict=True) if n})
        for name, row in zip(found.names, found.counts, strict=True)
    }
