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
"""Conversion of fields to 64 bits: in compiled code a variable set from a field of 32 bits has 32 bits."""

DATA, ACK, PAUSE, RESUME, GONE = 0, 1, 2, 3, 4
"""Kinds of packets; the last one marks an unused row."""
RECEIVER = -1
"""Instead of the port of a hop: the receiver of the flow. The sender is -2 minus the interface of its host."""
NOBODY = -2
"""Instead of the next port of a list: the port is not in the list."""

PACKET = np.dtype(
    [
        ("time", "f8"),  # time of arrival at its port, s
        ("next", "i4"),  # next packet of its list; -1: none
        ("flow", "i4"),  # of a pause message: the port to pause
        ("ingress", "i4"),  # copy of the field of `HOP`, whose row has left the cache at the arrival
        ("hop", "i4"),  # row of `HOP`
        ("rank", "i4"),  # order of arrivals at equal times
        ("kind", "i2"),
        ("marked", "i2"),  # 1: congestion experienced, or its echo
    ],
    align=True,
)
"""A packet, an ACK or a pause message: 32 bytes, two to a cache line."""

PORT = np.dtype(
    [
        ("free", "f8"),  # end of the last transmission, s
        ("data_head", "i4"),  # queue of data: packets, or flows at an interface
        ("data_tail", "i4"),
        ("queued", "i4"),  # packets in it
        ("paused", "i4"),  # number of ports that pause data
        ("ack_due", "f8"),  # start of transmission of the first queued ACK, s
        ("acks", "i4"),  # queued, including ACKs whose transmission began since the last count
        ("peak_limit", "i4"),  # queued packets up to which there is no new peak; -1: its buffer counts bytes
        ("spent", "f8", (2,)),  # transmission time of data and of ACKs, s
        ("rank", "i4", (2,)),  # order of arrivals over this link at equal times
        ("passage", "f8", (2,)),  # transmission and propagation, s
        ("packet_bytes", "f8"),  # of a data packet in the buffer
        ("left", "f8"),  # time at which the last data packet left the queue, s
        ("acks_begin", "f8"),  # start of transmission of the last queued ACK, s
        ("is_host", "i4"),  # 1: the interface of a host
        ("woken", "i4"),  # of an interface, 1: check for a transmission at ``free``
        ("timers", "i4"),  # of an interface: first row of its heap of timers
        ("pending", "i4"),  # and their number
        ("marks", "i4"),  # 1: its manager marks departing packets
        ("peak", "i4"),  # maximum number of queued packets
        ("signalling", "f8"),  # delay of pause messages in addition to propagation, s
        ("delay", "f8"),  # propagation, s
        ("ack_bytes", "f8"),  # of an ACK in the buffer
        ("peak_bytes", "f8"),  # maximum number of queued bytes
        ("room", "f8"),  # size of the buffer for its manager, packets
        ("unit", "f8"),  # bytes of a data packet if the buffer counts bytes; 0: it counts packets
        ("unused", "f8", (2,)),  # padding to three cache lines
    ],
    align=True,
)
"""A directed link with its queues: three cache lines, the last for pauses, managers and buffers in bytes."""

SLOT = np.dtype([("last", "i4"), ("next", "i4")])
"""A port in a window: the last packet sent to it, -1: none, and the next port of the list of the window;
-1: it is the last port, `NOBODY`: it is not in the list."""

WINDOW = np.dtype(
    [
        ("port", "i4"),  # first port with events; -1: none
        ("retired", "i4"),  # first of the list of ACKs that reach their senders; -1: none
        ("oldest", "i4"),  # last of that list
    ]
)
"""A future window."""

TIMER = np.dtype([("time", "f8"), ("flow", "i4"), ("spare", "i4")])
"""A timer in the heap of an interface, s."""

HOP = np.dtype(
    [
        ("waited", "f8"),  # sum of queueing delays, s
        ("port", "i4"),  # or `RECEIVER`, or a sender
        ("ingress", "i4"),  # row of `INGRESS` that counts the flow at this hop; -1: not counted
    ],
    align=True,
)
"""A hop of a flow; in this order: hops of packets, the receiver, hops of ACKs, the sender.

Four rows share a cache line. A packet that leaves a queue adds to ``waited`` of its hop and reads the next hop,
which is mostly in the same line.
"""

