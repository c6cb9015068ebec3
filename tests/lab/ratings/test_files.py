"""Files of raw rating data, the genres that they make, and the problems that the genres make."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import frugalbandits as fb
from frugalbandits.lab.ratings import UNLABELLED, GenreRatings, read_costs, read_goodreads, read_movielens
from ratings_harness import HEADER, MOVIES, as_counters, goodreads_of, movielens_of, write_movies

# Movies and genres


def test_movies_are_read_a_line_at_a_time(tmp_path):
    (tmp_path / "movies.csv").write_bytes(
        b"\xef\xbb\xbfmovieId,title,genres\r\n"
        b'1,"American President, The (1995)",Comedy|Drama|Romance\r\n'
        b'2,"He said ""no"", twice",Sci-Fi\r\n'
        b'3,"A stray quote,Horror\r\n'
        b"\r\n"
        b"2,Again,Horror\r\n"
        b"x,No number,Horror\r\n"
        b"5,No genres,\r\n"
        b"6,Too, many,Horror\r\n"
        b"7,Twice the same, Drama |Drama|\r\n"
        b"8,Am\xe9lie,Horror"
    )
    (tmp_path / "ratings.csv").write_bytes(HEADER + b"".join(b"1,%d,4.0,9\n" % movie for movie in range(9)))
    found = read_movielens(tmp_path / "ratings.csv", tmp_path / "movies.csv", block=5)
    assert dict(zip(found.names, found.totals.tolist(), strict=True)) == {
        "Comedy": 1, "Drama": 2, "Romance": 1, "Sci-Fi": 1
    }  # fmt: skip
    movies, ratings = found.sources
    assert (movies.used, movies.malformed) == (3, 6)
    assert [fault.line for fault in movies.faults] == [4, 6, 7, 8, 9]
    assert movies.faults[1].why == "the movieId 2 stands in an earlier line too"
    assert movies.faults[3].why == "there are no genres in ''"
    assert (ratings.used, ratings.unknown_movies) == (3, 6)


def test_movies_with_huge_numbers_are_found(tmp_path):
    ratings = b"".join(b"1,%d,4.0,9\n" % movie for movie in [*MOVIES, 2**24 + 6, 10**30 + 1, 2**64 + 1, 5])
    found = movielens_of(tmp_path, HEADER + ratings)
    assert dict(zip(found.names, found.totals.tolist(), strict=True)) == {
        UNLABELLED: 1, "Comedy": 2, "Drama": 2, "War": 1
    }  # fmt: skip
    assert found.sources[1].unknown_movies == 4


def test_the_genre_of_movies_without_a_genre_can_be_left_out(tmp_path):
    data = HEADER + b"1,1,4.0,9\n1,333,2.0,9\n"
    assert movielens_of(tmp_path, data).names == (UNLABELLED, "Comedy", "Drama")
    assert movielens_of(tmp_path, data, unlabelled=False).names == ("Comedy", "Drama")
    only = movielens_of(tmp_path, data, movies={1: UNLABELLED}, unlabelled=False)
    with pytest.raises(fb.InputError, match="two genres with ratings or more, but none has any"):
        only.to_problem()


def test_genres_without_ratings_are_left_out_and_named(tmp_path):
    found = movielens_of(tmp_path, HEADER + b"1,1,4.0,9\n")
    assert found.names == ("Comedy", "Drama")
    assert found.without_ratings == (UNLABELLED, "War")
    (tmp_path / "goodreads_reviews_a.json").write_text('{"rating": 0}\n{"rating": 0}\n')
    found = goodreads_of(tmp_path, b'{"rating": 1}')
    assert (found.names, found.without_ratings) == (("poetry",), ("a",))
    assert found.sources[0].unrated == 2
    with pytest.raises(fb.InputError, match="two genres with ratings or more, but only 'poetry' has any"):
        found.to_problem()


# Files


def test_packed_files_are_read_as_the_others(tmp_path):
    data = HEADER + b"1,1,4.0,9\n1,22,2.5,9"
    plain = movielens_of(tmp_path, data)
    for name in ("ratings", "movies"):
        text = (tmp_path / f"{name}.csv").read_bytes()
        # Two members one after the other are one file, too.
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress(text[:40]) + gzip.compress(text[40:]))
    packed = read_movielens(tmp_path / "ratings.csv.gz", tmp_path / "movies.csv.gz", block=3)
    assert as_counters(packed) == as_counters(plain)
    (tmp_path / "goodreads_reviews_a_b.c.json.gz").write_bytes(gzip.compress(b'{"rating": 5}\n'))
    assert read_goodreads(tmp_path).names == ("a_b.c",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-20], "the gzip file is truncated"),
        (lambda data: data[:-4], "the gzip file is truncated"),
        (lambda data: data[:30] + bytes([data[30] ^ 255]) + data[31:], "the gzip file is damaged"),
        (lambda data: data[:-8] + bytes(8), "the gzip file is damaged"),
        (lambda data: b'{"rating": 5}\n', "the gzip file is damaged"),
        (lambda data: b"", "has no usable lines (there are none)"),
        (
            lambda data: gzip.compress(b"x\ny\n"),
            "has no usable lines (2 malformed; line 1: the line is not JSON",
        ),
    ],
)
def test_a_damaged_packed_file_is_an_error_that_names_it(tmp_path, change, message):
    reviews = b"".join(b'{"rating": %d, "n": %d}\n' % (n % 5, n * n) for n in range(500))
    path = tmp_path / "goodreads_reviews_poetry.json.gz"
    path.write_bytes(change(gzip.compress(reviews)))
    with pytest.raises(fb.InputError, match=re.escape(message)) as caught:
        read_goodreads(tmp_path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "has no usable lines (there are none)"),
        (HEADER, "has no usable lines (there are none)"),
        (b"\n\n", "has no usable lines (there are none)"),
        (HEADER + b"1,2,9,4\nx", "(2 malformed; line 2: the rating '9' is not one of 0.5, 1, ..., 5)"),
        (HEADER + b"1,7,4.0,4\nx", "(1 malformed, 1 of unknown movies; line 3: the number of fields is 1 in"),
        (b"1,22,4.0,9\n", "must be 'userId,movieId,rating,timestamp', but the file begins with '1,22,4.0,9'"),
        (b"movieId,userId,rating,timestamp\n1,22,4.0,9\n", "begins with 'movieId,userId,rating,timestamp'"),
        (b"\x00\xff" * 999 + HEADER, "begins with '\\x00\ufffd\\x00\ufffd"),
    ],
)  # fmt: skip
def test_a_file_with_nothing_usable_is_an_error_that_names_it(tmp_path, data, message):
    with pytest.raises(fb.InputError, match=re.escape(message)) as caught:
        movielens_of(tmp_path, data)
    assert str(tmp_path / "ratings.csv") in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    write_movies(tmp_path / "movies.csv", MOVIES)
    for ratings, movies in (("none.csv", "movies.csv"), ("movies.csv", "none.csv")):
        with pytest.raises(fb.InputError, match=r"cannot read '.*none.csv': No such file"):
            read_movielens(tmp_path / ratings, tmp_path / movies)
    with pytest.raises(fb.InputError, match=r"cannot read .* directory"):
        read_movielens(tmp_path, tmp_path / "movies.csv")
    with pytest.raises(fb.InputError, match=r"cannot read the folder '.*none': No such file"):
        read_goodreads(tmp_path / "none")
    with pytest.raises(fb.InputError, match=r"cannot read the folder '.*movies.csv': Not a directory"):
        read_goodreads(tmp_path / "movies.csv")
    with pytest.raises(fb.InputError, match="a block must have 1 byte or more"):
        read_movielens(tmp_path / "movies.csv", tmp_path / "movies.csv", block=0)


def test_the_files_of_a_folder(tmp_path):
    none = r"no file goodreads_reviews_GENRE\.json or \.json\.gz"
    for name in ("goodreads_books.json", "goodreads_reviews_.json", "goodreads_reviews_dedup.json"):
        with pytest.raises(fb.InputError, match=none):
            read_goodreads(tmp_path)
        (tmp_path / name).write_text('{"rating": 1}\n')
    (tmp_path / "goodreads_reviews_folder.json").mkdir()
    with pytest.raises(fb.InputError, match=none):
        read_goodreads(tmp_path)
    for genre in ("young_adult", "fantasy_paranormal"):
        (tmp_path / f"goodreads_reviews_{genre}.json").write_text('{"rating": 1}\n')
    assert read_goodreads(tmp_path).names == ("fantasy_paranormal", "young_adult")
    (tmp_path / "goodreads_reviews_young_adult.json.gz").write_bytes(b"")
    with pytest.raises(
        fb.InputError, match=r"'young_adult' has two files .*adult\.json and .*adult\.json\.gz"
    ):
        read_goodreads(tmp_path)


@pytest.mark.parametrize("packed", [False, True])
def test_progress_counts_the_bytes_of_all_files(tmp_path, packed):
    sizes = []
    for genre in ("a", "b"):
        data = b'{"rating": 3}\n' * 2000
        path = tmp_path / f"goodreads_reviews_{genre}.json{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(data) if packed else data)
        sizes.append(path.stat().st_size)
    seen = []
    read_goodreads(tmp_path, progress=lambda *now: seen.append(now), block=1000)
    names, done, totals = zip(*seen, strict=True)
    assert sorted(set(names)) == sorted(path.name for path in tmp_path.iterdir())
    assert list(done) == sorted(done)
    assert (done[-1], set(totals)) == (sum(sizes), {sum(sizes)})


# Problems


def ratings(names=("a", "b", "c")):
    counts = np.array([[0, 0, 0, 2, 2], [1, 0, 0, 0, 0], [0, 1, 1, 1, 1]])
    return GenreRatings(names, (1, 2, 3, 4, 5), counts, without_ratings=("z",))


def test_rewards_are_mean_ratings_or_shares():
    assert ratings().to_problem().means.tolist() == [0.9, 0.2, 0.7]
    assert ratings().to_problem("share").means.tolist() == [1, 0, 0.5]
    assert ratings().to_problem("share", above=4.5).means.tolist() == [0.5, 0, 0.25]
    assert ratings().to_problem("share", above=5).means.tolist() == [0.5, 0, 0.25]
    problem = ratings().to_problem(alpha=0.25)
    assert (problem.names, problem.alpha) == (("a", "b", "c"), 0.25)


def test_drawn_costs_depend_on_the_seed_and_the_place_only():
    costs = ratings().to_problem(seed=3).costs
    assert costs.tolist() == ratings(("x", "y", "z")).to_problem("share", seed=3, alpha=0.5).costs.tolist()
    assert costs.tolist() != ratings().to_problem(seed=4).costs.tolist()
    assert ((costs > 0) & (costs < 1)).all()
    few = GenreRatings(("a", "b"), (1, 2), [[1, 0], [0, 1]])
    assert few.to_problem(seed=3).costs.tolist() == costs[:2].tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward": "median"}, "no reward is called 'median'"),
        ({"reward": "share", "above": 0}, r"above must lie in \(0, 5\], but it is 0"),
        ({"reward": "share", "above": 5.5}, r"above must lie in \(0, 5\], but it is 5.5"),
        ({"reward": "share", "above": float("nan")}, "above must lie .* nan"),
        ({"seed": -1}, "seed must be a whole number, 0 or more, but it is -1"),
        ({"alpha": 1.5}, "alpha .* 1.5"),
        ({"costs": {"a": 1, "c": 2}}, "there is no cost for 'b'$"),
        ({"costs": {"a": 1, "b": 1, "c": 2, "d": 1}}, "no genre is called 'd'"),
        ({"costs": {"a": 1, "b": float("nan"), "c": 2}}, "costs.* nan"),
    ],
)
def test_what_makes_no_problem_is_said(options, message):
    with pytest.raises(fb.InputError, match=message):
        ratings().to_problem(**options)


def test_given_costs_go_by_name():
    costs = {"c": 3, "z": 9, "a": 1, "b": 2}
    assert ratings().to_problem(costs=costs).costs.tolist() == [1, 2, 3]


def test_files_of_costs(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_bytes(b'\xef\xbb\xbfname,cost\r\n\r\n"a, b", 0.5\r\nc,2')
    assert read_costs(path) == {"a, b": 0.5, "c": 2}
    for text, message in (
        ("", r"costs.csv' has no usable lines \(there are none\)"),
        ("a,1\n", "costs.csv: the first line must be 'name,cost', but the file begins with 'a,1'"),
        ("name,cost\na\n", "line 2: the number of fields is 1 in place of 2"),
        ("name,cost\na,1\na,2\n", "line 3: 'a' stands in an earlier line too"),
        ("name,cost\na,cheap\n", "line 2: the cost 'cheap' is not a number"),
        ("name,cost\na,1\n\nb,1_0\n", "line 4: the cost '1_0' is not a number"),
        ("name,cost\na,nan\n", "line 2: the cost 'nan' is not a number"),
        ('name,cost\n"a', "unexpected end of data"),
    ):
        path.write_text(text)
        with pytest.raises(fb.InputError, match=message):
            read_costs(path)
    path.write_bytes(b"name,cost\n\xff,1")
    with pytest.raises(fb.InputError, match="line 2: the line is not UTF-8 text"):
        read_costs(path)
    with pytest.raises(fb.InputError, match="No such file"):
        read_costs(tmp_path / "none.csv")


def test_instances_keep_the_names_of_genres(tmp_path):
    names = (UNLABELLED, "Children's", "Film-Noir")
    problem = ratings(names).to_problem(seed=1)
    for name in ("x.txt", "x.csv"):
        fb.write_instance(problem, tmp_path / name)
        assert fb.read_instance(tmp_path / name, alpha=0.05) == problem
    problem = ratings(("a, b", "c", "d")).to_problem()
    with pytest.raises(fb.InputError, match="cannot carry the name 'a, b'"):
        fb.write_instance(problem, tmp_path / "y.txt")
    fb.write_instance(problem, tmp_path / "y.csv")
    assert fb.read_instance(tmp_path / "y.csv", alpha=0.05) == problem


def test_code_in_the_page_on_raw_data_runs(tmp_path):
    (tmp_path / "ml-25m").mkdir()
    (tmp_path / "goodreads").mkdir()
    movielens_of(tmp_path / "ml-25m", HEADER + b"1,1,4.0,9\n1,22,2.5,9\n")
    for genre in ("poetry", "romance"):
        (tmp_path / "goodreads" / f"goodreads_reviews_{genre}.json").write_text('{"rating": 3}\n')
    page = Path(__file__).parents[3] / "docs" / "raw-data.md"
    parts = page.read_text(encoding="utf-8").split("```python\n")[1:]
    code = "\n".join(part.split("```")[0] for part in parts)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "('Comedy', 'Drama')" in done.stdout
    assert fb.read_instance(tmp_path / "movielens.txt").names == ("Comedy", "Drama")
