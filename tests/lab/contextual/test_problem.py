"""A population of queries: what follows from it, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

import frugalbandits as fb
from frugalbandits.errors import InputError

REWARDS = [[0.5, 0.9], [0.7, 0.8], [0.2, 1.0]]


def made(**given):
    told = {
        "features": [[1.0], [2.0], [3.0]],
        "segments": ["x", "y", "x"],
        "rewards": REWARDS,
        "costs": [1.0, 4.0],
        "quality": "at-least:0.5",
        "names": ["small", "large"],
    }
    return fb.ContextualProblem(**{**told, **given})


def test_the_three_bars():
    assert made(quality="at-least:0.85").bar == 0.85
    assert made(quality=fb.RelativeToBest(0.1)).bar == pytest.approx(0.9 * 0.9)
    assert made(quality="relative-to:small:0.5").bar == pytest.approx(0.5 * 1.4 / 3)
    assert made(quality="relative-to:small:0.5").reference == 0


def test_single_options():
    problem = made()
    assert problem.option_quality == pytest.approx([1.4 / 3, 0.9])
    assert problem.best_option == 1 == problem.optimal_option
    assert made(quality="at-least:0.4").optimal_option == 0
    assert made(quality="at-least:1").optimal_option == 1  # the best there is
    # Equal to the bar but for rounding is good enough, and of equal ones the cheaper counts.
    level = float(np.mean([0.5, 0.7, 0.2])) * (1 + 1e-15)
    assert made(quality=f"at-least:{level}").optimal_option == 0
    assert made(rewards=[[0.5, 0.5]] * 3, costs=[2, 1]).best_option == 1


def test_queries_as_policies_see_them():
    assert made().encoded.tolist() == [[1, 1, 1, 0], [1, 2, 0, 1], [1, 3, 1, 0]]
    assert made(segments=None).encoded.tolist() == [[1, 1], [1, 2], [1, 3]]
    assert made(features=None).encoded.tolist() == [[1, 1, 0], [1, 0, 1], [1, 1, 0]]
    assert made(features=None, segments=None).encoded.tolist() == [[1], [1], [1]]
    setting = made().setting()
    assert (setting.width, setting.features, setting.reference) == (4, 1, -1)
    assert made(quality="relative-to:large:0").setting().reference == 1


def test_segments_are_numbers_or_texts_in_order():
    assert made(segments=[10, 2, 10]).segment_names == ("2", "10")
    assert made(segments=np.array(["b", "a", "b"])).segment.tolist() == [1, 0, 1]
    assert made().segment_share.tolist() == pytest.approx([2 / 3, 1 / 3])


def test_costs_of_each_query():
    problem = made(costs=[[1, 4], [2, 4], [3, 10]])
    assert problem.option_cost.tolist() == [2, 6]
    assert problem.with_quality("at-least:0.1").costs.tolist() == problem.costs.tolist()
    assert made().with_quality("at-least:0.1").costs.tolist() == [[1, 4]]


def test_nothing_changes_afterwards():
    rewards = np.array(REWARDS)
    problem = made(rewards=rewards)
    rewards[0, 0] = 0.9
    assert problem.rewards[0, 0] == 0.5
    for part in (problem.rewards, problem.costs, problem.features, problem.segment, problem.encoded):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1


BAD = [
    ({"rewards": [[0.5, 1.5]] * 3}, "rewards must lie in [0, 1], but rewards[0, 1] is 1.5"),
    ({"rewards": [[0.5, float("nan")]] * 3}, "rewards must be finite, but rewards[0, 1] is nan"),
    ({"rewards": [0.5, 0.6]}, "rewards must have rows and columns, but its shape is (2,)"),
    ({"rewards": [[0.5], [0.5], [0.5]]}, "at least 1 x 2, but its shape is (3, 1)"),
    ({"rewards": [["0.5", "1"]] * 3}, "rewards must be a table of numbers, but one entry is '0.5'"),
    ({"rewards": [[0.5, 0.6], [0.5]]}, "rewards must be a table of numbers, with rows of one length"),
    ({"rewards": np.zeros((0, 2))}, "at least 1 x 2, but its shape is (0, 2)"),
    ({"features": [[1.0], [2.0]]}, "features must have a row for each query, but there are 2 of them and 3"),
    ({"features": [[1.0], [float("inf")], [0]]}, "features must be finite, but features[1, 0] is inf"),
    ({"features": [1.0, 2.0, 3.0]}, "features must have rows and columns, but its shape is (3,)"),
    ({"segments": ["x", "y"]}, "segments must have a row for each query, but there are 2 of them"),
    ({"segments": ["x", None, "y"]}, "a segment is a text or a number, but segments[1] is None"),
    ({"segments": ["x", float("nan"), "y"]}, "but segments[1] is nan"),
    ({"segments": ["x", 1, "y"]}, "segments must be texts or numbers, but there are int and str"),
    ({"segments": "xyx"}, "segments must be a list of labels, but it is 'xyx'"),
    ({"costs": [1, 2, 3]}, "costs must have an entry for each option, but there are 3 of them and 2"),
    ({"costs": [[1, 2]] * 2}, "costs must have a row for each query, but there are 2 of them and 3"),
    ({"costs": [1, float("inf")]}, "costs must be finite, but costs[0, 1] is inf"),
    ({"costs": [1, None]}, "costs must be a table of numbers, but one entry is None"),
    ({"costs": 3.0}, "costs must have rows and columns, but its shape is ()"),
    ({"quality": "relative-to:medium:0.1"}, "no option is called 'medium'"),
    ({"quality": "at-least:2"}, "level is the quality that is good enough and must lie in [0, 1]"),
    ({"quality": 0.1}, "quality must be RelativeToBest(alpha)"),
    ({"quality": None}, "say what is good enough"),
    ({"names": ["small"]}, "one name per arm, but there are 1 names and 2 arms"),
    ({"names": ["a", "a"]}, "names must differ, but 'a' stands 2 times"),
    ({"realised": "yes"}, "realised must be True or False, but it is 'yes'"),
]


@pytest.mark.parametrize(("given", "said"), BAD, ids=[said[:40] for _, said in BAD])
def test_what_is_refused(given, said):
    with pytest.raises(InputError, match=re.escape(said)) as error:
        made(**given)
    assert "\n" not in str(error.value)
