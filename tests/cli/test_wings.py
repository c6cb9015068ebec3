"""What the command line says where a package is not installed."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest

import frugalbandits as fb
from cli_harness import SMALL, frugal

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")

WITHOUT = "import sys; sys.modules[{module!r}] = None; from frugalbandits.cli import main; main()"


def ran_without(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = WITHOUT.format(module=module)
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def numpy_alone(tmp_path: Path) -> Path:
    """The Python of an environment that has numpy, this package and nothing else."""
    venv.create(tmp_path / "env", symlinks=True)
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    for part in Path(np.__file__).parents[1].glob("numpy*"):
        (packages / part.name).symlink_to(part)
    (packages / "here.pth").write_text(str(Path(fb.__file__).parents[1]))
    return tmp_path / "env" / "bin" / "python"


@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
def test_with_numpy_alone_it_says_what_to_install(numpy_alone: Path) -> None:
    for arguments in ([], ["--help"], ["simulate", "goodreads"]):
        command = [str(numpy_alone), "-I", "-m", "frugalbandits.cli", *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ran.stderr == (
            "frugal: error: the command line needs typer, which is not installed: "
            "pip install 'frugalbandits[lab]'\n"
        )


@pytest.mark.parametrize("module", ["typer", "rich", "scipy"])
def test_the_first_package_that_is_missing_is_named(module: str) -> None:
    arguments = ("bounds", "movielens") if module == "scipy" else ("policies",)
    ran = ran_without(module, *arguments)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("frugal: error: ") and ran.stderr.count("\n") == 1
    assert module in ran.stderr
    assert ran.stderr.endswith("not installed: pip install 'frugalbandits[lab]'\n")


@pytest.mark.parametrize(
    ("module", "arguments", "words"),
    [
        ("polars", ("simulate", "goodreads", "--out=x.csv"), "--out needs polars"),
        ("matplotlib", ("simulate", "goodreads", "--plot=x.png"), "--plot needs matplotlib"),
        ("matplotlib", ("instances", "goodreads", "--plot=x.png"), "--plot needs matplotlib"),
        ("matplotlib", ("reproduce", "instances", "--quick"), "reproduce needs matplotlib"),
        ("distributed", ("reproduce", "--cluster", "tcp://127.0.0.1:1"), "--cluster needs distributed"),
        ("distributed", ("leaderboard", "--cluster", "tcp://127.0.0.1:1"), "--cluster needs distributed"),
    ],
)
def test_a_missing_extra_is_named_before_any_work(
    module: str, arguments: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    ran = frugal(*arguments)
    extra = "cluster" if module == "distributed" else "lab"
    said = f"{words}, which is not installed: pip install 'frugalbandits[{extra}]'"
    assert (ran.exit_code, ran.stdout, ran.stderr) == (1, "", f"frugal: error: {said}\n")
    assert list(Path().iterdir()) == []


def test_what_does_not_need_it_still_works() -> None:
    for module in ("matplotlib", "polars", "distributed"):
        assert ran_without(module, "policies").returncode == 0
    assert ran_without("matplotlib", "simulate", "goodreads", *SMALL).returncode == 0
