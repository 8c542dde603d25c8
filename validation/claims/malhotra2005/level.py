"""TCP over pause at hopflow's packet level: the tandem of two bridges of the bundled runs of ns-3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dfcmodel import FIFO, Flow, Link, Packets, Pause, Scenario, simulate
from hopflow import maximum
from responsefn import Reno
from validation.networks.further_seeds import over_seeds
from validation.statistics import Estimate, Values, of_runs, ratio_gain

LINK_A, LINK_B, LINK_C = 25.0, 100.0, 15.0
"""Rates, packets/s."""
B1, B2, THRESHOLD = 10, 20, 15
"""Buffers and T1 = T2 in packets, the one in transmission included, which `Link` does not count."""
MESSAGE = 84 * 8 / 1.2e6
"""Delay of links B and C in s: after it a pause message takes effect."""
FLOWS, WINDOW = 8, 44.0
WARM_UP, MEASURED_ROUND_TRIPS, LEAST_MEASURED_TIME = 200.0, 300.0, 2000.0
"""Warm-up in s; measured time: round trips, and the least, s."""
SAMPLE = 1.0
SEEDS = 4
FILE, IDLE = 56.0, 1.0
"""Packets of a file of 80 KB; s from its last ACK to the next one."""
FILE_SEEDS = 8
"""Runs of files, whose gains scatter more."""
LOADS = (15.0, 25.0, 35.0, 100.0)
"""Rates of link A with which files are run, packets/s: the least, the default, that at which ns-3 loses by pausing, the most."""
LONG_RTT, SPAN, LONG_SPAN = 5.0, 1000.0, 4000.0
"""Round-trip time from which runs of files are longer, s; measured time below it and from it on, s: those of ns-3."""
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


class Files(NamedTuple):
    """Runs of files with idle times: goodput in packets/s, OFF messages per s."""

    goodput: Values
    pauses: Values


class Bridges(NamedTuple):
    """RTT in s, T1 and T2 in packets (T1 = B2: no pausing), the rate of link A in packets/s, time until a message takes effect, s."""

    rtt: float
    high: int = THRESHOLD
    low: int = THRESHOLD
    link_a: float = LINK_A
    message: float = MESSAGE

    @property
    def off(self) -> Bridges:
        """The same without pausing."""
        return self._replace(high=B2, low=B2)


def two_bridges(bridges: Bridges, span: float, seed: int, flow: Flow) -> Scenario:
    """Return eight flows like one over the bridges, measured for a time in s after the warm-up.

    Pausing is asked for by queue 2, above T1 packets, and ends below T2.
    """
    rtt, high, low, link_a, message = bridges
    paused: FIFO | Pause = FIFO()
    if high < B2:
        paused = Pause(high=high - 1, low=max(low - 2, 0), signalling=message - MESSAGE)
    links = (
        Link("host", "bridge 1", link_a, rtt / 2 - 2 * MESSAGE, 1e5),
        Link("bridge 1", "bridge 2", LINK_B, MESSAGE, B1 - 1),
        Link("bridge 2", "receiver", LINK_C, MESSAGE, B2 - 1, discipline=paused),
    )
    starts = np.random.default_rng(seed).uniform(0.0, max(1.0, rtt), FLOWS)
    flows = (replace(flow, name=f"{n}", start=float(s)) for n, s in enumerate(starts, 1))
    return Scenario("two bridges", links, tuple(flows), WARM_UP + 10 * rtt + span, min_rto=0.2)


PATH = ("host", "bridge 1", "bridge 2", "receiver")


def endless(rtt: float, pause: bool, sender: str = "reno") -> Endless:
    """Return runs of eight endless flows of one of the `SENDERS`."""
    return Endless(*np.array(endless_run(rtt, pause, sender)).T)


@over_seeds(range(SEEDS))
def endless_run(seed: int, rtt: float, pause: bool, sender: str) -> tuple[float, ...]:
    """Return the numbers of `Endless` of one run."""
    flow = Flow("", PATH, TwoPackets() if sender == "two" else Reno(), WINDOW)
    bridges = Bridges(rtt) if pause else Bridges(rtt).off
    scenario, method = (
        two_bridges(bridges, max(LEAST_MEASURED_TIME, MEASURED_ROUND_TRIPS * rtt), seed, flow),
        Packets(),
    )
    if sender == "ns2":  # whose queues hold a packet less besides the one in transmission
        links = tuple(replace(link, buffer=scenario.buffer_of(n) + 1) for n, link in enumerate(scenario.links))
        scenario = replace(scenario, links=links)
        method = Packets(convention="ns2", recovery="reno", seed=seed + 1)
    run = simulate(scenario, method, sample=SAMPLE, seed=seed)
    late = run.time > WARM_UP + 10 * rtt
    sent = np.ptp(run.delivered[:, late], axis=1).sum()
    lost = run.lost[:, :, late][:, :, 1:].sum()
    reductions = run.loss_events.sum() * late.mean()
    span = np.ptp(run.time[late])
    trips = np.nanmean(run.round_trip[:, late])
    timeouts = run.timeouts.sum() / run.time[-1]
    found = sent / span, lost / (sent + lost), lost / reductions, trips, timeouts
    return tuple(map(float, found))


def files(bridges: Bridges, random: bool = False, seeds: int = FILE_SEEDS) -> Files:
    """Return runs of eight flows of files with idle times; `random`: exponential ones; ``seeds``: how many if none are bundled."""
    return Files(*np.array(files_run(bridges, random, base=range(seeds))).T)


@over_seeds(range(FILE_SEEDS))
def files_run(seed: int, bridges: tuple[Any, ...], random: bool) -> tuple[float, float]:
    """Return the numbers of `Files` of one run; ``bridges`` are the fields of `Bridges`."""
    flow = Flow("", PATH, Reno(), WINDOW, size=FILE, idle=IDLE, random_idle=random)
    own = Bridges(*bridges)
    scenario = two_bridges(own, SPAN if own.rtt < LONG_RTT else LONG_SPAN, seed, flow)
    run = simulate(scenario, Packets(seed=seed), sample=SAMPLE, seed=seed)
    late = run.time > WARM_UP + 10 * own.rtt
    span, begins = np.ptp(run.time[late]), run.pauses()["begin"].to_numpy()
    sent = np.ptp(run.delivered[:, late], axis=1).sum()
    return float(sent / span), float((begins > run.time[late][0]).sum() / span)


def goodput(bridges: Bridges, random: bool = False) -> Values:
    """Return the goodput of runs of eight flows of files with idle times, packets/s; `random`: exponential ones."""
    return files(bridges, random).goodput


def idle_gain(bridges: Bridges, random: bool = False) -> Estimate:
    """Return the gain in goodput of files with idle times from pausing, in per cent."""
    return ratio_gain(*(of_runs(goodput(each, random)) for each in (bridges, bridges.off)))


def gain(rtt: float, sender: str = "reno") -> Estimate:
    """Return the gain in goodput from pausing, in per cent."""
    return ratio_gain(*(of_runs(endless(rtt, pause, sender).goodput) for pause in (True, False)))
