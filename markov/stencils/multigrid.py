"""pi Q = 0 by multigrid on the grid of cells of a model, without a matrix.

The algorithm is that of `markov.multilevel`: a forward sweep, a correction by the flows between
aggregates, and a backward sweep, on every level. Here the finest level takes its rates from the kinds of
cells that the rules make, and the levels below it keep nothing but the flows between cells.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from hopflow.kernels import shape_of
from markov import _multilevel_kernels
from markov.hierarchy import Hierarchy, lumped_levels
from markov.methods import compiled
from markov.progress import report
from markov.stencils.coarsening import halved
from markov.stencils.grids import Grid, Rates
from markov.stencils.levels import Coarse, Finest

__all__ = ["Multigrid"]

SMALL = 5_000  # states of the level that is left to a sparse matrix
TWICE = 2.5  # times as many states: two visits per cycle pay
FIRST_SWEEPS = 3


class Multigrid:
    """The levels of a chain on a grid; ``x`` are its probabilities, not normalized."""

    def __init__(self, grid: Grid, rates: Rates, start: int | None) -> None:
        self.finest = Finest(grid, rates, np.full(grid.size, 1.0))
        if start is not None:
            self.finest.mark_reachable(start)
        self.x = self.finest.x
        self.x /= self.x.sum()
        for _ in range(FIRST_SWEEPS):
            self.finest.sweep(backward=False)
        self.levels: list[Coarse] = []
        level: Finest | Coarse = self.finest
        while level.grid.size > SMALL:
            grid, halving = halved(level.grid, level.strong_axes())
            level = Coarse(grid, halving, level)
            level.restrict()
            self.levels.append(level)
        self.rest = _Rest(level)

    @property
    def nbytes(self) -> int:
        """Bytes of the large arrays."""
        return self.x.nbytes + sum(level.nbytes for level in self.levels) + self.rest.grid.nbytes

    def cycle(self, depth: int = 0) -> None:
        """Improve x by one cycle."""
        level = self.levels[depth - 1] if depth else self.finest
        if depth == len(self.levels):
            self.rest.solve()
            return
        level.sweep(backward=False)
        below = self.levels[depth]
        below.restrict()
        for _ in range(2 if level.grid.size > TWICE * below.grid.size else 1):
            self.cycle(depth + 1)
        below.prolong()
        level.sweep(backward=True)

    def solve(self, tolerance: float, most: int) -> tuple[int, float]:
        """Cycle to a relative residual; return the number of cycles and the residual."""
        size = np.inf
        for done in range(1, most + 1):
            self.cycle()
            self.x /= self.x.sum()
            size = self.finest.residual()
            report(done, size)
            if not size > tolerance:
                return done, size
        return most, size


class _Rest:
    """The smallest grid as a chain of its own, whose cycles are those of a sparse matrix."""

    def __init__(self, level: Finest | Coarse) -> None:
        self.level, grid = level, level.grid
        kinds = grid.rows[grid.row_kind].ravel()
        counts = np.diff(grid.begin).reshape(-1, grid.width)[kinds].ravel()
        steps = [
            grid.step[grid.begin[k * grid.width] : grid.begin[(k + 1) * grid.width]] for k in kinds
        ]
        indices = np.concatenate(steps) + np.repeat(np.arange(grid.size), counts)
        indptr = np.append(0, np.cumsum(counts))
        values = level.values if isinstance(level, Coarse) else np.zeros(len(indices))
        matrix = sp.csr_matrix((values, indices, indptr), shape=(grid.size, grid.size))
        places = np.indices((*grid.shape, grid.width)).reshape(len(grid.shape) + 1, -1)
        components = {str(n): place for n, place in enumerate(places)}
        self.grid: Hierarchy = lumped_levels(
            matrix, np.ones(grid.size), 1.0 / level.scale, components
        )

    def solve(self) -> None:
        """Run a cycle from the level's x."""
        level, grid, n = self.level, self.grid, self.level.grid.size
        grid.values[: len(level.values)] = level.values
        grid.x[:n], grid.scale[:n] = level.x, level.scale
        most = grid.first[-1] - grid.first[-2]
        dense, left = np.empty((most, most)), np.empty_like(grid.first)
        rest = grid.first, left, grid.repeats, 1, *grid[2:], dense
        helpers = (
            _multilevel_kernels.sweep,
            _multilevel_kernels.restrict,
            _multilevel_kernels.eliminate,
        )
        compiled(_multilevel_kernels.cycle, shape_of(rest), helpers=helpers)(*rest)
        level.x[:] = grid.x[:n]
