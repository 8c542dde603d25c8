"""The sender of a window-controlled flow: it processes the ACKs of a step and sends.

The order follows RFC 5681, 6582 and 6298: ACKs of new data, duplicate ACKs, marks, the
retransmission timer, retransmissions, new data. Sequence numbers are in packets. A step's ACKs are a real
number: `acks` packets reached the receiver, and each was acknowledged.

Packets have two numberings. The position in *emission order* is the order in which they cross the network, which
keeps it and delivers only the amounts of each stretch. The *sequence number* identifies the data. The
emission log, a list of stretches in which both numbers increase together, maps positions to sequence numbers; a new
stretch begins when a sender goes back to retransmit.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import call_event, compiled, inlined

from ..quantum import TINY, quantize
from ..records import ON_ACK, ON_LOSS, ON_MARK, ON_MARKED_WINDOW, ON_SINGLE_ACK, RENO, SACK, TAHOE
from .retransmission_timer import expire_timer, restart_timer, sample_timed_packet
from .sack import advance_sack, first_is_lost, start_sack
from .tcp_constants import DUP_THRESH, OLD_INITIAL_RTO

__all__ = ["send", "send_fast_path"]

CLOCK = 1.0 - 1e-9
"""Factor of the round-trip time of a single ACK, so that rounding never makes it longer than a round."""
LARGEST_GROWTH = 0.125
"""Maximum number of ACKs per call of a window rule, as a fraction of the window."""


@compiled
def emit(flow: Any, log: Any, sequence: float, amount: float) -> bool:
    """Send ``amount`` packets from ``sequence`` on: extend the emission log; return False if it is full."""
    position = flow.emitted
    if not abs(position + flow.offset - sequence) <= 1e-6:
        if flow.log_end - flow.log_first > flow.log_mask:
            return False
        stretch = log[flow.log_at + (flow.log_end & flow.log_mask)]
        stretch.position = position
        stretch.sequence = sequence
        flow.log_end += 1
        flow.offset = sequence - position
    flow.emitted = position + amount
    return True


@inlined
def grow_window(flow: Any, events: Any, acks: float, step: Any) -> None:
    """Call the window rule for the ACKs of ``acks`` packets in order, at once or one by one if the rule requires that.

    Single ACKs are spread evenly over the step. Round-trip times change linearly from ``rtt_before`` to ``rtt`` in it.
    """
    now = step.now
    left = acks * flow.acks_each  # RFC 5681, 4.2: an ACK for every second packet, or for every packet
    if flow.single_acks == 1:
        flow.ack_part += left
        while flow.ack_part >= 1.0 - TINY:
            flow.ack_part -= 1.0
            early = min(1.0, max(0.0, flow.ack_part / left))  # part of the step after this ACK
            rtt = flow.rtt + early * (flow.rtt_before - flow.rtt)
            call_event(events[flow.rule, ON_SINGLE_ACK], flow, now - early * step.h, rtt * CLOCK, 1.0, 0.0)
        return
    while left > 0.0:
        amount = min(left, max(1.0, LARGEST_GROWTH * flow.cwnd))
        call_event(events[flow.rule, ON_ACK], flow, now, flow.rtt, amount, 0.0)
        left -= amount


@inlined
def sendable(flow: Any, window: float, quantum: float) -> float:
    """Return how many packets from snd_nxt on a window, in packets, permits to send."""
    return quantize(min(flow.snd_una + window, flow.flow_size) - flow.snd_nxt, quantum)


@inlined
def send_fast_path(flow: Any, events: Any, ack: Any, step: Any) -> bool:
    """Send as `send` does if every ACK advances snd_una and nothing is resent; otherwise return False, unchanged."""
    now = step.now
    if flow.in_recovery == 1 or flow.snd_nxt != flow.snd_max or now >= flow.deadline:
        return False
    if not abs(flow.emitted + flow.offset - flow.snd_nxt) <= 1e-6:
        return False
    sample_timed_packet(flow, ack.rcv_nxt, step)
    flow.snd_una = ack.rcv_nxt
    flow.dup_acks = 0.0
    grow_window(flow, events, ack.acks, step)
    restart_timer(flow, now)
    room = sendable(flow, min(flow.cwnd, flow.max_window), step.quantum)
    if room > 0.0:
        if flow.timed_seq < 0.0:
            flow.timed_seq = flow.snd_nxt
            flow.timed_at = now
        flow.emitted += room
        flow.snd_nxt += room
        flow.snd_max = flow.snd_nxt
    return True


@compiled
def acknowledge(flow: Any, events: Any, acked: float, new_acks: float, step: Any) -> bool:
    """Advance snd_una to ``acked``, grow the window by ``new_acks`` ACKs; return whether to resend the next hole."""
    now = step.now
    advance = acked - flow.snd_una
    sample_timed_packet(flow, acked, step)
    flow.snd_una = acked
    flow.dup_acks = 0.0
    flow.snd_nxt = max(flow.snd_nxt, acked)
    if flow.in_recovery == 0:
        grow_window(flow, events, new_acks, step)  # RFC 5681, 3.1
    elif flow.recovery == RENO or acked >= flow.recover - TINY:
        # RFC 5681, 3.2, step 6: the first new ACK deflates; RFC 6582, 3.2, step 3: a full one
        flow.in_recovery = 0
        flow.inflation = 0.0
        flow.partial_ack_seen = 0
    elif flow.recovery == SACK:  # RFC 6675, 5: lost packets are known, and retransmitted as the pipe permits
        restart_timer(flow, now)
        return False
    else:  # RFC 6582, 3.2, step 3: a partial ACK deflates by what it acknowledges, adds one segment,
        # retransmits the next hole, and restarts the timer only the first time ("impatient")
        flow.inflation = max(0.0, flow.inflation - advance + new_acks)
        if flow.partial_ack_seen == 0:
            restart_timer(flow, now)
        flow.partial_ack_seen = 1
        return True
    restart_timer(flow, now)
    return False


@compiled
def reduce_window(flow: Any, event: Any, now: float, acks: float, marks: float) -> None:
    """Call the window rule's ``event`` with numbers of ACKs and marks; set recover, count a loss event (RFC 6582)."""
    flow.cwnd = min(flow.cwnd, flow.max_window)
    call_event(event, flow, now, flow.rtt, acks, marks)
    flow.loss_events += 1
    flow.recover = flow.snd_max


