"""Flows: the path of the packets through the network, and their source."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dfcmodel.network.endpoints.arrivals import ArrivalProcess, Replay
from dfcmodel.network.endpoints.receivers import Credited, ReceiverAgent
from dfcmodel.network.endpoints.sources import Source
from dfcmodel.network.endpoints.stacks import COUNTED, NO_STACK, STACKS
from hopflow.checks import choice, count_of, flag, format_value, integer, is_endless, one_number, unwrap_scalar
from hopflow.results import Described
from hopflow.units import PacketUnits, WithUnit, quantities, whole_packets
from responsefn import RateRule, WindowRule
from responsefn.rules.rates.rate_rule import sees_telemetry

__all__ = [
    "DEFAULT_MAX_WINDOW",
    "SYN_WITH_DATA",
    "Flow",
    "acks_per_packet",
    "first_state",
    "has_threshold",
    "has_window",
    "of_kind",
    "recovery_of",
    "rules_among",
    "rules_of",
    "window_rules",
]

SYN_WITH_DATA = "data"
"""A handshake whose SYN carries data."""
HOSTS = ("nic", "shaped", "unshaped", "direct")
LARGEST_WINDOW = 2.0**24
"""Upper bound of ``max_window``, packets: the receiver stores two numbers per packet of the window."""
DEFAULT_MAX_WINDOW = 10_000.0
"""Default of ``max_window``, packets."""
LARGEST_INITIAL_WINDOW = 10**6
"""Upper bound of ``initial_window`` and ``quick_acks``, packets."""
MAX_TTL = 255
"""Largest time to live: 8 bits of the IP header."""
LONGEST_TRANSFER = 10**9
"""Upper bound of repeated transfers, packets: sequence numbers end at 2^31 - 2."""


@quantities(
    max_window="amount",
    start="time",
    size="amount",
    idle="time",
    stop="time",
    delays="time",
    initial_window="amount",
    ssthresh="amount",
)
@dataclass(frozen=True)
class Flow(Described):
    """A flow of packets from one sender to one receiver along a path.

    Parameters
    ----------
    name
        Label of the flow in results.
    path
        Nodes from the first one to the receiver, at least two.
    source
        A window rule, from `responsefn` or user-defined, makes a TCP sender with that rule. A rate rule, such as
        `responsefn.DCQCN`, makes a sender at that rate, limited to the rate of the path's first link. At packet level
        it repairs losses by go-back-N or selectively (`Packets`); in the fluid it does not retransmit. `CBR` and
        `OnOff` are sources without feedback. An `ArrivalProcess`, such as `Poisson` or a user-defined process, or a
        trace (`Replay`) sends packets at defined times, at packet level only.
    max_window
        Largest window in packets, for window rules; the largest number of packets in flight for a rate rule with
        selective repair (``Packets(recovery="selective")``). Others have no such bound: `Trajectory.limits` names flows
        that do not use it.
    start
        Time of the first packet in s; with a handshake, time of the SYN.
    stop
        Time in s from which the flow sends no new packets, above ``start``; `inf`: never. Losses are still repaired.
        The flow finishes when all packets that it sent are delivered, at ``stop`` at the earliest, or when ``size`` is
        complete before that. The fluid has it for `CBR` and `OnOff`.
    size
        Number of packets to transfer, a whole number; the flow ends when they are delivered. `inf`: an unlimited flow.
    host
        ``"nic"``: a host with a network interface. The interface has an unlimited queue per flow, serves the queues in
        turn, ACKs first, and obeys pauses, by class if pauses are by class. If no flow passes through the first node,
        that node is the host and the path's first link belongs to its interface; the discipline of that link is not
        used. Otherwise the host is attached to the node by a link with the same parameters, which all its flows share.
        A rate rule generates a packet when the previous one has left. ``"direct"``: packets enter the buffer of the
        first node at once, as in a simulator that attaches the sender to the node itself. ``"unshaped"``: a host with
        an unlimited buffer sends them over an access link with the rate and delay of the path's first link.
        ``"shaped"``: such a host sends at the rate r_0 reported by the first node (takano2006, eq. 9), which must have
        DFC. None: ``"nic"`` if the flow begins at a host of a fabric (`Fabric.hosts`), for any discipline except `DFC`;
        ``"nic"`` if the first link has `PFC`, `Pause` or `BFC`; otherwise ``"direct"`` (`Scenario.host_of`). The
        summary of a run reports it.
    priority
        Rank on `Priority` links, the lowest number first; class of traffic on links with `PFC`.
    delayed_acks
        Whether the receiver acknowledges every second packet that arrives in order (RFC 5681, 4.2). True: a window that
        grows per ACK grows half as fast; for window rules alone. ``"counted"``: outside of recovery the sender counts
        the packets that an ACK acknowledges, at most two (RFC 3465, 2.2; Linux); for a rule that is defined per ACK
        (`WindowRule.counts_packets`) only in slow start. None: the value of the ``stack``, False without one.
    pacing
        Whether a window sender paces its packets: at 2 windows per round trip in slow start and 1.2 above half of
        ``ssthresh``, as Linux does. Rules that define a pacing rate always pace. At packet level only.
    idle
        Time in s from the last ACK of a transfer to the next transfer of ``size`` packets, over the same
        connection, which keeps its window. `inf`: one transfer. For window rules, at packet level only;
        results have the time at which the first transfer is complete.
    random_idle
        Whether idle times are exponentially distributed with mean ``idle`` (drawn from the seed).
    handshake
        How a window sender opens its connection (RFC 9293, 3.5). False: the connection is already established at
        ``start``. True: the sender sends a SYN of 40 bytes, which a SYN-ACK of 40 bytes answers; data follow with the
        third segment. Both are packets that queue and can be lost. A lost SYN is sent again after 1 s, then 2 s and so
        on, and the window then begins with one packet (RFC 5681, 3.1). ``"data"``: the SYN carries the first packet of
        data (RFC 7413, without the exchange of cookies). With a handshake, a flow of finite ``size`` ends with a FIN in
        its last packet, which is acknowledged at once. In the fluid the flow begins later by a round trip without
        queues, and ``"data"`` is refused; ns-2's convention opens connections differently.
    receiver
        A `ReceiverAgent`, which answers the packets of a rate rule and may give it credits; None: a receiver that
        answers each packet. At packet level only.
    arrivals
        When the data of a window sender become available: an `ArrivalProcess` or a `Replay`. The sender sends when
        window and data allow. None: all data are available from the start. An ACK increases the window only if data are
        waiting, or if all of the window was in flight before it (RFC 9002, 7.8). The window does not change over idle
        times. The rule's clock stops during idle times and while the window is not used up (RFC 9438, 5.8). For a
        delivery rule, samples are marked as limited by the application instead (`Delivery`). The flow ends when the
        process has ended or ``size`` packets have arrived, and all of them are delivered. ``idle`` must be inf. At
        packet level only, and not in ns-2's convention.
    weight
        Number of packets of the flow that a network interface (``host="nic"``) sends in each of the flow's turns, a
        whole number. Flows of one class that always have packets share the interface in proportion to their weights. At
        packet level only.
    after
        Other flows, by name or by index among the scenario's flows. This flow starts ``start`` s after the last of
        them is complete at its receiver. They must end, by ``size`` or ``stop``. At packet level only.
    delays
        Times in s after the end of each flow in ``after``, for computations that wait for one of them only: this flow
        starts at the latest of these times and of ``start``, which is then a time of the run. (): ``start`` after the
        last of them.
    initial_window
        Packets of the first window, for window rules, at most 1e6; None: the value of the ``stack``, or of the rule
        without a stack. After a lost SYN it is one packet.
    ssthresh
        Slow-start threshold of the first slow start in packets, at least 1, for window rules whose state has one; None:
        the threshold of the rule, which is infinite by default.
    quick_acks
        Number of packets at the beginning that a receiver with ``delayed_acks`` acknowledges at once; None: the value
        of the ``stack``, 0 without one.
    segments
        Whether a window sender passes packets to its device in segments, as Linux does with or without offload: two
        packets, or the packets paced in 1/1024 s if these are more. It waits with less than a segment if the next ACK
        is expected within 1 ms, and the receiver acknowledges the last packet of a segment at once (PSH). At packet
        level, with recoveries by time (``"rack"``, ``"linux-6.12"``), and for delivery rules with pacing, which send a
        segment at a time. None: the value of the ``stack``, False without one.
    stack
        ``"linux-6.12"``: the behaviour of hosts with Linux 6.12 besides their window rule, for options that are not
        set: an initial window of 10, ``delayed_acks="counted"``, ``quick_acks=1079``, and at packet level
        ``segments=True`` and ``recovery="linux-6.12"`` if ``Packets(recovery=)`` names none. None: the defaults. It
        does not select the rule: use `LinuxCUBIC` and others. Not in ns-2's convention.
    paths
        Further paths of a sprayed flow, with the same first and last links and the same number of links. Each packet
        takes one of all paths, according to ``Packets(spraying=)``, and ACKs return by ``path``. Packets overtake each
        other, which go-back-N takes for losses; ``"selective"`` repair accepts them. At packet level, with
        ``host="nic"``.
    ttl
        Time to live of packets, 1 to 255 links (RFC 791): a packet that has crossed that many links is dropped at the
        next node unless this is its receiver. With a ``ttl`` the path may visit nodes several times. A path that ends
        at a node which it has visited is a loop: packets follow it again and again until they are dropped. At packet
        level; None: paths visit no node twice.

    Raises
    ------
    ValueError
        For a path of fewer than two nodes, numbers outside their ranges, and options that the source does not have.

    Examples
    --------
    >>> from dfcmodel import Flow
    >>> from responsefn import CUBIC
    >>> flow = Flow("download", ("server", "router", "client"), CUBIC(), max_window=500)
    >>> flow.hops
    (('server', 'router'), ('router', 'client'))
    """

    name: str
    path: tuple[Hashable, ...]
    source: Source
    max_window: WithUnit = DEFAULT_MAX_WINDOW
    start: WithUnit = 0.0
    size: WithUnit = math.inf
    host: str | None = None
    priority: int = 0
    delayed_acks: bool | str | None = None
    pacing: bool = False
    idle: WithUnit = math.inf
    random_idle: bool = False
    stop: WithUnit = math.inf
    handshake: bool | str = False
    receiver: ReceiverAgent | None = None
    arrivals: ArrivalProcess | Replay | None = None
    weight: int = 1
    after: tuple[str | int, ...] = ()
    delays: tuple[WithUnit, ...] = ()
    paths: tuple[tuple[Hashable, ...], ...] = ()
    initial_window: WithUnit | None = None
    ssthresh: WithUnit | None = None
    quick_acks: int | None = None
    stack: str | None = None
    ttl: int | None = None
    segments: bool | None = None

    def __post_init__(self) -> None:
        of = f"of flow {self.name!r}"
        path: object = self.path
        try:
            if not isinstance(path, tuple):  # a `ChosenPath` is not converted
                object.__setattr__(self, "path", tuple(self.path))
            set(self.path)
        except TypeError:
            raise TypeError(f"path {of} = {format_value(self.path)}: must be a list of nodes") from None
        if len(self.path) < 2:
            raise ValueError(f"path {of} = {self.path!r}: must have at least two nodes")
        _check_ttl(self, of)
        _check_paths(self, of)
        source: object = self.source
        if not isinstance(source, Source):
            kinds = (
                "a window rule such as Reno(), a rate rule such as DCQCN(), CBR(rate=...), OnOff(...), "
                "an arrival process such as Poisson(rate=...) or Replay(...)"
            )
            raise ValueError(f"source {of} = {source!r}: must be {kinds}")  # noqa: TRY004
        hint = "a window above that does not fit into memory"
        one_number(f"max_window {of}", self.max_window, at_least=1.0, at_most=LARGEST_WINDOW, hint=hint)
        one_number(f"start {of}", self.start, at_least=0.0)
        _check_stop(self, of)
        size: object = unwrap_scalar(self.size)
        if isinstance(size, PacketUnits):  # the last packet of a transfer is not full
            object.__setattr__(self, "size", whole_packets(size))
        if is_endless(size):
            object.__setattr__(self, "size", math.inf)
        else:
            packets = one_number(f"size {of}", self.size, at_least=1.0, hint="in packets")
            if packets != math.floor(packets):
                hint = "write math.ceil(size), as the last packet of a transfer need not be full"
                raise ValueError(
                    f"size {of} = {format_value(self.size)}: must be a whole number of packets, or inf; {hint}"
                )
        if self.host is not None:
            choice(f"host {of}", self.host, HOSTS)
        _check_stack(self, of)
        if flag(f"pacing {of}", self.pacing) and not isinstance(self.source, WindowRule):
            raise ValueError(f"pacing {of} = True: must be False for {self.source!r}: it has no window")
        integer(f"priority {of}", self.priority, -(10**6), 10**6)
        integer(f"weight {of}", self.weight, 1, 10**6)
        _check_after(self, of)
        _check_idle(self, of)
        _check_handshake(self, of)
        _check_receiver(self, of)
        _check_arrivals(self, of)

    @property
    def all_packets(self) -> float:
        """Total packets to transfer: ``size``, or `inf` with repeated transfers."""
        return self.size if self.idle == math.inf else math.inf

    @property
    def hops(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """The links of the path, as pairs of nodes."""
        return tuple(zip(self.path[:-1], self.path[1:], strict=True))


def _check_ttl(flow: Flow, of: str) -> None:
    """Unroll a looping path; ValueError for a path that returns to a node without a time to live."""
    if flow.ttl is None:
        if len(set(flow.path)) < len(flow.path):
            msg = "must not visit a node twice; a loop needs ttl, such as ttl=64"
            raise ValueError(f"path {of} = {flow.path!r}: {msg}")
        return
    ttl = integer(f"ttl {of}", flow.ttl, 1, MAX_TTL)
    if flow.paths != ():
        raise ValueError(f"ttl {of} = {ttl}: must be None for a sprayed flow")
    object.__setattr__(flow, "path", unroll_loop(flow.path, ttl))


def unroll_loop(path: tuple[Any, ...], ttl: int) -> tuple[Any, ...]:
    """Return a looping path repeated until the time to live is over; other paths are returned unchanged.

    >>> unroll_loop(("h", "A", "B", "A"), 5)
    ('h', 'A', 'B', 'A', 'B', 'A', 'B')
    """
    *before, last = path
    if last not in before:
        return path
    begin = len(before) - 1 - before[::-1].index(last)
    nodes = itertools.chain(path, itertools.cycle(path[begin + 1 :]))
    return tuple(itertools.islice(nodes, ttl + 2))


def _check_paths(flow: Flow, of: str) -> None:
    """Raise an error for further paths that are invalid, or whose first or last link differs from the path's."""
    value: object = flow.paths
    if isinstance(value, tuple) and not value:
        return
    try:
        paths = tuple(tuple(path) for path in flow.paths)
        distinct = {flow.path, *paths}
    except TypeError:
        raise TypeError(f"paths {of} = {format_value(flow.paths)}: must be lists of nodes") from None
    object.__setattr__(flow, "paths", paths)
    if len(distinct) <= len(paths):
        raise ValueError(f"paths {of} = {format_value(paths)}: must differ from each other and from path")
    for n, path in enumerate(paths):
        same_end_links = path[:2] == flow.path[:2] and path[-2:] == flow.path[-2:]
        if len(path) != len(flow.path) or not same_end_links or len(set(path)) < len(path):
            msg = f"must have as many nodes as path = {flow.path!r}, each once, and its first and last link"
            raise ValueError(f"paths[{n}] {of} = {path!r}: {msg}")


