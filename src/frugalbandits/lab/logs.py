"""Logs of decisions, as tables of observed rewards: .csv, .parquet and .ndjson files, read by polars."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from frugalbandits.errors import InputError, lab_needed, unknown_name

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["SUFFIXES", "read_log"]

#: Kinds of files, by suffix.
SUFFIXES = (".csv", ".parquet", ".ndjson", ".jsonl")


def read_log(
    path: str | os.PathLike[str], option: str, reward: str, cost: str | None
) -> tuple[dict[str, NDArray[np.float64]], list[float] | None]:
    """Return the rewards of each option, in the order of first use, and the options' mean costs if asked for.

    An error names the row, counted from 1 without a header: in .ndjson it is the line.
    """
    with lab_needed("a log of decisions"):
        import polars as pl

    source = Path(path)
    table = _read(source)
    wanted = [option, reward, *([] if cost is None else [cost])]
    for column in wanted:
        if column not in table.columns:
            raise InputError(f"{str(source)!r}: {unknown_name('column', str(column), table.columns)}")
    if not table.height:
        raise InputError(f"{str(source)!r}: there are no rows")
    numbers = {column: _numbers(table, column, source) for column in wanted[1:]}
    names = table[option].cast(pl.String)
    _refuse(names.is_null() | (names.str.strip_chars() == ""), table, option, "is no name", source)
    _refuse(~numbers[reward].is_between(0, 1), table, reward, "does not lie in [0, 1]", source)
    groups = pl.DataFrame({"name": names, **{f"value {column}": each for column, each in numbers.items()}})
    grouped = groups.group_by("name", maintain_order=True).agg(pl.all())
    rewards = {
        name: each.to_numpy() for name, each in zip(grouped["name"], grouped[f"value {reward}"], strict=True)
    }
    if cost is None:
        return rewards, None
    return rewards, [float(each.mean()) for each in grouped[f"value {cost}"]]


def _read(source: Path) -> pl.DataFrame:
    import polars as pl

    suffix = source.suffix.lower()
    if suffix not in SUFFIXES:
        kinds = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise InputError(f"a log must end in {kinds}, but it is {str(source)!r}")
    try:
        if suffix == ".csv":
            # As text: a value that is no number is then named with its row, and not by polars' guess.
            return pl.read_csv(source, infer_schema=False)
        if suffix == ".parquet":
            return pl.read_parquet(source)
        return pl.read_ndjson(source, infer_schema_length=None)
    except OSError as error:
        raise InputError(f"cannot read {str(source)!r}: {error.strerror or error}") from error
    except pl.exceptions.PolarsError as error:
        raise InputError(f"cannot read {str(source)!r}: {str(error).splitlines()[0]}") from error


def _numbers(table: pl.DataFrame, column: str, source: Path) -> pl.Series:
    import polars as pl

    given = table[column]
    if given.dtype.is_nested():
        raise InputError(f"{str(source)!r}: the column {column!r} has values of the type {given.dtype}")
    text = given.str.strip_chars() if given.dtype == pl.String else given
    numbers = text.cast(pl.Float64, strict=False)
    _refuse(~numbers.is_finite().fill_null(False), table, column, "is no finite number", source)
    return numbers


def _refuse(bad: pl.Series, table: pl.DataFrame, column: str, trouble: str, source: Path) -> None:
    rows = bad.arg_true()
    if rows.len():
        row = int(rows[0])
        more = f" (and {rows.len() - 1:,} more)" if rows.len() > 1 else ""
        value = table[column][row]
        raise InputError(f"{str(source)!r}, row {row + 1:,}{more}: {column} is {value!r}, which {trouble}")
