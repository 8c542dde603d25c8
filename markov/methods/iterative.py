"""pi Q = 0 by iteration on the jump chain: ordered Gauss-Seidel and power."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from hopflow.parameters import param, validate_parameters
from markov.computing.resources import report_residual
from markov.methods.jump_chain import (
    SWEEPS_AT_ONCE,
    Flows,
    Iteration,
    JumpChain,
    matrix_bytes,
    normalize,
    relax,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GaussSeidel", "Power"]

STEPS_AT_ONCE = 50


@validate_parameters
@dataclass(frozen=True)
class GaussSeidel(Iteration):
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

    ordering: str = param("natural", choices=("natural", "cuthill-mckee", "flow"))
    tolerance: float = param(1e-12, above=0.0, below=1.0)
    max_iterations: int = param(10_000, at_least=1, at_most=10**9)

    def flows(self, chain: JumpChain) -> Flows:
        """Return the probability flow out of each state (pi times exit rate), up to a factor, by Gauss-Seidel."""
        inflow, exit_rates, _ = chain
        order = self._order(inflow, exit_rates)
        ordered, exits = inflow[order][:, order], exit_rates[order]
        flow = np.empty_like(exit_rates)
        flow[order], iterations = relax(ordered, exits, self.tolerance, self.max_iterations)
        return Flows(flow, iterations, matrix_bytes(inflow) + 3 * flow.nbytes)

    def _order(self, inflow: sp.csr_matrix, exit_rates: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the states in the order in which sweeps pass them, by the option ``ordering``, shape (n,)."""
        if self.ordering == "natural":
            return np.arange(len(exit_rates))
        if self.ordering == "cuthill-mckee":
            from scipy.sparse.csgraph import reverse_cuthill_mckee

            return reverse_cuthill_mckee(inflow, symmetric_mode=False).astype(np.int64)
        flow, _ = relax(inflow, exit_rates, 0.0, SWEEPS_AT_ONCE)
        return np.argsort(-flow, kind="stable")


@validate_parameters
@dataclass(frozen=True)
class Power(Iteration):
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

    laziness: float = param(0.1, above=0.0, below=1.0)
    tolerance: float = param(1e-12, above=0.0, below=1.0)
    max_iterations: int = param(200_000, at_least=1, at_most=10**9)

    def flows(self, chain: JumpChain) -> Flows:
        """Return the probability flow out of each state (pi times exit rate), up to a factor, by power iteration."""
        inflow, exit_rates, _ = chain
        flow = normalize(exit_rates.copy())
        steps = 0
        while True:
            moved = inflow @ flow
            done = steps >= self.max_iterations
            if done or steps % STEPS_AT_ONCE == 0:
                flow, moved = flow / flow.sum(), moved / flow.sum()
                size = 0.5 * float(np.abs(moved - flow).sum())
                report_residual(steps, size)
                if done or size <= self.tolerance:
                    break
            flow = self.laziness * flow + (1.0 - self.laziness) * moved
            steps += 1
        return Flows(flow, steps, matrix_bytes(inflow) + 4 * flow.nbytes)
