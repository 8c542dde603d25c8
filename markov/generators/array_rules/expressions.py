"""Expressions of a rule as functions of a frame, which evaluate them for all its states at once."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from markov.generators.array_rules.calling import call
from markov.generators.array_rules.containers import (
    Target,
    assign,
    contained,
    item,
    part_of,
    replaced,
    uniform_items,
    uniform_truth,
)
from markov.generators.array_rules.frames import (
    MISSING,
    Changed,
    Frame,
    ManyStates,
    holds_arrays,
    taken,
)
from markov.generators.array_rules.operations import (
    NotOnArraysError,
    UniformArray,
    binary,
    compared,
    truth,
    unary,
    wrapped,
)
from markov.generators.array_rules.selections import merged, selected

__all__ = ["Expressions", "Untranslatable", "Value", "refusal", "target_of"]

Value = Callable[[Frame], Any]
_BINARY: dict[type, Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
_UNARY: dict[type, Any] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert,
}  # fmt: skip
_COMPARED: dict[type, Any] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
MAY_RAISE = ast.Call, ast.Subscript, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.NamedExpr
"""What is evaluated only in the states in which Python evaluates it."""


class Untranslatable(Exception):
    """A part of a rule that has no translation."""


def refusal(node: ast.AST) -> Untranslatable:
    """Return the error for a part of a rule."""
    return Untranslatable(f"{type(node).__name__} in line {getattr(node, 'lineno', '?')}")


class Expressions:
    """Translates the expressions of one function.

    Parameters
    ----------
    local
        Its arguments and variables.
    """

    def __init__(self, local: set[str]) -> None:
        self.local = local

    def value(self, node: ast.expr) -> Value:
        """Return a function of the frame that evaluates an expression."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise refusal(node)
        found: Value = method(node)
        return found

    def _constant(self, node: ast.Constant) -> Value:
        value = node.value
        return lambda _frame: value

    def _name(self, node: ast.Name) -> Value:
        name = node.id
        if name in self.local:

            def local(frame: Frame) -> Any:
                found = frame.values.get(name, MISSING)
                return frame.get(name) if found is MISSING else found

            return local
        return lambda frame: wrapped(_global(frame.function, name))

    def _tuple(self, node: ast.Tuple | ast.List) -> Value:
        if any(isinstance(part, ast.Starred) for part in node.elts):
            return self._spread(node)
        parts = [self.value(part) for part in node.elts]
        kind = tuple if isinstance(node, ast.Tuple) else list
        return lambda frame: kind([part(frame) for part in parts])

    _list = _tuple

    def _spread(self, node: ast.Tuple | ast.List) -> Value:
        parts = [
            (
                isinstance(part, ast.Starred),
                self.value(part.value if isinstance(part, ast.Starred) else part),
            )
            for part in node.elts
        ]
        kind = tuple if isinstance(node, ast.Tuple) else list

        def value(frame: Frame) -> Any:
            found: list[Any] = []
            for starred, part in parts:
                each = part(frame)
                found.extend(uniform_items(each) if starred else [each])
            return kind(found)

        return value

    def _attribute(self, node: ast.Attribute) -> Value:
        owner, name = self.value(node.value), node.attr
        known: dict[Any, int] = {}

        def value(frame: Frame) -> Any:
            of = owner(frame)
            if type(of) is ManyStates:
                number = known.get(of.make)
                if number is None:
                    number = known[of.make] = of.number_of(name)
                found = of.values[number]
                return of.field(number) if found is None else found
            if type(of) is Changed:
                return of.field(of.base.number_of(name))
            if type(of) is np.ndarray or isinstance(of, UniformArray):
                raise NotOnArraysError(f"{name} of a number")
            return wrapped(getattr(of, name))

        return value

    def _binop(self, node: ast.BinOp) -> Value:
        operation, left, right = (
            _BINARY.get(type(node.op)),
            self.value(node.left),
            self.value(node.right),
        )
        if operation is None:
            raise refusal(node)
        return lambda frame: binary(operation, left(frame), right(frame))

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        operation, operand = _UNARY[type(node.op)], self.value(node.operand)
        return lambda frame: unary(operation, operand(frame))

    def _compare(self, node: ast.Compare) -> Value:
        if len(node.ops) > 1:
            sides = [node.left, *node.comparators]
            if any(isinstance(n, MAY_RAISE) for side in sides for n in ast.walk(side)):
                raise refusal(node)
            pairs = zip(sides, node.ops, sides[1:], strict=False)
            return self.value(ast.BoolOp(ast.And(), [ast.Compare(a, [op], [b]) for a, op, b in pairs]))
        op, left, right = node.ops[0], self.value(node.left), self.value(node.comparators[0])
        if isinstance(op, (ast.In, ast.NotIn)):
            inside = isinstance(op, ast.In)
            return lambda frame: contained(left(frame), right(frame), inside)
        operation = _COMPARED.get(type(op))
        if operation is None:  # identity of numbers is what arrays cannot answer
            raise refusal(node)
        return lambda frame: compared(operation, left(frame), right(frame))

    def _boolop(self, node: ast.BoolOp) -> Value:
        both = isinstance(node.op, ast.And)
        first = self.value(node.values[0])
        rest = [(self.value(part), _is_safe(part)) for part in node.values[1:]]

        def value(frame: Frame) -> Any:
            found = first(frame)
            for part, safe in rest:
                if type(found) is not np.ndarray:
                    if bool(truth(found)) != both:
                        return found
                    found = part(frame)
                    continue
                open_ = truth(found) if both else ~truth(found)  # where the next part counts
                found = _chosen(
                    frame,
                    open_,
                    (part, safe),
                    (partial(taken_at, found), True),
                )
            return found

        return value

    def _ifexp(self, node: ast.IfExp) -> Value:
        test = self.value(node.test)
        yes, no = ((self.value(part), _is_safe(part)) for part in (node.body, node.orelse))

        def value(frame: Frame) -> Any:
            condition = truth(test(frame))
            if type(condition) is not np.ndarray:
                return yes[0](frame) if condition else no[0](frame)
            return _chosen(frame, condition, yes, no)

        return value

    def _subscript(self, node: ast.Subscript) -> Value:
        owner = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            ends = [None if e is None else self.value(e) for e in (node.slice.lower, node.slice.upper, node.slice.step)]
            return lambda frame: part_of(owner(frame), [None if e is None else e(frame) for e in ends])
        index = self.value(node.slice)
        return lambda frame: item(owner(frame), index(frame))

    def _call(self, node: ast.Call) -> Value:
        function = self.value(node.func) if not isinstance(node.func, ast.Attribute) else None
        if any(keyword.arg is None for keyword in node.keywords):
            raise refusal(node)
        arguments = self._tuple(ast.Tuple(node.args, ast.Load()))
        names = [str(keyword.arg) for keyword in node.keywords]
        values = [self.value(keyword.value) for keyword in node.keywords]
        method = ""
        if isinstance(node.func, ast.Attribute):
            owner, method = self.value(node.func.value), node.func.attr

        def value(frame: Frame) -> Any:
            given = arguments(frame)
            named = dict(zip(names, [each(frame) for each in values], strict=True))
            if not method:
                return call(function(frame), given, named, frame)  # type: ignore[misc]
            of = owner(frame)
            if type(of) in (ManyStates, Changed):
                if method != "_replace" or given:
                    raise NotOnArraysError(f"{method} of a state")
                return replaced(of, named)
            if holds_arrays(of) and not (isinstance(of, tuple) and method == "_replace"):
                raise NotOnArraysError(f"{method} of a number for each state")
            return call(getattr(of, method), given, named, frame)

        return value

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp) -> Value:
        if len(node.generators) != 1 or node.generators[0].is_async:
            raise refusal(node)
        source = node.generators[0]
        items, into = self.value(source.iter), target_of(source.target)
        inner = Expressions(self.local | {n.id for n in ast.walk(source.target) if isinstance(n, ast.Name)})
        tests, element_of = [inner.value(test) for test in source.ifs], inner.value(node.elt)

        def value(frame: Frame) -> Any:
            found = []
            own = Frame(frame.count, {}, frame, slice(None))
            for each in uniform_items(items(frame)):
                assign(own, into, each)
                if all(uniform_truth(test(own)) for test in tests):
                    found.append(element_of(own))
            return found

        return value

    _generatorexp = _listcomp


