"""Arrays of the fabric kernel for a plan."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.links import DENSE, column_of, place_table, places_of
from dfcmodel.packets.fabric.kernel import layout
from dfcmodel.packets.kernel.layout import FOLLOW, FOLLOWER, OF_RATE, RULE
from dfcmodel.packets.layouts.followers import lay_out_followers
from dfcmodel.packets.layouts.managers import lay_out_called, marks_leaving
from dfcmodel.packets.layouts.memory import aligned
from dfcmodel.packets.layouts.ports import WINDOW_FRACTION
from dfcmodel.packets.layouts.senders import write_numbers
from dfcmodel.packets.plan import ENDLESS
from responsefn.rule_events import signature_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan
    from responsefn.rule_events import RuleSignature

__all__ = ["MOST_SLOTS", "Windows", "lay_out_fabric", "windows_of"]

MOST_SLOTS = 1024
"""Windows in the longest latency from port to port."""
SPARE = 1 << 14
"""Packets for which there is room at first, besides two of each flow."""
HOPS_OF_BLOCK = 1 << 18
"""Hops whose ingresses are looked up at once."""


class Windows(NamedTuple):
    """Division of time into windows: windows per sample, future windows with a slot at each port, and how far ahead, s.

    Attributes
    ----------
    per_sample
        Number of windows in a sample.
    slots
        Number of future windows for which a port has a slot, a power of 2.
    ahead
        Longest time, s, from the end of a window to the begin of a transmission whose packet arrives in a slot.
    """

    per_sample: int
    slots: int
    ahead: float


def windows_of(plan: PacketPlan, longer: int = 1) -> Windows:
    """Return the division of time for a plan, with ``longer`` times as many slots as usual.

    A window is not longer than the shortest time from port to port. An ACK that waits is sent on before it begins:
    there are slots for ACKs that wait while the longest packet is sent.
    """
    P = len(plan.ports)
    used = [np.bincount(routes.places, minlength=P) > 0 for routes in (plan.forward, plan.backward)]
    times = np.append(plan.passage[used[0], 0], plan.passage[used[1], OF_RATE])
    asks, paused = plan.pauses
    ways = plan.delays[paused] + plan.signalling[asks]
    shortest = min(times.min(), ways.min(initial=math.inf))
    longest = max(times.max(), ways.max(initial=0.0))
    count = math.ceil(plan.sample / (WINDOW_FRACTION * shortest))
    width = plan.sample / count
    waits = plan.transmission[used[0], 0].max()
    slots = longer << math.ceil(math.log2(3 + (longest + waits) / width))
    return Windows(count, slots, (slots - 2) * width - longest)


def lay_out_fabric(
    plan: PacketPlan, signatures: tuple[RuleSignature, ...], windows: Windows, spare: int = 1
) -> dict[str, Any]:
    """Return the arrays of a plan by their names in the kernel; the packets' begin ``spare`` times as large."""
    F, slots = len(plan.forward), windows.slots
    port, (flow, rate, rule) = _ports(plan), _flows(plan, signatures)
    crosses_port = plan.crosses_port
    hop = np.zeros(len(crosses_port), layout.HOP)
    hop["port"][crosses_port], hop["ingress"] = plan.hops.port, -1
    hop["port"][plan.end_rows.receiver] = layout.RECEIVER
    hop["port"][plan.end_rows.sender] = -2 - plan.forward.first
    size, called = spare * (2 * F + SPARE), lay_out_called(plan)
    coming = np.zeros(slots, layout.WINDOW)
    coming["port"] = coming["retired"] = -1
    arrays = {
        "packet": aligned(size, layout.PACKET), "sent_at": np.empty(size), "port": port, "hop": hop,
        "flow": flow, "rate": rate, "rule": rule,
        "finished": np.full(F, math.nan), "counted": np.zeros(F, dtype=np.int64),
        "called": called, "stream": plan.seeds.astype(np.int64) if len(called) > 1 else np.zeros(1, dtype=np.int64),
        "follow": np.zeros(0, FOLLOW), "followers": np.zeros(0, FOLLOWER),
        "slot": _slots(len(plan.ports) * slots), "coming": coming, "arriving": np.empty(size, dtype=np.int32),
        "counters": np.array([-1, 0, 0, 0, 0, 0, -1]), "change": _changes(plan, size),
        "clock": np.array([windows.per_sample / plan.sample, 0.0, plan.scenario.min_rto, 0.0, 0.0, windows.ahead]),
    }  # fmt: skip
    arrays |= _ingresses(plan, hop["ingress"], crosses_port)
    if plan.scenario.table.waits.any():
        arrays |= lay_out_followers(plan)
    _start(plan, arrays)
    return arrays


