"""Data types of the engine's arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "ACKS",
    "AGENT",
    "ARRIVED",
    "BACKFLOW",
    "BLIND",
    "BUCKET",
    "BY_AGENT",
    "BY_BACKPRESSURE",
    "BY_CLASS",
    "BY_FLOW",
    "BY_LAW",
    "BY_RANK",
    "BY_RATE",
    "CALLED",
    "CLASSES",
    "CLOCK",
    "CONTROL",
    "CREDITS",
    "DELAYED",
    "DIFFUSIVE",
    "DUE",
    "EARLY",
    "ELEMENT",
    "EXPIRES",
    "FAILS",
    "FAULT",
    "FEEDER",
    "FLOW",
    "HAS_ELEMENTS",
    "HISTORY",
    "HOP",
    "LANE",
    "LAW",
    "LOSES",
    "MANAGES",
    "MARKS_LEAVING",
    "MAX_OWN",
    "MAX_PARAMETERS",
    "MAX_STATE",
    "MORE",
    "NACK",
    "NATIVE",
    "NATIVE_RULE",
    "OF_LINK",
    "OF_RATE",
    "ON_ACK",
    "ON_ARRIVAL",
    "ON_DELIVERY",
    "ON_LEAVING",
    "ON_LOSS",
    "ON_MARK",
    "ON_TIMEOUT",
    "OWN",
    "PACKET",
    "PASSING",
    "PORT",
    "PROGRAM",
    "QUEUE",
    "RANKED",
    "RATED",
    "RECEIVER",
    "REPEATS",
    "ROUTES",
    "RULE",
    "SACK",
    "SAMPLE",
    "SEEN",
    "SENDER",
    "SENT_PACKET",
    "SENT_PACKET_SIZE",
    "SKIP_LEVELS",
    "STORM",
    "TIMES",
    "TRACE",
    "UNHEARD",
    "UPCOMING",
    "VARIES",
    "WATCHDOG",
    "Network",
    "Records",
    "Senders",
    "World",
    "int64",
]

int64: Any = np.int64
"""A number of a record in 64 bits: compiled, a variable that is set from a field of 32 bits has 32."""

ON_ACK, ON_LOSS, ON_TIMEOUT, ON_MARK, ON_DELIVERY = 0, 1, 2, 3, 4
"""Events of a window rule: columns of ``events``. Of a rate rule the first and third are feedback and time,
of an arrival process the first is the next arrival."""
MAX_STATE, MAX_PARAMETERS, SEEN = 16, 16, 7
"""Numbers that a window rule or a queue manager may have (`responsefn.rule_events`), and
that a manager sees of an arrival."""

MAX_OWN = 8
"""Numbers that a loss recovery may keep (`dfcmodel.packets.recoveries.base`)."""

MORE, SAMPLE = 32, 14
"""Maximum number of further numbers of a rule of deliveries; numbers of a sample besides an event's four."""

PACKET = np.dtype(
    [
        ("time", "f8"),  # when it arrives, s
        ("number", "i4"),  # of the packet, or of the last one acknowledged; WAKE
        ("flow", "i4"),
        ("next", "i4"),  # next packet of its bucket, or of the free list; -1: none
        ("key", "i4"),  # order of packets with equal times
        ("hop", "i4"),  # row of `HOP`; of a message the lane or feeder that it is for
        ("size", "i1"),  # size class
        ("marked", "i1"),  # 1: congestion was experienced; of an ACK: its echo (RFC 3168, CE, ECE)
        ("ecn", "i1"),  # REDUCED, UNMARKABLE, PUSHED
    ],
    align=True,
)
"""A packet, an ACK, a pause message or a timer event of a sender: what every hop reads, two to a cache line.

When its data left the sender is in an array of its own, which only the ends of flows read.
"""

BUCKET = np.dtype([("head", "i4"), ("tail", "i4")])
"""First and last packet of a bucket of a calendar queue; -1: none."""

TIMES = np.dtype([("transmission", "f8"), ("passage", "f8"), ("rank", "i8"), ("taken", "f8")])
"""Of a size class at a port, s: its transmission, and with the propagation; CLASSES rows per port.

``taken`` are the bytes that it takes in the queue: its own, or whole cells of the buffer.
"""
CLASSES = 8

PORT = np.dtype(
    [
        ("free", "f8"),  # end of the last scheduled transmission, s
        ("begun", "f8"),  # its start, s; -inf: it did not wait
        (
            "spent",
            "f8",
        ),  # time of the last scheduled transmission, s; with lanes that of sending the last frame again
        ("inverse", "f8"),  # buckets of the calendar queue per second
        ("at", "i4"),  # first bucket of the calendar queue
        ("mask", "i4"),  # number of buckets minus 1
        ("count", "i4"),  # packets in the calendar queue
        ("waiting", "i4"),  # packets in those of its lanes that are not paused
        ("paused", "i4"),  # number of ports that pause it with all its lanes
        # 1: without lanes, manager, random loss and trace, and with room for a packet; -1 less its first watchdog
        ("plain", "i4"),
        ("by_turns", "i4"),  # lanes by deficit round robin: BY_FLOW, BY_CLASS
        ("held", "i4"),  # packets in its other lanes
        ("ahead", "f8"),  # start of the packet before the one that began at ``begun``, s
        ("first", "i8"),  # first of the start times in its ring
        ("last", "i8"),  # one past the last of them
        ("base", "f8"),  # start of the packet before ``first``, s
        (
            "ring",
            "i4",
        ),  # offset of the ring of start times of waiting packets but the last; with a unit their bytes follow
        ("ring_mask", "i4"),
        ("peak", "i4"),
        ("lane", "i4"),  # its first lane
        ("unit", "f8"),  # bytes of a data packet in the queue; 0: the buffer counts packets
        ("bytes", "f8"),  # that wait: in its lanes, or where the buffer counts bytes
        ("alarm", "i8"),  # number of queued packets from which the ring should grow
        ("room", "i8"),  # capacity of the queue, packets; with a unit bytes
        ("effects", "i4"),  # on its packets besides the queue: LOSES to ROUTES
        ("kind", "i4"),  # FIFO, EARLY, LANES, INTERFACE
        ("traced", "i4"),  # 1: its packets are kept in `TRACE`
        ("manager", "i4"),  # of its lanes: see `managers`
        ("mate", "i4"),  # the next of the ports that are processed together, in a circle
        ("lanes", "i4"),
        ("feeder", "i4"),  # first of the feeders that it pauses all together
        ("feeders", "i4"),
        ("pausing", "i4"),  # 1: it pauses its feeders
        ("place", "i4"),  # in the order of processing
        (
            "queue",
            "i4",
        ),  # whose calendar queue its messages enter: its own, or that of the senders
        ("high", "f8"),  # of Pause packets, of PFC and with a unit bytes
        ("low", "f8"),
        ("signalling", "f8"),
        ("delay", "f8"),  # propagation, s
        ("active", "i8"),  # bits of the 32 ports at places from 32 times its row on: what has work
        ("asks", "i4"),  # first of the ports that count packets together: it asks for pauses
        ("managed", "i4"),  # the lane that its manager sees; ALL_LANES, or NO_LANE
        ("levels", "i4"),  # of priority; with lanes by class 2: the first lane is the control class
        ("turn", "i4"),  # of an interface: which of its classes is next
        ("woken", "i4"),  # of an interface, 1: the event of its next transmission is scheduled
        # up to four cache lines: an index is a shift
    ],
    align=True,
)
"""A port with its calendar queue; the last row is that of senders without an interface.

A packet that passes a port where nothing else waits reads the first two cache lines alone. A packet
that waits in a ring reads the third one, too.
"""

