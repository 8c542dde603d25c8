"""Sparse LU with pivots on the diagonal: orders with their predicted cost, factors and solves.

The matrices are M-matrices, which such an elimination factors without a change of the sign of an entry: generators
without one state, or on transient states. `best_order` and `LUFactors` serve generators of any size, and `factorize`
the callers that have a matrix of their own.
"""

from __future__ import annotations

import io
import subprocess
import sys
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.kernels import make_kernel
from markov.computing import costs
from markov.computing.matrices import rank_of
from markov.computing.resources import check_room, interruptible
from markov.elimination import symbolic_kernels as kernels
from markov.elimination.bands import Pattern, short_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

__all__ = ["LUFactors", "LUOrder", "best_order", "factorize", "minimum_degree_order"]

ACCEPTED_FILL_RATIO = 1.5  # times the entries of the matrix: fill-in that no order would make much less
ORDERING_SECONDS_PER_ENTRY = 5e-8
"""Seconds that an order of minimum degree takes at most, per entry of the factors in the other one."""
BYTES_PER_ENTRY = 12  # per entry of the factors
SYMMETRIC = {"SymmetricMode": True}

DROP_ALL: dict[str, Any] = {
    "drop_tol": 1.0,
    "fill_factor": 1.0,
    "diag_pivot_thresh": 0.0,
    "permc_spec": "MMD_AT_PLUS_A",
    "options": SYMMETRIC,
}
MAX_INLINE_SECONDS = 1.0  # s: more than it takes to start a process
SCRIPT = f"""
import io, sys
import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import spilu
matrix = csc_matrix(tuple(np.load(io.BytesIO(sys.stdin.buffer.read())).values()))
np.save(sys.stdout.buffer, spilu(matrix, **{DROP_ALL!r}).perm_c)
"""


class LUOrder(NamedTuple):
    """An order of elimination for sparse LU, with the number of entries of the factors and of multiplications.

    Attributes
    ----------
    order
        The states, the first to be eliminated first, shape (n,).
    fill
        Entries of both factors.
    work
        Multiplications.
    """

    order: NDArray[np.int64]
    fill: float
    work: float

    @property
    def nbytes(self) -> float:
        """Predicted bytes of both factors."""
        return BYTES_PER_ENTRY * self.fill

    @property
    def seconds(self) -> float:
        """Predicted seconds of the factorization in this order."""
        return costs.sparse_lu(self.fill, self.work)


def best_order(Q: sp.csr_matrix) -> LUOrder:
    """Return the cheaper of two orders of elimination for sparse LU of a generator, shape (n, n).

    The candidates are reverse Cuthill-McKee, and SuperLU's minimum degree of A + A' if the first fills in and the
    second takes less time to compute than that costs. The fill-in of each follows from the pattern in
    nearly linear time. SuperLU's relaxed supernodes, which could be wider, are switched off.
    """
    return _best_order(Pattern(Q))


@lru_cache(maxsize=2)
def _best_order(of: Pattern) -> LUOrder:
    """Return the cheaper of two orders of elimination of a sparse pattern, as for `best_order`."""
    indptr, indices = of.arrays
    n = len(indptr) - 1
    matrix = sp.csc_matrix((np.ones(len(indices)), indices, indptr), shape=(n, n))
    matrix.setdiag(n)  # no pivot is zero
    pattern = sp.csc_matrix(matrix + matrix.T)
    short = short_order(indptr, indices)[::-1].copy()
    first = _order_with_costs(pattern, short, rank_of(short))
    if first.fill <= ACCEPTED_FILL_RATIO * len(indices):
        return first
    positions = minimum_degree_order(matrix, ORDERING_SECONDS_PER_ENTRY * first.fill, first.seconds)
    if positions is None:
        return first
    return min(first, _order_with_costs(pattern, np.argsort(positions), positions), key=lambda order: order.seconds)


