"""Write `examples/llm_routing.ipynb` from the script of that name, with what its cells print.

    python docs/make_notebook.py

It runs the script cell by cell, so it wants LiteLLM (`make litellm` installs it). A line that begins with
``# %%`` begins a cell; what follows in that line is text.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[1] / "examples" / "llm_routing.py"
_MARK = "# %%"


def cells_of(script: str) -> list[tuple[str, str]]:
    """Return the cells of a script: kind and text.

    The first is what stands above the first mark: the docstring.
    """
    head, *parts = script.split(f"\n{_MARK} ")
    cells = [("markdown", head.strip().strip('"').strip())]
    for part in parts:
        text, _, code = part.partition("\n")
        cells.append(("markdown", text.strip()))
        cells.append(("code", code.strip("\n")))
    return cells


def executed(cells: list[tuple[str, str]], name: str) -> list[dict[str, Any]]:
    """Return cells as a notebook has them, run one after the other, with what they print."""
    space: dict[str, Any] = {"__name__": "__main__"}
    made: list[dict[str, Any]] = []
    for number, (kind, text) in enumerate(cells):
        cell: dict[str, Any] = {
            "cell_type": kind,
            "id": f"cell-{number}",
            "metadata": {},
            "source": _lines(text),
        }
        if kind == "code":
            out = io.StringIO()
            with redirect_stdout(out):
                exec(compile(text, f"{name}, cell {number}", "exec"), space)
            printed = {"output_type": "stream", "name": "stdout", "text": _lines(out.getvalue())}
            cell |= {"execution_count": None, "outputs": [printed] if out.getvalue() else []}
        made.append(cell)
    return made


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """Run the script, and write the notebook beside it."""
    sys.argv = [str(SCRIPT)]
    notebook = {
        "cells": executed(cells_of(SCRIPT.read_text(encoding="utf-8")), SCRIPT.name),
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path = SCRIPT.with_suffix(".ipynb")
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")


if __name__ == "__main__":
    main()
