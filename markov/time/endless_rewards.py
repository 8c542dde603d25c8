"""Mean total rewards of a chain: earned for ever, or until a set is entered that may never be.

Where rewards go on in a closed class, the total is infinite, with the sign of the mean reward there. It has no limit
from states that lead to classes of both signs, or to one whose mean reward may be zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from markov.computing.matrices import leads_to
from markov.time.absorbing import Absorbing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Marks = NDArray[np.bool_]

__all__ = ["common_sign", "total_rewards"]


def common_sign(rewards: Vector) -> float:
    """Return the sign of rewards, 1, 0 or -1, zeros aside; NaN if both signs occur."""
    high, low = rewards.max(initial=0.0), rewards.min(initial=0.0)
    return np.nan if high > 0.0 > low else float(np.sign(high + low))


def total_rewards(
    Q: sp.csr_matrix, backward: sp.csr_matrix, rewards: Vector, ends: Marks, signs: Vector
) -> tuple[Vector, Vector]:
    """Return the mean reward from each state until it ends, and bounds on the errors, shape (n,) each.

    Parameters
    ----------
    Q, backward
        Generator, and the rates between different states, transposed, shape (n, n).
    rewards
        Per second in each state, shape (n,).
    ends
        Mask of the states in which it ends: of the set, or of closed classes without rewards.
    signs
        1, -1 or NaN (undetermined) in the states of each closed class in which rewards go on; 0 in other states.

    Returns
    -------
    numpy.ndarray, numpy.ndarray
        The rewards: ``inf`` or ``-inf`` where they grow without bound, NaN where the total has no limit.
    """
    rising, falling, undetermined = (
        leads_to(backward, marks & ~ends, ~ends) for marks in (signs > 0.0, signs < 0.0, np.isnan(signs))
    )
    values, error = np.where(rising, np.inf, np.where(falling, -np.inf, 0.0)), np.zeros(len(rewards))
    values[(rising & falling) | undetermined] = np.nan
    running = ~(ends | rising | falling | undetermined)
    if running.any():
        values[running], error[running] = Absorbing(Q, running).solve(rewards[running])
    return values, error
