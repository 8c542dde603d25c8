"""The levels of multigrid on grids of cells: tables for the kernels, and one step down or up.

`Finest` has its rates by kind of cell, a `Coarse` level flows of its own, in one array.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.kernels import shape_of
from markov.methods import compiled
from markov.stencils import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from markov.stencils.coarsening import Halving
    from markov.stencils.grids import Grid, Rates

__all__ = ["Coarse", "Finest"]

ONE = np.uint64(1)
NONE = np.uint64(2**64 - 1)
STRONG = 0.5  # of the largest flow: axes along which cells are joined


def run(kernel: Callable[..., Any], *arguments: Any) -> Any:
    """Run a kernel, compiled."""
    return compiled(kernel, shape_of(arguments))(*arguments)


def whole(array: Any) -> NDArray[np.uint64]:
    """Return whole numbers as the kernels take them: negative ones wrap."""
    return np.ascontiguousarray(np.asarray(array).astype(np.uint64))


class _Level:
    """What both sorts of levels have: a grid, its tables, and one number for each state."""

    own = True

    def __init__(self, grid: Grid, x: NDArray[np.float64]) -> None:
        self.grid, self.x = grid, x
        first, starts, numbers = grid.segments
        ends = np.append(starts[1:], 0)
        ends[first[1:] - 1] = grid.shape[-1]
        places = map(whole, (grid.row_kind, first, starts, ends, numbers))
        self.cells = np.uint64(grid.shape[-1])
        self.where = (*places, self.cells)
        self.width = np.uint64(grid.width)
        self.rows, self.counts = whole(grid.rows), whole(grid.counts)
        self.begin, self.step = whole(grid.begin), whole(grid.step)
        self.value_begin = whole(grid.value_begin) if self.own else whole([0])

    @property
    def flows(self) -> NDArray[np.float64]:
        """What flows into states per unit of x of the source: of each entry, or of each kind's."""
        raise NotImplementedError

    def strong_axes(self) -> tuple[bool, ...]:
        """Return along which axes states exchange most, as x is now."""
        found = np.zeros(len(self.step))
        place = self.where[0], self.rows, self.width, self.begin, self.step
        run(kernels.entry_flows, self.own, *place, self.flows, ONE, self.x, found)
        steps = [e.step for kind in self.grid.kinds for state in kind for e in state]
        moved = (np.array(steps).reshape(len(found), -1) != 0) * (np.array(self.grid.shape) > 1)
        carried = found @ moved
        return tuple((carried >= STRONG * carried.max()) & (np.array(self.grid.shape) > 1))


