"""Switch programs of ports in the arrays of the compiled engine: parameters, first states, flows, queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.callback_events import Signature, signature_of
from dfcmodel.network.queueing.programs import MOST_TELEMETRY, SwitchProgram, flow_hash
from dfcmodel.packets.kernel.layout import OWN, PROGRAM, QUEUE
from dfcmodel.packets.layouts.lanes import empty_lanes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plans import Plan

__all__ = ["lay_out_programs", "lay_out_queues", "program_signatures", "sees_departures_alone"]

OVERFLOWS = ("arrival", "last", "longest")


def program_signatures(plan: Plan) -> tuple[Signature, ...]:
    """Return the signatures of the switch programs of a plan, each once."""
    rules: list[Any] = [plan.ports[p].discipline for p in plan.under(SwitchProgram)]
    return tuple(dict.fromkeys(map(signature_of, rules)))


def lay_out_queues(plan: Plan, port_rows: NDArray[Any], hop: NDArray[Any], first: int) -> NDArray[Any]:
    """Return the lanes of queues of programs, rows ``first`` on, in the order of their ports."""
    found, hops = [empty_lanes(0)], plan.hops
    rows = hops.row
    for p in plan.under(SwitchProgram):
        rule: Any = plan.ports[p].discipline
        count = rule.check_queues()
        if count:
            port_rows["lane"][p], port_rows["lanes"][p] = first, count
            hop["lane"][rows[hops.port == p]] = first
            found.append(empty_lanes(count))
            first += count
    return np.concatenate(found)


def sees_departures_alone(plan: Plan) -> list[bool]:
    """Return whether each port under a program has one queue, of which the program sees the packets that leave, and cuts none."""
    return [_sees_departures_alone(plan.ports[p].discipline) for p in plan.under(SwitchProgram)]


def _sees_departures_alone(rule: Any) -> bool:
    is_own = type(rule).on_enqueue is not SwitchProgram.on_enqueue
    return not (is_own or rule.check_queues() or "trim" in rule.State._fields)


def lay_out_programs(plan: Plan, packets: int, hops: int) -> dict[str, Any]:
    """Return the kernel's arrays of programs, for as many packets and rows of hops; without those that none of them needs."""
    ports = plan.under(SwitchProgram)
    signatures = program_signatures(plan)
    program, own = np.zeros(len(plan.ports), PROGRAM), np.zeros(hops, OWN)
    at = np.zeros(hops, dtype=np.int64)
    each, rows = plan.hops, plan.hops.row
    at[rows] = each.port
    queues: list[NDArray[Any]] = []
    for p in ports:
        rule: Any = plan.ports[p].discipline
        row, state, names = program[p], list(rule.State()), rule.State._fields
        of_flow, of_queue = len(rule.of_flow), len(rule.of_queue)
        first_of_flow = len(state) - of_flow
        first_of_queue = first_of_flow - of_queue
        row["of_telemetry"] = len(rule.telemetry)
        row["first_of_telemetry"] = first_of_queue - row["of_telemetry"]
        row["state"][: len(state) - 3] = state[3:]
        given = list(rule.numbers().values())
        row["parameters"][: len(given)] = given
        row["capacity"] = plan.ports[p].bits / 8.0
        row["kind"] = signatures.index(signature_of(rule))
        row["first_of_flow"], row["of_flow"] = first_of_flow, of_flow
        row["first_of_queue"], row["of_queue"] = first_of_queue, of_queue
        row["overflow"] = OVERFLOWS.index(rule.overflow)
        row["skip"], row["trim"] = (names.index(name) - 3 if name in names else -1 for name in ("skip", "trim"))
        row["first"], row["queues"] = sum(map(len, queues)), rule.check_queues()
        queues.append(np.zeros(row["queues"], QUEUE))
        queues[-1]["state"][:, :of_queue] = state[first_of_queue:first_of_flow]
        if of_flow:
            own["state"][at == p, :of_flow] = state[first_of_flow:]
    for name, values in (("priority", plan.priorities), ("size", plan.all_packets + plan.opening)):
        own[name][rows] = values[each.flow]
    own["hash"][rows] = flow_hash(plan.seeds[each.port], each.flow, each.is_ack)
    found = {"program": program, "own": own, "rank": np.zeros(packets)}
    if any(len(rows) for rows in queues):
        found["program_queue"] = np.concatenate(queues)
    if (program["trim"][ports] >= 0).any():
        found["trimmed"] = np.zeros(packets, dtype=np.int32)
    places, most = plan.telemetry
    own["place"][rows] = places
    if most.any():
        found["telemetry"] = np.zeros((packets, int(most.max()), 1 + MOST_TELEMETRY))
    return found
