"""What the command line prints: tables, pictures made of text, progress."""

from frugalbandits.lab.terminal.drawn import picture
from frugalbandits.lab.terminal.tables import (
    Cell,
    console,
    fitting,
    instance_table,
    number_table,
    plain_table,
    policy_table,
    regret_table,
    stacked,
)
from frugalbandits.lab.terminal.watching import progress

__all__ = [
    "Cell",
    "console",
    "fitting",
    "instance_table",
    "number_table",
    "picture",
    "plain_table",
    "policy_table",
    "progress",
    "regret_table",
    "stacked",
]
