"""How the functions of this package run: as plain Python here, as machine code in the compiled copy."""

from __future__ import annotations

from hopflow.kernels.plain_jit import (
    call_agent,
    call_event,
    call_law,
    call_manager,
    call_on_record,
    calling_entry,
    compiled,
    inlined,
    prefetch,
)

__all__ = [
    "call_agent",
    "call_event",
    "call_law",
    "call_manager",
    "call_on_record",
    "calling_entry",
    "compiled",
    "inlined",
    "prefetch",
]
