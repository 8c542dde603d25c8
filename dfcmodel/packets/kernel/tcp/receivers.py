"""Receivers: arriving packets become ACKs, immediate or delayed."""

from __future__ import annotations

import math
from typing import Any

from dfcmodel.network.drop_causes import TRIMMED
from hopflow.kernels.marks import compiled, inlined

from ..calendar_queue import OUT, push, release
from ..codes import CUT, GAP, GO_BACK_N, PUSHED, REDUCED, SELECTIVE
from ..layout import ARRIVED, BY_AGENT, CLASSES, DELAYED, DUE, NACK, OF_RATE, SACK, UNHEARD, int64
from .agents import answer_packet
from .arrivals import GROWING
from .bit_maps import RECEIVED, clear_bit, has_bit, set_bit
from .ns2 import is_ns2
from .tcp_constants import MAX_SACK_BLOCKS
from .timers import ACK_DELAY, NOW, schedule, wake_at

__all__ = ["answer_late", "deliver", "receive_data", "start_followers", "write_sack_blocks"]


@inlined
def deliver(senders: Any, f: int, number: int) -> int:
    """Deliver packet ``number`` to flow f's receiver; return how many packets are in order now that were not before."""
    s = senders.flow[f]
    if number > s.seen:
        s.seen = number
    if number == s.came and s.held == 0:
        s.came = number + 1
        return 1
    if number < s.came:
        return 0
    if set_bit(senders, f, RECEIVED, number):
        s.held += 1
    before = s.came
    n = before
    while s.held > 0 and clear_bit(senders, f, RECEIVED, n):
        s.held -= 1
        n += 1
    s.came = n
    return n - before


@compiled
def write_sack_blocks(net: Any, senders: Any, e: int, f: int, number: int) -> int:
    """Write up to three SACK blocks into ACK e as packet ``number`` arrives, newest first; return how many."""
    block = net.block
    received = senders.received
    s = senders.flow[f]
    last = s.came - 1
    if last >= s.seen:
        s.blocks = 0
        return 0
    left = 0
    right = number + 1
    if number > last:
        if s.blocks > 0 and received[f, 1] == number:
            left = max(received[f, 0], s.came)
        else:
            left = number
            while left - 1 > last and has_bit(senders, f, RECEIVED, left - 1):
                left -= 1
        while right <= s.seen and has_bit(senders, f, RECEIVED, right):
            right += 1
    else:
        right = s.came
    n_blocks = 0
    if number > last:
        block[e, 0] = left
        block[e, 1] = right
        n_blocks = 1
    n_stored = 0
    n = 0
    while n < s.blocks and n_blocks < MAX_SACK_BLOCKS and received[f, 2 * n + 1] <= s.seen + 1:
        a = received[f, 2 * n]
        b = received[f, 2 * n + 1]
        if not (left <= a and right >= b):
            block[e, 2 * n_blocks] = a
            block[e, 2 * n_blocks + 1] = b
            n_blocks += 1
            received[f, 2 * n_stored] = a
            received[f, 2 * n_stored + 1] = b
            n_stored += 1
        n += 1
    while n < s.blocks:
        received[f, 2 * n_stored] = received[f, 2 * n]
        received[f, 2 * n_stored + 1] = received[f, 2 * n + 1]
        n_stored += 1
        n += 1
    if number > last:
        n_stored = min(n_stored, MAX_SACK_BLOCKS - 1)
        for k in range(n_stored, 0, -1):
            received[f, 2 * k] = received[f, 2 * k - 2]
            received[f, 2 * k + 1] = received[f, 2 * k - 1]
        received[f, 0] = left
        received[f, 1] = right
        n_stored += 1
    s.blocks = n_stored
    return n_blocks


