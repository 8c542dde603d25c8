"""The smallest chain that keeps some measures: exact lumping, found from the generator.

A partition is lumpable when all states of a block have the same total rate into each other block
(J. G. Kemeny, J. L. Snell, Finite Markov chains, 1960). The coarsest one that refines a given partition
is found by splitting blocks until nothing splits (P. Buchholz, Exact and ordinary lumpability in finite
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
from markov.computing.progress import Counter
from markov.models.means import Mean
from markov.models.measures import chosen, functionals
from markov.selections import as_chain

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Lumped", "lump"]

GAP = 64 * 2.0**-52
"""Relative gap below which two sums of rates are the same number, rounded differently."""


@dataclass(frozen=True, eq=False)
class Lumped:
    """A chain whose states are blocks of states of another one.

    Attributes
    ----------
    chain
        The lumped `MarkovChain`, states 0 .. blocks - 1.
    original
        The chain that was lumped.
    blocks
        The block of each of its states, shape (states,).
    defect
        Largest relative difference between rates that were taken as equal; at most some units in the
        last place, by which sums of the same rates in another order differ.

    Examples
    --------
    See `lump`, which returns one.

    >>> from markov import lump
    >>> found = lump([[-2.0, 1.0, 1.0], [3.0, -3.0, 0.0], [3.0, 0.0, -3.0]], keep=[[1.0, 0.0, 0.0]])
    >>> found.blocks.tolist(), found.chain.Q.toarray().tolist()
    ([0, 1, 1], [[-2.0, 2.0], [3.0, -3.0]])
    """

    chain: MarkovChain
    original: MarkovChain
    blocks: NDArray[np.int64]
    defect: float

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of states in each block, shape (blocks,)."""
        return np.bincount(self.blocks)

    def of_blocks(self, measure: str | ArrayLike) -> NDArray[np.float64]:
        """Return a measure that was kept, over the blocks, shape (blocks,).

        Raises
        ------
        ValueError
            When it differs between states of one block.
        """
        chain = self.original
        values = chosen(measure, chain.model, chain.table, np.arange(chain.size)).of
        first = np.unique(self.blocks, return_index=True)[1]
        found = np.asarray(values[..., first])
        if not np.array_equal(found[..., self.blocks], values):
            raise ValueError(f"measure = {measure!r} differs between states of one block")
        return found

    def start(self, pi: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a distribution of shape (states,) over the blocks, shape (blocks,)."""
        return np.asarray(np.bincount(self.blocks, pi, minlength=self.chain.size), dtype=float)

    def __repr__(self) -> str:
        return f"Lumped: {count_of(self.chain.size, 'block')} of {count_of(self.original.size, 'state')}"


def lump(model: Any, *, keep: Iterable[Any] | None = None) -> Lumped:
    """Return the smallest chain that has the measures of another one, found exactly.

    Parameters
    ----------
    model
        A `ChainModel`, a `MarkovChain`, what `explore` found, a model read from a file, or a
        generator matrix.
    keep
        What is to remain a function of the block: names of labels and rewards, or numbers of shape
        (states,); None: all labels and rewards of the model.

    Raises
    ------
    ValueError
        For a matrix without ``keep``: with nothing to keep, all states would be one.

    Notes
    -----
    Stationary and transient probabilities of blocks, means of what is kept, and passage times to unions
    of blocks are those of the original chain. Time grows with transitions times rounds of splitting, at
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
    blocks = _first_blocks(chain, keep)
    rates = off_diagonal(chain.Q)
    with Counter("blocks") as bar:
        while True:
            into = _rates_into(rates, blocks)
            finer = _split(into, blocks)
            bar.show(int(finer.max()) + 1)
            if finer.max() == blocks.max():
                break
            blocks = finer
    return _quotient(chain, into, blocks)


def _first_blocks(chain: MarkovChain, keep: Iterable[Any] | None) -> NDArray[np.int64]:
    if keep is None:
        found = {} if chain.model is None else functionals(chain.model, chain.table)
        if not found:
            raise ValueError("keep: the model has no labels and no rewards; name functions to keep")
        means = list(found.values())
    else:
        if isinstance(keep, (str, Mapping)) or not isinstance(keep, Iterable):
            raise TypeError(f"keep = {format_value(keep)}: must be a list of measures")
        everywhere = np.arange(chain.size)
        if hasattr(keep, "__array__"):  # of a DataFrame its rows
            keep = list(np.atleast_1d(np.asarray(keep)))
        means = [_kept(n, each, chain, everywhere) for n, each in enumerate(keep)]
        if not means:
            raise ValueError("keep is empty: name at least one function of the state to keep")
    rows = [part.reshape(-1, chain.size) for m in means for part in (m.of, m.over) if part is not None]
    table = np.concatenate(rows).T
    return np.unique(table, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def _kept(n: int, measure: Any, chain: MarkovChain, everywhere: NDArray[np.int64]) -> Mean:
    try:
        return chosen(measure, chain.model, chain.table, everywhere)
    except ValueError as error:
        raise ValueError(f"keep[{n}]: {error}") from None


def _rates_into(rates: sp.csr_matrix, blocks: NDArray[np.int64]) -> sp.csr_matrix:
    """Return the total rates from each state into each other block, shape (states, blocks)."""
    n, count = len(blocks), int(blocks.max()) + 1
    members = sp.csr_matrix((np.ones(n), blocks, np.arange(n + 1)), shape=(n, count))
    found = sp.coo_matrix(rates @ members)
    away = blocks[found.row] != found.col
    pairs = found.row[away], found.col[away]
    into = sp.csr_matrix((found.data[away], pairs), shape=found.shape)
    into.sort_indices()
    return into


def _split(into: sp.csr_matrix, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the blocks, split by the rates into other blocks."""
    numbers = _numbered(into.data)
    table = sp.csr_matrix((numbers + 1.0, into.indices, into.indptr), shape=into.shape)
    # states with as many transitions can be compared row by row
    counts = np.diff(into.indptr)
    found, next_block = np.empty_like(blocks), 0
    for count in np.unique(counts):
        rows = np.flatnonzero(counts == count)
        places = table.indptr[rows][:, None] + np.arange(count)
        keys = np.column_stack([blocks[rows], table.indices[places], table.data[places]])
        inverse = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
        found[rows] = next_block + inverse
        next_block += int(inverse.max()) + 1
    return found


def _numbered(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a number for each value, the same for those that differ by rounding alone."""
    order = np.argsort(values)
    ascending = values[order]
    new = np.append(False, np.diff(ascending) > GAP * ascending[1:])[: len(values)]
    found = np.empty(len(values), dtype=np.int64)
    found[order] = np.cumsum(new)
    return found


def _quotient(chain: MarkovChain, into: sp.csr_matrix, blocks: NDArray[np.int64]) -> Lumped:
    _, first, blocks_in_order = np.unique(blocks, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))  # blocks by their first state
    places = order[blocks_in_order.ravel()]
    representatives = np.sort(first)
    rates = sp.csr_matrix(into[representatives][:, blocks[representatives]])
    spread = into[first][blocks_in_order.ravel()]
    spread.sort_indices()
    assert np.array_equal(spread.indices, into.indices)  # or the blocks would have split
    relative = np.abs(spread.data - into.data) / into.data
    defect = float(relative.max(initial=0.0))
    diagonal = -np.asarray(rates.sum(axis=1)).ravel()
    quotient = MarkovChain(sp.csr_matrix(rates + sp.diags(diagonal)))
    return Lumped(quotient, chain, places.astype(np.int64), defect)
