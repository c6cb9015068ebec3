"""Shared parts of the tests of the command line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner, Result

import frugalbandits as fb
from frugalbandits.cli.commands import app
from frugalbandits.service.access import add_token, revoke_token
from frugalbandits.stores import StoredSession, open_store
from frugalbandits.stores.sqlite_backup import back_up

ROOT: Any = get_command(app)
COMMANDS: dict[str, Any] = ROOT.commands


def leaves(group: Any = ROOT, before: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Every command that does something, by the words that call it."""
    found: dict[tuple[str, ...], Any] = {}
    for name, command in group.commands.items():
        path = (*before, name)
        found |= leaves(command, path) if hasattr(command, "commands") else {path: command}
    return found


# Small enough for any machine, and with policies that compile fast.
SMALL = ("--policy", "etc-cs", "--horizon", "1000", "--runs", "3", "--checkpoints", "5")


def frugal(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), prog_name="frugal")


def uncompiled(told: str) -> str:
    """What was said, without a word on compiling: that depends on what the machine did before."""
    return re.sub("frugalbandits: compiling .*\n", "", told)


def good(*arguments: str) -> str:
    ran = frugal(*arguments)
    assert ran.exit_code == 0, ran.output
    assert uncompiled(ran.stderr) == ""
    assert "\x1b" not in ran.stdout
    return ran.stdout


def refused(*arguments: str) -> str:
    """The message of a command that must fail with one line and leave nothing behind."""
    before = sorted(Path().rglob("*"))
    ran = frugal(*arguments)
    assert ran.exit_code == 2, ran.output
    assert ran.stdout == ""
    assert re.fullmatch(r"frugal: error: [^\n]+\n", ran.stderr), ran.stderr
    assert sorted(Path().rglob("*")) == before
    return ran.stderr.removeprefix("frugal: error: ").rstrip("\n")


def started(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "frugalbandits.cli", *arguments]
    return subprocess.Popen(
        command, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    )


def rows(table: str, first: str) -> list[str]:
    return [line for line in table.splitlines() if line.split(" ")[0] == first]


# Every command with little to do, in a folder that `few_files` has filled.
FEW: dict[tuple[str, ...], tuple[str, ...]] = {
    ("policies",): (),
    ("instances",): (),
    ("simulate",): ("goodreads", "nu1", *SMALL),
    ("bounds",): ("goodreads", "--horizon", "2000", "--simulate", "--policy", "etc-cs", "--runs", "3"),
    ("advise",): (
        *("--cost", "small=0.2", "--cost", "large=3", "--guess", "small=0.6..0.8", "--alpha", "0.2"),
        *("--volume", "200", "--days", "5", "--policy", "etc-cs", "--runs", "20"),
    ),
    ("replay",): ("requests.csv", "--alpha", "0.1", "--policy", "etc-cs", "--resamples", "39"),
    ("reproduce",): ("cost-biased", "--runs", "2", "--horizon", "1000", "--out", "out"),
    ("leaderboard",): ("tables", "--quick", "--policy", "etc-cs", "--policy", "pe-cs", "--runs", "1"),
    ("instance", "movielens"): ("--ratings", "ratings.csv", "--movies", "movies.csv"),
    ("instance", "goodreads"): ("reviews",),
    ("backup",): ("sqlite:///decisions.db", "copied.db"),
    ("restore",): ("backup.db", "sqlite:///put-back.db"),
    ("session", "show"): ("session.json",),
    ("warm-up",): ("etc-cs",),
    ("token", "add"): ("web", "--prefix", "shop-"),
    ("token", "list"): ("--store", "sqlite:///kept.db"),
    ("token", "revoke"): ("old", "--store", "sqlite:///kept.db"),
    ("sessions", "list"): ("--store", "sqlite:///kept.db"),
    ("sessions", "show"): ("shop", "--store", "sqlite:///kept.db"),
    ("sessions", "export"): ("shop", "--store", "sqlite:///kept.db"),
    ("sessions", "import"): ("session.json", "--name", "new"),
}

#: Commands on a store; what they print is held against their documents in their own tests.
STORED = {path for path in FEW if path[0] in ("backup", "restore", "token", "sessions")}
#: What runs until it is stopped.
ENDLESS = {("serve",)}


def few_files() -> None:
    """Write the files that the commands of `FEW` and the examples of their help read."""
    rated = "".join(f"{user},{1 + user % 2},{1 + user % 5}.0,9\n" for user in range(40))
    Path("ratings.csv").write_text(f"userId,movieId,rating,timestamp\nbad\n{rated}")
    Path("movies.csv").write_text("movieId,title,genres\n1,Heat,Crime|Drama\n2,Emma,Drama\n3,Dull,Western\n")
    Path("reviews").mkdir()
    for genre, stars in (("poetry", "0145"), ("romance", "334")):
        lines = "".join(f'{{"rating": {rating}}}\n' for rating in stars)
        Path(f"reviews/goodreads_reviews_{genre}.json").write_text(lines)
    used = "".join(
        f"{'large' if number % 3 else 'small'},{int(number % 7 > 0)},{0.2 + number % 3}\n"
        for number in range(90)
    )
    Path("requests.csv").write_text(f"option,reward,cost\n{used}")
    session = fb.Session(costs={"small model": 0.2, "large": 3.0}, alpha=0.1, horizon=10_000, policy="pe-cs")
    for number in range(1234):
        session.tell(session.ask().id, float(number % 3 > 0))
    session.ask()
    session.save("session.json")
    few_stored(session)


def few_stored(session: fb.Session) -> None:
    """Fill two stores: one by a name of its own, one by the name that is the default."""
    for name in ("kept.db", "decisions.db"):
        Path(name).unlink(missing_ok=True)
        with open_store(f"sqlite:///{name}") as store:
            with StoredSession.create(store, "shop", session)[0]:
                pass
            add_token(store, "old" if name == "kept.db" else "web", "writer", "shop-")
            if name == "decisions.db":
                revoke_token(store, "web")
    Path("backup.db").unlink(missing_ok=True)
    back_up("sqlite:///decisions.db", "backup.db")
