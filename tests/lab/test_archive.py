"""A stored result comes back to the bit; what is no stored result is refused in words."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.lab import archive

GOLDEN = Path(__file__).parents[1] / "golden"
QUALITIES = ["relative-to-best:0.3", "relative-to:b:0.1", "at-least:0.65"]


def result(quality: str = QUALITIES[0], policy: str | fb.Policy = "cof") -> fb.Result:
    problem = fb.Problem([0.3, 0.6, 0.7], [1, 2, 3.5], names=["a", "b", "größer 👩‍💻"], quality=quality)
    return fb.simulate(problem, policy, 3_000, runs=3, seed=2**70, checkpoints=[7, 100, 2_999])


def identical(one: fb.Result, other: fb.Result) -> bool:
    return (one.problem, one.policy, one.seed) == (other.problem, other.policy, other.seed) and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(one.stored, other.stored, strict=True)
    )


@pytest.mark.parametrize("quality", QUALITIES)
def test_a_result_comes_back_to_the_bit(tmp_path: Path, quality: str) -> None:
    for policy in ("cof", "glr-cof:tolerance=0.02", fb.COF(delta=1e-6)):
        one = result(quality, policy)
        one.save(tmp_path / "mine.result")
        assert identical(fb.Result.load(str(tmp_path / "mine.result")), one)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.result"]


def test_the_golden_files_of_every_version_are_read() -> None:
    found = sorted(GOLDEN.glob("result-v*.npz"))
    assert [path.stem for path in found] == ["result-v1"]
    for path in found:
        kept = json.loads(path.with_suffix(".json").read_text())
        one = fb.Result.load(path)
        assert (repr(one.problem), one.policy, one.seed) == (kept["problem"], kept["policy"], kept["seed"])
        assert list(one.problem.names) == kept["names"]
        assert [array.tolist() for array in (one.times, one.pulls, one.plans)] == kept["arrays"]
        assert [list(event) for event in one.events.tolist()] == kept["events"]


def test_nothing_is_written_where_it_cannot_be_whole(tmp_path: Path) -> None:
    with pytest.raises(fb.InputError, match="no folder"):
        result().save(tmp_path / "no" / "mine.npz")
    (tmp_path / "old.npz").mkdir()
    with pytest.raises(fb.InputError, match="is a folder"):
        result().save(tmp_path / "old.npz")


@pytest.fixture(scope="module")
def content() -> bytes:
    one = result()
    return archive.to_store(one.problem, one.policy, one.seed, one.stored)


def refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    with pytest.raises(fb.InputError) as caught:
        fb.Result.load(path)
    assert str(caught.value).startswith(f"cannot read {str(path)!r}: it ") and words in str(caught.value)


def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, content: bytes) -> None:
    refused(tmp_path, b"", "is empty")
    for length in range(1, len(content), 97):
        refused(tmp_path, content[:length], "is damaged")


@given(place=st.integers(0), change=st.integers(1, 255))
def test_a_changed_byte_is_seen(content: bytes, place: int, change: int) -> None:
    changed = bytearray(content)
    changed[place % len(content)] ^= change
    with pytest.raises(fb.InputError, match="is damaged"):
        archive.stored_runs(bytes(changed))


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    refused(tmp_path, b"\x89PNG\r\n\x1a\n", "no file of runs")
    refused(tmp_path, b"name,quality,cost\n", "no file of runs")
    foreign = io.BytesIO()
    np.savez(foreign, x=np.arange(3))
    refused(tmp_path, foreign.getvalue(), "no file of runs")
    with pytest.raises(fb.InputError, match=r"cannot read '.*none\.npz': No such file"):
        fb.Result.load(tmp_path / "none.npz")


def test_a_cell_of_a_sweep_is_no_result(tmp_path: Path) -> None:
    refused(tmp_path, archive.pack({"format": 1}, result().stored), "holds no result: its format is 1")


# With a right checksum and wrong values: whoever writes such a file is told what is wrong with it.

ABOUT = {
    "no format": ({"format": None}, "format is None"),
    "later version": ({"version": 2}, "has version 2 of its format, and this one reads up to 1"),
    "policy": ({"policy": 7}, "7"),
    "seed": ({"seed": -1}, "-1"),
    "boolean seed": ({"seed": True}, "True"),
    "means": ({"means": [0.3, 0.6, 1.7]}, "describes no problem: means must lie in [0, 1]"),
    "fewer arms": ({"means": [0.3, 0.6], "costs": [1, 2], "names": ["a", "b"]}, "for 4 times and 2 arms"),
    "costs": ({"costs": {"a": 1}}, "describes no problem: costs must be"),
    "names": ({"names": ["a", "a", "a"]}, "'a' stands 3 times"),
    "quality": ({"quality": {"kind": "magic"}}, "'magic'"),
}


@pytest.mark.parametrize("case", ABOUT)
def test_wrong_words_are_refused(tmp_path: Path, content: bytes, case: str) -> None:
    change, words = ABOUT[case]
    about = archive.about_of(content) | change
    refused(tmp_path, archive.pack(about, result().stored), words)


def test_missing_words_are_named(tmp_path: Path, content: bytes) -> None:
    about = archive.about_of(content)
    del about["seed"], about["costs"]
    refused(tmp_path, archive.pack(about, result().stored), "lacks costs, seed")


def _changed(array: Any, place: Any, value: Any) -> Any:
    copy = array.copy()
    copy[place] = value
    return copy


ARRAYS = {
    "times fall": (lambda runs: runs._replace(times=runs.times[::-1]), "times do not rise"),
    "times flat": (lambda runs: runs._replace(times=runs.times[:, None]), "its times have the shape (4, 1)"),
    "no runs": (lambda runs: runs._replace(pulls=runs.pulls[:0]), "pulls have the shape (0, 4, 3)"),
    "pulls flat": (lambda runs: runs._replace(pulls=runs.pulls[:, :2]), "for 4 times and 3 arms"),
    "pulls negative": (lambda runs: runs._replace(pulls=-runs.pulls), "its pulls do not rise"),
    "pulls off": (
        lambda runs: runs._replace(pulls=_changed(runs.pulls, (0, 3, 0), runs.pulls[0, 3, 0] + 1)),
        "do not add up",
    ),
    "plans": (lambda runs: runs._replace(plans=runs.plans[:1]), "for 3 runs"),
    "event run": (lambda runs: runs._replace(events=_event(runs, run=3)), "the run of an event lies outside"),
    "event arm": (
        lambda runs: runs._replace(events=_event(runs, arm=-1)),
        "the arm of an event lies outside",
    ),
    "event time": (
        lambda runs: runs._replace(events=_event(runs, time=10**6)),
        "the time of an event lies outside",
    ),
    "event type": (lambda runs: runs._replace(events=np.zeros(2)), "float64"),
}


def _event(runs: archive.Runs, **change: int) -> Any:
    row = {"run": 0, "time": 5, "event": "optimal", "arm": 1} | change
    return np.array([tuple(row.values())], dtype=archive.EVENT)


@pytest.mark.parametrize("case", ARRAYS)
def test_wrong_arrays_are_refused(tmp_path: Path, content: bytes, case: str) -> None:
    change, words = ARRAYS[case]
    refused(tmp_path, archive.pack(archive.about_of(content), change(result().stored)), words)


def test_well_kept_nonsense_is_refused(tmp_path: Path, content: bytes) -> None:
    for text in ('{"format": ' + "[" * 100_000, "1" * 5_000, "[]", "null", "\x00"):
        nonsense = io.BytesIO()
        with zipfile.ZipFile(nonsense, "w") as file:
            written = io.BytesIO()
            np.save(written, np.frombuffer(text.encode(), np.uint8))
            file.writestr("about.npy", written.getvalue())
        refused(tmp_path, _sealed(nonsense.getvalue()), "is no file of runs")
    refused(tmp_path, _sealed(b"PK" + bytes(100)), "is no file of runs")


def _sealed(content: bytes) -> bytes:
    body = content[:-2] + (64).to_bytes(2, "little")
    return body + archive._digest(body)
