"""Replays of policies that look at the request: what a session would have done, and the rules of oracles."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.core.contextual.contract import Choice, ContextualSetting
from frugalbandits.core.contextual.dual_cof import DualCOF
from frugalbandits.core.jit import inlined
from frugalbandits.lab.logs import Scan
from frugalbandits.lab.replay import looking, queries
from frugalbandits.lab.replay.data import Log, Table
from frugalbandits.lab.replay.driver import MATCHED, TABLED
from frugalbandits.lab.replay.looking import in_one_piece
from frugalbandits.lab.replay.reading import Columns, read_past
from frugalbandits.lab.replay.resampling import pool_of, source_of
from routing_harness import small

FEW: dict[str, Any] = {"resamples": 39, "progress": False}


def table_of(problem: fb.ContextualProblem, seed: int = 0) -> dict[str, Any]:
    """Return a full table with realised rewards and costs that vary, as columns."""
    rng = np.random.default_rng(seed)
    rewards = (rng.random(problem.rewards.shape) < problem.rewards).astype(float)
    costs = problem.costs * rng.lognormal(-0.02, 0.2, problem.rewards.shape)
    columns: dict[str, Any] = {"task": np.array(problem.segment_names)[problem.segment]}
    columns |= {f"x{place}": column for place, column in enumerate(problem.features.T)}
    for option, name in enumerate(problem.names):
        columns |= {f"reward:{name}": rewards[:, option], f"cost:{name}": costs[:, option]}
    return columns


def log_of(table: dict[str, Any], names: tuple[str, ...], seed: int) -> dict[str, Any]:
    """Return the log of somebody who chose uniformly at random."""
    requests = len(table["task"])
    choice = np.random.default_rng([9, seed]).integers(0, len(names), requests)
    kept = {key: values for key, values in table.items() if ":" not in key}
    for what in ("reward", "cost"):
        every = np.array([table[f"{what}:{name}"] for name in names])
        kept[what] = every[choice, np.arange(requests)]
    return kept | {"option": np.array(names)[choice]}


def world(seed: int = 3, requests: int = 400, quality: str = "relative-to-best:0.1") -> fb.ContextualProblem:
    return small(seed, quality, queries=requests)


# One run


@given(
    shapes=st.lists(st.sampled_from([(0,), (1,), (3,), (2, 5), (2, 3, 3)]), max_size=5),
    seed=st.integers(0, 999),
)
def test_one_copy_of_the_buffer_keeps_all_of_a_state(shapes: list[tuple[int, ...]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = (np.float64, np.int64, np.bool_, np.uint8)
    arrays = tuple((rng.random(shape) * 9).astype(kinds[i % 4]) for i, shape in enumerate(shapes))
    (first, number, rest), buffer = in_one_piece((arrays[:1], 7, arrays[1:]))
    kept = buffer.copy()
    assert number == 7
    for own, view in zip(arrays, (*first, *rest), strict=True):
        assert view.dtype == own.dtype and np.array_equal(view, own) and view.flags.c_contiguous
        view[...] = 1 - view.astype(np.int64)
    buffer[:] = kept
    for own, view in zip(arrays, (*first, *rest), strict=True):
        assert np.array_equal(view, own)


def setting_of(problem: fb.ContextualProblem, costs: np.ndarray) -> ContextualSetting:
    return problem.setting()._replace(costs=costs)


def in_plain_python(policy: DualCOF, state: Any, buffer: Any, source: Any, *rest: Any) -> int:
    scope = {**looking.drive.__globals__, "choose": type(policy).choose, "learn": type(policy).learn}
    return int(FunctionType(looking.drive.__code__, scope)(state, buffer, source, *rest))


@settings(max_examples=15)
@given(seed=st.integers(0, 999), matched=st.booleans())
def test_a_replay_in_order_is_a_policy_that_never_met_the_other_rows(seed: int, matched: bool) -> None:
    """The reference asks a copy of the state, and keeps it only where the row counts."""
    problem, policy = world(seed, 60), DualCOF()
    rng = np.random.default_rng(seed)
    pairs = rng.random((problem.options, 60, 2))
    choice = rng.integers(0, problem.options, 60)
    past: Table | Log = Table(problem.names, pairs)
    if matched:
        past = Log(problem.names, choice, pairs[choice, np.arange(60)])
    source = source_of(pool_of(past, MATCHED if matched else TABLED, None, None), None)
    costs = np.arange(1.0, problem.options + 1)
    uses, sums, stop = np.zeros(problem.options, np.int64), np.zeros(2), np.zeros(1, np.bool_)
    state, buffer = in_one_piece(policy.start(setting_of(problem, costs)))
    served = in_plain_python(
        policy, state, buffer, source, problem.encoded, costs, np.random.default_rng(1), 40, uses, sums, stop
    )
    own, draws, seen = policy.start(setting_of(problem, costs)), np.random.default_rng(1), []
    for request in range(60):
        if len(seen) == 40:
            break
        tried = type(own)(*(part.copy() if isinstance(part, np.ndarray) else part for part in own))
        usable, floors = np.ones(problem.options, np.bool_), np.zeros(problem.options)
        made = policy.choose(tried, problem.encoded[request], costs, usable, draws, floors)
        if matched and choice[request] != made.arm:
            continue
        own = tried
        reward = pairs[made.arm, request, 0]
        policy.learn(own, problem.encoded[request], made.arm, made.propensity, reward, floors)
        seen.append(pairs[made.arm, request])
    assert served == len(seen) == uses.sum()
    assert sums == pytest.approx(np.sum(seen, axis=0))
    for part, other in zip(state, own, strict=True):
        assert np.array_equal(part, other)


@inlined
def choose_what_is_none(state: Any, phi: Any, costs: Any, usable: Any, rng: Any, floors: Any) -> Choice:
    return Choice(7, 1.0, True)


@inlined
def learn_nothing(state: Any, phi: Any, arm: int, propensity: float, reward: float, floors: Any) -> None:
    return


class Wild(DualCOF):
    choose: ClassVar[Any] = staticmethod(choose_what_is_none)
    learn: ClassVar[Any] = staticmethod(learn_nothing)


def test_a_policy_that_chooses_no_option_is_named() -> None:
    with pytest.raises(fb.InputError, match=r"Wild.* chose what is no option"):
        fb.replay(table_of(world()), 0.1, [Wild()], context="task", **FEW)


# What is said of a table


def test_looking_saves_where_segments_tell_what_is_hard() -> None:
    rng = np.random.default_rng(1)
    hard = rng.random(1_500) < 0.5
    table = {
        "context": np.where(hard, "hard", "easy"),
        "reward:small": (rng.random(1_500) < np.where(hard, 0.2, 0.9)).astype(float),
        "reward:large": (rng.random(1_500) < 0.9).astype(float),
        "cost:small": np.full(1_500, 1.0),
        "cost:large": np.full(1_500, 10.0),
    }
    found = fb.replay(table, 0.05, ["etc-cs", "mix-cs", "dual-cof"], **FEW)
    names = [line.name for line in found.lines]
    assert names[:3] == ["etc-cs", "mix-cs", "dual-cof"]
    assert names[3:] == ["oracle", "oracle: mix", "oracle: segments", "always small", "always large"]
    assert found.looked is not None and found.looked.words == "2 segments from 'context'"
    assert found["oracle: segments"].spend.high < found["oracle: mix"].spend.low < 10
    assert found["dual-cof"].spend.high < found["mix-cs"].spend.low
    over = found["dual-cof"].over_bar
    assert over is not None and 0.93 < over.low < over.value < over.high < 1.07
    assert found["dual-cof"].in_order is not None


def test_oracles_are_those_of_the_problem_with_costs_by_what_is_known() -> None:
    problem = world(5, 500)
    table = table_of(problem)
    found = fb.replay(table, 0.1, ["dual-cof"], context="task", features="x*", **FEW)
    rewards = np.array([table[f"reward:{name}"] for name in problem.names]).T
    costs = np.array([table[f"cost:{name}"] for name in problem.names]).T
    fitted = problem.encoded @ np.linalg.lstsq(problem.encoded, costs, rcond=None)[0]
    own = fb.ContextualProblem(problem.features, table["task"], rewards, fitted, "relative-to-best:0.1")
    for rule in own.oracle().rules:
        line = found[f"oracle: {rule.kind}"]
        assert (line.spend.value, line.quality.value) == pytest.approx((rule.cost, rule.quality))
        assert line.over_bar is not None and line.over_bar.value == pytest.approx(rule.quality / own.bar)
        assert line.spend.low <= line.spend.value <= line.spend.high
        assert list(line.uses.values()) == pytest.approx(rule.shares)
    # By segment it is what the requests of the segments did cost, not what a line through them says.
    by_costs = fb.ContextualProblem(None, table["task"], rewards, costs, "relative-to-best:0.1").oracle()
    assert found["oracle: segments"].spend.value == pytest.approx(by_costs.segments.cost)


def test_rows_in_any_order_and_in_the_long_form_are_the_same_table(tmp_path: Path) -> None:
    problem = world(2, 120)
    table = pl.DataFrame(table_of(problem)).with_columns(time=np.arange(120), request=np.arange(120))
    mixed = table.sample(fraction=1, shuffle=True, seed=4)
    mixed.write_csv(tmp_path / "table.csv")
    long = pl.concat(
        mixed.select(
            "task",
            "x0",
            "x1",
            "time",
            "request",
            reward=f"reward:{name}",
            cost=f"cost:{name}",
            option=pl.lit(name),
        )
        for name in problem.names
    )
    named: dict[str, Any] = {"policies": ["dual-cof"], "context": "task", "features": ["x0", "x1"], **FEW}
    expected = fb.replay(table, 0.1, **named)["dual-cof"]
    for form in (tmp_path / "table.csv", long):
        line = fb.replay(form, 0.1, **named)["dual-cof"]
        assert line.in_order == pytest.approx(expected.in_order)
        assert tuple(line.spend) == pytest.approx(tuple(expected.spend))


def test_texts_are_hashed() -> None:
    problem = world(2, 120)
    texts = [f"request {number} with {'many ' * (number % 7)}words" for number in range(120)]
    hashed = np.array([fb.TextFeatures(32).numbers(text) for text in texts])
    columns = {key: values for key, values in table_of(problem).items() if key[0] != "x"}
    numbered = columns | {f"x{place:02d}": column for place, column in enumerate(hashed.T)}
    by_text = fb.replay(columns | {"prompt": texts}, 0.1, ["dual-cof"], text="prompt", **FEW)
    by_number = fb.replay(numbered, 0.1, ["dual-cof"], features="x*", **FEW)
    assert by_text["dual-cof"] == by_number["dual-cof"]
    assert by_text.looked is not None and "32 features of the text 'prompt'" in by_text.looked.words


def test_of_many_requests_some_are_drawn_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST", 100)
    table = pl.DataFrame(table_of(world(2, 300))).with_columns(time=np.arange(300)[::-1].copy())
    found = fb.replay(table, 0.1, ["etc-cs", "dual-cof"], features="x*", **FEW)
    assert found.looked is not None and (found.requests, found.looked.requests) == (300, 100)
    assert any("on 100 of the requests" in words for words in found.warnings)
    assert sum(found["dual-cof"].uses.values()) == pytest.approx(100)
    assert sum(found["etc-cs"].uses.values()) == pytest.approx(300)


def test_drawn_requests_keep_their_own_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row says its own number in every column that is read, so a mix-up of rows would show."""
    monkeypatch.setattr(queries, "MOST", 50)
    count = 90
    numbers = np.random.default_rng(0).permutation(count)
    table = pl.DataFrame({"n": numbers, "time": count - numbers, "context": (numbers % 2).astype(str)})
    for name in ("a", "b"):
        table = table.with_columns(**{f"reward:{name}": numbers / count, f"cost:{name}": pl.col("n") * 1.0})
    scan, columns = Scan(table), Columns()
    past, _ = read_past(scan, columns)
    found, _ = queries.read_queries(scan, queries.wanted_of(scan, columns, "n", None), past, 0)
    assert found is not None and isinstance(found.past, Table) and found.segment is not None
    own = found.features[:, 0]
    assert np.array_equal(own, found.past.pairs[0, :, 1])
    assert np.array_equal(np.array(found.segments)[found.segment], (own.astype(int) % 2).astype(str))
    assert (np.diff(own) < 0).all() and len(own) == 50


