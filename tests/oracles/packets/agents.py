"""Receiver agents in the reference engine."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from dfcmodel import ReceivedPacket
from dfcmodel.network.endpoints.receivers import check_answer
from dfcmodel.packets.kernel.layout import CLASSES, OF_RATE
from tests.oracles.packets.receivers import Packet

if TYPE_CHECKING:
    from tests.oracles.packets.protocols import EventSimulation

__all__ = ["AgentReceiver", "receivers_of"]


def receivers_of(simulation: EventSimulation) -> dict[int, AgentReceiver]:
    """Return the receivers of the flows that have an agent; those of one agent at a node share its state."""
    shared: dict[Any, dict[str, float]] = {}
    found = {}
    for f, flow in enumerate(simulation.plan.scenario.flows):
        if flow.receiver is not None:
            state = shared.setdefault((flow.path[-1], flow.receiver), type(flow.receiver).State()._asdict())
            found[f] = AgentReceiver(simulation, f, state)
    return found


class AgentReceiver:
    """The receiver of a flow with an agent."""

    def __init__(self, simulation: EventSimulation, f: int, shared: dict[str, float]) -> None:
        self.simulation, self.f, self.shared = simulation, f, shared
        agent: Any = simulation.plan.scenario.flows[f].receiver
        self.kind: Any = type(agent)
        self.numbers = SimpleNamespace(**agent.numbers())
        first = self.kind.State()
        self.own = {name: getattr(first, name) for name in agent.of_flow}
        self.due, self.sent = math.inf, 0.0

    def call(self, event: str, number: int, marked: bool, trimmed: bool = False) -> dict[str, Any] | None:
        """Let the agent see an event; return what it answers, None for nothing."""
        simulation, f, kind = self.simulation, self.f, self.kind
        plan, now = simulation.plan, simulation.now
        flow, sender = plan.scenario.flows[f], simulation.senders[f]
        seen = ReceivedPacket(
            now, float(f), float(number), float(sender.came), float(marked), float(flow.size),
            float(simulation.records.total[f]), self.sent,
            float(plan.transmission[plan.forward[f][-1], 0]), float(trimmed),
        )  # fmt: skip
        before = self.shared | self.own
        before |= {"ack": 0.0, "nack": -1.0, "mark": 0.0, "credits": 0.0, "timer": self.due}
        state = getattr(kind, event)(kind.State(**before), self.numbers, seen)
        place = f"{plan.scenario.name}, {event} of the receiver of flow {flow.name!r}"
        check_answer(state, now, place, event == "on_timer")
        self.shared.update(state._asdict())
        self.own = {name: getattr(state, name) for name in self.own}
        if state.timer != self.due:
            self.due = state.timer
            if self.due < math.inf:
                key = CLASSES * len(simulation.queues) + len(simulation.senders) + f
                simulation.at(self.due, key, self.expire)
        if state.ack > 0.0 or state.nack >= 0.0 or state.mark == 1.0 or state.credits > 0.0:
            return {
                "marked": state.mark == 1.0, "nack": int(state.nack),
                "credits": float(state.credits), "acks": float(state.ack),
            }  # fmt: skip
        return None

    def answer(self, number: int, sack: int, told: dict[str, Any] | None) -> None:
        """Send an answer, if there is one; ``number`` is the last packet in order."""
        if told is not None:
            ack = Packet(self.f, number, self.sent, OF_RATE, is_ack=True, sack=sack, **told)
            self.simulation.emit(ack)

    def take(self, packet: Packet, last: int, sack: int) -> None:
        """Let a packet come, after which ``last`` is the last one in order; ``sack``: it came out of order."""
        self.sent = packet.sent
        trimmed = packet.trimmed is not None
        self.answer(last, sack, self.call("on_packet", packet.number, packet.marked, trimmed))

    def expire(self) -> None:
        """Let the agent see that its timer has expired."""
        if self.due != self.simulation.now:
            return
        self.due = math.inf
        told = self.call("on_timer", -1, False)
        self.answer(self.simulation.senders[self.f].came - 1, -1, told)
