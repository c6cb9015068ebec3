"""Problems that policies are tuned on, and problems that they are not: which are which is settled here.

Tuned on: random problems of the seeds 0 to 9, the tables of `TUNING_TABLES`, made-up catalogues of models and
choices among their options, hard problems of seed 0.
Held out: random problems of the seeds from 2,000 on, the tables of `HELD_OUT_TABLES` and choices among
their options, hard problems of the seeds from 2,000 on. Nobody looks at these before a policy is finished.
The seeds from 1,000 on were held out once: an earlier rule of VOI-CS was measured on them, and that it was
worse on tables of models than on the problems for tuning is why these have catalogues now. So the means over
the held-out tables were known for that rule; no constant was chosen on them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import frugalbandits as fb

TUNING_TABLES = ("routerbench-mbpp", "goodreads")
HELD_OUT_TABLES = ("routerbench-arc", "swebench", "aider-polyglot")
HELD_OUT_SEED = 2_000
ALPHAS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3)


class Row(NamedTuple):
    """One problem at one horizon."""

    family: str
    name: str
    problem: fb.Problem
    horizon: int


def families(count: int, seed: int) -> dict[str, list[fb.Problem]]:
    """Random problems: few options, some, many, and near-ties at the bar."""
    return {
        "few": fb.random_problems(count, arms=(2, 4), alpha=(0.02, 0.3), seed=seed),
        "some": fb.random_problems(count, arms=(5, 12), alpha=(0.02, 0.3), seed=seed + 1),
        "many": fb.random_problems(count, arms=(15, 45), alpha=(0.02, 0.3), seed=seed + 2),
        "near-ties": [near_tie(seed * 1_000 + i) for i in range(count)],
    }


def near_tie(seed: int) -> fb.Problem:
    """Draw a problem with options close to the bar from both sides, as real tables of models have them."""
    rng = np.random.default_rng([seed, 7])
    arms = int(rng.integers(4, 13))
    alpha = float(rng.choice([0.02, 0.05, 0.1, 0.2]))
    best = float(rng.uniform(0.5, 0.97))
    means = np.clip((1 - alpha) * best + rng.normal(0, 0.02, arms), 0.02, best)
    far = rng.random(arms) < 0.4
    means[far] = rng.uniform(0.1, best, int(far.sum()))
    means[rng.integers(arms)] = best
    return fb.Problem(means, rng.random(arms) ** 2, alpha)


def catalogue(seed: int) -> fb.Problem:
    """Draw a table of models: prices over one to three decades, quality that rises with their logarithm."""
    rng = np.random.default_rng([seed, 13])
    arms = int(rng.integers(4, 26))
    alpha = float(rng.choice(ALPHAS))
    decades = np.sort(rng.uniform(0, rng.uniform(1, 3), arms))
    place = decades / decades.max()
    if rng.random() < 0.5:  # versions of a few models, which cost nearly the same
        centres = rng.uniform(0, 1, int(rng.integers(2, 6)))
        place = np.clip(centres[rng.integers(len(centres), size=arms)] + rng.normal(0, 0.05, arms), 0, 1)
        decades = place * decades.max()
    best = float(rng.uniform(0.35, 0.97))
    worst = best * float(rng.uniform(0.15, 0.9))
    means = worst + (best - worst) * place ** rng.uniform(0.3, 1.2)
    means += rng.normal(0, rng.uniform(0.02, 0.12), arms)
    return fb.Problem(np.clip(means, 0.02, 0.985), 10.0**decades, alpha)


def hard(seed: int) -> list[fb.Problem]:
    """Ten hard problems: near-ties just above and just below the bar, dear judges, unlucky starts."""
    found = []
    for i in range(10):
        rng = np.random.default_rng([seed, i, 11])
        alpha = float(rng.choice([0.05, 0.1, 0.2]))
        best = float(rng.uniform(0.6, 0.95))
        bar = (1 - alpha) * best
        gap = float(rng.uniform(0.008, 0.03))
        cheap = float(rng.uniform(0.1, 0.8) * bar)
        if i % 5 == 0:  # a cheap option just below, the optimal one just above
            means, costs = [cheap, bar - gap, bar + gap, best], [0.0, 0.2, 0.4, 1.0]
        elif i % 5 == 1:  # the optimal one is cheap and just above; a dear judge decides
            means, costs = [bar + gap, bar - gap, best - 0.01, best], [0.0, 0.1, 0.2, 1.0]
        elif i % 5 == 2:  # several near-ties below, and one above
            means, costs = (
                [bar - gap, bar - 2 * gap, bar - gap / 2, bar + gap, best],
                [0.0, 0.1, 0.15, 0.5, 1.0],
            )
        elif i % 5 == 3:  # judges that are nearly alike, all dear
            means, costs = (
                [bar - gap, bar + gap, best - 0.02, best - 0.01, best],
                [0.0, 0.3, 0.9, 0.95, 1.0],
            )
        else:  # a good cheap option that an unlucky start hides, among poor ones
            means, costs = (
                [cheap, bar + 2 * gap, cheap, bar + 3 * gap, best],
                [0.0, 0.05, 0.3, 0.6, 1.0],
            )
        found.append(fb.Problem(means, costs, alpha))
    return found


def choices(table: str, count: int, seed: int) -> list[tuple[str, fb.Problem]]:
    """Choices among four to eight options of a table, as a user would have them."""
    whole = fb.instance(table)
    found = []
    for i in range(count):
        rng = np.random.default_rng([seed, i, sum(table.encode())])
        options = np.sort(rng.choice(whole.arms, int(rng.integers(4, 9)), replace=False))
        alpha = float(rng.choice(ALPHAS))
        found.append((f"{table} {i}", fb.Problem(whole.means[options], whole.costs[options], alpha)))
    return found


def catalogues(count: int) -> list[tuple[str, str, fb.Problem]]:
    """Catalogues, and choices among the options of those that are long."""
    found = []
    for i in range(count):
        whole = catalogue(i)
        found.append(("catalogues", f"catalogue {i}", whole))
        if whole.arms > 8:
            rng = np.random.default_rng([i, 17])
            options = np.sort(rng.choice(whole.arms, int(rng.integers(4, 9)), replace=False))
            part = fb.Problem(whole.means[options], whole.costs[options], whole.alpha)
            found.append(("choices of catalogues", f"choice of catalogue {i}", part))
    return found


def tuning(horizons: tuple[int, ...] = (5_000, 20_000, 100_000), count: int = 10) -> list[Row]:
    """Rows that constants may be chosen on."""
    made_up = [Row(*each, horizon) for horizon in horizons for each in catalogues(3 * count)]
    return _rows(TUNING_TABLES, horizons, count, seed=0) + made_up


def held_out(horizons: tuple[int, ...] = (5_000, 20_000, 100_000), count: int = 10) -> list[Row]:
    """Rows that nothing was chosen on."""
    return _rows(HELD_OUT_TABLES, horizons, count, seed=HELD_OUT_SEED)


def _rows(tables: tuple[str, ...], horizons: tuple[int, ...], count: int, seed: int) -> list[Row]:
    rows = []
    for horizon in horizons:
        for table in tables:
            rows += [
                Row("tables", f"{table} {alpha}", fb.instance(table, alpha=alpha), horizon)
                for alpha in ALPHAS
            ]
            rows += [Row("choices", name, problem, horizon) for name, problem in choices(table, count, seed)]
        for family, problems in families(count, seed).items():
            rows += [Row(family, f"{family} {i}", each, horizon) for i, each in enumerate(problems)]
    return rows
