"""Lanes of the network interfaces of hosts, in the arrays of the compiled engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.class_pauses import CONTROL
from dfcmodel.packets.kernel.layout import LANE
from dfcmodel.packets.kernel.ports import INTERFACE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plans import Plan

__all__ = ["empty_lanes", "lay_out_interfaces"]


def empty_lanes(count: int) -> NDArray[Any]:
    """Return lanes in which nothing waits."""
    lane = np.zeros(count, LANE)
    for name in ("head", "tail", "next", "first", "last"):
        lane[name] = -1
    return lane


def lay_out_interfaces(
    plan: Plan, port_rows: NDArray[Any], hop: NDArray[Any], flow: NDArray[Any], first: int
) -> NDArray[Any]:
    """Return the lanes of interfaces, rows ``first`` on: of each the control class, its classes, and their flows.

    Where ACKs are in the class of their flow they are flows of it.
    """
    hops, found = plan.hops, [empty_lanes(0)]
    flow["lane"] = -1
    ports = np.flatnonzero(plan.at_senders)
    if not len(ports):
        return found[0]
    at = np.flatnonzero(plan.at_senders[hops.port])
    at = at[np.argsort(hops.port[at], kind="stable")]
    cuts = np.flatnonzero(np.diff(hops.port[at])) + 1
    for own in np.split(at, cuts):
        p = hops.port[own[0]]
        data = own[plan.classes[own] != CONTROL]
        classes, which = np.unique(plan.classes[data], return_inverse=True)
        lane = empty_lanes(1 + len(classes) + len(data))
        lane["flow"][1 + len(classes) :] = hops.flow[data]
        lane["level"][1 + len(classes) :] = first + 1 + which.reshape(-1)
        rows = first + 1 + len(classes) + np.arange(len(data))
        hop["lane"][hops.row[own]] = first
        hop["lane"][hops.row[data]] = rows
        of_rate = (flow["line_gap"][hops.flow[data]] > 0.0) & ~hops.is_ack[data]
        flow["lane"][hops.flow[data[of_rate]]] = rows[of_rate]
        for name, value in (("kind", INTERFACE), ("lane", first), ("lanes", len(lane)),
                            ("levels", len(classes))):  # fmt: skip
            port_rows[name][p] = value
        found.append(lane)
        first += len(lane)
    return np.concatenate(found)
