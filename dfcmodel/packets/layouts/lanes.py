"""Lanes of ports, what ports pause, and pauses by a fault, in the arrays of the compiled engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.queueing.backpressure import BFC
from dfcmodel.network.queueing.class_pauses import ALL, CONTROL, PFC, ByClass
from dfcmodel.network.queueing.coupled import DualPI2
from dfcmodel.network.queueing.disciplines import DFC, Fair, Pause, Priority
from dfcmodel.network.queueing.link_laws import LinkLaw
from dfcmodel.network.queueing.programs import SwitchProgram
from dfcmodel.network.routes import coded, distinct
from dfcmodel.packets.kernel.layout import (
    BY_BACKPRESSURE,
    BY_CLASS,
    BY_FLOW,
    BY_LAW,
    BY_RANK,
    BY_RATE,
    FEEDER,
    LANE,
)
from dfcmodel.packets.kernel.links.ports import LANES
from dfcmodel.packets.kernel.queues.managers import NO_LANE
from dfcmodel.packets.layouts.units import calendar_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plans import Plan

__all__ = ["begin_storms", "class_lanes", "empty_lanes", "lay_out_feeders", "lay_out_lanes"]

KINDS = (Fair, Priority, DFC, PFC, DualPI2, SwitchProgram, LinkLaw, BFC)
"""Disciplines with several lanes, or one in order of ranks; others have one."""
TURNS = (BY_FLOW, BY_FLOW, BY_RATE, BY_CLASS, 0, BY_RANK, BY_LAW, BY_BACKPRESSURE, 0)
"""How lanes take turns under `KINDS`, and under others."""


def empty_lanes(count: int) -> NDArray[Any]:
    """Return lanes in which nothing waits."""
    lane = np.zeros(count, LANE)
    for name in ("head", "tail", "next", "first", "last"):
        lane[name] = -1
    return lane


def lay_out_lanes(plan: Plan, port_rows: NDArray[Any], hop: NDArray[Any]) -> NDArray[Any]:
    """Assign lanes to the ports that need them; return the lanes.

    Those of a port stand one after the other: of classes in their order, the control class first, of flows in theirs,
    of DualPI2 the Scalable one first. A port without flows has one lane.
    """
    has = plan.with_lanes & ~plan.at_senders
    if not has.any():
        return empty_lanes(1)
    by = _lanes_by(plan)
    kept = np.flatnonzero(has[plan.hops.port])
    port, flow = plan.hops.port[kept], plan.hops.flow[kept]
    known, classes = coded(plan.classes[kept])
    is_scalable = plan.scalable[flow] & ~plan.hops.is_ack[kept]
    own, each = by[port], np.arange(len(kept))
    lanes_of = {
        PFC: classes,
        LinkLaw: classes,
        Fair: each,
        Priority: each,
        DFC: each,
        BFC: each,
        DualPI2: ~is_scalable,
    }
    by_flow = np.isin(own, [KINDS.index(kind) for kind in (Fair, Priority, DFC, BFC)])
    places = (len(kept) if by_flow.any() else 0) + len(known) + 2
    number = np.zeros(len(kept), dtype=np.int64)
    for kind, given in lanes_of.items():
        of_kind = own == KINDS.index(kind)
        number[of_kind] = given[of_kind]
    coupled = np.flatnonzero(has & (by == KINDS.index(DualPI2)))
    has[port] = has[coupled] = False
    first = np.flatnonzero(has)  # without flows
    others = np.concatenate([first, coupled, coupled]) * places
    others[len(first) + len(coupled) :] += 1
    rows, at = coded(np.append(port * places + number, others))
    at = at[: len(kept)]
    hop["lane"][plan.hops.row[kept]] = at
    ports, begin, count = np.unique(rows // places, return_index=True, return_counts=True)
    for name, values in (("kind", LANES), ("lane", begin), ("lanes", count),
                         ("by_turns", np.array(TURNS)[by[ports]]), ("levels", 1)):  # fmt: skip
        port_rows[name][ports] = values
    lane = empty_lanes(len(rows))
    _set_managed(plan, port_rows, hop, lane)
    lane["flow"][at[by_flow]] = flow[by_flow]
    port_rows["levels"][coupled] = 2
    lane["level"][port_rows["lane"][coupled] + 1] = 1
    _set_control_apart(plan, port_rows, lane, kept)
    ranked = own == KINDS.index(Priority)
    if ranked.any():
        pairs = port[ranked] * places + classes[ranked]
        known, level = np.unique(pairs, return_inverse=True)
        ports, begin, count = np.unique(known // places, return_index=True, return_counts=True)
        port_rows["levels"][ports] = count
        lane["level"][at[ranked]] = level.reshape(-1) - begin[np.searchsorted(ports, port[ranked])]
    return lane


def _set_control_apart(
    plan: Plan, port_rows: NDArray[Any], lane: NDArray[Any], kept: NDArray[np.int64]
) -> None:
    """Let the control class, the first lane of its ports, be sent before all others."""
    control = coded(plan.hops.port[kept[plan.classes[kept] == CONTROL]])[0]
    for p in control[port_rows["lanes"][control] > 1].tolist():
        port_rows["levels"][p] = 2
        first = port_rows["lane"][p]
        lane["level"][first + 1 : first + port_rows["lanes"][p]] = 1


def _set_managed(
    plan: Plan, port_rows: NDArray[Any], hop: NDArray[Any], lane: NDArray[Any]
) -> None:
    """Set the lane that a manager of one class sees, where there is one."""
    given = plan.by_discipline(lambda each: getattr(each, "managed", None) is not None)
    chosen = np.flatnonzero(given).tolist()
    lanes = class_lanes(plan, hop, lane) if chosen else {}
    for p in chosen:
        rule: Any = plan.ports[p].discipline
        port_rows["managed"][p] = lanes.get((p, rule.managed), NO_LANE)


def _lanes_by(plan: Plan) -> NDArray[np.int64]:
    """Return the place in `KINDS` of the discipline of each port, (P,)."""
    return plan.by_discipline(
        lambda each: next((n for n, kind in enumerate(KINDS) if isinstance(each, kind)), len(KINDS))
    )


def lay_out_feeders(
    plan: Plan, port_rows: NDArray[Any], hop: NDArray[Any], lane: NDArray[Any]
) -> NDArray[Any]:
    """Set each port's thresholds, and what counts its packets by class; return the rows of feeders."""
    if not plan.has(Pause, ByClass):
        return _feeders(1)
    for n, name in enumerate(("high", "low")):
        port_rows[name][: len(plan.ports)] = plan.thresholds[:, n]
    port_rows["signalling"][: len(plan.ports)] = plan.signalling
    whole = _lay_out_pauses(plan, port_rows)
    if not plan.under(ByClass):
        return whole
    rows = class_lanes(plan, hop, lane)
    return np.concatenate([whole, _lay_out_ingresses(plan, port_rows, hop, rows, len(whole))])


