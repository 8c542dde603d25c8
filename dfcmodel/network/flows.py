"""Flows: the path of the packets through the network and their source, as objects and as columns.

The table of columns is a sequence of up to a million flows without an object per flow.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import numbers
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from dfcmodel.network.endpoints.arrivals import ArrivalProcess, Replay
from dfcmodel.network.endpoints.receivers import Credited, ReceiverAgent
from dfcmodel.network.endpoints.sources import Source
from dfcmodel.network.endpoints.stacks import COUNTED, NO_STACK, STACKS
from dfcmodel.network.links import Column, Routes, distinct, encode, present
from dfcmodel.network.next_hops import NextHops
from dfcmodel.network.queueing.disciplines import BOTH_LEVELS, PACKETS_ALONE
from dfcmodel.network.shortest_routes import SPRAY, ShortestRoutes, flow_keys
from hopflow.checks import (
    choice,
    count_of,
    flag,
    format_value,
    integer,
    is_endless,
    one_number,
    refuse_unordered,
    unwrap_scalar,
)
from hopflow.fork_safety import cached_property
from hopflow.results import Described
from hopflow.units import PacketUnits, WithUnit, in_units, quantities, whole_packets
from responsefn import RateRule, WindowRule
from responsefn.rules.rates.rate_rule import sees_telemetry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.links import Links

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = [
    "DEFAULT_MAX_WINDOW",
    "OPTIONS",
    "SYN_WITH_DATA",
    "WINDOWS",
    "Choices",
    "ChosenPath",
    "Flow",
    "Flows",
    "acks_per_packet",
    "as_references",
    "check_after",
    "check_delays",
    "check_option",
    "check_window",
    "choose_together",
    "first_state",
    "has_threshold",
    "has_window",
    "of_kind",
    "random_starts",
    "recovery_of",
    "renumber_references",
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
WINDOWS: dict[str, tuple[float, str]] = {
    "max_window": (LARGEST_WINDOW, "a window above that does not fit into memory"),
    "initial_window": (LARGEST_INITIAL_WINDOW, "in packets"),
    "ssthresh": (math.inf, "in packets"),
}
"""Options in packets or bytes: their largest number of packets, and a hint. The smallest is one packet."""
MAX_TTL = 255
"""Largest time to live: 8 bits of the IP header."""
LONGEST_TRANSFER = 10**9
"""Upper bound of repeated transfers, packets: sequence numbers end at 2^31 - 2."""


def runs_at(features: str, levels: frozenset[str]) -> dict[str, Any]:
    """Return metadata of an option of `Flow` that a level does not run: features in words, and the other levels."""
    return {"features": features, "levels": levels}


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
        Opening of a window sender's connection (RFC 9293, 3.5). False: the connection is already established at
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
        Times at which data of a window sender become available: an `ArrivalProcess` or a `Replay`. The sender sends
        when window and data allow. None: all data are available from the start. An ACK increases the window only if
        data are waiting, or if all of the window was in flight before it (RFC 9002, 7.8). The window does not change
        over idle times. The rule's clock stops during idle times and while the window is not used up (RFC 9438, 5.8).
        For a delivery rule, samples are marked as limited by the application instead (`Delivery`). The flow ends when
        the process has ended or ``size`` packets have arrived, and all of them are delivered. ``idle`` must be inf. At
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
        ``segments=True`` and ``recovery="linux-6.12"`` if ``Packets(recovery=)`` names none. The retransmission timer
        is SRTT + max(min_rto, 4 RTTVAR), later by up to a round trip than that of RFC 6298. None: the defaults. It does
        not select the rule: use `LinuxCUBIC` and others. Not in ns-2's convention.
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
    size: WithUnit = field(default=math.inf, metadata=runs_at("transfers that end", BOTH_LEVELS))
    host: str | None = None
    priority: int = 0
    delayed_acks: bool | str | None = field(default=None, metadata=runs_at("delayed ACKs", BOTH_LEVELS))
    pacing: bool = field(default=False, metadata=runs_at("paced windows", PACKETS_ALONE))
    idle: WithUnit = field(default=math.inf, metadata=runs_at("transfers after idle times", PACKETS_ALONE))
    random_idle: bool = False
    stop: WithUnit = field(default=math.inf, metadata=runs_at("flows that end", BOTH_LEVELS))
    handshake: bool | str = False
    receiver: ReceiverAgent | None = field(default=None, metadata=runs_at("receiver agents", PACKETS_ALONE))
    arrivals: ArrivalProcess | Replay | None = field(default=None, metadata=runs_at("data that arrive", PACKETS_ALONE))
    weight: int = field(default=1, metadata=runs_at("weights of network interfaces", PACKETS_ALONE))
    after: tuple[str | int, ...] = field(default=(), metadata=runs_at("flows that wait for others", PACKETS_ALONE))
    delays: tuple[WithUnit, ...] = ()
    paths: tuple[tuple[Hashable, ...], ...] = field(default=(), metadata=runs_at("sprayed flows", PACKETS_ALONE))
    initial_window: WithUnit | None = field(default=None, metadata=runs_at("first windows", BOTH_LEVELS))
    ssthresh: WithUnit | None = field(default=None, metadata=runs_at("slow-start thresholds of flows", BOTH_LEVELS))
    quick_acks: int | None = None
    stack: str | None = None
    ttl: int | None = field(default=None, metadata=runs_at("times to live", PACKETS_ALONE))
    segments: bool | None = None

    def __post_init__(self) -> None:
        of = f"of flow {self.name!r}"
        path: object = self.path
        refuse_unordered(f"path {of}", path, "nodes")
        try:
            if not isinstance(path, tuple):  # a `ChosenPath` is not converted
                object.__setattr__(self, "path", tuple(self.path))
            set(self.path)
        except TypeError:
            raise TypeError(f"path {of} = {format_value(self.path)}: must be a list of nodes") from None
        if len(self.path) < 2:
            raise ValueError(f"path {of} = {self.path!r}: must have at least two nodes")
        if self.ttl is not None:
            _check_ttl(self, of, self.ttl)
        elif len(set(self.path)) < len(self.path):
            msg = "must not visit a node twice; a loop needs ttl, such as ttl=64"
            raise ValueError(f"path {of} = {self.path!r}: {msg}")
        if type(self.paths) is not tuple or self.paths:
            _check_paths(self, of)
        source: object = self.source
        if not isinstance(source, Source):
            kinds = (
                "a window rule such as Reno(), a rate rule such as DCQCN(), CBR(rate=...), OnOff(...), "
                "an arrival process such as Poisson(rate=...) or Replay(...)"
            )
            raise ValueError(f"source {of} = {source!r}: must be {kinds}")  # noqa: TRY004
        check_option("max_window", f"max_window {of}", self.max_window)
        check_option("start", f"start {of}", self.start)
        if is_endless(unwrap_scalar(self.stop)):
            object.__setattr__(self, "stop", math.inf)
        else:
            one_number(f"stop {of}", self.stop, above=self.start, hint="in s, after start")
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
        check_option("host", f"host {of}", self.host)
        _check_stack(self, of)
        check_option("pacing", f"pacing {of}", self.pacing)
        if self.pacing and not isinstance(self.source, WindowRule):
            raise ValueError(f"pacing {of} = True: must be False for {self.source!r}: it has no window")
        for option in ("priority", "weight"):
            check_option(option, f"{option} {of}", getattr(self, option))
        if type(self.after) is not tuple or type(self.delays) is not tuple or self.after or self.delays:
            _check_after(self, of)
        _check_idle(self, of)
        check_option("handshake", f"handshake {of}", self.handshake)
        handshake: object = unwrap_scalar(self.handshake)
        object.__setattr__(self, "handshake", SYN_WITH_DATA if isinstance(handshake, str) else bool(handshake))
        if self.handshake and not isinstance(self.source, WindowRule):
            msg = f"must be False for {self.source!r}: it has no window"
            raise ValueError(f"handshake {of} = {self.handshake!r}: {msg}")
        if self.receiver is not None or isinstance(self.source, Credited):
            _check_receiver(self, of)
        if self.arrivals is not None:
            _check_arrivals(self, of)

    @property
    def all_packets(self) -> float:
        """Total packets to transfer: ``size``, or `inf` with repeated transfers."""
        return self.size if self.idle == math.inf else math.inf

    @property
    def hops(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """The links of the path, as pairs of nodes."""
        return tuple(zip(self.path[:-1], self.path[1:], strict=True))


def check_option(option: str, label: str, value: Any) -> None:
    """Raise TypeError or ValueError for a value that ``option`` may have in no flow; ``label`` names it.

    A `Scenario` checks windows in bytes (`check_window`): it has the size of the packets.

    Parameters
    ----------
    option
        Name of the field of `Flow`.
    label
        Name of the value in the message.
    """
    value = unwrap_scalar(value) if option in WINDOWS else value
    if option in WINDOWS and isinstance(value, PacketUnits):  # the scenario has the size of its packets
        one_number(label, value, above=0.0)
    elif option in WINDOWS:
        check_window(option, label, value)
    elif option == "start":
        one_number(label, value, at_least=0.0)
    elif option == "stop" and not is_endless(unwrap_scalar(value)):
        one_number(label, value, above=0.0, hint="in s, after start")
    elif option == "idle" and not is_endless(unwrap_scalar(value)):
        one_number(label, value, above=0.0, hint="in s")
    elif option == "host" and value is not None:
        choice(label, value, HOSTS)
    elif option in ("priority", "weight"):
        integer(label, value, 1 if option == "weight" else -(10**6), 10**6)
    elif option in ("pacing", "random_idle") or (option == "segments" and value is not None):
        flag(label, value)
    elif option == "delayed_acks" and unwrap_scalar(value) is not None:
        choice(label, value, (COUNTED,)) if isinstance(unwrap_scalar(value), str) else flag(label, value)
    elif option == "quick_acks" and value is not None:
        integer(label, value, 0, LARGEST_INITIAL_WINDOW)
    elif option == "ttl" and value is not None:
        integer(label, value, 1, MAX_TTL)
    elif option == "handshake":
        connection = unwrap_scalar(value)
        is_data = isinstance(connection, str) and connection == SYN_WITH_DATA
        if not is_data and not isinstance(connection, (bool, np.bool_)):
            raise ValueError(f"{label} = {format_value(value)}: must be True, False or {SYN_WITH_DATA!r}")
    elif option == "receiver" and value is not None and not isinstance(value, ReceiverAgent):
        kind = getattr(value, "__name__", "")
        hint = f"; write {kind}()" if hasattr(value, "on_packet") else ""
        raise ValueError(f"{label} = {format_value(value)}: must be a ReceiverAgent, or None{hint}")
    elif option == "arrivals" and value is not None and not isinstance(value, ArrivalProcess | Replay):
        kind = getattr(value, "__name__", "")
        hint = f"; write {kind}(...)" if kind else ""
        msg = "must be an arrival process such as Poisson(rate=...), Replay(...), or None"
        raise ValueError(f"{label} = {format_value(value)}: {msg}{hint}")


def check_window(option: str, label: str, value: Any) -> None:
    """Raise an error that begins with ``label`` unless ``value`` is in packets as in `WINDOWS`, or None if it may be.

    A window in bytes must have been converted to packets of the scenario. ``label`` names it.
    """
    largest, hint = WINDOWS[option]
    if value is not None or option == "max_window":
        one_number(label, value, at_least=1.0, at_most=None if largest == math.inf else largest, hint=hint)


def _check_ttl(flow: Flow, of: str, ttl: int) -> None:
    """Unroll the path of a flow with a time to live ``ttl``, in place; ValueError for an invalid one."""
    check_option("ttl", f"ttl {of}", ttl)
    ttl = int(ttl)
    if flow.paths != ():
        raise ValueError(f"ttl {of} = {ttl}: must be None for a sprayed flow")
    object.__setattr__(flow, "path", unroll_loop(flow.path, ttl))


def unroll_loop(path: tuple[Any, ...], ttl: int) -> tuple[Any, ...]:
    """Return a path that ends at one of its earlier nodes, repeated up to ``ttl`` + 1 links; other paths unchanged.

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
    """Make the further paths of a flow tuples, in place; ValueError if invalid, or for other first or last links."""
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