def _check_stop(flow: Flow, of: str) -> None:
    """Raise ValueError unless the stop is after the start."""
    if is_endless(unwrap_scalar(flow.stop)):
        object.__setattr__(flow, "stop", math.inf)
        return
    one_number(f"stop {of}", flow.stop, above=flow.start, hint="in s, after start")


def _check_stack(flow: Flow, of: str) -> None:
    """Set unset options from the stack; ValueError for options that the flow cannot have."""
    if flow.stack is not None:
        choice(f"stack {of}", flow.stack, tuple(STACKS))
    stack = NO_STACK if flow.stack is None else STACKS[flow.stack]
    window: object = unwrap_scalar(flow.initial_window)
    if window is None and not getattr(flow.source, "sets_initial_window", False):
        object.__setattr__(flow, "initial_window", stack.initial_window)
    delayed: object = unwrap_scalar(flow.delayed_acks)
    if delayed is None:
        object.__setattr__(flow, "delayed_acks", stack.delayed_acks)
    elif isinstance(delayed, str):
        choice(f"delayed_acks {of}", delayed, (COUNTED,))
    else:
        flag(f"delayed_acks {of}", delayed)
    if flow.quick_acks is None:
        object.__setattr__(flow, "quick_acks", stack.quick_acks if flow.delayed_acks else 0)
    if flow.segments is None:
        object.__setattr__(flow, "segments", stack.segments)
    else:
        flag(f"segments {of}", flow.segments)
    if flow.initial_window is not None:
        one_number(
            f"initial_window {of}",
            flow.initial_window,
            at_least=1.0,
            at_most=LARGEST_INITIAL_WINDOW,
            hint="in packets",
        )
    quick = integer(f"quick_acks {of}", flow.quick_acks, 0, LARGEST_INITIAL_WINDOW)
    if quick and not flow.delayed_acks:
        msg = "must be 0 without delayed_acks, where each packet is acknowledged at once"
        raise ValueError(f"quick_acks {of} = {quick}: {msg}")
    if flow.ssthresh is not None:
        one_number(f"ssthresh {of}", flow.ssthresh, at_least=1.0, hint="in packets")
        if not has_threshold(flow.source):
            msg = f"must be None for {flow.source!r}: it has no slow-start threshold"
            raise ValueError(f"ssthresh {of} = {flow.ssthresh!r}: {msg}")
    if isinstance(flow.source, WindowRule):
        return
    for name, value in (("stack", flow.stack), ("initial_window", flow.initial_window)):
        if value is not None:
            msg = f"must be None for {flow.source!r}: it has no window"
            raise ValueError(f"{name} {of} = {value!r}: {msg}")


