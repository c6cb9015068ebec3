"""What a session believes and why, for a person (it prints as a table) and for a program."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

from frugalbandits.core.quality import AtLeast, Quality, RelativeTo, quality_to_dict
from frugalbandits.core.session.mixing import Mixture
from frugalbandits.core.session.recommendation import (
    Row,
    concluded_words,
    recommended_words,
    unreachable_words,
)
from frugalbandits.core.tables import html_table, text_table

__all__ = ["ArmReport", "Explanation"]

_FEW = 100  # rewards of the option that sets the bar below which their number is shown

# Properties that `to_dict` writes beside the fields.
_DERIVED = (
    *("alpha", "best", "threshold", "spent", "always_best"),
    *("baseline", "always_baseline", "saving"),
)


@dataclass(frozen=True)
class ArmReport:
    """What is known of one option. `mean`, `lcb` and `ucb` are None before the first feedback.

    `decisions` counts the decisions for this option. `pulls` counts its rewards, `observed` those among them
    that belong to no decision, and `judged` the decisions that have a reward. `spent` is what the decisions
    cost: what was told where it was, the price at the time otherwise. `always` is what all decisions of the
    session would have cost, had they been for this option. `evidence` is for policies that weigh it: of the
    candidate, that it is not good enough; of an option that costs more, that the candidate is good enough for
    it. Under a fixed level, it is of the candidate, that it is on the side of the level that its mean is on.
    `standing` is "active", "paused" or "retired". Where costs are learned, `learned_cost` is what a use is
    believed to cost, and lies between `cost_low` and `cost_high`, as far as that can be told.
    """

    name: str
    cost: float
    pulls: int
    pending: int
    mean: float | None
    lcb: float | None
    ucb: float | None
    status: str
    evidence: float | None = None
    decisions: int = 0
    spent: float = 0.0
    always: float = 0.0
    standing: str = "active"
    learned_cost: float | None = None
    cost_low: float | None = None
    cost_high: float | None = None
    observed: int = 0

    @property
    def judged(self) -> int:
        """The number of decisions for this option that have a reward."""
        return self.pulls - self.observed


@dataclass(frozen=True, repr=False)
class Explanation:
    """The options from cheapest to most expensive, the candidate, and the decision so far.

    Attributes
    ----------
    arms
        One report an option, in the order of cost.
    candidate
        The option that is being considered or used now, if the policy has one.
    decision
        The option that the policy has settled on for good, or None.
    events
        Conclusions so far: (decisions handed out at that time, "infeasible" or "optimal", option). A fixed
        level that no option reaches is "unreachable", and the option is the last one that was ruled out.
    needed
        The evidence that a conclusion takes, for policies that weigh it.
    likely
        The option that the policy recommends before it is sure. Its mean may still be below the bar: the
        headline then says that it is still being checked.
    unreachable
        Whether no option reaches the fixed level, so that the best one is looked for.
    retired
        Reports of options that were taken out for good.
    judged
        The share of decisions whose reward was told; None before the first decision.
    helpful
        Options whose feedback would help most: what was seen leaves open whether they are good enough.
    changed
        What is believed to have changed, an option each, in words.
    late
        A sentence where feedback was seen to come after the time to live.
    question
        What is being asked, what the answer is worth and what it costs, for a policy that weighs that.
    over
        What is good enough: "each" decision's option, or the average over "queries".
    mix
        Where the average stands, for a policy that promises one.
    reached, reached_interval
        The mean quality of all decisions, by the rewards so far, and its 95% interval (see
        `frugalbandits.core.session.delivered_quality`). None before the first reward.
    hint
        What to do about decisions that stay pending, in words, or None.
    """

    policy: str
    quality: Quality
    horizon: int | None
    decisions: int
    arms: tuple[ArmReport, ...]
    candidate: str | None
    decision: str | None
    events: tuple[tuple[int, str, str], ...]
    needed: float | None = None
    likely: str | None = None
    unreachable: bool = False
    retired: tuple[ArmReport, ...] = ()
    judged: float | None = None
    helpful: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    late: str | None = None
    question: str | None = None
    over: str = "each"
    mix: Mixture | None = None
    reached: float | None = None
    reached_interval: tuple[float, float] | None = None
    hint: str | None = None

    @property
    def alpha(self) -> float | None:
        """Share of quality that may be given up; None under a fixed level."""
        return None if isinstance(self.quality, AtLeast) else self.quality.alpha

    @cached_property
    def best(self) -> str | None:
        """The option with the highest mean so far, the cheapest of them if several share it."""
        seen = [arm for arm in self.arms if arm.mean is not None]
        return max(seen, key=_mean).name if seen else None

    @cached_property
    def threshold(self) -> float | None:
        """The quality that is good enough, by the means so far; None while it cannot be told."""
        if self.mix is not None:
            return self.mix.bar if self.mix.average is not None else None
        if isinstance(self.quality, AtLeast):
            return self.quality.level
        of = self._judge
        return None if of is None else (1 - self.quality.alpha) * _mean(of)

    @cached_property
    def spent(self) -> float:
        """What all decisions have cost."""
        return math.fsum(arm.spent for arm in (*self.arms, *self.retired))

    @cached_property
    def always_best(self) -> float | None:
        """What as many decisions for the best option would have cost."""
        return self._always(self.best)

    @property
    def baseline(self) -> str | None:
        """The option that savings are against: the bar's reference, otherwise the best option so far."""
        return self.quality.reference if isinstance(self.quality, RelativeTo) else self.best

    @cached_property
    def always_baseline(self) -> float | None:
        """What as many decisions for the baseline would have cost."""
        return self._always(self.baseline)

    def _always(self, name: str | None) -> float | None:
        return next((arm.always for arm in (*self.arms, *self.retired) if arm.name == name), None)

    @property
    def saving(self) -> float | None:
        """What was saved against always using the baseline; negative where more was spent."""
        return None if self.always_baseline is None else self.always_baseline - self.spent

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, dictionaries, numbers and strings, ready for JSON."""
        # Field by field: `dataclasses.asdict` copies every number, which takes longer than the explanation.
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        plain["quality"] = quality_to_dict(self.quality)
        plain["mix"] = None if self.mix is None else asdict(self.mix)
        for name in _DERIVED:
            plain[name] = getattr(self, name)
        for name in ("arms", "retired"):
            plain[name] = tuple({**vars(report), "judged": report.judged} for report in plain[name])
        unused = ["evidence"] if self.needed is None else []
        if not self._learns:
            unused += ["learned_cost", "cost_low", "cost_high"]
        for arm in (*plain["arms"], *plain["retired"]):
            for name in unused:
                del arm[name]
        if self.needed is None:
            del plain["needed"]
        return plain

    @property
    def headline(self) -> str:
        """One sentence on where things stand."""
        pending = sum(arm.pending for arm in self.arms)
        still = f", {pending:,} pending" if pending else ""
        beyond = " (past the horizon)" if self.horizon is not None and self.decisions > self.horizon else ""
        after = f"after {self.decisions:,} decisions{beyond}{still}"
        if self.mix is not None:
            return self._mixed(self.mix, after)
        if self.unreachable and isinstance(self.quality, AtLeast):
            return unreachable_words(self.decision, self._rows(self.arms), self.quality.level, after)
        rows = self._rows((*self.arms, *self.retired))
        if self.decision is not None:
            return concluded_words(self.decision, rows, self.threshold, after)
        if self.likely is not None:
            return recommended_words(self.likely, rows, self.threshold, after)
        if self.candidate is not None:
            return f"Nothing settled {after}; {self.candidate!r} is being considered."
        return f"Nothing settled {after}."

    def _rows(self, reports: tuple[ArmReport, ...]) -> list[Row]:
        return [
            Row(
                name=arm.name,
                cost=arm.cost if arm.learned_cost is None else arm.learned_cost,
                mean=arm.mean,
                high=arm.ucb,
                usable=arm.standing == "active",
            )
            for arm in reports
        ]

    def _mixed(self, mix: Mixture, after: str) -> str:
        """Say how decisions were mixed, and what came of it."""
        if mix.average is None:
            return f"No feedback {after}."
        reached = f"{mix.average:.3g}"
        if self.alpha is not None and mix.bar > 0:
            of = f"{self.quality.reference!r}" if isinstance(self.quality, RelativeTo) else "the best option"
            reached = f"{mix.average / mix.bar * (1 - self.alpha):.3g} of {of}"
        return f"{mix.shared}: average {reached} {after}."

    @property
    def money(self) -> str:
        """One sentence on what was spent, and saved against always using the baseline."""
        told = f"Spent {self.spent:,.6g}"
        if self.always_baseline is None or self.saving is None:
            return f"{told}."
        why = "the reference" if isinstance(self.quality, RelativeTo) else "the best so far"
        against = f"always {self.baseline!r}, {why}, would have cost {self.always_baseline:,.6g}"
        share = f" ({abs(self.saving / self.always_baseline):.0%})" if self.always_baseline > 0 else ""
        if self.saving < 0:
            return f"{told}; {against}: {-self.saving:,.6g} more{share}."
        return f"{told}; {against}: saved {self.saving:,.6g}{share}."

    @property
    def delivered(self) -> str | None:
        """One sentence on the quality of all decisions beside the bar; None before the first reward."""
        if self.reached is None or self.reached_interval is None:
            return None
        low, high = self.reached_interval
        bar = "not known yet" if self.threshold is None else f"{self.threshold:.4f}"
        if self._judge is not None and self._judge.pulls < _FEW:
            rewards = "one reward" if self._judge.pulls == 1 else f"{self._judge.pulls} rewards"
            bar += f", by {rewards} of {self._judge.name!r}"
        return (
            f"Quality reached: {self.reached:.4f} over all decisions (95% interval {low:.4f} to {high:.4f}); "
            f"the bar is {bar}."
        )

    @property
    def lines(self) -> list[str]:
        """What stands above the table."""
        wish = f"{self.policy}, {self.quality.wish}"
        if self.mix is not None:
            wish += ", on average over all decisions"
        elif self._judge is not None and self.threshold is not None and self.alpha is not None:
            wish += f": {1 - self.alpha:g} x {_mean(self._judge):.4g} = {self.threshold:.4g} is good enough"
        if self.needed is not None:
            wish += f"; a conclusion takes evidence of {self.needed:.2f}"
        more = self.mix.words if self.mix is not None else [self.question] if self.question else []
        reached = [] if self.delivered is None or self.mix is not None else [self.delivered]
        return [self.headline, *reached, self.money, wish, *more]

    @property
    def notes(self) -> list[str]:
        """What stands below the table: sentences on what is missing, and on what has changed."""
        notes = []
        if self.judged is not None and self.judged < 1:
            most = (
                f"; feedback would help most on {', '.join(map(repr, self.helpful))}" if self.helpful else ""
            )
            notes.append(f"{self.judged:.1%} of the decisions were judged{most}.")
        if self.changed:
            notes.append(f"Believed to have changed: {'; '.join(self.changed)}.")
        if self.late is not None:
            notes.append(f"{self.late[0].upper()}{self.late[1:]}.")
        if self.hint is not None:
            notes.append(self.hint)
        return notes

    def __str__(self) -> str:
        below = ["", *self.notes] if self.notes else []
        return "\n".join([*self.lines, "", text_table(*self.table()), *below])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table([*self.lines, *self.notes], *self.table())

    def table(self) -> tuple[list[str], list[list[str]], set[int]]:
        """Return the heads of the table, its rows, and which columns are flush left."""
        weighs = self.needed is not None
        observes = any(arm.observed for arm in (*self.arms, *self.retired))
        heads = [
            *("option", "cost"),
            *(["learned"] if self._learns else []),
            *("decisions", "judged"),
            *(["observed"] if observes else []),
            *("pending", "spent", "mean", "lcb", "ucb"),
            *(["evidence"] if weighs else []),
            "status",
        ]
        # Those that are left out stand apart, below.
        rows = [
            [
                arm.name,
                f"{arm.cost:g}",
                *([_around(arm)] if self._learns else []),
                f"{arm.decisions:,}",
                f"{arm.judged:,}",
                *([f"{arm.observed:,}"] if observes else []),
                f"{arm.pending:,}",
                f"{arm.spent:,.6g}",
                _number(arm.mean),
                _number(arm.lcb),
                _number(arm.ucb),
                *([_number(arm.evidence, 2)] if weighs else []),
                arm.status,
            ]
            for arm in sorted((*self.arms, *self.retired), key=lambda arm: arm.standing)
        ]
        return heads, rows, {0, len(heads) - 1}

    @property
    def _learns(self) -> bool:
        return any(arm.learned_cost is not None for arm in self.arms)

    @cached_property
    def _judge(self) -> ArmReport | None:
        """The option that sets the bar, if it was seen."""
        name = self.quality.reference if isinstance(self.quality, RelativeTo) else self.best
        found = [arm for arm in self.arms if arm.name == name and arm.mean is not None]
        return None if isinstance(self.quality, AtLeast) or not found else found[0]


def _mean(arm: ArmReport) -> float:
    assert arm.mean is not None
    return arm.mean


def _number(value: float | None, places: int = 4) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:.{places}f}"


def _around(arm: ArmReport) -> str:
    """Write a learned cost, and how far off it may be."""
    if arm.learned_cost is None:
        return "-"
    if arm.cost_high is None:
        return f"{arm.learned_cost:.4g}"
    return f"{arm.learned_cost:.4g} +- {arm.cost_high - arm.learned_cost:.2g}"
