"""All hops of a scenario's flows as columns, from which the tables of a plan and of its layout follow.

Among these are the calendar queues of the events of hosts: that of their interface, or the one that all other senders share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dfcmodel.network.columns import Routes, present

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.flow_tables import Flows

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = [
    "FlowEnds",
    "Hops",
    "Hosts",
    "Ingresses",
    "arrivals_of",
    "ends_of",
    "hops_of",
    "hosts_of",
]


class Hops(NamedTuple):
    """Hops of all flows, flow by flow: those of its packets, then those of its ACKs, (H,).

    Attributes
    ----------
    flow, port
        Whose hop it is, and over which port.
    is_ack
        Whether ACKs take it.
    begins
        Whether it is the first one from an end of the flow.
    """

    flow: Integers
    port: Integers
    is_ack: NDArray[np.bool_]
    begins: NDArray[np.bool_]

    @property
    def before(self) -> Integers:
        """The port of the hop before, of ACKs that of the last hop of the packets; -1: none, (H,)."""
        found = np.empty_like(self.port)
        found[1:] = self.port[:-1]
        found[self.begins & ~self.is_ack] = -1
        return found

    def turns(self, ports: int) -> Integers:
        """Return a number for the port and that of the hop before in this order, of ``ports``, (H,); of first hops no one's."""
        found = self.port * ports
        found[1:] += self.port[:-1]
        return found

    @property
    def row(self) -> Integers:
        """Number of each hop of all flows where a receiver has one too, after the hops of packets, and a sender after those of ACKs, (H,)."""
        found = np.arange(len(self.flow))
        found += self.is_ack
        found += 2 * self.flow
        return found

    def of(self, flows: Integers) -> Hops:
        """Return the hops of some flows, in ascending order."""
        chosen = np.zeros(int(self.flow.max(initial=-1)) + 1, dtype=np.bool_)
        chosen[flows] = True
        if chosen.all():
            return self
        kept = chosen[self.flow]
        return Hops(self.flow[kept], self.port[kept], self.is_ack[kept], self.begins[kept])

    def round_trips(self, passage: Floats) -> Floats:
        """Return the time of each flow's first packet and its ACK where nothing waits, s, (F,).

        Parameters
        ----------
        passage
            Transmission time plus propagation delay of the size classes at each port, s, (P, SIZES).

        Examples
        --------
        >>> hops = hops_of([(0, 1), (1,)], [(2,), ()])
        >>> hops.round_trips(np.array([[0.3, 0.2], [0.5, 0.4], [0.7, 0.6]])).round(3).tolist()
        [1.4, 0.5]
        """
        spent = passage[self.port, self.is_ack.astype(np.int64)]
        times: Floats = np.bincount(self.flow, weights=spent).astype(np.float64)
        return times


class FlowEnds(NamedTuple):
    """Rows of hops where receivers and senders have rows too: of each flow the first hop, its receiver and its sender, (F,)."""

    first: Integers
    receiver: Integers
    sender: Integers


def ends_of(forward: Integers, backward: Integers) -> FlowEnds:
    """Return the rows of hops at the ends of flows, given the numbers of hops of their packets and of their ACKs, (F,).

    Examples
    --------
    >>> [each.tolist() for each in ends_of(np.array([2, 1]), np.array([1, 0]))]
    [[0, 5], [2, 6], [4, 7]]
    """
    count = forward + backward + 2
    past = np.cumsum(count)
    return FlowEnds(past - count, past - count + forward, past - 1)


class Ingresses(NamedTuple):
    """What ports with PFC count, each port, ingress and class once and in order, (N,).

    Attributes
    ----------
    port
        Which port counts.
    before
        The port over which its packets come; of a host without access link -1 - flow.
    priority
        Their class.
    room
        For how many of them there is room, packets.
    """

    port: Integers
    before: Integers
    priority: Integers
    room: Floats


