"""Native rules: congestion control in a shared library, called by address (`hopflow_cc.h`).

The record of a flow in ``native`` begins with the structures of the header: what the rule decides, and what has
happened. How this differs from a rule in Python:

1. One call reports all that an ACK or a loss timer acknowledges and loses. It comes after the loss recovery has
   processed the event, and before packets are sent in response: `recover` calls `report_native` before it sends. A
   reduction for a mark (RFC 3168) is reported before, by a call without packets.
2. `on_sent` is called for each packet, as it leaves.
3. Transmissions have a second record, ``slot``, beside that in ``history``. It has room for what the rule writes.

Without a recovery by time a packet is lost if it was sent ``threshold`` packets before an acknowledged one: 3, as in
RFC 9002, 6.1.1, or 1 where the window limits packets in flight, as for rules of deliveries.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import call_native, compiled, inlined

from ..calendar_queue import FAULT
from ..layout import SENT_PACKET_SIZE, int64
from .deliveries import is_beyond_reports, on_packet_lost, on_packet_sent
from .native_decisions import MAX_WINDOW, RING, find_fault, find_time_fault
from .native_records import grow_ring, list_acked, list_packet
from .selective import is_sacked
from .timers import ACK_DELAY, JITTER, NOW, wake_at

__all__ = [
    "ACK",
    "APPLY",
    "FUNCTIONS",
    "REPORT",
    "apply_answer",
    "begin_ack",
    "collect_acked",
    "lose_all",
    "on_native_sent",
    "on_native_timer",
    "report_ack",
    "report_in_order",
    "report_native",
    "report_timeout",
]

LOSSES, MARKS = 1, 2
"""Places in ``rule_state``, after the pacing rate, of the counts of events of the window rule since the last report."""
STARTS_RECOVERY, IN_RECOVERY, PERSISTENT, APP_LIMITED, WINDOW_LIMITED, MARK_EVENT, REPAIRING = 1, 2, 4, 8, 16, 32, 64
"""Flags of an event, as in the header."""
FUNCTIONS = ("on_sent", "on_ack", "on_timeout", "on_timer")
SENT, ACK, TIMEOUT, TIMER = range(4)
"""Functions of a rule: indices in `FUNCTIONS`."""
REPORT, APPLY = 1, 2
"""What is left to do after `report_in_order`: `report_ack`, or `apply_answer`; 0: nothing."""
SMOOTHING, DEVIATION = 0.125, 0.25
"""Weights of a sample in the smoothed round-trip time and in its variance (RFC 9002, 5.3)."""
PERSISTENT_THRESHOLD = 3.0
"""Probe timeouts after which congestion is persistent (RFC 9002, 7.6.1, kPersistentCongestionThreshold)."""
GRANULARITY = 1e-3
"""Granularity of a timer, s (RFC 9002, 6.1.2, kGranularity)."""


@inlined
def begin_ack(net: Any, senders: Any, f: int, e: int, validated: bool) -> None:
    """Store time and mark of ACK e, and window use, for flow f's report; not ``validated``: application-limited."""
    s = senders.flow[f]
    n = senders.native[s.native]
    n.ack_sent = net.sent_at[e]
    n.ack_marked = net.packet[e].marked
    n.limited = 0 if validated else 1
    n.full = 1 if is_window_full(senders, f) else 0


@inlined
def is_window_full(senders: Any, f: int) -> bool:
    """Return whether flow f's window has no room for another packet."""
    s = senders.flow[f]
    return bool(senders.native[s.native].flight + 1 > int64(min(s.cwnd, s.most)))


