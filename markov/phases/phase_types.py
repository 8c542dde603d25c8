"""Phase-type distributions: the time to absorption of a small Markov chain.

M. F. Neuts, Matrix-Geometric Solutions in Stochastic Models, 1981, Ch. 2. They are closed under sums,
mixtures and minima, and any distribution of a positive number is a limit of them: with them a service or
a sojourn that is not exponential is a Markov chain again.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import count_of, integer, number, one_number, random_generator
from hopflow.deprecations import accept_old_names
from hopflow.fork_safety import cached_property
from hopflow.labels import aligned, labels_of, square
from hopflow.results import ByValue
from hopflow.units import WithUnit, WithUnits, quantities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from markov.phases.absorption_times import AbsorptionTime, DistributionValues
    from markov.phases.sample_fits import SampleFit

    Floats = NDArray[np.float64]

__all__ = ["FOR_FEW_VALUES", "MOMENTS_FIX_NO_LOSS", "PhaseType", "rates_between"]

FOR_FEW_VALUES = "For a service of few values or of fixed length DiscreteChain.of_rules is exact"
MOMENTS_FIX_NO_LOSS = f"moments do not fix a loss, least of all one below 1e-3. {FOR_FEW_VALUES}"
"""What answers with fitted distributions say."""

ROW_SUM = 1e-10  # of the largest rate of a phase
EPSILON = float(np.finfo(np.float64).eps)
MOST_PHASES = 2000


@dataclass(frozen=True, eq=False)
class PhaseType(ByValue):
    """A phase-type distribution PH(alpha, T): mean, moments, distribution, and arithmetic.

    Parameters
    ----------
    alpha
        Probability of starting in each phase, shape (m,); they sum to one.
    T
        Rates between phases in 1/s, shape (m, m); the diagonal makes the row sums minus the rates of
        absorption, of which at least one is positive, and all phases lead to absorption.
    exits
        Rates of absorption in each phase in 1/s, shape (m,). None: minus the sums of the rows of T. A rate far below
        the others of its phase is lost in the rounding of the diagonal of T, and is to be named here.

    Attributes
    ----------
    fits
        What the distribution, or its parts, were fitted to: a `markov.phases.sample_fits.SampleFit` each, from
        `fit_phase_type`; () otherwise. It does not count when distributions are compared.

    Raises
    ------
    ValueError
        Naming the parameter, its first bad entry and what is allowed.

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
        """Check and freeze both arrays."""
        T, phases = square("T", self.T)
        alpha = self.alpha if labels_of(self.alpha) == phases else aligned("alpha", self.alpha, phases or range(len(T)))
        alpha, T = number("alpha", alpha, at_least=0.0, at_most=1.0), number("T", T)
        if alpha.ndim != 1 or not 1 <= len(alpha) <= MOST_PHASES:
            raise ValueError(f"alpha has shape {alpha.shape}: one number for each phase is expected")
        if T.shape != (len(alpha), len(alpha)):
            raise ValueError(f"T has shape {T.shape}: must be ({len(alpha)}, {len(alpha)})")
        if abs(alpha.sum() - 1.0) > ROW_SUM:
            raise ValueError(f"alpha sums to {alpha.sum():g}: must be 1")
        off = rates_between("T", T)
        named: Any = self.exits
        if named is None:
            exits = _row_losses(T)
        else:
            named = named if labels_of(named) == phases else aligned("exits", named, phases or range(len(T)))
            exits = number("exits", named, at_least=0.0)
            _check_diagonal(T, off, exits)
        leads = _leads_to_absorption(off, exits)
        if not leads.all():
            raise ValueError(f"T: phase {int(np.argmin(leads))} never leads to absorption")
        for name, array in (("alpha", alpha / alpha.sum()), ("T", T), ("exits", exits)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def exponential(cls, rate: float) -> PhaseType:
        """Return the exponential distribution of a rate in 1/s."""
        return cls.erlang(1, mean=1.0 / one_number("rate", rate, above=0.0))

    @classmethod
    @quantities(mean="time")
    def erlang(cls, phases: int, *, mean: WithUnit) -> PhaseType:
        """Return the sum of ``phases`` equal exponential times, of a mean in s."""
        count = integer("phases", phases, 1, MOST_PHASES)
        rate = count / one_number("mean", mean, above=0.0)
        return cls(np.eye(count)[0], rate * (np.eye(count, k=1) - np.eye(count)))

    @classmethod
    @quantities(probabilities="share")
    def hyperexponential(cls, probabilities: ArrayLike, rates: ArrayLike) -> PhaseType:
        """Return a mixture of exponential distributions of rates in 1/s."""
        weights = number("probabilities", probabilities, at_least=0.0, at_most=1.0)
        given = number("rates", rates, above=0.0)
        if weights.ndim != 1 or given.shape != weights.shape:
            shapes = f"probabilities has shape {weights.shape}, rates {given.shape}"
            raise ValueError(f"{shapes}: must both be (m,)")
        if abs(weights.sum() - 1.0) > ROW_SUM:
            raise ValueError(f"probabilities sum to {weights.sum():g}: must be 1")
        return cls(weights, -np.diag(given))

    @classmethod
    @quantities(probabilities="share")
    def mixture(cls, probabilities: WithUnits, parts: Sequence[PhaseType]) -> PhaseType:
        """Return the distribution that is one of several, by chance."""
        weights = number("probabilities", probabilities, at_least=0.0)
        if weights.shape != (len(parts),) or not len(parts):
            raise ValueError(f"probabilities has shape {weights.shape}: one for each part is expected")
        alpha = np.concatenate([w * part.alpha for w, part in zip(weights, parts, strict=True)])
        mixed = cls(alpha, _diagonal([part.T for part in parts]), np.concatenate([part.exits for part in parts]))
        return mixed.with_fits(fit for part in parts for fit in part.fits)

    def with_fits(self, fits: Iterable[SampleFit]) -> PhaseType:
        """Return the distribution with a record of what it was fitted to."""
        copy = PhaseType(self.alpha, self.T, self.exits)
        object.__setattr__(copy, "fits", tuple(fits))
        return copy

    @property
    def order(self) -> int:
        """How many phases there are."""
        return len(self.alpha)

    def moment(self, k: int) -> float:
        """Return E X^k, in s^k: k! alpha (-T)^-k 1."""
        k = integer("k", k, 0, 100)
        power: Any = np.ones(self.order)
        for n in range(1, k + 1):
            power = n * self._solve(power)
        return float(self.alpha @ power)

    @cached_property
    def _solve(self) -> Callable[[Floats], Floats]:
        """A function that returns (-T)^-1 b for b >= 0, each entry with its relative digits."""
        if not np.tril(self.T, -1).any():
            return functools.partial(np.linalg.solve, -self.T)  # substitution, without a subtraction
        import scipy.sparse as sp

        from markov.time.passages.positive_factors import PositiveFactors

        return PositiveFactors(sp.csr_matrix(rates_between("T", self.T)), self.exits).right

    @cached_property
    def mean(self) -> float:
        """E X in s."""
        return self.moment(1)

    @cached_property
    def variance(self) -> float:
        """In s^2."""
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

    @quantities(x="time")
    def survival(self, x: ArrayLike) -> Floats:
        """Return P(X > x), of the shape of x (s), with the relative error of `cdf`."""
        return self._at(x).survival.reshape(np.shape(x))

    @quantities(x="time")
    def cdf(self, x: ArrayLike) -> Floats:
        """Return P(X <= x), of the shape of x (s).

        Every value above 1e-280 has a proved relative error of at most 1e-10, however far rates lie apart, and
        mostly 1e-13: by squaring (page ``markov-time``).

        Raises
        ------
        ValueError
            Where rates lie so far apart that this is not proved, some 30 decades.
        """
        return self._at(x).cdf.reshape(np.shape(x))

    @quantities(x="time")
    def pdf(self, x: ArrayLike) -> Floats:
        """Return the density at x (s), in 1/s, with the relative error of `cdf`."""
        return self._at(x).density.reshape(np.shape(x))

    def quantile(self, q: float) -> float:
        """Return the x in s with P(X <= x) = q, to a relative error of 1e-10.

        Warns
        -----
        RuntimeWarning
            With the relative error, where it is larger because the density is nearly zero over a long time.
        """
        return self._absorption_time.quantile(one_number("q", q, above=0.0, below=1.0))

    def _at(self, x: ArrayLike) -> DistributionValues:
        return self._absorption_time.at(number("x", x, at_least=0.0).ravel())

    @cached_property
    def _absorption_time(self) -> AbsorptionTime:
        from markov.phases.absorption_times import AbsorptionTime

        return AbsorptionTime(self.alpha, rates_between("T", self.T), self.exits)

    @accept_old_names(rng="seed")
    def sample(self, size: int, *, seed: Any = None) -> Floats:
        """Return independent times in s, shape (size,)."""
        draw = random_generator("seed", seed)
        count = integer("size", size, 0, 10**9)
        jumps = np.hstack([self.T - np.diag(np.diag(self.T)), self.exits[:, None]])
        holding = jumps.sum(axis=1)
        reach = np.cumsum(jumps / holding[:, None], axis=1)
        phase = draw.choice(self.order, count, p=self.alpha)
        times, left = np.zeros(count), np.arange(count)
        while len(left):
            times[left] += draw.exponential(1.0 / holding[phase])
            target = (draw.random(len(left))[:, None] > reach[phase]).sum(axis=1)
            kept = target < self.order
            left, phase = left[kept], target[kept]
        return times

    def __add__(self, other: PhaseType) -> PhaseType:
        """Return the distribution of the sum of two independent times."""
        if not isinstance(other, PhaseType):
            return NotImplemented
        T = _diagonal([self.T, other.T])
        T[: self.order, self.order :] = np.outer(self.exits, other.alpha)
        alpha = np.concatenate([self.alpha, np.zeros(other.order)])
        exits = np.concatenate([np.zeros(self.order), other.exits])
        return PhaseType(alpha, T, exits).with_fits(self.fits + other.fits)

    def minimum(self, other: PhaseType) -> PhaseType:
        """Return the distribution of the lesser of two independent times (a Kronecker sum)."""
        one, two = np.eye(self.order), np.eye(other.order)
        T: Any = np.kron(self.T, two) + np.kron(one, other.T)
        alpha: Any = np.kron(self.alpha, other.alpha)
        exits = np.add.outer(self.exits, other.exits).ravel()
        return PhaseType(alpha, T, exits).with_fits(self.fits + other.fits)

    def scaled(self, factor: float) -> PhaseType:
        """Return the distribution of ``factor`` times the time."""
        factor = one_number("factor", factor, above=0.0)
        return PhaseType(self.alpha, self.T / factor, self.exits / factor).with_fits(self.fits)

    def __repr__(self) -> str:
        fitted = f", fitted to {' and '.join(str(fit.sample_size) for fit in self.fits)} times" if self.fits else ""
        return f"PhaseType: {count_of(self.order, 'phase')}, mean {self.mean:.6g} s, scv {self.scv:.6g}{fitted}"


def rates_between(name: str, matrix: Floats) -> Floats:
    """Return a square matrix with zeros on its diagonal, after checking that the rest is >= 0."""
    off = matrix - np.diag(np.diag(matrix))
    if (off < 0.0).any():
        i, j = np.argwhere(off < 0.0)[0]
        raise ValueError(f"{name}[{i}, {j}] = {matrix[i, j]:g}: must be >= 0 off the diagonal")
    return off


def _row_losses(T: Floats) -> Floats:
    """Return minus the sums of the rows of T, shape (m,), 0 where they are rounding."""
    losses = np.array([-math.fsum(row[row != 0.0].tolist()) for row in T])
    scale = np.abs(T).max(axis=1)
    if (losses < -ROW_SUM * scale).any():
        i = int(np.argmin(losses + ROW_SUM * scale))
        raise ValueError(f"row {i} of T sums to {-losses[i]:g}: must be <= 0")
    rounding = 2.0 * EPSILON * (len(T) + 1) * scale
    unclear = (losses > rounding) & (losses <= ROW_SUM * scale)
    if unclear.any():
        i = int(np.argmax(unclear))
        rates = f"row {i} of T, with T[{i}, {i}] = {T[i, i]:g}, sums to {-losses[i]:g}"
        raise ValueError(f"{rates}: a rate of absorption this small has few digits there; give it, or 0, in exits")
    return np.where(losses > rounding, losses, 0.0)


def _check_diagonal(T: Floats, off: Floats, exits: Floats) -> None:
    """Refuse rates of absorption that the rows of T do not have."""
    if exits.shape != T.shape[:1]:
        raise ValueError(f"exits has shape {exits.shape}: must be ({len(T)},)")
    total = off.sum(axis=1) + exits
    wrong = np.abs(total + T.diagonal()) > ROW_SUM * np.maximum(total, np.abs(T.diagonal()))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(
            f"T[{i}, {i}] = {T[i, i]:g}, exits[{i}] = {exits[i]:g}: must be {-total[i]:g} with these exits"
        )


def _leads_to_absorption(off: Floats, exits: Floats) -> NDArray[np.bool_]:
    """Return whether each phase leads to absorption, shape (m,)."""
    leads = exits > 0.0
    for _ in range(len(exits)):
        more = leads | ((off > 0.0) & leads).any(axis=1)
        if (more == leads).all():
            break
        leads = more
    return leads


def _diagonal(blocks: Sequence[Floats]) -> Floats:
    size = sum(map(len, blocks))
    whole_one, at = np.zeros((size, size)), 0
    for block in blocks:
        whole_one[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return whole_one
