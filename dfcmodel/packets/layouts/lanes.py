"""Lanes of ports, and of DFC their rates and the feedback of nodes, in the arrays of the compiled engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.links import encode_integers
from dfcmodel.network.queueing.backpressure import BFC
from dfcmodel.network.queueing.class_pauses import CONTROL, PFC
from dfcmodel.network.queueing.coupled import DualPI2
from dfcmodel.network.queueing.disciplines import DFC, Fair, Priority
from dfcmodel.network.queueing.link_laws import LinkLaw
from dfcmodel.network.queueing.programs import SwitchProgram
from dfcmodel.packets.kernel.codes import RECEIVE_FEEDBACK, SEND_FEEDBACK
from dfcmodel.packets.kernel.layout import (
    BY_BACKPRESSURE,
    BY_CLASS,
    BY_FLOW,
    BY_LAW,
    BY_RANK,
    BY_RATE,
    DIFFUSIVE,
    LANE,
)
from dfcmodel.packets.kernel.links.diffusion import REPORTS
from dfcmodel.packets.kernel.links.pauses import RENEWALS
from dfcmodel.packets.kernel.links.ports import LANES
from dfcmodel.packets.kernel.queues.managers import NO_LANE
from dfcmodel.packets.layouts.feeders import class_lanes
from dfcmodel.packets.layouts.units import Event

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plan import Clock, PacketPlan

__all__ = ["clocks_of", "empty_lanes", "lay_out_feedback", "lay_out_lanes", "lay_out_rates"]

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


def lay_out_lanes(plan: PacketPlan, port_rows: NDArray[Any], hop: NDArray[Any]) -> NDArray[Any]:
    """Assign lanes to the ports that need them; return the lanes.

    Lanes of a port stand one after the other: of classes in their order with the control class first, of flows in
    their order, of DualPI2 the Scalable lane first. A port without flows has one lane.
    """
    has = plan.with_lanes & ~plan.at_senders
    if not has.any():
        return empty_lanes(1)
    by = _lanes_by(plan)
    chosen = np.flatnonzero(has[plan.hops.port])
    port, flow = plan.hops.port[chosen], plan.hops.flow[chosen]
    ranks, classes = encode_integers(plan.classes[chosen])
    is_scalable = plan.scalable[flow] & ~plan.hops.is_ack[chosen]
    kind_of_hop, number_of_hop = by[port], np.arange(len(chosen))
    lanes_of = {
        PFC: classes,
        LinkLaw: classes,
        Fair: number_of_hop,
        Priority: number_of_hop,
        DFC: number_of_hop,
        BFC: number_of_hop,
        DualPI2: ~is_scalable,
    }
    by_flow = np.isin(kind_of_hop, [KINDS.index(kind) for kind in (Fair, Priority, DFC, BFC)])
    span = (len(chosen) if by_flow.any() else 0) + len(ranks) + 2
    number = np.zeros(len(chosen), dtype=np.int64)
    for kind, numbers in lanes_of.items():
        of_kind = kind_of_hop == KINDS.index(kind)
        number[of_kind] = numbers[of_kind]
    coupled = np.flatnonzero(has & (by == KINDS.index(DualPI2)))
    has[port] = has[coupled] = False
    first = np.flatnonzero(has)  # without flows
    others = np.concatenate([first, coupled, coupled]) * span
    others[len(first) + len(coupled) :] += 1
    rows, at = encode_integers(np.append(port * span + number, others))
    at = at[: len(chosen)]
    hop["lane"][plan.hops.row[chosen]] = at
    ports, begin, count = np.unique(rows // span, return_index=True, return_counts=True)
    for name, values in (("kind", LANES), ("lane", begin), ("lanes", count),
                         ("by_turns", np.array(TURNS)[by[ports]]), ("levels", 1)):  # fmt: skip
        port_rows[name][ports] = values
    lane = empty_lanes(len(rows))
    _set_managed(plan, port_rows, hop, lane)
    lane["flow"][at[by_flow]] = flow[by_flow]
    port_rows["levels"][coupled] = 2
    lane["level"][port_rows["lane"][coupled] + 1] = 1
    _set_control_apart(plan, port_rows, lane, chosen)
    ranked = kind_of_hop == KINDS.index(Priority)
    if ranked.any():
        pairs = port[ranked] * span + classes[ranked]
        ranks, level = np.unique(pairs, return_inverse=True)
        ports, begin, count = np.unique(ranks // span, return_index=True, return_counts=True)
        port_rows["levels"][ports] = count
        lane["level"][at[ranked]] = level.reshape(-1) - begin[np.searchsorted(ports, port[ranked])]
    return lane


def _set_control_apart(plan: PacketPlan, port_rows: NDArray[Any], lane: NDArray[Any], hops: NDArray[np.int64]) -> None:
    """Let the control class, the first lane of its ports, be sent before all others."""
    control = encode_integers(plan.hops.port[hops[plan.classes[hops] == CONTROL]])[0]
    for p in control[port_rows["lanes"][control] > 1].tolist():
        port_rows["levels"][p] = 2
        first = port_rows["lane"][p]
        lane["level"][first + 1 : first + port_rows["lanes"][p]] = 1


def _set_managed(plan: PacketPlan, port_rows: NDArray[Any], hop: NDArray[Any], lane: NDArray[Any]) -> None:
    """Set the lane that a manager of one class sees, where there is one."""
    is_managed = plan.by_discipline(lambda rule: getattr(rule, "managed", None) is not None)
    chosen = np.flatnonzero(is_managed).tolist()
    lanes = class_lanes(plan, hop, lane) if chosen else {}
    for p in chosen:
        rule: Any = plan.ports[p].discipline
        port_rows["managed"][p] = lanes.get((p, rule.managed), NO_LANE)


def _lanes_by(plan: PacketPlan) -> NDArray[np.int64]:
    """Return the index in `KINDS` of the discipline of each port, (P,)."""
    return plan.by_discipline(
        lambda rule: next((n for n, kind in enumerate(KINDS) if isinstance(rule, kind)), len(KINDS))
    )


def lay_out_rates(plan: PacketPlan, port_rows: NDArray[Any], lane: NDArray[Any]) -> NDArray[Any]:
    """Return the rows of lanes with diffusion-type flow control; one row if there are none."""
    ports = plan.under(DFC)
    lanes = np.zeros(len(lane) if ports else 1, DIFFUSIVE)
    for p in ports:
        port, capacity = plan.ports[p], 1.0 / plan.transmission[p, 0]
        rule: Any = port.discipline
        rows = lanes[port_rows["lane"][p] : port_rows["lane"][p] + port_rows["lanes"][p]]
        rows["rate"] = rows["told_rate"] = rows["capacity"] = capacity
        rows["credit"], rows["intensity"] = 1.0, rule.intensity
        rows["gain"], rows["counts"] = rule.diffusion / port.delay, port.link >= 0
        rows["smoothing"] = plan.method.count_smoothing
    return lanes


def lay_out_feedback(clocks: list[Clock], plan: PacketPlan, port_rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the lanes that reports are about and the lanes that receive them, clock by clock, (K, 2)."""
    rows = [
        (_lane(plan, port_rows, clock.of, key), _lane(plan, port_rows, clock.to, key))
        for clock in clocks
        for key in clock.keys
    ]
    return np.array(rows or [(0, 0)], dtype=np.int64)


def _lane(plan: PacketPlan, port_rows: NDArray[Any], p: int, key: tuple[int, bool]) -> int:
    return int(port_rows["lane"][p]) + plan.users(p).index(key)


def clocks_of(clocks: list[Clock]) -> list[Event]:
    """Return the first report of each node, and its arrival."""
    events, row = list[Event](), 0
    for clock in clocks:
        end = row + len(clock.keys)  # it reports about these lanes, from row to row
        reported = clock.of if clock.of >= 0 else clock.to
        about = end, row, clock.period
        arrival, key = clock.first + clock.period, RENEWALS + reported
        events.append(Event(clock.to, arrival, key, RECEIVE_FEEDBACK, *about))
        if clock.of >= 0:
            key = RENEWALS + REPORTS + clock.to
            events.append(Event(clock.of, clock.first, key, SEND_FEEDBACK, *about))
        row = end
    return events
