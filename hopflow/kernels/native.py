"""Compilation of generated source to object code, and object code to functions that are called by address.

How this differs from Numba's own cache:

1. Numba compiles, by documented names only (`cfunc`, `njit`, `intrinsic`, `inspect_llvm`). llvmlite assembles the LLVM
   code to an object file. Later processes load that file by llvmlite alone, without importing Numba.
2. Object code of hopflow's own functions is built with hopflow, as in any compiled package. It is read from an archive
   beside this module. Only user functions, and code that depends on the model, are compiled at run time, into the
   cache.
3. On an exception, code calls functions of CPython and Numba. They are replaced: the first one sets a flag, for which
   the caller raises; the others do nothing. So the code needs only the C library.
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
    "decode_unit",
    "digest",
    "encode_unit",
    "level",
    "load_unit",
]

ARCHIVES = Path(__file__).with_name("objects")
"""Folder of the object-code archives, one per `level`, created when hopflow is built."""
FORMAT_VERSION = "2"
"""Version of the object code and its calling convention: part of each digest."""
CPU_LEVELS: dict[str, frozenset[str]] = {
    "x86-64-v3": frozenset({"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}),
    "x86-64-v2": frozenset({"cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"}),
}
"""CPU features of each x86-64 level, best first."""
NUMBA_SETTINGS = (
    "NUMBA_OPT",
    "NUMBA_CPU_NAME",
    "NUMBA_CPU_FEATURES",
    "NUMBA_ENABLE_AVX",
    "NUMBA_BOUNDSCHECK",
    "NUMBA_LOOP_VECTORIZE",
    "NUMBA_SLP_VECTORIZE",
    "NUMBA_DISABLE_JIT",
)
"""Settings of Numba on which machine code depends."""
RUNTIME_FUNCTIONS = frozenset({
    "NRT_Free", "NRT_MemInfo_call_dtor", "PyBytes_FromStringAndSize", "PyErr_Clear", "PyErr_SetNone", "PyErr_SetString",
    "PyErr_WriteUnraisable", "PyUnicode_FromString", "Py_DecRef", "numba_do_raise", "numba_gil_ensure",
    "numba_gil_release", "numba_runtime_build_excinfo_struct", "numba_unpickle",
})  # fmt: skip
"""Functions of the Python and Numba runtimes that code calls only on an exception or for reference counts of arrays.

Each is replaced by a stub; one that computes or prints must not be here.
"""
C_FUNCTIONS = {f"numba_{name}{kind}": name + kind for name in ("frexp", "ldexp", "nextafter") for kind in ("", "f")}
"""Functions of Numba's runtime that are those of the C library."""
ALLOWED_CALLS = re.compile(r"llvm\.|hopflow\.|(mem(set|cpy|move)|[a-z0-9]+)$")
"""Functions that object code may call: LLVM, the C library, and renamed `RUNTIME_FUNCTIONS`."""

_lock = ForkSafeLock()
_raised = ctypes.c_int64(0)


class Unit(NamedTuple):
    """Object files, the symbol of each function, and the names of runtime functions that they call."""

    objects: tuple[bytes, ...]
    symbols: dict[str, str]
    outside: tuple[str, ...]


def encode_unit(unit: Unit) -> bytes:
    """Serialize a unit: a line of JSON, then its object files."""
    header = {
        "sizes": list(map(len, unit.objects)),
        "symbols": unit.symbols,
        "outside": unit.outside,
    }
    return b"\n".join([json.dumps(header, sort_keys=True).encode(), b"".join(unit.objects)])


def decode_unit(content: bytes) -> Unit:
    """Deserialize a unit from the bytes of `encode_unit`."""
    line, _, code = content.partition(b"\n")
    header = json.loads(line)
    objects, start = [], 0
    for size in header["sizes"]:
        objects.append(code[start : start + size])
        start += size
    return Unit(tuple(objects), header["symbols"], tuple(header["outside"]))


@functools.cache
def level() -> str:
    """Return the target level of this machine: ``x86-64-v3``, ``x86-64-v2`` or ``aarch64``.

    Code for a level, instead of for the host CPU, gives the same bits on all machines of that level.
    """
    from llvmlite import binding

    triple: str = binding.get_process_triple()
    if not triple.startswith("x86_64"):
        return triple.partition("-")[0].replace("arm64", "aarch64")
    features = {name for name, present in binding.get_host_cpu_features().items() if present}
    return next((name for name, needed in CPU_LEVELS.items() if needed <= features), "x86-64")


