"""Pause thresholds for a port: what the chain of an aggregate of TCP flows over 802.3x recommends.

The model is `PauseTandem` (R. Malhotra et al., CWI report PNA-E0518, 2005) with a paused link that
stops, and a TCP aggregate whose rate halves at a loss: its levels are load * bottleneck_rate / a,
a = 1, 2, ... Late pause messages are taken into account by keeping the packets that arrive until a
message works free above the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from hopflow.checks import dimensions, format_value, integer, one_number, seconds, unwrap_scalar
from hopflow.keywords import check_keywords, takes_keywords
from hopflow.results import Result, figure
from hopflow.sweeps.planning import sweep
from hopflow.units import (
    PacketUnits,
    WholeWithUnit,
    WithUnit,
    declares,
    in_units,
    quantities,
    quantity,
)
from markov.models.pause import PauseTandem

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from markov.methods.solution import Method

__all__ = ["ThresholdAdvice", "pause_thresholds"]

THRESHOLDS = 16
"""How many thresholds are solved, unless they are given."""
MAX_STATES = 4_000_000
"""States of the chain of a threshold; one of this size takes some seconds."""
NEGLIGIBLE = 1e-3
"""A relative change of throughput below which no threshold of the range matters for it."""
MORE_LOST = 2.0
"""Ratio of the loss at an end of the range to that without pauses from which the summary names it."""

ASSUMED = "not part of the bound: Poisson arrivals and packets of random size are assumptions"
OF_TCP = (
    ", and so is an aggregate of TCP flows; gains of simulated TCP differ by several percentage points "
    "(claims M11 to M14)"
)
"""Row of the summary, and what it has besides where senders react to losses."""
NOT_OF_TCP = (
    "of the chain's senders, not of TCP: against no pauses, TCP's losses change by other amounts and often in the "
    "other direction; count them in packets (simulate)"
)
"""Row of the summary next to losses of senders that react to them."""


@dataclass(frozen=True, repr=False, eq=False)
class ThresholdAdvice(Result):
    """Recommended pause thresholds, and the chain's measures at each threshold tried.

    Attributes
    ----------
    low, high
        Ends of the recommended range of the threshold above which the port pauses, packets: each threshold tried between
        them delivers at least ``1 - within`` of the highest throughput, loses at most ``most_loss`` if given, and is at most
        ``ceiling``. Pauses end one packet below the threshold in use: the lower one is ``low_threshold`` of `PauseTandem`, which is not varied.
    ceiling
        Highest safe threshold: the packets that arrive before a pause takes effect fit above it.
    gain
        Relative throughput of the best recommended threshold above that without pauses, by number of
        TCP levels.
    table
        `xarray.Dataset` over ``levels`` (of the TCP aggregate) and ``threshold`` (packets):
        ``throughput`` and ``pause_rate`` (1/s), ``pause_fraction``, ``loss_probability`` (of what the
        chain's senders offer; TCP loses other parts), ``delay`` (s in both queues), ``recommended``. The
        last threshold is the whole buffer: no pauses.
    models
        The chain of each number of levels at the threshold ``high``.
    within, most_loss
        As asked.

    Examples
    --------
    >>> from markov import pause_thresholds
    >>> found = pause_thresholds(
    ...     link_rate=100.0, bottleneck_rate=15.0, rtt=1.0, buffers=(5, 10), levels=(2,)
    ... )
    >>> found.ceiling, found.table.sizes["threshold"]
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
        """Return the table: the measures of every value that was tried."""
        return self.table

    @staticmethod
    def _late(packets: int) -> str:
        """Return what the highest safe threshold rests on: how many packets arrive before a pause takes effect."""
        if packets > 1:
            return f" ({packets} packets arrive before a pause takes effect)"
        return ", only if a pause takes effect within one packet: response= is that time, headroom has it for a link"

    def _more_lost(self, buffer: int) -> str:
        """Return at which end of the range much more is lost than without pauses; empty: at none."""
        loss = self.table.loss_probability
        without = loss.sel(threshold=buffer)
        ratios = {
            end: float((loss.sel(threshold=end) / without).where(without > 0.0).max())
            for end in dict.fromkeys((self.low, self.high))
        }
        said = [
            f"at {end} up to {ratio:.3g} times what is lost without pauses"
            for end, ratio in ratios.items()
            if ratio >= MORE_LOST
        ]
        limit = "in this chain" if self._reacts else "most_loss= limits it"
        return f"{', '.join(said)}; {limit}" if said else ""

    @property
    def _reacts(self) -> bool:
        """Whether senders react to losses, for some number of levels."""
        return int(self.table.levels.max()) > 1

    def summary(self) -> dict[str, object]:
        """Return the recommended range, with the measures at its ends and without pauses."""
        data, last = self.table, int(self.table.threshold[-1])
        change = data.throughput / data.throughput.isel(threshold=-1) - 1.0
        inside = change.sel(threshold=slice(self.low, self.high))
        ends = dict.fromkeys((self.low, self.high))
        by = ", ".join(f"by {_percent(inside.sel(threshold=n).to_numpy())} at {n}" for n in ends)
        matters = f"throughput {by}, against no pauses"
        least = ", the lowest that was tried" if self.low == int(data.threshold[0]) else ""
        rows: dict[str, object] = {
            "recommended threshold": f"{' to '.join(map(str, sorted({self.low, self.high})))} packets{least}",
            "highest safe threshold": f"{self.ceiling}{self._late(last - self.ceiling)}",
            "pausing changes": f"{matters}: hardly any" if abs(inside).max() < NEGLIGIBLE else matters,
        }
        for threshold in dict.fromkeys((self.low, self.high, last)):
            at = data.sel(threshold=threshold)
            rows["no pauses" if threshold == last else f"at {threshold}"] = ", ".join(
                f"{label} {_range(scale * at[name].to_numpy())}"
                for label, name, scale in (
                    ("packets/s", "throughput", 1.0),
                    ("lost (%)", "loss_probability", 100.0),
                    ("pauses/s", "pause_rate", 1.0),
                    ("delay (s)", "delay", 1.0),
                )
            )
        if self._reacts:
            rows["losses are"] = NOT_OF_TCP
        if more := self._more_lost(last):
            rows["more is lost"] = more
        rows["largest error bound (TV)"] = f"{float(data.error_bound.max()):.1e}, of the solution"
        rows["error of the model"] = ASSUMED + OF_TCP if self._reacts else ASSUMED
        return rows

    def plot(self, ax: Any = None) -> Any:
        """Draw throughput over the threshold for each number of levels; return the matplotlib Axes."""
        if ax is None:
            _, ax = figure()
        for levels in self.table.levels.to_numpy():
            at = self.table.sel(levels=levels)
            ax.plot(at.threshold, at.throughput, ".-", label=f"{levels} TCP levels")
        ax.axvspan(self.low, self.high, color="0.9", zorder=0, label="recommended")
        ax.set(xlabel="pause threshold (packets)", ylabel="throughput (packets/s)")
        ax.legend(frameon=False)
        return ax


class Port(TypedDict):
    """What is known of a port, as of `PauseTandem`."""

    link_rate: float | str
    bottleneck_rate: float | str
    buffers: tuple[WholeWithUnit, WholeWithUnit]


class PausedPort(Port, total=False):
    """The same, with the round-trip time of the flows, which senders that do not react need not have."""

    rtt: float | str | None


@declares(thresholds="amount")
@quantities(
    link_rate="rate",
    bottleneck_rate="rate",
    rtt="time",
    buffers="amount",
    response="time",
    load="share",
    most_loss="share",
    within="share",
)
@takes_keywords(PausedPort, {"rtt": None})
def pause_thresholds(
    *,
    load: WithUnit = 1.5,
    response: float | str = 0.0,
    within: WithUnit = 0.01,
    most_loss: WithUnit | None = None,
    levels: tuple[int, ...] = (2, 4),
    thresholds: Sequence[WholeWithUnit] | None = None,
    method: Method | None = None,
    **port: Unpack[PausedPort],
) -> ThresholdAdvice:
    """Return a range of pause thresholds for a port, with loss, delay and pauses at each.

    Parameters
    ----------
    load
        What the flows send at most, over ``bottleneck_rate``, at most 10. Level a = 1, 2, ... of the aggregate sends the part
        1/a of it; a loss doubles a, and a falls by one per round-trip time.
    response
        Time from the decision to pause until the last packet has arrived, s: twice the propagation
        delay, the frames under way and the reaction of the other side (`dfcmodel.headroom` adds them
        up).
    within
        Throughput that may be given away, relative to the best.
    most_loss
        Largest probability of loss of a packet, with ``levels=(1,)`` only; None: no limit. With more levels it is
        refused, as the losses of this chain are not those of TCP.
    levels
        Numbers of rates of the TCP aggregate. The range holds for each of them; the number is the
        part of the model that is known least. ``(1,)``: senders that do not react to losses.
    thresholds
        To try, packets, sizes such as ``"100kB"``, or percentages of the port's buffer, such as ``"80%"``, rounded down to
        packets; None is 16 of
        them over the buffer.
    method
        As for `stationary`.
    **port
        The following keywords, as of `PauseTandem`.
    link_rate
        Of the link that is paused, packets/s, or a string with a unit: ``"1Gbps"``.
    bottleneck_rate
        Of the link behind the port, packets/s; at most ``link_rate``.
    buffers
        Of the node before the link and of the port, packets, or sizes such as ``"1MB"``: as many packets of 1500 bytes as
        fit. The chain of a threshold may have 4 million states, 2 * max(levels) * (buffers[0] + 1) * (buffers[1] + 1) at most;
        the first buffer changes little.
    rtt
        Round-trip time of the TCP flows, s; None with ``levels=(1,)``, where it has no effect.

    Returns
    -------
    ThresholdAdvice

    Raises
    ------
    ValueError
        Naming the parameter; when no threshold meets the limits, with what comes nearest.

    Notes
    -----
    Arrivals are Poisson and packets exponential, so that queues vary more than those of packets of one
    size. One class of traffic, one paused link. For the bytes above a threshold that guarantee no loss
    at all, use `dfcmodel.headroom`.

    Examples
    --------
    The port of the paper: 100 and 15 packets/s, a buffer of 20 packets, RTT 1 s.

    >>> from markov import pause_thresholds
    >>> found = pause_thresholds(
    ...     link_rate=100.0, bottleneck_rate=15.0, rtt=1.0, buffers=(10, 20), levels=(2,), within=0.001
    ... )
    >>> found.low, found.high
    (18, 19)
    """
    given = check_keywords(pause_thresholds, port)
    link_rate, bottleneck_rate = given["link_rate"], given["bottleneck_rate"]
    levels = _levels(levels)
    rtt = _round_trip(given["rtt"], levels)
    model = _checked(link_rate, bottleneck_rate, rtt, given["buffers"], load)
    buffers = model.buffers
    _check_states(buffers, levels)
    one_number("response", response, at_least=0.0, at_most=10.0, hint="in s")
    ceiling = _ceiling(link_rate, float(response), buffers[1])
    one_number("within", within, above=0.0, below=1.0)
    if most_loss is not None:
        _check_most_loss(most_loss, levels)
    tried = _thresholds(thresholds, buffers[1], ceiling)
    rates = [tuple(load * bottleneck_rate / a for a in range(1, count + 1)) for count in levels]
    models = [model.replace(arrival_rates=each) for each in rates]
    table = _measures(models, levels, tried, method)
    best = table.throughput.sel(threshold=table.threshold <= ceiling).max("threshold")
    good = (table.throughput >= (1.0 - within) * best) & (table.threshold <= ceiling)
    if most_loss is not None:
        good &= table.loss_probability <= most_loss
    recommended = good.all("levels").to_numpy()
    if not recommended.any():
        raise ValueError(_none(table, ceiling, within, most_loss))
    low, high = _longest(np.asarray(tried), recommended)
    without = table.throughput.isel(threshold=-1)
    inside = table.throughput.sel(threshold=slice(low, high)).max("threshold")
    gain = dict(zip(levels, (inside / without - 1.0).to_numpy().tolist(), strict=True))
    return ThresholdAdvice(
        low=low,
        high=high,
        ceiling=ceiling,
        gain=gain,
        table=table.assign(recommended=("threshold", recommended)),
        models=tuple(each.replace(high_threshold=high) for each in models),
        within=within,
        most_loss=most_loss,
    )


def _checked(link_rate: float, bottleneck_rate: float, rtt: float, buffers: Any, load: float) -> PauseTandem:
    one_number("link_rate", link_rate, above=0.0, hint="in packets/s: mbps(1000) converts")
    one_number(
        "bottleneck_rate",
        bottleneck_rate,
        above=0.0,
        at_most=float(link_rate),
        hint="the link_rate",
    )
    one_number("rtt", seconds("rtt", rtt))
    one_number("load", load, above=0.0, at_most=10.0, hint="over the bottleneck's rate; '80%' is 0.8")
    if isinstance(buffers, (str, Mapping)) or dimensions(buffers) != (2,):
        raise ValueError(f"buffers = {format_value(buffers)}: must be two numbers of packets")
    buffers = [_fitting(each) for each in np.asarray(buffers, dtype=object).tolist()]
    for k in range(2):
        integer(f"buffers[{k}]", buffers[k], 2, 10**6)
    return PauseTandem(
        buffers=(int(buffers[0]), int(buffers[1])),
        high_threshold=int(buffers[1]),
        link_rate=float(link_rate),
        paused_rate=0.0,
        bottleneck_rate=float(bottleneck_rate),
        rtt=float(rtt),
    )


def _fitting(amount: Any) -> Any:
    """Return the whole packets that fit into a size in bytes; another amount as it is."""
    return math.floor(amount) if isinstance(amount, PacketUnits) else amount


def _check_states(buffers: tuple[int, int], levels: tuple[int, ...]) -> None:
    """Raise ValueError where the chain of a threshold is too large for a table of them."""
    states = 2 * max(levels) * (buffers[0] + 1) * (buffers[1] + 1)
    if states > MAX_STATES:
        fits = MAX_STATES // (2 * max(levels) * (buffers[1] + 1)) - 1
        way = f"buffers=({fits}, {buffers[1]})" if fits >= 2 else "fewer levels, or packets of more bytes"
        raise ValueError(
            f"buffers = {buffers}: {states:.3g} states with levels = {levels}, must be at most {MAX_STATES:.3g}; write {way}"
        )


def _round_trip(rtt: float | None, levels: tuple[int, ...]) -> float:
    """Return the round-trip time, s; of senders that do not react any one."""
    if rtt is not None:
        return one_number("rtt", rtt, above=0.0, hint="in s")
    if max(levels) > 1:
        raise ValueError(
            f"rtt = None: must be given with levels = {levels}; levels=(1,) stands for senders that do not react"
        )
    return 1.0


def _check_most_loss(most_loss: Any, levels: tuple[int, ...]) -> None:
    """Raise ValueError for a limit out of range, and for any limit where senders react to losses."""
    one_number("most_loss", most_loss, above=0.0, below=1.0)
    if max(levels) > 1:
        msg = f"must be None with levels = {levels}: losses of this chain are not those of TCP; count them in packets (simulate)"
        raise ValueError(f"most_loss = {most_loss:g}: {msg}")


def _ceiling(link_rate: float, response: float, buffer: int) -> int:
    late = math.ceil(link_rate * response)
    if late >= buffer - 1:
        raise ValueError(
            f"response = {response:g}: {late} packets arrive before a pause takes effect, which the buffer of "
            f"{buffer} cannot hold above any threshold"
        )
    return buffer - max(late, 1)


def _levels(levels: Any) -> tuple[int, ...]:
    return _wholes("levels", levels, 1, 1000, "numbers of rates, such as (2, 4)")


def _thresholds(asked: Any, buffer: int, ceiling: int) -> list[int]:
    if asked is None:
        spread = np.unique(np.linspace(1, ceiling, min(THRESHOLDS, ceiling)).round().astype(int))
        return [*spread.tolist(), buffer]
    why = (
        f"{buffer - ceiling} of {buffer} packets arrive until a pause takes effect; no pause at all is always compared"
    )
    asked = [_packets(each, buffer) for each in asked] if type(asked) in (list, tuple) else asked
    found = _wholes("thresholds", asked, 1, ceiling, "numbers of packets, such as (10, 20)", why)
    return [*sorted(set(found)), buffer]


def _packets(threshold: Any, buffer: int) -> Any:
    """Return a threshold in packets; a percentage is of the buffer."""
    if isinstance(threshold, str) and threshold.strip().endswith("%"):
        return math.floor(round(quantity("thresholds", threshold, "share") * buffer, 9))
    return _fitting(in_units("thresholds", threshold, "amount"))


def _wholes(name: str, value: Any, low: int, high: int, words: str, why: str = "") -> tuple[int, ...]:
    """Return whole numbers, at least one; ``why`` states the reason of the limits."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(unwrap_scalar(value), Iterable):
        raise ValueError(f"{name} = {format_value(value)}: must be {words}")  # noqa: TRY004
    found = tuple(integer(name, each, low, high, why=why) for each in value)
    if not found:
        raise ValueError(f"{name} = {format_value(value)}: must be {words}, at least one")
    return found


def _measures(
    models: list[PauseTandem], levels: tuple[int, ...], tried: list[int], method: Method | None
) -> xr.Dataset:
    import xarray as xr

    found = []
    for model in models:
        data = sweep(model, method=method, high_threshold=tried)
        offered = data.effective_rate.sel(queue=1) + data.loss_rate.sel(queue=1)
        kept = data[["throughput", "pause_fraction", "pause_rate", "error_bound"]]
        loss = data.loss_rate.sum("queue") / offered
        delay = data.mean_queue.sum("queue") / data.throughput
        found.append(kept.assign(loss_probability=loss.assign_attrs(units="1"), delay=delay.assign_attrs(units="s")))
    table = xr.concat(found, xr.DataArray(list(levels), dims="levels", name="levels"))
    return table.rename(high_threshold="threshold").drop_vars("queue", errors="ignore")


def _longest(tried: NDArray[np.int64], recommended: NDArray[np.bool_]) -> tuple[int, int]:
    """Return the ends of the longest run of recommended thresholds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], recommended, [False]]).astype(int)))
    starts, stops = edges[::2], edges[1::2] - 1
    k = int(np.argmax(tried[stops] - tried[starts]))
    return int(tried[starts[k]]), int(tried[stops[k]])


def _none(table: xr.Dataset, ceiling: int, within: float, most_loss: float | None) -> str:
    """Return why no threshold is recommended."""
    possible = table.sel(threshold=table.threshold <= ceiling)
    loss = possible.loss_probability.max("levels")
    least = int(loss.to_numpy().argmin())
    return (
        f"most_loss = {most_loss!r}, within = {within:g}: no threshold up to {ceiling} meets both; the "
        f"least loss is {float(loss[least]):.3g}, at {int(loss.threshold[least])}"
    )


def _range(values: NDArray[np.float64]) -> str:
    low, high = f"{values.min():.4g}", f"{values.max():.4g}"
    return low if low == high else f"{low} to {high}"


def _percent(values: NDArray[np.float64]) -> str:
    """Return the range of relative changes in per cent, with their signs."""
    low, high = ("0.00" if abs(value) < 5e-5 else f"{100.0 * value:+.2f}" for value in (values.min(), values.max()))
    return f"{low} %" if low == high else f"{low} to {high} %"
