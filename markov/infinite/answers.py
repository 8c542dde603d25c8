"""The stationary distribution of an infinite chain: values in finitely many states, with bounds for all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from hopflow.checks import count_of
from hopflow.errors import RuleError
from hopflow.fork_safety import cached_property
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.results import OnFailure, Status, deliver
from markov.generators.unbounded.polynomials import Polynomial, Unfollowed, exact
from markov.infinite.bases import Basis, given_basis
from markov.infinite.bounds import mean_between, sides_of
from markov.infinite.lyapunov import Wanted, find_lyapunov
from markov.infinite.members import NamedFunction
from markov.infinite.solving import Problem, Step, height_of, include_inner, solved, steps
from markov.models.measures import functionals
from markov.proofs.bounded import Bounded
from markov.proofs.certificates import relative_residual
from markov.results.stationary_results import Stationary

if TYPE_CHECKING:
    from collections.abc import Callable

    from markov.exploration import InfiniteChain
    from markov.methods.solution import Method
    from markov.models.rules import ChainModel

__all__ = ["InfiniteStationary", "stationary_of_infinite"]

USEFUL = 1e-3


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class InfiniteStationary(Stationary):
    """The stationary distribution of a chain with infinitely many states.

    ``pi`` has the probabilities in finitely many states, ``chain`` the rates between them; all other states have
    less than ``error_bound`` together. That there is exactly one stationary distribution is part of the proof.

    Attributes
    ----------
    lyapunov
        V, whose drift was verified in all states outside of a finite set.
    infinite
        The chain.
    verified
        How, in words.
    function
        V as a user gave it; None: it was found.

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

    def bound(self, measure: Any, *, tolerance: float = 2e-13, exact: bool = False) -> Any:
        """Return the mean of a label or reward over all states, with a bound on its error.

        Parameters
        ----------
        measure
            Name of a label or reward of the model, or a function of the state: its values in all states are
            needed. Unbounded ones have a Lyapunov function of their own.
        tolerance
            Not used: the states are those of the answer.
        exact
            Must be False: for finitely many states alone.

        Returns
        -------
        Bounded
            In the measure's unit.

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
            function = self._named(measure)
        elif callable(measure):
            function = measure
        else:
            said = "must be the name of a label or reward, or a function of the state"
            raise ValueError(f"measure = {measure!r}: {said}: the states have no end")  # noqa: TRY004
        try:
            return self._mean(function)
        except Unfollowed as stop:
            raise ValueError(f"measure = {measure!r}: no bound is known: {stop}") from None

    def _named(self, name: str) -> Callable[[Any], Any]:
        """Return a label or reward as a function of the state."""
        known = functionals(self.infinite.model, self.chain.table)
        if name not in known:
            names = ", ".join(map(repr, known)) or "none"
            raise ValueError(f"measure = {name!r}: must be one of {names}")
        if known[name].over is not None or known[name].of.ndim > 1:
            raise ValueError(
                f"measure = {name!r}: a ratio or a vector of means has no bound for infinitely many states"
            )
        return _named_function(self.infinite.model, name)

    def _mean(self, function: Callable[[Any], Any]) -> Bounded:
        problem = self._problem
        wanted = Wanted(cost=lambda state: _number(function(state)))
        found = find_lyapunov(self.infinite.hull, self._given, wanted)
        include_inner(problem.sets, found)
        states = problem.sets.states
        step = solved(problem, self.method, self.states_at(int(np.argmax(self.pi))))
        truncation, numbers = step.truncation, step.truncation.numbers
        values = np.array([_number(function(states[k])) for k in numbers], dtype=np.float64)
        if step.solver is None:
            return Bounded(float(step.pi @ values), -math.inf, math.inf)
        height = height_of(problem.sets, truncation, found, 1.0 + np.abs(values))
        return mean_between(sides_of(truncation.rates, step.pi, step.solver, height), step.pi, values)

    def states_at(self, place: int) -> Any:
        """Return one of the states by its place in ``pi``."""
        (found,) = self.chain.table.plain([place])
        return self.infinite.hull.layout.calls.known(found)

    @cached_property
    def _problem(self) -> Problem:
        found = find_lyapunov(self.infinite.hull, self._given)
        problem = Problem.of(self.infinite, found)
        problem.sets.include([self.states_at(place) for place in range(self.chain.size)])
        return problem

    @property
    def _given(self) -> Basis | None:
        return None if self.function is None else given_basis(self.function)

    def _refuse(self, what: str) -> NoReturn:
        raise ValueError(f"{what} is not computed for a chain with infinitely many states; bound() and measures are")

    def input_error(self, measure: Any) -> Any:  # noqa: ARG002
        """Raise ValueError: not for infinitely many states."""
        self._refuse("input_error")

    def variance(self, measure: Any) -> Any:  # noqa: ARG002
        """Raise ValueError: not for infinitely many states."""
        self._refuse("variance")

    def deviation(self, measure: Any) -> Any:  # noqa: ARG002
        """Raise ValueError: not for infinitely many states."""
        self._refuse("deviation")

    def sensitivity(self, *_: Any, **__: Any) -> Any:
        """Raise ValueError: not for infinitely many states."""
        self._refuse("sensitivity")

    def certificate(self, *_: Any, **__: Any) -> None:
        """Raise ValueError: not for infinitely many states."""
        self._refuse("certificate")

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the states that were found."""
        return {k: v for k, v in super().__getstate__().items() if k != "_problem"}

    def _about(self) -> dict[str, object]:
        return {
            "chain": repr(self.infinite.model),
            "states": f"infinitely many; values in {self.chain.size}",
            "Lyapunov function": self.lyapunov,
            "proved": self.verified,
        }


