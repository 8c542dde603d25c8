"""Switch programs as data: compiled apart, called by address from the packet engine.

An event applies a program's function to the record of a port, ``w``: its state from w[0] on, its parameters from
w[16] on, and what it sees of a packet from w[32] on. The choice of a queue is written to w[56].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dfcmodel.network.manager_events import SEEN_AT, Places, callback_of
from dfcmodel.network.programs import QueuedPacket, SwitchProgram
from responsefn.responses.rule_events import checked_signature

__all__ = ["EVENTS", "ProgramSignature", "program_events_of", "program_signature_of"]

EVENTS = ("on_enqueue", "on_dequeue", "queue_of")
"""Functions of a program, in the order of the table of their addresses."""
CHOICE = SEEN_AT + 24
"""Place in a record of its queue, behind the 24 numbers for which there is room, of what a program sees."""

ProgramSignature = tuple[type[SwitchProgram], tuple[str, ...]]
"""A class of switch programs and the names of its parameters: what its events are made of."""


def program_signature_of(program: SwitchProgram) -> ProgramSignature:
    """Return a program's class and the names of its parameters; errors as for `signature_of`."""
    signature: ProgramSignature = checked_signature(program, tuple(program.numbers()))
    return signature


def program_events_of(signatures: tuple[ProgramSignature, ...]) -> Any:
    """Return the addresses of programs' events: packets come, leave, choose a queue; shape (programs, 3).

    They are 0 of functions that a program inherits from `SwitchProgram`, which change nothing.
    """
    table = np.zeros((max(1, len(signatures)), len(EVENTS)), dtype=np.uint64)
    for row, signature in zip(table, signatures, strict=False):
        for k, event in enumerate(EVENTS[:2]):
            if getattr(signature[0], event) is not getattr(SwitchProgram, event):
                row[k] = callback_of(signature, event, QueuedPacket._fields).address
        if signature[0].queues:
            row[2] = callback_of(
                signature, EVENTS[2], QueuedPacket._fields, where=Places(answer=CHOICE)
            ).address
    return table
