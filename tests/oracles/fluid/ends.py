"""The two ends of a flow in a step: the receiver takes in and answers, the source emits, the host sends."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.kernel.records import RATE_RULE, WINDOW
from dfcmodel.engine.senders import RECOVERY_NAMES
from dfcmodel.network.flows import first_state
from responsefn import Elapsed, Feedback
from tests.oracles.fluid.hosts import RandomWaits
from tests.oracles.fluid.lines import floor
from tests.oracles.fluid.losses import pieces
from tests.oracles.fluid.receivers import Ack, Receiver
from tests.oracles.fluid.recoveries import SENDERS, SackSender
from tests.oracles.fluid.timers import Timer
from tests.oracles.fluid.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dfcmodel.engine.plan import FluidPlan
    from tests.oracles.fluid.traffic import Traffic

__all__ = ["Ends", "RateEnds", "TcpEnds", "ends_of"]


class Ends:
    """The ends of flow f, whose source is a schedule of rates.

    Attributes
    ----------
    emitted
        Packets emitted up to each step.
    rcv_nxt
        Packets that the receiver has acknowledged, or taken in.
    """

    def __init__(self, plan: FluidPlan, f: int, traffic: Traffic) -> None:
        self.plan, self.f, self.traffic = plan, f, traffic
        self.h, self.quantum = plan.step, plan.quantum
        self.source: Any = plan.scenario.flows[f].source
        self.record = plan.network.flows[f]
        self.start, self.size = int(self.record["start"]), float(self.record["flow_size"])
        self.emitted: list[float] = []
        self.rcv_nxt = self.rtt = 0.0
        self.finished = math.nan
        self.waits: Any = None

    def advance(self, k: int, came: float, budget: float) -> None:
        """Process the arrivals of step k, emit, and send what the host may send."""
        before = self.emitted[-1] if self.emitted else 0.0
        if k < self.start:
            self.emitted.append(0.0)
            self.traffic.depart(self.f, 0.0)
            return
        self.emitted.append(self.emit(k, before, came))
        if self.rcv_nxt >= self.size and math.isnan(self.finished):
            self.finished = k * self.h
        self.traffic.queue[self.f] += self.emitted[-1] - before
        sent = self.emitted[-1] - self.traffic.queue[self.f]
        ready = self.emitted[-1]
        if self.waits is not None:
            ready = max(sent, self.grid(self.waits.released(k, self.emitted)))
        leaves = min(ready - sent, budget)
        self.traffic.queue[self.f] -= leaves
        self.traffic.depart(self.f, leaves)

    def emit(self, k: int, before: float, came: float) -> float:
        """Return what was emitted by step k, with the rate of the step more."""
        rows = self.plan.transport.schedule
        own = rows[self.record["schedule_now"] : self.record["schedule_end"]]
        self.rcv_nxt += came
        pace = own["amount"][np.flatnonzero(own["step"] <= k)[-1]]
        return float(min(before + pace, self.size))

    @property
    def window(self) -> float:
        """What the record calls cwnd: a window in packets or a rate in packets/s; none here."""
        return 0.0

    def pieces(self, came: float) -> Iterator[tuple[float, float, float]]:
        """Return the arrivals of this step as `losses.pieces` does."""
        until = float(self.traffic.delivered[self.f])
        curves = [self.traffic.curves[c] for c in self.traffic.paths[self.f]]
        return pieces(curves, until - came, until)

    def sent_at(self, position: float) -> float:
        """Return when a packet was emitted, in steps: evenly within each."""
        j = bisect_left(self.emitted, position)
        begin = self.emitted[j - 1] if j else 0.0
        end = self.emitted[j] if j < len(self.emitted) else begin
        if not begin < position < end:
            return float(j)
        return j - (end - position) / (end - begin)

    def grid(self, amount: float) -> float:
        """Return an amount rounded down to the quantum."""
        return float(floor(np.array(amount), self.quantum))


class AckedEnds(Ends):
    """The ends of a flow whose receiver answers."""

    def __init__(self, plan: FluidPlan, f: int, traffic: Traffic) -> None:
        super().__init__(plan, f, traffic)
        self.acks = deque([Ack()] * int(self.record["ack_lag"]))
        self.most = float(self.record["max_window"])

    def hear(self, k: int) -> Ack:
        """Return the ACKs of step k; they tell the round-trip time."""
        ack = self.acks.popleft()
        if ack.acks > 0.0:
            self.rtt = (k - ack.sent) * self.h
        return ack


class RateEnds(AckedEnds):
    """The ends of a flow with a rate rule; what is lost is not sent again."""

    def __init__(self, plan: FluidPlan, f: int, traffic: Traffic) -> None:
        super().__init__(plan, f, traffic)
        self.state: Any = self.source.start(self.most)
        self.position = 0.0

    @property
    def window(self) -> float:
        """The rate in packets/s."""
        return float(min(self.state.rate, self.most))

    def emit(self, k: int, before: float, came: float) -> float:
        """Acknowledge arrivals, pass feedback to the rule, advance its timers; return the packets emitted by step k."""
        ack, marked = self.hear(k), 0.0
        for _, sent, marks in self.pieces(came):
            self.position += sent
            marked += marks
        self.rcv_nxt += came
        self.acks.append(Ack(acks=came, marked=marked, sent=self.sent_at(self.position)))
        if ack.acks > 0.0:
            seen = Feedback(k * self.h, self.rtt, ack.acks, ack.marked)
            self.state = self.source.on_feedback(self.state, self.source.params, seen)
        amount = self.grid(max(0.0, self.window) * self.h)
        amount = min(amount, self.size - before)
        elapsed = Elapsed((k + 1) * self.h, self.h, amount)
        self.state = self.source.on_time(self.state, self.source.params, elapsed)
        return before + amount


class TcpEnds(AckedEnds):
    """The ends of a TCP flow."""

    def __init__(self, plan: FluidPlan, f: int, traffic: Traffic) -> None:
        super().__init__(plan, f, traffic)
        record = self.record
        recovery = RECOVERY_NAMES[int(record["recovery"])]
        self.receiver = Receiver(float(record["fractional_loss"]), self.quantum)
        self.sender = SENDERS[recovery](
            Window(
                self.source,
                float(plan.round_trips()[f]) * self.h,
                self.most,
                single=bool(record["single_acks"]),
            ),
            Timer(plan.min_rto, float(record["rto"]), bool(record["linux_timer"])),
            self.size,
            self.h,
            self.quantum,
            acks_each=float(record["acks_each"]),
        )
        begin = first_state(plan.scenario.flows[f], float(plan.round_trips()[f]) * self.h)
        self.sender.window.state = begin
        self.sender.inflation = float(record["inflation"])  # holds back a part of the first window
        if isinstance(self.sender, SackSender):
            self.sender.lost_in_pipe = bool(record["lost_in_pipe"])
        jitter, seed = float(record["jitter"]), int(record["seed"])
        if jitter > 0.0:
            self.waits = RandomWaits(self.start, jitter, float(record["ack_lag"]), seed)

    @property
    def window(self) -> float:
        """The congestion window in packets."""
        return min(self.sender.window.cwnd, self.most)

    def emit(self, k: int, before: float, came: float) -> float:
        """Acknowledge arrivals; run the sender at its start, on ACKs, and when its timer expires.

        Returns the packets emitted by step k.
        """
        if k == self.start + 1:
            self.sender.inflation = 0.0
        ack, receiver = self.hear(k), self.receiver
        acks = advancing = marked = 0.0
        for arrived, sent, marks in self.pieces(came):
            more, moving = receiver.receive(self.sender.log, arrived, sent - arrived)
            acks, advancing, marked = acks + more, advancing + moving, marked + marks
        answered = self.sent_at(receiver.position)
        self.acks.append(Ack(acks, advancing, marked, receiver.rcv_nxt, receiver.rcv_max, answered))
        self.rcv_nxt = receiver.rcv_nxt
        if ack.acks > 0.0:
            self.sender.rtt_before = self.sender.rtt or self.rtt
            self.sender.rtt = self.rtt
        due = k * self.h >= self.sender.timer.deadline
        if ack.acks > 0.0 or due or k <= self.start + 1:
            self.sender.send(k * self.h, ack, receiver)
        return self.sender.emitted


def ends_of(plan: FluidPlan, f: int, traffic: Traffic) -> Ends:
    """Return the ends of a flow, as its source wants them."""
    kinds: dict[int, type[Ends]] = {WINDOW: TcpEnds, RATE_RULE: RateEnds}
    kind = kinds.get(int(plan.network.flows["source"][f]), Ends)
    return kind(plan, f, traffic)
