"""Rules that see deliveries."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq

from dfcmodel import Flow, Link, Packets, Scenario, simulate
from responsefn import LEDBAT, Copa, Delivery, DeliveryRule, LEDBATpp, Prague, Swift
from tests.oracles.engines import ENGINES
from tests.responsefn.events import Event

# A rule of deliveries of one's own runs as it is; too many numbers are refused.


class Follow(DeliveryRule):
    """Ten packets more in flight than the path holds."""

    class State(NamedTuple):
        """Window, threshold, least round-trip time in s."""

        cwnd: float = 10.0
        ssthresh: float = math.inf
        least: float = math.inf

    class Params(NamedTuple):
        """Packets in the queue."""

        more: float = 10.0

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Follow the rate."""
        if e.interval == 0.0:
            return s
        rate = (e.delivered - e.prior_delivered) / e.interval
        least = min(s.least, e.rtt)
        return s._replace(cwnd=rate * least + q.more, least=least)


@pytest.mark.slow
def test_a_rule_of_ones_own_keeps_its_queue() -> None:
    link = Link("a", "b", 1000.0, 0.02, 100.0)
    scenario = Scenario("own", (link,), (Flow("f", ("a", "b"), Follow()),), duration=5.0)
    runs = [run(scenario, method=Packets(seed=1)) for run in ENGINES]
    np.testing.assert_array_equal(runs[0].window, runs[1].window)
    late = runs[0].time > 2.0
    assert runs[0].queued[0, late].mean() == pytest.approx(10.0, abs=2.0)
    assert np.ptp(runs[0].delivered[0, late]) == pytest.approx(3000.0, rel=0.02)


def test_too_many_numbers_are_refused() -> None:
    class Large(Follow):
        State = NamedTuple("State", [(name, float) for name in ("cwnd", "ssthresh", *(f"x{n}" for n in range(68)))])  # type: ignore[misc]

    link = Link("a", "b", 1000.0, 0.02, 100.0)
    Large.State.__new__.__defaults__ = (1.0,) * 70  # type: ignore[attr-defined]
    scenario = Scenario("own", (link,), (Flow("f", ("a", "b"), Large()),), duration=0.1)
    with pytest.raises(ValueError, match="fields of State of Large = 70"):
        simulate(scenario, method=Packets())


# Copa by its paper, Sect. 2.1 and 2.2: target rate, velocity, modes.

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
        flows = [Flow(f"f{n}", (f"s{n}", "in", "out"), rule, start=0.5 * n, max_window=1e4) for n in range(4)]
        run = simulate(Scenario("four", links, flows, duration=40.0), method=Packets(), sample=1e-3)
        mean.append(run.queued.max(axis=0)[run.time > 20.0].mean())
    assert mean[0] == pytest.approx(4 * 1.25 / 0.5, rel=0.1)
    assert mean[1] > 50.0 * mean[0]


def test_acks_vote_on_the_velocity_of_the_authors_code() -> None:
    """It doubles at each round trip with the direction of the one before; else it is 1 and the direction turns."""
    rule = RULE.replace(voted=1)

    def round_trip(s, start: float, rtt: float):
        for k in range(20):
            seen = SEEN._replace(time=start + 0.005 * k, rtt=rtt)
            s = rule.on_delivery(s, rule.params, seen)
        return s

    state, found = begun(2000.0), []
    state = state._replace(direction=1.0, votes=0.0, begun=1.2)
    for n, rtt in enumerate((0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2)):
        state = round_trip(state, 1.3 + 0.1 * n, rtt)
        found.append((state.velocity, state.direction))
    assert found[0] == (1.0, -1.0)  # no votes yet
    assert found[1] == (1.0, 1.0)
    assert found[2:4] == [(2.0, 1.0), (4.0, 1.0)]
    assert min(direction for _, direction in found[4:]) == -1.0


# LEDBAT by RFC 6817, 2.4.2: growth by the distance from the target.

