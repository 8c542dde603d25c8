"""Compilation of generated source to object code, and object code to functions that are called by address.

How this differs from Numba's own cache:

1. Numba compiles, by documented names only (`cfunc`, `njit`, `intrinsic`, `inspect_llvm`). llvmlite assembles the LLVM code
   to an object file, and a later process loads that file by llvmlite alone: it never imports Numba.
2. Object code of hopflow's own functions is built with hopflow, as in any compiled package, and read from an archive beside
   this module. Only functions of users, and what depends on the question, are compiled at run time. That goes to the cache.
3. Code that meets an exception calls functions of CPython's and Numba's. Their names are replaced: the first of them sets a
   flag, and the caller raises; the others do nothing. So the code needs nothing of a process but the C library.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.util
import json
import linecache
import os
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hopflow.fork_safety import ForkSafeLock
from hopflow.kernels import cache
from hopflow.kernels.stopwatch import loading

__all__ = [
    "ARCHIVES",
    "Compiler",
    "Unit",
    "assemble",
    "check_exceptions",
    "decoded",
    "digest",
    "encoded",
    "level",
    "load_unit",
]

ARCHIVES = Path(__file__).with_name("objects")
"""Folder of the archives of object code: one for each `level`, made when hopflow is built."""
FORMAT = "1"
"""Of object code and of how it is called: a part of each digest."""
LEVELS: dict[str, frozenset[str]] = {
    "x86-64-v3": frozenset({"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}),
    "x86-64-v2": frozenset({"cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"}),
}
"""Features that a level of x86-64 needs, the best level first."""
OPTIONS = ("NUMBA_OPT", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX", "NUMBA_BOUNDSCHECK",
           "NUMBA_LOOP_VECTORIZE", "NUMBA_SLP_VECTORIZE", "NUMBA_DISABLE_JIT")  # fmt: skip
"""Settings of Numba on which machine code depends."""
OUTSIDE = re.compile(r"numba_\w+|_?Py\w+|NRT_(Free|MemInfo_call_dtor)$")
"""What only code that meets an exception, or counts references to arrays that nobody counts, calls."""
KNOWN = re.compile(r"llvm\.|hopflow\.|(mem(set|cpy|move)|[a-z0-9]+)$")
"""Functions that object code may call: of LLVM, of the C library, and those of `OUTSIDE` by other names."""

_lock = ForkSafeLock()
_raised = ctypes.c_int64(0)


class Unit(NamedTuple):
    """Object code with the symbols of its functions, by name."""

    objects: tuple[bytes, ...]
    symbols: dict[str, str]
    outside: tuple[str, ...]


def encoded(unit: Unit) -> bytes:
    """Return a unit as bytes: a line of JSON, then its object files."""
    header = {
        "sizes": list(map(len, unit.objects)),
        "symbols": unit.symbols,
        "outside": unit.outside,
    }
    return b"\n".join([json.dumps(header, sort_keys=True).encode(), b"".join(unit.objects)])


def decoded(content: bytes) -> Unit:
    """Return the unit that `encoded` made bytes of."""
    line, _, code = content.partition(b"\n")
    header = json.loads(line)
    objects, start = [], 0
    for size in header["sizes"]:
        objects.append(code[start : start + size])
        start += size
    return Unit(tuple(objects), header["symbols"], tuple(header["outside"]))


@functools.cache
def level() -> str:
    """Return the level of this machine for which code is assembled: ``x86-64-v3``, ``x86-64-v2`` or ``aarch64``.

    Code for a level, instead of for the processor at hand, gives the same bits on all machines of that level.
    """
    from llvmlite import binding

    triple: str = binding.get_process_triple()
    if not triple.startswith("x86_64"):
        return triple.partition("-")[0].replace("arm64", "aarch64")
    features = {name for name, present in binding.get_host_cpu_features().items() if present}
    return next((name for name, needed in LEVELS.items() if needed <= features), "x86-64")


def digest(*texts: str) -> str:
    """Return the name of a unit that depends on these texts."""
    return hashlib.sha256("\0".join((FORMAT, *texts)).encode()).hexdigest()[:32]


@functools.cache
def _archive() -> zipfile.ZipFile | None:
    """Return the archive for this machine, of the best level that there is; None without one."""
    best = level()
    names = [*LEVELS][[*LEVELS].index(best) :] if best in LEVELS else [best]
    for name in names:
        try:
            return zipfile.ZipFile(ARCHIVES / f"{name}.zip")
        except (OSError, zipfile.BadZipFile):
            continue
    return None


if hasattr(os, "register_at_fork"):  # a child has the file's position in common with its parent
    os.register_at_fork(after_in_child=_archive.cache_clear)


def _shipped(name: str) -> bytes | None:
    """Return a unit of the archive as bytes; None where it has none of this name, or a damaged one."""
    archive = _archive()
    if archive is None:
        return None
    try:
        return archive.read(name)
    except (KeyError, OSError, zipfile.BadZipFile, EOFError):
        return None


@functools.cache
def _compiled_for() -> str:
    """Return what the machine code of a function that is compiled here depends on, besides its source.

    Numba and llvmlite are not imported for it, nor is `importlib.metadata`, which takes longer.
    """
    texts = [level()]
    for name in ("numba", "llvmlite"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"no module named {name!r}", name=name)
        texts.append(Path(spec.origin).with_name("_version.py").read_text(encoding="utf-8"))
    texts += [f"{name}={os.environ.get(name)}" for name in OPTIONS]
    return digest(*texts)[:12]


_addresses: dict[str, dict[str, int]] = {}


def load_unit(name: str, compile_: Callable[[], Unit]) -> Mapping[str, int]:
    """Return the addresses of the functions of a unit, loaded once per process.

    It comes from the archive, or from the cache, or is compiled and kept there. What cannot be read is absent.
    """
    with _lock:
        if name in _addresses:
            return _addresses[name]
        with loading():
            content = _shipped(name)
            if content is None:
                kept = f"code/{name}-{_compiled_for()}"
                content = cache.read(kept)
                if content is None:
                    content = encoded(compile_())
                    cache.write(kept, content)
            _addresses[name] = _loaded(decoded(content))
        return _addresses[name]


@functools.cache
def _engine() -> Any:
    """Return what loads object files, one of a process, with the two functions that replace those of `OUTSIDE`."""
    from llvmlite import binding, ir

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    module, number = ir.Module(), ir.IntType(64)
    for name, stored in (("hopflow_nothing", None), ("hopflow_raise", ctypes.addressof(_raised))):
        function = ir.Function(module, ir.FunctionType(number, []), name)
        builder = ir.IRBuilder(function.append_basic_block())
        if stored is not None:
            builder.store(number(1), builder.inttoptr(number(stored), number.as_pointer()))
        builder.ret(number(0))
    machine = binding.Target.from_default_triple().create_target_machine(
        codemodel="jitdefault", jit=True
    )
    engine = binding.create_mcjit_compiler(binding.parse_assembly(str(module)), machine)
    engine.finalize_object()
    return engine


def _loaded(unit: Unit) -> dict[str, int]:
    """Load the object files of a unit; return the addresses of its functions."""
    from llvmlite import binding

    engine = _engine()
    for symbol in unit.outside:
        stub = "hopflow_raise" if symbol.endswith("numba_gil_ensure") else "hopflow_nothing"
        binding.add_symbol(symbol, engine.get_function_address(stub))
    for content in unit.objects:
        engine.add_object_file(binding.ObjectFileRef.from_data(content))
    engine.finalize_object()
    addresses = {
        name: int(engine.get_function_address(symbol)) for name, symbol in unit.symbols.items()
    }
    if not all(addresses.values()):
        raise ImportError(f"object code without {next(n for n, a in addresses.items() if not a)!r}")
    return addresses


def check_exceptions(name: str) -> None:
    """Raise RuntimeError if machine code has met an exception since the last call.

    It does so where Python would have raised: an index beyond the end of a tuple, say.
    """
    if _raised.value:
        _raised.value = 0
        raise RuntimeError(
            f"{name}: a compiled function raised an exception; run it as plain Python to see which"
        )


class Compiler:
    """Compilation of source by documented names of Numba.

    `hopflow.kernels.build` has another one, which takes less time and needs one version of Numba.
    """

    options: Mapping[str, Any] = {
        "error_model": "numpy",
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
    }

    def names(self) -> dict[str, Any]:
        """Return what the source may name: decorators and the functions by which it reads its words."""
        import numba
        import numpy as np
        from numpy.lib.stride_tricks import as_strided

        def strided(address: Any, shape: Any, strides: Any, dtype: Any) -> Any:
            return as_strided(numba.carray(address, shape, dtype), shape, strides)  # type: ignore[attr-defined]

        return {
            "helper": numba.njit(**self.options),
            "inlined": numba.njit(forceinline=True, **self.options),
            "callback": lambda function: function,
            "carray": numba.carray,  # type: ignore[attr-defined]
            "farray": numba.farray,  # type: ignore[attr-defined]
            "strided": numba.njit(**self.options)(strided),
            "uint64": np.uint64,
            **_intrinsics(),
        }

    def callback(self, function: Callable[..., Any], signature: str) -> Any:
        """Return a function of this C signature, compiled."""
        import numba

        return numba.cfunc(signature, error_model="numpy")(function)

    def module(self, callback: Any) -> Any:
        """Return the LLVM module of such a function, optimized."""
        from llvmlite import binding

        return binding.parse_assembly(callback.inspect_llvm())

    def compile(
        self,
        name: str,
        source: str,
        signatures: Mapping[str, str],
        given: Mapping[str, Any] | None = None,
    ) -> Unit:
        """Return the functions of ``source`` that have C signatures as a unit called ``name``.

        ``given`` are objects that the source names.
        """
        file = f"{name}.py"
        linecache.cache[file] = (
            len(source),
            None,
            source.splitlines(keepends=True),
            file,
        )  # for Numba's messages
        namespace: dict[str, Any] = {"__name__": f"hopflow_{name}", **self.names(), **(given or {})}
        exec(compile(source, file, "exec"), namespace)  # noqa: S102
        parts = []
        for function, signature in signatures.items():
            callback = self.callback(namespace[function], signature)
            module, symbol = self.module(callback), f"hopflow.{name}.{function}"
            parts.append(
                (function, symbol, module, isolate(module, callback.native_name, symbol, function))
            )
        return self.unit(name, parts)

    def unit(self, name: str, parts: Sequence[tuple[str, str, Any, set[str]]]) -> Unit:  # noqa: ARG002
        """Return functions, each with its symbol, its LLVM module and its names of `OUTSIDE`, as a unit."""
        return assemble(parts, level())


compiler = Compiler()
"""What compiles in this process."""


def isolate(module: Any, exported: str, symbol: str, what: str) -> set[str]:
    """Make one function of an LLVM module visible, as ``symbol``, and nothing else; return its names of `OUTSIDE`.

    Raises
    ------
    NotImplementedError
        Where the code calls what no other process has: it allocates memory, for instance.
    """
    outside = set()
    for function in module.functions:
        if function.is_declaration:
            if OUTSIDE.match(function.name):
                function.name = f"hopflow.{function.name}"
                outside.add(function.name)
            elif not KNOWN.match(function.name):
                raise NotImplementedError(
                    f"{what}: its code calls {function.name}, which only Numba has"
                )
        elif function.name == exported:
            function.name, function.linkage = symbol, "external"
        else:  # another file may have a function of this name
            function.linkage = "internal"
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    return outside


def assemble(parts: Sequence[tuple[str, str, Any, set[str]]], level: str) -> Unit:
    """Return functions, each with its symbol, its LLVM module and its names of `OUTSIDE`, as a unit for a level."""
    target = machine(level)
    objects, symbols, outside = [], {}, set()
    for function, symbol, module, names in parts:
        module.triple, module.data_layout = target.triple, str(target.target_data)
        objects.append(target.emit_object(module))
        symbols[function] = symbol
        outside |= names
    return Unit(tuple(objects), symbols, tuple(sorted(outside)))


@functools.cache
def machine(level: str) -> Any:
    """Return what assembles code for a level."""
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    processor = level if level.startswith("x86-64") else ""
    triple = binding.get_process_triple()
    if (processor != "" and not triple.startswith("x86_64")) or (
        processor == "" and not triple.startswith(level)
    ):
        triple = f"{'x86_64' if processor else level}-unknown-linux-gnu"
    target = binding.Target.from_triple(triple)
    return target.create_target_machine(
        cpu=processor, opt=3, reloc="default", codemodel="jitdefault", jit=True
    )


@functools.cache
def _intrinsics() -> dict[str, Any]:
    """Return the functions by which source reads words as addresses, and returns values as words."""
    import numba
    from llvmlite import ir
    from numba.extending import intrinsic

    types: Any = numba.types  # whose stubs know no attributes of numbers

    word = ir.IntType(64)

    @intrinsic
    def pointer(context: Any, address: Any) -> Any:  # noqa: ARG001
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
            return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

        return types.voidptr(types.int64), generate

    @intrinsic
    def give_back(context: Any, room: Any, value: Any) -> Any:  # noqa: ARG001
        kinds = list(value) if isinstance(value, types.BaseTuple) else [value]

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
            address, returned = arguments

            def store(position: int, number: Any) -> None:
                builder.store(number, builder.gep(address, [word(position)]))

            alone = not isinstance(value, types.BaseTuple)
            store(0, word(-1 if alone else len(kinds)))
            for n, kind in enumerate(kinds):
                item = returned if alone else builder.extract_value(returned, n)
                tag, bits = _tagged(builder, kind, item)
                store(2 * n + 1, word(tag))
                store(2 * n + 2, bits)
            return context.get_dummy_value()

        return types.void(room, value), generate

    def _tagged(builder: Any, kind: Any, item: Any) -> tuple[int, Any]:
        """Return the tag of a value (`hopflow.kernels.arguments.DECODERS`) and its word."""
        if kind == types.none:
            return 0, word(0)
        if isinstance(kind, types.Float):
            return 2, builder.bitcast(
                builder.fpext(item, ir.DoubleType()) if kind.bitwidth < 64 else item, word
            )
        if isinstance(kind, types.Boolean):
            return 3, builder.zext(item, word)
        if isinstance(kind, types.Integer):
            if kind.bitwidth == 64:
                return (1 if kind.signed else 4), item
            return 1, builder.sext(item, word) if kind.signed else builder.zext(item, word)
        raise NotImplementedError(f"a compiled function cannot return {kind}")

    return {"pointer": pointer, "give_back": give_back}
