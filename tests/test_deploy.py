"""The files that put the service into containers and under systemd, as far as they can be checked here."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import cli_harness

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


# Secrets.


def make_secrets(folder: Path) -> Path:
    """Run the script in a copy of its folder, as whoever starts the compose file does."""
    shutil.copy(DEPLOY / "make-secrets.sh", folder)
    # Whatever the caller's own mask is.
    subprocess.run(
        ["sh", "-c", "umask 022; sh ./make-secrets.sh"], cwd=folder, check=True, capture_output=True
    )
    return folder / "secrets"


def test_the_secrets_of_the_compose_file_are_made_by_a_script(tmp_path: Path) -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    files = {name: Path(each["file"]).name for name, each in compose["secrets"].items()}
    folder = make_secrets(tmp_path)
    assert {each.name for each in folder.iterdir()} == set(files.values())
    # Compose mounts a file with the mode and the owner that it has: others must be able to read it.
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o444}
    for service in compose["services"].values():
        # Where a secret has a mode of its own, that mode does nothing.
        assert all(isinstance(secret, str) for secret in service["secrets"])
    environment = compose["services"]["service"]["environment"]
    assert environment == {"FRUGALBANDITS_STORE_FILE": "/run/secrets/store"}
    password = (folder / "database_password").read_text()
    assert re.fullmatch(r"[0-9a-f]{64}", password)
    database = compose["services"]["database"]["environment"]
    user, name = database["POSTGRES_USER"], database["POSTGRES_DB"]
    assert (folder / "store").read_text() == f"postgresql://{user}:{password}@database/{name}\n"
    # Again: the database has the password by now.
    assert make_secrets(tmp_path) == folder
    assert (folder / "database_password").read_text() == password
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert "deploy/secrets/" in ignored


def test_the_address_of_a_store_may_be_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FRUGALBANDITS_STORE", raising=False)
    secret = tmp_path / "store"
    monkeypatch.setenv("FRUGALBANDITS_STORE_FILE", str(secret))
    assert "cannot read the file" in cli_harness.refused("token", "list")
    for text in ("", "\n", "sqlite:///a.db\nsqlite:///b.db\n"):
        secret.write_text(text)
        assert "must hold one line" in cli_harness.refused("token", "list")
    secret.write_text(f"sqlite:///{tmp_path}/decisions.db\n")
    command = [sys.executable, "-m", "frugalbandits.cli", "token", "add", "first", "--role", "admin"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.startswith("frugal_")
    assert (tmp_path / "decisions.db").exists()
    monkeypatch.setenv("FRUGALBANDITS_STORE", "memory:")
    assert "both set" in cli_harness.refused("token", "list")
    assert "both set" in cli_harness.refused("serve")


def test_the_compile_cache_of_the_image_is_in_no_volume() -> None:
    """What is in a volume stays there, so an image with newer code would not be seen."""
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    (cache,) = re.findall(r'FRUGALBANDITS_CACHE_DIR="([^"]+)"', text)
    (volume,) = re.findall(r'^VOLUME \["([^"]+)"\]', text, re.MULTILINE)
    assert not Path(cache).is_relative_to(volume)
    assert f"install -d -o frugal {cache}" in text
    # The store is in the volume: the default is a file in the folder in which the service starts.
    assert re.search(rf"^WORKDIR {volume}$", text, re.MULTILINE)
