"""Lines of raw rating data: what is counted, what is malformed, and that it does not depend on the block."""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from collections import Counter
from decimal import Decimal
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frugalbandits.lab.ratings import reading
from ratings_harness import HEADER, MOVIES, as_counters, goodreads_of, movielens_of, write_movies


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that the many examples of a property share."""
    made = tmp_path_factory.mktemp("data")
    write_movies(made / "movies.csv", MOVIES)
    return made


# Plain references: a line at a time, with Python's own modules


def lines_of(data):
    return enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1)


def plain_movielens(data, movies):
    """Ratings by genre, ratings of unknown movies, and the numbers of malformed lines."""
    counts, unknown, malformed, headed = {}, 0, [], False
    for number, line in lines_of(data):
        if not line.strip():
            continue
        if not headed:
            headed = True
            continue
        try:
            ((user, movie, rating, timestamp),) = csv.reader([line.decode()], strict=True)
            if not all(re.fullmatch("[0-9]{1,100}", text) for text in (user, movie, timestamp)):
                raise ValueError
            if not re.fullmatch(r"[0-9]+(\.[0-9]*)?", rating) or Decimal(rating) * 2 not in range(1, 11):
                raise ValueError
        except (ValueError, csv.Error):
            malformed.append(number)
            continue
        if int(movie) not in movies:
            unknown += 1
            continue
        for genre in set(movies[int(movie)].split("|")):
            counts.setdefault(genre, Counter())[float(rating)] += 1
    return counts, unknown, malformed


def plain_goodreads(data):
    """Counts of ratings, 0 included, and the numbers of malformed lines."""
    counts, malformed = Counter(), []
    for number, line in lines_of(data):
        if not line.strip():
            continue
        try:
            # Of two fields with one name the first counts.
            review = json.loads(line.decode(), object_pairs_hook=lambda pairs: dict(pairs[::-1]))
            rating = review["rating"]
            if isinstance(rating, bool | float) or rating not in range(6):
                raise ValueError
        except (ValueError, KeyError, TypeError):
            malformed.append(number)
            continue
        counts[rating] += 1
    return counts, malformed


# Any bytes, any block size


def mutated(draw, line):
    """A line with some bytes taken out, put in or replaced."""
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        at = draw(st.integers(0, len(line)))
        put = draw(
            st.sampled_from(
                [b"", b",", b'"', b"\\", b"\r", b" ", b"0", b"5", b".", b"-", b"}", b"\xff", b"\xc3\xa9"]
            )
        )
        line = line[:at] + put + line[at + draw(st.integers(0, 2)) :]
    return line


@st.composite
def rating_lines(draw):
    identities = st.sampled_from([*map(str, MOVIES), "2", "0", "00022", "9" * 18, "1" + "0" * 18, "9" * 101])
    stars = st.sampled_from(["0.5", "1.0", "1", "3.5", "4", "4.5", "5.0", "5", "05.00", "3.", "0.0"]) | (
        st.sampled_from(["0", "5.5", "6", "10", "3.7", "3.05", "-1", "nan"])
    )
    whole = st.sampled_from(["1", "42", "162541", "1147880044", "9" * 18, "0", "007", "9" * 19, "", "x"])
    line = ",".join([draw(whole), draw(identities), draw(stars), draw(whole)]).encode()
    return mutated(draw, line)


@st.composite
def review_lines(draw):
    text = st.text(max_size=6) | st.sampled_from(['"rating": 3', "\\", "é\u2028", "\ud83d\ude00"])
    other = text | st.integers(-10, 10**20) | st.sampled_from([None, True, 1.5, [], {"rating": 4}, 10**17])
    rating = st.integers(0, 6) | st.sampled_from([0, 3, 5, -1, True, 4.0, "4", None, [5]])
    fields = draw(st.lists(st.tuples(st.sampled_from(["user_id", "ratings", "r", ""]), other), max_size=3))
    fields += [("rating", draw(rating)) for _ in range(draw(st.sampled_from([1, 1, 1, 0, 2])))]
    ascii_only, blanks = draw(st.booleans()), draw(st.sampled_from(["", " ", "\t "]))
    parts = [
        f"{blanks}{json.dumps(key)}{blanks}:{blanks}{json.dumps(value, ensure_ascii=ascii_only)}{blanks}"
        for key, value in draw(st.permutations(fields))
    ]
    line = f"{blanks}{{{','.join(parts)}}}{blanks}"
    if draw(st.integers(0, 9)) == 0:
        line = line.replace('"rating"', '"r\\u0061ting"', 1)
    return mutated(draw, line.encode("utf-8", "surrogatepass"))


def files_of(lines):
    """Files of such lines, and of noise between them."""
    noise = st.binary(max_size=12) | st.sampled_from([b"", b" ", b"\r", b"\t\r", b"\x0b", b"[1]", b"\n\n"])
    many = st.lists(lines | lines | lines | noise, max_size=12)
    ends = st.sampled_from([b"\n", b"\r\n"])
    return st.builds(
        lambda lines, end, last: end.join(lines) + last, many, ends, st.sampled_from([b"", b"\n"])
    )


blocks_of_bytes = st.integers(1, 200) | st.just(1 << 20)


@given(files_of(rating_lines()), st.sampled_from([b"", b"\xef\xbb\xbf", b"\r\n \n"]), blocks_of_bytes)
def test_ratings_are_counted_as_with_the_csv_module_whatever_the_file_and_the_block(folder, body, top, block):
    data = top + HEADER + body + b"\n7,22,4.0,1\n"
    counts, unknown, malformed = plain_movielens(data, MOVIES)
    found = movielens_of(folder, data, block=block)
    source = found.sources[1]
    assert as_counters(found) == counts
    assert (source.unknown_movies, source.malformed) == (unknown, len(malformed))
    assert [fault.line for fault in source.faults] == malformed[:5]
    lines = [line for _, line in lines_of(data) if line.strip()]
    assert source.used + source.unknown_movies + source.malformed == len(lines) - 1


@given(files_of(review_lines()), st.sampled_from([b"", b"\xef\xbb\xbf"]), blocks_of_bytes)
def test_reviews_are_counted_as_with_the_json_module_whatever_the_file_and_the_block(
    folder, body, top, block
):
    data = top + body + b'\n{"rating": 3}\n'
    counts, malformed = plain_goodreads(data)
    found = goodreads_of(folder, data, block=block)
    (source,) = found.sources
    unrated = counts.pop(0, 0)
    assert as_counters(found) == {"poetry": counts}
    assert (source.used, source.unrated, source.malformed) == (counts.total(), unrated, len(malformed))
    assert [fault.line for fault in source.faults] == malformed[:5]


# What a line may look like


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("block", [1, 2, 7, 31, 1000])
def test_line_ends_blank_lines_and_byte_order_marks_are_no_faults(tmp_path, end, block):
    lines = [b"\xef\xbb\xbfuserId,movieId,rating,timestamp", b"", b"1,1,4.5,11", b"  ", b"2,22,3.0,12"]
    found = movielens_of(tmp_path, end.join(lines), block=block)
    assert as_counters(found) == {"Comedy": {4.5: 1}, "Drama": {4.5: 1, 3.0: 1}}
    assert found.sources[1].malformed == 0
    found = goodreads_of(
        tmp_path, end.join([b'\xef\xbb\xbf{"rating": 5}', b"", b'{"rating": 1}']), block=block
    )
    assert as_counters(found) == {"poetry": {5.0: 1, 1.0: 1}}
    assert found.sources[0].malformed == 0


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"1,22,4.0", "the number of fields is 3 in place of 4"),
        (b"1,22,4.0,9,9", "the number of fields is 5 in place of 4"),
        (b"u1,22,4.0,9", "the userId 'u1' is not a whole number"),
        (b"1,,4.0,9", "the movieId '' is not a whole number"),
        (b"1,-22,4.0,9", "the movieId '-22' is not a whole number"),
        (b"1,22,4.0,", "the timestamp '' is not a whole number"),
        (b"1,22,5.5,9", "the rating '5.5' is not one of 0.5, 1, ..., 5"),
        (b"1,22,0.0,9", "the rating '0.0' is not one of 0.5, 1, ..., 5"),
        (b"1,22,3.7,9", "the rating '3.7' is not one of 0.5, 1, ..., 5"),
        (b'1,"22,4.0,9', "the line is not CSV (unexpected end of data)"),
        (b"1,22,4.0,\xff", "the line is not UTF-8 text"),
        (b"1,22,4.0," + b"x" * 99, f"the timestamp '{'x' * 39}... is not a whole number"),
    ],
)
def test_a_malformed_rating_is_left_out_with_its_line_and_the_reason(tmp_path, line, why):
    found = movielens_of(tmp_path, HEADER + b"1,22,4.0,9\n" + line + b"\n1,1,2.0,9\n")
    assert found.sources[1].faults == ((3, why),)
    assert found.sources[1].used == 2


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"rating": 6}', "the rating 6 is not a whole number from 0 to 5"),
        (b'{"rating": 4.0}', "the rating 4.0 is not a whole number from 0 to 5"),
        (b'{"rating": true}', "the rating True is not a whole number from 0 to 5"),
        (b'{"rating": "4"}', "the rating '4' is not a whole number from 0 to 5"),
        (b'{"review_text": "\\"rating\\": 4"}', "there is no field 'rating'"),
        (b"[4]", "the line is not a JSON object"),
        (b'{"rating": 4', "the line is not JSON (Expecting ',' delimiter, column 13)"),
        (b'{"rating": 4, "n": 007}', "the line is not JSON (Expecting ',' delimiter, column 21)"),
        (b'{"rating": 4, "n": -}', "the line is not JSON"),
        (b'{"rating": 4, "a": "\\x"}', "the line is not JSON"),
        (b'{"rating": 4, "a": "\\u12g4"}', "the line is not JSON"),
        (b'{"rating": 4, "a": "\t"}', "the line is not JSON"),
        (b'{"rating": 4,}', "the line is not JSON"),
        (b'{"rating": 4} 5', "the line is not JSON"),
        (b'{"rating": 4, "a": "\xff"}', "the line is not UTF-8 text"),
        (b'{"rating": ' + b"9" * 5000 + b"}", "the line is not JSON (Exceeds the limit"),
        (b"[" * 200_000, "the line is not JSON (maximum recursion depth"),
    ],
)
def test_a_malformed_review_is_left_out_with_its_line_and_the_reason(tmp_path, line, why):
    found = goodreads_of(tmp_path, b'{"rating": 4}\n' + line + b'\n{"rating": 5}\n')
    ((number, reason),) = found.sources[0].faults
    assert number == 2
    assert reason.startswith(why)
    assert found.sources[0].used == 2


@pytest.mark.parametrize(
    "line",
    [
        b'{"r\\u0061ting": 2}',
        b'{"rating": 2, "rating": 1}',
        b'{"rating": 2, "r\\u0061ting": 1, "a": NaN}',
        b'{"shelf": {"rating": 5}, "rating": 2}',
        b'{"a": null, "b": 1.5e3, "c": [], "rating": 2}',
        b'{"review_text": "\\"rating\\": 5, \\\\", "rating": 2}',
        b'{"rating":2,"review_text":"\\ud83d\\ude00 \xc3\xa9"}',
    ],
)
def test_unusual_json_is_read_as_json(tmp_path, line):
    assert as_counters(goodreads_of(tmp_path, line)) == {"poetry": {2.0: 1}}


@pytest.mark.parametrize("block", [16, 100, 10_000])
def test_an_endless_line_is_malformed_and_is_not_kept(tmp_path, monkeypatch, block):
    monkeypatch.setattr(reading, "LONGEST", 200)
    long = b"1,22,4.0," + b"9" * 5000
    found = movielens_of(tmp_path, HEADER + b"1,22,4.0,9\n" + long + b"\n1,22,4.0,x\n" + long, block=block)
    assert found.sources[1].used == 1
    assert [line for line, _ in found.sources[1].faults] == [3, 4, 5]
    assert found.sources[1].faults[0].why == "the line is longer than 200 bytes"
    review = b'{"rating": 4, "review_text": "%s"}\n'
    found = goodreads_of(tmp_path, review % b"" + review % (b"x" * 5000) + review % b"", block=block)
    assert (found.sources[0].used, found.sources[0].faults) == (
        2,
        ((2, "the line is longer than 200 bytes"),),
    )
    path = tmp_path / "ratings.csv"
    blocks = reading.Files([path], block=block).blocks(reading.Account(path))
    assert max(len(data) for _, data in blocks) <= 200 + block + 1


def test_faults_are_in_the_order_of_lines_whoever_found_them(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST", 200)
    lines = [
        b"1,22,4.0,9",
        b"1,22,4.0,9,9",
        b"1,22,4.0,x",
        b"9" * 300,
        b"1,22,+4,9",
        b"1, 22,4.0,9",
        b"1,22,4.0,9",
    ]
    for block in (1, 20, 60, 10_000):
        source = movielens_of(tmp_path, HEADER + b"\r\n".join(lines), block=block).sources[1]
        assert (source.used, [fault.line for fault in source.faults]) == (2, [3, 4, 5, 6, 7])


@pytest.mark.parametrize(
    "number", [b"1_0", b"nan", b"inf", b"1e1", b"0x1", b"+1", b" 1", b"1.0", b"\xd9\xa1", b"1\x00"]
)
def test_what_is_no_row_of_digits_is_no_number(tmp_path, number):
    good = b"1,22,4.0,9\n"
    for line in (b"%s,22,4.0,9\n", b"1,%s,4.0,9\n", b"1,22,4.0,%s\n"):
        source = movielens_of(tmp_path, HEADER + good + line % number + good).sources[1]
        assert (source.used, source.unknown_movies, [fault.line for fault in source.faults]) == (2, 0, [3])


@pytest.mark.parametrize("pack", [partial(gzip.compress, mtime=0), zlib.compress, lambda _: b"x\x01\x00"])
@pytest.mark.parametrize("block", [1, 10_000])
def test_packed_bytes_amid_lines_are_not_unpacked(tmp_path, pack, block):
    noise = pack(b'{"rating": 5}').replace(b"\n", b"")
    (source,) = goodreads_of(tmp_path, noise + b'\n{"rating": 4}\n' + noise, block=block).sources
    assert (source.used, [fault.line for fault in source.faults]) == (1, [1, 3])
    source = movielens_of(tmp_path, HEADER + noise + b"\n1,22,4.0,9\n" + noise, block=block).sources[1]
    assert (source.used, [fault.line for fault in source.faults]) == (1, [2, 4])


def test_many_malformed_lines_are_counted_and_five_are_shown(tmp_path):
    bad = b"".join(b"bad %d\n" % number for number in range(50))
    source = movielens_of(tmp_path, HEADER + bad + b"1,22,4.0,9\n" + bad).sources[1]
    assert (source.used, source.malformed) == (1, 100)
    assert [line for line, _ in source.faults] == [2, 3, 4, 5, 6]
    (source,) = goodreads_of(tmp_path, bad + b'{"rating": 4}\n' + bad).sources
    assert (source.used, source.malformed) == (1, 100)
    assert [line for line, _ in source.faults] == [1, 2, 3, 4, 5]
