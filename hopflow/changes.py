"""Increments of a rule's state, derived from the rule's source without cancellation.

For a window of 10^5 packets that grows by 10^-5 per ACK, ``s.cwnd + x`` retains six digits of the
increment, and so does its difference from the old window. Here ``return s._replace(cwnd=s.cwnd + x)``
is rewritten to return x itself, through `where`, `maximum`, `minimum`, local names and functions
that return the new state, so that the increments of many ACKs can be summed without loss of digits.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Sequence

from hopflow.functions import maximum, minimum, where

__all__ = ["NoSumError", "increments_of"]


class NoSumError(Exception):
    """The function does not return its state as a sum that can be rewritten."""


def increments_of(
    tree: ast.FunctionDef,
    fields: Sequence[str],
    look_up: Callable[[str], object],
    helper: Callable[[str], str],
    omitted: Collection[str] = (),
) -> ast.FunctionDef:
    """Return the syntax tree of a function that computes the increments of the state's fields.

    Parameters
    ----------
    tree
        The rule's function; its first parameter is the state. It is not modified.
    fields
        Fields of the state.
    look_up
        Returns the object that a global name refers to.
    helper
        Returns the name of the increment function of another function; may raise `NoSumError`.
    omitted
        Fields whose increments are not needed: they are zero, and need not be sums.

    Raises
    ------
    NoSumError
        For a function that is not straight-line code ending in ``return s._replace(...)`` or in a
        call of such a function with ``s``.
    """
    *body, last = tree.body
    state = tree.args.args[0].arg
    if not isinstance(last, ast.Return) or not all(isinstance(x, ast.Assign) for x in body):
        raise NoSumError
    stored = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    if len(set(stored)) < len(stored) or {arg.arg for arg in tree.args.args} & set(stored):
        raise NoSumError
    call = last.value
    if not isinstance(call, ast.Call):
        raise NoSumError
    call = copy.deepcopy(call)
    if isinstance(call.func, ast.Name):
        if not call.args or not _is_name(call.args[0], state):
            raise NoSumError
        call.func.id = helper(call.func.id)
    elif isinstance(call.func, ast.Attribute) and call.func.attr == "_replace":
        keywords = call.keywords
        new_values = {keyword.arg: keyword.value for keyword in keywords}
        if not _is_name(call.func.value, state) or None in new_values or call.args:
            raise NoSumError
        names = {
            target.id: assign.value
            for assign in body
            if isinstance(assign, ast.Assign)
            for target in assign.targets
            if isinstance(target, ast.Name)
        }
        subtract = _Increment(state, names, look_up)
        changed_fields = new_values.keys() - set(omitted)
        call.keywords = [
            ast.keyword(
                name,
                subtract(new_values[name], name) if name in changed_fields else ast.Constant(0.0),
            )
            for name in fields
        ]
        call.keywords += [k for k in keywords if k.arg not in fields]  # refused later
    else:
        raise NoSumError
    rewritten = copy.copy(tree)
    rewritten.body = [*copy.deepcopy(body), ast.copy_location(ast.Return(call), last)]
    return rewritten


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


class _Increment:
    """Difference between an expression and a field of the state, by cancellation of terms."""

    def __init__(self, state: str, names: dict[str, ast.expr], look_up: Callable[[str], object]) -> None:
        self.state, self.names, self.look_up = state, names, look_up

    def __call__(self, node: ast.expr, field: str) -> ast.expr:
        """Return ``node - s.field``, with the term cancelled if it occurs in ``node``.

        Raises `NoSumError` if another field is a term, or if the expression otherwise depends on the
        state: related fields must be rounded in the same way.
        """
        increment = self.without(node, field)
        if increment is not None:
            return increment
        if self.of_state(node):
            raise NoSumError
        field_value = ast.Attribute(ast.Name(self.state, ast.Load()), field, ast.Load())
        return ast.copy_location(ast.BinOp(copy.deepcopy(node), ast.Sub(), field_value), node)

    def of_state(self, node: ast.expr) -> bool:
        """Return whether an expression depends on the state."""
        used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        return self.state in used or any(self.of_state(self.names[n]) for n in used & {*self.names})

    def without(self, node: ast.expr, field: str) -> ast.expr | None:
        """Return ``node`` without its term ``s.field``; None if it has no term of the state."""
        if isinstance(node, ast.Attribute) and _is_name(node.value, self.state):
            if node.attr != field:
                raise NoSumError
            return ast.Constant(0.0)
        if isinstance(node, ast.Name) and node.id in self.names:
            return self.without(self.names[node.id], field)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            left, right = self.without(node.left, field), self.without(node.right, field)
            if left is None and right is None:
                return None
            if right is None:
                zero = isinstance(left, ast.Constant) and isinstance(node.op, ast.Add)
                term = copy.deepcopy(node.right)
                return term if zero or left is None else ast.BinOp(left, node.op, term)
            if left is None and isinstance(node.op, ast.Add):
                return ast.BinOp(copy.deepcopy(node.left), node.op, right)
            raise NoSumError
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            target = self.look_up(node.func.id)
            first = 1 if target is where else 0
            if target in (where, maximum, minimum):
                parts = [self.without(part, field) for part in node.args[first:]]
                if any(part is not None for part in parts):
                    increments = [self(part, field) for part in node.args[first:]]
                    return ast.Call(node.func, [*copy.deepcopy(node.args[:first]), *increments], [])
        return None
