"""Docstrings list the parameters that exist: names in a section *Parameters* are parameters or fields."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

import pytest

from tests.surface import PACKAGES, ROOT

SECTION = re.compile(r"^Parameters\n-{4,}\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: *:.*)?\n(?= +\S)", re.MULTILINE)
"""The names of an entry: words at the margin, with an indented description below."""

Classes = Mapping[str, list[ast.ClassDef]]


def documented(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    """Return the names in the section *Parameters* of a docstring."""
    section = SECTION.search(ast.get_docstring(node) or "")
    if section is None:
        return []
    return [name.strip(" *") for entry in ENTRY.findall(section[1]) for name in entry.split(",")]


def arguments(function: ast.FunctionDef) -> tuple[set[str], bool]:
    """Return the names of a function's parameters, and whether it takes further keywords."""
    listed = function.args
    names = {each.arg for each in (*listed.posonlyargs, *listed.args, *listed.kwonlyargs)}
    return names | {each.arg for each in (listed.vararg, listed.kwarg) if each}, listed.kwarg is not None


def accepted(node: ast.FunctionDef | ast.ClassDef, classes: Classes) -> tuple[set[str], bool]:
    """Return the parameters of a function, or those and the fields of a class, with its bases of the same packages."""
    if isinstance(node, ast.FunctionDef):
        return arguments(node)
    names: set[str] = set()
    more = False
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and member.name in ("__init__", "__new__"):
            listed, keywords = arguments(member)
            names, more = names | listed, more or keywords
        elif isinstance(member, ast.ClassDef) and member.name == "Params":
            names |= accepted(member, classes)[0]
        elif isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            names.add(member.target.id)
    for base in node.bases:
        for parent in classes.get(ast.unparse(base).rpartition(".")[2], []):
            inherited, keywords = accepted(parent, classes) if parent is not node else (set[str](), False)
            names, more = names | inherited, more or keywords
    return names, more


def definitions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Yield the functions and classes below a node, nested ones too."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield child
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from definitions(child)


def unknown_names(sources: Mapping[str, str]) -> Iterator[str]:
    """Yield each documented name that is no parameter, with the file and the function or class."""
    nodes = [(path, node) for path, text in sources.items() for node in definitions(ast.parse(text, path))]
    classes: dict[str, list[ast.ClassDef]] = {}
    for _, node in nodes:
        if isinstance(node, ast.ClassDef):
            classes.setdefault(node.name, []).append(node)
    for path, node in nodes:
        if names := documented(node):
            parameters, more = accepted(node, classes)
            if not more:
                yield from (f"{path}: {node.name}: {name}" for name in names if name not in parameters)


def test_documented_parameters_exist() -> None:
    """A renamed parameter is renamed in the docstring too; functions with ``**keywords`` may document any name."""
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    sources = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files}
    assert not list(unknown_names(sources))


EXAMPLE = '''
class Base:
    rate: float


class Queue(Base):
    """A queue.

    Parameters
    ----------
    rate, {name}
        In 1/s.
    """

    def __init__(self, size: int) -> None:
        """Return a queue."""


def solve(queue: Queue, *terms: int) -> None:
    """Solve.

    Parameters
    ----------
    queue
        A queue.
    *terms, {name} : int
        Numbers.

    Returns
    -------
    other
        No parameter.
    """
'''


@pytest.mark.parametrize(("name", "expected"), [("old", ["Queue: old", "solve: old"]), ("size", ["solve: size"])])
def test_a_name_that_does_not_exist_is_reported(name: str, expected: list[str]) -> None:
    """Sections after *Parameters*, fields of a base and several names of one entry are told apart."""
    problems = unknown_names({"example.py": EXAMPLE.replace("{name}", name)})
    assert [problem.removeprefix("example.py: ") for problem in problems] == expected
