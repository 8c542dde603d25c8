"""What a native rule may decide: the checks of its windows, rates and times."""

from __future__ import annotations

import math

from hopflow.kernels.marks import inlined

__all__ = [
    "DEPARTURE",
    "FAULTS",
    "MAX_WINDOW",
    "QUANTUM",
    "RATE",
    "RING",
    "THRESHOLD",
    "WAKE",
    "WINDOW",
    "find_fault",
    "find_time_fault",
]

FAULTS = ("", "window", "ssthresh", "pacing_rate", "departure", "timer", "send_quantum", "packets")
(WINDOW, THRESHOLD, RATE, DEPARTURE, WAKE, QUANTUM, RING) = range(1, 8)
"""What a rule answered that cannot be: indices in `FAULTS`."""
MAX_WINDOW = 1e15
"""Maximum window in packets, that of rules in Python (`responsefn.rule_events`)."""


@inlined
def find_fault(rate: float, window: float, ssthresh: float) -> int:
    """Return the index in `FAULTS` of an invalid rate, packets/s, window or ssthresh, packets; 0: all are valid."""
    if not 0.0 <= rate < math.inf:
        return RATE
    if not 0.0 < window <= MAX_WINDOW or (window < 1.0 and rate == 0.0):
        return WINDOW
    if not ssthresh >= 0.0:
        return THRESHOLD
    return 0


@inlined
def find_time_fault(departure: float, timer: float, quantum: float, earliest: float, is_called: bool) -> int:
    """Return the index in `FAULTS` of an invalid time, s, or quantum; 0: valid. A timer must be after ``earliest``.

    Parameters
    ----------
    departure, timer
        Earliest departure of the next packet, and time of the timer, s; 0 or infinity: no timer.
    quantum
        Send quantum, in the units of the rule.
    earliest
        Time that a timer exceeds, s: in `on_timer` the present time, otherwise 0.
    is_called
        Whether the rule has `on_timer`.
    """
    if not 0.0 <= departure < math.inf:
        return DEPARTURE
    if not 0.0 <= quantum <= MAX_WINDOW:
        return QUANTUM
    if timer == 0.0 or timer == math.inf or (timer > earliest and is_called):
        return 0
    return WAKE
