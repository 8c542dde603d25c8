"""TCP senders: Tahoe, Reno, NewReno and SACK, with window rules called by address.

The reference (`dfcmodel.packets.reference_senders`) implements the same functions in plain Python.
"""
# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np

from .deliveries import forget_sent, is_lost, report_deliveries
from .emission import NEWRENO, RENO, SACK, TAHOE, output
from .jit import call_event, inlined
from .layout import ON_ACK, ON_LOSS, ON_MARK, ON_TIMEOUT
from .pacing import send_paced, send_paced_selective
from .random_numbers import uniform
from .reductions import begin_reduction, reduce_on_ack
from .selective import clear, next_hole, note
from .timers import (
    JITTER,
    NOW,
    NS2,
    back_off,
    measure,
    set_timer,
    wake_at,
)

__all__ = [
    "advance",
    "answer_mark",
    "cut_back",
    "duplicate",
    "expire",
    "forget",
    "grow",
    "lose",
    "partial_ack",
    "receive",
    "receive_selective",
    "send",
    "send_selective",
]

NONE, LOSS, LEFT, EXPIRED = 0, 1, 2, 3  # the sender's last action
DUPLICATES = 3


@inlined
def send(element, unit, slot, flow, events, clock, tally, stream, out, f, most, forced):
    """Send new packets up to the window, each after a random delay if there is jitter."""
    s = flow[f]
    if not forced and s.held_until < math.inf:
        return
    if s.paced == 1:
        send_paced(element, unit, slot, flow, clock, tally, stream, out, f, most, forced)
        return
    window = int(min(flow[f].cwnd, s.most))
    if s.recovery == RENO or s.recovery == NEWRENO:
        window = min(int(flow[f].cwnd) + s.inflation, int(s.most))
    sent = 0
    while s.next <= s.acked + window and s.next < s.size:
        if not forced and clock[JITTER] > 0.0:
            s.held_until = clock[NOW] + clock[JITTER] * uniform(stream, len(unit) - 1 + f)
            wake_at(element, unit, slot, tally, f, s.held_until, f)
            return
        output(element, unit, slot, flow, clock, tally, out, f, np.int64(s.next))
        s.next += 1
        sent += 1
        if sent == most:
            break


@inlined
def send_selective(
    element, unit, slot, flow, history, events, bits, clock, tally, stream, out, f, forced
):  # fmt: skip
    """Send packets permitted by the window, or in recovery by the pipe: holes first."""
    s = flow[f]
    if not forced and s.held_until < math.inf:
        return
    if s.paced == 1 or s.samples == 1:
        send_paced_selective(
            element, unit, slot, flow, history, bits, clock, tally, stream, out, f, forced
        )
        return
    window = int(min(flow[f].cwnd, s.most))
    while s.last + 1 < s.size:
        if s.recovering == 1:
            if s.pipe >= (s.prr_limit if s.prr == 1 else int(flow[f].cwnd)):
                break
        elif s.next > s.last + window:
            break
        if not forced and clock[JITTER] > 0.0:
            s.held_until = clock[NOW] + clock[JITTER] * uniform(stream, len(unit) - 1 + f)
            wake_at(element, unit, slot, tally, f, s.held_until, f)
            return
        number = next_hole(flow, bits, f)
        if number == -1:
            reach = int(s.most) if s.recovering == 1 else window
            if s.next > s.acked + reach or s.next >= s.size:
                break
            number = s.next
            s.next += 1
        elif s.recover > 0 and number <= s.acked + int(s.most):
            s.hole = max(s.hole, number + 1)
        else:
            break
        output(element, unit, slot, flow, clock, tally, out, f, number)
        s.next = max(s.next, number + 1)
        s.pipe += 1
        s.prr_out += 1


@inlined
def grow(flow, events, clock, f):
    """Apply an ACK of new data to the window rule."""
    call_event(events[flow[f].kind, ON_ACK], flow[f], clock[NOW], flow[f].rtt, 1.0, 0.0)
    if clock[NS2] == 1.0 and flow[f].last == 0:
        flow[f].cwnd = flow[f].first_window


@inlined
def forget(element, unit, slot, flow, clock, tally, f, number):
    """Release acknowledged data, and update the RTT estimate and the timer."""
    s = flow[f]
    s.duplicates = 0
    s.last = number
    s.acked = number
    s.next = max(s.next, number + 1)
    if s.timing == 1 and number >= s.timed:
        s.backoff = 1.0
        s.timing = 0
        measure(flow, clock, f)
    if s.acked < s.highest or s.next < s.size:
        set_timer(element, unit, slot, flow, clock, tally, f)
    else:
        s.deadline = math.inf


