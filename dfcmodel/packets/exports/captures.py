"""Export of the packets of a simulation as a capture file, by Scapy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import one_number
from hopflow.whole_files import replacing
from responsefn import WindowRule

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from dfcmodel.network.flows import Flow
    from dfcmodel.network.networks import Scenario

__all__ = ["write_capture"]

HEADERS = 40
"""Bytes of the headers of IPv4 and TCP."""
FIRST_PORT, SERVER_PORT = 10_000, 5001
RAW_IP = 101
"""Link type of a capture without link-layer headers."""
IP_CHECKSUM_AT, SEQUENCE_AT, ACK_AT, TCP_CHECKSUM_AT, EDGES_AT = 10, 24, 28, 36, 44
"""Byte offsets in the headers; the last one is the first edge of a selective acknowledgement, after two NOPs."""


def write_capture(
    path: Path,
    scenario: Scenario,
    times: NDArray[np.float64],
    events: NDArray[Any],
) -> Path:
    """Write headers (IPv4; TCP, or UDP without window) of ``events`` at ``times``, s, as a capture; return the path.

    The data of packet n begin at byte 1 + n (``packet_size`` - 40), or, after a SYN without data, which is packet 0, at
    byte 1 + (n - 1) (``packet_size`` - 40). Node n has the address 10.0.0.0 + n + 1. The sender of flow f has port
    10,000 + f, and every receiver port 5001. Flows with a handshake have SYN, SYN-ACK and FIN. The IP identification
    counts the packets of a flow and direction: a retransmission has a new one, and a packet has the same one at all
    nodes.

    Parameters
    ----------
    path
        Path of the capture file.
    scenario
        The simulated scenario.
    times
        Times at which the packets were captured, s; nan: not captured.
    events
        Events of the node's packets, as in `PacketTrace`.

    Raises
    ------
    ImportError
        Without Scapy.
    ValueError
        For packets without room for data.
    """
    try:
        from scapy.utils import PcapWriter
    except ImportError as error:
        msg = "to_pcap needs Scapy: pip install 'hopflow[capture]'"
        raise ImportError(msg) from error

    hint = "in bytes: 40 bytes of headers and at least one of data"
    one_number("packet_size", scenario.packet_size, at_least=HEADERS + 1, at_most=65535, hint=hint)
    data = round(scenario.packet_size) - HEADERS
    nodes = {node: n for n, node in enumerate(scenario.nodes)}
    heads: dict[_Kind, tuple[bytes, int]] = {}
    opened: set[int] = set()
    path.parent.mkdir(parents=True, exist_ok=True)
    order = np.argsort(times, kind="stable")[: np.isfinite(times).sum()]
    columns = [events[name][order].tolist() for name in ("flow", "ack", "marked", "number", "blocks")]
    identifications = _identifications(events)[order].tolist()
    with (
        replacing(path) as scratch,
        PcapWriter(str(scratch), linktype=RAW_IP, nano=True) as writer,
    ):
        writer.write_header(None)
        for time, identification, f, ack, marked, number, blocks in zip(
            times[order].tolist(), identifications, *columns, strict=True
        ):
            flow = scenario.flows[f]
            n_without_data = int(flow.handshake is True)  # packets without data
            edges = [1 + (edge - n_without_data) * data for pair in blocks for edge in pair if edge >= 0]
            if number > 0:
                opened.add(f)  # from now on an ACK of the SYN is no SYN-ACK
            flag = _flag(flow, number, ack) if number > 0 or f not in opened else ""
            kind = _Kind(f, ack, marked, len(edges), flag)
            if kind not in heads:
                heads[kind] = _first_headers(scenario, nodes, kind)
            head, length = heads[kind]
            if isinstance(flow.source, WindowRule):
                first = 1 + (number - n_without_data) * data
                sequence = (SEQUENCE_AT, first) if flag != "S" else (SEQUENCE_AT, 0)
                if ack:
                    sequence = (ACK_AT, first + data + (number == _last(flow)))
                words = enumerate(edges, start=EDGES_AT // 4)
                head = _with_numbers(head, [sequence, *((4 * n, edge) for n, edge in words)])
            head = _with_identification(head, identification)
            second, rest = divmod(round(time * 1e9), 10**9)
            writer.write_packet(head, sec=second, usec=rest, caplen=len(head), wirelen=length)
    return path


def _identifications(events: NDArray[Any]) -> NDArray[np.int64]:
    """Return each event's IP identification, (events,): it counts packets sent in a flow and direction, from 1."""
    streams = 2 * events["flow"].astype(np.int64) + events["ack"]
    counts = np.zeros(len(events), np.int64)
    for stream in np.unique(streams):
        members = np.flatnonzero(streams == stream)
        counts[members] = np.arange(1, members.size + 1)
    return counts


