"""Senders of the fluid: starts, what rules are told, every rule as a source, and what is left at the end."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import dfcmodel as dfc
from hopflow import maximum, minimum
from responsefn import TIMELY, NewReno, Vegas, WindowRule, catalogue
from tests.oracles.engines import advance, compile_scenario, plain_simulate
from tests.oracles.fluid import runs as reference

# Sender tables: starts and on/off times within a step, every rule as a source; receivers.


RATE, DELAY = 1e4, 5e-3


RULES = [entry for entry in catalogue("rule").entries if isinstance(entry, WindowRule)]


ADVANCE = {  # the kernel as plain Python: no compilation for a few hundred steps
    "kernel": partial(advance, compiled=False),
    "reference": reference.advance,
}


def one_flow(source: Any, host: str = "direct", start: float = 0.0, **link: Any) -> dfc.Scenario:
    """Return a flow over two links."""
    links = dfc.chain(3, **{"rate": RATE, "delay": DELAY, "buffer": 1000.0, **link})
    return dfc.Scenario("one", links, (dfc.Flow("only", (1, 2, 3), source, 200.0, start, host=host),))


def plan_of(scenario: dfc.Scenario, steps_per_delay: int = 4) -> Any:
    plain = dfc.Fluid(steps_per_delay=steps_per_delay, store_and_forward=False)  # delays are those of the links
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
        dfc.Flow("one", (1, 2, 3), Vegas(), 300.0),
        dfc.Flow("two", (2, 3), Vegas(), 300.0, start=0.0103),
    )
    scenario = dfc.Scenario("vegas", dfc.chain(3, rate=RATE, delay=DELAY, buffer=1e4), flows)
    fast, slow = (run(plan_of(scenario), 200, 20)[0] for run in ADVANCE.values())
    assert fast[-1, :, 2].max() > 64.0
    np.testing.assert_allclose(fast, slow, rtol=1e-12)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.75])
def test_starts_within_a_step(part: float) -> None:
    """A constant rate has sent for exactly as long; the rest of a first window comes a step later."""
    h = DELAY / 4
    start = (2 + part) * h
    plan = plan_of(one_flow(dfc.CBR(5000.0), start=start))
    advance(plan, 10, 1, compiled=False)
    # rounding of four amounts to the grid
    assert plan.network.flows["emitted"][0] == pytest.approx((10 * h - start) * 5000.0, abs=1e-6)
    emitted = []
    for steps in (2, 3, 4):
        plan = plan_of(one_flow(Listener(), start=start))
        advance(plan, steps, 1, compiled=False)
        emitted.append(plan.network.flows["emitted"][0])
    assert emitted == pytest.approx([0.0, 64.0 * (1.0 - part), 64.0], abs=1e-6)


def test_on_and_off_times_within_a_step() -> None:
    h = DELAY / 4
    plan = plan_of(one_flow(dfc.OnOff(4000.0, 0.3 * h, 0.4 * h)))
    record = advance(plan, 14, 7, compiled=False)[0]
    assert plan.network.flows["emitted"][0] == pytest.approx(14 * 4000.0 * h * 3 / 7, rel=1e-6)
    assert record.shape == (2, 1, 6)


WITH_DFC = [
    pytest.param(rule, dfc.DFC(), marks=[] if n < 4 else pytest.mark.slow, id=f"{rule!r}-dfc")
    for n, rule in enumerate(RULES)
]


@pytest.mark.parametrize(
    ("rule", "discipline"),
    [*(pytest.param(rule, dfc.FIFO(), id=f"{rule!r}-fifo") for rule in RULES), *WITH_DFC],
)
def test_every_rule_of_the_catalogue_is_a_source(rule: WindowRule, discipline: Any) -> None:
    """The balance is zero, all is finite, nothing negative, no link and no buffer exceeded.

    The text of the rules as plain Python: the kernels come from the same text.
    """
    scenario = one_flow(rule, "unshaped", rate=2000.0, buffer=10.0, discipline=discipline)
    cross = dfc.Flow("cross", (2, 3), dfc.CBR(500.0), start=0.01, host="unshaped")
    scenario = replace(scenario, flows=(*scenario.flows, cross), min_rto=0.05)
    run = plain_simulate(scenario, duration=0.15, sample=0.01, method=dfc.Fluid())
    assert run.imbalance.max() == 0.0
    for values in (run.window, run.queued, run.in_transit, run.lost, run.backlog):
        assert np.isfinite(values).all()
        assert values.min() >= 0.0
    assert run.window[0].max() > 4.0
    assert run.peak_queue.max() <= 10.0
    assert (run.carried.sum(axis=0) <= 2000.0 * 0.15 * (1 + 1e-12)).all()


@pytest.mark.parametrize("source", [NewReno(), TIMELY()])
def test_a_round_trip_through_an_interface_does_not_depend_on_the_buffer_of_its_link(
    source: Any,
) -> None:
    """What waits there has no bound: emissions are remembered for as long as windows last, or as memory does."""
    found = []
    for buffer in (200, 100_000):
        rule = dfc.PFC(xoff=20, xon=10)
        links = [
            dfc.Link("h", "s", 1e5, 1e-4, buffer, rule),
            dfc.Link("s", "d", 2e3, 1e-4, 200, rule),
        ]
        flows = [dfc.Flow(str(n), ("h", "s", "d"), source, 5000.0) for n in range(2)]
        run = dfc.simulate(dfc.Scenario("host", links, flows, duration=2.0), dfc.Fluid(), sample=0.05)
        found.append(run.round_trip)
    np.testing.assert_array_equal(*found)
    assert np.nanmax(found[0]) > 0.9  # beyond what 400 packets take


# What is left at the end of a fluid run adds up.


@pytest.mark.parametrize("discipline", [dfc.RED(low=5, high=15), dfc.Priority(), dfc.PFC(xoff=30, xon=20)], ids=str)
def test_drops_by_cause_add_up_to_the_losses(discipline) -> None:
    links = dfc.chain(3, rate=1e3, delay=1e-3, buffer=90, discipline=discipline)
    flows = [
        dfc.Flow("a", (1, 2, 3), dfc.CBR(1.5e3)),
        dfc.Flow("b", (2, 3), dfc.CBR(800.0), priority=1),
    ]
    run = dfc.simulate(dfc.Scenario("two", links, flows, duration=1.0), level="fluid")
    assert run.lost.sum() > 0.0
    for f in range(2):
        for n, link in enumerate(run.scenario.links[:2]):
            own = run.dropped[(run.dropped["flow"] == f) & (run.dropped["link"] == n)]
            assert own["packets"].sum() == run.lost[f, n].sum(), link.name
    assert run.dropped["first"].min() == pytest.approx(np.nanmin(run.first_loss), abs=1e-12)


def test_packets_inside_are_those_sent_and_neither_lost_nor_delivered() -> None:
    """Of a constant rate over an empty path: what its delays hold; of a window also ACKs, a window in all."""
    links = dfc.chain(3, rate=1e4, delay=1e-2, buffer=200)
    rate = dfc.Flow("rate", (1, 2, 3), dfc.CBR(1e3))
    window = dfc.Flow("window", (1, 2, 3), NewReno(), max_window=8.0)
    run = dfc.simulate(dfc.Scenario("two", links, [rate, window], duration=1.0), dfc.Fluid(steps_per_delay=16))
    assert run.inside[0] == pytest.approx(1e3 * 2e-2, abs=1.0)  # with half of a packet per link
    assert run.emitted[0] == pytest.approx(1e3, abs=1.0)
    assert run.inside[1] == pytest.approx(8.0, abs=1.0)  # within a step: 16 make a delay


def test_what_waits_without_pauses_is_not_recorded() -> None:
    links = [dfc.Link(1, 2, 1e3, 1e-3, 50)]
    run = dfc.simulate(
        dfc.Scenario("one", links, [dfc.Flow("a", (1, 2), dfc.CBR(2e3))], duration=0.5),
        level="fluid",
    )
    assert run.queued[0, -1] > 40.0
    assert len(run.remaining) == 0