RULE_LEDBAT = LEDBAT()
SEEN_LEDBAT = Delivery(*[0.0] * 15)._replace(time=1.0, acked=1.0, in_flight=100.0)


@pytest.mark.parametrize(("delay", "change"), [(0.0, 1.0), (0.05, 0.5), (0.1, 0.0), (0.2, -1.0)])
def test_the_window_moves_by_the_distance_from_the_target(delay: float, change: float) -> None:
    base = 0.04
    state = RULE_LEDBAT.State()._replace(cwnd=50.0, base=base, last=1.0, last_2=1.0, last_3=1.0)
    after = LEDBAT.on_delivery(state, RULE_LEDBAT.params, SEEN_LEDBAT._replace(rtt=base + delay))
    assert after.cwnd - 50.0 == pytest.approx(change / 50.0, abs=1e-12)


def test_the_base_is_forgotten_after_ten_minutes() -> None:
    state = RULE_LEDBAT.State()
    for minute in range(12):
        rtt = 0.01 if minute == 0 else 0.05
        seen = SEEN_LEDBAT._replace(time=60.0 * (minute + 1), rtt=rtt)
        state = LEDBAT.on_delivery(state, RULE_LEDBAT.params, seen)
    held = [getattr(state, name) for name in state._fields if name.startswith("base")]
    assert min(held) == 0.05


@pytest.mark.parametrize(("window", "after"), [(9.0, 4.5), (3.0, 2.0), (2.0, 2.0), (1.0, 1.0)])
def test_a_loss_halves_the_window_and_never_raises_it(window: float, after: float) -> None:
    """``cwnd = min(cwnd, max(cwnd/2, MIN_CWND * MSS))``; a timeout leaves one packet."""
    assert LEDBAT.on_loss(RULE_LEDBAT.State(cwnd=window), RULE_LEDBAT.params, None).cwnd == after


@pytest.mark.parametrize("target", [0.0, 0.2])
def test_the_target_is_at_most_100_ms(target: float) -> None:
    with pytest.raises(ValueError, match="target"):
        LEDBAT(target=target)


# Prague: its answer to marks and its growth at short round trips.

RULE_PRAGUE = Prague()
START = RULE_PRAGUE.State()._replace(cwnd=100.0, ssthresh=50.0, alpha=0.4, marked=1.0)
SEEN_PRAGUE = Delivery(*[0.0] * 15)._replace(time=1.0, rtt=0.05, acked=1.0, delivered=1.0)


@pytest.mark.parametrize(("rtt", "time"), [(0.05, 0.05), (0.005, 0.025)])
def test_a_mark_cuts_by_half_of_alpha_once_per_virtual_round_trip(rtt: float, time: float) -> None:
    """Of the round-trip time or 25 ms, the longer (prague_enter_cwr of tcp_prague.c)."""
    seen = SEEN_PRAGUE._replace(marks=1.0, rtt=rtt)
    state = Prague.on_delivery(START._replace(next=9.0), RULE_PRAGUE.params, seen)
    assert state.cwnd == pytest.approx(80.0)
    again = Prague.on_delivery(state, RULE_PRAGUE.params, seen._replace(time=1.0 + 0.9 * time))
    assert again.cwnd == pytest.approx(80.0)
    later = Prague.on_delivery(state, RULE_PRAGUE.params, seen._replace(time=1.0 + 1.1 * time))
    assert later.cwnd == pytest.approx(64.0)


@pytest.mark.parametrize(("rtt", "growth"), [(0.05, 1.0), (0.025, 1.0), (0.005, 0.04)])
def test_growth_is_that_of_the_virtual_round_trip(rtt: float, growth: float) -> None:
    state = Prague.on_delivery(START._replace(next=9.0), RULE_PRAGUE.params, SEEN_PRAGUE._replace(rtt=rtt))
    assert state.cwnd - 100.0 == pytest.approx(growth / 100.0)


