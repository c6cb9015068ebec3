"""OpenTelemetry: spans by the semantic conventions for generative AI, as OTLP JSON or as an SDK prints them.

Attributes: https://opentelemetry.io/docs/specs/semconv/gen-ai/ (`gen_ai.request.model`, the event
`gen_ai.evaluation.result`). The conventions have no cost: those of common instrumentations are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from frugalbandits.lab.logs.records import HEAVY, Rows, Scores, first_of

__all__ = ["is_record", "rows_of"]

_MODEL = ("gen_ai.request.model", "gen_ai.response.model")
_COST = (
    "gen_ai.usage.cost", "gen_ai.usage.cost_usd", "gen_ai.usage.total_cost", "gen_ai.usage.cost.total",
    "llm.cost.total", "llm.usage.cost", "cost",
)  # fmt: skip
_OPERATIONS = ("chat", "text_completion", "generate_content", "")
_RESULT = "gen_ai.evaluation.result"
_HINT = {
    "cost": "; the conventions have no attribute for it: name the one that your spans have",
    "reward": "; there are evaluations of several names, or none: name one, such as scores.helpfulness, or "
    "another attribute",
}


def is_record(record: Mapping[str, Any]) -> bool:
    """Tell whether this is a batch of OTLP, or a span or an event by the conventions."""
    if any(key in record for key in ("resourceSpans", "resourceLogs")):
        return True
    attributes = _attributes(record.get("attributes"))
    return any(key.startswith("gen_ai.") for key in attributes)


def rows_of(records: Iterable[Mapping[str, Any]]) -> Rows:
    """Return a row for each call of a model, with its evaluations.

    An evaluation of a span that is no call, or of the whole trace, counts for the call of the trace where
    there is one alone.
    """
    made, scores = Rows(hint=_HINT), Scores()
    calls: dict[tuple[str, str], dict[str, Any]] = {}
    evaluated: list[tuple[str, str, dict[str, Any]]] = []
    for place, span in enumerate(span for record in records for span in _spans(record)):
        trace, call = _ids(span)
        attributes = _attributes(span.get("attributes"))
        if first_of(span, ("eventName", "event_name", "name")) == _RESULT:
            evaluated.append((trace, call, attributes))
            continue
        evaluated += [
            (trace, call, _attributes(event.get("attributes")))
            for event in span.get("events") or []
            if isinstance(event, Mapping) and event.get("name") == _RESULT
        ]
        model = first_of(attributes, _MODEL)
        if model is None or attributes.get("gen_ai.operation.name", "") not in _OPERATIONS:
            continue
        if _failed(span, attributes):
            made.left_out["calls that failed"] += 1
            continue
        row = {key: value for key, value in attributes.items() if key not in HEAVY}
        row |= {"option": model, "cost": first_of(attributes, _COST), "time": _time(span)}
        calls[trace, call or f"span {place}"] = row
    alone = {trace for trace, count in Counter(trace for trace, _ in calls).items() if count == 1}
    for trace, call, attributes in evaluated:
        value = first_of(attributes, ("gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"))
        name = str(attributes.get("gen_ai.evaluation.name", "evaluation"))
        if (trace, call) in calls:
            scores.add(trace, call, name, value)
        elif trace in alone:
            scores.add(trace, None, name, value)
        else:
            made.left_out["evaluations that belong to no call, or to several"] += 1
    for (trace, call), row in calls.items():
        made.rows.append(row | scores.as_columns(scores.of_trace(trace) | scores.of_call(trace, call)))
    return made


def _spans(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    nested = (("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords"))
    if not any(outer in record for outer, _, _ in nested):
        yield record
    for outer, middle, inner in nested:
        for resource in record.get(outer) or []:
            for scope in resource.get(middle) or []:
                yield from scope.get(inner) or []


def _ids(span: Mapping[str, Any]) -> tuple[str, str]:
    context = span.get("context")
    where = context if isinstance(context, Mapping) else span
    trace, call = (first_of(where, names) for names in (("traceId", "trace_id"), ("spanId", "span_id")))
    return str(trace or ""), str(call or "")


def _attributes(given: Any) -> dict[str, Any]:
    """Return attributes by name: OTLP has a list of keys with typed values."""
    if isinstance(given, Mapping):
        return {key: value for key, value in given.items() if not isinstance(value, list | dict)}
    found = {}
    for each in given if isinstance(given, list) else []:
        if isinstance(each, Mapping) and isinstance(each.get("value"), Mapping):
            value = next(iter(each["value"].values()), None)
            if not isinstance(value, list | dict):
                found[str(each.get("key"))] = value
    return found


def _failed(span: Mapping[str, Any], attributes: Mapping[str, Any]) -> bool:
    status = span.get("status")
    code = first_of(status, ("code", "status_code")) if isinstance(status, Mapping) else status
    return "error.type" in attributes or code in (2, "2", "STATUS_CODE_ERROR", "ERROR")


def _time(span: Mapping[str, Any]) -> Any:
    nanoseconds = first_of(span, ("startTimeUnixNano", "start_time_unix_nano"))
    if nanoseconds is not None:
        return float(nanoseconds) / 1e9
    return first_of(span, ("start_time", "startTime"))
