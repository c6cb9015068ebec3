"""Shared parts of the tests of the bounds."""

from __future__ import annotations

from hypothesis import strategies as st

import frugalbandits as fb

T = 100_000
FAMILIES = ("bernoulli", "gaussian")

HAND = {
    "no cheap arm": fb.Problem([0.6, 0.3, 0.7], [1, 2, 3], alpha=0.2),
    "i* alone": fb.Problem([0.2, 0.5, 0.7, 0.9], [1, 1.5, 2, 9], alpha=0.3),
    "two share": fb.Problem([0.35, 0.45, 0.75, 0.8, 0.6], [1, 2, 3, 5, 9], alpha=0.5),
}


@st.composite
def problems(draw: st.DrawFn, most: int = 8) -> fb.Problem:
    """Problems with different costs; means on a coarse grid, so that ties, zeros and ones come up."""
    arms = draw(st.integers(2, most))
    means = draw(st.lists(st.integers(0, 40), min_size=arms, max_size=arms))
    costs = draw(st.permutations([0.5 + 1.7 * k for k in range(arms)]))
    alpha = draw(st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8]))
    return fb.Problem([mean / 40 for mean in means], costs, alpha)
