"""Flows with native rules in the arrays of the compiled engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.endpoints.native_rules import ECT1, NativeRule
from dfcmodel.packets.kernel.layout import NATIVE, NATIVE_RULE, SENT_PACKET
from dfcmodel.packets.kernel.tcp.native_rules import FUNCTIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

__all__ = ["REORDERING_THRESHOLD", "lay_out_native", "set_native"]

REORDERING_THRESHOLD = 3
"""Packets sent after a lost one of which the last is acknowledged (RFC 9002, 6.1.1, kPacketThreshold)."""

FIRST_RECORDS = 32
"""Records of packets in flight for which there is room at first; the ring grows up to the size of the window."""


def set_native(row: Any, rule: NativeRule) -> None:
    """Set in a flow's row the fields of a native rule that other rules of deliveries lack: its kind, and its ECN."""
    library = rule.loaded
    row["listed"], row["samples"] = NATIVE, library.limits_flight
    row["accurate"], row["not_ect"] = library.ecn == ECT1, not library.is_ecn_capable


def lay_out_native(plan: PacketPlan, flow: NDArray[Any], rule: NDArray[Any], sent: int) -> dict[str, Any]:
    """Return records of native rules and their packets (``sent`` in flight), by name; set rows of flows and rules.

    ``rule`` has the rules of flows, and ``sent`` is the number of records of packets in flight.
    """
    rows = np.flatnonzero(flow["listed"] == NATIVE)
    native = np.zeros(len(rows), NATIVE_RULE)
    flow["native"][rows] = np.arange(len(rows))
    masks = rule["sent_mask"][flow["rule"][rows]]
    most = int(masks.max()) + 1
    native["most_mask"] = masks
    rule["sent_mask"][flow["rule"][rows]] = np.minimum(masks, FIRST_RECORDS - 1)
    for name, value in (
        ("acked_at", sent), ("first_acked", sent), ("lost_at", sent + most),
        ("packet_bytes", round(plan.sizes[0])), ("timer_at", np.inf), ("timer_event", np.inf),
        ("by_packet", 1), ("newest_acked", -1.0), ("lost_from", np.inf),
    ):  # fmt: skip
        native[name] = value
    for n, f in zip(native, rows.tolist(), strict=True):
        source: Any = plan.scenario.flows[f].source
        library = source.loaded
        n["unit"] = plan.sizes[0] if library.counts_bytes else 1.0
        n["nanoseconds"] = library.counts_nanoseconds
        n["not_ect"] = not library.is_ecn_capable
        n["threshold"] = 1 if library.limits_flight else REORDERING_THRESHOLD
        for name in FUNCTIONS:
            n[name] = library.functions[name]
    return {"native": native, "slot": np.zeros(sent + 2 * most, SENT_PACKET)}
