"""Estimates of the parameters of rules by maximum likelihood, with standard errors.

Newton's method on the log-likelihood, whose gradient has the exact derivatives of the rates, as sensitivities have
(`markov.sensitivities.perturbations`). The observed information is minus the derivative of that gradient, by
differences. Its inverse is the covariance of the estimates for many observations.

Few observations involve few states of a large chain. So the rules run in the states on which the likelihood depends
(`RateRows`), in plain Python, as long as the transitions stay the same; otherwise complete chains are built.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.checks import count_of, format_value, instances
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.parameters import param, validate_parameters
from hopflow.results import OnFailure, Result, Status, deliver, figure, names_beside, short_text
from hopflow.units import WithUnit
from markov.computing.matrices import off_diagonal, row_numbers
from markov.computing.rounding import U
from markov.driver import stationary
from markov.generators.slopes import plain_rates
from markov.inference.likelihoods import (
    ImpossibleError,
    LogLikelihood,
    log_likelihood,
    relevant_states,
)
from markov.inference.observations import Statistics
from markov.models.rules import ChainModel, with_estimates
from markov.models.spaces import NUMBERED
from markov.selections import as_chain
from markov.sensitivities.differences import Kinked, derivative
from markov.sensitivities.model_parameters import entry_of, parameters_of
from markov.sensitivities.perturbations import Perturbation, same_states

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import xarray as xr
    from numpy.typing import NDArray

    from markov.chains import MarkovChain

    Vector = NDArray[np.float64]
    Matrix = NDArray[np.float64]

__all__ = ["ChangedError", "Estimate", "RateRows", "estimate"]

MAX_STEPS = 60
LIKELIHOOD_TOLERANCE = 1e-16  # predicted gain of the log-likelihood below which the iteration stops
FORWARD_DIFFERENCE = 1e-6  # relative to a parameter
MAX_RELATIVE_STEP = 1.0  # relative to the larger one of a parameter and its smallest scale
MIN_SCALE = 1e-3  # relative to the first value of a parameter
MAX_HALVINGS = 40
MAX_FINAL_STEP = 1e-2  # Newton step at a maximum, relative to the parameters
MAX_VANISHING = 1e-6  # relative to the first value: a search that ended at zero
MIN_FALL = 0.05  # of the log-likelihood at a standard error from its maximum; 0.5 of a parabola
MAX_STATES_IN_PYTHON = 20_000
MIN_CURVATURE_RATIO = (
    1e-9  # smallest curvature over the largest, for relative changes; below it a parameter is not determined
)
LINEARITY_STEP = 2.0**-8  # relative to a parameter, for the comparison of rates with straight lines
LINEARITY_TOLERANCE = 16.0 * U  # relative to a rate: rounding of the comparison
MAX_EXPONENT = 700.0  # of exp in float64: a wider interval is without limits
DIFFERENCE_SCALES = 5  # number of step sizes of differences


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Estimate(Result):
    """Result of `estimate`: the parameters of rules with the largest likelihood, with standard errors.

    Attributes
    ----------
    chain
        The `MarkovChain` with these parameters.
    values
        The estimates by name of the parameter.
    covariance
        Inverse of the observed information, in the order of ``values``, shape (parameters, parameters).
    log_likelihood, log_likelihood_error
        Log-likelihood for densities in 1/s, and a bound on the error of its computation for this model and these
        observations. The bound does not cover the fit of the model, nor the distance to the true parameters.
    gradient
        Gradient of the log-likelihood, shape (parameters,), nearly zero.
    observations
        Number of jumps of paths and of pairs of consecutive observations of panels.
    status
        CONVERGED; INACCURATE if the maximum was not found, or the data do not determine all parameters.
    steps
        Number of Newton steps.
    seconds
        Wall-clock time, in s.
    advice
        Of an inaccurate result: how far each parameter went from its first value, and what to do; otherwise empty.

    Examples
    --------
    >>> from markov import ObservedPath, estimate, explore
    >>> machine = explore(
    ...     lambda up, q: [(not up, q.failure if up else q.repair)],
    ...     start=True,
    ...     params={"failure": 0.1, "repair": 1.0},
    ... )
    >>> path = ObservedPath([0.0, 8.0, 9.0, 13.0, 15.0], [True, False, True, False, True], end=20.0)
    >>> answer = estimate(machine, path, ["failure", "repair"])
    >>> answer.values["failure"], answer.standard_errors["failure"]  # 2 / 17, sqrt(2) / 17
    (0.117647..., 0.083189...)
    """

    chain: MarkovChain
    values: dict[str, float]
    covariance: Matrix
    log_likelihood: float
    log_likelihood_error: float
    gradient: Vector
    observations: int
    status: Status
    steps: int
    seconds: float
    advice: str = ""
    DIMENSIONS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "covariance": ("parameter", "other_parameter"), "gradient": ("parameter",),
    }  # fmt: skip

    def to_xarray(self) -> xr.Dataset:
        """Return covariance and gradient as a Dataset, with the names of the parameters as coordinates."""
        names = [*self.values]
        return super().to_xarray().assign_coords(parameter=names, other_parameter=names)

    @property
    def model(self) -> Any:
        """The model with the estimated parameters; its answers say that error bounds exclude estimation errors."""
        return self.chain.model

    @property
    def standard_errors(self) -> dict[str, float]:
        """Standard error of each estimate by name; NaN if the data do not determine the parameters."""
        with np.errstate(invalid="ignore"):
            return dict(zip(self.values, np.sqrt(self.covariance.diagonal()).tolist(), strict=True))

    @validate_parameters
    def intervals(self, level: WithUnit = param(0.95, "share", above=0.0, below=1.0)) -> dict[str, tuple[float, float]]:
        """Return the confidence interval of each parameter, a pair of limits by name.

        An interval is normal in the logarithm of the parameter's absolute value, for many observations, and its limits
        have the sign of the estimate. It covers chance in observations of the model, but no error of the model. The
        limits are NaN if the data do not determine the parameters.

        Parameters
        ----------
        level
            Confidence level.

        Examples
        --------
        >>> from markov import Panel, estimate, explore
        >>> counts = explore(
        ...     lambda n, q: [(n + 1, q.rate)] if n < 50 else [], start=0, params={"rate": 1.0}
        ... )
        >>> answer = estimate(counts, Panel([0.0, 1.0, 2.0, 3.0, 4.0], [0, 3, 4, 9, 10]), ["rate"])
        >>> answer.intervals()["rate"]  # ten arrivals: 2.5 exp(-+ 1.96 / sqrt(10))
        (1.345..., 4.646...)
        """
        from scipy.special import ndtri

        quantile = float(ndtri(0.5 + 0.5 * float(level)))
        limits = {}
        for name, error in self.standard_errors.items():
            value = self.values[name]
            exponent = quantile * error / abs(value)
            factor = math.exp(exponent) if not exponent > MAX_EXPONENT else math.inf
            limits[name] = (min(value / factor, value * factor), max(value / factor, value * factor))
        return limits

    def standard_error(self, measure: str) -> float:
        """Return the standard error of a stationary measure that the estimation errors cause.

        Parameters
        ----------
        measure
            Name of a label or reward, one number.
        """
        answer = stationary(self.chain)
        slopes = []
        for name in self.values:
            sensitivity = answer.sensitivity(name, of=measure)
            if isinstance(sensitivity, list):
                message = f"has {count_of(len(sensitivity), 'entry', 'entries')}: must be one number"
                raise ValueError(f"measure = {measure!r}: {message}")  # noqa: TRY004  # the value of a name
            slopes.append(sensitivity.derivative)
        gradient = np.array(slopes)
        return math.sqrt(max(float(gradient @ self.covariance @ gradient), 0.0))

    def summary(self) -> dict[str, object]:
        """Return the rows of a printed summary: status, chain, estimates with errors and intervals, and cost."""
        errors, limits = self.standard_errors, self.intervals()
        before: dict[str, object] = {
            "status": f"{self.status}{self.advice and f': {self.advice}'}",
            "chain": short_text(self.model),
            "observations": self.observations,
        }
        after: dict[str, object] = {
            "intervals": "of chance in the observations, for many of them; not of an error of the model",
            "log-likelihood": f"{self.log_likelihood:.10g}, computed to "
            f"{self.log_likelihood_error:.1e} (bound; not of the fit)",
            "Newton steps": self.steps,
            "time": f"{self.seconds:.3f} s",
        }
        names = names_beside(self.values, {*before, *after}, "parameter")
        estimates = {
            names[name]: f"{value:.8g}, standard error {errors[name]:.2g}, "
            f"95 % {limits[name][0]:.4g} to {limits[name][1]:.4g}"
            for name, value in self.values.items()
        }
        return {**before, **estimates, **after}

    def plot(self, ax: Any = None) -> Any:
        """Draw the estimates with bars of one standard error, relative to the estimates."""
        if ax is None:
            _, ax = figure()
        errors = self.standard_errors
        relative = [errors[name] / abs(value) for name, value in self.values.items()]
        ax.errorbar(list(self.values), np.ones(len(relative)), yerr=relative, fmt="o", capsize=4)
        ax.set(ylabel="standard error over the estimate, around 1")
        return ax


def estimate(model: Any, data: Any, parameters: Sequence[str], *, on_failure: OnFailure = "raise") -> Estimate:
    """Return the values of a model's parameters under which observations are most likely, with standard errors.

    Parameters
    ----------
    model
        A `ChainModel`, a result of `explore`, or a file, with finitely many states. The search begins at its
        parameters, which must be real numbers other than zero. Parameters that are not listed keep their values.
    data
        `ObservedPath`, `Panel`, `Paths`, or a list of them: independent observations of such chains. The likelihood is
        conditional on their first states.
    parameters
        Names, or entries of a parameter, as ``"rates[0]"``.
    on_failure
        ``"raise"`` or ``"return"`` a result whose status is not CONVERGED.

    Returns
    -------
    Estimate
        Values, standard errors, log-likelihood.

    Raises
    ------
    ValueError
        For bad input; for data that cannot come from the model; for about 1e6 jumps or more between two
        observations.
    ConvergenceError
        Carries the partial result.

    Notes
    -----
    The maximum is close to the first values; another one may be higher. Standard errors are for many observations, and
    not valid for an estimate on a boundary. Derivatives are by relative changes, so that the search does not pass zero:
    of a parameter that may have either sign, such as a coefficient, estimate a sum with a constant.

    Examples
    --------
    Arrivals were counted once per second; a Poisson process has the rate of their mean.

    >>> from markov import Panel, estimate, explore
    >>> counts = explore(
    ...     lambda n, q: [(n + 1, q.rate)] if n < 50 else [], start=0, params={"rate": 1.0}
    ... )
    >>> answer = estimate(counts, Panel([0.0, 1.0, 2.0, 3.0, 4.0], [0, 3, 4, 9, 10]), ["rate"])
    >>> round(answer.values["rate"], 6), round(answer.standard_errors["rate"], 3)  # sqrt(10) / 4
    (2.5, 0.791)
    """
    watch = Stopwatch()
    if isinstance(parameters, str) or not isinstance(parameters, (list, tuple)) or not parameters:
        raise ValueError(f"parameters = {format_value(parameters)}: must be a list of names")
    instances("parameters", parameters, str, "the name of a parameter")
    if len(set(parameters)) < len(parameters):
        raise ValueError(f"parameters = {format_value(parameters)}: must not have a name twice")
    names = list(parameters)
    chain = as_chain(model)
    if chain.model is None:
        raise ValueError("model: the chain is given by its matrix and has no parameters; give rules")
    search = _Search(chain, names, data)
    optimum = search.run()
    fitted = search.chain_at(optimum.values)
    if not search.has_same_transitions(fitted):
        optimum = search.run()
        fitted = search.chain_at(optimum.values)
    note = f"{', '.join(names)}: estimated from {count_of(search.observed.total, 'observation')}"
    with_estimates(fitted.model, (note,))
    values, likelihood, information = optimum.values, optimum.likelihood, optimum.information
    covariance = np.full(information.shape, np.nan)
    determined = optimum.converged and bool(np.all(np.isfinite(information)))
    if determined:
        scales = np.outer(np.abs(values), np.abs(values))
        scaled = information * scales
        determined = bool(np.linalg.eigvalsh(scaled).min() > MIN_CURVATURE_RATIO * np.abs(scaled).max())
    if determined:
        covariance = np.linalg.inv(scaled) * scales
    result = Estimate(
        chain=fitted,
        values=dict(zip(names, values.tolist(), strict=True)),
        covariance=covariance,
        log_likelihood=likelihood.value,
        log_likelihood_error=likelihood.error,
        gradient=likelihood.gradient,
        observations=search.observed.total,
        status=Status.CONVERGED if determined else Status.INACCURATE,
        steps=optimum.steps,
        seconds=watch.seconds(),
        advice="" if determined else search.advice_at(values),
    )
    return deliver(result, on_failure)


class _Optimum(NamedTuple):
    """End of the Newton search: values, likelihood, information matrix, steps, and whether it converged."""

    values: Vector
    likelihood: LogLikelihood
    information: Matrix
    steps: int
    converged: bool


class _Search:
    """Newton's method for the maximum of the log-likelihood of observations over parameters of a model."""

    def __init__(self, chain: MarkovChain, names: list[str], data: Any) -> None:
        self._first, self._names = chain, names
        self._parameters = parameters_of(chain.model)
        start = []
        for name in names:
            _, index, value = entry_of(self._parameters, name)
            value = value if index is None else value[index]
            if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not value:
                expected = "must be a number other than zero, where the search begins"
                raise ValueError(f"parameters: {name} is {format_value(value)}: {expected}")
            start.append(float(value))
        self._start = np.array(start)
        self.observed = Statistics.of(chain, data)
        try:
            relevant = relevant_states(chain.Q, self.observed)
        except ImpossibleError as error:
            state, successor = map(format_value, chain.table.plain(list(error.args)))
            raise ValueError(f"data: {successor} after {state}: never so in the model") from None
        by_rows = (
            isinstance(self._model_at(self._start), ChainModel)  # not of a file
            and chain.space is not None
            and chain.space.size < NUMBERED
            and int(relevant.sum()) <= MAX_STATES_IN_PYTHON
        )
        self._rows = RateRows(chain, relevant) if by_rows else None

    def _model_at(self, values: Vector) -> Any:
        """Return the model with ``values`` as its estimated parameters."""
        changes: dict[str, Any] = {}
        for text, value in zip(self._names, values.tolist(), strict=True):
            name, index, entries = entry_of(self._parameters, text)
            if index is not None:
                parts = list(changes.get(name, entries))
                parts[index] = value
                value = tuple(parts) if isinstance(entries, tuple) else parts
            changes[name] = value
        model: Any = self._first.model
        return model.replace(**changes)

    def chain_at(self, values: Vector) -> MarkovChain:
        """Return the chain of the model with these values of the parameters.

        Raises
        ------
        ValueError
            If the model refuses them, or has other states with them.
        """
        chain = as_chain(self._model_at(values))
        if not same_states(self._first, chain):
            raise ValueError(f"parameters = {self._names!r}: the states or their order change with them")
        return chain

    def advice_at(self, values: Vector) -> str:
        """Return what to do where the search stopped at these values without a maximum that the data determine."""
        moves = zip(self._names, self._start.tolist(), values.tolist(), strict=True)
        went = ", ".join(f"{name} from {first:.4g} to {last:.4g}" for name, first, last in moves)
        reason = (
            "the likelihood may rise without limit as parameters grow or vanish, or depend on their combination alone"
        )
        remedy = "set one of them, or give more observations"
        if (np.abs(values) < MAX_VANISHING * np.abs(self._start)).any():
            remedy += (
                "; of a parameter that may have either sign, which the search does not take past zero, estimate a sum"
            )
            remedy += " with a constant, such as 10 + effect"
        return f"the search went with {went}: {reason}; {remedy}"

    def likelihood_at(self, values: Vector) -> LogLikelihood:
        """Return the log-likelihood and its gradient at these values of the parameters."""
        if self._rows is not None:
            try:
                return log_likelihood(*self._generator_by_rows(self._rows, values), self.observed)
            except ChangedError:
                self._rows = None
        chain = self.chain_at(values)
        cache: dict[Any, Any] = {}
        states = np.arange(chain.size)
        slopes = [Perturbation(chain, states, name, cache).generator()[0] for name in self._names]
        return log_likelihood(chain.Q, slopes, self.observed)

    def has_same_transitions(self, chain: MarkovChain) -> bool:
        """Return whether ``chain`` has the transitions of the first chain; if not, stop using `RateRows`.

        With other transitions the likelihood may depend on other states.
        """
        if self._rows is None:
            return True
        first, other = off_diagonal(self._first.Q), off_diagonal(chain.Q)
        same = first.nnz == other.nnz and abs(first.sign() - other.sign()).nnz == 0
        if not same:
            self._rows = None
        return bool(same)

    def _generator_by_rows(self, rows: RateRows, values: Vector) -> tuple[sp.csr_matrix, list[sp.csr_matrix]]:
        """Return the relevant rows of the generator and their derivatives by parameter, from rules run by rows."""
        rates, slopes = rows.rates(self._model_at(values)), []
        for k, value in enumerate(values.tolist()):

            def model_at(shift: float, k: int = k) -> Any:
                """Return the model with parameter number k shifted by ``shift``."""
                shifted = values.copy()
                shifted[k] += shift
                return self._model_at(shifted)

            slopes.append(rows.matrix(rows.slopes(model_at, value, rates)))
        return rows.matrix(rates), slopes

    def _try_likelihood_at(self, values: Vector) -> LogLikelihood:
        """Return the log-likelihood at these values; -inf if the model refuses them."""
        try:
            return self.likelihood_at(values)
        except ValueError:
            return LogLikelihood(-math.inf, math.inf, np.zeros(len(values)))

    def _information(self, values: Vector, likelihood: LogLikelihood) -> Matrix:
        """Return the observed information: minus the derivatives of the gradient, by forward differences."""
        rows = []
        for k, value in enumerate(values.tolist()):
            shifted = values.copy()
            shifted[k] += FORWARD_DIFFERENCE * abs(value)
            above = self._try_likelihood_at(shifted)
            rows.append((likelihood.gradient - above.gradient) / (shifted[k] - values[k]))
            if not math.isfinite(above.value):
                rows[-1][:] = np.nan
        matrix = np.array(rows)
        return np.asarray(0.5 * (matrix + matrix.T))

    def _falls_around(self, values: Vector, likelihood: LogLikelihood, curvature: Vector, axes: Matrix) -> bool:
        """Return whether the likelihood falls at a standard error where it is flattest, if that is far away.

        Far out on a likelihood that rises towards a limit, gradient and curvature are rounding errors.
        """
        flattest = int(np.argmin(curvature))
        if not curvature[flattest] < 1.0:  # the standard error is below the parameters
            return True
        if not curvature[flattest] > 0.0:
            return False
        standard_error = axes[:, flattest] / math.sqrt(curvature[flattest])
        sides = [self._try_likelihood_at(values + side * standard_error).value for side in (1.0, -1.0)]
        falls = [likelihood.value - value for value in sides if math.isfinite(value)]
        return bool(falls) and min(falls) >= MIN_FALL

    def run(self) -> _Optimum:
        """Return the optimum that Newton's method reaches from the model's parameters.

        It differs from the textbook's: steps are in parameters relative to their scales, negative curvatures count by
        their sizes, so that every step increases the likelihood to first order, and steps are limited and halved.
        """
        values, likelihood, steps = self._start, self.likelihood_at(self._start), 0
        while True:
            information = self._information(values, likelihood)
            if steps == MAX_STEPS or not np.all(np.isfinite(information)):
                return _Optimum(values, likelihood, information, steps, converged=False)
            scale = np.maximum(np.abs(values), MIN_SCALE * np.abs(self._start))
            curvature, axes = np.linalg.eigh(information * np.outer(scale, scale))
            size = np.maximum(np.abs(curvature), MIN_CURVATURE_RATIO * np.abs(curvature).max() or 1.0)
            slope = axes.T @ (scale * likelihood.gradient)
            gain = 0.5 * float(slope @ (slope / size))
            step = axes @ (slope / size)
            is_short = float(np.abs(step).max()) <= MAX_FINAL_STEP
            if gain <= LIKELIHOOD_TOLERANCE:
                converged = is_short and self._falls_around(values, likelihood, curvature, scale[:, None] * axes)
                return _Optimum(values, likelihood, information, steps, converged=converged)
            step *= scale * min(1.0, MAX_RELATIVE_STEP / float(np.abs(step).max()))
            # if rounding hides the gain of the full step, it hides the smaller gains of halved steps
            for _ in range(MAX_HALVINGS if gain > likelihood.error else 1):
                next_values = values + step
                next_likelihood = self._try_likelihood_at(next_values)
                if next_likelihood.value > likelihood.value:
                    values, likelihood, steps = next_values, next_likelihood, steps + 1
                    break
                step = 0.5 * step
            else:  # the gain is below rounding, or the model refuses larger steps
                converged = (
                    is_short
                    and gain <= 1e3 * likelihood.error
                    and self._falls_around(values, likelihood, curvature, scale[:, None] * axes)
                )
                return _Optimum(values, likelihood, information, steps, converged=converged)


