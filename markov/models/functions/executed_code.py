"""Whether a function that ran on stand-ins for numbers did something that tells them from numbers.

Stand-ins (columns, arrays) behave as numbers do in arithmetic and comparisons. They cannot do so for
``is``, for ``type`` and ``id``: what a function does there is found in the code that it runs.
"""

from __future__ import annotations

import dis
import enum
import functools
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

import numpy as np

from markov.computing import columns, selections
from markov.models.identity_operands import (
    UNKNOWN,
    Operand,
    identity_comparisons,
    is_no_number,
)

__all__ = ["Execution"]

OWN = {__file__, columns.__file__, selections.__file__, enum.__file__}
ARRAY_PACKAGES = (str(Path(np.__file__).parent), str(Path(np.__file__).parents[1] / "jax"))
REVEALING = {"type", "id"}
"""Functions that tell any stand-in from a number."""
REVEALING_ARRAYS = {
    *("str", "repr", "format", "ascii", "print", "isinstance", "issubclass", "callable", "hasattr"),
    *("len", "iter", "any", "all"),
}
"""Functions that may take an array for something else without an error."""
MAX_DEPTH = 40
"""Calls in each other through which a package is looked for."""


class Execution:
    """What the code that runs in a ``with`` block, in this thread, may tell from a number.

    Attributes
    ----------
    columns, arrays
        Whether the result holds where columns, or arrays, stood for numbers.
    """

    def __init__(self) -> None:
        self.columns = self.arrays = True
        self._records = False

    def __enter__(self) -> Self:
        """Record what is called from now on; where another profiler does, nothing is known."""
        self._records = sys.getprofile() is None
        if self._records:
            sys.setprofile(self.look_at)
        else:
            self.columns = self.arrays = False
        return self

    def __exit__(self, *_: object) -> None:
        """Record no more."""
        if self._records:
            sys.setprofile(None)

    def look_at(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Take note of a function that is called, as `sys.setprofile` reports it."""
        if event != "call":
            return
        code = frame.f_code
        operands, names = _compared_by_identity(code), set(code.co_names)
        columns = not (names & REVEALING or _catches_all(code, names))
        arrays = columns and not (operands or names & REVEALING_ARRAYS or _hides_errors_or_writes(code))
        if (arrays and columns and not operands) or _called_by_packages(frame):
            return
        self.arrays &= arrays
        self.columns &= columns and not any(_may_be_numbers(pair, frame) for pair in operands)


def _called_by_packages(frame: FrameType | None) -> bool:
    """Whether a function is one of the packages that do arithmetic, or called by one."""
    for _ in range(MAX_DEPTH):
        if frame is None:
            return False
        file = frame.f_code.co_filename
        if file in OWN or file.startswith(ARRAY_PACKAGES):
            return True
        frame = frame.f_back
    return False


_compared_by_identity = functools.lru_cache(maxsize=1024)(identity_comparisons)


def _may_be_numbers(operands: tuple[Operand, Operand], frame: FrameType) -> bool:
    """Return whether both operands of an ``is`` may be numbers, or stand-ins for them."""
    values = [operand.value(functools.partial(_named, frame)) for operand in operands]
    return all(isinstance(value, columns.Column) or not is_no_number(value) for value in values)


def _named(frame: FrameType, name: str) -> Any:
    """Return what a name refers to in a frame."""
    for scope in (frame.f_locals, frame.f_globals, frame.f_builtins):
        if name in scope:
            return scope[name]
    return UNKNOWN


@functools.lru_cache(maxsize=1024)
def _operations(code: CodeType) -> frozenset[str]:
    return frozenset(instruction.opname for instruction in dis.get_instructions(code))


def _hides_errors_or_writes(code: CodeType) -> bool:
    """Whether code catches exceptions, or writes values as text."""
    hides = {"PUSH_EXC_INFO", "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "MATCH_CLASS"}
    return not hides.isdisjoint(_operations(code))


def _catches_all(code: CodeType, names: set[str]) -> bool:
    """Whether code may catch the error by which stand-ins say that they cannot do something."""
    found = _operations(code)
    if "PUSH_EXC_INFO" not in found:
        return False
    return "CHECK_EXC_MATCH" not in found or "BaseException" in names
