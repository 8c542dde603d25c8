"""Pictures of claims: plans, points, panels, SVG, and which figure of a paper each one is."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from hopflow.results import COLOURS, DECORATION, figure
from tests.surface import for_each, invoke
from validation import cases, ledger, provenance, table
from validation.checks import subjects
from validation.claims import claims_of_figure, figures
from validation.display import drawing
from validation.display.drawing import Axes, errorbars, label, maps, panels, points, reference
from validation.display.finding_rows import Picture
from validation.display.picture_plans import COUNTING, GIVEN, NAMING, NoPictureError, plan
from validation.display.picture_points import COLUMNS, plotted_points
from validation.display.pictures import draw
from validation.display.svg import MOST_POINTS, RESOLUTION, drawn, size, standalone
from validation.records import recorded_levels
from validation.statistics import Estimate

# Pictures of the evidence library: what becomes an axis, a curve, a panel, and what is written.


def entries(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()] if figure.legends else []


def panels_of_pictures(figure) -> list:
    return [ax for ax in figure.axes if ax.get_visible()]


PACKETS = "goodput (packets/s)"


@pytest.mark.parametrize(
    ("case", "name", "axes", "curves", "count"),
    [  # rows of points where nothing that was varied is a number
        ("kaneko2007/pairs-ns3", None, ("goodput (Mb/s)", "first, second"), ["1", "2"], 1),
        ("yang2001/short-queues", None, ("transfer time (s)", "environment, discipline"), 6, 1),
        ("malhotra2005/tcp-rtt-10-think", None, (PACKETS, "pause"), 0, 1),
        # a varied number
        ("kaneko2007/high-speed-ns2", None, ("link rate (Gb/s)", "goodput (Mb/s)"), 10, 2),
        ("malhotra2005/tcp-small-files", None, ("RTT (s)", PACKETS), ["on", "off"], 1),
        ("yang2001/transfer-times", None, ("size (MB)", "transfer time (s)"), ["TCP", "UDP"], 1),
        ("yang2001/slots-per-turn", None, ("scale", "transfer time (s)"), ["TCP", "UDP"], 1),
        # series, positions, and the record of one receiver
        ("takano2006/scenario-6-with-dfc", None, ("time (ms)", "efficiency"), 6, 1),
        ("takano2006/scenario-4s-without-dfc", "occupancy", ("node", "queued (packets)"), 11, 1),
        ("zheng2002/tfrc-receiver-trace", "events", ("time (s)", "interval (packets)"), 5, 1),
        # without a seed
        ("htsim/roce", "flows", ("finish (ms)", "run"), 0, 1),
        ("yang2001/regulated-sources", None, ("setting", "time (s)"), 8, 12),
        # small multiples
        ("yang2001/all-ratios", None, ("TCP flows", "transfer time (s)"), 8, 24),
    ],
)
def test_columns_have_their_roles(case, name, axes, curves, count) -> None:
    figure = draw(case, name)
    assert len(panels_of_pictures(figure)) == count
    assert axes == (panels_of_pictures(figure)[-1].get_xlabel(), figure.axes[0].get_ylabel())
    found = entries(figure)
    assert (found if isinstance(curves, list) else len(found)) == curves


def test_points_are_means_with_students_interval() -> None:
    case = "malhotra2005/tcp-rtt-10-think"
    ax = draw(case).axes[0]
    rows = [text.get_text() for text in ax.get_yticklabels()]
    for ends in ax.containers[0].lines[2][0].get_segments():
        sample = table(case).query(f"pause == {rows[int(ends[0, 1])]!r}")["goodput"]
        interval = stats.t.interval(0.95, len(sample) - 1, sample.mean(), stats.sem(sample))
        np.testing.assert_allclose(ends[:, 0], interval, rtol=1e-12)


def test_flows_of_a_run_are_averaged_before_the_seeds() -> None:
    case = "yang2001/transfer-times-100mb"
    figure = draw(case)
    each = table(case).groupby(["protocol", "seed"])["transfer_time"].mean()
    drawn = [container.lines[0].get_xdata()[0] for container in figure.axes[0].containers]
    np.testing.assert_allclose(drawn, each.groupby("protocol").mean(), rtol=1e-12)
    assert "mean over the flows of a run" in figure.get_suptitle()


def test_many_curves_are_thinned_and_the_legend_says_so() -> None:
    texts = entries(draw("takano2006/scenario-4s-without-dfc", "occupancy"))
    times = table("takano2006/scenario-4s-without-dfc", "occupancy")["time"].nunique()
    assert texts[-1] == f"and {times - 10} more"


def test_long_series_are_shown_over_bins() -> None:
    figure = draw("takano2006/scenario-4v-without-dfc")
    assert "mean and range in 100 bins" in figure.get_suptitle()
    assert [len(line.get_xdata()) for line in figure.axes[0].lines] == [100, 100]


def test_scales_and_text() -> None:
    figure = draw("kaneko2007/loss-sweep-ns2")
    assert figure.axes[0].get_xscale() == figure.axes[0].get_yscale() == "log"
    assert draw("kaneko2007/added-delay-ns2").axes[0].get_xscale() == "linear"
    figure = draw("malhotra2005/tcp-timed-pause")
    assert figure.axes[0].get_xscale() == "symlog"
    title = figure.get_suptitle()
    assert title.startswith("malhotra2005/tcp-timed-pause: ")
    assert max(map(len, title.splitlines())) < 15 * figure.get_figwidth()
    assert "which are empty" in draw("yang2001/slots-per-turn-acks-lost").get_suptitle()


def test_bad_input() -> None:
    case = "kaneko2007/small-bdp-ns2"
    with pytest.raises(ValueError, match=r"value = 'rule': must be one of .*'goodput'"):
        draw(case, value="rule")
    with pytest.raises(ValueError, match=r"table = 'none': must be one of 'flows', 'links'"):
        draw(case, "none")
    assert draw(case, value="sent").axes[0].get_xlabel() == "sent (packets)"


def test_entries_without_a_seed_are_not_called_runs() -> None:
    figure = draw("packets/explained-claims", value="mean")
    assert "entries of the table" in figure.get_suptitle()
    assert "one run each" not in figure.get_suptitle()


def test_a_case_may_be_named_without_its_paper() -> None:
    assert draw("cubic-and-reno").get_suptitle().startswith("linux/cubic-and-reno: ")


@pytest.mark.slow
def test_every_case_is_drawn_or_has_no_picture() -> None:
    for case in cases():
        try:
            figure = draw(case)
        except NoPictureError:
            continue
        assert panels_of_pictures(figure), case
        plt.close(figure)


# What becomes an axis, a curve, a panel in a picture of a case.

WITHOUT = {
    "htsim/roce runs", "htsim/uec runs", "kaneko2007/unstated-parameters settings", "ns3/rdma runs", "packets/explained-claims waterfalls",
    "packets/later-seeds runs", "packets/seeds runs", "yang2001/unstated-parameters settings",
}  # fmt: skip
"""Tables of inputs, and of numbers in several units; besides these the drops and settings of Linux's runs."""
ALIKE = {"htsim/roce runs", "packets/seeds runs"}
"""Of the kind of another table without a picture."""


