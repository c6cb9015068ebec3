"""Figures with matplotlib: instances, regret over time, the promise, bounds, replays, routing."""

from frugalbandits.lab.figures.advice import plot_advice
from frugalbandits.lab.figures.bounds import plot_bounds, plot_ratio
from frugalbandits.lab.figures.contextual import plot_routing
from frugalbandits.lab.figures.panels import LEAST, LEAST_LINE, REGRETS, Panel, plot_instance, plot_regret
from frugalbandits.lab.figures.promise import PromisePanel, PromisePoint, plot_promise, plot_promise_panels
from frugalbandits.lab.figures.replay import plot_replay
from frugalbandits.lab.figures.style import SUFFIXES, save
from frugalbandits.lab.figures.worlds import plot_world

__all__ = [
    "LEAST",
    "LEAST_LINE",
    "REGRETS",
    "SUFFIXES",
    "Panel",
    "PromisePanel",
    "PromisePoint",
    "plot_advice",
    "plot_bounds",
    "plot_instance",
    "plot_promise",
    "plot_promise_panels",
    "plot_ratio",
    "plot_regret",
    "plot_replay",
    "plot_routing",
    "plot_world",
    "save",
]
