"""What a run records, in bins of time; both engines fill the same arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plans import Plan

__all__ = ["Records"]


class Records:
    """F flows, P ports, S samples, H hops of all flows' ways there one after the other.

    Attributes
    ----------
    window, round_trip, acked
        At the ends of the samples, (S, F): packets; s of the last ACK (nan: none); number of the last
        packet that the sender knows as acknowledged.
    delivered
        Packets delivered in order in each sample, (S, F).
    transit
        Propagation times of the transmissions begun in each sample, s, (S, F).
    losses
        Drops of data packets: rows of port, flow, sample.
    waiting
        Change of the number of waiting packets that the ends of samples see, (S + 2, P).
    peak, drops, ack_drops
        Most packets that waited, packets and ACKs that were dropped, (P,).
    carried, waited
        Packets that began transmission and the sum of their waits in s, (H,).
    first_loss, finished
        s, nan where there was none, (F,).
    timeouts, loss_events
        (F,).
    """

    def __init__(self, plan: Plan) -> None:
        F, P, S = len(plan.forward), len(plan.ports), plan.samples
        self.plan = plan
        self.scale = 1.0 / plan.sample
        self.first_hop = np.cumsum([0, *(len(way) for way in plan.forward)])
        H = int(self.first_hop[-1])
        self.window, self.round_trip = np.zeros((S, F)), np.full((S, F), np.nan)
        self.acked = np.full((S, F), -1, dtype=np.int64)
        self.delivered, self.transit = np.zeros((S + 2, F)), np.zeros((S + 2, F))
        self.losses: Any = []
        self.waiting = np.zeros((S + 2, P), dtype=np.int64)
        self.peak, self.drops = np.zeros(P, dtype=np.int64), np.zeros(P, dtype=np.int64)
        self.ack_drops = np.zeros(P, dtype=np.int64)
        self.carried, self.waited = np.zeros(H, dtype=np.int64), np.zeros(H)
        self.first_loss, self.finished = np.full(F, np.nan), np.full(F, np.nan)
        self.timeouts, self.loss_events = np.zeros(F, dtype=np.int64), np.zeros(F, dtype=np.int64)
        self.total = np.zeros(F)

    def bin_of(self, time: float) -> int:
        """Return the sample in which a time lies; one past the last for all later ones."""
        return min(int(time * self.scale), self.plan.samples)

    def drop(self, p: int, f: int, is_ack: bool, now: float) -> None:
        """Note a packet that a full queue refuses."""
        if is_ack:
            self.ack_drops[p] += 1
            return
        self.drops[p] += 1
        self.losses.append((p, f, self.bin_of(now)))
        if np.isnan(self.first_loss[f]):
            self.first_loss[f] = now

    def queue(self, p: int, length: int) -> None:
        """Note the length of a queue."""
        self.peak[p] = max(self.peak[p], length)

    def transmit(
        self, p: int, f: int, is_ack: bool, hop: int, came: float, now: float
    ) -> None:
        """Note that a packet which came then begins to be transmitted now."""
        first, last = self.bin_of(came), self.bin_of(now)
        if first != last:
            self.waiting[first, p] += 1
            self.waiting[last, p] -= 1
        if not is_ack:
            self.transit[last, f] += self.plan.ports[p].delay
            self.carried[self.first_hop[f] + hop] += 1
            self.waited[self.first_hop[f] + hop] += now - came

    def deliver(self, f: int, packets: int, now: float) -> None:
        """Note packets delivered in order."""
        self.delivered[self.bin_of(now), f] += packets
        self.total[f] += packets
        size = self.plan.scenario.flows[f].size + self.plan.method.is_ns2
        if np.isnan(self.finished[f]) and self.total[f] >= size:
            self.finished[f] = now

    def look(self, n: int, senders: Any) -> None:
        """Note the senders at the end of a sample."""
        for f, sender in enumerate(senders):
            if hasattr(sender, "state"):
                self.window[n, f] = sender.state.cwnd
                self.acked[n, f] = sender.acked
                self.round_trip[n, f] = sender.rtt if sender.rtt > 0.0 else np.nan
                self.timeouts[f], self.loss_events[f] = sender.timeouts, sender.loss_events
