"""Markovian arrival processes: streams of packets or customers with memory, also fitted to measured intervals.

M. F. Neuts, A versatile Markovian point process, Journal of Applied Probability 16, 1979; D. M. Lucantoni,
New results on the single server queue with a batch Markovian arrival process, Stochastic Models 7, 1991.

The EM algorithm fits them (P. Buchholz, An EM-algorithm for MAP fitting from real traffic data, TOOLS 2003, LNCS 2794;
T. Ryden, An EM algorithm for estimation in Markov-modulated Poisson processes, Computational Statistics & Data Analysis
21, 1996). The E-step is in `Passes`: expected times in phases and numbers of changes of phase are integrals of products
of exponentials of D0. They are taken in its eigenvectors, or if these are nearly dependent, as blocks of an exponential
of twice the size (C. F. Van Loan, IEEE Transactions on Automatic Control 23, 1978).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import count_of, format_value, number, one_number
from hopflow.fork_safety import cached_property
from hopflow.labels import aligned, refuse_labels, square
from hopflow.parameters import param, validate_parameters
from hopflow.progress import progress_bar
from hopflow.results import ByValue, Result, Status, figure
from hopflow.units import WithUnit
from markov.computing.matrices import transpose_advice
from markov.elimination.structure import closed_classes
from markov.methods.gth import GTH
from markov.phases.fitting import phase_type_of
from markov.phases.phase_types import (
    MAX_PHASES,
    MOMENTS_FIX_NO_LOSS,
    ROW_SUM_TOLERANCE,
    AbsorptionTime,
    PhaseType,
    phase_type,
    rates_between,
)
from markov.phases.sample_fits import Moment, record_series_fit, warn_of_difference

if TYPE_CHECKING:
    from collections.abc import Iterable

    import xarray as xr
    from numpy.typing import ArrayLike, NDArray

    from markov.phases.sample_fits import SampleFit

    Floats = NDArray[np.float64]

__all__ = ["MAP", "MapFit", "fit_map"]

MIN_INTERVALS_PER_PHASE = 10
MAX_FITTED_PHASES = 8
CORRELATION_LAGS = 20
EM_GAIN = 1e-8  # log-likelihood per interval and round; the iteration stops below
MAX_CONDITION = 1e8  # of the eigenvectors of D0; above it block exponentials take their place
SERIES_BELOW = 1e-6  # difference of exponents; below it the series is exact to rounding
UNDERFLOW_RATE = 1e-280  # relative to the largest rate; an iteration takes smaller rates to 0
EXPONENTIALS_PER_CHUNK = 4096  # intervals


@dataclass(frozen=True, eq=False)
class MAP(ByValue):
    """Markovian arrival process MAP(D0, D1): rates of phase changes without and with an arrival.

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
        Origins of the process and its parts if fitted to samples, as in `PhaseType`.

    Raises
    ------
    ValueError
        The message names the parameter, its first bad entry and the allowed values. Also for phases of several closed
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
        """Validate D0 and D1, and store them as read-only arrays."""
        (D0, phases), (D1, others) = square("D0", self.D0), square("D1", self.D1)
        if phases != others:
            if phases is None or others is None or set(phases) != set(others):
                raise ValueError("D1: must have the labels of D0, in any order, or both none")
            order = [others.index(phase) for phase in phases]
            D1 = D1[np.ix_(order, order)]
        D0, D1 = number("D0", D0), number("D1", D1, at_least=0.0)
        if D0.ndim != 2 or D0.shape[0] != D0.shape[1] or not 1 <= len(D0) <= MAX_PHASES:
            raise ValueError(f"D0 has shape {D0.shape}: a square matrix is expected")
        if D1.shape != D0.shape:
            raise ValueError(f"D1 has shape {D1.shape}: must be {D0.shape}")
        rates_between("D0", D0)
        sums, scale = (D0 + D1).sum(axis=1), np.abs(D0).max(axis=1)
        if (np.abs(sums) > ROW_SUM_TOLERANCE * scale).any():
            i = int(np.argmax(np.abs(sums) - ROW_SUM_TOLERANCE * scale))
            tolerance = ROW_SUM_TOLERANCE * scale.max()
            advice = transpose_advice(D0 + D1, 0.0, tolerance, "D0 and D1", "rates out of phase i")
            raise ValueError(f"row {i} of D0 + D1 sums to {sums[i]:g}: must be 0{advice}")
        if not D1.any():
            raise ValueError("D1: at least one rate must be > 0")
        for name, array in (("D0", D0), ("D1", D1)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if not self.rate > 0.0:
            raise ValueError("D1: there are no arrivals in the phases that recur")

    @classmethod
    @validate_parameters
    def poisson(cls, rate: float = param(above=0.0)) -> MAP:
        """Return the Poisson process with this rate, in 1/s."""
        return cls(np.array([[-rate]]), np.array([[rate]]))

    @classmethod
    def renewal(cls, interval: PhaseType) -> MAP:
        """Return the process whose intervals are independent with the phase-type distribution ``interval``."""
        interval = phase_type("interval", interval)
        return cls(interval.T, np.outer(interval.exits, interval.alpha)).with_fits(interval.fits)

    def with_fits(self, fits: Iterable[SampleFit]) -> MAP:
        """Return a copy of the process whose attribute ``fits`` is the tuple of ``fits``."""
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
            Arrival rate by state in 1/s, shape (m,).
        """
        matrix, phases = square("Q", Q)
        rates = rates if phases is None else aligned("rates", rates, phases)
        refuse_labels("rates", rates)
        arrival_rates, generator = number("rates", rates, at_least=0.0), number("Q", matrix)
        if generator.ndim != 2 or arrival_rates.shape != generator.shape[:1]:
            shapes = f"rates has shape {arrival_rates.shape}, Q {generator.shape}"
            raise ValueError(f"{shapes}: must be (m,) and (m, m)")
        off = ~np.eye(len(arrival_rates), dtype=bool)
        if (generator[off] < 0.0).any() or (abs(generator.sum(axis=1)) > 1e-9).any():
            advice = transpose_advice(generator, 0.0, 1e-9, "Q", "rates out of state i")
            raise ValueError(f"Q = {format_value(Q)}: rates >= 0 are expected, and rows that sum to 0{advice}")
        return cls(generator - np.diag(arrival_rates), np.diag(arrival_rates))

    @classmethod
    @validate_parameters
    def correlated(
        cls,
        mean: WithUnit = param(unit="time", above=0.0),
        scv: float = param(above=1.0),
        correlation: float = param(at_least=0.0),
    ) -> MAP:
        """Return a process with given mean, variability and correlation of its intervals.

        Intervals are hyperexponential with two phases of balanced means. With a probability the next interval has the
        same phase, otherwise its phase is drawn again, so that the correlation falls geometrically.

        Parameters
        ----------
        mean
            Mean of the intervals, in s.
        scv
            Variance / mean^2 of the intervals, above one.
        correlation
            Correlation of neighbouring intervals, at least 0 and below (1 - 1/scv) / 2.
        """
        interval = phase_type_of(mean, scv)
        limit = 0.5 * (1.0 - 1.0 / scv)
        repeat = one_number("correlation", correlation, at_least=0.0, below=limit) / limit
        D1 = repeat * np.diag(interval.exits)
        return cls(interval.T, D1 + (1.0 - repeat) * np.outer(interval.exits, interval.alpha))

    @property
    def order(self) -> int:
        """Number of phases."""
        return len(self.D0)

    @cached_property
    def phases(self) -> Floats:
        """Stationary probabilities of the phases, shape (m,)."""
        import scipy.sparse as sp

        Q = self.D0 + self.D1
        np.fill_diagonal(Q, 0.0)
        np.fill_diagonal(Q, -Q.sum(axis=1))
        closed = closed_classes(sp.csr_matrix(Q))
        if len(closed) > 1:
            raise ValueError(f"D0 + D1: the phases have {len(closed)} closed classes, one is expected")
        probabilities = np.zeros(self.order)
        states = closed[0]
        part = sp.csr_matrix(Q[np.ix_(states, states)])
        probabilities[states] = GTH().solve(part).pi if len(states) > 1 else 1.0
        return probabilities

    @cached_property
    def rate(self) -> float:
        """Mean number of arrivals per second."""
        return float(self.phases @ self.D1.sum(axis=1))

    @cached_property
    def interval(self) -> PhaseType:
        """The distribution of the time between two arrivals."""
        exits = self.D1.sum(axis=1)
        return PhaseType(self.phases @ self.D1 / self.rate, self.D0, exits).with_fits(self.fits)

    @validate_parameters
    def autocorrelation(self, lags: int = param(at_least=1, at_most=10**6)) -> Floats:
        """Return the correlation of intervals 1 .. lags apart, shape (lags,)."""
        times = np.linalg.inv(-self.D0)
        jumps, mean = times @ self.D1, self.interval.mean
        row, ones = self.interval.alpha @ times, np.ones(self.order)
        products = np.empty(lags)
        for k in range(lags):
            row = row @ jumps
            products[k] = float(row @ times @ ones)
        return (products - mean**2) / self.interval.variance

    @cached_property
    def dispersion(self) -> float:
        """Variance over mean of the number of arrivals in a long time: 1 for the Poisson process."""
        ones, theta = np.ones(self.order), self.phases
        fundamental = np.linalg.inv(np.outer(ones, theta) - self.D0 - self.D1)
        second = float(theta @ self.D1 @ fundamental @ self.D1 @ ones)
        return 1.0 - 2.0 * self.rate + 2.0 * second / self.rate

    @validate_parameters
    def log_likelihood(self, intervals: ArrayLike = param(unit="time", above=0.0)) -> float:
        """Return the log density of consecutive intervals, in s, after an arrival in the stationary process."""
        times = np.asarray(intervals)
        if times.ndim != 1 or not len(times):
            raise ValueError(f"intervals has shape {times.shape}: times in one row are expected")
        return Passes(self.D0, self.D1, self.interval.alpha, times).log_likelihood

    def __add__(self, other: MAP) -> MAP:
        """Return the superposition of two independent processes (Kronecker sums)."""
        if not isinstance(other, MAP):
            return NotImplemented
        unit, other_unit = np.eye(self.order), np.eye(other.order)
        result = MAP(
            np.kron(self.D0, other_unit) + np.kron(unit, other.D0),
            np.kron(self.D1, other_unit) + np.kron(unit, other.D1),
        )
        return result.with_fits(self.fits + other.fits)

    def __repr__(self) -> str:
        return f"MAP: {count_of(self.order, 'phase')}, {self.rate:.6g}/s, dispersion {self.dispersion:.6g}"


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class MapFit(Result):
    """Result of `fit_map`: a Markovian arrival process fitted to intervals, with moments of fit and sample.

    Attributes
    ----------
    process
        The `MAP`; its ``fits`` has the moments too, and answers of queues with it say so.
    log_likelihood
        Log-likelihood of all intervals, for densities in 1/s. The first interval begins at an arrival.
    rounds
        Number of iterations of the algorithm.
    converged
        Whether the iteration stopped because the likelihood rose no more.
    correlations
        Correlations of intervals 1, 2, ... apart, of the sample and of the fit, shape (2, lags).

    Examples
    --------
    >>> import numpy as np
    >>> from markov import fit_map
    >>> fit = fit_map(np.random.default_rng(1).exponential(3.0, 200), phases=1)
    >>> round(1.0 / fit.process.rate, 3), round(fit.log_likelihood, 1)
    (3.148, -429.4)
    >>> print(fit.moments[1].name, fit.moments[1])
    scv 1, sample 1.083 ± 0.38
    """

    FOLDED = ("log-likelihood", "rounds")

    process: MAP
    log_likelihood: float
    rounds: int
    converged: bool
    correlations: Floats

    @property
    def moments(self) -> tuple[Moment, ...]:
        """Mean, scv and lag-1 correlation of the intervals, with half widths of the sample's 95 % intervals.

        The half widths come from the means of 20 batches.
        """
        return self.process.fits[0].moments

    @property
    def status(self) -> Status:
        """SOLVED if the likelihood rose no more, INACCURATE if the rounds were used up before."""
        return Status.SOLVED if self.converged else Status.INACCURATE

    def summary(self) -> dict[str, object]:
        """Return the rows of a printed summary: the process, the moments of fit and sample, the stopping reason."""
        return {
            "process": repr(self.process),
            "intervals": self.process.fits[0].sample_size,
            **{moment.name: f"{moment}{' (differs)' if moment.differs else ''}" for moment in self.moments},
            "chosen by": "largest likelihood" if self.converged else "likelihood, which still rose at the last round",
            "limits": MOMENTS_FIX_NO_LOSS,
            "rounds": self.rounds,
            "log-likelihood": f"{self.log_likelihood:.8g}",
        }

    def to_xarray(self) -> xr.Dataset:
        """Return the correlations of the sample and of the fit over ``lag``."""
        import xarray as xr

        names = ("sample", "fit")
        data = {name: ("lag", row) for name, row in zip(names, self.correlations, strict=True)}
        return xr.Dataset(data, coords={"lag": np.arange(1, self.correlations.shape[1] + 1)})

    def plot(self, ax: Any = None) -> Any:
        """Draw the correlations of sample and fit over the lag; return the Axes."""
        if ax is None:
            _, ax = figure()
        lags = np.arange(1, self.correlations.shape[1] + 1)
        for name, marker, row in zip(("sample", "fit"), ("o", "-"), self.correlations, strict=True):
            ax.plot(lags, row, marker, label=name)
        ax.set(xlabel="lag (intervals)", ylabel="correlation")
        ax.legend(frameon=False)
        return ax


@validate_parameters
def fit_map(
    intervals: ArrayLike = param(unit="time", above=0.0),
    *,
    phases: int = param(2, at_least=1, at_most=MAX_FITTED_PHASES),
    rounds: int = param(500, at_least=1, at_most=10**6),
) -> MapFit:
    """Return the Markovian arrival process of largest likelihood that an EM algorithm finds.

    Parameters
    ----------
    intervals
        Times between arrivals in s, in their order, positive, at least ten per phase; shape (n,).
    phases
        Number of phases of the process, 1 to 8.
    rounds
        Maximum number of iterations from either of two starts.

    Returns
    -------
    MapFit
        The process with mean, scv and lag-1 correlation of sample and fit. It is a local maximum: other processes may
        have a larger likelihood. A round takes a few microseconds per interval.

    Warns
    -----
    FitWarning
        Names the first of mean, scv and lag-1 correlation outside of the sample's 95 % interval, by batch means.
        Maximum likelihood does not match these moments.

    Raises
    ------
    ValueError
        For intervals that are not positive, too few, or ascend throughout, as times of arrivals do, and for a number of
        phases or rounds outside its range.

    Examples
    --------
    Bursts of intervals of about 1 ms, then some of about 50 ms:

    >>> import numpy as np
    >>> from markov import fit_map
    >>> rng = np.random.default_rng(1)
    >>> long = np.repeat(rng.random(50) < 0.3, 10)
    >>> fit = fit_map(rng.exponential(np.where(long, 0.05, 0.001)))
    >>> fit.process.order, fit.converged, bool(fit.process.dispersion > 5.0)
    (2, True, True)
    """
    sample = np.asarray(intervals)
    if sample.ndim != 1 or len(sample) < MIN_INTERVALS_PER_PHASE * phases:
        expected = f"with phases = {phases} at least {MIN_INTERVALS_PER_PHASE * phases} times in one row are expected"
        raise ValueError(f"intervals has shape {sample.shape}: {expected}")
    if (np.diff(sample) > 0.0).all():
        raise ValueError("intervals ascend throughout, as times of arrivals do: give the times between, np.diff(times)")
    scale = float(sample.mean())
    times = sample / scale
    starts = _initial_processes(times, phases)
    with progress_bar(total=rounds * len(starts), desc="EM algorithm") as bar:
        runs = []
        for D0, D1 in starts:
            before, process = -math.inf, MAP(D0, D1)
            for n_rounds in range(1, rounds + 1):
                passes = Passes(process.D0, process.D1, process.interval.alpha, times)
                if passes.log_likelihood - before <= EM_GAIN * len(times):
                    runs.append((passes.log_likelihood, process, n_rounds, True))
                    break
                before, last = passes.log_likelihood, process
                process = MAP(*passes.improve())
                bar.update()
            else:
                runs.append((before, last, rounds, False))
            bar.update(rounds - runs[-1][2])
    likelihood, process, n_rounds, converged = max(runs, key=lambda run: run[0])
    process = MAP(process.D0 / scale, process.D1 / scale)
    lags = min(CORRELATION_LAGS, len(sample) // 4)
    deviations = times - 1.0
    products = [float(np.mean(deviations[:-lag] * deviations[lag:])) for lag in range(1, lags + 1)]
    variance = float(np.mean(deviations**2)) or math.inf  # equal intervals have no correlation
    correlations = np.array([np.array(products) / variance, process.autocorrelation(lags)])
    interval = process.interval
    origin = record_series_fit(sample, (interval.mean, interval.scv, float(correlations[1, 0])))
    warn_of_difference(origin, "fit other numbers of phases, and compare answers with a simulation of the intervals")
    return MapFit(
        process=process.with_fits((origin,)),
        log_likelihood=likelihood - len(sample) * math.log(scale),
        rounds=n_rounds,
        converged=converged,
        correlations=correlations,
    )


def _initial_processes(times: Floats, m: int) -> list[tuple[Floats, Floats]]:
    """Return one or two processes (D0, D1) from which the EM algorithm starts, by groups of similar intervals.

    The first has the transitions between groups as counted in the sample, the second independent intervals.
    """
    order = np.argsort(np.argsort(times, kind="stable"), kind="stable")
    groups = order * m // len(times)
    rates = 1.0 / np.array([times[groups == k].mean() for k in range(m)])
    counts = np.ones((m, m))
    np.add.at(counts, (groups[:-1], groups[1:]), 1.0)
    hidden = 0.1 * rates[:, None] / m * (1.0 - np.eye(m))
    starts = []
    for weights in (counts, np.ones((m, m))):
        D1 = rates[:, None] * weights / weights.sum(axis=1, keepdims=True)
        starts.append((hidden - np.diag(hidden.sum(axis=1) + rates), D1))
    return starts if m > 1 else starts[:1]


class Passes:
    """E-step of the EM algorithm: forward and backward pass over the intervals between arrivals.

    Parameters
    ----------
    D0, D1
        Rates without and with an arrival, shape (m, m).
    first
        Distribution of the phase at the first arrival, shape (m,).
    times
        Intervals in s, shape (n,).

    Attributes
    ----------
    log_likelihood
        Log-likelihood of the intervals.
    """

    def __init__(self, D0: Floats, D1: Floats, first: Floats, times: Floats) -> None:
        self._D0, self._D1, self._times = D0, D1, times
        values, V = np.linalg.eig(D0)
        self._modes = None
        if np.linalg.cond(V) < MAX_CONDITION:
            self._modes = values, V, np.linalg.inv(V)
        rates = rates_between("D0", D0)
        rates[rates < UNDERFLOW_RATE * rates.max()] = 0.0
        self._transitions = AbsorptionTime(np.eye(len(D0))[0], rates, D1.sum(axis=1)).transitions(times)
        steps = self._transitions @ D1
        n, m = len(steps), steps.shape[1]
        # Forward: distribution a of the phase at the start of every interval, and density c of the interval.
        self._a, self._c = np.empty((n, m)), np.empty(n)
        row = first
        for i in range(n):
            self._a[i] = row
            row = row @ steps[i]
            self._c[i] = row.sum()
            row = row / self._c[i]
        # Backward: likelihood b of all later intervals by phase, relative to their density.
        self._b = np.empty((n, m))
        column = np.ones(m)
        for i in range(n - 1, -1, -1):
            self._b[i] = column
            column = steps[i] @ column / self._c[i]
        self.log_likelihood = float(np.log(self._c).sum())

    def improve(self) -> tuple[Floats, Floats]:
        """Return D0 and D1 of the M-step: expected numbers of changes of phase over expected times in phases."""
        D0, D1 = self._D0, self._D1
        last = np.einsum("nk,nkl->nl", self._a, self._transitions) / self._c[:, None]
        arrivals = np.einsum("nk,nl->kl", last, self._b) * D1
        joint = self._joint_times()
        times = np.maximum(np.diagonal(joint), 1e-300)
        changes = np.maximum(joint, 0.0) * D0
        np.fill_diagonal(changes, 0.0)
        hidden, arrival_rates = changes / times[:, None], arrivals / times[:, None]
        return hidden - np.diag(hidden.sum(axis=1) + arrival_rates.sum(axis=1)), arrival_rates

    def _joint_times(self) -> Floats:
        """Return the integral over all intervals of P(phase k at s) f(later intervals | phase l at s), shape (m, m)."""
        D1, t = self._D1, self._times
        if self._modes is None:
            return self._joint_times_by_blocks()
        values, V, W = self._modes
        before, after = self._a @ V / self._c[:, None], self._b @ (W @ D1).T
        decays = np.exp(values * t[:, None])
        m, sums = len(values), np.zeros((len(values), len(values)), dtype=complex)
        for p in range(m):
            for q in range(m):
                slow, fast = (p, q) if values[p].real > values[q].real else (q, p)
                z = (values[fast] - values[slow]) * t
                near = np.abs(z) < SERIES_BELOW
                safe = np.where(near, 1.0, z)
                area = t * decays[:, slow] * np.where(near, 1.0 + 0.5 * z, np.expm1(safe) / safe)
                sums[p, q] = (before[:, p] * after[:, q] * area).sum()
        total: Floats = (W.T @ sums @ V.T).real
        return total

    def _joint_times_by_blocks(self) -> Floats:
        """Return the same as `_joint_times`, from exponentials of block matrices instead of eigenvectors."""
        from scipy.linalg import expm

        D0, times = self._D0, self._times
        later = self._b @ self._D1.T / self._c[:, None]
        m = len(D0)
        total = np.zeros((m, m))
        for low in range(0, len(times), EXPONENTIALS_PER_CHUNK):
            part = slice(low, low + EXPONENTIALS_PER_CHUNK)
            blocks = np.zeros((len(times[part]), 2 * m, 2 * m))
            blocks[:, :m, :m] = blocks[:, m:, m:] = D0
            blocks[:, :m, m:] = later[part, :, None] * self._a[part, None, :]
            exponentials = expm(blocks * times[part, None, None])
            total += exponentials[:, :m, m:].sum(axis=0).T
        return total
