"""The bodies that the service takes, by form alone: what a value means is checked by the library."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from frugalbandits.service import limits

__all__ = [
    "Add",
    "Ask",
    "Batch",
    "BatchAsk",
    "BatchForget",
    "BatchItem",
    "BatchObserve",
    "BatchTell",
    "Change",
    "Context",
    "Feedback",
    "NewSession",
    "Observation",
]

_FORM = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
OptionName = Annotated[str, Field(min_length=1, max_length=limits.OPTION_NAME)]
Options = Annotated[list[OptionName], Field(max_length=limits.OPTIONS)]
Reward = Annotated[
    bool | float | None, Field(description="How good it was, from 0 to 1; true is 1 and false is 0.")
]
Cost = Annotated[float | None, Field(description="What it cost, where that was not the price.")]
Source = Annotated[
    str | None, Field(max_length=limits.SOURCE, description="Who judged; it is noted in the log.")
]


Query = Annotated[
    Any,
    Field(
        description="The query, where the session looks at queries: a segment's name, a list of numbers, a "
        'text, or {"segment": ..., "features": [...]} or {"segment": ..., "text": ...}.'
    ),
]


class Context(BaseModel):
    """What is known of a query: its segment, some numbers, or its text."""

    model_config = ConfigDict(
        **_FORM,
        json_schema_extra={"examples": [{"segments": ["chat", "code"], "features": 32}, {"text": 32}]},
    )

    segments: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200)]] | None,
        Field(max_length=limits.SEGMENTS, description="Names; others may turn up later."),
    ] = None
    most_segments: Annotated[
        int, Field(ge=1, le=limits.SEGMENTS, description="Segments that have an entry of their own.")
    ] = 200
    features: Annotated[
        int | None, Field(ge=1, le=limits.FEATURES, description="How many numbers come with a query.")
    ] = None
    text: Annotated[
        int | None, Field(ge=4, le=limits.FEATURES, description="How many numbers a text is made into.")
    ] = None


class NewSession(BaseModel):
    """What a session is told at its start."""

    model_config = ConfigDict(
        **_FORM,
        json_schema_extra={
            "examples": [
                {"costs": {"small": 0.2, "large": 3.0}, "alpha": 0.1},
                {
                    "costs": {"haiku": 0.25, "sonnet": 3.0, "opus": 15.0},
                    "quality": "at-least:0.8",
                    "time_to_live": 86400,
                },
                {
                    "costs": {"small": 0.2, "large": 3.0},
                    "alpha": 0.05,
                    "context": {"segments": ["chat", "code"], "features": 2},
                },
            ]
        },
    )

    costs: Annotated[
        dict[OptionName, float],
        Field(min_length=2, max_length=limits.OPTIONS, description="The cost of one use of each option."),
    ]
    alpha: Annotated[
        float | None, Field(description="Share of the best quality that may be given up, from 0 to below 1.")
    ] = None
    quality: Annotated[
        str | None,
        Field(
            max_length=300,
            description="In place of alpha: relative-to-best:A, relative-to:OPTION:A or at-least:LEVEL.",
        ),
    ] = None
    policy: Annotated[
        str | None,
        Field(
            max_length=300,
            description="A policy by name, with settings where wanted; null: the one for what is promised.",
        ),
    ] = None
    over: Annotated[
        Literal["each", "queries"] | None,
        Field(
            description="What is good enough: each decision's option, or the average over queries; null: "
            "what the policy promises, or each."
        ),
    ] = None
    horizon: Annotated[float | None, Field(description="How many decisions are expected.")] = None
    worth: Annotated[
        float | None, Field(description="What a unit of quality is worth, in units of cost.")
    ] = None
    learn_costs: Annotated[bool, Field(description="Whether costs are only known afterwards.")] = False
    memory: Annotated[
        int | Literal["auto"] | None,
        Field(
            description="auto: changes are noticed; null: nothing is forgotten; N: all fades in N decisions."
        ),
    ] = "auto"
    time_to_live: Annotated[
        float | None, Field(description="Seconds after which a decision expires; null: never.")
    ] = limits.TIME_TO_LIVE
    judge_price: Annotated[float, Field(description="What feedback on one decision costs.")] = 0.0
    context: Annotated[
        Context | None,
        Field(
            description="What is known of each query: with it the session looks at queries, and promises the "
            "average over them."
        ),
    ] = None
    on_difference: Annotated[
        Literal["refuse", "apply"],
        Field(
            description="Where the session exists with other options or prices: refuse, or apply these: set "
            "prices, add options, pause active ones that are not named."
        ),
    ] = "refuse"


class Ask(BaseModel):
    """What is asked for; nothing of it is needed."""

    model_config = ConfigDict(
        **_FORM,
        json_schema_extra={
            "examples": [
                {},
                {"exclude": ["large"], "metadata": {"request": 17}},
                {"context": {"segment": "chat", "features": [0.5, -1.0]}},
            ]
        },
    )

    among: Annotated[Options | None, Field(description="The only options that may be used.")] = None
    exclude: Annotated[Options | None, Field(description="Options that may not be used.")] = None
    after: Annotated[
        str | None, Field(max_length=2_000, description="The id of an earlier decision whose option to keep.")
    ] = None
    count: Annotated[
        int | None, Field(ge=1, le=limits.COUNT, description="How many decisions; they come as a list.")
    ] = None
    metadata: Annotated[
        Any,
        Field(
            description="JSON of up to 512 bytes that the id of the decision carries; where the session "
            "looks at queries, of up to 4,096 that the log keeps."
        ),
    ] = None
    context: Query = None
    costs: Annotated[
        dict[OptionName, float] | None,
        Field(
            max_length=limits.OPTIONS,
            description="What this query would cost, where that is not the usual cost of an option.",
        ),
    ] = None


class Feedback(BaseModel):
    """How good a decision was, or what it cost, or both."""

    model_config = ConfigDict(
        **_FORM, json_schema_extra={"examples": [{"reward": 1.0}, {"reward": 0.5, "cost": 0.25}]}
    )

    reward: Reward = None
    cost: Cost = None
    source: Source = None


class Observation(BaseModel):
    """A use of an option that was no decision: a fallback's answer, a label, a shadow run."""

    model_config = ConfigDict(
        **_FORM, json_schema_extra={"examples": [{"option": "large", "reward": 1.0, "id": "request-17"}]}
    )

    option: OptionName
    reward: Reward = None
    cost: Cost = None
    id: Annotated[
        str | None, Field(min_length=1, max_length=200, description="Yours: with it, it counts once.")
    ] = None
    context: Query = None
    source: Source = None