UPCOMING = np.dtype(
    [
        ("time", "f8"),  # s; the end of the window: none in it
        ("bucket", "i8"),  # of the next arrival
        ("key", "i4"),  # order of events with equal times
    ],
    align=True,
)
"""The next event, in a window, of a port that is processed together with others."""

LANE = np.dtype(
    [
        ("deficit", "f8"),  # bytes; of a flow at an interface: packets left of its turn
        ("head", "i4"),  # first packet; -1: none
        ("tail", "i4"),
        ("count", "i4"),
        ("next", "i4"),  # next lane in the round-robin order
        ("level", "i4"),  # of a flow at an interface: the lane of its class
        ("first", "i4"),  # head of a level's round-robin list (in the port's first lanes)
        ("last", "i4"),
        ("flow", "i4"),  # of a class at an interface: the lane whose turn has not ended, -1: none
        ("paused", "i4"),  # number of ports that pause it
        ("weight", "i4"),  # of a flow at an interface: packets of a turn
        ("left", "f8"),  # when its last packet that waited left, s
        ("bytes", "f8"),  # that wait in it, at ports whose buffer counts bytes
    ],
    align=True,
)
"""A lane: a FIFO queue of a port, for all flows, for one flow or for a class of traffic."""

FEEDER = np.dtype(
    [
        ("room", "f8"),  # of a class: bytes of it for which there is room
        ("count", "f8"),  # bytes of it that wait
        ("span", "f8"),  # for how long a message pauses it, s; 0: until the next message
        ("port", "i4"),  # over which they come; -1: none that can be paused
        ("lane", "i4"),  # which lane of it is paused; -1: all
        ("priority", "i4"),  # class of traffic; -1: all
        ("pausing", "i4"),  # 1: it is paused
        (
            "excess",
            "f8",
        ),  # packets without room since its pause began, of a port with Pause in its first row
        ("most_excess", "f8"),  # the most of these
    ],
    align=True,
)
"""A target of a port's pauses: a port that feeds it, or a class over one (PFC counts the packets of each)."""

ELEMENT = np.dtype(
    [
        ("drop", "f8"),
        ("mark", "f8"),
        ("state", "f8", (MAX_STATE - 2,)),
        ("parameters", "f8", (MAX_PARAMETERS,)),  # of a batch: packets, and after which time it is passed on, s
        ("seen", "f8", (16,)),
        ("hold", "f8"),  # longest time for which it holds a packet, s
        ("period", "f8"),  # of its trace, s; inf: none
        (
            "last",
            "f8",
        ),  # when it passed on the last packet, the period began, a batch has to be passed on, s
        ("kind", "i8"),  # BY_ADDRESS, DELAYS, BATCH
        ("event", "u8"),  # address of its function for packets that come; 0: it has none
        ("leaving", "u8"),  # and of that for packets that leave
        ("until", "i8"),  # which number of its state is that; -1: none
        ("copies", "i8"),
        ("draws", "i8"),  # random numbers for each packet
        ("causes", "i8", (4,)),  # of its drops
        ("cause_count", "i8"),
        ("failed", "i8"),  # what it returned that cannot be, see `path_elements`; 0: nothing
        ("failed_in", "i8"),  # by which function: 0 on_packet, 1 on_leaving
        ("failed_at", "f8"),  # s
        ("failed_value", "f8"),
        ("in_order", "i8"),
        ("row", "i8"),  # of `steps`: first one of its trace
        ("rows", "i8"),
        ("place", "i8"),  # the present one of them
        ("count", "i8"),  # packets that it has collected
        ("head", "i8"),
        ("tail", "i8"),
        ("waits", "i8"),  # 1: an event for the end of a batch is scheduled
    ],
    align=True,
)
"""What stands in front of the queue of a port, or its rate over time.

Its function gets the place of ``drop`` (`dfcmodel.network.callback_events`).
"""

PASSING = np.dtype([("chain", "i8"), ("priority", "f8"), ("copied", "i8")], align=True)
"""Elements of a hop: the place in ``chain`` of the first one, the priority of the flow, and the packets that they have
copied there."""

