"""Public faults of released congestion control as cases, each with its source."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.endpoints.arrivals import Replay
from dfcmodel.network.endpoints.native_rules import NativeRule
from dfcmodel.network.flows import Flow
from dfcmodel.network.links import Link
from dfcmodel.network.networks import Scenario
from dfcmodel.packets.engine import with_room
from dfcmodel.packets.methods import Packets
from dfcmodel.packets.simulation import plan_scenario
from dfcmodel.sharing.suites.cases import ANY, NotJudged, Observation, Suite, SuiteCase, Tolerance
from dfcmodel.sharing.suites.connections import observe_consecutive_losses
from dfcmodel.sharing.timed_losses import TimedLoss
from hopflow.tcp_constants import INITIAL_WINDOW

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.elements.base import PathElement
    from responsefn import WindowRule

    Floats = NDArray[np.float64]

__all__ = ["INCIDENTS", "BottleneckPath", "PathSamples", "sample_path"]

SAMPLES_PER_ROUND_TRIP = 10
BOTTLENECK = "left->right"
INTERVAL_ENDS = 2.0
"""Packets at the ends of an interval, beyond those of its rate and of a burst."""
BURSTS = {"bbr-draft": 2.0}
"""Packets that a rule may send back to back at 2000 packets/s, by claim: the send quantum of 1 ms (draft-ietf-ccwg-bbr,
Sect. 5.6.3). Others: the initial window (RFC 9002, Sect. 7.7)."""
SEEDS = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class BottleneckPath:
    """A path with one bottleneck and one flow: rate, packets/s; RTT and duration, s; buffer and size, packets."""

    rate: float = 2000.0
    rtt: float = 0.04
    buffer: int = 80
    duration: float = 60.0
    arrivals: Replay | None = None
    size: float = math.inf
    elements: tuple[PathElement, ...] = ()

    def run(self, rule: WindowRule, times: Floats, seed: int = 0) -> PathSamples:
        """Run a sender of any registered kind over the path; return its state at ``times``, s, tenths of an RTT."""
        return sample_path(rule, self, times, seed)

    def simulate(self, rule: WindowRule, times: Floats, seed: int = 0) -> PathSamples:
        """Simulate a rule on the path at packet level; return its state at ``times``, s, whole tenths of an RTT."""
        access = 1e-4 * self.rtt
        links = [
            Link("sender", "left", 20.0 * self.rate, access, 10_000),
            Link("left", "right", self.rate, 0.5 * self.rtt - access, self.buffer),
        ]
        flow = Flow("flow", ("sender", "left", "right"), rule, arrivals=self.arrivals, size=self.size)
        scenario = Scenario("incident", links, [flow], duration=self.duration, elements=self.elements)
        sample = self.rtt / SAMPLES_PER_ROUND_TRIP
        plan = plan_scenario(scenario, Packets(seed=seed), duration=self.duration, sample=sample)
        return with_room(plan, lambda run, _: self._record(run, times))

    def _record(self, run: Any, times: Floats) -> PathSamples | None:
        """Return the samples of a run at ``times``; None if its arrays were too small."""
        rows = []
        for time in times:
            if not run.advance(round(time / run.plan.sample)):
                return None
            flow = run.arrays["flow"][0]
            rows.append((flow["cwnd"], flow["emitted"], flow["snd_una"], flow["paced"]))
        window, sent, acknowledged, paced = np.array(rows, dtype=float).T
        return PathSamples(window, sent, acknowledged, float(run.arrays["flow"]["finished"][0]), bool(paced.any()))


@dataclass(frozen=True)
class PathSamples:
    """State of a flow at sample times: window, packets sent and acknowledged so far; its end, s (NaN: none)."""

    window: Floats
    sent: Floats
    acknowledged: Floats
    finished: float
    is_paced: bool


@singledispatch
def sample_path(rule: WindowRule, path: BottleneckPath, times: Floats, seed: int) -> PathSamples:
    """Run a sender on a path by the function registered for its type, otherwise `simulate`; return its states."""
    return path.simulate(rule, times, seed)


def _empty_path(rule: WindowRule) -> Iterator[Observation]:
    """Yield the share of a minute's capacity of an empty path, 24 Mb/s and 40 ms, that a flow uses."""
    path = BottleneckPath()
    run = path.run(rule, np.array([path.duration]))
    yield Observation(
        "60 s of 24 Mb/s, 40 ms, 80 packets", 0.95, float(run.acknowledged[-1]) / (path.rate * path.duration)
    )


