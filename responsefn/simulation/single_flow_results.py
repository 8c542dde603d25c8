"""Result of the simulation of one flow: rate, windows and loss events, with an interval of the long-run rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hopflow.intervals import t_quantile
from hopflow.results import Result, figure
from responsefn.rules.base import WindowRule
from responsefn.simulation.losses import Deterministic, Losses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["SimulatedResponse", "measure"]

SKIPPED = 0.2
"""Fraction of the cycles of each run that is not measured."""
FEWEST_BATCHES, MOST_BATCHES = 5, 40
BATCH_TIMES = 10.0
"""Minimum length of a batch in correlation times, where the run is long enough for more than the fewest batches."""
FEWEST_TIMES = 20.0
"""Correlation times of a run below which it has no interval."""
WINDOW_TIMES = 5.0
"""Lag in correlation times up to which the autocorrelation is summed (A. Sokal's choice)."""


@dataclass(frozen=True, repr=False, eq=False)
class SimulatedResponse(Result):
    """Measured response of a rule at one loss rate.

    Attributes
    ----------
    rule, losses, p, rtt, method
        Arguments of the simulation.
    rate, half_width
        Packets/s, and the half width of the 95 % interval of the long-run rate: the mean over infinitely many draws of
        the losses. It comes from batches of consecutive cycles, longer than the correlation time of the run. NaN where
        the run is too short for that: fewer than 20 correlation times. 0 where loss is deterministic.
    mean_window, packet_mean_window, peak_window
        Averages over time, over packets, and before loss events, in packets.
    loss_event_rate
        Loss events per packet.
    packets
        Number of measured packets.
    times, windows
        Time of each loss event in s, and the window before it, shape (events,); consecutive runs are
        concatenated.

    Examples
    --------
    >>> from responsefn import Reno, simulate_rule
    >>> run = simulate_rule(Reno(), 0.01, 0.1, events=200)
    >>> run.half_width, run.method, round(run.loss_event_rate, 4)
    (0.0, 'acks', 0.01)
    """

    rule: WindowRule
    losses: Losses
    p: float
    rtt: float
    method: str
    rate: float
    half_width: float
    mean_window: float
    packet_mean_window: float
    peak_window: float
    loss_event_rate: float
    packets: int
    times: Floats
    windows: Floats
    DIMENSIONS: ClassVar[Mapping[str, tuple[str, ...]]] = {"times": ("event",), "windows": ("event",)}

    @property
    def prediction_half_width(self) -> float:
        """Half width of the 95 % interval of the rate of one further simulation of this length, packets/s.

        sqrt(2) `half_width`: both rates have the same variance.
        """
        return math.sqrt(2.0) * self.half_width

    def summary(self) -> dict[str, object]:
        """Return rate, windows and loss event rate."""
        rate = f"{self.rate:.5g}"
        if self.half_width > 0.0:
            rate += f" ± {self.half_width:.2g}"
        return {
            "rule": f"{self.rule!r}, {self.losses!r} loss, p = {self.p:g}, rtt = {self.rtt:g} s",
            "rate": f"{rate} packets/s{self._meaning()}",
            "mean window": f"{self.mean_window:.5g} packets",
            "loss events": f"{self.loss_event_rate:.4g} per packet, {len(self.times)} in all",
            "method": self.method,
        }

    def _meaning(self) -> str:
        """Return what the interval behind the rate covers, for the summary."""
        if self.half_width > 0.0:
            further = f"{self.rate - self.prediction_half_width:.5g} to {self.rate + self.prediction_half_width:.5g}"
            return f" (long-run rate, 95 %; one further simulation of this length {further})"
        return "" if self.half_width == 0.0 else " (too few loss events for an interval)"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the window before each loss event over time; return the Axes."""
        axes: Axes = figure()[1] if ax is None else ax
        axes.plot(self.times, self.windows, ".", label=repr(self.rule))
        axes.set(xlabel="time (s)", ylabel="window before a loss (packets)")
        axes.legend()
        return axes


def measure(
    rule: WindowRule,
    losses: Losses,
    p: float,
    rtt: float,
    method: str,
    runs: Sequence[Floats],
) -> SimulatedResponse:
    """Return the totals of the rows of `responsefn.kernel.runs`, of consecutive runs.

    The first fifth of each run is not measured.
    """
    rows = np.concatenate(runs)
    measured = np.concatenate([run[int(SKIPPED * len(run)) :] for run in runs])
    time, packets, over_time, over_packets, peak = measured.T
    half = 0.0 if isinstance(losses, Deterministic) else ratio_half_width(packets, time)
    return SimulatedResponse(
        rule=rule,
        losses=losses,
        p=p,
        rtt=rtt,
        method=method,
        rate=float(packets.sum() / time.sum()),
        half_width=half,
        mean_window=float(over_time.sum() / time.sum()),
        packet_mean_window=float(over_packets.sum() / packets.sum()),
        peak_window=float(peak.mean()),
        loss_event_rate=float(len(measured) / packets.sum()),
        packets=int(packets.sum()),
        times=np.cumsum(rows[:, 0]),
        windows=rows[:, 4].copy(),
    )


def ratio_half_width(numerators: Floats, denominators: Floats) -> float:
    """Return the half width of the 95 % interval of the ratio of two means over a correlated sequence.

    Student's t over batches of the residuals ``numerator - ratio denominator``, each batch at least ten correlation
    times long where the sequence is long enough for more than five batches; NaN below 20 correlation times.

    Examples
    --------
    >>> packets = np.random.default_rng(1).exponential(100.0, 2000)
    >>> round(ratio_half_width(packets, np.ones(2000)), 1)  # 1.96 * 100 / sqrt(2000) = 4.4
    4.6
    """
    residuals = numerators - numerators.sum() / denominators.sum() * denominators
    count = len(residuals)
    if not residuals.any():
        return 0.0
    times = count / correlation_time(residuals)
    if times < FEWEST_TIMES:
        return math.nan
    batches = int(np.clip(times / BATCH_TIMES, FEWEST_BATCHES, MOST_BATCHES))
    sums = np.array([batch.sum() for batch in np.array_split(residuals, batches)])
    return float(t_quantile(batches - 1) * np.std(sums, ddof=1) * math.sqrt(batches) / denominators.sum())


def correlation_time(values: Floats) -> float:
    """Return the integrated autocorrelation time of a sequence, in its steps, at least 1.

    The sum of the autocorrelations over all lags, both signs. It ends at the first lag of at least five such times
    (A. Sokal, Monte Carlo methods in statistical mechanics, 1996, Sect. 3), because the noise of further lags does not
    average out.

    Examples
    --------
    >>> correlation_time(np.random.default_rng(1).standard_normal(10_000)) < 1.2
    True
    """
    deviations = values - values.mean()
    spectrum = np.abs(np.fft.rfft(deviations, 2 * len(values))) ** 2
    correlations = np.fft.irfft(spectrum)[: len(values)]
    sums = 2.0 * np.cumsum(correlations / correlations[0]) - 1.0
    return max(1.0, float(sums[np.argmax(np.arange(len(values)) >= WINDOW_TIMES * sums)]))