LAW = np.dtype(
    [
        ("sender", "f8", (8,)),
        ("receiver", "f8", (8,)),  # whether it sends a message, the message, what it remembers
        ("parameters", "f8", (16,)),
        ("seen", "f8", (8,)),
        ("may_send", "f8"),
        ("latency", "f8"),  # of a message, s
        ("kind", "i8"),  # row of its addresses; -1: the feeder is under no law
        ("asks", "i8"),  # the port at the receiver that stands for all that count together
        ("blocked", "i8"),  # 1: the first packet of the sender's lane may not be sent
        ("failed", "i8"),  # what it returned that cannot be, see `laws`; 0: nothing
        ("failed_in", "i8"),  # which of its functions
        ("failed_at", "f8"),  # s
        ("failed_value", "f8"),
    ],
    align=True,
)
"""A law between the ends of a link, of a class, in the row of its feeder.

The numbers from ``sender`` to ``may_send`` stand one after the other: the events of a law get the place of the first
one (`dfcmodel.network.callback_events`).
"""

FOLLOW = np.dtype(
    [
        ("begin", "i4"),  # first place in `followers` of those that wait for the flow
        ("end", "i4"),  # and the first one of the next flow
        ("missing", "i4"),  # for how many flows it still waits
        (
            "ready",
            "f8",
        ),  # its start by what is known, s: ports of a window are not processed in the order of times
    ],
    align=True,
)
"""Predecessors and successors of a flow."""

FOLLOWER = np.dtype(
    [
        ("flow", "i8"),  # that waits
        ("delay", "f8"),  # time from the end of the other one to its start, s
    ]
)
"""A flow that waits for another one."""

WATCHDOG = np.dtype(
    [
        ("first", "f8"),  # time of its first poll, s
        ("period", "f8"),  # between polls, s
        ("least", "f8"),  # paused time of an interval from which on it is bad, s
        ("since", "f8"),  # when the pauses were last looked at, s
        ("spent", "f8"),  # paused time of the present interval up to then, s
        ("polls", "i8"),
        ("port", "i4"),
        ("lane", "i4"),  # that of its class; -1: all
        ("next", "i4"),  # next watchdog of the port; -1: none
        ("bad_polls", "i4"),  # consecutive bad intervals that declare a storm
        ("good_polls", "i4"),  # consecutive intervals without a pause that end it
        ("streak", "i4"),  # how many there were of the present kind
        ("paused", "i4"),  # 1: its lane is paused
        ("dropping", "i4"),  # 1: it has declared a storm, which is not over
        ("row", "i4"),  # of `STORM`: the last one
    ],
    align=True,
)
"""A watchdog of a port or of a class of traffic at it."""

STORM = np.dtype([("declared", "f8"), ("restored", "f8"), ("dropped", "i8"), ("watchdog", "i8")], align=True)
"""A storm that a watchdog declared, s; nan: it is not over."""

DIFFUSIVE = np.dtype(
    [
        ("rate", "f8"),  # at which the credit grows, packets/s
        ("credit", "f8"),  # packets that may leave
        ("settled", "f8"),  # when the credit was that, s
        ("ready", "f8"),  # when the next packet may leave, s
        ("told_rate", "f8"),  # reported by the next node: r of the law, packets/s
        ("told_backlog", "f8"),  # n' of the law, packets
        ("wanted", "f8"),  # what it would send alone, packets/s
        ("intensity", "f8"),  # alpha
        ("gain", "f8"),  # D / d, 1/s
        ("capacity", "f8"),  # of the link, packets/s
        ("rate_0", "f8"),  # reports that are under way
        ("rate_1", "f8"),
        ("backlog_0", "f8"),
        ("backlog_1", "f8"),
        ("counted", "f8"),  # n of the law: packets, or their exponential average
        ("counted_at", "f8"),  # s
        ("smoothing", "f8"),  # time constant of that average, s; 0: whole packets
        ("active", "i4"),  # 1 from its first packet on
        ("counts", "i4"),  # 0: a host, whose own packets are not in the law
    ],
    align=True,
)
"""Diffusion-type flow control of a lane, in the row of the lane."""

EARLY = np.dtype(
    [
        ("average", "f8"),  # packets
        ("pace", "f8"),  # packets of mean size per second
        ("weight", "f8"),
        ("low", "f8"),
        ("high", "f8"),
        ("most", "f8"),  # average queue above which every packet is dropped
        ("max_p", "f8"),
        ("mean", "f8"),  # mean packet size, bytes; 0: the queue is measured in packets
        ("part", "f8"),  # of what waits in the unit of the thresholds: 1 of packets
        ("since", "i8"),
        ("above", "i8"),
        ("ecn", "i8"),
    ],
    align=True,
)
"""Random early detection at a port."""

CONTROL = np.dtype(
    [
        ("target", "f8"),  # s
        ("interval", "f8"),  # of CoDel; between updates of PIE; s
        ("next", "f8"),  # time of CoDel's next drop, of PIE's next update, s
        ("deadline", "f8"),  # CoDel: drops begin unless the delay is below the target; 0: none
        ("dropping", "i8"),
        ("count", "f8"),  # drops since CoDel began to drop
        ("last_count", "f8"),
        ("alpha", "f8"),  # PIE's gains, 1/s
        ("beta", "f8"),
        ("p", "f8"),
        ("delay", "f8"),  # at PIE's last update, s
        ("burst", "f8"),  # for how long PIE admits all packets of a burst, s
        ("most_burst", "f8"),
        ("pace", "f8"),  # of the link, s/byte
        ("coupling", "f8"),  # of PI2 and DualPI2
        ("ramp", "f8"),  # delay at which DualPI2 begins to mark Scalable packets, s
        ("width", "f8"),  # of that ramp, s; 0: none
        ("share", "f8"),  # of the Classic queue
        ("credit", "f8"),  # what the Classic queue is owed, bytes
        ("ecn", "i8"),
    ],
    align=True,
)
"""CoDel, PIE, PI2 or DualPI2 at a port."""

CALLED = np.dtype(
    [
        ("drop", "f8"),
        ("mark", "f8"),
        ("state", "f8", (MAX_STATE - 2,)),
        ("parameters", "f8", (MAX_PARAMETERS,)),
        ("seen", "f8", (SEEN,)),
        ("due", "f8"),  # parts of packets to be dropped
        ("due_marks", "f8"),
        ("last", "f8"),  # time of the last arrival, s
        ("capacity", "f8"),  # packets/s
        ("kind", "i8"),  # which event
    ],
    align=True,
)
"""A queue manager called by address: it gets the place of ``drop`` (`dfcmodel.network.callback_events`)."""

