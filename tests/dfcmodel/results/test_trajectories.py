"""Trajectories: measures, summaries, animations."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import fields, replace

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from PIL import Image

from dfcmodel import (
    CBR,
    DFC,
    FIFO,
    PFC,
    Fair,
    Flow,
    Fluid,
    Link,
    Packets,
    Replay,
    RunSettings,
    Scenario,
    StepMarking,
    chain,
    check_step,
    choose_level,
    compare,
    completion_bounds,
    dumbbell,
    ensemble,
    simulate,
    takano2006,
)
from dfcmodel.levels.accuracies import measured_accuracies
from dfcmodel.results import Trajectory
from hopflow import gbps
from responsefn import CUBIC, DCTCP, NewReno, Reno, Tahoe, WindowRule
from tests.dfcmodel.scenario_texts import read_scenario

# Display of a trajectory.


@pytest.mark.parametrize("level", ["packets", "fluid"])
@pytest.mark.parametrize("rule", [DCTCP(), NewReno()])
def test_answers_to_marks_are_not_called_losses(level: str, rule: WindowRule) -> None:
    """Behind a marking switch nothing is lost; without marks the same flow has loss events alone."""
    rows = []
    for discipline, buffer in ((StepMarking(20), 400.0), (FIFO(), 40.0)):
        links = [Link("a", "b", 1e4, 2e-3, buffer, discipline)]
        run = simulate(Scenario("marks", links, [Flow("f", ("a", "b"), rule)], duration=0.5), level=level)
        assert (run.lost.sum() > 0.0) == isinstance(discipline, FIFO)
        assert run.loss_events[0] > 0
        rows.append(str(run.summary()["f"]))
    assert re.search(r", lost 0 packets, [0-9]+ loss or mark events, ", rows[0])
    assert re.search(r" packets, [0-9]+ loss events?, ", rows[1])


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
    flows = [Flow(name, (1, 2), CBR(1e3), size=size) for name, size in (("short", 10), ("long", 1e4))]
    rows = simulate(
        Scenario("two", chain(2, rate=1e4, delay=1e-3, buffer=200), flows, duration=0.1), Packets()
    ).summary()
    assert "CBR: 10 packets in 10.1 ms, lost 0 packets" in rows["short"]
    assert "CBR: goodput 990 packets/s (11.88 Mb/s, 0.099 of the slowest link), lost 0" in rows["long"]


@pytest.mark.parametrize(
    ("options", "packets"),
    [
        ({"source": CUBIC(), "arrivals": Replay(np.arange(100) / 50.0)}, 100),
        ({"source": CUBIC(), "arrivals": Replay(np.arange(100) / 50.0), "size": 1e5}, 100),
        ({"source": Replay(np.arange(100) / 50.0), "size": 1e5}, 100),
        ({"source": CBR(50.0), "stop": 1.99, "size": 1e5}, 100),
        ({"source": CUBIC(), "arrivals": Replay(np.arange(100) / 50.0), "size": 60}, 60),
    ],
)
def test_a_flow_whose_data_end_before_its_size_transfers_what_it_had(options: dict, packets: int) -> None:
    links = chain(2, rate=1e3, delay=1e-2, buffer=100)
    scenario = Scenario("ends", links, [Flow("a", (1, 2), **options)], duration=4.0)
    run = simulate(scenario, Packets(seed=1))
    assert np.isfinite(run.finished).all()
    assert f": {packets} packets in " in run.summary()["a"]
    times = run.completion_times()
    if times.sizes["flow"]:
        assert times["size"].item() == packets
        assert times["slowdown"].item() > 1.0
        assert completion_bounds(scenario).finished[0] <= run.finished[0]


@pytest.mark.parametrize("method", [Fluid(), Packets(seed=1)], ids=["fluid", "packets"])
@pytest.mark.parametrize(("rate", "stop", "unfinished"), [(50.0, 0.5, False), (1500.0, 0.5, True), (50.0, 2.0, True)])
def test_a_flow_that_has_stopped_is_unfinished_only_if_packets_are_missing(
    method: Fluid | Packets, rate: float, stop: float, unfinished: bool
) -> None:
    """At 1,500 packets/s the queue overflows. At a stop after the end of the run, the flow still sends."""
    links = chain(2, rate=1e3, delay=1e-2, buffer=20)
    run = simulate(Scenario("stops", links, [Flow("a", (1, 2), CBR(rate), stop=stop, size=1e5)], duration=1.0), method)
    assert bool(run.unfinished) is unfinished


def test_a_cut_trace_is_unfinished_by_its_own_packets() -> None:
    flow = Flow("a", (1, 2), Replay(np.arange(100) / 50.0), size=1e5)
    run = simulate(Scenario("cut", chain(2, rate=1e3, delay=1e-2, buffer=100), [flow], duration=1.0), Packets(seed=1))
    assert run.unfinished[0].size == 100
    assert run.completion_times()["size"].item() == 100


def test_goodput_is_what_was_delivered_over_the_time(run) -> None:
    np.testing.assert_allclose(run.goodput, run.delivered[:, -1] / run.time[-1])
    assert run.goodput.attrs["units"] == "packets/s"


def test_efficiency_is_stated_relative_to_the_path(run) -> None:
    first = run.scenario.flows[0].name
    value = f"efficiency {run.mean_efficiency()[0]:.3f} of the path's bandwidth-delay product"
    assert value in run.summary()[first]


def test_efficiency_is_shown_of_the_scenarios_of_its_paper_alone(run) -> None:
    other = replace(run, scenario=replace(run.scenario, name="mine"))
    assert "efficiency" not in repr(other)
    labels = [ax.get_ylabel() for ax in other.plot().figure.axes[:3]]
    assert labels == ["goodput (packets/s)", "window (packets)", "node"]
    for results, shown in (((run, run), True), ((other, other), False), ((run, other), False)):
        axes = compare(*results).plot().figure.axes
        assert ("efficiency" in [ax.get_ylabel() for ax in axes]) == shown
    np.testing.assert_array_equal(other.efficiency, run.efficiency)  # it is still computed


@pytest.mark.parametrize("level", ["fluid", "packets"])
def test_a_window_is_at_most_the_largest_one(level: str) -> None:
    """RFC 5681: a sender has min(cwnd, rwnd) in flight; the rest of cwnd is of no effect."""
    flows = [Flow(f"{most}", (1, 2), NewReno(), max_window=most) for most in (30, 45.5)]
    links = chain(2, rate=1e4, delay=0.02, buffer=1e3)
    run = simulate(Scenario("two", links, flows, duration=2.0), level=level)
    assert run.lost_by_flow.sum() == 0.0
    assert run.window.max(axis=1).tolist() == [30.0, 45.5]


@pytest.mark.parametrize("level", ["fluid", "packets"])
def test_loss_events_have_the_times_at_which_windows_fall(level: str) -> None:
    links = chain(2, rate=1e3, delay=0.02, buffer=40)
    flows = [Flow("reno", (1, 2), NewReno()), Flow("without losses", (1, 2), CBR(10.0))]
    run = simulate(Scenario("saw tooth", links, flows, duration=30.0), level=level, sample=0.01)
    times, none = run.loss_event_times.values()
    assert len(times) == run.loss_events[0] > 3
    assert len(none) == run.loss_events[1] == 0
    assert np.isin(times, run.time).all()
    assert 0.0 <= times[0] - run.first_loss[0] < 0.3  # a loss is noticed a round trip later
    ends = np.searchsorted(run.time, times)
    assert (run.window[0][ends] < run.window[0][ends - 1]).all()
    assert run["cumulative_loss_events"].dims == ("flow", "time")


def test_goodput_above_the_rate_of_links_is_explained(run) -> None:
    assert not run.plot().texts
    delivered = run.delivered.copy()
    delivered[:, -1] += 1e9  # as when a retransmission completes what waited at the receiver
    (remark,) = replace(run, delivered=delivered).plot().texts
    assert "retransmission" in remark.get_text()


def test_one_axes_gets_the_goodput_alone(run) -> None:
    ax = Figure().subplots()
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
    np.testing.assert_array_equal(table.completion_time.values[done.values], crowd.finished[1::2][done.values])
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
    later = {
        "queued": "occupancy", "lost": "losses", "queued_bytes": "occupancy_bytes", "peak_bytes": "peak_queue_bytes",
    }  # fmt: skip
    for field in fields(run):
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
        assert named.equals(data[later.get(field.name, field.name)].rename(field.name)), field.name
    assert run["recoveries"].values.tolist() == list(run.recoveries)
    assert run["efficiency"].equals(run.efficiency)
    assert run["occupancy"].equals(run["queued"])


def test_what_was_not_recorded_is_refused_by_name() -> None:
    run = simulate(takano2006("1"), duration=0.1, level="fluid")
    for name in ("queue", "queued_bytes"):
        with pytest.raises(KeyError, match=f"'{name}': this run has recorded queued, lost, window"):
            run[name]


# Measures of flows and links: against closed forms and the packets of the run.

RATE, DELAY = 1000.0, 0.01


def test_constant_rates_over_a_bottleneck() -> None:
    """Two sources at 0.5 and 0.75 of the link: the queue grows evenly until it is full, then loses."""
    links = chain(3, rate=RATE, delay=DELAY, buffer=100)
    flows = [Flow("a", (1, 2, 3), CBR(0.5 * RATE)), Flow("b", (2, 3), CBR(0.75 * RATE))]
    run = simulate(Scenario("two", links, flows, duration=2.0), level="fluid")
    found = run.measures
    assert_allclose(found.utilisation, [0.5, 1.0], rtol=2 * DELAY / 2.0)  # but for the first packets
    arrived = 0.75 * 2.0 + 0.5 * (2.0 - DELAY)  # of link rates
    lost = RATE * (arrived - (2.0 - DELAY)) - 100
    assert_allclose(found.packets_lost.sum(), lost, rtol=0.02)  # a step more or less at the start
    assert_allclose(found.drain_time.sel(node=2, quantile=[0.95, 0.99]), 0.1, rtol=1e-9)
    assert np.isnan(found.round_trip_queueing).all()  # nobody acknowledges
    assert_allclose(found.goodput.sum(), RATE, rtol=4 * DELAY / 2.0)
    # Little: full but for the 0.4 s in which 100 packets gather at 0.25 of the rate
    full = 1.0 - 0.5 * (100 / (0.25 * RATE)) / 2.0
    assert_allclose(found.mean_occupancy.sel(node=2), 100 * full, rtol=0.02)
    assert_allclose(found.queueing_delay.sel(node=2), 0.1 * full, rtol=0.05)
    assert found.goodput.attrs["units"] == "packets/s"


def test_round_trips_are_those_of_the_queue() -> None:
    """One window over one link: what exceeds the bandwidth-delay product waits."""
    window = 60.0
    links = chain(2, rate=RATE, delay=DELAY, buffer=1000)
    flow = Flow("one", (1, 2), Reno(), max_window=window)
    run = simulate(Scenario("one", links, [flow], duration=3.0), level="fluid")
    waits = window / RATE - run.scenario.base_rtt(flow)
    found = run.measures
    step = run.step  # a packet's time of emission is known to a step
    assert_allclose(found.round_trip_queueing.sel(flow="one", quantile=0.95), waits, atol=step)
    assert_allclose(found.drain_time.sel(node=1, quantile=0.95), waits, atol=step)


@pytest.mark.parametrize("dfc", [True, False])
def test_measures_account_for_the_run(dfc: bool) -> None:
    run = simulate(takano2006("1", dfc=dfc), duration=0.5, level="fluid")
    found = run.measures
    assert_allclose(found.packets_lost.sum(), run.lost.sum())
    assert_allclose(found.mean_queue.sum("flow"), found.mean_occupancy)
    assert (found.utilisation <= 1.0 + 1e-9).all()
    assert (found.loss_ratio.values[run.lost.sum(axis=(1, 2)) == 0] == 0.0).all()
    assert np.isfinite(found.round_trip_queueing).all()
    assert (found.round_trip_queueing.diff("quantile") >= 0.0).all()


# Recorded arrays as netCDF.


def renamed(run: Trajectory, *nodes: object) -> Trajectory:
    """The same trajectory with other names for its nodes; the last ones stay."""
    scenario = run.scenario
    names = {**{n: n for n in scenario.nodes}, **dict(zip(scenario.nodes, nodes, strict=False))}
    links = [replace(x, source=names[x.source], target=names[x.target]) for x in scenario.links]
    flows = [replace(x, path=[names[node] for node in x.path]) for x in scenario.flows]
    return replace(run, scenario=replace(scenario, links=links, flows=flows))


@pytest.mark.parametrize("nodes", [(), ("a", "b"), ((0, 0), (0, 1)), [str(n) for n in range(30)]])
def test_netcdf_gives_back_what_was_recorded(run, nodes, tmp_path) -> None:
    """Nodes may be numbers, texts, pairs, or mixed."""
    named = renamed(run, *nodes)
    assert list(named.to_xarray()["node"].values) == list(named.scenario.senders)
    with xr.open_dataset(named.to_netcdf(tmp_path / "new" / "run.nc")) as data:
        for name, values in named.to_xarray().data_vars.items():
            np.testing.assert_array_equal(data[name].values, values.values)
            assert data[name].attrs == values.attrs
        assert list(data["flow"].values) == ["target", "background"]
        assert [str(n) for n in data["node"].values] == [str(n) for n in named.scenario.senders]
        assert read_scenario(data.attrs["toml"]) == named.scenario


# Panels and the space-time diagram.


def test_space_time_diagram_marks_losses(run) -> None:
    ax = run.plot_space_time()
    assert run.lost.sum() > 0
    dots = ax.lines[0]
    at, when = np.nonzero(run.lost.sum(axis=0))
    np.testing.assert_array_equal(dots.get_ydata(), at)
    np.testing.assert_array_equal(dots.get_xdata(), run.time[when])
    assert set(at) == {0}


# What flows did at nodes: columns, and arrays on demand.


def lossy(method: Fluid | Packets):
    """Return a run that loses packets of two flows, at different nodes."""
    links = chain(3, rate=1e3, delay=1e-3, buffer=10)
    flows = [
        Flow("a", (1, 2, 3), CBR(1.5e3)),
        Flow("b", (2, 3), CBR(0.5e3)),
        Flow("c", (1, 2), CBR(1.0)),
    ]
    return simulate(Scenario("lossy", links, flows, duration=0.2), method, sample=0.05)


@pytest.mark.parametrize("method", [Packets(seed=1), Fluid()])
def test_sums_are_those_of_the_array(method: Fluid | Packets) -> None:
    run = lossy(method)
    assert run.lost.shape == (3, 2, 4)
    by_flow = run.lost_by_flow
    assert by_flow[:2].min() > 1.0 > by_flow[2]
    np.testing.assert_allclose(by_flow, run.lost.sum(axis=(1, 2)), rtol=1e-15)


def test_arrays_are_made_when_they_are_read() -> None:
    run = lossy(Packets(seed=1))
    assert not isinstance(vars(run)["carried"], np.ndarray)
    copied = pickle.loads(pickle.dumps(copy.copy(run)))
    assert run.carried is run.carried
    assert isinstance(vars(run)["carried"], np.ndarray)
    np.testing.assert_array_equal(copied.carried, run.carried)


def test_another_array_replaces_the_columns() -> None:
    run = lossy(Packets(seed=1))
    other = replace(run, lost=np.ones_like(run.lost))
    assert other.lost_by_flow.tolist() == [8.0, 8.0, 8.0]


# Rows of a summary: what failed stands before the places of losses.


def test_rows_about_lossless_classes_and_transfers() -> None:
    links = chain(4, rate=1e4, delay=1e-3, buffer=300, discipline=PFC(xoff=50, xon=25, headroom=5))
    flows = [
        Flow(name, path, CBR(8e3), size=1e4, host="unshaped")
        for name, path in (("a", (1, 2, 3, 4)), ("b", (2, 3, 4)), ("c", (3, 4)))
    ]
    run = simulate(Scenario("too little", links, flows, duration=0.1), Packets(seed=1))
    rows = run.summary()
    names = list(rows)
    assert names.index("unfinished") < names.index("pauses") < names.index("lost at")
    first, *others = run.lossless_losses
    assert len(others) == 2
    assert str(rows["lost in a lossless class"]) == f"{first}; and at 2 other places"
    assert str(rows["status"]).startswith("lost in a lossless class")


def test_many_flows_are_summed_up() -> None:
    links = chain(2, rate=1e4, delay=1e-3, buffer=300)
    flows = [Flow(f"{n}", (1, 2), CBR(100.0)) for n in range(13)]
    rows = simulate(Scenario("many", links, flows, duration=0.1), level="fluid").summary()
    assert "3 other flows" in rows
    assert "9" in rows
    assert "10" not in rows
    assert "unfinished" not in rows


def test_a_fluid_run_says_what_both_levels_cost_and_how_far_off_they_are() -> None:
    """The cost is that of the run's own step; a network of a kind that nothing was measured for says why."""
    scenario = takano2006("1", dfc=False)

    def row(scenario: Scenario, method: Fluid) -> str:
        return str(simulate(scenario, method, duration=0.1).summary()["level"])

    rows = [row(scenario, Fluid(steps)) for steps in (4, 16)]
    fluid = [float(re.findall(r"fluid (\S+) s", each)[0]) for each in rows]
    assert 3.5 < fluid[1] / fluid[0] < 4.5
    for accuracy in measured_accuracies().values():
        assert f"{accuracy.mean_error:.3f}" in rows[0]
    assert "error of shares not measured (link " in row(takano2006("1"), Fluid())
    links = [replace(link, discipline=DFC(per="input")) for link in scenario.links]
    assert "packets cannot run this" in row(replace(scenario, links=links), Fluid())
    packets = simulate(scenario, level="packets", duration=0.1)
    assert packets.summary()["level"] == "packets"


