"""The store gives back what it was given, to the bit, and nothing else."""

from __future__ import annotations

import io
import os
import time
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from frugalbandits.errors import InputError
from frugalbandits.lab.result import Result
from frugalbandits.lab.sweeps import cells as specs
from frugalbandits.lab.sweeps.cells import Cell, Outcome
from frugalbandits.lab.sweeps.compute import compute
from frugalbandits.lab.sweeps.store import Store, decode, encode

CELL = Cell("nu1", 0.3, "pe-cs", horizon=2_000, runs=3, seed=1, checkpoints=4)


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return compute(CELL)


def identical(one: Outcome, other: Outcome) -> bool:
    arrays = [
        (getattr(one.result, name), getattr(other.result, name))
        for name in ("times", "pulls", "events", "plans")
    ]
    return (
        one.cell == other.cell
        and one.seconds == other.seconds
        and (one.result.problem, one.result.policy, one.result.seed)
        == (other.result.problem, other.result.policy, other.result.seed)
        and all(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in arrays)
    )


def missing(store: Store, words: str, cell: Cell = CELL) -> bool:
    """Whether there is nothing to be had, with one line that says why."""
    told: list[str] = []
    found = store.load(cell, warn=told.append)
    assert len(told) == 1 and words in told[0] and str(store.path(cell)) in told[0] and "\n" not in told[0]
    return found is None and cell not in store


# What was saved comes back.

COUNTS = st.one_of(st.integers(0, 300), st.integers(0, 2**40), st.integers(-(2**63), 2**63 - 1))
EVENT = np.dtype([("run", np.int64), ("time", np.int64), ("event", "U10"), ("arm", np.int64)])
ROWS = st.tuples(st.integers(0, 9), COUNTS, st.sampled_from(["infeasible", "optimal"]), st.integers(0, 3))


@st.composite
def outcomes(draw):
    runs, marks, arms = draw(st.integers(1, 4)), draw(st.integers(1, 6)), draw(st.integers(2, 5))
    pulls = draw(hnp.arrays(np.int64, (runs, marks, arms), elements=COUNTS))
    if draw(st.booleans()):  # as pulls really are
        pulls = np.sort(pulls, axis=1)
    result = Result(
        problem=CELL.problem,
        policy=CELL.policy,
        seed=CELL.seed,
        times=draw(hnp.arrays(np.int64, marks, elements=COUNTS)),
        pulls=pulls,
        events=np.array(draw(st.lists(ROWS, max_size=6)), dtype=EVENT),
        plans=draw(hnp.arrays(np.int64, runs, elements=COUNTS)),
    )
    return Outcome(CELL, result, draw(st.floats(0, 1e9)))


@given(outcomes())
def test_any_outcome_comes_back_bit_for_bit(given_outcome):
    assert identical(decode(CELL, encode(given_outcome)), given_outcome)


def test_a_cell_comes_back_from_disk(tmp_path, outcome):
    store = Store(tmp_path / "new" / "folder")
    assert CELL not in store and store.load(CELL) is None
    path = store.save(outcome)
    assert identical(store.load(CELL), outcome) and CELL in store
    assert path.name == f"nu1-0.3-pe-cs-{CELL.key}.npz"
    assert store.records() == [(CELL, outcome.seconds)]
    assert list(store.folder.iterdir()) == [path]


def test_a_file_is_small_and_any_numpy_opens_it(tmp_path):
    cell = replace(CELL, horizon=200_000, runs=50, checkpoints=200)
    computed = compute(cell)
    path = Store(tmp_path).save(computed)
    assert path.stat().st_size < 0.05 * computed.result.pulls.nbytes
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["times"].tolist() == computed.result.times.tolist()
        assert (arrays["steps"].cumsum(axis=1) == computed.result.pulls).all()
        assert arrays["steps"].dtype.itemsize < 8


def test_the_result_of_another_cell_is_not_saved(tmp_path, outcome):
    with pytest.raises(InputError, match="etc-cs"):
        Store(tmp_path).save(outcome._replace(cell=replace(CELL, policy="etc-cs")))
    assert list(tmp_path.iterdir()) == []


# What is not what was saved counts as missing.


