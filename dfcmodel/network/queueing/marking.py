"""Queue managers that mark and never drop: switches of networks that are lossless or use DCTCP."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dfcmodel.network.queueing.disciplines import QueueManager
from hopflow.checks import choice, one_number
from hopflow.units import WithUnit, declares, in_units, quantity

__all__ = ["RampMarking", "StepMarking"]


PLACES = ("arrival", "departure")


def _checked(name: str, value: float | str, least: float | str = 0.0) -> None:
    """Raise ValueError for a threshold that is not above another one: both in packets, or both in bytes as strings."""
    if least != 0.0 and isinstance(value, str) != isinstance(least, str):
        msg = f"must be in packets or in bytes as the other threshold, {least!r}"
        raise ValueError(f"{name} = {value!r}: {msg}")
    hint = "in packets, or in bytes: '97.5 kB'" if least == 0.0 else f"low < {name}"
    one_number(name, _in_bytes(name, value), above=_in_bytes("low", least), hint=hint)


def _in_bytes(name: str, value: float | str) -> float:
    """Return a threshold in bytes; in packets where it is a number."""
    return quantity(name, value, "size") if isinstance(value, str) else value


def _in_packets(name: str, value: float | str, packet_size: float) -> float:
    """Return a threshold in packets."""
    return _in_bytes(name, value) / packet_size if isinstance(value, str) else float(value)


@declares(threshold="size")
@dataclass(frozen=True)
class StepMarking(QueueManager):
    """Mark all that comes while more than a threshold waits: DCTCP's switch (RFC 8257, 3.1).

    Parameters
    ----------
    threshold
        K > 0 in packets, or a string in bytes, ``"97.5 kB"``: as many packets of the scenario's size. What waits is
        counted in bytes where the buffer is a `ByteBuffer`, otherwise in packets, ACKs among them.
    at
        ``"arrival"``, as of RFC 8257, or ``"departure"``: marks what leaves while more waits behind it.

    Examples
    --------
    >>> from dfcmodel import Link, StepMarking
    >>> link = Link("a", "b", 1e3, 0.01, 100.0, discipline=StepMarking(20.0))
    >>> link.discipline == StepMarking(20.0)
    True
    """

    threshold: float | str = 65.0
    at: str = "arrival"

    def __post_init__(self) -> None:
        _checked("threshold", self.threshold)
        choice("at", self.at, PLACES)

    def expected(self) -> QueueManager | None:
        """Return this manager, which draws nothing; None of marks at arrival."""
        return self if self.at == "departure" else None

    def numbers(self, packet_size: float) -> dict[str, float]:
        """Return the threshold in packets of ``packet_size`` bytes.

        >>> StepMarking("97.5 kB").numbers(1500.0)
        {'threshold': 65.0}
        """
        return {"threshold": _in_packets("threshold", self.threshold, packet_size)}

    @staticmethod
    def on_step(s: Any, q: Any, e: Any) -> Any:
        """Mark what comes above the threshold."""
        return s._replace(mark=e.arrivals if e.backlog > q.threshold else 0.0)


@declares(low="size", high="size", max_p="share")
@dataclass(frozen=True)
class RampMarking(QueueManager):
    """Mark with a probability that rises with the queue: DCQCN's switch (Zhu et al. 2015, Sect. 3.1).

    The probability is 0 up to ``low``, rises linearly to ``max_p`` at ``high``, and is 1 above. It is that of the
    queue at the moment, not of an average; steps mark independently of each other.

    Parameters
    ----------
    low, high
        K_min and K_max, 0 < low < high, in packets or both as strings in bytes, as the threshold of `StepMarking`.
    max_p
        P_max, 0 < max_p <= 1.
    at
        ``"departure"``: marks what leaves, by what waits behind it, as the simulator of HPCC does (its function
        SwitchNotifyDequeue); packets that cannot be marked pass. ``"arrival"``: marks what comes, and drops
        what cannot be marked. With marks at arrival a sender learns of a queue later by the time that packets wait
        in it, and many senders oscillate.

    Examples
    --------
    >>> from dfcmodel import Link, RampMarking
    >>> RampMarking().numbers(1500.0)["max_p"]  # of the paper: 5 KB, 200 KB, 1 %
    0.01
    """

    low: float | str = 5000.0 / 1500.0
    high: float | str = 200_000.0 / 1500.0
    max_p: WithUnit = 0.01
    at: str = "departure"

    def __post_init__(self) -> None:
        choice("at", self.at, PLACES)
        _checked("low", self.low)
        _checked("high", self.high, self.low)
        object.__setattr__(self, "max_p", in_units("max_p", self.max_p, "share"))
        one_number("max_p", self.max_p, above=0.0, at_most=1.0)

    def expected(self) -> QueueManager | None:
        """Return the manager that marks the mean; None of marks at arrival."""
        if self.at == "arrival":
            return None
        return MeanRamp(self.low, self.high, self.max_p)

    def numbers(self, packet_size: float) -> dict[str, float]:
        """Return the parameters, thresholds in packets of ``packet_size`` bytes."""
        low = _in_packets("low", self.low, packet_size)
        high = _in_packets("high", self.high, packet_size)
        return {"low": low, "high": high, "max_p": float(self.max_p)}

    @staticmethod
    def on_step(s: Any, q: Any, e: Any) -> Any:
        """Mark all above ``high``, else a whole number of packets whose mean is the probability of those that came."""
        if e.backlog > q.high:
            return s._replace(mark=e.arrivals)
        p = q.max_p * max(0.0, e.backlog - q.low) / (q.high - q.low)
        return s._replace(mark=float(math.floor(p * e.arrivals + e.random)))


@dataclass(frozen=True)
class MeanRamp(RampMarking):
    """`RampMarking` at departure without chance: it marks the mean number of packets."""

    fractional = True

    @staticmethod
    def on_step(s: Any, q: Any, e: Any) -> Any:
        """Mark all above ``high``, else the probability of those that left."""
        if e.backlog > q.high:
            return s._replace(mark=e.arrivals)
        return s._replace(
            mark=q.max_p * max(0.0, e.backlog - q.low) / (q.high - q.low) * e.arrivals
        )
