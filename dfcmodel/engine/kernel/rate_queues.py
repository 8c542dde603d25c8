"""Per-flow queues served at rates of their own: DFC, and FIFO links of one flow."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined

from .quantum import quantize

__all__ = ["serve", "serve_blocks"]


@inlined
def serve(queue: Any, c: int, here: Any, there: Any, weight: float, quantum: float) -> float:
    """Let queue c send what has arrived ``here``, at most what its rate allows; return its backlog.

    Of this step's departures the part ``weight`` arrives ``there``, after the lag, the rest a step later.
    """
    arrivals = here[queue.origin] - queue.lost
    before = queue.sent
    departures = min(arrivals, before + queue.service)
    backlog = arrivals - departures
    queue.sent = departures
    if weight == 1.0:
        there[c] = departures
    else:
        there[c] = before + quantize(weight * (departures - before), quantum)
    queue.backlog = backlog
    queue.area += backlog
    return float(backlog)


@inlined
def serve_alone(block: Any, queues: Any, here: Any, there: Any, quantum: float) -> bool:
    """Serve links of one flow each, whose lags are equal; return whether one has a new peak."""
    weight = queues[block.first].weight
    exceeded = False
    for c in range(block.first, block.end):
        exceeded |= serve(queues[c], c, here, there, weight, quantum) > queues[c].peak
    return exceeded


@inlined
def serve_pairs(block: Any, queues: Any, here: Any, there: Any, quantum: float) -> bool:
    """Serve links of two flows each, whose lags are equal; return whether one has a new peak."""
    weight, next_one = queues[block.first].weight, block.next
    exceeded = False
    for c in range(block.first, block.end, block.flows):
        other = c + next_one
        total = serve(queues[c], c, here, there, weight, quantum)
        total += serve(queues[other], other, here, there, weight, quantum)
        exceeded |= total > queues[c].peak
    return exceeded


@inlined
def serve_buffer(block: Any, k: int, queues: Any, here: Any, wire: Any, quantum: float) -> bool:
    """Serve the queues of one buffer, whatever their lags; return whether it has a new peak."""
    total = 0.0
    for c in range(block.first, block.end):
        there = wire[(k + queues[c].lag) & (wire.shape[0] - 1)]
        total += serve(queues[c], c, here, there, queues[c].weight, quantum)
    return bool(total > queues[block.first].peak)


@inlined
def record_peaks(block: Any, queues: Any, links: Any, overflowing: Any, n_overflowing: int) -> int:
    """Record new peaks of the buffers of a block, and which overflow; return how many links do now."""
    for first in range(block.first, block.end, block.flows):
        total = 0.0
        for c in range(first, first + block.flows):
            total += queues[c].backlog
        if total > queues[first].peak:
            i = queues[first].link
            queues[first].peak = min(total, links[i].limit)
            known = n_overflowing > 0 and overflowing[n_overflowing - 1] == i
            if total > links[i].limit and not known:
                overflowing[n_overflowing] = i
                n_overflowing += 1
    return n_overflowing


@inlined
def serve_blocks(k: int, quantum: float, net: Any, blocks: Any, overflowing: Any) -> int:
    """Serve all queues that have rates of their own; return how many links overflow.

    Peaks are compared in the loops that serve and recorded, which is rare, in one of its own.
    """
    queues, wire = net.queues, net.wire
    mask = wire.shape[0] - 1
    here = wire[k & mask]
    n = 0
    for b in range(blocks.shape[0]):
        block = blocks[b]
        there = wire[(k + queues[block.first].lag) & mask]
        if block.one_lag_flows == 1:
            exceeded = serve_alone(block, queues, here, there, quantum)
        elif block.one_lag_flows == 2:
            exceeded = serve_pairs(block, queues, here, there, quantum)
        else:
            exceeded = serve_buffer(block, k, queues, here, wire, quantum)
        if exceeded:
            n = record_peaks(block, queues, net.links, overflowing, n)
    return n
