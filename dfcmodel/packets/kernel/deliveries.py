"""What has been sent and not yet been reported: samples of the delivery rate, and losses, for rules that see them.

A ring of records per flow, in the order of sending; paths keep that order. A packet is lost once one that was
sent later is acknowledged and it is not. The reference is `dfcmodel.packets.reference_deliveries`.
"""

from __future__ import annotations

from typing import Any

from .calendar_queue import OUT
from .jit import call_event, compiled
from .layout import ON_DELIVERY
from .random_numbers import uniform
from .selective import is_held
from .timers import NOW

__all__ = ["discard_sent", "is_lost", "next_lost", "on_packet_sent", "report_deliveries"]


@compiled
def on_packet_sent(senders: Any, f: int, number: int) -> None:
    """Record that a packet is sent, at the end of the event that sends it (OnPacketSent)."""
    s = senders.flow[f]
    now = senders.clock[NOW]
    inside = s.sent_last - s.sent_first
    if inside == 0:
        s.first_sent = now
        s.delivered_at = now
    elif inside > s.sent_mask:
        s.sent_first += 1
        s.lost_total += 1.0
    r = senders.history[s.history + (s.sent_last & s.sent_mask)]
    r.sent = now
    r.first_sent = s.first_sent
    r.delivered_at = s.delivered_at
    r.delivered = s.delivered
    r.lost = s.lost_total
    r.in_flight = float(s.sent_last - s.sent_first + 1)
    r.number = number
    s.sent_last += 1


@compiled
def discard_sent(flow: Any, f: int) -> None:
    """Take all that is in flight for lost, at a timeout."""
    s = flow[f]
    s.lost_total += float(s.sent_last - s.sent_first)
    s.sent_first = s.sent_last
    s.again_first = s.again_last


@compiled
def is_covered(senders: Any, f: int, number: int) -> bool:
    """Return whether a packet was acknowledged."""
    return number < senders.flow[f].snd_una or is_held(senders, f, number)


@compiled
def next_lost(senders: Any, f: int) -> int:
    """Return the packet to send again that was lost first, and take it from the list; -1: none."""
    s = senders.flow[f]
    while s.again_first < s.again_last:
        number = senders.history[s.history + (s.again_first & s.sent_mask)].again
        s.again_first += 1
        if not is_covered(senders, f, number):
            return number
    return -1


@compiled
def is_lost(senders: Any, f: int, number: int) -> bool:
    """Return whether a packet beyond ``number`` waits to be sent again."""
    s = senders.flow[f]
    for k in range(s.again_first, s.again_last):
        if senders.history[s.history + (k & s.sent_mask)].again > number:
            return True
    return False


@compiled
def report_deliveries(net: Any, senders: Any, f: int, sent: float, marked: float) -> None:
    """Update what is in flight by an ACK of a packet sent at time ``sent``, and tell the rule."""
    history = senders.history
    s = senders.flow[f]
    now = senders.clock[NOW]
    acked = 0.0
    lost = 0.0
    s.sample[7] = 0.0  # in the order of `Delivery`, from `marks` on
    s.sample[8] = 0.0
    newest = -1
    while newest < 0 and s.sent_first < s.sent_last:
        at = s.history + (s.sent_first & s.sent_mask)
        r = history[at]
        if r.sent > sent:
            break
        s.sent_first += 1
        if is_covered(senders, f, r.number):
            acked += 1.0
            if r.sent == sent:
                newest = at
        else:
            lost += 1.0
            s.lost_total += 1.0
            s.sample[7] = r.in_flight
            s.sample[8] = s.lost_total - r.lost
            history[s.history + (s.again_last & s.sent_mask)].again = r.number
            s.again_last += 1
    if acked == 0.0 and lost == 0.0:
        return
    s.delivered += acked
    s.sample[0] = marked
    s.sample[1] = s.delivered
    s.sample[2] = s.delivered
    s.sample[3] = 0.0
    s.sample[4] = float(s.sent_last - s.sent_first + net.counters[OUT])
    s.sample[5] = 0.0
    s.sample[6] = 0.0
    if newest >= 0:
        r = history[newest]
        s.sample[2] = r.delivered
        s.sample[3] = max(r.sent - r.first_sent, now - r.delivered_at)
        s.sample[5] = r.in_flight
        s.sample[6] = s.lost_total - r.lost
        s.first_sent = r.sent
    if acked > 0.0:
        s.delivered_at = now
    s.sample[9] = 1.0 if s.snd_una <= s.recover else 0.0
    s.sample[10] = uniform(net.stream, len(net.port) - 1 + f)
    call_event(senders.events[s.kind, ON_DELIVERY], s, now, s.rtt, acked, lost)
