"""Cells that take long enough to be interrupted, and outcomes compared to the bit."""

from __future__ import annotations

from dataclasses import replace

from frugalbandits.lab.sweeps.cells import Cell, Outcome

# Some tenths of a second each, on one core; and one that takes minutes, which can only be cut short.
SLOW = [
    *(Cell("movielens", 0.1, "cof", 1_000_000, runs=30, seed=seed, checkpoints=20) for seed in range(3)),
    Cell("movielens", 0.1, "pe-cs", 1_000_000, runs=30, seed=0, checkpoints=20),
]
ENDLESS = replace(SLOW[0], runs=10_000, checkpoints=1)


def same_result(one: Outcome, other: Outcome) -> bool:
    names = ("times", "pulls", "events", "plans")
    pairs = [(getattr(one.result, name), getattr(other.result, name)) for name in names]
    return (
        one.cell == other.cell
        and one.result.policy == other.result.policy
        and all(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)
    )


def all_the_same(one: dict[Cell, Outcome], other: dict[Cell, Outcome]) -> bool:
    return list(one) == list(other) and all(same_result(one[cell], other[cell]) for cell in one)