@inlined
def collect_acked(senders: Any, f: int, until: float) -> int:
    """List flow f's packets sent by ``until``, s, and acknowledged by now; return the last record's number, or -1.

    With a recovery by time this comes before it discards their records.
    """
    s = senders.flow[f]
    d = senders.rule[s.rule]
    newest = int64(-1)
    while d.sent_first < d.sent_last:
        at = d.history + (d.sent_first & d.sent_mask)
        packet = senders.slot[at]
        if packet.sent > until:
            return newest
        if packet.bytes != 0:
            if packet.data >= s.snd_una and not is_sacked(senders, f, packet.data):
                break
            list_acked(senders, f, at)
            newest = d.sent_first
        d.sent_first += 1
    for k in range(d.sent_first + 1, d.sent_last):
        at = d.history + (k & d.sent_mask)
        packet = senders.slot[at]
        if packet.sent > until or is_beyond_reports(senders, f, k, packet.data):
            break
        if packet.bytes != 0 and (packet.data < s.snd_una or is_sacked(senders, f, packet.data)):
            list_packet(senders, f, at, False)
            newest = int64(k)
    return newest


@inlined
def collect_in_order(senders: Any, f: int) -> None:
    """List flow f's packets that are acknowledged or lost by now, without a recovery by time: paths keep the order."""
    s = senders.flow[f]
    n = senders.native[s.native]
    d = senders.rule[s.rule]
    newest = collect_acked(senders, f, n.ack_sent)
    for k in range(d.sent_first, newest - n.threshold + 1):
        at = d.history + (k & d.sent_mask)
        if senders.slot[at].bytes == 0:
            continue
        if s.samples == 1:
            on_packet_lost(senders, f, at)
        else:
            list_packet(senders, f, at, True)
    while d.sent_first < d.sent_last and senders.slot[d.history + (d.sent_first & d.sent_mask)].bytes == 0:
        d.sent_first += 1


@compiled
def lose_all(senders: Any, f: int) -> None:
    """List all packets of flow f in flight as lost, at a timeout."""
    s = senders.flow[f]
    d = senders.rule[s.rule]
    senders.native[s.native].in_order = 0
    for k in range(d.sent_first, d.sent_last):
        at = d.history + (k & d.sent_mask)
        if senders.slot[at].bytes != 0:
            list_packet(senders, f, at, True)


@compiled
def fail(net: Any, senders: Any, f: int, function: int, what: int) -> None:
    """Record that ``function`` of flow f's rule decided ``what``, an index in `FAULTS`; the run stops soon after."""
    n = senders.native[senders.flow[f].native]
    n.failed = what
    n.failed_in = function
    n.failed_at = senders.clock[NOW]
    n.in_order = 0
    n.is_alone = 0
    net.counters[FAULT] = 1


@inlined
def smooth_rtt(senders: Any, f: int) -> None:
    """Update the round-trip times of flow f's native rule by an ACK of a new packet, not the first (RFC 9002, 5.3)."""
    s = senders.flow[f]
    n = senders.native[s.native]
    n.min_rtt = min(n.min_rtt, s.rtt)
    n.rtt_variance += DEVIATION * (abs(n.smoothed_rtt - s.rtt) - n.rtt_variance)
    n.smoothed_rtt += SMOOTHING * (s.rtt - n.smoothed_rtt)


@inlined
def update_rtt(senders: Any, f: int) -> None:
    """Update the round-trip times of flow f's native rule by an ACK of a new packet (RFC 9002, 5.2 and 5.3)."""
    s = senders.flow[f]
    n = senders.native[s.native]
    if n.smoothed_rtt == 0.0:
        n.smoothed_rtt = s.rtt
        n.rtt_variance = 0.5 * s.rtt
        n.min_rtt = s.rtt
    else:
        smooth_rtt(senders, f)


@inlined
def fill_event(senders: Any, f: int, before: int, flags: int) -> None:
    """Set the fields of flow f's rule that all events have; ``before``: packets in flight before this event."""
    s = senders.flow[f]
    n = senders.native[s.native]
    n.now = senders.clock[NOW]
    n.now_ns = int64(1e9 * senders.clock[NOW] + 0.5)
    n.in_flight_before = before
    n.in_flight = n.flight
    n.marked = 0
    n.growth = 0
    n.flags = flags
    if s.snd_una <= s.recover:
        n.flags += REPAIRING
    n.acked_count = 0
    n.lost_count = 0
    n.packet = 0


