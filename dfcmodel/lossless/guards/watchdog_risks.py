"""False alarms of watchdogs, by their settings.

Pauses and the gaps between them are independent phase-type times, unaffected by the watchdog. Polled at
regular instants they are a Markov chain. Uniformization gives the time paused in an interval (E. de
Souza e Silva and H. R. Gail, IEEE Transactions on Computers 35(4), 1986), the stationary
distribution of phases and counters gives the rate of declared storms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.lossless.guards.watchdogs import Watchdog, check_times, watchdog_time
from hopflow.checks import format_value, instance, one_number
from hopflow.results import NotSolvedError, Result, figure
from hopflow.units import WithUnit, declares, in_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dfcmodel.lossless.quantities import Given
    from markov import PhaseType

    Floats = NDArray[np.float64]

__all__ = ["WatchdogRisk", "recommend_watchdog", "watchdog_risk"]

MAX_EVENTS = 1000.0
"""Maximum expected events of an interval for which the time paused is computed."""
YEAR = 365.25 * 86400.0
MAX_SHARE_NOT_SAID = 0.01
"""Largest part by which alarms are rarer than those while watching for a summary that has one number for both."""


@dataclass(frozen=True, eq=False, repr=False)
class WatchdogRisk(Result):
    """False alarms of a watchdog, 1/s, and its time of dropping, as `watchdog_risk` returns them.

    Attributes
    ----------
    watchdog
        Settings of the watchdog.
    alarms
        Storms declared per second in the long run, in which it also drops and declares none; None if an interval has
        too many pauses, or restorations are too rare, to compute it.
    bound
        Upper bound of ``alarms`` and ``watching`` for any number of pauses (Chernoff), per second.
    dropping
        Fraction of time in which packets are dropped, in the long run; None as above.
    watching
        Storms declared per second if each is restored at once: how soon a watchdog that watches declares one. Where
        pauses seldom leave an interval free, it hardly declares another one, as it drops all the time: ``alarms`` is
        then far smaller. None if an interval has too many pauses to compute it.

    Examples
    --------
    >>> from dfcmodel.lossless import Watchdog, watchdog_risk
    >>> from markov import PhaseType
    >>> pauses, gaps = PhaseType.exponential(20.0), PhaseType.exponential(1.0)
    >>> risk = watchdog_risk(Watchdog("100 ms", "200 ms", "1 s"), pauses, gaps)
    >>> 0.0 < risk.alarms < risk.bound
    True
    """

    watchdog: Watchdog
    alarms: float | None
    bound: float
    dropping: float | None
    watching: float | None

    @property
    def worst(self) -> float:
        """Alarms per second while it watches, or if these are not computed, their upper bound."""
        return self.bound if self.watching is None else self.watching

    def summary(self) -> dict[str, object]:
        """Return texts by name: settings, false alarms per year and their bound, and the detection time of storms."""
        dog, (low, high) = self.watchdog, self.watchdog.delay
        fraction = "" if dog.fraction == 1.0 else f", intervals paused for at least {dog.fraction:g}"
        alarms = "not computed" if self.alarms is None else f"{self.alarms * YEAR:.4g}"
        if self.watching is not None and (self.alarms or 0.0) < (1.0 - MAX_SHARE_NOT_SAID) * self.watching:
            alarms += f", {self.watching * YEAR:.4g} if each storm were restored at once"
        return {
            "polling": f"{dog.period:g} s{fraction}",
            "detection, restoration": f"{float(dog.detection):g} s, {float(dog.restoration):g} s",
            "false alarms per year": f"{alarms}, at most {self.bound * YEAR:.4g}",
            "dropping": "not computed" if self.dropping is None else f"{self.dropping:.3g} of the time",
            "storm detected after": f"{low:.4g} to {high:.4g} s",
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the probability of missing a storm over its length; return the Axes."""
        axes = figure()[1] if ax is None else ax
        lengths = np.linspace(1e-3, 1.5, 200) * self.watchdog.delay[1]
        axes.plot(lengths, [self.watchdog.miss(float(length)) for length in lengths])
        axes.set(xlabel="length of the storm, s", ylabel="P(not detected)")
        return axes