# Logs


def test_rejection_agrees_with_the_full_table() -> None:
    """Both estimate one truth: their 95% intervals of a common world do not meet once in thousands."""
    problem = fb.synthetic_routing(4, 3, 2, 3, queries=3_000, quality="relative-to-best:0.1")
    table = table_of(problem)
    log = log_of(table, problem.names, 0)
    named: dict[str, Any] = {"context": "task", "features": "x*", **FEW}
    rejected = fb.replay(log, 0.1, ["dual-cof"], estimator="reject", **named)
    part = {key: values[: rejected.horizon] for key, values in table.items()}
    full = fb.replay(part, 0.1, ["dual-cof"], **named)
    assert rejected.looked is not None and rejected.looked.horizon == rejected.horizon
    assert not any(line.name.startswith("oracle:") for line in rejected.lines)
    for one, other in (
        (rejected["dual-cof"].spend, full["dual-cof"].spend),
        (rejected["dual-cof"].quality, full["dual-cof"].quality),
    ):
        assert one.low < other.high and other.low < one.high


def test_a_log_that_goes_by_what_is_known_of_a_request_is_not_random() -> None:
    """Options are used as often, and not by the order: it shows in the feature alone."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=600)
    log = {"x": x, "option": np.where(x > np.median(x), "a", "b"), "reward": x > 0, "cost": np.ones(600)}
    with pytest.raises(fb.InputError, match="depends on feature 1"):
        fb.replay(log, 0.1, ["etc-cs", "dual-cof"], features="x", estimator="reject", **FEW)


# What is refused


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"features": "y*"}, "no column is called 'y\\*'"),
        ({"features": []}, "there is none"),
        ({"features": "cost:a1"}, "'cost:a1' is not known before a request is answered"),
        ({"text": "reward:a1"}, "'reward:a1' is not known before"),
        ({"text": "prompt"}, "no column is called 'prompt'"),
        ({"features": "task"}, "row 1.* is no finite number"),
        ({"features": "big"}, "row 3: big is 10000000.0, which is beyond 1,000,000"),
        ({"features": "x*", "text": "task"}, "features and text are both given"),
        ({"context": "x0"}, "segments are up to 200"),
        ({}, "dual-cof looks at the request: name columns"),
        ({"policies": ["dual-coff"], "context": "task"}, "no policy is called 'dual-coff'"),
    ],
)
def test_what_cannot_be_looked_at_is_said_in_one_line(given: dict[str, Any], words: str) -> None:
    table = table_of(world(2, 60)) | {"big": np.where(np.arange(60) == 2, 1e7, 1.0)}
    with pytest.raises(fb.InputError, match=words):
        fb.replay(table, 0.1, **({"policies": ["dual-cof"], **FEW} | given))


def test_a_log_of_one_option_a_request_says_what_is_not_known() -> None:
    problem = world(2, 300)
    log = log_of(table_of(problem), problem.names, 1)
    with pytest.raises(fb.InputError, match="or by the estimator 'reject'"):
        fb.replay(log, 0.1, ["etc-cs"], features="x*", **FEW)
    with pytest.raises(fb.InputError, match="dual-cof is replayed on a full table"):
        fb.replay(log, 0.1, ["dual-cof"], context="task", **FEW)
    assert fb.replay(log, 0.1, ["etc-cs"], context="task", **FEW).looked is None


def test_a_column_that_happens_to_be_called_context_does_not_stop_a_table() -> None:
    table = table_of(world(2, 60)) | {"context": [f"document {number}" for number in range(60)]}
    found = fb.replay(table, 0.1, ["etc-cs"], **FEW)
    assert found.looked is None
    assert any("the column 'context' is not used" in words for words in found.warnings)
