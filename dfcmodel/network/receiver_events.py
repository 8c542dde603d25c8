"""Receiver agents as data: compiled apart, called by address from the packet engine.

An event applies an agent's function to its record, ``w``: its state from w[0] on, its parameters from w[16] on, and
what it sees of a packet from w[32] on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.manager_events import callback_of
from dfcmodel.network.receivers import ReceivedPacket
from responsefn.responses.rule_events import checked_signature

if TYPE_CHECKING:
    from dfcmodel.network.receivers import ReceiverAgent

__all__ = ["AgentSignature", "agent_events_of", "agent_signature_of"]

AgentSignature = tuple["type[ReceiverAgent]", tuple[str, ...]]
"""A class of receiver agents and the names of its parameters: what its events are made of."""


def agent_signature_of(agent: ReceiverAgent) -> AgentSignature:
    """Return an agent's class and the names of its parameters; errors as for `signature_of`."""
    signature: AgentSignature = checked_signature(agent, tuple(agent.numbers()))
    return signature


def agent_events_of(signatures: tuple[AgentSignature, ...]) -> Any:
    """Return the addresses of agents' events as packets come and timers expire, shape (agents, 2)."""
    table = np.zeros((max(1, len(signatures)), 2), dtype=np.uint64)
    for row, signature in zip(table, signatures, strict=False):
        for k, event in enumerate(("on_packet", "on_timer")):
            row[k] = callback_of(signature, event, ReceivedPacket._fields).address
    return table
