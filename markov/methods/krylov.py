"""pi Q = 0 by a preconditioned Krylov method on the jump chain, and sweeps at the end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from hopflow.parameters import param, validate_parameters
from markov.computing import costs
from markov.computing.resources import interruptible, watch_residuals
from markov.methods.jump_chain import (
    SWEEPS_AT_ONCE,
    Flows,
    Iteration,
    JumpChain,
    matrix_bytes,
    normalize,
    relax,
)
from markov.methods.multilevel import Multilevel
from markov.multigrid.linear_multigrid import CoarseLevels, LinearMultigrid

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.multigrid.hierarchy import Hierarchy

__all__ = ["Krylov"]

MAX_REFINEMENTS = 5
RESTART = 60  # vectors of GMRES
REDUCTION_PER_REFINEMENT = 1e-8  # of the residual, per refinement, at most
FREEZING_RESIDUAL = 1e-3  # residual at which the levels of the preconditioner are frozen
MAX_FREEZING_CYCLES = 20  # to get there


@validate_parameters
@dataclass(frozen=True)
class Krylov(Iteration):
    """GMRES or BiCGSTAB, preconditioned by incomplete LU or multigrid, then Gauss-Seidel.

    The flow of one likely state is fixed at one; the other equations have a regular M-matrix with unit
    diagonal. Krylov vectors do not preserve signs: rounding and early stops leave small negative
    entries, which are set to zero. At least one Gauss-Seidel iteration follows. These preserve signs, and
    continue until the residual is met or ``max_iterations`` is reached. Use it for chains of medium size
    where sparse LU fills in and Gauss-Seidel is slow, and with multigrid for large chains. The Krylov
    solvers are SciPy's, preconditioned on the right, so that their residuals belong to the original equations.

    Parameters
    ----------
    preconditioner
        ``"ilu"``, an incomplete factorization, or ``"multilevel"``, a cycle on the levels that
        `Multilevel` finds, frozen at an iterate with a residual of 1e-3.
    solver
        ``"gmres"`` (restarted after 60 vectors) or ``"bicgstab"``.
    drop_tolerance, fill_factor
        Of the incomplete factorization.
    tolerance
        Relative residual at which to stop.
    max_iterations
        Most Krylov iterations, and most Gauss-Seidel iterations after them.

    Notes
    -----
    Y. Saad, M. H. Schultz, SIAM J. Sci. Stat. Comput. 7, 1986; H. A. van der Vorst, ibid. 13, 1992;
    for chains: B. Philippe, Y. Saad, W. J. Stewart, Operations Research 40, 1992.

    Examples
    --------
    >>> from markov import Krylov, PauseTandem, stationary
    >>> answer = stationary(PauseTandem(), Krylov())
    >>> answer.residual <= 1e-12
    True
    """

    preconditioner: str = param("ilu", choices=("ilu", "multilevel"))
    solver: str = param("gmres", choices=("gmres", "bicgstab"))
    drop_tolerance: float = param(1e-4, at_least=0.0, below=1.0)
    fill_factor: float = param(20.0, at_least=1.0)
    tolerance: float = param(1e-12, above=0.0, below=1.0)
    max_iterations: int = param(2000, at_least=1, at_most=10**9)

    def flows(self, chain: JumpChain) -> Flows:
        """Return the probability flow out of each state (pi times exit rate), up to a factor, by GMRES or BiCGSTAB."""
        inflow, exit_rates, _ = chain
        n = len(exit_rates)
        flow, iterations, hierarchy = self._initial_guess(chain)
        reference = int(np.argmax(flow))
        others = np.delete(np.arange(n), reference)
        matrix = sp.csc_matrix(sp.identity(n - 1) - inflow[others][:, others])
        right = inflow[others][:, [reference]].toarray().ravel()
        with np.errstate(all="ignore"):  # Gauss-Seidel replaces a solution that is not finite
            inverse, held = self._preconditioner(matrix, flow, reference, hierarchy)
            if inverse is not None:
                start = flow[others] / flow[reference]
                solution, count = self._refine(matrix, right, inverse, start)
                iterations += count
                if np.all(np.isfinite(solution)):
                    flow = np.insert(np.maximum(solution, 0.0), reference, 1.0)
        flow, sweeps = relax(inflow, exit_rates, self.tolerance, self.max_iterations, flow, min_iterations=1)
        vectors = 8 * n * (RESTART if self.solver == "gmres" else 8)
        memory = matrix_bytes(inflow) + matrix_bytes(matrix) + held + vectors
        return Flows(flow, iterations + sweeps, memory, hierarchy)

    def _initial_guess(self, chain: JumpChain) -> tuple[NDArray[np.float64], int, Hierarchy | None]:
        """Return flows to start from, the number of iterations that computed them, and multigrid levels, if any."""
        if self.preconditioner == "ilu":
            return *relax(chain.inflow, chain.exit_rates, 0.0, SWEEPS_AT_ONCE), None
        cycles = Multilevel(tolerance=FREEZING_RESIDUAL, max_iterations=MAX_FREEZING_CYCLES)
        with watch_residuals(None):  # residuals of the answer alone are reported
            result = cycles.flows(chain)
        return normalize(result.flow), result.iterations, result.hierarchy

    def _preconditioner(
        self,
        matrix: sp.csc_matrix,
        flow: NDArray[np.float64],
        reference: int,
        hierarchy: Hierarchy | None,
    ) -> tuple[Callable[[NDArray[np.float64]], NDArray[np.float64]] | None, int]:
        """Return a preconditioner of ``matrix @ x = right``, a function of a vector or None, and its bytes."""
        if hierarchy is not None:
            return self._multigrid_preconditioner(flow, reference, hierarchy)
        from scipy.sparse.linalg import spilu

        make = partial(spilu, matrix, drop_tol=self.drop_tolerance, fill_factor=self.fill_factor)
        try:
            ilu = interruptible(make, costs.sparse_lu(self.fill_factor * matrix.nnz, np.inf))
        except RuntimeError:  # exactly singular: left to Gauss-Seidel
            return None, 0
        return ilu.solve, 12 * int(ilu.nnz)

    def _multigrid_preconditioner(
        self,
        flow: NDArray[np.float64],
        reference: int,
        hierarchy: Hierarchy,
    ) -> tuple[Callable[[NDArray[np.float64]], NDArray[np.float64]], int]:
        """Return a multigrid cycle on frozen levels as a preconditioner, a function of a vector, and its bytes."""
        levels = CoarseLevels.by_target(hierarchy, flow)
        linear = LinearMultigrid(levels.jumps, -1.0, -1.0, np.ones_like(flow), flow, levels)
        others = np.delete(np.arange(len(flow)), reference)

        def solve(right: NDArray[np.float64]) -> NDArray[np.float64]:
            linear.start(np.insert(right, reference, -right.sum()))
            correction = linear.cycle()
            shifted: NDArray[np.float64] = correction - correction[reference] / flow[reference] * flow
            return shifted[others]

        return solve, linear.nbytes

    def _refine(
        self,
        matrix: sp.csc_matrix,
        right: NDArray[np.float64],
        inverse: Callable[[NDArray[np.float64]], NDArray[np.float64]],
        x: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], int]:
        """Return x with ``matrix @ x = right`` after refinements by a Krylov method, and the number of iterations."""
        count = 0
        for _ in range(MAX_REFINEMENTS):
            residual = right - matrix @ x
            size = float(np.abs(residual).sum())
            goal = self.tolerance * (1.0 + float(np.abs(x).sum()))
            if not goal < size < np.inf or count >= self.max_iterations:
                break
            gain = max(REDUCTION_PER_REFINEMENT, 0.1 * goal / size)
            step, steps = self._krylov_solve(matrix, residual, inverse, gain, self.max_iterations - count)
            count += steps
            x = x + step
        return x, count

    def _krylov_solve(
        self,
        matrix: sp.csc_matrix,
        right: NDArray[np.float64],
        inverse: Callable[[NDArray[np.float64]], NDArray[np.float64]],
        gain: float,
        max_steps: int,
    ) -> tuple[NDArray[np.float64], int]:
        """Return x that reduces the residual of ``matrix @ x = right`` by the factor ``gain``, and its step count."""
        from scipy.sparse.linalg import LinearOperator, bicgstab, gmres

        preconditioned = LinearOperator(matrix.shape, matvec=lambda x: matrix @ inverse(x), dtype=np.float64)
        steps = 0

        def count(_: object) -> None:
            nonlocal steps
            steps += 1

        if self.solver == "gmres":
            restart = min(RESTART, max_steps)
            restarts = -(-max_steps // restart)
            solution, _ = gmres(
                preconditioned,
                right,
                rtol=gain,
                restart=restart,
                maxiter=restarts,
                callback=count,
                callback_type="pr_norm",
            )
        else:
            solution, _ = bicgstab(preconditioned, right, rtol=gain, maxiter=max_steps, callback=count)
        return inverse(solution), steps
