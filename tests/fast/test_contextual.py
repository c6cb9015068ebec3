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
    compiled._engine = made_ready(compiled)
    assert fed(plain) == fed(compiled)
    assert plain.to_json() == compiled.to_json()


def test_workers_in_plain_python_and_compiled_count_the_same(tmp_path):
    """One that has machine code and one that has not share a session, and agree to the last bit."""
    settings = {"alpha": 0.05, "context": fb.Segments(["easy", "hard"]) + fb.Features(2)}
    costs, place = {"small": 0.2, "medium": 1.0, "large": 3.0}, f"sqlite:///{tmp_path}/decisions.db"
    with (
        fb.ContextualSession(costs, **settings, store=place, name="one") as plain,
        fb.ContextualSession(costs, **settings, store=place, name="one") as compiled,
    ):
        plain._engine = type(plain._engine)(functions_of(plain), 0)
        compiled._engine = made_ready(compiled)
        rng = np.random.default_rng(0)
        for turn in range(150):
            asking, telling = (plain, compiled) if turn % 2 else (compiled, plain)
            decision = asking.ask((("easy", "hard")[rng.integers(2)], rng.normal(size=2)))
            telling.tell(decision.id, float(rng.random() < 0.7))
        plain.catch_up()
        compiled.catch_up()
        assert not plain._engine.compiled and compiled._engine.compiled
        assert plain.to_json() == compiled.to_json()


def functions_of(session):
    kind = type(session._policy)
    return kind.choose, kind.learn, kind.count


def made_ready(session):
    """Return an engine with machine code for a session."""
    engine = type(session._engine)(functions_of(session), 0)
    engine.make(session._state, session._rng)
    assert engine.compiled
    return engine