def _ports(plan: PacketPlan) -> NDArray[Any]:
    """Return the rows of the ports, `PORT` of the fabric kernel, (P,), before the run."""
    rows = aligned(len(plan.ports), layout.PORT)
    rows.view(np.uint8)[:] = 0
    kinds = [0, OF_RATE]
    for name, values in (
        ("free", -math.inf), ("spent", plan.transmission[:, kinds]), ("passage", plan.passage[:, kinds]),
        ("rank", plan.arrival_order(kinds)), ("packet_bytes", plan.sizes_in_queue[:, 0]),
        ("ack_bytes", plan.sizes_in_queue[:, OF_RATE]),
        ("signalling", plan.signalling), ("delay", plan.delays),
        ("is_host", plan.at_senders), ("marks", plan.by_discipline(marks_leaving)), ("unit", plan.data_bytes_in_queue),
        ("peak_limit", -(plan.data_bytes_in_queue > 0).astype(np.int32)),
        ("room", plan.rooms / np.where(plan.data_bytes_in_queue > 0, plan.data_bytes_in_queue, 1.0) + 1.0),
    ):  # fmt: skip
        rows[name] = values
    return rows


def _flows(plan: PacketPlan, signatures: tuple[RuleSignature, ...]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return rows of flows, (F,), and of rates and rules, one per flow whose rate changes; one row each without any."""
    table = plan.scenario.table
    line_rates = plan.scenario.link_table.rates[plan.scenario.routes.first]
    first, group = table.alike("source", line_rates)
    gaps, rates = np.zeros(len(first)), np.zeros(len(first), layout.RATE)
    rules = np.zeros(len(first), RULE)
    for n, f in enumerate(first.tolist()):
        source: Any = table.columns["source"][f]
        start = source.start(float(line_rates[f]))
        gaps[n] = 1.0 / line_rates[f]
        rates[n]["rate"], rates[n]["kind"] = start.rate, -1
        if source.is_constant:
            gaps[n] = max(gaps[n], 1.0 / max(start.rate, 1e-9))
        else:
            rates[n]["kind"] = signatures.index(signature_of(source))
            rates[n]["idle"] = source.is_idle_until_marked
        write_numbers(rules[n : n + 1], source, start)
    rates["paced_at"], rates["clocked"] = -math.inf, -1.0
    count = plan.forward.counts + plan.backward.counts + 2
    repairs = column_of(plan.repairs).map(lambda repair: str(repair) == "go-back-n").array()
    flow = np.zeros(len(table), layout.FLOW)
    for name, values in (
        ("gap", gaps[group]), ("first_hop", np.cumsum(count) - count), 
        ("packets", np.minimum(table.numbers("size"), ENDLESS)), ("due", plan.starts), ("rule", -1),
        ("deadline", np.where(repairs, math.inf, math.nan)),
    ):  # fmt: skip
        flow[name] = values
    changing = np.flatnonzero(rates["kind"][group] >= 0)
    flow["rule"][changing] = np.arange(len(changing))
    if not len(changing):
        return flow, rates[:1], rules[:1]
    return flow, rates[group[changing]], rules[group[changing]]


def _ingresses(plan: PacketPlan, of_hops: NDArray[Any], crosses_port: NDArray[np.bool_]) -> dict[str, Any]:
    """Return rows of ingresses and their rooms, bytes, by name; write the row of each hop to the column ``of_hops``.

    ``crosses_port``: which rows are hops over ports, in their order.
    """
    table, hops, P = plan.ingresses, plan.hops, len(plan.ports)
    asks, is_shared = plan.counting_port, plan.counts_together
    counted_keys, at = asks[table.port] * P + table.before, np.arange(len(table.port))
    if not (counted_keys[1:] > counted_keys[:-1]).all():
        counted_keys, at = np.unique(counted_keys, return_index=True)
    rows = aligned(max(1, len(counted_keys)), layout.INGRESS)
    rows.view(np.uint8)[:] = 0
    rows["change"] = rows["next"] = -1
    used = rows[: len(counted_keys)]
    port = table.port[at]
    high, low = plan.thresholds[port].T
    room, shared = table.room[at] * plan.sizes_in_queue[port, 0], is_shared[port]
    for name, values in (
        ("port", table.before[at]), ("pausing", asks[port]), ("priority", table.priority[at]),
        ("high", high), ("low", low),
        ("is_shared", shared), ("bound", np.where(shared, -math.inf, np.minimum(high, room))),
        ("resume", np.where(shared, math.inf, -math.inf)),
    ):  # fmt: skip
        used[name] = values
    # In blocks, as temporary arrays of all hops would be a third of the memory of a run with 10^6 of them.
    pairs = P * P
    table_of_pairs = place_table(counted_keys, pairs) if pairs <= DENSE * len(hops.port) + 2**16 else None
    number = np.full(len(hops.port), -1, dtype=np.int32)
    for begin in range(0, len(number), HOPS_OF_BLOCK):
        part = slice(begin, begin + HOPS_OF_BLOCK)
        port = hops.port[part]
        keys = asks[port] * P
        previous = max(begin, 1) - 1
        keys[previous - begin + 1 :] += hops.port[previous : begin + len(port) - 1]
        index = places_of(counted_keys, keys) if table_of_pairs is None else table_of_pairs[keys]
        number[part] = np.where(plan.is_counted[part], index, -1)
    of_hops[crosses_port] = number
    return {"ingress": rows, "room": room}


def _start(plan: PacketPlan, arrays: dict[str, Any]) -> None:
    """Add the timers of flows' starts, a heap per host, to ``arrays``; set interfaces' first windows, in place."""
    hosts, starts = plan.forward.first, plan.starts
    order = np.lexsort((starts, hosts))
    order = order[starts[order] < np.inf]
    port, slots, host = arrays["port"], len(arrays["coming"]), hosts[order]
    room = np.bincount(hosts, minlength=len(port))  # a timer of each flow
    begin, pending = np.cumsum(room) - room, np.bincount(host, minlength=len(port))
    port["pending"], port["timers"] = pending, begin
    index = np.arange(len(order)) + (begin - np.cumsum(pending) + pending)[host]
    arrays["timer"] = timer = np.zeros(int(room.sum()), layout.TIMER)
    timer["time"][index], timer["flow"][index] = starts[order], order
    used = np.flatnonzero(pending)
    if not len(used):
        return
    soon = timer["time"][begin[used]] * arrays["clock"][0]
    windows = np.minimum(soon, slots - 1).astype(np.int64)
    order = np.argsort(windows, kind="stable")
    p, w = used[order], windows[order]
    before = np.concatenate([[-1], np.where(w[1:] == w[:-1], p[:-1], -1)])
    arrays["slot"]["next"][p * slots + w] = before
    arrays["coming"]["port"][w] = p  # the last one of each window


def _changes(plan: PacketPlan, rows: int) -> NDArray[Any]:
    """Return uninitialized memory for ``rows`` changes of counts in a window; 1 row if no ports count together."""
    return np.empty(rows if plan.counts_together.any() else 1, layout.CHANGE)


def _slots(count: int) -> NDArray[Any]:
    """Return ``count`` slots, `SLOT` of the fabric kernel, without packets."""
    slots = np.empty(count, layout.SLOT)
    slots["last"], slots["next"] = -1, layout.NOBODY
    return slots
