"""A bar for what takes long: on a terminal and in a notebook, not at once, and nothing elsewhere."""

from __future__ import annotations

import io
import os
import pty
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

import frugalbandits as fb
from frugalbandits.lab import watching
from frugalbandits.lab.watching import progress


@pytest.fixture
def terminal() -> Iterator[tuple[TextIO, int]]:
    """A terminal to write to, and where to read what it shows."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as stream:
        yield stream, ours
    os.close(ours)


def shown(ours: int) -> str:
    """Return what a terminal was sent; one read returns a part of it."""
    os.set_blocking(ours, False)
    found = b""
    until = time.monotonic() + 0.2  # what was written last may take a moment
    while time.monotonic() < until:
        try:
            found += os.read(ours, 1_000_000)
        except BlockingIOError:
            time.sleep(0.01)
    return found.decode()


def test_a_terminal_shows_a_bar_that_vanishes(terminal: tuple[TextIO, int]) -> None:
    stream, ours = terminal
    with progress(40, stream=stream) as show:
        show("cof\n", 7)
        time.sleep(0.3)
    text = shown(ours)
    assert "cof " in text and "7/40" in text and "runs, left" in text
    assert text.endswith("\x1b[2K") or "\x1b[2K" in text.rpartition("7/40")[2]


def test_nothing_is_shown_before_patience_is_at_an_end(terminal: tuple[TextIO, int]) -> None:
    stream, ours = terminal
    with progress(40, patience=30, stream=stream) as show:
        show("cof", 7)
    assert shown(ours) == ""
    with progress(40, patience=0.2, stream=stream) as show:
        show("cof", 7)
        assert shown(ours) == ""
        time.sleep(0.6)
        assert "7/40" in shown(ours)


def test_a_notebook_shows_a_line_that_is_blank_at_the_end() -> None:
    stream = io.StringIO()
    with progress(40, patience=0.1, stream=stream, notebook=True) as show:
        show("cof", 10)
        time.sleep(0.8)
    first, *_, last, end = stream.getvalue().split("\r")[1:]
    assert first.startswith("cof: 10 of 40 runs, 0 s, about 0 s left")
    assert last.strip() == end == "" and len(last) >= len(first)
    assert "\n" not in stream.getvalue()
    quick = io.StringIO()
    with progress(40, patience=30, stream=quick, notebook=True) as show:
        show("cof", 10)
    assert quick.getvalue() == ""


def test_nothing_is_shown_in_a_pipe_or_a_file() -> None:
    stream = io.StringIO()
    with progress(40, stream=stream) as show:
        show("cof", 7)
        time.sleep(0.2)
    assert stream.getvalue() == "" and not watching.in_notebook()


@pytest.mark.parametrize(("wanted", "seen"), [(True, True), (False, False), (None, False)])
def test_a_simulation_shows_how_far_it_is(
    terminal: tuple[TextIO, int], monkeypatch: pytest.MonkeyPatch, wanted: bool | None, seen: bool
) -> None:
    stream, ours = terminal
    monkeypatch.setattr(watching, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    fb.simulate("nu1", "etc-cs", 1_000, runs=3, progress=wanted)
    assert ("runs, left" in shown(ours)) == seen


def test_a_function_hears_of_every_run_and_no_bar_is_shown(
    terminal: tuple[TextIO, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, ours = terminal
    monkeypatch.setattr(watching, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    heard: list[tuple[int, int]] = []
    fb.simulate("nu1", "etc-cs", 1_000, runs=3, progress=lambda *told: heard.append(told))
    assert heard == [(1, 3), (2, 3), (3, 3)] and shown(ours) == ""


def test_an_error_leaves_no_bar_behind(
    terminal: tuple[TextIO, int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stream, _ = terminal
    monkeypatch.setattr(sys, "stderr", stream)
    with pytest.raises(KeyboardInterrupt), progress(3, stream=stream):
        raise KeyboardInterrupt
    assert sys.stderr is stream


def test_a_wrong_kind_of_progress_is_named() -> None:
    with pytest.raises(fb.InputError, match="progress must be True, False or a function, but it is 'yes'"):
        fb.simulate("nu1", "etc-cs", 1_000, runs=1, progress="yes")
