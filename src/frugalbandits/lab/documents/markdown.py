"""A report as Markdown, in GitHub's style."""

from __future__ import annotations

import re
from collections.abc import Iterator

from frugalbandits.lab.documents.parts import Block, Bullets, Cell, Document, Image, Listing, Paragraph, Table

__all__ = ["to_markdown"]

_SPECIAL = re.compile(r"([\\`*_\[|~])")


def to_markdown(document: Document) -> str:
    """Return the report as Markdown; pictures are links."""
    lines = [f"# {_text(document.title)}"]
    lines += [_text(paragraph) for paragraph in document.lead]
    lines.append("\n".join(f"- [{_text(each.title)}](#{_slug(each.title)})" for each in document.sections))
    for section in document.sections:
        lines.append(f"## {_text(section.title)}")
        for block in section.blocks:
            lines += _block(block)
    return "\n\n".join(lines) + "\n"


def _slug(title: str) -> str:
    """Return the anchor that GitHub, and Sphinx with its settings, give to a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(text):
            yield _text(text)
        case Bullets(items):
            yield "\n".join(f"- {_text(item)}" for item in items)
        case Listing(text):
            yield f"```sh\n{text}\n```"
        case Image():
            yield f"### {_text(block.title)}"
            yield f"![{_text(block.title)}]({block.link})"
            yield _text(block.caption)
        case Table():
            yield f"**{_text(block.caption)}**"
            rules = ("---:" if side == "r" else "---" for side in block.align)
            rows = [map(_text, block.heads), rules, *(map(_cell, row) for row in block.rows)]
            yield "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(cell: Cell) -> str:
    text = _text(cell.text)
    if cell.mark in ("strong", "holds", "partly", "does not hold", "not at this scale", "not tested"):
        text = f"**{text}**"
    elif cell.mark == "weak":
        text = f"*{text}*"
    return f"{text}<br><sub>{_text(cell.note)}</sub>" if cell.note else text


def _text(text: str) -> str:
    r"""Return a text that Markdown shows as it is, on one line.

    Examples
    --------
    >>> print(_text("a* | <b>"))
    a\* \| &lt;b&gt;
    """
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return " ".join(_SPECIAL.sub(r"\\\1", escaped).split())
