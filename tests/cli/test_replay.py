"""`frugal replay`: files that it writes, and what it refuses in one line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from cli_harness import few_files, good, refused

SMALL = ("requests.csv", "--policy", "etc-cs", "--resamples", "39")


@pytest.fixture(autouse=True)
def files(in_an_empty_folder: Path) -> None:
    few_files()


def test_the_table_and_the_figure_are_written() -> None:
    told = good("replay", *SMALL, "--alpha", "0.1", "--out", "found")
    assert "estimator: resample" in told and "no drift was found" in told
    assert [path.name for path in sorted(Path("found").iterdir())] == [
        "replay.csv",
        "replay.png",
        "replay.svg",
    ]
    table = pl.read_csv("found/replay.csv")
    names = ["etc-cs", "what happened", "oracle", "always small", "always large"]
    assert table["name"].to_list() == names
    assert (table["spend_low"] <= table["spend"]).all() and (table["spend"] <= table["spend_high"]).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "say what is good enough"),
        (("--alpha", "0.1", "--reward-column", "score"), "no column is called 'score'"),
        (("--alpha", "0.1", "--strict"), "not identified: assumes that options got like requests"),
        (("--alpha", "0.1", "--format", "csv"), "no format is called 'csv'"),
        (("--alpha", "0.1", "--estimator", "full", "--out", "new"), "one option a request"),
        (("--alpha", "0.1", "--resamples", "5"), "39 or more"),
        (("--quality", "relative-to:huge:0.1", "--policy", "cof"), "etc-cs knows a quality bar"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(arguments: tuple[str, ...], words: str) -> None:
    assert words in refused("replay", *SMALL, *arguments)


def test_columns_have_one_meaning_in_replay_and_advise() -> None:
    rows = "".join(
        f"small;{'up' if i % 5 else 'down'};$0,20\nlarge;up;$3,00\nlarge;;$3,00\n" for i in range(60)
    )
    Path("log.csv").write_text(f"model;thumb;usd\n{rows}")
    columns = ("--option-column", "model", "--reward-column", "thumb", "--cost-column", "usd")
    told = good("replay", "log.csv", *SMALL[1:], "--alpha", "0.1", *columns)
    assert "180 rows, 120 of them judged" in told
    assert "not identified: assumes that options got like requests" in told
    found = json.loads(good("replay", "log.csv", *SMALL[1:], "--alpha", "0.1", *columns, "--json"))
    assert found["identified"] is False and found["identification"].startswith("not identified")
    assert (found["requests"], found["judged"]) == (180, 120)
    assert all(0 <= option["quality_bounds"][0] <= 1 for option in found["options"])
    quick = ("--volume", "100", "--days", "4", "--policy", "etc-cs", "--runs", "12")
    advice = good("advise", "--log", "log.csv", "--alpha", "0.2", *columns, *quick)
    assert "log, 60 rows" in advice and "0.2" in advice
    assert "--cost-column usd names a column of a log: give --log" in refused(
        "advise", "--cost", "a=1", "--cost", "b=2", "--alpha", "0.1", "--cost-column", "usd"
    )
    assert "No such option: --cost" in refused("replay", "log.csv", "--alpha", "0.1", "--cost", "usd")
