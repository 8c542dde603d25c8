"""The senders at t = 0: records of flows, windows and constant rates over time, and the events of their rules.

An event applies a function of a rule to the record of a flow, ``w``: its state from w[0] on (of a rate rule the rate stands
instead of the window), its parameters from w[16] on.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

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
from dfcmodel.engine.settings import check_recovery
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

    from dfcmodel.engine.settings import Fluid
    from dfcmodel.network.networks import Scenario

    Floats = NDArray[np.float64]

__all__ = ["RECOVERY", "RECOVERY_NAMES", "emission_memory", "flow_records", "in_steps", "schedules", "source_events_of"]

RECOVERY = {"tahoe": TAHOE, "reno": RENO, "newreno": NEWRENO, "sack": SACK}
RECOVERY_NAMES = {number: name for name, number in RECOVERY.items()}
SAME_STEP = 1e-6
"""Part of a step: a start that is this near to the beginning of one is there."""
LONGEST_MEMORY = 2**16
"""Steps: a round-trip time is told exactly up to this, or twice that of empty queues."""


def in_steps(times: Any, h: float) -> Any:
    """Return times in steps: whole numbers where only rounding makes a difference."""
    steps = np.asarray(times, dtype=float) / h
    nearest = np.round(steps)
    return np.where(np.abs(steps - nearest) < SAME_STEP, nearest, steps)


def flow_records(
    scenario: Scenario,
    layout: Any,
    rules: tuple[RuleSignature, ...],
    starts: Floats,
    h: float,
    fluid: Fluid,
) -> tuple[Any, Any, Any]:
    """Return the flows' records, the emission logs and the rings of holes; ``starts`` in steps of ``h`` s.

    A flow that starts when a part of its first step is over sends that part of its first window in
    the next one.
    """
    table = scenario.table
    line_rates = scenario.by_link(lambda link: link.rate)[scenario.routes.first]
    paths = line_rates, layout.round_trips(), scenario.slowest_rates, _room_behind_first_links(scenario)
    first, group = table.alike("source", "max_window", "initial_window", "ssthresh", "delayed_acks", *paths)
    rows = np.zeros(len(first), dtype=FLOW)
    for row, f in zip(rows, first.tolist(), strict=True):
        flow = scenario.flows[f]
        path = _Path(*(float(values[f]) for values in paths))
        if isinstance(flow.source, RateRule):
            _set_rate(row, flow.source, path.line_rate, rules)
        elif isinstance(flow.source, WindowRule):
            _set_window(row, flow, path, rules, (h, float(scenario.min_rto)), fluid)
    flows = rows[group]
    flows["start"], flows["flow_size"] = np.floor(starts), table.numbers("size")
    flows["deadline"], flows["finished"], flows["first_loss"] = np.inf, np.nan, np.nan
    begin, end = layout.path_at[:-1], layout.path_at[1:]
    flows["path_first"], flows["path_end"], flows["ack_lag"] = begin, end, layout.ack_lag
    flows["exit"] = np.arange(len(flows))
    flows["exit"][end > begin] = layout.path[end[end > begin] - 1]
    window = np.flatnonzero(flows["source"] == WINDOW)
    first_window = flows["cwnd"][window]
    part = 1.0 - starts[window] % 1.0
    flows["inflation"][window] = part * np.minimum(first_window, flows["max_window"][window]) - first_window
    cells = flows["holes_mask"][window] + 1
    entries = np.minimum(4096, np.maximum(64, cells))
    flows["log_mask"][window] = entries - 1
    flows["log_at"][window], flows["holes_at"][window] = np.cumsum(entries) - entries, np.cumsum(cells) - cells
    return flows, np.zeros(int(entries.sum()), dtype=STRETCH), np.zeros(int(cells.sum()), dtype=HOLE)


class _Path(NamedTuple):
    """The path of a flow: rate of its first link, steps of a round trip, its slowest rate, and packets that it can queue."""

    line_rate: float
    round_trip: float
    slowest_rate: float
    room: float


def _room_behind_first_links(scenario: Scenario) -> Floats:
    """Return the packets for which the links of each path but the first have room, (F,)."""
    buffers = [scenario.buffer_of(n) for n in range(len(scenario.links))]
    return np.array([sum(buffers[n] for n in route[1:]) for route in scenario.routes])


def _set_window(
    row: Any,
    flow: Flow,
    path: _Path,
    rules: tuple[RuleSignature, ...],
    times: tuple[float, float],
    fluid: Fluid,
) -> None:
    """Write the state of a window-controlled sender into its record; ``times``: the step and the smallest timeout, s."""
    source: Any = flow.source
    h, min_rto = times
    if fluid.recovery is None:
        check_recovery(f"recovery of {source!r}", source.recovery)
    rule = source.in_fluid()
    row["source"] = WINDOW
    row["timed_seq"] = row["recover"] = -1.0
    row["backoff"] = 1.0
    row["rto"] = min_rto if fluid.timeouts else np.inf
    row["acks_each"] = acks_per_packet(flow)
    row["offset"] = np.nan
    row["max_window"] = flow.max_window
    # the rule must see each ACK, within the windows for which the path has room
    largest = float(min(flow.max_window, path.slowest_rate * path.round_trip * h + path.room))
    row["single_acks"] = acts_on_single_acks(rule, path.round_trip * h, path.slowest_rate, largest, path.round_trip)
    row["rule"] = rules.index(signature_of(source))
    row["recovery"] = RECOVERY[fluid.recovery or source.recovery]
    row["lost_in_pipe"] = fluid.pipe == "fall1996"
    row["holes_mask"] = (1 << math.ceil(math.log2(2 + 2 * flow.max_window))) - 1
    _set_state(row, rule, first_state(flow, path.round_trip * h))


def _set_state(row: Any, rule: Any, state: Any) -> None:
    """Write the first state of a rule and its parameters into a flow's record."""
    begin = [float(value) for value in state]
    for name, value in zip(("cwnd", "ssthresh"), begin, strict=False):
        row[name] = value
    row["rule_state"][: max(0, len(begin) - 2)] = begin[2:]
    values = list(numbers_of(rule).values())
    row["parameters"][: len(values)] = values


def _set_rate(row: Any, rule: Any, line_rate: float, rules: tuple[RuleSignature, ...]) -> None:
    """Write what is a rate-controlled sender's into its record."""
    row["source"] = RATE_RULE
    row["rule"] = rules.index(signature_of(rule))
    row["max_window"] = line_rate
    _set_state(row, rule, rule.start(line_rate))


def emission_memory(scenario: Scenario, base: int, h: float) -> int:
    """Return for how many steps emissions are remembered: four times what full buffers hold up."""
    rooms = [scenario.room_of(n) for n in range(len(scenario.links))]
    windows = np.where(scenario.table.of_kind(WindowRule), scenario.table.numbers("max_window"), np.inf)
    full = float((np.minimum(windows, scenario.on_path(rooms)) / scenario.slowest_rates).max())
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
            switched = _end_at_stop(switched, flow.stop)
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


def _end_at_stop(switched: list[float], stop: float) -> list[float]:
    """Return the times at which a source is switched on, off, on, ..., s, with off from ``stop`` on."""
    before = [time for time in switched if time < stop]
    return [*before, stop] if len(before) % 2 and stop < math.inf else before


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
    return [(step, math.floor(amount / quantum) * quantum) for step, amount in sorted(amounts.items())]


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
