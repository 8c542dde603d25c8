"""Transfers that were incomplete at the end of a run, and the reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.network.flows import has_window
from dfcmodel.results.completions.lower_bounds import transfer_sizes
from dfcmodel.results.pauses import requester_name
from dfcmodel.results.standstills import deadlock_of, lanes_of, pausers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dfcmodel.results.records import Records

__all__ = ["Unfinished", "describe_unfinished", "list_unfinished"]

MAX_LISTED = 3
"""Largest number of transfers that a summary lists."""
MIN_PACKETS_INSIDE = 0.5
"""Smallest number of packets that counts as a packet in the network: fluids have fractions."""
LOST_FOR_EVER = "lost packets, which its source never sends again"
SENDING = "still sending"
TIMER = "waits for its retransmission timer"
NOT_STARTED = "starts after the end"


@dataclass(frozen=True)
class Unfinished:
    """A flow of finite size, packets, that was incomplete at the end of the run, and why.

    Attributes
    ----------
    name
        Name of the flow.
    size, sent, delivered
        Packets of the transfer, sent packets (with retransmissions) and delivered packets.
    waits_for
        Reason: still sending; paused by links, with their names; waits for its retransmission timer; packets lost
        that its source never sends again; starts after the end.
    """

    name: str
    size: float
    sent: float
    delivered: float
    waits_for: str

    def __str__(self) -> str:
        counts = f"sent {self.sent:.0f}, delivered {self.delivered:.0f} of {self.size:g}"
        return f"{self.name} ({counts}): {self.waits_for}"


def list_unfinished(run: Records) -> tuple[Unfinished, ...]:
    """Return the flows of finite size that were incomplete at the end of a run, in their order.

    Flows that have stopped are complete if all that they sent is delivered. The fluid has no time for it.
    """
    flows, table = run.scenario.flows, run.scenario.table
    sizes = transfer_sizes(run.scenario)
    incomplete = np.isfinite(table.numbers("size")) & np.isnan(run.finished)
    if run.emitted is not None:
        has_all = run.emitted - run.delivered[:, -1] < MIN_PACKETS_INSIDE
        incomplete &= ~((table.numbers("stop") <= run.time[-1]) & has_all)
    waiting = _pausers_by_flow(run) if incomplete.any() else {}
    return tuple(
        Unfinished(
            flows[f].name,
            float(sizes[f]),
            float("nan") if run.emitted is None else float(run.emitted[f]),
            float(run.delivered[f, -1]),
            _reason(run, f, sizes[f], waiting.get(f, ())),
        )
        for f in np.flatnonzero(incomplete).tolist()
    )


def _reason(run: Records, f: int, size: float, paused_by: Sequence[str]) -> str:
    """Return the reason why flow f, of ``size`` packets, is incomplete; ``paused_by``: links that pause it."""
    flow = run.scenario.flows[f]
    if np.isnan(run.started[f]):
        return f"waits for {_missing_predecessors(run, f)}"
    if run.started[f] >= run.time[-1]:
        return NOT_STARTED
    if paused_by:
        stuck = "stuck in the deadlock, " if deadlock_of(run) is not None else ""
        return f"{stuck}paused by {', '.join(paused_by)}"
    if run.inside is None or run.emitted is None:
        return SENDING
    lost = float(run.lost_by_flow[f])
    repairs = has_window(flow) or not set(run.recoveries[f : f + 1]) <= {"", "none"}
    if not repairs:
        ended = run.emitted[f] >= size or flow.stop <= run.time[-1]
        return LOST_FOR_EVER if ended and lost > 0.0 else SENDING
    waits_for_timer = lost > 0.0 and run.inside[f] < MIN_PACKETS_INSIDE
    return TIMER if waits_for_timer else SENDING


def _missing_predecessors(run: Records, f: int) -> str:
    """Return the names of the incomplete predecessors of flow f as a string."""
    table, after = run.scenario.table, run.scenario.flows[f].after
    number = {name: n for n, name in enumerate(table.names)} if str in map(type, after) else {}
    predecessors = [number[flow] if isinstance(flow, str) else flow for flow in after]
    return ", ".join(table.name(n) for n in predecessors if np.isnan(run.finished[n]))


def _pausers_by_flow(run: Records) -> dict[int, tuple[str, ...]]:
    """Return the names of the links, or nodes, that pause a flow's packets at the end, by index of the flow."""
    names_by_flow: dict[int, dict[str, None]] = {}
    pausers = pausers_of(run)
    if run.remaining is None or not pausers:
        return {}
    for lane, row in zip(lanes_of(run), run.remaining, strict=True):
        if row["ack"] == 0:
            names = [requester_name(run, pause) for pause in pausers.get(lane, ())]
            names_by_flow.setdefault(int(row["flow"]), {}).update(dict.fromkeys(names))
    return {f: tuple(names) for f, names in names_by_flow.items() if names}


def describe_unfinished(run: Records, flows: Sequence[Unfinished]) -> str:
    """Return a line on the incomplete transfers, with numbers by reason if they are many; "" without any."""
    if not flows:
        return ""
    sizes = int(np.isfinite(run.scenario.table.numbers("size")).sum())
    counts = Counter(flow.waits_for.partition(" by ")[0] for flow in flows)
    first = f"{len(flows)} of {sizes} transfers"
    if len(flows) <= MAX_LISTED:
        return f"{first}: {'; '.join(map(str, flows))}"
    kinds = "; ".join(f"{kind}: {count}" for kind, count in counts.most_common())
    return f"{first}. {kinds}. The first one: {flows[0]}"
