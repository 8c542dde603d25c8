"""The loop over windows of time.

Packets and messages that a port sends in a window reach itself and the ports before it in the order
only after the window. Each port can therefore process all its arrivals of the window at once.
"""

from __future__ import annotations

import math
from typing import Any

from dfcmodel.network.drop_causes import AT_RANDOM, BUFFER_FULL, BY_MANAGER
from hopflow.kernels.marks import calling_entry, compiled, inlined

from .calendar_queue import (
    CROWDED,
    FAULT,
    OUT,
    SWITCHED,
    least_time,
    next_arrival,
    next_place,
    pop,
    push,
    release,
    retire,
    take,
)
from .codes import BACKPRESSURE, ENDED, FLUSH, PAUSE, POLL, RENEW, REPORT, RESUME, STOP
from .layout import (
    BY_BACKPRESSURE,
    BY_CLASS,
    BY_FLOW,
    BY_LAW,
    BY_RANK,
    BY_RATE,
    CLASSES,
    DUE,
    ELEMENTS_LEAVING,
    FAILS,
    HAS_ELEMENTS,
    LOSES,
    MANAGES,
    MARKS_LEAVING,
    OF_LINK,
    ON_ARRIVAL,
    ON_LEAVING,
    ROUTES,
    Network,
    Records,
    Senders,
    World,
    int64,
)
from .links.backpressure import enqueue_flow, leave_flow, stop_flow
from .links.diffusion import begin_of, enter_rated, process_feedback
from .links.failures import lose_on_link
from .links.interfaces import (
    enter_interface,
    interface_of,
    is_for_interface,
    is_next,
    pass_interface,
    wake_interface,
)
from .links.lanes import (
    AT_ONCE,
    OVERFLOWS,
    dequeue,
    dequeue_ranked,
    discard,
    enter_lane,
    overflow,
    place_of_arrival,
    record_left,
    start_transmission,
)
from .links.laws import (
    begin_sending,
    count_at_ingress,
    count_refused,
    end_sending,
    receive_report,
    update_blocked,
    waits_by_law,
)
from .links.link_retry import retry_time
from .links.path_elements import HELD, PASSED, flush, leave_elements, pass_elements
from .links.pauses import ENDS, count_class, count_excess, process_pause, renew, send_pauses
from .links.ports import EARLIEST, INTERFACE, LANES, LATEST, advance_packet, drop, keep_packet
from .links.random_loss import is_lost_at_random
from .links.rated import has_plain_rates, pass_rated
from .links.routing import MOVED, PASSES, route_packet
from .links.spraying import way_of_next
from .links.watchdogs import poll, update_paused_times
from .queues.buffers import is_full, is_over, queue_bytes, queue_length, record_peak
from .queues.coupled import DROP, MARK, dualpi2_verdict, update_coupled
from .queues.managers import (
    CODEL,
    COUPLED,
    PROPORTIONAL,
    admit_lane,
    is_managed,
    is_markable,
    is_scalable,
    mark_leaving,
    update_probability,
)
from .queues.program_queues import join_queue, leave_queue, longest_queue
from .queues.programs import ARRIVES, DROPPED, LEAVES, LONGEST, call_program, cut_packet, put_in_order, take_last
from .rates.answers import receive_rated
from .rates.sources import (
    CONSTANT,
    end_source,
    on_timer,
    schedule_due_timers,
    start_idle_period,
)
from .tcp.agents import expire_agent
from .tcp.deliveries import on_packet_sent
from .tcp.receivers import answer_late
from .tcp.senders import receive
from .tcp.timers import CHECK, END, NOW, SAMPLE_END, SAMPLE_ROW, SAMPLE_START, WINDOW

__all__ = [
    "begin_sample",
    "depart",
    "enqueue",
    "enqueue_by_queue",
    "enqueue_ranked",
    "new_packet",
    "process_endpoint_event",
    "process_host_window",
    "process_plain_window",
    "process_port_window",
    "process_switch_window",
    "process_timer",
    "run",
    "sample_senders",
]

