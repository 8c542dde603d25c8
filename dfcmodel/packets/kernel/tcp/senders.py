"""TCP senders: the functions common to all loss recoveries; window rules and recoveries are called by address.

Sequence numbers are named as in RFC 9293, in packets. The oracle (`tests.oracles.packets.senders`) has a class for
each of the recoveries in plain Python.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import compiled, inlined

from ..layout import COUNTED, IN_SLOW_START, NATIVE, ON_ACK, ON_MARK, ON_TIMEOUT, int64
from ..random_numbers import uniform
from .arrivals import may_grow
from .deliveries import discard_sent, has_lost_above, mark_limited, report_deliveries
from .emission import output
from .handshake import open_connection, resend_syn
from .late_packets import process_report
from .native_rules import (
    ACK,
    APPLY,
    REPORT,
    apply_answer,
    begin_ack,
    lose_all,
    report_ack,
    report_in_order,
    report_timeout,
)
from .native_sending import send_native, send_one_by_one
from .ns2 import is_ns2, open_window, truncate_ssthresh
from .pacing import send_by_pipe, send_paced
from .recovery import (
    BURST,
    GROW,
    NEWLY_LOST,
    ON_ACK_IN_RECOVERY,
    ON_DUPLICATE,
    ON_EXPIRY,
    UNREPAIRED,
    cut_back,
    recover,
)
from .rules import call_rule
from .segments import send_segments
from .selective import clear_scoreboard, count_holes, update_scoreboard
from .timers import (
    JITTER,
    NOW,
    back_off,
    set_timer,
    update_rtt_estimate,
    wake_at,
)

__all__ = [
    "answer_mark",
    "discard_acked",
    "expire",
    "grow_window",
    "receive",
    "recover_at_timeout",
    "send",
    "send_window",
    "update_by_ack",
]

UNLIMITED = 1e9  # packets; a larger burst is unlimited


@inlined
def send_window(net: Any, senders: Any, f: int, burst: int, forced: bool) -> None:
    """Send new packets of flow f up to the window, with jitter later unless ``forced``; ``burst`` 0: no limit."""
    clock = senders.clock
    s = senders.flow[f]
    window = min(int(min(s.cwnd, s.most)) + int(s.inflation), int(s.most))
    sent = 0
    while s.snd_nxt < s.snd_una + window and s.snd_nxt < s.size:
        if not forced and clock[JITTER] > 0.0:
            s.held_until = clock[NOW] + clock[JITTER] * uniform(net.stream, len(net.port) - 1 + f)
            wake_at(net, f, s.held_until, f)
            return
        output(net, senders, f, int64(s.snd_nxt))
        s.snd_nxt += 1
        sent += 1
        if sent == burst:
            break


@inlined
def is_by_pipe(senders: Any, f: int) -> bool:
    """Return whether `send_by_pipe` sends for flow f: in recovery, with SACKed packets, paced, or without new data."""
    s = senders.flow[f]
    return bool(s.recovering + s.sacked + s.paced > 0 or s.snd_nxt >= s.size)


@inlined
def send(net: Any, senders: Any, f: int, burst: int, forced: bool) -> None:
    """Send packets of flow f that window or pipe permit, at most ``burst`` (0: no limit); ``forced``: without delay."""
    s = senders.flow[f]
    if not forced and s.held_until < math.inf:
        return
    if s.selective == 1 and s.listed == NATIVE and (senders.native[s.native].by_packet == 1 or is_by_pipe(senders, f)):
        if is_by_pipe(senders, f) or (senders.clock[JITTER] > 0.0 and not forced):
            send_native(net, senders, f, burst, forced)
        else:
            send_one_by_one(net, senders, f, burst, forced)
    elif s.selective == 1 and is_by_pipe(senders, f):
        send_by_pipe(  # draws a random wait before it checks for data
            net, senders, f, burst, forced
        )
    elif s.paced == 1:
        send_paced(net, senders, f, burst, forced)
    elif s.segments == 1:
        send_segments(net, senders, f, burst, forced)
    else:
        send_window(net, senders, f, burst, forced)


@inlined
def grow_window(senders: Any, f: int) -> None:
    """Call flow f's window rule for one ACK of new data."""
    s = senders.flow[f]
    call_rule(senders, f, ON_ACK, s.rtt, 1.0, 0.0)
    open_window(senders, f)