def test_the_summary_says_which_response_times_are_assumed() -> None:
    def one(rate: float, rule: PFC) -> Scenario:
        links = (
            Link("h", "s", rate, 1e-6, 500.0, rule),
            *chain(3, rate=rate, delay=1e-6, buffer=500, discipline=rule),
        )
        return Scenario("odd", links, [Flow("a", (1, 2, 3), CBR(1e5))], duration=1e-4)

    rows = simulate(one(gbps(24), PFC()), level="fluid").summary()
    assert rows["headroom of PFC"].endswith("for these rates: 24 Gb/s as 25 Gb/s")
    for scenario in (one(gbps(100), PFC()), one(gbps(24), PFC(headroom=50.0))):
        assert "headroom of PFC" not in simulate(scenario, level="fluid").summary()


@pytest.mark.parametrize("name", ["level", "step", "status", "steps", "disturbance", "interval", "time"])
def test_flows_with_names_of_rows_hide_none(name: str) -> None:
    """A flow ``level`` was shown in place of the level of the run, and the step in place of a flow ``step``."""

    def of(name: str) -> Scenario:
        flows = [Flow(name, (1, 2), NewReno()), Flow("other", (1, 2), NewReno())]
        return Scenario("named", chain(2, rate=1000.0, delay=0.02, buffer=50), flows, duration=0.5)

    def tables(scenario: Scenario) -> list[dict[str, object]]:
        run = simulate(scenario, level="fluid")
        results = run, ensemble(scenario, runs=2, level="fluid"), check_step(scenario)
        return [result.summary() for result in results]

    for rows, plain in zip(tables(of(name)), tables(of("a")), strict=True):
        shown = f"{name} (flow)" if name in plain else name
        assert list(rows) == [shown if row == "a" else row for row in plain]
        assert "NewReno" in str(rows[shown]) or "efficiency" in str(rows[shown])


