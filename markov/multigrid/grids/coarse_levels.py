"""The coarse levels of multigrid on grids of cells: flows of their own, in one array, and one step down or up."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.multigrid.grids.levels import CYCLIC_CELL_SWEEPS, Level
from markov.multigrid.grids.loops import flow_kernels, sweep_kernels, unrolled, vector_kernels
from markov.multigrid.grids.loops.tables import as_unsigned
from markov.multigrid.grids.parts import Parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.multigrid.grids.coarsening import Aggregation
    from markov.multigrid.grids.grids import Grid
    from markov.multigrid.grids.levels import Finest

    Vector = NDArray[np.float64]

__all__ = ["Coarse"]

MAX_CELLS_WITHOUT_OVERCORRECTION = 4  # that become one: where more do, corrections fall short


class Coarse(Level):
    """Cells made of cells; x are the factors by which their flows are to change."""

    def __init__(self, grid: Grid, aggregation: Aggregation, fine: Finest | Coarse) -> None:
        x = np.ones(grid.size)
        super().__init__(grid, x, unroll=fine.unroll, repeats=CYCLIC_CELL_SWEEPS, team=fine.team)
        self.values = np.zeros(int(grid.value_begin[-1]))
        self.scale = np.ones(grid.size)
        self._reset = self.on_states(vector_kernels.reset, self.scale, self.x)
        self._invert = self.on_states(vector_kernels.invert, self.scale)
        self._overcorrect = self.on_states(vector_kernels.overcorrect, self.x)
        factors = aggregation.factors
        self._overcorrects = max(factors) > 2 or math.prod(factors) > MAX_CELLS_WITHOUT_OVERCORRECTION
        self._prolong = self.by_rows(
            flow_kernels.prolong,
            self.cells,
            fine.children(aggregation),
            self.unroll,
            self.x,
            fine.x,
            unrolled=unrolled.prolong(grid.width, aggregation.last) if self.unroll else "pass",
        )
        self._restrict = fine.restriction(aggregation, self, self.values)
        flow_arguments = self.cells, self.frequent, self.values, self.scale
        text = unrolled.outflows(self.patterns)
        self._outflows = self.by_rows(flow_kernels.outflows, *flow_arguments, unrolled=text)
        slot_sources = np.vstack([fine.sources.reshape(-1, grid.width), np.zeros(grid.width)])
        self.sources: Vector = slot_sources[aggregation.children].sum(axis=1).ravel()
        begin = as_unsigned(grid.segment_begin), self.cells.value_begin
        equations = *begin, self.values, self.scale, self.sources
        self.forward, self.backward = self.sweeps(sweep_kernels.cells_by_flows, equations)

    @property
    def nbytes(self) -> int:
        """Bytes of its large arrays."""
        return self.values.nbytes + self.scale.nbytes + self.x.nbytes

    def strong_axes(self) -> tuple[bool, ...]:
        """Return along which axes states exchange most."""
        return self.strong(self.flows_by_entry(True, self.values))

    def prolong(self) -> None:
        """Multiply each state of the finer level by the factor of its cell.

        Where more than two cells along an axis became one, or more than four, the factor is raised to
        the power 1.25: corrections that are constant on wide cells fall short (Braess, Computing 55, 1995,
        nearly doubles those of V-cycles; in W-cycles with three cells along an axis 1.25 takes the fewest
        cycles, measured).
        """
        if self._overcorrects:
            self._overcorrect()
        self._prolong()

    def restrict(self) -> None:
        """Sum the flows of the finer level, and begin with all factors one."""
        self._restrict()
        self._reset()
        self._outflows()
        self._invert()

    def restriction(self, aggregation: Aggregation, coarse: Level, values: Vector) -> Callable[[], Any]:
        """Return what sums the flows between the cells of the next level."""
        parts = Parts(self.grid, aggregation)
        return self.sum_flows(coarse, values, parts, self.values, self.x)
