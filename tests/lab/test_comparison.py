"""Several policies side by side, and what values look like in a notebook."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import frugalbandits as fb
from frugalbandits.core.closure import import_closure
from frugalbandits.lab.figures import LEAST
from frugalbandits.lab.sweeps.digest import _SHOWN, SIMULATION

NASTY = '<script>alert("x")</script> & $co$'


@pytest.fixture(scope="module")
def compared() -> fb.Comparison:
    return fb.compare("nu1", ["etc-cs", "pe-cs", fb.COF(delta=1e-4)], horizon=5_000, runs=4, checkpoints=10)


def test_a_comparison_is_what_simulate_gives(compared: fb.Comparison) -> None:
    alone = fb.simulate("nu1", "pe-cs", 5_000, runs=4, checkpoints=10)
    assert np.array_equal(compared["pe-cs"].pulls, alone.pulls)
    assert len(compared) == 3 and [result.policy for result in compared][:2] == ["etc-cs", "pe-cs"]
    assert compared.least.value == fb.bounds.least_regret("nu1", 5_000).value
    with pytest.raises(
        fb.InputError, match="no policy of this comparison is called 'pe'; did you mean 'pe-cs'"
    ):
        compared["pe"]


def test_the_table_has_a_row_a_policy(compared: fb.Comparison) -> None:
    table = compared.to_polars()
    assert table["policy"].to_list() == ["etc-cs", "pe-cs", repr(fb.COF(delta=1e-4))]
    mean, low, high = compared["pe-cs"].summary("cost")
    assert table.row(1, named=True)["cost_regret"] == mean
    assert table.row(1, named=True)["cost_regret_p20"] == low and table["cost_regret_p80"][1] == high
    assert table["over_least"][0] == pytest.approx(table["summed_regret"][0] / compared.least.value)
    frame = compared.to_pandas()
    assert list(frame.columns) == table.columns
    assert frame["summed_regret"].tolist() == table["summed_regret"].to_list()


def test_it_prints_as_the_command_line_does(compared: fb.Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    lines = repr(compared).splitlines()
    assert lines[0].startswith("nu1, alpha = 0.8, T = 5,000, 4 runs: a* is a2")
    assert any(line.startswith("pe-cs ") for line in lines)
    assert any(line.startswith(LEAST) for line in lines)
    assert all(len(line) <= 120 for line in lines) and "\x1b" not in repr(compared)


@pytest.mark.parametrize("regret", ["summed", "cost", "quality"])
def test_its_figure_shows_every_policy(compared: fb.Comparison, regret: Any) -> None:
    figure = compared.plot(regret)
    (axes,) = figure.axes
    labels = [line.get_label() for line in axes.get_lines()]
    assert labels[:3] == [result.policy for result in compared]
    assert axes.get_ylabel().startswith({"summed": "summed cost and quality"}.get(regret, regret))
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_one_result_has_a_figure_of_its_own(compared: fb.Comparison) -> None:
    figure = compared["pe-cs"].plot("quality")
    assert figure.axes[0].get_ylabel().startswith("quality regret")
    for one in (compared, compared["pe-cs"]):
        with pytest.raises(fb.InputError, match=r"regret must be .*, but it is 'money'"):
            one.plot("money")


def test_policies_are_those_that_know_the_bar() -> None:
    paper = fb.compare("nu1", horizon=200, runs=1)
    assert [result.policy for result in paper] == [
        "cof",
        "glr-cof",
        "voi-cs",
        "pe-cs",
        "ucb-cs",
        "ts-cs",
        "etc-cs",
    ]
    level = fb.compare(fb.instance("nu1", quality="at-least:0.5"), horizon=200, runs=1)
    assert [result.policy for result in level] == ["cof", "glr-cof", "voi-cs"]


def test_the_least_is_for_bernoulli_rewards_only() -> None:
    other = fb.compare("nu1", ["etc-cs"], horizon=200, runs=1, rewards=fb.TwoPoint(0.1, 1.0))
    assert other.least is None and other.to_polars()["over_least"].to_list() == [None]
    assert LEAST not in repr(other) + other._repr_html_()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"policies": "cof"}, "policies must be a list of names or policies, but it is 'cof'"),
        ({"policies": []}, r"but it is \[\]"),
        ({"policies": ["coff"]}, "did you mean 'cof'"),
        ({"horizon": "long"}, "'long'"),
        ({"runs": 0}, "runs must be"),
        ({"progress": "yes"}, "'yes'"),
        ({"problem": 7}, "but it is 7"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(fb.InputError, match=words):
        fb.compare(**({"problem": "nu1", "policies": ["etc-cs"], "horizon": 200, "runs": 1} | change))


def test_progress_counts_the_runs_of_all_policies() -> None:
    heard: list[tuple[int, int]] = []
    fb.compare("nu1", ["etc-cs", "pe-cs"], 200, runs=2, progress=lambda *told: heard.append(told))
    assert heard == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_pandas_gets_every_table(compared: fb.Comparison) -> None:
    result = compared["pe-cs"]
    for table in ("regret", "pulls", "events"):
        ours, theirs = result.to_polars(table), result.to_pandas(table)
        assert list(theirs.columns) == ours.columns and len(theirs) == ours.height
        assert theirs["run"].tolist() == ours["run"].to_list()


def test_without_pandas_it_says_what_to_install(
    compared: fb.Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="pip install pandas"):
        compared.to_pandas()


# Notebooks.


class Page(HTMLParser):
    """Checks that every tag that is opened is closed, and keeps rows and tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


