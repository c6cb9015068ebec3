"""Files of logs, read lazily: only the columns that are asked for, and the row of what is no number."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.errors import InputError, extra_needed, unknown_name
from frugalbandits.lab.logs import SUFFIXES

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Scan"]


class Scan:
    """A log in a file, or one in memory, by its columns."""

    def __init__(self, source: str | os.PathLike[str] | pl.DataFrame | pl.LazyFrame | Mapping[str, Any]):
        with extra_needed("a replay of a log"):
            import polars as pl

        self.name = repr(str(source)) if isinstance(source, str | os.PathLike) else "the log"
        try:
            self._lazy = self._opened(source)
            self.columns = self._lazy.collect_schema()
        except OSError as error:
            raise InputError(f"cannot read {self.name}: {error.strerror or error}") from error
        except pl.exceptions.PolarsError as error:
            raise InputError(f"cannot read {self.name}: {_first_line(error)}") from error

    def _opened(self, source: Any) -> pl.LazyFrame:
        import polars as pl

        if isinstance(source, pl.LazyFrame | pl.DataFrame):
            return source.lazy()
        if isinstance(source, Mapping):
            return pl.DataFrame(dict(source), strict=False).lazy()
        if not isinstance(source, str | os.PathLike):
            raise InputError(
                "a log is the path of a file, a polars.DataFrame or a mapping of columns, but this is "
                f"{type(source).__name__}"
            )
        path = Path(source)
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            kinds = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
            raise InputError(f"a log must end in {kinds}, but it is {str(source)!r}")
        if not path.is_file():
            what = "it is a folder" if path.is_dir() else "there is no such file"
            raise InputError(f"cannot read {self.name}: {what}")
        if not path.stat().st_size:
            raise InputError(f"{self.name}: the file is empty")
        if suffix == ".csv":
            # As text: a value that is no number is then named with its row, and not by polars' guess.
            return pl.scan_csv(path, infer_schema=False)
        if suffix == ".parquet":
            return pl.scan_parquet(path)
        return pl.scan_ndjson(path, infer_schema_length=None)

    def require(self, columns: Iterable[str], hint: str = "") -> None:
        """Refuse a log that lacks one of these columns."""
        for column in columns:
            if column not in self.columns:
                raise InputError(f"{self.name}: {unknown_name('column', column, self.columns)}{hint}")

    def frame(
        self, numbers: Iterable[str], others: Iterable[str] = (), rows: NDArray[np.int64] | None = None
    ) -> pl.DataFrame:
        """Return columns, some of them as finite numbers and the others as text or as they are.

        `rows` are those of the file that are wanted, counted from 0, in the order that is wanted.
        """
        import polars as pl

        wanted = list(dict.fromkeys(numbers))
        for column in wanted:
            if self.columns[column].is_nested():
                raise InputError(
                    f"{self.name}: the column {column!r} has values of the type {self.columns[column]}"
                )
        parts = [*(self._number(column) for column in wanted), *map(pl.col, others)]
        try:
            frame = self._whole(parts) if rows is None else self._some(parts, rows)
        except pl.exceptions.PolarsError as error:
            raise InputError(f"cannot read {self.name}: {_first_line(error)}") from error
        if not frame.height:
            raise InputError(f"{self.name}: there are no rows")
        for column in wanted:
            self.refuse(~frame[column].is_finite().fill_null(False), column, "is no finite number", rows)
        return frame

    def _whole(self, parts: list[pl.Expr]) -> pl.DataFrame:
        return self._lazy.select(*parts).collect(engine="streaming")

    def _some(self, parts: list[pl.Expr], rows: NDArray[np.int64]) -> pl.DataFrame:
        """Return parts of some rows, so that a large file need not fit into memory."""
        import polars as pl

        number = "row"
        while number in self.columns:
            number += "_"
        wanted = pl.LazyFrame({number: np.sort(rows)}, schema={number: pl.UInt32})
        numbered = self._lazy.with_row_index(number).join(wanted, on=number, how="semi")
        found = numbered.select(number, *parts).collect(engine="streaming").sort(number)
        return found.drop(number)[np.argsort(np.argsort(rows))]

    def _number(self, column: str) -> pl.Expr:
        import polars as pl

        given = pl.col(column)
        text = given.str.strip_chars() if self.columns[column] == pl.String else given
        return text.cast(pl.Float64, strict=False)

    def refuse(
        self, bad: pl.Series, column: str, trouble: str, places: NDArray[np.int64] | None = None
    ) -> None:
        """Raise an error that names the first row, counted from 1 without a header, that is bad.

        `places` has the rows of the file where they are not all there, in its order.
        """
        rows = bad.arg_true()
        if rows.len():
            row = int(rows[0]) if places is None else int(places[int(rows[0])])
            more = f" (and {rows.len() - 1:,} more)" if rows.len() > 1 else ""
            value = self._lazy.select(column).slice(row, 1).collect().item()
            raise InputError(f"{self.name}, row {row + 1:,}{more}: {column} is {value!r}, which {trouble}")

    def names(self, frame: pl.DataFrame, column: str, places: NDArray[np.int64] | None = None) -> pl.Series:
        """Return a column as names, none of them missing or blank; `places` as for `refuse`."""
        import polars as pl

        names = frame[column].cast(pl.String).str.strip_chars()
        self.refuse(names.is_null() | (names == ""), column, "is no name", places)
        return names

    def moments(self, frame: pl.DataFrame, column: str) -> NDArray[np.float64]:
        """Return a column as what can be put in the order of time: numbers, dates or dates with a time."""
        import polars as pl

        given = frame[column]
        if given.dtype == pl.String:
            numbers = given.str.strip_chars().cast(pl.Float64, strict=False)
            if not numbers.null_count():
                return numbers.to_numpy()
            given = pl.Series([_seconds(text) for text in given], dtype=pl.Float64)
        elif not (given.dtype.is_numeric() or given.dtype.is_temporal()):
            raise InputError(f"{self.name}: the column {column!r} is no time, but of the type {given.dtype}")
        self.refuse(given.is_null(), column, "is no number, and no time such as 2026-01-31T12:00:00")
        return given.to_physical().cast(pl.Float64).to_numpy()


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _seconds(text: str | None) -> float | None:
    """Return a date as seconds, None where it is none; without a time zone it is taken as UTC."""
    try:
        moment = datetime.fromisoformat((text or "").strip())
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
