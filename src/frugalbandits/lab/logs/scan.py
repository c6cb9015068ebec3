"""Files of logs, read lazily: only the columns that are asked for, and the row of what is no number."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from frugalbandits.errors import InputError, extra_needed, unknown_name
from frugalbandits.lab.logs.files import check_file, find_ragged_row, first_line, json_records, open_csv
from frugalbandits.lab.logs.formats import check_format, detect, rows_of
from frugalbandits.lab.logs.records import flat
from frugalbandits.lab.logs.values import amounts, is_blank, ratings

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Scan"]

_JSON_LINES = (".ndjson", ".jsonl")


class Scan:
    """A log in a file, or one in memory, by its columns.

    Attributes
    ----------
    name
        What errors call it.
    columns
        Names and types. A dotted name of a nested field is added when it is asked for.
    format
        "table", or the tool that the file is an export of.
    notes
        What to say of records that were left out.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | pl.DataFrame | pl.LazyFrame | Mapping[str, Any],
        format: str = "auto",
    ):
        with extra_needed("a log of decisions"):
            import polars as pl

        self.name = repr(str(source)) if isinstance(source, str | os.PathLike) else "the log"
        self.format = "table"
        self.notes: tuple[str, ...] = ()
        self._hints: dict[str, str] = {}
        self._path: Path | None = None
        try:
            self._lazy = self._opened(source, check_format(format))
            self.columns = dict(self._lazy.collect_schema())
        except OSError as error:
            raise InputError(f"cannot read {self.name}: {error.strerror or error}") from error
        except pl.exceptions.PolarsError as error:
            raise InputError(f"cannot read {self.name}: {first_line(error)}") from error

    def _opened(self, source: Any, format: str) -> pl.LazyFrame:
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
        check_file(path)
        suffix = path.suffix.lower()
        if suffix in (".csv", ".tsv", ".parquet"):
            self._path = None if suffix == ".parquet" else path
            lazy = pl.scan_parquet(path) if suffix == ".parquet" else open_csv(path)
            found = detect(dict.fromkeys(lazy.collect_schema())) if format == "auto" else format
            if found in (None, "table"):
                return lazy
            return self._exported(str(found), lazy.collect().iter_rows(named=True))
        records = json_records(path)
        first = next(records, None)
        if first is None:
            raise InputError(f"{self.name}: there are no rows")
        found = detect(first) if format == "auto" else format
        if found not in (None, "table"):
            return self._exported(str(found), chain([first], records))
        if suffix in _JSON_LINES:
            lazy = pl.scan_ndjson(path, infer_schema_length=None)
            try:
                lazy.collect_schema()
            except pl.exceptions.PolarsError:
                pass  # rows of several shapes: read below, a record at a time
            else:
                self._path = path
                return lazy
        return _texts([flat(record) for record in chain([first], records)])

    def _exported(self, format: str, records: Iterable[Mapping[str, Any]]) -> pl.LazyFrame:
        """Return the rows of an export of a tool."""
        made = rows_of(format, records)
        self.format, self.notes, self._hints = format, made.notes, made.hint
        if not made.rows:
            left = f" ({'; '.join(made.notes)})" if made.notes else ""
            raise InputError(f"{self.name}: no row of the format {format!r} was found{left}")
        return _texts(made.rows)

    def has(self, column: str) -> bool:
        """Tell whether there is such a column, or such a field by its dotted name."""
        if column not in self.columns:
            nested = self._nested(column)
            if nested is None:
                return False
            self._lazy = self._lazy.with_columns(nested.alias(column))
            self.columns[column] = self._lazy.select(column).collect_schema()[column]
        return True

    def _nested(self, name: str) -> pl.Expr | None:
        """Return the field of a struct or of a text of JSON that a dotted name means."""
        import polars as pl

        parts = name.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            outer = ".".join(parts[:cut])
            if outer not in self.columns:
                continue
            kind, found = self.columns[outer], pl.col(outer)
            if kind == pl.String:
                return found.str.json_path_match("$." + ".".join(parts[cut:]))
            for part in parts[cut:]:
                if not isinstance(kind, pl.Struct):
                    return None
                fields = {field.name: field.dtype for field in kind.fields}
                if part not in fields:
                    return None
                kind, found = fields[part], found.struct.field(part)  # type: ignore[assignment]
            return found
        return None

    def require(self, columns: Iterable[str], hint: str = "") -> None:
        """Refuse a log that lacks one of these columns."""
        for column in columns:
            if not self.has(column):
                said = self._hints.get(column, hint)
                raise InputError(f"{self.name}: {unknown_name('column', column, self.columns)}{said}")

    def frame(
        self,
        numbers: Iterable[str],
        others: Iterable[str] = (),
        rows: NDArray[np.int64] | None = None,
        *,
        rewards: Iterable[str] = (),
    ) -> pl.DataFrame:
        """Return columns: some as finite numbers, rewards in [0, 1] or null, and the others as they are.

        `rows` are those of the file that are wanted, counted from 0, in the order that is wanted.
        """
        judged = list(dict.fromkeys(rewards))
        wanted = [each for each in dict.fromkeys(numbers) if each not in judged]
        for column in (*wanted, *judged):
            if self.columns[column].is_nested():
                raise InputError(
                    f"{self.name}: the column {column!r} has values of the type {self.columns[column]}"
                )
        kept = list(others)
        frame = self._collected((*wanted, *judged), kept, rows)
        if not frame.height:
            raise InputError(f"{self.name}: there are no rows")
        for column in wanted:
            frame = self._read_text(frame, column, rows, rated=False)
        for column in judged:
            frame = self._read_text(frame, column, rows, rated=True)
        return frame

    def _read_text(
        self, frame: pl.DataFrame, column: str, rows: NDArray[np.int64] | None, rated: bool
    ) -> pl.DataFrame:
        """Read what is no plain number from its text, and refuse what is none after all."""
        import polars as pl

        numbers, trouble = frame[column], "is no finite number"
        blank = numbers.is_null()
        if numbers.null_count() and self.columns[column] in (pl.String, pl.Categorical, pl.Enum):
            text = self._collected((), [column], rows)[column].cast(pl.String)
            numbers, trouble = (ratings if rated else amounts)(text)
            blank = is_blank(text)
        if rated:
            numbers = numbers.fill_nan(None)
            blank |= frame[column].is_nan().fill_null(False)
        bad = ~numbers.is_finite().fill_null(False)
        self.refuse(bad & ~blank if rated else bad, column, trouble, rows)
        if rated:
            outside = ~numbers.is_between(0, 1).fill_null(True)
            self.refuse(outside, column, "does not lie in [0, 1]", rows)
        return frame.with_columns(numbers.alias(column))

    def _collected(
        self, numbers: Iterable[str], others: Iterable[str], rows: NDArray[np.int64] | None
    ) -> pl.DataFrame:
        import polars as pl

        numbers, others = list(numbers), list(others)
        parts = [*map(self._number, numbers), *map(pl.col, others)]
        try:
            return self._whole(parts) if rows is None else self._some(parts, rows)
        except pl.exceptions.PolarsError as error:
            path, self._path = self._path, None
            if path is not None and path.suffix.lower() in _JSON_LINES:
                # Rows of several shapes, which polars takes for one: read a record at a time.
                self._lazy = _texts([flat(record) for record in json_records(path)])
                self.columns = dict(self._lazy.collect_schema())
                self.require([*numbers, *others])
                return self._collected(numbers, others, rows)
            said = None if path is None else find_ragged_row(path)
            if said is not None:
                raise InputError(f"{self.name}, {said}") from error
            raise InputError(f"cannot read {self.name}: {first_line(error)}") from error

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
        if self.columns[column] in (pl.Categorical, pl.Enum):
            given = given.cast(pl.String)
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


def _texts(rows: list[dict[str, Any]]) -> pl.LazyFrame:
    """Return rows as a table of text."""
    import polars as pl

    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [None if row.get(name) is None else str(row[name]) for row in rows] for name in names}
    return pl.LazyFrame(columns, schema=dict.fromkeys(names, pl.String))


def _seconds(text: str | None) -> float | None:
    """Return a date as seconds, None where it is none; without a time zone it is taken as UTC."""
    try:
        moment = datetime.fromisoformat((text or "").strip())
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
