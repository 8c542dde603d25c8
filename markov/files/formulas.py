"""SBML files: their elements, formulas from MathML to expressions, and the signs of kinetic laws."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.parsers import expat

from hopflow.checks import count_of
from markov.files.language import (
    FUNCTIONS,
    OPERATORS,
    Call,
    Chain,
    Choice,
    Expression,
    FileError,
    Literal,
    Name,
    Negation,
    names_in,
    names_of_language,
    size_of,
)
from markov.files.parsing import decimal, read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from markov.files.program import Instance

__all__ = [
    "CLOCK",
    "FIELDS",
    "Element",
    "Formulas",
    "FunctionDefinition",
    "LawSigns",
    "check_attributes",
    "describe_element",
    "read_model_element",
    "vanishes_without",
]

# -------------------------------------------------------------------------------------------- elements


MAX_ELEMENT_DEPTH = 200
CORE = "http://www.sbml.org/sbml/level"
MATHML = "http://www.w3.org/1998/Math/MathML"
INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
VERSIONS = {"2": "12345", "3": "12"}
"""Levels that are read, with their versions."""


class AllowedContents(NamedTuple):
    """Names of the attributes and child elements that an SBML element may have, read or skipped.

    Attributes
    ----------
    used, skipped
        Attributes.
    elements, skipped_elements
        Elements within it. ``math`` is read by `markov.files.formulas`.
    """

    used: str = ""
    skipped: str = ""
    elements: str = ""
    skipped_elements: str = ""


ALWAYS_SKIPPED = AllowedContents("", "metaid sboTerm name", "", "notes annotation")
"""Skipped in every element, as are elements and attributes of packages that are not required."""
FIELDS: dict[str, AllowedContents] = {
    "sbml": AllowedContents("level version", "", "model"),
    "model": AllowedContents(
        "substanceUnits extentUnits timeUnits",
        "id volumeUnits areaUnits lengthUnits",
        "listOfFunctionDefinitions listOfUnitDefinitions listOfCompartments listOfSpecies listOfParameters "
        "listOfInitialAssignments listOfRules listOfReactions listOfEvents",
        "listOfCompartmentTypes listOfSpeciesTypes",
    ),
    "listOfFunctionDefinitions": AllowedContents(elements="functionDefinition"),
    "functionDefinition": AllowedContents("id", "", "math"),
    "listOfUnitDefinitions": AllowedContents(elements="unitDefinition"),
    "unitDefinition": AllowedContents("id", "", "listOfUnits"),
    "listOfUnits": AllowedContents(elements="unit"),
    "unit": AllowedContents("kind exponent scale multiplier offset"),
    "listOfCompartments": AllowedContents(elements="compartment"),
    "compartment": AllowedContents("id size spatialDimensions", "constant units outside compartmentType"),
    "listOfSpecies": AllowedContents(elements="species"),
    "species": AllowedContents(
        "id compartment initialAmount initialConcentration hasOnlySubstanceUnits boundaryCondition constant "
        "substanceUnits spatialSizeUnits",
        "speciesType charge",
    ),
    "listOfParameters": AllowedContents(elements="parameter"),
    "parameter": AllowedContents("id value", "constant units"),
    "listOfLocalParameters": AllowedContents(elements="localParameter"),
    "localParameter": AllowedContents("id value", "units"),
    "listOfInitialAssignments": AllowedContents(elements="initialAssignment"),
    "initialAssignment": AllowedContents("symbol", "id", "math"),
    "listOfRules": AllowedContents(elements="assignmentRule"),
    "assignmentRule": AllowedContents("variable", "id", "math"),
    "listOfReactions": AllowedContents(elements="reaction"),
    "reaction": AllowedContents(
        "id fast reversible", "compartment", "listOfReactants listOfProducts listOfModifiers kineticLaw"
    ),
    "listOfReactants": AllowedContents(elements="speciesReference"),
    "listOfProducts": AllowedContents(elements="speciesReference"),
    "listOfModifiers": AllowedContents(elements="modifierSpeciesReference"),
    "speciesReference": AllowedContents("species stoichiometry", "id constant"),
    "modifierSpeciesReference": AllowedContents("species", "id"),
    "kineticLaw": AllowedContents("", "id", "math listOfParameters listOfLocalParameters"),
    "listOfEvents": AllowedContents(elements="event"),
    "event": AllowedContents("id useValuesFromTriggerTime", "", "trigger listOfEventAssignments"),
    "trigger": AllowedContents("initialValue", "id persistent", "math"),
    "listOfEventAssignments": AllowedContents(elements="eventAssignment"),
    "eventAssignment": AllowedContents("variable", "id", "math"),
}
"""Elements that are read, by their tag. All else is refused by its name."""


class Element(ET.Element):
    """An XML element with the line on which it begins and the namespace of its tag."""

    line = 1
    space = ""

    if TYPE_CHECKING:  # all elements of a tree are of this class

        def __iter__(self) -> Iterator[Element]: ...
        def __getitem__(self, key: Any) -> Any: ...
        def iter(self, tag: Any = None) -> Any: ...  # noqa: D102
        def findall(self, path: str, namespaces: Any = None) -> Any: ...  # noqa: D102


def read_model_element(path: Path) -> tuple[Element, int]:
    """Return the ``model`` element of an SBML file, without skipped contents, and the level of SBML.

    Raises
    ------
    FileError
        With the line, for files other than SBML, and attributes and elements that are not read.
    """
    root = _parse_xml(read_text(path), path.name)
    level = root.get("level") or root.space.removeprefix(CORE)[:1]
    if root.tag != "sbml" or not root.findall("model"):
        raise FileError((path.name, 1), "no SBML: an element sbml with a model is expected")
    version = root.get("version", VERSIONS.get(level, "?")[-1])
    if version not in VERSIONS.get(level, "") or len(version) != 1:
        message = f"level {level!r}, version {version!r} of SBML: must be level 2 or 3"
        raise FileError((path.name, root.line), message)
    versions = version if root.get("version") else VERSIONS[level]
    if root.space and root.space not in (_namespace(level, number) for number in versions):
        message = (
            f"xmlns = {root.space!r}: must be that of level {level} version {version}, {_namespace(level, version)!r}"
        )
        raise FileError((path.name, root.line), message)
    packages = {}
    for name, value in root.attrib.items():
        space, _, attribute = name.rpartition("}")
        if attribute == "required" and space:
            packages[space] = value
            if value not in ("false", "0"):
                message = f"package {space} with required={value!r} is not read: it may change what the model means"
                raise FileError((path.name, root.line), message)
    _check(root, path.name, set(packages))
    models = root.findall("model")
    if len(models) > 1:
        raise FileError((path.name, models[1].line), "a second model")
    return models[0], int(level)


def _namespace(level: str, version: str) -> str:
    """Return the XML namespace of a level and version of SBML."""
    suffix = "" if (level, version) == ("2", "1") else f"/version{version}"
    return f"{CORE}{level}{suffix}{'/core' if level == '3' else ''}"


def _parse_xml(text: str, file: str) -> Element:
    """Return the root of the tree of an XML text; FileError for malformed XML and document types."""
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    top = Element("")
    open_elements = [top]
    texts: list[str] = []

    def flush() -> None:
        """Attach the collected text to the last element."""
        if texts:
            element = open_elements[-1]
            text = "".join(texts)
            texts.clear()
            if len(element):
                element[-1].tail = text
            else:
                element.text = text

    def start(name: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        flush()
        space, _, tag = name.rpartition("}")
        element = Element(tag, attributes)
        element.line, element.space = parser.CurrentLineNumber, space
        if len(open_elements) > MAX_ELEMENT_DEPTH:
            raise FileError((file, element.line), f"elements nested more than {MAX_ELEMENT_DEPTH} deep")
        open_elements[-1].append(element)
        open_elements.append(element)

    def end(_name: str) -> None:
        """Close the current element."""
        flush()
        open_elements.pop()

    def refuse(*_: object) -> None:
        """Raise FileError for a document type."""
        location = file, parser.CurrentLineNumber
        raise FileError(location, "document types and entities are not read")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = texts.append
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise FileError((file, error.lineno), f"no XML: {error}") from None
    root: Element = top[0]
    return root


def _check(element: Element, file: str, packages: set[str]) -> None:
    """Raise FileError for unsupported attributes and elements below an element; remove skipped elements."""
    fields = FIELDS[element.tag]
    allowed = {*fields.used.split(), *fields.skipped.split(), *ALWAYS_SKIPPED.skipped.split()}
    where = describe_element(element)
    for name in element.attrib:
        space = name.rpartition("}")[0]
        if name not in allowed and space not in packages and space != INSTANCE:
            raise FileError((file, element.line), f"{where}: attribute {name!r} is not read")
    elements = fields.elements.split()
    skipped = {*fields.skipped_elements.split(), *ALWAYS_SKIPPED.skipped_elements.split()}
    for child in list(element):
        if child.space in packages or child.tag in skipped:
            element.remove(child)
            continue
        in_namespace = child.space in ("", MATHML) or child.space.startswith(CORE)
        if child.tag not in elements or not in_namespace:
            raise FileError((file, child.line), f"{where}: {describe_element(child)} is not read")
        if child.tag != "math":
            _check(child, file, packages)


def describe_element(element: Element) -> str:
    """Return a short description of an XML element for messages: ``reaction 'die'``."""
    name = element.get("id") or element.get("symbol") or element.get("variable")
    return f"{element.tag} {name!r}" if name else element.tag


# -------------------------------------------------------------------------------- from MathML to trees


MAX_DEPTH = 60
MAX_NODES = 10_000  # of a formula, with the bodies of the called functions
TIME = "http://www.sbml.org/sbml/symbols/time"
CLOCK = "time of the model"
"""Name of the time in expressions: no name of a file has spaces."""
CONSTANTS: dict[str, float] = {
    "pi": math.pi,
    "exponentiale": math.e,
    "true": True,
    "false": False,
}
EMPTY: dict[str, float] = {"plus": 0, "times": 1, "and": True, "or": False, "xor": False}
"""Values of operators without operands."""
_SIGNS = {entry.mathml: sign for sign, entry in OPERATORS.items()}
CHAINED = {**{word: _SIGNS[word] for word in ("plus", "times", "and", "or")}, "xor": "!="}
BINARY = {word: _SIGNS[word] for word in ("minus", "divide", "neq", "implies")}
ASCENDING = {word: _SIGNS[word] for word in ("gt", "geq", "lt", "leq", "eq")}
"""Comparisons, which may have more than two operands: each with the next."""
UNARY_FUNCTIONS = {
    word: name
    for word, name in names_of_language("mathml").items()
    if FUNCTIONS[name].arguments == 1 and word not in ("log", "root")
}
"""Functions of one number; ``log`` and ``root`` may have a qualifier."""
OF_INVERSE = {
    "arcsec": "arccos",
    "arccsc": "arcsin",
    "arccot": "arctan",
    "arcsech": "arccosh",
    "arccsch": "arcsinh",
    "arccoth": "arctanh",
}
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


class FunctionDefinition(NamedTuple):
    """A function definition of SBML: names of its parameters, and its body in MathML."""

    parameters: tuple[str, ...]
    body: Element


def check_attributes(node: Element, where: str, refuse: Callable[[str, str], Exception]) -> None:
    """Raise the error of ``refuse`` for attributes of a MathML node that may change its value and are not read."""
    allowed = SKIPPED | USED.get(node.tag, set()) | ({"units"} if node.tag == "cn" else set())
    for name in node.attrib:
        if name.rpartition("}")[2] not in allowed:
            raise refuse(where, f"{node.tag}: attribute {name!r} is not read")


class Formulas:
    """Reader of MathML: it converts the formulas of an SBML file to expression trees.

    Parameters
    ----------
    meanings
        Expressions by names of species.
    functions
        Function definitions by their names.
    refuse
        Returns the error of a description and a reason.
    unread
        What ids stand for that formulas cannot use, such as the rate of a reaction, by id.
    timed
        Whether formulas may depend on the time.
    """

    def __init__(
        self,
        meanings: Mapping[str, Expression],
        functions: Mapping[str, FunctionDefinition],
        refuse: Callable[[str, str], Exception],
        unread: Mapping[str, str],
        *,
        timed: bool = False,
    ) -> None:
        self.meanings, self.functions, self.refuse = meanings, functions, refuse
        self.unread, self.timed = unread, timed
        self._calls: list[str] = []
        self._nodes = 0

    def read(self, element: Element, where: str, local: Mapping[str, Expression] | None = None) -> Expression:
        """Return the expression tree of the formula in an element; ``local`` maps local parameters to trees."""
        formulas = element.findall("math")
        if len(formulas) != 1 or len(formulas[0]) != 1:
            raise self.refuse(where, "one formula (math) is expected")
        self._nodes = 0
        check_attributes(formulas[0], where, self.refuse)
        return self._read_tree(formulas[0][0], where, local or {}, 0)

    def check_functions(self) -> None:
        """Raise an error for unsupported contents of function definitions, also of those never called."""
        for name, (parameters, body) in self.functions.items():
            self._nodes = 0
            local = {name_of_parameter: Name(name_of_parameter, body.line) for name_of_parameter in parameters}
            self._calls.append(name)
            self._read_tree(body, f"functionDefinition {name!r}", local, 0)
            self._calls.pop()

    def _read_tree(self, node: Element, where: str, local: Mapping[str, Expression], depth: int) -> Expression:
        """Return the expression tree of a MathML node."""
        self._nodes += 1
        if depth > MAX_DEPTH:
            raise self.refuse(where, f"a formula is nested more than {MAX_DEPTH} deep")
        if self._nodes > MAX_NODES:
            raise self.refuse(where, f"more than {MAX_NODES:,} nodes with all calls")
        check_attributes(node, where, self.refuse)
        match node.tag:
            case "ci":
                name = (node.text or "").strip()
                if name in self.unread and name not in local:
                    raise self.refuse(where, f"{name!r} is {self.unread[name]}: not read in formulas")
                return local.get(name) or self.meanings.get(name) or Name(name, node.line)
            case "cn":
                return self._read_number(node, where)
            case "csymbol" if node.get("definitionURL") == TIME and self.timed:
                return Name(CLOCK, node.line)
            case "csymbol":
                message = "depends on the time" if node.get("definitionURL") == TIME else "is not read"
                raise self.refuse(where, f"csymbol {node.get('definitionURL')!r} {message}")
            case "piecewise":
                return self._read_piecewise(node, where, local, depth)
            case "semantics" if len(node):
                return self._read_tree(node[0], where, local, depth + 1)
            case "apply" if len(node):
                return self._read_application(node, where, local, depth)
        if node.tag in CONSTANTS:
            return Literal(CONSTANTS[node.tag], node.line)
        raise self.refuse(where, f"{node.tag} is not read")

    def _read_piecewise(self, node: Element, where: str, local: Mapping[str, Expression], depth: int) -> Expression:
        """Return the tree of a ``piecewise`` node: conditions with values, and the value otherwise."""
        cases, otherwise = [], None
        for part in node:
            values = [self._read_tree(child, where, local, depth + 1) for child in part]
            if part.tag == "piece" and len(values) == 2:
                cases.append((values[1], values[0]))
            elif part.tag == "otherwise" and len(values) == 1 and otherwise is None:
                otherwise = values[0]
            else:
                raise self.refuse(where, f"piecewise: {part.tag} of {len(values)} is not read")
        if otherwise is None:
            raise self.refuse(where, "piecewise without otherwise has no value where no piece holds")
        return Choice(tuple(cases), otherwise, node.line) if cases else otherwise

    def _read_application(self, node: Element, where: str, local: Mapping[str, Expression], depth: int) -> Expression:
        """Return the tree of an ``apply`` node: an operator, or a call of a function definition, with its operands."""
        operator, line = node[0], node.line
        check_attributes(operator, where, self.refuse)
        qualifier: Any = None
        parts = node[1:]
        if parts and parts[0].tag in ("logbase", "degree"):
            if parts[0].tag != {"log": "logbase", "root": "degree"}.get(operator.tag):
                raise self.refuse(where, f"{operator.tag}: {parts[0].tag} is not read")
            if len(parts[0]) != 1:
                raise self.refuse(where, f"{parts[0].tag}: one value is expected")
            qualifier = self._read_tree(parts[0][0], where, local, depth + 1)
            parts = parts[1:]
        operands = [self._read_tree(part, where, local, depth + 1) for part in parts]
        if operator.tag == "ci":
            return self._inline_call((operator.text or "").strip(), operands, where, depth)
        tree = self._build_operation(operator.tag, operands, line)
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
    def _build_operation(name: str, operands: Sequence[Expression], line: int) -> Expression | None:
        """Return the tree of a MathML operator applied to operands; None for unsupported operators."""
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

    def _inline_call(self, name: str, arguments: Sequence[Expression], where: str, depth: int) -> Expression:
        """Return the body of a function definition, as a tree, with the arguments in place of its parameters."""
        if name not in self.functions:
            raise self.refuse(where, f"function {name!r} is not defined")
        parameters, body = self.functions[name]
        if name in self._calls:
            raise self.refuse(where, f"{' -> '.join([*self._calls, name])}: functions in a circle")
        if len(arguments) != len(parameters):
            signature = f"{count_of(len(parameters), 'argument')} ({', '.join(parameters)})"
            raise self.refuse(where, f"{name!r} with {count_of(len(arguments), 'argument')}: takes {signature}")
        self._calls.append(name)
        tree = self._read_tree(body, where, dict(zip(parameters, arguments, strict=True)), depth + 1)
        self._calls.pop()
        nodes, deepest = size_of(tree, {})
        if nodes > MAX_NODES or deepest > 2 * MAX_DEPTH:
            message = f"more than {MAX_NODES:,} nodes, or {2 * MAX_DEPTH} levels, with all calls"
            raise self.refuse(where, f"{name!r}: {message}")
        return tree

    def _read_number(self, node: Element, where: str) -> Expression:
        """Return the tree of a ``cn`` node: a number, or the quotient of a rational."""
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


# --------------------------------------------------------------------------------------- signs of laws


@dataclass(frozen=True)
class Signs:
    """Whether a value may be negative, and whether it may be positive."""

    negative: bool
    positive: bool

    def __neg__(self) -> Signs:
        """Return the possible signs of -x, from those of x."""
        return Signs(self.positive, self.negative)

    def __or__(self, other: Signs) -> Signs:
        """Return the possible signs of x + y, or of a value that is x or y."""
        return Signs(self.negative or other.negative, self.positive or other.positive)

    def __mul__(self, other: Signs) -> Signs:
        """Return the possible signs of x * y."""
        return Signs(
            (self.negative and other.positive) or (self.positive and other.negative),
            (self.negative and other.negative) or (self.positive and other.positive),
        )


POSITIVE, ANY = Signs(negative=False, positive=True), Signs(negative=True, positive=True)
ROUNDING = 1e-9  # tolerance of the amounts at which a factor is 0


class LinearForm(NamedTuple):
    """A linear function of one species' amount, ``slope * amount + offset``; a number has amount "" and slope 0."""

    amount: str
    slope: float
    offset: float