@inlined
def begin_event(senders: Any, f: int, before: int, flags: int) -> None:
    """Fill flow f's event (`fill_event`); set its window and ssthresh, which the recovery may have changed."""
    s = senders.flow[f]
    n = senders.native[s.native]
    if n.unit == 1.0:
        n.window = s.cwnd
        n.ssthresh = s.ssthresh
    else:  # division and multiplication may differ from what the rule has decided
        if s.cwnd != n.last_window:
            n.window = s.cwnd * n.unit
        if s.ssthresh != n.last_ssthresh:
            n.ssthresh = s.ssthresh * n.unit
    fill_event(senders, f, before, flags + (IN_RECOVERY if s.recovering == 1 else 0))


@compiled
def in_packets(senders: Any, f: int, amount: float) -> float:
    """Return an amount of flow f's rule, in bytes, in packets; a call, since others need not wait for the division."""
    return amount / float(senders.native[senders.flow[f].native].unit)


@compiled
def apply_times(net: Any, senders: Any, f: int, function: int) -> int:
    """Check and apply the times, s, and the quantum that flow f's rule decided; return an index in `FAULTS`, or 0."""
    n = senders.native[senders.flow[f].native]
    now = senders.clock[NOW]
    departure = n.departure
    timer = n.timer
    if n.nanoseconds == 1:
        departure = 1e-9 * float(n.departure_ns)
        timer = 1e-9 * float(n.timer_ns)
    earliest = now if function == TIMER else 0.0
    wrong = find_time_fault(departure, timer, n.send_quantum, earliest, n.on_timer != 0)
    if wrong > 0:
        return wrong
    n.departs = departure
    n.timer_at = max(timer, now) if timer > 0.0 else math.inf
    if n.timer_at < n.timer_event:
        n.timer_event = n.timer_at
        wake_at(net, f, n.timer_at, f)
    return 0


@inlined
def apply_plain(senders: Any, f: int) -> bool:
    """Apply a valid window and ssthresh of flow f's rule; False: it decides, or has decided, more than them."""
    s = senders.flow[f]
    n = senders.native[s.native]
    if n.is_plain == 0 or n.pacing_rate != 0.0 or n.departure != 0.0 or n.timer != 0.0 or n.send_quantum != 0.0:
        return False
    window, ssthresh = n.window, n.ssthresh
    if not (1.0 <= window <= MAX_WINDOW and ssthresh >= 0.0):
        return False
    s.cwnd = window
    s.ssthresh = ssthresh
    return True


@inlined
def apply_control(net: Any, senders: Any, f: int, function: int) -> None:
    """Check and apply window, rate and times that flow f's rule decided in ``function``; invalid: the run ends."""
    s = senders.flow[f]
    n = senders.native[s.native]
    window, ssthresh, rate = n.window, n.ssthresh, n.pacing_rate
    if n.unit != 1.0:
        window = in_packets(senders, f, window)
        ssthresh = in_packets(senders, f, ssthresh)
        rate = in_packets(senders, f, rate)
    wrong = find_fault(rate, window, ssthresh)
    if wrong == 0:
        if n.departure != 0.0 or n.timer != 0.0 or n.send_quantum != 0.0 or n.nanoseconds == 1:
            wrong = apply_times(net, senders, f, function)
        else:
            n.departs = 0.0
            n.timer_at = math.inf
    n.is_plain = 0
    if wrong > 0:
        fail(net, senders, f, function, wrong)
        return
    s.cwnd = window
    n.last_window = window
    s.ssthresh = ssthresh
    n.last_ssthresh = ssthresh
    senders.rule[s.rule].rule_state[0] = rate if rate > 0.0 else math.inf
    now = senders.clock[NOW]
    s.paced = 1 if rate > 0.0 or n.departs > now else 0
    if s.paced == 0 and n.departs == 0.0 and n.timer_at == math.inf and n.unit == 1.0 and n.nanoseconds == 0:
        n.is_plain = 1
    if s.held_until < math.inf and senders.clock[JITTER] == 0.0:
        due = max(now, max(s.pace_at, n.departs)) if s.paced == 1 else now
        if due < s.held_until:
            s.held_until = due
            wake_at(net, f, due, f)


