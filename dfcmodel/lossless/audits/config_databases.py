"""Ports, their lossless classes and their headroom, from SONiC's ``config_db.json``, and listings of its profiles.

A row is a class of a port: rate and cable are the port's (tables ``PORT`` and ``CABLE_LENGTH``). With auto-negotiation
the rate is the highest that the port advertises, as in SONiC's buffer manager. xoff belongs to the
profile of its priority group (``BUFFER_PG``, ``BUFFER_PROFILE``). A class with PFC (``PORT_QOS_MAP``) whose group has
no xoff is a row without headroom. The xoff of a pool (``BUFFER_POOL``) is the headroom that all groups of the pool
share, beyond the bytes that their sizes reserve. For pools without xoff, in the dynamic buffer model,
``over_subscribe_ratio`` (``DEFAULT_LOSSLESS_BUFFER_PARAMETER``) divides the sum of their xoff. All other tables are
skipped.
"""

from __future__ import annotations

import difflib
import re
from typing import Any

from dfcmodel.lossless.audits.buffer_tables import bytes_from_pool
from dfcmodel.lossless.audits.profiles import (
    EGRESS,
    NO_XOFF,
    PROFILE_FIELDS,
    UNUSED_PORT,
    DraftRow,
    TableContent,
    bare_name,
    check_fields,
    numbers_of,
    optional_number,
    pool_name,
    port_from_name,
    rate_of,
    whole_number,
)
from dfcmodel.lossless.quantities import metres
from hopflow.checks import choice, format_value
from hopflow.text_files import parse_json

__all__ = ["LISTED", "read_configuration", "read_listing"]

Fields = dict[str, Any]

