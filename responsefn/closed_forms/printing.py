"""Expressions of SymPy as Python code: for NumPy, and for compiled loops over plain numbers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import sympy as sp
from sympy.printing.numpy import NumPyPrinter
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.pycode import PythonCodePrinter

from responsefn.closed_forms.printed import Branch, Code, Statements

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["code_of", "statements"]

MAX_FACTORED_OPERATIONS = 60
"""Operations up to which common factors are extracted: this saves Tahoe and TFRC two to four operations,
but takes most of the time of longer formulas and costs CUBIC and PFTK operations."""


class _Powers:
    """Print quarter powers as square roots, and functions of this package by their names."""

    root: str

    def _print_Pow(self, node: sp.Pow, rational: bool = False, **_: Any) -> str:
        base, exponent = node.as_base_exp()
        quarters = 4 * exponent
        if not quarters.is_Integer or abs(exponent) > 8:
            return str(super()._print_Pow(node, rational=rational))  # type: ignore[misc]
        inner = self._print(base)  # type: ignore[attr-defined]
        n_factors, n_quarters = divmod(abs(int(quarters)), 4)
        factors = [f"({inner})"] * n_factors
        if n_quarters in (2, 3):
            factors.append(f"{self.root}({inner})")
        if n_quarters in (1, 3):
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

    def _print_Not(self, node: sp.Not) -> str:
        """SymPy 1.12 leaves no space before a name."""
        return f"not {self.parenthesize(node.args[0], PRECEDENCE['Not'])}"


class _Arrays(_Powers, NumPyPrinter):  # type: ignore[misc]
    root = "numpy.sqrt"

    def _print_Piecewise(self, node: sp.Piecewise) -> str:
        *branches, (last, _) = node.args
        text = self._print(last)
        for value, condition in reversed(branches):
            text = f"numpy.where({self._print(condition)}, {self._print(value)}, {text})"
        return str(text)

    def _print_And(self, node: sp.And) -> str:
        return self._nest_calls("numpy.logical_and", node)

    def _print_Or(self, node: sp.Or) -> str:
        return self._nest_calls("numpy.logical_or", node)

    def _nest_calls(self, function: str, node: sp.Basic) -> str:
        """Return nested calls of two arguments, which broadcast; SymPy's ``reduce`` of a tuple does not."""
        text, *others = map(self._print, node.args)
        for operand in others:
            text = f"{function}({text}, {operand})"
        return str(text)


@cache
def _printer(arrays: bool) -> Any:
    return (_Arrays if arrays else _Plain)({"fully_qualified_modules": True})


@cache
def code_of(expression: sp.Basic) -> Code:
    """Return an expression or a condition as code, printed on first use."""
    return Code(
        frozenset(str(symbol) for symbol in expression.free_symbols),
        not isinstance(expression, sp.Expr),  # a bare symbol is an Expr and a Boolean
        lambda arrays: _branches(expression, arrays),
        lambda: statements(expression, ("p",)),
    )


def _branches(expression: sp.Basic, arrays: frozenset[str]) -> list[Branch]:
    """Return the branches of a product's single `Piecewise`, each multiplied by the other factors."""
    factors = expression.args if isinstance(expression, sp.Mul) else (expression,)
    pieces = [factor for factor in factors if isinstance(factor, sp.Piecewise)]
    if not arrays or len(pieces) != 1:
        return [(None, statements(expression, arrays, arrays=True))]
    rest = sp.Mul(*(factor for factor in factors if factor is not pieces[0]))
    return [
        (
            statements(condition, arrays, arrays=True),
            statements(rest * value, arrays, arrays=True),
        )
        for value, condition in pieces[0].args
    ]


def statements(expression: sp.Basic, varying: Collection[str], *, arrays: bool = False) -> Statements:
    """Return an expression as assignments, with the terms without varying symbols first.

    Parameters
    ----------
    expression
        Rate, window, slope or condition.
    varying
        Names of the symbols whose values differ between entries.
    arrays
        Whether these are arrays (NumPy) or plain numbers (`math`).
    """
    text = _printer(arrays).doprint
    names = sorted(str(symbol) for symbol in expression.free_symbols)
    short = isinstance(expression, sp.Expr) and expression.count_ops() <= MAX_FACTORED_OPERATIONS
    simplified = sp.factor_terms(expression) if short else expression
    steps, (result,) = sp.cse([simplified], sp.numbered_symbols("x_"))
    moving, fixed = set(varying), _Fixed()
    before, inside = [], []
    for name, value in steps:
        if not fixed.depends(value, moving):
            before.append(f"{name} = {text(value)}")
            continue
        moving.add(str(name))
        value, new = fixed.take_out(value, moving)
        before += [f"{constant} = {text(term)}" for constant, term in new]
        inside.append(f"{name} = {text(value)}")
    result, new = fixed.take_out(sp.sympify(result), moving)
    before += [f"{constant} = {text(term)}" for constant, term in new]
    inside.append(f"value = {_into_out(result, text) if arrays else text(result)}")
    constants = tuple(name for name in names if name not in varying)
    return Statements(constants, tuple(before), tuple(inside))


class _Fixed:
    """Names of the terms and factors without a varying symbol, each computed once."""

    def __init__(self) -> None:
        self.names: dict[sp.Basic, sp.Symbol] = {}

    @staticmethod
    def depends(node: sp.Basic, moving: set[str]) -> bool:
        """Return whether an expression contains a varying symbol."""
        return any(str(symbol) in moving for symbol in node.free_symbols)

    def take_out(self, node: sp.Basic, moving: set[str]) -> tuple[sp.Basic, list[tuple[sp.Symbol, sp.Basic]]]:
        """Return an expression with its fixed parts replaced, and the new names."""
        n_names = len(self.names)
        reduced = self._replace_fixed(node, moving)
        return reduced, [(name, term) for term, name in list(self.names.items())[n_names:]]

    def _replace_fixed(self, node: sp.Basic, moving: set[str]) -> sp.Basic:
        if not self.depends(node, moving):
            return self._name(node)
        args = node.args
        if isinstance(node, (sp.Add, sp.Mul)):
            fixed = [operand for operand in args if not self.depends(operand, moving)]
            if len(fixed) > 1:
                args = (node.func(*fixed), *(operand for operand in args if operand not in fixed))
        return node.func(*(self._replace_fixed(operand, moving) for operand in args)) if args else node

    def _name(self, term: sp.Basic) -> sp.Basic:
        if not isinstance(term, sp.Expr) or isinstance(term, (sp.Number, sp.Symbol)):
            return term
        return self.names.setdefault(term, sp.Symbol(f"c_{len(self.names)}", positive=True))


def _into_out(result: sp.Basic, text: Any) -> str:
    """Return the code of a result that writes its last operations into the array ``out``."""
    if isinstance(result, (sp.Mul, sp.Pow)):
        above, below = sp.fraction(result)
        if below != 1:
            root = above.is_Atom and below.is_Pow and below.exp == sp.S.Half and below.base.is_Atom
            divisor = f"numpy.sqrt({text(below.base)}, out=out)" if root else text(below)
            return f"numpy.divide({text(above)}, {divisor}, out=out)"
        if isinstance(result, sp.Mul):
            first, rest = result.as_two_terms()
            return f"numpy.multiply({text(first)}, {text(rest)}, out=out)"
    return str(text(result))
