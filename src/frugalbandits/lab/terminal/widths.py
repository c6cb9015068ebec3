"""Tables for any width: long text wraps, and a number is never cut.

A table whose numbers and words do not fit side by side becomes records: the first column as a heading,
and below it a line for each of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

__all__ = ["Column", "Row", "fitted", "folded", "plain_table", "side_by_side"]

#: Cells of one row, the first one its heading.
Row: TypeAlias = Sequence[str | Text]

_BOLD = Style(bold=True)
_DIM = Style(dim=True)
# Text is not squeezed into less than this.
_SHORTEST = 12
_BREAKS = " -/_:,"
_BREAKS_OF_WORDS = "(,"


class Column(NamedTuple):
    """A head, and what stands below it.

    Numbers are never broken, words only at spaces, and names anywhere if they must.
    """

    head: str
    kind: Literal["number", "words", "name"] = "number"


def plain_table(*heads: str) -> Table:
    """Return an empty table in the style of all of them."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for head in heads:
        table.add_column(head)
    return table


def fitted(columns: Sequence[Column], rows: Sequence[Row], width: int, tight: bool = False) -> RenderableType:
    r"""Return the rows as a table of at most `width` columns of text, or as records where none fits.

    Examples
    --------
    >>> columns = [Column("arm", "name"), Column("mean pulls"), Column("role", "words")]
    >>> rows = [["a1", "1,234,567", "cheap"], ["a2", "12", "the best of all"]]
    >>> def show(width):
    ...     console = Console(width=width)
    ...     with console.capture() as shown:
    ...         console.print(fitted(columns, rows, width))
    ...     print("\n".join(line.rstrip() for line in shown.get().splitlines()))
    >>> show(31)
    arm   mean pulls   role
    ───────────────────────────────
    a1     1,234,567   cheap
    a2            12   the best of
                       all
    >>> show(23)
    a1
      mean pulls  1,234,567
      role        cheap
    a2
      mean pulls  12
      role        the best
                  of all
    """
    return side_by_side(columns, rows, width, tight) or _records(columns, rows, width)


def side_by_side(
    columns: Sequence[Column], rows: Sequence[Row], width: int, tight: bool = False
) -> Table | None:
    """Return the rows as a table, or None where not even its numbers and longest words fit.

    Parameters
    ----------
    columns, rows
        What is shown.
    width
        Columns of text that there are.
    tight
        Leave less room between columns.
    """
    texts = [[_text(row[place]) for row in rows] for place in range(len(columns))]
    least = [_least(column, cells) for column, cells in zip(columns, texts, strict=True)]
    wished = [
        max(_longest([column.head, *(cell.plain for cell in cells)]), low)
        for column, cells, low in zip(columns, texts, least, strict=True)
    ]
    table = plain_table(*(column.head for column in columns))
    if tight:
        table.padding = (0, 1, 0, 0)
    for column, made, low in zip(columns, table.columns, least, strict=True):
        made.width = low
        made.overflow = "fold"
        made.justify = "right" if column.kind == "number" else "left"
    spare = width - Console(width=100_000).measure(table).maximum
    if spare < 0:
        return None
    widths = _shared_out(spare, least, wished)
    for made, chosen in zip(table.columns, widths, strict=True):
        made.width = chosen
    for row in zip(*texts, strict=True):
        cells = (
            _folded_text(cell, chosen) if column.kind == "name" else cell
            for column, cell, chosen in zip(columns, row, widths, strict=True)
        )
        table.add_row(*cells)
    return table


def folded(name: str, width: int, breaks: str = _BREAKS) -> list[str]:
    """Return a name in pieces of at most `width`, broken after a space, a hyphen or the like if one is there.

    Examples
    --------
    >>> folded("zero-one-ai/Yi-34B-Chat", 14), folded("abcdefgh", 5), folded("a1", 5)
    (['zero-one-ai/', 'Yi-34B-Chat'], ['abcde', 'fgh'], ['a1'])
    """
    pieces = []
    while cell_len(name) > width:
        end = len(name)
        while end > 1 and cell_len(name[:end].rstrip()) > width:
            end -= 1
        at = max(name.rfind(sign, 0, end) for sign in breaks) + 1
        # A piece of a few letters is harder to read than a word that is cut.
        end = at if at > width // 3 else end
        pieces.append(name[:end].rstrip())
        name = name[end:].lstrip()
    return [*pieces, name]


def _records(columns: Sequence[Column], rows: Sequence[Row], width: int) -> Group:
    heads = [" ".join(column.head.split()) for column in columns[1:]]
    numbers = [
        word
        for row in rows
        for column, cell in zip(columns, row, strict=True)
        if column.kind == "number"
        for word in _text(cell).plain.split()
    ]
    room = width - 4 - _longest(heads)
    beside = room >= _longest(numbers)
    parts: list[RenderableType] = []
    for row in rows:
        first = _text(row[0])
        first.overflow = "fold"
        first.stylize(_BOLD)
        parts.append(first)
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style=_DIM if beside else "", width=_longest(heads) if beside else None)
        if beside:
            grid.add_column(overflow="fold")
        for head, column, cell in zip(heads, columns[1:], row[1:], strict=True):
            value = _text(cell)
            if column.kind == "name":
                value = _folded_text(value, max(1, room if beside else width - 4))
            elif column.kind == "words":
                value = _words_folded(value, max(1, room if beside else width - 4))
            for line in [(head, value)] if beside else [(Text(head, _DIM),), (Padding(value, (0, 0, 0, 2)),)]:
                grid.add_row(*line)
        parts.append(Padding(grid, (0, 0, 0, 2), expand=False))
    return Group(*parts)


def _shared_out(spare: int, least: Sequence[int], wished: Sequence[int]) -> list[int]:
    """Return widths between the least and the wished; the narrowest that lacks some gets the next one."""
    widths = list(least)
    for _ in range(spare):
        lacking = [place for place, width in enumerate(widths) if width < wished[place]]
        if not lacking:
            break
        widths[min(lacking, key=lambda place: widths[place])] += 1
    return widths


def _least(column: Column, cells: Sequence[Text]) -> int:
    head = _longest(column.head.split())
    if column.kind == "number":
        return max(head, _longest([cell.plain for cell in cells]))
    words = _longest([word for cell in cells for word in cell.plain.split()])
    narrow = min(_longest([cell.plain for cell in cells]), _SHORTEST)
    return max(head, narrow, words if column.kind == "words" else 0)


def _longest(texts: Sequence[str]) -> int:
    return max((cell_len(line) for text in texts for line in text.split("\n")), default=0)


def _text(cell: str | Text) -> Text:
    return cell.copy() if isinstance(cell, Text) else Text(cell)


def _words_folded(text: Text, width: int) -> Text:
    """Break what has no spaces where an argument begins, before it has to be cut anywhere."""
    if all(cell_len(word) <= width for word in text.plain.split()):
        return text
    words = (piece for word in text.plain.split() for piece in folded(word, width, _BREAKS_OF_WORDS))
    return Text(" ".join(words), text.style)


def _folded_text(name: Text, width: int) -> Text:
    return Text("\n".join(folded(name.plain, width)), name.style)
