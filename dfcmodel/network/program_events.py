"""Switch programs as data: compiled apart, called by address from the packet engine.

An event applies a program's function to the record of a port, ``w``: its state from w[0] on, its parameters from
w[16] on, and what it sees of a packet from w[32] on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.manager_events import callback_of
from dfcmodel.network.programs import QueuedPacket
from responsefn.responses.rule_events import checked_signature

if TYPE_CHECKING:
    from dfcmodel.network.programs import SwitchProgram

__all__ = ["ProgramSignature", "program_events_of", "program_signature_of"]

ProgramSignature = tuple["type[SwitchProgram]", tuple[str, ...]]
"""A class of switch programs and the names of its parameters: what its events are made of."""


def program_signature_of(program: SwitchProgram) -> ProgramSignature:
    """Return a program's class and the names of its parameters; errors as for `signature_of`."""
    signature: ProgramSignature = checked_signature(program, tuple(program.numbers()))
    return signature


def program_events_of(signatures: tuple[ProgramSignature, ...]) -> Any:
    """Return the addresses of programs' events as packets come and leave, shape (programs, 2)."""
    table = np.zeros((max(1, len(signatures)), 2), dtype=np.uint64)
    for row, signature in zip(table, signatures, strict=False):
        for k, event in enumerate(("on_enqueue", "on_dequeue")):
            row[k] = callback_of(signature, event, QueuedPacket._fields, compiled=True).address
    return table
