"""Constructs in the source of rules whose compiled behaviour would differ from Python's."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["uncompilable"]

LOOPS = (ast.For, ast.While)
LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def uncompilable(rules: Callable[..., Any]) -> str | None:
    """Return why some rules are left to Python although a compiler would take them; None: nothing.

    Compiled, whole numbers have 64 bits, a negative whole power is zero, and a variable that was not
    assigned has some value. So these are left to Python: powers other than by a constant >= 0,
    products that grow in a loop, and variables that some way through the rules leaves unassigned.
    Functions that the rules call are looked at too.

    Raises
    ------
    KernelError
        When the text of the rules is not available.
    """
    seen: set[Any] = set()
    left = [inspect.unwrap(getattr(rules, "__func__", rules))]
    while left:
        function = left.pop()
        if function in seen:
            continue
        seen.add(function)
        if (why := _why_not(function)) is not None:
            return f"{function.__name__}: {why}"
        known = (function.__globals__.get(name) for name in function.__code__.co_names)
        left += [inspect.unwrap(value) for value in known if inspect.isfunction(value)]
    return None


@functools.lru_cache(maxsize=256)
def _why_not(function: Callable[..., Any]) -> str | None:
    from hopflow.kernels.source import parse

    tree = parse(function)
    return _power(tree) or _growing(tree) or _unassigned(tree)


def _power(tree: ast.FunctionDef) -> str | None:
    for node in ast.walk(tree):
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.Pow):
            by = node.right if isinstance(node, ast.BinOp) else node.value
            if not (isinstance(by, ast.Constant) and isinstance(by.value, int) and by.value >= 0):
                return f"{ast.unparse(node)} is a power"
    return None


def _growing(tree: ast.FunctionDef) -> str | None:
    """Return a product of a variable with itself in a loop."""
    loops = [node for node in ast.walk(tree) if isinstance(node, LOOPS)]
    for node in (inner for loop in loops for inner in ast.walk(loop)):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Mult, ast.LShift)):
            return f"{ast.unparse(node)} in a loop"
        if isinstance(node, ast.Assign):
            targets = {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            products = (n for n in ast.walk(node.value) if isinstance(n, ast.BinOp))
            grows = (p for p in products if isinstance(p.op, (ast.Mult, ast.LShift)))
            if any(_names(product) & targets for product in grows):
                return f"{ast.unparse(node)} in a loop"
    return None


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _unassigned(tree: ast.FunctionDef) -> str | None:
    """Return a variable that is read where not every way has assigned it."""
    local = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    arguments = {node.arg for node in ast.walk(tree.args) if isinstance(node, ast.arg)}
    try:
        _assigned(tree.body, arguments, local)
    except _Unassigned as found:
        return f"{found} may have no value"
    return None


class _Unassigned(Exception):
    """A name that may have no value where it is read."""


def _assigned(body: Iterable[ast.stmt], known: set[str], local: set[str]) -> set[str]:
    """Return the names that have a value after some statements, all of them where these leave."""
    for statement in body:
        if isinstance(statement, ast.If):
            _read(statement.test, known, local)
            ways = [
                _assigned(part, set(known), local) for part in (statement.body, statement.orelse)
            ]
            known = ways[0] & ways[1]
        elif isinstance(statement, LOOPS):
            inside = set(known)
            if isinstance(statement, ast.For):
                _read(statement.iter, known, local)
                inside |= _names(statement.target)
            else:
                _read(statement.test, known, local)
            _assigned(statement.body, inside, local)
            _assigned(statement.orelse, set(known), local)
        elif isinstance(statement, ast.Try):
            handled = [_assigned(part.body, set(known), local) for part in statement.handlers]
            whole = _assigned([*statement.body, *statement.orelse], set(known), local)
            known = set.intersection(whole, *handled)
            known = _assigned(statement.finalbody, known, local)
        elif isinstance(statement, ast.With):
            for item in statement.items:
                _read(item.context_expr, known, local)
                known = known | (_names(item.optional_vars) if item.optional_vars else set())
            known = _assigned(statement.body, known, local)
        elif isinstance(statement, ast.FunctionDef):
            known = known | {statement.name}
        elif isinstance(statement, ast.Match):
            _read(statement.subject, known, local)
            for case in statement.cases:
                bound = {n.name for n in ast.walk(case.pattern) if isinstance(n, ast.MatchAs)}
                _assigned(case.body, known | {name for name in bound if name}, local)
        else:
            _read(statement, known, local)
            if isinstance(statement, ast.AugAssign):
                _read(ast.parse(ast.unparse(statement.target), mode="eval").body, known, local)
            stored = (n for n in ast.walk(statement) if isinstance(n, ast.Name))
            known = known | {n.id for n in stored if isinstance(n.ctx, ast.Store)}
            if isinstance(statement, LEAVING):
                return known | local
    return known


def _read(node: ast.AST, known: set[str], local: set[str]) -> None:
    inner = {
        n.id
        for part in ast.walk(node)
        if isinstance(part, ast.comprehension)
        for n in ast.walk(part.target)
        if isinstance(n, ast.Name)
    }
    walrus = {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    for name in names:
        if name.id in local and name.id not in known | inner | walrus:
            raise _Unassigned(name.id)
