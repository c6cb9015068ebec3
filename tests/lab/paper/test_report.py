"""The report: one page and Markdown from one structure, complete, escaped and self-contained."""

from __future__ import annotations

import base64
import html
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import frugalbandits as fb
from frugalbandits.errors import InputError
from frugalbandits.lab.documents.parts import Paragraph, Table
from frugalbandits.lab.paper.claims.checked import Claim, check_claims
from frugalbandits.lab.paper.experiments import cells_of, experiments
from frugalbandits.lab.paper.report import page
from frugalbandits.lab.paper.report.least import least_tables
from frugalbandits.lab.paper.report.page import Picture, Reproduction, command, document, write_report
from frugalbandits.lab.sweeps.cells import Settings
from made_outcomes import MARKS, RUNS, T, made, world

WORLD = list(world().values())
CLAIMS = check_claims(WORLD)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
VOID = {"meta", "img", "br", "link"}


class Page(HTMLParser):
    """What a browser would see: tags with attributes, balanced, and the texts of table cells."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.rows, self.text = [], [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.text += data
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


def plain(markdown):
    """The text of a Markdown cell, without its marks."""
    text = re.sub(r"</?sub>|<br>", "", markdown.strip())
    text = re.sub(r"(?<!\\)\*", "", text)
    return html.unescape(re.sub(r"\\(.)", r"\1", text))


def pictures(folder, *names):
    (folder / "figures").mkdir(exist_ok=True)
    made = []
    for name in names:
        png, vector = (folder / "figures" / f"{name}.{kind}" for kind in ("png", "svg"))
        png.write_bytes(PNG)
        vector.write_bytes(SVG)
        made.append(Picture(name, name, f"Title of {name}", f"Caption of {name}.", png, vector))
    return made


def told(folder, **changes):
    whole = Reproduction(
        names=experiments(),
        settings=Settings(),
        outcomes=WORLD,
        pictures=pictures(folder, "regret-vs-time", "cost-biased"),
        claims=CLAIMS,
        seconds_total=12.5,
    )
    return whole._replace(**changes)


@pytest.fixture
def written(tmp_path):
    report = write_report(tmp_path, told(tmp_path))
    return report.html.read_text(encoding="utf-8"), report.markdown.read_text(encoding="utf-8")


def test_the_files_are_where_it_says(tmp_path):
    report = write_report(tmp_path, told(tmp_path))
    assert report == (tmp_path / "report.html", tmp_path / "report.md")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures", "report.html", "report.md"]


def test_claims_captions_and_verdicts_are_in_both(written):
    seen = Page(written[0]).text
    markdown = plain(written[1])
    for text in (seen, markdown):
        for claim in CLAIMS:
            for part in (claim.words, claim.place, claim.measured, claim.rule, claim.verdict):
                assert part in text
        for name in ("regret-vs-time", "cost-biased"):
            assert f"Caption of {name}." in text
            assert f"Title of {name}" in text
        assert "Goodreads: runs 4 instead of 50." in text
        assert "19 claims of the paper" in text
        assert "holds 19, partly 0, does not hold 0, not at this scale 0, not tested 0" in text
        assert "frugal reproduce all --seed 0" in text


def test_both_have_the_same_tables(written):
    rows = [
        [plain(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in written[1].splitlines()
        if line.startswith("|") and not re.fullmatch(r"[| :-]+", line)
    ]
    seen = [
        [re.sub("^[✓◐✗\N{EN DASH}] (?=[a-z])", "", cell) for cell in row] for row in Page(written[0]).rows
    ]
    assert len(rows) > 80
    assert rows == seen


def test_the_page_loads_nothing(written):
    parsed = Page(written[0])
    for tag, attributes in parsed.tags:
        assert tag not in ("script", "link", "iframe", "object", "base")
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href"):
                assert value.startswith(("data:image/", "#"))
    assert "http" not in written[0]
    assert "url(" not in written[0]
    assert "@import" not in written[0]


def test_every_link_of_the_contents_has_its_section(written):
    parsed = Page(written[0])
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    links = [attributes["href"][1:] for tag, attributes in parsed.tags if tag == "a"]
    assert links == ids
    assert len(set(ids)) == len(ids) == 10
    # In Markdown a heading's own anchor is used: small letters, hyphens, no other signs.
    headings = [line[3:] for line in written[1].splitlines() if line.startswith("## ")]
    slugs = [re.sub(r"[^a-z0-9-]", "", heading.lower().replace(" ", "-")) for heading in headings]
    assert re.findall(r"\]\(#(.*?)\)", written[1]) == slugs
    assert len(slugs) == 10


def test_pictures_are_inside_the_page_and_linked_from_markdown(written):
    images = [attributes for tag, attributes in Page(written[0]).tags if tag == "img"]
    assert [image["alt"] for image in images] == ["Title of regret-vs-time", "Title of cost-biased"]
    kind, data = images[0]["src"].split(",")
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(data) == SVG
    assert "](figures/regret-vs-time.png)" in written[1]


@pytest.mark.parametrize("vector", [None, 70_000])
def test_a_large_or_missing_vector_file_gives_way_to_the_raster(tmp_path, vector):
    whole = told(tmp_path)
    path = whole.pictures[0].vector
    path.unlink() if vector is None else path.write_bytes(b" " * vector)
    text = write_report(tmp_path, whole).html.read_text(encoding="utf-8")
    assert f"data:image/png;base64,{base64.b64encode(PNG).decode()}" in text


def test_figures_stand_in_the_order_of_the_experiments(tmp_path):
    whole = told(tmp_path)
    whole = whole._replace(pictures=list(reversed(whole.pictures)))
    text = write_report(tmp_path, whole).markdown.read_text(encoding="utf-8")
    assert text.index("Caption of regret-vs-time") < text.index("Caption of cost-biased")


NASTY = "<script>alert('x')</script> | a* _b_ `c` [d](http://e) & \"f\"\nnew | line"


def test_texts_are_escaped(tmp_path):
    claim = Claim("key", NASTY, NASTY, NASTY, "partly", NASTY)
    nasty = told(tmp_path).pictures[0]._replace(title=NASTY, caption=NASTY)
    report = write_report(tmp_path, told(tmp_path, claims=[claim], pictures=[nasty]))
    parsed = Page(report.html.read_text(encoding="utf-8"))
    assert "script" not in {tag for tag, _ in parsed.tags}
    assert "http://e" not in {attributes.get("href") for _, attributes in parsed.tags}
    assert parsed.text.count(NASTY) == 6  # place, words, measured, rule, title, caption
    markdown = report.markdown.read_text(encoding="utf-8")
    assert "<script" not in markdown
    row = next(line for line in markdown.splitlines() if line.startswith("| **partly**"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 4
    assert r"\[d](http" in row
    assert "[d](" not in row.replace(r"\[", "")
    assert plain(row).count(" ".join(NASTY.split())) == 4


def test_what_was_there_stays_when_the_report_cannot_be_made(tmp_path):
    before = write_report(tmp_path, told(tmp_path))
    kept = [path.read_bytes() for path in before]
    broken = told(tmp_path)
    broken.pictures[1].png.unlink()
    with pytest.raises(InputError, match=r"'cost-biased' has no file 'cost-biased.png'"):
        write_report(tmp_path, broken)
    with pytest.raises(InputError, match="no form in UTF-8"):
        write_report(tmp_path, told(tmp_path, claims=[CLAIMS[0]._replace(words="\ud800")]))
    assert [path.read_bytes() for path in before] == kept
    assert not list(tmp_path.glob(".frugal-*"))


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        write_report(tmp_path / "none", told(tmp_path))


def test_a_failure_between_the_files_leaves_no_half_file(tmp_path, monkeypatch):
    def fail(told):
        raise RuntimeError("no markdown")

    monkeypatch.setattr(page, "to_markdown", fail)
    with pytest.raises(RuntimeError):
        write_report(tmp_path, told(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["figures"]


def test_the_same_outcomes_give_the_same_bytes(tmp_path):
    first, second = ([path.read_bytes() for path in write_report(tmp_path, told(tmp_path))] for _ in range(2))
    assert first == second
    later = write_report(tmp_path, told(tmp_path, seconds_total=99.0))
    changed = zip(first[1].splitlines(), later.markdown.read_bytes().splitlines(), strict=True)
    assert sum(one != other for one, other in changed) == 1


def test_nothing_names_the_machine(written):
    for text in written:
        assert str(Path.home()) not in text
        assert "/tmp" not in text
        assert "/work" not in text


def table(folder, caption, **changes):
    sections = document(folder, told(folder, **changes)).sections
    tables = [block for section in sections for block in section.blocks if isinstance(block, Table)]
    return next(block for block in tables if caption in block.caption)


def test_the_best_of_a_row_is_marked(tmp_path):
    regret = table(tmp_path, "Goodreads: mean summed regret")
    first = regret.rows[0]
    marked = [head for head, cell in zip(regret.heads, first, strict=True) if cell.mark == "strong"]
    assert marked == ["UCB-CS", "TS-CS"]  # equal in this world
    assert [cell.text for cell in first[:2]] == ["0.01", "20,000"]
    pe = first[regret.heads.index("PE-CS / COF")]
    assert (pe.text, pe.mark) == ("0.80", "weak")


def test_a_missing_policy_leaves_a_gap(tmp_path):
    some = [outcome for outcome in WORLD if outcome.cell.policy != "ts-cs"]
    regret = table(tmp_path, "MovieLens: mean summed regret", outcomes=some)
    assert regret.rows[0][regret.heads.index("TS-CS")].text == "\N{EN DASH}"
    share = table(tmp_path, "MovieLens: share of late pulls", outcomes=some)
    assert {row[share.heads.index("TS-CS")].text for row in share.rows} == {"\N{EN DASH}"}
    assert [cell.text for cell in share.rows[-1]][:3] == ["all", "100%", "100%"]


def test_settled_runs_have_a_dash_for_policies_that_never_settle(tmp_path):
    settled = table(tmp_path, "Goodreads: share of runs that settled")
    assert settled.heads == ("alpha", "COF", "PE-CS", "UCB-CS", "TS-CS", "ETC-CS")
    assert {tuple(cell.text for cell in row[1:]) for row in settled.rows} == {
        ("100%", "100%", "\N{EN DASH}", "\N{EN DASH}", "\N{EN DASH}")
    }
    keys = [("goodreads", 0.3, policy) for policy in ("cof", "ts-cs")]
    none = [made(key, np.zeros((RUNS, MARKS)), events=()) for key in keys]
    settled = table(tmp_path, "Goodreads: share of runs that settled", outcomes=none)
    assert [cell.text for cell in settled.rows[0][:3]] == ["0.3", "0%", "\N{EN DASH}"]
    late = table(tmp_path, "Goodreads: share of late pulls", outcomes=none)
    dash = "\N{EN DASH}"
    assert [cell.text for cell in late.rows[0]] == ["0.3", "100%", dash, dash, "100%", dash]


def test_run_times_add_up(tmp_path):
    times = table(tmp_path, "Run time")
    last = [cell.text for cell in times.rows[-1]]
    assert last == ["all", "136", f"{136 * RUNS * T:,}", "68.00", "40,000,000"]
    assert times.rows[0][0].text == "COF"


def test_settings_are_told(tmp_path):
    rows = {row[0].text: [cell.text for cell in row] for row in table(tmp_path, "What was run").rows}
    assert rows["Goodreads"][2:] == ["0.01 to 0.6", "8", "5,000,000", "4", "0", "10", "2.56e-12"]
    assert rows["nu1"][1:3] == ["COF, COF (no exclusive)", "0.8"]
    what = [row[0].text for row in table(tmp_path, "What it ran on").rows]
    assert what == ["cores", "system", "Python", "frugalbandits", "numpy", "numba", "scipy"]


def test_events_are_told(tmp_path):
    rows = table(tmp_path, "events").rows
    assert [row[1].text for row in rows][:2] == ["a1 deemed infeasible", "a2 deemed optimal"]
    assert len(rows) == 5
    assert rows[1][2].text.startswith("50,000 ± ")


def test_another_scale_is_told(tmp_path):
    whole = document(tmp_path, told(tmp_path))
    assert "not the paper's scale" in whole.lead[-1]
    scale = next(section for section in whole.sections if section.anchor == "scale")
    assert scale.blocks[1].items == (
        "Goodreads: runs 4 instead of 50.",
        "MovieLens: runs 4 instead of 50.",
        "nu1: horizon 5,000,000 instead of 200,000, runs 4 instead of 1,000.",
        "nu2: horizon 5,000,000 instead of 1,000,000, runs 4 instead of 1,000.",
        "cost-biased: runs 4 instead of 50.",
    )


def test_the_papers_scale_is_told(tmp_path):
    own = [outcome._replace(cell=cell) for cell, outcome in paper_cells()]
    whole = document(tmp_path, told(tmp_path, outcomes=own))
    assert not any("not the paper's scale" in paragraph for paragraph in whole.lead)
    scale = next(section for section in whole.sections if section.anchor == "scale")
    assert Paragraph("Horizons, runs, policies and alphas are the paper's.") in scale.blocks
    less = document(tmp_path, told(tmp_path, outcomes=own[1:]))
    scale = next(section for section in less.sections if section.anchor == "scale")
    assert scale.blocks[1].items == ("1 of 136 cells missing.",)


def paper_cells():
    made = world()
    return [
        (cell, made[cell.instance, cell.alpha, cell.policy]) for cell in cells_of(experiments(), Settings())
    ]


def test_a_report_without_cells_is_short_but_whole(tmp_path):
    whole = told(tmp_path, outcomes=[], claims=check_claims([]), names=["instances"], pictures=[])
    sections = [section.anchor for section in document(tmp_path, whole).sections]
    assert sections == ["claims", "settings", "reproduce"]
    Page(write_report(tmp_path, whole).html.read_text(encoding="utf-8"))


def test_the_command_has_the_options():
    settings = Settings(quick=True, seed=7, runs=3, horizon=900)
    assert command(["cost-biased"], settings) == (
        "frugal reproduce cost-biased --quick --seed 7 --runs 3 --horizon 900"
    )


def test_a_report_on_one_experiment_says_what_the_others_would_test(tmp_path):
    own = [outcome for outcome in WORLD if outcome.cell.instance == "cost-biased"]
    whole = told(tmp_path, outcomes=own, claims=check_claims(own), names=["cost-biased"])
    section = document(tmp_path, whole).sections[0]
    assert [len(block.rows) for block in section.blocks if isinstance(block, Table)] == [1]
    assert "18 other claims need results of" in section.blocks[-1].text


def test_regret_is_measured_by_the_least_possible():
    own = [each for each in WORLD if (each.cell.instance, each.cell.alpha) == ("goodreads", 0.05)]
    tables = {table.caption.split(":")[0]: table for table in least_tables(WORLD)}
    assert list(tables) == ["Goodreads", "MovieLens"]
    least = fb.bounds.least_regret(own[0].result.problem, own[0].result.horizon).value
    row = next(row for row in tables["Goodreads"].rows if row[0].text == "0.05")
    assert len(own) == len(row) - 2 == 5
    for cell, outcome in zip(row[2:], own, strict=True):
        ratio = outcome.result.summary().mean / least
        assert float(cell.text.replace(",", "")) == pytest.approx(ratio, rel=0.01, abs=0.006)
    # From alpha 0.35 on the bounds allow no regret.
    assert {cell.text for cell in tables["Goodreads"].rows[-1][2:]} == {"\u2013"}
