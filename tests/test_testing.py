"""check_policy: every policy keeps the contract, and each way to break it is caught by name."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import frugalbandits as fb
from frugalbandits.core import registry
from frugalbandits.core.contract import FOREVER, INFEASIBLE, OPTIMAL, Batch, note, single
from frugalbandits.core.tally import handed, mean
from frugalbandits.testing import Case, ContractBroken, check_policy

spec = spec_from_file_location("own_policy", Path(__file__).parents[1] / "examples" / "own_policy.py")
example = module_from_spec(spec)
spec.loader.exec_module(example)


@dataclasses.dataclass(frozen=True)
class Greedy(example.Greedy):
    """The policy of the examples with a short trial; the breakages are changes of it."""

    trial: int = 4


SHORT = [
    fb.COF(delta=0.2),
    fb.COF(delta=0.5, tolerance=0.1),
    fb.GLRCOF(delta=0.2, goal="conclusion"),
    Greedy(),
]


@pytest.mark.parametrize("policy", [*fb.policies(), *SHORT], ids=str)
def test_policies_keep_the_contract(policy):
    report = check_policy(policy, examples=6)
    assert all(line.verdict == "holds" or line.verdict.startswith("skipped: ") for line in report.lines)
    randomised = registry.resolve(policy).randomised
    skipped = {line.property for line in report.skipped}
    assert {"planning twice changes nothing", "step equals batch"} & skipped == (
        {"planning twice changes nothing", "step equals batch"} if randomised else set()
    )
    assert ("storing in the middle changes nothing" in skipped) == isinstance(policy, Greedy)


BROKEN: dict[str, tuple[str, type]] = {}


def breaks(property):
    """Keep a change of the example, or of its plan alone, with the property that it breaks."""

    def keep(change):
        name = change.__name__
        kind = change if isinstance(change, type) else type(name, (Greedy,), {"plan": staticmethod(change)})
        BROKEN[name] = property, dataclasses.dataclass(frozen=True)(kind)
        return change

    return keep


SHARED = np.full(1, -1, np.int64)


@breaks("a run starts from nothing")
class SharesAnArray(Greedy):
    def start(self, setting):
        return super().start(setting)._replace(chosen=SHARED)


@breaks("a run starts from nothing")
class StartsWithAPrior(Greedy):
    def start(self, setting):
        state = super().start(setting)
        state.tally.pulls[:] = 1
        return state


@breaks("pulls are of arms that there are")
def counts_from_the_end(state, rng):
    """Python would take it."""
    batch = example.plan(state, rng)
    return batch._replace(arms=batch.arms - len(state.tally.pulls))


@breaks("pulls are of arms that there are")
def has_no_passes_at_the_end(state, rng):
    batch = example.plan(state, rng)
    return batch._replace(repeats=0) if state.chosen[0] >= 0 else batch


@breaks("plan leaves the tally alone and only adds to the journal")
def forgets(state, rng):
    state.tally.sums[:] *= 0.9
    return example.plan(state, rng)


@breaks("plan leaves the tally alone and only adds to the journal")
def takes_back_what_it_noted(state, rng):
    batch = example.plan(state, rng)
    if state.tally.pulls.sum() % 2:
        state.journal.length[0] = 0
    return batch._replace(repeats=1)


@breaks("plan leaves the tally alone and only adds to the journal")
def deems_two_arms_optimal(state, rng):
    batch = example.plan(state, rng)
    if state.journal.length[0] == 1 and state.tally.pulls.sum() % 2:
        note(state, OPTIMAL, 0)
    return batch._replace(repeats=1)


@breaks("planning twice changes nothing")
def notes_a_plan_as_a_conclusion(state, rng):
    batch = example.plan(state, rng)
    if batch.repeats == FOREVER and state.journal.length[0] < len(state.journal.kinds):
        note(state, INFEASIBLE, 0)
    return batch


PLANS = itertools.count()


@breaks("planning twice changes nothing")
def counts_its_plans(state, rng):
    return example.plan(state, rng)._replace(repeats=1 + next(PLANS) % 2)


@breaks("step equals batch")
def looks_too_far_ahead(state, rng):
    """It stays for ten pulls with what looks best, but the outcome of the first may change that."""
    batch = example.plan(state, rng)
    if state.chosen[0] < 0:
        return batch
    return Batch(single(int(np.argmax([mean(state, k) for k in range(len(state.tally.pulls))]))), 10)


DICE = np.random.default_rng(0)


@breaks("the same seed gives the same run")
class DrawsFromElsewhere(Greedy):
    randomised: ClassVar[bool] = True

    @staticmethod
    def plan(state, rng):
        return Batch(single(int(DICE.integers(len(state.tally.pulls)))), 1)


@breaks("it answers while feedback is out")
def goes_by_what_has_come_back(state, rng):
    if state.tally.pending.any():
        return Batch(single(int(np.flatnonzero(state.tally.pulls)[0])), 1)
    return example.plan(state, rng)


@breaks("any order of tells gives the same state")
class KeepsTooLittleOfWhatRoundingLeaves(Greedy):
    def start(self, setting):
        state = super().start(setting)
        return state._replace(tally=state.tally._replace(carry=state.tally.carry.astype(np.float16)))


@breaks("bounds and reasons are there at any time")
class HasBoundsForTheSeenOnly(Greedy):
    def bounds(self, state):
        bounds = super().bounds(state)
        return bounds._replace(lower=bounds.lower[state.tally.pulls > 0])


@breaks("bounds and reasons are there at any time")
class HasNoReason(Greedy):
    def reason(self, state, arm):
        return None


@breaks("bounds and reasons are there at any time")
class ChangesWhatItExplains(Greedy):
    def bounds(self, state):
        state.chosen[0] = 0
        return super().bounds(state)


@breaks("settings survive")
class HasASettingThatIsNoJson(Greedy):
    among: frozenset = frozenset({1})


@breaks("refusals are InputErrors")
class TakesAnyBar(Greedy):
    def begin(self, setting):
        return super().begin(setting._replace(quality=fb.RelativeToBest(0.1)))


@breaks("refusals are InputErrors")
class ChecksNoSetting(Greedy):
    def __post_init__(self):
        range(self.trial)


@breaks("refusals are InputErrors")
class StumblesWithoutAHorizon(Greedy):
    def start(self, setting):
        return super().start(setting._replace(horizon=setting.horizon + 1))


@breaks("storing in the middle changes nothing")
class RemembersInAList(Greedy):
    """What it has settled on stands in a list, which is not stored."""

    def start(self, setting):
        return super().start(setting)._replace(trial=[self.trial, -1])

    @staticmethod
    def plan(state, rng):
        trial, chosen = state.trial
        if chosen < 0:
            for k in range(len(state.tally.pulls)):
                if handed(state, k) < trial:
                    return Batch(single(k), trial - handed(state, k))
            state.trial[1] = chosen = int(np.argmin(state.tally.sums))
        return Batch(single(chosen), 1)


@breaks("plain equals compiled")
def has_numbers_without_end(state, rng):
    number = 1
    for _ in range(100):
        number *= 3
    return Batch(single(0 if number % 1000 == 1 else 1), 1)


@breaks("plain equals compiled")
def cannot_be_compiled(state, rng):
    return Batch(single({"cheapest": 0}.get("cheapest", len(vars()))), 1)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_policy_is_caught_by_the_property_that_it_breaks(name, monkeypatch):
    property, kind = BROKEN[name]
    monkeypatch.setitem(registry._REGISTRY, "broken", registry._Entry(kind(), "broken"))
    with pytest.raises(ContractBroken) as caught:
        check_policy("broken")
    found = caught.value
    assert found.property == property
    assert f"{name}(" in str(found) and property in str(found) and repr(found.case) in str(found)
    # The case that is named shows it again, and nothing else does before it.
    SHARED[:] = -1
    with pytest.raises(ContractBroken) as repeated:
        check_policy(kind(), case=found.case)
    assert repeated.value.property == property


def test_the_case_is_small():
    _, kind = BROKEN["looks_too_far_ahead"]
    with pytest.raises(ContractBroken) as caught:
        check_policy(kind())
    case = caught.value.case
    assert case.arms <= 3 and case.horizon <= 20 and case.quality == "relative-to-best:0.1"
    assert "in whole batches" in str(caught.value)


def test_the_report_reads_as_a_table():
    lines = str(check_policy(Greedy(), examples=2)).splitlines()
    assert lines[0] == "Greedy(trial=4)"
    assert lines[2].split() == ["property", "cases", "verdict"]
    assert (
        len({line.index(word) for line in lines[3:] for word in ("holds", "skipped:") if word in line}) == 1
    )
    assert any("frugalbandits.register(NAME, Greedy(trial=4))" in line for line in lines)


def test_what_is_not_installed_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "frugalbandits.lab.driver", None)
    monkeypatch.setattr("frugalbandits.testing.properties.has_compiler", lambda: False)
    report = check_policy("etc-cs", examples=1)
    assert {line.property: line.verdict for line in report.skipped} == {
        "session equals simulator": "skipped: the simulator needs frugalbandits.lab.driver: "
        "pip install 'frugalbandits[lab]'",
        "plain equals compiled": "skipped: there is no numba: pip install 'frugalbandits[fast]'",
    }


def test_other_seeds_give_other_cases_and_the_same_seed_the_same():
    def cases(seed):
        seen = []

        class Watched(Greedy):
            def begin(self, setting):
                seen.append((setting.horizon, setting.costs.tolist()))
                return super().begin(setting)

        check_policy(Watched(), examples=2, seed=seed)
        return seen

    assert cases(1) == cases(1) != cases(2)


@pytest.mark.parametrize("examples", [0, -1, 2.5, True, "many"])
def test_a_wrong_number_of_examples_is_named(examples):
    with pytest.raises(fb.InputError, match=f"examples must be .* but it is {examples!r}"):
        check_policy("cof", examples=examples)


def test_a_shorter_case_is_the_beginning_of_a_longer_one():
    case = Case(seed=5, arms=4, horizon=90, quality="at-least:0.5", style="blocks")
    smaller = case._replace(arms=3, horizon=40)
    assert np.array_equal(smaller.rewards, case.rewards[:3, :40])
    assert ((case.rewards >= 0) & (case.rewards <= 1)).all()
