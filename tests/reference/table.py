"""Rewards fixed beforehand, so that two implementations can be compared pull for pull."""

import numpy as np


class Table:
    """The i-th pull of arm k gives `rewards[k, i]`, whenever it happens."""

    def __init__(self, rewards):
        self.rewards = np.asarray(rewards, dtype=float)
        if self.rewards.ndim != 2:
            raise ValueError("rewards must be a 2-D array, arms x horizon")
        self.pulls = [0] * len(self.rewards)

    def pull(self, arm):
        """The next entry of the arm's row."""
        reward = float(self.rewards[arm, self.pulls[arm]])
        self.pulls[arm] += 1
        return reward
