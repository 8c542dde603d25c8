"""Arrays of the compiled engine for a plan: units, calendar queues, routes, senders."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.coupled import PI2, DualPI2
from dfcmodel.network.disciplines import manager_of
from dfcmodel.network.flows import OnOff
from dfcmodel.network.manager_events import ManagerSignature, manager_signature_of
from dfcmodel.network.managers import PIE, RED, CoDel
from dfcmodel.packets.capacities import first_elements, first_places, most_elements, outstanding
from dfcmodel.packets.dfc_layouts import begin_clocks, lay_out_feedback, lay_out_rates
from dfcmodel.packets.kernel.boxes import USED
from dfcmodel.packets.kernel.layout import (
    CALLED,
    CONTROL,
    EARLY,
    ELEMENT,
    FLOW,
    HISTORY,
    HOP,
    UNIT,
)
from dfcmodel.packets.kernel.managers import ALL_LANES
from dfcmodel.packets.kernel.timers import WAKE
from dfcmodel.packets.lane_layouts import begin_storms, lay_out_feeders, lay_out_lanes
from dfcmodel.packets.plans import ENDLESS
from responsefn import DeliveryRule, RateRule, WindowRule
from responsefn.responses.rule_compilation import numbers_of
from responsefn.responses.rule_events import RuleSignature, parameters_at, signature_of
from responsefn.rules.base import answers_marks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plans import Plan, Port

__all__ = ["Layout", "called_managers", "lay_out"]

MANAGERS: dict[Any, int] = {RED.on_step: 1, PIE.on_step: 2, CoDel.on_step: 3, PI2.on_step: 5}
"""Managers that are compiled with the kernel, by their function in the fluid; see `kernel.managers`."""
BY_ADDRESS, COUPLED = 4, 6
RECOVERY = {"tahoe": 0, "reno": 1, "newreno": 2, "sack": 3, "": 4}
RATED = 5
MOST_SLOTS = 1 << 14
"""Largest number of slots per calendar queue."""
SLOTS_PER_WINDOW = 256
"""Largest number of slots that a unit looks at in a window."""
LATEST = 1.0 - 1e-6
"""Length of a window over the smallest latency; below 1 because sums of times are rounded."""


@dataclass
class Layout:
    """The arrays of a run by their names in the kernel.

    Attributes
    ----------
    ahead
        Length of a window, s.
    most
        Number of elements that are enough for the plan.
    """

    arrays: dict[str, Any]
    ahead: float
    most: int


def lay_out(plan: Plan, signatures: tuple[RuleSignature, ...], spare: int = 1) -> Layout:
    """Return the engine's arrays for a plan; those that grow are ``spare`` times as large at first."""
    ways = [way_of(plan, f) for f in range(len(plan.forward))]
    inline = ordered_ports(plan)
    order, ahead = windows(plan, inline)
    flow, bits, sent = _flows(plan, signatures, ways)
    numbers = [_manager_number(port) for port in plan.ports]
    unit, slots, ring = _units(plan, inline, order, ahead, spare, numbers)
    hop = np.zeros(sum(map(len, ways)), HOP)
    hop["port"] = [p for way in ways for p in way]
    hop["inline"] = inline[hop["port"]]
    lane = lay_out_lanes(plan, unit, hop, ways)
    feeder = lay_out_feeders(plan, unit, hop, ways)
    clocks = plan.clocks()
    F = len(ways)
    most = most_elements(plan)
    size, alarm = first_elements(plan, spare, most)
    selective = any(kind == "sack" for kind in plan.recoveries)
    window = max((int(f.max_window) for f in plan.scenario.flows), default=1)
    arrays = {
        "element": np.empty(size, ELEMENT),
        "unit": unit,
        "slot": np.full((slots, 2), -1, dtype=np.int32),
        "flow": flow,
        "history": np.zeros(max(1, sent), HISTORY),
        "hop": hop,
        "lane": lane,
        "diffusive": lay_out_rates(plan, unit, lane),
        "feeder": feeder,
        "feedback": lay_out_feedback(clocks, plan, unit),
        "ring": ring,
        "bits": bits,
        "known": np.full((F, 8), -1, dtype=np.int32),
        "noted": np.full((F, 6), -1, dtype=np.int32),
        "block": np.empty((size if selective else 1, 6), dtype=np.int32),
        "transmission": plan.transmission,
        "passage": plan.passage,
        "sizes": plan.sizes,
        "early": _early(plan, numbers),
        "control": _control(plan, numbers),
        "called": _called(plan, numbers),
        "order": order,
        "stream": plan.seeds.astype(np.int64),
        "out": np.empty((2 * window + 64, 2), dtype=np.int32),
        "clock": np.array(
            [
                *(0.0, 0.0, math.inf, float(plan.method.is_ns2), plan.scenario.min_rto),
                *(plan.jitter, plan.method.ack_delay, 0.0),
            ]
        ),
        "tally": np.array([-1, 0, 0, 0, 0, 0, 0, alarm], dtype=np.int64),
    }
    _wake_all(plan, arrays)
    begin_storms(plan, arrays)
    begin_clocks(clocks, arrays)
    return Layout(arrays, ahead, most)


