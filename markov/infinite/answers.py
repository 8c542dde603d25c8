"""The stationary distribution of an infinite chain: values in finitely many states, with bounds for all states.

A finite set of states grows until its bound is met or no longer falls. In a set, transitions out of it lead to one
state of it, the chain is solved, and a Lyapunov function of the infinite chain bounds the error
(`markov.infinite.bounds`). Sets have one of three shapes in turn:

1. START: the states with small components.
2. QUANTILES: the states whose components, relative to quantiles of the last answer, have a sum below a level. These are
   the smallest sets for a bound, but the chain may be expected to leave them, and then nothing is proved.
3. LEVELS: the states below a level of V, whose drift leads back into the set.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from hopflow.checks import count_of
from hopflow.errors import RuleError
from hopflow.fork_safety import cached_property
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.parameters import param, validate_parameters
from hopflow.results import OnFailure, Status, deliver, short_text
from markov.chains import MarkovChain
from markov.elimination.lu import LUFactors, best_order
from markov.generators.polynomials import Polynomial, Unfollowed, as_fraction
from markov.infinite.bounds import LEAVES_SET, NOTHING, Height, bounded_mean, distance, sides_of
from markov.infinite.lyapunov import Basis, Drift, find_lyapunov, user_basis
from markov.infinite.members import NamedFunction
from markov.infinite.truncations import (
    FIRST_STATES,
    LEVEL_GROWTH,
    MIN_SET_GROWTH,
    Truncations,
    include_inner,
    next_level,
)
from markov.methods.choice import choose
from markov.models.measures import MEASURE_KINDS, functionals
from markov.proofs.bounded import Bounded
from markov.proofs.certificates import relative_residual, solvers
from markov.proofs.poisson import MultigridPoisson
from markov.results.stationary_results import Stationary
from markov.selections import among_states_with_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from markov.exploration import InfiniteChain
    from markov.infinite.lyapunov import Lyapunov
    from markov.infinite.truncations import Truncation
    from markov.methods.solution import Method, Solution
    from markov.models.rules import ChainModel
    from markov.proofs.poisson import Solver

    Vector = NDArray[np.float64]

__all__ = ["InfiniteStationary", "stationary_of_infinite"]

MAX_CONVERGED_BOUND = 1e-3
MAX_BOUND_FOR_QUANTILES = 0.3  # with a larger bound the quantiles may not be the chain's
QUANTILE_TAIL = 1e-4
MAX_SETS_WITHOUT_BOUND = 7  # consecutive sets with a bound of one
MAX_STAGNANT_SETS = 3  # consecutive sets without a better bound
MIN_REFERENCE_RATIO = 1e-4  # to the likeliest state: the time until a rarer one is entered magnifies rounding errors


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class InfiniteStationary(Stationary):
    """Stationary distribution of a chain with infinitely many states: values in finitely many, bounds for all.

    ``pi`` has the probabilities in finitely many states, ``chain`` the rates between them; all other states together
    have less than ``error_bound``. That there is exactly one stationary distribution is part of the proof.

    Attributes
    ----------
    lyapunov
        V, whose drift is verified in all states outside of a finite set.
    infinite
        The chain.
    verified
        Extent of the verification, as text.
    function
        The user's V; None: a V was found.
    tolerance
        Requested error bound. The summary says so where it was not reached.

    Examples
    --------
    >>> from markov import explore, stationary
    >>> def queue(n):
    ...     yield n + 1, 1.0
    ...     if n > 0:
    ...         yield n - 1, 2.0
    >>> answer = stationary(explore(queue, start=0, rewards=lambda n: {"length": n}))
    >>> round(answer.bound("length").value, 9), answer.bound("length").error < 1e-9
    (1.0, True)
    """

    lyapunov: str
    infinite: InfiniteChain
    verified: str
    function: Any = None
    tolerance: float = math.inf

    @validate_parameters
    def bound(
        self,
        measure: Any,
        *,
        tolerance: float = param(2e-13, at_least=0.0),
        exact: bool = param(False),
    ) -> Any:
        """Return the mean of a label, a reward or a function over all states, with a bound on its error.

        Parameters
        ----------
        measure
            Name of a label or reward of the model, or a function of the state, which is evaluated in all states. An
            unbounded measure gets a Lyapunov function for itself.
        tolerance
            Ignored: the answer has its states already.
        exact
            Must be False, since there are infinitely many states.

        Returns
        -------
        Bounded
            The mean in the measure's unit.

        Raises
        ------
        ValueError
            For an array, a ratio, or a function that cannot be followed for infinitely many states; for
            ``exact=True``.
        """
        del tolerance
        if exact:
            self._refuse("bound(..., exact=True)")
        if isinstance(measure, str):
            by_name = functionals(self.infinite.model, self.chain.table)
            if measure not in by_name:
                names = ", ".join(map(repr, by_name)) or "none"
                raise ValueError(f"measure = {measure!r}: must be one of {names}")
            if by_name[measure].over is not None or by_name[measure].of.ndim > 1:
                raise ValueError(
                    f"measure = {measure!r}: a ratio or a vector of means has no bound for infinitely many states"
                )
            function: Callable[[Any], Any] = _label_or_reward(self.infinite.model, measure)
        elif callable(measure):
            function = measure
        else:
            expected = "must be the name of a label or reward, or a function of the state"
            raise ValueError(f"measure = {measure!r}: {expected}: the states have no end")  # noqa: TRY004
        try:
            return self._mean(function)
        except Unfollowed as stop:
            raise ValueError(f"measure = {measure!r}: no bound is known: {stop}") from None

    def probability(self, states: Any) -> float:
        """Return the stationary probability of states with values, as `Stationary.probability` does.

        ``error_bound`` holds for the probability of every set, also of states without values.
        """
        with among_states_with_values(self.chain, self.error_bound):
            return super().probability(states)

    def _mean(self, function: Callable[[Any], Any]) -> Bounded:
        """Return the mean of a function f of the state with bounds, by a V whose drift is at most -(1 + |f|)."""
        problem = self._problem
        required = Drift(cost=lambda state: _number(function(state)))
        lyapunov = find_lyapunov(self.infinite.hull, self._basis, required)
        include_inner(problem.sets, lyapunov)
        states = problem.sets.states
        step = solve_set(problem, self.method, self.states_at(int(np.argmax(self.pi))))
        truncation, numbers = step.truncation, step.truncation.numbers
        values = np.array([_number(function(states[k])) for k in numbers], dtype=np.float64)
        if step.solver is None:
            return Bounded(float(step.pi @ values), -math.inf, math.inf)
        height = height_of(problem.sets, truncation, lyapunov, 1.0 + np.abs(values))
        return bounded_mean(sides_of(truncation.rates, step.pi, step.solver, height), step.pi, values)

    def states_at(self, place: int) -> Any:
        """Return the state with index ``place`` in ``pi``, in the form that the rules take."""
        (state,) = self.chain.table.plain([place])
        return self.infinite.hull.layout.calls.as_state(state)

    @cached_property
    def _problem(self) -> Problem:
        """Chain, Lyapunov function and growing sets of states, from which further bounds are computed."""
        lyapunov = find_lyapunov(self.infinite.hull, self._basis)
        problem = Problem.of(self.infinite, lyapunov)
        problem.sets.include([self.states_at(index) for index in range(self.chain.size)])
        return problem

    @property
    def _basis(self) -> Basis | None:
        """The user's V as a basis; None if V was found by search."""
        return None if self.function is None else user_basis(self.function)

    def _refuse(self, what: str) -> NoReturn:
        """Raise ValueError: ``what`` is not computed for infinitely many states."""
        raise ValueError(f"{what} is not computed for a chain with infinitely many states; bound() and measures are")

    def input_error(self, measure: Any) -> Any:  # noqa: ARG002
        """Raise ValueError: the method is not available for infinitely many states."""
        self._refuse("input_error")

    def variance(self, measure: Any) -> Any:  # noqa: ARG002
        """Raise ValueError: the method is not available for infinitely many states."""
        self._refuse("variance")

    def deviation(self, measure: Any) -> Any:  # noqa: ARG002
        """Raise ValueError: the method is not available for infinitely many states."""
        self._refuse("deviation")

    def sensitivity(self, *_: Any, **__: Any) -> Any:
        """Raise ValueError: the method is not available for infinitely many states."""
        self._refuse("sensitivity")

    def certificate(self, *_: Any, **__: Any) -> None:
        """Raise ValueError: the method is not available for infinitely many states."""
        self._refuse("certificate")

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to pickle, without the sets of states."""
        return {k: v for k, v in super().__getstate__().items() if k != "_problem"}

    def _about(self) -> dict[str, object]:
        """Return rows of `summary` about the chain: states, Lyapunov function, extent of the proof."""
        return {
            "chain": short_text(self.infinite.model),
            "states": f"infinitely many; values in {self.chain.size}",
            "Lyapunov function": self.lyapunov,
            "proved": self.verified,
            **({"tolerance": f"{self.tolerance:g} was not reached"} if self.error_bound > self.tolerance else {}),
        }


def stationary_of_infinite(
    infinite: InfiniteChain,
    method: Method | None,
    function: Any,
    tolerance: float,
    on_failure: OnFailure,
) -> InfiniteStationary:
    """Return the stationary distribution of an infinite chain, with a bound by a verified Lyapunov function.

    Raises
    ------
    RuleError
        If there is no Lyapunov function, or the rules cannot be followed.
    """
    watch = Stopwatch()
    basis = None if function is None else user_basis(function)
    try:
        lyapunov = find_lyapunov(infinite.hull, basis)
    except Unfollowed as stop:
        raise RuleError(f"{infinite.model.name}: the states have no end: {stop}") from None
    problem = Problem.of(infinite, lyapunov)
    best: Step | None = None
    for step in solve_growing_sets(problem, method, tolerance):
        if best is None or step.bound <= best.bound:
            best = step
    assert best is not None
    if best.bound >= 1.0:
        extent = f"nothing was proved with values in {count_of(len(step.pi), 'state')}"
        raise RuleError(f"{infinite.model.name}: {extent}: the stationary distribution may not be unique")
    if not np.all(np.isfinite(best.pi)):
        status = Status.NOT_FINITE
    elif best.pi.min() < 0:
        status = Status.NEGATIVE
    else:
        status = Status.CONVERGED if best.bound <= max(tolerance, MAX_CONVERGED_BOUND) else Status.UNPROVED
    inner = sum(math.prod(map(len, ranges)) for _, ranges in lyapunov.inner())
    answer = InfiniteStationary(
        chain=best.chain,
        pi=best.pi,
        method=best.method,
        reason=best.reason,
        status=status,
        residual=relative_residual(best.truncation.built.Q, best.pi),
        error_bound=best.bound,
        seconds=watch.seconds(),
        iterations=best.solution.iterations,
        memory=best.solution.memory,
        lyapunov=str(lyapunov),
        infinite=infinite,
        verified=f"its drift is at most -1 in all states but {inner}, in {count_of(lyapunov.parts, 'part')}",
        function=function,
        tolerance=tolerance,
    )
    answer.__dict__["_problem"] = problem
    return deliver(answer, on_failure)


def _number(value: Any) -> Any:
    """Return ``value`` if it is a number or a polynomial; raise Unfollowed for other values."""
    if type(value) is Polynomial or as_fraction(value) is not None:
        return value
    raise Unfollowed(f"{type(value).__name__} where a number is expected")


def _label_or_reward(model: ChainModel, name: str) -> NamedFunction:
    """Return the label or reward ``name`` of a model as a function of the state."""
    for kind in reversed(MEASURE_KINDS):
        function = NamedFunction(model, kind, name)
        if function.is_defined:
            return function
    raise ValueError(f"measure = {name!r}: must be the name of a label or reward")


class Step(NamedTuple):
    """Solution of the chain on one finite set of states, with its error bound.

    Attributes
    ----------
    truncation, chain
        The set.
    pi
        Probabilities, shape (n,).
    method, reason, solution
        The method, the reason for its choice, and its result.
    solver
        Solver of Poisson's equation; None if nothing was proved.
    bound
        Error bound of the probability of any set of states.
    """

    truncation: Truncation
    chain: MarkovChain
    pi: Vector
    method: Method
    reason: str
    solution: Solution
    solver: Solver | None
    bound: float


class Shape(enum.Enum):
    """Shape of the finite sets of states: how they grow."""

    START = enum.auto()
    QUANTILES = enum.auto()
    LEVELS = enum.auto()


class Problem(NamedTuple):
    """An infinite chain, a Lyapunov function of it, and growing finite sets of its states."""

    infinite: InfiniteChain
    lyapunov: Lyapunov
    sets: Truncations

    @classmethod
    def of(cls, infinite: InfiniteChain, lyapunov: Lyapunov) -> Problem:
        """Return the problem with a first set, which includes all states where the drift was not verified."""
        calls, layout = lyapunov.hull.layout.calls, lyapunov.hull.layout
        ones = [1.0] * len(layout.free)
        sets = Truncations(
            calls, [calls.as_state(infinite.model.start())], _size_function(lyapunov, ones), infinite.most
        )
        include_inner(sets, lyapunov)
        level = 1.0
        while sets.reach(level) < FIRST_STATES:
            level *= LEVEL_GROWTH
        return cls(infinite, lyapunov, sets)


def _size_function(lyapunov: Lyapunov, units: Sequence[float]) -> Callable[[Sequence[Any]], Vector]:
    """Return a function of states: the sum of unbounded components above their minima, each divided by its unit."""
    layout, low = lyapunov.hull.layout, np.min(list(lyapunov.hull.low.values()), axis=0)

    def sizes(states: Sequence[Any]) -> Vector:
        """Return the size of each state, shape (states,)."""
        components = np.array([layout.split(state)[1] for state in states], dtype=np.float64)
        sums: Vector = ((components.reshape(len(states), -1) - low) / units).sum(axis=1)
        return sums

    return sizes


def solve_growing_sets(problem: Problem, method: Method | None, tolerance: float) -> Iterator[Step]:
    """Yield solutions on growing sets of states, until the bound is at most the tolerance or no longer falls."""
    sets, lyapunov = problem.sets, problem.lyapunov
    anchor: Any = None
    shape = Shape.START
    history: list[tuple[float, float]] = []
    best, stagnant, level = 1.0, 0, 0.0
    while True:
        step = solve_set(problem, method, anchor)
        anchor = sets.states[int(step.truncation.numbers[int(np.argmax(step.pi))])]
        yield step
        stagnant = stagnant + 1 if step.bound >= best else 0
        best = min(best, step.bound)
        exhausted = stagnant >= (MAX_STAGNANT_SETS if best < 1.0 else MAX_SETS_WITHOUT_BOUND)
        if step.bound <= tolerance or (exhausted and shape is Shape.LEVELS):
            return
        count = len(step.pi)
        failed = shape is Shape.QUANTILES and (stagnant > 0 or step.bound == math.inf)
        if exhausted or (failed and best <= MAX_BOUND_FOR_QUANTILES):
            shape, stagnant, history = Shape.LEVELS, 0, []
            sets.reshape(lyapunov.at)
            level = max(float(lyapunov.at(sets.states[:1])[0]), lyapunov.at_inner())
        elif shape is not Shape.LEVELS and (best > MAX_BOUND_FOR_QUANTILES or shape is Shape.START):
            shape, history, level = Shape.QUANTILES, [(0.0, math.inf)], 1.0
            sets.reshape(_size_function(lyapunov, _quantiles(problem, step)))
        else:
            history.append((level, step.bound))
            level = next_level(history, tolerance)
        while sets.reach(level) < MIN_SET_GROWTH * count:
            level = LEVEL_GROWTH * max(level, 1.0)


def _quantiles(problem: Problem, step: Step) -> list[float]:
    """Return for each unbounded component how far above its minimum a high quantile of ``step``'s pi is, at least 2."""
    layout = problem.lyapunov.hull.layout
    minima = np.min(list(problem.lyapunov.hull.low.values()), axis=0)
    columns = step.truncation.built.codes
    quantiles = []
    for k, low in zip(layout.free, minima, strict=True):
        values = columns[k] - int(low)
        counts = np.bincount(values, step.pi)
        tail = np.cumsum(counts[::-1])[::-1]
        quantiles.append(float(max(int(np.count_nonzero(tail > QUANTILE_TAIL)), 2)))
    return quantiles


