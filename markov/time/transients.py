"""Distributions of a chain over time: from a model and times to a result with a bound on every error.

Of a chain with infinitely many states, on a finite set that grows along the flow. The mass that leaves the set stays
outside (finite state projection; B. Munsky, M. Khammash, J. Chem. Phys. 124, 2006): the probability of each state is
then a lower bound, and the mass outside is the sum of the deficits. Where the chain may explode, that is missing too.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from hopflow.checks import ascending
from hopflow.fork_safety import cached_property
from hopflow.parameters import param, validate_parameters
from hopflow.results import OnFailure, Status, figure, names_beside
from hopflow.units import WithUnit
from markov.chains import MarkovChain
from markov.computing.resources import MAX_SECONDS, time_limit
from markov.computing.rounding import U
from markov.exploration import InfiniteChain
from markov.infinite.members import start_of
from markov.infinite.truncations import Truncations
from markov.models.measures import COMPONENT, MEASURE, functionals, measures_of, unknown_measure
from markov.models.rules import scope_of_bound
from markov.selections import among_states_with_values, select_states
from markov.time.exponentials import TimedJump, evolve, limit_of
from markov.time.results import TimeResult, answer_over_time
from markov.time.uniformization import MIN_JUMPS_FOR_LIMIT, Uniformized, check_horizon

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import xarray as xr
    from numpy.typing import ArrayLike, NDArray

    from markov.generators.plain import Calls
    from markov.infinite.truncations import Projection

    Vector = NDArray[np.float64]

__all__ = ["Flow", "InfiniteTransient", "Transient", "transient", "transient_of_infinite"]

TOLERANCE = 1e-12
MAX_DRAWN_STATES = 8  # states that are drawn when a chain has no measures


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Transient(TimeResult):
    """Result of `transient`: the distribution of a chain at several times, with error bounds.

    Attributes
    ----------
    chain
        The `MarkovChain`.
    start
        The distribution at time 0, shape (states,).
    times
        In the unit of the rates, shape (times,).
    pi
        Shape (times, states), in the order of ``chain.states``.
    error_bound
        Rigorous upper bound on the total-variation distance to the true distribution, shape
        (times,): the absolute error of the probability of any event is at most this. The distribution of a passage time
        has relative errors.
    relative_error
        Bound on the relative error of every entry of pi at each time, shape (times,), by squaring;
        None by other methods.
    tolerance
        The requested bound.
    status
        CONVERGED, or INACCURATE where the bound is useless.
    steps
        Products with the jump matrix, and solutions of equations.
    method
        Description of the method.
    seconds
        Wall-clock time, in s.
    timed
        Whether the state also jumps at fixed times: then `occupancy` is refused.
    max_seconds
        As `transient` takes it, in s: `occupancy` and `accumulated` that are predicted to take longer are refused.

    Examples
    --------
    >>> from markov import MM1K, transient
    >>> result = transient(MM1K(capacity=5), [0.1, 1.0], start=(0,))
    >>> result.probability((0,)).round(4).tolist(), bool(result.error_bound.max() < 1e-12)
    ([0.6378, 0.359], True)
    """

    start: NDArray[np.float64]
    times: NDArray[np.float64]
    pi: NDArray[np.float64]
    error_bound: NDArray[np.float64]
    tolerance: float
    steps: int
    method: str
    timed: bool = False
    relative_error: NDArray[np.float64] | None = None
    max_seconds: float = MAX_SECONDS
    DIMENSIONS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "start": ("state",), "times": ("time",), "pi": ("time", "state"),
        "error_bound": ("time",), "relative_error": ("time",), "outside": ("time",),
    }  # fmt: skip

    @property
    def states(self) -> Any:
        """The states in the order of pi: see `MarkovChain.states`."""
        return self.chain.states

    @cached_property
    def probabilities(self) -> xr.DataArray:
        """The probabilities as an array over ``time`` and ``state``, with the state components as coordinates.

        A component ``time`` is called ``time (component)``.
        """
        import xarray as xr

        components = self.chain.coordinates()
        names = names_beside(components, {"time"}, COMPONENT)
        coords = {names[name]: values for name, values in components.items()}
        return xr.DataArray(self.pi, dims=["time", "state"], coords={**coords, "time": self.times})

    def probability(self, states: Any) -> NDArray[np.float64]:
        """Return the probability to be in a state, or in a set of states, at each time, shape (times,).

        ``states`` is the name of a label, a state, a list of states, truth values of shape
        (states,), or a function of a state. Of the states in which a system works it is the
        availability A(t). That of a label without states is 0; a function that is true nowhere is refused.
        """
        return np.asarray(self.pi @ select_states(self.chain, states, "states", allow_empty_label=True).astype(float))

    def __getitem__(self, measure: str) -> Any:
        """Return a measure of the model at each time, shape (times, ...); KeyError for an unknown one."""
        if measure not in self._measures[0]:
            raise unknown_measure(measure, self._measures[0])
        return np.array([measures[measure][1] for measures in self._measures])

    @cached_property
    def measures(self) -> xr.Dataset:
        """The model's measures over ``time``: probabilities of labels, means of rewards.

        A measure ``time`` is called ``time (measure)``.
        """
        import xarray as xr

        by_name = self._measures[0]
        names = names_beside(by_name, {"time"}, MEASURE)
        columns = {names[name]: (("time", *dims), self[name], about) for name, (dims, _, about) in by_name.items()}
        return xr.Dataset(columns, coords={"time": self.times})

    @cached_property
    def occupancy(self) -> NDArray[np.float64]:
        """The mean time spent in each state until each time, shape (times, states).

        Raises
        ------
        ValueError
            Where it is predicted to take longer than ``max_seconds``, with the value that allows it; for models with
            events at fixed times, and for chains with infinitely many states.
        """
        return self._occupancies[0]

    @property
    def occupancy_error(self) -> NDArray[np.float64]:
        """Bound on half the sum of the absolute errors of `occupancy`, shape (times,)."""
        return self._occupancies[1]

    @cached_property
    def accumulated(self) -> xr.Dataset:
        """Expected rewards accumulated until each time, over ``time``; for a label, the time spent in it.

        A reward ``time`` is called ``time (measure)``.
        """
        import xarray as xr

        model = self.chain.model
        functional_by_name = {} if model is None else functionals(model, self.chain.table)
        names = names_beside(functional_by_name, {"time"}, MEASURE)
        columns = {
            names[name]: (("time", *mean.dims), np.array([mean.value(row) for row in self.occupancy]))
            for name, mean in functional_by_name.items()
            if mean.over is None
        }
        return xr.Dataset(columns, coords={"time": self.times})

    @cached_property
    def _occupancies(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """`occupancy` and `occupancy_error`."""
        if self.timed:
            raise ValueError("occupancy: of a model with events at given times it is not found")
        jumps = Uniformized(self.chain.Q)
        powers = jumps.rate * float(self.times[-1])
        limit = limit_of(self.chain, self.start, powers) if powers > MIN_JUMPS_FOR_LIMIT else None
        parts, errors = np.empty_like(self.pi), np.empty(len(self.times))
        spans = np.diff(self.times, prepend=0.0).tolist()
        with time_limit(self.max_seconds):
            # the longest first: if it takes too long, that is said before the others are computed
            for k in sorted(range(len(spans)), key=lambda k: -spans[k]):
                vector, vector_error = (self.pi[k - 1], float(self.error_bound[k - 1])) if k else (self.start, 0.0)
                part = jumps.occupancy(vector, spans[k], self.tolerance / len(self.times), limit)
                parts[k], errors[k] = part.values, part.error + spans[k] * vector_error
        return parts.cumsum(axis=0), errors.cumsum()

    @cached_property
    def _measures(self) -> list[dict[str, Any]]:
        """Measures of the model at each time: a list of dicts by name."""
        model = self.chain.model
        if model is None:
            return [{} for _ in self.times]
        table = copy(self.chain.table)
        table.cached = {}  # the same functions at all times
        return [dict(measures_of(model, row, table)) for row in self.pi]

    def _answers(self) -> dict[str, object]:
        """Return the rows of the summary on states, times, scalar measures at the last time, bounds and method."""
        last = {
            f"{name} at {self.times[-1]:g}": f"{float(value):.6g} {about.get('units', '')}".rstrip()
            for name, (dims, value, about) in self._measures[-1].items()
            if not dims
        }
        return {
            "states": self.chain.size,
            "times": f"{len(self.times)}, {self.times[0]:g} to {self.times[-1]:g}",
            **last,
            "error bound (TV)": f"{float(self.error_bound.max()):.1e}",
            **self._relative_row(),
            **scope_of_bound(self.chain.model),
            "method": self.method,
            "products": self.steps,
        }

    def _relative_row(self) -> dict[str, object]:
        """Return the row of the relative error for `summary`; empty if no relative error is proved."""
        if self.relative_error is None:
            return {}
        return {"relative error of every entry": f"{float(self.relative_error.max()):.1e}"}

    def plot(self, ax: Any = None) -> Any:
        """Draw the scalar measures over time, or the likeliest states of a chain without measures; return the Axes."""
        if ax is None:
            _, ax = figure()
        names = [name for name, (dims, _, _) in self._measures[0].items() if not dims]
        marker = "." if len(self.times) < MAX_DRAWN_STATES else ""
        for name in names:
            ax.plot(self.times, self[name], marker=marker, label=name)
        if not names:
            likeliest = np.argsort(-self.pi.max(axis=0))[:MAX_DRAWN_STATES]
            for x in sorted(likeliest.tolist()):
                name = x if isinstance(self.states, range) else self.probabilities.state.values[x]
                ax.plot(self.times, self.pi[:, x], marker=marker, label=f"state {name}")
        ax.set(xlabel="time (s)", ylabel="probability or mean")
        ax.legend(frameon=False)
        return ax


FIRST_STATES = 60
MAX_GROWTH = 0.5  # more states
MIN_GROWTH = 0.15
OUTSIDE_SHARE = 0.5  # of the tolerance, which may be outside
GROWTH_PER_LOG_EXCESS = 0.05  # relative growth per logarithm of the excess mass


class Flow:
    """Finite set of states of an infinite chain that grows along the flow of probability.

    Parameters
    ----------
    calls
        The rules.
    start
        The state at time 0.
    max_states
        Largest number of states.
    stops
        Whether the chain stops in a state; None: it stops nowhere.
    """

    def __init__(self, calls: Calls, start: Any, max_states: int, stops: Callable[[Any], bool] | None = None) -> None:
        self.start, self.max_states = start, max_states
        self.sets = Truncations(calls, [start], _zero_heights, max_states, stops)

    def grow(self, horizon: float, tolerance: float, *, partial: bool = False) -> tuple[Projection, Vector, int]:
        """Return a set that is left before ``horizon`` with at most the tolerated probability, its start, and products.

        Parameters
        ----------
        horizon, tolerance
            The time in s, and the probability.
        partial
            Whether a set of ``max_states`` states that is left with a larger probability is returned; otherwise it is
            refused, with TooLargeError.

        Returns
        -------
        Projection, numpy.ndarray, int
            The set, the distribution at time 0 on it and the states beside it, and the number of products.
        """
        sets, steps = self.sets, 0
        sets.follow({sets.number_of(self.start): 1.0}, min(FIRST_STATES, self.max_states))
        while True:
            projection = sets.projection()
            first = (projection.numbers == sets.number_of(self.start)).astype(float)
            if not len(projection.numbers) > projection.size:
                return projection, first, steps  # finitely many states after all
            jumps = Uniformized(projection.Q)
            check_horizon("times", jumps, horizon)
            result = jumps.distribution(first, horizon, tolerance)
            steps += result.steps
            beside = result.values[projection.size :]
            outside = float(beside.sum())
            if outside <= tolerance or (partial and len(sets.states) >= self.max_states):
                return projection, first, steps
            growth = MIN_GROWTH + GROWTH_PER_LOG_EXCESS * np.log(outside / tolerance)
            numbers = projection.numbers[projection.size :].tolist()
            count = int(min(growth, MAX_GROWTH) * projection.size) + 1
            if partial:
                count = max(min(count, self.max_states - projection.size), 1)
            sets.follow(dict(zip(numbers, beside.tolist(), strict=True)), count)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class InfiniteTransient(Transient):
    """Result of `transient` for a chain with infinitely many states: its distribution at several times.

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
    >>> result = transient(explore(lambda n: [(n + 1, 2.0)], start=0), [1.0], tolerance=1e-9)
    >>> result.probability(3).round(9).tolist(), bool(result.error_bound[0] < 1e-9)
    ([0.180447044], True)
    """

    infinite: InfiniteChain
    outside: Vector

    def probability(self, states: Any) -> Vector:
        """Return the probability of states with values at each time, shape (times,), as `Transient.probability` does.

        ``error_bound`` holds for the probability of every set, also of states without values.
        """
        with among_states_with_values(self.chain, float(self.error_bound.max())):
            return super().probability(states)

    @property
    def _occupancies(self) -> NoReturn:
        """Raises ValueError: occupancies are not computed for infinitely many states."""
        name = self.infinite.model.name
        raise ValueError(f"{name}: occupancy is not computed for a chain with infinitely many states")

    def _answers(self) -> dict[str, object]:
        """Return the rows of the summary as of a finite chain, with the number of states that have values."""
        return {**super()._answers(), "states": f"infinitely many; values in {self.chain.size}"}


def transient_of_infinite(
    infinite: InfiniteChain,
    times: Vector,
    start: object,
    tolerance: float,
    acceptable: float,
) -> InfiniteTransient:
    """Return the distribution of an infinite chain at ascending times in s, with bounds on every probability."""
    state, calls = start_of(infinite, start), infinite.hull.layout.calls
    flow = Flow(calls, state, infinite.most)
    projection, first, steps = flow.grow(float(times[-1]), OUTSIDE_SHARE * tolerance)
    inside = (1.0 - OUTSIDE_SHARE) * tolerance
    values, errors, more_steps, method, _ = evolve(MarkovChain(projection.Q), first, times, inside, squaring=False)
    size = projection.size
    outside = values[:, size:].sum(axis=1)
    count = values.shape[1] - size
    bound = (errors + outside) * (1.0 + (count + 8) * U)
    return InfiniteTransient(
        chain=MarkovChain.of_built(infinite.model, projection.built),
        start=first[:size],
        times=times,
        pi=values[:, :size],
        error_bound=bound,
        tolerance=tolerance,
        status=Status.CONVERGED if bound[-1] <= acceptable else Status.INACCURATE,
        steps=steps + more_steps,
        method=f"{method}, on a set grown along the flow",
        infinite=infinite,
        outside=outside,
    )


def _zero_heights(states: Sequence[object]) -> Vector:
    """Return 0 for each state, shape (states,), since sets grow by flow and not by a function's level."""
    return np.zeros(len(states))