UNKNOWN = -2
"""In place of the next arrival: it has to be looked up."""
EMPTY_WINDOWS = 8
"""Number of consecutive windows without events after which the loop skips to the next event."""


@inlined
def process_endpoint_event(net: Any, senders: Any, f: int, e: int, key: int) -> None:
    """Process event e, with key ``key``, at an end of flow f: packets to send go to ``out``; frees e unless it is data.

    Rows are numbers and flags of new packets, or -1 less a packet and where it goes on from.
    """
    s = senders.flow[f]
    ends = CLASSES * (len(net.port) - 1)  # the first key of timers
    net.counters[OUT] = 0
    if key < 0 or key >= ends:
        process_timer(net, senders, f, e, key - ends)
    elif net.packet[e].hop == s.turn:
        answer_late(net, senders, f, e)
        return
    elif s.recovery >= 0:
        receive(net, senders, f, e)
        if s.onoff != CONSTANT and s.supply == 0:
            start_idle_period(net, senders, f)
    else:
        receive_rated(net, senders, f, e)
    release(net, e)


@inlined
def process_timer(net: Any, senders: Any, f: int, e: int, key: int) -> None:
    """Process a STOP or timer event of flow f: the sender's, or with ``key`` from F on its receiver's ACK or agent."""
    s = senders.flow[f]
    if net.packet[e].number == STOP:
        end_source(net, senders, f)
    elif key < len(senders.flow):
        on_timer(net, senders, f)
    elif s.ack_due == senders.clock[NOW] and s.agent >= 0:
        expire_agent(net, senders, f)
    elif s.ack_due == senders.clock[NOW]:
        senders.out[0, 0] = -1 - s.pending
        senders.out[0, 1] = DUE
        net.counters[OUT] = 1


@inlined
def new_packet(net: Any, senders: Any, f: int, number: int, flags: int) -> int:
    """Take a row for packet ``number``, which flow f sends now with ``flags``, fill it in, and return its index."""
    s = senders.flow[f]
    e = take(net)
    it = net.packet[e]
    it.flow = f
    it.number = number
    it.ecn = flags
    it.hop = s.way if s.paths == 0 else way_of_next(net, senders, f)
    net.sent_at[e] = senders.clock[NOW]
    it.marked = 0
    it.size = 0
    if number == 0 and s.opening == 1:
        it.size = 1
    s.emitted += 1
    return e


@inlined
def depart(world: Any, u: int, e: int, came: float, time: float, longer: float) -> None:
    """Start to send packet e at ``time``, s; it arrived at port u, with lanes, at ``came``; trace it if u is traced.

    It takes ``longer`` than at the rate of the link, in s.
    """
    net, records = world.net, world.records
    if net.port[u].traced == 1:
        keep_packet(world, u, e, came, time, longer, math.nan)
    start_transmission(net, records, u, e, came, time)
    net.port[u].free += longer


@inlined
def process_plain_window(world: Any, u: int, now: float, end: float) -> None:
    """Process the arrivals from ``now`` to ``end`` at port u, which has no lanes."""
    net = world.net
    port = net.port[u]
    b = int(now * port.inverse)
    past = int(end * port.inverse)
    while True:
        b, e, time = next_arrival(net, port, b, past, end)
        if e < 0:
            return
        pop(net, port, b, e)
        advance_packet(world, e, time, int64(net.packet[e].key), u)


