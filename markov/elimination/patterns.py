"""Subtraction-free elimination of a generator on band storage, and solves with its factors."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.kernels import make_kernel
from markov.computing import costs
from markov.computing.graphs import breadth_first_order, cuthill_mckee_order
from markov.computing.interruption import interruptible
from markov.computing.matrices import row_numbers
from markov.computing.memory import check_room
from markov.elimination import gth_kernels as kernels
from markov.elimination.gth_numpy import square

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = [
    "BLOCK",
    "Band",
    "BandFactors",
    "Pattern",
    "ascent",
    "band",
    "eliminate_band",
    "eliminate_down_to",
    "short_order",
    "update",
]

BLOCK = 64
MAX_CACHED_LAYOUTS = 32  # layouts of chains with few transitions
MAX_CACHED_ENTRIES = 50_000
TILE_STATES, MAX_TILED_STATES = 64, 640  # size of a product for one thread, and maximum size that is divided into tiles
MAX_DENSITY_RATIO = 4  # a matrix with at least a quarter of all entries keeps its order


class Band(NamedTuple):
    """How the rates of a chain are laid out for elimination.

    Attributes
    ----------
    order, rank
        The states in reverse order of elimination, and the position of each state in it, shape (n,) each.
    first
        The lowest position that a state from position k on leads to or is reached from, for each k, shape
        (n,): no transition of the elimination reaches lower.
    block
        Number of states to eliminate at a time.
    row_stride
        The rate from position i to j is entry i row_stride + j; rates that stay zero may share an entry.
    span
        Maximum number of positions that a transition spans, fill-in included.
    work
        Multiplications of the elimination.
    """

    order: NDArray[np.int64]
    rank: NDArray[np.int64]
    first: NDArray[np.int64]
    block: int
    row_stride: int
    span: int
    work: float

    @property
    def spans(self) -> NDArray[np.int64]:
        """Number of lower-numbered neighbours of each state, shape (n,)."""
        spans: NDArray[np.int64] = np.arange(len(self.first)) - self.first
        return spans

    @property
    def n_values(self) -> int:
        """Number of stored rates."""
        n = len(self.first)
        return (n - 1) * self.row_stride + n

    @property
    def memory(self) -> float:
        """Bytes of the stored rates."""
        return 8.0 * self.n_values

    @property
    def seconds(self) -> float:
        """Predicted time of the elimination."""
        return costs.elimination(len(self.first), self.work, self.block < len(self.first))


class BandFactors:
    """Factors of an elimination, with solves.

    Attributes
    ----------
    form
        The layout.
    rates
        Rates to lower positions at the elimination of their state, rates to higher positions divided by
        the exit rate of their target at its elimination, and these exit rates on the diagonal, in the layout of `Band`.
    reference
        The state that is not eliminated.
    """

    def __init__(self, form: Band, rates: NDArray[np.float64]) -> None:
        self.form, self.rates = form, rates
        self.reference = int(form.order[0])

    @property
    def nbytes(self) -> int:
        """Bytes of the factors."""
        return self.rates.nbytes

    def flows(self) -> NDArray[np.float64]:
        """Return pi up to a factor, shape (n,)."""
        pi = np.zeros(len(self.form.first))
        self._run("flows", pi)
        return pi[self.form.rank]

    def poisson(self, f: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return g with Q g = -f away from the reference, and zero there; a sum of two, shape (n,)."""
        g = f[self.form.order], np.zeros_like(f)
        self._run("mean_costs", *g)
        return g[0][self.form.rank], g[1][self.form.rank]

    def balance(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return d with d Q = -r away from the reference, and zero there; shape (n,)."""
        d = r[self.form.order]
        self._run("inflows", d)
        return d[self.form.rank]

    def _run(self, name: str, *vectors: NDArray[np.float64]) -> None:
        layout = self.rates, self.form.row_stride, self.form.first
        with np.errstate(all="ignore"):  # callers check whether results are finite
            _kernel(name)(*layout, *vectors)


def eliminate_band(Q: sp.csr_matrix, form: Band, what: str) -> BandFactors:
    """Return the factors of a generator, shape (n, n), in the layout ``form``.

    Raises
    ------
    TooLargeError
        When the rates, filled in, would not fit into memory, before they are laid out. ``what`` names the
        computation in the message.
    """
    check_room(f"{what} on {len(form.first)} states", form.memory)
    rates = np.zeros(form.n_values)
    _kernel("lay_out")(Q.indptr, Q.indices, Q.data, form.rank, form.row_stride, rates)
    with np.errstate(all="ignore"):  # rates beyond float64 show in pi, which is looked at
        _eliminate(rates, form.row_stride, form.first, 1, form.block, form.seconds)
    return BandFactors(form, rates)


def eliminate_down_to(rates: NDArray[np.float64], low: int) -> None:
    """Eliminate the states from the last one down to ``low``, in blocks, in place.

    Afterwards each column is divided by the exit rate of its state, each row has the rates to lower states, the
    diagonal has the exit rates, and the square of the states below ``low`` has the censored rates. The diagonal is
    not read.
    """
    n = len(rates)
    flat = np.ascontiguousarray(rates)
    first, seconds = np.zeros(n, dtype=np.int64), costs.elimination(n, n**3 / 3.0, n > BLOCK)
    _eliminate(flat.reshape(-1), n, first, low, BLOCK, seconds)
    if flat is not rates:
        rates[...] = flat


def _eliminate(
    rates: NDArray[np.float64],
    row_stride: int,
    first: NDArray[np.int64],
    lowest: int,
    block: int,
    seconds: float,
) -> None:
    """Eliminate the states from the last one down to ``lowest``, which is predicted to take ``seconds``."""
    n = len(first)
    dense, workspace = square(rates, row_stride, n), np.empty(2 * n)
    for high in range(n, lowest, -block):
        low = max(lowest, high - block)
        run = partial(_kernel("eliminate"), rates, row_stride, first, low, high, workspace)
        interruptible(run, seconds * (high - low) / n)
        if low - first[low] > 1:
            update(dense, int(first[low]), low, high)


def update(rates: NDArray[np.float64], start: int, low: int, high: int) -> None:
    """Add to the rates between the states start .. low - 1 the rates by way of the states low .. high - 1.

    Up to `MAX_TILED_STATES` states, the products are small enough for one thread of a BLAS: threads that wait for each
    other take ten times as long on a busy machine.
    """
    tile = TILE_STATES if low - start <= MAX_TILED_STATES else low - start
    bounds = [slice(k, min(k + tile, low)) for k in range(start, low, tile)]
    for rows in bounds:
        left = rates[rows, low:high]
        for columns in bounds:
            rates[rows, columns] += left @ rates[low:high, columns]


# --------------------------------------------------------------------------- layout


def band(Q: sp.csr_matrix, block: int = BLOCK, reference: int | None = None, *, turned: bool = False) -> Band:
    """Return the band layout of a generator, shape (n, n), and its cost.

    Parameters
    ----------
    Q
        Irreducible generator.
    block
        Number of states to eliminate at a time where transitions span many positions.
    reference
        The state that is not eliminated, from which the states are ordered by distance; None: the reverse Cuthill-McKee
        order decides.
    turned
        Whether to reverse the order.
    """
    find = _band if Q.nnz <= MAX_CACHED_ENTRIES else _band.__wrapped__
    return find(Pattern(Q), block, reference, turned)


def ascent(Q: sp.csr_matrix, form: Band) -> float:
    """Return the drift of the positions of states: 1 if all rates lead to higher positions, -1 if to lower.

    If they drift away from the state that is not eliminated, its probability may be so small that float64 does not
    distinguish mean costs until it is hit, which then prove nothing.
    """
    steps = (form.rank[Q.indices] - row_numbers(Q.indptr, form.rank)) * Q.data
    size = float(np.abs(steps).sum())
    return float(steps.sum()) / size if 0.0 < size < np.inf else 0.0


class Pattern:
    """The positions of a matrix's entries, as a key of caches."""

    def __init__(self, matrix: sp.csr_matrix) -> None:
        self.arrays = matrix.indptr, matrix.indices

    def __hash__(self) -> int:
        return hash(tuple(part[:: max(len(part) // 256, 1)].tobytes() for part in self.arrays))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and all(
            mine is theirs or np.array_equal(mine, theirs)
            for mine, theirs in zip(self.arrays, other.arrays, strict=True)
        )


@lru_cache(maxsize=MAX_CACHED_LAYOUTS)
def _band(pattern: Pattern, block: int, reference: int | None, turned: bool) -> Band:
    indptr, indices = pattern.arrays
    order = short_order(indptr, indices, reference)
    if turned:
        order = order[::-1].copy()
    n = len(order)
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    first = np.arange(n)
    _kernel("lowest_beside")(indptr, indices, rank, first)
    first = np.minimum.accumulate(first[::-1])[::-1].copy()
    spans = np.arange(n) - first
    span, work = int(spans.max()), float(spans @ spans)
    if span < 2 * block:
        block = n
    reach = span + (1 if block == n else block)  # of all entries that are read, zeros included
    row_stride = min(2 * reach, n)
    return Band(order, rank, first, block, row_stride, span, work)


def short_order(indptr: NDArray[Any], indices: NDArray[Any], reference: int | None = None) -> NDArray[np.int64]:
    """Return the states in an order in which transitions span few places; arguments as for `band`."""
    n = len(indptr) - 1
    if MAX_DENSITY_RATIO * len(indices) >= n * n:
        order = np.arange(n)
        if reference is not None:
            order[[0, reference]] = order[[reference, 0]]
        return order
    matrix = sp.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(n, n))
    if reference is None:
        return cuthill_mckee_order(matrix)
    return breadth_first_order(matrix, reference, directed=False)


def _kernel(name: str) -> Callable[..., Any]:
    """Return a function of `markov.elimination.gth_kernels`, compiled."""
    kernel: Callable[..., Any] = make_kernel(getattr(kernels, name), helpers=kernels.HELPERS.get(name, ()))
    return kernel
