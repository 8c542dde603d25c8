"""Switch programs as data: compiled apart, called by address from the packet engine.

An event applies a program's function to the record of a port, ``w``: its state from w[0] on, its parameters from
w[16] on, and what it sees of a packet from w[32] on. The choice of a queue is written to w[56].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.manager_events import callback_of
from dfcmodel.network.programs import QueuedPacket
from hopflow.kernels import build_callbacks
from responsefn.responses.rule_events import (
    MAX_PARAMETERS,
    MAX_STATE,
    checked_signature,
    places,
)

if TYPE_CHECKING:
    from dfcmodel.network.programs import SwitchProgram

__all__ = ["EVENTS", "ProgramSignature", "program_events_of", "program_signature_of"]

EVENTS = ("on_enqueue", "on_dequeue", "queue_of")
"""Functions of a program, in the order of the table of their addresses."""
SEEN_AT = MAX_STATE + MAX_PARAMETERS
CHOICE = SEEN_AT + 24
"""Places in a record: of what a program sees, for which there is room for 24 numbers, and of its queue behind that."""

ProgramSignature = tuple["type[SwitchProgram]", tuple[str, ...]]
"""A class of switch programs and the names of its parameters: what its events are made of."""


def program_signature_of(program: SwitchProgram) -> ProgramSignature:
    """Return a program's class and the names of its parameters; errors as for `signature_of`."""
    signature: ProgramSignature = checked_signature(program, tuple(program.numbers()))
    return signature


def program_events_of(signatures: tuple[ProgramSignature, ...]) -> Any:
    """Return the addresses of programs' events: packets come, leave, choose a queue; shape (programs, 3)."""
    table = np.zeros((max(1, len(signatures)), len(EVENTS)), dtype=np.uint64)
    for row, signature in zip(table, signatures, strict=False):
        for k, event in enumerate(EVENTS[:2]):
            row[k] = callback_of(signature, event, QueuedPacket._fields, compiled=True).address
        if signature[0].queues:
            row[2] = _choice_of(signature).address
    return table


def _choice_of(signature: ProgramSignature) -> Any:
    """Return `SwitchProgram.queue_of` of a program as a callback."""
    kind, names = signature
    params, seen = places(MAX_STATE, len(names)), places(SEEN_AT, len(QueuedPacket._fields))
    state = places(0, len(kind.State._fields))
    lines = [
        "def queue_of(w):",
        f"    w[{CHOICE}] = rule(State({state}), Params({params}), Seen({seen}))",
    ]
    return build_callbacks(
        {"rule": kind.queue_of},
        {"State": kind.State._fields, "Params": names, "Seen": QueuedPacket._fields},
        {"queue_of": "\n".join(lines)},
        "void(CPointer(float64))",
    )["queue_of"]
