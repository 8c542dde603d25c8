"""Runs under given losses, several side by side; a row of ``out`` for each loss.

A window waits for its own last step, which takes longer than the step. So runs go side by side: the
array of `rows` has a column for each, and the loop over the columns is one that a processor does on
several numbers at once. A column whose run is over takes the next one.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from hopflow.kernels.marks import call_on_array, compiled, entry

from .losses import apply_loss, report
from .rows import (
    BEGUN,
    LEFT,
    MAX_WINDOW,
    MIN_WINDOW,
    ON_ACK,
    OVER_PACKETS,
    OVER_TIME,
    PACKETS,
    RECORD,
    STATE,
    TIME,
    WRONG,
)

__all__ = ["begin", "finish_cycle", "is_faulty", "next_gap", "record", "run"]


@compiled
def record(lanes, i, width, row):
    """Write what was measured since the last loss."""
    row[0] = lanes[TIME * width + i]
    row[1] = lanes[PACKETS * width + i]
    row[2] = lanes[OVER_TIME * width + i]
    row[3] = lanes[OVER_PACKETS * width + i]
    row[4] = lanes[STATE * width + i]


@compiled
def is_faulty(lanes, i, width, now, path, wrong):
    """Return whether an ACK has made a window that cannot be, and record it."""
    cwnd = lanes[WRONG * width + i]
    if cwnd == 0.0:
        cwnd = lanes[STATE * width + i]
        if MIN_WINDOW <= cwnd <= MAX_WINDOW:
            return False
    for n in range(len(wrong) - RECORD):
        wrong[RECORD + n] = lanes[(STATE + n) * width + i]
    report(wrong, ON_ACK, now, max(path.rtt, lanes[STATE * width + i] * path.service), cwnd)
    return True


@compiled
def finish_cycle(room, i, loss, path, wrong):
    """Apply a loss to a lane and begin the next cycle; return False for a wrong window."""
    lanes, places, one, _ = room
    width = len(places)
    now = lanes[BEGUN * width + i] + lanes[TIME * width + i]
    fields = len(wrong) - RECORD
    for n in range(fields):
        one[STATE + n] = lanes[(STATE + n) * width + i]
    if not apply_loss(one, loss, now, max(path.rtt, one[STATE] * path.service), wrong):
        return False
    for n in range(fields):
        lanes[(STATE + n) * width + i] = one[STATE + n]
    for n in range(OVER_PACKETS + 1):
        lanes[n * width + i] = 0.0
    lanes[BEGUN * width + i] = now
    return True


@compiled
def begin(lanes, i, width, start):
    """Begin a run in lane ``i``."""
    for n in range(BEGUN + 1):
        lanes[n * width + i] = 0.0
    for n in range(len(start)):
        lanes[(STATE + n) * width + i] = start[n]


@compiled
def next_gap(lanes, i, width, lane, runs, turn):
    """Set the packets to the next loss of a lane, of its run or of the next one; infinite for none.

    ``turn`` has the losses of each run that is over, and the next run.
    """
    gaps, first, starts, rows = runs
    counts, begun = turn
    run = lane.run
    if run >= 0 and lane.gap == first[run + 1]:
        counts[run] = lane.row - rows[run]
        run = -1
    if run < 0 and begun[0] < len(counts):
        run = begun[0]
        begun[0] += 1
        lane.gap = first[run]
        lane.row = rows[run]
        begin(lanes, i, width, starts[run])
    lane.run = run
    left = math.inf
    if run >= 0:
        left = gaps[lane.gap]
        lane.gap += 1
    lanes[LEFT * width + i] = left


@entry
def run(runs, paths, functions, room, found):
    """Run all; return False when there are more losses than rows of ``out`` for them.

    Run j has the gaps from ``first[j]`` to ``first[j + 1]``, the state ``starts[j]`` and the rows of
    ``out`` from ``rows[j]`` to ``rows[j + 1]``. A wrong window ends all, and is in ``wrong`` then.
    """
    _, _, _, rows = runs
    steps, loss = functions
    lanes, places, _, begun = room
    out, counts, wrong = found
    path = paths[0]
    width = len(places)
    while True:
        going = 0
        least = math.inf
        for i in range(width):
            lane = places[i]
            full = lanes[STATE * width + i] > path.limit
            if lane.run >= 0:
                now = lanes[BEGUN * width + i] + lanes[TIME * width + i]
                if lanes[WRONG * width + i] != 0.0:
                    is_faulty(lanes, i, width, now, path, wrong)
                    return True
                over = lanes[LEFT * width + i] <= 0.0
                since = lanes[PACKETS * width + i]
                apart = not path.merge or lane.row == rows[lane.run]  # else one event per window
                if full or (over and (apart or since >= lanes[STATE * width + i])):
                    if lane.row >= rows[lane.run + 1]:
                        return False
                    record(lanes, i, width, out[lane.row])
                    lane.row += 1
                    if is_faulty(lanes, i, width, now, path, wrong):
                        return True
                    if not finish_cycle(room, i, loss[0], path, wrong):
                        return True
            if lanes[LEFT * width + i] <= 0.0:
                next_gap(lanes, i, width, lane, runs, (counts, begun))
            if lane.run >= 0:
                going += 1
                least = min(least, lanes[LEFT * width + i])
        if going == 0:
            return True
        count = 1.0
        if width == 1:
            count = math.inf
        elif path.together and least < math.inf:
            count = least
        call_on_array(steps[0], lanes, path.rtt, path.service, path.limit, count)
