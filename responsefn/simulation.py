"""Direct simulation of a window rule under loss: ACK by ACK, or in blocks of ACKs where p is small.

The rule's own functions run compiled. Nothing else of TCP is there: ACKs come one per packet, a
loss is known at once and repaired for free, and there are no timeouts. What remains is the rule, and
that is what a response function describes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopflow.checks import choice, one_number, whole
from hopflow.results import Result, figure
from responsefn import templates
from responsefn.cycles import begin_at_peak, compile_rule, numbers_of
from responsefn.losses import Deterministic, Gilbert, Losses
from responsefn.responses import round_trip
from responsefn.rules import WindowRule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["SimulatedResponse", "simulate_rule"]

BLOCKS_BELOW = 1e-4
"""Loss rates below this one are simulated in blocks of ACKs unless told otherwise."""
SKIPPED = 0.2
"""Part of the cycles that is not measured."""
BATCHES = 20


@dataclass(frozen=True, repr=False, eq=False)
class SimulatedResponse(Result):
    """Measured response of a rule at one loss rate.

    Attributes
    ----------
    rule, losses, p, rtt, method
        What was simulated.
    rate, half_width
        Packets/s, and half the 95 % confidence interval from 20 batches (0 where loss is
        deterministic and the cycle repeats).
    mean_window, packet_mean_window, peak_window
        Averages over time, over packets, and before loss events, in packets.
    loss_event_rate
        Loss events per packet.
    packets
        How many were counted.
    times, windows
        When each loss event came, in s, and the window before it, shape (events,).
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


def simulate_rule(
    rule: WindowRule,
    p: float,
    rtt: float,
    losses: Losses | None = None,
    *,
    events: int = 2000,
    bandwidth: float | None = None,
    buffer: float | None = None,
    method: str = "auto",
    rng: int | np.random.Generator = 0,
) -> SimulatedResponse:
    """Simulate a rule under loss and measure its response.

    Parameters
    ----------
    rule
        Any window rule, also one's own.
    p
        Loss rate, 0 < p <= 1; what it counts is the loss model's.
    rtt
        Round-trip time without queue in s.
    losses
        `Deterministic` (default), `Independent` or `Gilbert`.
    events
        Losses drawn; the first fifth is not measured.
    bandwidth
        Capacity in packets/s; None is a round-trip time that never changes.
    buffer
        Packets that the queue takes; a window beyond ``bandwidth * rtt + buffer`` loses a packet.
    method
        ``"acks"``, ``"blocks"`` (an eighth of a window at a time), or ``"auto"``: blocks for
        p < 1e-4.
    rng
        Seed or generator.
    """
    losses = Deterministic() if losses is None else losses
    p = one_number("p", p, above=0.0, at_most=1.0)
    rtt = float(round_trip(one_number("rtt", rtt)))
    events = whole("events", events, 50, 100_000_000)
    choice("method", method, ("auto", "acks", "blocks"))
    if bandwidth is None and (rule.capacity == "needed" or buffer is not None):
        raise ValueError(f"bandwidth is missing: {rule!r} with its queue depends on it")
    capacity = math.inf if bandwidth is None else one_number("bandwidth", bandwidth, above=0.0)
    limit = math.inf
    if buffer is not None:
        limit = capacity * rtt + one_number("buffer", buffer, at_least=0.0)
    if method == "auto":
        method = "blocks" if p < BLOCKS_BELOW else "acks"
    gaps = losses.gaps(p, events, np.random.default_rng(rng))
    starts = begin_at_peak(rule, np.asarray(p), np.asarray(rtt), bandwidth)
    starts[:, 0] = np.minimum(starts[:, 0], limit)
    params = np.array(list(numbers_of(rule).values()))
    merge = isinstance(losses, Gilbert)
    out = np.zeros((2 * events + 64, 6))
    while True:
        kernel = compile_rule(templates.blocks if method == "blocks" else templates.acks, rule)
        count = kernel(gaps, rtt, capacity, limit, starts, params, merge, out)
        if count >= 0:
            break
        out = np.zeros((2 * len(out), 6))  # the buffer lost more than was drawn
    return _measured(rule, losses, p, rtt, method, out[:count])


def _measured(
    rule: WindowRule, losses: Losses, p: float, rtt: float, method: str, rows: Floats
) -> SimulatedResponse:
    first = int(SKIPPED * len(rows))
    kept = rows[first:]
    time, packets, over_time, over_packets, peak, _ = kept.T
    parts = [part for part in np.array_split(np.arange(len(kept)), BATCHES) if len(part)]
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
        loss_event_rate=float(len(kept) / packets.sum()),
        packets=int(packets.sum()),
        times=np.cumsum(rows[:, 0]),
        windows=rows[:, 4].copy(),
    )
