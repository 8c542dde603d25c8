"""How the functions of a compiled package run: put in the place of its own `jit` by `package`."""

from __future__ import annotations

from typing import Any

from numba import njit, types
from numba.extending import intrinsic

__all__ = ["call_event", "compiled", "entry", "inlined"]

_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,  # nothing is allocated: counting references to arguments took 120 to 150 ns a call
}
compiled = njit(**_OPTIONS)
inlined = njit(forceinline=True, **_OPTIONS)
entry = njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)


@intrinsic
def _call(typing_context, address, flow, now, acks, marks):  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Call the function at an address with a flow's window, which begins at its field ``cwnd``."""
    signature = types.void(types.uint64, flow, types.float64, types.float64, types.float64)
    offset, rtt = flow.offset("cwnd"), flow.offset("rtt")

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ARG001
        from llvmlite import ir

        where, record, now, acks, marks = arguments
        real, byte = ir.DoubleType(), ir.IntType(8).as_pointer()
        base = builder.bitcast(record, byte)

        def field(at: int) -> Any:
            place = builder.gep(base, [ir.Constant(ir.IntType(64), at)])
            return builder.bitcast(place, real.as_pointer())

        kind = ir.FunctionType(ir.VoidType(), [real.as_pointer(), real, real, real, real])
        event = builder.inttoptr(where, kind.as_pointer())
        builder.call(event, [field(offset), now, builder.load(field(rtt)), acks, marks])
        return context.get_dummy_value()

    return signature, generate


@inlined
def call_event(event, flow, now, acks, marks):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, D103
    _call(event, flow, now, acks, marks)
