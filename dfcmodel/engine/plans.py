"""From a scenario to the engine's records and arrays: a plan for a step, with the state at t = 0."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.expected_marks import with_expected_marks
from dfcmodel.engine.fluid import nearest_steps
from dfcmodel.engine.kernel.records import (
    ACK,
    BAND,
    COLUMNS,
    LOSS,
    MARKABLE,
    NO_FEEDBACK,
    PAUSE,
    SWITCH,
    WINDOW,
    Feedback,
    Network,
    Order,
    Service,
    Transport,
)
from dfcmodel.engine.layouts import Layout, layout_of
from dfcmodel.engine.link_tables import (
    feedback,
    largest_holds,
    link_records,
    manager_records,
    order_rows,
    power_of_two,
    queue_records,
    traced_ways,
)
from dfcmodel.engine.pause_tables import pauses, reserve_rooms
from dfcmodel.engine.sender_tables import (
    emission_memory,
    flow_records,
    in_steps,
    schedules,
    switching_times,
)
from dfcmodel.network.callback_events import Signature
from dfcmodel.network.endpoints.sources import CBR, OnOff
from dfcmodel.network.flows import rules_of
from dfcmodel.network.queueing.disciplines import manager_of
from responsefn.rule_events import signatures_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.fluid import Fluid
    from dfcmodel.network.links import Link
    from dfcmodel.network.networks import Scenario
    from responsefn.rule_events import RuleSignature

    Floats = NDArray[np.float64]

__all__ = ["Plan", "compile_scenario"]

FINEST = 26
"""Amounts are multiples of 2^-26 packets, or coarser where sums would not be exact."""
STRETCHES = 1024
"""Stretches with losses that a queue remembers until the receiver knows of them; more are joined."""
SWITCHES = 2**14
"""Pauses and resumes for which there is room; a run stops now and then to put them by."""


@dataclass(frozen=True)
class Plan:
    """A scenario prepared for a step.

    Attributes
    ----------
    scenario, steps_per_delay, step
        What was prepared; h in s.
    quantum
        Amounts of packets are multiples of it.
    layout
        How queues and links are numbered.
    rules
        Signatures of the rules of its senders.
    min_rto
        Smallest timeout in s; inf: there are none.
    managers
        Its queue managers.
    network, transport, service, order, shared, feedback
        The state at t = 0 (`kernel.records`); ``transport.events`` and ``service.managers`` are empty.
    """

    scenario: Scenario
    steps_per_delay: int
    step: float
    quantum: float
    layout: Layout
    rules: tuple[RuleSignature, ...]
    managers: tuple[Signature, ...]
    min_rto: float
    network: Network
    transport: Transport
    service: Service
    order: Order
    shared: Floats
    feedback: Feedback


def compile_scenario(
    scenario: Scenario,
    fluid: Fluid,
    rng: np.random.Generator,
    *,
    duration: float | None = None,
    starts: Floats | None = None,
    packet_jitter: float = 0.0,
) -> Plan:
    """Return the plan of a scenario: what the engine runs, with the state at t = 0.

    Parameters
    ----------
    scenario, fluid
        What to simulate, and how.
    rng
        Draws the phases of feedback clocks, on/off times and seeds.
    duration
        In s; None is the scenario's.
    starts
        Start times of the flows in s, shape (F,); None: the scenario's.
    packet_jitter
        Longest random delay of a packet at its sender, s.

    Raises
    ------
    ValueError
        Where the delay of a link with DFC, its feedback period, is more than 1 % away from a multiple
        of the step.
    """
    if fluid.marks == "expected":
        scenario = with_expected_marks(scenario)
    end = scenario.duration if duration is None else duration
    h = fluid.step_of(scenario)
    quantum = finest_quantum(scenario, end)
    layout = layout_of(
        scenario,
        [_in_steps(link, h) for link in scenario.links],
        [_transmission(link, fluid) / h for link in scenario.links],
    )
    links = link_records(scenario, layout, h, quantum)
    queues = queue_records(scenario, layout, links, h, quantum)
    traced, held = set[int](), [0.0]
    if scenario.elements:
        traced = {way.queue for way in traced_ways(scenario, layout)}
        held = largest_holds(scenario)
    _let_lags_differ(layout, links, traced)
    host_pace = queues["service"][: len(scenario.flows)].copy()
    feedback = _feedback(scenario, layout, h, quantum, host_pace, rng)
    if len(feedback.pauses):
        reserve_rooms(scenario, layout, links, feedback.pauses, h, quantum)
    rules = signatures_of(rules_of(scenario.flows))
    if starts is None:
        starts = scenario.table.numbers("start")
    starts = starts + scenario.handshake_times()
    flows, log, holes = flow_records(scenario, layout, rules, in_steps(starts, h), h, fluid)
    _begin_waits_and_losses(flows, packet_jitter / h, rng)
    switched = switching_times(scenario, starts, end, rng)
    schedule = schedules(scenario, flows, switched, h, quantum)
    if packet_jitter > 0.0:
        flows["seed"] = rng.integers(1, 2**31 - 1, len(flows))
    managers: tuple[Signature, ...] = ()
    if any(manager_of(link.discipline) for link in scenario.link_table.kinds):
        managers = manager_records(scenario, layout, links)
    service = _service(layout, links, traced, rng)
    if packet_jitter > 0.0:
        _draw_losers(links, fluid, rng)
    return Plan(
        scenario=scenario,
        steps_per_delay=fluid.steps_per_delay,
        step=h,
        quantum=quantum,
        layout=layout,
        rules=rules,
        managers=managers,
        min_rto=float(scenario.min_rto) if fluid.timeouts else math.inf,
        network=_network(layout, flows, queues, links, max(held) / h),
        transport=_transport(scenario, layout, h, sum(held), (log, holes, schedule)),
        service=service,
        order=_order(layout, len(service.bands), order_rows(links, layout, quantum, end / h)),
        shared=_shared(layout, flows),
        feedback=feedback,
    )


def _begin_waits_and_losses(flows: Any, jitter: float, rng: Any) -> None:
    """Give window-controlled flows random waits of up to ``jitter`` steps, all a part of a lost packet."""
    window = flows["source"] == WINDOW
    flows["jitter"] = np.where(window, jitter, 0.0)
    flows["fractional_loss"] = rng.random(len(flows))


def _draw_losers(links: Any, fluid: Fluid, rng: Any) -> None:
    """Let links without a manager draw the flows that lose whole packets."""
    if fluid.whole_losses:
        seeds = rng.integers(1, 2**31 - 1, len(links))
        links["loss_seed"] = np.where(links["manager"] < 0, seeds, 0)


def _let_lags_differ(layout: Layout, links: Any, traced: set[int]) -> None:
    """Let links whose flows share send each at its lag where those of some queues change."""
    for i, (first, end) in enumerate(layout.queues.tolist() if traced else ()):
        if not traced.isdisjoint(range(first, end)):
            links["lag"][i], links["weight"][i] = -1, 1.0


def _network(layout: Layout, flows: Any, queues: Any, links: Any, hold: float) -> Network:
    """Return flows, queues and links, and nothing on the wires, which traces lengthen by at most ``hold`` steps."""
    ring = power_of_two(int(layout.lag.max()) + math.ceil(hold) + 2)
    return Network(
        flows=flows,
        queues=queues,
        links=links,
        wire=np.zeros((ring, len(layout.up))),
        losses=np.zeros((len(layout.up), STRETCHES), dtype=LOSS),
        path=layout.path,
        origin=layout.up.astype(np.uint64),
        drops=np.array([[math.nan], [math.nan], [0.0]]) * np.ones(len(layout.up)),
    )


def _transport(scenario: Scenario, layout: Layout, h: float, held: float, tables: tuple[Any, Any, Any]) -> Transport:
    """Return what the ends of flows remember: no ACKs on their way, nothing emitted.

    Traces lengthen a way by at most ``held`` s in all; ``tables`` are the emission logs, the holes and the rates over time.
    """
    F, (log, holes, schedule) = len(scenario.flows), tables
    longest = int((layout.ack_lag + layout.forward()).max()) + math.ceil(held / h)
    return Transport(
        acks=np.zeros((power_of_two(int(layout.ack_lag.max()) + 1), F), dtype=ACK),
        emitted=np.zeros((emission_memory(scenario, longest, h), F)),
        log=log,
        holes=holes,
        schedule=schedule,
        events=None,
    )


def _service(layout: Layout, links: Any, traced: set[int], rng: np.random.Generator) -> Service:
    """Return in which order queues are served, all of them empty; lags of ``traced`` ones change."""
    bands = np.zeros(len(layout.bands), dtype=BAND)
    for name, column in zip(("link", "rank", "first", "end"), layout.bands.T, strict=True):
        bands[name] = column
    return Service(
        blocks=layout.blocks([bool(link["shared"]) for link in links], traced),
        bands=bands,
        overflowing=np.zeros(len(links), dtype=np.int64),
        seed=rng.integers(1, 2**31 - 1, 1),
        managers=None,
        rows=None,
        total=None,
        shared=None,
    )


def _order(layout: Layout, bands: int, rows: int) -> Order:
    """Return orders of queues that hold nothing, of so many steps."""
    return Order(rows=np.zeros((rows, len(layout.up))), total=np.zeros((rows, bands)))


def _shared(layout: Layout, flows: Any) -> Floats:
    """Return the columns of queues that share; columns are never a power of two apart."""
    C = len(layout.up)
    shared = np.zeros((COLUMNS, C + 8 + C % 2))
    shared[MARKABLE, :C] = (flows["source"] != NO_FEEDBACK)[layout.flow_of]
    return shared


def _feedback(
    scenario: Scenario,
    layout: Layout,
    h: float,
    quantum: float,
    host_pace: Floats,
    rng: np.random.Generator,
) -> Feedback:
    """Return who tells whom, and when; no pause is on."""
    tables = feedback(scenario, layout, h, rng)
    stops = np.zeros(0, dtype=PAUSE)
    if any(link.discipline.pauses_links for link in scenario.link_table.kinds):
        stops = pauses(scenario, layout, h, quantum)
    longest = max([*stops["wait"].tolist(), 1])
    pausing = np.zeros((power_of_two(longest + 3), len(stops)))
    switches = np.zeros(max(SWITCHES, len(stops)) if len(stops) else 0, dtype=SWITCH)
    return Feedback(
        **tables, pauses=stops, pausing=pausing, switches=switches,
        switched=np.zeros(1, dtype=np.int64), host_pace=host_pace,
    )  # fmt: skip


def _in_steps(link: Link, h: float) -> float:
    """Return the delay of a link in steps; one with DFC has whole steps, its feedback period."""
    if link.discipline.diffuses:
        return whole_steps(f"delay of link {link.name}", link.delay, h)
    return link.delay / h


def _transmission(link: Link, fluid: Fluid) -> float:
    """Return what store-and-forward adds to a link's delay, in s; links with DFC keep that of the law."""
    keeps_delay = link.discipline.diffuses or not fluid.store_and_forward
    return 0.0 if keeps_delay else 0.5 / link.rate


def whole_steps(name: str, time: float, h: float) -> int:
    """Return a delay in steps; warn when it had to be rounded, refuse beyond 1 %."""
    steps = nearest_steps(name, time, h)
    error = abs(steps * h / time - 1.0)
    if error > 1e-9:
        msg = f"{name} = {time:g} s is rounded to {steps} steps of {h:g} s, {100 * error:.2g} % off"
        warnings.warn(msg, stacklevel=4)
    return steps


def finest_quantum(scenario: Scenario, end: float) -> float:
    """Return the finest power of two, at most 2^-26, for which all sums are exact in float64."""
    table = scenario.table
    first = scenario.by_link(lambda link: link.rate)[scenario.routes.first]
    rates = table.each("source", lambda source: source.rate if isinstance(source, (CBR, OnOff)) else math.nan)
    peaks = np.where(np.isnan(rates), table.numbers("max_window") / scenario.base_rtts(), rates)
    packets = 2.0 * len(table) * np.maximum(first, np.minimum(peaks, 8 * first)) * end
    return 2.0 ** -min(FINEST, 51 - math.ceil(math.log2(max(1.0, float(packets.max())))))
