"""Elements that drop packets by their age."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dfcmodel.network.elements.base import MAX_HOLD, PathElement
from hopflow.checks import one_number
from hopflow.units import WithUnit, quantities

__all__ = ["MaxTransitDelay"]


@quantities(delay="time")
@dataclass(frozen=True)
class MaxTransitDelay(PathElement):
    """The maximum bridge transit delay of a switch: a packet that has waited longer is dropped when it would be sent.

    IEEE 802.1D bounds the time that a bridge keeps a frame, and recommends 1 s. A bridge counts what it drops for this
    in ``dot1dBasePortDelayExceededDiscards`` (RFC 4188). A packet that is dropped takes no time of the link. One that
    is never sent, such as in a deadlock, stays in its queue.

    Parameters
    ----------
    link, flows, acks
        As for `PathElement`.
    delay
        Maximum time in the queue, s, above 0 and at most 10.

    Raises
    ------
    ValueError
        For a delay out of its range.

    Examples
    --------
    A queue of 30 packets, of which the last twenty would wait longer than 10 ms:

    >>> from dfcmodel import Flow, Link, MaxTransitDelay, Packets, Replay, Scenario, simulate
    >>> links = [Link("a", "s", 1e6, 1e-6, 100), Link("s", "b", 1e3, 1e-6, 100)]
    >>> flow = Flow("f", ("a", "s", "b"), Replay([0.0] * 31))
    >>> limit = MaxTransitDelay("s->b", "10ms")
    >>> run = simulate(Scenario("old", links, [flow], duration=0.1, elements=[limit]), Packets())
    >>> run.summary()["lost at"]
    's: 20 (as older than its maximum transit delay)'
    """

    causes: ClassVar[Mapping[str, str]] = {"transit delay": "as older than its maximum transit delay"}

    delay: WithUnit

    def __post_init__(self) -> None:
        super().__post_init__()
        one_number("delay", self.delay, above=0.0, at_most=MAX_HOLD, hint="in s: ms(5) is 0.005")

    @staticmethod
    def on_leaving(s: Any, q: Any, e: Any) -> Any:
        """Drop packet e if it has waited longer than ``q.delay``; return the new state."""
        return s._replace(drop=1.0 if e.waited > q.delay else 0.0)
