"""What is left at the end of a packet-level run: packets that wait at links with pauses, and rooms that were too small."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.queueing.backpressure import BFC
from dfcmodel.network.queueing.class_pauses import ALL, PFC, ByClass
from dfcmodel.network.queueing.disciplines import Pause
from dfcmodel.network.run_tables import DROPPED, EXCESS, LAST_PART, WAITING
from dfcmodel.packets.kernel.links.ports import INTERFACE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

__all__ = [
    "dropped_packets",
    "excess_rows",
    "has_pauses",
    "link_numbers",
    "remaining_packets",
    "row_excess",
    "waiting_rows",
]

NO_LINK = np.iinfo(np.int64).min
"""In place of a link: a mirror of one, for ACKs."""


def link_numbers(plan: PacketPlan) -> NDArray[np.int64]:
    """Return the link of each port, -1 - flow of an access link, NO_LINK of a mirror, (P,)."""
    found = np.where(plan.ports.link >= 0, plan.ports.link, NO_LINK)
    first = plan.forward.first
    hosts = np.flatnonzero(found[first] < 0)
    found[first[hosts]] = -1 - hosts  # of several flows at an interface the last one
    return found


def dropped_packets(plan: PacketPlan, causes: NDArray[np.int32], first_drops: NDArray[np.float64]) -> Any:
    """Return the drops on the links of the scenario, of `DROPPED`.

    ``causes`` and ``first_drops`` are those of `dfcmodel.packets.records.Records`.
    """
    if not causes.any():
        return np.zeros(0, dtype=DROPPED)
    hops, links = plan.hops, link_numbers(plan)
    rows = hops.row
    place, cause = np.nonzero(causes[rows])
    kept = links[hops.port[place]] >= 0
    place, cause = place[kept], cause[kept]
    found = np.zeros(len(place), dtype=DROPPED)
    found["flow"], found["link"] = hops.flow[place], links[hops.port[place]]
    found["cause"], found["ack"] = cause, hops.is_ack[place]
    found["packets"] = causes[rows[place], cause]
    found["first"] = first_drops[rows[place], cause]
    return found


def has_pauses(plan: PacketPlan) -> NDArray[np.bool_]:
    """Return which ports pause others or can be paused, (P,)."""
    found = np.zeros(len(plan.ports), dtype=np.bool_)
    found[plan.pauses[1]] = True
    found[plan.under(Pause, ByClass, BFC)] = True
    return found


def waiting_rows(plan: PacketPlan, waiting: Mapping[tuple[int, int, bool, bool], int]) -> Any:
    """Return rows of `WAITING` from counts of packets by flow, place in the route, whether ACKs, and whether still."""
    if not waiting:
        return np.zeros(0, dtype=WAITING)
    links, rows = link_numbers(plan), []
    for (f, at, is_ack, still), packets in waiting.items():
        route = (plan.backward if is_ack else plan.forward)[f]
        before = -1 - f if at == 0 else int(links[route[at - 1]])
        if is_ack and at == 0:
            before = int(links[plan.forward[f][-1]])
        n = int(links[route[at]])
        if n != NO_LINK:
            rows.append((n, before, f, int(is_ack), int(still), float(packets)))
    return np.array(sorted(rows), dtype=WAITING)


def remaining_packets(plan: PacketPlan, arrays: dict[str, Any], left: NDArray[np.int32]) -> Any:
    """Return what waits at ports with pauses at the end of a run of the compiled engine, of `WAITING`.

    Parameters
    ----------
    plan, arrays
        What was run, and the arrays of its layout.
    left
        How many packets wait in lanes at each hop, by rows of `HOP`, (H,).
    """
    if not left.any():
        return np.zeros(0, dtype=WAITING)
    hops, until = plan.hops, (1.0 - LAST_PART) * plan.end
    rows = hops.row
    places = np.flatnonzero((left[rows] > 0) & has_pauses(plan)[hops.port])
    port = arrays["port"][hops.port[places]]
    own = arrays["lane"][arrays["hop"]["lane"][rows[places]]]
    of_class = (port["kind"] == INTERFACE) & (own["level"] > 0)
    lane = np.where(of_class, arrays["lane"][own["level"]], own)
    in_queues = plan.by_discipline(lambda each: getattr(each, "queues", 0) > 0)[hops.port[places]]
    still = in_queues | (arrays["packet"]["time"][own["head"]] <= until)
    still &= lane["left"] <= until
    still &= (lane["paused"] > 0) | (port["paused"] > 0) | (port["free"] <= until)
    first = np.maximum.accumulate(np.where(hops.begins, np.arange(len(rows)), 0))
    keys = zip(
        hops.flow[places].tolist(), (places - first[places]).tolist(),
        hops.is_ack[places].tolist(), still.tolist(), strict=True,
    )  # fmt: skip
    return waiting_rows(plan, dict(zip(keys, left[rows[places]].tolist(), strict=True)))


def row_excess(plan: PacketPlan, arrays: dict[str, Any]) -> dict[tuple[int, int, int], float]:
    """Return the most packets without room in one pause, as `Records.excess`."""
    found: dict[tuple[int, int, int], float] = {}
    port, feeder, hop = arrays["port"], arrays["feeder"], arrays["hop"]
    for p in plan.under(Pause):
        if port["feeders"][p] > 0:
            most = float(feeder["most_excess"][port["feeder"][p]])
            found |= {(p, ALL, ALL): most} if most > 0.0 else {}
    if not feeder["most_excess"].any():
        return found
    hops = plan.hops
    rows = hop["ingress"][hops.row]
    by_class = np.zeros(len(plan.ports), dtype=np.bool_)
    by_class[plan.under(PFC)] = True
    counted = (rows >= 0) & (feeder["priority"][rows] != ALL) & by_class[hops.port] & ~hops.is_ack
    before = np.where(hops.begins, -1 - hops.flow, hops.before)
    for h in np.flatnonzero(counted & (feeder["most_excess"][rows] > 0)).tolist():
        counter = plan.counting[int(hops.port[h])][0]
        key = counter, int(before[h]), int(feeder["priority"][rows[h]])
        found[key] = float(feeder["most_excess"][rows[h]])
    return found


def excess_rows(plan: PacketPlan, excess: dict[tuple[int, int, int], float]) -> Any:
    """Return rows of `EXCESS` for the ports of the scenario's links."""
    links, rows = link_numbers(plan), []
    for (p, before, priority), packets in sorted(excess.items()):
        via = before
        if priority != ALL and before >= 0:
            via = int(links[before])
        rows.append((int(links[p]), via, priority, float(packets)))
    return np.array(rows, dtype=EXCESS)
