"""From a scenario to flat arrays: cells, delays in steps, clocks, and what can be left out.

A cell is a flow at a link, or at its host. Cells are numbered: hosts first, then the cells of links
whose queues are served one by one at a rate of their own, then those of links that share (FIFO of
several flows, RED, fair shares, priorities). A FIFO link that can never queue, because all its flows
come over one link that is no faster, is no cell: its delay joins that of the next one.
"""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel import sources
from dfcmodel.cells import (
    ACK_END,
    ACK_FIRST,
    ACK_NOW,
    BUDGET,
    CELL_COLUMNS,
    ECN,
    EXIT,
    FINISHED,
    FIRST_LOSS,
    FIRST_RATE,
    FLOW_COLUMNS,
    OPENS,
    OWED,
    RED_COLUMNS,
    START,
    TALLY_COLUMNS,
    TCP,
    TOLD_COLUMNS,
    WATCH,
)
from dfcmodel.disciplines import DFC, FIFO, RED, Fair, Pause, Priority
from dfcmodel.flows import OnOff
from dfcmodel.queues import DIVIDED, RANDOM, RATED, SHARED
from responsefn import NewReno, Reno, Tahoe, WindowRule
from responsefn.cycles import numbers_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.flows import Flow
    from dfcmodel.networks import Scenario

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Plan", "State", "compile_scenario"]

Kind = tuple[type[WindowRule], tuple[str, ...]]
"""A class of window rules and its numeric parameters: what a kernel is made of."""
STANDARD: tuple[WindowRule, ...] = (Tahoe(), Reno(), NewReno())
"""Rules that share one kernel, so that most scenarios need no compilation of their own."""
RECOVERY = {"tahoe": sources.TAHOE, "reno": sources.RENO, "newreno": sources.NEWRENO}
FINEST = 26
"""Amounts are multiples of 2^-26 packets, or coarser where sums would not be exact."""
RECORDS = 1024
LARGEST_ROUNDING = 0.01


class State(NamedTuple):
    """What the kernel reads and writes. F flows, C cells, L links with cells, S host pseudo-links."""

    # cells
    cell: Floats  # (C, columns)
    told: Floats  # (C + 1, columns) the last for what nobody hears
    origin: Any  # (C, 2) in which of the rows its packets go, and which cell they come from
    up: Ints  # (C,) the cell before; a host has itself
    lag: Ints  # (C,) steps to the next cell or the receiver
    link_of: Ints  # (C,)
    flow_of: Ints  # (C,)
    lags: Ints  # (1 + K,) the different lags, from the second on
    rows: Any  # (1 + K,) where in the ring this step is, and those after each lag
    rated: Any  # (2,) first cell that is served at its own rate, and one past the last
    wants: Floats  # (C,) scratch
    gets: Floats  # (C,) scratch
    over: Ints  # (L + S,) scratch: links whose buffer is exceeded
    area_ever: Floats  # (C,) sum of the queue over all steps
    host_pace: Floats  # (F,) packets per step
    ring: Floats  # (R * C,) cumulative packets sent, by step of arrival
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
    shared: Ints  # (L + S,) 1: one buffer for all
    peak: Floats  # (L + S,)
    waiting: Floats  # (L + S,) packets queued, for links that share
    fifo: Ints  # (L + S, 2) head and tail of the queue's ring
    arrived: Floats  # (C, Q) rings of what came, by step
    red: Floats  # (L + S, columns)
    bands: Ints  # (B, 3) link, first cell, end: flows of one priority
    bands_at: Ints  # (L + S + 1,)
    # diffusion-type flow control
    clock: Ints  # (P, 3) period, step in it, where its slots begin; a slot is a step of a period
    ticks_at: Ints  # (slots + 1,) links of one or two flows whose rates are set in a slot
    tick_cells: Any  # (N, 2) their cells; one twice
    tick_law: Floats  # (N, 4) alpha, D/d per step, link rate per step, 1 for two flows
    many_at: Ints  # the same of links with more flows
    many_cells: Any  # (N, 2) first, one past the last
    many_law: Floats  # (N, 3)
    tells_at: Ints  # (slots + 1,) links of one or two flows that tell those before them in a slot
    tell_cells: Any  # (M, 4) their cells, and where what they tell goes
    tell_law: Floats  # (M, 3) D/d per step, link rate per step, 1 for two flows
    spread_at: Ints  # the same of links with more flows
    spread_cells: Any  # (M, 4) first, one past the last; the same for those fed by who hears
    spread_law: Floats  # (M, 2)
    # pause
    pairs: Ints  # (N, 6) pausing link, paused link, delay, quanta in steps or 0, on, until
    pauses: Floats  # (N, 3) high, low, what passes per step
    heard: Ints  # (R, N) 1 while pausing, by step
    # flows
    flow: Ints  # (F, columns)
    tally: Floats  # (F, columns)
    path_at: Ints  # (F + 1,)
    path: Ints  # cells of the flows, hosts left out
    ack: Floats  # (A, 4) acks on their way: all, advancing, U, marked
    tcp: Floats  # (F, columns)
    log: Floats
    holes: Floats
    schedule: Floats  # (N, 2) step from which, packets per step
    schedule_at: Ints  # (F, 2) current and one past the last
    seed: Ints  # (1,)
    fault: Ints  # (3,) kind, step, cell or flow

    def copy(self) -> State:
        """Return the same state in fresh memory."""
        fresh: Any = (array.copy() for array in self)
        return State(*fresh)


