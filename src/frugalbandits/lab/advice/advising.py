"""Advice before the first decision: what learning would cost, what it would save, and when not to."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from frugalbandits.core.contract import Policy
from frugalbandits.core.quality import Quality, RelativeToBest
from frugalbandits.core.registry import resolve
from frugalbandits.errors import InputError
from frugalbandits.lab.advice.beliefs import Guess
from frugalbandits.lab.advice.case import Case, Feedback, Truth, case_of, feedback_words
from frugalbandits.lab.advice.expectations import (
    Bar,
    Expectation,
    Spread,
    Standing,
    always,
    bars,
    expectation_of,
    knowing,
    standings,
)
from frugalbandits.lab.advice.trial import Trial, default_runs, run_trial, truths
from frugalbandits.lab.advice.verdict import SURE, Verdict, before_learning, judged_by, with_remedies
from frugalbandits.lab.problem import Problem
from frugalbandits.lab.running import check_count, check_seed, label
from frugalbandits.lab.shown import Shown, advice_figure_of
from frugalbandits.lab.text import readable
from frugalbandits.lab.watching import Progress, listener

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

__all__ = ["POLICIES", "Advice", "advise", "advise_on"]

#: What is tried where nothing is said: the default of sessions, and one that comes to a verdict.
POLICIES = ("voi-cs", "glr-cof:goal=conclusion")
SHARES: tuple[Feedback, ...] = (1.0, 0.1, 0.01, "wanted")
_PART = 4  # a side question gets one run in so many
_FEWEST = 20
_ENOUGH = 0.95  # of the best gain: less feedback will do where it keeps so much
_NEARLY = 0.005  # of quality: so much less will do as well
_LONGER = 10  # times the period, to see when it pays
_STRICTER = 10  # times the worth of quality, to see whether that holds the bar
_ERRORS = 2.0  # standard errors by which another policy must be better than the first


@dataclass(frozen=True, eq=False)
class Advice(Shown):
    """What is to be expected, and what to do; made by `advise`.

    Attributes
    ----------
    case
        What was asked.
    verdict
        Whether to learn: `kind`, `worth_it`, and `words`.
    trials
        The runs of each policy, that of the advised one first.
    judging
        Runs of that policy with other shares of decisions judged.
    plans
        What each policy comes to, then always using what is used now and the safe option, and knowing all.
    by_feedback
        What each share of decisions judged comes to.
    standings, bars
        What is believed of each option, and what other bars would come to once all is known.
    """

    case: Case
    verdict: Verdict
    trials: tuple[Trial, ...]
    judging: tuple[Trial, ...]
    plans: tuple[Expectation, ...]
    by_feedback: tuple[Expectation, ...]
    standings: tuple[Standing, ...]
    bars: tuple[Bar, ...]

    @property
    def policy(self) -> str:
        """The policy to take."""
        return self.trials[0].policy

    @property
    def learned(self) -> Expectation:
        """What that policy comes to."""
        return self.plans[0]

    @property
    def runs(self) -> int:
        """How many runs the expectations are of."""
        return self.trials[0].runs

    @cached_property
    def feedback(self) -> Feedback:
        """How much to have judged: the least that keeps 95% of the best gain, and nearly the quality."""
        most = max(each.gain for each in self.by_feedback)
        gains = [each for each in self.by_feedback if each.gain >= most - (1 - _ENOUGH) * abs(most)]
        least = min(each.lack for each in gains)
        good = [each for each in gains if each.lack <= least + _NEARLY]
        return min(good, key=lambda each: each.judged or 0.0).feedback or 1.0

    def gains_more(self, place: int) -> float:
        """Return by how much the advised policy gains more than another one, in the same truths."""
        other = self.trials[place]
        return float(other.loss.mean() - self.trials[0].first(other.runs).loss.mean())

    @property
    def session(self) -> str:
        """The session to begin with, as a line of Python."""
        case = self.case
        costs = {name: float(cost) for name, cost in zip(case.names, case.costs, strict=True)}
        bar = (
            f"alpha={case.quality.alpha:g}"
            if isinstance(case.quality, RelativeToBest)
            else f"quality={str(case.quality)!r}"
        )
        policy = "" if self.policy == "voi-cs" else f", policy={self.policy!r}"
        worth = "" if case.given_worth is None else f", worth={case.given_worth:g}"
        price = "" if case.judge_price == 0 else f", judge_price={case.judge_price:g}"
        return f"fb.Session({costs!r}, {bar}{policy}, horizon={case.horizon:_}{worth}{price})"

    def to_polars(self, table: Literal["days", "plans"] = "days") -> pl.DataFrame:
        """Return a tidy table.

        "days": a row per policy and day, with spend, its 80% interval, and each option's share. "plans": a
        row per plan, as in `plans` and then `by_feedback`.
        """
        import polars as pl

        if table == "plans":
            return pl.DataFrame([_plan_row(each) for each in (*self.plans, *self.by_feedback)])
        if table != "days":
            raise InputError(f"table must be 'days' or 'plans', but it is {table!r}")
        rows = [row for trial in self.trials for row in _day_rows(trial)]
        return pl.DataFrame(rows)

    def plot(self) -> Figure:
        """Draw the spend of each day beside the alternatives, and each option's share of the traffic."""
        return advice_figure_of(self)

    def __repr__(self) -> str:
        return f"Advice({self.verdict.words!r}, policy={self.policy!r}, {self.runs} runs)"


