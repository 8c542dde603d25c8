"""Longest blocking of outputs for which a shared headroom pool cannot overflow.

Arrivals grow with the time of blocking, so that traffic which overflows the pool within a time also does so within a
longer one. The times form three intervals: no traffic overflows the pool (the bound of `worst_demand`), undecided,
and a known traffic overflows it (the witness). Both borders are bisected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from dfcmodel.lossless.pools.headroom_pools import HeadroomPool
from dfcmodel.lossless.pools.pool_worst_cases import can_overflow
from hopflow.checks import instance, integer, one_number

__all__ = ["BlockedTime", "longest_blocking"]

MAX_DOUBLINGS = 60


class BlockedTime(NamedTuple):
    """Times, s, of blocked outputs that are safe or can overflow a pool, as `longest_blocking` returns them.

    Attributes
    ----------
    safe
        Longest blocking in s proved safe: no traffic within the limits overflows the pool. Infinite: never.
    overflows
        Blocking in s for which a witness overflows the pool; infinite: no witness is known.

    Examples
    --------
    >>> from dfcmodel.lossless import headroom_pool, longest_blocking
    >>> longest_blocking(headroom_pool(8e4, 2, 2, size="320 kB", shared="1 MB", xoff=1e5, rate="1Gbps"))
    BlockedTime(safe=inf, overflows=inf)
    """

    safe: float
    overflows: float


def longest_blocking(
    pool: HeadroomPool,
    *,
    active_ports: int | None = None,
    active_classes: int | None = None,
    tolerance: float = 0.01,
) -> BlockedTime:
    """Return the longest time of blocked outputs, s, that is safe for a pool, and one that can overflow it.

    Parameters
    ----------
    pool
        The pool and its thresholds; all buffers are empty when outputs are blocked.
    active_ports, active_classes
        Maximum numbers of active ports, and of active classes per port; None: all.
    tolerance
        Relative precision of both times, 0.0001 to 1; they are rounded to the safe side.

    Raises
    ------
    ValueError
        For more ports or classes at once than the pool has, and a tolerance outside 0.0001 to 1.

    Examples
    --------
    Four ports of 100 Gb/s with two classes of fixed thresholds overflow a pool of 300 kB when they have brought
    100 kB each for a threshold and 75 kB above it: 175 kB per port, in 14 us.

    >>> from dfcmodel.lossless import headroom_pool, longest_blocking
    >>> pool = headroom_pool(80_000, 4, 2, size="300 kB", shared="1 MB", xoff="100 kB", rate="100Gbps")
    >>> times = longest_blocking(pool)
    >>> times.safe <= 14e-6 <= times.overflows, round(times.overflows / times.safe, 2)
    (True, 1.01)

    A pool of all headrooms never overflows:

    >>> longest_blocking(headroom_pool(8e4, 2, 2, size="320 kB", shared="1 MB", xoff=1e5, rate="1Gbps"))
    BlockedTime(safe=inf, overflows=inf)
    """
    instance("pool", pool, HeadroomPool, "what headroom_pool returns")
    tolerance = one_number("tolerance", tolerance, at_least=1e-4, at_most=1.0)
    limits = {"active_ports": active_ports, "active_classes": active_classes}
    ports, classes = (
        maximum if limit is None else integer(name, limit, 1, maximum)
        for (name, limit), maximum in zip(limits.items(), pool.headroom.shape, strict=True)
    )

    def verdict(seconds: float) -> bool | None:
        return can_overflow(pool, seconds, ports, classes)

    if verdict(math.inf) is False:
        return BlockedTime(math.inf, math.inf)
    safe = 8.0 * pool.size / float(pool.rates.sum())  # the pool alone takes all that arrives
    overflows, undecided = math.inf, math.inf
    longer = safe
    for _ in range(MAX_DOUBLINGS):
        longer *= 2.0
        overflowing = verdict(longer)
        if overflowing is True:
            overflows = longer
            break
        if overflowing is False:
            safe = longer
        elif undecided == math.inf:
            undecided = longer
    undecided = min(undecided, overflows)
    safe, undecided = _border(safe, undecided, lambda t: verdict(t) is False, tolerance)
    if overflows < math.inf:
        _, overflows = _border(undecided, overflows, lambda t: verdict(t) is not True, tolerance)
    return BlockedTime(safe, overflows)


def _border(low: float, high: float, holds: Callable[[float], bool], tolerance: float) -> tuple[float, float]:
    """Return (low, high), to a relative ``tolerance``, where ``holds`` turns from true to false; high may be inf."""
    while high < math.inf and high > low * (1.0 + tolerance):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high