@inlined
def write_record(senders: Any, f: int, k: int, number: int) -> None:
    """Write the record of transmission k of flow f, of packet ``number``, which is sent now; count it."""
    s = senders.flow[f]
    n = senders.native[s.native]
    d = senders.rule[s.rule]
    packet = senders.slot[d.history + (k & d.sent_mask)]
    packet.number = k
    packet.data = number
    packet.bytes = n.packet_bytes
    packet.sent = senders.clock[NOW]
    packet.sent_ns = int64(1e9 * senders.clock[NOW] + 0.5)
    n.flight += 1


@inlined
def record_transmission(senders: Any, f: int, number: int, is_new: bool) -> bool:
    """Record the transmission of new packet ``number`` of flow f; False, without a change, if it is of another kind."""
    s = senders.flow[f]
    n = senders.native[s.native]
    d = senders.rule[s.rule]
    last = d.sent_last
    if n.is_alone == 0 or not is_new or last - d.sent_first > d.sent_mask:
        return False
    d.sent_last = last + 1
    write_record(senders, f, last, number)
    return True


@inlined
def on_native_sent(net: Any, senders: Any, f: int, number: int, is_new: bool) -> None:
    """Record the transmission of packet ``number`` of flow f, the first one if ``is_new``, and call its rule for it."""
    if not record_transmission(senders, f, number, is_new):
        record_any_transmission(net, senders, f, number, is_new)
    elif senders.native[senders.flow[f].native].by_packet == 1 and not report_sent(senders, f, number):
        apply_answer(net, senders, f, SENT)


@compiled
def record_any_transmission(net: Any, senders: Any, f: int, number: int, is_new: bool) -> None:
    """Do as `on_native_sent` for each kind of transmission: also the first one, repeated ones, with a full ring."""
    s = senders.flow[f]
    n = senders.native[s.native]
    d = senders.rule[s.rule]
    if n.failed > 0:
        return
    # A lost packet leaves one ring for the other: neither is ever full.
    if d.sent_last - d.sent_first + d.again_last - d.again_first > d.sent_mask:
        if d.sent_mask == n.most_mask:
            fail(net, senders, f, SENT, RING)
            return
        grow_ring(senders, f)
    k = int64(d.sent_last)
    if not is_new:
        n.ordered_from = k + 1
        n.in_order = 0
    if s.samples + s.by_time > 0:
        on_packet_sent(senders, f, number)
    else:
        if senders.slot[d.history + ((k - 1) & d.sent_mask)].data >= number:
            s.descent = k
        d.sent_last = k + 1
    write_record(senders, f, k, number)
    if n.by_packet == 0:
        return
    n.by_packet = 1 if n.on_sent != 0 else 0
    n.is_alone = 1 if s.samples + s.by_time == 0 else 0
    if not report_sent(senders, f, number):
        apply_control(net, senders, f, SENT)


