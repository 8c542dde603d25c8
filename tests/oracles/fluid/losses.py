"""Which packets are missing or marked, said naively: what came to a queue is a curve over what left it.

Packets of a flow keep their order. A receiver that has taken in so many knows, queue by queue from the last to
the first, how many came there for them; what was sent for them and has not come is lost.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tests.oracles.fluid.lines import floor

__all__ = ["LossCurve", "Stretch", "pieces"]


@dataclass
class Stretch:
    """Packets ``first`` .. ``end`` that came to a queue: ``lost`` of them were lost and ``marked`` others marked.

    ``gone``, ``seen``: lost and marked there before; ``since``: where the stretch began before it was split.
    """

    first: float
    end: float
    lost: float
    marked: float
    gone: float
    seen: float
    since: float

    @property
    def begins(self) -> float:
        """Packets that had left the queue before it."""
        return self.first - self.gone

    @property
    def leaves(self) -> float:
        """Packets of it that leave."""
        return self.end - self.first - self.lost


class LossCurve:
    """What a queue has lost and marked of a flow."""

    def __init__(self, quantum: float) -> None:
        self.quantum = quantum
        self.stretches: list[Stretch] = []

    def add(self, first: float, end: float, lost: float, marked: float, read: float) -> None:
        """Note a loss; the receiver has taken in ``read`` of the packets that left the queue.

        What ends where the last stretch does, or goes on with one shorter than a packet, belongs to it.
        """
        last = self.stretches[-1] if self.stretches else None
        if last is not None and self.came(read) < last.end:
            touches = last.end == first and last.end - last.since < 1.0
            if last.end == end or touches:
                self.split(last, read)
                if last.end == end:  # of packets that are lost here marks are, too
                    last.marked *= max(0.0, 1.0 - lost / last.leaves) if last.leaves > 0.0 else 0.0
                last.end, last.lost, last.marked = end, last.lost + lost, last.marked + marked
                return
        self.append(first, end, lost, marked)

    def mark(self, first: float, end: float, marked: float, read: float) -> None:
        """Note marks of packets that have left; where losses wait behind them these and the marks are one stretch."""
        last = self.stretches[-1] if self.stretches else None
        if last is not None and last.end > first:
            self.split(last, read)
            last.marked = min(last.marked + marked, last.leaves)
        else:
            self.add(first, end, 0.0, marked, read)

    def append(self, first: float, end: float, lost: float, marked: float) -> None:
        """Append a stretch."""
        last = self.stretches[-1] if self.stretches else None
        gone = last.gone + last.lost if last else 0.0
        seen = last.seen + last.marked if last else 0.0
        self.stretches.append(Stretch(first, end, lost, marked, gone, seen, first))

    def push_out(self, end: float, waits: float, lost: float, read: float) -> None:
        """Note a loss at the head of the queue, where ``waits`` of what came up to ``end`` did.

        Stretches that wait behind it become one with it.
        """
        begin, until, marked = end, 0.0, 0.0
        while waits > 0.0 and self.stretches and self.stretches[-1].end > begin - waits:
            self.split(self.stretches[-1], read)
            last = self.stretches.pop()
            waits -= begin - last.first - last.lost
            begin, until = last.first, max(until, last.end)
            lost, marked = lost + last.lost, marked + last.marked
        begin -= max(0.0, waits)
        until = max(until, begin + lost)
        self.append(begin, until, lost, min(marked, until - begin - lost))

    def split(self, last: Stretch, read: float) -> None:
        """Make what was read of a stretch, if any was, one of its own."""
        part = (read - last.begins) / last.leaves if read > last.begins else 0.0
        if part > 0.0:
            at, seen = self.came(read), part * last.marked
            lost = at - last.first - (read - last.begins)
            own = Stretch(last.first, at, lost, seen, last.gone, last.seen, last.since)
            self.stretches.insert(-1, own)
            last.gone, last.seen = last.gone + lost, last.seen + seen
            last.first, last.lost, last.marked = at, last.lost - lost, last.marked - seen

    def came(self, left: float, *, after: bool = False) -> float:
        """Return how many packets came for the first ``left`` that left; ``after``: and all lost behind them."""
        find = bisect_right if after else bisect_left
        n = find(self.stretches, left, key=lambda each: each.begins) - 1
        if n < 0:
            return left
        own = self.stretches[n]
        if left >= own.begins + own.leaves:
            return left + own.gone + own.lost
        part = (left - own.begins) / own.leaves
        return left + own.gone + float(floor(np.array(part * own.lost), self.quantum))

    def left(self, came: float) -> float:
        """Return how many of the first ``came`` packets leave."""
        n = bisect_right(self.stretches, came, key=lambda each: each.first) - 1
        if n < 0:
            return came
        own = self.stretches[n]
        part = min(1.0, (came - own.first) / (own.end - own.first))
        return came - own.gone - float(floor(np.array(part * own.lost), self.quantum))

    def marked(self, left: float) -> float:
        """Return how many of the first ``left`` packets that left are marked."""
        n = bisect_left(self.stretches, left, key=lambda each: each.begins) - 1
        if n < 0:
            return 0.0
        own = self.stretches[n]
        part = min(1.0, (left - own.begins) / own.leaves) if own.leaves > 0.0 else 1.0
        return own.seen + part * own.marked

    def edges(self, read: float) -> list[float]:
        """Return where stretches begin and end that are not all read, in packets that left."""
        own = [s for s in self.stretches if s.begins + s.leaves >= read]
        return [edge for s in own for edge in (s.begins, s.begins + s.leaves)]


def places(curves: Sequence[LossCurve], left: float, *, after: bool) -> list[float]:
    """Return how many packets left each queue of a path, and its host first, for ``left`` at its end."""
    found = [left]
    for curve in reversed(curves):
        found.append(curve.came(found[-1], after=after))
    return found[::-1]


def pieces(curves: Sequence[LossCurve], begin: float, end: float) -> Iterator[tuple[float, float, float]]:
    """Return what a receiver takes in, from ``begin`` to ``end``, up to each change of the density of losses.

    Yields
    ------
    tuple of float
        How many packets came, how many were sent for them, how many of those that came are marked.
    """
    cuts = {begin, end}
    for n, curve in enumerate(curves):
        for at in curve.edges(places(curves[n + 1 :], begin, after=False)[0]):
            for later in curves[n + 1 :]:
                at = later.left(at)
            if begin <= at <= end:
                cuts.add(at)
    for first, last in itertools.pairwise(sorted(cuts)):
        before, behind = (places(curves, first, after=after) for after in (False, True))
        until = places(curves, last, after=False)
        if behind[0] > before[0]:
            yield 0.0, behind[0] - before[0], 0.0
        unmarked = 1.0  # part of those that come that no queue marked
        for curve, low, high in zip(curves, behind[1:], until[1:], strict=True):
            if high > low:
                unmarked *= 1.0 - (curve.marked(high) - curve.marked(low)) / (high - low)
        yield last - first, until[0] - behind[0], (1.0 - unmarked) * (last - first)
