"""From a scenario to the arrays of the kernel: the plan of a fluid run, with the state at t = 0."""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.engine.kernel.records import (
    ACK,
    BAND,
    BLOCK,
    CLOCK,
    COLUMNS,
    FAIR_SHARES,
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
    Order,
    Service,
    Transport,
)
from dfcmodel.engine.senders import (
    emission_memory,
    flow_records,
    in_steps,
    schedules,
    switching_times,
)
from dfcmodel.engine.settings import ROUNDING, check_disciplines, nearest_steps, whole_and_part, with_expected_marks
from dfcmodel.network.callback_events import Signature, manager_signature_of
from dfcmodel.network.endpoints.sources import CBR, OnOff
from dfcmodel.network.flows import rules_of
from dfcmodel.network.path_elements import DelayTrace
from dfcmodel.network.queueing.class_pauses import PFC
from dfcmodel.network.queueing.disciplines import (
    FIFO,
    Pause,
    dfc_of,
    manager_of,
)
from responsefn.rule_events import signatures_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.settings import Fluid
    from dfcmodel.network.links import Link
    from dfcmodel.network.networks import Scenario
    from responsefn.rule_events import RuleSignature

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = [
    "Layout",
    "Plan",
    "Way",
    "compile_scenario",
    "feedback",
    "largest_holds",
    "layout_of",
    "link_records",
    "manager_records",
    "order_rows",
    "pauses",
    "power_of_two",
    "queue_records",
    "queueing",
    "reserve_rooms",
    "traced_ways",
]

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


SHORT = 0.5
"""Steps: half a packet time on a link that sends a packet or more per step."""


