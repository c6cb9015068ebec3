"""Tables at any width: long text wraps, and a number is never cut."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

import frugalbandits as fb
from cli_harness import FEW, STORED, few_files, good, started
from frugalbandits.lab.terminal.widths import Column, fitted, folded

WIDTHS = (40, 60, 80, 120)
NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+(e[-+]?\d+)?[kMGx%]?")
# Sessions are below; of the others, seconds differ from run to run, and the tests of the tables of regret and
# of the leaderboard stand beside them.
APART = {("session", "show"), ("warm-up",), ("simulate",), ("leaderboard",), *STORED}
TABLES = [path for path in FEW if path not in APART]


@pytest.fixture
def files(in_an_empty_folder: Path) -> None:
    few_files()


def numbers(text: str) -> Counter[str]:
    words = (word.strip("[],;:()") for word in text.split())
    return Counter(word for word in words if NUMBER.fullmatch(word))


def narrow(width: int, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = good(*arguments)
    # Where a file went is not wrapped, so that it can be copied.
    lines = [line for line in shown.splitlines() if not re.search(r"\.(html|md|csv|json)\b|: out/", line)]
    assert [line for line in lines if cell_len(line.rstrip()) > width] == []
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown
    return shown


@pytest.mark.parametrize("path", TABLES, ids=" ".join)
@pytest.mark.usefixtures("files")
def test_every_number_of_a_table_is_whole(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    # A picture has other numbers, those of its axis, than the table that a narrow screen gets.
    def table(printed: str) -> str:
        return printed.partition(f"\n{path[-1]}: ")[0] if path[0] == "instance" else printed

    piped = numbers(table(good(*path, *FEW[path])))
    assert piped
    for width in WIDTHS:
        shown = numbers(table(narrow(width, monkeypatch, *path, *FEW[path])))
        assert piped - shown == Counter(), width


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["nu1", "swebench"])
@pytest.mark.usefixtures("in_an_empty_folder")
def test_an_instance_is_drawn_or_told_with_every_number(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = fb.instance(name)
    shown = narrow(width, monkeypatch, "instances", name)
    found = np.array([float(word.replace(",", "")) for word in numbers(shown)])
    for value in (*problem.costs, *problem.means):
        assert np.abs(found / value - 1).min() < 5e-4
    assert all(arm.split()[0][:5] in shown for arm in problem.names)
    assert ("\N{BLACK STAR}" in shown) or width < 80
    assert ("\N{BLACK STAR}" not in shown) or width > 40


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.usefixtures("files")
def test_a_session_is_told_with_every_number(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = narrow(width, monkeypatch, "session", "show", "session.json")
    explanation = fb.Session.load("session.json").explain()
    # As soon as there is room for it, the table is that of the explanation, however long the lines above it.
    table = str(explanation).split("\n\n")[1]
    assert (table in shown) == (max(map(cell_len, table.splitlines())) <= width)
    assert " ".join(explanation.headline.split()) in " ".join(shown.split())
    for arm in explanation.arms:
        assert numbers(shown)[f"{arm.pulls:,}"] and numbers(shown)[f"{arm.cost:g}"]
        assert arm.name in shown and arm.status in " ".join(shown.split())
        assert arm.mean is not None and numbers(shown)[f"{arm.mean:.4f}"]


def test_settings_are_not_cut_in_the_middle_of_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = narrow(40, monkeypatch, "policies")
    assert "discount=0.9995" in shown and "exploration=0.1" in shown


@pytest.mark.usefixtures("in_an_empty_folder")
def test_in_a_pipe_a_row_is_one_line() -> None:
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    out, error = started("instances", env=environment).communicate(timeout=60)
    assert error == ""
    lines = out.splitlines()
    assert len(lines) == 2 + len(fb.instances())
    for name, line in zip(fb.instances(), lines[2:], strict=True):
        assert line.split()[0] == name


CELLS = st.text(st.sampled_from("ab12-/ \N{CJK UNIFIED IDEOGRAPH-4E2D}"), max_size=40)


@given(
    st.lists(st.tuples(CELLS, st.integers(0, 10**15), CELLS), min_size=1, max_size=5), st.integers(25, 130)
)
def test_any_table_at_any_width(rows: list[tuple[str, int, str]], width: int) -> None:
    columns = [Column("arm", "name"), Column("number of pulls"), Column("what it says", "words")]
    console = Console(width=width)
    with console.capture() as shown:
        console.print(fitted(columns, [(name, f"{pulls:,}", words) for name, pulls, words in rows], width))
    printed = shown.get()
    assert all(cell_len(line) <= width for line in printed.splitlines())
    assert all(f"{pulls:,}" in printed for _, pulls, _ in rows)
    letters = Counter("".join(f"{name}{words}" for name, _, words in rows).replace(" ", ""))
    assert letters - Counter(printed) == Counter()


@given(CELLS, st.integers(2, 30))
def test_a_folded_name_loses_nothing(name: str, width: int) -> None:
    pieces = folded(name, width)
    assert all(cell_len(piece) <= width for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(name.split())