def digest(*texts: str) -> str:
    """Return the name of a unit, the digest of the texts that determine it."""
    return hashlib.sha256("\0".join((FORMAT_VERSION, *texts)).encode()).hexdigest()[:32]


@functools.cache
def _archive() -> zipfile.ZipFile | None:
    """Return the archive of the best available level for this machine, or None."""
    best = level()
    names = [*CPU_LEVELS][[*CPU_LEVELS].index(best) :] if best in CPU_LEVELS else [best]
    for name in names:
        try:
            return zipfile.ZipFile(ARCHIVES / f"{name}.zip")
        except (OSError, zipfile.BadZipFile):
            continue
    return None


if hasattr(os, "register_at_fork"):  # parent and child share the position in an open file
    os.register_at_fork(after_in_child=_archive.cache_clear)


def _read_archive(name: str) -> bytes | None:
    """Return a serialized unit of the archive; None if it is missing or damaged."""
    archive = _archive()
    if archive is None:
        return None
    try:
        return archive.read(name)
    except (KeyError, OSError, zipfile.BadZipFile, EOFError):
        return None


@functools.cache
def _target_digest() -> str:
    """Return a digest of the target level, the compiler versions and Numba's settings.

    It is computed without importing Numba, llvmlite or `importlib.metadata`, to save time.
    """
    texts = [level()]
    for name in ("numba", "llvmlite"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"no module named {name!r}", name=name)
        texts.append(Path(spec.origin).with_name("_version.py").read_text(encoding="utf-8"))
    texts += [f"{name}={os.environ.get(name)}" for name in NUMBA_SETTINGS]
    return digest(*texts)[:12]


_addresses: dict[str, dict[str, int]] = {}


def load_unit(name: str, compile_: Callable[[], Unit]) -> Mapping[str, int]:
    """Return the addresses of the functions of a unit, loaded once per process.

    The sources are, in this order, the archive, the cache, and compilation, whose result is cached. An unreadable entry
    counts as absent.
    """
    with _lock:
        if name in _addresses:
            return _addresses[name]
        with loading():
            content = _read_archive(name)
            if content is None:
                cache_entry = f"code/{name}-{_target_digest()}"
                content = cache.read(cache_entry)
                if content is None:
                    content = encode_unit(compile_())
                    cache.write(cache_entry, content)
            _addresses[name] = _load_objects(decode_unit(content))
        return _addresses[name]


@functools.cache
def _engine() -> Any:
    """Return the object-file loader of this process, with two stubs in place of `RUNTIME_FUNCTIONS`."""
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
    machine = binding.Target.from_default_triple().create_target_machine(codemodel="jitdefault", jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(str(module)), machine)
    engine.finalize_object()
    return engine


def _load_objects(unit: Unit) -> dict[str, int]:
    """Load the object files of a unit and return the addresses of its functions."""
    from llvmlite import binding

    engine = _engine()
    for symbol in unit.outside:
        stub = "hopflow_raise" if symbol.endswith("numba_gil_ensure") else "hopflow_nothing"
        binding.add_symbol(symbol, engine.get_function_address(stub))
    for content in unit.objects:
        engine.add_object_file(binding.ObjectFileRef.from_data(content))
    engine.finalize_object()
    addresses = {name: int(engine.get_function_address(symbol)) for name, symbol in unit.symbols.items()}
    if not all(addresses.values()):
        raise ImportError(f"object code without {next(n for n, a in addresses.items() if not a)!r}")
    return addresses


def check_exceptions(name: str) -> None:
    """Raise RuntimeError if machine code has reached an exception since the last call.

    Examples are an index beyond the end of a tuple, and others where Python would raise.
    """
    if _raised.value:
        _raised.value = 0
        raise RuntimeError(f"{name}: a compiled function raised an exception; run it as plain Python to see which")


