"""What equations of hitting times weigh in those of aggregates, and what a second in a state costs."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from markov.computing.compilation import bound_kernel
from markov.multigrid.grids.hitting_times import finest_kernels
from markov.multigrid.grids.hitting_times.finest_kernels import Weights
from markov.multigrid.grids.loops.teams import ALONE, BLOCKS, Team

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Weights", "weights_of"]

COST_EXPONENT = -0.1  # costs grow as this power of the probability
MIN_WEIGHT = 1e-290  # of the largest probability: what weighs less in equations is not told apart


def weights_of(pi: NDArray[np.float64], team: Team = ALONE) -> Weights:
    """Return the weights that follow from probabilities on a grid."""
    largest = float(pi.max())
    levels = np.empty(len(pi), dtype=np.uint8)
    parts = np.linspace(0, len(pi), BLOCKS + 1).astype(int).tolist()
    spans = [slice(*span) for span in itertools.pairwise(parts)]
    arguments = finest_kernels.cost_levels, MIN_WEIGHT * largest, largest
    team.do([bound_kernel(*arguments, pi[span], levels[span]) for span in spans])
    costs = 256.0 ** (-COST_EXPONENT * np.arange(256.0))
    return Weights(pi, MIN_WEIGHT * largest, costs, levels)