def _check_stack(flow: Flow, of: str) -> None:
    """Set unset options of a flow from its stack, in place; ValueError for options that it cannot have."""
    if flow.stack is not None:
        choice(f"stack {of}", flow.stack, tuple(STACKS))
    stack = NO_STACK if flow.stack is None else STACKS[flow.stack]
    window: object = unwrap_scalar(flow.initial_window)
    if window is None and not getattr(flow.source, "sets_initial_window", False):
        object.__setattr__(flow, "initial_window", stack.initial_window)
    delayed: object = unwrap_scalar(flow.delayed_acks)
    if delayed is None:
        object.__setattr__(flow, "delayed_acks", stack.delayed_acks)
    check_option("delayed_acks", f"delayed_acks {of}", flow.delayed_acks)
    if flow.quick_acks is None:
        object.__setattr__(flow, "quick_acks", stack.quick_acks if flow.delayed_acks else 0)
    if flow.segments is None:
        object.__setattr__(flow, "segments", stack.segments)
    for option in ("segments", "initial_window", "quick_acks", "ssthresh"):
        check_option(option, f"{option} {of}", getattr(flow, option))
    if flow.quick_acks and not flow.delayed_acks:
        msg = "must be 0 without delayed_acks, where each packet is acknowledged at once"
        raise ValueError(f"quick_acks {of} = {flow.quick_acks}: {msg}")
    if flow.ssthresh is not None and not has_threshold(flow.source):
        msg = f"must be None for {flow.source!r}: it has no slow-start threshold"
        raise ValueError(f"ssthresh {of} = {flow.ssthresh!r}: {msg}")
    if isinstance(flow.source, WindowRule):
        return
    for name, value in (("stack", flow.stack), ("initial_window", flow.initial_window)):
        if value is not None:
            msg = f"must be None for {flow.source!r}: it has no window"
            raise ValueError(f"{name} {of} = {value!r}: {msg}")


