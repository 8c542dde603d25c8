"""Pause thresholds for a port, from the chain of an aggregate of TCP flows over IEEE 802.3x.

The model is `PauseTandem` (R. Malhotra et al., CWI report PNA-E0518, 2005) with a paused link that
stops, and a TCP aggregate whose rate halves at a loss: its levels are load * bottleneck_rate / a,
a = 1, 2, ... Pause messages take effect late: the packets that arrive until then need free buffer
above the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import dimensions, format_value, instance, integer, one_number, unwrap_scalar
from hopflow.deprecations import takes_options
from hopflow.parameters import param, validate_parameters
from hopflow.results import Result, figure
from hopflow.sweeps.planning import sweep
from hopflow.units import (
    PacketUnits,
    WholeWithUnit,
    WithUnit,
    declares,
    in_units,
    quantity,
)
from markov.models.pause import PauseTandem, check_rtt

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from markov.methods.solution import Method

__all__ = ["PausedPort", "ThresholdAdvice", "pause_thresholds"]

DEFAULT_THRESHOLDS = 16
"""Number of thresholds that are solved by default."""
MAX_STATES = 4_000_000
"""States of the chain of a threshold. A chain of this size takes a few seconds."""
NEGLIGIBLE_CHANGE = 1e-3
"""Relative change of throughput below which the thresholds of a range count as equal."""
LOSS_RATIO_TO_NAME = 2.0
"""Ratio of the loss at an end of the range to the loss without pauses from which the summary names it."""

MODEL_ERROR = "not part of the bound: Poisson arrivals and packets of random size are assumptions"
TCP_MODEL_ERROR = (
    ", and so is an aggregate of TCP flows; gains of simulated TCP differ by several percentage points "
    "(claims M11 to M14)"
)
"""Row of the summary, and its second part for senders that react to losses."""
LOSSES_NOT_OF_TCP = (
    "of the chain's senders, not of TCP: against no pauses, TCP's losses change by other amounts and often in the "
    "other direction; count them in packets (simulate)"
)
"""Row of the summary next to losses of senders that react to them."""


@validate_parameters
@dataclass(frozen=True)
class PausedPort:
    """A port that pauses the link before it: link rates, buffers and round-trip time for `pause_thresholds`.

    Parameters
    ----------
    link_rate
        Rate of the link that is paused, packets/s, or a string with a unit: ``"1Gbps"``.
    bottleneck_rate
        Rate of the link behind the port, packets/s; at most ``link_rate``.
    buffers
        Buffers of the node before the link and of the port, packets, or sizes such as ``"1MB"``, of which whole packets
        of 1500 bytes count. The first buffer has little influence.
    rtt
        Round-trip time of the TCP flows, s. None: not needed for senders that do not react to losses, ``levels=(1,)``.

    Raises
    ------
    ValueError
        The message names the parameter, its value and the allowed values.

    Examples
    --------
    >>> from markov import PausedPort
    >>> PausedPort(link_rate="12Mbps", bottleneck_rate="6Mbps", buffers=("15kB", 20)).buffers
    (10, 20)
    """

    link_rate: WithUnit = param(unit="rate", above=0.0, hint="in packets/s: mbps(1000) converts")
    bottleneck_rate: WithUnit = param(unit="rate", above=0.0)
    buffers: tuple[WholeWithUnit, WholeWithUnit] = param(unit="amount")
    rtt: WithUnit | None = param(None, "time", above=0.0, at_most=1000.0, hint="in seconds: ms(48) is 0.048")

    def __post_init__(self) -> None:
        """Check the parameters, and convert buffers to whole packets."""
        one_number("bottleneck_rate", self.bottleneck_rate, at_most=float(self.link_rate), hint="the link_rate")
        if self.rtt is not None:
            check_rtt(float(self.rtt), float(self.bottleneck_rate))
        buffers: Any = self.buffers
        if isinstance(buffers, (str, Mapping)) or dimensions(buffers) != (2,):
            raise ValueError(f"buffers = {format_value(buffers)}: must be two numbers of packets")
        packets = [_whole_packets(buffer) for buffer in np.asarray(buffers, dtype=object).tolist()]
        for k in range(2):
            integer(f"buffers[{k}]", packets[k], 2, 10**6)
        object.__setattr__(self, "buffers", (int(packets[0]), int(packets[1])))


@dataclass(frozen=True, repr=False, eq=False)
class ThresholdAdvice(Result):
    """Result of `pause_thresholds`: a recommended interval of thresholds, and measures over the thresholds tried.

    Attributes
    ----------
    low, high
        Ends of the recommended range of the threshold above which the port pauses, packets. A threshold tried between
        them delivers at least ``1 - within`` of the highest throughput, has a loss of at most ``most_loss`` if there is
        a limit, and is at most ``ceiling``. Pauses end one packet below the threshold in use: ``low_threshold`` of
        `PauseTandem` is not varied.
    ceiling
        Highest safe threshold: the packets that arrive before a pause takes effect fit above it.
    gain
        Relative throughput of the best recommended threshold above the throughput without pauses, by number of
        TCP levels.
    table
        `xarray.Dataset` over ``levels`` (of the TCP aggregate) and ``threshold`` (packets): ``throughput`` and
        ``pause_rate`` (1/s), ``pause_fraction``, ``loss_probability`` (fraction of the packets of the chain's senders;
        TCP has other losses), ``delay`` (s in both queues), ``recommended``. The last threshold is the complete buffer:
        no pauses.
    models
        The chains at the threshold ``high``, one per number of levels.
    within, most_loss
        The limits of the call.

    Examples
    --------
    >>> from markov import PausedPort, pause_thresholds
    >>> port = PausedPort(link_rate=100.0, bottleneck_rate=15.0, rtt=1.0, buffers=(5, 10))
    >>> advice = pause_thresholds(port, levels=(2,))
    >>> advice.ceiling, advice.table.sizes["threshold"]
    (9, 10)
    """

    low: int
    high: int
    ceiling: int
    gain: dict[int, float]
    table: xr.Dataset
    models: tuple[PauseTandem, ...]
    within: float
    most_loss: float | None

    def to_xarray(self) -> xr.Dataset:
        """Return the table of the measures over all thresholds tried, as a data set."""
        return self.table

    def summary(self) -> dict[str, object]:
        """Return the rows of a printed summary: recommended interval, measures at its ends and without pauses."""
        data, last = self.table, int(self.table.threshold[-1])
        reacts = int(data.levels.max()) > 1  # whether senders react to losses, for one of the numbers of levels
        change = data.throughput / data.throughput.isel(threshold=-1) - 1.0
        inside = change.sel(threshold=slice(self.low, self.high))
        edge_thresholds = dict.fromkeys((self.low, self.high))
        changes = ", ".join(f"by {_percent_text(inside.sel(threshold=n).to_numpy())} at {n}" for n in edge_thresholds)
        matters = f"throughput {changes}, against no pauses"
        lowest = ", the lowest that was tried" if self.low == int(data.threshold[0]) else ""
        reserve = last - self.ceiling
        if reserve > 1:
            reason = f" ({reserve} packets arrive before a pause takes effect)"
        else:
            reason = (
                ", only if a pause takes effect within one packet: response= is that time, headroom has it for a link"
            )
        rows: dict[str, object] = {
            "recommended threshold": f"{' to '.join(map(str, sorted({self.low, self.high})))} packets{lowest}",
            "highest safe threshold": f"{self.ceiling}{reason}",
            "pausing changes": f"{matters}: hardly any" if abs(inside).max() < NEGLIGIBLE_CHANGE else matters,
        }
        for threshold in dict.fromkeys((self.low, self.high, last)):
            column = data.sel(threshold=threshold)
            rows["no pauses" if threshold == last else f"at {threshold}"] = ", ".join(
                f"{label} {_range_text(scale * column[name].to_numpy())}"
                for label, name, scale in (
                    ("packets/s", "throughput", 1.0),
                    ("lost (%)", "loss_probability", 100.0),
                    ("pauses/s", "pause_rate", 1.0),
                    ("delay (s)", "delay", 1.0),
                )
            )
        if reacts:
            rows["losses are"] = LOSSES_NOT_OF_TCP
        without = data.loss_probability.sel(threshold=last)
        ratios = {
            n: float((data.loss_probability.sel(threshold=n) / without).where(without > 0.0).max())
            for n in edge_thresholds
        }
        losses = [
            f"at {n} up to {ratio:.3g} times what is lost without pauses"
            for n, ratio in ratios.items()
            if ratio >= LOSS_RATIO_TO_NAME
        ]
        if losses:
            rows["more is lost"] = f"{', '.join(losses)}; {'in this chain' if reacts else 'most_loss= limits it'}"
        rows["largest error bound (TV)"] = f"{float(data.error_bound.max()):.1e}, of the solution"
        rows["error of the model"] = MODEL_ERROR + TCP_MODEL_ERROR if reacts else MODEL_ERROR
        return rows

    def plot(self, ax: Any = None) -> Any:
        """Draw throughput over the threshold for all numbers of levels; return the matplotlib Axes."""
        if ax is None:
            _, ax = figure()
        for levels in self.table.levels.to_numpy():
            rows = self.table.sel(levels=levels)
            ax.plot(rows.threshold, rows.throughput, ".-", label=f"{levels} TCP levels")
        ax.axvspan(self.low, self.high, color="0.9", zorder=0, label="recommended")
        ax.set(xlabel="pause threshold (packets)", ylabel="throughput (packets/s)")
        ax.legend(frameon=False)
        return ax


@takes_options(PausedPort, into="port")
@declares(thresholds="amount")
@validate_parameters
def pause_thresholds(
    port: PausedPort,
    *,
    load: WithUnit = param(1.5, "share", above=0.0, at_most=10.0, hint="over the bottleneck's rate; '80%' is 0.8"),
    response: WithUnit = param(0.0, "time", at_least=0.0, at_most=10.0),
    within: WithUnit = param(0.01, "share", above=0.0, below=1.0),
    most_loss: WithUnit | None = param(None, "share", above=0.0, below=1.0),
    levels: tuple[int, ...] = (2, 4),
    thresholds: Sequence[WholeWithUnit] | None = None,
    method: Method | None = None,
) -> ThresholdAdvice:
    """Recommend an interval of pause thresholds for a port, from loss, delay and pauses at each threshold.

    Parameters
    ----------
    port
        The port, its link and its flows.
    load
        Maximum rate of the flows over ``bottleneck_rate``, at most 10. In level a = 1, 2, ... the aggregate sends 1/a
        of the maximum. A loss doubles a, and a falls by one per round-trip time.
    response
        Time from the decision to pause until the last packet has arrived, s: twice the propagation
        delay, the frames under way and the reaction of the other side (`dfcmodel.headroom` adds them
        up).
    within
        Tolerated relative loss of throughput against the best threshold.
    most_loss
        Largest probability of loss of a packet, with ``levels=(1,)`` only; None: no limit. With more levels it is
        refused, since TCP has other losses than this chain.
    levels
        Numbers of rates of the TCP aggregate. The range holds for all of them; this number is the least certain part of
        the model. ``(1,)``: senders that do not react to losses. The chain of a threshold may have 4 million states, at
        most 2 * max(levels) * (buffers[0] + 1) * (buffers[1] + 1).
    thresholds
        Thresholds to try, packets, sizes such as ``"100kB"``, or percentages of the port's buffer, such as ``"80%"``,
        rounded down to packets; None: 16 of them over the buffer.
    method
        As for `stationary`.

    Returns
    -------
    ThresholdAdvice

    Raises
    ------
    ValueError
        The message names the parameter. If no threshold meets the limits, it has the smallest loss.

    Notes
    -----
    Arrivals are Poisson and packets exponential, so that queues vary more than with packets of one
    size. One class of traffic, one paused link. For the bytes above a threshold that guarantee no loss
    at all, use `dfcmodel.headroom`.

    Examples
    --------
    The port of the paper: 100 and 15 packets/s, a buffer of 20 packets, RTT 1 s.

    >>> from markov import PausedPort, pause_thresholds
    >>> port = PausedPort(link_rate=100.0, bottleneck_rate=15.0, rtt=1.0, buffers=(10, 20))
    >>> advice = pause_thresholds(port, levels=(2,), within=0.001)
    >>> advice.low, advice.high
    (18, 19)
    """
    instance("port", port, PausedPort)
    levels = _whole_numbers("levels", levels, 1, 1000, "numbers of rates, such as (2, 4)")
    if port.rtt is None and max(levels) > 1:
        raise ValueError(
            f"rtt = None: must be given with levels = {levels}; levels=(1,) stands for senders that do not react"
        )
    buffers = port.buffers
    states = 2 * max(levels) * (buffers[0] + 1) * (buffers[1] + 1)
    if states > MAX_STATES:
        fits = MAX_STATES // (2 * max(levels) * (buffers[1] + 1)) - 1
        remedy = f"buffers=({fits}, {buffers[1]})" if fits >= 2 else "fewer levels, or packets of more bytes"
        raise ValueError(
            f"buffers = {buffers}: {states:.3g} states with levels = {levels}, must be at most {MAX_STATES:.3g}; "
            f"write {remedy}"
        )
    arriving = math.ceil(port.link_rate * float(response))
    if arriving >= buffers[1] - 1:
        raise ValueError(
            f"response = {float(response):g}: {arriving} packets arrive before a pause takes effect, "
            f"which the buffer of {buffers[1]} cannot hold above any threshold"
        )
    ceiling = buffers[1] - max(arriving, 1)
    if most_loss is not None and max(levels) > 1:
        reason = "losses of this chain are not those of TCP; count them in packets (simulate)"
        raise ValueError(f"most_loss = {most_loss:g}: must be None with levels = {levels}: {reason}")
    tried = _thresholds_to_try(thresholds, buffers[1], ceiling)

    bottleneck_rate = float(port.bottleneck_rate)
    model = PauseTandem(
        buffers=buffers,
        high_threshold=buffers[1],
        link_rate=float(port.link_rate),
        paused_rate=0.0,
        bottleneck_rate=bottleneck_rate,
        rtt=1.0 if port.rtt is None else float(port.rtt),  # without an effect on senders that do not react
    )
    rates = [tuple(load * bottleneck_rate / a for a in range(1, count + 1)) for count in levels]
    models = [model.replace(arrival_rates=arrival_rates) for arrival_rates in rates]
    table = _measures_by_threshold(models, levels, tried, method)
    possible = table.sel(threshold=table.threshold <= ceiling)
    best = possible.throughput.max("threshold")
    good = (table.throughput >= (1.0 - within) * best) & (table.threshold <= ceiling)
    if most_loss is not None:
        good &= table.loss_probability <= most_loss
    recommended = good.all("levels").to_numpy()
    if not recommended.any():
        loss = possible.loss_probability.max("levels")
        k = int(loss.to_numpy().argmin())
        raise ValueError(
            f"most_loss = {most_loss!r}, within = {within:g}: no threshold up to {ceiling} meets both; the "
            f"least loss is {float(loss[k]):.3g}, at {int(loss.threshold[k])}"
        )
    # the longest run of recommended thresholds
    edges = np.flatnonzero(np.diff(np.concatenate([[False], recommended, [False]]).astype(int)))
    starts, stops = np.asarray(tried)[edges[::2]], np.asarray(tried)[edges[1::2] - 1]
    longest = int(np.argmax(stops - starts))
    low, high = int(starts[longest]), int(stops[longest])
    without = table.throughput.isel(threshold=-1)
    inside = table.throughput.sel(threshold=slice(low, high)).max("threshold")
    gain = dict(zip(levels, (inside / without - 1.0).to_numpy().tolist(), strict=True))
    return ThresholdAdvice(
        low=low,
        high=high,
        ceiling=ceiling,
        gain=gain,
        table=table.assign(recommended=("threshold", recommended)),
        models=tuple(chain.replace(high_threshold=high) for chain in models),
        within=within,
        most_loss=most_loss,
    )


def _whole_packets(amount: Any) -> Any:
    """Return a size in bytes as a whole number of packets, rounded down; other amounts unchanged."""
    return math.floor(amount) if isinstance(amount, PacketUnits) else amount


def _thresholds_to_try(thresholds: Any, buffer: int, ceiling: int) -> list[int]:
    """Return ascending thresholds in packets, of which the last is the complete buffer (no pauses)."""
    if thresholds is None:
        spread = np.unique(np.linspace(1, ceiling, min(DEFAULT_THRESHOLDS, ceiling)).round().astype(int))
        return [*spread.tolist(), buffer]
    why = (
        f"{buffer - ceiling} of {buffer} packets arrive until a pause takes effect; no pause at all is always compared"
    )

    def in_packets(threshold: Any) -> Any:
        """Return a percentage of ``buffer``, or a size in bytes, in packets, rounded down; plain numbers unchanged."""
        if isinstance(threshold, str) and threshold.strip().endswith("%"):  # of the buffer
            return math.floor(round(quantity("thresholds", threshold, "share") * buffer, 9))
        return _whole_packets(in_units("thresholds", threshold, "amount"))

    values = [in_packets(value) for value in thresholds] if type(thresholds) in (list, tuple) else thresholds
    packets = _whole_numbers("thresholds", values, 1, ceiling, "numbers of packets, such as (10, 20)", why)
    return [*sorted(set(packets)), buffer]


def _whole_numbers(name: str, value: Any, low: int, high: int, words: str, why: str = "") -> tuple[int, ...]:
    """Return a sequence of integers within limits as a tuple; ValueError if empty or out of range, with ``why``."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(unwrap_scalar(value), Iterable):
        raise ValueError(f"{name} = {format_value(value)}: must be {words}")  # noqa: TRY004
    numbers = tuple(integer(name, number, low, high, why=why) for number in value)
    if not numbers:
        raise ValueError(f"{name} = {format_value(value)}: must be {words}, at least one")
    return numbers


