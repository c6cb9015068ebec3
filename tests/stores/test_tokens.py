from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

import frugalbandits as fb
from frugalbandits.stores.tokens import LONGEST, METADATA, Tokens, mark_in, mark_of, packed

SECRET = bytes(range(32))
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def an_id(**changes):
    values = {"option": 3, "epoch": 2, "issued": 1.7e9, "wanted": True, **changes}
    return Tokens(SECRET, "shop").issue(**values)


@given(
    option=st.integers(0, 2**32 - 1),
    epoch=st.integers(0, 2**32 - 1),
    issued=st.floats(0, 1e11),
    wanted=st.booleans(),
    metadata=st.none() | st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3),
)
def test_an_id_says_what_was_put_into_it(option, epoch, issued, wanted, metadata):
    tokens = Tokens(SECRET, "shop")
    id_ = tokens.issue(option, epoch, issued, wanted, packed(metadata))
    token = Tokens(SECRET, "shop").read(id_)
    assert (token.option, token.epoch, token.wanted, token.metadata) == (option, epoch, wanted, metadata)
    assert token.issued == int(issued * 1000) / 1000
    assert set(id_) <= set(LETTERS) and len(id_) <= LONGEST
    assert mark_in(id_) == mark_of(SECRET, "shop")


@given(place=st.integers(0, 67), letter=st.sampled_from(LETTERS))
def test_any_other_letter_makes_it_nobodys(place, letter):
    id_ = an_id()
    other = id_[:place] + letter + id_[place + 1 :]
    if other != id_:
        with pytest.raises(fb.UnknownDecision, match="has the id"):
            Tokens(SECRET, "shop").read(other)


@given(cut=st.integers(1, 68), more=st.text(max_size=8))
def test_a_part_or_more_than_all_is_nobodys(cut, more):
    for wrong in (an_id()[:-cut], an_id() + more if more else "", an_id()[cut:]):
        with pytest.raises(fb.UnknownDecision):
            Tokens(SECRET, "shop").read(wrong)


@pytest.mark.parametrize("wrong", [None, 3, True, b"x", "", "é" * 68, "=" * 68, "A" * 100_000, ["x"]])
def test_what_is_no_text_of_ours_is_named_in_few_words(wrong):
    with pytest.raises(fb.UnknownDecision) as caught:
        Tokens(SECRET, "shop").read(wrong)
    assert len(str(caught.value)) < 200


def test_ids_of_another_session_or_store_are_nobodys():
    for secret, session in ((SECRET, "other"), (bytes(32), "shop")):
        with pytest.raises(fb.UnknownDecision, match="no decision of this session"):
            Tokens(secret, session).read(an_id())


def test_no_two_ids_are_alike_within_a_worker_or_between_workers():
    workers = [Tokens(SECRET, "shop") for _ in range(20)]
    ids = [worker.issue(0, 0, 1.7e9, True) for worker in workers for _ in range(200)]
    keys = {workers[0].read(id_).key for id_ in ids}
    assert len(set(ids)) == len(keys) == 4_000


def test_a_worker_that_has_used_up_its_numbers_takes_another_name():
    tokens = Tokens(SECRET, "shop")
    before = tokens._worker
    tokens._number = 2**32 - 2
    keys = {tokens.read(tokens.issue(0, 0, 1.7e9, True)).key for _ in range(4)}
    assert len(keys) == 4 and tokens._worker != before


def test_metadata_that_no_id_can_carry_is_refused_with_its_size():
    packed("x" * (METADATA - 2))
    with pytest.raises(fb.InputError, match="513"):
        packed("x" * (METADATA - 1))
