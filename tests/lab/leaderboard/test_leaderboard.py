"""The leaderboard: its statistics and its pages, on outcomes made by hand."""

from __future__ import annotations

import csv
import math
import re

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

import frugalbandits as fb
from frugalbandits.errors import InputError
from frugalbandits.lab.bounds import least_regret
from frugalbandits.lab.documents.markdown import to_markdown
from frugalbandits.lab.instances.catalogue import describe
from frugalbandits.lab.leaderboard import board as board_module
from frugalbandits.lab.leaderboard.board import (
    Leaderboard,
    chosen_families,
    families,
    family,
    row_of,
    run,
    standings,
)
from frugalbandits.lab.leaderboard.page import document, screen, write
from frugalbandits.lab.result import Result
from frugalbandits.lab.sweeps.cells import Cell, Outcome, Settings, problem_of, random_names
from frugalbandits.lab.sweeps.store import Store
from frugalbandits.lab.sweeps.sweep import sweep

# a2 is optimal. A pull of a1 has a regret of 0.44, one of a3 of 7.
PROBLEM = fb.Problem([0.2, 0.7, 0.8], [1, 2, 9], alpha=0.2)
# The cheapest arm is certainly good enough, and nothing has to be learned of the other.
EASY = fb.Problem([0.5, 0.5], [1, 2], alpha=0.6)
SAME = fb.Problem([0.7, 0.7, 0.7], [1, 1, 1], alpha=0.1)
EVENT = np.dtype([("run", np.int64), ("time", np.int64), ("event", "U10"), ("arm", np.int64)])
T = 10_000


