"""Spread of a pause storm: links stop one after the other as the buffers before them fill.

A storm permanently stops links, such as the link to a host that pauses it. Packets for
a stopped link stay in a buffer of the switch before it. At its threshold the switch stops
the links that feed the buffer, and so on. Assumptions: constant rates; no other congestion; buffers are empty at the
beginning; within a switch packets wait only for their next link (no head-of-line blocking); all flows are
of one class. The fill times are then exact, event by event.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.lossless.quantities import bit_rate, size_in_bytes
from dfcmodel.lossless.topologies.routes import parse_routes
from hopflow.checks import choice, format_value, number, one_number
from hopflow.results import Result, figure
from hopflow.units import WithUnit, quantities

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    import pandas as pd
    import xarray as xr
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["StormSpread", "storm_spread"]


@dataclass(frozen=True, eq=False, repr=False)
class StormSpread(Result):
    """Links that a pause storm stops one after the other, with times and causes.

    Attributes
    ----------
    routes
        The routes of the flows.
    stopped
        Time in s at which each link stopped, ascending; links of the storm stop at 0.
    cause
        The stopped link that caused the stop of each link; None for links of the storm.

    Examples
    --------
    >>> from dfcmodel.lossless import storm_spread
    >>> spread = storm_spread([["a", "s", "h"], ["a", "s", "g"]], 1e9, [("s", "h")], threshold=1e5)
    >>> spread.stopped[("a", "s")], spread.victims
    (0.0001, [1])
    """

    routes: list[list[Any]]
    stopped: dict[tuple[Any, Any], float]
    cause: dict[tuple[Any, Any], tuple[Any, Any] | None]

    @property
    def victims(self) -> list[int]:
        """Indices of flows that cross a stopped link but no link of the storm."""
        storm = {link for link, cause in self.cause.items() if cause is None}
        crossed = [set(itertools.pairwise(route)) for route in self.routes]
        return [n for n, links in enumerate(crossed) if links & set(self.stopped) and not links & storm]

    def table(self) -> pd.DataFrame:
        """Return the stopped links with the time in s, the cause, and the flows that cross them."""
        import pandas as pd

        crossed = [set(itertools.pairwise(route)) for route in self.routes]
        rows = [
            {"link": link, "stopped (s)": time, "because of": self.cause[link],
             "flows": sum(link in links for links in crossed)}
            for link, time in self.stopped.items()
        ]  # fmt: skip
        return pd.DataFrame(rows)

    def to_xarray(self) -> xr.Dataset:
        """Return the time in s at which each link stopped and the number of its flows, over ``link``."""
        import xarray as xr

        table = self.table()
        names = [f"{link[0]}->{link[1]}" for link in table["link"]]
        return xr.Dataset(
            {
                "stopped": ("link", table["stopped (s)"].to_numpy(), {"units": "s"}),
                "flows": ("link", table["flows"].to_numpy(), {"units": "1"}),
            },
            coords={"link": names},
        )

    def summary(self) -> dict[str, object]:
        """Return, as texts, the numbers of stopped links and victims, and the time of the last stop."""
        storm = sum(cause is None for cause in self.cause.values())
        return {
            "links stopped": f"{len(self.stopped) - storm}, and {storm} of the storm",
            "last one after": f"{max(self.stopped.values()):.4g} s",
            "victims": f"{len(self.victims)} of {len(self.routes)} flows, towards other destinations",
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the number of stopped links over time; return the Axes."""
        axes = figure()[1] if ax is None else ax
        times = sorted(self.stopped.values())
        axes.step(times, np.arange(1, len(times) + 1), where="post")
        axes.set(xlabel="s since the storm began", ylabel="links stopped")
        return axes


