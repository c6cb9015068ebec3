"""Populations of queries in files."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.errors import InputError

BAR = "relative-to-best:0.1"


@given(
    queries=st.integers(1, 6),
    options=st.integers(2, 4),
    features=st.integers(0, 3),
    segmented=st.booleans(),
    by_query=st.booleans(),
    realised=st.booleans(),
    seed=st.integers(0, 99),
)
def test_what_is_written_is_read(
    tmp_path_factory, queries, options, features, segmented, by_query, realised, seed
):
    rng = np.random.default_rng(seed)
    problem = fb.ContextualProblem(
        rng.normal(size=(queries, features)) if features else None,
        [f"s{number % 2}" for number in range(queries)] if segmented else None,
        rng.random((queries, options)),
        rng.random((queries, options) if by_query else options),
        BAR,
        [f"option {number}" for number in range(options)],
        realised=realised,
    )
    path = tmp_path_factory.mktemp("files") / "queries.npz"
    fb.write_routing(problem, path)
    again = fb.read_routing(path, BAR)
    for part in ("features", "segment", "rewards", "costs", "encoded"):
        assert np.array_equal(getattr(again, part), getattr(problem, part))
    for part in ("names", "segment_names", "segmented", "realised", "quality", "bar"):
        assert getattr(again, part) == getattr(problem, part)


def test_files_that_are_none(tmp_path):
    path = tmp_path / "queries.npz"
    with pytest.raises(InputError, match=r"cannot read .*queries\.npz: No such file"):
        fb.read_routing(path, BAR)
    path.write_bytes(b"not a zip")
    with pytest.raises(InputError, match=r"is no \.npz file with the arrays rewards, costs"):
        fb.read_routing(path, BAR)
    path.write_bytes(pickle.dumps({"rewards": 1}))
    with pytest.raises(InputError, match=r"is no \.npz file"):
        fb.read_routing(path, BAR)
    np.savez(path, R=np.zeros((2, 2)), cost=np.ones(2))
    with pytest.raises(InputError, match=r"queries\.npz has no array called 'rewards'; it has R, cost"):
        fb.read_routing(path, BAR)
    np.savez(path, rewards=np.array([[0.5, 2.0]]), costs=np.ones(2))
    with pytest.raises(InputError, match=r"queries\.npz: rewards must lie in \[0, 1\].*is 2\.0"):
        fb.read_routing(path, BAR)
    np.savez(path, rewards=np.array([[0.5, None]], object), costs=np.ones(2))
    with pytest.raises(InputError, match=r"is no \.npz file"):
        fb.read_routing(path, BAR)
