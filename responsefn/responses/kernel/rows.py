"""The numbers of a run, and the records of the loops."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "BEGUN",
    "CHECK_A",
    "CHECK_B",
    "CHECK_C",
    "CHECK_ROWS",
    "CHECK_START",
    "CYCLE_COLUMNS",
    "LEFT",
    "LIMITS",
    "MAX_WINDOW",
    "MIN_WINDOW",
    "MOVES",
    "ON_ACK",
    "ON_LOSS",
    "OVER_PACKETS",
    "OVER_TIME",
    "PACKETS",
    "PARAMETERS",
    "PATH",
    "RECORD",
    "ROWS",
    "SEARCH",
    "STATE",
    "TIME",
    "WRONG",
    "Walk",
]

TIME, PACKETS, OVER_TIME, OVER_PACKETS = 0, 1, 2, 3
"""Since the last loss: s, packets, and the window summed over time and over packets."""
BEGUN, LEFT, MOVES, WRONG = 4, 5, 6, 7
"""When the last loss was in s, packets to the next one, steps made, and a window that cannot be (or 0);
the state is then the one before."""
STATE, PARAMETERS, ROWS = 8, 24, 40
"""Where state and parameters of the rule begin, cwnd first, and the number of rows."""
ON_ACK, ON_LOSS = 1.0, 2.0
"""What is recorded as the event that made a wrong window."""
RECORD = 5
"""Entries of the record of a wrong window before the state (`rule_checks.raise_wrong`)."""
MIN_WINDOW, MAX_WINDOW = 1.0 - 1e-9, 1e15
"""Of a window in packets, the lower one with room for rounding."""

_SUMS = ("count", "packets", "total_time", "over_time", "over_packets", "peaks")
_SEEN = (
    "peak", "time", "change", "before", "last", "nearest", "anchor", "anchor_time", "rate_before",
    "rate_earlier",
)  # fmt: skip
SEARCH = np.dtype(
    [(name, np.int64) for name in ("n", "taken", "period")]
    + [(name, np.float64) for name in (*_SEEN, *_SUMS)]
)
"""The search for a cycle that repeats.

n: cycles so far; taken: the one after which the window was taken further; period: cycles that repeat
together; peak, time: of this cycle, packets and s; change: of the peak over two cycles; before, last:
peaks of the two cycles before; nearest: least change within the tolerance; anchor, anchor_time: peak and
duration of the cycle that is a power of two; rate_before, rate_earlier: mean rates up to the last two
powers of two, packets/s; then the sums over the cycles that count.
"""
LIMITS = np.dtype([(name, np.float64) for name in ("tolerance", "same", "most", "budget", "acks")])
"""See the constants of `responsefn.responses.loss_cycles.cycles`; acks: 1 where each step is an ACK."""
CYCLE_COLUMNS = 10
"""Those of `responsefn.responses.dynamics.Cycle`, the mean rates up to the last two powers of two, and steps made."""
CHECK_START, CHECK_A, CHECK_B, CHECK_C, CHECK_ROWS = 0, 1, 2, 3, 4
"""States that a check keeps: where it begins, after a cycle ACK by ACK, after one in blocks, and before both."""


class Walk(NamedTuple):
    """One run of a rule on its path.

    Attributes
    ----------
    one
        The numbers of the run: the rows above.
    loss
        Address of the rule's answer to a loss.
    rtt, service
        Round-trip time and time per packet in s.
    limits
        A record of `LIMITS`.
    wrong
        The record of a window that cannot be.
    """

    one: Any
    loss: Any
    rtt: float
    service: float
    limits: Any
    wrong: Any


PATH = np.dtype(
    [(name, np.float64) for name in ("rtt", "service", "limit")] + [("merge", np.bool_)]
)
"""Round-trip time and time per packet in s, the window that loses a packet; merge: whether the losses of one
window are one event."""