BLIND, RATED = -1, -2
"""Instead of a recovery: sources without congestion control, and rate rules."""

BY_FLOW, BY_CLASS, BY_RATE, BY_RANK, BY_LAW, BY_BACKPRESSURE = 1, 2, 3, 4, 5, 6
"""How the lanes of a port take turns: by flow, by class, by rates of flows; 0: in their order.

With ranks there is one lane, in their order. ``BY_LAW`` is by class, of ports at an end of a link under a law,
interfaces of hosts among them.
"""
SKIP_LEVELS = 6
"""Levels of the skip list of a ranked queue above the list of all its packets, each with a quarter of the one below.

A search stays logarithmic up to 4^7 = 16,384 packets. With six levels a row of `RANKED` is half a cache line.
"""
PROGRAM = np.dtype(
    [
        ("drop", "f8"),
        ("mark", "f8"),
        ("rank", "f8"),
        ("state", "f8", (MAX_STATE - 3,)),
        ("parameters", "f8", (MAX_PARAMETERS,)),
        ("seen", "f8", (24,)),
        ("queue", "f8"),  # that of the packet it sees
        ("capacity", "f8"),  # bytes/s
        ("kind", "i8"),  # row of its addresses
        ("first_of_flow", "i8"),  # first number of its state that each flow has for itself
        ("of_flow", "i8"),  # how many there are
        ("overflow", "i8"),  # what is dropped where the buffer is full
        ("queues", "i8"),  # how many there are; 0: packets leave by their own ranks
        ("first", "i8"),  # row of `QUEUE` of the first one
        ("first_of_queue", "i8"),  # first number of its state that each queue has for itself
        ("of_queue", "i8"),
        ("skip", "i8"),  # which number of its state is that; -1: none
        ("trim", "i8"),
        ("cut", "i8"),  # 1: the packet that it has seen is to be cut to its header
        ("first_of_telemetry", "i8"),  # first number of its state that each packet carries on
        ("of_telemetry", "i8"),  # how many there are
        ("failed", "i8"),  # what it returned that cannot be, see `programs`; 0: nothing
        ("failed_in", "i8"),  # which of its functions
        ("failed_flow", "i8"),
        ("failed_at", "f8"),  # s
        ("failed_value", "f8"),
        ("levels", "i8"),  # of the skip list of its ranked queue; 0: it gives no ranks to packets
        ("heads", "i4", (SKIP_LEVELS,)),  # first packet on each level; -1: none
        ("tails", "i4", (SKIP_LEVELS,)),  # and the last one
        ("height_bits", "i8"),  # pseudorandom bits for the levels of its packets
    ],
    align=True,
)
"""A switch program: it gets the place of ``drop`` (`dfcmodel.network.callback_events`)."""

AGENT = np.dtype(
    [
        ("ack", "f8"),
        ("nack", "f8"),
        ("mark", "f8"),
        ("credits", "f8"),
        ("timer", "f8"),
        ("state", "f8", (MAX_STATE - 5,)),
        ("parameters", "f8", (MAX_PARAMETERS,)),
        ("seen", "f8", (10,)),
        ("kind", "i8"),  # row of its addresses
        ("first_of_flow", "i8"),  # first number of its state that each flow has for itself
        ("of_flow", "i8"),  # how many there are
    ],
    align=True,
)
"""A receiver agent at a node: it gets the place of ``ack`` (`dfcmodel.network.callback_events`)."""

SACK, NACK, CREDITS, ACKS = 0, 1, 2, 3
"""Places in the row of ``block`` of an answer to a rate rule: see `agents`, of the first also `receivers`."""
OF_RATE = 5
"""Size class of answers to rate rules."""
ARRIVED, DUE = -1, -2
"""Where `ports.advance_packet` begins, besides at ports and senders."""

OWN = np.dtype(
    [
        ("state", "f8", (8,)),
        ("waiting", "f8"),  # packets
        ("priority", "f8"),
        ("size", "f8"),  # of the transfer, packets; inf
        ("hash", "f8"),
        ("place", "i8"),  # of the port among those of the route that write telemetry
    ],
    align=True,
)
"""A flow's data for a switch program, in the row of the flow's hop."""

QUEUE = np.dtype([("state", "f8", (8,)), ("rank", "f8"), ("bytes", "f8")], align=True)
"""The state of one queue of a switch program, in the order of the lanes."""

RANKED = np.dtype([("rank", "f8"), ("after", "i4", (SKIP_LEVELS,))], align=True)
"""A packet in a ranked queue: its rank, and the next packet on each level of the skip list that it is in; -1: none."""

CLOCK = (
    "now",  # event time, s
    "end",  # end of the window, s
    "check",  # next timer check, s
    "is_ns2",  # 1: convention of ns-2
    "min_rto",  # minimum timeout, s
    "min_backed_off",  # and minimum of the timeout with its backoff, s
    "jitter",  # maximum random packet delay, s
    "ack_delay",  # maximum delay of an ACK, s
    "window",  # start of the next window, s
    "sample_row",  # number of the present sample
    "sample_start",  # first time, s, at which an event is in it whatever was rounded
    "sample_end",  # and the first one at which it may not be
)
"""Numbers of a run in `clock`; options of `dfcmodel.Packets` among them have their names."""

LOSES, REPEATS, FAILS, VARIES, HAS_ELEMENTS, MANAGES, MARKS_LEAVING, ROUTES, ELEMENTS_LEAVING = (2**n for n in range(9))
"""Effects of a port on packets: it loses packets that arrive at random; its link sends frames with errors again, or
fails at times; its rate changes over time; elements stand in front of its queue; its manager decides on packets that
arrive, or marks packets that leave; it chooses the next hop, or a watchdog drops packets there; elements act on packets
that leave its queue."""
OF_LINK = REPEATS | FAILS | VARIES
ON_ARRIVAL, ON_LEAVING = ROUTES | HAS_ELEMENTS | LOSES | MANAGES, OF_LINK | MARKS_LEAVING | ELEMENTS_LEAVING
"""Effects of the link, and effects that begin when a packet arrives, and when its transmission begins."""
FAULT = np.dtype(
    [
        ("loss", "f8"),  # probability that an arriving packet is lost
        ("error", "f8"),  # that a frame has an error
        ("request", "f8"),  # time until the link acts on the request to send it again, s
    ],
    align=True,
)
"""Random faults of a port."""

