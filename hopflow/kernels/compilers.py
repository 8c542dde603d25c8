"""How Numba compiles the functions of a kernel: each typed and lowered once, all optimised together once.

Numba optimises and assembles each function with all that it calls: what is called four levels down is
optimised five times, and only the last result is used. Here the functions that others call stop at
intermediate code, simplified and no more; the function that Python calls links them all and is optimised
as a whole. No passes run but those that kernels need. The machine code is as fast, the results equal bit for bit.

What is replaced of Numba's own, while a kernel is compiled, buys run time (indices without a test of their signs) or lets
machine code be loaded without Numba: the calls that take and release the interpreter's lock, and `_without_literals`, without
which the machine code of the packet kernel is not loaded.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from llvmlite import binding, ir
from numba import _dynfunc, types  # type: ignore[attr-defined]
from numba.core import typed_passes, untyped_passes
from numba.core.codegen import CPUCodegen, CPUCodeLibrary, JITCodeLibrary
from numba.core.compiler import Compiler, _LowerResult
from numba.core.compiler_machinery import FunctionPass, LoweringPass, PassManager, register_pass
from numba.core.pythonapi import PythonAPI
from numba.core.typed_passes import NativeLowering
from numba.core.types.functions import Dispatcher
from numba.np import arrayobj

from hopflow.kernels.machine_code import load
from hopflow.kernels.object_arguments import PACKED, add_packed

__all__ = [
    "CallbackCompiler",
    "CalledCompiler",
    "CallingCompiler",
    "CountingCompiler",
    "KernelCompiler",
    "PartCompiler",
    "UnaliasedCompiler",
]

BEFORE = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
)
"""The passes of Numba up to types, without those for closures, comprehensions, literals, None, arrays
in expressions and parallel loops, none of which the functions of a kernel package contain."""
for _owner, _name in (
    (PythonAPI, "gil_ensure"),
    (PythonAPI, "gil_release"),
    (JITCodeLibrary, "get_pointer_to_function"),
    (CPUCodeLibrary, "_finalize_final_module"),
    (CPUCodegen, "_pass_builder"),
    (arrayobj, "fix_integer_index"),
    (Dispatcher, "get_call_type"),
):
    if _name not in _owner.__dict__:
        raise ImportError(f"this Numba has no {_owner.__name__}.{_name}")


@contextlib.contextmanager
def _replaced(owner: Any, name: str, by: Callable[..., Any]) -> Iterator[None]:
    """Let a method of Numba be another one; it compiles in one thread at a time."""
    plain = owner.__dict__[name]
    setattr(owner, name, by)
    try:
        yield
    finally:
        setattr(owner, name, plain)


_calls: list[bool] = []
"""Not empty while `CallingCompiler` compiles a function, with what it calls."""


@register_pass(mutates_CFG=False, analysis_only=False)
class _Types(FunctionPass):
    """Do `BEFORE` as one pass: where variables live and die is analysed once, not after each."""

    _name = "kernel_types"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        for each in BEFORE:
            each().run_pass(state)
        return True


class _Part(JITCodeLibrary):
    """The code of a function that is optimised and assembled only within its callers."""

    def finalize(self) -> None:
        """Leave the code as it is, without that of what it calls."""
        self._raise_if_finalized()
        self._finalized = True

    def _optimize_functions(self, module: Any) -> None:
        """Simplify the code, which makes what the callers optimise smaller; -O1, once per function."""
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
    """Lower a function to intermediate code that its callers link, with that of all it calls."""

    _name = "lower_part"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        name = state.func_id.func_qualname
        part = state.library = _Part(state.targetctx.codegen(), name)
        part.enable_object_caching()
        state.flags.no_compile = True
        NativeLowering().run_pass(state)
        part.finalize()
        lowered = state["cr"]
        nowhere = 0  # the address of a wrapper for Python, which it has not
        key = _dynfunc.make_function(
            lowered.fndesc.lookup_module(), name, "", nowhere, lowered.env, (part,)
        )
        linked = list(
            dict.fromkeys([part, *part._linking_libraries])
        )  # callers before what they call
        state.targetctx.insert_user_function(key, lowered.fndesc, linked)
        state["cr"] = _LowerResult(lowered.fndesc, lowered.call_helper, cfunc=key, env=lowered.env)
        return True


class Code(NamedTuple):
    """Machine code that Python calls: an object file, its symbol, and Numba's name of the type that it returns."""

    data: bytes
    symbol: str
    returned: str


class _Assembled(JITCodeLibrary):
    """Code that is assembled to an object file, which `hopflow.kernels.machine_code` loads in place of Numba."""

    code: Code | None = None
    data = b""

    def _finalize_final_module(self) -> None:
        """Assemble."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        if self._dynamic_globals:
            raise NotImplementedError(f"{self.name}: addresses of this process are in the code")
        for function in self._final_module.functions:  # another file may have one of this name
            if not (function.is_declaration or function.name.startswith((PACKED, "cfunc."))):
                function.linkage = "internal"
        self.data = self._codegen._tm.emit_object(self._final_module)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function."""
        self._ensure_finalized()
        return load([self.data], [name])[0]


