"""From a scenario to the engine's records and arrays: a plan for a step, with the state at t = 0."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.feedback_schedules import feedback, pauses
from dfcmodel.engine.kernel.records import (
    ACK,
    BAND,
    COLUMNS,
    LINK,
    LOSS,
    MARKABLE,
    NO_FEEDBACK,
    PER_FLOW_RATE,
    QUEUE,
    SHARED_FIFO,
    STORM,
    SWITCH,
    WINDOW,
    Feedback,
    Network,
    Order,
    Service,
    Transport,
)
from dfcmodel.engine.layouts import Layout, layout_of
from dfcmodel.engine.sender_tables import (
    emission_memory,
    flow_records,
    in_steps,
    schedules,
)
from dfcmodel.network.class_pauses import PFC
from dfcmodel.network.disciplines import DFC, FIFO, manager_of
from dfcmodel.network.flows import CBR, OnOff, rules_of
from dfcmodel.network.manager_events import ManagerSignature, manager_signature_of
from responsefn import WindowRule
from responsefn.responses.rule_events import signatures_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.fluid import Fluid
    from dfcmodel.network.networks import Link, Scenario
    from responsefn.responses.rule_events import RuleSignature

    Floats = NDArray[np.float64]

__all__ = ["Plan", "compile_scenario"]

FINEST = 26
"""Amounts are multiples of 2^-26 packets, or coarser where sums would not be exact."""
MAX_ROWS = 2**20
"""Rows of the order of what waits; beyond them steps share a row."""
SPARE_ROWS = 8
"""More rows than steps of a full buffer. Where a link waits longer, paused or at a rate of DFC, steps share a row."""
STRETCHES = 1024
"""Stretches with losses that a queue remembers until the receiver knows of them; more are joined."""
SWITCHES = 2**14
"""Pauses and resumes for which there is room; a run stops now and then to put them by."""
LARGEST_ROUNDING = 0.01


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
    host_pace
        Packets per step that hosts send when nobody pauses them, shape (F,).
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
    managers: tuple[ManagerSignature, ...]
    host_pace: Floats
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
    end = scenario.duration if duration is None else duration
    h = fluid.step_of(scenario)
    quantum = finest_quantum(scenario, end)
    whole = sends_whole_packets(scenario, fluid, packet_jitter)
    layout = layout_of(
        scenario,
        [_in_steps(link, h) for link in scenario.links],
        [_transmission(link, fluid) / h for link in scenario.links],
        whole_packets=whole,
    )
    links = _links(scenario, layout, h, quantum)
    queues = _queues(scenario, layout, links, h, quantum)
    hears = _feedback(scenario, layout, h, quantum, rng)
    _reserve(scenario, layout, links, hears.pauses)
    rules = signatures_of(rules_of(scenario.flows))
    if starts is None:
        starts = np.array([flow.start for flow in scenario.flows], dtype=float)
    flows, log, holes = flow_records(scenario, layout, rules, in_steps(starts, h), h, fluid)
    flows["jitter"] = np.where(flows["source"] == WINDOW, packet_jitter / h, 0.0)
    flows["fractional_loss"] = rng.random(len(flows))
    if whole:
        flows["fractional_loss"] = 0.5  # losses are whole packets
        flows["whole_packets"] = flows["source"] == WINDOW
        flows["wait_begin"] = np.inf
    schedule = schedules(scenario, flows, starts, h, end, quantum, rng)
    if packet_jitter > 0.0:
        flows["seed"] = rng.integers(1, 2**31 - 1, len(flows))
    managers = _managers(scenario, layout, links)
    service = _service(layout, links, rng)
    if whole or (fluid.whole_losses and packet_jitter > 0.0):
        seeds = rng.integers(1, 2**31 - 1, len(links))
        links["loss_seed"] = np.where(links["manager"] < 0, seeds, 0)
    if whole:
        links["whole_packets"] = links["kind"] == SHARED_FIFO
    return Plan(
        scenario=scenario,
        steps_per_delay=fluid.steps_per_delay,
        step=h,
        quantum=quantum,
        layout=layout,
        rules=rules,
        managers=managers,
        host_pace=queues["service"][: len(flows)].copy(),
        min_rto=float(scenario.min_rto) if fluid.timeouts else math.inf,
        network=_network(layout, flows, queues, links),
        transport=_transport(scenario, layout, h, log, holes, schedule),
        service=service,
        order=_order(layout, links, len(service.bands), quantum),
        shared=_shared(layout, flows),
        feedback=hears,
    )


def sends_whole_packets(scenario: Scenario, fluid: Fluid, packet_jitter: float) -> bool:
    """Return whether senders send, and queues drop, whole packets: TCP's, at random times, to FIFO queues."""
    fifo = all(type(link.discipline) is FIFO for link in scenario.links)
    tcp = any(isinstance(flow.source, WindowRule) for flow in scenario.flows)
    return fluid.whole_packets and packet_jitter > 0.0 and tcp and fifo


