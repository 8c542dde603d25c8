"""Switch programs of data centers: telemetry in packets, and packets that are cut to their headers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from dfcmodel.network.queueing.programs import SwitchProgram
from hopflow.checks import one_number
from hopflow.parameters import extends
from hopflow.units import PacketUnits, WithUnit, quantities

__all__ = ["INT", "Trimming"]


@dataclass(frozen=True)
class INT(SwitchProgram):
    """A FIFO queue that writes in-band telemetry into the packets that leave, for rules such as `responsefn.HPCC`.

    The fields follow Li et al. (2019, Sect. 3.1): the bytes of all packets that the link has sent, the bytes that wait,
    and its capacity in bytes/s. The engine records departure times for all telemetry.

    Examples
    --------
    >>> from dfcmodel import Flow, Link, Packets, Scenario, simulate
    >>> from responsefn import HPCC
    >>> links = [Link("a", "s", 1e7, 1e-6, 1000), Link("s", "b", 5e6, 1e-6, 1000, INT())]
    >>> flows = [Flow("one", ("a", "s", "b"), HPCC(base_rtt=6e-6))]
    >>> run = simulate(Scenario("telemetry", links, flows, duration=1e-3, packet_size=1000.0), Packets(seed=1))
    >>> bool(0.93 < run.delivered[0, -1] / 5e3 < 0.97)  # its target is 0.95
    True
    """

    @extends(SwitchProgram.State)
    class State(NamedTuple):
        """Total bytes sent; telemetry of a packet: bytes sent before it, bytes waiting, and the link's bytes/s."""

        total: float = 0.0
        sent: float = 0.0
        queue: float = 0.0
        capacity: float = 0.0

    telemetry = ("sent", "queue", "capacity")

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """Count the bytes of packet e, and write the record of telemetry; return the new state."""
        return s._replace(total=s.total + e.size, sent=s.total, queue=e.bytes, capacity=e.capacity)


@quantities(limit="amount", headers="amount")
@dataclass(frozen=True)
class Trimming(SwitchProgram):
    """The switch of NDP (Handley et al. 2017, Sect. 3.1): short queues of packets, and headers instead of drops.

    Headers and ACKs have a separate queue, which sends ``headers`` of them for each packet of data while both queues
    wait. A packet that arrives at ``limit`` waiting packets of data is cut to its header. In half of the cases the
    first waiting packet is cut instead, so that no flow loses by its phase. In these cases NDP cuts the last waiting
    packet. NDP returns headers without room to their senders; this model drops them.

    Parameters
    ----------
    limit
        Packets of data that wait, >= 1.
    headers
        Headers per packet of data, >= 1.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow, Link, Packets, Scenario, simulate
    >>> links = [Link("a", "s", 4e5, 1e-6, 1000), Link("s", "b", 1e5, 1e-6, 1000, Trimming())]
    >>> flows = [Flow("all", ("a", "s", "b"), CBR(2e5))]
    >>> run = simulate(Scenario("cut", links, flows, duration=1e-2), Packets(seed=1))
    >>> run.drops().cause.values.tolist()
    ['trimmed']
    """

    limit: WithUnit = 8.0
    headers: WithUnit = 10.0
    queues = 2

    @extends(SwitchProgram.State)
    class State(NamedTuple):
        """Cut a packet, end a turn; waiting data packets, those to be cut, packets sent by a queue in its turn."""

        trim: float = 0.0
        skip: float = 0.0
        data: float = 0.0
        owed: float = 0.0
        sent: float = 0.0

    of_queue = ("sent",)

    def __post_init__(self) -> None:
        if not isinstance(self.limit, PacketUnits) and not isinstance(self.headers, PacketUnits):
            self.check_packets()

    def check_packets(self) -> None:
        """Raise ValueError for less than a packet, or a header."""
        one_number("limit", self.limit, at_least=1.0, hint="in packets")
        one_number("headers", self.headers, at_least=1.0)

    @staticmethod
    def queue_of(s: Any, q: Any, e: Any) -> Any:
        """Return queue 0 for short packets and, from ``q.limit`` on, packets drawn to be cut; 1 for other data."""
        cut = s.data >= q.limit and e.random < 0.5
        return 0.0 if e.is_ack + e.trimmed > 0.0 or cut else 1.0

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Cut data packet e to its header from ``q.limit`` on, or later as it leaves; return the new state."""
        if e.queue == 1.0:
            owed = s.owed + 1.0 if e.queue_backlog >= q.limit else s.owed
            return s._replace(data=e.queue_backlog + 1.0, owed=owed)
        return s._replace(trim=1.0 if e.is_ack + e.trimmed == 0.0 else 0.0)

    @staticmethod
    def on_dequeue(s: Any, q: Any, e: Any) -> Any:
        """Alternate between the queues, ``q.headers`` short packets to one of data; return the new state."""
        if s.sent >= (1.0 if e.queue == 1.0 else q.headers):
            return s._replace(skip=1.0, sent=0.0)
        if e.queue == 0.0:
            return s._replace(sent=s.sent + 1.0)
        if s.owed > 0.0:
            return s._replace(trim=1.0, owed=s.owed - 1.0, data=e.queue_backlog)
        return s._replace(sent=s.sent + 1.0, data=e.queue_backlog)
