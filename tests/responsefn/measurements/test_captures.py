"""read_pcap on a transfer of Linux's TCP, recorded by `captures/record.py`."""

from __future__ import annotations

import gzip
import json
import struct
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from responsefn import read_pcap
from responsefn.measurements.samples import Samples
from tests.surface import for_each

FOLDER = Path(__file__).parent / "captures"
FACTS = json.loads((FOLDER / "transfer.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def scapy():
    return pytest.importorskip("scapy.all", reason="pip install 'hopflow[capture]'")


@pytest.fixture(scope="module")
def transfer(scapy):
    return scapy.rdpcap(str(FOLDER / "transfer.pcap"))


@pytest.fixture(scope="module")
def read(scapy):
    return read_pcap(FOLDER / "transfer.pcap")


def test_packets_and_losses_are_those_of_the_path_that_dropped_them(read) -> None:
    """Every packet that the path dropped was sent again once (tcp_info); events hold one or more."""
    assert read.packets.tolist() == [FACTS["packets with data"]]
    assert FACTS["tcp_info"]["total_retrans"] == FACTS["dropped"]
    events = read.p[0] * read.packets[0]
    assert events == round(events)
    assert 0.5 * FACTS["dropped"] < events <= FACTS["dropped"]


def test_the_round_trip_is_that_of_the_path(read) -> None:
    """Delay and transmission at least; at most the kernel's srtt, which waits for delayed ACKs too."""
    least = 2.0 * FACTS["one-way delay (s)"] + 8.0 * 1500 / FACTS["bandwidth (bit/s)"]
    assert least < read.rtt[0] < 1.2e-6 * FACTS["tcp_info"]["rtt_us"]


def test_the_rate_is_packets_over_the_time_of_the_transfer(read) -> None:
    """The clock of the program includes handshake, last round trip and end: 1 %."""
    assert read.rate[0] == pytest.approx(FACTS["packets with data"] / FACTS["seconds"], rel=0.01)
    assert read.names[0].endswith("> 10.9.0.2:5001")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_sequence_numbers_may_wrap(scapy, transfer, read, tmp_path, kind: str) -> None:
    """The same transfer with numbers that pass 2^32 in its middle."""
    data = [packet for packet in transfer if packet[scapy.TCP].dport == 5001]
    middle = sorted(packet[scapy.TCP].seq for packet in data)[len(data) // 2]
    moved = []
    for packet in transfer:
        copy = packet.copy()
        segment = copy[scapy.TCP]
        name = "seq" if segment.dport == 5001 else "ack"
        setattr(segment, name, (getattr(segment, name) - middle) % 2**32)
        copy.time, copy.wirelen = packet.time, packet.wirelen
        moved.append(copy)
    write = scapy.wrpcap if kind == "pcap" else scapy.wrpcapng
    write(str(tmp_path / "moved"), moved)
    found = read_pcap(tmp_path / "moved")
    assert (found.p[0], found.packets[0]) == (read.p[0], read.packets[0])
    np.testing.assert_allclose([found.rtt[0], found.rate[0]], [read.rtt[0], read.rate[0]], rtol=1e-4)


def test_segments_made_by_offloads_count_as_packets(scapy, tmp_path) -> None:
    """Ten segments of 4 MSS each, every one acknowledged 50 ms later, the third sent twice."""
    packets, now = [], 100.0

    def add(at, up, **fields):
        ends = {"src": "10.0.0.1", "dst": "10.0.0.2"}
        if not up:
            ends = {"src": "10.0.0.2", "dst": "10.0.0.1"}
        ports = (1000, 80) if up else (80, 1000)
        length = fields.pop("length", 0)
        packet = scapy.Ether() / scapy.IP(**ends)
        packet /= scapy.TCP(sport=ports[0], dport=ports[1], **fields)
        packet /= scapy.Raw(bytes(length)) if length else b""
        packet.time = at
        packets.append(packet)

    add(now, True, flags="S", seq=0, options=[("MSS", 1460)])
    for n in range(10):
        for again in range(2 if n == 2 else 1):
            add(now + 0.1 * n + 0.03 * again, True, flags="A", seq=1 + 5840 * n, ack=1, length=5840)
        add(now + 0.1 * n + 0.05, False, flags="A", seq=1, ack=1 + 5840 * (n + 1))
    scapy.wrpcap(str(tmp_path / "large.pcap"), packets)
    found = read_pcap(tmp_path / "large.pcap")
    assert found.packets.tolist() == [44.0]
    assert found.p.tolist() == [pytest.approx(1 / 44)]
    assert found.rtt.tolist() == [pytest.approx(0.05)]
    assert found.rate.tolist() == [pytest.approx(44 / 0.9)]


def test_a_file_without_a_connection_is_refused(scapy, tmp_path) -> None:
    scapy.wrpcap(str(tmp_path / "none.pcap"), [scapy.Ether() / scapy.IP() / scapy.UDP()])
    with pytest.raises(ValueError, match="must hold a TCP connection"):
        read_pcap(tmp_path / "none.pcap")
    with pytest.raises(ValueError, match="least_packets"):
        read_pcap(tmp_path / "none.pcap", least_packets=0)


# Captures written here, byte by byte: 20 segments of 1,448 bytes in 1.9 s, the 11th sent again 30 ms later, each acknowledged after 40 ms.

MSS, COUNT, AGAIN = 1448, 20, 10
EXPECTED = ([1 / 21], [0.04], [21 / 1.9], [21.0])
"""p, rtt, rate and packets: 20 segments and one again in 19 gaps of 0.1 s."""


def segment(number: int, ack: int, length: int, flags: int = 16, options: bytes = b"") -> bytes:
    """Return a TCP segment from port 1000 or, where it has an ACK of data only, to it."""
    ports = (80, 1000) if not length and ack else (1000, 80)
    words = (5 + len(options) // 4) << 4
    head = struct.pack(">HHIIBBHHH", *ports, number, ack, words, flags, 1000, 0, 0)
    return head + options + bytes(length)


def ipv4(tcp: bytes, length: int | None = None, options: bytes = b"", fragment: int = 0) -> bytes:
    size = 20 + len(options) + len(tcp) if length is None else length
    up = tcp[:2] != b"\0P"
    ends = (b"\x0a\0\0\1", b"\x0a\0\0\2") if up else (b"\x0a\0\0\2", b"\x0a\0\0\1")
    first = 0x45 + len(options) // 4
    head = struct.pack(">BBHHHBBH4s4s", first, 0, size, 0, fragment, 64, 6, 0, *ends)
    return head + options + tcp


def ipv6(tcp: bytes, length: int | None = None, extensions: bytes = b"", following: int = 6) -> bytes:
    size = len(extensions) + len(tcp) if length is None else length
    ends = (bytes(15) + b"\1", bytes(15) + b"\2")
    head = struct.pack(">IHBB", 6 << 28, size, following, 64)
    return head + b"".join(ends if tcp[:2] != b"\0P" else ends[::-1]) + extensions + tcp


def transfer_of(wrap: Any, per: int = 1, handshake: bool = False) -> list[tuple[float, bytes]]:
    """Return times and packets of the connection; each segment is of some packets, the 11th is sent again."""
    packets = []
    if handshake:
        for flags, ack in ((2, 0), (18, 1)):
            options = b"\2\4" + struct.pack(">H", 1460) + b"\1\1\x08\x0a" + bytes(8)
            packets.append((0.5, wrap(segment(7, ack, 0, flags, options))))
    for n in range(COUNT):
        start = 1000 + n * per * MSS
        packets.append((1.0 + 0.1 * n, wrap(segment(start, 1, per * MSS))))
        if n == AGAIN:
            packets.append((1.03 + 0.1 * n, wrap(segment(start, 1, MSS))))
        packets.append((1.04 + 0.1 * n, wrap(segment(1, start + per * MSS, 0))))
    return packets


def pcap(packets: Any, link: int = 101, order: str = "<", nano: bool = False, cut: int = 10**6) -> bytes:
    magic, per = (0xA1B23C4D, 10**9) if nano else (0xA1B2C3D4, 10**6)
    out = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, link)]
    for time, data in packets:
        whole, part = divmod(round(time * per), per)
        out += [struct.pack(f"{order}IIII", whole, part, len(data[:cut]), len(data)), data[:cut]]
    return b"".join(out)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(f"{order}I", len(body) + 12)
    return struct.pack(f"{order}I", kind) + length + body + length


def pcapng(packets: Any, link: int = 1, order: str = "<", resolution: int = 6, others: bytes = b"") -> bytes:
    """Return a file with an interface without options before the one of the packets."""
    section = block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order)
    option = struct.pack(f"{order}HHBxxx", 9, 1, resolution)
    faces = [struct.pack(f"{order}HHI", 101, 0, 0), struct.pack(f"{order}HHI", link, 0, 0) + option]
    per = 2 ** (resolution & 127) if resolution & 128 else 10**resolution
    out = [section, *(block(1, face, order) for face in faces), others]
    for time, data in packets:
        ticks = round(time * per)
        head = struct.pack(f"{order}IIIII", 1, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
        out.append(block(6, head + data, order))
    return b"".join(out)


def ethernet(kind: int, payload: bytes, tags: bytes = b"") -> bytes:
    return bytes(12) + tags + struct.pack(">H", kind) + payload


HOP_BY_HOP = b"\x3c\0" + bytes(6)
DESTINATION = b"\x06\1" + bytes(14)
SNAP = b"\xaa\xaa\x03\0\0\0"
JUMBO = b"\x06\0\xc2\4" + struct.pack(">I", 20 + 8 + MSS)


@for_each([
    ("raw", pcap(transfer_of(ipv4), cut=44)),
    ("big-endian, nanoseconds", pcap(transfer_of(ipv4), 228, ">", nano=True)),
    ("IPv4 with options", pcap(transfer_of(lambda tcp: ipv4(tcp, options=bytes(8))))),
    ("IPv4 of length 0", pcap(transfer_of(lambda tcp: ipv4(tcp, 0)))),
    ("IPv6", pcap(transfer_of(ipv6), 229)),
    ("IPv6 of length 0", pcap(transfer_of(lambda tcp: ipv6(tcp, 0)))),
    ("IPv6, extension headers", pcap(transfer_of(lambda tcp: ipv6(tcp, None, HOP_BY_HOP + DESTINATION, 0)))),
    ("IPv6, jumbo payload", pcap(transfer_of(lambda tcp: ipv6(tcp, 0, JUMBO, 0)))),
    ("Ethernet, padded", pcap(transfer_of(lambda tcp: ethernet(0x0800, ipv4(tcp)) + bytes(6)), 1)),
    ("Ethernet, IPv6, padded", pcap(transfer_of(lambda tcp: ethernet(0x86DD, ipv6(tcp)) + bytes(9)), 1)),
    ("VLANs", pcap(transfer_of(lambda tcp: ethernet(0x0800, ipv4(tcp), b"\x88\xa8\0\1\x81\0\0\2")), 1)),
    ("PPPoE with one byte of protocol", pcap(transfer_of(lambda tcp: ethernet(0x8864, b"\x11\0\0\1\0\0\x57" + ipv6(tcp))), 1)),
    ("PPPoE with one byte of protocol, IPv4", pcap(transfer_of(lambda tcp: ethernet(0x8864, b"\x11\0\0\1\0\0\x21" + ipv4(tcp))), 1)),
    ("PPPoE", pcap(transfer_of(lambda tcp: ethernet(0x8864, b"\x11\0\0\1\0\0\0\x57" + ipv6(tcp))), 1)),
    ("SNAP", pcap(transfer_of(lambda tcp: ethernet(8 + len(ipv4(tcp)), SNAP + b"\x08\0" + ipv4(tcp))), 1)),
    ("SNAP in a VLAN", pcap(transfer_of(lambda tcp: ethernet(8 + len(ipv6(tcp)), SNAP + b"\x86\xdd" + ipv6(tcp), b"\x81\0\0\2")), 1)),
    ("cooked, SNAP", pcap(transfer_of(lambda tcp: bytes(14) + b"\0\4" + SNAP + b"\x08\0" + ipv4(tcp)), 113)),
    ("cooked", pcap(transfer_of(lambda tcp: bytes(14) + b"\x08\0" + ipv4(tcp)), 113)),
    ("cooked 2", pcap(transfer_of(lambda tcp: b"\x86\xdd" + bytes(18) + ipv6(tcp)), 276)),
    ("loopback", pcap(transfer_of(lambda tcp: b"\2\0\0\0" + ipv4(tcp)), 0)),
    ("pcapng", pcapng(transfer_of(lambda tcp: ethernet(0x0800, ipv4(tcp))))),
    ("pcapng, big-endian, 2^-20 s", pcapng(transfer_of(ipv4), 101, ">", 0x94)),
    ("pcapng with other blocks", pcapng(transfer_of(ipv4), 101, others=block(4, bytes(8)) + block(5, bytes(12)))),
    ("gzip", gzip.compress(pcap(transfer_of(ipv4)))),
])  # fmt: skip
def test_forms_of_captures(name: str, content: bytes) -> None:
    assert name
    np.testing.assert_allclose(_read(content), EXPECTED, rtol=1e-4)


def _samples(content: bytes, **options: Any) -> Samples:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.pcap").write_bytes(content)
        return read_pcap(Path(folder) / "a.pcap", **options)


def _read(content: bytes, **options: Any) -> Any:
    found = _samples(content, **options)
    return found.p, found.rtt, found.rate, found.packets


@pytest.mark.parametrize(("wrap", "name"), [(ipv4, "10.0.0.1:1000 > 10.0.0.2:80"), (ipv6, "[::1]:1000 > [::2]:80")])
def test_addresses_of_ipv6_are_in_brackets(wrap: Any, name: str) -> None:
    """Otherwise nobody can tell the port of ::1:1000 from a part of the address ::1:1000 (RFC 5952, 6)."""
    assert _samples(pcap(transfer_of(wrap))).names == (name,)


def test_segments_of_offloads_need_the_handshake_or_the_mss() -> None:
    """Segments of 10 packets: by the handshake's 1,460 bytes less 12 for timestamps, or as the caller says."""
    with_handshake = _read(pcap(transfer_of(ipv4, 10, handshake=True)))
    without = pcap(transfer_of(ipv4, 10))
    np.testing.assert_allclose(_read(without, mss=1448), with_handshake)
    assert with_handshake[3].tolist() == [201.0]
    with pytest.raises(ValueError, match=r"a\.pcap': 10\.0\.0\.1:1000 > 10\.0\.0\.2:80 has segments of 14480 bytes and no handshake; give mss="):  # fmt: skip
        _read(without)
    with pytest.raises(ValueError, match="mss = 0"):
        _read(without, mss=0)


def test_addresses_that_are_used_again_are_another_connection() -> None:
    """The second begins with a SYN of another number and repeats the sequence numbers: no segment is sent again."""
    first = transfer_of(ipv4, handshake=True)
    second = [(10.0, ipv4(segment(8, 0, 0, 2))), *((10.0 + time, data) for time, data in first[2:])]
    content = pcap(first + second)
    assert _read(content)[3].tolist() == [21.0, 21.0]
    flow = "10.0.0.1:1000 > 10.0.0.2:80"
    assert _samples(content).names == (flow, f"{flow}, connection 2")


def test_addresses_and_numbers_that_are_used_again_are_another_connection() -> None:
    """Simulators number every connection from the same value: 22 of 42 packets were losses, where one of 21 is."""
    first = transfer_of(ipv4, handshake=True)
    again = [(10.0 + time, data[:4] + b"\0\1" + data[6:]) for time, data in first]
    assert _read(pcap(first + again))[3].tolist() == [21.0, 21.0]
    syn = first[0]
    assert _read(pcap([*first[:2], (0.9, syn[1]), *first[2:]]))[3].tolist() == [21.0]  # sent again before the data


SINCE_1970 = 1.7e9
NAMED_UNITS = [
    (pcapng([(SINCE_1970 * 1e3 + 1e3 * time, data) for time, data in transfer_of(ipv4)], 101), 1e3, "1700000001000 s"),
    (pcapng([(SINCE_1970 / 1e3 + time / 1e3, data) for time, data in transfer_of(ipv4)], 101, resolution=9), 1e-3, "1700000 s"),
    (pcap([(SINCE_1970 + int(time) + time % 1 / 1e3, data) for time, data in transfer_of(ipv4)], nano=True), None,
     "all its packets are in the first 0.00094 s of a second"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "ratio", "reason"), NAMED_UNITS, ids=["ns as us", "us as ns", "us in a file of ns"]
)
def test_times_in_another_unit_are_named(content: bytes, ratio: float | None, reason: str) -> None:
    """A pcapng file of ns without `if_tsresol` had a round trip of 40 s, one of us that says ns 40 us."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rtt = _read(content)[1]
    if ratio is not None:
        np.testing.assert_allclose(rtt, 0.04 * ratio, rtol=1e-4)
    assert f"{reason}{' after 1970' * (ratio is not None)}, as with times in another unit" in str(caught[0].message)


@pytest.mark.parametrize("start", [0.0, 7e5, SINCE_1970, 4e9])
def test_times_since_1970_or_since_the_beginning_are_not_named(start: float) -> None:
    """Of simulators, and of devices without a date; whole seconds are those of a coarse clock."""
    packets = [(start + time, data) for time, data in transfer_of(ipv4)]
    for content in (pcap(packets), pcap(packets, nano=True), pcapng(packets, 101, resolution=9)):
        np.testing.assert_allclose(_read(content), EXPECTED, rtol=1e-3)


def test_packets_in_another_order_than_their_times_are_named() -> None:
    """Two files of a device's queues, one after the other: each ACK of the second was of two segments of the first."""
    packets = transfer_of(ipv4)
    with pytest.warns(UserWarning, match=r"80 \(1\.9 s\): packets of the file are this much earlier than ones before"):
        rate = _read(pcap(packets[::2] + packets[1::2]))[2]
    assert rate.tolist() == [pytest.approx(EXPECTED[2][0])]
    rotated = packets[4:] + packets[:4]
    with pytest.warns(UserWarning, match="sort them by time"):
        assert _read(pcap(rotated))[2].tolist() == [pytest.approx(EXPECTED[2][0])]


@pytest.mark.parametrize(
    ("packets_in_flight", "scale", "is_named"),
    [(10, 4, True), (9, 4, False), (10, 0, True), (10, None, True), (10, 5, False), (30, 4, False)],
)
def test_windows_of_receivers_that_are_full_are_named(
    packets_in_flight: int, scale: int | None, is_named: bool
) -> None:
    """A window of 10 packets, shifted by the receiver's SYN; data beyond it say that it is another one."""
    option = b"" if scale is None else b"\1\3\3" + bytes([scale])
    window = 10 * MSS >> (scale or 0) if scale != 5 else 10 * MSS >> 4
    packets = [
        (1.0, ipv4(segment(999, 0, 0, 2, option))),
        (1.1, ipv4(segment(0, 1000, 0, 18, option))),
    ]
    for n in range(40):
        packets.append((1.1 + 0.1 * (n // packets_in_flight), ipv4(segment(1000 + MSS * n, 1, MSS))))
        acked = windowed(ipv4(segment(1, 1000 + MSS * (n + 1), 0)), window)
        packets.append((1.1 + 0.1 * (n // packets_in_flight + 1), acked))
    packets.sort(key=lambda packet: (packet[0], packet[1][20:22] != b"\0P"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _read(pcap(packets))
    named = [str(warning.message) for warning in caught if "window" in str(warning.message)]
    assert [text.endswith("the rate is not that of congestion control") for text in named] == [True] * is_named


@pytest.mark.parametrize(("pause", "is_named"), [(0.1, False), (0.3, True), (60.0, True)])
def test_pauses_of_the_application_are_named(pause: float, is_named: bool) -> None:
    """Ten answers of two packets on one connection: the rate is that of the requests."""
    packets = []
    for n in range(20):
        time = 1.0 + 0.05 * n + (n // 2) * pause
        packets += [
            (time, ipv4(segment(1000 + MSS * n, 1, MSS))),
            (time + 0.04, ipv4(segment(1, 1000 + MSS * (n + 1), 0))),
        ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _read(pcap(packets))
    text = "nothing was in flight in this part of the time: the rate is that of the application"
    assert [text in str(warning.message) for warning in caught] == [True] * is_named


LARGEST = b"\2\4" + struct.pack(">H", 1460)
ACKED = segment(1000, 1, 0)
SHAKES = {
    "SYN": segment(999, 0, 0, 2, LARGEST),
    "SYN, ACK": segment(0, 1000, 0, 18, LARGEST),
    "ACK": ACKED[2:4] + ACKED[:2] + ACKED[4:],
}
"""Frames of a handshake in front of `transfer_of`, by their flags."""


@pytest.mark.parametrize(
    ("handshake", "is_named"),
    [
        ([(0.5, "SYN"), (0.6, "SYN, ACK"), (0.6, "ACK")], True),
        ([(0.5, "SYN"), (0.5, "SYN, ACK"), (0.6, "ACK")], True),  # at the other host
        ([(0.5, "SYN"), (0.56, "SYN, ACK"), (0.57, "ACK")], False),
        ([(0.5, "SYN"), (0.9, "SYN"), (0.94, "SYN, ACK"), (0.94, "ACK")], False),
        ([(0.5, "SYN"), (0.54, "SYN, ACK"), (0.9, "SYN, ACK"), (0.9, "ACK")], False),
        ([(0.5, "SYN"), (0.9, "ACK")], False),
        ([(0.5, "SYN"), (0.54, "SYN, ACK")], False),  # the first data come after half a second
        ([(0.8, "SYN, ACK"), (0.9, "ACK")], False),
    ],
)
def test_round_trips_far_below_that_of_the_handshake_are_named(handshake: Any, is_named: bool) -> None:
    """Data have round trips of 40 ms: near the receiver where the handshake takes more than 80 ms, without a frame twice."""
    content = pcap([*((time, ipv4(SHAKES[flags])) for time, flags in handshake), *transfer_of(ipv4)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rtt = _samples(content).rtt.item()
    assert rtt == pytest.approx(0.04)
    text = "10.0.0.1:1000 > 10.0.0.2:80 (0.04 s, handshake 0.1 s): rtt is of a part of the path alone"
    assert [text in str(warning.message) for warning in caught] == [True] * is_named


@pytest.mark.parametrize("wrap", [ipv4, ipv6])
@pytest.mark.parametrize(
    ("hops", "answer", "is_named"),
    [
        ((48, 64), None, "hop limits 48, of the receiver 64"),
        ((51, 128), 0.05, "hop limits 51, of the receiver 128, other direction 0.05 s"),
        ((51, 128), 0.03, ""),  # the shorter part is that of the other direction
        ((64, 48), None, ""),
        ((64, 64), None, ""),
        ((61, 57), None, ""),
    ],
)
def test_captures_near_the_receiver_are_named_without_a_handshake(
    wrap: Any, hops: tuple[int, int], answer: float | None, is_named: str
) -> None:
    """By hop limits: the receiver's frames have passed no router. A capture that began late had 0.1 ms without a word."""
    packets = transfer_of(wrap)
    if answer is not None:
        back = [(3.5, struct.pack(">HHIIBBHHH", 80, 1000, 1, 1000, 80, 16, 1000, 0, 0) + bytes(500))]
        back.append((3.5 + answer, struct.pack(">HHIIBBHHH", 1000, 80, 1000, 501, 80, 16, 1000, 0, 0)))
        packets += [(time, wrap(tcp)) for time, tcp in back]
    place, address = (8, slice(12, 16)) if wrap is ipv4 else (7, slice(8, 24))
    sender = packets[0][1][address]
    packets = [
        (time, packet[:place] + bytes([hops[packet[address] != sender]]) + packet[place + 1 :])
        for time, packet in packets
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _samples(pcap(packets))
    assert found.rtt.tolist() == [pytest.approx(0.04)]
    named = [str(warning.message) for warning in caught if "near the receiver" in str(warning.message)]
    assert [f"(0.04 s, {is_named}): rtt is of a part of the path alone" in text for text in named] == [True] * bool(
        is_named
    )


@pytest.mark.parametrize(("answer", "segments", "is_named"), [(0.09, 20, True), (0.09, 19, False), (0.03, 20, False)])
def test_captures_near_the_receiver_are_named_by_round_trips_of_the_other_direction(
    answer: float, segments: int, is_named: bool
) -> None:
    """With equal hop limits and no handshake, as behind a proxy: round trips of 40 ms beside others of 90 ms."""
    packets = transfer_of(ipv4)
    for n in range(segments):
        time, first = 5.0 + 0.2 * n, 1 + 500 * n
        packets.append((time, ipv4(struct.pack(">HHIIBBHHH", 80, 1000, first, 1000, 80, 16, 1000, 0, 0) + bytes(500))))
        packets.append(
            (time + answer, ipv4(struct.pack(">HHIIBBHHH", 1000, 80, 1000, first + 500, 80, 16, 1000, 0, 0)))
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _samples(pcap(packets))
    assert found.rtt.tolist()[0] == pytest.approx(0.04)
    text = "(0.04 s, other direction 0.09 s): rtt is of a part of the path alone"
    assert [text in str(w.message) for w in caught if "near the receiver" in str(w.message)] == [True] * is_named


@pytest.mark.parametrize(
    ("missing", "repaired", "share"),
    [((), (), None), ((5, 9), (), "10%"), ((5, 9), (5, 9), None), ((5, 9), (9,), "5%"), ((COUNT - 1,), (), "5%")],
)
def test_captures_that_dropped_packets_are_named(
    missing: tuple[int, ...], repaired: tuple[int, ...], share: str | None
) -> None:
    """By acknowledged bytes that are not in the file; not those that were sent again later, nor the number of a FIN.

    Half of the segments were missing, the rate was half of the right one, and there was not a word.
    """
    numbers = {1000 + n * MSS: n for n in range(COUNT)}
    packets = []
    for time, packet in transfer_of(ipv4):
        if len(packet) < MSS or (n := numbers[int.from_bytes(packet[24:28])]) not in missing:
            packets.append((time, packet))
        elif n in repaired:
            packets.append((time + 0.3, packet))
    packets.append((1.0 + 0.1 * COUNT, ipv4(segment(1000 + COUNT * MSS, 1, 0, 17))))
    packets.append((1.04 + 0.1 * COUNT, ipv4(segment(1, 1001 + COUNT * MSS, 0))))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _samples(pcap(sorted(packets, key=lambda one: one[0])), least_packets=10)
    named = [str(warning.message) for warning in caught if "acknowledged bytes" in str(warning.message)]
    expected = f"> 10.0.0.2:80 ({share}): the file lacks this part of the acknowledged bytes, as of a capture that"
    assert [expected in text for text in named] == [True] * (share is not None)


def test_the_longest_connection_of_a_capture_without_samples_is_named() -> None:
    packets = transfer_of(ipv4)
    for content, text in (
        (pcap(packets[:11]), "10.0.0.1:1000 > 10.0.0.2:80 has 6 packets"),
        (
            pcap([one for one in packets if len(one[1]) > MSS]),
            "10.0.0.1:1000 > 10.0.0.2:80 has 21 packets and no ACK of them",
        ),
    ):
        with pytest.raises(ValueError, match=f"must hold a TCP connection with 20 packets of data and ACKs; {text}"):
            _samples(content)


def test_a_direction_of_which_each_ack_may_be_of_a_retransmission_is_named() -> None:
    """Two segments, both sent again before the ACK of both; another connection is read."""
    twice = [(10.0 + 0.1 * n, ipv4(segment(1000 + n % 2 * MSS, 1, MSS))) for n in range(4)]
    twice.append((10.4, ipv4(segment(1, 1000 + 2 * MSS, 0))))
    second = [(9.0, ipv4(segment(999, 0, 0, 2))), *twice]
    content = pcap(transfer_of(ipv4, handshake=True) + second)
    with pytest.warns(UserWarning, match=r"left out: 10\.0\.0\.1:1000 > 10\.0\.0\.2:80 \(4 packets\): no ACK is of"):
        assert _read(content, least_packets=2)[3].tolist() == [21.0]


def test_a_direction_whose_segments_are_divided_after_the_capture_is_named() -> None:
    """Packets of 1,430 bytes left a network card that was given 1,446; no ACK is of the end of a segment of the file."""
    sent = [(0.001 * n, ipv4(segment(1000 + 1446 * n, 1, 1446))) for n in range(24)]
    acks = [(0.1 + 0.001 * n, ipv4(segment(1, 1000 + 1430 * n, 0))) for n in range(1, 24)]
    with pytest.raises(ValueError, match=r"has 24 packets and no ACK of the end of one that was sent once$"):
        _samples(pcap(sorted(sent + acks)))
    second = transfer_of(ipv4, handshake=True)
    moved = [(time + 20.0, packet) for time, packet in sorted(sent + acks)]
    with pytest.warns(
        UserWarning, match=r"left out: .* \(24 packets\): no ACK is of the end of a segment .* other sizes"
    ):
        assert _read(pcap([*second, (19.0, ipv4(segment(999, 0, 0, 2))), *moved]))[3].tolist() == [21.0]


@pytest.mark.parametrize(("per", "is_named"), [(7, True), (6, False)])
def test_directions_are_left_out_by_packets_not_by_segments(per: int, is_named: bool) -> None:
    """A receiver's offload merged packets into one segment, of which the first was sent again 14 times before the ACK."""
    again = [
        (2.0, ipv4(segment(1000, 1, per * MSS))),
        *((2.1 + 0.1 * n, ipv4(segment(1000, 1, MSS))) for n in range(14)),
    ]
    sizes = b"\2\4" + struct.pack(">H", MSS)
    shakes = [(1.9, ipv4(segment(999, 0, 0, 2, sizes))), (1.9, ipv4(segment(0, 1000, 0, 18, sizes)))]
    merged = [*shakes, *again, (4.0, ipv4(segment(1, 1000 + per * MSS, 0)))]
    content = pcap(transfer_of(ipv4, handshake=True) + [(time + 8.0, packet) for time, packet in merged])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _read(content, least_packets=21)
    assert ["left out: 10.0.0.1:1000 > 10.0.0.2:80 (21 packets)" in str(one.message) for one in caught] == [
        True
    ] * is_named


def test_some_acks_may_have_the_times_of_their_segments_and_not_all() -> None:
    """Clocks of captures may be coarse."""
    packets = transfer_of(ipv4)
    packets[1] = (packets[0][0], packets[1][1])
    p, rtt, _, count = _read(pcap(packets))
    assert (p, rtt, count) == (pytest.approx([1 / 21]), pytest.approx([0.04 * 18 / 19]), [21.0])
    with pytest.raises(ValueError, match=r"a\.pcap': 10\.0\.0\.1:1000 > 10\.0\.0\.2:80 has all ACKs at the times"):
        _read(pcap([(round(10.0 * time) / 10.0, data) for time, data in packets]))


@pytest.mark.parametrize(("pure", "is_named"), [(0, True), (1, False)])
def test_captures_without_pure_acks_are_named(pure: int, is_named: bool) -> None:
    """A filter such as `tcp.len > 0` leaves the ACKs in the receiver's own data, which may come much later."""
    sent = [(0.1 * n, ipv4(segment(1000 + n * MSS, 1, MSS))) for n in range(40)]
    answers = []
    for n in range(20):
        answer = segment(1 + 10 * n, 1000 + 2 * n * MSS + MSS, 10 if n >= pure else 0)
        answers.append((0.2 * n + 0.15, ipv4(struct.pack(">HH", 80, 1000) + answer[4:])))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _read(pcap(sorted(sent + answers)))
    text = "10.0.0.1:1000 > 10.0.0.2:80 (0.15 s): all ACKs carry data"
    assert [text in str(warning.message) for warning in caught] == [True] * is_named


@pytest.mark.parametrize(("gap", "is_named"), [(1e-5, True), (1e-3, True), (1.1e-3, False)])
def test_rates_of_bursts_are_named(gap: float, is_named: bool) -> None:
    """A transfer that fits into the first window: its packets leave within a part of the round trip of 40 ms."""
    sent = [(gap * n, ipv4(segment(1000 + n * MSS, 1, MSS))) for n in range(40)]
    answers = []
    for n in range(40):
        answer = segment(1, 1000 + (n + 1) * MSS, 0)
        answers.append((gap * n + 0.04, ipv4(struct.pack(">HH", 80, 1000) + answer[4:])))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _read(pcap(sorted(sent + answers)))
    text = (
        f"10.0.0.1:1000 > 10.0.0.2:80 (40 packets in {39 * gap:.3g} s, rtt 0.04 s): all packets were sent within less"
    )
    assert [text in str(warning.message) for warning in caught] == [True] * is_named
    assert all(warning.filename == __file__ for warning in caught)


def test_a_clock_coarser_than_round_trips_is_named() -> None:
    """All ACKs but one have the times of their segments: the mean says little."""
    packets = transfer_of(ipv4)
    times = [round(10.0 * time) / 10.0 for time, _ in packets]
    times[1] += 0.04
    with pytest.warns(UserWarning, match=r"10\.0\.0\.1:1000 > 10\.0\.0\.2:80: most ACKs have the times") as caught:
        assert _read(pcap([(time, data) for time, (_, data) in zip(times, packets, strict=True)]))[1].tolist() == [
            pytest.approx(0.04 / 20)
        ]
    assert caught[0].filename == __file__


@pytest.mark.parametrize("order", ["<", ">"])
def test_times_of_an_interface_count_from_its_offset(order: str) -> None:
    """Of pcapng's option if_tsoffset: every second packet is of an interface whose times begin 100 s later."""
    faces = [struct.pack(f"{order}HHI", 101, 0, 0)] * 2
    faces[1] += struct.pack(f"{order}HHq", 14, 8, 100)
    section = block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order)
    out = [section, *(block(1, face, order) for face in faces)]
    for n, (time, data) in enumerate(transfer_of(ipv4)):
        ticks = round((time + 100.0 - 100.0 * (n % 2)) * 1e6)
        head = struct.pack(f"{order}IIIII", n % 2, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
        out.append(block(6, head + data, order))
    np.testing.assert_allclose(_read(b"".join(out)), EXPECTED, rtol=1e-4)


@pytest.mark.parametrize("rtt_ns", [100, 700, 5200])
@pytest.mark.parametrize("gap", [Fraction(1, 8), Fraction(1, 1000)])
def test_round_trips_of_a_nanosecond_clock_keep_their_digits(rtt_ns: int, gap: Fraction) -> None:
    """In 2026 a float64 of seconds since 1970 has steps of 238 ns; with gaps of 1/8 s all round trips are rounded alike."""
    start, packets = 1_784_851_200 + Fraction(123_456_789, 10**9), []
    for n in range(COUNT):
        packets.append((start + n * gap, ipv4(segment(1000 + n * MSS, 1, MSS))))
        packets.append((start + n * gap + Fraction(rtt_ns, 10**9), ipv4(segment(1, 1000 + (n + 1) * MSS, 0))))
    for content in (pcap(packets, nano=True), pcapng(packets, 101, resolution=9), pcapng(packets, 101, resolution=10)):
        _, rtt, rate, count = _read(content)
        assert (rtt[0], count[0]) == (pytest.approx(rtt_ns * 1e-9, rel=1e-6), COUNT)
        assert rate[0] == pytest.approx(COUNT / ((COUNT - 1) * float(gap)), rel=1e-12)


def test_interfaces_with_other_units_and_offsets_have_one_time() -> None:
    """Data by a clock of 1/2^30 s since 2026, ACKs by one of ns since 1970, in the ns that both can tell."""
    offset, out = 1_784_851_200, [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    out.append(block(1, struct.pack("<HHIHHBxxxHHq", 101, 0, 0, 9, 1, 128 | 30, 14, 8, offset)))
    out.append(block(1, struct.pack("<HHIHHBxxx", 101, 0, 0, 9, 1, 9)))
    for n in range(COUNT):
        sent = Fraction(n, 8)
        pair = (
            (0, sent * 2**30, segment(1000 + n * MSS, 1, MSS)),
            (1, (offset + sent) * 10**9 + 600, segment(1, 1000 + (n + 1) * MSS, 0)),
        )
        for interface, ticks, tcp in pair:
            data = ipv4(tcp)
            head = struct.pack("<IIIII", interface, int(ticks) >> 32, int(ticks) & 0xFFFFFFFF, len(data), len(data))
            out.append(block(6, head + data))
    assert _read(b"".join(out))[1][0] == pytest.approx(6e-7, rel=1e-6)


@pytest.mark.parametrize("minor", [2, 3])
@pytest.mark.parametrize("swapped", [True, False])
def test_lengths_of_the_first_versions_of_pcap(minor: int, swapped: bool) -> None:
    """Up to version 2.3 of pcap the original length may stand before the captured one, as in libpcap."""
    content = bytearray(pcap(transfer_of(ipv4), cut=44))
    content[6] = minor
    at = 24
    while swapped and at < len(content):
        lengths = content[at + 8 : at + 16]
        content[at + 8 : at + 16] = lengths[4:] + lengths[:4]
        at += 16 + struct.unpack("<I", lengths[:4])[0]
    p, rtt, _, count = _read(bytes(content))
    assert (p, rtt, count) == (pytest.approx([1 / 21]), pytest.approx([0.04]), [21.0])


def test_a_file_that_ends_within_a_packet_is_said_to() -> None:
    """Cut within the data of the last packet and within its header; gzip cut in its middle."""
    content = pcap(transfer_of(ipv4))
    for cut in (content[:-1], content[:-45], pcapng(transfer_of(ipv4), 101)[:-2]):
        with pytest.warns(UserWarning, match=r"a\.pcap' ends within packet 41: the 40 before it"):
            assert _read(cut)[3].tolist() == [21.0]
    packed = gzip.compress(content, 0)
    with pytest.warns(UserWarning, match="ends within packet"):
        _read(packed[: len(packed) * 3 // 4], least_packets=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _read(content)[3].tolist() == [21.0]


def changed(at: int, data: bytes, content: bytes = pcap(transfer_of(ipv4))) -> bytes:
    return content[:at] + data + content[at + len(data) :]


def moved(number: int, seconds: float) -> bytes:
    """Return a capture whose packets are later by some seconds from one on."""
    packets = transfer_of(ipv4)
    return pcap([(1e5 + time + seconds * (n >= number), data) for n, (time, data) in enumerate(packets)])


@for_each([
    (b"", "ends in its header"),
    (b"\xd4\xc3\xb2\xa1", "ends in its header"),
    (b"GIF89a" * 9, r"must be a pcap or pcapng file, and begins with b'GIF8'"),
    (b"\x1f\x8b" + bytes(40), "damaged"),
    (changed(4, b"\3\0"), "version 3.4 of pcap: must be 2"),
    (changed(20, b"\x69\0\0\0"), "packet 1: link type 105: must be one of"),
    (changed(32, b"\0\0\5\0"), "packet 1: 327680 bytes captured: must be at most 262144"),
    (pcap(transfer_of(lambda tcp: ipv4(tcp, fragment=0x2000))), "packet 1: IP fragments of TCP are not read"),
    (pcap(transfer_of(lambda tcp: ipv6(tcp, None, b"\6\0\0\1\0\0\0\0", 44))), "packet 1: IP fragments of TCP are not read"),
    (pcap(transfer_of(ipv4), cut=30), "packet 1: is cut within the headers"),
    (pcap(transfer_of(lambda tcp: ipv4(tcp, 30))), "packet 1: a TCP header of 20 bytes in 10: must"),
    (pcap(transfer_of(lambda tcp: ipv4(tcp[:12] + b"\x10" + tcp[13:]))), "packet 1: a TCP header of 4 bytes"),
    (pcap(transfer_of(lambda tcp: b"\x41" + ipv4(tcp)[1:])), "an IPv4 header of fewer than 20 bytes"),
    (pcap([(1.0, ipv4(segment(1, 0, 0, 2, b"\2\4\0\5")))]), "MSS 5 in the handshake: must be larger"),
    (pcap([(9.0 - time, data) for time, data in transfer_of(ipv4)]), "has ACKs before their segments; sort the packets by time"),
    (moved(9, -1e4), r"packet 10: -9999\.[0-9]+ s after the packet before it: must be -3600 to 3\.16224e\+07 s"),
    (moved(9, 3e8), r"packet 10: 3e\+08 s after the packet before it: must be -3600"),
    (pcapng([(t + 3e8 * (n > 8), data) for n, (t, data) in enumerate(transfer_of(ipv4))], 101), "s after the packet before it: must"),
    (moved(3, 300.0), r"a\.pcap'.*: 10\.0\.0\.1:1000 > 10\.0\.0\.2:80 has an ACK 300.* s after its segment: must be at most 240 s"),
    (changed(28, struct.pack("<I", 10**6)), "packet 1: 1000000 as the fraction of a second in units of 1e-06 s: must"),
    (pcapng([], 101), "must hold a TCP connection with 20 packets of data and ACKs"),
    (pcapng([], 101, others=block(3, bytes(8))), "block 4: simple packet blocks have no times"),
    (pcapng([], 101, others=block(77, bytes(8))), "block 4: type 0x0000004d: must be a block"),
    (pcapng([], 101, others=block(6, struct.pack("<IIIII", 9, 0, 0, 0, 0))), "interface 9: must be less than 2"),
    (pcapng([], 101, others=block(6, struct.pack("<IIIII", 1, 0, 0, 99, 99))), "99 bytes captured of a packet: must fit"),
    (pcapng([], 101, others=block(6, b"")), "block 4: must have more than 12 bytes"),
    (pcapng([], 101, others=block(4, b"")[:-4] + bytes(4)), "block 4: lengths at its begin and end differ"),
    (pcapng([], 101, others=struct.pack("<II", 6, 2**32 - 4)), "block 4: 4294967292 bytes: must be"),
    (pcap([(1.0, ethernet(0x0800, ipv4(b"", 20)[:9] + b"\x2f" + ipv4(b"", 20)[10:]))], 1), "skipped: 1 of IP protocol 47"),
])  # fmt: skip
def test_captures_that_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        _read(content)
    assert type(error.value) is ValueError
    assert "a.pcap" in str(error.value)


@pytest.mark.slow
def test_each_byte_may_be_damaged() -> None:
    """Any byte of a header set to 0, 255 or its complement: an answer or a ValueError."""
    errors = set()
    ng = pcapng(transfer_of(ipv6), 229)[:700]
    for content in (pcap(transfer_of(ipv4, handshake=True), cut=60), ng):
        for at in range(400):
            for byte in (0, 255, content[at] ^ 255):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    try:
                        _read(changed(at, bytes([byte]), content), least_packets=2)
                    except ValueError as error:
                        errors.add(type(error))
    assert errors == {ValueError}


# Connections of captures that are tests of tcpdump (the-tcpdump-group/tcpdump, tests/*.pcap, BSD-3-Clause): times, numbers and
# lengths of their packets as its results (tests/*.out) print them; the bytes are written here. Expected are data packets and
# times from these lists by hand.

CAPTURED: dict[str, tuple[str, list[tuple[int, int, int, int, int, int]], dict[str, Any]]] = {
    # us, sender (0: begins), sequence number, ACK, flags, bytes of data. The last two segments of the first sender are sent
    # again as one with the FIN: a loss event.
    "ssh": ("ethernet", [
        (0, 0, 0, 0, 2, 0), (25681, 1, 0, 1, 18, 0), (26337, 0, 1, 1, 24, 21), (53227, 1, 1, 22, 16, 0), (54308, 1, 1, 22, 24, 39),
        (54378, 0, 22, 40, 16, 0), (54922, 0, 22, 40, 24, 1392), (74799, 1, 40, 22, 24, 496), (74963, 0, 1414, 536, 16, 0),
        (112915, 1, 536, 1414, 16, 0), (112985, 0, 1414, 536, 24, 48), (202383, 1, 536, 1462, 16, 0), (228083, 1, 536, 1462, 24, 764),
        (228154, 0, 1462, 1300, 16, 0), (232093, 0, 1462, 1300, 24, 16), (300514, 1, 1300, 1478, 16, 0), (300594, 0, 1478, 1300, 24, 44),
        (315006, 1, 1300, 1522, 16, 0), (316262, 1, 1300, 1522, 24, 44), (316334, 0, 1522, 1344, 16, 0), (316421, 0, 1522, 1344, 24, 60),
        (331414, 1, 1344, 1582, 24, 52), (331487, 0, 1582, 1396, 16, 0), (331647, 0, 1582, 1396, 24, 1132), (349716, 1, 1396, 2714, 24, 1092),
        (349787, 0, 2714, 2488, 16, 0), (428123, 0, 2714, 2488, 16, 1460), (428124, 0, 4174, 2488, 24, 712), (443972, 1, 2488, 4886, 16, 0),
        (457738, 1, 2488, 4886, 24, 28), (457844, 0, 4886, 2516, 16, 0), (458289, 0, 4886, 2516, 24, 112), (472340, 1, 2516, 4886, 24, 396),
        (472476, 0, 4998, 2912, 16, 0), (488617, 1, 2912, 4998, 24, 44), (488707, 0, 4998, 2956, 16, 0), (489349, 0, 4998, 2956, 24, 188),
        (506423, 1, 2956, 5186, 24, 72), (506596, 0, 5186, 3028, 16, 0), (522234, 1, 3028, 5186, 24, 108), (522302, 0, 5186, 3136, 16, 0),
        (524998, 1, 3136, 5186, 24, 176), (525058, 0, 5186, 3312, 16, 0), (525180, 0, 5186, 3312, 24, 36), (525180, 0, 5222, 3312, 24, 60),
        (526507, 0, 5282, 3312, 17, 0), (555264, 1, 3312, 5186, 16, 0), (555385, 0, 5186, 3312, 25, 96), (564884, 1, 3312, 5222, 16, 0),
        (564890, 1, 3312, 5283, 16, 0), (564891, 1, 3312, 5283, 17, 0), (565147, 0, 5283, 3313, 16, 0),
    ], {"p": [1 / 14, 0], "packets": [14, 12], "rate": [14 / 0.529048, 12 / 0.470690]}),
    # begins within the connection; each segment is acknowledged at once, except for the first
    "bgp-rt-prefix": ("ethernet", [
        (0, 0, 0, 0, 24, 58), (45404, 1, 0, 58, 16, 0), (45601, 0, 58, 0, 24, 124), (45610, 1, 0, 182, 16, 0), (61146, 0, 182, 0, 24, 66),
        (61171, 1, 0, 248, 16, 0), (80241, 0, 248, 0, 24, 66), (80255, 1, 0, 314, 16, 0), (104137, 0, 314, 0, 24, 54), (104163, 1, 0, 368, 16, 0),
        (130927, 0, 368, 0, 24, 59), (130938, 1, 0, 427, 16, 0), (155796, 0, 427, 0, 24, 60), (155822, 1, 0, 487, 16, 0),
    ], {"p": [0], "packets": [7], "rate": [7 / 0.155796], "rtt": [45515e-6 / 7]}),
    "zmtp1": ("ethernet", [
        (0, 0, 0, 0, 2, 0), (19, 1, 0, 1, 18, 0), (33, 0, 1, 1, 16, 0), (94, 0, 1, 1, 24, 2), (100, 1, 1, 3, 16, 0), (108, 1, 1, 3, 24, 2),
        (117, 0, 3, 3, 16, 0), (168, 0, 3, 3, 24, 96), (331, 1, 3, 99, 24, 32), (421, 0, 99, 35, 24, 20), (505, 1, 35, 119, 24, 32),
        (599, 0, 119, 67, 24, 551), (738, 1, 67, 670, 24, 32), (951, 0, 670, 99, 17, 0), (1050, 1, 99, 671, 17, 0), (1066, 0, 671, 100, 16, 0),
    ], {"p": [0, 0], "packets": [4, 4], "rtt": [98e-6, 102e-6], "rate": [4 / 505e-6, 4 / 630e-6]}),
    # segments of 7,100 bytes of an offload, MSS 1,460: five packets each, in a cooked capture
    "mptcp-v1": ("cooked", [
        (0, 0, 0, 0, 2, 0), (43, 1, 0, 1, 18, 0), (113, 0, 1, 1, 16, 0), (254, 0, 1, 1, 24, 7100), (268, 1, 1, 7101, 16, 0), (285, 0, 7101, 1, 24, 1092),
        (291, 1, 1, 7101, 24, 7100), (318, 0, 8193, 7101, 16, 0), (328, 0, 8193, 7101, 16, 1420), (329, 1, 7101, 7101, 24, 1092),
        (343, 1, 8193, 8193, 16, 0), (343, 0, 9613, 8193, 16, 0), (362, 0, 9613, 8193, 24, 656), (376, 1, 8193, 9613, 16, 0),
        (392, 1, 8193, 10269, 16, 0), (414, 0, 10269, 8193, 17, 0), (476, 1, 8193, 10270, 24, 2076), (512, 0, 10270, 10269, 16, 0),
        (559, 1, 10269, 10270, 17, 0), (584, 0, 10270, 10270, 16, 0),
    ], {"p": [0, 0], "packets": [8, 8], "rate": [8 / 108e-6, 8 / 185e-6]}),
    # a connection that rests for a second before and after its data
    "resp_2_inline": ("cooked", [
        (0, 0, 0, 0, 2, 0), (16, 1, 0, 1, 18, 0), (35, 0, 1, 1, 16, 0), (994571, 0, 1, 1, 24, 12), (994627, 1, 1, 13, 16, 0), (994646, 0, 13, 1, 24, 144),
        (994662, 1, 1, 157, 16, 0), (994673, 0, 157, 1, 24, 11), (994685, 1, 1, 168, 16, 0), (994808, 1, 1, 168, 24, 1288), (994837, 0, 168, 1289, 16, 0),
        (1998236, 0, 168, 1289, 17, 0), (1998336, 1, 1289, 169, 17, 0), (1998370, 0, 169, 1290, 16, 0),
    ], {"p": [0], "packets": [3], "rtt": [28e-6], "rate": [3 / 102e-6]}),
}  # fmt: skip


@for_each(list(CAPTURED))
def test_captures_of_tcpdump(name: str) -> None:
    wrap, packets, expected = CAPTURED[name]
    lines = []
    for time, sender, number, ack, flags, length in packets:
        ports, options = ((1000, 80), (80, 1000))[sender], b""
        if flags & 2:
            options = b"\2\4" + struct.pack(">H", 1460)
            options += b"\1\1\x08\x0a" + bytes(8) if name != "ssh" else b""  # no timestamps there
        head = struct.pack(">HHIIBBHHH", *ports, 7 + number, (ack + 7) * (ack > 0), (5 + len(options) // 4) << 4, flags, 60000, 0, 0)  # fmt: skip
        data = ipv4(head + options + bytes(length))
        lines.append((1.0 + 1e-6 * time, ethernet(0x0800, data) if wrap == "ethernet" else bytes(14) + b"\x08\0" + data))  # fmt: skip
    found = _read(pcap(lines, 1 if wrap == "ethernet" else 113), least_packets=2)
    found = dict(zip(("p", "rtt", "rate", "packets"), found, strict=True))
    for key, values in expected.items():
        np.testing.assert_allclose(found[key], values, rtol=0.02, err_msg=key)


# Copies of frames and probes: 40 segments of 1,000 bytes, 10 ms apart, each acknowledged after 40 ms, some sent again after 60 ms.

COPIED, LOST_SEGMENTS, TRIP = 40, (5, 25), 0.04


def dialogue(version: int = 4, numbered: bool = True, extra: float = 0.0) -> list[tuple[float, int, bytes]]:
    """Return times, directions and IP packets of a transfer; ``extra`` is added to the times."""
    identification, packets = [100, 9000], []

    def add(time: float, back: int, number: int, ack: int, length: int) -> None:
        tcp = segment(number, ack, length)
        identification[back] += 1
        word = identification[back] if numbered else 7
        data = ipv6(tcp) if version == 6 else ipv4(tcp)
        packets.append((time + extra, back, data if version == 6 else data[:4] + struct.pack(">H", word) + data[6:]))

    for n in range(COPIED):
        sent = 1.0 + 0.01 * n
        add(sent, 0, 1000 * n, 1, 1000)
        if n in LOST_SEGMENTS:
            add(sent + 0.06, 0, 1000 * n, 1, 1000)
        else:
            add(sent + TRIP, 1, 1, 1000 * (n + 1), 0)
    return sorted(packets, key=lambda packet: packet[0])


def routed(data: bytes) -> bytes:
    """Return an IP packet after a router: with a smaller time to live or hop limit."""
    at = 8 if data[0] >> 4 == 4 else 7
    return data[:at] + bytes([data[at] - 1]) + data[at + 1 :]


def framed(data: bytes, tags: bytes = b"") -> bytes:
    return ethernet(0x0800 if data[0] >> 4 == 4 else 0x86DD, data, tags)


def on_interfaces(packets: list[tuple[float, int, bytes]]) -> bytes:
    """Return a pcapng file of interfaces with Ethernet, raw IP and cooked frames."""
    faces = [struct.pack("<HHI", link, 0, 0) for link in (1, 101, 113)]
    out = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)), *(block(1, face) for face in faces)]
    for time, face, data in packets:
        data = (framed(data), data, bytes(14) + framed(data)[12:14] + data)[face]
        ticks = round(time * 1e6)
        out.append(block(6, struct.pack("<IIIII", face, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data)) + data))
    return b"".join(out)


@for_each([
    ("all", lambda packets: [(t + d, framed(x)) for t, _, x in packets for d in (0.0, 5e-6)]),
    ("three times", lambda packets: [(t + d, framed(x)) for t, _, x in packets for d in (0.0, 5e-6, 9e-6)]),
    ("the second half", lambda packets: [(t + d, framed(x)) for t, _, x in packets for d in (0.0, 5e-6) if not d or t > 1.2]),
    ("data", lambda packets: [(t + d, framed(x)) for t, back, x in packets for d in (0.0, 5e-6) if not d or not back]),
    ("VLAN", lambda packets: [(t + d, framed(x, b"\x81\0\0\2" * bool(d))) for t, _, x in packets for d in (0.0, 1e-4)]),
    ("router", lambda packets: [(t + d, framed(routed(x) if d else x)) for t, _, x in packets for d in (0.0, 3e-4)]),
    ("router, later than half a round trip", lambda packets: [
        (t + d, framed(routed(x) if d else x)) for t, back, x in packets for d in (0.0, 0.03) if not d or not back]),
])  # fmt: skip
def test_copies_of_frames_count_once(name: str, copies: Any) -> None:
    """A mirror port, `tcpdump -i any` and both sides of a router record frames twice."""
    assert name
    for version in (4, 6):
        expected = _read(pcap([(t, framed(x)) for t, _, x in dialogue(version)], 1))
        assert expected[3].tolist() == [COPIED + len(LOST_SEGMENTS)]
        assert expected[0].tolist() == [2 / 42]
        frames = sorted(copies(dialogue(version)), key=lambda frame: frame[0])
        np.testing.assert_allclose(_read(pcap(frames, 1)), expected, rtol=1e-9, err_msg=f"IPv{version}")


def recorded_late(packets: list[tuple[float, bool, bytes]], late: dict[int, float]) -> bytes:
    """Return a capture in which some data segments are recorded later than they were sent, by their numbers."""
    frames, number = [], 0
    for time, back, data in packets:
        frames.append((time + (0.0 if back else late.get(number, 0.0)), data))
        number += not back
    return pcap(sorted(frames, key=lambda frame: frame[0]))


@for_each([
    ("after the next", {9: 0.0101, 15: 0.011, 25: 0.0101}, 2),
    ("two after the next", {9: 0.0102, 24: 0.0101, 23: 0.0301}, 2),
    ("more than half a round trip later", {9: 0.0101, 18: 0.0311}, 3),
])  # fmt: skip
def test_segments_in_another_order_than_they_were_sent_are_no_losses(name: str, late: Any, losses: int) -> None:
    """Two queues of a device record so. A sender learns of a loss a round trip (40 ms) after the following segment."""
    assert name
    for version in (4, 6):
        found = _read(recorded_late(dialogue(version), late))
        assert found[3].tolist() == [COPIED + len(LOST_SEGMENTS)]
        assert found[0].tolist() == [losses / 42]


@pytest.mark.parametrize("in_file", ["21, 20", "20, 21"])
def test_lost_segments_in_another_order_are_one_loss_event(in_file: str) -> None:
    """Segment 20 has a later time than segment 21, in the order of the file or not, and both are sent again."""
    sent = [(1.0 + 0.01 * n + 0.0101 * (n == 20), n) for n in range(COPIED)] + [(1.27, 20), (1.271, 21)]
    answers = [(1.04 + 0.01 * n, n) for n in range(COPIED) if not 20 <= n < 28] + [(1.311, 27)]
    packets = [(time, ipv4(segment(1000 * n, 1, 1000))) for time, n in sent]
    packets += [(time, ipv4(segment(1, 1000 * (n + 1), 0))) for time, n in answers]
    packets.sort(key=lambda frame: frame[0])
    if in_file == "20, 21":
        first = next(n for n, (_, data) in enumerate(packets) if data == ipv4(segment(21_000, 1, 1000)))
        second = next(n for n, (_, data) in enumerate(packets) if data == ipv4(segment(20_000, 1, 1000)))
        packets[first], packets[second] = packets[second], packets[first]
    p, _, _, count = _read(pcap(packets))
    assert (p.tolist(), count.tolist()) == ([1 / 42], [42.0])


@pytest.mark.parametrize(("delay", "losses"), [(5e-4, 0), (5e-3, 1)])
def test_the_first_segment_of_a_connection_may_be_recorded_after_the_second(delay: float, losses: int) -> None:
    packets = [(time, ipv4(data)) for time, data in transfer_of(bytes, handshake=True) if time != 1.03 + 0.1 * AGAIN]
    packets[4], packets[2] = (packets[2][0] + 2e-4 + delay, packets[2][1]), (packets[2][0] + 2e-4, packets[4][1])
    found = _read(pcap(sorted(packets, key=lambda frame: frame[0])))
    assert found[0].tolist() == [losses / COUNT]


@pytest.mark.parametrize("version", [4, 6])
def test_copies_of_several_interfaces_count_once(version: int) -> None:
    """Ethernet, raw IP and cooked frames in one file."""
    expected = _read(pcap([(t, x) for t, _, x in dialogue(version)]))
    copies = [(t + 1e-5 * face, face, x) for t, _, x in dialogue(version) for face in range(3)]
    np.testing.assert_allclose(_read(on_interfaces(copies)), expected, rtol=1e-9)


def test_both_ends_of_a_path_in_one_file_have_the_round_trip_of_the_sender() -> None:
    """Data are recorded 20 ms later at the receiver, its ACKs 20 ms before they are at the sender; identifications are equal."""
    expected = _read(pcap([(t, x) for t, _, x in dialogue()]))
    both = [(t + d, x) for t, back, x in dialogue() for d in ((0.0, -0.02) if back else (0.0, 0.02))]
    np.testing.assert_allclose(_read(pcap(sorted(both, key=lambda frame: frame[0]))), expected, rtol=1e-9)


@pytest.mark.parametrize("options", [{"numbered": False}, {"version": 6}])
def test_two_captures_in_one_file_without_identification_are_refused(options: dict[str, Any]) -> None:
    """Where nothing tells a copy from a retransmission: a constant identification, or none."""
    packets = [(t + d, x) for t, _, x in dialogue(**options) for d in (0.0, 0.5)]
    with pytest.raises(ValueError, match=r"repeats \d+ of 40 segments without an IP identification; frames are recorded twice"):  # fmt: skip
        _read(pcap(sorted(packets, key=lambda frame: frame[0])))
    assert _read(pcap([(t, x) for t, _, x in dialogue(**options)]))[0].tolist() == [2 / 42]


@pytest.mark.parametrize("identical", [True, False])
def test_another_identification_is_a_retransmission(identical: bool) -> None:
    """The same bytes 1 ms later are a copy if the identification is the same."""
    packets = [(t, x) for t, _, x in dialogue()]
    copy = packets[60][1] if len(packets[60][1]) > 500 else packets[61][1]
    again = copy if identical else copy[:4] + b"\xff\xfe" + copy[6:]
    time = next(t for t, x in packets if x == copy)
    packets = sorted([*packets, (time + 1e-3, again)], key=lambda frame: frame[0])
    assert _read(pcap(packets))[3].tolist() == [42 if identical else 43]


def test_segments_on_both_sides_of_an_offload_count_once() -> None:
    """A segment of four packets on one interface, and the four packets on the next: the same bytes within microseconds."""
    packets, word = [], 0
    for n in range(20):
        start = 4000 * n
        pieces = [(0.0, start, 4000), *((2e-6 * (k + 1), start + 1000 * k, 1000) for k in range(4))]
        for delay, number, length in pieces if n % 2 else [*pieces[1:], (1e-5, start, 4000)]:
            word += 1
            data = ipv4(segment(number, 1, length))
            packets.append((1.0 + 0.1 * n + delay, data[:4] + struct.pack(">H", word) + data[6:]))
        packets.append((1.04 + 0.1 * n, ipv4(segment(1, start + 4000, 0))))
    p, _, _, count = _read(pcap(packets), mss=1000)
    assert (p.tolist(), count.tolist()) == ([0.0], [80.0])


def windowed(data: bytes, window: int) -> bytes:
    """Return an IPv4 packet with another window."""
    return data[:34] + struct.pack(">H", window) + data[36:]


@pytest.mark.parametrize("length", [0, 1])
@pytest.mark.parametrize("start", ["data", "keep-alives"])
def test_keep_alives_are_no_packets(length: int, start: str) -> None:
    """RFC 9293, 3.8.4: a byte that is acknowledged already, between two transfers and before the first."""
    packets = [(t, ipv4(segment(*numbers))) for t, numbers in (
        [(1.0 + n, (999, 1, length)) for n in range(3)] if start == "keep-alives" else [])]  # fmt: skip
    for n in range(40):
        time = 10.0 + 0.1 * n + 60.0 * (n >= 20)
        packets += [
            (time, ipv4(segment(1000 + 500 * n, 1, 500, 24))),
            (time + 0.04, ipv4(segment(1, 1500 + 500 * n, 0))),
        ]
    for n in range(5):
        packets += [
            (20.0 + n, ipv4(segment(1000 + 500 * 20 - 1, 1, length))),
            (20.04 + n, ipv4(segment(1, 1000 + 500 * 20, 0))),
        ]
    packets = [packet for packet in packets if packet[1][20:22] == b"\3\xe8" or packet[0] > 5.0]
    with pytest.warns(UserWarning, match=r"80 \(94%\): nothing was in flight in this part of the time"):
        p, rtt, rate, count = _read(pcap(sorted(packets, key=lambda frame: frame[0])))
    assert (p.tolist(), count.tolist()) == ([0.0], [40.0])
    assert rate.tolist() == [pytest.approx(40 / 63.9)]
    assert rtt.tolist() == [pytest.approx(0.04)]


@for_each(
    [
        ("a byte that is not accepted", 1, 0),
        ("a byte that is accepted", 1, 1),
        ("a full segment that is not accepted", 500, 0),
    ]
)
def test_probes_of_a_closed_window_are_no_packets(name: str, length: int, accepted: int) -> None:
    """RFC 9293, 3.8.6.1: the receiver's window is 0 after 20 segments; five probes, then it opens after 53 of 64 s."""
    assert name
    packets = []
    for n in range(40):
        start = 1000 + 500 * n + accepted * (n >= 20)
        time = 10.0 + 0.1 * n + 60.0 * (n >= 20)
        ack = windowed(ipv4(segment(1, start + 500, 0)), 0 if n == 19 else 1000)
        packets += [(time, ipv4(segment(start, 1, 500, 24))), (time + 0.04, ack)]
    edge = 1000 + 500 * 20
    for n in range(5):
        ack = windowed(ipv4(segment(1, edge + accepted * (n == 4), 0)), 0)
        packets += [(20.0 + n, ipv4(segment(edge, 1, length))), (20.04 + n, ack)]
    packets.append((65.0, windowed(ipv4(segment(1, edge + accepted, 0)), 1000)))
    with pytest.warns(UserWarning, match=r"> .* \(83%\): the receiver's window was closed in this part of the time"):
        p, rtt, _, count = _read(pcap(sorted(packets, key=lambda frame: frame[0])))
    assert (p.tolist(), count.tolist()) == ([0.0], [40.0])
    assert rtt.tolist() == [pytest.approx(0.04)]


def test_a_lost_segment_beside_keep_alives_and_probes_is_counted() -> None:
    """A segment that is sent again before its ACK, of one byte too, is lost."""
    packets = []
    for n in range(40):
        start, length = 1000 + 500 * n, 500 if n < 39 else 1
        packets.append((10.0 + 0.1 * n, ipv4(segment(start, 1, length, 24))))
        if n in (10, 39):
            packets.append((10.06 + 0.1 * n, ipv4(segment(start, 1, length, 24))))
        packets.append((10.09 + 0.1 * n, ipv4(segment(1, start + length, 0))))
    p, _, _, count = _read(pcap(packets))
    assert (p.tolist(), count.tolist()) == ([2 / 42], [42.0])


# Full packets: a sender is limited by the MSS that its receiver announces. 20 segments and one again, from 10.0.0.1, whose SYN is the first.

NO_SYN, NO_MSS, STAMPS = -1, 0, b"\1\1\x08\x0a" + bytes(8)


def announced(sender: int, receiver: int, length: int, stamps: bytes = b"", wrap: Any = ipv4) -> bytes:
    """Return a capture of segments of ``length`` bytes after SYNs with an MSS, `NO_MSS`, or `NO_SYN`."""
    packets = []
    for n, (size, ack, flags) in enumerate([(sender, 0, 2), (receiver, 1, 18)]):
        if size != NO_SYN:
            options = b"\2\4" + struct.pack(">H", size) if size else b""
            packets.append((0.5 + 0.04 * n, wrap(segment(999 * (not n), ack, 0, flags, options + stamps))))
    for n in range(COUNT):
        for delay in (0.0, 0.03) if n == AGAIN else (0.0,):
            packets.append((1.0 + 0.1 * n + delay, wrap(segment(1000 + n * length, 1, length, 24, stamps))))
        packets.append((1.04 + 0.1 * n, wrap(segment(1, 1000 + (n + 1) * length, 0, 16, stamps))))
    return pcap(packets)


@for_each([
    ("equal", 1460, 1460, 1460, 1),
    ("the sender announces less than it sends", 1400, 1460, 1460, 1),
    ("also with a smaller frame", 1380, 1460, 1430, 1),
    ("also with offloads", 1400, 1460, 2920, 2),
    ("the receiver announces less", 1460, 1400, 1400, 1),
    ("also with offloads", 1460, 1400, 14000, 10),
    ("the sender sends packets as announced, with offloads", 1400, 1460, 14000, 10),
    ("the receiver has large frames and the sender has not", 1460, 8960, 14600, 10),
    ("also with writes of other sizes", 1460, 8960, 4000, 3),
    ("the sender has large frames and announces small ones", 1460, 8960, 8960, 1),
    ("also with offloads", 1460, 8960, 26880, 3),
    ("the sender has large frames and the receiver has not", 8960, 1460, 8960, 7),
    ("loopback", 65495, 65495, 40000, 1),
    ("without the sender's SYN", NO_SYN, 1400, 2800, 2),
    ("without the sender's SYN, large frames", NO_SYN, 8960, 8960, 1),
    ("without the receiver's SYN", 1400, NO_SYN, 1460, 1),
    ("also with offloads", 1400, NO_SYN, 2800, 2),
    ("without SYNs", NO_SYN, NO_SYN, 1460, 1),
    ("the receiver announces no MSS", 1460, NO_MSS, 5360, 10),
    ("the receiver announces no MSS and the sender has larger packets", 1460, NO_MSS, 1448, 1),
])  # fmt: skip
def test_the_receiver_announces_the_size_of_full_packets(
    name: str, sender: int, receiver: int, length: int, packets: int
) -> None:
    assert name
    expected = 21 * packets
    p, rtt, rate, count = _read(announced(sender, receiver, length))
    assert (p.tolist(), count.tolist()) == ([1 / expected], [expected])
    np.testing.assert_allclose((rtt[0], rate[0]), (0.04, expected / 1.9), rtol=1e-4)


@for_each([
    ("the receiver's SYN", 1460, 1460, 14480, 10),
    ("the receiver's SYN alone", NO_SYN, 1460, 14480, 10),
    ("the sender's SYN alone", 1460, NO_SYN, 14480, 10),
    ("the sender announces less than it sends", 1380, 1460, 1448, 1),
    ("IPv6 without an MSS of the receiver", 1440, NO_MSS, 12080, 10),
    ("the receiver announces without options", 1460, 1392, 1392, 1),
    ("also with offloads", 1460, 1392, 13920, 10),
    ("also without the sender's SYN", NO_SYN, 1392, 1392, 1),
    ("writes as large as the announcement, which no frame holds", 1460, 1460, 1460, 2),
    ("IPv6, writes as large as the announcement", 1440, 1440, 1440, 2),
])  # fmt: skip
def test_timestamps_reduce_full_packets(name: str, sender: int, receiver: int, length: int, packets: int) -> None:
    """RFC 9293, 3.7.1: the MSS does not count options. 12 bytes of each segment are timestamps."""
    wrap = ipv6 if name.startswith("IPv6") else ipv4
    assert _read(announced(sender, receiver, length, STAMPS, wrap))[3].tolist() == [21 * packets]


def test_timestamps_that_the_receiver_does_not_use_reduce_nothing() -> None:
    """Only the sender's SYN has them, and only it is in the file: segments of 1,460 bytes are one packet."""
    content = announced(NO_SYN, 1460, 1460)
    syn = ipv4(segment(999, 0, 0, 2, b"\2\4\5\xb4" + STAMPS))
    for second in (content, announced(NO_SYN, NO_SYN, 1460)):
        assert _read(pcap([(0.4, syn)]) + second[24:])[3].tolist() == [21]


def coded(tcp: bytes, ace: int) -> bytes:
    """Return a segment with a number in AE, CWR and ECE (RFC 9768, 3.2)."""
    return tcp[:12] + bytes([tcp[12] | ace >> 2, tcp[13] | (ace & 3) << 6]) + tcp[14:]


@pytest.mark.parametrize(
    ("syns", "codes", "marks"),
    [
        ((3, 1), {3: 1, 4: 1, 7: 3, 8: 1, 15: 1}, 3),
        ((3, 1), {}, 0),
        ((None, None), {3: 1, 4: 1}, 1),
        ((7, 2), dict.fromkeys(range(20), 5), 0),
        ((7, 4), dict.fromkeys(range(10), 5) | dict.fromkeys(range(10, 15), 7) | dict.fromkeys(range(15, 20), 1), 4),
        ((7, 1), {3: 1}, 1),
        ((None, None), dict.fromkeys(range(20), 5), 0),
    ],
)
def test_marks_that_the_receiver_reports_are_named(syns: Any, codes: dict[int, int], marks: int) -> None:
    """ECN by ECE in ACKs (RFC 3168), in three series of them, or by counts (AccECN): 5, then 7, then 1 is four marks."""
    packets = []
    for n, code in enumerate(syns):
        if code is not None:
            packets.append((0.5 + 0.04 * n, ipv4(coded(segment(999 * (not n), n, 0, (2, 18)[n], b"\2\4\5\xb4"), code))))
    for n in range(COUNT):
        packets.append((1.0 + 0.1 * n, ipv4(segment(1000 + n * MSS, 1, MSS))))
        packets.append((1.04 + 0.1 * n, ipv4(coded(segment(1, 1000 + (n + 1) * MSS, 0), codes.get(n, 0)))))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert _read(pcap(packets))[0].tolist() == [0.0]
    numbers = [str(warning.message).partition("> 10.0.0.2:80 (")[2].partition(")")[0] for warning in caught]
    assert numbers == [str(marks)] * (marks > 0)


def test_large_segments_without_the_receivers_syn_need_the_mss() -> None:
    """Whether the receiver takes large frames too is not in the file."""
    content = announced(8960, NO_SYN, 8960)
    with pytest.raises(ValueError, match="has segments of 8960 bytes and no SYN of the receiver; give mss="):
        _read(content)
    assert _read(content, mss=8960)[3].tolist() == [21]
    assert _read(content, mss=1460)[3].tolist() == [147]
    assert _read(announced(8960, 1460, 8960), mss=8960)[3].tolist() == [147]


# Merged retransmissions: writes of 100 bytes each 0.1 s, each acknowledged after 40 ms. Each 40th of 200 is lost and sent again 0.6 s later.

MERGED_WRITES, LOSS_PERIOD = 200, 40


def merged(before: int = 0, after: int = 0, skip: int = 0, lost_again: bool = False) -> bytes:
    """Return a capture in which ``before`` further lost writes and ``after`` new ones are sent with the lost write.

    The retransmission omits the first ``skip`` bytes. With ``lost_again`` it is lost, and sent again with another write.
    """
    packets, time, n, word = [], 2.0, 0, 0

    def send(start: int, end: int) -> None:
        nonlocal word
        word += 1
        data = ipv4(segment(1000 + start, 1, end - start, 24))
        packets.append((time, data[:4] + struct.pack(">H", word) + data[6:]))

    while n < MERGED_WRITES:
        send(100 * n, 100 * n + 100)
        n += 1
        if n % LOSS_PERIOD == 0:
            start = 100 * (n - 1) + skip
            for _ in range(before):
                time += 0.1
                send(100 * n, 100 * n + 100)
                n += 1
            time += 0.6
            n += after
            send(start, 100 * n)
            if lost_again:
                time, n = time + 1.2, n + 1
                send(start, 100 * n)
        packets.append((time + 0.04, ipv4(segment(1, 1000 + 100 * n, 0))))
        time += 0.1
    return pcap(packets)


@for_each([
    ("alone", {}, 205, 5),
    ("with the next write", {"after": 1}, 201, 5),
    ("with three writes", {"after": 3}, 193, 5),
    ("a part, alone", {"skip": 40}, 205, 5),
    ("a part, with the next write", {"skip": 40, "after": 1}, 201, 5),
    ("two lost writes", {"before": 1}, 206, 5),
    ("two lost writes and a new one", {"before": 1, "after": 1}, 202, 5),
    ("a new write in each of two retransmissions", {"after": 1, "lost_again": True}, 202, 10),
])  # fmt: skip
def test_retransmissions_that_are_merged_with_new_bytes_are_losses(
    name: str, options: dict[str, Any], packets: int, events: int
) -> None:
    """A retransmission may hold more bytes than the segment that was lost (RFC 9293, 3.7.4; tcp_retrans_collapse of Linux)."""
    assert name
    p, rtt, _, count = _read(merged(**options))
    assert (p.tolist(), count.tolist()) == ([events / packets], [packets])
    assert rtt.tolist() == [pytest.approx(0.04)]


def test_an_ack_of_bytes_that_were_sent_twice_gives_no_round_trip() -> None:
    """Karn: an ACK 0.61 s after a lost write, between its merged retransmission and the ACK of that."""
    packets = []
    for n in range(30):
        time, start = 2.0 + 0.7 * n, 1000 + 200 * n
        packets += [(time, ipv4(segment(start, 1, 100, 24))), (time + 0.6, ipv4(segment(start, 1, 200, 24)))]
        packets += [(time + 0.61, ipv4(segment(1, start + 100, 0))), (time + 0.64, ipv4(segment(1, start + 200, 0)))]
    p, rtt, _, count = _read(pcap(packets))
    assert (p.tolist(), count.tolist()) == ([30 / 60], [60])
    assert rtt.tolist() == [pytest.approx(0.04)]


def test_a_retransmission_that_begins_before_the_first_segment_of_the_file_is_a_loss() -> None:
    """The capture begins after the first write: it and the second are sent again in one segment."""
    content = pcap([
        (1.0, ipv4(segment(1000, 1, 100, 24))), (1.6, ipv4(segment(900, 1, 200, 24))), (1.64, ipv4(segment(1, 1100, 0))),
        *((1.7 + 0.1 * n + d, ipv4(data)) for n in range(18) for d, data in (
            (0.0, segment(1100 + 100 * n, 1, 100, 24)), (0.04, segment(1, 1200 + 100 * n, 0)))),
    ])  # fmt: skip
    p, _, _, count = _read(content)
    assert (p.tolist(), count.tolist()) == ([1 / 20], [20])


@pytest.mark.parametrize("times_sent", [1, 2])
def test_bytes_before_the_first_ones_of_the_file_are_a_loss(times_sent: int) -> None:
    """As the same bytes after the first ones are: the segment that was lost is not in the file, whatever is sent again."""
    for missing in (1000, 1200):
        shown = [start for start in range(1000, 3000, 100) if start != missing]
        packets = [(1.0 + 0.1 * n, ipv4(segment(start, 1, 100, 24))) for n, start in enumerate(shown)]
        packets += [(2.95 + 0.5 * n, ipv4(segment(missing, 1, 100, 24))) for n in range(times_sent)]
        packets += [(4.0, ipv4(segment(3000, 1, 100, 24))), (4.04, ipv4(segment(1, 3100, 0)))]
        p, rtt, _, count = _read(pcap(packets))
        assert (p.tolist(), count.tolist()) == ([1 / (20 + times_sent)], [20 + times_sent])
        assert rtt.tolist() == [pytest.approx(0.04)]


def test_losses_before_and_after_the_first_bytes_are_two_events() -> None:
    starts = [1000 + 100 * n for n in range(30)]
    packets = [(1.0 + 0.1 * n, ipv4(segment(start, 1, 100, 24))) for n, start in enumerate(starts)]
    packets += [
        (3.95, ipv4(segment(900, 1, 100, 24))),
        (3.96, ipv4(segment(800, 1, 100, 24))),
        (3.97, ipv4(segment(2000, 1, 100, 24))),
    ]
    packets += [(5.0, ipv4(segment(4000, 1, 100, 24))), (5.04, ipv4(segment(1, 4100, 0)))]
    p, _, _, count = _read(pcap(packets))
    assert (p.tolist(), count.tolist()) == ([2 / 34], [34])


def test_pieces_of_an_offload_before_the_whole_are_no_losses() -> None:
    """Two of four packets, and microseconds later the segment of all four, as interfaces record them: no retransmission."""
    packets = []
    for n in range(20):
        start = 4000 * n
        for k, (number, length) in enumerate(
            [(start, 1000), (start + 1000, 1000), (start, 4000), (start + 2000, 1000)]
        ):
            packets.append((1.0 + 0.1 * n + 2e-6 * k, ipv4(segment(number, 1, length))))
        packets.append((1.04 + 0.1 * n, ipv4(segment(1, start + 4000, 0))))
    p, _, _, count = _read(pcap(packets), mss=1000)
    assert (p.tolist(), count.tolist()) == ([0.0], [80.0])


@pytest.mark.parametrize("wrap", [ipv4, ipv6])
@pytest.mark.parametrize("order", ["forwards", "backwards"])
def test_packets_of_a_segment_that_are_sent_again_one_by_one_all_count(wrap: Any, order: str) -> None:
    """All ten packets of a segment of an offload are lost: each is another retransmission, however soon, and no copy."""
    packets = [(1.0 + 0.1 * n, wrap(segment(10_000 * n, 1, 10_000))) for n in range(20)]
    packets += [(1.04 + 0.1 * n, wrap(segment(1, 10_000 * (n + 1), 0))) for n in range(10)]
    pieces = [segment(100_000 + 1000 * k, 1, 1000) for k in range(10)]
    pieces = pieces if order == "forwards" else pieces[::-1]
    again = [(2.1 + 1e-3 * k, wrap(piece)) for k, piece in enumerate(pieces)]
    packets += [*again, (2.94, wrap(segment(1, 200_000, 0)))]
    p, rtt, _, count = _read(pcap(sorted(packets, key=lambda packet: packet[0])), mss=1000)
    assert (p.tolist(), count.tolist()) == ([1 / 210], [210])
    assert rtt.tolist() == [pytest.approx(0.04)]


def test_a_retransmission_on_both_sides_of_an_offload_counts_once() -> None:
    """A segment of four packets that is sent again as one is recorded a second time in pieces, microseconds later."""
    packets = [(1.0 + 0.1 * n, ipv4(segment(4000 * n, 1, 4000))) for n in range(20)]
    packets += [(1.04 + 0.1 * n, ipv4(segment(1, 4000 * (n + 1), 0))) for n in range(10)]
    packets += [(2.1, ipv4(segment(40_000, 1, 4000)))]
    packets += [(2.1 + 1e-6 * (k + 1), ipv4(segment(40_000 + 1000 * k, 1, 1000))) for k in range(4)]
    packets += [(3.0, ipv4(segment(1, 80_000, 0)))]
    p, _, _, count = _read(pcap(sorted(packets, key=lambda packet: packet[0])), mss=1000)
    assert (p.tolist(), count.tolist()) == ([1 / 84], [84])
