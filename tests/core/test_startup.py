"""Start-up: what an import loads, what is compiled when, and the same results without the compiler."""

from __future__ import annotations

import os
import time
from pathlib import Path

from process_harness import python


def test_import_loads_neither_matplotlib_nor_polars():
    code = "import sys, json, frugalbandits; print(json.dumps(sorted(sys.modules)))"
    modules, _ = python(code)
    assert not {"matplotlib", "polars", "pandas", "typer"} & set(modules)


FOLDER = """
import json, frugalbandits.core.jit as jit
folder = jit.cache_folder(("frugalbandits.core.contract",))
print(json.dumps([str(folder.path), folder.trouble]))
"""


def test_an_unwritable_cache_is_no_obstacle(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    (_, trouble), _ = python(FOLDER, FRUGALBANDITS_CACHE_DIR=blocked)
    assert trouble == "Not a directory"


def test_what_other_versions_compiled_long_ago_is_removed(tmp_path):
    for name, age in (("compiled-old", 40), ("compiled-recent", 3), ("other", 40)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "code").write_text("x")
        then = time.time() - age * 24 * 3600
        os.utime(folder, (then, then))
    current = Path(python(FOLDER, FRUGALBANDITS_CACHE_DIR=tmp_path)[0][0])
    assert {path.name for path in tmp_path.iterdir()} == {"compiled-recent", "other", current.name}


PLANS = "frugalbandits.core.policies.cof.algorithm"


def test_a_long_compilation_is_announced(capsys):
    from frugalbandits.core.jit import announced

    with announced("cof", (PLANS,), after=0.05):
        time.sleep(0.3)
    assert "compiling cof for this machine; this happens once and is kept" in capsys.readouterr().err
    with announced("cof", (PLANS,), after=5):
        pass
    assert capsys.readouterr().err == ""
