"""Attributes of classes that users derive from a base: those that nothing reads or calls."""

from __future__ import annotations

import difflib
import functools
import types
import warnings
from abc import ABCMeta
from collections.abc import Iterator
from typing import Any

from hopflow.public_names import PACKAGES

__all__ = ["functions_in", "names_in", "warn_of_unused_attributes"]

SIMILAR_ATTRIBUTE = 0.8
"""Similarity (`difflib`) from which on an unused attribute is taken for a misspelled one of a base."""
EVENT_PREFIX = "on_"
"""Beginning of the names of functions that are called at events."""


def functions_in(value: Any) -> Iterator[Any]:
    """Yield the functions of an attribute of a class, or the attribute itself."""
    if isinstance(value, property):
        yield from filter(None, (value.fget, value.fset))
    elif isinstance(value, (staticmethod, classmethod)):
        yield value.__func__
    elif isinstance(value, functools.cached_property):
        yield value.func
    else:
        yield value


def names_in(code: types.CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes in a code object and those within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_in(constant)


def warn_of_unused_attributes(cls: type[Any]) -> None:
    """Warn of public attributes of a new class that none of its bases has or reads, and that are probably misspelled.

    These are functions for events (``on_...``) that the bases do not call, and other attributes with a name similar to
    one of the bases. Attributes that functions of the class name, such as helpers, and annotated fields are left out.
    Call it in ``__init_subclass__`` of a base.

    Examples
    --------
    >>> import warnings
    >>> class Base:
    ...     def on_timeout(self): return 1
    ...     def __init_subclass__(cls): warn_of_unused_attributes(cls)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     class Derived(Base):
    ...         __module__ = "user"  # classes of hopflow's packages are left out
    ...         def on_timout(self): return 2
    >>> print(caught[0].message)
    Derived.on_timout is unused: Base has on_timeout; did you mean on_timeout?
    """
    if cls.__module__.partition(".")[0] in ("hopflow", *PACKAGES):  # whose bases add events
        return
    base = cls.__mro__[1]
    known = [name for name in dir(base) if not name.startswith("_")]
    functions = [function for value in vars(cls).values() for function in functions_in(value)]
    codes = [function.__code__ for function in functions if isinstance(function, types.FunctionType)]
    read = {*vars(cls).get("__annotations__", ()), *(name for code in codes for name in names_in(code))}
    for name in vars(cls):
        if name.startswith("_") or name in known or name in read:
            continue
        is_event = name.startswith(EVENT_PREFIX)
        nearest = difflib.get_close_matches(name, known, 1, SIMILAR_ATTRIBUTE)
        if not (is_event or nearest):
            continue
        events = [event for event in known if event.startswith(EVENT_PREFIX)] if is_event else nearest
        has = f"{base.__name__} has {', '.join(events) or f'no function {EVENT_PREFIX}...'}"
        meant = f"; did you mean {nearest[0]}?" if nearest and is_event else ""
        level = 4 if isinstance(cls, ABCMeta) else 3  # of the class statement
        warnings.warn(f"{cls.__name__}.{name} is unused: {has}{meant}", stacklevel=level)
