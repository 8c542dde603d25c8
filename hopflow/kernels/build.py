"""Compilation of hopflow's own functions, when it is built: ``python -m hopflow.kernels.build``.

This is the only module that uses undocumented names of Numba. It needs one version of Numba (`NUMBA`) and runs in
processes of its own. Nothing that answers questions imports it. Documented ways of compiling had not finished the
packet level's engine, 240 functions, after 550 s. How it differs from `numba.njit`:

1. Numba optimizes and assembles each function with all that it calls: what is called four levels down is optimized five
   times, and only the last result is used. Here the functions that others call stop at LLVM code that is simplified
   once; the function that Python calls links them all and is optimized as a whole.
2. Only those passes run that these functions need, as one: where variables live is analysed once, not after each pass.
3. Indices are never negative, and arguments share no memory, where an engine's mark says so.
4. A function is compiled once for all constants among its arguments.
5. Tuples and arrays remain their members while code is written: an instruction puts them together only where one is
   stored. Functions pass some eighty arrays on, of seven words each. To pack and unpack them were 490,000 of the
   608,000 instructions of the packet level. A variable that is assigned once has no place in memory.

Which functions there are is found by asking: the questions of ``first_uses`` of each package are answered, and every
unit that is loaded for them goes into the archive.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import importlib
import multiprocessing
import os
import pickle
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from hopflow.kernels import engines, marks, native
from hopflow.kernels.arguments import SIGNATURE, named_tuples, wrapper
from hopflow.whole_files import replacing

__all__ = ["NUMBA", "PinnedCompiler", "compile_engine"]

NUMBA = "0.68.1"
"""The version of Numba that this module was written for; also in ``build-system.requires`` and ``constraints.txt``."""
if numba.__version__ != NUMBA:
    raise ImportError(
        f"hopflow's own functions are compiled by Numba {NUMBA}, and {numba.__version__} is installed: "
        f"pip install numba=={NUMBA}"
    )

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import (
    cgutils,
    datamodel,
    interpreter,
    itanium_mangler,
    lowering,
    postproc,
    transforms,
    typed_passes,
    untyped_passes,
)
from numba.core import ir as numba_ir
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, _LowerResult
from numba.core.compiler_machinery import FunctionPass, LoweringPass, PassManager, register_pass
from numba.core.cpu import CPUContext
from numba.core.typed_passes import NativeLowering
from numba.core.types.functions import BaseFunction, Dispatcher
from numba.core.typing.context import Context
from numba.np import arrayobj
from numba.np.numpy_support import as_dtype

PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
)
"""The passes up to types.

