"""The state of a run: one record per flow, per-flow queue and link, and a few time-major arrays.

Packets are cumulative where nothing else is said, rates are packets per step, places are indices.
F flows, C per-flow queues (a flow at a link; the first F are the flows' hosts), L links with queues
(the last ones are the access links of shaped hosts).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

TAHOE, RENO, NEWRENO, SACK = 0, 1, 2, 3
"""How a sender recovers from a loss."""
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
"""In place of a FIFO queue whose packets count: none, the pause begins at a time and is for ever."""
WHOLE = -1
"""In place of a FIFO queue of a link: all of them."""
LOG_FULL, BAD_WINDOW, BAD_QUEUE, SWITCHES_FULL = 1, 2, 3, 4
"""Why a run stops: an emission log is full, a window or a queue is not a number; or, before a step, to
make room for pauses and resumes."""
ONE, TWO = np.uint64(1), np.uint64(2)
"""Numbers of queues, unsigned as places are: compiled, a signed one makes a sum with them a floating-point number."""
MAX_STATE, MAX_PARAMETERS, SEEN = 16, 16, 7
"""Numbers that a window rule or a queue manager may have, and that a manager sees."""


def _record(**fields: str) -> np.dtype[Any]:
    """Return the type of a record whose fields are listed by kind, those used in each step first."""
    names = [(name, kind) for kind, text in fields.items() for name in text.split()]
    kinds = {"wholes": np.int64, "places": np.uint64, "more_wholes": np.int64}
    return np.dtype([(name, kinds.get(kind, np.float64)) for name, kind in names], align=True)


FLOW = np.dtype(
    [
        *_record(
            wholes="start source exit ack_lag pending in_recovery sent_before rule log_first log_end single_acks",
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
"""A flow with its two ends.

start: step of its first packet; source: what sends (WINDOW, ...); exit: its last queue; ack_lag: steps from its
receiver to its sender; pending: stretches with losses or marks that its receiver has not seen; all_lost: packets lost,
in all queues, lost_area: its sum over the steps since the last record; delivered: packets that reached it; entered: sum
over the steps since the last record of packets in the network or lost; first_loss, finished: s, nan for not yet.

snd_una, snd_nxt, snd_max, rcv_nxt: RFC 9293, in packets; rcv_max: one beyond the highest sequence
number received; recover, in_recovery: RFC 6582; pipe: packets in flight in a recovery with SACK (RFC 6675),
sack_scanned, sack_next: where it looks for lost packets and for those to resend, lost_in_pipe: 1 where lost packets
stay in it (Fall and Floyd 1996); acks_each: ACKs per packet that arrives in order, 1/2 when they are delayed; dup_acks,
inflation: RFC 5681 (inflation < 0 holds back a first window); timed_seq, timed_at: the packet that is timed, -1 for
none; srtt, rttvar, rto, backoff, deadline: RFC 6298, s; rtt: of what was acknowledged last, s, rtt_before: in the step
before.

emitted, rcv_position: positions in emission order; offset: sequence number less position in the last
stretch of the emission log; sent_before: step in which what arrived last was sent; resent_held,
resent_held_lost: retransmitted packets of which a part has arrived, and what is missing of it;
fractional_loss: what is missing and has not made a whole packet; scanned_to: packets below it have
entries of this round in the ring of holes.

jitter: longest random wait of the sender before it sends, steps; seed: of these; wait_begin, wait_end: of
the present wait, steps; waited: how long the last packet sent had waited, steps.

cwnd, ssthresh, rule_state: the state of the window rule (of a rate rule: cwnd is the rate in packets/s, max_window
the largest); parameters: of the rule. They stand one after the other: its events get the place of cwnd.
"""

QUEUE = _record(
    reals="lost sent service backlog area peak",
    places="origin",
    more_reals="weight told_rate told_backlog message_rate message_backlog link_rate intensity gain "
    "unconstrained_rate lost_before mean_area cursor",
    more_wholes="lag losses_first losses_end flow link",
)
"""A flow's packets at a link (or at its host).

lost, sent: cumulative, here; service: packets that may leave per step; backlog: packets that
wait; area: its sum over the steps since the last record, mean_area over all; peak: most that waited in
the buffer that begins here (inf: the buffer begins at another queue); origin: the queue before (a host:
itself); lag: steps to the next queue or the receiver; weight: part of a step's departures that arrives
after lag steps, the rest one later. Queues of
links that share are here what they were at the last record (see `Shared`).

losses_first, losses_end: stretches with losses or marks that the flow's receiver has not seen; cursor: where
it stands in what has come here, while there are any.

