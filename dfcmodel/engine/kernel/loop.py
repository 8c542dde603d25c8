"""The order of a step: feedback, endpoints, queues, overflows, records.

Time advances in steps h. In each step:
1. Feedback that is due arrives and sets rates; then new feedback is sent, and pauses take effect.
2. Receivers process the packets that have crossed the last link, and senders process ACKs and send.
3. Every queue is served, arrivals of the step included.
4. Arrivals of the step that exceed a buffer are dropped.

Amounts are multiples of a power of two: every sum is exact, and no packet is created or lost by rounding.
`tests.oracles.fluid` is a simple reference implementation.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined, unaliased_entry

from .dfc_per_flow import receive_feedback, send_feedback
from .dfc_per_input import receive_input_feedback, send_input_feedback
from .endpoints import advance_endpoints
from .overflow import drop_tail
from .pause import exchange_pauses
from .rate_queues import serve_blocks
from .records import (
    AREA,
    ARRIVED,
    BAD_QUEUE,
    BAD_WINDOW,
    LOG_FULL,
    LOST_HERE,
    SENT,
    SWITCHES_FULL,
    Order,
    Sharing,
    Step,
)
from .shared_queues import serve_shared

__all__ = ["run"]


@unaliased_entry
def run(span: Any, net: Any, transport: Any, service: Any, feedback: Any, output: Any) -> int:
    """Kernel: run ``span``'s steps, a row of ``output`` per ``span.every``; return -1, or the step at which it stops.

    Records, one row per interval: ``output.flows[n, f]`` = (mean packets in transit, rcv_nxt, cwnd, host's
    backlog, round-trip time, loss events so far), ``queued[n, c]`` packets queued at its end, ``lost[n, c]`` packets
    lost in it.
    The first interval contains the first step, not necessarily at its beginning; the last one of the run may be
    shorter than the others.
    Returns -1, or the step at which it had to stop, with the reason and the index of the flow or queue in
    ``output.fault``.
    """
    every, h, quantum, fault = span.every, span.h, span.quantum, output.fault
    first_shared, end_shared = span.first_shared, span.end_shared
    begin = span.first - span.first % every
    size = min(every, span.total - begin)  # steps of the interval
    left = begin + size - span.first  # up to the next record
    pauses = feedback.pauses.shape[0]
    overflowing, bands, shared = service.overflowing, service.bands, service.shared
    order = Order(service.rows, service.total)
    sharing = Sharing(net, order, shared, bands, feedback.pauses, service.seed)
    for k in range(span.first, span.first + span.steps):
        step = Step(k, k * h, left, h, quantum, span.min_rto)
        if pauses > 0 and feedback.switched[0] + pauses > feedback.switches.shape[0]:
            fault[0] = SWITCHES_FULL
            return k
        exchange_feedback(net, bands, feedback, quantum)
        if pauses > 0:
            exchange_pauses(k, net, bands, feedback, quantum)
        for f in range(net.flows.shape[0]):
            if not advance_endpoints(f, step, net, transport):
                fault[0], fault[1] = LOG_FULL, f
                return k
        n_overflowing = serve_blocks(k, quantum, net, service.blocks, overflowing)
        for i in range(first_shared, end_shared):
            n_overflowing = serve_shared(i, n_overflowing, service, step, sharing)
        for n in range(n_overflowing):
            drop_tail(overflowing[n], step, sharing)
        if left == 1:
            row = k // every - span.first // every
            update_queue_records(first_shared, end_shared, net, shared)
            following = min(every, span.total - k - 1)
            write_flows(size, following, net, output.flows[row], fault)
            write_queues(net, output.queued[row], output.lost[row], fault)
            reset_areas(net, shared)
            if fault[0] != 0:
                return k
            left = size = following
        else:
            left -= 1
    return -1


@inlined
def exchange_feedback(net: Any, bands: Any, feedback: Any, quantum: float) -> None:
    """Deliver the due DFC feedback at all links, then send new feedback, and advance the feedback clocks."""
    clocks, slots = feedback.clocks, feedback.slots
    by_input = feedback.input_receiving.shape[0] > 0
    for j in range(clocks.shape[0]):
        slot = slots[clocks[j].first_slot + clocks[j].phase]
        receive_feedback(slot, feedback.receiving, net.queues, quantum)
        if by_input:
            receive_input_feedback(slot, net, bands, feedback, quantum)
    for j in range(clocks.shape[0]):
        slot = slots[clocks[j].first_slot + clocks[j].phase]
        send_feedback(slot, feedback.sending, net.queues)
        if by_input:
            send_input_feedback(slot, net, bands, feedback)
        clocks[j].phase += 1
        if clocks[j].phase == clocks[j].period:
            clocks[j].phase = 0


@compiled
def update_queue_records(first_shared: int, end_shared: int, net: Any, shared: Any) -> None:
    """Copy sent, lost, area, backlog at links ``first_shared`` .. ``end_shared`` - 1 from ``shared`` to the records."""
    for i in range(first_shared, end_shared):
        for c in range(net.links[i].first, net.links[i].end):
            queue = net.queues[c]
            queue.sent = shared[SENT, c]
            queue.lost = shared[LOST_HERE, c]
            queue.area = shared[AREA, c]
            queue.backlog = shared[ARRIVED, c] - shared[SENT, c]


@compiled
def write_flows(size: int, following: int, net: Any, record: Any, fault: Any) -> None:
    """Write ``record``, (F, 6), of ``size`` steps; the next follows after ``following`` steps; NaN: set ``fault``."""
    for f in range(net.flows.shape[0]):
        flow = net.flows[f]
        inside = flow.entered - flow.lost_area
        flow.entered = 0.0
        flow.lost_area = flow.all_lost * following
        for j in range(flow.path_first, flow.path_end):
            queue = net.queues[net.path[j]]
            inside -= queue.area
        record[f, 0] = inside / size
        record[f, 1] = flow.rcv_nxt
        record[f, 2] = min(flow.cwnd, flow.max_window)
        record[f, 3] = flow.emitted - net.queues[f].sent
        record[f, 4] = flow.rtt
        record[f, 5] = flow.loss_events
        if record[f, 2] != record[f, 2]:
            fault[0], fault[1] = BAD_WINDOW, f


@compiled
def write_queues(net: Any, queued: Any, lost_at: Any, fault: Any) -> None:
    """Write links' backlogs to ``queued``, new losses to ``lost_at``, (C,); NaN: ``fault`` is (BAD_QUEUE, c)."""
    for c in range(net.flows.shape[0], net.queues.shape[0] - 1):
        queue = net.queues[c]
        queued[c] = queue.backlog
        lost_at[c] = queue.lost - queue.lost_before
        queue.lost_before = queue.lost
        queue.mean_area += queue.area
        if queue.backlog != queue.backlog:
            fault[0], fault[1] = BAD_QUEUE, c


@compiled
def reset_areas(net: Any, shared: Any) -> None:
    """Set the sums of backlogs over the steps to 0, after a record."""
    for c in range(net.queues.shape[0] - 1):
        net.queues[c].area = shared[AREA, c] = 0.0
