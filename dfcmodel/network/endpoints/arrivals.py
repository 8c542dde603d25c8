"""Arrival processes: sources without feedback whose packets arrive at times of a function or a trace."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import one_number
from hopflow.class_attributes import warn_of_unused_attributes
from hopflow.fork_safety import cached_property
from hopflow.parameters import refuse_hidden_attributes
from hopflow.units import PacketUnits, WithUnit, WithUnits, quantities, whole_packets

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_BATCH", "Arrival", "ArrivalProcess", "HeavyTailed", "Poisson", "Replay"]

MAX_BATCH = 2**31 - 2
"""Largest number of packets that arrive together: the range of sequence numbers."""


class Arrival(NamedTuple):
    """Inputs of an arrival process in a call for the next arrival: time, s, and random numbers.

    Attributes
    ----------
    time
        Time of the last arrival, s: the present; the start of the flow in the first call.
    packets
        Packets of the last arrival; 0 in the first call.
    random, random2
        Two numbers drawn evenly from (0, 1), from the stream of the flow.
    """

    time: float
    packets: float
    random: float
    random2: float


class ArrivalProcess(ABC):
    """Base of arrival processes: subclass it as a frozen dataclass, name the parameters, write `next`.

    An arrival process is a small immutable object whose numeric fields are its parameters, and one function that
    returns when the next packets arrive. It is plain Python that also compiles, like a window rule. It is the
    source of a `Flow` without acknowledgements, at packet level.

    Attributes
    ----------
    State
        NamedTuple of the state of the process, with defaults; ``wait`` and ``packets`` come first: the time to the next
        arrival in s, and the number of packets that arrive then. The wait is above 0 (0 in the first call: an arrival
        at the start), or `inf`: no further arrivals. The packets are a whole number from 1 to 2^31 - 2. All fields are
        floats, so that they have one type where they are compiled: write ``float(math.floor(x))``.

    Raises
    ------
    ArithmeticError
        During a run, for another wait or number of packets.

    Examples
    --------
    Frames of a video with 30 frames/s, every tenth of which is larger:

    >>> from dataclasses import dataclass
    >>> from typing import NamedTuple
    >>> from dfcmodel import ArrivalProcess, Flow, Packets, Scenario, chain, simulate
    >>> @dataclass(frozen=True)
    ... class Video(ArrivalProcess):
    ...     frames: float = 30.0
    ...     large: float = 40.0
    ...     small: float = 5.0
    ...     class State(NamedTuple):
    ...         wait: float = 0.0
    ...         packets: float = 1.0
    ...         frame: float = 0.0
    ...     @staticmethod
    ...     def next(s, q, e):
    ...         packets = q.large if s.frame % 10.0 == 0.0 else q.small
    ...         wait = 0.0 if e.packets == 0.0 else 1.0 / q.frames
    ...         return s._replace(wait=wait, packets=packets, frame=s.frame + 1.0)
    >>> links = chain(2, rate=1000.0, delay=1e-3, buffer=50)
    >>> run = simulate(Scenario("video", links, [Flow("a", (1, 2), Video())], duration=0.9), method=Packets())
    >>> float(run.delivered[0, -1])  # 27 frames, 3 of them large
    240.0
    """

    class State(NamedTuple):
        """Time to the next arrival in s, and packets that arrive then."""

        wait: float = math.inf
        packets: float = 1.0

    def __init_subclass__(cls, **options: Any) -> None:
        """Raise TypeError for a subclass with a parameter that hides an attribute of the base class."""
        super().__init_subclass__(**options)
        refuse_hidden_attributes(cls, ("mean_rate",))
        warn_of_unused_attributes(cls)

    @staticmethod
    @abstractmethod
    def next(s: Any, q: Any, e: Any) -> Any:
        """Return the state for the next arrival: ``s`` the state, ``q`` the parameters, ``e`` `Arrival`."""

    def numbers(self) -> dict[str, float]:
        """Return the numeric parameters, by name, as `next` has them."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {k: float(v) for k, v in values.items() if isinstance(v, (int, float))}

    @property
    def params(self) -> Any:
        """The parameters as a NamedTuple, ``q`` of `next`."""
        params = self.numbers()
        return namedtuple("Params", params)(**params)  # noqa: PYI024

    @property
    def mean_rate(self) -> float:
        """Mean rate in packets/s, for predictions of costs; NaN if unknown."""
        return math.nan