@quantities(delay="time")
def storm_spread(
    routes: Iterable[Sequence[Hashable]],
    rates: ArrayLike,
    storm: Iterable[tuple[Hashable, Hashable]],
    *,
    threshold: float | str,
    delay: WithUnit = 0.0,
    buffers: str = "ingress",
) -> StormSpread:
    """Return the links that a pause storm stops, with times and causes.

    Parameters
    ----------
    routes
        Nodes of each of F flows, from its sender to its receiver. `Route` objects must have one class.
    rates
        Rates of the flows, shape (F,) or a scalar: bytes/s or packets/s, or strings such as ``100Gbps``.
    storm
        Links that are stopped from time 0 on.
    threshold
        Bytes or packets in a buffer at which a switch pauses, in the unit of the rates: a string such as ``200 kB`` if
        they are strings.
    delay
        Time in s from the crossing of the threshold until the paused link stops.
    buffers
        ``"ingress"``: a buffer per incoming link, which pauses that link, as switches account. ``"output"``:
        a queue per outgoing link, which pauses all links that feed it, as `Pause` in scenarios.

    Raises
    ------
    ValueError
        For no routes, routes of several classes, rates of another shape, an unknown value of ``buffers``, a storm at a
        link that no route uses, and rates with a unit beside a threshold without one, or the other way round.

    Examples
    --------
    >>> from dfcmodel.lossless import storm_spread
    >>> line = [["a", "b", "c", "d"], ["x", "b", "y"]]
    >>> storm_spread(line, 1e9, [("c", "d")], threshold=1e5).stopped
    {('c', 'd'): 0.0, ('b', 'c'): 0.0001, ('a', 'b'): 0.0002}
    """
    parsed = parse_routes(routes)
    classes = sorted({priority for route in parsed for *_, priority in route.channels()})
    if len(classes) > 1:
        raise ValueError(
            f"routes have the classes {', '.join(map(str, classes))}: must be one class, which the storm pauses"
        )
    paths = [list(route.nodes) for route in parsed]
    if not paths:
        raise ValueError("routes = []: must have a route at least")
    rates, threshold = _in_one_unit(rates, threshold)
    flow_rates = number("rates", rates, above=0.0, hint="in bytes/s or packets/s")
    if flow_rates.shape not in ((), (len(paths),)):
        raise ValueError(f"rates has shape {flow_rates.shape}: must be one, or one for each of the {len(paths)} routes")
    level = one_number("threshold", threshold, above=0.0, hint="in bytes or packets")
    one_number("delay", delay, at_least=0.0, hint="in s")
    choice("buffers", buffers, ("ingress", "output"))
    spread = _Spreading(paths, np.broadcast_to(flow_rates, len(paths)), buffers == "output")
    initial = [tuple(route.nodes) for route in parse_routes(storm, "storm")]
    for link in initial:
        if link not in spread.links:
            raise ValueError(f"storm: no route uses the link {link!r}")
    stopped, cause = spread.run(initial, level, float(delay))
    return StormSpread(paths, stopped, cause)


def _in_one_unit(rates: Any, threshold: Any) -> tuple[Any, Any]:
    """Return rates and threshold, strings as bytes/s and bytes; ValueError unless all or none of them have a unit."""
    listed = rates.tolist() if isinstance(rates, np.ndarray) else rates
    entries = listed if isinstance(listed, (list, tuple)) else [listed]
    with_unit, threshold_has_unit = sum(isinstance(entry, str) for entry in entries), isinstance(threshold, str)
    if not with_unit and not threshold_has_unit:
        return rates, threshold
    if with_unit < len(entries):
        subject = f"rates = {format_value(rates)}"
        raise ValueError(f"{subject}: must have units, such as '100Gbps', as the threshold or other rates have")
    if not threshold_has_unit:
        subject = f"threshold = {format_value(threshold)}"
        raise ValueError(f"{subject}: must have a unit, such as '200 kB', as the rates have")
    per_second = [bit_rate("rates", rate) / 8 for rate in entries]
    return per_second if entries is listed else per_second[0], size_in_bytes("threshold", threshold)


class _Spreading:
    """State of filling buffers, with the previous and the next link of each flow at each buffer."""

    def __init__(self, paths: list[list[Any]], rates: Floats, output: bool) -> None:
        self.rates, self.hops = rates, [list(itertools.pairwise(path)) for path in paths]
        self.links = {link for hops in self.hops for link in hops}
        # (buffer, link before or None, next link, flow, hops before it)
        self.visits = [
            (hops[k + 1] if output else hops[k], hops[k] if k >= 0 else None, hops[k + 1], flow, k)
            for flow, hops in enumerate(self.hops)
            for k in range(-1 if output else 0, len(hops) - 1)
        ]
        self.feeders: dict[Any, set[Any]] = {}
        for buffer, before, _, _, _ in self.visits:
            self.feeders.setdefault(buffer, set()).update({before} - {None})

    def _slopes(self, stopped: dict[Any, float]) -> dict[Any, tuple[float, Any]]:
        """Return, by filling buffer, the fill rate and a stopped link that its packets wait for."""
        slopes: dict[Any, tuple[float, Any]] = {}
        for buffer, _, after, flow, k in self.visits:
            arrives = not any(link in stopped for link in self.hops[flow][: k + 1])
            if after in stopped and arrives:
                slopes[buffer] = (slopes.get(buffer, (0.0,))[0] + float(self.rates[flow]), after)
        return slopes

    def run(self, initial: list[Any], threshold: float, delay: float) -> tuple[Any, Any]:
        """Return the time at which each link stops and its cause, both by link, until no further buffer fills."""
        now, level = 0.0, dict.fromkeys(self.feeders, 0.0)
        stopped, cause = dict.fromkeys(initial, 0.0), dict.fromkeys(initial)
        due: dict[Any, tuple[float, Any]] = {}
        full: set[Any] = set()
        while True:
            slopes = self._slopes(stopped)
            waits = {b: (threshold - level[b]) / s for b, (s, _) in slopes.items() if b not in full}
            steps = [*waits.values(), *(time - now for time, _ in due.values())]
            if not steps:
                return stopped, cause
            step = max(0.0, min(steps))
            now += step
            for buffer, (slope, after) in slopes.items():
                level[buffer] += slope * step
                if buffer not in full and waits[buffer] <= step * (1.0 + 1e-12):
                    full.add(buffer)
                    for link in self.feeders[buffer] - set(stopped):
                        due.setdefault(link, (now + delay, after))
            for link in [link for link, (time, _) in due.items() if time <= now]:
                stopped[link], cause[link] = due.pop(link)
