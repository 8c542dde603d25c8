"""Interface between `stationary` and its methods: `Method`, `Solution` and `Factors`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.multigrid.hierarchy import Hierarchy

__all__ = ["Factors", "Method", "Solution"]


class Factors(Protocol):
    """Interface of factors of a generator that solve its equations; their rounding errors are not bounded.

    Attributes
    ----------
    reference
        The state in which solutions are zero. Its equation is omitted: it follows from the others if pi f = 0, or
        if the sum of r is zero.
    nbytes
        Bytes of the factors.
    """

    reference: int

    @property
    def nbytes(self) -> int:
        """Bytes of the factors."""
        ...

    def poisson(self, f: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return g with Q g = -f except in the reference, where g is zero: a sum of two vectors, shape (n,) each."""
        ...

    def balance(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return d with d Q = -r except in the reference, where d is zero; shape (n,)."""
        ...


class Solution(NamedTuple):
    """Result of a method for pi Q = 0: pi, with factors or multigrid levels that also bound its error.

    Attributes
    ----------
    pi
        Shape (n,), summing to one.
    iterations
        Number of iterations; 0 for a direct method.
    memory
        Bytes of the method's arrays beside Q.
    factors
        Of the generator, which also bound the error and solve Poisson's equation; None where the method
        has none.
    hierarchy
        Levels of a multigrid method, by which the bound is found; None where there are none.
    entry_error
        Bound on the relative error of each entry, from the number of the method's operations; inf
        without proof.

    Examples
    --------
    >>> import numpy as np
    >>> from markov import Solution
    >>> Solution(np.array([0.75, 0.25])).iterations
    0
    """

    pi: NDArray[np.float64]
    iterations: int = 0
    memory: int = 0
    factors: Factors | None = None
    hierarchy: Hierarchy | None = None
    entry_error: float = math.inf


class Method(Protocol):
    """Interface of a method that solves pi Q = 0.

    An iterative method has an attribute ``tolerance``: the requested relative residual, by which
    its result is judged.

    Examples
    --------
    >>> from markov import GTH, stationary
    >>> stationary([[-1.0, 1.0], [3.0, -3.0]], method=GTH()).method
    GTH(block=64)
    """

    def solve(self, Q: sp.csr_matrix, components: Mapping[str, NDArray[np.int64]] | None = None) -> Solution:
        """Return the solution pi of an irreducible generator Q, shape (n, n).

        ``components`` has the value of each component of a model's state, shape (n,) each; a method
        may use them to find structure.
        """
        ...
