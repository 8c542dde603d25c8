"""Numbering of the per-flow queues; links that can never queue are merged into the next.

A per-flow queue is a flow at a link, or at its host. Hosts come first, then the queues of links whose
queues are served at rates of their own, then those of links that share (FIFO of several flows, RED,
fair shares, priorities, DFC per input). A FIFO link that can never queue, because all its flows come
over one link that is no faster, has none: its delay joins that of the next one.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.fluid import ROUNDING, check_disciplines, whole_and_part
from dfcmodel.engine.kernel.records import BLOCK, FAIR_SHARES, PER_FLOW_RATE, PER_INPUT, SHARED_FIFO
from dfcmodel.network.queueing.disciplines import (
    FIFO,
    manager_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.links import Link
    from dfcmodel.network.networks import Scenario

    Ints = NDArray[np.int64]

__all__ = ["Layout", "layout_of", "queueing"]

SHORT = 0.5
"""Steps: half a packet time on a link that sends a packet or more per step."""


@dataclass(frozen=True)
class Layout:
    """Queues and links of the engine, C and L + S, the last S being the access links of shaped hosts.

    Attributes
    ----------
    delays
        Of the scenario's links in steps, whole ones or not.
    order
        Places in the scenario's links of the L links that have queues, in the order in which they are served.
    queue_types
        Of those, shape (L,).
    shaped
        The S flows whose hosts receive rates.
    per_flow_links
        One past the last link whose queues are served at rates of their own.
    queues
        First queue of each link and one past the last, shape (L + S, 2).
    bands, bands_at
        Link, rank, first queue and end of each FIFO queue of links that share, shape (B, 4): of all flows,
        of one (fair shares, priorities), of those from one link (DFC per input), or of a class (PFC, the
        lossless ones first); where those of a link begin.
    up, down
        The queue before (a host: itself) and the next one (-1: the receiver), shape (C,).
    lag, weight
        Whole steps from a queue to the next or the receiver, and the part of a step's departures that
        arrives after them (the rest comes a step later), shape (C,).
    ack_lag
        Steps from each receiver back to its sender, shape (F,); the remaining part of a step belongs to the way there.
    link_of, flow_of
        Shape (C,); -1 for a host that is not shaped.
    path, path_at
        The flows' queues without hosts, one after the other, and where each flow's begin.
    hop_queues
        Per flow and link of its path the queue, -1 where there is none.
    """

    delays: tuple[float, ...]
    order: tuple[int, ...]
    queue_types: tuple[int, ...]
    shaped: tuple[int, ...]
    per_flow_links: int
    queues: Ints
    bands: Ints
    bands_at: Ints
    up: Ints
    down: Ints
    lag: Ints
    weight: Any
    ack_lag: Ints
    link_of: Ints
    flow_of: Ints
    path: Ints
    path_at: Ints
    hop_queues: tuple[tuple[int, ...], ...]

    def links(self, scenario: Scenario) -> list[Link]:
        """Return the links of the engine, those that hosts imitate at the end."""
        firsts = [scenario.path_index(scenario.flows[f])[0] for f in self.shaped]
        return [scenario.links[n] for n in (*self.order, *firsts)]

    @property
    def lags_and_weights(self) -> list[tuple[int, float]]:
        """Lag and weight of each queue, (C,)."""
        return list(zip(self.lag.tolist(), self.weight.tolist(), strict=True))

    def sums_over_paths(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of a value of queues, shape (C,), over the host and the path of each flow, (F,)."""
        lengths = np.diff(self.path_at)
        sums = np.zeros(len(lengths), dtype=values.dtype)
        for length in np.unique(lengths).tolist():
            flows = np.flatnonzero(lengths == length)
            queues = self.path[self.path_at[flows][:, np.newaxis] + np.arange(length)]
            sums[flows] = values[np.column_stack([flows, queues])].sum(axis=1)
        return sums

    def round_trips(self) -> NDArray[np.float64]:
        """Return the steps from each flow's host to its receiver and back, where nothing is queued, (F,)."""
        return np.asarray(self.ack_lag + self.sums_over_paths(self.lag + 1.0 - self.weight))

    def forward(self) -> Ints:
        """Return the steps from each flow's host to its receiver, (F,)."""
        return np.asarray(self.sums_over_paths(self.lag) + np.diff(self.path_at) + 1)

    def hops(self, scenario: Scenario) -> list[tuple[int, int, int, int]]:
        """Return flow, place of the link, queue, and the link before (-1 - flow: its host) of hops that have a queue."""
        hops = []
        for f, (flow, queues) in enumerate(zip(scenario.flows, self.hop_queues, strict=True)):
            before = -1 - f
            for n, c in zip(scenario.path_index(flow), queues, strict=True):
                if c >= 0:
                    hops.append((f, n, c, before))
                before = n
        return hops

    def blocks(self, shared: list[bool], traced: set[int]) -> Any:
        """Return the blocks of queues that are served at rates of their own, see `records.BLOCK`.

        ``shared`` says which links have one buffer for all flows; lags of ``traced`` queues change.
        """
        rows: list[list[int]] = []
        pairs = self.lags_and_weights
        for (first, end), together in zip(self.queues[: self.per_flow_links].tolist(), shared, strict=False):
            flows = end - first if together else 1
            for c in range(first, end, flows):
                has_one_lag = len(set(pairs[c : c + flows])) == 1 and traced.isdisjoint(range(c, c + flows))
                one_lag_flows = flows if flows <= 2 and has_one_lag else 0
                last = rows[-1] if rows else [0, 0, 0, 1, 0]
                if one_lag_flows and last[4] == one_lag_flows and pairs[c] == pairs[last[0]]:
                    last[1] = c + flows
                else:
                    rows.append([c, c + flows, flows, 1, one_lag_flows])
        return np.array([tuple(row) for row in rows], dtype=BLOCK)


