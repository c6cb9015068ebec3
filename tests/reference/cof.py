"""COF, Algorithm 1 of the paper, and its two ablations. "Line" is a line of that algorithm."""

import math

import numpy as np


def run(pull, costs, alpha, horizon, rng=None, *, delta=None, exclusive=True, combine=True, tolerance=0.0):
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

    # Line 1: every arm once.
    for k in range(K):
        sample(k)
    if len(pulled) == horizon:
        return pulled, events

    log_1_delta = 2 * math.log(horizon / K) if delta is None else -math.log(delta)
    b = math.sqrt(log_1_delta / 2)
    candidate = 0  # "Initialize": the candidate is a_1

    # Line 2.
    while len(pulled) < horizon:
        mean = sums / n
        radius = b / np.sqrt(n)
        ucb = mean + radius
        lcb = mean - radius

        # Line 3: the gating arms are the more expensive arms that may still disqualify the candidate.
        gating = [i for i in range(candidate + 1, K) if keep * ucb[i] >= lcb[candidate] + tolerance]

        # Lines 4-5: no gating arm is left.
        if not gating:
            events.append((len(pulled), "optimal", order[candidate]))
            while len(pulled) < horizon:
                sample(candidate)
            break

        # Lines 7-8, expression eq:eps_def: evidence[k] = -log(epsilon_{k, candidate}).
        evidence = [0.0] * K
        for k in range(K):
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
            total = max(evidence[i] for i in range(candidate + 1, K))

        # Line 10: the next candidate is evaluated at once. There is one: the last arm never has gating arms.
        if total >= log_1_delta:
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
