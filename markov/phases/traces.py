"""Markovian arrival processes fitted to measured streams, by the EM algorithm.

P. Buchholz, An EM-algorithm for MAP fitting from real traffic data, TOOLS 2003, LNCS 2794; T. Ryden, An EM
algorithm for estimation in Markov-modulated Poisson processes, Computational Statistics & Data Analysis
21, 1996. The expected times and numbers of changes of phase come from `markov.phases.passes`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import integer, number
from hopflow.progress import progress_bar
from hopflow.results import Result, Status, figure
from hopflow.units import quantities
from markov.phases.arrivals import MAP
from markov.phases.passes import Passes
from markov.phases.phase_types import MOMENTS_FIX_NO_LOSS
from markov.phases.sample_fits import Moment, moments_of_series, warn_of_difference

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["MapFit", "fit_map"]

FEWEST = 10  # intervals per phase
MAX_PHASES = 8  # phases
CORRELATIONS = 20  # lags
GAIN = 1e-8  # of the log-likelihood, per interval and round: less ends the iteration


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class MapFit(Result):
    """A Markovian arrival process fitted to intervals, with moments of both.

    Attributes
    ----------
    process
        The `MAP`; its ``fits`` has the moments too, and answers of queues with it say so.
    log_likelihood
        Of all intervals, for densities in 1/s, the first of them after an arrival.
    rounds
        Iterations of the algorithm.
    converged
        Whether they ended because the likelihood rose no more.
    correlations
        Of intervals 1, 2, ... apart, of the sample and of the fit, shape (2, lags).

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
        """Mean, scv and lag-1 correlation of the intervals, each with the half width of the sample's 95 % interval.

        The errors are those of the means of 20 batches.
        """
        return self.process.fits[0].moments

    @property
    def status(self) -> Status:
        """SOLVED where the likelihood rose no more, INACCURATE where the rounds ended before."""
        return Status.SOLVED if self.converged else Status.INACCURATE

    def summary(self) -> dict[str, object]:
        """Return the process, the moments of fit and sample, and how it was chosen."""
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


@quantities(intervals="time")
def fit_map(intervals: ArrayLike, *, phases: int = 2, rounds: int = 500) -> MapFit:
    """Return the Markovian arrival process of greatest likelihood that an EM algorithm finds.

    Parameters
    ----------
    intervals
        Times between arrivals in s, in their order, positive, at least ten per phase; shape (n,).
    phases
        Of the process, 1 to 8.
    rounds
        Iterations at most, from each of two starts.

    Returns
    -------
    MapFit
        With mean, scv and lag-1 correlation of sample and fit. A local maximum: the likelihood of others may be larger. A round takes some microseconds per
        interval.

    Warns
    -----
    FitWarning
        Naming the first of mean, scv and lag-1 correlation that is outside of the sample's 95 % interval, by batch means:
        the likelihood does not match them by itself.

    Raises
    ------
    ValueError
        For intervals that are not positive or too few, and a number of phases or rounds outside its range.

    Examples
    --------
    Bursts of intervals of about 1 ms, then some of about 50 ms:

    >>> import numpy as np
    >>> from markov import fit_map
    >>> rng = np.random.default_rng(1)
    >>> long = np.repeat(rng.random(50) < 0.3, 10)
    >>> found = fit_map(rng.exponential(np.where(long, 0.05, 0.001)))
    >>> found.process.order, found.converged, bool(found.process.dispersion > 5.0)
    (2, True, True)
    """
    m, most = integer("phases", phases, 1, MAX_PHASES), integer("rounds", rounds, 1, 10**6)
    given = number("intervals", intervals, above=0.0)
    if given.ndim != 1 or len(given) < FEWEST * m:
        least = f"with phases = {m} at least {FEWEST * m} times in one row are expected"
        raise ValueError(f"intervals has shape {given.shape}: {least}")
    scale = float(given.mean())
    starts = _starts(given / scale, m)
    with progress_bar(total=most * len(starts), desc="EM algorithm") as bar:
        fits = []
        for D0, D1 in starts:
            fits.append(_climbed(given / scale, D0, D1, most, bar))
            bar.update(most - fits[-1].rounds)
    best = max(fits, key=lambda fit: fit.log_likelihood)
    process = MAP(best.process.D0 / scale, best.process.D1 / scale)
    likelihood = best.log_likelihood - len(given) * math.log(scale)
    lags = min(CORRELATIONS, len(given) // 4)
    deviations = given / scale - 1.0
    products = [float(np.mean(deviations[:-lag] * deviations[lag:])) for lag in range(1, lags + 1)]
    variance = float(np.mean(deviations**2)) or math.inf  # equal intervals have no correlation
    correlations = np.array([np.array(products) / variance, process.autocorrelation(lags)])
    interval = process.interval
    origin = moments_of_series(given, (interval.mean, interval.scv, float(correlations[1, 0])))
    warn_of_difference(origin, "fit other numbers of phases, and compare answers with a simulation of the intervals")
    return MapFit(
        process=process.with_fits((origin,)),
        log_likelihood=likelihood,
        rounds=best.rounds,
        converged=best.converged,
        correlations=correlations,
    )


class _Climb(NamedTuple):
    """Where the EM algorithm ended."""

    process: MAP
    log_likelihood: float
    rounds: int
    converged: bool


def _starts(times: Floats, m: int) -> list[tuple[Floats, Floats]]:
    """Return processes to start from: phases are groups of intervals of similar lengths.

    One with the transitions between groups that were counted, one with independent intervals.
    """
    order = np.argsort(np.argsort(times, kind="stable"), kind="stable")
    groups = order * m // len(times)
    rates = 1.0 / np.array([times[groups == k].mean() for k in range(m)])
    counts = np.ones((m, m))
    np.add.at(counts, (groups[:-1], groups[1:]), 1.0)
    hidden = 0.1 * rates[:, None] / m * (1.0 - np.eye(m))
    found = []
    for weights in (counts, np.ones((m, m))):
        D1 = rates[:, None] * weights / weights.sum(axis=1, keepdims=True)
        found.append((hidden - np.diag(hidden.sum(axis=1) + rates), D1))
    return found if m > 1 else found[:1]


def _climbed(times: Floats, D0: Floats, D1: Floats, most: int, bar: object) -> _Climb:
    before, found = -math.inf, MAP(D0, D1)
    for rounds in range(1, most + 1):
        passes = Passes(found.D0, found.D1, found.interval.alpha, times)
        if passes.log_likelihood - before <= GAIN * len(times):
            return _Climb(found, passes.log_likelihood, rounds, converged=True)
        before, last = passes.log_likelihood, found
        found = MAP(*passes.improved())
        bar.update()  # type: ignore[attr-defined]
    return _Climb(last, before, most, converged=False)
