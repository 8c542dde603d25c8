"""What the kernel must compute, said naively: queues, ways and ACKs in lists, no compiled code.

A package of plain Python with a class for each thing, written anew: senders and receivers of TCP, window rules
as users wrote them, queue managers, buffers, pauses, feedback. From the kernel it takes the law (2) and
(13) of DFC, from the plan how queues are numbered, delays, clocks and seeds. It has none of the kernel's shortcuts and
cumulative counts. Amounts are multiples of the plan's quantum in both, rounded at the same places, so that
runs agree to the last bit where no sum of other numbers is taken in another order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.engine.kernel.records import PER_INPUT, SWITCH
from dfcmodel.engine.run import Records
from tests.oracles.fluid.drops import RandomNumbers
from tests.oracles.fluid.ends import TcpEnds, ends_of
from tests.oracles.fluid.feedback import Feedback
from tests.oracles.fluid.inputs import InputFeedback
from tests.oracles.fluid.pauses import Pauses
from tests.oracles.fluid.queues import RateQueues
from tests.oracles.fluid.shared_queues import SharedQueues
from tests.oracles.fluid.traffic import Traffic

if TYPE_CHECKING:
    from dfcmodel.engine.plan import FluidPlan

__all__ = ["Run", "advance"]


def advance(plan: FluidPlan, steps: int, every: int) -> Records:
    """Run a plan from t = 0; arguments and result as for `dfcmodel.engine.run.advance`.

    Of the plan's state it changes what flows count (losses, timeouts, when they lost first and were complete),
    and the states of their window rules.
    """
    run = Run(plan)
    F, C, T = len(run.ends), len(plan.next_queue), -(-steps // every)
    flows, queued, lost = np.zeros((T, F, 6)), np.zeros((T, C)), np.zeros((T, C))
    for k in range(steps):
        run.step(k)
        n = k // every
        flows[n, :, 0] += run.in_transit()
        if (k + 1) % every == 0 or k + 1 == steps:
            flows[n, :, 0] /= k + 1 - n * every
            flows[n, :, 1:] = [
                (each.rcv_nxt, each.window, run.traffic.queue[f], each.rtt, events)
                for f, (each, events) in enumerate(zip(run.ends, run.loss_events(), strict=True))
            ]
            queued[n, F:] = run.traffic.queue[F:]
            lost[n] = run.traffic.lost
            run.traffic.lost[:] = 0.0
    run.write_back()
    return Records(flows, queued, lost, 0.0, np.array(run.pauses.switches, dtype=SWITCH))


class Run:
    """The state of a run: what is in every queue and on every way, what the ends and the links remember."""

    def __init__(self, plan: FluidPlan) -> None:
        self.plan, self.traffic = plan, Traffic(plan)
        self.ends = [ends_of(plan, f, self.traffic) for f in range(len(plan.network.flows))]
        by_input = PER_INPUT in plan.network.links["kind"]
        self.feedback = (InputFeedback if by_input else Feedback)(plan, self.traffic)
        self.pauses = Pauses(plan, self.traffic)
        random = RandomNumbers(int(plan.service.seed[0]))
        alone, links = plan.per_flow_links, len(plan.order)
        self.alone = [RateQueues(plan, i, self.traffic) for i in range(alone)]
        self.shared = [SharedQueues(plan, i, self.traffic, random) for i in range(alone, links)]

    def step(self, k: int) -> None:
        """Let feedback and pauses arrive, the ends of flows act, and links serve their queues."""
        budget = self.feedback.budget
        self.feedback.exchange(k)
        self.pauses.exchange(k, budget)
        for f, ends in enumerate(self.ends):
            if k == ends.start:
                self.feedback.start(f)
            complete = not math.isnan(ends.finished)
            ends.advance(k, self.traffic.deliver(f), budget[f])
            if not complete and not math.isnan(ends.finished):
                self.feedback.finish(f)
        for each in self.alone:
            each.serve(k, budget[each.cells])
        for i, link in enumerate(self.shared, len(self.alone)):
            stopped = self.pauses.stopped[self.plan.bands_at(i)]
            link.serve(k, self.pauses.pace[i], budget[link.cells], stopped)

    def in_transit(self) -> list[float]:
        """Return the packets of each flow on their way behind its first queue."""
        return [sum(map(self.traffic.inside, path)) for path in self.traffic.paths]

    def loss_events(self) -> list[int]:
        """Return the loss events of each flow so far."""
        return [ends.sender.loss_events if isinstance(ends, TcpEnds) else 0 for ends in self.ends]

    def write_back(self) -> None:
        """Write what flows count, and the states of window rules, into the plan's records."""
        flows = self.plan.network.flows
        flows["first_loss"] = self.traffic.first_loss
        flows["finished"] = [ends.finished for ends in self.ends]
        for f, ends in enumerate(self.ends):
            if isinstance(ends, TcpEnds):
                flows["loss_events"][f] = ends.sender.loss_events
                flows["timeouts"][f] = ends.sender.timeouts
                state = [float(value) for value in ends.sender.window.state]
                for name, value in zip(("cwnd", "ssthresh"), state, strict=False):
                    flows[name][f] = value
                flows["rule_state"][f, : len(state) - 2] = state[2:]
