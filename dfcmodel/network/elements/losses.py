"""Elements that lose packets: by a token bucket, in bursts, periodically."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from dfcmodel.network.drop_causes import CAUSES
from dfcmodel.network.elements.base import PathElement
from hopflow.checks import integer, one_number
from hopflow.parameters import extends
from hopflow.units import PacketUnits, WithUnit, check_rate, quantities

__all__ = ["BurstLoss", "PeriodicLoss", "Policer"]

ROUNDING = 1e-9
"""Of the content of a token bucket, packets."""


@quantities(rate="rate", burst="amount")
@dataclass(frozen=True)
class Policer(PathElement):
    """A token bucket, its rate in packets/s and its size in packets, that drops packets beyond it, without delay.

    The bucket is full at first. A packet takes its size in packets of data from the bucket, and is dropped if it has
    less.

    Parameters
    ----------
    link, flows, acks
        As for `PathElement`.
    rate
        Rate at which the bucket fills, packets/s, > 0.
    burst
        Depth of the bucket, packets, at least 1.

    Raises
    ------
    ValueError
        For a rate that is not positive, and a bucket of less than a packet.

    Examples
    --------
    >>> from dfcmodel import Policer
    >>> Policer("1->2", rate="12Mbps", burst=30).rate
    1000.0
    """

    @extends(PathElement.State)
    class State(NamedTuple):
        """Packets in the bucket, and the time of this count, s."""

        tokens: float = 0.0
        counted: float = 0.0

    causes: ClassVar[Mapping[str, str]] = {"policer": CAUSES["policer"]}

    rate: WithUnit
    burst: WithUnit

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rate("rate", self.rate)
        if not isinstance(self.burst, PacketUnits):
            self.check_packets()

    def check_packets(self) -> None:
        """Raise ValueError for a bucket that holds no packet."""
        one_number("burst", self.burst, at_least=1.0, at_most=1e9, hint="in packets")

    def start(self) -> State:
        """Return the state at the start of a run: a full bucket.

        >>> Policer("1->2", 10.0, 5.0).start().tokens
        5.0
        """
        return self.State(tokens=float(self.burst))

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Take packet e from the bucket, which fills at ``q.rate``, or drop it if tokens lack; return the new state."""
        tokens = min(q.burst, s.tokens + (e.time - s.counted) * q.rate)
        if tokens + ROUNDING < e.packets:
            return s._replace(drop=1.0, tokens=tokens, counted=e.time)
        return s._replace(tokens=tokens - e.packets, counted=e.time)


@quantities(to_bad="share", to_good="share", loss_bad="share", loss_good="share")
@dataclass(frozen=True)
class BurstLoss(PathElement):
    """Losses in bursts: the Gilbert-Elliott chain, whose state changes with packets.

    Each packet first changes the state, then is lost with the probability of the state. The chain begins in the good
    state. With the defaults a burst has all packets that arrive in the bad state, 1 / ``to_good`` on average, and the
    loss rate is ``to_bad`` / (``to_bad`` + ``to_good``).

    Parameters
    ----------
    link, flows, acks
        As for `PathElement`.
    to_bad, to_good
        Probabilities per packet of leaving the good and the bad state, 0 to 1.
    loss_bad, loss_good
        Probabilities of a loss in these states, 0 to 1.

    Raises
    ------
    ValueError
        For a probability outside 0 to 1.

    Examples
    --------
    >>> from dfcmodel import BurstLoss
    >>> BurstLoss("1->2", to_bad=0.001, to_good=0.1).mean
    0.0099...
    """

    @extends(PathElement.State)
    class State(NamedTuple):
        """Whether the chain is in the bad state: 1.0, or 0.0."""

        bad: float = 0.0

    draws = 2

    to_bad: WithUnit
    to_good: WithUnit
    loss_bad: WithUnit = 1.0
    loss_good: WithUnit = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("to_bad", "to_good", "loss_bad", "loss_good"):
            one_number(name, getattr(self, name), at_least=0.0, at_most=1.0)

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Draw the next state by ``q.to_bad`` or ``q.to_good``, then drop packet e or not; return the new state."""
        leaves = q.to_good if s.bad > 0.0 else q.to_bad
        bad = 1.0 - s.bad if e.random < leaves else s.bad
        lost = q.loss_bad if bad > 0.0 else q.loss_good
        return s._replace(bad=bad, drop=1.0 if e.random_2 < lost else 0.0)

    @property
    def mean(self) -> float:
        """Mean loss rate in the long run; ``loss_good`` if the state never changes."""
        both = self.to_bad + self.to_good
        if both == 0.0:
            return self.loss_good
        return (self.to_bad * self.loss_bad + self.to_good * self.loss_good) / both


@dataclass(frozen=True)
class PeriodicLoss(PathElement):
    """Loss of each packet whose number is a multiple of a period: the losses for which response functions are derived.

    It counts all packets on which it acts, including retransmissions, over all its flows together.

    Parameters
    ----------
    link, flows, acks
        As for `PathElement`.
    every
        Period in packets, whose last packet is lost, a whole number from 2 to 1e9.

    Raises
    ------
    ValueError
        For a period that is not a whole number of at least 2 packets.

    Examples
    --------
    >>> from dfcmodel import PeriodicLoss
    >>> PeriodicLoss("1->2", every=200).mean
    0.005
    """

    @extends(PathElement.State)
    class State(NamedTuple):
        """Number of packets of the present period so far."""

        passed: float = 0.0

    every: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "every", integer("every", self.every, 2, 10**9, why="packets"))

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Drop the last packet of each ``q.every``; return the new state."""
        if s.passed + 1.0 < q.every:
            return s._replace(passed=s.passed + 1.0)
        return s._replace(drop=1.0, passed=0.0)

    @property
    def mean(self) -> float:
        """Loss rate: 1 / period."""
        return 1.0 / self.every