@inlined
def process_host_window(world: Any, u: int, now: float, end: float, interfaces: bool) -> None:
    """Process events of hosts in calendar queue u, ``now`` to ``end``; ``interfaces``: any host has an interface."""
    net, senders, records = world
    packet = net.packet
    queue = net.port[u]
    ends = len(net.port) - 1
    b = int(now * queue.inverse)
    past = int(end * queue.inverse)
    while True:
        b, e, time = next_arrival(net, queue, b, past, end)
        if e < 0:
            return
        pop(net, queue, b, e)
        key = int64(packet[e].key)
        f = int64(packet[e].flow)
        packets = 1
        at_end = not interfaces or not is_for_interface(net, e, key)
        senders.clock[NOW] = time
        if at_end:
            process_endpoint_event(net, senders, f, e, key)
            packets = net.counters[OUT]
        for i in range(packets):
            p = -1  # the interface at which the packet is
            came = arrives = time
            rank = key
            begin = ends
            if at_end:
                number = int64(senders.out[i, 0])
                flags = int64(senders.out[i, 1])
                if number >= 0:
                    e = new_packet(net, senders, f, number, flags)
                    if senders.flow[f].listed == 1 and number >= senders.flow[f].opening:
                        on_packet_sent(senders, f, number)
                    if interfaces:
                        if is_next(net, queue.at + (b & queue.mask), time, key):
                            p = interface_of(net, e)
                        if p >= 0:
                            packet[e].time = time
                            if not enter_interface(world, p, e):
                                continue
                else:
                    e = -1 - number
                    begin = flags
            else:
                p, e, came = pass_interface(world, e, key)
                if e < 0:
                    continue
            if p >= 0:
                now = senders.clock[NOW]  # read again: what follows from ``time`` is computed in front of this loop
                s = senders.flow[packet[e].flow]
                if s.lane >= 0 and packet[e].hop < s.turn:
                    net.sent_at[e] = now
                if net.port[p].by_turns == BY_LAW:
                    begin_sending(net, records, p, e, now)
                again = 0.0
                if net.port[p].effects & OF_LINK:
                    again = retry_time(net, senders, p, e, now)
                depart(world, p, e, came, now, again)
                wake_interface(net, p)
                spent = net.times[p * CLASSES + packet[e].size]
                arrives, rank = now + again + spent.passage, int64(spent.rank)
            advance_packet(world, e, arrives, rank, begin)


@compiled
def enqueue_by_queue(world: Any, u: int, e: int, waits: bool) -> bool:
    """Drop or queue packet e in its program's queue; return True, e dequeued, to send it now, never if it ``waits``."""
    net, records = world.net, world.records
    port = net.port[u]
    time = net.packet[e].time
    longest = net.program[u].overflow == LONGEST
    if waits and not longest and is_full(port, queue_bytes(net, u, e)):
        drop(world, u, e, time, time, BUFFER_FULL)
        return False
    join_queue(net, u, e)
    if not waits:
        return bool(dequeue_ranked(world, u, time) == e)
    while is_over(port):
        gone = leave_queue(net, u, longest_queue(net, u))
        discard(world, u, gone, time, BUFFER_FULL)
    if int(time * records.scale) < len(records.lost) - 1:
        record_peak(net, records, u, port.waiting)
    return False


@compiled
def enqueue_ranked(world: Any, u: int, e: int, busy: bool) -> bool:
    """Drop or queue packet e by port u's switch program (``busy``: u sends or is paused); return True: send it now."""
    net, senders, records = world
    port = net.port[u]
    time = net.packet[e].time
    w = net.program[u]
    if call_program(net, senders, u, e, time, ARRIVES) == DROPPED:
        drop(world, u, e, time, time, BY_MANAGER)
        return False
    if w.cut == 1:
        cut_packet(net, e)
    if w.queues > 0:
        return enqueue_by_queue(world, u, e, busy or port.waiting > 0)
    if not busy and port.waiting == 0:
        verdict = call_program(net, senders, u, e, time, LEAVES)
        if w.cut == 1:
            cut_packet(net, e)
        if verdict != DROPPED:
            return True
        drop(world, u, e, time, time, BY_MANAGER)
        return False
    while is_full(port, queue_bytes(net, u, e)):
        gone = take_last(net, u, e)
        if gone == e:
            drop(world, u, e, time, time, BUFFER_FULL)
            return False
        discard(world, u, gone, time, BUFFER_FULL)
    put_in_order(net, u, e)
    if int(time * records.scale) < len(records.lost) - 1:
        record_peak(net, records, u, port.waiting)
    return False


