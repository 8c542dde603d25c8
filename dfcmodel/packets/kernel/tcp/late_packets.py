"""Loss detection by time (RFC 8985, 6.2), for senders whose recovery has ``by_time``, and alarms of recoveries.

Unlike in the RFC, an ACK identifies the transmission that it acknowledges, as with a timestamp option of exact clock:
no round-trip time is ambiguous. There is no DSACK (RFC 2883).
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import compiled

from ..layout import NATIVE, ON_MARK, int64
from .deliveries import (
    clear_sample,
    count_covered,
    find_reported,
    has_lost_above,
    is_beyond_reports,
    is_covered,
    on_packet_lost,
    outstanding,
    report_sample,
)
from .native_records import list_packet
from .native_rules import begin_ack, collect_acked, report_ack, report_native
from .recovery import (
    BURST,
    GROW,
    NEWLY_LOST,
    ON_ACK_IN_RECOVERY,
    ON_ALARM,
    ON_DUPLICATE,
    ON_REPORT,
    UNREPAIRED,
    cut_back,
    recover,
)
from .segments import update_smooth_rtt
from .selective import update_scoreboard
from .timers import NOW, set_timer, update_rtt_estimate

__all__ = ["find_lost", "process_alarm", "process_report"]

LATENESS_TOLERANCE = 1e-9
"""Tolerance of the time at which a packet is declared lost, s."""


@compiled
def is_passed(senders: Any, f: int, number: int) -> bool:
    """Return whether a packet above ``number``, sent at the newest reported time, is acknowledged (RACK_sent_after)."""
    s = senders.flow[f]
    d = senders.rule[s.rule]
    for k in range(d.sent_first, d.sent_last):
        r = senders.history[d.history + (k & d.sent_mask)]
        if r.sent > s.newest_sent or is_beyond_reports(senders, f, k, r.number):
            return False
        if r.sent == s.newest_sent and r.number > number and is_covered(senders, f, r.number):
            return True
    return False


@compiled
def find_lost(senders: Any, f: int) -> float:
    """List flow f's transmissions lost by now to be resent, set ``next_loss``; return how many (RFC 8985, 6.2, 5).

    Records are in order of transmission, so that the first packet that may still arrive ends the search.
    """
    history = senders.history
    s = senders.flow[f]
    d = senders.rule[s.rule]
    now = senders.clock[NOW]
    lost = 0.0
    s.next_loss = math.inf
    while d.sent_first < d.sent_last:
        at = d.history + (d.sent_first & d.sent_mask)
        r = history[at]
        if not is_covered(senders, f, r.number):
            if r.sent > s.newest_sent or (r.sent == s.newest_sent and not is_passed(senders, f, r.number)):
                return lost
            due = r.sent + s.newest_rtt + s.reorder_window
            if due > now + LATENESS_TOLERANCE:
                s.next_loss = due
                return lost
            if d.again_last - d.again_first > d.sent_mask:
                d.again_first += 1
            on_packet_lost(senders, f, at)
            lost += 1.0
        elif s.listed == NATIVE and senders.slot[at].bytes != 0:
            list_packet(senders, f, at, False)  # sent again at a timeout, and acknowledged by an earlier transmission
        d.sent_first += 1
    return lost


@compiled
def acknowledge_data(net: Any, senders: Any, f: int, number: int) -> None:
    """Release data up to packet ``number``, with RTT estimate and timer; the scoreboard stays as it is."""
    s = senders.flow[f]
    s.dupacks = 0
    s.lost_all = 0
    s.snd_una = number + 1
    s.snd_nxt = max(s.snd_nxt, number + 1)
    if s.timing == 1 and number >= s.timed:
        s.backoff = 1.0
        s.timing = 0
        update_rtt_estimate(senders, f)
    if s.snd_una < s.snd_max or s.snd_nxt < s.size:
        set_timer(net, senders, f)  # RFC 6298, 5.3
    else:
        s.deadline = math.inf  # RFC 6298, 5.2


@compiled
def update_newest(senders: Any, f: int, sent: float) -> None:
    """Update min RTT, RACK's newest packet and ``reordered`` by an ACK of a packet sent at ``sent``, s (RFC 8985)."""
    s = senders.flow[f]
    rtt = senders.clock[NOW] - sent
    s.min_rtt = min(s.min_rtt, rtt)
    s.reordered = 0
    if sent < s.newest_sent:
        s.reordered = 1
    else:
        s.newest_sent = sent
        s.newest_rtt = rtt


