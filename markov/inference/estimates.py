"""Estimates of the parameters of rules by maximum likelihood, with standard errors.

Newton's method on the log-likelihood, whose gradient has the exact derivatives of the rates that sensitivities have
(`markov.sensitivities.perturbations`). The observed information is minus the derivative of that gradient, by differences; its
inverse is the covariance of the estimates for many observations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import count_of, format_value, instances, one_number
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.results import OnFailure, Result, Status, deliver, figure
from hopflow.units import WithUnit, declares, in_units
from markov.computing.matrices import off_diagonal
from markov.driver import stationary
from markov.inference.likelihoods import (
    ImpossibleError,
    LogLikelihood,
    log_likelihood,
    needed_states,
)
from markov.inference.observations import Statistics
from markov.inference.rate_rows import ChangedError, RateRows
from markov.models.rules import ChainModel, with_estimates
from markov.models.spaces import NUMBERED
from markov.selections import as_chain
from markov.sensitivities.model_parameters import entry_of, parameters_of
from markov.sensitivities.perturbations import Perturbation, same_states

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.chains import MarkovChain

    Vector = NDArray[np.float64]
    Matrix = NDArray[np.float64]

__all__ = ["Estimate", "estimate"]

MAX_STEPS = 60
CLOSE = 1e-16  # what a step is still expected to add to the log-likelihood at the end
FORWARD = 1e-6  # relative difference of a parameter
LARGEST_STEP = 1.0  # relative to the largest of a parameter and its first value
SMALLEST_SCALE = 1e-3  # of a parameter's first value
HALVINGS = 40
MAX_BY_PYTHON = 20_000  # states whose rates are computed by plain Python at each value
DETERMINED = 1e-9  # smallest curvature over the largest, for relative changes: less is none


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Estimate(Result):
    """Parameters of rules of greatest likelihood.

    Attributes
    ----------
    chain
        The `MarkovChain` with them.
    values
        By the name of each parameter that was estimated.
    covariance
        Inverse of the observed information, in the order of ``values``, shape (parameters, parameters).
    log_likelihood, log_likelihood_error
        For densities in 1/s, and a bound on the error of its computation for this model and these observations. The bound
        says nothing of how well the model fits, nor of how far the estimates are from the true parameters.
    gradient
        Of the log-likelihood, shape (parameters,): next to zero.
    observations
        Jumps of paths, and pairs of neighbouring observations of panels.
    status
        CONVERGED; INACCURATE where the greatest likelihood was not found, or the data do not determine all parameters.
    steps
        Newton steps.
    seconds
        Wall-clock time, in s.

    Examples
    --------
    >>> from markov import ObservedPath, estimate, explore
    >>> machine = explore(
    ...     lambda up, q: [(not up, q.failure if up else q.repair)],
    ...     start=True,
    ...     params={"failure": 0.1, "repair": 1.0},
    ... )
    >>> seen = ObservedPath([0.0, 8.0, 9.0, 13.0, 15.0], [True, False, True, False, True], end=20.0)
    >>> found = estimate(machine, seen, ["failure", "repair"])
    >>> found.values["failure"], found.standard_errors["failure"]  # 2 / 17, sqrt(2) / 17
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

    @property
    def model(self) -> Any:
        """The model with the estimates: error bounds of its answers do not cover them, and the answers say so."""
        return self.chain.model

    @property
    def standard_errors(self) -> dict[str, float]:
        """Square roots of the variances, by name; NaN where the data do not determine the parameters."""
        with np.errstate(invalid="ignore"):
            return dict(zip(self.values, np.sqrt(self.covariance.diagonal()).tolist(), strict=True))

    @declares(level="share")
    def intervals(self, level: WithUnit = 0.95) -> dict[str, tuple[float, float]]:
        """Return the ends of the confidence interval of each parameter, by name.

        The normal interval of the logarithm of its size, for many observations: the ends have the sign of the estimate. It
        covers chance in the observations, if they come from the model; not an error of the model. NaN where the data do
        not determine the parameters.

        Parameters
        ----------
        level
            Confidence level, 0 < level < 1.

        Examples
        --------
        >>> from markov import Panel, estimate, explore
        >>> counts = explore(
        ...     lambda n, q: [(n + 1, q.rate)] if n < 50 else [], start=0, params={"rate": 1.0}
        ... )
        >>> found = estimate(counts, Panel([0.0, 1.0, 2.0, 3.0, 4.0], [0, 3, 4, 9, 10]), ["rate"])
        >>> found.intervals()["rate"]  # ten arrivals: 2.5 exp(-+ 1.96 / sqrt(10))
        (1.345..., 4.646...)
        """
        from scipy.special import ndtri

        quantile = float(
            ndtri(0.5 + 0.5 * one_number("level", in_units("level", level, "share"), above=0.0, below=1.0))
        )
        ends = {}
        for name, error in self.standard_errors.items():
            value = self.values[name]
            factor = math.exp(quantile * error / abs(value))
            ends[name] = (min(value / factor, value * factor), max(value / factor, value * factor))
        return ends

    def standard_error(self, measure: str) -> float:
        """Return the standard error of a stationary measure, by its sensitivities to the parameters.

        Parameters
        ----------
        measure
            Name of a label or reward, one number.
        """
        answer = stationary(self.chain)
        slopes = []
        for name in self.values:
            found = answer.sensitivity(name, of=measure)
            if isinstance(found, list):
                said = f"has {count_of(len(found), 'entry', 'entries')}: must be one number"
                raise ValueError(f"measure = {measure!r}: {said}")  # noqa: TRY004  # of a name
            slopes.append(found.derivative)
        change = np.array(slopes)
        return math.sqrt(max(float(change @ self.covariance @ change), 0.0))

    def summary(self) -> dict[str, object]:
        """Return status, chain, the estimates with standard errors and intervals, and the cost."""
        errors, ends = self.standard_errors, self.intervals()
        return {
            "status": self.status,
            "chain": repr(self.model),
            "observations": self.observations,
            **{
                name: f"{value:.8g}, standard error {errors[name]:.2g}, 95 % {ends[name][0]:.4g} to {ends[name][1]:.4g}"
                for name, value in self.values.items()
            },
            "intervals": "of chance in the observations, for many of them; not of an error of the model",
            "log-likelihood": f"{self.log_likelihood:.10g}, computed to {self.log_likelihood_error:.1e} (bound; not of the fit)",
            "Newton steps": self.steps,
            "time": f"{self.seconds:.3f} s",
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw each estimate with its standard error, relative to the estimate; the bars are one standard error long."""
        if ax is None:
            _, ax = figure()
        errors = self.standard_errors
        relative = [errors[name] / abs(value) for name, value in self.values.items()]
        ax.errorbar(list(self.values), np.ones(len(relative)), yerr=relative, fmt="o", capsize=4)
        ax.set(ylabel="standard error over the estimate, around 1")
        return ax


def estimate(model: Any, data: Any, parameters: Sequence[str], *, on_failure: OnFailure = "raise") -> Estimate:
    """Return the parameters of a model's rules under which observations are most likely.

    Parameters
    ----------
    model
        A `ChainModel`, what `explore` found, or a file, with finitely many states. Its own parameters are where the
        search begins: they must be real numbers other than zero. Those that are not listed keep their values.
    data
        `ObservedPath`, `Panel`, `Paths`, or a list of them: independent observations of such chains, given the first
        state of each.
    parameters
        Names, or entries of a parameter, as ``"rates[0]"``.
    on_failure
        ``"raise"`` or ``"return"``: what to do with a result whose status is not CONVERGED.

    Returns
    -------
    Estimate
        Values, standard errors, log-likelihood.

    Raises
    ------
    ValueError
        For bad input; for data that cannot come from the model; for about 1e6 jumps and more between two
        observations.
    ConvergenceError
        Carrying the partial result.

    Notes
    -----
    A maximum close to the first values: others may be higher. Standard errors are for many observations, and say nothing
    where an estimate lies on a boundary.

    Examples
    --------
    Arrivals were counted once per second; a Poisson process has the rate of their mean.

    >>> from markov import Panel, estimate, explore
    >>> counts = explore(
    ...     lambda n, q: [(n + 1, q.rate)] if n < 50 else [], start=0, params={"rate": 1.0}
    ... )
    >>> found = estimate(counts, Panel([0.0, 1.0, 2.0, 3.0, 4.0], [0, 3, 4, 9, 10]), ["rate"])
    >>> round(found.values["rate"], 6), round(found.standard_errors["rate"], 3)  # sqrt(10) / 4
    (2.5, 0.791)
    """
    watch = Stopwatch()
    names = _checked(parameters)
    chain = as_chain(model)
    if chain.model is None:
        raise ValueError("model: the chain is given by its matrix and has no parameters; give rules")
    search = _Search(chain, names, data)
    values, here, information, steps, close = search.run()
    found = search.chain_at(values)
    if not search.has_same_transitions(found):
        values, here, information, steps, close = search.run()
        found = search.chain_at(values)
    note = f"{', '.join(names)}: estimated from {count_of(search.observed.total, 'observation')}"
    with_estimates(found.model, (note,))
    covariance = np.full(information.shape, np.nan)
    good = close and bool(np.all(np.isfinite(information)))
    if good:
        scales = np.outer(np.abs(values), np.abs(values))
        scaled = information * scales
        good = bool(np.linalg.eigvalsh(scaled).min() > DETERMINED * np.abs(scaled).max())
    if good:
        covariance = np.linalg.inv(scaled) * scales
    result = Estimate(
        chain=found,
        values=dict(zip(names, values.tolist(), strict=True)),
        covariance=covariance,
        log_likelihood=here.value,
        log_likelihood_error=here.error,
        gradient=here.gradient,
        observations=search.observed.total,
        status=Status.CONVERGED if good else Status.INACCURATE,
        steps=steps,
        seconds=watch.seconds(),
    )
    return deliver(result, on_failure)


def _checked(parameters: Any) -> list[str]:
    if isinstance(parameters, str) or not isinstance(parameters, (list, tuple)) or not parameters:
        raise ValueError(f"parameters = {format_value(parameters)}: must be a list of names")
    instances("parameters", parameters, str, "the name of a parameter")
    if len(set(parameters)) < len(parameters):
        raise ValueError(f"parameters = {format_value(parameters)}: must not have a name twice")
    return list(parameters)


class _Search:
    """Newton's method on the log-likelihood of some observations."""

    def __init__(self, chain: MarkovChain, names: list[str], data: Any) -> None:
        self._first, self._names = chain, names
        self._known = parameters_of(chain.model)
        self._begin = np.array([self._number(name) for name in names])
        self.observed = Statistics.of(chain, data)
        try:
            needed = needed_states(chain.Q, self.observed)
        except ImpossibleError as error:
            one, other = map(format_value, chain.table.plain(list(error.args)))
            raise ValueError(f"data: {other} after {one}: never so in the model") from None
        few = isinstance(self._model_at(self._begin), ChainModel)  # no file
        few = few and chain.space is not None and chain.space.size < NUMBERED
        few = few and int(needed.sum()) <= MAX_BY_PYTHON
        self._rows = RateRows(chain, needed) if few else None

    def _number(self, name: str) -> float:
        _, index, whole = entry_of(self._known, name)
        value = whole if index is None else whole[index]
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not value:
            said = "must be a number other than zero, where the search begins"
            raise ValueError(f"parameters: {name} is {format_value(value)}: {said}")
        return float(value)

    def _model_at(self, values: Vector) -> Any:
        changes: dict[str, Any] = {}
        for text, value in zip(self._names, values.tolist(), strict=True):
            name, index, whole = entry_of(self._known, text)
            if index is not None:
                parts = list(changes.get(name, whole))
                parts[index] = value
                value = tuple(parts) if isinstance(whole, tuple) else parts
            changes[name] = value
        model: Any = self._first.model
        return model.replace(**changes)

    def chain_at(self, values: Vector) -> MarkovChain:
        """Return the chain with some values of the parameters.

        Raises
        ------
        ValueError
            Where the model refuses them, or has other states with them.
        """
        there = as_chain(self._model_at(values))
        if not same_states(self._first, there):
            raise ValueError(f"parameters = {self._names!r}: the states change with them")
        return there

    def at(self, values: Vector) -> LogLikelihood:
        """Return the log-likelihood and its gradient at some values."""
        if self._rows is not None:
            try:
                return log_likelihood(*self._by_rows(self._rows, values), self.observed)
            except ChangedError:
                self._rows = None
        chain = self.chain_at(values)
        known: dict[Any, Any] = {}
        states = np.arange(chain.size)
        slopes = [Perturbation(chain, states, name, known).generator()[0] for name in self._names]
        return log_likelihood(chain.Q, slopes, self.observed)

    def has_same_transitions(self, chain: MarkovChain) -> bool:
        """Whether a chain has the transitions of the first one; otherwise whole chains are made from now on.

        States that are not needed at first may be needed with other transitions.
        """
        if self._rows is None:
            return True
        one, other = (off_diagonal(each.Q) for each in (self._first, chain))
        same = one.nnz == other.nnz and abs(one.sign() - other.sign()).nnz == 0
        if not same:
            self._rows = None
        return bool(same)

    def _by_rows(self, rows: RateRows, values: Vector) -> tuple[sp.csr_matrix, list[sp.csr_matrix]]:
        """Return the generator, as far as it is needed, and its derivatives."""
        here, slopes = rows.rates(self._model_at(values)), []
        for k, value in enumerate(values.tolist()):

            def model_at(shift: float, k: int = k) -> Any:
                shifted = values.copy()
                shifted[k] += shift
                return self._model_at(shifted)

            slopes.append(rows.matrix(rows.slopes(model_at, value, here)))
        return rows.matrix(here), slopes

    def _tried(self, values: Vector) -> LogLikelihood:
        """Return the same, or -inf where the model refuses the values."""
        try:
            return self.at(values)
        except ValueError:
            return LogLikelihood(-math.inf, math.inf, np.zeros(len(values)))

    def _information(self, values: Vector, here: LogLikelihood) -> Matrix:
        """Return minus the derivatives of the gradient, by forward differences."""
        rows = []
        for k, value in enumerate(values.tolist()):
            shifted = values.copy()
            shifted[k] += FORWARD * abs(value)
            above = self._tried(shifted)
            rows.append((here.gradient - above.gradient) / (shifted[k] - values[k]))
            if not math.isfinite(above.value):
                rows[-1][:] = np.nan
        found = np.array(rows)
        return np.asarray(0.5 * (found + found.T))

    def run(self) -> tuple[Vector, LogLikelihood, Matrix, int, bool]:
        """Return the values found, the likelihood there, the information, the steps, and whether it is the maximum."""
        values, here, steps = self._begin, self.at(self._begin), 0
        while True:
            information = self._information(values, here)
            if steps == MAX_STEPS or not np.all(np.isfinite(information)):
                return values, here, information, steps, False
            scale = np.maximum(np.abs(values), SMALLEST_SCALE * np.abs(self._begin))
            curvature, axes = np.linalg.eigh(information * np.outer(scale, scale))
            size = np.maximum(np.abs(curvature), DETERMINED * np.abs(curvature).max() or 1.0)
            slope = axes.T @ (scale * here.gradient)
            gain = 0.5 * float(slope @ (slope / size))
            if gain <= CLOSE:
                return values, here, information, steps, True
            step = axes @ (slope / size)
            step *= scale * min(1.0, LARGEST_STEP / float(np.abs(step).max()))
            # rounding hides what shorter steps would gain
            halvings = HALVINGS if gain > here.error else 1
            after, there = self._improved(values, here, step, halvings)
            if there is None:  # rounding is reached, or the end of what the model allows
                return values, here, information, steps, gain <= 1e3 * here.error
            values, here, steps = after, there, steps + 1

    def _improved(
        self, values: Vector, here: LogLikelihood, step: Vector, halvings: int
    ) -> tuple[Vector, LogLikelihood | None]:
        """Return the first of halved steps that increases the likelihood."""
        for _ in range(halvings):
            after = values + step
            there = self._tried(after)
            if there.value > here.value:
                return after, there
            step = 0.5 * step
        return values, None
