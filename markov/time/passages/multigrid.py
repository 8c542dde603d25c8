"""Multigrid for the equations of a chain until it leaves some states.

Levels need a distribution by which states weigh in their aggregate. Here it is that of the chain that
begins again, anywhere with equal probability, whenever it has left: one more state, outside, that stays an
aggregate of its own. Nowhere is that distribution tiny because a start is far away. The equations are
those of Q g = -f of that chain with g = 0 outside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from markov.computing.progress import watched
from markov.methods.jump_chain import jumps, normalize
from markov.methods.multilevel import Multilevel
from markov.multigrid.linear_multigrid import CoarseLevels, LinearMultigrid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

__all__ = ["Solver", "multigrid_solver"]

Solver = Callable[["NDArray[np.float64]", float], "NDArray[np.float64]"]
"""From b and the factor by which its residual is to fall to x; shape (m,) each."""

ROUGH = 1e-3  # residual of the distribution by which states weigh
MAX_CYCLES = 20  # to get there
LEAK = 1e100  # of the state outside: what holds its value at zero


def multigrid_solver(A: sp.csr_matrix, leaving: Vector, costs: Vector) -> Solver | None:
    """Return a solver of A x = b, or None where no distribution was found.

    Parameters
    ----------
    A
        Minus the generator on m states, shape (m, m).
    leaving
        Rate at which each of them is left for the outside, shape (m,).
    costs
        What a residual is measured by, entry by entry, shape (m,), > 0.
    """
    m = len(leaving)
    inside = sp.hstack([-A, sp.csr_matrix(leaving[:, None])])
    restart = sp.csr_matrix(np.append(np.full(m, 1.0 / m), -1.0)[None, :])
    Q = sp.csr_matrix(sp.vstack([inside, restart]))
    chain = jumps(Q)
    exits = chain.exit_rates
    with watched(None):  # what is reported are residuals of an answer
        found = Multilevel(tolerance=ROUGH, max_iterations=MAX_CYCLES).flows(chain, isolated=m)
    flow = normalize(found.flow)
    if found.hierarchy is None or not (np.all(np.isfinite(flow)) and flow.min() > 0.0):
        return None
    levels = CoarseLevels.by_target(found.hierarchy, flow, ground=m).by_source(m, LEAK)
    diagonal = np.append(-exits[:m], -np.inf)
    rows = Q.indptr, Q.indices, Q.data
    cycles = LinearMultigrid(rows, 0.0, diagonal, flow / exits, np.ones(m + 1), levels)
    weights = np.append(costs, np.inf)

    def solve(b: Vector, gain: float) -> Vector:
        goal = gain * float(np.max(np.abs(b) / costs))
        return cycles.solve(np.append(b, 0.0), lambda rest: bool(np.max(np.abs(rest[:m]) / costs) <= goal), weights)[:m]

    return solve