@compiled
def report_sent(senders: Any, f: int, number: int) -> bool:
    """Call flow f's rule for packet ``number``, recorded last; return False if its decision is left to apply.

    Without `on_sent` the decision is that of `init`.
    """
    s = senders.flow[f]
    n = senders.native[s.native]
    d = senders.rule[s.rule]
    flags = 0
    if s.supply != 0 and number + 1 >= s.size and n.flight < int64(min(s.cwnd, s.most)):
        flags = APP_LIMITED
    begin_event(senders, f, n.flight - 1, flags)
    if n.on_sent != 0:
        at = d.history + ((d.sent_last - 1) & d.sent_mask)
        for word in range(8):
            senders.slot[at].slot[word] = 0
        n.packet = n.slots + at * SENT_PACKET_SIZE
        call_native(n.on_sent, n.state, n)
    return apply_plain(senders, f)


@inlined
def report_in_order(senders: Any, f: int, sent: float, validated: bool, growth: int) -> int:
    """Report an ACK without a mark, outside of recovery; return what is left to do: `REPORT`, `APPLY`, or 0, nothing.

    It is the short way of `report_ack`, of records that are acknowledged in the order in which they were sent.

    Parameters
    ----------
    senders, f
        Senders, and the flow.
    sent
        When the packet was sent that the ACK acknowledges, s.
    validated, growth
        As of `report_ack`.
    """
    s = senders.flow[f]
    n = senders.native[s.native]
    d = senders.rule[s.rule]
    if n.in_order == 0:
        return REPORT
    first = d.sent_first
    row = first & d.sent_mask
    count = d.sent_last - first - (s.snd_max - s.snd_una)
    if count < 1 or row + count > d.sent_mask + 1:
        return REPORT
    newest = senders.slot[d.history + row + count - 1].sent
    if newest > sent:
        return REPORT
    flags = 0 if validated else APP_LIMITED
    if is_window_full(senders, f):
        flags += WINDOW_LIMITED
    before = n.flight
    n.flight = before - count
    d.sent_first = first + count
    smooth_rtt(senders, f)
    n.newest_acked = newest
    fill_event(senders, f, before, flags)
    n.latest_rtt = s.rtt
    n.growth = growth
    n.acked_count = count
    n.acked = n.slots + (d.history + row) * SENT_PACKET_SIZE
    call_native(n.on_ack, n.state, n)
    return 0 if apply_plain(senders, f) else APPLY


@inlined
def report(net: Any, senders: Any, f: int, growth: int) -> None:
    """Call flow f's rule for an ACK or loss timer if anything is unreported; ``growth``: ACKs that grow the window."""
    s = senders.flow[f]
    n = senders.native[s.native]
    d = senders.rule[s.rule]
    if s.by_time == 0:
        collect_in_order(senders, f)
    losses = d.rule_state[LOSSES]
    marks = d.rule_state[MARKS]
    if n.failed > 0 or (n.new_acked + n.new_lost + growth == 0 and losses + marks == 0.0):
        return
    d.rule_state[LOSSES] = 0.0
    d.rule_state[MARKS] = 0.0
    if n.new_acked > 0:
        update_rtt(senders, f)
        n.newest_acked = max(n.newest_acked, senders.slot[n.first_acked + n.new_acked - 1].sent)
        if n.lost_from < n.newest_acked:
            n.lost_from = math.inf
    n.latest_rtt = s.rtt
    before = s.cwnd
    flags = STARTS_RECOVERY if losses > 0.0 else 0
    if n.limited == 1:
        flags += APP_LIMITED
    if n.full == 1:
        flags += WINDOW_LIMITED
    if marks > 0.0 and s.accurate == 0:
        flags += MARK_EVENT
    begin_event(senders, f, n.flight + n.new_acked + n.new_lost, flags)
    n.marked = int64(marks) if s.accurate == 1 else int64(n.ack_marked)
    n.growth = growth
    n.acked_count = n.new_acked
    n.lost_count = n.new_lost
    n.acked = n.slots + n.first_acked * SENT_PACKET_SIZE
    call_native(n.on_ack, n.state, n)
    n.new_acked = 0
    n.new_lost = 0
    n.ack_marked = 0
    n.limited = 0
    n.full = 0
    apply_control(net, senders, f, ACK)
    n.in_order = 0
    if s.by_time + n.failed == 0 and d.sent_first >= n.ordered_from:
        n.in_order = 1 if n.smoothed_rtt > 0.0 and n.lost_from == math.inf else 0
    if marks > 0.0 and s.accurate == 1 and s.cwnd < before:
        s.loss_events += 1
        s.reduced = 1