def _feeders(count: int, **columns: Any) -> NDArray[Any]:
    """Return rows of feeders: of no port and no class unless columns say otherwise."""
    found = np.zeros(count, FEEDER)
    for name, values in {"port": -1, "lane": -1, "priority": ALL, **columns}.items():
        found[name] = values
    return found


def _lay_out_pauses(plan: Plan, port_rows: NDArray[Any]) -> NDArray[Any]:
    """Return the feeders that are paused with all that they carry, after one that is of no port."""
    rows = [(-1, 0.0)]
    for p in plan.under(Pause):
        feeders = plan.pausable(p)
        port_rows["feeder"][p], port_rows["feeders"][p] = len(rows), len(feeders)
        rows += [(q, plan.pause_time(p, q)) for q in feeders]
    port, span = zip(*rows, strict=True)
    return _feeders(len(rows), port=port, span=span)


def _lay_out_ingresses(
    plan: Plan,
    port_rows: NDArray[Any],
    hop: NDArray[Any],
    lanes: dict[tuple[int, int], int],
    first: int,
) -> NDArray[Any]:
    """Return the feeders that are counted by class, after what holds the other packets of each port.

    ``lanes`` are those of classes that can be paused, ``first`` is the number of rows before them.
    """
    ports, hops, table = np.array(plan.under(ByClass)), plan.hops, plan.ingresses
    for p in ports.tolist():
        together = plan.counting[p]
        if len(together) > 1:
            port_rows["asks"][p] = together[0]
            port_rows["mate"][p] = (*together, *together)[together.index(p) + 1]
    classes, number = coded(plan.classes)
    flows, places = len(plan.scenario.flows), len(classes)
    own = plan.by_discipline(lambda each: each.queue_per == "class")
    span = flows + len(plan.ports)

    def keys(port: Any, before: Any, rank: Any) -> Any:
        return (port_rows["asks"][port].astype(np.int64) * span + before + flows) * places + rank

    among = np.searchsorted(classes, table.priority)
    known, at = np.unique(keys(table.port, table.before, among), return_index=True)
    row = np.zeros(len(plan.ports), dtype=np.int64)
    row[ports] = first + np.arange(len(ports))
    kept = np.flatnonzero(own[hops.port])
    port = hops.port[kept]
    before = np.where(hops.begins, -1 - hops.flow, hops.before)[kept]
    wanted = keys(port, before, number[kept])
    found = np.searchsorted(known, wanted).clip(max=max(0, len(known) - 1))
    counted = known[found] == wanted if len(known) else np.zeros(len(wanted), dtype=np.bool_)
    ingress = np.where(counted, first + len(ports) + found, row[port])
    hop["ingress"][hops.row[kept]] = np.where(plan.classes[kept] == CONTROL, -1, ingress)
    before, rank = np.maximum(table.before[at], -1), table.priority[at]
    paused = [lanes.get(key, -1) for key in zip(before.tolist(), rank.tolist(), strict=True)]
    packets = plan.taken[:, 0]
    pools = _feeders(len(ports), room=[plan.pool(p) * packets[p] for p in ports.tolist()])
    return np.concatenate([pools, _feeders(
        len(at), room=table.room[at] * packets[table.port[at]], port=before, lane=paused,
        priority=rank,
    )])  # fmt: skip


