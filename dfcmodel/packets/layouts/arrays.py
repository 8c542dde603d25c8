"""Arrays of the compiled engine for a plan: ports, calendar queues, routes, senders."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.callback_events import AGENT_EVENTS, LAW_EVENTS, PROGRAM_EVENTS
from dfcmodel.network.endpoints.receivers import MAX_OF_FLOW
from dfcmodel.network.links import among
from dfcmodel.network.queueing.backpressure import BFC
from dfcmodel.network.queueing.class_pauses import ALL, ByClass
from dfcmodel.network.queueing.disciplines import Pause
from dfcmodel.network.queueing.link_laws import LinkLaw
from dfcmodel.network.queueing.programs import MAX_TELEMETRY_FIELDS, SwitchProgram
from dfcmodel.packets.kernel.layout import (
    AGENT,
    BACKFLOW,
    BUCKET,
    CALLED,
    CLASSES,
    CLOCK,
    CONTROL,
    EARLY,
    ELEMENT,
    FAULT,
    FEEDER,
    FOLLOW,
    FOLLOWER,
    HISTORY,
    HOP,
    LAW,
    NATIVE,
    NATIVE_RULE,
    OWN,
    PACKET,
    PASSING,
    PROGRAM,
    QUEUE,
    RANKED,
    RECEIVER,
    SENDER,
    SENT_PACKET,
    STORM,
    TIMES,
    TRACE,
    UPCOMING,
    WATCHDOG,
)
from dfcmodel.packets.kernel.tcp.ns2 import MIN_TICK_TIMEOUT
from dfcmodel.packets.layouts.agents import lay_out_agents
from dfcmodel.packets.layouts.backpressure import lay_out_backpressure
from dfcmodel.packets.layouts.feeders import lay_out_feeders, storms_of
from dfcmodel.packets.layouts.followers import lay_out_followers
from dfcmodel.packets.layouts.interfaces import lay_out_interfaces
from dfcmodel.packets.layouts.laws import lay_out_laws
from dfcmodel.packets.layouts.managers import lay_out_managers
from dfcmodel.packets.layouts.memory import (
    Layout,
    aligned,
    first_elements,
    further_layout,
    max_elements,
)
from dfcmodel.packets.layouts.native_rules import lay_out_native
from dfcmodel.packets.layouts.path_elements import lay_out_elements
from dfcmodel.packets.layouts.ports import (
    Event,
    clocks_of,
    lay_out_feedback,
    lay_out_lanes,
    lay_out_ports,
    lay_out_rates,
    plan_lookahead,
    schedule,
)
from dfcmodel.packets.layouts.programs import (
    lay_out_programs,
    lay_out_queues,
)
from dfcmodel.packets.layouts.routing import lay_out_routing
from dfcmodel.packets.layouts.senders import (
    begin_flows,
    lay_out_arrivals,
    lay_out_flows,
    starts_of,
    stops_of,
)
from dfcmodel.packets.layouts.watchdogs import lay_out_watchdogs, polls_of
from dfcmodel.packets.recoveries.compilation import EXCHANGED
from dfcmodel.packets.repairs import SelectiveRepair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan
    from responsefn.rule_events import RuleSignature

__all__ = ["Layout", "lay_out", "trace_ports"]

ROWS = 1 << 16
"""Rows of a trace for which there is room: half of them in one window."""


def lay_out(plan: PacketPlan, signatures: tuple[RuleSignature, ...], spare: int = 1) -> Layout:
    """Return the state of a run at t = 0; arrays that can grow begin ``spare`` times as large as usual."""
    layout = further_layout(plan, (signatures, spare), partial(_layout_of, plan, signatures, spare))
    arrays = layout.arrays
    arrays["stream"] = plan.seeds.astype(np.int64)
    begin_flows(plan, arrays)
    home, events = arrays["home"], list[Event]()
    if (plan.stops < plan.end).any():
        events += stops_of(plan, home)
    if plan.initial_events:
        events += storms_of(plan, arrays) + polls_of(plan, arrays)
    events += clocks_of(plan.clocks)
    schedule(arrays, starts_of(plan, home), events)
    return layout


def _layout_of(plan: PacketPlan, signatures: tuple[RuleSignature, ...], spare: int) -> Layout:
    """Return the state of a run at t = 0 before its seed, starts and first events are set."""
    without_calendar, parts, order, ahead = plan.share("lookahead", partial(plan_lookahead, plan))
    flow, rule, bits, sent, first_windows = lay_out_flows(plan, signatures)
    optional = rows_of_unused_features()
    if (flow["listed"] == NATIVE).any():
        optional |= lay_out_native(plan, flow, rule, sent)
    if plan.scenario.table.given("receiver").any():
        optional |= lay_out_agents(plan, flow)
    port_rows, buckets, ring = lay_out_ports(plan, parts, order, ahead, spare)
    if plan.has_managers:
        optional |= lay_out_managers(plan, port_rows)
    F, P = len(flow), len(plan.ports)
    hop = np.zeros(len(plan.hops.port) + 2 * F, HOP)
    hosts, active = plan.hosts, plan.active
    turn, last = plan.end_rows.receiver[active], plan.end_rows.sender[active]
    rows, ports = plan.hops.row, plan.hops.port
    if plan.idle.any():
        begun = np.flatnonzero(~plan.idle[plan.hops.flow])
        rows, ports = rows[begun], ports[begun]
    port_rows["queue"] = np.append(hosts.queue, P)
    hop["port"][turn], hop["port"][last], hop["port"][rows] = RECEIVER, SENDER, ports
    hop["queue"][last], hop["queue"][turn] = hosts.sender[active], hosts.receiver[active]
    hop["queue"][rows] = np.where(without_calendar == 1, -1, port_rows["queue"][:-1])[ports]
    lane = lay_out_lanes(plan, port_rows, hop)
    if plan.at_senders.any():
        lane = np.append(lane, lay_out_interfaces(plan, port_rows, hop, flow, len(lane)))
    if plan.spraying is not None:  # packets over lent paths wait with those of their flow
        hop["lane"][flow["way"]] = hop["lane"][flow["way"][plan.spraying.owner]]
    if plan.has_discipline(SwitchProgram):
        lane = np.append(lane, lay_out_queues(plan, port_rows, hop, len(lane)))
    if plan.has_discipline(Pause, ByClass):
        optional["feeder"] = lay_out_feeders(plan, port_rows, hop, lane)
    if plan.has_discipline(LinkLaw):
        optional |= lay_out_laws(plan, port_rows, hop, optional["feeder"], len(lane))
    if plan.has_discipline(BFC):
        optional["backflow"] = lay_out_backpressure(plan, hop, len(lane))
    clocks = plan.clocks
    maximum = max_elements(plan)
    size, alarm = first_elements(plan, spare, maximum)
    selective = any(kind.selective for kind in plan.recovery_kinds)
    selective |= any(isinstance(repair, SelectiveRepair) for repair in among(plan.repairs))
    selective |= bool((flow["agent"][active] >= 0).any())
    window = int(plan.scenario.table.numbers("max_window").max())
    # The last telemetry of each flow, (F, records, numbers); one row where no rule reads it.
    reports = int(flow["reports"].max(initial=0))
    clock = dict.fromkeys(("now", "end", "window", "sample_row", "sample_start", "sample_end"), 0.0)
    clock |= {"check": math.inf, "min_rto": plan.scenario.min_rto, "jitter": plan.jitter}
    clock["min_backed_off"] = MIN_TICK_TIMEOUT if plan.method.is_ns2 else 0.0
    arrays = {
        **optional,
        "packet": aligned(size, PACKET),
        "sent_at": np.empty(size),
        "port": port_rows,
        "bucket": np.full(2 * buckets, -1, dtype=np.int32).view(BUCKET),
        "flow": flow,
        "rule": rule,
        "history": np.zeros(max(1, sent), HISTORY),
        "arrivals": lay_out_arrivals(plan, flow),
        "reported": np.zeros((F if reports else 1, max(1, reports), 1 + MAX_TELEMETRY_FIELDS)),
        "begun": np.arange(F, dtype=np.int32)[active],
        "first_windows": first_windows,
        "hop": hop,
        "waited": np.zeros(len(hop)),
        "lane": lane,
        "diffusive": lay_out_rates(plan, port_rows, lane),
        "feedback": lay_out_feedback(clocks, plan, port_rows),
        "ring": ring,
        "bits": bits,
        "received": np.zeros((F if selective else 1, 8), dtype=np.int32),
        "sacked": np.zeros((F if selective else 1, 6), dtype=np.int32),
        "block": np.empty((size if selective else 1, 6), dtype=np.int32),
        "trace": np.empty(0, TRACE),
        "times": _times(plan),
        "sizes": plan.sizes,
        "fault": _faults(plan),
        "order": order,
        "home": np.concatenate([hosts.sender, hosts.receiver]),
        "exchange": np.zeros(EXCHANGED),
        "out": np.empty((2 * window + 64, 2), dtype=np.int32),
        "clock": np.array([float(clock[name] if name in clock else getattr(plan.method, name)) for name in CLOCK]),
        "counters": np.array([-1, 0, 0, 0, 0, 0, 0, alarm, 0, 0, 0], dtype=np.int64),
    }
    if plan.has_discipline(SwitchProgram):
        arrays.update(lay_out_programs(plan, size, len(hop)))
    if plan.scenario.all_elements:
        arrays.update(lay_out_elements(plan, port_rows, len(hop)))
    if plan.scenario.table.waits.any():
        arrays.update(lay_out_followers(plan))
    if plan.choices or plan.outages or plan.spraying is not None:
        arrays.update(lay_out_routing(plan, arrays))
    if plan.watchdogs or plan.routing:
        arrays.update(lay_out_watchdogs(plan, arrays))
    together = (port_rows["mate"] != np.arange(len(port_rows))).any()
    arrays["upcoming"] = np.zeros(len(port_rows) if together else 1, UPCOMING)
    return Layout(arrays, ahead, maximum)


def trace_ports(arrays: dict[str, Any], ports: Sequence[int], spare: int) -> None:
    """Make the engine record packets at these ports in a new ``trace``, ``spare`` times as large as usual, in place."""
    port_rows, rows = arrays["port"], list(ports)
    port_rows["traced"][rows] = 1
    plain = port_rows["plain"][rows]
    port_rows["plain"][rows] = np.where(plain == 1, 0, plain)
    arrays["trace"] = np.zeros(ROWS * spare, TRACE)


def _faults(plan: PacketPlan) -> NDArray[Any]:
    """Return each port's probabilities of loss and of frame errors, rows of `FAULT`; one row of zeros without any."""
    if not (plan.losses.any() or plan.errors.any()):
        return np.zeros(1, FAULT)
    faults = np.zeros(len(plan.ports), FAULT)
    faults["loss"], faults["error"], faults["request"] = plan.losses, plan.errors, plan.retry_loops
    return faults


