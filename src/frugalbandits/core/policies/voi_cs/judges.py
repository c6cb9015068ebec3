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

__all__ = ["DEPTH", "Found", "Groups", "build_tree", "group", "strongest_judge"]

ROUNDING = 1e-12  # of a likelihood ratio, for each pull: a hundred times what rounding can do
ABOVE = 1.0 + 1e-9  # the same for what an arm lacks, as a factor
CELLS = 4095  # steps of the mean and of the deviation, by which groups are sorted
WIDEST = 0.29  # no posterior of a mean deviates by more
DEPTH = 64  # of the stack of a search: enough for 2^62 groups


class Groups(NamedTuple):
    """Arms with equal pulls and sums; group g has the arms members[start[g]], ..., members[start[g + 1] - 1].

    Within a group, arms are in their own order.
    """

    count: int
    members: Any
    start: Any


class Tree(NamedTuple):
    """Ranges of the groups below each node. Node 1 is the root, node p has the children 2p and 2p + 1.

    Group g is node leaves + g. Nodes without groups have a negative `mean`.
    """

    leaves: int
    mean: Any  # the highest
    widest: Any  # the largest variance
    tightest: Any  # the smallest variance
    most: Any  # pulls
    fewest: Any
    rate: Any  # the highest mean with half a pseudo-count


class Found(NamedTuple):
    """What a search found, and the groups where it found it: a good start for the search of a similar arm."""

    least: float  # signed root
    judge: int  # the first arm with that root, or -1
    most: float  # what the arm lacks
    low: float  # the least normal approximation
    nearest: int
    strongest: int
    widest: int