@compiled
def enqueue_by_law(world: Any, u: int, e: int, cause: int) -> bool:
    """Drop packet e (``cause`` >= 0, or no room) or queue it at port u under link laws; return True: send it at once.

    ``cause``: why it is dropped; -1: it is not, if there is room.
    """
    net, records = world.net, world.records
    port = net.port[u]
    time = net.packet[e].time
    busy, full = waits_by_law(net, u, e, time)
    if cause >= 0 or full:
        count_refused(net, u, e, time)
        drop(world, u, e, time, time, max(cause, BUFFER_FULL))
        return False
    count_at_ingress(net, u, e, time)
    if port.waiting == 0 and not busy:
        return True
    c = int64(net.hop[int64(net.packet[e].hop)].lane)
    enter_lane(net, u, c, e)
    update_blocked(net, records, u, c, time)
    if int(time * records.scale) < len(records.lost) - 1:
        record_peak(net, records, u, port.waiting + port.held)
    return False


@compiled
def apply_on_arrival(world: Any, u: int, e: int, time: float) -> int:
    """Apply routing, elements, loss and manager to e: PASSED, HELD (moved, delayed or dropped), or a cause to drop it.

    Return PASSED, the cause for which it is dropped, or HELD where it is no longer at the port.
    """
    net, senders, records = world
    port = net.port[u]
    if port.effects & ROUTES != 0:
        verdict = route_packet(net, records, u, e, time)
        if verdict != PASSES:
            if verdict != MOVED:
                drop(world, u, e, time, time, verdict)
            return HELD
    cause = PASSED
    if port.effects & HAS_ELEMENTS != 0:
        cause = pass_elements(net, senders, u, e)
    if cause == PASSED and port.effects & LOSES != 0 and is_lost_at_random(net, senders, u, e):
        cause = AT_RANDOM
    if cause == PASSED and port.effects & MANAGES != 0 and is_managed(net, port, e):
        markable, scalable = is_markable(net, senders, e), is_scalable(net, senders, e)
        if not admit_lane(net, u, e, time, markable, scalable):
            cause = BY_MANAGER
    return cause


@compiled
def passes_at_once(world: Any, u: int, e: int, time: float) -> bool:
    """Return whether the manager passes packet e, perhaps marked, at idle port u; if DualPI2 drops it, it is freed."""
    net, senders = world.net, world.senders
    port = net.port[u]
    if port.manager == CODEL:  # a packet that does not wait is below the target
        net.control[u].deadline = 0.0
        net.control[u].dropping = 0
    elif port.manager == COUPLED:
        markable, scalable = is_markable(net, senders, e), is_scalable(net, senders, e)
        verdict = dualpi2_verdict(net, u, scalable, markable, 0.0, 0.0)
        if verdict == DROP:
            drop(world, u, e, time, time, BY_MANAGER)
            return False
        if verdict == MARK:
            net.packet[e].marked = 1
    return True


@compiled
def apply_on_leaving(world: Any, u: int, e: int, time: float) -> bool:
    """Apply failures, elements, marks and retries (``spent``, s) to e when its transmission begins; return if dropped.

    It comes before disciplines and schedulers count the packet as gone. The time for which the link sends it again, or
    more slowly, is written to the port.
    """
    net, senders = world.net, world.senders
    port = net.port[u]
    if port.effects & FAILS != 0 and lose_on_link(world, u, e, time):
        return True
    if port.effects & ELEMENTS_LEAVING != 0:
        cause = leave_elements(net, senders, u, e, time)
        if cause != PASSED:
            if port.waiting > 0:  # the next packet leaves now, also where a message let e go later than `free`
                port.free = max(port.free, time)
            discard(world, u, e, time, cause)
            return True
    if port.effects & MARKS_LEAVING != 0 and is_managed(net, port, e):
        mark_leaving(net, u, e, time, is_markable(net, senders, e))
    if port.effects & OF_LINK != 0:
        port.spent = retry_time(net, senders, u, e, time)
    return False


