"""Which method is predicted to solve and prove a chain soonest.

| Chain | Method | Reason |
| :-- | :-- | :-- |
| fewer than 30,000 states in the space of a model | with a matrix | a grid takes 30 ms at any size |
| a larger space with a cheap elimination along its longest component | with a matrix | pi is right to rounding |
| up to 3e8 states, 200 or more per region with the same rules | `MatrixFree` | a third of the time of `Multilevel` |
| elimination or sparse factors as cheap as multigrid | `GTH`, `Levels`, `SparseLU` | pi is right to rounding |
| all others | `Multilevel` | its time is proportional to the number of transitions |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.computing import costs
from markov.elimination.bands import BLOCK, band
from markov.elimination.lu import best_order
from markov.methods.gth import GTH
from markov.methods.level_reduction import Levels, partition
from markov.methods.multilevel import Multilevel
from markov.methods.sparse_lu import SparseLU

if TYPE_CHECKING:
    from collections.abc import Mapping

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.methods.solution import Method
    from markov.models.rules import ChainModel

__all__ = ["choose", "grid_pays"]

MIN_GRID_STATES, MAX_GRID_STATES = 30_000, 300_000_000
"""Sizes of spaces of whole numbers that are solved without a matrix, unless elimination is as cheap."""
GRID_SECONDS, GRID_SECONDS_PER_STATE = 0.03, 9e-7
MATRIX_SECONDS_PER_STATE = 1e-6

MAX_PREDICTION_COST = 0.3  # cost of a prediction, as a fraction of the cost of multigrid
MAX_LEVELS_COST_RATIO = 4.0  # elimination of levels costs about as much as that of single states, or less
MAX_TREE_EDGE_RATIO = 1.1  # connected pairs of states per state


class _Option(NamedTuple):
    """A method that may be chosen, with its predicted seconds and the reason for it."""

    seconds: float
    method: Method
    why: str

    def __str__(self) -> str:
        return f"{self.why}, {_format_seconds(self.seconds)}"


def grid_pays(model: ChainModel) -> bool:
    """Return whether solving a model on a grid without a matrix is predicted to be cheaper than elimination.

    The band of elimination has the states of all components but the longest: each changes by one at least.
    """
    n = model.space_size if model.has_space else 0
    if not MIN_GRID_STATES <= n <= MAX_GRID_STATES:
        return False
    span = n // max(map(len, model.space().values()))
    if 8.0 * 2.0 * n * span > costs.MEMORY:
        return True
    seconds = costs.elimination(n, n * float(span) ** 2, span >= 2 * BLOCK) + costs.substitutions(2.0 * n * span)
    grid = GRID_SECONDS + n * GRID_SECONDS_PER_STATE
    return seconds + n * MATRIX_SECONDS_PER_STATE > max(costs.LENIENT * grid, grid + costs.GRACE)


def choose(Q: sp.csr_matrix, components: Mapping[str, NDArray[np.int64]] | None) -> tuple[Method, str]:
    """Return the method that is predicted to be best for an irreducible generator, and the reason as a string.

    The predicted seconds of a solution with its bound decide (see `markov.computing.costs`). Methods with factors
    are preferred to multigrid at up to 1.25 times its cost, or 50 ms more: they are right to rounding. The time to load
    compiled kernels, once per process, does not count: every process chooses the same method.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    components
        The value of each component of a model's state, shape (n,) each, or None.
    """
    n, entries = Q.shape[0], Q.nnz
    multigrid_seconds = costs.multigrid(n, entries) + costs.multigrid_proof(n, entries, shared=True)
    allowed = max(costs.LENIENT * multigrid_seconds, multigrid_seconds + costs.GRACE)
    alternative = (
        f"multigrid {_format_seconds(multigrid_seconds)}" if np.isfinite(multigrid_seconds) else "multigrid needs Numba"
    )
    levels_allowed = MAX_LEVELS_COST_RATIO * costs.LENIENT * multigrid_seconds
    option = min(_eliminations(Q, components, allowed, levels_allowed), default=None, key=_predicted_seconds)
    if option is None or option.seconds > allowed:
        candidates = [option, _sparse_lu(Q, multigrid_seconds)]
        option = min(
            (candidate for candidate in candidates if candidate is not None), default=None, key=_predicted_seconds
        )
    if option is not None and option.seconds <= allowed:
        return option.method, f"{n} states: {option}; {alternative}"
    return Multilevel(), f"{n} states: {alternative}; {option or 'elimination would fill in'}"


def _eliminations(
    Q: sp.csr_matrix,
    components: Mapping[str, NDArray[np.int64]] | None,
    allowed: float,
    levels_allowed: float,
) -> list[_Option]:
    """Return the option to eliminate states, and for levels if they take ``allowed`` to ``levels_allowed`` seconds."""
    form = band(Q)
    seconds = form.seconds + costs.substitutions(form.n_values)
    options = []
    if form.memory <= costs.MEMORY:
        why = f"elimination in an order where none leads further than {form.span}"
        options.append(_Option(seconds, GTH(), why))
    if allowed < seconds <= levels_allowed:
        levels = partition(Q, components, max_work=costs.level_reduction_work(allowed))
        if levels.memory <= costs.MEMORY:
            count = len(levels.sizes)
            shape = f"{count} levels of at most {levels.sizes.max()}"
            seconds = costs.level_reduction(count, levels.work)
            options.append(_Option(seconds, Levels(), f"{shape} by {levels.origin}"))
    return options


def _sparse_lu(Q: sp.csr_matrix, multigrid_seconds: float) -> _Option | None:
    """Return the option of sparse LU with its predicted seconds; None if predicting or storing it costs too much.

    On a graph that is nearly a tree, the order is computed at once and fills in little.
    """
    n, entries = Q.shape[0], Q.nnz
    tree = entries - n <= 2.0 * MAX_TREE_EDGE_RATIO * n
    if not (tree or costs.order_by_fill(entries) <= MAX_PREDICTION_COST * multigrid_seconds):
        return None
    order = best_order(Q)
    if order.nbytes > costs.MEMORY:
        return None
    seconds = order.seconds + costs.substitutions(order.fill)
    return _Option(seconds, SparseLU(), f"sparse factors with {order.fill:.2g} entries")


def _predicted_seconds(option: _Option) -> float:
    """Return the predicted seconds of an option."""
    return option.seconds


def _format_seconds(value: float) -> str:
    """Return predicted seconds as text for the reason of a choice."""
    return f"{value:.2g} s predicted"
