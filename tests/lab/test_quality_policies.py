"""COF and GLR-COF under every quality bar: the same properties as under the paper's."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frugalbandits as fb
from driver_harness import drive_on_table
from frugalbandits.core.registry import policies, resolve
from harness import COSTS, LONGEST, cases, planner, play, pull_from, reward_table, run_in_turn
from reference import REFERENCES

ABLE = [name for name in policies() if resolve(name).any_bar and not resolve(name).randomised]
TOLERANCES = st.sampled_from([0.0, 0.0, 0.02, 0.2, 1.0])
DELTAS = st.sampled_from([1e-4, 0.01, 0.2, 0.7])


@st.composite
def barred_cases(draw, horizons=(20, 1200)):
    """Draw costs, a bar other than the paper's, horizon and a table of rewards."""
    costs, alpha, horizon, table = draw(cases(horizons=horizons))
    # A level at a reward that rows consist of, too, and one that nothing reaches.
    level = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]))
    reference = st.integers(1, len(costs)).map(lambda arm: fb.RelativeTo(f"a{arm}", alpha))
    return costs, draw(st.one_of(level.map(fb.AtLeast), reference)), horizon, table


def told(bar):
    """Return the bar as the references take it: alpha and options."""
    if isinstance(bar, fb.AtLeast):
        return 0.0, {"level": bar.level}
    return bar.alpha, {"reference": int(bar.reference[1:]) - 1}


# Those that go through episodes to a conclusion.
EPISODIC = [name for name in ABLE if resolve(name).concludes]


def able(name, delta, tolerance):
    settings = {"delta": delta, "tolerance": tolerance} if name in EPISODIC else {}
    return dataclasses.replace(resolve(name), **settings)


@pytest.mark.parametrize("name", ABLE)
@given(case=barred_cases(), delta=DELTAS, tolerance=TOLERANCES)
def test_step_equals_batch(name, case, delta, tolerance):
    costs, bar, horizon, table = case
    policy = able(name, delta, tolerance)
    batched = play(policy, costs, bar, horizon, pull_from(table))
    assert batched == play(policy, costs, bar, horizon, pull_from(table), one_pass=True)


@pytest.mark.parametrize("name", ABLE)
@given(case=barred_cases(horizons=(20, 800)), delta=st.one_of(st.none(), DELTAS), tolerance=TOLERANCES)
def test_policy_equals_reference(name, case, delta, tolerance):
    costs, bar, horizon, table = case
    horizon = min(horizon, LONGEST.get(name, horizon))
    alpha, options = told(bar)
    if name in EPISODIC:
        options |= {"delta": delta, "tolerance": tolerance}
    expected = REFERENCES[name](pull_from(table), costs, alpha, horizon, **options)
    assert play(able(name, delta, tolerance), costs, bar, horizon, pull_from(table)) == expected


@given(
    case=barred_cases(horizons=(20, 800)),
    delta=DELTAS,
    tolerance=TOLERANCES,
    threshold=st.sampled_from(["practical", "proven", "proven"]),
    goal=st.sampled_from(["regret", "regret", "conclusion"]),
    sampling=st.sampled_from(["stakes", "first"]),
)
def test_every_setting_equals_its_reference(case, delta, tolerance, threshold, goal, sampling):
    costs, bar, horizon, table = case
    alpha, options = told(bar)
    settings = {"delta": delta, "tolerance": tolerance, "threshold": threshold, "goal": goal}
    settings["sampling"] = sampling
    expected = REFERENCES["glr-cof"](pull_from(table), costs, alpha, horizon, **settings, **options)
    assert play(fb.GLRCOF(**settings), costs, bar, horizon, pull_from(table)) == expected