Passes for closures, comprehensions, literals, None, expressions of arrays and parallel loops are left out: these
functions contain none of them.
"""
_calling: list[bool] = []
"""Not empty while a function marked `calling_entry` is compiled, with what it calls."""


@contextlib.contextmanager
def _replace_temporarily(owner: Any, name: str, by: Callable[..., Any]) -> Iterator[None]:
    """Replace a method of Numba temporarily; it compiles in one thread at a time."""
    original = owner.__dict__[name]
    setattr(owner, name, by)
    try:
        yield
    finally:
        setattr(owner, name, original)


@register_pass(mutates_CFG=False, analysis_only=False)
class _Types(FunctionPass):
    """Run `PASSES` as one pass."""

    _name = "kernel_types"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        for kind in PASSES:
            kind().run_pass(state)
        return True


class _Aggregate:
    """A tuple or struct as its members; no instruction has put them together.

    Numba's code generator writes `insert_value` for each member of each tuple or array that a function receives, and
    `extract_value` for each member that it passes on.
    """

    def __init__(self, kind: Any, members: Sequence[Any]) -> None:
        self.type = kind
        self.members = members

    def get_reference(self) -> str:
        """Refuse to be an operand: `_store` alone makes one value of the members."""
        raise AssertionError(f"an operand is an aggregate that is no value: {self.type}")


EXTRACT, INSERT, STORE = ir.IRBuilder.extract_value, ir.IRBuilder.insert_value, ir.IRBuilder.store
"""What writes an instruction."""


def _constant_member(value: Any, index: int) -> Any:
    """Return a member of a constant: undefined, zero, or one of its members."""
    if value.constant is None or value.constant is ir.Undefined:
        return ir.Constant(value.type.elements[index], value.constant)
    return value.constant[index]


def _extract(builder: Any, aggregate: Any, index: Any, name: str = "") -> Any:
    """Return a member of an aggregate, without an instruction where it is known."""
    indices = list(index) if isinstance(index, list | tuple) else [index]
    while indices:
        if isinstance(aggregate, _Aggregate):
            aggregate = aggregate.members[indices.pop(0)]
        elif isinstance(aggregate, ir.Constant):
            aggregate = _constant_member(aggregate, indices.pop(0))
        else:
            return EXTRACT(builder, aggregate, indices, name)
    return aggregate


def _insert(builder: Any, aggregate: Any, value: Any, index: Any, name: str = "") -> Any:
    """Return an aggregate with another member."""
    del name
    first, *others = list(index) if isinstance(index, list | tuple) else [index]
    members = [_extract(builder, aggregate, n) for n in range(len(aggregate.type.elements))]
    if others:
        value = _insert(builder, members[first], value, others)
    if value.type != members[first].type:
        raise TypeError(f"member {first} of {aggregate.type} cannot be a {value.type}")
    members[first] = value
    return _Aggregate(aggregate.type, members)


def _as_value(builder: Any, aggregate: Any) -> Any:
    """Return an aggregate as one value, by instructions that put its members together."""
    if not isinstance(aggregate, _Aggregate):
        return aggregate
    value = ir.Constant(aggregate.type, ir.Undefined)
    for n, member in enumerate(aggregate.members):
        value = INSERT(builder, value, _as_value(builder, member), n)
    return value


def _store(builder: Any, value: Any, pointer: Any, align: Any = None) -> Any:
    """Store a value; an aggregate is put together before."""
    return STORE(builder, _as_value(builder, value), pointer, align)


class _Proxy(cgutils.ValueStructProxy):
    """Access to members of a struct; it is written to memory when its address is asked for, or a member is replaced."""

    def __init__(self, context: Any, builder: Any, value: Any = None, ref: Any = None) -> None:
        if value is None or ref is not None or type(self)._make_refs is not _Proxy._make_refs:
            super().__init__(context, builder, value, ref)
            return
        self._context, self._builder = context, builder
        self._datamodel = context.data_model_manager[self._fe_type]
        self._be_type = self._get_be_type(self._datamodel)
        self._initial, self._created_in = value, builder.block

    def __getattr__(self, field: str) -> Any:
        """Return a member, or write the struct to memory."""
        if field not in ("_value", "_outer_ref"):
            return super().__getattr__(field)
        self._outer_ref = self._value = cgutils.alloca_once(self._builder, self._be_type)
        with self._builder.goto_block(self._created_in):  # which is before all that follows
            self._builder.store(self._initial, self._value)
        return self.__dict__[field]

    def __getitem__(self, index: int) -> Any:
        """Return a member."""
        if "_value" in self.__dict__:
            return super().__getitem__(index)
        return self._builder.extract_value(self._initial, index)

    def _getvalue(self) -> Any:
        return super()._getvalue() if "_value" in self.__dict__ else self._initial


@functools.cache
def _item_size(kind: Any) -> int:
    """Return the bytes of an item of an array."""
    return int(as_dtype(kind).itemsize)


def _array(builder: Any, kind: Any, data: Any, lengths: Any, strides: Any = None) -> _Aggregate:
    """Return an array without a count of references; without strides it has no gaps, in the order of its layout."""
    value_type = datamodel.default_manager.lookup(kind).get_value_type()  # type: ignore[attr-defined]
    meminfo, parent, _, _, address, shape, steps = value_type.elements
    size = ir.IntType(64)(_item_size(kind.dtype))
    if strides is None:
        strides = [size]
        for length in lengths[:0:-1] if kind.layout == "C" else lengths[:-1]:
            strides.append(builder.mul(strides[-1], length))
        strides = strides[: len(lengths)][:: -1 if kind.layout == "C" else 1]
    items = functools.reduce(builder.mul, lengths) if lengths else size.type(1)
    nothing = [ir.Constant(meminfo, None), ir.Constant(parent, None)]
    extent = [_Aggregate(shape, lengths), _Aggregate(steps, strides)]
    return _Aggregate(value_type, [*nothing, items, size, builder.bitcast(data, address), *extent])


class _ArrayModel(datamodel.models.ArrayModel):
    """An array without gaps, which functions pass as its address and its lengths."""

    def get_argument_type(self) -> Any:
        """Return the types of what is passed."""
        kinds = super().get_argument_type()
        return kinds[4:6] if self._fe_type.layout == "C" else kinds

    def as_argument(self, builder: Any, value: Any) -> Any:
        """Return what is passed."""
        passed = super().as_argument(builder, value)
        return passed[4:6] if self._fe_type.layout == "C" else passed

    def from_argument(self, builder: Any, value: Any) -> Any:
        """Return the array."""
        if self._fe_type.layout != "C":
            return super().from_argument(builder, value)
        return _array(builder, self._fe_type, *value)


class _Lower(lowering.Lower):
    """Lowering in which a variable that is assigned once remains a value."""

    def _find_singly_assigned_variable(self) -> None:
        """Find the variables whose one assignment is on all ways to their uses."""
        super()._find_singly_assigned_variable()
        blocks = self.func_ir.blocks
        dominators = compute_cfg_from_blocks(blocks).dominators()
        assignments: dict[str, list[int]] = {}
        uses: dict[str, set[int]] = {}
        never = -1  # the label of a use that no assignment precedes
        for label in sorted(blocks):
            for statement in blocks[label].body:
                if isinstance(statement, numba_ir.Del):
                    uses.setdefault(statement.value, set()).add(label)
                    continue
                assigned = statement.target.name if isinstance(statement, numba_ir.Assign) else None
                names = [variable.name for variable in statement.list_vars()]
                if assigned:
                    names.remove(assigned)
                    assignments.setdefault(assigned, []).append(label)
                    if assigned in names or assigned in uses:
                        uses.setdefault(assigned, set()).add(never)
                for name in names:
                    uses.setdefault(name, set()).add(label)
        self._singly_assigned_vars |= {
            name
            for name, labels in assignments.items()
            if len(labels) == 1 and all(labels[0] <= use and labels[0] in dominators[use] for use in uses.get(name, ()))
        }


class _Lowering(NativeLowering):
    """Numba's lowering with `_Lower`."""

    @property
    def lowering_class(self) -> Any:
        """Return the class that lowers."""
        return _Lower


