"""The largest demand on a shared headroom pool, as a linear program, and senders that make it.

Assumptions: the outputs are blocked for a time ``blocked``, so that nothing leaves; senders transmit at
line rate; a group is charged to the pool only above its threshold, and then at most its headroom;
which groups become active, and when, is up to an adversary. Thresholds either are fixed, or fall with the
free shared buffer; once the shared buffer is full every group pauses. The programs
are in ``pool_programs``.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.lossless.pools.headroom_pools import HeadroomPool
from dfcmodel.lossless.pools.pool_programs import SOLVED, PoolProgram
from dfcmodel.lossless.quantities import duration
from hopflow.checks import count_of, instance, integer, one_number
from hopflow.results import Result, figure
from hopflow.units import declares

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from dfcmodel.lossless.quantities import Given

    Floats = NDArray[np.float64]

__all__ = ["PoolWitness", "PoolWorstCase", "can_overflow", "worst_demand"]

MOST_PROGRAMS = 200
MOST_TO_DECIDE = 50
"""Linear programs of `can_overflow`, which asks for less than `worst_demand`."""


@dataclass(frozen=True, eq=False)
class PoolWitness:
    """Traffic that makes a demand on the pool.

    A port first fills its part of the shared buffer; from ``filled`` on, its groups cross their thresholds
    one after the other, each when the one before has used its headroom. Where thresholds are dynamic or
    the shared buffer is full, all ports wait for the last one to fill its part.

    Attributes
    ----------
    shared, used
        Bytes of each group in the shared buffer and in the pool, shape (P, K).
    filled
        Time at which the groups of each port begin to cross their thresholds in s, shape (P,).

    Examples
    --------
    >>> from dfcmodel.lossless import headroom_pool, worst_demand
    >>> pool = headroom_pool(50_000, 1, 2, size="50 kB", shared="1 MB", xoff="100 kB", rate="100Gbps")
    >>> worst_demand(pool).witness.paused_at.round(9).tolist()  # 200 kB, then 50 kB more
    [[1.6e-05, 2e-05]]
    """

    pool: HeadroomPool
    shared: Floats
    used: Floats
    filled: Floats

    @property
    def demand(self) -> float:
        """Bytes in the pool at the end."""
        return float(self.used.sum())

    @property
    def paused_at(self) -> Floats:
        """When each group pauses its sender in s, shape (P, K); NaN where it does not."""
        before = np.cumsum(self.used, axis=1) - self.used
        times = self.filled[:, None] + 8.0 * before / self.pool.rates[:, None]
        return np.where(self.used > 0.0, times, np.nan)

    @property
    def ends(self) -> float:
        """When the last byte has arrived, s."""
        return float((self.filled + 8.0 * self.used.sum(axis=1) / self.pool.rates).max())

    def table(self) -> pd.DataFrame:
        """Return the groups that pause in the order in which they do: port, class, s, bytes."""
        import pandas as pd

        times = self.paused_at
        ports, classes = np.nonzero(np.isfinite(times))
        columns = {"port": ports, "class": classes, "paused at (s)": times[ports, classes]}
        columns["shared (B)"] = self.shared[ports, classes]
        columns["headroom (B)"] = self.used[ports, classes]
        return pd.DataFrame(columns).sort_values("paused at (s)", ignore_index=True)


@dataclass(frozen=True, eq=False, repr=False)
class PoolWorstCase(Result):
    """The largest demand on a pool, as `worst_demand` returns it.

    Attributes
    ----------
    upper
        No traffic within the limits needs more, bytes: the bound of the linear programs.
    witness
        Traffic that needs ``witness.demand`` bytes; the difference is the gap.
    blocked, active_ports, active_classes
        The limits; infinite, P and K where none was given.

    Examples
    --------
    >>> from dfcmodel.lossless import headroom_pool, worst_demand
    >>> pool = headroom_pool(50_000, 4, 2, size="300 kB", shared="1 MB", alpha=1.0, rate="100Gbps")
    >>> found = worst_demand(pool, active_ports=3)
    >>> found.overflows, round(found.upper)
    (False, 300000)
    """

    pool: HeadroomPool
    upper: float
    witness: PoolWitness
    blocked: float
    active_ports: int
    active_classes: int

    @property
    def lower(self) -> float:
        """Bytes that the witness needs."""
        return self.witness.demand

    @property
    def overflows(self) -> bool | None:
        """True: the witness overflows the pool. False: proved that nothing does. None: undecided.

        Sizes that differ by less than the tolerance of the programs, 3e-6 relative, count as equal.
        """
        if self.lower > self.pool.size * (1.0 + SOLVED):
            return True
        return False if self.upper <= self.pool.size * (1.0 + 3.0 * SOLVED) else None

    @property
    def excess(self) -> tuple[float, float]:
        """By how many bytes the pool overflows: reached by the witness, and at most."""
        return max(0.0, self.lower - self.pool.size), max(0.0, self.upper - self.pool.size)

    def summary(self) -> dict[str, object]:
        """Return the limits, the bound, the witness and what follows."""
        said = {True: "yes", False: "no, proved", None: "undecided within the gap"}
        times = self.witness.paused_at
        return {
            "overflows": said[self.overflows],
            "pool": f"{self.pool.size:,.0f} B, {self.pool.oversubscription:.2f} times oversubscribed",
            "largest demand": f"{self.lower:,.0f} B reached, at most {self.upper:,.0f} B",
            "outputs blocked": f"{self.blocked:g} s",
            "active": f"{count_of(self.active_ports, 'port')}, {self.active_classes} classes each",
            "groups paused": f"{int(np.isfinite(times).sum())} of {self.pool.groups}",
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the demand of the witness over time, with the bound and the pool; return the Axes."""
        axes = figure()[1] if ax is None else ax
        witness, rates = self.witness, self.pool.rates / 8.0
        times = np.linspace(0.0, witness.ends, 200)
        sent = np.clip(times[:, None] - witness.filled, 0.0, None) * rates
        demand = np.minimum(sent, witness.used.sum(axis=1)).sum(axis=1)
        axes.plot(times * 1e6, demand / 1e6, label="witness")
        axes.axhline(self.upper / 1e6, color="#D55E00", ls="--", label="bound")
        axes.axhline(self.pool.size / 1e6, color="#000000", ls=":", label="pool")
        axes.set(xlabel="µs", ylabel="MB of headroom in use")
        axes.legend()
        return axes


