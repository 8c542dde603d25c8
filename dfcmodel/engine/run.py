"""Run a plan: the compiled loop over time, in parts that show progress, and traces that change links between steps.

A link may follow a trace of rates (`dfcmodel.RateTrace`) or of delays (`dfcmodel.DelayTrace`). A rate is constant
between the steps at which it changes. A delay changes the steps from one queue to the next. The wire stores the packets
of a queue by the step of arrival, as a cumulative curve. Where the delay increases, the curve is constant for as many
steps. Where it decreases, later packets arrive together with the last packets in flight, as packets keep their order.
"""

from __future__ import annotations

import bisect
import itertools
import math
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.engine.kernel.records import BAD_QUEUE, BAD_WINDOW, SENT, SWITCHES_FULL, Output, Span
from dfcmodel.engine.plan import delayed_queues
from dfcmodel.engine.senders import source_events_of
from dfcmodel.engine.settings import integer_and_fraction, round_down
from dfcmodel.network.callback_events import manager_events_of
from dfcmodel.network.path_elements import RateTrace
from dfcmodel.network.run_tables import LAST_PART
from hopflow.kernels import engine
from hopflow.progress import check_stop, may_show_bar, progress_bar
from responsefn.rule_events import refuse_fault
from responsefn.rules.base import WindowRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from dfcmodel.engine.plan import DelayedQueue, FluidPlan
    from dfcmodel.network.path_elements import DelayTrace

    Floats = NDArray[np.float64]

__all__ = ["Records", "advance"]

KERNEL = "dfcmodel.engine.kernel"
QUEUES_PER_FLOW = 32
"""The ends of a flow take about as long per step as this number of queues."""
BLOCK = 100_000_000
"""Queues times steps between two updates of the progress bar: tenths of a second."""


class Records(NamedTuple):
    """Records of a run by interval, T of them, and the time of the loop in s.

    flows: shape (T, F, 6), mean packets in transit, rcv_nxt, cwnd, host's backlog, round-trip time, loss events so far;
    queued: (T, C) packets queued at its end; lost: (T, C) packets lost in it; switches: `SWITCH`, the pauses
    that were turned on and off, in order; sent_before: (C,) packets that each queue had sent before the last part of
    the run, `dfcmodel.network.run_tables.LAST_PART`.
    """

    flows: Floats
    queued: Floats
    lost: Floats
    seconds: float
    switches: Any
    sent_before: Any = None


