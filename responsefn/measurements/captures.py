"""A reader of packet captures (pcap and pcapng), by Scapy."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import file_path, whole
from responsefn.measurements.samples import Samples
from responsefn.metrics.tfrc_loss_intervals import loss_events

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["read_pcap"]

WRAP = 1 << 32
Address = tuple[str, int]


@dataclass
class _Direction:
    """The data segments of one direction of a connection, by the sequence of their first byte.

    Sequence numbers are counted from the first segment seen and do not wrap.
    """

    first: int | None = None
    highest: int = 0
    mss: int = 0
    limit: int = WRAP
    packets: int = 0
    began: float = math.nan
    ended: float = math.nan
    acked: int = 0
    starts: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    ends: dict[int, float] = field(default_factory=dict)
    again: set[int] = field(default_factory=set)
    trips: list[float] = field(default_factory=list)

    def place(self, number: int) -> int:
        """Return a sequence number without wrap, the one nearest to the highest so far."""
        if self.first is None:
            self.first = number
        away = (number - self.first - self.highest + WRAP // 2) % WRAP - WRAP // 2
        return self.highest + away

    def send(self, time: float, number: int, length: int) -> None:
        """Take a segment with data: new, or sent again."""
        start = self.place(number)
        self.mss = max(self.mss, min(length, self.limit))
        self.packets += math.ceil(length / self.mss)
        self.began, self.ended = (time if math.isnan(self.began) else self.began), time
        if start + length <= self.highest:
            known = bisect.bisect_right(self.starts, start) - 1
            if known >= 0:
                self.again.add(known)
            self.ends.clear()  # an ACK may be of either (Karn)
            return
        self.highest = max(self.highest, start + length)
        self.starts.append(start)
        self.times.append(time)
        self.ends[start + length] = time

    def acknowledge(self, time: float, number: int) -> None:
        """Take an ACK; it gives a round-trip time where it is of the end of a segment sent once."""
        if self.first is None:
            return
        upto = self.place(number)
        if upto <= self.acked:
            return
        self.acked = upto
        if upto in self.ends:
            self.trips.append(time - self.ends[upto])
        self.ends = {end: sent for end, sent in self.ends.items() if end > upto}

    def row(self) -> tuple[float, float, float, float]:
        """Return loss event rate, mean round-trip time in s, packets/s, and packets."""
        rtt = float(np.mean(self.trips))
        lost = sorted(self.again)
        began = loss_events(range(len(lost)), [self.times[n] for n in lost], rtt, unit_check=False)
        rate = self.packets / (self.ended - self.began)
        return len(began) / self.packets, rtt, rate, float(self.packets)


def read_pcap(source: str | Path, least_packets: int = 20) -> Samples:
    """Read a packet capture taken at, or near, the senders of TCP connections: pcap or pcapng.

    Each direction of each connection that carries data is one sample. A segment is lost when all its
    bytes are sent again (spurious retransmissions count as losses); p is loss events per packet sent,
    where losses of segments first sent within a round trip are one event (`loss_events`). The round-trip
    time is the mean over ACKs of the end of a segment that was sent once (Karn), the waiting of delayed
    ACKs included; the rate is packets sent, also again, over the time from the first to the last. A
    segment larger than the MSS of the handshake, as offloads make them, counts as several packets.

    Reading needs Scapy: ``pip install 'hopflow[capture]'``.

    Parameters
    ----------
    source
        A path. Packets may be cut after the TCP header.
    least_packets
        Directions with fewer packets with data are left out.

    Returns
    -------
    Samples
        Named ``"address:port > address:port"``, in the order of their first data.

    Raises
    ------
    ImportError
        Where Scapy is not installed.
    ValueError
        Where no connection has that many packets, an ACK and more than one time.

    Examples
    --------
    >>> from responsefn import read_pcap
    >>> read_pcap("upload.pcap").to_pandas()  # doctest: +SKIP
    """
    least = whole("least_packets", least_packets, 2, 10**9)
    found: dict[tuple[Address, Address], _Direction] = {}
    for time, here, there, segment, length in _segments(file_path("source", source)):
        one = found.setdefault((here, there), _Direction())
        if segment.flags.S:
            one.limit = found.setdefault((there, here), _Direction()).limit = min(
                one.limit, _mss(segment)
            )
        if length:
            one.send(time, int(segment.seq), length)
        if segment.flags.A and (there, here) in found:
            found[there, here].acknowledge(time, int(segment.ack))
    used = {
        f"{here[0]}:{here[1]} > {there[0]}:{there[1]}": one
        for (here, there), one in found.items()
        if one.packets >= least and one.trips and one.ended > one.began
    }
    if not used:
        raise ValueError(
            f"source = {str(source)!r}: must hold a TCP connection with {least} packets of data and ACKs"
        )
    return Samples(tuple(used), *np.array([one.row() for one in used.values()]).T)


def _segments(path: Path) -> Iterator[tuple[float, Address, Address, Any, int]]:
    """Yield time, source, destination, TCP header and bytes of data of each segment of a file."""
    try:
        from scapy.error import Scapy_Exception
        from scapy.layers.inet import IP, TCP
        from scapy.layers.inet6 import IPv6
        from scapy.utils import PcapReader
    except ImportError as error:
        msg = "read_pcap needs Scapy: pip install 'hopflow[capture]'"
        raise ImportError(msg) from error
    try:
        capture = PcapReader(str(path))
    except Scapy_Exception as error:
        raise ValueError(f"source = {str(path)!r}: {error}") from None
    with capture as reader:
        for packet in reader:
            if TCP not in packet:
                continue
            segment = packet[TCP]
            if IP in packet:
                ip = packet[IP]
                length = ip.len - 4 * ip.ihl
            elif IPv6 in packet:
                ip = packet[IPv6]
                length = ip.plen - (len(ip.payload) - len(segment))
            else:
                continue
            data = max(0, length - 4 * (segment.dataofs or 5))
            yield (
                float(packet.time),
                (ip.src, segment.sport),
                (ip.dst, segment.dport),
                segment,
                data,
            )


def _mss(segment: Any) -> int:
    """Return the MSS option of a SYN less the timestamps that every segment then carries."""
    options = dict(option[:2] for option in segment.options if len(option) > 1)
    stamps = 12 if "Timestamp" in options else 0
    return int(options["MSS"]) - stamps if "MSS" in options else WRAP
