"""Bases and functions of window rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hopflow.functions import where
from responsefn.dynamics import Event
from responsefn.response import WindowRule, cut

__all__ = [
    "NO_INVERSE_AT_CAPACITY",
    "Event",
    "RenoGrowth",
    "WindowRule",
    "after",
    "cut",
    "grow",
    "whole",
    "whole_cut",
]

Update = Callable[[Any, Any, Any], Any]
"""A function of a rule: the new state by the state, the parameters and the event."""
ROUNDING = 1e-9  # own choice: above the rounding of a window's sum of fractions
"""Packets by which sums of fractions may be below a whole number: 50 additions of 1/50."""
NO_INVERSE_AT_CAPACITY = "it holds nearly the whole capacity over wide ranges of p, where its rate tells nothing of p"
"""Reason why rules that estimate the capacity have no inverse."""


def after(first: Any) -> Callable[[Update], Update]:
    """Return a decorator of a rule's function that applies it to the state which another function returns.

    With ``@after(on_loss)`` a timeout makes the cut of a loss, and changes only what the function assigns.
    """
    first = first.__func__

    def decorate(then: Update) -> Update:
        """Return the function that applies both."""

        def step(s: Any, q: Any, e: Any) -> Any:
            """Return the state after both functions."""
            return then(first(s, q, e), q, e)

        step.__doc__ = then.__doc__
        return step

    return decorate


def grow(s: Any, step: Any) -> Any:
    """Return the state after an ACK: one packet more in slow start, ``step`` packets more above it."""
    return s._replace(cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, step))


def whole(packets: Any) -> Any:
    """Return a window in whole packets: windows of Linux are integers, and it counts the ACKs between them."""
    return 1.0 * math.floor(packets + ROUNDING)


def whole_cut(s: Any, window: Any) -> Any:
    """Return the state after a decrease to ``window`` packets, rounded down to at least two."""
    return cut(s, max(2.0, whole(window)))


class RenoGrowth(WindowRule):
    """Base of rules that grow as Reno does: one packet per round trip above slow start (RFC 5681)."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start below the threshold, 1 / cwnd above."""
        return grow(s, 1.0 / s.cwnd)