def advise(
    costs: Mapping[str, float] | None = None,
    volume: float = 1_000,
    alpha: float | None = None,
    *,
    quality: Quality | str | None = None,
    guesses: Mapping[str, Guess] | None = None,
    log: str | os.PathLike[str] | None = None,
    columns: tuple[str, str, str | None] = ("option", "reward", "cost"),
    log_format: str = "auto",
    days: float = 30,
    now: str | None = None,
    feedback: Feedback = 1.0,
    judge_price: float = 0.0,
    worth: float | None = None,
    policies: Sequence[str | Policy] = POLICIES,
    runs: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = True,
) -> Advice:
    """Say what to expect of learning online which option to use, before the first decision.

    What may be true is drawn from what is believed of the options, once a run, and each policy is simulated
    in it as a session would run. So intervals cover both what is not known of the options and luck.

    Parameters
    ----------
    costs
        What one decision for each option costs. May be left out where the log has costs.
    volume
        Decisions a day.
    alpha, quality
        What is good enough, as for `Session`.
    guesses
        The quality of an option as a number, or as (lowest, highest) between which all is as likely. An
        option of which nothing is known, by a guess or by the log, may lie anywhere from 0.3 to 0.95.
    log
        A .csv, .parquet, .ndjson or .json file with a row per decision, for options without a guess. A row
        without a reward was not judged: it counts for costs alone.
    columns
        The log's columns of option, reward and cost; a dotted name is a nested field.
    log_format
        As `format` of `replay`.
    days
        The period that spend and saving are of.
    now
        The option that is in use now; savings are measured against it, and otherwise against the safe option:
        the reference of the bar, or the best guess.
    feedback
        The share of decisions that are judged; "wanted": those that the policy asks for.
    judge_price
        What a judgement costs; it is part of the spend.
    worth
        What a unit of quality is worth, in units of cost; the range of the costs by default.
    policies
        What to try. The first one is advised unless another gains clearly more.
    runs
        Runs of each policy; by default as many as take a few seconds, 300 at most.
    seed, workers, progress
        As for `simulate`.

    Examples
    --------
    >>> advice = advise({"small": 0.2, "large": 3.0}, volume=500, alpha=0.1, guesses={"large": 0.9},
    ...                 policies=["etc-cs"], runs=40)
    >>> advice.verdict.kind, advice.standings[0].source
    ('misses your bar', 'nothing known')
    """
    case = case_of(
        costs,
        volume,
        alpha,
        quality,
        guesses,
        log,
        columns,
        days,
        now,
        feedback,
        judge_price,
        worth,
        log_format,
    )
    return advise_on(case, policies, runs, seed, workers, progress)


