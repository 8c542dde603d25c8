"""The state of a run: one record per flow, per-flow queue and link, and a few time-major arrays.

Unless stated otherwise, packets are cumulative, rates are packets per step, and first, end, at are indices.
F flows, C per-flow queues (one per flow and link; the first F are the flows' hosts), L links with queues
(the last ones are the access links of shaped hosts).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

TAHOE, RENO, NEWRENO, SACK = 0, 1, 2, 3
"""Loss recoveries of a sender."""
NO_FEEDBACK, WINDOW, RATE_RULE = 0, 1, 2
"""Sources: a schedule of rates, a TCP sender with a window rule, a sender with a rate rule."""
ON_ACK, ON_LOSS, ON_TIMEOUT, ON_MARK, ON_MARKED_WINDOW, ON_SINGLE_ACK = 0, 1, 2, 3, 4, 5
ON_FEEDBACK, ON_TIME = 0, 1
EVENTS = 6
"""Events of a window rule and of a rate rule: columns of `Transport.events`, 0 where a rule has none. A rule
without `on_mark` reacts to the first mark of a window of data."""
PER_FLOW_RATE, SHARED_FIFO, FAIR_SHARES, PER_INPUT = 0, 1, 2, 3
"""Queue types: per-flow queues at rates of their own; FIFO, one queue or one per class; fair shares and
priorities; a FIFO queue at a rate of its own per input."""
STORM = -1
"""Instead of the index of a counted FIFO queue: the pause begins at a fixed time and never ends."""
WHOLE = -1
"""Instead of the index of a FIFO queue: all FIFO queues of the link."""
LOG_FULL, BAD_WINDOW, BAD_QUEUE, SWITCHES_FULL = 1, 2, 3, 4
"""Reasons why a run stops: an emission log is full, a window or a queue is not a number, or, before a step, the
record of pauses and resumes is full."""
ONE, TWO = np.uint64(1), np.uint64(2)
"""Numbers of queues, unsigned as indices of queues are: compiled code adds a signed and an unsigned integer as
floating-point numbers."""
MAX_STATE, MAX_PARAMETERS, SEEN = 16, 16, 7
"""Numbers of state and of parameters of a window rule or a queue manager, and numbers passed to a manager."""


def _record(**fields: str) -> np.dtype[Any]:
    """Return a NumPy dtype: each keyword is a kind of field, its value the names of such fields, in this order."""
    names = [(name, kind) for kind, text in fields.items() for name in text.split()]
    kinds = {"wholes": np.int64, "places": np.uint64, "more_wholes": np.int64}
    return np.dtype([(name, kinds.get(kind, np.float64)) for name, kind in names], align=True)


FLOW = np.dtype(
    [
        *_record(
            wholes="start source exit ack_lag pending in_recovery sent_before rule log_first log_end single_acks "
            "linux_timer",
            reals="delivered entered rcv_nxt rcv_max rcv_position offset snd_una snd_nxt snd_max emitted "
            "deadline rtt rtt_before timed_seq timed_at rto backoff max_window flow_size acks_each ack_part jitter "
            "dup_acks",
        ).descr,
        ("cwnd", np.float64),
        ("ssthresh", np.float64),
        ("rule_state", np.float64, (MAX_STATE - 2,)),
        ("parameters", np.float64, (MAX_PARAMETERS,)),
        *_record(
            reals="inflation recover srtt rttvar resent_held resent_held_lost fractional_loss scanned_to all_lost "
            "lost_area first_loss finished pipe wait_begin wait_end waited",
            more_wholes="partial_ack_seen seed lost_in_pipe sack_scanned sack_next recovery timeouts loss_events "
            "log_at log_mask holes_at holes_mask path_first path_end schedule_now schedule_end",
        ).descr,
    ],
    align=True,
)
"""A flow with its sender and receiver.

start: step of its first packet; source: kind of source (WINDOW, ...); exit: its last queue; ack_lag: steps from its
receiver to its sender; pending: stretches with losses or marks that its receiver has not processed; all_lost: packets
lost, in all queues, lost_area: its sum over the steps since the last record; delivered: packets at the receiver;
entered: sum over the steps since the last record of packets in the network or lost; first_loss, finished: times in s,
nan before.

snd_una, snd_nxt, snd_max, rcv_nxt: RFC 9293, in packets; rcv_max: one beyond the highest sequence
number received; recover, in_recovery: RFC 6582; pipe: packets in flight in a recovery with SACK (RFC 6675),
sack_scanned, sack_next: the next sequence numbers to check for loss and to retransmit, lost_in_pipe: 1 if the pipe
includes lost packets (Fall and Floyd 1996); acks_each: ACKs per packet that arrives in order, 1/2 for delayed ACKs;
dup_acks, inflation: RFC 5681 (inflation < 0 holds back a first window); timed_seq, timed_at: the packet whose
round-trip time is measured, -1 for none, and its time; srtt, rttvar, rto, backoff, deadline: RFC 6298, s; rtt: of the
last acknowledged packet, s, rtt_before: the same a step with ACKs before.

