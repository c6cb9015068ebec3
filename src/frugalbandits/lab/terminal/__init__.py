"""What the command line prints: tables, pictures made of text, progress."""

from frugalbandits.lab.terminal.drawn import picture
from frugalbandits.lab.terminal.tables import (
    Cell,
    console,
    instance_table,
    plain_table,
    policy_table,
    regret_table,
)
from frugalbandits.lab.watching import progress

__all__ = [
    "Cell",
    "console",
    "instance_table",
    "picture",
    "plain_table",
    "policy_table",
    "progress",
    "regret_table",
]
