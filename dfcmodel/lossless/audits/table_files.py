"""Readers of headroom tables: ``pg_profile_lookup.ini``, ``buffers.json.j2``, ``config_db.json``, listings and CSV.

All except CSV are formats of SONiC. A row needs a rate and a cable. In ``config_db.json`` they are properties of the
port, elsewhere of the line, or of the profile's name (``pg_lossless_<speed>_<cable>_profile``).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from dfcmodel.lossless.audits.buffer_tables import BufferTable
from dfcmodel.lossless.audits.config_databases import LISTED, read_configuration, read_listing
from dfcmodel.lossless.audits.jinja_templates import read_template
from dfcmodel.lossless.audits.profiles import (
    DraftRow,
    TableContent,
    check_fields,
    fill,
    numbers_of,
    rate_of,
)
from dfcmodel.lossless.quantities import SMALLEST_FRAME, bit_rate, metres
from hopflow.checks import choice, count_of, format_value
from hopflow.text_files import read_text

__all__ = ["FORMATS", "read_table"]

LOOKUP = ("speed", "cable", "size", "xon", "xoff", "threshold", "xon_offset")
"""Columns of a lookup file without a heading; the last two may be missing."""
COLUMNS = (*LOOKUP, "profile", "port")
"""Columns of a lookup or CSV file. Threshold and xon_offset must be numbers and are ignored."""
MAX_BYTES = 16 * 2**20
"""Size of a table's file; the largest configurations have about 1 MB."""
MAX_DYNAMIC_THRESHOLD = 8
"""Largest exponent of a dynamic threshold in SONiC; a static one is in bytes."""
BLANK = "a number with a blank or a unit is two columns"
BY_POSITION = "SONiC, which reads the columns by position and skips the heading, has xoff"
"""Source: sonic-swss, cfgmgr/buffermgr.cpp, readPgProfileLookupFile."""
MAX_ROWS = 5_000
"""Rows of a table; a switch of 512 ports with 8 lossless classes has 4,096."""