def test_it_is_paced_at_a_window_per_round_trip() -> None:
    state = Prague.on_delivery(START._replace(next=9.0), RULE_PRAGUE.params, SEEN_PRAGUE)
    assert state.pacing_rate == pytest.approx(state.cwnd / 0.05)


# Swift by its Algorithm 1, and where its flows come to rest: a round-trip time that is the target.

RULE_SWIFT = Swift(fs_range=0.0)
SEEN_SWIFT = Delivery(*[0.0] * 15)._replace(time=1.0, acked=1.0)
RATE = 10e9 / 12000.0


def with_window(window: float, **more: float):
    """Return a state with this window."""
    return RULE_SWIFT.State()._replace(cwnd=max(1.0, window), window=window, rtt=5e-5, **more)


@pytest.mark.parametrize(("window", "grown"), [(10.0, 10.1), (0.25, 1.25)])
def test_below_the_target_the_window_grows_by_a_packet_per_round_trip(window: float, grown: float):
    """By ai / W per packet, where W is a packet or more; else by ai."""
    after = RULE_SWIFT.on_delivery(with_window(window), RULE_SWIFT.params, SEEN_SWIFT._replace(rtt=40e-6))
    assert after.window == pytest.approx(grown)


def test_above_it_the_window_falls_once_per_round_trip() -> None:
    late = SEEN_SWIFT._replace(rtt=100e-6)
    state = RULE_SWIFT.on_delivery(with_window(10.0), RULE_SWIFT.params, late)
    assert state.window == pytest.approx(10.0 * (1.0 - 0.8 * 0.5))
    again = RULE_SWIFT.on_delivery(state, RULE_SWIFT.params, late._replace(time=1.0 + 90e-6))
    assert again.window == state.window
    assert RULE_SWIFT.on_loss(again, RULE_SWIFT.params, Event(1.0 + 90e-6, 1e-4)) == again
    later = RULE_SWIFT.on_delivery(state, RULE_SWIFT.params, late._replace(time=1.0 + 100e-6, rtt=1e-4 / 4))
    assert later.window > state.window
    most = RULE_SWIFT.on_delivery(with_window(10.0), RULE_SWIFT.params, SEEN_SWIFT._replace(rtt=1e-2))
    assert most.window == 5.0


def test_less_than_a_packet_is_a_packet_in_several_round_trips() -> None:
    state = RULE_SWIFT.on_delivery(with_window(0.5), RULE_SWIFT.params, SEEN_SWIFT._replace(rtt=100e-6))
    assert (state.cwnd, state.window) == (1.0, pytest.approx(0.3))
    assert state.pacing_rate == pytest.approx(0.3 / 100e-6)


def test_the_third_timeout_leaves_the_least_window() -> None:
    state, windows = with_window(8.0), []
    for n in range(3):
        state = RULE_SWIFT.on_timeout(state, RULE_SWIFT.params, Event(float(n), 1e-4))
        windows.append(state.window)
    assert windows == [4.0, 2.0, RULE_SWIFT.min_cwnd]


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
    senders = [Flow(f"{n}", (f"s{n}", "in", "out"), rule, max_window=1000.0, start=3e-7 * n) for n in range(flows)]
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


# LEDBAT++ by its draft, 4.1 to 4.4: gain by the path, multiplicative decrease, slowdowns.

RULE_PP = LEDBATpp()
SEEN_PP = Delivery(*[0.0] * 15)._replace(time=1.0, acked=1.0, in_flight=1000.0)


def _pp(state, delay, base=0.04, **others):
    """The state after a delivery with this delay of the queue."""
    known = state._replace(base=base, last=base + delay, last_2=9.0, last_3=9.0)
    return LEDBATpp.on_delivery(known, RULE_PP.params, SEEN_PP._replace(rtt=base + delay, **others))


