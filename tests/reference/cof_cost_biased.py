"""COF with cost-biased sampling: Algorithm 1 with the rule of the policies page in place of lines 12-15."""

import math

import numpy as np

from .cof import against_level


def run(pull, costs, alpha, horizon, rng=None, *, delta=None, tolerance=0.0, reference=None, level=None):
    """Cost-Ordered Feasibility, sampling gating arms by what they tell per unit of cost."""
    K = len(costs)
    order = sorted(range(K), key=lambda arm: costs[arm])  # position in order of cost -> caller's arm
    keep = 1 - alpha
    n = np.zeros(K, dtype=int)
    sums = np.zeros(K)
    pulled, events = [], []

    # Prices: costs relative to the highest, made positive. A free arm counts as a thousandth.
    ordered = [float(costs[arm]) for arm in order]
    lowest = min(ordered[0], 0.0)
    span = ordered[-1] - lowest
    price = [max((cost - lowest) / span, 0.001) if span > 0 else 1.0 for cost in ordered]

    def sample(position, times):
        for _ in range(times):
            if len(pulled) < horizon:
                sums[position] += pull(order[position])
                n[position] += 1
                pulled.append(order[position])

    log_1_delta = 2 * math.log(horizon / K) if delta is None else -math.log(delta)
    b = math.sqrt(log_1_delta / 2)
    if level is not None:

        def once(position):
            sample(position, 1)

        if against_level(once, n, sums, level, tolerance, b, horizon, pulled, order, events):
            return pulled, events
        keep = 1.0

    last = K - 1 if reference is None else order.index(reference)
    for k in range(last + 1):
        if n[k] == 0:
            sample(k, 1)
    if len(pulled) == horizon:
        return pulled, events
    candidate = 0
    judges = range(K) if reference is None else [last]
    n, sums = n[: last + 1], sums[: last + 1]

    while len(pulled) < horizon:
        # Lines 3 to 11 of Algorithm 1, unchanged.
        mean = sums / n
        radius = b / np.sqrt(n)
        ucb = mean + radius
        lcb = mean - radius
        gating = [i for i in judges if i > candidate and keep * ucb[i] >= lcb[candidate] + tolerance]
        if not gating:
            events.append((len(pulled), "optimal", order[candidate]))
            sample(candidate, horizon)
            break
        total = 0.0
        for k in judges:
            gap = mean[k] - ucb[candidate] / keep
            if gap > 0:
                total += 2 * n[k] * gap * gap
        if total >= log_1_delta:
            if level is None:
                events.append((len(pulled), "infeasible", order[candidate]))
            candidate += 1
            continue

        # A candidate that lags behind a gating arm is sampled alone, a 32nd of its pulls at a time.
        more_of_candidate = max(1, int(n[candidate] / 32))
        if n[candidate] < max(n[i] for i in gating):
            sample(candidate, more_of_candidate)
            continue

        best_lcb = max(lcb[i] for i in gating)
        may_be_best = [i for i in gating if ucb[i] > best_lcb]
        share = dict.fromkeys(gating, 0.0)
        if mean[candidate] >= keep * max(mean[k] for k in judges):
            # It looks feasible: least spending until two confidence bounds separate.
            for i in may_be_best:
                share[i] = min(1.0, (keep * price[candidate] / price[i]) ** (2 / 3))
        else:
            # It looks infeasible: evidence per unit of cost, relative to the best.
            for i in gating:
                gap = max(mean[i] - mean[candidate] / keep, 0.0)
                share[i] = gap * gap / price[i]
            most = max(share.values())
            if most > 0:
                share = {i: value / most for i, value in share.items()}
        for i in may_be_best:
            share[i] = max(share[i], 1 / 64)

        # Gating arms that are behind come nearer to their share, by an eighth; else the candidate goes on.
        due = {i: math.ceil(share[i] * n[candidate]) for i in gating}
        behind = [i for i in gating if n[i] < due[i]]
        missing = {i: min(due[i] - n[i], max(1, int(n[i] / 8))) for i in behind}
        for i in behind:
            sample(i, missing[i])
        if not behind:
            sample(candidate, more_of_candidate)

    return pulled, events
