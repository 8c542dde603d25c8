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
``{size = "150 kB", cell = 80}``, is a `ByteBuffer`. Every key is used: unknown and duplicate keys are refused.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dfcmodel.network.endpoints.native_rules import NativeRule
from dfcmodel.network.flows import Flow
from dfcmodel.network.foreign_files import TOML, foreign_format
from dfcmodel.network.links import Link
from dfcmodel.network.networks import Scenario
from dfcmodel.network.queueing.buffers import ByteBuffer, buffer_of
from dfcmodel.network.scenario_files.toml_keys import (
    ARRIVALS,
    DISCIPLINES,
    ELEMENTS,
    REQUIRED_KEYS,
    fields_without_default,
    parameter_names,
    sources_of,
)
from hopflow.checks import file_path, flag, format_choices, format_value, instances
from hopflow.text_files import parse_toml, read_text
from hopflow.units import quantities_of, quantity
from responsefn import WindowRule

__all__ = ["ScenarioFileError", "load_scenario", "read_scenario"]

Key = tuple[str | int, ...]

MAX_BYTES = 4 * 2**20
"""Largest file in bytes: about 40,000 links and flows. Python's parser of TOML reads about 2 MB/s."""
_STRINGS = (
    r'"{3}(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?|"(?:[^"\\\n]|\\.)*+"?'
    r"|'{3}(?:[^']|'(?!''))*+(?:'{3,5})?|'[^'\n]*+'?|#[^\n]*+"
)
"""Strings and comments; an unclosed string extends to the end, so that a search takes linear time."""
TOKEN = re.compile(_STRINGS + r"|[][{}=,\n]|[^][{}=,\s#\"']++(?:[ ][0-9]{2}:[0-9:.]++)?", re.DOTALL)
"""Strings, comments, punctuation, ends of lines and words of TOML."""
BRACKET = re.compile(_STRINGS + r"|[][{}]|[^][{}#\"']++", re.DOTALL)
"""Strings, comments and brackets of TOML, and the text between them."""


class ScenarioFileError(ValueError):
    """An error in a scenario file; the message names the file, the line and the key.

    Examples
    --------
    >>> from dfcmodel.network.scenario_files.toml_reading import read_scenario
    >>> read_scenario("links = 3")
    Traceback (most recent call last):
    ...
    dfcmodel.network.scenario_files.toml_reading.ScenarioFileError: <text>, line 1, links: must be given...
    """


