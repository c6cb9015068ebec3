"""LiteLLM: `StandardLoggingPayload` as JSON lines, and rows of the table `LiteLLM_SpendLogs`.

Field names: https://docs.litellm.ai/docs/proxy/logging_spec and `schema.prisma` of BerriAI/litellm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from frugalbandits.lab.logs.records import Rows, first_of, flat, parsed

__all__ = ["is_record", "rows_of"]

_WRAPPER = "standard_logging_object"
# LiteLLM has no field for feedback: callers put it into their metadata.
_HOLDERS = ("metadata.", "metadata.spend_logs_metadata.", "metadata.requester_metadata.")
_REWARDS = ("reward", *(f"{holder}{name}" for name in ("reward", "score", "feedback") for holder in _HOLDERS))
_HINT = {
    "reward": "; LiteLLM logs no feedback of its own: name the field that has it, such as "
    "metadata.spend_logs_metadata.score"
}


def is_record(record: Mapping[str, Any]) -> bool:
    """Tell whether this is a record of LiteLLM."""
    keys = record.keys()
    return _WRAPPER in keys or ("call_type" in keys and ("response_cost" in keys or "spend" in keys))


def rows_of(records: Iterable[Mapping[str, Any]]) -> Rows:
    """Return a row for each call that a model answered: failures and hits of the cache are left out."""
    made = Rows(hint=_HINT)
    for given in records:
        inner = given.get(_WRAPPER)
        record = inner if isinstance(inner, Mapping) else given
        row = flat({key: parsed(value) for key, value in record.items()})
        status = str(first_of(row, ("status", "metadata.status")) or "").lower()
        if status == "failure":
            made.left_out["calls that failed"] += 1
        elif str(row.get("cache_hit")).lower() == "true":
            made.left_out["answers from LiteLLM's cache, which no model gave"] += 1
        else:
            row["option"] = row.get("model")
            row["cost"] = first_of(row, ("response_cost", "spend"))
            row["time"] = row.get("startTime")
            reward = first_of(row, _REWARDS)
            if reward is not None:
                row["reward"] = reward
            made.rows.append(row)
    return made
