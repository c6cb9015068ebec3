"""The examples run, and the skeleton in CONTRIBUTING.md is one of them; mypy checks them with the package."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path):
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not list(tmp_path.iterdir())


def test_there_is_one_for_each_way_in():
    assert [path.stem for path in EXAMPLES] == ["day", "demo_traffic", "own_policy", "production", "research"]


def test_the_skeleton_to_copy_is_the_example():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert blocks == [(ROOT / "examples" / "own_policy.py").read_text(encoding="utf-8")]


def test_mypy_checks_them():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["mypy"]["strict"] and "examples" in settings["tool"]["mypy"]["files"]
