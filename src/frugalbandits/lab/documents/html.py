"""A report as one HTML page that needs nothing else: styles and pictures are inside."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from html import escape

from frugalbandits.lab.documents.parts import Block, Bullets, Cell, Document, Image, Listing, Paragraph, Table

__all__ = ["fragment", "to_html"]

# A sharp picture may cost this much more than it must.
_SMALL_VECTOR = 60_000

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --dim: #5b6573; --paper: #fff; --line: #d9dee5;
  --head: #f3f5f8; --link: #0b5cad; --good: #0a6b3d; --fair: #7a5200; --bad: #a3242b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --dim: #a3adba; --paper: #14181e;
  --line: #343c47; --head: #1e242c; --link: #7db8f5; --good: #6fd39f; --fair: #e5b95c; --bad: #ff938f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 2rem 1.25rem 4rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  overflow-wrap: break-word; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.4rem; margin: 3rem 0 .75rem; padding-top: .75rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p, ul { max-width: 48rem; margin: .6rem 0; }
.lead { font-size: 1.1rem; }
a { color: var(--link); }
nav ul { list-style: none; max-width: none; padding: 0; margin: 1.25rem 0 0; display: flex;
  flex-wrap: wrap; gap: .3rem 1.25rem; }
pre { background: var(--head); border: 1px solid var(--line); border-radius: 6px; padding: .8rem 1rem;
  overflow-x: auto; }
figure { max-width: 60rem; margin: 1rem 0 2.5rem; }
figure img { display: block; width: 100%; height: auto; background: #fff; border: 1px solid var(--line);
  border-radius: 6px; padding: .5rem; }
figcaption { max-width: 48rem; margin-top: .6rem; color: var(--dim); }
.box { overflow-x: auto; margin: 1rem 0 1.75rem; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 0 0 .5rem; }
th, td { padding: .4rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
thead th { background: var(--head); vertical-align: bottom; }
.r { text-align: right; white-space: nowrap; }
.stacked td:first-child { white-space: nowrap; }
.note { display: block; margin-top: .25rem; font-size: .85em; color: var(--dim); }
.strong { font-weight: 700; }
.weak { color: var(--bad); font-style: italic; }
.badge { display: inline-block; padding: .05rem .55rem; border: 1.5px solid; border-radius: 1rem;
  font-weight: 600; font-size: .85rem; }
.holds { color: var(--good); } .partly { color: var(--fair); border-style: dashed; }
.does-not-hold { color: var(--bad); border-style: double; border-width: 3px; }
.not-tested, .not-at-this-scale { color: var(--dim); border-style: dotted; }
@media (max-width: 48rem) { body { padding: 1.25rem 1rem 3rem; } h1 { font-size: 1.5rem; }
  .stacked thead { display: none; }
  .stacked caption, .stacked tbody, .stacked tr, .stacked td { display: block; }
  .stacked tr { border-bottom: 1px solid var(--line); padding: .6rem 0; }
  .stacked td { border: 0; padding: .2rem 0; } }
@media print { :root { color-scheme: light; --ink: #000; --dim: #333; --paper: #fff; --line: #bbb;
  --head: #eee; --link: #000; --good: #000; --fair: #000; --bad: #000; }
  body { max-width: none; padding: 0; font-size: 10pt; } nav { display: none; } .box { overflow: visible; }
  tr, figure, pre { break-inside: avoid; } h2, h3, caption { break-after: avoid; }
  thead { display: table-header-group; } }
""".strip()

# Colours come from the notebook, so that the tables are as readable in a dark one as in a light one.
_NOTEBOOK = """
.frugal table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .4em 0 .8em; }
.frugal caption { caption-side: top; text-align: left; color: inherit; font-weight: 600; padding: 0 0 .4em;
  white-space: normal; }
.frugal th, .frugal td { color: inherit; background: transparent; text-align: left; vertical-align: top;
  padding: .25em .7em .25em 0; border: 0; border-bottom: 1px solid rgba(128, 128, 128, .4); }
.frugal .r { text-align: right; white-space: nowrap; }
.frugal .strong { font-weight: 700; }
.frugal .box { overflow-x: auto; }
""".strip()