@dataclass(frozen=True)
class Plan:
    """A scenario compiled for a step.

    Attributes
    ----------
    scenario, steps_per_delay, step
        What was compiled; h in s.
    grid
        Amounts of packets are multiples of it.
    rated
        One past the last cell that is served at its own rate.
    first_shared, past_shared
        The links of the others.
    links
        Places in the scenario's links of the links that have cells, in the order of `State`.
    hop_cells
        Per flow and link of its path the cell, -1 where there is none.
    kinds
        The kernel's window rules.
    state
        At t = 0.
    """

    scenario: Scenario
    steps_per_delay: int
    step: float
    grid: float
    rated: int
    first_shared: int
    past_shared: int
    links: tuple[int, ...]
    hop_cells: tuple[tuple[int, ...], ...]
    kinds: tuple[Kind, ...]
    state: State


def in_steps(name: str, time: float, h: float) -> int:
    """Return a delay in steps; warn when it had to be rounded, refuse beyond 1 %."""
    steps = max(1, round(time / h))
    error = abs(steps * h / time - 1.0)
    if error > LARGEST_ROUNDING:
        msg = f"must be a multiple of the step {h:g} s to 1 %, is {time / h:.4g} steps"
        raise ValueError(f"{name} = {time:g} s: {msg}; take more steps_per_delay")
    if error > 1e-9:
        msg = f"{name} = {time:g} s is rounded to {steps} steps of {h:g} s, {100 * error:.2g} % off"
        warnings.warn(msg, stacklevel=4)
    return steps


def kinds_of(scenario: Scenario) -> tuple[Kind, ...]:
    """Return the window rules of the kernel: the standard ones when they do, else the scenario's."""
    standard = [kind_of(rule) for rule in STANDARD]
    own = {kind_of(f.source) for f in scenario.flows if isinstance(f.source, WindowRule)}
    if own <= set(standard):
        return tuple(standard)
    return tuple(sorted(own, key=lambda kind: (kind[0].__module__, kind[0].__qualname__, kind[1])))


def kind_of(rule: WindowRule) -> Kind:
    """Return a rule's class and the names of the parameters that its dynamics can use."""
    return type(rule), tuple(numbers_of(rule))


def finest_grid(scenario: Scenario, end: float) -> float:
    """Return the finest power of two, at most 2^-26, for which all sums are exact in float64."""
    most = 1.0
    for flow in scenario.flows:
        first = scenario.path(flow)[0].rate
        peak = flow.max_window / scenario.base_rtt(flow)
        if not isinstance(flow.source, WindowRule):
            peak = flow.source.rate
        most = max(most, 2.0 * len(scenario.flows) * max(first, min(peak, 8 * first)) * end)
    return 2.0 ** -min(FINEST, 51 - math.ceil(math.log2(most)))