# Known limits of the fluid: where they are stated, and that the fluid differs from packets there.


def one_way(buffer: float = 20.0, rule=None, **more) -> Scenario:
    flow = Flow("a", (1, 2), rule or NewReno(), **{"max_window": 500.0} | more)
    return Scenario("one way", (Link(1, 2, 1000.0, 0.01, buffer),), (flow,), duration=5.0)


def both_ways(source=None, rate: float = 1000.0, **link) -> Scenario:
    links = Link(1, 2, 1000.0, 0.01, 20, **link), Link(2, 1, rate, 0.01, 20, **link)
    flows = Flow("a", (1, 2), NewReno()), Flow("b", (2, 1), source or NewReno())
    return Scenario("both ways", links, flows, duration=5.0)


def topics(scenario: Scenario, method: Fluid | Packets | None = None, **given) -> list[str]:
    run = simulate(scenario, method or Fluid(), **given)
    return [limit.partition(":")[0] for limit in run.limits]


def goodput(scenario: Scenario, method: Fluid | Packets) -> float:
    return float(simulate(scenario, method, seed=1).delivered[0, -1] / scenario.duration)


@pytest.mark.parametrize(
    ("scenario", "topic", "factor"),
    [
        (both_ways(), "two-way traffic", 1.3),
        (both_ways(CBR(98.0), 100.0), "two-way traffic", 1.2),
        (one_way(1.0), "small buffer", 3.0),
        (one_way(10.0, Reno()), "classic Reno", 0.95),
    ],
)
def test_a_limit_is_stated_where_the_fluid_differs_from_packets(scenario: Scenario, topic: str, factor: float) -> None:
    """The goodput of the first flow over that of packets is beyond ``factor``."""
    run = simulate(scenario, seed=1, level="fluid")
    assert [limit.partition(":")[0] for limit in run.limits] == [topic]
    assert f"limit, {topic}" in run.summary()
    ratio = goodput(scenario, Fluid()) / goodput(scenario, Packets(seed=1))
    assert ratio > factor if factor > 1.0 else ratio < factor
    assert simulate(scenario, Packets(seed=1)).limits == ()