def check_delays(label: str, value: Any) -> tuple[float, ...]:
    """Return delays after other flows, s or with units, as a tuple; ValueError for other values, named by ``label``."""
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise ValueError(f"{label} = {format_value(value)}: must be times in s, one for each of after")  # noqa: TRY004
    head, _, tail = label.partition(" ")
    named = ((f"{head}[{n}] {tail}".rstrip(), delay) for n, delay in enumerate(value))
    return tuple(one_number(name, in_units(name, delay, "time"), at_least=0.0, hint="in s") for name, delay in named)


def as_references(value: Any) -> Any:
    """Return a single reference to a flow, its name or index, as a tuple of it; other values unchanged.

    >>> as_references("a"), as_references(0), as_references(("a", 1))
    (('a',), (0,), ('a', 1))
    """
    return (value,) if isinstance(value, (str, int, np.integer)) else value


def check_after(label: str, value: Any) -> tuple[Any, ...]:
    """Return references to other flows, names or indices, as a tuple; ValueError names ``label``."""
    if isinstance(value, TableReferences):
        return value
    value = as_references(value)
    if not isinstance(value, Iterable) or isinstance(value, (bytes, bytearray)):
        raise ValueError(f"{label} = {format_value(value)}: must be names of flows, or their places")  # noqa: TRY004
    head, _, tail = label.partition(" ")
    after = tuple(unwrap_scalar(reference) for reference in value)
    for n, reference in enumerate(after):
        if not isinstance(reference, str):
            integer(f"{head}[{n}] {tail}".rstrip(), reference, 0, 2**31, why="the place of a flow, or its name")
    return after