def cells_of(scenario: Scenario) -> tuple[list[bool], list[int]]:
    """Return which links can queue, and the kind of each."""
    flows_on: dict[int, list[int]] = {}
    before: dict[int, set[int]] = {}  # links over which a link's packets come; hosts are -1 - flow
    for f, flow in enumerate(scenario.flows):
        for previous, n in itertools.pairwise((-1 - f, *scenario.path_index(flow))):
            flows_on.setdefault(n, []).append(f)
            before.setdefault(n, set()).add(previous)
    fed_by_pause = {
        u
        for n, sources_ in before.items()
        if isinstance(scenario.links[n].discipline, Pause)
        for u in sources_
    }
    queues = [n in flows_on for n in range(len(scenario.links))]
    for n in flows_on:
        link = scenario.links[n]
        if type(link.discipline) is not FIFO or n in fed_by_pause or len(before[n]) > 1:
            continue
        (u,) = before[n]  # a host's link is kept: there packets enter the network
        queues[n] = u < 0 or scenario.links[u].rate > link.rate
    kinds = []
    for n, link in enumerate(scenario.links):
        kind = RATED
        several = len(flows_on.get(n, ())) > 1
        if isinstance(link.discipline, (Fair, Priority)):
            kind = DIVIDED
        elif isinstance(link.discipline, RED):
            kind = RANDOM
        elif isinstance(link.discipline, DFC):
            kind = RATED
        elif several or n in fed_by_pause or isinstance(link.discipline, Pause):
            kind = SHARED
        kinds.append(kind)
    return queues, kinds


