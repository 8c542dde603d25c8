"""Which solvers of Poisson's equation to try for a chain, the fastest first."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from markov.computing import costs
from markov.methods.elimination import band, eliminated
from markov.methods.jump_chain import jumps
from markov.methods.sparse_lu import LUFactors, best_order
from markov.multigrid.hierarchy import build_hierarchy
from markov.proofs.poisson import MultigridPoisson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.methods.solution import Solution
    from markov.multigrid.hierarchy import Hierarchy
    from markov.proofs.poisson import Solver

    Vector = NDArray[np.float64]
    Components = Mapping[str, NDArray[np.int64]]

__all__ = ["candidates"]

MAX_PREDICTION_COST = 0.3  # of the cost of multigrid: of predicting what might be faster
MAX_LU_COST = 30.0  # times the cost of multigrid: what is tried when nothing else proves anything


def candidates(
    Q: sp.csr_matrix,
    pi: Vector,
    weights: Vector,
    components: Components | None,
    solution: Solution | None,
) -> Iterator[Solver]:
    """Yield solvers of Q g = -f for a chain, by predicted cost.

    The method's own factors come first; then elimination towards the likeliest state, multigrid and
    sparse LU, as they are predicted to be quick; last multigrid on levels of its own, that does not look
    at the components.
    """
    if solution is not None and solution.factors is not None:
        yield solution.factors
    n, entries, reference = Q.shape[0], Q.nnz, int(np.argmax(pi))
    hierarchy = None if solution is None else solution.hierarchy
    shared = costs.multigrid_proof(n, entries, hierarchy is not None)
    makers: list[tuple[float, Callable[[], Solver]]] = []
    if costs.has_numba():
        makers.append((shared, partial(_multigrid, Q, pi, weights, components, hierarchy)))
    if costs.layout(entries) <= MAX_PREDICTION_COST * shared:
        form = band(Q, reference=reference)
        if form.memory <= costs.MEMORY:
            makers.append((form.seconds, partial(eliminated, Q, form, "error bound")))
    quickest = min((seconds for seconds, _ in makers), default=np.inf)
    looked = costs.order(entries) <= MAX_PREDICTION_COST * quickest
    if looked:
        makers.append(_lu(Q, reference))
    for _, make in sorted(makers, key=lambda each: each[0]):
        with suppress(RuntimeError, MemoryError):  # exactly singular, or too large
            yield make()
    if not looked and costs.order(entries) <= MAX_LU_COST * shared:
        seconds, make = _lu(Q, reference)
        if seconds <= MAX_LU_COST * shared:
            with suppress(RuntimeError, MemoryError):
                yield make()
    if (components is not None or hierarchy is not None) and costs.has_numba():
        yield _multigrid(Q, pi, weights, None, None)


def _multigrid(
    Q: sp.csr_matrix,
    pi: Vector,
    weights: Vector,
    components: Components | None,
    hierarchy: Hierarchy | None,
) -> Solver:
    """Return multigrid on given levels, or on others of its own."""
    flow = pi * -Q.diagonal()
    if hierarchy is None:
        inflow = jumps(Q).inflow
        hierarchy = build_hierarchy(inflow, flow, flow, components)
    return MultigridPoisson(Q, pi, hierarchy, weights)


def _lu(Q: sp.csr_matrix, reference: int) -> tuple[float, Callable[[], Solver]]:
    """Return the predicted seconds of sparse LU, and a function that computes its factors."""
    order = best_order(Q)
    return order.seconds, partial(LUFactors, Q, reference, order)