class _Part(JITCodeLibrary):
    """The code of a function that is optimized and assembled only within its callers."""

    called = True
    """Whether it may remain a call; the function that the wrapper calls is inlined there."""

    def finalize(self) -> None:
        """Leave the code as it is, without that of what it calls."""
        self._raise_if_finalized()
        self._finalized = True

    def _optimize_functions(self, module: Any) -> None:
        """Simplify the code, which makes what the callers optimize smaller; -O1, once per function."""
        module.data_layout = self._codegen._data_layout
        builder = self._codegen._pass_builder(opt=1)
        passes = builder.getFunctionPassManager()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _get_module_for_linking(self) -> Any:
        """Return the code to be linked into callers; not a copy, since it has no other use."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = "linkonce_odr"
        return self._final_module


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerPart(LoweringPass):
    """Lower a function to LLVM code that its callers link, with that of all it calls."""

    _name = "lower_part"
    called = True

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        name = state.func_id.func_qualname
        part = state.library = _Part(state.targetctx.codegen(), name)
        part.called = self.called
        part.enable_object_caching()
        state.flags.no_compile = True
        _Lowering().run_pass(state)
        part.finalize()
        lowered = state["cr"]
        nowhere = 0  # the address of a wrapper for Python, which it has not
        key = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, "", nowhere, lowered.env, (part,))
        linked = list(dict.fromkeys([part, *part._linking_libraries]))  # callers before what they call
        state.targetctx.insert_user_function(key, lowered.fndesc, linked)
        state["cr"] = _LowerResult(lowered.fndesc, lowered.call_helper, cfunc=key, env=lowered.env)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerRun(_LowerPart):
    """Lower the function ``run`` of an engine, which its wrapper alone calls."""

    _name = "lower_run"
    called = False


class _Whole(JITCodeLibrary):
    """The code of a function that is called by address, with all that it calls; it is not assembled here."""

    calls = False
    """Whether functions stay calls that are not marked as inlined. LLVM then passes to a function those words of arrays
    that it reads: some tens of several hundred."""

    def finalize(self) -> None:
        """Link what is called, and optimize."""
        self._parts = {
            function.name
            for library in self._linking_libraries
            if isinstance(library, _Part) and library.called
            for function in library._final_module.functions
            if not function.is_declaration
        }
        super().finalize()

    def _optimize_functions(self, module: Any) -> None:
        """Leave its own functions, which are short, to the optimization of the whole."""
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Hide all functions but the one of the C signature, so that no inlined one stays beside its copy; optimize."""
        for function in self._final_module.functions:
            if function.is_declaration or function.name.startswith("cfunc."):
                continue
            function.linkage = "internal"
            is_kept = self.calls and function.name in self._parts
            if is_kept and b"alwaysinline" not in b" ".join(function.attributes):
                function.add_function_attribute("noinline")
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        """Check that the code holds for other processes; leave it as it is."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        if self._dynamic_globals:
            raise NotImplementedError(f"{self.name}: addresses of this process are in the code")
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        """Return 0, once the code is complete: nobody calls it here."""
        self._ensure_finalized()
        return 0


class _CallingWhole(_Whole):
    """The same of a function whose mark keeps calls."""

    calls = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerWhole(LoweringPass):
    """Lower a function that is called by address."""

    _name = "lower_whole"
    library: Any = _Whole

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        return bool(_Lowering().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerCallingWhole(_LowerWhole):
    """Lower the same with calls."""

    _name = "lower_calling_whole"
    library = _CallingWhole


class PartCompiler(Compiler):
    """Compile a function that others call."""

    lowering: Any = _LowerPart

    def define_pipelines(self) -> list[PassManager]:
        """Return the passes."""
        manager = PassManager("kernel")
        for kind in (
            _Types,
            typed_passes.IRLegalization,
            self.lowering,
            typed_passes.NoPythonBackend,
        ):
            manager.add_pass(kind, kind.__name__)
        manager.finalize()
        return [manager]


class CallbackCompiler(PartCompiler):
    """Compile a function that is called by address."""

    lowering = _LowerWhole


class CallingCallbackCompiler(PartCompiler):
    """Compile the wrapper of a function whose mark keeps calls."""

    lowering = _LowerCallingWhole


class CalledCompiler(PartCompiler):
    """Compile a function that stays a call within `calling_entry`.

    Otherwise it inherits from the function that calls it first whether it is inlined.
    """

    def compile_extra(self, func: Any) -> Any:
        """Compile a function with all that it calls."""
        if _calling:
            self.state.flags.forceinline = False
            self.state.flags.noalias = True
        return super().compile_extra(func)


class RunCompiler(PartCompiler):
    """Compile the function ``run`` of an engine."""

    lowering = _LowerRun


class UnaliasedCompiler(RunCompiler):
    """Compile ``run`` with all that it calls: indices are never negative, and arguments share no memory.

    The test of signs took a third of the time of a loop over records. Fields of records that are in registers stay
    there when another array is written.
    """

    def compile_extra(self, func: Any) -> Any:
        """Compile a function with all that it calls."""
        self.state.flags.noalias = True
        with _replace_temporarily(arrayobj, "fix_integer_index", _index_as_given):
            return super().compile_extra(func)


class CallingCompiler(UnaliasedCompiler):
    """Compile the same with calls, and each called function once for all constants among its arguments.

    Of the loop of the packet level, a part with the arrays that it needs takes 0.9 of the time that it takes within the
    whole, which has more addresses than registers. Of its functions 288 were compiled, 239 of them different ones.
    """

    def compile_extra(self, func: Any) -> Any:
        """Compile a function with all that it calls."""
        original = Dispatcher.__dict__["get_call_type"]

        def get_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
            kws = {name: types.unliteral(kind) for name, kind in dict(kws).items()}
            return original(function, context, tuple(map(types.unliteral, args)), kws)

        _calling.append(True)
        try:
            with _replace_temporarily(Dispatcher, "get_call_type", get_call_type):
                return super().compile_extra(func)
        finally:
            _calling.pop()


def _index_as_given(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """Return an index of an array; a negative one does not count from the end."""
    return context.cast(builder, index, kind, types.intp)


class PinnedCompiler(native.Compiler):
    """Compilation with fewer passes, of functions that allocate nothing.

    Parameters
    ----------
    folders
        Folders named by levels, to which each unit is written for the level.
    """

    options = {**native.Compiler.options, "_nrt": False, "pipeline_class": PartCompiler}  # noqa: RUF012

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.folders = folders
        self.pipeline: type[PartCompiler] = CallbackCompiler

    def names(self) -> dict[str, Any]:
        """Return the names that source may use.

        They replace `carray` of Numba, which takes as long to compile as many functions, for each dtype.
        """
        return super().names() | {
            "carray": _array_at("C"),
            "farray": _array_at("F"),
            "strided": _strided_array(),
        }

    def callback(self, function: Callable[..., Any], signature: str) -> Any:
        """Return a function of this C signature, compiled."""
        return numba.cfunc(signature, error_model="numpy", pipeline_class=self.pipeline)(function)

    def module(self, callback: Any) -> Any:
        """Return the LLVM module of such a function, optimized."""
        return callback._library._final_module

    def unit(self, name: str, parts: Any) -> native.Unit:
        """Return functions as a unit for this machine, and write it for each level."""
        units = {folder.name: native.assemble(parts, folder.name) for folder in self.folders}
        for folder in self.folders:
            with replacing(folder / name) as file:
                file.write_bytes(native.encode_unit(units[folder.name]))
        return units.get(native.level()) or super().unit(name, parts)


def _array_at(layout: str) -> Any:
    """Return an intrinsic that makes a contiguous array of an address, lengths and a dtype."""

    @intrinsic
    def array_at(context, address, shape, dtype):
        kind = types.Array(dtype.dtype, len(shape), layout)  # type: ignore[call-overload]

        def generate(context, builder, signature, arguments):
            return _array(builder, kind, arguments[0], cgutils.unpack_tuple(builder, arguments[1]))

        return kind(address, shape, dtype), generate

    return array_at


def _strided_array() -> Any:
    """Return an intrinsic that makes an array of an address, lengths, strides and a dtype."""

    @intrinsic
    def strided_array(context, address, shape, strides, dtype):
        kind = types.Array(dtype.dtype, len(shape), "A")

        def generate(context, builder, signature, arguments):
            lengths, steps = (cgutils.unpack_tuple(builder, values) for values in arguments[1:3])
            return _array(builder, kind, arguments[0], lengths, steps)

        return kind(address, shape, strides, dtype), generate

    return strided_array


OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,
}
"""Of functions of engines. Nothing is allocated: counting references to arguments took 120 to 150 ns a call."""
MARKS: dict[str, dict[str, Any]] = {
    "compiled": {"pipeline_class": CalledCompiler},
    "inlined": {"pipeline_class": PartCompiler, "forceinline": True},
    "summing": {"pipeline_class": PartCompiler, "forceinline": True, "fastmath": {"reassoc"}},
    "entry": {"pipeline_class": RunCompiler},
    "unaliased_entry": {"pipeline_class": UnaliasedCompiler},
    "calling_entry": {"pipeline_class": CallingCompiler},
}
"""What each mark adds to `OPTIONS`."""


def decorators() -> dict[str, Any]:
    """Return by name what takes the place of `hopflow.kernels.marks` where an engine is compiled."""

    @intrinsic
    def call_event(context, address, flow, now, rtt, acks, marks):
        return _call(address, (flow, now, rtt, acks, marks), "cwnd")

    @intrinsic
    def call_manager(context, address, link):
        return _call(address, (link,), "drop")

    @intrinsic
    def call_agent(context, address, agent):
        return _call(address, (agent,), "ack")

    @intrinsic
    def call_law(context, address, link):
        return _call(address, (link,), "sender")

    @intrinsic
    def call_native(context, address, state, rule):
        def generate(context, builder, signature, arguments):
            record = builder.bitcast(arguments[2], BYTES)
            event, control = (builder.gep(record, [ir.IntType(64)(rule.offset(name))]) for name in ("now", "window"))
            values = [builder.inttoptr(arguments[1], BYTES), event, control]
            kind = ir.FunctionType(ir.VoidType(), [BYTES] * 3)
            builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), values)
            return context.get_dummy_value()

        return types.void(types.uint64, types.uint64, rule), generate

    @intrinsic
    def call_on_array(context, address, array, a, b, c, d):
        return _call(address, (array, a, b, c, d))

    @intrinsic
    def call_with_record(context, address, reals, wholes, array, a, b, c, d):
        return _call(address, (reals, wholes, array, a, b, c, d))

    @intrinsic
    def prefetch(context, array, index):
        def generate(context, builder, signature, arguments):
            number = ir.IntType(32)
            first = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            place = builder.bitcast(builder.gep(first, [arguments[1]]), BYTES)
            kind = ir.FunctionType(ir.VoidType(), [BYTES, number, number, number])
            fetch = builder.module.declare_intrinsic("llvm.prefetch", [BYTES], kind)
            builder.call(fetch, [place, number(0), number(3), number(1)])  # to read, into all levels, data
            return context.get_dummy_value()

        return types.void(array, types.intp), generate

    @intrinsic
    def multiply_add(context, a, b, c):
        def generate(context, builder, signature, arguments):
            kind = ir.FunctionType(REAL, [REAL] * 3)
            return builder.call(builder.module.declare_intrinsic("llvm.fma", [REAL], kind), arguments)

        return types.float64(types.float64, types.float64, types.float64), generate

    call: Any = call_with_record
    found: dict[str, Any] = {mark: numba.njit(**OPTIONS, **more) for mark, more in MARKS.items()}

    @found["inlined"]
    def call_on_record(function, record, array, a, b, c, d):
        call(function, record, record, array, a, b, c, d)

    functions: tuple[Any, ...] = (
        call_event,
        call_manager,
        call_agent,
        call_law,
        call_native,
        call_on_array,
        call_on_record,
        prefetch,
        multiply_add,
    )
    return found | {function.__name__: function for function in functions}


def _allocate(builder: Any, kind: Any, size: Any = None, name: str = "", zfill: bool = False) -> Any:
    """Return memory of the present function, which is allocated once; filled with zeros where it is asked for."""
    with builder.goto_entry_block():
        count = ir.Constant(ir.IntType(64), size) if isinstance(size, int) else size
        memory = builder.alloca(kind, size=count, name=name)
    if zfill:
        builder.store(kind(None), memory)
    return memory


def quicken(without: Collection[str] = ()) -> None:
    """Replace what takes Numba long, in this process, except for names in ``without`` (see `replacements`)."""
    for key, (owner, name, by) in replacements().items():
        if key not in without:
            setattr(owner, name, by)
    datamodel.default_manager.register(types.Array, _ArrayModel)  # type: ignore[attr-defined]


def replacements() -> dict[str, tuple[Any, str, Any]]:
    """Return what replaces Numba's and llvmlite's: by key the owner, the name there, and the replacement.

    1. Tuples, arrays and structs are `_Aggregate`; functions pass arrays as `_ArrayModel` says.
    2. Types of operations on numbers and of attributes are kept. Numba searches all definitions of an operator for each
       operation, a tenth of the time of its front end.
    3. Where variables live is found when it is read; what only generators and ``with`` statements need is left out.
    4. The function of a C signature is that of `_wrap`.
    5. Names of functions have digests of the types of their arguments: the name of each field of a record made them
       13 kB long, and nine tenths of an object file.

    Each is worth more than a second of the build, or the others need it; ``docs/compilation.md`` has the figures.
    """
    resolve, described = BaseFunction.get_call_type, itanium_mangler.mangle_args
    resolved: dict[Any, Any] = {}

    def get_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws or not all(isinstance(kind, types.Number | types.Boolean) for kind in args):
            return resolve(function, context, args, kws)
        key = function, args
        if key not in resolved:
            resolved[key] = resolve(function, context, args, kws)
        return resolved[key]

    @functools.cache
    def digest_of(kinds: tuple[Any, ...]) -> str:
        return "h" + native.digest(described(kinds))

    def process(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        function = processor.func_ir
        function.blocks = transforms.canonicalize_cfg(function.blocks)
        function.variable_lifetime = postproc.VariableLifetime(function.blocks)
        function.generator_info = None
        if emit_dels:
            processor._insert_var_dels(extend_lifetimes=extend_lifetimes)

    replaced: tuple[tuple[str, Any, str, Any], ...] = (
        ("cgutils", cgutils, "ValueStructProxy", _Proxy),
        ("cgutils", cgutils, "alloca_once", _allocate),
        ("PostProcessor", postproc.PostProcessor, "run", process),
        ("interpreter", interpreter, "peep_hole_delete_with_exit", lambda function: function),
        ("CPUContext", CPUContext, "create_cfunc_wrapper", _wrap),
        ("Context", Context, "find_matching_getattr_template", functools.cache(Context.find_matching_getattr_template)),
        ("IRBuilder", ir.IRBuilder, "extract_value", _extract),
        ("IRBuilder", ir.IRBuilder, "insert_value", _insert),
        ("IRBuilder", ir.IRBuilder, "store", _store),
        ("itanium_mangler", itanium_mangler, "mangle_args", lambda kinds: digest_of(tuple(kinds))),
        ("BaseFunction", BaseFunction, "get_call_type", get_call_type),
    )
    return {f"{part}.{name}": (owner, name, by) for part, owner, name, by in replaced}


def _wrap(context: Any, library: Any, called: Any, env: Any, call_helper: Any) -> None:
    """Add the function of the C signature, into which the called one is inlined; Numba's keeps the call.

    After an exception it calls the function that sets the flag of `hopflow.kernels.native`, and prints nothing.
    """
    del env, call_helper
    module = context.create_module("cfunc_wrapper")
    function_type = context.call_conv.get_function_type(called.restype, called.argtypes)
    callee = ir.Function(module, function_type, called.llvm_func_name)
    kinds = [context.get_value_type(kind) for kind in called.argtypes]
    function = ir.FunctionType(context.get_value_type(called.restype), kinds)
    function = ir.Function(module, function, called.llvm_cfunc_wrapper_name)
    builder = ir.IRBuilder(function.append_basic_block())
    status, result = context.call_conv.call_function(builder, callee, called.restype, called.argtypes, function.args)
    with builder.if_then(status.is_error, likely=False):
        context.get_python_api(builder).gil_ensure()
    builder.ret(result)
    library.add_ir_module(module)


REAL, BYTES = ir.DoubleType(), ir.IntType(8).as_pointer()


def _call(address: Any, kinds: tuple[Any, ...], field: str = "") -> Any:
    """Return signature and code of a call of an address.

    The arguments are records from a field on, first elements of arrays, and floats.
    """
    signature = types.void(
        types.uint64,
        *(k if isinstance(k, types.Record | types.Array) else types.float64 for k in kinds),
    )

    def generate(context, builder, signature, arguments):
        values = []
        for kind, value in zip(signature.args[1:], arguments[1:], strict=True):
            if isinstance(kind, types.Record):
                offset = ir.IntType(64)(kind.offset(field) if field else 0)
                value = builder.gep(builder.bitcast(value, BYTES), [offset])
            elif isinstance(kind, types.Array):
                value = builder.bitcast(context.make_array(kind)(context, builder, value).data, BYTES)
            values.append(value)
        kind = ir.FunctionType(ir.VoidType(), [value.type for value in values])
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), values)
        return context.get_dummy_value()

    del address
    return signature, generate


def compile_engine(package: str, module: str, request: bytes) -> native.Unit:
    """Return the unit of an engine, of which ``request`` has the name and the kinds of arguments, pickled.

    The process must not have imported it, and can compile no other one.

    Raises
    ------
    ImportError
        Where its source is not that of which the name is the digest.
    """
    for (
        mark,
        decorator,
    ) in decorators().items():  # before the engine, whose classes are among the kinds, is imported
        setattr(marks, mark, decorator)
    name, kinds = pickle.loads(request)
    run = importlib.import_module(f"{package}.{module}").run
    if engines.unit_name(package, module, kinds) != name:
        raise ImportError(f"{package} was edited after the process that asks for it had started: start that again")
    calling = run._compiler.pipeline_class is CallingCompiler
    compiler = _compiler()
    compiler.pipeline = CallingCallbackCompiler if calling else CallbackCompiler
    text, dtypes = wrapper("run", kinds)
    given = {"run": run, **dtypes, **named_tuples(kinds)}
    return compiler.compile(name, text, {"call_with_words": SIGNATURE}, given)


USERS = ("dfcmodel", "responsefn", "markov")
"""Packages with functions that are compiled."""
FIRST = ("packets", "fluid", "PFC in a fabric")
"""The questions whose engines take longest to compile: they are asked first, the others while they are compiled."""


def questions() -> dict[str, tuple[str, str]]:
    """Return package and name of each question, by both, in the order in which they are asked."""
    found = {
        f"{package}: {name}": (package, name)
        for package in USERS
        for name in importlib.import_module(f"{package}.first_uses").short_calls()
    }
    late = [key for key, (package, name) in found.items() if package == "dfcmodel" and name not in FIRST]
    order = [
        *(f"dfcmodel: {name}" for name in FIRST),
        *(key for key in found if key not in late),
        *late,
    ]
    return {key: found[key] for key in dict.fromkeys(order)}


def build_archives(levels: tuple[str, ...], jobs: int) -> None:
    """Answer all questions in some processes, and write an archive of the units that they need for each level."""
    source = _source_digest()
    if all(_is_current(native.ARCHIVES / f"{level}.zip", source) for level in levels):
        return
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {
            FOLDER: scratch,
            "HOPFLOW_CACHE_DIR": scratch,
            "NUMBA_CPU_NAME": processor(levels[0], native.level()),
            "NUMBA_CPU_FEATURES": "",
        }
        for level in levels:
            Path(scratch, level).mkdir()
        context = multiprocessing.get_context("fork" if CAN_FORK else "spawn")
        with ProcessPoolExecutor(jobs, context, _begin) as pool:
            asked = pool.submit(questions).result()  # there: nothing is imported here, where processes are forked
            futures = {pool.submit(_answer, *question): name for name, question in asked.items()}
            for n, future in enumerate(as_completed(futures), 1):
                seconds = future.result()
                about = f"[{n}/{len(futures)}] {futures[future]}: {seconds:.1f} s"
                print(f"compiled {about}", file=sys.stderr, flush=True)
        native.ARCHIVES.mkdir(exist_ok=True)
        for level in levels:
            _write_archive(native.ARCHIVES / f"{level}.zip", Path(scratch, level), source)


def processor(level: str, own: str) -> str:
    """Return the processor for which Numba writes code for a level on a machine of level ``own``.

    Numba knows the processors of this machine's architecture alone; those of x86-64-v2 have vectors of 128 bits, as
    those of arm64 have.
    """
    if not own.startswith("x86-64"):
        return "generic"
    return level if level.startswith("x86-64") else "x86-64-v2"


def _source_digest() -> bytes:
    """Return a digest of all that archives depend on: the source of the packages, and the versions of the compiler."""
    top = Path(__file__).parents[2]
    files = sorted(path for name in ("hopflow", *USERS) for path in (top / name).rglob("*.py"))
    texts = [f"{file.relative_to(top)}\0{file.read_text(encoding='utf-8')}" for file in files]
    return native.digest(NUMBA, *texts).encode()


def _is_current(path: Path, source: bytes) -> bool:
    """Return whether an archive was made of this source."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.comment == source
    except (OSError, zipfile.BadZipFile):
        return False