def made(policy, dear, problem=PROBLEM, name="made", ended_elsewhere=()):
    """An outcome whose runs pulled the last arm `dear` times each, early on, and settled on a* after that.

    Those that ended elsewhere did so late, and did not settle.
    """
    runs = len(dear)
    pulls = np.zeros((runs, 2, problem.arms), np.int64)
    pulls[:, 1, -1] = dear
    pulls[:, 0, -1] = [0 if run in ended_elsewhere else dear[run] for run in range(runs)]
    pulls[:, :, problem.optimal_arm] += [T // 2, T] - pulls[:, :, -1]
    settled = [(run, 1, "optimal", problem.optimal_arm) for run in range(runs) if run not in ended_elsewhere]
    result = Result(
        problem, policy, 0, np.array([T // 2, T]), pulls, np.array(settled, EVENT), np.ones(runs, np.int64)
    )
    return Outcome(Cell(name, problem.alpha, policy, T, runs, 0, 2), result, 0.25)


def by_policy(row):
    return {entry.policy: entry for entry in row.entries}


# Rows


def test_a_row_has_each_regret_over_the_best_and_over_the_least():
    unlucky = made("b", [100, 0], ended_elsewhere=[0])
    row = row_of("paper", [made("a", [10, 30]), unlucky, made("c", [20, 20]), made("d", [20, 24])])
    entries = by_policy(row)
    assert [entry.regret for entry in row.entries] == [140.0, 350.0, 140.0, 154.0]
    # All of it is cost regret, and costs range over 8.
    assert [entry.scaled for entry in row.entries] == [17.5, 43.75, 17.5, 19.25]
    assert [entry.over_best for entry in row.entries] == [1.0, 2.5, 1.0, 1.1]
    assert [entry.won for entry in row.entries] == [True, False, True, False]
    assert [entry.worst_run for entry in row.entries] == [26.25, 87.5, 17.5, 21.0]
    assert [entry.late_on_optimal for entry in row.entries] == [1.0, 0.99, 1.0, 1.0]
    assert [entry.settled_on_optimal for entry in row.entries] == [1.0, 0.5, 1.0, 1.0]
    assert (entries["b"].cost, entries["b"].quality, entries["b"].seconds) == (350.0, 0.0, 0.25)
    bound = least_regret(PROBLEM.scaled(), T)
    assert (row.least, row.too_early) == (bound.value, False)
    assert entries["b"].over_least == 43.75 / bound.value
    told = (row.family, row.instance, row.alpha, row.horizon, row.runs, row.arms)
    assert told == ("paper", "made", 0.2, T, 2, 3)


def test_less_than_a_pull_of_the_worst_arm_counts_as_one():
    row = row_of("paper", [made("none", [0, 0]), made("half", [0, 1]), made("some", [2, 4])])
    assert [entry.regret for entry in row.entries] == [0.0, 3.5, 21.0]
    assert [entry.over_best for entry in row.entries] == [1.0, 1.0, 3.0]
    assert [entry.won for entry in row.entries] == [True, True, False]
    assert by_policy(row)["none"].over_least == 7.0 / 8.0 / row.least


def test_where_no_arm_has_regret_all_ratios_are_one():
    row = row_of("random", [made("a", [3], SAME), made("b", [400], SAME)])
    assert [entry.over_best for entry in row.entries] == [1.0, 1.0]
    assert row.least == 0.0 and not row.comparable
    assert all(entry.won and entry.over_least is None for entry in row.entries)


def test_where_the_bound_says_nothing_there_is_no_ratio(monkeypatch):
    assert [row_of("random", [made("a", [9], EASY)]).least] == [0.0]
    real = least_regret(PROBLEM, T)
    for value, early in ((0.0, False), (math.inf, False), (5.0, True), (5.0, False)):
        pulls = real.pulls + (T if early else 0)
        changed = type(real)(value, pulls, (), "sum", T, PROBLEM)
        monkeypatch.setattr(board_module, "least_regret", lambda *given, changed=changed: changed)
        row = row_of("paper", [made("a", [5])])
        assert row.comparable == (value == 5.0 and not early)
        assert row.entries[0].over_least == (0.875 if row.comparable else None)


# Standings


def rows_by_hand():
    """Over best: a is 1, 1, 8 and b is 4, 4, 1; the third row has no bound."""
    return [
        row_of("paper", [made("a", [10], name="one"), made("b", [40], name="one", ended_elsewhere=[0])]),
        row_of("paper", [made("a", [10], name="two"), made("b", [40], name="two")]),
        row_of("paper", [made("a", [80], EASY, "three"), made("b", [10], EASY, "three")]),
        row_of("random", [made("a", [20, 20], name="four"), made("b", [5, 5], name="four")]),
    ]


def test_standings_sum_up_each_family():
    rows = rows_by_hand()
    found = standings(rows)
    assert [(each.family, each.policy) for each in found] == [
        ("paper", "a"), ("paper", "b"), ("random", "b"), ("random", "a")
    ]  # fmt: skip
    a, b = found[:2]
    assert (a.rows, a.won, a.comparable, a.settled_on_optimal) == (3, 2, 2, 1.0)
    assert a.over_best == pytest.approx(2.0) and a.worst == 8.0 and a.worst_row.instance == "three"
    assert b.over_best == pytest.approx(16 ** (1 / 3)) and b.worst == 4.0 and b.worst_row.instance == "one"
    assert a.over_least == pytest.approx(8.75 / rows[0].least)
    assert b.over_least == pytest.approx(35.0 / rows[0].least)
    assert b.won == 1 and b.settled_on_optimal == pytest.approx(2 / 3)
    assert (found[2].over_best, found[3].worst) == (1.0, 4.0)


def test_without_any_bound_there_is_no_ratio_to_it():
    (standing,) = standings([row_of("random", [made("a", [9], EASY)])])
    assert standing.over_least is None and standing.comparable == 0


# Pages


def a_board():
    return Leaderboard(("paper", "random"), ("a", "b"), Settings(quick=True), tuple(rows_by_hand()), 1.0)


def printed(width):
    console = Console(width=width)
    with console.capture() as caught:
        for part in screen(a_board(), width):
            console.print(part)
    return caught.get()


@pytest.mark.parametrize("width", [70, 80, 120])
def test_the_screen_has_a_table_for_each_family(width):
    lines = printed(width).splitlines()
    assert max(cell_len(line.rstrip()) for line in lines) <= width
    rows = [line.split() for line in lines if re.match("[ab] ", line)]
    # In each family the promise comes first, and regret after it.
    assert [row[:3] for row in rows[2:4] + rows[6:]] == [
        ["a", "2.00", "8.00"], ["b", "2.52", "4.00"], ["b", "1.00", "1.00"], ["a", "4.00", "4.00"]
    ]  # fmt: skip
    assert [row[:2] for row in rows[:2] + rows[4:6]] == [
        ["a", "100%"], ["b", "100%"], ["b", "100%"], ["a", "100%"]
    ]  # fmt: skip
    assert "1% of" in " ".join(lines) and "promise" in " ".join(lines)
    assert "Over least: 2 of 3 rows; the bound is 0 in 1" in [line.rstrip() for line in lines]


def test_the_problem_on_which_a_policy_is_worst_is_named_where_there_is_room():
    wide, narrow = printed(120), printed(60)
    assert "three, 0.6" in wide and "worst on" in wide
    assert "three" not in narrow and "worst" in narrow


LONG = "glr-cof:tolerance=0.02,goal=conclusion"


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100, 120])
def test_no_number_is_cut_on_any_screen(width):
    outcomes = [made(LONG, [10]), made("ts-cs", [4_000]), made("pe-cs", [1234], ended_elsewhere=[0])]
    rows = [row_of("paper", outcomes)]
    board = Leaderboard(("paper",), (LONG, "ts-cs", "pe-cs"), Settings(), tuple(rows), 1.0)
    console = Console(width=width)
    with console.capture() as caught:
        console.print(screen(board, width)[0])
    text = caught.get()
    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= width
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    names = "".join(text.split())
    assert all(part in names for part in ("glr-cof:", "tolerance=0.02,", "goal=conclusion"))
    wanted = ["400", "123", "100%", "75%", "0%", "\N{EN DASH}"]
    numbers = text.split()
    assert all(number in numbers for number in wanted), (wanted, numbers)


def test_the_page_has_rows_and_says_where_there_is_no_bound(monkeypatch):
    text = to_markdown(document(a_board())).replace("\\", "")
    assert "| one | 0.2 | 10,000 | **1.00** | 4.00 |" in text
    assert "| three | 0.6 | 10,000 | 0 | \N{EN DASH} | \N{EN DASH} |" in text
    assert "| one | 0.2 | 10,000 | 100% | 0% |" in text
    assert "frugal leaderboard paper random --quick --policy a --policy b --seed 0" in text
    monkeypatch.setattr("frugalbandits.lab.leaderboard.page._LONG_FAMILY", 2)
    text = to_markdown(document(a_board()))
    assert "All 3 rows are in rows.csv" in text and "| three | 0.6 |" not in text


def test_tables_are_tidy(tmp_path):
    paths = write(tmp_path, a_board())
    assert [path.name for path in paths] == ["leaderboard.md", "rows.csv", "standings.csv"]
    with paths[1].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert [float(row["over_best"]) for row in rows[:6]] == [1, 4, 1, 4, 8, 1]
    assert rows[4]["over_least"] == "" and rows[4]["least"] == "0.0"
    assert (rows[1]["policy"], rows[1]["regret"], rows[1]["won"]) == ("b", "280.0", "False")
    with paths[2].open(newline="") as file:
        summed = list(csv.DictReader(file))
    assert [row["policy"] for row in summed] == ["a", "b", "b", "a"]
    assert (summed[0]["worst_instance"], summed[0]["worst_horizon"]) == ("three", "10000")


# Random problems as cells


def test_random_problems_have_names():
    family_of_seven = fb.random_problems(9, seed=7)
    assert [problem_of(name) for name in random_names(9, seed=7)] == family_of_seven
    other = problem_of("random-7-8", 0.5)
    assert other.alpha == 0.5 and other != family_of_seven[8]
    assert (other.means == family_of_seven[8].means).all() and (other.costs == family_of_seven[8].costs).all()
    assert Cell("random-7-8", 0.5, "cof", 1000, 1, 0, 1).problem == other
    assert problem_of("nu1") == fb.instance("nu1")


@pytest.mark.parametrize("name", ["random", "random-1", "random-x-1", "random-1-99999", "random--1-2"])
def test_other_names_are_unknown(name):
    with pytest.raises(InputError, match=f"no instance is called '{name}'"):
        problem_of(name)


def test_random_cells_are_stored_and_differ_by_seed(tmp_path):
    one, two = (Cell(f"random-{seed}-3", 0.2, "etc-cs", 1_000, 2, 0, 4) for seed in (0, 1))
    assert one.key != two.key
    first = sweep([one, two], tmp_path)
    assert sorted(path.name.rpartition("-")[0] for path in tmp_path.iterdir()) == [
        "random-0-3-0.2-etc-cs", "random-1-3-0.2-etc-cs"
    ]  # fmt: skip
    loaded = Store(tmp_path).load(one)
    assert loaded.seconds == first[one].seconds
    assert (loaded.result.pulls == first[one].result.pulls).all()


# Families


def test_families_are_at_the_scale_that_is_documented():
    def scale(name, settings):
        cells = family(name).cells(settings, ["cof", "glr-cof"])
        return len(cells), {cell.horizon for cell in cells}, {cell.runs for cell in cells}

    full, quick = Settings(), Settings(quick=True)
    assert scale("paper", full) == (2 * 8 * 2, {5_000_000}, {20})
    assert scale("tables", full) == (4 * 2 * 3 * 2, {5_000, 20_000, 100_000}, {50})
    assert scale("random", full) == (300 * 2, {200_000}, {5})
    assert scale("paper", quick) == (2 * 8 * 2, {100_000}, {5})
    assert scale("tables", quick) == (4 * 2 * 2 * 2, {5_000, 20_000}, {5})
    assert scale("random", quick) == (20 * 2, {200_000}, {5})
    assert scale("random", Settings(quick=True, runs=2))[2] == {2}
    arms = {cell.problem.arms for cell in family("random").cells(full, ["cof"])}
    assert arms == set(range(3, 13))


def test_every_table_of_options_takes_part():
    taken = {cell.instance for cell in family("tables").cells(Settings(), ["cof"])}
    assert taken == {name for name in fb.instances() if "LLMs" in describe(name)}


def test_families_are_chosen_by_name():
    assert chosen_families(["tables", "tables"]) == ("tables",)
    assert chosen_families(["random", "all"]) == ("random", "paper", "tables")
    assert set(chosen_families(["all"])) == set(families())


def test_the_seed_draws_the_random_problems_and_the_rows_are_the_library_s(tmp_path):
    settings = Settings(quick=True, seed=3, runs=2, horizon=400)
    made_board = run(["random"], ["etc-cs", "pe-cs"], tmp_path, settings)
    problems = fb.random_problems(20, seed=3)
    assert [row.alpha for row in made_board.rows] == [problem.alpha for problem in problems]
    for row, problem in zip(made_board.rows, problems, strict=True):
        for entry in row.entries:
            result = fb.simulate(problem, entry.policy, 400, runs=2, seed=3, checkpoints=20)
            assert entry.regret == pytest.approx(result.summary().mean, rel=1e-12)
            assert entry.late_on_optimal == result.late_on_optimal
            assert entry.settled_on_optimal == result.settled_on_optimal
            assert (entry.settled_on_optimal is None) == (entry.policy == "etc-cs")
