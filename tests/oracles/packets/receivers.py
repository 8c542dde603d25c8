"""Receivers of the reference engine: reassembly, cumulative and selective ACKs."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Packet", "Receiver"]

MOST_BLOCKS = 3


@dataclass
class Packet:
    """A data packet or an ACK; ``number`` is its sequence number, or the last one acknowledged.

    ``sent`` is the time at which the data left the sender, echoed by the ACK; ``size`` is a size
    class. Queues may mark ECN-capable packets (``listens``), of which the ACK tells; with ``reduced``
    the sender says that it has reduced its window (RFC 3168, CWR). An ACK with ``gap`` tells of a missing packet,
    one with ``sack`` of a packet that came out of order; agents also ask for packets (``nack``), give ``credits`` and
    acknowledge several packets at once or none (``acks``). ``trimmed`` is the port at which it was cut to its header, and
    the row of its hop there, ``telemetry`` the records of ports: when it left, s, and what the program wrote;
    ``record`` is what that of this port has written.
    """

    flow: int
    number: int
    sent: float
    size: int = 0
    is_ack: bool = False
    hop: int = 0
    blocks: tuple[tuple[int, int], ...] = ()
    listens: bool = False
    marked: bool = False
    reduced: bool = False
    gap: bool = False
    trimmed: tuple[int, int] | None = None
    sack: int = -1
    telemetry: tuple[tuple[float, ...], ...] = ()
    record: tuple[float, ...] = ()
    nack: int = -1
    credits: float = 0.0
    acks: float = 1.0
    pushed: bool = False  # the last one of a segment
    way: int = -1  # the flow whose path it takes; -1: its own


class Receiver:
    """Buffer for packets that arrive out of order; generates cumulative and selective ACKs.

    ``accurate`` receivers echo each mark once (RFC 8257), others up to a packet with CWR (RFC 3168).
    """

    def __init__(self, selective: bool, accurate: bool = False) -> None:
        self.selective, self.accurate = selective, accurate
        self.echo = False
        self.pending: Packet | None = None
        self.due = math.inf
        self.next = 0
        self.highest = 0
        self.seen: set[int] = set()
        self.blocks: list[tuple[int, int]] = []

    def take(self, packet: Packet) -> None:
        """Store an arriving packet and advance the next expected one."""
        number = packet.number
        if not self.accurate:  # RFC 3168, 6.1.3
            self.echo = packet.marked or (self.echo and not packet.reduced)
        self.highest = max(self.highest, number)
        if number >= self.next:
            self.seen.add(number)
        while self.next in self.seen:
            self.seen.remove(self.next)
            self.next += 1

    def delay(self, packet: Packet, due: float) -> None:
        """Delay the ACK of a packet up to a time."""
        self.pending, self.due = packet, due

    def answer_pending(self) -> Packet:
        """Return the ACK that was delayed."""
        assert self.pending is not None
        return self.answer(self.pending)

    def answer(self, packet: Packet) -> Packet:
        """Return the ACK for a packet that was just received."""
        self.pending, self.due = None, math.inf
        blocks = self._report(packet.number) if self.selective else ()
        return Packet(
            packet.flow, self.next - 1, packet.sent, 1 + len(blocks), True, 0, tuple(blocks),
            marked=packet.marked if self.accurate else self.echo,
        )  # fmt: skip

    def _report(self, number: int) -> list[tuple[int, int]]:
        """Return up to three blocks of out-of-order packets, the most recent first (RFC 2018)."""
        last = self.next - 1
        if last >= self.highest:
            self.blocks = []
            return []
        left = right = number
        while right in self.seen or right < self.next:
            right += 1
        while left - 1 in self.seen:
            left -= 1
        recent = (left, right) if number > last else (0, right)
        told = [recent] if number > last else []
        kept: list[tuple[int, int]] = []
        for n, old in enumerate(self.blocks):
            if len(told) == MOST_BLOCKS or old[1] > self.highest + 1:
                kept += self.blocks[n:]
                break
            if not (recent[0] <= old[0] and recent[1] >= old[1]):
                told.append(old)
                kept.append(old)
        self.blocks = ([recent, *kept] if number > last else kept)[:MOST_BLOCKS]
        return told
