"""Measured loss event rates, round-trip times and rates, and readers: ``ss -ti`` and qlog."""

from __future__ import annotations

import bisect
import math
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hopflow.checks import count_of, first_of, format_value, instances, integer, one_number
from hopflow.text_files import read_text
from hopflow.units import WithUnit, quantities
from responsefn.measurements.file_kinds import refuse_other_kinds
from responsefn.measurements.qlog_events import (
    ACKS,
    LIMITED,
    LOST,
    METRICS,
    RECEIVED,
    SENT,
    STATE,
    Event,
    Qlog,
    doubt_units,
)
from responsefn.measurements.time_limits import MAX_DISORDER, MAX_RTT
from responsefn.metrics.tfrc_loss_intervals import loss_events

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Samples", "read_qlog", "read_ss"]

MAX_LISTED = 3
"""Connections that a warning names."""
LIMITED_SHARE = 0.1
"""Part of the time from which on something other than congestion control limits the rate of a connection."""
IDLE_TIME = 0.2
"""Shortest time in s without data in flight that is a pause of the application.

It is Linux's smallest retransmission timeout, after which a sender begins with another window (RFC 5681, 4.1).
"""
MISSING_SHARE = 0.01
"""Part of the packets from which on a warning says that a file lacks them."""
MIN_MISSING = 5
"""Packet numbers without a packet from which on a warning says so. Senders skip a few themselves (RFC 9000, 21.4)."""
REORDERING_THRESHOLD = 3
"""Packets after a packet of which the acknowledgement declares it lost (RFC 9002, 6.1.1)."""
DUPLICATED_SHARE = 0.1
"""Part of the retransmissions from which on a warning names those that the receiver had."""
RETRANSMITTED_SIZE_LIMIT = 2.0
"""Mean size of retransmitted segments in MSS above which ``bytes_retrans`` contradicts ``retrans``."""
BURST_REASON = "all packets were sent within less than a round trip: the rate is of a burst, not of congestion control"
MEAN_RATE_LIMIT = 2.0
"""Ratio of the latest delivery rate to the mean rate, or of the two exchanged, from which on a warning names both."""
MAX_SS = 16 * 2**20
"""Maximum size of an output of ``ss``: about 30,000 connections."""
UNITS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
DECIMAL = re.compile(r"[0-9]{1,30}(?:\.[0-9]{0,30})?(?:e[+-]?[0-9]{1,2})?")
_DAY, _MONTH = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)", "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DATE = (
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]"
    rf"|(?:{_DAY},? )?(?:{_MONTH} [0-9]{{1,2}}|[0-9]{{1,2}} {_MONTH})(?: [0-9]{{4}})? )"
)
_ZONE = r"(?:Z|[+-][0-9]{2}:?[0-9]{2})"
_CLOCK = rf"[0-9]{{1,2}}:[0-9]{{2}}:[0-9]{{2}}(?:[.,][0-9]{{1,9}})?{_ZONE}?"
TIME = re.compile(
    rf"\A\[?(?:(?:{_DATE})?{_CLOCK}(?: [AP]M)?(?: [A-Z]{{3,5}})?(?: [0-9]{{4}})?\]?$|(?:{_DATE})?{_CLOCK}\]?(?: |$)"
    r"|[0-9]{9,10}\.[0-9]{1,9}\]?(?: |$)|[0-9]{10}\]?(?: (?=[^0-9])|$))"
)
"""A time at the start of a line, as ``date``, ``ts`` of moreutils and ISO 8601 have it, or in s since 1970."""
CLOCK = re.compile(rf"\[?{_CLOCK}\]?")
SHARE = re.compile(r"[0-9]{1,30}ms\(([0-9]{1,3}(?:\.[0-9]{0,30})?)%\)")
"""A time of ``ss`` with its share of the time in which there were data to send: ``4ms(50.0%)``."""
LIMITS = {"rwnd_limited": "receive window", "sndbuf_limited": "send buffer"}
RULE_NAME = re.compile(r"[A-Za-z][\w-]*")
"""Names of congestion controls of Linux, which `ss` prints without a field."""
LISTS = {"users:((": "))", "inet-sockopt: (": ")"}
"""Beginnings and ends of the fields of ``ss`` that hold words."""
REQUIRED = ("rtt", "mss", "data_segs_out", "delivery_rate")
RATES = frozenset(("send", "pacing_rate", "delivery_rate"))
"""Fields of ``ss`` whose value is the next word."""
USED = frozenset(
    ("rtt", "mss", "data_segs_out", "retrans", "delivery_rate", "delivered_ce", "app_limited", "congestion control")
) | {"bytes_sent", "bytes_acked", "bytes_retrans", "busy", "dsack_dups", *LIMITS}
_NAMES = (
    "timer uid ino sk cgroup fwmark v6only tos tclass class_id <-> --> <-- --- opt mem skmem "
    "ts usec_ts sack ecn ecnseen fastopen wscale rto backoff "
    "ato qack bidir pmtu rcvmss advmss cwnd ssthresh bytes_received segs_out segs_in "
    "data_segs_in dctcp bbr send lastsnd lastrcv lastack pacing_rate delivered "
    "unacked lost sacked fackets reordering reord_seen rcv_rtt rcv_space rcv_ssthresh "
    "notsent minrtt rcv_ooopack snd_wnd rcv_wnd rehash md5keys tcp-ulp-mptcp tcp-ulp-tls tcp-ulp-espintcp version "
    "cipher rxconf txconf zc_ro_tx no_pad_rx flags token seq sfseq ssnoff maplen "
    # of sockets of MPTCP (`ss -M`), which have no round-trip time
    "subflows subflows_max subflows_total add_addr_signal add_addr_signal_max add_addr_accepted add_addr_accepted_max "
    "local_addr_used local_addr_max endp_laminar_max csum_enabled fallback remote_key write_seq snd_una rcv_nxt "
    "retransmits last_data_sent last_data_recv last_ack_recv"
)
SKIPPED = frozenset(_NAMES.split())
"""Skipped fields of ``ss`` of iproute2; `USED` are the others."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Measurements of n connections.

    Attributes
    ----------
    names
        Names of the connections, n of them.
    p
        Loss rate as defined by each reader, shape (n,).
    rtt
        Mean round-trip time in s, shape (n,).
    rate
        Packets/s, shape (n,).
    packets
        Packets from which p is computed, shape (n,).

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(1)
    >>> Samples(("a",), 0.01 * one, 0.1 * one, 120.0 * one, 5000.0 * one).to_pandas().p.item()
    0.01
    """

    names: tuple[str, ...]
    p: Floats
    rtt: Floats
    rate: Floats
    packets: Floats

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns p, rtt, rate and packets over the names."""
        import pandas as pd

        columns = {"p": self.p, "rtt": self.rtt, "rate": self.rate, "packets": self.packets}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="connection"))


def first_names(names: list[str]) -> str:
    """Return the names that a warning lists, and the number of the others."""
    return first_of(names, MAX_LISTED)


def format_burst(packets: int, duration: float, rtt: float) -> str:
    """Return what was sent in how many s, and the round-trip time in s, for a warning."""
    return f"{count_of(packets, 'packet')} in {duration:.3g} s, rtt {rtt:.3g} s"


def read_ss(source: str | Path, *, skip: Iterable[str] = ()) -> Samples:
    """Read the output of ``ss -ti`` (tcp_info of Linux), one connection after the other.

    p is the fraction of retransmitted data segments, retransmissions over ``data_segs_out``. It is an upper bound of
    the loss event rate, since a loss event may cost several retransmissions. p is 0 without any, and ECN marks do not
    count. Retransmissions of data that the receiver had (``dsack_dups``) do. The rate is ``delivery_rate`` over the
    MSS, the round-trip time the smoothed one: both are those of the latest ACKs, and p is of the whole connection. A
    connection begins with a line of two queue lengths and two addresses, whose ports may be names, indented or not.
    Connections without data, round-trip time or delivery rate are omitted. So are connections with ``app_limited``,
    whose delivery rate is the application's. A word without a colon that is no flag of ``ss`` is the name of the
    congestion control. Times in front of lines (``ts``) and between samples (``date``), in English, ISO 8601 or s since
    1970, are skipped. A connection that was sampled several times has several rows. ``bytes_retrans`` checks
    ``retrans``, and ``bytes_acked`` over ``busy`` checks the rate, in segments of ``bytes_sent`` over
    ``data_segs_out``: those of an application may be smaller than the MSS, of which Linux's ``delivery_rate`` counts
    each. Further fields of ``ss`` are skipped, unknown ones refused.

    Parameters
    ----------
    source
        A path, or the output as a string, at most 16 MiB.
    skip
        Names of further fields to skip, as the error message has them.

    Warns
    -----
    UserWarning
        For connections with ECN marks (``delivered_ce``). For those that the receive window or the send buffer limited
        in at least a tenth of their time (``rwnd_limited``, ``sndbuf_limited``). For those in which the receiver had at
        least a tenth as many packets already (``dsack_dups``) as were retransmitted, with p without them. For those
        whose ``bytes_retrans`` is more than twice what as many segments of an MSS hold, with p by these bytes. For
        those whose mean rate, ``bytes_acked`` over ``busy``, is at most half of the rate, or at least twice it.

    Raises
    ------
    ValueError
        For unknown fields, a repeated field, impossible numbers, such as more retransmissions than segments or
        ``bytes_retrans`` without any, and if no connection has these fields. The message names the line.

    Examples
    --------
    >>> text = '''ESTAB 0 0 10.0.0.1:22 10.0.0.2:41000
    ...     cubic rto:228 rtt:25.5/1.2 mss:1448 cwnd:40 retrans:0/12 data_segs_out:40000
    ...     delivery_rate 17.4Mbps'''
    >>> samples = read_ss(text)
    >>> print(samples.names[0], samples.p[0], round(samples.rtt[0], 4), round(samples.rate[0]))
    10.0.0.1:22 > 10.0.0.2:41000 0.0003 0.0255 1502
    """
    further = instances("skip", skip, str, "a name")
    for field in further:
        if field in USED:
            raise ValueError(f"skip = {field!r}: must be a field that is not used")
    skipped = SKIPPED | set(further)
    is_path = not isinstance(source, str) or ("\n" not in source and "rtt:" not in source)
    name = f"source = {str(source)!r}" if is_path else "source"
    refuse_other_kinds(source, name, is_path, "read_ss")
    text = read_text("source", source, MAX_SS) if is_path else source
    if len(str(text)) > MAX_SS:
        raise ValueError(f"{name}: must have at most {MAX_SS} characters")
    names, rows, limited = [], [], 0
    incomplete: list[str] = []
    remarks: dict[str, list[str]] = {"marked": [], "window": [], "repeated": [], "bytes": [], "rate": []}
    for location, connection, fields in _connections(name, str(text), skipped):
        if missing := [field for field in REQUIRED if field not in fields]:
            incomplete.append(f"{connection} (no {', '.join(missing)})")
            continue
        sent = integer(f"{location}, data_segs_out", _integer(fields["data_segs_out"]), 0, 2**32)
        if not sent:
            incomplete.append(f"{connection} (no data sent)")
            continue
        if "app_limited" in fields:
            limited += 1
            continue
        mss = integer(f"{location}, mss", _integer(fields["mss"]), 1, 65535)
        in_flight, _, retransmissions = fields.get("retrans", "0/0").partition("/")
        lost = integer(f"{location}, retrans", _integer(retransmissions), 0, sent, why="of data_segs_out")
        integer(f"{location}, retrans in flight", _integer(in_flight), 0, lost, why="of all in retrans")
        smoothed_rtt = _decimal(fields["rtt"].partition("/")[0])
        rtt = 1e-3 * one_number(f"{location}, rtt", smoothed_rtt, above=0.0, at_most=1e3 * MAX_RTT, hint="in ms")
        bits = _bits(fields["delivery_rate"])
        rate = one_number(f"{location}, delivery_rate", bits, above=0.0, hint="such as 17.4Mbps")
        marks = integer(f"{location}, delivered_ce", _integer(fields.get("delivered_ce", "0")), 0, 2**32)
        if marks:
            remarks["marked"].append(f"{connection} ({marks})")
        remarks["window"] += [
            f"{connection} ({cause}, {share:.0%})"
            for field, cause in LIMITS.items()
            if (share := _share(f"{location}, {field}", fields.get(field))) >= LIMITED_SHARE
        ]
        duplicates = integer(f"{location}, dsack_dups", _integer(fields.get("dsack_dups", "0")), 0, 2**32)
        if lost and duplicates >= DUPLICATED_SHARE * lost:
            without = max(lost - duplicates, 0) / sent
            remarks["repeated"].append(f"{connection} ({duplicates}; {lost} in retrans; p without them {without:.4g})")
        bytes_sent = integer(f"{location}, bytes_sent", _integer(fields.get("bytes_sent", "0")), 0, 2**64)
        segment = min(bytes_sent / sent or mss, mss)  # applications may leave them part-filled
        resent = _integer(fields.get("bytes_retrans", "0"))
        size = integer(f"{location}, bytes_retrans", resent, 0, bytes_sent or 2**64, why="of all in bytes_sent")
        if size and not lost:
            message = f"bytes_retrans = {size}, and no retransmission in retrans, from which p is: keep both fields"
            raise ValueError(f"{location}: {message}")
        if size > RETRANSMITTED_SIZE_LIMIT * lost * mss:
            remarks["bytes"].append(f"{connection} ({size}; {lost} in retrans; p by bytes {size / segment / sent:.4g})")
        rate /= 8.0 * mss
        acked = integer(f"{location}, bytes_acked", _integer(fields.get("bytes_acked", "0")), 0, 2**64)
        if acked and (busy := _milliseconds(f"{location}, busy", fields.get("busy"))):
            mean = acked / segment / (1e-3 * busy)
            if not 1.0 / MEAN_RATE_LIMIT < rate / mean < MEAN_RATE_LIMIT:
                remarks["rate"].append(f"{connection} ({rate:.4g} packets/s; mean {mean:.4g})")
        names.append(connection)
        rows.append((lost / sent, rtt, rate, float(sent)))
    if not rows:
        left_out = f"; {limited} are application-limited" if limited else ""
        if incomplete:
            left_out = f"{left_out}; left out: {first_names(incomplete)}"
        message = f"no connection with {', '.join(REQUIRED[:-1])} and {REQUIRED[-1]} in it"
        raise ValueError(f"{name}: {message}{left_out}")
    messages = {
        "marked": "packets delivered with an ECN mark (delivered_ce), which p does not count",
        "window": "limited the rate in this part of the time (rwnd_limited, sndbuf_limited), not congestion control",
        "repeated": "packets that the receiver already had (dsack_dups), whose retransmissions count in p",
        "bytes": "bytes_retrans is more than the retransmissions in retrans hold, from which p is",
        "rate": "the rate is that of the latest ACKs (delivery_rate), not the mean (bytes_acked over busy); p counts "
        "from the beginning",
    }
    for kind, message in messages.items():
        if remarks[kind]:
            warnings.warn(f"{name}: {first_names(remarks[kind])}: {message}", stacklevel=2)
    return Samples(tuple(names), *np.array(rows).T)


def _connections(name: str, text: str, skipped: Iterable[str]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield the location, the name and the fields of each connection of the output of ``ss``."""
    current: tuple[str, str, dict[str, str]] | None = None
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        location = f"{name}, line {number}"
        line = TIME.sub("", " ".join(line.split()), count=1)
        words = line.split()
        if any(CLOCK.fullmatch(word) for word in words):
            message = (
                "has a time that is not read; times may stand in front of lines, as ts and LC_ALL=C date print them"
            )
            raise ValueError(f"{location}: {format_value(line)}: {message}")
        if not words or "Recv-Q" in words:  # titles of the columns
            continue
        start = _addresses(words)
        if start is not None:
            if current is not None:
                yield current
            current = location, f"{words[start]} > {words[start + 1]}", {}
            words = _without_lists(line).split()[start + 2 :]
        if current is None:
            names = {word.partition(":")[0] for word in words}
            if names <= set(skipped) - SKIPPED:  # a line of its own, such as a time
                continue
            message = "must follow the addresses of a connection"
            if all(":" in word for word in words) and not names & USED:
                message = f"{message}, or be skipped by skip={tuple(sorted(names - set(skipped)))}"
            elif not any(":" in word for word in words):
                message = f"{message}; a terminal folds the columns of ss: let it write into a file, as ss -ti > FILE"
            raise ValueError(f"{location}: {format_value(line.strip())}: {message}")
        _add_fields(location, current[2], words, skipped)
    if current is not None:
        yield current