def nasty() -> fb.Problem:
    return fb.Problem([0.3, 0.6, 0.7], [1, 2, 3], alpha=0.2, names=["a", NASTY, "c"])


def test_a_problem_is_a_table_with_a_row_an_arm() -> None:
    page = Page(nasty()._repr_html_())
    assert page.rows[0] == ["arm", "role", "mean", "cost", "good enough"]
    assert page.rows[2] == [NASTY, "a*", "0.6", "2", "yes"] and len(page.rows) == 4
    assert "script" not in page.tags


def test_everything_has_a_table_whose_values_are_escaped() -> None:
    problem = nasty()
    compared = fb.compare(problem, ["etc-cs"], horizon=200, runs=2)
    for value in (
        compared,
        compared["etc-cs"],
        fb.bounds.overview(problem, 1_000),
        fb.bounds.least_regret(problem, 1_000),
        fb.instance("nu1", quality="at-least:0.999"),
    ):
        page = Page(value._repr_html_())
        assert page.tags.count("table") >= 1 and "script" not in page.tags
        assert {len(row) for row in page.rows} and page.tags[:2] == ["div", "style"]


def test_tables_take_their_colours_from_the_notebook() -> None:
    style = nasty()._repr_html_().partition("<style>")[2].partition("</style>")[0]
    assert "#" not in style and "color: inherit" in style
    rules = [rule for rule in style.replace("\n", " ").split("}") if rule.strip()]
    assert all(part.strip().startswith(".frugal") for rule in rules for part in rule.split("{")[0].split(","))


def test_many_arms_are_cut_short() -> None:
    problem = fb.random_problem(1_000, alpha=0.1, seed=1)
    page = problem._repr_html_()
    assert page.count("<tr>") == 41 and "960 arms not shown" in page


def test_what_shows_a_result_is_no_part_of_the_digest_of_its_code() -> None:
    covered = import_closure(SIMULATION, without=_SHOWN)
    for part in ("core.policies.cof.algorithm", "core.policies.ts_cs.stretch", "lab.driver", "lab.rewards"):
        assert f"frugalbandits.{part}" in covered
    for part in ("lab.figures", "lab.views", "lab.documents.html", "lab.text", "lab.watching"):
        assert f"frugalbandits.{part}" not in covered
