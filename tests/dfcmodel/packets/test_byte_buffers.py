"""Buffers in bytes at packet level: both engines, every discipline, and ns-2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dfcmodel as dfc
from responsefn import CUBIC, DCTCP, NewReno, Reno, Tahoe
from tests.oracles.engines import ENGINES, plan_scenario, run_engine

DISCIPLINES: dict[str, Any] = {
    "fifo": dfc.FIFO(),
    "red": dfc.RED(2.0, 6.0, 0.05),
    "red in bytes": dfc.RED(2.0, 6.0, 0.05, mean_packet=1000.0, ecn=True),
    "codel": dfc.CoDel(1e-3, 1e-2),
    "pie": dfc.PIE(2e-3, 2e-3),
    "pi2": dfc.PI2(),
    "dualpi2": dfc.DualPI2(),
    "fair": dfc.Fair(),
    "fair, marks": dfc.Fair(manager=dfc.StepMarking("4.5 kB")),
    "priority": dfc.Priority(),
    "pause": dfc.Pause(4.0, 2.0),
    "pause quanta": dfc.Pause(4.0, 2.0, quanta=20),
    "pfc": dfc.PFC((0,), 3.0, 1.0, headroom=8.0),
    "pfc, acks": dfc.PFC((0,), 3.0, 1.0, headroom=8.0, acks="class", counts="switch", manager=dfc.RampMarking("1 kB", "8 kB", 0.3)),
    "dfc": dfc.DFC(),
    "program": dfc.ShortestRemaining(),
    "flow queues": dfc.FlowQueueCoDel(1e-3, 1e-2),
}  # fmt: skip
HALVES = [("a", "s"), ("b", "s"), ("s", "t"), ("t", "c"), ("t", "d")]
PATHS = ["astc", "bstd", "ctsb", "dtsa", "astd"]


def two_ways(discipline: Any, buffer: dfc.ByteBuffer, seed: int, size: float = 1500.0) -> dfc.Scenario:
    """Return a dumbbell with flows in both directions, whose ACKs meet data in each queue."""
    rng = np.random.default_rng([41, seed])
    links = [
        dfc.Link(*way, (1000.0 if half == ("s", "t") else 3000.0) * rng.uniform(0.8, 1.2),
             rng.uniform(0.5e-3, 3e-3), buffer, discipline)
        for half in HALVES for way in (half, half[::-1])
    ]  # fmt: skip
    sources = [NewReno(), CUBIC(), NewReno(), DCTCP(), dfc.CBR(400.0)]
    flows = [
        dfc.Flow(f"{i}", path, source, max_window=60.0, priority=0 if isinstance(discipline, dfc.PFC) else i % 2,
             start=0.002 * i, size=np.inf if i < 3 else 300.0, delayed_acks=i == 1)
        for i, (path, source) in enumerate(zip(PATHS, sources, strict=True))
    ]  # fmt: skip
    return dfc.Scenario("two ways", links, flows, duration=0.15, packet_size=size)


@pytest.mark.parametrize("name", DISCIPLINES)
def test_both_engines_are_equal(name: str) -> None:
    discipline = DISCIPLINES[name]
    size = 150_000 if isinstance(discipline, dfc.PFC) else 17_000
    scenario = two_ways(discipline, dfc.ByteBuffer(size, cell=80), 1)
    ours, theirs = (run(scenario, dfc.Packets(seed=1)) for run in ENGINES)
    for field in ("delivered", "lost", "occupancy", "peak_queue", "queued_bytes", "peak_bytes"):
        np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field))
    assert ours.lost.sum() > 0 or ours.peak_queue.max() > 4.0


def test_a_queue_drops_exactly_what_does_not_fit() -> None:
    """From the trace: what waits is what came and has not begun to be sent; an idle link sends at once."""
    room, names = 9_000, ["s->t", "t->s"]
    scenario = two_ways(dfc.FIFO(), dfc.ByteBuffer(room), 2)
    trace = dfc.trace_packets(scenario, names, dfc.Packets(seed=1)).to_pandas()
    longer = 0
    for _, own in trace.groupby("link"):
        arrived, sent = own.arrived.to_numpy(), own.sent.to_numpy()
        for row in own.itertuples():
            waits = (arrived < row.arrived) & (sent > row.arrived)
            fits = own["bytes"].to_numpy()[waits].sum() + row.bytes <= room
            assert fits != row.dropped
            longer += not row.dropped and waits.sum() >= room // 1500
    assert trace.dropped.sum() > 10
    assert longer > 0, "more wait than data packets would fit"


@pytest.mark.parametrize("name", ["fifo", "red", "dfc"])
def test_bytes_that_wait_are_those_of_the_trace(name: str) -> None:
    """At the ends of samples, and the most as a packet comes; packets of data, ACKs, and cells of 80 bytes."""
    buffer = dfc.ByteBuffer(17_000, cell=80)
    scenario = two_ways(DISCIPLINES[name], buffer, 2)
    run = dfc.simulate(scenario, dfc.Packets(seed=1), sample=1e-3)
    names = [link.name for link in scenario.links if link.source == "s"]
    trace = dfc.trace_packets(scenario, names, dfc.Packets(seed=1)).to_pandas()
    n = scenario.senders.index("s")
    came, sent, dropped = (trace[each].to_numpy() for each in ("arrived", "sent", "dropped"))
    left = np.where(dropped, came, np.where(np.isnan(sent), np.inf, sent))
    taken = trace["bytes"].map(buffer.taken).to_numpy()
    inside = (came < run.time[:, np.newaxis]) & (left >= run.time[:, np.newaxis])
    has_all = inside.sum(axis=1) == run.queued[n]  # what waits at the end of the run is in no row
    np.testing.assert_array_equal(run.queued_bytes[n, has_all], (inside @ taken)[has_all])
    assert has_all.sum() > 100
    most = 0.0
    for link in names:
        own = (trace.link == link).to_numpy()
        queued = own & (left > came)
        most = max([most, *(taken[queued & (came <= t) & (left > t)].sum() for t in came[queued])])
    assert most <= run.peak_bytes[n] <= buffer.room
    assert run.peak_bytes[n] - most <= buffer.taken(1500.0)  # one that comes as another leaves
    found = run.to_xarray()
    assert found.occupancy_bytes.attrs["units"] == found.peak_queue_bytes.attrs["units"] == "bytes"
    assert run.measures.peak_queue_bytes.values[n] == run.peak_bytes[n]


def test_nodes_without_byte_buffers_have_no_bytes() -> None:
    links = [
        dfc.Link("a", "s", 3e3, 1e-3, 50),
        dfc.Link("s", "b", 1e3, 1e-3, dfc.ByteBuffer("9 kB")),
    ]
    run = dfc.simulate(
        dfc.Scenario("both", links, [dfc.Flow("one", "asb", NewReno())], duration=0.5),
        dfc.Packets(seed=1),
    )
    assert np.isnan(run.queued_bytes[0]).all()
    assert run.peak_bytes[1] == 1500.0 * run.peak_queue[1] == 9000.0
    assert "6 packets, at most 9000 bytes, of link s->b" in run.summary().values()
    links[1] = dfc.Link("s", "b", 1e3, 1e-3, 6)
    run = dfc.simulate(
        dfc.Scenario("packets", links, [dfc.Flow("one", "asb", NewReno())], duration=0.5),
        dfc.Packets(seed=1),
    )
    assert run.peak_bytes is None
    assert "occupancy_bytes" not in run.to_xarray()


def test_a_buffer_of_data_packets_alone_is_the_same_in_bytes() -> None:
    """Without ACK traffic each packet takes 1500 bytes."""
    runs = [
        dfc.simulate(two_ways(dfc.FIFO(), buffer, 3), dfc.Packets(seed=1, ack_transmission=False))
        for buffer in (6.0, dfc.ByteBuffer("9 kB"), dfc.ByteBuffer(6 * 1520, cell=80))
    ]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.delivered, runs[0].delivered)
        assert run.lost.sum() == runs[0].lost.sum() > 0


def in_ns2(seed: int) -> tuple[dfc.Scenario, dict[str, str]]:
    """Return a random dumbbell with two-way traffic and buffers in bytes, and the recoveries of its flows."""
    rng = np.random.default_rng([42, seed])
    rules = {"tahoe": Tahoe(), "reno": Reno(), "newreno": NewReno(), "sack": NewReno()}
    links = [
        dfc.Link(*way, 10 ** rng.uniform(2.3, 3.0 if half == ("s", "t") else 3.6), 10 ** rng.uniform(-3.5, -1.5),
             dfc.ByteBuffer(int(rng.integers(3001, 40_000))))
        for half in HALVES for way in (half, half[::-1])
    ]  # fmt: skip
    flows, recovery = [], {}
    for i, path in enumerate(PATHS):
        kind = list(rules)[rng.integers(4)]
        start = float(rng.uniform(0.0, 1.0))
        if i == 4:
            flows.append(dfc.Flow("4", path, dfc.CBR(float(rng.uniform(20.0, 200.0))), start=start))
            continue
        recovery[f"{i}"] = kind
        window, delayed = float(rng.choice([20, 64, 1000])), bool(rng.integers(2))
        flows.append(dfc.Flow(f"{i}", path, rules[kind], window, start, delayed_acks=delayed))
    return dfc.Scenario("ns-2", links, flows, duration=4.0), recovery


@pytest.mark.simulators
@pytest.mark.parametrize("seed", range(6))
def test_ns2_counts_bytes_as_here(tmp_path, run_ns2, seed: int) -> None:
    """All ACKs each 10 ms, and all drops."""
    scenario, recovery = in_ns2(seed)
    method = dfc.Packets(convention="ns2", recovery=recovery, seed=seed + 1)
    samples, links = run_ns2(tmp_path, dfc.to_ns2(scenario, method=method))
    found = run_engine(plan_scenario(scenario, method, duration=scenario.duration, sample=0.01))
    np.testing.assert_array_equal(samples[:, 2::2], found.acked[:, :4])
    assert links[:, 2].sum() == found.drops.sum() > 0


def test_what_simulators_do_not_have_is_refused() -> None:
    scenario, recovery = in_ns2(0)
    method = dfc.Packets(convention="ns2", recovery=recovery)
    assert "queue_in_bytes_ true" in dfc.to_ns2(scenario, method=method)
    flow = [dfc.Flow("x", "ab", NewReno())]

    def one(buffer: dfc.ByteBuffer, **more: Any) -> dfc.Scenario:
        return dfc.Scenario("one", [dfc.Link("a", "b", 1e3, 1e-3, buffer, **more)], flow)

    with pytest.raises(ValueError, match=r"ns-2 has no cells; use ByteBuffer\(9000\)"):
        dfc.to_ns2(one(dfc.ByteBuffer(9000, cell=80)))
    with pytest.raises(ValueError, match="must be above a packet of 1500 B"):
        dfc.to_ns2(one(dfc.ByteBuffer(1500)))
    with pytest.raises(ValueError, match="must be above a packet of 1500 B"):
        dfc.simulate(one(dfc.ByteBuffer(1500)), dfc.Packets(convention="ns2"))
    assert ", 9000, true, " in dfc.to_ns3(one(dfc.ByteBuffer(9000)))
    assert ", 9, false, " in dfc.to_ns3(dfc.Scenario("one", [dfc.Link("a", "b", 1e3, 1e-3, 9.0)], flow))
    with pytest.raises(ValueError, match="ns-3 has no cells"):
        dfc.to_ns3(one(dfc.ByteBuffer(9000, cell=80)))
    with pytest.raises(ValueError, match="must be in packets"):
        dfc.to_ns3(one(dfc.ByteBuffer(9000), discipline=dfc.CoDel()))


def test_a_buffer_of_a_fraction_of_a_packet_is_refused() -> None:
    """The fluid has room for parts of packets; packets that fit into bytes are counted."""
    flow = dfc.Flow("one", ("a", "b"), NewReno())
    links = [dfc.Link("a", "b", 1000.0, 0.01, 20.5)]
    scenario = dfc.Scenario("fraction", links, [flow], duration=0.1)
    with pytest.raises(ValueError, match=r"^buffer of link a->b = 20\.5: must be whole packets at packet level; write buffer=20, or its bytes: ByteBuffer\(\.\.\.\)"):  # fmt: skip
        dfc.simulate(scenario, dfc.Packets(seed=1))
    assert dfc.simulate(scenario, level="fluid").status.ok
    for buffer in (20, 20.0, "20pkt", "30.7 kB", dfc.ByteBuffer(30_700)):
        assert dfc.simulate(
            dfc.Scenario("whole", [dfc.Link("a", "b", 1000.0, 0.01, buffer)], [flow], duration=0.1), dfc.Packets(seed=1)
        ).status.ok
