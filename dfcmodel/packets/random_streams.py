"""First states of the streams of random numbers of a run, from its seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["first_states"]

HASH, MULTIPLIER = 0x8B51F9DD, 0x58F38DED
"""First value and factor of the hash by which a seed sequence makes its state (O'Neill 2015, as in NumPy)."""


def first_states(seed: int, count: int) -> NDArray[np.uint64]:
    """Return odd numbers for ``count`` streams, those of NumPy's `SeedSequence`, shape (count,).

    Its own function takes a thousand instructions for each.

    >>> own = np.random.SeedSequence(7).generate_state(5, np.uint64) | np.uint64(1)
    >>> np.array_equal(first_states(7, 5), own)
    True
    """
    pool = np.random.SeedSequence(seed).pool
    factors = np.full(2 * count + 1, MULTIPLIER, dtype=np.uint32)
    factors[:1] = HASH
    hashes = np.multiply.accumulate(factors, dtype=np.uint32)
    words = np.resize(pool, 2 * count) ^ hashes[:-1]
    words *= hashes[1:]
    words ^= words >> np.uint32(16)
    found = words[::2].astype(np.uint64)
    found |= words[1::2].astype(np.uint64) << np.uint64(32)
    found |= np.uint64(1)
    return found
