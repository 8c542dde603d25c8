"""Switch programs of ports in the arrays of the compiled engine: parameters, first states, flows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.program_events import ProgramSignature, program_signature_of
from dfcmodel.network.programs import SwitchProgram
from dfcmodel.packets.kernel.layout import OWN, PROGRAM

if TYPE_CHECKING:
    from dfcmodel.packets.plans import Plan

__all__ = ["lay_out_programs", "program_signatures"]


def program_signatures(plan: Plan) -> tuple[ProgramSignature, ...]:
    """Return the signatures of the switch programs of a plan, each once."""
    rules: list[Any] = [plan.ports[p].discipline for p in plan.under(SwitchProgram)]
    return tuple(dict.fromkeys(map(program_signature_of, rules)))


def lay_out_programs(plan: Plan, packets: int, hops: int) -> dict[str, Any]:
    """Return the kernel's arrays of programs, for as many packets and rows of hops."""
    ports = plan.under(SwitchProgram)
    if not ports:
        return {"program": np.zeros(1, PROGRAM), "own": np.zeros(1, OWN), "rank": np.zeros(1)}
    signatures = program_signatures(plan)
    program, own = np.zeros(len(plan.ports), PROGRAM), np.zeros(hops, OWN)
    at = np.zeros(hops, dtype=np.int64)
    at[plan.hops.row] = plan.hops.port
    for p in ports:
        rule: Any = plan.ports[p].discipline
        row, state = program[p], list(rule.State())
        row["state"][: len(state) - 3] = state[3:]
        given = list(rule.numbers().values())
        row["parameters"][: len(given)] = given
        row["capacity"] = plan.ports[p].bits / 8.0
        row["kind"] = signatures.index(program_signature_of(rule))
        row["first_of_flow"], row["of_flow"] = len(state) - len(rule.of_flow), len(rule.of_flow)
        row["overflow"] = rule.overflow == "last"
        own["state"][at == p, : len(rule.of_flow)] = state[len(state) - len(rule.of_flow) :]
    flows = plan.scenario.flows
    for name, values in (("priority", [flow.priority for flow in flows]),
                         ("size", plan.opening + [flow.size if flow.idle == math.inf else math.inf for flow in flows])):  # fmt: skip
        own[name][plan.hops.row] = np.array(values, dtype=float)[plan.hops.flow]
    return {"program": program, "own": own, "rank": np.zeros(packets)}
