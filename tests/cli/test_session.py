"""`frugal session show`: what a stored session has found."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import frugalbandits as fb
from cli_harness import few_files, good, refused

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(autouse=True)
def files(in_an_empty_folder: Path) -> None:
    few_files()


def test_it_prints_the_explanation_and_leaves_the_file_as_it_is() -> None:
    before = Path("session.json").read_bytes()
    explanation = fb.Session.load("session.json").explain()
    assert good("session", "show", "session.json") == f"{explanation}\n"
    assert Path("session.json").read_bytes() == before


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("session-*.json")), ids=lambda path: path.stem)
def test_sessions_of_every_version_are_shown(path: Path) -> None:
    Path("old.json").write_text(json.dumps(json.loads(path.read_text())["session"]))
    assert fb.Session.load("old.json").explain().headline in good("session", "show", "old.json")


def test_names_cannot_move_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    session = fb.Session(costs={"[red]small": 0.2, "a\u202eb": 3.0}, alpha=0.1, horizon=100)
    session.save("odd.json")
    for width in ("40", "120"):
        monkeypatch.setenv("COLUMNS", width)
        shown = good("session", "show", "odd.json")
        assert "[red]small" in shown and "a b" in shown and "\u202e" not in shown


def broken() -> dict[str, str]:
    whole = Path("session.json").read_text()
    return {
        "cut.json": whole[: len(whole) // 2],
        "other.json": json.dumps({"a": 1}),
        "list.json": "[1, 2]",
        "empty.json": "",
        "text.json": "name,cost\nsmall,1\n",
        "later.json": re.sub(r'"version": ?\d+', '"version": 999', whole),
    }


@pytest.mark.parametrize("name", ["cut", "other", "list", "empty", "text", "later"])
def test_a_file_that_is_no_session_is_refused_in_one_line_with_its_name(name: str) -> None:
    Path(f"{name}.json").write_text(broken()[f"{name}.json"])
    assert refused("session", "show", f"{name}.json").count(f"{name}.json") == 1


def test_what_cannot_be_read_is_refused() -> None:
    Path("bytes.json").write_bytes(b"\xff\xfe\x00")
    for name, why in (("none.json", "No such file"), (".", "Is a directory"), ("bytes.json", "utf-8")):
        message = refused("session", "show", name)
        assert message.startswith(f"cannot read the session file '{name}'") and why in message
    assert "Missing argument 'FILE'" in refused("session", "show")


def test_without_a_command_there_is_help() -> None:
    assert good("session") == good("session", "--help") == good("session", "-h")