@compiled
def answer_marks(flow: Any, events: Any, now: float, acks: float, marked: float) -> None:
    """Call the window rule for ``marked`` of ``acks`` ACKs, or reduce once per window of data (RFC 3168, 6.1.2)."""
    if events[flow.rule, ON_MARK] != 0:
        before = flow.cwnd
        call_event(events[flow.rule, ON_MARK], flow, now, flow.rtt, acks, marked)
        if flow.cwnd < before:
            flow.loss_events += 1
    elif flow.snd_una > flow.recover + TINY:
        reduce_window(flow, events[flow.rule, ON_MARKED_WINDOW], now, acks, marked)


@compiled
def enter_recovery(flow: Any, holes: Any, events: Any, now: float, ack: Any) -> bool:
    """Reduce the window and start fast retransmit; return whether the first hole is retransmitted now (not for TAHOE).

    RFC 5681, 3.2, steps 2 and 3; RFC 6582, 3.2, step 2. Tahoe goes back to snd_una instead. With SACK
    the first hole is retransmitted at once, for any pipe (RFC 6675, 5, step 4.3).
    """
    reduce_window(flow, events[flow.rule, ON_LOSS], now, 0.0, 0.0)
    flow.timed_seq = -1.0
    restart_timer(flow, now)
    if flow.recovery == TAHOE:
        flow.snd_nxt = flow.snd_una
        return False
    flow.in_recovery = 1
    flow.partial_ack_seen = 0
    if flow.recovery == SACK:
        start_sack(flow, holes, ack)
        flow.sack_next += 1
        flow.pipe += 1.0
        return True
    flow.inflation = flow.dup_acks
    return True


@compiled
def transmit(flow: Any, log: Any, limited: float, step: Any) -> bool:
    """Send up to the window from snd_nxt on, and ``limited`` packets beyond it; return False if the log is full."""
    now, quantum = step.now, step.quantum
    window = min(flow.cwnd + flow.inflation, flow.max_window) + limited
    room = sendable(flow, window, quantum)
    if flow.snd_nxt < flow.snd_max - TINY:  # retransmissions are whole packets, up to rounding by a quantum
        room = math.floor(room + quantum)
    if room <= 0.0:
        return True
    if flow.deadline == math.inf:
        flow.deadline = now + max(step.min_rto, OLD_INITIAL_RTO)
    if flow.timed_seq < 0.0 and flow.snd_nxt >= flow.snd_max - TINY:
        flow.timed_seq = flow.snd_nxt
        flow.timed_at = now
    if not emit(flow, log, flow.snd_nxt, room):
        return False
    flow.snd_nxt += room
    flow.snd_max = max(flow.snd_max, flow.snd_nxt)
    return True


