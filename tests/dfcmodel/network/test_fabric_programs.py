"""Trimming and telemetry beside what follows from their definitions."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import CBR, FIFO, INT, Flow, Fluid, Link, Packets, Scenario, Trimming, simulate
from responsefn import DCQCN, HPCC, NewReno, RateRule
from tests.oracles.engines import begin_run, plan_scenario


def incast(program: Any, *flows: Flow, duration: float = 0.01, room: int = 10_000) -> Scenario:
    """Return flows from hosts of their own through a link of 1e5 packets/s with a program."""
    hosts = [flow.path[0] for flow in flows]
    links = [Link(host, "s", 2e5, 1e-6, 10_000) for host in hosts]
    links.append(Link("s", "b", 1e5, 1e-6, room, program))
    return Scenario("incast", links, flows, duration=duration, packet_size=9000.0)


def test_headers_take_their_bytes_and_all_other_capacity_is_for_data() -> None:
    """Under an overload of 5 each packet of data that leaves has 4 headers beside it: a share of 9000 / (9000 + 4 * 64)."""
    flows = [Flow(str(n), (f"h{n}", "s", "b"), CBR(1e5)) for n in range(5)]
    run = simulate(incast(Trimming(), *flows), Packets(seed=1))
    data = run.delivered[:, -1].sum() / 1e3
    assert data == pytest.approx(9000.0 / (9000.0 + 4.0 * 64.0), rel=0.01)  # 8 packets wait
    assert run.delivered[:, -1].min() > 0.5 * run.delivered[:, -1].mean()  # of 200 at random
    found = run.drops()
    assert set(found.cause.values.tolist()) == {"trimmed"}
    assert set(found.link.values.tolist()) == {"s->b"}
    assert "cut to their headers" in run.summary()["lost at"]
    lost = run.lost.sum(axis=(1, 2))
    np.testing.assert_array_equal(run.emitted, run.delivered[:, -1] + lost + run.inside)


def test_a_receiver_asks_for_a_packet_of_which_the_header_has_come() -> None:
    """Of a transfer without a timeout to wait for; with drops alone go-back-N ends as late as its timer or later."""
    sizes = (40, 40, 40)
    ends = {}
    for program in (Trimming(), FIFO()):
        flows = [
            Flow(str(n), (f"h{n}", "s", "b"), DCQCN(), size=size) for n, size in enumerate(sizes)
        ]
        scenario = incast(
            program, *flows, duration=1.0, room=1000 if isinstance(program, Trimming) else 8
        )
        run = simulate(scenario, Packets(seed=1), sample=0.1)
        ends[type(program)] = run
        assert (run.delivered[:, -1] == sizes).all()
    cut, dropped = ends[Trimming], ends[FIFO]
    assert cut.timeouts.sum() == 0
    assert dropped.timeouts.sum() > 0
    assert cut.finished.max() < 0.02
    assert dropped.finished.max() > 0.2  # min_rto


def test_a_window_sender_loses_what_is_cut() -> None:
    flow = Flow("one", ("h", "s", "b"), NewReno(), 200.0, size=3000)
    run = simulate(incast(Trimming(limit=30.0), flow, duration=1.0), Packets(seed=1))
    assert run.drops().cause.values.tolist() == ["trimmed"]
    assert run.loss_events[0] > 0
    assert run.delivered[0, -1] == 3000.0


class Watcher(RateRule):
    """Sends at a fifth of its first link; its state has what telemetry says of the second link."""

    class State(NamedTuple):
        """Rate; bytes that the link has sent, times of their intervals (s), the longest queue (bytes), the hop."""

        rate: float = math.inf
        sent: float = 0.0
        time: float = 0.0
        queue: float = 0.0
        hop: float = 0.0

    def start(self, line_rate: float) -> Any:
        """Begin at a fifth."""
        return self.State(rate=line_rate / 5.0)

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Keep the rate."""
        return s

    @staticmethod
    def on_telemetry(s: Any, q: Any, e: Any) -> Any:
        """Add up."""
        if e.hop == 0.0:
            return s
        return s._replace(
            sent=s.sent + e.sent, time=s.time + e.interval, queue=max(s.queue, e.queue),
            hop=max(s.hop, e.hop),
        )  # fmt: skip


def test_telemetry_is_what_the_link_sends_and_what_waits() -> None:
    """Beside a constant rate, which fills the link to nine tenths: bytes per second and hop; a queue of a packet."""
    links = [
        Link(a, b, 2e5, 1e-6, 100, rule)
        for a, b, rule in (("h", "r", FIFO()), ("r", "s", INT()), ("x", "s", FIFO()))
    ]
    links.append(Link("s", "b", 1e5, 1e-6, 100, INT()))
    flows = [
        Flow("seen", ("h", "r", "s", "b"), Watcher()),
        Flow("other", ("x", "s", "b"), CBR(5e4)),
    ]
    plan = plan_scenario(
        Scenario("watch", links, flows, duration=0.01), Packets(seed=1), duration=0.01, sample=1e-3
    )
    run = begin_run(plan)
    run.advance(plan.samples)
    state = Watcher.State(
        *run.layout.arrays["flow"][0][["cwnd", "ssthresh"]].tolist(),
        *run.layout.arrays["rule"]["rule_state"][0, :3],
    )
    assert state.hop == 1.0
    assert state.time == pytest.approx(
        0.01, rel=0.02
    )  # all but the first packet, and an RTT of 60 us
    assert state.sent / state.time == pytest.approx(9e4 * 1500.0, rel=0.01)
    assert 0.0 <= state.queue <= 2.0 * 1500.0  # two senders of equal packets


def test_rules_of_telemetry_need_packets_that_carry_it() -> None:
    scenario = incast(FIFO(), Flow("one", ("h", "s", "b"), HPCC()))
    with pytest.raises(ValueError, match="follows telemetry, which no link of its path writes"):
        simulate(scenario, Packets())
    scenario = incast(FIFO(), Flow("one", ("h", "s", "b"), HPCC()))
    with pytest.raises(ValueError, match=r"rule that follows telemetry is for packets; use method"):
        simulate(scenario, Fluid())
    assert INT.telemetry
