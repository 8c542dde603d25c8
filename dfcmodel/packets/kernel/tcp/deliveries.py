"""Records of unreported packets: samples of the delivery rate, and losses, for rules of deliveries.

Each flow has a ring of records in order of transmission. Without a recovery by time paths preserve that order: a packet
is lost if a later transmission is acknowledged and it is not. With a recovery by time (`late_packets`) a record is kept
until its packet is lost, or acknowledged together with all earlier ones. The oracle is
`tests.oracles.packets.deliveries`.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from ..calendar_queue import OUT
from ..layout import NATIVE, ON_DELIVERY, int64
from ..random_numbers import uniform
from .native_records import list_packet
from .rules import call_rule
from .selective import is_sacked
from .timers import NOW

__all__ = [
    "LOSSES",
    "clear_sample",
    "count_covered",
    "discard_sent",
    "find_reported",
    "has_lost_above",
    "is_beyond_reports",
    "is_covered",
    "mark_limited",
    "next_lost",
    "on_packet_lost",
    "on_packet_sent",
    "outstanding",
    "report_deliveries",
    "report_sample",
]

LOSSES = (7, 8, 12, 13)
"""Indices in a sample, in the order of `Delivery` from ``marks`` on, of fields that are 0 without loss or restart."""


@inlined
def outstanding(senders: Any, f: int) -> int:
    """Return the number of flow f's packets that are sent and neither acknowledged nor lost."""
    d = senders.rule[senders.flow[f].rule]
    return int64(d.sent_last - d.sent_first - d.covered)


@compiled
def on_packet_sent(senders: Any, f: int, number: int) -> None:
    """Append a record of packet ``number``, sent now by flow f (OnPacketSent of BBR's draft); full: drop the oldest."""
    s = senders.flow[f]
    d = senders.rule[s.rule]
    now = senders.clock[NOW]
    inside = outstanding(senders, f)
    if inside == 0:
        d.first_sent = now
        d.delivered_at = now
    if d.sent_last - d.sent_first > d.sent_mask:
        d.sent_first += 1
        d.lost_total += 1.0
    if senders.history[d.history + ((d.sent_last - 1) & d.sent_mask)].number >= number:
        s.descent = d.sent_last
    r = senders.history[d.history + (d.sent_last & d.sent_mask)]
    r.sent = now
    r.first_sent = d.first_sent
    r.delivered_at = d.delivered_at
    r.delivered = d.delivered
    r.lost = d.lost_total
    r.in_flight = float(inside + 1)
    r.limited = 1.0 if d.limited_until > 0.0 else 0.0
    r.number = number
    d.sent_last += 1


@compiled
def mark_limited(senders: Any, f: int) -> None:
    """Mark flow f's packets in flight as application-limited if it has no data to send and room in its window.

    This is CheckIfApplicationLimited, called at the start of ACKs and timers, and before data arrive.
    """
    s = senders.flow[f]
    d = senders.rule[s.rule]
    inside = outstanding(senders, f)
    if s.snd_nxt < s.size or inside >= int(min(s.cwnd, s.most)):
        return
    for k in range(d.again_first, d.again_last):
        if not is_covered(senders, f, senders.history[d.history + (k & d.sent_mask)].again):
            return
    d.limited_until = max(d.delivered + float(inside), 1.0)


@compiled
def discard_sent(senders: Any, f: int) -> None:
    """Count all packets of flow f in flight as lost, at a timeout, and empty its rings of records."""
    d = senders.rule[senders.flow[f].rule]
    d.lost_total += float(outstanding(senders, f))
    d.sent_first = d.sent_last
    d.covered = 0
    d.again_first = d.again_last


@compiled
def is_covered(senders: Any, f: int, number: int) -> bool:
    """Return whether packet ``number`` of flow f is acknowledged, cumulatively or selectively."""
    return number < senders.flow[f].snd_una or is_sacked(senders, f, number)


@inlined
def is_beyond_reports(senders: Any, f: int, k: int, number: int) -> bool:
    """Return whether all records from running number k on, that of packet ``number``, are above all acknowledged ones.

    Packets ascend from the last descent on. It ends searches in large flights of packets sent at one time.
    """
    s = senders.flow[f]
    return bool(k >= s.descent and number > s.top and number >= s.snd_una)


@compiled
def next_lost(senders: Any, f: int) -> int:
    """Remove and return flow f's first lost packet that is not acknowledged by now; -1: none."""
    d = senders.rule[senders.flow[f].rule]
    while d.again_first < d.again_last:
        number = senders.history[d.history + (d.again_first & d.sent_mask)].again
        d.again_first += 1
        if not is_covered(senders, f, number):
            return number
    return -1


