"""Expressions of JANI, from JSON to trees.

C. E. Budde, C. Dehnert, E. M. Hahn, A. Hartmanns, S. Junges, A. Turrini, JANI: quantitative model and tool
interaction, TACAS 2017; specification at jani-spec.org.
"""

from __future__ import annotations

import math
from typing import Any

from markov.files.errors import FileError
from markov.files.syntax import Call, Chain, Choice, Expression, Literal, Name, Negation

__all__ = ["JaniReader"]

BINARY = {
    "∨": "|",
    "∧": "&",
    "⇒": "=>",
    "=": "=",
    "≠": "!=",
    "<": "<",
    "≤": "<=",
    ">": ">",
    "≥": ">=",
    "+": "+",
    "-": "-",
    "*": "*",
    "/": "/",
}
FUNCTIONS = {"%": "mod", "pow": "pow", "log": "log", "min": "min", "max": "max"}
ROUNDINGS = {"floor": "floor", "ceil": "ceil"}
DEEPEST = 150
LARGEST = 2**62


class JaniReader:
    """Base class of readers of parts of a JANI file.

    Parameters
    ----------
    file
        In messages.
    """

    def __init__(self, file: str) -> None:
        self.file = file

    def wrong(self, where: str, reason: str) -> FileError:
        """Return an error about a place such as ``automata[0].edges[2].guard``."""
        return FileError((self.file, None), f"{where}: {reason}")

    def of(self, value: Any, name: str, where: str, kind: type | tuple[type, ...]) -> Any:
        """Return an entry of an object, which must be there and of a type."""
        if not isinstance(value, dict) or not isinstance(value.get(name), kind):
            raise self.wrong(where, f"{name!r} is missing or of a wrong type")
        return value[name]

    def expression(self, value: Any, where: str, depth: int = 0) -> Expression:
        """Return the tree of an expression.

        Raises
        ------
        FileError
            With the place in the file, where it is none that is read.
        """
        if depth > DEEPEST:
            raise self.wrong(where, f"expressions nested more than {DEEPEST} deep")
        if isinstance(value, bool):
            return Literal(value, 1)
        if isinstance(value, (int, float)):
            if not math.isfinite(value) or (isinstance(value, int) and abs(value) >= LARGEST):
                raise self.wrong(where, f"{value}: beyond the range of numbers")
            return Literal(value, 1)
        if isinstance(value, str):
            return Name(value, 1)
        if not isinstance(value, dict):
            raise self.wrong(where, f"{type(value).__name__} is no expression")
        if "constant" in value:
            return self._constant(value["constant"], where)
        operator = value.get("op")
        if operator in BINARY:
            return self._joined(value, where, depth)
        return self._called(operator, value, where, depth)

    def _constant(self, name: Any, where: str) -> Expression:
        found = {"e": math.e, "π": math.pi}.get(name) if isinstance(name, str) else None
        if found is None:
            raise self.wrong(where, f"constant {name!r}: must be e or π")
        return Literal(found, 1)

    def _joined(self, value: Any, where: str, depth: int) -> Expression:
        """Read operands joined by one operator from the left, however many there are."""
        operator, rest = value["op"], []
        while isinstance(value, dict) and value.get("op") == operator and "right" in value:
            right = self.expression(value["right"], where, depth + 1)
            rest.append((BINARY[operator], right))
            value = value.get("left")
            if operator not in ("∨", "∧", "+", "-", "*", "/"):
                break
        if operator in ("∨", "∧"):  # these may be nested to the right as well
            rest = [step for part in rest for step in _flat(part)]
        return Chain(self.expression(value, where, depth + 1), tuple(rest[::-1]), 1)

    def _called(self, operator: Any, value: Any, where: str, depth: int) -> Expression:
        def part(name: str) -> Expression:
            if name not in value:
                raise self.wrong(where, f"{operator!r} without {name!r}")
            return self.expression(value[name], where, depth + 1)

        if operator == "¬":
            return Negation("!", part("exp"), 1)
        if operator == "ite":
            return Choice(((part("if"), part("then")),), part("else"), 1)
        if operator in FUNCTIONS:
            return Call(FUNCTIONS[operator], (part("left"), part("right")), 1)
        if operator in ROUNDINGS:
            return Call(ROUNDINGS[operator], (part("exp"),), 1)
        raise self.wrong(where, f"operator {operator!r} is not read")


def _flat(step: tuple[str, Expression]) -> list[tuple[str, Expression]]:
    """Return a step of a chain with its right side taken apart, in descending order."""
    sign, right = step
    if isinstance(right, Chain) and all(s == sign for s, _ in right.rest):
        return [*reversed(right.rest), (sign, right.first)]
    return [step]
