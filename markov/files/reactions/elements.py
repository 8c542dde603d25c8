"""Elements of an SBML file: attributes and elements that are read, and those skipped."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.parsers import expat

from markov.files.errors import FileError
from markov.files.parsing.tokens import read_text

__all__ = ["FIELDS", "Element", "Fields", "describe", "model_of"]

MAX_DEPTH = 200
CORE = "http://www.sbml.org/sbml/level"
MATHML = "http://www.w3.org/1998/Math/MathML"
INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
VERSIONS = {"2": "12345", "3": "12"}
"""Levels that are read, with their versions."""


class Fields(NamedTuple):
    """Allowed contents of an element.

    Attributes
    ----------
    used, skipped
        Attributes.
    elements, skipped_elements
        Elements within it. ``math`` is read by `markov.files.reactions.formulas`.
    """

    used: str = ""
    skipped: str = ""
    elements: str = ""
    skipped_elements: str = ""


ALWAYS_SKIPPED = Fields("", "metaid sboTerm name", "", "notes annotation")
"""Skipped in every element, as are elements and attributes of packages that are not required."""
FIELDS: dict[str, Fields] = {
    "sbml": Fields("level version", "", "model"),
    "model": Fields(
        "substanceUnits extentUnits timeUnits",
        "id volumeUnits areaUnits lengthUnits",
        "listOfFunctionDefinitions listOfUnitDefinitions listOfCompartments listOfSpecies listOfParameters "
        "listOfInitialAssignments listOfRules listOfReactions listOfEvents",
        "listOfCompartmentTypes listOfSpeciesTypes",
    ),
    "listOfFunctionDefinitions": Fields(elements="functionDefinition"),
    "functionDefinition": Fields("id", "", "math"),
    "listOfUnitDefinitions": Fields(elements="unitDefinition"),
    "unitDefinition": Fields("id", "", "listOfUnits"),
    "listOfUnits": Fields(elements="unit"),
    "unit": Fields("kind exponent scale multiplier offset"),
    "listOfCompartments": Fields(elements="compartment"),
    "compartment": Fields("id size spatialDimensions", "constant units outside compartmentType"),
    "listOfSpecies": Fields(elements="species"),
    "species": Fields(
        "id compartment initialAmount initialConcentration hasOnlySubstanceUnits boundaryCondition constant "
        "substanceUnits",
        "speciesType spatialSizeUnits charge",
    ),
    "listOfParameters": Fields(elements="parameter"),
    "parameter": Fields("id value", "constant units"),
    "listOfLocalParameters": Fields(elements="localParameter"),
    "localParameter": Fields("id value", "units"),
    "listOfInitialAssignments": Fields(elements="initialAssignment"),
    "initialAssignment": Fields("symbol", "id", "math"),
    "listOfRules": Fields(elements="assignmentRule"),
    "assignmentRule": Fields("variable", "id", "math"),
    "listOfReactions": Fields(elements="reaction"),
    "reaction": Fields(
        "id fast reversible", "compartment", "listOfReactants listOfProducts listOfModifiers kineticLaw"
    ),
    "listOfReactants": Fields(elements="speciesReference"),
    "listOfProducts": Fields(elements="speciesReference"),
    "listOfModifiers": Fields(elements="modifierSpeciesReference"),
    "speciesReference": Fields("species stoichiometry", "id constant"),
    "modifierSpeciesReference": Fields("species", "id"),
    "kineticLaw": Fields("", "id", "math listOfParameters listOfLocalParameters"),
    "listOfEvents": Fields(elements="event"),
    "event": Fields("id useValuesFromTriggerTime", "", "trigger listOfEventAssignments"),
    "trigger": Fields("initialValue", "id persistent", "math"),
    "listOfEventAssignments": Fields(elements="eventAssignment"),
    "eventAssignment": Fields("variable", "id", "math"),
}  # fmt: skip
"""Elements that are read, by their tag. All else is refused by its name."""


class Element(ET.Element):
    """An element with the line on which it begins and the namespace of its name."""

    line = 1
    space = ""

    if TYPE_CHECKING:  # all elements of a tree are of this class

        def __iter__(self) -> Iterator[Element]: ...
        def __getitem__(self, key: Any) -> Any: ...
        def iter(self, tag: Any = None) -> Any: ...  # noqa: D102
        def findall(self, path: str, namespaces: Any = None) -> Any: ...  # noqa: D102


def model_of(path: Path) -> tuple[Element, int]:
    """Return the model in a file, after a check that everything is read or may be skipped, and the level of SBML.

    Raises
    ------
    FileError
        With the line, for files other than SBML, and attributes and elements that are not read.
    """
    root = _root(read_text(path), path.name)
    level = root.get("level") or root.space.removeprefix(CORE)[:1]
    if root.tag != "sbml" or not root.findall("model"):
        raise FileError((path.name, 1), "no SBML: an element sbml with a model is expected")
    version = root.get("version", VERSIONS.get(level, "?")[-1])
    if version not in VERSIONS.get(level, "") or len(version) != 1:
        message = f"level {level!r}, version {version!r} of SBML: must be level 2 or 3"
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


def _root(text: str, file: str) -> Element:
    """Return the tree of an XML text."""
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    top = Element("")
    open_elements = [top]
    texts: list[str] = []

    def flush() -> None:
        if texts:
            element = open_elements[-1]
            text = "".join(texts)
            texts.clear()
            if len(element):
                element[-1].tail = text
            else:
                element.text = text

    def start(name: str, attributes: dict[str, str]) -> None:
        flush()
        space, _, tag = name.rpartition("}")
        element = Element(tag, attributes)
        element.line, element.space = parser.CurrentLineNumber, space
        if len(open_elements) > MAX_DEPTH:
            raise FileError((file, element.line), f"elements nested more than {MAX_DEPTH} deep")
        open_elements[-1].append(element)
        open_elements.append(element)

    def end(_name: str) -> None:
        flush()
        open_elements.pop()

    def refuse(*_: object) -> None:
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
    """Refuse unsupported attributes and elements; remove skipped elements."""
    fields = FIELDS[element.tag]
    allowed = {*fields.used.split(), *fields.skipped.split(), *ALWAYS_SKIPPED.skipped.split()}
    where = describe(element)
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
            raise FileError((file, child.line), f"{where}: {describe(child)} is not read")
        if child.tag != "math":
            _check(child, file, packages)


def describe(element: Element) -> str:
    """Return an element as text: ``reaction 'die'``."""
    name = element.get("id") or element.get("symbol") or element.get("variable")
    return f"{element.tag} {name!r}" if name else element.tag
