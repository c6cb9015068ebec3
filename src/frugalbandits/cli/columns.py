"""Options of commands that read logs: what columns are called, and which format a file has."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from frugalbandits.lab.logs import FORMATS

__all__ = ["CostColumn", "LogFormat", "OptionColumn", "RewardColumn", "column_option"]


def column_option(name: str, text: str) -> Any:
    """Return the option that says what a column is called."""
    return typer.Option(f"--{name}-column", metavar="COLUMN", help=text)


OptionColumn = Annotated[str | None, column_option("option", "The option that was used. Default: option.")]
RewardColumn = Annotated[
    str | None,
    column_option(
        "reward",
        "How good it was: in [0, 1], or a word such as up, down, yes or no; empty where it was not judged. "
        "Default: reward. In a full table: what comes before ':NAME'.",
    ),
]
CostColumn = Annotated[
    str | None,
    column_option("cost", "What it cost, as 0.01 or $0.01. Default: cost; in a full table as for rewards."),
]
LogFormat = Annotated[
    str,
    typer.Option(
        metavar="|".join(FORMATS),
        help="Exports of LiteLLM (JSON lines, SpendLogs), Langfuse (traces with scores) and OpenTelemetry "
        "(GenAI spans), or a table of columns. auto finds out.",
    ),
]
