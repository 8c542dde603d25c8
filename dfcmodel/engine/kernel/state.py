"""What the engine reads and writes: one flat array for each kind of number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Ports", "State"]


class Ports(NamedTuple):
    """What links with a queue per input know and when they hear; slots as in `State`."""

    ticks: Ints  # (slots + 1,) links that hear in a slot
    links: Ints  # (N,) them
    tells: Ints  # (slots + 1,) who is told in a slot by whom
    pairs: Ints  # (M, 3) who (a link, or -1 - flow for its host), the band that tells, -1; its cell
    told: Floats  # (L + S, 4) of a link: r and n' of the next node, and both on their way


class State(NamedTuple):
    """What the kernel reads and writes. F flows, C cells, L links with cells, S host pseudo-links."""

    # cells
    cell: Floats  # (C + 1, columns) the last for messages that nobody hears
    origin: Any  # (C,) the cell before, unsigned
    up: Ints  # (C,) the cell before; a host has itself
    lag: Ints  # (C,) steps to the next cell or the receiver
    link_of: Ints  # (C,)
    flow_of: Ints  # (C,)
    runs: Any  # (W, columns) of links whose cells have rates of their own, unsigned
    rows: Any  # (1,) scratch: a place in the ring
    wants: Floats  # (C,) scratch
    gets: Floats  # (C,) scratch
    over: Ints  # (L + S,) scratch: links whose buffer is exceeded
    area_ever: Floats  # (C,) sum of the queue over all steps
    host_pace: Floats  # (F,) packets per step
    ring: Floats  # (R * C,) cumulative packets sent, by step of arrival
    mask: int  # R - 1, R being a power of two
    # losses on their way
    records: Floats  # (C, R, 4)
    ends: Ints  # (C, 2)
    cursor: Floats  # (C,)
    # links; the last ones are the access links of shaped hosts
    kind: Ints  # (L + S,)
    cells: Ints  # (L + S, 2) first cell and one past the last
    rate: Floats  # (L + S,) packets per step
    pace: Floats  # (L + S,) the same, less when paused
    limit: Floats  # (L + S,) packets
    burst: Floats  # (L + S,) steps between the bursts of senders in the node; 0: none
    shared: Ints  # (L + S,) 1: one buffer for all
    peak: Floats  # (L + S,)
    waiting: Floats  # (L + S,) packets queued, for links that share
    fifo: Ints  # (B, 2) head and tail of the ring of a band's queue
    arrived: Floats  # (C, Q) rings of what came, by step
    arrived_in_all: Floats  # (B, Q) the same, all cells of a band
    red: Floats  # (L + S, columns)
    bands: Ints  # (B, 3) link, first cell, end: flows of one priority, or from one input
    bands_at: Ints  # (L + S + 1,)
    # diffusion-type flow control
    clock: Ints  # (P, 3) period, step in it, where its slots begin; a slot is a step of a period
    ticks: Ints  # (slots, 4) links whose rates are set in a slot: of one flow, of two, more; end
    tick_cells: Any  # (N, 2) their cells: the one twice, the two, of more the first and one past
    tells: Ints  # (slots, 4) links that tell those before them in a slot, in the same order
    tell_cells: Any  # (M, 4) their cells, and those that hear it; of more: those that tell it
    ports: Ports  # links with a queue per input
    # pause
    pairs: Ints  # (N, 6) pausing link, paused link, delay, quanta in steps or 0, on, until
    pauses: Floats  # (N, 3) high, low, what passes per step
    heard: Ints  # (R, N) 1 while pausing, by step
    # flows
    flow: Ints  # (F, columns)
    tally: Floats  # (F, columns)
    path_at: Ints  # (F + 1,)
    path: Ints  # cells of the flows, hosts left out
    ack: Floats  # (A, columns) acks on their way
    emitted: Floats  # (F, E) packets emitted, by step: what an ACK tells the time by
    tcp: Floats  # (F, columns)
    log: Floats
    holes: Floats
    schedule: Floats  # (N, 2) step from which, packets per step
    schedule_at: Ints  # (F, 2) current and one past the last
    seed: Ints  # (1,)
    fault: Ints  # (3,) kind, step, cell or flow
