"""`frugal leaderboard contextual`: what it compares, keeps, prints and writes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import frugalbandits as fb
from cli_harness import good, refused
from frugalbandits.core.contextual.registry import resolve_contextual
from frugalbandits.lab.contextual import BASELINES, routing_instance
from frugalbandits.lab.leaderboard import contextual
from frugalbandits.lab.leaderboard.contextual import Entry, Row, standings
from frugalbandits.lab.sweeps.cells import Settings

ONLY = "--problem is for contextual, contextual-late and contextual-wanted alone"
SMALL = ("contextual", "--quick", "--runs", "1", "--policy", "linucb-right", "--policy", "linucb-low")


def entry(policy, **given):
    told = {
        "over_single": 0.5,
        "over_oracle": 1.0,
        "over_bar": 1.0,
        "worst_run": 0.99,
        "regret": 0.1,
        "judged": 1.0,
        "seconds": 1.0,
    }
    return Entry(policy, **{**told, **given})


def row(*entries):
    return Row("x", "at-least:0.5", 100, 3, 0, 0, 1.0, 0.5, "a1", 0.9, 0.8, 0.7, entries)


def test_standings():
    rows = [
        row(entry("one", over_single=0.2, regret=0.3), entry("two", regret=0.1, over_bar=0.99)),
        row(entry("one", over_single=0.8, worst_run=0.97), entry("two", regret=0.1, won=True)),
    ]
    first, second = standings(rows)
    assert (first.policy, first.regret, first.held, first.won) == ("two", pytest.approx(0.1), 1, 1)
    assert (second.policy, second.over_single) == ("one", pytest.approx(0.4))
    assert (second.held, second.worst_run, first.lowest) == (1, 0.97, 0.99)


def test_every_baseline_is_compared_and_linucb_with_what_an_oracle_knows():
    names = contextual.default_policies()
    assert set(names) >= set(BASELINES) - {"linucb"} and "linucb" not in names
    problem = routing_instance("synthetic-1")
    price = problem.oracle().best.price
    weights = {name: contextual._policy(name, problem).weight * price for name in contextual._TOLD}
    assert weights == pytest.approx({"linucb-right": 1.0, "linucb-low": 1 / 3, "linucb-high": 3.0})
    assert contextual._policy("squarecb", problem) is resolve_contextual("squarecb")


def test_the_problems_follow_the_seed():
    assert contextual._problems(Settings(seed=7)) == [
        "digits-routing",
        "synthetic-7",
        "synthetic-8",
        "misspecified-7",
        "misspecified-8",
    ]
    made = contextual._bars("synthetic-7", Settings())
    assert [problem.quality.kind for problem in made] == ["relative-to-best"] * 4 + [
        "relative-to",
        "at-least",
    ]
    # The three at 0.05 are the same bar, said in three ways.
    assert made[4].bar == pytest.approx(made[1].bar) and made[5].bar == pytest.approx(made[1].bar, abs=1e-4)


def test_the_command_goes_on_where_it_was(in_an_empty_folder):
    lines = good("leaderboard", *SMALL).splitlines()
    folder = Path("out", "leaderboard-quick")
    assert lines[0] == "Standings over 6 rows, the least regret first"
    assert lines[-2:] == [f"written: {folder / name}" for name in ("contextual.md", "contextual.csv")]
    kept = {path: path.stat().st_mtime_ns for path in (folder / "contextual").iterdir()}
    rows = list(csv.DictReader((folder / "contextual.csv").read_text().splitlines()))
    assert len(kept) == 12 == len(rows) and {each["delay"] for each in rows} == {"0"}
    page = (folder / "contextual.md").read_text(encoding="utf-8")
    again = (
        "frugal leaderboard contextual --quick --policy linucb-right --policy linucb-low --seed 0 --runs 1"
    )
    assert again in page and "LinUCB (a third of it)" in page

    assert good("leaderboard", *SMALL, "--workers", "1").splitlines() == lines
    assert {path: path.stat().st_mtime_ns for path in (folder / "contextual").iterdir()} == kept
    # A cell that is broken is computed again, to the same numbers.
    broken = next(iter(kept))
    before = json.loads(broken.read_text())
    broken.write_text("{")
    good("leaderboard", *SMALL)
    after = json.loads(broken.read_text())
    assert {**before, "seconds": 0} == {**after, "seconds": 0}

    late = json.loads(good("leaderboard", "contextual-late", *SMALL[1:], "--json"))
    assert late["family"] == "contextual-late" and {each["delay"] for each in late["rows"]} == {1_000}
    assert len(list((folder / "contextual").iterdir())) == 24
    assert late["standings"][0]["regret"] <= late["standings"][1]["regret"]
    # A tenth of the decisions, of which half came in time.
    assert all(0.03 < each["judged"] < 0.07 for each in late["standings"])


def test_what_a_policy_wants_is_judged(in_an_empty_folder):
    few = ("contextual-wanted", "--quick", "--runs", "1", "--policy", "dual-cof", "--policy", "mix-cs")
    found = json.loads(good("leaderboard", *few, "--problem", "synthetic-3", "--json"))
    assert {(each["delay"], each["feedback"]) for each in found["rows"]} == {(1_000, "wanted")}
    assert all(0.0 < each["judged"] <= 0.5 for each in found["standings"])
    page = Path("out", "leaderboard-quick", "contextual-wanted.md").read_text(encoding="utf-8")
    assert "What a policy wants to know is judged, 1,000 decisions later." in page


def test_what_is_refused(in_an_empty_folder):
    assert "without paper" in refused("leaderboard", "contextual", "paper")
    assert "without worlds" in refused("leaderboard", "contextual", "worlds")
    assert "no contextual policy is called 'cof'" in refused("leaderboard", "contextual", "--policy", "cof")
    assert "runs on this machine alone" in refused("leaderboard", "contextual", "--cluster", "tcp://x:1")
    assert not list(in_an_empty_folder.iterdir())


def test_problems_of_ones_own(in_an_empty_folder):
    fb.write_routing(routing_instance("synthetic-3"), "mine.npz")
    own = ("--problem", "mine.npz", "--problem", "misspecified-4")
    lines = good("leaderboard", *SMALL, *own).splitlines()
    assert lines[0] == "Standings over 6 rows, the least regret first"
    folder = Path("out", "leaderboard-quick")
    with (folder / "contextual.csv").open() as file:
        assert list(dict.fromkeys(line["problem"] for line in csv.DictReader(file))) == [
            "mine",
            "misspecified-4",
        ]
    page = (folder / "contextual.md").read_text()
    assert "--problem mine.npz --problem misspecified-4" in page and "scikit-learn" not in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("tables", "--problem", "synthetic-3"),
            ONLY,
        ),
        (
            ("worlds", "--problem", "synthetic-3"),
            ONLY,
        ),
        (("contextual", "--problem", "gone.npz"), "cannot read gone.npz"),
        (("contextual", "--problem", "synthtic-3"), "did you mean"),
    ],
)
def test_problems_that_are_none(in_an_empty_folder, arguments, words):
    assert words in refused("leaderboard", "--quick", *arguments)