def _last(flow: Flow) -> float:
    """Return the number of the last packet of a flow, which has the FIN; inf without FIN: no handshake or no end."""
    if not flow.handshake or flow.all_packets == math.inf:
        return math.inf
    return flow.size - 1 + (flow.handshake is True)


def _flag(flow: Flow, number: int, ack: bool) -> str:
    """Return the flag of packet ``number``: "S" for a SYN, "F" for the FIN, otherwise ""."""
    if flow.handshake and number == 0:
        return "S"
    return "F" if number == _last(flow) and not ack else ""


class _Kind(NamedTuple):
    """Packets whose headers differ only in numbers: data or ACKs of flow f; ``edges``: number of SACK edges."""

    f: int
    ack: bool
    marked: bool
    edges: int
    flag: str


def _first_headers(scenario: Scenario, nodes: dict[Hashable, int], kind: _Kind) -> tuple[bytes, int]:
    """Return the headers of packets of a kind, zeros in place of numbers, and their length on the wire, bytes."""
    from scapy.layers.inet import IP, TCP, UDP

    f, ack, marked, edges, flag = kind
    flow, size = scenario.flows[f], round(scenario.packet_size)
    endpoints = [(_address(nodes[flow.path[0]]), FIRST_PORT + f % 50_000)]
    endpoints.append((_address(nodes[flow.path[-1]]), SERVER_PORT))
    (source, source_port), (destination, destination_port) = endpoints[::-1] if ack else endpoints
    ip: dict[str, Any] = {"src": source, "dst": destination, "id": 0}
    if not isinstance(flow.source, WindowRule):
        return bytes(IP(**ip, len=size) / UDP(sport=source_port, dport=destination_port, len=size - 20)), size
    ports: dict[str, Any] = {"sport": source_port, "dport": destination_port, "window": 0xFFFF}
    if not ack:
        tos = 3 if marked else 0
        size = HEADERS if flag == "S" and flow.handshake is True else size
        header: dict[str, Any] = {"flags": f"A{flag}", "ack": 1}
        if flag == "S":
            header = {"flags": "S", "ack": 0}
        return bytes(IP(**ip, tos=tos, len=size) / TCP(**ports, seq=0, **header)), size
    options: list[Any] = []
    if edges:
        options = [("NOP", None), ("NOP", None), ("SAck", (0,) * edges)]
    flags = ("AE" if marked else "A") + flag
    head = bytes(IP(**ip) / TCP(**ports, flags=flags, seq=0 if flag else 1, ack=0, options=options))
    return head, len(head)


def _with_numbers(head: bytes, numbers: list[tuple[int, int]]) -> bytes:
    """Return headers with 32-bit numbers, pairs (offset from the IP header, number), in place of zeros."""
    header = bytearray(head)
    for at, number in numbers:
        header[at : at + 4] = (number & 0xFFFFFFFF).to_bytes(4, "big")
        _add_to_checksum(header, TCP_CHECKSUM_AT, number >> 16 & 0xFFFF, number & 0xFFFF)
    return bytes(header)


def _with_identification(head: bytes, number: int) -> bytes:
    """Return headers with an IP identification in place of 0."""
    header = bytearray(head)
    header[4:6] = (number & 0xFFFF).to_bytes(2, "big")
    _add_to_checksum(header, IP_CHECKSUM_AT, number & 0xFFFF)
    return bytes(header)


def _add_to_checksum(head: bytearray, at: int, *words: int) -> None:
    """Update, in place, the checksum at offset ``at`` for 16-bit words that replace zeros (RFC 1624, eq. 3)."""
    total = (int.from_bytes(head[at : at + 2], "big") ^ 0xFFFF) + sum(words)
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    head[at : at + 2] = (total ^ 0xFFFF).to_bytes(2, "big")


def _address(n: int) -> str:
    """Return the IPv4 address of node n: 10.0.0.0 + n + 1."""
    return ".".join(str((10 << 24) + n + 1 >> shift & 0xFF) for shift in (24, 16, 8, 0))
