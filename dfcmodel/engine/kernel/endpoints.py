"""The two ends of a flow in a step: the receiver takes in, the sender answers, the host sends."""

from __future__ import annotations

from typing import Any

from .jit import compiled, inlined
from .loss_records import attribute_losses
from .tcp_receiver import receive, receive_fast_path, time_of_emission
from .tcp_sender import send, send_fast_path

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
def receive_packets(
    flow: Any, new: float, ack: Any, net: Any, log: Any, holes: Any, quantum: float
) -> None:
    """Let the receiver take in ``new`` packets and write its answer into ``ack``."""
    ack.acks = 0.0
    ack.advancing = 0.0
    ack.marked = 0.0
    left = new
    while left > 0.0:
        piece, sent = left, left
        if flow.pending_drops > 0:
            piece, sent, marked = attribute_losses(flow, net, left, quantum)
            ack.marked += marked
        acks, advancing = receive(flow, log, holes, piece, sent - piece, quantum)
        ack.acks += acks
        ack.advancing += advancing
        left -= piece


@inlined
def advance_tcp(
    flow: Any, f: int, k: int, h: float, new: float, min_rto: float, quantum: float,
    net: Any, transport: Any,
) -> bool:  # fmt: skip
    """Let receiver and sender of a window-controlled flow act in step k; False: its log is full."""
    now = k * h
    acks = transport.acks
    mask = acks.shape[0] - 1
    ack = acks[k & mask, f]
    if ack.acks > 0.0:
        flow.rtt = (k - ack.sent) * h
    if new > 0.0:
        answer = acks[(k + flow.host_lag) & mask, f]
        if flow.pending_drops == 0 and receive_fast_path(flow, new):
            answer.acks = new
            answer.advancing = new
            answer.marked = 0.0
        else:
            receive_packets(flow, new, answer, net, transport.log, transport.holes, quantum)
        answer.rcv_nxt = flow.rcv_nxt
        answer.sent = time_of_emission(flow, f, k, transport.emitted)
        if flow.rcv_nxt >= flow.size:
            finish(flow, f, now, net)
    usual = ack.acks > 0.0 and ack.acks == ack.advancing and ack.marked == 0.0
    if not (usual and send_fast_path(flow, transport.events, now, h, ack, min_rto, quantum)):
        if ack.acks > 0.0 or now >= flow.deadline or k - flow.start <= 1:
            if not send(
                flow, transport.log, transport.events, now, h, ack, min_rto, quantum
            ):
                return False
    ack.acks = 0.0
    transport.emitted[k & (transport.emitted.shape[0] - 1), f] = flow.emitted
    return True


@inlined
def advance_schedule(flow: Any, k: int, schedule: Any) -> None:
    """Let a source without a window emit what its schedule says for step k."""
    n = flow.schedule_now
    while k >= schedule[n + 1].step:
        n += 1
    flow.schedule_now = n
    flow.emitted = min(flow.emitted + schedule[n].amount, flow.size)


@inlined
def advance_endpoints(
    f: int, k: int, h: float, min_rto: float, quantum: float, net: Any, transport: Any
) -> bool:
    """Do in step k what the ends of flow f do; False: its emission log is full."""
    flow = net.flows[f]
    age = k - flow.start
    if age < 0:
        return True
    if age == 1:  # what a start within a step kept back may go
        flow.inflation = 0.0
    elif age == 0:
        reset_feedback(flow, f, 1.0, net)
    wire = net.wire
    mask = wire.shape[0] - 1
    through = wire[k & mask, flow.exit]
    if flow.has_window == 1:
        new = through - flow.delivered
        if not advance_tcp(flow, f, k, h, new, min_rto, quantum, net, transport):
            return False
    else:
        advance_schedule(flow, k, transport.schedule)
        flow.rcv_nxt = through
        if through >= flow.size:
            finish(flow, f, k * h, net)
    flow.delivered = through
    host = net.queues[f]
    host.sent = min(flow.emitted, host.sent + host.service)
    wire[(k + host.lag) & mask, f] = host.sent
    flow.entered += wire[k & mask, f] - through
    return True