def _times(plan: PacketPlan) -> NDArray[Any]:
    """Return times, s, ranks and bytes in queue as rows of `TIMES`, (P * CLASSES,): by port, then size class."""
    times = aligned(CLASSES * len(plan.ports), TIMES)
    for name, values in (
        ("transmission", plan.transmission), ("passage", plan.passage), ("rank", plan.arrival_ranks),
        ("taken", plan.sizes_in_queue),
    ):  # fmt: skip
        times[name].reshape(-1, CLASSES)[:, : plan.sizes.size] = values
    return times


def rows_of_unused_features() -> dict[str, Any]:
    """Return the arrays, by name, of features that a plan may lack, as if it had none of them.

    They are queue managers, ports that pause others, switch programs, receiver agents, laws between the ends of links,
    with the addresses of their functions; elements of paths, backpressure, flows that wait for others, choices and
    failures of routes, watchdogs, native rules.
    """
    law, feeder = np.zeros(1, LAW), np.zeros(1, FEEDER)
    law["kind"] = feeder["port"] = feeder["lane"] = -1
    feeder["priority"] = ALL
    return {
        "managers": np.zeros(1, dtype=np.uint64),
        "early": np.zeros(1, EARLY),
        "control": np.zeros(1, CONTROL),
        "called": np.zeros(1, CALLED),
        "feeder": feeder,
        "programs": np.zeros((1, len(PROGRAM_EVENTS)), dtype=np.uint64),
        "program": np.zeros(1, PROGRAM),
        "own": np.zeros(1, OWN),
        "ranked": np.zeros(1, RANKED),
        "program_queue": np.zeros(1, QUEUE),
        "trimmed": np.zeros(1, dtype=np.int32),
        "telemetry": np.zeros((1, 1, 1 + MAX_TELEMETRY_FIELDS)),
        "agents": np.zeros((1, len(AGENT_EVENTS)), dtype=np.uint64),
        "agent": np.zeros(1, AGENT),
        "agent_state": np.zeros((1, MAX_OF_FLOW)),
        "agent_sizes": np.zeros(1),
        "laws": np.zeros((1, len(LAW_EVENTS)), dtype=np.uint64),
        "law": law,
        "lawful": np.full(1, -1, dtype=np.int32),
        "element": np.zeros(1, ELEMENT),
        "steps": np.zeros((1, 2)),
        "chain": np.full(1, -1, dtype=np.int64),
        "passing": np.zeros(1, PASSING),
        "rated": np.zeros(1, dtype=np.int64),
        "backflow": np.zeros(1, BACKFLOW),
        "native": np.zeros(1, NATIVE_RULE),
        "slot": np.zeros(1, SENT_PACKET),
        "follow": np.zeros(0, FOLLOW),
        "followers": np.zeros(0, FOLLOWER),
        "choice": np.zeros((1, 2), dtype=np.int32),
        "candidates": np.zeros(0, dtype=np.int32),
        "down": np.zeros((0, 2)),
        "downs": np.zeros((1, 2), dtype=np.int64),
        "epochs": np.zeros(0),
        "routes": np.zeros((1, 1, 2), dtype=np.int32),
        "turns": np.zeros(0, dtype=np.int32),
        "watchdog": np.zeros(1, WATCHDOG),
        "detected": np.zeros(1, STORM),
    }
