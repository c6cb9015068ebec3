"""Logs and full tables in every form, and what is refused with its row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import frugalbandits as fb
from frugalbandits.lab.logs import Scan
from frugalbandits.lab.replay.data import Log, Table
from frugalbandits.lab.replay.reading import Columns, read_past

LOG = {
    "option": ["small", "large", "small", "small"],
    "reward": [1.0, 0.5, 0.0, 1.0],
    "cost": [0.1, 3.0, 0.2, 0.3],
}
WIDE = {
    "reward:a": [1.0, 0.0, 1.0],
    "reward:b": [1.0, 1.0, 0.5],
    "cost:a": [1.0, 2.0, 3.0],
    "cost:b": [4.0, 5.0, 6.0],
}
LONG = {
    "request": ["x", "y", "x", "z", "z", "y"],
    "option": ["a", "a", "b", "b", "a", "b"],
    "reward": [1.0, 0.0, 1.0, 0.5, 1.0, 1.0],
    "cost": [1.0, 2.0, 4.0, 6.0, 3.0, 5.0],
}
WRITE = {
    "log.csv": pl.DataFrame.write_csv,
    "log.parquet": pl.DataFrame.write_parquet,
    "log.ndjson": pl.DataFrame.write_ndjson,
    "log.JSONL": pl.DataFrame.write_ndjson,
}


def written(folder: Path, name: str, columns: dict[str, list[object]]) -> Path:
    WRITE[name](pl.DataFrame(columns, strict=False), folder / name)
    return folder / name


def read(source: object, **columns: str) -> Log | Table:
    return read_past(Scan(source), Columns(**columns))[0]


@pytest.mark.parametrize("name", WRITE)
def test_every_kind_of_file_gives_the_same(tmp_path: Path, name: str) -> None:
    log = read(written(tmp_path, name, LOG))
    assert isinstance(log, Log)
    assert log.names == ("small", "large") and log.choice.tolist() == [0, 1, 0, 0]
    assert log.pairs.tolist() == [[1.0, 0.1], [0.5, 3.0], [0.0, 0.2], [1.0, 0.3]]
    for columns in (WIDE, LONG):
        table = read(written(tmp_path, name, columns))
        assert isinstance(table, Table) and table.names == ("a", "b")
        assert table.pairs[0].tolist() == [[1, 1], [0, 2], [1, 3]]
        assert table.pairs[1].tolist() == [[1, 4], [1, 5], [0.5, 6]]


def test_columns_may_have_other_names() -> None:
    other = {"model": LOG["option"], "score": LOG["reward"], "usd": LOG["cost"]}
    assert read(other, option="model", reward="score", cost="usd").pairs.tolist() == read(LOG).pairs.tolist()
    wide = {key.replace("reward", "score"): values for key, values in WIDE.items()}
    assert read(wide, reward="score").names == ("a", "b")


@pytest.mark.parametrize(
    "times",
    [
        [4, 3, 2, 1],
        ["10", "9", "8", "7.5"],
        ["2026-02-01", "2026-01-31T23:00:00", "2026-01-31T22:00:00Z", "2025-12-31"],
    ],
)
def test_rows_are_put_in_the_order_of_time(tmp_path: Path, times: list[object]) -> None:
    log = read(written(tmp_path, "log.csv", LOG | {"when": times}), time="when")
    assert log.pairs[:, 1].tolist() == [0.3, 0.2, 3.0, 0.1]
    table = read(WIDE | {"time": [3, 1, 2], "option": ["b", "a", "a"]})
    assert isinstance(table, Table) and table.choice is not None
    assert table.pairs[0, :, 1].tolist() == [2, 3, 1] and table.choice.tolist() == [0, 0, 1]


def test_what_is_no_full_table_is_a_log_and_that_is_said() -> None:
    part = {key: values[:-1] for key, values in LONG.items()}
    past, said = read_past(Scan(part), Columns())
    assert isinstance(past, Log) and "request 'y' has no row for 'b'" in said[0]
    twice = {key: [*values, values[0]] for key, values in LONG.items()}
    assert "request 'x' has 2 rows for 'a'" in read_past(Scan(twice), Columns())[1][0]


@pytest.mark.parametrize("name", ["log.csv", "log.ndjson"])
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (LOG | {"reward": [1, 0, 1.5, 2]}, "row 3 (and 1 more): reward is"),
        (LOG | {"reward": ["1", "splendid", "0", "0"]}, "row 2: reward is 'splendid', which is neither a"),
        (LOG | {"reward": [None] * 4}, "no row has a reward in the column 'reward'"),
        (LOG | {"reward": [1, None, 0, 1]}, "at least two options, but there is only 'small'"),
        (LOG | {"cost": [1, -2, 1, 1]}, "row 2: cost is"),
        (LOG | {"propensity": [0.5, 0.5, 0, 1.2]}, "row 3 (and 1 more): propensity is"),
        (LOG | {"option": ["a", None, "b", "b"]}, "row 2: option is None, which is no name"),
        (LOG | {"option": ["a"] * 4}, "a choice needs at least two options, but there is only 'a'"),
        (LOG | {"time": ["1", "soon", "3", "4"]}, "time is"),
        (LOG | {"context": ["a", "b", "c", "d"]}, "the column 'context' has 4 values in 4 rows"),
        ({"option": ["a"], "reward": [1]}, "no column is called 'cost'"),
        (WIDE | {"cost:c": [1, 1, 1]}, "there is 'cost:c', but no 'reward:c'"),
        ({key: WIDE[key] for key in list(WIDE)[:3]}, "no column is called 'cost:b'"),
        (WIDE | {"option": ["a", "c", "b"]}, "row 2: no option is called 'c'"),
        (WIDE | {"reward:b": [1, 1, 7]}, "row 3: reward:b is"),
    ],
)
def test_what_is_wrong_is_named_with_its_row(
    tmp_path: Path, name: str, columns: dict[str, list[object]], words: str
) -> None:
    path = written(tmp_path, name, columns)
    with pytest.raises(fb.InputError) as error:
        read(path)
    assert words in str(error.value) and "\n" not in str(error.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "heads.csv").write_text("option,reward,cost\n")
    (tmp_path / "bad.parquet").write_text("no parquet")
    for name, words in {
        "empty.csv": "the file is empty",
        "heads.csv": "there are no rows",
        "none.csv": "there is no such file",
        "log.txt": "must end in .csv, .tsv, .parquet, .ndjson, .jsonl or .json",
        "bad.parquet": "cannot read",
    }.items():
        with pytest.raises(fb.InputError, match=words):
            read(tmp_path / name)
    with pytest.raises(fb.InputError, match="but this is int"):
        read(3)
    with pytest.raises(fb.InputError, match="no column is called 'when'"):
        read(LOG, time="when")


def test_only_what_is_among_may_be_used() -> None:
    rng = np.random.default_rng(0)
    log = {"option": ["a", "b", "c"] * 40, "reward": rng.random(120), "cost": [1.0, 2.0, 3.0] * 40}
    found = fb.replay(log, 0.1, ["etc-cs"], among=["b", "c", "new"], resamples=39)
    assert [line.name for line in found.lines if line.kind == "always"] == ["always b", "always c"]
    assert found["what happened"].spend.value == 2.0
    assert any("nothing is known of new" in words for words in found.warnings)
    with pytest.raises(fb.InputError, match="at least two options that the log has"):
        fb.replay(log, 0.1, ["etc-cs"], among=["b", "new"])
