"""What the tests of planners share: programs of their own, and states of policies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import numpy as np

import frugalbandits as fb
from frugalbandits.core.contract import Setting
from frugalbandits.core.registry import resolve


def python(code, **environment):
    """Run code in a fresh process; return what it printed last, as JSON, and its standard error."""
    env = {**os.environ, **{key: str(value) for key, value in environment.items()}}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def started(name, arms=3):
    policy = resolve(name)
    setting = Setting.of(np.arange(1.0, arms + 1), fb.RelativeToBest(0.1), 1_000, None)
    rng = np.random.default_rng(0) if policy.randomised else None
    return policy, policy.begin(setting), rng