EXPIRES = -1  # number of choices at the hop at which a time to live is over
RECEIVER, SENDER = -1, -2  # ports of the hops at the ends of a flow
HOP = np.dtype(
    [
        ("port", "i4"),  # or RECEIVER, SENDER
        ("queue", "i4"),  # whose calendar queue arrivals enter; -1: none, they are already ordered
        ("lane", "i4"),  # lane of the flow at the port
        (
            "ingress",
            "i4",
        ),  # row of `feeder` that counts the flow at the port; -1: its control class
    ],
    align=True,
)
"""A hop of a flow's route: hops of its packets, its receiver, hops of its ACKs, its sender, in this order."""

DELAYED, BY_AGENT, UNHEARD = 1, 2, 4
"""How a receiver answers: it delays ACKs, an agent answers, nothing processes its ACKs."""
COUNTED, IN_SLOW_START = 1, 2
"""When a sender counts the packets of an ACK: for the rule of its window, or in slow start alone."""
FLOW = np.dtype(
    [
        ("came_at", "f8"),  # receiver: when the last packet was delivered, s
        ("total", "f8"),  # packets delivered
        ("came", "i4"),  # receiver: next packet expected
        ("seen", "i4"),  # receiver: highest packet received
        ("held", "i4"),  # receiver: out-of-order packets in its buffer
        ("arrived", "i4"),  # packets that reached the receiver
        ("marks", "i4"),  # of them with congestion experienced (RFC 3168, CE), until the end
        ("size", "i4"),  # packets to send
        ("recovery", "i4"),  # row of ``recoveries``, or BLIND, RATED
        ("repair", "i4"),  # of a rate rule: GO_BACK_N, SELECTIVE; 0: what is lost is not sent again
        ("answers", "i4"),  # receiver, how it answers packets: DELAYED, BY_AGENT, UNHEARD; 0: each with an ACK, at once
        ("agent", "i4"),  # row of the agent that is its receiver; -1: none
        ("echo", "i4"),  # receiver, 1: ACKs echo congestion up to a packet with CWR (RFC 3168)
        ("accurate", "i4"),  # 1: each mark is echoed, once, and an event of the rule (RFC 8257)
        ("selective", "i4"),  # 1: ACKs are selective (RFC 2018)
        ("linux_timer", "i4"),  # 1: the minimum of the timer bounds four variances alone
        ("rtt", "f8"),  # s, of the last ACK
        ("cwnd", "f8"),
        ("most", "f8"),  # largest window
        ("held_until", "f8"),
        ("timed_at", "f8"),
        ("deadline", "f8"),  # of the retransmission timer, s
        ("inflation", "f8"),  # packets added to the window (RFC 5681, 3.2)
        ("backoff", "f8"),
        ("snd_una", "i4"),
        ("snd_nxt", "i4"),  # RFC 9293, in packets
        ("snd_max", "i4"),  # one past the highest packet sent
        ("timed", "i4"),
        ("timing", "i4"),
        ("connecting", "i4"),  # 1: the SYN is not acknowledged
        ("recovering", "i4"),
        ("recover", "i4"),
        ("by_time", "i4"),  # 1: its recovery finds losses by time (RFC 8985)
        ("samples", "i4"),  # 1: its rule sees deliveries
        ("paced", "i4"),  # 1: packets are spaced in time
        ("sacked", "i4"),  # packets acknowledged selectively
        ("listed", "i4"),  # 1: its transmissions are in ``history``; NATIVE: its rule is a native one, too
        ("onoff", "i4"),
        ("opening", "i4"),  # 1: packet 0 has no data: a SYN, or the first packet of ns-2
        ("emitted", "i4"),  # packets that entered the network
        ("way", "i4"),  # the first one
        ("turn", "i4"),  # row of `HOP` of the receiver
        ("end", "i4"),  # that of the sender
        ("dupacks", "i4"),
        ("lost_all", "i4"),
        ("kind", "i4"),  # of window rule
        ("rule", "i4"),  # its row of `RULE`; -1: it has no rule
        ("not_ect", "i4"),  # 1: no packet is ECN-capable
        ("reduced", "i4"),  # 1: the next new packet says that the window was reduced (CWR)
        ("lane", "i4"),  # of a rate rule at an interface; -1: none
        ("first_window", "f8"),
        ("ssthresh", "f8"),
        ("srtt", "f8"),
        ("variance", "f8"),
        ("current", "f8"),  # srtt and four variances, or more in Linux, s
        ("pace_at", "f8"),  # next packet of a paced sender is due, or of a rate rule was sent, s
        ("bits", "i4"),  # offset of its bit maps; -1: none
        ("bit_mask", "i4"),
        ("timeouts", "i4"),
        ("timer_resent", "i4"),  # the packet that the retransmission timer sent again last; -1: none
        ("hole", "i4"),
        ("least", "i4"),
        ("top", "i4"),  # highest selectively acknowledged packet
        ("loss_events", "i4"),
        ("pending", "i4"),  # receiver: the packet whose ACK is delayed; -1: none
        ("plain", "i4"),  # 1: a window sender with none of the options for which an ACK is checked
        ("ack_due", "f8"),  # receiver: when a delayed ACK is sent, s
        ("blocks", "i4"),  # receiver: number of recent SACK blocks
        ("sent", "i4"),  # packets sent by a source without window
        ("phase", "f8"),
        ("due", "f8"),
        ("off_at", "f8"),
        ("gap", "f8"),
        ("on", "f8"),
        ("off", "f8"),
        ("first_loss", "f8"),
        ("finished", "f8"),
        ("pace_start", "f8"),  # paced slow start: windows per round trip; 0: the rule's rate
        ("pace_after", "f8"),  # and above half of ssthresh
        ("line_gap", "f8"),  # least time between packets of a rate rule, s
        (
            "clocked",
            "f8",
        ),  # of a rate rule: when its clocks were last moved on, of an arrival process: when it was asked, s
        ("since", "i8"),  # packets sent since then; of an arrival process how often it was asked
        ("pipe", "f8"),  # packets taken to be in flight in recovery (RFC 6675)
        ("pipe_limit", "f8"),  # up to how many are sent; -1: the window
        ("prr_out", "f8"),  # packets sent in recovery (RFC 6937)
        ("own", "f8", (MAX_OWN,)),  # state of its recovery
        ("again", "i4"),  # of a rate rule with selective repair: packets to be sent again
        ("reports", "i4"),  # of a rate rule: records of telemetry in each ACK
        ("reported", "i4"),  # 1: some have come
        ("descent", "i4"),  # in its ring of records, the last one whose packet is below that of the record before
        ("credits", "f8"),  # of a rate rule: packets that it may send; inf: it needs no credits
        (
            "beyond",
            "i4",
        ),  # receiver: first packet beyond the next one of which the header alone has come
        ("blocked", "i4"),  # 1: it waits until its packet has left the interface
        ("batch", "i4"),  # of an arrival process: packets that arrive at ``due``
        ("row", "i8"),  # of a trace: its next arrival, and one past the last, rows of ``arrivals``
        ("row_end", "i8"),
        ("cut_at", "f8"),  # when ``stop`` ended it before its size, s; 0: not
        ("announced", "f8"),  # largest window after the handshake, packets
        ("syn", "i4"),  # 1: packet 0 has the SYN
        ("fin", "i4"),  # the packet with the FIN; -1: none
        ("reordered", "i4"),  # 1: the last ACK shows reordering
        (
            "supply",
            "i4",
        ),  # of a window sender: GROWING, COMPLETE; 0: its data are there from the start
        ("alarm", "f8"),  # when its recovery is called, s; inf: not
        ("reorder_window", "f8"),  # RACK.reo_wnd, s
        ("min_rtt", "f8"),  # s
        ("newest_sent", "f8"),  # RACK.xmit_ts, s
        ("newest_rtt", "f8"),  # RACK.rtt, s
        ("next_loss", "f8"),  # when the next packet is lost, s; inf: none
        ("limited_time", "f8"),  # for how long its application limited it, s: not time of its rule
        ("counted_at", "f8"),  # up to when that was counted, s
        ("source", "i4"),  # of an arrival process: its row of `RULE`, and of ``events``
        ("source_kind", "i4"),
        (
            "asked",
            "i4",
        ),  # of selective repair: packets that the receiver has asked for, beyond the last that came
        ("bound", "i4"),  # of a rate rule: place of its window in its state; 0: it has none
        ("paths", "i4"),  # over which its packets are sprayed; 0: it has one
        ("lent", "i4"),  # row of `HOP` of the first of them; the last one begins at ``way``
        ("stride", "i4"),  # rows from one of the others to the next
        ("next_path", "i4"),  # that of the next packet in turn
        ("drawn", "i4"),  # IN_TURN, AT_RANDOM, or BY_EPOCH plus one of them: paths change with time
        ("quick", "i4"),  # receiver: packets before this one are acknowledged at once
        ("segments", "i4"),  # 1: packets are sent in segments
        ("pushing", "i4"),  # 1: the packet that is sent is the last one of a segment
        ("written", "i4"),  # with segments: packets left of the first buffer that waits to be sent
        ("wrote_at", "f8"),  # when a packet was sent last, s
        ("smooth_rtt", "f8"),  # with segments: smoothed at each ACK, s
        (
            "counted",
            "i4",
        ),  # COUNTED, IN_SLOW_START: the window grows by up to two packets of an ACK
        ("native", "i4"),  # row of `NATIVE_RULE`, with ``listed`` = NATIVE
    ],
    align=True,
)
"""A flow: its sender, then its receiver."""

