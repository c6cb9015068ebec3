"""Quality bars on the command line."""

from __future__ import annotations

import re

import polars as pl
import pytest

from cli_harness import good, refused, rows

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")

FEW = ("--horizon", "3000", "--runs", "3", "--checkpoints", "5")


def test_simulate_takes_bars():
    told = good(
        *("simulate", "nu1", "--quality", "at-least:0.9", "--quality", "relative-to:a7:0.1", *FEW),
        *("--policy", "cof", "--policy", "glr-cof", "--out", "out.csv", "--plot", "out.png"),
    )
    assert "nu1, level = 0.9, T = 3,000, 3 runs: a* is a3" in told
    assert "nu1, alpha = 0.1 of a7, T = 3,000, 3 runs: a* is a3" in told
    table = pl.read_csv("out.csv")
    assert table["quality"].unique(maintain_order=True).to_list() == ["at-least:0.9", "relative-to:a7:0.1"]
    assert table["alpha"].unique(maintain_order=True).to_list() == [None, 0.1]


def test_simulate_leaves_out_policies_that_do_not_know_the_bar():
    told = good("simulate", "nu1", "--quality", "at-least:0.9", *FEW)
    assert rows(told, "cof") and rows(told, "glr-cof")
    assert not rows(told, "pe-cs")
    assert not rows(good("simulate", "nu1", "--quality", "at-least:0.9", "--policy", "all", *FEW), "glr-cof")
    # The bar of the paper in its long form is no other bar.
    assert rows(good("simulate", "nu1", "--quality", "relative-to-best:0.1", *FEW), "pe-cs")


def test_a_level_that_no_arm_reaches_is_said():
    told = good("simulate", "nu1", "--quality", "at-least:1", "--policy", "glr-cof", *FEW)
    assert "no arm reaches it; a* is a5" in " ".join(told.split())
    assert "no arm reaches the level; best mean = 0.99" in good("instances", "nu1", "--quality", "at-least:1")


def test_instances_and_bounds_take_a_bar():
    told = good("instances", "nu1", "--quality", "relative-to:a7:0.1", "--plot", "out.svg")
    assert "nu1: 7 arms, alpha = 0.1 of a7" in told
    assert "(1 - alpha) mean of a7 = 0.873" in told
    assert rows(told, "a7")[0].endswith("ref expensive")
    assert "level = 0.6" in good("instances", "--quality", "at-least:0.6")
    told = good(
        *("bounds", "nu1", "--quality", "at-least:0.9", "--horizon", "1e4", "--plot", "out.png"),
        *("--simulate", "--policy", "glr-cof", "--runs", "3"),
    )
    assert "The level is known: there is no joint bound." in told
    assert "COF's upper bound is proved for a bar relative to the best arm only." in told
    assert "COF at most" not in told and "Prior" not in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("simulate", "nu1", "--quality", "high"), "at-least:LEVEL, but it is 'high'"),
        (("simulate", "nu1", "--quality", "at-least:2"), "level .* but it is 2.0"),
        (("simulate", "nu1", "--quality", "relative-to:a9:0.1"), "no option is called 'a9'"),
        (("simulate", "nu1", "--quality", "at-least:0.9", "--policy", "ts-cs"), "ts-cs knows .* glr-cof"),
        (("simulate", "nu1", "--quality", "at-least:0.9", "--alpha", "0.1"), "--alpha 0.1 and --quality"),
        (("instances", "nu1", "--quality", "at-least:0.9", "--alpha", "0.1"), "--alpha 0.1 and --quality"),
        (("bounds", "nu1", "--quality", "at-least:0.9", "--simulate", "--policy", "pe-cs"), "pe-cs knows"),
    ],
)
def test_bad_bars_are_refused(arguments, words):
    assert re.search(words, refused(*arguments))
