"""The contract of the service: complete, with examples, and kept whatever comes."""

from __future__ import annotations

import os
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import frugalbandits as fb
from frugalbandits.service import create_app
from frugalbandits.stores import StoredSession, open_store
from service_harness import COSTS, Api, problem

EXAMPLES = {"quick": 5, "soak": 500}.get(os.environ.get("FRUGALBANDITS_EXAMPLES", ""), 10)

store = open_store("memory:")
# The contract's own examples name this session and its options, so that requests get that far.
StoredSession.create(store, "shop", fb.Session(COSTS, alpha=0.1))
app = create_app(store)


async def lasting(scope: Any, receive: Any, send: Any) -> None:
    """The application, which does not end with each request as schemathesis would have it."""
    if scope["type"] != "lifespan":
        await app(scope, receive, send)
        return
    for _ in range(2):
        await send({"type": f"{(await receive())['type']}.complete"})


contract = schemathesis.openapi.from_asgi("/openapi.json", lasting, headers={"Host": "localhost"})


@contract.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_whatever_comes_is_answered_as_the_contract_says(case: Any) -> None:
    case.call_and_validate(
        checks=(
            not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_schema_conformance,
        ),
        headers={"Host": "localhost"},
    )


def operations(told: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method} {path}", operation)
        for path, methods in told["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_operation_says_what_it_is_and_how_it_ends(api: Api) -> None:
    told = api("GET", "/openapi.json").json()
    assert told["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    for name, operation in operations(told):
        assert operation["summary"] and operation["description"], name
        assert "application/problem+json" in operation["responses"]["default"]["content"], name
        assert any(code.startswith("2") for code in operation["responses"]), name
        assert "security" in operation, name


def test_every_body_has_an_example_that_is_taken(api: Api) -> None:
    told = api("GET", "/openapi.json").json()
    api.session()
    decision = api.ask()
    for name, operation in operations(told):
        if "requestBody" not in operation or name.endswith("/v1/batch"):
            continue
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        part = next(iter(schema["anyOf"]), schema) if "anyOf" in schema else schema
        examples = told["components"]["schemas"][part["$ref"].rsplit("/", 1)[1]]["examples"]
        method, path = name.split(" ")
        for number, example in enumerate(examples):
            there = path.format(name="shop", id=decision["id"], option="small")
            if name == "put /v1/sessions/{name}":
                there = f"/v1/sessions/made-{number}"
            elif "context" in example:
                there = path.format(name="made-2")  # the one whose example has a context
            if name == "put /v1/sessions/{name}/options/{option}":
                there = f"/v1/sessions/shop/options/new-{number}"
            answer = api(method.upper(), there, example)
            # The second way to tell of one decision is in conflict with the first.
            assert answer.status_code in (200, 201, 204, 409), (name, answer.text)


@pytest.mark.parametrize("method", ["TRACE", "OPTIONS", "HEAD", "PATCH", "DELETE"])
def test_a_method_that_no_route_knows(api: Api, method: str) -> None:
    answer = api(method, "/v1/sessions")
    assert answer.status_code == 405
    if method != "HEAD":
        problem(answer, 405)