@declares(blocked="time")
def worst_demand(
    pool: HeadroomPool,
    *,
    blocked: Given | None = None,
    active_ports: int | None = None,
    active_classes: int | None = None,
    tolerance: float = 1e-3,
) -> PoolWorstCase:
    """Return the largest number of bytes that senders can need from a headroom pool.

    Parameters
    ----------
    pool
        The pool and its thresholds.
    blocked
        How long outputs may serve nothing, s or a string such as ``50 us``; None: without limit. All
        buffers are empty before.
    active_ports, active_classes
        At most so many ports are active, and so many classes of each; None: all.
    tolerance
        Intervals of the shared buffer's occupancy are bisected until bound and witness are so close,
        relative to the bound, or 200 linear programs were solved; the gap is in the result.

    Raises
    ------
    ValueError
        For more ports or classes at once than the pool has, and a tolerance outside its range.

    Examples
    --------
    Without a limit on the time or on the senders every group uses its headroom. If outputs are blocked for
    20 us, four ports of 100 Gb/s bring 1 MB, of which the shared buffer takes its part:

    >>> from dfcmodel.lossless import headroom_pool, worst_demand
    >>> pool = headroom_pool(50_000, 4, 2, size="300 kB", shared="1 MB", xoff="100 kB", rate="100Gbps")
    >>> round(worst_demand(pool).lower), round(worst_demand(pool, blocked="20 us").upper)
    (400000, 200000)
    """
    instance("pool", pool, HeadroomPool, "what headroom_pool returns")
    ports, classes = pool.headroom.shape
    time = np.inf if blocked is None else duration("blocked", blocked)
    most = ports if active_ports is None else integer("active_ports", active_ports, 1, ports)
    each = classes if active_classes is None else integer("active_classes", active_classes, 1, classes)
    program = PoolProgram(pool, time, most, each)
    upper, used = _branch_and_bound(program, one_number("tolerance", tolerance, at_least=SOLVED, below=1.0))
    return PoolWorstCase(pool, min(upper, pool.demand), used, time, most, each)


