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

    from dfcmodel.network.disciplines import Discipline
    from dfcmodel.packets.plans import Plan

__all__ = ["begin_storms", "lay_out_feeders", "lay_out_lanes"]

KINDS = (Fair, Priority, DFC, PFC, DualPI2)
"""Disciplines with several lanes; others have one."""
TURNS = (BY_FLOW, BY_FLOW, BY_RATE, BY_CLASS, 0, 0)
"""How lanes take turns under `KINDS`, and under others."""


def lay_out_lanes(plan: Plan, unit: NDArray[Any], hop: NDArray[Any]) -> NDArray[Any]:
    """Assign lanes to the ports that need them; return the lanes.

    Those of a port stand one after the other: of classes in their order, of flows in theirs, of DualPI2 the
    Scalable one first. A port without flows has one lane.
    """
    has = np.array(plan.with_lanes)
    if not has.any():
        return _empty_lanes(1)
    by = _lanes_by(plan)
    kept = np.flatnonzero(has[plan.hops.port])
    port, flow = plan.hops.port[kept], plan.hops.flow[kept]
    ranks = np.array([each.priority for each in plan.scenario.flows])
    classes = np.unique(ranks, return_inverse=True)[1].reshape(-1)[flow]
    is_scalable = np.array(plan.scalable)[flow] & ~plan.hops.is_ack[kept]
    own, each = by[port], np.arange(len(kept))
    lanes_of = {PFC: classes, Fair: each, Priority: each, DFC: each, DualPI2: ~is_scalable}
    places = len(kept) + len(ranks) + 2
    number = np.select([own == KINDS.index(kind) for kind in lanes_of], [*lanes_of.values()], 0)
    coupled = np.flatnonzero(has & (by == KINDS.index(DualPI2)))
    first = np.setdiff1d(np.flatnonzero(has), np.append(port, coupled))
    others = np.concatenate([first, coupled, coupled]) * places
    others[len(first) + len(coupled) :] += 1
    rows, at = np.unique(np.append(port * places + number, others), return_inverse=True)
    at = at.reshape(-1)[: len(kept)]
    hop["lane"][plan.hops.row[kept]] = at
    ports, begin, count = np.unique(rows // places, return_index=True, return_counts=True)
    for name, values in (("kind", LANES), ("lane", begin), ("lanes", count),
                         ("by_turns", np.array(TURNS)[by[ports]]), ("levels", 1)):  # fmt: skip
        unit[name][ports] = values
    _set_managed(plan, unit, hop)
    lane = _empty_lanes(len(rows))
    for_flows = np.isin(own, [KINDS.index(kind) for kind in (Fair, Priority, DFC)])
    lane["flow"][at[for_flows]] = flow[for_flows]
    unit["levels"][coupled] = 2
    lane["level"][unit["lane"][coupled] + 1] = 1
    ranked = own == KINDS.index(Priority)
    if ranked.any():
        pairs = port[ranked] * places + classes[ranked]
        known, level = np.unique(pairs, return_inverse=True)
        ports, begin, count = np.unique(known // places, return_index=True, return_counts=True)
        unit["levels"][ports] = count
        lane["level"][at[ranked]] = level.reshape(-1) - begin[np.searchsorted(ports, port[ranked])]
    return lane


def _set_managed(plan: Plan, unit: NDArray[Any], hop: NDArray[Any]) -> None:
    """Set the lane that a manager of one class sees, where there is one."""
    lanes = _class_lanes(plan, hop) if plan.under(PFC) else {}
    for p in plan.under(PFC):
        only = plan.ports[p].discipline.managed  # type: ignore[attr-defined]
        if only is not None:
            unit["managed"][p] = lanes.get((p, only), NO_LANE)


def _lanes_by(plan: Plan) -> NDArray[np.int64]:
    """Return the place in `KINDS` of the discipline of each port, (P,)."""
    return plan.by_discipline(
        lambda each: next((n for n, kind in enumerate(KINDS) if isinstance(each, kind)), len(KINDS))
    )


def _empty_lanes(count: int) -> NDArray[Any]:
    lane = np.zeros(count, LANE)
    for name in ("head", "tail", "next", "first", "last"):
        lane[name] = -1
    return lane


def lay_out_feeders(plan: Plan, unit: NDArray[Any], hop: NDArray[Any]) -> NDArray[Any]:
    """Set each port's thresholds, and what counts its packets by class; return the rows of feeders."""
    rows: list[tuple[float, int, int, int, float]] = [(0.0, -1, -1, ALL, 0.0)]
    place: dict[tuple[int, int, int], int] = {}  # rows by port, feeder and class
    pools: dict[int, int] = {}
    by_class = bool(plan.under(PFC))
    lanes = _class_lanes(plan, hop) if by_class else {}
    limits = plan.by_discipline(_limits)
    for n, name in enumerate(("high", "low", "signalling")):
        unit[name][: len(plan.ports)] = limits[:, n]
    for p in plan.under(Pause, PFC):
        if isinstance(plan.ports[p].discipline, Pause):
            feeders = plan.feeders(p)
            unit["feeder"][p], unit["feeders"][p] = len(rows), len(feeders)
            rows += [(0.0, q, -1, ALL, plan.pause_time(p, q)) for q in feeders]
            continue
        pools[p] = len(rows)
        rows.append((plan.pool(p), -1, -1, ALL, 0.0))
        together = plan.counting[p]
        one = together[0]
        if len(together) > 1:
            unit["asks"][p] = one
            unit["mate"][p] = (*together, *together)[together.index(p) + 1]
        for key, room in plan.ingress(p).items():
            if (one, *key) not in place:
                place[one, *key] = len(rows)
                rows.append((room, max(key[0], -1), lanes.get(key, -1), key[1], 0.0))
    counted = hop["ingress"].tolist()
    ranks = [flow.priority for flow in plan.scenario.flows]
    for f, p, h, before in _arrivals(plan) if by_class else ():
        if p in pools:
            counted[h] = place.get((plan.counting[p][0], before, ranks[f]), pools[p])
    hop["ingress"] = counted
    found = np.zeros(len(rows), FEEDER)
    columns = ("room", "port", "lane", "priority", "span")
    for name, column in zip(columns, zip(*rows, strict=True), strict=True):
        found[name] = column
    return found


def _limits(rule: Discipline) -> tuple[float, float, float]:
    """Return the thresholds of a port that pauses others, packets, and the delay of its messages besides propagation, s."""
    if isinstance(rule, Pause):
        return rule.high, rule.low, rule.signalling
    return (rule.xoff, rule.xon, rule.signalling) if isinstance(rule, PFC) else (0.0, 0.0, 0.0)


def _class_lanes(plan: Plan, hop: NDArray[Any]) -> dict[tuple[int, int], int]:
    """Return the lanes of classes at the ports that can be paused by class."""
    by_class = plan.by_discipline(lambda each: isinstance(each, PFC))
    kept = np.flatnonzero(by_class[plan.hops.port])
    ranks = np.array([flow.priority for flow in plan.scenario.flows])
    ports, ranks = plan.hops.port[kept], ranks[plan.hops.flow[kept]]
    lanes = hop["lane"][plan.hops.row[kept]]
    return dict(zip(zip(ports.tolist(), ranks.tolist(), strict=True), lanes.tolist(), strict=True))


def _arrivals(plan: Plan) -> list[tuple[int, int, int, int]]:
    """Return flow, port, row of the hop and port before it of all hops; -1 - flow: from an end of the flow."""
    hops = plan.hops
    before = np.where(hops.begins, -1 - hops.flow, hops.before)
    columns = (hops.flow, hops.port, hops.row, before)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def begin_storms(plan: Plan, arrays: dict[str, Any]) -> None:
    """Schedule the pauses of ports with a fault, which never end."""
    from dfcmodel.packets.kernel.boxes import push, take
    from dfcmodel.packets.kernel.pauses import PAUSE

    storms = plan.storms()
    if not storms:
        return
    element, unit, slot = (arrays[name].view(np.recarray) for name in ("element", "unit", "slot"))
    lanes = _class_lanes(plan, arrays["hop"])
    for p, q, priority, time in storms:
        e = take(element, arrays["tally"])  # type: ignore[no-untyped-call]
        element[e].number, element[e].flow = PAUSE, 0
        element[e].hop = lanes.get((q, priority), -1)
        push(element, unit, slot, e, q, time, -1 - p)  # type: ignore[no-untyped-call]
