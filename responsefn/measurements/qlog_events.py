"""Events of qlog files: names, fields, time formats and units of all drafts, for the readers of qlog.

Supported are the contained and the sequential form (JSON, RFC 7464 and lines) of draft-marx-qlog-main-schema-00 to -02
("draft-00" to "draft-02", with events as lists), of draft-ietf-quic-qlog-main-schema-00 to -06 ("0.3", "0.4") and of
later drafts, which have a ``file_schema``, and the events that picoquic and mvfst add. The tables of this module list
the events and fields that are used or skipped. All others are refused by name.
"""

from __future__ import annotations

import bisect
import itertools
import json
import math
import re
import statistics
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hopflow.checks import count_of, format_value, instances, one_number
from hopflow.text_files import MAX_BYTES, read_text, unique_fields
from responsefn.measurements.file_kinds import refuse_other_kinds
from responsefn.measurements.time_limits import MAX_BACKWARD, MAX_GAP

__all__ = [
    "ACKS",
    "LIMITED",
    "LOST",
    "METRICS",
    "PARAMETERS",
    "RECEIVED",
    "SENT",
    "STATE",
    "Event",
    "Qlog",
    "doubt_units",
]

SENT, LOST, RECEIVED, ACKS, METRICS, STATE, LIMITED, PARAMETERS = (
    "packet_sent",
    "packet_lost",
    "packets_acked",
    "packet_received",
    "metrics_updated",
    "congestion_state_updated",
    "app_limited_update",
    "recovery_parameters_set",
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KINDS = {
    "packet_sent": SENT,
    "packet_lost": LOST,
    "packets_lost": LOST,
    "packets_acked": RECEIVED,
    "packet_received": ACKS,
    "spurious_loss": RECEIVED,
    "metrics_updated": METRICS,
    "metric_update": METRICS,
    "recovery_metrics_updated": METRICS,
    "congestion_state_updated": STATE,
    "app_limited_update": LIMITED,
    "recovery_parameters_set": PARAMETERS,
}
"""Kinds of used events by their names in older and newer drafts, without the category.

The names include that of `recovery:parameters_set`."""
CATEGORIES = _words(
    "transport connectivity security recovery quic http http3 h3 qpack generic loglevel simulation "
    # of picoquic and mvfst
    "info loss metric_update idle_update app_limited_update bandiwdth_est_update mvfst"
)
SKIPPED_EVENTS = _words(
    # of QUIC
    "server_listening connection_started connection_closed connection_id_updated spin_bit_updated "
    "connection_state_updated tuple_assigned path_assigned mtu_updated version_information alpn_information "
    "parameters_set parameters_restored packet_dropped packet_buffered "
    "udp_datagrams_sent udp_datagrams_received udp_datagram_dropped stream_state_updated frames_created "
    "frames_parsed frames_processed stream_data_moved datagram_data_moved connection_data_blocked_updated "
    "stream_data_blocked_updated datagram_data_blocked_updated migration_state_updated timer_updated key_updated "
    "key_discarded marked_for_retransmit ecn_state_updated "
    # of QUIC in earlier drafts and programs
    "datagrams_sent datagrams_received datagram_sent datagram_received datagram_dropped data_moved connection_new "
    "connection_close connection_id_update spin_bit_update alpn_update loss_timer_updated loss_timer_set "
    "loss_timer_expired key_update key_retired "
    # of HTTP/3 and QPACK
    "stream_type_set priority_updated frame_created frame_parsed push_resolved datagram_created datagram_parsed "
    "state_updated dynamic_table_updated headers_encoded headers_decoded instruction_created instruction_parsed "
    # of mvfst
    "transport_summary congestion_metric_update pacing_metric_update pacing_observation bandwidth_est_update "
    "app_idle_update loss_alarm packet_drop transport_state_update packet_ack stream_state_update "
    "connection_migration path_validation priority connection_migrated path_validated stream_priority_updated "
    "l4s_weight_update network_path_model_update "
    # of the main schema
    "error warning info debug verbose message marker scenario connection_error application_error internal_error"
)
"""Events without packets sent, losses, round-trip times, windows or states of congestion control."""


class _Fields(NamedTuple):
    """Fields of an object: used fields with their names in newer drafts, and skipped fields."""

    used: dict[str, str]
    skipped: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """Used and skipped fields."""
        return self.skipped.union(self.used)


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
    "time_format group_id ODCID odcid tuple path path_id",
    "reference_time protocol_type protocol_types dcid scid group_ids system_info",
)
CONNECTION_NAMES = ("group_id", "ODCID", "odcid")
"""Fields that name a connection, in mvfst in lower case."""
EVENT = _fields(
    "time name category type data time_format group_id ODCID tuple path path_id",
    "trigger protocol_type protocol_types system_info",
)
COLUMNS = _Fields(
    EVENT.used | {"relative_time": "time", "delta_time": "time", "event": "type", "event_type": "type"},
    EVENT.skipped,
)
HEADER = _fields(
    "packet_type packet_number",
    "packet_type_bytes spin_bit key_phase key_phase_bit packet_number_length token version flags payload_length "
    "scil dcil scid dcid quic_bit length path_id",
    packet_size="length",
)
_PACKET_FIELDS = _fields(
    "header raw packet_type packet_number is_mtu_probe_packet",
    "frames is_coalesced coalesced datagram_id datagram_payload_checksum trigger retry_token token_size ecn "
    "send_at_time "
    "stateless_reset_token supported_versions versions raw_encrypted raw_decrypted",
    packet_size="length",
)
DATA = {
    SENT: _Fields(_PACKET_FIELDS.used | {"frames": "frames"}, _PACKET_FIELDS.skipped - {"frames"}),
    LOST: _Fields(
        _PACKET_FIELDS.used | {"largest_lost_packet_num": "packet_number"},
        _PACKET_FIELDS.skipped | {"lost_bytes", "lost_packets"},
    ),
    ACKS: _fields("frames"),
    RECEIVED: _fields("packet_number_space packet_number packet_numbers", "reordering_packets reordering_time trigger"),
    METRICS: _fields(
        "smoothed_rtt min_rtt congestion_window bytes_in_flight pacing_rate app_limited",
        "latest_rtt rtt_variance max_ack_delay ack_delay pto_count ssthresh packets_in_flight in_recovery trigger "
        "cf_delivery_rate cf_send_rate cf_ack_rate cf_lost_bytes path_id",
        cwnd="congestion_window",
        cf_lost_packets="lost_packets",
    ),
    STATE: _fields("new trigger", "old cc_param resumption"),
    LIMITED: _fields("app_limited", "idle idle_event"),
    PARAMETERS: _fields(
        "max_datagram_size",
        "reordering_threshold time_threshold timer_granularity initial_rtt initial_congestion_window "
        "minimum_congestion_window loss_reduction_factor persistent_congestion_threshold",
    ),
}
RAW = _fields("length", "payload_length data")
RECORD = _Fields(LOG.used | TRACE.used | {"trace": "trace"}, LOG.skipped | TRACE.skipped)
"""Fields of the objects of a file.

`RECORD` is the first object of a sequence, or the only object of a file without ``traces``."""

