"""Diffusion-type flow control in the arrays of the compiled engine: rates of lanes, feedback of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.queueing.disciplines import DFC
from dfcmodel.packets.kernel.codes import RECEIVE_FEEDBACK, SEND_FEEDBACK
from dfcmodel.packets.kernel.layout import DIFFUSIVE
from dfcmodel.packets.kernel.links.diffusion import REPORTS
from dfcmodel.packets.kernel.links.pauses import RENEWALS
from dfcmodel.packets.layouts.units import calendar_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plans import Clock, Plan

__all__ = ["begin_clocks", "lay_out_feedback", "lay_out_rates"]


def lay_out_rates(plan: Plan, port_rows: NDArray[Any], lane: NDArray[Any]) -> NDArray[Any]:
    """Return the rows of lanes with diffusion-type flow control; one row if there are none."""
    ports = plan.under(DFC)
    found = np.zeros(len(lane) if ports else 1, DIFFUSIVE)
    for p in ports:
        port, capacity = plan.ports[p], 1.0 / plan.transmission[p, 0]
        rule: Any = port.discipline
        rows = found[port_rows["lane"][p] : port_rows["lane"][p] + port_rows["lanes"][p]]
        rows["rate"] = rows["told_rate"] = rows["capacity"] = capacity
        rows["credit"], rows["intensity"] = 1.0, rule.intensity
        rows["gain"], rows["counts"] = rule.diffusion / port.delay, port.link >= 0
        rows["smoothing"] = plan.method.count_smoothing
    return found


def lay_out_feedback(clocks: list[Clock], plan: Plan, port_rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the lanes that are reported about and those that it is reported to, clock by clock, (K, 2)."""
    rows = [
        (_lane(plan, port_rows, clock.of, key), _lane(plan, port_rows, clock.to, key))
        for clock in clocks
        for key in clock.keys
    ]
    return np.array(rows or [(0, 0)], dtype=np.int64)


def _lane(plan: Plan, port_rows: NDArray[Any], p: int, key: tuple[int, bool]) -> int:
    return int(port_rows["lane"][p]) + plan.users(p).index(key)


def begin_clocks(clocks: list[Clock], arrays: dict[str, Any]) -> None:
    """Schedule the first report of each node, and its arrival."""
    from dfcmodel.packets.kernel.calendar_queue import push, take

    if not clocks:
        return
    net = calendar_of(arrays)
    row = 0
    for clock in clocks:
        end = row + len(clock.keys)
        reported = clock.of if clock.of >= 0 else clock.to
        events = [(RECEIVE_FEEDBACK, clock.to, clock.first + clock.period, RENEWALS + reported)]
        if clock.of >= 0:
            events.append((SEND_FEEDBACK, clock.of, clock.first, RENEWALS + REPORTS + clock.to))
        for number, p, time, key in events:
            e = take(net)
            it = net.packet[e]
            it.number, it.marked = number, 0
            it.hop, it.flow = row, end  # what it reports about, from row to row
            arrays["sent_at"][e] = clock.period
            push(net, e, p, time, key)
        row = end
