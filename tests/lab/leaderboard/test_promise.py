"""The promise on the leaderboard: who comes first, what is pooled over rows, and where it is written."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

import frugalbandits as fb
from cli_harness import good, refused
from frugalbandits.lab.documents.markdown import to_markdown
from frugalbandits.lab.leaderboard.board import Leaderboard, Row, row_of, standings
from frugalbandits.lab.leaderboard.page import document, write
from frugalbandits.lab.leaderboard.promise import by_promise, plot_board, promise_summary
from frugalbandits.lab.result import Result
from frugalbandits.lab.sweeps.cells import Cell, Outcome, Settings

T = 1_000
# a2 is optimal, with a bar of 0.64; spend over a* is 0.5 for a1 and 4.5 for a3.
PROBLEM = fb.Problem([0.2, 0.7, 0.8], [1, 2, 9], alpha=0.2)
EVENT = np.dtype([("run", np.int64), ("time", np.int64), ("event", "U10"), ("arm", np.int64)])
NEW = ("held", "delivered_low", "late_good", "spend_over_oracle", "promise_regret")


def made(policy: str, cheap: list[int], dear: int = 0, problem: fb.Problem = PROBLEM) -> Outcome:
    """An outcome whose runs pulled a1 so often, a3 `dear` times, and a2 otherwise; all of it late."""
    pulls = np.array([[[0, 0, 0], [few, T - few - dear, dear]] for few in cheap], np.int64)
    pulls[:, 0, 1] = T // 2
    pulls[:, 1, 1] = T - pulls[:, 1, 0] - dear
    plans = np.ones(len(cheap), np.int64)
    result = Result(problem, policy, 0, np.array([T // 2, T]), pulls, np.zeros(0, EVENT), plans)
    return Outcome(Cell("made", problem.alpha, policy, T, len(cheap), 0, 2), result, 0.25)


def rows() -> list[Row]:
    """Two rows: "thrifty" holds half of its runs, "sure" all, "lavish" all at a higher price, "rash" none."""
    policies = {"rash": ([500] * 20, 0), "thrifty": ([500] * 10 + [100] * 10, 0), "lavish": ([0] * 20, 100)}
    each = [made(name, *given) for name, given in policies.items()] + [made("sure", [100] * 20)]
    return [row_of("paper", each), row_of("paper", each)]


def test_policies_that_hold_come_first_by_spend_and_the_others_by_held() -> None:
    own = standings(rows())
    assert [each.policy for each in by_promise(own)] == ["sure", "lavish", "thrifty", "rash"]
    table = promise_summary(own, rows())
    assert [line[0].text for line in table.rows] == ["sure", "lavish", "thrifty", "rash"]
    assert [line[1].text for line in table.rows] == ["100%", "100%", "50%", "0%"]
    assert [line[1].mark for line in table.rows] == ["strong", "strong", "", ""]
    assert [line[4].mark for line in table.rows] == ["strong", "", "", ""]


def test_a_policy_needs_95_of_100_runs() -> None:
    own = standings(
        [row_of("paper", [made("just", [500] * 5 + [0] * 95), made("not", [500] * 6 + [0] * 94)])]
    )
    assert {each.policy: each.held for each in own} == {"just": 0.95, "not": 0.94}
    table = promise_summary(own, rows())
    assert [(line[0].text, line[1].mark) for line in table.rows] == [("just", "strong"), ("not", "")]


def test_an_entry_is_what_the_result_says() -> None:
    outcome = made("thrifty", [500] * 10 + [100] * 10, dear=5)
    (entry,) = row_of("paper", [outcome]).entries
    result = outcome.result
    assert (entry.held, entry.delivered_low) == (result.held[-1], result.delivered_low[-1])
    assert (entry.late_good, entry.held) == (result.late_good, 0.5)
    assert entry.spend_over_oracle == result.spend_over_oracle[:, -1].mean()
    assert entry.promise_regret == result.promise_regret[:, -1].mean()
    assert entry.delivered == tuple(result.delivered[:, -1])


def test_runs_of_all_rows_are_pooled_and_spend_is_a_geometric_mean() -> None:
    # One run in 200 is bad: the worst is not the 1% quantile of all, though it is that of its row.
    bad, good_row = made("a", [900] + [100] * 99), made("a", [0] * 100, dear=500)
    first, second = row_of("paper", [bad]), row_of("paper", [good_row])
    (standing,) = standings([first, second])
    assert standing.held == 199 / 200
    assert first.entries[0].delivered_low < 0.5
    assert standing.delivered_low == pytest.approx((0.9 * 0.7 + 0.1 * 0.2) / 0.64)
    spends = [row.entries[0].spend_over_oracle for row in (first, second)]
    assert standing.spend_over_oracle == pytest.approx(math.sqrt(spends[0] * spends[1]))
    regrets = [row.entries[0].promise_regret for row in (first, second)]
    assert standing.promise_regret == pytest.approx(sum(regrets) / 2)


def a_board() -> Leaderboard:
    return Leaderboard(("paper",), ("rash", "thrifty", "lavish", "sure"), Settings(), tuple(rows()), 1.0)


def test_the_page_has_the_promise_before_regret() -> None:
    text = to_markdown(document(a_board())).replace("\\", "")
    assert text.index("The promise, over 2 rows") < text.index("Standings over 2 rows")
    assert "| sure | **100%** | 1.016 | 80% | **0.95** |" in text


def test_csv_files_have_the_promise_and_no_lists(tmp_path: Path) -> None:
    _, of_rows, of_standings = write(tmp_path, a_board())
    board = a_board()
    with of_rows.open(newline="") as file:
        told = list(csv.DictReader(file))
    entries = [entry for row in board.rows for entry in row.entries]
    assert [{name: float(line[name]) for name in NEW} for line in told] == [
        {name: getattr(entry, name) for name in NEW} for entry in entries
    ]
    assert "delivered" not in told[0]
    with of_standings.open(newline="") as file:
        summed = list(csv.DictReader(file))
    assert [float(line["held"]) for line in summed] == [each.held for each in standings(board.rows)]
    assert set(NEW) <= set(summed[0])


def test_its_figure_has_one_mark_a_policy_and_the_oracle() -> None:
    (axes,) = plot_board(a_board()).axes
    marks = {line.get_label(): line for line in axes.get_lines() if line.get_marker() != "None"}
    assert set(marks) == {"a* alone", "rash", "thrifty", "lavish", "sure"}
    assert (marks["sure"].get_xdata()[0], marks["sure"].get_ydata()[0]) == (pytest.approx(0.95), 1.0)
    assert axes.get_title() == "paper, 2 rows"


def test_the_command_draws_it_and_its_document_has_it(in_an_empty_folder: Path) -> None:
    small = ("leaderboard", "tables", "--quick", "--runs", "1", "--policy", "etc-cs", "--policy", "pe-cs")
    found = json.loads(good(*small, "--plot", "plane.png", "--json"))
    assert found["written"][-1] == "plane.png" and Path("plane.png").stat().st_size > 10_000
    assert set(NEW) <= set(found["standings"][0]) & set(found["rows"][0]["entries"][0])
    assert "delivered" not in found["rows"][0]["entries"][0]
    # Cells are kept as pulls, so that a figure needs no new run.
    kept = {path: path.stat().st_mtime_ns for path in Path("out").rglob("*.npz")}
    assert "written: other.svg" in good(*small, "--plot", "other.svg")
    assert {path: path.stat().st_mtime_ns for path in Path("out").rglob("*.npz")} == kept


def test_a_figure_that_cannot_be_drawn_is_refused(in_an_empty_folder: Path) -> None:
    assert "--plot must end in" in refused("leaderboard", "tables", "--plot", "plane.txt")
    alone = "--plot is for paper, tables and random alone"
    assert alone in refused("leaderboard", "worlds", "--plot", "plane.png")
    assert alone in refused("leaderboard", "contextual", "--plot", "plane.png")
