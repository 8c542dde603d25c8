"""The bare law with a feedback clock in every node: random phases, unequal delays.

Feedback over a link of delay d is sent every d seconds and arrives d seconds later; its phase is that
of the node at the link's end. Between two messages a node keeps the reported values and its sending
rate (eqs. 2-5 of takano2006 hold at a tick; by eq. 9 the host is a node with an empty queue). All
clocks together repeat after the least common multiple of the delays. Since the law is linear, its
action over that time is one matrix, the monodromy matrix of the chain. For synchronous clocks and
equal delays it is a power of the matrix of `law.advance`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario
    from dfcmodel.theory.law import Law

__all__ = ["Clocks", "clocks_of", "tick_phases"]

MAX_STEPS = 20_000  # of a common period; a few seconds of computation for fifteen nodes


@dataclass(frozen=True)
class Clocks:
    """Delays and feedback phases of the links from a host to its bottleneck, in steps.

    Attributes
    ----------
    step
        Time step in s, the unit of delays and phases.
    delays
        Delays of the links into the nodes 1 to b, the host's access link first.
    phases
        Step of its period in which the node at a link's end sends feedback.
    """

    step: float
    delays: tuple[int, ...]
    phases: tuple[int, ...]

    @property
    def steps(self) -> int:
        """Least common multiple of the links' delays, in steps: after it all clocks repeat."""
        return math.lcm(*self.delays)

    @property
    def period(self) -> float:
        """Time after which all clocks repeat, s: `steps` times the step."""
        return self.steps * self.step

    def monodromy(self, diffusion: complex, intensity: complex = 1.0) -> NDArray[Any]:
        """Return the matrix, (M, M), that advances a chain's deviation by one common period of all clocks.

        It acts on deviations from a state with packets queued in every node. The last node is
        saturated: it sends and reports a constant rate. The state vector holds the packets in the b
        nodes; the packets in transit by step of arrival; and for the host and b - 1 nodes the sending
        rate, the last reported rate and queue, and the report in transit.

        Parameters
        ----------
        diffusion, intensity
            D and alpha; complex values differentiate (the result is polynomial in both).

        Returns
        -------
        Shape (M, M), M = 6 b + the sum of the delays.
        """
        b, delays = len(self.delays), np.array(self.delays)
        starts = np.concatenate([[0], np.cumsum(delays)])
        sizes = np.cumsum([b, starts[-1], b, b, b, b])
        kind = np.result_type(float, type(diffusion), type(intensity))
        unit = np.eye(sizes[-1] + b, dtype=kind)
        n, line, sends, target, ahead, message, message_queue = np.split(unit, sizes)
        gain = (diffusion / delays)[:, None]
        none = np.zeros_like(unit[:1])
        for k in range(self.steps):
            ticking = k % delays == np.array(self.phases)
            if ticking.any():
                target[ticking], ahead[ticking] = message[ticking], message_queue[ticking]
                upstream = np.concatenate([none, n[:-1]])
                gradient = gain * (ahead - upstream)
                sends[ticking] = (intensity * target - gradient)[ticking]
                nominal = np.concatenate([(target - gradient)[1:], none])
                message[ticking], message_queue[ticking] = nominal[ticking], n[ticking]
            slots = starts[:-1] + k % delays
            n += line[slots]
            n[:-1] -= sends[1:]
            line[slots] = sends
        return np.concatenate([n, line, sends, target, ahead, message, message_queue])


def tick_phases(scenario: Scenario, seed: int) -> dict[Any, float]:
    """Return the clock phase of each node as a fraction of its period, by node, as ``simulate`` draws them."""
    random = np.random.default_rng(seed)
    random.random(len(scenario.flows))  # the flows' jitter is drawn first
    return dict(zip(scenario.nodes, random.random(len(scenario.nodes)), strict=True))


def clocks_of(
    scenario: Scenario,
    law: Law,
    flow: int = 0,
    *,
    seed: int | None = None,
    steps_per_delay: int = 4,
) -> Clocks:
    """Return delays and phases, in steps, of the links from a flow's host to its bottleneck; phases 0 without ``seed``.

    Parameters
    ----------
    scenario, law, flow
        A scenario with diffusion-type flow control, the `law_of` a flow, and the flow's index.
    seed
        Seed of the phases if they are random; None: all clocks tick at time 0.
    steps_per_delay
        Steps per shortest link delay of the scenario.

    Raises
    ------
    ValueError
        For delays that are not multiples of the step, or whose common period is too long.
    """
    m = integer("steps_per_delay", steps_per_delay, 1, 1000)
    path = scenario.path(scenario.flows[flow])[: law.bottleneck]
    h = scenario.shortest_delay / m
    links_in = (path[0], *path[:-1])  # the access link has the delay of the first link
    delays = tuple(round(link.delay / h) for link in links_in)
    for link, steps in zip(links_in, delays, strict=True):
        if abs(link.delay / h - steps) > 1e-6 * steps:
            msg = f"{link.delay / h:.6g} steps of {h:g} s, must be whole; take more steps_per_delay"
            raise ValueError(f"delay of link {link.name} = {link.delay:g} s: {msg}")
    phases = [0] * len(links_in)
    discipline: Any = path[0].discipline  # `law_of` has checked that it is DFC
    if seed is not None and discipline.phases == "random":
        drawn = tick_phases(scenario, seed)
        nodes = [link.source for link in path]
        phases = [int(drawn[node] * d) for node, d in zip(nodes, delays, strict=True)]
    clocks = Clocks(h, delays, tuple(phases))
    if clocks.steps > MAX_STEPS:
        msg = f"repeat after {clocks.steps} steps, must be at most {MAX_STEPS}: round the delays"
        raise ValueError(f"delays = {delays} steps: {msg}")
    return clocks
