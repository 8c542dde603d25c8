"""The senders at t = 0: records of flows, windows and constant rates over time, and the events of their rules.

An event applies a function of a rule to the record of a flow, ``w``: its state from w[0] on (of a rate rule the rate stands
instead of the window), its parameters from w[16] on.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.fluid import check_recovery
from dfcmodel.engine.kernel.records import (
    EVENTS,
    FLOW,
    HOLE,
    NEWRENO,
    ON_ACK,
    ON_FEEDBACK,
    ON_LOSS,
    ON_MARK,
    ON_MARKED_WINDOW,
    ON_SINGLE_ACK,
    ON_TIME,
    RATE,
    RATE_RULE,
    RENO,
    SACK,
    STRETCH,
    TAHOE,
    WINDOW,
)
from dfcmodel.network.endpoints.sources import CBR, OnOff
from dfcmodel.network.flows import Flow, acks_per_packet, first_state
from responsefn import Elapsed, Feedback, RateRule, WindowRule
from responsefn.rule_events import (
    RuleSignature,
    event_of,
    events_of,
    numbers_of,
    signature_of,
)
from responsefn.rules.deliveries.delivery_rule import answers_marks
from responsefn.single_acks import acts_on_single_acks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.fluid import Fluid
    from dfcmodel.engine.layouts import Layout
    from dfcmodel.network.networks import Scenario

    Floats = NDArray[np.float64]

__all__ = [
    "RECOVERY",
    "RECOVERY_NAMES",
    "emission_memory",
    "flow_records",
    "in_steps",
    "schedules",
    "source_events_of",
]

RECOVERY = {"tahoe": TAHOE, "reno": RENO, "newreno": NEWRENO, "sack": SACK}
RECOVERY_NAMES = {number: name for name, number in RECOVERY.items()}
SAME_STEP = 1e-6
"""Part of a step: a start that is this near to the beginning of one is there."""
LONGEST_MEMORY = 2**16
"""Steps: a round-trip time is told exactly up to this, or twice that of empty queues."""


def in_steps(times: Any, h: float) -> Any:
    """Return times in steps: whole ones where only rounding makes a difference."""
    steps = np.asarray(times, dtype=float) / h
    whole = np.round(steps)
    return np.where(np.abs(steps - whole) < SAME_STEP, whole, steps)


def flow_records(
    scenario: Scenario,
    layout: Layout,
    rules: tuple[RuleSignature, ...],
    starts: Floats,
    h: float,
    fluid: Fluid,
) -> tuple[Any, Any, Any]:
    """Return the flows' records, the emission logs and the rings of holes; ``starts`` in steps of ``h`` s.

    A flow that starts when a part of its first step is over sends that part of its first window in
    the next one.
    """
    flows = np.zeros(len(scenario.flows), dtype=FLOW)
    logs = holes = 0
    for f, (flow, start) in enumerate(zip(scenario.flows, starts, strict=True)):
        row = flows[f]
        row["start"] = math.floor(start)
        row["flow_size"] = flow.size
        row["deadline"] = np.inf
        row["finished"] = row["first_loss"] = np.nan
        row["path_first"], row["path_end"] = layout.path_at[f : f + 2]
        row["exit"] = layout.path[row["path_end"] - 1] if row["path_end"] > row["path_first"] else f
        row["ack_lag"] = layout.ack_lag[f]
        if isinstance(flow.source, RateRule):
            _set_rate(row, flow.source, scenario.path(flow)[0].rate, rules)
        if not isinstance(flow.source, WindowRule):
            continue
        if fluid.recovery is None:
            check_recovery(f"recovery of {flow.source!r}", flow.source.recovery)
        row["source"] = WINDOW
        row["timed_seq"] = row["recover"] = -1.0
        row["backoff"] = 1.0
        row["rto"] = scenario.min_rto if fluid.timeouts else np.inf
        row["acks_each"] = acks_per_packet(flow)
        row["offset"] = np.nan
        row["max_window"] = flow.max_window
        row["single_acks"] = _needs_single_acks(flow, flow.source.in_fluid(), scenario, layout.round_trip(f), h)
        row["rule"] = rules.index(signature_of(flow.source))
        row["recovery"] = RECOVERY[fluid.recovery or flow.source.recovery]
        row["lost_in_pipe"] = fluid.pipe == "fall1996"
        cells = 1 << math.ceil(math.log2(2 + 2 * flow.max_window))
        entries = min(4096, max(64, cells))
        row["log_at"], row["log_mask"] = logs, entries - 1
        row["holes_at"], row["holes_mask"] = holes, cells - 1
        logs, holes = logs + entries, holes + cells
        source = flow.source.in_fluid()
        begin = _set_state(row, source, first_state(flow, layout.round_trip(f) * h))
        row["inflation"] = (1.0 - start % 1.0) * min(begin[0], flow.max_window) - begin[0]
    return flows, np.zeros(logs, dtype=STRETCH), np.zeros(holes, dtype=HOLE)


def _needs_single_acks(flow: Flow, rule: WindowRule, scenario: Scenario, steps: float, h: float) -> bool:
    """Return whether a flow's rule must see each ACK, within the windows that its path has room for.

    ``steps``: of ``h`` seconds, in a round trip.
    """
    path = scenario.path(flow)
    rate = min(link.rate for link in path)
    room = rate * steps * h + sum(scenario.buffer_of(n) for n in scenario.path_index(flow)[1:])
    largest = float(min(flow.max_window, room))
    return acts_on_single_acks(rule, steps * h, rate, largest, float(steps))


def _set_state(row: Any, rule: Any, state: Any) -> list[float]:
    """Write the first state of a rule and its parameters into a flow's record; return the state."""
    begin = [float(value) for value in state]
    for name, value in zip(("cwnd", "ssthresh"), begin, strict=False):
        row[name] = value
    row["rule_state"][: max(0, len(begin) - 2)] = begin[2:]
    values = list(numbers_of(rule).values())
    row["parameters"][: len(values)] = values
    return begin