@inner
def group(pulls: Any, sums: Any, mean: Any, var: Any) -> Groups:
    """Return arms with equal pulls and sums as groups, sorted so that neighbours are similar."""
    arms = len(pulls)
    cells = wholes(arms)
    for k in range(arms):
        x = min(max(int(mean[k] * CELLS), 0), CELLS)
        y = min(max(int(math.sqrt(var[k]) / WIDEST * CELLS), 0), CELLS)
        cell, bit = 0, (CELLS + 1) // 2
        while bit > 0:  # the bits of both in turn: cells with close numbers are close
            cell = 4 * cell + 2 * ((x // bit) % 2) + (y // bit) % 2
            bit //= 2
        cells[k] = cell
    members = ordered(cells, pulls, sums)
    start = wholes(arms + 1)
    count = 0
    for place in range(arms):
        k, last = members[place], members[max(place - 1, 0)]
        if place == 0 or pulls[k] != pulls[last] or sums[k] != sums[last]:
            start[count] = place
            count += 1
    start[count] = arms
    return Groups(count, members, start)


@inner
def build_tree(groups: Any, pulls: Any, sums: Any, mean: Any, var: Any) -> Tree:
    """Return the ranges of the groups below each node."""
    leaves = 1
    while leaves < groups.count:
        leaves *= 2
    size = 2 * leaves
    tree = Tree(leaves, floats(size), floats(size), floats(size), floats(size), floats(size), floats(size))
    for place in range(leaves):
        node = leaves + place
        if place < groups.count:
            k = groups.members[groups.start[place]]
            tree.mean[node], tree.widest[node], tree.tightest[node] = mean[k], var[k], var[k]
            tree.most[node], tree.fewest[node] = pulls[k], pulls[k]
            tree.rate[node] = (sums[k] + 0.5) / (pulls[k] + 1.0)
        else:
            tree.mean[node], tree.tightest[node], tree.fewest[node] = -1.0, 1.0, 1e300
    for node in range(leaves - 1, 0, -1):
        left, right = 2 * node, 2 * node + 1
        tree.mean[node] = max(tree.mean[left], tree.mean[right])
        tree.widest[node] = max(tree.widest[left], tree.widest[right])
        tree.tightest[node] = min(tree.tightest[left], tree.tightest[right])
        tree.most[node] = max(tree.most[left], tree.most[right])
        tree.fewest[node] = min(tree.fewest[left], tree.fewest[right])
        tree.rate[node] = max(tree.rate[left], tree.rate[right])
    return tree


@inlined
def near_at_least(tree: Any, node: int, keep: float, mean: float, var: float) -> float:
    """Return the least that the normal approximation can be for a judge below a node; exact for a leaf."""
    apart = mean - keep * tree.mean[node]
    other = tree.widest[node] if apart >= 0 else tree.tightest[node]
    return apart / math.sqrt(var + keep * keep * other)


@inlined
def root_at_least(tree: Any, node: int, keep: float, pulls: float, total: float) -> float:
    """Return a value that no computed signed root for a judge below a node is below."""
    rate = tree.rate[node]
    judged = tree.fewest[node] if total + 0.5 >= keep * rate * (pulls + 1.0) else tree.most[node]
    root = root_for_judge(keep, pulls, total, judged, rate * (judged + 1.0) - 0.5)
    ratio = 0.5 * root * abs(root) - ROUNDING * (pulls + tree.most[node] + 3.0)
    return math.sqrt(2.0 * ratio) if ratio >= 0 else -math.sqrt(-2.0 * ratio)


@inner
def lowest_near(
    tree: Any, keep: float, mean: float, var: float, own: int, alone: bool, guess: int, stack: Any
) -> tuple[float, int]:
    """Return the least normal approximation over all judges of an arm of group `own`, and its group."""
    low, nearest = 1e9, -1
    if not alone:
        low, nearest = min(low, near_at_least(tree, tree.leaves + own, keep, mean, var)), own
    if guess >= 0 and guess != own:
        near = near_at_least(tree, tree.leaves + guess, keep, mean, var)
        if near < low:
            low, nearest = near, guess
    stack[0], depth = 1, 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if tree.mean[node] < 0 or node == tree.leaves + own:
            continue
        near = near_at_least(tree, node, keep, mean, var)
        if near < low:
            if node >= tree.leaves:
                low, nearest = near, node - tree.leaves
            else:
                left = 2 * node
                # The child with the higher mean first: it is looked at last in, first out.
                better = left if tree.mean[left] >= tree.mean[left + 1] else left + 1
                stack[depth], stack[depth + 1] = 2 * left + 1 - better, better
                depth += 2
    return low, nearest


@inlined
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
    if low <= -SURE - MARGIN or near >= SURE:
        bound = near  # no judge within the margin has another root than the normal approximation
    else:
        bound = min(root_at_least(tree, node, keep, pulls, total), SURE)
        if near <= -SURE:
            bound = min(bound, near)
    if not bound > least:
        return True
    if bound >= SURE:
        return False
    lacking = math.sqrt(var + keep * keep * tree.widest[node]) * shortfall(max(bound, -6.0))
    if bound <= -6.0:
        lacking = max(lacking, keep * tree.mean[node] - mean)
    return not lacking * ABOVE < most


@inner
def strongest_judge(
    own: int,
    groups: Any,
    tree: Any,
    keep: float,
    pulls: Any,
    sums: Any,
    mean: Any,
    var: Any,
    last: Any,
    stack: Any,
) -> Found:
    """Return what the judges outside of group `own` say of its arms; `last` was found for a similar group.

    `low` counts judges of the group itself as well.
    """
    k = groups.members[groups.start[own]]
    n, s, m, v = pulls[k], sums[k], mean[k], var[k]
    alone = groups.start[own + 1] - groups.start[own] == 1
    low, nearest = lowest_near(tree, keep, m, v, own, alone, last.nearest, stack)
    limit = low + MARGIN
    least, judge, most = 1e9, -1, 0.0
    strongest, widest = -1, -1
    # Good guesses are on top of the stack: with these, most nodes can be skipped.
    stack[0], depth = 1, 1
    guesses = (last.widest, last.strongest, nearest)
    for guess in guesses:
        if guess >= 0:
            stack[depth] = tree.leaves + guess
            depth += 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if tree.mean[node] < 0 or node == tree.leaves + own:
            continue
        near = near_at_least(tree, node, keep, m, v)
        if near > limit:
            continue
        if node < tree.leaves:
            if matters(tree, node, near, keep, n, s, m, v, low, least, most):
                stack[depth], stack[depth + 1] = 2 * node, 2 * node + 1
                depth += 2
            continue
        place = node - tree.leaves
        if place in (strongest, widest):
            continue  # a guess that was looked at
        i = groups.members[groups.start[place]]
        exact = near
        if -SURE < exact < SURE:
            exact = root_for_judge(keep, n, s, pulls[i], sums[i])
        if exact < least or (exact == least and i < judge):
            least, judge, strongest = exact, i, place
        if exact < SURE:
            gap = expected_gap(exact, near, math.sqrt(v + keep * keep * var[i]))
            if gap > most:
                most, widest = gap, place
    return Found(least, judge, most, low, nearest, strongest, widest)
