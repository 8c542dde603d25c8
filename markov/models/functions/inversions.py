"""Conditions with ``~`` in place of ``not``: of True it is -2, of False -1, and both count as true."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from markov.models.identity_operands import UNKNOWN

__all__ = ["INSTEAD_OF_INVERTED", "INVERTED", "is_inverted"]

INVERTED = (-1, -2)
INSTEAD_OF_INVERTED = "write not, or np.logical_not: ~ of a truth value is -1 or -2, which both count as true"


def is_inverted(value: Any, function: Any) -> bool:
    """Whether the value of a condition in one state is that of an inverted truth value.

    It is -1 or -2, and the function, or one that it refers to by name, has a ``~``.
    """
    return value in INVERTED and _inverts(function)


def _inverts(function: Any) -> bool:
    seen: set[int] = set()
    left = [function]
    while left:
        each = left.pop()
        each = getattr(each, "__func__", each)
        if not isinstance(each, FunctionType) or id(each) in seen:
            continue
        seen.add(id(each))
        for code in _codes(each.__code__):
            if any(step.opname == "UNARY_INVERT" for step in dis.get_instructions(code)):
                return True
            left += [_named(each, name) for name in (*code.co_names, *code.co_freevars)]
    return False


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _named(function: FunctionType, name: str) -> Any:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    try:
        return cells[name].cell_contents if name in cells else function.__globals__.get(name)
    except ValueError:  # not assigned yet
        return UNKNOWN