@quantities(rate="rate")
@dataclass(frozen=True)
class Poisson(ArrivalProcess):
    """Poisson arrivals, packets/s: single packets with independent exponential times between them.

    Parameters
    ----------
    rate
        Mean rate, packets/s, > 0.

    Examples
    --------
    >>> from dfcmodel import Flow, Packets, Poisson, Scenario, chain, simulate
    >>> links = chain(2, rate=1000.0, delay=1e-3, buffer=50)
    >>> flow = Flow("a", (1, 2), Poisson(rate=500.0))
    >>> run = simulate(Scenario("poisson", links, [flow], duration=1.0), method=Packets(seed=1))
    >>> bool(400 < run.delivered[0, -1] < 600)
    True
    """

    rate: WithUnit

    def __post_init__(self) -> None:
        one_number("rate", self.rate, above=0.0, hint="in packets/s: mbps(0.448)")

    @staticmethod
    def next(s: Any, q: Any, e: Any) -> Any:
        """Draw the time, s, to the next packet of rate ``q.rate``; return the new state."""
        return s._replace(wait=-math.log(1.0 - e.random) / q.rate)

    @property
    def mean_rate(self) -> float:
        """Mean rate in packets/s."""
        return self.rate


@quantities(rate="rate", mean_burst="amount")
@dataclass(frozen=True)
class HeavyTailed(ArrivalProcess):
    r"""Bursts of heavy-tailed sizes, packets, at the times of a Poisson process, packets/s on average.

    A burst has more than n packets with probability (1 + n / c)^-tail, a Pareto distribution of the second kind
    (Lomax) in integer packets. The scale c follows from the mean. Its packets arrive together: a host with
    ``host="nic"`` sends them at the rate of its link. With a tail index of at most 2 the variance is infinite,
    and the traffic of many such sources is long-range dependent.

    Parameters
    ----------
    rate
        Mean rate, packets/s, > 0. A burst has at most 2^31 - 2 packets, and the largest bursts are rare in
        finite runs: with a tail index near 1 most runs have a lower rate.
    mean_burst
        Mean packets of a burst, > 1.
    tail
        Tail index, > 1.

    Examples
    --------
    >>> from dfcmodel import HeavyTailed
    >>> HeavyTailed(rate=1000.0, mean_burst=10.0, tail=1.5)
    HeavyTailed(rate=1000.0, mean_burst=10.0, tail=1.5)
    """

    rate: WithUnit
    mean_burst: WithUnit
    tail: float

    def __post_init__(self) -> None:
        one_number("rate", self.rate, above=0.0, hint="in packets/s")
        one_number("tail", self.tail, above=1.0)
        if not isinstance(self.mean_burst, PacketUnits):
            self.check_packets()

    def check_packets(self) -> None:
        """Raise ValueError for bursts of at most a packet in the mean."""
        one_number("mean_burst", self.mean_burst, above=1.0, at_most=float(MAX_BATCH), hint="in packets")

    @cached_property
    def scale(self) -> float:
        """Scale c of the sizes of bursts, packets, at which the sum over n >= 0 of (1 + n / c)^-tail is their mean."""
        from scipy.optimize import brentq
        from scipy.special import zeta

        # by the integral test the sum is between c / (tail - 1) and c / (tail - 1) + 1
        low, high = (self.mean_burst - 1.0) * (self.tail - 1.0), self.mean_burst * (self.tail - 1.0)
        root = brentq(lambda c: c**self.tail * zeta(self.tail, c) - self.mean_burst, low, high)
        return float(root)

    def numbers(self) -> dict[str, float]:
        """Return the parameters of `next`, by name: the numeric parameters and the scale of the sizes."""
        return {**super().numbers(), "scale": self.scale}

    @staticmethod
    def next(s: Any, q: Any, e: Any) -> Any:
        """Draw the time, s, to the next burst by ``q.rate``, and its packets by ``q.tail``; return the new state."""
        wait = -math.log(1.0 - e.random) * q.mean_burst / q.rate
        more = math.floor(q.scale * ((1.0 - e.random2) ** (-1.0 / q.tail) - 1.0))
        return s._replace(wait=wait, packets=min(1.0 + more, 2147483646.0))

    @property
    def mean_rate(self) -> float:
        """Mean rate in packets/s."""
        return self.rate