Of DFC (takano2006, Sect. 2.1): told_rate, told_backlog: r and n of the next node as it was told;
message_rate, message_backlog: what is on its way here; link_rate: B; intensity: alpha; gain: D/d per
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
"""A link's buffer: rate, and pace while paused; limit: of the buffer in packets; shared: one buffer for
all flows; first, end: its queues, per_buffer of them in one buffer; first_band, end_band: its FIFO queues, one, or one
per flow, input or class; lag, weight: those of all its queues, -1 where they differ.

first_ingress, end_ingress: its rows of `PAUSE` with rooms of their own, reserved: these in all (PFC); first_pooled:
from this FIFO queue on they share the rest of the buffer, pooled: what they hold.

manager: which queue manager drops or marks early, -1 for none, and first_managed, end_managed: the FIFO queues that it
sees; drop, mark: what it asks for in this step, fractional: whether each flow gets its part of the marks; state,
parameters: its own; seen: what it sees (`network.managers.Arrivals`); due, due_marks: what it has asked for and is not
a whole packet yet; owed: whole ones that have not come yet. arrivals: packets that came in this step, to the queues
that a manager sees; growth: by how much ``pooled`` grew; total: that ever came and were not dropped. loss_seed: of the
flows that lose whole packets, 0 where all lose their part.
"""

BAND = np.dtype(
    [(name, np.float64) for name in ("served", "arrivals", "pace", "stopped", "most")]
    + [(name, np.int64) for name in ("link", "rank", "flows", "head", "tail")]
    + [(name, np.uint64) for name in ("first", "end")]
)
"""A FIFO queue of one or several flows, queues first .. end: served, arrivals: packets in all; pace: packets
that may leave in this step; stopped: part of the step for which it is paused, most: what that lets leave; rank: bands
of a lower one are served first; head, tail: rows of `Order`.

Places of queues are unsigned: loops over them are vectorized, since none can count from the end."""
BLOCK = np.dtype([(name, np.uint64) for name in ("first", "end", "flows", "next", "one_lag_flows")])
"""Queues served at rates of their own, one after the other, ``flows`` of them in one buffer.

one_lag_flows: ``flows`` where it is 1 or 2 and all lags of the block are equal, otherwise 0 and the block is one
buffer."""
ACK = np.dtype(
    [(name, np.float64) for name in
     ("acks", "advancing", "rcv_nxt", "rcv_max", "marked", "sent")]
)  # fmt: skip
"""What the receiver answers in a step: ACKs, how many of them move rcv_nxt, how many are marked, and
the step in which the packet was sent that the last one answers."""
STRETCH = np.dtype([("position", np.float64), ("sequence", np.float64)])
"""Where in emission order a run of consecutive sequence numbers begins."""
HOLE = np.dtype([("missing", np.float64), ("extent", np.float64)])
"""A packet of sequence space: how much of it is missing, and how much ever was."""
RATE = np.dtype([("step", np.float64), ("amount", np.float64)])
"""Packets per step of a source without a window, from a step on."""
CLOCK = np.dtype([(name, np.int64) for name in ("period", "phase", "first_slot")])
"""Links whose feedback has one period: the step in it, and its first slot; a slot is a step of it."""
SLOT = np.dtype(
    [(name, np.uint64) for name in
     ("hear_one", "hear_two", "hear_more", "hear_end", "send_one", "send_two", "send_more", "send_end")]
    + [(name, np.int64) for name in
       ("hear_input", "hear_input_end", "send_input", "send_input_end")]
)  # fmt: skip
"""Where the links of one flow, of two and of more begin that receive and that send feedback in a slot."""
SENDING = np.dtype([(name, np.uint64) for name in ("first", "last", "to_first", "to_last")])
"""Queues of a link that sends feedback, and those that it goes to."""
INPUT_SENDING = np.dtype([(name, np.int64) for name in ("to", "band", "queue")])
"""Who is told (a link, or -1 - flow for its host), by which band, or -1 and of which queue."""
INPUT_LINK = np.dtype([(name, np.float64) for name in ("rate", "backlog", "next_rate", "next_backlog")])
"""What a link with a queue per input was told, and what is on its way."""
PAUSE = np.dtype(
    [(name, np.float64)
     for name in ("high", "low", "paused_rate", "part", "quanta", "until", "backlog", "waits",
                  "room", "excess", "most_excess")]
    + [(name, np.int64)
       for name in ("pausing", "paused", "band", "wait", "on", "held", "also")]
    + [(name, np.uint64) for name in ("first", "end")]
)  # fmt: skip
"""A link that pauses and one that it pauses (-1 - flow: the access link of its host): thresholds, what
still passes per step; delay of a message in whole steps and the part of one beyond, its duration in
steps (0: until told otherwise) and when it ends; the packets that waited a step ago, and now.

band: which FIFO queue of the paused link stops, WHOLE for all. With PFC, first, end: queues whose packets count, part
of the FIFO queue ``held``, with room for ``room`` packets; otherwise first = end, and all of the link's count. A port
with a fault (held: STORM) has a second row: from step ``room`` on it asks for a pause for ever. also: the next of the
rows that are counted together, all outputs of a switch, in a circle (itself: it is alone); the first of them asks.
excess: packets without room since its pause began, in the row that asks; most_excess: the most of them in one pause."""


