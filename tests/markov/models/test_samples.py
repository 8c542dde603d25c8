"""The states on which faster ways are compared with plain Python."""

from __future__ import annotations

import itertools

import numpy as np

from markov.models.samples import SAMPLE, ends_of, sample_of
from markov.models.spaces import Space


def test_few_states_are_all_in_the_sample() -> None:
    space = Space(None, {"n": range(10), "m": range(10)})
    assert sample_of(space, space.unnumbered(np.arange(100))) == list(range(100))


def test_corners_and_ends_of_a_large_space_are_in_the_sample() -> None:
    space = Space(None, {"n": range(3, 43), "m": range(50), "k": range(7)})
    codes = space.unnumbered(np.arange(space.size))
    found = sample_of(space, codes)
    corners = itertools.product((3, 42), (0, 49), (0, 6))
    numbers = space.numbers(space.codes(list(corners)))
    assert set(numbers.tolist()) <= set(found)
    assert ends_of(codes) <= set(found)
    assert SAMPLE < len(found) < 2 * SAMPLE
    assert found == sorted(set(found))
