"""pi Q = 0: one driver that takes a model, chain or matrix and a method object."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from hopflow.kernels.stopwatch import Stopwatch
from hopflow.parameters import param, validate_parameters
from hopflow.results import OnFailure, Status, deliver
from markov.chains import InSteps, MarkovChain
from markov.computing.resources import InfiniteStatesError, available, rates_in_range, watch_residuals
from markov.exploration import InfiniteChain
from markov.methods.choice import choose, grid_pays
from markov.methods.exact import exact_distribution
from markov.methods.gth import GTH
from markov.models.rules import ChainModel
from markov.multigrid.matrix_free import MatrixFree, is_numbered
from markov.proofs.certificates import Certificate, relative_residual
from markov.results.stationary_results import Stationary

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.methods.solution import Method

__all__ = ["choose", "stationary", "stationary_by_class"]

Proof = bool | Literal["tight"]
TOLERANCE = 1e-12
INFINITE_CHAIN_TOLERANCE = 1e-9
MAX_USEFUL_BOUND = 1e-3
"""A larger bound on the total-variation distance says nothing useful."""
MAX_MATRIX_STATES = 4_000_000  # of a chain whose matrix is built if no bound was computed without it
MATRIX_BYTES_PER_STATE = 500.0  # for a bound with a matrix
MAX_STATES_WITHOUT_COMPONENTS = 1500  # chains of at most this size are eliminated, which needs no components


@validate_parameters
def stationary(
    chain: Any,
    method: Method | None = None,
    *,
    proof: Proof = param(True, choices=(True, False, "tight")),
    on_failure: OnFailure = "raise",
    exact: bool = param(False),
    tolerance: float | None = param(None, above=0.0, below=1.0),
    lyapunov: Callable[[Any], Any] | None = None,
) -> Stationary:
    """Return the stationary distribution of a chain with exactly one, with a proved error bound.

    Parameters
    ----------
    chain
        A `ChainModel`, a `MarkovChain`, the result of `explore`, or a generator matrix.
    method
        Such as `GTH()` or `Multilevel()`; ``markov.registries.METHODS`` lists all of them. None chooses by predicted
        cost and gives the reason.
    proof
        True bounds the error in total variation; ``"tight"`` sharply for methods that iterate too, for
        about a third of their time more; False leaves the bound out.
    on_failure
        ``"raise"`` or ``"return"`` a result whose status is not ``ok``.
    exact
        True solves in fractions as well, for at most 500 recurrent states: the answer's ``exact`` has them, and
        its ``pi`` is the float64 next to each. Rates are the float64 that the chain has.
    tolerance
        Requested error bound for a chain with infinitely many states, which selects the states with values; None: 1e-9.
        Where rounding does not allow it, the summary says that it was not reached.
    lyapunov
        Function V of the state for a chain with infinitely many states. V grows without bound with all components, and
        has a negative drift outside of finitely many states; this is verified. None: V is searched for.

    Returns
    -------
    Stationary
        Its status is CONVERGED when the equations are met to the tolerance and the error bound is at
        most 1e-3, UNPROVED when they are met but the bound is larger or infinite, SOLVED when they are
        met and no bound was requested.

    Raises
    ------
    ValueError
        For bad input, or a chain with several recurrent classes.
    ConvergenceError, NotSolvedError
        Carrying the partial result.

    Examples
    --------
    >>> answer = stationary([[-1.0, 1.0], [3.0, -3.0]])
    >>> answer.pi, str(answer.status), answer.error_bound < 1e-15
    (array([0.75, 0.25]), 'converged', True)
    """
    _require_method(method)
    if isinstance(chain, InfiniteChain):
        infinite = _InfiniteOptions(tolerance, lyapunov)
        return infinite.solve(chain, method, proof, exact, on_failure)
    if exact and (method is not None or exact is not True):
        raise ValueError(f"exact = {exact!r}: goes without a method, it has one of its own")
    if isinstance(chain, ChainModel) and not exact:
        answer = _without_matrix(chain, method, proof)
        if answer is not None:
            return deliver(answer, on_failure)
    try:
        chain = _chain_of(chain)
    except InfiniteStatesError as error:
        endless = InfiniteChain.of_error(error)
        infinite = _InfiniteOptions(tolerance, lyapunov)
        return infinite.solve(endless, method, proof, exact, on_failure)
    if tolerance is not None or lyapunov is not None:
        message = "go with chains that have infinitely many states; this one has"
        raise ValueError(f"tolerance, lyapunov: {message} {chain.size}")
    classes = chain.recurrent_classes
    if len(classes) > 1:
        msg = (
            "the stationary distribution is not unique; use stationary_by_class(chain), and "
            "MarkovChain(chain).absorption_probabilities for the weight of each class from a start"
        )
        shell = "in the shell --property 'S=? [ ... ]' weighs the classes of a model file"
        raise ValueError(f"{chain!r}: {msg}; {shell}")
    if exact:
        weights = exact_distribution(chain.irreducible(0))
        return _with_fractions(_solve(chain, 0, GTH(), proof, "return"), weights)
    return _solve(chain, 0, method, proof, on_failure)


class _InfiniteOptions(NamedTuple):
    """Options of `stationary` for chains with infinitely many states: error tolerance and Lyapunov function."""

    tolerance: float | None
    lyapunov: Callable[[Any], Any] | None

    def solve(
        self,
        chain: InfiniteChain,
        method: Method | None,
        proof: Proof,
        exact: bool,
        on_failure: OnFailure,
    ) -> Stationary:
        """Return the stationary distribution of an infinite chain; ValueError for exact=True or proof=False."""
        if exact or not proof:
            message = "states are infinitely many, and cut by a proved bound in float64"
            raise ValueError(f"exact = {exact!r}, proof = {proof!r}: {chain.model.name}: {message}")
        tolerance = INFINITE_CHAIN_TOLERANCE if self.tolerance is None else self.tolerance
        from markov.infinite.answers import stationary_of_infinite

        return stationary_of_infinite(chain, method, self.lyapunov, tolerance, on_failure)


def _with_fractions(answer: Stationary, weights: list[Fraction]) -> Stationary:
    """Return the answer with exact fractions, and pi as the nearest float64 with their exact distance."""
    states = answer.chain.recurrent_classes[0].tolist()
    exact, pi = [Fraction(0)] * answer.chain.size, np.zeros(answer.chain.size)
    for state, value in zip(states, weights, strict=True):
        exact[state], pi[state] = value, float(value)
    gaps = [_rounding_gap(p, value) for p, value in zip(pi[states].tolist(), weights, strict=True)]
    above = math.fsum(gap for gap, _, sign in gaps if sign > 0)
    below = math.fsum(gap for gap, _, sign in gaps if sign < 0)
    distance = max(above, below)
    return replace(
        answer,
        pi=pi,
        exact=tuple(exact),
        status=Status.CONVERGED,
        reason="exact solution in fractions",
        residual=relative_residual(answer.chain.irreducible(0), pi[states]),
        error_bound=math.nextafter(distance, math.inf) if distance else 0.0,
        entry_error=max(relative for _, relative, _ in gaps),
        proof=None,
    )


def _rounding_gap(rounded: float, value: Fraction) -> tuple[float, float, int]:
    """Return |rounded - value|, the same over value, both rounded up, and the sign of the difference."""
    a, b = rounded.as_integer_ratio()
    top = a * value.denominator - value.numerator * b
    if not top:
        return 0.0, 0.0, 0
    # quotients of integers: fractions of many digits would be reduced first
    gap, relative = (abs(top) / (b * part) for part in (value.denominator, value.numerator))
    return math.nextafter(gap, math.inf), math.nextafter(relative, math.inf), 1 if top > 0 else -1


@validate_parameters
def stationary_by_class(
    chain: Any,
    method: Method | None = None,
    *,
    proof: Proof = param(True, choices=(True, False, "tight")),
    on_failure: OnFailure = "raise",
) -> list[Stationary]:
    """Return a list with one stationary distribution per recurrent class.

    Examples
    --------
    >>> from markov import stationary_by_class
    >>> answers = stationary_by_class([[0.0, 0.0, 0.0], [1.0, -2.0, 1.0], [0.0, 0.0, 0.0]])
    >>> [answer.pi.tolist() for answer in answers]
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    _require_method(method)
    chain = _chain_of(chain)
    numbers = range(len(chain.recurrent_classes))
    return [_solve(chain, number, method, proof, on_failure) for number in numbers]