def _check_delays(flow: Flow, of: str) -> None:
    """Raise ValueError unless ``delays`` is empty or has a time for each flow of ``after``."""
    value: object = flow.delays
    if not isinstance(value, Iterable):
        msg = "must be times in s, one for each of after"
        raise ValueError(f"delays {of} = {format_value(value)}: {msg}")  # noqa: TRY004
    delays = tuple(one_number(f"delays[{n}] {of}", delay, at_least=0.0, hint="in s") for n, delay in enumerate(value))
    if delays and len(delays) != len(flow.after):
        msg = f"{count_of(len(delays), 'time')} for {count_of(len(flow.after), 'flow')} in after, must be as many"
        raise ValueError(f"delays {of} = {format_value(delays)}: {msg}")
    object.__setattr__(flow, "delays", delays)


def _check_after(flow: Flow, of: str) -> None:
    """Raise ValueError for invalid references to flows, or for a flow that cannot wait for others."""
    value: object = flow.after
    value = (value,) if isinstance(value, (str, int, np.integer)) else value
    if not isinstance(value, Iterable) or isinstance(value, (bytes, bytearray)):
        raise ValueError(f"after {of} = {format_value(value)}: must be names of flows, or their places")  # noqa: TRY004
    after = tuple(unwrap_scalar(reference) for reference in value)
    for n, reference in enumerate(after):
        if isinstance(reference, str):
            continue
        integer(f"after[{n}] {of}", reference, 0, 2**31, why="the place of a flow, or its name")
    object.__setattr__(flow, "after", after)
    _check_delays(flow, of)
    if not after:
        return
    if isinstance(flow.source, (ArrivalProcess, Replay)) or flow.arrivals is not None:
        msg = "must be () with arrivals, whose times are those of the run"
        raise ValueError(f"after {of} = {format_value(after)}: {msg}")
    if flow.stop < math.inf:
        msg = "must be () with a stop, which is a time of the run; give a size"
        raise ValueError(f"after {of} = {format_value(after)}: {msg}")


