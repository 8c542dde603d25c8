"""Distributions of a chain over time by the exponential of its generator: one function, and the choice of its method.

`evolve` takes the first row of `METHODS` that is predicted to pay and returns a result. Each method is one file:

===================== =========================================================== ======================================
file                  operation                                                   bound
===================== =========================================================== ======================================
`squaring`            products of n x n matrices with 2 or 3 float64 per entry    relative, of every entry
`krylov`              sparse factors, some 50 solves, small dense matrices        total variation, by the residual
`uniformization`      one product with the sparse jump matrix per expected jump   total variation
`chebyshev`           sqrt(50 a) products for a jumps                             total variation, by terms
===================== =========================================================== ======================================

Chebyshev polynomials serve `moving` alone: their terms have both signs, so that rounding errors add up to as much as
the largest of them, which suffices for sets of states that lose 1e-10 of the mass anyway.

Predictions are seconds (`markov.computing.costs`, and the constants below, fitted in the same way), so that the choice
depends on the chain and the times alone.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hopflow.fork_safety import cached_property
from markov.chains import MarkovChain
from markov.computing import costs
from markov.computing.rounding import U
from markov.driver import stationary
from markov.elimination.lu import best_order
from markov.time.absorbing import Absorbing
from markov.time.krylov import SPACE_SIZES, Resolvents
from markov.time.squaring import MAX_SQUARING_JUMPS, MAX_STATES, plan_squarings, squares_of
from markov.time.uniformization import MAX_JUMPS, MIN_JUMPS_FOR_LIMIT, Limit, Uniformized

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.elimination.lu import LUOrder

    Vector = NDArray[np.float64]

__all__ = ["Distributions", "TimedJump", "evolve", "evolve_through_jumps", "krylov_order", "limit_of", "squaring_pays"]

FREE_SECONDS = 5e-3  # predicted time of a squaring that relative errors are worth, however fast other methods are
SECONDS_PER_JUMP, SECONDS_PER_ENTRY = 5e-6, 6e-10  # of uniformization
MIN_PREDICTED_SPEEDUP = 4.0  # by factors: their fill is an estimate, and a layer of uniformization comes before them
MIN_PRODUCTS_FOR_KRYLOV = 2e4  # fewer take less time than an order of elimination
MIN_POWERS_FOR_LIMIT = 5_000.0  # fewer take less time than the stationary distribution
FIRST_LAYER_POWERS, LAYER_GROWTH = 2_000.0, 4.0  # powers before the first attempt at a Krylov space, and their growth
SETTLED_FRACTION = 0.9  # of the powers of a layer: with fewer the chain has settled
LOOSEST_BOUND = 1e-8  # accepted of a Krylov space, if the tolerance is smaller
MAX_ROUNDING_RATIO = 2.8  # bound of a Krylov space over the rounding of uniformization until the same time
MAX_LAYER_SHARE = 0.3  # of all powers, that layers may cost


class Distributions(NamedTuple):
    """Distributions of a chain at several times, with error bounds: the result of `evolve`.

    Attributes
    ----------
    values
        Shape (times, n).
    errors
        Bounds on the total-variation distances, shape (times,).
    steps
        Products and solves.
    method
        Its description for the user.
    relative
        Bounds on the relative error of every entry, shape (times,); None: not by squaring.
    """

    values: Vector
    errors: Vector
    steps: int
    method: str
    relative: Vector | None = None


class TimedJump(NamedTuple):
    """Jump of every state to a target state at one fixed time.

    Attributes
    ----------
    time
        In the unit of the rates, > 0.
    after
        Whether the state at that very time is that before the jump.
    targets
        State after the jump from each state, shape (states,); -1: unknown, since the start does not lead to the state
        by then.
    """

    time: float
    after: bool
    targets: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Problem:
    """Arguments of `evolve`: chain, distribution at time 0, shape (n,), ascending times, truncation tolerance."""

    chain: MarkovChain
    jumps: Uniformized
    start: Vector
    times: Vector
    tolerance: float

    @cached_property
    def n_jumps(self) -> float:
        """Expected number of jumps until the last time, at the constant rate of uniformization."""
        return self.jumps.rate * float(self.times[-1])

    @cached_property
    def limit(self) -> Limit | None:
        """Long-run limit of the distribution; None where the times are too short for it to save work."""
        return limit_of(self.chain, self.start, self.n_jumps)


def evolve(
    chain: MarkovChain,
    start: Vector,
    times: Vector,
    tolerance: float,
    *,
    acceptable: float = math.inf,
    squaring: bool = True,
    timed: Sequence[TimedJump] = (),
) -> Distributions:
    """Return the distributions of a chain at ascending times, by the first method that is predicted to pay.

    Parameters
    ----------
    start
        The distribution at time 0, shape (n,).
    times
        Ascending, shape (times,).
    tolerance
        Of the total variation, for truncation; the bounds include rounding as well.
    acceptable
        Bound at the last time above which squaring is tried, at any predicted cost.
    squaring
        Whether squaring may be chosen.
    timed
        Jumps of all states at fixed times: then the methods without squaring serve the times between them.
    """
    jumps = Uniformized(chain.Q)
    if timed:
        part = tolerance / (len(timed) + 1)

        def between_jumps(first: Vector, spans: Vector) -> Distributions:
            """Return the distributions at ``spans`` after a jump, from the distribution ``first``."""
            return _solve(_Problem(chain, jumps, first, spans, part), WITHOUT_SQUARING)

        return evolve_through_jumps(timed, start, times, between_jumps)
    problem = _Problem(chain, jumps, start, times, tolerance)
    result = _solve(problem, METHODS if squaring else WITHOUT_SQUARING)
    if squaring and result.relative is None and result.errors[-1] > acceptable:
        return _square(problem) or result
    return result


def _solve(problem: _Problem, methods: Sequence[Method]) -> Distributions:
    """Return the distributions by the first of ``methods`` that is predicted to pay and succeeds."""
    for method in methods:
        if method.pays(problem) and (result := method.solve(problem)) is not None:
            return result
    raise AssertionError("uniformization solves every problem or raises")


# Squaring


def squaring_pays(n: int, jumps: float, entries: int) -> bool:
    """Return whether squaring is predicted to take less time than uniformization, or a few milliseconds.

    Parameters
    ----------
    n, entries
        Numbers of states and of transitions.
    jumps
        Expected number at the largest exit rate until the last time.
    """
    if n > MAX_STATES or jumps > MAX_SQUARING_JUMPS:
        return False
    doubled = max(2.0 * jumps, 1e-3)  # the rate of squaring is up to twice the largest exit rate
    seconds = plan_squarings(n, doubled, doubled).seconds
    return seconds < max(FREE_SECONDS, jumps * (SECONDS_PER_JUMP + SECONDS_PER_ENTRY * entries))


def _square(problem: _Problem) -> Distributions | None:
    """Return the distributions at all times by squaring; None if there are too many states, or no error is proved."""
    Q, times = problem.chain.Q, problem.times
    n, last = Q.shape[0], float(times[-1])
    if n > MAX_STATES or last == 0.0:
        return None
    rates = np.zeros((2, n, n))
    rates[0] = Q.toarray()
    np.fill_diagonal(rates[0], 0.0)
    squares = squares_of(rates, float(times[times > 0.0][0]), last)
    if squares is None:
        return None
    result = squares.forward(problem.start, times.tolist())
    errors = np.array([result.error(row) for row in range(len(times))])
    return Distributions(result.values, errors, squares.products, "squaring", result.relative)


# Uniformization


def _uniformize(problem: _Problem) -> Distributions:
    """Return the distributions at the times of the problem by uniformization."""
    return _uniformize_at(problem, problem.times, problem.tolerance)


def _uniformize_at(problem: _Problem, times: Vector, tolerance: float) -> Distributions:
    """Return the distributions at ``times`` by uniformization, each computed from its predecessor."""
    values, errors = np.empty((len(times), len(problem.start))), np.empty(len(times))
    vector, error, steps, before, method = problem.start, 0.0, 0, 0.0, "uniformization"
    for k, time in enumerate(times.tolist()):
        part = problem.jumps.distribution(vector, time - before, tolerance / len(times), problem.limit)
        vector, error, steps = part.values, error + part.error, steps + part.steps
        values[k], errors[k], before = vector, error, time
        if part.settled:
            method = "uniformization until the long-run distribution, within the bound"
    return Distributions(values, errors, steps, method)


# A rational Krylov space behind a layer of uniformization


def krylov_order(Q: sp.csr_matrix, products: float) -> LUOrder | None:
    """Return an elimination order of I - gamma Q' if its factors are predicted to beat ``products`` products."""
    seconds_of_products = products * costs.accurate_products(Q.nnz)
    if products < MIN_PRODUCTS_FOR_KRYLOV or costs.order_by_fill(Q.nnz) * MIN_PREDICTED_SPEEDUP > seconds_of_products:
        return None
    order = best_order(Q)
    seconds = order.seconds + SPACE_SIZES[-1] * costs.substitutions(order.fill)
    return order if seconds * MIN_PREDICTED_SPEEDUP <= seconds_of_products else None


