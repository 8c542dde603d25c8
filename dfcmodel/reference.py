"""The engine's loop in NumPy: what `engine.run` computes, whole arrays at a time, uncompiled.

The law and the links are array expressions over flows and nodes; the sources and the queues that
hold packets run the engine's functions as plain Python. Slow; it says what the engine must do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel import engine, sources
from dfcmodel.engine import Arrays, drop, join, serve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.sources import Floats
    from responsefn import WindowRule

__all__ = ["build_run", "rates"]


def rates(
    told_rate: NDArray[np.float64],
    told_queue: NDArray[np.float64],
    queue: NDArray[np.float64],
    active: NDArray[np.bool_],
    alpha: float,
    gain: float,
    capacity: float,
) -> NDArray[np.float64]:
    """Return the rates J of all flows at all nodes, eqs. (1), (2) and (13) of takano2006.

    Parameters
    ----------
    told_rate, told_queue
        r (packets/s) and n (packets) that each node was told by the next, shape (F, L).
    queue
        Its own n, shape (F, L).
    active
        Which flows share which node, shape (F, L).
    alpha, gain, capacity
        Flow intensity; D / d in 1/s; link rate in packets/s.

    Returns
    -------
    Shape (F, L), packets/s; zero where a flow is not active.
    """
    ideal = alpha * told_rate - gain * (told_queue - queue)
    weights = np.where(active, np.maximum(0.0, ideal), 0.0)
    total = weights.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_weight = capacity * weights / total
    equal = capacity / np.maximum(1, active.sum(axis=0))
    available = np.where(total > 0.0, by_weight, equal)
    return np.where(active, np.maximum(0.0, np.minimum(available, ideal)), 0.0)


@functools.cache
def build_run(rules: tuple[type[WindowRule], ...]) -> Callable[..., int]:
    """Return `run` with the window rules of a scenario."""
    send = engine.splice(sources.send, rules, compiled=False)
    receive = engine.splice(sources.receive, rules, compiled=False)
    return functools.partial(run, send, receive)


def run(
    send: Callable[..., Any],
    receive: Callable[..., Any],
    first: int,
    steps: int,
    every: int,
    m: int,
    h: float,
    capacity: float,
    limit: float,
    alpha: float,
    gain: float,
    min_rto: float,
    dfc: bool,
    host: int,
    record: Floats,
    lost_at: Floats,
    occupied: Floats,
    peak: Floats,
    *state: Any,
) -> int:
    """Advance the state; arguments and result as for `engine.run`."""
    s = Arrays(*state[: len(fields(Arrays))])
    flows, links = s.queue.shape
    nodes = np.arange(links)
    on_path = (s.entry[:, None] <= nodes) & (nodes <= s.last[:, None])
    inner = (s.entry[:, None] < nodes) & (nodes <= s.last[:, None])
    own = np.arange(flows)
    for k in range(first, first + steps):
        slot, sample = k % m, (k - first) // every
        active = on_path & (k >= s.start)[:, None]
        if dfc:
            ticks = s.phase == slot
            heard = inner & ticks  # message of node i, heard at node i - 1
            s.told_rate[:, :-1][heard[:, 1:]] = s.message_rate[heard]
            s.told_queue[:, :-1][heard[:, 1:]] = s.message_queue[heard]
            s.host_rate[ticks[s.entry]] = s.host_message[ticks[s.entry]]
            hears = np.append(ticks[1:], ticks[-1])
            told = s.told_rate, s.told_queue, s.queue, active
            np.copyto(s.rate, rates(*told, alpha, gain, capacity), where=hears & active)
            nominal = rates(*told, 1.0, gain, capacity)
            np.copyto(s.message_rate, nominal, where=ticks & active)
            np.copyto(s.message_queue, s.queue, where=ticks & active)
            r0 = np.clip(alpha * nominal - gain * s.queue, 0.0, capacity)[own, s.entry]  # eq. (9)
            np.copyto(s.host_message, r0, where=ticks[s.entry] & active[own, s.entry])
        for f in np.flatnonzero(k >= s.start):
            at = k % s.ack_delay[f]
            acks, advancing, acked = s.ack[f, at]
            stretches = zip(s.line[f, s.last[f], slot], s.gaps[f, s.last[f], slot], strict=True)
            s.ack[f, at] = 0.0
            for arrived, gone in stretches:
                if arrived + gone > 0.0:
                    s.ack[f, at, :2] += receive(
                        s.tcp[f], s.log[f], s.ends[f], s.missing[f], s.lost[f], arrived, gone
                    )
            s.ack[f, at, 2] = s.tcp[f, sources.UP_TO]
            emitted = send(
                s.tcp[f], s.window[f], s.rule_params[f], s.log[f], s.ends[f], k * h, acks, advancing, acked,
                s.kind[f], s.recovery[f], s.max_window[f], min_rto,
            )  # fmt: skip
            if emitted < 0.0:
                return k
            s.backlog[f] += emitted
        came, came_gap = np.zeros((flows, links, 2)), np.zeros((flows, links, 2))
        came[:, 1:], came_gap[:, 1:] = s.line[:, :-1, slot], s.gaps[:, :-1, slot]
        came, came_gap = came * inner[:, :, None], came_gap * inner[:, :, None]
        if host == 2:
            came[own, s.entry, 0] = s.backlog
            s.backlog[:] = 0.0
        else:
            pace = s.host_rate if host == 0 else capacity
            sent = np.minimum(s.backlog, np.floor(pace * h / sources.GRID) * sources.GRID)
            came[own, s.entry, 0] = s.access[:, slot]
            s.access[:, slot] = sent
            s.backlog[:] -= sent
        out, out_gap = _serve_all(
            s.batches, s.heads, came, came_gap, s.rate * h if dfc else capacity * h
        )
        columns = s.batches.shape[3] // 2
        idle = s.heads[:, :, 0] == s.heads[:, :, 1]
        s.queue[:] += (came - out).sum(axis=2)
        s.queue[idle if columns == 1 else np.repeat(idle, flows, axis=0)] = 0.0
        total = s.queue.sum(axis=0)
        for i in map(int, np.flatnonzero(total > limit)):
            drop(s.batches, s.heads, i, total[i] - limit, came[:, i], lost_at[sample], s.queue)
        np.maximum(peak, np.minimum(total, limit), out=peak)
        out, out_gap = out * on_path[:, :, None], out_gap * on_path[:, :, None]
        s.transit[:] += (out - s.line[:, :, slot]).sum(axis=(1, 2))
        s.line[:, :, slot], s.gaps[:, :, slot] = out, out_gap
        record[sample, :, 0] += s.transit / every
        if (k - first + 1) % every == 0:
            record[sample, :, 1] = s.tcp[:, sources.UP_TO]
            record[sample, :, 2] = np.minimum(s.window[:, 0], s.max_window)
            record[sample, :, 3] = s.backlog
            occupied[sample] = s.queue.sum(axis=0)
    return -1


def _serve_all(batches: Any, heads: Any, came: Any, gap: Any, budget: Any) -> tuple[Any, Any]:
    """Serve every node: what finds an empty queue and enough room passes at once."""
    rings, links = heads.shape[:2]
    columns = batches.shape[3] // 2
    groups = came.sum(axis=2).reshape(rings, columns, links).sum(axis=1)
    budget = np.broadcast_to(budget, groups.shape)
    passes = (heads[:, :, 0] == heads[:, :, 1]) & (groups <= budget)
    at_once = np.repeat(passes, columns, axis=0)[:, :, None]
    out, out_gap = np.where(at_once, came, 0.0), np.where(at_once, gap, 0.0)
    for r, i in np.argwhere(~passes):
        for p in range(2):
            if (came + gap)[r : r + columns, i, p].sum() > 0.0:
                join(batches, heads, r, i, p, came[:, i], gap[:, i])
        serve(batches, heads, r, i, budget[r, i], out[:, i], out_gap[:, i])
    return out, out_gap
