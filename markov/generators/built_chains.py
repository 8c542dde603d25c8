"""The chain of a model as it is built: its states and its generator."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.models.spaces import Space

__all__ = ["Built"]


class Built(NamedTuple):
    """The states of a chain and its generator.

    Attributes
    ----------
    space
        What a state is made of.
    codes
        The states, ascending in the product of their components, shape (components, states).
    Q
        The generator, rates in 1/s.
    how
        How it was found, in words.
    led_to
        Whether the states are those that the model's start leads to, and no others.
    """

    space: Space
    codes: NDArray[np.int64]
    Q: sp.csr_matrix
    how: str
    led_to: bool = False
