"""What a shell offers when Tab is pressed: names of policies, instances, experiments and families."""

from __future__ import annotations

from collections.abc import Iterable

import frugalbandits as fb
from frugalbandits.lab.paper.experiments import experiments

__all__ = [
    "ALONE",
    "beginning",
    "families",
    "instances",
    "names_of_experiments",
    "policies",
    "rewards",
]

#: The families of the leaderboard that have a measure and a page of their own.
ALONE = ("worlds", "contextual", "contextual-late", "contextual-wanted")


def beginning(incomplete: str, known: Iterable[str]) -> list[str]:
    """Return those that begin so.

    Examples
    --------
    >>> beginning("pe", ["cof", "pe-cs"])
    ['pe-cs']
    """
    return [name for name in known if name.startswith(incomplete)]


def policies(incomplete: str) -> list[str]:
    """Complete a policy or a group of them."""
    return beginning(incomplete, (*fb.policies(), "all", "every", "moving"))


def instances(incomplete: str) -> list[str]:
    """Complete a built-in instance; files are the shell's own business."""
    return beginning(incomplete, fb.instances())


def rewards(incomplete: str) -> list[str]:
    """Complete a reward model."""
    return beginning(incomplete, ("bernoulli", "beta"))


def worlds(incomplete: str) -> list[str]:
    """Complete a world by name."""
    from frugalbandits.lab.worlds import PRESETS  # takes time to import

    return beginning(incomplete, PRESETS)


def names_of_experiments(incomplete: str) -> list[str]:
    """Complete an experiment of the paper."""
    return beginning(incomplete, (*experiments(), "all"))


def families(incomplete: str) -> list[str]:
    """Complete a family of the leaderboard."""
    from frugalbandits.lab.leaderboard import board  # takes time to import

    return beginning(incomplete, (*board.families(), "all", *ALONE))
