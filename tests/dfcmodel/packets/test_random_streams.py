"""First states of streams of random numbers."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel.packets.random_streams import first_states


@pytest.mark.parametrize("seed", [0, 1, 2006, 2**31 - 2, 2**80 + 7])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 1000])
def test_states_are_those_of_a_seed_sequence(seed: int, count: int) -> None:
    expected = np.random.SeedSequence(seed).generate_state(count, np.uint64) | np.uint64(1)
    np.testing.assert_array_equal(first_states(seed, count), expected)