def _measures_by_threshold(
    models: list[PauseTandem], levels: tuple[int, ...], thresholds: list[int], method: Method | None
) -> xr.Dataset:
    """Return throughput, pauses, loss and delay over ``levels`` and ``threshold``, one chain solved for each pair."""
    import xarray as xr

    tables = []
    for model in models:
        data = sweep(model, method=method, high_threshold=thresholds)
        offered = data.effective_rate.sel(queue=1) + data.loss_rate.sel(queue=1)
        measures = data[["throughput", "pause_fraction", "pause_rate", "error_bound"]]
        loss = data.loss_rate.sum("queue") / offered
        delay = data.mean_queue.sum("queue") / data.throughput
        tables.append(
            measures.assign(loss_probability=loss.assign_attrs(units="1"), delay=delay.assign_attrs(units="s"))
        )
    table = xr.concat(tables, xr.DataArray(list(levels), dims="levels", name="levels"))
    return table.rename(high_threshold="threshold").drop_vars("queue", errors="ignore")


def _range_text(values: NDArray[np.float64]) -> str:
    """Return the smallest and the largest value as text, such as "0.1 to 0.3"."""
    low, high = f"{values.min():.4g}", f"{values.max():.4g}"
    return low if low == high else f"{low} to {high}"


def _percent_text(values: NDArray[np.float64]) -> str:
    """Return the smallest and the largest relative change as text, such as "-0.10 to +1.20 %"."""
    low, high = ("0.00" if abs(value) < 5e-5 else f"{100.0 * value:+.2f}" for value in (values.min(), values.max()))
    return f"{low} %" if low == high else f"{low} to {high} %"
