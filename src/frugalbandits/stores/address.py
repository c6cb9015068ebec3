"""Addresses of stores, as they may be shown."""

from __future__ import annotations

import re
from urllib.parse import unquote

__all__ = ["without_password"]


def without_password(address: str) -> str:
    """Return an address without its password, whether it is well written or not.

    What stands between the first colon and the last @ may be a password with an @ or a / in it that should
    have been escaped: rather too much goes than too little.

    Examples
    --------
    >>> without_password("postgresql://me:secret@db.example:5432/decisions?sslmode=require")
    'postgresql://me@db.example:5432/decisions?sslmode=require'
    >>> without_password("postgresql:///decisions?user=me&password=secret")
    'postgresql:///decisions?user=me'
    """
    scheme, colon, rest = address.partition("://")
    if not colon:
        # A list of settings, as in "host=db password=secret", or something else that is no address.
        return re.sub(r"(?i)(password\s*=\s*)('(?:\\.|[^'])*'?|\S*)", r"\1***", address)
    who, at, where = rest.rpartition("@")
    place, mark, query = (where if at else rest).partition("?")
    if at:
        place = f"{who.partition(':')[0]}@{place}"
    parts = [part for part in query.split("&") if "password" not in unquote(part).partition("=")[0].lower()]
    shown = "&".join(parts)
    return f"{scheme}://{place}{mark if shown else ''}{shown}"