def _network(layout: Layout, flows: Any, queues: Any, links: Any) -> Network:
    """Return flows, queues and links, and nothing on the wires."""
    ring = _power_of_two(int(layout.lag.max()) + 2)
    return Network(
        flows=flows,
        queues=queues,
        links=links,
        wire=np.zeros((ring, len(layout.up))),
        losses=np.zeros((len(layout.up), STRETCHES), dtype=LOSS),
        path=layout.path,
        origin=layout.up.astype(np.uint64),
    )


def _transport(
    scenario: Scenario, layout: Layout, h: float, log: Any, holes: Any, schedule: Any
) -> Transport:
    """Return what the ends of flows remember: no ACKs on their way, nothing emitted."""
    F = len(scenario.flows)
    trips = [int(layout.ack_lag[f]) + layout.forward(f) for f in range(F)]
    return Transport(
        acks=np.zeros((_power_of_two(int(layout.ack_lag.max()) + 1), F), dtype=ACK),
        emitted=np.zeros((emission_memory(scenario, max(trips), h), F)),
        log=log,
        holes=holes,
        schedule=schedule,
        events=None,
    )


def _service(layout: Layout, links: Any, rng: np.random.Generator) -> Service:
    """Return in which order queues are served, all of them empty."""
    bands = np.zeros(len(layout.bands), dtype=BAND)
    for name, column in zip(("link", "rank", "first", "end"), layout.bands.T, strict=True):
        bands[name] = column
    return Service(
        blocks=layout.blocks([bool(link["shared"]) for link in links]),
        bands=bands,
        overflowing=np.zeros(len(links), dtype=np.int64),
        seed=rng.integers(1, 2**31 - 1, 1),
        managers=None,
    )


def _order(layout: Layout, links: Any, bands: int, quantum: float) -> Order:
    """Return orders of queues that hold nothing."""
    rows = _rows(links, layout, quantum)
    return Order(rows=np.zeros((rows, len(layout.up))), total=np.zeros((rows, bands)))


def _shared(layout: Layout, flows: Any) -> Floats:
    """Return the columns of queues that share; columns are never a power of two apart."""
    C = len(layout.up)
    shared = np.zeros((COLUMNS, C + 8 + C % 2))
    shared[MARKABLE, :C] = (flows["source"] != NO_FEEDBACK)[layout.flow_of]
    return shared


def _feedback(
    scenario: Scenario, layout: Layout, h: float, quantum: float, rng: np.random.Generator
) -> Feedback:
    """Return who tells whom, and when; no pause is on."""
    tables = feedback(scenario, layout, h, rng)
    stops = pauses(scenario, layout, h, quantum)
    longest = max([*stops["wait"].tolist(), 1])
    pausing = np.zeros((_power_of_two(longest + 3), len(stops)))
    switches = np.zeros(max(SWITCHES, len(stops)) if len(stops) else 0, dtype=SWITCH)
    return Feedback(
        **tables, pauses=stops, pausing=pausing, switches=switches,
        switched=np.zeros(1, dtype=np.int64),
    )  # fmt: skip


def _power_of_two(least: int) -> int:
    """Return the least power of two that is not less."""
    return 1 << math.ceil(math.log2(least))


def _in_steps(link: Link, h: float) -> float:
    """Return the delay of a link in steps; one with DFC has whole steps, its feedback period."""
    if isinstance(link.discipline, DFC):
        return whole_steps(f"delay of link {link.name}", link.delay, h)
    return link.delay / h


def _transmission(link: Link, fluid: Fluid) -> float:
    """Return what store-and-forward adds to a link's delay, in s; links with DFC keep that of the law."""
    kept = isinstance(link.discipline, DFC) or not fluid.store_and_forward
    return 0.0 if kept else 0.5 / link.rate


def whole_steps(name: str, time: float, h: float) -> int:
    """Return a delay in steps; warn when it had to be rounded, refuse beyond 1 %."""
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
        if isinstance(flow.source, (CBR, OnOff)):
            peak = flow.source.rate
        most = max(most, 2.0 * len(scenario.flows) * max(first, min(peak, 8 * first)) * end)
    return 2.0 ** -min(FINEST, 51 - math.ceil(math.log2(most)))


def _links(scenario: Scenario, layout: Layout, h: float, quantum: float) -> Any:
    """Return the records of the links at t = 0, those of shaped hosts last."""
    rows = layout.links(scenario)
    L = len(layout.order)
    links: Any = np.zeros(len(rows), dtype=LINK)
    links["rate"] = [math.floor(link.rate * h / quantum) * quantum for link in rows]
    links["pace"] = links["rate"]
    links["limit"] = [
        math.floor(link.buffer / quantum) * quantum if i < L else np.inf
        for i, link in enumerate(rows)
    ]
    links["kind"] = [*layout.queue_types, *([PER_FLOW_RATE] * len(layout.shaped))]
    links["shared"] = [link.shared for link in rows]
    links["first"], links["end"] = layout.queues.T
    links["per_buffer"] = np.where(links["shared"], links["end"] - links["first"], 1)
    links["first_band"], links["end_band"] = layout.bands_at[:-1], layout.bands_at[1:]
    links["first_pooled"] = links["first_band"]
    return links


