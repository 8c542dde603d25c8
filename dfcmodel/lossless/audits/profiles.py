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
    "DraftRow",
    "Found",
    "Given",
    "bare_name",
    "check_fields",
    "fill",
    "named_port",
    "numbers_of",
    "optional_number",
    "pool_name",
    "rate_of",
    "shared_headroom",
]

NO_XOFF = "no xoff: not a profile of a lossless ingress"
EGRESS = "its pool is one of an egress, where xoff has no meaning"
NO_NAME = "its name has no speed and cable and no port uses it; give rate and cable"
PROFILE_FIELDS = (
    *("pool", "size", "xon", "xoff", "xon_offset", "dynamic_th", "static_th"),
    *("mode", "headroom_type", "packet_discard_action"),
)
"""Fields of SONiC's table BUFFER_PROFILE. Only pool, size, xon, xoff and headroom_type are used."""
REFERENCES = ("BUFFER_PROFILE_TABLE:", "BUFFER_PROFILE_TABLE|", "BUFFER_PROFILE|", "BUFFER_PROFILE:")  # fmt: skip
NAME = re.compile(
    r"pg_lossless_(?P<speed>[0-9]{1,9}(?:\.[0-9]{1,3})?)(?P<unit>[GT]?)_(?P<cable>[0-9]{1,7}(?:\.[0-9]{1,3})?k?m)"
    r"(?:[_-][\w.+-]*)?",
    re.ASCII | re.IGNORECASE,
)
UNITS = {"": 1e6, "G": 1e9, "T": 1e12}

Given = tuple[float | None, float | None]
"""Rate in b/s and cable in m for rows that lack them."""


class DraftRow(NamedTuple):
    """A row as its file has it: rate in b/s and cable in m are None where the file has none."""

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
    """Tables that the file does not have, in whose place the profile's name may stand."""


MIN_SPEED, MAX_SPEED = 1000, 10_000_000
"""Speeds in Mb/s of rows that are judged."""
MAX_DIGITS = 15
"""Digits of the largest whole number of a file."""
Found = tuple[list[DraftRow], list[tuple[str, str]]]
"""Rows, and profiles without a row with the reason."""


def bare_name(reference: str) -> str:
    """Return the name of a profile from a reference to it.

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


def named_port(name: str) -> tuple[float, float] | None:
    """Return the rate in b/s and the cable in m in the name of a profile; None where it has none.

    The form is ``pg_lossless_<speed>_<cable>[_<more>]_profile``, the speed in Mb/s or as ``100G``. What may follow the
    cable is skipped: an MTU (``mtu1500``), a threshold (``th-2``), a gearbox, a number of lanes.

    >>> named_port("pg_lossless_100000_300m_th-2_profile"), named_port("ingress_lossy_profile")
    ((100000000000.0, 300.0), None)
    """
    bare = bare_name(name)
    match = NAME.fullmatch(bare.removesuffix("_profile")) if bare.endswith("_profile") else None
    if match is None:
        return None
    rate = float(match["speed"]) * UNITS[match["unit"].upper()]
    return rate, metres("cable", match["cable"].lower())


def whole_number(place: str, name: str, value: Any) -> int:
    """Return a whole number from a file."""
    text = str(value).strip()
    if not re.fullmatch(r"[0-9]+", text, re.ASCII):
        raise ValueError(f"{place}: {name} = {format_value(value)}: must be a whole number")
    if len(text.lstrip("0")) > MAX_DIGITS:
        raise ValueError(f"{place}: {name} = {format_value(value)}: must be less than 1e{MAX_DIGITS}")
    return int(text)


def shared_headroom(place: str, xoff: Any) -> int:
    """Return the bytes of headroom that the classes of a pool share, by its xoff; 0: each has its own."""
    return optional_number(place, "xoff", xoff)


def optional_number(place: str, name: str, value: Any) -> int:
    """Return a whole number from a file, 0 where it has none."""
    return 0 if value in (None, "") else whole_number(place, name, value)


def rate_of(place: str, speed: Any) -> float:
    """Return the rate in b/s of a speed in Mb/s."""
    return whole_number(place, "speed", speed) * 1e6


def unjudged_speed(rate: float) -> str:
    """Return why a row with the rate of a file in b/s is not judged; empty for a row that is.

    No port below 1 Gb/s has priority flow control. A speed of 100 may stand for 100G.

    >>> unjudged_speed(1e8), unjudged_speed(1e9)
    ('speed 100 is in Mb/s: judged are 1000 to 10000000; 100G is 100000', '')
    """
    speed = rate / 1e6
    if MIN_SPEED <= speed <= MAX_SPEED:
        return ""
    return f"speed {speed:.12g} is in Mb/s: judged are {MIN_SPEED} to {MAX_SPEED}; 100G is 100000"


def numbers_of(place: str, fields: Any) -> tuple[int, int | None, int | None]:
    """Return xoff, and xon and size or None where a row or profile has none."""
    xon, size = (
        whole_number(place, name, fields[name]) if fields.get(name) not in (None, "") else None
        for name in ("xon", "size")
    )
    return whole_number(place, "xoff", fields["xoff"]), xon, size


def check_fields(place: str, fields: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise ValueError for the first field that is unknown."""
    allowed = list(allowed)
    for name in fields:
        if name not in allowed:
            raise ValueError(f"{place}: {format_value(name)} is unknown: must be one of {', '.join(allowed)}")  # fmt: skip