@compiled
def report_late(net: Any, senders: Any, f: int, newest: int, marked: float, acked: float, lost: float) -> None:
    """Call flow f's rule of deliveries as `report_sample` does, with row ``newest`` of ``history``; -1: none."""
    if newest >= 0:
        d = senders.rule[senders.flow[f].rule]
        r = senders.history[newest]
        d.sample[12] = 1.0 if r.limited > 0.0 and r.in_flight == 1.0 else 0.0
    report_sample(net, senders, f, newest, marked, acked, lost)


@compiled
def process_report(net: Any, senders: Any, f: int, e: int) -> tuple[bool, float]:
    """Process ACK e with loss detection by time; return (the window may grow, packets to send now: inf no limit)."""
    s = senders.flow[f]
    w = senders.exchange
    number = int64(net.packet[e].number)
    if net.packet[e].marked == 1 and s.accurate == 0 and number > s.recover:
        cut_back(senders, f, ON_MARK)
        if s.listed == NATIVE:  # before the recovery, which may read the window
            report_ack(net, senders, f, e, True, int64(0))
    in_recovery = s.recovering == 1
    before = int64(s.snd_una) + int64(s.sacked)
    acked = max(number + 1 - int64(s.snd_una), int64(0))
    if acked > 0:
        if s.segments == 1:
            update_smooth_rtt(senders, f)
        acknowledge_data(net, senders, f, number)
    if s.lost_all == 0:
        update_scoreboard(net, senders, f, e)
        if s.sacked == 0:
            s.top = -1
    delivered = int64(s.snd_una) + int64(s.sacked) - before
    if delivered <= 0:
        return False, (0.0 if s.dupacks > 0 else math.inf)
    update_newest(senders, f, net.sent_at[e])
    newest = int64(-1)
    if s.samples == 1:
        newest = find_reported(senders, f, net.sent_at[e])
    w[NEWLY_LOST] = 0.0
    w[UNREPAIRED] = 0.0
    recover(net, senders, f, ON_REPORT, float(acked), float(delivered))
    if acked == 0:
        s.dupacks += 1
    if s.samples == 1:
        clear_sample(senders, f)
    if s.listed == NATIVE:
        begin_ack(net, senders, f, e, True)
        collect_acked(senders, f, s.newest_sent)
    lost = find_lost(senders, f)
    w[NEWLY_LOST] = lost
    if s.samples == 1:
        count_covered(senders, f)
        s.pipe = float(outstanding(senders, f)) + float(delivered) + lost
    w[UNREPAIRED] = 1.0 if has_lost_above(senders, f, int64(s.snd_una - 1)) else 0.0
    event = ON_ACK_IN_RECOVERY if acked > 0 else ON_DUPLICATE
    recover(net, senders, f, event, float(acked), float(delivered))
    if s.samples == 1:
        report_late(net, senders, f, newest, float(net.packet[e].marked), float(delivered), lost)
    grows = w[GROW] != 0.0 or (acked > 0 and not in_recovery and s.recovering == 0)
    return grows, w[BURST]


@compiled
def process_alarm(net: Any, senders: Any, f: int) -> bool:
    """Process the alarm of flow f's recovery; return whether packets may be sent."""
    s = senders.flow[f]
    w = senders.exchange
    s.alarm = math.inf
    if senders.recoveries[s.recovery, ON_ALARM] == 0:
        return False
    w[NEWLY_LOST] = 0.0
    w[UNREPAIRED] = 0.0
    if s.by_time == 1:
        if s.samples == 1:
            clear_sample(senders, f)
        w[NEWLY_LOST] = find_lost(senders, f)
        w[UNREPAIRED] = 1.0 if has_lost_above(senders, f, int64(s.snd_una - 1)) else 0.0
    lost = w[NEWLY_LOST]
    if s.samples == 1:
        count_covered(senders, f)
        s.pipe = float(outstanding(senders, f)) + lost
    recover(net, senders, f, ON_ALARM, 0.0, 0.0)
    if s.samples == 1:
        report_late(net, senders, f, int64(-1), 0.0, 0.0, lost)
    if s.listed == NATIVE:
        report_native(net, senders, f)
    return w[BURST] >= 1.0
