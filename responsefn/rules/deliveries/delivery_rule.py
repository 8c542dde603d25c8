"""Rules that follow what the network delivers, packet by packet: rate samples, losses, delays."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

from responsefn.rules.base import WindowRule

__all__ = ["Delivery", "DeliveryRule"]


class Delivery(NamedTuple):
    """What an acknowledgement tells a `DeliveryRule`: a sample of the delivery rate, and losses.

    Counts are of transmissions, in packets. The newest packet is the one last sent of those that the
    acknowledgement newly reports. A packet is lost once one that was sent later is acknowledged and it is not
    (RFC 8985 without a reordering window: the paths do not reorder); after a timeout all in flight is.

    Attributes
    ----------
    time, rtt
        Now, and the round-trip time of the newest packet, s.
    acked, lost, marks
        Newly delivered; newly lost; of the former, those with a congestion mark.
    delivered, prior_delivered
        All so far; all when the newest packet was sent.
    interval
        In which the packets between these two were delivered, or sent where that took longer, s.
    in_flight, sent_in_flight
        Sent, neither delivered nor lost: now; when the newest packet was sent, itself included.
    lost_since
        Lost since the newest packet was sent.
    lost_in_flight, lost_with
        In flight when the last packet found lost was sent, itself included; lost since then, itself included.
    recovering
        1 in loss recovery, else 0.
    random
        A number drawn evenly from 0 to 1.
    limited, restarted, lost_limited
        1 where the application had no more data than it had sent (``arrivals`` of `dfcmodel.Flow`), else 0: when the newest
        packet was sent; when one of the newly delivered was sent with nothing else in flight; when the last packet found
        lost was sent.

    Examples
    --------
    >>> from responsefn import Delivery
    >>> seen = Delivery(*[0.0] * 15)._replace(delivered=30.0, prior_delivered=10.0, interval=0.1)
    >>> (seen.delivered - seen.prior_delivered) / seen.interval
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
    """Base of window rules that see each delivery: write `on_delivery`, in branches if you like.

    They run at packet level, with selective acknowledgements (``recovery`` is SACK). `on_ack` does nothing unless
    written, `on_loss` is called when loss recovery begins, `on_timeout` at a timeout. A field ``pacing_rate``, in
    packets/s and third in the state, spaces packets at that rate. The parameters may be up to 16, and both
    together up to 64 numbers. Packets are ECN-capable only where a rule writes `on_mark`.

    Examples
    --------
    A sender that keeps 20 packets in flight beyond what the path holds, at the delivery rate it sees:

    >>> from typing import NamedTuple
    >>> from responsefn import DeliveryRule
    >>> class Follow(DeliveryRule):
    ...     class State(NamedTuple):
    ...         cwnd: float = 10.0
    ...         ssthresh: float = 1e9
    ...         least: float = 1e9
    ...     class Params(NamedTuple):
    ...         more: float = 20.0
    ...     @staticmethod
    ...     def on_delivery(s, q, e):
    ...         rate = (e.delivered - e.prior_delivered) / e.interval
    ...         least = min(s.least, e.rtt)
    ...         return s._replace(cwnd=rate * least + q.more, least=least)
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
        """Return the state after one packet was acknowledged: unless written, unchanged."""
        return s

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Return the state when loss recovery begins: unless written, unchanged."""
        return s

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a timeout: unless written, a window of one packet."""
        return s._replace(cwnd=1.0)

    def _capacity(self, bandwidth: float | None, unit_check: bool = True) -> float | None:  # noqa: ARG002
        """Refuse: there is no response to a loss rate."""
        why = f"has no response function of a loss rate: {self.why_no_rate}"
        raise ValueError(f"{self!r}: {why}; simulate it, dfcmodel.compare")