def load_scenario(path: str | Path, rules: Iterable[type[WindowRule]] = (), *, native: bool = False) -> Scenario:
    """Return the scenario of a TOML file; ``rules``: further classes of sources; ``native``: it may load libraries.

    Parameters
    ----------
    path
        The file, of at most 4 MiB: UTF-8 with or without a byte-order mark, or UTF-16 with one.
    rules
        User-defined window rules that the file may name, in addition to the rules of `responsefn`.
    native
        Whether shared libraries that the file names (`NativeRule`) are loaded: this runs their code. Their paths are
        relative to the present folder.

    Raises
    ------
    ScenarioFileError
        A ValueError that names the file, the line and the key: for unknown or missing keys, values out of range, wrong
        units, and everything that `Link`, `Flow` and `Scenario` refuse; for a file that is larger, cannot be read, or
        is no TOML.

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
    rules = instances("rules", rules, type, "a class of rules")
    try:
        text = read_text("path", path, MAX_BYTES)
    except OSError as error:
        raise ScenarioFileError(f"path = {path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise ScenarioFileError(str(error)) from None
    return read_scenario(text, rules, file=str(path), native=native)


def read_scenario(
    text: str, rules: Iterable[type[WindowRule]] = (), *, file: str = "<text>", native: bool = False
) -> Scenario:
    """Return the scenario of a TOML text; parameters and errors as for `load_scenario`."""
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise ScenarioFileError(f"{file}: {foreign_format(text, TOML) or error}") from None
    try:
        return _Reader(rules, native).scenario(document)
    except _BadKey as bad:
        position = f"{file}, line {_line(text, bad.key)}"
        raise ScenarioFileError(f"{position}, {_key_text(bad.key)}: {bad.why}") from None


class _BadKey(Exception):
    """An error at a key of the document; `read_scenario` adds file and line."""

    def __init__(self, key: Key, why: str) -> None:
        super().__init__(why)
        self.key = key
        self.why = why


class _Reader:
    """Conversion of a parsed TOML document to objects; every error has the key that caused it."""

    def __init__(self, rules: Iterable[type[WindowRule]], native: bool) -> None:
        self.sources, self.native = sources_of(rules), flag("native", native)
        self.packet_size = 1500.0

    def scenario(self, document: Mapping[str, Any]) -> Scenario:
        """Return the scenario of a document; `_BadKey` for an invalid one."""
        fields = {key: value for key, value in document.items() if key not in ("link", "flow")}
        if "packet_size" in fields:
            size = self.value(Scenario, "packet_size", fields["packet_size"], ("packet_size",))
            if isinstance(size, (int, float)) and 0 < size < 1e300:  # the scenario refuses others
                self.packet_size = float(size)
        link = self.defaults(Link, document, "link", REQUIRED_KEYS["link"])
        flow = self.defaults(Flow, document, "flow", REQUIRED_KEYS["flow"])
        for key in ("links", "flows"):
            if not isinstance(fields.get(key), list):
                raise _BadKey((key,), f"must be given, a list of {key}")
        for kind, key in ((Link, "links"), (Flow, "flows")):  # before the objects, which take longer
            parameters = parameter_names(kind)
            for n, entry in enumerate(fields[key]):
                _check_keys(self.table(entry, (key, n)), parameters, (key, n))
        links = [self.make(Link, {**link, **entry}, ("links", n)) for n, entry in enumerate(fields.pop("links"))]
        flows = [self.make(Flow, {**flow, **entry}, ("flows", n)) for n, entry in enumerate(fields.pop("flows"))]
        names = [entry.name for entry in (*links, *flows)]
        try:
            scenario: Scenario = self.make(
                Scenario, {"name": "scenario", **fields}, (), links=tuple(links), flows=tuple(flows)
            )
            return scenario
        except _BadKey as bad:  # the name of a link or flow in the message identifies its table
            about = [n for n, name in enumerate(names) if f"{name!r}" in bad.why]
            if bad.key or not about:
                raise
            n = about[-1]
            where: Key = ("links", n) if n < len(links) else ("flows", n - len(links))
            raise _BadKey((*where, *_find_field(bad.why, vars((*links, *flows)[n]))), bad.why) from None

    def defaults(
        self, kind: type[Any], document: Mapping[str, Any], key: str, excluded: tuple[str, ...]
    ) -> dict[str, Any]:
        """Return a document's defaults for a kind of object, by field, as `_Inherited`; no ``excluded`` keys."""
        table = self.table(document.get(key, {}), (key,))
        allowed = [field.name for field in dataclasses.fields(kind) if field.name not in excluded]
        _check_keys(table, allowed, (key,))
        for name, value in table.items():  # checked even if no object inherits it
            self.value(kind, name, value, (key, name))
        return {name: _Inherited(value, (key, name)) for name, value in table.items()}

    def table(self, value: Any, key: Key) -> dict[str, Any]:
        """Return ``value`` if it is a dict; otherwise raise `_BadKey` for ``key``."""
        if not isinstance(value, dict):
            raise _BadKey(key, f"{format_value(value)}: must be a table of keys and values")
        return value

    def make(self, kind: type[Any], entries: Mapping[str, Any], key: Key, **objects: Any) -> Any:
        """Return ``kind(**entries, **objects)``; errors name the key that caused them."""
        names = parameter_names(kind)
        _check_keys(entries, [name for name in names if name not in objects] if objects else names, key)
        for name in fields_without_default(kind):
            if name not in entries and name not in objects:
                raise _BadKey(key, f"{name} is missing: must be given")
        keys = {name: (*key, name) for name in entries}
        fields = {}
        for name, value in entries.items():
            if isinstance(value, _Inherited):
                keys[name], value = value.key, value.value
            fields[name] = self.value(kind, name, value, keys[name])
        try:
            return kind(**fields, **objects)
        except (ValueError, TypeError, OverflowError) as error:
            about = _find_field(str(error), fields)
            error_key = (*keys[about[0]], *about[1:]) if about else key
            raise _BadKey(error_key, str(error)) from None

    def value(self, kind: type[Any], name: str, value: Any, key: Key) -> Any:
        """Return a field's value for the constructor: nested objects built, units converted, lists as tuples."""
        if (kind is Link and name == "discipline") or name == "manager":
            return self.one_of(DISCIPLINES, value, key)
        if kind is Flow and name == "source":
            return self.one_of(self.sources, value, key)
        if kind is Scenario and name == "elements" and isinstance(value, list):
            return tuple(self.one_of(ELEMENTS, one, (*key, n)) for n, one in enumerate(value))
        if kind is Flow and name == "arrivals":
            return self.one_of(ARRIVALS, value, key)
        if kind is Link and name == "buffer" and (buffer := self.byte_buffer(value, key)):
            return buffer
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
            buffer = buffer_of("buffer", value)
        except ValueError as error:
            raise _BadKey(key, str(error)) from None
        return buffer if isinstance(buffer, ByteBuffer) else None

    def one_of(self, kinds: Mapping[str, type[Any]], value: Any, key: Key) -> Any:
        """Return the object of a kind's name, or of a table with ``kind`` and parameters; `_BadKey` for others."""
        entries = dict(self.table({"kind": value} if isinstance(value, str) else value, key))
        kind = entries.pop("kind", None)
        if not isinstance(kind, str) or kind not in kinds:
            hint = "; classes of your own: load_scenario(path, rules=[...])"
            listed = format_choices(kind, sorted(kinds)) + (hint if kinds is self.sources else "")
            raise _BadKey((*key, "kind"), f"{format_value(kind)}: must be one of {listed}")
        if kinds[kind] is NativeRule and not self.native:
            library = format_value(entries.get("library"))
            msg = f"runs the code of library = {library}; permit it by hopflow simulate --native, or load_scenario"
            raise _BadKey((*key, "kind"), f"{kind} {msg}(path, native=True)")
        return self.make(kinds[kind], entries, key)


