"""The part of a space that the start leads to, and the order of its states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from markov.computing.graphs import breadth_first_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.spaces import Space

__all__ = ["ascending", "closed_part", "led_to"]

NUMBERED = 2**63  # states of a space that have numbers


def ascending(space: Space, codes: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the order of states by their components, the last varying fastest; None: as they are."""
    if space.size < NUMBERED:
        numbers = space.numbers(codes)
        if np.all(numbers[1:] > numbers[:-1]):
            return None
        return np.argsort(numbers, kind="stable")
    return np.lexsort(codes[::-1])


def led_to(graph: sp.csr_matrix, first: int) -> NDArray[np.bool_]:
    """Return which states a state leads to, itself included; shape (states,)."""
    entered = np.zeros(graph.shape[0], dtype=bool)
    entered[breadth_first_order(graph, first)] = True
    return entered


def closed_part(Q: sp.csr_matrix, inside: NDArray[np.bool_]) -> sp.csr_matrix:
    """Return a generator on a set of states that it does not lead out of."""
    if inside.all():
        return Q
    counts = np.diff(Q.indptr)
    kept = np.repeat(inside, counts)
    place = (np.cumsum(inside) - 1).astype(Q.indices.dtype)
    indptr = np.append(0, np.cumsum(counts[inside])).astype(Q.indptr.dtype)
    found: Any = Q.data[kept], place[Q.indices[kept]], indptr
    n = len(indptr) - 1
    part = sp.csr_matrix(found, shape=(n, n))
    part.has_canonical_format = True
    return part
