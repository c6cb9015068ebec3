"""What the command line prints: tables, pictures made of text, progress."""

from frugalbandits.lab.terminal.drawn import instance_view, picture, picture_width
from frugalbandits.lab.terminal.mixes import mix_table
from frugalbandits.lab.terminal.promise import promise_columns, promise_note, promise_table, promise_title
from frugalbandits.lab.terminal.replay import replay_table
from frugalbandits.lab.terminal.tables import (
    Cell,
    console,
    instance_table,
    policy_table,
    regret_table,
)
from frugalbandits.lab.terminal.widths import Column, fitted
from frugalbandits.lab.terminal.worlds import WorldCell, world_table
from frugalbandits.lab.watching import progress

__all__ = [
    "Cell",
    "Column",
    "WorldCell",
    "console",
    "fitted",
    "instance_table",
    "instance_view",
    "mix_table",
    "picture",
    "picture_width",
    "policy_table",
    "progress",
    "promise_columns",
    "promise_note",
    "promise_table",
    "promise_title",
    "regret_table",
    "replay_table",
    "world_table",
]
