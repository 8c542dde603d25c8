"""Statements of a rule as functions of a frame, which run for all its states at once.

A condition that differs from state to state runs both branches, each on its own states; a loop goes over items that all
states have. Variables that a branch assigned are put together after it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from markov.generators.array_rules.blocks import assigned_in, rearranged
from markov.generators.array_rules.containers import assign, uniform_items
from markov.generators.array_rules.expressions import Expressions, refusal, target_of
from markov.generators.array_rules.frames import MISSING, Frame
from markov.generators.array_rules.operations import NotOnArraysError, limited, truth
from markov.generators.array_rules.selections import merged

__all__ = ["RETURN", "Signal", "Statement", "Statements"]

NEXT, RETURN, BREAK, CONTINUE = "next", "return", "break", "continue"
Signal = tuple[str, Any]
Statement = Callable[[Frame], Signal]
GOES_ON: Signal = (NEXT, None)


class Statements:
    """Translates the statements of one function.

    Parameters
    ----------
    expressions
        Translates its expressions.
    """

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
            frame.translate(generator).run(given, frame)
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
    parts = [(f.places, v.fields() if hasattr(v, "fields") else v) for f, v in ((inside, first), (others, second))]
    return merged(frame.count, parts)


def _put_together(frame: Frame, inside: Frame, others: Frame, name: str) -> None:
    """Give a variable its values in all states, where it has one in each branch; else it has none."""
    try:
        frame.values[name] = _together(frame, inside, others, inside.get(name), others.get(name))
    except NotOnArraysError:
        frame.values[name] = MISSING
