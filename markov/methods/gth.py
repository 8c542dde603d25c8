"""How to solve pi Q = 0 on an irreducible chain: frozen method objects, each with its own numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopflow.checks import whole
from markov.methods.elimination import BLOCK, Band, ascent, band, eliminated
from markov.methods.entrywise import Extremes, elimination_counts, entry_error
from markov.methods.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Mapping

    import scipy.sparse as sp
    from numpy.typing import NDArray

__all__ = ["DENSE_LIMIT", "GTH"]

DENSE_LIMIT = 1500
"""Number of transient states up to which absorption probabilities are found by elimination."""

STEEP = 0.5
"""Drift of the places of states beyond which the order of elimination is turned, so that a likely state is left."""


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
        if ascent(Q, form) > STEEP:
            form = band(Q, self.block, turned=True)
        factors = eliminated(Q, form, "GTH()")
        pi = factors.flows()
        with np.errstate(all="ignore"):  # what is not finite shows in pi, which is looked at
            pi /= pi.sum()
        extremes = Extremes()
        extremes.see(factors.rates)
        error = np.inf
        if extremes.keep_edges(Q, pi):
            together = 2 if form.block >= len(pi) else max(form.block, 2)
            error = entry_error(elimination_counts(form.spans, together), len(pi))
        return Solution(pi, memory=factors.nbytes, factors=factors, entry_error=error)

    def band(self, Q: sp.csr_matrix) -> Band:
        """Return the band layout of a generator, shape (n, n), and its cost."""
        return band(Q, self.block)