def tables(each_kind_once: bool) -> Iterator[tuple[str, dict[str, Any], pd.DataFrame]]:
    """Yield case and table, what is known of it, and the table; the shortest of each kind."""
    every = [(case, file, about) for case in cases() for file, about in provenance(case)["files"].items()]
    if each_kind_once:
        every.sort(key=lambda each: -each[2]["rows"])
        every = list({(*a["index"], "", *a["columns"]): (case, file, a) for case, file, a in every}.values())
    for case, file, about in every:
        name = file.split(".")[0]
        yield f"{case} {name}", about, table(case, name)


@pytest.mark.slow  # reads every table; the quick cases are above
@pytest.mark.parametrize("each_kind_once", [True, False], ids=["kinds", "all"])
def test_a_result_is_drawn_or_it_is_said_that_there_is_none(each_kind_once) -> None:
    without, count = set(), 0
    for name, about, frame in tables(each_kind_once):
        count += 1
        try:
            y = plan(frame, about).y
        except NoPictureError:
            without.add(name)
        else:
            assert y not in GIVEN, name
            assert y not in about["index"] or y in COUNTING, name
            assert about["columns"][y]["unit"], name
    assert count > len(without) > 0
    linux = {n for n in without if n.startswith("linux/") and n.split()[1] in ("drops", "settings")}
    assert without - linux == (WITHOUT - ALIKE if each_kind_once else WITHOUT)


