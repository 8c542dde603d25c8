"""Expressions, as trees."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Call", "Chain", "Choice", "Expression", "Label", "Literal", "Name", "Negation"]


@dataclass(frozen=True, slots=True)
class Literal:
    """A truth value or a number."""

    value: bool | int | float
    line: int


@dataclass(frozen=True, slots=True)
class Name:
    """A constant, a variable or a formula."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Label:
    """A set of states by its name in quotes; in properties also another property."""

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
    """A function: min, max, floor, ceil, round, pow, mod, log."""

    name: str
    of: tuple[Expression, ...]
    line: int


Expression = Literal | Name | Label | Negation | Chain | Choice | Call
