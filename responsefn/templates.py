"""The loops in which rules run: templates into which `cycles.compile_rule` splices a rule's functions.

``load()`` becomes the assignments of the state ``s`` and the parameters ``q``, ``advance()`` moves
``s`` by ``k`` ACKs; `on_ack`, `on_loss` and `Event` are the rule's. They run only compiled.

ACKs come at the rate cwnd/RTT; in slow start, where they answer the smaller window of a round trip
ago, at ln 2 of that, so that the window doubles per round trip. The round-trip time is ``rtt``, or
what the bottleneck takes for a window at ``service`` seconds per packet if that is longer.
"""
# mypy: ignore-errors
# ruff: noqa: F821, F841

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = [
    "ack",
    "block",
    "bottleneck",
    "cycles",
    "evaluate_all",
    "invert_all",
    "power_cycles",
    "simulate",
]

SLOWER = 1.4426950408889634  # 1 / ln 2


def ack(s, q, now, rtt, service, left):
    """Template: one ACK. Return the state, how many ACKs, the window and round trip that they saw."""
    cwnd = s.cwnd
    r = max(rtt, cwnd * service)
    lag = r if cwnd >= s.ssthresh else r * SLOWER
    return on_ack(s, q, Event(now + lag / cwnd, r)), 1.0, cwnd, lag


def block(s, q, now, rtt, service, left):
    """Template: as `ack`, for an eighth of a window by the midpoint rule, one ACK in slow start.

    Where the window comes to rest halfway, only that far; all that is left at once for a state that
    no ACK changes, not even the last.
    """
    start = s
    r = max(rtt, s.cwnd * service)
    whole = 1.0
    if s.cwnd >= s.ssthresh:
        whole = max(1.0, s.cwnd / 8.0)
    whole = min(whole, left)
    old = s
    new = on_ack(s, q, Event(now, r))
    if whole > 1.0:
        k = 0.5 * whole
        half = k * r / s.cwnd
        advance()
        old = s
        later = max(rtt, s.cwnd * service)
        new = on_ack(s, q, Event(now + half, later))
        if new == old:
            if old == start and on_ack(s, q, Event(now + left * r / s.cwnd, r)) == s:
                k = left
            return s, k, start.cwnd, r
        r = later
    k = whole
    s = start
    advance()
    lag = r if old.cwnd >= start.ssthresh else r * SLOWER
    return s, k, old.cwnd, lag


def cycles(
    packets: Floats,
    rtts: Floats,
    service: float,
    starts: Floats,
    params: Floats,
    most: int,
    budget: int,
    tolerance: float,
    out: Floats,
) -> None:
    """Template: advance each row until its cycle repeats; write the columns of `Cycle`."""
    for i in range(packets.shape[0]):
        load()
        rtt = rtts[i]
        s = on_loss(s, q, Event(0.0, rtt))
        now = 0.0
        last = 0.0
        work = 0
        before = 0.0
        settled = 0
        n = 0
        # sums over the cycles that count: packets, time, window over time, window over packets, peak
        count = 0.0
        total_time = 0.0
        over_time = 0.0
        over_packets = 0.0
        peaks = 0.0
        while True:
            n += 1
            left = packets[i]
            begin = now
            window_time = 0.0
            window_packets = 0.0
            while left > 0.0:
                s, k, cwnd, lag = block(s, q, now, rtt, service, left)
                left -= k
                work += 1
                now += k * lag / cwnd
                window_time += k * lag
                window_packets += k * cwnd
            peak = s.cwnd
            s = on_loss(s, q, Event(now, max(rtt, peak * service)))
            count += 1.0
            total_time += now - begin
            over_time += window_time
            over_packets += window_packets
            peaks += peak
            # two in a row, and against the cycle before the last, so that no slow drift passes
            change = max(abs(peak - last), abs(last - before))
            settled = settled + 1 if change <= tolerance * peak else 0
            before = last
            last = peak
            if settled >= 2:
                count = 1.0
                total_time = now - begin
                over_time = window_time
                over_packets = window_packets
                peaks = peak
                break
            if n & (n - 1) == 0:
                if work > budget or n >= most:
                    break
                count = 0.0
                total_time = 0.0
                over_time = 0.0
                over_packets = 0.0
                peaks = 0.0
        out[i, 0] = count * packets[i] / total_time
        out[i, 1] = over_time / total_time
        out[i, 2] = over_packets / (count * packets[i])
        out[i, 3] = peaks / count
        out[i, 4] = total_time / count
        out[i, 5] = n


