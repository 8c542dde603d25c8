"""Cycles from loss to loss, one packet in so many lost, until they repeat: by blocks of ACKs or ACK by ACK."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from hopflow.kernels.marks import call_on_array, compiled, entry

from .losses import apply_loss, report
from .rows import (
    BEGUN,
    LEFT,
    MAX_WINDOW,
    MOVES,
    ON_ACK,
    OVER_PACKETS,
    OVER_TIME,
    PACKETS,
    RECORD,
    STATE,
    TIME,
    WRONG,
    Walk,
)

__all__ = [
    "accelerate", "add", "advance", "forget", "keep", "recurs", "repeat", "run", "settled", "write",
]  # fmt: skip

FIELDS = 1e-3
"""Relative change of the other fields of the state over cycles whose peaks repeat."""
CERTAIN_CYCLES, CERTAIN_ACKS = 64, 2e6
"""Cycles ACK by ACK, or ACKs, before which none is taken to repeat: a window that halves its distance to where a rule
jumps comes there to the last bit only then."""
EARLY = 32
"""Cycles after which peaks are no longer taken to where they tend."""


@compiled
def forget(c):
    """Set the sums to zero."""
    c.count = 0.0
    c.packets = 0.0
    c.total_time = 0.0
    c.over_time = 0.0
    c.over_packets = 0.0
    c.peaks = 0.0


@compiled
def add(c, run):
    """Add a cycle to the sums, and measure how much its peak differs from the last two."""
    c.peak = run[STATE]
    c.time = run[TIME]
    c.count += 1.0
    c.packets += run[PACKETS]
    c.total_time += run[TIME]
    c.over_time += run[OVER_TIME]
    c.over_packets += run[OVER_PACKETS]
    c.peaks += run[STATE]
    # two in a row, so that no slow drift passes
    c.change = max(abs(c.peak - c.last), abs(c.last - c.before))


@compiled
def recurs(run, anchor, same, counts):
    """Return whether the whole state is that of the anchor; fields that moved with the clock are times.

    With ``counts`` fields may also have changed by whole numbers.
    """
    now = run[BEGUN] + run[TIME]
    passed = now - anchor[0]
    if abs(run[LEFT] - anchor[1]) > same * run[PACKETS]:
        return False
    for n in range(len(anchor) - 2):
        value = run[STATE + n]
        old = anchor[n + 2]
        if value == old or abs(value - old) <= same * max(abs(value), abs(old)):
            continue
        if abs(value - old - passed) <= same * now:
            continue
        change = value - old
        if not (counts and abs(change) >= 1.0 and change == math.floor(change)):
            return False
    return True


@compiled
def keep(run, anchor):
    """Keep the time, the packets left and the state just before a loss."""
    anchor[0] = run[BEGUN] + run[TIME]
    anchor[1] = run[LEFT]
    for n in range(len(anchor) - 2):
        anchor[n + 2] = run[STATE + n]


@compiled
def settled(c, run, limits):
    """Return whether the cycle repeats, alone or together with those since the last power of two.

    Once peaks differ by less than the tolerance it goes on as long as they come nearer still. That
    several repeat is seen by peak and duration (Brent).
    """
    if c.change <= limits.tolerance * c.peak:
        if c.change < c.nearest:
            c.nearest = c.change
            return False
        c.period = 1
        return True
    alike = abs(c.peak - c.anchor) <= limits.same * c.peak
    if alike and abs(c.time - c.anchor_time) <= limits.same * c.time:
        c.period = int(c.count)
        return True
    return False


@compiled
def accelerate(c, run, limits):
    """Take peaks that come nearer by a steady ratio to where they tend (Aitken), early on."""
    if c.change <= limits.tolerance * c.peak or c.n < c.taken + 3 or c.n > EARLY:
        return
    ratio = (c.peak - c.last) / (c.last - c.before)
    if abs(ratio) < 0.9:
        further = (c.peak - c.last) * ratio / (1.0 - ratio)
        run[STATE] = max(1.0, run[STATE] + further)
        c.taken = c.n


@compiled
def advance(walk, steps, packets, now):
    """Run from a loss to just before the next one; return False for a wrong window.

    Where each step is an ACK, the part of a packet by which the last cycle was too long is left out.
    """
    run, wrong, limits = walk.one, walk.wrong, walk.limits
    for n in range(OVER_PACKETS + 1):
        run[n] = 0.0
    run[BEGUN] = now
    run[LEFT] = packets + limits.acks * run[LEFT]
    call_on_array(steps, run, walk.rtt, walk.service, MAX_WINDOW, 0.0)
    if run[WRONG] == 0.0:
        return True
    for n in range(len(wrong) - RECORD):
        wrong[RECORD + n] = run[STATE + n]
    rtt = max(walk.rtt, run[STATE] * walk.service)
    report(wrong, ON_ACK, now + run[TIME], rtt, run[WRONG])
    return False


@compiled
def repeat(c, walk, steps, packets, anchor, previous):
    """Go from cycle to cycle until they repeat, or for as long as the limits allow.

    Return False for a wrong window. The run is left just before a loss.
    """
    run, limits = walk.one, walk.limits
    now = 0.0
    if not apply_loss(run, walk.loss, now, walk.rtt, walk.wrong):
        return False
    while True:
        c.n += 1
        if not advance(walk, steps, packets, now):
            return False
        add(c, run)
        if limits.acks > 0.0:
            certain = c.n > CERTAIN_CYCLES or run[MOVES] > CERTAIN_ACKS
            if c.n > 1 and certain and recurs(run, anchor, limits.same, False):
                c.period = int(c.count)
                return True
        else:
            if settled(c, run, limits):
                begun = previous
                if c.period > 1:
                    begun = anchor
                if c.n > 1 and recurs(run, begun, FIELDS, True):
                    if c.period == 1:
                        forget(c)
                        add(c, run)
                    return True
                c.period = 0
            keep(run, previous)
            accelerate(c, run, limits)
        c.before = c.last
        c.last = c.peak
        now += c.time
        if c.n & (c.n - 1) == 0:
            if run[MOVES] > limits.budget or c.n >= limits.most:
                return True
            c.rate_earlier = c.rate_before
            c.rate_before = c.packets / c.total_time
            forget(c)
            c.anchor = c.peak
            c.anchor_time = c.time
            keep(run, anchor)
        if not apply_loss(
            run, walk.loss, now, max(walk.rtt, run[STATE] * walk.service), walk.wrong
        ):
            return False


@compiled
def write(out, c, packets, acks):
    """Write the columns of `Cycle`, and the mean rates of earlier cycles."""
    total = c.count * packets
    if acks > 0.0:
        total = c.packets
    out[0] = total / c.total_time
    out[1] = c.over_time / c.total_time
    out[2] = c.over_packets / total
    out[3] = c.peaks / c.count
    out[4] = c.total_time / c.count
    out[5] = c.n
    out[6] = c.period
    out[7] = c.rate_before
    out[8] = c.rate_earlier


@entry
def run(cases, functions, limits, room, found):
    """Find the cycle of each row of ``starts``.

    Groups are plain tuples, because Numba takes about 10 us longer per call to find the types of NamedTuples.

    ``ends`` is the time of the last loss, packets left, and the state before it. Blocks of ACKs that end
    at a wrong window leave a period of -1: the window may be theirs, not the rule's. A single ACK that does so ends
    the search, and is in ``wrong`` then.
    """
    packets, rtts, service, starts = cases
    steps, loss = functions
    one, searches, anchor, previous = room
    ends, out, wrong = found
    for i in range(len(packets)):
        walk = Walk(one, loss[0], rtts[i], service, limits[0], wrong)
        c = searches[i]
        c.nearest = math.inf
        one[MOVES] = 0.0
        one[LEFT] = 0.0
        for n in range(starts.shape[1]):
            one[STATE + n] = starts[i, n]
        if repeat(c, walk, steps[0], packets[i], anchor, previous):
            write(out[i], c, packets[i], limits[0].acks)
            out[i, 9] = one[MOVES]
        elif limits[0].acks > 0.0:
            return
        else:
            out[i, 6] = -1.0  # whether the rule is wrong is for single ACKs to say
            wrong[0] = 0.0
            one[WRONG] = 0.0
        keep(one, ends[i])
