"""From raw rating data to a problem: every genre is an arm, its mean reward comes from its ratings.

Two data sets are known, MovieLens 25M and the Goodreads Book Graph, in the files that their makers
offer. Files are read as streams: memory does not grow with their size. Nothing of either data set comes
with this package, and each has terms of use; the documentation page on raw data names them.
"""

from __future__ import annotations

from frugalbandits.lab.ratings.genres import REWARDS, GenreRatings, check_above, read_costs
from frugalbandits.lab.ratings.goodreads import read_goodreads
from frugalbandits.lab.ratings.movielens import UNLABELLED, read_movielens
from frugalbandits.lab.ratings.reading import Fault, Source

__all__ = ["REWARDS", "UNLABELLED", "Fault", "GenreRatings", "Source"]
__all__ += ["check_above", "read_costs", "read_goodreads", "read_movielens"]
