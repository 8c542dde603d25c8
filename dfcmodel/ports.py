"""Diffusion-type flow control with a queue per input: what a node asks of links instead of flows.

takano2006 (footnote to 2.1): DFC requires only per-input queues. Here flows that came over one link wait
in one FIFO queue for the next, and are one flow to the law. Where several inputs share a link, what
they were told is for all of them: with r and n' told, and n_g waiting in queue g, the link sends
min(B, alpha r - D/d (n' - sum n_g)) at most, in proportion to what each would send alone (eq. 13).

These functions are templates, spliced into `loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dfcmodel.cells import (
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
from dfcmodel.sources import on_grid

if TYPE_CHECKING:
    from dfcmodel.drops import Lines
    from dfcmodel.states import Floats, Ints

__all__ = ["Ports", "exchange", "share"]


class Ports(NamedTuple):
    """What links with a queue per input know and when they hear; slots as in `states.State`."""

    ticks: Ints  # (slots + 1,) links that hear in a slot
    links: Ints  # (N,) them
    tells: Ints  # (slots + 1,) who is told in a slot by whom
    pairs: Ints  # (M, 3) who (a link, or -1 - flow for its host), the band that tells, -1; its cell
    told: Floats  # (L + S, 4) of a link: r and n' of the next node, and both on their way


def share(i: int, alpha: float, ports: Ports, lines: Lines, cell: Floats) -> float:
    """Note in WISH of the first cell of each queue of link i what it would send alone.

    Returns the part of it that it may send; an input none of whose flows sends takes no share.
    """
    gain = cell[lines.cells[i, 0], GAIN]
    pull = alpha * ports.told[i, 0] - gain * ports.told[i, 1]
    total = 0.0
    waiting = 0.0
    for n in range(lines.bands_at[i], lines.bands_at[i + 1]):
        waits = 0.0
        sends = 0.0
        for c in range(lines.bands[n, 1], lines.bands[n, 2]):
            waits += cell[c, QUEUE]
            sends += cell[c, RATE]
        alone = max(0.0, pull + gain * waits) if sends > 0.0 else 0.0
        cell[lines.bands[n, 1], WISH] = alone
        total += alone
        waiting += waits
    most = max(0.0, min(cell[lines.cells[i, 0], LINK_RATE], pull + gain * waiting))
    return most / total if total > most else 1.0


def exchange(k: int, grid: float, clock: Ints, ports: Ports, lines: Lines, cell: Floats) -> None:
    """Let links hear in step k, set the rates of their queues, and tell those before them."""
    for j in range(clock.shape[0]):
        slot = clock[j, 2] + k % clock[j, 0]
        for n in range(ports.ticks[slot], ports.ticks[slot + 1]):
            i = ports.links[n]
            ports.told[i, 0] = ports.told[i, 2]
            ports.told[i, 1] = ports.told[i, 3]
            part = share(i, cell[lines.cells[i, 0], INTENSITY], ports, lines, cell)
            for b in range(lines.bands_at[i], lines.bands_at[i + 1]):
                c = lines.bands[b, 1]
                cell[c, BUDGET] = on_grid(part * cell[c, WISH], grid)
    for j in range(clock.shape[0]):
        slot = clock[j, 2] + k % clock[j, 0]
        n = ports.tells[slot]
        while n < ports.tells[slot + 1]:
            who = ports.pairs[n, 0]
            rate = 0.0
            waits = 0.0
            sends = False
            while n < ports.tells[slot + 1] and ports.pairs[n, 0] == who:
                b = ports.pairs[n, 1]
                if b < 0:  # packets that leave the network, or go where nobody tells
                    c = ports.pairs[n, 2]
                    if cell[c, RATE] > 0.0:
                        sends = True
                        rate += cell[c, LINK_RATE]
                else:
                    part = share(lines.bands[b, 0], 1.0, ports, lines, cell)
                    rate += part * cell[lines.bands[b, 1], WISH]
                    for c in range(lines.bands[b, 1], lines.bands[b, 2]):
                        waits += cell[c, QUEUE]
                        if cell[c, RATE] > 0.0:
                            sends = True
                n += 1
            if who < 0:
                c = -1 - who
                cell[c, MESSAGE_RATE] = min(rate, cell[c, LINK_RATE])
                cell[c, MESSAGE_QUEUE] = waits
            else:
                most = cell[lines.cells[who, 0], LINK_RATE]
                ports.told[who, 2] = min(rate, most) if sends else most
                ports.told[who, 3] = waits
