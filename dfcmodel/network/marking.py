"""Queue managers that mark and never drop: switches of networks that are lossless or use DCTCP."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dfcmodel.network.disciplines import QueueManager
from hopflow.checks import choice, one_number

__all__ = ["RampMarking", "StepMarking"]


PLACES = ("arrival", "departure")


@dataclass(frozen=True)
class StepMarking(QueueManager):
    """Mark all that comes while more than a threshold waits: DCTCP's switch (RFC 8257, 3.1).

    Parameters
    ----------
    threshold
        K in packets, > 0.
    at
        ``"arrival"``, as of RFC 8257, or ``"departure"``: marks what leaves while more waits behind it.

    Examples
    --------
    >>> from dfcmodel import Link, StepMarking
    >>> link = Link("a", "b", 1e3, 0.01, 100.0, discipline=StepMarking(20.0))
    >>> link.discipline == StepMarking(20.0)
    True
    """

    threshold: float = 65.0
    at: str = "arrival"

    def __post_init__(self) -> None:
        one_number("threshold", self.threshold, above=0.0)
        choice("at", self.at, PLACES)

    @staticmethod
    def on_step(s: Any, q: Any, e: Any) -> Any:
        """Mark what comes above the threshold."""
        return s._replace(mark=e.arrivals if e.backlog > q.threshold else 0.0)


@dataclass(frozen=True)
class RampMarking(QueueManager):
    """Mark with a probability that rises with the queue: DCQCN's switch (Zhu et al. 2015, Sect. 3.1).

    The probability is 0 up to ``low``, rises linearly to ``max_p`` at ``high``, and is 1 above. It is that of the
    queue at the moment, not of an average; steps mark independently of each other.

    Parameters
    ----------
    low, high
        K_min and K_max in packets, 0 < low < high.
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

    low: float = 5000.0 / 1500.0
    high: float = 200_000.0 / 1500.0
    max_p: float = 0.01
    at: str = "departure"

    def __post_init__(self) -> None:
        choice("at", self.at, PLACES)
        one_number("low", self.low, above=0.0)
        one_number("high", self.high, above=self.low, hint="low < high")
        one_number("max_p", self.max_p, above=0.0, at_most=1.0)

    @staticmethod
    def on_step(s: Any, q: Any, e: Any) -> Any:
        """Mark all above ``high``, else a whole number of packets whose mean is the probability of those that came."""
        if e.backlog > q.high:
            return s._replace(mark=e.arrivals)
        p = q.max_p * max(0.0, e.backlog - q.low) / (q.high - q.low)
        return s._replace(mark=float(math.floor(p * e.arrivals + e.random)))
