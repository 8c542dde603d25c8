"""Closed forms of the catalogue as stored Python code, evaluated with NumPy, without SymPy.

``printed.json`` holds the code of each closed form, for each set of its symbols that may be arrays.
`responsefn.print_formulas` writes it.

Terms without an array are computed once per call. The rest runs over pieces of `PIECE` entries, so
that intermediate results stay in the processor's cache. A branch of a `Piecewise` is computed only
for the entries that take it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from hopflow.parameters import is_overridden
from hopflow.public_names import left_out
from responsefn.closed_forms.functions import lambert_w, solve_plateau
from responsefn.inputs import PIECE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "DERIVATIONS",
    "FILE",
    "Branch",
    "Code",
    "PrintedFormula",
    "Statements",
    "evaluate",
    "formula_of",
    "use_printed",
]

FILE = Path(__file__).with_name("printed.json")
DERIVATIONS: dict[str, Callable[[], Any]] = {}
"""Functions that derive the printed closed forms with SymPy, by the keys of the file."""
F = TypeVar("F")
LAMBERT_W = FunctionType(lambert_w.__code__, {"math": np}, "lambert_w")
"""`lambert_w` for arrays: SciPy's `lambertw` computes in complex numbers and takes ten times as long."""
Block = Mapping[str, Any]
Compute = Callable[[Block, Any], Any]


class Statements(NamedTuple):
    """An expression as assignments.

    Attributes
    ----------
    constants
        Names of the constant symbols, in order.
    before
        Assignments that need only the constants.
    inside
        Assignments that need the varying symbols, the last one to ``value``; for arrays, its last
        operation may write into ``out``, an array or None.
    """

    constants: Sequence[str]
    before: Sequence[str]
    inside: Sequence[str]


Branch = tuple[Statements | None, Statements]
"""Condition and value of a branch of an expression; the condition is None for a single branch."""


@dataclass(frozen=True, eq=False)
class Code:
    """An expression or a condition as Python code.

    Attributes
    ----------
    names
        Names of its symbols.
    is_condition
        Whether its values are truth values.
    branches
        Function that returns the code for NumPy, given the names of the symbols that are arrays.
    plain
        Function that returns the code for plain numbers, with ``p`` varying.
    """

    names: frozenset[str]
    is_condition: bool
    branches: Callable[[frozenset[str]], Sequence[Branch]]
    plain: Callable[[], Statements]


def evaluate(code: Code, values: Mapping[str, Any], check: Callable[[Any], None] | None = None) -> NDArray[Any]:
    """Evaluate an expression or a condition; ``values`` are numbers or arrays by the symbols' names.

    Values that the expression does not contain are ignored; the others broadcast. With one array, ``check`` is
    called with each piece of it before its use.
    """
    used = {name: values[name] for name in code.names}
    arrays = {name: value for name, value in used.items() if np.ndim(value)}
    if len(arrays) > 1:  # an array that is a broadcast number counts as a number
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
        full_arrays = {name: array for name, array in arrays.items() if array.shape == shape}
        moving = {name for name, array in full_arrays.items() if any(array.strides)}
        for name in arrays.keys() - moving if moving else ():
            if not any(arrays[name].strides) and arrays[name].size:
                used[name] = arrays.pop(name).flat[0]
    kind = bool if code.is_condition else np.float64
    # log1p(-1) = -inf where p = 1, inside expm1, and in branches that are not taken there
    with np.errstate(all="ignore"):
        constants = {name: float(value) for name, value in used.items() if name not in arrays}
        program = _program(code, frozenset(arrays))
        if not arrays:
            return np.asarray(program(constants)({}, None), dtype=kind)
        if len(arrays) == 1:
            ((name, one),) = arrays.items()
            shape, flat = one.shape, {name: one.reshape(-1)}
        else:
            together = np.broadcast_arrays(*arrays.values())
            shape = together[0].shape
            flat = {name: array.reshape(-1) for name, array in zip(arrays, together, strict=True)}
        out = np.empty(math.prod(shape), dtype=kind)
        compute = program(constants)
        for low in range(0, out.size, PIECE):
            part = slice(low, low + PIECE)
            destination = out[part]
            block = {name: array[part] for name, array in flat.items()}
            if check is not None:
                check(*block.values())
            result = compute(block, destination)
            if result is not destination:
                destination[...] = result
        return out.reshape(shape)


