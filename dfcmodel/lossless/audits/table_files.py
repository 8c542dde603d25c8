"""Readers of headroom tables: ``pg_profile_lookup.ini``, ``buffers.json.j2``, ``config_db.json`` and CSV.

The first three are those of SONiC. A row needs a rate and a cable. In profiles they are part of the name
(``pg_lossless_<Mb/s>_<cable>_profile``), or those of the ports that use the profile, or given by the caller.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from dfcmodel.lossless.audits.buffer_tables import BufferRow, BufferTable
from dfcmodel.lossless.quantities import bit_rate, metres
from hopflow.checks import choice, file_path, shown

__all__ = ["FORMATS", "read_table"]

PROFILE = re.compile(r"pg_lossless_(?P<speed>\d+)_(?P<cable>\d+(?:\.\d+)?m)(?:_\w+)?_profile")
LOOKUP = ("speed", "cable", "size", "xon", "xoff")
"""Columns of a lookup file without a heading."""
NO_XOFF = "no xoff: not a profile of a lossless ingress"
NO_NAME = "its name has no speed and cable and no port uses it; give rate and cable"


def read_table(
    path: str | Path | TextIO, *, kind: str | None = None, rate: str | None = None, cable: str | None = None
) -> BufferTable:  # fmt: skip
    r"""Return the rows of a headroom table in a file.

    Parameters
    ----------
    path
        The file, or an open one, such as ``io.StringIO(text)``.
    kind
        ``lookup`` (``pg_profile_lookup.ini``), ``template`` (``buffers.json.j2``), ``config`` (``config_db.json``) or
        ``csv`` (columns ``speed`` in Mb/s, ``cable``, ``xoff``, and optionally ``xon`` and ``size``); None: by the
        ending of the name, and by its content if an open file has no name.
    rate, cable
        For profiles whose names have none: ``400Gbps``, ``300m``.

    Raises
    ------
    ValueError
        Naming the file, the line or profile, and what is allowed.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dfcmodel.lossless import read_table
    >>> path = Path(tempfile.mkdtemp()) / "pg_profile_lookup.ini"
    >>> _ = path.write_text("# speed cable size xon xoff threshold\n400000 300m 19456 19456 225280 0\n")
    >>> read_table(path).at(400e9, 300.0).xoff
    225280
    """
    if kind is not None:
        choice("kind", kind, FORMATS)
    name, text = _opened(path)
    if kind is None:
        kind = ENDINGS.get(Path(name).suffix.lower()) if name else _kind_of(text)
    source = Path(name).name or "table"
    if kind not in FORMATS:
        allowed = ", ".join(FORMATS)
        hint = f"must be one of {allowed}; by the ending of a name: {', '.join(ENDINGS)}"
        raise ValueError(f"kind = {shown(kind)} for {source}: {hint}")
    given = (
        None if rate is None else float(bit_rate("rate", rate)),
        None if cable is None else metres("cable", cable),
    )
    try:
        rows, skipped = FORMATS[kind](text, given)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    return BufferTable(tuple(rows), source, tuple(skipped))


def _opened(path: str | Path | TextIO) -> tuple[str, str]:
    """Return the name of a file, empty if an open one has none, and its text."""
    if not hasattr(path, "read"):
        file = file_path("path", path)
        return str(file), file.read_text(encoding="utf-8")
    name = getattr(path, "name", "")
    return name if isinstance(name, str) else "", path.read()


def _kind_of(text: str) -> str:
    """Return the kind of a text: a template has names to fill in, a database is JSON, CSV has commas."""
    if re.search(r"\{%|\{\{", text):
        return "template"
    first = next((line for line in text.splitlines() if line.strip()), "")
    if first.lstrip().startswith("{"):
        return "config"
    return "csv" if "," in first else "lookup"


Given = tuple[float | None, float | None]
Found = tuple[list[BufferRow], list[tuple[str, str]]]


def _lookup(text: str, given: Given) -> Found:
    """Return the rows of a lookup file: columns by its heading, the comment that names them."""
    columns, rows = list(LOOKUP), []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.lstrip("#").split()
        if line.lstrip().startswith("#"):
            if {"speed", "cable", "xoff"} <= set(words):
                columns = words
        elif words:
            if len(words) < columns.index("xoff") + 1:
                raise ValueError(
                    f"line {number}: {len(words)} columns, must be {' '.join(columns)}"
                )
            fields = dict(zip(columns, words, strict=False))
            rows.append(_row(f"line {number}", fields))
    return rows, []


def _csv(text: str, given: Given) -> Found:
    """Return the rows of a CSV file."""
    reader = csv.DictReader(text.splitlines())
    if lacking := {"speed", "cable", "xoff"} - set(reader.fieldnames or ()):
        raise ValueError(f"columns {sorted(lacking)} are missing: must be speed, cable, xoff")
    return [_row(f"line {number}", each) for number, each in enumerate(reader, 2)], []


def _row(place: str, fields: Mapping[str, str]) -> BufferRow:
    """Return a row from columns of strings; speed in Mb/s, cable with its unit."""
    speed = _whole(place, "speed", fields["speed"])
    try:
        cable = metres("cable", fields["cable"])
        return BufferRow(
            speed * 1e6, cable, _whole(place, "xoff", fields["xoff"]),
            _optional(place, "xon", fields), _optional(place, "size", fields), place,
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(str(error) if place in str(error) else f"{place}: {error}") from None


def _whole(place: str, name: str, value: Any) -> int:
    text = str(value).strip()
    if not re.fullmatch(r"\d+", text):
        raise ValueError(f"{place}: {name} = {shown(value)}: must be a whole number")
    return int(text)


def _optional(place: str, name: str, fields: Mapping[str, Any]) -> int | None:
    return _whole(place, name, fields[name]) if fields.get(name) not in (None, "") else None


def _config(text: str, given: Given) -> Found:
    """Return the profiles of a configuration database."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"is no JSON: {error}") from None
    profiles = data.get("BUFFER_PROFILE") if isinstance(data, dict) else None
    if not isinstance(profiles, dict):
        raise ValueError("must have a table BUFFER_PROFILE")  # noqa: TRY004
    return _profiles(profiles.items(), _users(data), given)