CAN_FORK = sys.platform == "linux"
"""Whether processes are forked from one that has imported Numba, which takes a second, and that `quicken` has changed.

Libraries of macOS may not be used in forked processes, and Windows has none.
"""
FOLDER = "HOPFLOW_BUILD"
"""Environment variable: the folder of a build, with a folder of units for each level."""


def _compiler() -> PinnedCompiler:
    """Return the compiler for the levels that are being built, or for this machine alone."""
    folder = os.environ.get(FOLDER)
    return PinnedCompiler(
        tuple(sorted(Path(folder).glob("*86*")) + sorted(Path(folder).glob("aarch64"))) if folder else ()
    )


def _begin() -> None:
    """Prepare a process that answers questions, and one that compiles engines for it, before any is imported."""
    vars(numba.config).update(CPU_NAME=os.environ["NUMBA_CPU_NAME"], CPU_FEATURES="")
    native.compiler, native.ARCHIVES = _compiler(), Path(os.environ[FOLDER], "none")
    if not CAN_FORK:
        gc.disable()
        quicken()
        return
    connection, requests = multiprocessing.Pipe()
    if os.fork() == 0:
        try:
            connection.close()
            _compile_engines(requests)
        finally:
            os._exit(0)

    def ask(name: str, package: str, module: str, kinds: tuple[Any, ...]) -> native.Unit:
        connection.send((package, module, pickle.dumps((name, kinds))))
        unit: native.Unit | None = connection.recv()
        if unit is None:
            raise ImportError(f"{package} was not compiled")
        return unit

    engines.compile_engine = ask


