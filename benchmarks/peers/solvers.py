"""Each program's way to pi Q = 0, from the same matrix to the same vector.

A function takes an irreducible generator Q (CSR, shape (n, n), rates in 1/s), the values of the
model's components by state, and the model. It brings Q into the form that the program wants, which
is not timed, and returns what is timed: a function without arguments that returns pi.
"""

# ruff: noqa: ARG001  one signature for all
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg

from markov import ChainModel, stationary
from markov.driver import choose

TOLERANCE = 1e-12

Components = Mapping[str, np.ndarray]
Solve = Callable[[], np.ndarray]


def hopflow(Q: sp.csr_matrix, components: Components, model: ChainModel) -> Solve:
    return lambda: choose(Q, components)[0].solve(Q, components).pi


def hopflow_matrix(Q: sp.csr_matrix, components: Components, model: ChainModel) -> Solve:
    return lambda: choose(Q, None)[0].solve(Q).pi


def hopflow_proof(Q: sp.csr_matrix, components: Components, model: ChainModel) -> Solve:
    def solve() -> np.ndarray:
        answer = stationary(model)
        return answer.pi[answer.chain.recurrent_classes[0]]

    return solve


def _regular(Q: sp.csr_matrix) -> tuple[sp.csc_matrix, np.ndarray, Callable[..., np.ndarray]]:
    """Return the equations with pi(0) = 1 without the first one, and a function that returns pi."""

    def whole(rest: np.ndarray) -> np.ndarray:
        pi = np.insert(rest, 0, 1.0)
        return pi / pi.sum()

    return Q.T.tocsc()[1:, 1:], -Q[0].toarray().ravel()[1:], whole


def spsolve(Q: sp.csr_matrix, components: Components, model: ChainModel) -> Solve:
    matrix, right, whole = _regular(Q)
    return lambda: whole(scipy.sparse.linalg.spsolve(matrix, right))


def gmres_ilu(Q: sp.csr_matrix, components: Components, model: ChainModel) -> Solve:
    matrix, right, whole = _regular(Q)

    def solve() -> np.ndarray:
        ilu = scipy.sparse.linalg.spilu(matrix, drop_tol=1e-4, fill_factor=20)
        inverse = scipy.sparse.linalg.LinearOperator(matrix.shape, ilu.solve)
        rest, _ = scipy.sparse.linalg.gmres(matrix, right, rtol=TOLERANCE, restart=60, maxiter=20, M=inverse)
        return whole(rest)

    return solve


def pardiso(Q: sp.csr_matrix, components: Components, model: ChainModel) -> Solve:
    import pypardiso

    matrix, right, whole = _regular(Q)
    rows = matrix.tocsr()
    return lambda: whole(pypardiso.PyPardisoSolver().solve(rows, right))


def pyamg(Q: sp.csr_matrix, components: Components, model: ChainModel) -> Solve:
    from pyamg import air_solver  # of its multigrids, the one that stood non-symmetric chains best

    matrix, right, whole = _regular(Q)
    exit_rates = -Q.diagonal()[1:]
    scaled = sp.csr_matrix(matrix @ sp.diags(-1.0 / exit_rates))

    def solve() -> np.ndarray:
        found = air_solver(scaled).solve(-right, tol=TOLERANCE, maxiter=200, accel="gmres")
        return whole(found / exit_rates)

    return solve


def _storm(Q: sp.csr_matrix, environment: Any) -> Solve:
    from stormpy import analysis, datastructures, models

    n = Q.shape[0]
    edges = Q.tocoo()
    off = edges.row != edges.col
    builder = datastructures.SparseMatrixBuilder[float](n, n, int(off.sum()))
    rows, columns, rates = (part[off].tolist() for part in (edges.row, edges.col, edges.data))
    builder.add_next_values(rows, columns, rates, [])
    labels = models.StateLabeling(n)
    labels.add_label("init")
    labels.add_label_to_state("init", 0)
    parts = models.SparseModelComponents[float](builder.build(), labels, rate_transitions=True)
    chain = models.SparseCtmc[float](parts)

    def solve() -> np.ndarray:
        found = analysis.compute_steady_state_distribution(chain, environment=environment)
        return np.array(found.get_value_vector())

    return solve


def storm(Q: sp.csr_matrix, components: Components, model: ChainModel) -> Solve:
    from stormpy.environments import Environment

    return _storm(Q, Environment())


def storm_sound(Q: sp.csr_matrix, components: Components, model: ChainModel) -> Solve:
    from stormpy import Rational
    from stormpy.environments import sound

    environment = sound()
    environment.solver().native().precision = Rational(str(TOLERANCE))
    return _storm(Q, environment)


def storm_eigen(Q: sp.csr_matrix, components: Components, model: ChainModel) -> Solve:
    """Of a dozen settings, the fastest with a small residual: visiting times by Eigen's sparse LU."""
    from stormpy.environments import EquationSolverType, SteadyStateDistributionAlgorithm, sound

    environment = sound()
    environment.solver().set_linear_equation_solver_type(EquationSolverType.EIGEN)
    visits = SteadyStateDistributionAlgorithm.EXPECTED_VISITING_TIMES
    environment.modelchecker().steady_state_distribution_algorithm = visits
    return _storm(Q, environment)


def _jumps(Q: sp.csr_matrix) -> sp.csr_matrix:
    """Return a transition matrix with the same stationary vector."""
    return sp.identity(Q.shape[0], format="csr") + Q / (1.001 * abs(Q.diagonal()).max())


def quantecon(Q: sp.csr_matrix, components: Components, model: ChainModel) -> Solve:
    from quantecon import MarkovChain

    P = _jumps(Q)
    return lambda: MarkovChain(P).stationary_distributions[0]


def pydtmc(Q: sp.csr_matrix, components: Components, model: ChainModel) -> Solve:
    from pydtmc import MarkovChain

    P = _jumps(Q)
    return lambda: MarkovChain(P.toarray()).pi[0]


def line(Q: sp.csr_matrix, components: Components, model: ChainModel) -> Solve:
    from line_solver.api.mc.ctmc import ctmc_solve

    return lambda: np.asarray(ctmc_solve(Q)).ravel()


SOLVERS = {
    "hopflow": hopflow,
    "hopflow, from the matrix alone": hopflow_matrix,
    "hopflow, from rules to bound": hopflow_proof,
    "SciPy spsolve": spsolve,
    "SciPy GMRES + ILU": gmres_ilu,
    "MKL PARDISO": pardiso,
    "PyAMG": pyamg,
    "Storm": storm,
    "Storm, sound": storm_sound,
    "Storm, by Eigen": storm_eigen,
    "QuantEcon": quantecon,
    "PyDTMC": pydtmc,
    "LINE": line,
}
"""In the order of the table; the first one's time is the unit of the ratios."""
PACKAGES = ("pypardiso", "mkl", "pyamg", "stormpy", "quantecon", "pydtmc", "line-solver")
