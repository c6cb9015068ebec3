"""From names of experiments to a folder of results, and what happens when that is cut short."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import frugalbandits as fb
from cli_harness import frugal, refused
from frugalbandits.lab.paper.experiments import cells_of, experiments
from frugalbandits.lab.paper.reproduce import chosen, reproduce
from frugalbandits.lab.sweeps.cells import Settings

TABLES = ("terminal.csv", "curves.csv", "events.csv")
FEW = Settings(quick=True, runs=3, horizon=3_000)


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """All experiments at a tiny scale."""
    folder = tmp_path_factory.mktemp("all")
    return folder, reproduce(["all"], folder, FEW)


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_experiment_has_its_figures_as_vector_and_as_pixels(everything):
    folder, made = everything
    pictured = {picture.name for picture in made.reproduction.pictures}
    assert pictured == set(experiments())
    for picture in made.reproduction.pictures:
        assert picture.png.read_bytes().startswith(b"\x89PNG")
        assert "<svg" in picture.vector.read_text()
    assert len(list((folder / "figures").iterdir())) == 2 * len(made.reproduction.pictures)
    assert sum(picture.name == "illustrations" for picture in made.reproduction.pictures) == 4


def test_a_quick_look_speaks_against_no_claim(everything):
    _, made = everything
    found = {claim.verdict for claim in made.reproduction.claims}
    assert "not at this scale" in found and not {"does not hold", "partly"} & found
    assert "not at this scale" in made.report.html.read_text()


def test_tables_hold_the_numbers_behind_the_figures(everything):
    folder, _ = everything
    terminal = rows(folder / "tables" / "terminal.csv")
    cells = cells_of(experiments(), FEW)
    assert len(terminal) == sum(cell.runs for cell in cells)
    wanted = next(cell for cell in cells if (cell.instance, cell.policy) == ("nu2", "cof-no-combine"))
    result = fb.simulate(
        wanted.problem, "cof-no-combine", 3_000, runs=3, seed=0, checkpoints=wanted.checkpoints
    )
    found = [row for row in terminal if (row["instance"], row["policy"]) == ("nu2", "cof-no-combine")]
    assert [float(row["summed"]) for row in found] == result.summed_regret[:, -1].tolist()
    names = (*result.problem.names, "")  # the last one for an arm that is -1
    for column in ("settled_arm", "final_arm"):
        assert [row[column] for row in found] == [names[arm] for arm in getattr(result, column)]
    assert [float(row["late_share"]) for row in found] == result.late_share.tolist()
    curves = rows(folder / "tables" / "curves.csv")
    curve = [row for row in curves if (row["instance"], row["policy"]) == ("nu2", "cof-no-combine")]
    assert [int(row["time"]) for row in curve] == result.times.tolist()
    assert np.array_equal([float(row["cost_mean"]) for row in curve], result.cost_regret.mean(axis=0))
    middle = np.percentile(result.quality_regret, 80, axis=0)
    assert np.array_equal([float(row["quality_p80"]) for row in curve], middle)
    assert {row["policy"] for row in rows(folder / "tables" / "cells.csv")} == {cell.policy for cell in cells}


def test_the_report_names_every_claim_and_figure(everything):
    folder, made = everything
    text = made.report.markdown.read_text().replace("\\", "")  # signs that mean something in Markdown
    for picture in made.reproduction.pictures:
        assert f"figures/{picture.stem}.png" in text
    assert all(claim.words in text for claim in made.reproduction.claims)
    assert "frugal reproduce all --quick --seed 0 --runs 3 --horizon 3000" in text
    assert str(folder) not in text + made.report.html.read_text()


def test_the_same_call_reuses_what_is_there_and_another_seed_does_not(everything):
    folder, made = everything
    before = {path.name: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()}
    again = reproduce(["cost-biased"], folder, FEW)
    assert {path.name: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()} == before
    assert [outcome.seconds for outcome in again.reproduction.outcomes] == [
        outcome.seconds for outcome in made.reproduction.outcomes if outcome.cell.instance == "cost-biased"
    ]
    other = Settings(quick=True, runs=3, horizon=3_000, seed=1)
    reproduce(["cost-biased"], folder, other)
    assert len(list((folder / "cells").iterdir())) == len(before) + 2


def test_all_stands_for_all_and_nothing_is_done_twice():
    assert chosen(["vary-alpha", "all", "vary-alpha"])[0] == "vary-alpha"
    assert sorted(chosen(["vary-alpha", "all"])) == sorted(experiments())
    assert len(cells_of(["vary-alpha", "regret-vs-time"], Settings())) == 130


def command(folder: Path, *more: str) -> list[str]:
    scale = ("--quick", "--runs", "60", "--horizon", "400000", "--workers", "1")
    names = ("ablation-combining", "cost-biased")
    return [
        sys.executable,
        "-m",
        "frugalbandits.cli",
        "reproduce",
        *names,
        *scale,
        "--out",
        str(folder),
        *more,
    ]


def tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / "tables" / name).read_bytes() for name in TABLES}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_sweep_that_was_cut_short_ends_with_the_same_tables(how, tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    subprocess.run(command(whole), check=True, capture_output=True)
    process = subprocess.Popen(command(cut), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    patience = time.monotonic() + 120
    while not list(cut.glob("cells/[!.]*.npz")) and process.poll() is None and time.monotonic() < patience:
        time.sleep(0.002)
    os.kill(process.pid, how)
    _, told = process.communicate(timeout=20)
    saved = {path.name: path.stat().st_mtime_ns for path in cut.glob("cells/[!.]*.npz")}
    assert 1 <= len(saved) < 4, "it was not cut short in the middle"
    assert not (cut / "report.html").exists()
    if how == signal.SIGINT:
        assert process.returncode == 130
        kept = "frugal: what is done is kept; the same command goes on from here"
        assert told.splitlines()[-2:] == [kept, "frugal: interrupted"]
    subprocess.run(command(cut, "--workers", "2"), check=True, capture_output=True)
    assert tables(cut) == tables(whole)
    after = {path.name: path.stat().st_mtime_ns for path in cut.glob("cells/[!.]*.npz")}
    assert len(after) == 4
    assert saved.items() <= after.items(), "what was done was done again"
    assert not list(cut.rglob(".frugal-*")) or how == signal.SIGKILL


def test_the_command_ends_with_tables_and_paths(in_an_empty_folder):
    result = frugal("reproduce", "cost-biased", "instances", "--quick", "--runs", "3", "--horizon", "3000")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["policy", "cells", "decisions", "seconds", "decisions", "a", "second"]
    assert max(map(len, lines)) <= 120
    assert lines[-2] == f"report: {Path('out', 'reproduction-quick', 'report.html')}"
    assert Path("out", "reproduction-quick", "report.html").is_file()
    assert "Cost-biased sampling lowers the cost regret" in result.stdout


def test_only_pictures_need_no_cells(in_an_empty_folder):
    result = frugal("reproduce", "illustrations", "--out", "here")
    assert result.exit_code == 0
    assert len(list(Path("here", "figures").iterdir())) == 8
    assert list(Path("here", "cells").iterdir()) == []
    assert "verdict" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["regret-vs-tim"], "no experiment is called 'regret-vs-tim'; did you mean 'regret-vs-time'?"),
        (["--horizon", "12"], "horizon must be greater than the number of arms, 20"),
        (["--runs", "0"], "'0' is not a whole number, 1 or more"),
        (["--seed", "-1"], "'-1' is not a whole number, 0 or more"),
        (["cost-biased", "--cluster", "nowhere"], "'nowhere'"),
    ],
)
def test_bad_input_is_refused_before_anything_is_computed(arguments, words, in_an_empty_folder):
    assert words in refused("reproduce", *arguments)
    assert not list(Path().rglob("*.npz"))


def test_a_file_in_the_way_is_named(in_an_empty_folder):
    Path("taken").write_text("mine")
    assert "cannot make the folder 'taken': a file has that name" in refused(
        "reproduce", "instances", "--out", "taken"
    )
    assert Path("taken").read_text() == "mine"
