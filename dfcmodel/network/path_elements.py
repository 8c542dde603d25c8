"""Effects of a path on packets besides queueing: delays, batches, losses in bursts, policers, rates over time.

A `Scenario` has a tuple of elements. Each precedes the queue of a link. It acts on packets of data that arrive at the
link or on the acknowledgements that return over it, for all flows or for named flows. Elements of one link act in their
order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.links import check_rate
from hopflow.checks import ascending, choice, flag, format_value, integer, is_endless, number, one_number
from hopflow.results import Described
from hopflow.units import PacketUnits, WithUnit, WithUnits, quantities

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "MAX_HOLD",
    "Aggregation",
    "BurstLoss",
    "DelayTrace",
    "Jitter",
    "PathElement",
    "PeriodicLoss",
    "Policer",
    "RateTrace",
    "Reordering",
    "check_elements",
]

MAX_HOLD = 10.0
"""Longest time for which an element holds a packet, s, as the delay of a link: more was probably meant in ms."""
MAX_BATCH = 100_000
"""Maximum number of packets that an element collects."""
DISTRIBUTIONS = ("uniform", "constant")


@dataclass(frozen=True)
class PathElement(Described):
    """Base of the elements of a path; use its subclasses.

    Parameters
    ----------
    link
        Name of the link in front of whose queue it stands, ``"a->b"``.
    flows
        Names of the flows on whose packets it acts; None: all.
    acks
        False: it acts on packets of data. True: on the acknowledgements that return over the link, where they enter the
        queue of the opposite direction.

    Examples
    --------
    >>> from dfcmodel import Jitter, PathElement
    >>> isinstance(Jitter("a->b", "2ms"), PathElement)
    True
    """

    link: str
    flows: tuple[str, ...] | None = field(default=None, kw_only=True)
    acks: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if type(self) is PathElement:
            names = "Jitter, DelayTrace, Reordering, Aggregation, Policer, BurstLoss, PeriodicLoss or RateTrace"
            raise TypeError(f"PathElement is a base: use {names}")
        if not isinstance(self.link, str):
            raise ValueError(f"link of {kind} = {format_value(self.link)}: must be a name, 'a->b'")  # noqa: TRY004
        object.__setattr__(self, "acks", flag(f"acks of {kind}", self.acks))
        if self.flows is not None:
            flows: Any = self.flows
            try:
                selected = (flows,) if isinstance(flows, str) else tuple(flows)
            except TypeError:
                selected = ()
            if not selected or not all(isinstance(name, str) for name in selected):
                msg = "must be names of flows, at least one, or None for all"
                raise ValueError(f"flows of {kind} = {format_value(self.flows)}: {msg}")
            object.__setattr__(self, "flows", selected)

    @property
    def largest_hold(self) -> float:
        """Longest time for which it holds a packet, s."""
        return 0.0


@quantities(bound="time")
@dataclass(frozen=True)
class Jitter(PathElement):
    """A bounded delay other than queueing: constant, or drawn for each packet.

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

    bound: WithUnit
    distribution: str = "uniform"
    in_order: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        one_number("bound", self.bound, at_least=0.0, at_most=MAX_HOLD, hint="in s: ms(5) is 0.005")
        choice("distribution", self.distribution, DISTRIBUTIONS)
        object.__setattr__(self, "in_order", flag("in_order", self.in_order))

    @property
    def largest_hold(self) -> float:
        """Longest time for which it holds a packet, s."""
        return self.bound