def layout_of(
    scenario: Scenario,
    delays: list[float],
    transmissions: list[float] | None = None,
) -> Layout:
    """Return how a scenario's queues are numbered.

    ``delays`` are those of its links in steps, ``transmissions`` half packet times in steps (0 by
    default).
    """
    check_disciplines(scenario)
    can_queue, queue_types = queueing(scenario)
    per_flow = [n for n, kind in enumerate(queue_types) if can_queue[n] and kind == PER_FLOW_RATE]
    sharing = [n for n, kind in enumerate(queue_types) if can_queue[n] and kind != PER_FLOW_RATE]
    order = [
        *per_flow,
        *sorted(sharing, key=lambda n: max(scenario.feeders(n)) >= 0),
    ]  # hosts' links first
    halves = transmissions or [0.0] * len(delays)
    shaped = [f for f, flow in enumerate(scenario.flows) if flow.host == "shaped"]
    queue, queues, bands, bands_at = _numbers(scenario, order, queue_types)
    queues += [(f, f + 1) for f in shaped]
    bands_at += [len(bands)] * len(shaped)
    index = {n: i for i, n in enumerate(order)}
    index.update({-1 - f: len(order) + s for s, f in enumerate(shaped)})
    return Layout(
        delays=tuple(a + b for a, b in zip(delays, halves, strict=True)),
        order=tuple(order),
        queue_types=tuple(queue_types[n] for n in order),
        shaped=tuple(shaped),
        per_flow_links=sum(queue_types[n] == PER_FLOW_RATE for n in order),
        queues=np.array(queues, dtype=np.int64).reshape(-1, 2),
        bands=np.array(bands, dtype=np.int64).reshape(-1, 4),
        bands_at=np.array(bands_at),
        **_delays_between(scenario, queue, index, delays, halves),
    )


def queueing(scenario: Scenario) -> tuple[list[bool], list[int]]:
    """Return which links can queue, and the kind of each."""
    links = range(len(scenario.links))
    fed_by_pause = {u for n in links if scenario.links[n].discipline.pauses_links for u in scenario.feeders(n)}
    queues = [bool(scenario.feeders(n)) for n in links]
    for n in links:
        if n not in fed_by_pause and passes_at_once(scenario, n):
            queues[n] = False
    queue_types = []
    for n, link in enumerate(scenario.links):
        kind = PER_FLOW_RATE
        several = sum(map(len, scenario.feeders(n).values())) > 1
        rule = link.discipline
        if rule.diffuses:
            kind = PER_INPUT if rule.queue_per == "input" else PER_FLOW_RATE
        elif rule.queue_per == "flow":
            kind = FAIR_SHARES
        elif several or n in fed_by_pause or rule.pauses or manager_of(rule):
            kind = SHARED_FIFO
        queue_types.append(kind)
    return queues, queue_types


def passes_at_once(scenario: Scenario, n: int) -> bool:
    """Return whether a FIFO link can never queue in a fluid: it is no slower than all links that feed it.

    Links that a host feeds are kept: there packets enter the network.
    """
    feeders, link = scenario.feeders(n), scenario.links[n]
    plain = type(link.discipline) is FIFO and min(feeders, default=-1) >= 0
    plain = plain and all(element.link != link.name for element in scenario.elements)
    return plain and sum(scenario.links[u].rate for u in feeders) <= link.rate


def _numbers(scenario: Scenario, order: list[int], queue_types: list[int]) -> tuple[Any, ...]:
    """Return the queue of each flow and link, the queues of each link, the bands and where they begin."""
    before: list[dict[int, int]] = [{} for _ in scenario.links]  # link over which each flow arrives
    for f, route in enumerate(scenario.routes):
        for previous, n in itertools.pairwise((-1 - f, *route)):
            before[n][f] = previous
    queue: dict[tuple[int, int], int] = {}
    queues: list[tuple[int, int]] = []
    bands: list[tuple[int, int, int, int]] = []
    bands_at = [0]
    C = len(scenario.flows)
    priorities = list(scenario.table.columns["priority"])
    for i, n in enumerate(order):
        rule: Any = scenario.links[n].discipline
        bands_of = {
            f: (priorities[f] if rule.ranked else 0, _group(queue_types[n], rule, priorities[f], f, previous))
            for f, previous in before[n].items()
        }
        flows = sorted(bands_of, key=lambda f: (bands_of[f], before[n][f]))
        queues.append((C, C + len(flows)))
        for (order_rank, _), together in itertools.groupby(flows, bands_of.__getitem__):
            begin = C
            for f in together:
                queue[f, n] = C
                C += 1
            bands.append((i, order_rank, begin, C))
        bands_at.append(len(bands))
    return queue, queues, bands, bands_at


