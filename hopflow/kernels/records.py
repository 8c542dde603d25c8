"""Records among the arguments of a kernel: passed as plain tuples, which Numba tells apart at once, and made again inside.

A call of a compiled function with a NamedTuple has its type found again by Python, which takes longer than a loop over
a small grid.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

from hopflow.kernels.source import syntax_tree

__all__ = ["Layout", "definitions", "layout_of", "plain", "rebuild"]


class Layout(NamedTuple):
    """What an argument is made of.

    Attributes
    ----------
    name, fields
        Of a NamedTuple; both empty for a plain tuple.
    parts
        The layouts of its parts; None: no record, and none in it.
    """

    name: str
    fields: tuple[str, ...]
    parts: tuple[Layout | None, ...]


def layout_of(value: object) -> Layout | None:
    """Return the layout of an argument; None where there is no record in it.

    >>> class Point(NamedTuple):
    ...     x: float
    ...     y: float
    >>> layout_of(Point(1.0, 2.0))
    Layout(name='Point', fields=('x', 'y'), parts=(None, None))
    >>> layout_of((1.0, 2.0)) is None
    True
    """
    if not isinstance(value, tuple):
        return None
    fields: tuple[str, ...] = getattr(value, "_fields", ())
    parts = tuple(map(layout_of, value))
    if not fields and not any(parts):
        return None
    return Layout(type(value).__name__ if fields else "", fields, parts)


def plain(value: Any) -> Any:
    """Return an argument with plain tuples in place of records."""
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


def definitions(layouts: Sequence[Layout | None]) -> dict[str, tuple[str, ...]]:
    """Return the fields of all records by the name of their type.

    Raises
    ------
    ValueError
        Where two types of one name have different fields.
    """
    found: dict[str, tuple[str, ...]] = {}
    for layout in layouts:
        if layout is None:
            continue
        own = {layout.name: layout.fields} if layout.name else {}
        for name, fields in (own | definitions(layout.parts)).items():
            if found.setdefault(name, fields) != fields:
                raise ValueError(f"records = {name}: two types of this name differ in their fields")
    return found


def rebuild(tree: ast.FunctionDef, layouts: Sequence[Layout | None]) -> ast.FunctionDef:
    """Return a function that takes plain tuples, and makes records of them first."""
    head = []
    for argument, layout in zip(tree.args.args, layouts, strict=True):
        if layout is not None:
            name, argument.arg = argument.arg, f"given_{argument.arg}"
            head.append(f"{name} = {_made(layout, argument.arg)}")
    tree.body = [*syntax_tree("\n".join(head)).body, *tree.body]
    return tree


def _made(layout: Layout | None, text: str) -> str:
    if layout is None:
        return text
    parts = [_made(part, f"{text}[{n}]") for n, part in enumerate(layout.parts)]
    return f"{layout.name}({', '.join(parts)}{',' if not layout.name else ''})"