def test_a_file_that_was_cut_off_anywhere_counts_as_missing(tmp_path, outcome):
    content = encode(outcome)
    for length in range(len(content)):
        with pytest.raises(InputError, match="is empty" if length == 0 else "is damaged"):
            decode(CELL, content[:length])
    store = Store(tmp_path)
    for length in (0, 1, 64, len(content) // 2, len(content) - 1):
        store.path(CELL).write_bytes(content[:length])
        assert missing(store, "is empty" if length == 0 else "is damaged")
        assert store.records() == []
    store.save(outcome)
    assert identical(store.load(CELL), outcome)


def test_a_file_with_one_byte_changed_counts_as_missing(outcome):
    content = encode(outcome)
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << (place % 8)
        with pytest.raises(InputError, match="is damaged"):
            decode(CELL, bytes(changed))
    with pytest.raises(InputError, match="is damaged"):
        decode(CELL, content + b"\0")


def foreign_archive() -> bytes:
    written = io.BytesIO()
    np.savez(written, times=np.arange(3), harm=np.array([{}], dtype=object))
    return written.getvalue()


@pytest.mark.parametrize("content", [b"hello\n" * 50, foreign_archive()])
def test_a_foreign_file_counts_as_missing(tmp_path, content):
    store = Store(tmp_path)
    store.path(CELL).write_bytes(content)
    assert missing(store, "is damaged")


OTHER = {
    "instance": "nu2",
    "alpha": 0.31,
    "policy": "etc-cs",
    "horizon": 2_001,
    "runs": 4,
    "seed": 2,
    "checkpoints": 5,
}


def test_every_setting_is_tried():
    assert list(OTHER) == [field.name for field in fields(Cell)]


@pytest.mark.parametrize("setting", OTHER)
def test_another_setting_is_not_reused(tmp_path, outcome, setting):
    store = Store(tmp_path)
    saved = store.save(outcome)
    other = replace(CELL, **{setting: OTHER[setting]})
    assert store.load(other) is None
    # Not even under its name.
    saved.rename(store.path(other))
    assert missing(store, "holds another cell", other)


def test_results_of_other_code_are_not_reused(tmp_path, outcome, monkeypatch):
    store = Store(tmp_path)
    saved = store.save(outcome)
    monkeypatch.setattr(specs, "code_digest", lambda: "changed")
    assert store.load(CELL) is None
    saved.rename(store.path(CELL))
    assert missing(store, "holds another cell")
    # How long a policy takes is still worth knowing.
    assert store.records() == [(CELL, outcome.seconds)]


def test_another_format_counts_as_missing(tmp_path, outcome, monkeypatch):
    store = Store(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("frugalbandits.lab.sweeps.store._FORMAT", 2)
        store.save(outcome)
    assert missing(store, "has format 2")


def test_without_a_listener_a_damaged_file_is_a_warning(tmp_path):
    store = Store(tmp_path)
    store.path(CELL).write_bytes(b"x")
    with pytest.warns(
        UserWarning, match="is damaged, or no file of runs: nu1, alpha 0.3, pe-cs is computed again"
    ):
        assert store.load(CELL) is None


# A save that ends early leaves things as they were.


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_save_leaves_nothing(tmp_path, outcome, monkeypatch, error):
    def fail(descriptor: int) -> None:
        raise error

    store = Store(tmp_path)
    with monkeypatch.context() as patch, pytest.raises(error if isinstance(error, type) else OSError):
        patch.setattr(os, "fsync", fail)
        store.save(outcome)
    assert list(tmp_path.iterdir()) == []
    path = store.save(outcome)
    with monkeypatch.context() as patch, pytest.raises(error if isinstance(error, type) else OSError):
        patch.setattr(os, "fsync", fail)
        store.save(outcome._replace(seconds=9.0))
    assert list(tmp_path.iterdir()) == [path]
    assert identical(store.load(CELL), outcome)


def test_bytes_reach_the_disk_before_the_name_does(tmp_path, outcome, monkeypatch):
    done: list[tuple[str, int]] = []
    rename, sync = Path.replace, os.fsync

    def renamed(self: Path, target: Path) -> Path:
        done.append(("rename", self.stat().st_size))
        return rename(self, target)

    def synced(descriptor: int) -> None:
        done.append(("sync", os.fstat(descriptor).st_size))
        sync(descriptor)

    monkeypatch.setattr(Path, "replace", renamed)
    monkeypatch.setattr(os, "fsync", synced)
    size = Store(tmp_path).save(outcome).stat().st_size
    assert done[:2] == [("sync", size), ("rename", size)]


def test_what_killed_processes_left_is_swept_up_after_a_day(tmp_path):
    store = Store(tmp_path)
    for name, hours in ((".frugal-old.npz", 25), (".frugal-new.npz", 1), ("other", 25)):
        (tmp_path / name).write_bytes(b"half")
        then = time.time() - hours * 3600
        os.utime(tmp_path / name, (then, then))
    store.tidy()
    assert {path.name for path in tmp_path.iterdir()} == {".frugal-new.npz", "other"}


def test_a_folder_that_cannot_be_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot make the folder '.*file': a file has that name"):
        Store(tmp_path / "file")
    with pytest.raises(InputError, match=r"cannot make the folder '.*deeper'"):
        Store(tmp_path / "file" / "deeper")