emitted, rcv_position: positions in emission order; offset: sequence number less position in the last
stretch of the emission log; sent_before: step in which the last packet that arrived was sent; resent_held,
resent_held_lost: retransmitted packets that have arrived in part, and the lost part of them;
fractional_loss: losses that do not add up to a packet yet; scanned_to: packets below it have
entries of this round in the ring of holes.

jitter: maximum random wait of the sender before it sends, steps; seed: of the random waits; wait_begin, wait_end: of
the present wait, steps; waited: wait of the last packet sent, steps.

cwnd, ssthresh, rule_state: the state of the window rule (of a rate rule: cwnd is the rate in packets/s, max_window
the maximum); parameters: of the rule. These fields are contiguous: events of the rule receive the address of cwnd.
"""

QUEUE = _record(
    reals="lost sent service backlog area peak",
    places="origin",
    more_reals="weight reported_rate reported_backlog message_rate message_backlog link_rate intensity gain "
    "unconstrained_rate lost_before mean_area cursor",
    more_wholes="lag losses_first losses_end flow link",
)
"""A flow's packets at a link (or at its host).

lost, sent: packets, cumulative; service: packets that may leave per step; backlog: packets in the queue;
area: sum of the backlog over the steps since the last record, mean_area: over all steps; peak: maximum backlog of
the buffer whose first queue this is (inf: the buffer begins at another queue); origin: the upstream queue (a host:
itself); lag: steps to the next queue or the receiver; weight: part of a step's departures that arrives
after lag steps, the rest a step later. For queues of shared links, lost, sent, backlog and area are values at the last
record (see `Sharing`).

losses_first, losses_end: stretches with losses or marks that the flow's receiver has not processed; cursor: the
receiver's position among the arrivals at this queue, while there are such stretches.

Of DFC (takano2006, Sect. 2.1): reported_rate, reported_backlog: r and n of the next node, by its last message;
message_rate, message_backlog: the message in flight to this queue; link_rate: B; intensity: alpha; gain: D/d per
step; unconstrained_rate: J-tilde.
"""

LINK = np.dtype(
    [(name, np.float64) for name in
     ["rate", "pace", "limit", "peak", "backlog", "pooled", "reserved", "growth", "arrivals", "total", "due",
      "due_marks", "owed", "weight"]]
    + [(name, np.int64) for name in
       ["kind", "shared", "lag", "first_band", "end_band", "first_pooled", "first_ingress",
        "end_ingress", "manager", "late", "fractional", "first_managed", "end_managed", "loss_seed"]]
    + [(name, np.uint64) for name in ("first", "end", "per_buffer")]
    + [
        ("drop", np.float64),
        ("mark", np.float64),
        ("state", np.float64, (MAX_STATE - 2,)),
        ("parameters", np.float64, (MAX_PARAMETERS,)),
        ("seen", np.float64, (SEEN,)),
    ],
    align=True,
)  # fmt: skip
"""A link with its buffer: rate, and pace: the rate of this step, pauses included; limit: size of the buffer, packets;
shared: 1 for one buffer for all flows; first, end: its queues, per_buffer of them in one buffer; first_band, end_band:
its FIFO queues, one, or one per flow, input or class; lag, weight: common values of its queues, -1 if they differ.

first_ingress, end_ingress: its rows of `PAUSE` with separate rooms (PFC), reserved: the sum of these rooms;
first_pooled: FIFO queues from this one on share the rest of the buffer, pooled: their backlog.

manager: index of its queue manager (early drops and marks), -1 for none; first_managed, end_managed: the FIFO queues
of the manager; drop, mark: its requests in this step, fractional: 1 if marks are divided among the flows of the
arrivals; state, parameters: of the manager; seen: its input (`network.managers.Arrivals`); due, due_marks: requested
fractions of a packet; owed: whole packets that are assigned to flows and have not arrived. arrivals: packets of this
step at the manager's queues; growth: of ``pooled`` in this step; total: accepted packets, cumulative.
loss_seed: of the draws of flows that lose whole packets, 0 if every flow loses its share.
"""

BAND = np.dtype(
    [(name, np.float64) for name in ("served", "arrivals", "pace", "stopped", "demand")]
    + [(name, np.int64) for name in ("link", "rank", "flows", "head", "tail")]
    + [(name, np.uint64) for name in ("first", "end")]
)
"""A FIFO queue of one or several flows, queues first .. end: served, arrivals: packets, cumulative; pace: packets
that may leave in this step; stopped: part of the step for which it is paused; demand: packets that it could send in
this step; rank: bands of a lower rank are served first; head, tail: rows of `Order`.

