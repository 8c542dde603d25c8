"""Cycles ACK by ACK beside the same cycles in blocks of ACKs, and the cycle as it would be much later.

A cycle that is long beside the work of its solution is sampled first: segments of it, spread from loss to loss, are
followed ACK by ACK, and all of it in blocks half as long. Only where these differ is it followed as a whole.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from hopflow.kernels.marks import call_on_array, compiled, entry

from .cycles import keep
from .losses import apply_loss
from .rows import (
    BEGUN,
    CHECK_A,
    CHECK_B,
    CHECK_C,
    CHECK_START,
    LEFT,
    MAX_WINDOW,
    MOVES,
    OVER_PACKETS,
    STATE,
    TIME,
    WRONG,
    Walk,
)

__all__ = [
    "advance",
    "compare",
    "differ",
    "error",
    "finer",
    "later",
    "load",
    "repeats_later",
    "resume",
    "run",
    "sampled",
    "slope",
]

ACCEPTED_ERROR = 0.002
"""Estimated error at which a cycle of one packet fewer is not asked for."""
FIELD = 0.02
"""Part of another field of the state by which it may differ after a cycle, or of the time of the cycle."""
SLOPE = 0.95
"""Largest slope by which an error is estimated: of rules that come to rest in 100 cycles, or of whose slope a
single cycle says nothing."""
FEW_CYCLES = 8
"""Cycles that are compared with those much later; longer periods are at one time only."""
SEGMENTS, FEWEST_SEGMENTS, WINDOWS = 16, 3, 2.0
"""Segments of a cycle that are followed ACK by ACK where it is sampled, and their length in windows."""
FINER = 16.0
"""Parts of a window in a fine block; other blocks are an eighth of a window."""


@compiled
def load(one, row):
    """Set the state of the run to one that `cycles.keep` kept."""
    for n in range(len(row) - 2):
        one[STATE + n] = row[n + 2]


@compiled
def advance(walk, steps, row, packets, carry):
    """Go from just before a loss in ``row`` to the next one; False for a window that cannot be.

    With a ``carry`` of 1 by as many packets less as the row says that the cycle before was too long.
    """
    one = walk.one
    load(one, row)
    now = row[0]
    if not apply_loss(one, walk.loss, now, max(walk.rtt, one[STATE] * walk.service), walk.wrong):
        walk.wrong[0] = 0.0
        return False
    for n in range(OVER_PACKETS + 1):
        one[n] = 0.0
    one[BEGUN] = now
    one[LEFT] = packets + carry * row[1]
    call_on_array(steps, one, walk.rtt, walk.service, MAX_WINDOW, 0.0)
    if one[WRONG] == 0.0:
        return True
    one[WRONG] = 0.0
    return False


@compiled
def differ(one, two, part, time):
    """Return whether other fields than the window differ: counts, filters, flags; times by a part of ``time``."""
    for n in range(3, len(one)):
        if one[n] == two[n]:
            continue
        apart = abs(one[n] - two[n])
        if not apart <= part * max(abs(one[n]), abs(two[n]), time):
            return True
    return False


@compiled
def compare(walk, blocks, acks, rows, packets, cycles):
    """Return the time of some cycles ACK by ACK, and how far windows and times of blocks are from theirs.

    The latter are the largest relative differences over any of the cycles, each from the state that the one before
    left ACK by ACK. Infinite where a window cannot be.
    """
    one = walk.one
    time = 0.0
    windows = 0.0
    times = 0.0
    for n in range(len(rows[0])):
        rows[CHECK_C, n] = rows[CHECK_START, n]
    for _ in range(cycles):
        if not advance(walk, acks, rows[CHECK_C], packets, 0.0):
            return math.inf, math.inf, math.inf
        time += one[TIME]
        alone = one[TIME]
        keep(one, rows[CHECK_A])
        if not advance(walk, blocks, rows[CHECK_C], packets, 0.0):
            return math.inf, math.inf, math.inf
        keep(one, rows[CHECK_B])
        windows = max(windows, abs(rows[CHECK_A, 2] / rows[CHECK_B, 2] - 1.0))
        times = max(times, abs(alone / one[TIME] - 1.0))
        if differ(rows[CHECK_A], rows[CHECK_B], FIELD, alone):
            return math.inf, math.inf, math.inf
        for n in range(len(rows[0])):
            rows[CHECK_C, n] = rows[CHECK_A, n]
    return time, windows, times


@compiled
def slope(walk, blocks, rows, packets):
    """Return by how much two windows that the cycle before left differ after the next one, in blocks.

    Relative to how much they differed; 0 where they do not.
    """
    one = walk.one
    before = abs(rows[CHECK_A, 2] - rows[CHECK_B, 2])
    if before <= 1e-9 * rows[CHECK_B, 2]:
        return 0.0
    if not advance(walk, blocks, rows[CHECK_A], packets, 0.0):
        return math.inf
    after = one[STATE]
    if not advance(walk, blocks, rows[CHECK_B], packets, 0.0):
        return math.inf
    return abs(after - one[STATE]) / before


@compiled
def error(walk, blocks, acks, rows, case):
    """Return the estimated relative error of the rate of a cycle in blocks.

    A cycle whose error is e settles e / (1 - slope) away, where the window after the next one changes by slope times the
    window after this one. Several cycles are followed where they are short; their mean rate is compared as well.
    """
    seen, cycles, packets, period, rate = case
    time, windows, times = compare(walk, blocks, acks, rows, seen, cycles)
    if seen < packets - 1.0:  # only the beginning of the cycle was followed
        if min(rows[CHECK_A, 2], rows[CHECK_B, 2]) * walk.service >= walk.rtt:
            windows = 0.0  # both have the capacity
        return 2.0 * windows + times * seen / packets
    ratio = min(SLOPE, slope(walk, blocks, rows, seen))
    found = max(windows, times) / (1.0 - ratio)
    if period > 0.0 and cycles >= period and abs(seen - packets) <= 1e-3 * packets:
        whole = cycles - cycles % int(period)
        if whole == cycles:
            found = max(found, abs(cycles * seen / time / rate - 1.0))
    return found


@compiled
def resume(walk, steps, row, packets):
    """Go on from the state in ``row`` for some packets, without a loss; False for a window that cannot be."""
    one = walk.one
    load(one, row)
    for n in range(OVER_PACKETS + 1):
        one[n] = 0.0
    one[BEGUN] = row[0]
    one[LEFT] = packets
    call_on_array(steps, one, walk.rtt, walk.service, MAX_WINDOW, 0.0)
    if one[WRONG] == 0.0:
        return True
    one[WRONG] = 0.0
    return False


@compiled
def finer(walk, steps, packets, most):
    """Go on for some packets in blocks of a part of a window; return the packets left after ``most`` blocks.

    Infinite for a window that cannot be.
    """
    one = walk.one
    rest = packets
    blocks = 0.0
    while rest > 1e-6 and blocks < most:
        blocks += 1.0
        part = min(rest, max(1.0, one[STATE] / FINER))
        one[LEFT] = part
        call_on_array(steps, one, walk.rtt, walk.service, MAX_WINDOW, 0.0)
        if one[WRONG] != 0.0:
            one[WRONG] = 0.0
            return math.inf
        rest -= part - one[LEFT]
    return rest


@compiled
def sampled(walk, blocks, acks, rows, packets, count):
    """Return the estimated relative error of the rate of a cycle in blocks, from about ``count`` of its ACKs.

    Also the part of the cycle that was followed ACK by ACK. The error of windows in the segments is taken to be that
    everywhere, except that of the first one: windows after a loss are smaller than all others.
    """
    one, rtt, service = walk.one, walk.rtt, walk.service
    row = rows[CHECK_C]
    load(one, rows[CHECK_START])
    now = rows[CHECK_START, 0]
    if not apply_loss(one, walk.loss, now, max(rtt, one[STATE] * service), walk.wrong):
        walk.wrong[0] = 0.0
        return math.inf, 0.0
    for n in range(OVER_PACKETS + 1):
        one[n] = 0.0
    one[BEGUN] = now
    one[LEFT] = 0.0
    keep(one, row)
    for n in range(len(row)):
        rows[CHECK_A, n] = row[n]
    largest = max(rows[CHECK_START, 2], one[STATE])
    full = min(rows[CHECK_START, 2], one[STATE]) * service >= rtt  # all windows have the capacity
    segments = max(FEWEST_SEGMENTS, min(SEGMENTS, int(count / (WINDOWS * largest))))
    apart = math.ceil(packets / segments)
    length = min(math.ceil(count / segments), math.ceil(WINDOWS * largest))
    length = min(length, apart - 1.0)
    first = 0.0
    windows = 0.0
    late = 0.0
    time = 0.0
    seen = 0.0
    rest = packets
    while rest > 0.5:
        part = min(apart, rest)
        if length <= part:
            if not resume(walk, acks, row, length):
                return math.inf, 0.0
            alone = one[TIME]
            keep(one, rows[CHECK_B])
            if not resume(walk, blocks, row, length):
                return math.inf, 0.0
            apart_by = abs(rows[CHECK_B, 2] / one[STATE] - 1.0)
            if min(rows[CHECK_B, 2], one[STATE]) * service >= rtt:
                apart_by = 0.0  # both have the capacity
            if seen == 0.0:
                first = apart_by
            else:
                windows += apart_by
            late += abs(alone - one[TIME])
            time += alone
            seen += length
            keep(one, row)
            if differ(rows[CHECK_B], row, FIELD, alone):
                return math.inf, 0.0
            part -= length
            rest -= length
        if part > 0.0:
            if not resume(walk, blocks, row, part):
                return math.inf, 0.0
            keep(one, row)
            rest -= part
    found = max(first + windows * packets / max(length, seen - length), late / time)
    if found > ACCEPTED_ERROR or full:
        return found, seen / packets
    load(one, rows[CHECK_A])
    for n in range(OVER_PACKETS + 1):
        one[n] = 0.0
    one[BEGUN] = now
    left = finer(walk, blocks, packets, count)
    if left > 1e-6:  # windows that rest are followed by segments alone
        return (found if left < math.inf else math.inf), seen / packets
    fine = one[TIME]
    keep(one, rows[CHECK_A])
    for n in range(len(row)):
        rows[CHECK_B, n] = row[n]
    coarse = row[0] - now
    if differ(rows[CHECK_A], row, FIELD, coarse):
        return math.inf, 0.0
    differs = max(abs(fine / coarse - 1.0), abs(rows[CHECK_A, 2] / row[2] - 1.0))
    found = max(found, 2.0 * differs)  # half the blocks have half the error
    if found > (1.0 - SLOPE) * ACCEPTED_ERROR:
        ratio = slope(walk, blocks, rows, packets)
        found /= 1.0 - min(SLOPE, ratio)
    return found, seen / packets


@compiled
def later(rows, passed, cycles):
    """Move the state in ``CHECK_START`` on by as many times what happened up to that in ``CHECK_B``.

    Times move with the clock, counters by whole numbers; all else stays.
    """
    for n in range(len(rows[0])):
        start = rows[CHECK_START, n]
        change = rows[CHECK_B, n] - start
        rows[CHECK_A, n] = start
        if n != 1 and abs(change - passed) <= 1e-6 * passed:
            rows[CHECK_A, n] = start + cycles * passed
        elif n > 2 and abs(change) >= 1.0 and change == math.floor(change):
            rows[CHECK_A, n] = start + cycles * change


@compiled
def repeats_later(walk, steps, rows, packets, carry, period):
    """Return the relative change of time and window when the period comes again much later.

    Fields that moved with the clock, or count, are moved on; those that did not stay. So a timer that has
    not run out yet does, in the first cycles, which alone are compared.
    """
    one = walk.one
    time = 0.0
    for n in range(len(rows[0])):
        rows[CHECK_B, n] = rows[CHECK_START, n]
    compared = min(period, FEW_CYCLES)
    part = 0.0
    window = 0.0
    for n in range(period):
        if not advance(walk, steps, rows[CHECK_B], packets, carry):
            return math.inf
        time += one[TIME]
        keep(one, rows[CHECK_B])
        if n == compared - 1:
            part = time
            window = rows[CHECK_B, 2]
    change = 0.0
    for cycles in (1048576.0, 256.0):
        if cycles < 1000.0 and period > FEW_CYCLES:
            break
        later(rows, time, cycles)
        again = 0.0
        for _ in range(compared):
            if not advance(walk, steps, rows[CHECK_A], packets, carry):
                return math.inf
            again += one[TIME]
            keep(one, rows[CHECK_A])
        change = max(change, abs(again / part - 1.0), abs(rows[CHECK_A, 2] / window - 1.0))
    return change


ACKS_PER_MOVE = 0.5
"""ACKs that are followed per step of the solution; a block of ACKs takes about three times as long as an ACK."""


@entry
def run(cases, functions, limits, room, found):
    """Compare blocks with ACKs from each row of ``ends``, kept by `cycles.keep` just before a loss.

    ``limits.most`` ACKs of each case are followed, ``limits.budget`` in several cycles where they are shorter, and as
    many as the search took. A cycle that is longer is sampled first. ``out`` has columns for the
    estimated relative error of the rate, the part of a cycle that was followed, and the change of a period much later.
    With ``limits.acks`` 0 there is only the latter, of the steps in ``blocks``.
    """
    packets, rtts, service, ends, columns = cases
    blocks, acks, loss = functions
    one, rows = room
    out, wrong = found
    for i in range(len(packets)):
        walk = Walk(one, loss[0], rtts[i], service, limits[0], wrong)
        period = columns[i, 6]
        if period < 0.0:
            continue
        one[MOVES] = 0.0
        for n in range(len(rows[0])):
            rows[CHECK_START, n] = ends[i, n]
        whole = math.ceil(packets[i] - 1e-6)
        moves = ACKS_PER_MOVE * columns[i, 9]
        out[i, 0] = math.inf
        segments = math.inf
        if limits[0].acks > 0.0 and whole > max(limits[0].budget, moves):
            count = min(limits[0].most, max(limits[0].budget, moves))
            out[i, 0], out[i, 1] = sampled(walk, blocks[0], acks[0], rows, packets[i], count)
            segments = out[i, 0]
        if limits[0].acks > 0.0 and not out[i, 0] <= ACCEPTED_ERROR:
            seen = min(whole, limits[0].most)
            out[i, 1] = min(1.0, seen / packets[i])
            budget = max(limits[0].budget, moves)
            most = 16.0
            if period != 1.0:
                budget = max(20.0 * limits[0].budget, 8.0 * moves)
                most = max(16.0, period)
            budget = min(budget, 0.5 * limits[0].most)
            cycles = int(max(1.0, min(most, budget // seen)))
            if period > 1.0 and cycles > period:
                cycles -= cycles % int(period)
            out[i, 0] = math.inf
            for packet in range(
                2
            ):  # whole packets, more or fewer than the cycle has: it may jump between them
                affordable = 2.0 * cycles * seen <= limits[0].most
                fewer = affordable and max(1.0, packets[i] - 1.0) < seen - 1.0
                if packet == 0 or (out[i, 0] > ACCEPTED_ERROR and fewer):
                    case = (seen - packet, cycles, packets[i], period, columns[i, 0])
                    estimated = error(walk, blocks[0], acks[0], rows, case)
                    out[i, 0] = min(out[i, 0], estimated)
            if seen < whole and segments < math.inf:
                out[i, 0] = max(out[i, 0], segments)  # of all of the cycle, not only its beginning
        if period >= 1.0:
            carry = 1.0 - limits[0].acks
            out[i, 2] = repeats_later(walk, blocks[0], rows, packets[i], carry, int(period))
