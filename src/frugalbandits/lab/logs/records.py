"""Records of tools as rows of a log: nested fields by dotted names, and scores joined to their calls."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Rows", "Scores", "first_of", "flat", "parsed"]

#: Fields that may be as large as a conversation, and are not known before the answer anyway.
HEAVY = frozenset({"messages", "response", "output", "proxy_server_request", "gen_ai.output.messages"})


@dataclass
class Rows:
    """Rows of a log with the columns option, cost, time and reward, as far as a record has them.

    Attributes
    ----------
    rows
        A dictionary a row; other fields of the record have dotted names.
    left_out
        How many records were left out, by the reason.
    hint
        What to say where there is no reward, or no cost.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    hint: dict[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say of the records that were left out."""
        return tuple(f"left out: {count:,} {reason}" for reason, count in self.left_out.items())


class Scores:
    """Scores by name, of a call or of a whole trace."""

    def __init__(self) -> None:
        self._by_call: dict[tuple[str, str], dict[str, Any]] = {}
        self._by_trace: dict[str, dict[str, Any]] = {}
        self.names: dict[str, None] = {}

    def add(self, trace: str, call: str | None, name: str, value: Any) -> None:
        """Add a score; a later one of the same name replaces it."""
        self.names[name] = None
        if call:
            self._by_call.setdefault((trace, call), {})[name] = value
        else:
            self._by_trace.setdefault(trace, {})[name] = value

    def of_call(self, trace: str, call: str) -> dict[str, Any]:
        """Return the scores of a call."""
        return self._by_call.get((trace, call), {})

    def of_trace(self, trace: str) -> dict[str, Any]:
        """Return the scores of a trace."""
        return self._by_trace.get(trace, {})

    def as_columns(self, scores: Mapping[str, Any]) -> dict[str, Any]:
        """Return scores as columns, and the only one there is as the reward."""
        found = {f"scores.{name}": scores.get(name) for name in self.names}
        if len(self.names) == 1:
            found["reward"] = scores.get(next(iter(self.names)))
        return found


def flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested fields by dotted names; lists and large fields are left out.

    Examples
    --------
    >>> flat({"metadata": {"score": 1, "tags": ["a"]}, "model": "small", "messages": "..."})
    {'metadata.score': 1, 'model': 'small'}
    """
    found: dict[str, Any] = {}
    for key, value in record.items():
        name = f"{prefix}{key}"
        if name in HEAVY or isinstance(value, list):
            continue
        if isinstance(value, Mapping):
            found |= flat(value, f"{name}.")
        else:
            found[name] = value
    return found


def parsed(value: Any) -> Any:
    """Return what a text of JSON holds, as columns of JSON in a CSV file do; other values as they are."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def first_of(record: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return the first of some fields that has a value."""
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)
