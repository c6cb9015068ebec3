"""GLR-COF, from the rules of the policies page. Minima are found by bisection on slopes, not by formulas."""

import functools
import math

import numpy as np


def kl(p, q):
    """Divergence of two coins."""
    first = 0.0 if p == 0 else math.inf if q == 0 else p * math.log(p / q)
    second = 0.0 if p == 1 else math.inf if q == 1 else (1 - p) * math.log((1 - p) / (1 - q))
    return max(0.0, first + second)


def slope(p, q):
    """d kl(p, q) / dq."""
    first = 0.0 if p == 0 else -math.inf if q == 0 else -p / q
    second = 0.0 if p == 1 else math.inf if q == 1 else (1 - p) / (1 - q)
    return first + second


def least(value, falls, low, high):
    """Minimum of a convex function, given where it falls."""
    for _ in range(100):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if falls(middle) else (low, middle)
    return min(value(low), value(high), value((low + high) / 2))


def evidence_for(n, m, candidate, i, keep, tolerance=0.0):
    """Z_i: how far are the data from means with m_candidate = keep * m_i - tolerance?"""
    return distance_for(int(n[candidate]), m[candidate], int(n[i]), m[i], keep, tolerance)


# A pull changes what is known of one arm: most questions were asked before. Plain integers are faster.
@functools.lru_cache(10_000)
def distance_for(n, m, n_i, m_i, keep, tolerance):
    if tolerance >= keep:
        return math.inf
    if keep * m_i - tolerance >= m:
        return 0.0

    def value(y):
        x = min(max(keep * y - tolerance, 0.0), 1.0)
        return n * kl(m, x) + n_i * kl(m_i, y)

    def falls(y):
        x = min(max(keep * y - tolerance, 0.0), 1.0)
        return n * keep * slope(m, x) + n_i * slope(m_i, y) < 0

    return least(value, falls, max(m_i, tolerance / keep), min((m + tolerance) / keep, 1.0))


def evidence_against(n, m, candidate, arms, keep):
    """W over some arms: how far are the data from means with m_candidate >= keep * m_k for all of them?"""
    return distance_against(int(n[candidate]), m[candidate], tuple((int(n[k]), m[k]) for k in arms), keep)


@functools.lru_cache(10_000)
def distance_against(n, m, arms, keep):
    def value(y):
        return n * kl(m, keep * y) + sum(n_k * kl(m_k, y) for n_k, m_k in arms if m_k > y)

    def falls(y):
        own = n * keep * slope(m, keep * y)
        return own + sum(n_k * slope(m_k, y) for n_k, m_k in arms if m_k > y) < 0

    low = m / keep
    high = max((m_k for _, m_k in arms), default=0.0)
    if high <= low:
        return 0.0, low
    for _ in range(100):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if falls(middle) else (low, middle)
    return value(low), low


def proven_against(n, m, candidate, keep, judges, alone):
    """W of the arms that are worth what they pay, less what all that take part pay.

    alone: one arm sets the bar, so there is no choice of arms to pay for.
    """
    K = len(n)

    def price(k):
        return math.log(1 + math.pi * n[k]) / 2

    def above(arms):
        _, y = evidence_against(n, m, candidate, arms, keep)
        return [k for k in arms if m[k] > y], y

    arms, y = above([k for k in judges if k != candidate and keep * m[k] > m[candidate]])
    if not arms:
        return 0.0
    if alone:
        total, _ = evidence_against(n, m, candidate, arms, keep)
        return max(0.0, total - price(candidate) - price(arms[0]))
    net = {k: n[k] * kl(m[k], y) - price(k) - math.log(K) for k in arms}
    best = max(arms, key=lambda k: net[k])
    arms, _ = above([k for k in arms if net[k] > 0 or k == best])
    total, _ = evidence_against(n, m, candidate, arms, keep)
    return max(0.0, total - price(candidate) - 1 - sum(price(k) + math.log(K) for k in arms))


