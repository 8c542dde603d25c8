"""Runs under given losses; a row of ``out`` for each loss."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

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

__all__ = ["finish_cycle", "follow", "is_faulty", "record", "run"]


@compiled
def record(one, row):
    """Write what was measured since the last loss."""
    row[0] = one[TIME]
    row[1] = one[PACKETS]
    row[2] = one[OVER_TIME]
    row[3] = one[OVER_PACKETS]
    row[4] = one[STATE]


@compiled
def is_faulty(one, now, path, wrong):
    """Return whether an ACK has made an invalid window, and record it."""
    cwnd = one[WRONG]
    if cwnd == 0.0:
        cwnd = one[STATE]
        if MIN_WINDOW <= cwnd <= MAX_WINDOW:
            return False
    for n in range(len(wrong) - RECORD):
        wrong[RECORD + n] = one[STATE + n]
    report(wrong, ON_ACK, now, max(path.rtt, one[STATE] * path.service), cwnd)
    return True


@compiled
def finish_cycle(one, loss, now, path, wrong):
    """Apply a loss and begin the next cycle; return False for a wrong window."""
    if not apply_loss(one, loss, now, max(path.rtt, one[STATE] * path.service), wrong):
        return False
    for n in range(OVER_PACKETS + 1):
        one[n] = 0.0
    one[BEGUN] = now
    return True


@compiled
def follow(functions, path, gaps, one, found):
    """Follow one run; return its losses, -1 for a wrong window, -2 when ``out`` has too few rows for them."""
    steps, loss = functions
    out, wrong = found
    row = 0
    for gap in gaps:
        one[LEFT] = gap
        while one[LEFT] > 0.0:
            call_on_array(steps[0], one, path.rtt, path.service, path.limit, 0.0)
            now = one[BEGUN] + one[TIME]
            if one[WRONG] != 0.0:
                is_faulty(one, now, path, wrong)
                return -1
            over = one[LEFT] <= 0.0
            apart = not path.merge or row == 0  # otherwise one event per window
            due = over and (apart or one[PACKETS] >= one[STATE])
            if due or one[STATE] > path.limit:
                if row == len(out):
                    return -2
                record(one, out[row])
                row += 1
                if is_faulty(one, now, path, wrong) or not finish_cycle(
                    one, loss[0], now, path, wrong
                ):
                    return -1
    return row


@entry
def run(runs, paths, functions, one, found):
    """Follow all runs; return False when there are more losses than rows of ``out`` for them.

    Run j has the gaps from ``first[j]`` to ``first[j + 1]``, the state ``starts[j]`` and the rows of
    ``out`` from ``rows[j]`` to ``rows[j + 1]``. A wrong window ends all, and is in ``wrong`` then.
    """
    gaps, first, starts, rows = runs
    out, counts, wrong = found
    for j in range(len(starts)):
        for n in range(BEGUN + 1):
            one[n] = 0.0
        for n in range(starts.shape[1]):
            one[STATE + n] = starts[j, n]
        losses = gaps[first[j] : first[j + 1]]
        room = out[rows[j] : rows[j + 1]]
        counts[j] = follow(functions, paths[0], losses, one, (room, wrong))
        if counts[j] == -1:
            return True
        if counts[j] == -2:
            return False
    return True
