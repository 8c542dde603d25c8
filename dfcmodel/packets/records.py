"""What a run records, in bins of time; both engines fill the same arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.packets.kernel.ports import LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.plans import Plan
    from dfcmodel.packets.reference_receivers import Packet

__all__ = ["Records"]


class Records:
    """F flows, P ports, S samples, H hops: each flow's way there, its receiver, its way back.

    Attributes
    ----------
    window, round_trip, acked
        At the ends of the samples, (S, F): packets; s of the last ACK (nan: none); number of the last
        packet that the sender knows as acknowledged.
    delivered
        Packets delivered in order in each sample, (S, F).
    transit
        Propagation times of the transmissions begun in each sample, s, (S, F).
    lost
        Packets dropped at each hop in each sample, (S + 1, H).
    waiting
        Change of the number of waiting packets that the ends of samples see, (S + 1, P).
    peak, drops
        Most packets that waited, packets and ACKs that were dropped, (P,).
    carried, waited
        Packets that began transmission and the sum of their waits in s, (H,).
    first_loss, finished
        s, nan where there was none, (F,).
    timeouts, loss_events
        (F,).
    imbalance
        Packets that the books cannot place, relative to those sent, (F,).
    """

    def __init__(self, plan: Plan) -> None:
        F, P, S = len(plan.forward), len(plan.ports), plan.samples
        self.plan = plan
        self.scale = 1.0 / plan.sample
        ways = zip(plan.forward, plan.backward, strict=True)
        self.first_hop = np.cumsum([0, *(len(out) + 1 + len(back) for out, back in ways)])
        H = int(self.first_hop[-1])
        self.window, self.round_trip = np.zeros((S, F)), np.full((S, F), np.nan)
        self.acked = np.full((S, F), -1, dtype=np.int64)
        self.delivered, self.transit = np.zeros((S + 1, F)), np.zeros((S + 1, F))
        self.lost = np.zeros((S + 1, H), dtype=np.int32)
        self.waiting = np.zeros((S + 1, P), dtype=np.int32)
        self.peak, self.drops = np.zeros(P, dtype=np.int64), np.zeros(P, dtype=np.int64)
        self.carried, self.waited = np.zeros(H, dtype=np.int64), np.zeros(H)
        self.first_loss, self.finished = np.full(F, np.nan), np.full(F, np.nan)
        self.timeouts, self.loss_events = np.zeros(F, dtype=np.int64), np.zeros(F, dtype=np.int64)
        self.total = np.zeros(F)
        self.imbalance = np.zeros(F)

    def rows(self) -> tuple[NDArray[Any], ...]:
        """Return what the compiled engine fills, in its order."""
        return (
            self.window, self.round_trip, self.acked, self.delivered, self.transit, self.waiting,
            self.lost,
        )  # fmt: skip

    def take_in(self, arrays: dict[str, Any]) -> None:
        """Take the rest from the arrays of the compiled engine."""
        flow, hop, P = arrays["flow"], arrays["hop"], len(self.plan.ports)
        self.peak = arrays["unit"]["peak"][:P].copy()
        self.carried, self.waited = hop["carried"].copy(), hop["waited"].copy()
        self.imbalance = self._imbalance(arrays)
        self._waiting_on(arrays)
        self.lost[-1] = 0  # drops of what was followed beyond the end
        self.drops = np.zeros(P, dtype=np.int64)
        np.add.at(self.drops, hop["port"], self.lost.sum(axis=0))
        for name in ("first_loss", "finished", "timeouts", "loss_events", "total"):
            setattr(self, name, flow[name].copy())

    def _waiting_on(self, arrays: dict[str, Any]) -> None:
        """Note the packets that wait in lanes beyond the end."""
        unit, lane, element = (arrays[name] for name in ("unit", "lane", "element"))
        for p in np.flatnonzero(unit["kind"][:-1] == LANES):
            for c in range(unit["lane"][p], unit["lane"][p] + unit["lanes"][p]):
                e = lane["head"][c] if lane["count"][c] else -1
                while e >= 0:
                    self.wait_on(int(p), float(element["time"][e]))
                    e = element["next"][e]

    def _imbalance(self, arrays: dict[str, Any]) -> NDArray[np.float64]:
        """Return the packets that entered and neither arrived, nor were dropped, nor are on their way."""
        flow, used = arrays["flow"], arrays["element"][: arrays["tally"][1]]
        inside = used[(used["number"] >= 0) & (used["hop"] < flow["turn"][used["flow"]])]
        missing = flow["emitted"].astype(float) - flow["arrived"]
        missing -= np.bincount(inside["flow"], minlength=len(flow))
        dropped = self.lost.sum(axis=0)
        for f, out in enumerate(self.plan.forward):
            missing[f] -= dropped[self.first_hop[f] : self.first_hop[f] + len(out)].sum()
        return np.asarray(np.abs(missing) / np.maximum(flow["emitted"], 1))

    def bin_of(self, time: float) -> int:
        """Return the sample in which a time lies; one past the last for all later ones."""
        return min(int(time * self.scale), self.plan.samples)

    def hop_of(self, packet: Packet) -> int:
        """Return the hop at which a packet or an ACK is."""
        turn = len(self.plan.forward[packet.flow]) + 1
        return int(self.first_hop[packet.flow]) + packet.hop + (turn if packet.is_ack else 0)

    def drop(self, p: int, packet: Packet, now: float) -> None:
        """Note a packet that a full queue refuses."""
        self.drops[p] += 1
        self.lost[self.bin_of(now), self.hop_of(packet)] += 1
        if not packet.is_ack and np.isnan(self.first_loss[packet.flow]):
            self.first_loss[packet.flow] = now

    def queue(self, p: int, length: int) -> None:
        """Note the length of a queue."""
        self.peak[p] = max(self.peak[p], length)

    def transmit(self, p: int, packet: Packet, came: float, now: float) -> None:
        """Note that a packet which came then begins to be transmitted now."""
        first, last = self.bin_of(came), self.bin_of(now)
        if first != last:
            self.waiting[first, p] += 1
            self.waiting[last, p] -= 1
        if not packet.is_ack:
            self.transit[last, packet.flow] += self.plan.ports[p].delay
        self.carried[self.hop_of(packet)] += 1
        self.waited[self.hop_of(packet)] += now - came

    def wait_until(self, p: int, came: float, now: float) -> None:
        """Note a packet that came then, waited and is dropped now."""
        self.waiting[self.bin_of(came), p] += 1
        self.waiting[self.bin_of(now), p] -= 1

    def wait_on(self, p: int, came: float) -> None:
        """Note a packet that came then and waits beyond the end."""
        self.waiting[self.bin_of(came), p] += 1
        self.waiting[-1, p] -= 1

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
