"""Traces of all ranks as flows with dependencies.

A node is processed when its dependencies are complete, as in ASTRA-sim (astra-sim/workload/Workload.cc at commit
518bd51). Computations are not nodes of the result: the condition of a node is stored as delays after the ends of flows,
and a computation adds its duration to each of them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from dfcmodel.network.demands.chakra_traces import Collective, Kind, Node
from dfcmodel.network.demands.exchanges import Messages, pairwise, ring
from dfcmodel.network.demands.flow_files import size_in_packets
from dfcmodel.network.demands.reductions import ALL_REDUCES
from dfcmodel.network.demands.waiting_flows import (
    RankComputation,
    StreamOverlap,
    WaitingFlows,
    Waits,
    later,
    merge_waits,
    share_of,
)
from hopflow.units import PacketUnits

__all__ = ["TraceFlows"]

Trace = Mapping[int, Node]
Channel = tuple[int, int, int]
"""Source, target and tag."""
OPERATIONS = (
    Collective.ALL_REDUCE,
    Collective.ALL_GATHER,
    Collective.ALL_TO_ALL,
    Collective.REDUCE_SCATTER,
)
OF_MESSAGES = ("comm_size", "comm_src", "comm_dst", "comm_tag", "comm_priority")
USED = {
    Kind.COMP_NODE: ("num_ops",),
    Kind.COMM_SEND_NODE: OF_MESSAGES,
    Kind.COMM_RECV_NODE: OF_MESSAGES,
    Kind.COMM_COLL_NODE: (
        "comm_size", "comm_type", "comm_tag", "comm_priority", "pg_name", "involved_dim"
    ),
}  # fmt: skip
"""Attributes that are used, by type of node."""
COMMUNICATES = (Kind.COMM_SEND_NODE, Kind.COMM_RECV_NODE, Kind.COMM_COLL_NODE)
"""Types of nodes that are messages or operations."""
NOT_USED = (
    "is_cpu_op", "num_ops", "tensor_size", "tensor_loc", "pg_name",
    "rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid", "op_schema", "stream", "comm_type",
)  # fmt: skip
"""Ignored attributes that converters of PyTorch's traces and generators for ASTRA-sim write.

