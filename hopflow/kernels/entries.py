"""Calls of the compiled functions of kernel packages from Python, by address.

A kernel takes arrays, numbers, records and tuples of them. A call passes the address of Python's tuple of all of them:
the machine code finds the objects in it, reads their fields, and refuses objects of other kinds than it was compiled for
(`hopflow.kernels.object_arguments`). So it needs nothing of Numba when it comes from a file, and a call does not depend on
how many arrays there are.
"""

from __future__ import annotations

import ctypes
import hashlib
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopflow.kernels.machine_code import load_file, processor, write_file
from hopflow.kernels.object_layouts import FLAGS, IN_ORDER_OF_C, OTHER_FLAGS, OTHER_KINDS
from hopflow.kernels.stopwatch import loading

__all__ = ["Entry"]

SUFFIX = ".code"
CALL = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p
)
"""Of the machine code: the tuple of arguments, the words of numbers, what the kinds of the others must be, and where to write
what it returns; not 0 after an exception or for other kinds of arguments. Other threads run meanwhile."""
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
        self._ready: dict[tuple[Any, ...], Callable[[tuple[Any, ...]], Callable[..., Any]]] = {}
        self._last: Callable[[tuple[Any, ...]], Any] = _other

    @property
    def dispatcher(self) -> Any:
        """The function as Numba compiles it."""
        return self._compile()

    @property
    def is_ready(self) -> bool:
        """Whether it has been loaded or compiled for some types of arguments."""
        return bool(self._ready)

    @property
    def is_compiled(self) -> bool:
        """Whether its machine code for some types of arguments is in the cache folder."""
        return self.is_ready or any(self.stem.parent.glob(f"{self.stem.name}-*{SUFFIX}"))

    def __call__(self, *args: Any) -> Any:
        """Run the function.

        Raises
        ------
        RuntimeError
            Where the function raised an exception.
        """
        found = self._last(args)  # most calls are of the kinds of the call before
        if found is not _OTHER:
            return found
        kinds: list[Any] = []
        _flatten(args, kinds)
        key = tuple(kinds)
        if key not in self._ready:
            with loading():
                self._ready[key] = self._prepared(key, args)
        run = self._last = self._ready[key](args)
        found = run(args)
        if found is _OTHER:
            raise RuntimeError(f"{self.name}: its arguments changed while it was called")
        return found

    def _prepared(
        self, key: tuple[Any, ...], args: tuple[Any, ...]
    ) -> Callable[[tuple[Any, ...]], Callable[..., Any]]:
        """Return what returns, for some arguments, a function that calls the machine code with those and with equal ones."""
        text = "\0".join((processor(), *map(_text_of, key)))
        path = self.stem.with_name(
            f"{self.stem.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}{SUFFIX}"
        )
        found = load_file(path)
        if found is None:
            dispatcher = self.dispatcher
            code = _assembled(dispatcher, args)
            if code is None:  # a Numba whose inner modules have other names: its own calls
                return lambda args: lambda given: dispatcher(*given)  # noqa: ARG005
            write_file(path, [code.data], {self.name: (code.symbol, code.returned)})
            found = load_file(path)
            if found is None:
                raise ImportError(f"{self.name}: its machine code cannot be loaded")
        loaded = found[self.name]
        function, result = CALL(loaded.address), RESULTS[loaded.about]
        return lambda args: _MachineCall(self.name, function, result, args)


_OTHER = object()
"""What a call returns for arguments of other kinds than its own."""


def _other(args: tuple[Any, ...]) -> Any:  # noqa: ARG001
    """Return that all arguments are of other kinds."""
    return _OTHER


NUMBERS: dict[type, tuple[str, type]] = {
    bool: ("?7x", bool), int: ("q", int), float: ("d", float), np.bool_: ("?7x", np.bool_), np.int64: ("q", np.int64),
    np.uint64: ("Q", np.uint64), np.float64: ("d", float),
}  # fmt: skip
"""Letters of `struct` and kinds of numbers; another type of number is refused."""
_NO_NUMBER = ("", type)


class _MachineCall:
    """A call of machine code with arguments of the kinds of ``args``.

    It holds none of them, only their types, so that nothing else gets the addresses of those.
    """

    def __init__(self, name: str, function: Any, result: Any, args: tuple[Any, ...]) -> None:
        self.name, self.function, self.result = name, function, result
        self.types: list[Any] = []
        self.words: list[int] = []
        self.numbers: list[tuple[tuple[int, ...], type]] = []
        self._see(args, ())
        letters = "".join(NUMBERS[kind][0] for _, kind in self.numbers)
        self.pack = struct.Struct(letters).pack
        self.expected = struct.pack(f"{len(self.words)}Q", *self.words)

    def _expect(self, kind: Any) -> None:
        """Append a type whose address the machine code compares."""
        self.types.append(kind)
        self.words.append(id(kind))

    def _see(self, values: tuple[Any, ...], place: tuple[int, ...]) -> None:
        """Append what the machine code compares of some arguments, in its order, and the places of numbers."""
        for n, value in enumerate(values):
            if isinstance(value, tuple):
                self._expect(type(value))
                self._see(value, (*place, n))
            elif isinstance(value, np.ndarray | np.void):
                self._expect(type(value))
                self._expect(value.dtype)
                if isinstance(value, np.ndarray):
                    self.words.append(_flags_of(value))
            else:
                self.numbers.append(((*place, n), NUMBERS[type(value)][1]))

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """Run the machine code; return `_OTHER` where it has not, since the arguments are of other kinds."""
        words = []
        try:
            for place, kind in self.numbers:
                value: Any = args
                for n in place:
                    value = value[n]
                if NUMBERS.get(type(value), _NO_NUMBER)[1] is not kind:
                    return _OTHER
                words.append(value)
        except (LookupError, TypeError):  # other tuples
            return _OTHER
        returned = self.result()
        place_of_result = ctypes.addressof(returned)
        status = self.function(id(args), self.pack(*words), self.expected, place_of_result)
        if status == OTHER_KINDS:
            return _OTHER
        if status != 0:
            raise RuntimeError(f"{self.name}: the compiled function raised an exception")
        return returned.value


def _flags_of(array: NDArray[Any]) -> int:
    """Return the flags of an array on which its kind depends: that it is in the order of Fortran only where not in that of C."""
    flags: int = array.flags.num
    return flags & (FLAGS if flags & IN_ORDER_OF_C else OTHER_FLAGS)


def _flatten(values: tuple[Any, ...], kinds: list[Any]) -> None:
    """Append the kinds of some arguments.

    The kind of an array is its type, dimensions and flags; of a record ``np.void`` and its type; of a tuple its class and length;
    of a number its type.
    """
    for value in values:
        if isinstance(value, np.ndarray):
            kinds.append((value.dtype, value.ndim, _flags_of(value)))
        elif isinstance(value, tuple):
            kinds.append((type(value), len(value)))
            _flatten(value, kinds)
        elif isinstance(value, np.void):
            kinds.append((np.void, value.dtype))
        else:
            kind = NUMBERS.get(type(value))
            if kind is None:
                known = "bool, int, float, np.bool_, np.int64, np.uint64 or np.float64"
                raise TypeError(f"an argument of type {type(value).__name__}: must be {known}")
            kinds.append(kind[1])


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
