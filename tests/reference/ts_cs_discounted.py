"""Discounted TS-CS (Raj and Kalyani 2017, with a cost subsidy)."""

import numpy as np


def run(pull, costs, alpha, horizon, rng=None, discount=0.9995):
    """Thompson sampling that forgets; rng is a numpy Generator. Notes no events."""
    if rng is None:
        raise ValueError("ts-cs-discounted draws at random: pass a numpy Generator as rng")
    K = len(costs)
    order = sorted(range(K), key=lambda arm: costs[arm])  # position in order of cost -> caller's arm
    keep = 1 - alpha
    S, F = np.zeros(K), np.zeros(K)
    pulled = []

    while len(pulled) < horizon:
        if len(pulled) < K:
            # Every arm once, all of which counts in full.
            chosen, stays = len(pulled), 1.0
        else:
            theta = [rng.beta(1 + S[k], 1 + F[k]) for k in range(K)]
            threshold = keep * max(theta)
            chosen, stays = min(k for k in range(K) if theta[k] >= threshold), discount
        reward = pull(order[chosen])
        # "S_k <- gamma S_k + r, F_k <- gamma F_k + (1 - r)" for the arm that was pulled,
        # "S_j <- gamma S_j, F_j <- gamma F_j" for the others.
        S, F = stays * S, stays * F
        S[chosen] += reward
        F[chosen] += 1 - reward
        pulled.append(order[chosen])

    return pulled, []
