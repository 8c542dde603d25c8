"""The packets that a connection of a native rule sends in a row, with a call of `on_sent` for each."""

from __future__ import annotations

from typing import Any

from dfcmodel.packets.kernel.layout import SENT_PACKET_SIZE
from dfcmodel.packets.kernel.tcp.native_decisions import find_fault, find_time_fault
from hopflow.kernels.marks import call_native, entry

__all__ = ["run"]


@entry
def run(
    rules: Any,
    calls: Any,
    packets: Any,
    address: int,
    first: int,
    last: int,
    count: int,
    number: int,
    size: int,
    flag: int,
    allowed: int,
    available: float,
    step: float,
    clock: float,
) -> int:
    """Send up to ``count`` packets, ``step`` s apart, until a timer is due or a decision is invalid; return how many.

    It ends before a packet by whose time `on_timer` is due, and after a decision that cannot be.

    Parameters
    ----------
    rules, calls
        `NATIVE_RULE` and `CurrentCall` of the connection, one row each; the number of the call is that of the next one.
    packets, address
        `SENT_PACKET`, and the address of its first row.
    first, last
        Rows of the packets in flight: from ``first`` to before ``last``.
    number, size
        Number of the next transmission, and bytes of a packet.
    flag, allowed, available
        Flag of a packet that the application limits; packets in flight that were allowed when the first one left;
        those for which the application has data.
    step, clock
        Time from a packet to the next, and that of the packet before the first one, s.
    """
    n = rules[0]
    call = calls[0]
    for k in range(count):
        due = 1e-9 * float(n.timer_ns) if n.nanoseconds == 1 else n.timer
        if step > 0.0 and 0.0 < due <= clock + step:
            return k
        clock += step
        packet = packets[last + k]
        packet.number = number + k
        packet.data = number + k
        packet.bytes = size
        packet.sent = clock
        packet.sent_ns = int(1e9 * clock + 0.5)
        for word in range(8):
            packet.slot[word] = 0
        n.now = clock
        n.now_ns = packet.sent_ns
        n.in_flight_before = last + k - first
        n.in_flight = last + k + 1 - first
        n.marked = 0
        n.growth = 0
        n.acked_count = 0
        n.lost_count = 0
        n.flags = flag if available < n.window / n.unit and n.in_flight >= allowed else 0
        n.packet = address + (last + k) * SENT_PACKET_SIZE
        call.time = clock
        call_native(n.on_sent, n.state, n)
        call.number += 1
        departure = 1e-9 * float(n.departure_ns) if n.nanoseconds == 1 else n.departure
        timer = 1e-9 * float(n.timer_ns) if n.nanoseconds == 1 else n.timer
        wrong = find_fault(n.pacing_rate / n.unit, n.window / n.unit, n.ssthresh / n.unit)
        if wrong + find_time_fault(departure, timer, n.send_quantum, 0.0, n.on_timer != 0) > 0:
            return k + 1
    return count
