"""Network interfaces of hosts in the reference engine: a queue per flow, served in turn, and a control class."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from dfcmodel.network.queueing.class_pauses import ALL, CONTROL
from dfcmodel.packets.ports import Interface
from tests.oracles.packets.laws import BlockedQueue
from tests.oracles.packets.sources import Rated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.oracles.packets.protocols import EventSimulation
    from tests.oracles.packets.receivers import Packet

__all__ = ["HostQueues"]

Key = tuple[int, bool]
"""A flow, and whether it is its ACKs."""


class HostQueues(BlockedQueue):
    """Queues without bound: the control class first, then classes in turn, each flow of a class in turn; a pause stops a class."""

    def __init__(self, simulation: EventSimulation, p: int) -> None:
        super().__init__(simulation, p)
        plan = simulation.plan
        assert isinstance(self.port.discipline, Interface)
        apart = self.port.discipline.acks == "control"
        users = [key for key in plan.flows_at[p] if not (key[1] and apart)]
        self.priorities = {key: plan.scenario.flows[key[0]].priority for key in users}
        self.classes = sorted(set(self.priorities.values()))
        self.next_class = 0
        self.blocked = set()
        self.stopped: list[Key] = []  # flows that are paused, each as often as it is
        self.control: deque[tuple[float, Packet]] = deque()
        self.lines: dict[Key, deque[tuple[float, Packet]]] = {key: deque() for key in users}
        self.turns: dict[int, deque[Key]] = {priority: deque() for priority in self.classes}
        self.weights = {key: 1 if key[1] else plan.scenario.flows[key[0]].weight for key in users}
        self.left_of_turn = dict(self.weights)
        self.going_on: dict[int, Key | None] = dict.fromkeys(self.classes)

    def packets(self) -> Iterable[tuple[float, Packet]]:
        """Return the packets that wait, each behind its arrival in s."""
        return (each for line in (self.control, *self.lines.values()) for each in line)

    def length(self) -> int:
        """Return how many packets wait."""
        return len(self.control) + sum(map(len, self.lines.values()))

    def is_stopped(self) -> bool:
        """Return whether the port is paused with all that it carries, not by class."""
        return any(who == ALL for _, who in self.paused_by)

    def may_leave(self, priority: int) -> bool:
        """Return whether packets of a class may leave."""
        return priority not in self.blocked and not any(who in (ALL, priority) for _, who in self.paused_by)

    def ready(self) -> bool:
        """Return whether a packet may leave."""
        if self.busy or self.is_stopped():
            return False
        return bool(self.control) or any(turns and self.may_leave(priority) for priority, turns in self.turns.items())

    def is_refused(self, packet: Packet) -> bool:
        """Return False: an interface drops nothing."""
        return False

    def has_room(self, packet: Packet) -> bool:
        """Return that there is room."""
        return True

    def queues(self) -> Iterable[tuple[int, Sequence[tuple[float, Packet]]]]:
        """Yield the queue of the control class, and of each flow with its class."""
        yield CONTROL, self.control
        for key, line in self.lines.items():
            yield self.priorities[key], line

    def queue_of(self, packet: Packet) -> int:
        """Return the class of a packet."""
        return self.priorities.get((packet.flow, packet.is_ack), CONTROL)

    def is_held(self, key: int) -> bool:
        """Return whether a class is paused."""
        return self.is_stopped() or (key != CONTROL and not self.may_leave(key))

    def passes(self, packet: Packet) -> bool:
        """Return whether a packet is sent at once."""
        if self.busy or self.is_stopped() or self.ready():
            return False
        key = packet.flow, packet.is_ack
        if key in self.priorities and not self.may_leave(self.priorities[key]):
            return False
        if key in self.stopped:
            return False
        return self.may_be_sent(packet)

    def head_of(self, priority: int) -> Packet | None:
        """Return the first packet of a class that waits."""
        turns = self.turns.get(priority)
        return self.lines[turns[0]][0][1] if turns else None

    def put(self, packet: Packet) -> None:
        """Queue a packet."""
        entry, key = (self.simulation.now, packet), (packet.flow, packet.is_ack)
        if key not in self.lines:
            self.control.append(entry)
            return
        line, priority = self.lines[key], self.priorities[key]
        if not line and key not in self.stopped:
            self.enlist(key)
        line.append(entry)
        self.review(priority)

    def enlist(self, key: Key) -> None:
        """Let a flow wait for its turn: behind others, or before them where its turn has not ended."""
        priority = self.priorities[key]
        if self.going_on[priority] == key:
            self.turns[priority].appendleft(key)
        else:
            self.turns[priority].append(key)

    def stop_flow(self, _key: object, f: int, wanted: bool) -> None:
        """Process a message that pauses a flow or lets it go on; over several paths it may be paused several times."""
        key = f, False
        before = key in self.stopped
        (self.stopped.append if wanted else self.stopped.remove)(key)
        now = key in self.stopped
        if self.lines[key] and now != before:
            (self.turns[self.priorities[key]].remove if now else self.enlist)(key)
        self.go()

    def pop(self) -> tuple[float, Packet]:
        """Return the arrival time and the next packet; a sender that waits for it to leave goes on."""
        if self.control:
            return self.control.popleft()
        K = len(self.classes)
        order = [(self.next_class + k) % K for k in range(K)]
        n = next(n for n in order if self.turns[self.classes[n]] and self.may_leave(self.classes[n]))
        self.next_class = (n + 1) % K
        turns = self.turns[self.classes[n]]
        key = turns.popleft()
        entry = self.lines[key].popleft()
        if self.lines[key] and self.left_of_turn[key] > 1:
            turns.appendleft(key)
        elif self.lines[key]:
            turns.append(key)
        sender = self.simulation.senders[key[0]]
        if isinstance(sender, Rated) and not key[1]:
            sender.go_on()
        return entry

    def end_key(self) -> int:
        """Return the key of ends of transmissions: before all else."""
        return -1 - len(self.simulation.queues) - self.p

    def send(self, came: float, packet: Packet) -> None:
        """Start the transmission of a packet; that of a rate rule counts as sent now."""
        if not packet.is_ack and isinstance(self.simulation.senders[packet.flow], Rated):
            packet.sent = self.simulation.now
        if (packet.flow, packet.is_ack) in self.priorities:
            self.count_turn((packet.flow, packet.is_ack))
        self.leaves(packet, self.queue_of(packet))
        super().send(came, packet)

    def count_turn(self, key: Key) -> None:
        """Count a packet of a flow's turn, which ends when its weight is used up, or with a packet of another flow."""
        priority = self.priorities[key]
        other = self.going_on[priority]
        if other is not None and other != key:
            self.left_of_turn[other] = self.weights[other]
        self.left_of_turn[key] -= 1
        self.going_on[priority] = key
        if self.left_of_turn[key] == 0:
            self.left_of_turn[key] = self.weights[key]
            self.going_on[priority] = None
