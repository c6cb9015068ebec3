"""`frugal simulate --world` and `frugal leaderboard worlds`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
import pytest

import frugalbandits as fb
from cli_harness import good, refused
from frugalbandits.lab.worlds import PRESETS

SMALL = ("--horizon", "2000", "--runs", "2", "--policy", "ts-cs", "--policy", "ucb-cs")


def test_a_table_of_a_world() -> None:
    said = good("simulate", "nu1", "--world", "all", *SMALL)
    assert "world all: 10% judged, feedback 100 decisions late" in said
    for head in ("scaled regret", "summed regret", "judged", "spend", "saving", "alarms"):
        assert head in said
    assert "cannot learn costs: goes by what it was told: ts-cs, ucb-cs" in said


def test_json_files_and_figure(in_an_empty_folder: Path) -> None:
    arguments = ["simulate", "nu1", "--world", "drift", *SMALL, "--json"]
    told = json.loads(good(*arguments, "--out", "t.csv", "--plot", "f.png"))
    result = fb.simulate(fb.named_world("drift", "nu1"), "ts-cs", 2_000, runs=2)
    first = told["results"][0]
    assert (first["world"], first["policy"], first["judged_share"]) == ("drift", "ts-cs", 1.0)
    assert first["scaled_regret"]["mean"] == result.summary().mean
    assert first["saving"] == result.saving and first["spend"] == result.spend[:, -1].mean()
    assert [each["what"] for each in first["happened"]] == ["changes"] * 3
    assert told["written"] == ["t.csv", "f.png"]
    table = pl.read_csv("t.csv")
    assert table.columns[:4] == ["instance", "quality", "world", "policy"] and table.height == 2 * 2 * 500
    assert Path("f.png").stat().st_size > 10_000


def test_other_bars_take_the_policies_that_know_them() -> None:
    arguments = ["--quality", "at-least:0.5", "--world", "late", "--horizon", "200", "--runs", "1", "--json"]
    told = json.loads(good("simulate", "nu1", *arguments))
    assert {each["policy"] for each in told["results"]} == {"voi-cs", "glr-cof", "glr-cof:sampling=first"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--world", "drft"], "no world is called 'drft'; did you mean 'drift'"),
        (["--world", "late", "--world", "all", "--plot", "f.png"], "--plot draws one world of one instance"),
        (["--world", "late", "--horizon", "3"], "horizon"),
        (["--world", "late", "--policy", "coff"], "no policy is called 'coff'"),
    ],
)
def test_refusals(arguments: list[str], words: str, in_an_empty_folder: Path) -> None:
    assert words in refused("simulate", "nu1", *arguments)
    assert not list(in_an_empty_folder.iterdir())


def test_every_world_is_in_the_help_and_the_docs() -> None:
    said = " ".join(good("simulate", "--help").split())
    page = Path(__file__).parents[2].joinpath("docs", "simulation.md").read_text(encoding="utf-8")
    for name in PRESETS:
        assert name in said
        assert f"`{name}`" in page


def test_the_leaderboard_of_worlds_goes_on_where_it_was(in_an_empty_folder: Path) -> None:
    arguments = ["leaderboard", "worlds", "--quick", "--runs", "1", "--policy", "ts-cs", "--policy", "ucb-cs"]
    told = json.loads(good(*arguments, "--json"))
    assert {row["world"] for row in told["rows"]} == set(PRESETS)
    folder = Path("out", "leaderboard-quick")
    kept = sorted((folder / "worlds").iterdir())
    assert len(kept) == 2 * 2 * len(PRESETS)
    rows = list(csv.DictReader((folder / "worlds.csv").read_text().splitlines()))
    assert len(rows) == len(kept) and {row["policy"] for row in rows} == {"ts-cs", "ucb-cs"}
    for row in told["rows"]:
        best = min(max(entry["regret"], 1.0) for entry in row["entries"])
        for entry in row["entries"]:
            assert entry["over_best"] == pytest.approx(max(entry["regret"], 1.0) / best)
    stamps = {path: path.stat().st_mtime_ns for path in kept}
    kept[0].write_text("{")
    said = good(*arguments)
    assert "Standings over" in said and "drift-slow" in said
    assert {path for path in kept if path.stat().st_mtime_ns != stamps[path]} == {kept[0]}
    page = (folder / "worlds.md").read_text(encoding="utf-8")
    again = "frugal leaderboard worlds --quick --policy ts-cs --policy ucb-cs --seed 0 --runs 1"
    assert again in page
    assert "without paper" in refused("leaderboard", "worlds", "paper")
