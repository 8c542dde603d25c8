"""How Numba compiles the functions of a kernel: each typed and lowered once, all optimised together once.

Numba optimises and assembles each function with all that it calls: what is called four levels down is
optimised five times, and only the last result is used. Here the functions that others call stop at
intermediate code; the function that Python calls links them all and is optimised as a whole. That, type
inference that remembers what operators return, and no passes but those that kernels need take
a third to a half off the time of compilation. The machine code is as fast, the results equal bit for bit.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, _LowerResult
from numba.core.compiler_machinery import LoweringPass, PassManager, register_pass
from numba.core.typed_passes import NativeLowering

__all__ = ["KernelCompiler", "PartCompiler"]

BEFORE = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
)
"""The passes of Numba before machine code, without those for closures, comprehensions, literals, None,
arrays in expressions and parallel loops, none of which the functions of a kernel package contain."""


class _Part(JITCodeLibrary):
    """The code of a function that is optimised and assembled only within its callers."""

    def finalize(self) -> None:
        """Leave the code as it is, without that of what it calls."""
        self._raise_if_finalized()
        self._finalized = True


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


class _Memory:
    """A typing context that remembers what operators and functions of Numba return."""

    known: dict[Any, Any] = {}  # noqa: RUF012

    def __init__(self, context: Any, flags: str) -> None:
        self.context, self.flags = context, flags

    def __getattr__(self, name: str) -> Any:
        return getattr(self.context, name)

    def resolve_function_type(self, function: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call."""
        if kws or isinstance(function, types.Dispatcher):
            return self.context.resolve_function_type(function, args, kws)
        key = self.flags, function, tuple(each._code for each in args)
        if key not in self.known:
            found = self.context.resolve_function_type(function, args, kws)
            if found is None:
                return None
            self.known[key] = found
        return self.known[key]


class KernelCompiler(Compiler):
    """Compile the function of a kernel package that Python calls."""

    lowering: Any = NativeLowering

    def define_pipelines(self) -> list[PassManager]:
        """Return the passes."""
        state = self.state
        state.typingctx = _Memory(state.typingctx, state.flags.get_mangle_string())
        manager = PassManager("kernel")
        for each in (*BEFORE, self.lowering, typed_passes.NoPythonBackend):
            manager.add_pass(each, each.__name__)
        manager.finalize()
        return [manager]


class PartCompiler(KernelCompiler):
    """Compile a function of a kernel package that others call."""

    lowering = _LowerPart