class Add(BaseModel):
    """A new option."""

    model_config = ConfigDict(**_FORM, json_schema_extra={"examples": [{"cost": 1.0}]})

    cost: float


class Change(BaseModel):
    """What is to be another way with an option."""

    model_config = ConfigDict(
        **_FORM, json_schema_extra={"examples": [{"cost": 0.3}, {"paused": True}, {"paused": False}]}
    )

    cost: Annotated[float | None, Field(description="Its price from now on.")] = None
    paused: Annotated[bool | None, Field(description="Whether decisions leave it out.")] = None


class BatchAsk(Ask):
    """`POST /v1/sessions/{session}/decisions`."""

    op: Literal["ask"]
    session: str


class BatchTell(Feedback):
    """`PUT /v1/decisions/{id}/feedback`."""

    op: Literal["tell"]
    id: str


class BatchForget(BaseModel):
    """`DELETE /v1/decisions/{id}`."""

    model_config = _FORM

    op: Literal["forget"]
    id: str
    used: Annotated[bool, Field(description="Whether the option was used.")] = True


class BatchObserve(Observation):
    """`POST /v1/sessions/{session}/observations`."""

    op: Literal["observe"]
    session: str


BatchItem = Annotated[BatchAsk | BatchTell | BatchForget | BatchObserve, Field(discriminator="op")]
Batch = Annotated[list[BatchItem], Field(min_length=1, max_length=limits.BATCH)]
