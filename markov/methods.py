"""How to solve pi Q = 0 on an irreducible chain: frozen method objects, each with its own numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from hopflow.checks import whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["DENSE_LIMIT", "GTH", "Method", "Solution", "SparseLU", "eliminate_down_to"]

DENSE_LIMIT = 1500
"""Number of states up to which dense elimination is the default."""
BLOCK = 64

_LARGE = 1e20
_UNLIKELY = 1e3


class Solution(NamedTuple):
    """What a method returns.

    Attributes
    ----------
    pi
        Shape (n,), summing to one.
    iterations
        How many it took; 0 for a direct method.
    memory
        Bytes that the method held beside Q, by the size of its arrays.
    """

    pi: NDArray[np.float64]
    iterations: int = 0
    memory: int = 0


class Method(Protocol):
    """What `stationary` needs of a method.

    A method that iterates has an attribute ``tolerance``: the relative residual that it was asked
    for, by which its result is judged.
    """

    def solve(
        self, Q: sp.csr_matrix, components: Mapping[str, NDArray[np.int64]] | None = None
    ) -> Solution:
        """Return pi of an irreducible generator Q, shape (n, n).

        ``components`` has the value of each component of a model's state, shape (n,) each; a method
        may use them to find structure.
        """
        ...


@dataclass(frozen=True)
class GTH:
    """Elimination without subtractions (Grassmann, Taksar, Heyman): entrywise accurate.

    Every entry of pi has a relative error of a few n units of rounding, at any stiffness, since
    only sums, products and quotients of positive numbers occur. O(n^3) time and O(n^2) memory, or
    O(n b^2) time when no transition spans more than b states; the update of the remaining states is
    blocked into matrix products.

    Parameters
    ----------
    block
        Number of states that are eliminated between two updates of the rest.

    Notes
    -----
    W. K. Grassmann, M. I. Taksar, D. P. Heyman, Regenerative analysis and steady state
    distributions for Markov chains, Operations Research 33(5), 1985; entrywise error bound: C. A.
    O'Cinneide, Numerische Mathematik 65, 1993.
    """

    block: int = BLOCK

    def __post_init__(self) -> None:
        whole("block", self.block, 1, 10**6)

    def solve(
        self,
        Q: sp.csr_matrix,
        components: Mapping[str, NDArray[np.int64]] | None = None,  # noqa: ARG002
    ) -> Solution:
        """Return pi of an irreducible generator."""
        n = Q.shape[0]
        rates = Q.toarray()
        np.fill_diagonal(rates, 0.0)
        first = _envelope(Q)
        pi = np.zeros(n)
        pi[0] = 1.0
        with np.errstate(all="ignore"):  # rates beyond float64 show in pi, which is looked at
            for high in range(n, 1, -self.block):
                low = max(1, high - self.block)
                _eliminate(rates, first[low], low, high)
            for k in range(1, n):
                pi[k] = pi[first[k] : k] @ rates[first[k] : k, k]
                if pi[k] > _LARGE:
                    pi[: k + 1] = np.ldexp(pi[: k + 1], -np.frexp(pi[k])[1])  # exact
            return Solution(pi / pi.sum(), memory=rates.nbytes)


def _eliminate(rates: NDArray[np.float64], first: int, low: int, high: int) -> None:
    """Eliminate the states high - 1 .. low; leave column k divided by the exit rate of k.

    The rates between them and the states below ``first`` are zero.
    """
    for k in range(high - 1, low - 1, -1):
        rates[k, first:k] += rates[k, k + 1 : high] @ rates[k + 1 : high, first:k]
        rates[first:k, k] += rates[first:k, k + 1 : high] @ rates[k + 1 : high, k]
        rates[first:k, k] /= rates[k, first:k].sum()
    rates[first:low, first:low] += rates[first:low, low:high] @ rates[low:high, first:low]


def eliminate_down_to(rates: NDArray[np.float64], low: int) -> None:
    """Eliminate the states from the last one down to ``low``, in blocks, in place.

    Each column is left divided by the exit rate of its state, each row with the rates to the states
    below it, and the square of those below ``low`` with the censored rates. The diagonal is not used.
    """
    for high in range(len(rates), low, -BLOCK):
        _eliminate(rates, 0, max(low, high - BLOCK), high)


def _envelope(Q: sp.csr_matrix) -> NDArray[np.int64]:
    """Return for each k the lowest state that a state >= k leads to or is reached from.

    Elimination from the top makes no transition that reaches lower.
    """
    first = np.arange(Q.shape[0])
    edges = Q.tocoo()
    np.minimum.at(first, edges.row, edges.col)
    np.minimum.at(first, edges.col, edges.row)
    return np.minimum.accumulate(first[::-1])[::-1]


@dataclass(frozen=True)
class SparseLU:
    """Sparse LU of the generator without one state, with diagonal pivots and one refinement.

    Without that state the transposed generator is a column-dominant M-matrix: elimination with
    pivots from the diagonal keeps its sign pattern, so pi comes out non-negative. Memory grows
    with the fill-in; nearly decomposable chains lose digits (use `GTH` there), and where rounding
    makes the matrix singular pi is not a number.
    """

    def solve(
        self,
        Q: sp.csr_matrix,
        components: Mapping[str, NDArray[np.int64]] | None = None,  # noqa: ARG002
    ) -> Solution:
        """Return pi of an irreducible generator."""
        n = Q.shape[0]
        if n == 1:
            return Solution(np.ones(1))
        with np.errstate(all="ignore"):  # what is not finite shows in pi, which is looked at
            pi, memory = self._relative_to(Q, 0)
            if not (pi.min() >= 0.0 and pi.max() <= _UNLIKELY):
                guess, _ = self._relative_to(Q, 0, damping=1e-10)
                pi, memory = self._relative_to(Q, int(np.argmax(guess)))
            return Solution(pi / pi.sum(), memory=memory)

    @staticmethod
    def _relative_to(
        Q: sp.csr_matrix, reference: int, damping: float = 0.0
    ) -> tuple[NDArray[np.float64], int]:
        """Return pi with pi(reference) = 1, and the bytes of the factors.

        A reference that is very unlikely makes the matrix singular to rounding; damped, it never
        is, and pi still shows which states are likely.
        """
        others = np.delete(np.arange(Q.shape[0]), reference)
        matrix = sp.csc_matrix(Q[others][:, others].T)
        right = -Q[reference].toarray().ravel()[others]
        if damping:
            matrix = sp.csc_matrix(matrix + damping * sp.diags(matrix.diagonal()))
        try:
            lu = splu(matrix, diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:  # exactly singular
            return np.full(Q.shape[0], np.nan), 0
        solution = lu.solve(right)
        solution += lu.solve(right - matrix @ solution)
        return np.insert(solution, reference, 1.0), 12 * int(lu.nnz)
