"""Problems by name, from files, and at random.

Two file formats, chosen by the suffix. A `.csv` file is an option table with the columns name, quality
and cost; it has no subsidy factor. Any other file is the plain-text format of the MAB-CS research
releases: lines `key: value`, blank lines, and comments that run from a `#` at the start of a line or
after a blank. To its keys we add one, arm_name_array, which may be left out.
"""

from __future__ import annotations

import csv
import io
import math
import operator
import os
import re
from importlib import resources
from pathlib import Path
from typing import TypeAlias

import numpy as np

from frugalbandits.errors import InputError, unknown_name
from frugalbandits.files import write_text
from frugalbandits.problem import Problem, check_names
from frugalbandits.quality import Quality, RelativeToBest, check_alpha, check_quality

__all__ = ["describe", "instance", "instances", "random_problem", "random_problems"]
__all__ += ["read_instance", "write_instance"]

_FILES = {
    "goodreads": "instances/good_reads_instance.txt",
    "movielens": "instances/movie_lens_instance.txt",
    "nu1": "instances/ablation_nu1.txt",
    "nu2": "instances/ablation_nu2.txt",
    "cost-biased": "instances/cost_biased.txt",
    "routerbench-mbpp": "options/routerbench_mbpp.csv",
    "routerbench-arc": "options/routerbench_arc.csv",
    "swebench": "options/swebench_bash_only.csv",
    "aider-polyglot": "options/aider_polyglot.csv",
}
_ORIGINS = {
    "goodreads": "the paper's Goodreads instance: share of reviews rated above 3 per genre, random costs",
    "movielens": "the paper's MovieLens 25M instance: mean rating per genre divided by 5, random costs",
    "nu1": "the paper's ablation of exclusive sampling: 7 synthetic arms",
    "nu2": "the paper's ablation of combining samples: 12 synthetic arms",
    "cost-biased": "the paper's last experiment, on cost-biased sampling: 13 synthetic arms; alpha is ours",
    "routerbench-mbpp": "RouterBench, MBPP: measured quality and dollars of LLMs",
    "routerbench-arc": "RouterBench, ARC-Challenge: measured quality and dollars of LLMs",
    "swebench": "SWE-bench, bash only: measured quality and dollars of LLMs",
    "aider-polyglot": "Aider polyglot: measured quality and dollars of LLMs",
}
_TABLE_ALPHA = 0.1

_KEYS = ("instance_id", "arm_reward_array", "subsidy_factor", "arm_cost_array", "arm_name_array")
_OTHER_SETTINGS = {"min_reward": "a fixed level of quality", "ref_arm_ell": "a reference arm"}
_COLUMNS = ("name", "quality", "cost")
# A "#" inside a word starts no comment, so that an arm may be called "C#".
_COMMENT = re.compile(r"(?:^|\s)#.*")

_Ends: TypeAlias = tuple[float, float]
# Means, costs, alpha and names as a file has them, before `Problem` checks them.
_Fields: TypeAlias = tuple[list[float], list[float], float | None, list[str] | None]


def instances() -> tuple[str, ...]:
    """Return the names of the built-in instances, the paper's five first.

    Examples
    --------
    >>> instances()[:5]
    ('goodreads', 'movielens', 'nu1', 'nu2', 'cost-biased')
    """
    return tuple(_FILES)


def describe(name: str) -> str:
    """Say in one line where the numbers of a built-in instance come from.

    Examples
    --------
    >>> describe("nu1")
    "the paper's ablation of exclusive sampling: 7 synthetic arms"
    """
    return _ORIGINS[_known(name)]


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
    file = _FILES[_known(name)]
    if alpha is None and quality is None and _is_table(file):
        alpha = _TABLE_ALPHA
    text = (resources.files("frugalbandits") / "data" / file).read_text(encoding="utf-8")
    return _problem(text, file, alpha, quality)


def read_instance(
    path: str | os.PathLike[str], alpha: float | None = None, *, quality: Quality | str | None = None
) -> Problem:
    r"""Read a problem from a file, a table if its name ends in `.csv` and plain text otherwise.

    Parameters
    ----------
    path
        The file. In plain text, instance_id and arm_name_array may be missing.
    alpha
        Subsidy factor in place of the file's; needed where the file has none, as in every table.
    quality
        Another quality bar in place of alpha, as for `Problem`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "models.csv")
    ...     _ = path.write_text("name,cost,quality\nsmall,0.2,0.81\nlarge,3.0,0.84\n")
    ...     read_instance(path, alpha=0.05)
    Problem(2 arms, alpha=0.05, threshold=0.798, optimal='small', best='large')
    """
    source = Path(path)
    try:
        # Spreadsheets put a byte order mark in front of UTF-8.
        text = source.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read {str(source)!r}: it is not UTF-8 text ({error.reason})") from error
    except OSError as error:
        raise InputError(f"cannot read {str(source)!r}: {error.strerror}") from error
    return _problem(text, str(source), alpha, quality)


