"""The command `frugal leaderboard` from start to end."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import frugalbandits as fb
from cli_harness import frugal, good, refused
from frugalbandits.errors import InputError
from frugalbandits.lab.leaderboard import board as board_module
from frugalbandits.lab.leaderboard.board import families
from frugalbandits.lab.leaderboard.page import WIDEST
from frugalbandits.lab.sweeps.cells import Settings

SMALL = ("tables", "--quick", "--runs", "1", "--policy", "etc-cs", "--policy", "pe-cs")


def times_of(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("cells/[!.]*.npz")}


def test_the_command_prints_tables_and_writes_files(in_an_empty_folder):
    lines = good("leaderboard", *SMALL).splitlines()
    assert max(map(len, lines)) <= WIDEST
    assert lines[0].startswith("tables: ")
    assert {"etc-cs", "pe-cs"} <= {line.split(" ")[0] for line in lines}
    folder = Path("out", "leaderboard-quick")
    assert lines[-3:] == [
        f"written: {folder / name}" for name in ("leaderboard.md", "rows.csv", "standings.csv")
    ]
    with (folder / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 32 == len(times_of(folder))
    text = (folder / "leaderboard.md").read_text()
    assert "frugal leaderboard tables --quick --policy etc-cs --policy pe-cs --seed 0 --runs 1" in text


def test_the_same_command_computes_nothing_twice(in_an_empty_folder):
    first = good("leaderboard", *SMALL, "--out", "here")
    before = times_of(Path("here"))
    tables = Path("here", "rows.csv").read_bytes()
    assert good("leaderboard", *SMALL, "--out", "here", "--workers", "1") == first
    assert times_of(Path("here")) == before
    assert Path("here", "rows.csv").read_bytes() == tables
    good("leaderboard", *SMALL, "--policy", "ucb-cs", "--out", "here")
    after = times_of(Path("here"))
    assert before.items() <= after.items() and len(after) == 48


def test_all_policies_are_the_default(monkeypatch, in_an_empty_folder):
    seen = {}

    def note(names, policies, folder, settings, *others):
        seen.update(names=names, policies=tuple(policies), folder=folder, settings=settings)
        raise InputError("enough")

    monkeypatch.setattr(board_module, "run", note)
    assert refused("leaderboard", "--seed", "4") == "enough"
    assert seen == {
        "names": families(),
        "policies": (
            *fb.policies(moving=False, over="each"),
            "glr-cof:tolerance=0.02",
            "glr-cof:tolerance=0.02,goal=conclusion",
        ),
        "folder": Path("out", "leaderboard"),
        "settings": Settings(seed=4),
    }
    assert refused("leaderboard", "--policy", "all", "random") == "enough"
    assert seen["policies"] == ("cof", "pe-cs", "ucb-cs", "ts-cs", "etc-cs") and seen["names"] == ("random",)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tabels"], "no family is called 'tabels'; did you mean 'tables'"),
        (["--policy", "coff"], "no policy is called 'coff'; did you mean 'cof'"),
        (["--runs", "0"], "'--runs': '0' is not a whole number, 1 or more"),
        (["--seed", "-1"], "'--seed': '-1' is not a whole number, 0 or more"),
        (["--workers", "none"], "'--workers': 'none' is not a number"),
        (["--cluster", "nowhere"], "'nowhere'"),
    ],
)
def test_bad_input_is_refused_before_anything_is_computed(arguments, words, in_an_empty_folder):
    assert words in refused("leaderboard", *arguments)


def test_a_file_in_the_way_is_named(in_an_empty_folder):
    Path("taken").write_text("mine")
    message = refused("leaderboard", *SMALL, "--out", "taken")
    assert message == "cannot make the folder 'taken': a file has that name"


def test_ctrl_c_keeps_what_is_done(tmp_path):
    command = [sys.executable, "-m", "frugalbandits.cli", "leaderboard", "random", "--policy", "cof"]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        patience = time.monotonic() + 120
        while len(times_of(tmp_path)) < 3 and process.poll() is None and time.monotonic() < patience:
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        out, told = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    kept = "frugal: what is done is kept; the same command goes on from here"
    assert told.splitlines()[-2:] == [kept, "frugal: interrupted"]
    assert 3 <= len(times_of(tmp_path)) < 300
    assert not (tmp_path / "leaderboard.md").exists()


def test_the_help_names_the_families():
    shown = " ".join(frugal("leaderboard", "--help").stdout.split())
    assert all(name in shown for name in families())