def _require_method(method: Method | None) -> None:
    """Raise ValueError unless ``method`` is a method object, such as ``GTH()``, or None."""
    if method is not None and (isinstance(method, type) or not hasattr(method, "solve")):
        raise ValueError(f"method = {method!r}: must be a method object such as GTH(), or None")


def _chain_of(chain: Any) -> MarkovChain:
    """Return ``chain`` as a `MarkovChain`, from a chain, a model, a result of `explore`, or a matrix."""
    chain = getattr(chain, "chain", chain)  # a result of `explore`
    return chain if isinstance(chain, MarkovChain) and not isinstance(chain, InSteps) else MarkovChain(chain)


def _without_matrix(model: ChainModel, method: Method | None, proof: Proof) -> Stationary | None:
    """Return the answer of `MatrixFree` for a model on a grid; None if not requested and not predicted to pay."""
    requested = isinstance(method, MatrixFree)
    if not requested and (method is not None or not grid_pays(model) or not is_numbered(model)):
        return None
    from markov.multigrid.solver import grid_model, solve_on_grid

    watch = Stopwatch()
    grid = grid_model(model, requested)
    if grid is None:
        return None
    solver = method if isinstance(method, MatrixFree) else MatrixFree()
    reason = "requested by the caller"
    if method is None:
        reason = f"{grid.states.size} states on a grid of few kinds of cells: no matrix is needed"
    with watch_residuals(solver.tolerance) as history:
        solution = solve_on_grid(grid, solver, proof=bool(proof), tight=proof == "tight")
    met = bool(np.isfinite(solution.residual)) and solution.residual <= solver.tolerance
    bound, certificate = solution.error_bound, None
    size = solution.chain.size
    unproved = met and proof and bound > MAX_USEFUL_BOUND
    if unproved and size <= MAX_MATRIX_STATES and MATRIX_BYTES_PER_STATE * size < available():
        chain, states = solution.chain, solution.chain.recurrent_classes[0]
        Q, components = chain.irreducible(0), chain.components_of(states)
        certificate = Certificate(Q, solution.pi[states], components, tight=proof == "tight")
        bound = certificate.distance
    return Stationary(
        chain=solution.chain,
        pi=solution.pi,
        method=solver,
        reason=reason,
        status=_status(solution.pi, met, bool(proof), bound),
        residual=solution.residual,
        error_bound=bound,
        proof=certificate,
        seconds=watch.seconds(),
        iterations=solution.iterations,
        memory=solution.memory,
        history=tuple(history),
        levels=solution.levels,
    )


