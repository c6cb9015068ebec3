"""The command line as its users meet it: what it prints and what it writes."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from rich.cells import cell_len

import frugalbandits as fb
from cli_harness import ENDLESS, SMALL, few_files, good, leaves, rows, started
from frugalbandits.core.registry import _REGISTRY, resolve
from frugalbandits.lab import terminal
from frugalbandits.lab.instances.catalogue import describe
from frugalbandits.lab.paper.experiments import PAPER_POLICIES
from frugalbandits.lab.terminal.promise import held_share, promise_columns, spend_ratio
from frugalbandits.lab.text import percent, readable

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What `simulate` was asked to do; it does something quicker."""
    seen: list[dict[str, Any]] = []
    real = fb.simulate

    def record(problem: fb.Problem, policy: str, horizon: float, **options: Any) -> fb.Result:
        seen.append({"problem": problem, "policy": policy, "horizon": horizon, **options})
        quick = real(problem, "etc-cs", 10 * problem.arms, runs=options["runs"], checkpoints=2, workers=1)
        return dataclasses.replace(quick, policy=policy)

    monkeypatch.setattr(fb, "simulate", record)
    return seen


def part_of(problem: fb.Problem, arm: int) -> str:
    stars = {"a*": arm == problem.optimal_arm, "i*": arm == problem.best_arm}
    words = {
        "cheap": problem.costs[arm] < problem.costs[problem.optimal_arm],
        "expensive": problem.cost_gaps[arm] > 0,
    }
    return " ".join(word for word, true in {**stars, **words}.items() if true)


# Help and version


GROUPS = [(), ("instance",), ("session",), ("sessions",), ("token",)]


@pytest.mark.parametrize("command", [*GROUPS, *leaves()], ids=" ".join)
def test_every_help_ends_with_an_example_that_runs(command: tuple[str, ...]) -> None:
    few_files()
    shown = good(*command, "--help").rstrip().splitlines()
    example = shown[-1].strip()
    assert example.startswith(" ".join(["Example: frugal", *command]))
    assert all(len(line) <= 80 for line in shown)
    if command in ENDLESS:
        return
    if command == ("token", "revoke"):
        good("token", "add", "web")
    assert good(*shlex.split(example.removeprefix("Example: frugal "))) != ""


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_the_list_of_commands_cuts_no_sentence(group: tuple[str, ...]) -> None:
    assert "...\n" not in good(*group, "--help").partition("Commands:")[2]


def test_every_option_is_explained() -> None:
    for name, command in leaves().items():
        assert command.help, name
        assert all(parameter.help for parameter in command.params), name


def test_without_a_command_there_is_help() -> None:
    assert good() == good("--help") == good("-h")
    for name in ("policies", "instances", "simulate"):
        assert f"\n  {name} " in good()


def test_version() -> None:
    assert good("--version") == f"frugalbandits {fb.__version__}\n"


def test_console_script_and_module_are_the_same_program() -> None:
    script = Path(sys.executable).with_name("frugal")
    for command in ([str(script)], [sys.executable, "-m", "frugalbandits.cli"]):
        ran = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"frugalbandits {fb.__version__}\n", "")


def test_starting_loads_neither_matplotlib_nor_polars() -> None:
    code = "import sys, frugalbandits.cli.commands; print({'matplotlib', 'polars'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "set()\n"


# Policies


def test_policies_are_listed_with_title_and_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_REGISTRY, "cof-strict", _REGISTRY["cof"]._replace(policy=fb.COF(delta=1e-12)))
    table = good("policies")
    for name in (*fb.policies(), "cof-strict"):
        (row,) = rows(table, name)
        assert type(_REGISTRY[name].policy).title in row
        assert repr(_REGISTRY[name].policy) in row


# Instances


def test_instances_are_listed_with_their_optimal_arm() -> None:
    table = good("instances")
    for name in fb.instances():
        problem = fb.instance(name)
        (row,) = rows(table, name)
        optimal = problem.names[problem.optimal_arm]
        assert re.search(rf"\s{problem.arms}\s+{problem.alpha:g}\s+{re.escape(optimal)}\s", row)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 250])
