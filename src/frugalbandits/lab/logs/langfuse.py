"""Langfuse: traces with their observations and scores, and the observations and scores of a blob export.

Field names: the API's `TraceWithFullDetails` (https://api.reference.langfuse.com) and
https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from frugalbandits.lab.logs.records import Rows, Scores, first_of, flat, parsed

__all__ = ["is_record", "rows_of"]

_MODEL = ("model", "providedModelName", "provided_model_name")
_COST = (
    "calculatedTotalCost", "calculated_total_cost", "totalCost", "total_cost",
    "costDetails.total", "cost_details.total", "totalPrice",
)  # fmt: skip
_TIME = ("startTime", "start_time", "timestamp")
_TRACE = ("traceId", "trace_id")
_CALLS = ("GENERATION", "EMBEDDING")
_HINT = {
    "reward": "; there are scores of several names, or none: name one, such as scores.user-feedback; the "
    "scores of a blob export are files of their own, whose lines are to stand in the same file"
}


def is_record(record: Mapping[str, Any]) -> bool:
    """Tell whether this is a trace, an observation or a score of Langfuse."""
    keys = record.keys()
    return (
        ("observations" in keys and "scores" in keys)
        or (any(key in keys for key in _TRACE) and any(key in keys for key in (*_MODEL[1:], *_COST[:2])))
        or (any(key in keys for key in _TRACE) and record.get("type") in ("GENERATION", "SPAN", "EVENT"))
        or _is_score(record)
    )


def _is_score(record: Mapping[str, Any]) -> bool:
    keys = record.keys()
    return "name" in keys and "value" in keys and any(key in keys for key in ("dataType", "data_type"))


def rows_of(records: Iterable[Mapping[str, Any]]) -> Rows:
    """Return a row for each generation that was scored itself, and one for the rest of each trace."""
    made, scores = Rows(hint=_HINT), Scores()
    calls: dict[str, list[dict[str, Any]]] = {}
    outer: dict[str, dict[str, Any]] = {}
    for record in records:
        if _is_score(record):
            _add_score(scores, record, "")
        elif "observations" in record:
            trace = str(record.get("id"))
            parts = ("observations", "scores")
            outer[trace] = flat({key: parsed(value) for key, value in record.items() if key not in parts})
            for score in record.get("scores") or []:
                if isinstance(score, Mapping):
                    _add_score(scores, score, trace)
            for call in record.get("observations") or []:
                if isinstance(call, Mapping):
                    _add_call(calls, call, trace)
        else:
            _add_call(calls, record, "")
    for trace, found in calls.items():
        _add_rows(made, scores, trace, found, outer.get(trace, {}))
    return made


def _add_score(scores: Scores, score: Mapping[str, Any], trace: str) -> None:
    value = score.get("value")
    words = first_of(score, ("stringValue", "string_value"))
    kind = first_of(score, ("dataType", "data_type"))
    if words is not None and (value is None or kind == "CATEGORICAL"):
        value = words
    own = first_of(score, _TRACE)
    call = first_of(score, ("observationId", "observation_id"))
    where = str(own) if own is not None else trace
    scores.add(where, None if call is None else str(call), str(score["name"]), value)


def _add_call(calls: dict[str, list[dict[str, Any]]], record: Mapping[str, Any], trace: str) -> None:
    row = flat({key: parsed(value) for key, value in record.items()})
    model = first_of(row, _MODEL)
    if row.get("type", "GENERATION") in _CALLS and model is not None:
        own = first_of(row, _TRACE)
        calls.setdefault(str(own) if own is not None else trace, []).append(row | {"option": model})


def _add_rows(
    made: Rows, scores: Scores, trace: str, calls: list[dict[str, Any]], outer: Mapping[str, Any]
) -> None:
    of_trace = scores.of_trace(trace)
    rest = []
    for call in calls:
        if str(call.get("level")) == "ERROR":
            made.left_out["calls that failed"] += 1
            continue
        own = scores.of_call(trace, str(call.get("id")))
        if own:
            made.rows.append(_row(scores, [call], own, outer))
        else:
            rest.append(call)
    models = {call["option"] for call in rest}
    if len(models) > 1:
        made.left_out["traces that used several models, so that a score belongs to none of them"] += 1
    elif rest:
        made.rows.append(_row(scores, rest, of_trace, outer))


def _row(
    scores: Scores, calls: list[dict[str, Any]], of_it: Mapping[str, Any], outer: Mapping[str, Any]
) -> dict[str, Any]:
    """Return one row; calls of the same model in one trace cost their sum."""
    costs = [first_of(call, _COST) for call in calls]
    cost: Any = costs[0]
    if len(costs) > 1:
        cost = None if None in costs else sum(float(each) for each in costs)
    row = {f"trace.{key}": value for key, value in outer.items()} | calls[0]
    return row | {"cost": cost, "time": first_of(calls[0], _TIME), **scores.as_columns(of_it)}
