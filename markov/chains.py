"""A continuous-time Markov chain by its generator: checked input, structure as lazy properties."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from markov.rules import ChainModel, generator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["MarkovChain"]

ROW_SUM_TOLERANCE = 1e-10


class MarkovChain:
    """A finite continuous-time Markov chain.

    Parameters
    ----------
    Q
        Generator, shape (n, n), dense or any SciPy sparse format: rates >= 0 in 1/s off the
        diagonal, rows that sum to zero. Or a `ChainModel`, whose rules are compiled.

    Attributes
    ----------
    Q
        CSR, the diagonal taken from the off-diagonals: solvers never see the rounding of the
        caller's diagonal.
    model
        The model that the chain came from, or None.

    Raises
    ------
    ValueError
        Naming the first row that has a negative or non-finite rate, or that does not sum to zero
        within 1e-10 of its largest entry.
    """

    def __init__(self, Q: ChainModel | ArrayLike | sp.spmatrix | sp.sparray) -> None:  # noqa: N803
        self.model = Q if isinstance(Q, ChainModel) else None
        self.Q: sp.csr_matrix = generator(Q) if isinstance(Q, ChainModel) else _checked(Q)

    @property
    def size(self) -> int:
        """Number of states."""
        return int(self.Q.shape[0])

    @cached_property
    def exit_rates(self) -> NDArray[np.float64]:
        """Total rate out of each state, shape (n,), 1/s."""
        return -np.asarray(self.Q.diagonal())

    @cached_property
    def _components(self) -> tuple[int, NDArray[np.int32]]:
        count, labels = connected_components(self.Q, directed=True, connection="strong")
        return int(count), labels

    @cached_property
    def recurrent_classes(self) -> list[NDArray[np.int64]]:
        """Closed communicating classes, each as the sorted indices of its states."""
        count, labels = self._components
        edges = self.Q.tocoo()
        leaves = np.zeros(count, dtype=bool)
        out = (labels[edges.row] != labels[edges.col]) & (edges.data > 0)
        leaves[labels[edges.row[out]]] = True
        return [np.flatnonzero(labels == c) for c in np.flatnonzero(~leaves)]

    @cached_property
    def transient_states(self) -> NDArray[np.int64]:
        """Indices of the states that the chain leaves for good."""
        recurrent = np.zeros(self.size, dtype=bool)
        for states in self.recurrent_classes:
            recurrent[states] = True
        return np.flatnonzero(~recurrent)

    def restricted(self, states: NDArray[np.int64]) -> MarkovChain:
        """Return the chain on a closed set of states."""
        return MarkovChain(self.Q[states][:, states])

    def __repr__(self) -> str:
        origin = "" if self.model is None else f" of {self.model!r}"
        return (
            f"MarkovChain{origin}: {self.size} states, {self.Q.nnz - self.size} transitions, "
            f"{len(self.recurrent_classes)} recurrent class(es), "
            f"{len(self.transient_states)} transient states"
        )


def _checked(Q: Any) -> sp.csr_matrix:  # noqa: N803
    """Return a generator as CSR with the diagonal that its off-diagonals imply."""
    try:
        matrix = sp.csr_matrix(Q, dtype=np.float64, copy=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Q: a two-dimensional matrix of numbers is expected ({error})") from None
    rows, columns = matrix.shape
    if rows != columns or rows == 0:
        raise ValueError(f"Q has shape {matrix.shape}: a square matrix with a row is expected")
    matrix.sum_duplicates()
    coo = matrix.tocoo()
    bad = ~np.isfinite(coo.data) | ((coo.row != coo.col) & (coo.data < 0))
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        place = f"Q[{coo.row[k]}, {coo.col[k]}] = {coo.data[k]:g}"
        raise ValueError(f"{place} (row {coo.row[k]}): rates off the diagonal must be finite and >= 0")
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    largest = np.asarray(abs(matrix).max(axis=1).todense()).ravel()
    off = np.abs(sums) > ROW_SUM_TOLERANCE * largest
    if off.any():
        row = int(np.flatnonzero(off)[0])
        msg = f"row {row} of Q sums to {sums[row]:g}: must be 0 within 1e-10 of its largest entry"
        raise ValueError(f"{msg}, {largest[row]:g}")
    matrix.setdiag(0.0)
    matrix.eliminate_zeros()
    exit_rates = np.asarray(matrix.sum(axis=1)).ravel()
    return sp.csr_matrix(matrix - sp.diags(exit_rates, format="csr"))
