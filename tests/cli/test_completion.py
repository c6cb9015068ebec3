"""What a real bash offers when Tab is pressed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import frugalbandits as fb
from frugalbandits.lab.leaderboard.board import families
from frugalbandits.lab.paper.experiments import experiments

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


OFFERED = {
    "frugal sim": ["simulate"],
    "frugal session ": ["show"],
    "frugal simulate good": ["goodreads"],
    "frugal simulate goodreads router": ["routerbench-mbpp", "routerbench-arc"],
    "frugal instances ": [*fb.instances()],
    "frugal simulate nu1 --policy ": [*fb.policies(), "all", "every", "moving"],
    "frugal bounds nu1 --simulate --policy glr": ["glr-cof"],
    "frugal simulate nu1 --rewards be": ["bernoulli", "beta"],
    "frugal simulate nu1 --world drift-": ["drift-10", "drift-worse", "drift-slow", "drift-better"],
    "frugal warm-up pe": ["pe-cs"],
    "frugal reproduce ": [*experiments(), "all"],
    "frugal leaderboard ": [
        *families(),
        "all",
        "worlds",
        "contextual",
        "contextual-late",
        "contextual-wanted",
    ],
    "frugal policies --js": ["--json"],
}


def at_the_end_of(line: str) -> str:
    """What bash does when Tab is pressed there: it calls the function, which leaves a list behind."""
    words = shlex.split(line) + ([""] if line.endswith(" ") else [])
    return (
        f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; COMPREPLY=()\n"
        '_frugal_completion frugal; echo "${COMPREPLY[@]}"\n'
    )


def test_names_and_options_are_completed() -> None:
    script = 'eval "$(frugal --show-completion bash)"\ncomplete -p frugal\n'
    script += "".join(map(at_the_end_of, OFFERED))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "PATH": path},
        check=True,
    )
    registered, *lines = ran.stdout.splitlines()
    assert (registered, ran.stderr) == ("complete -o default -F _frugal_completion frugal", "")
    found = {line: offered.split() for line, offered in zip(OFFERED, lines, strict=True)}
    assert {line: sorted(names) for line, names in found.items()} == {
        line: sorted(names) for line, names in OFFERED.items()
    }
