"""GTH: elimination without subtractions, and its entrywise error bound by counting roundings.

A quantity is right to c counts when it lies between (1 - u)^c and (1 - u)^-c of the exact one, u = 2^-53.
One rounded operation costs one count; products and quotients add the counts of their factors; sums of
positive numbers have the largest of their terms. `markov-bound` in the documentation has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopflow.parameters import param, validate_parameters
from markov.computing.rounding import U
from markov.elimination.bands import BLOCK, Band, ascent, band, eliminate_band
from markov.methods.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Mapping

    import scipy.sparse as sp
    from numpy.typing import NDArray

__all__ = ["GTH", "Extremes", "elimination_counts", "entry_error", "level_counts"]

MAX_ASCENT = 0.5
"""Maximum drift of the positions of states. Above it the order of elimination is reversed: a likely state remains."""

EXIT_RATE = 2
"""Counts of an exit rate: a compensated sum, or a correctly rounded one."""
MIN_ENTRY, MIN_PRODUCT = 1e-250, 1e-290
"""Of pi, and of two numbers that an elimination keeps: where all are larger, nothing was lost to underflow."""
CHUNK = 1 << 15


@validate_parameters
@dataclass(frozen=True)
class GTH:
    """Elimination without subtractions (Grassmann, Taksar, Heyman): entrywise accurate.

    Every entry of pi has a relative error of a few n units of rounding, at any stiffness, since
    only sums, products and quotients of positive numbers occur; `Stationary.entry_error` is proved by
    counting them. States are eliminated in the reverse Cuthill-McKee order, which keeps transitions
    short: O(n b^2) time and O(n b) memory when none spans more than b states, O(n^3) and O(n^2) at
    worst. Where b is large, the update of the remaining states is blocked into matrix products. NumPy
    where the chain is small and Numba is not loaded, else a compiled kernel.

    Parameters
    ----------
    block
        Number of states that are eliminated between two updates of the rest.

    Notes
    -----
    W. K. Grassmann, M. I. Taksar, D. P. Heyman, Regenerative analysis and steady state
    distributions for Markov chains, Operations Research 33(5), 1985; entrywise error bound: C. A.
    O'Cinneide, Numerische Mathematik 65, 1993.

    Examples
    --------
    >>> from markov import GTH, stationary
    >>> stationary([[-1.0, 1.0], [3.0, -3.0]], GTH()).pi
    array([0.75, 0.25])
    """

    block: int = param(BLOCK, at_least=1, at_most=10**6)

    def solve(
        self,
        Q: sp.csr_matrix,
        components: Mapping[str, NDArray[np.int64]] | None = None,  # noqa: ARG002
    ) -> Solution:
        """Return pi of an irreducible generator by elimination, with a proved bound on the error of each entry.

        Raises
        ------
        TooLargeError
            When the rates, filled in, would not fit into memory, before they are laid out.
        """
        form = self.band(Q)
        if ascent(Q, form) > MAX_ASCENT:
            form = band(Q, self.block, turned=True)
        factors = eliminate_band(Q, form, "GTH()")
        pi = factors.stationary_vector()
        with np.errstate(all="ignore"):  # the driver checks whether pi is finite
            pi /= pi.sum()
        extremes = Extremes()
        extremes.update(factors.rates)
        error = np.inf
        if extremes.exclude_underflow(Q, pi):
            together = 2 if form.block >= len(pi) else max(form.block, 2)
            error = entry_error(elimination_counts(form.spans, together), len(pi))
        return Solution(pi, memory=factors.nbytes, factors=factors, entry_error=error)

    def band(self, Q: sp.csr_matrix) -> Band:
        """Return the layout of a generator, shape (n, n), for elimination on band storage, with its predicted cost."""
        return band(Q, self.block)


def elimination_counts(spans: NDArray[np.int64], together: int) -> float:
    """Return the largest number of roundings in an entry of pi, up to a common factor, by elimination of states.

    Parameters
    ----------
    spans
        Number of lower-numbered neighbours at elimination, shape (n,).
    together
        Products that are summed before they are added to a rate, at least two.
    """
    spans = spans[spans > 0].astype(float)
    stage = spans * (EXIT_RATE + together + 4.0)
    substitution = spans + EXIT_RATE + 1.0
    return float((stage + substitution).sum())


def level_counts(sizes: NDArray[np.int64], beside: NDArray[np.int64], block: int) -> float:
    """Return the largest number of roundings in an entry of pi, up to a common factor, by elimination of levels.

    Parameters
    ----------
    sizes
        Number of states of each level that is eliminated, shape (levels,).
    beside
        Number of states of the levels that it is censored on, shape (levels,).
    block
        Maximum number of states of a level that are eliminated at a time.

    Notes
    -----
    Rates by way of a level are summed from zero, ``block`` states at a time, and added to
    the rates between the levels beside it, at most three times; that adds counts to its products. A
    level's part of pi is a product with the matrix of its mean visits: a path within the level passes each
    of its states at most once.
    """
    m, k = sizes.astype(float), beside.astype(float)
    joined = m * k + m * (m - 1.0) / 2.0
    together = np.clip(m, 2.0, block)
    later = np.ceil(m / block) + 3.0
    stages = joined * (EXIT_RATE + together + 4.0 + later)
    substitution = joined + m * (EXIT_RATE + 2.0) + k
    return float((stages + substitution).sum())


def entry_error(counts: float, n: int) -> float:
    """Return the bound on the relative error of every entry of pi from its number of roundings; inf without a bound.

    The bound b satisfies |x - pi| <= b pi.

    ``counts`` belong to pi up to a multiple. The n entries are then divided by their sum, at most once more
    than needed.
    """
    roundings = (2.0 * counts + n + 4.0) * U
    return roundings / (1.0 - roundings) if roundings < 0.5 else math.inf


class Extremes:
    """The smallest and the largest positive number that an elimination stores, which rule out underflow.

    Notes
    -----
    With m the smallest stored positive number, each product of two of them is at least m^2, and
    every dividend of an exit rate is at least m^2 or an input rate. While nothing has underflowed, nothing
    underflows next, unless m^2, or the smaller of m^2 and the smallest input rate over the
    largest stored number, underflows. A rate that underflows would void the counts.
    """

    def __init__(self) -> None:
        self.smallest, self.largest = math.inf, 1.0

    def update(self, numbers: NDArray[np.float64]) -> None:
        """Update both extremes by an array of stored numbers, shape (m,); zeros are ignored."""
        for start in range(0, len(numbers), CHUNK):
            chunk = numbers[start : start + CHUNK]
            # positive numbers have the order of their bits; less one, zero becomes the largest
            bits = np.ascontiguousarray(chunk).view(np.uint64) - np.uint64(1)
            smallest = float((bits[[bits.argmin()]] + np.uint64(1)).view(np.float64)[0])
            self.smallest = min(self.smallest, smallest if smallest > 0.0 else math.inf)
            self.largest = max(self.largest, float(chunk.max()))

    def exclude_underflow(self, Q: sp.csr_matrix, pi: NDArray[np.float64]) -> bool:
        """Return whether no rate of an elimination of Q, and no entry of pi, can have underflowed."""
        input_rate = float(np.min(Q.data, where=Q.data > 0.0, initial=math.inf))
        smallest = min(self.smallest**2, input_rate)
        return bool(smallest / self.largest >= MIN_PRODUCT and pi.min() >= MIN_ENTRY)
