"""Elimination without subtractions on band storage, and solves with its factors.

1. `band`: an order of the states in which transitions span few positions, and the layout of the rates in it.
2. Closed chains: `eliminate_band`, and `eliminate_down_to` for dense matrices, by the kernels of
   `markov.elimination.gth_kernels`. Exit rates are compensated sums, and two states are eliminated at a time: the
   entrywise bounds of `markov.methods.gth` count these roundings.
3. Transient states: `PositiveFactors`, and `mean_times` for a dense matrix. The rates out of the states are a vector of
   their own: a state outside, which many of them lead to, would fill the band. NumPy eliminates halves of blocks by
   matrix products. Exit rates are correctly rounded sums, and no bound counts roundings.

The last level of `markov.multigrid` has a loop of its own, since it is part of a compiled cycle
(`markov.multigrid.kernels.aggregation_kernels`).
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.kernels import make_kernel
from markov.computing import costs
from markov.computing.matrices import breadth_first_order, cuthill_mckee_order, rank_of, row_numbers
from markov.computing.resources import check_room, interruptible
from markov.elimination import gth_kernels as kernels

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Matrix = NDArray[np.float64]
    Positions = NDArray[np.int64]

__all__ = [
    "BLOCK",
    "Band",
    "BandFactors",
    "Pattern",
    "PositiveFactors",
    "ascent",
    "band",
    "eliminate_band",
    "eliminate_down_to",
    "mean_times",
    "short_order",
]

BLOCK = 64  # states of a closed chain that are eliminated at a time
SUBSTITUTION_BLOCK, MAX_UNBLOCKED_STATES = 32, 8  # transient states of a block; those that are eliminated one by one
BAND_COPIES = 3.0  # of the rates among transient states: the eliminated rates and both factors
MAX_CACHED_LAYOUTS = 32  # layouts of chains with few transitions
MAX_CACHED_ENTRIES = 200_000  # of such a chain: about 3 MB with its layout
TILE_STATES, MAX_TILED_STATES = 64, 640  # size of a product for one thread, and maximum size that is divided into tiles
MAX_DENSITY_RATIO = 4  # a matrix with at least a quarter of all entries keeps its order


class Band(NamedTuple):
    """The layout of a chain's rates for elimination on band storage: order of the states, spans and cost.

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
        """Number of lower positions that the elimination of each position reaches down to, shape (n,)."""
        spans: NDArray[np.int64] = np.arange(len(self.first)) - self.first
        return spans

    @property
    def n_values(self) -> int:
        """Number of stored rates, zeros within the band included."""
        n = len(self.first)
        return (n - 1) * self.row_stride + n

    @property
    def memory(self) -> float:
        """Bytes of the stored rates."""
        return 8.0 * self.n_values

    @property
    def seconds(self) -> float:
        """Predicted seconds of the elimination in this layout."""
        return costs.elimination(len(self.first), self.work, self.block < len(self.first))