def _check_idle(flow: Flow, of: str) -> None:
    """Raise ValueError for idle times of a flow that has no transfers or no window."""
    idle: object = unwrap_scalar(flow.idle)
    flag(f"random_idle {of}", flow.random_idle)
    if is_endless(idle):
        object.__setattr__(flow, "idle", math.inf)
        if flow.random_idle:
            raise ValueError(f"random_idle {of} = True: must be False without idle times; give idle")
        return
    one_number(f"idle {of}", flow.idle, above=0.0, hint="in s")
    if not isinstance(flow.source, WindowRule):
        msg = f"must be inf for {flow.source!r}: it has no window"
        raise ValueError(f"idle {of} = {flow.idle:g}: {msg}")  # noqa: TRY004
    integer(f"size {of}", flow.size, 1, LONGEST_TRANSFER, why="of each transfer, with idle times")


def _check_handshake(flow: Flow, of: str) -> None:
    """Raise ValueError for an unknown handshake, or for a handshake without a window rule."""
    value: object = unwrap_scalar(flow.handshake)
    is_data = isinstance(value, str) and value == SYN_WITH_DATA
    if not is_data and not isinstance(value, (bool, np.bool_)):
        msg = f"must be True, False or {SYN_WITH_DATA!r}"
        raise ValueError(f"handshake {of} = {format_value(flow.handshake)}: {msg}")
    object.__setattr__(flow, "handshake", SYN_WITH_DATA if is_data else bool(value))
    if flow.handshake and not isinstance(flow.source, WindowRule):
        msg = f"must be False for {flow.source!r}: it has no window"
        raise ValueError(f"handshake {of} = {flow.handshake!r}: {msg}")


