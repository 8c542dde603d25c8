"""Phase-type distributions: the time to absorption of a small Markov chain.

M. F. Neuts, Matrix-Geometric Solutions in Stochastic Models, 1981, Ch. 2. Sums, mixtures and minima of phase-type times
are phase-type again, and any distribution of a positive number is a limit of such distributions. A model whose services
or sojourns are phase-type is a Markov chain.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.checks import check_sum_of_one, count_of, format_value, number, random_generator
from hopflow.deprecations import accept_old_names
from hopflow.fork_safety import cached_property
from hopflow.labels import aligned, labels_of, square
from hopflow.parameters import param, validate_parameters
from hopflow.results import ByValue
from hopflow.units import WithUnit, WithUnits
from markov.computing.matrices import leads_to
from markov.time.squaring import Evolution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from markov.phases.sample_fits import SampleFit

    Floats = NDArray[np.float64]

__all__ = ["FOR_FEW_VALUES", "MOMENTS_FIX_NO_LOSS", "PhaseType", "phase_type", "rates_between"]

FOR_FEW_VALUES = "For a service of few values or of fixed length DiscreteChain.of_rules is exact"
MOMENTS_FIX_NO_LOSS = f"moments do not fix a loss, least of all one below 1e-3. {FOR_FEW_VALUES}"
"""Text of answers that contain fitted distributions."""

ROW_SUM_TOLERANCE = 1e-10  # relative to the largest rate of a phase
EPSILON = float(np.finfo(np.float64).eps)
MAX_PHASES = 2000

RELATIVE_ERROR = 1e-10
"""Proved relative error of every probability and density above 1e-280; in most chains it is 1e-13."""
FIRST_WINDOW, WINDOW_WIDTH = -4, 44
"""Squares serve scaled times from 2^-4 to 2^40, others windows as wide: steps of the shortest times set the error of
the longest."""
MIN_WINDOW = -21  # times before 2^-928 have probabilities below 1e-279
MAX_JUMPS = 2.0**104  # mean number of jumps with a relative error below 1e-10 for up to 500 phases
CHUNK_ENTRIES = 10**6  # entries of the rows that are evolved together, 8 MB


@dataclass(frozen=True, eq=False)
class PhaseType(ByValue):
    """Phase-type distribution PH(alpha, T): moments, distribution function, random samples and arithmetic.

    Parameters
    ----------
    alpha
        Probability of starting in each phase, shape (m,); they sum to one.
    T
        Rates between phases in 1/s, shape (m, m); the diagonal makes the row sums minus the rates of
        absorption, of which at least one is positive, and all phases lead to absorption.
    exits
        Rates of absorption in each phase in 1/s, shape (m,). None: minus the sums of the rows of T. A rate far below
        the others of its phase is lost in the rounding of the diagonal of T. Pass such a rate in ``exits``.

    Attributes
    ----------
    fits
        One `markov.phases.sample_fits.SampleFit` per sample from which `fit_phase_type` fitted the distribution or a
        part of it; () otherwise. Comparisons of distributions ignore it.

    Raises
    ------
    ValueError
        The message names the parameter, its first bad entry and the allowed values.

    Examples
    --------
    >>> from markov import PhaseType
    >>> service = PhaseType([0.3, 0.7], [[-3.0, 1.5], [0.0, -1.0]])
    >>> round(service.mean, 12), round(service.scv, 4)
    (0.95, 1.0683)
    >>> round((service + PhaseType.erlang(2, mean=1.0)).mean, 12)
    1.95
    """

    NOT_COMPARED = ("fits",)

    alpha: Floats
    T: Floats
    exits: Floats = None  # type: ignore[assignment]
    fits: tuple[SampleFit, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Validate alpha, T and exits, and store them as read-only arrays."""
        T, phases = square("T", self.T)
        alpha = self.alpha if labels_of(self.alpha) == phases else aligned("alpha", self.alpha, phases or range(len(T)))
        alpha, T = number("alpha", alpha, at_least=0.0, at_most=1.0), number("T", T)
        if alpha.ndim != 1 or not 1 <= len(alpha) <= MAX_PHASES:
            raise ValueError(f"alpha has shape {alpha.shape}: one number for each phase is expected")
        if T.shape != (len(alpha), len(alpha)):
            raise ValueError(f"T has shape {T.shape}: must be ({len(alpha)}, {len(alpha)})")
        check_sum_of_one("alpha sums", alpha.sum(), ROW_SUM_TOLERANCE)
        rates = rates_between("T", T)
        named: Any = self.exits
        if named is None:
            exits = _row_losses(T)
        else:
            named = named if labels_of(named) == phases else aligned("exits", named, phases or range(len(T)))
            exits = number("exits", named, at_least=0.0)
            if exits.shape != T.shape[:1]:
                raise ValueError(f"exits has shape {exits.shape}: must be ({len(T)},)")
            total = rates.sum(axis=1) + exits
            wrong = np.abs(total + T.diagonal()) > ROW_SUM_TOLERANCE * np.maximum(total, np.abs(T.diagonal()))
            if wrong.any():
                i = int(np.argmax(wrong))
                raise ValueError(
                    f"T[{i}, {i}] = {T[i, i]:g}, exits[{i}] = {exits[i]:g}: must be {-total[i]:g} with these exits"
                )
        leads = exits > 0.0
        for _ in range(len(exits)):
            extended = leads | ((rates > 0.0) & leads).any(axis=1)
            if (extended == leads).all():
                break
            leads = extended
        if not leads.all():
            absorbing = ~(rates > 0.0).any(axis=1) & ~(exits > 0.0)
            hint = "; leave the absorbing state out of alpha and T" if absorbing.any() else ""
            phase = int(np.argmax(absorbing)) if absorbing.any() else int(np.argmin(leads))
            raise ValueError(f"T: phase {phase} never leads to absorption{hint}")
        if named is None and _is_like_transposed(alpha, T):
            remedy = "row i of T has the rates out of phase i; give the transpose if its columns have them"
            warnings.warn(f"T: phases that alpha gives 0 are never entered: {remedy}", stacklevel=3)
        for name, array in (("alpha", alpha / alpha.sum()), ("T", T), ("exits", exits)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    @validate_parameters
    def exponential(cls, rate: float = param(above=0.0)) -> PhaseType:
        """Return the exponential distribution with this rate, in 1/s."""
        return cls.erlang(1, mean=1.0 / rate)

    @classmethod
    @validate_parameters
    def erlang(
        cls, phases: int = param(at_least=1, at_most=MAX_PHASES), *, mean: WithUnit = param(unit="time", above=0.0)
    ) -> PhaseType:
        """Return the Erlang distribution: the sum of ``phases`` equal exponential times, with this mean in s."""
        rate = phases / mean
        return cls(np.eye(phases)[0], rate * (np.eye(phases, k=1) - np.eye(phases)))

    @classmethod
    @validate_parameters
    def hyperexponential(
        cls,
        probabilities: ArrayLike = param(unit="share", at_least=0.0, at_most=1.0),
        rates: ArrayLike = param(above=0.0),
    ) -> PhaseType:
        """Return a mixture of exponential distributions with these probabilities and rates, in 1/s, shape (m,) each."""
        weights, phase_rates = np.asarray(probabilities), np.asarray(rates)
        if weights.ndim != 1 or phase_rates.shape != weights.shape:
            shapes = f"probabilities has shape {weights.shape}, rates {phase_rates.shape}"
            raise ValueError(f"{shapes}: must both be (m,)")
        check_sum_of_one("probabilities sum", weights.sum(), ROW_SUM_TOLERANCE)
        return cls(weights, -np.diag(phase_rates))

    @classmethod
    @validate_parameters
    def mixture(
        cls,
        probabilities: WithUnits = param(unit="share", at_least=0.0, at_most=1.0),
        parts: Sequence[PhaseType] = param(),
    ) -> PhaseType:
        """Return the mixture of the distributions ``parts`` with these probabilities."""
        weights = np.asarray(probabilities)
        if isinstance(parts, PhaseType) or not isinstance(parts, Iterable):
            raise TypeError(f"parts = {format_value(parts)}: must be a list of PhaseType")
        parts = [phase_type(f"parts[{k}]", part) for k, part in enumerate(parts)]
        if weights.shape != (len(parts),) or not len(parts):
            raise ValueError(f"probabilities has shape {weights.shape}: one for each part is expected")
        check_sum_of_one("probabilities sum", weights.sum(), ROW_SUM_TOLERANCE)
        alpha = np.concatenate([w * part.alpha for w, part in zip(weights, parts, strict=True)])
        result = cls(alpha, _block_diagonal([part.T for part in parts]), np.concatenate([part.exits for part in parts]))
        return result.with_fits(fit for part in parts for fit in part.fits)

    def with_fits(self, fits: Iterable[SampleFit]) -> PhaseType:
        """Return a copy of the distribution whose attribute ``fits`` is the tuple of ``fits``."""
        copy = PhaseType(self.alpha, self.T, self.exits)
        object.__setattr__(copy, "fits", tuple(fits))
        return copy

    @property
    def order(self) -> int:
        """Number of phases."""
        return len(self.alpha)

    @validate_parameters
    def moment(self, k: int = param(at_least=0, at_most=100)) -> float:
        """Return E X^k, in s^k: k! alpha (-T)^-k 1."""
        power: Any = np.ones(self.order)
        for n in range(1, k + 1):
            power = n * self._solve(power)
        return float(self.alpha @ power)

    @cached_property
    def _solve(self) -> Callable[[Floats], Floats]:
        """A function that returns (-T)^-1 b, shape (m,), for b >= 0, with a small relative error in every entry."""
        if not np.tril(self.T, -1).any():
            return functools.partial(np.linalg.solve, -self.T)  # substitution, without a subtraction
        import scipy.sparse as sp

        from markov.elimination.bands import PositiveFactors

        return PositiveFactors(sp.csr_matrix(rates_between("T", self.T)), self.exits).right

    @cached_property
    def mean(self) -> float:
        """Mean E X, in s."""
        return self.moment(1)

    @cached_property
    def variance(self) -> float:
        """Variance of the distribution, in s^2."""
        return self.moment(2) - self.mean**2

    @property
    def scv(self) -> float:
        """Squared coefficient of variation: 1 for the exponential distribution, 1/k for Erlang's."""
        return self.variance / self.mean**2

    @property
    def skewness(self) -> float:
        """Third central moment over the 3/2 power of the variance: 2 for the exponential distribution."""
        mean = self.mean
        return float((self.moment(3) - 3.0 * mean * self.moment(2) + 2.0 * mean**3) / self.variance**1.5)

    @validate_parameters
    def survival(self, x: ArrayLike = param(unit="time", at_least=0.0)) -> Floats:
        """Return P(X > x) for x >= 0, of the shape of x (s), with the relative error and the exceptions of `cdf`."""
        return self._absorption_time.at(np.ravel(x)).survival.reshape(np.shape(x))

    @validate_parameters
    def cdf(self, x: ArrayLike = param(unit="time", at_least=0.0)) -> Floats:
        """Return P(X <= x) for x >= 0, of the shape of x (s).

        Every value above 1e-280 has a proved relative error of at most 1e-10, mostly 1e-13, by squaring (page
        ``markov-time``). Rates may differ by about 30 decades.

        Raises
        ------
        ValueError
            For x < 0, as everywhere for times; for rates that differ by so many decades that no such error is proved.
        """
        return self._absorption_time.at(np.ravel(x)).cdf.reshape(np.shape(x))

    @validate_parameters
    def pdf(self, x: ArrayLike = param(unit="time", at_least=0.0)) -> Floats:
        """Return the density at x >= 0 (s), in 1/s, of the shape of x, with the errors and the exceptions of `cdf`."""
        return self._absorption_time.at(np.ravel(x)).density.reshape(np.shape(x))

    @validate_parameters
    def quantile(self, q: float = param(above=0.0, below=1.0)) -> float:
        """Return the x in s with P(X <= x) = q, to a relative error of 1e-10.

        Warns
        -----
        RuntimeWarning
            Names the relative error if it is larger, as it is where the density is nearly zero over a long time.
        """
        return self._absorption_time.quantile(q)

    @cached_property
    def _absorption_time(self) -> AbsorptionTime:
        """The same distribution as an `AbsorptionTime`, which stores its matrices between calls."""
        return AbsorptionTime(self.alpha, rates_between("T", self.T), self.exits)

    @accept_old_names(rng="seed")
    @validate_parameters
    def sample(self, size: int = param(at_least=0, at_most=10**9), *, seed: Any = None) -> Floats:
        """Return random independent times of this distribution, in s, shape (size,)."""
        rng = random_generator("seed", seed)
        jumps = np.hstack([self.T - np.diag(np.diag(self.T)), self.exits[:, None]])
        holding = jumps.sum(axis=1)
        cumulative = np.cumsum(jumps / holding[:, None], axis=1)
        phase = rng.choice(self.order, size, p=self.alpha)
        times, active = np.zeros(size), np.arange(size)
        while len(active):
            times[active] += rng.exponential(1.0 / holding[phase])
            target = (rng.random(len(active))[:, None] > cumulative[phase]).sum(axis=1)
            transient = target < self.order
            active, phase = active[transient], target[transient]
        return times

    def __add__(self, other: PhaseType) -> PhaseType:
        """Return the distribution of the sum of independent times of these two distributions."""
        if not isinstance(other, PhaseType):
            return NotImplemented
        T = _block_diagonal([self.T, other.T])
        T[: self.order, self.order :] = np.outer(self.exits, other.alpha)
        alpha = np.concatenate([self.alpha, np.zeros(other.order)])
        exits = np.concatenate([np.zeros(self.order), other.exits])
        return PhaseType(alpha, T, exits).with_fits(self.fits + other.fits)

    def minimum(self, other: PhaseType) -> PhaseType:
        """Return the distribution of the minimum of independent times of these two distributions."""
        other = phase_type("other", other)
        T: Any = np.kron(self.T, np.eye(other.order)) + np.kron(np.eye(self.order), other.T)
        alpha: Any = np.kron(self.alpha, other.alpha)
        exits = np.add.outer(self.exits, other.exits).ravel()
        return PhaseType(alpha, T, exits).with_fits(self.fits + other.fits)

    @validate_parameters
    def scaled(self, factor: float = param(above=0.0)) -> PhaseType:
        """Return the distribution of ``factor`` times the phase-type time."""
        return PhaseType(self.alpha, self.T / factor, self.exits / factor).with_fits(self.fits)

    def __repr__(self) -> str:
        origin = f", fitted to {' and '.join(str(fit.sample_size) for fit in self.fits)} times" if self.fits else ""
        return f"PhaseType: {count_of(self.order, 'phase')}, mean {self.mean:.6g} s, scv {self.scv:.6g}{origin}"


def phase_type(name: str, value: Any, allowed: str = "a PhaseType") -> PhaseType:
    """Return ``value`` after checking that it is a `PhaseType`.

    Raises
    ------
    ValueError
        Naming the parameter, the value and what is ``allowed``; of a fit also its attribute that is a distribution.
    """
    if isinstance(value, PhaseType):
        return value
    found = next((key for key in ("distribution", "process") if hasattr(value, key)), None)
    hint = "; PhaseType.exponential(rate) has one phase" if isinstance(value, (int, float)) else ""
    if found is not None:
        hint = f"; that of a fit is its attribute {found}"
    raise ValueError(f"{name} = {format_value(value)}: must be {allowed}{hint}")


class DistributionValues(NamedTuple):
    """Distribution function, survival function and density at several times, shape (times,) each."""

    cdf: Floats
    survival: Floats
    density: Floats


class AbsorptionTime:
    """Distribution of the time to absorption of a small chain, with a small relative error in every value.

    A row with the probabilities of the phases and of the absorbed state is multiplied by non-negative factors of
    exp(Q t), without a subtraction. P(X <= t) is an entry of the row and P(X > t) the sum of the others, so that both
    have a small relative error where they are small.

    Parameters
    ----------
    alpha
        Probability of starting in each phase, shape (m,).
    rates
        Rates between phases in 1/s, zero on the diagonal, shape (m, m).
    exits
        Rates of absorption in 1/s, shape (m,).
    """

    def __init__(self, alpha: Floats, rates: Floats, exits: Floats) -> None:
        m = len(alpha)
        self._start = np.append(alpha, 0.0)
        self._rates = np.zeros((2, m + 1, m + 1))
        self._rates[0, :m, :m], self._rates[0, :m, m] = rates, exits
        # Scaling by a power of two is exact. Per unit of scaled time no phase is left more than once in the mean.
        self._unit = 2.0 ** -math.frexp(float(self._rates[0].sum(axis=1).max()))[1]
        self._rates *= self._unit
        self._exits = np.append(exits, 0.0)
        self._evolutions: dict[int, Evolution] = {}

    def at(self, times: Floats) -> DistributionValues:
        """Return cdf, survival function and density at times >= 0 in s, shape (times,), to `RELATIVE_ERROR`.

        Raises
        ------
        ValueError
            For rates that differ by so many decades that no such error is proved.
        """
        scaled = self._to_unit_rates(times)
        rows = np.empty((len(times), len(self._start)))
        chunk = max(1, CHUNK_ENTRIES // len(self._start))
        for first in range(0, len(times), chunk):
            part = slice(first, first + chunk)
            rows[part] = self._phase_probabilities(self._start, scaled[part])
        survival = rows[:, :-1].sum(axis=1)
        unproved = times[(scaled == MAX_JUMPS) & (survival > 0.0)]
        if len(unproved):
            raise ValueError(f"x = {unproved[0]:g}: more than {MAX_JUMPS:.0e} changes of phase until then are too many")
        return DistributionValues(np.minimum(rows[:, -1], 1.0), np.minimum(survival, 1.0), rows @ self._exits)

    def _phase_probabilities(self, start: Floats, scaled: Floats) -> Floats:
        """Return probabilities of phases and absorption at scaled times from ``start``, shape (times, ..., m + 1)."""
        rows = np.empty((len(scaled), *start.shape))
        windows = np.maximum((np.frexp(scaled)[1] - 1 - FIRST_WINDOW) // WINDOW_WIDTH, MIN_WINDOW)
        windows[scaled == 0.0] = 0
        for window in np.unique(windows).tolist():
            chosen = windows == window
            rows[chosen], error = self._evolution(window).forward_many(start, scaled[chosen])
            if error > RELATIVE_ERROR:
                raise ValueError(
                    f"rates of {len(self._start) - 1} phases: a relative error of {error:.1e} is proved alone"
                )
        return rows

    def transitions(self, times: Floats) -> Floats:
        """Return P(phase j after a time | phase i), shape (times, m, m), to `RELATIVE_ERROR`; 0 after 2^104 jumps."""
        scaled, m = self._to_unit_rates(times), len(self._start) - 1
        rows = self._phase_probabilities(np.eye(m + 1)[:m], scaled)[..., :m]
        return np.where((scaled < MAX_JUMPS)[:, None, None], rows, 0.0)

    def _to_unit_rates(self, times: Floats) -> Floats:
        """Return times in units of the scaled chain, at most `MAX_JUMPS`, shape (times,)."""
        with np.errstate(over="ignore"):
            return np.minimum(times / self._unit, MAX_JUMPS)

    def quantile(self, q: float) -> float:
        """Return the time in s until which absorption has probability q, 0 < q < 1.

        Warns
        -----
        RuntimeWarning
            If the distribution is so flat at the quantile that the time has a larger error than `RELATIVE_ERROR`.
        """
        absorbed = np.array([len(self._start) - 1])
        states, probability = (absorbed, q) if q <= 0.5 else (np.arange(absorbed[0]), 1.0 - q)
        window, step = 0, 0
        while True:
            evolution = self._evolution(window)
            scaled, error = evolution.time_at(self._start, states, probability)
            if scaled < evolution.shortest and window > MIN_WINDOW:
                step = -1
            elif scaled == math.inf and evolution.longest < MAX_JUMPS and step >= 0:
                step = 1
            else:
                break
            window += step
        if scaled == math.inf:
            raise ValueError(f"q = {q:g}: more than {MAX_JUMPS:.0e} changes of phase until then are too many")
        time = scaled * self._unit
        slope = float(self.at(np.array([time])).density[0]) * time
        if error * probability > RELATIVE_ERROR * slope:
            relative = error * probability / slope if slope else math.inf
            message = f"quantile({q!r}): relative error up to {relative:.1e}, since the distribution is flat there"
            warnings.warn(message, RuntimeWarning, stacklevel=3)
        return time

    def _evolution(self, window: int) -> Evolution:
        """Return the squared matrices for the scaled times of a window, computed at its first use."""
        if window not in self._evolutions:
            first = FIRST_WINDOW + window * WINDOW_WIDTH
            longest = min(2.0 ** (first + WINDOW_WIDTH + 1), MAX_JUMPS)
            self._evolutions[window] = Evolution(self._rates, 2.0**first, longest, stored=True)
        return self._evolutions[window]


def rates_between(name: str, matrix: Floats) -> Floats:
    """Return a copy of a square matrix with a zero diagonal; ValueError if another entry is negative."""
    off = matrix - np.diag(np.diag(matrix))
    if (off < 0.0).any():
        i, j = np.argwhere(off < 0.0)[0]
        raise ValueError(f"{name}[{i}, {j}] = {matrix[i, j]:g}: must be >= 0 off the diagonal")
    return off


def _row_losses(T: Floats) -> Floats:
    """Return minus the row sums of T, shape (m,), with sums within the rounding of a row set to 0."""
    losses = np.array([-math.fsum(row[row != 0.0].tolist()) for row in T])
    scale = np.abs(T).max(axis=1)
    if (losses < -ROW_SUM_TOLERANCE * scale).any():
        i = int(np.argmin(losses + ROW_SUM_TOLERANCE * scale))
        by_columns = (T.sum(axis=0) <= ROW_SUM_TOLERANCE * np.abs(T).max(axis=0)).all()
        hint = "; its columns do: row i of T has the rates out of phase i, give the transpose" if by_columns else ""
        raise ValueError(f"row {i} of T sums to {-losses[i]:g}: must be <= 0{hint}")
    rounding = 2.0 * EPSILON * (len(T) + 1) * scale
    unclear = (losses > rounding) & (losses <= ROW_SUM_TOLERANCE * scale)
    if unclear.any():
        i = int(np.argmax(unclear))
        rates = f"row {i} of T, with T[{i}, {i}] = {T[i, i]:g}, sums to {-losses[i]:g}"
        raise ValueError(f"{rates}: a rate of absorption this small has few digits there; give it, or 0, in exits")
    return np.where(losses > rounding, losses, 0.0)


def _is_like_transposed(alpha: Floats, T: Floats) -> bool:
    """Return whether some phases are never entered, and all are with the transpose of T, which has rates of its own."""
    rates = sp.csr_matrix(T - np.diag(np.diag(T)))
    if not rates.nnz or leads_to(rates, alpha > 0.0).all():
        return False
    return bool(
        leads_to(rates.T.tocsr(), alpha > 0.0).all()
        and (T.sum(axis=0) <= ROW_SUM_TOLERANCE * np.abs(T).max(axis=0)).all()
    )


def _block_diagonal(blocks: Sequence[Floats]) -> Floats:
    """Return the block-diagonal matrix of square ``blocks``."""
    size = sum(map(len, blocks))
    matrix, row = np.zeros((size, size)), 0
    for block in blocks:
        matrix[row : row + len(block), row : row + len(block)] = block
        row += len(block)
    return matrix
