"""A bound on the error of probabilities that were found over devices, gathered in one process.

The proof of `markov.stencils.proofs` needs a supersolution of the equations of hitting times, found on
the same kind of grid without a matrix. Before it the search over the grid finds whether there is one
recurrent class.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from markov.proofs.certificates import Certificate
from markov.stencils.boxes import Unsuitable
from markov.stencils.chains import GridChain
from markov.stencils.models import GridModel
from markov.stencils.places import RECURRENT, SeveralClassesError
from markov.stencils.proofs import bound_on_grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.rules import ChainModel

__all__ = ["gathered_bound"]

USEFUL = 1e-3
FEW_STATES = 1_000_000  # whose matrix is made where no useful bound was found without it
ROUNDING = 2.0**-50  # of a sum of probabilities, with room


def gathered_bound(model: ChainModel, pi: NDArray[np.float64]) -> float:
    """Return an upper bound on the total-variation distance of probabilities to the stationary ones.

    Parameters
    ----------
    model
        The chain.
    pi
        Probabilities over the whole space, shape (states,), not negative.

    Returns
    -------
    inf where no bound was found.

    Raises
    ------
    ValueError
        For a chain with several recurrent classes, or one that cannot be laid out on a grid.
    TooLargeError
        Before arrays are allocated that would not fit into memory.
    """
    try:
        grid = GridModel(model)
    except SeveralClassesError:
        msg = "several recurrent classes: the stationary distribution is not unique"
        raise ValueError(f"{model.name}: {msg}; use stationary_by_class(model)") from None
    except Unsuitable as error:
        raise ValueError(f"{model.name}: no bound without a matrix: {error}") from None
    grid.check_room(proof=True)
    places, x = grid.places, np.zeros(grid.layout.into[0].size)
    for numbers, indices in places.blocks(RECURRENT):
        x[indices] = pi[numbers]
    mass, total = math.fsum(x), math.fsum(pi)
    if not (mass > 0.0 and total < math.inf):
        return math.inf
    elsewhere = max(0.0, 1.0 - mass / total)
    x /= mass
    bound = bound_on_grid(grid.layout, places, x).distance
    if bound > USEFUL and places.size <= FEW_STATES:
        chain = GridChain(grid)
        states = chain.recurrent_classes[0]
        components = chain.components_of(states)
        bound = Certificate(chain.irreducible(0), places.gathered(x)[states], components).distance
    return float(bound + elsewhere + ROUNDING)