Indices of queues are unsigned: loops over them are vectorized, since no index can count from the end."""
BLOCK = np.dtype([(name, np.uint64) for name in ("first", "end", "flows", "next", "one_lag_flows")])
"""Consecutive queues with service rates of their own, ``flows`` of them in one buffer.

one_lag_flows: ``flows`` if it is 1 or 2 and all lags of the block are equal, otherwise 0, and the block is one
buffer."""
ACK = np.dtype(
    [(name, np.float64) for name in
     ("acks", "advancing", "rcv_nxt", "rcv_max", "marked", "sent")]
)  # fmt: skip
"""The receiver's ACKs of a step: their number, how many of them advance rcv_nxt, how many are marked, and
the step in which the packet of the last ACK was sent."""
STRETCH = np.dtype([("position", np.float64), ("sequence", np.float64)])
"""The first position in emission order, and the first sequence number, of consecutive sequence numbers."""
HOLE = np.dtype([("missing", np.float64), ("extent", np.float64)])
"""A packet of sequence space: the part of it that is missing, and the part that was missing at first."""
RATE = np.dtype([("step", np.float64), ("amount", np.float64)])
"""The rate, packets per step, of a source without a window from a step on."""
CLOCK = np.dtype([(name, np.int64) for name in ("period", "phase", "first_slot")])
"""Links with the same feedback period: the phase in the period, steps, and its first slot; one slot per step."""
SLOT = np.dtype(
    [(name, np.uint64) for name in
     ("receive_one", "receive_two", "receive_more", "receive_end", "send_one", "send_two", "send_more", "send_end")]
    + [(name, np.int64) for name in
       ("receive_input", "receive_input_end", "send_input", "send_input_end")]
)  # fmt: skip
"""First entries of the links of one flow, of two and of more that receive and that send feedback in a slot."""
SENDING = np.dtype([(name, np.uint64) for name in ("first", "last", "to_first", "to_last")])
"""Queues of a link that sends feedback, and the upstream queues that receive it."""
INPUT_SENDING = np.dtype([(name, np.int64) for name in ("to", "band", "queue")])
"""Receiver of a message (a link, or -1 - flow for its host), and its sender: a band, or -1 and a queue."""
INPUT_LINK = np.dtype([(name, np.float64) for name in ("rate", "backlog", "next_rate", "next_backlog")])
"""The last report to a link with a queue per input, and the report in flight to it."""
PAUSE = np.dtype(
    [(name, np.float64)
     for name in ("high", "low", "paused_rate", "part", "quanta", "until", "backlog", "waits",
                  "room", "excess", "most_excess")]
    + [(name, np.int64)
       for name in ("pausing", "paused", "band", "wait", "on", "held", "also")]
    + [(name, np.uint64) for name in ("first", "end")]
)  # fmt: skip
"""A pausing link and a link that it pauses (-1 - flow: the access link of its host).

high, low: thresholds; paused_rate: packets per step that a paused link still sends; wait, part: delay of a message in
whole steps and the fraction beyond; quanta: duration of a pause in steps (0: until a resume), until: its end; on: 1
while it is requested; backlog, waits: packets a step ago, and now.

