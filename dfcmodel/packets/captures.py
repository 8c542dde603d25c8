"""Writes packets of a simulation as a capture file, by Scapy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import one_number
from responsefn import WindowRule

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario

__all__ = ["write_capture"]

HEADERS = 40
"""Bytes of the headers of IPv4 and TCP."""
FIRST_PORT, SERVER_PORT = 10_000, 5001
RAW_IP = 101
"""Link type of a capture without link-layer headers."""


def write_capture(
    path: Path,
    scenario: Scenario,
    times: NDArray[np.float64],
    events: NDArray[Any],
) -> Path:
    """Write packets as headers of IPv4 and TCP (UDP for sources without window), without their data.

    Packet n is the bytes from 1 + n (``packet_size`` - 40) on. Node number n is 10.0.0.0 + n + 1, the
    port of flow number f is 10,000 + f, that of every receiver 5001. There is no handshake.

    Parameters
    ----------
    path
        The file.
    scenario
        The simulated scenario.
    times
        When each packet was seen, s; nan: not.
    events
        As in `PacketTrace`.

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
    nodes = {node: n for n, node in enumerate(scenario.nodes)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with PcapWriter(str(path), linktype=RAW_IP, nano=True) as writer:
        writer.write_header(None)
        for n in np.argsort(times, kind="stable")[: np.isfinite(times).sum()]:
            head, length = _headers(scenario, nodes, events[n])
            second, rest = divmod(round(float(times[n]) * 1e9), 10**9)
            writer.write_packet(head, sec=second, usec=rest, caplen=len(head), wirelen=length)
    return path


def _headers(scenario: Scenario, nodes: dict[Hashable, int], event: Any) -> tuple[bytes, int]:
    """Return the headers of a packet or an ACK, and its length on the wire."""
    from scapy.layers.inet import IP, TCP, UDP

    flow = scenario.flows[event["flow"]]
    size, data = round(scenario.packet_size), round(scenario.packet_size) - HEADERS
    ends = [(_address(nodes[flow.path[0]]), FIRST_PORT + int(event["flow"]) % 50_000)]
    ends.append((_address(nodes[flow.path[-1]]), SERVER_PORT))
    (here, own), (there, other) = ends[::-1] if event["ack"] else ends
    ip: dict[str, Any] = {"src": here, "dst": there, "id": int(event["number"]) & 0xFFFF}
    if not isinstance(flow.source, WindowRule):
        return bytes(IP(**ip, len=size) / UDP(sport=own, dport=other, len=size - 20)), size
    ports: dict[str, Any] = {"sport": own, "dport": other, "window": 0xFFFF}
    if not event["ack"]:
        number = (1 + int(event["number"]) * data) & 0xFFFFFFFF
        tos = 3 if event["marked"] else 0
        return bytes(IP(**ip, tos=tos, len=size) / TCP(**ports, flags="A", seq=number, ack=1)), size
    told = (1 + (int(event["number"]) + 1) * data) & 0xFFFFFFFF
    options: list[Any] = []
    blocks = event["blocks"]
    if blocks[0, 0] >= 0:
        told_of = blocks[blocks >= 0].tolist()
        edges = [(1 + packet * data) & 0xFFFFFFFF for packet in told_of]
        options = [("NOP", None), ("NOP", None), ("SAck", tuple(edges))]
    flags = "AE" if event["marked"] else "A"
    head = bytes(IP(**ip) / TCP(**ports, flags=flags, seq=1, ack=told, options=options))
    return head, len(head)


def _address(n: int) -> str:
    """Return the address of a node."""
    return ".".join(str((10 << 24) + n + 1 >> shift & 0xFF) for shift in (24, 16, 8, 0))
