"""What the checks of malhotra2005 share: settings of the chain, bundled runs, gains, and tests.

Every parameter set has its own random streams and several seeds; a seed reports the half-width of a
95 % Student interval from its batch means. These go back to standard errors here, are pooled over
the seeds, and keep Student's law with the degrees of freedom of all batch means.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scipy import stats

from markov import PauseTandem, SparseLU, stationary
from validation.evidence import provenance, table
from validation.verdicts import Number, Verdict

THRESHOLDS = "malhotra2005/pause-thresholds"
GRANULARITY = "malhotra2005/pause-granularity"
LEVELS = "malhotra2005/pause-levels"
LOW_THRESHOLD = "malhotra2005/pause-low-threshold"
OFF = "malhotra2005/pause-off"

LEVEL = 0.01
"""Level of every test: 99 % confidence, after the correction for their number."""

MEASURES = (
    "throughput",
    "effective_rate_1",
    "effective_rate_2",
    "loss_rate_1",
    "loss_rate_2",
    "mean_queue_1",
    "mean_queue_2",
    "pause_fraction",
    "pause_rate",
)
"""Columns of the bundled tables that carry a half-width."""


# --------------------------------------------------------------------------- the chain


class Setting(NamedTuple):
    """Parameters of `PauseTandem` under short names; ``low=None`` is T2 = T1."""

    rates: tuple[float, ...] = (25.0, 1.0)
    high: int = 15
    low: int | None = None
    rtt: float = 1.0
    paused_rate: float = 2.0
    recovery: str = "always"
    pause_at_threshold: str = "exclusive"
    buffers: tuple[int, int] = (10, 20)

    @property
    def model(self) -> PauseTandem:
        """The chain."""
        return PauseTandem(
            buffers=self.buffers,
            high_threshold=self.high,
            low_threshold=self.low,
            paused_rate=self.paused_rate,
            arrival_rates=self.rates,
            rtt=self.rtt,
            recovery=self.recovery,
            pause_at_threshold=self.pause_at_threshold,
        )

    @property
    def off(self) -> Setting:
        """TCP alone: T1 = B2. T2, mu2 and the readings of the rules do not matter (M02)."""
        return Setting(self.rates, self.buffers[1], rtt=self.rtt, buffers=self.buffers)


@dataclass(frozen=True)
class Answer:
    """Measures of the stationary chain; pairs are of queue 1 and queue 2, rates in packets/s."""

    throughput: float
    expressions: tuple[float, float, float]
    printed_rate_2: float
    effective_rate: tuple[float, float]
    loss_rate: tuple[float, float]
    mean_queue: tuple[float, float]
    pause_fraction: float
    error_bound: float

    def __getitem__(self, measure: str) -> float:
        """Return a measure by the name of its column in the bundled tables."""
        name, _, queue = measure.rpartition("_")
        if queue in ("1", "2"):
            pair: tuple[float, float] = getattr(self, name)
            return pair[int(queue) - 1]
        value: float = getattr(self, measure)
        return value


@functools.cache
def solve(setting: Setting) -> Answer:
    """Solve pi Q = 0 by sparse LU, several times faster than GTH here and equal to it (see M01).

    ``printed_rate_2`` is lambda_effec,2 exactly as printed, which knows nothing of two rules firing
    at j = T1.
    """
    model = setting.model
    answer = stationary(model, SparseLU())
    s = model.states()
    sends = (s.i > 0) & (s.j < setting.buffers[1])
    rate = model.params.link_rate * (s.k == 1) + setting.paused_rate * (s.k == 2)
    one, two, three = map(float, answer["throughput_expressions"])

    def pair(measure: str) -> tuple[float, float]:
        first, second = map(float, answer[measure])
        return first, second

    return Answer(
        throughput=answer.throughput,
        expressions=(one, two, three),
        printed_rate_2=float((answer.pi * rate * sends).sum()),
        effective_rate=pair("effective_rate"),
        loss_rate=pair("loss_rate"),
        mean_queue=pair("mean_queue"),
        pause_fraction=float(answer["pause_fraction"]),
        error_bound=answer.error_bound,
    )


def gain(setting: Setting) -> float:
    """Return the gain in throughput over TCP alone, in per cent."""
    return 100.0 * (solve(setting).throughput / solve(setting.off).throughput - 1.0)


def cost(setting: Setting) -> float:
    """Return what T2 < T1 costs against T2 = T1, in per cent of the throughput."""
    return 100.0 * (1.0 - solve(setting).throughput / solve(setting._replace(low=None)).throughput)


def best_threshold(setting: Setting) -> int:
    """Return the T1 = T2 of the largest throughput, by climbing from the setting's own.

    The throughput has one maximum over 2 .. B2 - 1 (the full scans of M06 show it).
    """
    last = setting.buffers[1] - 1

    def value(threshold: int) -> float:
        inside = 1 <= threshold <= last
        return solve(setting._replace(high=threshold)).throughput if inside else -math.inf

    here = min(setting.high, last)
    while True:
        step = max((-1, 1), key=lambda step: value(here + step))
        if value(here + step) <= value(here):
            return here
        here += step


# --------------------------------------------------------------------------- the packet runs


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error and the degrees of freedom of that error (inf: it is known)."""

    value: float
    error: float
    dof: float = math.inf

    @property
    def half_width(self) -> float:
        """Half-width of the 95 % Student interval."""
        return float(stats.t.ppf(0.975, self.dof)) * self.error

    def __str__(self) -> str:
        digits = 2 if self.error == 0 else max(0, 1 - math.floor(math.log10(self.half_width)))
        return f"{self.value:.{digits}f} ± {self.half_width:.{digits}f}"

    def __neg__(self) -> Estimate:
        return Estimate(-self.value, self.error, self.dof)

    def score(self, expected: float = 0.0) -> float:
        """Return the deviation from ``expected`` as a standard normal score of equal probability."""
        t = (self.value - expected) / self.error
        return math.copysign(float(stats.norm.isf(stats.t.sf(abs(t), self.dof))), t)

    def p_positive(self) -> float:
        """Return the p-value of the hypothesis that the mean is at most 0."""
        return float(stats.t.sf(self.value / self.error, self.dof))


