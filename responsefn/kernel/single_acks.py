"""Several ACKs of a rule at once, as a fluid passes them, beside the same ACKs one by one."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from hopflow.kernels.marks import call_on_array, compiled, entry

from .flow import MAX_WINDOW, MIN_WINDOW

__all__ = ["compare_cycles", "compare_windows", "run", "send"]

MIN_AMOUNT = 0.25
"""Smallest piece of an ACK in the cycles. Shorter steps give smaller pieces, and more calls."""
ROUNDING_SLACK = 1e-9
"""Packets by which windows may differ."""


@compiled
def compare_windows(functions, room, now, path, count, part):
    """Return the difference of the window after several ACKs at once and after ``count`` single ones.

    Relative to the change of the latter, or to a part of a packet. ``part`` < 1 is an ACK in pieces, otherwise that
    part of a window at once.
    """
    on_ack, on_acks = functions[0], functions[1]
    single, several = room
    rtt, service = path
    start = single[0]
    done = 0.0
    movement = 0.0
    while done < count:
        amount = 1.0
        if part >= 1.0:
            amount = math.floor(max(1.0, single[0] / part))
        for _ in range(int(amount)):
            r = max(rtt, single[0] * service)
            now += r / single[0]
            before = single[0]
            call_on_array(on_ack, single, now, r, 1.0, 0.0)
            if not MIN_WINDOW <= single[0] <= MAX_WINDOW:
                return math.inf
            movement += abs(single[0] - before)
        pieces = 1
        if part < 1.0:
            pieces = int(1.0 / part)
            amount = part
        for _ in range(pieces):
            call_on_array(on_acks, several, now, max(rtt, several[0] * service), amount, 0.0)
        if not MIN_WINDOW <= several[0] <= MAX_WINDOW:
            return math.inf
        done += amount * pieces
    change = max(abs(single[0] - start), 0.1 * movement)
    difference = max(0.0, abs(single[0] - several[0]) - ROUNDING_SLACK)
    return difference / max(change, ROUNDING_SLACK)


@compiled
def send(event, state, now, path, count, part):
    """Call a rule for ``count`` ACKs; return the time afterwards, infinite for an invalid window.

    Each call is for the window divided by ``part``, or for one ACK where ``part`` is 0.
    """
    rtt, service = path
    remaining = count
    while remaining > 0.0:
        amount = 1.0
        if part > 0.0:
            amount = max(MIN_AMOUNT, state[0] / part)
        amount = min(remaining, amount)
        r = max(rtt, state[0] * service)
        now += amount * r / state[0]
        call_on_array(event, state, now, r, amount, 0.0)
        if not MIN_WINDOW <= state[0] <= MAX_WINDOW:
            return math.inf
        remaining -= amount
    return now


@compiled
def compare_cycles(functions, room, start, path, count, cycles, part):
    """Return the relative difference of the durations of cycles of ``count`` ACKs, each ended by a loss.

    Infinite for an invalid window.
    """
    on_ack, on_acks, on_loss = functions[0], functions[1], functions[2]
    single, several = room
    rtt, service = path
    single_time = start
    several_time = start
    for _ in range(cycles):
        single_time = send(on_ack, single, single_time, path, count, 0.0)
        several_time = send(on_acks, several, several_time, path, count, part)
        if not max(single_time, several_time) < math.inf:
            return math.inf
        call_on_array(on_loss, single, single_time, max(rtt, single[0] * service), 0.0, 0.0)
        call_on_array(on_loss, several, several_time, max(rtt, several[0] * service), 0.0, 0.0)
    return abs((several_time - start) / (single_time - start) - 1.0)


@entry
def run(samples, path, parts, functions, room, out):
    """Write the differences from each state, shape (states, parts); of windows where ``cycles`` is 0, else of cycles.

    ``functions`` are the addresses for a single ACK, several ACKs and a loss, shape (3,).
    """
    states, times, counts, cycles = samples
    single, several = room
    for i in range(len(states)):
        for j in range(len(parts)):
            for n in range(states.shape[1]):
                single[n] = states[i, n]
                several[n] = states[i, n]
            if cycles[i] == 0:
                out[i, j] = compare_windows(functions, room, times[i], path, counts[i], parts[j])
            else:
                out[i, j] = compare_cycles(functions, room, times[i], path, counts[i], cycles[i], parts[j])
