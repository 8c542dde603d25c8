"""From a scenario to the arrays of the kernel: the plan of a fluid run, with the state at t = 0.

A queue holds the packets of one flow at one link, or at its host. The queues of hosts come first. Then come the queues
of links that serve each queue at a rate of its own, and last the queues of links that share a rate among them (FIFO
of several flows, RED, fair shares, priorities, DFC per input). A FIFO link that can never queue has no queues: its
delay is added to the delay of the next link.

`compile_scenario` calls the parts of this file in order: numbers of links and queues, rates and buffers, feedback of
DFC, pauses, senders, queue managers, memory.
"""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.engine.kernel.records import (
    ACK,
    BAND,
    BLOCK,
    CLOCK,
    COLUMNS,
    FAIR_SHARES,
    FLOW,
    INPUT_LINK,
    INPUT_SENDING,
    LINK,
    LOSS,
    MARKABLE,
    NO_FEEDBACK,
    PAUSE,
    PER_FLOW_RATE,
    PER_INPUT,
    QUEUE,
    SENDING,
    SHARED_FIFO,
    SLOT,
    STORM,
    SWITCH,
    WHOLE,
    WINDOW,
    Feedback,
    Network,
    Service,
    Transport,
)
from dfcmodel.engine.senders import emission_memory, rate_schedules, sender_records
from dfcmodel.engine.settings import (
    ROUNDING,
    check_disciplines,
    integer_and_fraction,
    nearest_steps,
    round_down,
    with_expected_marks,
)
from dfcmodel.network.callback_events import Signature, manager_signature_of
from dfcmodel.network.elements.delays import DelayTrace
from dfcmodel.network.endpoints.sources import CBR, OnOff
from dfcmodel.network.flows import rules_of
from dfcmodel.network.links import buffer_text
from dfcmodel.network.queueing.disciplines import FIFO, dfc_of, manager_of
from responsefn.rule_events import signatures_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.settings import Fluid
    from dfcmodel.network.links import Link
    from dfcmodel.network.networks import Scenario
    from responsefn.rule_events import RuleSignature

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["DelayedQueue", "FluidPlan", "compile_scenario", "queues_with_delay"]

FINEST_QUANTUM = 26
"""Amounts are multiples of 2^-26 packets, or coarser where sums would not be exact."""
SHORT_TRANSMISSION = 0.5
"""Steps: half a packet time on a link that sends a packet or more per step."""
STRETCHES = 1024
"""Stretches with losses that a queue remembers until the receiver knows of them; more are joined."""
SWITCHES = 2**14
"""Pauses and resumes that fit into memory; a run stops and copies them when it is full."""
MAX_ROWS = 2**20
"""Rows of the order of waiting packets; beyond them steps share a row."""
SPARE_ROWS = 8
"""Rows beyond the steps of a full buffer. Where a link waits longer, paused or at a rate of DFC, steps share a row."""
SEVERAL_FLOWS = 3
"""The kernel has separate loops for links with one flow, with two, and with this many or more."""


