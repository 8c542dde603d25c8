"""How Numba compiles the functions of a kernel: each typed and lowered once, all optimised together once.

Numba optimises and assembles each function with all that it calls: what is called four levels down is
optimised five times, and only the last result is used. Here the functions that others call stop at
intermediate code, simplified and no more; the function that Python calls links them all and is optimised
as a whole. Numba asks again at each operator and each index what it returns, and reads its registries
of extensions again whenever there is no implementation for a constant index; here it remembers while
a kernel is compiled. No passes run but those that kernels need. All that takes more than half off the
time of compilation. The machine code is as fast, the results equal bit for bit.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from llvmlite import binding, ir
from numba import _dynfunc, types  # type: ignore[attr-defined]
from numba.core import typed_passes, untyped_passes
from numba.core.base import BaseContext
from numba.core.codegen import CPUCodegen, CPUCodeLibrary, JITCodeLibrary
from numba.core.compiler import Compiler, _LowerResult
from numba.core.compiler_machinery import FunctionPass, LoweringPass, PassManager, register_pass
from numba.core.errors import NumbaError
from numba.core.postproc import PostProcessor
from numba.core.pythonapi import PythonAPI
from numba.core.targetconfig import ConfigStack
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import NativeLowering
from numba.core.types.functions import BaseFunction, Dispatcher
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
REMEMBERED = (
    (BaseFunction, "get_call_type"),
    (BaseContext, "get_abi_sizeof"),
    (BaseContext, "refresh"),
    (BaseContext, "mangler"),
)
"""What is asked for again and again; see `_Memory`."""
for _owner, _name in (
    *REMEMBERED,
    (PythonAPI, "gil_ensure"),
    (PythonAPI, "gil_release"),
    (JITCodeLibrary, "get_pointer_to_function"),
    (CPUCodeLibrary, "_finalize_final_module"),
    (PostProcessor, "run"),
    (CPUCodegen, "_pass_builder"),
    (arrayobj, "fix_integer_index"),
    (Dispatcher, "get_call_type"),
):
    if _name not in _owner.__dict__:
        raise ImportError(f"this Numba has no {_owner.__name__}.{_name}")


class _Memory:
    """What Numba found out while a kernel is compiled, so that it need not do so again."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self.flags: dict[int, Any] = {}
        self.sizes: dict[str, int] = {}
        self.refreshed: dict[int, Any] = {}
        self.digests: dict[Any, str] = {}

    def call_type(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``plain``, the type of what a function of Numba returns, with a memory by arguments."""

        def get_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
            if kws:
                return plain(function, context, args, kws)
            key = self._text_of_flags(), function, tuple(each._code for each in args)
            if key not in self.known:
                try:
                    self.known[key] = plain(function, context, args, kws)
                except NumbaError as error:  # no such function of these arguments
                    self.known[key] = error
            if isinstance(self.known[key], NumbaError):
                raise self.known[key]
            return self.known[key]

        return get_call_type

    def _text_of_flags(self) -> str:
        flags = ConfigStack.top_or_none()
        if id(flags) not in self.flags:  # kept, so that nothing else gets its identity
            text = "" if flags is None else flags.get_mangle_string()
            self.flags[id(flags)] = flags, text
        return str(self.flags[id(flags)][1])

    def size(self, plain: Callable[..., int]) -> Callable[..., int]:
        """Return ``plain``, the bytes of a type of LLVM, with a memory by type."""

        def get_abi_sizeof(context: Any, kind: Any) -> int:
            key = str(kind)
            if key not in self.sizes:
                self.sizes[key] = plain(context, kind)
            return self.sizes[key]

        return get_abi_sizeof

    def refresh_once(self, plain: Callable[..., None]) -> Callable[..., None]:
        """Return ``plain``, which reads the registries of extensions, to be done once for each context."""

        def refresh(context: Any) -> None:
            if id(context) not in self.refreshed:
                self.refreshed[id(context)] = context  # kept, as flags are
                plain(context)

        return refresh

    def short_names(self, plain: Callable[..., str]) -> Callable[..., str]:
        """Return ``plain``, the name of machine code, with a digest of its types instead of their text.

        That of a record lists its fields, and a function of a few groups of arrays was called by 12,000
        letters at every place.
        """

        def mangler(
            context: Any, name: str, kinds: Any, *, abi_tags: Any = (), uid: Any = None
        ) -> str:
            key = tuple(getattr(each, "_code", each) for each in kinds)
            if key not in self.digests:
                text = ", ".join(map(str, kinds))
                self.digests[key] = hashlib.sha256(text.encode()).hexdigest()[:24]
            return plain(context, name, (), abi_tags=(*abi_tags, self.digests[key]), uid=uid)

        return mangler


@contextlib.contextmanager
def _replaced(owner: Any, name: str, by: Callable[..., Any]) -> Iterator[None]:
    """Let a method of Numba be another one; it compiles in one thread at a time."""
    plain = owner.__dict__[name]
    setattr(owner, name, by)
    try:
        yield
    finally:
        setattr(owner, name, plain)


_remembers = False
_calls: list[bool] = []
"""Not empty while `CallingCompiler` compiles a function, with what it calls."""


@contextlib.contextmanager
def _remembering() -> Iterator[None]:
    """Let Numba remember what it finds out until the outermost function is compiled."""
    global _remembers
    if _remembers:
        yield
        return
    memory = _Memory()
    changes: list[Callable[..., Any]]
    changes = [memory.call_type, memory.size, memory.refresh_once, memory.short_names]
    with contextlib.ExitStack() as stack:
        for (owner, name), change in zip(REMEMBERED, changes, strict=True):
            stack.enter_context(_replaced(owner, name, change(owner.__dict__[name])))
        _remembers = True
        try:
            yield
        finally:
            _remembers = False


def _order_blocks(process: PostProcessor, emit_dels: bool = False) -> None:  # noqa: ARG001
    """Do what the passes up to types need of the analysis of a function; the whole follows them."""
    process.func_ir.blocks = canonicalize_cfg(process.func_ir.blocks)
    process.func_ir.generator_info = None


@register_pass(mutates_CFG=False, analysis_only=False)
class _Types(FunctionPass):
    """Do `BEFORE` as one pass: where variables live and die is analysed once, not after each."""

    _name = "kernel_types"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        for each in BEFORE:
            if each is typed_passes.NopythonTypeInference:  # which compiles what is called
                each().run_pass(state)
            else:
                with _replaced(PostProcessor, "run", _order_blocks):
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

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        with _remembering():
            return super().compile_extra(func)

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