@pytest.mark.parametrize(
    "scenario",
    [
        one_way(),
        both_ways(CBR(500.0)),  # ACKs find room between its packets
        both_ways(NewReno(), discipline=Fair()),  # a queue of their own
        one_way(4.0, max_window=8.0),  # nothing is lost
        takano2006("1", tcp="newreno"),
    ],
)
def test_no_limit_is_stated_elsewhere(scenario: Scenario) -> None:
    assert topics(scenario, duration=2.0) == []


def test_messages_name_flows_and_links() -> None:
    (limit,) = simulate(both_ways(), level="fluid").limits
    assert "flows a, b share loaded links 2->1, 1->2" in limit
    (limit,) = simulate(one_way(3.0), level="fluid").limits
    assert "link 1->2 with room for few packets (3 at the smallest" in limit
    assert "26 %" in limit
    many = tuple(Flow(f"{n}", (1, 2), Reno(), start=0.01 * n) for n in range(5))
    crowd = Scenario("crowd", one_way().links, many, duration=5.0)
    assert "flows 0, 1, 2 and 2 more" in simulate(crowd, level="fluid").limits[0]


def test_the_recovery_that_was_used_counts_and_is_recorded() -> None:
    run = simulate(one_way(), Fluid(recovery="reno"))
    assert run.recoveries == ("reno",)
    assert "NewReno with recovery 'reno'" in run.summary()["a"]
    assert topics(one_way(), Fluid(recovery="reno")) == ["classic Reno"]
    assert topics(one_way(rule=Reno()), Fluid(recovery="newreno")) == []
    rules = CUBIC(), Tahoe(), CBR(100.0)
    flows = tuple(Flow(f"{n}", (1, 2), rule) for n, rule in enumerate(rules))
    mixed = Scenario("mixed", one_way().links, flows, duration=0.1)
    for method in (Fluid(), Packets(seed=1)):
        assert simulate(mixed, method).recoveries == ("sack", "tahoe", "")