@validate_parameters
def transient(
    model: Any,
    times: ArrayLike = param(unit="time"),
    *,
    start: Any = None,
    tolerance: float = param(TOLERANCE, above=0.0, below=1.0),
    max_seconds: WithUnit = param(MAX_SECONDS, "time", above=0.0),
    on_failure: OnFailure = "raise",
) -> Transient:
    """Return the distribution of a chain at several times, with bounds on its errors.

    Parameters
    ----------
    model
        A `ChainModel`, a `MarkovChain`, a result of `explore`, a model read from a file, or a
        generator matrix. One with events at fixed times (`read_sbml`) goes through them.
    times
        In s (or the unit of the rates), >= 0, ascending, shape (times,); or one time.
    start
        The state at time 0, or a distribution of shape (states,); None: the start of the model.
    tolerance
        Of the total-variation distance at each time, for truncation; rounding comes on top, and
        both are in the bound.
    max_seconds
        In s: a computation that is predicted to take longer is refused, with the time that it would take.
    on_failure
        ``"raise"`` or ``"return"``: what to do with a result whose bound is above 1000 tolerances
        and above 1e-6, as with many millions of jumps.

    Raises
    ------
    ValueError
        For bad input; for a computation that is predicted, within its first seconds, to exceed ``max_seconds``.
    ConvergenceError
        For a bound above 1000 tolerances and above 1e-6, unless ``on_failure="return"``; it carries the result.

    Notes
    -----
    Uniformization, at a cost of about q times the last time products with the matrix, q being the
    largest exit rate; fewer where the chain settles before. Over long times, where factors of the
    matrix are predicted to be cheaper, only as long as fast changes last, then a rational Krylov space;
    if its bound is not as small, uniformization alone. Where a time has too many jumps for both, or their bound is
    useless, chains of at most 500 states are solved by squaring, at any stiffness and time: every entry then has
    a proved relative error. Where the distribution has reached its long-run one within the bound, that is the answer at
    all later times, and ``method`` says so: the distance between the two does not grow.

    Of infinitely many states as many are used as needed: the mass that leaves them is missing, and is in the bound.

    Examples
    --------
    >>> import numpy as np
    >>> from markov import transient
    >>> result = transient(np.array([[-1.0, 1.0], [0.0, 0.0]]), [1.0, 2.0], start=0)
    >>> result.pi[:, 0].round(6).tolist()  # e^-1, e^-2
    [0.367879, 0.135335]
    """
    checked_times = ascending("times", times)
    timed: tuple[TimedJump, ...] = getattr(model, "timed_jumps", ())
    seconds = float(max_seconds)
    acceptable = max(1000.0 * tolerance, 1e-6)

    def solve(chain: MarkovChain, initial: Vector) -> Transient:
        """Return the result for a finite chain and its distribution at time 0."""
        solution = evolve(chain, initial, checked_times, tolerance, acceptable=acceptable, timed=timed)
        return Transient(
            chain=chain,
            start=initial,
            times=checked_times,
            pi=solution.values,
            error_bound=solution.errors,
            relative_error=solution.relative,
            tolerance=tolerance,
            status=Status.CONVERGED if solution.errors[-1] <= acceptable else Status.INACCURATE,
            steps=solution.steps,
            method=solution.method,
            timed=bool(timed),
            max_seconds=seconds,
        )

    def solve_infinite(infinite: InfiniteChain) -> Transient:
        """Return the result for a chain with infinitely many states."""
        return transient_of_infinite(infinite, checked_times, start, tolerance, acceptable)

    model = model.chain_between_events if timed else model
    return answer_over_time(model, start, solve, solve_infinite, on_failure=on_failure, max_seconds=seconds)
