"""What the tests of figures share: results by their final regret, and what is drawn where."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

import frugalbandits as fb

# Arm 0 is optimal, so summed regret is the number of pulls of arm 1.
SIMPLE = fb.Problem([0.9, 0.9], [0, 1], alpha=0.1)
TIMES = np.array([100, 200, 300, 400])


def result(policy: str, *finals: int, problem: fb.Problem = SIMPLE) -> fb.Result:
    """A result whose runs end with the given summed regrets, growing evenly from the start."""
    wrong = np.array([[final * t // 400 for t in TIMES] for final in finals], dtype=np.int64)
    return fb.Result(
        problem=problem,
        policy=policy,
        seed=0,
        times=TIMES,
        pulls=np.stack([TIMES - wrong, wrong], axis=2),
        events=np.zeros(0, dtype=[("run", int), ("time", int), ("event", "U10"), ("arm", int)]),
        plans=np.ones(len(finals), np.int64),
    )


def bands(axes: Axes) -> list[PolyCollection]:
    return [artist for artist in axes.collections if isinstance(artist, PolyCollection)]


def curves(axes: Axes) -> dict[str, Any]:
    return {str(line.get_label()): line for line in axes.get_lines()}


def drawn(figure: Figure) -> Any:
    figure.draw_without_rendering()
    return figure.canvas.get_renderer()


def overlapping(boxes: list[Bbox]) -> list[tuple[int, int]]:
    # Touching edges are fine.
    inner = [Bbox.from_extents(b.x0 + 0.5, b.y0 + 0.5, b.x1 - 0.5, b.y1 - 0.5) for b in boxes]
    return [(i, j) for i, j in itertools.combinations(range(len(inner)), 2) if inner[i].overlaps(inner[j])]


def inside(figure: Figure, box: Bbox) -> bool:
    whole = figure.bbox
    return bool(
        whole.x0 - 1 <= box.x0
        and box.x1 <= whole.x1 + 1
        and whole.y0 - 1 <= box.y0
        and box.y1 <= whole.y1 + 1
    )


# Regret over time
