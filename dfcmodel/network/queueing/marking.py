"""Queue managers that mark and never drop: switches of networks that are lossless or use DCTCP."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dfcmodel.network.queueing.disciplines import ONE_THRESHOLD, QueueManager
from hopflow.checks import choice, one_number
from hopflow.parameters import in_packets_of, is_overridden
from hopflow.units import PacketUnits, WithUnit, quantities

__all__ = ["RampMarking", "StepMarking"]


SAMPLING_POINTS = ("arrival", "departure")


K_MIN = PacketUnits(5000.0 / 1500.0, 1500.0, 5000.0)
K_MAX = PacketUnits(200_000.0 / 1500.0, 1500.0, 200_000.0)
"""Default thresholds of `RampMarking`, 5 kB and 200 kB (Zhu et al. 2015)."""
THRESHOLD_HINT = "in packets, or in bytes: '97.5 kB'"


@quantities(threshold="amount")
@dataclass(frozen=True)
class StepMarking(QueueManager):
    """Mark all arrivals while the queue exceeds a threshold, packets: DCTCP's switch (RFC 8257, 3.1).

    Parameters
    ----------
    threshold
        K > 0 in packets, ``65`` or ``"65pkt"``, or in bytes, ``"97.5 kB"``, which are converted to packets of the
        scenario's size. The queue is counted in bytes if the buffer is a `ByteBuffer`, otherwise in packets, including
        ACKs.
    at
        ``"arrival"``, as in RFC 8257, or ``"departure"``: marks departing packets while the queue behind exceeds it.

    Examples
    --------
    >>> from dfcmodel import Link, StepMarking
    >>> link = Link("a", "b", 1e3, 0.01, 100.0, discipline=StepMarking(20.0))
    >>> link.discipline == StepMarking(20.0)
    True
    """

    threshold: WithUnit = 65.0
    at: str = "arrival"

    def __post_init__(self) -> None:
        one_number("threshold", self.threshold, above=0.0, hint=THRESHOLD_HINT)
        choice("at", self.at, SAMPLING_POINTS)

    def expected(self) -> QueueManager | None:
        """Return this manager if it marks at departure, since it draws no random numbers; None for marks at arrival."""
        return self if self.at == "departure" else None

    def numbers(self, packet_size: float) -> dict[str, float]:
        """Return the parameter of `on_step`, ``threshold`` in packets of ``packet_size`` bytes.

        >>> StepMarking("97.5 kB").numbers(1500.0)
        {'threshold': 65.0}
        """
        return {"threshold": float(in_packets_of(self.threshold, packet_size))}

    @staticmethod
    def on_step(s: Any, q: Any, e: Any) -> Any:
        """Mark all arrivals (or departures) of a step with a backlog above ``q.threshold``; return the new state."""
        return s._replace(mark=e.arrivals if e.backlog > q.threshold else 0.0)


@quantities(low="amount", high="amount", max_p="share")
@dataclass(frozen=True)
class RampMarking(QueueManager):
    """Mark with a probability that rises with the queue, packets: DCQCN's switch (Zhu et al. 2015, Sect. 3.1).

    The probability is 0 up to ``low``, rises linearly to ``max_p`` at ``high``, and is 1 above. It depends on the
    current queue, not on an average; steps mark independently of each other.

    Parameters
    ----------
    low, high
        K_min and K_max, 0 < low < high, in packets or in bytes, as the threshold of `StepMarking`; 5 kB and 200 kB by
        default.
    max_p
        P_max, 0 < max_p <= 1.
    at
        ``"departure"``: marks departing packets by the queue behind them, as the simulator of HPCC does (its function
        SwitchNotifyDequeue); packets that cannot be marked pass. ``"arrival"``: marks arriving packets, and drops
        packets that cannot be marked. With marks at arrival a sender learns of a queue later by the time that packets
        wait in it, and many senders oscillate.

    Examples
    --------
    >>> from dfcmodel import Link, RampMarking
    >>> RampMarking().numbers(1500.0)["max_p"]  # of the paper: 5 KB, 200 KB, 1 %
    0.01
    """

    low: WithUnit = K_MIN
    high: WithUnit = K_MAX
    max_p: WithUnit = 0.01
    at: str = "departure"

    def __post_init__(self) -> None:
        choice("at", self.at, SAMPLING_POINTS)
        one_number("low", self.low, above=0.0, hint=THRESHOLD_HINT)
        one_number("high", self.high, above=self.low, hint=f"low < high; {ONE_THRESHOLD}")
        one_number("max_p", self.max_p, above=0.0, at_most=1.0)

    def expected(self) -> QueueManager | None:
        """Return a `MeanRamp`, which marks the mean number of packets without chance.

        None for marks at arrival, and for a class with another `on_step`.
        """
        if self.at == "arrival" or is_overridden(type(self), "expected", ["on_step"]):
            return None
        return MeanRamp(self.low, self.high, self.max_p)

    def numbers(self, packet_size: float) -> dict[str, float]:
        """Return the parameters of `on_step`, with thresholds in packets of ``packet_size`` bytes."""
        low, high = (float(in_packets_of(n, packet_size)) for n in (self.low, self.high))
        return {"low": low, "high": high, "max_p": float(self.max_p)}

    @staticmethod
    def on_step(s: Any, q: Any, e: Any) -> Any:
        """Mark all of a step above ``q.high``, else a random integer with the ramp's mean; return the new state."""
        if e.backlog > q.high:
            return s._replace(mark=e.arrivals)
        p = q.max_p * max(0.0, e.backlog - q.low) / (q.high - q.low)
        return s._replace(mark=float(math.floor(p * e.arrivals + e.random)))


@dataclass(frozen=True)
class MeanRamp(RampMarking):
    """`RampMarking` at departure without chance: it marks the mean number of packets."""

    fractional = True

    def expected(self) -> QueueManager | None:
        """Return this manager."""
        return self

    @staticmethod
    def on_step(s: Any, q: Any, e: Any) -> Any:
        """Mark all of a step above ``q.high``, else the ramp's mean, a fraction of departures; return the new state."""
        if e.backlog > q.high:
            return s._replace(mark=e.arrivals)
        return s._replace(mark=q.max_p * max(0.0, e.backlog - q.low) / (q.high - q.low) * e.arrivals)
