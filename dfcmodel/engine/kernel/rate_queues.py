"""Per-flow queues with service rates of their own: DFC, and FIFO links of one flow."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined

from .quantum import quantize

__all__ = ["serve", "serve_blocks"]


@inlined
def serve(queue: Any, c: int, from_wire: Any, to_wire: Any, weight: float, quantum: float) -> float:
    """Serve ``queue``, row c, from ``from_wire`` to ``to_wire``, cumulative, (C,), part ``weight`` now; return backlog.

    ``from_wire`` holds the arrivals. The part ``weight`` of the departures arrives after the lag (``to_wire``), the
    rest a step later.
    """
    arrivals = from_wire[queue.origin] - queue.lost
    before = queue.sent
    departures = min(arrivals, before + queue.service)
    backlog = arrivals - departures
    queue.sent = departures
    if weight == 1.0:
        to_wire[c] = departures
    else:
        to_wire[c] = before + quantize(weight * (departures - before), quantum)
    queue.backlog = backlog
    queue.area += backlog
    return float(backlog)


@inlined
def serve_alone(block: Any, queues: Any, from_wire: Any, to_wire: Any, quantum: float) -> bool:
    """Serve ``block``'s queues, one per buffer, between two rows of the wire; return whether any exceeds its peak."""
    weight = queues[block.first].weight
    exceeded = False
    for c in range(block.first, block.end):
        exceeded |= serve(queues[c], c, from_wire, to_wire, weight, quantum) > queues[c].peak
    return exceeded


@inlined
def serve_pairs(block: Any, queues: Any, from_wire: Any, to_wire: Any, quantum: float) -> bool:
    """Serve ``block``'s queues, two per buffer, between two rows of the wire; return whether any exceeds its peak."""
    weight, stride = queues[block.first].weight, block.next
    exceeded = False
    for c in range(block.first, block.end, block.flows):
        other = c + stride
        total = serve(queues[c], c, from_wire, to_wire, weight, quantum)
        total += serve(queues[other], other, from_wire, to_wire, weight, quantum)
        exceeded |= total > queues[c].peak
    return exceeded


@inlined
def serve_buffer(block: Any, k: int, queues: Any, from_wire: Any, wire: Any, quantum: float) -> bool:
    """Serve ``block``'s queues, one buffer, in step k, to rows of ``wire`` by lag; return whether above its peak."""
    total = 0.0
    for c in range(block.first, block.end):
        to_wire = wire[(k + queues[c].lag) & (wire.shape[0] - 1)]
        total += serve(queues[c], c, from_wire, to_wire, queues[c].weight, quantum)
    return bool(total > queues[block.first].peak)


@inlined
def record_peaks(block: Any, queues: Any, links: Any, overflowing: Any, n_overflowing: int) -> int:
    """Record new peaks of a block's buffers; list overflowing links from ``n_overflowing`` on; return the new end."""
    for first in range(block.first, block.end, block.flows):
        total = 0.0
        for c in range(first, first + block.flows):
            total += queues[c].backlog
        if total > queues[first].peak:
            i = queues[first].link
            queues[first].peak = min(total, links[i].limit)
            is_listed = n_overflowing > 0 and overflowing[n_overflowing - 1] == i
            if total > links[i].limit and not is_listed:
                overflowing[n_overflowing] = i
                n_overflowing += 1
    return n_overflowing


@inlined
def serve_blocks(k: int, quantum: float, net: Any, blocks: Any, overflowing: Any) -> int:
    """Serve queues with service rates of their own in step k; list overflowing links in ``overflowing``; return count.

    Peaks are compared in the loops of service, and recorded, which is rare, in a separate loop.
    """
    queues, wire = net.queues, net.wire
    mask = wire.shape[0] - 1
    from_wire = wire[k & mask]
    n = 0
    for b in range(blocks.shape[0]):
        block = blocks[b]
        to_wire = wire[(k + queues[block.first].lag) & mask]
        if block.one_lag_flows == 1:
            exceeded = serve_alone(block, queues, from_wire, to_wire, quantum)
        elif block.one_lag_flows == 2:
            exceeded = serve_pairs(block, queues, from_wire, to_wire, quantum)
        else:
            exceeded = serve_buffer(block, k, queues, from_wire, wire, quantum)
        if exceeded:
            n = record_peaks(block, queues, net.links, overflowing, n)
    return n
