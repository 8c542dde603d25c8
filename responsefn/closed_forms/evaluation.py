"""Closed forms as Python code, evaluated with NumPy in pieces that fit the cache. SymPy is not needed.

What does not depend on an array is computed once per call. The rest runs over pieces of some
ten thousand entries, so that what it computes on the way stays in the processor's cache, and of a
`Piecewise` only over the entries that take a branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from responsefn.closed_forms.lambert import lambert_w
from responsefn.closed_forms.plateau_ratio import solve_plateau
from responsefn.inputs import PIECE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Branch", "Code", "Statements", "evaluate"]

LAMBERT_W = FunctionType(lambert_w.__code__, {"math": np}, "lambert_w")
"""The same steps for arrays: SciPy's `lambertw` works in complex numbers and takes ten times as long."""
Block = Mapping[str, Any]
Compute = Callable[[Block, Any], Any]


class Statements(NamedTuple):
    """An expression as assignments.

    Attributes
    ----------
    constants
        Names of the symbols that do not vary, in order.
    before
        Assignments that need only these.
    inside
        Assignments that need the varying symbols, the last one to ``value``; for arrays, its last
        operation may write into ``out``, an array or None.
    """

    constants: Sequence[str]
    before: Sequence[str]
    inside: Sequence[str]


Branch = tuple[Statements | None, Statements]
"""Condition and value of a branch of an expression; the condition is None where there is one branch."""


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
        Function that returns the code for NumPy, given which symbols are arrays.
    plain
        Function that returns the code for numbers, of which ``p`` varies.
    """

    names: frozenset[str]
    is_condition: bool
    branches: Callable[[frozenset[str]], Sequence[Branch]]
    plain: Callable[[], Statements]


def evaluate(
    code: Code, values: Mapping[str, Any], check: Callable[[Any], None] | None = None
) -> NDArray[Any]:
    """Evaluate an expression or a condition; ``values`` are numbers or arrays by the symbols' names.

    Values that the expression does not contain are ignored; the others broadcast. ``check`` is called with
    each piece of the only array before that is used.
    """
    used = {name: values[name] for name in code.names}
    arrays = {name: value for name, value in used.items() if np.ndim(value)}
    if len(arrays) > 1:  # a number that was broadcast stays one
        shape = np.broadcast_shapes(*(each.shape for each in arrays.values()))
        whole = {name: each for name, each in arrays.items() if each.shape == shape}
        moving = {name for name, each in whole.items() if any(each.strides)}
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
            flat = {name: each.reshape(-1) for name, each in zip(arrays, together, strict=True)}
        out = np.empty(math.prod(shape), dtype=kind)
        compute = program(constants)
        for low in range(0, out.size, PIECE):
            part = slice(low, low + PIECE)
            place = out[part]
            block = {name: each[part] for name, each in flat.items()}
            if check is not None:
                check(*block.values())
            found = compute(block, place)
            if found is not place:
                place[...] = found
        return out.reshape(shape)


@cache
def _program(code: Code, arrays: frozenset[str]) -> Callable[[Block], Compute]:
    """Return a function of the constants that returns a function of pieces of the arrays."""
    parts = []
    for condition, value in code.branches(arrays):
        if condition is None:
            return _straight(value, arrays)
        parts.append((_straight(condition, arrays), _straight(value, arrays)))
    some = min(arrays)

    def bind(constants: Block) -> Compute:
        bound = [(condition(constants), value(constants)) for condition, value in parts]

        def compute(block: Block, place: Any) -> Any:
            out: Any = None
            open_places: Any = None  # all
            for condition, value in bound:
                taken = np.broadcast_to(condition(block, None), block[some].shape)
                if open_places is None and taken.all():
                    return value(block, place)
                if out is None:
                    out = np.full(len(block[some]), np.nan)
                if taken.any():
                    inside = {name: each[taken] for name, each in block.items()}
                    found = value(inside, None)
                    if open_places is None:
                        out[taken] = found
                        open_places = np.flatnonzero(~taken)
                    else:
                        out[open_places[taken]] = found
                        open_places = open_places[~taken]
                    if not len(open_places):
                        break
                    block = {name: each[~taken] for name, each in block.items()}
            return out

        return compute

    return bind


def _straight(code: Statements, arrays: frozenset[str]) -> Callable[[Block], Compute]:
    """As `_program`, with all branches computed everywhere."""
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