def _users(data: Mapping[str, Any]) -> dict[str, set[tuple[float, float]]]:
    """Return rate and cable of the ports that use each profile."""
    cables = {port: length for each in data.get("CABLE_LENGTH", {}).values() for port, length in each.items()}  # fmt: skip
    found: dict[str, set[tuple[float, float]]] = {}
    for group, fields in data.get("BUFFER_PG", {}).items():
        profile = re.sub(r"^\[BUFFER_PROFILE\|(.*)\]$", r"\1", str(fields.get("profile", "")))
        for port in group.split("|")[0].split(","):
            speed = data.get("PORT", {}).get(port, {}).get("speed")
            if speed is not None and port in cables:
                pair = (_whole(port, "speed", speed) * 1e6, metres("cable", cables[port]))
                found.setdefault(profile, set()).add(pair)
    return found


def _template(text: str, given: Given) -> Found:
    """Return the profiles of a Jinja template, as far as their numbers are constants of the file."""
    text = re.sub(r"\{#.*?#\}", "", text, flags=re.DOTALL)
    constants = dict(re.findall(r"\{%-?\s*set\s+(\w+)\s*=\s*['\"]?([^'\"%]+?)['\"]?\s*-?%\}", text))
    objects = re.findall(r'"([^"{}]+)"\s*:\s*\{((?:[^{}]|\{\{[^{}]*\}\})*)\}(?!\})', text)
    return _profiles(_filled(objects, constants), {}, given)


def _filled(
    objects: Iterable[tuple[str, str]], constants: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the objects of a template that are profiles, with constants in place of their names."""
    for name, body in objects:
        fields = dict(re.findall(r'"(\w+)"\s*:\s*"?([^",}]+(?:\}\})?)"?', body))
        if "type" not in fields and "xoff" in fields:  # pools have a type
            for key, value in fields.items():
                if (found := re.fullmatch(r"\{\{\s*(\w+)\s*\}\}", value.strip())) is not None:
                    fields[key] = constants.get(found[1], value)
            yield name, fields


def _profiles(
    profiles: Iterable[tuple[str, Any]], users: Mapping[str, set[tuple[float, float]]], given: Given
) -> Found:
    """Return the rows of profiles, and the profiles without a row with the reason."""
    rows, skipped = [], []
    for name, fields in profiles:
        if not isinstance(fields, Mapping) or "xoff" not in fields:
            skipped.append((name, NO_XOFF))
            continue
        if "{" in str(fields["xoff"]):
            skipped.append((name, f"its xoff is computed: {fields['xoff'].strip()}"))
            continue
        if (found := PROFILE.fullmatch(name)) is not None:
            pairs = {(int(found["speed"]) * 1e6, metres("cable", found["cable"]))}
        else:
            pairs = users.get(name, set())
            if not pairs and given[0] is not None and given[1] is not None:
                pairs = {(given[0], given[1])}
        if not pairs:
            skipped.append((name, NO_NAME))
        xoff = _whole(name, "xoff", fields["xoff"])
        xon, size = (_optional(name, key, fields) for key in ("xon", "size"))
        rows += [BufferRow(rate, cable, xoff, xon, size, name) for rate, cable in sorted(pairs)]
    return rows, skipped


FORMATS = {"lookup": _lookup, "template": _template, "config": _config, "csv": _csv}
"""Readers by kind."""
ENDINGS = {".ini": "lookup", ".j2": "template", ".json": "config", ".csv": "csv"}
