"""Expressions, as trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

__all__ = [
    "Call",
    "Chain",
    "Choice",
    "Expression",
    "Label",
    "Literal",
    "Name",
    "Negation",
    "map_parts",
    "names_in",
    "size_of",
]


@dataclass(frozen=True, slots=True)
class Literal:
    """A truth value or a number."""

    value: bool | int | float
    line: int


@dataclass(frozen=True, slots=True)
class Name:
    """Name of a constant, a variable or a formula."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Label:
    """Name in quotes of a set of states; in properties also of another property."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Negation:
    """``!x`` or ``-x``."""

    sign: str
    of: Expression
    line: int


@dataclass(frozen=True, slots=True)
class Chain:
    """Operands joined by operators of one rank, from the left: ``a - b + c``."""

    first: Expression
    rest: tuple[tuple[str, Expression], ...]
    line: int


@dataclass(frozen=True, slots=True)
class Choice:
    """``condition ? value : condition ? value : otherwise``."""

    cases: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression
    line: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function of `markov.files.functions.FUNCTIONS`."""

    name: str
    of: tuple[Expression, ...]
    line: int


Expression = Literal | Name | Label | Negation | Chain | Choice | Call


def map_parts(tree: Expression, run: Callable[[Any], Any]) -> Expression:
    """Return an expression with a function applied to its parts."""
    match tree:
        case Negation(_, of):
            return replace(tree, of=run(of))
        case Chain(first, rest):
            return replace(tree, first=run(first), rest=tuple((s, run(part)) for s, part in rest))
        case Choice(cases, otherwise):
            pairs = tuple((run(a), run(b)) for a, b in cases)
            return replace(tree, cases=pairs, otherwise=run(otherwise))
        case Call(_, of):
            return replace(tree, of=tuple(run(part) for part in of))
    return tree


def names_in(tree: Expression) -> list[str]:
    """Return the names in an expression."""
    names: list[str] = [tree.name] if isinstance(tree, Name) else []

    def collect(part: Expression) -> Expression:
        names.extend(names_in(part))
        return part

    map_parts(tree, collect)
    return names


def size_of(tree: Any, sizes_by_id: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Return the numbers of nodes and levels of a tree with shared parts; ``sizes_by_id`` caches the sizes of parts."""
    if isinstance(tree, tuple):
        sizes = [size_of(part, sizes_by_id) for part in tree]
        return sum(nodes for nodes, _ in sizes), max((levels for _, levels in sizes), default=0)
    if not isinstance(tree, Expression):
        return 0, 0
    if id(tree) not in sizes_by_id:
        parts = tuple(getattr(tree, f.name) for f in fields(tree))
        nodes, levels = size_of(parts, sizes_by_id)
        sizes_by_id[id(tree)] = nodes + 1, levels + 1
    return sizes_by_id[id(tree)]