class Finest(_Level):
    """The chain itself; x are probabilities."""

    own = False

    def __init__(self, grid: Grid, rates: Rates, x: NDArray[np.float64]) -> None:
        super().__init__(grid, x)
        self.rates = rates
        counts = np.diff(grid.begin)
        widest = max(int(counts.max()), 1)
        self.states, self.entries = (0,) * grid.width, (0,) * widest
        self._entry = np.full((len(counts), widest), -1)
        for state, (begin, count) in enumerate(zip(grid.begin[:-1], counts, strict=True)):
            self._entry[state, :count] = begin + np.arange(count)
        shape = len(grid.kinds), grid.width, widest
        inside = self._entry >= 0
        self.padded_step = whole(np.where(inside, np.append(grid.step, 0)[self._entry], 0)).reshape(
            shape
        )
        self.rate = np.where(inside, np.append(rates.rate, 0.0)[self._entry], 0.0).reshape(shape)
        self.exit_rate = rates.exit_rate.reshape(shape[:2])
        with np.errstate(divide="ignore"):
            self.scale = np.where(self.exit_rate > 0.0, 1.0 / self.exit_rate, 0.0)
        self._table = *self.where, self.padded_step, self.rate

    @property
    def flows(self) -> NDArray[np.float64]:
        """The rate of each entry of each kind."""
        return self.rates.rate

    def sweep(self, *, backward: bool) -> None:
        """Balance each state in turn."""
        tail = self.states, self.entries, backward, ONE, self.x
        run(kernels.sweep_rates, *self._table, self.scale, *tail)

    def mark_reachable(self, start: int) -> None:
        """Set x to one in the states that a state leads to, and to zero in all others."""
        self.x[:] = 0.0
        self.x[start] = 1.0
        found, backward = 1, False
        idle = 0
        while idle < 2:
            tail = self.states, self.entries, backward, ONE, self.x
            found = run(kernels.spread, *self._table, *tail)
            idle = 0 if found else idle + 1
            backward = not backward

    def residual(self) -> float:
        """Return ||pi Q||_1 / ||pi |Q| ||_1."""
        tail = self.states, self.entries, ONE, self.x
        off, flow = run(kernels.balance, *self._table, self.exit_rate, *tail)
        return 0.5 * off / flow

    def restricted(self, halving: Halving) -> Callable[[Coarse], None]:
        """Return what sums the flows between the cells of the next level."""
        kinds, children = halving.children.shape
        shape = kinds, children, self.grid.width, len(self.entries)
        place, share = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        for kind, q in np.argwhere(halving.children >= 0).tolist():
            child = halving.children[kind, q]
            own = self._entry[child * self.grid.width : (child + 1) * self.grid.width]
            begin = halving.map_begin[kind, q] - self.grid.begin[child * self.grid.width]
            target = np.append(halving.target, -1)[np.where(own >= 0, begin + own, -1)]
            place[kind, q] = np.maximum(target, 0)
            share[kind, q] = np.where(target >= 0, self.rate[child], 0.0)
        joined = _Joined(halving)
        table = *joined.children, whole(place), share, joined.last, self.cells, self.padded_step
        sizes = self.states, self.entries

        def restrict(coarse: Coarse) -> None:
            run(kernels.restrict_rates, *table, *sizes, self.x, *coarse.into)

        return restrict


class Coarse(_Level):
    """Cells made of cells; x are the factors by which their flows are to change."""

    def __init__(self, grid: Grid, halving: Halving, fine: _Level) -> None:
        super().__init__(grid, np.ones(grid.size))
        self.halving, self.fine = halving, fine
        self.values = np.zeros(int(grid.value_begin[-1]))
        self.scale = np.ones(grid.size)
        joined = _Joined(halving)
        sizes = joined.last, fine.cells, self.cells, self.width
        self._up = joined.children[0], joined.children[1], *sizes, self.x, ONE
        self.into = self.where[0], self.rows, self.counts, self.value_begin, ONE, self.values
        self._restrict = fine.restricted(halving)  # type: ignore[attr-defined]

    @property
    def flows(self) -> NDArray[np.float64]:
        """The flow of each entry."""
        return self.values

    @property
    def nbytes(self) -> int:
        """Bytes of its large arrays."""
        return self.values.nbytes + self.scale.nbytes + self.x.nbytes

    def restrict(self) -> None:
        """Sum the flows of the finer level, and begin with all factors one."""
        self._restrict(self)
        place = *self.where, self.width, self.begin, self.step
        run(kernels.outflows, *place, self.values, self.scale, ONE, self.x)

    def prolong(self) -> None:
        """Multiply the finer level's x by the factors."""
        run(kernels.prolong, *self._up, self.fine.x)

    def sweep(self, *, backward: bool) -> None:
        """Balance each state in turn."""
        place = *self.where, self.width, self.begin, self.step, self.value_begin
        run(kernels.sweep, *place, self.values, self.scale, backward, ONE, self.x)

    def restricted(self, halving: Halving) -> Callable[[Coarse], None]:
        """Return what sums the flows between the cells of the next level."""
        joined = _Joined(halving)
        table = *joined.children, whole(halving.map_begin), whole(halving.target), NONE, joined.last
        sizes = self.cells, self.width, self.begin, self.step, self.value_begin

        def restrict(coarse: Coarse) -> None:
            run(kernels.restrict, *table, *sizes, self.values, self.x, *coarse.into)

        return restrict


class _Joined:
    """The rows and kinds of cells that make up coarse ones, as the kernels take them."""

    def __init__(self, halving: Halving) -> None:
        rows = halving.child_rows
        present = rows >= 0
        self.children = whole(np.where(present, rows, 0)), present, whole(halving.children)
        self.last = np.uint64(2 if halving.axes[-1] else 1)