def way_of(plan: Plan, f: int) -> tuple[int, ...]:
    """Return the ports of a flow's route; a 0 between both directions represents the receiver."""
    return (*plan.forward[f], 0, *plan.backward[f])


def _feeders(plan: Plan) -> Iterable[tuple[int, int, int]]:
    """Yield (flow, port, previous port) for all hops; -1 for the first port after an end of a flow.

    Receivers that delay ACKs share the calendar queue of the senders.
    """
    for f, ports in enumerate(plan.forward):
        before = -1
        for n, p in enumerate((*ports, *plan.backward[f])):
            yield f, p, -1 if n == len(ports) and plan.delayed[f] else before
            before = p


def ordered_ports(plan: Plan) -> NDArray[np.int64]:
    """Return 1 for ports with a single ordered input, from one port or from senders only, (P,).

    Ports that have lanes or can be paused are processed in every window and get 0.
    """
    before: dict[int, set[int]] = {}
    for _, p, q in _feeders(plan):
        before.setdefault(p, set()).add(q)
    single = [int(len(before.get(p, ())) <= 1) for p in range(len(plan.ports))]
    for p, port in enumerate(plan.ports):
        if port.has_lanes:
            single[p] = 0
            for q in plan.pausable(p):
                single[q] = 0
    return np.array(single)


