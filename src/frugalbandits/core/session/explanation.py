"""What a session believes and why, for a person (it prints as a table) and for a program."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from frugalbandits.core.quality import AtLeast, Quality, quality_to_dict

__all__ = ["ArmReport", "Explanation"]


@dataclass(frozen=True)
class ArmReport:
    """What is known of one option. `mean`, `lcb` and `ucb` are None before the first feedback.

    `evidence` is for policies that weigh it: of the candidate, that it is not good enough; of an option that
    costs more, that the candidate is good enough for it. Under a fixed level, it is of the candidate, that it
    is on the side of the level that its mean is on.
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


@dataclass(frozen=True)
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, dictionaries, numbers and strings, ready for JSON."""
        plain = {**asdict(self), "quality": quality_to_dict(self.quality), "alpha": self.alpha}
        if self.needed is None:
            del plain["needed"]
            for arm in plain["arms"]:
                del arm["evidence"]
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

    def __str__(self) -> str:
        weighs = self.needed is not None
        header = [
            *("option", "cost", "pulls", "pending", "mean", "lcb", "ucb"),
            *(["evidence"] if weighs else []),
            "status",
        ]
        rows = [
            [
                arm.name,
                f"{arm.cost:g}",
                f"{arm.pulls:,}",
                f"{arm.pending:,}",
                _number(arm.mean),
                _number(arm.lcb),
                _number(arm.ucb),
                *([_number(arm.evidence, 2)] if weighs else []),
                arm.status,
            ]
            for arm in self.arms
        ]
        widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
        left = {0, len(header) - 1}

        def line(row: list[str]) -> str:
            cells = (
                cell.ljust(width) if i in left else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            return "  ".join(cells).rstrip()

        wish = f"{self.policy}, {self.quality.wish}"
        if self.needed is not None:
            wish += f"; a conclusion takes evidence of {self.needed:.2f}"
        return "\n".join([self.headline, wish, "", line(header), *map(line, rows)])


def _number(value: float | None, places: int = 4) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:.{places}f}"