def fill(drafts: Iterable[DraftRow], given: Given) -> tuple[list[BufferRow], list[tuple[str, str]]]:
    """Return rows with the rate and cable given where they lack their own, and the others with the reason.

    The others are profiles that still lack a rate or cable, and rows whose speed is not judged.

    Raises
    ------
    ValueError
        For a port that lacks one which is not given; for rows that get the same rate and cable and have another xoff;
        for a rate or cable that no row lacks.
    """
    rows: list[BufferRow] = []
    skipped: list[tuple[str, str]] = []
    alike: dict[tuple[float, float], DraftRow] = {}
    lacking = [False, False]
    for draft in drafts:
        if draft.rate is not None and (reason := unjudged_speed(draft.rate)):
            skipped.append((draft.place, reason))
            continue
        lacks = (draft.rate is None, draft.cable is None)
        lacking = [a or b for a, b in zip(lacking, lacks, strict=True)]
        rate = given[0] if draft.rate is None else draft.rate
        cable = given[1] if draft.cable is None else draft.cable
        remarks = list(draft.remarks)
        named = named_port(draft.profile)
        if rate is None and named is not None and "PORT" in draft.absent:
            rate = named[0]
            if reason := unjudged_speed(rate):
                skipped.append((draft.place, reason))
                continue
            remarks.append(f"no table PORT: {rate / 1e9:g}G as in the profile's name")
        if cable is None and named is not None and "CABLE_LENGTH" in draft.absent:
            cable = named[1]
            remarks.append(f"no table CABLE_LENGTH: {cable:g}m as in the profile's name")
        if rate is None or cable is None:
            if draft.profile == draft.place:
                skipped.append((draft.place, NO_NAME))
                continue
            names = [name for name, value in (("rate", rate), ("cable", cable)) if value is None]
            raise ValueError(f"{draft.place}: no {' and no '.join(names)} in the file: must be given, such as rate='400Gbps', cable='300m'")  # fmt: skip
        if any(lacks) and not remarks[len(draft.remarks) :] and not draft.no_headroom:
            other = alike.setdefault((rate, cable), draft)
            if other.xoff != draft.xoff:
                both = f"{other.place} (xoff {other.xoff:,}) and {draft.place} (xoff {draft.xoff:,})"
                raise ValueError(f"rate, cable: {both} would both be {rate / 1e9:g}G {cable:g}m, and differ: give neither, and name rate and cable in the file")  # fmt: skip
        try:
            fields = draft._replace(rate=rate, cable=cable, remarks=tuple(remarks))._asdict()
            del fields["absent"]
            rows.append(BufferRow(**fields))
        except ValueError as error:
            message = str(error)
            raise ValueError(message if draft.place in message else f"{draft.place}: {message}") from None  # fmt: skip
    texts = tuple("" if value is None else f"{value / scale:g}{unit}" for value, scale, unit in zip(given, (1e9, 1.0), ("Gbps", "m"), strict=True))  # fmt: skip
    for name, text, needed in zip(("rate", "cable"), texts, lacking, strict=True):
        if text and not needed:
            raise ValueError(f"{name} = {text!r}: no row of the file lacks it: leave it out")
    return rows, skipped