def _is_safe(node: ast.expr) -> bool:
    return not any(isinstance(n, MAY_RAISE) for n in ast.walk(node))


def _global(function: FunctionType, name: str) -> Any:
    """Return what a name refers to that is no variable of a function."""
    code = function.__code__
    if code.co_freevars and name in code.co_freevars:
        cell = (function.__closure__ or ())[code.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:
            raise NotOnArraysError(f"{name} has no value") from None
    if name in function.__globals__:
        return function.__globals__[name]
    try:
        return getattr(builtins, name)
    except AttributeError:
        raise NotOnArraysError(f"{name} has no value") from None


def taken_at(kept: Any, frame: Frame) -> Any:
    """Return values of the frame above in the states of a frame narrowed from it."""
    return kept if type(kept) is not np.ndarray or len(kept) == frame.count else taken(kept, frame.places)


def _chosen(frame: Frame, condition: Any, yes: tuple[Value, bool], no: tuple[Value, bool]) -> Any:
    """Return the values of one of two expressions in each state, evaluated where Python evaluates them."""
    if yes[1] and no[1]:
        return selected(condition, yes[0](frame), no[0](frame))
    places = np.flatnonzero(condition)
    if len(places) == frame.count:
        return yes[0](frame)
    if not len(places):
        return no[0](frame)
    others = np.flatnonzero(~condition)
    parts = [(p, part[0](frame.narrowed(p))) for p, part in ((places, yes), (others, no))]
    return merged(frame.count, parts)


def target_of(node: ast.expr) -> Target:
    """Return the names of a target of assignments, nested as they are."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, (ast.Tuple, ast.List)):
        return [target_of(part) for part in node.elts]
    raise refusal(node)
