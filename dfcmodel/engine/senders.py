"""The senders at t = 0: their state in the records of flows, rates over time without windows, and events of rules.

An event applies a function of a rule to the record of a flow, ``w``: its state from w[0] on (of a rate rule the rate
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
from dfcmodel.engine.settings import check_recovery, round_down
from dfcmodel.network.endpoints.sources import CBR, OnOff
from dfcmodel.network.flows import Flow, acks_per_packet, first_state
from responsefn import Elapsed, Feedback, RateRule, WindowRule
from responsefn.rule_events import RuleSignature, event_of, events_of, numbers_of, signature_of
from responsefn.rules.deliveries.delivery_rule import answers_marks
from responsefn.single_acks import acts_on_single_acks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dfcmodel.engine.settings import Fluid
    from dfcmodel.network.networks import Scenario

    Floats = NDArray[np.float64]

__all__ = ["RECOVERY_NAMES", "emission_memory", "rate_schedules", "sender_records", "source_events_of"]

RECOVERY = {"tahoe": TAHOE, "reno": RENO, "newreno": NEWRENO, "sack": SACK}
RECOVERY_NAMES = {number: name for name, number in RECOVERY.items()}
PATH_FIELDS = ("path_first", "path_end", "exit", "ack_lag")
"""Fields of a flow that its path determines."""
START_TOLERANCE = 1e-6
"""Part of a step: a start that is this near to the beginning of a step is rounded to it."""
LONGEST_MEMORY = 2**16
"""Steps up to which a round-trip time is exact, or twice that of empty queues."""
LOG_ENTRIES = 64, 4096
"""Smallest and largest number of entries of the emission log of a flow."""


def sender_records(
    flows: Any,
    scenario: Scenario,
    round_trips: Floats,
    rules: tuple[RuleSignature, ...],
    starts: Floats,
    h: float,
    fluid: Fluid,
) -> tuple[Any, Any]:
    """Write the senders' state to the records of flows; return emission logs and memory for sequence holes.

    A flow that starts within a step sends the corresponding fraction of its first window in the next step.

    Parameters
    ----------
    flows
        Records, (F,), of which the fields of paths are set.
    scenario, fluid
        The scenario and the settings.
    round_trips
        With empty queues, in steps, (F,).
    rules
        Signatures of the rules.
    starts
        Start times in s, (F,).
    h
        The time step, s.
    """
    table = scenario.table
    line_rates = scenario.link_table.rates[scenario.routes.first]
    buffers = [scenario.buffer_of(n) for n in range(len(scenario.links))]
    buffers_behind = np.array([sum(buffers[n] for n in route[1:]) for route in scenario.routes])
    paths = line_rates, round_trips, scenario.slowest_rates, buffers_behind
    # Senders that differ in nothing but their names are set up once.
    first, group = table.alike("source", "max_window", "initial_window", "ssthresh", "delayed_acks", *paths)
    rows = np.zeros(len(first), dtype=FLOW)
    for row, f in zip(rows, first.tolist(), strict=True):
        flow = scenario.flows[f]
        source: Any = flow.source
        path = _Path(*(float(values[f]) for values in paths))
        if isinstance(flow.source, (RateRule, WindowRule)):
            row["rule"] = rules.index(signature_of(source))
        if isinstance(flow.source, RateRule):
            row["source"] = RATE_RULE
            row["max_window"] = path.line_rate
            _set_state(row, source, source.start(path.line_rate))
        elif isinstance(flow.source, WindowRule):
            _set_window(row, flow, path, h, float(scenario.min_rto), fluid)
    senders = rows[group]
    for name in PATH_FIELDS:
        senders[name] = flows[name]
    flows[:] = senders
    starts = _in_steps(starts, h)
    flows["start"], flows["flow_size"] = np.floor(starts), table.numbers("size")
    flows["deadline"], flows["finished"], flows["first_loss"] = np.inf, np.nan, np.nan
    window = np.flatnonzero(flows["source"] == WINDOW)
    first_window = flows["cwnd"][window]
    fraction = 1.0 - starts[window] % 1.0
    flows["inflation"][window] = fraction * np.minimum(first_window, flows["max_window"][window]) - first_window
    cells = flows["holes_mask"][window] + 1
    entries = np.clip(cells, *LOG_ENTRIES)
    flows["log_mask"][window] = entries - 1
    flows["log_at"][window], flows["holes_at"][window] = np.cumsum(entries) - entries, np.cumsum(cells) - cells
    return np.zeros(int(entries.sum()), dtype=STRETCH), np.zeros(int(cells.sum()), dtype=HOLE)


class _Path(NamedTuple):
    """Numbers of a flow's path: line rate, packets/s, round trip, steps, slowest rate, buffers behind link 1, packets.

    line_rate: of its first link, packets/s; round_trip: with empty queues, steps; slowest_rate: packets/s; buffers: of
    the links behind the first one, packets.
    """

    line_rate: float
    round_trip: float
    slowest_rate: float
    buffers: float


def _set_window(row: Any, flow: Flow, path: _Path, h: float, min_rto: float, fluid: Fluid) -> None:
    """Write the initial state of a window sender to its row; ``h`` is the step and ``min_rto`` a limit, both s."""
    source: Any = flow.source
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
    # The rule must get each ACK by itself up to the largest window that the path and its buffers hold.
    largest = float(min(flow.max_window, path.slowest_rate * path.round_trip * h + path.buffers))
    row["single_acks"] = acts_on_single_acks(rule, path.round_trip * h, path.slowest_rate, largest, path.round_trip)
    row["linux_timer"] = flow.stack is not None
    row["recovery"] = RECOVERY[fluid.recovery or source.recovery]
    row["lost_in_pipe"] = fluid.pipe == "fall1996"
    row["holes_mask"] = (1 << math.ceil(math.log2(2 + 2 * flow.max_window))) - 1
    _set_state(row, rule, first_state(flow, path.round_trip * h))


def _set_state(row: Any, rule: Any, state: Any) -> None:
    """Write the first state of a rule, then its parameters, to a flow's record."""
    values = [float(value) for value in state]
    for name, value in zip(("cwnd", "ssthresh"), values, strict=False):
        row[name] = value
    row["rule_state"][: max(0, len(values) - 2)] = values[2:]
    parameters = list(numbers_of(rule).values())
    row["parameters"][: len(parameters)] = parameters


