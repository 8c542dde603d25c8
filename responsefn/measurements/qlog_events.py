"""Events of qlog files: names, fields, time formats and units of all drafts, for the readers of qlog.

Read are the contained and the sequential form (JSON, RFC 7464 and lines), of draft-marx-qlog-main-schema-00 to -02
("draft-00" to "draft-02", with events as lists), of draft-ietf-quic-qlog-main-schema-00 to -06 ("0.3", "0.4") and of later ones, which
have a ``file_schema``. The tables of this module say which events and fields are used and which are skipped. All others are
refused by name.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hopflow.checks import listed, one_number, shown
from hopflow.text_files import MAX_BYTES, read_text, unique_fields

__all__ = ["LOST", "METRICS", "PARAMETERS", "SENT", "STATE", "Event", "Qlog"]

SENT, LOST, METRICS, STATE, PARAMETERS = (
    "packet_sent",
    "packet_lost",
    "metrics_updated",
    "congestion_state_updated",
    "recovery_parameters_set",
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KINDS = {
    "packet_sent": SENT,
    "packet_lost": LOST,
    "metrics_updated": METRICS,
    "metric_update": METRICS,
    "recovery_metrics_updated": METRICS,
    "congestion_state_updated": STATE,
    "recovery_parameters_set": PARAMETERS,
}
"""Events that are used, by their names in older and newer drafts, without the category; `recovery:parameters_set` too."""
CATEGORIES = _words(
    "transport connectivity security recovery quic http http3 h3 qpack generic loglevel simulation"
)
SKIPPED_EVENTS = _words(
    # of QUIC
    "server_listening connection_started connection_closed connection_id_updated spin_bit_updated "
    "connection_state_updated tuple_assigned path_assigned mtu_updated version_information alpn_information parameters_set "
    "parameters_restored packet_received packet_dropped packet_buffered packets_acked udp_datagrams_sent "
    "udp_datagrams_received udp_datagram_dropped stream_state_updated frames_created frames_parsed frames_processed "
    "stream_data_moved datagram_data_moved connection_data_blocked_updated stream_data_blocked_updated "
    "datagram_data_blocked_updated migration_state_updated timer_updated key_updated key_discarded marked_for_retransmit "
    "ecn_state_updated "
    # of QUIC in earlier drafts and programs
    "datagrams_sent datagrams_received datagram_sent datagram_received datagram_dropped data_moved connection_new "
    "connection_close connection_id_update spin_bit_update alpn_update loss_timer_updated loss_timer_set "
    "loss_timer_expired key_update key_retired spurious_loss "
    # of HTTP/3 and QPACK
    "stream_type_set priority_updated frame_created frame_parsed push_resolved datagram_created datagram_parsed "
    "state_updated dynamic_table_updated headers_encoded headers_decoded instruction_created instruction_parsed "
    # of the main schema
    "error warning info debug verbose message marker scenario connection_error application_error internal_error"
)
"""Events that say nothing about packets sent, losses, round-trip times, windows and states of congestion control."""


class _Fields(NamedTuple):
    """Fields of an object: by name those that are used, with the name in newer drafts, and those that are skipped."""

    used: dict[str, str]
    skipped: frozenset[str] = frozenset()


def _fields(used: str, skipped: str = "", **former: str) -> _Fields:
    return _Fields({name: name for name in used.split()} | former, _words(skipped))


LOG = _fields(
    "traces configuration qlog_version qlog_format file_schema serialization_format",
    "title description summary code_version",
)
TRACE = _fields(
    "configuration common_fields event_fields events error_description",
    "title description vantage_point event_schemas uri",
)
CONFIGURATION = _fields("time_units", "time_offset original_uris code_version qvis")
COMMON = _fields(
    "time_format group_id ODCID tuple path path_id",
    "reference_time protocol_type protocol_types dcid scid group_ids system_info",
)
EVENT = _fields(
    "time name category type data time_format group_id ODCID tuple path path_id",
    "trigger protocol_type protocol_types system_info",
)
COLUMNS = _Fields(
    EVENT.used
    | {"relative_time": "time", "delta_time": "time", "event": "type", "event_type": "type"},
    EVENT.skipped,
)
HEADER = _fields(
    "packet_type packet_number",
    "packet_type_bytes spin_bit key_phase key_phase_bit packet_number_length token version flags payload_length "
    "scil dcil scid dcid quic_bit length",
    packet_size="length",
)
_PACKET_FIELDS = _fields(
    "header raw packet_type packet_number is_mtu_probe_packet",
    "frames is_coalesced coalesced datagram_id datagram_payload_checksum trigger retry_token token_size "
    "stateless_reset_token supported_versions versions raw_encrypted raw_decrypted",
    packet_size="length",
)
DATA = {
    SENT: _PACKET_FIELDS,
    LOST: _PACKET_FIELDS,
    METRICS: _fields(
        "smoothed_rtt min_rtt congestion_window bytes_in_flight pacing_rate",
        "latest_rtt rtt_variance max_ack_delay ack_delay pto_count ssthresh packets_in_flight in_recovery trigger",
        cwnd="congestion_window",
    ),
    STATE: _fields("new", "old trigger"),
    PARAMETERS: _fields(
        "max_datagram_size",
        "reordering_threshold time_threshold timer_granularity initial_rtt initial_congestion_window "
        "minimum_congestion_window loss_reduction_factor persistent_congestion_threshold",
    ),
}
RAW = _fields("length", "payload_length data")
RECORD = _Fields(LOG.used | TRACE.used | {"trace": "trace"}, LOG.skipped | TRACE.skipped)
"""Fields of the objects of a file; `RECORD` is the first one of a sequence, or the only one of a file without ``traces``."""

VERSIONS = _words("draft-00 draft-01 draft-02 draft-02-wip draft-02-RC1 0.3 0.4")
SCHEMAS = frozenset(("urn:ietf:params:qlog:file:contained", "urn:ietf:params:qlog:file:sequential"))
FORMATS = frozenset(
    ("JSON", "NDJSON", "JSON-SEQ", "application/qlog+json", "application/qlog+json-seq")
)
UNITS = {"ms": 1e-3, "us": 1e-6}
"""Values of ``time_units`` in draft-00 and draft-01, for all times of a trace; milliseconds are the default, and the only unit since then."""
CUMULATIVE = {
    "absolute": False,
    "relative": False,
    "relative_to_epoch": False,
    "delta": True,
    "relative_to_previous_event": True,
}
"""Values of ``time_format``: whether a time is counted from the event before."""
COLUMN_FORMATS = {"time": "absolute", "relative_time": "relative", "delta_time": "delta"}
NUMBERLESS = frozenset(("retry", "version_negotiation", "versionnegotiation", "stateless_reset"))
"""Types of packets that have no packet number and are not counted."""
SPACES = {"": "", "initial": "initial", "handshake": "handshake", "1rtt": "1rtt", "0rtt": "1rtt",
          "onertt": "1rtt", "zerortt": "1rtt", "1-rtt": "1rtt", "0-rtt": "1rtt"}  # fmt: skip
"""Number spaces of types of packets (RFC 9000, 12.3); of a packet without a type it is not known."""
MAX_HELD = 600 * 10**6
"""Memory of the values of a contained file, in bytes, by the numbers of its brackets and commas."""
DIGITS = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?")
"""Numbers as strings, which qlog allows for 64-bit integers and older drafts write throughout."""


class Event(NamedTuple):
    """An event that is used.

    Attributes
    ----------
    time
        In s, since an origin of the trace.
    kind
        `SENT`, `LOST`, `METRICS`, `STATE` or `PARAMETERS`.
    connection
        Name of the connection in the trace, "" if there is only one.
    data
        Fields that are used, by their names in the current draft: round-trip times in s, other numbers as floats; of packets
        the number ``packet_number``, the number space ``space`` ("" if unknown), and ``length``.
    place
        Position in the file, for messages.
    """

    time: float
    kind: str
    connection: str
    data: dict[str, Any]
    place: str


class Qlog:
    """A qlog file or its text.

    Parameters
    ----------
    source
        A path, or the text itself.
    skip
        Names of further events and fields to skip.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        For a larger file, no text or no JSON.
    """

    def __init__(self, source: str | Path, skip: Iterable[str] = ()) -> None:
        self.name, self._skip = "source", frozenset(listed("skip", skip, str, "a name"))
        for name in self._skip:
            kind, _, field = name.rpartition(".")
            if (
                self._known(name)[0]
                or name in RECORD.used | EVENT.used
                or (kind in DATA and field in DATA[kind].used)
            ):
                raise ValueError(f"skip = {name!r}: must be an event or a field that is not used")
        self._unknown: dict[str, str] = {}
        if isinstance(source, str) and any(mark in source for mark in "{\n\x1e"):
            self._text = source.removeprefix("\ufeff")
        else:
            self._text = read_text("source", source)
            self.name = f"source = {str(source)!r}"

    def error(self, place: str, message: str) -> ValueError:
        """Return an error that names the file and the place in it."""
        return ValueError(f"{self.name}{place and f', {place}'}: {message}")

    def traces(self) -> Iterator[list[Event]]:
        """Yield the events of each trace that are used.

        Raises
        ------
        ValueError
            For unknown versions, formats, events and fields, for values that are impossible, and for events of unclear connection.
        """
        for place, trace, events in self._parts():
            found = list(self._events(place, trace, events))
            for name in self._skip:
                self._unknown.pop(name, None)
            if self._unknown:
                names = ", ".join(map(repr, list(self._unknown)[:20]))
                where = next(iter(self._unknown.values()))
                said = f"unknown: {names}; if they may be skipped, give skip=({names},)"
                raise self.error(where, said)
            yield found

    def _parts(self) -> Iterator[tuple[str, dict[str, Any], Iterable[tuple[str, Any]]]]:
        """Yield the place, the object and the events of each trace."""
        text = self._text.strip(" \t\r\n")  # not the record separator, which is a blank to Python
        if len(text) > MAX_BYTES:
            raise self.error("", f"must have at most {MAX_BYTES} characters")
        first, _, others = text.partition("\n")
        if text.startswith("\x1e") or (others and self._is_record(first)):
            yield self._sequence(text)
            return
        log = self._parsed("", text)
        if isinstance(log, dict) and "events" not in log and "traces" not in log:
            yield self._sequence(text)
            return
        log = self._object("", log)
        self._check_log("", log, LOG if "traces" in log else RECORD)
        if "traces" in log:
            settings = self._object("configuration", log.get("configuration", {}))
            self._refuse("configuration", settings, _Fields({}, CONFIGURATION.skipped))
        for number, item in enumerate(self._list("traces", log.get("traces", [log]))):
            place = f"traces[{number}]"
            trace = self._object(place, item)
            if trace is not log:
                self._refuse(place, trace, TRACE)
            if "error_description" in trace:
                raise self.error(place, f"is an error: {shown(trace['error_description'])}")
            listing = self._list(f"{place}.events", trace.get("events"))
            yield place, trace, ((f"{place}.events[{n}]", item) for n, item in enumerate(listing))

    def _sequence(self, text: str) -> tuple[str, dict[str, Any], Iterable[tuple[str, Any]]]:
        """Return the place, the object and the events of the trace of a sequence."""
        numbered = self._records(text)
        place, item = next(numbered, ("", None))
        log = self._object(place, item)
        if "time" in log and ("name" in log or "data" in log):  # no header
            return place, {}, itertools.chain([(place, log)], numbered)
        if "traces" in log or "events" in log:
            raise self.error(place, "a contained file must be the only record")
        self._check_log(place, log, RECORD)
        trace = self._object(f"{place}.trace", log.get("trace", {}))
        self._refuse(f"{place}.trace", trace, TRACE)
        if trace.get("events"):
            raise self.error(f"{place}.trace.events", "must be records of their own")
        return f"{place}.trace", {**log, **trace}, numbered

    def _records(self, text: str) -> Iterator[tuple[str, Any]]:
        """Yield the place and the value of each record of a sequence (RFC 7464), or of lines."""
        pieces = text.split("\x1e" if "\x1e" in text else "\n")
        for number, piece in enumerate(filter(str.strip, pieces), 1):
            yield f"record {number}", self._parsed(f"record {number}", piece)

    def _is_record(self, line: str) -> bool:
        """Return whether a line is JSON by itself."""
        try:
            self._parsed("", line)
        except ValueError:
            return False
        return True

    def _parsed(self, place: str, text: str) -> Any:
        """Return the value of JSON."""
        if 240 * text.count("{") + 64 * (text.count("[") + text.count(",")) > MAX_HELD:
            raise self.error(place, "too many values; write a shorter trace, or records (JSON-SEQ)")
        try:
            return DECODER.decode(text)
        except RecursionError:
            raise self.error(place, "must be JSON, is nested too deeply") from None
        except ValueError as error:
            raise self.error(place, f"must be JSON, {error}") from None

    def _object(self, place: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.error(place, f"{shown(value)}: must be an object")
        return value

    def _list(self, place: str, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise self.error(place, f"{shown(value)}: must be a list")
        return value

    def _choice(self, place: str, value: Any, options: Collection[str]) -> str:
        if not isinstance(value, str) or value not in options:
            raise self.error(place, f"{shown(value)}: must be one of {', '.join(sorted(options))}")
        return value

    def _number(self, place: str, value: Any, **limits: Any) -> float:
        """Return a finite number within limits; strings of digits are numbers too."""
        if isinstance(value, str) and DIGITS.fullmatch(value):
            value = float(value)
        return one_number(f"{self.name}, {place}", value, **limits)

    def _refuse(self, place: str, value: Iterable[str], fields: _Fields, prefix: str = "") -> None:
        """Note the fields that are neither used nor skipped."""
        for name in value:
            if name not in fields.used and name not in fields.skipped:
                self._unknown.setdefault(f"{prefix}{name}", place)

    def _check_log(self, place: str, log: dict[str, Any], fields: _Fields) -> None:
        """Check the fields, version and format of a file."""
        inside = f"{place}." if place else ""
        if "connections" in log:
            raise self.error(f"{inside}connections", "qlog before draft-00 is not read")
        self._refuse(place, log, fields)
        allowed = {"qlog_version": VERSIONS, "file_schema": SCHEMAS,
                   "qlog_format": FORMATS, "serialization_format": FORMATS}  # fmt: skip
        for name, options in allowed.items():
            if name in log:
                self._choice(f"{inside}{name}", log[name], options)

    def _events(
        self, place: str, trace: dict[str, Any], events: Iterable[tuple[str, Any]]
    ) -> Iterator[Event]:
        """Yield the events of a trace that are used."""
        settings = self._object(f"{place}.configuration", trace.get("configuration", {}))
        common = self._object(f"{place}.common_fields", trace.get("common_fields", {}))
        self._refuse(f"{place}.configuration", settings, CONFIGURATION)
        self._refuse(f"{place}.common_fields", common, COMMON)
        unit = UNITS[
            self._choice(f"{place}.configuration.time_units", settings.get("time_units", "ms"), UNITS)
        ]  # fmt: skip
        columns, column_format = self._columns(place, trace)
        now, origins, paths = 0.0, set[str](), dict[str, Any]()
        grouped: bool | None = None
        for where, item in events:
            if item == [] and columns is not None:  # the last one of some converters
                continue
            event = self._row(where, item, columns)
            if "time" not in event:
                raise self.error(where, "'time' is missing")
            form = event.get("time_format", common.get("time_format", column_format))
            time = event["time"]
            if CUMULATIVE[self._choice(f"{where}.time_format", form, CUMULATIVE)]:
                now += self._number(f"{where}.time", time, at_least=0.0)
            else:
                now = self._number(f"{where}.time", time)
                origins.add(form)
            if len(origins) > 1:
                raise self.error(
                    where, f"time_format = {form!r}: times of one trace from two origins"
                )
            kind = self._kind(where, event)
            if kind is None:
                continue
            groups = [
                value if isinstance(value, str) else json.dumps(value)
                for name in ("group_id", "ODCID")
                if (value := event.get(name, common.get(name))) is not None
            ]
            connection = ", ".join(groups)
            if grouped not in (None, bool(groups)):
                raise self.error(where, "group_id is missing, or other events have none")
            grouped = bool(groups)
            for name in ("tuple", "path", "path_id"):
                path = event.get(name, common.get(name, ""))
                if paths.setdefault(f"{name} {connection}", path) != path:
                    said = "packets of a connection on more than one path are not read"
                    raise self.error(where, f"{name} = {shown(path)}: {said}")
            data = self._object(f"{where}.data", event.get("data"))
            self._refuse(where, data, DATA[kind], f"{kind}.")
            used = self._packet if kind in (SENT, LOST) else self._values
            yield Event(
                unit * now, kind, connection, used(f"{where}.data", kind, data, unit), where
            )

    def _columns(self, place: str, trace: dict[str, Any]) -> tuple[list[str] | None, str]:
        """Return the names of the columns of events as lists, None for objects, and the default format of times."""
        if "event_fields" not in trace:
            return None, "relative_to_epoch"
        columns = self._list(f"{place}.event_fields", trace["event_fields"])
        columns = [name if name in COLUMNS.used else str(name).lower() for name in columns]
        times = [name for name in columns if name in COLUMN_FORMATS]
        if len({COLUMNS.used.get(name, name) for name in columns}) < len(columns) or not times:
            said = f"must name each column once, one of them {' or '.join(COLUMN_FORMATS)}"
            raise self.error(f"{place}.event_fields", f"{shown(columns)}: {said}")
        self._refuse(f"{place}.event_fields", columns, COLUMNS)
        return columns, COLUMN_FORMATS[times[0]]

    def _row(self, place: str, item: Any, columns: list[str] | None) -> dict[str, Any]:
        """Return an event as an object with the fields of the current draft."""
        if columns is None or isinstance(item, dict):
            event = self._object(place, item)
            self._refuse(place, event, EVENT)
            return event
        row = self._list(place, item)
        if len(row) != len(columns):
            raise self.error(place, f"has {len(row)} values for {len(columns)} columns")
        return {COLUMNS.used.get(name, name): v for name, v in zip(columns, row, strict=True)}

    def _kind(self, place: str, event: dict[str, Any]) -> str | None:
        """Return the kind of an event; None for one that is skipped."""
        name = event.get("name")
        if name is None and "type" in event:
            name = ":".join(str(event[part]) for part in ("category", "type") if part in event)
        elif "type" in event:
            raise self.error(place, "'name' and 'type' are one field")
        if not isinstance(name, str):
            raise self.error(place, f"name = {shown(name)}: must be a string")
        kind, known = self._known(name)
        if not known:
            self._unknown.setdefault(name, place)
        return kind

    @staticmethod
    def _known(name: str) -> tuple[str | None, bool]:
        """Return the kind of an event, None if it is skipped, and whether its name is known."""
        category, _, word = name.lower().rpartition(":")
        if category and category not in CATEGORIES:
            return None, False
        parameters = category in ("recovery", "") and word == "parameters_set"
        kind = PARAMETERS if parameters else KINDS.get(word)
        return kind, kind is not None or word in SKIPPED_EVENTS

    def _values(self, place: str, kind: str, data: dict[str, Any], unit: float) -> dict[str, Any]:
        """Return the fields of metrics, states and parameters that are used."""
        values: dict[str, Any] = {}
        for name, value in data.items():
            current = DATA[kind].used.get(name)
            if current is None or value is None:
                continue
            if current in values:
                raise self.error(place, f"{name!r} and {current!r} are one field")
            if kind == STATE:
                values[current] = value
            elif current.endswith("_rtt"):
                values[current] = unit * self._number(f"{place}.{name}", value, above=0.0)
            elif kind == PARAMETERS:
                values[current] = self._number(f"{place}.{name}", value, above=0.0)
            else:
                values[current] = self._number(f"{place}.{name}", value, at_least=0.0)
        return values

    def _packet(self, place: str, kind: str, data: dict[str, Any], _unit: float) -> dict[str, Any]:
        """Return number, number space and length of a packet, from wherever a draft has them."""
        values: dict[str, Any] = {}
        for part, fields in (("", DATA[kind]), ("header", HEADER), ("raw", RAW)):
            where = f"{place}.{part}" if part else place
            item = self._object(where, data.get(part, {})) if part else data
            if part:
                self._refuse(where, item, fields, f"{kind}.{part}.")
            for name, value in item.items():
                current = fields.used.get(name)
                if current in ("packet_number", "length"):
                    number = self._number(f"{where}.{name}", value, at_least=0.0)
                    if number % 1.0 or values.setdefault(current, number) != number:
                        raise self.error(
                            f"{where}.{name}", f"{shown(value)}: must be one whole number"
                        )
                elif current == "packet_type":
                    values.setdefault("type", str(value).lower())
        kind_of_packet = values.pop("type", "")
        if kind_of_packet not in NUMBERLESS:
            name = f"{place}, packet_type"
            values["space"] = SPACES[self._choice(name, kind_of_packet, SPACES)]
        values["probe"] = data.get("is_mtu_probe_packet", False) is True
        if kind_of_packet in NUMBERLESS:
            values.pop("packet_number", None)
        elif "packet_number" not in values:
            raise self.error(place, "'packet_number' is missing")
        return values


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


DECODER = json.JSONDecoder(object_pairs_hook=unique_fields, parse_constant=_no_number)
