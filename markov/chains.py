"""A continuous-time Markov chain by its generator: checked input, structure as lazy properties."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from markov.matrices import generator, with_diagonal
from markov.rules import ChainModel
from markov.structure import absorption, period

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    like
        Another chain: where its transitions join the same states, and the models start in the same
        one, its classes are taken over.

    Attributes
    ----------
    Q
        CSR, the diagonal taken from the off-diagonals: solvers never see the rounding of the
        caller's diagonal.
    model
        The model that the chain came from, or None.
    components
        The value of each component of the state in each state, shape (n,) each, by name; None where
        the chain is given by its generator alone. Methods look for structure in them.

    Raises
    ------
    ValueError
        For a matrix that is not square or not of real numbers, or naming the first row that has a
        negative or non-finite rate, or that does not sum to zero within 1e-10 of its largest entry.
    """

    def __init__(
        self,
        Q: ChainModel | ArrayLike | sp.spmatrix | sp.sparray,
        *,
        like: MarkovChain | None = None,
    ) -> None:
        self.model = Q if isinstance(Q, ChainModel) else None
        self.Q: sp.csr_matrix = generator(Q) if isinstance(Q, ChainModel) else _checked(Q)
        if like is not None and self._joins_as(like):
            self.__dict__["recurrent_classes"] = like.recurrent_classes
            self.__dict__["_parts"] = like._parts

    @classmethod
    def of_rows(cls, Q: sp.csr_matrix, components: Mapping[str, NDArray[np.int64]]) -> MarkovChain:
        """Return the chain of a generator whose rows are known to be right, as a model's are."""
        chain = cls.__new__(cls)
        chain.model, chain.Q, chain.components = None, Q, components
        return chain

    @cached_property
    def components(self) -> Mapping[str, NDArray[np.int64]] | None:
        """See the class."""
        return None if self.model is None else self.model.states()._asdict()

    def _joins_as(self, other: MarkovChain) -> bool:
        starts = [None if c.model is None else c.model.start() for c in (self, other)]
        return (
            self.Q.shape == other.Q.shape
            and starts[0] == starts[1]
            and np.array_equal(self.Q.indptr, other.Q.indptr)
            and np.array_equal(self.Q.indices, other.Q.indices)
        )

    @property
    def size(self) -> int:
        """Number of states."""
        return int(self.Q.shape[0])

    @cached_property
    def exit_rates(self) -> NDArray[np.float64]:
        """Total rate out of each state, shape (n,), 1/s."""
        return -np.asarray(self.Q.diagonal())

    @property
    def _transitions(self) -> int:
        return int(self.Q.nnz - np.count_nonzero(self.exit_rates))

    @cached_property
    def _components(self) -> tuple[int, NDArray[np.int32]]:
        count, labels = connected_components(self.Q, directed=True, connection="strong")
        return int(count), labels

    @cached_property
    def _reachable(self) -> NDArray[np.bool_]:
        """Whether the model's start leads to each state; without a start all count."""
        start = None if self.model is None else self.model.start()
        if self.model is None or start is None:
            return np.ones(self.size, dtype=bool)
        space = self.model.space().values()
        place = [values.index(value) for values, value in zip(space, start, strict=True)]
        first = int(np.ravel_multi_index(place, self.model.shape))
        reachable = np.zeros(self.size, dtype=bool)
        reachable[breadth_first_order(self.Q, first, return_predecessors=False)] = True
        return reachable

    @cached_property
    def recurrent_classes(self) -> list[NDArray[np.int64]]:
        """Closed communicating classes that the model's start leads to (without one, all).

        Each as the sorted indices of its states.
        """
        return [states for states in self._closed_classes if self._reachable[states[0]]]

    def irreducible(self, number: int) -> sp.csr_matrix:
        """Return the generator on one of the recurrent classes, in the order of its states."""
        if len(self.recurrent_classes[number]) == self.size:
            return self.Q
        entries, pattern = self._parts[number]
        part = copy(pattern)  # shallow: chains that are alike share it
        part.data = self.Q.data[entries]
        return part

    @cached_property
    def _parts(self) -> list[tuple[NDArray[np.int64], sp.csr_matrix]]:
        """For each recurrent class: which entries of Q it has, and where they are in its own matrix."""
        numbers = np.arange(self.Q.nnz)
        places = sp.csr_matrix((numbers, self.Q.indices, self.Q.indptr), shape=self.Q.shape)
        parts = [places[states][:, states] for states in self.recurrent_classes]
        return [(part.data, part) for part in parts]

    @cached_property
    def _closed_classes(self) -> list[NDArray[np.int64]]:
        count, labels = self._components
        edges = self.Q.tocoo()
        leaves = np.zeros(count, dtype=bool)
        out = (labels[edges.row] != labels[edges.col]) & (edges.data > 0)
        leaves[labels[edges.row[out]]] = True
        order = np.argsort(labels, kind="stable")
        bounds = np.searchsorted(labels[order], np.arange(count + 1))
        return [order[bounds[c] : bounds[c + 1]] for c in np.flatnonzero(~leaves)]

    @cached_property
    def transient_states(self) -> NDArray[np.int64]:
        """Indices of the states that the chain leaves for good, or never enters from its start."""
        recurrent = np.zeros(self.size, dtype=bool)
        for states in self.recurrent_classes:
            recurrent[states] = True
        return np.flatnonzero(~recurrent)

    @cached_property
    def periods(self) -> list[int]:
        """Period of the jump chain on each recurrent class; 1 is aperiodic."""
        return [period(self.irreducible(k)) for k in range(len(self.recurrent_classes))]

    @cached_property
    def absorption_probabilities(self) -> NDArray[np.float64]:
        """Probability to end in each recurrent class, shape (states, classes).

        Rows sum to one, but for states that the model's start does not lead to: they may end in
        classes that do not count.
        """
        closed = self._closed_classes
        ending = np.zeros((self.size, len(closed)))
        for column, states in enumerate(closed):
            ending[states, column] = 1.0
        transient = np.flatnonzero(ending.sum(axis=1) == 0.0)
        if len(transient):
            ending[transient] = absorption(self.Q, transient, closed)
        return ending[:, [self._reachable[states[0]] for states in closed]]

    def restricted(self, states: NDArray[np.int64]) -> MarkovChain:
        """Return the chain on a closed set of states, without the model."""
        chain = MarkovChain(self.Q[states][:, states])
        chain.components = self.components_of(states)
        return chain

    def components_of(self, states: NDArray[np.int64]) -> dict[str, NDArray[np.int64]] | None:
        """Return the values of the components in some states only."""
        if self.components is None:
            return None
        return {name: values[states] for name, values in self.components.items()}

    def __repr__(self) -> str:
        origin = "" if self.model is None else f" of {self.model!r}"
        return (
            f"MarkovChain{origin}: {self.size} states, {self._transitions} transitions, "
            f"{len(self.recurrent_classes)} recurrent class(es), "
            f"{len(self.transient_states)} transient states"
        )


