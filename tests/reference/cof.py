"""COF, Algorithm 1 of the paper, and its two ablations. "Line" is a line of that algorithm."""

import math

import numpy as np


def run(
    pull,
    costs,
    alpha,
    horizon,
    rng=None,
    *,
    delta=None,
    exclusive=True,
    combine=True,
    tolerance=0.0,
    reference=None,
    level=None,
):
    """Cost-Ordered Feasibility.

    delta: error tolerance, by default K^2 / T^2.
    exclusive=False: COF (no exclusive), which always does lines 14-15.
    combine=False: COF (no combine), in which line 9 asks for one gating arm that eliminates it alone.
    tolerance: an arm within this much of the threshold is good enough.
    """
    K = len(costs)
    order = sorted(range(K), key=lambda arm: costs[arm])  # position in order of cost -> caller's arm
    keep = 1 - alpha
    n = np.zeros(K, dtype=int)
    sums = np.zeros(K)
    pulled, events = [], []

    def sample(position):
        if len(pulled) < horizon:  # the horizon may fall inside a pass
            sums[position] += pull(order[position])
            n[position] += 1
            pulled.append(order[position])

    log_1_delta = 2 * math.log(horizon / K) if delta is None else -math.log(delta)
    b = math.sqrt(log_1_delta / 2)

    # A fixed bar: each arm alone, until it is on one side of it.
    if level is not None:
        if against_level(sample, n, sums, level, tolerance, b, horizon, pulled, order, events):
            return pulled, events
        keep = 1.0  # what is left to find is the best arm, of which nothing is given up

    # Line 1: every arm once. None beyond the arm that sets the bar.
    last = K - 1 if reference is None else order.index(reference)
    for k in range(last + 1):
        if n[k] == 0:
            sample(k)
    if len(pulled) == horizon:
        return pulled, events

    candidate = 0  # "Initialize": the candidate is a_1
    judges = range(K) if reference is None else [last]  # arms that can show a candidate to be infeasible
    n = n[: last + 1] if reference is not None else n
    sums = sums[: last + 1] if reference is not None else sums

    # Line 2.
    while len(pulled) < horizon:
        mean = sums / n
        radius = b / np.sqrt(n)
        ucb = mean + radius
        lcb = mean - radius

        # Line 3: the gating arms are the more expensive arms that may still disqualify the candidate.
        gating = [i for i in judges if i > candidate and keep * ucb[i] >= lcb[candidate] + tolerance]

        # Lines 4-5: no gating arm is left.
        if not gating:
            events.append((len(pulled), "optimal", order[candidate]))
            while len(pulled) < horizon:
                sample(candidate)
            break

        # Lines 7-8, expression eq:eps_def: evidence[k] = -log(epsilon_{k, candidate}).
        evidence = [0.0] * K
        for k in judges:
            gap = mean[k] - ucb[candidate] / keep
            if gap > 0:
                evidence[k] = 2 * n[k] * gap * gap

        # Line 9: the product of the epsilons is at most delta (no combine: that of one gating arm is).
        if combine:
            total = 0.0
            for k in range(K):
                total += evidence[k]
        else:
            # Without a tolerance these are the gating arms: no other has any evidence.
            total = max(evidence[i] for i in judges if i > candidate)

        # Line 10: the next candidate is evaluated at once. There is one: the last arm never has gating arms.
        if total >= log_1_delta:
            if level is None:  # all of them are, if it is not
                events.append((len(pulled), "infeasible", order[candidate]))
            candidate += 1
            continue

        # Lines 12-13: exclusive sampling.
        if exclusive and n[candidate] < max(n[i] for i in gating):
            sample(candidate)
        # Lines 14-15: the candidate, and the gating arms that pass the BAI filter before this pass.
        else:
            best_lcb = max(lcb[i] for i in gating)
            passing = [i for i in gating if ucb[i] > best_lcb]
            sample(candidate)
            for i in passing:
                sample(i)

    return pulled, events


def against_level(sample, n, sums, level, tolerance, b, horizon, pulled, order, events):
    """Pull the arms one after another until each is above or below the level; tell whether that was all."""
    K = len(n)
    for candidate in range(K):
        if n[candidate] == 0:
            sample(candidate)
        below = False
        while len(pulled) < horizon and not below:
            mean, radius = sums[candidate] / n[candidate], b / math.sqrt(n[candidate])
            if mean - radius + tolerance > level:
                events.append((len(pulled), "optimal", order[candidate]))
                while len(pulled) < horizon:
                    sample(candidate)
                return True
            if mean + radius <= level:
                events.append((len(pulled), "infeasible", order[candidate]))
                below = True
            else:
                sample(candidate)
        if not below:
            return True
    events.append((len(pulled), "unreachable", order[K - 1]))
    return False
