"""Records of a run of the fabric kernel, in the form of the other kernel's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.notifications import notifications_of
from dfcmodel.network.run_tables import LAST_PART
from dfcmodel.packets.engine import has_pauses, waiting_rows
from dfcmodel.packets.fabric.kernel.layout import ACK, DATA
from dfcmodel.packets.fabric.kernel.windows import END, USED
from dfcmodel.results.records import FLOW_COUNTS

if TYPE_CHECKING:
    from dfcmodel.packets.engine import Records
    from dfcmodel.packets.plan import PacketPlan

__all__ = ["records_of"]


def records_of(plan: PacketPlan, records: Records, arrays: dict[str, Any]) -> Records:
    """Complete the records from the arrays at the end of a run, which are emptied, and return the records.

    ``arrays`` is emptied on the way, so that large arrays are not in memory twice.
    """
    port, flow, S = arrays["port"], arrays["flow"], plan.samples
    records.remaining = _remaining(plan, arrays)
    used = _packets_inside(arrays)
    del arrays["packet"]
    at_hosts = flow["waits"]
    inside = at_hosts + np.bincount(used["flow"], minlength=len(flow))
    data = at_hosts + np.bincount(used["flow"][used["kind"] == DATA], minlength=len(flow))
    del used
    records.peak, records.waited = port["peak"].astype(np.int64), arrays["hop"]["waited"].copy()
    if S > 1:
        records.waiting[1:S] = np.diff(records.waiting[:S], axis=0)
    if records.counts_bytes.any():
        records.peak_bytes = port["peak_bytes"].copy()
        records.queued_bytes[1:S] = np.diff(records.queued_bytes[:S], axis=0)
    if records.shares_host.any():
        records.at_hosts[:, ~records.shares_host] = 0
    carried = arrays.pop("carried")
    carried[1:] -= carried[:-1].copy()
    records.started, records.counts = records.started[:, :0], carried
    records.emitted = flow["sent"].astype(float)
    for name in FLOW_COUNTS:
        if name in flow.dtype.names:
            setattr(records, name, flow[name].astype(np.int64))
    records.finished, records.total = arrays.pop("finished"), records.delivered[:S].sum(axis=0)
    deaf = plan.backward.counts == 0  # what arrives after the end is processed
    records.notifications = notifications_of(plan.scenario.table, arrays["rule"], flow["rule"])
    records.inside = np.where(deaf, records.emitted - records.total, inside).astype(np.float64)
    missing = records.emitted - flow["delivered"] - data
    records.imbalance = np.abs(missing) / np.maximum(flow["sent"], 1)
    arrays.clear()
    return records


def _packets_inside(arrays: dict[str, Any]) -> Any:
    """Return records of what is in the network at the end: packets of data, and ACKs that arrive later."""
    used = arrays["packet"][: arrays["counters"][USED]]
    later = used["time"] >= arrays["clock"][END]
    return used[(used["kind"] == DATA) | ((used["kind"] == ACK) & later)]


def _remaining(plan: PacketPlan, arrays: dict[str, Any]) -> Any:
    """Return the packets that wait at ports with pauses at the end of a run, rows of `WAITING`."""
    port, until = arrays["port"], (1.0 - LAST_PART) * plan.end
    waits = port["queued"] + port["acks"] > 0
    ports = np.flatnonzero(has_pauses(plan) & waits).tolist() if waits.any() else []
    if not ports:
        return waiting_rows(plan, {})
    row_of = np.empty(len(arrays["hop"]), dtype=np.int64)
    number = np.arange(len(plan.hops.port))
    row_of[plan.hops.row] = number
    first = np.maximum.accumulate(np.where(plan.hops.begins, number, 0))
    counts: dict[tuple[int, int, bool, bool], int] = {}

    def count(flow: int, hop: int, is_ack: bool, still: bool) -> None:
        index = int(row_of[hop])
        key = flow, index - int(first[index]), is_ack, still
        counts[key] = counts.get(key, 0) + 1

    for f, h in _waiting_acks(arrays, ports):
        count(f, h, True, False)  # a port with an ACK that waits is sending
    for p in ports:
        at, queue = port[p], _queue(arrays, p)
        idle = at["left"] <= until and (at["paused"] > 0 or at["free"] <= until)
        apart = bool(at["is_host"])  # packets of a flow are sent in order there
        heads: dict[int, float] = {}
        for packet in queue:
            heads.setdefault(packet.flow if apart else -1, packet.since)
        for packet in queue:
            still = bool(idle and heads[packet.flow if apart else -1] <= until)
            count(packet.flow, packet.hop, False, still)
    return waiting_rows(plan, counts)


def _waiting_acks(arrays: dict[str, Any], ports: list[int]) -> list[tuple[int, int]]:
    """Return flow and hop of each ACK that waits at these ports at the end of a run."""
    acks = _packets_inside(arrays)
    acks = acks[acks["kind"] == ACK]
    hop = acks["hop"] - 1
    p = arrays["hop"]["port"][hop]
    port = arrays["port"][p]
    waits = np.isin(p, ports) & (port["acks"] > 0)
    waits &= acks["time"] >= port["ack_due"] + port["passage"][:, 1]
    return list(zip(acks["flow"][waits].tolist(), hop[waits].tolist(), strict=True))


class Waiting(NamedTuple):
    """A packet in a queue: its flow, its hop, and the time since when it waits, s."""

    flow: int
    hop: int
    since: float


def _queue(arrays: dict[str, Any], p: int) -> list[Waiting]:
    """Return the packets that wait at port p, in the order of the queue."""
    port, packet, flow = arrays["port"][p], arrays["packet"], arrays["flow"]
    of_flows = bool(port["is_host"])
    e, queue, rows = int(port["data_head"]), list[Waiting](), flow if of_flows else packet
    for _ in range(int(port["queued"])):
        row = rows[e]
        if of_flows:
            queue.append(Waiting(e, int(row["first_hop"]), float(row["created"])))
        else:
            queue.append(Waiting(int(row["flow"]), int(row["hop"]), float(row["time"])))
        e = int(row["next"])
    return queue
