"""The tables of a store, as a ladder: each step makes the next version out of the one before.

Steps are never changed once released; a new version is a new step. SQLite and PostgreSQL climb the same
ladder: the words in braces are what they call differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from frugalbandits.errors import InputError

__all__ = [
    "APPLICATION",
    "COLUMNS",
    "LADDER",
    "POSTGRES",
    "SQLITE",
    "check_columns",
    "check_version",
    "steps",
]

#: What the head of our SQLite files says that they are: "frug".
APPLICATION = 0x66727567

SQLITE = {"identity": "INTEGER PRIMARY KEY", "text": "TEXT", "clustered": " WITHOUT ROWID"}
# Bytes are compared faster than words of a language, and need no other order when the system is upgraded.
POSTGRES = {
    "identity": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "text": 'TEXT COLLATE "C"',
    "clustered": "",
}

LADDER: tuple[tuple[str, ...], ...] = (
    (
        # `last` is the number of the newest entry: whoever adds one locks this row, so there are no gaps.
        """CREATE TABLE frugal_sessions (
            id {identity},
            name {text} NOT NULL UNIQUE,
            last BIGINT NOT NULL DEFAULT 0
        )""",
        """CREATE TABLE frugal_facts (
            session BIGINT NOT NULL,
            seq BIGINT NOT NULL,
            key {text} NOT NULL,
            kind {text} NOT NULL,
            body TEXT NOT NULL,
            at DOUBLE PRECISION NOT NULL,
            author TEXT NOT NULL,
            PRIMARY KEY (session, seq)
        ){clustered}""",
        "CREATE UNIQUE INDEX frugal_facts_by_key ON frugal_facts (session, key)",
        """CREATE TABLE frugal_snapshots (
            session BIGINT NOT NULL PRIMARY KEY,
            upto BIGINT NOT NULL,
            state TEXT NOT NULL
        )""",
    ),
)

#: What the statements of the stores need.
COLUMNS = {
    "frugal_sessions": {"id", "name", "last"},
    "frugal_facts": {"session", "seq", "key", "kind", "body", "at", "author"},
    "frugal_snapshots": {"session", "upto", "state"},
}


def steps(version: int, words: Mapping[str, str]) -> list[str]:
    """Return the statements that lead from a version to the newest one."""
    return [statement.format_map(words) for step in LADDER[version:] for statement in step]


def check_version(address: str, version: int) -> None:
    """Refuse a store that a later version of the package has written to."""
    if version > len(LADDER):
        raise InputError(
            f"cannot use {address!r}: it is of version {version}, and this package knows versions up to "
            f"{len(LADDER)}; a later version of the package has written to it"
        )


def check_columns(address: str, found: Mapping[str, Iterable[str]]) -> None:
    """Refuse tables of our names that are not ours."""
    for table, columns in COLUMNS.items():
        missing = sorted(columns - set(found.get(table, ())))
        if missing:
            raise InputError(
                f"cannot use {address!r}: its table {table} has no {' and no '.join(missing)}, so it is not "
                "a store of this package"
            )
