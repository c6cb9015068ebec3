"""The command line says no, is interrupted, or loses its reader."""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import frugalbandits as fb
from cli_harness import SMALL, frugal, good, refused, rows, started, uncompiled
from frugalbandits.cli import common
from frugalbandits.errors import InputError

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


@pytest.fixture
def never_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("nothing may be simulated here")

    monkeypatch.setattr(fb, "simulate", refuse)


# Errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("simulat", "Did you mean 'simulate'"),
        ("--no-such", "No such option: --no-such"),
        ("simulate", "Missing argument 'INSTANCE'"),
        ("simulate goodreds", "no instance is called 'goodreds'; did you mean 'goodreads'?"),
        ("instances godreads", "no instance is called 'godreads'; did you mean 'goodreads'?"),
        ("simulate goodreads --policy coff", "no policy is called 'coff'; did you mean 'cof'"),
        ("simulate goodreads --alpha 1.2", r"alpha .* must lie in \[0, 1\), but it is 1.2"),
        ("simulate goodreads --alpha much", "'--alpha': 'much' is not a number"),
        ("instances goodreads --alpha 1.2", r"must lie in \[0, 1\), but it is 1.2"),
        ("instances --alpha nan", "alpha must be finite, but it is nan"),
        ("simulate goodreads --horizon 0", "horizon must be greater than the number of arms, 8, .* it is 0$"),
        ("simulate goodreads movielens --horizon 20", "greater than the number of arms, 20, .* it is 20$"),
        ("simulate goodreads --horizon soon", "'--horizon': 'soon' is not a number"),
        ("simulate goodreads --horizon 1000.5", "horizon must be a whole number of pulls, but it is 1000.5"),
        ("simulate goodreads --horizon 1e400", "horizon must be finite, but it is inf"),
        ("simulate goodreads --runs 0", "'--runs': '0' is not a whole number, 1 or more"),
        ("simulate goodreads --runs 2.5", "'--runs': '2.5' is not a whole number, 1 or more"),
        ("simulate goodreads --runs many", "'--runs': 'many' is not a number"),
        ("simulate goodreads --seed -1", "'--seed': '-1' is not a whole number, 0 or more"),
        ("simulate goodreads --checkpoints 0", "'--checkpoints': '0' is not a whole number, 1 or more"),
        ("simulate goodreads --workers 0", "'--workers': '0' is not a whole number, 1 or more"),
        ("simulate goodreads --rewards bet", "no reward model is called 'bet'; did you mean 'beta'"),
        ("simulate goodreads certain.csv --alpha 0.1 --rewards beta", "Beta rewards need means strictly"),
        ("simulate certain.csv", "certain.csv: a table has no subsidy factor; give --alpha or --quality"),
        ("simulate missing.txt", "cannot read 'missing.txt': No such file"),
        ("simulate ./goodreads", "cannot read 'goodreads': No such file"),
        ("simulate folder.txt", "cannot read 'folder.txt': Is a directory"),
        ("instances broken.txt", "broken.txt, line 1: no key is called 'arms'"),
        ("instances --plot x.png", "--plot draws one instance, but none is named for 'x.png'"),
        ("instances goodreads --plot x.gif", r"--plot must end in \.png, \.pdf or \.svg, but it is 'x\.gif'"),
        ("simulate goodreads --plot x", r"--plot must end in \.png, \.pdf or \.svg, but it is 'x'"),
        ("simulate goodreads --out x.xlsx", r"--out must end in \.parquet or \.csv, but it is 'x\.xlsx'"),
        ("simulate goodreads --out folder.csv", "cannot write 'folder.csv': it is a folder"),
        ("simulate goodreads --out broken.txt/x.csv", "cannot make the folder 'broken.txt': a file has that"),
        ("simulate goodreads --plot broken.txt/a/x.png", "cannot make the folder 'broken.txt/a': Not a dir"),
        ("instances goodreads --plot broken.txt/x.png", "cannot make the folder 'broken.txt'"),
        (
            "simulate goodreads --runs 1e12",
            "would take about .* GB of memory, .*: lower --runs or --checkpoints",
        ),
        ("simulate goodreads --plot", "'--plot' requires an argument"),
        ("simulate goodreads --polcy cof", "No such option: --polcy.*--policy"),
        (
            "simulate goodreads --alpha 0.1 --quality at-least:0.5",
            "--alpha 0.1 and --quality at-least:0.5 both",
        ),
        ("bounds broken.csv", "broken.csv: a table has no subsidy factor; give --alpha or --quality"),
        ("instances bare.txt", "bare.txt: the key subsidy_factor is missing; give --alpha or --quality"),
        ("reproduce vary-alfa", "no experiment is called 'vary-alfa'; did you mean 'vary-alpha'"),
        ("leaderboard table", "no family is called 'table'; did you mean 'tables'"),
        ("leaderboard world", "no family is called 'world'; did you mean 'worlds'"),
        (
            "leaderboard 12345",
            "no family is called '12345'. Known: all, contextual, contextual-late, contextual-wanted, paper",
        ),
        ("warm-up cofs", "no policy is called 'cofs'; did you mean 'cof'"),
        ("simulate nu1 --policy glr-cof:tolerence=1", "no setting of glr-cof is called .*mean 'tolerance'"),
        ("session shew x.json", "No such command 'shew'.*'show'"),
    ],
)
@pytest.mark.usefixtures("never_simulated")
def test_what_cannot_be_done_is_said_in_one_line_before_anything_is_simulated(
    arguments: str, message: str
) -> None:
    Path("certain.csv").write_text("name,cost,quality\nsmall,0.2,0.81\nlarge,3.0,1.0\n")
    Path("broken.txt").write_text("arms: 3\n")
    Path("broken.csv").write_text("name,cost,quality\nsmall,0.2,0.81\nlarge,3.0,0.9\n")
    Path("bare.txt").write_text("instance_id: x\narm_reward_array: 0.7, 0.8\narm_cost_array: 1, 2\n")
    Path("folder.txt").mkdir()
    Path("folder.csv").mkdir()
    assert re.search(message, refused(*shlex.split(arguments)))


