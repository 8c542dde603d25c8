"""The largest demand on a shared headroom pool, as a linear program, and traffic that attains it.

Assumptions: the outputs are blocked for a time ``blocked``, so that nothing leaves; senders transmit at
line rate; a group is charged to the pool only above its threshold, and then at most its headroom;
which groups become active, and when, is up to an adversary. Thresholds either are fixed, or fall with the
free shared buffer; once the shared buffer is full every group pauses. The linear programs
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
from dfcmodel.lossless.quantities import check_bare_time, duration
from hopflow.checks import count_of, instance, integer, one_number
from hopflow.results import Result, figure
from hopflow.units import declares

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from dfcmodel.lossless.quantities import Given

    Floats = NDArray[np.float64]

__all__ = ["PoolWitness", "PoolWorstCase", "can_overflow", "worst_demand"]

MAX_BARE_BLOCKED = 1.0
"""Maximum time of blocked outputs, s, as a number without a unit: pools fill in microseconds."""
MAX_PROGRAMS = 200
MAX_DECISION_PROGRAMS = 50
"""Limit on the linear programs of `can_overflow`, which only decides and computes no maximum."""


@dataclass(frozen=True, eq=False)
class PoolWitness:
    """Arrivals of all groups by which the demand on a pool reaches a number of bytes.

    A port first fills its part of the shared buffer; from ``filled`` on, its groups cross their thresholds
    one after the other, each when the previous group has used its headroom. With dynamic thresholds or a full
    shared buffer, all ports wait until the last port has filled its part.

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
        """Bytes in the pool at the end: the sum of ``used``."""
        return float(self.used.sum())

    @property
    def paused_at(self) -> Floats:
        """Time in s at which each group pauses its sender, shape (P, K); NaN for groups that do not pause."""
        before = np.cumsum(self.used, axis=1) - self.used
        times = self.filled[:, None] + 8.0 * before / self.pool.rates[:, None]
        return np.where(self.used > 0.0, times, np.nan)

    @property
    def ends(self) -> float:
        """Time of the last arrival, s."""
        return float((self.filled + 8.0 * self.used.sum(axis=1) / self.pool.rates).max())

    def table(self) -> pd.DataFrame:
        """Return the pausing groups as a table by time: port, class, time in s, and bytes."""
        import pandas as pd

        times = self.paused_at
        ports, classes = np.nonzero(np.isfinite(times))
        columns = {"port": ports, "class": classes, "paused at (s)": times[ports, classes]}
        columns["shared (B)"] = self.shared[ports, classes]
        columns["headroom (B)"] = self.used[ports, classes]
        return pd.DataFrame(columns).sort_values("paused at (s)", ignore_index=True)


@dataclass(frozen=True, eq=False, repr=False)
class PoolWorstCase(Result):
    """The largest demand on a pool, bytes, as `worst_demand` returns it.

    Attributes
    ----------
    upper
        Upper bound on the demand in bytes for all traffic within the limits, of the linear programs.
    witness
        Traffic that needs ``witness.demand`` bytes; the difference is the gap.
    blocked, active_ports, active_classes
        The limits; without a limit infinite, P and K.

    Examples
    --------
    >>> from dfcmodel.lossless import headroom_pool, worst_demand
    >>> pool = headroom_pool(50_000, 4, 2, size="300 kB", shared="1 MB", alpha=1.0, rate="100Gbps")
    >>> worst = worst_demand(pool, active_ports=3)
    >>> worst.overflows, round(worst.upper)
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
        """Bytes in the pool that the witness reaches: a lower bound on the worst case."""
        return self.witness.demand

    @property
    def overflows(self) -> bool | None:
        """Whether the pool can overflow. True: the witness does. False: proved impossible. None: undecided.

        Sizes that differ by less than the tolerance of the programs, 3e-6 relative, count as equal.
        """
        if self.lower > self.pool.size * (1.0 + SOLVED):
            return True
        return False if self.upper <= self.pool.size * (1.0 + 3.0 * SOLVED) else None

    @property
    def excess(self) -> tuple[float, float]:
        """Bytes beyond the size of the pool: of the witness, and of the upper bound; 0 if it fits."""
        return max(0.0, self.lower - self.pool.size), max(0.0, self.upper - self.pool.size)

    def summary(self) -> dict[str, object]:
        """Return texts by name: verdict, pool, largest demand and its bound, bytes, and the limits on the traffic."""
        verdicts = {True: "yes", False: "no, proved", None: "undecided within the gap"}
        times = self.witness.paused_at
        within = self.overflows is False and self.upper > self.pool.size
        rounding = f" to within {3.0 * SOLVED:g} of the pool" if within else ""
        classes = count_of(self.active_classes, "class", "classes")
        return {
            "overflows": verdicts[self.overflows] + rounding,
            "pool": f"{self.pool.size:,.0f} B, {self.pool.oversubscription:.2f} times oversubscribed",
            "largest demand": f"{self.lower:,.0f} B reached, at most {self.upper:,.0f} B",
            "outputs blocked": f"{self.blocked:g} s",
            "active": f"{count_of(self.active_ports, 'port')}, {classes} each",
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
    """Return the largest demand on a headroom pool, bytes, with bound and witness; ``blocked`` None: for ever.

    Parameters
    ----------
    pool
        The pool and its thresholds.
    blocked
        Time for which outputs may serve nothing, s or a string such as ``50 us``; None: without limit. All
        buffers are empty before.
    active_ports, active_classes
        Maximum numbers of active ports, and of active classes per port; None: all.
    tolerance
        Gap between bound and witness, relative to the bound, at which the bisection of the shared buffer's
        occupancy stops. It also stops after 200 linear programs; the gap is in the result.

    Raises
    ------
    ValueError
        For more ports or classes at once than the pool has, a tolerance outside its range, and a time above 1 s without
        a unit.

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
    if blocked is not None:
        check_bare_time("blocked", blocked, time, MAX_BARE_BLOCKED, "us")
    max_ports = ports if active_ports is None else integer("active_ports", active_ports, 1, ports)
    max_classes = classes if active_classes is None else integer("active_classes", active_classes, 1, classes)
    program = PoolProgram(pool, time, max_ports, max_classes)
    upper, witness = _branch_and_bound(program, one_number("tolerance", tolerance, at_least=SOLVED, below=1.0))
    return PoolWorstCase(pool, min(upper, pool.demand), witness, time, max_ports, max_classes)


