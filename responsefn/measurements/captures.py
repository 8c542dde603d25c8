"""A reader of packet captures: pcap and pcapng, also compressed with gzip."""

from __future__ import annotations

import bisect
import gzip
import math
import socket
import struct
import warnings
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from hopflow.checks import count_of, file_path, integer
from hopflow.units import WithUnit, quantities
from responsefn.measurements.file_kinds import refuse_other_kinds
from responsefn.measurements.samples import (
    BURST_REASON,
    IDLE_TIME,
    LIMITED_SHARE,
    MISSING_SHARE,
    Samples,
    first_names,
    format_burst,
)
from responsefn.measurements.time_limits import MAX_BACKWARD, MAX_GAP, MAX_RTT
from responsefn.metrics.tfrc_loss_intervals import loss_events

__all__ = ["read_pcap"]

WRAP = 1 << 32
MAX_BYTES = 4 << 30
"""Maximum size of a capture, uncompressed."""
MAX_CAPTURED = 262144
"""Maximum number of bytes captured of a packet, as in libpcap."""
MAX_BLOCK = 16 << 20
"""Maximum size of a block of pcapng in bytes, as in Wireshark."""
ETHERNET_MSS = 1460
"""Bytes of data in the largest segment of an Ethernet frame; an offload or another medium makes larger segments."""
IPV6_EXCESS = 20
"""Bytes by which the header of IPv6 is longer than that of IPv4."""
DEFAULT_MSS = {4: 536, 16: 1220}
"""MSS of a receiver whose SYN has no MSS option, by the bytes of its IP address (RFC 9293, 3.7.1)."""
MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 10**6),
    b"\xa1\xb2\xc3\xd4": (">", 10**6),
    b"\x4d\x3c\xb2\xa1": ("<", 10**9),
    b"\xa1\xb2\x3c\x4d": (">", 10**9),
}
"""Byte order and ticks of the clock per second of pcap files by their first bytes."""
SECTION = b"\x0a\x0d\x0d\x0a"
INTERFACE, OBSOLETE_PACKET, SIMPLE_PACKET, PACKET = 1, 2, 3, 6
SKIPPED_BLOCKS = {
    4: "name resolution",
    5: "interface statistics",
    9: "systemd journal",
    10: "decryption secrets",
    0xBAD: "custom",
    0x40000BAD: "custom",
    0x80000001: "process information",
}
"""Blocks of pcapng that hold no packets."""
LINKS = {
    0: "BSD loopback",
    1: "Ethernet",
    12: "raw IP",
    14: "raw IP",
    101: "raw IP",
    108: "OpenBSD loopback",
    113: "Linux cooked",
    228: "IPv4",
    229: "IPv6",
    276: "Linux cooked 2",
}
"""Supported link types."""
LINK_HEADERS = {0: 4, 1: 14, 108: 4, 113: 16, 276: 20}
ETHERTYPES = {1: 12, 113: 14, 276: 0}
"""Offset of the payload's type in a link header."""
IPV4, IPV6, PPPOE, VLANS = 0x0800, 0x86DD, 0x8864, (0x8100, 0x88A8, 0x9100)
PPP = {0x0021: IPV4, 0x0057: IPV6}
MIN_ETHERTYPE, SNAP = 0x0600, b"\xaa\xaa\x03\0\0\0"
"""Smallest type of Ethernet, below which it is a length, and the header in front of the type then (RFC 1042)."""
TCP, FRAGMENT, AUTHENTICATION = 6, 44, 51
EXTENSIONS = (0, 43, FRAGMENT, AUTHENTICATION, 60, 135)
"""Extension headers of IPv6 (RFC 8200, 4)."""
SYN, RST, PSH, ACK = 2, 4, 8, 16
ECHOES = (1, 3)
"""ACE field of segments that report ECN marks without AccECN: the flag ECE, with CWR or not (RFC 3168, 6.1)."""
ACCURATE_ECN, ACCURATE_ECN_REPLIES, FIRST_ACE = 7, (2, 3, 4, 6), 5
"""ACE field of a SYN and of SYN-ACKs that agree on AccECN, and its value before the first mark (RFC 9768, 3)."""
MSS_OPTION, SCALE_OPTION, TIMESTAMP_OPTION, TIMESTAMP_BYTES = 2, 3, 8, 12
MAX_SCALE = 14
"""Largest shift of a window (RFC 7323, 2.3)."""
BARE_HEADER = 18
"""Bytes of a TCP header without its options and checksum."""
TCP_CHECKSUM = slice(16, 18)
"""Bytes of the checksum in a TCP header; offloads leave it incomplete in one of two copies of a frame."""
COPY_TIME = 1.0
"""Maximum time in s between copies of one frame that are told by identification or hop limit."""
UNMEASURED_COPY_TIME = 1e-3
"""The same in s for frames without identification before the first round trip is measured."""
COPIED_SHIFT = 0.01
"""Fraction of a round trip by which a copy of an ACK must be later to replace it, as recorded nearer to the sender."""
FIRST_HOP_LIMITS = frozenset((32, 64, 128, 255))
"""Hop limits with which systems send; every router subtracts one."""
NEAR_RECEIVER_SHARE, NEAR_RECEIVER_TIME = 0.5, 1e-3
"""Fraction of the handshake's round trip, and s, by which those of data are shorter in a capture near the receiver.

The first packet of a connection may wait for an address (ARP), about 1 ms.
"""
MIN_OTHER_RTTS = 20
"""Round trips of the other direction whose minimum is that of the rest of the path, not of delayed ACKs alone."""
EPOCH_2001, EPOCH_2106 = 10**9, 2**32
"""Times in s since 1970 between which captures are recorded; the latter is the first that pcap does not have."""
UNIT_RATIO = 1000
"""Ratio of two units of a clock of which one is taken for the other."""
MIN_REPEATED, REPEATED_SHARE = 10, 0.25
"""Segments without identification that are repeated unchanged: more than these are frames recorded twice."""

Address = tuple[bytes, int]


class _Origin:
    """The time of the first packet, from which all times of a file count.

    Times are whole numbers of ticks until this is subtracted: since 1970 a float64 has steps of 238 ns. Packets up to
    97 days after the first have times within 1 ns.
    """

    def __init__(self) -> None:
        self._first: tuple[int, int] | None = None
        self._latest_second, self._largest_part = 0, 0.0

    def seconds(self, ticks: int, per_second: int) -> float:
        """Return the time in s from the first packet to one at a number of ticks of a clock, rounded once."""
        if self._first is None:
            self._first = ticks, per_second
        first, first_per_second = self._first
        self._latest_second, part = divmod(ticks, per_second)
        self._largest_part = max(self._largest_part, part / per_second)
        if first_per_second == per_second:
            return (ticks - first) / per_second
        return (ticks * first_per_second - first * per_second) / (per_second * first_per_second)

    def doubt_unit(self) -> str | None:
        """Return what says that the file names a wrong unit of its clock; None if nothing does.

        Times since 1970 in another unit are of January or February 1970, or far in the future. Where the seconds are
        apart, as in pcap, all fractions of a second in a coarser unit are small.
        """
        if self._first is None:
            return None
        first = self._first[0] // self._first[1]
        if first >= EPOCH_2106 or EPOCH_2001 <= first * UNIT_RATIO < EPOCH_2106:
            return f"its first packet is {first} s after 1970"
        is_fine = self._first[1] > 10**6 and self._latest_second > first
        if is_fine and 0.0 < self._largest_part * UNIT_RATIO < 1.0:
            return f"all its packets are in the first {self._largest_part:.3g} s of a second"
        return None


