"""How a stationary measure changes with a parameter, by one solution of Poisson's equation.

With Q g = pi f - f, d(pi f) = pi (f' + Q' g), the prime being the derivative by the parameter
(P. J. Schweitzer, Perturbation theory and finite Markov chains, Journal of Applied Probability 5,
1968). The same g serves all parameters, and so do the derivatives of rates (`markov.perturbations`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.models.measures import Mean, chosen
from markov.perturbations import Perturbation, parameters_of
from markov.proofs.deviations import deviation
from markov.proofs.means import bounded_mean, rows_of

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.chains import MarkovChain

    Vector = NDArray[np.float64]

__all__ = ["Sensitivity", "parameters_of", "sensitivity_of"]

UNIT = 2.0**-53


@dataclass(frozen=True)
class Sensitivity:
    """The derivative of a measure by a parameter.

    Attributes
    ----------
    parameter, of
        Names of the parameter and of the measure.
    value
        The measure, in its unit.
    derivative
        In the measure's unit over the parameter's.
    error
        Of the derivative: a bound on what the solutions leave, and an estimate of what differences
        do where derivatives are not exact (zero but for rounding for polynomials in the parameter up
        to the sixth degree).
    elasticity
        Relative change of the measure for one of the parameter: parameter / measure * derivative.

    Examples
    --------
    >>> from markov import explore, stationary
    >>> def rules(up, q):
    ...     yield not up, q.fails if up else q.repair
    >>> model = explore(
    ...     rules, start=True, params={"fails": 0.25, "repair": 1.0}, labels=lambda up: {"up": up}
    ... )
    >>> found = stationary(model).sensitivity("repair", of="up")
    >>> round(found.value, 12), round(found.derivative, 12)  # 0.25 / 1.25^2
    (0.8, 0.16)
    """

    parameter: str
    of: str
    value: float
    derivative: float
    error: float
    elasticity: float


def sensitivity_of(
    chain: MarkovChain,
    proof: Any,
    states: NDArray[np.int64],
    parameter: str,
    of: str,
    tolerance: float = 1e-8,
    known: dict[Any, Any] | None = None,
) -> Sensitivity | list[Sensitivity]:
    """Return the sensitivity of a measure, or a list for one of each queue.

    Parameters
    ----------
    chain
        With a model.
    proof
        The `Certificate` of its stationary vector on its recurrent states.
    states
        These, as indices.
    parameter, of
        Names of a parameter, or of an entry of it (``"arrival_rates[0]"``), and of a label or reward.
    tolerance
        Of the derivative, relative to it or to the ratio of measure and parameter: iterations end
        when their errors are as small; errors in ``error`` are what was reached.
    known
        Solutions of Poisson's equation that were found before; others are added.
    """
    known = {} if known is None else known
    if chain.model is None:
        raise ValueError("parameter: the chain is given by its matrix and has no parameters")
    near = Perturbation(chain, states, parameter, known.setdefault("rates", {}))
    mean = chosen(of, chain.model, chain.table, states)
    found = [
        _one(proof, near, of, row, Mean(*numbers), tolerance, known)
        for row, numbers in enumerate(rows_of(mean))
    ]
    return found if mean.of.ndim > 1 else found[0]


def _one(
    proof: Any,
    near: Perturbation,
    of: str,
    row: int,
    here: Mean,
    tolerance: float,
    known: dict[Any, Any],
) -> Sensitivity:
    top, bottom = here.of, here.over
    below = None if bottom is None else bounded_mean(proof, bottom, tolerance)
    ratio = None if below is None else float(proof.pi @ top) / below.value
    f = top if ratio is None or bottom is None else top - ratio * bottom
    if (of, row, tolerance) not in known:
        known[of, row, tolerance] = deviation(proof, f, tolerance)
    g = known[of, row, tolerance]
    Q, apart = near.generator
    change, estimate = near.measure(of, row, here, ratio)
    value = g.mean.value if ratio is None else ratio
    scale = 1.0 if below is None else below.value
    least = tolerance * abs(value * scale / near.at)
    mean = bounded_mean(proof, change + Q @ g.values, tolerance, least)
    estimate = estimate + apart @ np.abs(g.values) + 4.0 * UNIT * (abs(Q) @ np.abs(g.values))
    error = mean.error + float(proof.pi @ (estimate + _slack(Q, g.error)))
    derivative = mean.value / scale
    elasticity = derivative * near.at / value if value else math.nan
    return Sensitivity(near.parameter, of, value, derivative, error / abs(scale), elasticity)


def _slack(Q: sp.csr_matrix, error: Vector) -> Vector:
    """Return what the error of g makes of Q' g in each state: sum of |Q'| (its error here + there)."""
    change = abs(Q)
    change.setdiag(0.0)
    rows = np.asarray(change @ error).ravel() + np.asarray(change.sum(axis=1)).ravel() * error
    return 1.01 * rows
