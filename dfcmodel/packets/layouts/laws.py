"""Laws of flow control between the ends of links, in the arrays of the compiled engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.callback_events import Signature, law_signature_of
from dfcmodel.network.queueing.link_laws import LinkLaw
from dfcmodel.packets.kernel.layout import BY_LAW, LAW
from dfcmodel.packets.kernel.links.ports import INTERFACE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

__all__ = ["law_signatures", "lay_out_laws"]


def law_signatures(plan: PacketPlan) -> tuple[Signature, ...]:
    """Return the distinct signatures of the laws of a plan."""
    rules: list[Any] = [plan.ports[p].discipline for p in plan.ports_under(LinkLaw)]
    return tuple(dict.fromkeys(map(law_signature_of, rules)))


def lay_out_laws(
    plan: PacketPlan, port_rows: NDArray[Any], hop: NDArray[Any], feeder: NDArray[Any], lanes: int
) -> dict[str, Any]:
    """Return rows of laws, one per row of ``feeder``, and each lane's law, by name; flag senders in ``port_rows``."""
    ports = plan.ports_under(LinkLaw)
    laws = np.zeros(len(feeder), LAW)
    laws["kind"] = -1
    lawful = np.full(lanes, -1, dtype=np.int32)
    signatures, hops = law_signatures(plan), plan.hops
    of_law = np.zeros(len(plan.ports), dtype=np.bool_)
    of_law[ports] = True
    at = np.flatnonzero(of_law[hops.port])
    rows, first = np.unique(hop["ingress"][hops.row[at]], return_index=True)
    for k, p in zip(rows.tolist(), hops.port[at[first]].tolist(), strict=True):
        q = int(feeder["port"][k])
        if k < 0 or q < 0:
            continue
        rule: Any = plan.ports[p].discipline
        row = laws[k]
        row["sender"][: len(rule.Sender._fields)] = rule.Sender()
        row["receiver"][: len(rule.Receiver._fields)] = rule.Receiver()
        numbers = list(rule.numbers().values())
        row["parameters"][: len(numbers)] = numbers
        row["kind"] = signatures.index(law_signature_of(rule))
        row["asks"] = port_rows["asks"][p]
        row["latency"] = plan.ports[q].delay + rule.signalling
        row["seen"][4:7] = (
            feeder["room"][k] / plan.sizes_in_queue[p, 0],
            1.0 / plan.transmission[q, 0],
            row["latency"],
        )
        lawful[feeder["lane"][k]] = k
        if port_rows["kind"][q] == INTERFACE:
            port_rows["by_turns"][q] = BY_LAW
    return {"law": laws, "lawful": lawful}
