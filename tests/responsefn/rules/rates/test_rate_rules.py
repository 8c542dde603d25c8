"""Rate rules: what a user writes, what is refused, HPCC, TIMELY and its patch, and TIMELY in an incast."""

from __future__ import annotations

import heapq
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import INT, Flow, Fluid, Link, Packets, Scenario, simulate
from hopflow import mbps
from responsefn import DCQCN, HPCC, TIMELY, Elapsed, Feedback, FixedRate, PatchedTIMELY, RateRule


class Halving(RateRule):
    class State(NamedTuple):
        rate: float = math.inf
        line_rate: float = 0.0
        marks: float = 0.0

    @staticmethod
    def on_feedback(s, q, e):
        return s._replace(rate=0.5 * s.rate, marks=s.marks + e.marks)


def test_a_sender_begins_at_line_rate_and_stays_there_without_feedback() -> None:
    rule = Halving()
    state = rule.start(line_rate=2e5)
    assert state == (2e5, 2e5, 0.0)
    assert rule.on_time(state, rule.params, Elapsed(1.0, 1e-6, 0.2)) == state


def test_feedback_tells_acks_and_marks_apart() -> None:
    rule = Halving()
    state = rule.on_feedback(rule.start(100.0), rule.params, Feedback(0.1, 0.05, 7.0, 2.5))
    assert (state.rate, state.marks) == (50.0, 2.5)


def test_a_rule_states_its_source_or_none() -> None:
    assert Halving().cite() == "Halving: no source stated"
    assert not Halving().uses_closed_form()
    assert "SIGCOMM 2015" in DCQCN().cite()


def test_a_constant_rate_is_at_most_that_of_the_line_and_follows_nothing() -> None:
    assert FixedRate().start(1e6).rate == 1e6
    assert FixedRate(sending_rate=2e6).start(1e6).rate == 1e6
    rule = FixedRate(sending_rate=2e5)
    state = rule.start(1e6)
    assert rule.on_feedback(state, rule.params, Feedback(0.1, 0.05, 7.0, 2.5)) == state
    assert rule.is_constant
    assert not DCQCN().is_constant


# HPCC by its Algorithm 1, and its fixed point in an incast.

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


# TIMELY and its patch by Zhu et al. 2016, Algorithms 1 and 2, and the fixed point of the patched one.

RATE = 10e9 / 12000.0
OLD, NEW = TIMELY(segment=1.0, alpha=1.0), PatchedTIMELY(segment=1.0, alpha=1.0)


def after(rule: Any, rtt: float, *, previous: float = 1e-4, apart: float = 1.0, **more: float):
    """Return the rate of 1e5 packets/s after a round-trip time that followed ``previous``."""
    state = rule.start(1e6)._replace(rate=1e5, previous=previous, updated=0.0, **more)
    return rule.on_feedback(state, rule.params, Feedback(apart, rtt, 1.0, 0.0)).rate


def test_the_rate_grows_below_t_low_and_falls_above_t_high() -> None:
    delta = OLD.delta
    for rule in (OLD, NEW):
        assert after(rule, 40e-6, previous=30e-6) == 1e5 + delta
        assert after(rule, 1e-3) == pytest.approx(1e5 * (1.0 - rule.beta * 0.5))


def test_between_the_thresholds_it_follows_the_gradient() -> None:
    delta = OLD.delta
    assert after(OLD, 90e-6) == 1e5 + delta
    assert after(OLD, 90e-6, falling=4.0) == 1e5 + 5.0 * delta
    assert after(OLD, 110e-6, falling=4.0) == pytest.approx(1e5 * (1.0 - 0.8 * 0.5))
    assert after(OLD, 110e-6, apart=5e-6) == pytest.approx(1e5 * (1.0 - 0.25 * 0.8 * 0.5))


@pytest.mark.parametrize(("gradient", "weight"), [(-0.3, 0.0), (-0.1, 0.3), (0.0, 0.5), (0.4, 1.0)])
def test_the_patch_goes_by_the_round_trip_time_itself(gradient: float, weight: float) -> None:
    rtt = 1e-4 + gradient * NEW.min_rtt
    expected = NEW.delta * (1.0 - weight) + 1e5 * (1.0 - NEW.beta * weight * (rtt - 5e-5) / 5e-5)
    assert after(NEW, rtt) == pytest.approx(expected)


def test_a_segment_gives_one_round_trip_time() -> None:
    rule = TIMELY(segment=4.0)
    state = rule.start(1e6)._replace(rate=1e5, previous=4e-5, updated=0.0)
    rates = []
    for n in range(8):
        state = rule.on_feedback(state, rule.params, Feedback(0.1 * n, 4e-5, 1.0, 0.0))
        rates.append(state.rate)
    assert np.flatnonzero(np.diff([1e5, *rates])).tolist() == [3, 7]


