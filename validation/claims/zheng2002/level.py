"""The dumbbells of zheng2002 at hopflow's packet level, of TCP(a,b): TFRC is no sender there.

Link, RED, packets, delays, starts and the time measured are those of the bundled runs of ns-2.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dfcmodel import FIFO, RED, Flow, Link, Packets, Scenario, simulate
from responsefn import AIMD
from validation.claims.zheng2002.red import SLOW
from validation.claims.zheng2002.red import Link as Bottleneck
from validation.networks.further_seeds import over_seeds
from validation.statistics import PART, Estimate, of_runs

SENDERS = {
    "TCP(1,1/2)": AIMD(),
    "TCP(1/5,1/8)": AIMD(1 / 5, 1 / 8),
    "TCP(3/7,1/4)": AIMD(3 / 7, 1 / 4),
}
"""The rules; losses are repaired by SACK, as in ns-2."""
TRUNK_DELAY, ACCESS_DELAY, ACCESS = 20e-3, 2e-3, 100e6 / 8000
"""Delays of the bottleneck and of each access link in s, rate of these in packets/s."""
WARM, END, BIN, LATEST = 20.0, 90.0, 0.5, 5.0
"""Beginning and end of the measurement, length of the bins of the rates, latest start of a flow, s."""
PACKET = 1000
"""Bytes."""
SEEDS = 3
"""Runs of a setting."""


class Dumbbell(NamedTuple):
    """Flows behind one bottleneck.

    Attributes
    ----------
    kinds
        Of each flow, as in `SENDERS`.
    delays
        Of each flow's two access links, s; none: `ACCESS_DELAY`.
    link
        Rate, thresholds, largest probability and buffer of the bottleneck.
    queue
        ``"RED"``, ``"ECN"`` (RED that marks) or ``"DropTail"``.
    window
        Largest window in packets.
    jitter
        Largest random time before a packet, s.
    min_rto
        Least timeout, s.
    """

    kinds: tuple[str, ...]
    delays: tuple[float, ...] = ()
    link: Bottleneck = SLOW
    queue: str = "RED"
    window: float = 10_000.0
    jitter: float = 0.0
    min_rto: float = 0.2

    def scenario(self, seed: int) -> Scenario:
        """Return the scenario with the random starts of a seed."""
        bottleneck = self.link
        red = RED(bottleneck.low, bottleneck.high, max_p=bottleneck.most, ecn=self.queue == "ECN")
        queue = FIFO() if self.queue == "DropTail" else red
        links = [Link("in", "out", bottleneck.capacity, TRUNK_DELAY, bottleneck.buffer, discipline=queue)]
        starts = np.random.default_rng([seed, len(self.kinds)]).uniform(0.0, LATEST, len(self.kinds))
        delays = self.delays or (ACCESS_DELAY,) * len(self.kinds)
        flows = []
        for n, (kind, delay, start) in enumerate(zip(self.kinds, delays, starts, strict=True)):
            links += [Link(*ends, ACCESS, delay, 1e5) for ends in ((f"s{n}", "in"), ("out", f"d{n}"))]
            path = (f"s{n}", "in", "out", f"d{n}")
            flows.append(Flow(f"{n}", path, SENDERS[kind], self.window, float(start)))
        return Scenario("dumbbell", tuple(links), tuple(flows), END, packet_size=PACKET, min_rto=self.min_rto)


class Runs(NamedTuple):
    """What was measured, as in the bundled tables.

    Attributes
    ----------
    flows
        seed, flow, kind, rate and its rate_variance and rate_cov over time, timeouts.
    link
        seed, utilisation, loss.
    """

    flows: pd.DataFrame
    link: pd.DataFrame


@functools.cache
def runs(dumbbell: Dumbbell, seeds: int = SEEDS) -> Runs:
    """Return runs of a dumbbell at hopflow's packet level; ``seeds``: how many if none are bundled."""
    flows, links = [], []
    for seed, (rows, link) in enumerate(run_of(dumbbell, base=range(1, seeds + 1)), 1):
        for n, (kind, (mean, variance, timeouts)) in enumerate(zip(dumbbell.kinds, rows, strict=True)):
            flows.append(
                {
                    "seed": seed, "flow": n, "kind": kind, "rate": mean, "rate_variance": variance,
                    "rate_cov": np.sqrt(variance) / mean if mean else np.nan, "timeouts": int(timeouts),
                }
            )  # fmt: skip
        links.append({"seed": seed, "utilisation": link[0], "loss": link[1]})
    return Runs(pd.DataFrame(flows), pd.DataFrame(links))


@over_seeds(range(1, SEEDS + 1))
def run_of(seed: int, fields: tuple[Any, ...]) -> tuple[list[list[float]], list[float]]:
    """Return mean rate, its variance and the timeouts of each flow, and utilisation and loss of the link.

    ``fields`` are those of a `Dumbbell`, with those of its link.
    """
    given = Dumbbell(*fields)
    dumbbell = given._replace(link=Bottleneck(*given.link))
    run = simulate(
        dumbbell.scenario(seed), Packets(recovery="sack"), sample=BIN, seed=seed,
        packet_jitter=dumbbell.jitter,
    )  # fmt: skip
    late = run.time > WARM + BIN / 2
    rates = np.diff(run.delivered, axis=1)[:, late[1:]] / BIN
    lost = float(run.lost[:, :, late].sum())
    sent = float(rates.sum() * BIN)
    flows = [
        [float(own.mean()), float(own.var(ddof=1)), float(timeouts)]
        for own, timeouts in zip(rates, run.timeouts, strict=True)
    ]
    return flows, [sent / (END - WARM) / dumbbell.link.capacity, lost / (sent + lost)]


def of_link(dumbbell: Dumbbell, column: str) -> Estimate:
    """Return utilisation or loss of the link of a dumbbell."""
    return of_runs(runs(dumbbell).link[column].to_numpy(), PART)


def pair(one: str, other: str, number: int, link: Bottleneck = SLOW, queue: str = "RED") -> Dumbbell:
    """Return a dumbbell of as many flows of one kind as of another."""
    return Dumbbell((one,) * number + (other,) * number, link=link, queue=queue)


def ratio(dumbbell: Dumbbell, one: str, other: str) -> Estimate:
    """Return the logarithm of the ratio of the mean rates of two kinds."""
    rates = runs(dumbbell).flows.groupby(["kind", "seed"])["rate"].mean()
    return of_runs(np.log(rates[one] / rates[other]).to_numpy())