def minimum_degree_order(matrix: sp.csc_matrix, seconds: float, minimum_wait: float) -> NDArray[np.int64] | None:
    """Return the position of each row in SuperLU's order of minimum degree, shape (n,); None if it took too long.

    SuperLU returns its order only with factors, and an incomplete factorization that drops all entries takes
    no time. While it computes an order, neither Ctrl-C nor another thread is served. If that might take long, a
    separate process computes it, which ends at Ctrl-C or after ``minimum_wait``.

    Parameters
    ----------
    matrix
        Shape (n, n), with entries on the diagonal.
    seconds
        How long it may take.
    minimum_wait
        How long it is waited for at least, in s.

    Returns
    -------
    array or None
        None when it took too long.
    """
    if seconds > MAX_INLINE_SECONDS and sys.executable:
        packed = io.BytesIO()
        np.savez(packed, data=matrix.data, indices=matrix.indices, indptr=matrix.indptr)
        command = [sys.executable, "-c", SCRIPT]
        try:
            done = subprocess.run(
                command,
                check=True,
                input=packed.getvalue(),
                capture_output=True,
                timeout=max(minimum_wait, MAX_INLINE_SECONDS),
            )
            return np.asarray(np.load(io.BytesIO(done.stdout)), dtype=np.int64)
        except subprocess.TimeoutExpired:
            return None
        except (subprocess.CalledProcessError, OSError, ValueError):
            pass  # no such process here: the order, and so the method, must not depend on that
    from scipy.sparse.linalg import spilu

    return np.asarray(spilu(matrix, **DROP_ALL).perm_c, dtype=np.int64)


def _order_with_costs(pattern: sp.csc_matrix, order: NDArray[np.int64], rank: NDArray[np.int64]) -> LUOrder:
    """Return an order of elimination with the entries and multiplications that a symmetric pattern implies."""
    n = len(order)
    matrix = pattern[:, order]
    indptr, indices = matrix.indptr.astype(np.int64), rank[matrix.indices].astype(np.int64)
    parent, entries_by_column = np.empty((2, n), dtype=np.int64)
    workspace = np.empty((8, n), dtype=np.int64)
    make_kernel(kernels.elimination_tree)(indptr, indices, parent, workspace[0])
    count = make_kernel(kernels.column_counts, helpers=(kernels.postorder,))
    count(indptr, indices, parent, workspace, entries_by_column)
    counts = entries_by_column.astype(np.float64)
    return LUOrder(order, 2.0 * counts.sum() - n, float(counts @ counts))


def factorize(
    matrix: sp.spmatrix | sp.sparray, seconds: float = 0.0, order: str = "COLAMD", relax: int | None = None
) -> Any:
    """Return SuperLU's factors of an M-matrix, shape (n, n), with pivots on the diagonal.

    Small entries of a solution are then not lost beside large ones.

    Parameters
    ----------
    matrix
        In any format; columns are eliminated.
    seconds
        Predicted time. Ctrl-C stops a factorization of many seconds.
    order
        SuperLU's name of the order of elimination; ``"NATURAL"``: the order of the rows.
    relax
        Width of relaxed supernodes; None: SuperLU's default.

    Raises
    ------
    RuntimeError
        When, to rounding, the matrix is singular.
    """
    from scipy.sparse.linalg import splu

    options = {"permc_spec": order, "relax": relax, "diag_pivot_thresh": 0.0, "options": SYMMETRIC}
    return interruptible(partial(splu, sp.csc_matrix(matrix), **options), seconds)


class LUFactors:
    """Sparse LU factors of a generator without the row and column of one state, the reference.

    Parameters
    ----------
    Q
        Irreducible generator, shape (n, n).
    reference
        The omitted state, in which all solutions are zero.
    order
        Result of `best_order`.
    damping
        Added to the diagonal, as a share of it.

    Raises
    ------
    RuntimeError
        When, to rounding, the matrix is singular.
    TooLargeError
        When the factors would not fit into memory, before they are made.
    """

    def __init__(self, Q: sp.csr_matrix, reference: int, order: LUOrder, damping: float = 0.0) -> None:
        check_room(f"sparse LU on {Q.shape[0]} states", order.nbytes)
        self.reference, self.n = reference, Q.shape[0]
        self.others = order.order[order.order != reference]
        matrix = sp.csc_matrix(Q[self.others][:, self.others])
        if damping:
            matrix = sp.csc_matrix(matrix + damping * sp.diags(matrix.diagonal()))
        self._lu = factorize(matrix, order.seconds, "NATURAL", relax=1)

    @property
    def nbytes(self) -> int:
        """Bytes of the factors."""
        return BYTES_PER_ENTRY * int(self._lu.nnz)

    def poisson(self, f: Vector) -> tuple[Vector, Vector]:
        """Return g with Q g = -f except in the reference, where g is zero: a sum of two vectors, shape (n,) each."""
        return self._solve(f, "N"), np.zeros_like(f)

    def balance(self, r: Vector) -> Vector:
        """Return d with d Q = -r except in the reference, where d is zero; shape (n,)."""
        return self._solve(r, "T")

    def _solve(self, right: Vector, side: str) -> Vector:
        """Return the solution of the factored equations (side N) or their transpose (side T), shape (n,)."""
        solution = np.zeros(self.n)
        solution[self.others] = self._lu.solve(-right[self.others], trans=side)
        return solution
