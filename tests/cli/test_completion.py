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


def offered(line: str) -> list[str]:
    """What bash offers at the end of a line, by the function that `frugal --show-completion` gives it."""
    words = shlex.split(line) + ([""] if line.endswith(" ") else [])
    script = f"""
        eval "$(frugal --show-completion bash)"
        read -r -a registered <<< "$(complete -p frugal)"
        COMP_WORDS=({" ".join(map(shlex.quote, words))})
        COMP_CWORD={len(words) - 1}
        _frugal_completion frugal
        [[ "${{registered[*]}}" == *"-F _frugal_completion frugal"* ]] && printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PATH": path},
        check=True,
    )
    assert ran.stderr == ""
    return ran.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("frugal sim", ["simulate"]),
        ("frugal session ", ["show"]),
        ("frugal simulate good", ["goodreads"]),
        ("frugal simulate goodreads router", ["routerbench-mbpp", "routerbench-arc"]),
        ("frugal instances ", [*fb.instances()]),
        ("frugal bounds nu", ["nu1", "nu2"]),
        ("frugal simulate nu1 --policy ", [*fb.policies(), "all", "every"]),
        ("frugal bounds nu1 --simulate --policy glr", ["glr-cof"]),
        ("frugal simulate nu1 --rewards be", ["bernoulli", "beta"]),
        ("frugal warm-up pe", ["pe-cs"]),
        ("frugal reproduce ", [*experiments(), "all"]),
        ("frugal leaderboard ", [*families(), "all"]),
        ("frugal policies --js", ["--json"]),
    ],
)
def test_names_and_options_are_completed(line: str, expected: list[str]) -> None:
    assert sorted(offered(line)) == sorted(expected)
