"""How long an ask and its tell take in a session that looks at the query, in plain Python and compiled.

python benchmarks/contextual.py [decisions]
"""

from __future__ import annotations

import sys
import time

import numpy as np

import frugalbandits as fb
from frugalbandits.core.contextual.dual_cof import DualCOF
from frugalbandits.core.contextual.engine import Engine


def main(decisions: int) -> None:
    """Print microseconds an ask and tell, of the whole session and of the policy alone."""
    print(f"{decisions:,} decisions; microseconds for an ask and its tell")
    for options, features in ((4, 8), (10, 32), (10, 128)):
        costs = {f"option-{k}": 1.0 + k for k in range(options)}
        for way in ("plain", "compiled"):
            session = fb.ContextualSession(costs, alpha=0.05, context=fb.Features(features), seed=0)
            engine = Engine((DualCOF.choose, DualCOF.learn, None), 0)
            session._engine = engine
            if way == "compiled":
                engine.make(session._state, session._rng)
            whole = _session(session, decisions, features)
            alone = _policy(engine, session, decisions, features, options)
            what = f"{options:3} options, {features:3} features, {way:8}"
            print(f"{what}  session {whole:8.1f}  policy {alone:8.1f}")


def _session(session: fb.ContextualSession, decisions: int, features: int) -> float:
    rng = np.random.default_rng(0)
    queries = rng.normal(size=(decisions, features))
    rewards = rng.random(decisions)
    start = time.perf_counter()
    for query, reward in zip(queries, rewards.tolist(), strict=True):
        session.tell(session.ask(query).id, reward)
    return (time.perf_counter() - start) / decisions * 1e6


def _policy(
    engine: Engine, session: fb.ContextualSession, decisions: int, features: int, options: int
) -> float:
    rng = np.random.default_rng(0)
    queries = np.hstack([np.ones((decisions, 1)), rng.normal(size=(decisions, features))])
    costs, usable = np.arange(1.0, options + 1), np.ones(options, np.bool_)
    state, own, floors = session._state, session._rng, np.zeros(options)
    start = time.perf_counter()
    for phi in queries:
        arm, propensity, _ = engine.choose(state, phi, costs, usable, own, floors)
        engine.learn(state, phi, arm, propensity, 0.5, floors)
    return (time.perf_counter() - start) / decisions * 1e6


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
