"""Rules in which functions of numbers that depend on the state replace those of `math`.

`math.exp` asks a stand-in for a float64, and there is none. So rules are copied, with the functions that they call, wherever
their names lead: to helpers, lambdas, closures, methods, modules of the user, parameters. In the copies `math.exp` is the
function of `markov.generators.unbounded.polynomials`; of plain numbers it is that of `math`.
"""

from __future__ import annotations

import builtins
import enum
import functools
import math
import types
from collections.abc import Callable
from typing import Any

from markov.generators.identity import is_of_user, names_of
from markov.generators.unbounded.polynomials import FUNCTIONS, Growing, Polynomial

__all__ = ["Substitution"]

MAX_ENTRIES = 1000
"""Entries up to which a container is searched for functions."""
OURS = ("markov", "hopflow")
METHODS = (types.FunctionType, staticmethod, classmethod, property, functools.cached_property)


class _Replaced:
    """A function or type of plain numbers that takes stand-ins as well."""

    def __init__(self, original: Any, followed: Callable[..., Any]) -> None:
        self.original, self.followed = original, followed

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        is_followed = any(type(value) in (Polynomial, Growing) for value in arguments)
        return (self.followed if is_followed else self.original)(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, self.original)

    def __or__(self, other: Any) -> Any:
        return self.original | other

    __ror__ = __or__


REPLACED = {
    id(original): _Replaced(original, followed)
    for name, followed in FUNCTIONS.items()
    if (original := getattr(math, name, None) or getattr(builtins, name, None))
}
NAMED = {name: REPLACED[id(getattr(builtins, name))] for name in ("float", "int")}


class _Module:
    """A module whose functions are replaced when they are asked for."""

    def __init__(self, module: types.ModuleType, value: Callable[[Any], Any]) -> None:
        self._module, self._value = module, value

    def __getattr__(self, name: str) -> Any:
        return self._value(getattr(self._module, name))


class Substitution:
    """Copies of functions and of what they refer to, each made once."""

    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}
        self._originals: list[Any] = []  # kept, so that no other object gets their id

    def value(self, original: Any) -> Any:
        """Return a copy that calls the functions of stand-ins; the same object where there is nothing to replace."""
        key = id(original)
        if key in REPLACED:
            return REPLACED[key]
        if key not in self._copies:
            self._originals.append(original)
            self._copies[key] = original
            try:
                self._copies[key] = self._copy(original)
            except Exception:  # noqa: BLE001  # a class of the user may refuse a copy in any way
                self._copies[key] = original
        return self._copies[key]

    def _copy(self, original: Any) -> Any:
        match original:
            case types.FunctionType():
                return self._function(original)
            case types.MethodType():
                return types.MethodType(self.value(original.__func__), self.value(original.__self__))
            case functools.partial():
                keywords = {name: self.value(v) for name, v in original.keywords.items()}
                return functools.partial(self.value(original.func), *map(self.value, original.args), **keywords)
            case types.ModuleType():
                return _Module(original, self.value) if original is math or _is_of_user(original.__name__) else original
            case staticmethod() | classmethod():
                return type(original)(self.value(original.__func__))
            case property():
                return property(self.value(original.fget))
            case functools.cached_property():
                return property(self.value(original.func))
            case types.SimpleNamespace():
                return types.SimpleNamespace(**{name: self.value(v) for name, v in vars(original).items()})
            case dict() | list() | tuple():
                return self._container(original)
        if isinstance(original, type):
            return self._class(original)
        if hasattr(original, "cache_info") and hasattr(original, "__wrapped__"):
            return self.value(original.__wrapped__)
        kind = type(original)
        if not _is_of_user(kind.__module__) or not hasattr(original, "__dict__"):
            return original
        found: Any = object.__new__(self._class(kind))
        self._copies[id(original)] = found
        found.__dict__.update({name: self.value(v) for name, v in vars(original).items()})
        slots = (name for base in kind.__mro__ for name in vars(base).get("__slots__", ()))
        for name in slots:
            if name != "__dict__" and hasattr(original, name):
                object.__setattr__(found, name, self.value(getattr(original, name)))
        return found

    def _function(self, original: types.FunctionType) -> types.FunctionType:
        scope = original.__globals__
        if _is_of_user(original.__module__):
            scope = dict(scope)
        cells = tuple(types.CellType() for _ in original.__closure__ or ())
        found = types.FunctionType(original.__code__, scope, original.__name__, None, cells or None)
        self._copies[id(original)] = found
        for name in names_of(original.__code__) if scope is not original.__globals__ else ():
            if name in scope:
                scope[name] = self.value(scope[name])
            elif name in NAMED:
                scope[name] = NAMED[name]
        for cell, old in zip(cells, original.__closure__ or (), strict=True):
            try:
                content = old.cell_contents
            except ValueError:  # empty
                continue
            cell.cell_contents = content if isinstance(content, type) else self.value(content)
        found.__defaults__ = self.value(original.__defaults__)
        found.__kwdefaults__ = self.value(original.__kwdefaults__)
        found.__dict__.update(original.__dict__)
        return found

    def _container(self, original: Any) -> Any:
        if len(original) > MAX_ENTRIES:
            return original
        if isinstance(original, dict):
            pairs = {name: self.value(v) for name, v in original.items()}
            return original if all(pairs[name] is original[name] for name in pairs) else pairs
        values = [self.value(v) for v in original]
        if all(a is b for a, b in zip(values, original, strict=True)):
            return original
        return original._make(values) if hasattr(original, "_make") else type(original)(values)

    def _class(self, original: type) -> type:
        """Return a class derived from one of the user, with copies of its methods."""
        if not _is_of_user(original.__module__) or issubclass(original, (tuple, enum.Enum, BaseException)):
            return original
        own = {
            name: self.value(member)
            for base in reversed(original.__mro__)
            if _is_of_user(base.__module__)
            for name, member in vars(base).items()
            if isinstance(member, METHODS) and not (name.startswith("__") and name != "__call__")
        }
        derived: type = types.new_class(original.__name__, (original,), exec_body=lambda scope: scope.update(own))
        return derived


def _is_of_user(module: str | None) -> bool:
    return module is None or (is_of_user(module) and module.partition(".")[0] not in OURS)