def compile_scenario(
    scenario: Scenario,
    steps_per_delay: int,
    rng: np.random.Generator,
    *,
    duration: float | None = None,
    starts: Floats | None = None,
) -> Plan:
    """Return the plan of a scenario for a step of the shortest delay over ``steps_per_delay``.

    Parameters
    ----------
    scenario
        What to simulate.
    steps_per_delay
        Steps per shortest link delay.
    rng
        Draws the phases of feedback clocks and on/off times.
    duration
        In s; None is the scenario's.
    starts
        Start times of the flows in s, shape (F,); None: the scenario's.

    Raises
    ------
    ValueError
        Where a delay is more than 1 % away from a multiple of the step.
    """
    end = scenario.duration if duration is None else duration
    h = min(link.delay for link in scenario.links) / steps_per_delay
    grid = finest_grid(scenario, end)
    delays = [in_steps(f"delay of link {n.name}", n.delay, h) for n in scenario.links]
    F = len(scenario.flows)
    begin = np.array([flow.start for flow in scenario.flows]) if starts is None else starts

    # cells: hosts, rated links, links that share
    queues, kinds = cells_of(scenario)
    order = [n for n in range(len(queues)) if queues[n] and kinds[n] == RATED]
    order += [n for n in range(len(queues)) if queues[n] and kinds[n] != RATED]
    place = {n: i for i, n in enumerate(order)}
    on_link: list[list[int]] = [[] for _ in scenario.links]
    for f, flow in enumerate(scenario.flows):
        for n in scenario.path_index(flow):
            on_link[n].append(f)
    shaped = [f for f, flow in enumerate(scenario.flows) if flow.host == "shaped"]
    L, S = len(order), len(shaped)
    cell: dict[tuple[int, int], int] = {}
    ranges = np.zeros((L + S, 2), dtype=np.int64)
    bands: list[tuple[int, int, int]] = []
    bands_at = [0]
    C = F
    rated = F
    for i, n in enumerate(order):
        flows = sorted(on_link[n], key=lambda f: (_rank(scenario, n, f), _before(scenario, n, f)))
        ranges[i] = C, C + len(flows)
        ranks = [_rank(scenario, n, f) for f in flows]
        for _, group in itertools.groupby(ranks):
            size = len(list(group))
            begun = bands[-1][2] if len(bands) > bands_at[-1] else C
            bands.append((i, begun, begun + size))
        bands_at.append(len(bands))
        for f in flows:
            cell[f, n] = C
            C += 1
        if kinds[n] == RATED:
            rated = C
    bands_at += [len(bands)] * S
    ranges[L:] = np.array([(f, f + 1) for f in shaped], dtype=np.int64).reshape(-1, 2)

    up, lag = np.arange(C), np.zeros(C, dtype=np.int64)
    down, flow_of = np.full(C, -1), np.arange(C)
    link_of = np.full(C, -1)
    path, path_at, hop_cells = [], [0], []
    for f, flow in enumerate(scenario.flows):
        hops = scenario.path_index(flow)
        at, wait = f, 0 if flow.host == "direct" else delays[hops[0]]
        for n in hops:
            if queues[n]:
                c = cell[f, n]
                up[c], lag[at], down[at], at, wait = at, wait, c, c, 0
                flow_of[c], link_of[c] = f, place[n]
                path.append(c)
            wait += delays[n]
        lag[at] = wait
        path_at.append(len(path))
        hop_cells.append(tuple(cell.get((f, n), -1) for n in hops))
    for s, f in enumerate(shaped):
        link_of[f] = L + s

    row = 1 << math.ceil(math.log2(lag.max() + 2))
    links = [scenario.links[n] for n in order]
    links += [scenario.path(scenario.flows[f])[0] for f in shaped]
    rate = np.array([math.floor(link.rate * h / grid) * grid for link in links])
    budget, watch, opens = np.zeros(C), np.full(C, np.inf), np.ones(C)
    budget[:F] = [_host_budget(scenario, flow, h, grid) for flow in scenario.flows]
    dfc = np.array([isinstance(link.discipline, DFC) for link in links], dtype=bool)
    for i in range(L):
        first, last = ranges[i]
        if order[i] is not None and kinds[order[i]] == RATED:
            budget[first:last] = 0.0 if dfc[i] else rate[i]
            if links[i].shared:
                opens[first + 1 : last] = 0.0
                watch[last - 1] = 0.0
            else:
                watch[first:last] = 0.0

    shared_links = [i for i in range(L) if kinds[order[i]] in (SHARED, RANDOM)]
    deepest = max((links[i].buffer / max(rate[i], grid) for i in shared_links), default=1)
    entries = 1 << math.ceil(math.log2(min(deepest, 2.0**20) + 8))

    cell_table = np.zeros((C, CELL_COLUMNS))
    cell_table[:, BUDGET], cell_table[:, WATCH], cell_table[:, OPENS] = budget, watch, opens
    told = np.zeros((C + 1, TOLD_COLUMNS))
    told[:C, FIRST_RATE] = [links[max(0, i)].rate * h for i in link_of]
    feedback = _feedback(scenario, order, shaped, delays, ranges, up, down, link_of, h, rng)
    pairs, pauses = _pauses(scenario, order, place, delays, h, grid)

    steps_of = np.unique(lag)
    rtt_steps = [
        sum(delays[n] for n in scenario.path_index(flow))
        + (0 if flow.host == "direct" else delays[scenario.path_index(flow)[0]])
        for flow in scenario.flows
    ]
    ack_ends = np.cumsum([0, *rtt_steps])
    rules = kinds_of(scenario)
    tcp, log, holes = _senders(scenario, rules)
    schedule, schedule_at = _schedules(scenario, begin, h, end, grid, rng)
    red = np.zeros((L + S, RED_COLUMNS))
    for i, link in enumerate(links[:L]):
        if isinstance(link.discipline, RED):
            d = link.discipline
            unit = 1.0 if d.mean_packet is None else scenario.packet_size / d.mean_packet
            red[i, : ECN + 1] = d.low, d.high, d.weight, d.max_p, d.gentle, unit, d.ecn
            red[i, OWED] = -rng.uniform(1.0, 2.0)
    flow_table = np.zeros((F, FLOW_COLUMNS), dtype=np.int64)
    flow_table[:, START] = np.round(begin / h)
    flow_table[:, TCP] = [isinstance(f.source, WindowRule) for f in scenario.flows]
    for f in range(F):
        cells = path[path_at[f] : path_at[f + 1]] or [f]
        flow_table[f, EXIT] = cells[-1]
    flow_table[:, ACK_FIRST], flow_table[:, ACK_END] = ack_ends[:-1], ack_ends[1:]
    flow_table[:, ACK_NOW] = ack_ends[:-1]
    tally = np.zeros((F, TALLY_COLUMNS))
    tally[:, FINISHED] = tally[:, FIRST_LOSS] = np.nan
    state = State(
        cell=cell_table,
        told=told,
        origin=np.stack([1 + np.searchsorted(steps_of, lag), up], axis=1).astype(np.uint64),
        up=up,
        lag=lag,
        link_of=link_of,
        flow_of=flow_of,
        lags=np.array([0, *steps_of]),
        rows=np.zeros(1 + len(steps_of), dtype=np.uint64),
        rated=np.array([F, rated], dtype=np.uint64),
        wants=np.zeros(C),
        gets=np.zeros(C),
        over=np.zeros(L + S, dtype=np.int64),
        area_ever=np.zeros(C),
        host_pace=budget[:F].copy(),
        ring=np.zeros(row * C),
        records=np.zeros((C, RECORDS, 4)),
        ends=np.zeros((C, 2), dtype=np.int64),
        cursor=np.zeros(C),
        kind=np.array([*(kinds[n] for n in order), *([RATED] * S)], dtype=np.int64),
        cells=ranges,
        rate=rate,
        pace=rate.copy(),
        limit=np.array([*(float(link.buffer) for link in links[:L]), *([np.inf] * S)]),
        shared=np.array([int(link.shared) for link in links], dtype=np.int64),
        peak=np.zeros(L + S),
        waiting=np.zeros(L + S),
        fifo=np.zeros((L + S, 2), dtype=np.int64),
        arrived=np.zeros((C if shared_links else 1, entries if shared_links else 1)),
        red=red,
        bands=np.array(bands, dtype=np.int64).reshape(-1, 3),
        bands_at=np.array(bands_at),
        **feedback,
        pairs=pairs,
        pauses=pauses,
        heard=np.zeros(
            (1 << math.ceil(math.log2(max([*pairs[:, 2].tolist(), 1]) + 2)), len(pairs)),
            dtype=np.int64,
        ),
        flow=flow_table,
        tally=tally,
        path_at=np.array(path_at),
        path=np.array(path, dtype=np.int64),
        ack=np.zeros((int(ack_ends[-1]), 4)),
        tcp=tcp,
        log=log,
        holes=holes,
        schedule=schedule,
        schedule_at=schedule_at,
        seed=rng.integers(1, 2**31 - 1, 1),
        fault=np.zeros(3, dtype=np.int64),
    )
    return Plan(
        scenario, steps_per_delay, h, grid, rated,
        sum(kinds[n] == RATED for n in order), L, tuple(order), tuple(hop_cells), rules, state
    )  # fmt: skip