def _krylov(problem: _Problem) -> Distributions | None:
    """Return the distributions by uniformization in a first layer of time, then by a rational Krylov space; or None.

    The layer is extended until the bound is that of the tolerance, or near to the rounding of uniformization alone.
    None: factors are not cheaper, the layer would be too long, or a factor is singular, as the time is too long for
    float64.
    """
    Q, times = problem.chain.Q, problem.times
    order = krylov_order(Q, problem.n_jumps)
    if order is None:
        return None
    with suppress(RuntimeError):
        return _krylov_behind_layer(problem, Resolvents(Q, float(times[-1]), order))
    return None


def _krylov_behind_layer(problem: _Problem, resolvents: Resolvents) -> Distributions | None:
    """Return the distributions of `_krylov` with the shortest layer that gives a small enough bound.

    None if no layer up to the longest does, or if uniformization is as fast.
    """
    jumps, times, tolerance = problem.jumps, problem.times, problem.tolerance
    layer, before, error, steps, vector = FIRST_LAYER_POWERS / jumps.rate, 0.0, 0.0, 0, problem.start
    while jumps.rate * layer <= MAX_LAYER_SHARE * problem.n_jumps:
        part = jumps.distribution(vector, layer - before, 0.1 * tolerance, problem.limit)
        vector, error, steps = part.values, error + part.error, steps + part.steps
        if part.steps < SETTLED_FRACTION * jumps.rate * (layer - before):
            return None  # uniformization is as fast, and its bound is better
        beyond = times > layer
        rounding = np.minimum(MAX_ROUNDING_RATIO * jumps.rounding * jumps.rate * times[beyond], LOOSEST_BOUND)
        allowed = np.maximum(tolerance, rounding) - error
        result = resolvents.distributions(vector, times[beyond] - layer, allowed)
        if result is not None:
            first = _uniformize_at(problem, times[~beyond], 0.1 * tolerance)
            values = np.concatenate([first.values.reshape(-1, len(problem.start)), result.values])
            errors = np.concatenate([first.errors, result.errors + error])
            method = f"uniformization until {layer:.3g}, then a rational Krylov space"
            return Distributions(values, errors, steps + first.steps + result.solves, method)
        layer, before = LAYER_GROWTH * layer, layer
    return None