@pytest.mark.parametrize("name", ABLE)
@given(case=barred_cases(horizons=(20, 500)), delta=DELTAS, data=st.data())
def test_session_equals_simulator(name, case, delta, data):
    costs, bar, horizon, table = case
    table = np.round(table * 64) / 64
    policy = able(name, delta, 0.0)
    times = np.unique([*data.draw(st.lists(st.integers(1, horizon), max_size=10)), horizon])
    pulls, events = drive_on_table(policy, costs, bar, table, times)
    # Without a memory: the simulator's world stands still, and what looks like a change there is chance.
    session = fb.Session(costs, policy=policy, horizon=horizon, quality=bar, memory=None)
    stored_at = data.draw(st.integers(0, horizon))
    pull, pulled = pull_from(table), []
    for step in range(horizon):
        if step == stored_at:
            session = fb.Session.from_json(session.to_json())
        decision = session.ask()
        arm = int(decision.arm[1:]) - 1
        session.tell(decision.id, pull(arm))
        pulled.append(arm)
    counts = np.array([np.bincount(pulled[:time], minlength=len(costs)) for time in times])
    assert np.array_equal(pulls, counts)
    assert [(time, event, int(arm[1:]) - 1) for time, event, arm in session.explain().events] == events
    assert session.quality == bar


@pytest.mark.parametrize("name", ABLE)
@given(case=barred_cases(horizons=(20, 400)), delta=DELTAS)
def test_planning_twice_changes_nothing(name, case, delta):
    costs, bar, horizon, table = case
    policy = able(name, delta, 0.0)

    def plan_again(state, batch, time):
        noted = int(state.journal.length[0])
        again = planner(policy)(state, None)
        assert again.arms.tolist() == batch.arms.tolist() and again.repeats == batch.repeats
        assert int(state.journal.length[0]) == noted
        bounds = policy.bounds(state)
        assert (bounds.lower <= bounds.upper).all()
        assert all(policy.reason(state, int(arm)) for arm in batch.arms)

    play(policy, costs, bar, horizon, pull_from(table), record=plan_again)


# Not GLR-COF: to fall short of a better candidate is a loss under the paper's bar only, and it weighs losses.
@pytest.mark.parametrize("name", [name for name in EPISODIC if name != "glr-cof"])
@given(case=cases(horizons=(20, 800), arms=(2, 2)), delta=DELTAS)
def test_of_two_arms_the_dearer_one_is_the_one_to_compare_with(name, case, delta):
    """Relative to the dearer arm and relative to the better one are then the same, pull for pull."""
    costs, alpha, horizon, table = case
    dearer = "a1" if costs[0] > costs[1] else "a2"
    policy = able(name, delta, 0.0)
    one = play(policy, costs, fb.RelativeTo(dearer, alpha), horizon, pull_from(table))
    assert one == play(policy, costs, alpha, horizon, pull_from(table))


@pytest.mark.parametrize("name", ABLE)
@given(case=barred_cases(horizons=(20, 800)), delta=DELTAS)
def test_no_arm_beyond_need_is_pulled(name, case, delta):
    """None that costs more than the reference; under a level, none before the cheaper ones are ruled out."""
    costs, bar, horizon, table = case
    pulled, events = play(able(name, delta, 0.0), costs, bar, horizon, pull_from(table))
    order = sorted(range(len(costs)), key=lambda arm: costs[arm])
    if isinstance(bar, fb.RelativeTo):
        beyond = order[order.index(int(bar.reference[1:]) - 1) + 1 :]
        assert not set(pulled) & set(beyond)
    elif name in EPISODIC:
        ruled_out = [arm for _, event, arm in events if event == "infeasible"]
        assert ruled_out == order[: len(ruled_out)]
        assert set(pulled) <= {*ruled_out, *order[len(ruled_out) : len(ruled_out) + 1]}


OPTIONS = fb.Problem([0.5, 0.8, 0.84, 0.9], [1, 2, 4, 9], 0.1, names=["tiny", "small", "large", "huge"])