``comm_type`` of a message names the operation of which it is part."""
WORLD = ("", "0")
"""Names of the group of all ranks."""


class _Operation(NamedTuple):
    """A collective operation: type, bytes, ranks of its group, and number of its node in the trace of each rank."""

    kind: Collective
    size: int
    ranks: tuple[int, ...]
    nodes: tuple[int, ...]


class _Transfer(NamedTuple):
    """A message: its sending and its receiving node, each as (rank, number of the node), and its bytes."""

    sender: tuple[int, int]
    receiver: tuple[int, int]
    size: int


class TraceFlows:
    """Converter of the execution traces of N ranks to flows, by `run`.

    Parameters
    ----------
    traces
        Nodes by number, for each of N ranks.
    groups
        Ranks of process groups by name.
    packet_size
        Bytes per packet.
    algorithm
        Algorithm of all-reduces.
    """

    def __init__(
        self,
        traces: Sequence[Trace],
        groups: Mapping[str, Sequence[int]],
        packet_size: float,
        algorithm: str,
    ) -> None:
        for rank, trace in enumerate(traces):
            for node in trace.values():
                with _error_context(rank, node):
                    _check_attributes(node)
        self.traces, self.groups = traces, groups
        self.packet_size, self.algorithm = packet_size, algorithm
        self.transfer = {end: transfer for transfer in self._transfers() for end in transfer[:2]}
        self.operation = {
            (rank, number): operation
            for operation in self._operations()
            for rank, number in zip(operation.ranks, operation.nodes, strict=True)
        }
        self.flows = WaitingFlows()
        self.done: list[dict[int, Waits]] = [{} for _ in traces]
        """Condition on which each node of a rank is complete."""
        self.begun: dict[tuple[int, int], Waits] = {}
        """Condition on which nodes of communication begin, by rank and number."""
        self.sent: dict[_Transfer, int] = {}

    def run(self) -> WaitingFlows:
        """Return the flows of all nodes, with the conditions on their starts; once, since the object collects them.

        Raises
        ------
        ValueError
            Naming the rank and the node, for a cycle of dependencies.
        """
        missing = [{n: len(node.needs) for n, node in trace.items()} for trace in self.traces]
        followers: list[dict[int, list[int]]] = [{n: [] for n in trace} for trace in self.traces]
        for trace, of_rank in zip(self.traces, followers, strict=True):
            for node in trace.values():
                for need in node.needs:
                    of_rank[need].append(node.number)
        ready = deque((r, n) for r, counts in enumerate(missing) for n in counts if not counts[n])
        while ready:
            rank, number = ready.popleft()
            waits = merge_waits([self.done[rank][need] for need in self.traces[rank][number].needs])
            for r, n, after in self._process_node(rank, self.traces[rank][number], waits):
                self.done[r][n] = after
                for follower in followers[r][n]:
                    missing[r][follower] -= 1
                    if not missing[r][follower]:
                        ready.append((r, follower))
        for r, trace in enumerate(self.traces):
            for n, node in trace.items():
                if n not in self.done[r]:
                    raise ValueError(f"rank {r}, {node}: never begins or ends, nodes wait in a circle")
        self.flows.computations = [
            self._computation(rank, done, of_rank)
            for rank, (done, of_rank) in enumerate(zip(self.done, followers, strict=True))
        ]
        self.flows.overlaps = [
            overlap
            for rank, (trace, done) in enumerate(zip(self.traces, self.done, strict=True))
            if (overlap := _stream_overlap(rank, trace, done))
        ]
        return self.flows

    def _computation(
        self, rank: int, completed: Iterable[int], followers: Mapping[int, Sequence[int]]
    ) -> RankComputation:
        """Return the times of computation of a rank, us, as the trace; ``completed``: its nodes in order of completion.

        The trailing part is the longest chain of nodes for which no flow of the rank waits. It also passes through
        nodes that receive, and operations of one rank.
        """
        trace = self.traces[rank]
        trailing: dict[int, float] = {}
        for number in reversed([*completed]):
            node = trace[number]
            after = followers[number]
            if self._sends(rank, number) or not all(follower in trailing for follower in after):
                continue
            duration = float(node.duration) if node.kind == Kind.COMP_NODE else 0.0
            trailing[number] = duration + max((trailing[follower] for follower in after), default=0.0)
        total = sum(float(node.duration) for node in trace.values() if node.kind == Kind.COMP_NODE)
        return RankComputation(total, max(trailing.values(), default=0.0))

    def _sends(self, rank: int, number: int) -> bool:
        """Return whether flows from the rank wait for a node to begin."""
        end = rank, number
        if end in self.operation:
            return len(self.operation[end].ranks) > 1
        return end in self.transfer and end == self.transfer[end].sender

    def _process_node(self, rank: int, node: Node, waits: Waits) -> Iterator[tuple[int, int, Waits]]:
        """Begin a node on condition ``waits``; yield the nodes that this completes, as (rank, number, condition)."""
        end = rank, node.number
        if end in self.operation:
            self.begun[end] = waits
            yield from self._process_operation(self.operation[end])
        elif end in self.transfer:
            self.begun[end] = waits
            yield from self._process_message(self.transfer[end], end)
        elif node.kind == Kind.COMP_NODE:
            with _error_context(rank, node):
                _check_duration(node)
            yield (*end, later(waits, float(node.duration)))
        else:
            yield (*end, waits)

    def _process_message(self, of: _Transfer, end: tuple[int, int]) -> Iterator[tuple[int, int, Waits]]:
        """Begin a message's sending or receiving node, ``end``; yield completed (rank, number, condition)."""
        if end == of.sender:
            size = size_in_packets(max(1, of.size), self.packet_size)
            flow = self.flows.add(end[0], of.receiver[0], size, self.begun[end])
            self.sent[of] = flow
            yield (*end, {flow: 0.0})
        if of in self.sent and of.receiver in self.begun:
            waits = merge_waits([self.begun[of.receiver], {self.sent[of]: 0.0}])
            yield (*of.receiver, waits)

    def _process_operation(self, of: _Operation) -> Iterator[tuple[int, int, Waits]]:
        """Add an operation's flows if all ranks have begun it; yield (rank, number, condition) of each rank's node."""
        nodes = list(zip(of.ranks, of.nodes, strict=True))
        if not all(end in self.begun for end in nodes):
            return
        waits = [self.begun[end] for end in nodes]
        if len(nodes) > 1:
            rank, number = nodes[0]
            with _error_context(rank, self.traces[rank][number]):
                messages, share = self._messages(of)
            waits = self.flows.exchange(messages, share, list(of.ranks), waits)
        for end, after in zip(nodes, waits, strict=True):
            yield (*end, after)

    def unused_groups(self) -> list[str]:
        """Return the names of the process groups of which no node names any."""
        names = {str(node.attributes.get("pg_name", "")) for _, node in self._every(Kind.COMM_COLL_NODE)}
        return [name for name in self.groups if name not in names]

    def _messages(self, of: _Operation) -> tuple[Messages, PacketUnits]:
        """Return the messages of an operation, in packets, and the bytes per packet, equal parts of a message."""
        N = len(of.ranks)
        if of.kind == Collective.ALL_TO_ALL:
            packets = math.ceil(of.size / N / self.packet_size)
            return pairwise(N, packets), share_of(of.size / N, packets, self.packet_size)
        packets = math.ceil(of.size / self.packet_size)
        if of.kind == Collective.ALL_GATHER:
            return ring(N, N * packets), share_of(of.size, packets, self.packet_size)
        algorithm: Callable[[int, int], Messages] = ring
        if of.kind == Collective.ALL_REDUCE:
            algorithm = ALL_REDUCES[self.algorithm]
            self.flows.has_all_reduce = True
        packets = max(N, packets)
        return algorithm(N, packets), share_of(of.size, packets, self.packet_size)

    def _every(self, *kinds: Kind) -> Iterator[tuple[int, Node]]:
        """Yield (rank, node) of all nodes whose types are in ``kinds``."""
        for rank, trace in enumerate(self.traces):
            for node in trace.values():
                if node.kind in kinds:
                    yield rank, node

    def _transfers(self) -> Iterator[_Transfer]:
        """Yield the messages; the n-th send and the n-th receive of one source, target and tag belong together."""
        sides: dict[Kind, dict[Channel, list[tuple[int, Node]]]] = {
            Kind.COMM_SEND_NODE: {}, Kind.COMM_RECV_NODE: {}
        }  # fmt: skip
        for rank, node in self._every(*sides):
            with _error_context(rank, node):
                channel = self._channel(rank, node)
            sides[node.kind].setdefault(channel, []).append((rank, node))
        sends, receives = sides.values()
        for channel in {**sends, **receives}:
            pairs = sends.get(channel, []), receives.get(channel, [])
            if len(pairs[0]) != len(pairs[1]):
                rank, node = max(pairs, key=len)[-1]
                source, target, tag = channel
                raise ValueError(
                    f"rank {rank}, {node}: {len(pairs[0])} sends and {len(pairs[1])} receives from rank "
                    f"{source} to {target} with comm_tag {tag}, must be as many"
                )
            for (a, one), (b, other) in zip(*pairs, strict=True):
                with _error_context(a, one):
                    size = one.attributes.whole_number("comm_size")
                    received = other.attributes.whole_number("comm_size", size)
                    if received != size:
                        raise ValueError(f"comm_size: {size}: {other} of rank {b} has {received}")
                yield _Transfer((a, one.number), (b, other.number), size)

    def _channel(self, rank: int, node: Node) -> Channel:
        """Return (source, target, tag) of a node that sends or receives; ValueError if it names another rank."""
        has = node.attributes
        local_key, peer_key = ("comm_src", "comm_dst")[:: 1 if node.kind == Kind.COMM_SEND_NODE else -1]
        if has.whole_number(local_key, rank) != rank:
            raise ValueError(f"{local_key}: {has[local_key]}: must be {rank}, its rank")
        peer = has.whole_number(peer_key)
        if peer >= len(self.traces) or peer == rank:
            raise ValueError(f"{peer_key}: {peer}: must be another one of {len(self.traces)} ranks")
        pair = (rank, peer) if local_key == "comm_src" else (peer, rank)
        return *pair, has.whole_number("comm_tag", 0)

    def _operations(self) -> Iterator[_Operation]:
        """Yield the operations; the n-th nodes of a group's ranks belong together."""
        by_group: dict[tuple[tuple[int, ...], str, int], dict[int, list[Node]]] = {}
        for rank, node in self._every(Kind.COMM_COLL_NODE):
            with _error_context(rank, node):
                ranks, name = self._group(rank, node.attributes)
                tag = node.attributes.whole_number("comm_tag", 0)
            by_rank = by_group.setdefault((ranks, name, tag), {})
            by_rank.setdefault(rank, []).append(node)
        for (ranks, name, _), nodes in by_group.items():
            for index, (rank, node) in enumerate(_longest(nodes)):
                with _error_context(rank, node):
                    yield self._one_operation(ranks, name, nodes, index, node)

    def _one_operation(
        self,
        ranks: tuple[int, ...],
        name: str,
        nodes: Mapping[int, Sequence[Node]],
        index: int,
        node: Node,
    ) -> _Operation:
        """Return a group's operation at ``index`` of each rank's ``nodes``; ValueError if one is not like ``node``."""
        kind, size = _kind(node), node.attributes.whole_number("comm_size")
        if not size:
            raise ValueError("comm_size: 0: must be at least 1")
        numbers = []
        for rank in ranks:
            rank_nodes = nodes.get(rank, ())
            if index >= len(rank_nodes):
                of = f"group {name!r}" if name else "all ranks"
                raise ValueError(f"rank {rank} has {len(rank_nodes)} operations of {of}, must have as many")
            other = rank_nodes[index]
            if (_kind(other), other.attributes.whole_number("comm_size")) != (kind, size):
                raise ValueError(f"{kind.name} of {size} bytes: {other} of rank {rank} differs")
            numbers.append(other.number)
        return _Operation(kind, size, ranks, tuple(numbers))

    def _group(self, rank: int, has: Mapping[str, Any]) -> tuple[tuple[int, ...], str]:
        """Return the ranks and the name of the group in attributes ``has``, "" for all; ValueError without ``rank``."""
        dimensions = has.get("involved_dim", (True,))
        if not isinstance(dimensions, tuple) or not all(dimensions):
            raise ValueError("involved_dim: must have all dimensions; name a group by pg_name")
        name = str(has.get("pg_name", ""))
        if name in self.groups:
            ranks = tuple(self.groups[name])
        elif name in WORLD:
            name, ranks = "", tuple(range(len(self.traces)))
        else:
            allowed = ", ".join(map(repr, self.groups)) or "none are given"
            raise ValueError(f"pg_name: {name!r}: must be one of groups: {allowed}")
        if rank not in ranks:
            raise ValueError(f"pg_name: {name!r}: has ranks {list(ranks)}, and not this one")
        return ranks, name


