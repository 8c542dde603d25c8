"""Lists of flows that wait for others, to which readers of workloads add messages and collective operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dfcmodel.network.demands.exchanges import NONE, Messages
from dfcmodel.network.demands.flow_files import ListedFlows
from hopflow.units import PacketUnits, whole_packets

__all__ = ["BEGINNING", "WaitingFlows", "Waits", "later", "merged", "share_of"]

Waits = dict[int, float]
"""What must have happened: times after the ends of flows, by their places, or after the beginning, by `NONE`."""
BEGINNING: Waits = {NONE: 0.0}


class _Sent(NamedTuple):
    """What a rank has sent in an operation: in its last step, and in the one before."""

    step: int
    now: list[int]
    before: list[int]


def later(waits: Waits, time: float) -> Waits:
    """Return what has happened a time after ``waits``."""
    return {n: time + each for n, each in waits.items()}


def merged(all_waits: Sequence[Waits]) -> Waits:
    """Return what must have happened for all of some waits; the beginning, if there are none.

    Examples
    --------
    >>> merged([{0: 2.0, 1: 0.0}, {1: 5.0}])
    {0: 2.0, 1: 5.0}
    """
    if len(all_waits) == 1:
        return all_waits[0]
    found: Waits = {}
    for waits in all_waits:
        for n, time in waits.items():
            found[n] = max(time, found.get(n, 0.0))
    return found or BEGINNING


def share_of(in_bytes: float, packets: int, packet_size: float) -> PacketUnits:
    """Return one of the packets among which an operation divides its bytes, with its part of these.

    >>> share_of(4000.0, 3, 1500.0), share_of(4000.0, 4, 1500.0).in_packets_of(500.0)
    (1.0, 2.0)
    """
    return PacketUnits(1.0, packet_size, in_bytes / packets)


class WaitingFlows:
    """Flows between ranks, each with the flows that it waits for and its times after them, in a unit of the reader's."""

    def __init__(self) -> None:
        self.source, self.target = list[int](), list[int]()
        self.size, self.start = list[PacketUnits](), list[float]()
        self.after, self.delays = list[list[int]](), list[tuple[float, ...]]()

    def add(self, source: int, target: int, size: PacketUnits, waits: Waits) -> int:
        """Add a flow and return its place."""
        self.source.append(source)
        self.target.append(target)
        self.size.append(size)
        begin, after = waits.get(NONE, 0.0), sorted(n for n in waits if n != NONE)
        times = tuple(waits[each] for each in after)
        alike = begin <= min(times, default=begin) == max(times, default=begin)
        self.start.append(max(times, default=begin) if alike else begin)
        self.after.append(after)
        self.delays.append(() if alike else times)
        return len(self.size) - 1

    def exchange(self, messages: Messages, share: PacketUnits, ranks: list[int], waits: list[Waits]) -> list[Waits]:
        """Add the flows of an operation among some ranks, N of them, and return what each waits for to go on after it.

        Parameters
        ----------
        messages
            Those of the operation, by the places of the ranks, in packets.
        share
            The bytes of the operation for each of these packets: one packet, or less where packets are not full.
        waits
            What each rank has waited for when it comes to the operation, N of them.
        """
        first = len(self.size)
        sent: dict[int, _Sent] = {}
        received: dict[int, int] = {}
        for a, b, size, own, step in zip(*map(np.ndarray.tolist, messages), strict=True):
            place = sent.setdefault(a, _Sent(step, [], []))
            if step > place.step:
                place = sent[a] = _Sent(step, [], place.now)
            awaited: Waits = {first + each: 0.0 for each in own if each != NONE}
            comes = not place.before  # to the operation: with the messages of its first step
            awaited |= waits[a] if comes else dict.fromkeys(place.before, 0.0)
            n = self.add(ranks[a], ranks[b], whole_packets(size * share), awaited)
            place.now.append(n)
            received[b] = n
        return [dict.fromkeys({*sent[place].now, received[place]}, 0.0) for place in range(len(ranks))]

    def listed(self, unit: float) -> ListedFlows:
        """Return the flows with times in s, of which a ``unit`` is so many."""
        start = [unit * each for each in self.start]
        delays = [tuple(unit * each for each in own) for own in self.delays]
        return ListedFlows(self.source, self.target, self.size, start, self.after, delays)
