"""The answers of the service, by form: for the contract alone, nothing is checked against them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "BatchResult",
    "ChangeList",
    "DecisionList",
    "DecisionShape",
    "HolderShape",
    "LogPage",
    "OptionShape",
    "ProblemShape",
    "ReadyShape",
    "RoutesShape",
    "SeriesShape",
    "SessionList",
    "SessionShape",
    "StatusShape",
]


class ProblemShape(BaseModel):
    """A problem document (RFC 9457)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:frugalbandits:problem:conflict",
                    "title": "Conflict",
                    "status": 409,
                    "detail": "the decision was told before, with the reward 1.0: what is there stays, and "
                    "nothing else is counted",
                    "instance": "/v1/decisions/EbM1YGj3.../feedback",
                }
            ]
        }
    )

    type: str
    title: str
    status: int
    detail: str
    instance: str | None = None
    errors: list[dict[str, str]] | None = None


class DecisionShape(BaseModel):
    """A decision."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "EbM1YGj3IhhKAAABoesGlKlGwVR8_LEAAAABAAAAAAAAAAAXy4UeTxEzxa_C3e3dWjub",
                    "option": "small",
                    "reason": "leader: the least expected regret, and no question is worth its price",
                    "wanted": True,
                    "expires": 1797536439.4657438,
                    "session": "shop",
                    "standby": ["small", "large"],
                }
            ]
        }
    )

    id: str
    option: str
    reason: str
    wanted: Annotated[bool, Field(description="Whether feedback on it is worth a judgement.")]
    expires: Annotated[
        float | None, Field(description="When feedback comes too late, in seconds since 1970; null: never.")
    ]
    session: str
    standby: Annotated[
        list[str], Field(description="Options to fall back on while the service cannot be reached, in order.")
    ]


class DecisionList(BaseModel):
    """Decisions."""

    decisions: list[DecisionShape]


class OptionShape(BaseModel):
    """An option as it stands."""

    name: str
    cost: float
    standing: str
    decisions: int
    told: int
    spent: float | None
    mean: float | None


class SummaryShape(BaseModel):
    """A session in a few numbers; all of them are null where it cannot be opened."""

    name: str
    trouble: Annotated[
        str | None,
        Field(description="Why it cannot be opened or does not follow its log; null where all is well."),
    ]
    seen: int | None
    decisions: int | None
    told: int | None
    waiting: int | None
    options: int | None
    spent: float | None
    saving: float | None
    judged: float | None
    best: str | None
    baseline: Annotated[str | None, Field(description="The option that `saving` is against.")]
    reached: Annotated[float | None, Field(description="Mean quality of all decisions, estimated.")]
    reached_interval: Annotated[list[float] | None, Field(description="Its 95% interval.")]
    threshold: Annotated[float | None, Field(description="The quality that is good enough.")]
    choice: Annotated[
        str | None,
        Field(description="What it looks for: one `option`, a `mix` of options, or an option by `query`."),
    ]
    likely: Annotated[
        str | None,
        Field(description="The cheapest active option whose mean reaches the bar, where it looks for one."),
    ]


class SessionList(BaseModel):
    """Sessions by name; `next` is what to give as `after` for more."""

    sessions: list[SummaryShape]
    total: int
    next: str | None


class RegretShape(BaseModel):
    """What seems to be lost: quality below the bar, and cost above that of the cheapest that reaches it."""

    quality: float | None
    cost: float | None


class FeedbackShape(BaseModel):
    """How much feedback came, and how late, in seconds."""

    told: int
    waiting: int
    rate: float | None
    mean_delay: float | None


class NextShape(BaseModel):
    """The next decision, where it is planned already."""

    option: str
    reason: str


class SessionShape(BaseModel):
    """All that is known of a session: what `Explanation.to_dict` says, and more."""

    model_config = ConfigDict(extra="allow")

    name: str
    seen: int
    policy: str
    quality: dict[str, Any]
    horizon: int | None
    decisions: int
    arms: list[dict[str, Any]]
    retired: list[dict[str, Any]]
    candidate: str | None
    decision: str | None
    likely: str | None
    events: list[list[Any]]
    question: str | None
    over: str
    mix: dict[str, Any] | None
    best: str | None
    threshold: float | None
    spent: float | None
    always_best: float | None
    baseline: Annotated[str | None, Field(description="The option that `saving` is against.")]
    always_baseline: float | None
    saving: float | None
    reached: Annotated[float | None, Field(description="Mean quality of all decisions, estimated.")]
    reached_interval: Annotated[list[float] | None, Field(description="Its 95% interval.")]
    hint: Annotated[str | None, Field(description="What to do about decisions that stay pending.")]
    headline: str
    notes: list[str]
    dearest: str
    always_dearest: float | None
    saving_dearest: float | None
    regret: RegretShape
    feedback: FeedbackShape
    next: NextShape | None
    standby: list[str]
    terms: dict[str, Any]


class RoutesShape(BaseModel):
    """All that is known of a session that looks at queries: `ContextualExplanation.to_dict`, and more."""

    model_config = ConfigDict(extra="allow")

    name: str
    seen: int
    policy: str
    quality: dict[str, Any]
    context: Annotated[dict[str, Any], Field(description="What is known of a query, as it was given.")]
    over: str
    decisions: int
    pending: int
    told: int
    bar: float
    bar_interval: list[float]
    reached: float | None
    reached_interval: list[float] | None
    price: Annotated[float, Field(description="What a unit of quality is worth now, in units of cost.")]
    reference: str
    always_reference: float | None
    options: list[dict[str, Any]]
    segments: list[dict[str, Any]]
    spent: float | None
    saving: float | None
    judged: float | None
    lines: Annotated[list[str], Field(description="What there is to say, in words.")]
    dearest: str
    always_dearest: float | None
    saving_dearest: float | None
    regret: RegretShape
    feedback: FeedbackShape
    standby: list[str]
    terms: dict[str, Any]


class SeriesShape(BaseModel):
    """How a session went over time: for each time, and where it says so for each option."""

    options: list[str]
    width: float
    times: list[float]
    asked: list[list[float]]
    told: list[list[float]]
    rewards: list[list[float]]
    always: list[list[float | None]]
    spent: list[float | None]
    delays: list[float]
    answers: list[float]


class ChangeShape(BaseModel):
    """Something that was changed or noticed."""

    decision: int
    kind: str
    option: str | None
    words: str


class ChangeList(BaseModel):
    """Changes, oldest first; `total` counts those no longer kept as well."""

    changes: list[ChangeShape]
    total: int


class EntryShape(BaseModel):
    """An entry of a log."""

    seq: int
    key: str
    kind: str
    at: float
    by: str
    body: Any


class LogPage(BaseModel):
    """Entries of a log; `next` is what to give as `after` for more."""

    entries: list[EntryShape]
    next: int | None


class HolderShape(BaseModel):
    """Whoever asks; `tokens` is false where there are none, and then whoever asks may do everything."""

    name: str
    role: str
    prefix: str
    tokens: bool


class BatchResult(BaseModel):
    """The answer to one item, as its own route gives it."""

    status: int
    body: Any = None


class StatusShape(BaseModel):
    """Whether all is well."""

    status: str


class ReadyShape(BaseModel):
    """Whether the store can be reached; `degraded` where some sessions do not work and the others do."""

    status: str
    broken_sessions: int = 0
