"""Expressions of SymPy evaluated in NumPy: code that is generated once, in pieces that fit the cache.

What does not depend on an array is computed once per call. The rest runs over pieces of some
ten thousand entries, so that what it computes on the way stays in the processor's cache, and of a
`Piecewise` only over the entries that take a branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from responsefn.responses.closed_forms.lambert import lambert_w
from responsefn.responses.closed_forms.plateau_ratio import solve_plateau
from responsefn.responses.closed_forms.printing import statements
from responsefn.responses.input_checks import PIECE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["evaluate", "names"]

LAMBERT_W = FunctionType(lambert_w.__code__, {"math": np}, "lambert_w")
"""The same steps for arrays: SciPy's `lambertw` works in complex numbers and takes ten times as long."""
Block = Mapping[str, Any]
Compute = Callable[[Block, Any], Any]


def evaluate(
    expression: sp.Basic, values: Mapping[str, Any], check: Callable[[Any], None] | None = None
) -> NDArray[Any]:
    """Evaluate an expression or a condition; ``values`` are numbers or arrays by the symbols' names.

    Values that the expression does not contain are ignored; the others broadcast. ``check`` is called with
    each piece of the only array before that is used.
    """
    used = {name: values[name] for name in names(expression)}
    arrays = {name: value for name, value in used.items() if np.ndim(value)}
    if len(arrays) > 1:  # a number that was broadcast stays one
        shape = np.broadcast_shapes(*(each.shape for each in arrays.values()))
        whole = {name: each for name, each in arrays.items() if each.shape == shape}
        moving = {name for name, each in whole.items() if any(each.strides)}
        for name in arrays.keys() - moving if moving else ():
            if not any(arrays[name].strides) and arrays[name].size:
                used[name] = arrays.pop(name).flat[0]
    # a bare symbol is an Expr and a Boolean
    kind = np.float64 if isinstance(expression, sp.Expr) else bool
    # log1p(-1) = -inf where p = 1, inside expm1, and in branches that are not taken there
    with np.errstate(all="ignore"):
        constants = {name: float(value) for name, value in used.items() if name not in arrays}
        program = _program(expression, frozenset(arrays))
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
def names(expression: sp.Basic) -> frozenset[str]:
    """Return the names of the symbols of an expression or a condition, which SymPy collects again in each call."""
    return frozenset(str(symbol) for symbol in expression.free_symbols)


@cache
def _program(expression: sp.Basic, arrays: frozenset[str]) -> Callable[[Block], Compute]:
    """Return a function of the constants that returns a function of pieces of the arrays."""
    factor, branches = _branches(expression)
    if not arrays or len(branches) == 1:
        return _straight(expression, arrays)
    parts = [
        (_straight(condition, arrays), _straight(factor * value, arrays))
        for value, condition in branches
    ]
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


def _branches(expression: sp.Basic) -> tuple[sp.Expr, list[tuple[sp.Expr, sp.Basic]]]:
    """Return the factor before the one `Piecewise` of a product, and its branches."""
    factors = expression.args if isinstance(expression, sp.Mul) else (expression,)
    pieces = [factor for factor in factors if isinstance(factor, sp.Piecewise)]
    if len(pieces) != 1:
        return sp.S.One, [(expression, sp.true)]
    rest = sp.Mul(*(factor for factor in factors if factor is not pieces[0]))
    return rest, [tuple(branch) for branch in pieces[0].args]


@cache
def _straight(expression: sp.Basic, arrays: frozenset[str]) -> Callable[[Block], Compute]:
    """As `_program`, with all branches computed everywhere."""
    code = statements(expression, arrays, arrays=True)
    taken = "".join(f"    {name} = constants[{name!r}]\n" for name in code.constants)
    read = "".join(f"        {name} = block[{name!r}]\n" for name in sorted(arrays))
    text = (
        "def bind(constants):\n"
        + taken
        + "".join(f"    {line}\n" for line in code.before)
        + "    def compute(block, out):\n"
        + "".join(line for line in [read] if not isinstance(expression, sp.Number))
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
