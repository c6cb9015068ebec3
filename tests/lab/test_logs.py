"""Logs of decisions: what is read, and what is refused with its row."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import frugalbandits as fb

ROWS = {
    "model": ["small", "large", "small", "small"],
    "good": [1.0, 0.5, 0.0, 1.0],
    "usd": [0.1, 3.0, 0.2, 0.3],
}
WRITE = {
    "log.csv": pl.DataFrame.write_csv,
    "log.parquet": pl.DataFrame.write_parquet,
    "log.ndjson": pl.DataFrame.write_ndjson,
    "log.JSONL": pl.DataFrame.write_ndjson,
}


def log(folder: Path, name: str = "log.csv", **columns: list[object]) -> Path:
    path = folder / name
    WRITE[name](pl.DataFrame(ROWS | columns, strict=False), path)
    return path


def read(path: Path, **columns: str) -> fb.Empirical:
    return fb.Empirical.from_log(path, **({"option": "model", "reward": "good", "cost": "usd"} | columns))


@pytest.mark.parametrize("name", WRITE)
def test_every_kind_of_file_gives_the_same(tmp_path: Path, name: str) -> None:
    logged = read(log(tmp_path, name))
    assert logged.names == ("small", "large")
    assert [table.tolist() for table in logged.observed] == [[1.0, 0.0, 1.0], [0.5]]
    assert logged.costs == pytest.approx((0.2, 3.0))
    problem = logged.problem(alpha=0.1)
    assert problem.costs.tolist() == pytest.approx([0.2, 3.0]) and problem.names == ("small", "large")
    assert logged.problem([5, 6], alpha=0.1).costs.tolist() == [5, 6]
    assert fb.simulate(problem, "etc-cs", 500, runs=2, rewards=logged).runs == 2


def test_names_may_be_numbers_and_rewards_true_or_false(tmp_path: Path) -> None:
    path = log(tmp_path, "log.parquet", model=[4, 3, 4, 4], good=[True, False, True, True])
    logged = fb.Empirical.from_log(path, "model", "good")
    assert logged.names == ("4", "3") and logged.costs is None
    assert logged.observed[0].tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(fb.InputError, match="give costs"):
        logged.problem(alpha=0.1)


@pytest.mark.parametrize("name", WRITE)
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"good": [1, 0, 1.5, 2]}, "row 3 (and 1 more): good is"),
        ({"good": [1, -1, 1, 1]}, "row 2: good is"),
        ({"good": ["1", "0", "x", "1"]}, "row 3: good is 'x', which is neither a number nor a word"),
        ({"usd": [1, 1, 1, None]}, "row 4: usd is"),
        ({"model": ["a", " ", "b", "b"]}, "row 2: model is ' ', which is no name"),
        ({"model": ["a", "b", None, "b"]}, "row 3: model is"),
    ],
)
def test_a_bad_value_is_named_with_its_row(tmp_path: Path, name: str, columns: dict, words: str) -> None:
    path = log(tmp_path, name, **columns)
    with pytest.raises(fb.InputError) as caught:
        read(path)
    assert str(caught.value).startswith(repr(str(path))) and words in str(caught.value)


def test_a_column_that_is_not_there_is_named_with_its_neighbours(tmp_path: Path) -> None:
    with pytest.raises(fb.InputError, match="no column is called 'Models'; did you mean 'model'"):
        read(log(tmp_path), option="Models")
    with pytest.raises(fb.InputError, match="no column is called 'reward'"):
        fb.Empirical.from_log(log(tmp_path), option="model")


def test_files_that_are_no_logs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(fb.InputError, match=r"must end in \.csv, .* or \.json, but it is"):
        fb.Empirical.from_log(tmp_path / "log.xlsx")
    with pytest.raises(fb.InputError, match=r"cannot read '.*none\.csv': there is no such file"):
        fb.Empirical.from_log(tmp_path / "none.csv")
    for name in ("bad.csv", "bad.parquet", "bad.ndjson"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(fb.InputError, match=f"{name}"):
            fb.Empirical.from_log(tmp_path / name)
        (tmp_path / name).write_bytes(b"\x00\xff{{{\n\x01")
        with pytest.raises(fb.InputError, match=f"{name}"):
            fb.Empirical.from_log(tmp_path / name)
    (tmp_path / "ragged.csv").write_text("option,reward\na,1\nb,0,7\n")
    with pytest.raises(fb.InputError, match=r"ragged\.csv"):
        fb.Empirical.from_log(tmp_path / "ragged.csv")
    (tmp_path / "head.csv").write_text("option,reward\n")
    with pytest.raises(fb.InputError, match="there are no rows"):
        fb.Empirical.from_log(tmp_path / "head.csv")
