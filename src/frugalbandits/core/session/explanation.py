"""What a session believes and why, for a person (it prints as a table) and for a program."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from frugalbandits.core.quality import AtLeast, Quality, RelativeTo, quality_to_dict
from frugalbandits.core.session.mixing import Mixture
from frugalbandits.core.tables import html_table, text_table

__all__ = ["ArmReport", "Explanation"]


@dataclass(frozen=True)
class ArmReport:
    """What is known of one option. `mean`, `lcb` and `ucb` are None before the first feedback.

    `decisions` counts those that were handed out, `pulls` the feedback that is there. `spent` is what they
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
        The cheapest option that looks good enough so far, for a policy that goes by it before it is sure.
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
        costs = [arm.always for arm in self.arms if arm.name == self.best]
        return costs[0] if costs else None

    @property
    def saving(self) -> float | None:
        """What was saved against always using the best option; negative where more was spent."""
        return None if self.always_best is None else self.always_best - self.spent

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, dictionaries, numbers and strings, ready for JSON."""
        plain = {**asdict(self), "quality": quality_to_dict(self.quality)}
        for name in ("alpha", "best", "threshold", "spent", "always_best", "saving"):
            plain[name] = getattr(self, name)
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
        waiting = sum(arm.pending for arm in self.arms)
        still = f", {waiting:,} awaiting feedback" if waiting else ""
        beyond = " (past the horizon)" if self.horizon is not None and self.decisions > self.horizon else ""
        after = f"after {self.decisions:,} decisions{beyond}{still}"
        if self.mix is not None:
            return self._mixed(self.mix, after)
        if self.unreachable and isinstance(self.quality, AtLeast):
            nothing = f"No option reaches {self.quality.level:g}"
            if self.decision is not None:
                return f"{nothing}; settled on {self.decision!r}, the best one, {after}."
            return f"{nothing}; {after} the best one is still being looked for."
        if self.decision is not None:
            return f"Settled on {self.decision!r} {after}."
        if self.likely is not None:
            return f"Nothing settled {after}; {self.likely!r} is the cheapest that looks good enough."
        if self.candidate is not None:
            return f"Nothing settled {after}; {self.candidate!r} is being considered."
        return f"Nothing settled {after}."

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
        """One sentence on what was spent, and saved against always using the best option."""
        told = f"Spent {self.spent:,.6g}"
        if self.always_best is None or self.saving is None:
            return f"{told}."
        against = f"always {self.best!r}, the best so far, would have cost {self.always_best:,.6g}"
        share = f" ({abs(self.saving / self.always_best):.0%})" if self.always_best > 0 else ""
        if self.saving < 0:
            return f"{told}; {against}: {-self.saving:,.6g} more{share}."
        return f"{told}; {against}: saved {self.saving:,.6g}{share}."

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
        return [self.headline, self.money, wish, *more]

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
        heads = [
            *("option", "cost"),
            *(["learned"] if self._learns else []),
            *("pulls", "pending", "spent", "mean", "lcb", "ucb"),
            *(["evidence"] if weighs else []),
            "status",
        ]
        # Those that are left out stand apart, below.
        rows = [
            [
                arm.name,
                f"{arm.cost:g}",
                *([_around(arm)] if self._learns else []),
                f"{arm.pulls:,}",
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