@dataclass(frozen=True)
class Layout:
    """Queues and links of the engine, C and L + S, the last S being the access links of shaped hosts.

    Attributes
    ----------
    delays
        Of the scenario's links in steps, whole ones or not.
    order
        Places in the scenario's links of the L links that have queues, in the order in which they are served.
    queue_types
        Of those, shape (L,).
    shaped
        The S flows whose hosts receive rates.
    per_flow_links
        One past the last link whose queues are served at rates of their own.
    queues
        First queue of each link and one past the last, shape (L + S, 2).
    bands, bands_at
        Link, rank, first queue and end of each FIFO queue of links that share, shape (B, 4): of all flows,
        of one (fair shares, priorities), of those from one link (DFC per input), or of a class (PFC, the
        lossless ones first); where those of a link begin.
    up, down
        The queue before (a host: itself) and the next one (-1: the receiver), shape (C,).
    lag, weight
        Whole steps from a queue to the next or the receiver, and the part of a step's departures that
        arrives after them (the rest comes a step later), shape (C,).
    ack_lag
        Steps from each receiver back to its sender, shape (F,); the remaining part of a step belongs to the way there.
    link_of, flow_of
        Shape (C,); -1 for a host that is not shaped.
    path, path_at
        The flows' queues without hosts, one after the other, and where each flow's begin.
    hop_queues
        Per flow and link of its path the queue, -1 where there is none.
    """

    delays: tuple[float, ...]
    order: tuple[int, ...]
    queue_types: tuple[int, ...]
    shaped: tuple[int, ...]
    per_flow_links: int
    queues: Ints
    bands: Ints
    bands_at: Ints
    up: Ints
    down: Ints
    lag: Ints
    weight: Any
    ack_lag: Ints
    link_of: Ints
    flow_of: Ints
    path: Ints
    path_at: Ints
    hop_queues: tuple[tuple[int, ...], ...]

    def links(self, scenario: Scenario) -> list[Link]:
        """Return the links of the engine, those that hosts imitate at the end."""
        firsts = [scenario.path_index(scenario.flows[f])[0] for f in self.shaped]
        return [scenario.links[n] for n in (*self.order, *firsts)]

    @property
    def lags_and_weights(self) -> list[tuple[int, float]]:
        """Lag and weight of each queue, (C,)."""
        return list(zip(self.lag.tolist(), self.weight.tolist(), strict=True))

    def sums_over_paths(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of a value of queues, shape (C,), over the host and the path of each flow, (F,)."""
        lengths = np.diff(self.path_at)
        sums = np.zeros(len(lengths), dtype=values.dtype)
        for length in np.unique(lengths).tolist():
            flows = np.flatnonzero(lengths == length)
            queues = self.path[self.path_at[flows][:, np.newaxis] + np.arange(length)]
            sums[flows] = values[np.column_stack([flows, queues])].sum(axis=1)
        return sums

    def round_trips(self) -> NDArray[np.float64]:
        """Return the steps from each flow's host to its receiver and back, where nothing is queued, (F,)."""
        return np.asarray(self.ack_lag + self.sums_over_paths(self.lag + 1.0 - self.weight))

    def forward(self) -> Ints:
        """Return the steps from each flow's host to its receiver, (F,)."""
        return np.asarray(self.sums_over_paths(self.lag) + np.diff(self.path_at) + 1)

    def hops(self, scenario: Scenario) -> list[tuple[int, int, int, int]]:
        """Return flow, place of the link, queue, and the link before (-1 - flow: its host) of hops that have a queue."""
        hops = []
        for f, (flow, queues) in enumerate(zip(scenario.flows, self.hop_queues, strict=True)):
            before = -1 - f
            for n, c in zip(scenario.path_index(flow), queues, strict=True):
                if c >= 0:
                    hops.append((f, n, c, before))
                before = n
        return hops

    def blocks(self, shared: list[bool], traced: set[int]) -> Any:
        """Return the blocks of queues that are served at rates of their own, see `records.BLOCK`.

        ``shared`` says which links have one buffer for all flows; lags of ``traced`` queues change.
        """
        rows: list[list[int]] = []
        pairs = self.lags_and_weights
        for (first, end), together in zip(self.queues[: self.per_flow_links].tolist(), shared, strict=False):
            flows = end - first if together else 1
            for c in range(first, end, flows):
                has_one_lag = len(set(pairs[c : c + flows])) == 1 and traced.isdisjoint(range(c, c + flows))
                one_lag_flows = flows if flows <= 2 and has_one_lag else 0
                last = rows[-1] if rows else [0, 0, 0, 1, 0]
                if one_lag_flows and last[4] == one_lag_flows and pairs[c] == pairs[last[0]]:
                    last[1] = c + flows
                else:
                    rows.append([c, c + flows, flows, 1, one_lag_flows])
        return np.array([tuple(row) for row in rows], dtype=BLOCK)


def layout_of(
    scenario: Scenario,
    delays: list[float],
    transmissions: list[float] | None = None,
) -> Layout:
    """Return how a scenario's queues are numbered.

    ``delays`` are those of its links in steps, ``transmissions`` half packet times in steps (0 by
    default).
    """
    check_disciplines(scenario)
    can_queue, queue_types = queueing(scenario)
    per_flow = [n for n, kind in enumerate(queue_types) if can_queue[n] and kind == PER_FLOW_RATE]
    sharing = [n for n, kind in enumerate(queue_types) if can_queue[n] and kind != PER_FLOW_RATE]
    order = [
        *per_flow,
        *sorted(sharing, key=lambda n: max(scenario.feeders(n)) >= 0),
    ]  # hosts' links first
    halves = transmissions or [0.0] * len(delays)
    shaped = [f for f, flow in enumerate(scenario.flows) if flow.host == "shaped"]
    queue, queues, bands, bands_at = _numbers(scenario, order, queue_types)
    queues += [(f, f + 1) for f in shaped]
    bands_at += [len(bands)] * len(shaped)
    index = {n: i for i, n in enumerate(order)}
    index.update({-1 - f: len(order) + s for s, f in enumerate(shaped)})
    return Layout(
        delays=tuple(a + b for a, b in zip(delays, halves, strict=True)),
        order=tuple(order),
        queue_types=tuple(queue_types[n] for n in order),
        shaped=tuple(shaped),
        per_flow_links=sum(queue_types[n] == PER_FLOW_RATE for n in order),
        queues=np.array(queues, dtype=np.int64).reshape(-1, 2),
        bands=np.array(bands, dtype=np.int64).reshape(-1, 4),
        bands_at=np.array(bands_at),
        **_delays_between(scenario, queue, index, delays, halves),
    )


def queueing(scenario: Scenario) -> tuple[list[bool], list[int]]:
    """Return which links can queue, and the kind of each."""
    links = range(len(scenario.links))
    fed_by_pause = {u for n in links if scenario.links[n].discipline.pauses_links for u in scenario.feeders(n)}
    queues = [bool(scenario.feeders(n)) for n in links]
    for n in links:
        if n not in fed_by_pause and passes_at_once(scenario, n):
            queues[n] = False
    queue_types = []
    for n, link in enumerate(scenario.links):
        kind = PER_FLOW_RATE
        several = sum(map(len, scenario.feeders(n).values())) > 1
        rule = link.discipline
        if rule.diffuses:
            kind = PER_INPUT if rule.queue_per == "input" else PER_FLOW_RATE
        elif rule.queue_per == "flow":
            kind = FAIR_SHARES
        elif several or n in fed_by_pause or rule.pauses or manager_of(rule):
            kind = SHARED_FIFO
        queue_types.append(kind)
    return queues, queue_types


def passes_at_once(scenario: Scenario, n: int) -> bool:
    """Return whether a FIFO link can never queue in a fluid: it is no slower than all links that feed it.

    Links that a host feeds are kept: there packets enter the network.
    """
    feeders, link = scenario.feeders(n), scenario.links[n]
    plain = type(link.discipline) is FIFO and min(feeders, default=-1) >= 0
    plain = plain and all(element.link != link.name for element in scenario.elements)
    return plain and sum(scenario.links[u].rate for u in feeders) <= link.rate


def _numbers(scenario: Scenario, order: list[int], queue_types: list[int]) -> tuple[Any, ...]:
    """Return the queue of each flow and link, the queues of each link, the bands and where they begin."""
    before: list[dict[int, int]] = [{} for _ in scenario.links]  # link over which each flow arrives
    for f, route in enumerate(scenario.routes):
        for previous, n in itertools.pairwise((-1 - f, *route)):
            before[n][f] = previous
    queue: dict[tuple[int, int], int] = {}
    queues: list[tuple[int, int]] = []
    bands: list[tuple[int, int, int, int]] = []
    bands_at = [0]
    C = len(scenario.flows)
    priorities = list(scenario.table.columns["priority"])
    for i, n in enumerate(order):
        rule: Any = scenario.links[n].discipline
        bands_of = {
            f: (priorities[f] if rule.ranked else 0, _group(queue_types[n], rule, priorities[f], f, previous))
            for f, previous in before[n].items()
        }
        flows = sorted(bands_of, key=lambda f: (bands_of[f], before[n][f]))
        queues.append((C, C + len(flows)))
        for (order_rank, _), together in itertools.groupby(flows, bands_of.__getitem__):
            begin = C
            for f in together:
                queue[f, n] = C
                C += 1
            bands.append((i, order_rank, begin, C))
        bands_at.append(len(bands))
    return queue, queues, bands, bands_at


def _delays_between(
    scenario: Scenario,
    queue: dict[tuple[int, int], int],
    index: dict[int, int],
    delays: list[float],
    halves: list[float],
) -> dict[str, Any]:
    """Return the steps of the flows from queue to queue, fields of `Layout`.

    The part of a step that the way back has is put before the receiver.
    """
    C = len(scenario.flows) + len(queue)
    up, lag = np.arange(C), np.zeros(C)
    down, flow_of, link_of = np.full(C, -1), np.arange(C), np.full(C, -1)
    path, path_at, hop_queues, ack_lag = [], [0], [], []
    distances: dict[Any, tuple[list[float], float]] = {}  # most flows have links of few kinds
    for f, (hops, at_once) in enumerate(zip(scenario.routes, scenario.at_once.tolist(), strict=True)):
        legs = [(delays[n], halves[n]) for n in ((() if at_once else hops[:1]) + hops)]
        key = at_once, *legs
        if key not in distances:
            distances[key] = _arrival_steps(legs)
        arrivals, there_and_back = distances[key]
        arrivals = _with_steps_between(arrivals, [index[n] if (f, n) in queue else -1 for n in hops])
        there_and_back = max(there_and_back, arrivals[-1] + 1.0)
        returns = there_and_back - arrivals[-1]
        ack_lag.append(max(1, math.floor(returns + ROUNDING)))
        source, begin = f, 0.0
        for n, now in zip(hops, arrivals[-1 - len(hops) :], strict=False):
            if (f, n) in queue:
                c = queue[f, n]
                up[c], lag[source], down[source], source, begin = source, now - begin, c, c, now
                flow_of[c], link_of[c] = f, index[n]
                path.append(c)
        lag[source] = arrivals[-1] - begin + max(0.0, returns - ack_lag[-1])
        path_at.append(len(path))
        hop_queues.append(tuple(queue.get((f, n), -1) for n in hops))
        link_of[f] = index.get(-1 - f, -1)
    whole_lag, part = whole_and_part(lag)
    return {
        "up": up,
        "down": down,
        "lag": whole_lag,
        "weight": 1.0 - part,
        "ack_lag": np.array(ack_lag),
        "link_of": link_of,
        "flow_of": flow_of,
        "path": np.array(path, dtype=np.int64),
        "path_at": np.array(path_at),
        "hop_queues": tuple(hop_queues),
    }


def _arrival_steps(legs: list[tuple[float, float]]) -> tuple[list[float], float]:
    """Return the steps from a host to each hop of a path and to its end, and those there and back.

    ``legs`` are delays and half packet times of the access link, if there is one, and of the links of the path.
    Parts of steps are not rounded, except for transmission times on links that send several packets per step:
    their sum up to each link is rounded to whole steps. Interpolation would mix packets of two steps
    at these links, and take bursts of a few packets apart.
    """
    delays, times = np.array(legs).T
    short = np.where(times <= SHORT, times, 0.0)
    exact = np.cumsum([0.0, *(delays + times - short)])
    rounded = np.cumsum([0.0, *short])
    returns = float(np.sum(delays + times - short))
    both = np.round(rounded[-1] + np.sum(short))
    return (exact + np.round(rounded)).tolist(), float(exact[-1] + returns + both)


def _with_steps_between(arrivals: list[float], order: list[int]) -> list[float]:
    """Return when a flow reaches its hops and its receiver, with the steps between them that the engine needs.

    Links are served in the order of their positions ``order`` (-1: no queue). What leaves one may come in the same step to a
    later one; to an earlier one, and to the receiver, it takes a step. What that adds the way back has less.
    """
    steps = arrivals.copy()
    first = len(steps) - 1 - len(order)
    last, reached = -1, first  # position and hop of the last queue
    for n, position in enumerate([*order, -1], first):
        earliest = steps[reached] + (1.0 if position <= last else 0.0)
        if position >= 0 or n == len(steps) - 1:
            steps[n] = max(steps[n], earliest)
            last, reached = position, n
    return steps


def _group(kind: int, rule: Any, priority: int, f: int, previous: int) -> tuple[int, ...]:
    """Return the key of the FIFO queue of a flow at a link among those of its rank, in their order.

    ``rule`` is the discipline of the link, ``previous`` the link over which the flow comes.
    """
    if rule.queue_per == "class":
        return int(priority not in rule.classes), priority
    if kind == FAIR_SHARES:
        return (f,)
    return (previous,) if kind == PER_INPUT else (0,)


MAX_ROWS = 2**20
"""Rows of the order of what waits; beyond them steps share a row."""
SPARE_ROWS = 8
"""More rows than steps of a full buffer. Where a link waits longer, paused or at a rate of DFC, steps share a row."""
SEVERAL_FLOWS = 3
"""The kernel has separate loops for links with one flow, with two, and with this many or more."""


def link_records(scenario: Scenario, layout: Layout, h: float, quantum: float) -> Any:
    """Return the records of the links at t = 0, those of shaped hosts last."""
    rows = layout.links(scenario)
    L = len(layout.order)
    links: Any = np.zeros(len(rows), dtype=LINK)
    links["rate"] = [math.floor(link.rate * h / quantum) * quantum for link in rows]
    links["pace"] = links["rate"]
    rooms = np.array([scenario.room_of(n) for n in layout.order])
    links["limit"] = np.inf
    links["limit"][:L] = np.floor(rooms / quantum) * quantum
    links["kind"] = [*layout.queue_types, *([PER_FLOW_RATE] * len(layout.shaped))]
    links["shared"] = [link.shared for link in rows]
    links["first"], links["end"] = layout.queues.T
    links["per_buffer"] = np.where(links["shared"], links["end"] - links["first"], 1)
    links["first_band"], links["end_band"] = layout.bands_at[:-1], layout.bands_at[1:]
    links["first_pooled"], links["manager"] = links["first_band"], -1
    return links


def queue_records(scenario: Scenario, layout: Layout, links: Any, h: float, quantum: float) -> Any:
    """Return the records of the queues at t = 0; the last is for messages that nobody receives."""
    queues: Any = np.zeros(len(layout.up) + 1, dtype=QUEUE)
    queues["peak"] = np.inf
    queues["origin"][:-1], queues["lag"][:-1] = layout.up, layout.lag
    queues["flow"][:-1], queues["link"][:-1] = layout.flow_of, layout.link_of
    paces = scenario.by_link(lambda link: link.rate)[scenario.routes.first] * h
    paces = np.where(scenario.at_once, np.inf, np.floor(paces / quantum) * quantum)
    queues["service"][: len(paces)] = paces
    queues["weight"][:-1] = layout.weight
    pairs = layout.lags_and_weights
    lags = [set(pairs[first:end]) for first, end in layout.queues.tolist()]
    common = [lag.pop() if len(lag) == 1 else (-1, 1.0) for lag in lags]
    links["lag"], links["weight"] = np.transpose(common)
    for i, link in enumerate(layout.links(scenario)):
        rows = queues[slice(*layout.queues[i])]
        rows["link_rate"] = link.rate * h
        if dfc := dfc_of(link.discipline):
            rows["intensity"] = dfc.intensity
            rows["gain"] = dfc.diffusion / link.delay * h
        if i < layout.per_flow_links:
            rows["service"] = 0.0 if dfc else links["rate"][i]
            rows["peak"][0 if link.shared else slice(None)] = 0.0
    return queues


def order_rows(links: Any, layout: Layout, quantum: float, steps: float) -> int:
    """Return how many steps the orders of queues remember: for as long as full buffers last, and no more than the run has.

    Interfaces of hosts have room without bound.
    """
    steps_to_empty = 1.0
    for link, _ in zip(links, layout.order, strict=False):
        buffers = 1.0 if link["shared"] else float(link["end"] - link["first"])
        steps_to_empty = max(steps_to_empty, buffers * link["limit"] / max(link["rate"], quantum))
    return power_of_two(math.ceil(min(steps_to_empty, steps, MAX_ROWS)) + SPARE_ROWS)


def manager_records(scenario: Scenario, layout: Layout, links: Any) -> tuple[Signature, ...]:
    """Fill in the queue managers of the links; return those that there are."""
    kinds: list[Signature] = []
    for i, n in enumerate(layout.order):
        manager = manager_of(scenario.links[n].discipline)
        if manager is not None and n not in scenario.interfaces:
            kind = manager_signature_of(manager)
            if kind not in kinds:
                kinds.append(kind)
            links["manager"][i] = kinds.index(kind)
            links["late"][i] = manager.at == "departure"
            links["fractional"][i] = manager.fractional
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
    managed = [b for b, f in enumerate(flows, first) if scenario.flows[f].priority == only]
    return (managed[0], managed[0] + 1) if managed else (first, first)


def power_of_two(minimum: int) -> int:
    """Return the smallest power of two that is not below a number."""
    return 1 << math.ceil(math.log2(minimum))


def feedback(scenario: Scenario, layout: Layout, h: float, rng: np.random.Generator) -> dict[str, Any]:
    """Return the tables of DFC's feedback, fields of `records.Feedback`.

    There is one clock per period; a slot is a step of a period. The message over a link is sent by the
    node at its end, whose phase it has.
    """
    phase = dict(zip(scenario.nodes, rng.random(len(scenario.nodes)), strict=True))
    links = layout.links(scenario)
    L = len(layout.order)
    dfc = [link.discipline.diffuses for link in links]
    by_input = any(link.discipline.queue_per == "input" for link in links)
    per_flow = [dfc[i] and not (by_input and i < L) for i in range(len(links))]
    link_numbers = [*layout.order, *(scenario.path_index(scenario.flows[f])[0] for f in layout.shaped)]
    periods: dict[int, list[list[int]]] = {}
    for i, link in enumerate(links):
        if law := dfc_of(link.discipline):
            period = max(1, round(layout.delays[link_numbers[i]]))
            slots = periods.setdefault(period, [[] for _ in range(period)])
            node = link.target if i < L else link.source
            random = law.phases == "random"
            slots[int(phase[node] * period) if random else 0].append(i)
    rows: list[tuple[int, ...]] = []
    clocks: list[tuple[int, int, int]] = []
    hearing: list[tuple[int, ...]] = []
    sending: list[tuple[int, ...]] = []
    input_hearing: list[int] = []
    input_sending: list[tuple[int, int, int]] = []
    for period, slots in periods.items():
        clocks.append((period, 0, len(rows)))
        for slot in slots:
            hear = [_queues(layout, i) for i in slot if per_flow[i]]
            send = [entry for i in slot for entry in _senders_to(layout, per_flow, i)]
            inputs = [i for i in slot if not per_flow[i]]
            messages = [entry for i in slot if by_input for entry in _inputs_of(layout, dfc, i)]
            rows.append(
                (
                    *_add(hearing, hear), *_add(sending, send),
                    len(input_hearing), len(input_hearing) + len(inputs),
                    len(input_sending), len(input_sending) + len(messages),
                )
            )  # fmt: skip
            input_hearing += inputs
            input_sending += messages
    return {
        "clocks": np.array(clocks, dtype=CLOCK),
        "slots": np.array(rows, dtype=SLOT),
        "hearing": np.array(hearing, dtype=np.uint64).reshape(-1, 2),
        "sending": np.array(sending, dtype=SENDING),
        "input_hearing": np.array(input_hearing, dtype=np.int64),
        "input_sending": np.array(input_sending, dtype=INPUT_SENDING),
        "input_links": np.array([(link.rate * h, 0.0) * 2 for link in links], dtype=INPUT_LINK),
    }


def _add(table: list[tuple[int, ...]], entries: list[tuple[int, ...]]) -> tuple[int, int, int, int]:
    """Append a slot's entries; return where those of one, two and more flows begin, and their end."""
    starts = [len(table) + sum(entry[0] < n for entry in entries) for n in (1, 2, SEVERAL_FLOWS, SEVERAL_FLOWS + 1)]
    table += [entry[1:] for entry in sorted(entries)]
    return tuple(starts)  # type: ignore[return-value]


def _inputs_of(layout: Layout, dfc: list[bool], i: int) -> list[tuple[int, int, int]]:
    """Return who tells link i, or a host that imitates one, about the queues that it feeds."""
    who = i if i < len(layout.order) else -1 - layout.shaped[i - len(layout.order)]
    senders = set()
    for c in range(*layout.queues[i]):
        d = int(layout.down[c])
        if d < 0 or not dfc[layout.link_of[d]]:
            senders.add((who, -1, c))
            continue
        bands = slice(*layout.bands_at[layout.link_of[d] :][:2])
        inside = (layout.bands[bands, 2] <= d) & (d < layout.bands[bands, 3])
        senders.add((who, bands.start + int(np.argmax(inside)), 0))
    return sorted(senders)


def _queues(layout: Layout, i: int) -> tuple[int, ...]:
    """Return how many flows a link has, at most `SEVERAL_FLOWS`, and its queues as the loops want them."""
    first, end = map(int, layout.queues[i])
    return min(end - first, SEVERAL_FLOWS), first, end if end - first >= SEVERAL_FLOWS else end - 1


def _senders_to(layout: Layout, per_flow: list[bool], i: int) -> list[tuple[int, ...]]:
    """Return the links that send feedback to link i, as its slot's entries."""
    fed = [int(d) for d in layout.down[slice(*layout.queues[i])] if d >= 0]
    senders: list[tuple[int, ...]] = []
    for j in sorted({int(layout.link_of[d]) for d in fed}):
        queues = [d for d in fed if layout.link_of[d] == j]
        if not per_flow[j]:
            continue
        flows, first, last = _queues(layout, j)
        nobody = len(layout.up)
        hear = [min(queues), max(queues) + 1]
        if flows < SEVERAL_FLOWS:
            hear = [int(layout.up[d]) if d in queues else nobody for d in (first, last)]
        senders.append((flows, first, last, *hear))
    return senders


class Way(NamedTuple):
    """The way from a queue to the next one with a trace in front of it.

    queue: the first one's place; steps: of the way without the trace; trace: of its delays.
    """

    queue: int
    steps: float
    trace: DelayTrace


def traced_ways(scenario: Scenario, layout: Layout) -> list[Way]:
    """Return the ways of the flows that have a trace of delays.

    Raises
    ------
    ValueError
        Where two traces act on one flow at a link.
    """
    ways: dict[int, Way] = {}
    names = scenario.link_table.names
    for element in scenario.elements:
        if not isinstance(element, DelayTrace):
            continue
        n = names.index(element.link)
        for f, flow in enumerate(scenario.flows):
            hops = scenario.path_index(flow)
            if n not in hops or (element.flows and flow.name not in element.flows):
                continue
            c = int(layout.up[layout.hop_queues[f][hops.index(n)]])
            if c in ways:
                msg = f"a second one acts on flow {flow.name!r}; use method=Packets()"
                raise ValueError(f"elements: DelayTrace at {element.link}: {msg}")
            ways[c] = Way(c, float(layout.lag[c] + 1.0 - layout.weight[c]), element)
    return list(ways.values())


def largest_holds(scenario: Scenario) -> list[float]:
    """Return the longest times for which the traces hold a packet, s, and 0."""
    traces = (element for element in scenario.elements if isinstance(element, DelayTrace))
    return [0.0, *(element.largest_hold for element in traces)]


def pauses(scenario: Scenario, layout: Layout, h: float, quantum: float) -> Any:
    """Return who pauses whom (`records.PAUSE`), the rows of a link one after the other."""
    rows: list[Any] = []
    for n in layout.order:
        d: Any = scenario.links[n].discipline
        if d.pauses == "link":
            own = _pairs(scenario, layout, n, d, h, quantum)
        elif d.pauses == "class":
            own = _ingress(scenario, layout, n, d, h, quantum)
        else:
            continue
        rows += [*own, *(() if d.storm is None else _for_ever(own, d.storm / h))]
    _count_together(scenario, layout, rows)
    return np.array([row.item() for row in rows], dtype=PAUSE)


def _count_together(scenario: Scenario, layout: Layout, rows: list[Any]) -> None:
    """Join the rows of one ingress and class at several links of a switch in a circle; the first asks."""
    circles: dict[tuple[int, ...], list[int]] = {}
    for i, row in enumerate(rows):
        first = scenario.counted_together(layout.order[row["pausing"]])[0]
        key: tuple[int, ...] = (-1, i)
        if row["first"] < row["end"] and row["held"] != STORM:
            flow = scenario.flows[layout.flow_of[row["first"]]]
            key = first, int(row["paused"]), flow.priority
        circles.setdefault(key, []).append(i)
    for circle in circles.values():
        for i, following in zip(circle, [*circle[1:], circle[0]], strict=True):
            rows[i]["also"] = following
        for i in circle[1:]:
            rows[i]["high"] = rows[i]["low"] = math.inf


def _pairs(scenario: Scenario, layout: Layout, n: int, d: Pause, h: float, quantum: float) -> list[Any]:
    """Return the rows of a link that pauses all that feed it, with all that they carry."""
    found = []
    for u in scenario.feeders(n):
        if u < 0 and scenario.enters_at_once(scenario.flows[-1 - u]):
            continue
        row = _message(scenario, layout, n, u, d.signalling, h)
        fed = scenario.links[u if u >= 0 else n]
        row["high"], row["low"] = d.high, d.low
        row["quanta"] = (d.quanta or 0) * 512.0 / (fed.rate * 8.0 * scenario.packet_size) / h
        row["paused_rate"] = math.floor(d.paused_rate * h / quantum) * quantum
        found.append(row)
    return found


def _for_ever(rows: list[Any], begin: float) -> list[Any]:
    """Return rows for the same pauses that begin at a step, whatever waits, and never end."""
    found = [row.copy() for row in rows if row["high"] < math.inf]
    for row in found:
        row["held"], row["room"], row["backlog"] = STORM, begin, -begin
        row["high"], row["low"], row["quanta"], row["paused_rate"] = 0.0, -math.inf, 0.0, 0.0
    return found


def rooms_of(scenario: Scenario, n: int, h: float, quantum: float) -> dict[tuple[int, int], float]:
    """Return the rooms of `Scenario.rooms` at a link with PFC in packets, as the engine has them.

    Where headroom follows from delays there is room for what comes in a step more, if the buffer has it:
    ways of parts of steps spread packets over one.
    """
    rooms = scenario.rooms(n)
    more = dict.fromkeys(rooms, 0.0)
    if scenario.links[n].discipline.headroom is None:  # type: ignore[attr-defined]
        most = scenario.spare_of_rooms(n) / max(1, len(rooms))
        more = {key: min(scenario.feeding(key[0]).rate * h, most) for key in rooms}
    return {key: math.floor((room + more[key]) / quantum) * quantum for key, room in rooms.items()}


def _ingress(scenario: Scenario, layout: Layout, n: int, d: PFC, h: float, quantum: float) -> list[Any]:
    """Return the rows of a link with PFC: what comes over one link in one lossless class."""
    found = []
    rooms = rooms_of(scenario, n, h, quantum)
    for u, priority, _ in scenario.ingress(n):
        row = _message(scenario, layout, n, u, d.signalling, h)
        direct = u < 0 and scenario.enters_at_once(scenario.flows[-1 - u])
        row["high"], row["low"] = (math.inf, math.inf) if direct else d.thresholds
        flows = [f for f in scenario.feeders(n)[u] if scenario.flows[f].priority == priority]
        own = [layout.hop_queues[f][scenario.path_index(scenario.flows[f]).index(n)] for f in flows]
        row["first"], row["end"] = min(own), max(own) + 1
        row["room"] = rooms[u, priority]
        row["held"] = _band(scenario, layout, n, priority)
        if u >= 0 and scenario.links[u].discipline.queue_per == "class":
            several = np.diff(layout.bands_at[row["paused"] :][:2])[0] > 1
            row["band"] = _band(scenario, layout, u, priority) if several else WHOLE
        found.append(row)
    return found


def _message(scenario: Scenario, layout: Layout, n: int, u: int, signalling: float, h: float) -> Any:
    """Return a row of link n that pauses link u, or a host (-1 - flow), with the delay of its messages."""
    row = np.zeros((), dtype=PAUSE)
    steps = max(1.0, (scenario.links[u if u >= 0 else n].delay + signalling) / h)
    row["wait"], row["part"] = whole_and_part(steps)
    row["pausing"], row["paused"] = layout.order.index(n), layout.order.index(u) if u >= 0 else u
    row["band"] = WHOLE
    return row


def _band(scenario: Scenario, layout: Layout, n: int, priority: int) -> int:
    """Return the FIFO queue of a class at a link."""
    bands = range(*layout.bands_at[layout.order.index(n) :][:2])
    classes = [scenario.flows[layout.flow_of[layout.bands[b, 2]]].priority for b in bands]
    return bands[classes.index(priority)]


def reserve_rooms(scenario: Scenario, layout: Layout, links: Any, stops: Any, h: float, quantum: float) -> None:
    """Give the lossless classes of links with PFC rooms of their own."""
    for i, n in enumerate(layout.order):
        rule: Any = scenario.links[n].discipline
        if rule.pauses != "class":
            continue
        own = np.flatnonzero((stops["pausing"] == i) & (stops["held"] != STORM))
        first, end = layout.bands_at[i : i + 2]
        flows = layout.flow_of[layout.bands[first:end, 2]]
        lossless = sum(scenario.flows[f].priority in rule.classes for f in flows)
        links["first_pooled"][i] = first + lossless
        if len(own):
            _check_rooms(scenario, n)
            links["first_ingress"][i], links["end_ingress"][i] = own[0], own[-1] + 1
            rooms = rooms_of(scenario, n, h, quantum)
            links["reserved"][i] = scenario.part_of_rooms(n, sum(rooms.values()))


def _check_rooms(scenario: Scenario, n: int) -> None:
    """Refuse a buffer without room for each flow of a host: in the fluid each has an access link of its own."""
    reserved, link = scenario.part_of_rooms(n, sum(scenario.rooms(n).values())), scenario.links[n]
    if reserved > scenario.buffer_of(n):
        msg = f"in the fluid each flow of a host has an access link, for which PFC reserves room, {reserved:g} packets in all"
        hint = "increase it, or use method=Packets() (--level packets in the shell)"
        raise ValueError(f"buffer of link {link.name!r} = {link.buffer!r}: {msg}; {hint}")
