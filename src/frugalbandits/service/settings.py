"""How the service runs: what the command line and a file in TOML can say."""

from __future__ import annotations

import dataclasses
import ipaddress
import tomllib
from pathlib import Path
from typing import Any

from frugalbandits.errors import InputError, unknown_name
from frugalbandits.service import limits

__all__ = ["LEVELS", "LOOPBACK", "Settings", "is_loopback", "read_config"]

LEVELS = ("debug", "info", "warning", "error")
#: Names by which this machine is called by itself.
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "float": (int, float),
}


@dataclasses.dataclass(frozen=True)
class Settings:
    """All settings, with their defaults."""

    store: str = "sqlite:///decisions.db"
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    log_level: str = "info"
    dashboard: bool = True
    metrics_free: bool = False  # whether /metrics is for whoever comes
    patience: float = limits.PATIENCE  # seconds that a slow client has for a head, and for a body
    store_patience: float = limits.STORE_PATIENCE  # seconds that a request waits for the store
    keep_alive: float = limits.KEEP_ALIVE  # seconds until a connection that is not used is closed
    rate_limit: float = 0.0  # requests a second that each token has in each worker; 0: as many as it likes
    rate_burst: float = 0.0  # requests that it may send at once; 0: those of two seconds

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if type(value) not in _KINDS[str(field.type)]:
                raise InputError(f"{field.name} must be of the kind {field.type}, but it is {value!r}")
        if not 0 <= self.port <= 65_535:
            raise InputError(f"port must be from 0 to 65535, but it is {self.port}")
        if not 1 <= self.workers <= 256:
            raise InputError(f"workers must be from 1 to 256, but there are {self.workers}")
        for name in ("patience", "store_patience", "keep_alive"):
            value = getattr(self, name)
            if not 0 < value <= 3_600:
                raise InputError(f"{name} must be more than 0 and at most 3600 s, but it is {value!r}")
        for name in ("rate_limit", "rate_burst"):
            value = getattr(self, name)
            if not 0 <= value <= 1e9:
                raise InputError(f"{name} must be from 0 to 1e9, but it is {value!r}")
        if self.log_level not in LEVELS:
            raise unknown_name("log level", self.log_level, LEVELS)
        if self.workers > 1 and self.store == "memory:":
            raise InputError("a store in memory is of one process: several workers need another one")


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches an address to listen on."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def read_config(path: Path) -> dict[str, Any]:
    """Return what a file in TOML says, by the names of settings."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"cannot read the config file {str(path)!r}: {error}") from error
    known = [field.name for field in dataclasses.fields(Settings)]
    for name in told:
        if name not in known:
            raise unknown_name("setting", name, known)
    return told
