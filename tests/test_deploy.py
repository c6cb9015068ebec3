"""The files that put the service into containers and under systemd, as far as they can be checked here."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"


def lint(*command: str) -> None:
    tool = shutil.which(command[0], path=str(Path(sys.executable).parent))
    assert tool is not None, f"{command[0]} is missing: pip install -c constraints.txt '.[dev]'"
    result = subprocess.run([tool, *command[1:]], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_container_file_is_in_order() -> None:
    lint("hadolint", str(DEPLOY / "Containerfile"))


def test_the_compose_file_is_one() -> None:
    lint("check-jsonschema", "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml"))


@pytest.mark.parametrize("name", ["Containerfile", "compose.yaml", "frugalbandits.service"])
def test_options_that_are_used_are_options_of_the_command(name: str) -> None:
    text = (DEPLOY / name).read_text(encoding="utf-8")
    told = subprocess.run(
        [sys.executable, "-m", "frugalbandits.cli", "serve", "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    used = {
        option for line in text.splitlines() if "serve" in line for option in re.findall(r"--[a-z]+", line)
    }
    assert used
    assert used <= set(re.findall(r"--[a-z-]+", told))


def test_what_is_copied_and_installed_is_there() -> None:
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    copied = [
        part for line in re.findall(r"^COPY (?!--)(.+) \S+$", text, re.MULTILINE) for part in line.split()
    ]
    assert copied
    assert all((ROOT / part).exists() for part in copied)


def test_the_unit_starts_the_service_and_keeps_its_state() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.read(DEPLOY / "frugalbandits.service", encoding="utf-8")
    command = shlex.split(unit["Service"]["execstart"])
    assert command[:2] == ["/opt/frugalbandits/bin/frugal", "serve"]
    store = command[command.index("--store") + 1]
    assert store.startswith(f"sqlite:////var/lib/{unit['Service']['statedirectory']}/")
