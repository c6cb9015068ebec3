"""The end of `frugal reproduce` on the screen: claims with their verdicts, and what the others need."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from rich.console import Console

from frugalbandits.lab.paper.claims.checked import check_claims
from frugalbandits.lab.paper.report import page
from made_outcomes import MARKS, NU1, NU2_WITHOUT, made, world

WORLD = list(world().values())
CLAIMS = check_claims(WORLD)


def printed(renderable, width):
    console = Console(width=width, file=io.StringIO(), markup=False)
    console.print(renderable)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_the_screen_shows_every_claim_within_its_width(width):
    text = printed(page.terminal_table(CLAIMS), width)
    assert max(map(len, text.splitlines())) <= width
    flat = re.sub(r"\s+", " ", text)
    for claim in CLAIMS:
        assert claim.words in flat
        assert claim.measured in flat
    assert text.count("holds  ") >= 19
    assert "19 claims: 19 holds" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [40, 80])
def test_the_screen_sums_up_what_other_experiments_would_test(width):
    own = [outcome for outcome in WORLD if outcome.cell.instance == "cost-biased"]
    text = printed(page.terminal_table(check_claims(own)), width)
    assert max(map(len, text.splitlines())) <= width
    assert "not tested" not in text
    assert text.splitlines()[2].startswith("holds ")
    assert "\n1 claim: 1 holds\n18 other claims need" in text
    assert " ".join(text.split()).endswith(
        "18 other claims need results of vary-alpha (12), regret-vs-time (2), ablation-exclusive (2) and "
        "ablation-combining (2)."
    )
    nothing = printed(page.terminal_table(check_claims([])), 120)
    assert nothing.startswith("19 claims need results of vary-alpha (12)") and "verdict" not in nothing


def test_claims_that_the_results_cannot_decide_come_last():
    short = [outcome for outcome in WORLD if outcome.cell.instance in ("cost-biased", "nu1")]
    alone = made(NU1, np.zeros((1, MARKS)), events=())
    text = printed(page.terminal_table(check_claims([*short, alone])), 120)
    verdicts = re.findall("^(holds|not tested) ", text, re.MULTILINE)
    assert verdicts == ["holds", "not tested", "not tested"]
    assert "3 claims: 1 holds, 2 not tested" in text


def test_the_screen_shows_run_times():
    text = printed(page.summary_table([world()[NU2_WITHOUT]], 100), 100)
    assert re.search(r"COF \(no combine\) +1 +20,000,000 +0.50 +40,000,000", text)
