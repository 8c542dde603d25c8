"""Statements of a rule, rearranged so that what follows a branch that leaves is part of the other branch."""

from __future__ import annotations

import ast
from collections.abc import Sequence

__all__ = ["assigned_in", "leaves", "rearranged"]

LEAVING = (ast.Return, ast.Continue, ast.Break, ast.Raise)


def rearranged(body: Sequence[ast.stmt], tail: type[ast.stmt] | None) -> list[ast.stmt]:
    """Return a block in which branches that leave are the last statement.

    ``if c: A; return`` before B becomes ``if c: A``, ``else: B``. ``tail`` is the statement that changes nothing at the
    end of the block, which is left out: ``return`` of a function, ``continue`` of a loop.
    """
    found: list[ast.stmt] = []
    for number, statement in enumerate(body):
        rest = list(body[number + 1 :])
        if isinstance(statement, LEAVING):
            if not (tail is not None and isinstance(statement, tail) and getattr(statement, "value", None) is None):
                found.append(statement)
            return found
        if not isinstance(statement, ast.If):
            found.append(statement)
            continue
        yes, no = list(statement.body), list(statement.orelse)
        joins = False
        if rest and leaves(yes):
            no, joins = no + rest, True
        elif rest and leaves(no):
            yes, joins = yes + rest, True
        own = tail if joins or not rest else None
        parts = rearranged(yes, own), rearranged(no, own)
        found.append(ast.copy_location(ast.If(statement.test, parts[0], parts[1]), statement))
        if joins:
            return found
    return found


def leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether nothing after a block runs."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return leaves(last.body) and leaves(last.orelse)
    return isinstance(last, LEAVING)


def assigned_in(body: Sequence[ast.stmt]) -> tuple[str, ...]:
    """Return the variables that statements assign."""
    return tuple(
        sorted({n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)})
    )
