"""State of a flow under loss: an array of numbers, its limits, and its loss event."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hopflow.kernels.marks import call_on_array, compiled

__all__ = [
    "ALL_STEPS",
    "CHANGE",
    "CHECKED_STATES",
    "CYCLES",
    "CYCLE_COLUMNS",
    "DURATION",
    "ERROR",
    "FAULT_STATE",
    "FOLLOWED",
    "INVALID_WINDOW",
    "LIMITS",
    "LOSS_TIME",
    "MAX_WINDOW",
    "MEAN_WINDOW",
    "MIN_WINDOW",
    "ON_ACK",
    "ON_LOSS",
    "PACKETS",
    "PACKET_MEAN_WINDOW",
    "PARAMETERS",
    "PATH",
    "PEAK",
    "PERIOD",
    "RATE",
    "RATE_BEFORE",
    "RATE_EARLIER",
    "REMAINING",
    "ROWS",
    "SAVED_REMAINING",
    "SAVED_TIME",
    "SAVED_WINDOW",
    "STATE",
    "STEPS",
    "TIME",
    "WINDOW_PACKETS",
    "WINDOW_TIME",
    "Flow",
    "apply_loss",
    "clear_sums",
    "load_state",
    "record_fault",
    "save_state",
]

TIME, PACKETS, WINDOW_TIME, WINDOW_PACKETS = 0, 1, 2, 3
"""Rows since the last loss: s, packets, and the sums of the window over time and over packets."""
LOSS_TIME, REMAINING, STEPS, INVALID_WINDOW = 4, 5, 6, 7
"""Rows: time of the last loss in s, packets to the next one, steps so far, and an invalid window or 0. With an
invalid window the state is that before the step."""
STATE, PARAMETERS, ROWS = 8, 24, 40
"""First row of the rule's state, cwnd first, first row of its parameters, and the number of rows."""
ON_ACK, ON_LOSS = 1.0, 2.0
"""Events that a fault names."""
FAULT_STATE = 4
"""First entry of the state in the record of a fault (`responsefn.rule_events.raise_fault`)."""
MIN_WINDOW, MAX_WINDOW = 1.0 - 1e-9, 1e15
"""Valid windows in packets; the minimum has room for rounding."""
RATE, MEAN_WINDOW, PACKET_MEAN_WINDOW, PEAK, DURATION, CYCLES, PERIOD = 0, 1, 2, 3, 4, 5, 6
RATE_BEFORE, RATE_EARLIER, ALL_STEPS, CYCLE_COLUMNS = 7, 8, 9, 10
"""Columns of a cycle: rate, mean window over time and over packets, peak, duration, cycles, period, the mean rates
up to the last two powers of two, and steps; their number."""
SAVED_TIME, SAVED_REMAINING, SAVED_WINDOW = 0, 1, 2
"""Entries of a saved state: time of the last loss in s, packets to the next one, and the window, which begins the
rule's state."""
ERROR, FOLLOWED, CHANGE = 0, 1, 2
"""Columns of a check: estimated relative error of the rate, part of a cycle that was followed ACK by ACK, and relative
change of a period much later."""
CHECKED_STATES = 4
"""States that `checks` needs room for."""
LIMITS = np.dtype([(name, np.float64) for name in ("tolerance", "same", "cycles", "steps", "acks")])
"""See `responsefn.cycles.Limits`; acks: 1 where each step is an ACK, 0 for blocks of ACKs."""
PATH = np.dtype([(name, np.float64) for name in ("rtt", "service", "limit")] + [("merge", np.bool_)])
"""Round-trip time and time per packet in s, the window that loses a packet, and whether losses of one window are one
event."""


class Flow(NamedTuple):
    """A flow on its path.

    Attributes
    ----------
    run
        Numbers of the flow, shape (ROWS,).
    loss
        Address of the rule's response to a loss.
    rtt, service
        Round-trip time and time per packet in s.
    limits
        A record of `LIMITS`.
    fault
        Record of an invalid window: event, time, round-trip time, window, and the state before.
    """

    run: Any
    loss: Any
    rtt: float
    service: float
    limits: Any
    fault: Any


@compiled
def save_state(run, saved):
    """Write the time, the remaining packets and the state before a loss."""
    saved[0] = run[LOSS_TIME] + run[TIME]
    saved[1] = run[REMAINING]
    for n in range(len(saved) - 2):
        saved[n + 2] = run[STATE + n]


@compiled
def load_state(run, saved):
    """Set the state to one that `save_state` wrote."""
    for n in range(len(saved) - 2):
        run[STATE + n] = saved[n + 2]


@compiled
def clear_sums(run, now):
    """Start a cycle at the time of a loss."""
    for n in range(WINDOW_PACKETS + 1):
        run[n] = 0.0
    run[LOSS_TIME] = now


@compiled
def record_fault(fault, event, now, rtt, cwnd):
    """Record an invalid window; the state before it is in the record already."""
    fault[0] = event
    fault[1] = now
    fault[2] = rtt
    fault[3] = cwnd


@compiled
def apply_loss(run, loss, now, rtt, fault):
    """Apply the rule's ``on_loss``; return False for an invalid window."""
    for n in range(len(fault) - FAULT_STATE):
        fault[FAULT_STATE + n] = run[STATE + n]
    call_on_array(loss, run, now, rtt, 0.0, 0.0)
    if MIN_WINDOW <= run[STATE] <= MAX_WINDOW:
        return True
    record_fault(fault, ON_LOSS, now, rtt, run[STATE])
    return False
