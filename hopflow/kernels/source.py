"""The source of a rule as a syntax tree, with file and line for messages."""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import inspect
import math
import numbers
import textwrap
import types
from collections.abc import Callable
from typing import Any

from hopflow.errors import KernelError
from hopflow.fork_safety import ForkSafeLock

__all__ = ["KernelError", "literal", "locals_of", "parse", "refuse", "syntax_tree"]

MAX_SOURCES = 256
"""Functions whose text is kept."""


def parse(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return a function's syntax tree without annotations, with the line numbers of its file."""
    function = inspect.unwrap(function)
    if isinstance(function, types.FunctionType):
        text, file, first = _source_of(function, function.__code__)
    else:  # perhaps without a hash
        text, file, first = _source_of.__wrapped__(function, None)
    tree: ast.FunctionDef = syntax_tree("\n" * (first - 1) + text).body[0]
    for node in ast.walk(tree):
        node.file = file  # type: ignore[attr-defined]
    if isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant):
        del tree.body[0]
    tree.decorator_list, tree.returns = [], None
    for argument in tree.args.args:
        argument.annotation = None
    return tree


@functools.lru_cache(MAX_SOURCES)
def _source_of(function: Callable[..., Any], code: types.CodeType | None) -> tuple[str, str, int]:  # noqa: ARG001
    """Return a function's text, its file, and its first line there; ``code``: that of the function, for the cache.

    A template stands in many kernels; to find a text, and to see that it is still that of the function, takes longer
    than to parse it.
    """
    name = getattr(function, "__qualname__", repr(function))
    missing = f"{name}: its source text is not available; write it in a file or a notebook cell"
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise KernelError(missing) from None
    if function.__name__ == "<lambda>":
        raise KernelError(f"{name}: a function written with def is expected")
    file = inspect.getsourcefile(function) or "?"
    text = textwrap.dedent("".join(lines))
    tree = _first_statement(text)
    if not isinstance(tree, ast.FunctionDef) or not _is_text_of(tree, function):
        if file == "<string>":  # since Python 3.13 this is the text of python -c
            raise KernelError(missing)
        why = "its file has changed since it was imported: import it again"
        raise KernelError(f"{file}:{first}: {name}: {why}")
    return text, file, first


def _first_statement(text: str) -> ast.stmt | None:
    """Return the syntax tree of a text's first statement; None where it is no Python."""
    try:
        return next(iter(syntax_tree(text).body), None)
    except SyntaxError:
        return None


def _is_text_of(tree: ast.FunctionDef, function: Callable[..., Any]) -> bool:
    """Whether a function was compiled from this tree, judged by its names and constants."""

    def fingerprint(code: types.CodeType) -> tuple[Any, ...]:
        numbers_used = [repr(c) for c in code.co_consts if not isinstance(c, (types.CodeType, str))]
        return code.co_varnames, {*code.co_names, *code.co_freevars}, numbers_used

    asserts = any(isinstance(node, ast.Assert) for node in ast.walk(tree))  # pytest rewrites them
    bare = copy.copy(tree)
    bare.decorator_list = []
    flags = function.__code__.co_flags & __future__.annotations.compiler_flag
    unit = ast.Module([bare], [])
    compiled = compile(unit, "<rule>", "exec", flags=flags, dont_inherit=True)
    codes = {c.co_name: c for c in compiled.co_consts if isinstance(c, types.CodeType)}
    code = codes[tree.name]  # since Python 3.14 one for the annotations precedes it
    same_name = tree.name == function.__code__.co_name
    return same_name and (asserts or fingerprint(code) == fingerprint(function.__code__))


def refuse(node: ast.AST, why: str) -> KernelError:
    """Return an error that names the file, the line and the text of a node."""
    location = f"{getattr(node, 'file', '?')}:{getattr(node, 'lineno', '?')}"
    return KernelError(f"{location}: {ast.unparse(node)}: {why}")


def locals_of(tree: ast.FunctionDef) -> set[str]:
    """Return the names of a function's arguments and local variables."""
    return {
        node.arg if isinstance(node, ast.arg) else node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    }


def literal(value: object) -> ast.expr | None:
    """Return the syntax tree of a number or a tuple of numbers; None for anything else."""
    if isinstance(value, tuple):
        items = [literal(item) for item in value]
        elements = [item for item in items if item is not None]
        return ast.Tuple(elements, ast.Load()) if len(elements) == len(items) else None
    if isinstance(value, bool):
        return ast.Constant(value)
    if isinstance(value, numbers.Integral):  # NumPy's and enumerations too
        return ast.Constant(int(value))
    if not isinstance(value, float):  # NumPy's float64 is one
        return None
    if math.isnan(value):
        return ast.Attribute(ast.Name("math", ast.Load()), "nan", ast.Load())
    return ast.Constant(float(value))


_parsing = ForkSafeLock()


def syntax_tree(text: str, mode: str = "exec") -> Any:
    """Return the result of `ast.parse`, under a lock.

    CPython 3.11 has one depth counter for all threads, and raises SystemError if a garbage collection lets another
    thread parse meanwhile.
    """
    with _parsing:
        return ast.parse(text, mode=mode)
