"""Shares of window rules at one bottleneck: `Coexistence`, the result of `coexist`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.endpoints.native_rules import full_name
from dfcmodel.results.limits import messages_by_topic
from dfcmodel.sharing.bottlenecks import within_limits
from dfcmodel.sharing.convergence import SETTLED, is_settled, plus_minus
from hopflow.intervals import half_width, prediction_half_width
from hopflow.results import Result, Status, figure
from responsefn import WindowRule, jain_index

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["SAMPLES", "Coexistence", "RunRecord"]

SAMPLES = 1000
"""Number of samples of the trajectories in the measured time."""
UNITS = {
    "goodput": "packets/s", "share": "1", "losses": "packets", "loss_event_rate": "1", "mean_window": "packets",
    "loss_events": "1", "timeouts": "1", "queueing_delay": "s", "utilisation": "1", "jain": "1",
}  # fmt: skip
"""Units of the measured quantities."""


class RunRecord(NamedTuple):
    """Samples of one run, and counts over its measured time; fields as in `Coexistence`."""

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
    status: Status
    limits: tuple[str, ...] = ()

    def measures(self, bandwidth: float) -> dict[str, Floats]:
        """Return the quantities of `UNITS` in the measured time, (F,) or (), and ``half_goodput``, shape (2, F)."""
        begin = len(self.time) - 1 - SAMPLES

        def growth(values: Any) -> Any:
            return values[..., -1] - values[..., begin]

        duration = float(growth(self.time))
        carried = growth(self.carried) / duration
        goodput = np.asarray(growth(self.acked) / duration)
        edges = slice(begin, None, SAMPLES // 2)
        halves = np.diff(self.acked[:, edges], axis=1) / np.diff(self.time[edges])
        queueing_delay = float(self.queue[begin + 1 :].mean() / carried) if carried else math.nan
        return {
            "goodput": goodput,
            "share": ratio(goodput, goodput.sum()),
            "losses": np.asarray(growth(self.refused + self.lost), np.float64),
            "loss_event_rate": ratio(self.loss_events, growth(self.sent)),
            "mean_window": np.asarray(self.window[:, begin + 1 :].mean(axis=1)),
            "loss_events": self.loss_events.astype(np.float64),
            "timeouts": self.timeouts.astype(np.float64),
            "queueing_delay": np.asarray(queueing_delay),
            "utilisation": np.asarray(growth(self.carried) / (bandwidth * duration)),
            "jain": np.asarray(jain_index(goodput) if goodput.any() else math.nan),
            "half_goodput": halves.T,
        }


def _width_properties(name: str, shape: str) -> tuple[property, property]:
    """Return the properties ``<name>_half_width`` and ``<name>_prediction_half_width``."""
    unit = "" if UNITS[name] == "1" else f", {UNITS[name]}"
    quantity = name.replace("_", " ")

    def mean(self: Coexistence) -> Any:
        return half_width(self.by_run[name])

    def prediction(self: Coexistence) -> Any:
        return prediction_half_width(self.by_run[name])

    mean.__doc__ = f"Of the 95 % interval of the mean {quantity} over seeds and starts{unit}, shape {shape}."
    prediction.__doc__ = (
        f"Of the interval that contains the {quantity} of one further run in 95 %{unit}, shape {shape}."
    )
    return property(mean), property(prediction)


@dataclass(frozen=True, repr=False, eq=False)
class Coexistence(Result):
    """Rates, packets/s, windows and queue, packets, of F flows over one bottleneck, from R independent runs.

    The properties are means over the runs in the measured time, from ``warm_up`` on. For each quantity ``X`` there is
    ``X_half_width``, half the 95 % interval of the mean over other seeds and starts at the same duration (Student's t
    over the runs), and ``X_prediction_half_width``, half the interval that contains one further run in 95 % of the
    cases. Both are NaN for one run. The intervals contain neither the error of the model nor the effects of another
    duration, buffer or path. They assume approximately normal means: a rare event, such as one flow in twenty runs that
    starves, may be missing in all runs.

    Attributes
    ----------
    rules
        The F window rules.
    rtt
        Round-trip times without queue in s, shape (F,).
    bandwidth, buffer, p
        Rate of the bottleneck, packets/s; its buffer, packets; random loss.
    warm_up
        Start of the measurement, s.
    time
        Times of the samples of the first run, s, from 0, shape (S,).
    window
        Congestion windows of the first run in packets, shape (F, S).
    sent, acked, refused, lost
        Packets of the first run since time 0: sent, with retransmissions; delivered in order; dropped by the full
        queue; lost at random; shape (F, S).
    queue
        Packets that wait at the bottleneck in the first run, shape (S,).
    carried
        Packets of all flows that the bottleneck has begun to transmit in the first run since time 0, shape (S,).
    by_run
        Values of each run by the name of the quantity, shape (R, F), or (R,) for the bottleneck;
        ``"half_goodput"``, the goodput in the first and in the second half of the measured time, has shape (R, 2, F).
    run_status
        Status of the runs: whether every packet is accounted for.
    limits
        Known limits of the packet level that apply to the first run, as in `Trajectory.limits`.

    Examples
    --------
    >>> from dfcmodel import PathOptions, coexist
    >>> from responsefn import Reno
    >>> run = coexist([Reno(), Reno()], rtt=0.04, bandwidth=500.0, buffer=20, options=PathOptions(duration=20.0))
    >>> run.share.shape, run.by_run["share"].shape, str(run.status)
    ((2,), (5, 2), 'completed')
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
    queue: Floats
    carried: Ints
    by_run: Mapping[str, Floats]
    run_status: Status
    limits: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.by_run["goodput"])

    @property
    def status(self) -> Status:
        """NOT_MEASURED if no packet arrived in some run; otherwise the status of the runs, ``run_status``."""
        arrived = self.by_run["goodput"].any(axis=1).all()
        return self.run_status if arrived else Status.NOT_MEASURED

    @property
    def duration(self) -> float:
        """Measured time of each run in s."""
        return float(self.time[-1] - self.time[-1 - SAMPLES])

    def _mean(self, name: str) -> Any:
        """Return the mean over the runs of a quantity of `UNITS`, shape (F,) or ()."""
        return self.by_run[name].mean(axis=0)

    @property
    def goodput(self) -> Floats:
        """Mean rate of packets delivered in order, packets/s, shape (F,)."""
        return np.asarray(self._mean("goodput"))

    @property
    def share(self) -> Floats:
        """Share of each flow in the goodput of all flows, shape (F,)."""
        return np.asarray(self._mean("share"))

    @property
    def share_interval(self) -> Floats:
        """Lower and upper ends of the mean share's 95 % interval, from 0 to 1, shape (2, F)."""
        return within_limits(self.share, self.share_half_width, 0.0, 1.0)

    @property
    def share_prediction_interval(self) -> Floats:
        """Ends of the interval that contains the share of one further run in 95 %, from 0 to 1, shape (2, F)."""
        return within_limits(self.share, self.share_prediction_half_width, 0.0, 1.0)

    @property
    def losses(self) -> Floats:
        """Mean number of packets dropped by the queue or lost at random, shape (F,)."""
        return np.asarray(self._mean("losses"))

    @property
    def loss_event_rate(self) -> Floats:
        """Mean number of loss events per packet sent, shape (F,)."""
        return np.asarray(self._mean("loss_event_rate"))

    @property
    def mean_window(self) -> Floats:
        """Mean window over 1000 samples, packets, shape (F,)."""
        return np.asarray(self._mean("mean_window"))

    @property
    def loss_events(self) -> Floats:
        """Mean number of calls of ``on_loss`` and ``on_timeout`` in the measured time, shape (F,)."""
        return np.asarray(self._mean("loss_events"))

    @property
    def timeouts(self) -> Floats:
        """Mean number of calls of ``on_timeout`` in the measured time, shape (F,)."""
        return np.asarray(self._mean("timeouts"))

    @property
    def queueing_delay(self) -> float:
        """Mean time in the queue, s: mean queue over the rate of carried packets (Little's law)."""
        return float(self._mean("queueing_delay"))

    @property
    def utilisation(self) -> float:
        """Fraction of the time in which the bottleneck transmits."""
        return float(self._mean("utilisation"))

    @property
    def jain(self) -> float:
        """Jain's fairness index of the goodputs; NaN where nothing arrived."""
        return float(self._mean("jain"))

    goodput_half_width, goodput_prediction_half_width = _width_properties("goodput", "(F,)")
    share_half_width, share_prediction_half_width = _width_properties("share", "(F,)")
    losses_half_width, losses_prediction_half_width = _width_properties("losses", "(F,)")
    loss_event_rate_half_width, loss_event_rate_prediction_half_width = _width_properties("loss_event_rate", "(F,)")
    mean_window_half_width, mean_window_prediction_half_width = _width_properties("mean_window", "(F,)")
    loss_events_half_width, loss_events_prediction_half_width = _width_properties("loss_events", "(F,)")
    timeouts_half_width, timeouts_prediction_half_width = _width_properties("timeouts", "(F,)")
    queueing_delay_half_width, queueing_delay_prediction_half_width = _width_properties("queueing_delay", "()")
    utilisation_half_width, utilisation_prediction_half_width = _width_properties("utilisation", "()")
    jain_half_width, jain_prediction_half_width = _width_properties("jain", "()")

    @property
    def settled(self) -> NDArray[np.bool_]:
        """Whether the halves of the runs show that longer runs have a mean share in the interval, shape (F,).

        For one flow alone its goodput replaces the share. True if the halves of the measured time differ little in
        comparison with the interval (see `dfcmodel.sharing.convergence`); False otherwise, and for one run. It was
        right in 95 % of the cases in which it was True (``python -m benchmarks coverage``).
        """
        first_half, second_half = np.moveaxis(self.by_run["half_goodput"], 1, 0)
        if len(self.rules) == 1:
            return is_settled(self.by_run["goodput"], first_half, second_half, self.goodput_half_width)
        first_half, second_half = (ratio(half, half.sum(axis=1, keepdims=True)) for half in (first_half, second_half))
        return is_settled(self.by_run["share"], first_half, second_half, self.share_half_width)

    def to_xarray(self) -> xarray.Dataset:
        """Return trajectories of the first run over ``flow`` and ``time``, and measures with widths over ``flow``.

        The values of each run are named ``<quantity>_by_run``, over ``run``.
        """
        import xarray as xr

        trajectories = ("window", "sent", "acked", "refused", "lost")
        variables: dict[str, Any] = {
            name: (("flow", "time"), getattr(self, name), {"units": "packets"}) for name in trajectories
        }
        variables["queue"] = ("time", self.queue, {"units": "packets"})
        for name, unit in UNITS.items():
            values = self.by_run[name]
            dims = ("run", "flow")[: values.ndim]
            variables[f"{name}_by_run"] = dims, values, {"units": unit}
            for part in ("", "_half_width", "_prediction_half_width"):
                variables[name + part] = dims[1:], getattr(self, name + part), {"units": unit}
        variables["settled"] = "flow", self.settled
        return xr.Dataset(
            variables,
            coords={
                "flow": np.arange(1, len(self.rules) + 1),
                "rule": ("flow", [repr(rule) for rule in self.rules]),
                "rtt": ("flow", self.rtt, {"units": "s"}),
                "time": ("time", self.time, {"units": "s"}),
                "run": np.arange(len(self)),
            },
            attrs={name: getattr(self, name) for name in ("bandwidth", "buffer", "p", "warm_up")},
        )

    @property
    def _bottleneck(self) -> str:
        """Rate, buffer and random loss of the bottleneck, as one string."""
        lost = f", random loss {self.p:g}" if self.p > 0.0 else ""
        return f"{self.bandwidth:.5g} packets/s, at most {self.buffer} wait{lost}"

    def summary(self) -> dict[str, object]:
        """Return texts by name: the bottleneck, for each flow its goodput, share, loss and window, and the limits."""
        several = len(self) > 1
        rows: dict[str, object] = {
            "bottleneck": self._bottleneck,
            "measured": f"{self.warm_up:g} .. {self.time[-1]:g} s ({self.status})",
            "runs": (
                f"{len(self)}; mean over seeds and starts ± 95 %; single runs a to b: a further run is there in 95 %"
                if several
                else "1, without an interval: other seeds and starts give other numbers"
            ),
            "utilisation": f"{self.utilisation:.4f}{plus_minus(self.utilisation_half_width)}",
            "queueing delay": f"{self.queueing_delay:.4g}{plus_minus(self.queueing_delay_half_width)} s",
            "Jain index": f"{self.jain:.4f}{plus_minus(self.jain_half_width)}",
        }
        settled = self.settled
        for f, rule in enumerate(self.rules):
            rows[f"{f + 1}: {full_name(rule)}"] = (
                f"{self.goodput[f]:.5g}{plus_minus(self.goodput_half_width[f])} packets/s, {self._share_text(f)}, "
                f"{'settled, ' * bool(settled[f])}rtt {self.rtt[f]:g} s, loss events {self.loss_event_rate[f]:.3g} per "
                f"packet, mean window {self.mean_window[f]:.4g}"
            )
        limits = {f"limit, {topic}": message for topic, message in messages_by_topic(self.limits).items()}
        return rows | ({"settled": SETTLED} if settled.any() else {}) | limits

    def _share_text(self, flow: int) -> str:
        """Return a flow's share in percent; from several runs with the intervals of the mean and of single runs."""
        share, half = 100 * self.share[flow], 100 * self.share_half_width[flow]
        if len(self) == 1:
            return f"{share:.3g} %"
        low, high = 100 * self.share_interval[:, flow]
        cut = max(share - half - low, high - share - half, key=abs)
        mean = f"{share:.3g} ± {half:.2g} %" if abs(cut) < 1e-9 else f"{share:.3g} % ({low:.3g} to {high:.3g} %)"
        runs = 100 * self.share_prediction_interval[:, flow]
        return f"{mean} (single runs {runs[0]:.3g} to {runs[1]:.3g} %)"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the windows of the first run over time, the part before the measurement shaded; return the Axes."""
        axes: Axes = figure()[1] if ax is None else ax
        for f, rule in enumerate(self.rules):
            label = f"{f + 1}: {rule}, {100 * self.share[f]:.0f} %"
            axes.plot(self.time, self.window[f], linewidth=1.0, label=label)
        axes.axvspan(0.0, self.warm_up, color="0.9", zorder=0)
        axes.set(
            xlabel="time (s)",
            ylabel="congestion window (packets)",
            title=self._bottleneck,
        )
        axes.legend()
        return axes


def ratio(x: Any, y: Any) -> Floats:
    """Return x / y as an array, NaN where y is 0."""
    y = np.asarray(y, dtype=np.float64)
    return np.asarray(x / np.where(y == 0.0, np.nan, y))
