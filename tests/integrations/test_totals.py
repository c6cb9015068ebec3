"""What a report compares with, and reports of all processes that share a store."""

from __future__ import annotations

import itertools
import json
import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from frugalbandits.errors import StoreUnavailable
from frugalbandits.integrations.litellm import totals as module
from frugalbandits.integrations.litellm.ledger import Ledger
from frugalbandits.integrations.litellm.report import report_of
from frugalbandits.integrations.litellm.totals import OptionTally, SharedTotals, Totals
from frugalbandits.stores import open_store
from litellm_harness import LARGE, SMALL, good_if, until

COSTS = {"small": 1.0, "middle": 2.0, "large": 10.0}


# The baseline.


def baselines_of(qualities, judgements, seed):
    """Judge options in turn; return the raw best and the baseline of a report after each judgement."""
    dice, ledger, raw, found = random.Random(seed), Ledger(60.0), [], []
    names = list(COSTS)
    for number in range(judgements):
        name = names[number % len(names)]
        ledger.answered(name, COSTS[name])
        ledger.judged(name, float(dice.random() < qualities[name]))
        report = report_of("chat", False, None, COSTS, ledger.totals())
        if report.baseline != ledger.totals().baseline:
            ledger.compare_with(report.baseline)
        judged = [each for each in report.options if each.quality is not None]
        raw.append(max(judged, key=lambda each: each.quality).name)
        found.append(report.baseline)
    return raw, found


def changes(names):
    return sum(one != other for one, other in itertools.pairwise(names))


def test_the_baseline_does_not_flip_with_a_judgement():
    """Like options: by 99.9% intervals a change is a false alarm; ten runs have two once in a thousand."""
    like = {"small": 0.8, "middle": 0.82, "large": 0.84}
    runs = [baselines_of(like, 300, seed) for seed in range(10)]
    assert sum(changes(raw) for raw, _ in runs) > 50, "the highest mean does flip"
    assert sum(changes(found) for _, found in runs) <= 1
    assert all(found[0] == "large" for _, found in runs)


def test_the_baseline_changes_once_where_another_is_clearly_better():
    clear = {"small": 0.3, "middle": 0.95, "large": 0.4}
    for seed in range(5):
        _, found = baselines_of(clear, 300, seed)
        assert (found[0], found[-1], changes(found)) == ("large", "middle", 1)


def test_the_report_says_with_what_it_compares_and_why():
    totals = Totals({"small": OptionTally(5, 5, 0, 5, 5.0, 5, 5.0)})
    unsure = report_of("chat", False, None, COSTS, totals)
    assert unsure.baseline == "large" and "none is clearly better" in str(unsure)
    assert unsure.instead_quality is None and "instead not known" in str(unsure)
    named = report_of("chat", False, "middle", COSTS, totals)
    assert "Had all gone to 'middle' (named in the settings)" in str(named)
    sure = Totals(
        {
            "middle": OptionTally(90, 90, 0, 90, 180.0, 90, 90.0),
            "large": OptionTally(90, 90, 0, 90, 900.0, 90, 9.0),
        }
    )
    assert "'middle' (clearly better than the most expensive option)" in str(
        report_of("chat", False, None, COSTS, sure)
    )


def test_quality_delivered_stands_beside_the_bar(house):
    frugal = house.attached(judge=good_if("small"), quality="at-least:0.8")
    for _ in range(5):
        house.call()
    house.settled(5)
    report = frugal.report()
    assert report.bar == 0.8
    assert f"Quality delivered {report.quality:.3f}" in str(report)
    assert ", bar 0.800 (at-least:0.8)" in str(report)
    assert report.to_dict()["bar"] == 0.8


# Totals of several processes.

TALLIES = st.dictionaries(
    st.sampled_from("abc"),
    st.builds(
        OptionTally, *[st.integers(0, 99)] * 4, st.integers(0, 99), st.integers(0, 9), st.integers(0, 9)
    ),
)
TOTALS = st.builds(
    lambda options, counts, judging: Totals(options, module.Counter(counts), judging),
    TALLIES,
    st.dictionaries(st.sampled_from("xyz"), st.integers(1, 9)),
    st.integers(0, 9),
)


