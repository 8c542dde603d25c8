"""Relaxation of a chain: autocovariance of a measure, and mixing time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import ascending, instance
from hopflow.parameters import param, validate_parameters
from markov.chains import InSteps
from markov.driver import stationary
from markov.models.measures import resolve_function
from markov.proofs.bounded import Bounded
from markov.proofs.means import bound_mean
from markov.results.stationary_results import Stationary
from markov.selections import as_chain, distribution
from markov.time.uniformization import Uniformized, check_horizon

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike, NDArray

    Vector = NDArray[np.float64]

__all__ = ["autocovariance", "mixing_time"]

TOLERANCE = 1e-12
MIXING_TIME_ACCURACY = 1e-9
"""Relative width of the interval that brackets a mixing time."""


@validate_parameters
def autocovariance(answer: Stationary, measure: str | ArrayLike, lags: ArrayLike = param(unit="time")) -> xr.Dataset:
    """Return the covariance of a reward with its value a lag later in the stationary chain, over lags, with bounds.

    Parameters
    ----------
    answer
        A `Stationary` distribution, with a bound on its error.
    measure
        Name of a label or reward of the model with one number per state; or such numbers f, shape
        (states,).
    lags
        Times t in s, >= 0, ascending, shape (lags,).

    Returns
    -------
    xarray.Dataset
        Over ``lag``: ``covariance``, Cov(f(X(0)), f(X(t))) in the square of the measure's unit,
        ``error``, a bound on its error, and ``correlation``. Twice its integral over all lags is the
        asymptotic variance, `Stationary.variance`.

    Raises
    ------
    ValueError
        For an unknown measure, one that is a ratio of means, or lags that do not ascend.
    TypeError
        For the answer of a `DiscreteChain`, whose lags are steps.

    Examples
    --------
    A machine that fails at rate 1 and is repaired at rate 3 forgets at rate 4:

    >>> from markov import autocovariance, stationary
    >>> result = autocovariance(stationary([[-1.0, 1.0], [3.0, -3.0]]), [1.0, 0.0], [0.0, 0.25])
    >>> result.covariance.values.round(6).tolist()  # 3/16, 3/16 e^-1
    [0.1875, 0.068977]
    """
    import xarray as xr

    instance("answer", answer, Stationary)
    if isinstance(answer.chain, InSteps):
        advice = "(pi * f) @ np.linalg.matrix_power(chain.P.toarray(), n) @ f is the mean product n steps apart"
        raise TypeError(f"answer: of a chain in discrete time, whose lags are steps, not seconds; {advice}")
    moments = ascending("lags", lags)
    chain, states = answer.chain, answer.chain.recurrent_classes[answer._class]
    f = resolve_function(measure, chain.model, chain.table, states)
    pi = answer.pi[states]
    centre = bound_mean(answer._certificate, f, TOLERANCE)
    g = f - centre.value
    jumps = Uniformized(chain.irreducible(answer._class))
    check_horizon("lags", jumps, float(moments[-1]))
    size, later, error, previous = float(np.abs(g).max()), g, 0.0, 0.0
    error_of_mean = 2.0 * answer.error_bound * size + centre.error**2 / max(size, 1e-300)
    covariance, errors = np.empty(len(moments)), np.empty(len(moments))
    for k, moment in enumerate(moments.tolist()):
        step = jumps.expectation(later, moment - previous, TOLERANCE / len(moments))
        later, error, previous = step.values, error + step.error, moment
        covariance[k] = float((pi * g) @ later)
        errors[k] = size * (error + error_of_mean)
    variance = float((pi * g) @ g)
    correlation = covariance / variance if variance > 0.0 else np.full(len(moments), np.nan)
    return xr.Dataset(
        {
            "covariance": ("lag", covariance),
            "error": ("lag", errors),
            "correlation": ("lag", correlation),
        },
        coords={"lag": ("lag", moments, {"units": "s"})},
    )


@validate_parameters
def mixing_time(model: Any, within: float = param(0.01, above=0.0, below=1.0), *, start: Any = None) -> Bounded:
    """Return the time from which on the distance to the stationary distribution is at most ``within``, as an interval.

    Parameters
    ----------
    model
        A `ChainModel`, a `MarkovChain`, a result of `explore`, or a generator, with one recurrent class.
    within
        Total-variation distance that counts as near.
    start
        A state or a distribution; None: the start of the model.

    Returns
    -------
    Bounded
        The time in s (or the unit of the rates), 0 if the start is as near already, with bounds between which the
        distance falls to ``within``. They include the errors of both distributions.

    Raises
    ------
    ValueError
        For bad input, several recurrent classes, or a ``within`` that is not above the errors.

    Examples
    --------
    A machine that fails at rate 1 and is repaired at rate 3, at first in repair: 3/4 e^(-4 t) = 0.01.

    >>> from markov import mixing_time
    >>> round(mixing_time([[-1.0, 1.0], [3.0, -3.0]], 0.01, start=1).value, 6)  # log(75) / 4
    1.079372
    """
    chain = as_chain(model)
    vector = distribution(chain, start)
    answer = stationary(chain)
    errors = answer.error_bound + TOLERANCE
    if not within > 10.0 * errors:
        raise ValueError(f"within = {within:g}: must be well above the errors, {errors:.1e}")
    jumps = Uniformized(chain.Q)

    def distance(probabilities: Vector) -> float:
        """Return the total-variation distance of ``probabilities`` to the stationary distribution."""
        return 0.5 * float(np.abs(probabilities - answer.pi).sum())

    if distance(vector) <= within or jumps.rate == 0.0:
        return Bounded(0.0, 0.0, 0.0)
    # The distance never grows: steps double until it is below the limit, then they halve.
    time, error, step, lower, doubling = 0.0, 0.0, 1.0 / jumps.rate, 0.0, True
    while doubling or step > MIXING_TIME_ACCURACY * (time + step):
        later = jumps.distribution(vector, step, TOLERANCE)
        if (remaining := distance(later.values)) > within:
            vector, time, error = later.values, time + step, error + later.error
            lower = time if remaining - error - answer.error_bound > within else lower
        else:
            doubling = False
        step *= 2.0 if doubling else 0.5
    value = time + step
    while True:
        later = jumps.distribution(vector, step, TOLERANCE)
        if distance(later.values) + error + later.error + answer.error_bound <= within:
            return Bounded(value, lower, time + step)
        step *= 2.0
