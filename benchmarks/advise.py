"""Section: advice against what then happens, and whether its intervals cover it.

Example: python benchmarks/advise.py --quick
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import frugalbandits as fb
from effort import FULL, QUICK, Effort
from frugalbandits.lab.advice.beliefs import Guess
from frugalbandits.lab.advice.case import case_of
from frugalbandits.lab.advice.expectations import Expectation, expectation_of
from frugalbandits.lab.advice.trial import default_runs, known_after, run_trial, stretches, truths
from report import table

__all__ = ["section"]

SEED = 7_001  # problems that nothing was chosen on
VOLUME, DAYS = 1_000, 30
NEAR = 0.2
MOMENT = 0.1  # days: nobody plans more finely
POLICY = "voi-cs"
TEXT = """\
## Advice

`fb.advise` on {problems} random problems of 2 to 8 options, {volume:,} decisions a day for {days} days, all
judged or 10% judged in turn, with the true means as guesses and its own number of runs. What happens is
{runs} runs of the driver of worlds, which makes a decision at a time, with other seeds. Days to know are
medians; where they differ by less than a tenth of a day they count as near, and how many are near without
that stands beside it.
"""
SESSIONS = """
The same against {sessions} sessions of each of {problems} of these problems, asked and told one decision at a
time, {volume:,} decisions a day:
"""
RANGES = """
Only ranges are given, and the truth is somewhere in them: {cases} cases of 2 to 6 options, in each of which
one run happens. How often it lies in the 80% interval of the advice; {low:.0%} to {high:.0%} is what chance
allows (95%):
"""


class Near(NamedTuple):
    """What was advised and what happened."""

    spend: tuple[float, float]
    days: tuple[float, float]

    @property
    def spend_ratio(self) -> float:
        return self.spend[0] / self.spend[1]

    @property
    def days_ratio(self) -> float:
        return ratio(*self.days)


def section(effort: Effort) -> str:
    return "\n".join(_parts(effort)) + "\n"


def _parts(effort: Effort) -> Iterator[str]:
    problems, runs, sessions, cases = (6, 60, 4, 10) if effort is QUICK else (50, 300, 30, 100)
    few = min(problems, 8)
    error = 1.96 * math.sqrt(0.8 * 0.2 / cases)
    yield TEXT.format(problems=problems, volume=VOLUME, days=DAYS, runs=runs)
    yield against_worlds(problems, runs)
    yield RANGES.format(cases=cases, low=0.8 - error, high=min(0.8 + error, 1.0))
    yield coverage(cases)
    yield SESSIONS.format(sessions=sessions, problems=few, volume=VOLUME // 10)
    yield against_sessions(few, sessions)


def family(count: int) -> list[fb.Problem]:
    return fb.random_problems(count, arms=(2, 8), alpha=(0.02, 0.3), seed=SEED, costs=(0.05, 1.0))


def advised(problem: fb.Problem, volume: int, share: float) -> Expectation:
    """Return what `fb.advise` expects of its first policy, without its side questions."""
    names = problem.names
    return expected(
        dict(zip(names, problem.costs.tolist(), strict=True)),
        volume,
        problem.alpha,
        dict(zip(names, problem.means.tolist(), strict=True)),
        share,
    )


def expected(
    costs: dict[str, float],
    volume: int,
    alpha: float,
    guesses: Mapping[str, Guess],
    share: float,
    runs: int | None = None,
) -> Expectation:
    columns = ("option", "reward", "cost")
    case = case_of(costs, volume, alpha, None, guesses, None, columns, DAYS, None, share, 0.0, None)
    count = default_runs(len(costs), case.horizon) if runs is None else runs
    return expectation_of(run_trial(case, POLICY, truths(case, count, 0), 0))


def happens(
    problem: fb.Problem, share: float, runs: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what runs in a world spend, and after how many decisions they know."""
    world = fb.World(problem, feedback=share)
    times = stretches(VOLUME * DAYS)
    result = fb.simulate(
        world, POLICY, int(times[-1]), runs, seed, checkpoints=times.tolist(), progress=False
    )
    return result.spend[:, -1], known_after(times, result.pulls, right(problem, runs))[0]


def right(problem: fb.Problem, runs: int) -> NDArray[np.bool_]:
    cheapest = problem.costs <= problem.costs[problem.optimal_arm]
    return np.tile(problem.feasible & cheapest, (runs, 1))


