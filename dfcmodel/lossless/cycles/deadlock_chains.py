"""Time until the buffers of a cycle deadlock under random arrivals: a Markov chain of their queues.

Each buffer of the cycle has ``room`` packets. Packets that cross two buffers of the cycle arrive at each buffer as a
Poisson process, and are served in order of arrival. A buffer takes an exponential time with mean 1 to send a packet. A
full buffer accepts no packet, and the packet at the head of the buffer before it waits. The deadlock is the absorbing
state in which all buffers are full and their heads go on to the next buffer.

A queue is an integer. Its binary digits after the leading 1 are the packets, the last digit is the head: 1 goes on to
the next buffer, 0 leaves the cycle.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hopflow.checks import integer, one_number
from hopflow.kernels.stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markov.results import Passage

__all__ = ["MAX_ROOM", "MAX_STATES", "cycle_passage"]

EMPTY = 1
MAX_ROOM = 12
"""Maximum number of packets per buffer."""
MAX_LOAD = 10.0
"""Maximum load of a link; a larger number is likely a percentage."""
MAX_STATES = 300_000
"""Maximum number of states of a chain."""


def _enqueue(queue: Any, packet: Any) -> Any:
    """Return a queue, stored as the bits of a whole number, with a packet (1 or 0) appended."""
    top = 1
    while 2 * top <= queue:
        top *= 2
    return queue + top + top * packet


def _replace_queue(queues: Any, k: int, queue: Any) -> Any:
    """Return the tuple of queues, each an integer of packets, with queue ``k`` replaced."""
    return tuple(queue if i == k else other for i, other in enumerate(queues))


def _rules(s: Any, q: Any) -> Iterator[Any]:
    """Yield successors of state s with rates per packet time: arrivals at half of ``q.load``, and departures."""
    for k in range(len(s.n)):
        after = (k + 1) % len(s.n)
        departed = _replace_queue(s.n, k, s.n[k] // 2)
        if s.n[k] < q.full:
            yield s._replace(n=_replace_queue(s.n, k, _enqueue(s.n[k], 1))), q.load / 2
        if s.n[k] > 1 and s.n[k] % 2 == 0:
            yield s._replace(n=departed), 1.0
        elif s.n[k] > 1 and s.n[after] < q.full:
            yield s._replace(n=_replace_queue(departed, after, _enqueue(departed[after], 0))), 1.0


def cycle_passage(buffers: int, load: float, room: int) -> Passage:
    """Return the passage from empty buffers of a cycle to its deadlock, in packet times.

    Parameters
    ----------
    buffers
        Number of buffers of the cycle.
    load
        Load of each link, relative to its rate, above 0, at most 10.
    room
        Packets of each buffer, 1 to 12.

    Raises
    ------
    ValueError
        For numbers outside their ranges, and for more than `MAX_STATES` combinations of queues.
    """
    from markov import explore, passage

    watch = Stopwatch()
    load = one_number(
        "load", load, above=0.0, at_most=MAX_LOAD, hint="over the rate of the links: 30 % is 0.3 or '30%'"
    )
    room = integer("room", room, 1, MAX_ROOM, why="packets per buffer")
    combinations = (2 ** (room + 1) - 1) ** buffers
    if combinations > MAX_STATES:
        largest = max((r for r in range(1, room) if (2 ** (r + 1) - 1) ** buffers <= MAX_STATES), default=0)
        allowed = f"at most {largest}" if largest else "none is small enough"
        msg = f"a cycle of {buffers} buffers has up to {combinations} states then; {allowed} for {MAX_STATES}"
        raise ValueError(f"room = {room}: {msg}")
    full = 2**room
    chain = explore(_rules, start={"n": (EMPTY,) * buffers}, params={"load": load, "full": full})
    result = passage(chain, to=lambda s: all(queue >= full and queue % 2 == 1 for queue in s.n))
    return replace(result, seconds=watch.seconds())