def watchdog_risk(watchdog: Watchdog, pauses: PhaseType, gaps: PhaseType) -> WatchdogRisk:
    """Return the false alarms per second of a watchdog under random pauses and gaps.

    Parameters
    ----------
    watchdog
        Settings of the watchdog.
    pauses, gaps
        Durations of the pauses and of the gaps between them, s.

    Examples
    --------
    >>> from dfcmodel.lossless import Watchdog, watchdog_risk
    >>> from markov import PhaseType
    >>> pauses, gaps = PhaseType.exponential(20.0), PhaseType.exponential(1.0)
    >>> patient = watchdog_risk(Watchdog("100 ms", "400 ms", "1 s"), pauses, gaps)
    >>> patient.alarms < watchdog_risk(Watchdog("100 ms", "200 ms", "1 s"), pauses, gaps).alarms
    True
    """
    instance("watchdog", watchdog, Watchdog)
    check_times(pauses, gaps)
    Q, on, start = _alternating(pauses, gaps)
    bound = _chernoff(watchdog, Q, on, start)
    bad, every = _intervals(Q, on, watchdog)
    if bad is None:
        return WatchdogRisk(watchdog, None, bound, None, None)
    n = watchdog.polls

    def rate_of(pi: Floats) -> float:
        return float(pi[n - 1] @ bad.sum(axis=1)) / watchdog.period

    watching = rate_of(_counter_probabilities(every, [(bad, n)]))
    try:
        quiet = _whole_intervals(Q, ~on, watchdog, every)
        pi = _counter_probabilities(every, [(bad, n), (quiet, watchdog.good_polls)])
    except NotSolvedError:  # restorations underflow
        return WatchdogRisk(watchdog, None, bound, None, watching)
    return WatchdogRisk(watchdog, rate_of(pi), bound, float(pi[n:].sum()), watching)


def _counter_probabilities(every: Floats, stages: list[tuple[Floats, int]]) -> Floats:
    """Return stationary probabilities, [counter, phase], of stages in a circle: (matrix that counts, number of counts).

    A stage counts consecutive intervals of one kind, given by their probabilities, and ends at a number of them; any
    other interval begins its count again.
    """
    import scipy.sparse as sp

    from markov import MarkovChain, stationary

    m, total = len(every), sum(count for _, count in stages)
    blocks = sp.lil_matrix((total * m, total * m))
    first = 0
    for counted, count in stages:
        for k in range(first, first + count):
            rows, after = slice(k * m, (k + 1) * m), (k + 1) % total
            blocks[rows, after * m : (after + 1) * m] += counted
            blocks[rows, first * m : (first + 1) * m] += every - counted
        first += count
    generator = sp.csr_matrix(blocks)
    generator = generator - sp.diags(np.asarray(generator.sum(axis=1)).ravel())
    return np.asarray(stationary(MarkovChain(generator)).pi).reshape(total, m)


@declares(within="time", pollings="time", fraction="share")
def recommend_watchdog(
    pauses: PhaseType,
    gaps: PhaseType,
    *,
    within: Given,
    alarms_per_year: float = 0.01,
    pollings: Sequence[Given] = ("10 ms", "20 ms", "50 ms", "100 ms", "200 ms", "400 ms"),
    fraction: WithUnit = 1.0,
) -> WatchdogRisk:
    """Return the slowest polling that detects storms ``within`` s at few false alarms while it watches, or ValueError.

    Parameters
    ----------
    pauses, gaps
        Ordinary pauses, as for `watchdog_risk`.
    within
        Every lasting storm is detected within this time, s.
    alarms_per_year
        Maximum number of false alarms of one queue per year in which it watches (`WatchdogRisk.watching`).
    pollings
        Possible times between polls; the longest sufficient time is chosen, as polls cost time.
    fraction
        Minimum paused fraction of a bad interval.

    Raises
    ------
    ValueError
        If no setting meets both limits.

    Examples
    --------
    >>> from dfcmodel.lossless import recommend_watchdog
    >>> from markov import PhaseType
    >>> pauses, gaps = PhaseType.exponential(100.0), PhaseType.exponential(1.0)
    >>> risk = recommend_watchdog(pauses, gaps, within="1 s")
    >>> risk.watchdog.period, risk.watchdog.polls
    (0.4, 1)
    """
    check_times(pauses, gaps)
    limit = watchdog_time("within", within)
    max_alarms = one_number("alarms_per_year", alarms_per_year, above=0.0)
    share = one_number("fraction", in_units("fraction", fraction, "share"), above=0.0, at_most=1.0)
    if isinstance(pollings, str) or not isinstance(pollings, Iterable):
        raise TypeError(f"pollings = {format_value(pollings)}: must be a list of times")
    rates = []
    for period in sorted((watchdog_time("pollings", polling) for polling in pollings), reverse=True):
        count = math.floor(limit / period - share + 1e-9)
        if count >= 1:
            polling, detection, restoration = (f"{polls * period!r} s" for polls in (1, count, 2 * count))
            dog = Watchdog(polling, detection, restoration, share)
            risk = watchdog_risk(dog, pauses, gaps)
            if risk.worst * YEAR <= max_alarms:
                return risk
            rates.append(risk.worst * YEAR)
    rarest = f"; the rarest have {min(rates):.3g} per year" if rates else ": pollings are too long"
    raise ValueError(f"within = {limit:g} s, alarms_per_year = {max_alarms:g}: no setting fulfils both{rarest}")


