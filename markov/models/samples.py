"""The states in which a faster way of evaluating a function is compared with plain Python."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.spaces import Space

__all__ = ["ends_of", "sample_of"]

SAMPLE = 120  # states that are compared, beside the ends of each component


def sample_of(space: Space, codes: NDArray[np.int64]) -> list[int]:
    """Return the places of some states: at the ends of every component, corners, and at random."""
    n = codes.shape[1]
    if n <= SAMPLE:
        return list(range(n))
    chosen = ends_of(codes)
    ends = zip(codes.min(axis=1), codes.max(axis=1), strict=True)
    corners = np.array(list(itertools.islice(itertools.product(*ends), SAMPLE // 2))).T
    near = np.searchsorted(space.numbers(codes), space.numbers(corners))
    chosen |= set(np.minimum(near, n - 1).tolist())
    return sorted(chosen | set(np.random.default_rng(2).integers(n, size=SAMPLE).tolist()))


def ends_of(codes: NDArray[np.int64]) -> set[int]:
    """Return the places of the first and last state, and of the least and largest of each component."""
    found = {0, codes.shape[1] - 1}
    return found.union(*({int(np.argmin(code)), int(np.argmax(code))} for code in codes))