@inlined
def take_in_order(senders: Any, packet: Any, e: int, f: int) -> int:
    """Return 1 if packet e is the next in order, else 0; set the GAP flag once per gap, for the first packet beyond.

    Flag the first one beyond a gap, and one before a packet of which the header alone has come already (``beyond``).
    """
    s = senders.flow[f]
    number = int64(packet[e].number)
    if number == s.came:
        s.came = number + 1
        s.held = 0
        packet[e].ecn |= GAP * (s.beyond == s.came)
        return 1
    if number > s.came and s.held == 0:
        s.held = 1
        packet[e].ecn |= GAP
    return 0


@inlined
def has_packet(senders: Any, f: int, number: int) -> bool:
    """Return whether flow f's receiver, which keeps packets out of order, has packet ``number``."""
    return bool(number < senders.flow[f].came or has_bit(senders, f, RECEIVED, number))


@compiled
def receive_header(world: Any, e: int, time: float) -> bool:
    """Count packet e, a header, as dropped; return True if it becomes the receiver's answer, else release it.

    A receiver whose sender repairs losses asks for the packet at once. An agent answers by itself. Others treat it as
    one that was dropped.
    """
    net, senders, records = world
    it = net.packet[e]
    s = senders.flow[it.flow]
    h = int64(net.trimmed[e])
    rows = len(records.lost) - 1
    row = min(int(time * records.scale), rows)
    records.lost[row, h] += 1
    if row < rows:
        records.causes[h, TRIMMED] += 1
        if not records.first_drops[h, TRIMMED] <= time:
            records.first_drops[h, TRIMMED] = time
        if not s.first_loss <= time:
            s.first_loss = time
    has_come = s.repair == SELECTIVE and has_packet(senders, int64(it.flow), int64(it.number))
    if s.agent < 0 and (s.repair == 0 or has_come):
        release(net, e)
        return False
    if row < rows:
        it.ecn &= ~CUT  # a flag that stays tells of what is processed ahead of the end of a run
    if s.agent >= 0:
        return True
    if s.repair == SELECTIVE:
        it.ecn |= GAP
        net.block[e, SACK] = -1
        net.block[e, NACK] = it.number
        it.number = s.came - 1
        return True
    if it.number == s.came or (it.number > s.came and s.held == 0):
        s.held = 1
        it.ecn |= GAP
    if it.number > s.came and (s.beyond <= s.came or it.number < s.beyond):
        s.beyond = it.number  # it has overtaken what is before it
    it.number = s.came - 1
    return True


@compiled
def start_followers(net: Any, senders: Any, f: int, time: float) -> None:
    """Count flow f, complete at ``time``, for its followers; schedule, after delays, flows that wait for no other."""
    if len(senders.follow) == 0:
        return
    for row in range(senders.follow[f].begin, senders.follow[f].end):
        d = int64(senders.followers[row].flow)
        it = senders.follow[d]
        it.missing -= 1
        it.ready = max(it.ready, time + senders.followers[row].delay)
        if it.missing > 0:
            continue
        if senders.flow[d].recovery >= 0:
            senders.flow[d].due = it.ready
        wake_at(net, d, it.ready, d)


@compiled
def write_sack(net: Any, senders: Any, f: int, e: int) -> None:
    """Write into e, which becomes the answer to a rate rule, which packet has come out of order; -1: none."""
    number = net.packet[e].number
    net.block[e, SACK] = number if number >= senders.flow[f].came else -1


@inlined
def delay_ack(net: Any, senders: Any, f: int, e: int, time: float, n_delivered: int) -> bool:
    """Keep packet e, which came at ``time`` with ``n_delivered`` in order, as flow f's ACK; False: it is sent now.

    RFC 5681, 4.2: immediate ACK out of order, when a gap is filled, and for every second packet.
    """
    s = senders.flow[f]
    it = net.packet[e]
    new = it.number > 0 if is_ns2(senders) else n_delivered > 0
    if it.number < s.quick or it.number == s.fin:  # RFC 9293, 3.10.7.2 and 3.10.7.4
        new = False
    if it.ecn & PUSHED != 0:
        new = False
    if new and it.number == s.came - 1 and it.number >= s.seen and s.pending < 0:
        s.pending = e
        s.ack_due = time + senders.clock[ACK_DELAY]
        schedule(net, senders, f, s.ack_due, len(senders.flow) + f)
        return True
    if s.pending >= 0:
        release(net, int64(s.pending))
    return False