def _stream_overlap(rank: int, trace: Trace, completed: Iterable[int]) -> StreamOverlap | None:
    """Return a rank's first two overlapping nodes of a stream, and the number of overlaps; None without an overlap.

    ``completed`` are the nodes of the trace in order of completion: each follows those that it needs. Nodes of the host
    have no stream, although converters write number 0 for it.
    """
    kernels = {n for n, node in trace.items() if _is_kernel(node)}
    if not kernels:
        return None
    last: dict[Any, Node] = {}
    counts: dict[Any, int] = {}
    # for each node: the position on each stream of the last kernel that is complete when the node is complete
    reached: dict[int, dict[Any, int]] = {}
    pairs: list[tuple[Node, Node]] = []
    for number in completed:
        node = trace[number]
        before = _latest([reached[need] for need in node.needs])
        if number in kernels:
            stream = node.attributes["stream"]
            count = counts.get(stream, 0)
            if before.get(stream, 0) < count:
                pairs.append((last[stream], node))
            counts[stream], last[stream] = count + 1, node
            before = {**before, stream: count + 1}
        reached[number] = before
    if not pairs:
        return None
    earlier, later_node = pairs[0]
    return StreamOverlap(rank, f"{earlier}", f"{later_node}", f"{later_node.attributes['stream']}", len(pairs))


