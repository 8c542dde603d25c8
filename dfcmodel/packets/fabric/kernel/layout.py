"""Data types of the arrays of the fabric kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "ACK",
    "CHANGE",
    "DATA",
    "FLOW",
    "GONE",
    "HOP",
    "INGRESS",
    "NOBODY",
    "PACKET",
    "PAUSE",
    "PORT",
    "RATE",
    "RECEIVER",
    "RESUME",
    "SLOT",
    "TIMER",
    "WINDOW",
    "Fabric",
    "Recorded",
    "int64",
]

int64: Any = np.int64
"""A number of a record in 64 bits: compiled, a variable that is set from a field of 32 bits has 32."""

DATA, ACK, PAUSE, RESUME, GONE = 0, 1, 2, 3, 4
"""Kinds of packets; the last is that of a row that is not in use."""
RECEIVER = -1
"""In place of the port of a hop: the receiver of the flow. Its sender is -2 less the interface of its host."""
NOBODY = -2
"""In place of the next port of a list: the port is not in the list."""

PACKET = np.dtype(
    [
        ("time", "f8"),  # when it arrives, or arrived, at its port, s
        ("next", "i4"),  # next packet of its list; -1: none
        ("flow", "i4"),  # of a pause message: the port that it is for
        (
            "ingress",
            "i4",
        ),  # that of the row of `HOP`, which has left the cache when the packet arrives
        ("hop", "i4"),  # row of `HOP`
        ("rank", "i4"),  # order of arrivals at equal times
        ("kind", "i2"),
        ("marked", "i2"),  # 1: congestion was experienced, or is echoed
    ],
    align=True,
)
"""A packet, an ACK or a pause message: 32 bytes, two to a cache line."""

PORT = np.dtype(
    [
        ("free", "f8"),  # end of the last transmission, s
        ("data_head", "i4"),  # queue of data: of packets, at an interface of flows
        ("data_tail", "i4"),
        ("queued", "i4"),  # how many of them wait
        ("paused", "i4"),  # number of ports that pause data
        ("ack_due", "f8"),  # when the first ACK that waits begins, s
        ("acks", "i4"),  # that wait, with those that have begun since they were counted
        ("most", "i4"),  # that may wait without a new peak; -1: its buffer counts bytes
        ("spent", "f8", (2,)),  # transmission time of data and of ACKs, s
        ("rank", "i4", (2,)),  # order of arrivals over this link at equal times
        ("passage", "f8", (2,)),  # transmission and propagation, s
        ("taken", "f8"),  # bytes that data takes in the buffer
        ("left", "f8"),  # when the last data packet left the queue, s
        ("acks_begin", "f8"),  # when the last ACK that has waited begins, s
        ("is_host", "i4"),  # 1: the interface of a host
        ("woken", "i4"),  # of an interface, 1: a transmission may begin at ``free``
        ("timers", "i4"),  # of an interface: first row of its heap of timers
        ("pending", "i4"),  # and how many there are
        ("marks", "i4"),  # 1: its manager marks packets that leave
        ("peak", "i4"),  # most packets that have waited
        ("signalling", "f8"),  # delay of pause messages besides propagation, s
        ("delay", "f8"),  # propagation, s
        ("acks_taken", "f8"),  # bytes that an ACK takes in the buffer
        ("peak_bytes", "f8"),  # most bytes that have waited
        ("room", "f8"),  # packets that its manager may take to wait
        (
            "unit",
            "f8",
        ),  # bytes of a data packet where the buffer counts bytes; 0: it counts packets
        ("unused", "f8", (2,)),  # up to three cache lines
    ],
    align=True,
)
"""A directed link with its queues: three cache lines, the last for pauses, managers and buffers in bytes."""

SLOT = np.dtype([("last", "i4"), ("next", "i4")])
"""Of a port in a window: the last packet that was sent to it, -1: none, and the next port of the list of the window;
-1: it is the last one, `NOBODY`: it is not in the list."""

WINDOW = np.dtype(
    [
        ("port", "i4"),  # first one of the list of those with work; -1: none
        ("retired", "i4"),  # first one of the list of ACKs that reach their senders; -1: none
        ("oldest", "i4"),  # last one of that list
    ]
)
"""A window to come."""

TIMER = np.dtype([("time", "f8"), ("flow", "i4"), ("spare", "i4")])
"""A timer in the heap of an interface, s."""

HOP = np.dtype(
    [
        ("waited", "f8"),  # sum of queueing delays, s
        ("port", "i4"),  # or `RECEIVER`, or a sender
        ("ingress", "i4"),  # row of `INGRESS` that counts the flow here; -1: not counted
    ],
    align=True,
)
"""A hop of a flow: those of its packets, its receiver, those of its ACKs, its sender.

