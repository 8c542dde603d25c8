"""Scenarios as documents: how a TOML file is read (`scenario_writing` writes it).

A file has the fields of `Scenario`; a table ``[link]`` and a table ``[flow]`` say what links and
flows have that do not say otherwise::

    name = "two hops"
    duration = "3 s"

    links = [
        {source = "a", target = "b"},
        {source = "b", target = "c", rate = "100 Mb/s", discipline = {kind = "Pause", high = 600}},
    ]
    flows = [
        {name = "one", path = ["a", "b", "c"], source = {kind = "CUBIC"}, max_window = 500},
    ]

    [link]
    rate = "370 Mb/s"
    delay = "0.1 ms"
    buffer = 1800

Numbers are packets, packets/s and s, as everywhere; a text carries its unit. Bits and bytes are
counted in packets of ``packet_size``.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import responsefn
from dfcmodel.network import disciplines
from dfcmodel.network.flows import CBR, Flow, OnOff
from dfcmodel.network.networks import Link, Scenario
from hopflow.units import Kind, quantity
from responsefn import WindowRule

__all__ = ["ScenarioFileError", "load_scenario", "read_scenario"]

Key = tuple[str | int, ...]

KINDS: dict[str, Kind] = {
    "duration": "time", "min_rto": "time", "delay": "time", "start": "time", "on": "time",
    "off": "time", "burst": "time", "signalling": "time", "rate": "rate", "paused_rate": "rate", "buffer": "amount",
    "max_window": "amount", "size": "amount", "high": "amount", "low": "amount",
}  # fmt: skip
"""What a field counts, for fields that may carry a unit."""

DISCIPLINES = {
    kind.__name__: kind
    for kind in vars(disciplines).values()
    if isinstance(kind, type) and issubclass(kind, disciplines.Discipline)
    if kind is not disciplines.Discipline
}


class ScenarioFileError(ValueError):
    """A scenario file says something that it cannot; the message names file, line and key."""


def load_scenario(path: str | Path, rules: Iterable[type[WindowRule]] = ()) -> Scenario:
    """Read a scenario from a TOML file.

    Parameters
    ----------
    path
        The file, in UTF-8.
    rules
        Window rules of one's own that the file names, beside those of `responsefn`.

    Raises
    ------
    ScenarioFileError
        A ValueError that names the file, the line and the key: unknown or missing keys, values out
        of range, units that do not fit, and what `Link`, `Flow` and `Scenario` refuse.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioFileError(f"{path}: cannot be read ({error})") from None
    return read_scenario(text, rules, file=str(path))


