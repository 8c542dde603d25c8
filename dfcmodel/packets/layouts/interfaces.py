"""Lanes of the network interfaces of hosts, in the arrays of the compiled engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.links import encode_integers
from dfcmodel.network.queueing.class_pauses import CONTROL
from dfcmodel.packets.kernel.links.ports import INTERFACE
from dfcmodel.packets.layouts.ports import empty_lanes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

__all__ = ["lay_out_interfaces"]


def lay_out_interfaces(
    plan: PacketPlan, port_rows: NDArray[Any], hop: NDArray[Any], flow: NDArray[Any], first: int
) -> NDArray[Any]:
    """Return rows of `LANE` of interfaces, from row ``first``; set them in ``port_rows``, ``hop`` and ``flow``, rows.

    Where ACKs are in the class of their flow they are flows of it.
    """
    hops = plan.hops
    at = np.flatnonzero(plan.at_senders[hops.port])
    ports, interface = encode_integers(hops.port[at])
    is_data = plan.classes[at] != CONTROL
    data = at[is_data]
    data = data[np.argsort(interface[is_data], kind="stable")]
    of_data = np.sort(interface[is_data])
    classes, class_index = encode_integers(plan.classes[data])
    pairs, which = encode_integers(of_data * max(1, len(classes)) + class_index)  # classes, port by port
    levels = np.bincount(pairs // max(1, len(classes)), minlength=len(ports))
    flows = np.bincount(of_data, minlength=len(ports))
    counts = 1 + levels + flows
    begin = np.cumsum(counts) - counts
    lane = empty_lanes(int(counts.sum()))
    rows = (begin + 1 + levels - np.cumsum(flows) + flows)[of_data] + np.arange(len(data))
    weights = np.where(hops.is_ack[data], 1, plan.scenario.table.numbers("weight")[hops.flow[data]])
    lane["flow"] = -1
    lane["flow"][rows] = hops.flow[data]
    lane["weight"][rows] = lane["deficit"][rows] = weights
    lane["level"][rows] = first + (begin + 1 - np.cumsum(levels) + levels)[of_data] + which
    hop["lane"][hops.row[at]] = first + begin[interface]
    hop["lane"][hops.row[data]] = first + rows
    of_rate = (flow["line_gap"][hops.flow[data]] > 0.0) & ~hops.is_ack[data]
    flow["lane"][hops.flow[data[of_rate]]] = first + rows[of_rate]
    for name, values in (("kind", INTERFACE), ("lane", first + begin), ("lanes", counts),
                         ("levels", levels)):  # fmt: skip
        port_rows[name][ports] = values
    return lane
