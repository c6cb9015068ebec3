"""TS-CS (Sinha et al., AISTATS 2021), one draw of every posterior a pull."""

import numpy as np


def run(pull, costs, alpha, horizon, rng=None):
    """Thompson sampling with cost subsidy; rng is a numpy Generator. Notes no events."""
    if rng is None:
        raise ValueError("ts-cs draws at random: pass a numpy Generator as rng")
    K = len(costs)
    order = sorted(range(K), key=lambda arm: costs[arm])  # position in order of cost -> caller's arm
    keep = 1 - alpha
    n = np.zeros(K, dtype=int)
    sums = np.zeros(K)
    pulled = []

    while len(pulled) < horizon:
        if len(pulled) < K:
            # "Pull each arm once."
            chosen = len(pulled)
        else:
            # "Draw theta_k ~ Beta(1 + S_k, 1 + n_k - S_k) for every arm", in order of cost.
            theta = [rng.beta(1 + sums[k], 1 + n[k] - sums[k]) for k in range(K)]
            # "Pull the cheapest arm with theta_k >= (1 - alpha) * max_j theta_j."
            threshold = keep * max(theta)
            chosen = min(k for k in range(K) if theta[k] >= threshold)
        sums[chosen] += pull(order[chosen])
        n[chosen] += 1
        pulled.append(order[chosen])

    return pulled, []