def _rank(scenario: Scenario, n: int, f: int) -> int:
    """Return the order of a flow at a link: its priority there."""
    ranked = isinstance(scenario.links[n].discipline, Priority)
    return scenario.flows[f].priority if ranked else 0


def _host_budget(scenario: Scenario, flow: Flow, h: float, grid: float) -> float:
    """Return what a host sends per step; a shaped one waits for the first message."""
    if flow.host == "direct":
        return math.inf
    return math.floor(scenario.path(flow)[0].rate * h / grid) * grid


def _before(scenario: Scenario, n: int, f: int) -> int:
    """Return the link over which a flow comes to link n, -1 - f from its host."""
    hops = scenario.path_index(scenario.flows[f])
    at = hops.index(n)
    return hops[at - 1] if at else -1 - f


def _feedback(
    scenario: Scenario,
    order: list[int],
    shaped: list[int],
    delays: list[int],
    ranges: Ints,
    up: Ints,
    down: Ints,
    link_of: Ints,
    h: float,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return the feedback clocks, one per period, and what happens in each of their slots.

    The message over a link is sent by the node at its end, whose phase it has.
    """
    phase = dict(zip(scenario.nodes, rng.random(len(scenario.nodes)), strict=True))
    firsts = [scenario.path_index(scenario.flows[f])[0] for f in shaped]
    places = [*order, *firsts]
    dfc = [isinstance(scenario.links[n].discipline, DFC) for n in places]
    ticking: dict[int, list[list[int]]] = {}
    laws = np.zeros((len(places), 3))
    for i, n in enumerate(places):
        link = scenario.links[n]
        if not isinstance(link.discipline, DFC):
            continue
        laws[i] = (
            link.discipline.intensity,
            link.discipline.diffusion / link.delay * h,
            link.rate * h,
        )
        node = link.target if i < len(order) else link.source
        slots = ticking.setdefault(delays[n], [[] for _ in range(delays[n])])
        random = link.discipline.phases == "random"
        slots[int(phase[node] * delays[n]) if random else 0].append(i)
    C = len(up)  # what two-flow links tell to a cell that does not hear now goes to waste, there
    lists: dict[str, list[tuple[int, ...]]] = {"tick": [], "many": [], "tell": [], "spread": []}
    owners: dict[str, list[int]] = {name: [] for name in lists}
    clock: list[tuple[int, int, int]] = []
    at: list[tuple[int, ...]] = [(0, 0, 0, 0)]

    def note(name: str, link: int, *cells: int) -> None:
        owners[name].append(link)
        lists[name].append(cells)

    for period, slots in ticking.items():
        clock.append((period, 0, len(at) - 1))
        for slot in slots:
            for i in slot:
                first, last = map(int, ranges[i])
                if last - first > 2:
                    note("many", i, first, last)
                else:
                    note("tick", i, first, last - 1)
                fed = [int(down[c]) for c in range(first, last) if down[c] >= 0]
                for j in sorted({int(link_of[d]) for d in fed}):
                    own = [d for d in fed if link_of[d] == j]
                    first, last = map(int, ranges[j])
                    if not dfc[j]:
                        continue
                    if last - first > 2:
                        note("spread", j, first, last, min(own), max(own) + 1)
                    else:
                        goes = [int(up[d]) if d in own else C for d in (first, last - 1)]
                        note("tell", j, first, last - 1, *goes)
            at.append(tuple(map(len, lists.values())))
    found: dict[str, Any] = {"clock": np.array(clock, dtype=np.int64).reshape(-1, 3)}
    ends = np.array(at, dtype=np.int64)
    for n, (name, cells) in enumerate(lists.items()):
        width = 2 if name in ("tick", "many") else 4
        key = name if name in ("many", "spread") else f"{name}s"
        law = laws[np.array(owners[name], dtype=np.int64)]
        if name in ("tell", "spread"):
            law = law[:, 1:]
        table = np.array(cells, dtype=np.int64).reshape(-1, width)
        if name in ("tick", "tell"):
            law = np.column_stack([law, table[:, 0] != table[:, 1]])
        found[f"{key}_at"] = ends[:, n].copy()
        found[f"{name}_cells"] = table.astype(np.uint64)
        found[f"{name}_law"] = np.ascontiguousarray(law)
    return found


def _pauses(
    scenario: Scenario,
    order: list[int],
    place: dict[int, int],
    delays: list[int],
    h: float,
    grid: float,
) -> tuple[Ints, Floats]:
    """Return the pairs of a link that pauses and one that it pauses (hosts: -1 - flow)."""
    pairs, levels = [], []
    for n in order:
        d = scenario.links[n].discipline
        if not isinstance(d, Pause):
            continue
        feeders = {}
        for f, flow in enumerate(scenario.flows):
            hops = scenario.path_index(flow)
            if n in hops:
                before = hops.index(n) - 1
                feeders[hops[before] if before >= 0 else -1 - f] = delays[hops[max(0, before)]]
        for u, delay in feeders.items():
            if u < 0 and scenario.flows[-1 - u].host == "direct":
                continue
            fed = scenario.links[u] if u >= 0 else scenario.path(scenario.flows[-1 - u])[0]
            if isinstance(fed.discipline, DFC):
                name = scenario.links[n].name
                msg = f"it has DFC, must be another discipline before {name}, which pauses it"
                raise ValueError(f"discipline of link {fed.name}: {msg}")  # noqa: TRY004
            quantum = 512.0 / (fed.rate * 8.0 * scenario.packet_size)
            quanta = 0 if d.quanta is None else max(1, round(d.quanta * quantum / h))
            wait = delay + round(d.signalling / h)
            pairs.append((place[n], place[u] if u >= 0 else u, wait, quanta, 0, 0))
            levels.append((d.high, d.low, math.floor(d.paused_rate * h / grid) * grid))
    return np.array(pairs, dtype=np.int64).reshape(-1, 6), np.array(levels).reshape(-1, 3)


def _senders(scenario: Scenario, kinds: tuple[Kind, ...]) -> tuple[Floats, Floats, Floats]:
    """Return the flows' rows of numbers, their emission logs and their rings of holes."""
    F = len(scenario.flows)
    fields = max(len(rule.State._fields) for rule, _ in kinds)
    params = max(len(names) for _, names in kinds)
    tcp = np.zeros((F, sources.COLUMNS + fields + params))
    logs = holes = 0
    for f, flow in enumerate(scenario.flows):
        row = tcp[f]
        row[sources.SIZE] = flow.size
        row[sources.DEADLINE] = np.inf
        if not isinstance(flow.source, WindowRule):
            continue
        row[sources.TIMED] = row[sources.RECOVER] = -1.0
        row[sources.BACKOFF] = 1.0
        row[sources.TIMEOUT] = scenario.min_rto
        row[sources.OFFSET] = np.nan
        row[sources.MAX_WINDOW] = flow.max_window
        row[sources.KIND] = kinds.index(kind_of(flow.source))
        row[sources.RECOVERY] = RECOVERY[flow.source.recovery]
        cells = 1 << math.ceil(math.log2(2 + 2 * flow.max_window))
        entries = min(4096, max(64, cells))
        row[sources.LOG_AT], row[sources.LOG_MASK] = logs, entries - 1
        row[sources.HOLES_AT], row[sources.HOLES_MASK] = holes, cells - 1
        logs, holes = logs + entries, holes + 2 * cells
        begin = flow.source.start(scenario.base_rtt(flow))
        row[sources.COLUMNS : sources.COLUMNS + len(begin)] = begin
        values = list(numbers_of(flow.source).values())
        row[sources.COLUMNS + fields : sources.COLUMNS + fields + len(values)] = values
    return tcp, np.zeros(2 * logs), np.zeros(holes)


def _schedules(
    scenario: Scenario, begin: Floats, h: float, end: float, grid: float, rng: np.random.Generator
) -> tuple[Floats, Ints]:
    """Return the rates over time of the flows without window: step from which, packets per step."""
    rows: list[tuple[float, float]] = []
    at = []
    for f, flow in enumerate(scenario.flows):
        first = len(rows)
        if not isinstance(flow.source, WindowRule):
            pace = math.floor(flow.source.rate * h / grid) * grid
            now, on = float(begin[f]), True
            rows.append((round(now / h), pace))
            while isinstance(flow.source, OnOff) and now < end:
                mean = flow.source.on if on else flow.source.off
                now += rng.exponential(mean) if flow.source.random else mean
                on = not on
                rows.append((round(now / h), pace if on else 0.0))
        rows.append((np.inf, 0.0))
        at.append((first, len(rows)))
    return np.array(rows).reshape(-1, 2), np.array(at, dtype=np.int64)