@compiled
def process_message(world: Any, u: int, e: int, time: float) -> bool:
    """Process event e, not a packet, at port u with lanes; return whether a packet may leave because of it."""
    net, records = world.net, world.records
    port = net.port[u]
    number = net.packet[e].number
    if number >= RESUME:  # or PAUSE
        process_pause(net, u, e)
        if port.plain < 0:
            update_paused_times(net, u, time)
    elif number == BACKPRESSURE:
        stop_flow(net, u, e)
    elif number == REPORT:
        receive_report(net, records, u, e)
    else:
        if number == RENEW:
            renew(net, records, u, e)
        elif number == POLL:
            poll(world, e)
        elif number == ENDED:
            end_sending(net, u, e)
        elif number == FLUSH:
            flush(net, u, e)
        else:
            process_feedback(net, u, e)
        return False
    return port.waiting > 0 and port.paused == 0 and port.free < time


@inlined
def enqueue(world: Any, u: int, e: int) -> bool:
    """Drop or queue arriving packet e at port u with lanes; return True if it must be sent at once instead."""
    net, records = world.net, world.records
    port = net.port[u]
    it = net.packet[e]
    time = it.time
    h = int64(it.hop)
    cause = PASSED
    if port.effects & ON_ARRIVAL != 0:
        cause = apply_on_arrival(world, u, e, time)
        if cause == HELD:
            return False
    c = int64(net.hop[h].lane)
    counted = int64(net.hop[h].ingress)
    if port.by_turns >= BY_RANK:
        if port.by_turns == BY_BACKPRESSURE:
            return enqueue_flow(world, u, e, cause)
        if port.by_turns == BY_LAW:
            return enqueue_by_law(world, u, e, cause)
        if cause < 0:
            return enqueue_ranked(world, u, e, port.free >= time or port.paused > 0)
    place = place_of_arrival(net, u, e, time)
    if cause >= 0 or place == OVERFLOWS:
        if cause < 0:
            if port.by_turns == BY_CLASS:
                count_excess(net, counted, queue_bytes(net, u, e) / net.times[u * CLASSES].taken)
            elif port.feeders > 0:
                count_excess(net, int64(port.feeder), 1.0)
        drop(world, u, e, time, time, max(cause, BUFFER_FULL))
        return False
    if place == AT_ONCE:
        return port.manager < CODEL or passes_at_once(world, u, e, time)
    if port.by_turns == BY_RATE:
        enter_rated(net, u, c, e)
    else:
        enter_lane(net, u, c, e)
    if port.by_turns == BY_CLASS:
        count_class(net, records, u, e, 1, time)
    elif port.by_turns == BY_FLOW:
        while queue_length(port) > port.room:
            overflow(world, u, time)
    if int(time * records.scale) < len(records.lost) - 1:
        record_peak(net, records, u, port.waiting + port.held)
    send_pauses(net, records, u, time)
    return False


@inlined
def process_next(world: Any, u: int, b: int, e: int, arrives: float) -> tuple[int, int, int, float, bool]:
    """Process port u's next departure before ``arrives``, or arrival e (bucket b; -1: none): (b, e, sent, time, any).

    The arrival, a packet or a message, is in bucket ``b``; -1: there is none up to the end of the window. Return the
    bucket of the next arrival; ``e``, or `UNKNOWN` if it was processed or another arrival may precede it; a packet
    whose transmission has begun, -1 for none; when it began; and whether there was an event.
    """
    net, records = world.net, world.records
    packet = net.packet
    port = net.port[u]
    time = arrives
    queued = port.waiting > 0 and port.paused == 0 and port.free < time
    begin = port.free
    if queued and port.by_turns == BY_RATE:
        begin = begin_of(net, u)
        queued = begin < time
        e = UNKNOWN if queued else e  # `pass_rated` may go on
    if queued:
        time = begin
    elif e < 0:
        return b, e, -1, 0.0, False
    if port.manager >= PROPORTIONAL:
        if port.manager == PROPORTIONAL:
            update_probability(net.control, u, time, port.bytes)
        else:
            update_coupled(net, u, time)
    sent = -1
    came = time
    if not queued:
        pop(net, port, b, e)
        if packet[e].number <= PAUSE:
            queued = process_message(world, u, e, time)
        elif enqueue(world, u, e):
            sent = e
        e = UNKNOWN
    if queued:
        sent = dequeue(world, u, time)
        if sent >= 0:
            came = packet[sent].time
        if port.feeders > 0:
            send_pauses(net, records, u, time)
            e = UNKNOWN  # the port schedules the end of the quanta of a pause for itself
    if sent >= 0:
        if port.effects & ON_LEAVING != 0 and apply_on_leaving(world, u, sent, time):
            return b, e, -1, time, True
        if port.by_turns >= BY_LAW:
            e = UNKNOWN
            if port.by_turns == BY_BACKPRESSURE:
                leave_flow(net, records, u, sent, time)
            else:
                begin_sending(net, records, u, sent, time)
                b = min(b, int(time * port.inverse))  # the end may be before the next arrival
        longer = port.spent if port.effects & OF_LINK != 0 else 0.0
        depart(world, u, sent, came, time, longer)
        time += longer
    return b, e, sent, time, True


