"""The bundled packet runs of malhotra2005's pause tandem, as estimates with errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import stats

from validation.claims.malhotra2005.chain import Setting
from validation.evidence import provenance, table

if TYPE_CHECKING:
    import pandas as pd

THRESHOLDS = "malhotra2005/pause-thresholds"
GRANULARITY = "malhotra2005/pause-granularity"
LEVELS = "malhotra2005/pause-levels"
LOW_THRESHOLD = "malhotra2005/pause-low-threshold"
OFF = "malhotra2005/pause-off"
LOAD = "malhotra2005/pause-load"
LARGE_RTT = "malhotra2005/pause-large-rtt"
LINK_A = "malhotra2005/tcp-link-a"
RANDOM_THINK = "malhotra2005/tcp-random-think"

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


def of_seeds(values: pd.Series[float]) -> Estimate:
    """Return the mean over independent seeds."""
    count = len(values)
    return Estimate(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(count), count - 1)


def tcp_goodput(case: str, pause: str) -> dict[tuple[float, float], Estimate]:
    """Return TCP's goodput in packets/s with pausing "on" or "off", by link A's rate and the RTT."""
    frame = table(case)
    rows: Any = frame[frame["pause"] == pause].groupby(["link_a", "rtt"])["goodput"]
    return {(float(link_a), float(rtt)): of_seeds(seeds) for (link_a, rtt), seeds in rows}


def tcp_gains(case: str) -> dict[tuple[float, float], Estimate]:
    """Return the gain in TCP's goodput over no pause, in per cent, by link A's rate and the RTT."""
    on, off = (tcp_goodput(case, pause) for pause in ("on", "off"))
    return {point: ratio_gain(on[point], off[point]) for point in on}


def combine(estimates: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """Return the weighted sum of independent estimates.

    The degrees of freedom are the smallest of the terms: fewer than Satterthwaite's, so intervals
    are a little too wide rather than too narrow.
    """
    value = math.fsum(w * e.value for w, e in zip(weights, estimates, strict=True))
    error = math.hypot(*(w * e.error for w, e in zip(weights, estimates, strict=True)))
    return Estimate(value, error, min(e.dof for e in estimates))


def slope(estimates: Sequence[Estimate], x: Sequence[float]) -> Estimate:
    """Return the slope of the straight line through independent estimates (least squares)."""
    centred = np.subtract(x, np.mean(x))
    return combine(estimates, [float(w) for w in centred / (centred @ centred)])


def ratio_gain(on: Estimate, off: Estimate) -> Estimate:
    """Return the gain 100 (on / off - 1) of two independent runs, in per cent (delta method)."""
    ratio = on.value / off.value
    error = 100.0 * ratio * math.hypot(on.error / on.value, off.error / off.value)
    return Estimate(100.0 * (ratio - 1.0), error, min(on.dof, off.dof))


def measured_gain(data: Mapping[Setting, Run], setting: Setting) -> Estimate:
    """Return the gain over TCP alone of one bundled run, in per cent."""
    on, off = (data[s].estimates["throughput"] for s in (setting, setting.off))
    return ratio_gain(on, off)
