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
from hopflow.kernels import build
from hopflow.results import Result, figure
from responsefn import templates
from responsefn.cycles import begin_at_peak, compile_rule, numbers_of
from responsefn.losses import Deterministic, Gilbert, Losses
from responsefn.responses import formula_of, round_trip
from responsefn.rules import WindowRule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["SimulatedResponse", "simulate_rule"]

BLOCKS_BELOW = 1e-4
"""Loss rates below this one are simulated in blocks of ACKs unless told otherwise."""
RUNS, EVENTS_OF_A_RUN = 16, 1000
"""How many independent runs go side by side at most, and how many losses each has at least."""
SKIPPED = 0.2
"""Part of the cycles of each run that is not measured."""
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
        When each loss event came, in s, and the window before it, shape (events,); one run after
        the other where there were several.
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
        Losses drawn, for up to 16 independent runs of a thousand or more each; the first fifth of
        each is not measured.
    bandwidth
        Capacity in packets/s; None is a round-trip time that never changes.
    buffer
        Packets that the queue takes; a window beyond ``bandwidth * rtt + buffer`` loses a packet.
    method
        ``"acks"``, ``"blocks"`` (an eighth of a window at a time), or ``"auto"``: blocks for
        p < 1e-4. ``"cycles"`` takes a whole cycle at a time, for rules whose window grows by a power
        law (`responsefn.symbolic.PowerGrowth`) at a fixed round-trip time.
    rng
        Seed or generator.
    """
    losses = Deterministic() if losses is None else losses
    p = one_number("p", p, above=0.0, at_most=1.0)
    rtt = float(round_trip(one_number("rtt", rtt)))
    events = whole("events", events, 50, 100_000_000)
    choice("method", method, ("auto", "acks", "blocks", "cycles"))
    if bandwidth is None and (rule.capacity == "needed" or buffer is not None):
        raise ValueError(f"bandwidth is missing: {rule!r} with its queue depends on it")
    if bandwidth is not None:
        bandwidth = one_number("bandwidth", bandwidth, above=0.0)
    service = 0.0 if bandwidth is None else 1.0 / bandwidth
    limit = math.inf
    if buffer is not None:
        limit = rtt / service + one_number("buffer", buffer, at_least=0.0)
    if method == "auto":
        method = "blocks" if p < BLOCKS_BELOW else "acks"
    # deterministic losses are the same in every run
    alike = isinstance(losses, Deterministic)
    runs = 1 if alike else max(1, min(RUNS, events // EVENTS_OF_A_RUN))
    each = -(-events // runs)
    gaps = losses.gaps(p, runs * each, np.random.default_rng(rng)).reshape(runs, each)
    start = begin_at_peak(rule, np.asarray(p), np.asarray(rtt), bandwidth)
    start[:, 0] = np.minimum(start[:, 0], limit)
    if method == "cycles":
        first = float(start[0, 0])
        done = [_by_cycles(rule, losses, run, rtt, first, bandwidth) for run in gaps]
        return _measured(rule, losses, p, rtt, method, done)
    params = np.array(list(numbers_of(rule).values()))
    move = templates.block if method == "blocks" else templates.ack
    kernel = compile_rule(templates.simulate, rule, move=move)
    counts, full = np.zeros((runs, 3), dtype=np.int64), True
    rows = each
    while full:  # a buffer may lose more than was drawn
        rows = 2 * rows + 64
        states, sums = np.repeat(start.T, runs, axis=1), np.zeros((6, runs))
        out = np.empty((runs, rows, 5))
        full = not kernel(
            gaps, rtt, service, limit, states, params, method == "acks",
            isinstance(losses, Gilbert), sums, out, counts,
        )  # fmt: skip
    return _measured(
        rule, losses, p, rtt, method, [out[run, :count] for run, count in enumerate(counts[:, 0])]
    )


def _by_cycles(
    rule: WindowRule,
    losses: Losses,
    packets: Ints,
    rtt: float,
    start: float,
    bandwidth: float | None,
) -> Floats:
    """Return what `templates.simulate` does of each cycle, from the linear map of a power of W."""
    formula = formula_of(rule) if rule.uses_closed_form(bandwidth) else None
    if formula is None or formula.growth is None or isinstance(losses, Gilbert):
        raise ValueError(
            f"method = 'cycles': must be 'acks' or 'blocks' for {rule!r} under {losses!r} losses, "
            "of which there is no cycle map"
        )
    m, g, kept = (float(rule.value_of(e, R=np.asarray(rtt))) for e in formula.growth)
    powers = np.empty(len(packets))
    before = start / kept if kept > 0.0 else 0.0  # the first packets find the window `start`
    build(templates.power_cycles)(packets, kept**m, m * g, before**m, powers)
    peak = powers ** (1.0 / m)
    low = kept * np.concatenate([[before], peak[:-1]])
    rounds = (
        np.log(peak / low) / g if m == 1.0 else (peak ** (m - 1) - low ** (m - 1)) / (g * (m - 1))
    )
    over_packets = (peak ** (m + 1) - low ** (m + 1)) / (g * (m + 1))
    return np.stack([rounds * rtt, packets, packets * rtt, over_packets, peak], axis=1)


def _measured(
    rule: WindowRule, losses: Losses, p: float, rtt: float, method: str, runs: list[Floats]
) -> SimulatedResponse:
    rows = np.concatenate(runs)
    kept = np.concatenate([run[int(SKIPPED * len(run)) :] for run in runs])
    time, packets, over_time, over_packets, peak = kept.T
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
