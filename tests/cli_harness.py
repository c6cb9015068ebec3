"""Shared parts of the tests of the command line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner, Result

from frugalbandits.cli.commands import app

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
