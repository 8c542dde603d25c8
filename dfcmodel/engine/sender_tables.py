"""Sender tables of the engine: one row per TCP flow, a schedule per constant-rate flow."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.kernel import columns
from dfcmodel.network.flows import OnOff
from responsefn import NewReno, Reno, Tahoe, WindowRule
from responsefn.responses.rule_compilation import numbers_of

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import Floats, Ints
    from dfcmodel.network.networks import Scenario

__all__ = ["RuleSignature", "in_steps", "memory", "rule_signatures", "schedules", "senders"]

RuleSignature = tuple[type[WindowRule], tuple[str, ...]]
"""A class of window rules and the names of its numeric parameters; they determine the kernel."""
STANDARD: tuple[WindowRule, ...] = (Tahoe(), Reno(), NewReno())
"""Rules that share one kernel, so that most scenarios need no further compilation."""
RECOVERY = {"tahoe": columns.TAHOE, "reno": columns.RENO, "newreno": columns.NEWRENO}
SAME_STEP = 1e-6
"""Fraction of a step: times this close to the beginning of a step are rounded to it."""
LONGEST_MEMORY = 2**16
"""Steps up to which round-trip times are measured exactly, or twice that of empty queues."""


def rule_signatures(scenario: Scenario) -> tuple[RuleSignature, ...]:
    """Return the rule signatures of the kernel: the standard ones if they suffice, else its own."""
    standard = [signature_of(rule) for rule in STANDARD]
    own = {signature_of(f.source) for f in scenario.flows if isinstance(f.source, WindowRule)}
    if own <= set(standard):
        return tuple(standard)
    return tuple(sorted(own, key=lambda kind: (kind[0].__module__, kind[0].__qualname__, kind[1])))


def signature_of(rule: WindowRule) -> RuleSignature:
    """Return a rule's class and the names of its numeric parameters."""
    return type(rule), tuple(numbers_of(rule))


def in_steps(times: Any, h: float) -> Any:
    """Return times in steps, rounded to whole steps if the difference is below `SAME_STEP`."""
    steps = np.asarray(times) / h
    whole = np.round(steps)
    return np.where(np.abs(steps - whole) < SAME_STEP, whole, steps)


def senders(
    scenario: Scenario, signatures: tuple[RuleSignature, ...], late: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the table of TCP flows, their emission logs and their rings of holes.

    A flow that starts a fraction ``late`` into its first step sends that fraction of its first
    window in the next step.
    """
    F = len(scenario.flows)
    fields = max(len(rule.State._fields) for rule, _ in signatures)
    params = max(len(names) for _, names in signatures)
    tcp = np.zeros((F, columns.TCP_COLUMNS + fields + params))
    logs = holes = 0
    for f, flow in enumerate(scenario.flows):
        row = tcp[f]
        row[columns.SIZE] = flow.size
        row[columns.DEADLINE] = np.inf
        if not isinstance(flow.source, WindowRule):
            continue
        row[columns.TIMED] = row[columns.RECOVER] = -1.0
        row[columns.BACKOFF] = 1.0
        row[columns.TIMEOUT] = scenario.min_rto
        row[columns.OFFSET] = np.nan
        row[columns.MAX_WINDOW] = flow.max_window
        row[columns.KIND] = signatures.index(signature_of(flow.source))
        row[columns.RECOVERY] = RECOVERY[flow.source.recovery]
        cells = 1 << math.ceil(math.log2(2 + 2 * flow.max_window))
        entries = min(4096, max(64, cells))
        row[columns.LOG_AT], row[columns.LOG_MASK] = logs, entries - 1
        row[columns.HOLES_AT], row[columns.HOLES_MASK] = holes, cells - 1
        logs, holes = logs + entries, holes + 2 * cells
        begin = flow.source.start(scenario.base_rtt(flow))
        row[columns.TCP_COLUMNS : columns.TCP_COLUMNS + len(begin)] = begin
        row[columns.INFLATION] = (1.0 - late[f]) * min(begin[0], flow.max_window) - begin[0]
        values = list(numbers_of(flow.source).values())
        row[columns.TCP_COLUMNS + fields : columns.TCP_COLUMNS + fields + len(values)] = values
    return tcp, np.zeros(2 * logs), np.zeros(holes)


def memory(scenario: Scenario, base: int, h: float) -> int:
    """Return the length in steps of the emission history: four times the delay of full buffers."""
    full = 0.0
    for flow in scenario.flows:
        path = scenario.path(flow)
        queued = min(flow.max_window, sum(link.buffer for link in path))
        full = max(full, queued / min(link.rate for link in path))
    steps = max(2 * base, min(LONGEST_MEMORY, base + 4 * full / h))
    return 1 << math.ceil(math.log2(steps + 2))


def schedules(
    scenario: Scenario,
    begin: Floats,
    h: float,
    end: float,
    quantum: float,
    rng: np.random.Generator,
) -> tuple[Floats, Ints]:
    """Return the rate schedules of flows without a window: rows (first step, packets per step)."""
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
            rows += _in_rows(in_steps(switched, h), flow.source.rate * h, quantum)
        rows.append((np.inf, 0.0))
        at.append((first, len(rows)))
    return np.array(rows).reshape(-1, 2), np.array(at, dtype=np.int64)


def _in_rows(switched: Floats, pace: float, quantum: float) -> list[tuple[float, float]]:
    """Return rows (first step, packets per step) of a source switched on, off, on, ... in steps."""
    amounts: dict[float, float] = {}
    for n, (begin, end) in enumerate(itertools.pairwise([*switched, np.inf])):
        rate = pace if n % 2 == 0 else 0.0
        first, last = np.floor(begin), np.floor(end)
        amounts[first] = amounts.get(first, 0.0) + rate * (min(end, first + 1.0) - begin)
        if last > first:
            amounts[first + 1.0] = rate
        if first < last < np.inf:
            amounts[last] = rate * (end - last)
    return [(step, math.floor(each / quantum) * quantum) for step, each in sorted(amounts.items())]
