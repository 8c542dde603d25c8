"""Lists of flows with predecessors, to which readers of workloads add messages and collective operations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dfcmodel.network.demands.exchanges import NONE, Messages
from dfcmodel.network.demands.flow_files import ListedFlows
from hopflow.units import PacketUnits, whole_packets

__all__ = ["BEGINNING", "RankComputation", "WaitingFlows", "Waits", "later", "merge_waits", "share_of"]

Waits = dict[int, float]
"""Condition of a start: delays after the ends of flows, by index, or after the beginning, by `NONE`."""
BEGINNING: Waits = {NONE: 0.0}


class RankComputation(NamedTuple):
    """Times of computation of a rank: in total, and after its last message ("trailing"), for which no flow waits."""

    total: float = 0.0
    trailing: float = 0.0


class StreamOverlap(NamedTuple):
    """Overlap on a rank's streams: two overlapping nodes, and the number of nodes that overlap their predecessor.

    ``nodes`` is their number; ``earlier`` and ``later`` name two such nodes, with their ``stream``.
    """

    rank: int
    earlier: str
    later: str
    stream: str
    nodes: int


class _Sent(NamedTuple):
    """Flows that a rank has sent in an operation: its last step, flows in this step, and flows in the step before."""

    step: int
    now: list[int]
    before: list[int]


def later(waits: Waits, time: float) -> Waits:
    """Return a condition (flow to delay) with ``time`` added to each delay."""
    return {n: time + delay for n, delay in waits.items()}


def merge_waits(all_waits: Sequence[Waits]) -> Waits:
    """Return the condition (flow to delay) that all conditions hold, with the longest delay after each flow.

    Examples
    --------
    >>> merge_waits([{0: 2.0, 1: 0.0}, {1: 5.0}])
    {0: 2.0, 1: 5.0}
    """
    if len(all_waits) == 1:
        return all_waits[0]
    latest: Waits = {}
    for waits in all_waits:
        for n, time in waits.items():
            latest[n] = max(time, latest.get(n, 0.0))
    return latest or BEGINNING


def share_of(in_bytes: float, packets: int, packet_size: float) -> PacketUnits:
    """Return a packet of ``packet_size`` bytes with an equal part of ``in_bytes``, in_bytes / packets.

    >>> share_of(4000.0, 3, 1500.0), share_of(4000.0, 4, 1500.0).in_packets_of(500.0)
    (1.0, 2.0)
    """
    return PacketUnits(1.0, packet_size, in_bytes / packets)


class WaitingFlows:
    """Flows between ranks, with predecessors and delays; times are in the unit of the file, such as ticks."""

    def __init__(self) -> None:
        self.source, self.target = list[int](), list[int]()
        self.size, self.start = list[PacketUnits](), list[float]()
        self.after, self.delays = list[list[int]](), list[tuple[float, ...]]()
        self.computations: Sequence[RankComputation] = ()
        """Computations of the ranks, set by the reader."""
        self.overlaps: Sequence[StreamOverlap] = ()
        """Nodes that no dependency orders on their streams, set by the reader of traces; an entry per rank."""
        self.ranks: tuple[int, str] | None = None
        """Number of ranks of the file, and the place that states it, set by the reader; None: any."""
        self.has_all_reduce = False
        """Whether an operation is an all-reduce of several ranks."""
        self.without_messages = defaultdict[str, dict[str, list[int]]](lambda: defaultdict(list))
        """Lines of operations with bytes that exchange nothing, by the reason and the operation."""

    def add(self, source: int, target: int, size: PacketUnits, waits: Waits) -> int:
        """Add a flow that starts by the condition ``waits`` (flow to delay); return its index."""
        self.source.append(source)
        self.target.append(target)
        self.size.append(size)
        begin, after = waits.get(NONE, 0.0), sorted(n for n in waits if n != NONE)
        times = tuple(waits[flow] for flow in after)
        same_delays = begin <= min(times, default=begin) == max(times, default=begin)
        self.start.append(max(times, default=begin) if same_delays else begin)
        self.after.append(after)
        self.delays.append(() if same_delays else times)
        return len(self.size) - 1

    def exchange(self, messages: Messages, share: PacketUnits, ranks: list[int], waits: list[Waits]) -> list[Waits]:
        """Add an operation's flows among N ranks (``share``: a packet); return each rank's condition of completion.

        Parameters
        ----------
        messages
            Messages of the operation, in packets, between indices of ``ranks``.
        share
            The part of the operation's bytes in each packet: one packet, or less for packets that are not full.
        waits
            Condition on which each rank begins the operation, N of them.
        """
        first = len(self.size)
        sent: dict[int, _Sent] = {}
        received: dict[int, int] = {}
        for a, b, size, needs, step in zip(*map(np.ndarray.tolist, messages), strict=True):
            steps = sent.setdefault(a, _Sent(step, [], []))
            if step > steps.step:
                steps = sent[a] = _Sent(step, [], steps.now)
            awaited: Waits = {first + message: 0.0 for message in needs if message != NONE}
            is_first_step = not steps.before
            awaited |= waits[a] if is_first_step else dict.fromkeys(steps.before, 0.0)
            n = self.add(ranks[a], ranks[b], whole_packets(size * share), awaited)
            steps.now.append(n)
            received[b] = n
        return [dict.fromkeys({*sent[rank].now, received[rank]}, 0.0) for rank in range(len(ranks))]

    def to_listed_flows(self, unit: float) -> ListedFlows:
        """Return the flows with times in s; ``unit`` is the present unit of time in s."""
        start = [unit * time for time in self.start]
        delays = [tuple(unit * delay for delay in row) for row in self.delays]
        return ListedFlows(self.source, self.target, self.size, start, self.after, delays, ranks=self.ranks)
