"""UCB-CS (Sinha et al., AISTATS 2021)."""

import math

import numpy as np


def run(pull, costs, alpha, horizon, rng=None):
    """UCB with cost subsidy. Notes no events."""
    K = len(costs)
    order = sorted(range(K), key=lambda arm: costs[arm])  # position in order of cost -> caller's arm
    keep = 1 - alpha
    b = math.sqrt(2 * math.log(horizon))
    n = np.zeros(K, dtype=int)
    sums = np.zeros(K)
    pulled = []

    while len(pulled) < horizon:
        if len(pulled) < K:
            # "Pull each arm once."
            chosen = len(pulled)
        else:
            # "The index is I_k = min(1, m_k + sqrt(2 log T / n_k))."
            index = np.minimum(1.0, sums / n + b / np.sqrt(n))
            # "Pull the cheapest arm with I_k >= (1 - alpha) * max_j I_j."
            threshold = keep * max(index)
            chosen = min(k for k in range(K) if index[k] >= threshold)
        sums[chosen] += pull(order[chosen])
        n[chosen] += 1
        pulled.append(order[chosen])

    return pulled, []
