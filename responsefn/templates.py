"""The loops in which rules run: templates into which `cycles.compile_rule` splices a rule's functions.

``load()`` becomes the assignments of the state ``s`` and the parameters ``q``, ``advance()`` moves
``s`` by ``k`` ACKs; `on_ack`, `on_loss` and `Event` are the rule's. They run only compiled.

ACKs come at the rate cwnd/RTT; in slow start, where they answer the smaller window of a round trip
ago, at ln 2 of that, so that the window doubles per round trip.
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

__all__ = ["acks", "aimd_cycles", "blocks", "cycles", "evaluate_all", "invert_all"]

LN2 = 0.6931471805599453


def cycles(
    packets: Floats,
    rtts: Floats,
    capacity: float,
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
        s = on_loss(s, q, Event(0.0, rtts[i]))
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
                r = max(rtts[i], s.cwnd / capacity)
                k = 1.0
                if s.cwnd >= s.ssthresh:
                    k = max(1.0, s.cwnd / 8.0)
                k = min(k, left)
                left -= k
                work += 1
                kept = s
                old = s
                new = on_ack(s, q, Event(now, r))
                if k > 1.0:
                    whole = k
                    k = 0.5 * whole
                    half = k * r / s.cwnd
                    advance()
                    r = max(rtts[i], s.cwnd / capacity)
                    old = s
                    new = on_ack(s, q, Event(now + half, r))
                    k = whole
                cwnd = old.cwnd
                s = kept
                advance()
                step = k * r / cwnd
                if cwnd < kept.ssthresh:
                    step = step / LN2
                now += step
                window_time += cwnd * step
                window_packets += cwnd * k
            peak = s.cwnd
            r = max(rtts[i], peak / capacity)
            s = on_loss(s, q, Event(now, r))
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


def acks(
    gaps: Ints,
    rtt: float,
    capacity: float,
    limit: float,
    starts: Floats,
    params: Floats,
    merge: bool,
    out: Floats,
) -> int:
    """Template: ACK by ACK; one row of ``out`` per loss event; -1 when it is full."""
    i = 0
    load()
    now = 0.0
    begin = 0.0
    packets = 0
    over_time = 0.0
    over_packets = 0.0
    row = 0
    for n in range(gaps.shape[0]):
        left = gaps[n]
        while left > 0:
            # the inner loop is the whole cost: nothing but the rule and two sums
            full = False
            taken = 0
            while taken < left:
                cwnd = s.cwnd
                r = max(rtt, cwnd / capacity)
                lag = r if cwnd >= s.ssthresh else r / LN2
                now += lag / cwnd
                over_time += lag
                over_packets += cwnd
                s = on_ack(s, q, Event(now, r))
                taken += 1
                if s.cwnd > limit:
                    full = True
                    break
            left -= taken
            packets += taken
            if full or left == 0:
                if merge and not full and packets < s.cwnd and row > 0:
                    continue
                if row >= out.shape[0]:
                    return -1
                r = max(rtt, s.cwnd / capacity)
                out[row, 0] = now - begin
                out[row, 1] = packets
                out[row, 2] = over_time
                out[row, 3] = over_packets
                out[row, 4] = s.cwnd
                row += 1
                s = on_loss(s, q, Event(now, r))
                begin = now
                packets = 0
                over_time = 0.0
                over_packets = 0.0
    return row


def blocks(
    gaps: Ints,
    rtt: float,
    capacity: float,
    limit: float,
    starts: Floats,
    params: Floats,
    merge: bool,
    out: Floats,
) -> int:
    """Template: as `acks`, in blocks of an eighth of a window by the midpoint rule."""
    i = 0
    load()
    now = 0.0
    begin = 0.0
    packets = 0.0
    over_time = 0.0
    over_packets = 0.0
    row = 0
    for n in range(gaps.shape[0]):
        left = float(gaps[n])
        while left > 0.0:
            r = max(rtt, s.cwnd / capacity)
            k = 1.0
            if s.cwnd >= s.ssthresh:
                k = max(1.0, s.cwnd / 8.0)
            k = min(k, left)
            left -= k
            kept = s
            old = s
            new = on_ack(s, q, Event(now, r))
            if k > 1.0:
                whole = k
                k = 0.5 * whole
                half = k * r / s.cwnd
                advance()
                r = max(rtt, s.cwnd / capacity)
                old = s
                new = on_ack(s, q, Event(now + half, r))
                k = whole
            cwnd = old.cwnd
            s = kept
            advance()
            lag = r if cwnd >= kept.ssthresh else r / LN2
            now += k * lag / cwnd
            over_time += k * lag
            over_packets += k * cwnd
            packets += k
            full = s.cwnd > limit
            if full or left <= 0.0:
                if merge and not full and packets < s.cwnd and row > 0:
                    continue
                if row >= out.shape[0]:
                    return -1
                r = max(rtt, s.cwnd / capacity)
                out[row, 0] = now - begin
                out[row, 1] = packets
                out[row, 2] = over_time
                out[row, 3] = over_packets
                out[row, 4] = s.cwnd
                row += 1
                s = on_loss(s, q, Event(now, r))
                begin = now
                packets = 0.0
                over_time = 0.0
                over_packets = 0.0
    return row


def evaluate_all(p_values: Floats, constants: Floats, out: Floats) -> None:
    """Template: ``before()`` computes what does not depend on p, ``inside()`` sets ``value``."""
    before()
    for n in range(p_values.shape[0]):
        p = p_values[n]
        inside()
        out[n] = value


def invert_all(rates: Floats, constants: Floats, rtt: float, out: Floats) -> None:
    """Template: Newton's method for log p, from the square-root law's p, which is never too small.

    Rates fall with p and their logarithm is concave in log p, so that the iteration comes down to
    the root from one side.
    """
    before()
    for n in range(rates.shape[0]):
        rate = rates[n]
        window = rate * rtt
        log_p = math.log(min(0.999, 1.5 / (window * window)))
        found = math.nan
        for _ in range(60):
            p = math.exp(log_p)
            inside()
            step = math.log(value / rate) / slope
            log_p -= step
            if not log_p < 0.0:
                log_p = -1e-3
            if abs(step) < 1e-7:  # the next one would be its square
                found = math.exp(log_p)
                break
        out[n] = found


def aimd_cycles(packets: Floats, a: float, kept: float, window: float, out: Floats) -> None:
    """Template: AIMD's peak before each loss, from the packets between losses and the last peak."""
    for n in range(packets.shape[0]):
        low = kept * window
        window = math.sqrt(low * low + 2.0 * a * packets[n])
        out[n] = window