def _reserve(scenario: Scenario, layout: Layout, links: Any, stops: Any) -> None:
    """Give the lossless classes of links with PFC rooms of their own."""
    for i, n in enumerate(layout.order):
        rule = scenario.links[n].discipline
        if not isinstance(rule, PFC):
            continue
        own = np.flatnonzero((stops["pausing"] == i) & (stops["held"] != STORM))
        first, end = layout.bands_at[i : i + 2]
        flows = layout.flow_of[layout.bands[first:end, 2]]
        lossless = sum(scenario.flows[f].priority in rule.classes for f in flows)
        links["first_pooled"][i] = first + lossless
        if len(own):
            links["first_ingress"][i], links["end_ingress"][i] = own[0], own[-1] + 1
            links["reserved"][i] = _reserved(scenario, layout, stops, n)


def _reserved(scenario: Scenario, layout: Layout, stops: Any, n: int) -> float:
    """Return the part of a link's buffer that its ingress has to itself, of links that are counted together."""
    together = scenario.counted_together(n)
    places = [i for i, m in enumerate(layout.order) if m in together]
    held = np.isin(stops["pausing"], places) & (stops["held"] != STORM)
    once = held & (stops["also"] <= np.arange(len(stops)))  # the last row of each circle
    part = scenario.links[n].buffer / sum(scenario.links[m].buffer for m in together)
    return float(part * stops["room"][once].sum())


def _queues(scenario: Scenario, layout: Layout, links: Any, h: float, quantum: float) -> Any:
    """Return the records of the queues at t = 0; the last is for messages that nobody receives."""
    queues: Any = np.zeros(len(layout.up) + 1, dtype=QUEUE)
    queues["peak"] = np.inf
    queues["origin"][:-1], queues["lag"][:-1] = layout.up, layout.lag
    queues["flow"][:-1], queues["link"][:-1] = layout.flow_of, layout.link_of
    for f, flow in enumerate(scenario.flows):
        pace = scenario.path(flow)[0].rate * h
        queues["service"][f] = (
            math.inf if flow.host == "direct" else math.floor(pace / quantum) * quantum
        )
    queues["weight"][:-1] = layout.weight
    for i, (first, end) in enumerate(layout.queues.tolist()):
        lags = {(queue["lag"], queue["weight"]) for queue in queues[first:end]}
        links["lag"][i], links["weight"][i] = next(iter(lags)) if len(lags) == 1 else (-1, 1.0)
    for i, link in enumerate(layout.links(scenario)):
        own = queues[slice(*layout.queues[i])]
        own["link_rate"] = link.rate * h
        dfc = isinstance(link.discipline, DFC)
        if isinstance(link.discipline, DFC):
            own["intensity"] = link.discipline.intensity
            own["gain"] = link.discipline.diffusion / link.delay * h
        if i < layout.per_flow_links:
            own["service"] = 0.0 if dfc else links["rate"][i]
            own["peak"][0 if link.shared else slice(None)] = 0.0
    return queues


def _rows(links: Any, layout: Layout, quantum: float) -> int:
    """Return how many steps the orders of queues remember: for as long as full buffers last."""
    longest = 1.0
    for link, _ in zip(links, layout.order, strict=False):
        buffers = 1.0 if link["shared"] else float(link["end"] - link["first"])
        longest = max(longest, buffers * link["limit"] / max(link["rate"], quantum))
    return _power_of_two(int(min(longest, MAX_ROWS)) + SPARE_ROWS)


def _managers(scenario: Scenario, layout: Layout, links: Any) -> tuple[ManagerSignature, ...]:
    """Fill in the queue managers of the links; return those that there are."""
    kinds: list[ManagerSignature] = []
    links["manager"] = -1
    for i, n in enumerate(layout.order):
        manager = manager_of(scenario.links[n].discipline)
        if manager is not None:
            kind = manager_signature_of(manager)
            if kind not in kinds:
                kinds.append(kind)
            links["manager"][i] = kinds.index(kind)
            state = [float(value) for value in manager.State()]
            links["drop"][i], links["mark"][i] = state[:2]
            links["state"][i, : len(state) - 2] = state[2:]
            numbers = list(manager.numbers(scenario.packet_size).values())
            links["parameters"][i, : len(numbers)] = numbers
            first, end = _managed_bands(scenario, layout, i)
            links["first_managed"][i], links["end_managed"][i] = first, end
            links["manager"][i] = -1 if first == end else links["manager"][i]
    return tuple(kinds)


def _managed_bands(scenario: Scenario, layout: Layout, i: int) -> tuple[int, int]:
    """Return the FIFO queues that the manager of a link sees, the first and one past the last."""
    first, end = map(int, layout.bands_at[i : i + 2])
    only = getattr(scenario.links[layout.order[i]].discipline, "managed", None)
    if only is None:
        return first, end
    flows = [layout.flow_of[layout.bands[b, 2]] for b in range(first, end)]
    own = [b for b, f in enumerate(flows, first) if scenario.flows[f].priority == only]
    return (own[0], own[0] + 1) if own else (first, first)
