"""Which method is predicted to solve and prove a chain soonest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from markov import costs
from markov.elimination import band
from markov.levels import Levels, partition
from markov.methods import GTH, SparseLU
from markov.multilevel import Multilevel
from markov.sparse_lu import BYTES, best_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from markov.solution import Method

__all__ = ["choose"]

WORTH_A_LOOK = 0.3  # of the cost of multigrid: of predicting what might be faster
SHALLOW = (
    4.0  # times the seconds allowed: a bound from the graph's depth that rules elimination out
)


class _Option(NamedTuple):
    seconds: float
    method: Method
    why: str


def choose(
    Q: sp.csr_matrix, components: Mapping[str, NDArray[np.int64]] | None
) -> tuple[Method, str]:
    """Return a method for an irreducible generator, and why this one.

    The predicted seconds of a solution with its bound decide (see `markov.costs`). Methods with factors
    are preferred to multigrid up to 1.5 times its cost, and elimination whatever else is faster when it
    takes less than a tenth of a second: they are right to rounding.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    components
        The value of each component of a model's state, shape (n,) each, or None.
    """
    n, entries = Q.shape[0], Q.nnz
    cycles = costs.multigrid(n, entries) + costs.multigrid_proof(n, entries, shared=True)
    allowed = max(costs.LENIENT * cycles, costs.GRACE)
    beside = f"multigrid {_seconds(cycles)}" if np.isfinite(cycles) else "multigrid needs Numba"
    options = _eliminations(Q, components, allowed) if _deep_enough(Q, allowed) else []
    option = min(options, default=None, key=lambda each: each.seconds)
    if option is None or option.seconds > allowed:
        if costs.order(entries) <= WORTH_A_LOOK * cycles:
            order = best_order(Q)
            if BYTES * order.fill <= costs.MEMORY:
                seconds = order.seconds + costs.substitutions(order.fill)
                why = f"sparse factors with {order.fill:.2g} entries"
                options = [*options, _Option(seconds, SparseLU(), why)]
        option = min(options, default=None, key=lambda each: each.seconds)
    if option is not None and option.seconds <= allowed:
        return option.method, f"{n} states: {option.why}, {_seconds(option.seconds)}; {beside}"
    fastest = "" if option is None else f"; {option.why}, {_seconds(option.seconds)}"
    return Multilevel(), f"{n} states: {beside}{fastest or '; elimination would fill in'}"


def _deep_enough(Q: sp.csr_matrix, allowed: float) -> bool:
    """Return whether the graph is so deep that transitions may span few states in some order.

    Whatever the order, some transition spans n / d states when the longest of the shortest paths has d
    transitions, and that is at most twice the distance of the farthest state from any other.
    """
    n = Q.shape[0]
    if costs.elimination(n, float(n) ** 3 / 3.0, blocked=True) <= allowed:
        return True
    pattern = sp.csr_matrix((np.ones(Q.nnz), Q.indices, Q.indptr), shape=Q.shape)
    distance = dijkstra(pattern, directed=False, indices=[0], unweighted=True)[0]
    span = n / (2.0 * distance.max())
    return bool(costs.elimination(n, n * span**2, blocked=span > 100.0) <= SHALLOW * allowed)


def _eliminations(
    Q: sp.csr_matrix, components: Mapping[str, NDArray[np.int64]] | None, allowed: float
) -> list[_Option]:
    """Return what elimination of single states and of levels is predicted to cost."""
    form = band(Q)
    options = []
    if form.memory <= costs.MEMORY:
        seconds = form.seconds + costs.substitutions(form.room)
        why = f"elimination in an order where none leads further than {form.span}"
        options.append(_Option(seconds, GTH(), why))
        if seconds <= costs.GRACE:
            return options
    levels = partition(Q, components, most=costs.levels_work(allowed))
    if levels.memory <= costs.MEMORY:
        seconds = costs.levels(len(levels.sizes), levels.work)
        shape = f"{len(levels.sizes)} levels of at most {levels.sizes.max()}"
        options.append(_Option(seconds, Levels(), f"{shape} by {levels.origin}"))
    return options


def _seconds(value: float) -> str:
    return f"{value:.2g} s predicted"