class LawSigns:
    """Analysis of the signs that formulas can have when species' amounts are any integers from 0 on.

    A formula that may be negative is a difference, or a function that has both signs. Limits of amounts play no part:
    they truncate a model, and do not change the meaning of its laws.

    Parameters
    ----------
    instance
        The program with its constants.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._signs: dict[int, Signs] = {}  # by id of a tree, since trees share parts

    def signs_of(self, tree: Expression) -> Signs:
        """Return the signs that a formula can have; both where the sign is not evident."""
        if id(tree) not in self._signs:
            signs = self._signs_by_operator(tree)
            value = self._constant(tree) if signs == ANY else None
            self._signs[id(tree)] = signs if value is None else _signs_of_number(value)
        return self._signs[id(tree)]

    def _signs_by_operator(self, tree: Expression) -> Signs:
        """Return the signs that a formula can have, by its operators and functions."""
        match tree:
            case Literal(value):
                return _signs_of_number(value)
            case Name(name):
                if name in self.instance.program.formulas:
                    return self.signs_of(self.instance.program.formulas[name])
                constants = self.instance.constants
                return _signs_of_number(constants[name]) if name in constants else POSITIVE
            case Negation("-", of):
                return -self.signs_of(of)
            case Chain(first, rest) if all(sign in ("+", "-") for sign, _ in rest):
                signs = self.signs_of(first)
                for sign, term in rest:
                    signs |= self.signs_of(term) if sign == "+" else -self.signs_of(term)
                return signs
            case Chain() if _is_product(tree):
                return self._signs_of_product(*_factors(tree))
            case Choice(cases, otherwise):
                signs = self.signs_of(otherwise)
                for _, branch in cases:
                    signs |= self.signs_of(branch)
                return signs
            case Call(name, of):
                return self._signs_of_call(name, of)
        return ANY

    def _signs_of_product(self, factors: Iterable[Expression], divisors: Iterable[Expression]) -> Signs:
        """Return the signs of a product: X (X - 1) (X - 2) is never negative, as X is a whole number."""
        signs = POSITIVE
        roots: dict[str, list[float]] = {}  # by amount, of factors that grow with it
        for factor in factors:
            line = self._linear_form(factor)
            if line is not None and line.slope > 0.0:
                roots.setdefault(line.amount, []).append(-line.offset / line.slope)
            else:
                signs *= self.signs_of(factor)
        for zeros in roots.values():
            integer_zeros = {round(zero) for zero in zeros if math.isclose(zero, round(zero), abs_tol=ROUNDING)}
            below = range(math.ceil(max(zeros) - ROUNDING))  # amounts at which a factor is negative
            if not integer_zeros.issuperset(below):
                signs *= ANY
        for divisor in divisors:
            signs *= self.signs_of(divisor)
        return signs

    def _linear_form(self, tree: Expression) -> LinearForm | None:
        """Return a formula as a linear function of one amount; None for other formulas."""
        value = self._constant(tree)
        if value is not None:
            return LinearForm("", 0.0, value)
        match tree:
            case Name(name) if name not in self.instance.program.formulas:
                return LinearForm(name, 1.0, 0.0)
            case Chain(first, rest):
                line = self._linear_form(first)
                for sign, part in rest:
                    operand = self._linear_form(part)
                    line = None if line is None or operand is None else _combine_linear(line, sign, operand)
                return line
        return None

    def _constant(self, tree: Expression) -> float | None:
        """Return the value of a formula of numbers and constants; None if it has an amount or a rule."""
        if any(name not in self.instance.constants for name in names_in(tree)):
            return None
        return float(self.instance.scope.value(tree).single())

    def _signs_of_call(self, name: str, of: tuple[Expression, ...]) -> Signs:
        """Return the signs that a function can have, from the signs of its arguments."""
        signs = [self.signs_of(part) for part in of]
        match name:
            case "max":
                return Signs(all(s.negative for s in signs), any(s.positive for s in signs))
            case "min":
                return Signs(any(s.negative for s in signs), all(s.positive for s in signs))
            case "power":
                exponent = self._constant(of[1])
                return POSITIVE if not signs[0].negative or (exponent is not None and exponent % 2 == 0) else ANY
            case "ln" | "log10" | "log":
                return POSITIVE if self._is_from_one(of[0]) else ANY
        return {">= 0": POSITIVE, "argument": signs[0], "any": ANY}[FUNCTIONS[name].sign]

    def _is_from_one(self, tree: Expression) -> bool:
        """Return whether a formula is a sum of a number >= 1 and terms that are never negative."""
        if not isinstance(tree, Chain) or any(sign != "+" for sign, _ in tree.rest):
            return False
        terms = [tree.first, *(term for _, term in tree.rest)]
        return not self.signs_of(tree).negative and any((self._constant(term) or 0.0) >= 1.0 for term in terms)


def _signs_of_number(value: float) -> Signs:
    """Return the sign of a number; both signs for NaN."""
    return ANY if math.isnan(value) else Signs(negative=value < 0, positive=value > 0)


def _combine_linear(a: LinearForm, sign: str, b: LinearForm) -> LinearForm | None:
    """Return a + b, a - b, a * b or a / b of linear functions if it is linear in one amount; otherwise None."""
    if a.amount and b.amount:
        return None
    amount = a.amount or b.amount
    match sign:
        case "+":
            return LinearForm(amount, a.slope + b.slope, a.offset + b.offset)
        case "-":
            return LinearForm(amount, a.slope - b.slope, a.offset - b.offset)
        case "*":
            factor, line = (a.offset, b) if b.amount else (b.offset, a)
            return LinearForm(amount, line.slope * factor, line.offset * factor)
        case "/" if not b.amount and b.offset != 0.0:
            return LinearForm(amount, a.slope / b.offset, a.offset / b.offset)
    return None


def _factors(tree: Expression) -> tuple[list[Expression], list[Expression]]:
    """Return the factors and the divisors of a formula, with nested products expanded."""
    if not _is_product(tree):
        return [tree], []
    assert isinstance(tree, Chain)
    factors, divisors = _factors(tree.first)
    for sign, part in tree.rest:
        if sign == "*":
            more, fewer = _factors(part)
            factors += more
            divisors += fewer
        else:
            divisors.append(part)
    return factors, divisors


def _is_product(tree: Expression) -> bool:
    """Return whether a tree has the operators * and / alone at its top."""
    return isinstance(tree, Chain) and all(sign in ("*", "/") for sign, _ in tree.rest)


def vanishes_without(tree: Expression, name: str) -> bool:
    """Return whether a law is certainly 0 without molecules of the species: a product with it as a factor."""
    match tree:
        case Name(other):
            return other == name
        case Chain() if _is_product(tree):
            return any(vanishes_without(factor, name) for factor in _factors(tree)[0])
        case Call("power", (base, Literal(exponent))):
            return exponent > 0 and vanishes_without(base, name)
    return False