PFC_MAPS = ("MAP_PFC_PRIORITY_TO_PRIORITY_GROUP", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP")
QOS_FIELDS = (
    *("pfc_enable", "pfc_to_pg_map", "pfc_to_queue_map", "pfcwd_sw_enable", "scheduler"),
    *("dscp_to_tc_map", "dot1p_to_tc_map", "exp_to_fc_map", "dscp_to_fc_map", "mpls_tc_to_tc_map"),
    *("tc_to_queue_map", "tc_to_pg_map", "tc_to_dscp_map", "tc_to_dot1p_map"),
)
"""Fields of SONiC's table PORT_QOS_MAP. Only pfc_enable and pfc_to_pg_map are used."""
POOL_FIELDS = ("type", "mode", "size", "xoff", "percentage")
"""Fields of SONiC's table BUFFER_POOL. Only xoff is used: the bytes of headroom that the pool's groups share."""
LOSSLESS_PARAMETERS = "DEFAULT_LOSSLESS_BUFFER_PARAMETER"
"""SONiC's table of the dynamic buffer model. Only over_subscribe_ratio is used."""
RATIO = "over_subscribe_ratio"
TRAFFIC = "LOSSLESS_TRAFFIC_PATTERN"
"""SONiC's table with the largest lossless frame and the share of small packets. It is reported, but not used."""
FIELDS = {
    "BUFFER_POOL": (*POOL_FIELDS, "NULL"),
    LOSSLESS_PARAMETERS: ("default_dynamic_th", RATIO, "NULL"),
    "BUFFER_PROFILE": (*PROFILE_FIELDS, "NULL"),
    "BUFFER_PG": ("profile", "NULL"),
    "PORT_QOS_MAP": (*QOS_FIELDS, "NULL"),
}
"""Fields of tables whose unknown fields are refused."""
TABLES = ("PORT", "CABLE_LENGTH", "DEVICE_METADATA", *FIELDS, *PFC_MAPS, TRAFFIC)
SIMILAR = 0.88
"""Minimum ratio of `difflib` for which an unknown table is reported as a misspelt name of `TABLES`."""
FLAT = re.compile(rf"(?P<table>{'|'.join(TABLES)})(?:_TABLE)?(?P<separator>[|:])(?P<name>.+)", re.DOTALL)
REDIS_FIELDS = {"expireat", "ttl", "type", "value"}
"""Fields of an object in a dump by redis-dump, as in SONiC's ``show techsupport``; ``value`` has the table's."""
LISTED = re.compile(
    r"^[ \t]*(?P<kind>Pool|Profile|Lossless traffic pattern)(?: for namespace (?P<chip>\S+))?:"
    r"(?: (?P<name>\S+))?[ \t]*$",
    re.MULTILINE,
)
"""Heading of an object in a listing by SONiC's ``mmuconfig -l`` and ``show buffer configuration``."""
LISTED_TABLES = {"Pool": "BUFFER_POOL", "Profile": "BUFFER_PROFILE", "Lossless traffic pattern": LOSSLESS_PARAMETERS}
MAX_TABLES = 2000
"""Maximum number of tables of a configuration; SONiC has hundreds."""
CLASSES = range(8)
DOWN = "admin_status is down"
STATES = {
    "admin_status": ("up", "down"),
    "autoneg": ("on", "off", "1", "0"),
    "buffer_model": ("traditional", "dynamic"),
    "headroom_type": ("static", "dynamic"),
}
"""Values of the fields that are names, as in SONiC's models; releases before 202106 write autoneg as 1 and 0."""


def read_configuration(text: str) -> TableContent:
    """Return a row per lossless class of each port and per unused profile with an xoff, from a config_db.json."""
    data = parse_json(text)
    if not isinstance(data, dict):
        kind = "a JSON list, as for swssconfig" if isinstance(data, list) else "no JSON object"
        raise ValueError(f"is {kind}: must be an object with a table BUFFER_PROFILE")  # noqa: TRY004
    return _rows_of(_nest_tables(data))


def read_listing(text: str) -> TableContent:
    """Return a row per profile with an xoff from a listing of pools and profiles, as ``mmuconfig -l`` prints it.

    Lines before the first heading, such as a prompt of the shell, are skipped.
    """
    tables: dict[str, dict[str, Fields]] = {"BUFFER_PROFILE": {}}
    chips: set[str] = set()
    fields: Fields | None = None
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if heading := LISTED.fullmatch(line):
            chips.add(heading["chip"] or "")
            if len(chips) > 1:
                names = ", ".join(sorted(filter(None, chips)))
                raise ValueError(f"line {number}: the listing is of several chips ({names}): give the lines of one")
            objects, name = tables.setdefault(LISTED_TABLES[heading["kind"]], {}), heading["name"] or heading["kind"]
            if name in objects:
                raise ValueError(f"line {number}: {format_value(name)} is given twice")
            fields = objects[name] = {}
        elif fields is None or not set(line) - set("- `\t") or words[:1] == ["Total"]:
            continue
        elif len(words) == 2 and words[0] not in fields:
            fields[words[0]] = words[1]
        else:
            allowed = "must be a field and its value, each field once, or a heading such as 'Profile: name'"
            raise ValueError(f"line {number}: {format_value(line.strip())}: {allowed}")
    return _rows_of(tables)


def _rows_of(data: Fields) -> TableContent:
    """Return rows and skipped profiles from the tables of a database."""
    parts = [name for name, tables in data.items() if isinstance(tables, dict) and "BUFFER_PROFILE" in tables]
    if parts:
        raise ValueError(f"the file is of several chips ({', '.join(parts)}): give the tables of one")
    if "BUFFER_PROFILE" not in data:
        raise ValueError("must have a table BUFFER_PROFILE")
    others = {re.split("[|:]", name[:80], maxsplit=1)[0] for name in data.keys() - set(TABLES)}
    if len(others) > MAX_TABLES:
        raise ValueError(f"{len(others):,} tables: must be at most {MAX_TABLES:,}")
    for name in others:
        if close := difflib.get_close_matches(name.upper(), TABLES, 1, SIMILAR):
            raise ValueError(f"{format_value(name)}: no table of this name is known; did you mean {close[0]!r}?")
    return _Configuration({name: _table(data, name) for name in TABLES}).rows()


def _nest_tables(data: Fields) -> Fields:
    """Return tables of objects by name from flat keys, ``TABLE|object`` or ``TABLE_TABLE:object``."""
    tables: Fields = {}
    for key, entry in data.items():
        fields = (
            entry["value"] if isinstance(entry, dict) and "value" in entry and entry.keys() <= REDIS_FIELDS else entry
        )
        match = FLAT.fullmatch(key)
        table, name = (match["table"], match["name"]) if match else (key, "")
        if match is None:
            if key in tables:
                raise ValueError(f"{key} is given as a table and by objects")
            tables[key] = fields
            continue
        if match["separator"] == ":" and table == "BUFFER_PG":
            name = "|".join(name.rsplit(":", 1))
        objects = tables.setdefault(table, {})
        if not isinstance(objects, dict) or name in objects:
            raise ValueError(f"{table}, {name} is given twice")
        objects[name] = fields
    return tables


def _table(data: Fields, name: str) -> dict[str, Fields]:
    """Return the objects of a table by name, {} where the file has none; ValueError for a value that is no object."""
    table = data.get(name, {})
    if not isinstance(table, dict):
        raise ValueError(f"{name} = {format_value(table)}: must be an object of objects")  # noqa: TRY004
    for key, fields in table.items():
        if not isinstance(fields, dict):
            raise ValueError(f"{name}, {key} = {format_value(fields)}: must be an object")  # noqa: TRY004
        if name in FIELDS:
            check_fields(f"{name}, {key}", fields, FIELDS[name])
    return table


def _state(location: str, fields: Fields, name: str, default: str = "") -> str:
    """Return the value of the field ``name``, which is in `STATES`, or the default; ValueError for other values."""
    return choice(f"{location}: {name}", fields[name], STATES[name]) if name in fields else default


class _Configuration:
    """Tables of a config_db.json, and properties of ports and pools that follow from them."""

    def __init__(self, tables: dict[str, dict[str, Fields]]) -> None:
        self.tables = tables
        self.profiles: dict[str, tuple[str, Fields]] = {}
        for name, fields in tables["BUFFER_PROFILE"].items():
            if (bare := bare_name(name)) in self.profiles:
                raise ValueError(f"BUFFER_PROFILE: {format_value(bare)} is given twice")
            self.profiles[bare] = name, fields
        self.negotiated: dict[str, str] = {}
        self.speeds = self._speeds()
        self.down = {
            port for port, fields in tables["PORT"].items() if _state(f"PORT, {port}", fields, "admin_status") == "down"
        }
        with_status = [port for port, fields in tables["PORT"].items() if "admin_status" in fields]
        self.stateless = tables["PORT"].keys() - with_status if with_status else set()
        self.cables = self._cables()
        self.groups = self._groups()
        self.unmapped: dict[tuple[str, int], str] = {}
        self.paused = self._pfc_groups()
        self.pools = {pool_name(name) for name in tables["BUFFER_POOL"]}
        self.shared: dict[str, int] = {}
        for name, fields in tables["BUFFER_POOL"].items():
            if size := optional_number(f"BUFFER_POOL, {name}", "xoff", fields.get("xoff")):
                self.shared[pool_name(name)] = size
        localhost = tables["DEVICE_METADATA"].get("localhost", {})
        # without a model in the file, a profile of dynamic headroom means that the switch computes NULL profiles
        self.computed = {
            name
            for name, fields in tables["BUFFER_PROFILE"].items()
            if _state(f"BUFFER_PROFILE, {name}", fields, "headroom_type") == "dynamic"
        }
        model = _state("DEVICE_METADATA, localhost", localhost, "buffer_model")
        self.dynamic = (model or ("dynamic" if self.computed else "")) == "dynamic"
        self.ratio = 0
        for name, fields in tables[LOSSLESS_PARAMETERS].items():
            location = f"{LOSSLESS_PARAMETERS}, {name}"
            ratio = optional_number(location, RATIO, fields.get(RATIO))
            if model == "traditional" or not ratio:  # this model does not read the table
                continue
            if self.ratio not in (0, ratio):
                raise ValueError(f"{location}: {RATIO} = {ratio}: another object has {self.ratio}")
            self.ratio = ratio
        self.divided = self._divide_headroom()

    def _speeds(self) -> dict[str, float]:
        """Return the rate in b/s by port, the highest of ``adv_speeds`` with auto-negotiation; fill ``negotiated``."""
        speeds: dict[str, float] = {}
        for port, fields in self.tables["PORT"].items():
            location = f"PORT, {port}"
            if "speed" in fields:
                speeds[port] = rate_of(location, fields["speed"])
            if _state(location, fields, "autoneg") not in ("on", "1"):
                continue
            advertised = fields.get("adv_speeds", "all")
            parts = advertised if isinstance(advertised, list) else str(advertised).split(",")
            if parts in (["all"], [""], []):
                if port in speeds:
                    self.negotiated[port] = "autoneg is on for all speeds: the link may have another speed than PORT"
                continue
            rate = max(whole_number(location, "adv_speeds", part) for part in parts) * 1e6
            if rate != speeds.get(port):
                self.negotiated[port] = f"autoneg is on: {rate / 1e9:g}G is the highest of adv_speeds"
            speeds[port] = rate
        return speeds

    def _cables(self) -> dict[str, float]:
        """Return the length of the cable in m, by port."""
        cables: dict[str, float] = {}
        for table, ports in self.tables["CABLE_LENGTH"].items():
            for port, length in ports.items():
                location = f"CABLE_LENGTH, {table}, {port}"
                if not isinstance(length, str):
                    msg = f"{location} = {format_value(length)}: must be a string such as '300m'"
                    raise ValueError(msg)  # noqa: TRY004
                try:
                    metre = metres("cable", length)
                except ValueError as error:
                    raise ValueError(f"{location}: {error}") from None
                if cables.setdefault(port, metre) != metre:
                    raise ValueError(f"{location} = {format_value(length)}: another table has {cables[port]:g}m")
        return cables

    def _groups(self) -> dict[tuple[str, int], str]:
        """Return the reference to a profile by (port, priority group)."""
        groups: dict[tuple[str, int], str] = {}
        for key, fields in self.tables["BUFFER_PG"].items():
            ports, bar, classes = key.partition("|")
            if not bar or not all(ports.split(",")):
                raise ValueError(f"BUFFER_PG, {key}: must be port|classes, such as 'Ethernet0|3-4'")
            profile = fields.get("profile")
            if not isinstance(profile, str):
                msg = f"BUFFER_PG, {key}: profile = {format_value(profile)}: must be the name of a profile"
                raise ValueError(msg)  # noqa: TRY004
            for port in ports.split(","):
                for group in _classes(f"BUFFER_PG, {key}", classes):
                    if (port, group) in groups:
                        raise ValueError(f"BUFFER_PG, {key}: {port}|{group} is given twice")
                    groups[port, group] = profile
        return groups

    def _pfc_groups(self) -> dict[str, list[int]] | None:
        """Return the groups with PFC by port, None without PORT_QOS_MAP; fill ``unmapped`` for absent priorities."""
        groups_by_port: dict[str, list[int]] = {}
        for key, fields in self.tables["PORT_QOS_MAP"].items():
            location = f"PORT_QOS_MAP, {key}"
            enabled = str(fields.get("pfc_enable", "")).strip()
            if key == "global" and enabled:
                raise ValueError(f"{location}: pfc_enable = {format_value(enabled)}: is of a port")
            priorities = [n for part in enabled.split(",") if enabled for n in _classes(location, part)]
            map_name = bare_name(str(fields.get("pfc_to_pg_map", ""))).rpartition("|")[2]
            to_group = next((self.tables[t][map_name] for t in PFC_MAPS if map_name in self.tables[t]), {})
            groups = {n: _classes(location, str(to_group.get(str(n), n)))[0] for n in dict.fromkeys(priorities)}
            for port in key.split(",") if key != "global" else ():
                if port in groups_by_port:
                    raise ValueError(f"{location}: {port} is given twice")
                groups_by_port[port] = list(groups.values())
                for priority, group in groups.items() if map_name else ():
                    if str(priority) not in to_group:
                        lacking = f"no priority {priority}" if to_group else "no objects of this name in the file"
                        self.unmapped[port, group] = (
                            f"pfc_to_pg_map {map_name} has {lacking}: its group is taken to be {group}"
                        )
        return groups_by_port if self.tables["PORT_QOS_MAP"] else None

    def rows(self) -> TableContent:
        """Return the rows of the table, and pairs of a profile without a row and the reason."""
        rows: list[DraftRow] = []
        skipped: list[tuple[str, str]] = []
        paused = {(port, group) for port, groups in (self.paused or {}).items() for group in groups}
        ports = dict.fromkeys((*self.tables["PORT"], *(port for port, _ in (*self.groups, *sorted(paused)))))
        for port in ports:
            for group in CLASSES:
                if (port, group) in self.groups or (port, group) in paused:
                    self._add(port, group, (port, group) in paused, rows, skipped)
        used = {bare_name(reference) for reference in self.groups.values()}
        for bare, (name, fields) in self.profiles.items():
            if "xoff" not in fields:
                skipped.append((name, NO_XOFF))
            elif bare not in used and bare_name(str(fields.get("pool", ""))).startswith("egress"):
                skipped.append((name, EGRESS))
            elif bare not in used:
                rate, cable = port_from_name(name) or (None, None)
                rows.append(self._with_pool(DraftRow(name, rate, cable, *numbers_of(name, fields), name), fields))
        for name, fields in self.tables[TRAFFIC].items():
            fields_text = ", ".join(f"{key} = {value}" for key, value in fields.items())
            skipped.append(
                (f"{TRAFFIC}, {name}", f"{fields_text}: not used; give the largest lossless frame as lossless_mtu")
            )
        return rows, skipped

    def _divide_headroom(self) -> dict[str, int]:
        """Return the bytes of headroom by name of the pool, divided by the over-subscription ratio; {} if unknown.

        The ratio divides the sum of the bytes that classes of active ports take from the pool. Empty if a part of the
        sum is not in the file.
        """
        totals: dict[str, int] = {}
        for (port, _), reference in self.groups.items() if self.ratio else ():
            name, profile = self.profiles.get(bare_name(reference), (bare_name(reference), {}))
            if port in self.down or self.cables.get(port) == 0.0:
                continue
            if name == "NULL" or name in self.computed:
                return {}
            pool = pool_name(str(profile.get("pool", "")))
            totals[pool] = totals.get(pool, 0) + _bytes_from_pool(name, profile)
        return {pool: -(-total // self.ratio) for pool, total in totals.items() if total}

    def _with_pool(self, row: DraftRow, profile: Fields) -> DraftRow:
        """Return a row with the headroom pool of its profile, or a remark on it; unchanged if it uses none."""
        pool = pool_name(str(profile.get("pool", "")))
        if not _bytes_from_pool(row.profile, profile):
            return row
        if pool in self.shared:
            return row._replace(pool=pool, pool_size=self.shared[pool])
        if pool and self.tables["BUFFER_POOL"] and pool not in self.pools:
            return row._replace(remarks=(*row.remarks, f"its pool {format_value(pool)} is not in BUFFER_POOL"))
        if not self.ratio:
            remark = f"{pool} has no xoff, and size does not reserve xoff: the file does not say where this headroom is"
            return row._replace(remarks=(*row.remarks, remark)) if pool in self.pools else row
        if pool in self.divided:
            name = pool or "the pool"
            remark = f"{name} has the sum of its classes divided by {RATIO} = {self.ratio}"
            return row._replace(pool=name, pool_size=self.divided[pool], remarks=(*row.remarks, remark))
        remark = (
            f"{RATIO} = {self.ratio}: shares headroom whose size the switch computes, and may find less than its xoff"
        )
        return row._replace(remarks=(*row.remarks, remark))

    def _add(self, port: str, group: int, has_pfc: bool, rows: list[DraftRow], skipped: list[tuple[str, str]]) -> None:
        """Append the row of a class of a port to ``rows``, or to ``skipped`` the reason; nothing if it is lossy."""
        location = f"{port}|{group}"
        if self.cables.get(port) == 0.0:
            skipped.append((location, f"its CABLE_LENGTH is {UNUSED_PORT}"))
            return
        reference = self.groups.get((port, group))
        bare = bare_name(reference or "")
        name, fields = self.profiles.get(bare, (bare, {}))
        row = DraftRow(
            location, self.speeds.get(port), self.cables.get(port), 0, profile=name, port=port, priority=group,
            active=port not in self.down,
            absent=tuple(table for table in ("PORT", "CABLE_LENGTH") if not self.tables[table]),
        )  # fmt: skip
        if "xoff" in fields:
            xoff, xon, size = numbers_of(name, fields)
            row = self._with_pool(row._replace(xoff=xoff, xon=xon, size=size), fields)
        notes = (self.unmapped.get((port, group)), self.negotiated.get(port))
        row = row._replace(remarks=(*row.remarks, *filter(None, notes)))
        if row.xoff > 0:
            if self.paused is not None and not has_pfc:
                row = row._replace(remarks=(*row.remarks, "PFC is not enabled for this class"))
            if not row.active:
                row = row._replace(remarks=(*row.remarks, DOWN))
            rows.append(row)
            return
        null = bare == "NULL"
        if reference is None:
            stateless = "; PORT has no admin_status, which SONiC takes as down" if port in self.stateless else ""
            reason = f"BUFFER_PG has no {location}{stateless}"
        elif null:
            reason = "its profile is NULL"
        elif bare not in self.profiles:
            reason = f"its profile {format_value(bare)} is not in BUFFER_PROFILE"
        else:
            reason = f"its profile {name} has " + ("xoff 0" if "xoff" in fields else "no xoff")
        lossless = has_pfc or (self.paused is None and (null or port_from_name(bare) is not None))
        if self.dynamic and (null or name in self.computed):
            skipped.append((location, "the buffer model is dynamic: the switch computes its headroom"))
        elif lossless and not row.active:
            skipped.append((location, f"{reason}; {DOWN}"))
        elif lossless:
            rows.append(row._replace(no_headroom=reason))
        elif bare not in self.profiles:
            skipped.append((location, reason))


def _bytes_from_pool(name: str, profile: Fields) -> int:
    """Return the bytes that a class with this profile takes from its pool: `bytes_from_pool`."""
    return bytes_from_pool(*numbers_of(name, profile)) if "xoff" in profile else 0


def _classes(location: str, text: str) -> list[int]:
    """Return the classes of a string, a number or a range such as ``3-4``; ``location`` is for the error message."""
    match = re.fullmatch(r"\s*([0-7])(?:\s*-\s*([0-7]))?\s*", text)
    if match is None or int(match[2] or 7) < int(match[1]):
        raise ValueError(f"{location}: classes = {format_value(text)}: must be 0 to 7, or a range such as 3-4")
    return list(range(int(match[1]), int(match[2] or match[1]) + 1))