def _alternating(pauses: PhaseType, gaps: PhaseType) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Return the generator of alternating pauses and gaps, flags of the pause phases, and the stationary state."""
    m = pauses.order + gaps.order
    Q, on = np.zeros((m, m)), np.arange(m) < pauses.order
    Q[: pauses.order, : pauses.order], Q[pauses.order :, pauses.order :] = pauses.T, gaps.T
    Q[: pauses.order, pauses.order :] = np.outer(pauses.exits, gaps.alpha)
    Q[pauses.order :, : pauses.order] = np.outer(gaps.exits, pauses.alpha)
    occupancy = [np.linalg.solve(-times.T.T, times.alpha) for times in (pauses, gaps)]
    start = np.concatenate(occupancy) / (pauses.mean + gaps.mean)
    return Q, on, start


def _intervals(Q: Floats, on: NDArray[np.bool_], dog: Watchdog) -> tuple[Floats | None, Floats]:
    """Return P(bad interval), None if not computed, and P(any interval), matrices by [first phase, last phase]."""
    from scipy.linalg import expm
    from scipy.special import betaincc
    from scipy.stats import poisson

    # rounding of expm leaves entries of about -1e-16 in place of tiny probabilities, as of Erlang phases far apart
    every = np.maximum(expm(Q * dog.period), 0.0)
    if dog.fraction == 1.0:
        return _whole_intervals(Q, on, dog, every), every
    bad = np.zeros_like(Q)
    rate = float(-Q.diagonal().min())
    if rate * dog.period > MAX_EVENTS:
        return None, every
    step, m = np.eye(len(Q)) + Q / rate, len(Q)
    mean = rate * dog.period
    last = int(mean + 12.0 * math.sqrt(mean) + 40.0)  # more events have less than 1e-18
    weights = poisson.pmf(np.arange(last + 1), mean)
    paths = np.zeros((last + 2, m, m))  # by how many of the pieces of the interval are paused
    paths[on.astype(np.int64), np.arange(m), np.arange(m)] = 1.0
    for events in range(last + 1):
        k = np.arange(events + 2)
        above = np.where(k == events + 1, 1.0, 0.0)  # of the sum of k of events + 1 pieces: Beta
        inner = slice(1, events + 1)
        above[inner] = betaincc(k[inner], events + 1 - k[inner], dog.fraction)
        bad += weights[events] * np.tensordot(above, paths[: events + 2], axes=1)
        stepped = paths[: events + 2] @ step
        paths[: events + 2, :, ~on] = stepped[:, :, ~on]
        paths[0, :, on] = 0.0
        if events < last:
            paths[1 : events + 3, :, on] = stepped[:, :, on]
    return np.minimum(bad, every), every


def _whole_intervals(Q: Floats, phases: NDArray[np.bool_], dog: Watchdog, every: Floats) -> Floats:
    """Return the matrix of probabilities, [first phase, last phase], of a poll interval spent in ``phases`` alone."""
    from scipy.linalg import expm

    probabilities, block = np.zeros_like(Q), np.ix_(phases, phases)
    probabilities[block] = np.clip(expm(Q[block] * dog.period), 0.0, every[block])
    return probabilities


def _chernoff(dog: Watchdog, Q: Floats, on: NDArray[np.bool_], start: Floats) -> float:
    """Return an upper bound of the alarms per second: n bad intervals have at least n f periods of pauses.

    P(O_1, ..., O_n >= f P) <= E exp(theta (sum O - n f P)) for every theta >= 0; every alarm ends such a run.
    """
    from scipy.linalg import expm
    from scipy.optimize import minimize_scalar

    time = dog.polls * dog.period

    def exponent(theta: float) -> float:
        tilted = Q + theta * np.diag(on.astype(np.float64))
        shift = float(np.linalg.eigvals(tilted).real.max())  # neither overflow nor underflow
        block = np.asarray(expm((tilted - shift * np.eye(len(Q))) * dog.period))
        weights = start @ np.linalg.matrix_power(block, dog.polls)
        return math.log(float(weights.sum())) + (shift - theta * dog.fraction) * time

    high = 50.0 * float(-Q.diagonal().min())
    optimum = minimize_scalar(exponent, bounds=(0.0, high), method="bounded")
    return min(1.0, math.exp(min(0.0, exponent(float(optimum.x))))) / dog.period