class Run(NamedTuple):
    """One parameter set: estimates by column, over all seeds, and the table's row of every seed."""

    setting: Setting
    estimates: Mapping[str, Estimate]
    seeds: tuple[Mapping[Any, Any], ...]


def runs(*cases: str) -> dict[Setting, Run]:
    """Return the parameter sets of the cases, those that the chain knows.

    It knows exponential packets and a rate mu2 > 0 while paused, which takes hold at once.
    """
    found = {}
    for case in cases:
        by_setting: dict[Setting, list[dict[Any, Any]]] = {}
        for row in table(case).to_dict("records"):
            known = row["service"] == "exponential" and row["signal_delay"] == 0
            if known and row["paused_rate"] > 0:
                by_setting.setdefault(_setting(row), []).append(row)
        within = int(provenance(case)["parameters"]["batches_per_seed"]["value"]) - 1
        quantile = float(stats.t.ppf(0.975, within))
        for setting, seeds in by_setting.items():
            estimates = {
                measure: Estimate(
                    math.fsum(row[measure] for row in seeds) / len(seeds),
                    math.hypot(*(row[f"{measure}_half_width"] for row in seeds))
                    / (quantile * len(seeds)),
                    len(seeds) * within,
                )
                for measure in MEASURES
            }
            found[setting] = Run(setting, estimates, tuple(seeds))
    return found


def _setting(row: Mapping[Any, Any]) -> Setting:
    """Return the parameters of a row of a table."""
    high, low = int(row["high_threshold"]), int(row["low_threshold"])
    return Setting(
        rates=tuple(float(rate) for rate in row["arrival_rates"].split()),
        high=high,
        low=None if low == high else low,
        rtt=float(row["rtt"]),
        paused_rate=float(row["paused_rate"]),
        recovery=row["recovery"],
        pause_at_threshold=row["pause_at_threshold"],
    )