def _check_receiver(flow: Flow, of: str) -> None:
    """Raise ValueError for an invalid receiver, one without a rate rule, or `Credited` without a receiver."""
    receiver: object = flow.receiver
    if receiver is None:
        if isinstance(flow.source, Credited):
            msg = "must be a receiver agent, whose credits Credited() needs"
            raise ValueError(f"receiver {of} = None: {msg}")
        return
    if not isinstance(receiver, ReceiverAgent):
        kind = getattr(receiver, "__name__", "")
        hint = f"; write {kind}()" if hasattr(receiver, "on_packet") else ""
        msg = f"must be a ReceiverAgent, or None{hint}"
        raise ValueError(f"receiver {of} = {format_value(receiver)}: {msg}")  # noqa: TRY004
    if not isinstance(flow.source, RateRule):
        msg = f"must be None for {flow.source!r}, which is no rate rule"
        raise ValueError(f"receiver {of} = {receiver!r}: {msg}")  # noqa: TRY004
    if sees_telemetry(type(flow.source)):
        msg = f"must be None for {flow.source!r}, which needs an ACK of each packet with its telemetry"
        raise ValueError(f"receiver {of} = {receiver!r}: {msg}")


def _check_arrivals(flow: Flow, of: str) -> None:
    """Raise ValueError for invalid arrivals, or for a sender that cannot wait for data."""
    arrivals: object = flow.arrivals
    if arrivals is None:
        return
    subject = f"arrivals {of} = {format_value(arrivals)}"
    if not isinstance(arrivals, ArrivalProcess | Replay):
        kind = getattr(arrivals, "__name__", "")
        hint = f"; write {kind}(...)" if kind else ""
        msg = "must be an arrival process such as Poisson(rate=...), Replay(...), or None"
        raise ValueError(f"{subject}: {msg}{hint}")  # noqa: TRY004
    if not isinstance(flow.source, WindowRule):
        msg = f"must be None for {flow.source!r}: it has no window"
        if not isinstance(flow.source, RateRule):
            msg += "; an arrival process can be its source"
        raise ValueError(f"{subject}: {msg}")  # noqa: TRY004
    if flow.idle < math.inf:
        raise ValueError(f"{subject}: must be None with idle = {flow.idle:g}")