@pytest.mark.parametrize("name", ["cof", "glr-cof:goal=conclusion", "cof-cost-biased"])
@pytest.mark.parametrize(
    ("bar", "right"),
    [
        ("relative-to:large:0.1", "small"),
        ("relative-to:large:0.02", "large"),
        ("relative-to:huge:0.08", "large"),
        ("relative-to:tiny:0.3", "tiny"),
        ("at-least:0.45", "tiny"),
        ("at-least:0.7", "small"),
        ("at-least:0.87", "huge"),
        ("at-least:0.97", "huge"),
    ],
)
def test_runs_end_on_the_right_arm(name, bar, right):
    """Fixed seeds, so this cannot fail by chance."""
    problem = OPTIONS.with_quality(bar)
    assert problem.names[problem.optimal_arm] == right
    result = fb.simulate(problem, name, 3_000_000, runs=20)
    assert result.found_optimal == 1.0
    settled = [event for event in result.events if event["event"] == "optimal"]
    assert {int(event["arm"]) for event in settled} == {problem.optimal_arm}
    unreachable = sum(event["event"] == "unreachable" for event in result.events)
    assert unreachable == (0 if problem.attainable else 20)
    if "large" in bar:
        assert result.pulls[:, -1, 3].max() == 0


@pytest.mark.parametrize(
    "bar", ["relative-to:large:0.1", "relative-to:huge:0.08", "at-least:0.7", "at-least:0.97"]
)
def test_glr_cof_has_a_fraction_of_cof_s_regret(bar):
    problem = OPTIONS.with_quality(bar)
    ours, cof = (fb.simulate(problem, name, 200_000, runs=20).summary().mean for name in ("glr-cof", "cof"))
    assert ours < 0.6 * cof


NEAR = fb.Problem([0.3, 0.42, 0.5, 0.46], [1, 2, 3, 4], alpha=0.1)


@pytest.mark.parametrize("bar", ["relative-to:a4:0.05", "at-least:0.45", "at-least:0.6"])
def test_proven_threshold_keeps_its_word(bar):
    """At delta = 0.2 at most 20% of 400 runs may conclude wrongly; far fewer do. False alarm: below 1e-9."""
    problem = NEAR.with_quality(bar)
    policy = fb.GLRCOF(delta=0.2, threshold="proven", goal="conclusion")
    result = fb.simulate(problem, policy, 20_000, runs=400, seed=3)
    wrong = set()
    for event in result.events:
        good = problem.means[event["arm"]] >= problem.threshold if problem.attainable else False
        if event["event"] == "infeasible" and good:
            wrong.add(int(event["run"]))
        if event["event"] == "optimal" and event["arm"] != problem.optimal_arm:
            wrong.add(int(event["run"]))
        if event["event"] == "unreachable" and problem.attainable:
            wrong.add(int(event["run"]))
    assert len(wrong) <= 80
    assert any(event["event"] == "optimal" for event in result.events)


@pytest.mark.parametrize("policy", ["cof:tolerance=0.05", "glr-cof:tolerance=0.05,goal=conclusion"])
def test_a_tolerance_ends_a_tie_with_the_bar(policy):
    tie = fb.Problem([0.5, 0.72, 0.8], [1, 2, 9], 0.1)
    for bar in ("relative-to:a3:0.1", "at-least:0.72"):
        result = fb.simulate(tie.with_quality(bar), policy, 100_000, runs=10)
        settled = [event for event in result.events if event["event"] == "optimal"]
        assert len(settled) == 10
        assert {int(event["arm"]) for event in settled} == {1}


