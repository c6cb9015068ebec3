"""What all figures share: the style, how a policy looks and is called, and how a figure is saved.

A policy has one colour, one kind of dashes and one mark, whatever the figure and whatever the order in
which policies come. Colours can be told apart by colour-blind readers; dashes and marks alone are enough
for a print in grey.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine
from matplotlib.ticker import EngFormatter, FuncFormatter

from frugalbandits.core.files import written_whole
from frugalbandits.errors import InputError
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.text import printable, readable

__all__ = [
    "BLUE",
    "GREEN",
    "INK",
    "SUFFIXES",
    "Look",
    "bar_label",
    "blank",
    "drawing",
    "legend_below",
    "literal",
    "looks",
    "readable_ticks",
    "save",
    "short_ticks",
]

#: File formats of `save`, by suffix.
SUFFIXES = (".png", ".pdf", ".svg")
_NOTEBOOK_DPI = 100

#: The colours of a*, of i*, and of text and lines.
GREEN, BLUE, INK = "#009E73", "#0072B2", "#333333"

_STYLE: Any = {
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.labelsize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "grid.color": "#e4e4e4",
    "hatch.linewidth": 0.8,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    # The same figure is the same file.
    "svg.hashsalt": "frugalbandits",
}


class Look(NamedTuple):
    """How a policy is drawn."""

    colour: str
    dashes: Any
    mark: str

    @property
    def line(self) -> dict[str, Any]:
        """Properties of a curve with marks."""
        return {
            "color": self.colour,
            "linestyle": self.dashes,
            "linewidth": 1.9,
            "marker": self.mark,
            "markersize": 6.0,
            "markeredgecolor": "white",
            "markeredgewidth": 0.8,
        }


# Okabe and Ito's colours without the yellow, which is too light for a line. COF's variants stand beside
# COF, so their colours are far from its own.
_KNOWN = {
    "cof": Look("#D55E00", "-", "o"),
    "pe-cs": Look("#0072B2", (0, (6, 2)), "s"),
    "ucb-cs": Look("#009E73", (0, (1.2, 1.4)), "^"),
    "ts-cs": Look("#CC79A7", (0, (7, 2, 1.5, 2)), "D"),
    "etc-cs": Look("#E69F00", (0, (3, 1.5)), "v"),
    "cof-no-exclusive": Look("#56B4E9", (0, (7, 1.5, 1.5, 1.5, 1.5, 1.5)), "P"),
    "cof-no-combine": Look("#000000", (0, (10, 3)), "X"),
    "cof-cost-biased": Look("#6B6B6B", (0, (1, 2.2)), "h"),
    "glr-cof": Look("#332288", (0, (4, 1, 1, 1)), "p"),
    "voi-cs": Look("#882255", (0, (5, 1.2)), "<"),
    "mix-cs": Look("#AA4499", (0, (12, 2, 1.2, 2)), "*"),
    "ts-cs-discounted": Look("#8C6D31", (0, (9, 2, 3, 2)), ">"),
    "ucb-cs-window": Look("#117733", (0, (2.4, 2.4)), "d"),
    "ucb-cs-restarts": Look("#44AA99", (0, (8, 1.2, 2, 1.2)), "H"),
}
# For policies that are not known: colours that no other has, then what the figure's own policies leave.
_SPARE_COLOURS = ("#661100", "#999933", *(look.colour for look in _KNOWN.values()))
_SPARE_DASHES: tuple[Any, ...] = ((0, (6, 1)), (0, (10, 2, 4, 2)), (0, (3, 3)), (0, (5, 1, 1, 1, 1, 1)))
_SPARE_MARKS = ("8", "$+$", "$x$", "$=$")


def looks(policies: Iterable[str]) -> dict[str, Look]:
    """Return the look of each policy, in the order of their first appearance.

    Examples
    --------
    >>> looks(["mine", "cof"])["cof"] == looks(["cof", "pe-cs"])["cof"]
    True
    """
    names = list(dict.fromkeys(policies))
    taken = {_KNOWN[name].colour for name in names if name in _KNOWN}
    colours = [colour for colour in _SPARE_COLOURS if colour not in taken] or list(_SPARE_COLOURS)
    strangers = [name for name in names if name not in _KNOWN]
    spare = {
        name: Look(
            colours[place % len(colours)],
            # When all colours have been used they come again with other dashes.
            _SPARE_DASHES[(place + place // len(colours)) % len(_SPARE_DASHES)],
            _SPARE_MARKS[place % len(_SPARE_MARKS)],
        )
        for place, name in enumerate(strangers)
    }
    return {name: _KNOWN[name] if name in _KNOWN else spare[name] for name in names}


@contextmanager
def drawing() -> Iterator[None]:
    """Draw in our style, whatever the caller's is."""
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; no reason to fail or to chatter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


class _Inline(Figure):
    """A figure that a notebook shows where it stands, whether or not pyplot is in use."""

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        with drawing():
            self.savefig(picture, format="png", dpi=_NOTEBOOK_DPI)
        return picture.getvalue()


def blank(width: float, height: float, layout: LayoutEngine | None = None) -> Figure:
    """Return an empty figure that lays itself out and can be measured; sizes are in inches."""
    figure = _Inline(figsize=(width, height), layout=layout or "constrained")
    FigureCanvasAgg(figure)
    return figure


def legend_below(figure: Figure, handles: Sequence[Artist], labels: Sequence[str], **options: Any) -> None:
    """Put a legend below all panels, where it covers no data, with as many columns as fit."""
    canvas: Any = figure.canvas
    for columns in range(len(labels), 0, -1):
        legend = figure.legend(handles, labels, loc="outside lower center", ncols=columns, **options)
        if columns == 1 or legend.get_window_extent(canvas.get_renderer()).width <= figure.bbox.width:
            break
        legend.remove()


def bar_label(problem: Problem) -> str:
    r"""Return the quality bar for a title.

    Examples
    --------
    >>> bar_label(Problem([0.7, 0.8], [1, 2], alpha=0.1))
    '$\\alpha$ = 0.1'
    """
    return literal(problem.quality.short).replace("alpha =", r"$\alpha$ =", 1)


def literal(text: str) -> str:
    """Return a text that matplotlib shows as it stands: no formula between two dollar signs."""
    return printable(text).replace("$", r"\$")


def readable_ticks() -> FuncFormatter:
    """Write tick labels with four significant digits."""
    return FuncFormatter(lambda value, _: readable(value))


def short_ticks() -> EngFormatter:
    """Write tick labels as 500k or 2M."""
    return EngFormatter(sep="")


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, PDF or SVG by the suffix of the path; whole or not at all.

    The same figure gives the same bytes: no date is written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"a figure's file must end in .png, .pdf or .svg, but it is {str(path)!r}")
    undated = {".png": {"Software": None}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    with written_whole(path) as temporary, drawing():
        figure.savefig(temporary, format=suffix[1:], dpi=160, metadata=undated[suffix])
