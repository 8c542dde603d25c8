"""Copa by its paper, Sect. 2.1 and 2.2: target rate, velocity, modes."""

from __future__ import annotations

import itertools

import pytest

from dfcmodel import Flow, Link, Packets, Scenario, simulate
from responsefn import Copa, Delivery

RULE = Copa(delta=0.5)
SEEN = Delivery(*[0.0] * 15)._replace(acked=1.0)


def after(state, time: float, rtt: float, **more: float):
    """Return the state after one ACK."""
    return RULE.on_delivery(state, RULE.params, SEEN._replace(time=time, rtt=rtt, **more))


def begun(cwnd: float = 50.0, *, base: float = 0.1, rtt: float = 0.1):
    """Return a state out of slow start that knows the path, and sees one round-trip time for a second."""
    state = after(RULE.State(), 0.0, base)._replace(slow=0.0)
    for n in range(40):
        state = after(state._replace(cwnd=cwnd, same=0.0, velocity=1.0), 0.2 + n / 40.0, rtt)
    return state._replace(cwnd=cwnd, begun_cwnd=cwnd)


@pytest.mark.parametrize("queued", [1.9, 2.1])
def test_the_window_moves_towards_a_queue_of_one_over_delta(queued: float) -> None:
    """W / RTT_standing <= 1 / (delta d): of a window of 50 packets d is 2 packets' time at delta = 1/2."""
    rtt = 0.1 / (1.0 - queued / 50.0)
    state = begun(rtt=rtt)._replace(packets=2.0, high_4=0.0)
    moved = after(state, 1.21, rtt).cwnd - 50.0
    assert moved == pytest.approx((1.0 if queued < 2.0 else -1.0) * 2.0 / 50.0, abs=1e-12)
    assert after(state, 1.21, rtt).pacing_rate == pytest.approx(2.0 * (50.0 + moved) / rtt)


def test_slow_start_doubles_until_the_rate_exceeds_the_target() -> None:
    state = after(RULE.State(cwnd=10.0), 0.0, 0.1)
    assert (state.cwnd, state.slow) == (11.0, 1.0)
    for n in range(12):
        state = after(state, 0.05 + 0.02 * n, 0.2)
    assert state.slow == 0.0
    assert state.cwnd < 17.0


def test_the_velocity_doubles_after_three_round_trips_one_way() -> None:
    """Each change over a round trip is v / delta packets; it is 1 again when the direction changes."""
    state, velocities = begun(200.0), []
    for n in range(7):
        for k in range(20):
            state = after(state, 1.3 + 0.1 * n + 0.005 * k, 0.1)
        velocities.append(state.velocity)
    grown = [v for v in velocities if v > 1.0]
    assert grown == [2.0**k for k in range(1, len(grown) + 1)]
    assert len(grown) >= 3
    for k in range(50):
        state = after(state, 2.0 + 0.01 * k, 0.2)
    assert state.velocity == 1.0


def test_a_queue_that_is_never_empty_makes_it_compete() -> None:
    """1/delta grows by a packet per round trip, halves with a loss, and is 2 again once the queue was empty."""
    state, found = begun(), []
    for n in range(120):
        rtt = 0.15 + 0.0005 * (n % 20)
        state = after(state, 1.3 + 0.02 * n, rtt)
        found.append(state.packets)
    assert max(found) > 6.0
    steps = [b - a for a, b in itertools.pairwise(found) if b != a]
    assert set(steps) == {1.0}
    lost = after(state, 4.0, 0.15, lost=1.0)
    lost = after(lost, 4.3, 0.15)
    assert lost.packets == 0.5 * (state.packets + 1.0)  # one more until the loss
    for n in range(30):
        lost = after(lost, 4.4 + 0.02 * n, 0.1)
    assert lost.packets == 2.0


@pytest.mark.slow
def test_four_flows_take_each_other_for_one_that_fills_the_queue() -> None:
    """Each keeps half of 2.5/delta packets on average where it cannot take them for it; known limits say what else."""
    links = [Link("in", "out", 2000.0, 0.02, 2000.0)]
    links += [Link(f"s{n}", "in", 1e5, 1e-4, 1e5) for n in range(4)]
    mean = []
    for rule in (Copa(competitive=0), Copa()):
        flows = [
            Flow(f"f{n}", (f"s{n}", "in", "out"), rule, start=0.5 * n, max_window=1e4)
            for n in range(4)
        ]
        run = simulate(Scenario("four", links, flows, duration=40.0), method=Packets(), sample=1e-3)
        mean.append(run.queued.max(axis=0)[run.time > 20.0].mean())
    assert mean[0] == pytest.approx(4 * 1.25 / 0.5, rel=0.1)
    assert mean[1] > 50.0 * mean[0]


@pytest.mark.parametrize(("name", "value"), [("delta", 0.0), ("competitive", 2)])
def test_parameters_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{name} = "):
        Copa(**{name: value})
