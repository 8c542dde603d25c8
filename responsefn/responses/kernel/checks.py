"""Cycles ACK by ACK beside the same cycles in blocks of ACKs, and the cycle as it would be much later."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from .cycles import keep
from .jit import call_on_array, compiled, entry
from .losses import lose
from .rows import (
    BEGUN,
    CHECK_A,
    CHECK_B,
    CHECK_C,
    CHECK_START,
    LARGEST,
    LEFT,
    MOVES,
    OVER_PACKETS,
    STATE,
    TIME,
    WRONG,
)

__all__ = ["advance", "compare", "later", "load", "repeats_later", "run", "slope"]


@compiled
def load(one, row):
    """Set the state of the run to one that `cycles.keep` kept."""
    for n in range(len(row) - 2):
        one[STATE + n] = row[n + 2]


@compiled
def advance(one, steps, loss, row, packets, carry, rtt, service, limits, wrong):
    """Go from just before a loss in ``row`` to the next one; False for a window that cannot be.

    With a ``carry`` of 1 by as many packets less as the row says that the cycle before was too long.
    """
    load(one, row)
    now = row[0]
    if not lose(one, loss, now, max(rtt, one[STATE] * service), wrong):
        wrong[0] = 0.0
        return False
    for n in range(OVER_PACKETS + 1):
        one[n] = 0.0
    one[BEGUN] = now
    one[LEFT] = packets + carry * row[1]
    call_on_array(steps, one, rtt, service, LARGEST, limits.steps)
    if one[WRONG] == 0.0:
        return one[MOVES] < limits.steps
    one[WRONG] = 0.0
    return False


@compiled
def slope(one, blocks, loss, rows, packets, rtt, service, limits, wrong):
    """Return by how much two windows that the cycle before left differ after the next one, in blocks.

    Relative to how much they differed.
    """
    before = abs(rows[CHECK_A, 2] - rows[CHECK_B, 2])
    if before <= 1e-9 * rows[CHECK_B, 2]:
        return 0.0
    if not advance(one, blocks, loss, rows[CHECK_A], packets, 0.0, rtt, service, limits, wrong):
        return math.inf
    after = one[STATE]
    if not advance(one, blocks, loss, rows[CHECK_B], packets, 0.0, rtt, service, limits, wrong):
        return math.inf
    return abs(after - one[STATE]) / before


@compiled
def compare(one, blocks, acks, loss, rows, packets, cycles, rtt, service, limits, wrong):
    """Return the relative difference of the rates of some cycles, and that of the windows at their ends.

    Each cycle begins where the one before ended ACK by ACK. Infinite where a window cannot be.
    """
    time_a = 0.0
    time_b = 0.0
    windows = 0.0
    for n in range(len(rows[0])):
        rows[CHECK_C, n] = rows[CHECK_START, n]
    for _ in range(cycles):
        if not advance(one, acks, loss, rows[CHECK_C], packets, 0.0, rtt, service, limits, wrong):
            return math.inf, math.inf
        time_a += one[TIME]
        keep(one, rows[CHECK_A])
        if not advance(one, blocks, loss, rows[CHECK_C], packets, 0.0, rtt, service, limits, wrong):
            return math.inf, math.inf
        time_b += one[TIME]
        keep(one, rows[CHECK_B])
        windows = max(windows, abs(rows[CHECK_A, 2] / rows[CHECK_B, 2] - 1.0))
        for n in range(len(rows[0])):
            rows[CHECK_C, n] = rows[CHECK_A, n]
    return abs(time_a / time_b - 1.0), windows


@compiled
def later(rows, cycles):
    """Move the state in ``CHECK_START`` on by as many times what happened up to that in ``CHECK_B``."""
    for n in range(len(rows[0])):
        start = rows[CHECK_START, n]
        change = rows[CHECK_B, n] - start
        rows[CHECK_A, n] = start
        if n != 1 and abs(change) > 1e-9 * max(abs(start), abs(rows[CHECK_B, n])) and abs(change) < math.inf:
            rows[CHECK_A, n] = start + cycles * change


@compiled
def repeats_later(one, steps, loss, rows, packets, carry, period, rtt, service, limits, wrong):
    """Return the relative change of time and window when the period comes again much later.

    Fields that moved with the clock, or count, are moved on; those that did not stay. So a timer that has
    not run out yet does.
    """
    time = 0.0
    for n in range(len(rows[0])):
        rows[CHECK_B, n] = rows[CHECK_START, n]
    for _ in range(period):
        if not advance(one, steps, loss, rows[CHECK_B], packets, carry, rtt, service, limits, wrong):
            return math.inf
        time += one[TIME]
        keep(one, rows[CHECK_B])
    window = rows[CHECK_B, 2]
    change = 0.0
    for cycles in (256.0, 1048576.0):
        later(rows, cycles)
        again = 0.0
        for _ in range(period):
            if not advance(one, steps, loss, rows[CHECK_A], packets, carry, rtt, service, limits, wrong):
                return math.inf
            again += one[TIME]
            keep(one, rows[CHECK_A])
        change = max(change, abs(again / time - 1.0), abs(rows[CHECK_A, 2] / window - 1.0))
    return change


@entry
def run(packets, rtts, service, ends, periods, blocks, acks, loss, one, limits, rows, out, wrong):
    """Compare blocks with ACKs from each row of ``ends``, kept by `cycles.keep` just before a loss.

    ``limits.most`` ACKs of a cycle are followed, ``limits.budget`` in several cycles where they are
    shorter. ``out`` has columns for the estimated relative error of the rate, the part of a cycle that was followed,
    and the change of a period much later. With ``limits.acks`` 0 there is only the latter, of the steps in ``blocks``.
    """
    for i in range(len(packets)):
        if periods[i] < 0.0:
            continue
        one[MOVES] = 0.0
        for n in range(len(rows[0])):
            rows[CHECK_START, n] = ends[i, n]
        seen = min(math.ceil(packets[i] - 1e-6), limits[0].most)
        out[i, 1] = min(1.0, seen / packets[i])
        if limits[0].acks > 0.0:
            cycles = int(max(1.0, min(max(3.0, periods[i]), limits[0].budget // seen)))
            times, windows = compare(
                one, blocks[0], acks[0], loss[0], rows, seen, cycles, rtts[i], service, limits[0], wrong
            )  # fmt: skip
            if periods[i] == 1.0 and seen >= packets[i]:
                ratio = slope(
                    one, blocks[0], loss[0], rows, seen, rtts[i], service, limits[0], wrong
                )
                windows = windows / (1.0 - ratio) if ratio < 1.0 else math.inf
            out[i, 0] = times + windows / out[i, 1]
        if periods[i] >= 1.0:
            out[i, 2] = repeats_later(
                one, blocks[0], loss[0], rows, packets[i], 1.0 - limits[0].acks, int(periods[i]), rtts[i], service, limits[0],
                wrong,
            )  # fmt: skip
