"""How to solve pi Q = 0 on an irreducible chain: frozen method objects, each with its own numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from hopflow.checks import whole
from hopflow.kernels import build
from markov import _gth_kernels as kernels
from markov.memory import check_room
from markov.vectors import inner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["DENSE_LIMIT", "GTH", "Band", "Method", "Solution", "SparseLU", "eliminate_down_to"]

DENSE_LIMIT = 1500
"""Number of states up to which dense elimination is the default."""
BLOCK = 64
REMEMBERED = 32  # layouts of chains with few transitions
KEPT = 50_000
DENSE = 4  # times the entries of a matrix that has no order worth finding
LITTLE = 1e5  # multiplications that plain Python does in the time that Numba takes to load

_UNLIKELY = 1e3  # times as likely as the reference: another one is better
_ROUNDED = 1e-14  # of the flow: what rounding leaves


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
    poisson
        What solves the Poisson equation Q g = -f by the method's own factors: takes f with
        pi f = 0, shape (n,), and returns g up to a constant, with rounding errors that nobody
        bounds. None: the method has no factors.
    """

    pi: NDArray[np.float64]
    iterations: int = 0
    memory: int = 0
    poisson: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None


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


class Band(NamedTuple):
    """How the rates of a chain are laid out for elimination.

    Attributes
    ----------
    order, rank
        The states in the order of their elimination, from the last one on, and the place of each
        state in it, shape (n,) each.
    first
        For each place k the lowest place that a state from k on leads to or is reached from, shape
        (n,): elimination makes no transition that reaches lower.
    block
        How many states to eliminate at a time.
    wide
        The rate from place i to j lies at i wide + j; rates that stay zero may share a place.
    span
        How many places a transition spans at most, fill-in included.
    work
        Multiplications of the elimination.
    """

    order: NDArray[np.int64]
    rank: NDArray[np.int64]
    first: NDArray[np.int64]
    block: int
    wide: int
    span: int
    work: float

    @property
    def room(self) -> int:
        """Numbers that are held."""
        n = len(self.first)
        return (n - 1) * self.wide + n

    @property
    def memory(self) -> float:
        """Bytes that are held."""
        return 8.0 * self.room