RECORD_MARKS = frozenset(("qlog_version", "qlog_format", "file_schema", "trace", "traces"))
"""Fields that the first object of a file alone has."""
ACK_FRAMES = _words(
    "ack ack_ecn ack_extended ack_receive_timestamps ack_receive_timestamps_draft_02 "
    "ack_receive_timestamps_draft_02_ecn"
)
"""Types of ACK frames. mvfst has a type for each form of the frame, with or without marks and receive times."""
MARKS = ("ce", "ecn_ce")
"""Fields of ACK frames with the number of marks so far, of the drafts and of mvfst."""
NOT_ELICITING = ACK_FRAMES | _words("padding connection_close")
"""Frames of packets that are not acknowledged (RFC 9002, 2)."""
VERSIONS = _words("draft-00 draft-01 draft-02 draft-02-wip draft-02-RC1 0.3 0.4")
SCHEMAS = frozenset(("urn:ietf:params:qlog:file:contained", "urn:ietf:params:qlog:file:sequential"))
FORMATS = frozenset(("JSON", "NDJSON", "JSON-SEQ", "application/qlog+json", "application/qlog+json-seq"))
UNITS = {"ms": 1e-3, "us": 1e-6}
"""Values of ``time_units`` in draft-00 and draft-01, for all times of a trace.

Later drafts have milliseconds only, which are the default."""
CUMULATIVE = {
    "absolute": False,
    "relative": False,
    "relative_to_epoch": False,
    "delta": True,
    "relative_to_previous_event": True,
}
"""Values of ``time_format``: whether a time is relative to the previous event."""
COLUMN_FORMATS = {"time": "absolute", "relative_time": "relative", "delta_time": "delta"}
NUMBERLESS = frozenset(("retry", "version_negotiation", "versionnegotiation", "stateless_reset"))
"""Types of packets without a packet number, which are not counted."""
SPACES = {
    "": "",
    "initial": "initial",
    "handshake": "handshake",
    "1rtt": "1rtt",
    "0rtt": "1rtt",
    "onertt": "1rtt",
    "zerortt": "1rtt",
    "1-rtt": "1rtt",
    "0-rtt": "1rtt",
}
"""Number spaces of types of packets (RFC 9000, 12.3); unknown for a packet without a type."""
NUMBER_SPACES = {"": "", "initial": "initial", "handshake": "handshake", "application_data": "1rtt"}
"""Number spaces by their names in qlog."""
MAX_PARSED_BYTES = 600 * 10**6
"""Maximum memory of the parsed values of a contained file, estimated from its brackets and commas."""
LIMITS = {"0": False, "1": True, "false": False, "true": True, "app unlimited": False, "app limited": True}
"""Values of ``app_limited`` in lower case."""
UNIT_DOUBT = 100.0
"""Ratio of the times to an answer and the round-trip times, or its inverse, at which units are in doubt.

The units that programs write (s, ms, us) are 1000 apart.
"""
MAX_NAMED_FIELDS = 10
"""Fields of an object that a message names."""
DIGITS = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?")
"""Numbers as strings, which qlog allows for 64-bit integers and older drafts write throughout."""