def test_where_a_limit_applies_the_fluid_is_doubted() -> None:
    """The same conditions, before anything runs; otherwise the measured error would allow the fluid."""
    given = {
        "affordable": 0.0,
        "tolerance": 10.0,
        "fluid": Fluid(steps_per_delay=1),
        "duration": 1e4,
    }
    assert isinstance(choose_level(one_way(100.0), **given).method, Fluid)
    for scenario, topic in (
        (both_ways(), "two-way traffic"),
        (one_way(4.0), "small buffer"),
        (one_way(100.0, Reno()), "classic Reno"),
    ):
        found = choose_level(scenario, **given)
        assert isinstance(found.method, Fluid)
        assert topic in found.doubt
    assert isinstance(choose_level(one_way(4.0, max_window=8.0), **given).method, Fluid)


def test_an_ensemble_names_the_limits_of_its_runs() -> None:
    many = ensemble(both_ways(), runs=2, level="fluid", options=RunSettings(duration=1.0))
    assert "ACKs" in str(many.summary()["limit, two-way traffic"])
    alone = ensemble(one_way(), runs=2, level="fluid", options=RunSettings(duration=1.0)).summary()
    assert not any(row.startswith("limit") for row in alone)


# Buffers under DFC that other flows fill.


def over_hops(buffer: float = 50.0, host: str | None = None, duration: float = 8.0) -> Scenario:
    """Return a NewReno flow over three links under DFC, and one over each link."""
    links = chain(4, rate="100Mbps", delay="5ms", buffer=buffer, discipline=DFC())
    paths = {"through": (1, 2, 3, 4)} | {f"hop {n}": (n, n + 1) for n in (1, 2, 3)}
    flows = [Flow(name, path, NewReno(), host=host) for name, path in paths.items()]
    return Scenario("over hops", links, flows, duration=duration)


