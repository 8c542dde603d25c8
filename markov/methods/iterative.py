"""pi Q = 0 by iteration on the jump chain: ordered Gauss-Seidel and power.

The unknown is the flow y(x) = pi(x) q(x) out of each state, q(x) being its exit rate: y = y P with
the transition matrix P of the jump chain, whose diagonal is zero. Badly scaled rates drop out, and
Gauss-Seidel and power steps are sums of products of non-negative numbers. The relative residual
||pi Q||_1 / ||pi |Q|||_1 is ||y P - y||_1 / (2 ||y||_1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from hopflow.checks import choice, number, one_number, whole
from hopflow.kernels import shape_of
from markov.computing.compilation import compiled
from markov.computing.progress import report
from markov.methods.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["GaussSeidel", "Power"]

SWEEPS_AT_ONCE = 10
STEPS_AT_ONCE = 50


@dataclass(frozen=True)
class GaussSeidel:
    """Gauss-Seidel on the jump chain, a forward and a backward sweep per iteration.

    Each state in turn gets the flow that its predecessors send it. Entries stay non-negative. An
    iteration costs two passes over the transitions; the number of iterations depends on the ordering
    and grows with the size of the chain. Forward sweeps alone may cycle for ever. Use it for large
    sparse chains where elimination fills in. A compiled kernel where Numba is installed.

    Parameters
    ----------
    ordering
        ``"natural"`` (as the states are numbered), ``"cuthill-mckee"`` (along the levels of the
        graph, reversed), or ``"flow"`` (by descending likelihood after ten sweeps).
    tolerance
        Relative residual at which to stop.
    max_iterations
        Most iterations.

    Notes
    -----
    W. J. Stewart, Introduction to the Numerical Solution of Markov Chains, 1994, Sect. 3.2 and 3.4.

    Examples
    --------
    >>> from markov import MM1K, GaussSeidel, stationary
    >>> answer = stationary(MM1K(), GaussSeidel(tolerance=1e-10))
    >>> answer.residual <= 1e-10, answer.iterations > 1
    (True, True)
    """

    ordering: str = "natural"
    tolerance: float = 1e-12
    max_iterations: int = 10_000

    def __post_init__(self) -> None:
        choice("ordering", self.ordering, ("natural", "cuthill-mckee", "flow"))
        _check(self.tolerance, self.max_iterations)

    def solve(
        self,
        Q: sp.csr_matrix,
        components: Mapping[str, NDArray[np.int64]] | None = None,  # noqa: ARG002
    ) -> Solution:
        """Return pi of an irreducible generator."""
        if Q.shape[0] == 1:
            return Solution(np.ones(1))
        order = self._order(Q)
        inflow, exit_rates = _jumps(Q[order][:, order])
        flow, iterations = _relax(inflow, exit_rates, self.tolerance, self.max_iterations)
        pi = np.empty_like(flow)
        pi[order] = flow / exit_rates
        return Solution(_unit(pi), iterations, _bytes(inflow) + 3 * pi.nbytes)

    def _order(self, Q: sp.csr_matrix) -> NDArray[np.int64]:
        if self.ordering == "natural":
            return np.arange(Q.shape[0])
        if self.ordering == "cuthill-mckee":
            return reverse_cuthill_mckee(Q, symmetric_mode=False).astype(np.int64)
        inflow, exit_rates = _jumps(Q)
        flow, _ = _relax(inflow, exit_rates, 0.0, SWEEPS_AT_ONCE)
        return np.argsort(-flow, kind="stable")


@dataclass(frozen=True)
class Power:
    """Power iteration on the lazy jump chain, y <- laziness y + (1 - laziness) y P.

    Entries stay non-negative. A step costs one pass over the transitions; the number of steps is the
    mixing time of the jump chain times the logarithm of the accuracy: thousands for queues of
    moderate size. The baseline that others are measured against, and for chains that mix quickly.

    Parameters
    ----------
    laziness
        Share of the flow that stays where it is; above zero, periodic chains converge too.
    tolerance
        Relative residual at which to stop.
    max_iterations
        Most steps.

    Notes
    -----
    W. J. Stewart, Introduction to the Numerical Solution of Markov Chains, 1994, Sect. 3.1.

    Examples
    --------
    >>> from markov import MM1K, Power, stationary
    >>> answer = stationary(MM1K(), Power(tolerance=1e-8))
    >>> answer.residual <= 1e-8
    True
    """

    laziness: float = 0.1
    tolerance: float = 1e-12
    max_iterations: int = 200_000

    def __post_init__(self) -> None:
        number("laziness", self.laziness, above=0.0, below=1.0)
        _check(self.tolerance, self.max_iterations)

    def solve(
        self,
        Q: sp.csr_matrix,
        components: Mapping[str, NDArray[np.int64]] | None = None,  # noqa: ARG002
    ) -> Solution:
        """Return pi of an irreducible generator."""
        if Q.shape[0] == 1:
            return Solution(np.ones(1))
        inflow, exit_rates = _jumps(Q)
        flow = _unit(exit_rates.copy())
        steps = 0
        while True:
            moved = inflow @ flow
            done = steps >= self.max_iterations
            if done or steps % STEPS_AT_ONCE == 0:
                flow, moved = flow / flow.sum(), moved / flow.sum()
                size = 0.5 * float(np.abs(moved - flow).sum())
                report(steps, size)
                if done or size <= self.tolerance:
                    break
            flow = self.laziness * flow + (1.0 - self.laziness) * moved
            steps += 1
        return Solution(_unit(flow / exit_rates), steps, _bytes(inflow) + 4 * flow.nbytes)


def _check(tolerance: float, max_iterations: int) -> None:
    one_number("tolerance", tolerance, above=0.0, below=1.0)
    whole("max_iterations", max_iterations, 1, 10**9)


def _jumps(Q: sp.csr_matrix) -> tuple[sp.csr_matrix, NDArray[np.float64]]:
    """Return the transposed transition matrix of the jump chain, CSR, and the exit rates."""
    exit_rates = -np.asarray(Q.diagonal())
    edges = Q.tocoo()
    off = edges.row != edges.col
    rows, columns = edges.row[off], edges.col[off]
    inflow = sp.csr_matrix((edges.data[off] / exit_rates[rows], (columns, rows)), shape=Q.shape)
    return inflow, exit_rates


def _relax(
    inflow: sp.csr_matrix,
    exit_rates: NDArray[np.float64],
    tolerance: float,
    most: int,
    flow: NDArray[np.float64] | None = None,
    least: int = 0,
) -> tuple[NDArray[np.float64], int]:
    """Return the flows after Gauss-Seidel iterations, at least ``least``, and their number."""
    flow = _unit(exit_rates.copy() if flow is None else flow.copy())
    index = inflow.indptr.astype(np.int64), inflow.indices.astype(np.int64)
    sweeps = compiled(sweep_states, shape_of((*index, inflow.data, flow)))
    done = 0
    while done < most:
        if tolerance > 0.0:
            size = 0.5 * float(np.abs(inflow @ flow - flow).sum())
            report(done, size)
            if done >= least and size <= tolerance:
                break
        step = min(SWEEPS_AT_ONCE, most - done)
        sweeps(*index, inflow.data, flow, step)
        flow /= flow.sum()
        done += step
        if not np.isfinite(flow[0]):
            break
    return flow, done


def sweep_states(indptr, indices, jumps, flow, iterations):  # type: ignore[no-untyped-def]
    """Give every state the flow into it, forward and backward, in place (the template)."""
    n = len(flow)
    for _ in range(iterations):
        for position in range(2 * n):
            j = position if position < n else 2 * n - 1 - position
            total = 0.0
            for k in range(indptr[j], indptr[j + 1]):
                total += flow[indices[k]] * jumps[k]
            flow[j] = total


def _unit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(all="ignore"):  # what is not finite shows in pi, which is looked at
        scaled = values / values.max()
        total: NDArray[np.float64] = scaled / scaled.sum()
    return total


def _bytes(matrix: Any) -> int:
    return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)