@pytest.mark.parametrize("case", ["alone", "cubic-and-bbr", "periodic-loss", "random-loss"])
def test_what_is_drawn_of_runs_of_linux_is_what_arrived(case) -> None:
    about = next(iter(provenance(f"linux/{case}")["files"].values()))
    assert plan(table(f"linux/{case}"), about).y == "bytes"
    assert plan(table(f"linux/{case}"), about, "buffer").y == "buffer"


@pytest.mark.slow
def test_names_are_no_axis_and_panels_have_few_curves() -> None:
    for case in cases():
        about = next(iter(provenance(case)["files"].values()))
        frame = table(case)
        try:
            chosen = plan(frame, about)
        except NoPictureError:
            continue
        assert chosen.x not in {*NAMING, *COUNTING, "seed"}, case
        assert chosen.x is None or frame[chosen.x].nunique() > 2, case
        told = frame[[*chosen.panels, *chosen.curves]].drop_duplicates()
        if chosen.panels and chosen.curves:
            assert told.groupby(list(chosen.panels)).size().max() <= 10, case


@pytest.mark.parametrize(
    "case",
    ["malhotra2005/fixed-thresholds", "takano2006/scenario-4s-with-dfc", "zheng2002/access-delay"],
)
def test_nothing_that_was_varied_is_left_out(case) -> None:
    about = next(iter(provenance(case)["files"].values()))
    frame = table(case)
    chosen = plan(frame, about)
    varied = [c for c in about["index"] if c not in ("seed", *chosen.pooled)]
    assert len(frame[varied].drop_duplicates()) == len(frame[chosen.point].drop_duplicates())


# Points of pictures as tables: all kinds of drawing, names, units.


def test_curves_with_their_axes_and_units() -> None:
    fig, axes = panels(["25 packets/s", "50 packets/s"])
    for n, ax in enumerate(axes):
        ax.plot([1.0, 2.0, 3.0], [n, np.nan, 2.0], "o-", label="ns-3" if n else None)
        label(ax, "RTT (s)", "" if n else "gain over TCP (%)", log="x")
    found = plotted_points(fig)
    assert list(found) == list(COLUMNS)
    assert found[["panel", "curve", "x", "y"]].to_numpy().tolist() == [
        ["25 packets/s", "ns-3", 1.0, 0.0],  # named in the legend of the other panel
        ["25 packets/s", "ns-3", 3.0, 2.0],
        ["50 packets/s", "ns-3", 1.0, 1.0],
        ["50 packets/s", "ns-3", 3.0, 2.0],
    ]
    units = found[["kind", "x_quantity", "x_unit", "y_quantity", "y_unit"]].drop_duplicates()
    assert units.to_numpy().tolist() == [["line", "RTT", "s", "gain over TCP", "%"]]