Four of them are in a cache line. A packet that leaves a queue adds to ``waited`` of its hop and reads the next one,
which is mostly in the same line.
"""

INGRESS = np.dtype(
    [
        ("count", "f8"),  # bytes that wait
        ("bound", "f8"),  # an arrival up to which, and
        ("resume", "f8"),  # a departure above which is only counted; of a shared one none is
        ("high", "f8"),  # bytes above which the link is paused
        ("low", "f8"),  # and up to which it goes on
        ("port", "i4"),  # the link over which they come
        ("asks", "i4"),  # the port that pauses it
        ("change", "i4"),  # of a shared one: row of `CHANGE`, the last of the window; -1: none
        ("next", "i4"),  # next shared one that has changed in the window; -1: none
        ("priority", "i4"),  # class of traffic
        ("asking", "i2"),  # 1: it is paused
        ("is_shared", "i2"),  # 1: several ports count together
    ],
    align=True,
)
"""What a port counts of a link over which packets come, or the ports of a switch together, in one cache line."""

CHANGE = np.dtype(
    [
        ("time", "f8"),
        ("more", "f8"),  # bytes
        ("key", "i4"),  # order at equal times
        ("next", "i4"),  # the change before; -1: none
    ],
    align=True,
)
"""A packet that entered or left a queue whose ingress is shared."""

FLOW = np.dtype(
    [
        ("due", "f8"),  # when the next packet may be created, s
        ("gap", "f8"),  # least time between packets, s
        ("deadline", "f8"),  # of the retransmission timer, s; nan: ACKs restart none
        ("born", "f8"),  # when the packet in the interface was created, s
        ("way", "i4"),  # first hop
        ("packets", "i4"),  # to send
        ("sent", "i4"),
        ("waits", "i4"),  # 1: it has a packet in the interface
        ("next", "i4"),  # next flow in the interface
        ("came", "i4"),  # packets delivered
        ("marks", "i4"),  # of them with congestion experienced, until the end
        ("snd_una", "i4"),
        ("rule", "i4"),  # row of `RATE` and `RULE`; -1: a constant rate
    ],
    align=True,
)
"""A flow: both of its ends, in one cache line."""

RATE = np.dtype(
    [
        ("rate", "f8"),  # packets/s
        ("paced_at", "f8"),  # when the last packet was created, s
        ("clocked", "f8"),  # when the clocks of the rule were moved on, s
        ("kind", "i4"),  # of rule
        ("since", "i4"),  # packets created since then
        ("blocked", "i4"),  # 1: it waits until its packet has left the interface
        ("idle", "i4"),  # 1: no mark has come to a rule that changes nothing before the first
    ],
    align=True,
)
"""The rate of a flow with a rule that changes."""


class Fabric(NamedTuple):
    """Ports and flows; P ports, F flows, N packets, and W slots of each port, one for each window to come."""

    packet: Any  # PACKET (N,)
    sent_at: Any  # (N,) when each left its sender, s
    port: Any  # PORT (P,)
    hop: Any  # HOP (H,)
    ingress: Any  # INGRESS (I,)
    room: Any  # (I,) bytes for which each has room
    change: Any  # CHANGE, of a window; one row where no ingress is shared
    flow: Any  # FLOW (F,)
    finished: Any  # (F,) when the last packet of each was delivered, s; nan: not yet
    counted: Any  # (F,) delivered packets that stand in ``delivered``, or come after the end
    rate: Any  # RATE, a row per flow with a rule that changes
    slot: Any  # SLOT (P W,)
    coming: Any  # WINDOW (W,)
    timer: Any  # TIMER, the heaps of interfaces
    arriving: Any  # (N,) the arrivals of a window at a port, the last one first
    rule: Any  # RULE, the same rows
    events: Any  # (rules, 5) addresses of the events of rules
    called: Any  # CALLED, a row per port; one row without managers
    managers: Any  # addresses of the events of queue managers
    follow: Any  # FOLLOW, a row per flow; none where no flow waits for others
    followers: Any  # FOLLOWER: the flows that wait, those for the first flow first
    stream: Any  # (P + F,) state of the random numbers of ports, then of flows
    counters: Any  # (7,) see `windows`
    clock: Any  # (6,) see `windows`


class Recorded(NamedTuple):
    """What a run records, in S samples."""

    delivered: Any  # (S + 1, F)
    carried: Any  # (S, H) packets whose transmission has begun up to the end of each sample; zeros at first
    waiting: Any  # (S + 1, P) packets that wait at the end of each sample
    queued_bytes: Any  # (S + 1, P) bytes that wait where a buffer counts bytes; one row where none does
    at_hosts: Any  # (S + 1, F) packets of each flow at its interface; one row where no interface is an access link
    switches: Any  # (M, 5) pauses and resumes
    scale: float  # samples per second
