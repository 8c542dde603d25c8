"""Connections that feed events to a rule: ACKs, losses and timeouts, without a network."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from dfcmodel.sharing.suites.cases import NotJudged, Observation
from dfcmodel.sharing.suites.cubic_reference import BETA
from responsefn import Delivery, DeliveryRule
from responsefn.dynamics import Event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from responsefn import WindowRule

__all__ = [
    "DECREASES",
    "Connection",
    "FedConnection",
    "connect",
    "lose_at",
    "observe_consecutive_losses",
    "slow_start_to",
]

DECREASES = {"newreno": 0.5, "cubic-rfc9438": BETA}
"""Window after a loss over the window before, by claim (RFC 5681, Sect. 3.1; RFC 9438, Sect. 4.6)."""
WINDOW_AT_LOSS = 400.0
"""Window before the first of several losses, packets: those after it are of at least 100."""
MAX_EVENTS = 200_000
"""Largest number of ACKs of a connection: a window that never grows would be fed for ever."""


class Connection(Protocol):
    """What a suite needs of a rule under fed events; windows are packets, times are s."""

    now: float
    rtt: float

    @property
    def window(self) -> float:
        """Congestion window, packets."""

    @property
    def pacing_rate(self) -> float:
        """Packets/s; infinity for a rule that does not pace."""

    def ack(self) -> None:
        """Acknowledge one packet, the time advancing by its part of a round trip."""

    def report_loss(self) -> None:
        """Report a loss that starts a recovery, and end the recovery at once."""

    def time_out(self) -> None:
        """Let the retransmission timer expire."""


class FedConnection:
    """A connection of a rule in Python, whose window is always full.

    A round trip has as many ACKs, evenly spaced, as the window had packets when it began; a loss or a timeout begins
    another one. Each ACK acknowledges one packet.

    Parameters
    ----------
    rule
        The rule.
    rtt
        Round-trip time, s, constant.
    start
        Time of the first packet, s.
    """

    def __init__(self, rule: WindowRule, rtt: float = 0.1, start: float = 0.0) -> None:
        self.rule, self.rtt, self.now = rule, rtt, start
        self.state: Any = rule.start(rtt)
        self.events = 0
        self._acks, self._spacing = 0, 0.0  # that remain of the round trip, and the time between them
        self._delivered, self._lost = 0.0, 0.0
        self._sent: deque[tuple[float, float]] = deque()  # time and delivered packets, for samples of the rate

    @property
    def window(self) -> float:
        """Congestion window, packets."""
        return float(self.state.cwnd)

    @property
    def pacing_rate(self) -> float:
        """Packets/s; infinity for a rule that does not pace."""
        return float(getattr(self.state, "pacing_rate", math.inf))

    def ack(self) -> None:
        """Acknowledge one packet, the time advancing by its part of a round trip."""
        self.events += 1
        if self.events > MAX_EVENTS:
            raise ArithmeticError(f"{self.rule!r}: the window is {self.window:g} packets after {MAX_EVENTS:,} ACKs")
        if self._acks == 0:
            self._acks = max(1, int(self.window))
            self._spacing = self.rtt / self._acks
        self._acks -= 1
        self.now += self._spacing
        self.state = self.rule.on_ack(self.state, self.rule.params, Event(self.now, self.rtt))
        if isinstance(self.rule, DeliveryRule):
            self._deliver(acked=1.0, lost=0.0)

    def report_loss(self) -> None:
        """Report a loss that starts a recovery, and end the recovery at once."""
        self._acks = 0
        self.state = self.rule.on_loss(self.state, self.rule.params, Event(self.now, self.rtt))
        if isinstance(self.rule, DeliveryRule):
            self._lost += 1.0
            self._deliver(acked=0.0, lost=1.0)

    def time_out(self) -> None:
        """Let the retransmission timer expire."""
        self._acks = 0
        self.state = self.rule.on_timeout(self.state, self.rule.params, Event(self.now, self.rtt))

    def _deliver(self, acked: float, lost: float) -> None:
        """Report a sample of the delivery rate: the newest packet was sent a round trip ago."""
        rule: Any = self.rule
        self._delivered += acked
        self._sent.append((self.now, self._delivered))
        while len(self._sent) > 1 and self._sent[1][0] <= self.now - self.rtt:
            self._sent.popleft()
        prior = self._sent[0][1] if self._sent[0][0] <= self.now - self.rtt else 0.0
        flight = max(0.0, math.floor(self.window) - acked)
        event = Delivery(
            time=self.now, rtt=self.rtt, acked=acked, lost=lost, marks=0.0, delivered=self._delivered,
            prior_delivered=prior, interval=self.rtt, in_flight=flight, sent_in_flight=flight + acked,
            lost_since=lost, lost_in_flight=flight + lost, lost_with=lost, recovering=0.0, random=0.5,
        )  # fmt: skip
        self.state = rule.on_delivery(self.state, rule.params, event)


def connect(rule: WindowRule, rtt: float = 0.1, packet_bytes: int = 1500) -> Connection:
    """Return a connection of a rule; rules in Python count packets, whatever their size in bytes.

    Parameters
    ----------
    rule, rtt
        The rule, and the round-trip time in s.
    packet_bytes
        Size of a packet, bytes, for rules that count bytes.
    """
    return FedConnection(rule, rtt)


def slow_start_to(connection: Connection, window: float) -> None:
    """Acknowledge packets until the window has a size in packets; refuse one that does not reach it."""
    limit = connection.now + 100.0 * connection.rtt + 60.0
    while not connection.window >= window:
        if connection.now > limit or math.isnan(connection.window):
            text = f"its window is {connection.window:.4g} packets at {connection.now:.0f} s, not {window:g}"
            raise ArithmeticError(text)
        connection.ack()


def lose_at(connection: Connection, window: float) -> tuple[float, float]:
    """Let a connection grow to a window in packets and lose a packet; return its windows before and after."""
    slow_start_to(connection, window)
    before = connection.window
    connection.report_loss()
    return before, connection.window


def observe_consecutive_losses(rule: WindowRule) -> Iterator[Observation]:
    """Observe the factors of two more decreases after a first one, with windows below the last peak."""
    if rule.claims not in DECREASES:
        raise NotJudged(f"no source says what a loss leaves of the window of a rule that claims {rule.claims}")
    connection = connect(rule)
    lose_at(connection, WINDOW_AT_LOSS)
    for number in (2, 3):
        before = connection.window
        connection.report_loss()
        ratio = connection.window / before
        yield Observation(f"loss {number} at a window of {before:.0f} packets", DECREASES[rule.claims], ratio)
