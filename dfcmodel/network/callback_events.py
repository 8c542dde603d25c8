"""Functions that users write for the engines, compiled separately and called by address.

These are queue managers (at both levels) and, at packet level, switch programs, receiver agents, laws of links and
elements of paths. An event applies a function to a record, ``w``: the state from w[0] on (a law's receiver from w[8]
on), the parameters from w[16] on, and the inputs from w[32] on. A result other than a state is written behind the
inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.elements.base import PassingPacket, PathElement
from dfcmodel.network.endpoints.receivers import ReceivedPacket
from dfcmodel.network.queueing.disciplines import Arrivals
from dfcmodel.network.queueing.link_laws import MAX_END_STATE, LinkEvent
from dfcmodel.network.queueing.programs import QueuedPacket, SwitchProgram
from hopflow.kernels import build_callbacks
from responsefn.rule_events import (
    MAX_PARAMETERS,
    MAX_STATE,
    array_elements,
    validate_signature,
)

if TYPE_CHECKING:
    from dfcmodel.network.endpoints.receivers import ReceiverAgent
    from dfcmodel.network.queueing.disciplines import QueueManager
    from dfcmodel.network.queueing.link_laws import LinkLaw

__all__ = [
    "ELEMENT_EVENTS",
    "LAW_EVENTS",
    "PROGRAM_EVENTS",
    "Signature",
    "agent_events_of",
    "element_events_of",
    "law_events_of",
    "law_signature_of",
    "manager_events_of",
    "manager_signature_of",
    "program_events_of",
    "signature_of",
]

INPUT_OFFSET = MAX_STATE + MAX_PARAMETERS
"""Offset in a record of the inputs of a function."""
AGENT_EVENTS = ("on_packet", "on_timer")
PROGRAM_EVENTS = ("on_enqueue", "on_dequeue", "queue_of")
LAW_EVENTS = ("may_send", "on_send", "on_message", "on_arrival", "on_departure")
ELEMENT_EVENTS = ("on_packet", "on_leaving")
"""Functions of receiver agents, switch programs, laws and elements, in the order of their tables of addresses."""
LAW_EVENTS_AT_RECEIVER = ("on_arrival", "on_departure")

Signature = tuple[type[Any], tuple[str, ...]]
"""A class and the names of its parameters, from which its events are built."""


class Places(NamedTuple):
    """Name of a class of state, and offsets of its first field and of the result (None: no result) in a record.

    Attributes
    ----------
    state, first
        Name of the class of the state, which is in the record from w[first] on.
    answer
        Offset of the result; None: the function returns the next state.
    """

    state: str = "State"
    first: int = 0
    answer: int | None = None


OF_STATE = Places()
CHOSEN_QUEUE = Places(answer=INPUT_OFFSET + 24)  # behind the 24 inputs of a program
MAY_SEND = Places("Sender", answer=INPUT_OFFSET + 8)  # behind the 8 inputs of a law
AT_SENDER, AT_RECEIVER = Places("Sender"), Places("Receiver", first=MAX_END_STATE)


def signature_of(rule: SwitchProgram | ReceiverAgent | PathElement) -> Signature:
    """Return the class and parameter names of a program, agent or element; ValueError if they exceed a record."""
    signature: Signature = validate_signature(rule, tuple(rule.numbers()))
    return signature


def manager_signature_of(manager: QueueManager) -> Signature:
    """Return the class and parameter names of a queue manager; errors as for `signature_of`."""
    signature: Signature = validate_signature(manager, tuple(manager.numbers(1500.0)))
    return signature


def law_signature_of(law: LinkLaw) -> Signature:
    """Return the class and parameter names of a law; errors as for `signature_of`."""
    names = tuple(law.numbers())
    if len(names) > MAX_PARAMETERS:
        name = type(law).__name__
        raise ValueError(f"parameters of {name} = {len(names)}: must be at most {MAX_PARAMETERS}")
    return type(law), names


def manager_events_of(signatures: tuple[Signature, ...], *, compiled: bool = True) -> Any:
    """Return managers' events, (at least 1,): addresses; unless ``compiled``, Python functions of a link's record."""
    table = np.empty(max(1, len(signatures)), dtype=np.uint64 if compiled else object)
    table.fill(0)
    for n, signature in enumerate(signatures):
        callback = _callback(signature, "on_step", Arrivals._fields, compiled=compiled)
        table[n] = callback.address if compiled else _on_link(callback)
    return table


def agent_events_of(signatures: tuple[Signature, ...]) -> Any:
    """Return the addresses of agents' events for packets and timers, shape (at least 1, 2); 0 without agents."""
    table = _no_addresses(signatures, AGENT_EVENTS)
    for row, signature in zip(table, signatures, strict=False):
        for k, event in enumerate(AGENT_EVENTS):
            row[k] = _callback(signature, event, ReceivedPacket._fields).address
    return table


