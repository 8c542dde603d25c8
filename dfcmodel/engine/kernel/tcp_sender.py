"""Greedy TCP as a fluid: windows, acknowledgements, holes and their recovery, one flow at a time.

A flow's packets have two numberings. In *emission order* they cross the network, which keeps that
order and tells only how much arrived and how much is missing of each stretch. The *sequence
number* says which data they carry; the emission log, a list of stretches in which both run in
parallel, maps one to the other. It bends where a sender goes back to resend.

What the receiver does is in `receivers`.

These functions are templates: the window rules of `responsefn` are spliced into them (`compilation`).
A flow's numbers stand in row f of `tcp`: the columns below, then the state of its window rule and
the rule's parameters. Its emission log and its holes are rings in flat arrays.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dfcmodel.engine.kernel.columns import (
    ACKED,
    BACKOFF,
    DEADLINE,
    DUPLICATES,
    EMITTED,
    EPISODES,
    FAST,
    HIGHEST,
    INFLATION,
    LOG_AT,
    LOG_END,
    LOG_FIRST,
    LOG_MASK,
    MAX_WINDOW,
    NEXT,
    OFFSET,
    PARTIAL,
    RECOVER,
    RECOVERY,
    RENO,
    RTT_VAR,
    SIZE,
    SRTT,
    TAHOE,
    TCP_COLUMNS,
    TIMED,
    TIMED_AT,
    TIMEOUT,
    TIMEOUTS,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["emit", "flow_on", "measure", "on_grid", "send"]

TINY = 1e-9
DUPACK_THRESHOLD = 3.0


def on_grid(amount: float, grid: float) -> float:
    """Round an amount of packets down to a multiple of ``grid``."""
    large = 6755399441055744.0 * grid  # 1.5 * 2^52: nothing finer than the grid survives the sum
    rounded = (amount + large) - large
    return rounded - grid if rounded > amount else rounded


def emit(tcp: Floats, log: Floats, f: int, sequence: float, amount: float) -> bool:
    """Send ``amount`` packets from ``sequence`` on: extend the emission log; False: it is full."""
    at = tcp[f, EMITTED]
    if not abs(at + tcp[f, OFFSET] - sequence) <= 1e-6:
        end = int(tcp[f, LOG_END])
        mask = int(tcp[f, LOG_MASK])
        if end - tcp[f, LOG_FIRST] > mask:
            return False
        last = 2 * (int(tcp[f, LOG_AT]) + (end & mask))
        log[last] = at
        log[last + 1] = sequence
        tcp[f, LOG_END] = end + 1.0
        tcp[f, OFFSET] = sequence - at
    tcp[f, EMITTED] = at + amount
    return True


def measure(tcp: Floats, f: int, sample: float, min_rto: float) -> None:
    """Take a round-trip time in s into account: RFC 6298 without its granularity."""
    if tcp[f, SRTT] == 0.0:
        tcp[f, SRTT] = sample
        tcp[f, RTT_VAR] = 0.5 * sample
    else:
        tcp[f, RTT_VAR] += 0.25 * (abs(sample - tcp[f, SRTT]) - tcp[f, RTT_VAR])
        tcp[f, SRTT] += 0.125 * (sample - tcp[f, SRTT])
    tcp[f, BACKOFF] = 1.0
    tcp[f, TIMED] = -1.0
    tcp[f, TIMEOUT] = max(min_rto, tcp[f, SRTT] + 4.0 * tcp[f, RTT_VAR])


def flow_on(
    tcp: Floats,
    f: int,
    now: float,
    h: float,
    acks: float,
    acked: float,
    min_rto: float,
    grid: float,
) -> bool:
    """Do what `send` does where every ACK moves U and nothing is sent again; else return False."""
    if tcp[f, FAST] == 1.0 or tcp[f, NEXT] != tcp[f, HIGHEST] or now >= tcp[f, DEADLINE]:
        return False
    if not abs(tcp[f, EMITTED] + tcp[f, OFFSET] - tcp[f, NEXT]) <= 1e-6:
        return False
    before = tcp[f, ACKED]
    tcp[f, ACKED] = acked
    tcp[f, DUPLICATES] = 0.0
    if tcp[f, TIMED] >= 0.0 and acked > tcp[f, TIMED] + TINY:
        part = max(0.0, tcp[f, TIMED] - before) / (acked - before)  # of the step, when it came
        measure(tcp, f, now + part * h - tcp[f, TIMED_AT], min_rto)
    left = acks
    while left > 0.0:  # a window grows by at most an eighth between two calls of its rule
        amount = min(left, max(1.0, 0.125 * tcp[f, TCP_COLUMNS]))
        on_ack()  # type: ignore[name-defined]  # noqa: F821
        left -= amount
    tcp[f, DEADLINE] = now + tcp[f, BACKOFF] * tcp[f, TIMEOUT]
    room = min(acked + min(tcp[f, TCP_COLUMNS], tcp[f, MAX_WINDOW]), tcp[f, SIZE]) - tcp[f, NEXT]
    room = on_grid(room, grid)
    if room > 0.0:
        if tcp[f, TIMED] < 0.0:
            tcp[f, TIMED] = tcp[f, NEXT]
            tcp[f, TIMED_AT] = now
        tcp[f, EMITTED] += room
        tcp[f, NEXT] += room
        tcp[f, HIGHEST] = tcp[f, NEXT]
    return True


def send(
    tcp: Floats,
    log: Floats,
    f: int,
    now: float,
    h: float,
    acks: float,
    advancing: float,
    acked: float,
    marked: float,
    min_rto: float,
    grid: float,
) -> bool:
    """Let the sender of a flow act on the ACKs of one step: timer, recovery, window, emission.

    Parameters
    ----------
    tcp, log
        State of all flows and their emission logs.
    f
        The flow.
    now, h
        Time and step in s.
    acks
        Packets that arrived at the receiver, each of which sent an ACK.
    advancing, acked
        How many of them move U, and U with the last of them.
    marked
        How many of them carry a mark of congestion (ECN).
    min_rto
        In s.
    grid
        Amounts are multiples of this.

    Returns
    -------
    bool
        False when the emission log overflows.
    """
    max_window = tcp[f, MAX_WINDOW]
    advance = acked - tcp[f, ACKED]
    new_acks = min(advancing, acks)
    waiting = tcp[f, DUPLICATES] < DUPACK_THRESHOLD
    resend = False
    if advance > TINY:
        before = tcp[f, ACKED]
        tcp[f, ACKED] = acked
        tcp[f, DUPLICATES] = 0.0
        if tcp[f, TIMED] >= 0.0 and acked > tcp[f, TIMED] + TINY:
            part = max(0.0, tcp[f, TIMED] - before) / advance
            measure(tcp, f, now + part * h - tcp[f, TIMED_AT], min_rto)
        if tcp[f, NEXT] < acked:
            tcp[f, NEXT] = acked
        restart = True
        if tcp[f, FAST] == 1.0:
            if tcp[f, RECOVERY] == RENO or acked >= tcp[f, RECOVER] - TINY:
                tcp[f, FAST] = 0.0
                tcp[f, INFLATION] = 0.0
                tcp[f, PARTIAL] = 0.0
            else:
                tcp[f, INFLATION] = max(0.0, tcp[f, INFLATION] - advance + new_acks)
                restart = tcp[f, PARTIAL] == 0.0
                tcp[f, PARTIAL] = 1.0
                resend = True
        else:
            left = new_acks
            while left > 0.0:  # a window grows by at most an eighth between two calls of its rule
                amount = min(left, max(1.0, 0.125 * tcp[f, TCP_COLUMNS]))
                on_ack()  # type: ignore[name-defined]  # noqa: F821
                left -= amount
        if restart:
            tcp[f, DEADLINE] = now + tcp[f, BACKOFF] * tcp[f, TIMEOUT]
    duplicates = acks - new_acks
    ahead = 0.0  # packets beyond the window for the first two duplicate ACKs (RFC 3042)
    if duplicates > TINY and tcp[f, HIGHEST] > tcp[f, ACKED] + TINY:
        if tcp[f, FAST] == 1.0:
            tcp[f, INFLATION] += duplicates
        elif advance > TINY:  # ACKs that move U and others take turns
            ahead = min(1.0, math.floor(duplicates + TINY)) if waiting else 0.0
        else:
            tcp[f, DUPLICATES] += duplicates
            if tcp[f, DUPLICATES] < DUPACK_THRESHOLD:
                ahead = math.floor(tcp[f, DUPLICATES] + TINY)
            known = tcp[f, ACKED] <= tcp[f, RECOVER] + TINY
            if tcp[f, DUPLICATES] >= DUPACK_THRESHOLD and not known:
                tcp[f, TCP_COLUMNS] = min(tcp[f, TCP_COLUMNS], max_window)
                on_loss()  # type: ignore[name-defined]  # noqa: F821
                tcp[f, EPISODES] += 1.0
                tcp[f, RECOVER] = tcp[f, HIGHEST]
                tcp[f, TIMED] = -1.0
                if tcp[f, RECOVERY] == TAHOE:
                    tcp[f, NEXT] = tcp[f, ACKED]
                else:
                    tcp[f, FAST] = 1.0
                    tcp[f, PARTIAL] = 0.0
                    tcp[f, INFLATION] = tcp[f, DUPLICATES]
                    resend = True
                tcp[f, DEADLINE] = now + tcp[f, BACKOFF] * tcp[f, TIMEOUT]
    if marked > 0.0 and tcp[f, ACKED] > tcp[f, RECOVER] + TINY:
        tcp[f, TCP_COLUMNS] = min(tcp[f, TCP_COLUMNS], max_window)
        on_loss()  # type: ignore[name-defined]  # noqa: F821
        tcp[f, EPISODES] += 1.0
        tcp[f, RECOVER] = tcp[f, HIGHEST]
    if now >= tcp[f, DEADLINE] and tcp[f, HIGHEST] > tcp[f, ACKED] + TINY:
        tcp[f, TCP_COLUMNS] = min(tcp[f, TCP_COLUMNS], max_window)
        on_timeout()  # type: ignore[name-defined]  # noqa: F821
        tcp[f, TIMEOUTS] += 1.0
        tcp[f, RECOVER] = tcp[f, HIGHEST]
        tcp[f, NEXT] = tcp[f, ACKED]
        tcp[f, FAST] = 0.0
        tcp[f, INFLATION] = 0.0
        tcp[f, PARTIAL] = 0.0
        tcp[f, DUPLICATES] = 0.0
        tcp[f, TIMED] = -1.0
        tcp[f, BACKOFF] = min(64.0, 2.0 * tcp[f, BACKOFF])
        tcp[f, DEADLINE] = now + tcp[f, BACKOFF] * tcp[f, TIMEOUT]
    if resend:
        hole = on_grid(min(1.0, tcp[f, HIGHEST] - tcp[f, ACKED]), grid)
        if not emit(tcp, log, f, tcp[f, ACKED], hole):
            return False
    open_window = min(tcp[f, TCP_COLUMNS] + tcp[f, INFLATION], max_window) + ahead
    room = on_grid(min(tcp[f, ACKED] + open_window, tcp[f, SIZE]) - tcp[f, NEXT], grid)
    if tcp[f, NEXT] < tcp[f, HIGHEST] - TINY:  # what is sent again goes in whole packets
        room = math.floor(room + TINY)
    if room > 0.0:
        if tcp[f, DEADLINE] == math.inf:
            tcp[f, DEADLINE] = now + max(min_rto, 3.0)
        if tcp[f, TIMED] < 0.0 and tcp[f, NEXT] >= tcp[f, HIGHEST] - TINY:
            tcp[f, TIMED] = tcp[f, NEXT]
            tcp[f, TIMED_AT] = now
        if not emit(tcp, log, f, tcp[f, NEXT], room):
            return False
        tcp[f, NEXT] += room
        tcp[f, HIGHEST] = max(tcp[f, HIGHEST], tcp[f, NEXT])
    return True
