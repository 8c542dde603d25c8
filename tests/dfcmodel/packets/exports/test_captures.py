"""Captures: read back by `responsefn.read_pcap` they say what the simulation says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dfcmodel import CBR, RED, Packets, trace_packets
from responsefn import read_pcap


def test_a_capture_at_the_sender_gives_the_flow_back(one_link, tmp_path) -> None:
    """The capture is behind the queue: its round trips, and so its loss events, are shorter."""
    trace = trace_packets(one_link, ["a->b", "b->a"], Packets(seed=1), duration=0.6)
    found = read_pcap(trace.to_pcap(tmp_path / "a.pcap", "a")).to_pandas().iloc[0]
    assert found["packets"] == trace.run.carried[0, 0]
    assert found["rtt"] == pytest.approx(2 * 0.01 + 1e-3 + 1e-3 * 40 / 1500, rel=1e-6)
    assert round(found["p"] * found["packets"]) >= trace.run.loss_events[0] > 0


def test_headers_have_the_numbers_of_the_events(one_link, tmp_path) -> None:
    scapy = pytest.importorskip("scapy.utils")
    trace = trace_packets(one_link, ["a->b", "b->a"], Packets(seed=1, recovery="sack"), duration=0.5)
    packets = scapy.rdpcap(str(trace.to_pcap(tmp_path / "b.pcap", "b")))
    events = trace.events[~(trace.events["received"] > float(packets[-1].time) + 1e-9)]
    seen = [packet for packet in packets if packet["IP"].dst == "10.0.0.2"]
    data = [e for e in events if not e["ack"] and e["received"] == e["received"]]
    assert [(p["TCP"].seq - 1) // 1460 for p in seen] == [e["number"] for e in data]
    assert all(p.wirelen == 1500 and len(p) == 40 for p in seen)
    told = [p["TCP"] for p in packets if p["IP"].src == "10.0.0.2"]
    blocks = trace.events["blocks"][trace.events["ack"]]
    for segment, expected in zip(told, blocks, strict=False):
        edges = dict(segment.options).get("SAck", ())
        assert [(edge - 1) // 1460 for edge in edges] == expected[expected >= 0].tolist()
    assert (blocks >= 0).any()


def test_checksums_are_those_of_the_headers(one_link, tmp_path) -> None:
    """Scapy's own sums, where the headers of each kind were made by it once and then numbered."""
    scapy = pytest.importorskip("scapy.utils")
    link = replace(one_link.links[0], discipline=RED(low=2.0, high=6.0, weight=0.05, ecn=True))
    flows = (one_link.flows[0], replace(one_link.flows[0], name="rate", source=CBR(200.0)))
    scenario = replace(one_link, links=(link,), flows=flows)
    trace = trace_packets(scenario, ["a->b", "b->a"], Packets(seed=1, recovery="sack"), duration=0.5)
    packets = scapy.rdpcap(str(trace.to_pcap(tmp_path / "sums.pcap", "a")))
    assert {28, 40, 52} <= {len(packet) for packet in packets}  # datagrams, ACKs with a block
    for packet in packets:
        again = packet.copy()
        upper = again["TCP"] if "TCP" in again else again["UDP"]
        del again.chksum, upper.chksum
        assert bytes(again) == bytes(packet)


def test_constant_rates_are_datagrams(one_link, tmp_path) -> None:
    scapy = pytest.importorskip("scapy.utils")
    flow = replace(one_link.flows[0], source=CBR(500.0))
    trace = trace_packets(replace(one_link, flows=(flow,)), duration=0.1)
    packets = scapy.rdpcap(str(trace.to_pcap(tmp_path / "udp.pcap", "a")))
    assert len(packets) == len(trace)
    assert all("UDP" in packet for packet in packets)


def test_an_unknown_node_and_packets_without_data_are_refused(refused, one_link, tmp_path) -> None:
    trace = trace_packets(one_link, duration=0.1)
    refused(["node", "'c'"], lambda: trace.to_pcap(tmp_path / "c.pcap", "c"))
    small = trace_packets(replace(one_link, packet_size=40.0), duration=0.1)
    with pytest.raises(ValueError, match="packet_size"):
        small.to_pcap(tmp_path / "small.pcap", "a")


@pytest.mark.parametrize("handshake", [True, "data"])
def test_a_connection_opens_and_ends_by_flags(one_link, tmp_path, handshake) -> None:
    """SYN and FIN each take a sequence number (RFC 9293, 3.4): the last ACK is of all data and both."""
    scapy = pytest.importorskip("scapy.utils")
    flow = replace(one_link.flows[0], size=6.0, handshake=handshake, max_window=4.0)
    trace = trace_packets(replace(one_link, flows=(flow,)), ["a->b", "b->a"], duration=0.5)
    packets = scapy.rdpcap(str(trace.to_pcap(tmp_path / "a.pcap", "a")))
    there = [p for p in packets if p["IP"].src == "10.0.0.1"]
    back = [p for p in packets if p["IP"].src == "10.0.0.2"]
    assert [str(p["TCP"].flags) for p in (there[0], back[0], there[1])] == ["S", "SA", "A"]
    assert [str(p["TCP"].flags) for p in (there[-1], back[-1])] == ["FA", "A"]
    assert there[0].wirelen == (40 if handshake is True else 1500)
    assert (there[0]["TCP"].seq, back[0]["TCP"].seq, back[1]["TCP"].seq) == (0, 0, 1)
    assert there[1]["TCP"].seq == back[0]["TCP"].ack == (1 if handshake is True else 1461)
    assert back[-1]["TCP"].ack == 1 + 6 * 1460 + 1
