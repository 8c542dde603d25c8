"""Swift by its Algorithm 1, and where its flows come to rest: a round-trip time that is the target."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from dfcmodel import Flow, Link, Packets, Scenario, simulate
from responsefn import Delivery, Swift
from responsefn.responses.dynamics import Event

RULE = Swift(fs_range=0.0)
SEEN = Delivery(*[0.0] * 15)._replace(time=1.0, acked=1.0)
RATE = 10e9 / 12000.0


def with_window(window: float, **more: float):
    """Return a state with this window."""
    return RULE.State()._replace(cwnd=max(1.0, window), window=window, rtt=5e-5, **more)


@pytest.mark.parametrize(("window", "grown"), [(10.0, 10.1), (0.25, 1.25)])
def test_below_the_target_the_window_grows_by_a_packet_per_round_trip(
    window: float, grown: float
) -> None:
    """By ai / W per packet, where W is a packet or more; else by ai."""
    after = RULE.on_delivery(with_window(window), RULE.params, SEEN._replace(rtt=40e-6))
    assert after.window == pytest.approx(grown)


def test_above_it_the_window_falls_once_per_round_trip() -> None:
    late = SEEN._replace(rtt=100e-6)
    state = RULE.on_delivery(with_window(10.0), RULE.params, late)
    assert state.window == pytest.approx(10.0 * (1.0 - 0.8 * 0.5))
    again = RULE.on_delivery(state, RULE.params, late._replace(time=1.0 + 90e-6))
    assert again.window == state.window
    assert RULE.on_loss(again, RULE.params, Event(1.0 + 90e-6, 1e-4)) == again
    later = RULE.on_delivery(state, RULE.params, late._replace(time=1.0 + 100e-6, rtt=1e-4 / 4))
    assert later.window > state.window
    most = RULE.on_delivery(with_window(10.0), RULE.params, SEEN._replace(rtt=1e-2))
    assert most.window == 5.0


def test_less_than_a_packet_is_a_packet_in_several_round_trips() -> None:
    state = RULE.on_delivery(with_window(0.5), RULE.params, SEEN._replace(rtt=100e-6))
    assert (state.cwnd, state.window) == (1.0, pytest.approx(0.3))
    assert state.pacing_rate == pytest.approx(0.3 / 100e-6)


def test_the_third_timeout_leaves_the_least_window() -> None:
    state, windows = with_window(8.0), []
    for n in range(3):
        state = RULE.on_timeout(state, RULE.params, Event(float(n), 1e-4))
        windows.append(state.window)
    assert windows == [4.0, 2.0, RULE.min_cwnd]


def test_the_target_grows_as_the_window_shrinks() -> None:
    """t_0 + a / sqrt(W) - a / sqrt(W_max), within t_0 and t_0 + r."""
    rule = Swift(base_target=25e-6, fs_range=1e-4, fs_min_cwnd=0.25, fs_max_cwnd=16.0)
    slope = 1e-4 / (2.0 - 0.25)
    for window, more in ((0.01, 1e-4), (0.25, 1e-4), (4.0, slope * 0.25), (16.0, 0.0), (99.0, 0.0)):
        assert rule.target(window) == pytest.approx(25e-6 + more)


def star(rule: Swift, flows: int):
    """Return the run of flows over one link of 10 Gb/s and 20 us, after its beginning."""
    links = [Link("in", "out", RATE, 5e-6, 4000.0)]
    links += [Link(f"s{n}", "in", RATE, 5e-6, 4000.0) for n in range(flows)]
    senders = [
        Flow(f"{n}", (f"s{n}", "in", "out"), rule, max_window=1000.0, start=3e-7 * n)
        for n in range(flows)
    ]
    scenario = Scenario("Swift", tuple(links), tuple(senders), duration=0.05)
    run = simulate(scenario, method=Packets(seed=1), sample=2e-5)
    late = run.time > 0.03
    return np.ptp(run.delivered[:, late], axis=1), run.queued.max(axis=0)[late], run.lost.sum()


@pytest.mark.slow
@pytest.mark.parametrize("flows", [1, 2, 4])
def test_flows_come_to_rest_where_the_round_trip_is_the_target(flows: int) -> None:
    """d = target(C d / N): packets of a full link; 3 % for the sawtooth about it."""
    rule = Swift()
    got, queue, lost = star(rule, flows)
    expected = brentq(lambda d: d - rule.target(RATE * d / flows), 1e-6, 1e-2)
    rtt = 20e-6 + (queue.mean() + 2.0) / RATE
    assert rtt == pytest.approx(expected, rel=0.03)
    assert got.sum() == pytest.approx(0.02 * RATE, rel=1e-3)
    assert got.min() / got.max() > 0.9
    assert lost == 0


@pytest.mark.slow
def test_flow_scaling_makes_many_flows_fair() -> None:
    """64 flows over a path of 17 packets: without it some get next to nothing."""
    shares = []
    for fs_range in (100e-6, 0.0):
        got, _, lost = star(Swift(fs_range=fs_range), 64)
        shares.append(got.min() / got.max())
        assert lost == 0
    assert shares[0] > 0.8
    assert shares[1] < 0.1


@pytest.mark.parametrize(
    ("name", "value"), [("beta", 2.0), ("fs_max_cwnd", 0.05), ("ai", math.nan)]
)
def test_parameters_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{name} = "):
        Swift(**{name: value})
