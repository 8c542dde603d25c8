"""What passes a port whose switch program sees nothing but the packets that leave one queue, on its way between two calendar queues.

Telemetry is such a program. Messages and packets without room are left to `process_port_window`.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

from ..codes import BY_MANAGER, PAUSE
from ..layout import int64
from ..queues.buffers import is_full, record_peak, taken_by
from ..queues.programs import DROPPED, LEAVES, append_packet, judge_inline, next_ranked
from ..random_numbers import uniform
from .lanes import discard
from .plain_lanes import send_on
from .ports import drop
from .rated import next_arrival, take_arrival

__all__ = ["pass_program"]


@compiled
def pass_program(world: Any, u: int, b: int, past: int, end: float) -> tuple[int, int, float, bool]:
    """Queue and send packets in their order up to an event of another kind, or the end of the window.

    Return as `plain_lanes.pass_lanes`: the bucket of the next arrival, a packet whose transmission has begun but that does not go on
    to a calendar queue, -1 for none, when it began, and whether there was any event.
    """
    net, senders, records = world
    packet = net.packet
    port = net.port[u]
    did = False
    b, e = next_arrival(net, port, b, past, end)
    while True:
        time = packet[e].time if e >= 0 else end
        leaves = int64(-1)
        waited = port.waiting > 0 and port.free < time
        if waited:
            time = port.free
            leaves = next_ranked(net, u, time)
        elif e < 0 or packet[e].number <= PAUSE:
            return b, -1, 0.0, did
        else:
            waits = port.free >= time or port.waiting > 0
            if waits and is_full(port, taken_by(net, u, e)):
                return b, -1, 0.0, did
            came = e
            take_arrival(net, port, b, e)
            b, e = next_arrival(net, port, b, past, end)
            uniform(net.stream, u)  # the number that a function for what comes would have seen
            if waits:
                append_packet(net, u, came)
                if int(time * records.scale) < len(records.lost) - 1:
                    record_peak(net, records, u, port.waiting)
            else:
                leaves = came
        did = True
        if leaves < 0:
            continue
        if judge_inline(net, senders, u, leaves, time, LEAVES) != DROPPED:
            if not send_on(net, records, u, leaves, time):
                return b, leaves, time, did
        elif waited:
            discard(world, u, leaves, time, BY_MANAGER)
        else:
            drop(world, u, leaves, time, time, BY_MANAGER)
