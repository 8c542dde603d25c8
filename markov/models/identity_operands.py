"""The operands of ``is`` in bytecode, and whether one of them is certainly no number.

Rules and functions of states run on stand-ins for numbers. A comparison by ``is`` means the same for a number
and for its stand-in if the other operand is neither: None, a string, a member of an Enum.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

__all__ = ["UNKNOWN", "Operand", "identity_comparisons", "is_no_number"]

NUMBERS = (int, float, bool, complex)
UNKNOWN = object()
"""Value of an operand that bytecode does not tell."""
_CONSTANTS = {"LOAD_CONST", "LOAD_SMALL_INT"}
_NAMES = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"}


class Operand(NamedTuple):
    """A constant, or a name that is not a local variable, and the attributes taken of it in turn.

    Attributes
    ----------
    name
        None for a constant and for an operand that is computed.
    constant
        `UNKNOWN` for a name and for an operand that is computed.
    attributes
        Names, the innermost first.
    """

    name: str | None = None
    constant: Any = UNKNOWN
    attributes: tuple[str, ...] = ()

    def value(self, look_up: Callable[[str], Any]) -> Any:
        """Return the object, or `UNKNOWN`; ``look_up`` returns that of a name, or `UNKNOWN`."""
        found = self.constant if self.name is None else look_up(self.name)
        for attribute in self.attributes:
            found = UNKNOWN if found is UNKNOWN else getattr(found, attribute, UNKNOWN)
        return found


COMPUTED = Operand()


def identity_comparisons(code: CodeType) -> list[tuple[Operand, Operand]]:
    """Return the left and the right operand of each ``is`` and ``is not``, without inner functions."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in {"CACHE", "RESUME"}]
    found = []
    for k, step in enumerate(steps):
        if step.opname == "IS_OP":
            right, begin = _operand(steps, k)
            left = COMPUTED if begin is None else _operand(steps, begin)[0]
            found.append((left, right))
    return found


def _operand(steps: Sequence[dis.Instruction], end: int) -> tuple[Operand, int | None]:
    """Return the operand pushed by the steps before ``end``, and the first of these (None: not known)."""
    k = end - 1
    attributes: list[str] = []
    while k >= 0 and steps[k].opname == "LOAD_ATTR":
        attributes.append(steps[k].argval)
        k -= 1
    if k < 0:
        return COMPUTED, None
    step, path = steps[k], tuple(reversed(attributes))
    if step.opname in _CONSTANTS:
        return Operand(constant=step.argval, attributes=path), k
    if step.opname in _NAMES:
        return Operand(name=step.argval, attributes=path), k
    # a local variable is one step; calls and steps that push two values hide where the left operand ends
    is_local = step.opname.startswith("LOAD_FAST") and isinstance(step.argval, str)
    return COMPUTED, k if is_local else None


def is_no_number(value: Any) -> bool:
    """Return whether a value is known and is neither a number, an array's scalar nor a type."""
    return value is not UNKNOWN and not isinstance(value, (type, np.generic)) and type(value) not in NUMBERS
