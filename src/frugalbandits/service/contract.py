"""The contract of the service (OpenAPI), with what FastAPI cannot know of it."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from frugalbandits.service.answers import Answer, as_json
from frugalbandits.service.routing import Call, Route
from frugalbandits.service.shapes import ProblemShape

__all__ = ["contract_of", "contract_route"]

_TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token that `frugal token add` made; none is needed where none was ever made.",
}


def contract_of(app: FastAPI) -> dict[str, Any]:
    """Return the contract of an application."""
    found: dict[str, Any] = get_openapi(
        title=app.title, version=app.version, summary=app.summary, routes=app.routes
    )
    parts = found.setdefault("components", {})
    parts["securitySchemes"] = {"bearer": _TOKEN}
    parts.setdefault("schemas", {})["ProblemShape"] = ProblemShape.model_json_schema()
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemShape"}}}
    for operations in found["paths"].values():
        for operation in operations.values():
            operation["responses"]["default"] = {"description": "A problem", "content": problem}
            for answer in operation["responses"].values():
                # FastAPI adds one of its own beside what a route says.
                if "text/plain" in answer.get("content", {}):
                    answer["content"].pop("application/json", None)
    return found


def contract_route(app: FastAPI) -> Route:
    """Return the route of the contract."""
    made: list[Answer] = []

    async def contract(call: Call) -> Answer:
        """Return this document."""
        if not made:
            made.append(as_json(contract_of(app)))
        return made[0]

    return Route(
        "GET",
        "/openapi.json",
        0,
        contract,
        "The contract of this service",
        {200: {"description": "An OpenAPI document", "model": dict[str, Any]}},
    )
