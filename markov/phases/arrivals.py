"""Markovian arrival processes: streams of packets or customers with memory.

M. F. Neuts, A versatile Markovian point process, Journal of Applied Probability 16, 1979; D. M. Lucantoni,
New results on the single server queue with a batch Markovian arrival process, Stochastic Models 7, 1991.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hopflow.checks import count_of, format_value, integer, number, one_number
from hopflow.fork_safety import cached_property
from hopflow.labels import aligned, refuse_labels, square
from hopflow.results import ByValue
from hopflow.units import WithUnit, quantities
from markov.elimination.structure import closed_classes
from markov.methods.gth import GTH
from markov.phases.fitting import phase_type_of
from markov.phases.passes import Passes
from markov.phases.phase_types import MOST_PHASES, ROW_SUM, PhaseType, rates_between

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from markov.phases.sample_fits import SampleFit

    Floats = NDArray[np.float64]

__all__ = ["MAP"]


@dataclass(frozen=True, eq=False)
class MAP(ByValue):
    """A Markovian arrival process MAP(D0, D1).

    Parameters
    ----------
    D0
        Rates of the changes of phase without an arrival in 1/s, shape (m, m), with the diagonal that
        makes the rows of D0 + D1 sum to zero.
    D1
        Rates of the changes of phase, or of staying in it, with an arrival, shape (m, m).

    Attributes
    ----------
    fits
        What the process, or its parts, were fitted to, as in `PhaseType`.

    Raises
    ------
    ValueError
        Naming the parameter, its first bad entry and what is allowed; for phases of several closed
        classes, and for a process without arrivals.

    Examples
    --------
    Two independent sources, each on for 1 s and off for 2 s in the mean, 30 packets/s while on:

    >>> from markov import MAP
    >>> source = MAP.modulated([[-1.0, 1.0], [0.5, -0.5]], [30.0, 0.0])
    >>> both = source + source
    >>> round(both.rate, 12), both.order, round(both.dispersion, 6)
    (20.0, 4, 27.666667)
    """

    NOT_COMPARED = ("fits",)

    D0: Floats
    D1: Floats
    fits: tuple[SampleFit, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Check and freeze both matrices."""
        (D0, phases), (D1, others) = square("D0", self.D0), square("D1", self.D1)
        if phases != others:
            if phases is None or others is None or set(phases) != set(others):
                raise ValueError("D1: must have the labels of D0, in any order, or both none")
            order = [others.index(phase) for phase in phases]
            D1 = D1[np.ix_(order, order)]
        D0, D1 = number("D0", D0), number("D1", D1, at_least=0.0)
        if D0.ndim != 2 or D0.shape[0] != D0.shape[1] or not 1 <= len(D0) <= MOST_PHASES:
            raise ValueError(f"D0 has shape {D0.shape}: a square matrix is expected")
        if D1.shape != D0.shape:
            raise ValueError(f"D1 has shape {D1.shape}: must be {D0.shape}")
        rates_between("D0", D0)
        sums, scale = (D0 + D1).sum(axis=1), np.abs(D0).max(axis=1)
        if (np.abs(sums) > ROW_SUM * scale).any():
            i = int(np.argmax(np.abs(sums) - ROW_SUM * scale))
            raise ValueError(f"row {i} of D0 + D1 sums to {sums[i]:g}: must be 0")
        if not D1.any():
            raise ValueError("D1: at least one rate must be > 0")
        for name, array in (("D0", D0), ("D1", D1)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if not self.rate > 0.0:
            raise ValueError("D1: there are no arrivals in the phases that recur")

    @classmethod
    def poisson(cls, rate: float) -> MAP:
        """Return the Poisson process of a rate in 1/s."""
        rate = one_number("rate", rate, above=0.0)
        return cls(np.array([[-rate]]), np.array([[rate]]))

    @classmethod
    def renewal(cls, interval: PhaseType) -> MAP:
        """Return the process whose intervals are independent and have a distribution."""
        return cls(interval.T, np.outer(interval.exits, interval.alpha)).with_fits(interval.fits)

    def with_fits(self, fits: Iterable[SampleFit]) -> MAP:
        """Return the process with a record of what it was fitted to."""
        copy = MAP(self.D0, self.D1)
        object.__setattr__(copy, "fits", tuple(fits))
        return copy

    @classmethod
    def modulated(cls, Q: ArrayLike, rates: ArrayLike) -> MAP:
        """Return the Poisson process whose rate depends on the state of a chain (MMPP).

        Parameters
        ----------
        Q
            Generator of the chain in 1/s, shape (m, m).
        rates
            Of arrivals in each state in 1/s, shape (m,).
        """
        matrix, phases = square("Q", Q)
        rates = rates if phases is None else aligned("rates", rates, phases)
        refuse_labels("rates", rates)
        given, generator = number("rates", rates, at_least=0.0), number("Q", matrix)
        if generator.ndim != 2 or given.shape != generator.shape[:1]:
            shapes = f"rates has shape {given.shape}, Q {generator.shape}"
            raise ValueError(f"{shapes}: must be (m,) and (m, m)")
        off = ~np.eye(len(given), dtype=bool)
        if (generator[off] < 0.0).any() or (abs(generator.sum(axis=1)) > 1e-9).any():
            raise ValueError(f"Q = {format_value(Q)}: rates >= 0 are expected, and rows that sum to 0")
        return cls(generator - np.diag(given), np.diag(given))

    @classmethod
    @quantities(mean="time")
    def correlated(cls, mean: WithUnit, scv: float, correlation: float) -> MAP:
        """Return a process with given mean, variability and correlation of its intervals.

        Intervals are hyperexponential with two phases of balanced means; the next one is of the same
        phase with a probability, otherwise drawn again, so that the correlation falls geometrically.

        Parameters
        ----------
        mean
            Of the intervals, in s.
        scv
            Their variance / mean^2, above one.
        correlation
            Of neighbouring intervals, at least 0 and below (1 - 1/scv) / 2.
        """
        one_number("scv", scv, above=1.0)
        interval = phase_type_of(mean, scv)
        most = 0.5 * (1.0 - 1.0 / scv)
        again = one_number("correlation", correlation, at_least=0.0, below=most) / most
        D1 = again * np.diag(interval.exits)
        return cls(interval.T, D1 + (1.0 - again) * np.outer(interval.exits, interval.alpha))

    @property
    def order(self) -> int:
        """How many phases there are."""
        return len(self.D0)

    @cached_property
    def phases(self) -> Floats:
        """Probability of each phase in the long run, shape (m,)."""
        import scipy.sparse as sp

        Q = self.D0 + self.D1
        np.fill_diagonal(Q, 0.0)
        np.fill_diagonal(Q, -Q.sum(axis=1))
        closed = closed_classes(sp.csr_matrix(Q))
        if len(closed) > 1:
            raise ValueError(f"D0 + D1: the phases have {len(closed)} closed classes, one is expected")
        found = np.zeros(self.order)
        states = closed[0]
        part = sp.csr_matrix(Q[np.ix_(states, states)])
        found[states] = GTH().solve(part).pi if len(states) > 1 else 1.0
        return found

    @cached_property
    def rate(self) -> float:
        """Arrivals per second."""
        return float(self.phases @ self.D1.sum(axis=1))

    @cached_property
    def interval(self) -> PhaseType:
        """The distribution of the time between two arrivals."""
        exits = self.D1.sum(axis=1)
        return PhaseType(self.phases @ self.D1 / self.rate, self.D0, exits).with_fits(self.fits)

    def autocorrelation(self, lags: int) -> Floats:
        """Return the correlation of intervals 1 .. lags apart, shape (lags,)."""
        count = integer("lags", lags, 1, 10**6)
        once = np.linalg.inv(-self.D0)
        after, mean = once @ self.D1, self.interval.mean
        row, ones = self.interval.alpha @ once, np.ones(self.order)
        found = np.empty(count)
        for k in range(count):
            row = row @ after
            found[k] = float(row @ once @ ones)
        return (found - mean**2) / self.interval.variance

    @cached_property
    def dispersion(self) -> float:
        """Variance over mean of the number of arrivals in a long time: 1 for the Poisson process."""
        ones, theta = np.ones(self.order), self.phases
        fundamental = np.linalg.inv(np.outer(ones, theta) - self.D0 - self.D1)
        second = float(theta @ self.D1 @ fundamental @ self.D1 @ ones)
        return 1.0 - 2.0 * self.rate + 2.0 * second / self.rate

    @quantities(intervals="time")
    def log_likelihood(self, intervals: ArrayLike) -> float:
        """Return the log of the density of intervals in s in their order, the first after an arrival."""
        times = number("intervals", intervals, above=0.0)
        if times.ndim != 1 or not len(times):
            raise ValueError(f"intervals has shape {times.shape}: times in one row are expected")
        return Passes(self.D0, self.D1, self.interval.alpha, times).log_likelihood

    def __add__(self, other: MAP) -> MAP:
        """Return the superposition of two independent processes (Kronecker sums)."""
        if not isinstance(other, MAP):
            return NotImplemented
        one, two = np.eye(self.order), np.eye(other.order)
        both = MAP(
            np.kron(self.D0, two) + np.kron(one, other.D0),
            np.kron(self.D1, two) + np.kron(one, other.D1),
        )
        return both.with_fits(self.fits + other.fits)

    def __repr__(self) -> str:
        return f"MAP: {count_of(self.order, 'phase')}, {self.rate:.6g}/s, dispersion {self.dispersion:.6g}"
