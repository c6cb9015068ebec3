"""Options whose quality changes: alarms are said, and what was known before is dropped."""

from __future__ import annotations

import numpy as np
import pytest

import frugalbandits as fb
from moving_harness import again, moving

COSTS = {"small": 0.5, "large": 3.0}


def degraded(**more):
    """Return a session in which 'small' gets worse after 3,000 of 6,000 decisions, and what was used."""
    session = moving(costs=COSTS, horizon=None, **more)
    rng = np.random.default_rng(8)
    used = dict.fromkeys(COSTS, 0)
    for step in range(6_000):
        quality = {"small": 0.85 if step < 3_000 else 0.3, "large": 0.88}
        decision = session.ask()
        if step >= 4_000:
            used[decision.option] += 1
        session.tell(decision.id, float(rng.random() < quality[decision.option]))
        if step % 1_000 == 999:
            session = again(session)
    return session, used


def test_a_silent_degradation_is_noticed_and_said():
    session, used = degraded()
    alarms = [change for change in session.changes() if change.kind == "alarm"]
    assert alarms and alarms[0].option == "small" and 3_000 < alarms[0].decision < 3_300
    assert "seems to have changed, from 0.8" in alarms[0].words
    assert used["large"] > 1_500
    explanation = session.explain()
    assert any(words.startswith("'small'") for words in explanation.changed)
    assert "Believed to have changed: 'small'" in str(explanation)
    assert explanation.arms[0].mean < 0.6  # of what counts since then
    assert explanation.to_dict()["changed"] == explanation.changed


def test_nothing_is_forgotten_where_that_is_asked_for():
    session, _ = degraded(memory=None)
    assert not [change for change in session.changes() if change.kind == "alarm"]
    assert session.explain().changed == ()


@pytest.mark.parametrize("memory", [200, "auto"])
def test_alarms_survive_a_change_of_prices(memory):
    session, _ = degraded(memory=memory)
    raised = int(session._state.past.alarms[0])
    before = {arm.name: arm.mean for arm in session.explain().arms}
    session.set_cost("large", 0.1)
    session.add("new", 1.0)
    assert int(session._state.past.alarms[0]) == raised
    after = {arm.name: arm.mean for arm in session.explain().arms}
    assert {name: after[name] for name in before} == pytest.approx(before)
    count = len(session.changes())
    session.ask(5)
    assert len([each for each in session.changes()[count:] if each.kind == "alarm"]) == 0
    assert again(session).to_json() == session.to_json()


def test_policies_that_cannot_forget_take_auto_and_refuse_a_number():
    assert moving("ts-cs")._setting.memory is None
    assert moving("voi-cs")._setting.memory == 0 and moving("voi-cs", memory=50)._setting.memory == 50
    with pytest.raises(fb.InputError, match="ts-cs cannot notice that an option has changed"):
        moving("ts-cs", memory=50)