_SIGNS = {
    "holds": "✓",
    "partly": "◐",
    "does not hold": "✗",
    "not tested": "\N{EN DASH}",
    "not at this scale": "~",
}


def to_html(document: Document) -> str:
    """Return the report as one page."""
    return "\n".join([*_head(document), *_body(document), "</body>", "</html>", ""])


def fragment(tables: Iterable[Table]) -> str:
    """Return tables as a piece of HTML that stands in a notebook and changes nothing around it."""
    lines = [line for table in tables if table.rows for line in _table(table)]
    return "\n".join(['<div class="frugal">', f"<style>\n{_NOTEBOOK}\n</style>", *lines, "</div>"])


def _head(document: Document) -> Iterator[str]:
    yield "<!doctype html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(document.title)}</title>"
    yield f"<style>\n{_STYLE}\n</style>"
    yield "</head>"


def _body(document: Document) -> Iterator[str]:
    yield "<body>"
    yield f"<h1>{escape(document.title)}</h1>"
    for paragraph in document.lead:
        yield f'<p class="lead">{escape(paragraph)}</p>'
    yield '<nav aria-label="Contents"><ul>'
    for section in document.sections:
        yield f'<li><a href="#{escape(section.anchor)}">{escape(section.title)}</a></li>'
    yield "</ul></nav>"
    yield "<main>"
    for section in document.sections:
        yield f'<section id="{escape(section.anchor)}">'
        yield f"<h2>{escape(section.title)}</h2>"
        for block in section.blocks:
            yield from _block(block)
        yield "</section>"
    yield "</main>"


def _block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(text):
            yield f"<p>{escape(text)}</p>"
        case Bullets(items):
            yield "<ul>"
            yield from (f"<li>{escape(item)}</li>" for item in items)
            yield "</ul>"
        case Listing(text):
            yield f"<pre><code>{escape(text)}</code></pre>"
        case Image():
            yield f"<h3>{escape(block.title)}</h3>"
            yield "<figure>"
            yield f'<img src="{_inlined(block)}" alt="{escape(block.title)}">'
            yield f"<figcaption>{escape(block.caption)}</figcaption>"
            yield "</figure>"
        case Table():
            yield from _table(block)


def _table(table: Table) -> Iterator[str]:
    # A box that scrolls must be reachable from the keyboard.
    yield f'<div class="box" tabindex="0" role="region" aria-label="{escape(table.caption)}">'
    yield f"<table{' class=stacked' if table.stacked else ''}>"
    yield f"<caption>{escape(table.caption)}</caption>"
    sides = [' class="r"' if side == "r" else "" for side in table.align]
    heads = "".join(
        f'<th scope="col"{side}>{escape(head)}</th>' for head, side in zip(table.heads, sides, strict=True)
    )
    yield f"<thead><tr>{heads}</tr></thead>"
    yield "<tbody>"
    for row in table.rows:
        cells = (f"<td{side}>{_cell(cell)}</td>" for cell, side in zip(row, sides, strict=True))
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody>"
    yield "</table>"
    yield "</div>"


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    if cell.mark in _SIGNS:
        kind = cell.mark.replace(" ", "-")
        text = f'<span class="badge {kind}">{_SIGNS[cell.mark]} {text}</span>'
    elif cell.mark:
        text = f'<span class="{cell.mark}">{text}</span>'
    return f'{text}<span class="note">{escape(cell.note)}</span>' if cell.note else text


def _inlined(image: Image) -> str:
    raster = image.png.read_bytes()
    vector = image.vector.read_bytes() if image.vector.is_file() else b""
    if vector and len(vector) <= max(len(raster), _SMALL_VECTOR):
        return f"data:image/svg+xml;base64,{base64.b64encode(vector).decode()}"
    return f"data:image/png;base64,{base64.b64encode(raster).decode()}"
