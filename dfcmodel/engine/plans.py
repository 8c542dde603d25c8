"""Compilation of a scenario to the arrays of the kernel: a plan with the state at t = 0."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.engine.feedback_schedules import feedback, pauses
from dfcmodel.engine.kernel.columns import (
    ACK_COLUMNS,
    ACK_END,
    ACK_FIRST,
    ACK_NOW,
    BROKEN,
    BUDGET,
    CELL_COLUMNS,
    ECN,
    EXIT,
    FINISHED,
    FIRST_LOSS,
    FLOW_COLUMNS,
    GAIN,
    INTENSITY,
    LINK_RATE,
    OWED,
    PORTS,
    RANDOM,
    RATED,
    RED_COLUMNS,
    SHARED,
    START,
    TALLY_COLUMNS,
    TCP,
    WATCH,
)
from dfcmodel.engine.kernel.state import State
from dfcmodel.engine.layouts import Layout, layout_of
from dfcmodel.engine.sender_tables import (
    RuleSignature,
    in_steps,
    memory,
    rule_signatures,
    schedules,
    senders,
)
from dfcmodel.network.disciplines import DFC, FIFO, RED
from responsefn import WindowRule

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import Floats, Ints
    from dfcmodel.network.networks import Link, Scenario

__all__ = ["Plan", "compile_scenario"]

FINEST = 26
"""Amounts are multiples of 2^-26 packets, or of a larger power of two if sums would not be exact."""
RECORDS = 1024
LARGEST_ROUNDING = 0.01


@dataclass(frozen=True)
class Plan:
    """A scenario compiled for a time step.

    Attributes
    ----------
    scenario, steps_per_delay, step
        The scenario and its time step h in s.
    quantum
        All amounts of packets are multiples of it.
    first_shared, past_shared
        Range of the links whose flows share the service.
    links
        Indices in the scenario's links of the links that have cells, in the order of `State`.
    hop_cells
        Cell of each flow at each link of its path, -1 if there is none.
    rules
        Signatures of the window rules in the kernel.
    state
        State at t = 0.
    """

    scenario: Scenario
    steps_per_delay: int
    step: float
    quantum: float
    first_shared: int
    past_shared: int
    links: tuple[int, ...]
    hop_cells: tuple[tuple[int, ...], ...]
    rules: tuple[RuleSignature, ...]
    state: State


def compile_scenario(
    scenario: Scenario,
    steps_per_delay: int,
    rng: np.random.Generator,
    *,
    duration: float | None = None,
    starts: Floats | None = None,
) -> Plan:
    """Return the plan of a scenario for the step (shortest link delay) / ``steps_per_delay``.

    Parameters
    ----------
    scenario
        The scenario to simulate.
    steps_per_delay
        Steps per shortest link delay.
    rng
        Generator of the phases of feedback clocks and of on/off times.
    duration
        Simulated time in s; None is the scenario's.
    starts
        Start times of the flows in s, shape (F,); None: the scenario's.

    Raises
    ------
    ValueError
        If a delay differs from a multiple of the step by more than 1 %.
    """
    end = scenario.duration if duration is None else duration
    h = min(link.delay for link in scenario.links) / steps_per_delay
    quantum = finest_quantum(scenario, end)
    delays = [whole_steps(f"delay of link {n.name}", n.delay, h) for n in scenario.links]
    begin = np.array([flow.start for flow in scenario.flows]) if starts is None else starts
    layout = layout_of(scenario, delays)
    links = layout.links(scenario)
    L, S, C = len(layout.order), len(layout.shaped), len(layout.up)
    rate = np.array([math.floor(link.rate * h / quantum) * quantum for link in links])
    cell = _cells(scenario, layout, rate, h, quantum)
    signals = feedback(scenario, layout, h, rng)
    pairs, levels = pauses(scenario, layout, h, quantum)
    rules = rule_signatures(scenario)
    starts_at = in_steps(begin, h)
    tcp, log, holes = senders(scenario, rules, starts_at % 1.0)
    tcp[:, BROKEN] = rng.random(len(tcp))
    schedule, schedule_at = schedules(scenario, begin, h, end, quantum, rng)
    flow, tally, rtt = _flows(scenario, layout, starts_at)
    arrived = _entries(links, layout, rate, quantum)
    remembered = math.ceil(math.log2(layout.lag.max() + 2))
    state = State(
        cell=cell,
        origin=layout.up.astype(np.uint64),
        up=layout.up,
        lag=layout.lag,
        link_of=layout.link_of,
        flow_of=layout.flow_of,
        runs=layout.blocks([link.shared for link in links]).astype(np.uint64),
        rows=np.zeros(1, dtype=np.uint64),
        wants=np.zeros(C),
        gets=np.zeros(C),
        over=np.zeros(L + S, dtype=np.int64),
        area_ever=np.zeros(C),
        host_pace=cell[: len(flow), BUDGET].copy(),
        ring=np.zeros(C << remembered),
        mask=(1 << remembered) - 1,
        records=np.zeros((C, RECORDS, 4)),
        ends=np.zeros((C, 2), dtype=np.int64),
        cursor=np.zeros(C),
        kind=np.array([*layout.queue_types, *([RATED] * S)], dtype=np.int64),
        cells=layout.cells,
        rate=rate,
        pace=rate.copy(),
        limit=np.array([*(float(link.buffer) for link in links[:L]), *([np.inf] * S)]),
        burst=np.array(
            [n.discipline.burst / h if isinstance(n.discipline, FIFO) else 0.0 for n in links]
        ),
        shared=np.array([int(link.shared) for link in links], dtype=np.int64),
        peak=np.zeros(L + S),
        waiting=np.zeros(L + S),
        fifo=np.zeros((len(layout.bands), 2), dtype=np.int64),
        arrived=np.zeros((C if arrived > 1 else 1, arrived)),
        arrived_in_all=np.zeros((len(layout.bands), arrived)),
        red=_red(scenario, links[:L], L + S, rng),
        bands=layout.bands,
        bands_at=layout.bands_at,
        **signals,
        pairs=pairs,
        pauses=levels,
        heard=np.zeros(
            (1 << math.ceil(math.log2(max([*pairs[:, 2].tolist(), 1]) + 2)), len(pairs)),
            dtype=np.int64,
        ),
        flow=flow,
        tally=tally,
        path_at=layout.path_at,
        path=layout.path,
        ack=np.zeros((int(flow[-1, ACK_END]), ACK_COLUMNS)),
        emitted=np.zeros((len(flow), memory(scenario, rtt, h))),
        tcp=tcp,
        log=log,
        holes=holes,
        schedule=schedule,
        schedule_at=schedule_at,
        seed=rng.integers(1, 2**31 - 1, 1),
        fault=np.zeros(3, dtype=np.int64),
    )
    return Plan(
        scenario, steps_per_delay, h, quantum, layout.per_flow_links, L, layout.order,
        layout.hop_cells, rules, state,
    )  # fmt: skip


def whole_steps(name: str, time: float, h: float) -> int:
    """Return a delay in steps; warn if it is rounded, raise ValueError beyond 1 %."""
    steps = max(1, round(time / h))
    error = abs(steps * h / time - 1.0)
    if error > LARGEST_ROUNDING:
        msg = f"must be a multiple of the step {h:g} s to 1 %, is {time / h:.4g} steps"
        raise ValueError(f"{name} = {time:g} s: {msg}; increase steps_per_delay")
    if error > 1e-9:
        msg = f"{name} = {time:g} s is rounded to {steps} steps of {h:g} s, {100 * error:.2g} % off"
        warnings.warn(msg, stacklevel=4)
    return steps


def finest_quantum(scenario: Scenario, end: float) -> float:
    """Return the finest power of two, at most 2^-26, for which all sums are exact in float64."""
    most = 1.0
    for flow in scenario.flows:
        first = scenario.path(flow)[0].rate
        peak = flow.max_window / scenario.base_rtt(flow)
        if not isinstance(flow.source, WindowRule):
            peak = flow.source.rate
        most = max(most, 2.0 * len(scenario.flows) * max(first, min(peak, 8 * first)) * end)
    return 2.0 ** -min(FINEST, 51 - math.ceil(math.log2(most)))


def _cells(scenario: Scenario, layout: Layout, rate: Floats, h: float, quantum: float) -> Floats:
    """Return the table of cells at t = 0."""
    cell = np.zeros((len(layout.up) + 1, CELL_COLUMNS))
    cell[:, WATCH] = np.inf
    for f, flow in enumerate(scenario.flows):
        pace = scenario.path(flow)[0].rate * h
        cell[f, BUDGET] = (
            math.inf if flow.host == "direct" else math.floor(pace / quantum) * quantum
        )
    for i, link in enumerate(layout.links(scenario)):
        own = cell[slice(*layout.cells[i])]
        own[:, LINK_RATE] = link.rate * h
        dfc = isinstance(link.discipline, DFC)
        if isinstance(link.discipline, DFC):
            own[:, INTENSITY] = link.discipline.intensity
            own[:, GAIN] = link.discipline.diffusion / link.delay * h
        if i < layout.per_flow_links:
            own[:, BUDGET] = 0.0 if dfc else rate[i]
            own[0 if link.shared else slice(None), WATCH] = 0.0
    return cell


def _entries(links: list[Link], layout: Layout, rate: Floats, quantum: float) -> int:
    """Return the length in steps of the arrival history of shared FIFO queues; 1 without any."""
    deepest = [
        links[i].buffer / max(rate[i], quantum)
        for i, kind in enumerate(layout.queue_types)
        if kind in (SHARED, RANDOM, PORTS)
    ]
    return 1 << math.ceil(math.log2(min(max(deepest), 2.0**20) + 8)) if deepest else 1


def _red(scenario: Scenario, links: list[Link], rows: int, rng: np.random.Generator) -> Floats:
    """Return the table of RED parameters and state at t = 0."""
    red = np.zeros((rows, RED_COLUMNS))
    for i, link in enumerate(links):
        if isinstance(link.discipline, RED):
            d = link.discipline
            unit = 1.0 if d.mean_packet is None else scenario.packet_size / d.mean_packet
            red[i, : ECN + 1] = d.low, d.high, d.weight, d.max_p, d.gentle, unit, d.ecn
            red[i, OWED] = -rng.uniform(1.0, 2.0)
    return red


def _flows(scenario: Scenario, layout: Layout, starts: Floats) -> tuple[Ints, Floats, int]:
    """Return the tables of flows at t = 0 for ``starts`` in steps, and the longest round trip."""
    rtts = []
    for flow in scenario.flows:
        hops = scenario.path_index(flow)
        access = 0 if flow.host == "direct" else layout.delays[hops[0]]
        rtts.append(sum(layout.delays[n] for n in hops) + access)
    ends = np.cumsum([0, *rtts])
    F = len(scenario.flows)
    table = np.zeros((F, FLOW_COLUMNS), dtype=np.int64)
    table[:, START] = np.floor(starts)
    table[:, TCP] = [isinstance(f.source, WindowRule) for f in scenario.flows]
    for f in range(F):
        cells = layout.path[layout.path_at[f] : layout.path_at[f + 1]]
        table[f, EXIT] = cells[-1] if len(cells) else f
    table[:, ACK_FIRST] = table[:, ACK_NOW] = ends[:-1]
    table[:, ACK_END] = ends[1:]
    tally = np.zeros((F, TALLY_COLUMNS))
    tally[:, FINISHED] = tally[:, FIRST_LOSS] = np.nan
    return table, tally, max(rtts)
