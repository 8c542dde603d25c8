"""Sender tables: starts and on/off times within a step, every rule as a source; receivers."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    DFC,
    FIFO,
    PFC,
    Flow,
    Fluid,
    Link,
    OnOff,
    Scenario,
    chain,
    simulate,
)
from dfcmodel.engine import driver
from dfcmodel.engine.kernel import tcp_receiver, tcp_sender
from hopflow import maximum, minimum
from responsefn import TIMELY, NewReno, Vegas, WindowRule, catalogue
from tests.oracles.engines import compile_scenario, plain_simulate
from tests.oracles.fluid import runs as reference

RATE, DELAY = 1e4, 5e-3


RULES = [entry for entry in catalogue("rule").entries if isinstance(entry, WindowRule)]


ADVANCE = {  # the kernel as plain Python: no compilation for a few hundred steps
    "kernel": partial(driver.advance, compiled=False),
    "reference": reference.advance,
}


def one_flow(source: Any, host: str = "direct", start: float = 0.0, **link: Any) -> Scenario:
    """Return a flow over two links."""
    links = chain(3, **{"rate": RATE, "delay": DELAY, "buffer": 1000.0, **link})
    return Scenario("one", links, (Flow("only", (1, 2, 3), source, 200.0, start, host=host),))


def plan_of(scenario: Scenario, steps_per_delay: int = 4) -> Any:
    plain = Fluid(
        steps_per_delay=steps_per_delay, store_and_forward=False
    )  # delays are those of the links
    random = np.random.default_rng(0)
    return compile_scenario(scenario, plain, random, duration=0.1)


class Listener(WindowRule):
    """A window of 64 packets that never changes, and the round-trip times that it heard of."""

    class State(NamedTuple):
        """Window in packets, shortest and longest RTT in s."""

        cwnd: float = 64.0
        ssthresh: float = math.inf
        shortest: float = math.inf
        longest: float = 0.0

    assigned: ClassVar[tuple[str, ...]] = ("shortest", "longest")

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(shortest=minimum(s.shortest, e.rtt), longest=maximum(s.longest, e.rtt))

    @staticmethod
    def on_loss(s, q, e):
        return s


@pytest.mark.parametrize("host", ["direct", "unshaped"])
@pytest.mark.parametrize("by", ["kernel", "reference"])
def test_a_rule_hears_the_round_trip_times_of_a_burst(by: str, host: str) -> None:
    """The first of 64 packets finds no queue; the last one waits for 63, to one step."""
    scenario = one_flow(Listener(), host)
    plan = plan_of(scenario, 16)
    ADVANCE[by](plan, 400, 40)
    shortest, longest = plan.network.flows["rule_state"][0, :2]
    base = scenario.base_rtt(scenario.flows[0])
    assert shortest == pytest.approx(base, rel=1e-9)
    assert longest == pytest.approx(base + 63 / RATE, abs=plan.step)


def test_naive_reference_agrees_for_a_rule_that_goes_by_the_delay() -> None:
    """Vegas fills two queues of FIFO and leaves slow start by what it hears."""
    flows = (
        Flow("one", (1, 2, 3), Vegas(), 300.0),
        Flow("two", (2, 3), Vegas(), 300.0, start=0.0103),
    )
    scenario = Scenario("vegas", chain(3, rate=RATE, delay=DELAY, buffer=1e4), flows)
    fast, slow = (advance(plan_of(scenario), 200, 20)[0] for advance in ADVANCE.values())
    assert fast[-1, :, 2].max() > 64.0
    np.testing.assert_allclose(fast, slow, rtol=1e-12)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.75])
def test_starts_within_a_step(part: float) -> None:
    """A constant rate has sent for exactly as long; the rest of a first window comes a step later."""
    h = DELAY / 4
    start = (2 + part) * h
    plan = plan_of(one_flow(CBR(5000.0), start=start))
    driver.advance(plan, 10, 1, compiled=False)
    # rounding of four amounts to the grid
    assert plan.network.flows["emitted"][0] == pytest.approx((10 * h - start) * 5000.0, abs=1e-6)
    emitted = []
    for steps in (2, 3, 4):
        plan = plan_of(one_flow(Listener(), start=start))
        driver.advance(plan, steps, 1, compiled=False)
        emitted.append(plan.network.flows["emitted"][0])
    assert emitted == pytest.approx([0.0, 64.0 * (1.0 - part), 64.0], abs=1e-6)


def test_on_and_off_times_within_a_step() -> None:
    h = DELAY / 4
    plan = plan_of(one_flow(OnOff(4000.0, 0.3 * h, 0.4 * h)))
    record = driver.advance(plan, 14, 7, compiled=False)[0]
    assert plan.network.flows["emitted"][0] == pytest.approx(14 * 4000.0 * h * 3 / 7, rel=1e-6)
    assert record.shape == (2, 1, 5)


WITH_DFC = [
    pytest.param(rule, DFC(), marks=[] if n < 4 else pytest.mark.slow, id=f"{rule!r}-dfc")
    for n, rule in enumerate(RULES)
]


@pytest.mark.parametrize(
    ("rule", "discipline"),
    [*(pytest.param(rule, FIFO(), id=f"{rule!r}-fifo") for rule in RULES), *WITH_DFC],
)
def test_every_rule_of_the_catalogue_is_a_source(rule: WindowRule, discipline: Any) -> None:
    """The balance is zero, all is finite, nothing negative, no link and no buffer exceeded.

    The text of the rules as plain Python: the kernels come from the same text.
    """
    scenario = one_flow(rule, "unshaped", rate=2000.0, buffer=10.0, discipline=discipline)
    cross = Flow("cross", (2, 3), CBR(500.0), start=0.01, host="unshaped")
    scenario = replace(scenario, flows=(*scenario.flows, cross), min_rto=0.05)
    run = plain_simulate(scenario, duration=0.25, sample=0.01, method=Fluid())
    assert run.imbalance.max() == 0.0
    for values in (run.window, run.queued, run.in_transit, run.lost, run.backlog):
        assert np.isfinite(values).all()
        assert values.min() >= 0.0
    assert run.window[0].max() > 4.0
    assert run.peak_queue.max() <= 10.0
    assert (run.carried.sum(axis=0) <= 2000.0 * 0.25 * (1 + 1e-12)).all()


def receiver(broken: float, packets: float) -> tuple[Any, Any, Any]:
    """Return flow, log and holes of a receiver to which ``packets`` were sent."""
    plan = plan_of(one_flow(Listener()))
    flow = plan.network.flows.view(np.recarray)[0]
    log, holes = (each.view(np.recarray) for each in plan.transport[2:4])
    flow.fractional_loss = broken
    assert tcp_sender.emit(flow, log, 0.0, packets)
    return flow, log, holes


def taken_in(pieces, broken: float) -> tuple[np.ndarray, float]:
    """Return which packets a receiver misses after (arrived, gone) pieces of new data, and its ACKs."""
    flow, log, holes = receiver(broken, sum(map(sum, pieces)))
    acks = [tcp_receiver.receive(flow, log, holes, *piece, 2.0**-26)[0] for piece in pieces]
    first = flow.holes_at
    return holes.missing[first : first + int(flow.rcv_max)], sum(acks)


@pytest.mark.parametrize("broken", [0.0, 0.6])
def test_packets_are_lost_whole(broken: float) -> None:
    """Where half is missing, every other packet, however the stream is cut; U stands at the first."""
    holes, acks = taken_in([(10.0, 0.0), (0.7, 0.7), (3.8, 3.8), (0.5, 0.5)], broken)
    assert set(holes) <= {0.0, 1.0}
    assert (holes[:10] == 0.0).all()
    assert (np.diff(np.flatnonzero(holes)) == 2).all()
    assert holes.sum() + acks == pytest.approx(20.0)
    assert abs(holes.sum() - 5.0) <= 1.0


def test_part_of_a_packet_is_lost_by_chance() -> None:
    """0.3 of one in twenty: in three of ten runs whose chances are spread evenly."""
    lost = [taken_in([(19.7, 0.3)], start)[0].sum() for start in np.arange(0.05, 1.0, 0.1)]
    assert sorted(lost) == [0.0] * 7 + [1.0] * 3


def test_a_packet_sent_again_fills_its_own_hole() -> None:
    """And U jumps over what was received to the next one."""
    flow, log, holes = receiver(0.0, 8.0)
    tcp_receiver.receive(flow, log, holes, 4.0, 4.0, 2.0**-26)
    assert flow.rcv_nxt == 1.0
    tcp_sender.emit(flow, log, 1.0, 2.0)  # the hole at 1, and 2, which is there
    assert tcp_receiver.receive(flow, log, holes, 2.0, 0.0, 2.0**-26) == (2.0, 1.0)
    assert flow.rcv_nxt == 3.0


@pytest.mark.parametrize("source", [NewReno(), TIMELY()])
def test_a_round_trip_through_an_interface_does_not_depend_on_the_buffer_of_its_link(
    source: Any,
) -> None:
    """What waits there has no bound: emissions are remembered for as long as windows last, or as memory does."""
    found = []
    for buffer in (200, 100_000):
        rule = PFC(xoff=20, xon=10)
        links = [Link("h", "s", 1e5, 1e-4, buffer, rule), Link("s", "d", 2e3, 1e-4, 200, rule)]
        flows = [Flow(str(n), ("h", "s", "d"), source, 5000.0) for n in range(2)]
        run = simulate(Scenario("host", links, flows, duration=2.0), Fluid(), sample=0.05)
        found.append(run.round_trip)
    np.testing.assert_array_equal(*found)
    assert np.nanmax(found[0]) > 0.9  # beyond what 400 packets take