@inlined
def advance(element, unit, slot, flow, events, clock, tally, f, number):
    """Process an ACK of new data outside recovery, or the ACK that ends recovery."""
    s = flow[f]
    if s.recovery == RENO:
        if s.action == LOSS:
            s.action = LEFT
        s.inflation = 0
    elif s.recovery == NEWRENO:
        if s.inflation > 0:
            s.inflation = 0
            if s.action == LOSS:
                s.action = LEFT
        s.partial = 0
    forget(element, unit, slot, flow, clock, tally, f, number)


@inlined
def partial_ack(element, unit, slot, flow, events, clock, tally, out, f, number):
    """Process a partial ACK: resend the next hole and deflate the window (RFC 6582, 3.2 step 3)."""
    s = flow[f]
    if s.partial == 0:
        s.partial = 1
        set_timer(element, unit, slot, flow, clock, tally, f)
    deflate = number - s.last
    if s.inflation > deflate:
        s.inflation -= deflate - 1
    else:
        flow[f].cwnd -= float(deflate - s.inflation)
        s.inflation = 1
    flow[f].cwnd = max(1.0, flow[f].cwnd)
    s.last = number
    s.acked = number
    s.next = max(s.next, number + 1)
    if s.timing == 1 and number >= s.timed:
        s.timing = 0
        s.backoff = 1.0
    output(element, unit, slot, flow, clock, tally, out, f, number + 1)


@inlined
def cut_back(flow, events, clock, f, event):
    """Apply a loss or a congestion mark, once per window, to the window rule."""
    flow[f].recover = flow[f].highest
    flow[f].reduced = 1
    flow[f].cwnd = min(flow[f].cwnd, flow[f].most)
    call_event(events[flow[f].kind, event], flow[f], clock[NOW], flow[f].rtt, 1.0, 0.0)
    if clock[NS2] == 1.0:
        flow[f].ssthresh = float(int(flow[f].ssthresh))
    flow[f].loss_events += 1


@inlined
def answer_mark(flow, events, clock, f):
    """Apply an ACK with a congestion mark to a rule that answers each of them (RFC 8257)."""
    before = flow[f].cwnd
    call_event(events[flow[f].kind, ON_MARK], flow[f], clock[NOW], flow[f].rtt, 1.0, 1.0)
    if flow[f].cwnd < before:
        flow[f].loss_events += 1
        flow[f].reduced = 1


@inlined
def lose(element, unit, slot, flow, events, clock, tally, out, f):
    """Respond to a loss, unless it belongs to a loss event that was already handled."""
    s = flow[f]
    known = s.acked <= s.recover and not (clock[NS2] == 1.0 and s.acked == 0)
    if known and not (s.recovery == RENO and s.action == LOSS):
        return
    s.action = LOSS
    if s.recovery == RENO or s.recovery == NEWRENO:
        flow[f].cwnd += float(s.inflation)
    cut_back(flow, events, clock, f, ON_LOSS)
    set_timer(element, unit, slot, flow, clock, tally, f)
    s.timing = 0
    if s.recovery == TAHOE:
        s.next = s.acked + 1
        return
    if s.recovery == SACK:
        s.pipe = s.highest - s.acked - DUPLICATES
        s.recovering = 1
        s.hole = max(s.hole, s.acked + 2)
        if s.prr == 1:
            begin_reduction(flow, f)
    if s.samples == 0:
        output(element, unit, slot, flow, clock, tally, out, f, np.int64(s.last + 1))
    if s.recovery != SACK:
        s.inflation = DUPLICATES


@inlined
def duplicate(element, unit, slot, flow, events, clock, tally, out, f):
    """Count a duplicate ACK: limited transmit for the first two (RFC 3042), the third is a loss."""
    s = flow[f]
    s.duplicates += 1
    if s.duplicates == DUPLICATES:
        lose(element, unit, slot, flow, events, clock, tally, out, f)
    elif s.duplicates > DUPLICATES:
        if s.action == LOSS and (s.recovery == RENO or s.recovery == NEWRENO):
            s.inflation += 1
    else:
        ahead = min(s.most, flow[f].cwnd + float(s.duplicates))
        if float(s.next) <= float(s.acked) + ahead and s.next < s.size:
            output(element, unit, slot, flow, clock, tally, out, f, np.int64(s.next))
            s.next += 1


