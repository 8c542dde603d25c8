"""Lanes of ports, what ports pause, and pauses by a fault, in the arrays of the compiled engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.class_pauses import ALL, PFC
from dfcmodel.network.coupled import DualPI2
from dfcmodel.network.disciplines import DFC, Fair, Pause, Priority
from dfcmodel.packets.kernel.lanes import BY_CLASS, BY_FLOW, BY_RATE
from dfcmodel.packets.kernel.layout import FEEDER, LANE
from dfcmodel.packets.kernel.managers import NO_LANE
from dfcmodel.packets.kernel.ports import LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plans import Plan

__all__ = ["begin_storms", "lay_out_feeders", "lay_out_lanes"]


def lay_out_lanes(
    plan: Plan, unit: NDArray[Any], hop: NDArray[Any], ways: list[tuple[int, ...]]
) -> NDArray[Any]:
    """Assign lanes to the ports that need them; return the lanes."""
    rows: list[tuple[int, int]] = []  # flow and level
    ports = [p for p, has in enumerate(plan.with_lanes) if has]
    used = _users(plan, ways) if ports else {}
    at = np.cumsum([0, *map(len, ways)])
    at_hop = np.zeros(len(hop), np.int64)
    shape = []  # of each of these ports: its first lane, their number, levels, and whose turns
    for p in ports:
        port = plan.ports[p]
        users, begin, levels, turns = used.get(p, []), len(rows), 1, 0
        ranks = [plan.scenario.flows[f].priority for f, _ in users]
        hops = [h for _, h in users]
        if isinstance(port.discipline, (Fair, Priority)):
            own = ranks if isinstance(port.discipline, Priority) else [0] * len(users)
            known = sorted(set(own))
            turns, levels = BY_FLOW, max(1, len(known))
            at_hop[hops] = len(rows) + np.arange(len(users))
            rows += [(f, known.index(rank)) for (f, _), rank in zip(users, own, strict=True)]
            lanes, rows = len(users), rows if users else [*rows, (0, 0)]
        elif isinstance(port.discipline, DFC):
            turns, lanes = BY_RATE, len(users)
            at_hop[hops] = len(rows) + np.arange(len(users))
            rows += [(f, 0) for f, _ in users] or [(0, 0)]
        elif isinstance(port.discipline, PFC):
            places = sorted(set(ranks))
            turns, lanes = BY_CLASS, max(1, len(places))
            for h, rank in zip(hops, ranks, strict=True):
                at_hop[h] = begin + places.index(rank)
            if port.discipline.managed is not None:
                only = port.discipline.managed
                unit["managed"][p] = begin + places.index(only) if only in places else NO_LANE
            rows += [(0, 0)] * lanes
        elif isinstance(port.discipline, DualPI2):  # packets with ECT(1) above the others
            levels = lanes = 2
            data = [h - at[f] < len(plan.forward[f]) for f, h in users]
            own = [plan.scalable[f] for f, _ in users]
            at_hop[hops] = len(rows) + 1 - (np.array(own, bool) & np.array(data, bool))
            rows += [(0, 0), (0, 1)]
        else:
            lanes = 1
            at_hop[hops] = begin
            rows.append((0, 0))
        shape.append((begin, lanes, levels, turns))
    hop["lane"] = at_hop
    if ports:
        unit["kind"][ports] = LANES
        for n, name in enumerate(("lane", "lanes", "levels", "by_turns")):
            unit[name][ports] = [each[n] for each in shape]
    lane = np.zeros(max(1, len(rows)), LANE)
    for name in ("head", "tail", "next", "first", "last"):
        lane[name] = -1
    lane["flow"][: len(rows)] = [f for f, _ in rows]
    lane["level"][: len(rows)] = [level for _, level in rows]
    return lane


def _users(plan: Plan, ways: list[tuple[int, ...]]) -> dict[int, list[tuple[int, int]]]:
    """Return the flows and rows of hops at each port."""
    found: dict[int, list[tuple[int, int]]] = {}
    at = 0
    for f, way in enumerate(ways):
        for h, p in enumerate(way):
            if h != len(plan.forward[f]):  # not the receiver
                found.setdefault(p, []).append((f, at + h))
        at += len(way)
    return found


def lay_out_feeders(
    plan: Plan, unit: NDArray[Any], hop: NDArray[Any], ways: list[tuple[int, ...]]
) -> NDArray[Any]:
    """Set each port's thresholds, and what counts its packets by class; return the rows of feeders."""
    rows: list[tuple[float, int, int, int, float]] = [(0.0, -1, -1, ALL, 0.0)]
    place: dict[tuple[int, int, int], int] = {}  # rows by port, feeder and class
    pools: dict[int, int] = {}
    by_class = any(isinstance(port.discipline, PFC) for port in plan.ports)
    lanes = _class_lanes(plan, hop, ways) if by_class else {}
    for p, port in enumerate(plan.ports):
        rule, row = port.discipline, unit[p]
        if isinstance(rule, Pause):
            feeders = plan.feeders(p)
            row["feeder"], row["feeders"] = len(rows), len(feeders)
            row["high"], row["low"], row["signalling"] = rule.high, rule.low, rule.signalling
            rows += [(0.0, q, -1, ALL, plan.pause_time(p, q)) for q in feeders]
        elif isinstance(rule, PFC):
            row["high"], row["low"], row["signalling"] = rule.xoff, rule.xon, rule.signalling
            rooms = plan.ingress(p)
            pools[p] = len(rows)
            rows.append((plan.pool(p), -1, -1, ALL, 0.0))
            together = plan.counting[p]
            row["asks"], row["mate"] = together[0], (*together, *together)[together.index(p) + 1]
            for (q, priority), room in rooms.items():
                if (together[0], q, priority) not in place:
                    place[together[0], q, priority] = len(rows)
                    rows.append((room, max(q, -1), lanes.get((q, priority), -1), priority, 0.0))
    counted = hop["ingress"].tolist()
    for f, p, h, before in _arrivals(plan, ways) if by_class else ():
        if p in pools:
            key = plan.counting[p][0], before, plan.scenario.flows[f].priority
            counted[h] = place.get(key, pools[p])
    hop["ingress"] = counted
    found = np.zeros(len(rows), FEEDER)
    for n, name in enumerate(("room", "port", "lane", "priority", "span")):
        found[name] = [each[n] for each in rows]
    return found