def _set_rate(row: Any, rule: Any, line_rate: float, rules: tuple[RuleSignature, ...]) -> None:
    """Write what is a rate-controlled sender's into its record."""
    row["source"] = RATE_RULE
    row["rule"] = rules.index(signature_of(rule))
    row["max_window"] = line_rate
    _set_state(row, rule, rule.start(line_rate))


def emission_memory(scenario: Scenario, base: int, h: float) -> int:
    """Return for how many steps emissions are remembered: four times what full buffers hold up."""
    full = 0.0
    for flow in scenario.flows:
        path = scenario.path(flow)
        waits = sum(scenario.room_of(n) for n in scenario.path_index(flow))
        if isinstance(flow.source, WindowRule):
            waits = min(flow.max_window, waits)
        full = max(full, waits / min(link.rate for link in path))
    steps = max(2 * base, min(LONGEST_MEMORY, base + 4 * full / h))
    return 1 << math.ceil(math.log2(steps + 2))


def switching_times(scenario: Scenario, begin: Floats, end: float, rng: np.random.Generator) -> list[list[float]]:
    """Return the times at which flows without window are switched on, off, on, ..., s; none for the others."""
    times = []
    for f, flow in enumerate(scenario.flows):
        switched: list[float] = []
        if isinstance(flow.source, (CBR, OnOff)):
            now, on = float(begin[f]), True
            switched = [now]
            while isinstance(flow.source, OnOff) and now < end:
                mean = flow.source.on if on else flow.source.off
                now += rng.exponential(mean) if flow.source.random else mean
                on = not on
                switched.append(now)
            switched = _stopped(switched, flow.stop)
        times.append(switched)
    return times


def schedules(scenario: Scenario, flows: Any, switched: list[list[float]], h: float, quantum: float) -> Any:
    """Return the rates over time of the flows without window, and write into their records where theirs are."""
    rows: list[tuple[float, float]] = []
    for f, flow in enumerate(scenario.flows):
        flows["schedule_now"][f] = len(rows)
        if isinstance(flow.source, (CBR, OnOff)):
            rows += _in_rows(in_steps(switched[f], h), flow.source.rate * h, quantum)
        rows.append((np.inf, 0.0))
        flows["schedule_end"][f] = len(rows)
    return np.array(rows, dtype=RATE)


def _stopped(switched: list[float], stop: float) -> list[float]:
    """Return the times at which a source is switched on, off, on, ..., s, with off from ``stop`` on."""
    kept = [time for time in switched if time < stop]
    return [*kept, stop] if len(kept) % 2 and stop < math.inf else kept


def _in_rows(switched: Floats, pace: float, quantum: float) -> list[tuple[float, float]]:
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
    return [(step, math.floor(each / quantum) * quantum) for step, each in sorted(amounts.items())]


def source_events_of(signatures: tuple[RuleSignature, ...], *, compiled: bool = True) -> Any:
    """Return the events of window and rate rules: addresses, or Python functions; 0 for none.

    Parameters
    ----------
    signatures
        Classes of rules and the names of their parameters (`responsefn.rule_events`).
    compiled
        False returns plain Python functions, which take a flow's record.

    Returns
    -------
    numpy.ndarray
        Shape (rules, `kernel.records.EVENTS`); at least one row.
    """
    shape = (max(1, len(signatures)), EVENTS)
    table = np.empty(shape, dtype=np.uint64 if compiled else object)
    table.fill(0)
    for row, signature in zip(table, signatures, strict=False):
        rule = signature[0]
        if issubclass(rule, RateRule):
            row[ON_FEEDBACK] = event_of(signature, rule.on_feedback, Feedback._fields, compiled)
            row[ON_TIME] = event_of(signature, rule.on_time, Elapsed._fields, compiled)
            continue
        row[:ON_MARK] = events_of((signature,), compiled=compiled)[0]
        row[ON_MARKED_WINDOW] = row[ON_LOSS]
        row[ON_SINGLE_ACK] = events_of((signature,), several=False, compiled=compiled)[0, ON_ACK]
        if rule.signal == "mark":
            row[ON_LOSS] = event_of(signature, rule.on_drop, Feedback._fields, compiled)
        if answers_marks(rule):
            row[ON_MARK] = event_of(signature, rule.on_mark, Feedback._fields, compiled)
    return table