@inlined
def discard_acked(net: Any, senders: Any, f: int, number: int) -> None:
    """Release flow f's data up to packet ``number`` outside recovery; update RTT and timer; clear the scoreboard."""
    s = senders.flow[f]
    s.dupacks = 0
    s.snd_una = number + 1
    s.snd_nxt = max(s.snd_nxt, number + 1)
    if s.timing == 1 and number >= s.timed:
        s.backoff = 1.0  # RFC 6298, 5: the next timeout is of a new estimate
        s.timing = 0
        update_rtt_estimate(senders, f)
    if s.snd_una < s.snd_max or s.snd_nxt < s.size:
        set_timer(net, senders, f)  # RFC 6298, 5.3
    else:
        s.deadline = math.inf  # 5.2
    if s.selective == 1:
        s.lost_all = 0
        clear_scoreboard(senders, f)


@inlined
def answer_mark(senders: Any, f: int) -> None:
    """Call flow f's rule for an ACK with a congestion mark; a smaller window counts as a loss event (RFC 8257)."""
    s = senders.flow[f]
    before = s.cwnd
    call_rule(senders, f, ON_MARK, s.rtt, 1.0, 1.0)
    if s.cwnd < before:
        s.loss_events += 1
        s.reduced = 1


@inlined
def call_for_ack(net: Any, senders: Any, f: int, e: int, grows: bool, twice: bool, validated: bool) -> None:
    """Call flow f's rule for ACK e: growth if ``grows`` and ``validated`` (as for two ACKs if ``twice``), and its mark.

    ``grows``: the recovery lets the window grow, ``twice`` by two packets; ``validated``: the window was fully used.
    """
    s = senders.flow[f]
    marked = net.packet[e].marked == 1
    if s.selective == 1 and s.listed == NATIVE:
        growth = int64(0)
        if grows and validated and (s.accurate == 1 or not marked):
            growth = int64(2 if twice and s.recovering == 0 else 1)
        task = REPORT
        if s.recovering + s.sacked == 0 and not marked:
            task = report_in_order(senders, f, net.sent_at[e], validated, growth)
        if task == REPORT:
            report_ack(net, senders, f, e, validated, growth)
        elif task == APPLY:
            apply_answer(net, senders, f, ACK)
        return
    if grows and validated and (s.accurate == 1 or not marked):  # RFC 3168, 6.1.2
        grow_window(senders, f)
        if twice and s.recovering == 0:
            grow_window(senders, f)
    if marked and s.accurate == 1:
        answer_mark(senders, f)


@inlined
def update_by_ack(net: Any, senders: Any, f: int, e: int, acked: int) -> tuple[int, float]:
    """Update snd_una by ``acked``, scoreboard, duplicates; return (column of ``recoveries`` or -1, delivered packets).

    Return the function of the recovery to call, -1: none, and how many packets the ACK reports as received.
    """
    s = senders.flow[f]
    w = senders.exchange
    w[NEWLY_LOST] = 0.0
    w[UNREPAIRED] = 0.0
    if acked < 0 and s.selective == 0:  # overtaken by another ACK: not a duplicate (RFC 5681, 2)
        return -1, 0.0
    if s.recovering == 0 and (acked < 0 or s.lost_all == 1):
        return -1, 0.0
    before, top = int64(s.snd_una) + int64(s.sacked), int64(s.top)
    if acked > 0:
        s.snd_una += acked
        s.snd_nxt = max(s.snd_nxt, s.snd_una)
    counts = acked == 0
    delivered = float(max(acked, int64(0)))
    if s.selective == 1:
        if s.listed == NATIVE:
            begin_ack(net, senders, f, e, True)
        changed = update_scoreboard(net, senders, f, e)
        if s.recovering == 0 and not changed:
            return -1, 0.0
        counts = s.recovering == 0
        delivered = float(s.snd_una + s.sacked - before)
        w[NEWLY_LOST] = count_holes(senders, f, top)
        if s.samples == 1 and has_lost_above(senders, f, int64(s.snd_una - 1)):
            w[UNREPAIRED] = 1.0
    elif s.recovering == 0:
        delivered = 1.0
    if counts:  # RFC 5681, 2 and 3.2; of selective ACKs RFC 6675, 2, DupAcks
        s.dupacks += 1
    return (ON_ACK_IN_RECOVERY if acked > 0 else ON_DUPLICATE), delivered