class ChangedError(ArithmeticError):
    """Raised by `RateRows` if a model has other transitions than the first one."""


class RateRows:
    """Rates out of some states, and their derivatives, for other parameters: by running the rules in these states.

    Parameters
    ----------
    chain
        A chain of a model by rules.
    relevant
        The states, shape (n,).
    """

    def __init__(self, chain: MarkovChain, relevant: NDArray[np.bool_]) -> None:
        assert chain.space is not None
        self._space, self._states = chain.space, np.flatnonzero(relevant)
        components = chain.components_of(np.arange(chain.size))
        assert components is not None
        self._numbers = self._space.numbers(np.array(list(components.values())))
        self._pattern = off_diagonal(chain.Q)[self._states]
        self._pattern.sort_indices()
        self._size = chain.size

    def rates(self, model: Any) -> Vector:
        """Return the rates of ``model`` in the order of the first chain's transitions, shape (transitions,).

        Raises
        ------
        ChangedError
            For a model with other transitions.
        """
        rates = plain_rates(model, self._space, self._numbers, self._states)
        if rates is None:
            raise ChangedError
        rates.sum_duplicates()
        rates.eliminate_zeros()
        rates.sort_indices()
        pattern = self._pattern
        if not (np.array_equal(rates.indptr, pattern.indptr) and np.array_equal(rates.indices, pattern.indices)):
            raise ChangedError
        return np.asarray(rates.data)

    def slopes(self, model_at: Callable[[float], Any], value: float, rates: Vector) -> Vector:
        """Return the derivatives of all rates by one parameter, shape (transitions,).

        If two one-sided differences of different lengths agree, the rates are straight lines. Otherwise derivatives are
        computed as for sensitivities (`markov.sensitivities.differences`).

        Parameters
        ----------
        model_at
            Returns the model with the parameter shifted by a number.
        value
            Value of the parameter.
        rates
            Rates at this value, shape (transitions,).

        Raises
        ------
        ValueError
            At a kink.
        """
        step = LINEARITY_STEP * 2.0 ** math.floor(math.log2(abs(value)))
        above, below = self.rates(model_at(step)), self.rates(model_at(-0.5 * step))
        right_slope, left_slope = (above - rates) / step, (rates - below) / (0.5 * step)
        if (np.abs(right_slope - left_slope) <= LINEARITY_TOLERANCE * np.maximum(above, rates) / (0.5 * step)).all():
            return np.asarray((above - below) / (1.5 * step))

        def rates_at(shifts: Sequence[float]) -> list[Vector]:
            """Return the rates for each shift of the parameter."""
            return [self.rates(model_at(shift)) if shift else rates for shift in shifts]

        try:
            return derivative(rates_at, step / LINEARITY_STEP, None, DIFFERENCE_SCALES).value
        except Kinked:
            raise ValueError(f"rates have a kink at {value!r}: no derivative") from None

    def matrix(self, values: Vector) -> sp.csr_matrix:
        """Return ``values`` (rates or derivatives) as a matrix whose rows sum to zero, shape (n, n)."""
        rows = self._states[row_numbers(self._pattern.indptr)]
        shape = self._size, self._size
        moves = sp.csr_matrix((values, (rows, self._pattern.indices)), shape=shape)
        return sp.csr_matrix(moves - sp.diags(np.asarray(moves.sum(axis=1)).ravel()))
