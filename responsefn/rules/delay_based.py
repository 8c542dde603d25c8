"""Base of rules that respond to queueing delay."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.functions import minimum, where
from responsefn.rules.base import WindowRule, cut

__all__ = ["QueueRule", "no_slow_start", "packets_in_queue"]


def packets_in_queue(cwnd: Any, base: Any, rtt: Any) -> Any:
    """Return the packets of the window that wait in the queue."""
    return cwnd * (rtt - base) / rtt


def no_slow_start(s: Any, slow: Any, grown: Any) -> Any:
    """Return the threshold after an ACK, which above slow start is at most the new window.

    Otherwise a window that shrinks because of a queue would enter slow start below the threshold of the last loss.
    """
    return where(slow, s.ssthresh, minimum(s.ssthresh, grown))


class QueueRule(WindowRule):
    """Base of rules that target a number of packets in the queue, and halve the window at a loss."""

    class State(NamedTuple):
        """Window and threshold in packets, shortest RTT in s."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt",)
    capacity: ClassVar[str] = "needed"
    domain = (0.0, 0.02)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve the window."""
        return cut(s, 0.5 * s.cwnd)