class Method(NamedTuple):
    """Method of `evolve`: when it is tried, its solver, and why it stands at its position in `METHODS`.

    Attributes
    ----------
    pays
        Whether it is tried.
    solve
        Its distributions; None: it does not apply after all.
    reason
        Why it stands in this order.
    """

    pays: Callable[[_Problem], bool]
    solve: Callable[[_Problem], Distributions | None]
    reason: str


SQUARING = Method(
    lambda p: p.n_jumps > MAX_JUMPS or squaring_pays(p.chain.size, p.n_jumps, p.chain.Q.nnz),
    _square,
    "few states: every entry has a relative error, in less time or in milliseconds; no other reaches such times",
)
KRYLOV = Method(
    lambda _: True,
    _krylov,
    "long times: the rest of the distribution changes slowly, some 50 solves replace 1e5 products",
)
UNIFORMIZATION = Method(
    lambda _: True,
    _uniformize,
    "all others: no factors and no cancellation, and it stops where the chain settles",
)
METHODS = (SQUARING, KRYLOV, UNIFORMIZATION)
"""Methods of `evolve`, in their order. Squaring is tried again where the bound of the others is useless."""
WITHOUT_SQUARING = tuple(method for method in METHODS if method is not SQUARING)
"""Methods between jumps at fixed times, and for callers that exclude squaring."""