def write_instance(problem: Problem, path: str | os.PathLike[str], instance_id: str | None = None) -> None:
    """Write a problem so that `read_instance` gives the very same one; whole or not at all.

    Parameters
    ----------
    problem
        What to write.
    path
        The file: a table if its name ends in `.csv`, plain text otherwise. A table does not carry alpha
        or the id. Plain text does not carry every name, and no bar but alpha; that is an error.
    instance_id
        The id in plain text; the file's name without its suffix by default.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mine.txt")
    ...     write_instance(Problem([0.7, 0.8], [1, 2], alpha=0.1), path)
    ...     print(path.read_text(), end="")
    instance_id: mine
    arm_reward_array: 0.7, 0.8
    subsidy_factor: 0.1
    arm_cost_array: 1.0, 2.0
    """
    target = Path(path)
    table = _is_table(target.name)
    write_text(target, _as_table(problem) if table else _as_lines(problem, instance_id or target.stem))


def random_problem(
    arms: int,
    alpha: float,
    seed: int,
    means: tuple[float, float] = (0.05, 0.95),
    costs: tuple[float, float] = (0.0, 1.0),
    decimals: int | None = None,
) -> Problem:
    """Draw means and costs uniformly from (lowest, highest); the arms stay in the order drawn.

    With `decimals`, draws are rounded to that many places, possibly past the ends of their range.

    Examples
    --------
    >>> random_problem(arms=4, alpha=0.1, seed=7, decimals=2).means.tolist()
    [0.61, 0.86, 0.75, 0.25]
    """
    rng = np.random.default_rng(_whole("seed", seed, least=0))
    return _draw(rng, _whole("arms", arms, least=2), alpha, means, costs, decimals)


def random_problems(
    count: int,
    arms: tuple[int, int] = (3, 12),
    alpha: tuple[float, float] = (0.02, 0.6),
    seed: int = 0,
    means: tuple[float, float] = (0.05, 0.95),
    costs: tuple[float, float] = (0.0, 1.0),
    decimals: int | None = None,
) -> list[Problem]:
    """Draw a family of problems with the number of arms and alpha drawn too, from (lowest, highest).

    Problem i depends on the seed, i and the ranges, not on `count`; the rest is as in `random_problem`.

    Examples
    --------
    >>> [problem.arms for problem in random_problems(4, seed=1)]
    [3, 12, 7, 4]
    >>> random_problems(2, seed=1) == random_problems(4, seed=1)[:2]
    True
    """
    _range("arms", arms)
    fewest, most = (_whole("arms", end, least=2) for end in arms)
    lowest, highest = (check_alpha(end) for end in _range("alpha", alpha))
    root = np.random.SeedSequence(_whole("seed", seed, least=0))
    family = []
    for child in root.spawn(_whole("count", count, least=0)):
        rng = np.random.default_rng(child)
        size = int(rng.integers(fewest, most, endpoint=True))
        family.append(_draw(rng, size, rng.uniform(lowest, highest), means, costs, decimals))
    return family


def _known(name: str) -> str:
    if name not in _FILES:
        raise unknown_name("instance", str(name), _FILES)
    return name


def _is_table(name: str) -> bool:
    return name.lower().endswith(".csv")


def _problem(text: str, source: str, alpha: float | None, quality: Quality | str | None) -> Problem:
    # Checked here, so that an error of the caller's is not blamed on the file.
    bar = None if alpha is None and quality is None else check_quality(alpha, quality)
    means, costs, own, names = (_parse_table if _is_table(source) else _parse_lines)(text, source)
    if bar is None and own is None:
        lack = "a table has no subsidy factor" if _is_table(source) else "the key subsidy_factor is missing"
        raise InputError(f"{source}: {lack}; give alpha")
    try:
        return Problem(means, costs, own if bar is None else None, names, quality=bar)
    except InputError as error:
        raise InputError(f"{source}: {error}") from error


def _parse_lines(text: str, source: str) -> _Fields:
    entries: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        content = _COMMENT.sub("", line).strip()
        if not content:
            continue
        where = f"{source}, line {number}"
        key, colon, value = (part.strip() for part in content.partition(":"))
        if not colon:
            raise InputError(f"{where}: a line must be 'key: value', but this one is {content!r}")
        if key in _OTHER_SETTINGS:
            raise InputError(
                f"{where}: {key} sets {_OTHER_SETTINGS[key]}, which this version does not handle"
            )
        if key not in _KEYS:
            raise InputError(f"{where}: {unknown_name('key', key, _KEYS)}")
        if key in entries:
            raise InputError(f"{where}: the key {key} stands already in line {entries[key][0]}")
        entries[key] = number, value
    if not entries:
        raise InputError(f"{source}: the file is empty")

    def where_is(key: str) -> str:
        return f"{source}, line {entries[key][0]}, {key}"

    def numbers(key: str) -> list[float]:
        if key not in entries:
            raise InputError(f"{source}: the key {key} is missing")
        return [_number(part, where_is(key)) for part in entries[key][1].split(",")]

    means, costs, names, alpha = numbers("arm_reward_array"), numbers("arm_cost_array"), None, None
    if "arm_name_array" in entries:
        names = [part.strip() for part in entries["arm_name_array"][1].split(",")]
    if "subsidy_factor" in entries:
        alpha = _number(entries["subsidy_factor"][1], where_is("subsidy_factor"))
    for key, values in (("arm_cost_array", costs), ("arm_name_array", names)):
        if values is not None and len(values) != len(means):
            raise InputError(
                f"{where_is(key)}: there are {len(values)} entries, but arm_reward_array in line "
                f"{entries['arm_reward_array'][0]} has {len(means)}"
            )
    return means, costs, alpha, names


