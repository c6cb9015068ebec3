"""Exports of LiteLLM, Langfuse and OpenTelemetry, in the forms that these tools write."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import frugalbandits as fb
from frugalbandits.lab.logs import Scan
from frugalbandits.lab.replay.data import Log
from frugalbandits.lab.replay.reading import Columns, read_past


def lines(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def read(path: Path, format: str = "auto", **columns: str) -> tuple[Log, Scan, tuple[str, ...]]:
    scan = Scan(path, format)
    past, said = read_past(scan, Columns(**columns))
    assert isinstance(past, Log)
    return past, scan, said


def payload(model: str, cost: float, score: object, **more: object) -> dict[str, Any]:
    """Return a `StandardLoggingPayload` of LiteLLM, with the fields of its specification that matter."""
    return {
        "id": "chatcmpl-1",
        "trace_id": "t",
        "call_type": "acompletion",
        "response_cost": cost,
        "status": "success",
        "startTime": 1763480000.5,
        "endTime": 1763480001.5,
        "model": model,
        "model_id": "abc",
        "model_group": "chat",
        "cache_hit": False,
        "metadata": {
            "user_api_key_hash": "x",
            "requester_metadata": {},
            "spend_logs_metadata": {"score": score},
        },
        "messages": [{"role": "user", "content": "hi"}],
        "response": {"choices": []},
        **more,
    }


def test_litellm_payloads(tmp_path: Path) -> None:
    records = [
        payload("gpt-4o-mini", 0.001, 1),
        payload("gpt-4o", 0.02, "👎"),
        payload("gpt-4o", 0.03, None),
        payload("gpt-4o", 0.0, None, status="failure"),
        payload("gpt-4o", 0.0, 1, cache_hit=True),
    ]
    log, scan, said = read(lines(tmp_path / "litellm.jsonl", records))
    assert scan.format == "litellm" and log.names == ("gpt-4o-mini", "gpt-4o")
    assert log.pairs.tolist() == [[1.0, 0.001], [0.0, 0.025]] and log.uses.tolist() == [1, 2]
    assert any("judged: 2 of 3 rows" in words for words in said)
    assert scan.notes == (
        "left out: 1 calls that failed",
        "left out: 1 answers from LiteLLM's cache, which no model gave",
    )
    wrapped = lines(tmp_path / "kwargs.jsonl", ({"standard_logging_object": each} for each in records))
    assert read(wrapped)[0].pairs.tolist() == log.pairs.tolist()


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_litellm_spend_logs(tmp_path: Path, suffix: str) -> None:
    rows = [
        {
            "request_id": f"r{i}",
            "call_type": "acompletion",
            "api_key": "hashed",
            "spend": 0.01 * (i + 1),
            "startTime": f"2026-11-18T12:00:0{3 - i}.123Z",
            "model": "big" if i % 2 else "tiny",
            "model_group": "chat",
            "cache_hit": "False",
            "status": "success",
            "metadata": json.dumps(
                {"status": "success", "requester_metadata": {"thumb": ["up", "down"][i % 2]}}
            ),
        }
        for i in range(4)
    ]
    path = tmp_path / f"spend.{suffix}"
    if suffix == "jsonl":
        lines(path, rows)
    else:
        frame = pl.DataFrame(rows)
        frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    log, scan, _ = read(path, reward="metadata.requester_metadata.thumb")
    assert scan.format == "litellm" and log.names == ("tiny", "big")
    # In the order of startTime, the last row first.
    assert log.pairs[:, 0].tolist() == [0, 1, 0, 1]
    assert log.pairs[:, 1].tolist() == pytest.approx([0.04, 0.03, 0.02, 0.01])
    with pytest.raises(fb.InputError, match="LiteLLM logs no feedback of its own: name the field"):
        read(path)


def trace(number: int, models: list[str], score: object = None, own: object = None) -> dict[str, Any]:
    """Return a trace of Langfuse's API with its observations and scores."""
    scores = []
    if score is not None:
        scores.append(
            {
                "id": "s",
                "traceId": f"t{number}",
                "name": "user-feedback",
                "value": score,
                "dataType": "NUMERIC",
            }
        )
    if own is not None:
        scores.append({
            "id": "s", "traceId": f"t{number}", "observationId": f"o{number}-0", "name": "user-feedback",
            "value": None, "stringValue": own, "dataType": "CATEGORICAL",
        })  # fmt: skip
    return {
        "id": f"t{number}",
        "timestamp": f"2026-11-18T12:00:{number:02}Z",
        "htmlPath": "/x",
        "totalCost": 9,
        "tags": ["a"],
        "observations": [
            {
                "id": f"o{number}-span",
                "traceId": f"t{number}",
                "type": "SPAN",
                "startTime": "2026-11-18T12:00:00Z",
            },
            *(
                {
                    "id": f"o{number}-{place}",
                    "traceId": f"t{number}",
                    "type": "GENERATION",
                    "model": model,
                    "startTime": f"2026-11-18T12:00:{number:02}Z",
                    "calculatedTotalCost": 0.5 + place,
                }
                for place, model in enumerate(models)
            ),
        ],
        "scores": scores,
    }