def test_lists_lose_no_text_on_any_screen(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    listed, known = good("instances"), good("policies")
    assert max(cell_len(line.rstrip()) for line in (listed + known).splitlines()) <= width
    assert "\N{HORIZONTAL ELLIPSIS}" not in listed + known
    # Other columns stand between the parts of a text that is wrapped, so letters are counted.
    problems = {name: fb.instance(name) for name in fb.instances()}
    texts = [(name, each.names[each.optimal_arm], describe(name)) for name, each in problems.items()]
    assert letters(*(part for text in texts for part in text)) <= letters(listed)
    told = [(name, type(resolve(name)).title, repr(resolve(name))) for name in fb.policies()]
    assert letters(*(part for text in told for part in text)) <= letters(known)


def letters(*texts: str) -> Counter[str]:
    return Counter("".join("".join(texts).split()))


def test_the_list_of_instances_follows_alpha() -> None:
    (row,) = rows(good("instances", "--alpha", "0.3"), "movielens")
    assert row.split()[:4] == ["movielens", "20", "0.3", "a1"]


@pytest.mark.parametrize("name", fb.instances())
def test_a_picture_has_a_row_per_arm_by_cost_and_fits_80_columns(name: str) -> None:
    problem = fb.instance(name)
    lines = good("instances", name).splitlines()
    assert lines[0] == f"{name}: {problem.arms} arms, alpha = {problem.alpha:g}"
    assert all(cell_len(line) <= 80 for line in lines[2:])
    drawn = [line for line in lines[5:] if re.search("  (yes|no) ", line)]
    for row, arm in zip(drawn, problem.order.tolist(), strict=True):
        assert row.startswith(problem.names[arm][:8])
        verdict = "yes" if problem.feasible[arm] else "no"
        assert re.search(rf"  {verdict}\s+{re.escape(part_of(problem, arm))}$", row)
        sign = "★" if arm == problem.optimal_arm else "◆" if arm == problem.best_arm else "[●○]"
        assert len(re.findall(sign, row)) == 1
    assert any(f"max(mean) = {readable(problem.threshold)}" in line for line in lines)


def test_points_stand_on_a_common_axis_on_the_right_side_of_the_threshold() -> None:
    problem = fb.instance("cost-biased")
    lines = good("instances", "cost-biased").splitlines()[4:18]
    axis, drawn = lines[0], lines[1:]
    at = {arm: re.search("[★◆●○]", row) for arm, row in zip(problem.order.tolist(), drawn, strict=True)}
    columns = {arm: found.start() for arm, found in at.items() if found}
    by_mean = sorted(columns, key=lambda arm: problem.means[arm])
    assert [columns[arm] for arm in by_mean] == sorted(columns.values())
    bar = axis.index("┊")
    worst, best = by_mean[0], by_mean[-1]
    share = (problem.threshold - problem.means[worst]) / (problem.means[best] - problem.means[worst])
    assert bar == pytest.approx(columns[worst] + share * (columns[best] - columns[worst]), abs=1)
    assert all(row[bar] == "┊" for row in drawn)
    for arm, column in columns.items():
        assert (column > bar) == problem.feasible[arm]
        assert axis[column] in "★◆●○"


def test_instance_files_can_be_drawn(in_an_empty_folder: Path) -> None:
    fb.write_instance(fb.instance("nu1"), "mine.txt")
    assert good("instances", "mine.txt").splitlines()[0] == "mine.txt: 7 arms, alpha = 0.8"
    Path("models.csv").write_text('name,cost,quality\n"small\u202e[red]",0.2,0.81\nlarge,3.0,0.84\n')
    shown = good("instances", str(in_an_empty_folder / "models.csv"), "--alpha", "0.05")
    assert "small [red]" in shown


def test_a_picture_in_ascii_and_in_a_terminal_of_any_width() -> None:
    problem = fb.instance("swebench")
    for width in (20, 60, 80, 100, 300):
        lines = terminal.picture(problem, "swebench", width=width).plain.splitlines()
        assert max(map(cell_len, lines)) <= max(70, min(width, 110))
    assert terminal.picture(problem, "swebench", ascii_only=True).plain.isascii()
    ran = started("instances", "nu1", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    out, error = ran.communicate(timeout=60)
    assert (ran.returncode, error) == (0, "")
    assert out.isascii()
    assert "a2     2 0.24" in out


@pytest.mark.parametrize("name", ["a.png", "b.pdf", "c.SVG", "new/folder/d.png"])
def test_an_instance_can_be_drawn_as_a_figure(name: str) -> None:
    shown = good("instances", "goodreads", "--plot", name)
    assert shown.endswith(f"\nfigure written to {name}\n")
    assert Path(name).stat().st_size > 3000


# Simulation


def test_a_table_per_instance_and_alpha_shows_the_library_s_numbers() -> None:
    out = good(
        "simulate", "goodreads", "nu1", *SMALL, "--policy", "ucb-cs", "--alpha", "0.05", "--alpha", "0.2"
    )
    tables = out.strip().split("\n\n")
    places = [(name, alpha) for name in ("goodreads", "nu1") for alpha in (0.05, 0.2)]
    assert len(tables) == 8
    for (name, alpha), table, promise in zip(places, tables[::2], tables[1::2], strict=True):
        problem = fb.instance(name, alpha)
        arm = problem.optimal_arm
        assert table.splitlines()[0] == (
            f"{name}, alpha = {alpha}, T = 1,000, 3 runs: a* is {problem.names[arm]} "
            f"(mean {problem.means[arm]:g}, cost {problem.costs[arm]:g})"
        )
        for policy in ("etc-cs", "ucb-cs"):
            result = fb.simulate(problem, policy, 1000, runs=3, checkpoints=5)
            (row,) = rows(table, policy)
            cells = re.split(r"\s{2,}", row)
            for kind, cell in zip(("scaled", "summed", "cost", "quality"), cells[1:5], strict=True):
                mean, low, high = map(readable, result.summary(kind))
                assert cell == f"{mean} [{low}, {high}]"
            assert cells[5:7] == [percent(result.late_on_optimal), "\N{EN DASH}"]
            assert re.fullmatch(r"\d+\.\d\d", cells[7])
            (row,) = rows(promise, policy)
            assert re.split(r"\s{2,}", row)[1:] == [
                held_share(result.held[-1]),
                spend_ratio(result.delivered_low[-1]),
                held_share(result.late_good),
                spend_ratio(result.spend_over_oracle[:, -1].mean()),
                readable(result.promise_regret[:, -1].mean()),
            ]


def test_a_narrow_table_puts_percentiles_below_the_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = good("simulate", "cost-biased", *SMALL).splitlines()
    assert all(len(line) <= 80 for line in out)
    row, _ = rows("\n".join(out), "etc-cs")
    assert "[" not in row
    assert "[" in out[out.index(row) + 1]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 130])
