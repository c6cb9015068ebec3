"""Figures: what they show, that nothing overlaps or is cut off, and that files are whole or absent."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import frugalbandits as fb
from figure_harness import SIMPLE, bands, curves, drawn, inside, overlapping, result
from frugalbandits.errors import InputError
from frugalbandits.lab.figures import panels as figures
from frugalbandits.lab.figures import style as drawing
from frugalbandits.lab.figures.bounds import plot_bounds
from frugalbandits.lab.figures.panels import Panel
from frugalbandits.lab.text import title


def test_a_panel_shows_mean_and_percentile_band_of_every_policy() -> None:
    one, two = result("cof", 100, 200, 400), result("pe-cs", 40, 80, 80)
    figure = figures.plot_regret([Panel("mine", [one, two])])
    (axes,) = figure.axes
    assert axes.get_title() == "mine, $\\alpha$ = 0.1\nT = 400, 3 runs"
    assert axes.get_xlabel() == "t"
    assert axes.get_ylabel() == "summed cost and quality regret"
    assert list(curves(axes)) == ["cof", "pe-cs"]
    assert axes.get_xlim() == (0, 400)
    assert len(bands(axes)) == 2
    for shown, band in zip((one, two), bands(axes), strict=True):
        line = curves(axes)[shown.policy]
        assert line.get_xdata().tolist() == [0, 100, 200, 300, 400]
        assert line.get_ydata().tolist() == pytest.approx([0, *shown.summed_regret.mean(axis=0)])
        low, high = np.percentile(shown.summed_regret[:, -1], [20, 80])
        ends = band.get_paths()[0].vertices
        at_horizon = ends[ends[:, 0] == 400, 1]
        assert (at_horizon.min(), at_horizon.max()) == pytest.approx((low, high))


def test_the_legend_names_every_policy_once_and_covers_no_data() -> None:
    panels = [Panel("p", [result(name, 10, 20) for name in fb.policies()]), Panel("q", [result("cof", 5)])]
    figure = figures.plot_regret(panels)
    renderer = drawn(figure)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [title(n) for n in fb.policies()]
    box = legend.get_window_extent(renderer)
    assert inside(figure, box)
    for axes in figure.axes:
        assert axes.get_legend() is None
        assert not box.overlaps(axes.get_tightbbox(renderer))


def test_policies_differ_in_colour_dashes_and_marks_and_look_the_same_in_all_panels() -> None:
    names = list(fb.policies())
    both = [Panel("p", [result(n, 10) for n in names]), Panel("q", [result(n, 20) for n in reversed(names)])]
    one, two = figures.plot_regret(both).axes

    def look(axes: Axes, name: str) -> tuple[str, str, str]:
        line = curves(axes)[name]
        return to_hex(line.get_color()), repr(line._dash_pattern), str(line.get_marker())

    assert len(names) >= 8
    for part in range(3):
        assert len({look(one, name)[part] for name in names}) == len(names)
    assert all(look(one, name) == look(two, name) for name in names)


def look_of(policy: str, policies: Sequence[str]) -> tuple[str, str, str]:
    (axes,) = figures.plot_regret([Panel("p", [result(name, 10) for name in policies])]).axes
    line = curves(axes)[policy]
    return to_hex(line.get_color()), repr(line._dash_pattern), str(line.get_marker())


def test_a_known_policy_looks_the_same_in_every_figure_whoever_stands_beside_it() -> None:
    names = list(fb.policies())
    for name in names:
        alone = look_of(name, [name])
        assert look_of(name, names[::-1]) == alone
        assert look_of(name, ["mine", "yours", name, *(other for other in names if other != name)]) == alone


def test_unknown_policies_get_what_is_left_in_order_of_appearance() -> None:
    names = list(fb.policies())
    looks = drawing.looks([*names, "mine", "yours"])
    known = [looks[name] for name in names]
    for stranger in (looks["mine"], looks["yours"]):
        assert stranger.colour not in [look.colour for look in known]
        assert stranger.dashes not in [look.dashes for look in known]
        assert stranger.mark not in [look.mark for look in known]
    assert looks["mine"] != looks["yours"]
    assert drawing.looks(["first", "second"])["first"] == looks["mine"]
    assert list(drawing.looks(["mine", "cof", "mine"])) == ["mine", "cof"]


def test_policies_are_called_as_in_the_paper() -> None:
    titles = {name: title(name) for name in fb.policies()}
    assert titles["cof"] == "COF"
    assert titles["cof-no-exclusive"] == "COF (no exclusive)"
    assert titles["cof-cost-biased"] == "COF (cost-biased)"
    assert [titles[name] for name in ("pe-cs", "ucb-cs", "ts-cs", "etc-cs")] == [
        "PE-CS",
        "UCB-CS",
        "TS-CS",
        "ETC-CS",
    ]
    assert drawing.literal(title("worth $1")) == r"worth \$1"


def test_panels_can_show_cost_and_quality_regret_apart() -> None:
    problem = fb.Problem([0.5, 0.9, 0.9], [0, 1, 3], alpha=0.1)
    pulls = np.array([[[10, 80, 10], [20, 160, 20], [30, 240, 30], [40, 320, 40]]])
    shown = dataclasses.replace(result("cof", 0), problem=problem, pulls=pulls)
    panels = [Panel("p", [shown], "cost"), Panel("p", [shown], "quality"), Panel("p", [shown])]
    cost, quality, summed = figures.plot_regret(panels).axes
    assert curves(cost)["cof"].get_ydata()[-1] == pytest.approx(40 * 2)
    assert curves(quality)["cof"].get_ydata()[-1] == pytest.approx(40 * 0.31)
    assert curves(summed)["cof"].get_ydata()[-1] == pytest.approx(40 * 2.31)
    assert [axes.get_ylabel() for axes in (cost, quality)] == ["cost regret", "quality regret"]


@pytest.mark.parametrize("count", [1, 3, 6, 9, 14])
def test_a_legend_of_any_length_fits_the_figure(count: int) -> None:
    names = [f"policy number {place}" for place in range(count)]
    figure = figures.plot_regret([Panel("p", [result(name, 10) for name in names])])
    renderer = drawn(figure)
    assert inside(figure, figure.legends[0].get_window_extent(renderer))


def test_more_policies_than_colours_still_look_different() -> None:
    names = [f"p{i}" for i in range(20)]
    (axes,) = figures.plot_regret([Panel("p", [result(name, 10) for name in names])]).axes
    looks = {
        (to_hex(line.get_color()), repr(line._dash_pattern), line.get_marker()) for line in axes.get_lines()
    }
    assert len(looks) == 20


@pytest.mark.parametrize(
    ("finals", "scale"),
    [
        ((10, 300), "linear"),
        ((10, 330), "log"),
        ((400,), "linear"),
        ((0, 400), "linear"),
        ((0, 4, 400), "log"),
    ],
)
def test_the_axis_is_logarithmic_where_final_means_span_more_than_one_and_a_half_decades(
    finals: tuple[int, ...], scale: str
) -> None:
    results = [result(f"p{i}", final) for i, final in enumerate(finals)]
    figure = figures.plot_regret([Panel("p", results)])
    drawn(figure)
    assert figure.axes[0].get_yscale() == scale
    if scale == "log":
        assert figure.axes[0].get_ylim()[0] > 0
        # Nothing that is 0 is lost: it lies on the lowest line that can be drawn.
        assert all(np.all(line.get_ydata() > 0) for line in figure.axes[0].get_lines())
    else:
        assert figure.axes[0].get_ylim()[0] == 0


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7])
def test_panels_fit_side_by_side_and_outer_ones_carry_the_labels(count: int) -> None:
    panels = [Panel(f"instance-{i}", [result("cof", 10), result("pe-cs", 390)]) for i in range(count)]
    figure = figures.plot_regret(panels)
    renderer = drawn(figure)
    assert len(figure.axes) == count
    boxes = [axes.get_tightbbox(renderer) for axes in figure.axes]
    assert overlapping(boxes) == []
    assert all(inside(figure, box) for box in boxes)
    columns = len({axes.get_subplotspec().colspan.start for axes in figure.axes})
    for axes in figure.axes:
        place = axes.get_subplotspec()
        assert place is not None
        assert bool(axes.get_ylabel()) == (place.colspan.start == 0)
    assert sum(bool(axes.get_xlabel()) for axes in figure.axes) == columns


def test_a_figure_needs_results() -> None:
    for panels in ([], [Panel("p", [])]):
        with pytest.raises(InputError, match="at least one"):
            figures.plot_regret(panels)


# Files


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".SVG", b"<?xml")])
def test_a_figure_is_saved_in_the_format_of_its_suffix_with_the_same_bytes_each_time(
    tmp_path: Path, suffix: str, start: bytes
) -> None:
    files = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}{suffix}"
        figures.save(figures.plot_regret([Panel("p", [result("cof", 10, 20)])]), path)
        files.append(path.read_bytes())
    assert files[0].startswith(start)
    assert len(files[0]) > 3000
    assert files[0] == files[1]


def test_an_unknown_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.png, \.pdf or \.svg, but it is '.*x\.gif'"):
        figures.save(Figure(), tmp_path / "x.gif")
    assert list(tmp_path.iterdir()) == []


def test_a_drawing_that_fails_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "figure.png"
    target.write_text("old")
    figure = figures.plot_instance(SIMPLE, "x")

    def half(path: Path, **options: object) -> None:
        Path(path).write_bytes(b"half of the")
        raise RuntimeError("no ink")

    monkeypatch.setattr(figure, "savefig", half)
    with pytest.raises(RuntimeError, match="no ink"):
        figures.save(figure, target)
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]
    assert target.read_text() == "old"


def test_global_state_is_left_alone(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    figures.save(figures.plot_instance(SIMPLE, "x"), tmp_path / "x.png")
    figures.plot_regret([Panel("p", [result("cof", 1)])])
    assert dict(mpl.rcParams) == before
    code = "import sys, frugalbandits.lab.figures; print('matplotlib.pyplot' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "False\n"


def test_all_panels_have_one_kind_of_axis_and_say_so() -> None:
    near = [result("etc-cs", 200, 210), result("pe-cs", 300, 310)]
    far = [result("cof", 4), result("pe-cs", 400)]
    mixed = figures.plot_regret([Panel("near", near), Panel("far", far)])
    assert [axes.get_yscale() for axes in mixed.axes] == ["log", "log"]
    assert mixed.axes[0].get_ylabel().endswith("\n(logarithmic)")
    alone = figures.plot_regret([Panel("near", near)])
    assert alone.axes[0].get_yscale() == "linear" and "logarithmic" not in alone.axes[0].get_ylabel()


def test_marks_in_the_figure_of_bounds_do_not_hide_each_other() -> None:
    results = [fb.simulate("nu1", policy, 2_000, runs=2) for policy in ("pe-cs", "cof", "glr-cof")]
    figure = plot_bounds(fb.bounds.overview("nu1", 2_000), "nu1", results)
    marks = [line for line in figure.axes[0].get_lines() if len(line.get_xdata()) == 1]
    colours = {to_hex(look.colour) for look in drawing.looks(["pe-cs", "cof", "glr-cof"]).values()}
    of_policies = [line for line in marks if to_hex(line.get_color()) in colours]
    places = [(line.get_xdata()[0], line.get_ydata()[0]) for line in of_policies]
    assert len(of_policies) == 21 and len({height for _, height in places}) == 21
    bounds = [line for line in marks if line not in of_policies]
    assert not {to_hex(line.get_markeredgecolor()) for line in bounds} & colours