@dataclass
class FluidPlan:
    """A scenario in the form of the fluid's kernel for a time step, with the state of a run that it advances.

    The C queues belong to F hosts and L links. The access links of S shaped hosts are links L to L + S - 1 of
    the kernel.

    Attributes
    ----------
    scenario
        The simulated scenario, with expected marks where the settings say so.
    step
        The time step h, s.
    quantum
        Amounts of packets are multiples of it.
    min_rto
        Smallest retransmission timeout in s; inf without timeouts.
    delays
        Delays of the scenario's links in steps, with fractions.
    order
        Indices in ``scenario.links`` of the L links with queues, in the order of service.
    shaped
        The S flows whose hosts receive rates.
    per_flow_links
        Number of links that serve each queue at a rate of its own. They come first.
    position
        Position in the kernel of each link with queues by its index in the scenario; of access links by -1 - flow.
    queue_of
        The queue of each flow at each link that can queue, by flow and index of the link.
    next_queue
        The queue after each queue; -1: the receiver, (C,).
    transit_steps
        Steps from each queue to the next one or the receiver at t = 0, (C,).
    bands
        The FIFO queues, of one or several flows (`kernel.records.BAND`).
    rules, managers
        Signatures of the rules of the senders, and of the queue managers.
    network, transport, service, feedback
        Arrays of the kernel (`dfcmodel.engine.kernel.records`). ``transport.events`` and ``service.managers`` are None.
    """

    scenario: Scenario
    step: float
    quantum: float
    min_rto: float
    delays: list[float]
    order: list[int]
    shaped: list[int]
    per_flow_links: int
    position: dict[int, int]
    queue_of: dict[tuple[int, int], int]
    next_queue: Ints
    transit_steps: Floats
    bands: Any
    network: Network
    rules: tuple[RuleSignature, ...] = ()
    managers: tuple[Signature, ...] = ()
    transport: Transport = field(init=False)
    service: Service = field(init=False)
    feedback: Feedback = field(init=False)

    @property
    def link_indices(self) -> list[int]:
        """Index in the scenario of each link of the kernel; for an access link, the flow's first link, (L + S,)."""
        return [*self.order, *self.scenario.routes.first[self.shaped].tolist()]

    @property
    def links(self) -> list[Link]:
        """The link of the scenario for each link of the kernel; for an access link, the flow's first link, (L + S,)."""
        return [self.scenario.links[n] for n in self.link_indices]

    def queues_at(self, i: int) -> slice:
        """Return the queues of the kernel's link i as a slice of queues."""
        return slice(int(self.network.links["first"][i]), int(self.network.links["end"][i]))

    def bands_at(self, i: int) -> range:
        """Return the FIFO queues ("bands") of the kernel's link i as a range."""
        return range(int(self.network.links["first_band"][i]), int(self.network.links["end_band"][i]))

    def flow_of_band(self, band: int) -> int:
        """Return the flow of the first queue in a FIFO queue."""
        return int(self.network.queues["flow"][int(self.bands["first"][band])])

    def hop_queues(self) -> Ints:
        """Return the queue of each entry of the scenario's routes, (H,); -1 if the link never queues."""
        routes = self.scenario.routes
        hops = zip(routes.flow.tolist(), routes.places.tolist(), strict=True)
        return np.fromiter((self.queue_of.get(hop, -1) for hop in hops), np.int64, len(routes.places))

    def queueing_hops(self) -> list[tuple[int, int, int, int]]:
        """Return (flow, link, queue, feeder) of each hop with a queue; links of the scenario, a host: -1 - flow."""
        routes = self.scenario.routes
        feeders = np.concatenate([[-1], routes.places[:-1]])
        feeders[routes.begin] = -1 - np.arange(len(routes))
        columns = routes.flow, routes.places, self.hop_queues(), feeders
        return [hop for hop in zip(*(column.tolist() for column in columns), strict=True) if hop[2] >= 0]

    def sums_over_paths(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of ``values``, one per queue, (C,), over each flow's host and path, (F,)."""
        first = self.network.flows["path_first"]
        lengths = self.network.flows["path_end"] - first
        sums = np.zeros(len(lengths), dtype=values.dtype)
        for length in np.unique(lengths).tolist():
            flows = np.flatnonzero(lengths == length)
            queues = self.network.path[first[flows][:, np.newaxis] + np.arange(length)]
            sums[flows] = values[np.column_stack([flows, queues])].sum(axis=1)
        return sums

    def round_trips(self) -> Floats:
        """Return the round-trip time of each flow without queues, in steps, (F,)."""
        return np.asarray(self.network.flows["ack_lag"] + self.sums_over_paths(self.transit_steps))


def compile_scenario(
    scenario: Scenario,
    fluid: Fluid,
    rng: np.random.Generator,
    *,
    duration: float | None = None,
    starts: Floats | None = None,
    packet_jitter: float = 0.0,
) -> FluidPlan:
    """Return the plan of a scenario at t = 0 for the step of ``fluid``; draws phases, losses and seeds from ``rng``.

    Parameters
    ----------
    scenario, fluid
        The scenario and the settings.
    rng
        Draws the phases of feedback clocks, on/off times and seeds.
    duration
        Simulated time in s; None: the scenario's.
    starts
        Start times of the flows in s, shape (F,); None: the scenario's.
    packet_jitter
        Longest random delay of a packet at its sender, s.

    Raises
    ------
    ValueError
        For a scenario that the fluid does not run, and where the delay of a link with DFC, its feedback period, is more
        than 1 % away from a multiple of the step.
    """
    if fluid.marks == "expected":
        scenario = with_expected_marks(scenario)
    end = scenario.duration if duration is None else duration
    h = fluid.step_of(scenario)
    delays = [_delay_in_steps(link, h) for link in scenario.links]
    # Store-and-forward adds half the transmission time of a packet to a link's delay, without DFC.
    is_added = fluid.store_and_forward
    halves = [0.5 / link.rate / h if is_added and not link.discipline.diffuses else 0.0 for link in scenario.links]
    check_disciplines(scenario)
    plan = _number_queues(scenario, fluid, h, finest_quantum(scenario, end), (delays, halves))
    flows, links = plan.network.flows, plan.network.links
    delayed = {queue.number for queue in queues_with_delay(plan)} if scenario.all_elements else set[int]()
    _set_rates_and_buffers(plan, delayed)
    # The order of the draws from here on determines the answer to a seed.
    plan.feedback = _feedback(plan, rng)
    plan.rules = signatures_of(rules_of(scenario.table))
    if starts is None:
        starts = scenario.table.numbers("start")
    starts = starts + scenario.handshake_times()
    log, holes = sender_records(flows, scenario, plan.round_trips(), plan.rules, starts, h, fluid)
    flows["jitter"] = np.where(flows["source"] == WINDOW, packet_jitter / h, 0.0)
    flows["fractional_loss"] = rng.random(len(flows))
    schedule = rate_schedules(flows, scenario, (starts, end), h, plan.quantum, rng)
    if packet_jitter > 0.0:
        flows["seed"] = rng.integers(1, 2**31 - 1, len(flows))
    _set_managers(plan)
    plan.service = _empty_queues(plan, delayed, end, rng)
    if packet_jitter > 0.0 and fluid.whole_losses:
        links["loss_seed"] = np.where(links["manager"] < 0, rng.integers(1, 2**31 - 1, len(links)), 0)
    plan.transport = _empty_transport(plan, log, holes, schedule)
    return plan


# Numbers of links and queues, and the steps between them.


def _number_queues(
    scenario: Scenario, fluid: Fluid, h: float, quantum: float, times: tuple[list[float], list[float]]
) -> FluidPlan:
    """Return a plan with links and queues in order, and steps between queues by ``times``, two lists by link, steps.

    ``times``: delays of the links of the scenario and half transmission times, steps.
    """
    # 1. The order in which links are served. 2. The queues of each link, and the FIFO queues that they form.
    # 3. The steps between queues, which depend on the order. 4. Memory for the packets in flight.
    types = queue_types(scenario)
    per_flow = [n for n, kind in enumerate(types) if kind == PER_FLOW_RATE]
    sharing = [n for n, kind in enumerate(types) if kind not in (None, PER_FLOW_RATE)]
    # Links that only hosts feed come first, so that packets can reach the next link in the same step.
    order = [*per_flow, *sorted(sharing, key=lambda n: max(scenario.feeders(n)) >= 0)]
    shaped = [f for f, flow in enumerate(scenario.flows) if flow.host == "shaped"]
    access_links = {-1 - f: i for i, f in enumerate(shaped, len(order))}
    links: Any = np.zeros(len(order) + len(shaped), dtype=LINK)
    links["kind"] = [*(types[n] for n in order), *([PER_FLOW_RATE] * len(shaped))]
    queue_of, bands = _number_bands(scenario, order, links)
    for f, i in zip(shaped, access_links.values(), strict=True):
        links["first"][i], links["end"][i] = f, f + 1
        links["first_band"][i] = links["end_band"][i] = len(bands)
    C = len(scenario.flows) + len(queue_of)
    flows, queues = np.zeros(len(scenario.flows), dtype=FLOW), np.zeros(C + 1, dtype=QUEUE)
    position = {n: i for i, n in enumerate(order)} | access_links
    next_queue, path = _set_transit(scenario, queue_of, position, times, flows, queues)
    longest_hold = max([trace.largest_hold for trace in _delay_traces(scenario)], default=0.0)
    ring = power_of_two(int(queues["lag"].max()) + math.ceil(longest_hold / h) + 2)
    network = Network(
        flows=flows,
        queues=queues,
        links=links,
        wire=np.zeros((ring, C)),
        losses=np.zeros((C, STRETCHES), dtype=LOSS),
        path=path,
        origin=queues["origin"][:-1].copy(),
        drops=np.array([[math.nan], [math.nan], [0.0]]) * np.ones(C),
    )
    return FluidPlan(
        scenario=scenario,
        step=h,
        quantum=quantum,
        min_rto=float(scenario.min_rto) if fluid.timeouts else math.inf,
        delays=[delay + half for delay, half in zip(*times, strict=True)],
        order=order,
        shaped=shaped,
        per_flow_links=len(per_flow),
        position=position,
        queue_of=queue_of,
        next_queue=next_queue,
        transit_steps=queues["lag"][:-1] + 1.0 - queues["weight"][:-1],
        bands=bands,
        network=network,
    )


def _delay_in_steps(link: Link, h: float) -> float:
    """Return a link's delay in steps of h s; a whole number with DFC, whose feedback period it is."""
    if link.discipline.diffuses:
        return steps_of_delay(f"delay of link {link.name}", link.delay, h)
    return link.delay / h


def steps_of_delay(name: str, time: float, h: float) -> int:
    """Return a delay, s, as whole steps of ``h`` s; warns, with ``name``, if it is rounded; ValueError beyond 1 %."""
    steps = nearest_steps(name, time, h)
    error = abs(steps * h / time - 1.0)
    if error > 1e-9:
        msg = f"{name} = {time:g} s is rounded to {steps} steps of {h:g} s, {100 * error:.2g} % off"
        warnings.warn(msg, stacklevel=4)
    return steps


def finest_quantum(scenario: Scenario, end: float) -> float:
    """Return the smallest quantum, packets, a power of 2 >= 2^-26, with exact float64 sums in a run of ``end`` s."""
    table = scenario.table
    first = scenario.link_table.rates[scenario.routes.first]
    rates = table.each("source", lambda source: source.rate if isinstance(source, (CBR, OnOff)) else math.nan)
    peaks = np.where(np.isnan(rates), table.numbers("max_window") / scenario.base_rtts(), rates)
    packets = 2.0 * len(table) * np.maximum(first, np.minimum(peaks, 8 * first)) * end
    return 2.0 ** -min(FINEST_QUANTUM, 51 - math.ceil(math.log2(max(1.0, float(packets.max())))))


def queue_types(scenario: Scenario) -> list[int | None]:
    """Return the type of queue of each link, as the kernel numbers them; None if it never queues."""
    types: list[int | None] = []
    indices = range(len(scenario.links))
    paused = {u for n in indices if scenario.links[n].discipline.pauses_links for u in scenario.feeders(n)}
    for n, link in enumerate(scenario.links):
        rule, feeders = link.discipline, scenario.feeders(n)
        if not feeders or (n not in paused and never_queues(scenario, n)):
            types.append(None)
        elif rule.diffuses:
            types.append(PER_INPUT if rule.queue_per == "input" else PER_FLOW_RATE)
        elif rule.queue_per == "flow":
            types.append(FAIR_SHARES)
        elif sum(map(len, feeders.values())) > 1 or n in paused or rule.pauses or manager_of(rule):
            types.append(SHARED_FIFO)
        else:
            types.append(PER_FLOW_RATE)
    return types


def never_queues(scenario: Scenario, n: int) -> bool:
    """Return whether FIFO link n can never queue: it is no slower than all links that feed it together.

    Links that a host feeds are kept: packets enter the network at them.
    """
    feeders, link = scenario.feeders(n), scenario.links[n]
    if type(link.discipline) is not FIFO or min(feeders, default=-1) < 0:
        return False
    if any(element.link == link.name for element in scenario.all_elements):
        return False
    return sum(scenario.links[u].rate for u in feeders) <= link.rate


def _number_bands(scenario: Scenario, order: list[int], links: Any) -> tuple[dict[tuple[int, int], int], Any]:
    """Return the queue by (flow, link) and the records of the FIFO queues; write ranges to ``links`` in place.

    Queues of a FIFO queue have consecutive numbers, as have FIFO queues of a link. Their ranges are written into the
    records of the links.
    """
    priorities = list(scenario.table.columns["priority"])
    queue_of: dict[tuple[int, int], int] = {}
    rows: list[tuple[int, int, int, int]] = []
    C = len(scenario.flows)
    for i, n in enumerate(order):
        rule, kind = scenario.links[n].discipline, int(links["kind"][i])
        keys = [
            ((priorities[f] if rule.ranked else 0, _band_key(kind, rule, priorities[f], f, feeder)), feeder, f)
            for feeder, flows in scenario.feeders(n).items()
            for f in flows
        ]
        links["first"][i], links["first_band"][i] = C, len(rows)
        for (rank, _), members in itertools.groupby(sorted(keys), key=lambda key: key[0]):
            first = C
            for _, _, f in members:
                queue_of[f, n] = C
                C += 1
            rows.append((i, rank, first, C))
        links["end"][i], links["end_band"][i] = C, len(rows)
    bands = np.zeros(len(rows), dtype=BAND)
    for name, column in zip(("link", "rank", "first", "end"), zip(*rows, strict=True), strict=False):
        bands[name] = column
    return queue_of, bands


def _band_key(kind: int, discipline: Any, priority: int, f: int, feeder: int) -> tuple[int, ...]:
    """Return the key by which flows at a link are in the same FIFO queue, and by which FIFO queues are ordered.

    Lossless classes come first, as they have rooms of their own.
    """
    if discipline.queue_per == "class":
        return int(priority not in discipline.classes), priority
    if kind == FAIR_SHARES:
        return (f,)
    return (feeder,) if kind == PER_INPUT else (0,)


def _set_transit(
    scenario: Scenario,
    queue_of: dict[tuple[int, int], int],
    position: dict[int, int],
    times: tuple[list[float], list[float]],
    flows: Any,
    queues: Any,
) -> tuple[Ints, Ints]:
    """Write paths and steps between queues to the records; return the next queue of each queue, and all paths.

    ``times``: delays of the links and half transmission times, steps. The return path takes whole steps: its fraction
    is added before the receiver.
    """
    C = len(queues) - 1
    origin, lag, next_queue = np.arange(C), np.zeros(C), np.full(C, -1)
    path: list[int] = []
    delays, halves = times
    arrivals_of: dict[Any, tuple[list[float], float]] = {}  # most flows have links of few kinds
    for f, (hops, at_once) in enumerate(zip(scenario.routes, scenario.at_once.tolist(), strict=True)):
        legs = [(delays[n], halves[n]) for n in ((() if at_once else hops[:1]) + hops)]
        key = at_once, *legs
        if key not in arrivals_of:
            arrivals_of[key] = _arrival_steps(legs)
        arrivals, round_trip = arrivals_of[key]
        arrivals = _separate_steps(arrivals, [position[n] if (f, n) in queue_of else -1 for n in hops])
        return_steps = max(round_trip, arrivals[-1] + 1.0) - arrivals[-1]
        ack_lag = max(1, math.floor(return_steps + ROUNDING))
        flows["path_first"][f], flows["ack_lag"][f] = len(path), ack_lag
        source, start = f, 0.0
        for n, arrival in zip(hops, arrivals[-1 - len(hops) :], strict=False):
            if (f, n) in queue_of:
                c = queue_of[f, n]
                origin[c], lag[source], next_queue[source] = source, arrival - start, c
                queues["flow"][c], queues["link"][c] = f, position[n]
                path.append(c)
                source, start = c, arrival
        lag[source] = arrivals[-1] - start + max(0.0, return_steps - ack_lag)
        flows["path_end"][f], flows["exit"][f] = len(path), source
        queues["flow"][f], queues["link"][f] = f, position.get(-1 - f, -1)
    queues["origin"][:C] = origin
    queues["lag"][:C], fraction = integer_and_fraction(lag)
    queues["weight"][:C] = 1.0 - fraction
    return next_queue, np.array(path, dtype=np.int64)


def _arrival_steps(legs: list[tuple[float, float]]) -> tuple[list[float], float]:
    """Return steps from a host to each hop and the receiver, and of the round trip; ``legs``: (delay, half a packet's).

    ``legs`` are delays and half packet times of the access link, if it has one, and of the links of the path.
    Fractions of steps are not rounded, except for transmission times on links that send several packets per step:
    their sum up to each link is rounded to whole steps. Interpolation would mix packets of two steps
    at these links, and take bursts of a few packets apart.
    """
    delays, times = np.array(legs).T
    short = np.where(times <= SHORT_TRANSMISSION, times, 0.0)
    exact = np.cumsum([0.0, *(delays + times - short)])
    rounded = np.cumsum([0.0, *short])
    returns = float(np.sum(delays + times - short))
    both = np.round(rounded[-1] + np.sum(short))
    return (exact + np.round(rounded)).tolist(), float(exact[-1] + returns + both)


def _separate_steps(arrivals: list[float], positions: list[int]) -> list[float]:
    """Return arrivals at hops and receiver, steps, one later where a queue is served no later than the one before it.

    ``positions`` are the places of the hops' queues in the order of service (-1: no queue); ``arrivals`` may have hops
    without a queue before them. Packets may leave a queue and reach one that is served later in the same step. To one
    that is served before, and to the receiver, they take a step. The return path is shorter by the added steps.
    """
    steps = arrivals.copy()
    first = len(steps) - 1 - len(positions)
    last, reached = -1, first  # position and hop of the last queue
    for n, position in enumerate([*positions, -1], first):
        earliest = steps[reached] + (1.0 if position <= last else 0.0)
        if position >= 0 or n == len(steps) - 1:
            steps[n] = max(steps[n], earliest)
            last, reached = position, n
    return steps


class DelayedQueue(NamedTuple):
    """A queue whose packets reach the next queue after a delay by a trace: its index, steps without the trace, trace.

    number: its index; steps: from it to the next queue without the trace; trace: the delays over time.
    """

    number: int
    steps: float
    trace: DelayTrace


def queues_with_delay(plan: FluidPlan) -> list[DelayedQueue]:
    """Return the queues that feed a link with a trace of delays, as `DelayedQueue`; ValueError for two traces of one.

    Raises
    ------
    ValueError
        Where two traces act on one flow at a link.
    """
    delayed: dict[int, DelayedQueue] = {}
    scenario = plan.scenario
    for trace in _delay_traces(scenario):
        n = scenario.link_table.names.index(trace.link)
        for f, flow in enumerate(scenario.flows):
            if (f, n) not in plan.queue_of or (trace.flows and flow.name not in trace.flows):
                continue
            c = int(plan.network.origin[plan.queue_of[f, n]])
            if c in delayed:
                msg = f"a second one acts on flow {flow.name!r}; use method=Packets()"
                raise ValueError(f"elements: DelayTrace at {trace.link}: {msg}")
            delayed[c] = DelayedQueue(c, float(plan.transit_steps[c]), trace)
    return list(delayed.values())


def _delay_traces(scenario: Scenario) -> list[DelayTrace]:
    """Return the elements of a scenario that are traces of delays."""
    return [element for element in scenario.all_elements if isinstance(element, DelayTrace)]


# Rates, buffers and queue managers.


def _set_rates_and_buffers(plan: FluidPlan, delayed: set[int]) -> None:
    """Write rates, buffers and common lags to the records; ``delayed`` queues have varying lags."""
    scenario, h, L = plan.scenario, plan.step, len(plan.order)
    links, queues, kernel_links = plan.network.links, plan.network.queues, plan.links
    links["rate"] = links["pace"] = round_down([link.rate * h for link in kernel_links], plan.quantum)
    links["limit"] = np.inf
    links["limit"][:L] = round_down([scenario.room_of(n) for n in plan.order], plan.quantum)
    links["shared"] = [link.shared for link in kernel_links]
    links["per_buffer"] = np.where(links["shared"], links["end"] - links["first"], 1)
    links["first_pooled"], links["manager"] = links["first_band"], -1
    paces = round_down(scenario.link_table.rates[scenario.routes.first] * h, plan.quantum)
    queues["service"][: len(paces)] = np.where(scenario.at_once, np.inf, paces)
    queues["peak"] = np.inf
    for i, link in enumerate(kernel_links):
        members = plan.queues_at(i)
        rows = queues[members]
        lags = set(zip(rows["lag"].tolist(), rows["weight"].tolist(), strict=True))
        has_one_lag = len(lags) == 1 and delayed.isdisjoint(range(members.start, members.stop))
        links["lag"][i], links["weight"][i] = lags.pop() if has_one_lag else (-1, 1.0)
        rows["link_rate"] = link.rate * h
        if dfc := dfc_of(link.discipline):
            rows["intensity"] = dfc.intensity
            rows["gain"] = dfc.diffusion / link.delay * h
        if i < plan.per_flow_links:
            rows["service"] = 0.0 if dfc else links["rate"][i]
            rows["peak"][0 if link.shared else slice(None)] = 0.0


def _set_managers(plan: FluidPlan) -> None:
    """Write the queue managers to the records of the links, and set the plan's signatures of them."""
    scenario, links = plan.scenario, plan.network.links
    signatures: list[Signature] = []
    for i, n in enumerate(plan.order):
        manager = manager_of(scenario.links[n].discipline)
        if manager is None or n in scenario.interfaces:
            continue
        signature = manager_signature_of(manager)
        if signature not in signatures:
            signatures.append(signature)
        links["late"][i] = manager.at == "departure"
        links["fractional"][i] = manager.fractional
        state = [float(value) for value in manager.State()]
        links["drop"][i], links["mark"][i] = state[:2]
        links["state"][i, : len(state) - 2] = state[2:]
        numbers = list(manager.numbers(scenario.packet_size).values())
        links["parameters"][i, : len(numbers)] = numbers
        bands = plan.bands_at(i)
        managed = getattr(scenario.links[n].discipline, "managed", None)  # of PFC: one class of several
        if managed is not None:
            bands = range(*_band_of_class(plan, i, managed))
        if bands:
            links["manager"][i] = signatures.index(signature)
            links["first_managed"][i], links["end_managed"][i] = bands.start, bands.stop
    plan.managers = tuple(signatures)


def _band_of_class(plan: FluidPlan, i: int, priority: int) -> tuple[int, int]:
    """Return the range (first, end) of FIFO queues of a class at the kernel's link i; (0, 0) without flows."""
    for band in plan.bands_at(i):
        if plan.scenario.flows[plan.flow_of_band(band)].priority == priority:
            return band, band + 1
    return 0, 0


# Feedback of DFC, and pauses of links, hosts and classes.


def _feedback(plan: FluidPlan, rng: np.random.Generator) -> Feedback:
    """Return the state of DFC's messages and of pauses at t = 0."""
    tables, pauses = _dfc_tables(plan, rng), _pause_rows(plan)
    longest_wait = max([*pauses["wait"].tolist(), 1])
    return Feedback(
        **tables,
        pauses=pauses,
        pausing=np.zeros((power_of_two(longest_wait + 3), len(pauses))),
        switches=np.zeros(max(SWITCHES, len(pauses)) if len(pauses) else 0, dtype=SWITCH),
        switched=np.zeros(1, dtype=np.int64),
        host_pace=plan.network.queues["service"][: len(plan.network.flows)].copy(),
    )


def _dfc_tables(plan: FluidPlan, rng: np.random.Generator) -> dict[str, Any]:
    """Return the tables of DFC's feedback, by field of `kernel.records.Feedback`.

    Each period has one clock, and a slot per step. The message over a link is sent by the node at its end, in
    the slot of that node.
    """
    scenario, links, L = plan.scenario, plan.links, len(plan.order)
    phase = dict(zip(scenario.nodes, rng.random(len(scenario.nodes)), strict=True))
    uses_dfc = [link.discipline.diffuses for link in links]
    by_input = any(link.discipline.queue_per == "input" for link in links)
    per_flow = [uses_dfc[i] and not (by_input and i < L) for i in range(len(links))]
    periods: dict[int, list[list[int]]] = {}
    for i, (n, link) in enumerate(zip(plan.link_indices, links, strict=True)):
        if law := dfc_of(link.discipline):
            period = max(1, round(plan.delays[n]))
            slots = periods.setdefault(period, [[] for _ in range(period)])
            node = link.target if i < L else link.source
            slots[int(phase[node] * period) if law.phases == "random" else 0].append(i)
    rows: list[tuple[int, ...]] = []
    clocks: list[tuple[int, int, int]] = []
    receiving: list[tuple[int, ...]] = []
    sending: list[tuple[int, ...]] = []
    input_receiving: list[int] = []
    input_sending: list[tuple[int, int, int]] = []
    for period, slots in periods.items():
        clocks.append((period, 0, len(rows)))
        for slot in slots:
            flow_ranges = [
                *_append_by_flows(receiving, [_flow_entry(plan, i) for i in slot if per_flow[i]]),
                *_append_by_flows(sending, [entry for i in slot for entry in _flow_senders(plan, per_flow, i)]),
            ]
            inputs = [i for i in slot if not per_flow[i]]
            messages = [entry for i in slot if by_input for entry in _input_senders(plan, uses_dfc, i)]
            received, sent = len(input_receiving), len(input_sending)
            rows.append((*flow_ranges, received, received + len(inputs), sent, sent + len(messages)))
            input_receiving += inputs
            input_sending += messages
    return {
        "clocks": np.array(clocks, dtype=CLOCK),
        "slots": np.array(rows, dtype=SLOT),
        "receiving": np.array(receiving, dtype=np.uint64).reshape(-1, 2),
        "sending": np.array(sending, dtype=SENDING),
        "input_receiving": np.array(input_receiving, dtype=np.int64),
        "input_sending": np.array(input_sending, dtype=INPUT_SENDING),
        "input_links": np.array([(link.rate * plan.step, 0.0) * 2 for link in links], dtype=INPUT_LINK),
    }


def _append_by_flows(table: list[tuple[int, ...]], entries: list[tuple[int, ...]]) -> list[int]:
    """Append entries by, and without, their first item, a number of flows; return where 1, 2, more begin, and end."""
    limits = (1, 2, SEVERAL_FLOWS, SEVERAL_FLOWS + 1)
    starts = [len(table) + sum(entry[0] < flows for entry in entries) for flows in limits]
    table += [entry[1:] for entry in sorted(entries)]
    return starts


def _flow_entry(plan: FluidPlan, i: int) -> tuple[int, int, int]:
    """Return link i's number of flows, at most `SEVERAL_FLOWS`, first queue, and last queue, or end if several."""
    queues = plan.queues_at(i)
    flows = min(queues.stop - queues.start, SEVERAL_FLOWS)
    return flows, queues.start, queues.stop if flows == SEVERAL_FLOWS else queues.stop - 1


def _flow_senders(plan: FluidPlan, per_flow: list[bool], i: int) -> list[tuple[int, ...]]:
    """Return (number of flows, first and last queue, two receivers) of each link that sends feedback to link i."""
    fed = [int(d) for d in plan.next_queue[plan.queues_at(i)] if d >= 0]
    link_of, no_queue = plan.network.queues["link"], len(plan.next_queue)
    senders: list[tuple[int, ...]] = []
    for j in sorted({int(link_of[d]) for d in fed}):
        queues = [d for d in fed if link_of[d] == j]
        if per_flow[j]:
            flows, first, last = _flow_entry(plan, j)
            receivers = [min(queues), max(queues) + 1]
            if flows < SEVERAL_FLOWS:
                receivers = [int(plan.network.origin[d]) if d in queues else no_queue for d in (first, last)]
            senders.append((flows, first, last, *receivers))
    return senders


def _input_senders(plan: FluidPlan, uses_dfc: list[bool], i: int) -> list[tuple[int, int, int]]:
    """Return (receiver, FIFO queue or -1, queue or 0) of messages per input of link i; hosts receive as -1 - flow."""
    L = len(plan.order)
    receiver = i if i < L else -1 - plan.shaped[i - L]
    messages = set()
    queues = plan.queues_at(i)
    for c in range(queues.start, queues.stop):
        d = int(plan.next_queue[c])
        j = int(plan.network.queues["link"][d])
        if d < 0 or not uses_dfc[j]:
            messages.add((receiver, -1, c))
        else:
            (band,) = (b for b in plan.bands_at(j) if plan.bands["first"][b] <= d < plan.bands["end"][b])
            messages.add((receiver, band, 0))
    return sorted(messages)


def _pause_rows(plan: FluidPlan) -> Any:
    """Return rows of `PAUSE`, pairs of a pausing and a paused link; once: it adds to the plan's ``first_pooled``."""
    scenario = plan.scenario
    rows: list[Any] = []
    for n in plan.order:
        rule: Any = scenario.links[n].discipline
        if rule.pauses == "link":
            requests = _link_pauses(plan, n)
        elif rule.pauses == "class":
            requests = _class_pauses(plan, n, len(rows))
        else:
            continue
        rows += requests
        if rule.storm is not None:
            rows += _storms(requests, rule.storm / plan.step)
    _count_together(plan, rows)
    for i, n in enumerate(plan.order if rows else ()):
        discipline: Any = scenario.links[n].discipline
        if discipline.pauses == "class":  # lossless classes, which come first, have rooms of their own
            priorities = [scenario.flows[plan.flow_of_band(band)].priority for band in plan.bands_at(i)]
            plan.network.links["first_pooled"][i] += sum(priority in discipline.classes for priority in priorities)
    return np.array([row.item() for row in rows], dtype=PAUSE)


def _link_pauses(plan: FluidPlan, n: int) -> list[Any]:
    """Return a row of pauses for each feeder of link n, whose discipline must pause feeders as a whole."""
    scenario, h = plan.scenario, plan.step
    rule: Any = scenario.links[n].discipline
    rows = []
    for u in scenario.feeders(n):
        if u < 0 and scenario.enters_at_once(scenario.flows[-1 - u]):
            continue
        row = _pause_row(plan, n, u)
        paused = scenario.links[u if u >= 0 else n]
        row["high"], row["low"] = rule.high, rule.low
        row["quanta"] = (rule.quanta or 0) * 512.0 / (paused.rate * 8.0 * scenario.packet_size) / h
        row["paused_rate"] = round_down(rule.paused_rate * h, plan.quantum)
        rows.append(row)
    return rows


def _class_pauses(plan: FluidPlan, n: int, first_row: int) -> list[Any]:
    """Return link n's rows with PFC, from ``first_row`` on, by feeder and lossless class; write its reservations."""
    scenario, links, i = plan.scenario, plan.network.links, plan.position[n]
    rule: Any = scenario.links[n].discipline
    rooms = _class_rooms(plan, n)
    rows = []
    for u, priority, _ in scenario.ingress(n):
        row = _pause_row(plan, n, u)
        enters_at_once = u < 0 and scenario.enters_at_once(scenario.flows[-1 - u])
        row["high"], row["low"] = (math.inf, math.inf) if enters_at_once else rule.thresholds
        flows = [f for f in scenario.feeders(n)[u] if scenario.flows[f].priority == priority]
        queues = [plan.queue_of[f, n] for f in flows]
        row["first"], row["end"] = min(queues), max(queues) + 1
        row["room"] = rooms[u, priority]
        row["held"] = _band_of_class(plan, i, priority)[0]
        if u >= 0 and scenario.links[u].discipline.queue_per == "class":
            j = plan.position[u]
            row["band"] = _band_of_class(plan, j, priority)[0] if len(plan.bands_at(j)) > 1 else WHOLE
        rows.append(row)
    if rows:
        _check_rooms(scenario, n)
        links["first_ingress"][i], links["end_ingress"][i] = first_row, first_row + len(rows)
        links["reserved"][i] = scenario.part_of_rooms(n, sum(rooms.values()))
    return rows


def _class_rooms(plan: FluidPlan, n: int) -> dict[tuple[int, int], float]:
    """Return PFC's reserved buffer at link n, packets, by feeder (a host: -1 - flow) and lossless class.

    Where headroom follows from delays, a room also has the arrivals of a step, if the buffer has that many packets:
    links whose delay is no whole number of steps spread packets over one step.
    """
    scenario = plan.scenario
    rooms = scenario.rooms(n)
    extra = dict.fromkeys(rooms, 0.0)
    if scenario.links[n].discipline.headroom is None:  # type: ignore[attr-defined]
        spare = scenario.spare_of_rooms(n) / max(1, len(rooms))
        extra = {key: min(scenario.feeding(key[0]).rate * plan.step, spare) for key in rooms}
    return {key: float(round_down(room + extra[key], plan.quantum)) for key, room in rooms.items()}


def _check_rooms(scenario: Scenario, n: int) -> None:
    """Raise ValueError if PFC reserves more than link n's buffer: in the fluid each host's flow has an access link."""
    reserved, link = scenario.part_of_rooms(n, sum(scenario.rooms(n).values())), scenario.links[n]
    if reserved > scenario.buffer_of(n):
        msg = "in the fluid each flow of a host has an access link, for which PFC reserves room,"
        msg += f" {reserved:g} packets in all"
        hint = "increase it, or use method=Packets()"
        raise ValueError(f"buffer of link {link.name!r} = {buffer_text(link)}: {msg}; {hint}")


def _pause_row(plan: FluidPlan, n: int, u: int) -> Any:
    """Return the row of PAUSE by which link n pauses feeder u, a link or a host (-1 - flow)."""
    links = plan.scenario.links
    rule: Any = links[n].discipline
    row = np.zeros((), dtype=PAUSE)
    steps = max(1.0, (links[u if u >= 0 else n].delay + rule.signalling) / plan.step)
    row["wait"], row["part"] = integer_and_fraction(steps)
    row["pausing"], row["paused"] = plan.position[n], plan.position[u] if u >= 0 else u
    row["band"] = WHOLE
    return row


def _storms(requests: list[Any], start: float) -> list[Any]:
    """Return copies of ``requests``, rows of pauses, that begin at step ``start``, for any queue, and never end."""
    rows = [row.copy() for row in requests if row["high"] < math.inf]
    for row in rows:
        row["held"], row["room"], row["backlog"] = STORM, start, -start
        row["high"], row["low"], row["quanta"], row["paused_rate"] = 0.0, -math.inf, 0.0, 0.0
    return rows


def _count_together(plan: FluidPlan, rows: list[Any]) -> None:
    """Link rows of an ingress and class at a switch's links in a circle, in place; only the first one asks then."""
    scenario = plan.scenario
    circles: dict[tuple[int, ...], list[int]] = {}
    for i, row in enumerate(rows):
        first = scenario.count_group(plan.order[row["pausing"]])[0]
        key: tuple[int, ...] = (-1, i)
        if row["first"] < row["end"] and row["held"] != STORM:
            flow = scenario.flows[plan.network.queues["flow"][int(row["first"])]]
            key = first, int(row["paused"]), flow.priority
        circles.setdefault(key, []).append(i)
    for circle in circles.values():
        for i, following in zip(circle, [*circle[1:], circle[0]], strict=True):
            rows[i]["also"] = following
        for i in circle[1:]:
            rows[i]["high"] = rows[i]["low"] = math.inf


# Memory of a run.


def _empty_queues(plan: FluidPlan, delayed: set[int], end: float, rng: np.random.Generator) -> Service:
    """Return the state of service at t = 0, for a run of ``end`` s; lags of ``delayed`` queues vary."""
    C, links = len(plan.next_queue), plan.network.links
    rows = order_rows(links[: len(plan.order)], plan.quantum, end / plan.step)
    shared = np.zeros((COLUMNS, C + 8 + C % 2))  # columns are never a power of two apart, for the caches of a processor
    reacts = plan.network.flows["source"] != NO_FEEDBACK
    shared[MARKABLE, :C] = reacts[plan.network.queues["flow"][:C]]
    return Service(
        blocks=_blocks(plan, delayed),
        bands=plan.bands,
        overflowing=np.zeros(len(links), dtype=np.int64),
        seed=rng.integers(1, 2**31 - 1, 1),
        managers=None,
        rows=np.zeros((rows, C)),
        total=np.zeros((rows, len(plan.bands))),
        shared=shared,
    )


def order_rows(links: Any, quantum: float, steps: float) -> int:
    """Return the rows of `Order`, a power of 2: for the steps in which full buffers empty, or for a run of ``steps``.

    Interfaces of hosts have unlimited buffers.
    """
    buffers = np.where(links["shared"], 1, links["end"] - links["first"]).astype(np.float64)
    steps_to_empty = buffers * links["limit"] / np.maximum(links["rate"], quantum)
    return power_of_two(math.ceil(min(steps_to_empty.max(initial=1.0), steps, MAX_ROWS)) + SPARE_ROWS)


def _blocks(plan: FluidPlan, delayed: set[int]) -> Any:
    """Return the blocks of queues with rates of their own, rows of `kernel.records.BLOCK`.

    Adjacent buffers are one block where all their lags are equal and constant.
    """
    queues = plan.network.queues
    lags = list(zip(queues["lag"].tolist(), queues["weight"].tolist(), strict=True))
    rows: list[list[int]] = []
    for i in range(plan.per_flow_links):
        members, flows = plan.queues_at(i), int(plan.network.links["per_buffer"][i])
        for c in range(members.start, members.stop, flows):
            has_one_lag = len(set(lags[c : c + flows])) == 1 and delayed.isdisjoint(range(c, c + flows))
            one_lag_flows = flows if flows <= 2 and has_one_lag else 0
            last = rows[-1] if rows else [0, 0, 0, 1, 0]
            if one_lag_flows and last[4] == one_lag_flows and lags[c] == lags[last[0]]:
                last[1] = c + flows
            else:
                rows.append([c, c + flows, flows, 1, one_lag_flows])
    return np.array([tuple(row) for row in rows], dtype=BLOCK)


def _empty_transport(plan: FluidPlan, log: Any, holes: Any, schedule: Any) -> Transport:
    """Return the state of senders and receivers at t = 0, without packets and ACKs in flight."""
    scenario, flows = plan.scenario, plan.network.flows
    forward = plan.sums_over_paths(plan.network.queues["lag"][:-1]) + flows["path_end"] - flows["path_first"] + 1
    holds = sum(trace.largest_hold for trace in _delay_traces(scenario))
    longest = int((flows["ack_lag"] + forward).max()) + math.ceil(holds / plan.step)
    return Transport(
        acks=np.zeros((power_of_two(int(flows["ack_lag"].max()) + 1), len(flows)), dtype=ACK),
        emitted=np.zeros((emission_memory(scenario, longest, plan.step), len(flows))),
        log=log,
        holes=holes,
        schedule=schedule,
        events=None,
    )


def power_of_two(minimum: int) -> int:
    """Return the smallest power of two that is at least ``minimum``, as an integer."""
    return 1 << math.ceil(math.log2(minimum))