def advance(
    plan: FluidPlan,
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
        Number of steps, and the interval of the records; the last one may be shorter.
    compiled
        False runs the kernel as plain Python: hundreds of times slower, for tests.
    clock
        Measures ``seconds`` of the records; None: `time.perf_counter`.

    Raises
    ------
    ArithmeticError
        When a number becomes NaN, with the time and the place.
    """
    F, C, T = len(plan.network.flows), len(plan.next_queue), math.ceil(steps / every)
    records = np.zeros((T, F, 6)), np.zeros((T, C)), np.zeros((T, C))
    run, groups = _kernel_and_arrays(plan, compiled)
    clock = clock or time.perf_counter
    fault = np.zeros(2, dtype=np.int64)
    seconds = 0.0
    switches: list[Any] = []
    feedback = plan.feedback
    last_part = min(steps - 1, math.ceil((1.0 - LAST_PART) * steps)) if len(feedback.pauses) else 0
    sent_before = None
    rates = _rate_changes(plan, steps) if plan.scenario.elements else {}
    delays = _delay_changes(plan, steps) if plan.scenario.elements else {}
    for start, end in _parts(plan, steps, every, (last_part, *rates, *delays)):
        if start:
            check_stop()
        k = start
        if k in rates:
            _set_rates(plan, rates[k])
        if k in delays:
            _set_delays(plan, k, delays[k])
        if k == last_part:
            sent_before = _sent(plan)
        while k < end:  # again where the memory for pauses was full
            started = clock()
            fault[:] = 0
            rows = (record[k // every : math.ceil(end / every)] for record in records)
            span = Span(
                k, end - k, steps, every, plan.step, plan.quantum, plan.min_rto, plan.per_flow_links, len(plan.order)
            )
            stopped = run(span, *groups, Output._make([*rows, fault]))
            seconds += clock() - started
            _check_rules(plan)
            if stopped >= 0 and fault[0] != SWITCHES_FULL:
                raise ArithmeticError(_fault_message(plan, stopped, *map(int, fault)))
            switches.append(feedback.switches[: feedback.switched[0]].copy())
            feedback.switched[0] = 0
            k = stopped if stopped >= 0 else end
    return Records(*records, seconds, np.concatenate(switches), sent_before)


def _kernel_and_arrays(plan: FluidPlan, compiled: bool) -> tuple[Any, list[Any]]:
    """Return the loop, ready to run, and the groups of arrays that it takes."""
    events = source_events_of(plan.rules, compiled=compiled)
    managers = np.zeros(1, dtype=np.uint64 if compiled else object)
    if plan.managers:
        managers = manager_events_of(plan.managers, compiled=compiled)
    transport, service = plan.transport._replace(events=events), plan.service._replace(managers=managers)
    groups: list[Any] = [plan.network, transport, service, plan.feedback]
    if not compiled:  # plain Python reads fields of records as attributes
        groups = [
            group._make(array.view(np.recarray) if array.dtype.names else array for array in group) for group in groups
        ]
    return engine(KERNEL, compiled=compiled), groups


def _parts(plan: FluidPlan, steps: int, every: int, boundaries: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Return start and end of the parts of a run; parts start at ``boundaries``, and long runs show progress.

    A run in an ensemble shows none, as the ensemble has a progress bar.
    """
    work = len(plan.next_queue) + QUEUES_PER_FLOW * len(plan.network.flows)
    size = max(1, BLOCK // (work * every)) * every
    starts = sorted({*range(0, steps, size), *boundaries})
    parts = list(itertools.pairwise([*starts, steps]))
    if len(parts) < 3 or not may_show_bar():
        return parts
    bar: Iterable[tuple[int, int]] = progress_bar(parts, desc=plan.scenario.name, unit="part")
    return bar


def _sent(plan: FluidPlan) -> Floats:
    """Return the packets that each queue has sent so far, (C,)."""
    C = len(plan.next_queue)
    sent: Floats = plan.network.queues["sent"][:C].copy()
    if plan.per_flow_links < len(plan.order):  # the last queues belong to links that share a rate
        first = int(plan.network.links["first"][plan.per_flow_links])
        sent[first:] = plan.service.shared[SENT, first:C]
    return sent


def _check_rules(plan: FluidPlan) -> None:
    """Raise RuleError for the first window rule that has returned an invalid window."""
    for f in np.flatnonzero(np.isnan(plan.network.flows["parameters"][:, 0])).tolist():
        flow, row = plan.scenario.flows[f], plan.network.flows[f]
        source: Any = flow.source
        if isinstance(source, WindowRule):
            numbers = [row["cwnd"], row["ssthresh"], *row["rule_state"], *row["parameters"]]
            refuse_fault(source.in_fluid(), numbers, f"{plan.scenario.name}, flow {flow.name!r}")


def _fault_message(plan: FluidPlan, step: int, reason: int, at: int) -> str:
    """Return why, when and where a run stopped."""
    when = f"{plan.scenario.name}, t = {step * plan.step:g} s"
    if reason == BAD_QUEUE:
        link = plan.scenario.links[plan.order[plan.network.queues["link"][at]]]
        return f"{when}: the queue at node {link.source!r} (link {link.name}) is not a number"
    flow = plan.scenario.flows[at].name
    if reason == BAD_WINDOW:
        return f"{when}: the window of flow {flow!r} is not a number"
    return f"{when}: the emission log of flow {flow!r} is full"


# Rates and delays that follow traces.


def _rate_changes(plan: FluidPlan, steps: int) -> dict[int, dict[int, float]]:
    """Return by step the new rates of links in a run, packets per step by position.

    Times are rounded to the nearest step. Of several times of a trace in one step the last one counts.
    """
    changes: dict[int, dict[int, float]] = {}
    names = plan.scenario.link_table.names
    for element in plan.scenario.elements:
        if isinstance(element, RateTrace):
            i = plan.position[names.index(element.link)]
            for start, rate in _trace_values(element, element.rates, steps * plan.step):
                step = round(start / plan.step)
                if step < steps:
                    changes.setdefault(step, {})[i] = float(round_down(rate * plan.step, plan.quantum))
    return changes


def _trace_values(trace: RateTrace | DelayTrace, values: Sequence[float], end: float) -> Iterator[tuple[float, float]]:
    """Yield the times of a trace up to the end of a run, s, and the values from then on."""
    for n in itertools.count():
        base = n * trace.period if n else 0.0
        for start, value in zip(trace.times, values, strict=True):
            if base + start >= end:
                return
            yield base + start, value
        if trace.period == math.inf:
            return


def _set_rates(plan: FluidPlan, rates: Mapping[int, float]) -> None:
    """Set the rates of links, packets per step by position, in the state of a plan."""
    links, queues = plan.network.links, plan.network.queues
    for i, rate in rates.items():
        links["rate"][i] = links["pace"][i] = rate
        if i < plan.per_flow_links:
            queues["service"][plan.queues_at(i)] = rate


def _delay_changes(plan: FluidPlan, steps: int) -> dict[int, dict[int, float]]:
    """Return by step the new steps from queues to the next queues in a run.

    Times are rounded to whole steps. A delay decreases by one step per step, as packets keep their order.
    """
    changes: dict[int, dict[int, float]] = {}
    for queue in delayed_queues(plan):
        lengths = _lengths(queue, plan.step, steps)
        current = queue.steps
        for n, (step, length) in enumerate(lengths):
            end = lengths[n + 1][0] if n + 1 < len(lengths) else steps
            while step < end and current != length:
                current = max(length, current - 1.0)
                changes.setdefault(step, {})[queue.number] = length
                step += 1
    return changes


def _lengths(queue: DelayedQueue, h: float, steps: int) -> list[tuple[int, float]]:
    """Return (step, steps to the next queue for packets from then on) of a queue; of several in a step the last one."""
    delays: dict[int, float] = {0: 0.0}
    for start, delay in _trace_values(queue.trace, queue.trace.delays, (steps + queue.steps) * h):
        delays[max(0, round(start / h - queue.steps))] = delay
    return [(step, queue.steps + delay / h) for step, delay in sorted(delays.items())]


def _set_delays(plan: FluidPlan, k: int, lengths: Mapping[int, float]) -> None:
    """Set the steps from queues to the next queues in the state of a plan before its step ``k``.

    A delay does not become shorter than that of the last packet in flight.
    """
    queues, wire = plan.network.queues, plan.network.wire
    for c, length in lengths.items():
        queue = queues[c]
        lag = int(queue["lag"])
        sent = float(_sent(plan)[c])
        last = wire[(k - 1 + lag) % len(wire), c] if k else sent
        if length < lag + 1.0 - queue["weight"]:
            rows = [wire[(k + n) % len(wire), c] for n in range(lag)]
            length = max(length, float(bisect.bisect_left(rows, last)))
        queue_lag, fraction = integer_and_fraction(length)
        for n in range(lag, int(queue_lag)):
            wire[(k + n) % len(wire), c] = sent
        queue["lag"], queue["weight"] = queue_lag, 1.0 - fraction
