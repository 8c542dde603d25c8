"""What passes a port with one lane, or with lanes by class of traffic, on its way between two calendar queues.

These are nearly all events of such a port where nothing but the room of its queue decides about packets: no manager,
random loss, trace or 802.3x pause. Messages and packets without room are left to `process_port_window`.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from ..calendar_queue import push
from ..codes import PAUSE
from ..layout import BY_CLASS, BY_RATE, CLASSES, RECEIVER, int64
from ..queues.buffers import is_full, record_bytes, record_peak, taken_by
from .lanes import enter_lane, leave_lane
from .pauses import count_class
from .ports import count_starts
from .rated import next_arrival, take_arrival

__all__ = ["has_plain_lanes", "pass_lanes", "send_on", "start_transmission", "waits_or_overflows"]


@inlined
def has_plain_lanes(port: Any) -> bool:
    """Return whether packets wait at a port for those before them in their lanes and for nothing else."""
    return bool(port.plain == 1 and port.paused == 0)


@inlined
def waits_or_overflows(net: Any, u: int, e: int, time: float) -> tuple[bool, bool]:
    """Return whether a packet cannot leave a port with lanes when it arrives, and whether there is no room for it."""
    port = net.port[u]
    hop = net.hop[int64(net.packet[e].hop)]
    busy = port.free >= time or port.paused > 0
    taken = taken_by(net, u, e)
    if port.by_turns == BY_CLASS:
        busy = busy or net.lane[int64(hop.lane)].paused > 0
        counted = int64(hop.ingress)
        if counted < 0 or not (busy or port.waiting > 0):
            return busy, False
        return busy, net.feeder[counted].count + taken > net.feeder[counted].room
    waits = port.by_turns == BY_RATE or (port.by_turns == 0 and busy)
    return busy, waits and is_full(port, taken)


@inlined
def start_transmission(net: Any, records: Any, u: int, e: int, came: float, time: float) -> None:
    """Start the transmission of a packet that came to a port with lanes at time ``came``, and record it."""
    rows = len(records.lost) - 1
    it = net.packet[e]
    h = int64(it.hop)
    first = min(int(came * records.scale), rows)
    row = min(int(time * records.scale), rows)
    if first != row:
        records.waiting[first, u] += 1
        records.waiting[row, u] -= 1
        if net.port[u].unit > 0.0:
            record_bytes(net, records, u, taken_by(net, u, e), came, time)
    if row < rows:
        records.waited[h] += time - came
        count_starts(records.started, row, h, h + 1)
    net.port[u].free = time + net.times[u * CLASSES + it.size].transmission
    it.hop = h + 1


@inlined
def send_on(net: Any, records: Any, u: int, e: int, time: float) -> bool:
    """Start the transmission of a packet at a port with lanes; return whether it goes on to a calendar queue."""
    it = net.packet[e]
    start_transmission(net, records, u, e, it.time, time)
    to = net.hop[int64(it.hop)]
    if to.port == RECEIVER or to.queue < 0:
        return False
    spent = net.times[u * CLASSES + int64(it.size)]
    push(net, e, int64(to.queue), time + spent.passage, int64(spent.rank))
    return True


@compiled
def pass_lanes(net: Any, records: Any, u: int, b: int, past: int, end: float) -> tuple[int, int, float, bool]:
    """Queue and send packets in the order of their times up to an event of another kind, or the end of the window.

    Return the bucket of the next arrival, a packet whose transmission has begun but that does not go on to a calendar
    queue, -1 for none, when it began, and whether there was any event.
    """
    packet = net.packet
    port = net.port[u]
    by_class = port.by_turns == BY_CLASS
    did = False
    b, e = next_arrival(net, port, b, past, end)
    while True:
        time = packet[e].time if e >= 0 else end
        sent = int64(-1)
        if port.waiting > 0 and port.free < time:
            time = port.free
            sent = leave_lane(net, u, 0, time)
            if by_class:
                count_class(net, records, u, sent, -1, time)
        elif e < 0 or packet[e].number <= PAUSE:
            return b, -1, 0.0, did
        else:
            busy, full = waits_or_overflows(net, u, e, time)
            if full:
                return b, -1, 0.0, did
            came = e
            take_arrival(net, port, b, e)
            b, e = next_arrival(net, port, b, past, end)
            if busy or port.waiting > 0:
                enter_lane(net, u, int64(net.hop[int64(packet[came].hop)].lane), came)
                if by_class:
                    count_class(net, records, u, came, 1, time)
                if int(time * records.scale) < len(records.lost) - 1:
                    record_peak(net, records, u, port.waiting + port.held)
            else:
                sent = came
        did = True
        if sent >= 0 and not send_on(net, records, u, sent, time):
            return b, sent, time, did
