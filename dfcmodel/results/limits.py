"""Known limits of both levels: conditions in which a level was measured to be wrong, and by how much.

Each condition states the measurement that its threshold rests on: fluid beside packet level, NewReno flows over links
of 1000 packets/s for 20 to 30 s, unless it says otherwise. `Trajectory.limits` lists the limits of a run.
`choose_level` reports doubts about a fluid with limits, and gives random times to packets with phase effects.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.demands.offered_rates import (
    bottlenecks,
    may_lose,
    packet_demand,
    shares_of_links,
)
from dfcmodel.network.drop_causes import AT_RANDOM, BY_POLICER, TRIMMED
from dfcmodel.network.elements.delays import DelayTrace
from dfcmodel.network.elements.losses import Policer
from dfcmodel.network.elements.rates import RateTrace
from dfcmodel.network.endpoints.arrivals import ArrivalProcess, Replay
from dfcmodel.network.endpoints.receivers import ReceiverAgent
from dfcmodel.network.endpoints.sources import CBR, OnOff
from dfcmodel.network.flows import DEFAULT_MAX_WINDOW, has_window
from dfcmodel.network.followers import waits_of
from dfcmodel.network.frame_sizes import HEADER
from dfcmodel.network.links import buffer_in_packets
from dfcmodel.network.notifications import follows_telemetry, needs_marks
from dfcmodel.network.phase_effects import flows_in_phase, unequal_losses
from dfcmodel.network.queueing.aqm_programs import AFD
from dfcmodel.network.queueing.class_pauses import CLASSES, PFC
from dfcmodel.network.queueing.coupled import PI2
from dfcmodel.network.queueing.disciplines import (
    DFC,
    FIFO,
    Fair,
    Pause,
    QueueManager,
    dfc_of,
    manager_of,
)
from dfcmodel.network.queueing.fabric_programs import Trimming
from dfcmodel.network.queueing.managers import PIE, RED, CoDel
from dfcmodel.network.queueing.marking import RampMarking, StepMarking
from dfcmodel.results.full_buffers import passing_full_buffers
from dfcmodel.results.pauses import PAUSES_NOTHING, REQUEST, requesters_of
from dfcmodel.theory.law import law_of
from dfcmodel.theory.stability import chain_limit
from hopflow.checks import count_of, first_of
from hopflow.tcp_constants import INITIAL_RTO
from hopflow.units import PacketUnits, readable_text
from responsefn import DeliveryRule, RateRule, WindowRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.elements.base import PathElement
    from dfcmodel.network.flows import Flows
    from dfcmodel.network.links import Link
    from dfcmodel.network.networks import Scenario

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]

__all__ = [
    "LIMIT_KINDS",
    "flags_of_limits",
    "limits_of_run",
    "limits_of_scenario",
    "limits_of_several",
    "messages_by_topic",
]

LIMIT_KINDS = (
    "two-way traffic",
    "small buffer",
    "classic Reno",
    "resolution",
    "phase effects",
    "deadlock",
    "full buffer",
    "no marks",
    "telemetry over several paths",
    "go-back-N over several paths",
    "stability",
    "unused options",
    "part-filled packets",
    "unsuitable parameters",
    "reordering",
    "reordering over several paths",
    "steps at the same time",
    "parts of packets",
    "trimmed packets",
    "lost credits",
)
"""First words of the limits, in the order of their flags."""

RETURN_LOAD = 0.9
"""Load of a link, data and ACKs, from which ACKs of the other direction wait in its queue or are lost there. With a
constant rate on a reverse link of 100 packets/s the fluid had 2 % more goodput at 0.97, 4 % at 1.07, 39 % at 1.17."""
WINDOWED_RETURN_LOAD = 0.3
"""The same for data of window rules, which come in bursts, at this part of the load: 4 % more goodput at 0.25, 16 % at
0.5, 33 to 92 % where both directions are full (buffers of 10 to 50 packets)."""
SMALL_BUFFER_PACKETS = 8.0
"""Largest buffer of a bottleneck, packets, at which the fluid does not resolve which packets are dropped. One packet:
9 to 232 times the goodput on nine links (`python -m benchmarks.text_numbers small-buffer`); 2 to 8: up to 26 % less,
shares of two flows up to 0.15 off."""
AT_MAX_WINDOW = 0.999
"""Part of ``max_window`` from which on a window has reached it."""
MIN_FILLED = 0.9
"""Smallest ratio of the bytes of transfers to the bytes of their packets that is not reported. All packets have one
size."""
LARGEST_THRESHOLDS: dict[type, str] = {
    PFC: "xoff", Pause: "high", RED: "high", RampMarking: "high", StepMarking: "threshold", Trimming: "limit",
}  # fmt: skip
"""Thresholds of disciplines in packets, the larger of two."""
DISCIPLINES_WITHOUT_PRIORITY = (FIFO, DFC, Pause, Fair, QueueManager)
"""Disciplines that ignore the priority of flows."""
MARKING_MANAGERS = (StepMarking, RampMarking, RED)
"""Managers of this package that mark above a threshold of the queue."""
MAX_STABLE_DIFFUSION = 0.5
"""Largest D at which a chain of any length is stable for alpha = 1 (docs/theory-stability.md)."""
GO_BACK_N = "go-back-n"
"""Name of the recovery in `Records.recoveries`."""
WITHOUT_REORDERING_WINDOW = ("sack", "prr")
"""Names of recoveries in `Records.recoveries` with which a delivery rule counts each overtaken packet as lost."""
LINUX = "linux-6.12"
"""Name of the recovery of Linux in `Records.recoveries`."""
SELECTIVE = "selective"
"""Name of selective repair in `Records.recoveries`."""
RECOVERIES_WITHOUT_WINDOWS = (GO_BACK_N, SELECTIVE)
"""Names of the recoveries of network interfaces, which reduce no window."""
MAX_PROBES = 1.0
"""Largest number of packets sent again for nothing that is not reported: RACK probes the last packet of a transfer."""
MIN_STEP_OVERLAP = 0.1
"""Smallest part of a transfer, in time, that is sent beside a later step of the same host and is reported."""
MAX_NEEDLESS_SHARE = 0.01
"""Largest part of the delivered packets that is sent again for nothing and not reported."""
MAX_BURST_RATIO = 1.02
"""Largest ratio of the mean rate of an on-off source in packets to that of the fluid that is not reported."""
MAX_PART_RATIO = 1.05
"""Largest ratio of a window to the packets of it that leave in a round trip that is not reported. The goodput of the
fluid was larger by this ratio within 2 %, for windows of 1 to 21 packets."""
RULE_TIMES = ("base_rtt", "min_rtt", "target_qdelay", "base_target", "t_low", "segment")
"""Parameters of rules that are a round-trip time, a target of delays, or packets of one adjustment."""
MAX_TIME_RATIO = 1000.0
"""Smallest ratio of such a time to the round trip without queues that is reported: that of s to ms."""
MIN_RATE_IN_BITS = 1e6
"""Smallest rate, or increase of a rate, in b/s that is not reported where links have 1 Gb/s or more. Network interfaces
have increases of whole Mb/s."""
FAST_LINK_BITS = 1e9
"""Smallest rate of such a link, b/s."""
LARGEST_MIN_RTO = 1.0
"""Largest minimum of a retransmission timeout in s that is in use (RFC 6298, 2.4). Longer ones, and elements that hold
packets for as long, are reported."""
MAX_HOLD_RATIO = 10.0
"""Smallest ratio of that time to the round trip without queues that is reported."""
MAX_OVERLOAD = 100.0
"""Largest rate of a source without congestion control that is not reported, in rates of its first link."""
MAX_NAMES = 3
"""Largest number of names listed in a message."""


def limits_of_scenario(scenario: Scenario, recoveries: Sequence[str], duration: float) -> tuple[str, ...]:
    """Return the limits of the fluid that apply to a scenario, as messages, without running it.

    ``recoveries`` are the names of the loss recoveries of its flows, as in `Records.recoveries`.
    """
    return _limits(scenario, recoveries, may_lose(scenario), duration)


def limits_of_run(run: Any) -> tuple[str, ...]:
    """Return the limits of a run's level that apply to the run, as messages."""
    losing = run.lost_by_flow > 0.0
    scenario = run.scenario
    of_flows = (
        *_ineffective_options(run),
        *_part_filled(scenario),
        *_path_mismatches(run),
    )
    of_flows += (*_cut_packets(run), *_lost_credits(run))
    unmarked = (*(_no_marks(scenario) or _pauses_before_marks(run)), *_instability(scenario), *of_flows)
    if run.step == 0.0:
        by_path = (
            *_telemetry_over_paths(run.scenario),
            *_go_back_over_paths(run),
            *_reordering(run),
            *_reordering_over_paths(run),
            *_steps_at_once(run),
        )
        return (*_phase_effects(run, losing), *unmarked, *by_path)
    limits = _limits(run.scenario, run.recoveries, losing, float(run.time[-1]))
    parts = _parts_of_packets(run)
    return (*limits, *_resolution(run), *_deadlocks(run), *_full_buffers(run), *unmarked, *parts)


