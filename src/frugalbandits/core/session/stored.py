"""The stored form of a session: JSON with a format name, a version and a checksum.

Every version is read for ever; golden files of each are kept in the tests. Only what changes is stored of
a policy's state (its arrays); the rest follows from the settings. The checksum is there because compiled
code trusts what it is given: a state that was damaged anywhere is refused.

Version 2 has the draws ahead of TS-CS in another form. Version 3 has a quality bar in place of alpha.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any, NoReturn

import numpy as np

from frugalbandits.core.contract import Policy
from frugalbandits.core.quality import Quality, RelativeToBest, quality_from_dict
from frugalbandits.core.registry import policies, resolve
from frugalbandits.errors import InputError, StateFormatError, unknown_name

__all__ = [
    "check_consistent",
    "checksum",
    "dump",
    "dump_arrays",
    "dump_policy",
    "dump_random",
    "load",
    "load_arrays",
    "load_policy",
    "load_quality",
    "load_random",
]

FORMAT = "frugalbandits-session"
VERSION = 3

_KEYS: dict[str, type | tuple[type, ...]] = {
    "names": list,
    "costs": list,
    "horizon": (int, type(None)),
    "policy": dict,
    "decisions": int,
    "pending": list,
    "batch": dict,
    "events": list,
    "state": dict,
    "random": (dict, type(None)),
}


def dump(data: dict[str, Any]) -> str:
    """Return the text of a state."""
    whole = {"format": FORMAT, "version": VERSION, **data}
    return json.dumps({**whole, "checksum": checksum(whole)}, allow_nan=False)


def checksum(data: dict[str, Any]) -> str:
    """Return a digest that does not depend on the order of keys or on how a store writes whole numbers."""
    canonical = json.dumps(_with_floats(data), sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _with_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_floats(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_floats(part) for part in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def load(text: str) -> dict[str, Any]:
    """Return the parts of a stored state, or say why it is none."""
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, TypeError) as error:
        raise StateFormatError(f"this is not a whole session state: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise StateFormatError(f"this is not a session state: its format is not {FORMAT!r}")
    version = data.get("version")
    if not isinstance(version, int) or version < 1:
        raise StateFormatError(f"the session state has no valid version: {version!r}")
    if version > VERSION:
        raise StateFormatError(
            f"the session state has format version {version}, but this release reads up to {VERSION}; "
            "it was written by a later release"
        )
    signed = data.pop("checksum", None)
    try:
        fits = signed == checksum(data)
    except OverflowError:  # a whole number that no float can hold
        fits = False
    if not fits:
        _broken("its checksum does not fit")
    for key, kind in _KEYS.items():
        if key not in data:
            _broken(f"the key {key!r} is missing")
        if not isinstance(data[key], kind):
            _broken(f"{key!r} is {data[key]!r}")
    for key in ("arms", "at", "repeats"):
        if key not in data["batch"]:
            _broken(f"'batch' has no {key!r}")
    arms = len(data["costs"])
    if data["decisions"] < 0:
        _broken(f"'decisions' is {data['decisions']}")
    _check_rows("pending", data["pending"], 2, arms)
    _check_rows("events", data["events"], 3, arms)
    for rank in data["batch"]["arms"]:
        if not isinstance(rank, int) or not 0 <= rank < arms:
            _broken(f"the batch has an arm {rank!r}")
    if not 0 <= data["batch"]["at"] <= len(data["batch"]["arms"]):
        _broken(f"the batch stands at {data['batch']['at']!r}")
    return data


def dump_policy(label: str, policy: Policy) -> dict[str, Any]:
    """Return a policy as its name, kind and settings."""
    return {"name": label, "kind": type(policy).__name__, "settings": dataclasses.asdict(policy)}


def load_policy(data: dict[str, Any]) -> tuple[str, Policy]:
    """Return label and policy; its kind must be among the registered ones."""
    kinds = {type(policy).__name__: type(policy) for policy in map(resolve, policies())}
    kind, settings = data.get("kind"), data.get("settings")
    if not isinstance(kind, str) or not isinstance(settings, dict) or not isinstance(data.get("name"), str):
        _broken(f"'policy' is {data!r}")
    if kind not in kinds:
        raise StateFormatError(str(unknown_name("kind of policy", kind, kinds)))
    try:
        return data["name"], kinds[kind](**settings)
    except (TypeError, InputError) as error:
        _broken(f"the settings of {kind} are {settings!r}: {error}")


def load_quality(data: dict[str, Any]) -> Quality:
    """Return the quality bar; before version 3 there was alpha only."""
    if data["version"] >= 3:
        return quality_from_dict(data.get("quality"))
    if not isinstance(data.get("alpha"), int | float):
        _broken(f"'alpha' is {data.get('alpha')!r}")
    return RelativeToBest(data["alpha"])


def dump_arrays(state: Any) -> dict[str, Any]:
    """Return the arrays of a state, by name, nested as the named tuples are."""
    found: dict[str, Any] = {}
    for name, value in state._asdict().items():
        if isinstance(value, np.ndarray):
            fields = value.dtype.names
            found[name] = {field: value[field].tolist() for field in fields} if fields else value.tolist()
        elif hasattr(value, "_asdict"):
            found[name] = dump_arrays(value)
    return found


def load_arrays(state: Any, data: dict[str, Any], anew: tuple[str, ...] = ()) -> None:
    """Fill the arrays of a fresh state in place, but for the parts that are made anew."""
    for name, value in state._asdict().items():
        if name in anew:
            continue
        if isinstance(value, np.ndarray):
            fields = value.dtype.names
            if fields is None:
                _load_array(value, name, data)
            else:
                if not isinstance(data.get(name), dict):
                    _broken(f"the state has no {name!r}")
                for field in fields:
                    _load_array(value[field], field, data[name])
        elif hasattr(value, "_asdict"):
            if not isinstance(data.get(name), dict):
                _broken(f"the state has no {name!r}")
            load_arrays(value, data[name])


def _load_array(array: Any, name: str, data: dict[str, Any]) -> None:
    try:
        stored = np.array(data[name], dtype=array.dtype)
    except KeyError:
        _broken(f"the state has no {name!r}")
    except (TypeError, ValueError, OverflowError) as error:
        _broken(f"{name!r} of the state: {error}")
    if stored.shape != array.shape:
        _broken(f"{name!r} of the state has the shape {stored.shape}, not {array.shape}")
    array[...] = stored


def dump_random(rng: np.random.Generator | None) -> dict[str, Any] | None:
    """Return the state of a generator; its 128-bit numbers as text, which any JSON reader can take."""
    if rng is None:
        return None
    state = rng.bit_generator.state
    return {
        "bit_generator": state["bit_generator"],
        "state": {key: str(value) for key, value in state["state"].items()},
        "has_uint32": state["has_uint32"],
        "uinteger": state["uinteger"],
    }


def load_random(rng: np.random.Generator | None, data: dict[str, Any] | None) -> None:
    """Bring a generator to a stored state."""
    if rng is None:
        return
    try:
        assert data is not None
        rng.bit_generator.state = {
            **data,
            "state": {key: int(value) for key, value in data["state"].items()},
        }
    except (AssertionError, KeyError, TypeError, ValueError, AttributeError) as error:
        _broken(f"'random' is {data!r}: {error}")


def check_consistent(state: Any, pending: dict[int, int], decisions: int) -> None:
    """Reject a state whose parts contradict each other."""
    tally = state.tally
    counts = np.bincount(np.array(list(pending.values()), np.int64), minlength=len(tally.pulls))
    if not np.array_equal(counts, tally.pending):
        _broken(
            f"decisions wait for feedback {counts.tolist()} times, but the state has {tally.pending.tolist()}"
        )
    if any(not 0 <= id_ < decisions for id_ in pending):
        _broken(f"a pending decision is not among the {decisions} that were handed out")
    if (tally.pulls < 0).any() or not ((tally.sums >= 0) & (tally.sums <= tally.pulls)).all():
        _broken(f"rewards sum to {tally.sums.tolist()} over {tally.pulls.tolist()} pulls")
    if int(tally.pulls.sum()) + len(pending) > decisions:
        _broken(f"there is more feedback than the {decisions} decisions that were handed out")


def _check_rows(key: str, rows: list[Any], width: int, arms: int) -> None:
    for row in rows:
        whole = isinstance(row, list) and len(row) == width and all(isinstance(value, int) for value in row)
        if not whole or not 0 <= row[-1] < arms:
            _broken(f"{key!r} has the entry {row!r}")


def _broken(what: str) -> NoReturn:
    raise StateFormatError(f"the session state is damaged: {what}")
