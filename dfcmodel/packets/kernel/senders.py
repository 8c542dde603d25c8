"""TCP senders: Tahoe, Reno, NewReno and SACK, with window rules called by address.

The reference (`dfcmodel.packets.reference_senders`) implements the same functions in plain Python.
"""

from __future__ import annotations

import math
from typing import Any

from .deliveries import discard_sent, is_lost, report_deliveries
from .emission import NEWRENO, RENO, SACK, TAHOE, output
from .jit import call_event, inlined
from .layout import ON_ACK, ON_LOSS, ON_MARK, ON_TIMEOUT, int64
from .pacing import send_paced, send_paced_selective
from .random_numbers import uniform
from .reductions import begin_reduction, reduce_on_ack
from .selective import clear, next_hole, update_scoreboard
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
    "discard_acked",
    "duplicate",
    "expire",
    "grow",
    "on_loss",
    "partial_ack",
    "receive",
    "receive_selective",
    "send",
    "send_selective",
]

NONE, LOSS, LEFT, EXPIRED = 0, 1, 2, 3  # the sender's last action
DUPLICATES = 3


@inlined
def send(net: Any, senders: Any, f: int, most: int, forced: bool) -> None:
    """Send new packets up to the window, each after a random delay if there is jitter."""
    clock = senders.clock
    s = senders.flow[f]
    if not forced and s.held_until < math.inf:
        return
    if s.paced == 1:
        send_paced(net, senders, f, most, forced)
        return
    window = int(min(s.cwnd, s.most))
    if s.recovery == RENO or s.recovery == NEWRENO:
        window = min(int(s.cwnd) + s.inflation, int(s.most))
    sent = 0
    while s.snd_nxt < s.snd_una + window and s.snd_nxt < s.size:
        if not forced and clock[JITTER] > 0.0:
            s.held_until = clock[NOW] + clock[JITTER] * uniform(net.stream, len(net.port) - 1 + f)
            wake_at(net, f, s.held_until, f)
            return
        output(net, senders, f, int64(s.snd_nxt))
        s.snd_nxt += 1
        sent += 1
        if sent == most:
            break


@inlined
def send_selective(net: Any, senders: Any, f: int, forced: bool) -> None:
    """Send packets permitted by the window, or in recovery by the pipe: holes first."""
    clock = senders.clock
    s = senders.flow[f]
    if not forced and s.held_until < math.inf:
        return
    if s.paced == 1 or s.samples == 1:
        send_paced_selective(net, senders, f, forced)
        return
    window = int(min(s.cwnd, s.most))
    while s.last + 1 < s.size:
        if s.recovering == 1:
            if s.pipe >= (s.prr_limit if s.prr == 1 else int(s.cwnd)):
                break
        elif s.snd_nxt > s.last + window:
            break
        if not forced and clock[JITTER] > 0.0:
            s.held_until = clock[NOW] + clock[JITTER] * uniform(net.stream, len(net.port) - 1 + f)
            wake_at(net, f, s.held_until, f)
            return
        number = next_hole(senders, f)
        if number == -1:
            reach = int(s.most) if s.recovering == 1 else window
            if s.snd_nxt >= s.snd_una + reach or s.snd_nxt >= s.size:
                break
            number = s.snd_nxt
            s.snd_nxt += 1
        elif s.recover > 0 and number < s.snd_una + int(s.most):
            s.hole = max(s.hole, number + 1)
        else:
            break
        output(net, senders, f, number)
        s.snd_nxt = max(s.snd_nxt, number + 1)
        s.pipe += 1
        s.prr_out += 1


@inlined
def grow(senders: Any, f: int) -> None:
    """Apply an ACK of new data to the window rule."""
    s = senders.flow[f]
    call_event(senders.events[s.kind, ON_ACK], s, senders.clock[NOW], s.rtt, 1.0, 0.0)
    if senders.clock[NS2] == 1.0 and s.last == 0:
        s.cwnd = s.first_window


@inlined
def discard_acked(net: Any, senders: Any, f: int, number: int) -> None:
    """Release acknowledged data, and update the RTT estimate and the timer."""
    s = senders.flow[f]
    s.duplicates = 0
    s.last = number
    s.snd_una = number + 1
    s.snd_nxt = max(s.snd_nxt, number + 1)
    if s.timing == 1 and number >= s.timed:
        s.backoff = 1.0
        s.timing = 0
        measure(senders, f)
    if s.snd_una < s.snd_max or s.snd_nxt < s.size:
        set_timer(net, senders, f)
    else:
        s.deadline = math.inf


