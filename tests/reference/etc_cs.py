"""ETC-CS (Sinha et al., AISTATS 2021)."""

import math

import numpy as np


def run(pull, costs, alpha, horizon, rng=None, *, budget=0.2):
    """Explore then commit with cost subsidy; budget is the explored share of the horizon. Notes no events."""
    K = len(costs)
    order = sorted(range(K), key=lambda arm: costs[arm])  # position in order of cost -> caller's arm
    keep = 1 - alpha
    b = math.sqrt(2 * math.log(horizon))
    passes = math.floor(budget * horizon / K)
    n = np.zeros(K, dtype=int)
    sums = np.zeros(K)
    pulled = []

    while len(pulled) < horizon:
        if len(pulled) < passes * K:
            # "Pull every arm floor(0.2 * T / K) times, round-robin."
            chosen = len(pulled) % K
        else:
            # "With radius sqrt(2 log T / n_k): UCB_k capped at 1, LCB_k floored at 0"; 1 and 0 with no pulls.
            ucb = [1.0] * K
            lcb = [0.0] * K
            for k in range(K):
                if n[k] > 0:
                    mean = sums[k] / n[k]
                    radius = b / math.sqrt(n[k])
                    ucb[k] = min(1.0, mean + radius)
                    lcb[k] = max(0.0, mean - radius)
            # "Pull the cheapest arm with UCB_k >= (1 - alpha) * max_j LCB_j."
            threshold = keep * max(lcb)
            chosen = min(k for k in range(K) if ucb[k] >= threshold)
        sums[chosen] += pull(order[chosen])
        n[chosen] += 1
        pulled.append(order[chosen])

    return pulled, []
