"""Traces: the packets are those of the run that the compiled engine has too."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import Fluid, Packets, PacketTrace, simulate, trace_packets


@pytest.fixture(scope="module")
def trace(bottleneck) -> PacketTrace:
    return trace_packets(bottleneck, ["router->end", "end->router"], Packets(seed=2), duration=0.6)


def test_a_traced_run_is_that_of_the_compiled_engine(trace, bottleneck) -> None:
    run = simulate(bottleneck, Packets(seed=2), duration=0.6, sample=0.006)
    np.testing.assert_array_equal(trace.run.window, run.window)
    np.testing.assert_array_equal(trace.run.lost, run.lost)


def test_events_are_what_the_records_count(trace) -> None:
    table, run = trace.to_pandas(), trace.run
    link = table[table["link"] == "router->end"]
    sent = link[~link["dropped"]].groupby("flow").size()
    node = run.scenario.senders.index("router")
    assert [sent["near"], sent["far"]] == run.carried[:, node].tolist()
    assert link["dropped"].sum() == run.lost.sum() > 0
    assert not link["ack"].any()
    assert table[table["link"] == "end->router"]["ack"].all()
    queueing = (link["sent"] - link["arrived"]).groupby(link["flow"]).mean()
    delays = run.measures["queueing_delay"].sel(node="router").values
    np.testing.assert_allclose([queueing["near"], queueing["far"]], delays, rtol=1e-9)


def test_a_fifo_queue_keeps_order_and_never_sends_two_at_a_time(trace) -> None:
    own = trace.events[(trace.events["link"] == 0) & np.isfinite(trace.events["sent"])]
    assert (np.diff(own["sent"]) >= 1.0 / 2e3 - 1e-12).all()
    np.testing.assert_allclose(own["received"] - own["sent"], 1.0 / 2e3 + 10e-3)


def test_a_link_that_is_not_crossed_and_a_fluid_are_refused(refused, bottleneck) -> None:
    refused(["links", "'end->near'"], lambda: trace_packets(bottleneck, "end->near"))
    refused(["method", "Packets()"], lambda: trace_packets(bottleneck, method=Fluid()))
    refused(["duration"], lambda: trace_packets(bottleneck, duration=-1.0))


def test_the_figure_has_all_packets_of_a_link(trace) -> None:
    axes = trace.plot(link="router->end")
    drawn = sum(len(line.get_xdata()) for line in axes.lines)
    assert drawn == (trace.events["link"] == 0).sum()
    assert "dropped" in repr(trace)
    assert trace.to_xarray()["sent"].attrs["units"] == "s"
