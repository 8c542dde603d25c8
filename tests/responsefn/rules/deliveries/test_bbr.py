"""BBR, its model, and its first version."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from responsefn import BBR, BBRv1, Delivery, curve, invert, simulate_rule
from responsefn.errors import RuleError
from tests.responsefn.rules.deliveries.draft_bbr import DraftBBR
from tests.responsefn.rules.deliveries.draft_bbr_v1 import DraftBBRv1
from tests.responsefn.rules.deliveries.random_deliveries import check_every_step

# BBR version 3 by its parts: states, bounds, and what it refuses.

RULE = BBR()
RATE, TRIP = 1000.0, 0.05


def acknowledged(state: BBR.State, rounds: int, rate: float = RATE, **changed: float) -> BBR.State:
    """Apply an acknowledgement per packet of a path that delivers ``rate`` with a fixed round-trip time."""
    flight = rate * TRIP
    for n in range(int(rounds * flight)):
        delivered = float(n + 1)
        seen = Delivery(
            n / rate, TRIP, 1.0, 0.0, 0.0, delivered, max(0.0, delivered - flight), TRIP, flight,
            flight, 0.0, 0.0, 0.0, 0.0, 0.3,
        )  # fmt: skip
        state = BBR.on_delivery(state, RULE.params, seen._replace(**changed))
    return state


def test_startup_ends_after_three_rounds_without_growth() -> None:
    """Sect. 5.3.1.2: a delivery rate that does not grow by 25 % in three rounds is the path's."""
    early = acknowledged(RULE.State(), 2)
    late = acknowledged(RULE.State(), 8)
    assert early.full_bw_reached == 0.0
    assert early.pacing_rate > 2.0 * RATE
    assert late.full_bw_reached == 1.0
    assert late.pacing_rate < 1.3 * RATE


def test_the_window_is_a_multiple_of_the_product() -> None:
    """Sect. 5.6.4.2: twice the bandwidth-delay product, 50 packets."""
    state = acknowledged(RULE.State(), 12)
    assert state.min_rtt == TRIP
    assert max(state.bw_now, state.bw_before) == pytest.approx(RATE, rel=1e-9)
    assert state.cwnd <= 2.25 * RATE * TRIP + 2.0


def test_losses_above_the_threshold_of_a_probe_bound_the_flight() -> None:
    """Sect. 5.5.10.2: 2 % of 100 packets in flight are 2; the third lost is too many."""
    state = RULE.State()._replace(
        mode=5.0, full_bw_reached=1.0, is_bw_probe_sample=1.0, bw_now=RATE, min_rtt=TRIP, cwnd=120.0
    )
    seen = Delivery(1.0, TRIP, 1.0, 1.0, 0.0, 500.0, 400.0, TRIP, 90.0, 100.0, 3.0, 100.0, 2.0, 0.0, 0.5)
    assert BBR.on_delivery(state, RULE.params, seen).inflight_longterm == math.inf
    after = BBR.on_delivery(state, RULE.params, seen._replace(lost_with=3.0))
    assert after.inflight_longterm == pytest.approx(99.0 + (0.02 * 99.0 - 2.0) / 0.98)
    assert after.mode == 2.0


def test_it_has_no_response_function() -> None:
    for ask in (
        lambda: RULE.rate(0.01, 0.1),
        lambda: RULE.mean_window(0.01, 0.1),
        lambda: RULE.cycle(0.01, 0.1),
        lambda: curve([RULE], [0.01], 0.1),
        lambda: invert(RULE, rate=100.0, rtt=0.1),
    ):
        with pytest.raises(ValueError, match="no response function"):
            ask()
    with pytest.raises(RuleError, match="deliveries"):
        simulate_rule(RULE, 0.01, 0.1)


@pytest.mark.parametrize("seed", range(4))
def test_every_state_changes_as_the_pseudocode_of_the_draft_says(seed: int) -> None:
    check_every_step(RULE, DraftBBR, 7, seed)