@dataclasses.dataclass(frozen=True)
class _Inherited:
    """A value that a flow or link takes from a table of defaults, with its key in the document for messages."""

    value: Any
    key: Key


def _check_keys(names: Iterable[str], allowed: Sequence[str], key: Key) -> None:
    """Raise `_BadKey` for the first name that is not allowed in the table at ``key``."""
    for name in names:
        if name not in allowed:
            listed = format_choices(name, allowed) or "none"
            raise _BadKey((*key, name), f"unknown key, must be one of {listed}")


def _find_field(why: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the key of the first field in an error message, possibly nested; () if it has none.

    "path of flow 'one': ..." gives path, "high of link 'a->b' = 9: ..." gives discipline.high.
    """
    keys: dict[str, tuple[str, ...]] = {name: (name,) for name in fields}
    for name, value in fields.items():
        for field in dataclasses.fields(value) if dataclasses.is_dataclass(value) else ():
            keys.setdefault(field.name, (name, field.name))
    words = re.findall(r"\w+", why.partition(":")[0])
    return next((keys[word] for word in words if word in keys), ())


def _tuples(value: Any) -> Any:
    """Return nested lists as tuples; other values unchanged."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _key_text(key: Key) -> str:
    """Return a key as a string such as "flows[1].source.kind"; entries of lists are counted from 1."""
    text = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in key)
    return text.lstrip(".") or "the scenario"