@pytest.mark.parametrize("name", ["traces.jsonl", "traces.json", "page.json"])
def test_langfuse_traces_with_scores(tmp_path: Path, name: str) -> None:
    traces = [
        trace(1, ["small"], 1),
        trace(2, ["large", "large"], 0.25),  # two calls of one model: one row at their sum
        trace(3, ["small", "large"], 1),  # which of them was it?
        trace(4, ["small", "large"], own="good"),  # of the first one
        trace(5, ["large"]),
    ]
    path = tmp_path / name
    if name.endswith("jsonl"):
        lines(path, traces)
    else:
        path.write_text(json.dumps({"data": traces, "meta": {}} if name == "page.json" else traces))
    log, scan, _ = read(path)
    assert scan.format == "langfuse" and log.names == ("small", "large")
    assert log.choice.tolist() == [0, 1, 0] and log.pairs[:, 0].tolist() == [1, 0.25, 1]
    # Rows of large: 2.0 judged; 1.5 and 0.5 not.
    assert log.uses.tolist() == [2, 3] and log.pairs[1, 1] == pytest.approx((2 + 1.5 + 0.5) / 3)
    assert any("traces that used several models" in words for words in scan.notes)


def test_langfuse_blob_export_of_observations_and_scores(tmp_path: Path) -> None:
    observations = [
        {
            "id": f"o{i}",
            "trace_id": f"t{i}",
            "type": "GENERATION",
            "provided_model_name": ["small", "large"][i % 2],
            "start_time": f"2026-11-18 12:00:0{i}.000000",
            "cost_details": {"input": 0.1, "total": 0.3 + i},
            "trace_name": "chat",
        }
        for i in range(4)
    ]
    scores = [
        {
            "id": "s1",
            "trace_id": "t0",
            "observation_id": None,
            "name": "thumb",
            "value": 1,
            "data_type": "BOOLEAN",
        },
        {
            "id": "s2",
            "trace_id": "t1",
            "observation_id": "o1",
            "name": "thumb",
            "value": 0,
            "data_type": "BOOLEAN",
        },
        {
            "id": "s3",
            "trace_id": "t1",
            "observation_id": "o1",
            "name": "tone",
            "value": 0.5,
            "data_type": "NUMERIC",
        },
    ]
    path = lines(tmp_path / "export.jsonl", [*observations, *scores])
    with pytest.raises(fb.InputError, match="there are scores of several names, or none: name one"):
        read(path)
    log, _, _ = read(path, reward="scores.thumb")
    assert log.pairs[:, 0].tolist() == [1, 0] and log.uses.tolist() == [2, 2]


def attribute(key: str, value: object) -> dict[str, Any]:
    kind = {str: "stringValue", int: "intValue", float: "doubleValue"}[type(value)]
    return {"key": key, "value": {kind: str(value) if kind == "intValue" else value}}


def span(number: int, model: str, cost: float, **more: object) -> dict[str, Any]:
    return {
        "traceId": f"{number:032x}",
        "spanId": f"{number:016x}",
        "name": f"chat {model}",
        "startTimeUnixNano": str(1763480000_000000000 + number),
        "attributes": [
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.request.model", model),
            attribute("gen_ai.response.model", f"{model}-2026"),
            attribute("gen_ai.usage.input_tokens", 12),
            attribute("gen_ai.usage.cost", cost),
        ],
        **more,
    }


def evaluation(value: object, name: str = "helpfulness") -> dict[str, Any]:
    kind = "gen_ai.evaluation.score.label" if isinstance(value, str) else "gen_ai.evaluation.score.value"
    return {
        "name": "gen_ai.evaluation.result",
        "attributes": [attribute("gen_ai.evaluation.name", name), attribute(kind, value)],
    }


def test_otlp_spans_with_evaluations(tmp_path: Path) -> None:
    spans = [
        span(1, "small", 0.1, events=[evaluation(1.0)]),
        span(2, "large", 2.0, events=[evaluation("fail")]),
        span(3, "large", 4.0),
        span(4, "large", 4.0, status={"code": 2}),
        {"traceId": "9", "spanId": "9", "name": "GET /", "attributes": []},
    ]
    of_logs = {"traceId": f"{3:032x}", "spanId": f"{3:016x}", "eventName": "gen_ai.evaluation.result"}
    of_logs["attributes"] = evaluation(0.5)["attributes"]
    records = [
        {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": spans}]}]},
        {"resourceLogs": [{"scopeLogs": [{"logRecords": [of_logs]}]}]},
    ]
    log, scan, _ = read(lines(tmp_path / "otlp.jsonl", records))
    assert scan.format == "otel" and log.names == ("small", "large")
    assert log.pairs.tolist() == [[1, 0.1], [0, 2], [0.5, 4]]
    assert scan.notes == ("left out: 1 calls that failed",)


def test_spans_as_an_sdk_prints_them(tmp_path: Path) -> None:
    spans = [
        {
            "name": "chat",
            "context": {"trace_id": f"0x{i}", "span_id": f"0x{i}"},
            "start_time": f"2026-11-18T12:00:0{i}.000000Z",
            "attributes": {"gen_ai.request.model": ["a", "b"][i % 2], "app.thumb": ["up", "down"][i % 2]},
        }
        for i in range(4)
    ]
    path = lines(tmp_path / "spans.jsonl", spans)
    with pytest.raises(fb.InputError, match="evaluations of several names, or none"):
        read(path)
    with pytest.raises(fb.InputError, match=r"row 1.*: cost is None"):
        read(path, reward="app.thumb")
    for each in spans:
        each["attributes"]["app.usd"] = 0.5
    log, _, _ = read(lines(path, spans), reward="app.thumb", cost="app.usd")
    assert log.pairs.tolist() == [[1, 0.5], [0, 0.5]] * 2


def test_a_format_may_be_named_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    path = lines(tmp_path / "log.jsonl", [{"option": "a", "reward": 1, "cost": 1}] * 2)
    with pytest.raises(fb.InputError, match="no format is called 'helicone'"):
        Scan(path, "helicone")
    with pytest.raises(fb.InputError, match="no row of the format 'otel' was found"):
        Scan(path, "otel")
    assert Scan(path, "table").format == Scan(path).format == "table"
