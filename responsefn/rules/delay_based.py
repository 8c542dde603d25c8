"""Base of rules that respond to queueing delay."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.checks import one_number
from hopflow.functions import maximum, minimum, where
from responsefn.rules.base import WindowRule, cut

__all__ = ["BandRule", "QueueRule", "kept_in_band", "queued"]


def queued(cwnd: Any, base: Any, rtt: Any) -> Any:
    """Return how many packets of the window wait in the queue."""
    return cwnd * (rtt - base) / rtt


class QueueRule(WindowRule):
    """Base of rules that keep some packets in the queue, and halve the window at a loss."""

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
        """Halve."""
        return cut(s, 0.5 * s.cwnd)


class BandRule(QueueRule):
    """Base of rules that keep alpha to beta packets in the queue."""

    class Params(NamedTuple):
        """Packets in the queue below which the window grows and above which it shrinks."""

        alpha: float = 2.0
        beta: float = 4.0

    def check(self) -> None:
        """Check the ranges of alpha and beta."""
        one_number("alpha", self.params.alpha, above=0.0)
        one_number("beta", self.params.beta, at_least=self.params.alpha, hint="alpha <= beta")


def kept_in_band(s: Any, q: Any, e: Any, packets: Any) -> Any:
    """Return the state after an ACK: slow start, or some packets per round trip up, down or not at all."""
    base = minimum(s.base_rtt, e.rtt)
    waiting = queued(s.cwnd, base, e.rtt)
    step = where(waiting < q.alpha, packets, where(waiting > q.beta, -packets, 0.0)) / s.cwnd
    grown = s.cwnd + where(s.cwnd < s.ssthresh, 1.0, step)
    return s._replace(cwnd=maximum(1.0, grown), base_rtt=base)
