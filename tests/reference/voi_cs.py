"""VOI-CS, from the rules of the policies page: sums are worked out anew, minima by bisection on slopes."""

import functools
import math

from .glr_cof import kl, slope

EPS, MARGIN, RATIO, SERVES, CAUTION, MOST = 1e-4, 1.5, 50.0, 0.3, 10.0, 100.0
LUCKY = 1e-3
SAME = 1e-9  # comparisons that are ties in exact arithmetic


def phi(z):
    return 0.5 * math.erfc(-z / math.sqrt(2))


def shortfall(z):
    """E (N(-z, 1))^+, by its tail beyond 8."""
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return density / z**2 if z > 8 else max(density - z * phi(-z), 1e-300)


def gap(exact, near, spread):
    return spread * shortfall(exact) if exact > -6 else -near * spread


@functools.cache
def root_for_judge(keep, n, s, n_i, s_i):
    """Signed root of twice the distance from data (half a pseudo-count) to mu = keep * mu_i."""
    n, s, n_i, s_i = n + 1, s + 0.5, n_i + 1, s_i + 0.5
    m, m_i = s / n, s_i / n_i
    low, high = sorted((m_i, min(m / keep, 1.0)))
    for _ in range(200):
        y = (low + high) / 2
        if y in (low, high):
            break
        falls = n * keep * slope(m, keep * y) + n_i * slope(m_i, y) < 0
        low, high = (y, high) if falls else (low, y)
    value = min(n * kl(m, keep * y) + n_i * kl(m_i, y) for y in (low, high))
    return math.copysign(math.sqrt(2 * value), 1 if s * n_i >= keep * s_i * n else -1)


def root_for_level(level, n, s):
    n, s = n + 1, s + 0.5
    value = n * kl(s / n, level) if 0 < level < 1 else n * kl(s / n, min(max(level, 1e-300), 1 - 1e-16))
    return math.copysign(math.sqrt(2 * value), 1 if s >= level * n else -1)


def lost_with_leader(exact, other, sd):
    """What knowing more of the leader would save a pull, and what a pull of it loses if it is too poor."""
    moves = sd / math.sqrt(2)  # how far doubt moves when twice as much is known
    u = exact + other / sd
    gain = max(gap(u * sd / moves, u * sd / moves, moves), SERVES * gap(u, u, sd))
    return gain, gap(u, u, sd) / max(phi(-u), 1e-300)


def expected_regrets(lack, good, c):
    """D_k: what k lacks, and what it costs more than the cheapest arm that is good enough."""
    D, none, weights = [], 1.0, []
    for k in range(len(c)):
        D.append(lack[k] + sum(w * (c[k] - c[j]) for j, w in enumerate(weights)))
        weights.append(none * good[k])
        none *= 1 - good[k]
    return D