band: the FIFO queue of the paused link that stops, WHOLE for all. With PFC, first, end: the queues that count, part
of the FIFO queue ``held``, with room for ``room`` packets; otherwise first = end, and all queues of the link count. A
port with a fault (held: STORM) has a second row: from step ``room`` on it requests a pause that never ends. also: the
next of the rows that are counted together, all outputs of a switch, as a cycle (a single row: itself); the first of
them requests the pause. excess: packets without room since the pause began, in the requesting row; most_excess: the
maximum over the pauses."""


SWITCH = np.dtype([("time", np.float64), ("pause", np.int64), ("on", np.int64)])
"""A pause that was turned on or off: the time in steps, its row in `PAUSE`, and 1 for on."""
LOSS = np.dtype([(name, np.float64) for name in ("first", "end", "lost", "marked")])
"""Arrivals ``first`` .. ``end`` at a queue, the number of them that were lost, and the number marked."""


class Network(NamedTuple):
    """Flows, queues and links, and the packets on the wire between them."""

    flows: Any  # FLOW (F,)
    queues: Any  # QUEUE (C + 1,) the last for messages without a receiver
    links: Any  # LINK (L,)
    wire: Any  # (R, C) packets sent by a queue, a ring by step of arrival, R a power of two
    losses: Any  # LOSS (C, a power of two), a ring per queue
    path: Any  # queues of the flows, hosts left out
    origin: Any  # (C,) the upstream queue, as in QUEUE
    drops: Any  # (3, C) FIRST_FULL, FIRST_MANAGED: first drop by a full buffer, by a manager, s; MANAGED: packets


class Transport(NamedTuple):
    """State of senders and receivers: ACKs in flight, emission logs, holes, schedules."""

    acks: Any  # ACK (A, F) in flight to the senders, by step
    emitted: Any  # (E, F) packets emitted, by step
    log: Any  # STRETCH, a ring per flow
    holes: Any  # HOLE, a ring per flow
    schedule: Any  # RATE
    events: Any  # (rules, EVENTS)


class Order(NamedTuple):
    """Cumulative accepted packets, a row for each of the last Q steps (a power of 2): by queue, and by band."""

    rows: Any  # (Q, C) accepted packets
    total: Any  # (Q, B) accepted packets of all queues of a band


class Span(NamedTuple):
    """The steps of one call of `loop.run`, and the constants of the run."""

    first: Any  # step
    steps: Any  # number of steps
    total: Any  # steps of the whole run
    every: Any  # steps of an interval of the records
    h: Any  # a step, s
    quantum: Any  # packets
    min_rto: Any  # s
    first_shared: Any  # first of the links whose flows share the rate
    end_shared: Any  # one past the last of them


class Step(NamedTuple):
    """A step of a run: number, time, s, steps to the next record, and constants: length, s, quantum, minimum RTO."""

    k: Any  # its number
    now: Any  # its time, s
    left: Any  # steps up to the next record
    h: Any  # s
    quantum: Any  # packets
    min_rto: Any  # s


class Sharing(NamedTuple):
    """Arguments of the functions for links whose flows share the rate: FIFO, RED, fair shares, priorities, PFC."""

    net: Any  # Network
    order: Any  # Order
    shared: Any  # (COLUMNS, C)
    bands: Any  # BAND
    pauses: Any  # PAUSE
    seed: Any  # (1,) of random drops


class Excess(NamedTuple):
    """Packets beyond a buffer: amount, part of arrivals to drop (< 0: by amount), part of the step until it is full."""

    amount: Any  # packets
    part: Any  # of the arrivals; < 0: computed from the amount
    before_full: Any  # part of the step before the buffer is full


class Lost(NamedTuple):
    """Losses and marks among arrivals ``first`` .. ``end`` (cumulative packets) at a queue."""

    first: Any  # of the arrivals
    end: Any
    lost: Any  # packets
    marked: Any
    when: Any  # s


class Output(NamedTuple):
    """Records of a run, a row per interval, and the reason for a stop."""

    flows: Any  # (T, F, 6)
    queued: Any  # (T, C)
    lost: Any  # (T, C)
    fault: Any  # (2,) the reason, and the index of the flow or queue


SENT, LOST_HERE, AREA, ARRIVED, PREVIOUS, BEFORE, OWED, OWED_MARKS, MARKABLE, NOW = range(10)
"""Columns of queues of shared links, as in QUEUE: loops over the flows of a step are vectorized.

ARRIVED: accepted packets, PREVIOUS: the same a step ago; BEFORE: departures up to a step ago, set if each flow has a
buffer or a manager marks at departure; OWED, OWED_MARKS: future arrivals to drop (by a manager, or the rest of whole
packets) and to mark early; MARKABLE: 1 for flows that react to marks; NOW: scratch.
"""
COLUMNS = 10
FIRST_FULL, FIRST_MANAGED, MANAGED = 0, 1, 2
"""Rows of drops by cause."""


class Service(NamedTuple):
    """Queues and links in order of service, with managers and random drops, and the packets queued at shared links."""

    blocks: Any  # BLOCK
    bands: Any  # BAND
    overflowing: Any  # (L,) scratch: links with a full buffer
    seed: Any  # (1,) of random drops
    managers: Any  # (managers,) events
    rows: Any  # of `Order`
    total: Any  # of `Order`
    shared: Any  # of `Sharing`


class Feedback(NamedTuple):
    """Senders, receivers and times of DFC feedback and of pauses."""

    clocks: Any  # CLOCK
    slots: Any  # SLOT
    receiving: Any  # (N, 2) queues: a single one twice, two, or the first and one past the last of more
    sending: Any  # SENDING
    input_receiving: Any  # links
    input_sending: Any  # INPUT_SENDING
    input_links: Any  # INPUT_LINK (L,)
    pauses: Any  # PAUSE
    pausing: Any  # (P, N) requested part of a step, by step (see `pause`)
    switches: Any  # SWITCH, at least N rows, the first `switched` in use
    switched: Any  # (1,)
    host_pace: Any  # (F,) packets per step of a host that is not paused