class _Segment(NamedTuple):
    """A TCP segment: time in s after the first packet, addresses, header fields, options of a SYN, and bytes of data.

    ``identification`` is that of IPv4, 0 without (IPv6, and IPv4 where RFC 6864 allows it). ``hops`` is the time to
    live or hop limit. ``header`` is the TCP header without its checksum.
    """

    time: float
    source: Address
    target: Address
    sequence: int
    acknowledged: int
    flags: int
    options: dict[int, bytes]
    length: int
    window: int
    identification: int
    hops: int
    header: bytes

    @property
    def ace(self) -> int:
        """Number in the three flags AE, CWR and ECE (RFC 9768, 3.2)."""
        return (self.header[12] & 1) << 2 | self.flags >> 6


@dataclass
class _Handshake:
    """The SYNs of a connection: sequence of the first, and the MSS, timestamps and shift of windows of each host.

    ``asks_accurate_ecn`` and ``has_accurate_ecn`` are about counts of marks in ACKs (AccECN, RFC 9768).

    ``round_trip`` is the time in s from the SYN to the ACK of its host: that of the whole path, at any point of it. NaN
    where the file does not have the three frames, has one of them twice, or data come with the ACK.
    """

    sequence: int | None = None
    sizes: dict[Address, int] = field(default_factory=dict)
    stamps: dict[Address, bool] = field(default_factory=dict)
    scales: dict[Address, int] = field(default_factory=dict)
    asks_accurate_ecn: bool = False
    has_accurate_ecn: bool = False
    host: Address | None = None
    began: float = math.nan
    frames: int = 0
    round_trip: float = math.nan

    def add_time(self, segment: _Segment) -> None:
        """Process a segment that is no copy: the next frame of the handshake, or another one that ends it."""
        kind = segment.flags & (SYN | ACK)
        if self.frames == 3 or (kind == ACK and (self.frames < 2 or segment.source != self.host)):
            return
        if kind != (SYN, SYN | ACK, ACK)[self.frames] or (kind == ACK and segment.length):
            self.frames = 3
            return
        self.frames += 1
        if kind == SYN:
            self.host, self.began = segment.source, segment.time
        elif kind == ACK:
            self.round_trip = segment.time - self.began


@dataclass
class _Frame:
    """First record of a frame: time in s, time to live, and the round trips in `_Direction.rtts` that its ACK gave."""

    time: float
    hops: int
    rtts: range = range(0)


@dataclass
class _Frames:
    """Recent frames of one direction, for the recognition of copies.

    A frame recorded twice (mirror port, bridge, several interfaces, both sides of a router) has the same TCP header and
    identification. A retransmission has another identification. IPv6 has none, and a stack may leave it constant
    (RFC 6864). Copies are then told by a smaller hop limit or by time: a sender learns of a loss after a round trip.
    """

    recent: dict[tuple[int, int, bytes], _Frame] = field(default_factory=dict)
    older: dict[tuple[int, int, bytes], _Frame] = field(default_factory=dict)
    since: float = -math.inf
    constant: bool = False
    latest: dict[bool, tuple[int, int]] = field(default_factory=dict)

    def add(self, segment: _Segment, limit: float) -> tuple[_Frame, bool, bool]:
        """Return the first record of a frame, whether the segment is a copy of it, and whether that is certain.

        Without identification and with an equal hop limit a copy is at most ``limit`` seconds later.
        """
        if abs(segment.time - self.since) > COPY_TIME:
            self.older, self.recent, self.since = self.recent, {}, segment.time
        has_data, identification = segment.length > 0, segment.identification
        number = segment.sequence if has_data else segment.acknowledged
        before = self.latest.get(has_data)
        if identification and before is not None and before[0] == identification and before[1] != number:
            self.constant = True
        self.latest[has_data] = identification, number
        if self.constant:
            identification = 0
        key = identification, segment.length, segment.header
        frame = self.recent.get(key) or self.older.get(key)
        if frame is not None:
            is_certain = identification > 0 or segment.hops < frame.hops
            if abs(segment.time - frame.time) <= (COPY_TIME if is_certain else limit):
                return frame, True, is_certain
        frame = self.recent[key] = _Frame(segment.time, segment.hops)
        return frame, False, True