def choose(n, s, c, keep, level, judges, base):
    """The arm to pull, all of them usable and all feedback told."""
    K = len(n)
    m = [(1 + s[k]) / (2 + n[k]) for k in range(K)]
    v = [m[k] * (1 - m[k]) / (3 + n[k]) for k in range(K)]
    z, lack, judge = [], [], []
    for k in range(K):
        sd = {i: math.sqrt(v[k] + keep**2 * v[i]) for i in judges if i != k}
        near = {i: (m[k] - keep * m[i]) / sd[i] for i in sd}
        least, most, strongest = 1e9, 0.0, -1
        for i in sd:
            if near[i] <= min(near.values()) + MARGIN:
                exact = near[i] if abs(near[i]) >= 7 else root_for_judge(keep, n[k], s[k], n[i], s[i])
                if exact < least:
                    least, strongest = exact, i
                if exact < 7:
                    most = max(most, gap(exact, near[i], sd[i]))
        if level >= 0:
            exact = root_for_level(level, n[k], s[k])
            if exact >= least or strongest < 0:
                spread = math.sqrt(v[k])
                lacking = gap(exact, (m[k] - level) / spread, spread)
                most = lacking if strongest < 0 else min(most, lacking)
                least, strongest = exact, -1
        z.append(least)
        lack.append(most)
        judge.append(strongest)
    good = [phi(x) if x > -30 else 0.0 for x in z]
    D = expected_regrets(lack, good, c)
    b = 0
    for k in range(K):
        if D[k] < D[b] - 1e-12:
            b = k
    best = max(m[i] for i in judges)
    bar = keep * best if level < 0 else min(level, best)
    looks = max(b, next((k for k in range(K) if m[k] >= bar), b))

    def tells(k, var):
        return var / ((n[k] + 1) * (D[k] + EPS))

    def replaced(values, k, value):
        return [value if j == k else x for j, x in enumerate(values)]

    spent = EPS + sum(n[k] * max(D[k] - D[b], 0) for k in range(K))
    arm, top = b, 1.0
    for k in range(K):
        if k == b or good[k] >= 1 - 1e-9 or good[k] <= 1e-15:
            continue
        i = judge[k]
        pulled = i if i >= 0 and tells(i, keep**2 * v[i]) > tells(k, v[k]) * (1 + SAME) else k
        side = k if pulled == b else pulled
        price = max(D[side] - D[b], 0) + EPS
        if k < b:
            lost = (n[b] + 1) * (c[b] - c[k])  # if k is good enough
            caution = min(max(CAUTION * lost / spent, 1), MOST)
            gain = caution * good[k] * min(c[looks] - c[k], RATIO * price)
        else:
            so = min(expected_regrets(replaced(lack, k, 0.0), replaced(good, k, 1.0), c))
            otherwise = replaced(lack, k, lack[k] / (1 - good[k]))
            no = min(expected_regrets(otherwise, replaced(good, k, 0.0), c))
            gain = D[b] - good[k] * so - (1 - good[k]) * no
            if k < looks:
                gain = max(gain, good[k] * min(c[looks] - c[k], price, D[b]))
        worth = SERVES * base * gain / ((n[side] + 1) * price)
        if worth > top * (1 + SAME):
            arm, top = pulled, worth
    trust = math.exp(-(z[b] ** 2) / 2) if z[b] < 0 else 1.0
    better = [good[k] if m[k] > m[b] else 0.0 for k in range(K)]
    by_level = root_for_level(level, n[b], s[b]) if level >= 0 else -math.inf
    for i in judges:
        sd = math.sqrt(v[b] + keep**2 * v[i])
        exact = (m[b] - keep * m[i]) / sd
        if i == b or exact > 8:
            continue
        if exact > -7:
            exact = root_for_judge(keep, n[b], s[b], n[i], s[i])
        others = expected_regrets(replaced(lack, i, 0.0), replaced(better, i, 1.0), c)
        other = min(x for k, x in enumerate(others) if k != b)
        gain, loss = lost_with_leader(exact, other, sd)
        if level >= 0:  # the leader lacks what it is short of the level, or of the judge if that is less
            most, at_most = lost_with_leader(by_level, other, math.sqrt(v[b]))
            gain, loss = min(gain, most), min(loss, at_most)
        own, there = tells(b, v[b]), tells(i, keep**2 * v[i])
        pulled = i if there >= own * (1 - SAME) else b
        price = max(D[i] - D[b], 0)
        if i > b:
            price = max(price, trust * (c[i] - c[b]))
        if level >= 0 and max(exact, by_level) > LUCKY:
            gain *= min(max(CAUTION * (n[b] + 1) * loss / spent, 1), MOST)
        worth = base * gain / ((n[i] + 1) * (price + EPS))
        if worth > top * (1 + SAME):
            arm, top = pulled, worth
    return arm


def run(pull, costs, alpha, horizon, rng=None, reference=None, level=None):
    """Value of information for cost subsidies. Notes no events."""
    K = len(costs)
    order = sorted(range(K), key=lambda arm: costs[arm])
    low, high = min(costs), max(costs)
    c = [(costs[arm] / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.0 for arm in order]
    keep = 1.0 if level is not None else 1 - alpha
    judges = list(range(K)) if reference is None else [order.index(reference)]
    n, s, pulled = [0] * K, [0.0] * K, []
    while len(pulled) < horizon:
        base = max(horizon - len(pulled), 1)
        k = choose(n, s, c, keep, -1.0 if level is None else level, judges, base)
        for _ in range(min(max(1, n[k] // 100), horizon - len(pulled))):
            s[k] += pull(order[k])
            n[k] += 1
            pulled.append(order[k])
    return pulled, []
