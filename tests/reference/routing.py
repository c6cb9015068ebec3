"""Baselines that look at the query, written plainly: regressions are solved anew at each step."""

from __future__ import annotations

import numpy as np


class Regressions:
    def __init__(self, options, width):
        self.rows = [[] for _ in range(options)]
        self.rewards = [[] for _ in range(options)]
        self.width = width

    def learn(self, phi, k, reward):
        self.rows[k].append(phi)
        self.rewards[k].append(reward)

    def system(self, k):
        X = np.array(self.rows[k]).reshape(-1, self.width)
        return np.eye(self.width) + X.T @ X, X.T @ np.array(self.rewards[k])

    def mean(self, phi, k):
        A, b = self.system(k)
        return float(phi @ np.linalg.solve(A, b))

    def spread(self, phi, k):
        A, _ = self.system(k)
        return float(np.sqrt(phi @ np.linalg.solve(A, phi)))


def bar(values, alpha, reference, level):
    if level is not None:
        return level
    return (1 - alpha) * (max(values) if reference is None else values[reference])


class Rule:
    def __init__(self, costs, size, settings, alpha=0.0, reference=None, level=None):
        self.K = len(costs)
        self.model = Regressions(self.K, size)
        self.low, self.span = min(costs), max(costs) - min(costs)
        self.bar = lambda values: bar(values, alpha, reference, level)
        self.settings = settings
        self.t = 0
        self.begin()

    def begin(self):
        pass

    def learn(self, phi, k, propensity, reward):
        self.model.learn(phi, k, reward)

    def scaled(self, costs):
        return [(cost - self.low) / self.span for cost in costs]


class Thompson(Rule):
    def choose(self, phi, costs, rng):
        theta = []
        for k in range(self.K):
            s = self.settings["width"] * self.model.spread(phi, k)
            theta.append(self.model.mean(phi, k) + s * rng.standard_normal())
        enough = [k for k in range(self.K) if theta[k] >= self.bar(theta)]
        return (min(enough, key=lambda k: costs[k]) if enough else int(np.argmax(theta))), None


class LinUCB(Rule):
    def choose(self, phi, costs, rng):
        score = [
            self.model.mean(phi, k)
            + self.settings["width"] * self.model.spread(phi, k)
            - self.settings["weight"] * costs[k]
            for k in range(self.K)
        ]
        return int(np.argmax(score)), 1.0


class Queue(Rule):
    def begin(self):
        self.Q = 0.0
        self.believed = []

    def choose(self, phi, costs, rng):
        self.t += 1
        m = [min(max(self.model.mean(phi, k), 0.0), 1.0) for k in range(self.K)]
        self.believed.append(m)
        loss = [self.settings["tradeoff"] * c - self.Q * m[k] for k, c in enumerate(self.scaled(costs))]
        greedy = int(np.argmin(loss))
        eps = min(1.0, self.settings["explore"] * self.t ** (-1 / 3))
        p = [eps / self.K + (1 - eps) * (k == greedy) for k in range(self.K)]
        arm = greedy
        if self.t <= 4 * self.K:
            arm = (self.t - 1) % self.K
            p = [float(k == arm) for k in range(self.K)]
        elif rng.random() < eps:
            arm = int(rng.random() * self.K)
        B = self.bar(np.mean(self.believed, axis=0))
        self.Q = max(0.0, self.Q + B - m[arm])
        return arm, p[arm]


class SquareCB(Rule):
    def begin(self):
        self.price = 1.0
        self.told = []

    def choose(self, phi, costs, rng):
        self.t += 1
        m = [min(max(self.model.mean(phi, k), 0.0), 1.0) for k in range(self.K)]
        payoff = [(self.price * m[k] - c) / (1 + self.price) for k, c in enumerate(self.scaled(costs))]
        best = int(np.argmax(payoff))
        gamma = self.settings["sharpness"] * np.sqrt(self.t)
        p = [1 / (self.K + gamma * (payoff[best] - payoff[k])) for k in range(self.K)]
        p[best] = 0.0
        p[best] = 1 - sum(p)
        u = rng.random()
        arm = next((k for k in range(self.K) if u < sum(p[: k + 1])), best)
        return arm, p[arm]

    def learn(self, phi, k, propensity, reward):
        super().learn(phi, k, propensity, reward)
        self.told.append((k, 1 / propensity, reward))
        means = []
        for k in range(self.K):
            own = [(weight, reward) for arm, weight, reward in self.told if arm == k]
            total = sum(weight for weight, _ in own)
            means.append(sum(weight * reward for weight, reward in own) / total if own else 0.0)
        step = self.settings["rate"] / np.sqrt(len(self.told))
        self.price = min(max(self.price + step * (self.bar(means) - reward), 0.0), self.settings["cap"])
