"""A session in production: feedback comes late or never, the state survives a restart."""

import random
import tempfile
from collections import deque
from pathlib import Path

import frugalbandits as fb

COSTS = {"small": 0.2, "medium": 1.0, "large": 3.0}
QUALITY = {"small": 0.62, "medium": 0.83, "large": 0.85}  # what nobody knows


def answer(option: str, dice: random.Random) -> float:
    """Stand for the call of a model and for the judge of its answer: 1 for good, 0 for bad."""
    return float(dice.random() < QUALITY[option])


def serve(session: fb.Session, requests: int, dice: random.Random) -> float:
    """Decide on each request; return the money spent. The judge is up to 20 answers behind."""
    spent = 0.0
    waiting: deque[fb.Decision] = deque()
    for _ in range(requests):
        decision = session.ask()
        spent += COSTS[decision.arm]
        waiting.append(decision)
        if len(waiting) > 20:
            judged = waiting.popleft()
            if dice.random() < 0.02:
                session.forget(judged.id)  # this one was never judged
            else:
                session.tell(judged.id, reward=answer(judged.arm, dice))
    for decision in waiting:
        session.tell(decision.id, reward=answer(decision.arm, dice))
    return spent


def main() -> None:
    """Serve, stop, start again where it stood, and say what was learnt."""
    dice = random.Random(7)
    session = fb.Session(COSTS, alpha=0.1, policy="glr-cof", horizon=6_000)
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "session.json"
        spent = serve(session, 3_000, dice)
        session.save(state)
        resumed = fb.Session.load(state)
    spent += serve(resumed, 3_000, dice)
    explanation = resumed.explain()
    print(explanation)
    always = COSTS["large"] * explanation.decisions
    print(f"\nspent {spent:,.0f}; always 'large' would have cost {always:,.0f}")
    assert explanation.decisions == 6_000 and not resumed.pending
    assert spent < always / 2


if __name__ == "__main__":
    main()
