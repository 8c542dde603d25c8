"""Linear equations of a chain that ends in one state, by aggregation multigrid on frozen levels.

The unknown x balances the flows between states: x(s) times the flow out of s is right(s) plus the flows
from s to others times their x. Each level corrects the one before it by the same amount in all states
of an aggregate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from hopflow.kernels import shape_of
from markov import _multilevel_kernels as kernels
from markov.hierarchy import Hierarchy, lumped_levels, summed
from markov.methods import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Corrections", "hitting_times"]

PATIENCE = 30  # cycles of hitting times that do not halve what is left
MOST_SWEEPS = 16
ENOUGH = 0.1
SLOW = 0.8
LEAST_WEIGHT = 1e-284


class Corrections:
    """Cycles for ``(D - F) x = right`` with x(reference) = 0, D being the row sums of F.

    Parameters
    ----------
    flows
        F, shape (n, n), non-negative, no diagonal.
    reference
        The state where the way ends.
    mass
        Of the states, shape (n,): flows are strong or weak relative to it.
    components
        As for the methods.

    Raises
    ------
    numpy.linalg.LinAlgError
        When, to rounding, the reference is not reached.
    """

    def __init__(
        self,
        flows: sp.csr_matrix,
        reference: int,
        mass: NDArray[np.float64],
        components: Mapping[str, NDArray[np.int64]] | None,
    ) -> None:
        n = flows.shape[0]
        rows = np.repeat(np.arange(n), np.diff(flows.indptr))
        ends = (flows.indices == reference) | (rows == reference)
        absorbed = summed(rows[ends], flows.data[ends], n)
        inner = rows[~ends], flows.indices[~ends]
        self.matrix = sp.csr_matrix((flows.data[~ends], inner), shape=(n, n))
        self.reference = reference
        self.grid = lumped_levels(self.matrix, np.ones(n), mass, components)
        self.inverse = _lumped(self.grid, absorbed)
        self.leaving = 1.0 / self.grid.scale[:n]
        self._right = np.zeros(len(self.grid.x))
        self._left = np.empty_like(self.grid.first)
        arguments = self._arguments(1)
        self._run = compiled(kernels.correct, shape_of(arguments), helpers=(kernels.relax,))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.grid.nbytes + self._right.nbytes + self.leaving.nbytes

    def start(self, right: NDArray[np.float64]) -> None:
        """Begin with x = 0 for another right-hand side, shape (n,)."""
        n = len(right)
        self._right[:n] = right
        self._right[self.reference] = 0.0
        self.grid.x[:n] = 0.0

    def cycle(self, sweeps: int = 1) -> NDArray[np.float64]:
        """Return x after one more cycle, shape (n,), not a copy."""
        self._run(*self._arguments(sweeps))
        x: NDArray[np.float64] = self.grid.x[: len(self.leaving)]
        return x

    def _arguments(self, sweeps: int) -> tuple[Any, ...]:
        grid = self.grid
        index = grid.first, self._left, grid.repeats, sweeps, grid.indptr, grid.indices
        return *index, grid.values, grid.parent, grid.scale, grid.x, self._right, self.inverse

    def rest(self) -> NDArray[np.float64]:
        """Return what is left of the equations, shape (n,)."""
        n = len(self.leaving)
        x = self.grid.x[:n]
        left: NDArray[np.float64] = self._right[:n] + self.matrix @ x - self.leaving * x
        return left


def hitting_times(
    Q: sp.csr_matrix,
    pi: NDArray[np.float64],
    reference: int,
    costs: NDArray[np.float64],
    components: Mapping[str, NDArray[np.int64]] | None = None,
) -> NDArray[np.float64]:
    """Return h with h(reference) = 0 and (Q h)(x) near -costs(x) elsewhere: the mean costs on the way.

    Parameters
    ----------
    Q
        Irreducible generator, shape (n, n), rates in 1/s.
    pi
        Approximate stationary vector, shape (n,), by which equations are weighted when aggregates
        sum them.
    reference
        Where the way ends.
    costs
        Per second, shape (n,), > 0; all one: h are mean hitting times in s.
    components
        As for the methods.

    Returns
    -------
    shape (n,)
        A few decimals are right in the norm max_x |(Q h)(x) + costs(x)| / costs(x), unless the cycles
        came to a stop before or met a matrix that is singular to rounding (NaN): the caller is to
        look.
    """
    n = len(pi)
    weight = np.maximum(pi, LEAST_WEIGHT)
    rows = np.repeat(np.arange(n), np.diff(Q.indptr))
    off = rows != Q.indices
    rows, columns = rows[off], Q.indices[off]
    flows = sp.csr_matrix((Q.data[off] * weight[rows], (rows, columns)), shape=(n, n))
    mass = -np.asarray(Q.diagonal()) * weight
    try:
        corrections = Corrections(flows, reference, mass, components)
    except np.linalg.LinAlgError:
        return np.full(n, np.nan)
    wanted = costs * weight
    corrections.start(wanted)
    wanted[reference] = np.inf
    size = least = np.inf
    sweeps, since = 1, 0
    while since < PATIENCE:
        h = corrections.cycle(sweeps)
        before, size = size, float(np.abs(corrections.rest() / wanted).max())
        if not ENOUGH < size < np.inf:
            break
        least, since = (size, 0) if size < 0.5 * least else (least, since + 1)
        if size > SLOW * before:
            sweeps = min(2 * sweeps, MOST_SWEEPS)
    h = h.copy()
    h[reference] = 0.0
    return h


def _lumped(grid: Hierarchy, absorbed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the flows from level to level, once for all; return the inverse on the last one."""
    for level in range(len(grid.first) - 1):
        low, high = grid.first[level : level + 2]
        bounds = grid.indptr[low : high + 1]
        part = slice(bounds[0], bounds[-1])
        flows = grid.values[part], grid.indices[part].astype(np.int64) - low, bounds - bounds[0]
        matrix = sp.csr_matrix(flows, shape=(high - low, high - low))
        leaving = matrix @ np.ones(high - low) + absorbed
        if level < len(grid.first) - 2:
            end = grid.first[level + 2]
            grid.x[low:high] = 1.0
            index = low, high, end, grid.indptr, grid.indices
            arguments = *index, grid.values, grid.target, grid.scale, grid.x
            compiled(kernels.restrict, shape_of(arguments))(*arguments)
            absorbed = summed(grid.parent[low:high] - high, absorbed, end - high)
        grid.scale[low:high] = 1.0 / leaving
    jumps = matrix.toarray() / leaving[:, None]
    inverse: NDArray[np.float64] = np.linalg.inv(np.eye(len(jumps)) - jumps) / leaving
    return inverse
