"""Judgement of one call of a fuzz: a right answer, a typed error that names the parameter, or a fault."""

from __future__ import annotations

import ast
import dataclasses
import re
import traceback
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hopflow.errors import RuleError
from hopflow.results import NotSolvedError
from markov.computing.resources import TooLargeError
from responsefn.diagnostics import AmbiguousRateError, UnreachableRateError

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = tuple(f"{ROOT / name}/" for name in ("hopflow", "markov", "responsefn", "dfcmodel", "validation"))
ANSWERS = (NotSolvedError, TooLargeError, UnreachableRateError, AmbiguousRateError)
"""Errors that say what is known of the answer; they need not name a parameter."""
ALIASES = {
    "model": ("Q",),
    "chain": ("Q", "model"),
    "maximize": ("measure",),
    "path": ("line",),
    "name": ("table",),
}
"""Other names in messages: a generator that is given as a model is Q; a file is named with its line."""
TYPED = (ValueError, TypeError, *ANSWERS)


@cache
def _raises(file: str) -> frozenset[int]:
    """Return the lines of a file's raise statements."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    return frozenset(
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    )


def raised_by_hopflow(error: BaseException) -> bool:
    """Whether an error comes from a ``raise`` of hopflow, or is that of a user's rule."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = last.filename.startswith(PACKAGES) and last.lineno in _raises(last.filename)
    return ours or isinstance(error, RuleError)


def fault_of_error(error: BaseException, parameter: str) -> str | None:
    """Return what is wrong with an error, or None."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    said = f"{type(error).__name__} at {place}: {str(error)[:160]}"
    if isinstance(error, OSError) and error.filename is not None:
        return None  # the system's words, and the path
    if not isinstance(error, TYPED):
        return f"not a typed error: {said}"
    if not raised_by_hopflow(error):
        return f"not raised by hopflow: {said}"
    if isinstance(error, (*ANSWERS, RuleError)):
        return None
    names = (parameter, parameter.removesuffix("s"), *ALIASES.get(parameter, ()))
    words = f"({'|'.join(names)})".replace("_", "[ _-]")
    if not re.search(rf"(?<![a-z]){words}(?![a-z])", str(error), re.IGNORECASE):
        return f"does not name {parameter}: {said}"
    return None


def has_nan(value: Any, depth: int = 3) -> bool:
    """Whether a value, or a part of it, is not a number."""
    if isinstance(value, (float, complex, np.floating, np.complexfloating)):
        return bool(np.isnan(value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fc" and bool(np.isnan(value).any())
    if hasattr(value, "data_vars"):
        return any(has_nan(value[name].to_numpy()) for name in value.data_vars)
    if hasattr(value, "to_numpy"):
        return has_nan(value.to_numpy())
    if not depth:
        return False
    if isinstance(value, dict):
        return any(has_nan(part, depth - 1) for part in value.values())
    if isinstance(value, (list, tuple)):
        return any(has_nan(part, depth - 1) for part in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in dataclasses.fields(value)]
        return any(has_nan(getattr(value, name), depth - 1) for name in names)
    return False


def numbers_of(value: Any, depth: int = 3) -> list[float]:
    """Return the numbers in a value in a fixed order, times of computation left out."""
    if isinstance(value, (bool, np.bool_, int, float, np.number)):
        return [float(np.real(value))]
    if isinstance(value, np.ndarray):
        return np.real(value).ravel().astype(float).tolist() if value.dtype.kind in "iufc" else []
    if hasattr(value, "data_vars"):
        return [x for name in value.data_vars for x in numbers_of(value[name].to_numpy())]
    if hasattr(value, "__array__"):
        return numbers_of(np.asarray(value))
    if not depth:
        return []
    if isinstance(value, (list, tuple)):
        return [x for part in value for x in numbers_of(part, depth - 1)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in dataclasses.fields(value) if each.name not in UNREPEATABLE]
        return [x for name in names for x in numbers_of(getattr(value, name), depth - 1)]
    return numbers_of(tuple(value.params), depth - 1) if hasattr(value, "params") else []


UNREPEATABLE = {"seconds", "memory", "fluid_seconds", "packet_seconds", "history", "question"}
"""Fields with times of computation, and `Passage.question`, the arguments of the call."""


def same_answer(found: Any, expected: Any) -> bool:
    """Whether two answers have the same numbers, to the rounding of another order of operations."""
    left, right = numbers_of(found), numbers_of(expected)
    return len(left) == len(right) and np.allclose(left, right, rtol=1e-9, atol=1e-12, equal_nan=True)
