"""The smallest chain with the same measures: exact lumping of a generator.

A partition is lumpable if all states of a block have the same total rate into every other block
(J. G. Kemeny, J. L. Snell, Finite Markov chains, 1960). The coarsest lumpable refinement of a partition
results from splitting blocks until no block splits (P. Buchholz, Exact and ordinary lumpability in finite
Markov chains, Journal of Applied Probability 31, 1994).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from hopflow.checks import count_of, format_value
from hopflow.fork_safety import cached_property
from markov.chains import MarkovChain
from markov.computing.matrices import off_diagonal
from markov.computing.resources import Counter
from markov.models.measures import functionals, resolve_measure
from markov.selections import as_chain

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Lumped", "lump"]

RATE_TOLERANCE = 64 * 2.0**-52
"""Relative difference below which two sums of rates are the same number, rounded differently."""


@dataclass(frozen=True, eq=False)
class Lumped:
    """Result of `lump`: a chain whose states are blocks of states of another chain.

    Attributes
    ----------
    chain
        The lumped `MarkovChain`, states 0 .. blocks - 1.
    original
        The chain that was lumped.
    blocks
        Block numbers of its states, shape (states,).
    defect
        Largest relative difference between rates that were taken as equal; at most a few units in the
        last digit, since they are sums of the same rates in another order.

    Examples
    --------
    See `lump`, which returns one.

    >>> from markov import lump
    >>> lumped = lump([[-2.0, 1.0, 1.0], [3.0, -3.0, 0.0], [3.0, 0.0, -3.0]], keep=[[1.0, 0.0, 0.0]])
    >>> lumped.blocks.tolist(), lumped.chain.Q.toarray().tolist()
    ([0, 1, 1], [[-2.0, 2.0], [3.0, -3.0]])
    """

    chain: MarkovChain
    original: MarkovChain
    blocks: NDArray[np.int64]
    defect: float

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of states of each block, shape (blocks,)."""
        return np.bincount(self.blocks)

    def of_blocks(self, measure: str | ArrayLike) -> NDArray[np.float64]:
        """Return the value of a preserved measure in each block, shape (blocks,).

        Raises
        ------
        ValueError
            For a measure that differs between states of a block.
        """
        chain = self.original
        values = resolve_measure(measure, chain.model, chain.table, np.arange(chain.size)).of
        first = np.unique(self.blocks, return_index=True)[1]
        by_block = np.asarray(values[..., first])
        if not np.array_equal(by_block[..., self.blocks], values):
            raise ValueError(f"measure = {measure!r} differs between states of one block")
        return by_block

    def start(self, pi: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the block probabilities, shape (blocks,), of a distribution over the states, shape (states,)."""
        return np.asarray(np.bincount(self.blocks, pi, minlength=self.chain.size), dtype=float)

    def __repr__(self) -> str:
        return f"Lumped: {count_of(self.chain.size, 'block')} of {count_of(self.original.size, 'state')}"


def lump(model: Any, *, keep: Iterable[Any] | None = None) -> Lumped:
    """Return the smallest chain with the same measures as another chain, whose states it merges into blocks.

    Parameters
    ----------
    model
        A `ChainModel`, a `MarkovChain`, a result of `explore`, a model read from a file, or a
        generator matrix.
    keep
        Measures to preserve: names of labels and rewards, or numbers of shape
        (states,); None: all labels and rewards of the model.

    Raises
    ------
    ValueError
        For a matrix without ``keep``: with no measure to preserve, all states would be one.

    Notes
    -----
    Stationary and transient probabilities of blocks, means of preserved measures, and passage times to unions
    of blocks are the same as in the original chain. Time grows with transitions times rounds of splitting, at
    worst one round per block.

    Examples
    --------
    Ten machines that fail and are repaired one by one have 1,024 states, or 11:

    >>> import itertools
    >>> from markov import explore, lump
    >>> def rules(up, q):
    ...     for k, works in enumerate(up):
    ...         yield (*up[:k], not works, *up[k + 1 :]), 0.1 if works else 1.0
    >>> chain = explore(rules, start=(True,) * 10, rewards=lambda up: {"up": sum(up)})
    >>> lump(chain)
    Lumped: 11 blocks of 1024 states
    """
    chain = as_chain(model)
    blocks = _initial_blocks(chain, keep)
    rates = off_diagonal(chain.Q)
    with Counter("blocks") as bar:
        while True:
            n, count = len(blocks), int(blocks.max()) + 1
            members = sp.csr_matrix((np.ones(n), blocks, np.arange(n + 1)), shape=(n, count))
            sums = sp.coo_matrix(rates @ members)
            away = blocks[sums.row] != sums.col
            pairs = sums.row[away], sums.col[away]
            into = sp.csr_matrix((sums.data[away], pairs), shape=sums.shape)
            into.sort_indices()
            finer = _split(into, blocks)
            bar.show(int(finer.max()) + 1)
            if finer.max() == blocks.max():
                break
            blocks = finer
    return _quotient(chain, into, blocks)


def _initial_blocks(chain: MarkovChain, keep: Iterable[Any] | None) -> NDArray[np.int64]:
    """Return block numbers by state: the coarsest partition in which all measures to preserve are constant."""
    if keep is None:
        by_name = {} if chain.model is None else functionals(chain.model, chain.table)
        if not by_name:
            raise ValueError("keep: the model has no labels and no rewards; name functions to keep")
        means = list(by_name.values())
    else:
        if isinstance(keep, (str, Mapping)) or not isinstance(keep, Iterable):
            raise TypeError(f"keep = {format_value(keep)}: must be a list of measures")
        if hasattr(keep, "__array__"):  # the rows of a DataFrame
            keep = list(np.atleast_1d(np.asarray(keep)))
        means = []
        for n, measure in enumerate(keep):
            try:
                means.append(resolve_measure(measure, chain.model, chain.table, np.arange(chain.size)))
            except ValueError as error:
                raise ValueError(f"keep[{n}]: {error}") from None
        if not means:
            raise ValueError("keep is empty: name at least one function of the state to keep")
    rows = [part.reshape(-1, chain.size) for m in means for part in (m.of, m.over) if part is not None]
    table = np.concatenate(rows).T
    return np.unique(table, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def _split(into: sp.csr_matrix, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return finer block numbers by state: blocks are split where rates into other blocks differ."""
    # 1. Rates that differ by rounding alone get the same number.
    order = np.argsort(into.data)
    ascending = into.data[order]
    starts_number = np.append(False, np.diff(ascending) > RATE_TOLERANCE * ascending[1:])[: len(ascending)]
    numbers = np.empty(len(ascending), dtype=np.int64)
    numbers[order] = np.cumsum(starts_number)
    table = sp.csr_matrix((numbers + 1.0, into.indices, into.indptr), shape=into.shape)
    # 2. States with equal numbers of transitions are compared row by row.
    counts = np.diff(into.indptr)
    finer, next_block = np.empty_like(blocks), 0
    for count in np.unique(counts):
        rows = np.flatnonzero(counts == count)
        entries = table.indptr[rows][:, None] + np.arange(count)
        keys = np.column_stack([blocks[rows], table.indices[entries], table.data[entries]])
        inverse = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
        finer[rows] = next_block + inverse
        next_block += int(inverse.max()) + 1
    return finer


def _quotient(chain: MarkovChain, into: sp.csr_matrix, blocks: NDArray[np.int64]) -> Lumped:
    """Return the lumped chain, with blocks numbered in the order of their first states."""
    _, first, blocks_in_order = np.unique(blocks, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    block_numbers = order[blocks_in_order.ravel()]
    representatives = np.sort(first)
    rates = sp.csr_matrix(into[representatives][:, blocks[representatives]])
    spread = into[first][blocks_in_order.ravel()]
    spread.sort_indices()
    assert np.array_equal(spread.indices, into.indices)  # otherwise the blocks would have split
    relative = np.abs(spread.data - into.data) / into.data
    defect = float(relative.max(initial=0.0))
    diagonal = -np.asarray(rates.sum(axis=1)).ravel()
    quotient = MarkovChain(sp.csr_matrix(rates + sp.diags(diagonal)))
    return Lumped(quotient, chain, block_numbers.astype(np.int64), defect)
