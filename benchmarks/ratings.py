"""Section 7: reading raw rating data of the size of MovieLens 25M and of a Goodreads genre."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from effort import QUICK, Effort
from report import count, ratio, table

__all__ = ["section"]

LINES = 25_000_000
BLOCK_LINES = 1_000_000
MOVIES = 62_423
LARGEST_ID = 209_171
REVIEWS = 300_000
QUICK_SHARE = 25

TEXT = """\
## Raw data

{lines:,} ratings of {movies:,} movies in a `ratings.csv` of {size:.0f} MB, and {reviews:,} reviews in a
`goodreads_reviews_GENRE.json` of {review_size:.0f} MB, plain and packed, all made up; seconds of one reading
in a new process, after a small one that loads what is needed, and the highest memory of that process. Polars
uses all cores. The baselines do as much in plain Python, with the modules csv and json, on the first
{some:,} ratings and {few:,} reviews; their seconds are extrapolated to all lines. All are medians of
{rounds} measurements.
"""

_READ = """
import json, sys, time
from frugalbandits.lab.ratings import read_goodreads, read_movielens
def read(folder):
    if sys.argv[1] == "movielens":
        return read_movielens(folder + "/ratings.csv", folder + "/movies.csv")
    return read_goodreads(folder)
if sys.argv[1] != "nothing":
    read(sys.argv[3])
began = time.perf_counter()
found = read(sys.argv[2]) if sys.argv[1] != "nothing" else None
seconds = time.perf_counter() - began
try:
    # What the system calls the highest resident memory may include that of the process that started this one.
    with open("/proc/self/status") as status:
        memory = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