@inlined
def advance(net: Any, senders: Any, f: int, number: int) -> None:
    """Process an ACK of new data outside recovery, or the ACK that ends recovery."""
    s = senders.flow[f]
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
    discard_acked(net, senders, f, number)


@inlined
def partial_ack(net: Any, senders: Any, f: int, number: int) -> None:
    """Process a partial ACK: resend the next hole and deflate the window (RFC 6582, 3.2 step 3)."""
    s = senders.flow[f]
    if s.partial == 0:
        s.partial = 1
        set_timer(net, senders, f)
    deflate = number - s.last
    if s.inflation > deflate:
        s.inflation -= deflate - 1
    else:
        s.cwnd -= float(deflate - s.inflation)
        s.inflation = 1
    s.cwnd = max(1.0, s.cwnd)
    s.last = number
    s.snd_una = number + 1
    s.snd_nxt = max(s.snd_nxt, number + 1)
    if s.timing == 1 and number >= s.timed:
        s.timing = 0
        s.backoff = 1.0
    output(net, senders, f, number + 1)


@inlined
def cut_back(senders: Any, f: int, event: int) -> None:
    """Apply a loss or a congestion mark, once per window, to the window rule."""
    s = senders.flow[f]
    s.recover = s.snd_max - 1
    s.reduced = 1
    s.cwnd = min(s.cwnd, s.most)
    call_event(senders.events[s.kind, event], s, senders.clock[NOW], s.rtt, 1.0, 0.0)
    if senders.clock[NS2] == 1.0:
        s.ssthresh = float(int(s.ssthresh))
    s.loss_events += 1


@inlined
def answer_mark(senders: Any, f: int) -> None:
    """Apply an ACK with a congestion mark to a rule that answers each of them (RFC 8257)."""
    s = senders.flow[f]
    before = s.cwnd
    call_event(senders.events[s.kind, ON_MARK], s, senders.clock[NOW], s.rtt, 1.0, 1.0)
    if s.cwnd < before:
        s.loss_events += 1
        s.reduced = 1


@inlined
def on_loss(net: Any, senders: Any, f: int) -> None:
    """Respond to a loss, unless it belongs to a loss event that was already handled."""
    s = senders.flow[f]
    handled = s.snd_una - 1 <= s.recover and not (senders.clock[NS2] == 1.0 and s.snd_una == 1)
    if handled and not (s.recovery == RENO and s.action == LOSS):
        return
    s.action = LOSS
    if s.recovery == RENO or s.recovery == NEWRENO:
        s.cwnd += float(s.inflation)
    cut_back(senders, f, ON_LOSS)
    set_timer(net, senders, f)
    s.timing = 0
    if s.recovery == TAHOE:
        s.snd_nxt = s.snd_una
        return
    if s.recovery == SACK:
        s.pipe = s.snd_max - s.snd_una - DUPLICATES
        s.recovering = 1
        s.hole = max(s.hole, s.snd_una + 1)
        if s.prr == 1:
            begin_reduction(senders.flow, f)
    if s.samples == 0:
        output(net, senders, f, int64(s.last + 1))
    if s.recovery != SACK:
        s.inflation = DUPLICATES


@inlined
def duplicate(net: Any, senders: Any, f: int) -> None:
    """Count a duplicate ACK: limited transmit for the first two (RFC 3042), the third is a loss."""
    s = senders.flow[f]
    s.duplicates += 1
    if s.duplicates == DUPLICATES:
        on_loss(net, senders, f)
    elif s.duplicates > DUPLICATES:
        if s.action == LOSS and (s.recovery == RENO or s.recovery == NEWRENO):
            s.inflation += 1
    else:
        ahead = min(s.most, s.cwnd + float(s.duplicates))
        if float(s.snd_nxt) <= float(s.snd_una - 1) + ahead and s.snd_nxt < s.size:
            output(net, senders, f, int64(s.snd_nxt))
            s.snd_nxt += 1