SWITCH = np.dtype([("time", np.float64), ("pause", np.int64), ("on", np.int64)])
"""A pause that was turned on or off: when, in steps, which one, and 1 for on."""
LOSS = np.dtype([(name, np.float64) for name in ("first", "end", "lost", "marked")])
"""Packets ``first`` .. ``end`` that came to a queue, how many of them were lost and how many marked."""


class Network(NamedTuple):
    """Flows, queues and links, and what is between them."""

    flows: Any  # FLOW (F,)
    queues: Any  # QUEUE (C + 1,) the last for messages that nobody receives
    links: Any  # LINK (L,)
    wire: Any  # (R, C) packets sent by a queue, a ring by step of arrival, R a power of two
    losses: Any  # LOSS (C, a power of two), a ring per queue
    path: Any  # queues of the flows, hosts left out
    origin: Any  # (C,) the queue before, as in QUEUE
    drops: Any  # (3, C) FIRST_FULL, FIRST_MANAGED: when a full buffer and a manager dropped first, s; MANAGED: packets


class Transport(NamedTuple):
    """What the ends of the flows remember."""

    acks: Any  # ACK (A, F) on their way to the senders, by step
    emitted: Any  # (E, F) packets emitted, by step
    log: Any  # STRETCH, a ring per flow
    holes: Any  # HOLE, a ring per flow
    schedule: Any  # RATE
    events: Any  # (rules, EVENTS)


class Order(NamedTuple):
    """The order of what waits: what had come to a queue, a row per step, Q of them a power of two."""

    rows: Any  # (Q, C) packets that came and were not dropped
    total: Any  # (Q, B) packets that came, all queues of a band


class Span(NamedTuple):
    """Which steps a call of the loop takes, and what holds for all of them."""

    first: Any  # step
    steps: Any  # how many
    total: Any  # steps of the whole run
    every: Any  # steps of an interval of the records
    h: Any  # a step, s
    quantum: Any  # packets
    min_rto: Any  # s
    first_shared: Any  # link whose flows share what they send
    end_shared: Any


class Step(NamedTuple):
    """A step of a run."""

    k: Any  # its number
    now: Any  # its time, s
    left: Any  # steps up to the next record
    h: Any  # s
    quantum: Any  # packets
    min_rto: Any  # s


class Sharing(NamedTuple):
    """What the functions of links see whose flows share what they send."""

    net: Any  # Network
    order: Any  # Order
    shared: Any  # (COLUMNS, C)
    bands: Any  # BAND
    pauses: Any  # PAUSE
    seed: Any  # (1,) of random drops


class Excess(NamedTuple):
    """What exceeds a buffer in a step."""

    amount: Any  # packets
    part: Any  # of the arrivals, below 0: as makes the amount
    fits: Any  # part of the step that is over when the buffer is full


class Lost(NamedTuple):
    """What was lost or marked of the packets that came to a queue."""

    first: Any  # of them
    end: Any
    lost: Any  # packets
    marked: Any
    when: Any  # s


class Output(NamedTuple):
    """Where a run is recorded, a row per interval, and why it stopped."""

    flows: Any  # (T, F, 6)
    queued: Any  # (T, C)
    lost: Any  # (T, C)
    fault: Any  # (2,) the reason and the place


SENT, LOST_HERE, AREA, ARRIVED, PREVIOUS, BEFORE, OWED, OWED_MARKS, MARKABLE, NOW = range(10)
"""Columns of queues of links that share, as in QUEUE: loops over the flows of a step are vectorized.

ARRIVED: packets that have come and were not dropped here, PREVIOUS the same a step ago; BEFORE: what had been sent a
step ago, where each flow has a buffer; OWED, OWED_MARKS: packets to be dropped (by a manager, or the rest of whole
ones) and marked early as they come; MARKABLE: 1 for flows that react to marks; NOW: scratch.
"""
COLUMNS = 10
FIRST_FULL, FIRST_MANAGED, MANAGED = 0, 1, 2
"""Rows of drops by cause."""


class Service(NamedTuple):
    """In which order queues are served, and what waits in those of links whose flows share."""

    blocks: Any  # BLOCK
    bands: Any  # BAND
    overflowing: Any  # (L,) scratch: links whose buffer is exceeded
    seed: Any  # (1,) of random drops
    managers: Any  # (managers,) events
    rows: Any  # of `Order`
    total: Any  # of `Order`
    shared: Any  # of `Sharing`


class Feedback(NamedTuple):
    """Who tells whom, and when."""

    clocks: Any  # CLOCK
    slots: Any  # SLOT
    hearing: Any  # (N, 2) queues: the one twice, the two, of more the first and one past the last
    sending: Any  # SENDING
    input_hearing: Any  # links
    input_sending: Any  # INPUT_SENDING
    input_links: Any  # INPUT_LINK (L,)
    pauses: Any  # PAUSE
    pausing: Any  # (P, N) for which part of a step a pause was asked for, by step (see `pause`)
    switches: Any  # SWITCH, of which there is room for at least N, the first `switched` in use
    switched: Any  # (1,)
    host_pace: Any  # (F,) packets per step of a host that is not paused
