"""GLR-klUCB (Besson, Kaufmann, Maillard and Seznec 2022), global restarts, with a cost subsidy."""

import math

BLOCKS = 64


def kl(p, q):
    value = 0.0
    if p > 0:
        value += p * (math.log(p / q) if q > 0 else math.inf)
    if p < 1:
        value += (1 - p) * (math.log((1 - p) / (1 - q)) if q < 1 else math.inf)
    return value


def klucb(n, s, level):
    """The largest q >= s / n with n kl(s / n, q) <= level."""
    low, high = s / n, 1.0
    for _ in range(60):
        q = (low + high) / 2
        if q in (low, high):
            break
        low, high = (q, high) if n * kl(s / n, q) <= level else (low, q)
    return low


class Arm:
    """Rewards since the last restart, in at most BLOCKS blocks of equal size; the last one may be smaller."""

    def __init__(self):
        self.size, self.blocks = 1, []  # lists of rewards
        self.n, self.sum = 0, 0.0

    def add(self, reward):
        self.n, self.sum = self.n + 1, self.sum + reward
        if not self.blocks or len(self.blocks[-1]) >= self.size:
            if len(self.blocks) == BLOCKS:
                self.blocks = [self.blocks[i] + self.blocks[i + 1] for i in range(0, BLOCKS, 2)]
                self.size *= 2
            self.blocks.append([])
        self.blocks[-1].append(reward)

    def changed(self, horizon):
        n, m = self.n, self.sum / self.n
        most = math.log(3 * n**1.5 * math.sqrt(horizon))
        cut, before = 0, 0.0
        for block in self.blocks[:-1]:
            cut, before = cut + len(block), before + sum(block)
            rest = n - cut
            if cut * kl(before / cut, m) + rest * kl((self.sum - before) / rest, m) > most:
                return True
        return False


def run(pull, costs, alpha, horizon, rng=None, exploration=0.1):
    """kl-UCB with cost subsidy that starts over when an arm has changed. Notes no events."""
    K = len(costs)
    order = sorted(range(K), key=lambda arm: costs[arm])  # position in order of cost -> caller's arm
    keep = 1 - alpha
    period = math.ceil(K / min(exploration * math.sqrt(math.log(horizon) / horizon), 1))
    arms = [Arm() for _ in range(K)]
    begun = 0
    pulled = []

    while len(pulled) < horizon:
        turn = (len(pulled) - begun) % period
        if len(pulled) < K:
            chosen = len(pulled)
        elif turn < K:
            chosen = turn
        else:
            level = math.log(sum(arm.n for arm in arms))
            index = [klucb(arm.n, arm.sum, level) if arm.blocks else 1 for arm in arms]
            threshold = keep * max(index) - 1e-9  # ties do not hang on rounding
            chosen = min(k for k in range(K) if index[k] >= threshold)
        arms[chosen].add(pull(order[chosen]))
        pulled.append(order[chosen])
        # The first round is one batch: what it shows is looked at when it is over.
        if len(pulled) >= K and arms[chosen].changed(horizon):
            arms = [Arm() for _ in range(K)]
            begun = len(pulled)

    return pulled, []
