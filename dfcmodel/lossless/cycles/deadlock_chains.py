"""How soon the buffers of a cycle deadlock where packets come at random: a Markov chain of their queues.

Each buffer of the cycle has ``room`` packets. Packets that take two buffers of the cycle come to each of them as a Poisson process, and wait
in their order; a buffer takes one packet time to send, exponential in the mean. A full buffer takes nothing, and the packet at the
head of the buffer before it waits. All buffers full of packets that go on at their heads is the deadlock, which nothing leaves.

A queue is a whole number. Its binary digits behind the first one are the packets, the last digit that at the head: 1 goes on to the next buffer,
0 leaves the cycle.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hopflow.checks import integer, one_number
from hopflow.kernels.stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markov.results import Passage

__all__ = ["MOST_ROOM", "MOST_STATES", "cycle_passage"]

EMPTY = 1
MOST_ROOM = 12
"""Packets per buffer, at the most."""
MOST_STATES = 300_000
"""States of a chain, at the most."""


def _joined(queue: Any, packet: Any) -> Any:
    """Return a queue with one more packet at its end."""
    top = 1
    while 2 * top <= queue:
        top *= 2
    return queue + top + top * packet


def _changed(queues: Any, k: int, queue: Any) -> Any:
    return tuple(queue if i == k else each for i, each in enumerate(queues))


def _rules(s: Any, q: Any) -> Iterator[Any]:
    """Yield arrivals to each buffer at half of the load, which cross two of them, and departures, by packet times."""
    for k in range(len(s.n)):
        there = (k + 1) % len(s.n)
        left = _changed(s.n, k, s.n[k] // 2)
        if s.n[k] < q.full:
            yield s._replace(n=_changed(s.n, k, _joined(s.n[k], 1))), q.load / 2
        if s.n[k] > 1 and s.n[k] % 2 == 0:
            yield s._replace(n=left), 1.0
        elif s.n[k] > 1 and s.n[there] < q.full:
            yield s._replace(n=_changed(left, there, _joined(left[there], 0))), 1.0


def cycle_passage(buffers: int, load: float, room: int) -> Passage:
    """Return the passage from empty buffers of a cycle to its deadlock, in packet times.

    Parameters
    ----------
    buffers
        Of the cycle.
    load
        Of each of its links, over its rate, above 0.
    room
        Packets of each buffer, 1 to 12.

    Raises
    ------
    ValueError
        For numbers outside their ranges, and for more than `MOST_STATES` combinations of queues.
    """
    from markov import explore, passage

    watch = Stopwatch()
    load = one_number("load", load, above=0.0, hint="over the rate of the links")
    room = integer("room", room, 1, MOST_ROOM, why="packets per buffer")
    combinations = (2 ** (room + 1) - 1) ** buffers
    if combinations > MOST_STATES:
        largest = max((r for r in range(1, room) if (2 ** (r + 1) - 1) ** buffers <= MOST_STATES), default=0)
        allowed = f"at most {largest}" if largest else "none is small enough"
        msg = f"a cycle of {buffers} buffers has up to {combinations} states then; {allowed} for {MOST_STATES}"
        raise ValueError(f"room = {room}: {msg}")
    full = 2**room
    chain = explore(_rules, start={"n": (EMPTY,) * buffers}, params={"load": load, "full": full})
    result = passage(chain, to=lambda s: all(queue >= full and queue % 2 == 1 for queue in s.n))
    return replace(result, seconds=watch.seconds())
