"""Expressions of SymPy as Python text: for NumPy, and for compiled loops over plain numbers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy as sp
from sympy.printing.numpy import NumPyPrinter
from sympy.printing.pycode import PythonCodePrinter

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Statements", "statements"]


class Statements(NamedTuple):
    """An expression as assignments.

    Attributes
    ----------
    constants
        Names of the symbols that do not vary, in order.
    before
        Assignments that need only these.
    inside
        Assignments that need the varying symbols, the last one to ``value``.
    """

    constants: tuple[str, ...]
    before: tuple[str, ...]
    inside: tuple[str, ...]


class _Powers:
    """Quarter powers by square roots, and the functions of this package by their names."""

    root: str

    def _print_Pow(self, node: sp.Pow, rational: bool = False, **_: Any) -> str:
        base, exponent = node.as_base_exp()
        quarters = 4 * exponent
        if not quarters.is_Integer or abs(exponent) > 8:
            return str(super()._print_Pow(node, rational=rational))  # type: ignore[misc]
        inner = self._print(base)  # type: ignore[attr-defined]
        whole, rest = divmod(abs(int(quarters)), 4)
        factors = [f"({inner})"] * whole
        if rest in (2, 3):
            factors.append(f"{self.root}({inner})")
        if rest in (1, 3):
            factors.append(f"{self.root}({self.root}({inner}))")
        product = "*".join(factors)
        return f"(1.0/({product}))" if quarters < 0 else f"({product})"

    def _print_LambertW(self, node: sp.LambertW) -> str:
        return f"lambert_w({self._print(node.args[0])})"  # type: ignore[attr-defined]

    def _print_PlateauRatio(self, node: sp.Expr) -> str:
        inner = ", ".join(map(self._print, node.args))  # type: ignore[attr-defined]
        return f"solve_plateau({inner})"


class _Plain(_Powers, PythonCodePrinter):  # type: ignore[misc]
    root = "math.sqrt"


class _Arrays(_Powers, NumPyPrinter):  # type: ignore[misc]
    root = "numpy.sqrt"

    def _print_Piecewise(self, node: sp.Piecewise) -> str:
        *branches, (last, _) = node.args
        text = self._print(last)
        for value, condition in reversed(branches):
            text = f"numpy.where({self._print(condition)}, {self._print(value)}, {text})"
        return str(text)


@cache
def _printer(arrays: bool) -> Any:
    return (_Arrays if arrays else _Plain)({"fully_qualified_modules": True})


def statements(
    expression: sp.Basic, varying: Collection[str], *, arrays: bool = False
) -> Statements:
    """Return an expression as assignments, those apart that need none of the varying symbols.

    Parameters
    ----------
    expression
        Rate, window, slope or condition.
    varying
        Names of the symbols whose values change from entry to entry.
    arrays
        Whether they are arrays (NumPy), or plain numbers (`math`).
    """
    text = _printer(arrays).doprint
    names = sorted(str(symbol) for symbol in expression.free_symbols)
    whole = sp.factor_terms(expression) if isinstance(expression, sp.Expr) else expression
    steps, (result,) = sp.cse([whole], sp.numbered_symbols("x_"))
    moving = set(varying)
    before, inside = [], []
    for name, value in steps:
        if {str(symbol) for symbol in value.free_symbols} & moving:
            moving.add(str(name))
            inside.append(f"{name} = {text(value)}")
        else:
            before.append(f"{name} = {text(value)}")
    inside.append(f"value = {text(sp.sympify(result))}")
    constants = tuple(name for name in names if name not in varying)
    return Statements(constants, tuple(before), tuple(inside))