def advise_on(
    case: Case,
    policies: Sequence[str | Policy] = POLICIES,
    runs: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = True,
) -> Advice:
    """Return the advice on a case that is checked; the rest is as for `advise`."""
    chosen = _policies(policies, case)
    count = default_runs(len(case.names), case.horizon) if runs is None else check_count("runs", runs)
    threads = None if workers is None else check_count("workers", workers)
    check_seed(seed)
    drawn = truths(case, count, seed)
    few = drawn[: max(min(_FEWEST, count), count // _PART)]
    shares = [share for share in SHARES if share != case.feedback]
    with listener(progress, 2 * count + (len(chosen) - 1 + len(shares)) * len(few)) as tell:
        run = _Runs(seed, threads, tell)
        first = run(case, chosen[0], drawn)
        others = [run(case, policy, few) for policy in chosen[1:]]
        better = _better(first, others)
        if better is None:
            best, trials = chosen[0], (first, *others)
        else:
            best = chosen[1 + better]
            trials = (run(case, best, drawn), first, *(each for each in others if each is not others[better]))
        judging = [run(case, best, few, share) for share in shares]
        problems = [truth.problem for truth in drawn]
        ideal, learned = knowing(case, problems), expectation_of(trials[0])
        verdict = before_learning(case, problems, ideal)
        if verdict is None:
            lost = learned.gain <= 0 or (learned.knows or 0.0) < 0.5
            pays = _pays_after(run(replace(case, days=_LONGER * case.days), best, few)) if lost else None
            good = float(np.mean([problem.feasible[case.anchor] for problem in problems]))
            verdict = judged_by(case, learned, ideal, good, pays)
            if verdict.kind == "misses your bar":
                stricter = run(replace(case, given_worth=_STRICTER * case.worth), best, few)
                tried = [*map(expectation_of, (*trials[1:], *judging))]
                verdict = with_remedies(verdict, _remedies(case, problems, tried, expectation_of(stricter)))
    held = dict.fromkeys(each for each in (case.now, case.safe) if each is not None)
    return Advice(
        case=case,
        verdict=verdict,
        trials=trials,
        judging=tuple(judging),
        plans=(
            *map(expectation_of, trials),
            *(always(case, problems, option) for option in held),
            ideal,
        ),
        by_feedback=tuple(map(expectation_of, (trials[0].first(len(few)), *judging))),
        standings=standings(case, problems),
        bars=bars(case, problems),
    )


def _remedies(
    case: Case, problems: Sequence[Problem], tried: Sequence[Expectation], stricter: Expectation
) -> list[str]:
    """Say which other plans hold the bar: policies and shares of feedback that were tried, and more.

    `stricter` is the same policy where quality is worth more.
    """
    found = []
    for each in tried:
        if not each.misses:
            judged = "" if each.feedback == case.feedback else f" with {feedback_words(each.feedback or 1.0)}"
            found.append(f"{each.plan}{judged}")
    if not stricter.misses:
        found.append(
            f"{stricter.plan} with a unit of quality worth {readable(_STRICTER * case.worth)} (worth)"
        )
    good = np.mean([problem.feasible for problem in problems], axis=0)
    safe = [arm for arm in case.expected.order.tolist() if good[arm] >= SURE]
    if safe and not always(case, problems, safe[0]).misses:
        found.append(f"always {case.names[safe[0]]}")
    return found


def _plan_row(each: Expectation) -> dict[str, Any]:
    days = each.days_to_know or Spread(math.nan, math.nan, math.nan)
    parts = {"spend": each.spend, "quality": each.quality, "days_to_know": days}
    row: dict[str, Any] = {"plan": each.plan}
    row["feedback"] = None if each.feedback is None else str(each.feedback)
    for name, values in parts.items():
        row |= {name: values.middle, f"{name}_p10": values.low, f"{name}_p90": values.high}
    row |= {
        "saving": each.saving,
        "lack": each.lack,
        "bar": each.bar,
        "gain": each.gain,
        "gain_error": each.error,
    }
    learned = {"knows": each.knows, "ends_right": each.ends_right, "judged": each.judged}
    return row | {name: math.nan if value is None else value for name, value in learned.items()}


def _day_rows(trial: Trial) -> Iterator[dict[str, Any]]:
    case = trial.case
    spend = trial.by_day @ case.costs
    low, high = np.percentile(spend, [10, 90], axis=0)
    shares = trial.by_day.mean(axis=0) / case.volume
    for day in range(case.days):
        row = {"policy": trial.policy, "day": day + 1, "spend": float(spend[:, day].mean())}
        row |= {"spend_p10": float(low[day]), "spend_p90": float(high[day])}
        named = zip(case.names, shares[day].tolist(), strict=True)
        yield row | {f"share {name}": share for name, share in named}


class _Runs:
    """Runs trials, and tells how many runs are done of all of them."""

    def __init__(self, seed: int, threads: int | None, tell: Callable[[str, int], None]) -> None:
        self.seed, self.threads, self.tell, self.before = seed, threads, tell, 0

    def __call__(
        self, case: Case, policy: str | Policy, drawn: Sequence[Truth], feedback: Feedback | None = None
    ) -> Trial:
        def heard(done: int) -> None:
            self.tell(str(policy), self.before + done)

        trial = run_trial(case, policy, drawn, self.seed, self.threads, feedback, heard)
        self.before += trial.runs
        return trial


def _policies(given: Sequence[str | Policy], case: Case) -> list[str | Policy]:
    if isinstance(given, str | Policy) or not given:
        raise InputError(f"policies must be a list of names or policies, but it is {given!r}")
    chosen = list({label(policy): policy for policy in given}.values())
    for policy in chosen:
        if not resolve(policy).any_bar and not isinstance(case.quality, RelativeToBest):
            raise InputError(f"{label(policy)} knows a quality bar relative to the best option only")
    return chosen


def _better(first: Trial, others: Sequence[Trial]) -> int | None:
    """Return the policy that gains clearly more than the first one in the same truths, if there is one."""
    found, most = None, 0.0
    for place, other in enumerate(others):
        gained = first.first(other.runs).loss - other.loss
        clear = float(gained.mean()) - _ERRORS * float(gained.std()) / math.sqrt(other.runs)
        if clear > most:
            found, most = place, clear
    return found


def _pays_after(trial: Trial) -> float | None:
    """Return after how many days learning has gained more than it cost, for good; None if it does not."""
    case = trial.case
    uses = trial.by_day.cumsum(axis=1)
    judging = float(trial.judging.mean()) / case.horizon
    lost = np.einsum("rdk,rk->d", uses, trial.losses) / trial.runs
    held = float(trial.losses[:, case.anchor].mean())
    gain = case.volume * np.arange(1, case.days + 1) * (held - judging) - lost
    below = np.flatnonzero(gain <= 0)
    if below.size and below[-1] == case.days - 1:
        return None
    return float(below[-1] + 2) if below.size else 1.0