def emission_memory(scenario: Scenario, base: int, h: float) -> int:
    """Return the steps of h s, a power of 2, to store emissions for: ``base`` and four times the queueing delay."""
    buffers = [scenario.room_of(n) for n in range(len(scenario.links))]
    windows = np.where(scenario.table.of_kind(WindowRule), scenario.table.numbers("max_window"), np.inf)
    full = float((np.minimum(windows, scenario.on_path(buffers)) / scenario.slowest_rates).max())
    steps = max(2 * base, min(LONGEST_MEMORY, base + 4 * full / h))
    return 1 << math.ceil(math.log2(steps + 2))


def _in_steps(times: Any, h: float) -> Any:
    """Return times, s, in steps of h s as floats, whole numbers if only rounding errors differ from them."""
    steps = np.asarray(times, dtype=float) / h
    nearest = np.round(steps)
    return np.where(np.abs(steps - nearest) < START_TOLERANCE, nearest, steps)


# Sources without windows: constant rates that are switched on and off.


def rate_schedules(
    flows: Any, scenario: Scenario, span: tuple[Floats, float], h: float, quantum: float, rng: np.random.Generator
) -> Any:
    """Return rows (step, packets per step) of sources without windows; ``span``: starts, end, s; set ranges in flows.

    ``span``: when the flows start, (F,), and when the run ends, s.
    """
    starts, end = span
    rows: list[tuple[float, float]] = []
    for f, flow in enumerate(scenario.flows):
        flows["schedule_now"][f] = len(rows)
        if isinstance(flow.source, (CBR, OnOff)):
            switches = [float(starts[f])]
            if isinstance(flow.source, OnOff):
                switches += _switching_times(flow.source, switches[0], end, rng)
            switches = [time for time in switches if time < flow.stop]
            if len(switches) % 2 and flow.stop < math.inf:
                switches.append(flow.stop)
            rows += _amounts(_in_steps(switches, h), flow.source.rate * h, quantum)
        rows.append((np.inf, 0.0))
        flows["schedule_end"][f] = len(rows)
    return np.array(rows, dtype=RATE)


def _switching_times(source: OnOff, start: float, end: float, rng: np.random.Generator) -> Iterator[float]:
    """Yield the times, s, at which a source that is on at ``start`` switches, up to the first beyond ``end``."""
    now, is_on = start, True
    while now < end:
        mean = source.on if is_on else source.off
        now += rng.exponential(mean) if source.random else mean
        is_on = not is_on
        yield now


def _amounts(switches: Floats, pace: float, quantum: float) -> list[tuple[float, float]]:
    """Return (step, packets per step from then on) of ``pace`` switched on, off, on, ... at ``switches``, steps."""
    amounts: dict[float, float] = {}
    for n, (start, end) in enumerate(itertools.pairwise([*switches, np.inf])):
        rate = pace if n % 2 == 0 else 0.0
        first, last = np.floor(start), np.floor(end)
        amounts[first] = amounts.get(first, 0.0) + rate * (min(end, first + 1.0) - start)
        if last > first:
            amounts[first + 1.0] = rate
        if first < last < np.inf:
            amounts[last] = rate * (end - last)
    return [(step, float(round_down(amount, quantum))) for step, amount in sorted(amounts.items())]


# Events of rules.


def source_events_of(signatures: tuple[RuleSignature, ...], *, compiled: bool = True) -> Any:
    """Return the table of events of window and rate rules, (rules, 6): addresses, or Python functions; 0: none.

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