def _addresses(words: list[str]) -> int | None:
    """Return the index of the first address in a connection's first line; None for another line."""
    for start in range(2, min(5, len(words) - 1)):
        queues, addresses = words[start - 2 : start], words[start : start + 2]
        before = words[: start - 2]
        if (
            all(queue.isdecimal() for queue in queues)
            and all(host and port for host, _, port in (end.rpartition(":") for end in addresses))
            and not any(":" in word for word in before)
        ):
            return start
    return None


def _without_lists(line: str) -> str:
    """Remove processes, whose names may contain blanks, and options of the socket from a line."""
    for begin, end in LISTS.items():
        head, mark, tail = line.partition(begin)
        if mark:
            line = f"{head} {tail.partition(end)[2]}"
    return line


def _add_fields(location: str, fields: dict[str, str], words: list[str], skipped: Iterable[str]) -> None:
    """Add the fields of a line: ``name:value``, ``name value`` for rates, and flags."""
    following = iter(words)
    for word in following:
        name, colon, value = word.partition(":")
        if not name:
            raise ValueError(f"{location}: {word!r} is a value without the name of a field")
        if name in RATES or (colon and not value):
            value = next(following, "")
        elif not colon and name not in USED and name not in skipped:
            if not RULE_NAME.fullmatch(name):
                raise ValueError(f"{location}: {name!r} is neither a field nor the name of a congestion control")
            name, value = "congestion control", name  # its name is arbitrary
        elif not colon and name != "app_limited" and name in USED:
            raise ValueError(f"{location}: {name!r} has no value")
        if name in skipped:
            continue
        if name not in USED:
            message = "may be skipped by skip=" if colon else "or a second name of a rule"
            raise ValueError(f"{location}: unknown field {format_value(name)}, which {message}")
        if name in fields:
            both = f"{format_value(fields[name])} and {format_value(value)}"
            raise ValueError(f"{location}: {name!r} is given twice for one connection: {both}")
        fields[name] = value