def test_intervals_of_both_axes() -> None:
    fig, ax = figure()
    errorbars(ax, [1.0, 2.0], [10.0, 20.0], [[1.0, 2.0], [3.0, 4.0]], label="ns-2")
    own = Estimate(7.0, 0.5, dof=2)
    points(ax, [5.0], [own], 1, label="hopflow")
    ax.errorbar([4.0], [8.0], xerr=[0.5], yerr=[0.25], fmt="o", label="both")
    found = plotted_points(fig).set_index("curve")
    ns2 = found.loc["ns-2", ["x", "y", "y_low", "y_high"]]
    assert ns2.to_numpy().tolist() == [[1.0, 10.0, 9.0, 13.0], [2.0, 20.0, 18.0, 24.0]]
    point = found.loc["hopflow", ["y", "y_low", "y_high"]].to_numpy(dtype=float)
    below, above = own.bars
    np.testing.assert_allclose(point, [7.0, 7.0 - below, 7.0 + above])
    ends = found.loc["both", ["x_low", "x_high", "y_low", "y_high"]]
    assert ends.tolist() == [3.5, 4.5, 7.75, 8.25]


def test_points_and_lines_of_one_colour_are_one_curve_unless_the_colour_has_two() -> None:
    fig, ax = figure()
    ax.plot([1, 2], [1, 2], color="C0", label="T1 = 8")
    ax.plot([1, 2], [1, 3], "o", color="C0")
    ax.plot([1, 2], [4, 2], color="C1", label="fluid")
    ax.plot([1, 2], [4, 2], "--", color="C1", label="packets")
    ax.plot([1, 2], [4, 5], "o", color="C1")
    found = plotted_points(fig)
    assert list(found["curve"][::2]) == ["T1 = 8", "T1 = 8", "fluid", "packets", "5"]
    assert list(found["kind"][::2]) == ["line", "points", "line", "line", "points"]


def test_bars_bands_and_references() -> None:
    fig, ax = figure()
    ax.barh([0, 1], [3.0, -1.0], left=[1.0, 4.0], label="part")
    ax.set_yticks([0, 1], ["timeouts", "phases"])
    ax.fill_between([1.0, 2.0, 4.0], [0.0, 1.0, 2.0], [3.0, 4.0, 8.0], label="range")
    reference(ax, 0.5)
    ax.axvline(2.5)
    ax.axhspan(0.1, 0.2, label="same")
    ax.plot([0, 9], [0, 9], label=DECORATION)
    found = plotted_points(fig).set_index("kind")
    bars = found.loc["bar", ["x", "x_low", "x_high", "y_name"]].to_numpy().tolist()
    assert bars == [[4.0, 1.0, 4.0, "timeouts"], [3.0, 3.0, 4.0, "phases"]]
    band = found.loc["band", ["x", "y_low", "y_high"]].to_numpy().tolist()
    assert band == [[1.0, 0.0, 3.0], [2.0, 1.0, 4.0], [4.0, 2.0, 8.0]]
    horizontal, vertical, span = found.loc["reference"].itertuples()
    assert (horizontal.y, vertical.x) == (0.5, 2.5)
    assert np.isnan([horizontal.x, vertical.y]).all()
    assert (span.curve, span.y_low, span.y_high) == ("same", 0.1, 0.2)
    assert len(found) == 2 + 3 + 3


def test_panels_without_texts_of_their_own_have_those_of_their_row() -> None:
    fig, axes = panels(["a", "b"], sharey=False)
    for ax in axes:
        ax.barh([0, 1], [1.0, 2.0])
        label(ax, "share (%)")
    axes[0].set_yticks([0, 1], ["Reno", "CUBIC"])
    axes[1].set_yticks([])
    axes[0].set_ylabel("rule")
    found = plotted_points(fig)
    assert list(found["y_name"]) == ["Reno", "CUBIC"] * 2
    assert set(found["y_quantity"]) == {"rule"}


def test_maps_have_the_value_of_each_cell_and_the_names_of_rows_and_columns() -> None:
    values = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    axes = Axes([10.0, 20.0, 30.0], [0.1, 0.2], ("rate (1/s)", "RTT (s)"))
    fig = maps({"gain": values}, axes, framed=values[None] > 5.0)
    found = plotted_points(fig)
    assert set(found["kind"]) == {"cell"}
    table = found.pivot_table(index="y_name", columns="x_name", values="value")
    pd.testing.assert_frame_equal(
        table,
        pd.DataFrame(values, ["0.1", "0.2"], ["10", "20", "30"]),
        check_names=False,
    )
    assert set(found["x_unit"]) == {"1/s"}


