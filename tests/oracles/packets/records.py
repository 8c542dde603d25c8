"""Records of a packet-level run, filled event by event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.drop_causes import TRIMMED
from dfcmodel.network.queueing.class_pauses import ALL
from dfcmodel.packets.engine import Records

if TYPE_CHECKING:
    from dfcmodel.packets.plan import PacketPlan
    from tests.oracles.packets.receivers import Packet

__all__ = ["EventRecords"]


class EventRecords(Records):
    """The arrays of `Records`, which the oracle's queues, senders and receivers fill."""

    queues: Any  # of the simulation
    when_finished: Any  # a function of a flow and the time at which it is complete

    def __init__(self, plan: PacketPlan) -> None:
        super().__init__(plan)
        table = plan.scenario.table
        self.sizes = table.numbers("size") + plan.opening
        """Packets that each flow delivers in all, (F,); inf while its data arrive."""
        self.sizes[table.given("arrivals")] = np.inf

    def bin_of(self, time: float) -> int:
        """Return the index of the sample that contains a time; S for times beyond the end."""
        return min(int(time * self.scale), self.plan.samples)

    def hop_of(self, packet: Packet) -> int:
        """Return the index of the hop of a packet or an ACK."""
        turn = len(self.plan.forward[packet.flow]) + 1
        way = packet.flow if packet.is_ack or packet.way < 0 else packet.way
        return int(self.plan.end_rows.first[way]) + packet.hop + (turn if packet.is_ack else 0)

    def drop(self, p: int, packet: Packet, came: float, now: float, cause: int) -> None:
        """Record the drop of a packet that arrived at time ``came``, with the place of the cause in `CAUSES`."""
        self.drops[p] += 1
        h = self.hop_of(packet)
        self.lost[self.bin_of(now), h] += 1
        self.inside[packet.flow] -= 1
        self.causes[h, cause] += 1
        if self.causes[h, cause] == 1:
            self.first_drops[h, cause] = now
        if not packet.is_ack and np.isnan(self.first_loss[packet.flow]):
            self.first_loss[packet.flow] = now

    def receive_header(self, packet: Packet, now: float) -> None:
        """Record a packet of which the header alone has come as dropped where it was cut."""
        assert packet.trimmed is not None
        p, h = packet.trimmed
        self.drops[p] += 1
        self.lost[self.bin_of(now), h] += 1
        self.causes[h, TRIMMED] += 1
        if np.isnan(self.first_drops[h, TRIMMED]):
            self.first_drops[h, TRIMMED] = now
        if np.isnan(self.first_loss[packet.flow]):
            self.first_loss[packet.flow] = now

    def queue(self, p: int, length: int, taken: float = 0.0) -> None:
        """Record the length of a queue, in packets and in bytes."""
        self.peak[p] = max(self.peak[p], length)
        if self.counts_bytes[p]:
            self.peak_bytes[p] = max(self.peak_bytes[p], taken)

    def wait(self, p: int, taken: float, first: int, last: int) -> None:
        """Record bytes that waited at a port from one sample to before another."""
        if self.counts_bytes[p]:
            self.queued_bytes[first, p] += taken
            self.queued_bytes[last, p] -= taken

    def transmit(
        self, p: int, packet: Packet, came: float, now: float, taken: float = 0.0, longer: float = 0.0
    ) -> None:
        """Record the start of the transmission of a packet that arrived at time ``came`` and took bytes in the queue.

        By how many s it takes ``longer`` than at the rate of the link is for traces.
        """
        first, last = self.bin_of(came), self.bin_of(now)
        self.wait(p, taken, first, last)
        if first != last:
            self.waiting[first, p] += 1
            self.waiting[last, p] -= 1
        h = self.hop_of(packet)
        self.started[last, h] += 1
        self.started[last, h + 1] -= 1
        self.waited[h] += now - came

    def wait_until(self, p: int, came: float, now: float, taken: float) -> None:
        """Record that a packet queued since ``came`` is dropped at time ``now``."""
        self.waiting[self.bin_of(came), p] += 1
        self.waiting[self.bin_of(now), p] -= 1
        self.wait(p, taken, self.bin_of(came), self.bin_of(now))

    def wait_on(self, p: int, came: float, taken: float) -> None:
        """Record a packet that arrived at time ``came`` and is still queued at the end."""
        self.waiting[self.bin_of(came), p] += 1
        self.waiting[-1, p] -= 1
        self.wait(p, taken, self.bin_of(came), -1)

    def deliver(self, f: int, packets: int, now: float) -> None:
        """Record packets delivered in order."""
        self.delivered[self.bin_of(now), f] += packets
        self.total[f] += packets
        if np.isnan(self.finished[f]) and self.total[f] >= self.sizes[f]:
            self.finished[f] = now
            self.when_finished(f, now)

    def end(self, f: int, size: float, now: float) -> None:
        """Record that a flow sends ``size`` packets in all, as far as is known now."""
        self.sizes[f] = size
        self.deliver(f, 0, now)

    def look(self, n: int, senders: Any) -> None:
        """Record the state of the senders, and their queues at access links that they share, at the end of sample n."""
        for f, sender in enumerate(senders):
            if self.shares_host[f]:
                self.at_hosts[n, f] = self.at_host(f)
            if hasattr(sender, "clock"):  # window senders
                self.window[n, f] = sender.state.cwnd
                self.acked[n, f] = sender.acked
                self.round_trip[n, f] = sender.rtt if sender.rtt > 0.0 else np.nan
            if hasattr(sender, "timeouts"):
                self.timeouts[f], self.loss_events[f] = sender.timeouts, sender.loss_events
                self.loss_count[n, f] = sender.loss_events
            told = getattr(getattr(sender, "state", None), "notifications", None)
            if told is not None:
                if self.notifications is None:
                    self.notifications = np.zeros(len(senders), dtype=np.int64)
                self.notifications[f] = told

    def at_host(self, f: int) -> int:
        """Return how many packets of a flow wait at the interface of its host."""
        return len(self.queues[int(self.plan.forward.first[f])].lines[f, False])

    def switch(self, p: int, now: float, on: bool, feeder: int = ALL, priority: int = ALL) -> None:
        """Record that port p asked for a pause of a class at a port that feeds it, or for its end."""
        self.switch_tables.append(np.array([(now, p, int(on), feeder, priority)]))
