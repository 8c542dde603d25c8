"""How the functions of a compiled package run: `package` replaces its own `jit` by this module."""

from __future__ import annotations

from typing import Any

import numba
import numba.extending
from numba import types

from hopflow.kernels import plain_jit

try:
    from hopflow.kernels.compilers import (
        CalledCompiler,
        CallingCompiler,
        CountingCompiler,
        KernelCompiler,
        PartCompiler,
        UnaliasedCompiler,
    )
except (
    ImportError
):  # a Numba whose inner modules have other names: its own passes, which take longer
    PASSES: dict[str, Any] = {}
    PASSES_OF_PARTS: dict[str, Any] = {}
    PASSES_OF_CALLED: dict[str, Any] = {}
    CALLING: dict[str, Any] = {}
    COUNTING: dict[str, Any] = {}
    UNALIASED: dict[str, Any] = {}
    CALLED_BY: dict[str, Any] = {"cache": True}
else:
    PASSES = {"pipeline_class": KernelCompiler}
    PASSES_OF_PARTS = {"pipeline_class": PartCompiler}
    PASSES_OF_CALLED = {"pipeline_class": CalledCompiler}
    CALLING = {"pipeline_class": CallingCompiler}
    COUNTING = {"pipeline_class": CountingCompiler}
    UNALIASED = {"pipeline_class": UnaliasedCompiler}
    CALLED_BY = {"no_cpython_wrapper": True}  # `hopflow.kernels.entries` calls it

__all__ = plain_jit.__all__  # the same names, compiled

njit: Any = numba.njit  # its stubs lack three of these options
intrinsic: Any = numba.extending.intrinsic
_UniTuple: Any = types.UniTuple  # it has no stubs
_OPTIONS: dict[str, Any] = {
    **PASSES_OF_PARTS,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,  # nothing is allocated: counting references to arguments took 120 to 150 ns a call
}
compiled = njit(**{**_OPTIONS, **PASSES_OF_CALLED})
inlined = njit(forceinline=True, **_OPTIONS)
summing = njit(forceinline=True, fastmath={"reassoc"}, **_OPTIONS)
_OF_PYTHON: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False, **CALLED_BY
}  # fmt: skip
entry = njit(**_OF_PYTHON, **PASSES)
counting_entry = njit(**_OF_PYTHON, **COUNTING)
calling_entry = njit(**_OF_PYTHON, **CALLING)
unaliased_entry = njit(**_OF_PYTHON, **UNALIASED)


def _caller(field: str, given: int) -> Any:
    """Return a function that calls an address with the place of a record's field and ``given`` numbers."""

    def call(typing_context, address, record, *numbers):  # type: ignore[no-untyped-def]  # noqa: ARG001
        signature = types.void(types.uint64, record, *[_floats(given)] * bool(given))

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]  # noqa: ARG001
            from llvmlite import ir

            real, byte = ir.DoubleType(), ir.IntType(8).as_pointer()
            at = ir.Constant(ir.IntType(64), record.offset(field))
            place = builder.gep(builder.bitcast(arguments[1], byte), [at])
            kind = ir.FunctionType(ir.VoidType(), [real.as_pointer(), *[real] * given])
            function = builder.inttoptr(arguments[0], kind.as_pointer())
            values = [each for group in arguments[2:] for each in _unpacked(builder, group, given)]
            builder.call(function, [builder.bitcast(place, real.as_pointer()), *values])
            return context.get_dummy_value()

        return signature, generate

    return call


def _floats(count: int) -> Any:
    """Return the type of the numbers that a called function gets."""
    return _UniTuple(types.float64, count)


def _unpacked(builder: Any, numbers: Any, count: int) -> list[Any]:
    """Return such numbers one by one."""
    return [builder.extract_value(numbers, n) for n in range(count)]


@intrinsic
def _call_event(typing_context, address, flow, *numbers):  # type: ignore[no-untyped-def]
    return _caller("cwnd", 4)(typing_context, address, flow, *numbers)


@intrinsic
def _call_manager(typing_context, address, link):  # type: ignore[no-untyped-def]
    return _caller("drop", 0)(typing_context, address, link)


