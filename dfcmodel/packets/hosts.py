"""Whose calendar queue the events of hosts are in: that of their interface, or the one that all other senders share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.flow_tables import Flows
    from dfcmodel.packets.hops import Hops

    Integers = NDArray[np.int64]

__all__ = ["Hosts", "hosts_of"]


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
