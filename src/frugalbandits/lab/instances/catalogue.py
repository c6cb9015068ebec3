"""Problems by name: the paper's five, and four tables of language models."""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple

from frugalbandits.core.quality import Quality
from frugalbandits.errors import InputError, unknown_name
from frugalbandits.lab.instances.formats import is_table, problem_from
from frugalbandits.lab.problem import Problem

__all__ = ["MAIN", "TABLES", "as_problem", "describe", "instance", "instance_title", "instances"]

#: The instances of the paper's comparison.
MAIN = ("goodreads", "movielens")
#: The tables of language models with measured quality and cost.
TABLES = ("routerbench-mbpp", "routerbench-arc", "swebench", "aider-polyglot")

_TABLE_ALPHA = 0.1


class _Entry(NamedTuple):
    title: str
    file: str
    origin: str


_KNOWN = {
    "goodreads": _Entry(
        "Goodreads",
        "instances/good_reads_instance.txt",
        "the paper's Goodreads instance: share of reviews rated above 3 per genre, random costs",
    ),
    "movielens": _Entry(
        "MovieLens",
        "instances/movie_lens_instance.txt",
        "the paper's MovieLens 25M instance: mean rating per genre divided by 5, random costs",
    ),
    "nu1": _Entry(
        "nu1",
        "instances/ablation_nu1.txt",
        "the paper's ablation of exclusive sampling: 7 synthetic arms",
    ),
    "nu2": _Entry(
        "nu2",
        "instances/ablation_nu2.txt",
        "the paper's ablation of combining samples: 12 synthetic arms",
    ),
    "cost-biased": _Entry(
        "cost-biased",
        "instances/cost_biased.txt",
        "the paper's last experiment, on cost-biased sampling: 13 synthetic arms; alpha is ours",
    ),
    "routerbench-mbpp": _Entry(
        "RouterBench MBPP",
        "options/routerbench_mbpp.csv",
        "RouterBench, MBPP: measured quality and dollars of LLMs",
    ),
    "routerbench-arc": _Entry(
        "RouterBench ARC",
        "options/routerbench_arc.csv",
        "RouterBench, ARC-Challenge: measured quality and dollars of LLMs",
    ),
    "swebench": _Entry(
        "SWE-bench",
        "options/swebench_bash_only.csv",
        "SWE-bench, bash only: measured quality and dollars of LLMs",
    ),
    "aider-polyglot": _Entry(
        "Aider polyglot",
        "options/aider_polyglot.csv",
        "Aider polyglot: measured quality and dollars of LLMs",
    ),
}


def instances() -> tuple[str, ...]:
    """Return the names of the built-in instances, the paper's five first.

    Examples
    --------
    >>> instances()[:5]
    ('goodreads', 'movielens', 'nu1', 'nu2', 'cost-biased')
    """
    return tuple(_KNOWN)


def describe(name: str) -> str:
    """Say in one line where the numbers of a built-in instance come from.

    Examples
    --------
    >>> describe("nu1")
    "the paper's ablation of exclusive sampling: 7 synthetic arms"
    """
    return _known(name).origin


def instance(name: str, alpha: float | None = None, *, quality: Quality | str | None = None) -> Problem:
    """Return a built-in instance.

    Parameters
    ----------
    name
        One of `instances()`.
    alpha
        Subsidy factor in place of the instance's own. The option tables ("routerbench-mbpp",
        "routerbench-arc", "swebench", "aider-polyglot") have none of their own and get 0.1.
    quality
        Another quality bar in place of alpha, as for `Problem`.

    Examples
    --------
    >>> instance("goodreads")
    Problem(8 arms, alpha=0.05, threshold=0.6764, optimal='a1', best='a7')
    >>> instance("routerbench-mbpp", alpha=0.2).names[3]
    'mistralai/mixtral-8x7b-chat'
    """
    file = _known(name).file
    if alpha is None and quality is None and is_table(file):
        alpha = _TABLE_ALPHA
    text = (resources.files("frugalbandits.lab.instances") / "data" / file).read_text(encoding="utf-8")
    return problem_from(text, name, is_table(file), alpha, quality)


def as_problem(problem: Problem | str) -> Problem:
    """Return a problem as it is, and for a name the built-in instance of that name.

    Examples
    --------
    >>> as_problem("nu1") == instance("nu1")
    True
    """
    if isinstance(problem, Problem):
        return problem
    if isinstance(problem, str):
        return instance(problem)
    raise InputError(f"a problem is a Problem or the name of a built-in instance, but it is {problem!r}")


def instance_title(name: str) -> str:
    """Return what tables and figures call an instance; a name that is not known stays as it is.

    Examples
    --------
    >>> instance_title("movielens"), instance_title("mine")
    ('MovieLens', 'mine')
    """
    return _KNOWN[name].title if name in _KNOWN else name


def _known(name: str) -> _Entry:
    if not isinstance(name, str) or name not in _KNOWN:
        raise unknown_name("instance", str(name), _KNOWN)
    return _KNOWN[name]
