"""Endless TCP over pause at hopflow's packet level: the tandem of two bridges of the bundled runs of ns-3.

Files with idle times between them are not run: a flow there has one transfer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dfcmodel import FIFO, Flow, Link, Packets, Pause, Scenario, simulate
from hopflow import maximum
from responsefn import Reno
from validation.keeping import kept
from validation.statistics import Estimate, Values, of_runs, ratio_gain

__all__ = ["RTTS", "SEEDS", "SENDERS", "Endless", "TwoPackets", "endless", "gain"]

LINK_A, LINK_B, LINK_C = 25.0, 100.0, 15.0
"""Rates, packets/s."""
B1, B2, THRESHOLD = 10, 20, 15
"""Buffers and T1 = T2 in packets, the one in transmission included, which `Link` does not count."""
MESSAGE = 84 * 8 / 1.2e6
"""Delay of links B and C in s: after it a pause message takes effect."""
FLOWS, WINDOW = 8, 44.0
WARM, ROUNDS, LEAST = 200.0, 300.0, 2000.0
"""Warm-up in s; measured time: round trips, and the least, s."""
SAMPLE = 1.0
SEEDS = 4
RTTS = (0.1, 1.0, 5.0)
"""Round-trip times that are run, s."""


SENDERS = ("reno", "ns2", "two")
"""Reno, whose window falls to half, at least one packet, as in ns-2; ns-2's under its own conventions, which know no pause;
and Reno with a window of at least two packets."""


class TwoPackets(Reno):
    """Reno whose window after a loss is the slow-start threshold, at least two packets (RFC 5681, eq. (4) and Sect. 3.2)."""

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:  # noqa: ARG004
        """Halve, to two packets at least."""
        return s._replace(cwnd=maximum(2.0, 0.5 * s.cwnd), ssthresh=maximum(2.0, 0.5 * s.cwnd))


class Endless(NamedTuple):
    """Runs of one setting: goodput in packets/s, part of the packets lost, losses per reduction, mean RTT, timeouts per s."""

    goodput: Values
    lost: Values
    bursts: Values
    rtt: Values
    timeouts: Values

    @property
    def law(self) -> Values:
        """Throughput of a flow x RTT x sqrt(p), which is constant by the root-p law."""
        found: Values = self.goodput / FLOWS * self.rtt * np.sqrt(self.lost)
        return found


def _scenario(rtt: float, pause: bool, seed: int) -> Scenario:
    """Return the scenario: pausing is asked for by queue 2, above T1 packets, and ends below T2."""
    paused = Pause(high=THRESHOLD - 1, low=THRESHOLD - 2) if pause else FIFO()
    links = (
        Link("host", "bridge 1", LINK_A, rtt / 2 - 2 * MESSAGE, 1e5),
        Link("bridge 1", "bridge 2", LINK_B, MESSAGE, B1 - 1),
        Link("bridge 2", "receiver", LINK_C, MESSAGE, B2 - 1, discipline=paused),
    )
    starts = np.random.default_rng(seed).uniform(0.0, max(1.0, rtt), FLOWS)
    path = ("host", "bridge 1", "bridge 2", "receiver")
    flows = (Flow(f"{n}", path, Reno(), WINDOW, float(s)) for n, s in enumerate(starts, 1))
    end = WARM + 10 * rtt + max(LEAST, ROUNDS * rtt)
    return Scenario("two bridges", links, tuple(flows), end, min_rto=0.2)


@kept
def endless(rtt: float, pause: bool, sender: str = "reno") -> Endless:
    """Return runs of eight endless flows of one of the `SENDERS`."""
    rows = []
    for seed in range(SEEDS):
        scenario, method = _scenario(rtt, pause, seed), Packets()
        if sender == "two":
            flows = tuple(replace(flow, source=TwoPackets()) for flow in scenario.flows)
            scenario = replace(scenario, flows=flows)
        if sender == "ns2":  # whose queues hold a packet less besides the one in transmission
            links = tuple(replace(link, buffer=link.buffer + 1) for link in scenario.links)
            scenario = replace(scenario, links=links)
            method = Packets(convention="ns2", recovery="reno", seed=seed + 1)
        run = simulate(scenario, method, sample=SAMPLE, rng=seed)
        late = run.time > WARM + 10 * rtt
        sent = np.ptp(run.delivered[:, late], axis=1).sum()
        lost = run.lost[:, :, late][:, :, 1:].sum()
        reductions = run.loss_events.sum() * late.mean()
        span = np.ptp(run.time[late])
        trips = np.nanmean(run.round_trip[:, late])
        timeouts = run.timeouts.sum() / run.time[-1]
        rows.append((sent / span, lost / (sent + lost), lost / reductions, trips, timeouts))
    return Endless(*np.array(rows).T)


def gain(rtt: float, sender: str = "reno") -> Estimate:
    """Return the gain in goodput from pausing, in per cent."""
    return ratio_gain(*(of_runs(endless(rtt, pause, sender).goodput) for pause in (True, False)))
