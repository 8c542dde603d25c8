"""The jump chain, on which iterative methods work, and the common base of these methods.

The unknown is the flow y(x) = pi(x) q(x) out of each state, q(x) being its exit rate: y = y P with
the transition matrix P of the jump chain, whose diagonal is zero. Badly scaled rates drop out, and
Gauss-Seidel and power steps are sums of products of non-negative numbers. The relative residual
||pi Q||_1 / ||pi |Q|||_1 is ||y P - y||_1 / (2 ||y||_1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.kernels import make_kernel
from markov.computing.resources import report_residual
from markov.methods.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from markov.multigrid.hierarchy import Hierarchy

__all__ = [
    "Flows",
    "Iteration",
    "JumpChain",
    "jump_chain_of",
    "matrix_bytes",
    "normalize",
    "relax",
    "sweep_states",
]

SWEEPS_AT_ONCE = 10


class JumpChain(NamedTuple):
    """The jump chain of an irreducible generator: its transposed transition matrix and the exit rates.

    Attributes
    ----------
    inflow
        Its transposed transition matrix, shape (n, n).
    exit_rates
        Shape (n,), in 1/s.
    components
        The value of each component of a model's state, shape (n,) each, where they are known.
    """

    inflow: sp.csr_matrix
    exit_rates: NDArray[np.float64]
    components: Mapping[str, NDArray[np.int64]] | None = None


class Flows(NamedTuple):
    """Result of an iteration on the jump chain: the flow out of each state, iterations, memory and levels.

    Attributes
    ----------
    flow
        Out of each state, up to a factor; shape (n,).
    iterations
        Number of iterations.
    memory
        Bytes of its arrays beside Q.
    hierarchy
        Levels of a multigrid method, otherwise None.
    """

    flow: NDArray[np.float64]
    iterations: int
    memory: int
    hierarchy: Hierarchy | None = None


class Iteration:
    """Base class of methods that compute flows on the jump chain: it converts their result to pi."""

    tolerance: float
    max_iterations: int

    def solve(self, Q: sp.csr_matrix, components: Mapping[str, NDArray[np.int64]] | None = None) -> Solution:
        """Return pi of an irreducible generator, from the flows that the method computes on its jump chain."""
        if Q.shape[0] == 1:
            return Solution(np.ones(1))
        chain = jump_chain_of(Q, components)
        result = self.flows(chain)
        pi = normalize(result.flow / chain.exit_rates)
        return Solution(pi, result.iterations, result.memory, hierarchy=result.hierarchy)

    def flows(self, chain: JumpChain) -> Flows:
        """Return the probability flow out of each state (pi times exit rate), up to a factor; methods define it."""
        raise NotImplementedError


def jump_chain_of(Q: sp.csr_matrix, components: Mapping[str, NDArray[np.int64]] | None = None) -> JumpChain:
    """Return the jump chain of a generator, with the components of the states."""
    exit_rates = -np.asarray(Q.diagonal())
    edges = Q.tocoo()
    off = edges.row != edges.col
    rows, columns = edges.row[off], edges.col[off]
    inflow = sp.csr_matrix((edges.data[off] / exit_rates[rows], (columns, rows)), shape=Q.shape)
    return JumpChain(inflow, exit_rates, components)


def relax(
    inflow: sp.csr_matrix,
    exit_rates: NDArray[np.float64],
    tolerance: float,
    max_iterations: int,
    flow: NDArray[np.float64] | None = None,
    min_iterations: int = 0,
) -> tuple[NDArray[np.float64], int]:
    """Return the flows after Gauss-Seidel sweeps to a tolerance of the residual, and the number of iterations.

    After ``max_iterations``, or with flows that are not finite, they are returned as they are: the caller checks them.
    With tolerance 0 there are always ``max_iterations``.
    """
    flow = normalize(exit_rates.copy() if flow is None else flow.copy())
    index = inflow.indptr.astype(np.int64), inflow.indices.astype(np.int64)
    sweeps = make_kernel(sweep_states)
    done = 0
    while done < max_iterations:
        if tolerance > 0.0:
            size = 0.5 * float(np.abs(inflow @ flow - flow).sum())
            report_residual(done, size)
            if done >= min_iterations and size <= tolerance:
                break
        step = min(SWEEPS_AT_ONCE, max_iterations - done)
        sweeps(*index, inflow.data, flow, step)
        flow /= flow.sum()
        done += step
        if not np.isfinite(flow[0]):
            break
    return flow, done


def sweep_states(indptr, indices, jumps, flow, iterations):  # type: ignore[no-untyped-def]
    """Set the flow of each state to the flow into it, forward and backward, ``iterations`` times, in place."""
    n = len(flow)
    for _ in range(iterations):
        for position in range(2 * n):
            j = position if position < n else 2 * n - 1 - position
            total = 0.0
            for k in range(indptr[j], indptr[j + 1]):
                total += flow[indices[k]] * jumps[k]
            flow[j] = total


def normalize(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return non-negative values divided by their sum, without overflow on the way."""
    with np.errstate(all="ignore"):  # the driver checks whether pi is finite
        scaled = values / values.max()
        total: NDArray[np.float64] = scaled / scaled.sum()
    return total


def matrix_bytes(matrix: Any) -> int:
    """Return the number of bytes of the three arrays of a sparse matrix."""
    return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)
