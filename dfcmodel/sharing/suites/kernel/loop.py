"""The packets that a connection of a native rule sends in a row, with a call of `on_sent` for each."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from hopflow.kernels.marks import call_native, entry

__all__ = ["run"]

MAX_WINDOW = 1e15


@entry
def run(rules, calls, packets, address, first, last, count, number, size, flags, step, clock):
    """Send up to ``count`` packets; return how many left.

    It ends before a packet at whose time `on_timer` is due, and after a decision that may be invalid, which the caller
    checks.

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
    flags
        Flags of the last packet of ``count``; those before it have none.
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
        n.flags = flags if k + 1 == count else 0
        n.packet = address + (last + k) * n.slot_size
        call.time = clock
        call_native(n.on_sent, n.state, n)
        call.number += 1
        window = n.window / n.unit
        rate = n.pacing_rate / n.unit
        departure = 1e-9 * float(n.departure_ns) if n.nanoseconds == 1 else n.departure
        timer = 1e-9 * float(n.timer_ns) if n.nanoseconds == 1 else n.timer
        if not (1.0 <= window <= MAX_WINDOW and 0.0 <= rate < math.inf and n.ssthresh >= 0.0):
            return k + 1
        if not (0.0 <= departure < math.inf and 0.0 <= n.send_quantum <= MAX_WINDOW and timer >= 0.0):
            return k + 1
        if timer > 0.0 and n.on_timer == 0:
            return k + 1
    return count
