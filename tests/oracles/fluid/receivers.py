"""The receiver of a TCP flow in the reference: which packets are missing, and what it acknowledges.

Sequence numbers and amounts are in packets, of which parts come. A packet is lost as a whole: what the network
says is missing is added up, and the packet that begins when it makes one is the one that is lost.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tests.oracles.fluid.lines import floor

__all__ = ["Ack", "Receiver"]

TINY = 1e-9
"""Packets: differences below it are rounding."""


class Ack(NamedTuple):
    """What a receiver answers in a step.

    Attributes
    ----------
    acks, advancing, marked
        ACKs, how many of them move rcv_nxt, and how many are marked.
    rcv_nxt, rcv_max
        The first packet that is missing, and one beyond the highest that came.
    sent
        When the packet was sent that the last one answers, in steps.
    """

    acks: float = 0.0
    advancing: float = 0.0
    marked: float = 0.0
    rcv_nxt: float = 0.0
    rcv_max: float = 0.0
    sent: float = 0.0


class Receiver:
    """RFC 9293, 3.10.7.4, for amounts of packets.

    Parameters
    ----------
    fraction
        What is missing at the start and not a whole packet, below 1.
    quantum
        Packets: rcv_nxt is a multiple of it.

    Attributes
    ----------
    missing
        How much of each packet that was lost is missing.
    """

    def __init__(self, fraction: float, quantum: float) -> None:
        self.fraction, self.quantum = fraction, quantum
        self.rcv_nxt = self.rcv_max = self.position = 0.0
        self.missing: dict[int, float] = {}
        self.lost: set[int] = set()  # packets that were decided to be lost, filled or not
        self.begun = 0  # packets below it were decided
        self.held = self.held_lost = 0.0  # of a packet sent again, what came of it and what of that was lost

    def receive(self, log: Sequence[tuple[float, float]], arrived: float, gone: float) -> tuple[float, float]:
        """Take in ``arrived`` packets and the ``gone`` lost among them; return their ACKs, and how many move rcv_nxt.

        ``log`` tells with which sequence number the packets from a position in emission order on were sent.
        """
        missing = 1.0 - (1.0 - gone / (arrived + gone))
        acks = advancing = 0.0
        for first, amount, whole in self.stretches(log, arrived + gone):
            again = min(amount, max(0.0, self.rcv_max - first))
            if again > TINY:
                whole = whole or first + again >= self.rcv_max - TINY
                more, moving = self.take_again(first + again, again, missing, whole=whole)
                acks, advancing = acks + more, advancing + moving
            if amount - again > TINY:
                more, moving = self.take_new(amount - again, missing)
                acks, advancing = acks + more, advancing + moving
        self.advance()
        return acks, advancing

    def stretches(self, log: Sequence[tuple[float, float]], amount: float) -> Iterator[tuple[float, float, bool]]:
        """Return the runs of sequence numbers of the next packets: first, how many, whether it ends there."""
        while amount > 0.0:
            n = bisect_right(log, self.position + TINY, key=lambda each: each[0]) - 1
            rest = log[n + 1][0] - self.position if n + 1 < len(log) else math.inf
            own, first = min(amount, rest), log[n][1] + (self.position - log[n][0])
            self.position += own
            amount -= own
            yield first, own, own == rest

    def take_again(self, end: float, amount: float, missing: float, *, whole: bool) -> tuple[float, float]:
        """Take in packets up to sequence number ``end`` that were sent before, a whole one at a time or what is left."""
        self.held += amount
        self.held_lost += missing * amount
        ready = self.held if whole else math.floor(self.held + TINY)
        density, at = self.held_lost / self.held, end - self.held
        self.held -= ready
        self.held_lost -= density * ready
        acks = advancing = 0.0
        while ready > TINY:
            piece = min(1.0, ready)
            self.fraction += density * piece
            if density > 0.0 and self.fraction >= 1.0:
                self.fraction -= 1.0
            else:
                acks += piece
                before, filled = self.rcv_nxt, self.fill(at, at + piece)
                if filled > 0.0:
                    self.advance()
                if self.rcv_nxt > before:  # otherwise a duplicate ACK (RFC 5681, 2)
                    advancing += filled
            at += piece
            ready -= piece
        return acks, advancing

    def take_new(self, amount: float, missing: float) -> tuple[float, float]:
        """Take in packets that were never sent before."""
        in_order = self.rcv_nxt >= self.rcv_max - 1e-6
        acks = advancing = 0.0
        at, self.rcv_max = self.rcv_max, self.rcv_max + amount
        while at < self.rcv_max - TINY:
            c = int(at)
            if c >= self.begun:
                self.begun = c + 1
                if missing > 0.0 and self.fraction + missing >= 1.0 and at < c + 1e-6:
                    self.fraction -= 1.0
                    self.lost.add(c)
            piece = min(c + 1.0, self.rcv_max) - at
            self.fraction += missing * piece
            if c in self.lost:
                self.missing[c] = self.missing.get(c, 0.0) + piece
                in_order = False
            else:
                acks += piece
                advancing += piece if in_order else 0.0
            at = min(c + 1.0, self.rcv_max)
        return acks, advancing

    def fill(self, first: float, end: float) -> float:
        """Fill what is missing between two sequence numbers; return how much that is."""
        low, high = max(first, self.rcv_nxt), min(end, self.rcv_max)
        filled = 0.0
        for c in range(int(low), math.ceil(high - TINY)):
            missing = self.missing.get(c, 0.0)
            beyond = max(0.0, min(c + 1.0, self.rcv_max) - high)  # of what came of the packet
            if missing > beyond:
                filled += missing - beyond
                self.missing[c] = beyond
        return filled

    def advance(self) -> None:
        """Move rcv_nxt to the first packet that is missing; inside one that is being filled, in proportion."""
        while self.rcv_nxt < self.rcv_max:
            c = int(self.rcv_nxt)
            edge, missing = min(c + 1.0, self.rcv_max), self.missing.get(c, 0.0)
            if missing > 1e-6:
                found = float(floor(np.array(edge - missing), self.quantum))
                self.rcv_nxt = max(self.rcv_nxt, found)
                return
            self.missing.pop(c, None)
            self.rcv_nxt = edge
