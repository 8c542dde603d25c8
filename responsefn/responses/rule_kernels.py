"""The steps of a rule under loss: templates into which `rule_compilation` puts a rule's functions.

``load()`` becomes the assignments of the state ``s`` and the parameters ``q``, ``advance()`` moves
``s`` by ``k`` ACKs; `on_ack`, `on_loss`, `change` (what an ACK adds) and `Event` are the rule's. `loss` and
`to_next_loss` are called by address from the loops of `responsefn.responses.kernel`, whose `rows`
say what their array holds.

ACKs come at the rate cwnd/RTT; in slow start, where they answer the smaller window of a round trip
ago, at the lower rate by which the window doubles in a round trip. The round-trip time is ``rtt``, or
what the bottleneck takes for a window at ``service`` seconds per packet if that is longer.
"""
# mypy: ignore-errors
# ruff: noqa: F821, F841

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from responsefn.responses.kernel.rows import (
    BEGUN,
    LEFT,
    MAX_WINDOW,
    MIN_WINDOW,
    MOVES,
    OVER_PACKETS,
    OVER_TIME,
    PACKETS,
    TIME,
    WRONG,
)

if TYPE_CHECKING:
    from responsefn.responses.dynamics import Floats

    Ints = NDArray[np.int64]

__all__ = ["ack", "block", "doubling", "loss", "power_cycles", "to_next_loss"]

SLOWER = 1.4426950408889634  # 1 / ln 2


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
        lag = doubling(s.cwnd, r)
        s = on_ack(s, q, Event(now + lag / s.cwnd, r))
        return s, 1.0, start.cwnd, lag
    whole = min(max(1.0, s.cwnd / 8.0), left)
    event = Event(now + r / s.cwnd, r)
    first = on_ack(s, q, event)
    if whole <= 1.0:
        k = whole
        new = first
        more = change(s, q, event)
        advance()
        return s, k, start.cwnd, r
    new = first
    s = first
    later = max(rtt, s.cwnd * service)
    later = Event(event.time + later / s.cwnd, later)
    new = on_ack(s, q, later)
    more = change(s, q, later)
    k = max(
        0.0, 0.5 * whole - 1.0
    )  # ACKs 1 to whole - 1 find the state of ACK whole / 2 on average
    advance()
    r = max(rtt, s.cwnd * service)
    later = Event(now + (2.0 + k) * r / s.cwnd, r)
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


def loss(run, now, rtt, unused, also_unused):
    """Template: the loss event of one run."""
    load()
    s = on_loss(s, q, Event(now, rtt))
    store()


def to_next_loss(run, rtt, service, limit, unused):
    """Template: steps of a run until its next loss, or until its window passes ``limit``.

    It ends before a step to an invalid window, with that window in the row WRONG.
    """
    load()
    begun = run[BEGUN]
    time = run[TIME]
    packets = run[PACKETS]
    over_time = run[OVER_TIME]
    over_packets = run[OVER_PACKETS]
    left = run[LEFT]
    moves = run[MOVES]
    wrong = 0.0
    while True:
        old = s
        move()
        if not MIN_WINDOW <= s.cwnd <= MAX_WINDOW:
            wrong = s.cwnd
            s = old
            break
        time += k * lag / cwnd
        packets += k
        over_time += k * lag
        over_packets += k * cwnd
        left -= k
        moves += 1.0
        if left <= 0.0 or s.cwnd > limit:
            break
    run[TIME] = time
    run[PACKETS] = packets
    run[OVER_TIME] = over_time
    run[OVER_PACKETS] = over_packets
    run[LEFT] = left
    run[MOVES] = moves
    run[WRONG] = wrong
    store()


def power_cycles(packets: Ints, kept: float, growth: float, start: float, out: Floats) -> None:
    """Template: a power of the window before each loss, which every cycle maps linearly."""
    power = start
    for n in range(packets.shape[0]):
        power = kept * power + growth * packets[n]
        out[n] = power
