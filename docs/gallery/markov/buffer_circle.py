"""A circle of buffers: how soon do lossless switches deadlock?

Three switches in a circle pause each other when a buffer is full. A packet crosses two links
of the circle. The switches deadlock when all buffers are full and all packets at their heads
go on to the next one, which has no room. A cycle of buffers is necessary for this; how soon
it happens depends on the load.

Field: communication.
Source: S. Hu et al., Deadlocks in datacenter networks: why do they form, and how to avoid
them, HotNets 2016.
"""

from __future__ import annotations

import numpy as np

from markov import explore, passage

ROOM = 3  # packets per buffer
EMPTY, FULL = 1, 2**ROOM
# A queue is a number. Its binary digits after the first one are the packets, the last digit that
# at the head: 1 goes on to the next switch, 0 leaves.


def joined(queue, packet):
    """Return a queue with one more packet at its end."""
    top = 1
    while 2 * top <= queue:
        top *= 2
    return queue + top + top * packet


def changed(n, k, queue):
    return tuple(queue if i == k else each for i, each in enumerate(n))


def rules(s, q):
    """Packets come to each switch at half the load, in transmission times, and cross two links."""
    for k in range(3):
        there = (k + 1) % 3
        left = changed(s.n, k, s.n[k] // 2)
        if s.n[k] < FULL:
            yield s._replace(n=changed(s.n, k, joined(s.n[k], 1))), q.load / 2
        if s.n[k] > EMPTY and s.n[k] % 2 == 0:
            yield s._replace(n=left), 1.0
        elif s.n[k] > EMPTY and s.n[there] < FULL:
            yield s._replace(n=changed(left, there, joined(left[there], 0))), 1.0


def counts(s):
    leaving = sum(queue > EMPTY and queue % 2 == 0 for queue in s.n)
    return {"with room": sum(queue < FULL for queue in s.n), "leaving": leaving}


for load in (0.4, 0.6, 0.8):
    circle = explore(rules, start={"n": (EMPTY, EMPTY, EMPTY)}, params={"load": load}, labels=counts)
    stop = passage(circle, to=lambda s: all(queue >= FULL and queue % 2 == 1 for queue in s.n))
    early = stop.distribution([1000.0]).cdf[0]
    print(f"load {load}: after {stop.mean:,.0f} packet times on average, {early:.1%} within 1000")
    came, went = load / 2 * stop.reward("with room").value, stop.reward("leaving").value
    np.testing.assert_allclose(came - went, 3 * ROOM, rtol=1e-6)  # all of these are in buffers
print(f"{circle.chain.size} states; of the packets that came, {3 * ROOM} have not left")
