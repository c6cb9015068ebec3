"""What a session says of itself: beliefs, verdicts, money."""

from __future__ import annotations

import json

import pytest

import frugalbandits as fb
from frugalbandits.core.registry import policies
from harness import COSTS, fresh, run_in_turn


@pytest.mark.parametrize("name", policies())
def test_explanation_is_for_people_and_programs(name):
    session = fresh(name)
    before = str(session.explain())
    assert "not seen yet" in before
    run_in_turn(session, 1_500)
    explanation = session.explain()
    lines = str(explanation).splitlines()
    head = lines.index("") + 1
    columns = [column for column in lines[head].split() if column != "evidence"]
    assert columns == [
        *("option", "cost", "decisions", "judged", "pending", "spent", "mean", "lcb", "ucb", "status"),
    ]
    assert [line.split()[0] for line in lines[head + 1 :]] == ["tiny", "small", "large"]
    assert json.loads(json.dumps(explanation.to_dict()))["decisions"] == 1_500
    for arm in explanation.arms:
        assert arm.lcb is not None and arm.ucb is not None and arm.mean is not None
        # The posterior of Thompson sampling starts at one half, so its interval may leave out the mean.
        assert arm.lcb <= (arm.mean if name != "ts-cs" else arm.ucb) <= arm.ucb
        assert arm.pulls > 0 and arm.status
    assert sum(arm.pulls for arm in explanation.arms) == 1_500
    assert session.ask().reason


def test_cof_explains_its_verdicts():
    session = fb.Session(COSTS, 0.3, fb.COF(delta=0.01))
    run_in_turn(session, 20_000)
    explanation = session.explain()
    assert explanation.decision == explanation.candidate == "small"
    assert [arm.status for arm in explanation.arms] == ["infeasible", "optimal", "not needed"]
    assert str(explanation).startswith("Settled on 'small' after 20,000 decisions.")
    assert session.ask().reason.startswith("settled")


def test_explain_tells_what_was_spent_and_saved():
    session = fb.Session({"small": 0.2, "large": 3.0}, alpha=0.1, policy="glr-cof")
    nothing = session.explain()
    assert (nothing.spent, nothing.saving, nothing.best, nothing.threshold) == (0.0, None, None, None)
    assert "Spent 0." in str(nothing)
    for small, large in ((0.75, 1.0), (1.0, 0.75), (0.5, 1.0)):
        for decision in session.ask(2):
            session.tell(decision.id, small if decision.option == "small" else large)
    explanation = session.explain()
    counts = {arm.name: arm.decisions for arm in explanation.arms}
    assert sum(counts.values()) == 6
    assert explanation.spent == pytest.approx(0.2 * counts["small"] + 3.0 * counts["large"])
    assert explanation.best == "large" and explanation.always_best == pytest.approx(18.0)
    assert explanation.saving == pytest.approx(18.0 - explanation.spent)
    large = explanation.arms[1]
    assert explanation.threshold == pytest.approx(0.9 * large.mean)
    assert f"0.9 x {large.mean:.4g} = {explanation.threshold:.4g} is good enough" in str(explanation)
    assert f"saved {explanation.saving:,.6g} ({explanation.saving / 18:.0%})" in str(explanation)
    told = json.loads(json.dumps(explanation.to_dict()))
    assert told["saving"] == explanation.saving and told["arms"][0]["spent"] == explanation.arms[0].spent


def test_what_is_forgotten_was_spent_all_the_same():
    session = fresh()
    session.forget(session.ask().id)
    assert session.explain().spent == pytest.approx(COSTS["tiny"])
    assert session.explain().arms[0].status == "not seen yet"


def test_explanations_print_as_tables():
    session = fresh("cof", horizon=100)
    session.ask(7)
    explanation = session.explain()
    assert repr(explanation) == str(explanation)
    assert {arm.status for arm in explanation.arms} == {"awaiting feedback"}
    run_in_turn(session, 10)
    explanation = session.explain()
    for arm in explanation.arms:
        # COF's own bounds reach beyond: what is shown are means.
        assert 0.0 <= arm.lcb <= arm.ucb <= 1.0
    page = fb.Session({"<b>&": 1.0, "large": 2.0}, 0.1).explain()._repr_html_()
    assert "&lt;b&gt;&amp;" in page and "<b>&" not in page and page.count("<tr>") == 3


def test_explain_does_not_keep_others_waiting(monkeypatch):
    """Bounds are worked out on a copy: decisions go on meanwhile."""
    session = fresh("cof")
    run_in_turn(session, 20)
    policy = type(session._policy)
    before = policy.bounds
    asked = []

    def slow(self, state):
        asked.append(session.ask())  # would wait for ever if the lock were held
        return before(self, state)

    monkeypatch.setattr(policy, "bounds", slow)
    explanation = session.explain()
    assert explanation.decisions == 20 and len(asked) == 1 and session.decisions == 21
