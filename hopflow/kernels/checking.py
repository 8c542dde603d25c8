"""Operations in the source of a rule replaced by those of `hopflow.kernels.checked`.

A rule compiled with them returns what Python returns, or raises an exception. What has no such replacement is
refused: functions of `math` whose results have other bits than Python's, ``round`` to some digits, ``sum`` from
a start, ``try``, ``is``, and stores into containers.
"""

from __future__ import annotations

import ast
from collections.abc import Set as AbstractSet
from typing import Any

from hopflow.kernels.source import refuse

__all__ = ["ARITHMETIC", "Checking"]

ARITHMETIC = "checked_arithmetic"
"""The name of `hopflow.kernels.checked` in the source of a kernel."""
LIMIT = 2**53  # whole numbers below are floats without rounding
_FINITE = {"acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "degrees", "erf"}
_FINITE |= {"erfc", "exp", "exp2", "expm1", "fabs", "log", "log10", "log1p", "log2", "radians"}
_FINITE |= {"sin", "sinh", "sqrt", "tan", "tanh"}
_TESTS = {"isfinite", "isinf", "isnan"}
_TO_WHOLE = {"floor", "ceil", "trunc"}
_CONSTANTS = {"pi", "e", "tau", "inf", "nan"}
_METHODS = {"append", "count", "get", "items", "keys", "values"}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.LShift: "shift_left",
    ast.RShift: "shift_right",
}


class Checking(ast.NodeTransformer):
    """Replace the operations of a rule whose names have been resolved.

    Parameters
    ----------
    own
        Names that are variables or functions of the rule, not builtins.
    bounded
        Variables whose fields, where they are whole numbers, are below 2^52.
    """

    def __init__(self, own: AbstractSet[str], bounded: AbstractSet[str]) -> None:
        self.own, self.bounded = own, bounded

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Refuse whole numbers that are no floats."""
        if isinstance(node.value, int) and abs(node.value) >= LIMIT:
            raise refuse(node, "a whole number beyond 2^53")
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Check sums, products, powers and shifts."""
        left, right = self.visit(node.left), self.visit(node.right)
        if self._is_small_sum(node):
            return ast.copy_location(ast.BinOp(left, node.op, right), node)
        return self._operation(node, node.op, left, right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Check an operation in place; on a number it is the same as an assignment."""
        if not isinstance(node.target, ast.Name):
            raise refuse(node, "a compiled rule may not change an element or an attribute")
        current = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = self._operation(node, node.op, current, self.visit(node.value))
        if isinstance(value, ast.BinOp):
            return ast.copy_location(ast.AugAssign(node.target, node.op, value.right), node)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def _operation(self, node: Any, op: ast.operator, left: Any, right: Any) -> ast.expr:
        if isinstance(op, ast.Pow):
            exponent = _constant(right)
            if exponent is None:
                return _call("power", node, left, right)
            if exponent >= 0:
                return _call("whole_power", node, left, right)
            return _call("power", node, left, ast.Constant(float(exponent)))
        if (name := _OPERATORS.get(type(op))) is not None:
            return _call(name, node, left, right)
        return ast.copy_location(ast.BinOp(left, op, right), node)

    def _is_small_sum(self, node: ast.BinOp) -> bool:
        operands = node.left, node.right
        return isinstance(node.op, (ast.Add, ast.Sub)) and all(map(self._is_small, operands))

    def _is_small(self, node: ast.expr) -> bool:
        """Whether an operand, if it is a whole number, is below 2^52."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node.value.id in self.bounded
        value = _constant(node)
        return value is not None and abs(value) < LIMIT // 2

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Check ``~``."""
        self.generic_visit(node)
        return _call("invert", node, node.operand) if isinstance(node.op, ast.Invert) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Check functions of `math`, conversions to whole numbers, sums and powers."""
        self.generic_visit(node)
        func = node.func
        if isinstance(func, ast.Attribute):
            return self._method(node, func)
        if not isinstance(func, ast.Name) or func.id in self.own:
            return node
        return self._builtin(node, func.id)

    def _method(self, node: ast.Call, func: ast.Attribute) -> ast.AST:
        owner = func.value.id if isinstance(func.value, ast.Name) else ""
        if owner == ARITHMETIC:
            return node
        if owner != "math":
            if func.attr not in _METHODS:
                raise refuse(node, "a compiled rule may not call this method")
            return node
        simple = len(node.args) == 1 and not node.keywords
        if func.attr == "pow" and len(node.args) == 2:
            return _call("power", node, _as_float(node.args[0]), node.args[1])
        if not simple or func.attr not in _FINITE | _TESTS | _TO_WHOLE:
            raise refuse(node, "a compiled rule may not use this function of math")
        if func.attr in _TO_WHOLE:
            node.args = [_call("convertible", node, node.args[0])]
        return _call("finite", node, node) if func.attr in _FINITE else node

    def _builtin(self, node: ast.Call, name: str) -> ast.AST:
        if name == "pow" and len(node.args) == 2:
            return self._operation(node, ast.Pow(), *node.args)
        if name not in {"int", "pow", "round", "sum"}:
            return node
        if len(node.args) != 1 or node.keywords:
            raise refuse(node, f"a compiled rule may call {name} with one number only")
        if name == "sum":
            return _call("total", node, node.args[0])
        node.args = [_call("convertible", node, node.args[0])]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Refuse names of `math` that are not known."""
        if isinstance(node.value, ast.Name) and node.value.id == "math":
            if node.attr not in _FINITE | _TESTS | _TO_WHOLE | _CONSTANTS | {"pow"}:
                raise refuse(node, "a compiled rule may not use this function of math")
            return node
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Check indices."""
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            raise refuse(node, "a compiled rule may not change an element")
        if isinstance(node.slice, ast.Slice):
            return node
        if _constant(node.slice) is None:
            return _call("item", node, node.value, node.slice)
        node.value = _call("sized", node, node.value, node.slice)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Refuse ``is``, which of two numbers depends on more than their values."""
        for op, right in zip(node.ops, node.comparators, strict=True):
            none = isinstance(right, ast.Constant) and right.value is None
            if isinstance(op, (ast.Is, ast.IsNot)) and not none:
                raise refuse(node, "a compiled rule may compare by `is` with None only")
        return self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """Refuse ``try``, which would catch the exceptions of the checks."""
        raise refuse(node.body[0], "a compiled rule may not catch exceptions")


def _constant(node: ast.expr) -> int | None:
    """Return the value of a whole number in the source."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _constant(node.operand)
        return None if value is None else -value
    whole = isinstance(node, ast.Constant) and type(node.value) is int
    return node.value if whole else None  # type: ignore[attr-defined]


def _as_float(node: ast.expr) -> ast.expr:
    return ast.BinOp(node, ast.Mult(), ast.Constant(1.0))


def _call(name: str, place: ast.AST, *arguments: ast.expr) -> ast.Call:
    """Return a call of a function of the checked arithmetic."""
    function = ast.Attribute(ast.Name(ARITHMETIC, ast.Load()), name, ast.Load())
    return ast.copy_location(ast.Call(function, list(arguments), []), place)
