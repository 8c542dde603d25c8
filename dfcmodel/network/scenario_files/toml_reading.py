"""Reading of scenarios from TOML files (`toml_writing` writes them).

A file has the fields of `Scenario`; the tables ``[link]`` and ``[flow]`` are the defaults of all
links and flows::

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

Plain numbers are packets, packets/s and s, as everywhere; strings carry their unit. Bits and bytes
are converted to packets of ``packet_size`` bytes. A buffer in bytes, ``"150 kB"`` or, in cells,
``{size = "150 kB", cell = 80}``, is a `ByteBuffer`.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dfcmodel.network.flows import Flow
from dfcmodel.network.links import Link
from dfcmodel.network.networks import Scenario
from dfcmodel.network.queueing.buffers import ByteBuffer, buffer_of
from dfcmodel.network.scenario_files.toml_keys import (
    ARRIVALS,
    DISCIPLINES,
    ELEMENTS,
    OWN_KEYS,
    RULES,
    required,
    sources_of,
)
from hopflow.checks import file_path, listed, listed_for
from hopflow.units import quantities_of, quantity
from responsefn import WindowRule

__all__ = ["ScenarioFileError", "load_scenario", "read_scenario"]

Key = tuple[str | int, ...]


class ScenarioFileError(ValueError):
    """An error in a scenario file; the message names the file, the line and the key.

    Examples
    --------
    >>> from dfcmodel.network.scenario_files.toml_reading import read_scenario
    >>> read_scenario("links = 3")
    Traceback (most recent call last):
    ...
    dfcmodel.network.scenario_files.toml_reading.ScenarioFileError: <text>, line 1, links: must be given, a list of links
    """


def load_scenario(path: str | Path, rules: Iterable[type[WindowRule]] = ()) -> Scenario:
    """Read a scenario from a TOML file.

    Parameters
    ----------
    path
        The file, encoded in UTF-8.
    rules
        User-defined window rules that the file may name, in addition to those of `responsefn`.

    Raises
    ------
    ScenarioFileError
        A ValueError that names the file, the line and the key: for unknown or missing keys, values
        out of range, wrong units, and everything that `Link`, `Flow` and `Scenario` refuse.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dfcmodel import load_scenario, save_scenario, takano2006
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_scenario(takano2006("1"), Path(folder, "one.toml"))
    ...     load_scenario(path) == takano2006("1")
    True
    """
    path = file_path("path", path)
    rules = listed("rules", rules, type, "a class of rules")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ScenarioFileError(f"path = {path}: cannot be read ({reason})") from None
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
    """Conversion of nested dictionaries to objects; every error carries the key it concerns."""

    def __init__(self, rules: Iterable[type[WindowRule]]) -> None:
        self.sources = sources_of(rules)
        self.packet_size = 1500.0

    def scenario(self, document: Mapping[str, Any]) -> Scenario:
        fields = {key: value for key, value in document.items() if key not in ("link", "flow")}
        if "packet_size" in fields:
            size = self.value(Scenario, "packet_size", fields["packet_size"], ("packet_size",))
            if isinstance(size, (int, float)) and size > 0:  # the scenario refuses others
                self.packet_size = float(size)
        link = self.defaults(Link, document, "link", OWN_KEYS["link"])
        flow = self.defaults(Flow, document, "flow", OWN_KEYS["flow"])
        for key in ("links", "flows"):
            if not isinstance(fields.get(key), list):
                raise _BadKey((key,), f"must be given, a list of {key}")
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
        except _BadKey as bad:  # the name of a link or flow in the message identifies its table
            about = [n for n, name in enumerate(names) if f"{name!r}" in bad.why]
            if bad.key or not about:
                raise
            n = about[-1]
            where: Key = ("links", n) if n < len(links) else ("flows", n - len(links))
            raise _BadKey((*where, *_about(bad.why, vars((*links, *flows)[n]))), bad.why) from None

    def defaults(
        self, kind: type[Any], document: Mapping[str, Any], key: str, own: tuple[str, ...]
    ) -> dict[str, Any]:
        """Return a table of defaults, without the keys that each object must define itself."""
        found = self.table(document.get(key, {}), (key,))
        allowed = [field.name for field in dataclasses.fields(kind) if field.name not in own]
        _known(found, allowed, (key,))
        for name, value in found.items():  # checked even if no object inherits it
            self.value(kind, name, value, (key, name))
        return {name: _Inherited(value, (key, name)) for name, value in found.items()}

    def table(self, value: Any, key: Key) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _BadKey(key, f"{value!r}: must be a table of keys and values")
        return value

    def make(self, kind: type[Any], given: Mapping[str, Any], key: Key, **made: Any) -> Any:
        """Return ``kind(**given, **made)``; errors name the key they concern."""
        parametrized = issubclass(kind, RULES)
        names = (
            kind.Params._fields
            if parametrized
            else [f.name for f in dataclasses.fields(kind) if f.init]
        )
        _known(given, [name for name in names if name not in made], key)
        for name in required(kind):
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
        """Return a field's value: nested objects built, units converted, lists as tuples."""
        if (kind is Link and name == "discipline") or name == "manager":
            return self.one_of(DISCIPLINES, value, key)
        if kind is Flow and name == "source":
            return self.one_of(self.sources, value, key)
        if kind is Scenario and name == "elements" and isinstance(value, list):
            return tuple(self.one_of(ELEMENTS, one, (*key, n)) for n, one in enumerate(value))
        if kind is Flow and name == "arrivals":
            return self.one_of(ARRIVALS, value, key)
        if kind is Link and name == "buffer" and (found := self.byte_buffer(value, key)):
            return found
        if isinstance(value, str) and name in quantities_of(kind):
            try:
                return quantity(name, value, quantities_of(kind)[name], self.packet_size)
            except ValueError as error:
                raise _BadKey(key, str(error)) from None
        return _tuples(value)

    def byte_buffer(self, value: Any, key: Key) -> ByteBuffer | None:
        """Return a buffer in bytes, from a string or a table; None for any other value."""
        if isinstance(value, dict):
            return self.make(ByteBuffer, value, key)  # type: ignore[no-any-return]
        if not isinstance(value, str):
            return None
        try:
            found = buffer_of("buffer", value)
        except ValueError as error:
            raise _BadKey(key, str(error)) from None
        return found if isinstance(found, ByteBuffer) else None

    def one_of(self, kinds: Mapping[str, type[Any]], value: Any, key: Key) -> Any:
        """Return the object that a table with ``kind`` and parameters, or a kind alone, describes."""
        given = dict(self.table({"kind": value} if isinstance(value, str) else value, key))
        kind = given.pop("kind", None)
        if not isinstance(kind, str) or kind not in kinds:
            own = "; classes of your own: load_scenario(path, rules=[...])"
            listed = listed_for(kind, sorted(kinds)) + (own if kinds is self.sources else "")
            raise _BadKey((*key, "kind"), f"{kind!r}: must be one of {listed}")
        return self.make(kinds[kind], given, key)


