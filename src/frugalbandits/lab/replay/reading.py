"""A log from its columns: which kind it is, and every value checked where it enters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from frugalbandits.errors import InputError, unknown_name
from frugalbandits.lab.logs import Scan
from frugalbandits.lab.replay.data import Floats, Ints, Log, Past, Table
from frugalbandits.lab.text import counted, listed

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Columns", "read_past"]


class Columns(NamedTuple):
    """What the columns of a log are called.

    `None` stands for the usual name, which need not be there for the last four.
    """

    option: str | None = None
    reward: str | None = None
    cost: str | None = None
    time: str | None = None
    request: str | None = None
    propensity: str | None = None
    context: str | None = None

    def name(self, what: str) -> str:
        """Return what a column is called."""
        given: str | None = getattr(self, what)
        return what if given is None else given

    def there(self, scan: Scan, what: str) -> str | None:
        """Return the name of a column, None where it is not there; one that was named must be."""
        if getattr(self, what) is not None:
            scan.require([self.name(what)])
        return self.name(what) if scan.has(self.name(what)) else None


def read_past(scan: Scan, columns: Columns) -> tuple[Past, tuple[str, ...]]:
    """Return what a log has, as a full table where it is one, and what is to be said of it."""
    reward, cost = columns.name("reward"), columns.name("cost")
    wide = [column.removeprefix(f"{reward}:") for column in scan.columns if column.startswith(f"{reward}:")]
    if wide:
        return _wide(scan, columns, wide)
    needed = [columns.name("option"), reward, cost]
    scan.require(
        needed,
        f"; a log has the columns {needed[0]!r}, {reward!r} and {cost!r} (or others that you name), a full "
        "table "
        f"'{reward}:NAME' and '{cost}:NAME' for each option",
    )
    return _long(scan, columns)


def _wide(scan: Scan, columns: Columns, names: list[str]) -> tuple[Table, tuple[str, ...]]:
    reward, cost = columns.name("reward"), columns.name("cost")
    rewards, costs = [f"{reward}:{name}" for name in names], [f"{cost}:{name}" for name in names]
    scan.require(costs)
    alone = [each for each in scan.columns if each.startswith(f"{cost}:") and each not in costs]
    if alone:
        raise InputError(f"{scan.name}: there is {alone[0]!r}, but no {reward + alone[0][len(cost) :]!r}")
    if columns.propensity is not None:
        raise InputError(f"{scan.name}: a full table has no use for a column of the kind 'propensity'")
    _check_names(scan, names)
    time, option = columns.there(scan, "time"), columns.there(scan, "option")
    others = [each for each in (time, option) if each is not None]
    frame = scan.frame(costs, others, rewards=rewards)
    pairs = np.empty((len(names), frame.height, 2))
    for place, (own, price) in enumerate(zip(rewards, costs, strict=True)):
        _check_costs(scan, frame, price)
        pairs[place, :, 0] = frame[own].to_numpy()
        pairs[place, :, 1] = frame[price].to_numpy()
    choice = None
    if option is not None:
        chosen = scan.names(frame, option)
        choice = _codes(chosen, names)
        if (choice < 0).any():
            row = int(np.argmax(choice < 0))
            raise InputError(f"{scan.name}, row {row + 1:,}: {unknown_name('option', chosen[row], names)}")
    table = Table(tuple(names), pairs, choice, np.arange(frame.height))
    if time is not None:
        table = table.part(np.argsort(scan.moments(frame, time), kind="stable"))
    return _all_judged(scan, table)


def _all_judged(scan: Scan, table: Table) -> tuple[Table, tuple[str, ...]]:
    """Return the requests of a full table on which every option was judged, and what to say of the others."""
    judged = np.isfinite(table.pairs[:, :, 0]).all(axis=0)
    if judged.all():
        return table, ()
    if not judged.any():
        raise InputError(f"{scan.name}: no request has the reward of every option")
    said = f"left out: {counted(int((~judged).sum()), 'request')} without the reward of every option"
    return table.part(np.flatnonzero(judged)), (said,)


def _long(scan: Scan, columns: Columns) -> tuple[Past, tuple[str, ...]]:
    option, reward, cost = (columns.name(what) for what in ("option", "reward", "cost"))
    time, request = columns.there(scan, "time"), columns.there(scan, "request")
    propensity, context = columns.there(scan, "propensity"), columns.there(scan, "context")
    numbers = [cost, *([] if propensity is None else [propensity])]
    others = [each for each in dict.fromkeys((option, time, request, context)) if each is not None]
    frame = scan.frame(numbers, others, rewards=[reward])
    _check_costs(scan, frame, cost)
    if propensity is not None:
        chances = frame[propensity]
        scan.refuse(~((chances > 0) & (chances <= 1)), propensity, "does not lie in (0, 1]")
    used = scan.names(frame, option)
    names = used.unique(maintain_order=True).to_list()
    _check_names(scan, names)
    choice = _codes(used, names)
    pairs = np.stack([frame[reward].to_numpy(), frame[cost].to_numpy()], axis=1)
    order = np.arange(frame.height)
    if time is not None:
        order = np.argsort(scan.moments(frame, time), kind="stable")
    told: tuple[str, ...] = ()
    if request is not None:
        ids = scan.names(frame, request)[order]
        table, told = _full(names, choice[order], pairs[order], ids, order)
        if table is not None:
            return _all_judged(scan, table)
    kinds, kind = _kinds(scan, frame, context)
    chance = None if propensity is None else frame[propensity].to_numpy()[order]
    log = Log(
        tuple(names),
        choice[order],
        pairs[order],
        chance,
        None if kind is None else kind[order],
        kinds,
        order,
    )
    log, unjudged = _judged(scan, log, reward)
    return log, (*told, *unjudged)


def _judged(scan: Scan, log: Log, reward: str) -> tuple[Log, tuple[str, ...]]:
    """Return the rows that were judged, at the mean costs of all rows, and what to say of the others.

    Rewards come from the rows that have one. What an option costs is known of every row, so the costs of its
    judged rows are scaled to the mean of all of them.
    """
    judged = np.isfinite(log.pairs[:, 0])
    if judged.all():
        return log, ()
    if not judged.any():
        raise InputError(f"{scan.name}: no row has a reward in the column {reward!r}")
    uses = log.counts
    rows = np.bincount(log.choice[judged], minlength=len(uses))
    known = np.flatnonzero(rows > 0)
    names = [log.names[option] for option in known]
    _check_names(scan, names)
    spent = np.bincount(log.choice, log.pairs[:, 1], len(uses)) / uses
    paid = np.bincount(log.choice[judged], log.pairs[judged, 1], len(uses)) / np.maximum(rows, 1)
    factor = np.where(paid > 0, spent / np.where(paid > 0, paid, 1.0), 1.0)
    part = log.part(np.flatnonzero(judged))
    pairs = part.pairs.copy()
    pairs[:, 1] *= factor[part.choice]
    places = np.full(len(uses), -1)
    places[known] = np.arange(len(known))
    part = replace(part, names=tuple(names), choice=places[part.choice], pairs=pairs, served=uses[known])
    said = [
        f"judged: {judged.sum():,} of {counted(len(judged), 'row')} ({judged.mean():.3g} of all); quality is "
        "of these, and assumes that the others are like them; costs are of all rows"
    ]
    lost = [
        f"{log.names[option]} ({counted(int(uses[option]), 'row')})" for option in np.flatnonzero(rows == 0)
    ]
    if lost:
        said.append(f"no row was judged, so nothing is known of {listed(lost)}")
    return part, tuple(said)


def _full(
    names: Sequence[str], choice: Ints, pairs: Floats, ids: pl.Series, order: Ints
) -> tuple[Table | None, tuple[str, ...]]:
    """Return the full table where each request has every option once, or what is missing for one."""
    requests = ids.unique(maintain_order=True)
    if requests.len() == ids.len():
        return None, ()
    count = requests.len()
    which = _codes(ids, requests)
    cells = choice * count + which
    found = np.bincount(cells, minlength=count * len(names))
    if (found == 1).all():
        full = np.empty((count * len(names), 2))
        full[cells] = pairs
        first = np.full(count, len(which))
        np.minimum.at(first, which, np.arange(len(which)))
        return Table(tuple(names), full.reshape(len(names), count, 2), None, order[first]), ()
    place = int(np.argmax(found != 1))
    who, option = requests[place % count], names[place // count]
    times = "no row" if found[place] == 0 else f"{found[place]:,} rows"
    return None, (
        f"some requests have several rows, but it is no full table: request {who!r} has {times} for "
        f"{option!r}; "
        "each row counts as a request of its own",
    )


def _kinds(scan: Scan, frame: pl.DataFrame, context: str | None) -> tuple[tuple[str, ...], Ints | None]:
    if context is None:
        return (), None
    given = scan.names(frame, context)
    kinds = given.unique(maintain_order=True)
    most = max(2, frame.height // 20)
    if kinds.len() > most:
        raise InputError(
            f"{scan.name}: context is the kind of a request, of which each is to have at least 20 rows or "
            "so, but "
            f"the column {context!r} has {counted(kinds.len(), 'value')} in {counted(frame.height, 'row')}"
        )
    return tuple(kinds.to_list()), _codes(given, kinds)


def _codes(values: pl.Series, names: Sequence[str] | pl.Series) -> Ints:
    """Return the place of each value among some names, -1 for one that is none of them."""
    import polars as pl

    known = pl.Series(names, dtype=pl.String)
    places = pl.Series(range(known.len()), dtype=pl.Int64)
    return values.replace_strict(known, places, default=-1, return_dtype=pl.Int64).to_numpy().copy()


def _check_costs(scan: Scan, frame: pl.DataFrame, cost: str) -> None:
    scan.refuse(frame[cost] < 0, cost, "is below 0")


def _check_names(scan: Scan, names: Sequence[str]) -> None:
    if len(names) < 2:
        only = f"only {names[0]!r}" if names else "none"
        raise InputError(f"{scan.name}: a choice needs at least two options, but there is {only}")
