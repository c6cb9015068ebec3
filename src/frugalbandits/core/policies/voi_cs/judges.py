"""The judges of every arm, found in a tree: the same results as with all pairs, bit for bit, in less time.

`beliefs.weigh` compares each arm with each judge. With hundreds of arms that takes too long, so here:

- Arms with equal pulls and equal sums form one group, and a group is compared once.
- Groups are the leaves of a binary tree, sorted so that neighbours have similar means and deviations. A node
  knows the ranges of its groups. From these follow a lower bound of the signed roots of all judges in it, and
  an upper bound of what the arm lacks. A node that can change neither result is skipped.

Why the bounds hold:

- The normal approximation is computed with operations that round correctly, so it is monotone as computed:
  its bound for a node needs no allowance for rounding.
- The signed root falls as the judge's mean (with half a pseudo-count) rises at the same number of pulls. At
  the same mean it moves away from 0 as the pulls grow. So its least value in a node is at the highest mean,
  with the fewest pulls if it is positive there and the most if it is negative.
- The computed likelihood ratio is off by less than `ROUNDING` for each pull. The bound allows for that.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from frugalbandits.core.jit import inlined, inner
from frugalbandits.core.policies.looking import floats, ordered, wholes
from frugalbandits.core.policies.voi_cs.roots import MARGIN, SURE, expected_gap, root_for_judge, shortfall

__all__ = ["DEPTH", "Found", "build_tree", "group", "strongest_judge"]

ROUNDING = 1e-12  # of a likelihood ratio, for each pull: a hundred times what rounding can do
ABOVE = 1.0 + 1e-9  # the same for what an arm lacks, as a factor
CELLS = 4095  # steps of the mean and of the deviation, by which groups are sorted
WIDEST = 0.29  # no posterior of a mean deviates by more
DEPTH = 64  # of the stack of a search: enough for 2^60 groups

# A tree is one list of numbers, because machine code for many lists takes long to make. Node 1 is the root,
# node p has the children 2p and 2p + 1, and group g is the leaf leaves + g. Each node has these numbers:
FIELDS = 8
MEAN = 0  # the highest; negative where there is no group below
LARGEST = 1  # variance
SMALLEST = 2
MOST = 3  # pulls
FEWEST = 4
RATE = 5  # the highest mean with half a pseudo-count
SUM = 6  # of rewards; of a leaf only
FIRST = 7  # arm of the group; of a leaf only


class Found(NamedTuple):
    """What a search found, and the groups where it found it: a good start for the search of a similar arm."""

    least: float  # signed root for a judge of another group
    judge: int  # the first arm with that root, or -1
    within: float  # signed root for a judge of the same group; 1e9 where that cannot be the least
    most: float  # what the arm lacks
    nearest: int
    strongest: int
    widest: int


@inner
def group(pulls: Any, sums: Any, mean: Any, var: Any) -> tuple[Any, Any, int]:
    """Return all arms, sorted so that neighbours are similar, where each group begins, and their number.

    A group is arms with equal pulls and sums, in their own order.
    """
    arms = len(pulls)
    cells = floats(arms)
    for k in range(arms):
        x = min(max(int(mean[k] * CELLS), 0), CELLS)
        y = min(max(int(math.sqrt(var[k]) / WIDEST * CELLS), 0), CELLS)
        cell, bit = 0, (CELLS + 1) // 2
        while bit > 0:  # the bits of both in turn: cells with close numbers are close
            cell = 4 * cell + 2 * ((x // bit) % 2) + (y // bit) % 2
            bit //= 2
        cells[k] = float(cell)
    members = ordered(cells, pulls, sums)
    start = wholes(arms + 1)
    number = 0
    for place in range(arms):
        k, last = members[place], members[max(place - 1, 0)]
        if place == 0 or pulls[k] != pulls[last] or sums[k] != sums[last]:
            start[number] = place
            number += 1
    start[number] = arms
    return members, start, number


@inner
def build_tree(
    members: Any, start: Any, number: int, pulls: Any, sums: Any, mean: Any, var: Any
) -> tuple[Any, int]:
    """Return the ranges of the groups below each node, and how many leaves there are."""
    leaves = 1
    while leaves < number:
        leaves *= 2
    tree = floats(2 * leaves * FIELDS)
    for node in range(leaves, 2 * leaves):
        at = node * FIELDS
        if node - leaves < number:
            k = members[start[node - leaves]]
            tree[at + MEAN] = mean[k]
            tree[at + LARGEST], tree[at + SMALLEST] = var[k], var[k]
            tree[at + MOST], tree[at + FEWEST] = pulls[k], pulls[k]
            tree[at + RATE] = (sums[k] + 0.5) / (pulls[k] + 1.0)
            tree[at + SUM], tree[at + FIRST] = sums[k], float(k)
        else:
            tree[at + MEAN], tree[at + SMALLEST], tree[at + FEWEST] = -1.0, 1.0, 1e300
    for node in range(leaves - 1, 0, -1):
        at, left = node * FIELDS, 2 * node * FIELDS
        for field in range(SUM):
            one, other = tree[left + field], tree[left + FIELDS + field]
            least = field in (SMALLEST, FEWEST)
            tree[at + field] = min(one, other) if least else max(one, other)
    return tree, leaves


@inlined
def near_at_least(tree: Any, node: int, keep: float, mean: float, var: float) -> float:
    """Return the least that the normal approximation can be for a judge below a node; exact for a leaf."""
    apart = mean - keep * tree[node * FIELDS + MEAN]
    other = tree[node * FIELDS + (LARGEST if apart >= 0 else SMALLEST)]
    return apart / math.sqrt(var + keep * keep * other)


@inner
def lowest_near(
    tree: Any, leaves: int, keep: float, own: int, alone: bool, guess: int, stack: Any
) -> tuple[float, int]:
    """Return the least normal approximation over all judges of an arm of group `own`, and whose it is."""
    mean, var = tree[(leaves + own) * FIELDS + MEAN], tree[(leaves + own) * FIELDS + LARGEST]
    low, nearest = 1e9, -1
    stack[0], stack[1], stack[2], depth = 1, leaves + own, leaves + max(guess, 0), 3
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if tree[node * FIELDS + MEAN] < 0 or (alone and node == leaves + own):
            continue
        near = near_at_least(tree, node, keep, mean, var)
        if near < low:
            if node >= leaves:
                low, nearest = near, node - leaves
            else:
                # The child with the higher mean is looked at first.
                left = 2 * node
                swap = 1 if tree[left * FIELDS + MEAN] < tree[(left + 1) * FIELDS + MEAN] else 0
                stack[depth], stack[depth + 1] = left + 1 - swap, left + swap
                depth += 2
    return low, nearest


@inner
def matters(
    tree: Any,
    node: int,
    near: float,
    keep: float,
    pulls: float,
    total: float,
    mean: float,
    var: float,
    low: float,
    least: float,
    most: float,
) -> bool:
    """Tell whether a judge below a node may have a root of `least` or less, or raise `most`."""
    at = node * FIELDS
    if low <= -SURE - MARGIN or near >= SURE:
        bound = near  # no judge within the margin has another root than the normal approximation
    else:
        rate = tree[at + RATE]
        judged = tree[at + (FEWEST if total + 0.5 >= keep * rate * (pulls + 1.0) else MOST)]
        root = root_for_judge(keep, pulls, total, judged, rate * (judged + 1.0) - 0.5)
        ratio = 0.5 * root * abs(root) - ROUNDING * (pulls + tree[at + MOST] + 3.0)
        bound = min(math.copysign(math.sqrt(2.0 * abs(ratio)), ratio), SURE)
        if near <= -SURE:
            bound = min(bound, near)
    if not bound > least:
        return True
    if bound >= SURE:
        return False
    lacking = math.sqrt(var + keep * keep * tree[at + LARGEST]) * shortfall(max(bound, -6.0))
    if bound <= -6.0:
        lacking = max(lacking, keep * tree[at + MEAN] - mean)
    return not lacking * ABOVE < most


@inner
def strongest_judge(
    own: int, alone: bool, tree: Any, leaves: int, keep: float, last: Found, stack: Any
) -> Found:
    """Return what all judges say of an arm of group `own`; `last` was found for a similar group.

    `alone` tells that the group has one arm, which does not judge itself.
    """
    home = (leaves + own) * FIELDS
    n, s, m, v = tree[home + MOST], tree[home + SUM], tree[home + MEAN], tree[home + LARGEST]
    low, nearest = lowest_near(tree, leaves, keep, own, alone, last.nearest, stack)
    least, judge, within, most = 1e9, -1, 1e9, 0.0
    strongest, widest = -1, -1
    # Good guesses are on top of the stack: with these, most nodes can be skipped.
    stack[0], stack[1], stack[2] = 1, leaves + max(last.widest, 0), leaves + max(last.strongest, 0)
    stack[3], stack[4], depth = leaves + own, leaves + max(nearest, 0), 5
    while depth > 0:
        depth -= 1
        node = stack[depth]
        at = node * FIELDS
        if tree[at + MEAN] < 0 or (alone and node == leaves + own):
            continue
        near = near_at_least(tree, node, keep, m, v)
        if near > low + MARGIN:
            continue
        if node < leaves:
            if matters(tree, node, near, keep, n, s, m, v, low, min(least, within), most):
                stack[depth], stack[depth + 1] = 2 * node, 2 * node + 1
                depth += 2
            continue
        place = node - leaves
        if place in (strongest, widest) or (place == own and within < 1e9):
            continue  # it was a guess
        exact = near
        if -SURE < exact < SURE:
            exact = root_for_judge(keep, n, s, tree[at + MOST], tree[at + SUM])
        arm = int(tree[at + FIRST])
        if place == own:
            within = exact
        elif exact < least or (exact == least and arm < judge):
            least, judge, strongest = exact, arm, place
        if exact < SURE:
            gap = expected_gap(exact, near, math.sqrt(v + keep * keep * tree[at + LARGEST]))
            if gap > most:
                most, widest = gap, place
    return Found(least, judge, within, most, nearest, strongest, widest)
