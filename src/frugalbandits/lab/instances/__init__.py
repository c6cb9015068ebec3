"""Problems by name, from files, and at random."""

from frugalbandits.lab.instances.catalogue import as_problem, describe, instance, instances
from frugalbandits.lab.instances.drawn import random_problem, random_problems
from frugalbandits.lab.instances.formats import read_instance, write_instance

__all__ = [
    "as_problem",
    "describe",
    "instance",
    "instances",
    "random_problem",
    "random_problems",
    "read_instance",
    "write_instance",
]
