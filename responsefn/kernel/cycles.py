"""Loss cycles, one packet lost in a fixed number, until they repeat: by blocks of ACKs or ACK by ACK."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from hopflow.kernels.marks import call_on_array, compiled, entry

from .flow import (
    ALL_STEPS,
    CYCLES,
    DURATION,
    FAULT_STATE,
    INVALID_WINDOW,
    LOSS_TIME,
    MAX_WINDOW,
    MEAN_WINDOW,
    ON_ACK,
    PACKET_MEAN_WINDOW,
    PACKETS,
    PEAK,
    PERIOD,
    RATE,
    RATE_BEFORE,
    RATE_EARLIER,
    REMAINING,
    SAVED_REMAINING,
    SAVED_TIME,
    SAVED_WINDOW,
    STATE,
    STEPS,
    TIME,
    WINDOW_PACKETS,
    WINDOW_TIME,
    Flow,
    apply_loss,
    clear_sums,
    record_fault,
    save_state,
)

__all__ = ["advance", "find_cycle", "recurs", "run"]

STATE_TOLERANCE = 1e-3
"""Relative change of the fields other than the window over cycles whose peaks repeat."""
CERTAIN_CYCLES, CERTAIN_ACKS = 64, 2e6
"""Minimum cycles ACK by ACK, or ACKs, of a repetition: a window that halves its distance to a jump of the rule arrives
there to the last bit only then."""
LAST_EXTRAPOLATION = 32
"""Number of the last cycle whose peak is extrapolated."""
MAX_EXTRAPOLATED_RATIO = 0.9
"""Largest ratio of successive changes of the peak that is extrapolated."""


@compiled
def recurs(run, saved, same, counts):
    """Return whether the state equals a saved one; fields that moved with the clock are times.

    With ``counts`` fields may also have changed by whole numbers.
    """
    now = run[LOSS_TIME] + run[TIME]
    elapsed = now - saved[SAVED_TIME]
    if abs(run[REMAINING] - saved[SAVED_REMAINING]) > same * run[PACKETS]:
        return False
    for n in range(len(saved) - SAVED_WINDOW):
        new = run[STATE + n]
        old = saved[SAVED_WINDOW + n]
        if new == old or abs(new - old) <= same * max(abs(new), abs(old)):
            continue
        if abs(new - old - elapsed) <= same * now:
            continue
        change = new - old
        if not (counts and abs(change) >= 1.0 and change == math.floor(change)):
            return False
    return True


@compiled
def advance(flow, steps, packets, now):
    """Run from a loss to just before the next one; return False for an invalid window.

    Where each step is an ACK, the fraction of a packet by which the last cycle was too long is subtracted.
    """
    run, fault = flow.run, flow.fault
    clear_sums(run, now)
    run[REMAINING] = packets + flow.limits.acks * run[REMAINING]
    call_on_array(steps, run, flow.rtt, flow.service, MAX_WINDOW, 0.0)
    if run[INVALID_WINDOW] == 0.0:
        return True
    for n in range(len(fault) - FAULT_STATE):
        fault[FAULT_STATE + n] = run[STATE + n]
    rtt = max(flow.rtt, run[STATE] * flow.service)
    record_fault(fault, ON_ACK, now + run[TIME], rtt, run[INVALID_WINDOW])
    return False


@compiled
def find_cycle(flow, steps, packets, anchor, previous, columns):
    """Follow cycles until they repeat or a limit is reached, and write the columns of the result.

    Return False for an invalid window. The run ends just before a loss. ``anchor`` and ``previous`` are room for the
    states at the last power of two and one cycle ago.
    """
    # How this differs from a fixed-point iteration:
    # 1. In blocks of ACKs a cycle repeats alone where its peak has changed by less than the tolerance in two successive
    #    cycles, so that no slow drift passes, and the change no longer shrinks.
    # 2. Several cycles repeat together where peak and duration are those at the last power of two (Brent).
    # 3. Neither counts unless the other fields of the state repeat as well.
    # 4. ACK by ACK only a recurrence of the whole state counts.
    run, limits = flow.run, flow.limits
    now = 0.0
    cycles = 0
    extrapolated = 0
    last_peak = 0.0
    peak_before = 0.0
    min_change = math.inf
    anchor_peak = 0.0
    anchor_duration = 0.0
    rate_before = 0.0
    rate_earlier = 0.0
    # sums over the cycles since the last power of two
    count = 0.0
    sent = 0.0
    total_time = 0.0
    window_time = 0.0
    window_packets = 0.0
    peaks = 0.0
    if not apply_loss(run, flow.loss, now, flow.rtt, flow.fault):
        return False
    while True:
        cycles += 1
        if not advance(flow, steps, packets, now):
            return False
        peak = run[STATE]
        duration = run[TIME]
        count += 1.0
        sent += run[PACKETS]
        total_time += duration
        window_time += run[WINDOW_TIME]
        window_packets += run[WINDOW_PACKETS]
        peaks += peak
        period = 0
        if limits.acks > 0.0:
            certain = cycles > CERTAIN_CYCLES or run[STEPS] > CERTAIN_ACKS
            if cycles > 1 and certain and recurs(run, anchor, limits.same, False):
                period = int(count)
                break
        else:
            change = max(abs(peak - last_peak), abs(last_peak - peak_before))
            start = anchor
            if change <= limits.tolerance * peak:
                if change < min_change:
                    min_change = change
                else:
                    period = 1
            elif (
                abs(peak - anchor_peak) <= limits.same * peak
                and abs(duration - anchor_duration) <= limits.same * duration
            ):
                period = int(count)
            if period == 1:
                start = previous
            if period > 0 and cycles > 1 and recurs(run, start, STATE_TOLERANCE, True):
                if period == 1:  # the sums of this cycle alone
                    count = 1.0
                    sent = run[PACKETS]
                    total_time = duration
                    window_time = run[WINDOW_TIME]
                    window_packets = run[WINDOW_PACKETS]
                    peaks = peak
                break
            period = 0
            save_state(run, previous)
            # Aitken's extrapolation of the peak, not for cycles that repeat already
            recent = cycles < extrapolated + 3 or cycles > LAST_EXTRAPOLATION
            if change > limits.tolerance * peak and not recent:
                ratio = (peak - last_peak) / (last_peak - peak_before)
                if abs(ratio) < MAX_EXTRAPOLATED_RATIO:
                    further = (peak - last_peak) * ratio / (1.0 - ratio)
                    run[STATE] = max(1.0, run[STATE] + further)
                    extrapolated = cycles
        peak_before = last_peak
        last_peak = peak
        now += duration
        if cycles & (cycles - 1) == 0:
            if run[STEPS] > limits.steps or cycles >= limits.cycles:
                break
            rate_earlier = rate_before
            rate_before = sent / total_time
            count = 0.0
            sent = 0.0
            total_time = 0.0
            window_time = 0.0
            window_packets = 0.0
            peaks = 0.0
            anchor_peak = peak
            anchor_duration = duration
            save_state(run, anchor)
        if not apply_loss(run, flow.loss, now, max(flow.rtt, run[STATE] * flow.service), flow.fault):
            return False
    total = count * packets
    if limits.acks > 0.0:
        total = sent
    columns[RATE] = total / total_time
    columns[MEAN_WINDOW] = window_time / total_time
    columns[PACKET_MEAN_WINDOW] = window_packets / total
    columns[PEAK] = peaks / count
    columns[DURATION] = total_time / count
    columns[CYCLES] = cycles
    columns[PERIOD] = period
    columns[RATE_BEFORE] = rate_before
    columns[RATE_EARLIER] = rate_earlier
    columns[ALL_STEPS] = run[STEPS]
    return True


@entry
def run(cases, functions, limits, room, results):
    """Find the cycle of each row of ``starts``.

    Groups are plain tuples, because Numba takes about 10 us longer per call to find the types of NamedTuples.

    ``final_states`` has the time of the last loss, the remaining packets, and the state before it. Blocks of ACKs that
    end at an invalid window leave a period of -1: single ACKs may not make that window. A single ACK that does so ends
    the search with a fault.
    """
    packets, rtts, service, starts = cases
    steps, loss = functions
    numbers, anchor, previous = room
    final_states, columns, fault = results
    for i in range(len(packets)):
        flow = Flow(numbers, loss[0], rtts[i], service, limits[0], fault)
        numbers[STEPS] = 0.0
        numbers[REMAINING] = 0.0
        for n in range(starts.shape[1]):
            numbers[STATE + n] = starts[i, n]
        if not find_cycle(flow, steps[0], packets[i], anchor, previous, columns[i]):
            if limits[0].acks > 0.0:
                return
            columns[i, PERIOD] = -1.0
            fault[0] = 0.0
        save_state(numbers, final_states[i])
