"""How the functions of this package run: as plain Python here, as machine code in the compiled copy."""

from __future__ import annotations

from hopflow.kernels.plain_jit import (
    call_event,
    call_manager,
    calling_entry,
    compiled,
    inlined,
)

__all__ = ["call_event", "call_manager", "calling_entry", "compiled", "inlined"]
