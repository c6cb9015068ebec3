"""Figures of the experiments: what is drawn equals the outcomes, at any scale; what is missing is named."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import frugalbandits as fb
from frugalbandits.errors import InputError
from frugalbandits.lab.figures import LEAST
from frugalbandits.lab.figures import style as drawing
from frugalbandits.lab.instances.catalogue import instance
from frugalbandits.lab.paper.experiments import cells_of, experiments
from frugalbandits.lab.paper.figures import ablations, plots
from frugalbandits.lab.sweeps.cells import Cell, Outcome, Settings

EVENTS = np.dtype([("run", int), ("time", int), ("event", "U10"), ("arm", int)])
MAIN = ("regret-vs-time", "vary-alpha")
ABLATIONS = {
    "ablation-exclusive": [("a", 0, "infeasible"), ("b", 1, "optimal")],
    "ablation-combining": [("c", 0, "infeasible"), ("d", 1, "infeasible"), ("e", 2, "infeasible")],
}


def outcome(cell: Cell, judged: float = 1.0) -> Outcome:
    """A made-up outcome: random pulls; each arm is judged at a random time by that share of the runs."""
    problem = cell.problem
    rng = np.random.default_rng([cell.seed, round(100 * cell.alpha), *cell.policy.encode()])
    times = np.linspace(cell.horizon / cell.checkpoints, cell.horizon, cell.checkpoints).astype(np.int64)
    steps = np.diff(times, prepend=0)
    weights = rng.dirichlet(np.full(problem.arms, 0.5))
    pulls = rng.multinomial(np.tile(steps, (cell.runs, 1)), weights).cumsum(axis=1)
    rows = [
        (run, rng.integers(1, cell.horizon // 2), kind, arm)
        for run in range(round(judged * cell.runs))
        for arm in range(problem.arms)
        for kind in ("infeasible", "optimal")
    ]
    plans = np.ones(cell.runs, np.int64)
    events = np.array(rows, dtype=EVENTS)
    return Outcome(cell, fb.Result(problem, cell.policy, cell.seed, times, pulls, events, plans), 0.1)


def outcomes(*names: str, runs: int = 7, horizon: int = 4000, judged: float = 1.0) -> list[Outcome]:
    settings = Settings(runs=runs, horizon=horizon)
    small = (dataclasses.replace(cell, checkpoints=40) for cell in cells_of(names, settings))
    return [outcome(cell, judged) for cell in small]


@pytest.fixture(scope="module")
def main() -> list[Outcome]:
    return outcomes("vary-alpha")


def found(outs: Iterable[Outcome], where: str, alpha: float, policy: str) -> fb.Result:
    return next(
        o.result for o in outs if (o.cell.instance, o.cell.alpha, o.cell.policy) == (where, alpha, policy)
    )


def curve(axes: Axes, label: str) -> Any:
    return next(line for line in axes.get_lines() if line.get_label() == label)


def legend_texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def assert_legends_cover_nothing(figure: Figure) -> None:
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    box = figure.legends[0].get_window_extent(renderer)
    assert figure.bbox.padded(1).containsx(box.x0) and figure.bbox.padded(1).containsx(box.x1)
    for axes in figure.axes:
        assert not box.overlaps(axes.get_tightbbox(renderer))
        own = axes.get_legend()
        if own is not None:
            extent = own.get_window_extent(renderer)
            assert all(not extent.overlaps(other.get_window_extent(renderer)) for other in figure.axes)
            assert all(
                not extent.overlaps(other.get_legend().get_window_extent(renderer))
                for other in figure.axes
                if other is not axes and other.get_legend() is not None
            )
            assert figure.bbox.padded(1).containsx(extent.x1)


# Regret against time


def test_regret_vs_time_shows_both_instances_at_alpha_0_3(main: list[Outcome]) -> None:
    figure = plots.plot_regret_vs_time(main)
    for axes, name, title in zip(
        figure.axes, ("goodreads", "movielens"), ("Goodreads", "MovieLens"), strict=True
    ):
        assert axes.get_title() == f"{title}, $\\alpha$ = 0.3\nT = 4,000, 7 runs"
        for policy in ("cof", "pe-cs", "ucb-cs", "ts-cs", "etc-cs"):
            mean = found(main, name, 0.3, policy).summed_regret.mean(axis=0)
            assert curve(axes, policy).get_ydata()[-1] == pytest.approx(mean[-1])
    assert legend_texts(figure) == ["COF", "PE-CS", "UCB-CS", "TS-CS", "ETC-CS", LEAST]
    assert figure.axes[0].get_ylabel() == "summed cost and quality regret\n(logarithmic)"
    assert figure.axes[0].get_xlabel() == "t"


def test_the_least_possible_regret_grows_with_log_t(main: list[Outcome]) -> None:
    for axes, name in zip(plots.plot_regret_vs_time(main).axes, ("goodreads", "movielens"), strict=True):
        line = curve(axes, LEAST)
        least = fb.bounds.least_regret(fb.instance(name, 0.3), 4_000).value
        assert line.get_ydata()[-1] == pytest.approx(least)
        shares = np.log(np.asarray(line.get_xdata(), float)) / np.log(4_000)
        np.testing.assert_allclose(np.asarray(line.get_ydata()), least * shares)


# Terminal regret against alpha


def test_each_column_has_the_least_possible_regret_where_there_is_any(main: list[Outcome]) -> None:
    for axes, name in zip(plots.plot_vary_alpha(main).axes, ("goodreads", "movielens"), strict=True):
        lines = {str(line.get_label()): line for line in axes.lines}
        for column, alpha in enumerate(sorted({o.cell.alpha for o in main})):
            least = fb.bounds.least_regret(fb.instance(name, alpha), 4_000).value
            assert (f"{LEAST}, {alpha:g}" in lines) == (least > 0)
            if least > 0:
                line = lines[f"{LEAST}, {alpha:g}"]
                assert list(line.get_ydata()) == [least, least]
                assert abs(np.mean(line.get_xdata()) - column) < 1e-9
                assert axes.get_ylim()[0] < least < axes.get_ylim()[1]


def test_every_run_is_a_mark_at_its_terminal_regret_within_its_column(main: list[Outcome]) -> None:
    figure = plots.plot_vary_alpha(main)
    alphas = sorted({o.cell.alpha for o in main})
    assert len(alphas) == 13
    for axes, name in zip(figure.axes, ("goodreads", "movielens"), strict=True):
        assert axes.get_yscale() == "log"
        assert [text.get_text() for text in axes.get_xticklabels()] == [f"{alpha:.2f}" for alpha in alphas]
        reach: dict[str, Any] = {}
        for marks in axes.collections:
            if not isinstance(marks, PathCollection):
                continue
            policy = str(marks.get_label())
            points = np.asarray(marks.get_offsets()).reshape(13, 7, 2)
            ends = [found(main, name, alpha, policy).summed_regret[:, -1] for alpha in alphas]
            np.testing.assert_allclose(points[:, :, 1], ends)
            offsets = points[:, :, 0] - np.arange(13)[:, None]
            assert np.all(np.abs(offsets) < 0.5)
            assert np.ptp(offsets) > 0
            reach[policy] = offsets.min(), offsets.max()
        assert list(reach) == ["cof", "pe-cs", "ucb-cs", "ts-cs", "etc-cs"]
        # Side by side, in the legend's order.
        for (_, right), (left, _) in zip(list(reach.values())[:-1], list(reach.values())[1:], strict=True):
            assert right < left


def test_a_bar_marks_each_mean(main: list[Outcome]) -> None:
    figure = plots.plot_vary_alpha(main)
    alphas = sorted({o.cell.alpha for o in main})
    for axes, name in zip(figure.axes, ("goodreads", "movielens"), strict=True):
        bars = [artist for artist in axes.collections if isinstance(artist, LineCollection)]
        for bar, policy in zip(bars, ("cof", "pe-cs", "ucb-cs", "ts-cs", "etc-cs"), strict=True):
            means = [found(main, name, alpha, policy).summed_regret[:, -1].mean() for alpha in alphas]
            np.testing.assert_allclose([segment[0, 1] for segment in bar.get_segments()], means)


def test_marks_are_where_they_were_when_drawn_again(main: list[Outcome]) -> None:
    one, two = (
        np.concatenate([np.asarray(c.get_offsets()) for c in plots.plot_vary_alpha(main).axes[0].collections])
        for _ in range(2)
    )
    np.testing.assert_array_equal(one, two)


def test_runs_without_regret_stand_in_a_row_that_is_called_0(main: list[Outcome]) -> None:
    changed = []
    for each in main:
        if (each.cell.instance, each.cell.policy, each.cell.alpha) == ("goodreads", "cof", 0.2):
            pulls = np.zeros_like(each.result.pulls)
            pulls[:, :, each.result.problem.optimal_arm] = each.result.times
            each = each._replace(result=dataclasses.replace(each.result, pulls=pulls))
        changed.append(each)
    with_zeros, without = plots.plot_vary_alpha(changed).axes
    with_zeros.figure.draw_without_rendering()
    marks = next(c for c in with_zeros.collections if c.get_label() == "cof")
    zeros = np.asarray(marks.get_offsets()).reshape(13, 7, 2)[4, :, 1]
    assert len(set(zeros)) == 1
    others = np.concatenate(
        [np.asarray(c.get_offsets())[:, 1] for c in with_zeros.collections if c.get_label() != "cof"]
    )
    assert 0 < zeros[0] < others[others > 0].min()
    labels = dict(
        zip(with_zeros.get_yticks(), [t.get_text() for t in with_zeros.get_yticklabels()], strict=True)
    )
    assert labels[zeros[0]] == "0"
    assert "lowest row: none" in with_zeros.get_ylabel()
    assert "lowest row" not in without.get_ylabel()


def test_some_alphas_and_some_policies_are_enough(main: list[Outcome]) -> None:
    some = [o for o in main if o.cell.alpha in (0.05, 0.3, 0.6) and o.cell.policy in ("cof", "etc-cs")]
    figure = plots.plot_vary_alpha(some)
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["0.05", "0.30", "0.60"]
    assert legend_texts(figure) == ["COF", "ETC-CS", "mean", LEAST]
    (drawn,) = plots.draw("vary-alpha", some)
    assert "Not shown, for want of results: PE-CS, UCB-CS, TS-CS." in drawn.caption
    assert "for alpha = 0.05 to 0.6" in drawn.caption


# Ablations


@pytest.mark.parametrize("name", ABLATIONS)
def test_rectangles_span_one_standard_deviation_of_the_events_times(name: str) -> None:
    outs = outcomes(name, runs=30)
    figure = getattr(plots, f"plot_{name.replace('-', '_')}")(outs)
    columns = len(ABLATIONS[name])
    assert len(figure.axes) == 2 * columns
    for place, axes in enumerate(figure.axes):
        letter, arm, kind = ABLATIONS[name][place % columns]
        regret = ("cost_regret", "quality_regret")[place // columns]
        boxes = {str(p.get_label()): p for p in axes.patches if isinstance(p, Rectangle)}
        assert list(boxes) == [o.cell.policy for o in outs]
        words = []
        for each in outs:
            events = each.result.events
            times = events["time"][(events["event"] == kind) & (events["arm"] == arm)]
            box = boxes[each.cell.policy]
            assert box.get_x() == pytest.approx(times.mean() - times.std())
            assert box.get_x() + box.get_width() == pytest.approx(times.mean() + times.std())
            mean = getattr(each.result, regret).mean(axis=0)
            xs, ys = [0, *each.result.times], [0, *mean]
            np.testing.assert_allclose(curve(axes, each.cell.policy).get_ydata(), ys)
            middle = curve(axes, f"{each.cell.policy} mean")
            assert middle.get_xdata()[0] == pytest.approx(times.mean())
            assert middle.get_ydata()[0] == pytest.approx(np.interp(times.mean(), xs, ys))
            assert box.get_y() <= middle.get_ydata()[0] <= box.get_y() + box.get_height()
            words.append(f"{times.mean():,.0f} ± {times.std():,.0f}")
        low, high = axes.get_xlim()
        assert 0 <= low < high <= 4000
        if place < columns:
            legend = axes.get_legend()
            assert legend.get_title().get_text() == f"({letter}) $a_{{{arm + 1}}}$ deemed {kind}"
            assert [text.get_text() for text in legend.get_texts()] == words
    assert_legends_cover_nothing(figure)


def test_runs_that_never_judged_the_arm_are_left_out_and_counted() -> None:
    figure = plots.plot_ablation_combining(outcomes("ablation-combining", runs=10, judged=0.4))
    for axes in figure.axes[:3]:
        assert all(text.get_text().endswith("(4 of 10 runs)") for text in axes.get_legend().get_texts())
    assert_legends_cover_nothing(figure)


def test_a_window_reaches_three_deviations_beyond_the_events_and_no_further_than_the_horizon() -> None:
    outs = outcomes("ablation-exclusive", runs=30)
    outs = [
        o._replace(result=dataclasses.replace(o.result, events=np.array(rows, dtype=EVENTS)))
        for o, rows in zip(
            outs,
            (
                [
                    (0, 1000, "infeasible", 0),
                    (1, 1200, "infeasible", 0),
                    (0, 100, "optimal", 1),
                    (1, 900, "optimal", 1),
                ],
                [(0, 2000, "infeasible", 0), (1, 2200, "infeasible", 0), (0, 3900, "optimal", 1)],
            ),
            strict=True,
        )
    ]
    first, second, *_ = plots.plot_ablation_exclusive(outs).axes
    assert first.get_xlim() == pytest.approx((1100 - 300, 2100 + 300))
    assert second.get_xlim() == pytest.approx((0, 3900))


@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize("name", ABLATIONS)
def test_where_nothing_happens_the_panel_says_so(name: str, runs: int) -> None:
    figure = getattr(plots, f"plot_{name.replace('-', '_')}")(
        outcomes(name, runs=runs, horizon=500, judged=0.0)
    )
    for place, axes in enumerate(figure.axes):
        assert axes.get_xlim() == (0, 500)
        assert not axes.patches
        if place < len(ABLATIONS[name]):
            expected = "not before T in the run" if runs == 1 else "not before T in any of 2 runs"
            assert [text.get_text() for text in axes.get_legend().get_texts()] == [expected] * 2
    assert_legends_cover_nothing(figure)


def test_times_of_a_real_run() -> None:
    result = fb.simulate(instance("nu1"), "cof", horizon=100_000, runs=4)
    times = ablations.times_of(result, ablations.Event("a", 0, "infeasible"))
    assert (times.happened, times.runs) == (4, 4)
    assert 10_000 < times.mean < 100_000


def test_cost_biased_shows_cost_and_quality_regret_apart() -> None:
    outs = outcomes("cost-biased")
    figure = plots.plot_cost_biased(outs)
    for axes, kind in zip(figure.axes, ("cost", "quality"), strict=True):
        assert axes.get_ylabel() == f"{kind} regret"
        for each in outs:
            mean = getattr(each.result, f"{kind}_regret")[:, -1].mean()
            assert curve(axes, each.cell.policy).get_ydata()[-1] == pytest.approx(mean)
    assert legend_texts(figure) == ["COF", "COF (cost-biased)"]


# All of them


def test_every_experiment_is_drawn_with_its_captions(main: list[Outcome]) -> None:
    everything = [*main, *outcomes(*ABLATIONS, "cost-biased")]
    stems = []
    for name in experiments():
        for drawn in plots.draw(name, everything):
            stems.append(drawn.stem)
            assert isinstance(drawn.figure, Figure)
            assert drawn.title
            assert drawn.caption.endswith(".")
            if name not in ("instances", "illustrations"):
                assert "7 runs of T = 4,000 pulls" in drawn.caption
            assert "alpha" in drawn.caption or name == "illustrations"
    assert len(set(stems)) == len(stems) == 11
    with pytest.raises(InputError, match="no experiment is called 'regret'"):
        plots.draw("regret", everything)


@pytest.mark.parametrize("name", [*MAIN, *ABLATIONS, "cost-biased"])
@pytest.mark.parametrize(("runs", "horizon"), [(1, 50), (60, 5_000_000)])
def test_any_scale_can_be_drawn_and_legends_cover_no_data(name: str, runs: int, horizon: int) -> None:
    (drawn,) = plots.draw(name, outcomes(name, runs=runs, horizon=horizon))
    assert_legends_cover_nothing(drawn.figure)


def test_a_policy_looks_the_same_in_all_figures(main: list[Outcome]) -> None:
    everything = [*main, *outcomes(*ABLATIONS, "cost-biased")]
    colours: dict[str, set[str]] = {}
    for name in (*MAIN, *ABLATIONS, "cost-biased"):
        for drawn in plots.draw(name, everything[::-1]):
            for axes in drawn.figure.axes:
                for line in axes.get_lines():
                    if line.get_label() in fb.policies():
                        colours.setdefault(str(line.get_label()), set()).add(to_hex(line.get_color()))
                for marks in axes.collections:
                    if marks.get_label() in fb.policies():
                        colour = to_hex(np.asarray(marks.get_facecolor())[0])
                        colours.setdefault(str(marks.get_label()), set()).add(colour)
    assert set(colours) == {each.cell.policy for each in everything}
    for policy, seen in colours.items():
        assert seen == {drawing.looks([policy])[policy].colour.lower()}


# What is missing


@pytest.mark.parametrize("name", [*MAIN, *ABLATIONS, "cost-biased"])
def test_without_outcomes_the_error_names_what_is_missing(name: str) -> None:
    with pytest.raises(InputError, match=f"figure '{name}' lacks results: .*alpha .*cof"):
        plots.draw(name, [])


def test_a_hole_is_named(main: list[Outcome]) -> None:
    holed = [o for o in main if o.cell.label != "movielens, alpha 0.3, pe-cs"]
    for plot in (plots.plot_regret_vs_time, plots.plot_vary_alpha):
        with pytest.raises(InputError, match=r"lacks results: movielens, alpha 0\.3, pe-cs$"):
            plot(holed)
    with pytest.raises(InputError, match=r"lacks results: nu1, alpha 0\.8, cof-no-exclusive$"):
        plots.plot_ablation_exclusive(outcomes("ablation-exclusive")[:1])
    with pytest.raises(InputError, match=r"and 12 more"):
        plots.plot_vary_alpha(
            [o for o in main if (o.cell.instance, o.cell.policy) != ("goodreads", "cof")][:-2]
        )


def test_different_horizons_or_two_results_for_one_place_are_refused(main: list[Outcome]) -> None:
    longer = outcome(dataclasses.replace(main[0].cell, horizon=8000))
    with pytest.raises(InputError, match="two results for one place"):
        plots.plot_vary_alpha([*main, longer])
    with pytest.raises(InputError, match=r"needs one horizon, but its results have \[4000, 8000\]"):
        plots.plot_vary_alpha([longer, *main[1:]])
    # The same cell twice is no contradiction.
    plots.plot_vary_alpha([*main, main[0]])


def test_what_belongs_to_other_experiments_is_left_alone(main: list[Outcome]) -> None:
    strange = outcome(dataclasses.replace(main[0].cell, policy="cof-no-combine", alpha=0.3))
    figure = plots.plot_regret_vs_time([strange, *outcomes("cost-biased"), *main])
    assert legend_texts(figure) == ["COF", "PE-CS", "UCB-CS", "TS-CS", "ETC-CS", LEAST]
