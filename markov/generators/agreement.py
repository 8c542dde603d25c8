"""Comparison of the rows of a matrix with the rules in plain Python, on a sample of states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from markov.generators.edges import edges_by_python

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.generators.calls import Calls
    from markov.models.spaces import Space

__all__ = ["by_source", "difference", "disagreement"]

ROUNDING = 1e-13  # relative: elementary functions of another library, sums in another order


def disagreement(
    calls: Calls, space: Space, codes: NDArray[np.int64], Q: sp.csr_matrix, places: list[int]
) -> tuple[int, str] | None:
    """Return the first state whose row differs from plain Python and a description, or None.

    Parameters
    ----------
    calls
        The rules.
    space, codes
        The states, shape (components, states).
    Q
        The generator on them.
    places
        Which of them to compare.
    """
    numbers = space.numbers(codes[:, places])
    expected = by_source(edges_by_python(calls, space, numbers), numbers)
    counts = np.diff(Q.indptr)[places]
    first = Q.indptr[places] - np.cumsum(counts) + counts
    entries = np.arange(counts.sum()) + np.repeat(first, counts)
    targets = space.numbers(codes[:, Q.indices[entries]])
    given = by_source((np.repeat(numbers, counts), targets, Q.data[entries]), numbers)
    for x, number in zip(places, numbers.tolist(), strict=True):
        if (found := difference(given[number], expected[number])) is not None:
            return x, found
    return None


def by_source(edges: Any, sources: NDArray[np.int64]) -> dict[int, dict[int, float]]:
    """Return the rates out of some states by target, those of a state to itself left out."""
    found: dict[int, dict[int, float]] = {number: {} for number in sources.tolist()}
    for source, target, rate in zip(*(part.tolist() for part in edges[:3]), strict=True):
        if source != target:
            found[source][target] = found[source].get(target, 0.0) + rate
    return found


def difference(given: dict[int, float], expected: dict[int, float]) -> str | None:
    """Return a description of the difference of a row from plain Python; None if there is none."""
    if given.keys() != expected.keys():
        return "other targets than plain Python"
    for number, rate in expected.items():
        if not (given[number] == rate or abs(given[number] - rate) <= ROUNDING * rate):
            return f"the rate {given[number]!r} where plain Python gives {rate!r}"
    return None