@compiled
def has_lost_above(senders: Any, f: int, number: int) -> bool:
    """Return whether a lost packet of flow f above ``number`` waits for retransmission."""
    d = senders.rule[senders.flow[f].rule]
    for k in range(d.again_first, d.again_last):
        if senders.history[d.history + (k & d.sent_mask)].again > number:
            return True
    return False


@inlined
def clear_sample(senders: Any, f: int) -> None:
    """Set the losses in flow f's sample, which its rule reads, to 0 before an ACK is processed."""
    d = senders.rule[senders.flow[f].rule]
    for index in LOSSES:
        d.sample[index] = 0.0


@inlined
def on_packet_lost(senders: Any, f: int, at: int) -> None:
    """Count the packet of row ``at`` of ``history`` as lost in flow f's sample, and list it for retransmission."""
    d = senders.rule[senders.flow[f].rule]
    r = senders.history[at]
    d.lost_total += 1.0
    d.sample[7] = r.in_flight
    d.sample[8] = d.lost_total - r.lost
    d.sample[13] = r.limited
    senders.history[d.history + (d.again_last & d.sent_mask)].again = r.number
    d.again_last += 1
    if senders.flow[f].listed == NATIVE:
        list_packet(senders, f, at, True)


@compiled
def report_deliveries(net: Any, senders: Any, f: int, sent: float, marked: float) -> None:
    """Remove flow f's records sent by ``sent``, s; call its rule with acknowledged, lost and ``marked`` packets."""
    d = senders.rule[senders.flow[f].rule]
    acked = 0.0
    lost = 0.0
    clear_sample(senders, f)
    newest = -1
    while newest < 0 and d.sent_first < d.sent_last:
        at = d.history + (d.sent_first & d.sent_mask)
        r = senders.history[at]
        if r.sent > sent:
            break
        d.sent_first += 1
        if is_covered(senders, f, r.number):
            acked += 1.0
            if r.limited > 0.0 and r.in_flight == 1.0:
                d.sample[12] = 1.0
            if r.sent == sent:
                newest = at
        else:
            lost += 1.0
            on_packet_lost(senders, f, at)
    report_sample(net, senders, f, newest, marked, acked, lost)


@compiled
def find_reported(senders: Any, f: int, sent: float) -> int:
    """Return the index in ``history`` of the acknowledged record that was sent at ``sent``; -1: none."""
    d = senders.rule[senders.flow[f].rule]
    for k in range(d.sent_first, d.sent_last):
        at = d.history + (k & d.sent_mask)
        r = senders.history[at]
        if r.sent > sent or is_beyond_reports(senders, f, k, r.number):
            break
        if r.sent == sent and is_covered(senders, f, r.number):
            return int64(at)
    return int64(-1)


@compiled
def count_covered(senders: Any, f: int) -> None:
    """Count the rows of sent packets, in flow f's history, whose packets are acknowledged, into ``covered``."""
    d = senders.rule[senders.flow[f].rule]
    d.covered = 0
    for k in range(d.sent_first, d.sent_last):
        number = senders.history[d.history + (k & d.sent_mask)].number
        if is_beyond_reports(senders, f, k, number):
            return
        if is_covered(senders, f, number):
            d.covered += 1


@compiled
def report_sample(net: Any, senders: Any, f: int, newest: int, marked: float, acked: float, lost: float) -> None:
    """Call flow f's rule for ``acked``, ``lost``, ``marked`` packets, by sample ``newest`` of ``history``, -1: none."""
    s = senders.flow[f]
    d = senders.rule[s.rule]
    now = senders.clock[NOW]
    if acked == 0.0 and lost == 0.0:
        return
    d.delivered += acked
    if d.delivered > d.limited_until:
        d.limited_until = 0.0
    d.sample[11] = 0.0
    d.sample[0] = marked
    d.sample[1] = d.delivered
    d.sample[2] = d.delivered
    d.sample[3] = 0.0
    d.sample[4] = float(outstanding(senders, f) + net.counters[OUT])
    d.sample[5] = 0.0
    d.sample[6] = 0.0
    if newest >= 0:
        r = senders.history[newest]
        d.sample[2] = r.delivered
        d.sample[3] = max(r.sent - r.first_sent, now - r.delivered_at)
        d.sample[5] = r.in_flight
        d.sample[6] = d.lost_total - r.lost
        d.sample[11] = r.limited
        d.first_sent = r.sent
    if acked > 0.0:
        d.delivered_at = now
    d.sample[9] = 1.0 if s.snd_una <= s.recover else 0.0
    d.sample[10] = uniform(net.stream, len(net.port) - 1 + f)
    call_rule(senders, f, ON_DELIVERY, s.rtt, acked, lost)
