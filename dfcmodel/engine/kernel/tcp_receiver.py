"""The receiver of a greedy TCP flow as a fluid: what is missing, and what is acknowledged.

Packets arrive or are lost whole: what the network says is missing of a stretch is gathered until it
makes a packet, and that one is a *hole*. The cumulative acknowledgement U stands at the first hole.
A packet that is sent again fills the hole where it belongs, if there is one, and U moves on to the
next: it jumps over what was already received.

These functions are templates, like those of `sources`, which has the columns of ``tcp``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dfcmodel.engine.kernel.columns import (
    BROKEN,
    CLEAN,
    DATED,
    HELD,
    HELD_GONE,
    HOLES_AT,
    HOLES_MASK,
    LOG_AT,
    LOG_END,
    LOG_FIRST,
    LOG_MASK,
    OFFSET,
    RECEIVED,
    SEEN,
    UP_TO,
)
from dfcmodel.engine.kernel.tcp_sender import TINY, on_grid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["date", "keep_up", "receive"]


def date(f: int, k: int, position: float, flow: Ints, emitted: Floats) -> Any:
    """Return when what stands at ``position`` in emission order was sent, in steps, before step k.

    ``emitted[f]`` is what flow f had emitted, by step, a ring; a packet older than the ring is as old
    as that. Positions of successive calls do not decrease.
    """
    mask = emitted.shape[1] - 1
    j = max(flow[f, DATED], k - mask + 1)
    while emitted[f, j & mask] < position and j < k:
        j += 1
    flow[f, DATED] = j
    begin = emitted[f, (j - 1) & mask]
    end = emitted[f, j & mask]
    if position >= end or position <= begin:  # older than the ring
        return j
    return j - (end - position) / (end - begin)


def repair(tcp: Floats, holes: Floats, f: int, first: float, end: float) -> Any:
    """Fill the holes from sequence number ``first`` to ``end``; return how many packets they were."""
    base = int(tcp[f, HOLES_AT])
    mask = int(tcp[f, HOLES_MASK])
    ever = base + mask + 1
    low = max(first, tcp[f, UP_TO])
    high = min(tcp[f, SEEN], end)
    filled = 0.0
    c = int(low)
    while low < high - TINY:
        edge = min(c + 1.0, tcp[f, SEEN])
        until = min(edge, high)
        missing = holes[base + (c & mask)]
        beyond = holes[ever + (c & mask)] * (edge - until) / (edge - c)
        if missing > beyond:
            holes[base + (c & mask)] = beyond
            filled += missing - beyond
        low = until
        c += 1
    return filled


def receive(
    tcp: Floats,
    log: Floats,
    holes: Floats,
    f: int,
    arrived: float,
    gone: float,
    grid: float,
) -> Any:
    """Take in ``arrived`` packets and the ``gone`` lost among them; move U.

    Parameters
    ----------
    tcp, log
        As for `send`.
    holes
        For each flow two rings that hold the window: packets missing now, and ever lost, per packet
        of sequence space.
    f
        The flow.

    Returns
    -------
    tuple of float
        The ACKs that answer, and how many of them move U: one for each hole filled, and one for
        each packet that came in order. Packets sent again are answered when they are whole.
    """
    logs = int(tcp[f, LOG_AT])
    log_mask = int(tcp[f, LOG_MASK])
    base = int(tcp[f, HOLES_AT])
    mask = int(tcp[f, HOLES_MASK])
    ever = base + mask + 1
    total = arrived + gone
    share = 1.0 - gone / total
    acks = 0.0
    advancing = 0.0
    while total > 0.0:
        first = int(tcp[f, LOG_FIRST])
        at = 2 * (logs + (first & log_mask))
        origin = log[at + 1]
        offset = tcp[f, RECEIVED] - log[at]
        rest = total
        if tcp[f, LOG_END] - first > 1.0:
            rest = log[2 * (logs + ((first + 1) & log_mask))] - tcp[f, RECEIVED]
            if rest <= TINY:
                tcp[f, LOG_FIRST] = first + 1.0
                continue
        stretch = min(total, rest)
        tcp[f, RECEIVED] += stretch
        total -= stretch
        resent = min(stretch, max(0.0, tcp[f, SEEN] - origin - offset))
        if resent > TINY:
            tcp[f, HELD] += resent
            tcp[f, HELD_GONE] += (1.0 - share) * resent
            whole = tcp[f, HELD]
            if stretch < rest and resent == stretch:  # more of it is to come
                whole = math.floor(whole + TINY)
            missed = tcp[f, HELD_GONE] / tcp[f, HELD]
            at = origin + offset + resent - tcp[f, HELD]
            tcp[f, HELD_GONE] -= missed * whole
            tcp[f, HELD] -= whole
            while whole > TINY:
                piece = min(1.0, whole)
                tcp[f, BROKEN] += missed * piece
                if missed > 0.0 and tcp[f, BROKEN] >= 1.0:
                    tcp[f, BROKEN] -= 1.0
                else:
                    acks += piece
                    advancing += repair(tcp, holes, f, at, at + piece)
                at += piece
                whole -= piece
        fresh = stretch - resent
        if fresh > TINY:
            start = tcp[f, SEEN]
            in_order = tcp[f, UP_TO] >= start - 1e-6
            tcp[f, SEEN] = start + fresh
            while start < tcp[f, SEEN] - TINY:
                c = int(start)
                if c >= tcp[f, CLEAN]:  # a packet is lost when so much is missing as makes one
                    lost = share < 1.0 and tcp[f, BROKEN] + 1.0 - share >= 1.0
                    lost = lost and start < c + 1e-6
                    if lost:
                        tcp[f, BROKEN] -= 1.0
                    holes[base + (c & mask)] = 0.0
                    holes[ever + (c & mask)] = TINY if lost else 0.0  # a mark: all of it is
                    tcp[f, CLEAN] = c + 1.0
                until = min(c + 1.0, tcp[f, SEEN])
                tcp[f, BROKEN] += (1.0 - share) * (until - start)
                if holes[ever + (c & mask)] > 0.0:
                    holes[base + (c & mask)] += until - start
                    holes[ever + (c & mask)] += until - start
                    in_order = False
                else:
                    acks += until - start
                    if in_order:
                        advancing += until - start
                start = until
    c = int(tcp[f, UP_TO])
    while c < tcp[f, SEEN]:
        edge = min(c + 1.0, tcp[f, SEEN])
        missing = holes[base + (c & mask)] if c < tcp[f, CLEAN] else 0.0
        if missing > 1e-6:
            done = 1.0 - missing / holes[ever + (c & mask)]
            tcp[f, UP_TO] = max(tcp[f, UP_TO], on_grid(c + done * (edge - c), grid))
            return acks, advancing
        if c < tcp[f, CLEAN]:
            holes[base + (c & mask)] = 0.0
        tcp[f, UP_TO] = max(tcp[f, UP_TO], edge)
        c += 1
    return acks, advancing


def keep_up(tcp: Floats, f: int, arrived: float) -> bool:
    """Do what `receive` does where new data came in order and nothing is missing; else return False."""
    if tcp[f, UP_TO] != tcp[f, SEEN] or tcp[f, LOG_END] - tcp[f, LOG_FIRST] != 1.0:
        return False
    if abs(tcp[f, RECEIVED] + tcp[f, OFFSET] - tcp[f, SEEN]) > 1e-6:
        return False
    tcp[f, RECEIVED] += arrived
    tcp[f, SEEN] += arrived
    tcp[f, UP_TO] = tcp[f, SEEN]
    return True