@cache
def _program(code: Code, arrays: frozenset[str]) -> Callable[[Block], Compute]:
    """Return a function of the constants that returns a function of pieces of the arrays."""
    parts = []
    for condition, value in code.branches(arrays):
        if condition is None:
            return _straight(value, arrays)
        parts.append((_straight(condition, arrays), _straight(value, arrays)))
    any_array = min(arrays)

    def bind(constants: Block) -> Compute:
        bound = [(condition(constants), value(constants)) for condition, value in parts]

        def compute(block: Block, destination: Any) -> Any:
            out: Any = None
            open_indices: Any = None  # all
            for condition, value in bound:
                taken = np.broadcast_to(condition(block, None), block[any_array].shape)
                if open_indices is None and taken.all():
                    return value(block, destination)
                if out is None:
                    out = np.full(len(block[any_array]), np.nan)
                if taken.any():
                    inside = {name: column[taken] for name, column in block.items()}
                    result = value(inside, None)
                    if open_indices is None:
                        out[taken] = result
                        open_indices = np.flatnonzero(~taken)
                    else:
                        out[open_indices[taken]] = result
                        open_indices = open_indices[~taken]
                    if not len(open_indices):
                        break
                    block = {name: column[~taken] for name, column in block.items()}
            return out

        return compute

    return bind


def _straight(code: Statements, arrays: frozenset[str]) -> Callable[[Block], Compute]:
    """Compile statements without branches; arguments and result as for `_program`."""
    taken = "".join(f"    {name} = constants[{name!r}]\n" for name in code.constants)
    read = "".join(f"        {name} = block[{name!r}]\n" for name in sorted(arrays))
    text = (
        "def bind(constants):\n"
        + taken
        + "".join(f"    {line}\n" for line in code.before)
        + "    def compute(block, out):\n"
        + read
        + "".join(f"        {line}\n" for line in code.inside)
        + "        return value\n    return compute\n"
    )
    scope: dict[str, Any] = {
        "numpy": np,
        "math": math,
        "lambert_w": LAMBERT_W,
        "solve_plateau": solve_plateau,
    }
    exec(compile(text, "<closed form>", "exec"), scope)  # noqa: S102
    bind: Callable[[Block], Compute] = scope["bind"]
    return bind


class PrintedFormula:
    """A `Formula` whose code is in the file; SymPy derives its expressions on first use."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._codes: dict[str, Code | None] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # of protocols such as copying
            raise AttributeError(name)
        return getattr(self._formula, name)

    @cached_property
    def _formula(self) -> Any:
        try:
            return DERIVATIONS[self._key]()
        except ImportError as error:
            raise left_out(error, "symbolic closed forms of responses") from None

    @property
    def everywhere(self) -> bool:
        """Whether the closed form holds for all loss event rates."""
        return self.code("condition") is None

    def code(self, name: str) -> Code | None:
        """Return an attribute as Python code, or None without one; see `Formula.code`."""
        if name not in self._codes:
            entry = _contents()[self._key][name]
            self._codes[name] = entry and self._load_code(name, entry)
        return self._codes[name]

    def _load_code(self, name: str, entry: dict[str, Any]) -> Code:
        def branches(arrays: frozenset[str]) -> list[Branch]:
            key = " ".join(sorted(arrays))
            if key not in entry["branches"]:  # a parameter is an array
                return list(self._formula.code(name).branches(arrays))
            return [
                (condition and Statements(*condition), Statements(*value))
                for condition, value in entry["branches"][key]
            ]

        def plain() -> Statements:
            return Statements(*entry["plain"])

        return Code(frozenset(entry["names"]), entry["is_condition"], branches, plain)


def use_printed(
    *arguments: tuple[Any, ...],
) -> Callable[[Callable[..., F]], Callable[..., F]]:
    """Return a decorator of a function that derives a closed form: its results come from the file.

    Parameters
    ----------
    *arguments
        Arguments of the function for which the file has the result. SymPy derives results for others.
    """

    def decorate(derive: Callable[..., F]) -> Callable[..., F]:
        keys = {
            argument_tuple: " ".join([derive.__name__.strip("_"), *map(str, argument_tuple)])
            for argument_tuple in arguments
        }
        for argument_tuple, key in keys.items():
            DERIVATIONS[key] = partial(derive, *argument_tuple)

        @cache
        def formula(*arguments: Any) -> F:
            if keys.get(arguments) in _contents():
                return cast("F", PrintedFormula(keys[arguments]))
            return derive(*arguments)

        return formula

    return decorate


@cache
def _contents() -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(FILE.read_text(encoding="utf-8"))["formulas"])


@lru_cache(maxsize=1024)
def formula_of(response: Any) -> PrintedFormula | None:
    """Return the `Formula` of a `Response`, stored or derived, once for equal objects; None without a closed form.

    A closed form that a class inherits is none of its functions where it changes them.
    """
    if is_overridden(type(response), "formula", response.stated_functions):
        return None
    try:
        formula: PrintedFormula | None = response.formula()
    except ImportError as error:
        raise left_out(error, "closed forms of responses") from None
    return formula
