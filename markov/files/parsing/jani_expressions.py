"""Expressions of JANI, from JSON to trees.

C. E. Budde, C. Dehnert, E. M. Hahn, A. Hartmanns, S. Junges, A. Turrini, JANI: quantitative model and tool
interaction, TACAS 2017; specification at jani-spec.org.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from hopflow.checks import count_of
from markov.files.errors import FileError
from markov.files.functions import FUNCTIONS, names_of_language
from markov.files.syntax import (
    Call,
    Chain,
    Choice,
    Expression,
    Literal,
    Name,
    Negation,
    size_of,
)

__all__ = ["KINDS", "JaniReader"]

OPERATORS = {
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
FUNCTION_NAMES = names_of_language("jani")
"""Operators that are functions of one or two operands."""
MAX_DEPTH = 150
INT_LIMIT = 2**62


MAX_NODES = 100_000  # of an expression with the bodies of the functions that it calls
KINDS = {"int": "int", "real": "double", "bool": "bool"}


class Function(NamedTuple):
    """A function of a file: the names of its parameters, and its body as JSON."""

    parameters: tuple[str, ...]
    body: Any


KEYS = {
    "model": "jani-version name metadata type features actions constants variables restrict-initial properties automata system functions",
    "constant": "name type value", "variable": "name type transient initial-value",
    "type": "kind base lower-bound upper-bound",
    "automaton": "name variables restrict-initial locations initial-locations edges functions",
    "location": "name transient-values", "edge": "location action rate guard destinations assignments",
    "destination": "location probability assignments", "assignment": "ref value index", "exp": "exp",
    "system": "elements syncs", "element": "automaton", "sync": "synchronise result",
    "function": "name type parameters body", "parameter": "name type", "property": "name expression",
    "action": "name", "filter": "op fun values states", "initial": "op",
    "expression": "op left right exp if then else function args constant",
    "query": "op exp left right accumulate", "path": "op exp left right time-bounds step-bounds reward-bounds",
    "bounds": "lower upper",
    "expected": "op exp accumulate reach time-instant step-instant reward-instants",
}  # fmt: skip
"""Keys of the objects that are read; ``comment`` is skipped in each, and ``metadata`` of the model."""


class JaniReader:
    """Base class of readers of parts of a JANI file.

    Parameters
    ----------
    file
        Name of the file, in messages.

    Attributes
    ----------
    functions
        Functions of the file by name. A call is replaced by the body, with the arguments in place of parameters.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.functions: dict[str, Function] = {}
        self._arguments: dict[str, Expression] = {}  # of the call whose body is being read
        self._called: list[str] = []  # functions whose bodies are being read

    def read_functions(self, functions: Any, where: str) -> None:
        """Add the functions of a model or of an automaton."""
        for k, value in enumerate(functions):
            path = f"{where}[{k}]"
            self.check_keys(value, "function", path)
            name = self.of(value, "name", path, str)
            parameters = [
                self.of(p, "name", f"{path}.parameters", str) for p in self.of(value, "parameters", path, list)
            ]
            for entry in value["parameters"]:
                self.check_keys(entry, "parameter", path)
            for entry in (value, *value["parameters"]):
                if not isinstance(entry.get("type"), str) or entry["type"] not in KINDS:
                    raise self.wrong(path, f"type {entry.get('type')!r}: must be int, real or bool")
            if name in self.functions or len(set(parameters)) < len(parameters):
                raise self.wrong(path, f"function {name!r}: it or a parameter is defined twice")
            if "body" not in value:
                raise self.wrong(path, "'body' is missing")
            self.functions[name] = Function(tuple(parameters), value["body"])

    def wrong(self, where: str, reason: str) -> FileError:
        """Return an error at a path such as ``automata[0].edges[2].guard``."""
        return FileError((self.file, None), f"{where}: {reason}")

    def of(self, value: Any, name: str, where: str, kind: type | tuple[type, ...]) -> Any:
        """Return a required entry of an object, which must have a type."""
        if not isinstance(value, dict) or not isinstance(value.get(name), kind):
            raise self.wrong(where, f"{name!r} is missing or of a wrong type")
        return value[name]

    def check_keys(self, value: Any, kind: str, where: str) -> Any:
        """Return a value after a check that it is an object with the keys of its kind alone."""
        if not isinstance(value, dict):
            raise self.wrong(where, f"{kind}: an object is expected")
        for key in value:
            if key not in KEYS[kind].split() and key != "comment":
                raise self.wrong(where, f"{kind}: {key[:40]!r} is not read")
        return value

    def list_of(self, value: Any, name: str, where: str) -> list[Any]:
        """Return a list of an object; empty if it is omitted."""
        values = value.get(name, [])
        if not isinstance(values, list):
            raise self.wrong(where, f"{name!r} is of a wrong type: must be a list")
        return values

    def expression(self, value: Any, where: str, depth: int = 0) -> Expression:
        """Return the tree of an expression.

        Raises
        ------
        FileError
            With the position in the file, for an unsupported expression.
        """
        if depth > MAX_DEPTH:
            raise self.wrong(where, f"expressions nested more than {MAX_DEPTH} deep")
        if isinstance(value, bool):
            return Literal(value, 1)
        if isinstance(value, (int, float)):
            if (isinstance(value, int) and abs(value) >= INT_LIMIT) or not math.isfinite(value):
                raise self.wrong(where, f"{value}: beyond the range of numbers")
            return Literal(value, 1)
        if isinstance(value, str):
            return self._arguments.get(value) or Name(value, 1)
        if not isinstance(value, dict):
            raise self.wrong(where, f"{type(value).__name__} is no expression")
        self.check_keys(value, "expression", where)
        if "constant" in value:
            return self._constant(value["constant"], where)
        operator = value.get("op")
        if not isinstance(operator, str):
            raise self.wrong(where, f"operator {operator!r} is not read")
        if operator in OPERATORS:
            return self._chain(value, where, depth)
        if operator == "call":
            return self._inline(value, where, depth)
        return self._operation(operator, value, where, depth)

    def _constant(self, name: Any, where: str) -> Expression:
        number = {"e": math.e, "π": math.pi}.get(name) if isinstance(name, str) else None
        if number is None:
            raise self.wrong(where, f"constant {name!r}: must be e or π")
        return Literal(number, 1)

    def _inline(self, value: Any, where: str, depth: int) -> Expression:
        """Return the body of the called function, with the arguments in place of its parameters."""
        name, values = self.of(value, "function", where, str), self.of(value, "args", where, list)
        if name not in self.functions:
            raise self.wrong(where, f"function {name!r} is not defined")
        if name in self._called:
            raise self.wrong(where, f"{' -> '.join([*self._called, name])}: functions in a circle")
        parameters, body = self.functions[name]
        if len(values) != len(parameters):
            signature = f"{count_of(len(parameters), 'argument')} ({', '.join(parameters)})"
            raise self.wrong(where, f"{name!r} with {count_of(len(values), 'argument')}: takes {signature}")
        arguments = [self.expression(argument, where, depth + 1) for argument in values]
        outer_arguments, self._arguments = self._arguments, dict(zip(parameters, arguments, strict=True))
        self._called.append(name)
        tree = self.expression(body, f"{where}, in the body of {name!r}", depth + 1)
        self._called.pop()
        self._arguments = outer_arguments
        if size_of(tree, {})[0] > MAX_NODES:
            raise self.wrong(where, f"{name!r}: more than {MAX_NODES:,} nodes with all calls")
        return tree

    def _chain(self, value: Any, where: str, depth: int) -> Expression:
        """Read operands joined by one operator, from the left, without recursion over their number."""
        operator, operands = value["op"], []
        while isinstance(value, dict) and value.get("op") == operator and "right" in value:
            right = self.expression(value["right"], where, depth + 1)
            operands.append((OPERATORS[operator], right))
            value = value.get("left")
            if operator not in ("∨", "∧", "+", "-", "*", "/"):
                break
        if operator in ("∨", "∧"):  # these may be nested to the right as well
            operands = [step for part in operands for step in _flatten(part)]
        return Chain(self.expression(value, where, depth + 1), tuple(operands[::-1]), 1)

    def _operation(self, operator: Any, value: Any, where: str, depth: int) -> Expression:
        def part(name: str) -> Expression:
            if name not in value:
                raise self.wrong(where, f"{operator!r} without {name!r}")
            return self.expression(value[name], where, depth + 1)

        if operator == "¬":
            return Negation("!", part("exp"), 1)
        if operator == "ite":
            return Choice(((part("if"), part("then")),), part("else"), 1)
        if operator in FUNCTION_NAMES:
            name = FUNCTION_NAMES[operator]
            operands = ("exp",) if FUNCTIONS[name].arguments == 1 else ("left", "right")
            return Call(name, tuple(part(operand) for operand in operands), 1)
        raise self.wrong(where, f"operator {operator!r} is not read")


def _flatten(step: tuple[str, Expression]) -> list[tuple[str, Expression]]:
    """Return the steps of a chain for a right side that is a chain of the same operator, in descending order."""
    sign, right = step
    if isinstance(right, Chain) and all(s == sign for s, _ in right.rest):
        return [*reversed(right.rest), (sign, right.first)]
    return [step]