def read_table(
    path: str | Path | TextIO, *, kind: str | None = None, rate: str | None = None, cable: str | None = None
) -> BufferTable:
    r"""Return the rows of a headroom table in a file.

    Parameters
    ----------
    path
        The file, in UTF-8, of at most 16 MiB and 5,000 rows, or an open file, such as ``io.StringIO(text)``.
    kind
        ``lookup`` (``pg_profile_lookup.ini``), ``template`` (``buffers.json.j2``), ``config`` (``config_db.json``),
        ``listing`` (output of ``mmuconfig -l``) or ``csv``; None: by the ending of the name (``.ini``, ``.j2``,
        ``.json``, ``.csv``), otherwise by the content.
    rate, cable
        Defaults for rows without them, such as ``400Gbps``, ``300m``: profiles whose names have neither, ports without
        a speed or length, CSV files without such a column.

    Notes
    -----
    *lookup*: the columns speed (Mb/s), cable, size, xon, xoff, threshold and xon_offset, or the columns of a comment
    that names speed, cable and xoff. A remark names rows for which SONiC, which reads columns by position, has another
    xoff. Numbers have neither blanks nor units. *csv*: a heading with xoff, speed (Mb/s) and cable, and optionally
    size, xon, profile and port. In both threshold and xon_offset must be numbers and are not used. Other columns are
    refused.

    Rows with a speed below 1 Gb/s, where no port has priority flow control, or above 10 Tb/s are ``skipped`` with the
    reason, in all formats, as are rows and profiles for ``0m``, by which SONiC marks ports that are not used.

    *config*: a row for each lossless class of each port, with the rate of ``PORT`` (with auto-negotiation the highest
    of ``adv_speeds``), the length of ``CABLE_LENGTH``, and the xoff of the profile that its group has in ``BUFFER_PG``
    and ``BUFFER_PROFILE``. A class with PFC (``pfc_enable`` in ``PORT_QOS_MAP``, groups by ``pfc_to_pg_map``) and
    without xoff is a row without headroom. A profile that no port uses is a row by its name. In a file without the
    table ``PORT`` or ``CABLE_LENGTH`` the profile's name is used instead, with a remark; a port that is missing in the
    table is refused, unless ``rate`` or ``cable`` is given. ``DEVICE_METADATA`` states whether the switch computes
    headroom (``buffer_model``), and ``DEFAULT_LOSSLESS_BUFFER_PARAMETER`` has the ratio by which it divides the
    headroom of a pool. Other tables and fields are skipped, except that tables of buffers and ``PORT_QOS_MAP`` refuse
    unknown fields. Dumps of the database are read as well, with keys such as ``BUFFER_PG|Ethernet0|3-4`` or
    ``BUFFER_PG_TABLE:Ethernet0:3-4``.

    *listing*: the pools and profiles that ``mmuconfig -l`` and ``show buffer configuration`` print, of one chip. A
    profile is a row by its name.

    *template*: profiles whose numbers are constants of the file. Others are ``skipped``, with the reason: profiles
    within ``if`` and ``for``, and computed numbers, such as a variable that is set twice or in a branch. Every profile
    ``pg_lossless_...`` is a row or ``skipped``, including profiles without xoff or in another notation than JSON. An
    incomplete object is refused.

    Raises
    ------
    ValueError
        Naming the file, the line or profile, and the allowed values: for unknown columns and fields, duplicates, a
        row with more or fewer cells than columns, and for ``rate`` and ``cable`` that no row lacks, or that rows with
        different xoff lack.
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
    text = read_text("path", path, MAX_BYTES)
    name = str(path if isinstance(path, str | Path) else getattr(path, "name", ""))
    if kind is None:
        kind = ENDINGS.get(Path(name).suffix.lower()) or _kind_of(text)
    source = Path(name).name or "table"
    defaults = (
        None if rate is None else float(bit_rate("rate", rate)),
        None if cable is None else metres("cable", cable),
    )
    try:
        drafts, skipped = FORMATS[kind](text)
        _check_count(drafts)
        rows, lacking = fill(drafts, defaults)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    return BufferTable(tuple(rows), source, (*lacking, *skipped))


def _kind_of(text: str) -> str:
    """Return the kind of file from its text: "template", "config" (JSON), "listing", "csv" or "lookup"."""
    if re.search(r"\{[%{#]", text):
        return "template"
    first = next((line for line in text.splitlines() if line.strip()), "")
    if first.lstrip().startswith("{") or re.match(r"\s*\[\s*\{", text):
        return "config"
    if LISTED.search(text):
        return "listing"
    return "csv" if "," in first else "lookup"


def _lookup(text: str) -> TableContent:
    """Return the rows of a lookup file from its text; the heading, a comment, names the columns."""
    columns: tuple[str, ...] = LOOKUP
    rows: list[DraftRow] = []
    width, lines = 0, list[tuple[int, str]]()  # columns of the heading; columns and threshold of each row
    for number, line in enumerate(text.splitlines(), 1):
        code, _, comment = line.partition("#")
        words = code.split()
        heading = tuple(comment.lower().split())
        if not words and {"speed", "cable", "xoff"} <= set(heading) and heading[0] in COLUMNS:
            _check_columns(f"line {number}", heading)
            columns, width = LOOKUP if heading == LOOKUP[: len(heading)] else heading, len(heading)
        elif words:
            needed = columns.index("xoff") + 1
            if not needed <= len(words) <= min(len(columns), width or len(columns)):
                expected = columns[:width] if width else columns
                raise ValueError(f"line {number}: {count_of(len(words), 'column')}, must be {' '.join(expected)}")
            fields = dict(zip(columns, words, strict=False))
            by_position = dict(zip(LOOKUP, words, strict=False)).get("xoff", fields["xoff"])
            remarks = (f"{BY_POSITION} {by_position}",) if by_position != fields["xoff"] else ()
            rows.append(_row(number, fields)._replace(remarks=remarks))
            lines.append((len(words), fields.get("threshold", "0")))
            _check_sizes(rows[-1])
            _check_count(rows)
    if len({count for count, _ in lines}) > 1:
        for row, (count, threshold) in zip(rows, lines, strict=True):
            if abs(float(threshold)) > MAX_DYNAMIC_THRESHOLD:
                columns_text = f"{count_of(count, 'column')}, other rows have more or fewer"
                subject = f"{row.place}: threshold = {threshold} in {columns_text}"
                raise ValueError(f"{subject}: must be -{MAX_DYNAMIC_THRESHOLD} to {MAX_DYNAMIC_THRESHOLD}; {BLANK}")
    return _mark_duplicates(rows), []


def _check_sizes(row: DraftRow) -> None:
    """Raise ValueError for sizes above 0 but below a frame's, which come from a number split at a blank or unit."""
    for name in ("size", "xon", "xoff"):
        if 0 < (getattr(row, name) or 0) < SMALLEST_FRAME:
            raise ValueError(
                f"{row.place}: {name} = {getattr(row, name)}: must be 0 or at least {SMALLEST_FRAME} bytes; {BLANK}"
            )


