"""BBR's variables over time in a packet run: a flow over one bottleneck, sampled ten times per round trip."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.endpoints.native_rules import NativeRule
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

__all__ = ["LINK", "MODES", "SAMPLES_PER_ROUND_TRIP", "Observation", "Path", "UnreportedError", "observe"]

MODES = ("STARTUP", "DRAIN", "DOWN", "CRUISE", "REFILL", "UP", "PROBE_RTT")
"""States of the draft, in the order of their numbers in `BBR.State`."""
DRAFT_STATES = (
    "Startup", "Drain", "ProbeBW_DOWN", "ProbeBW_CRUISE", "ProbeBW_REFILL", "ProbeBW_UP", "ProbeRTT",
)  # fmt: skip
"""The states by their names in the draft (Sect. 5.1)."""
AMOUNTS = ("max_bw", "bw_shortterm", "inflight_shortterm", "inflight_longterm", "extra_acked", "full_bw")
"""Variables of the draft that are amounts of data or rates, in the units of the rule; others are counts or s."""
LINK = "left->right"
SAMPLES_PER_ROUND_TRIP = 10
"""Samples per round trip."""


class UnreportedError(AttributeError):
    """Raised for a variable of the draft that a native rule does not report; the message has the reason."""


@dataclass(frozen=True)
class Path:
    """A path of one flow of BBR over one bottleneck: packets/s, s, packets, elements and arrivals.

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
        """Bandwidth-delay product of the path, packets."""
        return self.rate * self.rtt

    def scenario(self, rule: BBR) -> Scenario:
        """Return the scenario of one flow of a rule on the path."""
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
        Ends of the samples, s, (S,).
    state
        Variables by name, (S,): fields of `BBR.State` that the draft has, or variables that a native rule reports.
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
        """Return a variable of the draft at the samples; UnreportedError for a name that was not recorded."""
        state = self.__dict__.get("state", {})
        if name in state:
            return state[name]
        if name.startswith("_") or not state:
            raise AttributeError(name)
        raise UnreportedError(f"observe does not report {name}")

    def spells(self, mode: str) -> list[tuple[int, int]]:
        """Return the first sample of each spell in a state, and the first sample after the spell."""
        inside = np.concatenate([[False], self.mode == MODES.index(mode), [False]])
        edges = np.flatnonzero(np.diff(inside.astype(np.int8)))
        return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))

    def spell(self, mode: str, *, ends: bool = True) -> tuple[int, int]:
        """Return the first spell in a state; ArithmeticError without one, or, with ``ends``, for one that lasts."""
        for begin, end in self.spells(mode)[:1]:
            if end < len(self.time) or not ends:
                return begin, end
            raise ArithmeticError(f"it does not leave {mode} within {self.path.duration:g} s")
        raise ArithmeticError(f"it is not in {mode} within {self.path.duration:g} s")

    def mode_at(self, n: int) -> str:
        """Return the name of BBR's state at sample n; "the end" after the last sample."""
        modes = self.mode
        return MODES[int(modes[n])] if n < len(modes) else "the end"

    def sequence(self) -> tuple[str, ...]:
        """Return the names of BBR's states in order, each spell once."""
        modes = self.mode.astype(int)
        first = np.flatnonzero(np.diff(modes, prepend=-1))
        return tuple(MODES[mode] for mode in modes[first].tolist())

    def rate(self, begin: int, end: int) -> float:
        """Return the mean delivery rate between two samples, packets/s; NaN without time between them."""
        span = self.time[end] - self.time[begin]
        return float((self.delivered[end] - self.delivered[begin]) / span) if span > 0 else math.nan

    def until(self, duration: float) -> Observation:
        """Return the first ``duration`` seconds of a run without timeouts."""
        n = round(duration / self.path.rtt * SAMPLES_PER_ROUND_TRIP)
        arrays = {name: getattr(self, name)[:n] for name in ("time", "in_flight", "delivered", "lost", "emitted")}
        state = {name: values[:n] for name, values in self.state.items()}
        return replace(self, path=replace(self.path, duration=duration), state=state, **arrays)


def observe(rule: BBR, path: Path, seed: int) -> Observation:
    """Run a rule on a path with a seed; return its variables at the ends of samples.

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


def _record(rule: Any, path: Path, run: Any) -> Observation | None:
    """Advance a run to its end and return BBR's variables at all samples; None if its arrays were too small."""
    samples, is_native = run.plan.samples, isinstance(rule, NativeRule)
    names = rule.State._fields
    values, others = np.empty((samples, len(names))), np.empty((samples, 5))
    for n in range(samples):
        if not run.advance(n + 1):
            return None
        flow_row, rule_row = run.arrays["flow"][0], run.arrays["rule"][run.arrays["flow"]["rule"][0]]
        numbers = rule_row.tobytes()[: 8 * len(names)]  # the state stands at the beginning of the row
        values[n] = np.frombuffer(numbers)
        values[n, :2] = flow_row["cwnd"], flow_row["ssthresh"]
        in_flight = rule_row["sent_last"] - rule_row["sent_first"]
        delivered = rule_row["delivered"]
        if is_native:
            native = run.arrays["native"][0]
            in_flight, delivered = native["flight"], rule_row["sent_last"] - native["flight"] - rule_row["lost_total"]
        others[n] = in_flight, delivered, rule_row["lost_total"], flow_row["emitted"], flow_row["recovering"]
    time = (np.arange(samples) + 1) * run.plan.sample
    timeouts = int(run.arrays["flow"]["timeouts"][0])
    state = dict(zip(names, values.T, strict=True))
    in_flight, delivered, lost, emitted, recovering = others.T
    if is_native:
        reported = run.native.observed().get("flow", {"state": []})
        state = {name: state[name] for name in ("cwnd", "ssthresh", "pacing_rate")}
        state |= {"recovering": recovering, **_reported_variables(rule, run.plan.sizes[0], reported)}
    else:
        state["max_bw"] = np.maximum(state["bw_now"], state["bw_before"])
        state["extra_acked"] = np.maximum(state["extra_acked_now"], state["extra_acked_before"])
    return Observation(path, time, state, in_flight, delivered, lost, emitted, timeouts)


def _reported_variables(rule: NativeRule, packet_bytes: float, reported: dict[str, Any]) -> dict[str, Floats]:
    """Return variables by name, amounts in packets, ``mode`` from names in "state"; UnreportedError if unknown."""
    unit = packet_bytes if rule.loaded.counts_bytes else 1.0
    variables = {
        name: values / unit if name in AMOUNTS else values for name, values in reported.items() if name != "state"
    }
    numbers = {name.lower(): n for names in (MODES, DRAFT_STATES) for n, name in enumerate(names)}
    labels = [str(label) for label in reported["state"]]
    unknown = next((label for label in labels if label.lower() not in numbers), None)
    if unknown is not None or not labels:
        reason = f"observe returns the state {unknown!r}" if labels else "it has no function observe"
        raise UnreportedError(f"{reason}; states are {', '.join(DRAFT_STATES)}")
    return {**variables, "mode": np.array([numbers[label.lower()] for label in labels], dtype=float)}