@dataclasses.dataclass(frozen=True)
class _Inherited:
    """A value from a table of defaults, and its key there."""

    value: Any
    key: Key


def _known(given: Iterable[str], allowed: Iterable[str], key: Key) -> None:
    allowed = list(allowed)
    for name in given:
        if name not in allowed:
            listed = listed_for(name, allowed) or "none"
            raise _BadKey((*key, name), f"unknown key, must be one of {listed}")


def _about(why: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the field that a message names first, possibly a nested one; () if it names none.

    "path of flow 'one': ..." gives path, "high of link 'a->b' = 9: ..." gives discipline.high.
    """
    known: dict[str, tuple[str, ...]] = {name: (name,) for name in fields}
    for name, value in fields.items():
        for own in dataclasses.fields(value) if dataclasses.is_dataclass(value) else ():
            known.setdefault(own.name, (name, own.name))
    words = re.findall(r"\w+", why.partition(":")[0])
    return next((known[word] for word in words if word in known), ())


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _dotted(key: Key) -> str:
    """Return a key in dotted notation, list entries counted from 1."""
    text = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in key)
    return text.lstrip(".") or "the scenario"


def _line(text: str, key: Key) -> int:
    """Return the first line up to which the text contains a key, or the nearest key above it.

    The text up to a line is parsed with up to two closing brackets appended.
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