def _check_after(flow: Flow, of: str) -> None:
    """Make references and delays of a flow tuples, in place; ValueError if invalid, or if it cannot wait for others."""
    after = check_after(f"after {of}", flow.after)
    delays = check_delays(f"delays {of}", flow.delays)
    if delays and len(delays) != len(after):
        msg = f"{count_of(len(delays), 'time')} for {count_of(len(after), 'flow')} in after, must be as many"
        raise ValueError(f"delays {of} = {format_value(delays)}: {msg}")
    object.__setattr__(flow, "after", after)
    object.__setattr__(flow, "delays", delays)
    if not after:
        return
    if isinstance(flow.source, (ArrivalProcess, Replay)) or flow.arrivals is not None:
        msg = "must be () with arrivals, whose times are those of the run"
        raise ValueError(f"after {of} = {format_value(after)}: {msg}")
    if flow.stop < math.inf:
        msg = "must be () with a stop, which is a time of the run; give a size"
        raise ValueError(f"after {of} = {format_value(after)}: {msg}")


def _check_idle(flow: Flow, of: str) -> None:
    """Raise ValueError for idle times that size or source of a flow do not allow; endless ones become inf, in place."""
    idle: object = unwrap_scalar(flow.idle)
    check_option("random_idle", f"random_idle {of}", flow.random_idle)
    if is_endless(idle):
        object.__setattr__(flow, "idle", math.inf)
        if flow.random_idle:
            raise ValueError(f"random_idle {of} = True: must be False without idle times; give idle")
        return
    check_option("idle", f"idle {of}", flow.idle)
    if not isinstance(flow.source, WindowRule):
        msg = f"must be inf for {flow.source!r}: it has no window"
        raise ValueError(f"idle {of} = {flow.idle:g}: {msg}")  # noqa: TRY004
    integer(f"size {of}", flow.size, 1, LONGEST_TRANSFER, why="of each transfer, with idle times")


def _check_receiver(flow: Flow, of: str) -> None:
    """Raise ValueError for a receiver that is invalid or not for the source, and for `Credited` without a receiver."""
    receiver: object = flow.receiver
    if receiver is None:
        msg = "must be a receiver agent, whose credits Credited() needs"
        raise ValueError(f"receiver {of} = None: {msg}")
    check_option("receiver", f"receiver {of}", receiver)
    if not isinstance(flow.source, RateRule):
        msg = f"must be None for {flow.source!r}, which is no rate rule"
        raise ValueError(f"receiver {of} = {receiver!r}: {msg}")  # noqa: TRY004
    if sees_telemetry(type(flow.source)):
        msg = f"must be None for {flow.source!r}, which needs an ACK of each packet with its telemetry"
        raise ValueError(f"receiver {of} = {receiver!r}: {msg}")


def _check_arrivals(flow: Flow, of: str) -> None:
    """Raise ValueError for invalid arrivals, or for a sender that cannot wait for data."""
    arrivals: object = flow.arrivals
    subject = f"arrivals {of} = {format_value(arrivals)}"
    check_option("arrivals", f"arrivals {of}", arrivals)
    if not isinstance(flow.source, WindowRule):
        msg = f"must be None for {flow.source!r}: it has no window"
        if not isinstance(flow.source, RateRule):
            msg += "; an arrival process can be its source"
        raise ValueError(f"{subject}: {msg}")  # noqa: TRY004
    if flow.idle < math.inf:
        raise ValueError(f"{subject}: must be None with idle = {flow.idle:g}")


def of_kind(flows: Iterable[Flow], *kinds: type) -> list[bool]:
    """Return a list of whether each flow's source is an instance of one of ``kinds``; each class is tested once."""
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
    """Return the first state of a flow's window rule; ``rtt``, s, is the path's round-trip time."""
    state: Any = flow.source.start(rtt)  # type: ignore[union-attr]
    options = {"cwnd": flow.initial_window, "ssthresh": flow.ssthresh}
    return state._replace(**{name: float(value) for name, value in options.items() if value is not None})


def acks_per_packet(flow: Flow) -> float:
    """Return the window increases per packet: 1, or 1/2 with delayed ACKs that count as one packet."""
    counted = flow.delayed_acks == COUNTED and getattr(flow.source, "counts_packets", True)
    return 0.5 if flow.delayed_acks and not counted else 1.0


def recovery_of(flow: Flow, recovery: str | None) -> str:
    """Return a flow's loss recovery: ``recovery``, or if None its rule's; "" if it has no window."""
    return (recovery or flow.source.recovery) if isinstance(flow.source, WindowRule) else ""


def window_rules(flows: Iterable[Flow]) -> Iterator[WindowRule]:
    """Yield the sources of the flows that have a window."""
    return (flow.source for flow in flows if isinstance(flow.source, WindowRule))


def rules_of(table: Flows) -> Iterator[Any]:
    """Yield the sources and arrivals of flows that have events: window rules, rate rules and arrival processes."""
    sources = *table.columns["source"].values, *table.columns["arrivals"].values
    return (source for source in sources if isinstance(source, (WindowRule, RateRule, ArrivalProcess)))


