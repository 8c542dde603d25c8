"""BBR of the IETF draft (version 3): a model of the path from deliveries and losses."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import extends, param
from hopflow.tcp_constants import INITIAL_WINDOW
from responsefn.response import Reference
from responsefn.rules.deliveries.delivery_rule import DeliveryRule

__all__ = [
    "BBR",
    "BBRState",
    "aggregation",
    "congestion_signals",
    "control",
    "full_pipe",
    "has_ended",
    "hold_probe_rtt",
    "note_losses",
    "probing_cycle",
    "round_trip_time",
    "window_to_restore",
]


class BBRState(NamedTuple):
    """Window in packets, pacing in packets/s, and the variables of both versions.

    The variables have the drafts' names. Times are in s.
    """

    cwnd: float = INITIAL_WINDOW
    ssthresh: float = math.inf
    pacing_rate: float = 0.0
    mode: float = 0.0
    min_rtt: float = math.inf
    min_rtt_stamp: float = 0.0
    probe_rtt_done_stamp: float = 0.0
    probe_rtt_round_done: float = 0.0
    prior_cwnd: float = 0.0
    next_round_delivered: float = 0.0
    round_count: float = 0.0
    round_start: float = 0.0
    full_bw: float = 0.0
    full_bw_count: float = 0.0
    cycle_stamp: float = 0.0
    limited_until: float = -1.0
    recovering: float = 0.0
    extra_acked_start: float = 0.0
    extra_acked_delivered: float = 0.0
    extra_acked_now: float = 0.0
    extra_acked_before: float = 0.0


def window_to_restore(s: Any) -> Any:
    """Return the window after ProbeRTT for a flow that enters it (BBRSaveCwnd), packets."""
    return s.cwnd if s.recovering == 0.0 else max(s.prior_cwnd, s.cwnd)


def hold_probe_rtt(s: Any, q: Any, e: Any, max_packets: Any) -> Any:
    """Return the state within ProbeRTT after an ACK; its time starts when at most ``max_packets`` are in flight."""
    s = s._replace(limited_until=e.delivered + e.in_flight)
    if s.probe_rtt_done_stamp > 0.0:
        return s._replace(probe_rtt_round_done=max(s.probe_rtt_round_done, s.round_start))
    if e.in_flight > max_packets:
        return s
    return s._replace(
        probe_rtt_done_stamp=e.time + q.probe_rtt_duration, probe_rtt_round_done=0.0, next_round_delivered=e.delivered
    )


def has_ended(s: Any, e: Any) -> Any:
    """Return whether ProbeRTT ends: its duration and a round trip have passed."""
    timed = s.probe_rtt_done_stamp > 0.0 and s.probe_rtt_round_done > 0.0
    return timed and e.time > s.probe_rtt_done_stamp


# numbers of states
STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0
"""States of the draft's Sect. 5.1; DOWN to UP are ProbeBW's."""
INIT, REFILLING, STARTING, FEEDBACK, STOPPING = 0.0, 1.0, 2.0, 3.0, 4.0  # numbers of states
"""Phases of a probe for bandwidth by its acknowledgements (ack_phase)."""
MIN_CWND = 4.0  # draft-ietf-ccwg-bbr, Sect. 2.8: MinPipeCwnd = 4 SMSS
"""InitialCwnd (RFC 6928) and MinPipeCwnd, packets."""


def bandwidth(s: Any) -> Any:
    """Return bw: the largest rate of two cycles, or the short-term bound (Sect. 5.5.10.3, BoundBWForModel)."""
    return min(max(s.bw_now, s.bw_before), s.bw_shortterm)


def inflight(s: Any, gain: Any) -> Any:
    """Return a multiple of the bandwidth-delay product, at least one send quantum, packets (Sect. 5.6.4.2)."""
    return quantization_budget(s, multiple(s, gain))


def multiple(s: Any, gain: Any) -> Any:
    """Return a multiple of the bandwidth-delay product, packets (BDPMultiple)."""
    return gain * bandwidth(s) * s.min_rtt if s.min_rtt < math.inf else INITIAL_WINDOW


def quantization_budget(s: Any, product: Any) -> Any:
    """Return the limit of packets in flight, at least one send quantum, 64 kB at most (QuantizationBudget)."""
    quantum = max(2.0, min(s.pacing_rate * 1e-3, 43.0))
    return max(product, max(quantum, MIN_CWND)) + (2.0 if s.mode == UP else 0.0)


def is_limited(s: Any, e: Any) -> Any:
    """Return whether the application, or ProbeRTT, limited the sample of the delivery rate (RS.is_app_limited)."""
    return e.limited > 0.0 or e.prior_delivered <= s.limited_until


def with_headroom(s: Any, q: Any) -> Any:
    """Return the longer-term bound less the part for other flows, packets (InflightWithHeadroom)."""
    if s.inflight_longterm == math.inf:
        return math.inf
    free = max(1.0, q.headroom * s.inflight_longterm)
    return max(s.inflight_longterm - free, MIN_CWND)


def start_down(s: Any, e: Any) -> Any:
    """Start ProbeBW_DOWN, and draw the time until the next probe (Sect. 5.3.3.8.3, PickProbeWait)."""
    rounds = 1.0 if e.random < 0.5 else 0.0
    return s._replace(
        mode=DOWN,
        is_loss_in_round=0.0,
        bw_latest=0.0,
        inflight_latest=0.0,
        probe_up_acked_per_inc=math.inf,
        rounds_since_probe_up=rounds,
        bw_probe_wait=2.0 + (2.0 * e.random) % 1.0,
        cycle_stamp=e.time,
        ack_phase=STOPPING,
        next_round_delivered=e.delivered,
    )


def start_refill(s: Any, e: Any) -> Any:
    """Start ProbeBW_REFILL, and reset short-term bounds."""
    return s._replace(
        mode=REFILL,
        bw_shortterm=math.inf,
        inflight_shortterm=math.inf,
        bw_probe_up_rounds=0.0,
        bw_probe_up_acked=0.0,
        prev_probe_precautionary=0.0,
        ack_phase=REFILLING,
        next_round_delivered=e.delivered,
    )


def steeper(s: Any) -> Any:
    """Return the state with fewer packets per step of the longer-term bound (RaiseInflightLongtermSlope)."""
    return s._replace(
        probe_up_acked_per_inc=max(s.cwnd / 2.0**s.bw_probe_up_rounds, 1.0),
        bw_probe_up_rounds=min(s.bw_probe_up_rounds + 1.0, 30.0),
    )


def target_inflight(s: Any) -> Any:
    """Return the bandwidth-delay product, or the window where that is less, packets."""
    product = bandwidth(s) * s.min_rtt if s.min_rtt < math.inf else INITIAL_WINDOW
    return min(product, s.cwnd)


def note_losses(s: Any, q: Any, e: Any) -> Any:
    """Respond to lost packets: a probe with too many losses sets the longer-term bound (Sect. 5.5.10.2)."""
    if e.lost == 0.0:
        return s
    if s.is_loss_in_round == 0.0:
        s = s._replace(is_loss_in_round=1.0, loss_round_delivered=e.delivered)
    s = s._replace(round_lost=s.round_lost + e.lost)
    if s.is_bw_probe_sample == 0.0 or e.lost_with <= e.lost_in_flight * q.loss_threshold:
        return s
    before, lost = e.lost_in_flight - 1.0, e.lost_with - 1.0
    prefix = (q.loss_threshold * before - lost) / (1.0 - q.loss_threshold)
    bound = max(before + prefix, target_inflight(s) * q.beta)
    if e.lost_limited > 0.0 or e.prior_delivered <= s.limited_until:
        bound = s.inflight_longterm
    s = s._replace(prev_probe_too_high=1.0, is_bw_probe_sample=0.0, inflight_longterm=bound)
    return start_down(s, e) if s.mode == UP else s


def congestion_signals(s: Any, q: Any, e: Any, rate: Any) -> Any:
    """Update latest signals, rounds, the bandwidth, and once per round short-term bounds (Sect. 5.5.10.3)."""
    sampled = e.acked > 0.0 and e.interval > 0.0  # rounds are those of packets whose transmission is known
    starts = 1.0 if sampled and e.prior_delivered >= s.loss_round_delivered else 0.0
    begins = 1.0 if sampled and e.prior_delivered >= s.next_round_delivered else 0.0
    max_bw = max(s.bw_now, s.bw_before)
    limited = is_limited(s, e)
    lost_from = e.delivered if starts > 0.0 else s.loss_round_delivered
    following = e.delivered if begins > 0.0 else s.next_round_delivered
    largest = max(s.bw_now, rate) if rate >= max_bw or not limited else s.bw_now
    s = s._replace(
        bw_latest=max(s.bw_latest, rate),
        inflight_latest=max(s.inflight_latest, e.delivered - e.prior_delivered),
        loss_round_start=starts,
        loss_round_delivered=lost_from,
        round_start=begins,
        next_round_delivered=following,
        round_count=s.round_count + begins,
        rounds_since_probe_up=s.rounds_since_probe_up + begins,
        bw_now=largest,
    )
    if starts == 0.0:
        return s
    probing = s.mode == STARTUP or s.mode == REFILL or s.mode == UP
    if s.is_loss_in_round > 0.0 and not probing:
        short = max(s.bw_now, s.bw_before) if s.bw_shortterm == math.inf else s.bw_shortterm
        flight = s.cwnd if s.inflight_shortterm == math.inf else s.inflight_shortterm
        s = s._replace(
            bw_shortterm=max(s.bw_latest, q.beta * short),
            inflight_shortterm=max(s.inflight_latest, q.beta * flight),
        )
    return s._replace(is_loss_in_round=0.0)


def full_pipe(s: Any, q: Any, e: Any, rate: Any) -> Any:
    """End Startup when the rate stops growing or losses are many, and Drain when the queue is empty."""
    limited = is_limited(s, e)
    if s.full_bw_now == 0.0 and s.round_start > 0.0 and not limited:
        if rate >= 1.25 * s.full_bw:
            s = s._replace(full_bw=rate, full_bw_count=0.0)
        else:
            count = s.full_bw_count + 1.0
            full = 1.0 if count >= 3.0 else 0.0
            reached = max(full, s.full_bw_reached)
            s = s._replace(full_bw_count=count, full_bw_now=full, full_bw_reached=reached)
    if s.round_start > 0.0:
        lost = s.round_lost
        many = lost >= 6.0 and lost > q.loss_threshold * (lost + e.delivered - s.round_delivered)
        long = e.recovering > 0.0 and s.round_count > s.recovery_round
        if s.mode == STARTUP and s.full_bw_reached == 0.0 and many and long:
            # Sect. 5.3.1.3: the bound is the largest of what was delivered in a round and the product
            product = max(s.bw_now, s.bw_before) * s.min_rtt
            s = s._replace(
                full_bw_reached=1.0,
                full_bw_now=1.0,
                inflight_longterm=max(product, s.inflight_latest),
            )
        s = s._replace(round_lost=0.0, round_delivered=e.delivered)
    if s.mode == STARTUP and s.full_bw_reached > 0.0:
        s = s._replace(mode=DRAIN, drain_start_round=s.round_count)
    if s.mode == DRAIN:
        late = s.round_count > s.drain_start_round + 3.0
        if late or e.in_flight <= inflight(s, 1.0):
            s = start_down(s, e)
    return s


def long_term(s: Any, q: Any, e: Any) -> Any:
    """Process the feedback of a probe, and raise the longer-term bound if losses are few (AdaptLongTermModel)."""
    if s.ack_phase == STARTING and s.round_start > 0.0:
        s = s._replace(ack_phase=FEEDBACK)
    if s.ack_phase == STOPPING and s.round_start > 0.0:
        s = s._replace(is_bw_probe_sample=0.0, ack_phase=INIT)
        if DOWN <= s.mode <= UP:
            if not is_limited(s, e):
                s = s._replace(bw_before=s.bw_now, bw_now=0.0)
            if s.prev_probe_precautionary > 0.0 and s.prev_probe_too_high == 0.0:
                return start_refill(s, e)
    high = e.lost_since > e.sent_in_flight * q.loss_threshold
    if high or s.inflight_longterm == math.inf:
        return s
    s = s._replace(inflight_longterm=max(s.inflight_longterm, e.sent_in_flight))
    if s.mode == UP and is_window_full(s, e) and s.cwnd >= s.inflight_longterm:
        acked = s.bw_probe_up_acked + e.acked
        steps = math.floor(acked / s.probe_up_acked_per_inc)
        if steps > 0.0:
            acked -= steps * s.probe_up_acked_per_inc
        s = s._replace(bw_probe_up_acked=acked, inflight_longterm=s.inflight_longterm + steps)
        if s.round_start > 0.0:
            s = steeper(s)
    return s


def is_window_full(s: Any, e: Any) -> Any:
    """Return whether the window limited the packets in flight before this acknowledgement."""
    return e.in_flight + e.acked + e.lost >= math.floor(s.cwnd)


def probing_cycle(s: Any, q: Any, e: Any, rate: Any) -> Any:
    """Change the state of ProbeBW (UpdateProbeBWCyclePhase)."""
    if s.full_bw_reached == 0.0:
        return s
    before = s.mode
    s = long_term(s, q, e)
    if s.mode < DOWN or s.mode > UP or (s.mode == REFILL and before != REFILL):
        return s
    if s.mode == DOWN or s.mode == CRUISE:
        waited = e.time > s.cycle_stamp + s.bw_probe_wait
        if waited or s.rounds_since_probe_up >= min(target_inflight(s), 63.0):
            return start_refill(s, e)
        unbounded = s._replace(bw_shortterm=math.inf)  # IsTimeToCruise has BBR.max_bw, not BBR.bw
        enough = e.in_flight <= with_headroom(s, q) and e.in_flight <= inflight(unbounded, 1.0)
        return s._replace(mode=CRUISE) if s.mode == DOWN and enough else s
    if s.mode == REFILL:
        if s.round_start == 0.0:
            return s
        s = s._replace(
            mode=UP,
            is_bw_probe_sample=1.0,
            ack_phase=STARTING,
            next_round_delivered=e.delivered,
            full_bw=rate,
            full_bw_count=0.0,
            full_bw_now=0.0,
        )
        return steeper(s)
    if s.prev_probe_too_high > 0.0 and e.in_flight >= s.inflight_longterm:
        s = s._replace(prev_probe_precautionary=1.0, prev_probe_too_high=0.0)
        return start_down(s, e)
    if is_window_full(s, e) and s.cwnd >= s.inflight_longterm:
        return s._replace(full_bw=rate, full_bw_count=0.0, full_bw_now=0.0)
    if s.full_bw_now > 0.0:
        return start_down(s._replace(prev_probe_too_high=0.0), e)
    return s


def aggregation(s: Any, q: Any, e: Any) -> Any:
    """Estimate the packets by which ACKs exceed the bandwidth (UpdateACKAggregation).

    The largest is remembered in two slots, each for half of the rounds, in Startup for one round.
    """
    if q.extra_acked_rounds == 0.0:
        return s
    expected = bandwidth(s) * (e.time - s.extra_acked_start)
    delivered, start = s.extra_acked_delivered, s.extra_acked_start
    if delivered <= expected:
        delivered, start, expected = 0.0, e.time, 0.0
    delivered += e.acked
    extra = min(delivered - expected, s.cwnd)
    span = max(1.0, 0.5 * q.extra_acked_rounds) if s.full_bw_reached > 0.0 else 1.0
    newest, before, since = max(s.extra_acked_now, extra), s.extra_acked_before, s.extra_acked_round
    if s.round_count >= since + span:
        newest, before, since = extra, s.extra_acked_now, s.round_count
    return s._replace(
        extra_acked_start=start,
        extra_acked_delivered=delivered,
        extra_acked_now=newest,
        extra_acked_before=before,
        extra_acked_round=since,
    )


def round_trip_time(s: Any, q: Any, e: Any) -> Any:
    """Update the minimum round-trip time; enter and leave ProbeRTT (Sect. 5.3.4)."""
    expired = e.time > s.probe_rtt_min_stamp + q.probe_rtt_interval
    if s.min_rtt == math.inf:  # InitPacingRate, once the round-trip time is known
        s = s._replace(pacing_rate=q.startup_gain * INITIAL_WINDOW / e.rtt)
    if e.rtt < s.probe_rtt_min_delay or expired:
        s = s._replace(probe_rtt_min_delay=e.rtt, probe_rtt_min_stamp=e.time)
    if s.probe_rtt_min_delay < s.min_rtt or e.time > s.min_rtt_stamp + q.min_rtt_window:
        s = s._replace(min_rtt=s.probe_rtt_min_delay, min_rtt_stamp=s.probe_rtt_min_stamp)
    if s.mode != PROBE_RTT and expired and e.restarted == 0.0:  # idle_restart
        s = s._replace(
            mode=PROBE_RTT,
            prior_cwnd=window_to_restore(s),
            probe_rtt_done_stamp=0.0,
            ack_phase=STOPPING,
            next_round_delivered=e.delivered,
        )
    if s.mode != PROBE_RTT:
        return s
    s = hold_probe_rtt(s, q, e, probe_rtt_window(s))
    if not has_ended(s, e):
        return s
    s = s._replace(
        probe_rtt_min_stamp=e.time,
        cwnd=max(s.cwnd, s.prior_cwnd),
        bw_shortterm=math.inf,
        inflight_shortterm=math.inf,
        mode=STARTUP,
    )
    if s.full_bw_reached > 0.0:
        s = start_down(s, e)
        s = s._replace(mode=CRUISE)
    return s


def probe_rtt_window(s: Any) -> Any:
    """Return the window of ProbeRTT, half of the product, packets."""
    product = 0.5 * bandwidth(s) * s.min_rtt if s.min_rtt < math.inf else INITIAL_WINDOW
    return max(product, MIN_CWND)


def control(s: Any, q: Any, e: Any) -> Any:
    """Set pacing and window (Sect. 5.6)."""
    gain = 1.0
    if s.mode == STARTUP:
        gain = q.startup_gain
    elif s.mode == DRAIN:
        gain = q.drain_gain
    elif s.mode == DOWN:
        gain = q.down_gain
    elif s.mode == UP:
        gain = q.up_gain
    paced = gain * bandwidth(s) * (1.0 - q.margin)
    pacing = paced if paced > 0.0 and (s.full_bw_reached > 0.0 or paced > s.pacing_rate) else s.pacing_rate
    cwnd, prior, since = s.cwnd, s.prior_cwnd, s.recovery_round
    if e.recovering > 0.0 and s.recovering == 0.0:  # OnEnterFastRecovery
        prior = max(prior, cwnd) if s.mode == PROBE_RTT else cwnd
        since = s.round_count
    elif e.recovering == 0.0 and s.recovering > 0.0:
        cwnd = max(cwnd, prior)
    times = 1.125 * q.cwnd_gain if s.mode == UP else q.cwnd_gain
    extra = max(s.extra_acked_now, s.extra_acked_before)
    # SetSendQuantum follows SetPacingRate
    max_inflight = quantization_budget(s._replace(pacing_rate=pacing), multiple(s, times) + extra)
    if s.full_bw_reached > 0.0:
        cwnd = min(cwnd + e.acked, max_inflight)
    elif cwnd < max_inflight or e.delivered < INITIAL_WINDOW:
        cwnd += e.acked
    cwnd = max(cwnd, MIN_CWND)
    cap = math.inf
    if s.mode == PROBE_RTT:
        cwnd = min(cwnd, probe_rtt_window(s))
        cap = with_headroom(s, q)
    elif s.mode == CRUISE:
        cap = with_headroom(s, q)
    elif s.mode >= DOWN:
        cap = s.inflight_longterm
    cwnd = min(cwnd, max(min(cap, s.inflight_shortterm), MIN_CWND))
    return s._replace(
        cwnd=cwnd,
        pacing_rate=pacing,
        prior_cwnd=prior,
        recovering=e.recovering,
        recovery_round=since,
    )


class BBR(DeliveryRule):
    r"""BBR version 3 (draft-ietf-ccwg-bbr): paces at the measured bandwidth, and limits the packets in flight.

    The bandwidth is the largest delivery rate of two probing cycles, the round-trip time the minimum of
    ``min_rtt_window``. Startup doubles the rate each round trip until it stops growing or losses are many. Then cycles
    of a lower rate, cruising, refilling and probing above follow. Losses above ``loss_threshold`` of the packets in
    flight during a probe limit these packets (inflight_longterm). Other rounds with losses reduce short-term bounds by
    ``beta``. Twice in ten seconds the packets in flight are halved for 200 ms to measure the round-trip time.

    It has no response to a loss rate: below ``loss_threshold`` per round trip its rate is the bandwidth. The limit of
    the packets in flight is at least one send quantum, those of 1 ms at the pacing rate, up to 43: 64 kB of packets of
    1500 bytes, also where packets have another size. On paths with a smaller bandwidth-delay product they keep a queue.
    Packets leave one by one, since the packet level has no offloads. The draft's rules for spurious losses are omitted,
    and there are no actions at the time of sending. `conformance` runs the draft's test cases.

    Parameters
    ----------
    loss_threshold
        Fraction of the packets of a round trip, 0 < loss_threshold < 1 (LossThresh).
    beta
        Factor of short-term bounds in a round trip with losses, 0 < beta < 1.
    headroom
        Fraction of the longer-term bound that stays free while cruising, 0 <= headroom < 1.
    startup_gain, drain_gain, down_gain, up_gain
        Pacing over bandwidth in these states.
    cwnd_gain
        Window over the bandwidth-delay product; a quarter more while probing.
    margin
        Fraction by which pacing is below the bandwidth.
    min_rtt_window, probe_rtt_interval, probe_rtt_duration
        Times in s, the first two at most 1000, the third below 5.
    extra_acked_rounds
        Round trips of the filter for the largest aggregation of acknowledgements, which is added to the window
        (ExtraAckedFilterLen, the draft's by default); 0: no estimate, which the draft does not have.

    Examples
    --------
    >>> from responsefn import BBR
    >>> BBR().rate(0.01, 0.1)
    Traceback (most recent call last):
      ...
    ValueError: BBR(): has no response function of a loss rate: it does not respond to loss below ...
    """

    @extends(BBRState)
    class State(NamedTuple):
        """Window in packets, pacing in packets/s, and the draft's variables under its names (Sect. 2).

        mode: state; bw_now, bw_before: max_bw filter of this and the last cycle; limited_until: app_limited;
        recovering: whether loss recovery was on; round_lost, recovery_round: for the end of Startup by loss.
        """

        pacing_rate: float = 2.77 * INITIAL_WINDOW / 1e-3
        bw_now: float = 0.0
        bw_before: float = 0.0
        bw_shortterm: float = math.inf
        inflight_shortterm: float = math.inf
        inflight_longterm: float = math.inf
        probe_rtt_min_delay: float = math.inf
        probe_rtt_min_stamp: float = 0.0
        full_bw_now: float = 0.0
        full_bw_reached: float = 0.0
        drain_start_round: float = 0.0
        bw_probe_wait: float = 0.0
        rounds_since_probe_up: float = 0.0
        bw_probe_up_rounds: float = 0.0
        bw_probe_up_acked: float = 0.0
        probe_up_acked_per_inc: float = math.inf
        ack_phase: float = 0.0
        is_bw_probe_sample: float = 0.0
        prev_probe_too_high: float = 0.0
        prev_probe_precautionary: float = 0.0
        loss_round_delivered: float = 0.0
        loss_round_start: float = 0.0
        is_loss_in_round: float = 0.0
        bw_latest: float = 0.0
        inflight_latest: float = 0.0
        round_lost: float = 0.0
        round_delivered: float = 0.0
        recovery_round: float = 0.0
        extra_acked_round: float = 0.0

    class Params(NamedTuple):
        """Thresholds and gains; times in s."""

        loss_threshold: float = param(
            0.02,
            "share",
            above=0.0,
            below=1.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.8: LossThresh = 2 %",
        )
        beta: float = param(
            0.7,
            above=0.0,
            below=1.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.8: Beta = 0.7",
        )
        headroom: float = param(
            0.15,
            at_least=0.0,
            below=1.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.8: Headroom = 0.15",
        )
        startup_gain: float = param(
            2.77,
            above=0.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.5: StartupPacingGain = 2.77",
        )
        drain_gain: float = param(
            0.5,
            above=0.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.5: DrainPacingGain = 0.5",
        )
        down_gain: float = param(
            0.9,
            above=0.0,
            source="draft-ietf-ccwg-bbr, Sect. 5.3.3.1: pacing_gain of 0.90 in ProbeBW_DOWN",
        )
        up_gain: float = param(
            1.25,
            above=0.0,
            source="draft-ietf-ccwg-bbr, Sect. 5.3.3.5: pacing_gain of 1.25 in ProbeBW_UP",
        )
        cwnd_gain: float = param(
            2.0,
            above=0.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.6: DefaultCwndGain = 2",
        )
        margin: float = param(
            0.01,
            at_least=0.0,
            below=1.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.5: PacingMarginPercent = 1",
        )
        min_rtt_window: float = param(
            10.0,
            "time",
            above=0.0,
            at_most=1000.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.16.1: MinRTTFilterLen = 10 s",
        )
        probe_rtt_interval: float = param(
            5.0,
            "time",
            above=0.0,
            at_most=1000.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.16.2: ProbeRTTInterval = 5 s",
        )
        probe_rtt_duration: float = param(
            0.2,
            "time",
            above=0.0,
            below=5.0,
            source="draft-ietf-ccwg-bbr, Sect. 2.16.2: ProbeRTTDuration = 200 ms",
        )
        extra_acked_rounds: float = param(
            10.0,
            at_least=0.0,
            at_most=1000000.0,
            source="draft-ietf-ccwg-bbr, Sect. 5.5.9: ExtraAckedFilterLen = 10 round trips",
        )

    reference = Reference(
        "N. Cardwell et al., BBR congestion control, draft-ietf-ccwg-bbr, version 3 of the algorithm "
        "(the working group's copy of 3 August 2026), Sect. 4 and 5",
        "primary",
    )
    claims: ClassVar[str] = "bbr-draft"
    why_no_rate: ClassVar[str] = "it does not respond to loss below its threshold"
    dynamics: ClassVar[str] = (
        r"\text{pacing} = g \max B,\ W \le 2 \max B \min R,\ B = \Delta\text{delivered} / \Delta t"
    )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Save the window, and go on with one packet (Sect. 5.6.4.4)."""
        return s._replace(cwnd=1.0, prior_cwnd=max(s.prior_cwnd, s.cwnd), recovering=1.0)

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Update the model and the state, then pacing and window (Sect. 5.2.3)."""
        rate = 0.0
        if e.acked > 0.0 and e.interval > 0.0 and e.interval >= s.min_rtt:
            rate = (e.delivered - e.prior_delivered) / e.interval
        s = note_losses(s, q, e)
        s = congestion_signals(s, q, e, rate)
        s = aggregation(s, q, e)
        s = full_pipe(s, q, e, rate)
        s = probing_cycle(s, q, e, rate)
        s = round_trip_time(s, q, e)
        if s.loss_round_start > 0.0:  # AdvanceLatestDeliverySignals
            s = s._replace(bw_latest=rate, inflight_latest=e.delivered - e.prior_delivered)
        return control(s, q, e)
