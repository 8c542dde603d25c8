"""JSON Schema of scenario files, generated from the tables of the reader.

Editors complete and check TOML files by it (for VS Code the extension Even Better TOML: ``#:schema
scenario.schema.json`` in the first line of a file). The reader also checks ranges and combinations.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from typing import Any

from dfcmodel.network.flows import Flow
from dfcmodel.network.links import Link
from dfcmodel.network.networks import Scenario
from dfcmodel.network.queueing.buffers import ByteBuffer
from dfcmodel.network.scenario_files.toml_keys import (
    ARRIVALS,
    DISCIPLINES,
    ELEMENTS,
    REQUIRED_KEYS,
    RULES,
    fields_without_default,
    parameter_names,
    sources_of,
)
from hopflow.checks import instances
from hopflow.units import BARE, quantities_of
from responsefn import WindowRule

__all__ = ["scenario_schema"]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
NUMBER, TEXT, LIST = {"type": "number"}, {"type": "string"}, {"type": "array"}

OF_PYTHON = ("receiver",)
"""Fields that no file can name: objects of a class of the user."""


def scenario_schema(rules: Iterable[type[WindowRule]] = ()) -> dict[str, Any]:
    """Return the JSON Schema of scenario files (draft 2020-12), as a dictionary for `json.dump`.

    Parameters
    ----------
    rules
        User-defined window rules that files may name, as for `load_scenario`.

    Raises
    ------
    TypeError
        For a rule that is not a class.

    Examples
    --------
    >>> from dfcmodel import scenario_schema
    >>> schema = scenario_schema()
    >>> sorted(schema["$defs"]), schema["required"]
    (['discipline', 'source'], ['links', 'flows'])
    """
    sources = sources_of(instances("rules", rules, type, "a class of rules"))
    tables: dict[str, Any] = {}
    for name, kind in (("link", Link), ("flow", Flow)):
        properties = {key: _field(kind, key) for key in _names(kind)}
        row = {"type": "object", "properties": properties, "additionalProperties": False}
        common = {key: value for key, value in properties.items() if key not in REQUIRED_KEYS[name]}
        tables[f"{name}s"] = {"type": "array", "items": {**row, "required": list(REQUIRED_KEYS[name])}}
        tables[name] = {**row, "properties": common, "description": f"Defaults of all {name}s."}
    plain = {key: _field(Scenario, key) for key in _names(Scenario) if key not in tables}
    return {
        "$schema": DRAFT,
        "title": "hopflow scenario",
        "type": "object",
        "properties": {**plain, **tables},
        "required": ["links", "flows"],
        "additionalProperties": False,
        "$defs": {
            "discipline": _one_of(DISCIPLINES),
            "source": _one_of(sources),
        },
    }


def _names(kind: type[Any]) -> list[str]:
    """Return the names of the constructor parameters of a class that scenario files may set."""
    return [name for name in parameter_names(kind) if name not in OF_PYTHON]


def _one_of(kinds: Mapping[str, type[Any]]) -> dict[str, Any]:
    """Return the JSON Schema of an object of one of ``kinds``: its class name, or a table with ``kind``."""
    return {"anyOf": [{"enum": sorted(kinds)}, *(_table(kinds[name]) for name in sorted(kinds))]}


def _table(kind: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a TOML table with ``kind``, the name of the class, and its parameters."""
    rule = issubclass(kind, RULES)
    return {
        "type": "object",
        "properties": {
            "kind": {"const": kind.__name__},
            **{name: _of_rule(kind, name) if rule else _field(kind, name) for name in _names(kind)},
        },
        "required": ["kind", *fields_without_default(kind)],
        "additionalProperties": False,
    }


def _of_rule(kind: type[Any], name: str) -> dict[str, Any]:
    """Return the JSON Schema of a parameter of a rule: a number, or a string with a unit."""
    return _field(kind, name) if name in quantities_of(kind) else NUMBER


def _field(kind: type[Any], name: str) -> dict[str, Any]:
    """Return the JSON Schema of a field of a class, by its class, its unit or its type."""
    if kind is Flow and name == "source":
        return {"$ref": "#/$defs/source"}
    if kind is Scenario and name == "elements":
        return {"type": "array", "items": _one_of(ELEMENTS)}
    if kind is Flow and name == "arrivals":
        return _one_of(ARRIVALS)
    if name in ("discipline", "manager"):
        return {"$ref": "#/$defs/discipline"}
    if kind is Link and name == "buffer":
        parts = {"size": _field(ByteBuffer, "size"), "cell": _field(ByteBuffer, "cell")}
        cells = {
            "type": "object",
            "properties": parts,
            "required": ["size"],
            "additionalProperties": False,
        }
        text = "In packets, a text with a unit, or size and cell in bytes."
        return {"anyOf": [NUMBER, TEXT, cells], "description": text}
    if kind is ByteBuffer:
        return {"anyOf": [NUMBER, TEXT], "description": "In bytes, or a text with a unit."}
    if name in quantities_of(kind):
        dimension = quantities_of(kind)[name]
        text = f"In {BARE[dimension]}, or a text with a unit."
        if dimension == "share":
            text = "A fraction of 1, or a percentage as a text."
        return {"anyOf": [NUMBER, TEXT], "description": text}
    return _type_schema(typing.get_type_hints(kind)[name])


def _type_schema(hint: Any) -> dict[str, Any]:
    """Return the JSON Schema of a Python type; {}, which allows anything, for types without a form in TOML."""
    options = [option for option in typing.get_args(hint) if option is not type(None)]
    origin = typing.get_origin(hint) or hint
    simple = {bool: {"type": "boolean"}, int: NUMBER, float: NUMBER, str: TEXT}
    if origin in simple:
        return simple[origin]
    if origin is typing.Literal:
        return {"enum": list(options)}
    if origin in (tuple, list):
        return LIST
    if len(options) > 1 and set(options) <= set(simple):
        return {"anyOf": [_type_schema(option) for option in options]}
    return {}
