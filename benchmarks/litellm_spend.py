"""What routing spends and reaches: models of the tables, failures, and a judge that errs."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from frugalbandits.integrations.litellm import FrugalRouter, Sampled, text_of
from litellm_world import ANSWER, GOOD, MESSAGES, PROMPT, Model, Router, World, deployments, models_of
from report import table

__all__ = ["section"]

ALPHA = 0.1
FAILURES = 0.05  # of all attempts
JUDGED = 0.1  # of the answers, at most
WRONG = 0.05  # of the judgements
LEARNING = 0.25  # the share of calls that is not looked at
OUTAGE = (0.5, 0.7)  # from where to where the usual model is down
AT_ONCE = 4  # calls that are under way
WITHIN = 1.15  # times the oracle's spend

RIVALS = ("simple-shuffle", "cost-based-routing", "adaptive_router")
HEADERS = [
    "",
    "$ per 1,000 calls",
    "of the oracle's",
    "quality",
    "above the bar",
    "without outage: of the oracle's",
    "quality",
]

TEXT = """\
## Spend and quality

{calls:,} calls. {failures:.0%} of all attempts fail, and the cheapest good model is down for a fifth of the
time. {judged:.0%} of the answers are judged, and {wrong:.0%} of these judgements are wrong. Good enough is
{bar:.0%} of the best model's quality. Looked at is what comes after the first {learning:,} calls: what was
spent, against the oracle; the quality that the models have by their table, against the bar; and the same
without the outage. The oracle knows all models and who is down, and takes the cheapest good one; after a
failure it takes the next, as ours does. `simple-shuffle`, `cost-based-routing` and `adaptive_router` are
LiteLLM's, run for {rival:,} calls: they learn nothing here, so more would tell the same. Always-best and the
oracle are computed from the table. `worth` of ours, what a unit of quality is worth: {worth}.
"""


@dataclass
class Book:
    """What was spent, and how good the answers were by the table, in and out of the outage."""

    spent: Counter[str] = field(default_factory=Counter)
    quality: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    unanswered: int = 0

    def add(self, phase: str, model: Model, bill: float, weight: float = 1.0) -> None:
        """Take in an answer, or the share of one."""
        self.spent[phase] += weight * bill
        self.quality[phase] += weight * model.quality
        self.calls[phase] += weight
        self.used[model.name] += weight

    def of(self, *phases: str) -> tuple[float, float]:
        """Return what a call has cost on average, and its quality."""
        calls = sum(self.calls[phase] for phase in phases)
        return (
            sum(self.spent[phase] for phase in phases) / calls,
            sum(self.quality[phase] for phase in phases) / calls,
        )


class Task:
    """The models of a table, and which of them are good enough."""

    def __init__(self, name: str) -> None:
        self.name, self.models = name, models_of(name)
        self.bar = (1 - ALPHA) * max(model.quality for model in self.models)
        good = [model for model in self.models if model.quality >= self.bar]
        self.good = sorted(good, key=lambda model: model.cost)
        self.by_quality = sorted(self.models, key=lambda model: -model.quality)
        self.usual = self.good[0].name
        guesses = [(PROMPT + ANSWER) * model.token_price for model in self.models]
        #: Of what a call costs by the plug-in's first guess.
        self.range = max(guesses) - min(guesses)

    def computed(self, order: Sequence[Model]) -> Book:
        """Return what comes of taking the first model of a list that is up, and the next one if it fails."""
        book = Book()
        start, end = OUTAGE
        for phase, share in (("usual", 1 - LEARNING - (end - start)), ("outage", end - start)):
            left = share
            for model in order:
                if phase == "outage" and model.name == self.usual:
                    continue
                book.add(phase, model, model.cost, left * (1 - FAILURES))
                left *= FAILURES
        return book

    def phase(self, call: int, calls: int) -> str:
        """Return what is the matter at a call."""
        if OUTAGE[0] * calls <= call < OUTAGE[1] * calls:
            return "outage"
        return "learning" if call < LEARNING * calls else "usual"


def judge_of(seed: int) -> Sampled:
    """Return a judge of a part of the answers, which errs."""
    dice = random.Random(seed)

    def says(request: Any, response: Any) -> bool:
        return (text_of(response) == GOOD) != (dice.random() < WRONG)

    return Sampled(says, share=JUDGED, seed=seed)


async def routed(task: Task, router: Any, group: str, world: World, calls: int) -> Book:
    """Make calls, a few at a time, and take down what became of them."""
    book, turns = Book(), iter(range(calls))
    models = {model.name: model for model in task.models}

    async def caller() -> None:
        for call in turns:
            phase = task.phase(call, calls)
            world.down = frozenset({task.usual}) if phase == "outage" else frozenset()
            try:
                response = await router.acompletion(model=group, messages=MESSAGES)
            except Exception:
                book.unanswered += 1
                continue
            hidden = response._hidden_params
            model = models[hidden["model_id"].split(":", 1)[1]]
            book.add(phase, model, hidden["response_cost"])

    await asyncio.gather(*(caller() for _ in range(AT_ONCE)))
    return book


async def measured(
    task: Task, how: str, calls: int, seed: int, worth: float | None = None
) -> tuple[Book, str]:
    """Return what a way of routing spends and reaches, and the report of ours."""
    world = World(task.models, FAILURES, seed)
    group, settings = f"{task.name}-{how}-{seed}", {"num_retries": 3, "retry_after": 0, "cooldown_time": 1}
    random.seed(seed)
    if how == "adaptive_router":
        names = [model.name for model in task.models]
        smart = {
            "model": "auto_router/adaptive_router",
            "adaptive_router_default_model": names[0],
            "adaptive_router_config": {"available_models": names},
        }
        made = [*deployments(task.models), {"model_name": group, "litellm_params": smart}]
        return await routed(task, Router(model_list=made, **settings), group, world, calls), ""
    strategy = how if how == "cost-based-routing" else "simple-shuffle"
    router = Router(model_list=deployments(task.models, group), routing_strategy=strategy, **settings)
    if how != "ours":
        return await routed(task, router, group, world, calls), ""
    frugal = FrugalRouter(group, alpha=ALPHA, judge=judge_of(seed), worth=worth).attach(router)
    book = await routed(task, router, group, world, calls)
    await asyncio.sleep(1.0)
    await asyncio.to_thread(frugal.flush, 30.0)
    told = frugal.report()
    frugal.close()
    judged = sum(each.judged for each in told.options)
    return book, f"{judged:,} of {told.answers:,} answers were judged."


async def _one(name: str, calls: int, rival: int, seed: int, ranges: float) -> str:
    task = Task(name)
    books: dict[str, Book] = {}
    oracle, below = task.computed(task.good), ""
    if calls:
        ours, told = await measured(task, "ours", calls, seed, ranges * task.range or None)
        books["ours"] = ours
        shares = [f"{model} {number / calls:.0%}" for model, number in ours.used.most_common(4)]
        below = f"{_verdict(ours, oracle, task.bar)} {told} Ours used most: {', '.join(shares)}.\n"
    for how in RIVALS if rival else ():
        books[how], _ = await measured(task, how, rival, seed)
    books |= {"always the best": task.computed(task.by_quality), "oracle": oracle}
    rows = [_row(how, book, oracle, task.bar) for how, book in books.items()]
    title = f"### {name}: {len(task.models)} models, bar {task.bar:.3f}, usual model {task.usual}"
    return f"{title}\n\n{table(HEADERS, rows)}\n\n{below}"


def _row(how: str, book: Book, oracle: Book, bar: float) -> list[str]:
    spent, quality = book.of("usual", "outage")
    calm_spent, calm_quality = book.of("usual")
    return [
        how + (f" ({book.unanswered} unanswered)" if book.unanswered else ""),
        f"{1_000 * spent:.3f}",
        f"{spent / oracle.of('usual', 'outage')[0]:.2f}",
        f"{quality:.3f}",
        f"{quality - bar:+.3f}",
        f"{calm_spent / oracle.of('usual')[0]:.2f}",
        f"{calm_quality:.3f}",
    ]


def _verdict(ours: Book, oracle: Book, bar: float) -> str:
    spent, quality = ours.of("usual", "outage")
    within = spent / oracle.of("usual", "outage")[0] <= WITHIN
    return (
        f"Within {WITHIN - 1:.0%} of the oracle's spend: {'yes' if within else 'NO'}. "
        f"At the asked quality: {'yes' if quality >= bar else 'NO'}."
    )


def section(tables: Sequence[str], calls: int, rival: int, seed: int, ranges: float) -> str:
    """Measure, and return the text with its tables."""
    told: Mapping[str, Any] = {
        "calls": calls or rival,
        "rival": rival,
        "learning": int(LEARNING * (calls or rival)),
        "failures": FAILURES,
        "judged": JUDGED,
        "wrong": WRONG,
        "bar": 1 - ALPHA,
        "worth": f"{ranges:g} times the range of the costs" if ranges else "the default",
    }

    async def all_of_them() -> list[str]:
        return [await _one(name, calls, rival, seed, ranges) for name in tables]

    return "\n".join([TEXT.format(**told), *asyncio.run(all_of_them())])
