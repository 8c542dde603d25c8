"""Arguments of compiled functions: their kinds, their words, and the source that rebuilds them.

Machine code takes 64-bit words, which are addresses of arrays and numbers, and the address of a buffer for its results.
It depends on no object layout of CPython or NumPy, so that one file serves all their versions.

An array takes one word for the address of its data and one for each length (and stride, if it is not contiguous). A
record takes one word for its address, a number one, and a tuple the words of its items.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["Call", "describe", "flatten", "named_tuples", "wrapper"]

NUMBER_TYPES: dict[type, tuple[str, str]] = {
    bool: ("?7x", "{} != 0"),
    int: ("q", "{}"),
    float: ("d", "{}"),
    np.bool_: ("?7x", "{} != 0"),
    np.int64: ("q", "{}"),
    np.uint64: ("Q", "uint64({})"),
    np.float64: ("d", "{}"),
}
"""Format letters of `struct` and conversion from a word, by type of number."""
FLOAT_TYPES = (float, np.float64)
RECORD = -100
"""Number of dimensions that marks a single record."""
_overlay, _address = (ctypes.c_char * 0).from_buffer, ctypes.addressof
"""Overlay of an empty ctypes array on an array, and its address: methods that are looked up once."""
STRIDED_OFFSET = 100
"""Offset of the number of dimensions of a noncontiguous array."""
C_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p)
"""C function type: the words as integers, the same words as floats, and the result buffer."""
SIGNATURE = "void(CPointer(int64), CPointer(float64), CPointer(int64))"
"""The same for Numba."""
RESULT_BUFFER = ctypes.c_int64 * 33
"""Result buffer: number of values, or -1 for a single value that is no tuple; then tag and word of each."""
RESULT_DECODERS: tuple[Callable[[int], Any], ...] = (
    lambda word: None,  # noqa: ARG005
    int,
    lambda word: struct.unpack("d", struct.pack("q", word))[0],
    bool,
    lambda word: word % 2**64,
)
"""Conversion of a returned word by tag: None, integer, float, boolean, unsigned integer."""


def flatten(values: tuple[Any, ...], kinds: list[Any], words: list[Any]) -> None:
    """Append the kinds of arguments, two items each, and their words.

    The kind of an array is its dtype and number of dimensions (negative in Fortran order, plus `STRIDED_OFFSET` if not
    contiguous), of a record its dtype and `RECORD`, of a tuple its class and length, of a number its type and 0.

    Raises
    ------
    TypeError
        For another type of argument.
    """
    for value in values:
        kind = type(value)
        if kind is np.ndarray and value.flags.carray:  # contiguous, aligned and writeable: most arguments
            dtype = value.dtype
            kinds += dtype, value.ndim
            # an overlay takes a quarter of the time of `ctypes.data`, except where NumPy describes fields for it
            words.append(_address(_overlay(value)) if dtype.names is None else value.ctypes.data)
            words += value.shape
        elif kind in NUMBER_TYPES:
            kinds += kind, 0
            words.append(value)
        elif isinstance(value, np.ndarray):
            flags = value.flags
            if flags.c_contiguous:
                kinds += value.dtype, value.ndim
            elif flags.f_contiguous:
                kinds += value.dtype, -value.ndim
            else:
                kinds += value.dtype, value.ndim + STRIDED_OFFSET
            words.append(value.ctypes.data)
            words += value.shape
            if kinds[-1] > STRIDED_OFFSET:
                words += value.strides
        elif isinstance(value, tuple):
            kinds += kind, len(value)
            flatten(value, kinds, words)
        elif isinstance(value, np.void):
            kinds += value.dtype, RECORD
            words.append(value.__array_interface__["data"][0])
        else:
            allowed = ", ".join(number.__name__ for number in NUMBER_TYPES)
            raise TypeError(f"an argument of type {kind.__name__}: must be an array, a tuple, or one of {allowed}")


def describe(kinds: tuple[Any, ...]) -> str:
    """Return a string that identifies kinds, the same in all processes.

    >>> describe((np.dtype(float), 2, tuple, 1, int, 0))
    "dtype('float64') 2, tuple () 1, int 0"
    """
    return ", ".join(
        f"{kind.__name__} {getattr(kind, '_fields', ())} {size}"
        if _is_tuple(kind)
        else f"{kind.__name__ if isinstance(kind, type) else repr(kind)} {size}"
        for kind, size in zip(kinds[::2], kinds[1::2], strict=True)
    )


def _is_tuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple)


def named_tuples(kinds: tuple[Any, ...]) -> dict[str, Any]:
    """Return the NamedTuple classes among kinds by name.

    Raises
    ------
    TypeError
        If two classes of one name have different fields.
    """
    classes: dict[str, Any] = {}
    for kind in kinds[::2]:
        fields = getattr(kind, "_fields", ()) if _is_tuple(kind) else ()
        if fields and classes.setdefault(kind.__name__, kind)._fields != fields:
            raise TypeError(f"two types called {kind.__name__} differ in their fields")
    return classes


def wrapper(name: str, kinds: tuple[Any, ...]) -> tuple[str, dict[str, Any]]:
    """Return the source of a function of `SIGNATURE` that calls ``name``, and the dtypes to which it refers.

    It needs the globals from `hopflow.kernels.native.Compiler.names` and the NamedTuple classes.
    """
    dtypes: dict[str, Any] = {}
    position = 0
    items = iter(zip(kinds[::2], kinds[1::2], strict=True))

    def argument(kind: Any, size: int) -> str:
        nonlocal position
        if kind in NUMBER_TYPES:
            position += 1
            words = "reals" if kind in FLOAT_TYPES else "words"
            return NUMBER_TYPES[kind][1].format(f"{words}[{position - 1}]")
        if _is_tuple(kind):
            parts = [argument(*next(items)) for _ in range(size)]
            if getattr(kind, "_fields", ()):
                return f"{kind.__name__}({', '.join(parts)})"
            return f"({', '.join(parts)}{',' * (size == 1)})"
        dtype = f"dtype_{list(dtypes.values()).index(kind) if kind in dtypes.values() else len(dtypes)}"
        dtypes[dtype] = kind
        first = position
        if size == RECORD:
            position += 1
            return f"carray(pointer(words[{first}]), (1,), {dtype})[0]"
        count = abs(size) % STRIDED_OFFSET
        shape = "".join(f"words[{n}], " for n in range(first + 1, first + 1 + count))
        position += 1 + count
        if size > STRIDED_OFFSET:
            strides = "".join(f"words[{n}], " for n in range(position, position + count))
            position += count
            return f"strided(pointer(words[{first}]), ({shape}), ({strides}), {dtype})"
        return f"{'farray' if size < 0 else 'carray'}(pointer(words[{first}]), ({shape}), {dtype})"

    arguments = [argument(*item) for item in items]
    lines = [f"    a{n} = {text}" for n, text in enumerate(arguments)]
    call = f"{name}({', '.join(f'a{n}' for n in range(len(arguments)))})"
    text = "\n".join(["def call_with_words(words, reals, room):", *lines, f"    give_back(room, {call})"])
    return f"{text}\n", dtypes


class Call:
    """Callable that runs machine code for fixed kinds of arguments.

    Parameters
    ----------
    name
        Name of the function, for messages.
    address
        Address of machine code of `SIGNATURE`.
    kinds
        Kinds of the arguments.
    check
        Called after each call; raises if the machine code reached an exception.
    """

    def __init__(self, name: str, address: int, kinds: tuple[Any, ...], check: Callable[[str], None]) -> None:
        self.name, self._run, self._check = name, C_FUNCTION(address), check
        self.pack = struct.Struct("=" + "".join(_letters(kinds))).pack

    def __call__(self, packed: bytes) -> Any:
        """Run the machine code with packed words, without the GIL, and return its result."""
        room = RESULT_BUFFER()
        self._run(packed, packed, room)
        self._check(self.name)
        count = room[0]
        if count < 0:
            return RESULT_DECODERS[room[1]](room[2])
        return tuple(RESULT_DECODERS[room[n]](room[n + 1]) for n in range(1, 2 * count + 1, 2))


def _letters(kinds: tuple[Any, ...]) -> Iterator[str]:
    """Yield the format letters of `struct` for the words of arguments."""
    for kind, size in zip(kinds[::2], kinds[1::2], strict=True):
        if kind in NUMBER_TYPES:
            yield NUMBER_TYPES[kind][0]
        elif not _is_tuple(kind):
            count = 0 if size == RECORD else abs(size) % STRIDED_OFFSET
            yield "Q" + "q" * (2 * count if size > STRIDED_OFFSET else count)
