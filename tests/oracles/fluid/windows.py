"""A window rule in the reference: its own functions on its own state, called as a user wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dfcmodel.engine.kernel.quantum import TINY
from responsefn import Feedback
from responsefn.rules.base import Event
from responsefn.rules.deliveries.delivery_rule import answers_marks

if TYPE_CHECKING:
    from responsefn import WindowRule

__all__ = ["Window"]

CLOCK = 1.0 - 1e-9
"""Factor of the round-trip time of a single ACK: rounding never makes a round shorter than it."""
LARGEST_GROWTH = 0.125
"""Part of a window by which it grows, at most, between two calls of its rule."""


class Window:
    """A rule and its state; ``most`` is the receiver's window in packets; ``single`` shows it ACK by ACK."""

    def __init__(self, rule: WindowRule, rtt: float, most: float, *, single: bool = False) -> None:
        self.rule, self.most, self.single = rule.in_fluid(), most, single
        self.part = 0.0
        self.state: Any = rule.start(rtt)
        self.answers_marks = answers_marks(type(rule))

    @property
    def cwnd(self) -> float:
        """The congestion window in packets."""
        return float(self.state.cwnd)

    def grow(self, now: float, h: float, rtts: tuple[float, float], acks: float) -> None:
        """Apply the ``acks`` ACKs of a step of ``h`` s that ends ``now``: the change by one ACK, times their number.

        ``rtts`` are the round-trip times in s at both ends of the step. Single ACKs arrive evenly in it.
        """
        rtt = rtts[1]
        if self.single:
            self.part += acks
            while self.part >= 1.0 - TINY:
                self.part -= 1.0
                early = min(1.0, max(0.0, self.part / acks))
                seen = Event(now - early * h, (rtt + early * (rtts[0] - rtt)) * CLOCK)
                self.state = self.rule.on_ack(self.state, self.rule.params, seen)
            return
        left = acks
        while left > 0.0:
            amount = min(left, max(1.0, LARGEST_GROWTH * self.cwnd))
            old = self.state
            new = self.rule.on_ack(old, self.rule.params, Event(now, rtt))
            self.state = type(old)(
                *(
                    after if name in self.rule.assigned or after == before
                    else before + amount * (after - before)
                    for name, before, after in zip(old._fields, old, new, strict=True)
                )
            )  # fmt: skip
            left -= amount

    def reduce(self, event: str, now: float, rtt: float, marks: float = 0.0) -> None:
        """Let the rule answer ``on_loss``, ``on_drop`` or ``on_timeout``."""
        state = self.state._replace(cwnd=min(self.cwnd, self.most))
        self.state = getattr(self.rule, event)(state, self.rule.params, Event(now, rtt, marks))

    def hear_marks(self, now: float, rtt: float, acks: float, marks: float) -> bool:
        """Let a rule that answers marks itself do so; return whether its window became smaller."""
        before = self.cwnd
        seen = Feedback(now, rtt, acks, marks)
        self.state = self.rule.on_mark(self.state, self.rule.params, seen)
        return self.cwnd < before
