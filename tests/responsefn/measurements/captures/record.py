"""Record a TCP transfer of this machine's kernel over an emulated path as a pcap file.

Run as root in a network namespace of its own::

    unshare -n python tests/responsefn/measurements/captures/record.py FOLDER

Client and server are sockets of one kernel. Between them is a TUN device, whose packets this program
queues behind a link, delays, and drops at random; it swaps source and destination addresses, which
leaves all checksums valid. Each packet is written to the file, cut after its headers, when the client's
side sends it or gets it, as a capture at the sender would. What the program itself dropped and what the
kernel's tcp_info says goes into a file beside it.
"""

from __future__ import annotations

import fcntl
import heapq
import json
import os
import platform
import random
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

PACKETS, MSS = 3000, 1448
DELAY, BANDWIDTH, LOSS, SEED = 0.01, 20e6, 0.01, 1  # s one way, bit/s, of data packets
PORT, CUT, RAW = 5001, 68, 101  # bytes kept per packet; link type of raw IP
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
TCP_INFO_FIELDS = {"rtt_us": 68, "total_retrans": 100}  # offsets in struct tcp_info


def open_tun() -> int:
    """Return the file descriptor of a TUN device with the client's address."""
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"path0", IFF_TUN | IFF_NO_PI))
    for command in ("ip link set lo up", "ip addr add 10.9.0.1/24 dev path0",
                    "ip link set path0 up mtu 1500"):  # fmt: skip
        subprocess.run(command.split(), check=True)
    return tun


class Link:
    """A link with a queue without limit in the direction of the data, a delay in both."""

    def __init__(self, tun: int, file: Path) -> None:
        self.tun, self.rng = tun, random.Random(SEED)
        self.due: list[tuple[float, int, bytes, bool]] = []
        self.free, self.count, self.dropped, self.data = 0.0, 0, 0, 0
        self.file = file.open("wb")
        self.file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, CUT, RAW))
        self.stop = False

    def record(self, packet: bytes) -> None:
        """Write a packet to the file, with the time of now."""
        now = time.time()
        kept = packet[:CUT]
        head = struct.pack("<IIII", int(now), int(now % 1 * 1e6), len(kept), len(packet))
        self.file.write(head + kept)

    def accept(self, packet: bytes, now: float) -> None:
        """Take a packet from the kernel: record, drop or delay it."""
        if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
            return
        to_server = struct.unpack("!H", packet[22:24])[0] == PORT
        at = now + DELAY
        if to_server:
            self.record(packet)
            if len(packet) > 100:  # with data
                self.data += 1
                if self.rng.random() < LOSS:
                    self.dropped += 1
                    return
            self.free = max(now, self.free) + 8.0 * len(packet) / BANDWIDTH
            at = self.free + DELAY
        swapped = packet[:12] + packet[16:20] + packet[12:16] + packet[20:]
        self.count += 1
        heapq.heappush(self.due, (at, self.count, swapped, not to_server))

    def run(self) -> None:
        """Forward packets until told to stop."""
        while not self.stop:
            now = time.monotonic()
            wait = min(0.05, max(0.0, self.due[0][0] - now)) if self.due else 0.05
            if select.select([self.tun], [], [], wait)[0]:
                self.accept(os.read(self.tun, 65536), time.monotonic())
            while self.due and self.due[0][0] <= time.monotonic():
                _, _, packet, is_ack = heapq.heappop(self.due)
                if is_ack:
                    self.record(packet)
                os.write(self.tun, packet)
        self.file.close()


def main(folder: Path, rule: str = "cubic") -> None:
    """Transfer, record, and write what is known of it."""
    path = Link(open_tun(), folder / "transfer.pcap")
    forwarder = threading.Thread(target=path.run)
    forwarder.start()
    server = socket.create_server(("10.9.0.1", PORT))
    received = []

    def serve() -> None:
        connection, _ = server.accept()
        while part := connection.recv(1 << 16):
            received.append(len(part))

    receiver = threading.Thread(target=serve)
    receiver.start()
    client = socket.socket()
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, rule.encode())
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.connect(("10.9.0.2", PORT))
    began = time.monotonic()
    client.sendall(bytes(PACKETS * MSS))
    client.shutdown(socket.SHUT_WR)
    receiver.join()
    seconds = time.monotonic() - began
    info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
    known = {name: struct.unpack_from("I", info, at)[0] for name, at in TCP_INFO_FIELDS.items()}
    client.close()
    path.stop = True
    forwarder.join()
    facts = {
        "program": "tests/responsefn/measurements/captures/record.py",
        "kernel": f"{platform.system()} {platform.release().split('-')[0]}",
        "congestion control": rule, "available": available, "bytes": sum(received),
        "seconds": round(seconds, 4), "packets with data": path.data, "dropped": path.dropped,
        "one-way delay (s)": DELAY, "bandwidth (bit/s)": BANDWIDTH, "loss": LOSS, "seed": SEED,
        "tcp_info": known,
    }  # fmt: skip
    (folder / "transfer.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