@inlined
def process_port_window(world: Any, u: int, now: float, end: float) -> bool:
    """Process all events from ``now`` to ``end`` at port u, which has lanes; return whether there were any."""
    net, records = world.net, world.records
    port = net.port[u]
    b = int(now * port.inverse)
    past = int(end * port.inverse)
    e = UNKNOWN
    arrives = end
    had_events = False
    while True:
        if e == UNKNOWN:
            if port.by_turns == BY_RATE and has_plain_rates(port):
                b, passed = pass_rated(net, records, u, b, past, end)
                had_events = had_events or passed
            b, e, arrives = next_arrival(net, port, b, past, end)
        b, e, sent, time, passed = process_next(world, u, b, e, arrives)
        if not passed:
            return had_events
        had_events = True
        if sent >= 0:
            pass_on(world, u, sent, time)


@inlined
def pass_on(world: Any, u: int, e: int, time: float) -> None:
    """Schedule the arrival of packet e, which port u sends from ``time`` on, at its next hop with a calendar queue."""
    net = world.net
    spent = net.times[u * CLASSES + net.packet[e].size]
    to = net.hop[int64(net.packet[e].hop)]
    if to.port >= 0 and to.queue >= 0:
        push(net, e, int64(to.queue), time + spent.passage, int64(spent.rank))
    else:
        advance_packet(world, e, time + spent.passage, int64(spent.rank), len(net.port) - 1)


@inlined
def find_next_event(net: Any, p: int, now: float, end: float) -> None:
    """Write the next event of port p, from ``now`` to ``end``, to its row of ``upcoming``."""
    port = net.port[p]
    row = net.upcoming[p]
    b, e, time = next_arrival(net, port, int(now * port.inverse), int(end * port.inverse), end)
    key = int64(net.packet[e].key) if e >= 0 else int64(0)
    if port.waiting > 0 and port.paused == 0 and port.free < time:
        time = port.free
        key = ENDS + p
    row.time = time
    row.key = key
    row.bucket = b


@compiled
def process_switch_window(world: Any, u: int, now: float, end: float) -> bool:
    """Process all events up to ``end`` at the ports that count packets with u, in order of time; return whether any.

    Events at equal times come in the order of their keys, departures last, as in the oracle. An event changes the next
    one of its own port alone, unless switches send packets over another port or watchdogs empty the queues of others.
    """
    net = world.net
    upcoming = net.upcoming
    had_events = False
    alone = True
    p = u
    while True:
        find_next_event(net, p, now, end)
        alone = alone and net.port[p].effects & ROUTES == 0 and net.port[p].plain >= 0
        p = int64(net.port[p].mate)
        if p == u:
            break
    while True:
        found = -1
        least = end
        order = int64(0)
        p = u
        while True:
            row = upcoming[p]
            if row.time < least or (row.time == least and row.time < end and row.key < order):
                found = p
                least = row.time
                order = int64(row.key)
            p = int64(net.port[p].mate)
            if p == u:
                break
        if found < 0:
            return had_events
        had_events = True
        port = net.port[found]
        b, e, arrives = next_arrival(net, port, int64(upcoming[found].bucket), int(end * port.inverse), end)
        b, e, sent, time, _ = process_next(world, found, b, e, arrives)
        if sent >= 0:
            pass_on(world, found, sent, time)
        p = found
        while True:
            find_next_event(net, p, least, end)
            p = found if alone else int64(net.port[p].mate)
            if p == found:
                break