RULE = np.dtype(
    [
        ("cwnd", "f8"),  # as of the flow while an event of the rule is called
        ("ssthresh", "f8"),
        ("rule_state", "f8", (MAX_STATE - 2,)),
        ("parameters", "f8", (MAX_PARAMETERS,)),
        ("more", "f8", (MORE,)),
        ("sample", "f8", (SAMPLE,)),
        ("delivered", "f8"),  # of a rule of deliveries: transmissions delivered; lost
        ("lost_total", "f8"),
        ("delivered_at", "f8"),  # when the last of them was, s
        ("first_sent", "f8"),  # when the newest packet that is delivered was sent, s
        ("limited_until", "f8"),  # deliveries up to which samples are limited by the application
        ("history", "i8"),  # first record of its ring
        ("sent_mask", "i8"),
        ("sent_first", "i8"),  # in flight: from this record
        ("sent_last", "i8"),  # up to before this one
        ("covered", "i8"),  # of these, acknowledged: with a recovery by time
        ("again_first", "i8"),  # to be sent again
        ("again_last", "i8"),
        ("fields", "i8"),  # of a rate rule: numbers of each record of telemetry that it sees
    ],
    align=True,
)
"""The rule of a flow that has one, for its window or rate or as its source.

``cwnd``, ``ssthresh`` and ``rule_state`` are the state of the rule, ``parameters`` its parameters. They stand one
after the other: the rule's events get the place of ``cwnd``.
"""

HISTORY = np.dtype(
    [
        ("sent", "f8"),  # s
        ("delivered_at", "f8"),  # when the last delivery before was, s
        ("first_sent", "f8"),  # when the newest packet delivered before was sent, s
        ("delivered", "f8"),  # delivered before
        ("lost", "f8"),  # lost before
        ("in_flight", "f8"),  # with it
        ("limited", "f8"),  # 1: the application limited what was sent
        ("number", "i8"),
        ("again", "i8"),  # a packet to be sent again: a ring of its own
    ],
    align=True,
)
"""A transmission of a flow whose rule sees deliveries, or whose recovery finds losses by time."""

