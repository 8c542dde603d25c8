"""Run a plan: the compiled loop over time, in parts that show progress, with rates and delays that change between steps."""

from __future__ import annotations

import bisect
import itertools
import math
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.engine.kernel.records import (
    BAD_QUEUE,
    BAD_WINDOW,
    PER_FLOW_RATE,
    SENT,
    SWITCHES_FULL,
    Output,
    Span,
)
from dfcmodel.engine.plan import traced_ways
from dfcmodel.engine.senders import source_events_of
from dfcmodel.engine.settings import whole_and_part
from dfcmodel.network.callback_events import manager_events_of
from dfcmodel.network.path_elements import RateTrace
from dfcmodel.network.run_tables import LAST_PART
from hopflow.kernels import engine
from hopflow.progress import check_stop, may_show_bar, progress_bar
from responsefn.rule_events import refuse_fault
from responsefn.rules.base import WindowRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.kernel.records import Feedback
    from dfcmodel.engine.plan import Plan

    Floats = NDArray[np.float64]
    from collections.abc import Iterator, Mapping, Sequence

    from dfcmodel.engine.plan import Way
    from dfcmodel.network.path_elements import DelayTrace

__all__ = ["RateChange", "Records", "advance", "delay_changes", "rate_changes", "set_delays", "set_rates"]

KERNEL = "dfcmodel.engine.kernel"
QUEUES_PER_FLOW = 32
"""A flow's ends take about as long per step as this many queues."""
BLOCK = 100_000_000
"""Queues times steps between two signs of progress: some tenths of a second."""


class Records(NamedTuple):
    """What a run records per interval, T of them, and how long the loop took in s.

    flows: shape (T, F, 6), mean packets in transit, rcv_nxt, cwnd, host's backlog, round-trip time, loss events so far;
    queued: (T, C) packets queued at its end; lost: (T, C) packets lost in it; switches: `SWITCH`, the pauses
    that were turned on and off, in order; sent_before: (C,) packets that each queue had sent before the last part of the
    run, `dfcmodel.network.run_tables.LAST_PART`.
    """

    flows: Floats
    queued: Floats
    lost: Floats
    seconds: float
    switches: Any
    sent_before: Any = None


