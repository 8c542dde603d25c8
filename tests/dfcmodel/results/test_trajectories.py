"""Display of a trajectory."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from dfcmodel import CBR, Flow, Fluid, Packets, Scenario, chain, dumbbell, simulate, takano2006
from dfcmodel.results.records import NAMES, Records
from hopflow.results import figure
from responsefn import NewReno


def test_panels_show_goodput_efficiency_windows_and_occupancy(run) -> None:
    top = run.plot()
    labels = [ax.get_ylabel() for ax in top.figure.axes[:4]]
    assert labels == ["goodput (packets/s)", "efficiency", "window (packets)", "node"]
    per_record = np.diff(run.delivered[0], prepend=0.0) / run.time[0]
    np.testing.assert_allclose(top.lines[0].get_ydata(), per_record, rtol=1e-9, atol=1e-9)
    efficiency, windows, nodes = top.figure.axes[1:4]
    np.testing.assert_array_equal(efficiency.lines[0].get_ydata(), run.efficiency.values[0])
    np.testing.assert_array_equal(windows.lines[1].get_ydata(), run.window[1])
    np.testing.assert_array_equal(nodes.images[0].get_array(), run.queued)


def test_one_of_a_kind_is_counted_in_the_singular(run) -> None:
    counts = np.array([1, 2])
    rows = replace(run, loss_events=counts, timeouts=counts[::-1]).summary()
    first, second = (rows[flow.name] for flow in run.scenario.flows)
    assert first.endswith("1 loss event, 2 timeouts")
    assert second.endswith("2 loss events, 1 timeout")


def test_a_part_of_a_run_begins_at_a_sample_whose_time_is_rounded() -> None:
    run = simulate(takano2006("1"), Packets(seed=1), sample=0.1, duration=0.5)
    assert run.time[2] > 0.3  # 3 * 0.1
    for part in (run.counts(since=0.3), run.counts(since="300ms"), run.counts(0.1, 0.3)):
        assert part.seconds == pytest.approx(0.2)
    later = np.array([run.efficiency.values[0, 3:].mean()])
    np.testing.assert_allclose(run.mean_efficiency(since=0.3)[:1], later, rtol=1e-12)


def test_transfers_say_how_long_they_took() -> None:
    flows = [
        Flow(name, (1, 2), CBR(1e3), size=size) for name, size in (("short", 10), ("long", 1e4))
    ]
    rows = simulate(
        Scenario("two", chain(2, rate=1e4, delay=1e-3, buffer=200), flows, duration=0.1), Packets()
    ).summary()
    assert "CBR: 10 packets in 10.1 ms, lost 0 packets" in rows["short"]
    assert (
        "CBR: goodput 990 packets/s (11.88 Mb/s, 0.099 of the slowest link), efficiency"
        in rows["long"]
    )


def test_goodput_is_what_was_delivered_over_the_time(run) -> None:
    np.testing.assert_allclose(run.goodput, run.delivered[:, -1] / run.time[-1])
    assert run.goodput.attrs["units"] == "packets/s"


def test_efficiency_is_stated_relative_to_the_path(run) -> None:
    first = run.scenario.flows[0].name
    value = f"efficiency {run.mean_efficiency()[0]:.3f} of the path's bandwidth-delay product"
    assert value in run.summary()[first]


def test_goodput_above_the_rate_of_links_is_explained(run) -> None:
    assert not run.plot().texts
    delivered = run.delivered.copy()
    delivered[:, -1] += 1e9  # as when a retransmission completes what waited at the receiver
    (remark,) = replace(run, delivered=delivered).plot().texts
    assert "retransmission" in remark.get_text()


def test_one_axes_gets_the_goodput_alone(run) -> None:
    ax = figure()[1]
    assert run.plot(ax) is ax
    assert len(ax.figure.axes) == 1
    assert len(ax.lines) == 2


def test_html_carries_table_and_picture(run) -> None:
    page = run._repr_html_()
    assert "largest queue" in page
    assert 'src="data:image/png;base64' in page
    assert 'alt="' in page


@pytest.fixture(scope="module")
def crowd():
    """A hundred flows over one bottleneck of 1e4 packets/s, half of them transfers of 20 packets."""
    links = dumbbell(100, rate=1e4, delay=2e-3, buffer=100.0, access_rate=1e4, access_delay=1e-3)
    flows = [
        Flow(f"{n}", (f"s{n}", "left", "right", f"d{n}"), NewReno(), 50.0, size=size)
        for n, size in zip(range(1, 101), [np.inf, 20.0] * 50, strict=True)
    ]
    return simulate(Scenario("crowd", links, flows, duration=0.5), method=Fluid(1))


def test_a_hundred_flows_are_one_colour_with_their_mean_and_a_short_table(crowd) -> None:
    top = crowd.plot()
    goodput = np.array([line.get_ydata() for line in top.lines])
    np.testing.assert_allclose(goodput[100], goodput[:100].mean(axis=0))
    assert len({line.get_color() for line in top.lines[:100]}) == 1
    assert [text.get_text() for text in top.get_legend().get_texts()] == ["100 flows", "mean"]
    rows = crowd.summary()
    assert len(rows) <= 20
    rest = crowd.delivered[10:, -1] / 0.5
    assert f"median {np.median(rest):.4g}" in rows["90 other flows"]
    assert list(rows)[3] == "1"
    assert f"goodput {crowd.delivered[0, -1] / 0.5:.4g} packets/s" in rows["1"]


def test_completion_times_of_transfers(crowd) -> None:
    """20 packets of a window that doubles from one take five round trips, and the last one half way."""
    table = crowd.completion_times()
    assert list(table.flow.values) == [str(n) for n in range(2, 101, 2)]
    assert (table["size"] == 20.0).all()
    done = table.finished.notnull()
    assert done.sum() > 0
    assert ((table.delivered >= 20.0) == done).all()
    np.testing.assert_array_equal(
        table.completion_time.values[done.values], crowd.finished[1::2][done.values]
    )
    np.testing.assert_allclose(table.ideal_time, 4e-3 + 20.0 / 1e4, rtol=1e-12)
    assert table.slowdown.min() >= 4.5 * 8e-3 / 6e-3  # windows of 1, 2, 4, 8 and 5 packets


@pytest.mark.parametrize("method", [None, Packets(seed=1)])
def test_completion_times_of_both_levels_begin_with_the_jittered_start(method) -> None:
    links = dumbbell(1, rate=1e3, delay=2e-3, buffer=100.0, access_rate=1e3, access_delay=1e-3)
    path = ("s1", "left", "right", "d1")
    flows = [Flow("cbr", path, CBR(500.0), size=11.0), Flow("endless", path, CBR(100.0))]
    late = simulate(Scenario("late", links, flows, duration=0.2), method, jitter=0.05)
    table = late.completion_times()
    assert table.flow.values.tolist() == ["cbr"]
    assert 0.0 < float(table.start[0]) < 0.05
    # the last packet leaves 20 (fluid: 22) ms after the first; 4 ms of propagation, 3 transmissions
    assert float(table.completion_time[0]) == pytest.approx(20e-3 + 7e-3, abs=3e-3)


def test_every_recorded_array_is_a_named_array_with_units() -> None:
    run = simulate(takano2006("1", dfc=False), duration=0.1, level="fluid")
    data = run.to_xarray()
    sizes = {"flow": 2, "node": 29, "time": 100}
    for field in fields(Records):
        values = getattr(run, field.name)
        if (
            field.name == "time" or not isinstance(values, np.ndarray) or values.dtype.names
        ):  # tables of pauses and drops
            continue
        named = run[field.name]
        assert named.name == field.name
        assert named.shape == tuple(sizes[dim] for dim in named.dims), field.name
        assert named.values is values or np.shares_memory(named.values, values), field.name
        assert {"long_name", "units"} <= named.attrs.keys()
        if field.name == "rate":  # NaN: no flow is controlled by a rate
            assert "rate" not in data
            continue
        assert named.equals(data[NAMES.get(field.name, field.name)].rename(field.name)), field.name
    assert run["recoveries"].values.tolist() == list(run.recoveries)
    assert run["efficiency"].equals(run.efficiency)
    assert run["occupancy"].equals(run["queued"])


def test_what_was_not_recorded_is_refused_by_name() -> None:
    run = simulate(takano2006("1"), duration=0.1, level="fluid")
    for name in ("queue", "queued_bytes"):
        with pytest.raises(KeyError, match=f"'{name}': this run has recorded queued, lost, window"):
            run[name]