def program_events_of(signatures: tuple[Signature, ...]) -> Any:
    """Return addresses of programs' events in the order of `PROGRAM_EVENTS`, (at least 1, 3); 0: no such function.

    They are 0 for functions inherited from `SwitchProgram`, which return the state unchanged.
    """
    table = _no_addresses(signatures, PROGRAM_EVENTS)
    for row, signature in zip(table, signatures, strict=False):
        for k, event in enumerate(PROGRAM_EVENTS):
            choice = event == "queue_of"
            if choice and not signature[0].queues:
                continue
            if not choice and getattr(signature[0], event) is getattr(SwitchProgram, event):
                continue
            where = CHOSEN_QUEUE if choice else OF_STATE
            row[k] = _callback(signature, event, QueuedPacket._fields, where=where).address
    return table


def element_events_of(signatures: tuple[Signature, ...]) -> Any:
    """Return addresses of the functions of elements of paths, in the order of `ELEMENT_EVENTS`, (at least 1, 2).

    They are 0 for functions inherited from `PathElement`, which return the state unchanged.
    """
    table = _no_addresses(signatures, ELEMENT_EVENTS)
    for row, signature in zip(table, signatures, strict=False):
        for k, event in enumerate(ELEMENT_EVENTS):
            if getattr(signature[0], event) is not getattr(PathElement, event):
                row[k] = _callback(signature, event, PassingPacket._fields, floats=True).address
    return table


def law_events_of(signatures: tuple[Signature, ...]) -> Any:
    """Return the addresses of the events of laws, shape (at least 1, 5); 0 without laws."""
    table = _no_addresses(signatures, LAW_EVENTS)
    for row, signature in zip(table, signatures, strict=False):
        for k, event in enumerate(LAW_EVENTS):
            at_sender = MAY_SEND if event == "may_send" else AT_SENDER
            where = AT_RECEIVER if event in LAW_EVENTS_AT_RECEIVER else at_sender
            callback = _callback(signature, event, LinkEvent._fields, where=where, floats=True)
            row[k] = callback.address
    return table


def _no_addresses(signatures: tuple[Signature, ...], events: tuple[str, ...]) -> Any:
    """Return zeros in place of addresses of events, shape (at least 1, events)."""
    return np.zeros((max(1, len(signatures)), len(events)), dtype=np.uint64)


def _callback(
    signature: Signature,
    event: str,
    inputs: tuple[str, ...],
    *,
    compiled: bool = True,
    where: Places = OF_STATE,
    floats: bool = False,
) -> Any:
    """Return a class's function ``event`` as a callback on a record of floats, ``w``: state, parameters, ``inputs``.

    Parameters
    ----------
    signature
        The class, and the names of its parameters, which are in the record from w[16] on.
    event
        Name of the function.
    inputs
        Names of its inputs, from w[32] on.
    compiled
        False returns a function in plain Python.
    where
        Offsets of its state and its result.
    floats
        As for `build_callbacks`.
    """
    kind, names = signature
    fields = getattr(kind, where.state)._fields
    lines = [
        f"def {event}(w):",
        f"    old = State({array_elements(where.first, len(fields))})",
        f"    seen = Seen({array_elements(INPUT_OFFSET, len(inputs))})",
        f"    new = rule(old, Params({array_elements(MAX_STATE, len(names))}), seen)",
    ]
    if where.answer is None:
        lines += [f"    w[{where.first + n}] = new.{name}" for n, name in enumerate(fields)]
    else:
        lines += [f"    w[{where.answer}] = new"]
    callbacks = build_callbacks(
        {"rule": getattr(kind, event)},
        {"State": fields, "Params": names, "Seen": inputs},
        {event: "\n".join(lines)},
        "void(CPointer(float64))",
        compiled=compiled,
        floats=floats,
    )
    return callbacks[event]


def _on_link(event: Callable[..., None]) -> Callable[..., None]:
    """Return a manager's event, a function that changes a list of numbers, as one that changes a link's record."""

    def apply(link: Any) -> None:
        numbers = [link.drop, link.mark, *link.state, *link.parameters, *link.seen]
        event(numbers)
        link.drop, link.mark = numbers[:2]
        link.state[:] = numbers[2:MAX_STATE]

    return apply
