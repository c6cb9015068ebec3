"""The package as others see it: its public names, its modules, its digest, and its wheel."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import grimp
import pytest
from packaging.requirements import Requirement

import frugalbandits as fb
import pythons
from process_harness import python

ROOT = Path(__file__).parents[1]
PACKAGE = Path(fb.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = [
    "frugalbandits",
    *(
        module.name
        for module in pkgutil.walk_packages([str(PACKAGE)], "frugalbandits.")
        if not module.name.endswith(".__main__")  # to import it is to run it
    ),
]


def place(name):
    """Return where ruff wants a name: constants, classes, the rest; numbers in them by value."""
    group = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return group, [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_says_what_is_public(name):
    module = importlib.import_module(name)
    public = getattr(module, "__all__", None)
    if public is None:
        own = {
            key
            for key, value in vars(module).items()
            if not key.startswith("_") and getattr(value, "__module__", None) == name
        }
        assert not own, f"{name} has no __all__, but defines {own}"
        return
    assert isinstance(public, list) and all(isinstance(each, str) for each in public)
    assert public == sorted(public, key=place)
    assert len(set(public)) == len(public)
    for each in public:
        assert hasattr(module, each), f"{name}.{each} is in __all__ and nowhere else"


def test_public_names_are_documented():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    missing = [
        name
        for name in fb.__all__
        if name != "__version__" and not re.search(rf"frugalbandits\.{name}\b", text)
    ]
    assert missing == []


def test_a_type_checker_sees_the_names_that_are_loaded_late():
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    told = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(fb.__all__) <= told
    assert set(fb.__all__) <= set(dir(fb))


@pytest.mark.parametrize(
    "name", [name for name in MODULES if hasattr(importlib.import_module(name), "__path__")]
)
def test_nothing_hides_a_module(name):
    """What has the name of a module of a package is that module."""
    package = importlib.import_module(name)
    for part in pkgutil.iter_modules(package.__path__):
        if part.name != "__main__":
            module = importlib.import_module(f"{name}.{part.name}")
            assert getattr(package, part.name) is module, f"{name}.{part.name} hides a module"


DIGESTS = """
import json, pathlib, frugalbandits
from frugalbandits.lab.sweeps.digest import code_digest
digest = code_digest.__wrapped__
root = pathlib.Path(frugalbandits.__file__).parent
before, changed = digest(), []
for path in sorted(root.rglob("*.py")):
    text = path.read_bytes()
    path.write_bytes(text + b"\\n# touched\\n")
    if digest() != before:
        changed.append(path.relative_to(root).as_posix())
    path.write_bytes(text)