def _parse_table(text: str, source: str) -> _Fields:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [(f"{source}, line {reader.line_num}", row) for row in reader if row]
    except csv.Error as error:
        raise InputError(f"{source}, line {reader.line_num}: {error}") from error
    if not rows:
        raise InputError(f"{source}: the file is empty")
    top, header = rows[0][0], [field.strip() for field in rows[0][1]]
    for column in _COLUMNS:
        if header.count(column) != 1:
            trouble = "stands more than once" if column in header else "is missing"
            raise InputError(f"{top}: the column {column} {trouble} in the header {', '.join(header)}")
    arms: dict[str, tuple[float, float]] = {}
    for where, row in rows[1:]:
        if len(row) != len(header):
            raise InputError(f"{where}: there are {len(row)} fields, but the header has {len(header)}")
        name, quality, cost = (row[header.index(column)] for column in _COLUMNS)
        if name in arms:
            raise InputError(f"{where}, name: {name!r} stands in an earlier line too")
        arms[name] = _number(quality, f"{where}, quality"), _number(cost, f"{where}, cost")
    return [mean for mean, _ in arms.values()], [cost for _, cost in arms.values()], None, list(arms)


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    # Python reads "1_000" as a number; in a data file it is a slip.
    if not math.isfinite(value) or "_" in text:
        raise InputError(f"{where}: {text.strip()!r} is not a finite number")
    return value


def _as_lines(problem: Problem, instance_id: str) -> str:
    if not isinstance(problem.quality, RelativeToBest):
        raise InputError(f"the plain-text format cannot carry a quality bar but alpha: {problem.quality!r}")
    values = [
        _carried("instance_id", instance_id, forbidden="\n\r"),
        ", ".join(map(repr, problem.means.tolist())),
        repr(problem.alpha),
        ", ".join(map(repr, problem.costs.tolist())),
    ]
    if problem.names != check_names(None, problem.arms):
        values.append(", ".join(_carried("name", name, forbidden="\n\r,") for name in problem.names))
    return "".join(f"{key}: {value}\n" for key, value in zip(_KEYS, values, strict=False))


def _carried(what: str, value: str, forbidden: str) -> str:
    troubles = {f"contains {character!r}": character in value for character in forbidden}
    troubles["starts or ends with a blank"] = value != value.strip()
    troubles["contains a '#' that would start a comment"] = bool(_COMMENT.search(value))
    for trouble, found in troubles.items():
        if found:
            raise InputError(f"the plain-text format cannot carry the {what} {value!r}: it {trouble}")
    return value


def _as_table(problem: Problem) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(_COLUMNS)
    # Minimal quoting leaves a carriage return bare, and the reader would end the row there.
    rows = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    rows.writerows(zip(problem.names, problem.means.tolist(), problem.costs.tolist(), strict=True))
    return text.getvalue()


def _draw(
    rng: np.random.Generator, arms: int, alpha: float, means: _Ends, costs: _Ends, decimals: int | None
) -> Problem:
    drawn_means = rng.uniform(*_range("means", means, 0.0, 1.0), size=arms)
    drawn_costs = rng.uniform(*_range("costs", costs), size=arms)
    if decimals is not None:
        places = _whole("decimals", decimals, least=0)
        drawn_means, drawn_costs = np.round(drawn_means, places), np.round(drawn_costs, places)
    return Problem(drawn_means, drawn_costs, alpha)


def _whole(what: str, value: int, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{what} must be a whole number, but it is {value!r}") from None
    if number < least:
        raise InputError(f"{what} must be at least {least}, but it is {value!r}")
    return number


def _range(what: str, ends: _Ends, floor: float = -math.inf, ceiling: float = math.inf) -> _Ends:
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be a pair of numbers, but it is {ends!r}") from None
    if not (floor <= low <= high <= ceiling and math.isfinite(high - low)):
        within = f" within [{floor:g}, {ceiling:g}]" if math.isfinite(floor) else ""
        raise InputError(f"{what} must be (lowest, highest){within}, but it is {ends!r}")
    return low, high
