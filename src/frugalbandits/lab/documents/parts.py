"""The parts that a report is made of: one structure, from which both HTML and Markdown are written."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

__all__ = [
    "Block",
    "Bullets",
    "Cell",
    "Document",
    "Image",
    "Listing",
    "Mark",
    "Paragraph",
    "Section",
    "Table",
]

#: What is said about a cell beyond its text.
Mark: TypeAlias = Literal[
    "", "strong", "weak", "holds", "partly", "does not hold", "not at this scale", "not tested"
]


class Cell(NamedTuple):
    """A cell of a table: its text, a second line that explains it, and a mark."""

    text: str
    note: str = ""
    mark: Mark = ""


class Table(NamedTuple):
    """A table: its caption, its heads, the alignment of each column ("l" or "r"), and its rows."""

    caption: str
    heads: tuple[str, ...]
    align: str
    rows: tuple[tuple[Cell, ...], ...]
    stacked: bool = False  # whether its cells may stand below each other where there is little room


class Paragraph(NamedTuple):
    """A paragraph of plain text."""

    text: str


class Bullets(NamedTuple):
    """A list of plain texts."""

    items: tuple[str, ...]


class Listing(NamedTuple):
    """Lines to type."""

    text: str


class Image(NamedTuple):
    """A figure with its caption; the two files hold the same picture."""

    title: str
    caption: str
    link: str  # relative to the report
    png: Path
    vector: Path


Block: TypeAlias = Table | Paragraph | Bullets | Listing | Image


class Section(NamedTuple):
    """A section of the report."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]


class Document(NamedTuple):
    """A whole report."""

    title: str
    lead: tuple[str, ...]
    sections: tuple[Section, ...]
