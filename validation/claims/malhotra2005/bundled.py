"""The bundled packet runs of malhotra2005's pause tandem, as estimates with errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hopflow.intervals import t_quantile
from validation import evidence
from validation.claims.malhotra2005.chain import Setting, solve
from validation.statistics import (
    CONFIDENCE,
    Estimate,
    Outcome,
    chi2_test,
    difference,
    of_runs,
    ratio_gain,
)

THRESHOLDS = "malhotra2005/pause-thresholds"
GRANULARITY = "malhotra2005/pause-granularity"
LEVELS = "malhotra2005/pause-levels"
MORE_LEVELS = "malhotra2005/pause-levels-seeds"
LOW_THRESHOLD = "malhotra2005/pause-low-threshold"
OFF = "malhotra2005/pause-off"
LOAD = "malhotra2005/pause-load"
LARGE_RTT = "malhotra2005/pause-large-rtt"
LINK_A = "malhotra2005/tcp-link-a"
RANDOM_THINK = "malhotra2005/tcp-random-think"

MEASURES = (
    *("throughput", "effective_rate_1", "effective_rate_2", "loss_rate_1", "loss_rate_2"),
    *("mean_queue_1", "mean_queue_2", "pause_fraction", "pause_rate"),
)
"""Columns of the bundled tables that carry a half-width."""


class Run(NamedTuple):
    """One parameter set: estimates by column, over all seeds, and the table's row of every seed."""

    setting: Setting
    estimates: Mapping[str, Estimate]
    seeds: tuple[Mapping[Any, Any], ...]


class Compared(NamedTuple):
    """A number of the chain beside that of the packet runs."""

    model: float
    packets: Estimate


class Runs(dict[Setting, Run]):
    """Parameter sets of packet runs."""

    def rate(self, setting: Setting) -> Estimate:
        """Return the throughput in packets/s."""
        return self[setting].estimates["throughput"]

    def gain(self, setting: Setting) -> Estimate:
        """Return the gain in throughput over TCP alone, in per cent."""
        return ratio_gain(self.rate(setting), self.rate(setting.off))


def runs(*cases: str) -> Runs:
    """Return the parameter sets of the cases that the chain can model, of one with all its seeds.

    These have exponential packet sizes, no signalling delay, and a rate mu2 > 0 while paused.
    """
    by_setting: dict[Setting, list[dict[Any, Any]]] = {}
    for case in cases:
        for row in evidence.frame(case).to_dict("records"):
            known = row["service"] == "exponential" and row["signal_delay"] == 0
            if known and row["paused_rate"] > 0:
                by_setting.setdefault(_setting(row), []).append(row)
    (batches,) = {int(evidence.provenance(case)["parameters"]["batches_per_seed"]["value"]) for case in cases}
    found = Runs()
    for setting, seeds in by_setting.items():
        estimates = {measure: _pooled(seeds, measure, batches - 1) for measure in MEASURES}
        found[setting] = Run(setting, estimates, tuple(seeds))
    return found


def _pooled(seeds: Sequence[Mapping[Any, Any]], measure: str, dof: int) -> Estimate:
    """Return the mean over the seeds, its error from the half-widths of their batch means."""
    widths = math.hypot(*(row[f"{measure}_half_width"] for row in seeds))
    count = len(seeds)
    mean = math.fsum(row[measure] for row in seeds) / count
    return Estimate(mean, widths / (float(t_quantile(dof, CONFIDENCE)) * count), count * dof)


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


def tcp_goodput(case: str, pause: str) -> dict[tuple[float, float], Estimate]:
    """Return TCP's goodput in packets/s with pausing "on" or "off", by link A's rate and the RTT."""
    frame = evidence.frame(case)
    rows: Any = frame[frame["pause"] == pause].groupby(["link_a", "rtt"])["goodput"]
    return {(float(link_a), float(rtt)): of_runs(seeds) for (link_a, rtt), seeds in rows}


def tcp_gains(case: str) -> dict[tuple[float, float], Estimate]:
    """Return the gain in TCP's goodput over no pause, in per cent, by link A's rate and the RTT."""
    on, off = (tcp_goodput(case, pause) for pause in ("on", "off"))
    return {point: ratio_gain(on[point], off[point]) for point in on}


def falls(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Return the differences of neighbours: how much each is above the next."""
    return [difference(one, other) for one, other in itertools.pairwise(estimates)]


@dataclass(frozen=True)
class Agreement:
    """How well packet runs agree with the chain: points, scores, and the largest difference."""

    measure: str
    points: int
    test: Outcome
    worst: float


def agreement(measured: Iterable[Run], measure: str = "throughput") -> Agreement:
    """Compare the chain with packet runs, point by point."""
    pairs = [(run.estimates[measure], solve(run.setting)[measure]) for run in measured]
    test = chi2_test([e.score(expected) for e, expected in pairs])
    worst = max(abs(e.value / expected - 1.0) for e, expected in pairs)
    return Agreement(measure.replace("_", " "), len(pairs), test, worst)