def test_a_new_connection_and_a_timeout_are_those_of_the_draft() -> None:
    """Sect. 5.2.1, BBROnInit: InitialCwnd, 2.77 of it per ms, no bounds; Sect. 5.6.4.4: a window of one packet."""
    unbounded = {"ssthresh", "bw_shortterm", "inflight_shortterm", "inflight_longterm", "min_rtt"}
    unbounded |= {"probe_rtt_min_delay", "probe_up_acked_per_inc"}
    first = RULE.State()._asdict()
    others = {"cwnd": 10.0, "pacing_rate": pytest.approx(2.77 * 10.0 / 1e-3), "limited_until": -1.0}
    assert first == {name: math.inf if name in unbounded else others.get(name, 0.0) for name in first}
    for prior, cwnd in ((5.0, 80.0), (90.0, 80.0)):
        state = RULE.State()._replace(cwnd=cwnd, prior_cwnd=prior)
        after = BBR.on_timeout(state, RULE.params, None)
        assert after == state._replace(cwnd=1.0, prior_cwnd=max(prior, cwnd), recovering=1.0)


# BBR version 1: what Linux adds, and what is refused.

RULE_BBR_V1 = BBRv1()
PROBING = RULE_BBR_V1.State()._replace(mode=2.0, cycle_index=0.0, filled_pipe=1.0)
"""The phase of 1.25 of the cycle, which goes on: no time has passed since it began."""
SEEN = Delivery(*[0.0] * 15)._replace(acked=1.0, rtt=0.03, in_flight=30.0, delivered=1e4)


def test_it_has_no_response_function_of_bbr_v1() -> None:
    with pytest.raises(ValueError, match="does not respond to loss"):
        RULE_BBR_V1.rate(0.01, 0.1)


def test_what_linux_adds_is_zero_unless_given() -> None:
    more = BBRv1(pacing_margin=0.01, probe_packets=2.0, aggregated=3.0)
    state = PROBING._replace(best=1000.0, min_rtt=0.02, cwnd=100.0)
    plain, added = (rule.on_delivery(state, rule.params, SEEN) for rule in (RULE_BBR_V1, more))
    assert (plain.pacing_rate, plain.cwnd) == (1250.0, 2 * 20.0 + 3.0)
    assert (added.pacing_rate, added.cwnd) == (0.99 * 1250.0, 2 * 20.0 + 3.0 + 2.0 + 3.0)
    later = state._replace(cycle_index=2.0)
    assert more.on_delivery(later, more.params, SEEN).cwnd == 2 * 20.0 + 3.0 + 3.0


@pytest.mark.parametrize("rule", [BBR(), RULE_BBR_V1], ids=repr)
def test_a_round_trip_begins_with_a_packet_whose_transmission_is_known(rule: Any) -> None:
    """Data that were lost at a timeout and arrive later have no sample: `interval` is 0, and all is delivered before."""
    state = rule.State()._replace(next_round_delivered=100.0, min_rtt=0.03)
    late = SEEN._replace(acked=5.0, delivered=105.0, prior_delivered=105.0)
    after = rule.on_delivery(state, rule.params, late)
    assert (after.round_count, after.round_start, after.next_round_delivered) == (0.0, 0.0, 100.0)
    after = rule.on_delivery(after, rule.params, late._replace(delivered=110.0, interval=0.03))
    assert (after.round_count, after.round_start, after.next_round_delivered) == (1.0, 1.0, 110.0)


@pytest.mark.parametrize("seed", range(4))
def test_acks_that_run_ahead_are_counted_as_in_tcp_bbr(seed: int) -> None:
    """bbr_update_ack_aggregation, written once more: two slots of five round trips, epochs that end with the lead."""
    draw, rule = random.Random(seed), BBRv1(extra_acked_rounds=10.0)
    state = rule.State()._replace(best=1000.0, cwnd=60.0)
    slots, index, rounds, start, acked, time = [0.0, 0.0], 0, 0, 0.0, 0, 0.0
    for _ in range(3000):
        time += draw.choice((0.0, 1e-3, 2e-3, 4e-3))
        count = draw.choice((1, 2, 2, 5))
        begins = draw.random() < 0.05
        rounds += begins
        if begins and rounds >= 5:
            rounds, index = 0, 1 - index
            slots[index] = 0.0
        expected = int(1000.0 * (time - start))
        if acked <= expected:
            acked, start, expected = 0, time, 0
        acked += count
        slots[index] = max(slots[index], min(acked - expected, 60))
        begun = state.next_round_delivered if begins else -1.0
        # shorter than the minimum RTT: a sample without a rate
        seen = SEEN._replace(time=time, acked=float(count), prior_delivered=begun, interval=1e-6)
        state = rule.on_delivery(state._replace(cwnd=60.0), rule.params, seen)
        assert (state.extra_acked_now, state.extra_acked_before) == (slots[index], slots[1 - index])
    assert max(slots) > 5.0


