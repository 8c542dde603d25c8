"""Lanes of ports under backpressure flow control in the arrays of the compiled engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.packets.kernel.layout import BACKFLOW

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

__all__ = ["lay_out_backpressure"]


def lay_out_backpressure(plan: PacketPlan, hop: NDArray[Any], lanes: int) -> NDArray[Any]:
    """Return rows of `BACKFLOW`, (lanes,), by rows ``hop``: upstream lane that each pauses (-1: none), limit, delay."""
    rows = np.zeros(lanes, BACKFLOW)
    rows["upstream"] = -1
    hops = plan.hops
    stops = plan.by_discipline(lambda rule: rule.pauses == "flow")
    at = np.flatnonzero(stops[hops.port] & ~hops.is_ack & ~hops.begins)
    p, q, row = hops.port[at], hops.before[at], hops.row[at]
    lane = hop["lane"][row]
    has_flows = stops[q] | plan.at_senders[q]
    signalling, threshold = (
        plan.signalling[p],
        plan.by_discipline(lambda rule: getattr(rule, "threshold", 0.0))[p],
    )
    round_trip = 2.0 * plan.delays[q] + signalling + plan.transmission[q, 0]
    flow = hops.flow[at]
    if plan.spraying is not None:
        flow = plan.spraying.owner[flow] - plan.spraying.lenders
    for name, values in (
        ("limit", threshold * round_trip / plan.transmission[p, 0] * plan.sizes_in_queue[p, 0]),
        ("delay", plan.delays[q] + signalling),
        ("upstream", q), ("lane", np.where(has_flows, hop["lane"][row - 1], -1)), ("flow", flow),
    ):  # fmt: skip
        rows[name][lane] = values
    return rows
