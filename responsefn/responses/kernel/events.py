"""The event of several ACKs at once beside as many single ones, as a fluid calls it."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from hopflow.kernels.marks import call_on_array, compiled, entry

from .rows import MAX_WINDOW, MIN_WINDOW

__all__ = ["follow", "run"]


@compiled
def follow(functions, room, now, path, count, part):
    """Return how far the window after several ACKs at once is from that after ``count`` single ones.

    Relative to the change of the latter, or to a part of a packet. ``part`` < 1 is an ACK in pieces, otherwise that
    part of a window at once.
    """
    single, several = functions
    one, many = room
    rtt, service = path
    begun = one[0]
    done = 0.0
    turned = 0.0
    while done < count:
        amount = 1.0
        if part >= 1.0:
            amount = math.floor(max(1.0, one[0] / part))
        for _ in range(int(amount)):
            r = max(rtt, one[0] * service)
            now += r / one[0]
            before = one[0]
            call_on_array(single, one, now, r, 1.0, 0.0)
            if not MIN_WINDOW <= one[0] <= MAX_WINDOW:
                return math.inf
            turned += abs(one[0] - before)
        pieces = 1
        if part < 1.0:
            pieces = int(1.0 / part)
            amount = part
        for _ in range(pieces):
            call_on_array(several, many, now, max(rtt, many[0] * service), amount, 0.0)
        if not MIN_WINDOW <= many[0] <= MAX_WINDOW:
            return math.inf
        done += amount * pieces
    change = max(abs(one[0] - begun), 0.1 * turned)
    return max(0.0, abs(one[0] - many[0]) - SLACK) / max(change, SLACK)


SLACK = 1e-9
"""Packets by which the windows may differ."""


@entry
def run(samples, path, parts, functions, room, out):
    """Write how far apart both are from each state, shape (states, parts)."""
    states, times, counts = samples
    single, several = functions
    one, many = room
    for i in range(len(states)):
        for j in range(len(parts)):
            for n in range(states.shape[1]):
                one[n] = states[i, n]
                many[n] = states[i, n]
            events = single[0], several[0]
            out[i, j] = follow(events, room, times[i], path, counts[i], parts[j])