@pytest.mark.parametrize(("base", "divisor"), [(0.001, 16), (0.0075, 16), (0.02, 6), (0.05, 3), (0.2, 1)])
def test_ledbat_plus_plus_grows_by_the_gain_of_its_path(base, divisor):
    first = RULE_PP.State(20.0)
    assert _pp(first, 0.0, base).cwnd == pytest.approx(20.0 + 1 / divisor)
    steady = RULE_PP.State(20.0, phase=1.0)
    assert _pp(steady, 0.05, base).cwnd == pytest.approx(20.0 + 1 / divisor / 20.0)


@pytest.mark.parametrize("delay", [0.061, 0.09, 0.3])
def test_ledbat_plus_plus_shrinks_in_proportion(delay):
    steady = RULE_PP.State(20.0, phase=1.0)
    step = max(1 / 3 - 20.0 * (delay / 0.06 - 1.0), -10.0)
    assert _pp(steady, delay).cwnd == pytest.approx(20.0 + step / 20.0)


def test_the_first_slow_start_ends_at_three_quarters_of_the_target():
    assert _pp(RULE_PP.State(20.0), 0.0449).phase == 0.0
    after = _pp(RULE_PP.State(20.0), 0.0451)
    assert (after.phase, after.until) == (1.0, pytest.approx(1.0 + 2 * 0.0851))


def test_a_slowdown_lasts_two_round_trips_and_a_slow_start_and_comes_after_nine_times_its_duration():
    due = RULE_PP.State(20.0, phase=1.0, until=1.0)
    begun = _pp(due, 0.01)
    assert (begun.cwnd, begun.ssthresh, begun.phase) == (2.0, 20.0, 2.0)
    assert begun.until == pytest.approx(1.1)
    frozen = _pp(begun, 0.0, time=1.09)
    assert frozen.cwnd == 2.0
    ramp = _pp(frozen, 0.0, time=1.11)
    assert (ramp.phase, ramp.cwnd) == (3.0, pytest.approx(2.0 + 1 / 3))
    ended = _pp(ramp._replace(cwnd=19.9), 0.0, time=1.5)
    assert (ended.cwnd, ended.phase, ended.until) == (20.0, 1.0, pytest.approx(1.5 + 9 * 0.5))


def test_a_loss_halves_and_ends_a_slow_start():
    seen = SEEN_PP._replace(rtt=0.05)
    lost = LEDBATpp.on_loss(RULE_PP.State(21.0), RULE_PP.params, seen)
    assert (lost.cwnd, lost.phase, lost.until) == (10.5, 1.0, pytest.approx(1.1))
    ramp = LEDBATpp.on_loss(RULE_PP.State(21.0, phase=3.0, began=0.5), RULE_PP.params, seen)
    assert (ramp.phase, ramp.until) == (1.0, pytest.approx(1.0 + 9 * 0.5))
    timeout = LEDBATpp.on_timeout(RULE_PP.State(21.0), RULE_PP.params, seen)
    assert (timeout.cwnd, timeout.ssthresh, timeout.phase) == (1.0, 10.5, 3.0)


def test_of_two_that_come_one_after_the_other_both_have_half() -> None:
    """RFC 6817's LEDBAT leaves the latecomer most of the path; slowdowns show both the empty queue."""
    shares = []
    for rule in (LEDBAT(target=0.06), LEDBATpp()):
        links = [Link("a", "b", 1000.0, 0.02, 400), Link("b", "a", 1000.0, 0.02, 400)]
        flows = [Flow(name, ("a", "b"), rule, start=start) for name, start in (("first", 0.0), ("late", 20.0))]
        run = simulate(Scenario("two", links, flows, duration=120.0), Packets(seed=1), sample=0.5)
        sent = run.delivered[:, -1] - run.delivered[:, np.searchsorted(run.time, 60.0)]
        shares.append(float(sent[1] / sent.sum()))
    assert shares[0] > 0.8
    assert shares[1] == pytest.approx(0.5, abs=0.1)