class Compiler:
    """Compiler of source by documented names of Numba.

    `hopflow.kernels.build` has a faster one, which needs a specific version of Numba.
    """

    options: Mapping[str, Any] = {
        "error_model": "numpy",
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
    }

    def names(self) -> dict[str, Any]:
        """Return the globals of generated source: decorators, and functions that read argument words."""
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
        """Compile a function with a C signature."""
        import numba

        return numba.cfunc(signature, error_model="numpy")(function)

    def module(self, callback: Any) -> Any:
        """Return the optimized LLVM module of a compiled function."""
        from llvmlite import binding

        return binding.parse_assembly(callback.inspect_llvm())

    def compile(
        self,
        name: str,
        source: str,
        signatures: Mapping[str, str],
        objects: Mapping[str, Any] | None = None,
    ) -> Unit:
        """Compile the functions of ``source`` that have C signatures to a unit called ``name``.

        ``objects`` are further globals of the source.
        """
        file = f"{name}.py"
        linecache.cache[file] = (
            len(source),
            None,
            source.splitlines(keepends=True),
            file,
        )  # for Numba's messages
        namespace: dict[str, Any] = {
            "__name__": f"hopflow_{name}",
            **self.names(),
            **(objects or {}),
        }
        exec(compile(source, file, "exec"), namespace)  # noqa: S102
        parts = []
        for function, signature in signatures.items():
            callback = self.callback(namespace[function], signature)
            module, symbol = self.module(callback), f"hopflow.{name}.{function}"
            parts.append((function, symbol, module, isolate(module, callback.native_name, symbol, function)))
        return self.unit(name, parts)

    def unit(self, name: str, parts: Sequence[tuple[str, str, Any, set[str]]]) -> Unit:  # noqa: ARG002
        """Assemble functions, each with symbol, LLVM module and called runtime functions, to a unit."""
        return assemble(parts, level())


compiler = Compiler()
"""Compiler of this process."""


def isolate(module: Any, exported: str, symbol: str, what: str) -> set[str]:
    """Export one function of an LLVM module as ``symbol`` and nothing else; return the runtime functions that it calls.

    Raises
    ------
    NotImplementedError
        If the code calls functions that another process lacks, for example to allocate memory.
    """
    outside = set()
    for function in module.functions:
        if function.is_declaration:
            if function.name in C_FUNCTIONS:
                function.name = C_FUNCTIONS[function.name]
            elif function.name in RUNTIME_FUNCTIONS:
                function.name = f"hopflow.{function.name}"
                outside.add(function.name)
            elif not ALLOWED_CALLS.match(function.name):
                name = function.name.removeprefix("numba_")
                raise NotImplementedError(f"{what}: its code calls {name}, which is part of Numba's runtime")
        elif function.name == exported:
            function.name, function.linkage = symbol, "external"
        else:  # another file may have a function of this name
            function.linkage = "internal"
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    return outside


def assemble(parts: Sequence[tuple[str, str, Any, set[str]]], level: str) -> Unit:
    """Assemble functions, each with symbol, LLVM module and called runtime functions, to a unit for a level."""
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
    """Return the LLVM target machine of a level."""
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    processor = level if level.startswith("x86-64") else ""
    triple = binding.get_process_triple()
    if (processor != "" and not triple.startswith("x86_64")) or (processor == "" and not triple.startswith(level)):
        triple = f"{'x86_64' if processor else level}-unknown-linux-gnu"
    target = binding.Target.from_triple(triple)
    return target.create_target_machine(cpu=processor, opt=3, reloc="default", codemodel="jitdefault", jit=True)


@functools.cache
def _intrinsics() -> dict[str, Any]:
    """Return intrinsics that read words as addresses and return values as words."""
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
                tag, bits = _tag_value(builder, kind, item)
                store(2 * n + 1, word(tag))
                store(2 * n + 2, bits)
            return context.get_dummy_value()

        return types.void(room, value), generate

    def _tag_value(builder: Any, kind: Any, item: Any) -> tuple[int, Any]:
        """Return the tag of a value (`hopflow.kernels.arguments.DECODERS`) and its word."""
        if kind == types.none:
            return 0, word(0)
        if isinstance(kind, types.Float):
            return 2, builder.bitcast(builder.fpext(item, ir.DoubleType()) if kind.bitwidth < 64 else item, word)
        if isinstance(kind, types.Boolean):
            return 3, builder.zext(item, word)
        if isinstance(kind, types.Integer):
            if kind.bitwidth == 64:
                return (1 if kind.signed else 4), item
            return 1, builder.sext(item, word) if kind.signed else builder.zext(item, word)
        raise NotImplementedError(f"a compiled function cannot return {kind}")

    return {"pointer": pointer, "give_back": give_back}