@pytest.mark.parametrize(("rate", "segment"), [(1000.0, 2.0), (4000.0, 3.0)])
def test_windows_are_even_with_three_segments_and_what_runs_ahead(rate: float, segment: float):
    """bbr_quantization_budget: whole products and leads, three segments, rounded up to an even number, then the probe's two."""
    rule = BBRv1(probe_packets=2.0, extra_acked_rounds=10.0, segments=1)
    state = PROBING._replace(
        cycle_index=2.0, best=rate, min_rtt=0.0203, cwnd=1e4, pacing_rate=rate, extra_acked_now=3.9, extra_acked_before=2.0,
    )  # fmt: skip

    def window(**changed: float) -> float:
        return float(rule.on_delivery(state._replace(**changed), rule.params, SEEN).cwnd)

    packets = math.ceil(2 * rate * 0.0203) + 3 + 3 * segment
    even = packets + packets % 2
    assert window() == even
    assert window(cycle_index=0.0) == even + 2.0
    assert window(extra_acked_now=1e4) <= even + 0.1 * rate  # of a tenth of a second
    most = 2.0 * math.ceil((packets - 3) / 2)
    for before in (most - 1.0, most):  # without what runs ahead while the pipe is being filled
        assert window(filled_pipe=0.0, cwnd=before) == most


@pytest.mark.parametrize(("tick", "stamp"), [(0.0, 9.0), (1e-6, 1.0)])
def test_the_same_round_trip_renews_the_least_one_unless_a_tick_is_given(tick: float, stamp: float):
    """tcp_bbr.c compares microseconds and asks for less; ns-3's TcpBbr takes the same."""
    rule = BBRv1(min_rtt_tick=tick)
    state = PROBING._replace(min_rtt=0.04, min_rtt_stamp=1.0, best=1000.0)
    same, lower = (rule.on_delivery(state, rule.params, SEEN._replace(time=9.0, rtt=rtt)) for rtt in (0.04, 0.039))
    assert same.min_rtt_stamp == stamp
    assert (lower.min_rtt, lower.min_rtt_stamp) == (0.039, 9.0)


@pytest.mark.parametrize("seed", range(4))
def test_every_state_changes_as_the_draft_and_linux_say(seed: int) -> None:
    check_every_step(RULE_BBR_V1, DraftBBRv1, 4, seed)


def test_a_new_connection_and_a_timeout_are_those_of_the_draft_of_bbr_v1() -> None:
    """Sect. 4.2.1: ten packets, 2/ln 2 of them per ms; Sect. 4.2.3.4: the window is saved, and one packet sent."""
    first = RULE_BBR_V1.State()._asdict()
    others = {"cwnd": 10.0, "pacing_rate": pytest.approx(2.0 / math.log(2.0) * 10.0 / 1e-3)}
    others |= {"ssthresh": math.inf, "min_rtt": math.inf, "limited_until": -1.0}
    assert first == {name: others.get(name, 0.0) for name in first}
    for recovering, prior, saved in ((0.0, 90.0, 80.0), (1.0, 90.0, 90.0), (1.0, 5.0, 80.0)):
        state = RULE_BBR_V1.State()._replace(cwnd=80.0, prior_cwnd=prior, recovering=recovering)
        after = BBRv1.on_timeout(state, RULE_BBR_V1.params, None)
        assert after == state._replace(cwnd=1.0, prior_cwnd=saved, recovering=1.0)
