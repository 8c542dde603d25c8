"""Elements that hold packets: jitter, delays over time, reordering, batches."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dfcmodel.network.elements.base import MAX_HOLD, PathElement, validate_steps
from hopflow.checks import choice, flag, integer, one_number
from hopflow.parameters import extends
from hopflow.units import WithUnit, WithUnits, quantities

__all__ = ["Aggregation", "DelayTrace", "Jitter", "Reordering"]


MAX_BATCH = 100_000
"""Maximum number of packets that an element collects."""
DISTRIBUTIONS = ("uniform", "constant")


@quantities(bound="time")
@dataclass(frozen=True)
class Jitter(PathElement):
    """A bounded delay, s, other than queueing: constant, or drawn for each packet.

    Parameters
    ----------
    link, flows, acks
        As for `PathElement`.
    bound
        Largest delay in s, at most 10.
    distribution
        ``"uniform"``: drawn evenly from 0 to ``bound`` for each packet. ``"constant"``: each packet is held for
        ``bound``.
    in_order
        Whether a packet leaves no earlier than previous packets of the element. False: packets overtake.

    Raises
    ------
    ValueError
        For a negative bound, and an unknown distribution.

    Examples
    --------
    >>> from dfcmodel import Jitter
    >>> Jitter("1->2", bound="10ms", acks=True)
    Jitter(link='1->2', flows=None, acks=True, bound=0.01, distribution='uniform', in_order=True)
    """

    @extends(PathElement.State)
    class State(NamedTuple):
        """Earliest time at which the packet goes on, s."""

        until: float = 0.0

    bound: WithUnit
    distribution: str = "uniform"
    in_order: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        one_number("bound", self.bound, at_least=0.0, at_most=MAX_HOLD, hint="in s: ms(5) is 0.005")
        choice("distribution", self.distribution, DISTRIBUTIONS)
        object.__setattr__(self, "in_order", flag("in_order", self.in_order))

    @property
    def draws(self) -> int:  # type: ignore[override]
        """Number of random numbers per packet: 0 for a constant delay."""
        return int(self.distribution == "uniform")

    def numbers(self) -> dict[str, float]:
        """Return the parameters of `on_packet`: ``bound``, s, and ``constant``, 1.0 for a constant delay.

        >>> Jitter("1->2", 0.01).numbers()
        {'bound': 0.01, 'constant': 0.0}
        """
        return {"bound": float(self.bound), "constant": float(self.distribution == "constant")}

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Hold packet e for a random time up to ``q.bound``, or for ``q.bound`` if constant; return the new state."""
        hold = q.bound if q.constant == 1.0 else q.bound * e.random
        return s._replace(until=e.time + hold)

    @property
    def largest_hold(self) -> float:
        """Longest time for which the element holds a packet, s."""
        return self.bound

    @property
    def may_reorder(self) -> bool:
        """Whether packets may leave in another order than they arrive."""
        return super().may_reorder and self.distribution != "constant"


@quantities(times="time", delays="time", period="time")
@dataclass(frozen=True)
class DelayTrace(PathElement):
    """A delay over time, s, in addition to the link's delay: constant from each time to the next.

    Parameters
    ----------
    link, flows, acks
        As for `PathElement`.
    times
        Times at which the delay changes, s, increasing from 0, (N,).
    delays
        Delay from each of these times on, s, at most 10, (N,). The arrival of a packet selects its delay.
    period
        Time after which the trace repeats, s; `inf`: the last delay stays.
    in_order
        As for `Jitter`: with it a fall of the delay lets packets leave together.

    Raises
    ------
    ValueError
        For times that do not increase from 0, delays that are negative, and a period within the trace.

    Examples
    --------
    >>> from dfcmodel import DelayTrace
    >>> DelayTrace("1->2", times=(0, 1), delays=(0, 0.02), period=2).largest_hold
    0.02
    """

    times: WithUnits
    delays: WithUnits
    period: WithUnit = math.inf
    in_order: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        times, delays = validate_steps(self, "delays", MAX_HOLD)
        object.__setattr__(self, "times", tuple(times.tolist()))
        object.__setattr__(self, "delays", tuple(delays.tolist()))
        object.__setattr__(self, "in_order", flag("in_order", self.in_order))

    @property
    def largest_hold(self) -> float:
        """Longest time for which the element holds a packet, s."""
        return float(max(self.delays))

    @property
    def may_reorder(self) -> bool:
        """Whether packets may leave in another order than they arrive."""
        return super().may_reorder and len(set(self.delays)) > 1

    @property
    def changes_flow(self) -> bool:
        """True: packets leave later than they arrive."""
        return True


