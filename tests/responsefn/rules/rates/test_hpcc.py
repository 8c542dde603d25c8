"""HPCC by its Algorithm 1, and its fixed point in an incast."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import INT, Flow, Link, Packets, Scenario, simulate
from hopflow import mbps
from responsefn import HPCC, Feedback

RULE = HPCC(base_rtt=1e-5, additive=1.0, max_stage=2.0)
CAPACITY = 1e10  # bytes/s
SEEN = HPCC.telemetry_event()


def fed(state, now, rtt=1e-5, *links):
    """Return the state after an ACK with telemetry of links: interval (s), part of the capacity sent, bytes that wait."""
    for hop, (interval, part, queue) in enumerate(links):
        sent = part * CAPACITY * interval
        seen = SEEN(now, float(hop), interval, sent, queue, CAPACITY, 0.0, queue, CAPACITY)
        state = RULE.on_telemetry(state, RULE.params, seen)
    return RULE.on_feedback(state, RULE.params, Feedback(now, rtt, 1.0, 0.0))


def test_lines_of_the_algorithm() -> None:
    state = RULE.start(1e7)
    full = pytest.approx(100.0, rel=1e-12)  # rounding of 1e7 * 1e-5
    assert (state.window, state.reference) == (full, full)
    assert fed(state, 1e-3) == state  # without telemetry nothing happens
    # lines 4 to 10: the second link has the larger load, 0.5 + 3e4 / 1e5; its interval is half of T
    state = fed(state, 1e-3, 1e-5, (1e-5, 0.7, 0.0), (5e-6, 0.5, 3e4))
    assert state.load == pytest.approx(0.5 * 1.0 + 0.5 * 0.8)
    # line 18: below eta W = W_c + W_AI, here at most line_rate T; line 20: a step of the stage
    assert (state.window, state.stage, state.reference, state.updated) == (full, 1.0, full, 1e-3)
    # lines 13, 14: an ACK of a packet sent before the update moves W from W_c, which stays
    state = fed(state, 1.005e-3, 1e-5, (1e-5, 1.0, 9e4))
    assert state.load == pytest.approx(1.9)
    assert state.window == pytest.approx(100.0 * 0.95 / 1.9 + 1.0)
    assert (state.reference, state.stage, state.rate) == (full, 1.0, state.window / 1e-5)
    again = fed(state, 1.006e-3, 1e-5, (1e-5, 1.0, 9e4))
    assert again.window == state.window
    # line 25: one of a packet sent after it does
    state = fed(state, 1.02e-3, 1e-5, (1e-5, 1.0, 9e4))
    assert (state.reference, state.stage) == (state.window, 0.0)
    # line 13: after max_stage additive steps the load sets the window again
    windows = []
    for n in range(3):
        state = fed(state, 1.1e-3 + 1e-4 * n, 1e-5, (1e-5, 0.8, 0.0))
        windows.append(state.window)
    assert np.diff(windows)[0] == pytest.approx(1.0)
    assert windows[2] == pytest.approx(windows[1] * 0.95 / 0.8 + 1.0)


def test_an_incast_of_16_comes_to_the_target_load_with_equal_rates_and_without_a_queue() -> None:
    """Fixed point: W = W eta / U + W_AI, so U = eta / (1 - W_AI / W); U is the utilization where no queue is left."""
    rate, delay, n = mbps(100_000, packet_size=1000), 3.2e-6, 16
    base = 4.0 * delay + 2.0 * (1000.0 + 64.0) * 8.0 / 100e9
    links = [Link(f"h{k}", "s", rate, delay, 20_000) for k in range(n)]
    links.append(Link("s", "d", rate, delay, 20_000, INT()))
    flows = [Flow(str(k), (f"h{k}", "s", "d"), HPCC(base_rtt=base)) for k in range(n)]
    scenario = Scenario("incast", links, flows, duration=3e-3, packet_size=1000.0)
    run = simulate(scenario, Packets(seed=1), sample=1e-5)
    assert run.lost.sum() == 0.0
    queue = run.queued[scenario.senders.index("s")]
    # each starts with T at line rate, and sees the queue after another one: at most 15 * 2 T wait, and drain at 1
    assert queue.max() < 15.0 * 2.0 * base * rate
    late = slice(200, 300)
    assert queue[late].max() < 10.0
    window = 0.95 * rate * base / n
    predicted = 0.95 / (1.0 - 0.08 / window)
    sent = run.delivered[:, 299] - run.delivered[:, 199]
    # the load has the queue of up to two packets besides: 2 of the 162 packets of a round trip, 0.012
    assert sent.sum() / (rate * 1e-3) == pytest.approx(predicted, abs=0.012)
    assert sent.sum() ** 2 / (n * (sent**2).sum()) > 0.98  # Jain's index


@pytest.mark.parametrize(
    ("name", "value"), [("base_rtt", 0.0), ("eta", 1.0), ("max_stage", -1.0), ("additive", 0.0)]
)
def test_parameters_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        HPCC(**{name: value})


def test_it_has_no_response_function() -> None:
    with pytest.raises(ValueError, match="follows the telemetry of links"):
        HPCC().rate(0.01)
