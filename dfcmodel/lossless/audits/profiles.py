"""Profiles of headroom: their names and numbers, and rows that may lack a rate or a cable."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from dfcmodel.lossless.audits.buffer_tables import BufferRow
from dfcmodel.lossless.quantities import metres
from hopflow.checks import format_value

__all__ = [
    "EGRESS",
    "NO_XOFF",
    "PROFILE_FIELDS",
    "UNUSED_PORT",
    "DraftRow",
    "PortDefaults",
    "TableContent",
    "bare_name",
    "check_fields",
    "fill",
    "numbers_of",
    "optional_number",
    "pool_name",
    "port_from_name",
    "rate_of",
    "whole_number",
]

NO_XOFF = "no xoff: not a profile of a lossless ingress"
EGRESS = "its pool is one of an egress, where xoff has no meaning"
UNUSED_PORT = "0m, by which SONiC marks a port that is not used"
NO_NAME = "its name has no speed and cable and no port uses it; give rate and cable"
PROFILE_FIELDS = (
    *("pool", "size", "xon", "xoff", "xon_offset", "dynamic_th", "static_th"),
    *("mode", "headroom_type", "packet_discard_action"),
)
"""Fields of SONiC's table BUFFER_PROFILE. Only pool, size, xon, xoff and headroom_type are used."""
REFERENCES = ("BUFFER_PROFILE_TABLE:", "BUFFER_PROFILE_TABLE|", "BUFFER_PROFILE|", "BUFFER_PROFILE:")
NAME = re.compile(
    r"pg_lossless_(?P<speed>[0-9]{1,9}(?:\.[0-9]{1,3})?)(?P<unit>[GT]?)_(?P<cable>[0-9]{1,7}(?:\.[0-9]{1,3})?k?m)"
    r"(?:[_-][\w.+-]*)?",
    re.ASCII | re.IGNORECASE,
)
UNITS = {"": 1e6, "G": 1e9, "T": 1e12}

PortDefaults = tuple[float | None, float | None]
"""Rate in b/s and cable in m for rows that lack them; None: no default."""


class DraftRow(NamedTuple):
    """A row as read from a file; rate in b/s and cable in m are None if they are missing."""

    place: str
    rate: float | None
    cable: float | None
    xoff: int
    xon: int | None = None
    size: int | None = None
    profile: str = ""
    port: str = ""
    priority: int | None = None
    no_headroom: str = ""
    pool: str = ""
    pool_size: int | None = None
    remarks: tuple[str, ...] = ()
    active: bool = True
    absent: tuple[str, ...] = ()
    """Tables missing in the file; the profile's name may replace them."""


MIN_SPEED, MAX_SPEED = 1000, 10_000_000
"""Speeds in Mb/s of rows that are judged."""
MAX_DIGITS = 15
"""Maximum number of digits of an integer in a file."""
TableContent = tuple[list[DraftRow], list[tuple[str, str]]]
"""Rows, and profiles without a row with the reason."""


def bare_name(reference: str) -> str:
    """Return the name of a profile from a reference such as "[BUFFER_PROFILE|used]" or "BUFFER_PROFILE_TABLE:used".

    >>> bare_name("[BUFFER_PROFILE|used]"), bare_name("BUFFER_PROFILE_TABLE:used"), bare_name("used")
    ('used', 'used', 'used')
    """
    text = reference.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    prefix = next((prefix for prefix in REFERENCES if text.startswith(prefix)), "")
    return text.removeprefix(prefix)


def pool_name(reference: str) -> str:
    """Return the name of a pool from a reference to it.

    >>> pool_name("[BUFFER_POOL|ingress_lossless_pool]"), pool_name("ingress_lossless_pool")
    ('ingress_lossless_pool', 'ingress_lossless_pool')
    """
    return re.split(r"BUFFER_POOL(?:_TABLE)?[|:]", reference.strip().strip("[]"))[-1]


def port_from_name(name: str) -> tuple[float, float] | None:
    """Return rate in b/s and cable in m from the name of a profile; None for other names.

    The form is ``pg_lossless_<speed>_<cable>[_<suffix>]_profile``, the speed in Mb/s or as ``100G``. The suffix is
    skipped: an MTU (``mtu1500``), a threshold (``th-2``), a gearbox, a number of lanes.

    >>> port_from_name("pg_lossless_100000_300m_th-2_profile"), port_from_name("ingress_lossy_profile")
    ((100000000000.0, 300.0), None)
    """
    bare = bare_name(name)
    match = NAME.fullmatch(bare.removesuffix("_profile")) if bare.endswith("_profile") else None
    if match is None:
        return None
    rate = float(match["speed"]) * UNITS[match["unit"].upper()]
    return rate, metres("cable", match["cable"].lower())


def whole_number(location: str, name: str, value: Any) -> int:
    """Return a non-negative integer from a file; ``location`` and ``name`` are for the error message."""
    text = str(value).strip()
    if not re.fullmatch(r"[0-9]+", text, re.ASCII):
        raise ValueError(f"{location}: {name} = {format_value(value)}: must be a whole number")
    if len(text.lstrip("0")) > MAX_DIGITS:
        raise ValueError(f"{location}: {name} = {format_value(value)}: must be less than 1e{MAX_DIGITS}")
    return int(text)


