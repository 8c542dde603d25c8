"""Per-flow queues served at rates of their own: DFC, and FIFO links of one flow."""

from __future__ import annotations

from typing import Any

from .jit import inlined
from .quantum import quantize

__all__ = ["serve", "serve_blocks"]


@inlined
def serve(queue: Any, c: int, here: Any, there: Any, quantum: float) -> float:
    """Let queue c send what has arrived ``here``, at most what its rate allows; return its backlog.

    Of this step's departures the part ``weight`` arrives ``there``, after the lag, the rest a step later.
    """
    arrivals = here[queue.origin] - queue.lost
    before = queue.sent
    departures = min(arrivals, before + queue.service)
    backlog = arrivals - departures
    queue.sent = departures
    if queue.weight == 1.0:
        there[c] = departures
    else:
        there[c] = before + quantize(queue.weight * (departures - before), quantum)
    queue.backlog = backlog
    queue.area += backlog
    return float(backlog)


@inlined
def record_peak(queue: Any, total: float, net: Any, overflowing: Any, n_overflowing: int) -> int:
    """Record a new peak of the buffer that begins with a queue, and whether it overflows.

    Returns how many links overflow now.
    """
    i = queue.link
    limit = net.links[i].limit
    queue.peak = min(total, limit)
    if total > limit and (n_overflowing == 0 or overflowing[n_overflowing - 1] != i):
        overflowing[n_overflowing] = i
        n_overflowing += 1
    return n_overflowing


@inlined
def serve_blocks(k: int, quantum: float, net: Any, blocks: Any, overflowing: Any) -> int:
    """Serve all queues that have rates of their own; return how many links overflow."""
    queues, wire = net.queues, net.wire
    mask = wire.shape[0] - 1
    here = wire[k & mask]
    n = 0
    for b in range(blocks.shape[0]):
        block = blocks[b]
        there = wire[(k + queues[block.first].lag) & mask]
        if block.alike == 1:
            for c in range(block.first, block.end):
                backlog = serve(queues[c], c, here, there, quantum)
                if backlog > queues[c].peak:
                    n = record_peak(queues[c], backlog, net, overflowing, n)
        elif block.alike == 2:
            for c in range(block.first, block.end, block.flows):
                other = c + block.next
                total = serve(queues[c], c, here, there, quantum)
                total += serve(queues[other], other, here, there, quantum)
                if total > queues[c].peak:
                    n = record_peak(queues[c], total, net, overflowing, n)
        else:
            total = 0.0
            for c in range(block.first, block.end):
                there = wire[(k + queues[c].lag) & mask]
                total += serve(queues[c], c, here, there, quantum)
            if total > queues[block.first].peak:
                n = record_peak(queues[block.first], total, net, overflowing, n)
    return n
