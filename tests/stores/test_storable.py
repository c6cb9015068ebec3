"""Whatever a stored session accepted, it can be opened again: from its snapshot, and from its log."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import frugalbandits as fb
from extremes_harness import CONTEXTS, Clock, live, settings_of
from frugalbandits.core.registry import policies
from frugalbandits.stores import keeping, open_store
from frugalbandits.stores.kinds import keep_session, open_session

_numbers = itertools.count()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('extremes')}/decisions.db") as store:
        yield store
        keeping.keeper_of(store).close()


def made(data, kind):
    given_ = settings_of(data)
    costs = given_.pop("costs")
    if kind == "contextual":
        return fb.ContextualSession(costs, context=data.draw(st.sampled_from(CONTEXTS)), **given_)
    return fb.Session(costs, policy=data.draw(st.sampled_from(policies())), horizon=1_000, **given_)


@pytest.mark.parametrize("kind", ["contextual", "plain"])
@settings(max_examples=settings.default.max_examples // 4)
@given(data=st.data())
def test_a_stored_session_can_be_opened_whatever_it_accepted(file, kind, data):
    name = f"{kind}-{next(_numbers)}"
    try:
        session, _ = keep_session(file, name, made(data, kind))
    except fb.InputError:
        return  # not every policy knows every bar, and not every one forgets
    clock = Clock()
    live(data, session, clock, data.draw(st.integers(1, 10)))
    session.flush()
    session.catch_up()
    session.close()
    session.snapshot()
    with open_session(file, name) as again:
        assert again.seen == session.seen
        assert again.explain() == session.explain()