def star(rule: Any, flows: int) -> Scenario:
    """Return flows over one link of 10 Gb/s and 20 us, which start 2 ms after one another at its rate."""
    links = [Link("in", "out", RATE, 5e-6, 4000.0)]
    links += [Link(f"s{n}", "in", RATE, 5e-6, 4000.0) for n in range(flows)]
    senders = [Flow(f"{n}", (f"s{n}", "in", "out"), rule, start=2e-3 * n) for n in range(flows)]
    return Scenario("TIMELY", tuple(links), tuple(senders), duration=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("method", [Packets(seed=1), Fluid()], ids=["packets", "fluid"])
@pytest.mark.parametrize("flows", [2, 4])
def test_patched_flows_come_to_the_fixed_point(method: Any, flows: int) -> None:
    """Zhu et al. 2016, fixed point of patched TIMELY: equal rates, RTT = T_low (1 + N delta / (beta C)).

    A packet and a half for whole packets and for the transmission times that a round trip has.
    """
    rule = PatchedTIMELY()
    run = simulate(star(rule, flows), method=method, sample=1e-4)
    late = run.time > 0.2
    got = np.ptp(run.delivered[:, late], axis=1)
    rtt = rule.t_low * (1.0 + flows * rule.delta / (rule.beta * RATE))
    queue = (rtt - 20e-6) * RATE - 2.0
    assert got.sum() == pytest.approx(RATE * 0.1, rel=2e-3)
    assert got.min() / got.max() > 0.99
    assert run.queued.max(axis=0)[late].mean() == pytest.approx(queue, abs=1.5)


@pytest.mark.slow
def test_flows_without_the_patch_share_by_how_they_began() -> None:
    """Zhu et al. 2016, infinite fixed points: the queue never settles."""
    run = simulate(star(TIMELY(), 2), method=Packets(seed=1), sample=1e-4)
    late = run.time > 0.2
    got = np.ptp(run.delivered[:, late], axis=1)
    assert got.min() / got.max() < 0.5
    assert run.queued.max(axis=0)[late].std() > 5.0


# TIMELY in an incast beside the published pseudo-code, as events of senders and one queue.

LINK_RATE, END, BINS, DELAY = 10e9 / 12000.0, 20e-3, 4, 4e-6
"""Of the link in packets/s; duration, s; intervals; of the path without transmissions, s."""


def published(count: int, part: float) -> tuple[np.ndarray, float]:
    """Return the link's utilization over time and its largest queue in s, by Zhu et al. 2016, Algorithm 1.

    A segment's round-trip time is that of its last packet. Rates are bounded by those of the link and of a step.
    """
    q = TIMELY().params
    rates = [part * LINK_RATE] * count
    previous, change, seen, falling = ([0.0] * count for _ in range(4))
    events = [(1e-9 * f, f, f, -1.0) for f in range(count)]
    number, free, longest, sent = count, 0.0, 0.0, []
    while events[0][0] <= END:
        now, _, f, began = heapq.heappop(events)
        if began < 0.0:
            free = max(free, now + 1.0 / LINK_RATE) + 1.0 / LINK_RATE
            longest = max(longest, free - now)
            sent.append(free)
            heapq.heappush(events, (free + DELAY, number, f, now))
            heapq.heappush(events, (now + 1.0 / rates[f], number + 1, f, -1.0))
            number += 2
            continue
        seen[f] += 1.0
        if seen[f] < q.segment:
            continue
        seen[f] -= q.segment
        rtt, last, previous[f] = now - began, previous[f], now - began
        if last == 0.0:
            continue
        change[f] = (1.0 - q.alpha) * change[f] + q.alpha * (rtt - last)
        gradient = change[f] / q.min_rtt
        falling[f] = falling[f] + 1 if gradient <= 0.0 else 0
        if rtt > q.t_high:
            rates[f] *= 1.0 - q.beta * (1.0 - q.t_high / rtt)
        elif rtt >= q.t_low and gradient > 0.0:
            rates[f] *= 1.0 - q.beta * min(1.0, gradient)
        else:
            rates[f] += q.delta * (5.0 if rtt >= q.t_low and falling[f] >= 5 else 1.0)
        rates[f] = min(LINK_RATE, max(q.delta, rates[f]))
    served = np.histogram(sent, BINS, (0.0, END))[0]
    return served * BINS / (END * LINK_RATE), longest


@pytest.mark.parametrize(("count", "part"), [(2, 1.0), (10, 1.0), (10, 0.1)])
def test_the_collapse_from_the_lines_rate_is_that_of_the_published_algorithm(count, part) -> None:
    links = [Link(f"h{f}", "s", LINK_RATE, 1e-6, 1e5) for f in range(count)]
    links.append(Link("s", "d", LINK_RATE, 1e-6, 1e5))
    rule = TIMELY(start_part=part)
    flows = [Flow(str(f), (f"h{f}", "s", "d"), rule, host="nic") for f in range(count)]
    run = simulate(Scenario("incast", links, flows, END), Packets(seed=1), sample=END / BINS)
    used = np.diff(run.delivered.sum(axis=0), prepend=0.0) * BINS / (END * LINK_RATE)
    wanted, longest = published(count, part)
    assert used.mean() == pytest.approx(wanted.mean(), abs=0.04)
    if part == 1.0:
        np.testing.assert_allclose(used, wanted, atol=0.03)
        assert run.peak_queue.max() / LINK_RATE == pytest.approx(longest, rel=0.05)
        assert used[1:].max() < 0.2
    else:
        assert used.min() > 0.8


def test_a_class_that_derives_from_a_constant_rate_is_none_where_it_changes_a_function() -> None:
    class Falling(FixedRate):
        @staticmethod
        def on_time(s, q, e):
            return s._replace(rate=s.rate * 0.5**e.step)

    assert FixedRate.is_constant
    assert not Falling.is_constant
    assert Falling(100.0).expected() is None
    assert FixedRate(100.0).expected() == FixedRate(100.0)
