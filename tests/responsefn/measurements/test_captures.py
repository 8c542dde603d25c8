"""read_pcap on a transfer of Linux's TCP, recorded by `captures/record.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from responsefn import read_pcap

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
    np.testing.assert_allclose(
        [found.rtt[0], found.rate[0]], [read.rtt[0], read.rate[0]], rtol=1e-4
    )


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


def test_without_scapy_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "scapy.layers.inet", None)
    with pytest.raises(ImportError, match=r"hopflow\[capture\]"):
        read_pcap(FOLDER / "transfer.pcap")
