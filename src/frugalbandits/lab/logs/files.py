"""Open a file of a log, whatever its separator and encoding; an error names the row."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frugalbandits.errors import InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SUFFIXES", "check_file", "find_ragged_row", "first_line", "json_records", "open_csv"]

#: Kinds of files, by suffix.
SUFFIXES = (".csv", ".tsv", ".parquet", ".ndjson", ".jsonl", ".json")
_SEPARATORS = ",;\t|"
_CHUNK = 1 << 20
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def check_file(path: Path) -> None:
    """Refuse what is no file of a log."""
    if path.suffix.lower() not in SUFFIXES:
        kinds = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise InputError(f"a log must end in {kinds}, but it is {str(path)!r}")
    if not path.is_file():
        what = "it is a folder" if path.is_dir() else "there is no such file"
        raise InputError(f"cannot read {str(path)!r}: {what}")
    if not path.stat().st_size:
        raise InputError(f"{str(path)!r}: the file is empty")


def open_csv(path: Path) -> pl.LazyFrame:
    """Return a table of text.

    The separator is the one of `,`, `;`, tab and `|` that the header has most of. A file that is no UTF-8 is
    read as Windows-1252, which Latin-1 text mostly is, so names may need a look.
    """
    import polars as pl

    encoding = _encoding(path)
    source: Any = path
    if encoding != "utf-8":
        text = path.read_bytes().decode(encoding, errors="replace")
        source = io.BytesIO(text.encode())
    # As text: a value that is no number is then named with its row, and not by a guess of polars.
    lazy = pl.scan_csv(source, infer_schema=False, separator=_separator(path, encoding))
    return _with_bare_names(lazy, path)


def _with_bare_names(lazy: pl.LazyFrame, path: Path) -> pl.LazyFrame:
    names = lazy.collect_schema().names()
    bare = [name.strip().strip("\ufeff") for name in names]
    twice = [name for name in bare if bare.count(name) > 1]
    if twice:
        raise InputError(f"{str(path)!r}: two columns are called {twice[0]!r}")
    return lazy if names == bare else lazy.rename(dict(zip(names, bare, strict=True)))


def _encoding(path: Path) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        chunk = file.read(_CHUNK)
        for bom, name in _BOMS.items():
            if chunk.startswith(bom):
                return name
        try:
            while chunk:
                decoder.decode(chunk)
                chunk = file.read(_CHUNK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8"


def _separator(path: Path, encoding: str) -> str:
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        header = file.readline()
    outside = "".join(header.split('"')[::2])
    return max(_SEPARATORS, key=outside.count)


def find_ragged_row(path: Path) -> str | None:
    """Return what to say of the first row that has more fields than the header; None where there is none."""
    encoding = _encoding(path)
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        rows = csv.reader(file, delimiter=_separator(path, encoding))
        width = len(next(rows, []))
        for number, row in enumerate(rows, 1):
            if len(row) > width:
                return f"row {number:,}: there are {len(row)} fields, but the header has {width}"
    return None


def json_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file: one a line, or the objects of one JSON array."""
    where = repr(str(path))
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        if path.suffix.lower() == ".json":
            whole = file.read()
            try:
                given = json.loads(whole)
            except ValueError as error:
                if "Extra data" not in str(error):
                    raise InputError(f"cannot read {where}: {error}") from None
                lines = list(enumerate(whole.splitlines(), 1))  # one object a line, whatever the suffix says
            else:
                yield from _objects(given, where)
                return
        else:
            lines = enumerate(file, 1)  # type: ignore[assignment]
        for number, line in lines:
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError as error:
                raise InputError(f"{where}, row {number:,}: this is no JSON: {error}") from None
            if not isinstance(record, dict):
                raise InputError(f"{where}, row {number:,}: this is no JSON object: {line.strip()[:60]!r}")
            yield record


def _objects(given: Any, where: str) -> Iterator[dict[str, Any]]:
    if isinstance(given, dict):
        # Pages of an API hold their items in `data`.
        items = given["data"] if isinstance(given.get("data"), list) else [given]
    else:
        items = given
    if not isinstance(items, list):
        raise InputError(f"{where}: a JSON log is a list of objects, but this is {type(given).__name__}")
    for number, record in enumerate(items, 1):
        if not isinstance(record, dict):
            raise InputError(f"{where}, row {number:,}: this is no JSON object: {str(record)[:60]!r}")
        yield record


def first_line(error: Exception) -> str:
    """Return the first line of an error of polars."""
    return (str(error).splitlines() or [type(error).__name__])[0]
