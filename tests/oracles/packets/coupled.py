"""DualPI2 in the reference engine: two queues and one controller (RFC 9332, Appendix A)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from dfcmodel.network.drop_causes import BY_MANAGER
from tests.oracles.packets.managers import Squared
from tests.oracles.packets.queues import Queue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.oracles.packets.protocols import EventSimulation
    from tests.oracles.packets.receivers import Packet

__all__ = ["CoupledQueues"]

SCALABLE, CLASSIC = 0, 1


class Controller(Squared):
    """The controller of DualPI2: its delay is how long the older head of both queues has waited."""

    queue: CoupledQueues

    def delay(self) -> float:
        """Return for how long the older of both heads has waited, s."""
        now = self.simulation.now
        return max((now - lane[0][0] for lane in self.queue.lanes if lane), default=0.0)

    def native(self, waited: float) -> float:
        """Return the ramp of the delay, unless less than two packets wait behind."""
        if len(self.queue.lanes[SCALABLE]) <= 1:
            return 0.0
        return float((waited - self.rule.ramp) / self.rule.ramp_width)


class CoupledQueues(Queue):
    """A queue for packets with ECT(1), and one for all others."""

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        super().__init__(simulation, p)
        self.lanes: tuple[deque[tuple[float, Packet]], ...] = (deque(), deque())
        self.controller = Controller(self)
        self.credit = 0.0

    def packets(self) -> Iterable[tuple[float, Packet]]:
        """Return the packets that wait, each behind its arrival in s."""
        return (each for lane in self.lanes for each in lane)

    def length(self) -> int:
        """Return how many packets wait."""
        return sum(map(len, self.lanes))

    def queues(self) -> Iterable[tuple[int, Sequence[tuple[float, Packet]]]]:
        """Yield the queues for packets with ECT(1) and for all others."""
        yield from enumerate(self.lanes)

    def put(self, packet: Packet) -> None:
        """Queue a packet."""
        lane = SCALABLE if self.controller.is_scalable(packet) else CLASSIC
        self.lanes[lane].append((self.simulation.now, packet))
        self.bytes += self.taken(packet)

    def choose(self) -> int:
        """Return which queue sends: the Scalable one, unless the Classic one is owed its share."""
        if not all(self.lanes):
            return SCALABLE if self.lanes[SCALABLE] else CLASSIC
        chosen = CLASSIC if self.credit > 0.0 else SCALABLE
        size, share = self.size_of(self.lanes[chosen][0][1]), self.controller.rule.classic_share
        self.credit += share * size if chosen == SCALABLE else (share - 1.0) * size
        return chosen

    def send(self, came: float, packet: Packet) -> None:
        """Send a packet that did not wait, unless it is dropped."""
        if self.controller.decide(packet, 0.0):
            super().send(came, packet)
        else:
            self.drop(packet, cause=BY_MANAGER)

    def go(self) -> None:
        """Send the next packet that is not dropped, if the port is idle and not paused."""
        while self.ready():
            came, packet = self.lanes[self.choose()].popleft()
            self.bytes -= self.taken(packet)
            if self.controller.decide(packet, self.simulation.now - came):
                super().send(came, packet)
            else:
                self.drop_queued(came, packet, BY_MANAGER)
