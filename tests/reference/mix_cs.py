"""MIX-CS, from the rules of the mixing page: every mix of two is tried, and every sum worked out anew."""

import math


def mixes(means, costs, bar):
    """All ways to an average of at least `bar`: (cost, cheap arm, dear arm, what more quality costs)."""
    K = range(len(means))
    found = [(costs[k], k, k, 0.0) for k in K if means[k] >= bar]
    for i in K:
        for j in K:
            if means[i] < bar <= means[j] and costs[i] < costs[j]:
                share = (bar - means[i]) / (means[j] - means[i])
                slope = (costs[j] - costs[i]) / (means[j] - means[i])
                found.append((costs[j] - (1 - share) * (costs[j] - costs[i]), i, j, slope))
    return found


def cheapest(means, costs, bar):
    """The cheapest of them, or None; of an arm just at the bar, the slope is that of what is below it."""
    return min(mixes(means, costs, bar), key=lambda mix: (mix[0], -mix[3]), default=None)


class Looked:
    """What is believed after n pulls with rewards that sum to s."""

    def __init__(self, n, s, t):
        self.n = n
        self.m = s / n if n else 0.5
        self.sd = math.sqrt((n * self.m * (1 - self.m) + 0.5) / (n + 2))
        self.s = self.sd / math.sqrt(max(n, 1))
        hope = self.m + self.s * math.sqrt(2 * math.log(t)) + math.log(t) / (3 * (n + 1)) if n else 1.0
        self.U = min(hope, 1.0)


def bar_of(arms, a, reference, level):
    if level is not None:
        return level
    if reference is not None:
        return (1 - a) * arms[reference].m
    top = max(arms, key=lambda arm: arm.m)
    weights = [math.erfc((top.m - arm.m) / math.sqrt(2 * (arm.s**2 + top.s**2))) ** 2 for arm in arms]
    return (1 - a) * sum(w * arm.m for w, arm in zip(weights, arms, strict=True)) / sum(weights)


def wanted_evidence(arms, c, a, reference, bar, t):
    """Arms that set the bar and are known too little."""
    means = [arm.m for arm in arms]
    best = max(range(len(arms)), key=lambda k: (means[k], -k))
    C, _, _, price = cheapest(means, c, bar) or (c[best], best, best, 0.0)
    for k, arm in enumerate(arms):
        if k != reference if reference is not None else max(means) > arm.U:
            continue
        hope = cheapest(means, c, max((1 - a) * arm.U, bar))
        most = 5 * max(price, 1)
        price_of_hope = most if hope is None else min(max(hope[3], price), most)
        w = max(c[k] - C - price * (arm.m - bar), 0.02 * price + 1e-4)
        given_up = max(a * bar, 1e-9)
        fine, coarse = (2 * arm.sd / (0.1 * given_up)) ** 2, (2 * arm.sd / (0.25 * given_up)) ** 2
        x = min(((1 - a) * price_of_hope * arm.sd * t / (2 * w)) ** (2 / 3), fine)
        if arm.n < 0.2 * t and (arm.n < x or (arm.n < coarse and arm.n * c[k] < 0.1 * t * C)):
            yield k


def choose(n, s, c, a, reference, level, rng):
    K, t = len(n), sum(n)
    if min(n) < 4:
        return min(range(K), key=lambda k: (n[k], k))
    arms = [Looked(n[k], s[k], t) for k in range(K)]
    B = bar_of(arms, a, reference, level)
    if level is None:
        known_least = list(wanted_evidence(arms, c, a, reference, B, t))
        if known_least:
            return min(known_least, key=lambda k: (n[k], k))
    theta = [arm.m + arm.s * rng.standard_normal() / 2 for arm in arms]
    mix = cheapest(theta, c, B)
    if mix is None:
        first = max(range(K), key=lambda k: (theta[k], -k))
        return max(range(K), key=lambda k: (arms[k].U, k == first, -k))
    debt = sum(n[k] * (B - arms[k].m) for k in range(K))
    return mix[2] if debt > 0 else mix[1]


def run(pull, costs, alpha, horizon, rng=None, reference=None, level=None):
    """Mixing with a cost subsidy; rng is a numpy Generator. Notes no events."""
    if rng is None:
        raise ValueError("mix-cs draws at random: pass a numpy Generator as rng")
    K = len(costs)
    order = sorted(range(K), key=lambda arm: costs[arm])
    low, high = min(costs), max(costs)
    c = [(costs[arm] - min(low, 0)) / (high - low) if high > low else 0.0 for arm in order]
    named = None if reference is None else order.index(reference)
    a = 0.0 if level is not None else alpha
    n, s, pulled = [0] * K, [0.0] * K, []
    while len(pulled) < horizon:
        k = choose(n, s, c, a, named, level, rng)
        for _ in range(min(max(1, n[k] // 1000), horizon - len(pulled))):
            s[k] += pull(order[k])
            n[k] += 1
            pulled.append(order[k])
    return pulled, []
