"""How a stationary measure changes with a parameter, by one solution of Poisson's equation.

With Q g = pi f - f, d(pi f) = pi (f' + Q' g), the prime being the derivative by the parameter
(P. J. Schweitzer, Perturbation theory and finite Markov chains, Journal of Applied Probability 5,
1968). The same g serves all parameters, and so do the derivatives of rates (`markov.sensitivities.perturbations`).
At a kink of the rates the formula holds from each side. Whole numbers have differences of two solutions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.computing.rounding import U
from markov.methods.choice import choose
from markov.models.functions import Mean
from markov.models.measures import resolve_measure
from markov.proofs.certificates import Certificate
from markov.proofs.means import bound_mean, bound_measure, deviation, rows_of
from markov.selections import as_chain
from markov.sensitivities.differences import Irregular, Jump, Kinked, Side
from markov.sensitivities.perturbations import STATES_CHANGE, Perturbation
from markov.sensitivities.results import (
    NoDerivativeError,
    Sensitivity,
    combine_sides,
    format_shortest,
    no_derivative,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.chains import MarkovChain
    from markov.proofs.bounded import Bounded

    Vector = NDArray[np.float64]

__all__ = ["Solutions", "derivatives", "difference", "sensitivity_of"]

DIFFERENCE_TOLERANCE = 2e-13  # relative error at which iterations for both values of a difference stop
SIDES: tuple[Side, Side] = ("left", "right")
SIDE_WORDS: dict[Side, str] = {"left": "below it", "right": "above it"}
CHANGE_WORDS: dict[Side, str] = {"left": "less", "right": "more"}


class Solutions(NamedTuple):
    """A chain with its certified stationary distribution, and a cache of solutions for all its sensitivities.

    Attributes
    ----------
    chain
        With a model.
    proof
        The `Certificate` of its stationary vector on its recurrent states.
    states
        Its recurrent states, as indices.
    cache
        Solutions of Poisson's equation and derivatives of rates; filled on use.
    """

    chain: MarkovChain
    proof: Certificate
    states: NDArray[np.int64]
    cache: dict[Any, Any]


def sensitivity_of(
    solutions: Solutions,
    parameter: str,
    of: str,
    tolerance: float = 1e-8,
    side: Side | None = None,
) -> Sensitivity | list[Sensitivity]:
    """Return the sensitivity of a stationary measure to a parameter; a list for a measure of each queue.

    Parameters
    ----------
    solutions
        The chain and its certified stationary vector; its cache is filled.
    parameter, of
        Names of a parameter, or of an entry of it (``"arrival_rates[0]"``), and of a label or reward.
    tolerance
        Of the derivative, relative to it or to the ratio of measure and parameter: iterations end
        when their errors are as small; ``error`` has the reached error.
    side
        ``"left"`` or ``"right"``: the derivative from below or above, the difference to one less or more.

    Raises
    ------
    NoDerivativeError
        Where the measure has a kink or jumps, on the requested side.
    """
    chain, _, states, cache = solutions
    if chain.model is None:
        raise ValueError("parameter: the chain is given by its matrix and has no parameters")
    perturbation = Perturbation(chain, states, parameter, cache.setdefault("rates", {}))
    mean = resolve_measure(of, chain.model, chain.table, states)
    rows = [Mean(*numbers) for numbers in rows_of(mean)]
    if perturbation.counted:
        result = _differences(solutions, perturbation, of, rows, side or "right")
    else:

        def at(side_: Side | None) -> list[Sensitivity]:
            """Return the sensitivities of all entries of the measure, from one side or from both (None)."""
            return [
                _row_sensitivity(solutions, perturbation, _MeasureRow(of, k, row, tolerance), side_)
                for k, row in enumerate(rows)
            ]

        def jump(side_: Side) -> str:
            """Return a text on how the measure jumps on a side of the parameter."""
            step = perturbation.smallest_step * (-1.0 if side_ == "left" else 1.0)
            value, value_beyond = (_format_values(_measure_at(perturbation, of, shift)) for shift in (0.0, step))
            return f"{of} jumps from {value} to {value_beyond}"

        result = derivatives(perturbation, at, jump, side)
    return result if mean.of.ndim > 1 else result[0]


def derivatives(
    perturbation: Perturbation,
    at: Callable[[Side | None], list[Sensitivity]],
    jump: Callable[[Side], str],
    side: Side | None,
) -> list[Sensitivity]:
    """Return the sensitivities of a measure's entries from one side, or from both sides if they agree.

    Parameters
    ----------
    perturbation
        The model with its parameter changed slightly.
    at
        The derivatives from below, from above, or with differences to both sides.
    jump
        Description of the jump on a side.
    side
        None: both sides.

    Raises
    ------
    NoDerivativeError
        Without a derivative on the requested side, or where both sides differ.
    """

    def from_one_side(side_: Side) -> list[Sensitivity]:
        """Return the sensitivities from one side; NoDerivativeError if the measure jumps there."""
        try:
            return at(side_)
        except Jump:
            reason = f"{jump(side_)} {SIDE_WORDS[side_]}"
        except Irregular:
            reason = f"differences do not converge {SIDE_WORDS[side_]}"
        raise NoDerivativeError(
            f"no derivative at {perturbation.parameter} = {format_shortest(perturbation.at)}: {reason}"
        )

    if side is not None:
        return from_one_side(side)
    two_sided_error: Exception
    try:
        return at(None)
    except (Kinked, ValueError) as error:
        if isinstance(error, ValueError) and STATES_CHANGE not in str(error):
            raise
        two_sided_error = error
    sides: dict[Side, list[Sensitivity] | str] = {}
    for side_ in SIDES:
        try:
            sides[side_] = from_one_side(side_)
        except NoDerivativeError as error:
            sides[side_] = str(error).partition(": ")[2]
        except ValueError as error:
            if STATES_CHANGE not in str(error):
                raise
            sides[side_] = f"the states change {SIDE_WORDS[side_]}"
    left, right = sides["left"], sides["right"]
    if isinstance(left, str) and isinstance(right, str):
        if isinstance(two_sided_error, ValueError):
            raise two_sided_error
        raise NoDerivativeError(
            f"no derivative at {perturbation.parameter} = {format_shortest(perturbation.at)}: {left}; {right}"
        )
    if not isinstance(left, str) and not isinstance(right, str):
        combined = [combine_sides(a, b) for a, b in zip(left, right, strict=True)]
        if None not in combined:
            return [row for row in combined if row is not None]
    rows = max(len(part) for part in (left, right) if not isinstance(part, str))
    raise no_derivative(perturbation.parameter, perturbation.at, left, right, single=rows == 1)


def _measure_at(perturbation: Perturbation, of: str, shift: float) -> list[Bounded]:
    """Return the measure's entries with bounds at a shifted parameter, from a new solution."""
    chain = as_chain(perturbation.model_at(shift))
    if len(chain.recurrent_classes) > 1:
        reason = "the stationary distribution is not unique there"
        raise ValueError(f"{perturbation.parameter} = {perturbation.at + shift!r}: {reason}")
    states, Q = chain.recurrent_classes[0], chain.irreducible(0)
    components = chain.components_of(states)
    method, _ = choose(Q, components)
    solution = method.solve(Q, components)
    proof = Certificate(Q, solution.pi, components, solution)
    bounds = bound_measure(proof, resolve_measure(of, chain.model, chain.table, states), DIFFERENCE_TOLERANCE)
    return bounds if isinstance(bounds, list) else [bounds]