@inlined
def receive_data(world: Any, e: int, time: float, key: int, at: int) -> bool:
    """Deliver packet e, or delayed ACK e (``at`` DUE), and turn it into the ACK; return False if no ACK is sent now."""
    net, senders, records = world
    it = net.packet[e]
    f = int64(it.flow)
    s = senders.flow[f]
    answers = int64(s.answers)  # almost always 0: tests of its bits stand within one for any of them
    if answers & (DELAYED | BY_AGENT) != 0 and at >= 0:
        push(net, e, int64(net.hop[it.hop].queue), time, key)
        return False
    if at == DUE:
        if answers & BY_AGENT != 0:
            return True
        s.pending = -1
        s.ack_due = math.inf
    else:
        if it.ecn & (REDUCED | CUT) != 0:
            if it.ecn & CUT != 0:
                if not receive_header(world, e, time):
                    return False
                if s.agent >= 0:
                    return answer_packet(net, senders, f, e, 1)
                it.size = OF_RATE
                return True
            s.echo = 0  # RFC 3168, 6.1.3: the echo ends with a packet with CWR
        s.arrived += 1
        n_delivered = 1
        if s.recovery >= 0 or s.repair == SELECTIVE:
            n_delivered = deliver(senders, f, it.number)
        elif s.repair == GO_BACK_N:
            n_delivered = take_in_order(senders, net.packet, e, f)
        row = int(time * records.scale)
        if row < len(records.lost) - 1:
            s.marks += it.marked
            if n_delivered > 0:
                records.delivered[row, f] += n_delivered
                s.total += n_delivered
                s.came_at = time
                if s.total >= s.size and s.supply != GROWING and not s.finished >= 0.0:
                    s.finished = max(time, s.cut_at)  # a port may be processed after a stop
                    start_followers(net, senders, f, s.finished)
        if it.marked == 1:
            s.echo = 1
        if answers != 0:
            if answers & UNHEARD != 0:
                release(net, e)
                return False
            if answers & BY_AGENT != 0:
                return answer_packet(net, senders, f, e, 0)
            if delay_ack(net, senders, f, e, time, n_delivered):
                return False
            s.pending = -1
            s.ack_due = math.inf
    if s.accurate == 0:
        it.marked = s.echo
    if s.recovery >= 0:
        it.size = 1
        if s.selective == 1:
            it.size = 1 + write_sack_blocks(net, senders, e, f, it.number)
        it.number = s.came - 1
        return True
    it.size = OF_RATE
    if s.repair == SELECTIVE:
        write_sack(net, senders, f, e)
    if s.repair > 0:
        it.number = s.came - 1
    return True


@inlined
def answer_late(net: Any, senders: Any, f: int, e: int) -> None:
    """Process arrival e at a receiver with delayed ACKs: put the delayed ACK, if due, and then e into ``out``.

    The delayed ACK is sent first if its timer expires now and was scheduled before the arrival. If every
    mark is echoed, it is also sent before a packet that changes the mark (RFC 8257, 3.2).
    """
    counters = net.counters
    out = senders.out
    s = senders.flow[f]
    ack_first = False
    if s.pending >= 0:
        if s.ack_due == senders.clock[NOW]:
            it = net.packet[e]
            link = int64(net.hop[it.hop - 1].port)
            passage = net.times[link * CLASSES + it.size].passage
            ack_first = passage < senders.clock[ACK_DELAY]
        if s.accurate == 1 and net.packet[s.pending].marked != net.packet[e].marked:
            ack_first = True
    if ack_first:
        out[0, 0] = -1 - s.pending
        out[0, 1] = DUE
        counters[OUT] = 1
    out[counters[OUT], 0] = -1 - e
    out[counters[OUT], 1] = ARRIVED
    counters[OUT] += 1
