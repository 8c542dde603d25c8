"""The two ends of a flow in a step: the receiver takes in, the sender answers, the host sends."""

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
    """Set what the nodes of a flow were told to ``part`` of their links' rates and empty queues."""
    for n in range(flow.path_first - 1, flow.path_end):
        queue = net.queues[net.path[n] if n >= flow.path_first else f]
        queue.told_rate = part * queue.link_rate
        queue.told_backlog = 0.0
        queue.message_rate = part * queue.link_rate
        queue.message_backlog = 0.0


@compiled
def finish(flow: Any, f: int, now: float, net: Any) -> None:
    """Note when a transfer is complete; its queues take no part in what is shared any more."""
    if flow.finished != flow.finished:
        flow.finished = now
        reset_feedback(flow, f, 0.0, net)


@compiled
def receive_stretches(flow: Any, new: float, answer: Any, net: Any, transport: Any, quantum: float) -> None:
    """Take in ``new`` packets stretch by stretch, as far as their density of losses is one; answer."""
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
    """Let the receiver of a window-controlled flow take the arrivals of a step, and answer."""
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
    """Let receiver and sender of a window-controlled flow act in a step; False: its log is full."""
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
    """Let the receiver of a rate-controlled flow answer the arrivals of a step: how much, and how much marked."""
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
    """Let receiver and sender of a rate-controlled flow act in a step; what is lost is not sent again."""
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
    """Let a source without a window emit what its schedule says for step k."""
    n = flow.schedule_now
    while k >= schedule[n + 1].step:
        n += 1
    flow.schedule_now = n
    flow.emitted = min(flow.emitted + schedule[n].amount, flow.flow_size)


@compiled
def wait_again(flow: Any, rate: float) -> None:
    """Let a random wait of the sender end and the next one begin; it sends ``rate`` packets per step.

    A sender that may send waits a random time below ``jitter``, then sends all that it may by then
    (``overhead_`` of ns-2): packets that come meanwhile go with the one that began the wait, the last
    of them having waited what is left of the wait. The next wait begins with the next packet.
    """
    slowest = max(flow.jitter, float(flow.ack_lag))
    spacing = min(1.0 / rate, slowest) if rate > 0.0 else slowest
    flow.waited = (flow.wait_end - flow.wait_begin) % spacing
    flow.wait_begin = flow.wait_end + spacing - flow.waited
    flow.seed = 48271 * flow.seed % 2147483647  # Park and Miller's generator
    flow.wait_end = flow.wait_begin + flow.jitter * (flow.seed / 2147483647.0)


@inlined
def released(flow: Any, f: int, k: int, emitted: Any) -> float:
    """Return what the sender has let go by step k: all emitted before the present random wait."""
    mask = emitted.shape[0] - 1
    if flow.wait_end == 0.0:
        flow.wait_begin = flow.wait_end = float(flow.start)
    while flow.wait_end <= k:
        wait_again(flow, emitted[k & mask, f] - emitted[(k - 1) & mask, f])
    delay = min(max(flow.waited, k - flow.wait_begin), emitted.shape[0] - 2.0)
    whole = int(delay)
    late, early = emitted[(k - whole) & mask, f], emitted[(k - whole - 1) & mask, f]
    return float(late - (delay - whole) * (late - early))


@inlined
def leave_host(flow: Any, f: int, step: Any, net: Any, emitted: Any) -> None:
    """Let the host send what the source has emitted, as fast as it may."""
    host, wire, k, quantum = net.queues[f], net.wire, step.k, step.quantum
    before = host.sent
    ready = flow.emitted
    if flow.jitter > 0.0:
        ready = max(before, quantize(released(flow, f, k, emitted), quantum))
    host.sent = min(ready, before + host.service)
    there = (k + host.lag) & (wire.shape[0] - 1)
    if host.weight == 1.0:
        wire[there, f] = host.sent
    else:
        wire[there, f] = before + quantize(host.weight * (host.sent - before), quantum)


@inlined
def advance_endpoints(f: int, step: Any, net: Any, transport: Any) -> bool:
    """Do in a step what the ends of flow f do; False: its emission log is full."""
    flow, k = net.flows[f], step.k
    age = k - flow.start
    if age < 0:
        return True
    if age == 1:  # what a start within a step kept back may go
        flow.inflation = 0.0
    elif age == 0:
        reset_feedback(flow, f, 1.0, net)
    wire = net.wire
    here = k & (wire.shape[0] - 1)
    through = wire[here, flow.exit]
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
    flow.entered += wire[here, f] - through
    return True