def doubted(n, m, candidate, judges, keep, tolerance, enough, taken_off):
    """Judges after the candidate that it may not be good enough for."""
    Z = {i: evidence_for(n, m, candidate, i, keep, tolerance) for i in judges if i > candidate}
    return [i for i in Z if Z[i] - taken_off[candidate] - taken_off[i] < enough[i]]


def variance(n, s):
    """Variance of what a uniform prior and the rewards say of a mean."""
    a = (s + 1) / (n + 2)
    return a * (1 - a) / (n + 2)


def normal(z):
    """Distribution function of the standard normal."""
    return math.erfc(-z / math.sqrt(2)) / 2


def log_stakes(gain, price, most):
    """Logarithm of what is to be gained over what a pull costs, at most that of `most`."""
    if gain >= most * price:
        return math.log(most)
    return math.log(gain / price) if gain > 0 else -math.inf


def run(
    pull,
    costs,
    alpha,
    horizon,
    rng=None,
    *,
    delta=None,
    tolerance=0.0,
    threshold="practical",
    goal="regret",
    sampling="stakes",
    reference=None,
    level=None,
):
    """COF's episodes with likelihood-ratio tests, one arm at a time, in batches of 1%."""
    K = len(costs)
    order = sorted(range(K), key=lambda arm: costs[arm])  # position in order of cost -> caller's arm
    keep = 1 - alpha
    n = np.zeros(K, dtype=int)
    sums = np.zeros(K)
    pulled, events = [], []
    proven = threshold == "proven"
    c = math.log(horizon) if delta is None else -math.log(delta)
    if proven:
        c += math.log(K if level is None else 2 * K)

    cheapest, dearest = float(costs[order[0]]), float(costs[order[-1]])
    cost = [(costs[arm] - cheapest) / (dearest - cheapest) if dearest > cheapest else 0.0 for arm in order]

    def sample(position, times):
        for _ in range(min(times, horizon - len(pulled))):
            sums[position] += pull(order[position])
            n[position] += 1
            pulled.append(order[position])

    def price(k):
        return math.log(1 + math.pi * n[k]) / 2 if proven else 0.0

    # A fixed bar: each arm alone, until it is on one side of it.
    if level is not None:
        for k in range(K):
            if n[k] == 0:
                sample(k, 1)
            below = False
            while len(pulled) < horizon and not below:
                mean, bar = sums[k] / n[k], level - tolerance
                Z = math.inf if bar < 0 else n[k] * kl(mean, bar) - price(k) if mean > bar else 0.0
                W = n[k] * kl(mean, level) - price(k) if mean < level else 0.0
                if c <= Z:
                    events.append((len(pulled), "optimal", order[k]))
                    sample(k, horizon)
                    return pulled, events
                if c <= W:
                    events.append((len(pulled), "infeasible", order[k]))
                    below = True
                else:
                    sample(k, max(1, n[k] // 100))
            if not below:
                return pulled, events
        events.append((len(pulled), "unreachable", order[K - 1]))
        keep = 1.0

    last = K - 1 if reference is None else order.index(reference)
    for k in range(last + 1):
        if n[k] == 0:
            sample(k, 1)
    judges = list(range(K)) if reference is None else [last]
    n, sums = n[: last + 1], sums[: last + 1]

    candidate = 0
    while len(pulled) < horizon:
        m = (sums / n).tolist()  # plain floats are faster
        Z = {}
        for i in [k for k in judges if k > candidate]:
            Z[i] = evidence_for(n, m, candidate, i, keep, tolerance)
            Z[i] -= price(candidate) + price(i)
        gating = [i for i in Z if Z[i] < c]
        if not gating:
            events.append((len(pulled), "optimal", order[candidate]))
            sample(candidate, horizon)
            break
        if proven:
            W = proven_against(n, m, candidate, keep, judges, reference is not None)
        else:
            others = [k for k in judges if k != candidate]
            W, _ = evidence_against(n, m, candidate, others, keep)
        if c <= W:
            if level is None:
                events.append((len(pulled), "infeasible", order[candidate]))
            candidate += 1
            continue

        # The evidence beyond which an arm is not worth a pull now. If regret is the goal, it is that of the
        # moment, tolerance and penalties have no part in it, and the episode is the one that it would be.
        now = candidate
        staked = goal == "regret" and sampling == "stakes"
        if goal == "regret":
            enough = np.log(sum(n) / n) - 1e-9  # a tie is enough, whatever rounding makes of it
            if staked:
                bar = keep * max(m[k] for k in judges if k >= candidate)
                b = next(k for k in range(candidate, last + 1) if m[k] >= bar)
                for j in range(candidate, last + 1):
                    if j > b:
                        wrong = math.sqrt(variance(n[j], sums[j]))
                        enough[j] += log_stakes(wrong, cost[j] - cost[b] + max(bar - m[j], 0.0), 1)
                    if j < b:
                        enough[j] += log_stakes(cost[b] - cost[j], bar - m[j], 3)
            while now < last:
                W, _ = evidence_against(n, m, now, [k for k in judges if k != now], keep)
                if enough[now] > W:
                    break
                now += 1
            slack, taken_off = 0.0, np.zeros(len(n))
        else:
            enough = np.full(len(n), c)
            slack, taken_off = tolerance, [price(k) for k in range(len(n))]
        gating = doubted(n, m, now, judges, keep, slack, enough, taken_off)
        if not gating:
            sample(now, max(1, n[now] // 100))
            continue

        # b, the cheapest arm that looks good enough; one that two pulls might have made so is pulled first.
        bar = keep * max(m[k] for k in judges if k >= now)
        # With stakes, one with little evidence against it for how often b was pulled comes before that.
        b = next(k for k in range(now, last + 1) if m[k] >= bar)
        again = []
        if staked:
            for j in range(now + 1, b):
                W, _ = evidence_against(n, m, j, [k for k in judges if k != j], keep)
                if math.log(0.3 * n[b] / n[j]) - 1e-9 > W:
                    again.append(j)
        again += [j for j in range(now + 1, b) if sums[j] + 2 >= bar * (n[j] + 2)]
        if again:
            sample(again[0], max(1, n[again[0]] // 100))
            continue

        # r_i: how often it is pulled for one pull of gating arm i. With stakes, by the regrets expected where
        # `now` may be good enough.
        w_now, good = max(bar - m[now], 0.0), 0.0
        if staked:
            best = max((k for k in judges if k >= now), key=lambda k: m[k])
            sd = math.sqrt(variance(n[now], sums[now]) + keep**2 * variance(n[best], sums[best]))
            z = (bar - m[now]) / sd
            good = normal(-z)
            w_now = sd * (math.exp(-z * z / 2) / math.sqrt(2 * math.pi) + z * normal(z))
        r = {}
        for i in gating:
            w = max(cost[i] - cost[b], 0.0)
            if staked:
                w = good * (cost[i] - cost[now]) + (1 - good) * w
            w += max(bar - m[i], 0.0)
            if w_now > 0:
                r[i] = min(max(math.sqrt(w / w_now), 1 / 4), 32)
            else:
                r[i] = 32 if w > 0 else 1

        # The gating arm that promises most: by the upper end of Wilson's interval, or, if b is surely
        # good enough for it, by its mean.
        promise = {}
        hopeful = [i for i in gating if i <= b] + doubted(n, m, b, judges, keep, slack, enough, taken_off)
        for i in gating:
            u = m[i]
            if i in hopeful and m[i] < 1:
                a = enough[i] / n[i]
                u = (m[i] + a + math.sqrt(a * (2 * m[i] * (1 - m[i]) + a))) / (1 + 2 * a)
            lead = u - m[now] / keep
            promise[i] = lead * abs(lead) / (1 + r[i]) ** 2
        partner = max(gating, key=lambda i: promise[i])  # ties: max gives the first, which is the cheapest

        arm = now if n[now] < r[partner] * n[partner] else partner
        sample(arm, max(1, n[arm] // 100))

    return pulled, events