except OSError:
    import resource
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([seconds, memory / 1024, sum(source.used for source in found.sources[-1:]) if found else 0]))
"""


class Reading(NamedTuple):
    """One reading of a file in a process of its own."""

    seconds: float
    megabytes: float
    used: int


def section(effort: Effort) -> str:
    share = QUICK_SHARE if effort is QUICK else 1
    lines, reviews = LINES // share, REVIEWS // share
    some, few = min(lines, BLOCK_LINES) // share, min(reviews, 50_000 // share)
    rounds = min(effort.rounds, 3)
    with tempfile.TemporaryDirectory(prefix="frugalbandits-bench-") as name:
        folder = Path(name)
        plain, packed, small = folder / "plain", folder / "packed", folder / "small"
        _make_small(small)
        _make_movielens(folder, lines)
        _make_goodreads(plain, packed, reviews)
        measured: dict[str, list[Reading]] = {}
        for _ in range(rounds):
            for what, reading in (
                ("import alone", _read("nothing", folder, small)),
                ("ratings.csv, csv module", Reading(_plain_ratings(folder, some) * lines, 0, some)),
                ("ratings.csv, read_movielens", _read("movielens", folder, small)),
                ("reviews .json, json module", Reading(_plain_reviews(plain, few) * reviews, 0, few)),
                ("reviews .json, read_goodreads", _read("goodreads", plain, small)),
                ("same, .json.gz", _read("goodreads", packed, small)),
            ):
                measured.setdefault(what, []).append(reading)
        text = TEXT.format(
            lines=lines,
            movies=MOVIES,
            size=(folder / "ratings.csv").stat().st_size / 1e6,
            reviews=reviews,
            review_size=next(plain.iterdir()).stat().st_size / 1e6,
            some=some,
            few=few,
            rounds=rounds,
        )
    rows, baseline = [], 1.0
    for what, readings in measured.items():
        seconds = median(reading.seconds for reading in readings)
        memory = median(reading.megabytes for reading in readings)
        total = lines if what.startswith("ratings") else reviews
        extrapolated = what.endswith("module")
        if extrapolated:
            baseline = seconds
        cells = [f"{total:,}", f"{seconds:.2f}", count(total / seconds), ratio(baseline / seconds)]
        if extrapolated:
            cells[1] += " (extrapolated)"
        if what == "import alone":
            cells = ["", "", "", ""]
        elif min(reading.used for reading in readings) == 0:
            raise RuntimeError(f"{what}: nothing was read")
        rows.append([what, *cells, f"{memory:.0f}" if memory else ""])
    headers = ["what", "lines", "seconds", "lines per second", "speed against plain Python", "peak MB"]
    return f"{text}\n{table(headers, rows)}\n"


def _read(what: str, folder: Path, small: Path) -> Reading:
    command = [sys.executable, "-c", _READ, what, str(folder), str(small)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"a benchmark process failed:\n{done.stderr}")
    return Reading(*json.loads(done.stdout))


def _make_small(folder: Path) -> None:
    folder.mkdir()
    (folder / "movies.csv").write_text("movieId,title,genres\n1,a,b\n")
    (folder / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,1,4.0,9\n")
    (folder / "goodreads_reviews_small.json").write_text('{"rating": 4}\n')


def _make_movielens(folder: Path, lines: int) -> None:
    """Write files of the form and size of MovieLens 25M: a block of random ratings, again and again."""
    rng = np.random.default_rng(0)
    identities = np.sort(rng.choice(np.arange(1, LARGEST_ID + 1), MOVIES, replace=False))
    genres = [f"Genre {letter}" for letter in "ABCDEFGHIJKLMNOPQRST"]
    with (folder / "movies.csv").open("w", encoding="utf-8") as file:
        file.write("movieId,title,genres\n")
        for identity in identities.tolist():
            some = rng.choice(genres, rng.integers(1, 4), replace=False)
            file.write(f'{identity},"Movie, the {identity}th (1995)",{"|".join(some)}\n')
    size = min(lines, BLOCK_LINES)
    users = np.sort(rng.integers(1, 162_542, size))
    # Few movies have most of the ratings.
    movies = identities[(MOVIES * rng.random(size) ** 4).astype(np.int64)]
    steps = rng.integers(1, 11, size)
    seconds = rng.integers(800_000_000, 1_574_000_000, size)
    columns = zip(users.tolist(), movies.tolist(), (steps / 2).tolist(), seconds.tolist(), strict=True)
    block = "".join(f"{user},{movie},{stars},{at}\n" for user, movie, stars, at in columns).encode()
    with (folder / "ratings.csv").open("wb") as file:
        file.write(b"userId,movieId,rating,timestamp\n")
        for _ in range(lines // size):
            file.write(block)


def _make_goodreads(plain: Path, packed: Path, reviews: int) -> None:
    """Write reviews with the fields of the Goodreads Book Graph, of about 800 bytes each."""
    rng = np.random.default_rng(0)
    words = [
        "this",
        "book",
        "is",
        "not",
        "what",
        "\u201cwe\u201d",
        "expected;",
        "a\nnew",
        '"classic"',
        "tale",
    ]
    lines = []
    for number in range(reviews):
        text = " ".join(words[i] for i in rng.integers(0, len(words), int(rng.exponential(90))))
        review = {
            "user_id": f"{number * 2654435761 % 2**128:032x}",
            "book_id": str(number % 99_999),
            "review_id": f"{number * 40503 % 2**128:032x}",
            "rating": int(rng.integers(0, 6)),
            "review_text": text,
            "date_added": "Sun Jul 30 07:44:10 -0700 2017",
            "date_updated": "Wed Aug 30 00:00:26 -0700 2017",
            "read_at": "Sat Aug 26 12:05:52 -0700 2017",
            "started_at": "",
            "n_votes": int(rng.integers(0, 30)),
            "n_comments": int(rng.integers(0, 5)),
        }
        lines.append(json.dumps(review))
    data = ("\n".join(lines) + "\n").encode()
    plain.mkdir()
    packed.mkdir()
    (plain / "goodreads_reviews_romance.json").write_bytes(data)
    (packed / "goodreads_reviews_romance.json.gz").write_bytes(gzip.compress(data))


def _plain_ratings(folder: Path, lines: int) -> float:
    """Return the seconds for a line with the module csv."""
    counts: Counter[tuple[str, str]] = Counter()
    with (folder / "ratings.csv").open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        next(reader)
        began = time.perf_counter()
        for _, movie, stars, _ in islice(reader, lines):
            counts[movie, stars] += 1
        return (time.perf_counter() - began) / lines


def _plain_reviews(folder: Path, lines: int) -> float:
    """Return the seconds for a line with the module json."""
    counts: Counter[int] = Counter()
    with next(folder.iterdir()).open("rb") as file:
        began = time.perf_counter()
        for line in islice(file, lines):
            counts[json.loads(line)["rating"]] += 1
        return (time.perf_counter() - began) / lines
