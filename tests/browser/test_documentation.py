"""The documentation as HTML: it builds without a warning, and shows what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import frugalbandits as fb
from browser_harness import chromium, size

ROOT = Path(__file__).parents[2]
# Code that is wider than its block, on a page as it is shown.
CUT = """
return [...document.querySelectorAll('.highlight-python pre')]
    .filter(block => block.scrollWidth > block.clientWidth + 1).map(block => block.innerText.slice(0, 60))
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", "docs", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_fields_and_properties_read_as_they_were_written(pages: Path) -> None:
    """Sphinx read `Whether x: y` as a type and a text, and named fields of tuples by their number."""
    page = (pages / "api.html").read_text(encoding="utf-8")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))
    assert "Alias for field number" not in text
    assert not re.findall(r"Type: ?[A-Z][a-z]+ [a-z]+", text)
    # A property whose text has a colon, and two fields that share a line.
    assert "Whether some arm is good enough: not so only where no mean reaches a fixed level." in text
    assert re.search(r"<strong>cost, quality</strong>", page)


def test_code_is_not_cut_on_a_wide_window(pages: Path, tmp_path: Path) -> None:
    with chromium(tmp_path) as driver:
        size(driver, 1680, 1000)
        for name in ("sessions", "service", "policies", "quality", "api"):
            driver.get((pages / f"{name}.html").as_uri())
            assert driver.execute_script(CUT) == [], name
        size(driver, 1400, 1000)
        driver.get((pages / "sessions.html").as_uri())
        assert driver.execute_script("return document.documentElement.scrollWidth") == 1400


def test_every_policy_is_on_the_page_of_policies() -> None:
    page = (ROOT / "docs/policies.md").read_text(encoding="utf-8")
    assert [name for name in fb.policies() if f"`{name}`" not in page] == []


def test_files_that_the_documentation_names_exist() -> None:
    folders = (
        "core|lab|stores|service|client|integrations|cli|policies|src|tests|benchmarks|examples|docs|deploy"
    )
    named = re.compile(rf"`((?:python )?(?:{folders})/[\w/.-]+\.\w+)")
    missing = []
    for page in [*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        for name in named.findall(page.read_text(encoding="utf-8")):
            path = name.removeprefix("python ")
            if not any((place / path).exists() for place in (ROOT, ROOT / "src/frugalbandits")):
                missing.append((page.name, path))
    assert missing == []