def _format_values(bounds: list[Bounded]) -> str:
    """Return the values of bounds as text: one number, or a list in brackets."""
    numbers = ", ".join(f"{bound.value:.6g}" for bound in bounds)
    return numbers if len(bounds) == 1 else f"[{numbers}]"


def _differences(
    solutions: Solutions, perturbation: Perturbation, of: str, rows: list[Mean], side: Side
) -> list[Sensitivity]:
    """Return the differences of a measure's entries to one less (left) or one more (right), with bounds."""
    values = [_bound_row(solutions.proof, row) for row in rows]
    changed = _measure_at(perturbation, of, -1 if side == "left" else 1)
    if len(changed) != len(rows):
        reason = f"{of} has {len(rows)} entries, and {len(changed)} with one {CHANGE_WORDS[side]}"
        raise ValueError(f"parameter = {perturbation.parameter!r}: {reason}")
    return [
        difference(perturbation, of, (value.value, value.error), (changed_value.value, changed_value.error), side)
        for value, changed_value in zip(values, changed, strict=True)
    ]


def difference(
    perturbation: Perturbation,
    of: str,
    at_parameter: tuple[float, float],
    at_neighbour: tuple[float, float],
    side: Side,
) -> Sensitivity:
    """Return the difference of a measure between a parameter and its neighbour, from pairs of value and error."""
    (value, error), (neighbour, neighbour_error) = at_parameter, at_neighbour
    change = neighbour - value if side == "right" else value - neighbour
    bound = (error + neighbour_error) * (1.0 + 4.0 * U) + U * abs(change)
    elasticity = change * perturbation.at / value if value else math.nan
    return Sensitivity(perturbation.parameter, of, value, change, bound, elasticity, kind="difference", side=side)