assert digest() == before
print(json.dumps([str(root), changed]))
"""


def test_the_digest_of_results_covers_what_the_simulation_imports(tmp_path):
    """Every file is touched in turn; grimp, which reads imports in its own way, says which must matter."""
    copy = tmp_path / "frugalbandits"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (root, changed), _ = python(DIGESTS, PYTHONPATH=tmp_path)
    assert Path(root) == copy
    graph = grimp.build_graph("frugalbandits", cache_dir=None)
    # Progress, the look of a result, and measures that are taken of stored pulls have no part in the pulls.
    for module in ("frugalbandits.lab.shown", "frugalbandits.lab.watching", "frugalbandits.lab.promise"):
        graph.remove_module(module)
    simulation = "frugalbandits.lab.simulation"
    matters = {simulation, *graph.find_upstream_modules(simulation)}
    files = {path_of(module) for module in matters}
    assert files <= set(changed)
    # The packages above a module may matter too, but nothing else does.
    assert all(name in files or name.endswith("__init__.py") for name in changed)
    policies = {
        path.relative_to(PACKAGE).as_posix() for path in (PACKAGE / "core" / "policies").rglob("*.py")
    }
    wanted = policies - {"core/policies/__init__.py"}
    assert wanted | {"core/contract.py", "core/registry.py", "lab/driver.py", "lab/draws.py"} <= set(changed)
    assert not [name for name in changed if name.startswith(("lab/figures", "lab/paper", "cli/"))]
    assert "lab/text.py" not in changed and "core/session/online.py" not in changed


def path_of(module):
    inner = module.split(".")[1:]
    plain = Path(*inner).with_suffix(".py") if inner else Path("__init__.py")
    return (plain if (PACKAGE / plain).is_file() else Path(*inner, "__init__.py")).as_posix()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the package in a copy of its own, because building leaves files behind."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in tracked.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as opened:
        yield opened


def test_the_wheel_has_the_whole_package_and_nothing_else(wheel):
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    wanted = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == wanted
    assert "frugalbandits/py.typed" in names
    assert any(name.startswith("frugalbandits/lab/instances/data/") for name in names)
    static = "frugalbandits/service/static"
    assert {f"{static}/session.html", f"{static}/js/api.js", f"{static}/vendor/uplot/LICENSE"} <= names
    assert not [name for name in names if "test_" in name or name.startswith("tests")]


def test_the_wheel_carries_the_licence(wheel):
    (licence,) = (name for name in wheel.namelist() if name.endswith("/licenses/LICENSE"))
    assert wheel.read(licence) == (ROOT / "LICENSE").read_bytes()


@pytest.fixture(scope="module")
def metadata(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_the_wheel_needs_numpy_alone(metadata):
    needs = metadata.get_all("Requires-Dist")
    assert [need for need in needs if "extra ==" not in need] == ["numpy>=2.0"]
    assert metadata.get_all("Provides-Extra") == list(PROJECT["optional-dependencies"])
    for extra, packages in PROJECT["optional-dependencies"].items():
        told = [need.split(";")[0] for need in needs if f'extra == "{extra}"' in need]
        asked = [package.split(";")[0] for package in packages]
        assert sorted(map(words, told)) == sorted(map(words, asked))


def words(requirement):
    """Return a requirement in parts: tools write them in another order."""
    found = Requirement(requirement)
    return found.name, sorted(found.extras), sorted(map(str, found.specifier))


def test_the_wheel_names_the_command_and_the_version(wheel, metadata):
    assert metadata["Version"] == fb.__version__
    assert metadata["License-Expression"] == "MIT"
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "frugal = frugalbandits.cli:main" in wheel.read(name).decode()


def test_classifiers_name_the_pythons_that_are_tested(metadata):
    """`make pythons` tests with what the classifiers name and with all others that it finds."""
    named = pythons.wanted()
    lines = metadata.get_all("Classifier")
    assert [line.rpartition(" ")[2] for line in lines if re.search(r":: 3\.\d+$", line)] == named
    assert named[0] == ".".join(map(str, pythons.oldest()))
    assert metadata["Requires-Python"] == f">={named[0]}"
    assert set(pythons.found()) <= set(named)
    assert ".".join(map(str, sys.version_info[:2])) in pythons.found()


def test_a_python_that_cannot_be_used_is_passed_by(tmp_path, monkeypatch):
    broken = tmp_path / "python3.12"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "none"))
    assert pythons.found() == {}


def test_help_says_how(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["pythons.py", "--help"])
    with pytest.raises(SystemExit):
        pythons.main()
    assert "python tests/pythons.py --only 3.12" in capsys.readouterr().out


WITHOUT = """
import json, sys
sys.modules["litellm"] = None
from frugalbandits.integrations.litellm import FrugalRouter
try:
    FrugalRouter("chat", alpha=0.1).attach(None)
except ModuleNotFoundError as error:
    print(json.dumps(str(error)))
"""


def test_without_litellm_one_is_told_what_to_install():
    said, _ = python(WITHOUT)
    assert said == "FrugalRouter needs litellm, which is not installed: pip install 'frugalbandits[litellm]'"


def test_the_graph_of_the_rooms_knows_every_module(monkeypatch):
    """What is in no room is above all of them; arrows that are left out are implied by others."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    make_graph = importlib.import_module("make_graph")
    assert {name for name in MODULES if make_graph.room_of(name) is None} == {
        "frugalbandits",
        "frugalbandits._version",
        "frugalbandits.core",
        "frugalbandits.lab",
    }
    kept = make_graph.needed(
        make_graph.Edges({("a", "b"): 1, ("b", "c"): 2, ("a", "c"): 3, ("a", "errors"): 1})
    )
    assert kept == {("a", "b"): 1, ("b", "c"): 2}