def test_no_number_is_cut_on_any_screen(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    policies = ("cof", "ts-cs", "glr-cof:tolerance=0.02,goal=conclusion")
    named = [word for policy in policies for word in ("--policy", policy)]
    out = good("simulate", "cost-biased", "--horizon", "3000", "--runs", "3", "--checkpoints", "5", *named)
    assert max(cell_len(line.rstrip()) for line in out.splitlines()) <= width
    assert "\N{HORIZONTAL ELLIPSIS}" not in out
    words = out.replace("[", " ").replace("]", " ").replace(", ", " ").replace(",\n", " ").split()
    for policy in policies:
        result = fb.simulate(fb.instance("cost-biased"), policy, 3_000, runs=3, checkpoints=5)
        for kind in ("summed", "cost", "quality"):
            assert {readable(value) for value in result.summary(kind)} <= set(words)
        assert {percent(result.late_on_optimal), percent(result.settled_on_optimal)} <= set(words)
        assert {value for _, value in promise_columns(result)} <= set(words)
    assert "late: pulls after t = 2,400" in " ".join(out.split())


def test_options_reach_the_library(calls: list[dict[str, Any]]) -> None:
    good("simulate", "nu2", "--policy", "pe-cs", "--horizon", "5e4", "--runs", "1e1", "--seed", "7",
         "--checkpoints", "9", "--workers", "2", "--rewards", "beta")  # fmt: skip
    real = calls[-1]
    assert real["problem"] == fb.instance("nu2")
    assert (real["policy"], real["horizon"], real["runs"], real["seed"]) == ("pe-cs", 50_000, 10, 7)
    assert (real["checkpoints"], real["workers"], real["rewards"]) == (9, 2, fb.BetaRewards())


def test_defaults(calls: list[dict[str, Any]]) -> None:
    good("simulate", "goodreads")
    real = [call for call in calls if "seed" in call]
    assert tuple(call["policy"] for call in real) == PAPER_POLICIES
    assert {(call["horizon"], call["runs"], call["seed"], call["checkpoints"]) for call in real} == {
        (100_000, 50, 0, 500)
    }
    assert {call["problem"].alpha for call in real} == {0.05}


@pytest.mark.parametrize("text", ["5e6", "5_000_000", "5000000", "5.0e+06"])
def test_ways_to_write_a_horizon(text: str, calls: list[dict[str, Any]]) -> None:
    good("simulate", "goodreads", "--policy", "cof", "--horizon", text, "--runs", "1")
    assert calls[-1]["horizon"] == 5_000_000
    assert isinstance(calls[-1]["horizon"], int)


def test_groups_of_policies_and_no_cell_twice(calls: list[dict[str, Any]]) -> None:
    arguments = ["goodreads", "nu1", "goodreads", "--alpha", "0.1", "--alpha", "0.10", "--runs", "1"]
    for given, expected in (
        (["cof", "all", "etc-cs"], PAPER_POLICIES),
        (["every"], fb.policies(moving=False, over="each")),
        (["moving"], fb.policies(moving=True)),
        (["ts-cs", "cof", "ts-cs"], ("ts-cs", "cof")),
    ):
        calls.clear()
        good("simulate", *arguments, *(part for name in given for part in ("--policy", name)))
        cells = [(call["problem"].arms, call["policy"]) for call in calls if "seed" in call]
        assert cells == [(arms, policy) for arms in (8, 7) for policy in expected]


def test_the_papers_policies_are_registered() -> None:
    assert set(PAPER_POLICIES) <= set(fb.policies())


@pytest.mark.parametrize(
    ("name", "read"), [("t.parquet", pl.read_parquet), ("deep/t.CSV", pl.read_csv)], ids=["parquet", "csv"]
)
def test_the_table_on_disk_is_the_library_s(name: str, read: Callable[[str], pl.DataFrame]) -> None:
    fb.write_instance(fb.instance("nu1"), "mine.txt")
    out = good(
        "simulate", "goodreads", "mine.txt", *SMALL, "--policy", "ucb-cs", "--seed", "3", "--out", name
    )
    assert out.splitlines()[-1] == f"table of 60 rows written to {name}"
    expected = []
    for given, problem in (("goodreads", fb.instance("goodreads")), ("mine.txt", fb.instance("nu1"))):
        for policy in ("etc-cs", "ucb-cs"):
            tidy = fb.simulate(problem, policy, 1000, runs=3, seed=3, checkpoints=5).to_polars()
            expected.append(tidy.select(pl.lit(given).alias("instance"), pl.all()))
    assert_frame_equal(read(name), pl.concat(expected))


def test_a_figure_of_the_regret(in_an_empty_folder: Path) -> None:
    out = good("simulate", "goodreads", "nu1", *SMALL, "--plot", "out/regret.png", "--out", "out/regret.csv")
    assert out.splitlines()[-2:] == [
        "table of 30 rows written to out/regret.csv",
        "figure written to out/regret.png",
    ]
    assert Path("out/regret.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in Path("out").iterdir()) == ["regret.csv", "regret.png"]