def stationary_of_infinite(
    infinite: InfiniteChain,
    method: Method | None,
    function: Any,
    tolerance: float,
    on_failure: OnFailure,
) -> InfiniteStationary:
    """Return the stationary distribution of an infinite chain.

    Raises
    ------
    RuleError
        Where there is no Lyapunov function, or the rules cannot be followed.
    """
    watch = Stopwatch()
    given = None if function is None else given_basis(function)
    try:
        found = find_lyapunov(infinite.hull, given)
    except Unfollowed as stop:
        raise RuleError(f"{infinite.model.name}: the states have no end: {stop}") from None
    problem = Problem.of(infinite, found)
    best: Step | None = None
    for step in steps(problem, method, tolerance):
        if best is None or step.bound <= best.bound:
            best = step
    assert best is not None
    if best.bound >= 1.0:
        said = f"nothing was proved with values in {count_of(len(step.pi), 'state')}"
        raise RuleError(f"{infinite.model.name}: {said}: the stationary distribution may not be unique")
    inner = sum(math.prod(map(len, ranges)) for _, ranges in found.inner())
    answer = InfiniteStationary(
        chain=best.chain,
        pi=best.pi,
        method=best.method,
        reason=best.reason,
        status=_status(best, tolerance),
        residual=relative_residual(best.truncation.built.Q, best.pi),
        error_bound=best.bound,
        seconds=watch.seconds(),
        iterations=best.solution.iterations,
        memory=best.solution.memory,
        lyapunov=str(found),
        infinite=infinite,
        verified=f"its drift is at most -1 in all states but {inner}, in {count_of(found.parts, 'part')}",
        function=function,
    )
    answer.__dict__["_problem"] = problem
    return deliver(answer, on_failure)


def _status(step: Step, tolerance: float) -> Status:
    if not np.all(np.isfinite(step.pi)):
        return Status.NOT_FINITE
    if step.pi.min() < 0:
        return Status.NEGATIVE
    return Status.CONVERGED if step.bound <= max(tolerance, USEFUL) else Status.UNPROVED


def _number(value: Any) -> Any:
    """Return a number as it is; Unfollowed for what is none."""
    if type(value) is Polynomial or exact(value) is not None:
        return value
    raise Unfollowed(f"{type(value).__name__} where a number is expected")


def _named_function(model: ChainModel, name: str) -> NamedFunction:
    """Return a label or reward as a function of the state."""
    for kind in ("rewards", "labels"):
        found = NamedFunction(model, kind, name)
        if found.is_known:
            return found
    raise ValueError(f"measure = {name!r}: must be the name of a label or reward")