def solve_set(problem: Problem, method: Method | None = None, anchor: Any = None) -> Step:
    """Return the solution of the chain on the current set of states, with its error bound.

    Raises
    ------
    ValueError
        If the chain in the set has several recurrent classes.
    """
    infinite, lyapunov = problem.infinite, problem.lyapunov
    truncation = problem.sets.truncation(anchor)
    chain = MarkovChain.of_built(infinite.model, truncation.built)
    if len(chain.recurrent_classes) != 1:
        reason = "the stationary distribution is not unique, or the start does not lead to all states of a finite set"
        raise ValueError(f"{infinite.model.name}: {reason} in which that is not known")
    states, Q = chain.recurrent_classes[0], chain.irreducible(0)
    components = chain.components_of(states)
    reason = "requested by the caller"
    if method is None:
        method, reason = choose(Q, components)
    solution = method.solve(Q, components)
    pi = np.zeros(chain.size)
    pi[states] = solution.pi
    best, solver, likeliest = NOTHING, None, int(np.argmax(pi))
    if np.all(np.isfinite(pi)) and pi.min() >= 0.0:
        height = height_of(problem.sets, truncation, lyapunov, np.ones(chain.size))
        candidates: Iterator[Solver]
        if len(states) == chain.size:
            candidates = solvers(truncation.built.Q, pi, np.ones_like(pi), None, solution)
        else:  # with transient states by sparse LU alone
            candidates = iter([LUFactors(truncation.built.Q, likeliest, best_order(truncation.built.Q))])
        for candidate in candidates:
            sides = sides_of(truncation.rates, pi, candidate, height)
            if max(sides) < max(best) or solver is None:
                best, solver = sides, candidate
            reference = None if isinstance(candidate, MultigridPoisson) else candidate.reference
            is_rare = reference is not None and pi[reference] < MIN_REFERENCE_RATIO * pi[likeliest]
            if (math.isfinite(max(best)) and not is_rare) or (reference == likeliest and sides is LEAVES_SET):
                break
    bound = distance(best, pi)
    return Step(truncation, chain, pi, method, reason, solution, solver, bound)


def height_of(sets: Truncations, truncation: Truncation, lyapunov: Lyapunov, weights: Vector) -> Height:
    """Return values of the Lyapunov function in the states of a set and its largest value just outside."""
    inside = lyapunov.at([sets.states[k] for k in truncation.numbers])
    edge = lyapunov.at([sets.states[k] for k in truncation.edge])
    return Height(inside, float(edge.max(initial=lyapunov.lower_bound)), lyapunov.lower_bound, weights)
