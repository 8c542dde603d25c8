"""Variables of rules that may have no value where they are read: compiled, they would have some value."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hopflow.kernels.source import syntax_tree

__all__ = ["uncompilable"]

LOOPS = (ast.For, ast.While)
LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def uncompilable(rules: Callable[..., Any]) -> str | None:
    """Return why some rules are left to Python although a compiler would take them; None: nothing.

    Compiled, a variable that was not assigned has some value, and Python raises an exception. So rules
    are left to Python of which some way leaves a variable unassigned. Functions that the rules call are
    looked at too. For the operations of rules see `hopflow.kernels.checking`.

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
        left += [inspect.unwrap(value) for value in _used(function) if inspect.isfunction(value)]
    return None


def _used(function: Any) -> Iterator[Any]:
    """Yield what the names of a function refer to that are not its own."""
    yield from map(function.__globals__.get, function.__code__.co_names)
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # not assigned yet
            yield cell.cell_contents


@functools.lru_cache(maxsize=256)
def _why_not(function: Callable[..., Any]) -> str | None:
    from hopflow.kernels.source import parse

    return _unassigned(parse(function))


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
                _read(syntax_tree(ast.unparse(statement.target), mode="eval").body, known, local)
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
