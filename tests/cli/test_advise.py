"""`frugal advise`: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import frugalbandits as fb
from cli_harness import good, refused

OPTIONS = ("--cost", "small=0.2", "--cost", "large=3", "--guess", "small=0.6..0.9", "--guess", "large=0.9")
SMALL = ("--volume", "100", "--days", "4", "--policy", "etc-cs", "--runs", "12")


@pytest.fixture(autouse=True)
def folder(in_an_empty_folder: Path) -> None:
    pass


def test_tables_and_a_verdict() -> None:
    said = good("advise", *OPTIONS, "--cost", "mid=1", "--alpha", "0.1", "--now", "large", *SMALL)
    assert said.startswith("3 options, alpha = 0.1, 100 decisions a day for 4 days, all judged; 12 runs\n")
    for words in ("good enough", "days to know", "judged a day", "other bars, once all is known"):
        assert words in said
    # Four hundred decisions are too few to learn and to hold the bar.
    assert "misses your bar: it saves" in said and "what would hold it: always large" in said
    assert (
        "fb.Session({'small': 0.2, 'large': 3.0, 'mid': 1.0}, alpha=0.1, policy='etc-cs', horizon=400)"
        in said
    )
    assert "nothing is known of mid: 0.3 to 0.95 is assumed" in said
    assert "from when on at least 95% of the decisions" in said


def test_it_is_what_python_says() -> None:
    told = json.loads(good("advise", *OPTIONS, "--quality", "relative-to-best:0.1", *SMALL, "--json"))
    guesses: dict[str, float | tuple[float, float]] = {"small": (0.6, 0.9), "large": 0.9}
    costs = {"small": 0.2, "large": 3.0}
    settings = {"guesses": guesses, "days": 4, "policies": ["etc-cs"], "runs": 12, "progress": False}
    found = fb.advise(costs, 100, 0.1, **settings)
    assert told["plans"][0]["spend"] == found.learned.spend._asdict()
    assert told["verdict"] == found.verdict._asdict()
    assert told["advised"] == {"policy": "etc-cs", "feedback": found.feedback, "session": found.session}
    assert (told["held_against"], told["now"], told["days"], told["volume"]) == ("large", None, 4, 100)
    assert [bar["quality"]["alpha"] for bar in told["bars"]] == [0.0, 0.02, 0.05, 0.1, 0.2, 0.3]


def test_files() -> None:
    told = json.loads(good("advise", *OPTIONS, "--alpha", "0.1", *SMALL, "--out", "new/folder", "--json"))
    assert told["written"] == [
        f"new/folder/{name}" for name in ("days.csv", "plans.csv", "advice.svg", "advice.png")
    ]
    assert pl.read_csv("new/folder/days.csv").height == 4
    assert pl.read_csv("new/folder/plans.csv")["plan"].to_list()[1] == "always large"
    assert Path("new/folder/advice.svg").read_text().startswith("<?xml")
    assert Path("new/folder/advice.png").stat().st_size > 10_000


def test_a_log_and_wanted_feedback() -> None:
    rows = "".join(f"small,{i % 5 > 0:d},0.2\nlarge,{i % 10 > 0:d},3\n" for i in range(60))
    Path("log.csv").write_text(f"option,reward,cost\n{rows}")
    said = good("advise", "--log", "log.csv", "--alpha", "0.2", "--feedback", "wanted", *SMALL)
    assert "what is wanted is judged" in said and "log, 60 rows" in said


def test_names_may_have_signs_of_their_own() -> None:
    names = ("--cost", "a=b=1", "--cost", "c=2", "--guess", "a=b=0.5")
    told = json.loads(good("advise", *names, "--alpha", "0.1", *SMALL, "--json"))
    assert [option["option"] for option in told["options"]] == ["a=b", "c"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*OPTIONS,), "say what is good enough: give --alpha or --quality"),
        ((*OPTIONS, "--alpha", "0.1", "--quality", "at-least:0.5"), "--alpha 0.1 and --quality at-least:0.5"),
        (("--alpha", "0.1"), "give costs, or a log that has them"),
        (("--cost", "small", "--alpha", "0.1"), "--cost must be OPTION=VALUE, but it is 'small'"),
        (("--cost", "a=1", "--cost", "a=2", "--alpha", "0.1"), "--cost names 'a' twice"),
        (("--cost", "a=x", "--alpha", "0.1"), "--cost of 'a' must be a number, but it is 'x'"),
        ((*OPTIONS, "--guess", "mid=0.5", "--alpha", "0.1"), "'mid'"),
        ((*OPTIONS[:4], "--guess", "small=0.6..x", "--alpha", "0.1"), "must be a number, but it is 'x'"),
        ((*OPTIONS[:4], "--guess", "small=0.9..0.6", "--alpha", "0.1"), "but it is (0.9, 0.6)"),
        ((*OPTIONS, "--alpha", "0.1", "--feedback", "lots"), "--feedback must be a number, but it is 'lots'"),
        ((*OPTIONS, "--alpha", "0.1", "--feedback", "2"), "feedback must be a share in (0, 1]"),
        ((*OPTIONS, "--alpha", "0.1", "--now", "mid"), "'mid'"),
        ((*OPTIONS, "--alpha", "0.1", "--volume", "0"), "volume must be a whole number from 1 to"),
        ((*OPTIONS, "--alpha", "0.1", "--policy", "voi"), "'voi'"),
        ((*OPTIONS, "--alpha", "0.1", "--log", "none.csv"), "none.csv"),
        ((*OPTIONS, "--quality", "at-least:0.5", "--policy", "etc-cs"), "etc-cs knows a quality bar"),
        ((*OPTIONS, "--quality", "relative-to:mid:0.1"), "'mid'"),
        ((*OPTIONS, "--now", "mid", "--alpha", "0.1", "--out", "folder"), "'mid'"),
    ],
)  # fmt: skip
def test_what_is_refused(arguments: tuple[str, ...], words: str) -> None:
    assert words in refused("advise", *arguments)


def test_an_output_that_cannot_be_written_is_refused_before_the_simulation() -> None:
    Path("taken").write_text("")
    assert "'taken': a file has that name" in refused("advise", *OPTIONS, "--alpha", "0.1", "--out", "taken")