@inlined
def receive_selective(
    element, unit, slot, flow, history, events, bits, noted, block, clock, tally, out, f, e, number
):
    """Process an ACK at a SACK sender; return 1 to send, 2 to increase the window and send."""
    s = flow[f]
    if s.recovering == 1:
        pipe, before, top = s.pipe, s.acked + s.sacked, s.top
        s.pipe -= 1
        if number >= s.recover and not (s.samples == 1 and is_lost(flow, history, bits, f, number)):
            s.recover = 0 if clock[NS2] == 1.0 else -2
            s.recovering = 0
            forget(element, unit, slot, flow, clock, tally, f, number)
            s.lost_all = 0
            clear(flow, bits, noted, f)
        elif number > s.acked:
            s.acked = number
            note(flow, bits, noted, block, element, f, e)
            s.pipe -= 1
            set_timer(element, unit, slot, flow, clock, tally, f)
            s.backoff = 1.0
        elif s.lost_all == 0 and note(flow, bits, noted, block, element, f, e) and s.duplicates > 0:
            s.duplicates += 1
        if s.prr == 1 and s.recovering == 1:
            s.pipe = pipe
            reduce_on_ack(flow, bits, f, before, top)
        return 1
    if number > s.last:
        s.partial = 0
        forget(element, unit, slot, flow, clock, tally, f, number)
        s.lost_all = 0
        clear(flow, bits, noted, f)
        return 2
    if number == s.last and s.lost_all == 0 and note(flow, bits, noted, block, element, f, e):
        s.duplicates += 1
        if s.duplicates <= DUPLICATES:
            s.duplicates -= 1
            duplicate(element, unit, slot, flow, events, clock, tally, out, f)
    return 1 if s.duplicates == 0 else 0


@inlined
def receive(
    element, sent_at, unit, slot, flow, history, events, bits, noted, block, clock, tally, stream,
    out, f, e,
):  # fmt: skip
    """Process an ACK and send the packets it permits."""
    s = flow[f]
    number = np.int64(element[e].number)
    s.rtt = clock[NOW] - sent_at[e]
    marked = element[e].marked == 1
    if marked and s.accurate == 0 and number > s.recover:
        cut_back(flow, events, clock, f, ON_MARK)
    if s.recovery == SACK:
        act = receive_selective(
            element,
            unit,
            slot,
            flow,
            history,
            events,
            bits,
            noted,
            block,
            clock,
            tally,
            out,
            f,
            e,
            number,
        )
    else:
        act = 1
        if number > s.last:
            if s.recovery == NEWRENO and s.action == LOSS and number < s.recover:
                partial_ack(element, unit, slot, flow, events, clock, tally, out, f, number)
            else:
                advance(element, unit, slot, flow, events, clock, tally, f, number)
                act = 2
        elif number == s.last:
            duplicate(element, unit, slot, flow, events, clock, tally, out, f)
    if act == 2 and (s.accurate == 1 or not marked):
        grow(flow, events, clock, f)
    if marked and s.accurate == 1:
        answer_mark(flow, events, clock, f)
    if s.recovery == SACK:
        if s.samples == 1:
            report_deliveries(
                events, flow, history, bits, clock, tally, stream, len(unit) - 1, f, sent_at[e],
                float(element[e].marked),
            )  # fmt: skip
        if act > 0:
            send_selective(
                element,
                unit,
                slot,
                flow,
                history,
                events,
                bits,
                clock,
                tally,
                stream,
                out,
                f,
                False,
            )
    elif s.duplicates == 0 or s.duplicates >= DUPLICATES or s.recovery == TAHOE:
        most = 2 if s.recovery == NEWRENO and s.duplicates > 0 else 0
        send(element, unit, slot, flow, events, clock, tally, stream, out, f, most, False)


@inlined
def expire(element, unit, slot, flow, events, bits, noted, clock, tally, f):
    """Handle a retransmission timeout: resend from the first unacknowledged packet."""
    s = flow[f]
    s.deadline = math.inf
    if s.recovery != TAHOE:
        s.duplicates = 0
        s.inflation = 0
    if s.recovery == SACK:
        s.recovering = 0
        s.lost_all = 1
        s.last = max(s.last, s.acked)
        s.recover = s.highest
        clear(flow, bits, noted, f)
    if s.samples == 1:
        forget_sent(flow, f)
    if s.acked == s.highest:
        return False
    s.recover = s.highest
    if s.acked == -1:
        s.first_window = 1.0
    s.timeouts += 1
    flow[f].cwnd = min(max(1.0, flow[f].cwnd), s.most)
    call_event(events[flow[f].kind, ON_TIMEOUT], flow[f], clock[NOW], flow[f].rtt, 1.0, 0.0)
    if clock[NS2] == 1.0:
        flow[f].ssthresh = float(int(flow[f].ssthresh))
    s.loss_events += 1
    s.reduced = 1
    back_off(flow, clock, f)
    set_timer(element, unit, slot, flow, clock, tally, f)
    s.next = s.acked + 1
    s.timing = 0
    s.action = EXPIRED
    return True