@inlined
def receive_selective(net: Any, senders: Any, f: int, e: int, number: int) -> int:
    """Process an ACK at a SACK sender; return 1 to send, 2 to increase the window and send."""
    s = senders.flow[f]
    if s.recovering == 1:
        pipe, before, top = s.pipe, s.snd_una + s.sacked, s.top
        s.pipe -= 1
        if number >= s.recover and not (s.samples == 1 and is_lost(senders, f, number)):
            s.recover = 0 if senders.clock[NS2] == 1.0 else -2
            s.recovering = 0
            discard_acked(net, senders, f, number)
            s.lost_all = 0
            clear(senders, f)
        elif number >= s.snd_una:
            s.snd_una = number + 1
            update_scoreboard(net, senders, f, e)
            s.pipe -= 1
            set_timer(net, senders, f)
            s.backoff = 1.0
        elif s.lost_all == 0 and update_scoreboard(net, senders, f, e) and s.duplicates > 0:
            s.duplicates += 1
        if s.prr == 1 and s.recovering == 1:
            s.pipe = pipe
            reduce_on_ack(senders, f, before, top)
        return 1
    if number > s.last:
        s.partial = 0
        discard_acked(net, senders, f, number)
        s.lost_all = 0
        clear(senders, f)
        return 2
    if number == s.last and s.lost_all == 0 and update_scoreboard(net, senders, f, e):
        s.duplicates += 1
        if s.duplicates <= DUPLICATES:
            s.duplicates -= 1
            duplicate(net, senders, f)
    return 1 if s.duplicates == 0 else 0


@inlined
def receive(net: Any, senders: Any, f: int, e: int) -> None:
    """Process an ACK and send the packets it permits."""
    packet = net.packet
    s = senders.flow[f]
    number = int64(packet[e].number)
    s.rtt = senders.clock[NOW] - net.sent_at[e]
    marked = packet[e].marked == 1
    if marked and s.accurate == 0 and number > s.recover:
        cut_back(senders, f, ON_MARK)
    if s.recovery == SACK:
        act = receive_selective(net, senders, f, e, number)
    else:
        act = 1
        if number > s.last:
            if s.recovery == NEWRENO and s.action == LOSS and number < s.recover:
                partial_ack(net, senders, f, number)
            else:
                advance(net, senders, f, number)
                act = 2
        elif number == s.last:
            duplicate(net, senders, f)
    if act == 2 and (s.accurate == 1 or not marked):
        grow(senders, f)
    if marked and s.accurate == 1:
        answer_mark(senders, f)
    if s.recovery == SACK:
        if s.samples == 1:
            report_deliveries(net, senders, f, net.sent_at[e], float(packet[e].marked))
        if act > 0:
            send_selective(net, senders, f, False)
    elif s.duplicates == 0 or s.duplicates >= DUPLICATES or s.recovery == TAHOE:
        most = 2 if s.recovery == NEWRENO and s.duplicates > 0 else 0
        send(net, senders, f, most, False)


@inlined
def expire(net: Any, senders: Any, f: int) -> bool:
    """Handle a retransmission timeout: resend from the first unacknowledged packet."""
    s = senders.flow[f]
    s.deadline = math.inf
    if s.recovery != TAHOE:
        s.duplicates = 0
        s.inflation = 0
    if s.recovery == SACK:
        s.recovering = 0
        s.lost_all = 1
        s.last = max(s.last, s.snd_una - 1)
        s.recover = s.snd_max - 1
        clear(senders, f)
    if s.samples == 1:
        discard_sent(senders.flow, f)
    if s.snd_una == s.snd_max:
        return False
    s.recover = s.snd_max - 1
    if s.snd_una == 0:
        s.first_window = 1.0
    s.timeouts += 1
    s.cwnd = min(max(1.0, s.cwnd), s.most)
    call_event(senders.events[s.kind, ON_TIMEOUT], s, senders.clock[NOW], s.rtt, 1.0, 0.0)
    if senders.clock[NS2] == 1.0:
        s.ssthresh = float(int(s.ssthresh))
    s.loss_events += 1
    s.reduced = 1
    back_off(senders, f)
    set_timer(net, senders, f)
    s.snd_nxt = s.snd_una
    s.timing = 0
    s.action = EXPIRED
    return True
