"""Writing of scenarios to TOML files (`toml_reading` reads them)."""

from __future__ import annotations

import dataclasses
import math
import numbers
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from dfcmodel.network.elements.base import PathElement
from dfcmodel.network.endpoints.arrivals import ArrivalProcess, HeavyTailed, Poisson, Replay
from dfcmodel.network.endpoints.receivers import ReceiverAgent
from dfcmodel.network.endpoints.sources import CBR, OnOff
from dfcmodel.network.links import Link
from dfcmodel.network.networks import Scenario
from dfcmodel.network.queueing.buffers import ByteBuffer
from dfcmodel.network.queueing.disciplines import Discipline
from dfcmodel.network.scenario_files.toml_keys import DISCIPLINES, ELEMENTS, check_name
from hopflow.checks import file_path, instance
from hopflow.parameters import Parametrized
from hopflow.units import PacketUnits, quantities_of, quantity, readable, whole_packets
from hopflow.whole_files import replacing
from responsefn import RateRule, WindowRule

__all__ = ["in_bytes", "save_scenario", "write_scenario"]


def save_scenario(scenario: Scenario, path: str | Path) -> Path:
    """Write a scenario to a TOML file and return its path; `load_scenario` reads it back as an equal scenario.

    Parameters
    ----------
    scenario
        The scenario.
    path
        The file; missing folders are created.

    Returns
    -------
    The path.

    Raises
    ------
    ValueError
        For a node that is not a string, an integer or a tuple of these, and for a user-defined discipline or arrival
        process, which a file cannot name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dfcmodel import save_scenario, takano2006
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_scenario(takano2006("1"), Path(folder, "one.toml")).read_text()[:21]
    'name = "takano2006/1"'
    """
    instance("scenario", scenario, Scenario)
    text = write_scenario(scenario)
    path = file_path("path", path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as scratch:
        scratch.write_text(text, encoding="utf-8")
    return path


def write_scenario(scenario: Scenario) -> str:
    """Return a scenario as TOML text; `read_scenario` reads it back as an equal scenario.

    Raises
    ------
    ValueError
        As for `save_scenario`.
    """
    links, common_link = _rows(scenario.links, ("source", "target"))
    flows, common_flow = _rows(scenario.flows, ("name", "path"))
    fields = {key: value for key, value in _non_defaults(scenario).items() if key not in ("links", "flows")}
    text = [f"{key} = {_toml(value)}" for key, value in fields.items()]
    for name, rows in (("links", links), ("flows", flows)):
        text += ["", f"{name} = [", *(f"    {_toml(row)}," for row in rows), "]"]
    for name, common in (("link", common_link), ("flow", common_flow)):
        if common:
            text += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in common.items())]
    return "\n".join(text) + "\n"


def _rows(objects: Iterable[Any], excluded: tuple[str, ...]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return objects' changed fields, and fields common to all, both without ``excluded`` ({} for one object)."""
    tables = [_non_defaults(item) for item in objects]
    shared = tables[0] if len(tables) > 1 else {}
    common = {
        key: value
        for key, value in shared.items()
        if key not in excluded and all(key in table and table[key] == value for table in tables)
    }
    rows = [{k: v for k, v in table.items() if k not in common} for table in tables]
    return rows, common


def _non_defaults(item: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults, by name; bits and bytes as strings."""
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(item):
        value = getattr(item, field.name)
        make = field.default_factory
        default = make() if callable(make) else field.default
        if value != default or type(value) is bool is not type(default):
            fields[field.name] = _with_unit(item, field.name, value)
    return fields


def _with_unit(of: Any, name: str, value: Any) -> Any:
    """Return a value in bits or bytes as a string with its unit, equal when read again; other values unchanged."""
    if type(value) is tuple and any(isinstance(part, PacketUnits) for part in value):
        return tuple(_with_unit(of, name, part) for part in value)
    if not isinstance(value, PacketUnits) or math.isnan(value.in_bytes) or value.framing:
        return value
    dimension = quantities_of(type(of))[name]
    if isinstance(of, Link) and name == "buffer":
        return value  # a string in bytes is a `ByteBuffer`
    text = in_bytes(value, dimension)
    read = quantity(name, text, dimension, value.packet_size)
    if isinstance(read, PacketUnits) and name in ("size", "packets"):
        read = whole_packets(read)
    return text if isinstance(of, Parametrized) or read == value else value


def _toml(value: Any) -> str:
    """Return a value as TOML in one line."""
    writers: tuple[tuple[Any, Callable[[Any], str]], ...] = (
        (bool, lambda v: "true" if v else "false"),
        (str, _quote),
        (numbers.Integral, lambda v: repr(int(v))),
        (numbers.Real, lambda v: repr(float(v))),  # inf, nan and every digit
        ((tuple, list), lambda v: f"[{', '.join(map(_toml, v))}]"),
        (dict, lambda v: f"{{{', '.join(f'{_key(k)} = {_toml(x)}' for k, x in v.items())}}}"),
        (ByteBuffer, lambda v: _quote(f"{v.size} B") if v.cell == 1 else _toml(_non_defaults(v))),
        ((WindowRule, RateRule), lambda v: _object(v, _rule_parameters(v))),
        (
            (Discipline, CBR, OnOff, Poisson, HeavyTailed, Replay, PathElement),
            lambda v: _object(v, _non_defaults(v)),
        ),
    )
    is_custom = isinstance(value, Discipline) and DISCIPLINES.get(type(value).__name__) is not type(value)
    arrivals = isinstance(value, ArrivalProcess) and type(value) not in (Poisson, HeavyTailed)
    if isinstance(value, ReceiverAgent):
        raise ValueError(f"receiver = {value!r}: must be None to be written as TOML")  # noqa: TRY004
    element = isinstance(value, PathElement) and ELEMENTS.get(type(value).__name__) is not type(value)
    if is_custom or arrivals or element:
        name = "discipline" if is_custom else "elements" if element else "source or arrivals"
        raise ValueError(f"{name} = {value!r}: must be of a class of dfcmodel to be written as TOML")
    for kind, write in writers:
        if isinstance(value, kind):
            return write(value)
    raise ValueError(f"{value!r}: must be a string, a number or a list of these to be written as TOML")


def _object(value: Any, parameters: dict[str, Any]) -> str:
    """Return an object as TOML: a table with ``kind`` and parameters, or its class name if there are none."""
    name = type(value).__name__
    return _toml({"kind": name, **parameters}) if parameters else _toml(name)


def _rule_parameters(rule: WindowRule | RateRule) -> dict[str, Any]:
    """Return the parameters of a rule that differ from the defaults, by name, with units."""
    check_name(type(rule))
    return {
        name: _with_unit(rule, name, value)
        for name, value in rule.params._asdict().items()
        if not rule._has_default(name)
    }


def in_bytes(value: PacketUnits, dimension: str) -> str:
    """Return a rate or an amount, given in bits or bytes, as a string with its unit.

    >>> in_bytes(PacketUnits(100.0, 1500.0), "amount"), in_bytes(PacketUnits(100.0, 1500.0), "rate")
    ('150 kB', '1.2 Mb/s')
    """
    amount, unit = (8.0 * value.in_bytes, "bit/s") if dimension == "rate" else (value.in_bytes, "bytes")
    scale, name = readable(unit, amount)
    return f"{amount / scale:.12g} {name}"


def _key(name: str) -> str:
    """Return a key in TOML, quoted if necessary."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quote(name)


def _quote(text: str) -> str:
    """Return a string in TOML, in double quotes with escapes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda m: f"\\u{ord(m[0]):04x}", escaped) + '"'