@pytest.mark.parametrize("texts", [("a (b) (s)", "a (b)", "s"), ("share", "share", ""), ("x (of\n y)", "x", "of y")])  # fmt: skip
def test_units_are_the_last_brackets(texts: tuple[str, str, str]) -> None:
    fig, ax = figure()
    ax.plot([1], [1])
    ax.set_xlabel(texts[0])
    found = plotted_points(fig)
    assert (found["x_quantity"][0], found["x_unit"][0]) == texts[1:]


# Pictures as SVG.


def picture(points: int, kind: str) -> str:
    def draw():
        fig, ax = figure(3.0, 2.0)
        at = np.linspace(0, 1, points)
        if kind == "scatter":
            ax.scatter(at, at)
        else:
            ax.plot(at, at, ".")
        return fig

    return drawn(Picture(draw, "", "")).svg


@pytest.mark.parametrize("kind", ["scatter", "plot"])
def test_clouds_of_points_are_images_and_small_ones_are_not(kind: str) -> None:
    small, large = picture(MOST_POINTS, kind), picture(MOST_POINTS + 1, kind)
    assert "<image" not in small
    assert "<image" in large
    assert large.count("<use ") < small.count("<use ")


def test_a_file_has_the_size_of_the_figure_in_css_pixels() -> None:
    svg = picture(2, "plot")
    assert size(svg) == (288, 192)
    assert ET.fromstring(standalone(svg)).tag.endswith("svg")


def test_a_drawn_picture_is_not_drawn_again() -> None:
    assert drawn(Picture(lambda: 1 / 0, "", "", svg="<svg/>")).svg == "<svg/>"


def _two_panels() -> Any:
    fig, axes = figure(4.0, 2.0, ncols=2)
    axes[0].plot([1, 2], [1, 1e6], label="high")
    axes[0].set(ylabel="a long label of the first axis", yscale="log", title="left")
    axes[1].legend(handles=axes[0].lines, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


def _six_panels() -> Any:
    """Return a figure whose ticks change when its axes are laid out."""
    fig, axes = figure(7.0, 5.0, nrows=2, ncols=3, sharex=True)
    for n, ax in enumerate(axes.flat):
        ax.plot([60.0, 120.0], [0.36 * 10.0**-n, 0.17])
        ax.set(title=str(n), ylabel="its share (1)")
    return fig


def test_drawing_is_that_of_savefig() -> None:
    def draw():
        fig = _two_panels()
        fig.set_layout_engine(None)
        return fig

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "hopflow"}):
        draw().savefig(buffer, format="svg", dpi=RESOLUTION, metadata={"Date": None})
    assert buffer.getvalue().endswith(drawn(Picture(draw, "", "")).svg)


@pytest.mark.parametrize("draw", [_two_panels, _six_panels])
def test_layout_is_that_of_matplotlib_within_half_a_line_of_text(draw) -> None:
    """What is around axes is measured once, while Matplotlib measures it again after it has moved the axes."""
    ours, theirs = draw(), draw()
    drawn(Picture(lambda: ours, "", ""))
    theirs.set_dpi(72)
    theirs.draw_without_rendering()
    boxes = [np.array([ax.bbox.extents for ax in fig.axes]) for fig in (ours, theirs)]
    assert 0.0 < np.abs(boxes[0] - boxes[1]).max() < 0.5 * mpl.rcParams["font.size"]
    assert not any("get_tightbbox" in vars(ax) for ax in ours.axes)


# Shared axes: intervals, maps, legends.


