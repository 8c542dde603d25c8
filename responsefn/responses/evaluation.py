"""Expressions of SymPy evaluated in NumPy: code that is generated once, in pieces that fit the cache.

What does not depend on an array is computed once per call. The rest runs over pieces of some
thousand entries, so that what it computes on the way stays in the processor's cache, and of a
`Piecewise` only over the entries that take a branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from responsefn.responses.plateau_ratio import solve_plateau
from responsefn.responses.printing import statements

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["evaluate"]

PIECE = 16384
"""Entries that are computed at once."""
Block = Mapping[str, Any]


def evaluate(expression: sp.Basic, values: Mapping[str, Any]) -> NDArray[Any]:
    """Evaluate an expression or a condition; ``values`` are numbers or arrays by the symbols' names.

    Values that the expression does not contain are ignored; the others broadcast.
    """
    names = {str(symbol) for symbol in expression.free_symbols}
    used = {name: values[name] for name in names}
    arrays = {name: value for name, value in used.items() if np.ndim(value)}
    # a bare symbol is an Expr and a Boolean
    kind = np.float64 if isinstance(expression, sp.Expr) else bool
    # log1p(-1) = -inf where p = 1, inside expm1, and in branches that are not taken there
    with np.errstate(all="ignore"):
        constants = {name: float(value) for name, value in used.items() if name not in arrays}
        program = _program(expression, frozenset(arrays))
        if not arrays:
            return np.asarray(program(constants)({}), dtype=kind)
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
            out[part] = compute({name: each[part] for name, each in flat.items()})
        return out.reshape(shape)


@cache
def _program(
    expression: sp.Basic, arrays: frozenset[str]
) -> Callable[[Block], Callable[[Block], Any]]:
    """Return a function of the constants that returns a function of pieces of the arrays."""
    factor, branches = _branches(expression)
    if not arrays or len(branches) == 1:
        return _straight(expression, arrays)
    parts = [
        (_straight(condition, arrays), _straight(factor * value, arrays))
        for value, condition in branches
    ]
    some = min(arrays)

    def bind(constants: Block) -> Callable[[Block], Any]:
        bound = [(condition(constants), value(constants)) for condition, value in parts]

        def compute(block: Block) -> Any:
            out = np.full(len(block[some]), np.nan)
            open_places: Any = None  # all
            for condition, value in bound:
                taken = np.broadcast_to(condition(block), block[some].shape)
                if open_places is None and taken.all():
                    return value(block)
                if taken.any():
                    inside = {name: each[taken] for name, each in block.items()}
                    found = value(inside)
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
def _straight(
    expression: sp.Basic, arrays: frozenset[str]
) -> Callable[[Block], Callable[[Block], Any]]:
    """As `_program`, with all branches computed everywhere."""
    code = statements(expression, arrays, arrays=True)
    taken = "".join(f"    {name} = constants[{name!r}]\n" for name in code.constants)
    read = "".join(f"        {name} = block[{name!r}]\n" for name in sorted(arrays))
    text = (
        "def bind(constants):\n"
        + taken
        + "".join(f"    {line}\n" for line in code.before)
        + "    def compute(block):\n"
        + "".join(line for line in [read] if not isinstance(expression, sp.Number))
        + "".join(f"        {line}\n" for line in code.inside)
        + "        return value\n    return compute\n"
    )
    scope: dict[str, Any] = {
        "numpy": np,
        "math": math,
        "lambert_w": _lambert_w,
        "solve_plateau": solve_plateau,
    }
    exec(compile(text, "<closed form>", "exec"), scope)  # noqa: S102
    bind: Callable[[Block], Callable[[Block], Any]] = scope["bind"]
    return bind


def _lambert_w(x: Any) -> Any:
    from scipy.special import lambertw

    return lambertw(x).real