def against_worlds(count: int, runs: int) -> str:
    found: list[Near] = []
    seconds = []
    for number, problem in enumerate(family(count)):
        share = 1.0 if number % 2 == 0 else 0.1
        if not found:
            advised(problem, VOLUME, share)  # loads machine code
        began = time.process_time()
        advice = advised(problem, VOLUME, share)
        seconds.append(time.process_time() - began)
        spend, known = happens(problem, share, runs, SEED + 1 + number)
        days = advice.days_to_know
        assert days is not None
        found.append(Near((advice.spend.middle, float(spend.mean())), (days.middle, median(known) / VOLUME)))
    rows = [
        _row("spend", [each.spend_ratio for each in found], [near(*each.spend, 0.0) for each in found]),
        _row(
            "days to know",
            [each.days_ratio for each in found],
            [near(*each.days, MOMENT) for each in found],
            [near(*each.days, 0.0) for each in found],
        ),
    ]
    taken = f"{np.median(seconds):.1f} s of one core (median), {max(seconds):.1f} s at most"
    return f"{table(_HEADS, rows)}\n\nWhat is expected took {taken}."


def against_sessions(count: int, sessions: int) -> str:
    volume = VOLUME // 10
    rows = []
    for number, problem in enumerate(family(count)):
        advice = advised(problem, volume, 1.0)
        spends = [_session(problem, volume * DAYS, 1_000 * number + each) for each in range(sessions)]
        error = float(np.std(spends)) / math.sqrt(sessions)
        told, seen = advice.spend.middle, float(np.mean(spends))
        rows.append([str(number + 1), f"{told:,.1f}", f"{seen:,.1f} ± {error:,.1f}", f"{told / seen:.3f}"])
    return table(["problem", "advised spend", "sessions", "ratio"], rows)


def _session(problem: fb.Problem, decisions: int, seed: int) -> float:
    rng = np.random.default_rng([SEED, seed])
    session = fb.Session(problem.costs, problem.alpha, POLICY, horizon=decisions, names=problem.names)
    spend = 0.0
    for _ in range(decisions):
        decision = session.ask()
        option = problem.names.index(decision.option)
        spend += float(problem.costs[option])
        session.tell(decision.id, float(rng.random() < problem.means[option]))
    return spend


def coverage(cases: int) -> str:
    inside = {"spend": 0, "days to know": 0}
    for number in range(cases):
        rng = np.random.default_rng([SEED, number, 3])
        options = int(rng.integers(2, 7))
        low = rng.uniform(0.1, 0.8, options)
        high = low + rng.uniform(0.0, 0.95 - low)
        names = [f"a{k + 1}" for k in range(options)]
        costs = rng.uniform(0.05, 1.0, options)
        alpha = float(rng.uniform(0.02, 0.3))
        guesses = {name: (float(a), float(b)) for name, a, b in zip(names, low, high, strict=True)}
        prices = dict(zip(names, costs.tolist(), strict=True))
        advice = expected(prices, VOLUME, alpha, guesses, 1.0, runs=80)
        problem = fb.Problem(rng.uniform(low, high), costs, alpha, names)
        spend, known = happens(problem, 1.0, 1, SEED + number)
        days = advice.days_to_know
        assert days is not None
        inside["spend"] += advice.spend.low <= spend[0] <= advice.spend.high
        inside["days to know"] += days.low <= known[0] / VOLUME <= days.high
    rows = [[what, f"{count / cases:.0%}"] for what, count in inside.items()]
    return table(["80% interval of", "covers"], rows)


_HEADS = ["", "within 20%", "without the tenth of a day", "median ratio", "worst"]


def _row(
    what: str, ratios: Sequence[float], hits: Sequence[bool], strict: Sequence[bool] | None = None
) -> list[str]:
    worst = max(ratios, key=lambda each: abs(math.log(each)) if each > 0 else math.inf)
    share = "" if strict is None else f"{sum(strict)} of {len(strict)}"
    return [what, f"{sum(hits)} of {len(hits)}", share, f"{np.median(ratios):.3f}", f"{worst:.2f}"]


def median(values: NDArray[np.float64]) -> float:
    return float(np.quantile(values, 0.5, method="inverted_cdf"))


def ratio(told: float, seen: float) -> float:
    """Return a ratio; of two that are beyond the period, or both nothing, 1."""
    return 1.0 if told == seen else told / seen if 0 < seen < math.inf else math.inf


def near(told: float, seen: float, moment: float) -> bool:
    return told == seen or abs(told - seen) <= max(NEAR * seen, moment)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few problems, few runs")
    for part in _parts(QUICK if parser.parse_args(arguments).quick else FULL):
        print(part, flush=True)


if __name__ == "__main__":
    main()
