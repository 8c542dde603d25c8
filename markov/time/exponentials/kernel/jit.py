"""How the functions of this package run: as plain Python here, as machine code in the compiled copy."""

from __future__ import annotations

from hopflow.kernels.plain_jit import inlined, multiply_add, unaliased_entry

__all__ = ["inlined", "multiply_add", "unaliased_entry"]
