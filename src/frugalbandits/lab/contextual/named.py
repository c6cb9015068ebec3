"""Routing problems by name."""

from __future__ import annotations

import re

from frugalbandits.core.quality import Quality, RelativeToBest
from frugalbandits.errors import unknown_name
from frugalbandits.lab.contextual.digits import digits_routing
from frugalbandits.lab.contextual.problem import ContextualProblem
from frugalbandits.lab.contextual.synthetic import synthetic_routing

__all__ = ["ROUTING_INSTANCES", "routing_instance"]

#: The names of routing problems; N is a seed.
ROUTING_INSTANCES = ("digits-routing", "synthetic-N", "misspecified-N")


def routing_instance(name: str, quality: Quality | str | None = None) -> ContextualProblem:
    """Return a routing problem by its name.

    Parameters
    ----------
    name
        "digits-routing": handwritten digits and five real classifiers of scikit-learn, made on first use.
        "synthetic-7": `synthetic_routing` with seed 7. "misspecified-7": the same kind, with rewards that no
        linear model fits.
    quality
        The bar; by default 0.05 below the best option.

    Examples
    --------
    >>> routing_instance("synthetic-7", "at-least:0.8").bar
    0.8
    """
    bar = RelativeToBest(0.05) if quality is None else quality
    if name == "digits-routing":
        return digits_routing(bar)
    found = re.fullmatch(r"(synthetic|misspecified)-([0-9]{1,9})", str(name))
    if found is None:
        raise unknown_name("routing problem", str(name), ROUTING_INSTANCES)
    return synthetic_routing(int(found[2]), misspecified=found[1] == "misspecified", quality=bar)
