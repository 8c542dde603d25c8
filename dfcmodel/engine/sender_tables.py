"""What sends, in the engine: rows of numbers of the windows, and constant rates over time."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.kernel import tcp_sender
from dfcmodel.network.flows import OnOff
from responsefn import NewReno, Reno, Tahoe, WindowRule
from responsefn.responses.rule_compilation import numbers_of

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import Floats, Ints
    from dfcmodel.network.networks import Scenario

__all__ = ["Kind", "in_steps", "kinds_of", "memory", "schedules", "senders"]

Kind = tuple[type[WindowRule], tuple[str, ...]]
"""A class of window rules and its numeric parameters: what a kernel is made of."""
STANDARD: tuple[WindowRule, ...] = (Tahoe(), Reno(), NewReno())
"""Rules that share one kernel, so that most scenarios need no compilation of their own."""
RECOVERY = {"tahoe": tcp_sender.TAHOE, "reno": tcp_sender.RENO, "newreno": tcp_sender.NEWRENO}
SAME_STEP = 1e-6
"""Part of a step: a start that is this near to the beginning of one is there."""
LONGEST_MEMORY = 2**16
"""Steps: a round-trip time is told exactly up to this, or twice that of empty queues."""


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


def in_steps(times: Any, h: float) -> Any:
    """Return times in steps: whole ones where only rounding makes a difference."""
    steps = np.asarray(times) / h
    whole = np.round(steps)
    return np.where(np.abs(steps - whole) < SAME_STEP, whole, steps)


def senders(
    scenario: Scenario, kinds: tuple[Kind, ...], late: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the flows' rows of numbers, their emission logs and their rings of holes.

    A flow that starts when the part ``late`` of its first step is over sends that part of its first
    window in the next one.
    """
    F = len(scenario.flows)
    fields = max(len(rule.State._fields) for rule, _ in kinds)
    params = max(len(names) for _, names in kinds)
    tcp = np.zeros((F, tcp_sender.COLUMNS + fields + params))
    logs = holes = 0
    for f, flow in enumerate(scenario.flows):
        row = tcp[f]
        row[tcp_sender.SIZE] = flow.size
        row[tcp_sender.DEADLINE] = np.inf
        if not isinstance(flow.source, WindowRule):
            continue
        row[tcp_sender.TIMED] = row[tcp_sender.RECOVER] = -1.0
        row[tcp_sender.BACKOFF] = 1.0
        row[tcp_sender.TIMEOUT] = scenario.min_rto
        row[tcp_sender.OFFSET] = np.nan
        row[tcp_sender.MAX_WINDOW] = flow.max_window
        row[tcp_sender.KIND] = kinds.index(kind_of(flow.source))
        row[tcp_sender.RECOVERY] = RECOVERY[flow.source.recovery]
        cells = 1 << math.ceil(math.log2(2 + 2 * flow.max_window))
        entries = min(4096, max(64, cells))
        row[tcp_sender.LOG_AT], row[tcp_sender.LOG_MASK] = logs, entries - 1
        row[tcp_sender.HOLES_AT], row[tcp_sender.HOLES_MASK] = holes, cells - 1
        logs, holes = logs + entries, holes + 2 * cells
        begin = flow.source.start(scenario.base_rtt(flow))
        row[tcp_sender.COLUMNS : tcp_sender.COLUMNS + len(begin)] = begin
        row[tcp_sender.INFLATION] = (1.0 - late[f]) * min(begin[0], flow.max_window) - begin[0]
        values = list(numbers_of(flow.source).values())
        row[tcp_sender.COLUMNS + fields : tcp_sender.COLUMNS + fields + len(values)] = values
    return tcp, np.zeros(2 * logs), np.zeros(holes)


def memory(scenario: Scenario, base: int, h: float) -> int:
    """Return for how many steps emissions are remembered: four times what full buffers hold up."""
    full = 0.0
    for flow in scenario.flows:
        path = scenario.path(flow)
        waits = min(flow.max_window, sum(link.buffer for link in path))
        full = max(full, waits / min(link.rate for link in path))
    steps = max(2 * base, min(LONGEST_MEMORY, base + 4 * full / h))
    return 1 << math.ceil(math.log2(steps + 2))


def schedules(
    scenario: Scenario, begin: Floats, h: float, end: float, grid: float, rng: np.random.Generator
) -> tuple[Floats, Ints]:
    """Return the rates over time of the flows without window: step from which, packets per step."""
    rows: list[tuple[float, float]] = []
    at = []
    for f, flow in enumerate(scenario.flows):
        first = len(rows)
        if not isinstance(flow.source, WindowRule):
            now, on = float(begin[f]), True
            switched = [now]
            while isinstance(flow.source, OnOff) and now < end:
                mean = flow.source.on if on else flow.source.off
                now += rng.exponential(mean) if flow.source.random else mean
                on = not on
                switched.append(now)
            rows += _in_rows(in_steps(switched, h), flow.source.rate * h, grid)
        rows.append((np.inf, 0.0))
        at.append((first, len(rows)))
    return np.array(rows).reshape(-1, 2), np.array(at, dtype=np.int64)


def _in_rows(switched: Floats, pace: float, grid: float) -> list[tuple[float, float]]:
    """Return (step from which, packets per step) of a source switched on, off, on, ... in steps."""
    amounts: dict[float, float] = {}
    for n, (begin, end) in enumerate(itertools.pairwise([*switched, np.inf])):
        rate = pace if n % 2 == 0 else 0.0
        first, last = np.floor(begin), np.floor(end)
        amounts[first] = amounts.get(first, 0.0) + rate * (min(end, first + 1.0) - begin)
        if last > first:
            amounts[first + 1.0] = rate
        if first < last < np.inf:
            amounts[last] = rate * (end - last)
    return [(step, math.floor(each / grid) * grid) for step, each in sorted(amounts.items())]
