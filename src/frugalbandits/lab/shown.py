"""The one door from values to what shows them: in a notebook as a table, on request as a figure.

Values stand below what draws and writes (the layers in pyproject.toml make an exception for this module
alone), and what is behind the door has no part in what is computed: `sweeps.digest` leaves it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from frugalbandits.errors import extra_needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Shown",
    "advice_figure_of",
    "figure_of",
    "replay_figure_of",
    "routing_figure_of",
    "world_figure_of",
]


class Shown:
    """A value that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        with extra_needed("a table in a notebook"):
            from frugalbandits.lab.views import html_of

        return html_of(self)


def figure_of(result: Any, regret: Literal["cost", "quality", "summed", "scaled"]) -> Figure:
    """Return the figure of one result."""
    with extra_needed("a figure"):
        from frugalbandits.lab import views

    return views.figure_of(result, regret)


def world_figure_of(result: Any, regret: Literal["scaled", "summed", "cost", "quality"]) -> Figure:
    """Return the figure of one result in a world."""
    with extra_needed("a figure"):
        from frugalbandits.lab import views

    return views.world_figure_of(result, regret)


def advice_figure_of(advice: Any) -> Figure:
    """Return the figure of advice."""
    with extra_needed("a figure"):
        from frugalbandits.lab import views

    return views.plot_advice(advice)


def replay_figure_of(replay: Any) -> Figure:
    """Return the figure of a replay."""
    with extra_needed("a figure"):
        from frugalbandits.lab import views

    return views.replay_figure_of(replay)


def routing_figure_of(result: Any) -> Figure:
    """Return the figure of one result on a population of queries."""
    with extra_needed("a figure"):
        from frugalbandits.lab import views

    return views.routing_figure_of(result)
