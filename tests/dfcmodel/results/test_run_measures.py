"""Measures, recorded arrays and plots of a run."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

from dfcmodel import CBR, Flow, Fluid, Packets, Scenario, chain, simulate, takano2006
from dfcmodel.results import Trajectory
from dfcmodel.results.at_nodes import columns_of
from responsefn import Reno
from tests.dfcmodel.scenario_texts import read_scenario

# Measures of flows and links: against closed forms and the packets of the run.

RATE, DELAY = 1000.0, 0.01


def test_constant_rates_over_a_bottleneck() -> None:
    """Two sources at 0.5 and 0.75 of the link: the queue grows evenly until it is full, then loses."""
    links = chain(3, rate=RATE, delay=DELAY, buffer=100)
    flows = [Flow("a", (1, 2, 3), CBR(0.5 * RATE)), Flow("b", (2, 3), CBR(0.75 * RATE))]
    run = simulate(Scenario("two", links, flows, duration=2.0), level="fluid")
    found = run.measures
    assert_allclose(
        found.utilisation, [0.5, 1.0], rtol=2 * DELAY / 2.0
    )  # but for the first packets
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
    columns = columns_of(run, "lost")
    assert columns.shape == (3, 2, 4)
    by_flow = run.lost_by_flow
    assert by_flow[:2].min() > 1.0 > by_flow[2]
    np.testing.assert_array_equal(columns.array(), run.lost)
    np.testing.assert_allclose(by_flow, run.lost.sum(axis=(1, 2)), rtol=1e-15)
    np.testing.assert_allclose(columns.by_node(), run.lost.sum(axis=(0, 2)), rtol=1e-15)


def test_arrays_are_made_when_they_are_read() -> None:
    run = lossy(Packets(seed=1))
    assert not isinstance(vars(run)["carried"], np.ndarray)
    copied = pickle.loads(pickle.dumps(copy.copy(run)))
    assert run.carried is run.carried
    assert isinstance(vars(run)["carried"], np.ndarray)
    np.testing.assert_array_equal(copied.carried, run.carried)
    assert (
        columns_of(run, "carried").values.tolist() == columns_of(copied, "carried").values.tolist()
    )


def test_another_array_replaces_the_columns() -> None:
    run = lossy(Packets(seed=1))
    other = replace(run, lost=np.ones_like(run.lost))
    assert other.lost_by_flow.tolist() == [8.0, 8.0, 8.0]
    assert columns_of(other, "lost").by_node().tolist() == [12.0, 12.0]