def _is_kernel(node: Node) -> bool:
    """Return whether a node takes time on a stream of a device."""
    takes_time = node.kind in COMMUNICATES or (node.kind == Kind.COMP_NODE and node.duration > 0)
    return takes_time and "stream" in node.attributes and not node.attributes.get("is_cpu_op")


def _latest(positions: Sequence[dict[Any, int]]) -> dict[Any, int]:
    """Return the largest position on each stream; the dict itself if there is only one."""
    if len(positions) == 1:
        return positions[0]
    latest: dict[Any, int] = {}
    for by_stream in positions:
        for stream, position in by_stream.items():
            latest[stream] = max(position, latest.get(stream, 0))
    return latest


@contextmanager
def _error_context(rank: int, node: Node) -> Iterator[None]:
    """Context in which a ValueError gets the rank and the node in its message."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"rank {rank}, {node}: {error}") from None


def _check_attributes(node: Node) -> None:
    """Raise ValueError for an unknown attribute or a priority except 0; a node of metadata may have any attribute."""
    if node.kind == Kind.METADATA_NODE:
        return
    used = USED.get(node.kind, ())
    for name in (*node.attributes, *node.lists):
        if name not in used and name not in NOT_USED:
            allowed = ", ".join(used) or "none"
            raise ValueError(f"attribute {name!r} is not read: must be one of {allowed}")
    if node.attributes.whole_number("comm_priority", 0):
        raise ValueError(f"comm_priority: {node.attributes['comm_priority']}: must be 0, no others are read")


def _longest(nodes: Mapping[int, Sequence[Node]]) -> list[tuple[int, Node]]:
    """Return (rank, node) for all nodes of the rank that has the most nodes."""
    rank = max(nodes, key=lambda r: len(nodes[r]))
    return [(rank, node) for node in nodes[rank]]


def _check_duration(node: Node) -> None:
    """Raise ValueError for a computation that has a number of operations instead of a duration."""
    if not node.duration and (operations := node.attributes.whole_number("num_ops", 0)):
        raise ValueError(f"num_ops: {operations}: must have a duration_micros besides")


def _kind(node: Node) -> Collective:
    """Return the type of a node's collective operation; ValueError for an unsupported type."""
    number = node.attributes.whole_number("comm_type")
    if number not in OPERATIONS:
        allowed = ", ".join(operation.name for operation in OPERATIONS)
        named = Collective(number).name if number in list(Collective) else f"{number}"
        raise ValueError(f"comm_type: {named}: must be one of {allowed}")
    return Collective(number)
