"""Traces of all ranks as flows that wait for each other.

Nodes are taken when those that they wait for are done, as ASTRA-sim does (astra-sim/workload/Workload.cc at commit 518bd51). Between
them stand no nodes of computation: what a node waits for is kept as times after the ends of flows, and a computation adds its
duration to each of these.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from dfcmodel.network.demands.chakra_traces import Collective, Kind, Node
from dfcmodel.network.demands.exchanges import Messages, pairwise, ring
from dfcmodel.network.demands.flow_files import size_in_packets
from dfcmodel.network.demands.reductions import ALL_REDUCES
from dfcmodel.network.demands.waiting_flows import WaitingFlows, Waits, later, merged, share_of
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
"""Attributes of nodes that are used."""
NOT_USED = (
    "is_cpu_op", "num_ops", "tensor_size", "tensor_loc", "pg_name",
    "rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid", "op_schema", "stream", "comm_type",
)  # fmt: skip
"""Attributes that converters of PyTorch's traces and generators for ASTRA-sim write, and that do not change what a node does here:
``comm_type`` of a message names the operation that it is part of."""
WORLD = ("", "0")
"""Names of the group of all ranks."""


class _Operation(NamedTuple):
    """A collective operation: its type, its bytes, its group, and the numbers of its nodes by their ranks."""

    kind: Collective
    size: int
    ranks: tuple[int, ...]
    nodes: tuple[int, ...]


class _Transfer(NamedTuple):
    """A message: where it is sent, where it is received (rank and number of the node each), and its bytes."""

    sender: tuple[int, int]
    receiver: tuple[int, int]
    size: int


class TraceFlows:
    """The flows of the traces of N ranks.

    Parameters
    ----------
    traces
        The nodes of each rank by their numbers, N of them.
    groups
        Ranks of process groups by their names.
    packet_size
        Bytes.
    algorithm
        Of all-reduces.
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
                with _about(rank, node):
                    _check_attributes(node)
        self.traces, self.groups = traces, groups
        self.packet_size, self.algorithm = packet_size, algorithm
        self.transfer = {end: each for each in self._transfers() for end in each[:2]}
        self.operation = {
            (rank, number): each
            for each in self._operations()
            for rank, number in zip(each.ranks, each.nodes, strict=True)
        }
        self.flows = WaitingFlows()
        self.done: list[dict[int, Waits]] = [{} for _ in traces]
        """What has happened when each node of a rank is done."""
        self.begun: dict[tuple[int, int], Waits] = {}
        """The same when nodes of communication begin, by rank and number."""
        self.sent: dict[_Transfer, int] = {}

    def run(self) -> WaitingFlows:
        """Return the flows of all nodes.

        Raises
        ------
        ValueError
            Naming the rank and the node, where nodes wait for each other in a circle.
        """
        missing = [{n: len(node.needs) for n, node in own.items()} for own in self.traces]
        followers: list[dict[int, list[int]]] = [{n: [] for n in own} for own in self.traces]
        for own, of_rank in zip(self.traces, followers, strict=True):
            for node in own.values():
                for each in node.needs:
                    of_rank[each].append(node.number)
        ready = deque((r, n) for r, own in enumerate(missing) for n in own if not own[n])
        while ready:
            rank, number = ready.popleft()
            waits = merged([self.done[rank][each] for each in self.traces[rank][number].needs])
            for r, n, after in self._taken(rank, self.traces[rank][number], waits):
                self.done[r][n] = after
                for each in followers[r][n]:
                    missing[r][each] -= 1
                    if not missing[r][each]:
                        ready.append((r, each))
        for r, own in enumerate(self.traces):
            for n, node in own.items():
                if n not in self.done[r]:
                    raise ValueError(f"rank {r}, {node}: never begins or ends, nodes wait in a circle")
        return self.flows

    def _taken(self, rank: int, node: Node, waits: Waits) -> Iterator[tuple[int, int, Waits]]:
        """Yield nodes that are done when a node begins, with their ranks and what must have happened then."""
        end = rank, node.number
        if end in self.operation:
            self.begun[end] = waits
            yield from self._exchanged(self.operation[end])
        elif end in self.transfer:
            self.begun[end] = waits
            yield from self._moved(self.transfer[end], end)
        elif node.kind == Kind.COMP_NODE:
            with _about(rank, node):
                _check_duration(node)
            yield (*end, later(waits, float(node.duration)))
        else:
            yield (*end, waits)

    def _moved(self, of: _Transfer, end: tuple[int, int]) -> Iterator[tuple[int, int, Waits]]:
        """Yield the sending node as soon as it begins, and the receiving one when both have."""
        if end == of.sender:
            size = size_in_packets(max(1, of.size), self.packet_size)
            flow = self.flows.add(end[0], of.receiver[0], size, self.begun[end])
            self.sent[of] = flow
            yield (*end, {flow: 0.0})
        if of in self.sent and of.receiver in self.begun:
            waits = merged([self.begun[of.receiver], {self.sent[of]: 0.0}])
            yield (*of.receiver, waits)

    def _exchanged(self, of: _Operation) -> Iterator[tuple[int, int, Waits]]:
        """Yield the nodes of an operation once all of its ranks have come to it."""
        ends = list(zip(of.ranks, of.nodes, strict=True))
        if not all(end in self.begun for end in ends):
            return
        waits = [self.begun[end] for end in ends]
        if len(ends) > 1:
            rank, number = ends[0]
            with _about(rank, self.traces[rank][number]):
                messages, share = self._messages(of)
            waits = self.flows.exchange(messages, share, list(of.ranks), waits)
        for end, after in zip(ends, waits, strict=True):
            yield (*end, after)

    def _messages(self, of: _Operation) -> tuple[Messages, PacketUnits]:
        """Return the messages of an operation, in packets, and the bytes for each packet; a rank has ``of.size`` bytes before it."""
        N = len(of.ranks)
        if of.kind == Collective.ALL_TO_ALL:
            packets = math.ceil(of.size / N / self.packet_size)
            return pairwise(N, packets), share_of(of.size / N, packets, self.packet_size)
        packets = math.ceil(of.size / self.packet_size)
        if of.kind == Collective.ALL_GATHER:
            return ring(N, N * packets), share_of(of.size, packets, self.packet_size)
        made: Callable[[int, int], Messages] = ring
        if of.kind == Collective.ALL_REDUCE:
            made = ALL_REDUCES[self.algorithm]
        packets = max(N, packets)
        return made(N, packets), share_of(of.size, packets, self.packet_size)

    def _every(self, *kinds: Kind) -> Iterator[tuple[int, Node]]:
        """Yield ranks and their nodes of some types."""
        for rank, own in enumerate(self.traces):
            for node in own.values():
                if node.kind in kinds:
                    yield rank, node

    def _transfers(self) -> Iterator[_Transfer]:
        """Yield the messages: of one source, target and tag the n-th node that sends has the n-th one that receives."""
        sides: dict[Kind, dict[Channel, list[tuple[int, Node]]]] = {
            Kind.COMM_SEND_NODE: {}, Kind.COMM_RECV_NODE: {}
        }  # fmt: skip
        for rank, node in self._every(*sides):
            with _about(rank, node):
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
                with _about(a, one):
                    size = one.attributes.whole("comm_size")
                    received = other.attributes.whole("comm_size", size)
                    if received != size:
                        raise ValueError(f"comm_size: {size}: {other} of rank {b} has {received}")
                yield _Transfer((a, one.number), (b, other.number), size)

    def _channel(self, rank: int, node: Node) -> Channel:
        """Return source, target and tag of a node that sends or receives."""
        has = node.attributes
        own, other = ("comm_src", "comm_dst")[:: 1 if node.kind == Kind.COMM_SEND_NODE else -1]
        if has.whole(own, rank) != rank:
            raise ValueError(f"{own}: {has[own]}: must be {rank}, its rank")
        peer = has.whole(other)
        if peer >= len(self.traces) or peer == rank:
            raise ValueError(f"{other}: {peer}: must be another one of {len(self.traces)} ranks")
        ends = (rank, peer) if own == "comm_src" else (peer, rank)
        return *ends, has.whole("comm_tag", 0)

    def _operations(self) -> Iterator[_Operation]:
        """Yield the operations: the n-th node of each rank of a group with the same tag belong together."""
        found: dict[tuple[tuple[int, ...], str, int], dict[int, list[Node]]] = {}
        for rank, node in self._every(Kind.COMM_COLL_NODE):
            with _about(rank, node):
                ranks, name = self._group(rank, node.attributes)
                tag = node.attributes.whole("comm_tag", 0)
            own = found.setdefault((ranks, name, tag), {})
            own.setdefault(rank, []).append(node)
        for (ranks, name, _), nodes in found.items():
            for place, (rank, node) in enumerate(_longest(nodes)):
                with _about(rank, node):
                    yield self._one_operation(ranks, name, nodes, place, node)

    def _one_operation(
        self,
        ranks: tuple[int, ...],
        name: str,
        nodes: Mapping[int, Sequence[Node]],
        place: int,
        node: Node,
    ) -> _Operation:
        """Return an operation of a group, after checking that all of its ranks have it."""
        kind, size = _kind(node), node.attributes.whole("comm_size")
        if not size:
            raise ValueError("comm_size: 0: must be at least 1")
        numbers = []
        for rank in ranks:
            own = nodes.get(rank, ())
            if place >= len(own):
                of = f"group {name!r}" if name else "all ranks"
                raise ValueError(f"rank {rank} has {len(own)} operations of {of}, must have as many")
            other = own[place]
            if (_kind(other), other.attributes.whole("comm_size")) != (kind, size):
                raise ValueError(f"{kind.name} of {size} bytes: {other} of rank {rank} differs")
            numbers.append(other.number)
        return _Operation(kind, size, ranks, tuple(numbers))

    def _group(self, rank: int, has: Mapping[str, Any]) -> tuple[tuple[int, ...], str]:
        """Return the ranks and the name of the group of an operation."""
        dimensions = has.get("involved_dim", (True,))
        if not isinstance(dimensions, tuple) or not all(dimensions):
            raise ValueError("involved_dim: must have all dimensions; name a group by pg_name")
        name = str(has.get("pg_name", ""))
        if name in self.groups:
            ranks = tuple(self.groups[name])
        elif name in WORLD:
            name, ranks = "", tuple(range(len(self.traces)))
        else:
            known = ", ".join(map(repr, self.groups)) or "none are given"
            raise ValueError(f"pg_name: {name!r}: must be one of groups: {known}")
        if rank not in ranks:
            raise ValueError(f"pg_name: {name!r}: has ranks {list(ranks)}, and not this one")
        return ranks, name