def _checked(Q: Any) -> sp.csr_matrix:
    """Return a generator as CSR with the diagonal that its off-diagonals imply."""
    if not sp.issparse(Q):
        try:
            Q = np.asarray(Q)
        except ValueError as error:
            raise ValueError(f"Q: a matrix of numbers is expected ({error})") from None
    if Q.dtype.kind not in "iuf":
        raise ValueError(f"Q has entries of type {Q.dtype}: real numbers are expected")
    if Q.ndim != 2 or Q.shape[0] != Q.shape[1] or Q.shape[0] == 0:
        raise ValueError(
            f"Q has shape {Q.shape}: a square matrix with at least one row is expected"
        )
    matrix = sp.csr_matrix(Q, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    coo = matrix.tocoo()
    inner = coo.row != coo.col
    bad = ~np.isfinite(coo.data) | (inner & (coo.data < 0))
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        place = f"Q[{coo.row[k]}, {coo.col[k]}] = {coo.data[k]:g} (row {coo.row[k]})"
        rule = "off the diagonal must be finite and >= 0" if inner[k] else "must be finite"
        raise ValueError(f"{place}: rates {rule}")
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    largest = np.asarray(abs(matrix).max(axis=1).todense()).ravel()
    off = ~(np.abs(sums) <= ROW_SUM_TOLERANCE * largest)
    if off.any():
        row = int(np.flatnonzero(off)[0])
        msg = f"row {row} of Q sums to {sums[row]:g}: must be 0 within 1e-10 of its largest entry"
        raise ValueError(f"{msg}, {largest[row]:g}")
    kept = inner & (coo.data > 0)
    rates = sp.csr_matrix((coo.data[kept], (coo.row[kept], coo.col[kept])), shape=Q.shape)
    return with_diagonal(rates)