@intrinsic
def _call_agent(typing_context, address, agent):  # type: ignore[no-untyped-def]
    return _caller("ack", 0)(typing_context, address, agent)


@intrinsic
def _call_law(typing_context, address, link):  # type: ignore[no-untyped-def]
    return _caller("sender", 0)(typing_context, address, link)


@inlined
def call_event(event, flow, now, rtt, acks, marks):  # type: ignore[no-untyped-def]
    _call_event(event, flow, now, rtt, acks, marks)


@inlined
def call_manager(manager, link):  # type: ignore[no-untyped-def]
    _call_manager(manager, link)


@inlined
def call_agent(event, agent):  # type: ignore[no-untyped-def]
    _call_agent(event, agent)


@inlined
def call_law(event, link):  # type: ignore[no-untyped-def]
    _call_law(event, link)


@intrinsic
def _prefetch(typing_context, array, index):  # type: ignore[no-untyped-def]  # noqa: ARG001
    signature = types.void(array, types.intp)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        from llvmlite import ir
        from numba.np.arrayobj import make_array

        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind_of_array: Any = make_array(signature.args[0])  # type: ignore[no-untyped-call]
        first = kind_of_array(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(first, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        how = [ir.Constant(number, n) for n in (0, 3, 1)]  # to read, all levels, data
        builder.call(fetch, [place, *how])
        return context.get_dummy_value()

    return signature, generate


@inlined
def prefetch(array, index):  # type: ignore[no-untyped-def]
    _prefetch(array, index)


@intrinsic
def _multiply_add(typing_context, a, b, c):  # type: ignore[no-untyped-def]  # noqa: ARG001
    signature = types.float64(types.float64, types.float64, types.float64)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]  # noqa: ARG001
        from llvmlite import ir

        real = ir.DoubleType()
        kind = ir.FunctionType(real, [real] * 3)
        return builder.call(builder.module.declare_intrinsic("llvm.fma", [real], kind), arguments)

    return signature, generate


@inlined
def multiply_add(a, b, c):  # type: ignore[no-untyped-def]
    return _multiply_add(a, b, c)


@intrinsic
def _call_on_array(typing_context, function, array, *numbers):  # type: ignore[no-untyped-def]  # noqa: ARG001
    signature = types.void(types.uint64, array, _floats(4))

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        from llvmlite import ir
        from numba.np.arrayobj import make_array

        real = ir.DoubleType()
        kind_of_array: Any = make_array(signature.args[1])  # type: ignore[no-untyped-call]
        first = kind_of_array(context, builder, arguments[1]).data
        kind = ir.FunctionType(ir.VoidType(), [real.as_pointer(), *[real] * 4])
        called = builder.inttoptr(arguments[0], kind.as_pointer())
        builder.call(called, [first, *_unpacked(builder, arguments[2], 4)])
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def _call_on_record(typing_context, function, record, array, *numbers):  # type: ignore[no-untyped-def]  # noqa: ARG001
    signature = types.void(types.uint64, record, array, _floats(4))

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        from llvmlite import ir
        from numba.np.arrayobj import make_array

        real, whole = ir.DoubleType(), ir.IntType(32)
        kind_of_array: Any = make_array(signature.args[2])  # type: ignore[no-untyped-call]
        first = kind_of_array(context, builder, arguments[2]).data
        pointers = [real.as_pointer(), whole.as_pointer(), real.as_pointer()]
        kind = ir.FunctionType(ir.VoidType(), [*pointers, *[real] * 4])
        called = builder.inttoptr(arguments[0], kind.as_pointer())
        places = [builder.bitcast(arguments[1], each) for each in pointers[:2]]
        builder.call(called, [*places, first, *_unpacked(builder, arguments[3], 4)])
        return context.get_dummy_value()

    return signature, generate


@inlined
def call_on_record(function, record, array, *numbers):  # type: ignore[no-untyped-def]
    _call_on_record(function, record, array, *numbers)


@inlined
def call_on_array(function, array, a, b, c, d):  # type: ignore[no-untyped-def]
    _call_on_array(function, array, a, b, c, d)
