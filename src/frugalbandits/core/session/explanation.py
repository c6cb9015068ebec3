"""What a session believes and why, for a person (it prints as a table) and for a program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from frugalbandits.core.contract import Policy, Setting
from frugalbandits.core.quality import AtLeast, Quality, RelativeTo, quality_to_dict
from frugalbandits.core.tables import html_table, text_table

__all__ = ["ArmReport", "Explanation", "explained"]


@dataclass(frozen=True)
class ArmReport:
    """What is known of one option. `mean`, `lcb` and `ucb` are None before the first feedback.

    `decisions` counts those that were handed out, `pulls` those whose feedback is back. `spent` is what they
    cost. `evidence` is for policies that weigh it: of the candidate, that it is not good enough; of an option
    that costs more, that the candidate is good enough for it. Under a fixed level, it is of the candidate,
    that it is on the side of the level that its mean is on.
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

    @property
    def spent(self) -> float:
        """What the decisions for this option have cost."""
        return self.cost * self.decisions


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

    @property
    def alpha(self) -> float | None:
        """Share of quality that may be given up; None under a fixed level."""
        return None if isinstance(self.quality, AtLeast) else self.quality.alpha

    @property
    def unreachable(self) -> bool:
        """Whether no option reaches the fixed level, so that the best one is looked for."""
        return any(event == "unreachable" for _, event, _ in self.events)

    @cached_property
    def best(self) -> str | None:
        """The option with the highest mean so far, the cheapest of them if several share it."""
        seen = [arm for arm in self.arms if arm.mean is not None]
        return max(seen, key=_mean).name if seen else None

    @cached_property
    def threshold(self) -> float | None:
        """The quality that is good enough, by the means so far; None while it cannot be told."""
        if isinstance(self.quality, AtLeast):
            return self.quality.level
        of = self._judge
        return None if of is None else (1 - self.quality.alpha) * _mean(of)

    @cached_property
    def spent(self) -> float:
        """What all decisions have cost."""
        return math.fsum(arm.spent for arm in self.arms)

    @cached_property
    def always_best(self) -> float | None:
        """What as many decisions for the best option would have cost."""
        costs = [arm.cost for arm in self.arms if arm.name == self.best]
        return costs[0] * sum(arm.decisions for arm in self.arms) if costs else None

    @property
    def saving(self) -> float | None:
        """What was saved against always using the best option; negative where more was spent."""
        return None if self.always_best is None else self.always_best - self.spent

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, dictionaries, numbers and strings, ready for JSON."""
        plain = {**asdict(self), "quality": quality_to_dict(self.quality)}
        for name in ("alpha", "best", "threshold", "spent", "always_best", "saving"):
            plain[name] = getattr(self, name)
        for arm, report in zip(plain["arms"], self.arms, strict=True):
            arm["spent"] = report.spent
            if self.needed is None:
                del arm["evidence"]
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
        if self._judge is not None and self.threshold is not None and self.alpha is not None:
            wish += f": {1 - self.alpha:g} x {_mean(self._judge):.4g} = {self.threshold:.4g} is good enough"
        if self.needed is not None:
            wish += f"; a conclusion takes evidence of {self.needed:.2f}"
        return [self.headline, self.money, wish]

    def __str__(self) -> str:
        heads, rows, left = self._table()
        return "\n".join([*self.lines, "", text_table(heads, rows, left)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.lines, *self._table())

    def _table(self) -> tuple[list[str], list[list[str]], set[int]]:
        weighs = self.needed is not None
        heads = [
            *("option", "cost", "pulls", "pending", "spent", "mean", "lcb", "ucb"),
            *(["evidence"] if weighs else []),
            "status",
        ]
        rows = [
            [
                arm.name,
                f"{arm.cost:g}",
                f"{arm.pulls:,}",
                f"{arm.pending:,}",
                f"{arm.spent:,.6g}",
                _number(arm.mean),
                _number(arm.lcb),
                _number(arm.ucb),
                *([_number(arm.evidence, 2)] if weighs else []),
                arm.status,
            ]
            for arm in self.arms
        ]
        return heads, rows, {0, len(heads) - 1}

    @cached_property
    def _judge(self) -> ArmReport | None:
        """The option that sets the bar, if it was seen."""
        name = self.quality.reference if isinstance(self.quality, RelativeTo) else self.best
        found = [arm for arm in self.arms if arm.name == name and arm.mean is not None]
        return None if isinstance(self.quality, AtLeast) or not found else found[0]


def explained(
    policy: Policy,
    label: str,
    state: Any,
    setting: Setting,
    names: tuple[str, ...],
    asked: Sequence[int],
    events: tuple[tuple[int, str, str], ...],
    decisions: int,
) -> Explanation:
    """Return what a policy believes in a state; names and decisions by option are in the order of cost."""
    bounds = policy.bounds(state)
    tally = state.tally

    def status(rank: int) -> str:
        if tally.pulls[rank] or bounds.status[rank] == "not needed":
            return bounds.status[rank]
        return "awaiting feedback" if tally.pending[rank] else "not seen yet"

    reports = tuple(
        ArmReport(
            name=name,
            cost=float(setting.costs[rank]),
            pulls=int(tally.pulls[rank]),
            pending=int(tally.pending[rank]),
            mean=float(tally.sums[rank] / tally.pulls[rank]) if tally.pulls[rank] else None,
            lcb=_end(bounds.lower[rank]),
            ucb=_end(bounds.upper[rank]),
            status=status(rank),
            evidence=None if bounds.evidence is None else _finite(bounds.evidence[rank]),
            decisions=asked[rank],
        )
        for rank, name in enumerate(names)
    )
    settled = [name for _, kind, name in events if kind == "optimal"]
    return Explanation(
        policy=label,
        quality=setting.quality,
        horizon=setting.horizon,
        decisions=decisions,
        arms=reports,
        candidate=names[bounds.candidate] if bounds.candidate >= 0 else None,
        decision=settled[0] if settled else None,
        events=events,
        needed=bounds.needed,
        likely=names[bounds.likely] if bounds.likely >= 0 else None,
    )


def _end(value: float) -> float | None:
    """Return the end of an interval of means, within [0, 1]."""
    return min(max(float(value), 0.0), 1.0) if math.isfinite(value) else None


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _mean(arm: ArmReport) -> float:
    assert arm.mean is not None
    return arm.mean


def _number(value: float | None, places: int = 4) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:.{places}f}"
