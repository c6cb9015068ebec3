"""Where LiteLLM meets us: errors of ours, one callback and one session in a process, conversations."""

from __future__ import annotations

import inspect

import litellm
import pytest
from litellm.integrations.custom_logger import CustomLogger

from frugalbandits.integrations.litellm import FrugalRouter, text_of
from frugalbandits.integrations.litellm.seams import seam
from litellm_harness import LARGE, LIMITED, good_if, until

# Errors of ours never break a call.


def test_a_session_that_breaks_leaves_the_choice_to_litellm(house, caplog):
    frugal = house.attached()
    frugal._group.sessions.of(None).session.ask = None
    for _ in range(3):
        assert text_of(house.call()) in ("small", "large")
    house.settled(3)
    counts = frugal.report().counts
    assert counts["deciding failed"] == 3 and counts["unguided"] == 3
    warned = [each for each in caplog.records if each.levelname == "WARNING" and "deciding" in each.message]
    assert len(warned) == 1
    # What was answered all the same is known.
    assert sum(arm.pulls for arm in frugal.explain().arms) == 3


def test_a_changed_routing_strategy_is_seen_and_mended(house):
    frugal = house.attached()
    house.bare.update_settings(routing_strategy="latency-based-routing")
    house.call()
    house.settled(1)
    for _ in range(2):
        house.call()
    house.settled(3)
    # A synchronous call goes past us once; LiteLLM still asks the callback in asynchronous ones.
    assert frugal.report().counts.get("unguided", 0) == (house.kind == "sync")
    assert sum(each.decided for each in frugal.report().options) == 3 - (house.kind == "sync")
    assert sum(arm.pulls for arm in frugal.explain().arms) == 3


# Pitfalls 5 and 6.


def test_a_group_has_one_session_whoever_comes_first(house, caplog):
    first = house.attached()
    house.call()
    house.settled(1)
    second = FrugalRouter(house.group, alpha=0.2, judge=None).attach(house.bare)
    assert second.explain().decisions == 1
    assert "other ones were given for: quality" in caplog.text
    house.call()
    house.settled(2)
    assert first.explain().decisions == second.explain().decisions == 2
    assert litellm.callbacks.count(seam()) == 1


@pytest.mark.parametrize(
    "name", sorted(name for name in vars(type(seam())) if name.startswith(("async_", "log_")))
)
def test_callbacks_have_litellms_own_parameters(name):
    ours, theirs = (inspect.signature(getattr(kind, name)) for kind in (type(seam()), CustomLogger))
    assert list(ours.parameters) == list(theirs.parameters)
    assert inspect.iscoroutinefunction(getattr(type(seam()), name)) == name.startswith("async_")


# Pitfall 8.


def test_a_conversation_keeps_its_option(house):
    frugal = house.attached(sticky="conversation", judge=good_if("large"))
    assert text_of(house.call(metadata={"conversation": "one"})) == "small"
    house.settled(1)
    # Others find out what is better, and go there.
    until(lambda: (house.call(), frugal.flush(), frugal.explain().candidate == LARGE)[2])
    assert text_of(house.call()) == "large"
    assert {text_of(house.call(metadata={"conversation": "one"})) for _ in range(4)} == {"small"}
    assert text_of(house.call(metadata={"conversation": "two"})) == "large"


def test_a_conversation_goes_on_elsewhere_where_its_option_is_down(house):
    frugal = house.attached(sticky="conversation")
    for _ in range(20):
        house.call(metadata={"conversation": "one"})
    assert text_of(house.call(metadata={"conversation": "one"})) == "small"
    house.settled(21)
    broken = house.router(small=LIMITED)
    FrugalRouter(house.group, alpha=0.1, judge=None, sticky="conversation").attach(broken)
    assert text_of(house.call(broken, metadata={"conversation": "one"})) == "large"
    assert frugal.explain().decisions >= 22


def test_the_id_of_the_last_turn_keeps_the_option(house):
    frugal = house.attached(judge=good_if("large"))
    responses = []
    until(lambda: (responses.append(house.call()), text_of(responses[-1]) == "large")[1])
    id_ = frugal.decision_of(responses[-1])
    assert {text_of(house.call(metadata={"frugal_after": id_})) for _ in range(5)} == {"large"}
    # Nonsense is noted, and the call goes on.
    assert text_of(house.call(metadata={"frugal_after": "nonsense"})) in ("small", "large")
    assert frugal.report().counts["reading the last turn failed"] == 1