def _class_lanes(
    plan: Plan, hop: NDArray[Any], ways: list[tuple[int, ...]]
) -> dict[tuple[int, int], int]:
    """Return the lanes of classes at the ports that can be paused by class."""
    lanes = hop["lane"].tolist()
    return {
        (p, plan.scenario.flows[f].priority): lanes[h]
        for p, users in _users(plan, ways).items()
        if isinstance(plan.ports[p].discipline, PFC)
        for f, h in users
    }


def _arrivals(plan: Plan, ways: list[tuple[int, ...]]) -> list[tuple[int, int, int, int]]:
    """Return flow, port, row of the hop and port before it of all hops; -1 - flow: from an end of the flow."""
    found, at = [], 0
    for f, way in enumerate(ways):
        turn = len(plan.forward[f])
        for h, p in enumerate(way):
            before = -1 - f if h in (0, turn + 1) else way[h - 1]
            if h != turn:
                found.append((f, p, at + h, before))
        at += len(way)
    return found


def begin_storms(plan: Plan, arrays: dict[str, Any]) -> None:
    """Schedule the pauses of ports with a fault, which never end."""
    from dfcmodel.packets.kernel.boxes import push, take
    from dfcmodel.packets.kernel.pauses import PAUSE

    storms = plan.storms()
    if not storms:
        return
    element, unit = (arrays[name].view(np.recarray) for name in ("element", "unit"))
    ways = [(*out, 0, *back) for out, back in zip(plan.forward, plan.backward, strict=True)]
    lanes = _class_lanes(plan, arrays["hop"], ways)
    for p, q, priority, time in storms:
        e = take(element, arrays["tally"])  # type: ignore[no-untyped-call]
        element[e].number, element[e].flow = PAUSE, 0
        element[e].hop = lanes.get((q, priority), -1)
        push(element, unit, arrays["slot"], e, q, time, -1 - p)  # type: ignore[no-untyped-call]
