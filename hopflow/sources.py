"""Fingerprints of code, by which a store detects that the code behind its results has changed."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import inspect
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hopflow.class_attributes import functions_in, names_in
from hopflow.parameters import Parametrized
from hopflow.public_names import PACKAGES

__all__ = ["is_plain", "source_of"]

PACKAGE_FOLDERS = ("site-packages", "dist-packages")
"""Folders of installed packages, whose code is identified by name only."""
PLAIN_TYPES = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic)
"""Types of values that refer to no code."""


def is_plain(value: Any) -> bool:
    """Whether a value refers to no code: a number, a string, or a list or tuple of such values.

    >>> is_plain((10, "20pkt")), is_plain((10, len))
    (True, False)
    """
    if type(value) in (list, tuple):
        return all(map(is_plain, value))
    return isinstance(value, PLAIN_TYPES)


def source_of(thing: Any, *others: Any) -> str:
    """Return the name of a class or function and a hash of its source.

    The hash includes the code to which the source refers. It covers functions, classes and constants of user modules:
    names in function bodies, methods and bases of classes, and classes and values of the objects in ``thing`` and
    ``others``, such as the rules of a scenario. Code of the standard library and of installed packages is identified by
    name only.

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
    fingerprint = _Fingerprint()
    with contextlib.suppress(OSError, TypeError):  # without source, the code object identifies it
        fingerprint.parts.append("" if _is_user_code(root) else inspect.getsource(root))
    for value in (thing, *others):
        fingerprint.add(value)
    return f"{name} {fingerprint.digest()}"


class _Fingerprint:
    """Parts of the hash in order, and visited objects with their numbers."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.visited: dict[int, tuple[int, Any]] = {}

    def digest(self) -> str:
        return hashlib.sha256("\0".join(self.parts).encode()).hexdigest()[:16]

    def add(self, value: Any) -> None:
        """Add a value and the code that it refers to."""
        if isinstance(value, PLAIN_TYPES):
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
        """Add the class and the fields of an object.

        Of library objects other than dataclasses and models, add only the class.
        """
        if isinstance(value, functools.partial):
            self._add_all((value.func, value.args, value.keywords))
            return
        if (of := getattr(value, "py_func", None)) is not None:  # compiled by Numba
            self.add(of)
            return
        self.add(type(value))
        if isinstance(value, Parametrized):
            self.add(value.params)
            self._add_all([member for member in vars(value).values() if inspect.isfunction(member)])
        elif dataclasses.is_dataclass(value):
            self._add_all([getattr(value, field.name, None) for field in dataclasses.fields(value)])
        elif _is_user_code(type(value)):
            self.add(getattr(value, "__dict__", {}))
        elif hasattr(value, "__array__"):  # of pandas, xarray and others
            self._add_array(np.asarray(value))
        elif isinstance(value, Sequence):  # columns of flows and links: arguments of the constructor
            for name in inspect.signature(type(value).__init__).parameters:
                self.add(getattr(value, name, getattr(value, f"_{name}", None)))

    def _add_class(self, kind: type[Any]) -> None:
        self.parts.append(f"{kind.__module__}.{kind.__qualname__}")
        if not _is_user_code(kind):
            return
        for base in kind.__bases__:
            self.add(base)
        for name, value in vars(kind).items():
            if inspect.isgetsetdescriptor(value) or inspect.ismemberdescriptor(value):
                continue
            if name in ("__doc__", "__module__", "__firstlineno__") or name.startswith("_abc_"):
                continue
            self.parts.append(name)
            for part in functions_in(value):
                self.add(part)

    def _add_function(self, function: Any) -> None:
        function = inspect.unwrap(function)
        bound = getattr(function, "__self__", None)
        function = getattr(function, "__func__", function)
        self.parts.append(f"{function.__module__}.{function.__qualname__}")
        if bound is not None:
            self.add(bound)
        if not _is_user_code(function) or not isinstance(function, types.FunctionType):
            return
        self._add_code(function.__code__)
        self._add_all(function.__defaults__ or ())
        self.add(function.__kwdefaults__ or {})
        for cell in function.__closure__ or ():
            if (content := _cell_content(cell)) is not function:
                self._add_reference(content)
        names = set(names_in(function.__code__))
        for name in sorted(names & function.__globals__.keys()):
            self._add_reference(function.__globals__[name], names)

    def _add_reference(self, value: Any, names: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        """Add an object that a function names; of a user module the named attributes."""
        if not isinstance(value, types.ModuleType):
            self.add(value)
        elif _is_user_module(value.__name__):
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


def _cell_content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return None


def _is_user_code(thing: Any) -> bool:
    """Return whether a class or function is defined in a user module."""
    return _is_user_module(getattr(thing, "__module__", None) or "builtins")


@functools.cache
def _is_user_module(module: str) -> bool:
    first = module.partition(".")[0]
    if first in sys.stdlib_module_names - {"__main__"} or first in ("hopflow", *PACKAGES):
        return False
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return not any(folder in file for folder in PACKAGE_FOLDERS)
