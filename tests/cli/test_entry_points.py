"""Policies of installed packages: found by entry points, loaded when they are needed, broken ones named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = '''
import dataclasses
import sys

from frugalbandits.core.policies.pe_cs import PECS

sys.stderr.write("loaded\\n")


@dataclasses.dataclass(frozen=True)
class Patient(PECS):
    """Phased elimination with another default."""

    kappa: int = 9
    title = "patient elimination"


BRISK = Patient(kappa=2)
NUMBER = 3
'''
ENTRIES = """
[frugalbandits.policies]
patient = patience_policies:Patient
brisk = patience_policies:BRISK
broken = patience_policies_missing:Nothing
number = patience_policies:NUMBER
cof = patience_policies:BRISK
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an installed package, as pip leaves one."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "patience_policies.py").write_text(MODULE)
    about = folder / "patience_policies-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: patience-policies\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    return folder


def run(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH", ""))))
    environment = os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "default"}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=300
    )


def test_the_command_line_knows_policies_of_installed_packages(site: Path) -> None:
    listed = run(site, "-m", "frugalbandits.cli", "policies", "--json")
    found = {each["name"]: each for each in json.loads(listed.stdout)["policies"]}
    assert found["patient"]["settings"]["kappa"] == 9 and found["brisk"]["settings"]["kappa"] == 2
    # The broken ones are left out, in words; the others are there, and a name of ours is not taken.
    assert not {"broken", "number"} & set(found) and "delta" in found["cof"]["settings"]
    assert "cannot load the policy 'broken' of the package 'patience-policies'" in listed.stderr
    assert "No module named 'patience_policies_missing'" in listed.stderr
    assert "cannot load the policy 'number'" in listed.stderr and "it is no Policy, but 3" in listed.stderr


def test_a_policy_is_loaded_when_it_is_asked_for(site: Path) -> None:
    script = """
import frugalbandits as fb, sys
from frugalbandits.core.registry import resolve
fb.Session({"a": 1, "b": 2}, alpha=0.1, horizon=1000, policy="pe-cs")
assert "patience_policies" not in sys.modules
session = fb.Session({"a": 1, "b": 2}, alpha=0.1, horizon=1000, policy="patient:kappa=4")
session.tell(session.ask().id, 1.0)
print(resolve("patient:kappa=4"))
for name in ("broken", "number", "patent"):
    try:
        fb.Session({"a": 1, "b": 2}, alpha=0.1, horizon=1000, policy=name)
    except fb.InputError as error:
        print(error)
fb.Session({"a": 1, "b": 2}, alpha=0.1, horizon=1000, policy="brisk")
"""
    made = run(site, "-W", "error", "-c", script)
    assert made.returncode == 0, made.stderr
    told = made.stdout.splitlines()
    assert "Patient(kappa=4)" in told[0]
    assert told[1].startswith(
        "cannot load the policy 'broken' of the package 'patience-policies' ('patience_"
    )
    assert "it is no Policy, but 3" in told[2]
    assert "no policy is called 'patent'; did you mean 'patient'" in told[3]
    assert made.stderr.count("loaded") == 1
