"""Pictures of the evidence library: what becomes an axis, a curve, a panel, and what is written."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

from validation import cases, table
from validation.picture_plans import NoPictureError
from validation.pictures import draw


def entries(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()] if figure.legends else []


def panels(figure) -> list:
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
    assert len(panels(figure)) == count
    assert axes == (panels(figure)[-1].get_xlabel(), figure.axes[0].get_ylabel())
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


@pytest.mark.parametrize("case", ["htsim/roce", "packets/explained-claims", "packets/seeds"])
def test_a_table_without_a_result_in_one_unit_has_no_picture(case) -> None:
    with pytest.raises(NoPictureError, match=r"^no picture of this table: .*in one unit"):
        draw(case)


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
        assert panels(figure), case
        plt.close(figure)
