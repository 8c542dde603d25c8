"""Shares of window rules at one bottleneck: `Coexistence`, the result of `coexist`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.sharing.bottlenecks import mean_of
from hopflow.fork_safety import cached_property
from hopflow.results import Result, Status, figure
from responsefn import WindowRule, jain_index

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["BATCHES", "SAMPLES", "Coexistence"]

BATCHES = 20
SAMPLES = 50
"""Of the trajectories, per batch."""


@dataclass(frozen=True, repr=False, eq=False)
class Coexistence(Result):
    """Rates, windows and queue of F flows over one bottleneck, with samples at S times.

    The properties are of the measured time, from ``warm_up`` on; each ``_half_width`` is half a 95 %
    confidence interval from 20 batches, which means something when a batch is longer than the cycle
    from loss to loss.

    Attributes
    ----------
    rules
        The F window rules.
    rtt
        Round-trip times without queue in s, shape (F,).
    bandwidth, buffer, p
        Of the bottleneck in packets/s; packets that wait there; random loss.
    warm_up
        From when on it is measured, in s.
    time
        In s, from 0, shape (S,).
    window
        Congestion windows in packets, shape (F, S).
    sent, acked, refused, lost
        Packets since time 0: sent, also again; delivered in order; dropped by the full queue; lost at random;
        shape (F, S).
    loss_events, timeouts
        Calls of ``on_loss`` and ``on_timeout``, and of the latter alone, in the measured time, shape (F,).
    queue
        Packets that wait at the bottleneck, shape (S,).
    carried
        Packets of all flows that the bottleneck has begun to transmit since time 0, shape (S,).
    run_status
        Of the run as a whole: whether every packet is accounted for.

    Examples
    --------
    >>> from dfcmodel import coexist
    >>> from responsefn import Reno
    >>> run = coexist([Reno(), Reno()], rtt=0.04, bandwidth=500.0, buffer=20, duration=20.0)
    >>> run.share.shape, str(run.status)
    ((2,), 'completed')
    """

    rules: tuple[WindowRule, ...]
    rtt: Floats
    bandwidth: float
    buffer: int
    p: float
    warm_up: float
    time: Floats
    window: Floats
    sent: Ints
    acked: Ints
    refused: Ints
    lost: Ints
    loss_events: Ints
    timeouts: Ints
    queue: Floats
    carried: Ints
    run_status: Status

    @property
    def status(self) -> Status:
        """COMPLETED when something arrived and every packet sent is accounted for."""
        return self.run_status if self.goodput.any() else Status.NOT_MEASURED

    @property
    def _begin(self) -> int:
        return len(self.time) - 1 - BATCHES * SAMPLES

    def _measured(self, values: Any) -> Any:
        """Return by how much a cumulative array grew over the measured time."""
        return values[..., -1] - values[..., self._begin]

    @cached_property
    def _batches(self) -> Floats:
        """Goodput of each flow in each batch, packets/s, shape (F, 20)."""
        edges = slice(self._begin, None, SAMPLES)
        return np.diff(self.acked[:, edges], axis=1) / np.diff(self.time[edges])

    @property
    def duration(self) -> float:
        """Measured time in s."""
        return float(self._measured(self.time))

    @property
    def goodput(self) -> Floats:
        """Packets delivered in order, packets/s, shape (F,)."""
        return np.asarray(self._measured(self.acked) / self.duration)

    @property
    def goodput_half_width(self) -> Floats:
        """Of the goodput's 95 % interval, packets/s, shape (F,)."""
        return _half_width(self._batches)

    @property
    def share(self) -> Floats:
        """Of all flows' goodput, shape (F,)."""
        return _over(self.goodput, self.goodput.sum())

    @property
    def share_half_width(self) -> Floats:
        """Of the share's 95 % interval, shape (F,)."""
        return _half_width(_over(self._batches, self._batches.sum(axis=0)))

    @property
    def losses(self) -> Ints:
        """Packets dropped by the queue or lost at random, shape (F,)."""
        return np.asarray(self._measured(self.refused + self.lost))

    @property
    def loss_event_rate(self) -> Floats:
        """Loss events per packet sent, shape (F,)."""
        return _over(self.loss_events, self._measured(self.sent))

    @property
    def mean_window(self) -> Floats:
        """Mean of the window's 1000 samples in packets, shape (F,)."""
        return np.asarray(self.window[:, self._begin + 1 :].mean(axis=1))

    @property
    def queueing_delay(self) -> float:
        """Mean wait in the queue in s: the mean queue over the rate of the packets carried (Little's law)."""
        taken = self._measured(self.carried) / self.duration
        return float(self.queue[self._begin + 1 :].mean() / taken) if taken else math.nan

    @property
    def utilisation(self) -> float:
        """Share of the time in which the bottleneck transmits."""
        return float(self._measured(self.carried) / (self.bandwidth * self.duration))

    @property
    def jain(self) -> float:
        """Jain's fairness index of the goodputs; NaN where nothing arrived."""
        return jain_index(self.goodput) if self.goodput.any() else math.nan

    def to_xarray(self) -> xarray.Dataset:
        """Return trajectories over ``flow`` and ``time``, and measurements over ``flow``."""
        import xarray as xr

        units = {
            "window": "packets", "sent": "packets", "acked": "packets", "refused": "packets", "lost": "packets",
        }  # fmt: skip
        measured = {
            "goodput": "packets/s", "goodput_half_width": "packets/s", "share": "1",
            "share_half_width": "1", "losses": "packets", "loss_event_rate": "1",
            "mean_window": "packets", "loss_events": "1", "timeouts": "1",
        }  # fmt: skip
        shared = ["bandwidth", "buffer", "p", "warm_up", "queueing_delay", "utilisation", "jain"]
        variables: dict[str, Any] = {
            name: (("flow", "time"), getattr(self, name), {"units": unit}) for name, unit in units.items()
        }
        for name, unit in measured.items():
            variables[name] = ("flow", getattr(self, name), {"units": unit})
        variables["queue"] = ("time", self.queue, {"units": "packets"})
        return xr.Dataset(
            variables,
            coords={
                "flow": np.arange(1, len(self.rules) + 1),
                "rule": ("flow", [repr(rule) for rule in self.rules]),
                "rtt": ("flow", self.rtt, {"units": "s"}),
                "time": ("time", self.time, {"units": "s"}),
            },
            attrs={name: getattr(self, name) for name in shared},
        )

    @property
    def _bottleneck(self) -> str:
        lost = f", random loss {self.p:g}" if self.p > 0.0 else ""
        return f"{self.bandwidth:.5g} packets/s, at most {self.buffer} wait{lost}"

    def summary(self) -> dict[str, object]:
        """Return the bottleneck, and for each flow its goodput, share, loss and window."""
        rows: dict[str, object] = {
            "bottleneck": self._bottleneck,
            "measured": f"{self.warm_up:g} .. {self.time[-1]:g} s ({self.status})",
            "utilisation": f"{self.utilisation:.4f}",
            "queueing delay": f"{self.queueing_delay:.4g} s",
            "Jain index": f"{self.jain:.4f}",
        }
        share, half = 100 * self.share, 100 * self.share_half_width
        for f, rule in enumerate(self.rules):
            rows[f"{f + 1}: {rule!r}"] = (
                f"{self.goodput[f]:.5g} packets/s, {share[f]:.3g} ± {half[f]:.2g} %, "
                f"rtt {self.rtt[f]:g} s, loss events {self.loss_event_rate[f]:.3g} per packet, "
                f"mean window {self.mean_window[f]:.4g}"
            )
        return rows

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the windows over time, the part before the measurement shaded; return the Axes."""
        axes: Axes = figure()[1] if ax is None else ax
        for f, rule in enumerate(self.rules):
            label = f"{f + 1}: {rule!r}, {100 * self.share[f]:.0f} %"
            axes.plot(self.time, self.window[f], linewidth=1.0, label=label)
        axes.axvspan(0.0, self.warm_up, color="0.9", zorder=0)
        axes.set(
            xlabel="time (s)",
            ylabel="congestion window (packets)",
            title=self._bottleneck,
        )
        axes.legend()
        return axes


def _over(x: Any, y: Any) -> Floats:
    """Return x / y, NaN where y is 0."""
    y = np.asarray(y, dtype=np.float64)
    return np.asarray(x / np.where(y == 0.0, np.nan, y))


def _half_width(batches: Floats) -> Floats:
    """Return half the 95 % interval of each row's mean, shape (F,)."""
    return np.array([mean_of(row)[1] for row in batches])