@given(TOTALS, TOTALS)
def test_totals_add_up_and_come_back_as_they_were(one, other):
    both = Totals()
    both.add(one)
    both.add(other)
    rest = both.since(other)
    rest.add(other)
    for name, tally in both.options.items():
        assert rest.options.get(name, OptionTally()) == tally
    assert (rest.counts, rest.judging) == (both.counts, both.judging)
    assert Totals.from_dict(json.loads(json.dumps(both.to_dict()))) == both


def counting(store, rounds, name="chat"):
    shared, mine = SharedTotals(store, name), Ledger(60.0)
    for _ in range(rounds):
        mine.answered("small", 0.5)
        mine.count("failures")
        shared.publish(mine.totals())
    return shared


def test_all_that_share_a_store_add_up_while_the_log_is_compacted(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_COMPACT_EVERY", 3)
    monkeypatch.setattr(module, "_KEEP", -1.0)  # entries go at once
    address = f"sqlite:///{tmp_path}/kept.db"
    with open_store(address) as first, open_store(address) as second:
        threads = [threading.Thread(target=counting, args=(store, 20)) for store in (first, second) * 2]
        for thread in threads:
            thread.start()
        seen = []
        while any(thread.is_alive() for thread in threads):
            seen.append(SharedTotals(first, "chat").read().counts["failures"])
        for thread in threads:
            thread.join()
        assert seen == sorted(seen)
        found = SharedTotals(second, "chat").read()
        assert found.options["small"] == OptionTally(answered=80, bills=80, spent=40.0)
        assert found.counts == {"failures": 80}
        assert len(first.read("$litellm:chat")) < 20
        assert SharedTotals(second, "other").read() == Totals()


def test_what_is_sent_again_counts_once(tmp_path):
    """The store takes an entry, and its answer is lost."""
    with open_store(f"sqlite:///{tmp_path}/kept.db") as store:

        class Lossy:
            lost = False

            def append(self, *told):
                store.append(*told)
                if not self.lost:
                    self.lost = True
                    raise StoreUnavailable("lost")

        shared, mine = SharedTotals(Lossy(), "chat"), Ledger(60.0)
        mine.answered("small", 0.5)
        with pytest.raises(StoreUnavailable):
            shared.publish(mine.totals())
        mine.answered("small", 0.5)
        shared.publish(mine.totals())
        assert SharedTotals(store, "chat").read().options["small"].answered == 2


def test_the_first_to_change_the_baseline_is_heard(tmp_path):
    with open_store(f"sqlite:///{tmp_path}/kept.db") as store:
        one, other = SharedTotals(store, "chat"), SharedTotals(store, "chat")
        one.set_baseline("large", 1)
        other.set_baseline("small", 1)
        assert (other.read().baseline, other.read().baselines) == ("large", 1)
        other.set_baseline("small", 2)
        assert one.read().baseline == "small"


def test_a_report_of_a_store_outlives_the_process(house, tmp_path):
    place = f"sqlite:///{tmp_path}/kept.db"
    frugal = house.attached(store=place)
    spent = 0.0
    for _ in range(3):
        spent += house.call()._hidden_params["response_cost"]
    house.settled(3)
    before = frugal.report()
    assert before.everywhere and before.answers == 3 and before.spent == pytest.approx(spent)
    frugal.close()
    again = house.attached(store=place)
    after = again.report()
    assert (after.answers, after.options) == (before.answers, before.options)
    house.call()
    until(lambda: again.report().answers == 4)
    assert {each.name for each in after.options} == {SMALL, LARGE}


def test_the_log_of_totals_is_no_session(tmp_path, house):
    place = f"sqlite:///{tmp_path}/kept.db"
    frugal = house.attached(store=place)
    house.call()
    house.settled(1)
    assert frugal.report().everywhere
    with open_store(place) as store:
        names = [name for name in store.sessions() if not name.startswith("$")]
        assert names == [house.group]
        with pytest.raises(fb.InputError):
            fb.Session({"a": 1, "b": 2}, alpha=0.1, store=store, name=f"$litellm:{house.group}")


def test_a_service_has_reports_of_one_process_and_says_so(async_house, server):
    house = async_house
    frugal = house.attached(service_url=server.url)
    house.call()
    house.settled(1)
    assert not frugal.report().everywhere and "of this process alone" in str(frugal.report())
