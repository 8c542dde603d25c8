"""BBR's variables over time in a packet run: a flow over one bottleneck, sampled ten times per round trip."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.endpoints.sources import CBR
from dfcmodel.network.flows import Flow
from dfcmodel.network.links import Link
from dfcmodel.network.networks import Scenario
from dfcmodel.packets.engine import with_room
from dfcmodel.packets.methods import Packets
from dfcmodel.packets.simulation import plan_scenario
from hopflow.results import ByValue

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.elements.base import PathElement
    from dfcmodel.network.endpoints.arrivals import Replay
    from responsefn import BBR

    Floats = NDArray[np.float64]

__all__ = ["LINK", "MODES", "Observation", "Path", "observe"]

MODES = ("STARTUP", "DRAIN", "DOWN", "CRUISE", "REFILL", "UP", "PROBE_RTT")
"""States of the draft, in the order of their numbers in `BBR.State`."""
LINK = "left->right"
SAMPLES_PER_ROUND_TRIP = 10
"""Samples per round trip."""


@dataclass(frozen=True)
class Path:
    """One flow of BBR over one bottleneck.

    Attributes
    ----------
    rate, rtt, buffer
        Rate of the bottleneck, packets/s; propagation there and back, s; buffer, packets.
    duration
        Simulated time, s.
    elements
        Elements of the bottleneck.
    arrivals
        Times at which data become available; None: all at the start.
    burst
        Start and end, s, and rate, packets/s, of a constant-rate flow beside it; None: no such flow.
    """

    rate: float = 1000.0
    rtt: float = 0.04
    buffer: int = 200
    duration: float = 12.0
    elements: tuple[PathElement, ...] = ()
    arrivals: Replay | None = None
    burst: tuple[float, float, float] | None = None

    @property
    def product(self) -> float:
        """Bandwidth-delay product, packets."""
        return self.rate * self.rtt

    def scenario(self, rule: BBR) -> Scenario:
        """Return the scenario of the path with a rule."""
        access = 1e-4 * self.rtt
        links = [
            Link("sender", "left", 20.0 * self.rate, access, 10_000),
            Link("left", "right", self.rate, 0.5 * self.rtt - access, self.buffer),
        ]
        flows = [Flow("flow", ("sender", "left", "right"), rule, arrivals=self.arrivals)]
        if self.burst is not None:
            start, stop, rate = self.burst
            flows.append(Flow("burst", ("left", "right"), CBR(rate), start=start, stop=stop))
        return Scenario("BBR", links, flows, duration=self.duration, elements=self.elements)


@dataclass(frozen=True, eq=False)
class Observation(ByValue):
    """BBR's variables in a run at the ends of S samples.

    Attributes
    ----------
    path
        The simulated path.
    time
        s, (S,).
    state
        Each field of `BBR.State`, (S,).
    in_flight, delivered, lost, emitted
        Packets, (S,): in flight; cumulative delivered and lost; sent, with retransmissions.
    timeouts
        Number of timeouts of the flow.
    """

    path: Path
    time: Floats
    state: dict[str, Floats] = field(repr=False)
    in_flight: Floats = field(repr=False)
    delivered: Floats = field(repr=False)
    lost: Floats = field(repr=False)
    emitted: Floats = field(repr=False)
    timeouts: int = 0

    def __getattr__(self, name: str) -> Any:
        """Return a field of BBR's state."""
        state = self.__dict__.get("state", {})
        if name in state:
            return state[name]
        raise AttributeError(name)

    @property
    def max_bw(self) -> Floats:
        """BBR.max_bw, packets/s, (S,)."""
        return np.maximum(self.state["bw_now"], self.state["bw_before"])

    def spells(self, mode: str) -> list[tuple[int, int]]:
        """Return the first sample of each spell in a state, and the first sample after it."""
        inside = np.concatenate([[False], self.state["mode"] == MODES.index(mode), [False]])
        edges = np.flatnonzero(np.diff(inside.astype(np.int8)))
        return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))

    def mode_at(self, n: int) -> str:
        """Return the state at sample n; "the end" after the last sample."""
        modes = self.state["mode"]
        return MODES[int(modes[n])] if n < len(modes) else "the end"

    def sequence(self) -> tuple[str, ...]:
        """Return the states in their order."""
        modes = self.state["mode"].astype(int)
        first = np.flatnonzero(np.diff(modes, prepend=-1))
        return tuple(MODES[mode] for mode in modes[first].tolist())

    def rate(self, begin: int, end: int) -> float:
        """Return the delivery rate between two samples, packets/s."""
        span = self.time[end] - self.time[begin]
        return float((self.delivered[end] - self.delivered[begin]) / span) if span > 0 else math.nan

    def until(self, duration: float) -> Observation:
        """Return the beginning of a run without timeouts, of a duration in s."""
        n = round(duration / self.path.rtt * SAMPLES_PER_ROUND_TRIP)
        arrays = {name: getattr(self, name)[:n] for name in ("time", "in_flight", "delivered", "lost", "emitted")}
        state = {name: values[:n] for name, values in self.state.items()}
        return replace(self, path=replace(self.path, duration=duration), state=state, **arrays)


def observe(rule: BBR, path: Path, seed: int) -> Observation:
    """Run a rule on a path and return its variables over time.

    Parameters
    ----------
    rule, path
        The rule of the flow, and its path.
    seed
        Seed of the random numbers.
    """
    sample = path.rtt / SAMPLES_PER_ROUND_TRIP
    plan = plan_scenario(path.scenario(rule), Packets(seed=seed), duration=path.duration, sample=sample)
    return with_room(plan, lambda run, _: _record(rule, path, run))


def _record(rule: BBR, path: Path, run: Any) -> Observation | None:
    """Return the variables of a run; None if its arrays were too small."""
    names, samples = rule.State._fields, run.plan.samples
    values, others = np.empty((samples, len(names))), np.empty((samples, 4))
    for n in range(samples):
        if not run.advance(n + 1):
            return None
        flow_row, rule_row = run.arrays["flow"][0], run.arrays["rule"][run.arrays["flow"]["rule"][0]]
        numbers = rule_row.tobytes()[: 8 * len(names)]  # the state stands at the beginning of the row
        values[n] = np.frombuffer(numbers)
        values[n, :2] = flow_row["cwnd"], flow_row["ssthresh"]
        in_flight = rule_row["sent_last"] - rule_row["sent_first"]
        others[n] = in_flight, rule_row["delivered"], rule_row["lost_total"], flow_row["emitted"]
    time = (np.arange(samples) + 1) * run.plan.sample
    timeouts = int(run.arrays["flow"]["timeouts"][0])
    state = dict(zip(names, values.T, strict=True))
    in_flight, delivered, lost, emitted = others.T
    return Observation(path, time, state, in_flight, delivered, lost, emitted, timeouts)
