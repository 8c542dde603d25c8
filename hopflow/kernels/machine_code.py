"""Machine code of kernels in files of our own, which run without an import of Numba.

Numba is the compiler: what it assembled is an object file, which LLVM alone loads again. To import Numba and to let it
read its own cache takes ten times as long. A file has a line of JSON (`_Header`) and the object files. Its name says for
which processor and settings of Numba it was assembled, its line the digest of the rest and which symbols of others the code
calls; what does not fit is absent, and is compiled again.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import os
import struct
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hopflow.whole_files import replacing

__all__ = ["Loaded", "load", "load_file", "processor", "write_file"]

_lock = threading.Lock()
UNDEFINED_SECTION = 0
SYMBOL_TABLE = 2
"""Of ELF: the index of the section of a symbol that is elsewhere, and the type of a section of symbols."""


class Loaded(NamedTuple):
    """A function whose machine code is loaded: its address, and what its compiler said of it."""

    address: int
    about: str


class _Header(NamedTuple):
    """What a file says of its object files."""

    digest: str  # SHA-256 of what follows
    sizes: list[int]  # bytes of each object file
    external: list[str]  # symbols that the code needs of the process
    functions: dict[str, list[str]]  # by name: symbol, and what its compiler said of it


@functools.cache
def processor() -> str:
    """Return a digest of all outside of a kernel's source that its machine code depends on, of this process.

    The processor with its features, and what the environment tells Numba (its options for code among it).
    """
    from llvmlite import binding

    told = sorted((name, value) for name, value in os.environ.items() if name.startswith("NUMBA_"))
    own_file = Path(".numba_config.yaml")
    parts = (
        binding.get_process_triple(),
        binding.get_host_cpu_name(),
        binding.get_host_cpu_features().flatten(),
        repr([pair for pair in told if pair[0] != "NUMBA_CACHE_DIR"]),
        own_file.read_text(encoding="utf-8") if own_file.is_file() else "",
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


@functools.cache
def _engine() -> Any:
    """Return what loads object files, one of a process."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    machine = target.create_target_machine(codemodel="jitdefault", jit=True)
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


def load(objects: Sequence[bytes], symbols: Iterable[str]) -> list[int]:
    """Load object files and return the addresses of some of their functions.

    One thread at a time: two that begin together would make two engines, one of which nobody keeps, and its machine code
    would go with it.
    """
    from llvmlite import binding

    with _lock:
        engine = _engine()
        for each in objects:
            engine.add_object_file(binding.ObjectFileRef.from_data(each))
        engine.finalize_object()
        return [int(engine.get_function_address(symbol)) for symbol in symbols]


def write_file(
    path: Path, objects: Sequence[bytes], functions: Mapping[str, tuple[str, str]]
) -> None:
    """Write object files with the symbols of their functions; another process never sees a part of it."""
    content = b"".join(objects)
    external = sorted(set().union(*map(_external, objects)))
    digest = hashlib.sha256(content).hexdigest()
    named = {name: list(each) for name, each in functions.items()}
    header = _Header(digest, [len(each) for each in objects], external, named)
    with replacing(path) as scratch:
        scratch.write_bytes(json.dumps(header).encode() + b"\n" + content)


def load_file(path: Path) -> dict[str, Loaded] | None:
    """Load what `write_file` wrote; None where there is no such file, or not whole, or it needs what is not there."""
    try:
        line, _, content = path.read_bytes().partition(b"\n")
        header = _Header(*json.loads(line))
        functions = {name: (symbol, about) for name, (symbol, about) in header.functions.items()}
    except (OSError, ValueError, TypeError):
        return None
    if hashlib.sha256(content).hexdigest() != header.digest or not _are_here(header.external):
        return None
    objects, begin = [], 0
    for size in header.sizes:
        objects.append(content[begin : begin + size])
        begin += size
    addresses = load(objects, [symbol for symbol, _ in functions.values()])
    found = zip(functions.items(), addresses, strict=True)
    return {name: Loaded(address, about) for (name, (_, about)), address in found}


def _are_here(symbols: list[str]) -> bool:
    """Return whether LLVM finds all of some symbols: it ends the process where one is not resolved.

    Code that raises exceptions calls functions of Numba's, which are there once it is imported.
    """
    from llvmlite import binding

    for symbol in symbols:
        if not binding.address_of_symbol(symbol) and hasattr(ctypes.pythonapi, symbol):
            function = getattr(ctypes.pythonapi, symbol)
            binding.add_symbol(symbol, ctypes.cast(function, ctypes.c_void_p).value)
    if not all(map(binding.address_of_symbol, symbols)):
        from hopflow.kernels.numba_start import start_numba

        start_numba()
        from numba.core.registry import cpu_target
        from numba.core.runtime.nrt import rtsys

        rtsys.initialize(cpu_target.target_context)  # which tell LLVM of Numba's functions
    return all(map(binding.address_of_symbol, symbols))


def _external(data: bytes) -> set[str]:
    """Return the symbols that an object file needs of others.

    They are read from the format ELF for 64 bits. Of another one a symbol of Numba's stands for all: Numba is imported
    before it is loaded, and with it all that its code may call is there.
    """
    if data[:6] != b"\x7fELF\x02\x01":
        return {"numba_unpickle"}
    (first,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, first + n * size) for n in range(count)]
    found = set()
    for _, kind, _, _, begin, length, link, _, _, step in sections:
        if kind != SYMBOL_TABLE:
            continue
        names = sections[link][4]
        for at in range(begin + step, begin + length, step):  # the first is of no symbol
            name, _, _, section = struct.unpack_from("<IBBH", data, at)
            if section == UNDEFINED_SECTION:
                end = data.index(b"\0", names + name)
                found.add(data[names + name : end].decode())
    return found
