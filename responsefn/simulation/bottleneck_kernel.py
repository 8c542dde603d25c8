"""The loop in which flows share a bottleneck: a template, with the rules' functions spliced in."""
# mypy: ignore-errors
# ruff: noqa: F821

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["bottleneck"]

# columns of `count`: what a flow did, then places in its order of sending, by which its ring goes
SENT = 0  # also the place of the next packet
REFUSED = 1  # by the full queue
LOST = 2  # at random, behind the queue
ACKED = 3
EVENTS = 4  # loss events: calls of on_loss and on_timeout
TIMEOUTS = 5
HEAD = 6  # place of the packet whose ACK is next
TAIL = 7  # what was sent before is known to be delivered or lost
RECOVER = 8  # losses before this place belong to an event already punished
AFTER = 9  # packets from TAIL to HEAD that were delivered
FLIGHT = 10  # packets that the sender takes for on their way
ALIVE = 11  # packets whose ACKs will come
COUNTS = 12

# columns of `clock`, in s unless told otherwise
DUE = 0  # when the flow acts next
LAST = 1  # when it acted last
LATEST = 2  # latest ACK on its way
SRTT = 3  # smoothed round-trip time; 0: none yet
VARIANCE = 4  # its mean deviation
TIMER = 5  # of retransmission
WAITED = 6  # sum of the packets' waits in the queue
AREA = 7  # integral of the window, packets s
PEAKS = 8  # sum of the windows before loss events, packets
CLOCKS = 9

DUPLICATES = 3  # packets delivered after a lost one that tell of it


def bottleneck(
    times: Floats,
    rtts: Floats,
    service: float,
    buffer: float,
    processing: float,
    most: float,
    least_timer: float,
    lost_at: Ints,
    seed: int,
    kind: Ints,
    params: Floats,
    window: Floats,
    count: Ints,
    clock: Floats,
    sent_at: Floats,
    back_at: Floats,
    counts: Ints,
    clocks: Floats,
    windows: Floats,
    backlog: Floats,
    wrong: Floats,
) -> None:
    """Template: flows over one FIFO server, ACK by ACK; at each of ``times`` their rows are copied.

    The rings ``sent_at`` and ``back_at``, shape (F, a power of two), have a place for each packet
    between TAIL and the next one; a packet that gets lost comes back at infinity. As the path is FIFO
    a flow's ACKs come in the order of sending, and its next event is the first of them, or, where
    none will come, the timer. ``backlog`` gets the work before the server, in s.
    """
    flows = kind.shape[0]
    mask = sent_at.shape[1] - 1
    free = 0.0  # when the server will have sent what it holds
    taken = 0
    lost = 0
    row = 0
    while True:
        f = 0
        now = clock[0, DUE]
        for g in range(1, flows):
            if clock[g, DUE] < now:
                f = g
                now = clock[g, DUE]
        while times[row] <= now:
            at = times[row]
            for g in range(flows):
                for c in range(COUNTS):
                    counts[row, g, c] = count[g, c]
                counts[row, g, ALIVE] = 0  # counted in the ring: the balance is to prove something
                for k in range(count[g, HEAD], count[g, SENT]):
                    if back_at[g, k & mask] < math.inf:
                        counts[row, g, ALIVE] += 1
                for c in range(CLOCKS):
                    clocks[row, g, c] = clock[g, c]
                clocks[row, g, AREA] += window[g, 0] * (at - clock[g, LAST])
                windows[row, g] = window[g, 0]
            backlog[row] = max(0.0, free - at)
            row += 1
            if row == times.shape[0]:
                return
        clock[f, AREA] += window[f, 0] * (now - clock[f, LAST])
        clock[f, LAST] = now
        if count[f, ALIVE] > 0:
            k = count[f, HEAD]
            rtt = now - sent_at[f, k & mask]
            count[f, HEAD] = k + 1
            count[f, ACKED] += 1
            count[f, ALIVE] -= 1
            count[f, FLIGHT] -= 1
            count[f, AFTER] += 1
            if clock[f, SRTT] == 0.0:
                clock[f, SRTT] = rtt
                clock[f, VARIANCE] = 0.5 * rtt
            else:
                clock[f, VARIANCE] += 0.25 * (abs(rtt - clock[f, SRTT]) - clock[f, VARIANCE])
                clock[f, SRTT] += 0.125 * (rtt - clock[f, SRTT])
            clock[f, TIMER] = max(least_timer, clock[f, SRTT] + 4.0 * clock[f, VARIANCE])
            n = count[f, TAIL]
            while n <= k:
                if back_at[f, n & mask] < math.inf:
                    count[f, AFTER] -= 1
                elif count[f, AFTER] < DUPLICATES:
                    break
                else:
                    count[f, FLIGHT] -= 1
                    if n >= count[f, RECOVER]:
                        count[f, RECOVER] = count[f, SENT]
                        count[f, EVENTS] += 1
                        clock[f, PEAKS] += window[f, 0]
                        on_loss()
                n += 1
            count[f, TAIL] = n
            if n > k >= count[f, RECOVER]:
                on_ack()
                window[f, 0] = min(window[f, 0], most)
        elif count[f, FLIGHT] > 0:
            rtt = max(rtts[f], clock[f, SRTT])
            count[f, EVENTS] += 1
            count[f, TIMEOUTS] += 1
            clock[f, PEAKS] += window[f, 0]
            clock[f, TIMER] = min(60.0, 2.0 * clock[f, TIMER])
            count[f, FLIGHT] = 0
            count[f, AFTER] = 0
            count[f, TAIL] = count[f, SENT]
            count[f, RECOVER] = count[f, SENT]
            on_timeout()
        allowed = min(most, max(1.0, window[f, 0]))
        while count[f, FLIGHT] + 1.0 <= allowed:
            n = count[f, SENT] & mask
            count[f, SENT] += 1
            count[f, FLIGHT] += 1
            sent_at[f, n] = now
            back_at[f, n] = math.inf
            if free - now > (buffer + 1e-6) * service:  # a packet that just leaves has left
                count[f, REFUSED] += 1
                continue
            begin = max(now, free)
            free = begin + service
            clock[f, WAITED] += begin - now
            taken += 1
            if taken == lost_at[lost]:
                lost += 1
                count[f, LOST] += 1
                continue
            seed = 48271 * seed % 2147483647  # Park and Miller's generator
            back = begin + rtts[f] + processing * (seed / 2147483647.0)
            clock[f, LATEST] = max(clock[f, LATEST], back)
            back_at[f, n] = clock[f, LATEST]
            count[f, ALIVE] += 1
        n = count[f, HEAD]
        while n < count[f, SENT] and back_at[f, n & mask] == math.inf:
            n += 1
        count[f, HEAD] = n
        clock[f, DUE] = back_at[f, n & mask] if count[f, ALIVE] > 0 else now + clock[f, TIMER]