def _solve(chain: MarkovChain, number: int, method: Method | None, proof: Proof, on_failure: OnFailure) -> Stationary:
    """Return the stationary distribution of recurrent class ``number``; raise a failure unless it is to be returned."""
    with rates_in_range(chain.Q):
        result = _solve_class(chain, number, method, proof)
    return deliver(result, on_failure)


def _solve_class(chain: MarkovChain, number: int, method: Method | None, proof: Proof) -> Stationary:
    """Return the stationary distribution of recurrent class ``number``, with its status and proof."""
    watch = Stopwatch()
    states, Q = chain.recurrent_classes[number], chain.irreducible(number)
    components = None
    if method is not None or len(states) > MAX_STATES_WITHOUT_COMPONENTS:
        components = chain.components_of(states)
    method, reason = choose(Q, components) if method is None else (method, "requested by the caller")
    tolerance = getattr(method, "tolerance", None)
    watching: AbstractContextManager[list[tuple[int, float]]] = nullcontext([])
    if tolerance is not None:  # the method iterates
        watching = watch_residuals(tolerance)
    with watching as history:
        solution = method.solve(Q, components)
    part = solution.pi
    finite = bool(np.all(np.isfinite(part)))
    residual = relative_residual(Q, part) if finite else math.inf
    met = finite and part.min() >= 0 and residual <= (TOLERANCE if tolerance is None else tolerance)
    certificate = None
    if met and proof:
        certificate = Certificate(Q, part, components, solution, tight=proof == "tight")
    bound = math.inf if certificate is None else certificate.distance
    pi = np.zeros(chain.size)
    pi[states] = part
    return Stationary(
        chain=chain,
        pi=pi,
        method=method,
        reason=reason,
        status=_status(part, met, bool(proof), bound),
        residual=residual,
        error_bound=bound,
        entry_error=solution.entry_error if met else math.inf,
        proof=certificate,
        seconds=watch.seconds(),
        iterations=solution.iterations,
        memory=solution.memory,
        history=tuple(history),
        levels=() if solution.hierarchy is None else solution.hierarchy.sizes,
    )


def _status(pi: NDArray[np.float64], met: bool, proof_requested: bool, bound: float) -> Status:
    """Return the status of a solution, from pi, whether the residual tolerance is met, and the error bound."""
    if not np.all(np.isfinite(pi)):
        return Status.NOT_FINITE
    if pi.min() < 0:
        return Status.NEGATIVE
    if not met:
        return Status.INACCURATE
    if not proof_requested:
        return Status.SOLVED
    return Status.CONVERGED if bound <= MAX_USEFUL_BOUND else Status.UNPROVED
