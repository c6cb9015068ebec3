"""The commands on a store, and the command line where the lab is not installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import frugalbandits as fb
from cli_harness import few_files, frugal, good, refused
from frugalbandits.cli.commands import LAB, app

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


@pytest.fixture(autouse=True)
def files(in_an_empty_folder: Path) -> None:
    few_files()


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("command", [("sessions", "list"), ("sessions", "show", "shop"), ("token", "list")])
def test_tables_fit_the_screen(command: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = good(*command)
    assert max(map(len, shown.splitlines())) <= width, shown


def test_a_session_goes_out_and_in() -> None:
    told = json.loads(good("sessions", "list", "--json"))
    (row,) = told["sessions"]
    assert (row["name"], row["options"], row["decisions"]) == ("shop", 2, 1235)
    good("sessions", "export", "shop", "--out", "shop.json")
    assert fb.Session.load("shop.json").decisions == 1235
    good("sessions", "import", "shop.json", "--name", "again")
    assert len(json.loads(good("sessions", "list", "--json"))["sessions"]) == 2
    first, second = (json.loads(good("sessions", "show", name, "--json")) for name in ("shop", "again"))
    assert first["session"]["arms"] == second["session"]["arms"]
    assert "is there: take another name" in refused("sessions", "import", "shop.json", "--name", "again")
    assert fb.Session.from_json(good("sessions", "export", "again")).decisions == 1235


@pytest.mark.parametrize("width", [40, 80])
def test_so_does_one_that_looks_at_queries(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    routes = fb.ContextualSession({"small": 0.2, "large": 3.0}, 0.05, fb.Segments(["chat", "code"]), seed=0)
    for segment in ("chat", "code") * 10:
        routes.tell(routes.ask(segment).id, 1.0)
    routes.save("routes.json")
    good("sessions", "import", "routes.json", "--name", "routes")
    rows = {row["name"]: row for row in json.loads(good("sessions", "list", "--json"))["sessions"]}
    assert (rows["routes"]["decisions"], rows["routes"]["told"]) == (20, 20)
    told = json.loads(good("sessions", "show", "routes", "--json"))["session"]
    assert {each["name"] for each in told["segments"]} == {"chat", "code"}
    assert fb.ContextualSession.from_json(good("sessions", "export", "routes")).decisions == 20
    Path("other.json").write_text("{}", encoding="utf-8")
    assert "not a session state" in refused("sessions", "import", "other.json", "--name", "other")
    monkeypatch.setenv("COLUMNS", str(width))
    shown = good("sessions", "show", "routes")
    assert "code" in shown and max(map(len, shown.splitlines())) <= width, shown


def test_what_is_not_there_is_refused_and_nothing_is_made() -> None:
    assert "no session is called 'none'" in refused("sessions", "show", "none")
    assert "no token is called 'none'" in refused("token", "revoke", "none")
    assert "there is no store at 'sqlite:///none.db'" in refused(
        "sessions", "list", "--store", "sqlite:///none.db"
    )
    assert "name of a session" in refused("sessions", "import", "session.json", "--name", "../x")
    assert "cannot read the session file" in refused("sessions", "import", "none.json", "--name", "x")
    assert "name of a token" in refused("token", "add", "two\nlines")
    assert "a role is one of" in refused("token", "add", "x", "--role", "king")
    assert "no store has the address" in refused("token", "list", "--store", "nowhere:")


def test_the_names_of_the_commands_of_the_lab() -> None:
    there = {
        command.name or (command.callback and command.callback.__name__)
        for command in app.registered_commands
    }
    there |= {group.name for group in app.registered_groups}
    assert there == {*LAB, "serve", "token", "sessions", "backup", "restore"}


WITHOUT = """
import sys
for name in ("polars", "matplotlib", "scipy", "rich", "numba"):
    sys.modules[name] = None
from frugalbandits.cli import main
main()
"""


def without_the_lab(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_without_the_lab_the_service_has_its_commands() -> None:
    for arguments in (["sessions", "show", "shop"], ["token", "list"], ["serve", "--help"], ["--help"]):
        ran = without_the_lab(*arguments)
        assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    for arguments in (
        ["simulate", "goodreads", "--runs", "3"],
        ["session", "show", "x"],
        ["policies", "--help"],
    ):
        ran = without_the_lab(*arguments)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ran.stderr.endswith("not installed: pip install 'frugalbandits[lab]'\n")
        assert ran.stderr.count("\n") == 1


def test_without_the_service_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("frugalbandits.service")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    for arguments in (["serve"], ["token", "list"]):
        ran = frugal(*arguments)
        assert ran.exit_code == 1
        assert ran.stderr == (
            "frugal: error: the command line needs fastapi, which is not installed: "
            "pip install 'frugalbandits[service]'\n"
        )