def test_the_fluid_says_that_a_flow_passes_buffers_that_others_fill() -> None:
    fluid = simulate(over_hops(), level="fluid")
    packets = simulate(over_hops(), level="packets")
    assert fluid.goodput.values[0] > 2.0 * packets.goodput.values[0]
    (limit,) = fluid.limits
    assert limit.startswith("full buffer: flow through under DFC, crossing links 1->2, 2->3, 3->4")
    assert "host='shaped'" in limit
    assert not packets.limits  # it is no limit of theirs


@pytest.mark.parametrize(
    ("scenario", "agree"),
    [(over_hops(host="shaped"), 0.01), (over_hops(5000.0, duration=60.0), 0.02)],
    ids=["shaped hosts", "a large buffer"],
)
def test_where_nothing_fills_the_buffers_the_levels_agree_without_a_limit(scenario, agree) -> None:
    fluid, packets = (simulate(scenario, level=level) for level in ("fluid", "packets"))
    assert fluid.limits == ()
    off = abs(fluid.goodput - packets.goodput) / scenario.links[0].rate
    assert off.max() < agree


def test_a_constant_flow_passes_full_buffers_too() -> None:
    links = chain(3, rate=1e3, delay=5e-3, buffer=50, discipline=DFC())
    paths = {"a": ((1, 2, 3), 400.0), "b": ((1, 2), 900.0), "c": ((2, 3), 900.0)}
    flows = [Flow(name, path, CBR(rate)) for name, (path, rate) in paths.items()]
    run = simulate(Scenario("constant", links, flows, duration=2.0), level="fluid")
    (limit,) = run.limits
    assert limit.startswith("full buffer: flow a under DFC, crossing link 2->3")