class _Whole(_Assembled):
    """The code of a function that Python calls, which calls what is not marked as inlined, and nothing else does.

    LLVM then passes to a function those words of arrays that it reads: some tens of several hundred.
    """

    def finalize(self) -> None:
        """Link what is called, optimise and assemble."""
        self._parts = {
            each.name
            for library in self._linking_libraries
            if isinstance(library, _Part)
            for each in library._final_module.functions
            if not each.is_declaration
        }
        super().finalize()

    def _optimize_final_module(self) -> None:
        """Hide the functions from other modules, keep calls of them, and optimise."""
        for function in self._final_module.functions:
            if function.is_declaration or function.name not in self._parts:
                continue
            function.linkage = "internal"
            if b"alwaysinline" not in b" ".join(function.attributes):
                function.add_function_attribute("noinline")
        super()._optimize_final_module()


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerEntry(LoweringPass):
    """Lower the function that Python calls, and assemble it with what passes its arguments."""

    _name = "lower_entry"
    library: Any = _Assembled

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        name = state.func_id.func_qualname
        library = state.library = self.library(state.targetctx.codegen(), name)
        state.flags.no_compile = True
        NativeLowering().run_pass(state)
        lowered = state["cr"]
        if lowered.env.consts:
            raise NotImplementedError(f"{name}: it needs objects of Python")
        symbol = add_packed(state.targetctx, library, lowered.fndesc)
        library.finalize()
        library.code = Code(library.data, symbol, str(types.unliteral(lowered.fndesc.restype)))
        nowhere = 0  # the address of a wrapper for Python, which it has not
        key = _dynfunc.make_function(
            lowered.fndesc.lookup_module(), name, "", nowhere, lowered.env, (library,)
        )
        state["cr"] = _LowerResult(lowered.fndesc, lowered.call_helper, cfunc=key, env=lowered.env)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerWhole(_LowerEntry):
    """Lower the function that Python calls, with calls of those that it does not inline."""

    _name = "lower_whole"
    library = _Whole


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerCallback(LoweringPass):
    """Lower a function that machine code calls by its address."""

    _name = "lower_callback"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = _Assembled(state.targetctx.codegen(), state.func_id.func_qualname)
        with (
            _replaced(PythonAPI, "gil_ensure", _ensure_gil),
            _replaced(PythonAPI, "gil_release", _release_gil),
        ):
            return bool(NativeLowering().run_pass(state))


def _ensure_gil(api: Any) -> Any:
    """Take the lock of the interpreter; return the state before. Numba calls a function of its own, which does the same."""
    state = ir.IntType(32)
    return api.builder.call(api._get_function(ir.FunctionType(state, []), "PyGILState_Ensure"), [])


def _release_gil(api: Any, before: Any) -> None:
    """Let go of the lock of the interpreter."""
    kind = ir.FunctionType(ir.VoidType(), [before.type])
    api.builder.call(api._get_function(kind, "PyGILState_Release"), [before])


class KernelCompiler(Compiler):
    """Compile the function of a kernel package that Python calls."""

    lowering: Any = _LowerEntry

    def define_pipelines(self) -> list[PassManager]:
        """Return the passes."""
        manager = PassManager("kernel")
        for each in (
            _Types, typed_passes.IRLegalization, self.lowering, typed_passes.NoPythonBackend,
        ):  # fmt: skip
            manager.add_pass(each, each.__name__)
        manager.finalize()
        return [manager]


class PartCompiler(KernelCompiler):
    """Compile a function of a kernel package that others call."""

    lowering = _LowerPart


class CallbackCompiler(KernelCompiler):
    """Compile a function that machine code calls by its address."""

    lowering = _LowerCallback


class CalledCompiler(PartCompiler):
    """Compile a function that is called, not inlined, where the function that Python calls says so.

    Otherwise it inherits from the function that calls it first whether it is inlined.
    """

    def compile_extra(self, func: Any) -> Any:
        """Compile a function with all that it calls."""
        if _calls:
            self.state.flags.forceinline = False
            self.state.flags.noalias = True
        return super().compile_extra(func)


def _as_it_is(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:  # noqa: ARG001
    """Return an index of an array; one below 0 does not count from the end."""
    return context.cast(builder, index, kind, types.intp)


def _without_literals(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``plain``, the type of what a compiled function returns, for constants as for other numbers.

    Numba compiles a function once more for each constant that it is called with.
    """

    def get_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
        kws = {name: types.unliteral(kind) for name, kind in dict(kws).items()}
        return plain(function, context, tuple(map(types.unliteral, args)), kws)

    return get_call_type


class IndexingCompiler(KernelCompiler):
    """Compile a function whose indices, and those of all that it calls, are never below 0.

    The test of their signs took a third of the time of a loop over records.
    """

    def compile_extra(self, func: Any) -> Any:
        """Compile a function with all that it calls."""
        with _replaced(arrayobj, "fix_integer_index", _as_it_is):
            return super().compile_extra(func)


class CountingCompiler(IndexingCompiler):
    """Compile a function as `IndexingCompiler` does, and what it calls once for all constants among arguments.

    Of the kernel of the packet level 288 functions were compiled, 239 of them different ones.
    """

    def compile_extra(self, func: Any) -> Any:
        """Compile a function with all that it calls."""
        plain = Dispatcher.__dict__["get_call_type"]
        with _replaced(Dispatcher, "get_call_type", _without_literals(plain)):
            return super().compile_extra(func)


class CallingCompiler(CountingCompiler):
    """Compile a function as `CountingCompiler` does, whose array arguments share no memory, with calls.

    What it calls is inlined only where that is marked. Of the loop of the packet level a part with the arrays that it
    needs takes 0.9 of the time that it takes within the whole, which has more addresses than registers.
    """

    lowering = _LowerWhole

    def compile_extra(self, func: Any) -> Any:
        """Compile a function with all that it calls."""
        self.state.flags.noalias = True
        _calls.append(True)
        try:
            return super().compile_extra(func)
        finally:
            _calls.pop()


class UnaliasedCompiler(IndexingCompiler):
    """Compile a function as `IndexingCompiler` does, whose array arguments share no memory.

    Fields of records that are in registers stay there when another array is written.
    """

    def compile_extra(self, func: Any) -> Any:
        """Compile a function with all that it calls."""
        self.state.flags.noalias = True
        return super().compile_extra(func)
