"""Logs as they are in production: unjudged rows, money, commas, thumbs, encodings, nested fields."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import frugalbandits as fb
from frugalbandits.lab.logs import Scan, read_log
from frugalbandits.lab.logs.values import amounts, ratings
from frugalbandits.lab.replay.reading import Columns, read_past

HEAD = "option,reward,cost"


def written(folder: Path, text: str, name: str = "log.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def pairs(path: Path, **columns: str) -> list[list[float]]:
    return read_past(Scan(path), Columns(**columns))[0].pairs.tolist()


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["$0.01", "US$ 2", "3 USD", "-€1.5"], [0.01, 2, 3, -1.5]),
        (["0,01", "1,234", "12"], [0.01, 1.234, 12]),
        (["1.234,50", "0,5"], [1234.5, 0.5]),
        (["1,234", "0.5", "1,234,567.25"], [1234, 0.5, 1234567.25]),
        (["85%", "7,5 %"], [0.85, 0.075]),
        (["1 234,5 €", "2e-3", " 4 "], [1234.5, 0.002, 4]),
        (["1,5", "2.5"], None),
        (["1,234", "2"], None),
    ],
)
def test_amounts(texts: list[str], numbers: list[float] | None) -> None:
    found, trouble = amounts(pl.Series(texts))
    if numbers is None:
        assert found.null_count() and trouble
    else:
        assert found.to_list() == pytest.approx(numbers)


def test_words_for_good_and_bad() -> None:
    good = [
        "up",
        "YES",
        "true",
        "good",
        "like",
        "👍",
        "👍🏾",
        "thumbs_up",
        ":thumbs-up:",
        "Passed",
        "1",
        "+1",
    ]
    bad = ["down", "No", "False", "bad", "dislike", "👎", "thumbs down", "0", "FAILED", "n"]
    assert ratings(pl.Series(good))[0].to_list() == [1.0] * len(good)
    assert ratings(pl.Series(bad))[0].to_list() == [0.0] * len(bad)
    assert ratings(pl.Series(["meh", "", None]))[0].to_list() == [None] * 3


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("option; reward ; cost\nsmall;True;0,1\nlarge;False;3,5\n", "utf-8"),
        ("option\treward\tcost\nsmall\tyes\t$0.1\nlarge\tno\t$3.5\n", "utf-8"),
        ("\ufeffoption|reward|cost\nsmall|👍|0.1\nlarge|👎|3.5\n", "utf-8"),
        ("option,reward,cost\nsmall,up,0.1\nlarge,down,3.5\n", "utf-16"),
        ('"option","reward","cost"\n"small","1","0.1 €"\n"large","0","3.5 €"\n', "cp1252"),
    ],
)
def test_separators_spaces_and_encodings(tmp_path: Path, text: str, encoding: str) -> None:
    assert pairs(written(tmp_path, text, encoding=encoding)) == [[1.0, 0.1], [0.0, 3.5]]


def test_latin_1_names(tmp_path: Path) -> None:
    path = written(tmp_path, f"{HEAD}\nmodèle,1,0.1\ngroß,0,1\n", encoding="latin-1")
    assert read_past(Scan(path), Columns())[0].names == ("modèle", "groß")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEAD}\na,1,1\nb,0,2,9\na,1,1\n", "row 2: there are 4 fields, but the header has 3"),
        (f"{HEAD}\na,1,1\nb,0\n", "row 2: cost is None"),
        (
            f"{HEAD}\na,1,1\nb,meh,1\n",
            "row 2: reward is 'meh', which is neither a number nor a word",
        ),
        (f'{HEAD}\na,1,"1,234"\nb,0,2\n', "row 1: cost is '1,234', which may have a decimal comma or a sep"),
        (f'{HEAD}\na,1,"1,5"\nb,0,2.5\n', "row 1: cost is '1,5', which cannot be read"),
        (f"{HEAD}\na,1,-$3\nb,0,2.5\n", "row 1: cost is '-$3', which is below 0"),
        (f"{HEAD}, cost\na,1,1,1\n", "two columns are called 'cost'"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_row(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(fb.InputError) as error:
        pairs(written(tmp_path, text))
    assert words in str(error.value)


def test_lines_of_several_shapes_and_a_bad_one(tmp_path: Path) -> None:
    lines = [
        {"option": "a", "reward": {"score": 1}, "cost": 1},
        {"option": "b", "reward": 0, "cost": "2", "more": [1]},
        {"option": "b", "reward": {"score": 0}, "cost": 2},
        {"option": "a", "reward": None, "cost": 1},
    ]
    path = written(tmp_path, "\n".join(map(json.dumps, lines)), "log.jsonl")
    assert pairs(path, reward="reward.score") == [[1, 1], [0, 2]]
    broken = written(tmp_path, '{"option": "a"}\n{"option": \n', "bad.jsonl")
    with pytest.raises(fb.InputError, match=r"row 2: this is no JSON"):
        pairs(broken)


@pytest.mark.parametrize("name", ["log.ndjson", "log.json", "log.csv", "log.parquet"])
def test_nested_fields_by_dotted_names(tmp_path: Path, name: str) -> None:
    rows = [
        {"model": "a", "meta": {"user": {"thumb": "up"}}, "usage": {"usd": 0.5}},
        {"model": "b", "meta": {"user": {"thumb": "down"}}, "usage": {"usd": 2.0}},
    ]
    path = tmp_path / name
    if name == "log.csv":
        texts = [{key: json.dumps(row[key]) if key != "model" else row[key] for key in row} for row in rows]
        pl.DataFrame(texts).write_csv(path)
    elif name == "log.parquet":
        pl.DataFrame(rows).write_parquet(path)
    else:
        path.write_text(json.dumps(rows) if name == "log.json" else "\n".join(map(json.dumps, rows)))
    columns = {"option": "model", "reward": "meta.user.thumb", "cost": "usage.usd"}
    assert pairs(path, **columns) == [[1, 0.5], [0, 2]]
    # A text of JSON may lack a field in any row.
    words = "no row has a reward in" if name == "log.csv" else "no column is called"
    with pytest.raises(fb.InputError, match=words):
        pairs(path, **columns | {"reward": "meta.user.thumbs"})


def production_log(rows: int = 5_000, share: float = 0.1) -> dict[str, object]:
    """Return a log of which a tenth was judged, the expensive half of the requests twice as often."""
    rng = np.random.default_rng(8)
    used = rng.integers(0, 2, rows)
    long = rng.random(rows) < 0.5
    good = rng.random(rows) < np.array([0.7, 0.9])[used]
    judged = rng.random(rows) < share * np.where(long, 4 / 3, 2 / 3)
    cost = np.array([0.1, 1.0])[used] * np.where(long, 2, 1)
    reward = [("up" if good[i] else "down") if judged[i] else "" for i in range(rows)]
    return {"option": np.array(["small", "large"])[used], "reward": reward, "cost": cost}


def test_a_row_without_a_reward_is_an_unjudged_row() -> None:
    log = production_log()
    found = fb.replay(log, 0.1, ["etc-cs"], resamples=39)
    judged = sum(1 for each in log["reward"] if each)
    assert found.requests == 5_000 and found.judged == found.horizon == judged < 600
    cost, option = np.asarray(log["cost"]), np.asarray(log["option"])
    # Costs are those of all rows, and not of the judged ones, which are longer.
    for name in ("small", "large"):
        assert found[f"always {name}"].spend.value == pytest.approx(cost[option == name].mean())
    assert found["what happened"].spend.value == pytest.approx(cost.mean())
    assert found["what happened"].quality.value == pytest.approx(0.8, abs=0.06)
    assert any(f"judged: {judged:,} of 5,000 rows" in words for words in found.warnings)


def test_an_option_that_was_never_judged_is_named() -> None:
    log = {"option": ["a", "b", "c"] * 40, "reward": [1, 0.5, None] * 40, "cost": [1.0, 2.0, 3.0] * 40}
    found = fb.replay(log, 0.1, ["etc-cs"], resamples=39)
    assert set(found.rows) == {"a", "b"}
    assert any("no row was judged, so nothing is known of c (40 rows)" in words for words in found.warnings)


def test_a_full_table_leaves_out_what_was_not_judged() -> None:
    rng = np.random.default_rng(1)
    table = {"reward:a": [None, *rng.random(99)], "reward:b": [*rng.random(98), None, 0.5]}
    table |= {"cost:a": [1.0] * 100, "cost:b": [2.0] * 100}
    found = fb.replay(table, 0.1, ["etc-cs"], resamples=39)
    assert found.judged == 98
    assert any("left out: 2 requests without the reward of every option" in words for words in found.warnings)


def test_advice_reads_unjudged_rows_and_columns_by_name(tmp_path: Path) -> None:
    text = "model;thumb;usd\n" + "small;up;$0,20\nsmall;;$0,40\nlarge;yes;$3,00\nnew;;$1,00\n" * 30
    path = written(tmp_path, text)
    rewards, costs = read_log(path, "model", "thumb", "usd")
    assert {name: len(each) for name, each in rewards.items()} == {"small": 30, "large": 30, "new": 0}
    assert costs == pytest.approx([0.3, 3.0, 1.0])
    with pytest.raises(fb.InputError, match="no row of 'new' has a reward in the column 'thumb'"):
        fb.Empirical.from_log(path, "model", "thumb", "usd")
