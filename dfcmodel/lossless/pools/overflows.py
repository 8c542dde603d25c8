"""The probability that a headroom pool overflows: one function for three kinds of traffic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from dfcmodel.lossless.pools.headroom_pools import HeadroomPool
from dfcmodel.lossless.pools.pool_overflows import (
    OverflowEstimate,
    OverflowTime,
    chain_time,
    split_episodes,
)
from dfcmodel.lossless.pools.pool_risks import PoolRisk, convolve
from dfcmodel.lossless.pools.pool_traffic import Episodes, PacketRuns, PausedGroups
from dfcmodel.lossless.pools.recombined_overflows import RecombinedEstimate, recombine
from hopflow.checks import format_value, instance, integer, one_number
from hopflow.deprecations import accept_old_names
from hopflow.units import WithUnit, quantities

__all__ = ["Convolution", "OverflowChain", "Recombination", "Splitting", "overflow"]


@quantities(grain="size")
@dataclass(frozen=True)
class Convolution:
    """Method for `PausedGroups`: the exact distribution of the sum, in grains of bytes.

    Parameters
    ----------
    grain
        Bytes to which demands are rounded; None: the greatest common divisor of the headrooms, or 1/20,000 of
        their sum if that is larger.

    Examples
    --------
    >>> from dfcmodel.lossless import Convolution
    >>> Convolution(grain=1000.0).grain
    1000.0
    """

    grain: WithUnit | None = None

    def __post_init__(self) -> None:
        if self.grain is not None:
            one_number("grain", self.grain, above=0.0, hint="in bytes")


@dataclass(frozen=True)
class OverflowChain:
    """Method for `Episodes` of equal headrooms and exponential durations: exact, a birth-death chain.

    Examples
    --------
    >>> from dfcmodel.lossless import OverflowChain
    >>> OverflowChain()
    OverflowChain()
    """


@dataclass(frozen=True)
class Splitting:
    """Method for all `Episodes`: fixed-effort importance splitting, unbiased, with an interval.

    Parameters
    ----------
    paths
        Paths from each level, 10 to 1e6.
    replications
        Independent estimates, 5 to 10,000; the interval is made of them.

    Examples
    --------
    >>> from dfcmodel.lossless import Splitting
    >>> Splitting(paths=100).replications
    20
    """

    paths: int = 500
    replications: int = 20

    def __post_init__(self) -> None:
        for name, low, high in (("paths", 10, 10**6), ("replications", 5, 10_000)):
            object.__setattr__(self, name, integer(name, getattr(self, name), low, high))


@dataclass(frozen=True)
class Recombination:
    """Method for `PacketRuns`: plain runs, whose independent ports are recombined.

    Parameters
    ----------
    runs
        Number of plain runs, 100 to 1e6.

    Examples
    --------
    >>> from dfcmodel.lossless import Recombination
    >>> Recombination(runs=400).runs
    400
    """

    runs: int = 2000

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", integer("runs", self.runs, 100, 10**6))


Method = Convolution | OverflowChain | Splitting | Recombination
METHODS: dict[type, tuple[type, ...]] = {
    PausedGroups: (Convolution,),
    Episodes: (OverflowChain, Splitting),
    PacketRuns: (Recombination,),
}
"""Methods by kind of traffic, the default first."""


@overload
def overflow(
    pool: HeadroomPool, traffic: PausedGroups, method: Convolution | None = None, *, seed: Any = None
) -> PoolRisk: ...
@overload
def overflow(pool: HeadroomPool, traffic: Episodes, method: OverflowChain, *, seed: Any = None) -> OverflowTime: ...
@overload
def overflow(pool: HeadroomPool, traffic: Episodes, method: Splitting, *, seed: Any = None) -> OverflowEstimate: ...
@overload
def overflow(
    pool: HeadroomPool, traffic: Episodes, method: None = None, *, seed: Any = None
) -> OverflowTime | OverflowEstimate: ...
@overload
def overflow(
    pool: float, traffic: PacketRuns, method: Recombination | None = None, *, seed: Any = None
) -> RecombinedEstimate: ...
@accept_old_names(rng="seed")
def overflow(pool: Any, traffic: Any, method: Any = None, *, seed: Any = None) -> Any:
    """Return the probability that a headroom pool overflows, as a result by method: `PoolRisk`, `OverflowTime`, ....

    Every result has ``probability`` and ``interval``; proved bounds for the exact methods, 95 % confidence otherwise.

    Parameters
    ----------
    pool
        The pool, as `headroom_pool` returns it; for `PacketRuns` the packets that it can hold.
    traffic
        `PausedGroups` (fraction of time), `Episodes` (within a time) or `PacketRuns` (within a time, in packets).
    method
        `Convolution` for the first, `OverflowChain` or `Splitting` for the second, `Recombination` for the third.
        None: the first of these; for `Episodes` the chain where headrooms are equal and durations exponential.
    seed
        Seed or generator, for methods that draw.

    Returns
    -------
    PoolRisk, OverflowTime, OverflowEstimate or RecombinedEstimate
        By method.

    Raises
    ------
    TypeError
        For other traffic, or a method for another kind of traffic.
    ValueError
        For a setting of the traffic or the method outside its range.

    Examples
    --------
    >>> from dfcmodel.lossless import Episodes, PausedGroups, headroom_pool, overflow
    >>> pool = headroom_pool(1e5, 10, 2, size="600 kB", shared="9 MB", alpha=1.0, rate="100Gbps")
    >>> f"{overflow(pool, PausedGroups(0.05)).probability:.3e}"  # of the time
    '3.395e-05'
    >>> f"{overflow(pool, Episodes(50.0, 1e-3, within=0.01)).probability:.2e}"
    '1.43e-03'
    """
    if type(traffic) not in METHODS:
        raise TypeError(f"traffic = {format_value(traffic)}: must be PausedGroups, Episodes or PacketRuns")
    allowed = METHODS[type(traffic)]
    selected: Any = allowed[0]() if method is None else method
    if method is not None and not isinstance(method, allowed):
        names = " or ".join(kind.__name__ for kind in allowed)
        raise TypeError(f"method = {format_value(method)}: must be {names} for {type(traffic).__name__}")
    if isinstance(traffic, PacketRuns):
        return recombine(pool, traffic, selected.runs, seed)
    instance("pool", pool, HeadroomPool, "what headroom_pool returns")
    if isinstance(traffic, PausedGroups):
        return convolve(pool, traffic, selected.grain)
    exponential = isinstance(traffic.held, (int, float))
    if method is None and not (exponential and len(np.unique(pool.headroom)) == 1):
        selected = Splitting()
    if isinstance(selected, OverflowChain):
        return chain_time(pool, traffic)
    return split_episodes(pool, traffic, (selected.paths, selected.replications), seed)
