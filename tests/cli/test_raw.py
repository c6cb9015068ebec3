"""The commands that make an instance from raw rating data."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

import frugalbandits as fb
from cli_harness import COMMANDS, frugal, good, refused, rows, started
from frugalbandits.cli import raw
from frugalbandits.lab import ratings
from frugalbandits.lab.ratings import UNLABELLED, read_goodreads, read_movielens

pytestmark = pytest.mark.usefixtures("data")

RAW: dict[str, Any] = COMMANDS["instance"].commands
MOVIELENS = ("instance", "movielens", "--ratings", "ratings.csv", "--movies", "movies.csv")
GOODREADS = ("instance", "goodreads", "reviews")


@pytest.fixture
def data(in_an_empty_folder: Path) -> None:
    movies = f'1,"Heat, the",Crime|Drama\n2,Emma,Drama\n3,Dull,Western\n4,?,{UNLABELLED}\nx,y,z\n'
    Path("movies.csv").write_text(f"movieId,title,genres\n{movies}")
    rated = "".join(f"{user},{1 + user % 2},{1 + user % 5}.{5 * (user % 2)},9\n" for user in range(4, 100))
    broken = "".join(f"bad {number}\n" for number in range(7))
    Path("ratings.csv").write_text(f"userId,movieId,rating,timestamp\n1,99,4.0,9\n{broken}{rated}1,4,5.0,9\n")
    Path("ratings.csv").write_text(Path("ratings.csv").read_text().replace("5.5", "4.5"))
    Path("reviews").mkdir()
    for genre, stars in (("poetry", "0145"), ("romance", "33"), ("young_adult", "0")):
        lines = "".join(f'{{"rating": {rating}, "review_text": "[red]"}}\n' for rating in stars)
        Path(f"reviews/goodreads_reviews_{genre}.json.gz").write_bytes(gzip.compress(lines.encode()))
    Path("costs.csv").write_text(f"name,cost\nCrime,3\nDrama,1\n{UNLABELLED},2\n")


# Help


@pytest.mark.parametrize("name", RAW)
def test_help_ends_with_an_example_that_runs_and_names_the_terms_of_use(name: str) -> None:
    shown = good("instance", name, "--help").rstrip().splitlines()
    example = shown[-1].strip()
    assert example.startswith(f"Example: frugal instance {name} ")
    assert all(len(line) <= 80 for line in shown)
    assert good(*shlex.split(example.removeprefix("Example: frugal "))) != ""
    text = " ".join(" ".join(shown).split())
    cited = {"movielens": ["Harper and Konstan 2015", "endorsement", "commercial use without permission"]}
    cited["goodreads"] = ["Wan and McAuley 2018", "Wan et al. 2019", "academic use only", "no commercial use"]
    for words in ["Terms of use", "no redistribution", *cited[name]]:
        assert words in text
    assert all(parameter.help for parameter in RAW[name].params)


def test_without_a_data_set_there_is_help() -> None:
    assert good("instance") == good("instance", "--help") == good("instance", "-h")
    assert "\n  movielens " in good("instance")


# What is printed


def test_movielens_prints_the_genres_what_was_left_out_and_a_picture() -> None:
    out = good(*MOVIELENS)
    found = read_movielens("ratings.csv", "movies.csv")
    problem = found.to_problem()
    for arm, name in enumerate(found.names):
        cells = [
            name,
            f"{found.totals[arm]:,}",
            f"{found.means[arm]:.4f}",
            f"{found.shares(4)[arm]:.4f}",
            f"{problem.costs[arm]:.4g}",
        ]
        assert any(re.split(r"\s{2,}", line) == cells for line in out.splitlines())
    assert "share 4 or more" in out.splitlines()[0]
    lines = out.splitlines()
    assert "movies.csv: 4 lines used, 1 malformed" in lines
    at = lines.index("ratings.csv: 97 lines used, 7 malformed, 1 of unknown movies")
    assert lines[at + 1 : at + 6] == [
        f"  line {number}: the number of fields is 1 in place of 4" for number in (3, 4, 5, 6, 7)
    ]
    assert lines[at + 6 : at + 8] == ["  and 2 more malformed lines", "left out, without ratings: Western"]
    assert f"movielens: {problem.arms} arms, alpha = 0.05" in lines
    assert "mean rating divided by 5; costs drawn with seed 0" in lines
    assert sum("★" in line for line in lines) == 3  # the axis, the arm, the legend
    assert all(cell_len(line) <= 80 for line in lines)
    assert sorted(path.name for path in Path().iterdir()) == [
        "costs.csv",
        "movies.csv",
        "ratings.csv",
        "reviews",
    ]


def test_goodreads_prints_unrated_reviews_apart() -> None:
    lines = good(*GOODREADS).splitlines()
    assert "reviews/goodreads_reviews_poetry.json.gz: 3 lines used, 1 unrated" in lines
    assert "reviews/goodreads_reviews_romance.json.gz: 2 lines used" in lines
    assert "left out, without ratings: young_adult" in lines
    assert "goodreads: 2 arms, alpha = 0.05" in lines
    assert "share rated 4 or more; costs drawn with seed 0" in lines
    (row, *_) = rows("\n".join(lines), "poetry")
    assert row.split()[1:4] == ["3", "3.3333", "0.6667"]


def test_names_cannot_move_the_cursor() -> None:
    Path("movies.csv").write_text("movieId,title,genres\n1,a,\x1b[2J|[bold]\n2,b,Drama\n")
    assert r"but one is '\x1b[2J'" in refused(*MOVIELENS)
    Path("movies.csv").write_text("movieId,title,genres\n1,a,x\u202ey|[bold]\n2,b,Drama\n")
    out = good(*MOVIELENS)
    assert "x y" in out
    assert "[bold]" in out


# Options


@pytest.mark.parametrize("name", ["mine.txt", "MINE.CSV"])
def test_the_instance_on_disk_is_the_library_s(name: str) -> None:
    options = ("--reward", "share", "--above", "3", "--seed", "5", "--alpha", "0.3", "--out", name)
    out = good(*MOVIELENS, *options, "--no-unlabelled")
    found = read_movielens("ratings.csv", "movies.csv", unlabelled=False)
    problem = found.to_problem("share", above=3, seed=5, alpha=0.3)
    assert fb.read_instance(name, alpha=0.3) == problem
    assert problem.names == ("Crime", "Drama")
    end = "; a table has no place for alpha" if name.endswith("CSV") else ""
    assert out.endswith(f"\ninstance of 2 arms written to {name}{end}\n")
    assert "share rated 3 or more; costs drawn with seed 5" in out
    assert good("instances", name, "--alpha", "0.3") != ""
    if not end:
        assert Path(name).read_text().startswith("instance_id: mine\n")


def test_goodreads_has_the_same_options() -> None:
    options = ("--reward", "mean", "--seed", "2", "--alpha", "0.1", "--out", "x.txt", "--plot", "new/x.png")
    out = good(*GOODREADS, *options)
    assert fb.read_instance("x.txt") == read_goodreads("reviews").to_problem("mean", seed=2, alpha=0.1)
    assert out.splitlines()[-2:] == ["instance of 2 arms written to x.txt", "figure written to new/x.png"]
    assert Path("new/x.png").read_bytes().startswith(b"\x89PNG")


def test_defaults_are_the_paper_s() -> None:
    good(*MOVIELENS, "--out", "m.txt")
    assert fb.read_instance("m.txt") == read_movielens("ratings.csv", "movies.csv").to_problem("mean")
    good(*GOODREADS, "--out", "g.txt")
    assert fb.read_instance("g.txt") == read_goodreads("reviews").to_problem("share", above=4)


def test_costs_from_a_file() -> None:
    out = good(*MOVIELENS, "--costs", "costs.csv", "--out", "x.txt")
    assert fb.read_instance("x.txt").costs.tolist() == [2, 3, 1]
    assert "costs from costs.csv" in out


# Errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("instance film", "No such command 'film'"),
        ("instance movielens --ratings ratings.csv", "Missing option '--movies'"),
        ("instance goodreads", "Missing argument 'DIR'"),
        ("M --reward median", "no reward is called 'median'"),
        ("M --above 6", r"above must lie in \(0, 5\], but it is 6"),
        ("M --above high", "'--above': 'high' is not a number"),
        ("M --alpha 1", r"must lie in \[0, 1\), but it is 1"),
        ("M --seed -1", "'--seed': '-1' is not a whole number, 0 or more"),
        ("M --costs none.csv", "cannot read 'none.csv': No such file"),
        ("M --costs movies.csv", "movies.csv: the first line must be 'name,cost'"),
        ("M --costs costs.csv --no-unlabelled", r"no genre is called '\(no genres listed\)'"),
        ("M --costs few.csv", "there is no cost for '\\(no genres listed\\)', 'Crime'$"),
        ("M --costs more.csv", "no genre is called 'Dram'; did you mean 'Drama'"),
        ("M --out x.parquet", r"--out must end in \.txt or \.csv, but it is 'x\.parquet'"),
        ("M --out reviews/none/x.txt", "there is no folder 'reviews/none'"),
        ("M --plot x.gif", r"--plot must end in \.png, \.pdf or \.svg"),
        ("instance movielens --ratings none.csv --movies movies.csv", "cannot read 'none.csv': No such file"),
        ("instance movielens --ratings movies.csv --movies movies.csv", "the first line must be 'userId,"),
        ("instance movielens --ratings ratings.csv --movies ratings.csv", "the first line must be 'movieId,"),
        (
            "instance movielens --ratings cut.csv.gz --movies movies.csv",
            "'cut.csv.gz': the gzip file is trunc",
        ),
        ("instance goodreads none", "cannot read the folder 'none': No such file"),
        ("instance goodreads .", "there is no file goodreads_reviews_GENRE.json or .json.gz in '.'"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(arguments: str, message: str) -> None:
    Path("few.csv").write_text("name,cost\nDrama,1\n")
    Path("more.csv").write_text("name,cost\nDram,1\n")
    Path("cut.csv.gz").write_bytes(gzip.compress(Path("ratings.csv").read_bytes())[:-9])
    given = shlex.split(arguments)
    assert re.search(message, refused(*(MOVIELENS if given[0] == "M" else given[:1]), *given[1:]))


@pytest.mark.parametrize("option", ["--reward=x", "--above=9", "--alpha=2", "--costs=none.csv", "--out=x.y"])
def test_options_are_checked_before_anything_is_read(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("nothing may be read here")

    monkeypatch.setattr(ratings, "read_movielens", refuse)
    refused(*MOVIELENS, option)


def test_a_name_that_plain_text_cannot_carry_is_an_error_and_leaves_no_file() -> None:
    Path("movies.csv").write_text('movieId,title,genres\n1,a,"Crime, true"\n2,b,Drama\n')
    ran = frugal(*MOVIELENS, "--out", "x.txt")
    assert ran.exit_code == 2
    assert "plain-text format cannot carry the name 'Crime, true'" in ran.stderr
    assert "Crime, true" in ran.stdout
    assert not Path("x.txt").exists()
    good(*MOVIELENS, "--out", "x.csv")


# The program in its surroundings


class Terminal:
    """A pseudo-terminal as the standard error of a process."""

    def __init__(self) -> None:
        import pty

        self.reading, self.writing = pty.openpty()

    def read(self) -> str:
        """Read to the end."""
        os.close(self.writing)
        shown = b""
        while True:
            try:
                part = os.read(self.reading, 4096)
            except OSError:  # what Linux says when the other side is closed
                part = b""
            if not part:
                os.close(self.reading)
                return shown.decode()
            shown += part


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_progress_is_shown_on_a_terminal_only() -> None:
    terminal = Terminal()
    environment = {**os.environ, "TERM": "xterm"}
    process = started(*MOVIELENS, stderr=terminal.writing, env=environment)
    shown = terminal.read()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "ratings.csv" in shown
    size = sum(Path(name).stat().st_size for name in ("ratings.csv", "movies.csv"))
    assert re.search(rf"{size / 1000:.1f}/{size / 1000:.1f} kB", shown)
    assert out == good(*MOVIELENS)


@pytest.mark.skipif(os.name != "posix", reason="needs signals and named pipes")
def test_ctrl_c_ends_reading_and_leaves_no_file() -> None:
    # A test run may itself have been started with interrupts ignored, and that is inherited.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from frugalbandits.cli import main; main()"
    )
    os.mkfifo("pipe.csv")  # a file of ratings that never ends
    command = [sys.executable, "-c", code, "instance", "movielens", "--ratings", "pipe.csv"]
    command += ["--movies", "movies.csv", "--out", "x.txt"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        watchdog = threading.Timer(240, process.kill)
        watchdog.start()
        try:
            # Opened only when the program has opened it: then it is reading.
            with Path("pipe.csv").open("wb") as pipe:
                pipe.write(b"userId,movieId,rating,timestamp\n1,1,4.0,9\n")
                pipe.flush()
                process.send_signal(signal.SIGINT)
                out, error = process.communicate()
        finally:
            watchdog.cancel()
            process.kill()
    assert (process.returncode, out, error) == (130, "", "frugal: interrupted\n")
    assert not Path("x.txt").exists()


@pytest.mark.skipif(os.name != "posix", reason="needs a named pipe")
def test_ratings_can_come_from_a_pipe() -> None:
    os.mkfifo("pipe.csv")
    writer = threading.Thread(target=lambda: Path("pipe.csv").write_bytes(Path("ratings.csv").read_bytes()))
    writer.start()
    arguments = [part if part != "ratings.csv" else "pipe.csv" for part in MOVIELENS]
    assert good(*arguments) == good(*MOVIELENS).replace("ratings.csv", "pipe.csv")
    writer.join()


def test_the_bar_knows_no_total_for_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with raw._progress() as show:
        show("pipe\x1b.csv", 10, 0)
        show("ratings.csv", 10, 20)