@quantities(delay="time", p="share")
@dataclass(frozen=True)
class Reordering(PathElement):
    """An additional delay, s, of single, random packets, so that later packets overtake them.

    Parameters
    ----------
    link, flows, acks
        As for `PathElement`.
    p
        Probability with which a packet is held, 0 <= p <= 1.
    delay
        Time for which it is held, s, at most 10.

    Raises
    ------
    ValueError
        For a probability outside 0 to 1, and a negative delay.

    Examples
    --------
    >>> from dfcmodel import Reordering
    >>> Reordering("1->2", p=0.01, delay="5ms").delay
    0.005
    """

    @extends(PathElement.State)
    class State(NamedTuple):
        """Earliest time at which the packet goes on, s."""

        until: float = 0.0

    draws = 1

    p: WithUnit
    delay: WithUnit

    def __post_init__(self) -> None:
        super().__post_init__()
        one_number("p", self.p, at_least=0.0, at_most=1.0)
        one_number("delay", self.delay, at_least=0.0, at_most=MAX_HOLD, hint="in s: ms(5) is 0.005")

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Hold packet e for ``q.delay`` with probability ``q.p``; return the new state."""
        return s._replace(until=e.time + q.delay) if e.random < q.p else s

    @property
    def largest_hold(self) -> float:
        """Longest time for which the element holds a packet, s."""
        return self.delay

    @property
    def may_reorder(self) -> bool:
        """Whether packets may leave in another order than they arrive."""
        return super().may_reorder and 0.0 < self.p < 1.0


@quantities(interval="time", hold="time")
@dataclass(frozen=True)
class Aggregation(PathElement):
    """Packets or ACKs that are released in batches, by time, s, or count, as by Wi-Fi, cellular links and offloads.

    Parameters
    ----------
    link, flows, acks
        As for `PathElement`; it acts on acknowledgements unless ``acks=False``.
    interval
        Time between two releases, s, above 0: arrivals are passed on at its next multiple. None: by ``count``.
    count
        Number of packets that are collected and passed on together, a whole number from 2. None: by ``interval``.
    hold
        With ``count``: after this time from the first packet, s, they are passed on in any case.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed values; unless exactly one of ``interval`` and ``count`` is
        given.

    Examples
    --------
    >>> from dfcmodel import Aggregation
    >>> Aggregation("1->2", interval="20ms").largest_hold, Aggregation("1->2", count=8, hold=0.1).largest_hold
    (0.02, 0.1)
    """

    @extends(PathElement.State)
    class State(NamedTuple):
        """Earliest time at which the packet goes on, s."""

        until: float = 0.0

    in_order = True

    interval: WithUnit | None = None
    count: int | None = None
    hold: WithUnit = 0.1
    acks: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.interval is None) == (self.count is None):
            msg = "give one of them, the other is None"
            raise ValueError(f"interval = {self.interval!r}, count = {self.count!r}: {msg}")
        one_number("hold", self.hold, above=0.0, at_most=MAX_HOLD, hint="in s: ms(5) is 0.005")
        if self.interval is not None:
            one_number("interval", self.interval, above=0.0, at_most=MAX_HOLD, hint="in s: ms(5) is 0.005")
        if self.count is not None:
            integer("count", self.count, 2, MAX_BATCH, why="packets")

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Hold packet e to the next multiple of ``q.interval`` (the engine collects counts); return the new state."""
        return s._replace(until=math.ceil(e.time / q.interval) * q.interval)

    @property
    def largest_hold(self) -> float:
        """Longest time for which the element holds a packet, s."""
        return self.hold if self.interval is None else self.interval
