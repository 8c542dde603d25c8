"""Functions of a rule translated from their source into functions of frames.

The source is that of the function as it runs: `hopflow.kernels.source.parse` compares the two. What has no translation
is refused once, what has none for the values that occur each time, both by `NotOnArraysError`.
"""

from __future__ import annotations

import ast
import functools
from types import CodeType, FunctionType
from typing import Any

from hopflow.kernels.source import KernelError, parse
from markov.generators.array_rules.blocks import rearranged
from markov.generators.array_rules.expressions import Expressions, Untranslatable
from markov.generators.array_rules.frames import Frame
from markov.generators.array_rules.operations import NotOnArraysError, limited
from markov.generators.array_rules.statements import RETURN, Signal, Statement, Statements

__all__ = ["Function", "translated"]

DEPTH = 8  # of functions that call each other
MAX_NODES = 128  # of an expression: more might sum large whole numbers


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

    def run(self, given: tuple[Any, ...], frame: Frame, named: dict[str, Any] | None = None) -> Signal:
        """Run the function's statements for the states of its caller's frame."""
        values = self._bound(given, named)
        depth, above = 0, frame.caller
        while above is not None:
            depth, above = depth + 1, above.caller
        if depth > DEPTH:
            raise NotOnArraysError("functions that call each other")
        return self.body(frame.of_call(self.function, {name: limited(value) for name, value in values.items()}))

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
    if hasattr(function, "__wrapped__") or function.__kwdefaults__ or code.co_kwonlyargcount or code.co_flags & 0x0C:
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
def _translated(code: CodeType, holder: _Holder) -> Statement | None:
    try:
        tree = parse(holder.function)
        if code.co_argcount != len(tree.args.args) or tree.args.posonlyargs:
            return None
        local = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        local |= {argument.arg for argument in tree.args.args}
        for node in ast.walk(tree):
            if isinstance(node, ast.expr) and sum(isinstance(n, ast.expr) for n in ast.walk(node)) > MAX_NODES:
                return None
        own = Expressions(local - _bound_inside(tree))
        return Statements(own).block(rearranged(tree.body, ast.Return))
    except (KernelError, Untranslatable):
        return None


def _bound_inside(tree: ast.AST) -> set[str]:
    """Return names that comprehensions bind and nothing else assigns."""
    inside = [n.target for n in ast.walk(tree) if isinstance(n, ast.comprehension)]
    nodes = {id(n) for target in inside for n in ast.walk(target)}
    names = {n.id for target in inside for n in ast.walk(target) if isinstance(n, ast.Name)}
    stored = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and id(n) not in nodes
    }
    return names - stored - {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
