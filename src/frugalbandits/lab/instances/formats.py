"""Problems from files and to files.

Two formats, chosen by the suffix. A `.csv` file is an option table with the columns name, quality
and cost; it has no subsidy factor. Any other file is the plain-text format of the MAB-CS research
releases: lines `key: value`, blank lines, and comments that run from a `#` at the start of a line or
after a blank. To its keys we add two that may be left out: arm_name_array, and quality_worth, which is what a
unit of quality is worth.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from pathlib import Path
from typing import TypeAlias

from frugalbandits.core.files import write_text
from frugalbandits.core.options import check_names
from frugalbandits.core.quality import Quality, RelativeToBest, check_quality
from frugalbandits.errors import InputError, unknown_name
from frugalbandits.lab.problem import Problem

__all__ = [
    "NoBar",
    "is_table",
    "problem_from",
    "read_instance",
    "write_instance",
]

_KEYS = (
    "instance_id",
    "arm_reward_array",
    "subsidy_factor",
    "arm_cost_array",
    "arm_name_array",
    "quality_worth",
)
_OTHER_SETTINGS = {"min_reward": "a fixed level of quality", "ref_arm_ell": "a reference arm"}
_COLUMNS = ("name", "quality", "cost")
# A "#" inside a word starts no comment, so that an arm may be called "C#".
_COMMENT = re.compile(r"(?:^|\s)#.*")
# Means, costs, alpha, names and worth as a file has them, before `Problem` checks them.
_Fields: TypeAlias = tuple[list[float], list[float], float | None, list[str] | None, float | None]


class NoBar(InputError):
    """Neither the file nor the caller says what is good enough; `lack` is what the file lacks."""

    def __init__(self, lack: str) -> None:
        super().__init__(f"{lack}; give alpha")
        self.lack = lack


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
    return problem_from(text, str(source), is_table(source.name), alpha, quality)


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
    table = is_table(target.name)
    write_text(target, _as_table(problem) if table else _as_lines(problem, instance_id or target.stem))


def is_table(name: str) -> bool:
    """Tell whether a file of this name is a table."""
    return name.lower().endswith(".csv")


def problem_from(
    text: str, source: str, table: bool, alpha: float | None, quality: Quality | str | None
) -> Problem:
    """Return the problem that a text describes; `source` is what errors call it."""
    # Checked here, so that an error of the caller's is not blamed on the file.
    bar = None if alpha is None and quality is None else check_quality(alpha, quality)
    means, costs, own, names, worth = (_parse_table if table else _parse_lines)(text, source)
    if bar is None and own is None:
        lack = "a table has no subsidy factor" if table else "the key subsidy_factor is missing"
        raise NoBar(f"{source}: {lack}")
    try:
        return Problem(means, costs, own if bar is None else None, names, quality=bar, worth=worth)
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

    means, costs = numbers("arm_reward_array"), numbers("arm_cost_array")
    names, alpha, worth = None, None, None
    if "arm_name_array" in entries:
        names = [part.strip() for part in entries["arm_name_array"][1].split(",")]
    if "subsidy_factor" in entries:
        alpha = _number(entries["subsidy_factor"][1], where_is("subsidy_factor"))
    if "quality_worth" in entries:
        worth = _number(entries["quality_worth"][1], where_is("quality_worth"))
    for key, values in (("arm_cost_array", costs), ("arm_name_array", names)):
        if values is not None and len(values) != len(means):
            raise InputError(
                f"{where_is(key)}: there are {len(values)} entries, but arm_reward_array in line "
                f"{entries['arm_reward_array'][0]} has {len(means)}"
            )
    return means, costs, alpha, names, worth


def _parse_table(text: str, source: str) -> _Fields:
    # Spreadsheets write semicolons where a comma is the decimal sign.
    separator = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    try:
        rows = [(f"{source}, line {reader.line_num}", row) for row in reader if row]
    except csv.Error as error:
        raise InputError(f"{source}, line {reader.line_num}: {error}") from error
    if not rows:
        raise InputError(f"{source}: the file is empty")
    top, header = rows[0][0], [field.strip().lower() for field in rows[0][1]]
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
    return [mean for mean, _ in arms.values()], [cost for _, cost in arms.values()], None, list(arms), None


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    # Python reads "1_000" as a number; in a data file it is a slip.
    if not math.isfinite(value) or "_" in text:
        hint = "; write a decimal point" if re.fullmatch(r"\s*[+-]?\d+,\d+\s*", text) else ""
        raise InputError(f"{where}: {text.strip()!r} is not a finite number{hint}")
    return value


def _as_lines(problem: Problem, instance_id: str) -> str:
    if not isinstance(problem.quality, RelativeToBest):
        raise InputError(f"the plain-text format cannot carry a quality bar but alpha: {problem.quality!r}")
    values = {
        "instance_id": _carried("instance_id", instance_id, forbidden="\n\r"),
        "arm_reward_array": ", ".join(map(repr, problem.means.tolist())),
        "subsidy_factor": repr(problem.alpha),
        "arm_cost_array": ", ".join(map(repr, problem.costs.tolist())),
    }
    if problem.names != check_names(None, problem.arms):
        values["arm_name_array"] = ", ".join(_carried("name", name, forbidden=",") for name in problem.names)
    if problem.given_worth is not None:
        values["quality_worth"] = repr(problem.given_worth)
    return "".join(f"{key}: {value}\n" for key, value in values.items())


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
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    rows.writerows(zip(problem.names, problem.means.tolist(), problem.costs.tolist(), strict=True))
    return text.getvalue()