def test_flows_with_one_path_share_a_full_buffer_without_a_limit() -> None:
    links = chain(3, rate="100Mbps", delay="5ms", buffer=50, discipline=DFC())
    flows = [Flow(name, (1, 2, 3), NewReno(), max_window=300) for name in "ab"]
    run = simulate(Scenario("one path", links, flows, duration=10.0), level="fluid")
    assert run.lost_by_flow.min() > 0.0
    assert run.limits == ()


# Animations: frames, files, several runs one above another.


def test_animation_as_gif_has_its_frames_and_duration(run, tmp_path) -> None:
    film = run.animate(since=0.05, until=0.1, frames=4, fps=10)
    times = run.time[film.samples]
    assert len(times) == 4
    assert times[0] == pytest.approx(0.055)
    assert times[-1] == pytest.approx(0.1)
    assert "4 frames from 0.055 s to 0.1 s" in repr(film)
    with Image.open(film.save(tmp_path / "films" / "queues.gif")) as picture:
        assert picture.n_frames == 4
        assert picture.info["duration"] == 100
        first = np.asarray(picture.convert("RGB")).copy()
        picture.seek(3)
        assert (np.asarray(picture.convert("RGB")) != first).any()


def test_animation_as_html_stands_alone(run, tmp_path) -> None:
    film = run.animate(frames=2)
    page = film.save(tmp_path / "queues.html").read_text(encoding="utf-8")
    assert '<img alt="queues" id="_anim_img' in page  # for a screen reader
    assert 'class="anim-slider" aria-label="frame"' in page
    assert page.count("data:image/png;base64") == 2
    assert "queues over time: takano2006/1: FIFO, Tahoe" in page
    assert "<input" in page
    assert "http" not in page  # no font of icons
    assert all(f">{sign}</button>" in "".join(page.split()) for sign in ("\u2212", "\u2016", "+"))


def test_buffers_of_all_links_of_a_node_count(monkeypatch) -> None:
    """As a line over the queues, where these are near it."""
    drawn, stairs = {}, Axes.stairs

    def record(axes, values, *arguments, **given):
        drawn[given["label"]] = list(values)
        return stairs(axes, values, *arguments, **given)

    monkeypatch.setattr(Axes, "stairs", record)
    scenario = takano2006("1", dfc=False)
    fork = (*scenario.links, Link(1, 3, 1e4, 1e-4, 200))
    run = simulate(scenario, duration=0.01, level="fluid")
    full = np.full_like(run.queued, 1999.0)
    replace(run, scenario=replace(scenario, links=fork), queued=full).animate(frames=2).to_html()
    assert drawn["buffer"][:3] == [2000, 1800, 1800]
