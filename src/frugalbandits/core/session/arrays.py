"""The arrays of a policy's state and its generator, as plain values and back, each held against its range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.core.contract import EVENTS, Policy, Ranges, Setting
from frugalbandits.core.session.checks import broken, short

__all__ = ["MOST", "dump_arrays", "dump_random", "load_arrays", "load_left", "load_random"]

MOST = 2**53  # decisions: JSON readers elsewhere count no further
_MUCH = 1e300

# What every state has, and what those that learn costs have.
_SEEN: Ranges = {
    "tally.pulls": (0, MOST),
    "tally.pending": (0, MOST),
    "tally.sums": (0.0, float(MOST)),
    "tally.carry": (-1.0, 1.0),
    "tally.lost": (0, MOST),
    "bills.counts": (0, MOST),
    "bills.sums": (0.0, _MUCH),
    "bills.carry": (-_MUCH, _MUCH),
    "bills.squares": (0.0, _MUCH),
    "bills.squares_carry": (-_MUCH, _MUCH),
}


def dump_arrays(state: Any, short_rows: bool = False) -> dict[str, Any]:
    """Return the arrays of a state, by name, nested as the named tuples are.

    With `short_rows`, the zeros at the ends of rows are left out: those of blocks that are not in use yet
    are most of a new session.
    """
    found: dict[str, Any] = {}
    for name, value in state._asdict().items():
        if isinstance(value, np.ndarray):
            fields = value.dtype.names
            if fields:
                found[name] = {field: value[field].tolist() for field in fields}
            else:
                found[name] = _short_rows(value) if short_rows and value.ndim == 2 else value.tolist()
        elif hasattr(value, "_asdict"):
            found[name] = dump_arrays(value, short_rows)
    return found


def _short_rows(array: NDArray[Any]) -> list[list[Any]]:
    """Return the rows of an array without the zeros at their ends."""
    is_kept = (array != 0) | np.signbit(array)  # -0.0 stays
    ends = np.max(is_kept * np.arange(1, array.shape[1] + 1), axis=1, initial=0)
    return [row[:end].tolist() for row, end in zip(array, ends, strict=True)]


def load_arrays(state: Any, data: Any, policy: Policy, setting: Setting, version: int) -> None:
    """Fill the arrays of a fresh state in place with what a version stored."""
    arms = len(setting.costs)
    ranges: Ranges = {
        **_SEEN,
        "usable": (0, 1),
        "wanted": (0, 1),
        "journal.length": (0, len(state.journal.kinds)),
        "journal.kinds": (0, len(EVENTS) - 1),
        "journal.arms": (0, arms - 1),
        **policy.ranges(setting),
    }
    anew = policy.made_anew(version)
    _fill(state, data, "", ranges, (*anew, "lost") if version < 5 else anew)


def load_left(left: Any, data: Any) -> None:
    """Fill what was seen of an option that was retired."""
    _fill(left, data, "left.", {f"left.{name}": ends for name, ends in _SEEN.items()}, ())


def _fill(state: Any, data: Any, path: str, ranges: Ranges, anew: tuple[str, ...]) -> None:
    if not isinstance(data, dict):
        broken(f"{path.rstrip('.') or 'the state'} is {short(data)}")
    for name, value in state._asdict().items():
        if name in anew:
            continue
        if isinstance(value, np.ndarray):
            part = data.get(name)
            if value.dtype.names is None:
                _fill_array(value, part, path + name, ranges)
            elif not isinstance(part, dict):
                broken(f"the state has no {path + name!r}")
            else:
                for field in value.dtype.names:
                    _fill_array(value[field], part.get(field), f"{path}{name}.{field}", ranges)
        elif hasattr(value, "_asdict"):
            if name not in data:
                broken(f"the state has no {path + name!r}")
            _fill(value, data[name], f"{path}{name}.", ranges, anew)


def _fill_array(array: NDArray[Any], values: Any, path: str, ranges: Ranges) -> None:
    if not isinstance(values, list):
        broken(
            f"the state has no {path!r}" if values is None else f"{path!r} of the state is {short(values)}"
        )
    entries = values
    if array.ndim == 2:
        if not all(isinstance(row, list) for row in values):
            broken(f"{path!r} of the state has an entry that is no list")
        entries = [value for row in values for value in row]
        # Rows may end early, since version 6: what is missing is zero.
        width = array.shape[1]
        values = [row if len(row) >= width else row + [0] * (width - len(row)) for row in values]
    # JSON has these types alone, so there is nothing derived from them.
    kinds = {bool} if array.dtype == np.bool_ else {int} if array.dtype.kind == "i" else {int, float}
    if not kinds.issuperset(map(type, entries)):
        wrong = next(value for value in entries if type(value) not in kinds)
        broken(f"{path!r} of the state has the entry {short(wrong)}")
    try:
        stored = np.array(values, dtype=array.dtype)
    except (ValueError, OverflowError) as error:
        broken(f"{path!r} of the state: {error}")
    if stored.shape != array.shape:
        broken(f"{path!r} of the state has the shape {stored.shape}, not {array.shape}")
    if path not in ranges:
        if not np.array_equal(stored, array):
            broken(f"{path!r} of the state is {short(values)}, which does not follow from the settings")
        return
    low, high = (np.asarray(end) for end in ranges[path])
    # Written so that NaN is outside.
    outside = ~((stored >= low) & (stored <= high))
    if outside.any():
        broken(f"{path!r} of the state has the value {stored[outside][0]}")
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


def load_random(rng: np.random.Generator | None, data: Any) -> None:
    """Bring a generator to a stored state."""
    if rng is None:
        return
    try:
        rng.bit_generator.state = {
            **data,
            "state": {key: int(value) for key, value in data["state"].items()},
        }
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        broken(f"'random' is {short(data)}: {error}")
