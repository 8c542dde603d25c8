"""Diffusion-type flow control with a queue per input: what a node asks of links instead of flows.

takano2006 (footnote to 2.1): DFC requires only per-input queues. Here flows that came over one link wait
in one FIFO queue for the next, and are one flow to the law. Where several inputs share a link, what
they were told is for all of them: with r and n' told, and n_g waiting in queue g, the link sends
min(B, alpha r - D/d (n' - sum n_g)) at most, in proportion to what each would send alone (eq. 13).

These functions are templates, spliced into `loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfcmodel.engine.kernel.columns import (
    BUDGET,
    GAIN,
    INTENSITY,
    LINK_RATE,
    MESSAGE_QUEUE,
    MESSAGE_RATE,
    QUEUE,
    RATE,
    WISH,
)
from dfcmodel.engine.kernel.dfc_per_flow import part_of
from dfcmodel.engine.kernel.tcp_sender import on_grid

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import State

__all__ = ["exchange", "share"]


def share(i: int, alpha: float, s: State) -> float:
    """Note in WISH of the first cell of each queue of link i what it would send alone.

    Returns the part of it that it may send; an input none of whose flows sends takes no share.
    """
    gain = s.cell[s.cells[i, 0], GAIN]
    pull = alpha * s.ports.told[i, 0] - gain * s.ports.told[i, 1]
    total = 0.0
    waiting = 0.0
    for n in range(s.bands_at[i], s.bands_at[i + 1]):
        waits = 0.0
        sends = 0.0
        for c in range(s.bands[n, 1], s.bands[n, 2]):
            waits += s.cell[c, QUEUE]
            sends += s.cell[c, RATE]
        alone = max(0.0, pull + gain * waits) if sends > 0.0 else 0.0
        s.cell[s.bands[n, 1], WISH] = alone
        total += alone
        waiting += waits
    most = max(0.0, min(s.cell[s.cells[i, 0], LINK_RATE], pull + gain * waiting))
    return part_of(most, total)


def exchange(k: int, grid: float, s: State) -> None:
    """Let links hear in step k, set the rates of their queues, and tell those before them."""
    for j in range(s.clock.shape[0]):
        slot = s.clock[j, 2] + k % s.clock[j, 0]
        for n in range(s.ports.ticks[slot], s.ports.ticks[slot + 1]):
            i = s.ports.links[n]
            s.ports.told[i, 0] = s.ports.told[i, 2]
            s.ports.told[i, 1] = s.ports.told[i, 3]
            part = share(i, s.cell[s.cells[i, 0], INTENSITY], s)
            for b in range(s.bands_at[i], s.bands_at[i + 1]):
                c = s.bands[b, 1]
                s.cell[c, BUDGET] = on_grid(part * s.cell[c, WISH], grid)
    for j in range(s.clock.shape[0]):
        slot = s.clock[j, 2] + k % s.clock[j, 0]
        n = s.ports.tells[slot]
        while n < s.ports.tells[slot + 1]:
            who = s.ports.pairs[n, 0]
            rate = 0.0
            waits = 0.0
            sends = False
            while n < s.ports.tells[slot + 1] and s.ports.pairs[n, 0] == who:
                b = s.ports.pairs[n, 1]
                if b < 0:  # packets that leave the network, or go where nobody tells
                    c = s.ports.pairs[n, 2]
                    if s.cell[c, RATE] > 0.0:
                        sends = True
                        rate += s.cell[c, LINK_RATE]
                else:
                    part = share(s.bands[b, 0], 1.0, s)
                    rate += part * s.cell[s.bands[b, 1], WISH]
                    for c in range(s.bands[b, 1], s.bands[b, 2]):
                        waits += s.cell[c, QUEUE]
                        if s.cell[c, RATE] > 0.0:
                            sends = True
                n += 1
            if who < 0:
                c = -1 - who
                s.cell[c, MESSAGE_RATE] = min(rate, s.cell[c, LINK_RATE])
                s.cell[c, MESSAGE_QUEUE] = waits
            else:
                most = s.cell[s.cells[who, 0], LINK_RATE]
                s.ports.told[who, 2] = min(rate, most) if sends else most
                s.ports.told[who, 3] = waits
