"""`simulate` and its methods, and how answers depend on the step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    DFC,
    Flow,
    Fluid,
    Packets,
    Scenario,
    chain,
    check_step,
    simulate,
    takano2006,
)
from hopflow import mbps
from responsefn import NewReno, WindowRule

# Whole runs: conservation, shares, scaling, seeds, and input that `simulate` refuses.


@pytest.mark.parametrize(
    ("arguments", "part"),
    [({"duration": 0.0}, "duration"), ({"sample": 1e-9}, "sample"),
     ({"jitter": -1e-6}, "jitter"), ({"level": "fluids"}, "level")],
)  # fmt: skip
def test_simulate(arguments, part) -> None:
    with pytest.raises(ValueError, match=part):
        simulate(takano2006("1"), **arguments)


@pytest.mark.parametrize("method", [Fluid(), Packets()], ids=["fluid", "packets"])
@pytest.mark.parametrize("sample", [0.06, 0.03, 0.007])
def test_a_run_ends_when_asked_whatever_its_samples(method, sample: float) -> None:
    """The last sample is shorter (fluid), or all are a little (packets); the sources stop with the run."""
    run = simulate(takano2006("1"), method, duration=0.1, sample=sample)
    assert run.time[-1] == pytest.approx(0.1, rel=1e-9)
    assert np.diff(run.time, prepend=0.0).max() <= sample * (1 + 1e-9)
    fine = simulate(takano2006("1"), method, duration=0.1, sample=1e-3)
    np.testing.assert_allclose(run.delivered[:, -1], fine.delivered[:, -1], rtol=1e-12)


def test_beyond_the_stability_limit() -> None:
    """(2 - alpha) / (alpha (5 alpha - 4)): 1 for alpha = 1."""
    beyond = with_law(DFC(diffusion=1.01))
    with pytest.warns(UserWarning, match=r"diffusion of link 1->2 = 1\.01: beyond 1, its stab"):
        simulate(beyond, duration=0.01, level="fluid")
    simulate(with_law(DFC(diffusion=1.0)), duration=0.01, level="fluid")


def with_law(law: DFC) -> Scenario:
    base = takano2006("1")
    return replace(base, links=[replace(link, discipline=law) for link in base.links])


CASES = [
    ({"tcp": "newreno"}, 0.3),
    ({"tcp": "tahoe", "host": "unshaped"}, 0.2),
    ({"tcp": "reno", "host": "direct"}, 0.25),
    ({"tcp": "newreno", "dfc": False}, 0.3),
    ({"tcp": "tahoe", "dfc": False}, 0.3),
    ({"tcp": "reno", "dfc": False, "host": "unshaped"}, 0.25),
]


@pytest.mark.parametrize(("setting", "duration"), CASES)
@pytest.mark.parametrize("name", ["1", "4"])
def test_every_packet_is_accounted_for(name, setting, duration) -> None:
    run = simulate(takano2006(name, **setting), duration=duration, level="fluid")
    assert run.imbalance.max() <= 1e-12
    assert run.status.ok
    assert (run.queued >= 0).all()
    assert (run.in_transit >= 0).all()
    assert run.peak_queue.max() <= 1800
    # a queue's packets in transit are rounded to a quantum, 2^-26 of some 3,000
    assert (run.efficiency.values <= 1 + 1e-11).all()


@pytest.mark.parametrize("name", ["1", "2", "3", "4", "5", "4S", "4L"])
def test_dfc_with_shaped_hosts_shares_equally_and_loses_nothing(name) -> None:
    """Both flows get half the link; queues peak near B d packets, at most twice that."""
    scenario = takano2006(name, tcp="newreno")
    run = simulate(scenario, duration=0.6, level="fluid")
    np.testing.assert_allclose(run.mean_efficiency(0.4), 0.5, atol=1e-3)
    assert run.lost.sum() == 0
    assert run.peak_queue.max() <= 2 * scenario.links[0].capacity


def test_fifo_bottleneck_without_losses_is_filled() -> None:
    """One window-limited flow on an empty chain: rate = min(window / RTT, link rate)."""
    rate, delay = mbps(370), 1e-4
    for window in (50.0, 400.0):
        flow = Flow("only", range(1, 31), NewReno(), window)
        links = chain(30, rate=rate, delay=delay, buffer=1800)
        scenario = Scenario("test", links, (flow,))
        # with store-and-forward 0.29 s are 43 round trips and a part of one burst: 1e-3
        for fluid, packet, error in (
            (Fluid(store_and_forward=False), 0.0, 1e-6),
            (Fluid(), 0.5, 1e-3),
        ):
            run = simulate(scenario, duration=0.6, method=fluid)
            expected = min(1.0, window / (2 * 29 * (delay * rate + packet)))
            fifty_rtts = run.mean_efficiency(since=0.31, until=0.6)  # the window leaves in bursts
            assert fifty_rtts[0] == pytest.approx(expected, rel=error)
            assert run.lost.sum() == 0


def test_overshoot_losses_of_slow_start() -> None:
    """2049 packets at node 1 in ns-2 and in the limit of small steps, for scenarios 4 to 6."""
    run = simulate(takano2006("4", dfc=False), duration=0.09, method=Fluid(16))
    assert run.lost[0, 0].sum() == pytest.approx(2049, rel=0.01)


def test_time_and_packet_scaling() -> None:
    """Twice the speed, twice the delay^-1: same packets at half the time, to the last bit."""
    base = takano2006("1", tcp="newreno")
    fast = replace(
        base,
        links=[replace(link, rate=2 * link.rate, delay=link.delay / 2) for link in base.links],
        flows=tuple(replace(flow, start=flow.start / 2) for flow in base.flows),
        min_rto=base.min_rto / 2,
    )
    one = simulate(base, duration=0.3, sample=1e-3, level="fluid")
    two = simulate(fast, duration=0.15, sample=5e-4, level="fluid")
    np.testing.assert_array_equal(one.queued, two.queued)
    np.testing.assert_array_equal(one.delivered, two.delivered)


def test_seed_decides_the_phases_and_nothing_else() -> None:
    scenario = takano2006("1")
    first, again, other = (simulate(scenario, duration=0.2, seed=seed, level="fluid") for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.queued, again.queued)
    assert not np.array_equal(first.queued, other.queued)
    law = DFC(phases="synchronous")
    synchronous = replace(scenario, links=[replace(link, discipline=law) for link in scenario.links])
    a, b = (simulate(synchronous, duration=0.2, seed=seed, level="fluid") for seed in (1, 2))
    np.testing.assert_array_equal(a.queued, b.queued)


class Gentle(WindowRule):
    """A user's rule: one packet more per window, a tenth less at a loss."""

    recovery = "newreno"

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + 1.0 / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=0.9 * s.cwnd)

    @staticmethod
    def on_timeout(s, q, e):
        return s._replace(cwnd=1.0)