def _line(text: str, key: Key) -> int:
    r"""Return the line of a key in a valid text, or of its nearest ancestor.

    >>> _line("links = [\n {rate = 1},\n {rate = 2}]\n[flow]\nsource.kind = 3", ("links", 1, "rate"))
    3
    """
    line, length = 1, 0
    for candidate, number in _KeyLines(text, key).pairs():
        common = len(candidate) if candidate == key[: len(candidate)] else 0
        if common > length:
            line, length = number, common
            if length == len(key):
                break
    return line


class _KeyLines:
    """Scanner for the keys of a valid TOML text with their lines; it skips tables that cannot hold ``key``."""

    def __init__(self, text: str, key: Key) -> None:
        self.text, self.sought = text, key
        self.offset = 0
        self.line = self.following = 1
        self.tables: dict[Key, int] = {}

    def next(self) -> str:
        """Advance to the next token and return it; "" at the end; ends of lines are tokens, comments are not."""
        while match := TOKEN.search(self.text, self.offset):
            token = match[0]
            self.line = self.following
            self.following += token.count("\n")
            self.offset = match.end()
            if token[0] != "#":
                return token
        return ""

    def may_hold(self, key: Key) -> bool:
        """Return whether the table or value at ``key`` may contain the sought key or be it."""
        return key == self.sought[: len(key)]

    def skip(self, depth: int) -> None:
        """Advance behind the bracket that closes a value, or with ``depth`` 0 to the next header of a table."""
        begin, in_value, before = self.offset, depth > 0, ""
        for match in BRACKET.finditer(self.text, begin):
            token = match[0]
            self.offset = match.end()
            if token in ("[", "{"):
                if not depth and before.rstrip(" \t")[-1:] == "\n":
                    self.offset = match.start()
                    break
                depth += 1
            elif token in ("]", "}"):
                depth -= 1
                if in_value and not depth:
                    break
            before = token
        self.following += self.text.count("\n", begin, self.offset)

    def pairs(self) -> Iterator[tuple[Key, int]]:
        """Yield (key, line) of all keys in the order of the text, without skipped tables."""
        table: Key = ()
        while token := self.next():
            if token == "[":
                token = self.next()
                array = token == "["
                table = self.resolve(self.key(self.next() if array else token))
                if array:
                    self.next()
                    self.tables[table] = self.tables.get(table, -1) + 1
                    table = (*table, self.tables[table])
                yield from ((table[:n], self.line) for n in range(1, len(table) + 1))
                if not self.may_hold(table):
                    self.skip(0)
            elif token not in ("\n", "]"):
                yield from self.pair(table, token)

    def resolve(self, names: Key) -> Key:
        """Return the key of a header's table, with the index of the last entry in arrays of tables."""
        key: Key = ()
        for name in names:
            if key in self.tables:
                key = (*key, self.tables[key])
            key = (*key, name)
        return key

    def key(self, token: str) -> Key:
        """Return the parts of a dotted key that begins with a token, up to ``=`` or ``]``."""
        names: list[str] = []
        while token not in ("=", "]", ""):
            if token[0] in "\"'":
                names.append(tomllib.loads(f"k={token}")["k"])
            else:
                names += filter(None, token.split("."))
            token = self.next()
        return tuple(names)

    def pair(self, table: Key, token: str) -> Iterator[tuple[Key, int]]:
        """Yield (key, line) of a pair that begins with a token, and of the keys in its value."""
        line = self.line
        key = (*table, *self.key(token))
        yield from ((key[:n], line) for n in range(len(table) + 1, len(key) + 1))
        yield from self.value(key, self.next())

    def value(self, key: Key, token: str) -> Iterator[tuple[Key, int]]:
        """Yield (key, line) of the keys in a value that begins with a token."""
        if token not in ("[", "{"):
            return
        if not self.may_hold(key):
            self.skip(1)
            return
        number, closed = 0, {"[": "]", "{": "}"}[token]
        is_list = token == "["
        while (token := self.next()) not in (closed, ""):
            if token == ",":
                number += 1
            elif token != "\n":
                if is_list:
                    yield (*key, number), self.line
                    yield from self.value((*key, number), token)
                else:
                    yield from self.pair(key, token)