def _compile_engines(requests: Any) -> None:
    """Answer requests for engines until nobody is left to ask, each in a process forked from this one."""
    with contextlib.suppress(EOFError):
        while True:
            request = requests.recv()
            child = os.fork()
            if child == 0:
                try:
                    requests.send(compile_engine(*request))
                except Exception:  # noqa: BLE001
                    traceback.print_exc()
                    os._exit(1)
                os._exit(0)
            if os.waitpid(child, 0)[1] != 0:
                requests.send(None)


def _answer(package: str, name: str) -> float:
    """Answer a question; return the time in s, with that of the engines that were compiled for it."""
    start = time.perf_counter()
    importlib.import_module(f"{package}.first_uses").short_calls()[name]()
    return time.perf_counter() - start


def _write_archive(path: Path, folder: Path, source: bytes) -> None:
    """Write the files of a folder to an archive, with the digest of the source that they come from."""
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for unit in sorted(folder.iterdir()):
            archive.writestr(zipfile.ZipInfo(unit.name), unit.read_bytes(), zipfile.ZIP_DEFLATED)
        archive.comment = source


def main() -> None:
    """Compile an engine, or all units.

    With the arguments ``engine PACKAGE MODULE`` the name and kinds of the engine's unit come from standard input.
    """
    gc.disable()  # collections took a fifth of the time: of syntax trees and LLVM code, little can be freed
    quicken()
    if sys.argv[1:2] == ["engine"]:
        package, module = sys.argv[2:]
        unit = compile_engine(package, module, sys.stdin.buffer.read())
        sys.stdout.buffer.write(native.encode_unit(unit))
        return
    parser = argparse.ArgumentParser(
        prog="python -m hopflow.kernels.build", description="Compile hopflow's own functions."
    )
    own = native.level()
    parser.add_argument("levels", nargs="*", default=[own], help=f"x86-64-v3, x86-64-v2, aarch64; default: {own}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes; default: %(default)s")
    options = parser.parse_args()
    build_archives(tuple(options.levels), options.jobs)


if __name__ == "__main__":
    main()
