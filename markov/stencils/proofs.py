"""An upper bound on the error of a distribution on a grid, by hitting times from frozen levels.

The argument is that of `markov.proofs.certificates.Certificate`: h with (Q h)(x) <= -c < 0 in all states
but one bounds c times the mean hitting times of that one, and TV(x, pi) <= sum_s |(x Q)(s)| h(s) / c.
Here h comes from a few cycles of multigrid on the aggregates of the solution, with the transitions by
source, and both sides are evaluated in float64 with every rounding error bounded.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from markov.stencils import proof_kernels
from markov.stencils.coarsening import Halving, halved
from markov.stencils.continuation import continue_tails
from markov.stencils.levels import LARGE, ONE, Level, Parts, bound_kernel, unsigned
from markov.stencils.places import RECURRENT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from markov.stencils.grids import Grid
    from markov.stencils.layouts import Layout, Rates
    from markov.stencils.places import Places

    Vector = NDArray[np.float64]

__all__ = ["GridBound", "bound_on_grid"]

TAIL = -0.1  # costs grow as this power of the probability
LEAST = 1e-250  # of the largest probability: what weighs less in equations is not told apart
SHARP = 0.5  # of c: an h that proves more is not looked for
FIRST_CHECK = 3  # cycles before c is looked at
SWEEPS = (1,) * 6 + (2, 2, 4, 4) + (8,) * 4 + (16,) * 8  # before and after a correction, by cycle
TWICE = 2.5  # times as many states: two visits per cycle pay
U = 2.0**-53


class GridBound(NamedTuple):
    """Result of `bound_on_grid`: the bound (inf: none was verified), c, cycles, and bytes held."""

    distance: float
    c: float
    cycles: int
    memory: int


def bound_on_grid(
    layout: Layout, places: Places, axes: Sequence[Sequence[bool]], x: Vector, pi: Vector
) -> GridBound:
    """Return an upper bound on the total-variation distance of a distribution to the stationary one.

    Parameters
    ----------
    layout, places
        The chain; the bound is over its recurrent states.
    axes
        Along which cells are joined from level to level.
    x
        Probabilities of the states of the grid, zero in those that are not recurrent. They are
        changed on the way, and made good.
    pi
        The same, in the order of the states of the chain.
    """
    hitting = _HittingTimes(layout, axes, x)
    c, cycles = 0.0, 0
    with np.errstate(all="ignore"):  # what is not finite proves nothing
        for sweeps in SWEEPS:
            hitting.cycle(sweeps)
            cycles += 1
            if cycles >= FIRST_CHECK:
                c = -hitting.drift(places.marks)
            if c > SHARP:
                break
        places.spread_over(pi, x)
        if not (c > 0.0 and math.isfinite(c)):
            return GridBound(math.inf, c, cycles, hitting.nbytes)
        off, mass, low = hitting.misfit(layout, places.marks, x)
    rounded_up = 1.0 + 8.0 * (x.size + 8) * U
    distance = off / c * rounded_up + abs((mass - 1.0) + low) + 4.0 * U
    distance = min(distance, 1.0) if math.isfinite(distance) else math.inf
    return GridBound(distance, c, cycles, hitting.nbytes)


class _HittingTimes:
    """Mean costs on the way to the likeliest state, by multigrid."""

    def __init__(self, layout: Layout, axes: Sequence[Sequence[bool]], pi: Vector) -> None:
        grid, rates = layout.out
        self.reference = int(np.argmax(pi))
        self.h, self.costs = np.zeros(grid.size), np.empty(grid.size, dtype=np.float32)
        largest = float(pi.max())
        continue_tails(layout, pi)
        raised = TAIL, LEAST * largest, largest, pi, self.costs
        bound_kernel(proof_kernels.costs_and_weights, *raised)()
        self.fine = _Fine(grid, rates, self.reference, pi, self.costs, self.h)
        self.levels: list[_Coarse] = []
        level: _Fine | _Coarse = self.fine
        leak = float(pi[self.reference]) * self.fine.leak
        for along in axes:
            coarse, halving = halved(level.grid, along)
            level = _Coarse(coarse, halving, level, leak)
            self.levels.append(level)
        self.rest = _Direct(level)

    @property
    def nbytes(self) -> int:
        """Bytes of the large arrays."""
        levels = sum(level.nbytes for level in self.levels)
        return self.h.nbytes + self.costs.nbytes + levels

    def cycle(self, sweeps: int, depth: int = 0) -> None:
        """Improve h by one cycle, with so many sweeps on each level before and after."""
        level = self.levels[depth - 1] if depth else self.fine
        if depth == len(self.levels):
            self.rest.solve()
            return
        below = self.levels[depth]
        for _ in range(sweeps):
            level.forward()
        below.enter()
        below.x[:] = 0.0
        for _ in range(2 if level.grid.size > TWICE * below.grid.size else 1):
            self.cycle(sweeps, depth + 1)
        below.add()
        for _ in range(sweeps):
            level.backward()

    def drift(self, marks: NDArray[np.uint8]) -> float:
        """Return the largest (Q h)(s) of a recurrent state but the reference, rounded up."""
        level = self.fine
        table = *level.lines, level.width, *level.entries, level.rates.rate
        here = np.uint64(self.reference), ONE, RECURRENT, marks, self.h
        return float(bound_kernel(proof_kernels.drift, *table, *here)())

    def misfit(
        self, layout: Layout, marks: NDArray[np.uint8], x: Vector
    ) -> tuple[float, float, float]:
        """Return sum |(x Q)(s)| h(s) over recurrent states, and the sum of x in two parts."""
        level, rates = Level(layout.into[0], x, fast=False), layout.into[1]
        table = *level.lines, level.width, *level.entries, rates.rate, rates.exit_rate
        least = float(self.h[self.reference])
        arguments = *table, least, ONE, RECURRENT, marks, self.h, x
        off, mass, low = bound_kernel(proof_kernels.misfit, *arguments)()
        return float(off), float(mass), float(low)


class _Fine(Level):
    """The equations Q h = -w, with a leak in the reference."""

    def __init__(
        self,
        grid: Grid,
        rates: Rates,
        reference: int,
        pi: Vector,
        w: NDArray[np.float32],
        h: Vector,
    ) -> None:
        super().__init__(grid, h, fast=grid.size >= LARGE)
        self.rates, self.reference = rates, reference
        cell, slot = divmod(reference, grid.width)
        kind = grid.rows[grid.row_kind[cell // grid.shape[-1]], cell % grid.shape[-1]]
        self.leak = float(rates.exit_rate[kind * grid.width + slot])
        with np.errstate(divide="ignore"):
            scale = np.where(rates.exit_rate > 0.0, 1.0 / rates.exit_rate, 0.0)
        table = *self.lines, self.cells, self.width, *self.entries, rates.rate
        here = scale, np.uint64(reference), 0.5 / self.leak, ONE
        self.forward = bound_kernel(proof_kernels.relax_rates, *table, *here, False, w, h)
        self.backward = bound_kernel(proof_kernels.relax_rates, *table, *here, True, w, h)
        self._pi, self._w, self._table = pi, w, table

    def restriction(self, halving: Halving, coarse: Level, values: Vector) -> Callable[[], None]:
        """Return what sums the flows between the cells of the next level."""
        parts = Parts(self.grid, halving, by_source=True)
        return self.sum_rates(halving, coarse, values, parts, self.rates.rate, self._pi)

    def entering(self, halving: Halving, coarse: Level, right: Vector) -> Callable[[], None]:
        """Return what sums what is left of the equations."""
        parent = _parents(halving)
        place = *parent, coarse.cells, np.uint64(self.reference), self.leak, ONE
        vectors = self._pi, self._w, self.x, right
        return bound_kernel(proof_kernels.leave_rates, *self._table, *place, *vectors)


class _Coarse(Level):
    """The equations of the aggregates, for what is to be added to each."""

    def __init__(self, grid: Grid, halving: Halving, fine: _Fine | _Coarse, leak: float) -> None:
        super().__init__(grid, np.ones(grid.size), fast=fine.fast)
        self.reference: int = _cell_of(fine.reference, fine.grid, halving, grid)
        self.leak = leak
        self.values = np.empty(int(grid.value_begin[-1]))
        self.right, self.scale = np.zeros(grid.size), np.empty(grid.size)
        self.value_begin = unsigned(grid.value_begin)
        fine.restriction(halving, self, self.values)()
        here = np.uint64(self.reference), leak, ONE
        place = *self.lines, self.width, self.entries[0], *here, self.values, self.scale
        bound_kernel(proof_kernels.row_sums, *place)()
        self.enter = fine.entering(halving, self, self.right)
        rows = np.uint64(len(fine.grid.row_kind))
        place = rows, fine.cells, self.width, *_parents(halving), self.cells, ONE
        self.add = bound_kernel(proof_kernels.add, *place, self.x, fine.x)
        table = *self.lines, self.cells, self.width, *self.entries, self.value_begin, self.values
        own = self.scale, ONE
        vectors = self.right, self.x
        self.forward = bound_kernel(proof_kernels.relax, *table, *own, False, *vectors)
        self.backward = bound_kernel(proof_kernels.relax, *table, *own, True, *vectors)

    @property
    def nbytes(self) -> int:
        """Bytes of its large arrays."""
        return self.values.nbytes + self.scale.nbytes + self.x.nbytes + self.right.nbytes

    def restriction(self, halving: Halving, coarse: Level, values: Vector) -> Callable[[], None]:
        """Return what sums the flows between the cells of the next level."""
        parts = Parts(self.grid, halving, by_source=True)
        own = self.value_begin, self.values, self.x  # all ones at that time
        return self.sum_flows(halving, coarse, values, parts, *own)

    def entering(self, halving: Halving, coarse: Level, right: Vector) -> Callable[[], None]:
        """Return what sums what is left of the equations."""
        table = *self.lines, self.width, *self.entries, self.values, *_parents(halving)
        here = coarse.cells, np.uint64(self.reference), self.leak, ONE
        return bound_kernel(proof_kernels.leave, *table, *here, self.right, self.x, right)


class _Direct:
    """The last level, by sparse LU."""

    def __init__(self, level: _Fine | _Coarse) -> None:
        self.level, grid = level, level.grid
        if isinstance(level, _Coarse):
            values, scale = level.values, level.scale
        else:
            values, scale = level.spelt_out(level.rates.rate, level.rates.exit_rate)
            scale[level.reference] = 0.5 / level.leak
        indptr, indices = level.pattern()
        jumps = sp.csr_matrix((values, indices, indptr), shape=(grid.size, grid.size))
        matrix = sp.eye_array(grid.size) - sp.diags_array(scale) @ jumps
        self.scale, self.factors = scale, splu(sp.csc_matrix(matrix))

    def solve(self) -> None:
        """Solve the level's equations."""
        level = self.level
        right = level.right if isinstance(level, _Coarse) else level._w
        level.x[:] = self.factors.solve(self.scale * right)


def _parents(halving: Halving) -> tuple[NDArray[np.uint64], np.uint64]:
    """Return the coarse row of each row, and by how many bits a cell's number is shifted."""
    rows = halving.child_rows
    parent = np.zeros(int(rows.max()) + 1, dtype=np.int64)
    for column in rows.T:
        inside = column >= 0
        parent[column[inside]] = np.flatnonzero(inside)
    return unsigned(parent), np.uint64(halving.last - 1)


def _cell_of(state: int, fine: Grid, halving: Halving, coarse: Grid) -> int:
    """Return the coarse state that a state is a part of."""
    cell, slot = divmod(state, fine.width)
    row, last = divmod(cell, fine.shape[-1])
    parent = int(np.flatnonzero((halving.child_rows == row).any(axis=1))[0])
    return (parent * coarse.shape[-1] + last // halving.last) * coarse.width + slot
