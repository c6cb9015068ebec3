"""Put the help of every command into docs/cli.md: python docs/make_cli.py, or --check to compare only."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from typer.testing import CliRunner

from frugalbandits.cli.commands import app

PAGE = Path(__file__).with_name("cli.md")
# The words that call a command stand in the comment above its help.
BLOCK = re.compile(r"(<!-- help:(?P<words>[a-z -]*)-->\n).*?(?P<end><!-- end of help -->)", re.DOTALL)


def help_of(words: list[str]) -> str:
    """Return what a command prints with --help on a screen of 80 columns."""
    ran = CliRunner().invoke(app, [*words, "--help"], prog_name="frugal", env={"COLUMNS": "80"})
    return "\n".join(line.rstrip() for line in ran.stdout.strip().splitlines())


def renewed(text: str) -> str:
    """Return the page with the help of today."""

    def block(found: re.Match[str]) -> str:
        shown = help_of(found["words"].split())
        return f"{found[1]}\n```text\n{shown}\n```\n\n{found['end']}"

    return BLOCK.sub(block, text)


if __name__ == "__main__":
    before = PAGE.read_text(encoding="utf-8")
    after = renewed(before)
    if sys.argv[1:] == ["--check"]:
        sys.exit("docs/cli.md is out of date: run python docs/make_cli.py" if after != before else 0)
    PAGE.write_text(after, encoding="utf-8")