def class_lanes(plan: Plan, hop: NDArray[Any], lane: NDArray[Any]) -> dict[tuple[int, int], int]:
    """Return the lanes of classes at the ports that can be paused by class."""
    by_class = plan.by_discipline(lambda each: each.queue_per == "class")
    of_host = plan.at_senders[plan.hops.port] & (plan.classes != CONTROL)
    kept = np.flatnonzero(by_class[plan.hops.port] | of_host)
    ports, ranks = plan.hops.port[kept], plan.classes[kept]
    lanes = hop["lane"][plan.hops.row[kept]]
    lanes = np.where(of_host[kept], lane["level"][lanes], lanes)
    known, rank = coded(ranks)
    _, first = distinct(ports * len(known) + rank, len(plan.ports) * len(known))
    pairs = zip(ports[first].tolist(), ranks[first].tolist(), strict=True)
    return dict(zip(pairs, lanes[first].tolist(), strict=True))


def begin_storms(plan: Plan, arrays: dict[str, Any]) -> None:
    """Schedule the pauses of ports with a fault, and the ends of those that end."""
    storms = [(*storm, True) for storm in plan.storms()] + plan.fault_messages()
    if not storms:
        return
    from dfcmodel.packets.kernel.calendar_queue import push, take
    from dfcmodel.packets.kernel.codes import PAUSE, RESUME

    net = calendar_of(arrays)
    lanes = class_lanes(plan, arrays["hop"], arrays["lane"])
    for p, q, priority, time, pause in storms:
        e = take(net)
        net.packet[e].number, net.packet[e].flow = PAUSE if pause else RESUME, q
        net.packet[e].hop = lanes.get((q, priority), -1)
        push(net, e, int(net.port[q].queue), time, -1 - p)