@pytest.mark.parametrize("policy", [fb.COF(0.01), fb.GLRCOF(0.01, goal="conclusion")])
def test_a_session_says_that_no_option_reaches_the_level(policy):
    session = fb.Session(COSTS, policy=policy, quality=fb.AtLeast(0.97))
    assert session.ask().reason == "first look at this option"
    run_in_turn(session, 400)
    looking = session.explain()
    while not session.explain().unreachable:
        run_in_turn(session, 20)
    looking = session.explain()
    assert looking.headline.startswith("No option reaches 0.97; after")
    assert "still being looked for" in looking.headline
    assert looking.decision is None
    assert session.ask().reason == "no option reaches 0.97: looking for the best"
    run_in_turn(session, 30_000, seed=2)
    found = session.explain()
    assert found.headline.startswith("No option reaches 0.97; settled on 'large', the best one, after")
    assert "asking for a quality of at least 0.97" in str(found)
    assert session.ask().reason == "settled: no option reaches 0.97, and this is the best"
    assert [event for _, event, _ in found.events] == ["infeasible"] * 3 + ["unreachable", "optimal"]
    assert found.to_dict()["quality"] == {"kind": "at-least", "level": 0.97}
    assert found.alpha is None


def test_a_session_explains_a_reference():
    session = fb.Session({**COSTS, "huge": 9.0}, policy=fb.GLRCOF(0.01), quality="relative-to:large:0.1")
    run_in_turn(session, 60)
    explanation = session.explain()
    assert "giving up at most 0.1 of the quality of 'large'" in str(explanation)
    by_name = {arm.name: arm for arm in explanation.arms}
    assert by_name["huge"].status == "not needed" and by_name["huge"].pulls == 0
    assert by_name["large"].status == "costs more"
    assert explanation.alpha == 0.1


@pytest.mark.parametrize("policy", [fb.COF(0.01), fb.GLRCOF(0.01, goal="conclusion")])
def test_options_wait_for_their_turn_under_a_level(policy):
    session = fb.Session(COSTS, policy=policy, quality="at-least:0.7")
    run_in_turn(session, 5)
    assert [arm.status for arm in session.explain().arms] == ["candidate", "not seen yet", "not seen yet"]
    run_in_turn(session, 3_000, seed=1)
    assert [arm.status for arm in session.explain().arms] == ["infeasible", "optimal", "not needed"]
    assert session.ask().reason == "settled: the cheapest option that is good enough"


def test_permuting_the_arms_permutes_the_result():
    for bar in ("relative-to:large:0.1", "at-least:0.87"):
        problem = OPTIONS.with_quality(bar)
        back = [2, 0, 3, 1]
        other = fb.Problem(
            problem.means[back], problem.costs[back], names=[problem.names[k] for k in back], quality=bar
        )
        for name in EPISODIC:
            one, two = (fb.simulate(each, name, 5_000, runs=3, seed=1) for each in (problem, other))
            assert np.array_equal(one.pulls[:, :, back], two.pulls)


@pytest.mark.parametrize("policy", [fb.COF(0.01), fb.GLRCOF(0.01, goal="conclusion")])
def test_the_last_option_may_be_the_one_that_reaches_the_level(policy):
    session = fb.Session(COSTS, policy=policy, quality="at-least:0.82")
    run_in_turn(session, 60_000)
    explanation = session.explain()
    assert explanation.headline == "Settled on 'large' after 60,000 decisions."
    assert [event for _, event, _ in explanation.events] == ["infeasible", "infeasible", "optimal"]
    assert session.ask().reason == "settled: the cheapest option that is good enough"
    evidence = [arm.evidence for arm in explanation.arms]
    assert evidence[:2] == [None, None]
    assert evidence[2] is None or evidence[2] >= explanation.needed


@pytest.mark.parametrize("name", EPISODIC)
@pytest.mark.parametrize("seed", range(5))
def test_a_lucky_arm_is_no_reference(name, seed):
    """An arm in between that paid 1 on its only pull says nothing about the bar."""
    costs, bar, horizon = [1.0, 2.0, 40.0], fb.RelativeTo("a3", 0.1), 3_000
    table = reward_table(seed, [0.55, 0.99, 0.6], horizon, "bernoulli")
    table[1] = 1.0
    pulled, events = play(able(name, 1e-6, 0.0), costs, bar, horizon, pull_from(table))
    expected = REFERENCES[name](pull_from(table), costs, 0.1, horizon, delta=1e-6, reference=2)
    assert (pulled, events) == expected
    assert len(set(pulled)) == 3
