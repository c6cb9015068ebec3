"""A document that `--json` prints, whatever is in it."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from frugalbandits._version import __version__

__all__ = ["document", "plain"]


def document(command: str, **content: Any) -> str:
    """Return one JSON document, in ASCII so that every pipe can carry it.

    Examples
    --------
    >>> print(document("policies", ratio=float("inf")))
    {
      "command": "policies",
      "version": "...",
      "ratio": null
    }
    """
    told = {"command": command, "version": __version__, **content}
    return json.dumps(plain(told), indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """Return a value as dictionaries, lists, strings and finite numbers.

    Examples
    --------
    >>> plain({"a": np.array([1.0, np.nan]), "b": (Path("x"), np.int64(2))})
    {'a': [1.0, None], 'b': ['x', 2]}
    """
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value
