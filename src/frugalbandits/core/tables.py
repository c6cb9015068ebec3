"""Small tables of text: for a prompt, and for a notebook."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

__all__ = ["fitted_text", "html_table", "printable", "text_table"]

_CELL = "padding:.2em .6em;border-bottom:1px solid rgba(128,128,128,.4)"


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = ()) -> str:
    """Return a table in columns; those in `left` are flush left, the others flush right.

    Examples
    --------
    >>> print(text_table(["option", "cost"], [["small", "0.2"], ["large", "3"]], left={0}))
    option  cost
    small    0.2
    large      3
    """
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = []
    for row in [heads, *rows]:
        cells = (
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def fitted_text(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, left: Collection[int] = ()
) -> str:
    """Return a table, or where it is too wide a record a row: its first cell, and a line for each other one.

    Examples
    --------
    >>> print(fitted_text(["option", "cost"], [["small", "0.2"], ["large", "3"]], 8, left={0}))
    small
      cost 0.2
    large
      cost 3
    """
    table = text_table(heads, rows, left)
    if max(map(len, table.splitlines())) <= width:
        return table
    reach = max(map(len, heads[1:]), default=0)
    lines = []
    for first, *others in rows:
        lines.append(first)
        lines += [f"  {head:<{reach}} {cell}" for head, cell in zip(heads[1:], others, strict=True)]
    return "\n".join(lines)


def printable(name: str) -> str:
    r"""Return a name without characters that would move the cursor or end the line.

    Examples
    --------
    >>> printable("two\nlines")
    'two lines'
    """
    return "".join(character if character.isprintable() else " " for character in name)


def html_table(
    lines: Sequence[str], heads: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = ()
) -> str:
    """Return a table as HTML below some lines of text, in the colours of whatever page it stands on.

    Examples
    --------
    >>> html_table(["Two <options>"], ["option"], [["small"]], left={0})[:35]
    '<div><p>Two &lt;options&gt;</p><tab'
    """

    def row(cells: Sequence[str], tag: str) -> str:
        written = (
            f'<{tag} style="text-align:{"left" if i in left else "right"};{_CELL}">{escape(cell)}</{tag}>'
            for i, cell in enumerate(cells)
        )
        return f"<tr>{''.join(written)}</tr>"

    text = "<br>".join(map(escape, lines))
    body = "".join(row(cells, "td") for cells in rows)
    start = f"<div><p>{text}</p><table style='border-collapse:collapse'>"
    return f"{start}<thead>{row(heads, 'th')}</thead><tbody>{body}</tbody></table></div>"