@compiled
def send(flow: Any, log: Any, holes: Any, events: Any, ack: Any, step: Any) -> bool:
    """Process a step's ACKs at the sender of a flow, and send; return False if the emission log is full.

    Parameters
    ----------
    flow, log, holes, events
        The flow's record, the emission logs, the receivers' rings of holes, the events of the window rules.
    ack
        The step's ACKs; without ACKs ``ack.acks`` is 0.
    step
        A `Step`: its time, the minimum timeout, and the quantum of amounts.

    Returns
    -------
    bool
        False when the emission log is full.
    """
    now, quantum = step.now, step.quantum
    acks, new_acks, marked = ack.acks, 0.0, 0.0
    below_threshold = flow.dup_acks < DUP_THRESH
    advances = False
    resend = False
    if acks > 0.0:
        new_acks, marked = min(ack.advancing, acks), ack.marked
        advances = ack.rcv_nxt - flow.snd_una > TINY
    if advances:
        resend = acknowledge(flow, events, ack.rcv_nxt, new_acks, step)
    duplicates = acks - new_acks
    limited = 0.0  # limited transmit: a packet for each of the first two duplicates (RFC 3042)
    if duplicates > TINY and flow.snd_max > flow.snd_una + TINY:
        if flow.in_recovery == 1:
            if flow.recovery != SACK:
                flow.inflation += duplicates  # RFC 5681, 3.2, step 4
        elif advances:  # duplicates and ACKs of new data are interleaved in the step
            limited = min(1.0, math.floor(duplicates + TINY)) if below_threshold else 0.0
        else:
            flow.dup_acks += duplicates
            if flow.dup_acks < DUP_THRESH:
                limited = math.floor(flow.dup_acks + TINY)
            elif flow.snd_una > flow.recover + TINY:  # otherwise of losses that the sender has reacted to
                resend = enter_recovery(flow, holes, events, now, ack)
        if flow.recovery == SACK and flow.in_recovery == 0 and first_is_lost(flow, holes, ack):
            resend = enter_recovery(flow, holes, events, now, ack)
    if marked > 0.0:
        answer_marks(flow, events, now, acks, marked)
    if now >= flow.deadline and flow.snd_max > flow.snd_una + TINY:
        expire_timer(flow, events, now)
    if resend:  # even after a timeout in the same step: a packet sent twice does no harm
        first = quantize(min(1.0, flow.snd_max - flow.snd_una), quantum)
        if not emit(flow, log, flow.snd_una, first):
            return False
    if flow.in_recovery == 1 and flow.recovery == SACK:
        return resend_lost(flow, log, holes, ack, quantum)
    return transmit(flow, log, limited, step)


@compiled
def resend_lost(flow: Any, log: Any, holes: Any, ack: Any, quantum: float) -> bool:
    """Update the pipe by an ACK; retransmit lost packets, then send new data, while it is below cwnd; False: log full.

    RFC 6675, 5, step C: rules 1 (lost packets) and 2 (new data) of NextSeg.
    """
    advance_sack(flow, holes, ack)
    window = min(flow.cwnd, flow.max_window)
    end = max(flow.snd_una, ack.rcv_max - DUP_THRESH)
    if ack.acks == 0.0:
        end = flow.snd_una
    while flow.sack_next + 1.0 <= end and window - flow.pipe >= 1.0:
        c = flow.sack_next
        if c >= flow.snd_una - TINY and holes[flow.holes_at + (c & flow.holes_mask)].missing > TINY:
            if not emit(flow, log, float(c), 1.0):
                return False
            flow.pipe += 1.0
        flow.sack_next += 1
    reach = min(flow.flow_size, flow.snd_una + flow.max_window)
    room = quantize(min(window - flow.pipe, reach - flow.snd_nxt), quantum)
    if room > 0.0 and flow.snd_nxt >= flow.snd_max - TINY:
        if not emit(flow, log, flow.snd_nxt, room):
            return False
        flow.pipe += room
        flow.snd_nxt += room
        flow.snd_max = max(flow.snd_max, flow.snd_nxt)
    return True
