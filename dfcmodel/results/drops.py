"""Drops of a run by their cause, and the losses of lossless classes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.drop_causes import BUFFER_FULL
from dfcmodel.network.queueing.class_pauses import ALL, IN_TRANSMISSION
from dfcmodel.network.queueing.link_laws import LinkLaw
from dfcmodel.network.run_tables import EXCESS

if TYPE_CHECKING:
    import xarray as xr

    from dfcmodel.results.records import Records

__all__ = [
    "HOST_LINK",
    "LosslessLoss",
    "drop_table",
    "element_table",
    "is_at_host_link",
    "lossless_losses",
    "packets_by_cause",
]

HOST_LINK = "own link"
"""Cause in tables: no room at the first link of the flow's path, where its sender is not paused (``host="direct"``)."""


@dataclass(frozen=True)
class LosslessLoss:
    """Packets of one lossless class that one link dropped because its buffer was full, and its headroom.

    Attributes
    ----------
    link
        Name of the link whose buffer had no room.
    priority
        The class, lossless by `PFC` or a `LinkLaw`; -1: the link has `Pause`, which pauses all its packets.
    flows
        Names of the flows that lost packets or ACKs there.
    packets, acks
        Numbers of dropped packets and ACKs until the end of the run.
    first
        Time of the first drop, s.
    headroom
        Packets of room above ``xoff`` (`PFC`, per ingress and class) or ``high`` (`Pause`, in all) that would have been
        enough for all arrivals; inf: none, because a host that cannot be paused feeds it; nan: of a `LinkLaw` it is
        unknown.
    given
        Actual room above the threshold, packets; the whole buffer of a `LinkLaw`.
    """

    link: str
    priority: int
    flows: tuple[str, ...]
    packets: float
    acks: float
    first: float
    headroom: float
    given: float

    def __str__(self) -> str:
        lossless_class = "" if self.priority == ALL else f", class {self.priority}"
        acks = f" and {self.acks:.0f} ACKs" if self.acks else ""
        if np.isnan(self.headroom):
            enough = f"its law did not keep arrivals within {self.given:.4g} packets"
        elif np.isinf(self.headroom):
            enough = "no headroom is enough: a host that cannot be paused feeds it"
        else:
            above = "high" if self.priority == ALL else "xoff"
            enough = (
                f"room for {np.ceil(self.headroom):.0f} packets above {above} would have been enough, "
                f"it is {self.given:.4g}"
            )
        return f"{self.link}{lossless_class}: {self.packets:.0f} packets{acks} from {self.first:.4g} s on; {enough}"


def is_at_host_link(run: Records, dropped: Any) -> Any:
    """Return flags, (N,), of rows ``dropped``: data at a full first link of a flow whose sender pauses cannot stop."""
    first, direct = run.scenario.routes.first, run.scenario.host_is("direct")
    at_first = direct[dropped["flow"]] & (first[dropped["flow"]] == dropped["link"])
    return at_first & (dropped["ack"] == 0) & (dropped["cause"] == BUFFER_FULL)


def is_lossless(run: Records, dropped: Any) -> Any:
    """Return flags, (N,), of rows ``dropped``: at full buffers, in a class lossless there, and not at host links."""
    at_host = is_at_host_link(run, dropped)
    flags = [
        not is_at_host
        and row["cause"] == BUFFER_FULL
        and _is_declared_lossless(run, int(row["link"]), int(row["flow"]), bool(row["ack"]))
        for row, is_at_host in zip(dropped, at_host.tolist(), strict=True)
    ]
    return np.array(flags, dtype=np.bool_)


def _is_declared_lossless(run: Records, n: int, f: int, is_ack: bool) -> bool:
    """Return whether the class of flow f's packets, or ACKs, is lossless at link n."""
    rule: Any = run.scenario.links[n].discipline
    priority = run.scenario.flows[f].priority
    if rule.queue_per == "class":
        counted = {c for _, c, _ in run.scenario.ingress(n)}
        return priority in rule.classes and (not is_ack or (rule.acks == "class" and priority in counted))
    return bool(rule.pauses == "link")


def drop_table(run: Records) -> xr.Dataset:
    """Return the drops of a run as a table; see `Trajectory.drops`."""
    import xarray as xr

    dropped = require_drops(run)
    at_host = is_at_host_link(run, dropped)
    scenario, names = run.scenario, list(run.scenario.drop_causes)
    causes = [
        HOST_LINK if is_at_host else names[cause]
        for cause, is_at_host in zip(dropped["cause"].tolist(), at_host.tolist(), strict=True)
    ]
    columns: dict[str, tuple[Any, str]] = {
        "flow": (np.array([scenario.flows[f].name for f in dropped["flow"]], dtype=str), ""),
        "link": (np.array([scenario.links[n].name for n in dropped["link"]], dtype=str), ""),
        "cause": (np.array(causes, dtype=str), ""),
        "ack": (dropped["ack"] == 1, ""),
        "packets": (dropped["packets"].copy(), "packets"),
        "first": (dropped["first"].copy(), "s"),
        "lossless": (is_lossless(run, dropped), ""),
    }
    return xr.Dataset(
        {name: ("drop", values, {"units": units} if units else {}) for name, (values, units) in columns.items()}
    )


def element_table(run: Records) -> xr.Dataset:
    """Return the counts of elements of paths as a table; see `Trajectory.element_counts`."""
    import xarray as xr

    rows = [(element, name) for element in run.scenario.all_elements for name in element.counts]
    columns: dict[str, Any] = {
        "element": np.array([type(element).__name__ for element, _ in rows], dtype=str),
        "link": np.array([element.link for element, _ in rows], dtype=str),
        "quantity": np.array([name for _, name in rows], dtype=str),
        "value": np.array(run.counted or (), dtype=np.float64),
    }
    return xr.Dataset({name: ("count", values) for name, values in columns.items()})