@dataclass
class _Direction:
    """The data segments of one direction of a connection, by the sequence of their first byte.

    ``sent`` has the times at which they were first recorded, ``retransmitted`` the times and bytes of their recent
    retransmissions, and ``fillings`` the bytes of those with bytes that no segment before them had. Sequence numbers
    are counted from the first segment seen and do not wrap. ``lengths`` has the
    number of segments by their bytes of data, and ``header`` the bytes of the shortest TCP header with data, without
    its checksum. ``marks`` is the number of ECN marks that the receiver reported with AccECN, otherwise of its reports
    (ECE, RFC 3168). ``hops`` is the largest hop limit of the frames, ``reverse`` the other direction.
    ``window_end`` is the end of the receiver's window, NaN if its unit is unknown, and infinite after data beyond it;
    ``full_time`` is the time in s in which no segment fits into it.
    ``idle_time`` is the time in s without data in flight, in pauses of at least `IDLE_TIME`. ``disorder`` is the
    largest time in s by which a frame is earlier than one before it in the file.
    ``has_pure_ack``: a segment without data acknowledged new data.
    """

    sender: Address
    receiver: Address
    handshake: _Handshake
    first: int | None = None
    highest: int = 0
    lengths: dict[int, int] = field(default_factory=dict)
    header: int = WRAP
    first_time: float = math.inf
    last_time: float = -math.inf
    acked: int = 0
    has_pure_ack: bool = False
    window_was_open: bool = False
    window_is_closed: bool = False
    closed_since: float = math.nan
    closed_time: float = 0.0
    window_end: float = math.nan
    full_since: float = math.nan
    full_time: float = 0.0
    idle_since: float = math.nan
    idle_time: float = 0.0
    latest_time: float = -math.inf
    disorder: float = 0.0
    min_rtt: float = math.inf
    repeated: int = 0
    marks: int = 0
    has_echo: bool = False
    ace: int = FIRST_ACE
    frames: _Frames = field(default_factory=_Frames)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    retransmitted: dict[int, list[tuple[float, int, int]]] = field(default_factory=dict)
    fillings: list[tuple[int, int]] = field(default_factory=list)
    unacked: deque[tuple[int, float]] = field(default_factory=deque)
    resent: set[int] = field(default_factory=set)
    rtts: list[float] = field(default_factory=list)
    hops: int = 0
    reverse: _Direction | None = field(default=None, repr=False)

    def is_followed_by(self, syn: _Segment) -> bool:
        """Return whether a SYN of the sender begins another connection of the same addresses.

        It has another number, or the same one, as of simulators, after data and a second without any frame: a SYN is
        sent again before data alone.
        """
        assert self.reverse is not None
        has_data = bool(self.lengths or self.reverse.lengths)
        if self.handshake.sequence != syn.sequence:
            return has_data or self.handshake.sequence is not None
        return has_data and syn.time - max(self.latest_time, self.reverse.latest_time) > COPY_TIME

    def unwrap(self, number: int) -> int:
        """Return the sequence number without wrap that is nearest to the highest so far."""
        if self.first is None:
            self.first = number
        away = (number - self.first - self.highest + WRAP // 2) % WRAP - WRAP // 2
        return self.highest + away

    def copy_limit(self) -> float:
        """Return the time in s within which equal bytes are a copy: half a round trip, as later ones may be shorter."""
        return UNMEASURED_COPY_TIME if math.isinf(self.min_rtt) else 0.5 * self.min_rtt

    def send(self, segment: _Segment, *, has_identification: bool) -> None:
        """Process a data segment: new, retransmitted, or a retransmission that is merged with new bytes."""
        time, length = segment.time, segment.length
        number = (segment.sequence + bool(segment.flags & SYN)) % WRAP
        if self.first is None and length == 1 and not segment.flags & PSH and self.handshake.sequence is None:
            self.first = (number + 1) % WRAP  # a keep-alive is the first frame: data would be pushed
            return
        start = self.unwrap(number)
        end = start + length
        if self._is_probe(start, length):
            return
        is_new = end > self.highest
        gap = self._gap_after(start, end, time)
        covered = self._covered(start, end) if start < self.highest and gap is None else range(0)
        if covered and self._is_copied(covered, start, end, time):
            if not is_new:
                return
            start, covered = self.highest, range(0)
        self.lengths[end - start] = self.lengths.get(end - start, 0) + 1
        self.header = min(self.header, len(segment.header))
        self.first_time, self.last_time = min(time, self.first_time), max(time, self.last_time)
        if time - self.idle_since >= IDLE_TIME:
            self.idle_time += time - self.idle_since
        self.idle_since = math.nan
        if gap is not None:
            self._insert(gap, start, end, time)
        elif start < self.highest:
            self.repeated += bool(covered) and not is_new and not has_identification
            self._resend(covered or self._add_unrecorded(start, end, time), start, end, time)
        if is_new:
            self.starts.append(max(start, self.highest))
            self.ends.append(end)
            self.times.append(time)
            self.sent.append(time)
            self.unacked.append((end, time))
            self.highest = end
            if end > self.window_end:
                self.window_end = math.inf  # the window is not what the file says
            self._count_full_window(time, min(length, ETHERNET_MSS))

    def _gap_after(self, start: int, end: int, time: float) -> int | None:
        """Return the index of the segment after a gap that a segment recorded late fills; None for another segment.

        A sender learns of a loss after a round trip. A segment that comes sooner after the one beyond it is no
        retransmission: the capture has the two in another order than they were sent, as from two queues of a device.
        """
        if not self.starts or start >= self.highest:
            return None
        index = bisect.bisect_right(self.starts, start)
        before_file = index == 0 and self.handshake.sequence is None
        if before_file or index == len(self.starts) or self.starts[index] < end:
            return None
        is_missing = index == 0 or self.ends[index - 1] <= start
        limit = self.copy_limit() if math.isfinite(self.min_rtt) else 0.5 * self.handshake.round_trip
        limit = UNMEASURED_COPY_TIME if math.isnan(limit) else limit
        return index if is_missing and time - self.times[index] <= limit else None

    def _insert(self, index: int, start: int, end: int, time: float) -> None:
        """Insert a segment that was recorded after those with later bytes, but sent before them."""
        for n in range(len(self.starts) - 1, index - 1, -1):  # few segments are later in the file
            if n in self.resent:
                self.resent.remove(n)
                self.resent.add(n + 1)
        self.starts.insert(index, start)
        self.ends.insert(index, end)
        self.times.insert(index, self.times[index])
        self.sent.insert(index, time)
        if end > self.acked:
            bisect.insort(self.unacked, (end, time))

    def _add_unrecorded(self, start: int, end: int, time: float) -> range:
        """Add a segment before all others, which was first sent before the file begins, and return its index.

        It counts as sent with the first one of the file: loss events are in the order of the bytes.
        """
        self.starts.insert(0, start)
        self.ends.insert(0, end)
        self.times.insert(0, self.times[0] if self.times else time)
        self.sent.insert(0, time)
        self.resent = {n + 1 for n in self.resent}
        return range(1)

    def _resend(self, covered: range, start: int, end: int, time: float) -> None:
        """Process the retransmission of segments: the first that does not count as lost so far does."""
        lost = next((n for n in covered if n not in self.resent), None)
        if lost is not None:
            self.resent.add(lost)
        recorded = [(self.starts[n], self.ends[n]) for n in covered]
        if next(_gaps(recorded, start, min(end, self.highest)), None):
            self.fillings.append((start, end))
        for n in covered:
            earlier = self.retransmitted.get(self.starts[n], [])
            recent = [sending for sending in earlier if time - sending[0] <= self.copy_limit()]
            self.retransmitted[self.starts[n]] = [*recent, (time, start, end)]
        self.unacked.clear()  # an ACK may be of either transmission (Karn)

    def _is_probe(self, start: int, length: int) -> bool:
        """Return whether a segment is a keep-alive of a byte or probes a closed window (RFC 9293, 3.8.4, 3.8.6.1)."""
        if length == 1 and start + 1 == self.acked >= self.highest:
            return True
        return self.window_is_closed and start >= self.acked and (length == 1 or self.window_was_open)

    def _covered(self, start: int, end: int) -> range:
        """Return the indices of the segments from the last that begins at or before ``start`` up to ``end``.

        Empty before the first. Bytes between segments are missing in the capture.
        """
        index = bisect.bisect_right(self.starts, start) - 1
        return range(max(index, 0), bisect.bisect_left(self.starts, end))

    def _is_copied(self, covered: range, start: int, end: int, time: float) -> bool:
        """Return whether all bytes up to the highest were just recorded in other segments.

        Both sides of an offload are recorded so.
        """
        records = [(self.sent[n], self.starts[n], self.ends[n]) for n in covered]
        records += [sending for n in covered for sending in self.retransmitted.get(self.starts[n], [])]
        recent = sorted((first, last) for sent, first, last in records if time - sent <= self.copy_limit())
        if (start, end) in recent:
            return False
        position = start
        for first, last in recent:
            if first > position:
                break
            position = max(position, last)
        return position >= min(end, self.highest)

    def acknowledge(self, segment: _Segment) -> range:
        """Process an ACK, and return the indices of the round trips that it gives.

        It gives one if it acknowledges the end of a segment that was sent once.
        """
        count = len(self.rtts)
        if self.first is None:
            self._set_window(segment)
            return range(0)
        acknowledged = self.unwrap(segment.acknowledged)
        if acknowledged >= self.acked:
            self._set_window(segment)
            self._count_marks(segment, is_new=acknowledged > self.acked)
        if acknowledged <= self.acked:
            return range(0)
        self.acked = acknowledged
        self._open_window(segment)
        self.idle_since = segment.time if acknowledged >= self.highest and segment.window else math.nan
        self.has_pure_ack = self.has_pure_ack or not segment.length
        while self.unacked and self.unacked[0][0] <= acknowledged:
            end, sent = self.unacked.popleft()
            if end == acknowledged:
                self.rtts.append(segment.time - sent)
                self.min_rtt = min(self.min_rtt, max(self.rtts[-1], 0.0))
        return range(count, len(self.rtts))

    def _set_window(self, segment: _Segment) -> None:
        """Store whether the receiver's window is closed, and for how long it was since the first data."""
        if not segment.flags & RST:
            if self.window_is_closed and math.isfinite(self.first_time):
                self.closed_time += segment.time - max(self.closed_since, self.first_time)
            self.window_is_closed, self.closed_since = not segment.window, segment.time
            self.window_was_open = self.window_was_open or segment.window > 0

    def _open_window(self, segment: _Segment) -> None:
        """Store the end of the window that an ACK of new data reports, if the file has both SYNs (RFC 7323, 2.2)."""
        if len(self.handshake.stamps) < 2 or math.isinf(self.window_end):
            return
        scales = self.handshake.scales
        self.window_end = self.acked + (segment.window << (scales[self.receiver] if len(scales) == 2 else 0))
        if self.highest > self.window_end:
            self.window_end = math.inf
        self._count_full_window(segment.time, min(max(self.lengths, default=1), ETHERNET_MSS))

    def _count_full_window(self, time: float, length: int) -> None:
        """Count the time in which no further segment of ``length`` bytes fits into the receiver's window."""
        is_full = self.highest > self.acked and self.highest + length > self.window_end
        if not math.isnan(self.full_since):
            self.full_time += max(time - self.full_since, 0.0)
        self.full_since = time if is_full else math.nan

    def _count_marks(self, segment: _Segment, *, is_new: bool) -> None:
        """Count the ECN marks that an ACK reports. The ACK of the handshake has another code (RFC 9768, 3.2.2.1)."""
        if self.handshake.has_accurate_ecn:
            if is_new:
                self.marks += (segment.ace - self.ace) % 8
                self.ace = segment.ace
            return
        has_echo = not segment.flags & SYN and segment.ace in ECHOES
        self.marks += has_echo and not self.has_echo
        self.has_echo = has_echo

    def missing_share(self) -> float:
        """Return the share of the acknowledged bytes, from the first ones recorded, that no segment of the file has."""
        first = self.starts[0]
        if self.acked <= first:
            return 0.0
        end = self.acked - 1 if self.acked == self.highest + 1 else self.acked  # a FIN takes a number
        fillings, missing = sorted(self.fillings), 0
        for gap in _gaps(zip(self.starts, self.ends, strict=True), first, end):
            missing += sum(stop - start for start, stop in _gaps(fillings, *gap)) if fillings else gap[1] - gap[0]
        return missing / (end - first)

    def near_receiver(self) -> str | None:
        """Return what says that round trips are those of a part of the path alone; None if nothing does.

        Without a handshake the hop limits of the receiver's frames, which have passed no router, say that the file was
        recorded near it, unless round trips of the other direction are shorter: those are of the rest of the path.
        Where the hop limits do not say so, many round trips of the other direction stand for those of the rest.
        """
        rtt = float(np.mean(self.rtts))

        def is_part(whole: float) -> bool:
            return whole - rtt > max(NEAR_RECEIVER_SHARE * whole, NEAR_RECEIVER_TIME)

        if not math.isnan(whole := self.handshake.round_trip):
            return f"handshake {whole:.3g} s" if is_part(whole) else None
        if self.reverse is None:
            return None
        others = min(self.reverse.rtts, default=math.nan)
        if self.reverse.hops not in FIRST_HOP_LIMITS or self.hops in FIRST_HOP_LIMITS:
            is_measured = len(self.reverse.rtts) >= MIN_OTHER_RTTS and is_part(min(self.rtts) + others)
            return f"other direction {others:.3g} s" if is_measured else None
        text = f"hop limits {self.hops}, of the receiver {self.reverse.hops}"
        if not self.reverse.rtts:
            return text
        return f"{text}, other direction {others:.3g} s" if others > max(rtt, NEAR_RECEIVER_TIME) else None

    def delay(self, frame: _Frame, time: float) -> None:
        """Let the round trips that an ACK gave end at its last copy, which was recorded nearest to the sender."""
        delay = time - frame.time
        if any(delay > COPIED_SHIFT * self.rtts[n] for n in frame.rtts):
            for n in frame.rtts:
                self.rtts[n] += delay
            frame.time = time

    def packet_size(self, mss: int | None) -> int | None:
        """Return the bytes of data in a full packet; None if neither the handshake nor ``mss`` gives it.

        A sender is limited by the MSS that its receiver announced, less options (RFC 9293, 3.7.1), and by its own link.
        Its own announcement is only a hint to its link, which carries Ethernet frames at least: some hosts announce
        less than they send. Some receivers subtract options before they announce, against RFC 6691, 2. Segments that
        are multiples of a size, as offloads make them, decide.
        """
        stamps = self.handshake.stamps
        announced, own = self.handshake.sizes.get(self.receiver), self.handshake.sizes.get(self.sender)
        if announced is None and mss is not None:
            return mss
        options = max(self.header - BARE_HEADER, TIMESTAMP_BYTES if len(stamps) == 2 and all(stamps.values()) else 0)
        link = max((own or 0) - options, ETHERNET_MSS)
        limit = link if announced is None else self._sent_size(announced, options)
        hint = DEFAULT_MSS[len(self.receiver[0])] if announced is None and self.receiver in stamps else own
        smaller = limit if hint is None else max(hint - options, 1)
        link = limit if own is None else min(link, limit)
        if smaller < link and self._count_multiples(smaller, smaller) > sum(
            count
            for length, count in self.lengths.items()
            if length > smaller and length % smaller and (length <= link or not length % link)
        ):
            return smaller
        if link < limit and self._count_multiples(limit, link) > self._count_multiples(link, link):
            return limit
        if announced is None and (own or WRAP) > ETHERNET_MSS and max(self.lengths) > ETHERNET_MSS:
            return None
        return link

    def _sent_size(self, announced: int, options: int) -> int:
        """Return the bytes of data in a full packet by the receiver's MSS, with options subtracted already or not."""
        size = max(announced - options, 1)
        frame = ETHERNET_MSS - IPV6_EXCESS * (len(self.receiver[0]) == 16)
        is_reduced = 2 * self._count_multiples(announced, size) > self._count_multiples(1, size)
        return announced if is_reduced and announced + options <= frame else size

    def _count_multiples(self, size: int, above: int) -> int:
        """Return the number of segments of more than ``above`` bytes that fill packets of ``size`` bytes."""
        return sum(count for length, count in self.lengths.items() if length > above and not length % size)

    def packets(self, size: int) -> int:
        """Return the number of packets of at most ``size`` bytes of data."""
        return sum(count * -(-length // size) for length, count in self.lengths.items())

    def row(self, packets: int) -> tuple[float, float, float, float]:
        """Return loss event rate, mean round-trip time in s, packets/s, and packets."""
        rtt = float(np.mean(self.rtts))
        times = sorted(self.times[n] for n in self.resent)  # a clock may go back a little
        loss_starts = loss_events(range(len(times)), times, rtt, unit_check=False)
        rate = packets / (self.last_time - self.first_time)
        return len(loss_starts) / packets, rtt, rate, float(packets)


@quantities(mss="size")
def read_pcap(source: str | Path, least_packets: int = 20, *, mss: WithUnit | None = None) -> Samples:
    """Read a packet capture taken at, or near, the senders of TCP connections: pcap or pcapng.

    Each direction of each connection that carries data is one sample. A segment that begins below the highest
    byte sent so far is a retransmission, also if it is merged with new bytes. Missing bytes that come within half of
    the shortest round trip after the segment beyond them are none: the file has the two in another order than they
    were sent. The segment that first carried the first byte of a retransmission counts as lost once, also where only a
    part of it is sent again, or a retransmission is lost. Where that one counts already, the next does. Bytes before
    the first ones of the file are a retransmission as well, of a segment that is not in it. Spurious retransmissions
    count as losses, and ECN marks do not. p is loss events per packet sent. Losses of segments first sent within a
    round trip are one event (`loss_events`). The round-trip time is the mean over ACKs of the end of a segment that was
    sent once (Karn). It includes the delay of delayed ACKs. The rate is packets sent, retransmissions included, over
    the time from the first to the last.

    A segment larger than a full packet, as offloads make them, counts as several packets, of which a retransmission of
    some makes one loss. A full packet has the MSS that the receiver announced in its SYN, less the options of TCP in
    each segment (RFC 9293, 3.7.1), or that MSS where most of the larger segments are multiples of it and fit Ethernet.
    The sender's announcement counts where most of the larger segments are multiples of it. Where it is smaller than the
    receiver's, packets have at most 1,460 bytes or that announcement, unless larger segments are multiples of the
    receiver's. Without a SYN of the receiver a full packet has ``mss`` bytes. Without ``mss`` as well, the sender's
    announcement counts in the same way, up to 1,460 bytes.

    Keep-alives of one byte and probes of a closed window (RFC 9293, 3.8.4 and 3.8.6.1) are not counted.

    Copies of a frame, as of a mirror port, a bridge or several interfaces, count once. A copy has the same
    TCP header and the same IP identification within 1 s; link layer, VLAN and time to live may differ. IPv6
    and many datagrams of IPv4 have no identification (0, or one number throughout). There a copy has
    a smaller hop limit, or follows within half of the shortest round trip so far, 1 ms before the first.
    So do the same bytes in other segments, as offloads record them.

    Times count from the first packet of the file, and are right to 1 ns for 97 days, whatever the unit of its clock.

    Supported are TCP over IPv4 and IPv6, on Ethernet (with VLAN tags, PPPoE and SNAP), Linux cooked captures, loopback
    and raw IP, up to 4 GiB uncompressed. An IP length of 0, as offloads leave it, is the frame's. Other packets,
    tunnels included, and blocks of pcapng without packets are skipped.

    Parameters
    ----------
    source
        A path. Packets may be cut after the TCP header.
    least_packets
        Directions with fewer packets with data are omitted, also directions without ACKs of data or with only one time.
    mss
        Bytes of data in a full packet, 1,448 with timestamps on Ethernet, for directions in which the receiver's SYN
        with its MSS is not in the file.

    Returns
    -------
    Samples
        Named ``"address:port > address:port"``, addresses of IPv6 in brackets, in the order of their first data.

    Warns
    -----
    UserWarning
        For a file that ends within a packet: the packets before it are read. For times in a unit that is not the
        file's, by the year or by fractions of a second that are all small. For directions whose packets are in another
        order than their times, by more than half of the shortest round trip. For directions with nothing in flight in
        at least a tenth of the time, in pauses of 0.2 s or more. For directions that are left out because
        no ACK is of the end of a segment that was sent once. For directions whose round trips are less than half of
        that of their handshake, as in a capture near the receiver; without a handshake for those whose receiver's
        frames have passed no router, by their hop limits, and the sender's have, or whose round trips are less than
        half of what both directions' shortest make together. For directions of which most ACKs have the
        times of their segments, as with a coarse clock. For directions whose ACKs all carry data, as in a file of which
        a filter has removed segments without data: rtt is then the time to the receiver's next data. For directions
        with ECN marks, which do not count in p. For directions whose data filled the receiver's window in at least a
        tenth of the time, if the file has both SYNs. For directions of whose acknowledged bytes at least 1 % are not in
        the file, as of a capture that dropped packets. For directions whose receiver had closed its window in at least
        a tenth of the time. For directions whose data were all sent within less than a round trip, whose rate is that
        of a burst.

    Raises
    ------
    ValueError
        For another format or link type, IP fragments of TCP, truncated or invalid headers, or segments of more than
        1,460 bytes whose MSS neither ``mss`` nor a SYN gives; for times that go back by more than an hour,
        that leap by more than a year, or ACKs more than 4 minutes after their segment; if more than a quarter of the
        segments are sent again without an identification, as in a file of two captures; if no connection has that many
        packets, an ACK and more than one time.

    Examples
    --------
    >>> from responsefn import read_pcap
    >>> read_pcap("upload.pcap").to_pandas()  # doctest: +SKIP
    """
    min_packets = integer("least_packets", least_packets, 2, 10**9)
    full = None if mss is None else integer("mss", mss, 1, 65535, why="bytes of data in a packet")
    path = file_path("source", source)
    directions: dict[tuple[Address, Address], _Direction] = {}
    order: list[tuple[str, _Direction]] = []
    skipped, remarks = dict[str, int](), list[str]()
    for segment in _segments(path, skipped, remarks):
        sender, receiver = segment.source, segment.target
        direction = directions.get((sender, receiver))
        if direction is None or (segment.flags & (SYN | ACK) == SYN and direction.is_followed_by(segment)):
            handshake = _Handshake()
            for addresses in ((sender, receiver), (receiver, sender)):
                directions[addresses] = _Direction(*addresses, handshake)
                order.append((_name(addresses), directions[addresses]))
            direction, other = directions[sender, receiver], directions[receiver, sender]
            direction.reverse, other.reverse = other, direction
        if segment.flags & SYN:
            _read_syn(path, direction.handshake, segment)
        reverse = directions[receiver, sender]
        direction.disorder = max(direction.disorder, direction.latest_time - segment.time)
        direction.latest_time = max(direction.latest_time, segment.time)
        frame, is_copy, is_certain = direction.frames.add(segment, direction.copy_limit())
        if is_copy:
            if is_certain:
                reverse.delay(frame, segment.time)
            continue
        direction.handshake.add_time(segment)
        direction.hops = max(direction.hops, segment.hops)
        if segment.length:
            has_identification = segment.identification > 0 and not direction.frames.constant
            direction.send(segment, has_identification=has_identification)
        if segment.flags & ACK:
            frame.rtts = reverse.acknowledge(segment)
    for remark in remarks:
        warnings.warn(remark, stacklevel=3)
    measured_flows: list[tuple[str, _Direction, int]] = []
    omitted: list[str] = []
    longest: tuple[int, str] = (0, "")
    for name, flow in order:
        if not flow.lengths:
            continue
        packet_size, largest = flow.packet_size(full), max(flow.lengths)
        packets = flow.packets(packet_size or largest)
        answers = " and no ACK of them" if flow.acked <= 0 else " and no ACK of the end of one that was sent once"
        answers = "" if flow.rtts else answers
        longest = max(longest, (packets, f"{name} has {count_of(packets, 'packet')}{answers}"))
        if packets < min_packets:
            continue
        if not flow.rtts or flow.last_time <= flow.first_time:
            if not flow.rtts and flow.acked > 0:
                omitted.append(f"{name} ({count_of(packets, 'packet')})")
            continue
        measured_flows.append((name, flow, packets))
        if packet_size is None:
            absent = "SYN of the receiver" if flow.handshake.sizes else "handshake"
            message = f"{name} has segments of {largest} bytes and no {absent}"
            hint = "give mss=, the bytes of data in a full packet, such as mss=1448"
            raise ValueError(f"source = {str(path)!r}: {message}; {hint}")
        if flow.repeated > max(MIN_REPEATED, REPEATED_SHARE * len(flow.starts)):
            message = f"{name} repeats {flow.repeated} of {len(flow.starts)} segments without an IP identification"
            hint = "frames are recorded twice: capture on one interface, or remove the copies"
            raise ValueError(f"source = {str(path)!r}: {message}; {hint}")
        if min(flow.rtts) < 0.0:
            message = f"{name} has ACKs before their segments; sort the packets by time"
            raise ValueError(f"source = {str(path)!r}: {message}")
        if max(flow.rtts) == 0.0:
            message = f"{name} has all ACKs at the times of their segments; capture with a finer clock, at the sender"
            raise ValueError(f"source = {str(path)!r}: {message}")
        if max(flow.rtts) > MAX_RTT:
            message = f"{name} has an ACK {max(flow.rtts):.6g} s after its segment: must be at most {MAX_RTT:g} s"
            raise ValueError(f"source = {str(path)!r}: {message}; the times of packets are wrong")
    if not measured_flows:
        others = "".join(f"; skipped: {count} of {what}" for what, count in skipped.items())
        others = f"; {longest[1]}{others}" if longest[0] else others
        raise ValueError(
            f"source = {str(path)!r}: must hold a TCP connection with "
            f"{count_of(min_packets, 'packet')} of data and ACKs{others}"
        )
    near_receiver = [
        f"{name} ({np.mean(flow.rtts):.3g} s, {evidence})"
        for name, flow, _ in measured_flows
        if (evidence := flow.near_receiver())
    ]
    if near_receiver:
        reason = "rtt is of a part of the path alone, as in a capture near the receiver, and p too large"
        warnings.warn(f"{path}: {first_names(near_receiver)}: {reason}", stacklevel=3)
    missing = [
        f"{name} ({share:.0%})" for name, flow, _ in measured_flows if (share := flow.missing_share()) >= MISSING_SHARE
    ]
    if missing:
        reason = "the file lacks this part of the acknowledged bytes, as of a capture that dropped packets"
        warnings.warn(f"{path}: {first_names(missing)}: {reason}: rate is too small, and p uncertain", stacklevel=3)
    closed = [
        f"{name} ({share:.0%})"
        for name, flow, _ in measured_flows
        if (share := min(flow.closed_time / (flow.last_time - flow.first_time), 1.0)) >= LIMITED_SHARE
    ]
    if closed:
        reason = "the receiver's window was closed in this part of the time: the rate is not that of congestion control"
        warnings.warn(f"{path}: {first_names(closed)}: {reason}", stacklevel=3)
    filled = [
        f"{name} ({share:.0%})"
        for name, flow, _ in measured_flows
        if (share := min(flow.full_time / (flow.last_time - flow.first_time), 1.0)) >= LIMITED_SHARE
        and not flow.closed_time
    ]
    if filled:
        reason = "the receiver's window was full in this part of the time: the rate is not that of congestion control"
        warnings.warn(f"{path}: {first_names(filled)}: {reason}", stacklevel=3)
    idle = [
        f"{name} ({share:.0%})"
        for name, flow, _ in measured_flows
        if (share := flow.idle_time / (flow.last_time - flow.first_time)) >= LIMITED_SHARE
    ]
    if idle:
        reason = "nothing was in flight in this part of the time: the rate is that of the application"
        warnings.warn(f"{path}: {first_names(idle)}: {reason}", stacklevel=3)
    disordered = [
        f"{name} ({disorder:.3g} s)"
        for name, flow, _ in measured_flows
        if flow.reverse and (disorder := max(flow.disorder, flow.reverse.disorder)) > flow.copy_limit()
    ]
    if disordered:
        reason = "packets of the file are this much earlier than ones before them, by more than round trips allow"
        warnings.warn(f"{path}: {first_names(disordered)}: {reason}: sort them by time", stacklevel=3)
    bursts = [
        f"{name} ({format_burst(packets, duration, rtt)})"
        for name, flow, packets in measured_flows
        if (duration := flow.last_time - flow.first_time) < (rtt := float(np.mean(flow.rtts)))
    ]
    if bursts:
        warnings.warn(f"{path}: {first_names(bursts)}: {BURST_REASON}", stacklevel=3)
    marked = [f"{name} ({flow.marks})" for name, flow, _ in measured_flows if flow.marks]
    if marked:
        reason = "the receiver reports ECN marks (ECE, AccECN), which p does not count"
        warnings.warn(f"{path}: {first_names(marked)}: {reason}", stacklevel=3)
    coarse = [name for name, flow, _ in measured_flows if 2 * flow.rtts.count(0.0) > len(flow.rtts)]
    if coarse:
        reason = "most ACKs have the times of their segments: the clock is coarser than round trips, and rtt inaccurate"
        warnings.warn(f"{path}: {first_names(coarse)}: {reason}", stacklevel=3)
    filtered = [f"{name} ({np.mean(flow.rtts):.3g} s)" for name, flow, _ in measured_flows if not flow.has_pure_ack]
    if filtered:
        reason = "all ACKs carry data, as if a filter had removed those without: rtt includes the time to the next data"
        warnings.warn(f"{path}: {first_names(filtered)}: {reason}", stacklevel=3)
    if omitted:
        reason = "no ACK is of the end of a segment that was sent once, so that they have no round trip: all may be of "
        reason += "retransmissions, or packets have other sizes on the wire than in the file"
        warnings.warn(f"{path}: left out: {', '.join(omitted)}: {reason}", stacklevel=3)
    measured_flows.sort(key=lambda item: item[1].first_time)
    return Samples(
        tuple(_number_repeated([name for name, _, _ in measured_flows])),
        *np.array([flow.row(packets) for _, flow, packets in measured_flows]).T,
    )


def _gaps(segments: Iterable[tuple[int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of bytes from ``start`` to ``end`` that no segment has; segments are in the order of starts."""
    position = start
    for first, last in segments:
        if first >= end:
            break
        if first > position:
            yield position, first
        position = max(position, last)
    if position < end:
        yield position, end


def _name(addresses: tuple[Address, Address]) -> str:
    """Return ``"sender > receiver"``, with addresses of IPv6 in brackets (RFC 5952, 6)."""
    sender, receiver = (
        f"{socket.inet_ntop(socket.AF_INET, host)}:{port}"
        if len(host) == 4
        else f"[{socket.inet_ntop(socket.AF_INET6, host)}]:{port}"
        for host, port in addresses
    )
    return f"{sender} > {receiver}"


def _number_repeated(names: list[str]) -> Iterator[str]:
    """Yield names; a repeated name gets a number."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        yield name if counts[name] == 1 else f"{name}, connection {counts[name]}"


def _read_syn(path: Path, handshake: _Handshake, segment: _Segment) -> None:
    """Store the options of a SYN; of several SYNs of a host the smallest MSS, as a router may lower it."""
    host = segment.source
    if segment.flags & ACK:
        handshake.has_accurate_ecn = handshake.asks_accurate_ecn and segment.ace in ACCURATE_ECN_REPLIES
    else:
        handshake.sequence, handshake.asks_accurate_ecn = segment.sequence, segment.ace == ACCURATE_ECN
    handshake.stamps[host] = handshake.stamps.get(host, True) and TIMESTAMP_OPTION in segment.options
    if len(scale := segment.options.get(SCALE_OPTION, b"")) == 1:
        handshake.scales[host] = min(scale[0], MAX_SCALE)
    data = segment.options.get(MSS_OPTION, b"")
    if len(data) == 2:
        size = int.from_bytes(data)
        handshake.sizes[host] = min(size, handshake.sizes.get(host, size))
        if size <= TIMESTAMP_BYTES:
            message = f"MSS {size} in the handshake: must be larger"
            raise ValueError(f"source = {str(path)!r}: {_name((host, segment.target))}: {message}")


def _segments(path: Path, skipped: dict[str, int], remarks: list[str]) -> Iterator[_Segment]:
    """Yield the TCP segments of a file, and count other packets by protocol."""
    latest: float | None = None
    for number, (time, link, data, length) in enumerate(_packets(path, remarks), 1):
        location = f"source = {str(path)!r}, packet {number}"
        gap = 0.0 if latest is None else time - latest
        if not -MAX_BACKWARD <= gap <= MAX_GAP:
            message = f"{gap:.6g} s after the packet before it: must be {-MAX_BACKWARD:g} to {MAX_GAP:g} s"
            raise ValueError(f"{location}: {message}; sort the packets by time, or repair the times")
        latest = time
        if link not in LINKS:
            allowed = ", ".join(f"{key} ({name})" for key, name in LINKS.items())
            raise ValueError(f"{location}: link type {link}: must be one of {allowed}")
        try:
            segment = _segment(time, data, length, *_payload(link, data))
        except (IndexError, struct.error):
            message = "is cut within the headers of IP and TCP; capture at least 128 bytes of a packet"
            raise ValueError(f"{location}: {message}") from None
        except ValueError as error:
            raise ValueError(f"{location}: {error}") from None
        if isinstance(segment, str):
            skipped[segment] = skipped.get(segment, 0) + 1
        else:
            yield segment


def _payload(link: int, data: bytes) -> tuple[int, int]:
    """Return the type of the payload of a frame, as in Ethernet, and its offset."""
    offset = LINK_HEADERS.get(link, 0)
    if link not in ETHERTYPES:
        return {4: IPV4, 6: IPV6}.get(data[offset] >> 4, 0), offset
    kind = int.from_bytes(data[ETHERTYPES[link] : ETHERTYPES[link] + 2])
    while kind in VLANS:
        kind, offset = int.from_bytes(data[offset + 2 : offset + 4]), offset + 4
    if kind < MIN_ETHERTYPE and data[offset : offset + 6] == SNAP:
        kind, offset = int.from_bytes(data[offset + 6 : offset + 8]), offset + 8
    if kind == PPPOE:
        # a protocol below 256 may be compressed to one byte, which is odd (RFC 1661, 6.5)
        size = 1 if data[offset + 6] & 1 else 2
        kind, offset = PPP.get(int.from_bytes(data[offset + 6 : offset + 6 + size]), PPPOE), offset + 6 + size
    return kind, offset


def _segment(time: float, data: bytes, length: int, kind: int, start: int) -> _Segment | str:
    """Return the TCP segment of a packet whose IP header begins at ``start``, or the name of another protocol.

    The length of a packet is that of its IP header, or the frame's if that is 0.
    """
    if kind == IPV4:
        size, identification, fragment, hops, protocol = struct.unpack_from(">HHHBB", data, start + 2)
        offset, hosts = start + 4 * (data[start] & 15), (start + 12, start + 16, start + 20)
        pieces = bool(fragment & 0x3FFF)
        if offset < start + 20:
            raise ValueError("an IPv4 header of fewer than 20 bytes")
        end = start + (size or length - start)
    elif kind == IPV6:
        size, protocol, hops = struct.unpack_from(">HBB", data, start + 4)
        identification = 0
        offset, hosts, pieces = start + 40, (start + 8, start + 24, start + 40), False
        end = offset + size if size else length
        while protocol in EXTENSIONS:
            if protocol == FRAGMENT:
                pieces = pieces or bool(int.from_bytes(data[offset + 2 : offset + 4]) & 0xFFF9)
            following, units = data[offset], data[offset + 1]
            words = {FRAGMENT: 8, AUTHENTICATION: 4 * (units + 2)}.get(protocol, 8 * (units + 1))
            protocol, offset = following, offset + words
    else:
        return "IEEE 802.2 without a type" if 0 < kind < MIN_ETHERTYPE else f"type 0x{kind:04x}"
    if protocol != TCP:
        return f"IP protocol {protocol}"
    if pieces:
        raise ValueError("IP fragments of TCP are not read")
    ports = struct.unpack_from(">HH", data, offset)
    sequence, acknowledged, words, flags, window = struct.unpack_from(">IIBBH", data, offset + 4)
    header = 4 * (words >> 4)
    if header < 20 or offset + header > end:
        message = f"a TCP header of {header} bytes in {end - offset}"
        raise ValueError(f"{message}: must be at least 20, and fit")
    source, target = data[hosts[0] : hosts[1]], data[hosts[1] : hosts[2]]
    fields = data[offset : offset + header]
    return _Segment(
        time,
        (source, ports[0]),
        (target, ports[1]),
        sequence,
        acknowledged,
        flags,
        _options(fields[20:]) if flags & SYN else {},
        end - offset - header,
        window,
        identification,
        hops,
        fields[: TCP_CHECKSUM.start] + fields[TCP_CHECKSUM.stop :],
    )


def _options(data: bytes) -> dict[int, bytes]:
    """Return the options of a TCP header by their kinds (RFC 9293, 3.1), as far as they are captured."""
    options: dict[int, bytes] = {}
    at = 0
    while at + 1 < len(data) and data[at]:
        if data[at] == 1:
            at += 1
            continue
        size = data[at + 1]
        options[data[at]] = data[at + 2 : at + size]
        at += max(2, size)
    return options


class _TruncatedFile(Exception):
    """The file ends within a packet."""


class _Stream:
    """Uncompressed bytes of a file, up to `MAX_BYTES`."""

    def __init__(self, location: str, file: BinaryIO) -> None:
        self._location, self._file, self._count = location, file, 0

    def read(self, size: int, *, may_end: bool = False) -> bytes:
        """Return the next bytes; empty at the end of the file with ``may_end``."""
        try:
            data = self._file.read(size)
        except EOFError:
            raise _TruncatedFile from None
        except (zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{self._location}: damaged, {error}") from None
        self._count += len(data)
        if self._count > MAX_BYTES:
            raise ValueError(f"{self._location}: must have at most {MAX_BYTES} bytes, uncompressed")
        if len(data) < size and not (may_end and not data):
            raise _TruncatedFile
        return data


def _packets(path: Path, remarks: list[str]) -> Iterator[tuple[float, int, bytes, int]]:
    """Yield time in s after the first packet, link type, captured bytes and length of each packet of a file.

    A file that ends within a packet adds a remark.
    """
    location = f"source = {str(path)!r}"
    refuse_other_kinds(path, location, True, "read_pcap")
    with path.open("rb") as raw:
        compressed = raw.peek(2)[:2] == b"\x1f\x8b"
        stream = _Stream(location, gzip.GzipFile(fileobj=raw) if compressed else raw)  # type: ignore[arg-type]
        count, origin = 0, _Origin()
        try:
            magic = stream.read(4)
            if magic != SECTION and magic not in MAGICS:
                raise ValueError(f"{location}: must be a pcap or pcapng file, and begins with {magic!r}")
            reader = _pcapng(location, stream, origin) if magic == SECTION else _pcap(location, stream, magic, origin)
            for packet in reader:
                yield packet
                count += 1
        except _TruncatedFile:
            if not count:
                raise ValueError(
                    f"{location}: must be a pcap or pcapng file; it ends in its header or first packet"
                ) from None
            remarks.append(f"{location} ends within packet {count + 1}: the {count} before it are read")
        if doubt := origin.doubt_unit():
            reason = "as with times in another unit than the file says, such as us as ns: rtt and rate may be wrong"
            remarks.append(f"{location}: {doubt}, {reason}")


def _pcap(location: str, stream: _Stream, magic: bytes, origin: _Origin) -> Iterator[tuple[float, int, bytes, int]]:
    """Yield the packets of a pcap file after its first four bytes (draft-ietf-opsawg-pcap)."""
    order, per_second = MAGICS[magic]
    major, minor, _, _, _, link = struct.unpack(f"{order}HHIIII", stream.read(20))
    if major != 2:
        raise ValueError(f"{location}: version {major}.{minor} of pcap: must be 2")
    record = struct.Struct(f"{order}IIII")
    number = 0
    while header := stream.read(16, may_end=True):
        number += 1
        seconds, part, captured, length = record.unpack(header)
        if minor < 4 and captured > length:  # programs of these versions wrote the two in either order
            captured, length = length, captured
        if captured > MAX_CAPTURED:
            message = f"{captured} bytes captured: must be at most {MAX_CAPTURED}; the file is damaged"
            raise ValueError(f"{location}, packet {number}: {message}")
        if part >= per_second:
            message = f"{part} as the fraction of a second in units of {1 / per_second:g} s: must be less than 1 s"
            raise ValueError(f"{location}, packet {number}: {message}; the unit of the file's header is wrong")
        yield origin.seconds(seconds * per_second + part, per_second), link & 0xFFFF, stream.read(captured), length


def _pcapng(location: str, stream: _Stream, origin: _Origin) -> Iterator[tuple[float, int, bytes, int]]:
    """Yield the packets of a pcapng file after its first four bytes (draft-ietf-opsawg-pcapng)."""
    order, interfaces, number, kind = "<", list[tuple[int, int, int]](), 0, SECTION
    while kind:
        number += 1
        block = f"{location}, block {number}"
        size = stream.read(4)
        if kind == SECTION:
            mark = stream.read(4)
            if mark not in (b"\x4d\x3c\x2b\x1a", b"\x1a\x2b\x3c\x4d"):
                raise ValueError(f"{block}: a section of unknown byte order; the file is damaged")
            order, interfaces = "<" if mark[0] == 0x4D else ">", []
        (length,) = struct.unpack(f"{order}I", size)
        begun = 12 if kind == SECTION else 8
        if length % 4 or not begun + 4 <= length <= MAX_BLOCK:
            message = f"{length} bytes: must be a multiple of 4, at most {MAX_BLOCK}; the file is damaged"
            raise ValueError(f"{block}: {message}")
        body = stream.read(length - begun)
        if body[-4:] != size:
            raise ValueError(f"{block}: lengths at its begin and end differ; the file is damaged")
        (word,) = struct.unpack(f"{order}I", kind)
        try:
            if kind == SECTION:
                if struct.unpack_from(f"{order}H", body)[0] != 1:
                    raise ValueError(f"{block}: version of pcapng: must be 1")
            elif word == INTERFACE:
                interfaces.append(_interface(order, body[:-4]))
            elif word in (PACKET, OBSOLETE_PACKET):
                form = f"{order}IIIII" if word == PACKET else f"{order}H2xIIII"
                at, high, low, captured, sent = struct.unpack_from(form, body)
                if captured > len(body) - 24:
                    raise ValueError(f"{block}: {captured} bytes captured of a packet: must fit the block")
                if at >= len(interfaces):
                    message = f"interface {at}: must be less than {len(interfaces)}, the number of interfaces before it"
                    raise ValueError(f"{block}: {message}")
                link, per_second, offset = interfaces[at]
                time = origin.seconds(offset * per_second + (high << 32) + low, per_second)
                yield time, link, body[20 : 20 + captured], sent
            elif word == SIMPLE_PACKET:
                raise ValueError(f"{block}: simple packet blocks have no times and are not read")
            elif word not in SKIPPED_BLOCKS:
                raise ValueError(f"{block}: type 0x{word:08x}: must be a block with a packet, or one that is skipped")
        except struct.error:
            raise ValueError(f"{block}: must have more than {length} bytes; the file is damaged") from None
        kind = stream.read(4, may_end=True)


def _interface(order: str, body: bytes) -> tuple[int, int, int]:
    """Return link type, ticks of the clock per second and offset of time in s of an interface of pcapng."""
    (link,) = struct.unpack_from(f"{order}H", body)
    per_second, offset, at = 10**6, 0, 8
    while at + 4 <= len(body):
        code, size = struct.unpack_from(f"{order}HH", body, at)
        value = body[at + 4 : at + 4 + size]
        if code == 9 and size == 1:
            per_second = 2 ** (value[0] & 127) if value[0] & 128 else 10 ** value[0]
        elif code == 14 and size == 8:
            (offset,) = struct.unpack(f"{order}q", value)
        at += 4 + size + -size % 4
    return link, per_second, offset