def simulate(
    gaps: Floats,
    rtt: float,
    service: float,
    limit: float,
    states: Floats,
    params: Floats,
    together: bool,
    merge: bool,
    sums: Floats,
    out: Floats,
    counts: Ints,
) -> bool:
    """Template: runs side by side, ``move()`` by ``move()``; one row of ``out`` per loss event.

    A window waits for its own last step, which takes longer than the step: so many runs, one per
    column of ``states``, are one loop that the processor overlaps. False when ``out`` is full.
    """
    parameters()
    runs = states.shape[1]
    for i in range(runs):
        for n in range(5):
            sums[n, i] = 0.0
        sums[5, i] = gaps[i, 0]
        counts[i, 0] = 0
        counts[i, 1] = 1
        counts[i, 2] = 0
    going = runs
    while going > 0:
        steps = 1
        if together and limit == math.inf:
            least = sums[5, 0]
            for i in range(runs):
                least = min(least, sums[5, i])
            steps = int(least)
        for _ in range(steps):
            for i in range(runs):
                take()
                now = sums[0, i]
                left = sums[5, i]
                move()
                sums[0, i] = now + k * lag / cwnd
                sums[1, i] += k
                sums[2, i] += k * lag
                sums[3, i] += k * cwnd
                sums[5, i] = left - k
                put()
        for i in range(runs):
            take()
            full = s.cwnd > limit
            if sums[5, i] > 0.0 and not full:
                continue
            if counts[i, 2] == 1:
                continue
            row = counts[i, 0]
            if full or not merge or row == 0 or sums[1, i] >= s.cwnd:
                if row >= out.shape[1]:
                    return False
                now = sums[0, i]
                out[i, row, 0] = now - sums[4, i]
                out[i, row, 1] = sums[1, i]
                out[i, row, 2] = sums[2, i]
                out[i, row, 3] = sums[3, i]
                out[i, row, 4] = s.cwnd
                counts[i, 0] = row + 1
                s = on_loss(s, q, Event(now, max(rtt, s.cwnd * service)))
                put()
                sums[4, i] = now
                sums[1, i] = 0.0
                sums[2, i] = 0.0
                sums[3, i] = 0.0
            if sums[5, i] <= 0.0:
                if counts[i, 1] < gaps.shape[1]:
                    sums[5, i] = gaps[i, counts[i, 1]]
                    counts[i, 1] += 1
                else:
                    sums[5, i] = math.inf
                    counts[i, 2] = 1
                    going -= 1
    return True


def evaluate_all(p_values: Floats, constants: Floats, out: Floats) -> None:
    """Template: ``before()`` computes what does not depend on p, ``inside()`` sets ``value``."""
    before()
    for n in range(p_values.shape[0]):
        p = p_values[n]
        inside()
        out[n] = value


def invert_all(
    rates: Floats, constants: Floats, table: Floats, first: float, per_step: float, out: Floats
) -> None:
    """Template: p from a cubic in a table of log p over log rate, then mended by its slope there.

    The rows of ``table``, at even steps from ``first`` on, are log p and its change per step. Where
    the cubic is as good as it is away from kinks, the second evaluation only confirms the first;
    elsewhere the slope becomes that of the last two points.
    """
    before()
    cells = table.shape[0] - 1
    for n in range(rates.shape[0]):
        rate = rates[n]
        at = (math.log(rate) - first) * per_step
        found = math.nan
        if -1e-9 < at < cells + 1e-9:  # the rates at the ends are inside
            k = min(int(max(at, 0.0)), cells - 1)
            t = at - k
            low = table[k, 1]
            rise = table[k + 1, 0] - table[k, 0]
            bend = 3.0 * rise - 2.0 * low - table[k + 1, 1]
            twist = low + table[k + 1, 1] - 2.0 * rise
            p = min(1.0, math.exp(table[k, 0] + t * (low + t * (bend + t * twist))))
            slope = (low + t * (2.0 * bend + t * 3.0 * twist)) * per_step  # of log p over log rate
            last = 0.0
            step = 0.0
            for _ in range(60):
                inside()
                excess = value / rate - 1.0
                if abs(step) > 1e-6:
                    slope = -step / (excess - last)
                last = excess
                step = slope * excess
                p = min(1.0, p - p * step)
                if abs(step) < 1e-12:
                    found = p
                    break
        out[n] = found


def power_cycles(packets: Ints, kept: float, growth: float, start: float, out: Floats) -> None:
    """Template: a power of the window before each loss, which every cycle maps linearly."""
    power = start
    for n in range(packets.shape[0]):
        power = kept * power + growth * packets[n]
        out[n] = power


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