@contextmanager
def _about(rank: int, node: Node) -> Iterator[None]:
    """Name the rank and the node in a ValueError that is raised in this context."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"rank {rank}, {node}: {error}") from None


def _check_attributes(node: Node) -> None:
    """Raise ValueError for an attribute that is not known, or a priority; a node of metadata may have any."""
    if node.kind == Kind.METADATA_NODE:
        return
    used = USED.get(node.kind, ())
    for name in (*node.attributes, *node.lists):
        if name not in used and name not in NOT_USED:
            known = ", ".join(used) or "none"
            raise ValueError(f"attribute {name!r} is not read: must be one of {known}")
    if node.attributes.whole("comm_priority", 0):
        raise ValueError(f"comm_priority: {node.attributes['comm_priority']}: must be 0, no others are read")


def _longest(nodes: Mapping[int, Sequence[Node]]) -> list[tuple[int, Node]]:
    """Return the nodes of the rank that has most of them, with the rank."""
    rank = max(nodes, key=lambda each: len(nodes[each]))
    return [(rank, node) for node in nodes[rank]]


def _check_duration(node: Node) -> None:
    """Raise ValueError for a computation of which only the number of operations is known."""
    if not node.duration and (operations := node.attributes.whole("num_ops", 0)):
        raise ValueError(f"num_ops: {operations}: must have a duration_micros besides")


def _kind(node: Node) -> Collective:
    """Return the type of an operation."""
    found = node.attributes.whole("comm_type")
    if found not in OPERATIONS:
        known = ", ".join(each.name for each in OPERATIONS)
        named = Collective(found).name if found in list(Collective) else f"{found}"
        raise ValueError(f"comm_type: {named}: must be one of {known}")
    return Collective(found)
