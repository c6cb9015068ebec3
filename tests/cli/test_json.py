"""`--json`: every command has it, with a stated shape and the numbers of its tables."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import frugalbandits as fb
from cli_harness import ENDLESS, FEW, SMALL, STORED, few_files, frugal, good, leaves, refused, uncompiled
from frugalbandits.cli.shapes import document
from frugalbandits.lab.terminal.bounds import short
from frugalbandits.lab.text import percent, readable, seconds, shown

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.fixture(autouse=True)
def files(in_an_empty_folder: Path) -> None:
    few_files()


def no_such_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def told(*arguments: str) -> Any:
    """The document that a command prints, and nothing else on standard output."""
    ran = frugal(*arguments, "--json")
    assert ran.exit_code == 0, ran.output
    assert uncompiled(ran.stderr) == ""
    assert ran.stdout.isascii()
    return json.loads(ran.stdout, parse_constant=no_such_constant)


def test_every_command_is_tried_here() -> None:
    assert set(FEW) == set(leaves()) - ENDLESS


@pytest.mark.parametrize("path", leaves(), ids=" ".join)
def test_every_command_has_json_an_example_and_a_place_in_the_docs(path: tuple[str, ...]) -> None:
    command = leaves()[path]
    assert path in ENDLESS or any("--json" in parameter.opts for parameter in command.params)
    assert command.epilog.splitlines()[-1].startswith(f"Example: frugal {' '.join(path)}")
    assert f"<!-- help: {' '.join(path)} -->" in DOCS.read_text()


@pytest.mark.parametrize("path", FEW, ids=" ".join)
def test_the_document_is_one_and_every_key_is_in_the_docs(path: tuple[str, ...]) -> None:
    found = told(*path, *FEW[path])
    assert (found["command"], found["version"]) == (" ".join(path), fb.__version__)
    page = DOCS.read_text()
    if path[-1] == "show":
        found["session"] = {}  # the sessions page tells what is in it
    documented = set(re.findall(r"`([a-z_-]+)`", page[: page.index("## Policies")]))
    documented |= set(re.findall(r"`([a-z_-]+)`", section(page, path)))
    assert set(keys(found)) - documented == set()


def section(page: str, path: tuple[str, ...]) -> str:
    (own,) = [part for part in page.split("\n## ") if f"<!-- help: {' '.join(path)} -->" in part]
    return own


# What stands for names: of settings, of policies, of options.
FREE = ("settings", "mean_pulls", "uses")


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield key
            if key not in FREE:
                yield from keys(part)
    elif isinstance(value, list):
        for part in value:
            yield from keys(part)


# The same numbers


def values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value
        for part in value.values():
            yield from values(part)
    elif isinstance(value, list):
        for part in value:
            yield from values(part)
    else:
        yield value


def ways_to_write(value: Any) -> set[str]:
    if isinstance(value, str):
        return set(words(value))
    if value is None or isinstance(value, bool):
        return set()
    number = float(value)
    ways = {
        readable(number),
        short(number),
        seconds(number),
        percent(number),
        percent(number, 1),
        f"{number:.0%}",
    }
    ways |= {str(value), f"{number:g}", f"{number:.3g}", f"{number:.4f}", f"{value:,}", f"{number:.3g}x"}
    return ways | ({shown(number)} if number >= 0 else set())


def words(text: str) -> list[str]:
    return [word.strip("[],;()'") for word in re.split(r"[\s=]+", text)]


def table_rows(printed: str) -> Iterator[str]:
    """The rows of tables: as long as the line below their heads, because they are filled up."""
    length = 0
    for line in printed.splitlines():
        if set(line) == {"\N{BOX DRAWINGS LIGHT HORIZONTAL}"}:
            length = len(line)
        elif len(line) == length > 0:
            yield line
        else:
            length = 0


@pytest.mark.parametrize(
    "path", [path for path in FEW if path != ("session", "show") and path not in STORED], ids=" ".join
)
def test_every_number_of_a_table_is_in_the_document(path: tuple[str, ...]) -> None:
    found = told(*path, *FEW[path])
    known = {way for value in values(found) for way in ways_to_write(value)}
    rows = list(table_rows(good(*path, *FEW[path])))
    assert rows
    for row in rows:
        cells = re.split(r"\s{2,}", row.strip())
        if path in {("simulate",), ("warm-up",)}:
            cells = [cell for cell in cells if not re.fullmatch(r"\d+\.\d\d", cell)]  # seconds of another run
        told_here = [word for cell in cells for word in words(cell)]
        unknown = [word for word in told_here if re.search(r"\d", word) and word not in known]
        assert unknown == [], row


def test_numbers_have_full_precision() -> None:
    (first,) = told("simulate", "goodreads", *SMALL)["results"]
    problem = fb.instance("goodreads")
    result = fb.simulate(problem, "etc-cs", 1000, runs=3, checkpoints=5)
    for kind in ("summed", "cost", "quality"):
        assert tuple(first[f"{kind}_regret"].values()) == tuple(result.summary(kind))
    assert first["quality"] == {"kind": "relative-to-best", "alpha": 0.05}
    arms = told("instances", "goodreads")["instance"]["arms"]
    assert [arm["mean"] for arm in arms] == problem.means[problem.order].tolist()
    assert [arm["feasible"] for arm in arms] == problem.feasible[problem.order].tolist()


def test_a_session_is_its_explanation() -> None:
    found = told("session", "show", "session.json")
    assert found["session"] == json.loads(json.dumps(fb.Session.load("session.json").explain().to_dict()))


def test_what_is_not_finite_is_null() -> None:
    found = json.loads(document("x", a=[math.nan, np.inf, -math.inf, np.float64(1)], b=np.array([np.nan])))
    assert (found["a"], found["b"]) == ([None, None, None, 1.0], [None])
    fb.write_instance(fb.Problem([0.72, 0.8, 0.5], [1, 2, 3], alpha=0.1), "odd.txt")
    assert "inf" in good("bounds", "odd.txt")
    found = told("bounds", "odd.txt")
    assert found["least_regret"]["bernoulli"]["sum"] is None
    assert found["cof_at_most"]["against_least"] is None


def test_files_are_written_and_named_but_not_talked_about() -> None:
    found = told("simulate", "goodreads", *SMALL, "--out", "new/x.csv", "--plot", "x.png")
    assert found["written"] == ["new/x.csv", "x.png"]
    assert all(Path(name).stat().st_size > 0 for name in found["written"])
    assert told("instances", "nu1", "--plot", "y.svg")["written"] == ["y.svg"]
    assert told("bounds", "nu1", "--plot", "z.svg")["written"] == ["z.svg"]
    options = ("--ratings", "ratings.csv", "--movies", "movies.csv", "--out", "m.txt", "--plot", "m.png")
    assert told("instance", "movielens", *options)["written"] == ["m.txt", "m.png"]


def test_an_error_is_still_one_line_and_no_document() -> None:
    refused("simulate", "goodreds", "--json")
    refused("session", "show", "none.json", "--json")