def combine(estimates: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """Return the weighted sum of independent estimates.

    The degrees of freedom are the smallest of the terms: fewer than Satterthwaite's, so intervals
    are a little too wide rather than too narrow.
    """
    value = math.fsum(w * e.value for w, e in zip(weights, estimates, strict=True))
    error = math.hypot(*(w * e.error for w, e in zip(weights, estimates, strict=True)))
    return Estimate(value, error, min(e.dof for e in estimates))


def ratio_gain(on: Estimate, off: Estimate) -> Estimate:
    """Return the gain 100 (on / off - 1) of two independent runs, in per cent (delta method)."""
    ratio = on.value / off.value
    error = 100.0 * ratio * math.hypot(on.error / on.value, off.error / off.value)
    return Estimate(100.0 * (ratio - 1.0), error, min(on.dof, off.dof))


def measured_gain(data: Mapping[Setting, Run], setting: Setting) -> Estimate:
    """Return the gain over TCP alone of one bundled run, in per cent."""
    on, off = (data[s].estimates["throughput"] for s in (setting, setting.off))
    return ratio_gain(on, off)


# --------------------------------------------------------------------------- tests


def everywhere(estimates: Iterable[Estimate]) -> Verdict:
    """Return whether all of the quantities are positive.

    REPRODUCED when each one is, at `LEVEL`: an intersection-union test, which needs no correction
    since all have to pass. CONTRADICTED when some one is negative at `LEVEL` over their number
    (Bonferroni). NOT_REPRODUCED otherwise.
    """
    estimates = list(estimates)
    if all(e.p_positive() < LEVEL for e in estimates):
        return Verdict.REPRODUCED
    if any((-e).p_positive() < LEVEL / len(estimates) for e in estimates):
        return Verdict.CONTRADICTED
    return Verdict.NOT_REPRODUCED


def opposite(verdict: Verdict) -> Verdict:
    """Return the verdict on the opposite statement."""
    swap = {Verdict.REPRODUCED: Verdict.CONTRADICTED, Verdict.CONTRADICTED: Verdict.REPRODUCED}
    return swap.get(verdict, verdict)


class Outcome(NamedTuple):
    """A test statistic with its degrees of freedom and p-value."""

    statistic: float
    dof: int
    p: float


def chi2_test(scores: Sequence[float]) -> Outcome:
    """Return the chi-square test that independent scores are standard normal."""
    statistic = math.fsum(z * z for z in scores)
    return Outcome(statistic, len(scores), float(stats.chi2.sf(statistic, len(scores))))


def welch_test(estimates: Sequence[Estimate]) -> Outcome:
    """Return Welch's test that k independent means with unequal errors are equal.

    B. L. Welch, On the comparison of several mean values, Biometrika 38, 1951: the chi-square
    statistic of homogeneity, corrected for errors that are themselves estimated.
    """
    k = len(estimates)
    weights = [1.0 / e.error**2 for e in estimates]
    total = math.fsum(weights)
    mean = math.fsum(w * e.value for w, e in zip(weights, estimates, strict=True)) / total
    chi2 = math.fsum(w * (e.value - mean) ** 2 for w, e in zip(weights, estimates, strict=True))
    spread = math.fsum(
        (1.0 - w / total) ** 2 / e.dof for w, e in zip(weights, estimates, strict=True)
    )
    f = chi2 / (k - 1) / (1.0 + 2.0 * (k - 2) / (k * k - 1) * spread)
    return Outcome(chi2, k - 1, float(stats.f.sf(f, k - 1, (k * k - 1) / (3.0 * spread))))


def p_text(p: float) -> str:
    """Return a p-value as text."""
    return f"p = {p:.3f}" if p >= 0.001 else f"p = {p:.0e}"


def agreement(measured: Iterable[Run], what: str, measure: str = "throughput") -> Number:
    """Return the row that compares the chain with packet runs, point by point."""
    pairs = [(run.estimates[measure], solve(run.setting)[measure]) for run in measured]
    test = chi2_test([e.score(expected) for e, expected in pairs])
    worst = max(abs(e.value / expected - 1.0) for e, expected in pairs)
    return Number(
        f"chain against packets, {measure.replace('_', ' ')}: {what}",
        model=f"{len(pairs)} points",
        simulation=(
            f"chi2 = {test.statistic:.1f}, {test.dof} degrees of freedom, {p_text(test.p)}; "
            f"largest difference {100 * worst:.2f} %"
        ),
        tolerance="scores from batch means, Student's law; they agree when p > 0.01",
    )
