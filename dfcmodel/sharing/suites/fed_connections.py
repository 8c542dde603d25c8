"""Connections that feed events to a rule in Python, and what all connections of suites have in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any

from hopflow.errors import RuleError
from responsefn import Delivery, DeliveryRule
from responsefn.dynamics import Event

if TYPE_CHECKING:
    from responsefn import WindowRule

__all__ = ["Connection", "PythonConnection"]

MAX_EVENTS = 200_000
"""Largest number of ACKs of a connection: a window that never grows would be fed for ever."""


class Connection(ABC):
    """A sender's connection that is fed events, without a network; windows are in packets.

    A round trip has as many ACKs, evenly spaced, as packets were in flight when it began; a loss or a timeout begins
    another one. Each ACK acknowledges one packet. The window is full unless the application limits the packets in
    flight.

    Parameters
    ----------
    rule
        The rule.
    rtt
        Round-trip time, s, constant.
    start
        Time of the first packet, s.
    """

    def __init__(self, rule: WindowRule, rtt: float, start: float) -> None:
        self.rule: Any = rule
        self.rtt, self.now = rtt, start
        self._events = 0
        self._acks, self._spacing = 0, 0.0  # that remain of the round trip, and the time between them
        self._available = math.inf  # packets in flight that the application has data for

    @property
    @abstractmethod
    def window(self) -> float:
        """Congestion window, packets."""

    @property
    @abstractmethod
    def pacing_rate(self) -> float:
        """Pacing rate, packets/s; inf for a rule that does not pace."""

    @property
    @abstractmethod
    def ssthresh(self) -> float:
        """Slow-start threshold, packets."""

    @property
    def is_limited(self) -> bool:
        """Whether the application has data for fewer packets in flight than the window allows."""
        return self._available < self.window

    def limit_application(self, packets: float) -> None:
        """Set the packets in flight for which the application has data; inf: no limit. A new round trip begins."""
        self._acks, self._available = 0, packets

    def ack(self, packets: int = 1) -> None:
        """Acknowledge ``packets`` packets with one call, at most to the end of the round trip; time advances."""
        self._check_window()
        self._events += 1
        if self._events > MAX_EVENTS:
            raise ArithmeticError(f"{self.rule!r}: the window is {self.window:g} packets after {MAX_EVENTS:,} ACKs")
        if self._acks == 0:
            self._acks = max(1, self._packets_in_flight())
            self._spacing = self.rtt / self._acks
        packets = min(packets, self._acks)
        self._acks -= packets
        self.now += packets * self._spacing
        self._on_ack(packets)

    def ack_round_trip(self, limit: float = math.inf, packets: int = 1) -> None:
        """Acknowledge the rest of the round trip, or until the window has ``limit`` packets.

        Parameters
        ----------
        limit
            Window, packets.
        packets
            Packets that a call acknowledges.
        """
        while self.window < limit:
            self.ack(packets)
            if self._acks == 0:
                break

    def report_loss(self, packets: int = 1) -> None:
        """Report a loss to the rule, which starts a recovery, and end that recovery at once.

        Each further one of ``packets`` lost packets is reported by a call of its own, within the recovery.
        """
        self._check_window()
        self._acks = 0
        self._on_loss()
        for _ in range(packets - 1):
            self._lose_in_recovery()
        self._end_recovery()

    def time_out(self, *, in_recovery: bool = False) -> None:
        """Report an expired retransmission timer to the rule; time does not advance.

        With ``in_recovery`` a loss comes before it, and its retransmission is lost: the timeout ends the recovery.
        """
        self._check_window()
        self._acks = 0
        if in_recovery:
            self._on_loss()
            self._retransmit()
        self._on_timeout()

    def _check_window(self) -> None:
        """Raise RuleError for a window that is not a finite number above 0, as the packet engine does."""
        if not 0.0 < self.window < math.inf:
            text = f"window = {self.window:g} packets at {self.now:g} s"
            raise RuleError(f"{self.rule!r}: {text}: must be a finite number above 0")

    def _packets_in_flight(self) -> int:
        """Return the packets in flight: the window in whole packets, or the application's limit if smaller."""
        return int(min(self.window, self._available))

    @abstractmethod
    def _on_ack(self, packets: int) -> None:
        """Report an ACK of ``packets`` packets to the rule."""

    @abstractmethod
    def _on_loss(self) -> None:
        """Report a loss to the rule."""

    def _lose_in_recovery(self) -> None:  # noqa: B027
        """Report a further loss in a recovery; a rule that is told of the first one alone needs no call."""

    def _retransmit(self) -> None:  # noqa: B027
        """Send the lost packet again, in the recovery; a rule that sees no transmissions needs no call."""

    def _end_recovery(self) -> None:  # noqa: B027
        """End the recovery that a loss has started; a rule that is told nothing of recoveries needs no call."""

    @abstractmethod
    def _on_timeout(self) -> None:
        """Report a timeout to the rule."""