NATIVE = 2
"""Of ``listed``: the flow has a native rule."""
SENT_PACKET = np.dtype(
    [
        ("number", "i8"),  # of the transmission
        ("data", "i8"),  # of the packet
        ("bytes", "i8"),  # 0: it is reported, or lost
        ("sent", "f8"),  # s
        ("sent_ns", "i8"),
        ("slot", "i8", (8,)),  # what the rule wrote
    ]
)
"""A transmission of a flow with a native rule: `hopflow_cc_packet` of the header."""
SENT_PACKET_SIZE = SENT_PACKET.itemsize
"""Its bytes."""

NATIVE_RULE = np.dtype(
    [
        ("window", "f8"),  # `hopflow_cc_control`, in the units of the rule
        ("ssthresh", "f8"),
        ("pacing_rate", "f8"),
        ("departure", "f8"),  # s
        ("timer", "f8"),
        ("departure_ns", "i8"),
        ("timer_ns", "i8"),
        ("send_quantum", "f8"),
        ("now", "f8"),  # `hopflow_cc_event`
        ("now_ns", "i8"),
        ("latest_rtt", "f8"),
        ("smoothed_rtt", "f8"),
        ("rtt_variance", "f8"),
        ("min_rtt", "f8"),
        ("in_flight_before", "i8"),
        ("in_flight", "i8"),
        ("marked", "i8"),
        ("growth", "i8"),
        ("flags", "i8"),
        ("acked_count", "i8"),
        ("lost_count", "i8"),
        ("acked", "u8"),  # addresses
        ("lost", "u8"),
        ("packet", "i8"),
        ("state", "u8"),  # addresses of the state and of the functions; 0: none
        ("on_sent", "u8"),
        ("on_ack", "u8"),
        ("on_timeout", "u8"),
        ("on_timer", "u8"),
        ("slots", "i8"),  # address of ``slot``
        ("acked_at", "i8"),  # rows of ``slot`` for copies of the packets that an event reports
        ("lost_at", "i8"),
        ("first_acked", "i8"),  # row of the first of the acknowledged packets that are not reported yet
        ("new_acked", "i8"),  # their number, and that of lost packets
        ("new_lost", "i8"),
        ("flight", "i8"),  # packets in flight
        ("most_mask", "i8"),  # largest ``sent_mask``: the ring of records grows
        ("packet_bytes", "i8"),
        ("unit", "f8"),  # amount of a packet in the units of the rule
        ("nanoseconds", "i8"),  # 1: it answers in ns
        ("not_ect", "i8"),  # 1: its data packets are not ECN-capable
        ("by_packet", "i8"),  # 1: it decides after each packet that is sent; before the first one all do
        ("threshold", "i8"),  # packets sent after a lost one of which one is acknowledged
        ("ack_sent", "f8"),  # of this ACK: when the packet that it acknowledges was sent, s
        ("ack_marked", "i8"),  # 1: it has a congestion mark
        ("limited", "i8"),  # 1: the application limits the sender
        ("full", "i8"),  # 1: the window had no room
        ("newest_acked", "f8"),  # when the newest acknowledged packet was sent, s; -1: none
        ("lost_from", "f8"),  # when the first packet was sent that was lost after it, s; inf: none
        ("last_window", "f8"),  # decided last, packets
        ("last_ssthresh", "f8"),
        ("ordered_from", "i8"),  # from this record on packets were new when they were sent, and none is listed
        ("in_order", "i8"),  # 1: an ACK of the first records may be reported by `report_in_order`
        ("is_alone", "i8"),  # 1: ``history`` has no records of its packets; 0 also before the first one
        ("is_plain", "i8"),  # 1: it decides in packets, and has decided neither a rate nor times
        ("departs", "f8"),  # the next packet leaves no earlier, s
        ("burst", "i8"),  # packets left of the quantum
        ("timer_at", "f8"),  # when `on_timer` is called, s; inf: not
        ("timer_event", "f8"),  # the first event that is scheduled for it, s
        ("failed", "i8"),  # what it returned that cannot be, see `native_rules`; 0: nothing
        ("failed_in", "i8"),  # which of its functions
        ("failed_at", "f8"),  # s
    ]
)
"""A native rule of a flow. It begins with the structures of `hopflow_cc.h`."""

TRACE = np.dtype(
    [
        ("arrived", "f8"),  # when it came to the queue, s
        ("sent", "f8"),  # when its transmission began, s; nan: it was dropped
        ("longer", "f8"),  # by how many s it took longer than at the rate of the link
        ("dropped", "f8"),  # when it was dropped, s; nan: it was sent
        ("port", "i4"),
        ("flow", "i4"),
        ("number", "i4"),
        ("size", "i1"),
        ("ack", "i1"),
        ("marked", "i1"),
        ("blocks", "i4", (6,)),  # of a selective acknowledgement; as many as its size says
    ],
    align=True,
)
"""A packet or an ACK that leaves the queue of a traced port."""


BACKFLOW = np.dtype(
    [
        ("limit", "f8"),  # bytes above which the only active lane pauses its flow
        ("delay", "f8"),  # until a message takes effect, s
        ("upstream", "i4"),  # the port that is asked to pause it; -1: none
        ("lane", "i4"),  # its lane there; -1: the whole port
        ("flow", "i4"),
        ("pausing", "i4"),  # 1: it was asked to
        ("active", "i4"),  # 1: packets wait in it, and it is not paused
        ("count", "i4"),  # of the first lane of a port: how many are active
    ],
    align=True,
)
"""A lane of a port under backpressure flow control (`dfcmodel.BFC`)."""