def _delays_between(
    scenario: Scenario,
    queue: dict[tuple[int, int], int],
    index: dict[int, int],
    delays: list[float],
    halves: list[float],
) -> dict[str, Any]:
    """Return the steps of the flows from queue to queue, fields of `Layout`.

    The part of a step that the way back has is put before the receiver.
    """
    C = len(scenario.flows) + len(queue)
    up, lag = np.arange(C), np.zeros(C)
    down, flow_of, link_of = np.full(C, -1), np.arange(C), np.full(C, -1)
    path, path_at, hop_queues, ack_lag = [], [0], [], []
    distances: dict[Any, tuple[list[float], float]] = {}  # most flows have links of few kinds
    for f, (hops, at_once) in enumerate(zip(scenario.routes, scenario.at_once.tolist(), strict=True)):
        legs = [(delays[n], halves[n]) for n in ((() if at_once else hops[:1]) + hops)]
        key = at_once, *legs
        if key not in distances:
            distances[key] = _arrival_steps(legs)
        arrivals, there_and_back = distances[key]
        arrivals = _with_steps_between(arrivals, [index[n] if (f, n) in queue else -1 for n in hops])
        there_and_back = max(there_and_back, arrivals[-1] + 1.0)
        returns = there_and_back - arrivals[-1]
        ack_lag.append(max(1, math.floor(returns + ROUNDING)))
        source, begin = f, 0.0
        for n, now in zip(hops, arrivals[-1 - len(hops) :], strict=False):
            if (f, n) in queue:
                c = queue[f, n]
                up[c], lag[source], down[source], source, begin = source, now - begin, c, c, now
                flow_of[c], link_of[c] = f, index[n]
                path.append(c)
        lag[source] = arrivals[-1] - begin + max(0.0, returns - ack_lag[-1])
        path_at.append(len(path))
        hop_queues.append(tuple(queue.get((f, n), -1) for n in hops))
        link_of[f] = index.get(-1 - f, -1)
    whole_lag, part = whole_and_part(lag)
    return {
        "up": up,
        "down": down,
        "lag": whole_lag,
        "weight": 1.0 - part,
        "ack_lag": np.array(ack_lag),
        "link_of": link_of,
        "flow_of": flow_of,
        "path": np.array(path, dtype=np.int64),
        "path_at": np.array(path_at),
        "hop_queues": tuple(hop_queues),
    }


def _arrival_steps(legs: list[tuple[float, float]]) -> tuple[list[float], float]:
    """Return the steps from a host to each hop of a path and to its end, and those there and back.

    ``legs`` are delays and half packet times of the access link, if there is one, and of the links of the path.
    Parts of steps are not rounded, except for transmission times on links that send several packets per step:
    their sum up to each link is rounded to whole steps. Interpolation would mix packets of two steps
    at these links, and take bursts of a few packets apart.
    """
    delays, times = np.array(legs).T
    short = np.where(times <= SHORT, times, 0.0)
    exact = np.cumsum([0.0, *(delays + times - short)])
    rounded = np.cumsum([0.0, *short])
    returns = float(np.sum(delays + times - short))
    both = np.round(rounded[-1] + np.sum(short))
    return (exact + np.round(rounded)).tolist(), float(exact[-1] + returns + both)


def _with_steps_between(arrivals: list[float], order: list[int]) -> list[float]:
    """Return when a flow reaches its hops and its receiver, with the steps between them that the engine needs.

    Links are served in the order of their positions ``order`` (-1: no queue). What leaves one may come in the same step to a
    later one; to an earlier one, and to the receiver, it takes a step. What that adds the way back has less.
    """
    steps = arrivals.copy()
    first = len(steps) - 1 - len(order)
    last, reached = -1, first  # position and hop of the last queue
    for n, position in enumerate([*order, -1], first):
        earliest = steps[reached] + (1.0 if position <= last else 0.0)
        if position >= 0 or n == len(steps) - 1:
            steps[n] = max(steps[n], earliest)
            last, reached = position, n
    return steps


def _group(kind: int, rule: Any, priority: int, f: int, previous: int) -> tuple[int, ...]:
    """Return the key of the FIFO queue of a flow at a link among those of its rank, in their order.

    ``rule`` is the discipline of the link, ``previous`` the link over which the flow comes.
    """
    if rule.queue_per == "class":
        return int(priority not in rule.classes), priority
    if kind == FAIR_SHARES:
        return (f,)
    return (previous,) if kind == PER_INPUT else (0,)