class BandFactors:
    """Factors of a generator by elimination on band storage, and solves with them.

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

    def stationary_vector(self) -> NDArray[np.float64]:
        """Return the stationary vector pi up to a factor, in the order of the states, shape (n,)."""
        pi = np.zeros(len(self.form.first))
        self._run("stationary_vector", pi)
        return pi[self.form.rank]

    def poisson(self, f: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return g with Q g = -f except in the reference, where g is zero: a sum of two vectors, shape (n,) each."""
        g = f[self.form.order], np.zeros_like(f)
        self._run("mean_costs", *g)
        return g[0][self.form.rank], g[1][self.form.rank]

    def balance(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return d with d Q = -r except in the reference, where d is zero; shape (n,)."""
        d = r[self.form.order]
        self._run("inflows", d)
        return d[self.form.rank]

    def _run(self, name: str, *vectors: NDArray[np.float64]) -> None:
        """Run a kernel of substitution with the factors on vectors in the order of elimination, in place."""
        layout = self.rates, self.form.row_stride, self.form.first
        with np.errstate(all="ignore"):  # callers check whether results are finite
            _kernel(name)(*layout, *vectors)


def eliminate_band(Q: sp.csr_matrix, form: Band, what: str) -> BandFactors:
    """Return the factors of a generator, shape (n, n), by elimination in the band layout ``form``.

    Raises
    ------
    TooLargeError
        When the rates, filled in, would not fit into memory, before they are laid out. ``what`` names the
        computation in the message.
    """
    check_room(f"{what} on {len(form.first)} states", form.memory)
    rates = _lay_out(Q, form)
    with np.errstate(all="ignore"):  # rates beyond float64 show in pi, which is looked at
        _eliminate(rates, form.row_stride, form.first, 1, form.block, form.seconds)
    return BandFactors(form, rates)


def _lay_out(rates: sp.csr_matrix, form: Band) -> Vector:
    """Return the off-diagonal entries of a sparse matrix in a layout, shape (stored rates,)."""
    stored = np.zeros(form.n_values)
    _kernel("lay_out")(rates.indptr, rates.indices, rates.data, form.rank, form.row_stride, stored)
    return stored


def eliminate_down_to(rates: NDArray[np.float64], low: int) -> None:
    """Eliminate the states from the last one down to ``low``, included, from a dense matrix of rates, in place.

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
    """Eliminate the states from the last one down to ``lowest``, included, from stored rates, in place, in blocks."""
    n = len(first)
    dense, workspace = _square_view(rates, row_stride, n), np.empty(2 * n)
    for high in range(n, lowest, -block):
        low = max(lowest, high - block)
        run = partial(_kernel("eliminate"), rates, row_stride, first, low, high, workspace)
        interruptible(run, seconds * (high - low) / n)
        if low - first[low] > 1:
            _add_paths(dense, int(first[low]), low, high)


def _add_paths(rates: NDArray[np.float64], start: int, low: int, high: int) -> None:
    """Add to the rates between states start .. low - 1 the rates of paths through the states low .. high - 1.

    Up to `MAX_TILED_STATES` states, the products are small enough for one thread of a BLAS: threads that wait for each
    other take ten times as long on a busy machine.
    """
    tile = TILE_STATES if low - start <= MAX_TILED_STATES else low - start
    bounds = [slice(k, min(k + tile, low)) for k in range(start, low, tile)]
    for rows in bounds:
        left = rates[rows, low:high]
        for columns in bounds:
            rates[rows, columns] += left @ rates[low:high, columns]


def _square_view(rates: Vector, row_stride: int, n: int) -> NDArray[np.float64]:
    """Return a view of stored rates as a square matrix with the rate from i to j at (i, j), shape (n, n).

    In band storage, entries (i, j) outside of the band are entries of other rows: callers neither read nor write them.
    """
    return np.ndarray((n, n), buffer=rates, strides=(row_stride * rates.itemsize, rates.itemsize))


# --------------------------------------------------------------------------- layout


def band(Q: sp.csr_matrix, block: int = BLOCK, reference: int | None = None, *, turned: bool = False) -> Band:
    """Return the layout of a generator, shape (n, n), for elimination on band storage, with its predicted cost.

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
    """Return the drift of a chain along the order of elimination, from -1 (all rates lead down) to 1 (all lead up).

    If they drift away from the state that is not eliminated, its probability may be so small that float64 does not
    distinguish mean costs until it is hit, which then prove nothing.
    """
    steps = (form.rank[Q.indices] - row_numbers(Q.indptr, form.rank)) * Q.data
    size = float(np.abs(steps).sum())
    return float(steps.sum()) / size if 0.0 < size < np.inf else 0.0


class Pattern:
    """The positions of a sparse matrix's stored entries, hashable: a key of caches."""

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
    """Return the band layout of a sparse pattern; arguments as for `band`."""
    indptr, indices = pattern.arrays
    order = short_order(indptr, indices, reference)
    if turned:
        order = order[::-1].copy()
    n = len(order)
    rank = rank_of(order)
    first = np.arange(n)
    _kernel("lowest_neighbours")(indptr, indices, rank, first)
    first = np.minimum.accumulate(first[::-1])[::-1].copy()
    spans = np.arange(n) - first
    span, work = int(spans.max()), float(spans @ spans)
    if span < 2 * block:
        block = n
    reach = span + (1 if block == n else block)  # of all entries that are read, zeros included
    row_stride = min(2 * reach, n)
    return Band(order, rank, first, block, row_stride, span, work)


def short_order(indptr: NDArray[Any], indices: NDArray[Any], reference: int | None = None) -> NDArray[np.int64]:
    """Return the states in an order in which transitions span few positions, shape (n,); arguments as for `band`."""
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
    """Return a function of `markov.elimination.gth_kernels` by its name, compiled."""
    helpers: Any = kernels.HELPERS.get(name, ())
    kernel: Callable[..., Any] = make_kernel(getattr(kernels, name), helpers=helpers)
    return kernel


# --------------------------------------------------------------------------- transient states


class PositiveFactors:
    """Factors of an M-matrix A, the exit rates minus the rates between transient states, without a subtraction.

    Parameters
    ----------
    rates
        Between the states, off the diagonal, shape (m, m), >= 0.
    leaving
        Rates out of the states, shape (m,), >= 0: each state must lead to one where it is positive.

    Raises
    ------
    TooLargeError
        When the rates, filled in, would not fit into memory, before they are laid out.
    """

    def __init__(self, rates: sp.csr_matrix, leaving: Vector) -> None:
        self._form = form = band(rates)
        m, first = len(form.order), form.first
        check_room(f"elimination of {m} states", BAND_COPIES * form.memory)
        out = leaving[form.order]
        entries = _square_view(_lay_out(rates, form), form.row_stride, m)
        for high in range(m, 0, -form.block):
            low = max(0, high - form.block)
            _eliminate_block(entries, first, low, high, out)
            start = int(first[low])
            if start < low:
                _add_paths(entries, start, low, high)
                out[start:low] += entries[start:low, low:high] @ out[low:high]
        self._parts = _factor_blocks(entries, first)

    def left(self, r: Vector) -> Vector:
        """Return the row vector v with v A = r, shape (m,): mean times in the states, from flows r into them."""
        v = r[self._form.order]
        for part in reversed(self._parts):
            block = slice(part.low, part.high)
            v[block] = _solve_upper(part.lower.T, v[block]) / part.exits
            v[part.start : part.low] += v[block] @ part.left
        for part in self._parts:
            block = slice(part.low, part.high)
            into = v[block] + v[part.start : part.low] @ part.above
            v[block] = _solve_upper(part.upper.T[::-1, ::-1], into[::-1])[::-1]
        return np.asarray(v[self._form.rank])

    def right(self, b: Vector) -> Vector:
        """Return the column vector x with A x = b, shape (m,): mean costs until absorption, from costs b per second."""
        x = b[self._form.order]
        for part in reversed(self._parts):
            block = slice(part.low, part.high)
            x[block] = _solve_upper(part.upper, x[block])
            x[part.start : part.low] += part.above @ x[block]
        for part in self._parts:
            block = slice(part.low, part.high)
            total = (x[block] + part.left @ x[part.start : part.low]) / part.exits
            x[block] = _solve_upper(part.lower[::-1, ::-1], total[::-1])[::-1]
        return np.asarray(x[self._form.rank])


def mean_times(rates: Matrix) -> Matrix:
    """Return the mean time in each state (row) from each start state (column) until state 0 is entered, shape (m, m).

    ``rates`` between the states, shape (m, m), are overwritten. Row and column 0 of the result are zero.
    """
    m = len(rates)
    times = np.eye(m)
    _eliminate_block(rates, np.zeros(m, dtype=np.int64), 1, m)
    for k in range(m - 1, 0, -1):
        times[:k] += rates[:k, k, None] * times[k]
    times[0] = 0.0
    for k in range(1, m):
        times[k] = (times[k] + rates[k, :k] @ times[:k]) / rates[k, k]
    return times


def _eliminate_block(
    entries: Matrix,
    first: Positions,
    low: int,
    high: int,
    leaving: Vector | None = None,
) -> None:
    """Eliminate the states high - 1 .. low of a dense matrix in place, in NumPy, recursively by halves.

    ``leaving`` are rates from each state out of the chain, shape (n,). Exit rates contain them, and the rates of states
    from low on are updated like rates between states.
    """
    if high - low > MAX_UNBLOCKED_STATES and high - low < len(first) - 1:
        middle = (low + high) // 2
        _eliminate_block(entries, first, middle, high, leaving)
        start, gone = int(first[low]), slice(middle, high)
        rows, border = slice(low, middle), max(start, low)
        entries[rows, start:middle] += entries[rows, gone] @ entries[gone, start:middle]
        if border > start:
            above = slice(start, low)
            entries[above, rows] += entries[above, gone] @ entries[gone, rows]
        if leaving is not None:
            leaving[rows] += entries[rows, gone] @ leaving[gone]
        return _eliminate_block(entries, first, low, middle, leaving)
    for k, start in zip(range(high - 1, low - 1, -1), first[low:high][::-1].tolist(), strict=True):
        row, column = entries[k, start:k], entries[start:k, k]
        total = math.fsum(row.tolist())
        if leaving is not None:
            total += float(leaving[k])
        column /= total
        entries[k, k] = total
        border = max(start, low)
        part = entries[border:k, start:k]
        np.add(part, column[border - start :, None] * row, out=part)
        if leaving is not None:
            leaving[border:k] += column[border - start :] * leaving[k]
        if border > start:
            part = entries[start:border, border:k]
            np.add(part, column[: border - start, None] * row[border - start :], out=part)
    return None


class _Part(NamedTuple):
    """The parts of both factors in a block of states low .. high - 1, connected with states from ``start`` on.

    ``above`` has the entries from lower states into them, ``left`` the entries back, ``exits`` their exit rates.
    ``upper`` is the identity minus U, ``lower`` minus the probabilities of jumps from each of them to lower states.
    """

    start: int
    low: int
    high: int
    above: Matrix
    left: Matrix
    lower: Matrix
    upper: Matrix
    exits: Vector


def _solve_upper(matrix: Matrix, right: Vector) -> Vector:
    """Return the solution of an upper triangular system, whose LU factors are the identity and the matrix.

    SciPy's `solve_triangular` would load `scipy.linalg`, which takes longer than a small chain.
    """
    return np.asarray(np.linalg.solve(matrix, right))


def _factor_blocks(entries: Matrix, first: Positions) -> list[_Part]:
    """Return the blocks of states in ascending order, each with its parts of both factors."""
    n, parts = len(first), []
    for low in range(0, n, SUBSTITUTION_BLOCK):
        high, start = min(low + SUBSTITUTION_BLOCK, n), int(first[low])
        inside = np.arange(start, high) >= first[low:high, None]
        lower = np.where(inside, entries[low:high, start:high], 0.0)
        upper = np.where(inside.T, entries[start:high, low:high], 0.0)
        jumps = np.triu(upper[low - start :], 1)
        exits = lower[:, low - start :].diagonal().copy()
        before, one = low - start, np.eye(high - low)
        back = one - np.tril(lower[:, before:], -1) / exits[:, None]
        part = _Part(start, low, high, upper[:before], lower[:, :before], back, one - jumps, exits)
        parts.append(part)
    return parts
