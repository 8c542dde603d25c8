"""Estimated error of cycles in blocks of ACKs, by the same cycles ACK by ACK, and cycles at a much later time.

Of a cycle that is long relative to the work of its solution, segments spread from loss to loss are followed ACK by ACK
first, and the whole cycle in blocks half as long. Only where these differ is the cycle followed ACK by ACK.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from hopflow.kernels.marks import call_on_array, compiled, entry

from .flow import (
    ALL_STEPS,
    CHANGE,
    ERROR,
    FOLLOWED,
    INVALID_WINDOW,
    MAX_WINDOW,
    PERIOD,
    RATE,
    REMAINING,
    SAVED_REMAINING,
    SAVED_TIME,
    SAVED_WINDOW,
    STATE,
    STEPS,
    TIME,
    Flow,
    apply_loss,
    clear_sums,
    load_state,
    save_state,
)

__all__ = [
    "advance_state",
    "change_much_later",
    "compare_cycles",
    "estimate_error",
    "fields_differ",
    "run",
    "run_fine_blocks",
    "run_packets",
    "sample_segments",
    "shift_state",
    "window_slope",
]

START, AFTER_ACKS, AFTER_BLOCKS, BEFORE = 0, 1, 2, 3
"""Saved states: at the beginning of the check, after a cycle ACK by ACK, after one in blocks, and before both."""
ACCEPTED_ERROR = 0.002
"""Estimated error up to which no cycle of one packet fewer is compared."""
FIELD_TOLERANCE = 0.02
"""Relative difference of the other fields of the state after a cycle. For times, part of the duration of the cycle."""
MAX_SLOPE = 0.95
"""Largest slope of an error estimate: of rules that converge in 100 cycles, or whose slope one cycle does not show."""
CYCLES_MUCH_LATER = 8
"""Cycles that are compared with those much later; longer periods are compared at one later time only."""
LATER_PERIODS = (1048576.0, 256.0)
"""Periods by which a state is shifted."""
MAX_SEGMENTS, MIN_SEGMENTS, SEGMENT_WINDOWS = 16, 3, 2.0
"""Segments of a cycle that are followed ACK by ACK, and their length in windows."""
FINE_BLOCKS = 16.0
"""Fine blocks per window; other blocks are an eighth of a window."""
SAME_WINDOW, SAME_TIME = 1e-9, 1e-6
"""Relative differences of windows and of elapsed times that are rounding: both are sums of up to 1e6 terms."""
ENTIRE_CYCLE = 1e-3
"""Relative difference from the packets of a cycle up to which the rate of the compared cycles is that of the cycle: at
most the one packet fewer of a cycle of 1,000."""
MIN_PACKETS = 1e-6
"""Packets that are rounding of the packets of a cycle, at most 1e8 of 16 digits."""
COMPARED_CYCLES = 16.0
"""Cycles that are compared at most, or those of one period if it has more: errors that alternate in sign show."""
LONG_PERIOD_STEPS, LONG_PERIOD_ACKS = 20.0, 8.0
"""Factors on the ACKs of a check where several cycles repeat together, or none: all of the period is compared."""
MAX_SHIFT_OF_LONG_PERIODS = 1000.0
"""Shifts in periods that only short periods are compared at."""
ACKS_PER_STEP = 0.5
"""ACKs followed per step of the solution; a block of ACKs takes about three times as long as an ACK."""


@compiled
def advance_state(flow, steps, state, packets, carry):
    """Go from just before a loss in ``state`` to the next one; return False for an invalid window.

    With a ``carry`` of 1 the packets by which the previous cycle was too long are subtracted.
    """
    run = flow.run
    load_state(run, state)
    now = state[SAVED_TIME]
    if not apply_loss(run, flow.loss, now, max(flow.rtt, run[STATE] * flow.service), flow.fault):
        flow.fault[0] = 0.0
        return False
    clear_sums(run, now)
    run[REMAINING] = packets + carry * state[SAVED_REMAINING]
    call_on_array(steps, run, flow.rtt, flow.service, MAX_WINDOW, 0.0)
    return run[INVALID_WINDOW] == 0.0


@compiled
def fields_differ(state, other, tolerance, time):
    """Return whether fields other than the window differ: counts, filters, flags; times by a part of ``time``."""
    for n in range(SAVED_WINDOW + 1, len(state)):
        if state[n] == other[n]:
            continue
        difference = abs(state[n] - other[n])
        if not difference <= tolerance * max(abs(state[n]), abs(other[n]), time):
            return True
    return False


@compiled
def compare_cycles(flow, blocks, acks, states, packets, cycles):
    """Return the duration of cycles ACK by ACK, and the largest relative errors of windows and times of blocks.

    Each cycle starts from the state that the previous one left ACK by ACK. Infinite for an invalid window.
    """
    run = flow.run
    total_time = 0.0
    window_error = 0.0
    time_error = 0.0
    for n in range(len(states[0])):
        states[BEFORE, n] = states[START, n]
    for _ in range(cycles):
        if not advance_state(flow, acks, states[BEFORE], packets, 0.0):
            return math.inf, math.inf, math.inf
        total_time += run[TIME]
        duration = run[TIME]
        save_state(run, states[AFTER_ACKS])
        if not advance_state(flow, blocks, states[BEFORE], packets, 0.0):
            return math.inf, math.inf, math.inf
        save_state(run, states[AFTER_BLOCKS])
        window_error = max(
            window_error, abs(states[AFTER_ACKS, SAVED_WINDOW] / states[AFTER_BLOCKS, SAVED_WINDOW] - 1.0)
        )
        time_error = max(time_error, abs(duration / run[TIME] - 1.0))
        if fields_differ(states[AFTER_ACKS], states[AFTER_BLOCKS], FIELD_TOLERANCE, duration):
            return math.inf, math.inf, math.inf
        for n in range(len(states[0])):
            states[BEFORE, n] = states[AFTER_ACKS, n]
    return total_time, window_error, time_error


@compiled
def window_slope(flow, blocks, states, packets):
    """Return the change of a peak per change of the previous one, from the two states after `compare_cycles`.

    0 where their windows are equal.
    """
    run = flow.run
    difference = abs(states[AFTER_ACKS, SAVED_WINDOW] - states[AFTER_BLOCKS, SAVED_WINDOW])
    if difference <= SAME_WINDOW * states[AFTER_BLOCKS, SAVED_WINDOW]:
        return 0.0
    if not advance_state(flow, blocks, states[AFTER_ACKS], packets, 0.0):
        return math.inf
    peak = run[STATE]
    if not advance_state(flow, blocks, states[AFTER_BLOCKS], packets, 0.0):
        return math.inf
    return abs(peak - run[STATE]) / difference


@compiled
def estimate_error(flow, blocks, acks, states, case):
    """Return the estimated relative error of the rate of a cycle in blocks.

    Per-cycle errors e accumulate to e / (1 - slope) where peaks map with that slope. The mean rate of several cycles is
    compared as well where they are short.
    """
    compared, cycles, packets, period, rate = case
    total_time, window_error, time_error = compare_cycles(flow, blocks, acks, states, compared, cycles)
    if compared < packets - 1.0:  # only the beginning of the cycle
        window = min(states[AFTER_ACKS, SAVED_WINDOW], states[AFTER_BLOCKS, SAVED_WINDOW])
        if window * flow.service >= flow.rtt:
            window_error = 0.0  # both have the capacity
        return 2.0 * window_error + time_error * compared / packets
    slope = min(MAX_SLOPE, window_slope(flow, blocks, states, compared))
    error = max(window_error, time_error) / (1.0 - slope)
    if (
        period > 0.0
        and cycles >= period
        and abs(compared - packets) <= ENTIRE_CYCLE * packets
        and cycles % int(period) == 0
    ):
        error = max(error, abs(cycles * compared / total_time / rate - 1.0))
    return error


@compiled
def run_packets(flow, steps, state, packets):
    """Continue from a saved state for some packets, without a loss; return False for an invalid window."""
    run = flow.run
    load_state(run, state)
    clear_sums(run, state[SAVED_TIME])
    run[REMAINING] = packets
    call_on_array(steps, run, flow.rtt, flow.service, MAX_WINDOW, 0.0)
    return run[INVALID_WINDOW] == 0.0


@compiled
def run_fine_blocks(flow, steps, packets, max_blocks):
    """Continue for some packets in fine blocks; return the packets that remain after the maximum of blocks.

    Infinite for an invalid window.
    """
    run = flow.run
    remaining = packets
    blocks = 0.0
    while remaining > MIN_PACKETS and blocks < max_blocks:
        blocks += 1.0
        size = min(remaining, max(1.0, run[STATE] / FINE_BLOCKS))
        run[REMAINING] = size
        call_on_array(steps, run, flow.rtt, flow.service, MAX_WINDOW, 0.0)
        if run[INVALID_WINDOW] != 0.0:
            return math.inf
        remaining -= size - run[REMAINING]
    return remaining


@compiled
def sample_segments(flow, blocks, acks, states, packets, max_acks):
    """Return the estimated relative error of the rate of a cycle in blocks, and the part followed ACK by ACK.

    The errors of windows in the segments are extrapolated to the cycle, except that of the first segment: windows after
    a loss are smaller than all others.
    """
    # 1. Segments of equal length at equal distances, each ACK by ACK and in blocks from the same state.
    # 2. The cycle in fine blocks: half the blocks have half the error.
    # 3. Errors per cycle accumulate as in `estimate_error`, where they are not negligible.
    run, rtt, service = flow.run, flow.rtt, flow.service
    state = states[BEFORE]
    load_state(run, states[START])
    now = states[START, SAVED_TIME]
    if not apply_loss(run, flow.loss, now, max(rtt, run[STATE] * service), flow.fault):
        flow.fault[0] = 0.0
        return math.inf, 0.0
    clear_sums(run, now)
    run[REMAINING] = 0.0
    save_state(run, state)
    for n in range(len(state)):
        states[AFTER_ACKS, n] = state[n]
    largest = max(states[START, SAVED_WINDOW], run[STATE])
    has_capacity = min(states[START, SAVED_WINDOW], run[STATE]) * service >= rtt  # all windows
    segments = max(MIN_SEGMENTS, min(MAX_SEGMENTS, int(max_acks / (SEGMENT_WINDOWS * largest))))
    spacing = math.ceil(packets / segments)
    length = min(math.ceil(max_acks / segments), math.ceil(SEGMENT_WINDOWS * largest))
    length = min(length, spacing - 1.0)
    first_error = 0.0
    window_errors = 0.0
    time_errors = 0.0
    time = 0.0
    followed = 0.0
    remaining = packets
    while remaining > 0.5:
        part = min(spacing, remaining)
        if length <= part:
            if not run_packets(flow, acks, state, length):
                return math.inf, 0.0
            duration = run[TIME]
            save_state(run, states[AFTER_BLOCKS])
            if not run_packets(flow, blocks, state, length):
                return math.inf, 0.0
            window_error = abs(states[AFTER_BLOCKS, SAVED_WINDOW] / run[STATE] - 1.0)
            if min(states[AFTER_BLOCKS, SAVED_WINDOW], run[STATE]) * service >= rtt:
                window_error = 0.0  # both have the capacity
            if followed == 0.0:
                first_error = window_error
            else:
                window_errors += window_error
            time_errors += abs(duration - run[TIME])
            time += duration
            followed += length
            save_state(run, state)
            if fields_differ(states[AFTER_BLOCKS], state, FIELD_TOLERANCE, duration):
                return math.inf, 0.0
            part -= length
            remaining -= length
        if part > 0.0:
            if not run_packets(flow, blocks, state, part):
                return math.inf, 0.0
            save_state(run, state)
            remaining -= part
    window_error = first_error + window_errors * packets / max(length, followed - length)
    error = max(window_error, time_errors / time)
    if error > ACCEPTED_ERROR or has_capacity:
        return error, followed / packets
    load_state(run, states[AFTER_ACKS])
    clear_sums(run, now)
    remaining = run_fine_blocks(flow, blocks, packets, max_acks)
    if remaining > MIN_PACKETS:  # a constant window takes too many fine blocks: the segments decide
        return (error if remaining < math.inf else math.inf), followed / packets
    fine_time = run[TIME]
    save_state(run, states[AFTER_ACKS])
    for n in range(len(state)):
        states[AFTER_BLOCKS, n] = state[n]
    coarse_time = state[SAVED_TIME] - now
    if fields_differ(states[AFTER_ACKS], state, FIELD_TOLERANCE, coarse_time):
        return math.inf, 0.0
    difference = max(
        abs(fine_time / coarse_time - 1.0), abs(states[AFTER_ACKS, SAVED_WINDOW] / state[SAVED_WINDOW] - 1.0)
    )
    error = max(error, 2.0 * difference)
    if error > (1.0 - MAX_SLOPE) * ACCEPTED_ERROR:
        error /= 1.0 - min(MAX_SLOPE, window_slope(flow, blocks, states, packets))
    return error, followed / packets


@compiled
def shift_state(states, elapsed, periods):
    """Shift the state at the start by a multiple of the change up to ``AFTER_BLOCKS``.

    Times move with the clock, counters by whole numbers; other fields stay.
    """
    for n in range(len(states[0])):
        start = states[START, n]
        change = states[AFTER_BLOCKS, n] - start
        states[AFTER_ACKS, n] = start
        if n != SAVED_REMAINING and abs(change - elapsed) <= SAME_TIME * elapsed:
            states[AFTER_ACKS, n] = start + periods * elapsed
        elif n > SAVED_WINDOW and abs(change) >= 1.0 and change == math.floor(change):
            states[AFTER_ACKS, n] = start + periods * change


@compiled
def change_much_later(flow, steps, states, packets, carry, period):
    """Return the relative change of time and window when the period repeats much later.

    The first cycles are compared. A timer of the rule that has not expired yet expires in them, since fields that moved
    with the clock are shifted and those that did not stay.
    """
    run = flow.run
    time = 0.0
    for n in range(len(states[0])):
        states[AFTER_BLOCKS, n] = states[START, n]
    compared = min(period, CYCLES_MUCH_LATER)
    compared_time = 0.0
    window = 0.0
    for n in range(period):
        if not advance_state(flow, steps, states[AFTER_BLOCKS], packets, carry):
            return math.inf
        time += run[TIME]
        save_state(run, states[AFTER_BLOCKS])
        if n == compared - 1:
            compared_time = time
            window = states[AFTER_BLOCKS, SAVED_WINDOW]
    change = 0.0
    for periods in LATER_PERIODS:
        if periods < MAX_SHIFT_OF_LONG_PERIODS and period > CYCLES_MUCH_LATER:
            break
        shift_state(states, time, periods)
        later_time = 0.0
        for _ in range(compared):
            if not advance_state(flow, steps, states[AFTER_ACKS], packets, carry):
                return math.inf
            later_time += run[TIME]
            save_state(run, states[AFTER_ACKS])
        window_change = abs(states[AFTER_ACKS, SAVED_WINDOW] / window - 1.0)
        change = max(change, abs(later_time / compared_time - 1.0), window_change)
    return change


@entry
def run(cases, functions, limits, room, results):
    """Compare blocks with ACKs from each row of ``final_states``, saved just before a loss.

    ``limits.cycles`` is the maximum of ACKs per case, ``limits.steps`` that of several shorter cycles, or as many as
    the search took. The columns of ``out`` are the estimated relative error of the rate, the part of a cycle that was
    followed, and the change of a period much later. A longer cycle is sampled first. With
    ``limits.acks`` 0 only the last one is written, for the steps in ``blocks``.
    """
    packets, rtts, service, final_states, columns = cases
    blocks, acks, loss = functions
    numbers, states = room
    out, fault = results
    max_acks = limits[0].cycles
    for i in range(len(packets)):
        flow = Flow(numbers, loss[0], rtts[i], service, limits[0], fault)
        period = columns[i, PERIOD]
        if period < 0.0:
            continue
        numbers[STEPS] = 0.0
        for n in range(len(states[0])):
            states[START, n] = final_states[i, n]
        out[i, ERROR] = math.inf
        cycle_acks = math.ceil(packets[i] - MIN_PACKETS)
        solution_acks = ACKS_PER_STEP * columns[i, ALL_STEPS]
        sampled_error = math.inf
        if limits[0].acks > 0.0 and cycle_acks > max(limits[0].steps, solution_acks):
            sampled_acks = min(max_acks, max(limits[0].steps, solution_acks))
            out[i, ERROR], out[i, FOLLOWED] = sample_segments(
                flow, blocks[0], acks[0], states, packets[i], sampled_acks
            )
            sampled_error = out[i, ERROR]
        if limits[0].acks > 0.0 and not out[i, ERROR] <= ACCEPTED_ERROR:
            compared = min(cycle_acks, max_acks)
            out[i, FOLLOWED] = min(1.0, compared / packets[i])
            budget = max(limits[0].steps, solution_acks)
            max_cycles = COMPARED_CYCLES
            if period != 1.0:
                budget = max(LONG_PERIOD_STEPS * limits[0].steps, LONG_PERIOD_ACKS * solution_acks)
                max_cycles = max(COMPARED_CYCLES, period)
            budget = min(budget, 0.5 * max_acks)
            cycles = int(max(1.0, min(max_cycles, budget // compared)))
            if period > 1.0 and cycles > period:
                cycles -= cycles % int(period)
            out[i, ERROR] = math.inf
            # whole packets, more or fewer than the cycle has: its rate may jump between them
            for fewer in range(2):
                affordable = 2.0 * cycles * compared <= max_acks
                differs = affordable and max(1.0, packets[i] - 1.0) < compared - 1.0
                if fewer == 0 or (out[i, ERROR] > ACCEPTED_ERROR and differs):
                    case = (compared - fewer, cycles, packets[i], period, columns[i, RATE])
                    error = estimate_error(flow, blocks[0], acks[0], states, case)
                    out[i, ERROR] = min(out[i, ERROR], error)
            if compared < cycle_acks and sampled_error < math.inf:
                out[i, ERROR] = max(out[i, ERROR], sampled_error)  # of all of the cycle
        if period >= 1.0:
            carry = 1.0 - limits[0].acks
            out[i, CHANGE] = change_much_later(flow, blocks[0], states, packets[i], carry, int(period))