class Event(NamedTuple):
    """A used event.

    Attributes
    ----------
    time
        In s, since the first event of the trace.
    kind
        `SENT`, `LOST`, `RECEIVED`, `ACKS`, `METRICS`, `STATE`, `LIMITED` or `PARAMETERS`; `ACKS` only with ACK frames.
    connection
        Name of the connection in the trace, "" if there is only one.
    data
        Used fields by their names in the current draft: round-trip times in s, other numbers as floats; of packets
        the number ``packet_number``, the number space ``space`` ("" if unknown), and ``length``; of `RECEIVED` the
        ``space`` and the list ``packet_numbers``; of `ACKS` the number of marks so far, ``ce``, and ``ranges`` of
        numbers, both ends included; of packets ``elicits_no_ack``, whether all frames are ACKs, padding or an end; of
        `METRICS` and `LIMITED` whether the application limits the rate, ``app_limited``; of `METRICS` of quiche the
        number of lost packets so far, ``lost_packets``.
    location
        Position in the file, for messages.
    """

    time: float
    kind: str
    connection: str
    data: dict[str, Any]
    location: str


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
        self.name, self._skip = "source", frozenset(instances("skip", skip, str, "a name"))
        for name in self._skip:
            kind, _, field = name.rpartition(".")
            if (
                self._classify(name)[0]
                or name in RECORD.used | EVENT.used
                or (kind in DATA and field in DATA[kind].used)
            ):
                raise ValueError(f"skip = {name!r}: must be an event or a field that is not used")
            if self._may_count(name):
                raise ValueError(f"skip = {name!r}: must not be of packets sent or lost, which p counts")
        self._unknown: dict[str, str] = {}
        is_path = not (isinstance(source, str) and any(mark in source for mark in "{\n\x1e"))
        self.name = f"source = {str(source)!r}" if is_path else self.name
        refuse_other_kinds(source, self.name, is_path, "read_qlog")
        self._text = read_text("source", source) if is_path else str(source).removeprefix("\ufeff")

    def error(self, location: str, message: str) -> ValueError:
        """Return an error that names the file and the location in it."""
        return ValueError(f"{self.name}{location and f', {location}'}: {message}")

    def traces(self) -> Iterator[list[Event]]:
        """Yield the used events of each trace.

        Raises
        ------
        ValueError
            For unknown versions, formats, events and fields, for impossible values, for times that go back by more than
            an hour or leap by more than a year, and for events of unclear connection.
        """
        for trace_location, trace, events in self._parts():
            used_events = list(self._events(trace_location, trace, events))
            for name in self._skip:
                self._unknown.pop(name, None)
            if self._unknown:
                names = ", ".join(map(repr, list(self._unknown)[:20]))
                location = next(iter(self._unknown.values()))
                hint = f"if they may be skipped, give skip=({names},)"
                if counted := list(filter(self._may_count, self._unknown)):
                    hint = f"{counted[0]!r} may be of packets sent or lost, which p counts, and is not read"
                raise self.error(location, f"unknown: {names}; {hint}")
            yield used_events

    def _parts(self) -> Iterator[tuple[str, dict[str, Any], Iterable[tuple[str, Any]]]]:
        """Yield the location, the object and the events of each trace."""
        text = self._text.strip(" \t\r\n")  # not the record separator, which is a blank to Python
        if len(text) > MAX_BYTES:
            raise self.error("", f"must have at most {MAX_BYTES} characters")
        first, _, others = text.partition("\n")
        if text.startswith("\x1e") or (others and self._is_record(first)):
            yield self._sequence(text)
            return
        log = self._decode("", text)
        if isinstance(log, dict) and "events" not in log and "traces" not in log:
            if "\n" in text:
                fields = ", ".join(map(repr, list(log)[:MAX_NAMED_FIELDS]))
                raise self.error("", f"has neither 'traces' nor 'events'; its fields are {fields or 'none'}")
            yield self._sequence(text)
            return
        log = self._object("", log)
        self._check_log("", log, LOG if "traces" in log else RECORD)
        if "traces" in log:
            settings = self._object("configuration", log.get("configuration", {}))
            self._collect_unknown("configuration", settings, _Fields({}, CONFIGURATION.skipped))
        for number, item in enumerate(self._list("traces", log.get("traces", [log]))):
            location = f"traces[{number}]"
            trace = self._object(location, item)
            if trace is not log:
                self._collect_unknown(location, trace, TRACE)
            if "error_description" in trace:
                raise self.error(location, f"is an error: {format_value(trace['error_description'])}")
            listing = self._list(f"{location}.events", trace.get("events"))
            yield (
                location,
                trace,
                ((f"{location}.events[{n}]", item) for n, item in enumerate(listing)),
            )

    def _sequence(self, text: str) -> tuple[str, dict[str, Any], Iterable[tuple[str, Any]]]:
        """Return the location, the object and the events of the trace of a sequence."""
        numbered = self._records(text)
        location, item = next(numbered, ("", None))
        log = self._object(location, item)
        if "time" in log and ("name" in log or "data" in log):  # no header
            return location, {}, itertools.chain([(location, log)], numbered)
        if "traces" in log or "events" in log:
            raise self.error(location, "a contained file must be the only record")
        self._check_log(location, log, RECORD)
        trace = self._object(f"{location}.trace", log.get("trace", {}))
        self._collect_unknown(f"{location}.trace", trace, TRACE)
        if trace.get("events"):
            raise self.error(f"{location}.trace.events", "must be records of their own")
        return f"{location}.trace", {**log, **trace}, numbered

    def _records(self, text: str) -> Iterator[tuple[str, Any]]:
        """Yield the location and the JSON value of each record of a sequence (RFC 7464), or of each line."""
        pieces = text.split("\x1e" if "\x1e" in text else "\n")
        for number, piece in enumerate(filter(str.strip, pieces), 1):
            yield f"record {number}", self._decode(f"record {number}", piece)

    def _is_record(self, line: str) -> bool:
        """Return whether a line alone is valid JSON."""
        try:
            self._decode("", line)
        except ValueError:
            return False
        return True

    def _decode(self, location: str, text: str) -> Any:
        """Decode JSON."""
        if 240 * text.count("{") + 64 * (text.count("[") + text.count(",")) > MAX_PARSED_BYTES:
            raise self.error(location, "too many values; write a shorter trace, or records (JSON-SEQ)")
        try:
            return DECODER.decode(text)
        except RecursionError:
            raise self.error(location, "must be JSON, is nested too deeply") from None
        except ValueError as error:
            raise self.error(location, f"must be JSON, {error}") from None

    def _object(self, location: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.error(location, f"{format_value(value)}: must be an object")
        return value

    def _list(self, location: str, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise self.error(location, f"{format_value(value)}: must be a list")
        return value

    def _choice(self, location: str, value: Any, options: Collection[str]) -> str:
        if not isinstance(value, str) or value not in options:
            raise self.error(location, f"{format_value(value)}: must be one of {', '.join(sorted(options))}")
        return value

    def _number(self, location: str, value: Any, **limits: Any) -> float:
        """Return a finite number within limits; strings of digits are numbers too."""
        if isinstance(value, str) and DIGITS.fullmatch(value):
            value = float(value)
        return one_number(f"{self.name}, {location}", value, **limits)

    def _collect_unknown(self, location: str, value: Iterable[str], fields: _Fields, prefix: str = "") -> None:
        """Collect the fields that are neither used nor skipped."""
        for name in value:
            if name not in fields.used and name not in fields.skipped:
                self._unknown.setdefault(f"{prefix}{name}", location)

    def _check_log(self, location: str, log: dict[str, Any], fields: _Fields) -> None:
        """Check the fields, version and format of a file."""
        inside = f"{location}." if location else ""
        if "connections" in log:
            raise self.error(f"{inside}connections", "qlog before draft-00 is not read")
        self._collect_unknown(location, log, fields)
        allowed = {
            "qlog_version": VERSIONS,
            "file_schema": SCHEMAS,
            "qlog_format": FORMATS,
            "serialization_format": FORMATS,
        }
        for name, options in allowed.items():
            if name in log:
                self._choice(f"{inside}{name}", log[name], options)

    def _events(self, trace_location: str, trace: dict[str, Any], events: Iterable[tuple[str, Any]]) -> Iterator[Event]:
        """Yield the used events of a trace."""
        settings = self._object(f"{trace_location}.configuration", trace.get("configuration", {}))
        common = self._object(f"{trace_location}.common_fields", trace.get("common_fields", {}))
        self._collect_unknown(f"{trace_location}.configuration", settings, CONFIGURATION)
        self._collect_unknown(f"{trace_location}.common_fields", common, COMMON)
        unit = UNITS[
            self._choice(f"{trace_location}.configuration.time_units", settings.get("time_units", "ms"), UNITS)
        ]
        columns, column_format = self._columns(trace_location, trace)
        now, origins, paths = 0.0, set[str](), dict[str, Any]()
        first = previous = math.nan
        grouped: bool | None = None
        for location, item in events:
            if item == [] and columns is not None:  # some converters end a trace with it
                continue
            event = self._row(location, item, columns)
            if "time" not in event:
                if not RECORD_MARKS.isdisjoint(event):
                    raise self.error(location, "begins another log: must be a file of its own")
                raise self.error(location, "'time' is missing")
            form = event.get("time_format", common.get("time_format", column_format))
            time = event["time"]
            if CUMULATIVE[self._choice(f"{location}.time_format", form, CUMULATIVE)]:
                now += self._number(f"{location}.time", time, at_least=0.0)
            else:
                now = self._number(f"{location}.time", time)
                origins.add(form)
            if len(origins) > 1:
                raise self.error(location, f"time_format = {form!r}: times of one trace from two origins")
            first = now if math.isnan(first) else first
            gap, previous = unit * (now - previous), now
            if not (math.isnan(gap) or -MAX_BACKWARD <= gap <= MAX_GAP):
                message = f"time = {format_value(time)}: {gap:.6g} s after the event before it"
                raise self.error(location, f"{message}: must be {-MAX_BACKWARD:g} to {MAX_GAP:g} s; repair the times")
            kind = self._kind(location, event)
            if kind is None:
                continue
            groups = [
                value if isinstance(value, str) else json.dumps(value)
                for name in CONNECTION_NAMES
                if (value := event.get(name, common.get(name))) is not None
            ]
            connection = ", ".join(groups)
            if grouped not in (None, bool(groups)):
                raise self.error(location, "group_id is missing, or other events have none")
            grouped = bool(groups)
            for name in ("tuple", "path", "path_id"):
                path = event.get(name, common.get(name, "" if kind == SENT else None))  # noq has it in packets alone
                if path is not None and paths.setdefault(f"{name} {connection}", path) != path:
                    reason = "packets of a connection on more than one path are not read"
                    raise self.error(location, f"{name} = {format_value(path)}: {reason}")
            data = self._object(f"{location}.data", event.get("data"))
            if kind == ACKS:  # of packets from the other end nothing else matters
                acks = _acks(data)
                if acks:
                    yield Event(unit * (now - first), kind, connection, acks, location)
                continue
            if kind == STATE and "new" not in data and not DATA[LIMITED].names.isdisjoint(data):  # as mvfst has it
                kind = LIMITED
            self._collect_unknown(location, data, DATA[kind], f"{kind}.")
            used = {SENT: self._packet, LOST: self._packet, RECEIVED: self._received}.get(kind, self._values)
            # the origin is subtracted in the trace's unit: as seconds since 1970 a float64 has steps of 238 ns
            yield Event(unit * (now - first), kind, connection, used(f"{location}.data", kind, data, unit), location)

    def _columns(self, location: str, trace: dict[str, Any]) -> tuple[list[str] | None, str]:
        """Return the names of the columns of events as lists, None for objects, and the default format of times."""
        if "event_fields" not in trace:
            return None, "relative_to_epoch"
        columns = self._list(f"{location}.event_fields", trace["event_fields"])
        columns = [name if name in COLUMNS.used else str(name).lower() for name in columns]
        times = [name for name in columns if name in COLUMN_FORMATS]
        if len({COLUMNS.used.get(name, name) for name in columns}) < len(columns) or not times:
            message = f"must name each column once, one of them {' or '.join(COLUMN_FORMATS)}"
            raise self.error(f"{location}.event_fields", f"{format_value(columns)}: {message}")
        self._collect_unknown(f"{location}.event_fields", columns, COLUMNS)
        return columns, COLUMN_FORMATS[times[0]]

    def _row(self, location: str, item: Any, columns: list[str] | None) -> dict[str, Any]:
        """Return an event as an object with the fields of the current draft."""
        if columns is None or isinstance(item, dict):
            event = self._object(location, item)
            self._collect_unknown(location, event, EVENT)
            return event
        row = self._list(location, item)
        if len(row) != len(columns):
            raise self.error(location, f"has {count_of(len(row), 'value')} for {len(columns)} columns")
        return {COLUMNS.used.get(name, name): v for name, v in zip(columns, row, strict=True)}

    def _kind(self, location: str, event: dict[str, Any]) -> str | None:
        """Return the kind of an event; None for a skipped event."""
        name = event.get("name")
        if name is None and "type" in event:
            name = ":".join(str(event[part]) for part in ("category", "type") if part in event)
        elif "type" in event:
            raise self.error(location, "'name' and 'type' are one field")
        if name is None:
            given = ", ".join(map(repr, event))
            raise self.error(location, f"has no name, as 'name' or as 'category' and 'type'; its fields are {given}")
        if not isinstance(name, str):
            raise self.error(location, f"name = {format_value(name)}: must be a string")
        kind, is_listed = self._classify(name)
        if not is_listed:
            self._unknown.setdefault(name, location)
        return kind

    @staticmethod
    def _classify(name: str) -> tuple[str | None, bool]:
        """Return the kind of an event, None if it is skipped, and whether its name is known."""
        category, _, word = name.lower().rpartition(":")
        if category and category not in CATEGORIES:
            return None, False
        parameters = category in ("recovery", "") and word == "parameters_set"
        kind = PARAMETERS if parameters else KINDS.get(word)
        return kind, kind is not None or word in SKIPPED_EVENTS

    @staticmethod
    def _may_count(name: str) -> bool:
        """Return whether the name of an event, in any category, or a field says that it is of packets sent or lost."""
        kind, _, word = name.lower().rpartition(":")[2].rpartition(".")
        return ("lost" in word and kind != LOST) or (not kind and KINDS.get(word) in (SENT, LOST))

    def _values(self, location: str, kind: str, data: dict[str, Any], unit: float) -> dict[str, Any]:
        """Return the used fields of metrics, states and parameters."""
        values: dict[str, Any] = {}
        for name, value in data.items():
            current = DATA[kind].used.get(name)
            if current is None or value is None:
                continue
            if current in values:
                raise self.error(location, f"{name!r} and {current!r} are one field")
            if kind == STATE:
                values[current] = value
            elif current == "lost_packets":  # {"total": 3, "delta": 1}
                total = self._object(f"{location}.{name}", value).get("total")
                values[current] = self._number(f"{location}.{name}.total", total, at_least=0.0)
            elif current == "app_limited":
                values[current] = LIMITS[self._choice(f"{location}.{name}", str(value).lower(), LIMITS)]
            elif current.endswith("_rtt"):
                values[current] = unit * self._number(f"{location}.{name}", value, above=0.0)
            elif kind == PARAMETERS:
                values[current] = self._number(f"{location}.{name}", value, above=0.0)
            else:
                values[current] = self._number(f"{location}.{name}", value, at_least=0.0)
        return values

    def _received(self, location: str, _kind: str, data: dict[str, Any], _unit: float) -> dict[str, Any]:
        """Return number space and numbers of packets that the other end received."""
        name = f"{location}.packet_number_space"
        space = NUMBER_SPACES[self._choice(name, data.get("packet_number_space", ""), NUMBER_SPACES)]
        listed = self._list(f"{location}.packet_numbers", data.get("packet_numbers", []))
        single = [("packet_number", data["packet_number"])] if "packet_number" in data else []
        numbers = [
            self._number(f"{location}.{field}", value, at_least=0.0)
            for field, value in [*single, *(("packet_numbers", number) for number in listed)]
        ]
        return {"space": space, "packet_numbers": numbers}

    def _packet(self, event_location: str, kind: str, data: dict[str, Any], _unit: float) -> dict[str, Any]:
        """Return number, number space and length of a packet, from the header, the raw part or the event itself."""
        values: dict[str, Any] = {}
        for part, fields in (("", DATA[kind]), ("header", HEADER), ("raw", RAW)):
            location = f"{event_location}.{part}" if part else event_location
            fields_of_part = self._object(location, data.get(part, {})) if part else data
            if part:
                self._collect_unknown(location, fields_of_part, fields, f"{kind}.{part}.")
            for name, value in fields_of_part.items():
                current = fields.used.get(name)
                if current in ("packet_number", "length"):
                    number = self._number(f"{location}.{name}", value, at_least=0.0)
                    if number % 1.0 or values.setdefault(current, number) != number:
                        raise self.error(f"{location}.{name}", f"{format_value(value)}: must be one whole number")
                elif current == "packet_type":
                    values.setdefault("type", str(value).lower())
        kind_of_packet = values.pop("type", "")
        if kind_of_packet not in NUMBERLESS:
            name = f"{event_location}, packet_type"
            values["space"] = SPACES[self._choice(name, kind_of_packet, SPACES)]
        values["probe"] = data.get("is_mtu_probe_packet", False) is True
        values["elicits_no_ack"] = bool(types := set(map(_frame_type, _frames(data)))) and types <= NOT_ELICITING
        if kind_of_packet in NUMBERLESS:
            values.pop("packet_number", None)
        elif "packet_number" not in values:
            raise self.error(event_location, "'packet_number' is missing")
        return values


def doubt_units(events: Iterable[Event]) -> str | None:
    """Return a remark if the round-trip times of a connection do not fit the times from packets to their ACK or loss.

    An ACK answers its largest packet. Without ACKs and losses, ``bytes_in_flight`` say how long packets have waited at
    least: they include one that was sent before as many bytes. None if the times fit, or if the trace has nothing to
    compare round-trip times with.
    """
    sent: dict[tuple[str, float], float] = {}
    answers, ages, rtts = list[float](), list[float](), list[float]()
    times, totals = list[float](), [0.0]  # of the packets sent, and the bytes until each of them
    for event in events:
        data, keys = event.data, list[tuple[str, float]]()
        if event.kind == SENT and "packet_number" in data:
            sent[data["space"], data["packet_number"]] = event.time
            times.append(event.time)
            totals.append(totals[-1] + data.get("length", math.nan))
        elif event.kind == LOST and "packet_number" in data:
            keys = [(data["space"], data["packet_number"])]
        elif event.kind == ACKS and data["ranges"]:
            keys = [("1rtt", max(high for _, high in data["ranges"]))]
        elif event.kind == RECEIVED and data["packet_numbers"]:
            keys = [
                (space, max(data["packet_numbers"])) for space in ([data["space"]] if data["space"] else ["1rtt", ""])
            ]
        elif event.kind == METRICS:
            rtts += [data[name] for name in ("smoothed_rtt", "min_rtt") if name in data][:1]
            if 0.0 < (before := totals[-1] - data.get("bytes_in_flight", math.inf)) < totals[-1]:
                ages.append(event.time - times[bisect.bisect_right(totals, before) - 1])
        answers += [event.time - sent.pop(key) for key in keys if key in sent]
    if not rtts or not (answers or ages):
        return None
    rtt, wait = statistics.fmean(rtts), statistics.median(answers or ages)
    if wait < UNIT_DOUBT * rtt and (not answers or wait > rtt / UNIT_DOUBT):
        return None
    unit = "s" if wait > rtt else "us"
    waiting = f"acknowledged or lost after {wait:.4g} s" if answers else f"in flight for at least {wait:.4g} s"
    return (
        f"round-trip times of {rtt:.4g} s, and packets {waiting}; qlog has them in ms, and this trace perhaps in {unit}"
    )


def _frames(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the frames of a packet."""
    frames = data.get("frames")
    return [frame for frame in frames if isinstance(frame, dict)] if isinstance(frames, list) else []


def _frame_type(frame: dict[str, Any]) -> str:
    return str(frame.get("frame_type")).lower()


def _acks(data: dict[str, Any]) -> dict[str, Any]:
    """Return the largest number of marks (ECN-CE) and the acknowledged ranges of ACK frames (RFC 9000, 19.3).

    Ranges are those of packets with application data, whose numbers are not used twice. Empty without ACK frames.
    Other values than numbers are skipped, as are the other frames.
    """
    acks = [frame for frame in _frames(data) if _frame_type(frame) in ACK_FRAMES]
    if not acks:
        return {}
    header = data.get("header")
    kind = data.get("packet_type", header.get("packet_type", "") if isinstance(header, dict) else "")
    marks = max((0.0, *_counts([frame.get(name) for frame in acks for name in MARKS])))
    ranges = list[tuple[float, float]]()
    if SPACES.get(str(kind).lower()) == "1rtt":
        for frame in acks:
            listed = frame.get("acked_ranges")
            for limits in listed if isinstance(listed, list) else []:
                numbers = _counts(limits if isinstance(limits, list) else [limits])
                if numbers:
                    ranges.append((min(numbers), max(numbers)))
    return {"ce": marks, "ranges": ranges}


def _counts(values: list[Any]) -> list[float]:
    """Return those values that are numbers, or strings of digits."""
    texts = [str(value) for value in values if isinstance(value, int | float | str) and not isinstance(value, bool)]
    return [float(text) for text in texts if DIGITS.fullmatch(text)]


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


DECODER = json.JSONDecoder(object_pairs_hook=unique_fields, parse_constant=_no_number)