def optional_number(location: str, name: str, value: Any) -> int:
    """Return a non-negative integer from a file; 0 if the value is missing."""
    return 0 if value in (None, "") else whole_number(location, name, value)


def rate_of(location: str, speed: Any) -> float:
    """Return the rate in b/s of a speed in Mb/s; ValueError, at ``location``, for no speed."""
    try:
        return whole_number(location, "speed", speed) * 1e6
    except ValueError as error:
        raise ValueError(f"{error}, in Mb/s; 100G is 100000") from None


def speed_error(rate: float) -> str:
    """Return the reason why rows of a rate in b/s are not judged, as a string; "" for a valid rate.

    No port below 1 Gb/s has priority flow control. A speed of 100 may stand for 100G.

    >>> speed_error(1e8), speed_error(1e9)
    ('speed 100 is in Mb/s: judged are 1000 to 10000000; 100G is 100000', '')
    """
    speed = rate / 1e6
    if MIN_SPEED <= speed <= MAX_SPEED:
        return ""
    return f"speed {speed:.12g} is in Mb/s: judged are {MIN_SPEED} to {MAX_SPEED}; 100G is 100000"


def numbers_of(location: str, fields: Any) -> tuple[int, int | None, int | None]:
    """Return xoff, xon and size in bytes of a row or profile; xon and size are None where they are missing."""
    xon, size = (
        whole_number(location, name, fields[name]) if fields.get(name) not in (None, "") else None
        for name in ("xon", "size")
    )
    return whole_number(location, "xoff", fields["xoff"]), xon, size


def check_fields(location: str, fields: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise ValueError for the first field that is not allowed; ``location`` is for the error message."""
    allowed = list(allowed)
    for name in fields:
        if name not in allowed:
            raise ValueError(f"{location}: {format_value(name)} is unknown: must be one of {', '.join(allowed)}")


def fill(drafts: Iterable[DraftRow], defaults: PortDefaults) -> tuple[list[BufferRow], list[tuple[str, str]]]:
    """Return drafts as rows, with default rate and cable where they have none, and skipped profiles with the reason.

    Skipped are profiles that still lack a rate or cable, rows whose speed is not judged, and rows for cables of 0 m.

    Raises
    ------
    ValueError
        For a port without rate or cable and without a default; for rows that get the same rate and cable and have
        different xoff; for a default that no row lacks.
    """
    rows: list[BufferRow] = []
    skipped: list[tuple[str, str]] = []
    by_port: dict[tuple[float, float], DraftRow] = {}
    lacking = [False, False]
    for draft in drafts:
        if draft.rate is not None and (reason := speed_error(draft.rate)):
            skipped.append((draft.place, reason))
            continue
        lacks = (draft.rate is None, draft.cable is None)
        lacking = [a or b for a, b in zip(lacking, lacks, strict=True)]
        rate = defaults[0] if draft.rate is None else draft.rate
        cable = defaults[1] if draft.cable is None else draft.cable
        remarks = list(draft.remarks)
        name_port = port_from_name(draft.profile)
        if rate is None and name_port is not None and "PORT" in draft.absent:
            rate = name_port[0]
            if reason := speed_error(rate):
                skipped.append((draft.place, reason))
                continue
            remarks.append(f"no table PORT: {rate / 1e9:g}G as in the profile's name")
        if cable is None and name_port is not None and "CABLE_LENGTH" in draft.absent:
            cable = name_port[1]
            remarks.append(f"no table CABLE_LENGTH: {cable:g}m as in the profile's name")
        if cable == 0.0:
            skipped.append((draft.place, f"it is for a length of {UNUSED_PORT}"))
            continue
        if rate is None or cable is None:
            if draft.profile == draft.place:
                skipped.append((draft.place, NO_NAME))
                continue
            examples = {"rate": "rate='400Gbps'", "cable": "cable='300m'"}
            names = [name for name, value in (("rate", rate), ("cable", cable)) if value is None]
            missing = " and no ".join(names)
            hint = f"must be given, such as {', '.join(examples[name] for name in names)}"
            raise ValueError(f"{draft.place}: no {missing} in the file: {hint}")
        if any(lacks) and not remarks[len(draft.remarks) :] and not draft.no_headroom:
            other = by_port.setdefault((rate, cable), draft)
            if other.xoff != draft.xoff:
                rows_text = f"{other.place} (xoff {other.xoff:,}) and {draft.place} (xoff {draft.xoff:,})"
                hint = "give neither, and name rate and cable in the file"
                raise ValueError(
                    f"rate, cable: {rows_text} would both be {rate / 1e9:g}G {cable:g}m, and differ: {hint}"
                )
        try:
            fields = draft._replace(rate=rate, cable=cable, remarks=tuple(remarks))._asdict()
            del fields["absent"]
            rows.append(BufferRow(**fields))
        except ValueError as error:
            message = str(error)
            raise ValueError(message if draft.place in message else f"{draft.place}: {message}") from None
    texts = tuple(
        "" if value is None else f"{value / scale:g}{unit}"
        for value, scale, unit in zip(defaults, (1e9, 1.0), ("Gbps", "m"), strict=True)
    )
    for name, text, used in zip(("rate", "cable"), texts, lacking, strict=True):
        if text and not used:
            raise ValueError(f"{name} = {text!r}: no row of the file lacks it: leave it out")
    return rows, skipped
