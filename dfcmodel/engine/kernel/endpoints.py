"""Receiver, sender and host of a flow in a step."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import call_event, compiled, inlined

from .loss_records import find_losses
from .quantum import quantize
from .records import ON_FEEDBACK, ON_TIME, RATE_RULE, WINDOW
from .tcp.tcp_receiver import receive, receive_fast_path, time_of_emission
from .tcp.tcp_sender import send, send_fast_path

__all__ = ["advance_endpoints"]


@compiled
def reset_feedback(flow: Any, f: int, part: float, net: Any) -> None:
    """Set DFC reports at, and in flight to, flow f's host and nodes to ``part`` of the link rate and an empty queue."""
    for n in range(flow.path_first - 1, flow.path_end):
        queue = net.queues[net.path[n] if n >= flow.path_first else f]
        queue.reported_rate = part * queue.link_rate
        queue.reported_backlog = 0.0
        queue.message_rate = part * queue.link_rate
        queue.message_backlog = 0.0


@compiled
def finish(flow: Any, f: int, now: float, net: Any) -> None:
    """Set flow f's completion time, s, unless it is set; report rate 0, so that its queues get no share of links."""
    if flow.finished != flow.finished:
        flow.finished = now
        reset_feedback(flow, f, 0.0, net)


@compiled
def receive_stretches(flow: Any, new: float, answer: Any, net: Any, transport: Any, quantum: float) -> None:
    """Receive ``new`` packets in pieces of constant loss density; set the ACKs, and add the marks, in ``answer``."""
    answer.acks = 0.0
    answer.advancing = 0.0
    left = new
    while left > 0.0:
        piece, sent, marked = left, left, 0.0
        if flow.pending > 0:
            piece, sent, marked = find_losses(flow, left, quantum, net)
        acks, advancing = receive(flow, transport.log, transport.holes, piece, sent - piece, quantum)
        answer.acks += acks
        answer.advancing += advancing
        answer.marked += marked
        left -= piece


@inlined
def receive_packets(flow: Any, f: int, new: float, step: Any, net: Any, transport: Any) -> None:
    """Receive flow f's ``new`` packets of a step at a window flow's receiver, and put the ACKs in flight."""
    acks, k = transport.acks, step.k
    answer = acks[(k + flow.ack_lag) & (acks.shape[0] - 1), f]
    answer.marked = 0.0
    if flow.pending == 0 and receive_fast_path(flow, new):
        answer.acks = new
        answer.advancing = new
    else:
        receive_stretches(flow, new, answer, net, transport, step.quantum)
    answer.rcv_nxt = flow.rcv_nxt
    answer.rcv_max = flow.rcv_max
    answer.sent = time_of_emission(flow, f, k, transport.emitted)


@inlined
def advance_tcp(flow: Any, f: int, new: float, step: Any, net: Any, transport: Any) -> bool:
    """Advance receiver, by ``new`` packets, and sender of window flow f by a step; return False if its log is full."""
    k, now = step.k, step.now
    acks, events = transport.acks, transport.events
    ack = acks[k & (acks.shape[0] - 1), f]
    if ack.acks > 0.0:
        sample = (k - ack.sent) * step.h
        flow.rtt_before = flow.rtt if flow.rtt > 0.0 else sample
        flow.rtt = sample
    if new > 0.0:
        receive_packets(flow, f, new, step, net, transport)
        if flow.rcv_nxt >= flow.flow_size:
            finish(flow, f, now, net)
    usual = ack.acks > 0.0 and ack.acks == ack.advancing and ack.marked == 0.0
    if usual and send_fast_path(flow, events, ack, step):
        pass
    elif (ack.acks > 0.0 or now >= flow.deadline or k - flow.start <= 1) and not send(
        flow, transport.log, transport.holes, events, ack, step
    ):
        return False
    ack.acks = 0.0
    transport.emitted[k & (transport.emitted.shape[0] - 1), f] = flow.emitted
    return True


@compiled
def receive_at_rate(flow: Any, f: int, new: float, step: Any, net: Any, transport: Any) -> None:
    """Receive flow f's ``new`` packets of a step at a rate flow's receiver, and put its report in flight."""
    acks, k = transport.acks, step.k
    answer = acks[(k + flow.ack_lag) & (acks.shape[0] - 1), f]
    answer.acks = new
    answer.marked = 0.0
    left = new
    while left > 0.0:
        piece, sent, marked = left, left, 0.0
        if flow.pending > 0:
            piece, sent, marked = find_losses(flow, left, step.quantum, net)
        flow.rcv_position += sent
        answer.marked += marked
        left -= piece
    answer.sent = time_of_emission(flow, f, k, transport.emitted)


