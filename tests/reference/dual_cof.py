"""DualCOF straight from its formulas: whole sums, exact inverses, no package of ours."""

from __future__ import annotations

import math

import numpy as np


class DualCOF:
    """`bar` is ("best", a), ("option", a, k) or ("level", v); draws come from outside.

    All decisions are wanted until `all_until` rewards.
    """

    def __init__(self, costs, bar, width, features, all_until=1000):
        self.c = np.array(costs, float)
        self.unit = self.c.max() - self.c.min() or 1.0
        self.c = self.c / self.unit
        self.bar_rule, self.K, self.D, self.features = bar, len(costs), width, features
        self.keep = 1.0 if bar[0] == "level" else 1.0 - bar[1]
        self.told = [[] for _ in costs]  # (phi, reward), by option
        self.ridge = np.array([2.0] + [20.0] * (width - 1))
        self.prior = np.zeros((self.K, width))
        self.prior[:, 0] = 0.5
        self.errors, self.n = np.zeros(self.K), np.zeros(self.K)
        self.W, self.S, self.V, self.E = (np.zeros(self.K) for _ in range(4))
        self.asked, self.rate, self.floor = np.zeros(self.K), np.zeros(self.K), np.zeros(self.K)
        self.queries = []
        self.rewards = []
        self.stand = []  # decisions that each reward stands for
        self.all_until, self.w, self.dark = all_until, 1.0, 0
        self.handed, self.heard = [0.0, 0.0], [0.0, 0.0]  # decisions and rewards: not wanted, wanted
        self.spent = self.drift = self.debt = 0.0
        first = (np.median(costs) - min(costs)) / self.unit / 0.2
        self.first = self.log_price = math.log(min(max(first, 0.05), 5.0))
        self.limits = (self.first - math.log(100), self.first + math.log(100))
        self.B = bar[1] if bar[0] == "level" else self.keep * 0.5
        self.due = self.fitting = 0
        self.blind = [{"n": 0, "sum": 0.0, "run": 0, "missed": 0.0, "runs": 0} for _ in costs]

    # The models.

    def gram(self, k):
        return sum((np.outer(x, x) for x, _ in self.told[k]), np.zeros((self.D, self.D)))

    def moments(self, k):
        return sum((x * r for x, r in self.told[k]), np.zeros(self.D))

    def solve(self):
        self.inverse = [np.linalg.inv(self.gram(k) + np.diag(self.ridge)) for k in range(self.K)]
        self.theta = [self.inverse[k] @ (self.moments(k) + self.ridge * self.prior[k]) for k in range(self.K)]

    def m(self, phi):
        return np.array([min(max(theta @ phi, 0.0), 1.0) for theta in self.theta])

    def var(self, k):
        return (self.errors[k] + 0.25) / (self.n[k] + 2)

    def fit_pool(self):
        X = np.array(self.queries)
        for j in range(1, 1 + self.features):
            mean = X[:, j].mean()
            self.ridge[j] = 20.0 * max((X[:, j] ** 2).mean() - mean**2, 1e-6 * (1 + mean**2))
        A, b = np.diag(self.ridge[1:]), np.zeros(self.D - 1)
        for k in range(self.K):
            if self.told[k]:
                x = np.array([phi[1:] for phi, _ in self.told[k]])
                r = np.array([reward for _, reward in self.told[k]])
                A = A + (x - x.mean(0)).T @ (x - x.mean(0))
                b = b + (x - x.mean(0)).T @ (r - r.mean())
        slopes = np.linalg.solve(A, b)
        rest = [sum(r - phi[1:] @ slopes for phi, r in self.told[k]) for k in range(self.K)]
        count = [len(each) for each in self.told]
        common = sum(rest) / sum(count) if sum(count) else 0.5
        for k in range(self.K):
            self.prior[k] = [(rest[k] + 2 * common) / (count[k] + 2), *slopes]

    # The bar.

    def price_at(self, q, bar):
        c = self.c
        bar = min(bar, max(q) * (1 - 1e-9))
        points = [(c[j], 0.0) for j in range(self.K) if q[j] >= bar]
        for j in range(self.K):
            for i in range(self.K):
                if q[j] >= bar > q[i] and c[i] < c[j]:
                    slope = (c[j] - c[i]) / (q[j] - q[i])
                    points.append((c[j] - slope * (q[j] - bar), slope))
        least = min(cost for cost, _ in points)
        slope = max(slope for cost, slope in points if cost <= least)
        return slope if slope > 0 else self.first_price(q)

    def first_price(self, q):
        i = min(range(self.K), key=lambda k: (self.c[k], -q[k]))
        up = [k for k in range(self.K) if q[k] > q[i] and self.c[k] > self.c[i]]
        ways = [(self.c[k] - self.c[i]) / (q[k] - q[i]) for k in up]
        return min(ways, default=0.0)

    def look_around(self):
        centre = np.mean(self.queries, axis=0) if self.queries else np.eye(self.D)[0]
        self.q, self.s = np.zeros(self.K), np.zeros(self.K)
        for k in range(self.K):
            model = min(max(self.theta[k] @ centre, 0.0), 1.0)
            vm = self.var(k) * (centre @ self.inverse[k] @ centre)
            if self.W[k] <= 0:
                self.q[k], self.s[k] = model, math.sqrt(vm + 0.05**2)
                continue
            robust = self.S[k] / self.W[k]
            vd = max(self.V[k], 0.5 * self.E[k]) / self.W[k] ** 2
            vm += min(max((robust - model) ** 2 - vd, 0.01**2), 0.05**2)
            self.q[k] = min(max((robust / vd + model / vm) / (1 / vd + 1 / vm), 0.0), 1.0)
            self.s[k] = math.sqrt(1 / (1 / vd + 1 / vm))
        self.top = int(np.argmax(self.q))
        if self.bar_rule[0] == "option":
            self.B = self.keep * self.q[self.bar_rule[2]]
        elif self.bar_rule[0] == "best":
            t = self.top
            w = np.array(
                [
                    math.erfc((self.q[t] - self.q[k]) / math.sqrt(2 * (self.s[k] ** 2 + self.s[t] ** 2))) ** 2
                    for k in range(self.K)
                ]
            )
            self.B = self.keep * (w @ self.q) / w.sum()
        price = self.price_at(self.q, self.B)
        if price > 0:
            known = max(len(self.rewards), len(self.queries) / 4)
            cap = 10.0 if self.bar_rule[0] == "level" else min(10.0, 1 + known / 5000)
            low = self.first_price(self.q)
            self.limits = (math.log(0.02 * (min(low, price) if low > 0 else price)), math.log(cap * price))
        else:
            self.limits = (self.first - 5, self.first + 5)
        self.set_rates()
        if len(self.rewards) > self.all_until:
            w = max(self.all_until / len(self.rewards), 0.05, 2.5 * self.rate.sum())
            self.w = min(w + 0.9 * (1 - w) * self.anyway(), 1.0)
        else:
            self.w = 1.0

    def anyway(self):
        """How often what is not wanted is told, over how often what is wanted is."""
        if not self.handed[0] or not self.heard[1]:
            return 0.0
        return min(self.heard[0] / self.handed[0] / (self.heard[1] / self.handed[1]), 1.0)

    def set_rates(self):
        K, told, seen = self.K, max(sum(self.stand), 1), max(len(self.queries), 1)
        if self.bar_rule[0] == "level":
            self.rate = np.full(K, 2.0**-20 / K)
            return
        lam = math.exp(min(max(self.log_price, self.limits[0]), self.limits[1]))
        judged = range(K) if self.bar_rule[0] == "best" else [self.bar_rule[2]]
        width = math.log(max(len(self.rewards), 2))
        evidence = [self.W[k] ** 2 * self.var(k) / self.E[k] if self.E[k] > 0 else 0.0 for k in range(K)]
        hope = [
            min(self.q[k] + self.s[k] * math.sqrt(2 * width) + width / 3 / (evidence[k] + 1), 1.0)
            for k in range(K)
        ]
        fine = min((1 - self.keep) / 4, 0.01) * self.B
        unsure = [
            k for k in judged if 2 * self.s[k] > fine and (len(judged) == 1 or hope[k] >= self.q[self.top])
        ]
        spent = self.spent / seen
        self.rate = np.zeros(K)
        for k in judged:
            believed = self.q.copy()
            believed[k] = min(self.q[k] + 2 * self.s[k], 1.0)
            dear = self.price_at(believed, max(self.B, self.keep * believed[k]))
            dear = max(min(max(dear, lam), 5 * max(lam, 1.0)), 0.3 * math.exp(self.first))
            regret = max(self.c[k] - spent + lam * (self.B - self.q[k]), 0.02 * lam + 1e-4)
            rate = (1 - min(self.asked[k] / seen, 1)) / 6 * told ** (-1 / 3)
            rate *= (dear * math.sqrt(self.var(k)) / (2 * regret)) ** (2 / 3)
            if self.bar_rule[0] == "best" and believed[k] < self.q[self.top]:
                rate *= 0.05
            if k in unsure:
                dearer = max(self.c[k] / spent, 1.0) if spent > 0 else 1.0
                rate = max(rate, SURE / len(unsure) / dearer)
            self.rate[k] = min(rate, 0.1)
        self.rate *= min(1.0, 0.25 / self.rate.sum())

    # Decisions.

    def may_reach(self, k):
        n, missed, runs = (self.blind[k][key] for key in ("run", "missed", "runs"))
        if missed <= 0:
            return True
        v = self.B
        mean = max(v - missed / n, 0.0)
        kl = (1 - mean) * math.log((1 - mean) / (1 - v)) if v < 1 else math.inf
        kl += mean * math.log(mean / v) if mean > 0 else 0.0
        return n * kl <= math.log(1.65 * (n + 1) * (runs + 1) ** 2 / 0.001)

    def choose(self, phi, costs, usable, normals, coin):
        t = len(self.queries)
        if t >= self.fitting and t > 0:
            self.fit_pool()
            self.fitting = max(math.floor(1.1 * t), t + 10)
        self.solve()
        told = len(self.rewards)
        if told >= self.due:
            self.look_around()
            self.due = told + max(told // 100, 1)
        self.queries.append(np.array(phi))
        expected = self.m(phi)
        lam = math.exp(self.log_price)
        score = np.full(self.K, math.inf)
        for k in range(self.K):
            if usable[k]:
                s = math.sqrt(self.var(k) * (phi @ self.inverse[k] @ phi))
                score[k] = costs[k] / self.unit - lam * (expected[k] + 0.5 * s * normals[k])
        greedy = int(np.argmin(score))
        rate = np.where(usable, self.rate, 0.0)
        trust = 100 + (0.5 * self.B * self.dark if self.bar_rule[0] == "level" else 0.0)
        open_to = [k for k in range(self.K) if usable[k] and self.may_reach(k)] if self.debt >= trust else []
        if self.bar_rule[0] == "level" and open_to:
            seen = [each["sum"] / each["n"] if each["n"] else 1.0 for each in self.blind]
            arm, p = max(open_to, key=lambda k: (seen[k], -self.c[k])), 1.0
        elif coin >= self.w:
            arm, p = greedy, UNWANTED
        else:
            below = np.cumsum(rate)
            forced = [k for k in range(self.K) if usable[k] and coin < below[k]]
            arm = forced[0] if forced else greedy
            p = min((rate[arm] + (self.w - rate.sum() if arm == greedy else 0.0)) / self.w, 1 - 2.0**-19)
        self.handed[int(p != UNWANTED)] += 1
        if self.handed[0] >= 2000:
            self.handed = [each / 2 for each in self.handed]
            self.heard = [each / 2 for each in self.heard]
        self.asked[arm] += 1
        self.spent += costs[arm] / self.unit
        if told and p < 1:
            owed = sum(n * (self.B - r) for n, r in zip(self.stand, self.rewards, strict=True)) / 5000
            owed *= max(told / sum(self.stand), 0.5)
            step = max(0.05, min(0.5, 1 / math.sqrt(told)))
            missing = self.B - expected[arm] - self.drift + min(max(owed, -0.01), 0.03)
            self.log_price = min(max(self.log_price + step * missing, self.limits[0]), self.limits[1])
        return arm, p

    def learn(self, phi, arm, p, reward, floors):
        self.solve()
        expected = self.m(phi)
        surprise = reward - expected[arm]
        if p > 0:
            if not self.rewards:
                self.dark = len(self.queries) - 1
            self.heard[int(p != UNWANTED)] += 1
            own = 0.5 <= p < UNWANTED
            self.stand.append(1 + (1 - self.anyway()) * (1 - self.w) / self.w / p if own else 1.0)
            self.rewards.append(reward)
            share = self.stand[-1] / sum(self.stand)
            self.drift += max(share, 0.01 * min(share * len(self.rewards), 5)) * (surprise - self.drift)
            for k in range(self.K):
                e, var = floors[k], self.var(k)
                if e > 0:
                    self.W[k] += e / var
                    self.S[k] += e / var * (expected[k] + (surprise / p if k == arm else 0.0))
                    self.V[k] += (e / var * surprise / p) ** 2 if k == arm else 0.0
                    self.E[k] += e**2 / var / (p if k == arm else e)
            if self.bar_rule[0] == "level":
                self.debt = max(self.debt + self.B - reward, 0.0)
                if p == 1:
                    self.count_blind(self.blind[arm], reward)
        self.n[arm] += 1
        self.errors[arm] += surprise**2
        self.told[arm].append((np.array(phi), reward))

    def count_blind(self, each, reward):
        each["n"] += 1
        each["sum"] += reward
        each["run"] += 1
        each["missed"] += self.B - reward
        if each["missed"] <= 0:
            each["run"], each["missed"] = 0, 0.0
            each["runs"] += 1


SURE = 0.12
UNWANTED = 1 - 2.0**-20
