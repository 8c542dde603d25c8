"""Links whose flows share what they send: FIFO, RED, fair shares, priorities, a queue per input.

This function is a template, spliced into `loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dfcmodel.engine.kernel.columns import AREA, BUDGET, DIVIDED, LOST, PORTS, QUEUE, RANDOM, SENT
from dfcmodel.engine.kernel.drops import drop_early
from dfcmodel.engine.kernel.queues import divide, serve

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import State

__all__ = ["serve_shared"]


def serve_shared(i: int, k: int, now: float, rest: int, overs: int, grid: float, s: State) -> Any:
    """Serve the queue of link i, ``rest`` steps before the next record of the run.

    Returns how many links are ``over`` their limits now, ``overs`` of those before it.
    """
    cell = s.cell
    wants = s.wants
    C = s.up.shape[0]
    here = (k & s.mask) * C
    low = s.cells[i, 0]
    high = s.cells[i, 1]
    came = 0.0
    fresh = 0.0
    went = 0.0
    for c in range(low, high):
        wants[c] = s.ring[here + s.up[c]] - cell[c, LOST]
        fresh += wants[c] - cell[c, SENT] - cell[c, QUEUE]
        came += wants[c]
        went += cell[c, SENT]
    if s.kind[i] == RANDOM:
        seen = max(fresh, s.pace[i])
        came -= drop_early(i, low, high, fresh, seen, s.waiting[i], now, rest, grid, s)
    if s.kind[i] == DIVIDED:
        left = s.pace[i]
        for n in range(s.bands_at[i], s.bands_at[i + 1]):
            for c in range(s.bands[n, 1], s.bands[n, 2]):
                wants[c] -= cell[c, SENT]
            left = divide(s.bands[n, 1], s.bands[n, 2], left, grid, s)
            for c in range(s.bands[n, 1], s.bands[n, 2]):
                wants[c] += cell[c, SENT]
                cell[c, SENT] += s.gets[c]
    elif s.kind[i] == PORTS:
        for n in range(s.bands_at[i], s.bands_at[i + 1]):
            came = 0.0
            went = 0.0
            for c in range(s.bands[n, 1], s.bands[n, 2]):
                came += wants[c]
                went += cell[c, SENT]
            went += cell[s.bands[n, 1], BUDGET]
            serve(s.bands[n, 1], s.bands[n, 2], n, came, went, grid, s)
    else:
        serve(low, high, s.bands_at[i], came, went + s.pace[i], grid, s)
    total = 0.0
    most = 0.0
    for c in range(low, high):
        waits = wants[c] - cell[c, SENT]
        s.ring[((k + s.lag[c]) & s.mask) * C + c] = cell[c, SENT]
        cell[c, QUEUE] = waits
        cell[c, AREA] += waits
        total += waits
        most = max(most, waits)
    s.waiting[i] = total
    if s.shared[i] == 1:
        most = total
    if most > s.peak[i]:
        s.peak[i] = min(most, s.limit[i])
    if most > s.limit[i]:
        s.over[overs] = i
        overs += 1
    return overs
