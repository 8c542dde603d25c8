"""Functions of a rule translated from their source into functions of frames, statement by statement.

1. The source is that of the function as it runs (`hopflow.kernels.source.parse` compares the two).
2. A condition that differs from state to state runs both branches, each on its own states; a loop goes over items that
   all states have. Variables that a branch assigned are put together after it.
3. What has no translation raises `Untranslatable`, what has none for the values that occur `NotOnArraysError`.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from hopflow.kernels.source import KernelError, parse
from markov.generators.array_rules.blocks import assigned_in, rearranged
from markov.generators.array_rules.expressions import (
    Expressions,
    Untranslatable,
    assign,
    refusal,
    target_of,
    uniform_items,
)
from markov.generators.array_rules.frames import MISSING, Frame
from markov.generators.array_rules.operations import NotOnArraysError, limited, merged, truth

__all__ = ["Function", "translated"]

NEXT, RETURN, BREAK, CONTINUE = "next", "return", "break", "continue"
DEPTH = 8  # of functions that call each other
MAX_NODES = 128  # of an expression: more might sum large whole numbers

Signal = tuple[str, Any]
Statement = Callable[[Frame], Signal]
GOES_ON: Signal = (NEXT, None)


class Function:
    """A function of a rule, for many states.

    Parameters
    ----------
    function
        As it was written.
    body
        Its statements.
    """

    def __init__(self, function: FunctionType, body: Statement) -> None:
        self.function, self.body = function, body
        code = function.__code__
        self.names = code.co_varnames[: code.co_argcount]

    def run(
        self, given: tuple[Any, ...], frame: Frame, named: dict[str, Any] | None = None
    ) -> Signal:
        """Run the function's statements for the states of its caller's frame."""
        values = self._bound(given, named)
        depth, above = 0, frame.caller
        while above is not None:
            depth, above = depth + 1, above.caller
        if depth > DEPTH:
            raise NotOnArraysError("functions that call each other")
        return self.body(
            frame.of_call(self.function, {name: limited(value) for name, value in values.items()})
        )

    def called(self, given: tuple[Any, ...], named: dict[str, Any], frame: Frame) -> Any:
        """Return the function's value for the states of a frame."""
        if self.function.__code__.co_flags & 0x20:  # a generator
            raise NotOnArraysError("a generator that is not delegated to")
        signal, value = self.run(given, frame, named)
        return value if signal == RETURN else None

    def _bound(self, given: tuple[Any, ...], named: dict[str, Any] | None) -> dict[str, Any]:
        if not named and len(given) == len(self.names):
            return dict(zip(self.names, given, strict=True))
        named = named or {}
        defaults = self.function.__defaults__ or ()
        values = dict(zip(self.names[len(self.names) - len(defaults) :], defaults, strict=True))
        values |= dict(zip(self.names, given, strict=False)) | named
        twice = set(self.names[: len(given)]) & named.keys()
        if len(given) > len(self.names) or twice or values.keys() != set(self.names):
            raise NotOnArraysError("arguments that do not fit")
        return values


@functools.lru_cache(maxsize=256)
def translated(function: FunctionType) -> Function:
    """Return a function for many states; NotOnArraysError where it has no translation."""
    code = function.__code__
    if (
        hasattr(function, "__wrapped__")
        or function.__kwdefaults__
        or code.co_kwonlyargcount
        or code.co_flags & 0x0C
    ):
        raise NotOnArraysError("a function with a wrapper, or arguments by name only")
    body = _translated(code, _Holder(function))
    if body is None:
        raise NotOnArraysError("a function that has no translation")
    return Function(function, body)


