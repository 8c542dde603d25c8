"""The bare law with a clock in every node: random phases, unequal delays, one common period.

The message over a link of delay d is sent every d seconds, from a phase on that belongs to the node at
the link's end, and arrives d later. In between, what a node was told and the rate at which it sends
stay as they are (eqs. 2-5 of takano2006 at a tick; eq. 9 makes the host a node that holds nothing). All
clocks together repeat after the least common multiple of the delays. The law being linear, what it
does in that time is one matrix, the monodromy matrix of the chain. With clocks in step and one delay
it is the power of `law.advance` that a period is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.disciplines import DFC
from hopflow.checks import whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario
    from dfcmodel.theory.law import Law

__all__ = ["Clocks", "clocks_of", "tick_phases"]

LONGEST = 20_000  # steps of a common period: some seconds of work for fifteen nodes


@dataclass(frozen=True)
class Clocks:
    """Delays and phases of the links from a host to its bottleneck, in steps.

    Attributes
    ----------
    step
        In s.
    delays
        Of the links into the nodes 1 to b, the host's access link first.
    phases
        Step of its period in which the node at a link's end speaks.
    """

    step: float
    delays: tuple[int, ...]
    phases: tuple[int, ...]

    @property
    def steps(self) -> int:
        """Of the common period."""
        return math.lcm(*self.delays)

    @property
    def period(self) -> float:
        """After which all clocks repeat, in s."""
        return self.steps * self.step

    def monodromy(self, diffusion: complex, intensity: complex = 1.0) -> NDArray[Any]:
        """Return the matrix that advances the chain by one common period.

        Deviations from a state in which packets wait in every node; the last one is saturated, it sends
        and tells a constant. The state: packets in the b nodes; those on the links by the step in
        which they arrive; and of the host and b - 1 nodes what they send, the rate and the queue that they
        were told, and those that they are being told.

        Parameters
        ----------
        diffusion, intensity
            D and alpha; complex ones differentiate (the result is polynomial in both).

        Returns
        -------
        Shape (M, M), M = 6 b + the sum of the delays.
        """
        b, delays = len(self.delays), np.array(self.delays)
        starts = np.concatenate([[0], np.cumsum(delays)])
        sizes = np.cumsum([b, starts[-1], b, b, b, b])
        kind = np.result_type(float, type(diffusion), type(intensity))
        unit = np.eye(sizes[-1] + b, dtype=kind)
        n, line, sends, told, told_queue, message, message_queue = np.split(unit, sizes)
        gain = (diffusion / delays)[:, None]
        none = np.zeros_like(unit[:1])
        for k in range(self.steps):
            ticking = k % delays == np.array(self.phases)
            if ticking.any():
                told[ticking], told_queue[ticking] = message[ticking], message_queue[ticking]
                own = np.concatenate([none, n[:-1]])
                held_back = gain * (told_queue - own)
                sends[ticking] = (intensity * told - held_back)[ticking]
                nominal = np.concatenate([(told - held_back)[1:], none])
                message[ticking], message_queue[ticking] = nominal[ticking], n[ticking]
            slots = starts[:-1] + k % delays
            n += line[slots]
            n[:-1] -= sends[1:]
            line[slots] = sends
        return np.concatenate([n, line, sends, told, told_queue, message, message_queue])


def tick_phases(scenario: Scenario, rng: int) -> dict[Any, float]:
    """Return the phases of the nodes' clocks in periods, those of ``simulate(scenario, rng=rng)``."""
    random = np.random.default_rng(rng)
    random.random(len(scenario.flows))  # the flows' jitter is drawn first
    return dict(zip(scenario.nodes, random.random(len(scenario.nodes)), strict=True))


def clocks_of(
    scenario: Scenario, law: Law, flow: int = 0, *, rng: int | None = None, steps_per_delay: int = 4
) -> Clocks:
    """Return the clocks from the host of a flow to its bottleneck.

    Parameters
    ----------
    scenario, law, flow
        With diffusion-type flow control; `law_of` the flow.
    rng
        Seed of the phases, where the discipline has random ones; None: all clocks tick at time 0.
    steps_per_delay
        Steps per shortest link delay of the scenario.

    Raises
    ------
    ValueError
        For delays that are no whole numbers of steps, or that repeat after too many.
    """
    m = whole("steps_per_delay", steps_per_delay, 1, 1000)
    path = scenario.path(scenario.flows[flow])[: law.bottleneck]
    h = min(link.delay for link in scenario.links) / m
    into = (path[0], *path[:-1])  # the access link is like the first
    delays = tuple(round(link.delay / h) for link in into)
    for link, steps in zip(into, delays, strict=True):
        if abs(link.delay / h - steps) > 1e-6 * steps:
            msg = f"{link.delay / h:.6g} steps of {h:g} s, must be whole; take more steps_per_delay"
            raise ValueError(f"delay of link {link.name} = {link.delay:g} s: {msg}")
    phases = [0] * len(into)
    discipline = path[0].discipline
    assert isinstance(discipline, DFC)
    if rng is not None and discipline.phases == "random":
        drawn = tick_phases(scenario, rng)
        speaks = [link.source for link in path]
        phases = [int(drawn[node] * d) for node, d in zip(speaks, delays, strict=True)]
    clocks = Clocks(h, delays, tuple(phases))
    if clocks.steps > LONGEST:
        msg = f"repeat after {clocks.steps} steps, must be within {LONGEST}: round the delays"
        raise ValueError(f"delays = {delays} steps: {msg}")
    return clocks