INGRESS = np.dtype(
    [
        ("count", "f8"),  # queued bytes
        ("bound", "f8"),  # up to this count an arrival is only counted, and
        ("resume", "f8"),  # above this count a departure is; never for a shared ingress
        ("high", "f8"),  # count above which the link is paused, bytes
        ("low", "f8"),  # count at which it resumes, bytes
        ("port", "i4"),  # the upstream link
        ("pausing", "i4"),  # the port that sends the messages
        ("change", "i4"),  # of a shared ingress: row of `CHANGE`, the last of the window; -1: none
        ("next", "i4"),  # next shared ingress that changed in the window; -1: none
        ("priority", "i4"),  # traffic class
        ("is_paused", "i2"),  # 1: the last message was a pause
        ("is_shared", "i2"),  # 1: several ports share the count
    ],
    align=True,
)
"""Bytes from an upstream link in the queue of a port, or of all ports of a switch; one cache line."""

CHANGE = np.dtype(
    [
        ("time", "f8"),
        ("more", "f8"),  # bytes
        ("key", "i4"),  # order at equal times
        ("next", "i4"),  # the previous change; -1: none
    ],
    align=True,
)
"""A packet of a shared ingress that entered or left a queue."""

FLOW = np.dtype(
    [
        ("due", "f8"),  # earliest time to create the next packet, s
        ("gap", "f8"),  # minimum time between packets, s
        ("deadline", "f8"),  # of the retransmission timer, s; nan: no timer
        ("created", "f8"),  # creation time of the packet in the interface, s
        ("first_hop", "i4"),
        ("packets", "i4"),  # to send
        ("sent", "i4"),
        ("waits", "i4"),  # 1: a packet is in the interface
        ("next", "i4"),  # next flow in the interface
        ("delivered", "i4"),  # packets
        ("marks", "i4"),  # delivered packets with congestion experienced, up to the end of the run
        ("snd_una", "i4"),
        ("rule", "i4"),  # row of `RATE` and `RULE`; -1: a constant rate
    ],
    align=True,
)
"""A flow with sender and receiver; one cache line."""

RATE = np.dtype(
    [
        ("rate", "f8"),  # packets/s
        ("paced_at", "f8"),  # creation time of the last packet, s
        ("clocked", "f8"),  # time of the last clock event of the rule, s
        ("kind", "i4"),  # of rule
        ("since", "i4"),  # packets created since that time
        ("blocked", "i4"),  # 1: the next packet is due and waits for the last one to leave the interface
        ("idle", "i4"),  # 1: the rule changes nothing before the first mark, and there was none
    ],
    align=True,
)
"""The state of a flow whose rule changes its rate."""


class Fabric(NamedTuple):
    """Arrays of a lossless fabric; P ports, F flows, N packets, and W slots of each port, one per future window."""

    packet: Any  # PACKET (N,)
    sent_at: Any  # (N,) time at which it left its sender, s
    port: Any  # PORT (P,)
    hop: Any  # HOP (H,)
    ingress: Any  # INGRESS (I,)
    room: Any  # (I,) headroom, bytes
    change: Any  # CHANGE, of a window; one row without shared ingress
    flow: Any  # FLOW (F,)
    finished: Any  # (F,) delivery time of the last packet, s; nan: not yet
    counted: Any  # (F,) delivered packets that are recorded, or arrive after the end
    rate: Any  # RATE, a row per flow with a rule that changes its rate
    slot: Any  # SLOT (P W,)
    coming: Any  # WINDOW (W,)
    timer: Any  # TIMER, the heaps of interfaces
    arriving: Any  # (N,) the arrivals of a window at a port, the last one first
    rule: Any  # RULE, the same rows
    events: Any  # (rules, 5) addresses of the events of rules
    called: Any  # CALLED, a row per port; one row without managers
    managers: Any  # addresses of the events of queue managers
    follow: Any  # FOLLOW, a row per flow; no rows if no flow waits for others
    followers: Any  # FOLLOWER: the waiting flows, ordered by the flow that they wait for
    stream: Any  # (P + F,) state of the random numbers of ports, then of flows
    counters: Any  # (7,) see `windows`
    clock: Any  # (6,) see `windows`


class Recorded(NamedTuple):
    """Arrays of a fabric run's records, in S samples."""

    delivered: Any  # (S + 1, F)
    carried: Any  # (S, H) transmissions begun up to the end of each sample; initially zeros
    waiting: Any  # (S + 1, P) queued packets at the end of each sample
    queued_bytes: Any  # (S + 1, P) queued bytes if a buffer counts bytes; one row if none does
    at_hosts: Any  # (S + 1, F) packets of each flow at its interface; one row without access links
    switches: Any  # (M, 5) pauses and resumes
    scale: float  # samples per second
