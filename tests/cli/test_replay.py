"""`frugal replay`: files that it writes, and what it refuses in one line."""

from __future__ import annotations

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
        (("--alpha", "0.1", "--reward", "score"), "no column is called 'score'"),
        (("--alpha", "0.1", "--estimator", "full", "--out", "new"), "one option a request"),
        (("--alpha", "0.1", "--resamples", "5"), "39 or more"),
        (("--quality", "relative-to:huge:0.1", "--policy", "cof"), "etc-cs knows a quality bar"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(arguments: tuple[str, ...], words: str) -> None:
    assert words in refused("replay", *SMALL, *arguments)