def _loss_phase(rule: WindowRule) -> Iterator[Observation]:
    """Yield, per seed, the time, s, of 10 MB over 10 ms with 30 % random loss in the first 2 s; inf: not completed."""
    loss = TimedLoss(BOTTLENECK, probability=0.3, begin=0.0, end=2.0)
    path = BottleneckPath(rate=8000.0, rtt=0.01, buffer=80, duration=30.0, size=6667.0, elements=(loss,))
    for seed in SEEDS:
        finished = path.run(rule, np.array([path.duration]), seed).finished
        yield Observation(f"10 MB with seed {seed}", 10.0, finished if math.isfinite(finished) else math.inf)


def _restart(rule: WindowRule, idle: float, round_trips: int) -> tuple[BottleneckPath, PathSamples]:
    """Return (path, samples) of a flow idle from 10 s on for ``idle`` s: one sample before, then one per tenth RTT."""
    start, path = 10.0, BottleneckPath()
    first = replace(path, duration=start).run(rule, np.array([start]))
    arrivals = Replay((0.0, start + idle), (int(first.sent[-1]), 100_000))
    path = replace(path, duration=start + idle + 2.0, arrivals=arrivals)
    tenths = np.arange(round_trips * SAMPLES_PER_ROUND_TRIP + 1) * path.rtt / SAMPLES_PER_ROUND_TRIP
    return path, path.run(rule, np.array([start, *(start + idle + tenths)]))


def _idle(rule: WindowRule) -> Iterator[Observation]:
    """Yield the ratio of the window 1, 2 and 3 RTTs after 30 s without data to that before."""
    path, run = _restart(rule, 30.0, 3)
    for trip in (1, 2, 3):
        ratio = float(run.window[1 + trip * SAMPLES_PER_ROUND_TRIP] / run.window[0])
        yield Observation(f"{trip * path.rtt * 1e3:.0f} ms after 30 s without data", 1.5, ratio)


def _pacing(rule: WindowRule) -> Iterator[Observation]:
    """Yield packets sent in each tenth of the first RTT after a second without data, and their limit; or NotJudged."""
    if "pacing_rate" not in rule.State._fields:
        raise NotJudged("it does not pace: its state has no pacing_rate")
    path, run = _restart(rule, 1.0, 1)
    if isinstance(rule, NativeRule) and rule.claims != "bbr-draft" and not run.is_paced:  # the draft needs pacing
        raise NotJudged("it does not pace: it sets neither pacing_rate nor departure")
    limit = 1.25 * path.rate * path.rtt / SAMPLES_PER_ROUND_TRIP
    limit += BURSTS.get(rule.claims, INITIAL_WINDOW) + INTERVAL_ENDS
    for part, sent in enumerate(np.diff(run.sent[1:]), 1):
        yield Observation(f"{part} tenths of a round trip after 1 s without data", limit, float(sent))


CASES = (
    SuiteCase("empty-path", "share of an empty path", "", "alone a rule fills the path", ">=", Tolerance(),
              "draft-ietf-ccwg-bbr, #114 of its repository, June 2026 (ack_phase; ngtcp2 1.24.0 gets 0.80)",
              _empty_path,
              "own choice: above 0.82, what BBR gets with the fault, and below 0.96, what it gets without"),
    SuiteCase("consecutive-losses", "window after a loss over the window before", "",
              "a loss below the last peak lowers the window as any other one", "=", Tolerance(0.01),
              "quinn-rs/quinn#2640, May 2026: 0.595 for 0.7", observe_consecutive_losses,
              "own choice: one packet of a window of at least 100"),
    SuiteCase("loss-phase", "time until 10 MB are delivered", "s",
              "10 MB over 10 ms are delivered in 10 s though 30 % of the packets are lost in the first 2 s", "<=",
              Tolerance(),
              "cloudflare/quiche#2370, February 2026, and its report of 12 May 2026: a window at its minimum was taken "
              "for an idle application", _loss_phase, "the report's limit of 10 s"),
    SuiteCase("idle", "window after an idle time over the window before", "",
              "time without data is no time of growth", "<=", Tolerance(),
              "RFC 9438, Sect. 4.2 and 5.8; NTAP/rfc8312bis#14, case 2; mozilla/neqo#2955", _idle,
              "RFC 9438, Sect. 4.2: a target of at most 1.5 windows"),
    SuiteCase("pacing", "packets sent in a tenth of a round trip", "packets",
              "after an idle time packets leave at the pacing rate, not in a burst", "<=", Tolerance(),
              "quinn-rs/quinn#2481, July 2026; draft-ietf-ccwg-bbr, Sect. 5.6.2; RFC 9002, Sect. 7.7", _pacing,
              "the gain of 1.25 of both, and a burst: the draft's send quantum, otherwise the RFC's initial window"),
)  # fmt: skip

INCIDENTS: Suite = Suite("incidents", 1, "public faults of released congestion control", ANY, CASES)
"""An empty path, losses in a row, a phase of losses, idle times, and pacing."""
