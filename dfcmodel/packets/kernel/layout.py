"""The rows of the engine's arrays, and the numbers that its parts share."""

from __future__ import annotations

import numpy as np

__all__ = ["EARLY", "ELEMENT", "FLOW", "HOP", "LANE", "UNIT"]

ELEMENT = np.dtype(
    [
        ("time", "f8"),  # when it arrives, s
        ("sent", "f8"),  # when its data left the sender, s
        ("number", "i4"),  # of the packet, or of the last one acknowledged; WAKE
        ("flow", "i4"),
        ("next", "i4"),  # in its slot, or in the list of free elements; -1: none
        ("key", "i4"),  # decides between equal times
        ("hop", "i4"),  # place in the flow's way
        ("size", "i4"),  # class of sizes
        ("marked", "i4"),  # 1: it met congestion
    ],
    align=True,
)
"""A packet, an ACK or the time at which a sender wants to be woken."""

UNIT = np.dtype(
    [
        ("free", "f8"),  # when the port will have sent what it holds, s
        ("inverse", "f8"),  # slots of the box per second
        ("delay", "f8"),  # propagation, s
        ("at", "i8"),  # first slot of the box
        ("mask", "i8"),  # slots less 1
        ("count", "i8"),  # elements in the box
        ("room", "i8"),  # packets that may wait
        ("ring", "i8"),  # first place of the ring of beginnings of transmissions to come
        ("ring_mask", "i8"),
        ("first", "i8"),  # of the waiting packets in the ring
        ("last", "i8"),  # one past their last
        ("rank", "i8"),  # decides between arrivals at equal times
        ("peak", "i8"),
        ("kind", "i8"),  # FIFO, EARLY, LANES
        ("waiting", "i8"),  # packets in its lanes
        ("lane", "i8"),  # its first lane
        ("lanes", "i8"),
        ("levels", "i8"),
        ("by_turns", "i8"),  # 1: lanes of flows, by deficits
        ("paused", "i8"),  # how many ports pause it
        ("pausing", "i8"),  # 1: it pauses its feeders
        ("feeder", "i8"),  # the first of them in `feeder`
        ("feeders", "i8"),
        ("high", "f8"),
        ("low", "f8"),
        ("signalling", "f8"),
    ],
    align=True,
)
"""A port, or (the last row) the box of senders."""

LANE = np.dtype(
    [
        ("deficit", "f8"),  # bytes
        ("head", "i4"),  # first element; -1: none
        ("tail", "i4"),
        ("count", "i4"),
        ("next", "i4"),  # the lane whose turn is after its own
        ("level", "i4"),
        ("first", "i4"),  # of a level, in its first lanes: the lane whose turn it is
        ("last", "i4"),
        ("flow", "i4"),
    ],
    align=True,
)
"""Packets that wait one behind the other: a FIFO queue, or those of a flow at a port."""

EARLY = np.dtype(
    [
        ("average", "f8"),  # packets
        ("pace", "f8"),  # packets of mean size per second
        ("weight", "f8"),
        ("low", "f8"),
        ("high", "f8"),
        ("most", "f8"),  # average from which all is dropped
        ("max_p", "f8"),
        ("mean", "f8"),  # bytes; 0: packets count
        ("since", "i8"),
        ("above", "i8"),
        ("ecn", "i8"),
    ],
    align=True,
)
"""Random early detection at a port."""

HOP = np.dtype(
    [
        ("port", "i4"),
        ("inline", "i4"),  # 1: what comes is in order already, and needs no box
        ("carried", "i8"),  # packets that began transmission
        ("waited", "f8"),  # sum of their waits, s
        ("lane", "i4"),  # of its flow at the port
    ],
    align=True,
)
"""A hop of a flow's way: forward ones, then those of its ACKs."""

FLOW = np.dtype(
    [
        ("most", "f8"),  # largest window
        ("rtt", "f8"),  # s, of the last ACK
        ("deadline", "f8"),  # of the retransmission timer, s
        ("timed_at", "f8"),
        ("current", "f8"),  # srtt and four variances, s
        ("srtt", "f8"),
        ("variance", "f8"),
        ("backoff", "f8"),
        ("next", "i4"),
        ("acked", "i4"),
        ("last", "i4"),
        ("highest", "i4"),
        ("recover", "i4"),
        ("duplicates", "i4"),
        ("inflation", "i4"),
        ("action", "i4"),
        ("timed", "i4"),
        ("timing", "i4"),
        ("recovery", "i4"),
        ("kind", "i4"),  # of window rule
        ("turn", "i4"),  # hops to the receiver
        ("end", "i4"),  # hops to the receiver and back
        ("way", "i4"),  # first hop
        ("size", "i4"),  # packets to send
        ("came", "i4"),  # receiver: next packet expected
        ("seen", "i4"),  # highest one that arrived
        ("held", "i4"),  # packets that arrived out of order
        ("bits", "i4"),  # first byte of its bits; -1: none
        ("bit_mask", "i4"),
        ("partial", "i4"),
        ("pipe", "i4"),
        ("hole", "i4"),
        ("least", "i4"),
        ("recovering", "i4"),
        ("lost_all", "i4"),
        ("sacked", "i4"),  # packets acknowledged selectively
        ("top", "i4"),  # highest of them
        ("timeouts", "i4"),
        ("loss_events", "i4"),
        ("blocks", "i4"),  # receiver: how many blocks it remembers
        ("sent", "i4"),  # packets of a source without window
        ("emitted", "i4"),  # packets that entered the network
        ("arrived", "i4"),  # packets that came to the receiver
        ("onoff", "i4"),
        ("first_window", "f8"),
        ("held_until", "f8"),
        ("phase", "f8"),
        ("due", "f8"),
        ("off_at", "f8"),
        ("gap", "f8"),
        ("on", "f8"),
        ("off", "f8"),
        ("total", "f8"),  # packets delivered
        ("first_loss", "f8"),
        ("finished", "f8"),
    ],
    align=True,
)
"""A flow: its sender, then its receiver."""