# Limits and jumps at fixed times


def limit_of(chain: MarkovChain, start: Vector, powers: float) -> Limit | None:
    """Return the long-run limit of a chain's distribution from ``start``; None where it saves no work or has no bound.

    Namely where all states lead to one recurrent class, or the start is inside of recurrent classes. Over a far time
    also where several classes are reached, with computed probabilities.
    """
    if powers < MIN_POWERS_FOR_LIMIT:
        return None
    classes = chain.closed_classes
    shares, error = np.array([start[states].sum() for states in classes]), 0.0
    if len(classes) == 1:
        shares = np.ones(1)
    elif shares.sum() < 1.0 - 1e-15:
        if powers <= MIN_JUMPS_FOR_LIMIT:
            return None
        absorbed, error = _absorption_probabilities(chain, start)
        shares += absorbed
    if not np.isfinite(error):
        return None
    values = np.zeros(chain.size)
    for states, share in zip(classes, shares.tolist(), strict=True):
        if share > 0.0:
            part = chain if len(states) == chain.size else MarkovChain(chain.Q[states][:, states])
            answer = stationary(part, on_failure="return")
            if not np.isfinite(answer.error_bound):
                return None
            values[states] += share * answer.pi
            error += share * answer.error_bound
    return Limit(values, error)


def _absorption_probabilities(chain: MarkovChain, start: Vector) -> tuple[Vector, float]:
    """Return the probability that transient mass enters each closed class, and a bound on the sum of their errors."""
    classes = chain.closed_classes
    transient = np.ones(chain.size, dtype=bool)
    transient[np.concatenate(classes)] = False
    system, first = Absorbing(chain.Q, transient), start[transient]
    shares, error = np.zeros(len(classes)), 0.0
    for k, states in enumerate(classes):
        inside = np.zeros(chain.size, dtype=bool)
        inside[states] = True
        values, errors = system.solve(system.rates_into(inside))
        shares[k] = float(first @ values)
        error += float(first @ errors)
    return shares, error + (len(first) + 4) * U


def evolve_through_jumps(
    jumps: Sequence[TimedJump],
    start: Vector,
    times: Vector,
    solve: Callable[[Vector, Vector], Distributions],
) -> Distributions:
    """Return the distributions at ascending times of a chain whose states also jump at fixed times.

    Parameters
    ----------
    jumps
        In any order.
    start
        The distribution at time 0, shape (states,).
    times
        Ascending, shape (times,).
    solve
        Distributions of the chain between jumps, from a distribution and the times since then.

    Notes
    -----
    A jump moves probability together and never apart. So the distance of two distributions does not grow, and errors
    add up from jump to jump.
    """
    values, errors = np.empty((len(times), len(start))), np.zeros(len(times))
    vector, error, steps, begin, done = start, 0.0, 0, 0.0, 0
    methods: list[str] = []
    segments: list[TimedJump | None] = [*sorted(jumps, key=lambda jump: jump[:2]), None]
    for jump in segments:
        if done == len(times):
            break
        if jump is None:
            last = len(times)
        else:
            last = max(int(np.searchsorted(times, jump.time, "right" if jump.after else "left")), done)
        requested = [*times[done:last].tolist(), *([] if jump is None else [jump.time])]
        part = solve(vector, np.array(requested) - begin)
        values[done:last], errors[done:last] = part.values[: last - done], part.errors[: last - done] + error
        steps, done = steps + part.steps, last
        methods += [part.method] if part.method not in methods else []
        if jump is not None:
            if part.values[-1][jump.targets < 0].any():
                raise ValueError("start: must be the initial state of a model with events, or one that it leads to")
            vector = np.bincount(np.maximum(jump.targets, 0), part.values[-1], minlength=len(start)).astype(np.float64)
            error, begin = error + float(part.errors[-1]), jump.time
    return Distributions(values, errors, steps, "; ".join(methods) + f"; {len(jumps)} jumps at given times")