@compiled
def apply_answer(net: Any, senders: Any, f: int, function: int) -> None:
    """Check and apply what flow f's rule has decided in ``function``; see `apply_control`."""
    apply_control(net, senders, f, function)


@compiled
def report_native(net: Any, senders: Any, f: int) -> None:
    """Call flow f's rule, if anything is unreported, before a packet is sent in recovery, or for a loss timer."""
    report(net, senders, f, int64(0))


@compiled
def report_ack(net: Any, senders: Any, f: int, e: int, validated: bool, growth: int) -> None:
    """Call the rule for the ACK in packet e, see `begin_ack`; ``growth`` is the number of ACKs that grow the window."""
    begin_ack(net, senders, f, e, validated)
    s = senders.flow[f]
    if s.accurate == 1 and net.packet[e].marked == 1:
        senders.rule[s.rule].rule_state[MARKS] += 1.0
    report(net, senders, f, growth)


@inlined
def note_lost_span(senders: Any, f: int) -> bool:
    """Note since when packets are lost, with those of this timeout; return whether they span persistent congestion.

    No packet that was sent between them is acknowledged, and a round-trip time was known (RFC 9002, 7.6.1 and 7.6.2).
    """
    n = senders.native[senders.flow[f].native]
    if n.smoothed_rtt == 0.0:
        return False
    last = -1.0
    for k in range(n.new_lost):
        sent = senders.slot[n.lost_at + k].sent
        if sent > n.newest_acked:
            n.lost_from = min(n.lost_from, sent)
            last = max(last, sent)
    probe = n.smoothed_rtt + max(4.0 * n.rtt_variance, GRANULARITY) + senders.clock[ACK_DELAY]
    return last - n.lost_from > PERSISTENT_THRESHOLD * probe


@compiled
def report_timeout(net: Any, senders: Any, f: int) -> None:
    """Call flow f's rule for a retransmission timeout, with the packets that `lose_all` listed."""
    s = senders.flow[f]
    n = senders.native[s.native]
    d = senders.rule[s.rule]
    if n.failed > 0:
        return
    d.rule_state[LOSSES] = 0.0
    d.rule_state[MARKS] = 0.0
    flags = PERSISTENT if note_lost_span(senders, f) else 0
    begin_event(senders, f, n.flight + n.new_acked + n.new_lost, flags)
    n.acked_count = n.new_acked
    n.lost_count = n.new_lost
    n.acked = n.slots + n.first_acked * SENT_PACKET_SIZE
    call_native(n.on_timeout, n.state, n)
    n.new_acked = 0
    n.new_lost = 0
    apply_control(net, senders, f, TIMEOUT)


@compiled
def on_native_timer(net: Any, senders: Any, f: int) -> bool:
    """Call flow f's rule if its timer has expired; return whether it was called; too early: schedule the event again.

    A timer that was set again to a later time keeps its first event, after which the event of the later time is
    scheduled: a rule may set its timer at each ACK.
    """
    n = senders.native[senders.flow[f].native]
    now = senders.clock[NOW]
    if now < n.timer_event or n.failed > 0:
        return False
    n.timer_event = math.inf
    if n.timer_at > now:
        if n.timer_at < math.inf:
            n.timer_event = n.timer_at
            wake_at(net, f, n.timer_at, f)
        return False
    n.timer_at = math.inf
    n.timer = 0.0
    n.timer_ns = 0
    begin_event(senders, f, n.flight, 0)
    call_native(n.on_timer, n.state, n)
    apply_control(net, senders, f, TIMER)
    return True