class PythonConnection(Connection):
    """A connection of a rule in Python, which counts packets whatever their size in bytes.

    Their windows do not grow at ACKs while the application limits them, and that time is none of the rule, as in the
    packet engine. Rules of deliveries have the time of the connection.
    """

    def __init__(self, rule: WindowRule, rtt: float = 0.1, start: float = 0.0, window: float = 0.0) -> None:
        super().__init__(rule, rtt, start)
        self.state: Any = rule.start(rtt)
        if window > 0.0:
            self.state = self.state._replace(cwnd=window)
        self._delivered, self._lost = 0.0, 0.0
        self._counted, self._limited = start, 0.0  # time of the last ACK, and for how long the application limited it
        self._sent: deque[tuple[float, float]] = deque()  # time and delivered packets, for samples of the rate

    @property
    def window(self) -> float:
        """Congestion window, packets."""
        return float(self.state.cwnd)

    @property
    def pacing_rate(self) -> float:
        """Pacing rate, packets/s; inf for a rule that does not pace."""
        return float(getattr(self.state, "pacing_rate", math.inf))

    @property
    def ssthresh(self) -> float:
        """Slow-start threshold, packets."""
        return float(self.state.ssthresh)

    def _on_ack(self, packets: int) -> None:
        """Report ``packets`` ACKs of one packet to the rule; while the application limits it, only deliveries."""
        if self.is_limited:
            self._limited += self.now - self._counted
        self._counted = self.now
        for _ in range(packets):
            if not self.is_limited:
                self.state = self.rule.on_ack(self.state, self.rule.params, self._event())
            if isinstance(self.rule, DeliveryRule):
                self._deliver(acked=1.0, lost=0.0)

    def _on_loss(self) -> None:
        """Report a loss to the rule."""
        self.state = self.rule.on_loss(self.state, self.rule.params, self._event())
        if isinstance(self.rule, DeliveryRule):
            self._lost += 1.0
            self._deliver(acked=0.0, lost=1.0)

    def _on_timeout(self) -> None:
        """Report a timeout to the rule."""
        self.state = self.rule.on_timeout(self.state, self.rule.params, self._event())

    def _event(self) -> Event:
        """Return an event at the time of the rule, which the time of an application's limits is no part of."""
        is_of_deliveries = isinstance(self.rule, DeliveryRule)
        return Event(self.now if is_of_deliveries else self.now - self._limited, self.rtt)

    def _deliver(self, acked: float, lost: float) -> None:
        """Report packets acked and lost in a sample whose newest was sent one RTT ago, to a rule of deliveries."""
        self._delivered += acked
        self._sent.append((self.now, self._delivered))
        while len(self._sent) > 1 and self._sent[1][0] <= self.now - self.rtt:
            self._sent.popleft()
        prior = self._sent[0][1] if self._sent[0][0] <= self.now - self.rtt else 0.0
        flight = max(0.0, self._packets_in_flight() - acked)
        event = Delivery(
            time=self.now, rtt=self.rtt, acked=acked, lost=lost, marks=0.0, delivered=self._delivered,
            prior_delivered=prior, interval=self.rtt, in_flight=flight, sent_in_flight=flight + acked,
            lost_since=lost, lost_in_flight=flight + lost, lost_with=lost, recovering=0.0, random=0.5,
        )  # fmt: skip
        self.state = self.rule.on_delivery(self.state, self.rule.params, event)