def of_kind(flows: Iterable[Flow], *kinds: type) -> list[bool]:
    """Return whether each flow's source is an instance of one of ``kinds``; each class is tested once."""
    flows = tuple(flows)
    matches = {kind for kind in {type(flow.source) for flow in flows} if issubclass(kind, kinds)}
    return [type(flow.source) in matches for flow in flows]


def has_threshold(source: object) -> bool:
    """Return whether a source is a window rule whose state has a slow-start threshold."""
    return isinstance(source, WindowRule) and "ssthresh" in source.State._fields


def has_window(flow: Flow) -> bool:
    """Return whether the source of a flow is a window rule."""
    return isinstance(flow.source, WindowRule)


def first_state(flow: Flow, rtt: float) -> Any:
    """Return the state of a flow's window rule at its start, on a path with this round-trip time in s."""
    state: Any = flow.source.start(rtt)  # type: ignore[union-attr]
    options = {"cwnd": flow.initial_window, "ssthresh": flow.ssthresh}
    return state._replace(**{name: float(value) for name, value in options.items() if value is not None})


def acks_per_packet(flow: Flow) -> float:
    """Return the ACKs per packet that increase the window: 1/2 with delayed ACKs that are not counted."""
    counted = flow.delayed_acks == COUNTED and getattr(flow.source, "counts_packets", True)
    return 0.5 if flow.delayed_acks and not counted else 1.0


def recovery_of(flow: Flow, recovery: str | None) -> str:
    """Return a flow's recovery under a method's ``recovery`` (None: the rule's); "" without a window."""
    return (recovery or flow.source.recovery) if isinstance(flow.source, WindowRule) else ""


def window_rules(flows: Iterable[Flow]) -> Iterator[WindowRule]:
    """Yield the sources of the flows that have a window."""
    return (flow.source for flow in flows if isinstance(flow.source, WindowRule))


def rules_of(flows: Iterable[Flow]) -> Iterator[Any]:
    """Yield the sources of the flows that are called at events, see `rules_among`."""
    return rules_among(source for flow in flows for source in (flow.source, flow.arrivals))


def rules_among(sources: Iterable[Source | None]) -> Iterator[Any]:
    """Yield sources and arrivals that are called at events: window rules, rate rules, arrival processes."""
    return (source for source in sources if isinstance(source, (WindowRule, RateRule, ArrivalProcess)))
