"""Calls of the compiled functions of kernel packages from Python, by address.

A kernel takes arrays, numbers, records and tuples of them. A call passes a word for each of them, in order: an array as
the address of NumPy's object, whose fields the machine code reads (`hopflow.kernels.compilers`). So the machine code needs
nothing of Numba when it comes from a file.
"""

from __future__ import annotations

import ctypes
import hashlib
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hopflow.kernels.machine_code import Loaded, load_file, processor, write_file
from hopflow.kernels.stopwatch import loading

__all__ = ["Entry"]

IN_ORDER_OF_C = 0x1
FLAGS_IN_ORDER_OF_C, FLAGS = 0x1 | 0x100 | 0x400, 0x2 | 0x100 | 0x400
"""Of an array, as NumPy numbers them: in the order of C or, otherwise, of Fortran; aligned, writeable."""
SUFFIX = ".code"
CALL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p)
"""Of the machine code: the words, where to write what it returns; not 0 after an exception. Other threads run meanwhile."""
RESULTS: dict[str, Any] = {
    "none": ctypes.c_void_p,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float64": ctypes.c_double,
    "bool": ctypes.c_bool,
}
"""What a function may return, by Numba's name; `c_void_p` of zeros is None."""


class Entry:
    """A function of a kernel package that Python calls: loaded or compiled, once per types of its arguments.

    Parameters
    ----------
    name
        Of package, module and function, for messages.
    stem
        Path of its files, without what distinguishes types and processors.
    compile_
        Function that returns the function as Numba's dispatcher; called only when it has to be compiled.
    """

    def __init__(self, name: str, stem: Path, compile_: Callable[[], Any]) -> None:
        self.name, self.stem, self._compile = name, stem, compile_
        self._ready: dict[tuple[Any, ...], Callable[..., Any]] = {}

    @property
    def dispatcher(self) -> Any:
        """The function as Numba compiles it."""
        return self._compile()

    @property
    def is_ready(self) -> bool:
        """Whether it has been loaded or compiled for some types of arguments."""
        return bool(self._ready)

    def __call__(self, *args: Any) -> Any:
        """Run the function.

        Raises
        ------
        RuntimeError
            Where the function raised an exception.
        """
        words: list[Any] = []
        kinds: list[Any] = []
        _flatten(args, words, kinds)
        key = tuple(kinds)
        run = self._ready.get(key)
        if run is None:
            with loading():
                run = self._ready[key] = self._prepared(key, args)
        return run(args, words)

    def _prepared(self, key: tuple[Any, ...], args: tuple[Any, ...]) -> Callable[..., Any]:
        """Return what calls the machine code for some types of arguments."""
        text = "\0".join((processor(), *map(_text_of, key)))
        path = self.stem.with_name(
            f"{self.stem.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}{SUFFIX}"
        )
        found = load_file(path)
        if found is None:
            dispatcher = self.dispatcher
            code = _assembled(dispatcher, args)
            if code is None:  # a Numba whose inner modules have other names: its own calls
                return lambda args, words: dispatcher(*args)  # noqa: ARG005
            write_file(path, [code.data], {self.name: (code.symbol, code.returned)})
            found = load_file(path)
            if found is None:
                raise ImportError(f"{self.name}: its machine code cannot be loaded")
        return self._caller(found[self.name], "".join(map(_letter_of, key)))

    def _caller(self, loaded: Loaded, layout: str) -> Callable[..., Any]:
        """Return a function that calls an address with words of a layout."""
        pack = struct.Struct(layout).pack
        function = CALL(loaded.address)
        result = RESULTS[loaded.about]

        def run(args: tuple[Any, ...], words: list[Any]) -> Any:  # noqa: ARG001
            returned = result()
            if function(pack(*words), ctypes.addressof(returned)) != 0:
                raise RuntimeError(f"{self.name}: the compiled function raised an exception")
            return returned.value

        return run


NUMBERS: dict[type, tuple[str, type]] = {
    bool: ("q", bool), int: ("q", int), float: ("d", float), np.bool_: ("q", np.bool_), np.int64: ("q", np.int64),
    np.uint64: ("Q", np.uint64), np.float64: ("d", float),
}  # fmt: skip
"""Letters of `struct` and kinds of numbers; another type of number is refused."""


def _flatten(values: tuple[Any, ...], words: list[Any], kinds: list[Any]) -> None:
    """Append the words and the kinds of some arguments.

    The kind of an array is its type, dimensions and flags; of a record ``np.void`` and its type; of a tuple its class and length;
    of a number its type. Each call makes them of a hundred arrays: they are plain tuples and types.
    """
    for value in values:
        if isinstance(value, np.ndarray):
            words.append(id(value))
            flags = value.flags.num
            flags &= FLAGS_IN_ORDER_OF_C if flags & IN_ORDER_OF_C else FLAGS
            kinds.append((value.dtype, value.ndim, flags))
        elif isinstance(value, tuple):
            kinds.append((type(value), len(value)))
            _flatten(value, words, kinds)
        elif isinstance(value, np.void):
            words.append(id(value))
            kinds.append((np.void, value.dtype))
        else:
            kind = NUMBERS.get(type(value))
            if kind is None:
                known = "bool, int, float, np.bool_, np.int64, np.uint64 or np.float64"
                raise TypeError(f"an argument of type {type(value).__name__}: must be {known}")
            words.append(value)
            kinds.append(kind[1])


def _letter_of(kind: Any) -> str:
    """Return the letter of `struct` for the word of an argument, empty for a tuple."""
    if isinstance(kind, type):
        return NUMBERS[kind][0]
    return "" if isinstance(kind[0], type) and issubclass(kind[0], tuple) else "P"


def _text_of(kind: Any) -> str:
    """Return a text that differs for two kinds that differ, in any process."""
    if isinstance(kind, type):
        return kind.__name__
    return " ".join(
        f"{each.__name__} {getattr(each, '_fields', ())}" if isinstance(each, type) else repr(each)
        for each in kind
    )


def _assembled(dispatcher: Any, args: tuple[Any, ...]) -> Any:
    """Return the machine code of a function for some arguments; None where Numba's own passes compiled it."""
    import numba

    kinds = tuple(map(numba.typeof, args))
    dispatcher.compile(kinds)
    return getattr(dispatcher.overloads[kinds].library, "code", None)
