"""Ports that others pause, in the arrays of the engine: thresholds, counters of each feeder, pauses by a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.links import encode_integers
from dfcmodel.network.queueing.class_pauses import ALL, CONTROL, ByClass
from dfcmodel.network.queueing.disciplines import Pause
from dfcmodel.packets.kernel.codes import PAUSE, RESUME
from dfcmodel.packets.kernel.layout import FEEDER
from dfcmodel.packets.layouts.ports import Event, class_lanes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

__all__ = ["lay_out_feeders", "storms_of"]


def _feeders(count: int, **columns: Any) -> NDArray[Any]:
    """Return ``count`` rows of `FEEDER` that refer to no port, lane or class unless ``columns`` set these."""
    rows = np.zeros(count, FEEDER)
    for name, values in {"port": -1, "lane": -1, "priority": ALL, **columns}.items():
        rows[name] = values
    return rows


def lay_out_feeders(plan: PacketPlan, port_rows: NDArray[Any], hop: NDArray[Any], lane: NDArray[Any]) -> NDArray[Any]:
    """Return rows of `FEEDER`; set thresholds and ranges in ``port_rows``, ingresses in ``hop``; ``lane``: rows."""
    for n, name in enumerate(("high", "low")):
        port_rows[name][: len(plan.ports)] = plan.thresholds[:, n]
    port_rows["signalling"][: len(plan.ports)] = plan.signalling
    pauses = _lay_out_pauses(plan, port_rows)
    if not plan.ports_under(ByClass):
        return pauses
    rows = class_lanes(plan, hop, lane)
    return np.concatenate([pauses, _lay_out_ingresses(plan, port_rows, hop, rows, len(pauses))])


def _lay_out_pauses(plan: PacketPlan, port_rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows of `FEEDER` that `Pause` stops, row 0 for no port; set ranges of pausing ports in ``port_rows``."""
    rows = [(-1, 0.0)]
    for p in plan.ports_under(Pause):
        feeders = plan.pausable(p)
        port_rows["feeder"][p], port_rows["feeders"][p] = len(rows), len(feeders)
        rows += [(q, plan.pause_time(p, q)) for q in feeders]
    port, span = zip(*rows, strict=True)
    return _feeders(len(rows), port=port, span=span)


def _lay_out_ingresses(
    plan: PacketPlan,
    port_rows: NDArray[Any],
    hop: NDArray[Any],
    lanes: dict[tuple[int, int], int],
    first: int,
) -> NDArray[Any]:
    """Return rows of feeders from ``first``: one per port, then those counted by class; set ``port_rows`` and ``hop``.

    ``lanes`` has the lanes of classes that can be paused, ``first`` is the number of rows before them.
    """
    ports, hops, table = np.array(plan.ports_under(ByClass)), plan.hops, plan.ingresses
    for p in ports.tolist():
        together = plan.counting[p]
        if len(together) > 1:
            port_rows["asks"][p] = together[0]
            port_rows["mate"][p] = (*together, *together)[together.index(p) + 1]
    classes, number = encode_integers(plan.classes)
    flows, count = len(plan.scenario.flows), len(classes)
    by_class = plan.by_discipline(lambda rule: rule.queue_per == "class")
    span = flows + len(plan.ports)

    def keys(port: Any, before: Any, class_index: Any) -> Any:
        return (port_rows["asks"][port].astype(np.int64) * span + before + flows) * count + class_index

    among = np.searchsorted(classes, table.priority)
    counters, at = np.unique(keys(table.port, table.before, among), return_index=True)
    row = np.zeros(len(plan.ports), dtype=np.int64)
    row[ports] = first + np.arange(len(ports))
    chosen = np.flatnonzero(by_class[hops.port])
    port = hops.port[chosen]
    before = np.where(hops.begins, -1 - hops.flow, hops.before)[chosen]
    wanted = keys(port, before, number[chosen])
    counter = np.searchsorted(counters, wanted).clip(max=max(0, len(counters) - 1))
    counted = counters[counter] == wanted if len(counters) else np.zeros(len(wanted), dtype=np.bool_)
    ingress = np.where(counted, first + len(ports) + counter, row[port])
    hop["ingress"][hops.row[chosen]] = np.where(plan.classes[chosen] == CONTROL, -1, ingress)
    before, priority = np.maximum(table.before[at], -1), table.priority[at]
    paused = [lanes.get(key, -1) for key in zip(before.tolist(), priority.tolist(), strict=True)]
    packets = plan.sizes_in_queue[:, 0]
    pools = _feeders(len(ports), room=[plan.lossy_room(p) * packets[p] for p in ports.tolist()])
    return np.concatenate([pools, _feeders(
        len(at), room=table.room[at] * packets[table.port[at]], port=before, lane=paused,
        priority=priority,
    )])  # fmt: skip


def storms_of(plan: PacketPlan, arrays: dict[str, Any]) -> list[Event]:
    """Return the events by which ports with a fault pause others, and resume them if the fault ends."""
    messages = plan.fault_messages()
    if not messages:
        return []
    queue, lanes = arrays["port"]["queue"], class_lanes(plan, arrays["hop"], arrays["lane"])
    return [
        Event(int(queue[q]), time, -1 - p, PAUSE if pause else RESUME, q, lanes.get((q, priority), -1))
        for p, q, priority, time, pause in messages
    ]