@compiled
def advance_rate(flow: Any, f: int, new: float, step: Any, net: Any, transport: Any) -> None:
    """Advance receiver, by ``new`` packets, and sender of rate flow f by a step; lost packets are not sent again."""
    k, h = step.k, step.h
    acks, events = transport.acks, transport.events
    ack = acks[k & (acks.shape[0] - 1), f]
    if new > 0.0:
        receive_at_rate(flow, f, new, step, net, transport)
        flow.rcv_nxt += new
        if flow.rcv_nxt >= flow.flow_size:
            finish(flow, f, step.now, net)
    if ack.acks > 0.0:
        flow.rtt = (k - ack.sent) * h
        call_event(events[flow.rule, ON_FEEDBACK], flow, step.now, flow.rtt, ack.acks, ack.marked)
        ack.acks = 0.0
    amount = quantize(max(0.0, min(flow.cwnd, flow.max_window)) * h, step.quantum)
    amount = min(amount, flow.flow_size - flow.emitted)
    flow.emitted += amount
    call_event(events[flow.rule, ON_TIME], flow, (k + 1) * h, h, amount, 0.0)
    transport.emitted[k & (transport.emitted.shape[0] - 1), f] = flow.emitted


@inlined
def advance_schedule(flow: Any, k: int, schedule: Any) -> None:
    """Emit a flow's packets of step k by its schedule of rates, at most up to its size."""
    n = flow.schedule_now
    while k >= schedule[n + 1].step:
        n += 1
    flow.schedule_now = n
    flow.emitted = min(flow.emitted + schedule[n].amount, flow.flow_size)


@compiled
def begin_next_wait(flow: Any, rate: float) -> None:
    """End a sender's random wait and begin the next one, at ``rate`` packets per step; changes the flow's ``seed``.

    Before it sends, a sender waits for a random time below ``jitter`` and then sends all packets that are ready
    (``overhead_`` of ns-2). Packets that become ready during the wait leave with the packet that began it, so that
    the last of them waits only for the rest of the wait. The next packet begins the next wait.
    """
    slowest = max(flow.jitter, float(flow.ack_lag))
    spacing = min(1.0 / rate, slowest) if rate > 0.0 else slowest
    flow.waited = (flow.wait_end - flow.wait_begin) % spacing
    flow.wait_begin = flow.wait_end + spacing - flow.waited
    flow.seed = 48271 * flow.seed % 2147483647  # Park and Miller's generator
    flow.wait_end = flow.wait_begin + flow.jitter * (flow.seed / 2147483647.0)


@inlined
def packets_after_wait(flow: Any, f: int, k: int, emitted: Any) -> float:
    """Advance flow f's random waits to step k; return the packets that may leave by then; ``emitted``: ring (E, F)."""
    mask = emitted.shape[0] - 1
    if flow.wait_end == 0.0:
        flow.wait_begin = flow.wait_end = float(flow.start)
    while flow.wait_end <= k:
        begin_next_wait(flow, emitted[k & mask, f] - emitted[(k - 1) & mask, f])
    delay = min(max(flow.waited, k - flow.wait_begin), emitted.shape[0] - 2.0)
    whole_steps = int(delay)
    later, earlier = emitted[(k - whole_steps) & mask, f], emitted[(k - whole_steps - 1) & mask, f]
    return float(later - (delay - whole_steps) * (later - earlier))


@inlined
def leave_host(flow: Any, f: int, step: Any, net: Any, emitted: Any) -> None:
    """Send the emitted packets of flow f from its host to the first link, at most at the host's rate."""
    host, wire, k, quantum = net.queues[f], net.wire, step.k, step.quantum
    before = host.sent
    ready = flow.emitted
    if flow.jitter > 0.0:
        ready = max(before, quantize(packets_after_wait(flow, f, k, emitted), quantum))
    host.sent = min(ready, before + host.service)
    arrival_row = (k + host.lag) & (wire.shape[0] - 1)
    if host.weight == 1.0:
        wire[arrival_row, f] = host.sent
    else:
        wire[arrival_row, f] = before + quantize(host.weight * (host.sent - before), quantum)


@inlined
def advance_endpoints(f: int, step: Any, net: Any, transport: Any) -> bool:
    """Advance receiver, sender and host of flow f by a step; return False if its emission log is full."""
    flow, k = net.flows[f], step.k
    age = k - flow.start
    if age < 0:
        return True
    if age == 1:  # packets that a start within a step held back may be sent
        flow.inflation = 0.0
    elif age == 0:
        reset_feedback(flow, f, 1.0, net)
    wire = net.wire
    row = k & (wire.shape[0] - 1)
    through = wire[row, flow.exit]
    if flow.source == WINDOW:
        new = through - flow.delivered
        if not advance_tcp(flow, f, new, step, net, transport):
            return False
    elif flow.source == RATE_RULE:
        advance_rate(flow, f, through - flow.delivered, step, net, transport)
    else:
        advance_schedule(flow, k, transport.schedule)
        flow.rcv_nxt = through
        if through >= flow.flow_size:
            finish(flow, f, step.now, net)
    flow.delivered = through
    leave_host(flow, f, step, net, transport.emitted)
    flow.entered += wire[row, f] - through
    return True