def limits_of_several(limits: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return one limit per topic over several runs, with the number of runs that have it unless all have.

    >>> limits_of_several([("resolution: flow a",), ()])
    ('resolution (in 1 of 2 runs): flow a',)
    """
    messages: dict[str, list[str]] = {}
    for of_run in limits:
        for topic, message in messages_by_topic(of_run).items():
            messages.setdefault(topic, []).append(message)
    runs = len(limits)
    return tuple(
        f"{topic}: {texts[0]}" if len(texts) == runs else f"{topic} (in {len(texts)} of {runs} runs): {texts[0]}"
        for topic, texts in messages.items()
    )


def messages_by_topic(limits: Iterable[str]) -> dict[str, str]:
    """Return the messages of limits by topic, the words before the first colon.

    >>> messages_by_topic(["resolution: flow a"])
    {'resolution': 'flow a'}
    """
    parts = (limit.partition(": ") for limit in limits)
    return {topic: message for topic, _, message in parts}


def flags_of_limits(limits: Iterable[str]) -> int:
    """Return a whole number with a bit for each kind of `LIMIT_KINDS` among the limits.

    >>> flags_of_limits(()), flags_of_limits(("phase effects: flows a, b",))
    (0, 16)
    """
    topics = {limit.partition(":")[0] for limit in limits}
    return sum(1 << n for n, kind in enumerate(LIMIT_KINDS) if kind in topics)


def _limits(scenario: Scenario, recoveries: Sequence[str], losing: Flags, duration: float) -> tuple[str, ...]:
    """Return the limits that a scenario decides; ``losing``, (F,), flags the flows that lose packets."""
    return (
        *_two_way_traffic(scenario, duration),
        *_small_buffers(scenario, losing),
        *_classic_reno(scenario, recoveries, losing),
    )


def _two_way_traffic(scenario: Scenario, duration: float) -> tuple[str, ...]:
    """Return () or one message: window flows whose ACKs share a loaded link, which the fluid does not delay.

    Queues per flow keep ACKs apart from data: 3 % more goodput where both directions are full.
    """
    numbers = {(link.source, link.target): n for n, link in enumerate(scenario.links)}
    back = [[numbers.get((b, a)) for a, b in flow.hops] for flow in scenario.flows]
    if not any(n is not None for hops in back for n in hops):
        return ()
    data, windowed, acks = (np.zeros(len(scenario.links)) for _ in range(3))
    for flow, packets, hops in zip(scenario.flows, packet_demand(scenario, duration), back, strict=True):
        path = list(scenario.path_index(flow))
        data[path] += packets / duration
        if has_window(flow):
            windowed[path] += packets / duration
            acks_per_packet = 0.5 if flow.delayed_acks else 1.0
            returning = [n for n in hops if n is not None]
            acks[returning] += acks_per_packet * packets / duration * HEADER / scenario.packet_size
    rates = np.array([link.rate for link in scenario.links])
    load = (data + acks) / rates
    apart = [link.discipline.queue_per in ("flow", "input") for link in scenario.links]
    loaded = ((load >= RETURN_LOAD) | (windowed / rates >= WINDOWED_RETURN_LOAD)) & ~np.array(apart)
    names: list[str] = []
    links: dict[str, None] = {}
    for flow, hops in zip(scenario.flows, back, strict=True):
        loaded_links = [n for n in hops if n is not None and loaded[n]]
        if loaded_links and has_window(flow):
            names.append(flow.name)
            links |= {scenario.links[n].name: None for n in loaded_links}
    if not names:
        return ()
    return _as_tuple(
        f"two-way traffic: ACKs of {_list_names('flow', names)} share {_list_names('loaded link', links)}, and do not "
        "queue in the fluid: its goodput was measured to be up to 1.9 times that of packets",
    )


def _small_buffers(scenario: Scenario, losing: Flags) -> tuple[str, ...]:
    """Return () or one message: bottlenecks with a small buffer whose flows lose packets."""
    links: dict[str, float] = {}
    at = bottlenecks(scenario).tolist()
    for flow, loses, n in zip(scenario.flows, losing, at, strict=True):
        if loses and has_window(flow):
            link = scenario.links[n]
            kind = type(link.discipline)
            buffer = buffer_in_packets(link, scenario.packet_size)
            if buffer <= SMALL_BUFFER_PACKETS and (kind is FIFO or issubclass(kind, QueueManager)):
                links[link.name] = buffer
    if not links:
        return ()
    off = "9 to 232 times the goodput" if min(links.values()) < 2.0 else "goodput up to 26 % off"
    return _as_tuple(
        f"small buffer: {_list_names('link', links)} with room for few packets ({min(links.values()):g} at the "
        f"smallest; {SMALL_BUFFER_PACKETS:g} are "
        f"few): the fluid does not resolve which packets find room, {off} where it was measured",
    )


def _classic_reno(scenario: Scenario, recoveries: Sequence[str], losing: Flags) -> tuple[str, ...]:
    """Return () or one message: flows whose losses classic Reno repairs.

    The fluid spreads the losses of an overflow over more than a round trip, and waits for a timeout at the second lost
    packet of a window; packets start another fast retransmit. On a link of 2000 packets/s with a delay of 20 ms one
    Reno flow had 23, 21, 16 and 8 % less goodput than in packets with buffers of 10, 30, 60 and 120. Beside NewReno,
    with a buffer of 30, it had 586 and NewReno 1130 packets/s, where packets give 926 and 927. Starting a fast
    retransmit in the fluid as well halves these errors, but moves takano2006's scenarios 1 and 4 away from ns-2.
    """
    names = [
        flow.name
        for flow, recovery, loses in zip(scenario.flows, recoveries, losing, strict=True)
        if loses and recovery == "reno"
    ]
    if not names:
        return ()
    return _as_tuple(
        f"classic Reno: a second lost packet in a window of {_list_names('flow', names)} waits for a timeout: goodput "
        "of one flow was measured to be up to 23 % low, shares of two flows up to 0.19 off",
    )


def _resolution(run: Any) -> tuple[str, ...]:
    """Return () or one message: flows with timeouts and less than a packet per step at their equal share."""
    scenario = run.scenario
    shares = run.step * shares_of_links(scenario)[bottlenecks(scenario)]
    few = (shares < 1.0) & (run.timeouts > 0)
    if not few.any():
        return ()
    names = [flow.name for flow, is_few in zip(scenario.flows, few, strict=True) if is_few]
    return _as_tuple(
        f"resolution: {_list_names('flow', names)} with timeouts, and from {shares[few].min():.2g} packets per step of "
        "the fluid on at an equal share: timeouts of flows with less than 1 may be an effect of the step",
    )


def _parts_of_packets(run: Any) -> tuple[str, ...]:
    """Return () or one message: flows of few packets, of which the fluid sends parts and acknowledges each at once.

    Of a window of W packets that limits the rate, W whole packets leave in a round trip, or with delayed ACKs the even
    number up to W. With one packet in flight they wait for the timer of the delayed ACK.
    """
    scenario, table = run.scenario, run.scenario.table
    is_window = table.of_kind(WindowRule)
    if not is_window.any():
        return ()
    windows = table.numbers("max_window")
    delayed = table.each("delayed_acks", bool) & ~table.each("segments", bool)
    rates = scenario.link_table.rates[bottlenecks(scenario)]
    limited = (
        is_window & (windows < rates * scenario.packet_rtts()) & (run.window.max(axis=1) > AT_MAX_WINDOW * windows)
    )
    full_windows = np.where(delayed & (windows >= 2.0), 2.0 * np.floor(0.5 * windows), np.floor(windows))
    first = table.numbers_or_nan("initial_window")
    of_rules = table.each("source", lambda rule: rule.State().cwnd if isinstance(rule, WindowRule) else np.inf)
    first = np.where(np.isnan(first), of_rules, first)
    transfers = is_window & (table.numbers("size") < np.inf) & (np.minimum(first, windows) < 2.0)
    transfers &= table.numbers("quick_acks") == 0.0
    waiting = delayed & (transfers | (limited & (windows < 2.0)))
    parts = limited & ~waiting & (windows > MAX_PART_RATIO * full_windows)
    messages = []
    if parts.any():
        messages.append(
            f"the window of {_list_flows(scenario, np.flatnonzero(parts))} is no whole number of packets, or odd "
            f"with delayed ACKs: the fluid has up to {np.max(windows[parts] / full_windows[parts]):.3g} times the "
            "goodput of packets"
        )
    if waiting.any():
        messages.append(
            f"a single packet of {_list_flows(scenario, np.flatnonzero(waiting))} waits for the timer of delayed "
            "ACKs in packets, Packets(ack_delay=), and not in the fluid"
        )
    return _as_tuple(f"parts of packets: {'; '.join(messages)}") if messages else ()


def _phase_effects(run: Any, losing: Flags) -> tuple[str, ...]:
    """Return () or one message: flows in phase at a drop-tail queue, or `_unequal_losses` of flows without windows.

    ``benchmarks.level_shares`` has the networks.
    """
    at_random = run.dropped is not None and (run.dropped["cause"] == AT_RANDOM).any()
    if at_random:
        return ()
    scenario = run.scenario
    flows, links = flows_in_phase(scenario, losing)
    if run.packet_jitter != 0.0 or not len(flows):
        return _unequal_losses(run)
    names = [scenario.flows[f].name for f in flows.tolist()]
    shared = [scenario.links[n].name for n in np.unique(links).tolist()]
    return _as_tuple(
        f"phase effects: {_list_names('flow', names)} of different round-trip times or rules share "
        f"{_list_names('link', shared)} without random times: shares were measured to be off by 0.16 in the median and "
        "up to 0.55; write simulate(..., packet_jitter='1pkt'), or --packet-jitter 1pkt in the shell",
    )


def _unequal_losses(run: Any) -> tuple[str, ...]:
    """Return () or one message: senders without windows that lose very different parts at a full queue."""
    unequal = unequal_losses(run)
    if not unequal:
        return ()
    scenario, worst = run.scenario, max(unequal, key=lambda losses: losses.most - losses.least)
    names = [scenario.flows[f].name for f in worst.flows.tolist()]
    return _as_tuple(
        f"phase effects: {_list_names('flow', names)} without windows lose {worst.least:.2g} to {worst.most:.2g} of "
        f"their packets at {scenario.links[worst.link].name}, by the link over which they come: packets in even "
        "intervals meet the full queue in the same order again and again. This order decides which flow loses, and "
        "when it is complete. packet_jitter delays packets of window rules alone; for senders below the rate of their "
        "links, Jitter in Scenario(elements=) removes the order",
    )


def _no_marks(scenario: Scenario) -> tuple[str, ...]:
    """Return () or one message: flows that need marks and get none, otherwise queues that can mark nothing.

    A queue can mark nothing if its threshold exceeds its buffer, or if no packet that comes to it is ECN-capable.
    """
    answers = scenario.table.each("source", needs_marks).astype(np.bool_)
    silent = scenario.by_link(lambda link: not link.discipline.may_mark)
    if silent.all() and not answers.any():
        return ()
    thresholds, room = scenario.by_link(_marking_threshold), _max_queue_of_links(scenario)
    too_high = ~silent & (thresholds >= room)
    loud = ~silent & ~too_high
    routes, flows, managed = scenario.routes, len(scenario.flows), _is_seen_by_manager(scenario)
    marked = loud[routes.places] & managed
    unmarked = np.flatnonzero(answers & (np.bincount(routes.flow, marked, minlength=flows) == 0)).tolist()
    of_unmarked = np.isin(routes.flow, unmarked) if unmarked else np.ones(len(routes.flow), np.bool_)
    passed = routes.places[of_unmarked]
    above = np.intersect1d(passed, np.flatnonzero(too_high))
    of_others = routes.places[of_unmarked & loud[routes.places] & ~managed]
    advice = "write PFC(manager=RampMarking(...)), or a discipline that marks"
    if len(above):
        n = int(above[0])
        advice = (
            f"{scenario.links[n].name} marks from {thresholds[n]:g} packets on, and no more than {room[n]:g} fit into "
            "its buffer: give thresholds in packets, or as '100 kB'"
        )
    elif len(of_others):
        link: Any = scenario.links[int(of_others[0])]
        advice = (
            f"{link.name} marks packets of class {link.discipline.managed} alone: write managed=None for all classes, "
            "or the class of these flows"
        )
    if unmarked:
        names = _list_flows(scenario, unmarked)
        return _as_tuple(
            f"no marks: no link marks packets of {names}, whose rules wait for marks to slow down (windows do at "
            f"losses, too); {advice}",
        )
    if len(above):
        return _as_tuple(f"no marks: {advice}")
    capable = scenario.table.of_kind(WindowRule, RateRule)[routes.flow]
    marking = loud & scenario.by_link(lambda link: type(manager_of(link.discipline)) in MARKING_MANAGERS)
    ineffective = np.unique(routes.places[of_unmarked & managed & marking[routes.places]]).tolist()
    if not ineffective or marked[capable].any():
        return ()
    return _as_tuple(
        f"no marks: {_list_names('link', [scenario.links[n].name for n in ineffective])} can mark no packet: those of "
        "sources without congestion control, such as CBR, are not ECN-capable, and are dropped instead, or pass where "
        "marks are set at departure; packets of FixedRate(...) of responsefn can be marked",
    )


def _pauses_before_marks(run: Any) -> tuple[str, ...]:
    """Return () or one message: links that paused with queues below their marks, and flows that wait for these marks.

    Of the packet level. `Records.peak_queue` is the largest queue of a node, over all of its links: where it is below
    the threshold of a link, so is the link's own.
    """
    scenario = run.scenario
    if run.step > 0.0 or run.marks is None:
        return ()
    waits = scenario.table.each("source", needs_marks).astype(np.bool_) & (run.marks == 0)
    if not waits.any() or run.paused is None or not len(run.paused):
        return ()
    thresholds = scenario.by_link(_marking_threshold)
    requests = np.unique(run.paused[run.paused["fault"] == 0][REQUEST])
    pausing = np.array(sorted({n for request in requests for n in requesters_of(run, request)}), dtype=np.int64)
    node = {sender: n for n, sender in enumerate(scenario.senders)}
    peaks = run.peak_queue[[node[scenario.links[n].source] for n in pausing.tolist()]]
    below = pausing[(thresholds[pausing] > 0.0) & (peaks <= thresholds[pausing])]
    routes = scenario.routes
    passed = waits[routes.flow] & np.isin(routes.places, below) & _is_seen_by_manager(scenario)
    if not passed.any():
        return ()
    n = int(routes.places[passed][0])
    peak = run.peak_queue[node[scenario.links[n].source]]
    flows = np.unique(routes.flow[passed & (routes.places == n)]).tolist()
    return _as_tuple(
        f"no marks: {scenario.links[n].name} pauses before it marks: it had at most {peak:g} packets, and "
        f"marks from {thresholds[n]:.4g} on. Packets of {_list_flows(scenario, flows)}, whose rules wait for marks to "
        "slow down, got none: mark below xoff",
    )


def _is_seen_by_manager(scenario: Scenario) -> Flags:
    """Return whether the manager of the link of each hop, (H,) as in `Routes`, sees the packets of the hop's flow."""
    managed = scenario.by_link(_class_of_manager).astype(np.float64)[scenario.routes.places]  # None: nan
    priorities = scenario.table.numbers("priority")[scenario.routes.flow]
    return np.asarray(np.isnan(managed) | (managed == priorities))


def _class_of_manager(link: Link) -> int | None:
    """Return the class that the queue manager of a link sees; None: all classes, or no manager."""
    return getattr(link.discipline, "managed", None)


def _manager_classes_without_flows(scenario: Scenario) -> dict[str, str]:
    """Return reasons by the classes of queue managers that no flow has at any link with them."""
    routes, is_visible = scenario.routes, _is_seen_by_manager(scenario)
    used = {_class_of_manager(scenario.links[n]) for n in np.unique(routes.places[is_visible]).tolist()}
    present = {_class_of_manager(scenario.links[n]) for n in np.unique(routes.places).tolist()}
    priorities = ", ".join(f"{priority:g}" for priority in np.unique(scenario.table.numbers("priority")))
    return {
        f"managed = {number}": f"priorities of flows: {priorities}, whose packets the manager does not see"
        for number in sorted(number for number in present - used if number is not None)
    }


def _classes_lossless_in_part(scenario: Scenario) -> dict[str, str]:
    """Return reasons by the classes of links that lack a class which other links of a flow's path have as lossless.

    Interfaces of hosts obey pauses of any class.
    """
    routes, priorities = scenario.routes, scenario.table.numbers("priority")
    by_class = scenario.by_link(lambda link: link.discipline.pauses == "class")
    lossless = np.zeros(len(routes.places), np.bool_)
    for priority in range(CLASSES):
        has_class = scenario.by_link(functools.partial(_is_lossless, priority=priority)).astype(np.bool_)
        lossless |= (priorities[routes.flow] == priority) & has_class[routes.places]
    lossy = by_class[routes.places] & ~scenario.is_interface[routes.places] & ~lossless
    in_part = np.bincount(routes.flow[lossless], minlength=len(routes)) > 0
    lossy_hops = np.flatnonzero(lossy & in_part[routes.flow])
    if not len(lossy_hops):
        return {}
    f, n = int(routes.flow[lossy_hops[0]]), int(routes.places[lossy_hops[0]])
    link: Any = scenario.links[n]
    other = scenario.links[int(routes.places[lossless & (routes.flow == f)][0])].name
    at_link = lossy_hops[(routes.places[lossy_hops] == n) & (priorities[routes.flow[lossy_hops]] == priorities[f])]
    names = _list_flows(scenario, np.unique(routes.flow[at_link]))
    listed = ", ".join(map(str, link.discipline.classes))
    return {
        f"classes {listed} of {type(link.discipline).__name__} at {link.name}": (
            f"{names} of class {priorities[f]:g}, which is lossless at {other}, may be lost at {link.name}"
        )
    }


def _is_lossless(link: Link, priority: int) -> bool:
    """Return whether a class of a link is lossless, with pauses or credits by class."""
    rule: Any = link.discipline
    return rule.pauses == "class" and priority in rule.classes


def _marking_threshold(link: Link) -> float:
    """Return the largest queue, packets, at which a manager of this package never marks; 0: unknown."""
    manager: Any = manager_of(link.discipline)
    if type(manager) is StepMarking:
        return float(manager.threshold)
    return float(manager.low) if type(manager) in MARKING_MANAGERS else 0.0


def _max_queue_of_links(scenario: Scenario) -> Floats:
    """Return the most packets in each link's queue, (L,): its node's buffers with classes, inf if not shared."""
    links, size = scenario.link_table, scenario.packet_size
    buffers = scenario.by_link(lambda link: buffer_in_packets(link, size) if link.shared else np.inf).astype(np.float64)
    at_node = np.bincount(links.source, buffers, minlength=len(links.nodes))[links.source]
    together = scenario.by_link(lambda link: link.discipline.queue_per == "class")
    return np.where(together, at_node, buffers)


def _ineffective_options(run: Any) -> tuple[str, ...]:
    """Return () or one message: options of flows or of the run without effect, and classes without flows.

    A rate rule bounds its packets in flight with selective repair alone, and its receiver acknowledges every packet.
    """
    scenario = run.scenario
    table, routes, priorities = scenario.table, scenario.routes, scenario.table.numbers("priority")
    ranked = ~scenario.by_link(lambda link: isinstance(link.discipline, DISCIPLINES_WITHOUT_PRIORITY))
    meets_ranks = np.bincount(routes.flow, ranked[routes.places], minlength=len(table)) > 0
    by_class = scenario.by_link(lambda link: link.discipline.pauses == "class")
    meets_classes = np.bincount(routes.flow, by_class[routes.places], minlength=len(table)) > 0
    is_window = table.of_kind(WindowRule)
    bounded = _is_bounded_by_window(run)
    have_ranks = len({*table.columns["priority"].values}) > 1
    end = float(run.time[-1])
    unused: dict[str, str] = {}
    for name, flags, use in (
        (
            "start",
            (table.numbers("start") >= end) & ~table.waits,
            f"start is in s, and the run ends at {end:g} s: nothing is sent",
        ),
        (
            "stop",
            np.isfinite(table.numbers("stop")) & (table.numbers("stop") > end * (1.0 + 1e-9)),
            f"stop is in s, and the run ends at {end:g} s: they do not stop",
        ),
        (
            "idle",
            np.isfinite(table.numbers("idle")) & (table.numbers("idle") >= end),
            f"idle is in s, and the run ends at {end:g} s: each has one transfer",
        ),
        (
            "on",
            table.each("source", lambda source: isinstance(source, OnOff) and source.on >= end).astype(np.bool_),
            f"on is in s, and the run ends at {end:g} s: the first period of sending does not end",
        ),
        (
            "off",
            table.each("source", lambda source: isinstance(source, OnOff) and source.off >= end).astype(np.bool_),
            f"off is in s, and the run ends at {end:g} s: there is one period of sending",
        ),
        (
            "arrivals",
            _replays_after(table, end),
            f"times of Replay are in s, and the run ends at {end:g} s: only packets of the first time arrive, if any",
        ),
        (
            "max_window",
            ~bounded & (table.numbers("max_window") != DEFAULT_MAX_WINDOW),
            "max_window bounds window rules, and rate rules with Packets(recovery='selective')",
        ),
        (
            "delayed_acks",
            ~is_window & table.each("delayed_acks", bool).astype(np.bool_),
            "delayed_acks are for window rules",
        ),
        (
            "priority",
            ~meets_ranks & (priorities != 0.0) & have_ranks,
            "priority is for links with Priority, PFC, Credits or a program",
        ),
        (
            "priority",
            meets_classes & ((priorities < 0.0) | (priorities >= CLASSES)),
            f"classes are 0 to {CLASSES - 1}, of a DSCP usually DSCP // {CLASSES}: others are never paused",
        ),
    ):
        if flags.any():
            names = _list_flows(scenario, np.flatnonzero(flags))
            unused[f"{name} of {names}"] = use
    if run.packet_jitter > 0.0 and not is_window.any():
        unused["packet_jitter"] = "packet_jitter delays packets of window rules"
    rules: list[Any] = [link.discipline for link in run.scenario.link_table.kinds if link.discipline.pauses == "class"]
    lossless = {priority for rule in rules for priority in rule.classes}
    priorities = sorted({int(priority) for priority in np.unique(table.numbers("priority"))})
    if lossless and not lossless & set(priorities):
        kinds = ", ".join(sorted({type(rule).__name__ for rule in rules}))
        listed, used = (", ".join(map(str, values)) for values in (sorted(lossless), priorities))
        unused[f"classes {listed} of {kinds}"] = f"priorities of flows: {used}, which are never paused and may be lost"
    unused |= _ineffective_storms(run, end) | _elements_without_effect(scenario, end, in_packets=run.step == 0.0)
    unused |= _manager_classes_without_flows(scenario) | _classes_lossless_in_part(scenario)
    unused |= _thresholds_above_buffers(scenario) | _targets_above_buffers(scenario) | _delays_beyond_run(scenario, end)
    if is_window.any() and scenario.min_rto >= end and scenario.min_rto > LARGEST_MIN_RTO:
        unused["min_rto"] = f"min_rto is in s, and the run ends at {end:g} s: no timer of a retransmission expires"
    unused |= run.unused_choices or {}
    if not unused:
        return ()
    return _as_tuple(f"unused options: {' and '.join(unused)}: {'; '.join(unused.values())}")


def _replays_after(table: Flows, end: float) -> Flags:
    """Return the flows whose replayed packets all arrive at one time, or from ``end``, s, on, shape (F,)."""

    def is_late(source: Any) -> bool:
        return isinstance(source, Replay) and len(source.times) > 1 and source.times[1] >= end

    return np.asarray(table.each("arrivals", is_late) | table.each("source", is_late), np.bool_)


def _ineffective_storms(run: Any, end: float) -> dict[str, str]:
    """Return the faults of a run that ends at ``end``, s, of which none pauses anything, and why, by their names."""
    scenario, paused = run.scenario, run.paused
    storms = scenario.by_link(lambda link: getattr(link.discipline, "storm", None)).astype(np.float64)  # None: nan
    faulty, begins = np.flatnonzero(np.isfinite(storms)), storms < end
    if not faulty.size or (begins.any() and (paused is None or paused["fault"].any())):
        return {}
    late = f"storm is in s, and the run ends at {end:g} s: no fault begins"
    name = _list_names("link", [scenario.links[n].name for n in faulty.tolist()])
    return {f"storm of {name}": PAUSES_NOTHING if begins.any() else late}


def _delays_beyond_run(scenario: Scenario, end: float) -> dict[str, str]:
    """Return reasons by the delays of links, and of their messages, that are not less than a run of ``end`` s."""
    delays = scenario.by_link(lambda link: link.delay).astype(np.float64)
    messages = scenario.by_link(lambda link: getattr(link.discipline, "signalling", 0.0)).astype(np.float64)
    passed = np.bincount(scenario.routes.places, minlength=len(delays)) > 0
    reasons = {}
    for name, late, effect in (
        ("delay", passed & (delays >= end), "no packet arrives"),
        ("signalling", passed & (messages >= end), "no pause or credit takes effect"),
    ):
        if late.any():
            names = _list_names("link", [scenario.links[n].name for n in np.flatnonzero(late).tolist()])
            reasons[f"{name} of {names}"] = f"{name} is in s, and the run ends at {end:g} s: {effect}"
    return reasons


def _thresholds_above_buffers(scenario: Scenario) -> dict[str, str]:
    """Return reasons by the thresholds of dropping, or cutting, that no queue of their links can reach.

    Those of marks are of `_no_marks`, and those of pauses are refused.
    """
    room, passed = _max_queue_of_links(scenario), np.unique(scenario.routes.places).tolist()
    by_kind: dict[str, list[int]] = {}
    for n in passed:
        name, threshold = _dropping_threshold(scenario.links[n], scenario.packet_size)
        if threshold >= room[n]:
            kind = type(manager_of(scenario.links[n].discipline) or scenario.links[n].discipline).__name__
            by_kind.setdefault(f"{name} of {kind}", []).append(n)
    return {
        f"{subject} at {_list_names('link', [scenario.links[n].name for n in links])}": (
            f"no more than {room[links[0]]:g} packets fit into the buffer of {scenario.links[links[0]].name}: a number "
            "is in packets, bytes are a string such as '100 kB'"
        )
        for subject, links in by_kind.items()
    }


def _targets_above_buffers(scenario: Scenario) -> dict[str, str]:
    """Return reasons by the target delays that are longer than links take to send all that their buffers hold.

    Left out are links whose rate changes, queues that share a link, and runs in which links pause.
    """
    changing = {element.link for element in scenario.all_elements if isinstance(element, RateTrace)}
    if any(link.discipline.pauses for link in scenario.link_table.kinds):
        return {}
    room = _max_queue_of_links(scenario)
    longest = room / scenario.link_table.rates
    by_kind: dict[str, list[int]] = {}
    for n in np.unique(scenario.routes.places).tolist():
        rule = scenario.links[n].discipline
        if isinstance(rule, CoDel | PIE | PI2) and scenario.links[n].name not in changing and rule.target >= longest[n]:
            by_kind.setdefault(f"target of {type(rule).__name__}", []).append(n)
    reasons = {}
    for subject, links in by_kind.items():
        first: Any = scenario.links[links[0]]
        reasons[f"{subject} at {_list_names('link', [scenario.links[n].name for n in links])}"] = (
            f"target is in s, and {first.name} sends its full buffer of {room[links[0]]:g} packets in "
            f"{longest[links[0]]:.3g} s: no queue has a delay of {first.discipline.target:g} s"
        )
    return reasons


def _dropping_threshold(link: Link, packet_size: float) -> tuple[str, float]:
    """Return the name and the packets of the threshold of a link below which it drops, or cuts, nothing early; ("", 0).

    Of `RED` without marks, `AFD` and `Trimming`.
    """
    rule: Any = manager_of(link.discipline) or link.discipline
    if type(rule) is RED and not rule.ecn:
        unit = 1.0 if rule.mean_packet is None else rule.mean_packet / packet_size
        return "low", float(rule.low) * unit
    for kind, name in ((AFD, "target"), (Trimming, "limit")):
        if type(rule) is kind:
            return name, float(getattr(rule, name))
    return "", 0.0


def _elements_without_effect(scenario: Scenario, end: float, *, in_packets: bool) -> dict[str, str]:
    """Return the elements of paths that act on no packet, or never change before ``end``, s, and why, by their names.

    In packets the rate of a link over time is that of its ACKs too.
    """
    unused: dict[str, str] = {}
    for element in scenario.all_elements:
        if isinstance(element, (RateTrace, DelayTrace)) and len(element.times) > 1 and element.times[1] >= end:
            late = f"times are in s, and the run ends at {end:g} s: only the first value is used"
            unused[f"times of {type(element).__name__} at {element.link}"] = late
            continue
        link = scenario.links[scenario.link_table.names.index(element.link)]
        has_acks = (link.target, link.source) in scenario.data_links
        sends_acks = in_packets and has_acks and isinstance(element, RateTrace)
        if sends_acks or (link.source, link.target) in scenario.data_links:
            continue
        way_back = f", whose ACKs pass elements of {link.target}->{link.source} with acks=True" if has_acks else ""
        unused[f"{type(element).__name__} at {link.name}"] = f"no packet of data passes {link.name}{way_back}"
    return unused


def _part_filled(scenario: Scenario) -> tuple[str, ...]:
    """Return () or one message: transfers in bytes that fill little of their packets, such as short messages."""
    table, size = scenario.table, scenario.packet_size
    sizes = table.columns["size"]
    if not any(isinstance(amount, PacketUnits) for amount in sizes.values):
        return ()
    in_bytes = sizes.map(lambda amount: amount.in_bytes if isinstance(amount, PacketUnits) else amount * size)
    transferred = in_bytes.array()
    sent = size * table.numbers("size")
    counted = np.isfinite(transferred) & np.isfinite(sent)
    filled = transferred[counted].sum() / sent[counted].sum() if counted.any() else 1.0
    if filled >= MIN_FILLED:
        return ()
    emptiest = np.flatnonzero(counted & (transferred < MIN_FILLED * sent))
    names = _list_flows(scenario, emptiest)
    return _as_tuple(
        f"part-filled packets: transfers are sent in whole packets of {size:g} bytes, of which {filled:.0%} are "
        f"theirs; {names} have fewer "
        "bytes than their packets hold, and take the time of whole ones: give the scenario a smaller packet_size"
    )


def _steps_at_once(run: Any) -> tuple[str, ...]:
    """Return () or one message: flows of a collective that start before an earlier flow of their pair has left.

    In a ring a host waits for the message that it receives, not for its own. The two meet where its link is slower than
    the one before, or where it begins late. Left out are flows that wait for a flow of their own host, and hosts with
    several flows that wait for nothing, such as those of several jobs. A flow has left at the latest when it is
    complete; the round trip of a packet allows for what is on the way.
    """
    scenario = run.scenario
    follower, awaited, _ = waits_of(scenario.table)
    if not len(follower) or run.started is None:
        return ()
    routes, flows = scenario.routes, len(scenario.table)
    host, last = routes.first, routes.places[routes.begin + routes.counts - 1]
    waits, waits_at_host = (
        np.bincount(followers, minlength=flows) > 0
        for followers in (follower, follower[host[follower] == host[awaited]])
    )
    has_one_job = np.bincount(host[~waits], minlength=len(scenario.links))[host] <= 1
    order = np.lexsort((run.started, last, host))
    before, after = order[:-1], order[1:]
    same = (host[before] == host[after]) & (last[before] == last[after])
    left = np.where(np.isnan(run.finished), run.time[-1], run.finished) - scenario.packet_rtts()
    overlap = left[before] - run.started[after]
    enough = overlap > np.maximum(0.0, MIN_STEP_OVERLAP * (left - run.started)[before])
    counted = (waits & ~waits_at_host & has_one_job)[after] & same & (run.started[after] > run.started[before])
    affected = np.sort(after[counted & enough])
    if not len(affected):
        return ()
    return _as_tuple(
        f"steps at the same time: {_list_flows(scenario, affected)} start while an earlier flow between the same hosts "
        "is still being sent, and share its link, where one connection would send them in order: a host of a "
        "collective waits for what it receives, not for what it sends. A ring with a host that begins late was "
        "measured to take 1.3 times as long as by load_workload, whose ranks wait for both"
    )


def _path_mismatches(run: Any) -> tuple[str, ...]:
    """Return () or one message: rules, windows and elements that do not suit a path or run, sources for packets."""
    scenario = run.scenario
    bursts = _burst_mismatches(scenario) if run.step == 0.0 else ()
    of_elements = (*_bucket_mismatches(scenario, float(run.time[-1])), *_hold_mismatches(scenario))
    of_elements += tuple(_policer_mismatches(run))
    of_paths = (*_window_mismatches(scenario), *_default_windows(run), *_thresholds_below_a_packet(scenario))
    of_paths += (*_long_round_trips(scenario), *_packets_below_acks(run))
    mismatches = (*_rule_mismatches(scenario), *of_elements, *of_paths, *bursts)
    if not mismatches:
        return ()
    return _as_tuple(f"unsuitable parameters: {'; '.join(mismatches[:MAX_NAMES])}")


def _window_mismatches(scenario: Scenario) -> Iterator[str]:
    """Yield a message for each option of flows that is a window of more packets than a path holds, such as bytes.

    A path holds the product of its smallest rate and its round-trip time, and its buffers. Hosts with queues of their
    own hold any window. A ``max_window`` may be meant as no bound: it is named where its number as bytes would be one.
    """
    table = scenario.table
    held = scenario.slowest_rates * scenario.packet_rtts() + scenario.on_path(_max_queue_of_links(scenario))
    bounded = table.of_kind(WindowRule) & scenario.host_is("direct")
    for name, default, effect in (
        ("initial_window", None, "the rest is lost"),
        ("ssthresh", None, "slow start ends with a loss"),
        ("max_window", DEFAULT_MAX_WINDOW, "it bounds nothing"),
    ):
        packets = table.each(name, lambda value, default=default: -np.inf if value == default else float(value))
        in_bytes = (scenario.packet_size <= packets) & (packets <= held * scenario.packet_size)
        is_named = in_bytes & (held < DEFAULT_MAX_WINDOW) if name == "max_window" else True
        affected = np.flatnonzero(bounded & (packets > held) & is_named)
        if len(affected):
            n = affected[0]
            hint = f"; a number is packets, '{packets[n]:.6g} B' are bytes" if in_bytes[n] else ""
            yield (
                f"{name} = {packets[n]:.6g} packets of {_list_flows(scenario, affected)} is above the {held[n]:.4g} "
                f"packets that links and buffers hold: {effect}{hint}"
            )


def _is_bounded_by_window(run: Any) -> Flags:
    """Return the flows of which ``max_window`` bounds the packets in flight, shape (F,)."""
    table = run.scenario.table
    recoveries = run.recoveries or [SELECTIVE] * len(table)  # not recorded: assume the recovery that bounds
    bounded: Flags = table.of_kind(WindowRule) | (table.of_kind(RateRule) & (np.array(recoveries) == SELECTIVE))
    return bounded


def _default_windows(run: Any) -> Iterator[str]:
    """Yield a message on flows that `DEFAULT_MAX_WINDOW` limits: their path takes more packets in a round trip.

    A rule without a window has reached it if as many packets arrive in a round trip.
    """
    scenario, table = run.scenario, run.scenario.table
    at_default = _is_bounded_by_window(run) & (table.numbers("max_window") == DEFAULT_MAX_WINDOW)
    rtts = scenario.packet_rtts()
    needed = scenario.slowest_rates * rtts
    candidates = np.flatnonzero(at_default & (needed > DEFAULT_MAX_WINDOW))
    later = [np.interp(run.time + rtts[n], run.time, run.delivered[n]) - run.delivered[n] for n in candidates]
    largest = [max(run.window[n].max(), arrivals.max()) for n, arrivals in zip(candidates, later, strict=True)]
    affected = candidates[np.array(largest) > AT_MAX_WINDOW * DEFAULT_MAX_WINDOW]
    if len(affected):
        n = affected[0]
        yield (
            f"max_window = {DEFAULT_MAX_WINDOW:.6g} packets, its default, limits {_list_flows(scenario, affected)}: "
            f"the path takes {needed[n]:.6g} in a round trip, Flow(max_window=)"
        )


def _burst_mismatches(scenario: Scenario) -> Iterator[str]:
    """Yield a message for each on-off source whose packets have a higher mean rate than the source in the fluid.

    An on period begins with a packet, at the earliest a packet time after the last one: one of 10.5 packet times sends
    11 packets. Exponential ones with a mean of m packet times send 1 / (1 - exp(-1 / m)) on average, about m + 1/2.
    """
    for source, flows in _sources_of_kind(scenario, OnOff):
        gap, on, off = 1.0 / float(source.rate), float(source.on), float(source.off)
        if source.random:
            sent = -1.0 / np.expm1(-gap / on)
            quantiles = (np.arange(1000) + 0.5) / 1000.0
            rest = gap + on * np.log1p(quantiles * np.expm1(-gap / on))  # of the packet time in which a period ends
            late = np.mean(rest + off * np.expm1(-rest / off))
        else:
            sent = max(1.0, np.ceil(round(on / gap, 6)))
            late = max(0.0, sent * gap - on - off)
        ratio = sent / (on + off + late) / (on / gap / (on + off))
        if ratio > MAX_BURST_RATIO:
            names = _list_flows(scenario, flows)
            yield (
                f"OnOff of {names} sends {sent:.4g} packets in an on period of {on / gap:.4g} packet times"
                f"{' on average' if source.random else ''}, which begins with a packet: {ratio:.3g} times "
                "the mean rate of the fluid"
            )


def _policer_mismatches(run: Any) -> Iterator[str]:
    """Yield a message for each policer that drops no packet since links send no faster than it fills.

    A burst of as many packets as there are links before it may come at once. Hosts send bursts of any length: behind
    them the policer's own link counts, and that nothing was dropped.
    """
    scenario, routes = run.scenario, run.scenario.routes
    for policer in scenario.all_elements:
        if not isinstance(policer, Policer) or policer.acks:
            continue
        hops = _data_hops_of_element(scenario, policer)
        if not len(hops):
            continue
        if np.isin(hops, routes.begin).any():
            links, which = routes.places[hops[:1]], "its own link"
            at_policer = (run.dropped["link"] == links[0]) & (run.dropped["cause"] == BY_POLICER)
            cannot_drop = not at_policer.any()
        else:
            links = np.unique(routes.places[hops - 1])
            which = f"{_list_names('link', [scenario.links[n].name for n in links.tolist()])} before it"
            cannot_drop = policer.burst >= len(links)
        fastest = float(scenario.link_table.rates[links].sum())
        if cannot_drop and policer.rate >= fastest:
            yield (
                f"Policer at {policer.link} drops nothing: rate = {policer.rate:.4g} packets/s is not below that of "
                f"{which}, {fastest:.4g} packets/s; write '20Mbps' for bits, and '15kB' for the burst"
            )


def _thresholds_below_a_packet(scenario: Scenario) -> Iterator[str]:
    """Yield a message for each kind of discipline, or manager, whose largest threshold is less than a packet."""
    table = scenario.link_table
    passed, by_text = np.unique(scenario.routes.places), dict[str, set[int]]()
    for k in np.unique(table.kind_of[passed]).tolist():
        discipline = table.kinds[k].discipline
        for rule in (discipline, manager_of(discipline)):
            name = next((name for kind, name in LARGEST_THRESHOLDS.items() if isinstance(rule, kind)), None)
            threshold = 0.0 if name is None else float(getattr(rule, name))
            if 0.0 < threshold < 1.0:
                text = f"{name} = {threshold:.4g} packets of {type(rule).__name__}"
                by_text.setdefault(text, set()).update(passed[table.kind_of[passed] == k].tolist())
    for text, links in by_text.items():
        names = [scenario.links[n].name for n in sorted(links)]
        yield (
            f"{text} at {_list_names('link', names)} is less than a packet: a number is in packets, no share of the "
            "buffer; of a buffer of 100 packets 0.8 is 80"
        )


def _long_round_trips(scenario: Scenario) -> Iterator[str]:
    """Yield a message on flows of window rules whose first timer expires before an ACK can arrive."""
    rtts = scenario.packet_rtts()
    flows = np.flatnonzero(scenario.table.of_kind(WindowRule) & (rtts >= INITIAL_RTO))
    if len(flows):
        yield (
            f"a round trip of {_list_flows(scenario, flows)} takes {rtts[flows[0]]:.4g} s without queues, a first "
            f"timeout {INITIAL_RTO:g} s: delays are in s, rates in packets/s; write '5ms' and '10Mbps'"
        )


def _packets_below_acks(run: Any) -> Iterator[str]:
    """Yield a message at packet level if an ACK takes longer to transmit than a packet of data."""
    size = run.scenario.packet_size
    if run.step == 0.0 and size < HEADER:
        yield f"packet_size = {size:.4g} bytes is less than the {HEADER:g} bytes of an ACK: write '1.5kB' for kB"


def _bucket_mismatches(scenario: Scenario, end: float) -> Iterator[str]:
    """Yield a message for each policer whose full bucket holds as much as its rate lets pass in a run of ``end`` s."""
    for policer in scenario.all_elements:
        if isinstance(policer, Policer) and policer.burst >= policer.rate * end and policer.burst > 1.0:
            yield (
                f"burst = {policer.burst:.6g} packets of Policer at {policer.link} is as much as its rate, "
                f"{policer.rate:.4g} packets/s, lets pass in {policer.burst / policer.rate:.3g} s, and the run ends at "
                f"{end:g} s: a number is packets, '{policer.burst:.6g} B' are bytes"
            )


def _hold_mismatches(scenario: Scenario) -> Iterator[str]:
    """Yield a message for each element that holds packets for a timeout and for many round trips, such as ms as s."""
    rtts = scenario.packet_rtts()
    for element in scenario.all_elements:
        if element.largest_hold < LARGEST_MIN_RTO:
            continue
        rtt = max((rtts[f] for f in scenario.routes.flow[_data_hops_of_element(scenario, element)]), default=math.inf)
        if element.largest_hold >= MAX_HOLD_RATIO * rtt:
            yield (
                f"{type(element).__name__} at {element.link} holds packets for up to {element.largest_hold:g} s, "
                f"{element.largest_hold / rtt:.3g} times the round trip without queues, "
                f"{readable_text(float(rtt), 's')}: a number is in s, others are a string such as '5ms'"
            )


def _data_hops_of_element(scenario: Scenario, element: PathElement) -> NDArray[np.int64]:
    """Return the indices in ``routes.places`` of hops over the element's link, if its flows include the hop's flow."""
    routes = scenario.routes
    hops = np.flatnonzero(routes.places == scenario.link_table.names.index(element.link))
    if element.flows is None:
        return hops
    return hops[[scenario.table.name(f) in element.flows for f in routes.flow[hops].tolist()]]


def _rule_mismatches(scenario: Scenario) -> tuple[str, ...]:
    """Return a message per rule or receiver whose parameters do not suit the longest path of its flows; () without any.

    Rates are bounded by the first link, windows and credits by the slowest link.
    """
    first, slowest = scenario.link_table.rates[scenario.routes.first], scenario.slowest_rates
    kinds: tuple[tuple[type[Any], str, Floats], ...] = (
        (RateRule, "source", first), (DeliveryRule, "source", slowest), (ReceiverAgent, "receiver", slowest),
    )  # fmt: skip
    rtts = scenario.packet_rtts()
    mismatches = []
    for kind, column, line_rates in kinds:
        for rule, flows in _sources_of_kind(scenario, kind, column):
            f = int(flows[np.argmax(rtts[flows])])
            subject = f"{type(rule).__name__} of {_list_names('flow', [scenario.table.name(f)])}"
            if clause := rule.path_mismatch(float(line_rates[f]), float(rtts[f])):
                mismatches.append(f"{subject}: {clause}")
            clauses = _parameter_mismatches(scenario, rule, float(line_rates[f]), float(rtts[f]))
            mismatches.extend(f"{subject}: {clause}" for clause in clauses)
    for kind, column in ((CBR, "source"), (OnOff, "source"), (ArrivalProcess, "source"), (ArrivalProcess, "arrivals")):
        for source, flows in _sources_of_kind(scenario, kind, column):
            f, rate = int(flows[0]), source.mean_rate if kind is ArrivalProcess else source.rate
            if clause := _slow_rate(scenario, "rate", rate, float(first[f])):
                mismatches.append(
                    f"{type(source).__name__} of {_list_names('flow', [scenario.table.name(f)])}: {clause}"
                )
            if rate > MAX_OVERLOAD * first[f]:
                mismatches.append(
                    f"{type(source).__name__} of {_list_names('flow', [scenario.table.name(f)])}: rate = {rate:.4g} "
                    f"packets/s is {rate / first[f]:.3g} times that of the link: a number is in packets/s, bits are a "
                    "string such as '50Gbps'"
                )
    return tuple(mismatches)


def _parameter_mismatches(scenario: Scenario, rule: Any, line_rate: float, rtt: float) -> Iterator[str]:
    """Yield a clause for each parameter of a rule that is too long for a path, or far too small an increase.

    Packets count as the time in which the link sends them. A time or a number of packets of a rate rule that is not
    over when the run ends has no effect, such as a timer. Values in bits or bytes are no numbers in packets.
    """
    params, duration, is_rate_rule = getattr(rule, "params", None), float(scenario.duration), isinstance(rule, RateRule)
    for name, unit in (getattr(rule, "UNITS", None) or {}).items():
        value: Any = getattr(params, name, None)
        if value is None or (unit != "time" and (isinstance(value, PacketUnits) or not is_rate_rule)):
            continue
        if unit == "rate" and (clause := _slow_rate(scenario, name, value, line_rate)):
            yield clause
        if unit not in ("time", "amount"):
            continue
        if unit == "time":
            time, subject = float(value), f"{name} = {readable_text(value, 's')}"
            hint = "a number is in s, others are a string such as '12us'"
        else:
            time = float(value) / line_rate
            subject = f"{name} = {value:g} packets, {readable_text(time, 's')} at the rate of the link,"
            hint = "a number is in packets, bytes are a string such as '16kB'"
        if not MAX_TIME_RATIO * rtt <= time < math.inf:
            continue
        if name in RULE_TIMES:
            text = readable_text(rtt, "s")
            yield f"{subject} is {time / rtt:.3g} times the round trip without queues, {text}: {hint}"
        elif is_rate_rule and time >= duration:
            yield f"{subject} is not over when the run ends, at {readable_text(duration, 's')}: {hint}"


def _slow_rate(scenario: Scenario, name: str, rate: Any, line_rate: float) -> str:
    """Return a clause on a rate in packets/s that is a tiny part of a fast link, such as a number of Mb/s; empty: none.

    Rates in bits are no numbers in packets/s.
    """
    bits = 8.0 * scenario.packet_size
    if isinstance(rate, PacketUnits) or not 0.0 < rate * bits < MIN_RATE_IN_BITS or line_rate * bits < FAST_LINK_BITS:
        return ""
    return (
        f"{name} = {rate:g} packets/s is {rate * bits / 1e6:.3g} Mb/s, and the link has {line_rate * bits / 1e9:.3g} "
        "Gb/s: a number is in packets/s, bits are a string such as '40Mbps'"
    )


def _sources_of_kind(
    scenario: Scenario, kind: type[Any], column: str = "source"
) -> Iterator[tuple[Any, NDArray[np.int64]]]:
    """Yield each source of a class that flows have, with the indices of its flows; ``column``: or each receiver."""
    sources = scenario.table.columns[column]
    if any(isinstance(source, kind) for source in sources.values):
        of_flow = sources.whole()
        for n, source in enumerate(sources.values):
            flows = np.flatnonzero(of_flow == n)
            if isinstance(source, kind) and len(flows):
                yield source, flows


def _instability(scenario: Scenario) -> tuple[str, ...]:
    """Return () or one message: flows whose chain from host to bottleneck is unstable under DFC, clocks in step.

    Asynchronous clocks have a lower limit, which depends on their phases (`dfcmodel.theory.spectrum` with a seed).
    Chains that have no single law are left out: links that differ, unequal delays, queues per input.
    """
    rules = [dfc_of(link.discipline) for link in scenario.link_table.kinds]
    if all(rule is None or (rule.intensity == 1.0 and rule.diffusion <= MAX_STABLE_DIFFUSION) for rule in rules):
        return ()
    names: dict[tuple[int, float, float], list[str]] = {}
    for number, flow in enumerate(scenario.flows):
        try:
            law = law_of(scenario, number)
        except ValueError:
            continue
        if len(set(law.delays[: law.bottleneck])) == 1:
            names.setdefault((law.bottleneck, law.diffusion, law.intensity), []).append(flow.name)
    for (nodes, diffusion, intensity), flows in names.items():
        limit = chain_limit(nodes, intensity)
        if diffusion > limit:
            length = count_of(nodes, "node")
            return _as_tuple(
                f"stability: D = {diffusion:g} is beyond {limit:.4g}, up to which the chain of {length} from the host "
                f"to the bottleneck of {_list_names('flow', flows)} is stable (alpha = {intensity:g}, clocks in step): "
                "queues that stay filled swing instead of settling, and where they drain, clipping hides it",
            )
    return ()


def _telemetry_over_paths(scenario: Scenario) -> tuple[str, ...]:
    """Return () or one message: sprayed flows whose rules read telemetry, which comes from different queues.

    Measured with `HPCC` on the fabrics of docs/roce-fabric.md and `benchmarks.fabric_tables`.
    """
    table = scenario.table
    follows = table.each("source", follows_telemetry).astype(np.bool_)
    affected = np.flatnonzero(follows & _has_several_paths(scenario)).tolist()
    if not affected:
        return ()
    names = _list_flows(scenario, affected)
    return _as_tuple(
        f"telemetry over several paths: {names} are sprayed, and the records of a hop in two ACKs are of different "
        "queues. A rule that compares them, as HPCC does, computes wrong rates: a job was measured to take up to 20 "
        "times its lower bound. Give each flow one path, as routes='ecmp' and 'even' do",
    )


def _go_back_over_paths(run: Any) -> tuple[str, ...]:
    """Return () or one message: sprayed flows that went back, because for go-back-N an overtaken packet is lost.

    The message also counts losses in the network: a flow may have gone back for a real loss.
    """
    sprayed = _has_several_paths(run.scenario)
    if run.emitted is None or not run.recoveries or not sprayed.any():
        return ()
    goes_back = np.array([recovery == GO_BACK_N for recovery in run.recoveries], dtype=np.bool_)
    affected = np.flatnonzero(sprayed & goes_back & (run.loss_events > 0)).tolist()
    if not affected:
        return ()
    names = _list_flows(run.scenario, affected)
    sent, delivered, lost, back = (
        counts[affected].sum() for counts in (run.emitted, run.delivered[:, -1], run.lost_by_flow, run.loss_events)
    )
    return _as_tuple(
        "go-back-N over several paths: sprayed packets overtake each other, and go-back-N takes that for a loss: "
        f"{names} went back {back} times, and sent {sent:.0f} packets for {delivered:.0f} delivered and {lost:.0f} "
        "lost ones; write Packets(recovery=SelectiveRepair(reordering=64))",
    )


def _cut_packets(run: Any) -> tuple[str, ...]:
    """Return () or one message: flows with packets cut to headers that nobody requests again.

    Go-back-N requests the packet of a header, and a receiver agent may. Window rules and selective repair without an
    agent wait for later packets, or for their timer.
    """
    if run.dropped is None or not run.recoveries:
        return ()
    cut = run.dropped[(run.dropped["cause"] == TRIMMED) & (run.dropped["ack"] == 0)]
    if not len(cut):
        return ()
    requests = run.scenario.table.given("receiver") | (np.array(run.recoveries) == GO_BACK_N)
    cut = cut[~requests[cut["flow"]]]
    if not len(cut):
        return ()
    return _as_tuple(
        f"trimmed packets: {cut['packets'].sum():.0f} packets of {_list_flows(run.scenario, np.unique(cut['flow']))} "
        "were cut to their headers, and are lost to these senders until later packets or a timer tell: a network "
        "interface that answers headers, as of Ultra Ethernet, sends them again at once, as go-back-N, or a receiver "
        "such as RCCC() with selective repair, does here"
    )


def _lost_credits(run: Any) -> tuple[str, ...]:
    """Return () or one message: flows whose sender waits for credits, and of which packets or answers were dropped.

    A dropped answer takes its credits along, and a dropped packet the credit that it has used.
    """
    if run.dropped is None:
        return ()
    needs = run.scenario.table.each("receiver", lambda agent: agent is not None and math.isfinite(agent.unsolicited))
    lost = run.dropped[(run.dropped["cause"] != TRIMMED) & needs.astype(np.bool_)[run.dropped["flow"]]]
    if not len(lost):
        return ()
    answers, packets = (lost["packets"][lost["ack"] == is_ack].sum() for is_ack in (1, 0))
    names = _list_flows(run.scenario, np.unique(lost["flow"]))
    links = _list_names("link", [run.scenario.links[n].name for n in np.unique(lost["link"])])
    return _as_tuple(
        f"lost credits: {count_of(int(answers), 'answer')} to senders and {count_of(int(packets), 'packet')} of "
        f"{names} were dropped at {links}, with their credits: the sender waits for its retransmission timer, which "
        "lets one packet pass. In a buffer of packets, such as a Fabric's, a header or an ACK takes the room of a "
        "packet; a larger one holds them, and Trimming(limit=) bounds the packets of data"
    )


def _reordering(run: Any) -> tuple[str, ...]:
    """Return () or one message: senders that count overtaken packets as lost, as elements reorder them.

    A delivery rule counts it as lost at the first later delivery, unless its recovery waits for a time. Linux undoes a
    reduction when it learns that the packet was only late, which no recovery of this package does. BBR had half of a
    link of 5 Mb/s and 197 ms after 15 s where a twentieth of the packets came 5 ms late.
    """
    if not run.recoveries:
        return ()
    reordered = _may_be_overtaken(run.scenario)
    if not reordered.any():
        return ()
    recoveries = np.array(run.recoveries)
    at_once = reordered & _loses_overtaken(run)
    not_undone = reordered & (recoveries == LINUX)
    repeats = reordered & np.isin(recoveries, RECOVERIES_WITHOUT_WINDOWS)
    repeats &= run.loss_events - run.timeouts > run.lost_by_flow
    clauses = []
    if at_once.any():
        names = _list_flows(run.scenario, np.flatnonzero(at_once))
        clauses.append(
            f"the rules of {names} count each packet that another one overtakes as lost, at once and in silence: give "
            "Packets(recovery=RackRecovery()), of dfcmodel.recoveries, which waits for a quarter of the round trip"
        )
    if not_undone.any():
        names = _list_flows(run.scenario, np.flatnonzero(not_undone))
        clauses.append(
            f"recovery 'linux-6.12' of {names} keeps the smaller window after a packet that was only late, which Linux "
            "undoes"
        )
    if repeats.any() and run.emitted is not None:
        clauses.append(
            f"overtaken packets are taken for lost: {_count_repeats(run, repeats)}; write "
            "Packets(recovery=SelectiveRepair(reordering=64)), or with a larger reordering"
        )
    return _as_tuple(f"reordering: {'; '.join(clauses)}") if clauses else ()


def _loses_overtaken(run: Any) -> Flags:
    """Return flags, (F,), of flows with a delivery rule whose recovery does not wait for packets that come late."""
    return np.asarray(
        run.scenario.table.of_kind(DeliveryRule) & np.isin(np.array(run.recoveries), WITHOUT_REORDERING_WINDOW)
    )


def _may_be_overtaken(scenario: Scenario) -> Flags:
    """Return flags, (F,), of flows whose packets of data elements of paths may reorder."""
    elements = [element for element in scenario.all_elements if not element.acks and element.may_reorder]
    flags = np.zeros(len(scenario.table), dtype=np.bool_)
    for element in elements:
        flags[scenario.routes.flow[_data_hops_of_element(scenario, element)]] = True
    return flags


def _reordering_over_paths(run: Any) -> tuple[str, ...]:
    """Return () or one message: sprayed flows that sent packets again which were only overtaken, or reduce for them.

    Go-back-N has a message of its own (`_go_back_over_paths`).
    """
    sprayed = _has_several_paths(run.scenario)
    if run.emitted is None or not run.recoveries or not sprayed.any():
        return ()
    table, recoveries = run.scenario.table, np.array(run.recoveries)
    affected = sprayed & _repeats_needlessly(run)
    at_once = _loses_overtaken(run) & _passes_unequal_paths(run, sprayed)
    windows = affected & table.of_kind(WindowRule) & ~np.isin(recoveries, RECOVERIES_WITHOUT_WINDOWS) & ~at_once
    selective = affected & (recoveries == SELECTIVE)
    later = "Packets(recovery=RackRecovery(reordering=4, reordering_seen=1)), of dfcmodel.recoveries"
    further = "Packets(recovery=SelectiveRepair(reordering=64))"
    clauses = [
        f"{_count_repeats(run, flows)}; write {hint}, or with a larger reordering"
        for flows, hint in ((windows, later), (selective, further))
        if flows.any()
    ]
    if at_once.any():
        names = _list_flows(run.scenario, np.flatnonzero(at_once))
        clauses.append(
            f"the rules of {names} do so at once and in silence, without a loss event of the run; write {later}"
        )
    if not clauses:
        return ()
    return _as_tuple(
        f"reordering over several paths: sprayed packets overtake each other, which is taken for a loss: "
        f"{'; '.join(clauses)}",
    )


def _passes_unequal_paths(run: Any, sprayed: Flags) -> Flags:
    """Return flags, (F,), of those of the ``sprayed`` flows of which packets may have waited where their paths differ.

    Where none waits, paths of equal delays keep the order of packets.
    """
    scenario, table = run.scenario, run.scenario.table
    waited = {node for node, peak in zip(scenario.senders, run.peak_queue, strict=True) if peak > 1}
    flags = np.zeros(len(table), dtype=np.bool_)
    for f in np.flatnonzero(sprayed).tolist():
        paths = (table.path(f), *table.columns["paths"][f])
        flags[f] = any(node in waited for path in paths for node in path[1:-2])
    return flags


def _count_repeats(run: Any, chosen: Flags) -> str:
    """Return a clause with the names of the chosen flows, and how many packets they sent, delivered and lost."""
    flows = np.flatnonzero(chosen)
    names = _list_flows(run.scenario, flows)
    events = count_of(int(run.loss_events[flows].sum()), "loss event")
    sent, delivered, lost = (counts[flows].sum() for counts in (run.emitted, run.delivered[:, -1], run.lost_by_flow))
    return f"{names} had {events}, and sent {sent:.0f} packets for {delivered:.0f} delivered and {lost:.0f} lost ones"


def _repeats_needlessly(run: Any) -> Flags:
    """Return flags, (F,), of flows that sent packets again of which no copy was lost, beyond `MAX_NEEDLESS_SHARE`.

    Packets are counted for complete transfers, and for selective repair without timeouts, whose receiver keeps packets
    that arrive early. Other flows repeat needlessly if neither lost packets nor marks explain their loss events. A
    timeout may be early without overtaken packets, so that flows with timeouts alone are not flagged.
    """
    lost, delivered = run.lost_by_flow, run.delivered[:, -1]
    events = run.loss_events - run.timeouts
    unexplained = events - lost - (0 if run.marks is None else run.marks)
    counted = np.isfinite(run.finished) | ((np.array(run.recoveries) == SELECTIVE) & (run.timeouts == 0))
    repeats = run.emitted - delivered - lost - run.inside
    enough = repeats > np.maximum(MAX_PROBES, MAX_NEEDLESS_SHARE * delivered)
    return np.asarray((events > 0) & np.where(counted, enough, unexplained > 0))


def _has_several_paths(scenario: Scenario) -> Flags:
    """Return flags, (F,), of flows with several paths."""
    flags: Flags = scenario.table.each("paths", bool).astype(np.bool_)
    return flags


def _deadlocks(run: Any) -> tuple[str, ...]:
    """Return () or one message: links whose buffers may wait for each other in a circle, if one was paused.

    `benchmarks.deadlocks` has the networks: rings and fabrics below and above their critical load.
    """
    if run.paused is None or not len(run.paused):
        return ()
    import networkx as nx

    scenario = run.scenario
    pausing = [link.discipline.pauses_links for link in scenario.links]
    waits = nx.DiGraph(
        (before, after)
        for flow in scenario.flows
        for before, after in itertools.pairwise(scenario.path_index(flow))
        if pausing[after]
    )
    paused = set(run.paused["link"].tolist())
    components = nx.strongly_connected_components(waits)
    circles = [component for component in components if len(component) > 1 and component & paused]
    if not circles:
        return ()
    links = [scenario.links[n].name for n in sorted(set.union(*circles))]
    return _as_tuple(
        f"deadlock: buffers of {_list_names('link', links)} may wait for each other in a circle: near the critical "
        "load, and where thresholds are up to three packets apart, single packets decide whether they do for ever; of "
        "400 random networks 396 ended alike in fluid and packets",
    )


def _full_buffers(run: Any) -> tuple[str, ...]:
    """Return () or one message: flows that pass buffers under `DFC` which other flows fill.

    Packets that arrive at a full buffer and leave in the same step are not lost in the fluid. `passing_full_buffers`
    has the measurements.
    """
    flows, links = passing_full_buffers(run)
    if not flows:
        return ()
    scenario = run.scenario
    passing = _list_flows(scenario, flows)
    full = _list_names("link", [scenario.links[n].name for n in links])
    return _as_tuple(
        f"full buffer: {passing} under DFC, crossing {full}, where other flows fill the shared buffer: packets find no "
        "room there, but the fluid lets them pass: its goodput was measured to be up to 56 times that of packets. Use "
        "level='packets' or host='shaped'; for window rules a larger buffer also helps",
    )


def _as_tuple(limit: str) -> tuple[str]:
    """Return a limit as a 1-tuple."""
    return (limit,)


def _list_flows(scenario: Scenario, flows: Iterable[int]) -> str:
    """Return the names of flows, given by their indices, as `_list_names` does."""
    return _list_names("flow", [scenario.table.name(int(f)) for f in flows])


def _list_names(kind: str, names: Iterable[str]) -> str:
    """Return names as a string after ``kind``, a singular (s is added): the first `MAX_NAMES`, and how many more."""
    all_names = list(names)
    return f"{kind}{'' if len(all_names) == 1 else 's'} {first_of(all_names, MAX_NAMES)}"
