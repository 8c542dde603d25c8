"""Ranked queues with many packets, beside a sorted list in plain Python."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import CBR, Flow, Link, Packets, QueuedPacket, Scenario, SwitchProgram, trace_packets

RATE = 1e5  # of the link behind the queue, packets/s


def drawn_rank(q: Any, e: Any) -> Any:
    """Return a rank with few or many ties that rises or falls with the number of a packet."""
    key = 7919.0 * e.left + 104729.0 * e.flow
    return key - q.values * math.floor(key / q.values) + q.slope * e.left


@dataclass(frozen=True)
class Ranked(SwitchProgram):
    """Rank packets by number and flow; a full buffer drops the arrival."""

    values: float = 10.0
    slope: float = 0.0

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Rank."""
        return s._replace(rank=drawn_rank(q, e))


@dataclass(frozen=True)
class RankedDropLast(Ranked):
    """The same; a full buffer drops the packet with the highest rank."""

    overflow = "last"


class Sent(NamedTuple):
    """Packets as (flow, number) in the order in which they are sent, and dropped packets with their drop times."""

    order: list[tuple[int, int]]
    times: list[float]
    drops: list[tuple[float, int, int]]


def sort_and_serve(arrivals: list[tuple[float, int, int]], sizes: list[int], program: Ranked, buffer: int) -> Sent:
    """Return what a server with a sorted list sends of (time, flow, number): the lowest rank first, ties by arrival."""
    numbers = SimpleNamespace(**program.numbers())
    sent, waiting, free = Sent([], [], []), list[tuple[float, int]](), -math.inf

    def serve(until: float) -> None:
        nonlocal free
        while waiting and free < until:
            n = waiting.pop(0)[1]
            sent.order.append(arrivals[n][1:])
            sent.times.append(free)
            free += 1.0 / RATE

    for n, (time, flow, number) in enumerate(arrivals):
        serve(time)
        if not waiting and free < time:
            sent.order.append((flow, number))
            sent.times.append(time)
            free = time + 1.0 / RATE
            continue
        fields = dict.fromkeys(QueuedPacket._fields, 0.0)
        rank = drawn_rank(numbers, QueuedPacket(**{**fields, "flow": flow, "left": float(sizes[flow] - number)}))
        if len(waiting) >= buffer:
            drops_last = program.overflow == "last" and waiting[-1][0] > rank
            dropped = waiting.pop()[1] if drops_last else n
            sent.drops.append((time, *arrivals[dropped][1:]))
            if not drops_last:
                continue
        bisect.insort(waiting, (rank, n))
    serve(math.inf)
    return sent


CASES = [
    *((10.0, 0.0, 3000), (3.0, 0.0, 4000), (1e9, 0.0, 3000)),  # few, fewer and no equal ranks
    *((1.0, 1.0, 2000), (1.0, -1.0, 2000), (1e3, 0.3, 4000)),  # falling, rising, mostly falling
    *((1e9, 0.0, 1), (1e9, 0.0, 3), (5.0, 0.0, 17), (1e9, 0.0, 70), (50.0, -0.1, 300)),
]


@pytest.mark.parametrize(("values", "slope", "buffer"), CASES)
@pytest.mark.parametrize("kind", [Ranked, RankedDropLast])
def test_packets_leave_by_rank_and_ties_by_arrival(
    kind: type[Ranked], values: float, slope: float, buffer: int
) -> None:
    """Three flows send at three times the rate of the link, up to 2,900 packets wait, and arrays of packets grow."""
    program, sizes = kind(values, slope), [1900, 1400, 1100]
    links = [Link("a", "s", 1e7, 1e-6, 10_000), Link("s", "b", RATE, 1e-6, buffer, program)]
    flows = [Flow(str(n), ("a", "s", "b"), CBR(rate), size=sizes[n]) for n, rate in enumerate((1.3e5, 9e4, 8e4))]
    scenario = Scenario("ranked", links, flows, duration=0.06)
    events = trace_packets(scenario, "s->b", Packets(seed=buffer)).events
    assert len(events) == sum(sizes)
    arrivals = sorted(events[["arrived", "flow", "number"]].tolist())
    expected = sort_and_serve(arrivals, sizes, program, buffer)
    sent = np.sort(events[~np.isnan(events["sent"])], order="sent")
    assert sent[["flow", "number"]].tolist() == expected.order
    np.testing.assert_allclose(sent["sent"], expected.times, rtol=1e-12)
    dropped = events[np.isnan(events["sent"])][["drop_time", "flow", "number"]].tolist()
    assert sorted(dropped) == sorted(expected.drops)
    assert (buffer >= 3000) == (not dropped)
