"""A day in production: prices, models, outages and quality move, and a judge sees 5% of the answers."""

import random
from collections import deque

import frugalbandits as fb

CALLS = 20_000
JUDGED = 0.05  # the share of answers that there is money to judge
DELAY = 200  # calls until a judgement is back
PRICES = {"nano": 0.05, "mini": 0.2, "standard": 1.0, "pro": 3.0, "ultra": 8.0}
QUALITY = {"nano": 0.52, "mini": 0.70, "standard": 0.86, "pro": 0.90, "ultra": 0.91}  # what nobody knows
ALPHA = 0.1


class World:
    """What happens in the course of the day; an engineer tells the session of it, or nobody does."""

    def __init__(self, session: fb.Session) -> None:
        self.session = session
        self.prices, self.quality = dict(PRICES), dict(QUALITY)
        self.down: set[str] = set()

    def at(self, call: int) -> None:
        """Let happen what is due at this call."""
        if call == 3_000:
            self.down = {"standard"}  # an outage: calls fail, so this model is left out call by call
        elif call == 4_000:
            self.down = set()
        elif call == 6_000:
            self.prices["pro"] = 0.9  # a price change
            self.session.set_cost("pro", 0.9)
        elif call == 8_000:
            self.session.pause("pro")  # an outage that was announced
        elif call == 9_000:
            self.session.resume("pro")
        elif call == 11_000:
            self.prices["compact"], self.quality["compact"] = 0.3, 0.88  # a new model
            self.session.add("compact", 0.3)
        elif call == 15_000:
            self.quality["compact"] = 0.55  # it gets worse, and nobody says so

    @property
    def optimal(self) -> float:
        """What the cheapest good model costs at the moment."""
        bar = (1 - ALPHA) * max(self.quality.values())
        return min(price for name, price in self.prices.items() if self.quality[name] >= bar)


def serve(session: fb.Session, dice: random.Random) -> tuple[World, float, dict[str, list[int]]]:
    """Answer the calls of a day; return the world, what hindsight would have paid, and use by the hour."""
    world = World(session)
    best, credit = 0.0, 0.0
    waiting: deque[tuple[int, int, float]] = deque()  # when a judgement is back, of what, and how good it was
    used: dict[str, list[int]] = {}
    for call in range(CALLS):
        world.at(call)
        best += world.optimal
        credit = min(credit + JUDGED, 50.0)
        decision = session.ask(exclude=world.down)
        used.setdefault(decision.option, [0] * 10)[call * 10 // CALLS] += 1
        if credit >= 1 and (decision.wanted or dice.random() < JUDGED):  # what is left goes to a sample
            credit -= 1
            good = float(dice.random() < world.quality[decision.option])
            waiting.append((call + DELAY, decision.id, good))
        else:
            session.forget(decision.id)  # nobody will judge it; in production, time_to_live does this
        while waiting and waiting[0][0] <= call:
            _, id_, reward = waiting.popleft()
            session.tell(id_, reward=reward)
    return world, best, used


def main() -> None:
    """Live through the day, and report."""
    session = fb.Session(PRICES, alpha=ALPHA, policy="voi-cs", time_to_live=3_600)
    _, best, used = serve(session, random.Random(11))
    explanation = session.explain()
    print(explanation)
    print()
    print(session.changes())
    print("\ncalls in each tenth of the day")
    for name, counts in used.items():
        print(f"{name:>9}" + "".join(f"{count:6,}" for count in counts))
    always = PRICES["ultra"] * CALLS
    print(f"\nspent {explanation.spent:,.0f}; always 'ultra' would have cost {always:,.0f};", end=" ")
    print(f"the cheapest good model of each moment, known beforehand, {best:,.0f}")
    assert explanation.judged is not None and explanation.judged <= JUDGED
    assert explanation.spent < always / 3
    assert explanation.hint is None and len(session.pending) < 100
    assert used["compact"][-1] < 1_000 < used["compact"][6]


if __name__ == "__main__":
    main()