def can_overflow(pool: HeadroomPool, blocked: float, ports: int, classes: int) -> bool | None:
    """Return whether outputs blocked for ``blocked`` s can overflow a pool: True, False, or None if undecided.

    Parameters
    ----------
    pool
        The pool.
    blocked
        Time for which outputs serve nothing, s.
    ports, classes
        Maximum numbers of active ports, and of active classes per port.
    """
    program, enough = PoolProgram(pool, blocked, ports, classes), pool.size * (1.0 + SOLVED)
    upper, witness = _branch_and_bound(program, SOLVED, max_programs=MAX_DECISION_PROGRAMS, enough=enough)
    return PoolWorstCase(pool, upper, witness, blocked, ports, classes).overflows


def _branch_and_bound(
    program: PoolProgram, tolerance: float, *, max_programs: int = MAX_PROGRAMS, enough: float = np.inf
) -> tuple[float, PoolWitness]:
    """Return an upper bound of the demand, bytes, over all shared occupancies, and the best witness up to ``enough``.

    The search stops at a witness of more than ``enough`` bytes, whose bound is then incomplete, and where no interval
    can exceed ``enough``.
    """
    pool, count = program.pool, itertools.count()
    nothing = np.zeros(pool.headroom.shape)
    best = PoolWitness(pool, nothing, nothing, np.zeros(len(pool.rates)))
    heap: list[tuple[float, int, float, float, bool]] = []
    # with fixed thresholds: either they count, or the shared buffer is full
    cases = [(0.0, pool.shared, False), (pool.shared, pool.shared, True)]
    solved, final = 0, 0.0
    floor = 0.0 if enough == np.inf else enough  # smaller bounds are not divided any further
    while (cases or heap) and best.demand <= enough:
        if not cases:
            bound, _, min_occupancy, max_occupancy, shared_full = heapq.heappop(heap)
            bound = -bound
            is_final = pool.alpha is None or shared_full
            if bound * (1.0 - tolerance) <= max(best.demand, floor) or solved >= max_programs or is_final:
                final = max(final, bound)
                continue
            middle = 0.5 * (min_occupancy + max_occupancy)
            cases = [(min_occupancy, middle, False), (middle, max_occupancy, False)]
        min_occupancy, max_occupancy, shared_full = cases.pop()
        bound, above = program.relax(min_occupancy, max_occupancy, shared_full=shared_full)
        solved += 1
        if above is None or bound * (1.0 - tolerance) <= max(best.demand, floor):
            final = max(final, bound)
            continue
        heapq.heappush(heap, (-bound, next(count), min_occupancy, max_occupancy, shared_full))
        for groups in _roundings(above):
            amounts = program.schedule(groups, max_occupancy, shared_full=shared_full)
            if amounts is not None and amounts[1].sum() > best.demand:
                filled = 8.0 * amounts[0].sum(axis=1) / pool.rates
                if program.fill_together(shared_full=shared_full):
                    filled = np.full_like(filled, filled.max())
                best = PoolWitness(pool, *amounts, filled)
    return max(final, best.demand), best


def _roundings(above: Floats) -> list[NDArray[np.bool_]]:
    """Return candidate sets of pausing groups, (P, K) each, from x between 0 and 1, rounded in up to three ways."""
    sure = above >= 1.0 - 1e-6
    part = np.where(sure, 0.0, above)
    if part.max(initial=0.0) <= 1e-6:
        return [sure]
    with_next = sure.copy()
    with_next.flat[int(part.argmax())] = True
    rank = np.argsort(np.argsort(-above, axis=1, kind="stable"), axis=1)
    per_port = rank < np.floor(above.sum(axis=1, keepdims=True) + 1e-6)
    return [sure, with_next, per_port]