OPTIONS = tuple(option for option in dataclasses.fields(Flow) if option.name not in ("name", "path"))
"""Fields of `Flow` that are columns of a table."""


class Choices(NamedTuple):
    """Method by which the shortest paths of a table of flows were chosen.

    Attributes
    ----------
    links
        The links of the network; they have all nodes of the paths.
    routes
        One of `dfcmodel.network.shortest_routes.CHOICES`, or tables of next hops.
    number
        Number of each flow among the flows of its pair of nodes, (F,); None for explicit entropy.
    """

    links: Links
    routes: str | NextHops
    number: Integers | None

    def is_like(self, other: Choices) -> bool:
        """Return whether another table's paths were chosen by equal routes over equal links."""
        if self.routes != other.routes:
            return False
        return self.links is other.links or (self.links == other.links and self.links.seed == other.links.seed)

    def paths(self, source: Integers, target: Integers, keys: Integers) -> Routes:
        """Return a path per pair of nodes, by index in the links' nodes; LookupError, with the flow, if none."""
        if isinstance(self.routes, NextHops):
            sources, targets = ([self.links.nodes[k] for k in indices.tolist()] for indices in (source, target))
            paths = self.routes.paths(sources, targets, keys, [False] * len(source))
            return Routes.of([[self.links.place_of[node] for node in path] for path in paths])
        choice = "ecmp" if self.routes == SPRAY else self.routes
        return ShortestRoutes(self.links).paths(source, target, choice, keys)


class ChosenPath(tuple[Hashable, ...]):  # a tuple of any length has no slots
    """Shortest path of a flow, with the `Choices` of its table, so that lists of several tables can choose again.

    Attributes
    ----------
    choices
        Method by which the paths of the flow's table were chosen.
    number
        Number of the flow among the flows of its pair of nodes.
    """

    choices: Choices
    number: int

    @classmethod
    def of(cls, nodes: Iterable[Hashable], choices: Choices, number: int) -> ChosenPath:
        """Return a path with the choices of its table and its flow's index among the flows of its pair of nodes."""
        path = cls(nodes)
        path.choices, path.number = choices, number
        return path

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)


class TableReferences(tuple[str | int, ...]):  # a tuple of any length has no slots
    """References of a flow of a table to other flows (`Flow`: ``after``), for lists of flows of several tables.

    Attributes
    ----------
    table
        The table of the flow, in which references that are numbers are indices.
    number
        Index of the flow in the table.
    """

    table: Flows
    number: int

    @classmethod
    def of(cls, references: Iterable[Any], table: Flows, number: int) -> TableReferences:
        """Return the references of a table's flow with an index in it."""
        result = cls(references)
        result.table, result.number = table, number
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)