def _bound_row(proof: Certificate, row: Mean) -> Bounded:
    """Return the mean of one entry of a measure with its bound."""
    bound = bound_measure(proof, row, DIFFERENCE_TOLERANCE)
    assert not isinstance(bound, list)
    return bound


class _MeasureRow(NamedTuple):
    """One entry of a measure: the measure's name, number of the entry, its mean, and the relative tolerance."""

    of: str
    row: int
    mean: Mean
    tolerance: float


def _row_sensitivity(
    solutions: Solutions, perturbation: Perturbation, measure_row: _MeasureRow, side: Side | None
) -> Sensitivity:
    """Return the sensitivity of one entry of a measure, from one side or from both (None)."""
    _, proof, _, cache = solutions
    of, row, mean_row, tolerance = measure_row
    top, bottom = mean_row.of, mean_row.over
    denominator = None if bottom is None else bound_mean(proof, bottom, tolerance)
    ratio = None if denominator is None else float(proof.pi @ top) / denominator.value
    f = top if ratio is None or bottom is None else top - ratio * bottom
    if (of, row, tolerance) not in cache:
        cache[of, row, tolerance] = deviation(proof, f, tolerance)
    g = cache[of, row, tolerance]
    Q, rate_errors = perturbation.generator(side)
    change, estimate = perturbation.measure(of, row, mean_row, ratio, side)
    value = g.mean.value if ratio is None else ratio
    scale = 1.0 if denominator is None else denominator.value
    absolute = tolerance * abs(value * scale / perturbation.at)
    mean = bound_mean(proof, change + Q @ g.values, tolerance, absolute)
    max_transitions = int(np.diff(Q.indptr).max(initial=0))
    estimate = estimate + rate_errors @ np.abs(g.values) + (max_transitions + 2) * U * (abs(Q) @ np.abs(g.values))
    error = mean.error + float(proof.pi @ (estimate + _product_error(Q, g.error)))
    derivative = mean.value / scale
    elasticity = derivative * perturbation.at / value if value else math.nan
    fields = perturbation.parameter, of, value, derivative, error / abs(scale), elasticity
    return Sensitivity(*fields, side=side)


def _product_error(Q: sp.csr_matrix, error: Vector) -> Vector:
    """Return the error of Q' g in each state, shape (n,), from errors of g: sum of |Q'| (error here + at target)."""
    change = abs(Q)
    change.setdiag(0.0)
    rows = np.asarray(change @ error).ravel() + np.asarray(change.sum(axis=1)).ravel() * error
    return 1.01 * rows