def windows(plan: Plan, inline: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
    """Return the processing order of the units and the length of a window in s.

    Senders come first. The window is the smallest latency of a transfer against this order, and not longer than a
    period of feedback, because one report is under way at a time.
    """
    senders = len(plan.ports)
    edges: dict[tuple[int, int], float] = {}
    for f, ports in enumerate(plan.forward):
        at, time = senders, 0.0
        for n, p in enumerate((*ports, *plan.backward[f])):
            if n == len(ports) and plan.delayed[f]:
                edges[at, senders] = min(edges.get((at, senders), math.inf), time)
                at, time = senders, 0.0
            if not inline[p]:
                if at != senders or time > 0.0:
                    edges[at, p] = min(edges.get((at, p), math.inf), time)
                else:
                    edges[at, p] = 0.0
                at, time = p, 0.0
            time += float(plan.passage[p, 1])
        if plan.backward[f]:
            edges[at, senders] = min(edges.get((at, senders), math.inf), time)
    for p, port in enumerate(plan.ports):
        for q in plan.pausable(p):
            latency = plan.ports[q].delay + port.discipline.signalling  # type: ignore[attr-defined]
            edges[p, q] = min(edges.get((p, q), math.inf), latency)
    boxed = [senders, *(p for p in range(senders) if not inline[p])]
    one = {u: plan.counting[u][0] if u < senders else u for u in boxed}  # they are processed as one
    joined: dict[tuple[int, int], float] = {}
    for (a, b), time in edges.items():
        joined[one[a], one[b]] = min(joined.get((one[a], one[b]), math.inf), time)
    sorted_units = _sorted_units([u for u in boxed if one[u] == u], joined)
    place = {u: n for n, u in enumerate(sorted_units)}
    order = sorted(boxed, key=lambda u: place[one[u]])
    back = [time for (a, b), time in joined.items() if place[b] <= place[a]]
    periods = [clock.period for clock in plan.clocks()]
    longest = float(plan.passage.max()) * (1 + max(map(len, plan.forward)))
    return np.array(order, dtype=np.int64), LATEST * min([*back, *periods, longest])


def _sorted_units(boxed: list[int], edges: dict[tuple[int, int], float]) -> list[int]:
    """Return the units in an order with few backward edges; the senders remain first."""
    into: dict[int, set[int]] = {u: set() for u in boxed}
    for a, b in edges:
        if b != boxed[0] and a != b:
            into[b].add(a)
    after: dict[int, list[int]] = {u: [] for u in boxed}
    for b, before in into.items():
        for a in before:
            after[a].append(b)
    place = {u: n for n, u in enumerate(boxed)}
    order: list[int] = []
    heap = [
        (len(into[u]), place[u], u) for u in boxed
    ]  # what is left, the fewest units before it first
    heapq.heapify(heap)
    while heap:
        count, _, u = heapq.heappop(heap)
        if u not in into or count != len(into[u]):  # it has been chosen, or has a later entry
            continue
        order.append(u)
        del into[u]
        for b in after[u]:
            if b in into:
                into[b].discard(u)
                heapq.heappush(heap, (len(into[b]), place[b], b))
    return order


def _horizons(
    plan: Plan, inline: NDArray[np.int64], queueing: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how long before its time an element is pushed to each unit, s, (P + 1,), besides a window.

    ``queueing`` is the longest time in the queue of each port; at ports with lanes packets are pushed
    when they leave. Calendar queues work beyond it too, more slowly.
    """
    senders = len(plan.ports)
    far = [0.0] * (senders + 1)
    leaving = (plan.passage.max(axis=1) + np.where(plan.with_lanes, 0.0, queueing)).tolist()
    boxed = (inline == 0).tolist()
    for f, ports in enumerate(plan.forward):
        time = 0.0
        for n, p in enumerate((*ports, *plan.backward[f])):
            if n == len(ports) and plan.delayed[f]:
                far[senders] = max(far[senders], time)
                time = 0.0
            if boxed[p]:
                far[p] = max(far[p], time)
                time = 0.0
            time += leaving[p]
        far[senders] = max(far[senders], time)
    return np.array(np.minimum(far, plan.passage[:, 0].sum()), dtype=np.float64)


def _units(
    plan: Plan,
    inline: NDArray[np.int64],
    order: NDArray[np.int64],
    window: float,
    spare: int,
    numbers: list[int],
) -> tuple[NDArray[Any], int, NDArray[np.float64]]:
    """Return the units, the number of slots of their calendar queues, and the departure ring."""
    P = len(plan.ports)
    unit = np.zeros(P + 1, UNIT)
    unit["free"] = -math.inf
    unit["asks"] = unit["mate"] = np.arange(len(unit))
    unit["managed"] = ALL_LANES
    places = np.minimum([port.room for port in plan.ports], outstanding(plan))
    unit["room"][:P] = [port.room for port in plan.ports]
    unit["manager"][:P] = numbers
    unit["kind"][:P] = unit["manager"][:P] == MANAGERS[RED.on_step]
    unit["rank"][:P] = plan.ranks
    unit["loss"][:P] = plan.losses
    unit["delay"][:P] = [port.delay for port in plan.ports]
    unit["counted"][:P] = [port.delay * (port.link >= 0) for port in plan.ports]
    sizes, alarms = first_places(np.where(plan.with_lanes, 0, places), spare)
    unit["ring"][:P] = np.cumsum([0, *sizes[:-1]])
    unit["ring_mask"][:P], unit["alarm"][:P] = sizes - 1, alarms
    slots = 0
    largest = np.full(P, -1)  # size class: ports without data have ACKs alone
    largest[list({p for route in plan.forward for p in route})] = 0
    longest = places * plan.transmission[np.arange(P), largest]
    ahead = window + _horizons(plan, inline, longest)
    fastest = plan.transmission[:, 0].min()
    for u in order:
        width = max(plan.transmission[u, 0] if u < P else fastest, window / SLOTS_PER_WINDOW)
        horizon = ahead[u]
        count = 1 << math.ceil(math.log2(min(MOST_SLOTS, max(16.0, 2.0 * horizon / width))))
        unit["at"][u], unit["mask"][u] = slots, count - 1
        unit["inverse"][u] = 1.0 / max(width, 2.0 * horizon / count)
        slots += count
    return unit, slots, np.empty(int(sizes.sum()))


def _manager_number(port: Port) -> int:
    """Return which manager a port has: one that is compiled with the kernel, or by address."""
    if isinstance(port.discipline, DualPI2):
        return COUPLED
    manager = manager_of(port.discipline)
    return 0 if manager is None else MANAGERS.get(type(manager).on_step, BY_ADDRESS)


def called_managers(plan: Plan) -> tuple[ManagerSignature, ...]:
    """Return the signatures of the managers that are called by address, each once."""
    managers = [
        manager_of(port.discipline) for port in plan.ports if _manager_number(port) == BY_ADDRESS
    ]
    return tuple(dict.fromkeys(manager_signature_of(each) for each in managers if each is not None))


def _called(plan: Plan, numbers: list[int]) -> NDArray[Any]:
    """Return the parameters and state of managers called by address; rows of other ports are unused."""
    if BY_ADDRESS not in numbers:
        return np.zeros(1, CALLED)
    signatures = called_managers(plan)
    called = np.zeros(len(plan.ports), CALLED)
    for p, port in enumerate(plan.ports):
        manager = manager_of(port.discipline)
        if manager is not None and numbers[p] == BY_ADDRESS:
            row, state = called[p], type(manager).State()
            row["drop"], row["mark"] = state[:2]
            row["state"][: len(state) - 2] = state[2:]
            given = list(manager.numbers(plan.scenario.packet_size).values())
            row["parameters"][: len(given)] = given
            row["capacity"] = 1.0 / plan.transmission[p, 0]
            row["kind"] = signatures.index(manager_signature_of(manager))
    return called


def _control(plan: Plan, numbers: list[int]) -> NDArray[Any]:
    """Return the parameters and state of CoDel, PIE and PI2; rows of other ports are unused."""
    if not set(numbers) - {0, BY_ADDRESS, MANAGERS[RED.on_step]}:
        return np.zeros(1, CONTROL)
    control = np.zeros(len(plan.ports), CONTROL)
    for p, port in enumerate(plan.ports):
        rule: Any = manager_of(port.discipline) or port.discipline
        row = control[p]
        if numbers[p] == MANAGERS[CoDel.on_step]:
            row["target"], row["interval"] = rule.target, rule.interval
        elif numbers[p] == MANAGERS[PIE.on_step]:
            row["target"], row["interval"] = rule.target, rule.update
            row["alpha"], row["beta"] = rule.alpha, rule.beta
            row["next"], row["pace"] = rule.update, 8.0 / port.bits
            row["burst"] = row["most_burst"] = rule.burst
        elif isinstance(rule, (PI2, DualPI2)):
            row["target"], row["interval"], row["next"] = rule.target, rule.update, rule.update
            row["alpha"], row["beta"], row["coupling"] = rule.alpha, rule.beta, rule.coupling
            row["ecn"], row["pace"] = rule.ecn, 8.0 / port.bits
            if isinstance(rule, DualPI2):
                row["ramp"], row["width"] = rule.ramp, rule.ramp_width
                row["share"] = rule.classic_share
    return control


def _early(plan: Plan, numbers: list[int]) -> NDArray[Any]:
    """Return the RED parameters and state of each port; rows of other ports are unused."""
    if MANAGERS[RED.on_step] not in numbers:
        return np.zeros(1, EARLY)
    early = np.zeros(len(plan.ports), EARLY)
    for p, port in enumerate(plan.ports):
        rule: Any = manager_of(port.discipline)
        if numbers[p] == MANAGERS[RED.on_step]:
            row = early[p]
            size = rule.mean_packet or plan.scenario.packet_size
            row["pace"] = port.bits / (8.0 * size)
            for name in ("weight", "low", "high", "max_p"):
                row[name] = getattr(rule, name)
            row["most"] = rule.high * (2.0 if rule.gentle else 1.0)
            row["mean"], row["ecn"] = rule.mean_packet or 0.0, rule.ecn
    return early


def _flows(
    plan: Plan, signatures: tuple[RuleSignature, ...], ways: list[tuple[int, ...]]
) -> tuple[NDArray[Any], NDArray[np.uint8], int]:
    """Return the rows of the flows, the bit maps, and the number of records of what is in flight."""
    F, ns2 = len(ways), plan.method.is_ns2
    flow = np.zeros(F, FLOW)
    flow["way"] = np.cumsum([0, *(len(way) for way in ways[:-1])])
    flow["turn"] = [len(ports) for ports in plan.forward]
    flow["end"] = [len(way) for way in ways]
    for name, value in (("acked", -1), ("last", -1), ("highest", -1), ("timed", -1), ("hole", -1),
                        ("least", -1), ("top", -1), ("pipe", -1), ("first_window", 2.0),
                        ("recover", 0 if ns2 else -2), ("backoff", 1.0),
                        ("deadline", math.inf), ("ack_due", math.inf), ("pending", -1), ("held_until", math.inf), ("off_at", math.inf),
                        ("first_loss", math.nan), ("finished", math.nan),
                        ("current", 3.0 if ns2 else 1.0), ("variance", 4800.0 if ns2 else 0.0)):  # fmt: skip
        flow[name] = value
    flow["phase"] = plan.phases
    flow["delayed"] = plan.delayed
    flow["recovery"] = [RECOVERY[kind] for kind in plan.recoveries]
    total = sent = 0
    for f, given in enumerate(plan.scenario.flows):
        source: Any
        row, source = flow[f], given.source
        row["size"] = min(given.size + (ns2 and isinstance(source, WindowRule)), ENDLESS)
        row["most"] = given.max_window
        if isinstance(source, WindowRule):
            row["due"] = plan.starts[f]
            row["kind"] = signatures.index(signature_of(source))
            row["accurate"] = answers_marks(type(source))
            row["bits"] = total
            count = 1 << math.ceil(math.log2(8 + 2 * given.max_window))
            row["bit_mask"] = count - 1
            total += max(1, count >> 3) * (2 if row["recovery"] == RECOVERY["sack"] else 1)
            begin = source.start(plan.scenario.base_rtt(given))
            if ns2:
                begin = begin._replace(cwnd=1.0, ssthresh=float(int(given.max_window)))
            _set_numbers(row, source, begin)
            row["paced"] = plan.paced[f]
            row["pace_start"], row["pace_after"] = plan.paces(f)
            if isinstance(source, DeliveryRule):
                row["samples"], row["not_ect"] = 1, not row["accurate"]
                row["history"], row["sent_mask"] = sent, 4 * count - 1
                sent += 4 * count
        elif isinstance(source, RateRule):
            line_rate = plan.scenario.path(given)[0].rate
            row["kind"] = signatures.index(signature_of(source))  # type: ignore[arg-type]
            row["recovery"], row["accurate"], row["due"] = RATED, 1, -1.0
            row["line_gap"], row["pace_at"] = 1.0 / line_rate, -math.inf
            _set_numbers(row, source, source.start(line_rate))
        else:
            row["due"], row["gap"] = -1.0, 1.0 / source.rate
            if isinstance(source, OnOff):
                row["onoff"] = 2 if source.random else 1
                row["on"], row["off"] = source.on, source.off
    return flow, np.zeros(total + 1, dtype=np.uint8), sent


def _set_numbers(row: Any, rule: Any, begin: Any) -> None:
    """Write the first state of a rule and its parameters into a flow's record, one after the other."""
    numbers, values = np.zeros(64), list(numbers_of(rule).values())
    numbers[: len(begin)] = begin
    first = parameters_at(type(rule))
    numbers[first : first + len(values)] = values
    row["cwnd"], row["ssthresh"] = numbers[:2]
    row["rule_state"], row["parameters"], row["more"] = np.split(numbers[2:], [14, 30])


def _wake_all(plan: Plan, arrays: dict[str, Any]) -> None:
    """Schedule the starts of all flows, in a calendar queue that is empty."""
    element, slot, box = arrays["element"], arrays["slot"], arrays["unit"][-1]
    F = len(plan.starts)
    first, senders = int(arrays["tally"][USED]), len(plan.ports)
    rows = first + np.arange(F)
    places = box["at"] + ((plan.starts * box["inverse"]).astype(np.int64) & box["mask"])
    order = np.lexsort((np.arange(F), plan.starts, places))
    same = places[order[1:]] == places[order[:-1]]
    for name, values in (("time", plan.starts), ("number", WAKE), ("flow", np.arange(F)),
                         ("key", senders + np.arange(F)), ("next", -1)):  # fmt: skip
        element[name][rows] = values
    element["next"][rows[order[:-1]][same]] = rows[order[1:]][same]
    slot[places[order], 1] = rows[order]  # the last one of each slot stays
    slot[places[order[::-1]], 0] = rows[order[::-1]]
    box["count"] += F
    arrays["tally"][USED] += F
