"""The keys that sign the ids of answers: of a store, or of a setting, and none that could be guessed."""

from __future__ import annotations

import pytest

import frugalbandits as fb
from frugalbandits.integrations.litellm import FrugalRouter
from frugalbandits.integrations.litellm.tickets import Signer, Ticket, group_named_in

FIRST, SECOND = "the first key of all", "the second key of all"


def ticket_of(house, **settings):
    house.attached(judge=None, **settings)
    return house.frugal.decision_of(house.call())


def test_a_service_without_a_token_has_no_key_that_could_be_guessed(async_house, server, caplog):
    house = async_house
    house.attached(judge=None, service_url=server.url)
    assert "no ticket_key and no token" in caplog.text
    forged = Signer(f"{server.url}\n").write(Ticket(house.group, None, "openai/gpt-4o", None, "forged"))
    with pytest.raises(fb.UnknownDecision):
        house.frugal.tell(forged, 0.0)
    assert all(arm.pulls == 0 for arm in house.frugal.explain().arms)


def test_a_key_that_is_given_is_shared_and_can_be_changed(async_house, server):
    house = async_house
    place = {"service_url": server.url}
    old = ticket_of(house, **place, ticket_key=FIRST)
    house.frugal.close()
    # The new key signs, and ids of the old one are still taken.
    new = ticket_of(house, **place, ticket_key=[SECOND, FIRST])
    house.frugal.tell(old, 1.0)
    house.frugal.close()
    house.attached(judge=None, **place, ticket_key=SECOND)
    house.frugal.tell(new, 1.0)
    with pytest.raises(fb.UnknownDecision):
        house.frugal.tell(old, 1.0)


def test_a_token_that_is_changed_costs_no_id_where_there_is_a_key(async_house, server, monkeypatch):
    house = async_house
    monkeypatch.setenv("FRUGALBANDITS_TOKEN", "the-old-token")
    signed_before = Signer(f"{server.url}\nthe-old-token")
    house.attached(judge=None, service_url=server.url, ticket_key=FIRST)
    # Ids that were given out before there was a key are taken as long as the token is the same.
    before = signed_before.write(Ticket(house.group, None, "openai/gpt-4o", None, "before"))
    house.frugal.tell(before, 1.0)
    id_ = house.frugal.decision_of(house.call())
    house.frugal.close()
    monkeypatch.setenv("FRUGALBANDITS_TOKEN", "another-token")
    house.attached(judge=None, service_url=server.url, ticket_key=FIRST)
    house.frugal.tell(id_, 1.0)
    again = signed_before.write(Ticket(house.group, None, "openai/gpt-4o", None, "again"))
    with pytest.raises(fb.UnknownDecision):
        house.frugal.tell(again, 1.0)


def test_a_store_has_a_random_key_which_outlives_the_process(async_house, tmp_path):
    house, place = async_house, f"sqlite:///{tmp_path}/kept.db"
    id_ = ticket_of(house, store=place)
    house.frugal.close()
    house.attached(judge=None, store=place)
    house.frugal.tell(id_, 1.0)
    house.frugal.close()
    other = f"sqlite:///{tmp_path}/other.db"
    house.attached(judge=None, store=other)
    with pytest.raises(fb.UnknownDecision):
        house.frugal.tell(id_, 1.0)


def test_ids_of_sessions_in_memory_end_with_them(async_house):
    house = async_house
    id_ = ticket_of(house)
    house.frugal.close()
    house.attached(judge=None)
    house.call()
    with pytest.raises(fb.UnknownDecision):
        house.frugal.tell(id_, 1.0)


@pytest.mark.parametrize("key", ["short", "", 7, [], [FIRST, "short"], b"sixteen bytes and more"])
def test_keys_that_cannot_be_are_refused(key):
    with pytest.raises(fb.InputError, match="ticket_key must be a text of 16 characters or more"):
        FrugalRouter("chat", alpha=0.1, store="memory:", ticket_key=key)


def test_a_key_without_a_place_that_outlives_the_process_is_refused():
    with pytest.raises(fb.InputError, match="ticket_key needs a store or a service_url"):
        FrugalRouter("chat", alpha=0.1, ticket_key=FIRST)


def test_a_key_is_not_printed():
    made = FrugalRouter("chat", alpha=0.1, store="memory:", ticket_key=FIRST)
    assert FIRST not in repr(made) and FIRST not in repr(made.settings)


@pytest.mark.parametrize(
    "text", ["", "x", "nonsense.x", "\ud800.\udfff", "W10.x", "e30.x", "bnVsbA.x", None, 7]
)
def test_what_is_no_ticket_names_no_group(text):
    assert group_named_in(text) is None
    with pytest.raises(fb.UnknownDecision):
        Signer(FIRST).read(text)