def _steps(element: Any, name: str, highest: float, minimum: float = 0.0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the times and values of a trace as arrays, validated, (N,) each."""
    times = ascending("times", element.times)
    values = number(name, getattr(element, name), at_least=minimum, at_most=highest)
    if times.ndim != 1 or values.shape != times.shape:
        msg = f"must be lists of one length, are of shapes {times.shape} and {values.shape}"
        raise ValueError(f"times and {name}: {msg}")
    if times[0] != 0.0 or not np.all(np.diff(times) > 0.0):
        raise ValueError(f"times[0] = {times[0]:g}: must be 0, and times must increase")
    if not is_endless(element.period):
        hint = "in s, above the last of the times; inf: the last value stays"
        one_number("period", element.period, above=float(times[-1]), hint=hint)
    return times, values


@quantities(times="time", delays="time", period="time")
@dataclass(frozen=True)
class DelayTrace(PathElement):
    """A delay over time in addition to the link's delay: constant from each time to the next.

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
        times, delays = _steps(self, "delays", MAX_HOLD)
        object.__setattr__(self, "times", tuple(times.tolist()))
        object.__setattr__(self, "delays", tuple(delays.tolist()))
        object.__setattr__(self, "in_order", flag("in_order", self.in_order))

    @property
    def largest_hold(self) -> float:
        """Longest time for which it holds a packet, s."""
        return float(max(self.delays))


@quantities(delay="time", p="share")
@dataclass(frozen=True)
class Reordering(PathElement):
    """Single packets that take longer, so that later packets overtake them.

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

    p: WithUnit
    delay: WithUnit

    def __post_init__(self) -> None:
        super().__post_init__()
        one_number("p", self.p, at_least=0.0, at_most=1.0)
        one_number("delay", self.delay, at_least=0.0, at_most=MAX_HOLD, hint="in s: ms(5) is 0.005")

    @property
    def largest_hold(self) -> float:
        """Longest time for which it holds a packet, s."""
        return self.delay


@quantities(interval="time", hold="time")
@dataclass(frozen=True)
class Aggregation(PathElement):
    """Packets or acknowledgements that are released in batches, as by Wi-Fi, cellular links and offloads.

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

    @property
    def largest_hold(self) -> float:
        """Longest time for which it holds a packet, s."""
        return self.hold if self.interval is None else self.interval


@quantities(rate="rate", burst="amount")
@dataclass(frozen=True)
class Policer(PathElement):
    """A token bucket that drops packets beyond it, without delay.

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

    rate: WithUnit
    burst: WithUnit

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rate("rate", self.rate)
        one_number("burst", self.burst, at_least=1.0, at_most=1e9, hint="in packets")


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

    to_bad: WithUnit
    to_good: WithUnit
    loss_bad: WithUnit = 1.0
    loss_good: WithUnit = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("to_bad", "to_good", "loss_bad", "loss_good"):
            one_number(name, getattr(self, name), at_least=0.0, at_most=1.0)

    @property
    def mean(self) -> float:
        """Mean loss rate; ``loss_good`` if the state never changes."""
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

    every: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "every", integer("every", self.every, 2, 10**9, why="packets"))

    @property
    def mean(self) -> float:
        """Loss rate."""
        return 1.0 / self.every


@quantities(times="time", rates="rate", period="time")
@dataclass(frozen=True)
class RateTrace(PathElement):
    """The rate of a link over time: constant from each time to the next.

    It acts on all packets of the link, and only on the forward direction. The rate of the `Link` is the upper bound of
    the rates of the trace. A rate may be 0, in which case a transmission continues when the rate is above 0 again.
    `read_mahimahi` returns a `RateTrace` from a trace of delivery opportunities.

    Parameters
    ----------
    link
        Name of the link, ``"a->b"``.
    times
        Times at which the rate changes, s, increasing from 0, (N,).
    rates
        Rate from each of these times on, packets/s, at least 0, (N,); not all 0, and the last rate above 0 without a
        period.
    period
        Time after which the trace repeats, s; `inf`: the last rate stays.

    Raises
    ------
    ValueError
        For times that do not increase from 0, rates of 0 for ever, and flows or ACKs, which a rate cannot select.

    Examples
    --------
    >>> from dfcmodel import RateTrace
    >>> RateTrace("1->2", times=(0, 5), rates=("100Mbps", "10Mbps")).rates
    (8333.3..., 833.3...)
    """

    times: WithUnits
    rates: WithUnits
    period: WithUnit = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.acks or self.flows is not None:
            options = f"flows = {self.flows!r}, acks = {self.acks}"
            raise ValueError(f"{options}: a rate is that of the link: leave them out")
        times, rates = _steps(self, "rates", 1e12)
        if not rates.any() or (self.period == math.inf and rates[-1] == 0.0):
            msg = "must be above 0: nothing is sent from then on"
            raise ValueError(f"rates[-1] = {rates[-1]:g}: {msg}")
        object.__setattr__(self, "times", tuple(times.tolist()))
        entries: Iterable[Any] = self.rates
        converted = (rate if isinstance(rate, PacketUnits) else float(rate) for rate in entries)
        object.__setattr__(self, "rates", tuple(converted))

    @property
    def mean(self) -> float:
        """Mean rate of a period, packets/s; the last rate without a period."""
        if self.period == math.inf:
            return float(self.rates[-1])
        spans = np.diff(np.append(self.times, self.period))
        return float(np.dot(spans, self.rates) / self.period)


def check_elements(scenario: Any) -> None:
    """Raise ValueError for elements at unknown links, flows that do not cross them, or rates above a link's."""
    names, flows = scenario.link_table.names, {flow.name: flow for flow in scenario.flows}
    rated = set()
    for element in scenario.elements:
        kind = type(element).__name__
        choice(f"elements: link of {kind}", element.link, names)
        link = scenario.links[names.index(element.link)]
        for name in element.flows or ():
            choice(f"elements: flows of {kind} at {link.name}", name, list(flows))
            if (link.source, link.target) not in flows[name].hops:
                msg = f"its path {flows[name].path!r} does not lead over {link.name}"
                raise ValueError(f"elements: flows of {kind} = {name!r}: {msg}")
        if not isinstance(element, RateTrace):
            continue
        if element.link in rated:
            raise ValueError(f"elements: a second RateTrace of {link.name}: must be one per link")
        rated.add(element.link)
        hint = f"the rate of link {link.name}; give the link the largest rate of the trace"
        largest = max(element.rates)
        if largest > link.rate * (1.0 + 1e-12):
            raise ValueError(f"elements: rates = {largest:g}: must be at most {link.rate:g}, {hint}")