def test_a_rule_that_a_user_writes_is_simulated() -> None:
    """Congestion avoidance from the start: w dw = d(acks), and w ACKs come per round trip."""
    flow = Flow("only", (1, 2, 3), Gentle(), 1000.0)
    scenario = Scenario("test", chain(3, rate=1e5, delay=1e-3, buffer=1000), (flow,))
    run = simulate(scenario, duration=0.4, method=Fluid(8))
    window = 1.0
    for _ in range(round(0.4 / 4e-3)):
        window = (window**2 + 2 * window) ** 0.5
    assert run.window[0, -1] == pytest.approx(window, rel=5e-3)  # ACKs are whole packets


def test_times_may_be_texts() -> None:
    run = simulate(takano2006("1"), duration="20ms", sample="2ms", jitter="10us", level="fluid")
    assert run.time[-1] == pytest.approx(0.02)
    assert len(run.time) == 10
    with pytest.raises(ValueError, match=r"^duration = 'long': must be a number and a unit"):
        simulate(takano2006("1"), duration="long", level="fluid")


# Methods of `simulate`: the fluid's parameters.


def test_the_method_sets_the_step() -> None:
    run = simulate(takano2006("1"), method=Fluid(steps_per_delay=2), duration=0.01)
    assert run.step == pytest.approx(0.05e-3)


# How answers depend on the step and on a small disturbance.


def test_first_loss_in_a_fifo_network_does_not_depend_on_the_step() -> None:
    """The moment when the buffer is full is found inside the step."""
    times = [
        simulate(
            takano2006("4", dfc=False, tcp="newreno"),
            Fluid(steps_per_delay=m, store_and_forward=False),
            duration=0.08,
        ).first_loss[0]
        for m in (2, 4, 16)
    ]
    assert np.ptp(times) < 1e-8


def test_first_loss_with_transmission_times_is_ns2s() -> None:
    """ns-2: 0.07178 s. Round trips are rounded by half a step at most, and there are 12 before."""
    times = [simulate(takano2006("4", dfc=False), duration=0.08, method=Fluid(m)).first_loss[0] for m in (4, 16, 64)]
    assert abs(times[0] - times[2]) < 12 * 0.5 * 25e-6
    np.testing.assert_allclose(times, 0.07178, rtol=0.007)


def test_first_loss_and_peak_queue_with_dfc_are_right_to_a_part_of_the_step() -> None:
    """Feedback clocks are rounded to steps: what follows errs by a tenth of one."""
    law = DFC(diffusion=0.05, phases="synchronous")
    flows = [
        Flow("one", range(1, 7), CBR(900.0), host="unshaped"),
        Flow("two", (3, 4, 5, 6), CBR(700.0), start=0.0311, host="unshaped"),
    ]
    links = chain(6, rate=1000.0, delay=2e-3, buffer=10.0, discipline=law)
    scenario = Scenario("cbr", links, flows, duration=0.2)
    wide = replace(scenario, links=[replace(link, buffer=1e3) for link in links])
    steps = np.array([2, 4, 8, 16, 64])
    first = np.array([simulate(scenario, method=Fluid(m)).first_loss[0] for m in steps])
    peak = np.array([simulate(wide, method=Fluid(m)).peak_queue.max() for m in steps])
    h = 2e-3 / steps[:-1]
    assert (np.abs(first[:-1] - first[-1]) < 0.1 * h).all()
    assert (np.abs(peak[:-1] - peak[-1]) < 0.1 * h * 1600.0).all()  # 1600 packets/s come in


def test_a_run_that_chance_decides_says_so() -> None:
    tahoe = check_step(takano2006("1", dfc=False))
    assert tahoe.chaotic
    assert "ensemble" in repr(tahoe)
    settled = check_step(takano2006("1"), duration=0.3)
    assert not settled.chaotic
    assert settled.status.ok
    assert settled.efficiency_error.max() < 1e-3
    assert settled.plot().get_ylabel() == "efficiency"