@quantities(times="time", packets="amount")
@dataclass(frozen=True)
class Replay:
    """Packets that arrive at the times of a trace, s, without randomness.

    Parameters
    ----------
    times
        Times of arrivals since the start of the flow, s, at least 0 and in order, (N,). Equal times arrive together.
    packets
        Packets of each arrival, whole numbers from 1 on, (N,); or one number for all. The last packet of a size in
        bytes, ``"9 kB"``, need not be full.

    Raises
    ------
    ValueError
        For times that are not in order, not finite or below 0, unequal lengths, or fractional packets.

    Examples
    --------
    >>> from dfcmodel import Flow, Packets, Replay, Scenario, chain, simulate
    >>> links = chain(2, rate=1000.0, delay=1e-3, buffer=50)
    >>> flow = Flow("a", (1, 2), Replay(times=(0.0, 0.1, 0.35), packets=(3, 1, 10)))
    >>> run = simulate(Scenario("trace", links, [flow], duration=0.3), method=Packets())
    >>> float(run.delivered[0, -1])
    4.0
    """

    times: WithUnits
    packets: Sequence[int] | int = 1

    def __post_init__(self) -> None:
        batches: Any = self.packets
        if isinstance(batches, PacketUnits):
            object.__setattr__(self, "packets", whole_packets(batches))
        elif isinstance(batches, (list, tuple)):
            sizes = (whole_packets(n) if isinstance(n, PacketUnits) else n for n in batches)
            object.__setattr__(self, "packets", tuple(sizes))
        times, packets = self._validate()
        object.__setattr__(self, "times", tuple(times.tolist()))
        if np.ndim(self.packets):
            batches = self.packets
            pairs = zip(batches, packets.astype(int).tolist(), strict=True)
            converted = (size if isinstance(size, PacketUnits) else n for size, n in pairs)
            object.__setattr__(self, "packets", tuple(converted))

    def _validate(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times, (N,), and packets, (N,) or (), as arrays; see `Replay` for errors."""
        try:
            arrays = [np.asarray(values) for values in (self.times, self.packets)]
            if any(array.dtype.kind not in "iufO" for array in arrays):
                raise TypeError
            times, packets = (array.astype(float) for array in arrays)
        except (TypeError, ValueError, OverflowError):
            msg = "must be numbers in double precision: times in s, and packets"
            raise ValueError(f"times and packets of a trace: {msg}") from None
        if times.ndim != 1 or not times.size:
            raise ValueError(f"times of shape {times.shape}: must be a list of at least one time in s")
        previous = np.append(0.0, times[:-1])
        invalid = np.flatnonzero(~((times >= previous) & (times < math.inf)))
        if invalid.size:
            n = int(invalid[0])
            msg = f"must be finite and at least {previous[n]:g}: times are in order, from 0 on"
            raise ValueError(f"times[{n}] = {times[n]:g}: {msg}")
        if packets.ndim and packets.shape != times.shape:
            msg = f"must be one for each of {len(times)} times, or one for all"
            raise ValueError(f"packets of shape {packets.shape}: {msg}")
        sizes = np.atleast_1d(packets)
        invalid = np.flatnonzero(~((sizes >= 1.0) & (sizes <= MAX_BATCH) & (sizes == np.floor(sizes))))
        if invalid.size:
            n = int(invalid[0])
            name = f"packets[{n}]" if packets.ndim else "packets"
            raise ValueError(f"{name} = {sizes[n]:g}: must be a whole number from 1 to {MAX_BATCH}")
        return times, packets

    @cached_property
    def batches(self) -> NDArray[np.float64]:
        """Distinct times in s and the packets at each, (distinct times, 2)."""
        times, first = np.unique(np.asarray(self.times), return_index=True)
        packets = np.broadcast_to(np.asarray(self.packets, dtype=float), len(self.times))
        return np.stack([times, np.add.reduceat(packets, first)], axis=1)

    @property
    def mean_rate(self) -> float:
        """Packets/s up to the last arrival, for predictions of costs; NaN if all arrive at the start."""
        return self.total / self.times[-1] if self.times[-1] > 0.0 else math.nan

    @property
    def total(self) -> float:
        """Number of all packets of the trace."""
        return float(self.batches[:, 1].sum())