def can_overflow(pool: HeadroomPool, blocked: float, ports: int, classes: int) -> bool | None:
    """Return whether a pool can overflow at all: as `PoolWorstCase.overflows`, with fewer programs.

    Parameters
    ----------
    pool
        The pool.
    blocked
        How long outputs serve nothing, s.
    ports, classes
        Most active ports, and active classes of each.
    """
    program, enough = PoolProgram(pool, blocked, ports, classes), pool.size * (1.0 + SOLVED)
    upper, witness = _branch_and_bound(program, SOLVED, most=MOST_TO_DECIDE, enough=enough)
    return PoolWorstCase(pool, upper, witness, blocked, ports, classes).overflows


def _branch_and_bound(
    program: PoolProgram, tolerance: float, *, most: int = MOST_PROGRAMS, enough: float = np.inf
) -> tuple[float, PoolWitness]:
    """Return the largest bound over all intervals of the shared occupancy, and the best witness.

    The search ends where a witness needs more than ``enough`` bytes (the bound is then not complete), or where
    nothing can.
    """
    pool, count = program.pool, itertools.count()
    nothing = np.zeros(pool.headroom.shape)
    best = PoolWitness(pool, nothing, nothing, np.zeros(len(pool.rates)))
    heap: list[tuple[float, int, float, float, bool]] = []
    # with fixed thresholds: either they count, or the shared buffer is full
    cases = [(0.0, pool.shared, False), (pool.shared, pool.shared, True)]
    done, final = 0, 0.0
    least = 0.0 if enough == np.inf else enough  # smaller bounds are not divided any further
    while (cases or heap) and best.demand <= enough:
        if not cases:
            bound, _, low, high, full = heapq.heappop(heap)
            bound = -bound
            final_one = pool.alpha is None or full
            if bound * (1.0 - tolerance) <= max(best.demand, least) or done >= most or final_one:
                final = max(final, bound)
                continue
            middle = 0.5 * (low + high)
            cases = [(low, middle, False), (middle, high, False)]
        low, high, full = cases.pop()
        bound, above = program.relaxed(low, high, full=full)
        done += 1
        if above is None or bound * (1.0 - tolerance) <= max(best.demand, least):
            final = max(final, bound)
            continue
        heapq.heappush(heap, (-bound, next(count), low, high, full))
        for chosen in _roundings(above):
            found = program.schedule(chosen, high, full=full)
            if found is not None and found[1].sum() > best.demand:
                filled = 8.0 * found[0].sum(axis=1) / pool.rates
                if program.waits(full=full):
                    filled = np.full_like(filled, filled.max())
                best = PoolWitness(pool, *found, filled)
    return max(final, best.demand), best


def _roundings(above: Floats) -> list[NDArray[np.bool_]]:
    """Return sets of groups to be above their thresholds: those rounded down, and one more."""
    sure = above >= 1.0 - 1e-6
    part = np.where(sure, 0.0, above)
    if part.max(initial=0.0) <= 1e-6:
        return [sure]
    more = sure.copy()
    more.flat[int(part.argmax())] = True
    rank = np.argsort(np.argsort(-above, axis=1, kind="stable"), axis=1)
    per_port = rank < np.floor(above.sum(axis=1, keepdims=True) + 1e-6)
    return [sure, more, per_port]