def advance(
    plan: Plan,
    steps: int,
    every: int,
    *,
    compiled: bool = True,
    clock: Callable[[], float] | None = None,
) -> Records:
    """Run a plan from t = 0, in place.

    Parameters
    ----------
    plan
        Its state is advanced.
    steps, every
        How many, and the interval of the records; the last one may be shorter.
    compiled
        False runs the kernel as plain Python: hundreds of times slower, for tests.
    clock
        By which ``seconds`` of the records are told; None: `time.perf_counter`.

    Raises
    ------
    ArithmeticError
        When a number becomes NaN, with the time and the place.
    """
    F, C, T = len(plan.network.flows), len(plan.layout.up), math.ceil(steps / every)
    records = np.zeros((T, F, 6)), np.zeros((T, C)), np.zeros((T, C))
    run, groups = _prepared(plan, compiled)
    clock = clock or time.perf_counter
    fault = np.zeros(2, dtype=np.int64)
    seconds = 0.0
    switches: list[Any] = []
    has_pauses = len(plan.feedback.pauses) > 0
    last_part = min(steps - 1, math.ceil((1.0 - LAST_PART) * steps)) if has_pauses else 0
    sent_before = None
    rates = rate_changes(plan, steps) if plan.scenario.elements else {}
    delays = delay_changes(plan, steps) if plan.scenario.elements else {}
    for first, end in _parts(plan, steps, every, (last_part, *rates, *delays)):
        if first:
            check_stop()
        k = first
        if k in rates:
            set_rates(plan, rates[k])
        if k in delays:
            set_delays(plan, k, delays[k])
        if k == last_part:
            sent_before = _sent(plan)
        while k < end:
            began = clock()
            fault[:] = 0
            rows = (record[k // every : math.ceil(end / every)] for record in records)
            output = Output._make([*rows, fault])
            stopped = run(_span(plan, (k, end - k, steps, every)), *groups, output)
            seconds += clock() - began
            _check_rules(plan)
            if stopped >= 0 and fault[0] != SWITCHES_FULL:
                raise ArithmeticError(_fault(plan, stopped, *map(int, fault)))
            switches.append(_taken(plan.feedback))
            k = stopped if stopped >= 0 else end
    return Records(*records, seconds, np.concatenate(switches), sent_before)


def _check_rules(plan: Plan) -> None:
    """Raise RuleError for the first window rule that has returned a window that cannot be."""
    for f in np.flatnonzero(np.isnan(plan.network.flows["parameters"][:, 0])).tolist():
        flow, row = plan.scenario.flows[f], plan.network.flows[f]
        source: Any = flow.source
        if isinstance(source, WindowRule):
            numbers = [row["cwnd"], row["ssthresh"], *row["rule_state"], *row["parameters"]]
            refuse_fault(source.in_fluid(), numbers, f"{plan.scenario.name}, flow {flow.name!r}")


def _sent(plan: Plan) -> Floats:
    """Return what each queue has sent so far, packets, (C,)."""
    sent: Floats = plan.network.queues["sent"][: len(plan.layout.up)].copy()
    for first, end in plan.layout.queues[plan.layout.per_flow_links : len(plan.layout.order)].tolist():
        sent[first:end] = plan.shared[SENT, first:end]
    return sent


def _taken(feedback: Feedback) -> Any:
    """Return the pauses and resumes that were noted, and make room for others."""
    taken = feedback.switches[: feedback.switched[0]].copy()
    feedback.switched[0] = 0
    return taken


def _span(plan: Plan, given: tuple[int, int, int, int]) -> Span:
    """Return the `Span` of some steps: the first, how many, of the whole run, of an interval."""
    about = plan.step, plan.quantum, plan.min_rto
    return Span(*given, *about, plan.layout.per_flow_links, len(plan.layout.order))


def _prepared(plan: Plan, compiled: bool) -> tuple[Any, list[Any]]:
    """Return the loop, ready to run, and the groups of arrays that it takes."""
    events = source_events_of(plan.rules, compiled=compiled)
    managers = np.zeros(1, dtype=np.uint64 if compiled else object)
    if plan.managers:
        managers = manager_events_of(plan.managers, compiled=compiled)
    service = plan.service._replace(
        managers=managers,
        rows=plan.order.rows,
        total=plan.order.total,
        shared=plan.shared,
    )
    groups = plan.network, plan.transport._replace(events=events), service, plan.feedback
    if not compiled:
        return engine(KERNEL, compiled=False), [_with_attributes(group) for group in groups]
    return engine(KERNEL), list(groups)


def _with_attributes(group: Any) -> Any:
    """Return a group of arrays with fields of records as attributes, which plain Python needs."""
    arrays = (each.view(np.recarray) if each.dtype.names else each for each in group)
    return type(group)(*arrays)


def _parts(plan: Plan, steps: int, every: int, boundaries: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Return first steps and ends of the parts of a run, some of which begin at ``boundaries``.

    A long run has many, and shows progress.

    It shows none while other threads or processes, which an ensemble has, may do so.
    """
    work = len(plan.layout.up) + QUEUES_PER_FLOW * len(plan.network.flows)
    size = max(1, BLOCK // (work * every)) * every
    begins = sorted({*range(0, steps, size), *boundaries})
    parts = list(itertools.pairwise([*begins, steps]))
    if len(parts) < 3 or not may_show_bar():
        return parts
    bar: Iterable[tuple[int, int]] = progress_bar(parts, desc=plan.scenario.name, unit="part")
    return bar


def _fault(plan: Plan, step: int, why: int, at: int) -> str:
    """Return what stopped the run, when and where."""
    when = f"{plan.scenario.name}, t = {step * plan.step:g} s"
    if why == BAD_QUEUE:
        link = plan.scenario.links[plan.layout.order[plan.layout.link_of[at]]]
        return f"{when}: the queue at node {link.source!r} (link {link.name}) is not a number"
    flow = plan.scenario.flows[at].name
    if why == BAD_WINDOW:
        return f"{when}: the window of flow {flow!r} is not a number"
    return f"{when}: the emission log of flow {flow!r} is full"


class RateChange(NamedTuple):
    """A link's rate from a step on: the step, the link's place in the plan's order, packets per step."""

    step: int
    link: int
    rate: float


def rate_changes(plan: Plan, steps: int) -> dict[int, list[RateChange]]:
    """Return by step what changes there, in a run of some steps; times are rounded to the nearest step.

    Where several times of a trace are in one step, the last of them holds.
    """
    found: dict[int, dict[int, RateChange]] = {}
    names = plan.scenario.link_table.names
    for element in plan.scenario.elements:
        if not isinstance(element, RateTrace):
            continue
        i = list(plan.layout.order).index(names.index(element.link))
        for start, rate in _times_of(element, element.rates, steps * plan.step):
            step = round(start / plan.step)
            amount = math.floor(rate * plan.step / plan.quantum) * plan.quantum
            if step < steps:
                found.setdefault(step, {})[i] = RateChange(step, i, amount)
    return {step: list(of_links.values()) for step, of_links in found.items()}


def _times_of(element: RateTrace | DelayTrace, values: Sequence[float], end: float) -> Iterator[tuple[float, float]]:
    """Yield the times of a trace up to the end of a run, s, and the values from then on."""
    n = 0
    while True:
        base = n * element.period if n else 0.0
        for start, value in zip(element.times, values, strict=True):
            if base + start >= end:
                return
            yield base + start, value
        if element.period == math.inf:
            return
        n += 1


def set_rates(plan: Plan, changes: list[RateChange]) -> None:
    """Set the rates of links in the state of a plan."""
    links, queues = plan.network.links, plan.network.queues
    for change in changes:
        links["rate"][change.link] = links["pace"][change.link] = change.rate
        if change.link < plan.layout.per_flow_links:
            queues["service"][slice(*plan.layout.queues[change.link])] = change.rate


def delay_changes(plan: Plan, steps: int) -> dict[int, dict[int, float]]:
    """Return by step the new lengths of ways in a run of some steps, in steps, by the queues where they begin.

    Times are rounded to whole steps. A way becomes shorter by a step in each step, as the order is kept.
    """
    found: dict[int, dict[int, float]] = {}
    for way in traced_ways(plan.scenario, plan.layout):
        lengths = _lengths(way, plan.step, steps)
        now = way.steps
        for n, (step, length) in enumerate(lengths):
            end = lengths[n + 1][0] if n + 1 < len(lengths) else steps
            while step < end and now != length:
                now = max(length, now - 1.0)
                found.setdefault(step, {})[way.queue] = length
                step += 1
    return found


def _lengths(way: Way, h: float, steps: int) -> list[tuple[int, float]]:
    """Return from which steps on a way has which length for what begins it then, the last of several in a step."""
    trace = way.trace
    found: dict[int, float] = {0: 0.0}
    for start, delay in _times_of(trace, trace.delays, (steps + way.steps) * h):
        found[max(0, round(start / h - way.steps))] = delay
    return [(step, way.steps + delay / h) for step, delay in sorted(found.items())]


def set_delays(plan: Plan, k: int, lengths: Mapping[int, float]) -> None:
    """Set the lengths of ways, in steps by their queues, in the state of a plan before its step ``k``.

    A way does not become shorter than what is under way on it.
    """
    queues, wire = plan.network.queues, plan.network.wire
    for c, length in lengths.items():
        queue = queues[c]
        lag = int(queue["lag"])
        sent = _sent_by(plan, c)
        last = wire[(k - 1 + lag) % len(wire), c] if k else sent
        if length < lag + 1.0 - queue["weight"]:
            rows = [wire[(k + n) % len(wire), c] for n in range(lag)]
            length = max(length, float(bisect.bisect_left(rows, last)))
        whole, part = whole_and_part(length)
        for n in range(lag, int(whole)):
            wire[(k + n) % len(wire), c] = sent
        queue["lag"], queue["weight"] = whole, 1.0 - part


def _sent_by(plan: Plan, c: int) -> float:
    """Return what a queue has sent so far, packets."""
    i = int(plan.network.queues["link"][c])
    alone = c < len(plan.network.flows) or plan.network.links["kind"][i] == PER_FLOW_RATE
    return float(plan.network.queues["sent"][c] if alone else plan.shared[SENT, c])
