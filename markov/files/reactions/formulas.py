"""Formulas of SBML, in MathML, as expressions."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from hopflow.checks import count_of
from markov.files.functions import FUNCTIONS, names_of_language
from markov.files.parsing.tokens import decimal
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

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from markov.files.reactions.elements import Element

__all__ = ["CLOCK", "Formulas", "Function", "check_attributes"]

MAX_DEPTH = 60
MAX_NODES = 10_000  # of a formula with the bodies of the functions that it calls
TIME = "http://www.sbml.org/sbml/symbols/time"
CLOCK = "time of the model"
"""Name of the time in expressions: no name of a file has spaces."""
CONSTANTS: dict[str, float] = {
    "pi": math.pi, "exponentiale": math.e, "true": True, "false": False,
}  # fmt: skip
EMPTY: dict[str, float] = {"plus": 0, "times": 1, "and": True, "or": False, "xor": False}
"""Values of operators without operands."""
CHAINED = {"plus": "+", "times": "*", "and": "&", "or": "|", "xor": "!="}
BINARY = {"minus": "-", "divide": "/", "neq": "!=", "implies": "=>"}
ASCENDING = {"gt": ">", "geq": ">=", "lt": "<", "leq": "<=", "eq": "="}
"""Comparisons, which may have more than two operands: each with the next."""
UNARY_FUNCTIONS = {
    word: name
    for word, name in names_of_language("mathml").items()
    if FUNCTIONS[name].arguments == 1 and word not in ("log", "root")
}
"""Functions of one number; ``log`` and ``root`` may have a qualifier."""
OF_INVERSE = {"arcsec": "arccos", "arccsc": "arcsin", "arccot": "arctan",
              "arcsech": "arccosh", "arccsch": "arcsinh", "arccoth": "arctanh"}  # fmt: skip
INVERSE_OF = {
    "sec": "cos",
    "csc": "sin",
    "cot": "tan",
    "sech": "cosh",
    "csch": "sinh",
    "coth": "tanh",
}
SKIPPED = {"id", "class", "style", "xref", "encoding", "metaid"}
"""Attributes of MathML that do not change a value; of ``cn`` also ``units``: SBML converts no units."""
WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
USED = {"cn": {"type"}, "csymbol": {"definitionURL"}}


class Function(NamedTuple):
    """A function definition: the names of its parameters, and its body."""

    parameters: tuple[str, ...]
    body: Element


def check_attributes(node: Element, where: str, refuse: Callable[[str, str], Exception]) -> None:
    """Refuse attributes of MathML that may change a value and are not read."""
    allowed = SKIPPED | USED.get(node.tag, set()) | ({"units"} if node.tag == "cn" else set())
    for name in node.attrib:
        if name.rpartition("}")[2] not in allowed:
            raise refuse(where, f"{node.tag}: attribute {name!r} is not read")


class Formulas:
    """Reader of formulas.

    Parameters
    ----------
    meanings
        Expressions by names of species.
    functions
        Function definitions by their names.
    refuse
        Returns the error of a description and a reason.
    timed
        Whether formulas may depend on the time.
    """

    def __init__(
        self,
        meanings: Mapping[str, Expression],
        functions: Mapping[str, Function],
        refuse: Callable[[str, str], Exception],
        *,
        timed: bool = False,
    ) -> None:
        self.meanings, self.functions, self.refuse, self.timed = meanings, functions, refuse, timed
        self._calls: list[str] = []
        self._nodes = 0

    def read(self, element: Element, where: str, local: Mapping[str, Expression] | None = None) -> Expression:
        """Return the formula in an element; ``local`` are its local parameters."""
        formulas = element.findall("math")
        if len(formulas) != 1 or len(formulas[0]) != 1:
            raise self.refuse(where, "one formula (math) is expected")
        self._nodes = 0
        check_attributes(formulas[0], where, self.refuse)
        return self._tree(formulas[0][0], where, local or {}, 0)

    def check_functions(self) -> None:
        """Refuse unsupported contents of function definitions, called or not."""
        for name, (parameters, body) in self.functions.items():
            self._nodes = 0
            local = {name_of_parameter: Name(name_of_parameter, body.line) for name_of_parameter in parameters}
            self._calls.append(name)
            self._tree(body, f"functionDefinition {name!r}", local, 0)
            self._calls.pop()

    def _tree(self, node: Element, where: str, local: Mapping[str, Expression], depth: int) -> Expression:
        self._nodes += 1
        if depth > MAX_DEPTH:
            raise self.refuse(where, f"a formula is nested more than {MAX_DEPTH} deep")
        if self._nodes > MAX_NODES:
            raise self.refuse(where, f"more than {MAX_NODES:,} nodes with all calls")
        check_attributes(node, where, self.refuse)
        match node.tag:
            case "ci":
                name = (node.text or "").strip()
                return local.get(name) or self.meanings.get(name) or Name(name, node.line)
            case "cn":
                return self._number(node, where)
            case "csymbol" if node.get("definitionURL") == TIME and self.timed:
                return Name(CLOCK, node.line)
            case "csymbol":
                message = "depends on the time" if node.get("definitionURL") == TIME else "is not read"
                raise self.refuse(where, f"csymbol {node.get('definitionURL')!r} {message}")
            case "piecewise":
                return self._piecewise(node, where, local, depth)
            case "semantics" if len(node):
                return self._tree(node[0], where, local, depth + 1)
            case "apply" if len(node):
                return self._application(node, where, local, depth)
        if node.tag in CONSTANTS:
            return Literal(CONSTANTS[node.tag], node.line)
        raise self.refuse(where, f"{node.tag} is not read")

    def _piecewise(self, node: Element, where: str, local: Mapping[str, Expression], depth: int) -> Expression:
        cases, otherwise = [], None
        for part in node:
            values = [self._tree(child, where, local, depth + 1) for child in part]
            if part.tag == "piece" and len(values) == 2:
                cases.append((values[1], values[0]))
            elif part.tag == "otherwise" and len(values) == 1 and otherwise is None:
                otherwise = values[0]
            else:
                raise self.refuse(where, f"piecewise: {part.tag} of {len(values)} is not read")
        if otherwise is None:
            raise self.refuse(where, "piecewise without otherwise has no value where no piece holds")
        return Choice(tuple(cases), otherwise, node.line) if cases else otherwise

    def _application(self, node: Element, where: str, local: Mapping[str, Expression], depth: int) -> Expression:
        operator, line = node[0], node.line
        check_attributes(operator, where, self.refuse)
        qualifier: Any = None
        parts = node[1:]
        if parts and parts[0].tag in ("logbase", "degree"):
            if parts[0].tag != {"log": "logbase", "root": "degree"}.get(operator.tag):
                raise self.refuse(where, f"{operator.tag}: {parts[0].tag} is not read")
            if len(parts[0]) != 1:
                raise self.refuse(where, f"{parts[0].tag}: one value is expected")
            qualifier = self._tree(parts[0][0], where, local, depth + 1)
            parts = parts[1:]
        operands = [self._tree(part, where, local, depth + 1) for part in parts]
        if operator.tag == "ci":
            return self._call((operator.text or "").strip(), operands, where, depth)
        tree = self._operation(operator.tag, operands, line)
        if tree is None and len(operands) == 1 and operator.tag == "log":
            is_ten = isinstance(qualifier, Literal) and qualifier.value == 10
            plain = qualifier is None or is_ten
            tree = Call("log10", (operands[0],), line) if plain else Call("log", (operands[0], qualifier), line)
        if tree is None and len(operands) == 1 and operator.tag == "root":
            square = qualifier is None or (isinstance(qualifier, Literal) and qualifier.value == 2)
            inverse = Chain(Literal(1.0, line), (("/", qualifier),), line)
            tree = Call("sqrt", (operands[0],), line) if square else Call("pow", (operands[0], inverse), line)
        if tree is None:
            raise self.refuse(where, f"{operator.tag} with {count_of(len(operands), 'argument')} is not read")
        return tree

    @staticmethod
    def _operation(name: str, operands: Sequence[Expression], line: int) -> Expression | None:
        """Return an operator of MathML with its operands; None for unsupported operators."""
        count = len(operands)
        if name in ("minus", "not") and count == 1:
            return Negation("-" if name == "minus" else "!", operands[0], line)
        if name in CHAINED:
            if not count:
                return Literal(EMPTY[name], line)
            rest = tuple((CHAINED[name], part) for part in operands[1:])
            return Chain(operands[0], rest, line) if rest else operands[0]
        if name in BINARY and count == 2:
            return Chain(operands[0], ((BINARY[name], operands[1]),), line)
        if name in ASCENDING and count >= 2:
            pairs = pairwise(operands)
            first, *others = [Chain(a, ((ASCENDING[name], b),), line) for a, b in pairs]
            return Chain(first, tuple(("&", comparison) for comparison in others), line) if others else first
        if name in ("min", "max") and count:
            return Call(name, tuple(operands), line)
        if name == "power" and count == 2:
            return Call("power", tuple(operands), line)
        if count != 1:
            return None
        inverse = Chain(Literal(1.0, line), (("/", operands[0]),), line)
        if name in UNARY_FUNCTIONS:
            return Call(UNARY_FUNCTIONS[name], (operands[0],), line)
        if name in OF_INVERSE:
            return Call(OF_INVERSE[name], (inverse,), line)
        if name in INVERSE_OF:
            return Chain(Literal(1.0, line), (("/", Call(INVERSE_OF[name], (operands[0],), line)),), line)
        return None

    def _call(self, name: str, arguments: Sequence[Expression], where: str, depth: int) -> Expression:
        """Return the body of a called function definition, with the arguments in place of its parameters."""
        if name not in self.functions:
            raise self.refuse(where, f"function {name!r} is not defined")
        parameters, body = self.functions[name]
        if name in self._calls:
            raise self.refuse(where, f"{' -> '.join([*self._calls, name])}: functions in a circle")
        if len(arguments) != len(parameters):
            signature = f"{count_of(len(parameters), 'argument')} ({', '.join(parameters)})"
            raise self.refuse(where, f"{name!r} with {count_of(len(arguments), 'argument')}: takes {signature}")
        self._calls.append(name)
        tree = self._tree(body, where, dict(zip(parameters, arguments, strict=True)), depth + 1)
        self._calls.pop()
        nodes, deepest = size_of(tree, {})
        if nodes > MAX_NODES or deepest > 2 * MAX_DEPTH:
            message = f"more than {MAX_NODES:,} nodes, or {2 * MAX_DEPTH} levels, with all calls"
            raise self.refuse(where, f"{name!r}: {message}")
        return tree

    def _number(self, node: Element, where: str) -> Expression:
        texts = [node.text or "", *(part.tail or "" for part in node)]
        parts, line = [text.strip() for text in texts], node.line
        kind = node.get("type", "real")
        plain = all(part.tag == "sep" for part in node)
        match kind, parts:
            case "real", [text] if plain and decimal(text) is not None:
                return Literal(float(text), line)
            case "integer", [text] if plain and WHOLE.fullmatch(text):
                return Literal(int(text), line)
            case "e-notation", [text, power] if plain and WHOLE.fullmatch(power):
                if decimal(text) is not None and decimal(f"{text}e{power}") is not None:
                    return Literal(float(f"{text}e{power}"), line)
            case "rational", [top, bottom] if plain and all(map(WHOLE.fullmatch, parts)):
                if int(bottom):
                    quotient = [Literal(float(part), line) for part in (top, bottom)]
                    return Chain(quotient[0], (("/", quotient[1]),), line)
        message = f"cn {' '.join(parts)[:40]!r} of type {kind!r}: a number is expected"
        raise self.refuse(where, message)