@inlined
def receive(net: Any, senders: Any, f: int, e: int) -> None:
    """Process ACK e at window sender f: recovery, window rule, then the packets that it permits."""
    packet = net.packet
    s = senders.flow[f]
    w = senders.exchange
    number = int64(packet[e].number)
    s.rtt = senders.clock[NOW] - net.sent_at[e]
    if s.connecting == 1:
        discard_acked(net, senders, f, number)
        open_connection(net, senders, f, e)
        send(net, senders, f, 0, False)
        return
    marked = packet[e].marked == 1
    acked = number + 1 - int64(s.snd_una)
    if s.plain == 1 and s.recovering == 0 and acked > 0 and not marked:  # most ACKs, without the rest's tests
        discard_acked(net, senders, f, number)
        grow_window(senders, f)
        if s.held_until == math.inf:
            send_window(net, senders, f, 0, False)
        return
    validated = s.supply == 0 or may_grow(senders, f)
    counts = s.counted == COUNTED or (s.counted == IN_SLOW_START and s.cwnd < s.ssthresh)
    twice = counts and s.recovering == 0 and acked > 1  # RFC 3465, 2.2, with L = 2
    if s.by_time == 1:
        grows, burst = process_report(net, senders, f, e)
        call_for_ack(net, senders, f, e, grows, twice, validated)
        if burst >= 1.0:
            send(net, senders, f, 0 if burst >= UNLIMITED else int(burst), False)
        return
    if marked and s.accurate == 0 and number > s.recover:  # once per window (RFC 3168, 6.1.2)
        cut_back(senders, f, ON_MARK)
        if s.listed == NATIVE:  # before the recovery, which may read the window
            report_ack(net, senders, f, e, validated, int64(0))
    grows = True
    burst = math.inf
    if s.recovering == 0 and acked > 0:
        discard_acked(net, senders, f, number)
    else:
        in_recovery = s.recovering == 1
        event, delivered = update_by_ack(net, senders, f, e, acked)
        if event >= 0:
            recover(net, senders, f, event, float(max(acked, int64(0))), delivered)
            grows = w[GROW] != 0.0
            burst = w[BURST]
            if in_recovery and s.recovering == 0:
                discard_acked(net, senders, f, int64(s.snd_una - 1))
        else:
            grows = False
            if s.dupacks > 0:
                burst = 0.0
    call_for_ack(net, senders, f, e, grows, twice, validated)
    if s.samples == 1 and s.listed != NATIVE:
        report_deliveries(net, senders, f, net.sent_at[e], float(packet[e].marked))
    if burst >= 1.0:
        send(net, senders, f, 0 if burst >= UNLIMITED else int(burst), False)


@compiled
def recover_at_timeout(net: Any, senders: Any, f: int) -> None:
    """Call the timeout function of flow f's loss recovery."""
    w = senders.exchange
    w[NEWLY_LOST] = 0.0
    w[UNREPAIRED] = 0.0
    recover(net, senders, f, ON_EXPIRY, 0.0, 0.0)


@inlined
def expire(net: Any, senders: Any, f: int) -> bool:
    """Process flow f's retransmission timeout (RFC 6298, 5.4 to 5.6): go back to snd_una; False: nothing in flight."""
    s = senders.flow[f]
    s.deadline = math.inf
    if s.connecting == 1:
        resend_syn(net, senders, f)
        return True
    recover_at_timeout(net, senders, f)
    if s.selective == 1:  # the receiver may have discarded reported packets (RFC 2018, 8)
        s.lost_all = 1
        clear_scoreboard(senders, f)
    if s.listed == NATIVE:
        lose_all(senders, f)
    if s.listed > 0:
        if s.samples == 1 and s.supply != 0:
            mark_limited(senders, f)
        discard_sent(senders, f)
    if s.snd_una == s.snd_max:
        return False
    s.recover = s.snd_max - 1
    if s.snd_una == 0:
        s.first_window = 1.0
    s.timeouts += 1
    s.cwnd = min(max(1.0, s.cwnd), s.most)
    # RFC 5681, 3.1: a window of one packet, and ssthresh by its equation (4), held constant from the second timeout of
    # a packet on; ns-2 sets it at each
    held = s.ssthresh
    is_first = is_ns2(senders) or s.timer_resent != s.snd_una
    s.timer_resent = s.snd_una
    call_rule(senders, f, ON_TIMEOUT, s.rtt, 1.0, 0.0)
    if s.listed == NATIVE:
        report_timeout(net, senders, f)
    if not is_first:
        s.ssthresh = held
    truncate_ssthresh(senders, f)
    s.loss_events += 1
    s.reduced = 1
    back_off(senders, f)  # RFC 6298, 5.5
    set_timer(net, senders, f)  # 5.6
    s.snd_nxt = s.snd_una
    s.timing = 0  # Karn's algorithm (RFC 6298, 3)
    return True