@inlined
def begin_sample(world: Any, n: int) -> None:
    """Write sample n, and the times from and until which events are in it whatever was rounded, to the clock."""
    clock, records = world.senders.clock, world.records
    clock[SAMPLE_ROW] = n
    clock[SAMPLE_START] = n * records.sample * EARLIEST
    clock[SAMPLE_END] = (n + 1) * records.sample * LATEST


@inlined
def sample_senders(world: Any, n: int) -> None:
    """Record windows, ACKs, RTTs, losses and access queues of started flows in row n, at the end of that sample."""
    net, senders, records = world
    flow = senders.flow
    for k in range(len(senders.begun)):
        f = int64(senders.begun[k])
        first = net.hop[flow[f].way]
        if len(records.at_hosts) > 1 and net.port[first.port].kind == INTERFACE:
            records.at_hosts[n, f] = net.lane[first.lane].count
        records.loss_count[n, f] = flow[f].loss_events
        if flow[f].recovery >= 0:  # window senders
            records.window[n, f] = flow[f].cwnd
            records.acked[n, f] = flow[f].snd_una - 1
            records.round_trip[n, f] = flow[f].rtt if flow[f].rtt > 0.0 else math.nan


@calling_entry
def run(network: Any, endpoints: Any, recorded: Any, ahead: float, first: int, samples: int) -> int:
    """Kernel: run from sample ``first``, in windows of ``ahead`` s; return how many are complete, up to ``samples``.

    It returns fewer than ``samples`` after a fault, and, to be called again, after a window in which half of
    ``switches`` or ``trace`` was filled or other arrays became crowded. The first three parameters are the fields of
    `Network`, `Senders` and `Records`. They are plain tuples, because Numba takes about 10 us longer per call to find
    the types of NamedTuples.
    """
    world = World(Network(*network), Senders(*endpoints), Records(*recorded))
    net, senders, records = world
    port, order, counters = net.port, net.order, net.counters
    clock = senders.clock
    now = clock[WINDOW]
    n = first
    begin_sample(world, n)
    idle = 0
    interfaces = False
    for u in range(len(port)):
        interfaces = interfaces or port[u].kind == INTERFACE
    while True:
        sample_end = (n + 1) * records.sample
        end = min(now + ahead, sample_end)
        clock[END] = end
        if clock[CHECK] < end:
            schedule_due_timers(net, senders, now)
        idle += 1
        k = next_place(port, 0, len(order))
        while k < len(order):
            u = order[k]
            if port[u].kind == LANES:
                if port[u].mate != u:
                    if process_switch_window(world, u, now, end):
                        idle = 0
                elif (port[u].waiting > 0 or port[u].count > 0) and process_port_window(world, u, now, end):
                    idle = 0
            elif port[u].count > 0:
                before = port[u].count
                if u == len(port) - 1 or port[u].kind == INTERFACE:
                    process_host_window(world, u, now, end, interfaces)
                else:
                    process_plain_window(world, u, now, end)
                if port[u].count != before:
                    idle = 0
            retire(port, u, k)
            k = next_place(port, k + 1, len(order))
        if counters[FAULT] != 0:
            return n
        now = end
        if end == sample_end:
            sample_senders(world, n)
            n += 1
            if n == samples:
                clock[WINDOW] = now
                if n == len(records.waiting) - 1:  # the end of the run, not of a part
                    record_left(net, records)
                return n
            begin_sample(world, n)
        elif idle > EMPTY_WINDOWS:
            now = least_time(net, now, min(sample_end, max(end, clock[CHECK])))
            idle = 0
        if counters[CROWDED] != 0 or 2 * counters[SWITCHED] > len(records.switches):
            clock[WINDOW] = now
            return n
