"""The handshake of window senders: SYN and SYN-ACK are packets, and data follow; the FIN is in the last packet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    FIFO,
    RED,
    Flow,
    Link,
    Packets,
    Scenario,
    StepMarking,
    chain,
    simulate,
    to_ns3,
    trace_packets,
)
from responsefn import AIMD, BBR, CUBIC, DCTCP, NewReno, Reno, Tahoe
from tests.oracles.engines import (
    equal_records,
    plan_scenario,
)

SYN_TRIP = 2 * (0.01 + 1e-3 * 40 / 1500)
"""Round trip of packets of 40 bytes over `one_link`, s."""
KINDS = [False, True, "data"]
RULES = [NewReno(), Reno(), CUBIC(), DCTCP(), BBR(), Tahoe(), AIMD()]


def network(seed: int) -> Scenario:
    """Return flows of any kind over two links that lose packets."""
    rng = np.random.default_rng([79, seed])
    rule = (FIFO(), RED(5.0, 15.0, ecn=True), StepMarking(5.0))[seed % 3]
    slow = 20.0 if seed % 4 == 0 else 1.0  # round trips of more than a second: SYNs are sent twice
    links = [
        replace(link, discipline=rule)
        for link in chain(3, rate=float(rng.uniform(200, 2000)),
                          delay=slow * float(rng.uniform(1e-4, 0.02)), buffer=int(rng.integers(1, 20)))
    ]  # fmt: skip
    flows = [
        Flow(
            f"{n}", [(1, 2, 3), (1, 2), (2, 3)][rng.integers(3)], RULES[(seed + 2 * n) % 7],
            max_window=float(rng.integers(4, 80)), start=float(rng.uniform(0.0, 0.3)),
            size=float(rng.integers(1, 200)), handshake=[True, "data", False][(seed + n) % 3],
            delayed_acks=bool(rng.integers(2)), pacing=bool(rng.integers(2)),
            stop=float(rng.uniform(0.4, 2.0)) if n == 2 else np.inf,
        )
        for n in range(3)
    ]  # fmt: skip
    return Scenario("handshakes", links, flows, duration=3.0)


@pytest.mark.parametrize("seed", range(12))
def test_both_engines_are_equal_with_handshakes(seed: int) -> None:
    recovery, loss = (None, "sack", "prr")[seed % 3], {"1->2": 0.1} if seed % 2 else None
    plan = plan_scenario(
        network(seed), Packets(seed=seed + 1, recovery=recovery, loss=loss), duration=3.0,
        sample=0.05, packet_jitter=1e-4 * (seed % 4 == 1),
    )  # fmt: skip
    equal_records(plan)


@pytest.mark.parametrize("kind", KINDS)
def test_data_follow_the_syn_ack(one_link, kind) -> None:
    """First data at once, after the round trip of 40 bytes, or in the SYN and the rest after its round trip."""
    flow = replace(one_link.flows[0], size=8.0, handshake=kind)
    trace = trace_packets(replace(one_link, flows=(flow,)), ["a->b", "b->a"], duration=0.5)
    rows = trace.to_pandas()
    there, back = rows[~rows["ack"]], rows[rows["ack"]]
    whole = there[there["bytes"] == 1500.0]
    assert len(whole) == 8
    first = SYN_TRIP if kind is True else 0.0
    assert whole["sent"].iloc[0] == pytest.approx(first, abs=1e-12)
    if kind == "data":
        full = SYN_TRIP + 1e-3 * (1 - 40 / 1500)
        assert whole["sent"].iloc[1] == pytest.approx(full, abs=1e-12)
    opened = [there["bytes"].iloc[0], back["bytes"].iloc[0]]
    assert opened == [40.0 if kind is True else 1500.0, 40.0]
    assert trace.run.delivered[0, -1] == 8.0
    assert np.nanmin(trace.run.round_trip) >= SYN_TRIP - 1e-12


def test_a_lost_syn_is_sent_again_after_one_then_two_seconds() -> None:
    """The window then begins with one packet, and the first timeout of data is 3 s (RFC 6298, 5.7; RFC 5681, 3.1)."""
    flood = {"source": CBR(1e5), "max_window": 1.0}
    flows = [
        Flow("flood", ("a", "b"), start=0.0, stop=2.5, **flood),
        Flow("again", ("a", "b"), start=3.015, stop=3.2, **flood),
        Flow("one", ("a", "b"), CUBIC(), start=0.001, handshake=True),
    ]
    scenario = Scenario("flood", [Link("a", "b", 1000.0, 0.01, 1)], flows, duration=6.5)
    rows = trace_packets(scenario, "a->b", Packets(seed=1)).to_pandas()
    rows = rows[rows["flow"] == "one"]
    syn = rows[rows["number"] == 0]
    assert syn["bytes"].unique() == [40.0]
    assert syn["arrived"].tolist() == pytest.approx([0.001, 1.001, 3.001], abs=1e-12)
    data = rows[rows["number"] > 0]
    begin = 3.001 + SYN_TRIP
    assert data["arrived"].iloc[:2].tolist() == pytest.approx([begin, begin + 3.0], abs=1e-12)
    assert data["number"].iloc[:2].tolist() == [1, 1]


def test_the_syn_is_measured_once_and_does_not_grow_the_window(one_link) -> None:
    """RFC 5681, 3.1; the round trip of the SYN is the first one that a run records."""
    flow = replace(one_link.flows[0], source=CUBIC(), handshake=True)
    run = simulate(replace(one_link, flows=(flow,)), Packets(seed=1), duration=0.03, sample=1e-3)
    after = np.isfinite(run.round_trip[0])
    assert run.round_trip[0, after][0] == pytest.approx(SYN_TRIP, abs=1e-12)
    assert run.time[after][0] == pytest.approx(np.ceil(SYN_TRIP * 1e3) * 1e-3)
    np.testing.assert_array_equal(run.window[0], CUBIC().start(0.021).cwnd)


def test_syn_and_fin_are_acknowledged_at_once(one_link) -> None:
    """A receiver that delays ACKs by up to 0.5 s answers SYN and FIN as they come (RFC 9293, 3.10.7)."""
    flow = replace(one_link.flows[0], size=1.0, delayed_acks=True)
    found = []
    for kind in KINDS:
        scenario = replace(one_link, flows=(replace(flow, handshake=kind),))
        rows = trace_packets(scenario, ["b->a"], Packets(ack_delay=0.5), duration=1.0).to_pandas()
        found.append(rows["sent"].tolist())
    trip = SYN_TRIP / 2 + 1e-3 * (1 - 40 / 1500)
    assert found[0] == pytest.approx([trip + 0.5])
    assert found[1] == pytest.approx([SYN_TRIP / 2, SYN_TRIP + trip])
    assert found[2] == pytest.approx([trip])


def test_syns_are_not_ecn_capable_but_those_of_dctcp() -> None:
    """RFC 3168, 6.1.1, and RFC 8257, 3.5: a mark on every packet is no mark on a SYN, unless its sender is DCTCP."""
    marked = []
    for rule in (NewReno(), DCTCP()):
        link = Link("a", "b", 1000.0, 0.01, 50, StepMarking(2.0))
        flow = Flow("one", ("a", "b"), rule, start=0.0201, handshake=True)
        flows = [Flow("rest", ("a", "b"), CBR(2000.0)), flow]
        rows = trace_packets(Scenario("marks", [link], flows, duration=0.1), "a->b").to_pandas()
        rows = rows[(rows["flow"] == "one") & (rows["number"] == 0)]
        marked.append(bool(rows["marked"].any()))
    assert marked == [False, True]


def test_a_stop_before_the_syn_ack_sends_no_data(one_link) -> None:
    flow = replace(one_link.flows[0], handshake=True, stop=0.015)
    run = simulate(replace(one_link, flows=(flow,)), Packets(seed=1), duration=0.5)
    assert (run.delivered[0, -1], run.emitted[0]) == (0.0, 1.0)


def test_ns2_and_ns3_refuse_what_they_do_not_have(refused, one_link) -> None:
    flow = replace(one_link.flows[0], handshake="data")
    scenario = replace(one_link, flows=(flow,))
    refused(["handshake", "'data'", "ns-2"], lambda: simulate(scenario, Packets(convention="ns2")))
    refused(["handshake", "'data'", "ns-3"], lambda: to_ns3(scenario))
