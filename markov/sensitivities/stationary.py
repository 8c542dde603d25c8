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
from markov.models.means import Mean
from markov.models.measures import chosen
from markov.proofs.certificates import Certificate
from markov.proofs.deviations import deviation
from markov.proofs.means import bounded, bounded_mean, rows_of
from markov.selections import as_chain
from markov.sensitivities.differences import Irregular, Jump, Kinked, Side
from markov.sensitivities.perturbations import STATES_CHANGE, Perturbation
from markov.sensitivities.results import (
    NoDerivativeError,
    Sensitivity,
    joined,
    no_derivative,
    shortest,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.chains import MarkovChain
    from markov.proofs.bounded import Bounded

    Vector = NDArray[np.float64]

__all__ = ["Solutions", "derivatives", "difference", "sensitivity_of"]

EXACT = 2e-13  # relative error at which iterations for the ends of a difference stop
SIDES: tuple[Side, Side] = ("left", "right")
WHERE: dict[Side, str] = {"left": "below it", "right": "above it"}
MORE: dict[Side, str] = {"left": "less", "right": "more"}


class Solutions(NamedTuple):
    """A chain with the stationary vector that was found.

    Attributes
    ----------
    chain
        With a model.
    proof
        The `Certificate` of its stationary vector on its recurrent states.
    states
        These, as indices.
    known
        Solutions of Poisson's equation that were found before; others are added.
    """

    chain: MarkovChain
    proof: Certificate
    states: NDArray[np.int64]
    known: dict[Any, Any]


def sensitivity_of(
    solved: Solutions,
    parameter: str,
    of: str,
    tolerance: float = 1e-8,
    side: Side | None = None,
) -> Sensitivity | list[Sensitivity]:
    """Return the sensitivity of a measure, or a list for one of each queue.

    Parameters
    ----------
    solved
        The chain and its stationary vector.
    parameter, of
        Names of a parameter, or of an entry of it (``"arrival_rates[0]"``), and of a label or reward.
    tolerance
        Of the derivative, relative to it or to the ratio of measure and parameter: iterations end
        when their errors are as small; errors in ``error`` are what was reached.
    side
        ``"left"`` or ``"right"``: the derivative from below or above, the difference to one less or more.

    Raises
    ------
    NoDerivativeError
        Where the measure has a kink or jumps, on the side that was asked for.
    """
    chain, _, states, known = solved
    if chain.model is None:
        raise ValueError("parameter: the chain is given by its matrix and has no parameters")
    near = Perturbation(chain, states, parameter, known.setdefault("rates", {}))
    mean = chosen(of, chain.model, chain.table, states)
    rows = [Mean(*numbers) for numbers in rows_of(mean)]
    if near.counted:
        found = _differences(solved, near, of, rows, side or "right")
    else:

        def at(one: Side | None) -> list[Sensitivity]:
            return [_one(solved, near, _Wanted(of, k, here, tolerance), one) for k, here in enumerate(rows)]

        def jump(one: Side) -> str:
            step = near.smallest_step * (-1.0 if one == "left" else 1.0)
            here, beyond = (_said(_bounded_at(near, of, shift)) for shift in (0.0, step))
            return f"{of} jumps from {here} to {beyond}"

        found = derivatives(near, at, jump, side)
    return found if mean.of.ndim > 1 else found[0]


def derivatives(
    near: Perturbation, at: Callable[[Side | None], list[Sensitivity]], jump: Callable[[Side], str], side: Side | None
) -> list[Sensitivity]:
    """Return the derivatives of rows of a measure from one side, or from both where they agree.

    Parameters
    ----------
    near
        The model close to its parameter.
    at
        The derivatives from below, from above, or with differences to both sides.
    jump
        What jumps on a side, in words.
    side
        None: both sides.

    Raises
    ------
    NoDerivativeError
        Where there is none on the side that is asked for, or those from both sides differ.
    """

    def from_one_side(one: Side) -> list[Sensitivity]:
        try:
            return at(one)
        except Jump:
            said = f"{jump(one)} {WHERE[one]}"
        except Irregular:
            said = f"differences do not converge {WHERE[one]}"
        raise NoDerivativeError(f"no derivative at {near.parameter} = {shortest(near.at)}: {said}")

    if side is not None:
        return from_one_side(side)
    unsure: Exception
    try:
        return at(None)
    except (Kinked, ValueError) as error:
        if isinstance(error, ValueError) and STATES_CHANGE not in str(error):
            raise
        unsure = error
    sides: dict[Side, list[Sensitivity] | str] = {}
    for one in SIDES:
        try:
            sides[one] = from_one_side(one)
        except NoDerivativeError as error:
            sides[one] = str(error).partition(": ")[2]
        except ValueError as error:
            if STATES_CHANGE not in str(error):
                raise
            sides[one] = f"the states change {WHERE[one]}"
    left, right = sides["left"], sides["right"]
    if isinstance(left, str) and isinstance(right, str):
        if isinstance(unsure, ValueError):
            raise unsure
        raise NoDerivativeError(f"no derivative at {near.parameter} = {shortest(near.at)}: {left}; {right}")
    if not isinstance(left, str) and not isinstance(right, str):
        agreed = [joined(a, b) for a, b in zip(left, right, strict=True)]
        if None not in agreed:
            return [each for each in agreed if each is not None]
    rows = max(len(part) for part in (left, right) if not isinstance(part, str))
    raise no_derivative(near.parameter, near.at, left, right, single=rows == 1)


def _bounded_at(near: Perturbation, of: str, shift: float) -> list[Bounded]:
    """Return a measure at another value of the parameter, by a solution of its own."""
    chain = as_chain(near.model_at(shift))
    if len(chain.recurrent_classes) > 1:
        said = "the stationary distribution is not unique there"
        raise ValueError(f"{near.parameter} = {near.at + shift!r}: {said}")
    states, Q = chain.recurrent_classes[0], chain.irreducible(0)
    components = chain.components_of(states)
    method, _ = choose(Q, components)
    solution = method.solve(Q, components)
    proof = Certificate(Q, solution.pi, components, solution)
    found = bounded(proof, chosen(of, chain.model, chain.table, states), EXACT)
    return found if isinstance(found, list) else [found]


def _said(found: list[Bounded]) -> str:
    numbers = ", ".join(f"{each.value:.6g}" for each in found)
    return numbers if len(found) == 1 else f"[{numbers}]"


def _differences(solved: Solutions, near: Perturbation, of: str, rows: list[Mean], side: Side) -> list[Sensitivity]:
    """Return the differences to one less or to one more, with their bounds."""
    here = [_bounded_row(solved.proof, row) for row in rows]
    there = _bounded_at(near, of, -1 if side == "left" else 1)
    if len(there) != len(rows):
        said = f"{of} has {len(rows)} entries, and {len(there)} with one {MORE[side]}"
        raise ValueError(f"parameter = {near.parameter!r}: {said}")
    return [
        difference(near, of, (one.value, one.error), (other.value, other.error), side)
        for one, other in zip(here, there, strict=True)
    ]


def difference(
    near: Perturbation, of: str, here: tuple[float, float], there: tuple[float, float], side: Side
) -> Sensitivity:
    """Return the difference of a measure here and at one less or one more, given as values with their errors."""
    (value, error), (other, off) = here, there
    change = other - value if side == "right" else value - other
    bound = (error + off) * (1.0 + 4.0 * U) + U * abs(change)
    elasticity = change * near.at / value if value else math.nan
    return Sensitivity(near.parameter, of, value, change, bound, elasticity, kind="difference", side=side)


def _bounded_row(proof: Certificate, row: Mean) -> Bounded:
    found = bounded(proof, row, EXACT)
    assert not isinstance(found, list)
    return found


class _Wanted(NamedTuple):
    """An entry of a measure: its number, its mean here, and the relative error that is allowed."""

    of: str
    row: int
    here: Mean
    tolerance: float


def _one(solved: Solutions, near: Perturbation, wanted: _Wanted, side: Side | None) -> Sensitivity:
    _, proof, _, known = solved
    of, row, here, tolerance = wanted
    top, bottom = here.of, here.over
    below = None if bottom is None else bounded_mean(proof, bottom, tolerance)
    ratio = None if below is None else float(proof.pi @ top) / below.value
    f = top if ratio is None or bottom is None else top - ratio * bottom
    if (of, row, tolerance) not in known:
        known[of, row, tolerance] = deviation(proof, f, tolerance)
    g = known[of, row, tolerance]
    Q, apart = near.generator(side)
    change, estimate = near.measure(of, row, here, ratio, side)
    value = g.mean.value if ratio is None else ratio
    scale = 1.0 if below is None else below.value
    least = tolerance * abs(value * scale / near.at)
    mean = bounded_mean(proof, change + Q @ g.values, tolerance, least)
    most = int(np.diff(Q.indptr).max(initial=0))
    estimate = estimate + apart @ np.abs(g.values) + (most + 2) * U * (abs(Q) @ np.abs(g.values))
    error = mean.error + float(proof.pi @ (estimate + _slack(Q, g.error)))
    derivative = mean.value / scale
    elasticity = derivative * near.at / value if value else math.nan
    about = near.parameter, of, value, derivative, error / abs(scale), elasticity
    return Sensitivity(*about, side=side)


def _slack(Q: sp.csr_matrix, error: Vector) -> Vector:
    """Return what the error of g makes of Q' g in each state: sum of |Q'| (its error here + there)."""
    change = abs(Q)
    change.setdiag(0.0)
    rows = np.asarray(change @ error).ravel() + np.asarray(change.sum(axis=1)).ravel() * error
    return 1.01 * rows