def _csv(text: str) -> TableContent:
    """Return the rows of a CSV file from its text; the first line names the columns."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns: list[str] = []
    rows = []
    try:
        for cells in reader:
            while cells and not cells[-1].strip() and len(cells) > len(columns):
                cells.pop()
            if not columns:
                columns = [cell.strip() for cell in cells]
                if columns:
                    _check_columns(f"line {reader.line_num}", columns)
            elif any(cell.strip() for cell in cells):
                if len(cells) != len(columns):
                    count = count_of(len(cells), "cell")
                    raise ValueError(f"line {reader.line_num}: {count}, must be {','.join(columns)}")
                rows.append(_row(reader.line_num, dict(zip(columns, cells, strict=True))))
                _check_count(rows)
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from None
    return _mark_duplicates(rows), []


def _check_count(rows: list[DraftRow]) -> None:
    """Raise ValueError for more rows than a table may have."""
    if len(rows) > MAX_ROWS:
        raise ValueError(f"more than {MAX_ROWS:,} rows")


def _check_columns(location: str, columns: Sequence[str]) -> None:
    """Raise ValueError for an unknown, duplicate or missing column; ``location`` is for the error message."""
    check_fields(f"{location}: column", columns, COLUMNS)
    for n, column in enumerate(columns[: len(COLUMNS) + 1]):
        if column in columns[:n]:
            raise ValueError(f"{location}: column {format_value(column)} is given twice")
    if "xoff" not in columns:
        raise ValueError(f"{location}: columns ['xoff'] are missing: must be speed, cable, xoff")


def _row(number: int, fields: Mapping[str, str]) -> DraftRow:
    """Return a row from strings by column, speed in Mb/s, cable with its unit; ``number`` is the line."""
    location = f"line {number}"
    for name in ("threshold", "xon_offset"):
        text = fields.get(name, "").strip()
        if text and not re.fullmatch(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?", text, re.ASCII):
            raise ValueError(f"{location}: {name} = {format_value(text)}: must be a number")
    speed, cable = (fields.get(name, "").strip() for name in ("speed", "cable"))
    try:
        return DraftRow(
            location, rate_of(location, speed) if speed else None,
            metres("cable", cable) if cable else None, *numbers_of(location, fields),
            fields.get("profile", "").strip(), fields.get("port", "").strip(),
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(str(error) if location in str(error) else f"{location}: {error}") from None


def _mark_duplicates(rows: list[DraftRow]) -> list[DraftRow]:
    """Return the rows, with a remark on each whose port, rate and cable occurred before."""
    first: dict[tuple[str, float | None, float | None], DraftRow] = {}
    result = []
    for row in rows:
        other = first.setdefault((row.port, row.rate, row.cable), row)
        if other is not row:
            remark = f"given twice: {other.place} has {other.xoff:,} B for the same speed and cable"
            row = row._replace(remarks=(*row.remarks, remark))
        result.append(row)
    return result


FORMATS: dict[str, Callable[[str], TableContent]] = {
    "lookup": _lookup, "template": read_template, "config": read_configuration, "listing": read_listing, "csv": _csv,
}  # fmt: skip
"""Readers by kind: they return rows that may lack a rate or a cable, and profiles without a row with the reason."""
ENDINGS = {".ini": "lookup", ".j2": "template", ".json": "config", ".csv": "csv"}
