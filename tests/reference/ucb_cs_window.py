"""Sliding-window UCB-CS (Garivier and Moulines 2011, with a cost subsidy)."""

import math


def run(pull, costs, alpha, horizon, rng=None, window=None):
    """UCB with cost subsidy on the last pulls alone. Notes no events."""
    K = len(costs)
    order = sorted(range(K), key=lambda arm: costs[arm])  # position in order of cost -> caller's arm
    keep = 1 - alpha
    tau = math.ceil(2 * math.sqrt(horizon * math.log(horizon))) if window is None else window
    history = []  # (arm, reward)
    pulled = []

    while len(pulled) < horizon:
        if len(pulled) < K:
            chosen = len(pulled)
        else:
            last = history[-tau:]
            width = math.sqrt(2 * math.log(len(last)))
            index = []
            for k in range(K):
                own = [reward for arm, reward in last if arm == k]
                index.append(min(1, sum(own) / len(own) + width / math.sqrt(len(own))) if own else 1)
            threshold = keep * max(index)
            chosen = min(k for k in range(K) if index[k] >= threshold)
        history.append((chosen, pull(order[chosen])))
        pulled.append(order[chosen])

    return pulled, []
