"""Rules that follow deliveries packet by packet: rate samples, losses, delays."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

from responsefn.event_reads import use_of_field
from responsefn.rules.base import WindowRule

__all__ = ["FULL_PATH", "MAX_WINDOW_RATIO", "Delivery", "DeliveryRule", "answers_marks"]

FULL_PATH = 0.99  # own choice: parameters are rounded; for messages alone
"""Part of a bandwidth-delay product from which on a window fills a path."""
MAX_WINDOW_RATIO = 20.0  # own choice: for messages alone
"""Largest window that suits a path, in bandwidth-delay products: interfaces may be faster than the slowest link."""


class Delivery(NamedTuple):
    """Event of a `DeliveryRule`: the delivery rate sample and the losses of an acknowledgement.

    Counts are numbers of transmissions. The newest packet is the latest transmission that the acknowledgement
    newly reports. A packet is lost once a later transmission is acknowledged before it (RFC 8985 without a
    reordering window: the paths do not reorder). After a timeout all packets in flight are lost.

    Attributes
    ----------
    time, rtt
        Current time, and the round-trip time of the newest packet, s.
    acked, lost, marks
        Packets newly delivered; newly lost; newly delivered with a congestion mark.
    delivered, prior_delivered
        Total delivered until now, and until the newest packet was sent.
    interval
        Time in which the packets between these totals were delivered, or were sent if that took longer, s.
    in_flight, sent_in_flight
        Packets sent and neither delivered nor lost: now; when the newest packet was sent, including it.
    lost_since
        Packets lost since the newest packet was sent.
    lost_in_flight, lost_with
        Packets in flight when the last lost packet was sent, including it; lost since then, including it.
    recovering
        1 in loss recovery, otherwise 0.
    random
        Random number, uniform in 0 to 1.
    limited, restarted, lost_limited
        1 if the application had no more data than it had sent (``arrivals`` of `dfcmodel.Flow`), otherwise 0: when the
        newest packet was sent; when a newly delivered packet was sent with no other packet in flight; when the last
        lost packet was sent.

    Examples
    --------
    >>> from responsefn import Delivery
    >>> event = Delivery(*[0.0] * 15)._replace(delivered=30.0, prior_delivered=10.0, interval=0.1)
    >>> (event.delivered - event.prior_delivered) / event.interval
    200.0
    """

    time: float
    rtt: float
    acked: float
    lost: float
    marks: float
    delivered: float
    prior_delivered: float
    interval: float
    in_flight: float
    sent_in_flight: float
    lost_since: float
    lost_in_flight: float
    lost_with: float
    recovering: float
    random: float
    limited: float = 0.0
    restarted: float = 0.0
    lost_limited: float = 0.0


class DeliveryRule(WindowRule):
    """Base of window rules that receive each delivery: write `on_delivery`, which may have branches.

    They run at packet level, with selective acknowledgements (``recovery`` is SACK). `on_ack` does nothing by
    default, `on_loss` is called when loss recovery begins, `on_timeout` at a timeout. A field ``pacing_rate``, in
    packets/s and third in the state, paces packets at that rate. The limits are 16 parameters, and 64 numbers of
    state and parameters together. Packets are ECN-capable only if a rule defines `on_mark`,
    or if its `on_delivery` reads ``e.marks``.

    Examples
    --------
    A sender with 20 packets more in flight than the capacity of the path, at the measured delivery rate:

    >>> from typing import NamedTuple
    >>> from responsefn import DeliveryRule
    >>> class Follow(DeliveryRule):
    ...     class State(NamedTuple):
    ...         cwnd: float = 10.0
    ...         ssthresh: float = 1e9
    ...         min_rtt: float = 1e9
    ...     class Params(NamedTuple):
    ...         more: float = 20.0
    ...     @staticmethod
    ...     def on_delivery(s, q, e):
    ...         rate = (e.delivered - e.prior_delivered) / e.interval
    ...         min_rtt = min(s.min_rtt, e.rtt)
    ...         return s._replace(cwnd=rate * min_rtt + q.more, min_rtt=min_rtt)
    >>> Follow().rate(0.01, 0.1)
    Traceback (most recent call last):
      ...
    ValueError: Follow(): has no response function of a loss rate: it follows deliveries; simulate it, dfcmodel.compare
    """

    catalogue_kind: ClassVar[str] = "delivery rule"
    recovery: ClassVar[str] = "sack"
    capacity: ClassVar[str] = "needed"
    solved_by: ClassVar[str] = "none"
    why_no_rate: ClassVar[str] = "it follows deliveries"
    why_no_inverse = "it has no response function of a loss rate"

    @staticmethod
    @abstractmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Return the state after an acknowledgement that reports deliveries; ``e`` is `Delivery`."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Return the state after one packet was acknowledged; unchanged by default."""
        return s

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Return the state when loss recovery begins; unchanged by default."""
        return s

    def path_mismatch(self, line_rate: float, rtt: float) -> str:  # noqa: ARG002
        """Return a clause on a parameter that does not suit a path, as `RateRule.path_mismatch`; empty: none.

        ``line_rate``, packets/s, is that of the slowest link of the path.

        Examples
        --------
        >>> from responsefn import NSCC
        >>> NSCC(base_rtt=8e-6).path_mismatch(line_rate=3e6, rtt=8e-6)
        ''
        """
        return ""

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a timeout; a window of one packet by default."""
        return s._replace(cwnd=1.0)

    def _capacity(self, bandwidth: float | None, unit_check: bool = True) -> float | None:  # noqa: ARG002
        """Raise ValueError: there is no response to a loss rate."""
        why = f"has no response function of a loss rate: {self.why_no_rate}"
        raise ValueError(f"{self!r}: {why}; simulate it, dfcmodel.compare")


def answers_marks(rule: type[WindowRule]) -> bool:
    """Return whether a rule answers each mark: it has its own `on_mark`, or an `on_delivery` that reads ``e.marks``.

    Of other rules a mark counts as a loss.
    """
    if rule.on_mark is not WindowRule.on_mark or not hasattr(rule, "on_delivery"):
        return rule.on_mark is not WindowRule.on_mark
    return bool(use_of_field(rule, "marks", (("on_delivery", Delivery._fields),)))
