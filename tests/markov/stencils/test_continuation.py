"""Weights in tails that were held at a least value."""

from __future__ import annotations

import numpy as np
import pytest

from markov import MatrixFree, PauseTandem, stationary
from markov.stencils.continuation import TRUSTED, continued
from tests.markov.stencils.conftest import TANDEM, grid_layout


def weights(rate):
    """Return numbers on TANDEM's grid that fall by a factor per cell along its last axis."""
    layout = grid_layout(TANDEM)
    grid = layout.into[0]
    shares = np.arange(1.0, grid.shape[0] * grid.width + 1).reshape(grid.shape[0], 1, grid.width)
    return layout, shares * rate ** np.arange(grid.shape[1])[:, None]


def test_what_is_trusted_stays_as_it_is():
    layout, x = weights(0.5)
    for numbers in continued(layout, x.reshape(-1)):
        assert np.array_equal(numbers, np.arange(len(numbers)))


def test_a_tail_has_the_shares_of_the_last_hyperplane_that_is_trusted():
    layout, x = weights(1e-70)
    assert x[:, 3].max() < TRUSTED * x.max() <= x[:, 2].max()
    across, along = continued(layout, x.reshape(-1))
    assert np.array_equal(across, np.arange(len(across)))
    paused = np.arange(7, len(along))  # states moved along: none is trusted
    assert along.tolist() == [0, 1, 2, 2, 2, 2, 2, *paused]


@pytest.mark.slow  # a chain so long that most of its probabilities are below 1e-280
def test_a_chain_that_underflows_is_proved_in_four_cycles():
    model = PauseTandem(buffers=(20, 12000), high_threshold=9000)
    answer = stationary(model, MatrixFree())
    assert answer.pi.min() < 1e-270
    assert answer.error_bound < 1e-8
