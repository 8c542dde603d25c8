"""The loop over windows of time."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import calling_entry, compiled, inlined

from .hosts import process_host
from .layout import ACK, DATA, NOBODY, RECEIVER, Fabric, Recorded, int64
from .pauses import replay
from .ports import begin_acks, bytes_at
from .senders import catch_up
from .switches import process_switch
from .windows import (
    CHANGED,
    END,
    FAULT,
    INVERSE,
    LAST,
    LATE,
    SAMPLED,
    SWITCHED,
    USED,
    WINDOW,
    end_of,
    free_retired,
)

__all__ = ["run"]


@inlined
def is_inside(it: Any, end: float) -> bool:
    """Return whether a row is a packet in the network at time ``end``, s, or an ACK that arrives later."""
    return bool(it.kind == DATA or (it.kind == ACK and it.time >= end))


@inlined
def hop_at_end(net: Any, e: int) -> int:
    """Return the hop of packet or ACK e at the end of a window; the previous hop if that still has to send it."""
    it = net.packet[e]
    h = int64(it.hop)
    p = int64(net.hop[h - 1].port)
    if it.kind == DATA or p < 0 or net.port[p].acks == 0:
        return h
    waits = it.time >= net.port[p].ack_due + net.port[p].passage[ACK]
    return h - 1 if waits else h


@compiled
def count_carried(net: Any, records: Any, n: int, end: float) -> None:
    """Write, for sample n, the transmissions begun at each hop so far: packets created less those still before it.

    Delivered packets are counted at the hops of ACKs in the same way.
    """
    hop, carried = net.hop, records.carried
    for e in range(net.counters[USED]):
        if is_inside(net.packet[e], end):
            carried[n, hop_at_end(net, e)] += 1
    for f in range(len(net.flow)):
        h = int64(net.flow[f].first_hop)
        carried[n, h] += net.flow[f].waits
        transmissions = int64(net.flow[f].sent)
        while hop[h].port > RECEIVER:
            transmissions -= carried[n, h]
            carried[n, h] = transmissions
            h += 1
        h += 1
        transmissions = int64(net.flow[f].delivered)
        while hop[h].port >= 0:
            transmissions -= carried[n, h]
            carried[n, h] = transmissions
            h += 1
        carried[n, h] = 0


@compiled
def sample(net: Any, records: Any, n: int, end: float) -> None:
    """Write row n of the records at its end, s, and call events of rules due before; an expired timer is a fault."""
    for p in range(len(net.port)):
        begin_acks(net.port[p], end, False)
        records.waiting[n, p] = net.port[p].queued + net.port[p].acks
        if len(records.queued_bytes) > 1 and net.port[p].unit > 0.0:
            records.queued_bytes[n, p] = bytes_at(net.port[p])
    count_carried(net, records, n, end)
    for f in range(len(net.flow)):
        if net.flow[f].rule >= 0:
            catch_up(net, f, end)
        if len(records.at_hosts) > 1:
            records.at_hosts[n, f] = net.flow[f].waits
        records.delivered[n, f] += net.flow[f].delivered - net.counted[f]
        net.counted[f] = net.flow[f].delivered
        if net.flow[f].deadline < end:
            net.counters[FAULT] = LATE


@calling_entry
def run(network: Any, recorded: Any, width: float, windows: int, first: int, samples: int) -> int:
    """Kernel: run samples ``first`` .. ``samples`` - 1, of ``windows`` windows each; return how many are complete.

    It returns fewer than ``samples`` after a fault, and if arrays should grow before the next call. ``network`` and
    ``recorded`` are the fields of `Fabric` and `Recorded`; a window lasts ``width`` s.
    """
    net, records = Fabric(*network), Recorded(*recorded)
    counters, clock, port = net.counters, net.clock, net.port
    W = len(net.coming)
    n = first
    w = counters[WINDOW]
    clock[SAMPLED] = end_of(n, 1.0 / records.scale, records.scale)
    clock[LAST] = end_of(len(records.delivered) - 2, 1.0 / records.scale, records.scale)
    while n < samples:
        index = w & (W - 1)
        free_retired(net, index)
        p = int64(net.coming[index].port)
        if p >= 0:
            counters[WINDOW] = w
            clock[END] = end_of(w, width, clock[INVERSE])
            net.coming[index].port = -1
            while p >= 0:
                row = p * W + index
                following = int64(net.slot[row].next)
                net.slot[row].next = NOBODY
                if port[p].is_host == 1:
                    process_host(net, records, p, row)
                else:
                    process_switch(net, records, p, row)
                p = following
            if counters[CHANGED] >= 0:
                replay(net, records)
            if counters[FAULT] != 0:
                return n
        w += 1
        if w == (n + 1) * windows:
            clock[END] = end_of(w - 1, width, clock[INVERSE])
            sample(net, records, n, clock[END])
            n += 1
            clock[SAMPLED] = end_of(n, 1.0 / records.scale, records.scale)
            if counters[FAULT] != 0:
                return n - 1
        counters[WINDOW] = w
        if 2 * counters[USED] > len(net.packet) or 2 * counters[SWITCHED] > len(records.switches):
            return n
    return n