class Flows(Sequence[Flow]):
    """A table of flows as columns; as a sequence it builds each `Flow` when it is read.

    `flows_from`, `all_to_all`, `incast` and `permutation` return such a table, and `Scenario` takes it as its
    ``flows``. The sum of two tables has the flows of the first, then the flows of the second, whose indices in
    ``after`` are shifted. If both tables chose paths by ``"ecmp"``, ``"even"`` or the same tables of next hops over the
    same links, the sum chooses all paths again as one table, so that jobs do not share the choices of their switches. A
    `Scenario` of a list of their flows does the same, and refuses a list without a flow for which others wait.

    Parameters
    ----------
    nodes
        Distinct nodes, which include all nodes of the paths.
    paths
        Path of each flow as indices in ``nodes``, F paths.
    columns
        The options of `Flow` by name; a missing option has its default.
    names
        Names of the flows; None: ``"source->target"``, with the number of the flow in front unless unique.
    choices
        Method by which the shortest paths were chosen; None for explicit paths.

    Examples
    --------
    >>> from dfcmodel import CBR, FlowOptions, all_to_all, chain
    >>> links = [*chain(3, rate=1e4, delay=1e-3, buffer=50)]
    >>> links += [link.__class__(link.target, link.source, 1e4, 1e-3, 50) for link in links]
    >>> flows = all_to_all((1, 2, 3), sizes=10, source=CBR(100.0), links=links)
    >>> len(flows), flows[1].name, flows[1].path
    (6, '1->3', (1, 2, 3))
    >>> second = all_to_all((1, 3), sizes=10, source=CBR(100.0), links=links, options=FlowOptions(after=[(1,), ()]))
    >>> len(flows + second), (flows + second)[6].after
    (8, (7,))
    """

    def __init__(
        self,
        nodes: Sequence[Hashable],
        paths: Routes,
        columns: dict[str, Column],
        names: Sequence[str] | None = None,
        choices: Choices | None = None,
    ) -> None:
        self.nodes, self.paths = tuple(nodes), paths
        if "stack" in columns and any(columns["stack"].values) and "delayed_acks" not in columns:
            options = "initial_window=10, delayed_acks='counted', quick_acks=1079, segments=True"
            raise ValueError(f"stack: is for single flows; write {options} for columns of them")
        self.columns = {
            option.name: columns.get(option.name)
            or Column((getattr(NO_STACK, option.name, option.default),), None, len(paths))
            for option in OPTIONS
        }
        self._names, self.choices = names, choices
        self._derived: dict[Hashable, NDArray[Any]] = {}

    @classmethod
    def of(cls, flows: Iterable[Flow]) -> Flows:
        """Return flows as a table; a table is returned unchanged."""
        if isinstance(flows, Flows):
            return flows
        flows = renumber_references(tuple(flows))
        index_of: dict[Hashable, int] = {}
        paths = list(map(operator.attrgetter("path"), flows))
        indices = [index_of.setdefault(node, len(index_of)) for path in paths for node in path]
        counts = np.fromiter(map(len, paths), dtype=np.int64, count=len(paths))
        columns = {option.name: encode(list(map(operator.attrgetter(option.name), flows))) for option in OPTIONS}
        names = tuple(map(operator.attrgetter("name"), flows))
        return cls(tuple(index_of), Routes(np.array(indices, dtype=np.int64), counts), columns, names)

    def with_column(self, name: str, column: Column) -> Flows:
        """Return a copy of the table in which the option ``name`` has another column."""
        columns = {**self.columns, name: column}
        return Flows(self.nodes, self.paths, columns, self._names, self.choices)

    def __add__(self, other: object) -> Flows:
        """Return a table of these flows followed by another table's, or by a tuple or list of `Flow`."""
        if not isinstance(other, (Flows, tuple, list)):
            return NotImplemented
        second = Flows.of(other)
        first = len(self)
        if not first or not len(second):
            return second if len(second) else self
        index_of = {node: n for n, node in enumerate(self.nodes)}
        renumbered = np.array([index_of.setdefault(node, len(index_of)) for node in second.nodes])
        paths = Routes(
            np.concatenate([self.paths.places, renumbered[second.paths.places]]),
            np.concatenate([self.paths.counts, second.paths.counts]),
        )
        columns = {
            name: _concatenate(column, second.columns[name]) for name, column in self.columns.items() if name != "after"
        }
        after = [*self._predecessors(0), *second._predecessors(first)]
        columns["after"] = (
            Column(Routes.of(after), np.arange(len(after)), len(after))
            if any(after)
            else Column(((),), None, len(after))
        )
        names = [*self.names, *second.names] if self.are_named or second.are_named else None
        table = Flows(tuple(index_of), paths, columns, names)
        return table._choose_together(self, second)

    def __radd__(self, other: object) -> Flows:
        """Return a table of a tuple's flows followed by these; for 0, the start of `sum`, this table unchanged."""
        if isinstance(other, int) and other == 0:
            return self
        return Flows.of(other) + self if isinstance(other, tuple) else NotImplemented

    def _predecessors(self, first: int) -> list[tuple[int, ...]]:
        """Return the indices of each flow's predecessors, each plus ``first``; ValueError for an unknown name."""
        column = self.columns["after"]
        if not any(column.values):
            return [()] * len(self)
        routes = isinstance(column.values, Routes)
        number = {} if routes else {name: f for f, name in enumerate(self.names)}
        try:
            return [
                tuple(first + (number[reference] if isinstance(reference, str) else reference) for reference in awaited)
                for awaited in column
            ]
        except KeyError as error:
            raise ValueError(f"after = {error.args[0]!r}: must be a name of a flow of its table") from None

    def _choose_together(self, first: Flows, second: Flows) -> Flows:
        """Return this sum of two tables, with all paths chosen again if both chose by one method, not sprayed."""
        choice, others = first.choices, second.choices
        if choice is None or others is None or choice.number is None or others.number is None:
            return self
        if choice.routes == SPRAY or not choice.is_like(others):
            return self
        last = self.paths.places[self.paths.begin + self.paths.counts - 1]
        source, target = self.paths.first.astype(np.int64), last.astype(np.int64)
        pairs = np.unique(source * len(self.nodes) + target, return_inverse=True)[1].reshape(-1)
        used = np.zeros(len(self), dtype=np.int64)  # numbers of the first table between two nodes
        np.maximum.at(used, pairs[: len(first)], choice.number + 1)
        number = np.concatenate([choice.number, others.number + used[pairs[len(first) :]]])
        choices = Choices(choice.links, choice.routes, number)
        paths = choices.paths(source, target, flow_keys(source, target, number, choice.links.seed))
        return Flows(self.nodes, paths, self.columns, self._names, choices)

    def __len__(self) -> int:
        return len(self.paths)

    @overload
    def __getitem__(self, f: int) -> Flow: ...

    @overload
    def __getitem__(self, f: slice) -> tuple[Flow, ...]: ...

    def __getitem__(self, f: Any) -> Any:
        """Return flow f, or a tuple of flows for a slice."""
        if isinstance(f, slice):
            return tuple(self[n] for n in range(*f.indices(len(self))))
        count = len(self)
        if not -count <= f < count:
            raise IndexError(f"flow {f}: there are {count}")
        f = int(f) % count
        flow = object.__new__(Flow)
        path = self.path(f)
        if self.choices is not None and self.choices.number is not None and self.choices.routes != SPRAY:
            path = ChosenPath.of(path, self.choices, int(self.choices.number[f]))
        values = {"name": self.name(f), "path": path}
        values |= {name: column[f] for name, column in self.columns.items()}
        if self._has_references:
            values["after"] = TableReferences.of(values["after"], self, f)
        for name, value in values.items():
            object.__setattr__(flow, name, value)
        return flow

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Flows, tuple)):
            return NotImplemented
        return len(self) == len(other) and all(flow == other_flow for flow, other_flow in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((len(self), self[0] if len(self) else None))

    def __repr__(self) -> str:
        kinds = ", ".join(dict.fromkeys(type(source).__name__ for source in self.columns["source"].values))
        return f"Flows({count_of(len(self), 'flow')} between {count_of(len(self.nodes), 'node')}: {kinds})"

    def path(self, f: int) -> tuple[Hashable, ...]:
        """Return the nodes of the path of flow f."""
        return tuple(self.nodes[n] for n in self.paths[f])

    def name(self, f: int) -> str:
        """Return the name of flow f."""
        if self._names is not None:
            return self._names[f]
        path = self.paths[f]
        name = f"{self.nodes[path[0]]}->{self.nodes[path[-1]]}"
        return name if self._has_distinct_names else f"{f}: {name}"

    @property
    def names(self) -> Iterator[str]:
        """Names of the flows, in order, one after the other."""
        return iter(self._names) if self._names is not None else map(self.name, range(len(self)))

    @property
    def are_named(self) -> bool:
        """Whether the table has explicit names; derived names are distinct."""
        return self._names is not None

    @cached_property
    def _has_distinct_names(self) -> bool:
        """Whether ``source->target`` is a unique name for every flow."""
        texts = {str(node) for node in self.nodes}
        if len(texts) < len(self.nodes) or "->" in "\n".join(texts):
            return False
        last = self.paths.places[self.paths.begin + self.paths.counts - 1]
        span = len(self.nodes)
        keys = self.paths.first.astype(np.int64) * span + last
        return len(present(keys, span * span)) == len(keys)

    def _derive(self, key: Hashable, name: str, value: Callable[[Any], Any]) -> NDArray[Any]:
        """Return ``value`` applied to an option of each flow, (F,), read-only; it is computed once per ``key``."""
        array = self._derived.get(key)
        if array is None:
            array = self._derived[key] = self.each(name, value)
            array.flags.writeable = False
        return array

    def numbers(self, name: str) -> Floats:
        """Return a numeric option of all flows, (F,), read-only; TypeError if one has None, see `given`."""
        return self._derive(name, name, float)

    def given(self, name: str) -> NDArray[np.bool_]:
        """Return flags, (F,), of flows whose option ``name`` is not None; read-only."""
        return self._derive(("given", name), name, partial(operator.is_not, None))

    @cached_property
    def unusual(self) -> frozenset[str]:
        """Names of the options that at least one flow sets to a value other than the default."""
        return frozenset(
            option.name
            for option in OPTIONS
            if any(value != option.default for value in self.columns[option.name].values)
        )

    @cached_property
    def _has_references(self) -> bool:
        """Whether any flow waits for another one by its index."""
        values = self.columns["after"].values
        return isinstance(values, Routes) or any(not isinstance(n, str) for after in values for n in after)

    @cached_property
    def waits(self) -> NDArray[np.bool_]:
        """Whether each flow waits for other flows before it starts, shape (F,)."""
        column = self.columns["after"]
        if isinstance(column.values, Routes):
            return np.asarray(column.values.counts[column.whole()] > 0)
        return column.map(bool).array()

    def numbers_or_nan(self, name: str) -> Floats:
        """Return an option of all flows, (F,); NaN for values that are not numbers, such as None and strings."""
        return self.columns[name].map(_number_or_nan).array()

    def which(self, name: str) -> Integers:
        """Return, by flow, the index of its value among the column's distinct values, shape (F,)."""
        return self.columns[name].whole()

    def each(self, name: str, value: Any) -> NDArray[Any]:
        """Return ``value`` applied to an option of each flow, shape (F,), with one call per distinct value."""
        return self.columns[name].map(value).array()

    def of_kind(self, *kinds: type) -> NDArray[np.bool_]:
        """Return flags, (F,), of flows whose sources are instances of one of ``kinds``; read-only."""
        return self._derive(kinds, "source", lambda source: isinstance(source, kinds))

    def alike(self, *columns: NDArray[Any] | str) -> tuple[Integers, Integers]:
        """Return the first flow of each group of flows with equal values in these columns, (G,), and each flow's group.

        Parameters
        ----------
        columns
            Names of options, or one number per flow, shape (F,).

        Returns
        -------
        first, group
            Groups are in the order of their first flows, shapes (G,) and (F,).
        """
        group: Integers | None = None  # a single group
        for column in columns:
            if isinstance(column, str):
                which = self.columns[column].which
                if which is None:
                    continue
                codes, span = which, len(self.columns[column].values)
            else:
                if len(column) and (column == column[0]).all():
                    continue
                values, codes = np.unique(column, return_inverse=True)
                codes, span = codes.reshape(-1), len(values)
            if span > 1:
                keys = codes if group is None else group * span + codes
                group = np.unique(keys, return_inverse=True)[1].reshape(-1)
        if group is None:
            return np.arange(min(1, len(self))), np.zeros(len(self), dtype=np.int64)
        _, first = distinct(group, int(group.max(initial=0)) + 1)
        order = np.argsort(first)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return first[order], rank[group]


def renumber_references(flows: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """Return flows in which those of tables refer to the flows of their tables by indices in ``flows``.

    Copies of a flow refer to as many copies of others: the second one to the second one of each. A flow in place of
    another between the same nodes, with references of its own, stands for it.

    Raises
    ------
    ValueError
        For a flow that waits for a flow of its table which is not among ``flows``.
    """
    rows = [flow.after if isinstance(flow.after, TableReferences) else None for flow in flows]
    table = next((row.table for row in rows if row is not None), None)
    if table is None or all(row is None or (row.table is table and row.number == f) for f, row in enumerate(rows)):
        return flows
    indices: dict[tuple[int, int], list[int]] = {}
    renumbered = list(flows)
    for f, row in enumerate(rows):
        if row is not None:
            indices.setdefault((id(row.table), row.number), []).append(f)
    for copies in indices.values():
        for number, f in enumerate(copies):
            references = flows[f].after
            renumbered[f] = copy.copy(flows[f])
            after = (n if isinstance(n, str) else _index_in_list(flows, f, n, indices, number) for n in references)
            object.__setattr__(renumbered[f], "after", tuple(after))
    return tuple(renumbered)


def _index_in_list(
    flows: tuple[Flow, ...], f: int, n: int, indices: dict[tuple[int, int], list[int]], number: int
) -> int:
    """Return the index in ``flows`` of the n-th flow of the table of flow f, of its copy ``number``."""
    references: Any = flows[f].after
    table = references.table
    copies = indices.get((id(table), n), [])
    if number < len(copies):
        return copies[number]
    path = table.path(n)
    if n < len(flows) and not isinstance(flows[n].after, TableReferences) and _ends(flows[n].path) == _ends(path):
        return n
    msg = f"waits for flow {table.name(n)!r} of its table, which the flows lack; make the table without it"
    raise ValueError(f"after of flow {flows[f].name!r} = {format_value(references)}: {msg}")


def _ends(path: tuple[Hashable, ...]) -> tuple[Hashable, Hashable]:
    """Return the first and the last node of a path."""
    return path[0], path[-1]


def choose_together(flows: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """Return flows in which tables that chose paths by equal rules choose again as one table; others are unchanged."""
    tables: dict[int, tuple[Choices, list[int]]] = {}
    for f, flow in enumerate(flows):
        if isinstance(flow.path, ChosenPath):
            tables.setdefault(id(flow.path.choices), (flow.path.choices, []))[1].append(f)
    if len(tables) < 2:
        return flows
    chosen = list(flows)
    remaining = list(tables.values())
    while remaining:
        first = remaining[0][0]
        group = [members for choices, members in remaining if first.is_like(choices)]
        remaining = [(choices, members) for choices, members in remaining if not first.is_like(choices)]
        if len(group) > 1:
            _choose_paths_again(chosen, first, group)
    return tuple(chosen)


def _choose_paths_again(flows: list[Flow], choices: Choices, tables: list[list[int]]) -> None:
    """Replace flows in the list by copies with paths chosen as in one table; ``tables``: indices of flows by table."""
    used: dict[tuple[Hashable, Hashable], int] = {}
    members: list[int] = []
    numbers_of_flows: list[int] = []
    for table in tables:
        offset = dict(used)
        for f in table:
            path: Any = flows[f].path
            number = path.number + offset.get((path[0], path[-1]), 0)
            used[path[0], path[-1]] = max(used.get((path[0], path[-1]), 0), number + 1)
            members.append(f)
            numbers_of_flows.append(number)
    index_of = {node: n for n, node in enumerate(choices.links.nodes)}
    source = np.array([index_of[flows[f].path[0]] for f in members], dtype=np.int64)
    target = np.array([index_of[flows[f].path[-1]] for f in members], dtype=np.int64)
    number = np.array(numbers_of_flows, dtype=np.int64)
    together = choices._replace(number=number)
    routes = together.paths(source, target, flow_keys(source, target, number, choices.links.seed))
    for n, f in enumerate(members):
        flow = copy.copy(flows[f])
        path = ChosenPath.of((choices.links.nodes[k] for k in routes[n]), together, int(number[n]))
        object.__setattr__(flow, "path", path)
        flows[f] = flow


def _concatenate(first: Column, second: Column) -> Column:
    """Return the concatenation of two columns."""
    values = encode([*first.values, *second.values])
    first_codes, second_codes = first.whole(), second.whole() + len(first.values)
    which = values.whole()[np.concatenate([first_codes, second_codes])]
    return Column(values.values, which if len(values.values) > 1 else None, len(which))


def _number_or_nan(value: Any) -> float:
    """Return a real number as a float; NaN for other values, strings included, and for integers too large."""
    try:
        return float(value) if isinstance(value, numbers.Real) else math.nan
    except OverflowError:
        return math.nan


def random_starts(table: Flows, jitter: float, random: np.random.Generator) -> Floats:
    """Return the starts of flows, s, each plus an independent uniform time of up to ``jitter`` s, (F,).

    A run draws them first from its generator, at both levels, so that both have the same starts with one seed.
    """
    return table.numbers("start") + random.uniform(0.0, jitter, len(table))
