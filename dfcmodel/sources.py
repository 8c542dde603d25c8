"""Greedy TCP as a fluid: windows, acknowledgements, holes and their recovery, one flow at a time.

A flow's packets have two numberings. In *emission order* they cross the network, which keeps that
order and tells only how much arrived and how much is missing of each stretch. The *sequence
number* says which data they carry; the emission log, a list of stretches in which both run in
parallel, maps one to the other. It bends where a sender goes back to resend.

The receiver keeps the *holes*: how much of each packet is missing. Its
cumulative acknowledgement U stands at the first hole. A retransmission that starts at U fills that
hole and reaches to the next one, 1/density packets on; those that follow it blindly fill the share
of holes in the stretch that they cover. With the holes U moves on: the ACK jumps over blocks
already received.

These functions are templates: the window rules of `responsefn` are spliced into them (`build_run`
in `engine`). They work on one row of the arrays of `engine.Arrays`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["emit", "receive", "send"]

# columns of Arrays.tcp, one row per flow
ACKED = 0  # A: cumulative acknowledgement as the sender knows it, packets
NEXT = 1  # next sequence number to send
HIGHEST = 2  # one beyond the highest ever sent
RECOVER = 3  # losses below this one belong to an episode already punished
FAST = 4  # 1 in fast recovery
DUPLICATES = 5  # duplicate ACKs in a row
INFLATION = 6  # packets by which fast recovery inflates the window
HELD = 7  # resent packets that arrived in part, not yet looked at
DEADLINE = 8  # when the retransmission timer fires, s; inf: not running
RTT = 9  # smoothed round-trip time, s; 0: none yet
RTT_VAR = 10  # its mean deviation, s
BACKOFF = 11  # factor on the timeout
TIMED = 12  # sequence number being timed; -1: none
TIMED_AT = 13  # when it was sent, s
EMITTED = 14  # cumulative emission, packets
RECEIVED = 15  # position of the receiver in emission order, packets
UP_TO = 16  # U: cumulative acknowledgement of the receiver
SEEN = 17  # H: one beyond the highest sequence number seen by the receiver
TIMEOUTS = 18  # number of timeouts
EPISODES = 19  # number of loss events punished by the window rule
PARTIAL = 20  # 1 after the first partial ACK of a recovery (the timer restarts only there)
SPACING = 21  # packets from one hole to the next where the current stretch of the log began
HELD_GONE = 22  # of HELD, what is missing
COLUMNS = 23

TAHOE, RENO, NEWRENO = 0, 1, 2

GRID = 2.0**-26
"""Amounts of packets are multiples of this: sums below 2^27 packets are exact in float64."""

TINY = 1e-9
DUPACK_THRESHOLD = 3.0


def on_grid(amount: float) -> float:
    """Round an amount of packets down to the grid."""
    return math.floor(amount / GRID) * GRID


def emit(tcp: Floats, log: Floats, ends: Ints, sequence: float, amount: float) -> bool:
    """Send ``amount`` packets from ``sequence`` on: extend the emission log."""
    last = (ends[1] - 1) % log.shape[0]
    at = tcp[EMITTED]
    if ends[1] == ends[0] or abs(log[last, 1] + (at - log[last, 0]) - sequence) > 1e-6:
        if ends[1] - ends[0] >= log.shape[0]:
            return False
        last = ends[1] % log.shape[0]
        log[last, 0] = at
        log[last, 1] = sequence
        ends[1] += 1
    tcp[EMITTED] = at + amount
    return True


def send(
    tcp: Floats,
    window: Floats,
    q: Floats,
    log: Floats,
    ends: Ints,
    now: float,
    acks: float,
    advancing: float,
    acked: float,
    kind: int,
    recovery: int,
    max_window: float,
    min_rto: float,
) -> Any:
    """Let the sender of a flow act on the ACKs of one step; return the packets it emits.

    Parameters
    ----------
    tcp
        The flow's row of state, see the columns above.
    window, q
        The state of the flow's rule, cwnd first, and its parameters; shape (fields,).
    log, ends
        The emission log, shape (entries, 2), and its first and one-past-last entry.
    now
        Time in s.
    acks
        Packets that arrived at the receiver, each of which sent an ACK.
    advancing, acked
        How many of them move U, and U with the last of them.
    kind, recovery
        Which window rule, and how it recovers.
    max_window, min_rto
        In packets and s.

    Returns
    -------
    float
        Packets emitted in this step; -1 when the emission log overflows.
    """
    emitted_before = tcp[EMITTED]
    advance = acked - tcp[ACKED]
    new_acks = min(advancing, acks)
    resend = False
    if advance > TINY:
        tcp[ACKED] = acked
        tcp[DUPLICATES] = 0.0
        if tcp[TIMED] >= 0.0 and acked > tcp[TIMED] + TINY:
            sample = now - tcp[TIMED_AT]
            if tcp[RTT] == 0.0:
                tcp[RTT] = sample
                tcp[RTT_VAR] = 0.5 * sample
            else:
                tcp[RTT_VAR] += 0.25 * (abs(sample - tcp[RTT]) - tcp[RTT_VAR])
                tcp[RTT] += 0.125 * (sample - tcp[RTT])
            tcp[BACKOFF] = 1.0
            tcp[TIMED] = -1.0
        if tcp[NEXT] < acked:
            tcp[NEXT] = acked
        restart = True
        if tcp[FAST] == 1.0:
            if recovery == RENO or acked >= tcp[RECOVER] - TINY:
                tcp[FAST] = 0.0
                tcp[INFLATION] = 0.0
                tcp[PARTIAL] = 0.0
            else:
                tcp[INFLATION] = max(0.0, tcp[INFLATION] - advance + new_acks)
                restart = tcp[PARTIAL] == 0.0
                tcp[PARTIAL] = 1.0
                resend = True
        else:
            left = new_acks
            while left > 0.0:  # a window grows by at most an eighth between two calls of its rule
                amount = min(left, max(1.0, window[0] / 8.0))
                on_ack()  # type: ignore[name-defined]  # noqa: F821
                left -= amount
        if restart:
            tcp[DEADLINE] = now + tcp[BACKOFF] * max(min_rto, tcp[RTT] + 4.0 * tcp[RTT_VAR])
    duplicates = acks - new_acks
    if duplicates > TINY and tcp[HIGHEST] > tcp[ACKED] + TINY:
        if tcp[FAST] == 1.0:
            tcp[INFLATION] += duplicates
        elif advance <= TINY:
            tcp[DUPLICATES] += duplicates
            if tcp[DUPLICATES] >= DUPACK_THRESHOLD and tcp[ACKED] > tcp[RECOVER] + TINY:
                window[0] = min(window[0], max_window)
                on_loss()  # type: ignore[name-defined]  # noqa: F821
                tcp[EPISODES] += 1.0
                tcp[RECOVER] = tcp[HIGHEST]
                tcp[TIMED] = -1.0
                if recovery == TAHOE:
                    tcp[NEXT] = tcp[ACKED]
                else:
                    tcp[FAST] = 1.0
                    tcp[PARTIAL] = 0.0
                    tcp[INFLATION] = tcp[DUPLICATES]
                    resend = True
                tcp[DUPLICATES] = 0.0
                tcp[DEADLINE] = now + tcp[BACKOFF] * max(min_rto, tcp[RTT] + 4.0 * tcp[RTT_VAR])
    if now >= tcp[DEADLINE] and tcp[HIGHEST] > tcp[ACKED] + TINY:
        window[0] = min(window[0], max_window)
        on_timeout()  # type: ignore[name-defined]  # noqa: F821
        tcp[TIMEOUTS] += 1.0
        tcp[RECOVER] = tcp[HIGHEST]
        tcp[NEXT] = tcp[ACKED]
        tcp[FAST] = 0.0
        tcp[INFLATION] = 0.0
        tcp[PARTIAL] = 0.0
        tcp[DUPLICATES] = 0.0
        tcp[TIMED] = -1.0
        tcp[BACKOFF] = min(64.0, 2.0 * tcp[BACKOFF])
        tcp[DEADLINE] = now + tcp[BACKOFF] * max(min_rto, tcp[RTT] + 4.0 * tcp[RTT_VAR])
    if resend:
        hole = on_grid(min(1.0, tcp[HIGHEST] - tcp[ACKED]))
        if not emit(tcp, log, ends, tcp[ACKED], hole):
            return -1.0
    room = on_grid(tcp[ACKED] + min(window[0] + tcp[INFLATION], max_window) - tcp[NEXT])
    if tcp[NEXT] < tcp[HIGHEST] - TINY:  # what is sent again goes in whole packets
        room = math.floor(room + TINY)
    if room > 0.0:
        if tcp[DEADLINE] == math.inf:
            tcp[DEADLINE] = now + max(min_rto, 3.0)
        if tcp[TIMED] < 0.0 and tcp[NEXT] >= tcp[HIGHEST] - TINY:
            tcp[TIMED] = tcp[NEXT]
            tcp[TIMED_AT] = now
        if not emit(tcp, log, ends, tcp[NEXT], room):
            return -1.0
        tcp[NEXT] += room
        tcp[HIGHEST] = max(tcp[HIGHEST], tcp[NEXT])
    return tcp[EMITTED] - emitted_before


def hole_spacing(tcp: Floats, missing: Floats) -> Any:
    """Return the distance between holes, in packets, from the density in the next few at U."""
    start = tcp[UP_TO]
    c = int(start)
    end = min(tcp[SEEN], c + 16.0)
    holes = 0.0
    while c < end:
        holes += missing[c % missing.shape[0]]
        c += 1
    return max(1.0, (end - start) / holes) if holes > TINY else 1.0


def repair(
    tcp: Floats,
    missing: Floats,
    lost: Floats,
    origin: float,
    first: float,
    end: float,
    share: float,
) -> Any:
    """Fill holes with the resent packets ``first`` to ``end`` of a stretch that began at ``origin``.

    The first packet of a stretch is a hole: it reaches to the next one, SPACING packets on, and
    those that follow reach as far ahead. ``share`` of them arrived. Returns the holes filled.
    """
    cells = missing.shape[0]
    if first < 0.5:
        tcp[SPACING] = hole_spacing(tcp, missing)
    low = origin + first + min(first, 1.0) * (tcp[SPACING] - 1.0)
    high = min(tcp[SEEN], origin + end + min(end, 1.0) * (tcp[SPACING] - 1.0))
    low = max(low, tcp[UP_TO])
    filled = 0.0
    c = int(low)
    while low < high - TINY:
        edge = min(c + 1.0, tcp[SEEN])
        until = min(edge, high)
        width = edge - c
        beyond = lost[c % cells] * (edge - until) / width if width > TINY else 0.0
        if missing[c % cells] > beyond:
            fill = share * (missing[c % cells] - beyond)
            missing[c % cells] -= fill
            filled += fill
        low = until
        c += 1
    return filled


def receive(
    tcp: Floats,
    log: Floats,
    ends: Ints,
    missing: Floats,
    lost: Floats,
    arrived: float,
    gone: float,
) -> Any:
    """Take in ``arrived`` packets and the ``gone`` lost among them; move U.

    Parameters
    ----------
    missing, lost
        Packets missing now, and ever lost, per packet of sequence space; shape (cells,), a ring
        that holds the window.

    Returns
    -------
    tuple of float
        The ACKs that answer, and how many of them move U: one for each hole filled, and one for
        each packet that came in order. Packets sent again are answered when they are whole.
    """
    cells = missing.shape[0]
    total = arrived + gone
    share = arrived / total
    acks = 0.0
    advancing = 0.0
    while total > 0.0:
        first = ends[0] % log.shape[0]
        origin = log[first, 1]
        offset = tcp[RECEIVED] - log[first, 0]
        rest = total
        if ends[1] - ends[0] > 1:
            rest = log[(ends[0] + 1) % log.shape[0], 0] - tcp[RECEIVED]
            if rest <= TINY:
                ends[0] += 1
                continue
        stretch = min(total, rest)
        tcp[RECEIVED] += stretch
        total -= stretch
        resent = min(stretch, max(0.0, tcp[SEEN] - origin - offset))
        if resent > TINY:
            tcp[HELD] += resent
            tcp[HELD_GONE] += (1.0 - share) * resent
            whole = tcp[HELD]
            if stretch < rest and resent == stretch:  # more of it is to come
                whole = math.floor(whole + TINY)
            if whole > 0.0:
                missed = tcp[HELD_GONE] / tcp[HELD]
                end = offset + resent - tcp[HELD] + whole
                acks += (1.0 - missed) * whole
                advancing += repair(tcp, missing, lost, origin, end - whole, end, 1.0 - missed)
                tcp[HELD_GONE] -= missed * whole
                tcp[HELD] -= whole
        fresh = stretch - resent
        if fresh > TINY:
            acks += share * fresh
            start = tcp[SEEN]
            if tcp[UP_TO] >= start - 1e-6:
                advancing += share * fresh
            tcp[SEEN] = start + fresh
            while start < tcp[SEEN] - TINY:
                c = int(start)
                if start == c:
                    missing[c % cells] = 0.0
                    lost[c % cells] = 0.0
                until = min(c + 1.0, tcp[SEEN])
                amount = (until - start) * (1.0 - share)
                missing[c % cells] += amount
                lost[c % cells] += amount
                start = until
    c = int(tcp[UP_TO])
    while c < tcp[SEEN]:
        edge = min(c + 1.0, tcp[SEEN])
        if missing[c % cells] > 1e-6:
            done = 1.0 - missing[c % cells] / lost[c % cells]
            tcp[UP_TO] = max(tcp[UP_TO], on_grid(c + done * (edge - c)))
            return acks, advancing
        missing[c % cells] = 0.0
        tcp[UP_TO] = max(tcp[UP_TO], edge)
        c += 1
    return acks, advancing
