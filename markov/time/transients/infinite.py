"""The distribution over time of a chain with infinitely many states, on a finite set that grows along the flow.

What leaves the set stays outside (finite state projection; B. Munsky, M. Khammash, J. Chem. Phys. 124, 2006): the
probability of each state is then a lower bound, and the mass outside is the sum of what is missing. Where the chain
may explode, that is missing too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from hopflow.kernels.stopwatch import Stopwatch
from hopflow.results import OnFailure, Status, deliver
from markov.chains import MarkovChain
from markov.computing.rounding import U
from markov.infinite.members import start_of
from markov.infinite.truncations import Truncations
from markov.time.transients.results import Transient
from markov.time.transients.uniformization import Uniformized, check_horizon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from markov.exploration import InfiniteChain
    from markov.generators.calls import Calls
    from markov.infinite.truncations import Projection

    Vector = NDArray[np.float64]
    Solve = Callable[[MarkovChain, Vector, Vector, float], tuple[Vector, Vector, int, str]]

__all__ = ["Flow", "InfiniteTransient", "transient_of_infinite"]

FIRST_STATES = 60
GROWTH = 0.5  # more states
LEAST_GROWTH = 0.15
SHARE = 0.5  # of the tolerance, which may be outside
SPAN = 0.05  # of the logarithm of what is too much: how much more states that asks for


class Flow:
    """A finite set of states that grows where probability flows out of it.

    Parameters
    ----------
    calls
        The rules.
    start
        The state at time 0.
    most
        Largest number of states.
    stops
        Whether the chain stops in a state; None: it stops nowhere.
    """

    def __init__(self, calls: Calls, start: Any, most: int, stops: Callable[[Any], bool] | None = None) -> None:
        self.start, self.most = start, most
        self.sets = Truncations(calls, [start], _flat, most, stops)

    def grown(self, horizon: float, tolerance: float, *, partial: bool = False) -> tuple[Projection, Vector, int]:
        """Return a set that is left until a time with at most a given probability.

        Parameters
        ----------
        horizon, tolerance
            The time in s, and the probability.
        partial
            Whether a set of ``most`` states that is left with a larger probability is returned; otherwise it is
            refused, with TooLargeError.

        Returns
        -------
        Projection, numpy.ndarray, int
            The set, the distribution at time 0 on it and the states beside it, and the number of products.
        """
        sets, steps = self.sets, 0
        sets.follow({sets.number_of(self.start): 1.0}, min(FIRST_STATES, self.most))
        while True:
            projection = sets.projection()
            first = (projection.numbers == sets.number_of(self.start)).astype(float)
            if not len(projection.numbers) > projection.size:
                return projection, first, steps  # finitely many states after all
            jumps = Uniformized(projection.Q)
            check_horizon("times", jumps, horizon)
            found = jumps.distribution(first, horizon, tolerance)
            steps += found.steps
            beside = found.values[projection.size :]
            outside = float(beside.sum())
            if outside <= tolerance or (partial and len(sets.states) >= self.most):
                return projection, first, steps
            more = LEAST_GROWTH + SPAN * np.log(outside / tolerance)
            numbers = projection.numbers[projection.size :].tolist()
            count = int(min(more, GROWTH) * projection.size) + 1
            if partial:
                count = max(min(count, self.most - projection.size), 1)
            sets.follow(dict(zip(numbers, beside.tolist(), strict=True)), count)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class InfiniteTransient(Transient):
    """The distribution of a chain with infinitely many states at some times.

    ``pi`` has lower bounds in finitely many states, ``chain`` the rates between these. ``error_bound`` holds for the
    probability of every set of states, those without a value included. Means of rewards that have no upper bound are
    sums over the states with values, and have none. ``occupancy`` is not computed.

    Attributes
    ----------
    infinite
        The chain.
    outside
        The mass outside of the states with values at each time, shape (times,): an estimate within ``error_bound``.

    Examples
    --------
    >>> from markov import explore, transient
    >>> found = transient(explore(lambda n: [(n + 1, 2.0)], start=0), [1.0], tolerance=1e-9)
    >>> found.probability(3).round(9).tolist(), bool(found.error_bound[0] < 1e-9)
    ([0.180447044], True)
    """

    infinite: InfiniteChain
    outside: Vector

    @property
    def _occupied(self) -> NoReturn:
        name = self.infinite.model.name
        raise ValueError(f"{name}: occupancy is not computed for a chain with infinitely many states")

    def summary(self) -> dict[str, object]:
        """Return status, chain, the scalar measures at the last time, the bound and the cost."""
        more = {"states": f"infinitely many; values in {self.chain.size}"}
        return {**super().summary(), **more}


def transient_of_infinite(
    infinite: InfiniteChain,
    moments: Vector,
    start: object,
    tolerance: float,
    on_failure: OnFailure,
    solve: Solve,
) -> InfiniteTransient:
    """Return the distribution of an infinite chain at some times.

    Parameters
    ----------
    solve
        Returns the distributions of a finite chain at some times, shape (times, states), with bounds on their
        errors, the number of products, and how they were found.
    """
    watch = Stopwatch()
    state, calls = start_of(infinite, start), infinite.hull.layout.calls
    flow = Flow(calls, state, infinite.most)
    projection, first, steps = flow.grown(float(moments[-1]), SHARE * tolerance)
    values, errors, last, method = solve(MarkovChain(projection.Q), first, moments, (1.0 - SHARE) * tolerance)
    size = projection.size
    outside = values[:, size:].sum(axis=1)
    count = values.shape[1] - size
    bound = (errors + outside) * (1.0 + (count + 8) * U)
    good = bound[-1] <= max(1000.0 * tolerance, 1e-6)
    result = InfiniteTransient(
        chain=MarkovChain.of_built(infinite.model, projection.built),
        start=first[:size],
        times=moments,
        pi=values[:, :size],
        error_bound=bound,
        tolerance=tolerance,
        status=Status.CONVERGED if good else Status.INACCURATE,
        steps=steps + last,
        method=f"{method}, on a set grown along the flow",
        seconds=watch.seconds(),
        infinite=infinite,
        outside=outside,
    )
    deliver(result, on_failure)
    return result


def _flat(states: Sequence[object]) -> Vector:
    return np.zeros(len(states))
