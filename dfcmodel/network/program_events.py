"""Switch programs as data: compiled apart, called by address from the packet engine.

An event applies a program's function to the record of a port, ``w``: its state from w[0] on, its parameters from
w[16] on, and what it sees of a packet from w[32] on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

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
    for n, (program, names) in enumerate(signatures):
        for k, event in enumerate(("on_enqueue", "on_dequeue")):
            lines = [
                f"def {event}(w):",
                f"    old = State({places(0, len(program.State._fields))})",
                f"    seen = Packet({places(MAX_STATE + MAX_PARAMETERS, len(QueuedPacket._fields))})",
                f"    new = program(old, Params({places(MAX_STATE, len(names))}), seen)",
                *(f"    w[{i}] = new.{name}" for i, name in enumerate(program.State._fields)),
            ]
            callbacks = build_callbacks(
                {"program": getattr(program, event)},
                {
                    "State": program.State._fields,
                    "Params": names,
                    "Packet": QueuedPacket._fields,
                },
                {event: "\n".join(lines)},
                "void(CPointer(float64))",
            )
            table[n, k] = callbacks[event].address
    return table
