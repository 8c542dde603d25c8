"""pi Q = 0 by aggregation multigrid: sweeps on every scale of the chain.

The unknown is the flow y out of each state, y = y P with the transition matrix P of the jump chain,
as in `markov.methods.jump_chain`. Neighbouring states form aggregates. The flows between them,
sum_x sum_z y(x) P(x, z), form a smaller chain; its solution c has the factor by which the flow of
each aggregate changes: y(x) <- y(x) c(aggregate of x). It is computed in the same way, down to about ten
aggregates, which are eliminated without subtractions. Only products, sums and quotients of positive
numbers occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from hopflow.kernels import make_kernel
from hopflow.parameters import param, validate_parameters
from markov.computing.resources import report_residual
from markov.methods.jump_chain import Flows, Iteration, JumpChain, matrix_bytes, relax
from markov.multigrid.cycle import GROWTH_FACTOR, MIN_ENTRY_SHARE, StoppingRule, best_shares
from markov.multigrid.hierarchy import Hierarchy, build_hierarchy
from markov.multigrid.kernels import aggregation_kernels as kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Multilevel"]

FIRST_SWEEPS = 3
N_FORMER_ITERATES = 2  # former iterates to combine with
COMBINE_FACTOR = 0.5  # residual per cycle beyond which iterates are combined
SLOW_FACTOR = 0.6  # and beyond which, three times in a row, sweeps double
SLOW_CYCLES_IN_A_ROW = 3
MAX_SWEEPS = 16


@validate_parameters
@dataclass(frozen=True)
class Multilevel(Iteration):
    """Aggregation multigrid: the number of cycles hardly depends on the size of the chain.

    Where the components of a model's state are known, aggregates are pairs of values of those
    components that change most and by steps of one; otherwise, groups of states that exchange most.
    A cycle sweeps forward, corrects by the aggregates (twice where there are far fewer of them than
    states), and sweeps backward. The last iterates are combined to the least residual; where cycles
    gain little all the same, they sweep more often. Use it for large chains. A compiled kernel where
    Numba is installed.

    Parameters
    ----------
    geometric
        False groups the states by their flows also where components are known.
    tolerance
        Relative residual at which to stop.
    max_iterations
        Most cycles. A chain on which thirty in a row gain nothing is given up.

    Notes
    -----
    G. Horton, S. T. Leutenegger, A multi-level solution algorithm for steady-state Markov chains,
    SIGMETRICS 1994; combined iterates: T. Washio, C. W. Oosterlee, Krylov subspace acceleration for
    nonlinear multigrid schemes, ETNA 6, 1997. Probabilities below 1e-280 are held there.

    Examples
    --------
    >>> from markov import JacksonTandem, Multilevel, stationary
    >>> answer = stationary(JacksonTandem(), Multilevel())
    >>> answer.residual <= 1e-12
    True
    """

    geometric: bool = param(True)
    tolerance: float = param(1e-12, above=0.0, below=1.0)
    max_iterations: int = param(500, at_least=1, at_most=10**9)

    def flows(self, chain: JumpChain, isolated: int | None = None) -> Flows:
        """Return the probability flow out of each state (pi times exit rate), up to a factor, by multigrid.

        ``isolated`` is a state that is an aggregate by itself on every level, for chains without components.
        """
        inflow, exit_rates, components = chain
        start, _ = relax(inflow, exit_rates, 0.0, FIRST_SWEEPS)
        with np.errstate(all="ignore"):  # the driver checks whether pi is finite
            hierarchy = build_hierarchy(inflow, start, start, components if self.geometric else None, isolated)
            flow, cycles = self._iterate(inflow, hierarchy, start)
        memory = matrix_bytes(inflow) + hierarchy.nbytes + (2 * N_FORMER_ITERATES + 6) * flow.nbytes
        return Flows(flow, cycles, memory, hierarchy)

    def _iterate(
        self, inflow: sp.csr_matrix, hierarchy: Hierarchy, flow: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], int]:
        """Return the flow out of each state after the last cycle, and the number of cycles."""
        history = _History(inflow)
        rule = StoppingRule(self.tolerance, self.max_iterations)
        sweeps, slow = 1, 0
        cycle = hierarchy.make_cycle(sweeps)
        while rule.may_continue:
            flow = hierarchy.improve(flow, cycle)
            residual = history.residual(flow)
            ended = rule.record(0.5 * float(np.abs(residual).sum()))
            report_residual(rule.done, rule.size)
            if ended:
                break
            slow = slow + 1 if rule.size > SLOW_FACTOR * rule.before else 0
            if slow == SLOW_CYCLES_IN_A_ROW:
                sweeps, slow = min(2 * sweeps, MAX_SWEEPS), 0
                cycle = hierarchy.make_cycle(sweeps)
            if rule.size > COMBINE_FACTOR * rule.before and rule.done < self.max_iterations:
                flow = history.combine(flow, residual)
        return flow, rule.done


class _History:
    """The last iterates of multigrid and their residuals, which are combined to a better iterate."""

    def __init__(self, inflow: sp.csr_matrix) -> None:
        self.inflow = inflow
        self.flows = np.empty((N_FORMER_ITERATES, inflow.shape[0]))
        self.residuals = np.empty_like(self.flows)
        self.count = 0

    def residual(self, flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the residual y P - y of flows y, shape (n,)."""
        residual: NDArray[np.float64] = self.inflow @ flow
        residual -= flow
        return residual

    def combine(self, flow: NDArray[np.float64], residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the combination of the flow with former flows that has the smallest sum_x r(x)^2 / y(x); store it.

        No entry falls below a tenth of its former value.
        """
        m = min(self.count, N_FORMER_ITERATES)
        if m > 0:
            flows, residuals, products = self.flows[:m], self.residuals[:m], np.empty((m, m + 1))
            pairs = flow, residual, flows, residuals, products
            make_kernel(kernels.compare)(*pairs)
            if not np.all(np.isfinite(products)):
                return flow
            better = np.empty_like(flow)
            arguments = flow, flows, best_shares(products), MIN_ENTRY_SHARE, better
            better /= make_kernel(kernels.blend)(*arguments)
            after = self.residual(better)
            if np.abs(after).sum() < GROWTH_FACTOR * np.abs(residual).sum():
                flow, residual = better, after
        self.flows[self.count % N_FORMER_ITERATES], self.residuals[self.count % N_FORMER_ITERATES] = (
            flow,
            residual,
        )
        self.count += 1
        return flow
