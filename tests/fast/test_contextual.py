"""A session that looks at the query decides the same in plain Python and compiled."""

from __future__ import annotations

import numpy as np

import frugalbandits as fb


def made():
    context = fb.Segments(["easy", "hard"]) + fb.Features(2)
    return fb.ContextualSession(
        {"small": 0.2, "medium": 1.0, "large": 3.0}, alpha=0.05, context=context, seed=1
    )


def fed(session):
    """Ask and tell; new segments turn up."""
    rng, seen = np.random.default_rng(0), []
    for turn in range(300):
        segment = ("easy", "hard", f"new-{turn // 100}")[rng.integers(3)]
        decision = session.ask((segment, rng.normal(size=2)))
        seen.append(decision.option)
        session.tell(
            decision.id, float(rng.random() < {"small": 0.5, "medium": 0.7}.get(decision.option, 0.9))
        )
    return seen


def test_a_session_in_plain_python_is_the_session_compiled():
    plain, compiled = made(), made()
    compiled._engine = type(compiled._engine)((type(plain._policy).choose, type(plain._policy).learn), 0)
    compiled._engine.make(compiled._state, compiled._rng)
    assert compiled._engine.compiled
    assert fed(plain) == fed(compiled)
    assert plain.to_json() == compiled.to_json()