def test_points_have_their_intervals() -> None:
    _, ax = drawing.figure()
    values = [Estimate(1.0, 0.1, 9), Estimate(2.0, 0.2)]
    drawing.points(ax, [1.0, 2.0], values, 1)
    (container,) = ax.containers
    ends = [segment[:, 1] for segment in container.lines[2][0].get_segments()]
    for (low, high), value in zip(ends, values, strict=True):
        assert np.isclose([low, high], [value.value - value.half_width, value.value + value.half_width]).all()
    assert container.lines[0].get_color() == COLOURS[1]


def test_maps_write_and_frame_their_cells() -> None:
    grids = {"one": np.array([[1.0, 2.0]]), "two": np.array([[3.0, 4.0]])}
    framed = np.array([[[True, False]], [[False, False]]])
    fig = drawing.maps(grids, drawing.Axes((0.1, 5.0), (15,), ("x", "y")), framed=framed)
    assert [[text.get_text() for text in ax.texts] for ax in fig.axes] == [
        ["1.0", "2.0"],
        ["3.0", "4.0"],
    ]
    assert [len(ax.lines) for ax in fig.axes] == [1, 0]
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == ["0.1", "5"]


def test_labels_and_scales() -> None:
    fig, axes = drawing.panels(("left", "right"))
    drawing.label(axes[0], "x (s)", "y (1)", log="xy", xlim=(1, 10))
    assert (axes[0].get_xscale(), axes[0].get_yscale()) == ("log", "log")
    assert axes[1].get_title() == "right"
    drawing.reference(axes[0], 2.0, "TCP alone")
    assert axes[0].texts[0].get_text() == "TCP alone"
    axes[0].plot([1, 10], [1, 2], label="line")
    drawing.legend_beside(axes[0], "title")
    assert axes[0].get_legend().get_title().get_text() == "title"
    drawing.legend_above(axes[0])
    assert not axes[0].get_legend().get_frame_on()
    assert len(fig.axes) == 2


# `hopflow figure`: every figure and table of the papers that a claim is about, and every picture.


KNOWN = figures()


@for_each(KNOWN)
def test_every_figure_of_the_list_has_claims_with_pictures(name: str) -> None:
    """Each picture that a check draws has its caption in the text."""
    claims = claims_of_figure(name)
    assert [claim.id for claim in claims] == [claim.id for claim in KNOWN[name]]
    for claim in claims:
        check = subjects()[claim.id].check
        text = check.text.read_text(encoding="utf-8")
        if recorded_levels()[claim.id] == "undecidable" and not check.pictures:
            continue  # of what hopflow has no means to judge there is nothing to draw
        assert check.pictures, claim.id
        shared = re.search(r"\b[ef]\.picture\(", text)  # macros of texts
        for picture in check.pictures:
            assert f"### {picture}" in text or (shared and picture == "curves")


def test_a_figure_has_one_name_in_the_list() -> None:
    assert "malhotra2005/4" in KNOWN
    assert not [name for name in KNOWN if "/Fig" in name]


def test_the_list_reaches_every_claim() -> None:
    assert {claim.id for claims in KNOWN.values() for claim in claims} == set(ledger())


def test_a_range_of_figures_is_known_by_each_number() -> None:
    """zheng2002's Figs. 22-25, and malhotra2005's figures by model and by simulation."""
    assert [claim.id for claim in claims_of_figure("zheng2002/24")] == ["Z15"]
    assert {"M03", "M10"} <= {claim.id for claim in claims_of_figure("malhotra2005/4")}


def test_the_command_writes_the_pictures_of_a_figure(tmp_path, monkeypatch) -> None:

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    done = invoke(["figure", "yang2001/Table 1"])
    assert done.exit_code == 0, done.output
    assert "Y01" in done.output
    root = ET.fromstring((tmp_path / "report/figures/Y01-1.svg").read_text())
    assert root.tag.endswith("svg")


def test_the_command_lists_all_figures_without_a_name() -> None:

    done = invoke(["figure"])
    assert done.exit_code == 0
    assert "malhotra2005/4:" in done.output