class Network(NamedTuple):
    """Arrays of the ports, their queues and the packets in them or on links: P ports, N rows of packets, H hops."""

    packet: Any  # ELEMENT (N,)
    sent_at: Any  # (N,) when each left its sender, of an ACK its data, of a rate sender its interface, s
    port: Any  # UNIT (P + 1,) the last is that of senders without an interface
    bucket: Any  # SLOT, of all calendar queues
    upcoming: Any  # UPCOMING (P,); one row where no ports are processed together
    hop: Any  # HOP, of all flows
    lane: Any  # LANE
    diffusive: Any  # DIFFUSIVE, a row per lane; one row without DFC
    feeder: Any  # FEEDER
    law: Any  # LAW, a row per feeder; one row without laws
    laws: Any  # (laws, 5) addresses of the events of laws
    lawful: Any  # rows of `law` of the links that lanes send over, -1: none, a row per lane; one without laws
    backflow: Any  # BACKFLOW, a row per lane; one without backpressure flow control
    watchdog: Any  # WATCHDOG
    detected: Any  # STORM
    feedback: Any  # (K, 2) lanes that are reported about, and those that it is reported to
    ring: Any  # start times of waiting packets, a ring per port without lanes
    block: Any  # (N, 6) SACK blocks of ACKs; one row where no sender uses them
    times: Any  # TIMES (P CLASSES,)
    sizes: Any  # bytes of the size classes
    element: Any  # ELEMENT; one row where no path has elements
    steps: Any  # (N, 2) times in s and values of the traces of elements
    chain: Any  # rows of `element` that packets pass, -1 behind the last one of each chain
    passing: Any  # PASSING (H,); one where no path has elements
    rated: Any  # (P,) rows of `element` of the rates of ports; one where no path has elements
    fault: Any  # FAULT, a row per port; one where none is at random
    early: Any  # EARLY
    control: Any  # CONTROL
    called: Any  # CALLED
    managers: Any  # addresses of the events of queue managers
    program: Any  # PROGRAM, a row per port; one row without programs
    programs: Any  # (programs, 3) addresses of the events of switch programs
    own: Any  # OWN, a row per hop; one row without programs
    program_queue: Any  # QUEUE, of all ports whose programs have queues; one row without
    ranked: Any  # RANKED (N,); one where no program gives ranks to packets
    trimmed: Any  # (N,) the hop at which a packet was cut to its header; one where none is
    telemetry: Any  # (N, K, 5) records of packets: when they left a port, s, and what its program wrote; one if none
    choice: (
        Any  # (H, 2) first of ``candidates`` and how many, in place of a hop; EXPIRES: it ends there; one row if none
    )
    candidates: Any  # hops among which switches choose
    down: Any  # (N, 2) when links are down: from and until, s
    downs: Any  # (P, 2) the first of them of each port, and one past the last; one row if none is
    order: Any  # (P + 1,) rows of `port` in the order of processing
    home: Any  # (2 F,) rows of `port` whose calendar queues have the timers of senders, then of receivers
    stream: Any  # (P + F,) state of the random numbers of ports, then of flows
    counters: Any  # counts and flags, see `calendar_queue`


class Senders(NamedTuple):
    """Arrays of the senders and receivers of F flows, with their rules and recoveries."""

    flow: Any  # FLOW (F,); zeros of flows that start after the end
    begun: Any  # the others, ascending
    rule: Any  # RULE, a row per flow that has a rule
    history: Any  # HISTORY, a ring per flow whose rule sees deliveries
    native: Any  # NATIVE_RULE, a row per flow with a native rule; one row if none has one
    slot: Any  # SENT_PACKET, a row per row of `history`, then the packets that an event reports; one row if none
    events: Any  # (rules, 5) addresses of the events of window and rate rules, and of arrival processes
    reported: Any  # (F, K, 5) the last records of telemetry of a rate rule; one if none
    arrivals: Any  # (N, 2) times since the start in s and packets of the traces that are replayed
    recoveries: Any  # (recoveries, 5) addresses of the functions of loss recoveries
    bits: Any  # bit maps of packets received, and of those acknowledged selectively
    received: Any  # (F, 8) recent SACK blocks of a receiver
    sacked: Any  # (F, 6) SACK blocks of the last ACK of a sender
    exchange: Any  # (40,) what a function of a recovery sees of an ACK and asks for, see `recovery`
    agent: Any  # AGENT, a row per agent and node
    agents: Any  # (agents, 2) addresses of the events of receiver agents
    agent_state: Any  # (F, 8) what each flow remembers of its agent's state; one row without agents
    agent_sizes: Any  # (F,) packets of each transfer; one without agents
    epochs: Any  # when routes change, s; none where they do not
    routes: (
        Any  # (F, epochs + 1, 2) first of ``turns`` and how many, for each flow between these times; one row if none
    )
    turns: Any  # the paths that packets of a flow take in turn
    follow: Any  # FOLLOW, a row per flow; none where no flow waits for others
    followers: Any  # FOLLOWER: the flows that wait, those for the first flow first
    out: Any  # what one event sends: rows of number and flags
    clock: Any  # times and options, see `CLOCK`


class Records(NamedTuple):
    """Arrays that a run fills: a row per sample (S; S + 1: the last for events after the end), or totals of the run."""

    waited: Any  # (H,) sum of queueing delays at each hop, s
    window: Any  # (S, F)
    round_trip: Any  # (S, F) s
    acked: Any  # (S, F) highest acknowledged packets; -1: none
    loss_count: Any  # (S, F) loss events so far
    delivered: Any  # (S + 1, F)
    started: Any  # (S + 1, H)
    waiting: Any  # (S + 1, P)
    queued_bytes: Any  # (S + 1, P) where a buffer counts bytes; one where none does
    peak_bytes: Any  # (P,)
    at_hosts: Any  # (S, F) packets that wait at access links that flows share; one where there are none
    lost: Any  # (S + 1, H)
    causes: Any  # (H, CAUSES) drops until the end of the run
    first_drops: Any  # (H, CAUSES) when the first of them was, s; 0: none
    left: Any  # (H,) packets that wait in lanes at the end of the run
    switches: Any  # (M, 5) pauses and resumes
    trace: Any  # TRACE, of traced ports
    scale: float  # samples per second
    sample: float  # s


class World(NamedTuple):
    """The arrays of a run: network, senders and records, for functions that use all three."""

    net: Any  # Network
    senders: Any  # Senders
    records: Any  # Records
