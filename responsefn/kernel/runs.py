"""Runs under given losses, a row of results for each loss."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from hopflow.kernels.marks import call_on_array, compiled, entry

from .flow import (
    FAULT_STATE,
    INVALID_WINDOW,
    LOSS_TIME,
    MAX_WINDOW,
    MIN_WINDOW,
    ON_ACK,
    PACKETS,
    REMAINING,
    STATE,
    TIME,
    WINDOW_PACKETS,
    WINDOW_TIME,
    apply_loss,
    clear_sums,
    record_fault,
)

__all__ = ["follow", "has_invalid_window", "run"]


@compiled
def has_invalid_window(run, now, path, fault):
    """Return whether an ACK has made an invalid window, and record it."""
    cwnd = run[INVALID_WINDOW]
    if cwnd == 0.0:
        cwnd = run[STATE]
        if MIN_WINDOW <= cwnd <= MAX_WINDOW:
            return False
    for n in range(len(fault) - FAULT_STATE):
        fault[FAULT_STATE + n] = run[STATE + n]
    record_fault(fault, ON_ACK, now, max(path.rtt, run[STATE] * path.service), cwnd)
    return True


@compiled
def follow(functions, path, gaps, run, results):
    """Follow a run; return its losses, -1 for an invalid window, -2 when ``out`` has too few rows."""
    steps, loss = functions
    out, fault = results
    losses = 0
    for gap in gaps:
        run[REMAINING] = gap
        while run[REMAINING] > 0.0:
            call_on_array(steps[0], run, path.rtt, path.service, path.limit, 0.0)
            now = run[LOSS_TIME] + run[TIME]
            if run[INVALID_WINDOW] != 0.0:
                has_invalid_window(run, now, path, fault)
                return -1
            is_new_event = not path.merge or losses == 0 or run[PACKETS] >= run[STATE]
            if (run[REMAINING] <= 0.0 and is_new_event) or run[STATE] > path.limit:
                if losses == len(out):
                    return -2
                out[losses, 0] = run[TIME]
                out[losses, 1] = run[PACKETS]
                out[losses, 2] = run[WINDOW_TIME]
                out[losses, 3] = run[WINDOW_PACKETS]
                out[losses, 4] = run[STATE]
                losses += 1
                rtt = max(path.rtt, run[STATE] * path.service)
                if has_invalid_window(run, now, path, fault) or not apply_loss(run, loss[0], now, rtt, fault):
                    return -1
                clear_sums(run, now)
    return losses


@entry
def run(runs, paths, functions, numbers, results):
    """Follow all runs; return False when there are more losses than rows of ``out`` for them.

    Run j has the gaps from ``first[j]`` to ``first[j + 1]``, the state ``starts[j]`` and the rows of ``out`` from
    ``rows[j]`` to ``rows[j + 1]``. An invalid window ends all runs and is recorded in ``fault``.
    """
    gaps, first, starts, rows = runs
    out, counts, fault = results
    for j in range(len(starts)):
        for n in range(LOSS_TIME + 1):
            numbers[n] = 0.0
        for n in range(starts.shape[1]):
            numbers[STATE + n] = starts[j, n]
        losses = gaps[first[j] : first[j + 1]]
        room = out[rows[j] : rows[j + 1]]
        counts[j] = follow(functions, paths[0], losses, numbers, (room, fault))
        if counts[j] == -1:
            return True
        if counts[j] == -2:
            return False
    return True