class _Holder:
    """A function beside its code, which alone is the key of its translation."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Holder)

    def __hash__(self) -> int:
        return 0


@functools.lru_cache(maxsize=256)
def _translated(code: CodeType, holder: _Holder) -> Statement | None:  # noqa: ARG001
    try:
        tree = parse(holder.function)
        if code.co_argcount != len(tree.args.args) or tree.args.posonlyargs:
            return None
        local = {
            n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        local |= {argument.arg for argument in tree.args.args}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.expr)
                and sum(isinstance(n, ast.expr) for n in ast.walk(node)) > MAX_NODES
            ):
                return None
        return _Statements(Expressions(local - _bound_inside(tree))).block(
            rearranged(tree.body, ast.Return)
        )
    except (KernelError, Untranslatable):
        return None


def _bound_inside(tree: ast.AST) -> set[str]:
    """Return names that comprehensions bind and nothing else assigns."""
    inside = [n.target for n in ast.walk(tree) if isinstance(n, ast.comprehension)]
    nodes = {id(n) for target in inside for n in ast.walk(target)}
    names = {n.id for target in inside for n in ast.walk(target) if isinstance(n, ast.Name)}
    stored = {
        n.id
        for n in ast.walk(tree)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and id(n) not in nodes
    }
    return names - stored - {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}


class _Statements:
    """Translates the statements of one function."""

    def __init__(self, expressions: Expressions) -> None:
        self.value = expressions.value

    def block(self, body: Sequence[ast.stmt]) -> Statement:
        """Return statements that run one after the other."""
        parts = [self.statement(statement) for statement in body]
        if len(parts) == 1:
            return parts[0]

        def run(frame: Frame) -> Signal:
            for part in parts:
                signal = part(frame)
                if signal is not GOES_ON:
                    return signal
            return GOES_ON

        return run

    def statement(self, node: ast.stmt) -> Statement:
        """Return one statement."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise refusal(node)
        found: Statement = method(node)
        return found

    def _pass(self, _node: ast.Pass) -> Statement:
        return lambda _frame: GOES_ON

    def _break(self, _node: ast.Break) -> Statement:
        return lambda _frame: (BREAK, None)

    def _continue(self, _node: ast.Continue) -> Statement:
        return lambda _frame: (CONTINUE, None)

    def _return(self, node: ast.Return) -> Statement:
        if node.value is None:
            return lambda _frame: (RETURN, None)
        value = self.value(node.value)
        return lambda frame: (RETURN, value(frame))

    def _raise(self, _node: ast.Raise) -> Statement:
        def run(_frame: Frame) -> Signal:
            raise NotOnArraysError("a rule raises")

        return run

    def _assert(self, node: ast.Assert) -> Statement:
        test = self.value(node.test)

        def run(frame: Frame) -> Signal:
            if not np.all(truth(test(frame))):
                raise NotOnArraysError("an assertion fails")
            return GOES_ON

        return run

    def _assign(self, node: ast.Assign) -> Statement:
        value, targets = self.value(node.value), [target_of(target) for target in node.targets]

        def run(frame: Frame) -> Signal:
            found = value(frame)
            for target in targets:
                assign(frame, target, found)
            return GOES_ON

        return run

    def _annassign(self, node: ast.AnnAssign) -> Statement:
        if node.value is None:
            return lambda _frame: GOES_ON
        return self._assign(ast.Assign([node.target], node.value))

    def _augassign(self, node: ast.AugAssign) -> Statement:
        if not isinstance(node.target, ast.Name):
            raise refusal(node)
        before = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        value = self.value(ast.copy_location(ast.BinOp(before, node.op, node.value), node))
        name, current = node.target.id, self.value(before)

        def run(frame: Frame) -> Signal:
            if isinstance(current(frame), (list, dict, set)):
                raise NotOnArraysError("a change in place")
            frame.values[name] = limited(value(frame))
            return GOES_ON

        return run

    def _expr(self, node: ast.Expr) -> Statement:
        if isinstance(node.value, ast.YieldFrom) and isinstance(node.value.value, ast.Call):
            return self._delegated(node.value.value)
        if not isinstance(node.value, ast.Yield):
            if isinstance(node.value, ast.Constant):
                return lambda _frame: GOES_ON
            raise refusal(node)
        given = node.value.value
        if not (isinstance(given, ast.Tuple) and len(given.elts) == 2):
            raise refusal(node)
        target, rate = map(self.value, given.elts)

        def run(frame: Frame) -> Signal:
            frame.receive(frame.all_places, frame.count, target(frame), rate(frame))
            return GOES_ON

        return run

    def _delegated(self, node: ast.Call) -> Statement:
        """Return ``yield from`` a generator that is a function of the rule too."""
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise refusal(node)
        function, arguments = self.value(node.func), [self.value(a) for a in node.args]

        def run(frame: Frame) -> Signal:
            generator, given = function(frame), tuple(a(frame) for a in arguments)
            if hasattr(generator, "__func__"):
                given, generator = (generator.__self__, *given), generator.__func__
            if type(generator) is not FunctionType or not generator.__code__.co_flags & 0x20:
                raise NotOnArraysError("yield from what is no generator function")
            translated(generator).run(given, frame)
            return GOES_ON

        return run

    def _for(self, node: ast.For) -> Statement:
        if node.orelse:
            raise refusal(node)
        items, target = self.value(node.iter), target_of(node.target)
        body = self.block(rearranged(node.body, ast.Continue))

        def run(frame: Frame) -> Signal:
            for item in uniform_items(items(frame)):
                assign(frame, target, item)
                signal = body(frame)
                if signal[0] == BREAK:
                    break
                if signal[0] == RETURN:
                    return signal
            return GOES_ON

        return run

    def _if(self, node: ast.If) -> Statement:
        test = self.value(node.test)
        yes = self.block(node.body) if node.body else self._pass(ast.Pass())
        no = self.block(node.orelse) if node.orelse else None
        names = assigned_in([*node.body, *node.orelse])

        def run(frame: Frame) -> Signal:
            condition = truth(test(frame))
            if type(condition) is not np.ndarray:
                if condition:
                    return yes(frame)
                return GOES_ON if no is None else no(frame)
            places = np.flatnonzero(condition)
            if len(places) == frame.count:
                return yes(frame)
            if not len(places):
                return GOES_ON if no is None else no(frame)
            inside = frame.narrowed(places)
            first = yes(inside)
            if no is None and not names and first is GOES_ON:
                return GOES_ON
            others = frame.narrowed(np.flatnonzero(~condition))
            second = GOES_ON if no is None else no(others)
            if first[0] != second[0]:
                raise NotOnArraysError("some states leave a block that others do not")
            if first[0] == RETURN:
                return RETURN, _together(frame, inside, others, first[1], second[1])
            for name in names:
                _put_together(frame, inside, others, name)
            return first

        return run


def _together(frame: Frame, inside: Frame, others: Frame, first: Any, second: Any) -> Any:
    if first is None and second is None:
        return None
    parts = [
        (f.places, v.fields() if hasattr(v, "fields") else v)
        for f, v in ((inside, first), (others, second))
    ]
    return merged(frame.count, parts)


def _put_together(frame: Frame, inside: Frame, others: Frame, name: str) -> None:
    """Give a variable its values in all states, where it has one in each branch; else it has none."""
    try:
        frame.values[name] = _together(frame, inside, others, inside.get(name), others.get(name))
    except NotOnArraysError:
        frame.values[name] = MISSING