def require_drops(run: Records) -> Any:
    """Return the drops of a run, rows of `DROPPED`; ValueError for a run that did not record them."""
    if run.dropped is None:
        raise ValueError(f"drops of {run.scenario.name!r}: this run has no record of their causes")
    return run.dropped


def lossless_losses(run: Records) -> tuple[LosslessLoss, ...]:
    """Return packets of lossless classes dropped at full buffers, by link and class; () if none are recorded."""
    if run.dropped is None or not len(run.dropped):
        return ()
    rows = run.dropped[is_lossless(run, run.dropped)]
    rows_by_class: dict[tuple[int, int], list[Any]] = {}
    for row in rows:
        n = int(row["link"])
        by_class = run.scenario.links[n].discipline.queue_per == "class"
        priority = run.scenario.flows[int(row["flow"])].priority if by_class else ALL
        rows_by_class.setdefault((n, priority), []).append(row)
    losses = [_loss(run, n, priority, class_rows) for (n, priority), class_rows in rows_by_class.items()]
    return tuple(sorted(losses, key=lambda loss: (loss.first, loss.link)))


def _loss(run: Records, n: int, priority: int, rows: list[Any]) -> LosslessLoss:
    """Return the `LosslessLoss` of a class at link n from the rows of `DROPPED` of the class."""
    packets = {ack: sum(float(row["packets"]) for row in rows if row["ack"] == ack) for ack in (0, 1)}
    room, enough = _rooms(run, n, priority)
    flows = dict.fromkeys(run.scenario.flows[int(row["flow"])].name for row in rows)
    return LosslessLoss(
        run.scenario.links[n].name, priority, tuple(flows), packets[0], packets[1],
        min(float(row["first"]) for row in rows), enough, room,
    )  # fmt: skip


def _rooms(run: Records, n: int, priority: int) -> tuple[float, float]:
    """Return the packets of room of link n above its threshold, and those that would have sufficed (may be inf or nan).

    With PFC both are of the ingress with the largest need. With `Pause` the second is the number of packets that can
    arrive until links obey, unless a larger peak was counted.
    """
    scenario, link = run.scenario, run.scenario.links[n]
    rule: Any = link.discipline
    excess = run.excess if run.excess is not None else np.zeros(0, dtype=EXCESS)
    if isinstance(rule, LinkLaw):
        rooms = scenario.rooms_once(n)
        return max((room for (_, c), room in rooms.items() if c == priority), default=0.0), np.nan
    if rule.pauses == "class":
        together = scenario.count_group(n)
        exceeded = excess[np.isin(excess["link"], together) & (excess["priority"] == priority)]
        rooms = scenario.rooms_once(n)
        pairs = []
        for u, more in zip(exceeded["via"].tolist(), exceeded["packets"].tolist(), strict=True):
            if (u, priority) in rooms:
                room = float(rooms[u, priority])
                arriving = _arriving(run, u, rule)
                # one more packet may arrive, depending on phases
                enough = room - rule.xoff + more + 1.0 if _can_exceed(run, room, rule.xoff) else arriving
                pairs.append((enough, room - rule.xoff))
        if any(_cannot_pause(run, int(row["via"])) for row in exceeded):
            return max((available for _, available in pairs), default=0.0), np.inf
        enough, available = max(pairs, default=(1.0, 0.0))
        return available, enough
    available = scenario.buffer_of(n) - rule.high
    inputs = scenario.feeders(n)
    if any(_cannot_pause(run, u) for u in inputs):
        return available, np.inf
    arriving = sum(_arriving(run, u, rule) for u in inputs)
    if not _can_exceed(run, scenario.buffer_of(n), rule.high):
        return available, arriving
    more = float(excess["packets"][excess["link"] == n].max(initial=0.0))
    return available, max(available + more + 1.0, arriving)


def _can_exceed(run: Records, room: float, threshold: float) -> bool:
    """Return whether a queue with ``room`` packets of room can exceed a threshold, and so can pause its feeders.

    At packet level whole packets wait: between 24.4 packets and a room of 24.9 there is none.
    """
    return (room if run.step else math.floor(room)) > threshold


def _arriving(run: Records, u: int, rule: Any) -> float:
    """Return the packets that arrive from feeder u, at its rate, between the request of a pause and its effect."""
    feeder = run.scenario.feeding(u)
    return float(feeder.rate * (2.0 * feeder.delay + rule.signalling) + IN_TRANSMISSION)


def _cannot_pause(run: Records, u: int) -> bool:
    """Return whether feeder u cannot be paused: an access link (-1 - flow) of a host with ``host="direct"``."""
    return u < 0 and run.scenario.host_of(run.scenario.flows[-1 - u]) == "direct"


def packets_by_cause(run: Records, rows: Any) -> Iterable[tuple[str, float]]:
    """Yield each cause among rows of `DROPPED` and its packets, more than 0, without ACKs, by falling number."""
    rows = rows[rows["ack"] == 0]
    at_host = is_at_host_link(run, rows)
    totals = {HOST_LINK: float(rows["packets"][at_host].sum())}
    for n, cause in enumerate(run.scenario.drop_causes):
        totals[cause] = float(rows["packets"][~at_host & (rows["cause"] == n)].sum())
    yield from sorted(
        ((cause, packets) for cause, packets in totals.items() if packets > 0.0),
        key=lambda pair: -pair[1],
    )
