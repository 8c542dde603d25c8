"""An upper bound on the error of a distribution on a grid, by hitting times from frozen levels.

The argument is that of `markov.proofs.certificates.Certificate`: h with (Q h)(x) <= -c < 0 in all states
but one gives TV(x, m pi) <= max(sum (x Q)+ h, sum (x Q)- h) / c, with m the mass of x.
Here h comes from a cycle of multigrid or a few, weighted by the solution, and both sides are evaluated in
float64 with every rounding error bounded. Any h will do that satisfies the inequality. After a cycle few states
miss it, along the lines where aggregates meet: there h is raised until it holds, one state after another.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.computing.double_double_kernels import two_product, two_sum
from markov.computing.memory import available
from markov.computing.rounding import U
from markov.multigrid.grids.hitting_times import proof_kernels
from markov.multigrid.grids.hitting_times.drifts import ACCEPTED_DRIFT, Drift
from markov.multigrid.grids.hitting_times.equations import HittingTimes
from markov.multigrid.grids.levels import Level
from markov.multigrid.grids.loops.tables import Marked
from markov.multigrid.grids.loops.teams import ALONE, Team
from markov.multigrid.grids.places import RECURRENT
from markov.multigrid.grids.rate_tables import rate_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.multigrid.grids.layouts import Layout
    from markov.multigrid.grids.places import GridStates

    Vector = NDArray[np.float64]

__all__ = ["GridBound", "bound_on_grid"]

DIVERGENCE_RATIO = 1.5  # times the drift of the cycle before, three times in a row: cycles diverge
ATTEMPTS: tuple[tuple[type[np.floating[Any]], bool], ...] = (
    (np.float32, True),
    (np.float64, False),
)
"""Hitting times in float32, three cells to one along each axis; then in float64, and two cells to one."""
SWEEPS = (2,) * 8 + (4, 4) + (8,) * 4 + (16,) * 8  # before and after a correction, by cycle
BYTES_PER_STATE = 26.0  # bytes per state of the second attempt


class GridBound(NamedTuple):
    """Result of `bound_on_grid`: the bound (inf: none was verified), c, cycles, and bytes held."""

    distance: float
    c: float
    cycles: int
    memory: int


def bound_on_grid(
    layout: Layout, states: GridStates, x: Vector, team: Team = ALONE, *, exact: bool = False
) -> GridBound:
    """Return an upper bound on the total-variation distance of a distribution to the stationary one.

    Parameters
    ----------
    layout, places
        The chain; the bound is over its recurrent states.
    x
        Probabilities of the states of the grid, zero in those that are not recurrent.
    team
        Threads; they do not change a bit of it.
    exact
        Whether x Q is evaluated in double-double: where cycles went on until rounding stopped them, most of
        what float64 has for a residual is the bound on its own rounding errors.
    """
    bound = GridBound(math.inf, 0.0, 0, 0)
    for kind, wide in ATTEMPTS:
        if kind is np.float64 and available() < BYTES_PER_STATE * x.size:
            break
        times = HittingTimes(layout, x, kind, wide=wide, team=team)
        bound = _bound(layout, states, times, x, exact)
        del times  # before there are others
        if math.isfinite(bound.distance):
            break
    return bound


def _bound(layout: Layout, states: GridStates, times: HittingTimes, x: Vector, exact: bool) -> GridBound:
    """Return the bound by hitting times that are yet to be found."""
    c, cycles, grown = -math.inf, 0, 0
    drift = Drift(times, layout, states.marks)
    with np.errstate(all="ignore"):  # what is not finite proves nothing
        for sweeps in SWEEPS:
            if cycles:
                times.cycle(sweeps)
            else:
                times.start()
            cycles += 1
            before, c = c, drift.drift_bound()
            grown = grown + 1 if c < DIVERGENCE_RATIO * before else 0
            if c < ACCEPTED_DRIFT and drift.raise_failing():
                c = drift.drift_bound()
            if c > ACCEPTED_DRIFT or math.isnan(c) or grown == 3:  # an h that is no number stays so
                break
        if not (c > 0.0 and math.isfinite(c)):
            return GridBound(math.inf, c, cycles, times.nbytes)
        off, mass, low = _misfit(times, layout, states.marks, x, exact)
    rounded_up = 1.0 + (x.size + 16) * U
    distance = off / c * rounded_up + abs((mass - 1.0) + low) + 4.0 * U
    distance = min(distance, 1.0) if math.isfinite(distance) else math.inf
    return GridBound(distance, c, cycles, times.nbytes)


def _misfit(
    times: HittingTimes, layout: Layout, marks: NDArray[np.uint8], x: Vector, exact: bool
) -> tuple[float, float, float]:
    """Return the larger of the sums of (x Q)+ h and (x Q)- h over recurrent states.

    The sum of x in two parts comes second and third.
    """
    team, (grid, rates) = times.finest.team, layout.into
    level, rate_arrays = Level(grid, x, unroll=False, team=team), rate_table(grid, rates)
    minimum = float(times.h[times.reference])
    vectors = proof_kernels.Heights(times.h, minimum, Marked(RECURRENT, marks)), x
    run = level.by_rows(proof_kernels.misfit, level.cells, rate_arrays.slots, *vectors, table=rate_arrays)
    gained, lost, mass, low = zip(*run(), strict=True)
    if exact and not rate_arrays.counts:
        kernel, helpers = proof_kernels.misfit_exactly, (two_sum, two_product)
        exact_rates = proof_kernels.ExactRates(rate_arrays.rate, rate_arrays.exit_rate, rates.exit_rounding)
        exactly = level.by_rows(kernel, level.cells, exact_rates, *vectors, helpers=helpers)
        gained, lost = zip(*exactly(), strict=True)
    total = math.fsum((*mass, *low))
    return float(max(sum(gained), sum(lost))), total, math.fsum((*mass, *low, -total))
