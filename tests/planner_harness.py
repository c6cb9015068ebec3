"""What the tests of planners share: programs of their own, and states of policies."""

from __future__ import annotations

import numpy as np

import frugalbandits as fb
from frugalbandits.core.contract import Setting
from frugalbandits.core.registry import resolve


def started(name, arms=3):
    policy = resolve(name)
    setting = Setting.of(np.arange(1.0, arms + 1), fb.RelativeToBest(0.1), 1_000, None)
    rng = np.random.default_rng(0) if policy.randomised else None
    return policy, policy.begin(setting), rng