@pytest.mark.usefixtures("never_simulated")
def test_a_place_without_permission_is_refused_before_the_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    def unwritable(path: Path) -> Path:
        raise InputError(f"cannot write {str(path)!r}: Permission denied")

    def denied(*arguments: object, **options: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    # Made up, because root, who may be running this, never lacks permission.
    monkeypatch.setattr(common, "check_writable", unwritable)
    assert refused("simulate", "goodreads", "--out", "x.csv") == "cannot write 'x.csv': Permission denied"
    monkeypatch.setattr(Path, "mkdir", denied)
    message = "cannot make the folder 'new': Permission denied"
    assert refused("simulate", "goodreads", "--plot", "new/x.png") == message


def test_a_file_that_cannot_be_finished_is_absent_but_the_numbers_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(self: pl.DataFrame, path: Path) -> None:
        Path(path).write_text("instance,pol")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(pl.DataFrame, "write_csv", full)
    ran = frugal("simulate", "goodreads", *SMALL, "--out", "x.csv")
    assert ran.exit_code == 2
    assert rows(ran.stdout, "etc-cs")
    assert "written" not in ran.stdout
    assert re.fullmatch(r"frugal: error: No space left on device: [^\n]+\n", uncompiled(ran.stderr))
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (KeyboardInterrupt(), 130, "frugal: interrupted\n"),
        (MemoryError("74 GiB"), 2, r"frugal: error: not enough memory \(74 GiB\); [^\n]+\n"),
        (OSError(errno.EIO, "Input/output error", "x"), 2, "frugal: error: Input/output error: 'x'\n"),
    ],
)
def test_what_stops_a_simulation_is_said_in_one_line(
    error: BaseException, code: int, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(fb, "simulate", stop)
    ran = frugal("simulate", "goodreads", "--out", "x.csv", "--plot", "x.png")
    assert (ran.exit_code, ran.stdout) == (code, "")
    assert re.fullmatch(line, ran.stderr)
    assert list(Path().iterdir()) == []


def test_a_fault_of_ours_is_not_dressed_up_as_a_fault_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(fb, "simulate", broken)
    assert isinstance(frugal("simulate", "goodreads").exception, ZeroDivisionError)


# The program in its surroundings


class Terminal:
    """A pseudo-terminal as the standard error of a process."""

    def __init__(self) -> None:
        import pty

        self.reading, self.writing = pty.openpty()
        self.shown = ""

    def read(self, until: str = "") -> None:
        """Read until the text is shown, or to the end."""
        if self.writing >= 0:
            os.close(self.writing)
            self.writing = -1
        while not until or until not in self.shown:
            try:
                part = os.read(self.reading, 4096)
            except OSError:  # what Linux says when the other side is closed
                part = b""
            if not part:
                break
            self.shown += part.decode()


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    os.close(made.reading)


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal and signals")
def test_ctrl_c_ends_a_simulation_soon(terminal: Terminal) -> None:
    # A test run may itself have been started with interrupts ignored, and that is inherited.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from frugalbandits.cli import main; main()"
    )
    # Beta rewards are drawn one by one: each of these runs would take minutes.
    long = ("--policy", "etc-cs", "--rewards", "beta", "--horizon", "1e10", "--runs", "4", "--out", "x.csv")
    # Compiled beforehand, so that the program below finds it on disk and its time is not spent on that.
    fb.simulate(fb.instance("goodreads"), "etc-cs", 100, runs=1, rewards="beta")
    command = [sys.executable, "-c", code, "simulate", "goodreads", *long]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal.writing) as process:
        watchdog = threading.Timer(240, process.kill)
        watchdog.start()
        try:
            terminal.read(until="goodreads, alpha = 0.05, etc-cs")
            process.send_signal(signal.SIGINT)
            sent = time.monotonic()
            terminal.read()
            took = time.monotonic() - sent
            out, _ = process.communicate()
        finally:
            watchdog.cancel()
            process.kill()
    assert (process.returncode, out) == (130, b"")
    assert terminal.shown.rstrip().endswith("frugal: interrupted")
    assert terminal.shown.count("frugal: interrupted") == 1
    assert "Traceback" not in terminal.shown
    assert took < 10
    assert list(Path().iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
@pytest.mark.parametrize("arguments", ["--help", "policies", "instances aider-polyglot"])
def test_a_reader_that_goes_away_causes_no_traceback(arguments: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = started(*arguments.split(), stdout=writing)
    os.close(writing)
    _, error = process.communicate(timeout=60)
    assert error == ""
    assert process.returncode == 1


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_progress_is_shown_on_a_terminal_only(terminal: Terminal) -> None:
    environment = {**os.environ, "TERM": "xterm"}
    process = started("simulate", "goodreads", *SMALL, stderr=terminal.writing, env=environment)
    terminal.read()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "3/3" in terminal.shown
    assert "goodreads, alpha = 0.05, etc-cs" in terminal.shown
    assert "\x1b" not in out
    # Seconds aside, the output is that of a run without a terminal.
    without = good("simulate", "goodreads", *SMALL)
    assert re.sub(r"\d+\.\d\d\n", "", out) == re.sub(r"\d+\.\d\d\n", "", without)