@dataclass(frozen=True)
class GTH:
    """Elimination without subtractions (Grassmann, Taksar, Heyman): entrywise accurate.

    Every entry of pi has a relative error of a few n units of rounding, at any stiffness, since
    only sums, products and quotients of positive numbers occur. States are eliminated in the reverse
    Cuthill-McKee order, which keeps transitions short: O(n b^2) time and O(n b) memory when none
    spans more than b states, O(n^3) and O(n^2) at worst. Where b is large, the update of the
    remaining states is blocked into matrix products. A compiled kernel where Numba is installed.

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
        """Return pi of an irreducible generator.

        Raises
        ------
        TooLargeError
            When the rates, filled in, would not fit into memory, before they are laid out.
        """
        form = self.band(Q)
        n, first = len(form.first), form.first
        check_room(f"GTH() on {n} states", form.memory)
        rates = np.zeros(form.room)
        place = _kernel(kernels.lay_out, form.work, Q.indices.dtype.str)
        place(Q.indptr, Q.indices, Q.data, form.rank, form.wide, rates)
        pi = np.zeros(n)
        with np.errstate(all="ignore"):  # rates beyond float64 show in pi, which is looked at
            _eliminate(rates, form.wide, first, 1, form.block)
            _kernel(kernels.censored_flows, form.work)(rates, form.wide, first, pi)

        def poisson(f: NDArray[np.float64]) -> NDArray[np.float64]:
            g = f[form.order]
            costs = _kernel(kernels.censored_costs, form.work, helpers=(kernels.product,))
            costs(rates, form.wide, first, g)
            return g[form.rank]

        return Solution((pi / pi.sum())[form.rank], 0, rates.nbytes, poisson)

    def band(self, Q: sp.csr_matrix) -> Band:
        """Return how the rates of a generator, shape (n, n), would be laid out, and what that costs."""
        find = _band if Q.nnz <= KEPT else _band.__wrapped__
        return find(_Pattern(Q), self.block)


def eliminate_down_to(rates: NDArray[np.float64], low: int) -> None:
    """Eliminate the states from the last one down to ``low``, in blocks, in place.

    Each column is left divided by the exit rate of its state, each row with the rates to the states
    below it, the diagonal with the exit rates, and the square of the states below ``low`` with the
    censored rates. The diagonal is not read.
    """
    n = len(rates)
    flat = np.ascontiguousarray(rates)
    _eliminate(flat.reshape(-1), n, np.zeros(n, dtype=np.int64), low, BLOCK)
    if flat is not rates:
        rates[...] = flat


def _eliminate(
    rates: NDArray[np.float64], wide: int, first: NDArray[np.int64], lowest: int, block: int
) -> None:
    """Eliminate the states from the last one down to ``lowest``.

    The rate from i to j is ``rates[i * wide + j]``; no state from k on leads to, or is reached from,
    one below ``first[k]``.
    """
    n = len(first)
    square = np.ndarray((n, n), buffer=rates, strides=(wide * rates.itemsize, rates.itemsize))
    room = np.empty(2 * n)
    spans = np.arange(n) - first
    run = _kernel(kernels.eliminate, float(spans @ spans))
    for high in range(n, lowest, -block):
        low = max(lowest, high - block)
        run(rates, wide, first, low, high, room)
        rest, panel = slice(first[low], low), slice(low, high)
        if rest.stop - rest.start > 1:
            square[rest, rest] += square[rest, panel] @ square[panel, rest]


class _Pattern:
    """Where a matrix has entries, as a key."""

    def __init__(self, matrix: sp.csr_matrix) -> None:
        self.arrays = matrix.indptr, matrix.indices

    def __hash__(self) -> int:
        return hash(tuple(part[:: max(len(part) // 256, 1)].tobytes() for part in self.arrays))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Pattern) and all(
            mine is theirs or np.array_equal(mine, theirs)
            for mine, theirs in zip(self.arrays, other.arrays, strict=True)
        )


@lru_cache(maxsize=REMEMBERED)
def _band(pattern: _Pattern, block: int) -> Band:
    indptr, indices = pattern.arrays
    n = len(indptr) - 1
    order = np.arange(n)
    if DENSE * len(indices) < n * n:
        matrix = sp.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(n, n))
        order = reverse_cuthill_mckee(matrix)[::-1].astype(np.int64)
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    first = np.arange(n)
    _kernel(kernels.lowest_beside, len(indices), indices.dtype.str)(indptr, indices, rank, first)
    first = np.minimum.accumulate(first[::-1])[::-1].copy()
    spans = np.arange(n) - first
    span, work = int(spans.max()), float(spans @ spans)
    if span < 2 * block:
        block = n
    reach = span + (1 if block == n else block)  # of what is read, if only to find it zero
    wide = min(2 * reach, n)
    return Band(order, rank, first, block, wide, span, work)


def _kernel(
    template: Callable[..., Any],
    work: float,
    types: str = "",
    helpers: tuple[Callable[..., Any], ...] = (),
) -> Callable[..., Any]:
    """Return a template compiled for some types of its arguments, or as plain Python.

    That is where Numba is not installed, or where to load it would take longer than the work, given
    as the number of multiplications.
    """
    if "numba" not in sys.modules and work < LITTLE:
        return template
    return _remembered(template, types, helpers)


def compiled(
    template: Callable[..., Any], types: str = "", helpers: Sequence[Callable[..., Any]] = ()
) -> Callable[..., Any]:
    """Return a template compiled for some types of its arguments, or as it is without Numba."""
    if find_spec("numba") is None:
        return template
    return build(template, helpers=helpers, salt=types)


_remembered = cache(compiled)


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
            if not (pi.min() >= 0.0 and (pi.max() <= _UNLIKELY or _balances(Q, pi))):
                pi, _ = self._relative_to(Q, 0, damping=1e-10)
                pi, memory = self._relative_to(Q, int(np.argmax(pi)))
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


def _balances(Q: sp.csr_matrix, pi: NDArray[np.float64]) -> bool:
    """Whether the flow into the states is the flow out of them, to rounding."""
    flow = inner(pi, np.abs(Q.diagonal()))
    return bool(np.abs(pi @ Q).sum() <= _ROUNDED * flow)
