"""The loops in which rules run: templates into which `cycles.compile_rule` splices a rule's functions.

``load()`` becomes the assignments of the state ``s`` and the parameters ``q``, ``advance()`` moves
``s`` by ``k`` ACKs; `on_ack`, `on_loss`, `change` (what an ACK adds) and `Event` are the rule's. They
run only compiled.

ACKs come at the rate cwnd/RTT; in slow start, where they answer the smaller window of a round trip
ago, at the lower rate by which the window doubles in a round trip. The round-trip time is ``rtt``, or
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
    "cycles",
    "doubling",
    "power_cycles",
    "simulate",
]

SLOWER = 1.4426950408889634  # 1 / ln 2
LEAST, LARGEST = 1.0 - 1e-9, 1e15  # of a window in packets


def ack(s, q, now, rtt, service, left):
    """Template: one ACK. Return the state, how many ACKs, the window and round trip that they saw."""
    cwnd = s.cwnd
    r = max(rtt, cwnd * service)
    lag = r if cwnd >= s.ssthresh else doubling(cwnd, r)
    return on_ack(s, q, Event(now + lag / cwnd, r)), 1.0, cwnd, lag


def block(s, q, now, rtt, service, left):
    """Template: as `ack`, for an eighth of a window by the midpoint rule, one ACK in slow start.

    The first ACK of a block is a single one: what a rule does once, such as taking the larger of
    two windows, must not count for every ACK. Where the window comes to rest halfway, only that
    far; all that is left at once for a state that no ACK changes, not even the last.
    """
    start = s
    r = max(rtt, s.cwnd * service)
    if s.cwnd < s.ssthresh:
        s = on_ack(s, q, Event(now, r))
        return s, 1.0, start.cwnd, doubling(start.cwnd, r)
    whole = min(max(1.0, s.cwnd / 8.0), left)
    event = Event(now, r)
    first = on_ack(s, q, event)
    if whole <= 1.0:
        k = whole
        new = first
        more = change(s, q, event)
        advance()
        return s, k, start.cwnd, r
    new = first
    s = first
    later = Event(now + r / start.cwnd, max(rtt, s.cwnd * service))
    new = on_ack(s, q, later)
    more = change(s, q, later)
    k = max(
        0.0, 0.5 * whole - 1.0
    )  # ACKs 1 to whole - 1 find the state of ACK whole / 2 on average
    advance()
    r = max(rtt, s.cwnd * service)
    later = Event(now + (1.0 + k) * r / s.cwnd, r)
    new = on_ack(s, q, later)
    if new == s:
        k += 1.0
        if s == start and on_ack(s, q, Event(now + left * r / s.cwnd, r)) == s:
            k = left
        return s, k, start.cwnd, event.rtt
    more = change(s, q, later)
    seen = s.cwnd - 0.5 * more.cwnd  # of ACKs 0 to whole - 1
    k = whole - 1.0
    s = first
    advance()
    return s, whole, seen, r


def doubling(cwnd, r):
    """Template: the round-trip time that one ACK of slow start at ``cwnd`` stands for.

    The window doubles in ``r``: from w to w + 1 in r log2(1 + 1/w).
    """
    return r * cwnd * math.log1p(1.0 / cwnd) * SLOWER


def cycles(
    packets: Floats,
    rtts: Floats,
    service: float,
    starts: Floats,
    params: Floats,
    most: int,
    budget: int,
    tolerance: float,
    same: float,
    out: Floats,
    wrong: Floats,
) -> None:
    """Template: advance each row until its cycle repeats; write the columns of `Cycle`.

    Peaks that come nearer by a steady ratio are taken to where they tend (Aitken) in the first
    cycles. Once they differ by less than ``tolerance`` it goes on as long as they come nearer still.
    Several cycles may also repeat together: peak and duration are compared with those of the last
    power of two (Brent), since when the sums run. A window that cannot be ends all, and is
    recorded in ``wrong`` (see `rule_checks.raise_wrong`).
    """
    for i in range(packets.shape[0]):
        load()
        rtt = rtts[i]
        old = s
        r = rtt
        now = 0.0
        s = on_loss(s, q, Event(0.0, rtt))
        if not LEAST <= s.cwnd <= LARGEST:
            event = 2
            report()
            return
        before = 0.0
        last = 0.0
        nearest = math.inf
        taken = 0  # the cycle after which the window was taken further
        anchor = 0.0  # peak and duration of the cycle that is a power of two
        anchor_time = 0.0
        period = 0
        work = 0
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
            time = 0.0
            window_time = 0.0
            window_packets = 0.0
            while left > 0.0:
                old = s
                s, k, cwnd, lag = block(s, q, now + time, rtt, service, left)
                if not LEAST <= s.cwnd <= LARGEST:
                    now += time
                    r = max(rtt, old.cwnd * service)
                    event = 1
                    report()
                    return
                left -= k
                work += 1
                time += k * lag / cwnd
                window_time += k * lag
                window_packets += k * cwnd
            now += time
            peak = s.cwnd
            count += 1.0
            total_time += time
            over_time += window_time
            over_packets += window_packets
            peaks += peak
            # two in a row, so that no slow drift passes
            change_of_peak = max(abs(peak - last), abs(last - before))
            if change_of_peak <= tolerance * peak:
                if change_of_peak >= nearest:
                    count = 1.0
                    total_time = time
                    over_time = window_time
                    over_packets = window_packets
                    peaks = peak
                    period = 1
                    break
                nearest = change_of_peak
            elif abs(peak - anchor) <= same * peak and abs(time - anchor_time) <= same * time:
                period = int(count)
                break
            elif n >= taken + 3 and n <= 32:
                ratio = (peak - last) / (last - before)
                if abs(ratio) < 0.9:
                    further = (peak - last) * ratio / (1.0 - ratio)
                    jump()
                    taken = n
            before = last
            last = peak
            old = s
            r = max(rtt, s.cwnd * service)
            s = on_loss(s, q, Event(now, r))
            if not LEAST <= s.cwnd <= LARGEST:
                event = 2
                report()
                return
            if n & (n - 1) == 0:
                if work > budget or n >= most:
                    break
                count = 0.0
                total_time = 0.0
                over_time = 0.0
                over_packets = 0.0
                peaks = 0.0
                anchor = peak
                anchor_time = time
        out[i, 0] = count * packets[i] / total_time
        out[i, 1] = over_time / total_time
        out[i, 2] = over_packets / (count * packets[i])
        out[i, 3] = peaks / count
        out[i, 4] = total_time / count
        out[i, 5] = n
        out[i, 6] = period


def simulate(
    gaps: Floats,
    first: Ints,
    starts: Floats,
    rtt: float,
    service: float,
    limit: float,
    params: Floats,
    together: bool,
    merge: bool,
    lanes: Floats,
    places: Ints,
    rows: Ints,
    out: Floats,
    counts: Ints,
    wrong: Floats,
) -> bool:
    """Template: runs side by side, ``move()`` by ``move()``; one row of ``out`` per loss event.

    A window waits for its own last step, which takes longer than the step. So ``width`` runs go side
    by side: `lanes` has a row of that length for each of six sums (time, packets, window over time,
    window over packets, when the cycle began, packets to the next loss) and for each field of the
    state, and the loop over them is one that a processor does on several numbers at once. A lane whose
    run is over takes the next one. ``places`` are run, next gap and next row of ``out`` by lane.

    Run j has the gaps from ``first[j]`` to ``first[j + 1]``, the state ``starts[j]`` and the rows of
    ``out`` from ``rows[j]`` to ``rows[j + 1]``; False when these are full. ``wrong`` as in `cycles`.
    """
    layout()
    parameters()
    runs = counts.shape[0]
    fields = starts.shape[1]
    begun = 0
    for i in range(width):
        lanes[5 * width + i] = -1.0
        places[i, 0] = -1
    going = 1
    while going > 0:
        going = 0
        least = math.inf
        for i in range(width):
            left = lanes[5 * width + i]
            run = places[i, 0]
            take()
            full = s.cwnd > limit
            if left > 0.0 and not full:
                least = min(least, left)
                going += run >= 0
                continue
            row = places[i, 2]
            if run >= 0:
                if full or not merge or row == rows[run] or lanes[1 * width + i] >= s.cwnd:
                    if row >= rows[run + 1]:
                        return False
                    now = lanes[0 * width + i]
                    out[row, 0] = now - lanes[4 * width + i]
                    out[row, 1] = lanes[1 * width + i]
                    out[row, 2] = lanes[2 * width + i]
                    out[row, 3] = lanes[3 * width + i]
                    out[row, 4] = s.cwnd
                    row += 1
                    places[i, 2] = row
                    old = s
                    r = max(rtt, s.cwnd * service)
                    event = 1
                    if LEAST <= s.cwnd <= LARGEST:
                        s = on_loss(s, q, Event(now, r))
                        event = 2
                    if not LEAST <= s.cwnd <= LARGEST:
                        report()
                        return True
                    put()
                    lanes[4 * width + i] = now
                    for n in range(1, 4):
                        lanes[n * width + i] = 0.0
                if left > 0.0:  # a full buffer's loss, not one that was drawn
                    least = min(least, left)
                    going += 1
                    continue
                if places[i, 1] == first[run + 1]:
                    counts[run] = row - rows[run]
                    run = -1
            if run < 0 and begun < runs:
                run = begun
                begun += 1
                places[i, 1] = first[run]
                places[i, 2] = rows[run]
                for n in range(5):
                    lanes[n * width + i] = 0.0
                for n in range(fields):
                    lanes[(6 + n) * width + i] = starts[run, n]
            places[i, 0] = run
            left = math.inf  # a lane without a run idles
            if run >= 0:
                left = gaps[places[i, 1]]
                places[i, 1] += 1
                going += 1
            lanes[5 * width + i] = left
            least = min(least, left)
        steps = 1
        if together and least < math.inf:
            steps = int(least)
        if going == 0:
            steps = 0
        if width == 1:  # one run: all that it is stays in registers
            i = 0
            take()
            now = lanes[0]
            left = lanes[5]
            packets = lanes[1]
            over_time = lanes[2]
            over_packets = lanes[3]
            for _ in range(steps):
                move()
                now += k * lag / cwnd
                packets += k
                over_time += k * lag
                over_packets += k * cwnd
                left -= k
            lanes[0] = now
            lanes[1] = packets
            lanes[2] = over_time
            lanes[3] = over_packets
            lanes[5] = left
            put()
            steps = 0
        for _ in range(steps):
            for i in range(width):
                take()
                now = lanes[0 * width + i]
                left = lanes[5 * width + i]
                move()
                lanes[0 * width + i] = now + k * lag / cwnd
                lanes[1 * width + i] += k
                lanes[2 * width + i] += k * lag
                lanes[3 * width + i] += k * cwnd
                lanes[5 * width + i] = left - k
                put()
    return True


def power_cycles(packets: Ints, kept: float, growth: float, start: float, out: Floats) -> None:
    """Template: a power of the window before each loss, which every cycle maps linearly."""
    power = start
    for n in range(packets.shape[0]):
        power = kept * power + growth * packets[n]
        out[n] = power
