"""Fingerprints of code: by which a store notices that what made its results was changed."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import inspect
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hopflow.naming.packages import PACKAGES
from hopflow.parameters import Parametrized

__all__ = ["is_plain", "source_of"]

INSTALLED = ("site-packages", "dist-packages")
"""Folders of packages whose code is named, not read: they change with their version."""
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic)
"""Classes of values that lead to no code."""


def is_plain(value: Any) -> bool:
    """Whether a value leads to no code: a number, a text, or a list or tuple of them.

    >>> is_plain((10, "20pkt")), is_plain((10, len))
    (True, False)
    """
    if type(value) in (list, tuple):
        return all(map(is_plain, value))
    return isinstance(value, PLAIN)


def source_of(thing: Any, *others: Any) -> str:
    """Return the name of a class or function, and a hash of its source and of the code that it leads to.

    The hash covers functions, classes and constants of the user's own modules: those that a function's body names, methods and bases
    of classes, and classes and values of the objects in ``thing`` and ``others``, such as the rules of a scenario. Code of the
    standard library and of installed packages is named only.

    Parameters
    ----------
    thing
        A class, a function, or an object, which is named by its class.
    others
        Further values on which results depend.
    """
    root = thing if isinstance(thing, type) or callable(thing) else type(thing)
    root = inspect.unwrap(root)
    name = getattr(root, "__name__", type(root).__name__)
    known = _Fingerprint()
    with contextlib.suppress(OSError, TypeError):  # what has no source is known by its code
        known.parts.append("" if _is_own(root) else inspect.getsource(root))
    for value in (thing, *others):
        known.add(value)
    return f"{name} {known.digest()}"


class _Fingerprint:
    """What was found, in its order, and the objects that were visited, with their numbers."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.visited: dict[int, tuple[int, Any]] = {}

    def digest(self) -> str:
        return hashlib.sha256("\0".join(self.parts).encode()).hexdigest()[:16]

    def add(self, value: Any) -> None:
        """Take a value, and what it leads to."""
        if isinstance(value, PLAIN):
            self.parts.append(repr(value))
            return
        if id(value) in self.visited:
            self.parts.append(f"visited {self.visited[id(value)][0]}")
            return
        self.visited[id(value)] = len(self.visited), value  # kept, so that no other gets its id
        if isinstance(value, type):
            self._add_class(value)
        elif isinstance(value, (types.FunctionType, types.MethodType)):
            self._add_function(value)
        elif isinstance(value, np.ndarray):
            self._add_array(value)
        elif isinstance(value, Mapping):
            for item in value.items():
                self._add_all(item)
        elif isinstance(value, (list, tuple, range)):
            self._add_all(value)
        elif isinstance(value, (set, frozenset)):
            self._add_all(sorted(value, key=repr))
        else:
            self._add_object(value)

    def _add_all(self, values: Any) -> None:
        self.parts.append(f"{type(values).__name__} of {len(values)}")
        for value in values:
            self.add(value)

    def _add_array(self, values: Any) -> None:
        self.parts.append(f"{values.dtype} {values.shape}")
        if values.dtype.kind == "O":
            self.add(values.tolist())
        else:
            digest = hashlib.sha256(np.ascontiguousarray(values).tobytes())
            self.parts.append(digest.hexdigest())

    def _add_object(self, value: Any) -> None:
        """Take the class and the fields of an object; of other objects than the user's, dataclasses and models the class alone."""
        if isinstance(value, functools.partial):
            self._add_all((value.func, value.args, value.keywords))
            return
        if (of := getattr(value, "py_func", None)) is not None:  # compiled by Numba
            self.add(of)
            return
        self.add(type(value))
        if isinstance(value, Parametrized):
            self.add(value.params)
            self._add_all([each for each in vars(value).values() if inspect.isfunction(each)])
        elif dataclasses.is_dataclass(value):
            self._add_all([getattr(value, each.name, None) for each in dataclasses.fields(value)])
        elif _is_own(type(value)):
            self.add(getattr(value, "__dict__", {}))
        elif hasattr(value, "__array__"):  # of pandas, xarray and others
            self._add_array(np.asarray(value))
        elif isinstance(value, Sequence):  # columns of flows and links: what they were made of
            for name in inspect.signature(type(value).__init__).parameters:
                self.add(getattr(value, name, getattr(value, f"_{name}", None)))

    def _add_class(self, kind: type[Any]) -> None:
        self.parts.append(f"{kind.__module__}.{kind.__qualname__}")
        if not _is_own(kind):
            return
        for base in kind.__bases__:
            self.add(base)
        for name, value in vars(kind).items():
            if inspect.isgetsetdescriptor(value) or inspect.ismemberdescriptor(value):
                continue
            if name in ("__doc__", "__module__", "__firstlineno__") or name.startswith("_abc_"):
                continue
            self.parts.append(name)
            for part in _functions_in(value):
                self.add(part)

    def _add_function(self, function: Any) -> None:
        function = inspect.unwrap(function)
        bound = getattr(function, "__self__", None)
        function = getattr(function, "__func__", function)
        self.parts.append(f"{function.__module__}.{function.__qualname__}")
        if bound is not None:
            self.add(bound)
        if not _is_own(function) or not isinstance(function, types.FunctionType):
            return
        self._add_code(function.__code__)
        self._add_all(function.__defaults__ or ())
        self.add(function.__kwdefaults__ or {})
        for cell in function.__closure__ or ():
            if (inside := _content(cell)) is not function:
                self._add_reference(inside)
        names = set(_names(function.__code__))
        for name in sorted(names & function.__globals__.keys()):
            self._add_reference(function.__globals__[name], names)

    def _add_reference(self, value: Any, names: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        """Take what a function names; of a module of the user's the attributes that it names."""
        if not isinstance(value, types.ModuleType):
            self.add(value)
        elif _is_own_name(value.__name__):
            for name in sorted(names & vars(value).keys()):
                self._add_reference(vars(value)[name], names)

    def _add_code(self, code: types.CodeType) -> None:
        self.parts.append(code.co_code.hex())
        self.parts.append(repr((code.co_names, code.co_varnames, code.co_freevars)))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add_code(constant)
            else:
                self.add(constant)


def _functions_in(value: Any) -> Iterator[Any]:
    """Yield the functions of an attribute of a class, or the attribute itself."""
    if isinstance(value, property):
        yield from filter(None, (value.fget, value.fset))
    elif isinstance(value, (staticmethod, classmethod)):
        yield value.__func__
    elif isinstance(value, functools.cached_property):
        yield value.func
    else:
        yield value


def _names(code: types.CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes in a code object and those within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return None


def _is_own(thing: Any) -> bool:
    """Return whether a class or function is of a module of the user's."""
    return _is_own_name(getattr(thing, "__module__", None) or "builtins")


@functools.cache
def _is_own_name(module: str) -> bool:
    first = module.partition(".")[0]
    if first in sys.stdlib_module_names - {"__main__"} or first in ("hopflow", *PACKAGES):
        return False
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return not any(folder in file for folder in INSTALLED)
