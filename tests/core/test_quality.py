"""The three kinds of quality bar: what they mean for a problem, and what is refused."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.quality import check_quality, quality_from_dict, quality_to_dict

NAMES = st.text(min_size=1).filter(str.strip)
BARS = st.one_of(
    st.floats(0, 1, exclude_max=True).map(fb.RelativeToBest),
    st.builds(fb.RelativeTo, NAMES, st.floats(0, 1, exclude_max=True)),
    st.floats(0, 1).map(fb.AtLeast),
)


@given(bar=BARS)
def test_written_and_stored_forms_give_the_same_bar(bar):
    assert quality_from_dict(quality_to_dict(bar)) == bar
    if str(bar) == str(bar).strip():
        assert check_quality(None, str(bar)) == bar


def test_a_name_may_have_a_colon():
    assert check_quality(None, "relative-to:llama:70b:0.05") == fb.RelativeTo("llama:70b", 0.05)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fb.RelativeToBest(1.0), "alpha .* must lie in \\[0, 1\\), but it is 1.0"),
        (lambda: fb.RelativeTo("x", -0.1), "alpha .* but it is -0.1"),
        (lambda: fb.RelativeTo("x", "much"), "alpha must be a number, but it is 'much'"),
        (lambda: fb.RelativeTo(2, 0.1), "must be the name of an option, but it is 2"),
        (lambda: fb.RelativeTo(" ", 0.1), "must be the name of an option, but it is ' '"),
        (lambda: fb.AtLeast(1.5), "level .* must lie in \\[0, 1\\], but it is 1.5"),
        (lambda: fb.AtLeast(math.nan), "level must be finite, but it is nan"),
        (lambda: check_quality(None, "0.8"), "relative-to-best:ALPHA, .* but it is '0.8'"),
        (lambda: check_quality(None, "at-least:"), "but it is 'at-least:'"),
        (lambda: check_quality(None, "at-least:high"), "level must be a number, .* it is 'high'"),
        (lambda: check_quality(None, "relative-to:0.1"), "but it is 'relative-to:0.1'"),
        (lambda: check_quality(None, "relative-to:x:"), "alpha must be a number, .* it is ''"),
        (lambda: check_quality(None, 0.8), "quality must be RelativeToBest.* but it is 0.8"),
        (lambda: check_quality(0.1, fb.AtLeast(0.8)), "alpha=0.1 is short for .* AtLeast\\(level=0.8\\)"),
        (lambda: check_quality(None, None), "give alpha, or quality"),
    ],
)
def test_bad_bars_are_named(make, words):
    with pytest.raises(fb.InputError, match=words):
        make()