def read_scenario(
    text: str, rules: Iterable[type[WindowRule]] = (), *, file: str = "<text>"
) -> Scenario:
    """Read a scenario from TOML; parameters and errors as for `load_scenario`."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioFileError(f"{file}: {error}") from None
    try:
        return _Reader(rules).scenario(document)
    except _BadKey as bad:
        place = f"{file}, line {_line(text, bad.key)}"
        raise ScenarioFileError(f"{place}, {_dotted(bad.key)}: {bad.why}") from None


class _BadKey(Exception):
    def __init__(self, key: Key, why: str) -> None:
        super().__init__(why)
        self.key = key
        self.why = why


class _Reader:
    """Turns nested dictionaries into objects; every error knows the key that it is about."""

    def __init__(self, rules: Iterable[type[WindowRule]]) -> None:
        known = (getattr(responsefn, name) for name in responsefn.__all__)
        windows = [
            rule
            for rule in (*known, *rules)
            if isinstance(rule, type) and issubclass(rule, WindowRule) and rule is not WindowRule
        ]
        self.sources: dict[str, type[Any]] = {
            kind.__name__: kind for kind in (*windows, CBR, OnOff)
        }
        self.packet_size = 1500.0

    def scenario(self, document: Mapping[str, Any]) -> Scenario:
        fields = {key: value for key, value in document.items() if key not in ("link", "flow")}
        if isinstance(size := fields.get("packet_size"), (int, float)) and size > 0:
            self.packet_size = float(size)
        link = self.defaults(Link, document, "link", ("source", "target"))
        flow = self.defaults(Flow, document, "flow", ("name", "path"))
        for key in ("links", "flows"):
            if not isinstance(fields.get(key), list):
                raise _BadKey((key,), f"must be there, a list of {key}")
        links = [
            self.make(Link, {**link, **self.table(each, ("links", n))}, ("links", n))
            for n, each in enumerate(fields.pop("links"))
        ]
        flows = [
            self.make(Flow, {**flow, **self.table(each, ("flows", n))}, ("flows", n))
            for n, each in enumerate(fields.pop("flows"))
        ]
        names = [each.name for each in (*links, *flows)]
        try:
            made: Scenario = self.make(
                Scenario, {"name": "scenario", **fields}, (), links=tuple(links), flows=tuple(flows)
            )
            return made
        except _BadKey as bad:  # a name of a link or flow in the message says where to look
            about = [n for n, name in enumerate(names) if f"{name!r}" in bad.why]
            if bad.key or not about:
                raise
            n = about[-1]
            where: Key = ("links", n) if n < len(links) else ("flows", n - len(links))
            raise _BadKey((*where, *_about(bad.why, vars((*links, *flows)[n]))), bad.why) from None

    def defaults(
        self, kind: type[Any], document: Mapping[str, Any], key: str, own: tuple[str, ...]
    ) -> dict[str, Any]:
        """Return a table of defaults, which must not hold what each has of its own."""
        found = self.table(document.get(key, {}), (key,))
        allowed = [field.name for field in dataclasses.fields(kind) if field.name not in own]
        _known(found, allowed, (key,))
        for name, value in found.items():  # wrong in itself, whoever inherits it
            self.value(kind, name, value, (key, name))
        return {name: _Inherited(value, (key, name)) for name, value in found.items()}

    def table(self, value: Any, key: Key) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _BadKey(key, f"{value!r}: must be a table of keys and values")
        return value

    def make(self, kind: type[Any], given: Mapping[str, Any], key: Key, **made: Any) -> Any:
        """Return ``kind(**given, **made)``, errors turned into the key that they are about."""
        parametrized = issubclass(kind, WindowRule)
        names = (
            kind.Params._fields
            if parametrized
            else [f.name for f in dataclasses.fields(kind) if f.init]
        )
        _known(given, [name for name in names if name not in made], key)
        for name in _required(kind):
            if name not in given and name not in made:
                raise _BadKey(key, f"{name} is missing: must be given")
        places = {name: (*key, name) for name in given}
        fields = {}
        for name, value in given.items():
            if isinstance(value, _Inherited):
                places[name], value = value.key, value.value
            fields[name] = self.value(kind, name, value, places[name])
        try:
            return kind(**fields, **made)
        except (ValueError, TypeError) as error:
            about = _about(str(error), fields)
            place = (*places[about[0]], *about[1:]) if about else key
            raise _BadKey(place, str(error)) from None

    def value(self, kind: type[Any], name: str, value: Any, key: Key) -> Any:
        """Return a field's value: nested objects made, units converted, lists as tuples."""
        if kind is Link and name == "discipline":
            return self.one_of(DISCIPLINES, value, key)
        if kind is Flow and name == "source":
            return self.one_of(self.sources, value, key)
        if isinstance(value, str) and name in KINDS and not issubclass(kind, WindowRule):
            try:
                return quantity(name, value, KINDS[name], self.packet_size)
            except ValueError as error:
                raise _BadKey(key, str(error)) from None
        return _tuples(value)

    def one_of(self, kinds: Mapping[str, type[Any]], value: Any, key: Key) -> Any:
        """Return an object given by its kind and parameters, or by its kind alone."""
        given = dict(self.table({"kind": value} if isinstance(value, str) else value, key))
        kind = given.pop("kind", None)
        if kind not in kinds:
            raise _BadKey((*key, "kind"), f"{kind!r}: must be one of {', '.join(sorted(kinds))}")
        return self.make(kinds[kind], given, key)


@dataclasses.dataclass(frozen=True)
class _Inherited:
    """A value from a table of defaults, and where it stands."""

    value: Any
    key: Key


def _known(given: Iterable[str], allowed: Iterable[str], key: Key) -> None:
    allowed = list(allowed)
    for name in given:
        if name not in allowed:
            listed = ", ".join(allowed) or "none"
            raise _BadKey((*key, name), f"unknown key, must be one of {listed}")


def _about(why: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the field that a message names first, or the field's own field; () if it names none.

    "path of flow 'one': ..." is about the path, "high of link 'a->b' = 9: ..." about discipline.high.
    """
    known: dict[str, tuple[str, ...]] = {name: (name,) for name in fields}
    for name, value in fields.items():
        for own in dataclasses.fields(value) if dataclasses.is_dataclass(value) else ():
            known.setdefault(own.name, (name, own.name))
    words = re.findall(r"\w+", why.partition(":")[0])
    return next((known[word] for word in words if word in known), ())


def _required(kind: type[Any]) -> list[str]:
    """Return the names of the fields that have no default."""
    if issubclass(kind, WindowRule):
        return [name for name in kind.Params._fields if name not in kind.Params._field_defaults]
    missing = dataclasses.MISSING
    fields = dataclasses.fields(kind)
    return [f.name for f in fields if f.default is missing and f.default_factory is missing]


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _dotted(key: Key) -> str:
    """Return a key as one writes it, entries of lists counted from 1."""
    text = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in key)
    return text.lstrip(".") or "the scenario"


def _line(text: str, key: Key) -> int:
    """Return the line of a key, or of what holds it: where the text up to there first has it.

    The text up to a line is a document if a closing bracket or two make it one.
    """
    lines = text.splitlines()

    def up_to(n: int) -> Any:
        for end in range(n, len(lines) + 1):
            for closing in ("", "]", "]]"):
                try:
                    return tomllib.loads("\n".join(lines[:end]) + closing)
                except tomllib.TOMLDecodeError:
                    continue
        return tomllib.loads(text)

    while key and not _holds(tomllib.loads(text), key):
        key = key[:-1]
    low, high = 1, max(1, len(lines))
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _holds(up_to(middle), key) else (middle + 1, high)
    return low


def _holds(document: Any, key: Key) -> bool:
    for part in key:
        if isinstance(part, int):
            if not isinstance(document, list) or part >= len(document):
                return False
        elif not isinstance(document, dict) or part not in document:
            return False
        document = document[part]
    return True
