"""PE-CS (Juneja, Joe-Wong, Yagan, ICLR 2025)."""

import math

import numpy as np


def run(pull, costs, alpha, horizon, rng=None, *, kappa=5):
    """Pairwise elimination with cost subsidy; kappa is how many rounds r may lead a candidate by."""
    K = len(costs)
    order = sorted(range(K), key=lambda arm: costs[arm])  # position in order of cost -> caller's arm
    keep = 1 - alpha
    # The last round. T < e, where the formula has no round at all, is played as if it had round 0.
    last = max(0, math.floor(0.5 * math.log2(horizon / math.e)))
    n = np.zeros(K, dtype=int)
    sums = np.zeros(K)
    pulled, events = [], []

    def N(m):
        """N(D) = ceil(2 log(T D^2) / D^2), D = 2^-m (at least 1, which matters for T = 1 only)."""
        return max(1, math.ceil(2 * math.log(horizon * 4.0**-m) / 4.0**-m))

    def radius(m):
        """sqrt(log(T D^2) / (2 N(D))), D = 2^-m."""
        return math.sqrt(math.log(horizon * 4.0**-m) / (2 * N(m)))

    def sample(position):
        sums[position] += pull(order[position])
        n[position] += 1
        pulled.append(order[position])

    def bring(position, m):
        """Bring the arm to N(m) pulls, as far as the horizon allows."""
        while n[position] < N(m) and len(pulled) < horizon:
            sample(position)

    def note(verdict, position):
        events.append((len(pulled), verdict, order[position]))

    def keep_for_good(position):
        note("optimal", position)
        while len(pulled) < horizon:
            sample(position)
        return pulled, events

    # 1. Best-arm phase.
    active = list(range(K))
    completed = [0] * K  # the last round that each arm completed
    for m in range(last + 1):
        for k in active:
            bring(k, m)
        if len(pulled) == horizon:
            return pulled, events  # no conclusion at the horizon
        for k in active:
            completed[k] = m
        best_lcb = max(sums[k] / n[k] - radius(m) for k in active)
        active = [k for k in active if sums[k] / n[k] + radius(m) > best_lcb]
        if len(active) == 1:
            break
    r = max(active, key=lambda k: sums[k] / n[k])  # ties: max gives the first, which is the cheapest

    # 2. Pairwise phase. w_c, w_r: the rounds of the candidate and of r.
    w_r = completed[r]
    for c in range(r):
        w_c = max(completed[c], w_r - kappa)
        while True:
            w_r = max(w_r, w_c)
            bring(c, w_c)
            bring(r, w_r)
            if len(pulled) == horizon:
                return pulled, events  # no conclusion at the horizon
            mean_c, radius_c = sums[c] / n[c], radius(w_c)
            mean_r, radius_r = sums[r] / n[r], radius(w_r)
            if keep * (mean_r + radius_r) < mean_c - radius_c:
                return keep_for_good(c)  # feasible
            if mean_c + radius_c < keep * (mean_r - radius_r):
                note("infeasible", c)
                break
            if w_c == last:
                return keep_for_good(c)  # undecided at the last round
            w_c += 1

    # Every arm cheaper than r is out.
    return keep_for_good(r)
