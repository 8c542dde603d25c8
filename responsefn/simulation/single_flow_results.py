"""Result of the simulation of one flow: rate, windows and loss events, with an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopflow.results import Result, figure
from responsefn.rules.base import WindowRule
from responsefn.simulation.losses import Deterministic, Losses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["SimulatedResponse", "measure"]

SKIPPED = 0.2
"""Fraction of the cycles of each run that is not measured."""
BATCHES = 20


@dataclass(frozen=True, repr=False, eq=False)
class SimulatedResponse(Result):
    """Measured response of a rule at one loss rate.

    Attributes
    ----------
    rule, losses, p, rtt, method
        Arguments of the simulation.
    rate, half_width
        Packets/s, and half the 95 % confidence interval from 20 batches (0 where loss is
        deterministic and the cycle repeats).
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

    def summary(self) -> dict[str, object]:
        """Return rate, windows and loss event rate."""
        return {
            "rule": f"{self.rule!r}, {self.losses!r} loss, p = {self.p:g}, rtt = {self.rtt:g} s",
            "rate": f"{self.rate:.5g} ± {self.half_width:.2g} packets/s",
            "mean window": f"{self.mean_window:.5g} packets",
            "loss events": f"{self.loss_event_rate:.4g} per packet, {len(self.times)} in all",
            "method": self.method,
        }

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
    parts = [part for part in np.array_split(np.arange(len(measured)), BATCHES) if len(part)]
    spread = np.array([packets[part].sum() / time[part].sum() for part in parts])
    half = 0.0
    if not isinstance(losses, Deterministic):
        half = 2.093 * float(np.std(spread, ddof=1)) / math.sqrt(len(spread))  # Student, 19
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
