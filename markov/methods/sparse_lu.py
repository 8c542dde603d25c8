"""The method of sparse LU: pi relative to one state, refined once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from markov.computing.matrices import inner
from markov.elimination.lu import LUFactors, LUOrder, best_order
from markov.methods.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Mapping

    import scipy.sparse as sp
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

__all__ = ["SparseLU"]

MAX_LIKELIHOOD_RATIO = 1e3  # times as likely as the reference: another one is better
MAX_ROUNDING_RESIDUAL = 1e-14  # relative to the flow


@dataclass(frozen=True)
class SparseLU:
    """Sparse LU of the generator without one state, with diagonal pivots and one refinement.

    Without that state the transposed generator is a column-dominant M-matrix: elimination with
    pivots from the diagonal keeps its sign pattern, so pi comes out non-negative. Of two orders of
    elimination that with less fill-in is taken, which is known before; memory grows with it. Nearly
    decomposable chains lose digits (use `GTH` there), and where rounding makes the matrix singular pi
    is not a number.

    Examples
    --------
    >>> from markov import MM1K, SparseLU, stationary
    >>> answer = stationary(MM1K(), SparseLU())
    >>> answer.error_bound < 1e-13
    True
    """

    def solve(
        self,
        Q: sp.csr_matrix,
        components: Mapping[str, NDArray[np.int64]] | None = None,  # noqa: ARG002
    ) -> Solution:
        """Return pi of an irreducible generator by sparse LU, refined once.

        Raises
        ------
        TooLargeError
            When the factors would not fit into memory, before they are made.
        """
        n = Q.shape[0]
        if n == 1:
            return Solution(np.ones(1))
        order = best_order(Q)
        with np.errstate(all="ignore"):  # the driver checks whether pi is finite
            pi, factors = _solve_relative_to(Q, 0, order)
            if not (pi.min() >= 0.0 and (pi.max() <= MAX_LIKELIHOOD_RATIO or _balances(Q, pi))):
                pi, _ = _solve_relative_to(Q, 0, order, damping=1e-10)
                pi, factors = _solve_relative_to(Q, int(np.argmax(pi)), order)
            memory = 0 if factors is None else factors.nbytes
            return Solution(pi / pi.sum(), memory=memory, factors=factors)


def _solve_relative_to(
    Q: sp.csr_matrix, reference: int, order: LUOrder, damping: float = 0.0
) -> tuple[Vector, LUFactors | None]:
    """Return pi scaled to pi(reference) = 1, shape (n,), and the factors; NaN and None if these are singular.

    A reference that is very unlikely makes the matrix singular to rounding; damped, it never is, and
    pi still shows which states are likely.
    """
    try:
        factors = LUFactors(Q, reference, order, damping)
    except RuntimeError:  # exactly singular
        return np.full(Q.shape[0], np.nan), None
    pi = factors.balance(Q[reference].toarray().ravel())
    pi[reference] = 1.0
    if not damping:
        pi += factors.balance(pi @ Q)
    return pi, factors


def _balances(Q: sp.csr_matrix, pi: Vector) -> bool:
    """Return whether pi Q is zero to rounding, relative to the total flow out of the states."""
    flow = inner(pi, np.abs(Q.diagonal()))
    return bool(np.abs(pi @ Q).sum() <= MAX_ROUNDING_RESIDUAL * flow)