def _integer(text: str) -> int | str:
    """Parse an integer of at most 20 digits; return another string unchanged."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else text


def _decimal(text: str) -> float | str:
    """Parse a decimal number; return another string unchanged."""
    return float(text) if DECIMAL.fullmatch(text) else text


def _share(location: str, text: str | None) -> float:
    """Return the share of a time of ``ss``; 0 without the field."""
    if text is None:
        return 0.0
    match = SHARE.fullmatch(text)
    if match is None:
        raise ValueError(f"{location} = {format_value(text)}: must be a time and its share, such as 4ms(50.0%)")
    return float(match[1]) / 100.0


def _milliseconds(location: str, text: str | None) -> float:
    """Return a time of ``ss`` in ms; 0 without the field."""
    if text is None:
        return 0.0
    number = _decimal(text.removesuffix("ms"))
    if isinstance(number, str) or not text.endswith("ms"):
        raise ValueError(f"{location} = {format_value(text)}: must be a time in ms, such as 4576ms")
    return number


def _bits(text: str) -> float | str:
    """Parse a rate of ``ss`` in bit/s; return another string unchanged."""
    number = text.removesuffix("bps")
    unit = number[-1:] if number[-1:] in UNITS else ""
    value = _decimal(number.removesuffix(unit))
    return text if isinstance(value, str) or number == text else value * UNITS[unit]


@quantities(packet_size="size")
def read_qlog(source: str | Path, packet_size: WithUnit | None = None, *, skip: Iterable[str] = ()) -> Samples:
    """Read a qlog trace of QUIC senders, as JSON or as a sequence of JSON records.

    Each connection (``group_id``, ``ODCID``) of each trace is one sample. The events ``packet_sent``, ``packet_lost``
    and ``recovery_metrics_updated`` are used, also by their names in older drafts. p is loss events per packet sent;
    losses of packets sent within a round trip are one event (`loss_events`). Lost packets that arrived after all, by
    ``spurious_loss``, ``packets_acked`` or ACK frames of ``packet_received``, count as well, since senders respond to
    them; a warning has p without them. Where no loss is logged, as by quiche, packets that no ACK frame acknowledges
    are lost if three later ones are acknowledged; a warning says so. The largest number of packets that are lost
    together (``packets_lost`` of mvfst) stands for all of them. ECN marks do not count. The round-trip time is the mean
    of ``smoothed_rtt``. The rate is packets sent over the time from the first to the last, those with ACKs alone
    included. Times are converted by ``time_format`` and ``time_units``.

    Packets without a number (Retry, Version Negotiation, Stateless Reset), losses of probes of the path MTU
    (RFC 9000, 14.4) and losses of packets sent before the trace began are not counted. Connections with
    fewer than two packets or without a round-trip time are omitted. Further events and fields of the drafts
    are skipped, unknown events and fields are refused.

    Parameters
    ----------
    source
        A path, or the trace as a string, at most 64 MiB.
    packet_size
        Bytes per packet. If set, the rate is that of the bytes sent, in packets of this size.
    skip
        Names of further events and fields to skip, as the error message has them; not of packets sent or lost.

    Warns
    -----
    UserWarning
        For lost packets that arrived after all, with p without them; for losses that ACK frames alone tell; for ECN
        marks; where most packets hold ACKs alone;
        where at least five, and 1 %, of the packet numbers have no packet, as in a trace with a part of its events;
        where the application limits the rate in at least a tenth of the time (the state ``application_limited``, or
        ``app_limited`` of picoquic and mvfst), or nothing is in flight (``bytes_in_flight``) in as much, in pauses of
        0.2 s or more; for packets that were all sent within less than a round trip, whose rate
        is that of a burst; for round-trip times that differ from the times to ACKs and losses by a factor of at least
        100, as if in another unit, or are as much less than the times for which ``bytes_in_flight`` have been in
        flight.

    Raises
    ------
    ValueError
        For unknown events, fields, formats and versions; for an impossible number, round-trip times of more than
        4 minutes among them; for times that go back by more than an hour or leap by more than a year, packets more
        than 1 s before one of a smaller number, and losses more than 1 s before their packet; if packets, times or
        round-trip times are missing. The message names file and location.

    Examples
    --------
    >>> import json
    >>> sent = [{"name": "transport:packet_sent", "time": 10.0 * n,
    ...          "data": {"header": {"packet_number": n}}} for n in range(101)]
    >>> lost = [{"name": "recovery:packet_lost", "time": 600.0, "data": {"header": {"packet_number": n}}}
    ...         for n in (50, 51)]
    >>> rtt = [{"name": "recovery:metrics_updated", "time": 5.0, "data": {"smoothed_rtt": 40.0}}]
    >>> samples = read_qlog(json.dumps({"traces": [{"events": sent + lost + rtt}]}))
    >>> print(round(samples.p[0], 4), samples.rtt[0], round(samples.rate[0], 3))
    0.0099 0.04 101.0
    """
    if packet_size is not None:
        packet_size = one_number("packet_size", packet_size, above=0.0)
    qlog = Qlog(source, skip)
    names, rows, incomplete = [], [], list[str]()
    for number, events in enumerate(qlog.traces(), 1):
        connections: dict[str, list[Event]] = {}
        for event in events:
            connections.setdefault(event.connection, []).append(event)
        for connection, connection_events in connections.items():
            name = f"trace {number}{connection and f', connection {connection}'}"
            row = _sender(qlog, connection_events, packet_size, name)
            if row is None:
                incomplete.append(f"{name} ({_count_used(connection_events)})")
                continue
            names.append(name)
            rows.append(row)
    if not rows:
        message = "no trace with packet_sent and recovery_metrics_updated (smoothed_rtt) events in it"
        left_out = f"; left out: {first_names(incomplete)}" if incomplete else ""
        raise qlog.error("", f"{message}{left_out}")
    return Samples(tuple(names), *np.array(rows).T)


def _count_used(events: list[Event]) -> str:
    """Return the numbers of packets sent and of round-trip times, for a message."""
    packets = sum(event.kind == SENT and "packet_number" in event.data for event in events)
    rtts = sum(event.kind == METRICS and "smoothed_rtt" in event.data for event in events)
    return f"{count_of(packets, 'packet')} sent, {count_of(rtts, 'value')} of smoothed_rtt"


def _sender(
    qlog: Qlog, events: list[Event], packet_size: float | None, name: str
) -> tuple[float, float, float, float] | None:
    """Return loss event rate, mean round-trip time in s, packets/s and packets of a connection.

    None without a round-trip time or two packets. Warns of lost packets that were received.
    """
    sent: dict[tuple[str, float], float] = {}
    locations: dict[tuple[str, float], str] = {}
    lost, rtts, size = list[Event](), list[float](), 0.0
    for event in events:
        if event.kind == LOST:
            lost.append(event)
        elif event.kind == METRICS and "smoothed_rtt" in event.data:
            rtts.append(event.data["smoothed_rtt"])
            if rtts[-1] > MAX_RTT:
                raise qlog.error(event.location, f"smoothed_rtt of {rtts[-1]:.6g} s: must be at most {MAX_RTT:g} s")
        elif event.kind == SENT and "packet_number" in event.data:
            key = event.data["space"], event.data["packet_number"]
            if key in sent and key[0] == "initial":  # some clients count from 0 again after a Retry
                key = "initial, again", key[1]
            if key in sent:
                message = f"packet {key[1]:.0f} is sent twice: more than one connection without group_id"
                raise qlog.error(event.location, message)
            sent[key], locations[key] = event.time, event.location
            if packet_size is not None:
                if "length" not in event.data:
                    raise qlog.error(event.location, "raw.length is missing, which packet_size needs")
                size += event.data["length"]
    if len(sent) < 2 or not rtts:
        return None
    _check_order(qlog, sent, locations)
    rtt, first, last = float(np.mean(rtts)), min(sent.values()), max(sent.values())
    if last <= first:
        raise qlog.error(events[0].location, "all packets are sent at one time")
    lost_keys = set(_lost_keys(qlog, sent, lost))
    if not lost and (missing := _unacknowledged_keys(events, sent)):
        lost_keys = missing
        message = f"no loss is logged; packets that were never acknowledged, of which p is: {len(missing)}"
        warnings.warn(f"{qlog.name}: {name}: {message}", stacklevel=4)
    elif not lost and (total := max((event.data.get("lost_packets", 0.0) for event in events), default=0.0)):
        message = f"{total:.0f} packets were lost, and neither losses nor ACK frames are logged: p is 0, and too small"
        warnings.warn(f"{qlog.name}: {name}: {message}", stacklevel=4)
    p = _loss_event_rate(sent, lost_keys, rtt)
    if spurious := _received_keys(events, lost_keys):
        without = _loss_event_rate(sent, lost_keys - spurious, rtt)
        message = f"{len(spurious)} of {count_of(len(lost_keys), 'lost packet')} arrived and count in p"
        warnings.warn(f"{qlog.name}: {name}: {message}; without them p is {without:.4g}", stacklevel=4)
    if remark := doubt_units(events):
        warnings.warn(f"{qlog.name}: {name}: {remark}", stacklevel=4)
    idle = sum(event.data["elicits_no_ack"] for event in events if event.kind == SENT)
    if 2 * idle > len(sent):
        message = f"{idle} of {count_of(len(sent), 'packet')} sent hold ACKs alone"
        warnings.warn(f"{qlog.name}: {name}: {message}: p and rate are of the ACKs of a receiver", stacklevel=4)
    if remark := _missing_packets(sent):
        warnings.warn(f"{qlog.name}: {name}: {remark}", stacklevel=4)
    if (share := _application_limited(events, first, last)) >= LIMITED_SHARE:
        message = f"application_limited in {share:.0%} of the time: the rate may not be that of its congestion control"
        warnings.warn(f"{qlog.name}: {name}: {message}", stacklevel=4)
    elif (share := _share_of_time(_pauses(events), first, last)) >= LIMITED_SHARE:
        message = f"nothing was in flight in {share:.0%} of the time: the rate is that of the application"
        warnings.warn(f"{qlog.name}: {name}: {message}", stacklevel=4)
    if last - first < rtt:
        message = f"{format_burst(len(sent), last - first, rtt)}: {BURST_REASON}"
        warnings.warn(f"{qlog.name}: {name}: {message}", stacklevel=4)
    marks = max((event.data["ce"] for event in events if event.kind == ACKS), default=0.0)
    answers = sum(str(event.data.get("trigger")).lower() == "ecn" for event in events if event.kind == STATE)
    if marks or answers:
        counts = f"{marks:.0f} in an ACK (ce), {answers} as the trigger of a state"
        warnings.warn(f"{qlog.name}: {name}: ECN marks do not count in p: {counts}", stacklevel=4)
    packets = len(sent) if packet_size is None else size / packet_size
    return p, rtt, packets / (last - first), float(len(sent))


def _missing_packets(sent: Iterable[tuple[str, float]]) -> str | None:
    """Return what says that ``packet_sent`` lacks packets, by gaps of their numbers; None if few are missing."""
    numbers: dict[str, list[float]] = {}
    for space, number in sent:
        numbers.setdefault(space, []).append(number)
    packets = sum(max(of_space) - min(of_space) + 1.0 for of_space in numbers.values())
    missing = packets - sum(map(len, numbers.values()))
    if missing < max(MIN_MISSING, MISSING_SHARE * packets):
        return None
    counts = f"{missing:.0f} of {packets:.0f} packet numbers are not in packet_sent"
    return f"{counts}, as of a trace with a part of its events: rate is too small, and p uncertain"


def _application_limited(events: list[Event], first: float, last: float) -> float:
    """Return the share of the time from the first to the last packet in which the application limits the rate.

    States and ``app_limited`` say so independently of each other; the larger share counts.
    """
    changes: dict[str, list[tuple[float, bool]]] = {"new": [], "app_limited": []}
    for event in events:
        if event.kind == STATE and "new" in event.data:
            name = "".join(filter(str.isalpha, str(event.data["new"]))).lower()
            changes["new"].append((event.time, name == "applicationlimited"))
        elif event.kind in (METRICS, LIMITED) and "app_limited" in event.data:
            changes["app_limited"].append((event.time, event.data["app_limited"]))
    return max(_share_of_time(times, first, last) for times in changes.values())


def _pauses(events: list[Event]) -> list[tuple[float, bool]]:
    """Return the beginnings and ends of the times without data in flight, of `IDLE_TIME` or more, as changes.

    They begin with ``bytes_in_flight`` of 0 and end with the next packet that elicits an ACK.
    """
    changes, since = list[tuple[float, bool]](), math.nan
    for event in events:
        is_empty = event.kind == METRICS and event.data.get("bytes_in_flight") == 0.0
        if is_empty:
            since = event.time if math.isnan(since) else since
        elif (event.kind == SENT and not event.data["elicits_no_ack"]) or event.data.get("bytes_in_flight"):
            if event.time - since >= IDLE_TIME:
                changes += [(since, True), (event.time, False)]
            since = math.nan
    return changes


def _share_of_time(changes: list[tuple[float, bool]], first: float, last: float) -> float:
    """Return the share of the time from ``first`` to ``last`` in which the latest change is to True."""
    share, since = 0.0, math.nan
    for time, is_limited in [*changes, (last, False)]:
        time = min(max(time, first), last)
        share += 0.0 if math.isnan(since) else (time - since) / (last - first)
        since = time if is_limited else math.nan
    return share


def _loss_event_rate(sent: dict[tuple[str, float], float], lost: set[tuple[str, float]], rtt: float) -> float:
    """Return loss events per packet sent."""
    times = sorted(sent[key] for key in lost)
    return len(loss_events(range(len(times)), times, rtt, unit_check=False)) / len(sent)


def _received_keys(events: list[Event], lost: set[tuple[str, float]]) -> set[tuple[str, float]]:
    """Return the keys of ``lost`` packets that arrived after all."""
    keys = set[tuple[str, float]]()
    numbers = sorted(number for space, number in lost if space == "1rtt")
    for event in events:
        if event.kind == RECEIVED:
            space = event.data["space"]
            spaces = [space] if space else {name for name, _ in lost}
            keys.update((name, number) for name in spaces for number in event.data["packet_numbers"])
        elif event.kind == ACKS and numbers:
            for low, high in event.data["ranges"]:
                reported = numbers[bisect.bisect_left(numbers, low) : bisect.bisect_right(numbers, high)]
                keys.update(("1rtt", number) for number in reported)
    return keys & lost


def _unacknowledged_keys(events: list[Event], sent: Iterable[tuple[str, float]]) -> set[tuple[str, float]]:
    """Return the keys of packets of application data that no ACK frame acknowledges, although it does later ones.

    Empty without ACK frames, and where they acknowledge less than half of the packets, as of a trace with a part of its
    events.
    """
    ranges = sorted((low, high) for event in events if event.kind == ACKS for low, high in event.data["ranges"])
    if not ranges:
        return set()
    largest = max(high for _, high in ranges) - REORDERING_THRESHOLD
    numbers = sorted(number for space, number in sent if space == "1rtt" and number <= largest)
    missing, highest, position = set[tuple[str, float]](), -math.inf, 0
    for low, high in [*ranges, (math.inf, math.inf)]:  # in the order of their beginnings: gaps are between two
        while position < len(numbers) and numbers[position] < low:
            if numbers[position] > highest:
                missing.add(("1rtt", numbers[position]))
            position += 1
        highest = max(highest, high)
    return missing if 2 * len(missing) <= len(numbers) else set()


def _check_order(qlog: Qlog, sent: dict[tuple[str, float], float], locations: dict[tuple[str, float], str]) -> None:
    """Raise ValueError for a packet that was sent long before one with a smaller number."""
    latest: tuple[str, float] | None = None
    for key in sorted(sent):
        if latest is None or key[0] != latest[0]:
            latest = key
        early = sent[latest] - sent[key]
        if early > MAX_DISORDER:
            message = f"packet {key[1]:.0f} is sent {early:.6g} s before packet {latest[1]:.0f} ({locations[latest]})"
            raise qlog.error(locations[key], f"{message}: must be at most {MAX_DISORDER:g} s; repair the times")
        if early <= 0.0:
            latest = key


def _lost_keys(qlog: Qlog, sent: dict[tuple[str, float], float], lost: list[Event]) -> Iterator[tuple[str, float]]:
    """Yield the keys of the lost packets in ``sent``."""
    lowest: dict[str, float] = {}
    for name, first in sent:
        lowest[name] = min(first, lowest.get(name, first))
    for event in lost:
        number = event.data.get("packet_number")
        if number is None or event.data["probe"]:
            continue
        space = event.data["space"]
        spaces = [space] if space else list(lowest)
        keys = [(name, number) for name in spaces if (name, number) in sent]
        if len(keys) == 1:
            early = sent[keys[0]] - event.time
            if early > MAX_DISORDER:
                message = f"is lost {early:.6g} s before it is sent: must be at most {MAX_DISORDER:g} s"
                raise qlog.error(event.location, f"packet {number:.0f}: {message}; repair the times")
            yield keys[0]
        elif keys or number >= min(lowest.get(name, 0.0) for name in spaces):
            message = "packet_type must say which" if keys else "is lost and not sent"
            raise qlog.error(event.location, f"packet {number:.0f}{space and f' ({space})'}: {message}")
