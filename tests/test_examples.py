"""The examples run, and the skeleton in CONTRIBUTING.md is one of them; mypy checks them with the package."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROUTING = ROOT / "examples" / "llm_routing.py"
# LiteLLM has an environment of its own, where tests/integrations runs it.
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.py")) if path != ROUTING]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path):
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not list(tmp_path.iterdir())


def test_there_is_one_for_each_way_in():
    assert [path.stem for path in EXAMPLES] == [
        "day",
        "demo_traffic",
        "digits_routing",
        "own_policy",
        "production",
        "research",
    ]


def test_the_skeleton_to_copy_is_the_example():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert blocks == [(ROOT / "examples" / "own_policy.py").read_text(encoding="utf-8")]


def test_the_notebook_is_the_script():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        from make_notebook import cells_of
    finally:
        sys.path.pop(0)
    notebook = json.loads(ROUTING.with_suffix(".ipynb").read_text(encoding="utf-8"))
    made = [(kind, text) for kind, text in cells_of(ROUTING.read_text(encoding="utf-8"))]
    kept = [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]
    assert kept == made, "python docs/make_notebook.py writes it anew, where LiteLLM is installed"
    # All of the code, in its order.
    code = "\n".join(text for kind, text in made if kind == "code")
    assert ast.dump(ast.parse(code)) == ast.dump(ast.parse(_without_docstring(ROUTING)))
    printed = "".join(
        part for cell in notebook["cells"] for out in cell.get("outputs", []) for part in out["text"]
    )
    assert "5,000 answers, spent" in printed


def _without_docstring(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = tree.body[1:]
    return ast.unparse(tree)


def test_mypy_checks_them():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["mypy"]["strict"] and "examples" in settings["tool"]["mypy"]["files"]
