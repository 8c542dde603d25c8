"""Drops of a run by their cause, and what was lost of a lossless class."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.queueing.class_pauses import ALL, IN_TRANSMISSION
from dfcmodel.network.queueing.link_laws import LinkLaw
from dfcmodel.network.run_tables import BUFFER_FULL, CAUSES, EXCESS

if TYPE_CHECKING:
    import xarray as xr

    from dfcmodel.results.records import Records

__all__ = ["LosslessLoss", "at_own_link", "drop_table", "lossless_losses", "packets_by_cause"]

OWN_LINK = "own link"
"""Cause in tables: no room at the first link of the flow's own path, where its sender is not paused (``host="direct"``)."""


@dataclass(frozen=True)
class LosslessLoss:
    """Packets that were dropped for want of room in a class that is declared lossless.

    Attributes
    ----------
    link
        Name of the link whose buffer had no room.
    priority
        The class, lossless by `PFC` or a `LinkLaw`; -1: the link has `Pause`, which pauses all that it carries.
    flows
        Names of the flows that lost packets or ACKs there.
    packets, acks
        How many were dropped until the end of the run.
    first
        When the first was, s.
    headroom
        Packets of room above ``xoff`` (`PFC`, per ingress and class) or ``high`` (`Pause`, in all) that would have been
        enough for all arrivals; inf: none, because a host that cannot be paused feeds it; nan: of a `LinkLaw` it is not known.
    given
        The room above the threshold that there was, packets; of a `LinkLaw` all of it.
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
        what = "" if self.priority == ALL else f", class {self.priority}"
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
        return f"{self.link}{what}: {self.packets:.0f} packets{acks} from {self.first:.4g} s on; {enough}"


def at_own_link(run: Records, dropped: Any) -> Any:
    """Return which rows of `DROPPED` are at the first link of a flow whose sender is not paused there, shape (N,)."""
    first, direct = run.scenario.routes.first, run.scenario.host_is("direct")
    own = direct[dropped["flow"]] & (first[dropped["flow"]] == dropped["link"])
    return own & (dropped["ack"] == 0) & (dropped["cause"] == BUFFER_FULL)


def is_lossless(run: Records, dropped: Any) -> Any:
    """Return which rows of `DROPPED` are losses of a lossless class inside the network for want of room, shape (N,)."""
    own = at_own_link(run, dropped)
    found = [
        not at_first
        and row["cause"] == BUFFER_FULL
        and _declared(run, int(row["link"]), int(row["flow"]), bool(row["ack"]))
        for row, at_first in zip(dropped, own.tolist(), strict=True)
    ]
    return np.array(found, dtype=np.bool_)


def _declared(run: Records, n: int, f: int, is_ack: bool) -> bool:
    """Return whether a link says that it does not lose packets, or ACKs, of a flow."""
    rule: Any = run.scenario.links[n].discipline
    priority = run.scenario.flows[f].priority
    if rule.queue_per == "class":
        counted = {c for _, c, _ in run.scenario.ingress(n)}
        return priority in rule.classes and (not is_ack or (rule.acks == "class" and priority in counted))
    return bool(rule.pauses == "link")


def drop_table(run: Records) -> xr.Dataset:
    """Return the drops of a run as a table; see `Trajectory.drops`."""
    import xarray as xr

    dropped = recorded(run)
    own = at_own_link(run, dropped)
    scenario = run.scenario
    causes = [
        OWN_LINK if at_first else CAUSES[cause]
        for cause, at_first in zip(dropped["cause"].tolist(), own.tolist(), strict=True)
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


def recorded(run: Records) -> Any:
    """Return the drops of a run, or raise ValueError for one that has no record of their causes."""
    if run.dropped is None:
        raise ValueError(f"drops of {run.scenario.name!r}: this run has no record of their causes")
    return run.dropped


def lossless_losses(run: Records) -> tuple[LosslessLoss, ...]:
    """Return what was lost of lossless classes for want of room, by link and class, the first losses first."""
    if run.dropped is None or not len(run.dropped):
        return ()
    rows = run.dropped[is_lossless(run, run.dropped)]
    found: dict[tuple[int, int], list[Any]] = {}
    for row in rows:
        n = int(row["link"])
        by_class = run.scenario.links[n].discipline.queue_per == "class"
        priority = run.scenario.flows[int(row["flow"])].priority if by_class else ALL
        found.setdefault((n, priority), []).append(row)
    losses = [_loss(run, n, priority, own) for (n, priority), own in found.items()]
    return tuple(sorted(losses, key=lambda loss: (loss.first, loss.link)))


def _loss(run: Records, n: int, priority: int, rows: list[Any]) -> LosslessLoss:
    """Return the loss of a class at a link."""
    packets = {ack: sum(float(row["packets"]) for row in rows if row["ack"] == ack) for ack in (0, 1)}
    given, enough = _rooms(run, n, priority)
    flows = dict.fromkeys(run.scenario.flows[int(row["flow"])].name for row in rows)
    return LosslessLoss(
        run.scenario.links[n].name, priority, tuple(flows), packets[0], packets[1],
        min(float(row["first"]) for row in rows), enough, given,
    )  # fmt: skip


def _rooms(run: Records, n: int, priority: int) -> tuple[float, float]:
    """Return the room above the threshold, and that which would have been enough, packets.

    With PFC the largest of the ingresses that lost something. With `Pause` what can come until links obey, where the
    peak was not counted or is less.
    """
    scenario, link = run.scenario, run.scenario.links[n]
    rule: Any = link.discipline
    excess = run.excess if run.excess is not None else np.zeros(0, dtype=EXCESS)
    if isinstance(rule, LinkLaw):
        rooms = scenario.rooms_once(n)
        return max((room for (_, c), room in rooms.items() if c == priority), default=0.0), np.nan
    if rule.pauses == "class":
        together = scenario.counted_together(n)
        own = excess[np.isin(excess["link"], together) & (excess["priority"] == priority)]
        rooms = scenario.rooms_once(n)
        pairs = [
            (rooms[int(row["via"]), priority] - rule.xoff, float(row["packets"]))
            for row in own
            if (int(row["via"]), priority) in rooms
        ]
        if any(_is_deaf(run, int(row["via"])) for row in own):
            return max((given for given, _ in pairs), default=0.0), np.inf
        given, more = max(pairs, key=sum, default=(0.0, 0.0))
        return given, given + more + 1.0  # whether one more comes depends on the phase of packets
    given = scenario.buffer_of(n) - rule.high
    fed = scenario.feeders(n)
    if any(_is_deaf(run, u) for u in fed):
        return given, np.inf
    more = float(excess["packets"][excess["link"] == n].max(initial=0.0))
    over = [scenario.feeding(u) for u in fed]
    come = sum(each.rate * (2.0 * each.delay + rule.signalling) + IN_TRANSMISSION for each in over)
    return given, max(given + more + 1.0, come)


def _is_deaf(run: Records, u: int) -> bool:
    """Return whether nothing can pause what feeds a link: the buffer of a sender with ``host="direct"``."""
    return u < 0 and run.scenario.host_of(run.scenario.flows[-1 - u]) == "direct"


def packets_by_cause(run: Records, rows: Any) -> Iterable[tuple[str, float]]:
    """Yield the causes of some drops of packets, ACKs left out, and how many there were of each, the most first."""
    rows = rows[rows["ack"] == 0]
    own = at_own_link(run, rows)
    found = {OWN_LINK: float(rows["packets"][own].sum())}
    for n, cause in enumerate(CAUSES):
        found[cause] = float(rows["packets"][~own & (rows["cause"] == n)].sum())
    yield from sorted(
        ((cause, packets) for cause, packets in found.items() if packets > 0.0),
        key=lambda pair: -pair[1],
    )
