"""Receiver agents in the arrays of the compiled engine: parameters, first states, flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.callback_events import Signature, signature_of
from dfcmodel.network.endpoints.receivers import ANSWER, MAX_OF_FLOW
from dfcmodel.packets.kernel.layout import AGENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

__all__ = ["agent_signatures", "lay_out_agents"]


def agent_signatures(plan: PacketPlan) -> tuple[Signature, ...]:
    """Return the distinct signatures of the receiver agents of a plan."""
    agents = plan.scenario.table.columns["receiver"].values
    return tuple(dict.fromkeys(signature_of(agent) for agent in agents if agent is not None))


def lay_out_agents(plan: PacketPlan, flow: NDArray[Any]) -> dict[str, Any]:
    """Return the kernel's arrays of receiver agents, by name; set agent and credits in rows ``flow``, in place."""
    table = plan.scenario.table
    index: dict[Any, int] = {}
    for f in np.flatnonzero(table.given("receiver")).tolist():
        receiver: Any = table.columns["receiver"][f]
        flow["agent"][f] = index.setdefault((table.path(f)[-1], receiver), len(index))
        flow["credits"][f] = receiver.unsolicited
    signatures = agent_signatures(plan)
    agent, states = np.zeros(len(index), AGENT), np.zeros((len(table), MAX_OF_FLOW))
    for (_, rule), n in index.items():
        row, state = agent[n], list(rule.State())
        row["state"][: len(state) - len(ANSWER)] = state[len(ANSWER) :]
        numbers = list(rule.numbers().values())
        row["parameters"][: len(numbers)] = numbers
        row["kind"] = signatures.index(signature_of(rule))
        count = len(rule.of_flow)
        row["first_of_flow"], row["of_flow"] = len(state) - count, count
        states[flow["agent"] == n, :count] = state[len(state) - count :]
    sizes = np.array(table.numbers("size"))
    return {"agent": agent, "agent_state": states, "agent_sizes": sizes}
