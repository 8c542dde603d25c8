"""Traces: the packets are those of the run, the same by both engines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel import Fluid, Packets, Scenario, StepMarking, simulate, trace_packets
from dfcmodel.results import PacketTrace
from responsefn import DCQCN, NewReno
from tests.dfcmodel.packets.conftest import (
    plan_of,
    random_classes,
    random_diffusive,
    random_scenario,
    random_switches,
)
from tests.oracles.engines import plain_engines

NETWORKS = ("fifo", "ecn", "pause quanta", "priority", "fair codel", "dualpi2", "own")
"""Of random networks: queues of each kind, and all places where packets are dropped."""


@pytest.fixture(scope="module")
def trace(bottleneck) -> PacketTrace:
    return trace_packets(bottleneck, ["router->end", "end->router"], Packets(seed=2), duration=0.6)


def of_both_engines(scenario: Scenario, method: Packets, **options: Any) -> PacketTrace:
    """Return the trace of all links and mirrors after comparing those of both engines."""
    ports = plan_of(scenario, method).ports
    links = sorted({port.name for port in ports if port.link >= 0 or port.mirror})
    options = {"duration": 0.25, **options}
    found = trace_packets(scenario, links, method, **options)
    with plain_engines():
        expected = trace_packets(scenario, links, method, **options)
    check_equal(found, expected)
    assert len(found) > 100
    return found


def check_equal(found: PacketTrace, expected: PacketTrace) -> None:
    """Compare all fields of all events; NaN is equal to NaN."""
    for name in found.events.dtype.names:
        np.testing.assert_array_equal(found.events[name], expected.events[name], err_msg=name)


@pytest.mark.parametrize("method", [Packets(loss={"router->end": 0.05}), Packets(seed=3, loss={"router->end": 0.05})])
@pytest.mark.parametrize("times", [{}, {"jitter": 0.1, "packet_jitter": 1e-3}])
def test_the_run_is_that_of_simulate(bottleneck, method: Packets, times: dict[str, float]) -> None:
    """Also without a seed of the method, by the starts and by the random losses."""
    trace = trace_packets(bottleneck, "router->end", method, duration=0.6, **times)
    run = simulate(bottleneck, method, duration=0.6, sample=0.006, **times)
    assert run.lost.sum() > 0.0
    for name in ("started", "emitted", "lost"):
        np.testing.assert_array_equal(getattr(trace.run, name), getattr(run, name), err_msg=name)


@pytest.mark.parametrize("kind", NETWORKS)
def test_both_engines_have_the_same_trace(kind: str) -> None:
    seed = 3 + NETWORKS.index(kind)
    method = Packets(seed=seed, recovery="sack" if seed % 2 else "newreno")
    found = of_both_engines(random_scenario(kind, seed), method)
    lost = found.events[np.isfinite(found.events["drop_time"])]
    assert (lost["drop_time"] >= lost["arrived"]).all()
    assert len(lost) > 0 or "pause" in kind


@pytest.mark.parametrize("network", [random_classes, random_switches, random_diffusive])
def test_both_engines_have_the_same_trace_under_flow_control(network: Any) -> None:
    of_both_engines(network(4), Packets(seed=1), packet_jitter=1e-4)


def test_both_engines_have_the_same_acks_of_rate_rules(one_link) -> None:
    links = (replace(one_link.links[0], discipline=StepMarking(3.0)),)
    flows = tuple(replace(one_link.flows[0], name=name, source=DCQCN()) for name in ("one", "other"))
    method = Packets(seed=1, recovery="none")
    found = of_both_engines(replace(one_link, links=links, flows=flows), method).events
    acks = found[found["ack"] & (found["flow"] == 0)]
    assert acks["marked"].any()
    assert (np.diff(acks["number"]) > 0).all()  # no packet is sent again


def test_a_trace_is_whole_when_its_rows_fill_up(bottleneck, monkeypatch) -> None:
    """Also where more rows than there is room for belong to one window, and the run begins again."""
    whole = trace_packets(bottleneck, duration=0.3)
    monkeypatch.setattr("dfcmodel.packets.layouts.arrays.ROWS", 4)
    check_equal(trace_packets(bottleneck, duration=0.3), whole)


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


SLOW: dict[str, dict[str, Any]] = {
    "rate over time": {"elements": [dfc.RateTrace("a->b", (0.0, 0.1, 0.11), (1e3, 0.0, 300.0), period=0.15)]},
    "frames with errors": {"frame_errors": {"a->b": 0.2}},
}


@pytest.mark.parametrize("slow", SLOW.values(), ids=SLOW)
@pytest.mark.parametrize("discipline", [dfc.FIFO(), dfc.Fair()], ids=lambda d: type(d).__name__)
def test_a_packet_is_received_when_it_arrives_at_the_next_link(slow: dict[str, Any], discipline: Any) -> None:
    """Also where its transmission takes longer than at the rate of the link; both engines have the same trace."""
    links = [dfc.Link(*ends, 1e3, 0.01, 40.0, discipline) for ends in ("ab", "bc", "cb", "ba")]
    flows = [dfc.Flow(name, "abc", NewReno(), max_window=12.0) for name in ("one", "two")]
    scenario = Scenario("slow", links, flows, duration=0.6, elements=slow.get("elements", ()))
    method = Packets(seed=1, recovery="sack", frame_errors=slow.get("frame_errors"))
    table = of_both_engines(scenario, method, duration=0.6).to_pandas()
    packets = table[~table["ack"] & ~table["dropped"]]
    first, second = (packets[packets["link"] == name].set_index(["flow", "number"]) for name in ("a->b", "b->c"))
    both = first.join(second.add_suffix(" next"), how="inner")
    assert both.index.is_unique  # nothing is sent twice
    assert len(both) > 90
    np.testing.assert_array_equal(both["received"], both["arrived next"])
    assert (both["received"] - both["sent"]).max() > 0.0125  # usually 0.011


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


@pytest.mark.parametrize(
    "discipline", [dfc.FlowQueueCoDel(), dfc.CAKE(), dfc.StepMarking(8.0)], ids=lambda d: type(d).__name__
)
def test_marks_of_a_run_are_those_of_the_packets_that_arrived(discipline: Any) -> None:
    """Every sender is ECN-capable with FlowQueueCoDel and CAKE: its loss events are answers to marks, too."""
    if isinstance(discipline, dfc.StepMarking):
        discipline = dfc.Fair(manager=discipline)
    links = [dfc.Link("a", "b", 1000.0, 0.01, 100.0, discipline), dfc.Link("b", "a", 1000.0, 0.01, 100.0)]
    flows = [dfc.Flow(name, ("a", "b"), NewReno()) for name in ("one", "two")]
    scenario = dfc.Scenario("marks", links, flows, duration=4.0)
    trace = dfc.trace_packets(scenario, ["a->b"], dfc.Packets(seed=1))
    events = trace.events[(trace.events["received"] <= 4.0) & ~trace.events["ack"]]
    expected = [int(events["marked"][events["flow"] == f].sum()) for f in range(2)]
    run = dfc.simulate(scenario, dfc.Packets(seed=1))
    assert run.marks is not None
    assert run.marks.tolist() == expected
    assert sum(expected) > 5
    assert "marks" in run.summary()["one"]
    assert run.to_xarray()["marks"].dims == ("flow",)
    plain = dfc.simulate(
        replace(scenario, links=[replace(link, discipline=dfc.FIFO()) for link in links]), dfc.Packets(seed=1)
    )
    assert plain.marks is None
    assert "mark" not in str(plain.summary()["one"])
