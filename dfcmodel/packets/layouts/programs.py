"""Switch programs of ports in the arrays of the compiled engine: parameters, first states, flows, queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.callback_events import Signature, signature_of
from dfcmodel.network.queueing.programs import MAX_TELEMETRY_FIELDS, SwitchProgram, flow_hash
from dfcmodel.packets.kernel.layout import OWN, PROGRAM, QUEUE, RANKED, SKIP_LEVELS
from dfcmodel.packets.layouts.ports import empty_lanes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

__all__ = ["lay_out_programs", "lay_out_queues", "program_signatures"]

OVERFLOWS = ("arrival", "last", "longest")
FIRST_HEIGHT_BITS = 88172645463325252
"""Start of the pseudorandom bits of ranked queues, of Marsaglia 2003 (Xorshift RNGs); 0 would stay 0."""


def program_signatures(plan: PacketPlan) -> tuple[Signature, ...]:
    """Return the distinct signatures of the switch programs of a plan."""
    rules: list[Any] = [plan.ports[p].discipline for p in plan.ports_under(SwitchProgram)]
    return tuple(dict.fromkeys(map(signature_of, rules)))


def lay_out_queues(plan: PacketPlan, port_rows: NDArray[Any], hop: NDArray[Any], first: int) -> NDArray[Any]:
    """Return rows of `LANE` for programs with queues, numbered from ``first``; set them in ports and hops, in place."""
    lanes, hops = [empty_lanes(0)], plan.hops
    rows = hops.row
    for p in plan.ports_under(SwitchProgram):
        rule: Any = plan.ports[p].discipline
        count = rule.check_queues()
        if count:
            port_rows["lane"][p], port_rows["lanes"][p] = first, count
            hop["lane"][rows[hops.port == p]] = first
            lanes.append(empty_lanes(count))
            first += count
    return np.concatenate(lanes)


def _sees_arrivals(rule: Any) -> bool:
    """Return whether a program has a function for arriving packets."""
    return type(rule).on_enqueue is not SwitchProgram.on_enqueue


def _skip_levels(rule: Any, room: int) -> int:
    """Return the levels of the skip list of a queue with ``room`` packets; 0 for a program without ranks."""
    if rule.check_queues() or not _sees_arrivals(rule):
        return 0
    logarithm = ((room - 1).bit_length() + 1) // 2  # base 4, rounded up
    return min(max(1, logarithm - 1), SKIP_LEVELS)  # about four packets on the highest one


def lay_out_programs(plan: PacketPlan, packets: int, hops: int) -> dict[str, Any]:
    """Return, by name, the arrays that some program needs, for these numbers of packets and of rows of hops."""
    ports = plan.ports_under(SwitchProgram)
    signatures = program_signatures(plan)
    program, states = np.zeros(len(plan.ports), PROGRAM), np.zeros(hops, OWN)
    program["heads"] = program["tails"] = -1
    program["height_bits"] = FIRST_HEIGHT_BITS
    port_of_row = np.zeros(hops, dtype=np.int64)
    table, rows = plan.hops, plan.hops.row
    port_of_row[rows] = table.port
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
        parameters = list(rule.numbers().values())
        row["parameters"][: len(parameters)] = parameters
        row["capacity"] = plan.ports[p].bits / 8.0
        row["kind"] = signatures.index(signature_of(rule))
        row["first_of_flow"], row["of_flow"] = first_of_flow, of_flow
        row["first_of_queue"], row["of_queue"] = first_of_queue, of_queue
        row["overflow"] = OVERFLOWS.index(rule.overflow)
        row["skip"], row["trim"] = (names.index(name) - 3 if name in names else -1 for name in ("skip", "trim"))
        row["levels"] = _skip_levels(rule, int(plan.max_queued[p]))
        row["first"], row["queues"] = sum(map(len, queues)), rule.check_queues()
        queues.append(np.zeros(row["queues"], QUEUE))
        queues[-1]["state"][:, :of_queue] = state[first_of_queue:first_of_flow]
        if of_flow:
            states["state"][port_of_row == p, :of_flow] = state[first_of_flow:]
    for name, values in (("priority", plan.priorities), ("size", plan.all_packets + plan.opening)):
        states[name][rows] = values[table.flow]
    states["hash"][rows] = flow_hash(plan.seeds[table.port], table.flow, table.is_ack)
    arrays: dict[str, Any] = {"program": program, "own": states}
    if program["levels"].any():
        arrays["ranked"] = np.zeros(packets, RANKED)
    if any(map(len, queues)):
        arrays["program_queue"] = np.concatenate(queues)
    if (program["trim"][ports] >= 0).any():
        arrays["trimmed"] = np.zeros(packets, dtype=np.int32)
    positions, records = plan.telemetry
    states["place"][rows] = positions
    if records.any():
        arrays["telemetry"] = np.zeros((packets, int(records.max()), 1 + MAX_TELEMETRY_FIELDS))
    return arrays