def arrivals_of(hops: Hops, kept: NDArray[np.bool_], ranks: Integers) -> tuple[Integers, Integers, Integers]:
    """Return port, port before and class of the hops that are kept, each combination once and in order, (N,).

    Parameters
    ----------
    hops
        All hops.
    kept
        Which of them, (H,).
    ranks
        Class of each flow, 0 to 8, (F,).

    Examples
    --------
    >>> hops = hops_of([(0, 1), (0, 1), (1,)], [(), (), ()])
    >>> arrivals_of(hops, hops.port == 1, np.array([3, 3, 0]))
    (array([1, 1]), array([-3,  0]), array([0, 3]))
    """
    flows, places = len(ranks), 9
    if (ranks == ranks[:1]).all() and not (kept & hops.begins).any():
        # of one class, and at ports behind others: a table of pairs of ports is small
        span = int(hops.port.max(initial=0)) + 1
        keys = present(hops.turns(span)[kept], span * span)
        port, before = np.divmod(keys, span)
        return port, before, np.full(len(keys), ranks[0])
    before = np.where(hops.begins, -1 - hops.flow, hops.before)[kept]
    span = flows + int(hops.port.max(initial=0)) + 1
    keys = (hops.port[kept] * span + before + flows) * places + ranks[hops.flow[kept]]
    keys, ranks = np.divmod(present(keys, span * span * places), places)
    port, before = np.divmod(keys, span)
    return port, before - flows, ranks


def hops_of(forward: Sequence[Sequence[int]], backward: Sequence[Sequence[int]]) -> Hops:
    """Return the hops of flows, given the ports on the paths of packets and of ACKs.

    Examples
    --------
    >>> hops = hops_of([(0, 1), (1,)], [(2,), ()])
    >>> hops.port.tolist(), hops.before.tolist(), hops.row.tolist()
    ([0, 1, 2, 1], [-1, 0, 1, -1], [0, 1, 3, 5])
    """
    out, back = Routes.of(forward), Routes.of(backward)
    counts = out.counts + back.counts
    flow = np.repeat(np.arange(len(counts)), counts)
    port = np.asarray(out.places, dtype=np.int64)
    is_ack, begins = np.zeros(len(flow), dtype=np.bool_), np.zeros(len(flow), dtype=np.bool_)
    start = np.cumsum(counts) - counts
    begins[start[out.counts > 0]] = True
    if len(back.places):
        is_ack = np.repeat(np.tile([False, True], len(counts)), np.transpose([out.counts, back.counts]).ravel())
        begins[(start + out.counts)[back.counts > 0]] = True
        port = np.empty(len(flow), dtype=np.int64)
        port[~is_ack], port[is_ack] = out.places, back.places
    return Hops(flow, port, is_ack, begins)


class Hosts(NamedTuple):
    """Rows of calendar queues: those of ports, and after them that of senders without an interface.

    Attributes
    ----------
    queue
        That of the arrivals at each port, (P,).
    sender, receiver
        Those of the events of each flow at its ends, (F,).
    """

    queue: Integers
    sender: Integers
    receiver: Integers


def hosts_of(hops: Hops, interfaces: NDArray[np.bool_], table: Flows) -> Hosts:
    """Return where the events of hosts are.

    Each interface has a queue of its own, for the senders and receivers of its host too. Flows to one receiver agent
    share its state: where they answer over several links, all hosts share one queue, in which events are in order.

    Parameters
    ----------
    hops
        Those of all flows.
    interfaces
        Whether each port is an interface of a host, (P,).
    table
        The flows.
    """
    senders = len(interfaces)
    queue = np.arange(senders)
    if not interfaces.any():
        return Hosts(queue, *np.full((2, len(table)), senders))
    first = np.flatnonzero(hops.begins & interfaces[hops.port])
    ends = np.full((2, len(table)), senders)
    ends[hops.is_ack[first].astype(np.int64), hops.flow[first]] = hops.port[first]
    answers = dict[object, int]()
    for f in np.flatnonzero(table.given("receiver")).tolist():
        agent = table.path(f)[-1], table.columns["receiver"][f]
        if answers.setdefault(agent, int(ends[1, f])) != ends[1, f]:
            queue[interfaces] = senders
            ends[:] = senders
            break
    return Hosts(queue, *ends)
