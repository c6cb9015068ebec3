"""Routing problems by name, and at random."""

from __future__ import annotations

import re

import numpy as np
import pytest

import frugalbandits as fb
from frugalbandits.errors import InputError
from frugalbandits.lab.contextual import digits


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def kept(cache, monkeypatch):
    monkeypatch.setenv("FRUGALBANDITS_CACHE_DIR", str(cache))
    return cache / "instances"


def test_digits_are_made_once_and_kept(kept, monkeypatch):
    first = fb.routing_instance("digits-routing")
    (path,) = kept.iterdir()
    monkeypatch.setattr(digits, "_made", lambda: pytest.fail("made a second time"))
    again = fb.routing_instance("digits-routing", "at-least:0.9")
    for part in ("features", "rewards", "costs", "segment"):
        assert np.array_equal(getattr(first, part), getattr(again, part))
    assert first.bar == pytest.approx(0.95 * first.option_quality.max()) and again.bar == 0.9
    assert path.suffix == ".npz"


def test_five_real_classifiers(kept):
    problem = fb.routing_instance("digits-routing")
    assert problem.rewards.shape == (1_797, 5) and set(np.unique(problem.rewards)) == {0.0, 1.0}
    assert problem.segment_names == tuple(f"looks like {digit}" for digit in range(10))
    # The dearer, the better; what is dearest errs on some digits that the cheapest gets right.
    assert (np.diff(problem.option_quality) > 0).all() and (np.diff(problem.option_cost) > 0).all()
    assert 0.6 < problem.option_quality[0] < 0.75 and problem.option_quality[-1] > 0.98
    assert ((problem.rewards[:, 0] == 1) & (problem.rewards[:, -1] == 0)).any()
    oracle = problem.oracle()
    assert oracle.segments.cost < 0.8 * oracle.mix.cost < 0.8 * oracle.single.cost


def test_a_file_that_cannot_be_read_is_made_again(kept, monkeypatch):
    fb.routing_instance("digits-routing")
    (path,) = kept.iterdir()
    whole = path.read_bytes()
    with np.load(path) as file:
        arrays = dict(file)
    monkeypatch.setattr(digits, "_made", lambda: arrays)
    for broken in (b"", whole[: len(whole) // 2], b"nonsense"):
        path.write_bytes(broken)
        problem = fb.routing_instance("digits-routing")
        assert np.array_equal(problem.rewards, arrays["right"])
        with np.load(path) as file:
            assert np.array_equal(file["right"], arrays["right"])


def test_a_cache_that_cannot_be_written_to_does_no_harm(kept, tmp_path, monkeypatch):
    fb.routing_instance("digits-routing")
    (path,) = kept.iterdir()
    with np.load(path) as file:
        arrays = dict(file)
    monkeypatch.setattr(digits, "_made", lambda: arrays)
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FRUGALBANDITS_CACHE_DIR", str(tmp_path / "file"))
    assert fb.routing_instance("digits-routing").options == 5


@pytest.mark.parametrize("misspecified", [False, True])
def test_a_seed_is_a_problem(misspecified):
    first, again, other = (
        fb.synthetic_routing(seed, misspecified=misspecified, queries=300) for seed in (4, 4, 5)
    )
    assert np.array_equal(first.rewards, again.rewards) and np.array_equal(first.features, again.features)
    assert not np.array_equal(first.rewards, other.rewards)
    kind = "misspecified" if misspecified else "synthetic"
    named = fb.routing_instance(f"{kind}-4")
    assert named.queries == 5_000 and named.quality == fb.RelativeToBest(0.05)


def test_sizes_are_as_asked():
    problem = fb.synthetic_routing(1, options=6, features=3, segments=2, queries=500, quality="at-least:0.6")
    assert (problem.options, problem.features.shape, problem.bar) == (6, (500, 3), 0.6)
    assert len(problem.segment_names) == 2
    assert problem.rewards.min() >= 0.02 and problem.rewards.max() <= 0.98


def test_what_no_linear_model_fits():
    """A regression with all that policies see leaves little of a linear problem, and much of the other."""
    left = []
    for misspecified in (False, True):
        problem = fb.synthetic_routing(2, misspecified=misspecified)
        fit = problem.encoded @ np.linalg.lstsq(problem.encoded, problem.rewards, rcond=None)[0]
        left.append(float(((problem.rewards - fit) ** 2).mean() / problem.rewards.var(axis=0).mean()))
    assert left[0] < 0.05 and left[1] > 0.15


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["synthetic", "misspecified"])
def test_there_is_something_to_gain(kind, seed):
    oracle = fb.routing_instance(f"{kind}-{seed}").oracle()
    assert oracle.linear.reaches and oracle.linear.cost < 0.95 * oracle.single.cost


def test_bad_input():
    for call, said in [
        (
            lambda: fb.routing_instance("digits"),
            "no routing problem is called 'digits'; did you mean 'digits-",
        ),
        (lambda: fb.routing_instance("synthetic-x"), "no routing problem is called 'synthetic-x'"),
        (lambda: fb.routing_instance(3), "no routing problem is called '3'"),
        (lambda: fb.synthetic_routing(-1), "seed must be at least 0, but it is -1"),
        (lambda: fb.synthetic_routing(1, options=1), "options must be at least 2, but it is 1"),
        (lambda: fb.synthetic_routing(1, features=2.5), "features must be a whole number, but it is 2.5"),
        (lambda: fb.synthetic_routing(1, misspecified="x"), "misspecified must be True or False"),
    ]:
        with pytest.raises(InputError, match=re.escape(said)):
            call()
