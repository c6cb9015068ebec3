"""What a session may look at: segments, features, texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.contextual.context import Encoder, check_context


def test_an_encoded_query_is_one_then_features_then_segments():
    encoder = Encoder(fb.Segments(["de", "fr"]) + fb.Features(2))
    features, segment = encoder.read(("fr", [3, 0.5]))
    assert encoder.encode(features, segment).tolist() == [1.0, 3.0, 0.5, 0.0, 1.0]
    assert encoder.read({"segment": "fr", "features": (3, 0.5)})[1] == "fr"
    assert encoder.admit("it") and not encoder.admit("it")
    assert encoder.encode(features, "it").tolist() == [1.0, 3.0, 0.5, 0.0, 0.0, 1.0]


def test_segments_beyond_the_most_have_no_entry_of_their_own():
    encoder = Encoder(fb.Segments(["a"], most=2))
    assert encoder.admit("b") and not encoder.admit("c")
    assert encoder.encode(np.zeros(0), "c").tolist() == [1.0, 0.0, 0.0]


@given(st.text(max_size=300))
def test_any_text_has_features_of_a_bounded_size(text):
    features = fb.TextFeatures(16).numbers(text)
    assert features.shape == (16,) and np.isfinite(features).all() and np.abs(features).max() <= 3


def test_features_of_a_text_are_the_same_for_ever():
    found = fb.TextFeatures(8).numbers("Wie groß ist 3 + 4?").round(6).tolist()
    assert found == FOR_EVER
    assert fb.TextFeatures(8).numbers("").tolist() == [0.0] * 8


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: fb.Features(0), "the number of features must be a whole number from 1 to 1,000"),
        (lambda: fb.Features(2.5), "but it is 2.5"),
        (lambda: fb.TextFeatures(3), "from 4 to 1,000, but it is 3"),
        (lambda: fb.Segments("de"), "segments must be a list of names, but it is 'de'"),
        (lambda: fb.Segments(["de", "de"]), "'de' stands twice"),
        (lambda: fb.Segments(["de", 3]), "a segment is a name of up to 200 characters, but it is 3"),
        (lambda: fb.Segments(["de"]) + fb.Segments(["fr"]), "segments go together with features"),
        (lambda: fb.Features(2) + 3, "segments go together with features"),
        (lambda: check_context(None), "context must be Segments"),
        (lambda: check_context("segments"), "context must be Segments"),
    ],
)
def test_what_cannot_be_a_context_is_refused(make, words):
    with pytest.raises(fb.InputError, match="(?s)" + words):
        make()


@pytest.mark.parametrize(
    "context, value, words",
    [
        (fb.Features(2), None, "the context is missing"),
        (fb.Features(2), [1.0], "must have 2 features, but it has 1"),
        (fb.Features(2), [1.0, float("nan")], r"features\[1\] is nan"),
        (fb.Features(2), [1.0, 1e9], r"features\[1\] is 1000000000"),
        (fb.Features(2), ["1", 2], "numbers"),
        (fb.Features(2), 5, "must be 2 numbers, but it is 5"),
        (fb.Features(2), "ab", "must be 2 numbers, but it is 'ab'"),
        (fb.Segments(["de"]), 3, "a segment is a name"),
        (fb.Segments(["de"]), " ", "a segment is a name"),
        (fb.TextFeatures(8), 3, "the context must be a text, but it is 3"),
        (fb.Segments(["de"]) + fb.Features(1), "de", "a pair of segment and features"),
        (fb.Segments(["de"]) + fb.Features(1), {"segment": "de"}, "a pair of segment and features"),
        (fb.Segments(["de"]) + fb.Features(1), ("de", [1, 2]), "must have 1 features, but it has 2"),
    ],
)
def test_a_query_of_another_form_is_refused(context, value, words):
    with pytest.raises(fb.InputError, match=words):
        Encoder(context).read(value)


FOR_EVER = [0.374467, 0.1, 0.1, 0.666667, 0.0, -0.333333, 0.0, -0.666667]
