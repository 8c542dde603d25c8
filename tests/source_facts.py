"""What is in the source files of the packages, each of which is parsed once: for tests of layers and names."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["Facts", "Import", "facts", "given_names", "imports_of"]


class Import(NamedTuple):
    """One imported module, or a module and names of it; ``level`` counts the dots before it."""

    module: str
    names: tuple[str, ...]
    level: int
    line: int


class Facts(NamedTuple):
    """Imports wherever they stand; names defined at the top; all names bound."""

    imports: tuple[Import, ...]
    defined: frozenset[str]
    names: tuple[str, ...]


def imports_of(nodes: Iterable[ast.AST]) -> list[Import]:
    """Return the imports among the nodes of a module."""
    found = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [Import(alias.name, (), 0, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            found.append(Import(node.module or "", names, node.level, node.lineno))
    return found


def given_names(nodes: Iterable[ast.AST]) -> list[str]:
    """Return the names that the nodes of a module give to something."""
    found = []
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.arg):
            found.append(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append(node.id)
    return found


@cache
def facts(path: Path) -> Facts:
    """Return what is in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    nodes = list(ast.walk(tree))
    defined = (node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    return Facts(
        tuple(imports_of(nodes)),
        frozenset(defined),
        tuple(given_names(nodes)),
    )
